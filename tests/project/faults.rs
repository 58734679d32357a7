//! The table of every fault that is tried (`faults.md`), held together with the tests that try them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex::Regex;

/// Where a fault is tried, and what is tried there.
type Tried = BTreeMap<(String, String), BTreeSet<String>>;

/// Functions of cases, each of which begins with its name, and the test that tries them all.
const CASES: &[(&str, &[&str], &str)] = &[
    ("images/layers/faults.rs", &["packings", "headers", "names"], "each_small_fault_has_its_expected_result"),
    ("images/layers/large.rs", &["streams"], "each_large_fault_ends_in_time_and_within_memory"),
    ("images/sources.rs", &["every_broken_archive_is_an_error"], "every_broken_archive_is_an_error"),
    ("images/large_images.rs", &["images_made_to_use_up_memory_do_not"], "images_made_to_use_up_memory_do_not"),
    (
        "images/registry_client.rs",
        &["hostile_token_service_is_an_error_and_gets_no_password"],
        "hostile_token_service_is_an_error_and_gets_no_password",
    ),
    (
        "images/registry_client.rs",
        &["documents_made_to_break_a_reader_are_refused"],
        "documents_made_to_break_a_reader_are_refused",
    ),
];

/// Files of faults, and their tests that try none.
const FILES: &[(&str, &[&str])] = &[
    ("images/layers/faults.rs", &[]),
    ("images/layers/large.rs", &[]),
    ("images/large_images.rs", &[]),
    ("images/layer_streams.rs", &["a_real_registry_gives_layers_to_many_threads_at_once"]),
    (
        "images/registry_client.rs",
        &["a_real_registry_gives_configs_by_tag_and_by_digest", "credential_helper_is_called_for_its_host"],
    ),
    (
        "images/sources.rs",
        &[
            "archives_of_skopeo_give_config_and_layers_packed_or_not",
            "flat_folder_may_contain_an_index",
            "packed_layers_are_known_by_their_name_or_by_their_sum",
            "podman_gives_the_same_image_through_its_socket",
            "config_query_exports_the_image_only_if_the_answer_is_invalid",
        ],
    ),
];

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

/// The rows, by the test that each names; and rows that are none, or there twice.
fn table(text: &str) -> (Tried, Vec<String>) {
    let row = pattern(r"^\| ([\w-]+) \| ([^|]+) \| ([^|]+) \| `([\w/]+\.rs)` `(\w+)` \|$");
    let (mut tried, mut wrong) = (Tried::new(), Vec::new());
    for line in text.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let Some(parts) = row.captures(line) else {
            wrong.push(format!("no row: {line}"));
            continue;
        };
        if !tried.entry((parts[4].to_owned(), parts[5].to_owned())).or_default().insert(parts[2].to_owned()) {
            wrong.push(format!("twice: {line}"));
        }
    }
    (tried, wrong)
}

/// The tests of a file that are run.
fn tests(text: &str) -> BTreeSet<String> {
    let found = pattern(r"(?m)^#\[test\]\nfn (\w+)\(\)");
    found.captures_iter(text).map(|parts| parts[1].to_owned()).collect()
}

/// The names of the cases in a function.
fn cases(text: &str, function: &str) -> BTreeSet<String> {
    let start = text.find(&format!("\nfn {function}(")).unwrap_or_else(|| panic!("no function {function}"));
    let body = text[start + 1..].split("\n}\n").next().unwrap_or_default();
    let first = pattern(r#"(?m)^\s*\(\s*"([^"\\]+)""#);
    let names = first.captures_iter(body).map(|parts| parts[1].to_owned());
    // Records of an archive are written alike.
    names.filter(|name| !name.starts_with("GNU.")).collect()
}

/// What table and tests do not agree on.
fn differences(text: &str, read: impl Fn(&str) -> String) -> Vec<String> {
    let (tried, mut wrong) = table(text);
    let files = tried.keys().map(|(name, _)| name.as_str()).chain(FILES.iter().map(|(name, _)| *name));
    let run: BTreeMap<&str, BTreeSet<String>> =
        files.collect::<BTreeSet<_>>().into_iter().map(|name| (name, tests(&read(name)))).collect();
    for (name, test) in tried.keys() {
        if !run.get(name.as_str()).is_some_and(|tests| tests.contains(test)) {
            wrong.push(format!("{name} has no test {test}"));
        }
    }
    for (name, functions, test) in CASES {
        let text = read(name);
        let there: BTreeSet<String> = functions.iter().flat_map(|function| cases(&text, function)).collect();
        let told = tried.get(&((*name).to_owned(), (*test).to_owned())).cloned().unwrap_or_default();
        wrong.extend(there.difference(&told).map(|case| format!("{name}, {test}: no row for `{case}`")));
        wrong.extend(told.difference(&there).map(|case| format!("{name}, {test}: no case `{case}`")));
    }
    for (name, sound) in FILES {
        for test in run.get(name).into_iter().flatten() {
            let row = tried.contains_key(&((*name).to_owned(), test.clone()));
            if row == sound.contains(&test.as_str()) {
                wrong.push(format!("{name}: {test} has {} row", if row { "a" } else { "no" }));
            }
        }
    }
    wrong
}

#[test]
fn every_fault_has_a_row_and_every_row_a_test() {
    assert_eq!(differences(&file("faults.md"), file), [""; 0]);
}

#[test]
fn missing_rows_and_missing_tests_are_found() {
    let whole = file("faults.md");
    let one = "| layer | a zstd bomb |";
    assert!(whole.contains(one));
    let line = whole.lines().find(|line| line.starts_with(one)).expect("a row");
    for (text, expected) in [
        (whole.replace(line, ""), "no row for `a zstd bomb`"),
        (whole.replace(one, "| layer | a zstd pop |"), "no case `a zstd pop`"),
        (whole.replace("`each_large_fault", "`no_large_fault"), "has no test no_large_fault"),
        (format!("{whole}{line}\n"), "twice: "),
        (format!("{whole}| layer | a bomb |\n"), "no row: "),
    ] {
        let found = differences(&text, file);
        assert!(found.iter().any(|one| one.contains(expected)), "{expected}: {found:?}");
    }
    let more = |name: &str| format!("{}\n#[test]\nfn a_new_fault() {{}}\n", file(name));
    assert_eq!(differences(&whole, more).len(), FILES.len(), "a test without a row in each file of faults");
    let idle = |name: &str| file(name).replace("#[test]\nfn each_large", "#[test]\n#[ignore]\nfn each_large");
    assert!(!differences(&whole, idle).is_empty(), "a test that is not run");
}
