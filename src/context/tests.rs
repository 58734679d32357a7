//! What a context gives, and what it never gives.

use std::fs;

use crate::context::Context;
use crate::context::Files;
use crate::context::Gathering;
use crate::context::Missing;
use crate::context::Shelf as _;
use crate::source::Sources;

#[test]
fn files_come_from_below_the_root_alone() {
    let outside = tempfile::tempdir().expect("folder");
    fs::write(outside.path().join("secret"), "torch==1.0\n").expect("file");
    let root = outside.path().join("root");
    fs::create_dir_all(root.join("sub")).expect("folder");
    fs::write(root.join("a.txt"), "torch\n").expect("file");
    fs::write(root.join("hidden.txt"), "torch\n").expect("file");
    for name in ["b.sh", "a.sh", ".c.sh", "w.whl", "x.shx"] {
        fs::write(root.join("sub").join(name), "").expect("file");
    }
    fs::write(root.join(".dockerignore"), "hidden.txt\n").expect("file");
    std::os::unix::fs::symlink("../secret", root.join("link")).expect("link");
    std::os::unix::fs::symlink("a.txt", root.join("near")).expect("link");
    std::os::unix::fs::symlink("..", root.join("up")).expect("link");
    let context = Context::new(&root, None).expect("context");
    let mut sources = Sources::default();
    let gathering = Gathering::new(&context, &mut sources);
    for (path, expected) in [
        ("a.txt", Ok("torch\n")),
        ("near", Ok("torch\n")),
        ("hidden.txt", Err(Missing::Ignored)),
        ("link", Err(Missing::Outside)),
        ("up/secret", Err(Missing::Outside)),
        ("../secret", Err(Missing::Outside)),
        ("sub", Err(Missing::NotThere)),
        ("none", Err(Missing::NotThere)),
        ("*.txt", Ok("a.txt")),
        ("sub/*.sh", Ok("a.sh\nb.sh")),
        ("sub/*", Ok("w.whl")),
        ("sub/*.py", Ok("")),
        ("up/*.txt", Err(Missing::Outside)),
        ("none/*.txt", Err(Missing::NotThere)),
    ] {
        let file = gathering.open(path);
        assert_eq!(file.as_ref().map(|file| &*file.text).map_err(|missing| *missing), expected, "{path}");
    }
    let files = gathering.into_files();
    assert!(files.open("a.txt").is_ok());
    assert_eq!(files.open("never asked").err(), Some(Missing::NoContext));
    assert_eq!(sources.iter().count(), 6);
}

#[test]
fn without_a_context_nothing_is_read() {
    assert!(Context::new(std::path::Path::new("/nowhere/at/all"), None).is_none());
    assert_eq!(Files::default().open("requirements.txt").err(), Some(Missing::NoContext));
}

/// Whoever changes one text of many has what was made of the others, and nothing that was made of the old one.
#[test]
fn what_is_kept_of_a_text_goes_with_that_text() {
    let root = tempfile::tempdir().expect("folder");
    for name in ["a.lock", "b.txt"] {
        fs::write(root.path().join(name), "old\n").expect("file");
    }
    let context = Context::new(root.path(), None).expect("context");
    let mut sources = Sources::default();
    let gathering = Gathering::new(&context, &mut sources);
    let [lock, list] = ["a.lock", "b.txt"].map(|name| gathering.open(name).expect("a file").source);
    let files = gathering.into_files();
    let length = |files: &Files, name: &str| {
        let file = files.open(name).expect("a file");
        (file.kept.get(|| file.text.len()), file)
    };
    let same =
        |one: &Files, other: &Files, name: &str| std::sync::Arc::ptr_eq(&length(one, name).0, &length(other, name).0);
    assert!(!same(&files, &files, "a.lock"), "nobody asked for it to be kept");
    let files = files.keeping();
    assert!(same(&files, &files.clone(), "a.lock"));
    let new = files.with(list, &"a longer text\n".into()).expect("one of the files");
    assert!(same(&files, &new, "a.lock") && !same(&files, &new, "b.txt"));
    assert_eq!((*length(&files, "b.txt").0, *length(&new, "b.txt").0), (4, 14));
    assert!(same(&new, &new, "b.txt") && lock != list);
}
