//! Limits of the readers of makefiles, edits and pipes.

use serde_json::Value;

use crate::support::test_repository::TestRepository;

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

/// The notes on a Dockerfile with these files and this RUN line, and the versions of the packages that it installs.
fn notes_and_versions(files: &[(&str, &str)], run: &str) -> (Vec<String>, Vec<Value>) {
    let repository = TestRepository::empty();
    for (path, text) in files {
        repository.file(path, text);
    }
    repository.file("Dockerfile", &format!("FROM python:3.12\nWORKDIR /app\nCOPY . .\nRUN {run}\n"));
    let report = repository.json(&["check", "Dockerfile", "--fail-on", "never"]);
    let subject = &report["subjects"][0];
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let notes = list(&subject["inspected"]["notes"]).iter().map(|note| text(note).to_owned()).collect();
    let packages = list(&subject["observed"]["platforms"][0]["seen"]["packages"]);
    (notes, packages.into_iter().map(|package| package["version"].clone()).collect())
}

#[test]
fn endless_makefile_references_are_not_followed() {
    let long = format!("X = {}\nY = {}\nall:\n\tpip install $(X) $(Y)\n", "$(".repeat(20_000), "$(Y)".repeat(20));
    let chain = |at: usize| format!("V{at} = {}\n", format!("$(V{})", at + 1).repeat(60));
    let wide: String = (0..8).map(chain).collect();
    let wide = format!("{wide}V8 =\nall:\n\tpip install torch==$(V0)2.1.0\n");
    for text in [long, wide] {
        let begun = std::time::Instant::now();
        let (notes, versions) = notes_and_versions(&[("Makefile", &text)], "make");
        let unknown = !versions.is_empty() && versions.iter().all(|version| version.get("unresolved").is_some());
        assert!(
            unknown || notes.iter().any(|note| note.contains("installs unknown packages")),
            "{versions:?} {notes:?}"
        );
        assert!(begun.elapsed().as_secs() < 8, "{:?}", begun.elapsed());
    }
}

#[test]
fn unbounded_expansion_is_refused() {
    let long = format!("{}\n", "a".repeat(200_000));
    let grow = (0..40).map(|_| "s/a/aa/g;").collect::<String>();
    let pipe = "cat r.txt ".to_owned() + &"| sort ".repeat(3_000);
    let deep = "$(echo ".repeat(500) + "x" + &")".repeat(500);
    for run in [
        "sed -i 's/a*a*a*a*b/c/g' r.txt && pip install -r r.txt".to_owned(),
        "grep -v 'a*a*a*a*a*b' r.txt | xargs pip install".to_owned(),
        format!("sed -i '{grow}' r.txt; pip install -r r.txt"),
        format!("{pipe} | xargs pip install"),
        format!("pip install {deep}"),
        format!("pip install -r {}", deep.replace('$', "<")),
    ] {
        let (notes, versions) = notes_and_versions(&[("r.txt", &long)], &run);
        assert!(versions.is_empty() && !notes.is_empty(), "{run:.60}: {versions:?} {notes:?}");
    }
}
