//! The allowed imports: which module may import which, and which files may use a crate, a module of the standard library or
//! the built-in tables.

mod import_cycles;
pub(crate) mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use scan::{Kind, pattern};

/// The users of each crate: folders with their `/` and files, below `src/`; `*` for every module.
const CRATES: &[(&str, &[&str])] = &[
    ("base64", &["registry/"]),
    ("clap", &["cli/"]),
    ("clap_complete", &["cli/"]),
    ("clap_mangen", &["cli/man.rs"]),
    ("flate2", &["layer/", "registry/image_archive.rs"]),
    ("globset", &["cli/image_names.rs", "fleet/", "infer/removed_base_libraries.rs", "fleet/settings/"]),
    ("hcl", &["dockerfile/builds/"]),
    ("indicatif", &["cli/progress.rs"]),
    ("ignore", &["cli/", "fleet/"]),
    ("jiff", &["*"]),
    ("memchr", &["layer/elf/", "report/report_filter.rs"]),
    ("miette", &["cli/", "fleet/file_tests.rs", "report/", "rules/", "knowledge/toml_reader.rs"]),
    ("mimalloc", &["main.rs"]),
    ("pep440_rs", &["install/", "knowledge/build/", "model/package/"]),
    ("version_ranges", &["model/package/", "resolve/uv.rs"]),
    ("quick_xml", &["fleet/inventory/"]),
    ("pubgrub", &["resolve/uv.rs"]),
    ("regex", &["dockerfile/builds/bake_expression.rs", "rules/"]),
    ("reqwest", &["registry/"]),
    ("rustix", &["registry/credential_helper.rs"]),
    ("rustls", &["registry/pinned_certificates.rs"]),
    ("rustls_platform_verifier", &["registry/pinned_certificates.rs"]),
    ("schemars", &["model/", "report/", "replay/"]),
    ("serde", &["*"]),
    (
        "serde_json",
        &[
            "dockerfile/builds/",
            "cli/",
            "fleet/cluster/",
            "cuda/compat_note.rs",
            "describe/",
            "dockerfile/json_form.rs",
            "install/pipenv.rs",
            "layer/installed/",
            "fleet/inventory/",
            "judge/",
            "layer/serialization.rs",
            "model/package/",
            "cli/language_server/",
            "registry/",
            "report/",
        ],
    ),
    ("serde_saphyr", &["dockerfile/builds/", "fleet/cluster/", "fleet/inventory/"]),
    ("sha2", &["layer/digest.rs", "registry/content_digest.rs", "report/facts_digest.rs", "report/fingerprint.rs"]),
    ("tar", &["layer/"]),
    ("terminal_size", &["cli/judging.rs"]),
    ("thiserror", &["*"]),
    ("tokio", &["cli/", "registry/"]),
    ("unicode_width", &["report/wrap.rs"]),
    (
        "toml",
        &[
            "describe/",
            "fleet/",
            "install/",
            "fleet/inventory/",
            "knowledge/build/",
            "registry/lock/",
            "registry/registries_conf.rs",
            "knowledge/overlay/",
            "rules/page_header.rs",
            "fleet/settings/",
            "knowledge/toml_reader.rs",
        ],
    ),
    ("zstd", &["layer/", "registry/image_archive.rs"]),
];

/// The users of modules of the standard library.
const STANDARD: &[(&str, &[&str])] = &[
    ("env", &["cli/", "knowledge/build/", "main.rs", "registry/credential_helper.rs"]),
    (
        "fs",
        &[
            "cli/",
            "dockerfile/context/",
            "knowledge/build/",
            "main.rs",
            "text/nearest.rs",
            "registry/credential_lookup.rs",
            "registry/image_archive.rs",
            "registry/registries_conf.rs",
            "registry/regular_file.rs",
        ],
    ),
    ("net", &["registry/"]),
    ("process", &["cli/", "main.rs", "registry/credential_helper.rs"]),
    (
        "thread",
        &[
            "cli/fleet_init.rs",
            "cli/interrupt.rs",
            "cli/lsp/",
            "cli/parallel.rs",
            "fix/thread_budget.rs",
            "layer/digest.rs",
            "registry/credential_helper.rs",
            "parallel.rs",
        ],
    ),
    ("time", &["cli/", "registry/"]),
];

/// The users of patterns in code.
const CODE: &[(&str, &[&str])] = &[
    (r"\bReplayFailure\s*::\s*(new|refused)\b", &["replay/"]),
    (r"\b(SystemTime|UNIX_EPOCH)\b", &["cli/", "main.rs"]),
    (r"\b(Timestamp|Zoned)\s*::\s*now\b", &["cli/", "main.rs"]),
    (r"\bInstant\s*::\s*now\b", &["cli/", "registry/credential_helper.rs", "registry/puller.rs"]),
];

/// The users of the built-in tables, each with a reason: all others get the tables of the user.
const BUILT_IN: &[(&str, &str)] = &[
    ("build/arguments.rs", "options of programs such as cp, which the shell walker needs without tables of a user"),
    ("build/command_effect.rs", "programs such as cp, which the shell walker needs without tables of a user"),
    ("build/installers.rs", "installers, which the shell walker and the reader of commands share"),
    ("cli/", "loads the tables of the user"),
    ("extract/image_config.rs", "the history of an image"),
    ("extract/description.rs", "image descriptions"),
    ("extract/layers/", "contents of layers"),
    ("knowledge/toml_reader.rs", "words that people write for others, of the program's own keys"),
    ("layer/installed/file_kind.rs", "what is kept of a layer is kept by its digest alone, for every set of tables"),
];

/// The names of crates where they are not those of their packages.
const RENAMED: &[(&str, &str)] = &[("hcl_rs", "hcl")];

/// Folders without literals that belong in a table.
const FOLDERS_WITHOUT_DATA: &[&str] =
    &["dockerfile/builds/", "fix/", "extract/", "infer/", "install/", "layer/installed/", "judge/", "replay/"];

/// Folders in them with examples for users.
const EXAMPLE_FOLDERS: &[&str] = &["fix/recommend/", "fix/what_if/", "judge/examples/"];

/// Their allowed literals, each with a reason.
const ALLOWED_LITERALS: &[(&str, &str, &str)] =
    &[("fix/fleet_changes.rs", "999.9", "a driver that is newer than every release of its branch")];

/// Data in code or in a string: a version, a product, an image.
const DATA: &str = r"(?x) (?:^|[^\w.])v?\d+\.\d+ | \b\d{3}\.(?:[^.]|$) | \b[sS][mM]_\d | \bcompute_\d
    | \b(?i-u:GeForce|Quadro|Tesla|RTX|Blackwell|Hopper|Ampere|Volta|Orin|Xavier)\b
    | \b[ABHLPTV](?:2|4|10|16|30|40|100|200|300)\b | nvidia/cuda";

/// The modules, the lowest layer first, as the table in `src/lib.rs` lists them.
fn modules(lib: &str) -> Vec<String> {
    let name = pattern(r"\[`(\w+)`\]");
    let rows = lib.lines().filter(|line| line.starts_with("//! |"));
    rows.flat_map(|row| name.captures_iter(row).map(|found| found[1].to_owned())).collect()
}

/// The faults of one file; `path` is below `src/`.
fn faults(modules: &[String], path: &str, text: &str) -> Vec<String> {
    let code = scan::only(text, &[Kind::Code]);
    let mut found = Vec::new();
    let mut fault = |at: usize, what: String| found.push((scan::line(text, at), what));
    if !path.starts_with("knowledge/build/") && path != "lib.rs" {
        imports(modules, path, &code, &mut fault);
    }
    restricted_names(path, &code, &mut fault);
    // Tests may contain any data.
    if !BUILT_IN.iter().any(|(own, _)| path.starts_with(own)) && !path.ends_with("tests.rs") {
        let tests = scan::bodies(&code, r"#\[cfg\(test\)\]\s*mod\s+\w+\s*\{");
        let shipped = scan::without(&code, &tests);
        for hit in pattern(r"\bKnowledge\s*::\s*built_in\b").find_iter(&shipped) {
            fault(hit.start(), "only cli/ reads the built-in tables by itself, and what BUILT_IN names".to_owned());
        }
    }
    let is_in = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    let without_data = is_in(FOLDERS_WITHOUT_DATA) && !is_in(EXAMPLE_FOLDERS);
    if without_data && !path.ends_with("/tests.rs") && !path.ends_with("_tests.rs") {
        let mut skipped = scan::bodies(&code, r"\bCitation\s*\(");
        skipped.extend(scan::bodies(&code, r"#\[cfg\(test\)\]\s*mod\s+\w+\s*\{"));
        let rest = scan::without(&scan::only(text, &[Kind::Code, Kind::Literal]), &skipped);
        let is_allowed = |hit: &str| ALLOWED_LITERALS.iter().any(|(file, word, _)| *file == path && hit.contains(word));
        for hit in pattern(DATA).find_iter(&rest).filter(|hit| !is_allowed(hit.as_str())) {
            fault(hit.end() - 1, format!("`{}` belongs in a table, not in code", hit.as_str().trim()));
        }
    }
    found.sort();
    found.into_iter().map(|(line, what)| format!("src/{path}:{line}: {what}")).collect()
}

/// Imports of a higher module, and names of the root that this test cannot read.
fn imports(modules: &[String], path: &str, code: &str, fault: &mut impl FnMut(usize, String)) {
    let own = path.split('/').next().unwrap_or(path).trim_end_matches(".rs");
    let layer = |name: &str| modules.iter().position(|module| module == name);
    let here = layer(own);
    if here.is_none() && path != "main.rs" {
        fault(0, format!("`{own}` is not on the map in src/lib.rs"));
    }
    for (at, name) in scan::children(code, "crate") {
        match layer(&name) {
            None => fault(at, format!("`crate::{name}` is no module of the map in src/lib.rs")),
            Some(there) if here.is_some_and(|here| there > here) => {
                fault(at, format!("`{own}` may not import `{name}`, which comes after it"));
            }
            Some(_) => {}
        }
    }
    for hit in pattern(r"\buse\s+crate\s+as\b|\bextern\s+crate\b").find_iter(code) {
        fault(hit.start(), "the crate has one name, `crate`".to_owned());
    }
    let depth = path.trim_end_matches("/mod.rs").split('/').count();
    let inner = scan::bodies(code, r"\bmod\s+\w+\s*\{");
    for hit in pattern(r"\bsuper\b(\s*::\s*super\b)*").find_iter(code) {
        let depth = depth + inner.iter().filter(|body| body.contains(&hit.start())).count();
        if hit.as_str().matches("super").count() >= depth {
            fault(hit.start(), "the root is named `crate`, not `super`".to_owned());
        }
    }
}

/// Crates, modules of the standard library and patterns outside of the files that may use them.
fn restricted_names(path: &str, code: &str, fault: &mut impl FnMut(usize, String)) {
    let is_refused = |users: &[&str]| {
        !users.iter().any(|part| *part == "*" || path == *part || (part.ends_with('/') && path.starts_with(part)))
    };
    let mut named = |at: usize, what: &str, users: &[&str]| {
        fault(at, format!("only {} may name `{what}`", users.join(", ")));
    };
    for (name, users) in CRATES.iter().filter(|(_, users)| is_refused(users)) {
        let called = pattern(&format!(r"(?:^|[^\w:.]|[^\w:>]\s*::)({name})\s*::"));
        let imported = pattern(&format!(r"\b(?:use|crate)\s+(?:::)?({name})\s*(?:;|\bas\b)"));
        for hit in called.captures_iter(code).chain(imported.captures_iter(code)) {
            named(hit.get(1).expect("the name").start(), name, users);
        }
    }
    for (at, child) in scan::children(code, "std") {
        match STANDARD.iter().find(|(name, _)| *name == child) {
            Some((name, users)) if is_refused(users) => named(at, &format!("std::{name}"), users),
            _ => {}
        }
    }
    for (text, users) in CODE.iter().filter(|(_, users)| is_refused(users)) {
        for hit in pattern(text).find_iter(code) {
            named(hit.start(), hit.as_str(), users);
        }
    }
}

/// Every Rust file below `src/`: its path there and its text, sorted.
pub(crate) fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of src") {
            let path = entry.expect("an entry of src").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let below = path.strip_prefix(&root).expect("below src");
                let name = below.to_str().expect("a name in UTF-8").replace('\\', "/");
                found.push((name, fs::read_to_string(&path).expect("a source file")));
            }
        }
    }
    found.sort();
    found
}

fn lib() -> String {
    sources().into_iter().find(|(path, _)| path == "lib.rs").expect("src/lib.rs").1
}

#[test]
fn the_module_map_is_complete() {
    let lib = lib();
    let modules = modules(&lib);
    let listed: BTreeSet<&str> = modules.iter().map(String::as_str).collect();
    let module = pattern(r"(?m)^\s*(?:pub(?:\(\w+\))? )?mod (\w+)");
    let code = scan::only(&lib, &[Kind::Code]);
    let declared: BTreeSet<&str> =
        module.captures_iter(&code).map(|found| found.get(1).expect("the name").as_str()).collect();
    assert_eq!(listed, declared, "the table in src/lib.rs and its `mod` lines");
    assert_eq!(listed.len(), modules.len(), "the map lists a module twice");
}

#[test]
fn imports_and_crates_are_allowed() {
    let modules = modules(&lib());
    let found: Vec<String> = sources().iter().flat_map(|(path, text)| faults(&modules, path, text)).collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// The packages under `[dependencies]` of a manifest, by the names of their crates.
fn dependencies(manifest: &str) -> Vec<String> {
    let own = manifest.lines().skip_while(|line| line.trim() != "[dependencies]").skip(1);
    let own = own.take_while(|line| !line.starts_with('['));
    let names = own.filter_map(|line| line.split_once('=')).map(|(name, _)| name.trim().replace('-', "_"));
    let crates = names.filter(|name| !name.is_empty() && !name.starts_with('#'));
    crates
        .map(|name| RENAMED.iter().find(|(own, _)| *own == name).map_or(name, |(_, other)| (*other).to_owned()))
        .collect()
}

/// Dependencies without a row in `CRATES`, and rows without a dependency.
fn unlisted_crates(manifest: &str) -> Vec<String> {
    let dependencies = dependencies(manifest);
    let is_listed = |name: &str| CRATES.iter().any(|(own, _)| *own == name);
    let lacking =
        dependencies.iter().filter(|name| !is_listed(name)).map(|name| format!("`{name}` has no row in CRATES"));
    let left = CRATES.iter().filter(|(name, _)| !dependencies.iter().any(|own| own == name));
    lacking.chain(left.map(|(name, _)| format!("`{name}` of CRATES is no dependency"))).collect()
}

#[test]
fn every_dependency_is_listed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let manifest = fs::read_to_string(path).expect("the manifest");
    assert_eq!(unlisted_crates(&manifest), Vec::<String>::new());
    let planted = manifest.replacen("[dependencies]\n", "[dependencies]\nleft-pad = \"1\"\n", 1);
    assert_eq!(unlisted_crates(&planted), ["`left_pad` has no row in CRATES"]);
    let without = manifest.replacen("\nbase64 = ", "\n# base64 = ", 1);
    assert_eq!(unlisted_crates(&without), ["`base64` of CRATES is no dependency"]);
}

#[test]
fn every_allowed_literal_exists() {
    let sources = sources();
    for (file, word, why) in ALLOWED_LITERALS {
        let text = sources.iter().find(|(path, _)| path == file).map(|(_, text)| text.as_str()).unwrap_or_default();
        assert!(text.contains(word) && !why.is_empty(), "{file} no longer contains `{word}`");
    }
}

/// Types that share their name: the report's types have the names of its schema.
const SHARED_NAMES: &[&str] = &["Fleet", "Pool", "PoolField"];

/// The types that a file defines, without those of its tests.
fn types(text: &str) -> Vec<String> {
    let code = scan::only(text, &[Kind::Code]);
    let shipped = scan::without(&code, &scan::bodies(&code, r"#\[cfg\(test\)\]\s*mod\s+\w+\s*\{"));
    let definition = pattern(r"(?m)^\s*(?:pub(?:\([a-z]+\))? )?(?:struct|enum|trait) (\w+)");
    definition.captures_iter(&shipped).map(|found| found[1].to_owned()).collect()
}

#[test]
fn type_names_are_unique() {
    let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in sources().iter().filter(|(path, _)| !path.ends_with("tests.rs")) {
        for name in types(text) {
            seen.entry(name).or_default().push(path.clone());
        }
    }
    assert!(seen.len() > 1_000, "{} types", seen.len());
    seen.retain(|name, paths| paths.len() > 1 && !SHARED_NAMES.contains(&name.as_str()));
    assert!(seen.is_empty(), "{seen:#?}");
    let planted = types("pub(crate) struct Fleet;\n#[cfg(test)]\nmod tests {\n    enum Hidden {}\n}\n");
    assert_eq!(planted, ["Fleet"]);
}

/// One concept is one file of so many lines.
const LONGEST: usize = 1_000;

#[test]
fn files_are_short() {
    let long: Vec<String> = sources()
        .iter()
        .filter(|(_, text)| text.lines().count() > LONGEST)
        .map(|(path, text)| format!("src/{path}: {} lines, {LONGEST} at most", text.lines().count()))
        .collect();
    assert!(long.is_empty(), "\n{}\n", long.join("\n"));
}

#[test]
fn planted_violations_are_found() {
    let modules = modules(&lib());
    let planted = [
        ("cuda/mod.rs", "//! x\n\nuse crate::fleet::Pool;", "3: `cuda` may not import `fleet`, which comes after it"),
        (
            "cuda/mod.rs",
            "use crate::{\n    text::{a, b},\n    registry::{c},\n};",
            "3: `cuda` may not import `registry`",
        ),
        ("knowledge/rows.rs", "fn x() {\n    crate::infer::y()\n}", "2: `knowledge` may not import `infer`"),
        ("text/nearest.rs", "const A: char = '\"'; use crate::replay::x; // \"", "1: `text` may not import `replay`"),
        ("model/fact/fact_key.rs", "use crate::*;", "1: `crate::*` is no module"),
        ("model/mod.rs", "use super::cli;", "1: the root is named `crate`"),
        (
            "model/fact/fact_key.rs",
            "mod tests {\n    use super::super::super::super::cli;\n}",
            "2: the root is named `crate`",
        ),
        ("model/fact/fact_key.rs", "use crate as imagelint;", "1: the crate has one name"),
        ("unlisted/mod.rs", "\n", "1: `unlisted` is not on the map"),
        ("fleet/mod.rs", "\nuse reqwest::Client;", "2: only registry/ may name `reqwest`"),
        ("extract/mod.rs", "fn x() -> ::tokio::Y {}", "1: only cli/, registry/ may name `tokio`"),
        ("report/mod.rs", "use {clap::Parser};", "1: only cli/ may name `clap`"),
        ("infer/mod.rs", "use regex as r;", "1: only dockerfile/builds/bake_expression.rs, rules/ may name `regex`"),
        (
            "registry/http_client.rs",
            "use sha2::Digest;",
            "1: only layer/digest.rs, registry/content_digest.rs, report/facts_digest.rs, report/fingerprint.rs may name `sha2`",
        ),
        ("judge/mod.rs", "\n\nlet end = ReplayFailure::new(a, b);", "3: only replay/ may name `ReplayFailure::new`"),
        (
            "rules/condition_evaluator.rs",
            "ReplayFailure::refused(a)",
            "1: only replay/ may name `ReplayFailure::refused`",
        ),
        (
            "fleet/file.rs",
            "use std::{\n    fmt,\n    fs::File,\n};",
            "3: only cli/, dockerfile/context/, knowledge/build/",
        ),
        ("rules/rule_book.rs", "std::env::var(x)", "1: only cli/, knowledge/build/"),
        ("replay/startup_result.rs", "let now = SystemTime::now();", "1: only cli/, main.rs may name `SystemTime`"),
        ("replay/gpu_code.rs", "\nlet x = \"535.54.03\";", "2: `\"535.54` belongs in a table"),
        ("replay/gpu_code.rs", "name.starts_with(\"535.\")", "1: `535.\"` belongs in a table"),
        ("replay/gpu_code.rs", "name == \"NVIDIA GeForce\"", "1: `GeForce` belongs in a table"),
        ("replay/gpu_code.rs", "\n\nname == r#\"an A100\"#", "3: `A100` belongs in a table"),
        ("replay/gpu_code.rs", "image == \"nvidia/cuda\"", "1: `nvidia/cuda` belongs in a table"),
        ("infer/torch.rs", "if version == \"2.6.0\" {", "1: `\"2.6` belongs in a table"),
        ("judge/verdict.rs", "\nname == \"GeForce\"", "2: `GeForce` belongs in a table"),
        ("extract/image_config.rs", "image == \"nvidia/cuda\"", "1: `nvidia/cuda` belongs in a table"),
        ("fix/base_image_tags.rs", "gpu == \"H100\"", "1: `H100` belongs in a table"),
        (
            "install/framework_archive.rs",
            "\nKnowledge::built_in().gpus()",
            "2: only cli/ reads the built-in tables by itself",
        ),
        ("extract/gpu_dependencies.rs", "Knowledge ::built_in()", "1: only cli/ reads the built-in tables by itself"),
        ("fix/base_image_tags.rs", "tag == \"12.4\"", "1: `\"12.4` belongs in a table"),
    ];
    for (path, text, expected) in planted {
        let found = faults(&modules, path, text);
        assert_eq!(found.len(), 1, "{path}\n{text}\n{found:#?}");
        assert!(found[0].starts_with(&format!("src/{path}:{expected}")), "{expected}\n{found:#?}");
    }
}

#[test]
fn allowed_code_has_no_violation() {
    let modules = modules(&lib());
    let sound = [
        ("model/fact/mod.rs", "use crate::{cuda::{fleet}, text};\nuse crate::model::fact::key;"),
        (
            "text/nearest.rs",
            "// crate::cli\n/* crate::cli /* x */ reqwest::x */\nconst A: &str = r#\"crate::cli \" \"#;",
        ),
        ("model/fact/fact_key.rs", "fn x<'a>(y: &'a str) -> &'a str { \"\\\"crate::cli\" }\nuse super::value;"),
        ("model/fact/mod.rs", "mod tests {\n    use super::*;\n}"),
        ("shell/walk.rs", "crate::text::source::regex::x(); self.toml::<u8>(); ignore(); for x in 100..200 {}"),
        (
            "replay/gpu_code.rs",
            "const A: Citation = Citation(\n    \"guide 13.4, GeForce\",\n); // 535.54\nx.0.1; 100..200;",
        ),
        ("replay/gpu_code.rs", "#[cfg(test)]\nmod tests {\n    const A: &str = \"535.54 } A100\";\n}"),
        ("cli/mod.rs", "let knowledge = Knowledge::built_in();"),
        ("replay/code_tests.rs", "let knowledge = Knowledge::built_in();"),
        ("replay/gpu_code.rs", "#[cfg(test)]\nmod tests {\n    const A: Knowledge = Knowledge::built_in();\n}"),
        ("model/fact/fact_key.rs", "// Knowledge::built_in()\nlet words = Vocabulary::built_in();"),
        ("knowledge/build/main.rs", "use crate::schema::Row;\nuse std::{env, fs};"),
        ("report/phrases.rs", "name == \"GeForce RTX 4090\" && driver == \"535.54\""),
        ("main.rs", "use imagelint::cli;\nstd::process::exit(1);"),
    ];
    for (path, text) in sound {
        assert_eq!(faults(&modules, path, text), Vec::<String>::new(), "{text}");
    }
}
