//! Every input of the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use imagelint::rules::{ExampleInput, RuleBook};

use crate::support::case::{Case, Cases, files_below, write_files};
use crate::support::test_repository::TestRepository;

/// Pools of one platform with an old driver, and without a declared launch. A test can add others.
const FLEET: &str = r#"[[pool]]
name = "rtx"
gpu = "RTX 2080 Ti"
driver = "450.102.04"
launch = "nvidia-runtime"
libnvidia_container = "1.4.0"

[[pool]]
name = "open"
gpu = ["A100", "T4"]
driver = "535.161.08"
toolkit = "1.17.8"

"#;

/// The same with the pools of a test.
pub(crate) fn fleet_with(pools: &str) -> String {
    format!("{FLEET}{pools}")
}

/// Writes the text of every example, fixture, rule example and case with a verdict or finding into a folder, and returns the
/// names of the files. A fixture keeps the files of its folder, and a case has the files of its build context.
pub(crate) fn all(repository: &TestRepository) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = Vec::new();
    for folder in ["examples", "tests/fixtures"] {
        for path in files_below(&root.join(folder)) {
            let name = path.strip_prefix(root).expect("inside").display().to_string();
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let lower = name.to_lowercase();
            repository.file(&format!("in/{name}"), &text);
            if lower.contains("dockerfile") && ![".md", ".json"].iter().any(|end| lower.ends_with(end))
                || lower.ends_with(".image.toml")
            {
                named.push(format!("in/{name}"));
            }
        }
    }
    let Cases { images, cases } = Cases::read();
    for (name, image) in &images {
        let file = format!("in/images/{name}.image.toml");
        repository.file(&file, image);
        named.push(file);
    }
    let none = BTreeMap::new();
    let mut seen: BTreeSet<(&str, &BTreeMap<String, String>)> =
        images.values().map(|image| (image.as_str(), &none)).collect();
    // An image description cannot express the deciding part of some cases.
    let described = |case: &Case| case.not_described.is_none() && case.expects_more_than_facts();
    for (at, case) in cases.iter().enumerate().filter(|(_, case)| described(case)) {
        if let Some(text) = case.text().filter(|text| seen.insert((text, &case.files))) {
            let folder = format!("in/cases/{}/{at}", case.source);
            let name = if case.dockerfile.is_some() { "Dockerfile" } else { "image.toml" };
            let file = if case.files.is_empty() { format!("{folder}.{name}") } else { format!("{folder}/{name}") };
            if !case.files.is_empty() {
                write_files(&repository.path(&folder), &case.files);
            }
            repository.file(&file, text);
            named.push(file);
        }
    }
    for page in RuleBook::built_in().pages() {
        for (at, example) in page.examples.iter().enumerate() {
            let (text, ending) = match &example.input {
                ExampleInput::Dockerfile(text) => (text, "Dockerfile"),
                ExampleInput::Image(text) => (text, "image.toml"),
            };
            let file = format!("in/rules/{}-{at}.{ending}", page.name);
            repository.file(&file, text);
            named.push(file);
        }
    }
    named
}
