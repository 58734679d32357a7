use crate::knowledge::overlay::with_files;
use crate::knowledge::{How, Knowledge};
use crate::text::source::SourceText;

const PROVENANCE: &str = "source = \"our lab\"\nchecked = 2026-11-21\nhow = \"measured\"\n";

/// Returns the knowledge with one file, or the messages of all errors.
fn with_file(name: &str, text: &str) -> Result<Knowledge, String> {
    with_files(Knowledge::built_in(), &[SourceText::new(name, text)]).map_err(|files| {
        let all = files.iter().flat_map(|file| file.all());
        let words = all.flat_map(|problem| [problem.message.clone(), problem.help.clone().unwrap_or_default()]);
        words.collect::<Vec<_>>().join(" ")
    })
}

const GPU_ROW: &str = "[[row]]\nname = \"ACME X9\"\naliases = [\"x9\"]\ncapability = \"9.0\"\narchitecture = \"Hopper\"\nclass = \"data-center\"\n";

#[test]
fn own_rows_are_added_to_the_built_in_ones() {
    let before = Knowledge::built_in();
    assert!(before.gpu("ACME X9").is_none());
    let after = with_file("lab/gpus.toml", &format!("{PROVENANCE}{GPU_ROW}")).expect("a table");
    let row = after.gpu("x9").expect("the own row");
    assert_eq!((row.info.source, row.info.how, row.arm64_host), ("our lab", How::Measured, false));
    assert_eq!(after.gpus().len(), before.gpus().len() + 1);
    assert!(after.gpu("A100").is_some());
    assert!(Knowledge::built_in().gpu("ACME X9").is_none());
}

#[test]
fn an_own_row_takes_the_place_of_the_one_with_its_key() {
    let row = "[[row]]\nbranch = 535\ncuda = \"12.3\"\n";
    let after = with_file("driver_branches.toml", &format!("{PROVENANCE}{row}")).expect("a table");
    assert_eq!(after.driver_branches().len(), Knowledge::built_in().driver_branches().len());
    assert_eq!(after.driver_branch(535).map(|row| row.cuda.to_string()), Some("12.3".to_owned()));
    assert!(after.driver_branch(550).is_some());
}

#[test]
fn row_without_a_source_level_is_from_memory() {
    let after = with_file("gpus.toml", &format!("checked = 2026-11-21\n{GPU_ROW}")).expect("a table");
    let info = after.gpu("ACME X9").expect("the own row").info;
    assert_eq!((info.how, info.source), (How::Memory, "gpus.toml"));
}

#[test]
fn a_version_of_an_own_row_is_compared_by_its_value() {
    let row = "[[row]]\ndistribution = \"tensorflow\"\nversion = \"98.0.0\"\ncuda = \"12.9\"\ncode_known = false\n";
    let after = with_file("framework_builds.toml", &format!("{PROVENANCE}{row}")).expect("a table");
    let cuda = |version: &str| after.framework_build("tensorflow", &version.into())?.cuda.map(|cuda| cuda.to_string());
    assert_eq!(cuda("98.0.0"), Some("12.9".to_owned()));
    assert_eq!(cuda("98.0"), Some("12.9".to_owned()));
    assert_eq!(cuda("98.0.1"), None);
}

#[test]
fn a_row_for_every_version_has_an_asterisk() {
    let row = "[[row]]\ndistribution = \"acme-gpu\"\nversion = \"*\"\ncuda = \"12.9\"\ncode_known = false\n";
    let after = with_file("framework_builds.toml", &format!("{PROVENANCE}{row}")).expect("a table");
    let build = after.framework_build("acme-gpu", &"3.1".into()).expect("the own row");
    assert_eq!((build.version, build.version_text()), (None, "*"));
}

#[test]
fn overlay_error_suggests_the_closest_keyword() {
    for (name, text, expected) in [
        ("gpu.toml", PROVENANCE.to_owned(), "unknown table `gpu` did you mean `gpus`?"),
        ("gpus.toml", GPU_ROW.to_owned(), "has no `checked`"),
        (
            "gpus.toml",
            format!("{PROVENANCE}{}", GPU_ROW.replace("capability", "capabilty")),
            "did you mean `capability`?",
        ),
        (
            "gpus.toml",
            format!("{PROVENANCE}{}", GPU_ROW.replace("data-center", "datacenter")),
            "did you mean `data-center`?",
        ),
        ("gpus.toml", format!("{PROVENANCE}{}", GPU_ROW.replace("\"9.0\"", "9.0")), "put it in quotes"),
        ("gpus.toml", format!("{PROVENANCE}{}", GPU_ROW.replace("\"9.0\"", "\"9\"")), "is not a compute capability"),
        ("gpus.toml", format!("{PROVENANCE}{GPU_ROW}{GPU_ROW}"), "duplicate entry `ACME X9`"),
        ("gpus.toml", format!("{PROVENANCE}hows = 1\n{GPU_ROW}"), "unknown key `hows`"),
        ("gpus.toml", format!("{PROVENANCE}{GPU_ROW}brands = [{{ name = \"x\" }}]\n"), "a brand entry has no `brand`"),
        ("gpus.toml", format!("{PROVENANCE}{GPU_ROW}first_branch = -1\n"), "a whole number from 0"),
        ("gpus.toml", PROVENANCE.replace("2026-11-21", "\"2026-11-21\""), "a date without quotes"),
        ("gpus.toml", PROVENANCE.replace("measured", "measure"), "did you mean `measured`?"),
        ("gpus.toml", "[[row".to_owned(), ""),
        ("gpus.toml", "row = 3\n".to_owned(), "expected a table"),
        ("errors.toml", format!("{PROVENANCE}[[row]]\ncode = 70000\nname = \"n\"\ntext = \"t\"\n"), "at most 65535"),
        (
            "target_sets.toml",
            format!("{PROVENANCE}[[row]]\ncuda = \"12.4.0\"\nptx_isa = \"8.4\"\n"),
            "is not a CUDA minor version: expected two numbers",
        ),
        (
            "torch_releases.toml",
            format!("{PROVENANCE}[[row]]\nversion = \"9.0\"\nreleased = 1066-10-14\n"),
            "is not a date since",
        ),
        (
            "torch_releases.toml",
            format!("{PROVENANCE}[[row]]\nversion = \"newest\"\n"),
            "`newest` is not a version, such as 2.6.0",
        ),
        (
            "requires_dist.toml",
            format!(
                "{PROVENANCE}[[row]]\ndistribution = \"a\"\npackage = \"torch\"\nversion = \"1.0\"\nrange = \"=>2\"\n"
            ),
            "`=>2` is not a range of versions, such as >=2.1,<3",
        ),
    ] {
        let error = with_file(name, &text).expect_err(&text);
        assert!(error.contains(expected), "{name}: {error}");
    }
}
