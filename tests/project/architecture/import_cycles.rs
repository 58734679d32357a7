//! Inside a top-level module, imports go one way: no file imports another that leads back to it.

use std::collections::{BTreeMap, BTreeSet};

use super::scan::{self, Kind, pattern};
use super::sources;

/// For each file's module, such as `fix::search`, the modules of its top-level module that it imports from.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// The module of a file below `src/`.
fn module_of(path: &str) -> String {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    path.strip_suffix("/mod").unwrap_or(path).replace('/', "::")
}

/// The paths of a use tree: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand_use_tree(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((prefix, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree).trim();
        return vec![path.strip_suffix("::self").unwrap_or(path).to_owned()];
    };
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut parts) = (0_usize, vec![String::new()]);
    for letter in inner.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("one part").push(letter);
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| expand_use_tree(&format!("{prefix}{}", part.trim()))).collect()
}

/// A path from the root of the crate; `None` for one of another crate.
fn absolute_path(module: &str, path: &str, modules: &BTreeSet<&str>) -> Option<String> {
    if let Some(rest) = path.strip_prefix("crate::") {
        return Some(rest.to_owned());
    }
    if let Some(rest) = path.strip_prefix("self::") {
        return Some(format!("{module}::{rest}"));
    }
    if let Some(rest) = path.strip_prefix("super::") {
        let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
        return absolute_path(parent, &format!("self::{rest}"), modules).map(|path| path.replace("::super::", "::"));
    }
    let child = format!("{module}::{}", path.split("::").next().unwrap_or(path));
    modules.contains(child.as_str()).then(|| format!("{module}::{path}"))
}

/// The module that defines what a path names, through re-exports.
fn defining_module(
    path: &str,
    modules: &BTreeSet<&str>,
    reexports: &BTreeMap<(String, String), String>,
) -> Option<String> {
    let mut path = path.to_owned();
    for _ in 0..8 {
        let parts: Vec<&str> = path.split("::").collect();
        let length = (1..=parts.len()).rev().find(|&length| modules.contains(parts[..length].join("::").as_str()))?;
        let module = parts[..length].join("::");
        let next = parts.get(length).and_then(|name| reexports.get(&(module.clone(), (*name).to_owned())));
        match next {
            Some(next) => path.clone_from(next),
            None => return Some(module),
        }
    }
    None
}

/// The code of a file without its unit tests, which may import from any file.
fn code_without_tests(text: &str) -> String {
    let code = scan::only(text, &[Kind::Code]);
    let tests = scan::bodies(&code, r"#\[cfg\(test\)\]\s*mod \w+ \{");
    scan::without(&code, &tests)
}

/// The imports inside each top-level module, without those of unit tests; re-exports are no imports.
fn imports_of(files: &[(String, String)]) -> Imports {
    let files = files.iter().filter(|(path, _)| !path.ends_with("tests.rs") && !path.contains("tests/"));
    let named: Vec<(String, String)> = files.map(|(path, text)| (module_of(path), code_without_tests(text))).collect();
    let modules: BTreeSet<&str> = named.iter().map(|(module, _)| module.as_str()).collect();
    let use_statement = pattern(r"(?m)^\s*(pub(?:\([\w: ]+\))?\s+)?use\s+([^;]+);");
    let code_path = pattern(r"\bcrate(?:::\w+)+");
    let (mut reexports, mut paths) = (BTreeMap::new(), Vec::new());
    for (module, code) in &named {
        for found in use_statement.captures_iter(code) {
            let tree = pattern(r"\s+").replace_all(&found[2], " ").into_owned();
            for path in expand_use_tree(&tree).iter().filter_map(|path| absolute_path(module, path, &modules)) {
                if found.get(1).is_some() {
                    let name = path.rsplit("::").next().unwrap_or_default().to_owned();
                    reexports.insert((module.clone(), name), path);
                } else {
                    paths.push((module.clone(), path));
                }
            }
        }
        let rest = use_statement.replace_all(code, "");
        paths.extend(code_path.find_iter(&rest).map(|found| (module.clone(), found.as_str()[7..].to_owned())));
    }
    let mut imports = Imports::new();
    for (module, path) in paths {
        let Some(from) = defining_module(&path, &modules, &reexports) else { continue };
        let top = |module: &str| module.split("::").next().map(str::to_owned);
        if from != module && top(&from) == top(&module) {
            imports.entry(module).or_default().insert(from);
        }
    }
    imports
}

/// A shortest cycle through each module that has one, as `a -> b -> a`; each cycle once.
fn cycles(imports: &Imports) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for start in imports.keys() {
        let mut reached: BTreeMap<&str, &str> = BTreeMap::new();
        let mut queue = vec![start.as_str()];
        while !queue.is_empty() && !reached.contains_key(start.as_str()) {
            let mut next = Vec::new();
            for module in queue {
                for target in imports.get(module).into_iter().flatten() {
                    if !reached.contains_key(target.as_str()) {
                        reached.insert(target, module);
                        next.push(target.as_str());
                    }
                }
            }
            queue = next;
        }
        if let Some(&last) = reached.get(start.as_str()) {
            let mut cycle = vec![start.as_str(), last];
            while cycle.last() != Some(&start.as_str()) {
                cycle.push(reached[cycle.last().expect("a module")]);
            }
            if cycle.iter().min() == Some(&start.as_str()) {
                cycle.reverse();
                found.insert(cycle.join(" -> "));
            }
        }
    }
    found
}

#[test]
fn no_module_contains_an_import_cycle() {
    let found = cycles(&imports_of(&sources()));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn planted_import_cycles_are_found() {
    let found = |files: &[(&str, &str)]| {
        let files: Vec<(String, String)> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        cycles(&imports_of(&files)).into_iter().collect::<Vec<String>>()
    };
    // Of two files, written in every way.
    let both = ["a::b -> a::c -> a::b"];
    assert_eq!(found(&[("a/b.rs", "use crate::a::c::C;"), ("a/c.rs", "use crate::a::b::B;")]), both);
    assert_eq!(found(&[("a/b.rs", "use super::c::{C, D};"), ("a/c.rs", "fn c() { crate::a::b::b() }")]), both);
    assert_eq!(found(&[("a/b.rs", "use crate::a::{x::X, c};"), ("a/c.rs", "use crate::{a::b::B, z::Z};")]), both);
    // Through the re-export of the parent, which itself imports nothing.
    let parent = ("a/mod.rs", "mod b;\nmod c;\npub use self::b::B;\npub(crate) use c::C;");
    assert_eq!(found(&[parent, ("a/b.rs", "use crate::a::C;"), ("a/c.rs", "use crate::a::B;")]), both);
    assert_eq!(found(&[parent, ("a/b.rs", "use crate::a::C;"), ("a/c.rs", "")]), [""; 0]);
    // Of three files, and of a parent with its child.
    let three = [("a/b.rs", "use crate::a::c::C;"), ("a/c.rs", "use crate::a::d::D;"), ("a/d.rs", "use super::b::B;")];
    assert_eq!(found(&three), ["a::b -> a::c -> a::d -> a::b"]);
    assert_eq!(found(&[("a/mod.rs", "mod b;\nuse b::B;"), ("a/b.rs", "use crate::a::A;")]), ["a -> a::b -> a"]);
    // A test that imports from another file is no cycle, and what follows it is read.
    let tested = "#[cfg(test)]\nmod tests {\n    use super::*;\n    use crate::a::c::C;\n}\n";
    assert_eq!(found(&[("a/b.rs", tested), ("a/c.rs", "use crate::a::b::B;")]), [""; 0]);
    let after = format!("{tested}use crate::a::c::C;");
    assert_eq!(found(&[("a/b.rs", &after), ("a/c.rs", "use crate::a::b::B;")]), both);
    // Comments, strings, other crates and other top-level modules are no cycle.
    let other = [("a/b.rs", "use crate::z::Z;\n// use crate::a::c;"), ("a/c.rs", "use crate::a::b::B;"), ("z.rs", "")];
    assert_eq!(found(&other), [""; 0]);
}
