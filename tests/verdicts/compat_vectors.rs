//! All vectors of the choice of libcuda against the functions that the replay uses.

use std::collections::BTreeMap;

use imagelint::cuda::{
    CompatHookHost, CompatHookRule, CompatNote, CudaCompatMode, DriverVersion, LdConf, LinkedFile,
    cli_uses_compat_library, exactly_one, hook_uses_compat_library, is_hook_library_name, ldconfig_search_order,
    resolve_links, select_linked_file, split_path,
};
use serde_json::{Value, json};

fn text<'v>(vector: &'v Value, name: &str) -> &'v str {
    vector[name].as_str().unwrap_or_default()
}

/// A note as the vectors write it: with plain keys; a text that is no note is none.
fn note(written: &Value) -> Option<CompatNote> {
    let mut note = written.as_object()?.clone();
    let cuda = note.remove("cuda")?;
    note.insert("CUDA version".to_owned(), cuda);
    CompatNote::from_json(&Value::Object(note).to_string())
}

/// The directory that the hook puts first.
fn hook_directory(vector: &Value, rule: CompatHookRule) -> Option<String> {
    let files: BTreeMap<&str, &Value> =
        vector["files"].as_object().into_iter().flatten().map(|(path, file)| (path.as_str(), file)).collect();
    let link = |path: &str| files.get(path)?.as_str()?.strip_prefix("link:");
    let host = CompatHookHost {
        driver: text(vector, "host_driver").parse().ok(),
        cuda: text(vector, "host_cuda").parse().ok(),
    };
    let root = resolve_links(text(vector, "compat_root"), link)?;
    let candidates = files.iter().filter(|(path, file)| {
        let (directory, name) = split_path(path);
        directory == root && is_hook_library_name(name) && file.is_object()
    });
    let (path, file) = exactly_one(candidates)?;
    let version: DriverVersion = split_path(path).1.strip_prefix("libcuda.so.")?.parse().ok()?;
    hook_uses_compat_library(rule, version, note(&file["elf_note"]).as_ref(), host).then_some(root)
}

/// What `ldconfig` links for libcuda in a layout of words: `lib:535.104.12`, `conf:cuda-compat=compat`, `cmdline:lib`.
fn linked_in(layout: &[&str]) -> Option<String> {
    let of = |kind: &str| -> Vec<(&str, &str)> {
        let words = layout.iter().filter_map(|word| word.strip_prefix(kind)?.strip_prefix(':'));
        words.map(|word| word.split_once('=').unwrap_or((word, word))).collect()
    };
    let mut conf: Vec<LdConf> =
        of("conf").into_iter().map(|(name, directory)| LdConf::parse(name, &format!("/{directory}"))).collect();
    conf.sort_by(|one, other| one.name.cmp(&other.name));
    let first: Vec<String> = of("cmdline").into_iter().map(|(_, directory)| format!("/{directory}")).collect();
    let order =
        ldconfig_search_order(first.iter().map(String::as_str), &conf, std::iter::empty(), ["/lib"].into_iter());
    for directory in order {
        let name = directory.trim_start_matches('/');
        let here = layout.iter().filter_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
        match select_linked_file(here.map(|version| (version.parse().ok(), version))) {
            LinkedFile::One(version) => return Some(format!("{name}:{version}")),
            LinkedFile::None => {}
            LinkedFile::Undetermined => return None,
        }
    }
    None
}

fn matching<'v>(files: impl Iterator<Item = &'v str>) -> Vec<&'v str> {
    files.filter(|path| is_hook_library_name(split_path(path).1)).collect()
}

/// What was found where something else was expected.
fn difference(vector: &Value) -> Option<String> {
    let mut wrong = String::new();
    let mut same = |what: &str, found: Value, expected: &Value| {
        if found != *expected {
            wrong = format!("{what}: found {found}, expected {expected}, in {vector}");
        }
    };
    match text(vector, "kind") {
        "hook_executed" | "hook_upstream" => {
            same("note rule", json!(hook_directory(vector, CompatHookRule::Note)), &vector["expect_compat_dir"]);
            if let Some(expected) = vector.get("expect_compat_dir_v1_17_5_to_v1_19_1") {
                same("majors rule", json!(hook_directory(vector, CompatHookRule::Majors)), expected);
            }
            // With a CUDA version alone both rules that read the note agree.
            if text(vector, "host_driver").is_empty() {
                same("CUDA rule", json!(hook_directory(vector, CompatHookRule::Cuda)), &vector["expect_compat_dir"]);
            }
        }
        "cli_filter" => {
            let version = text(vector, "lib").split_once(".so.").and_then(|(_, version)| version.parse().ok());
            let mode = match text(vector, "cuda_compat_mode") {
                "mount" => CudaCompatMode::Mount,
                "ldconfig" => CudaCompatMode::Ldconfig,
                _ => CudaCompatMode::Disabled,
            };
            let host = text(vector, "host_driver").parse().expect("a driver version");
            same(
                "kept",
                json!(cli_uses_compat_library(mode, version.expect("a library version"), host)),
                &vector["expect_kept"],
            );
        }
        "ldconfig_measured" => {
            let layout: Vec<&str> =
                vector["layout"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            same("linked", json!(linked_in(&layout)), &vector["expect_libcuda"]);
        }
        "glob_upstream" => {
            let files = vector["files"].as_array().into_iter().flatten().filter_map(Value::as_str);
            same("matches", json!(matching(files)), &vector["expect"]);
        }
        "elf_note_upstream" => {
            let found = CompatNote::from_json(text(vector, "json"));
            same("note", json!(format!("{found:?}")), &json!(format!("{:?}", note(&vector["expect"]))));
        }
        other => same("kind", json!(other), &Value::Null),
    }
    (!wrong.is_empty()).then_some(wrong)
}

#[test]
fn libcuda_selection_matches_the_container_stack() {
    let vectors: Value = serde_json::from_str(include_str!("../vectors/compat_select.json")).expect("json");
    let vectors = vectors.as_array().expect("a list");
    assert_eq!(vectors.len(), 72);
    let wrong: Vec<String> = vectors.iter().filter_map(difference).collect();
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), vectors.len(), wrong.join("\n"));
}
