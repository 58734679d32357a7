//! Layers over each other.

use std::sync::Arc;

use imagelint::layer::{EntryKind, MergedLayers, SkipReason};

use crate::layers::build::{Archive, read};

fn tree(layers: Vec<Archive>) -> MergedLayers {
    let seen = layers.into_iter().map(|layer| Arc::new(read(&layer.end()).expect("a layer")));
    MergedLayers::merge(seen.collect())
}

/// Every path with the number of its layer.
fn paths(tree: &MergedLayers) -> Vec<(&str, usize)> {
    tree.entries().map(|placed| (placed.path, placed.layer)).collect()
}

fn new() -> Archive {
    Archive::default()
}

#[test]
fn the_file_of_the_upper_layer_counts() {
    let tree = tree(vec![new().file("a.so", "1").file("b.so", "1"), new().file("a.so", "2"), new().file("c.so", "3")]);
    assert_eq!(paths(&tree), [("/a.so", 1), ("/b.so", 0), ("/c.so", 2)]);
}

#[test]
fn whiteouts_take_away_from_below_and_from_nowhere_else() {
    let below = new().file("d/a.so", "").file("d/b.so", "").file("d/e/c.so", "").file("da.so", "");
    let one = tree(vec![below.clone(), new().file("d/.wh.a.so", "")]);
    assert_eq!(paths(&one), [("/d/b.so", 0), ("/d/e/c.so", 0), ("/da.so", 0)]);
    let folder = tree(vec![below.clone(), new().file("./.wh.d", "")]);
    assert_eq!(paths(&folder), [("/da.so", 0)]);
    // In one layer with the file, before or behind it.
    let same = tree(vec![below.clone(), new().file("d/.wh.a.so", "").file("d/a.so", "").file("d/.wh.b.so", "")]);
    assert_eq!(paths(&same), [("/d/a.so", 1), ("/d/e/c.so", 0), ("/da.so", 0)]);
    let behind = tree(vec![below.clone(), new().file("d/a.so", "").file("d/.wh.a.so", "")]);
    assert!(paths(&behind).contains(&("/d/a.so", 1)));
    // What comes back above is there.
    let back = tree(vec![below.clone(), new().file(".wh.d", ""), new().file("d/b.so", "")]);
    assert_eq!(paths(&back), [("/d/b.so", 2), ("/da.so", 0)]);
    // Above nothing it does no harm.
    assert_eq!(paths(&tree(vec![new().file(".wh.d", ""), below.clone()])).len(), 4);
    let not = tree(vec![below, new().file(".wh..wh.aufs", "").file("d/.wh..wh.plnk", "").file("d/.wh.d", "")]);
    assert_eq!(paths(&not).len(), 4);
}

#[test]
fn an_opaque_directory_keeps_nothing_from_below() {
    let below = new().file("d/a.so", "").file("d/e/b.so", "").file("dd/c.so", "");
    let before = tree(vec![below.clone(), new().file("d/.wh..wh..opq", "").file("d/n.so", "")]);
    let behind = tree(vec![below.clone(), new().file("d/n.so", "").file("d/.wh..wh..opq", "")]);
    for tree in [before, behind] {
        assert_eq!(paths(&tree), [("/d/n.so", 1), ("/dd/c.so", 0)]);
    }
    assert_eq!(paths(&tree(vec![below, new().file(".wh..wh..opq", "").file("x.so", "")])), [("/x.so", 1)]);
}

#[test]
fn files_and_directories_replace_each_other() {
    let below = new().file("d/a.so", "").file("f.so", "").link("l", "d").file("dd.so", "");
    // A file or a link where a directory was, kept or not.
    for upper in [new().file("d", "plain"), new().link("d", "e"), new().entry("d", b'6', b"", "")] {
        let tree = tree(vec![below.clone(), upper]);
        assert!(tree.get("/d/a.so").is_none() && tree.get("/f.so").is_some() && tree.get("/dd.so").is_some());
    }
    // A directory in the place of a file or a link, with or without an entry of its own.
    for upper in [new().directory("f.so/").directory("l/"), new().file("f.so/readme.txt", "").file("l/x.txt", "")] {
        let tree = tree(vec![below.clone(), upper]);
        assert_eq!(paths(&tree), [("/d/a.so", 0), ("/dd.so", 0)]);
    }
    // A directory leaves a directory.
    assert_eq!(paths(&tree(vec![below.clone(), new().directory("d/")])).len(), 4);
    // A link replaced by a file without any use.
    assert!(tree(vec![below, new().file("l", "x")]).get("/l").is_none());
}

#[test]
fn later_of_two_equal_paths_in_a_layer_applies() {
    let twice = new().link("a.so", "x").file("a.so", "INPUT").file("b/c.so", "").link("b", "d").link("e", "f");
    let tree = tree(vec![twice.directory("e/").file("e/g.so", "")]);
    assert_eq!(paths(&tree), [("/a.so", 0), ("/b", 0), ("/e/g.so", 0)]);
    assert_eq!(tree.get("/a.so").map(|placed| placed.kind), Some(&EntryKind::Present));
}

#[test]
fn entry_below_a_link_is_placed_at_the_link_target() {
    let upper = new().directory("usr/lib/").link("lib", "usr/lib").link("x", "/lib").file("lib/a.so", "");
    let tree = tree(vec![upper.file("x/b.so", "").file("x/.wh.c.so", "")]);
    assert_eq!(paths(&tree), [("/lib", 0), ("/usr/lib/a.so", 0), ("/usr/lib/b.so", 0), ("/x", 0)]);
    assert_eq!(tree.get("/usr/lib/b.so").and_then(|placed| placed.written), Some("x/b.so"));
    assert_eq!(tree.layers()[0].whiteouts, ["/usr/lib/c.so"]);
}

#[test]
fn a_link_in_circles_is_borne() {
    let upper = new().link("a", "b").link("b", "a").file("a/x.so", "").link("c", "c/d").file("c/y.so", "");
    let seen = read(&upper.file("z.so", "").end()).expect("a layer");
    assert_eq!(seen.entries.keys().collect::<Vec<_>>(), ["/a", "/b", "/c", "/z.so"]);
    assert_eq!(
        seen.missed.iter().map(|missed| (missed.mark, missed.times)).collect::<Vec<_>>(),
        [(SkipReason::OddName, 2)]
    );
}

#[test]
fn hard_links_share_the_contents_of_their_file() {
    let conf = "etc/ld.so.conf.d/a.conf";
    let (one, two) = ("etc/ld.so.conf.d/b.conf", "etc/ld.so.conf.d/c.conf");
    let below = new().file(conf, "/opt").hard(one, conf);
    let deleted = new().file("etc/ld.so.conf.d/.wh.a.conf", "");
    let tree = tree(vec![below.clone(), new().hard(two, one), deleted]);
    assert_eq!(paths(&tree), [("/etc/ld.so.conf.d/b.conf", 0), ("/etc/ld.so.conf.d/c.conf", 1)]);
    for placed in tree.entries() {
        assert!(matches!(placed.kind, EntryKind::Read(_)), "{placed:?}");
    }
}

#[test]
fn hard_links_to_unread_files_are_reported() {
    let conf = "etc/ld.so.conf.d/a.conf";
    let unread = read(&new().file("store/1.txt", "/opt").hard(conf, "store/1.txt").end()).expect("a layer");
    assert_eq!(unread.entries[&format!("/{conf}")].kind, EntryKind::Present);
    assert_eq!(unread.missed.first().map(|missed| missed.mark), Some(SkipReason::HardLink));
    // The file was replaced after the link was made.
    let replaced = new().file("etc/ld.so.conf.d/b.conf", "/old").hard(conf, "etc/ld.so.conf.d/b.conf");
    let replaced = read(&replaced.file("etc/ld.so.conf.d/b.conf", "/new").end()).expect("a layer");
    assert_eq!(replaced.entries[&format!("/{conf}")].kind, EntryKind::Present);
    assert_eq!(replaced.missed.first().map(|missed| missed.mark), Some(SkipReason::HardLink));
    // The file is in no layer at all.
    let nowhere = tree(vec![new().hard(conf, "nowhere.conf")]);
    assert!(matches!(nowhere.entries().next().map(|placed| placed.kind), Some(EntryKind::Hard(_))));
    // A file that is no library under either name.
    let script = read(&new().file("lib/x.so", "#!").hard("lib/y.so", "lib/x.so").end()).expect("a layer");
    assert_eq!(script.entries.len(), 2);
}

#[test]
fn links_lead_on_and_never_out() {
    let tree = tree(vec![
        new().link("usr/local/cuda", "/etc/alternatives/cuda").link("etc/alternatives/cuda", "../../usr/local/cuda-12"),
        new().file("usr/local/cuda-12/lib64/libx.so", "").link("out", "../../../usr").link("loop", "loop"),
    ]);
    assert_eq!(tree.resolve("/usr/local/cuda/lib64").as_deref(), Some("/usr/local/cuda-12/lib64"));
    assert_eq!(tree.resolve("/out/local").as_deref(), Some("/usr/local"));
    assert_eq!(tree.resolve("/loop/x"), None);
    assert_eq!(tree.resolve("/not/there").as_deref(), Some("/not/there"));
}

#[test]
fn cached_layers_give_the_same_facts() {
    let layer = new().file("a.so", "").link("l", "a.so").hard("b.so", "a.so").file(".wh.x", "").file("../y", "");
    let seen = read(&layer.end()).expect("a layer");
    let text = serde_json::to_string(&seen).expect("text");
    let again: imagelint::layer::LayerSummary = serde_json::from_str(&text).expect("a layer");
    assert_eq!(again, seen);
    assert!(seen.memory_size() > 300 && seen.memory_size() < 5000, "{}", seen.memory_size());
}
