//! The crates that are shipped: their licences, where they come from, and the Rust that they need.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::integrations::own;

/// What cargo says of the crates in `Cargo.lock`.
fn packages() -> Vec<Value> {
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "metadata",
        "--locked",
        "--offline",
        "--format-version",
        "1",
        "--filter-platform",
        "x86_64-unknown-linux-gnu",
    ]);
    let done = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let metadata: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

fn allowed() -> Vec<String> {
    let deny: toml::Table = own("deny.toml").parse().expect("TOML");
    let list = deny["licenses"]["allow"].as_array().expect("a list").iter();
    list.filter_map(|licence| licence.as_str().map(str::to_owned)).collect()
}

/// Whether an expression of licences can be met with those.
fn met(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.trim();
    let mut depth = 0_u32;
    // The operator that binds least stands outside of all brackets.
    for operator in [" OR ", "/", " AND "] {
        for (at, c) in expression.char_indices() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ if depth == 0 && expression[at..].starts_with(operator) => {
                    let (left, right) =
                        (met(&expression[..at], allowed), met(&expression[at + operator.len()..], allowed));
                    return if operator == " AND " { left && right } else { left || right };
                }
                _ => {}
            }
        }
    }
    match expression.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => met(inner, allowed),
        None => allowed.iter().any(|licence| licence == expression),
    }
}

#[test]
fn licences_are_allowed_by_the_policy() {
    let allowed = allowed();
    let packages = packages();
    assert!(packages.len() > 100, "{}", packages.len());
    for package in packages {
        let licence = package["license"].as_str().unwrap_or("none");
        assert!(met(licence, &allowed), "{} {}: {licence}", package["name"], package["version"]);
    }
}

#[test]
fn expressions_of_licences_are_followed() {
    let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("MIT AND (GPL-3.0 OR ISC)", true),
        ("(MIT OR ISC) AND GPL-3.0", false),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
        ("Apache-2.0", false),
        ("none", false),
    ] {
        assert_eq!(met(expression, &allowed), expected, "{expression}");
    }
}

#[test]
fn crates_are_from_the_default_index_and_need_no_newer_rust() {
    let number =
        |version: &str| -> Vec<u32> { version.split('.').filter_map(|part| part.parse().ok()).take(2).collect() };
    let ours = number(env!("CARGO_PKG_RUST_VERSION"));
    assert_eq!(ours.len(), 2);
    for package in packages() {
        let name = package["name"].as_str().expect("a name");
        if name != "imagelint" {
            let source = package["source"].as_str().unwrap_or("a path");
            assert!(source.starts_with("registry+"), "{name}: {source}");
        }
        let needs = number(package["rust_version"].as_str().unwrap_or_default());
        assert!(needs <= ours, "{name} needs Rust {needs:?}");
    }
}

#[test]
fn every_place_names_the_same_rust_and_licence() {
    let rust = env!("CARGO_PKG_RUST_VERSION");
    for (file, text) in [
        ("README.md", format!("Rust ({rust}")),
        ("CONTRIBUTING.md", format!("Rust {rust} ")),
        ("Dockerfile", format!("FROM rust:{rust}-")),
        ("examples/ci/gitlab.yml", format!("image: rust:{rust}-")),
    ] {
        assert!(own(file).contains(&text), "{file} does not say {text}");
    }
    assert_eq!(env!("CARGO_PKG_LICENSE"), "Apache-2.0");
    assert!(own("LICENSE").contains("Apache License"));
}

#[test]
fn maintainer_documents_name_existing_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seen = 0;
    for document in ["CONTRIBUTING.md", "SECURITY.md"] {
        let text = own(document);
        let quoted = text.split('`').skip(1).step_by(2).flat_map(str::split_whitespace);
        let linked = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let starts = ["tests/", "src/", "rules/", ".ci/"];
        for path in quoted.chain(linked.clone()).filter(|path| starts.iter().any(|start| path.starts_with(start))) {
            assert!(root.join(path).exists(), "{document}: {path}");
            seen += 1;
        }
        for path in linked.filter(|path| !path.contains("://")) {
            assert!(root.join(path).exists(), "{document}: {path}");
        }
    }
    assert!(seen > 12, "{seen}");
}
