//! No decision compares prose. A cause, an outcome or a state is an enum; its wording is for readers alone.
//!
//! The sentences of unknown values are in `src/model/cause.rs`, which may look into its own sentences.

use std::fs;
use std::path::Path;

use crate::architecture::scan;
use crate::architecture::scan::{Kind, pattern};

/// A way to decide by prose, a line that does it, and a line that is similar and does not.
const WAYS: &[(&str, &str, &str, &str)] = &[
    (
        "a reason compared with a constant or another reason",
        r"\b(?:reason|why|because|cause)\s*[=!]=\s*&?(?:[A-Z][A-Z_]+\b|[a-z_]\w*\b)",
        "Lookup::Unknown(_, reason) if reason == SET_NOWHERE => None,",
        "Lookup::Unknown(_, Cause::SetNowhere) => None,",
    ),
    (
        "a field of a closed set compared with text",
        r#"\.(?:fate|outcome|result|severity|state|status|reason|route|safety|confidence|depth)\s*[=!]=\s*""#,
        r#"if verdict.fate == "fails" {"#,
        "if verdict.fate == VerdictKind::Fails {",
    ),
    (
        "a field of a closed set matched as text",
        r"\bmatch\s+[\w.]+\.(?:fate|outcome|result|severity|state|status|route|safety|confidence|depth)\.as_(?:str|deref)\(\)",
        "match verdict.outcome.as_deref() {",
        "match verdict.outcome {",
    ),
    (
        "an unknown value compared as a whole",
        r"[=!]=\s*(?:\w+::)*(?:Unknown|Unresolved|Undetermined)\s*\(",
        "if package.offered == Offered::Unknown(why.clone()) {",
        "if let Offered::Unknown(Cause::BuildNotKnown { .. }) = &package.offered {",
    ),
    (
        "a value compared by its sentence",
        r"[=!]=\s*\w+(?:::\w+)+\.to_string\(\)",
        "copy.missing == Missing::NotThere.to_string()",
        "copy.missing == Missing::NotThere",
    ),
    (
        "a sentence compared with a literal",
        r#"[=!]=\s*"[^"\n]*[a-z] [a-z][^"\n]*""#,
        r#"if text == "neither the file nor its base image sets it" {"#,
        r#"if text == "--index-url" {"#,
    ),
    (
        "a reason that is searched or taken apart",
        r"\b(?:reason|why|because|cause)(?:\.reason)?(?:\(\))?\.(?:contains|starts_with|ends_with|strip_prefix|strip_suffix|split_once|find|split)\(",
        r#"let rest = reason.strip_prefix("its value ");"#,
        r#"let rest = value.strip_prefix("its-value");"#,
    ),
    (
        "a sentence that is searched or taken apart",
        r#"\.(?:contains|starts_with|ends_with|strip_prefix|strip_suffix|split_once|rsplit_once|find)\(\s*"[^"\n]*[a-z] [a-z][^"\n]*""#,
        r#"let (_, term) = message.split_once("unsatisfied condition: ")?;"#,
        r#"let term = requirement.strip_prefix("cuda>=")?;"#,
    ),
    (
        "a closed set held as text",
        r"\b(?:fate|outcome|severity|reason|route|safety)\s*:\s*(?:Option<)?String\s*[,>]",
        "pub fate: String,",
        "pub fate: VerdictKind,",
    ),
];

/// Sentences of other programs that have no code, and words that a user or a rule page writes: `file: text`.
const FOREIGN: &[(&str, &str)] = &[
    ("registry/credential_helper.rs", "the protocol of credential helpers has no error code"),
    ("registry/error_body.rs", "HTML of a proxy"),
    ("registry/http_client.rs", "the errors of the HTTP client contain that of the TLS library as text"),
    ("rules/page_header.rs", "the TOML reader has no error code"),
    ("dockerfile/ast.rs", "the reason that a user writes in a suppression"),
    ("fleet/settings/tables.rs", "the reason that a user writes in a suppression"),
    ("describe/mod.rs", "the words of an image description"),
    ("rules/page.rs", "a section of a rule page"),
];

/// The ways that a text of Rust source decides by prose: the line and what it does.
fn found(text: &str) -> Vec<(usize, &'static str)> {
    let code = scan::only(text, &[Kind::Code, Kind::Literal]);
    let plain = scan::only(text, &[Kind::Code]);
    let tests = scan::bodies(&plain, r"#\[cfg\(test\)\]\s*mod\s+\w+\s*\{");
    let shipped = scan::without(&code, &tests);
    let hits = |(what, way, ..): &(&'static str, &str, &str, &str)| {
        let lines: Vec<(usize, &'static str)> =
            pattern(way).find_iter(&shipped).map(|hit| (scan::line(text, hit.start()), *what)).collect();
        lines
    };
    WAYS.iter().flat_map(hits).collect()
}

#[test]
fn each_planted_comparison_is_found_and_near_misses_are_not() {
    for (what, _, planted, similar) in WAYS {
        let source = |line: &str| format!("fn decide() {{\n    {line}\n}}\n");
        assert!(found(&source(planted)).contains(&(2, what)), "{what}: {planted}");
        assert_eq!(found(&source(similar)), [], "{what}: {similar}");
        let in_test = format!("#[cfg(test)]\nmod tests {{\n    {planted}\n}}\n");
        assert_eq!(found(&in_test), [], "{what}: a test may compare what a reader sees");
    }
}

#[test]
fn no_source_decides_by_prose() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let (mut files, mut wrong) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of src").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&root).expect("below src").to_string_lossy().into_owned();
            if path.extension().is_none_or(|ending| ending != "rs")
                || name.ends_with("tests.rs")
                || name == "model/cause.rs"
            {
                continue;
            }
            files += 1;
            let text = fs::read_to_string(&path).expect("a source");
            if FOREIGN.iter().any(|(file, _)| *file == name) {
                continue;
            }
            wrong.extend(found(&text).into_iter().map(|(line, what)| format!("src/{name}:{line}: {what}")));
        }
    }
    assert!(files > 500, "{files} files");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
