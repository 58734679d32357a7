//! Every input that the repository holds.

use std::fs;
use std::path::{Path, PathBuf};

use imagelint::rules::{ExampleInput, RuleBook};

use crate::support::place::Place;

/// Pools of one platform with an old driver, and with launches that are not said; others may follow.
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

/// The same with pools of a test's own.
pub(crate) fn fleet_with(pools: &str) -> String {
    format!("{FLEET}{pools}")
}

/// Every file below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Every example, fixture and story of the repository, by its name and text; fixtures keep what lies beside them.
pub(crate) fn all(place: &Place) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = Vec::new();
    for folder in ["examples", "tests/fixtures"] {
        for path in below(&root.join(folder)) {
            let name = path.strip_prefix(root).expect("inside").display().to_string();
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let lower = name.to_lowercase();
            place.file(&format!("in/{name}"), &text);
            if lower.contains("dockerfile") && ![".md", ".json"].iter().any(|end| lower.ends_with(end))
                || lower.ends_with(".image.toml")
            {
                named.push(format!("in/{name}"));
            }
        }
    }
    for path in below(&root.join("tests/stories")) {
        let text = fs::read_to_string(&path).expect("a story");
        let table: toml::Table = toml::from_str(&text).expect("stories");
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        for (name, image) in table.get("images").and_then(toml::Value::as_table).into_iter().flatten() {
            let file = format!("in/stories/{stem}-{name}.image.toml");
            place.file(&file, image.as_str().expect("a text"));
            named.push(file);
        }
        let cases = table.get("case").and_then(toml::Value::as_array);
        // Of some cases a description cannot carry what decides; they say what that is.
        let carried = |(_, case): &(usize, &toml::Value)| case.get("not_described").is_none();
        for (at, case) in cases.into_iter().flatten().enumerate().filter(carried) {
            for (key, ending) in [("image", "image.toml"), ("dockerfile", "Dockerfile")] {
                if let Some(text) = case.get(key).and_then(toml::Value::as_str).filter(|text| text.contains('\n')) {
                    let file = format!("in/stories/{stem}-{at}.{ending}");
                    place.file(&file, text);
                    named.push(file);
                }
            }
        }
    }
    for page in RuleBook::built_in().pages() {
        for (at, example) in page.examples.iter().enumerate() {
            let (text, ending) = match &example.input {
                ExampleInput::Dockerfile(text) => (text, "Dockerfile"),
                ExampleInput::Image(text) => (text, "image.toml"),
            };
            let file = format!("in/rules/{}-{at}.{ending}", page.name);
            place.file(&file, text);
            named.push(file);
        }
    }
    named
}
