//! `imagelint rules` and `imagelint explain`, through the built program.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use imagelint::rules::{RuleBook, Vocabulary, web_book};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::program::imagelint_program;

/// Exit code, standard output and standard error of a run.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(imagelint_program()).args(arguments).output().expect("runs");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    (output.status.code().expect("an end"), text(&output.stdout), text(&output.stderr))
}

fn json(arguments: &[&str]) -> (i32, Value) {
    let (code, out, error) = run(arguments);
    (code, serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{error}")))
}

/// A folder with one page, and the folder's path.
fn folder(pages: &[(&str, &str)]) -> (TempDir, String) {
    let folder = TempDir::new().expect("temporary folder");
    for (name, text) in pages {
        fs::write(folder.path().join(format!("{name}.md")), text).expect("written");
    }
    let path = folder.path().to_str().expect("UTF-8").to_owned();
    (folder, path)
}

/// A page of one's own with two examples.
fn page(when: &str, status: &str, first: &str, second: &str) -> String {
    format!(
        "# our-rule\n\n```toml rule\nseverity = \"error\"\nsince = \"0.1.0\"\nstatus = \"{status}\"\nwhen = '{when}'\n\
         blame = \"image.base\"\nmessage = \"not ours\"\nhelp = \"take ours\"\n```\n\n## What goes wrong\n\nIt does.\n\n\
         ## What to do\n\nThat.\n\n## Examples\n\n### Reported\n\n```dockerfile\n# error: our-rule\n{first}```\n\n\
         ### Silent\n\n```dockerfile\n{second}```\n"
    )
}

#[test]
fn new_rule_page_loads_and_its_test_lists_missing_parts() {
    let folder = TempDir::new().expect("temporary folder");
    let ours = folder.path().join("ours");
    let path = ours.to_str().expect("UTF-8");
    assert_eq!(run(&["rules", "new", "our-registry", path]).0, 0);
    let (code, out, _) = run(&["rules", "test", path]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("missing    ") && out.contains("our-registry.md:") && out.contains("Fill in"), "{out}");
    assert!(out.contains("2 examples of 1 page: 1 validated, 0 noisy, 1 missing, 0 unreadable"), "{out}");
    let before = fs::read_to_string(ours.join("our-registry.md")).expect("a page");
    for (name, reason) in
        [("our-registry", "cannot write"), ("no-gpu", "already"), ("Not A Name", "lower-case"), ("../x", "lower-case")]
    {
        let (code, _, error) = run(&["rules", "new", name, path]);
        assert_eq!(code, 2, "{name}");
        assert!(error.contains(reason), "{name}: {error}");
    }
    assert_eq!(fs::read_to_string(ours.join("our-registry.md")).expect("a page"), before);
}

#[test]
fn examples_of_own_pages_are_validated_noisy_or_missing() {
    let (plain, other) = ("FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n", "FROM corp.example/x:1\n");
    let condition = "!matches(image.base.repository, r\"^corp\")";
    for (when, first, second, code, word) in [
        (condition, plain, other, 0, "1 page: 2 validated"),
        (condition, plain, plain, 1, "unexpected: error: our-rule"),
        (condition, other, other, 1, "expected but missing: error: our-rule"),
        ("contains(image.packages, \"numpy\")", plain, plain, 1, "unexpected: undetermined: our-rule"),
        ("present(package(\"numpy\"))", plain, plain, 1, "use contains(image.packages.named, \"name\")"),
    ] {
        let (_folder, path) = folder(&[("our-rule", &page(when, "stable", first, second))]);
        let (found, out, error) = run(&["rules", "test", &path]);
        assert_eq!(found, code, "{out}{error}");
        assert!(out.contains(word), "{word}: {out}");
    }
    let text = page(condition, "stable", plain, other);
    let gone = text.replace("### Silent\n\n", "### Silent\n\n```toml fleet\n[[pool]]\ngpu = 3\n```\n\n");
    for (text, reason) in [
        (text.replace("matches(", "match("), "matches"),
        (text.replace("severity = \"error\"", "severity = \"fatal\""), "fatal"),
    ] {
        let (_folder, path) = folder(&[("our-rule", &text)]);
        let (code, _, error) = run(&["rules", "test", &path]);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains("our-rule.md") && error.contains(reason), "{error}");
    }
    let (_folder, path) = folder(&[("our-rule", &gone)]);
    let (code, all) = json(&["rules", "test", &path, "--format", "json"]);
    assert_eq!((code, &all["pages"][0]["examples"][1]["verdict"]), (2, &Value::from("unreadable")), "{all}");
    let (_folder, path) = folder(&[]);
    assert_eq!(run(&["rules", "test", &path]).0, 2);
}

#[test]
fn a_preview_rule_reports_only_on_request() {
    let text = page(
        "!matches(image.base.repository, r\"^corp\")",
        "preview",
        "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n",
        "FROM corp.example/x:1\n",
    );
    let (folder, path) = folder(&[("our-rule", &text)]);
    let file = folder.path().join("Dockerfile");
    fs::write(&file, "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n").expect("written");
    let file = file.to_str().expect("UTF-8");
    let speaks = |more: &[&str]| run(&[&["check", "--rules", &path, file], more].concat()).1.contains("our-rule");
    assert!(!speaks(&[]));
    assert!(speaks(&["--preview"]));
    assert_eq!(run(&["rules", "test", &path]).0, 0);
    let outcome = text.replace("when = '!matches(image.base.repository, r\"^corp\")'", "outcome = \"no-gpu\"");
    fs::write(folder.path().join("our-rule.md"), outcome).expect("written");
    assert_eq!(run(&["check", "--rules", &path, file]).0, 2);
}

#[test]
fn rule_lists_contain_every_rule_and_vocabulary_entry() {
    let (code, all) = json(&["rules", "list", "--format", "json"]);
    let rules = all["rules"].as_array().expect("rules");
    let names: BTreeSet<&str> = rules.iter().filter_map(|rule| rule["rule"].as_str()).collect();
    let wanted: BTreeSet<&str> = RuleBook::built_in().pages().map(|page| page.name.as_str()).collect();
    assert_eq!((code, names), (0, wanted));
    let (_, text, _) = run(&["rules", "list"]);
    assert_eq!(text.lines().count(), rules.len());
    let (_, all) = json(&["rules", "vocabulary", "--format", "json"]);
    let (_, text, _) = run(&["rules", "vocabulary"]);
    let words = Vocabulary::built_in();
    for (list, names) in [
        ("names", words.entries.iter().map(|entry| entry.name).collect::<Vec<_>>()),
        ("functions", words.functions.iter().map(|function| function.name).collect()),
        ("operators", words.signs.iter().map(|sign| sign.sign).collect()),
    ] {
        let list = all[list].as_array().expect("a list");
        let told: Vec<&str> = list.iter().filter_map(|one| one["name"].as_str().or(one["operator"].as_str())).collect();
        assert_eq!(told, names);
        assert!(names.iter().all(|name| text.contains(name)));
        assert!(list.iter().all(|one| one["meaning"].as_str().is_some_and(|meaning| !meaning.is_empty())));
    }
}

#[test]
fn rule_page_is_shown_verbatim() {
    let own = RuleBook::built_in().get("no-gpu").expect("a page");
    assert_eq!(run(&["rules", "show", "no-gpu"]), (0, own.text.clone(), String::new()));
    let (code, _, error) = run(&["rules", "show", "no-gpus"]);
    assert_eq!(code, 2);
    assert!(error.contains("did you mean `no-gpu`?"), "{error}");
}

#[test]
fn errors_and_lines_of_logs_are_explained() {
    for (words, page) in [
        (&["804"][..], "compat-not-supported ("),
        (&["CUDA_ERROR_NO_BINARY_FOR_GPU"], "no-kernel-image ("),
        (&["docker:", "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4"], "refused ("),
        (&["torch-unpinned"], "torch-unpinned ("),
    ] {
        let (code, out, _) = run(&[&["explain"], words].concat());
        assert_eq!(code, 0, "{words:?}");
        assert!(out.contains(page) && out.contains("What to do"), "{words:?}: {out}");
    }
    let (_, all) = json(&["explain", "803", "--format", "json"]);
    let found: Vec<&str> =
        all["matches"].as_array().expect("matches").iter().filter_map(|one| one["rule"].as_str()).collect();
    assert_eq!(found, ["driver-mismatch", "compat-unusable"]);
    for (text, near) in [
        ("no-gpuu", "`no-gpuu` is unknown; the nearest rule is no-gpu.\n\nno-gpu ("),
        ("cudaErrorNoDevise", "nearest: cudaErrorNoDevice"),
        ("304", "304 is not in the database of CUDA errors"),
        ("t", "all rules: imagelint rules list"),
        ("", "nothing to explain; pass an error number"),
        ("Cargo.toml", "`Cargo.toml` is a file: imagelint explain - < Cargo.toml"),
    ] {
        let (code, out, _) = run(&["explain", text]);
        assert_eq!(code, 3, "{text}");
        assert!(out.contains(near), "{out}");
    }
    for (text, means) in [
        ("RuntimeError: Error 802: system not yet initialized", "the fabric manager does not run"),
        (
            "could not select device driver \"\" with capabilities: [[gpu]]",
            "the NVIDIA Container Toolkit is not installed",
        ),
    ] {
        let (code, out, _) = run(&["explain", text]);
        assert_eq!(code, 0, "{text}");
        // The lines are wrapped.
        let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.contains(means) && out.contains("No rule covers this error"), "{out}");
    }
    for text in ["it works", "exit status 1", "--", "\u{1b}[31m"] {
        let (code, out, _) = run(&["explain", "--format", "human", "--", text]);
        assert_eq!(code, 3, "{text:?}");
        assert!(!out.contains('\u{1b}'), "{out}");
    }
    let mut command = Command::new(imagelint_program());
    let log = "a\nRuntimeError: CUDA error: no kernel image is available for execution on the device\nb\n";
    let output = command.args(["explain", "-"]).write_stdin(log).output().expect("runs");
    assert!(String::from_utf8_lossy(&output.stdout).contains("no-kernel-image ("));
}

#[test]
fn web_book_is_complete_and_its_links_resolve() {
    let folder = TempDir::new().expect("temporary folder");
    let path = folder.path().to_str().expect("UTF-8");
    assert_eq!(run(&["rules", "docs", path]).0, 0);
    let files = web_book(RuleBook::built_in());
    let contents = fs::read_to_string(folder.path().join("src/SUMMARY.md")).expect("contents");
    for page in RuleBook::built_in().pages() {
        assert!(contents.contains(&format!("[{0}](rules/{0}.md)", page.name)), "{}", page.name);
    }
    let mut links = 0;
    for (path, text) in &files {
        let file = folder.path().join(path);
        assert_eq!(&fs::read_to_string(&file).expect("a file"), text);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if !link.starts_with("https://") {
                let target = file.parent().unwrap_or(Path::new("/")).join(link.split('#').next().unwrap_or(link));
                assert!(target.is_file(), "{path}: {link}");
                links += 1;
            }
        }
    }
    assert!(links > 2 * RuleBook::built_in().pages().count(), "{links}");
}

/// Message, help and pools of every finding of a rule.
fn findings_of_rule(rule: &str, dockerfile: &str, fleet: &str) -> Vec<(String, String, Vec<String>)> {
    let folder = TempDir::new().expect("temporary folder");
    let place = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    };
    let (file, fleet) = (place("Dockerfile", dockerfile), place("fleet.toml", fleet));
    let (_, report) = json(&["check", "--fail-on", "never", "--format", "json", "--fleet", &fleet, &file]);
    let all = report["subjects"][0]["findings"].as_array().cloned().unwrap_or_default();
    let word = |one: &Value, key: &str| one[key].as_str().expect("text").to_owned();
    let pools = |one: &Value| {
        let pools = one["pools"].as_array().expect("pools");
        pools.iter().filter_map(|pool| pool.as_str().map(str::to_owned)).collect()
    };
    let own = all.iter().filter(|one| one["rule"] == rule);
    own.map(|one| (word(one, "message"), word(one, "help"), pools(one))).collect()
}

#[test]
fn cause_is_reported_once_with_all_pools_and_its_remedy() {
    let pool = |name: &str, gpu: &str, rest: &str| {
        format!("[[pool]]\nname = \"{name}\"\ngpu = \"{gpu}\"\nplatform = \"linux/amd64\"\n{rest}\n")
    };
    let whole = "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\ndriver = \"550.54.15\"";
    let fleet = [pool("t4", "T4", whole), pool("a100", "A100", whole)].concat();
    let unread = "FROM registry.example/base:1\nRUN pip install torch==2.4.0\n";
    let [(message, help, pools)] = &findings_of_rule("undetermined", unread, &fleet)[..] else { panic!("one cause") };
    assert_eq!(pools, &["t4", "a100"]);
    assert_eq!(message.matches("registry.example/base:1").count(), 1, "{message}");
    assert!(
        help.starts_with("read its configuration with `imagelint check --pull`, ") && help.contains("imagelint scan"),
        "{help}"
    );
    assert_eq!(help.matches("imagelint scan").count(), 1, "{help}");
    let argument = "ARG BASE\nFROM ${BASE}\nRUN pip install torch==2.4.0\n";
    let [(message, help, _)] = &findings_of_rule("undetermined", argument, &fleet)[..] else { panic!("one cause") };
    assert!(
        message.contains("BASE has no default; only the command line can set it") && help.contains("--build-arg BASE="),
        "{message}: {help}"
    );
    // What hangs on the same fields is one cause, whatever comes of it; on others it is another.
    let open = "toolkit = \"1.17.8\"\ndriver = \"550.54.15\"";
    let old = "toolkit = \"1.17.8\"\ndriver = \"470.182.03\"";
    let known = "FROM python:3.11-slim\nRUN pip install torch==2.4.0\n";
    let fleet = [pool("t4", "T4", open), pool("a100", "A100", open), pool("b", "A100", whole)].concat();
    let [(message, help, pools)] = &findings_of_rule("depends", known, &fleet)[..] else { panic!("one cause") };
    assert_eq!(
        (message.as_str(), help.as_str()),
        (
            "may fail on t4, a100: no GPU in the container: NVIDIA_VISIBLE_DEVICES is not set",
            "set `launch` of pools t4 and a100 in the fleet file"
        )
    );
    assert_eq!(pools, &["t4", "a100"]);
    let fleet =
        [pool("t4", "T4", open), pool("any", "A100", "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"")].concat();
    let causes = findings_of_rule("depends", known, &fleet);
    assert!(causes.iter().all(|(_, help, pools)| pools.len() == 1 && !help.contains("elf_note")), "{causes:?}");
    assert_eq!(causes.len(), 2, "{causes:?}");
    assert!(
        findings_of_rule("depends", known, &pool("old", "T4", &format!("launch = \"docker-gpus\"\n{old}"))).is_empty()
    );
    assert!(findings_of_rule("undetermined", "FROM registry.example/base:1\nRUN make\n", &fleet).is_empty());
}

#[test]
fn a_log_on_standard_input_is_explained_by_its_deciding_line() {
    let explain = |arguments: &[&str], log: Vec<u8>| {
        let mut command = Command::new(imagelint_program());
        let output = command.arg("explain").args(arguments).write_stdin(log).output().expect("runs");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let wrong = "RuntimeError: CUDA error: no kernel image is available for execution on the device";
    let log = format!("building\nit took 35 seconds\n{wrong}\nexit status 1\n");
    for arguments in [&["-"][..], &[]] {
        let (code, out) = explain(arguments, log.clone().into_bytes());
        assert_eq!(code, Some(0));
        assert!(out.starts_with(&format!("The log line that matches is `{wrong}`.\n")), "{out}");
        assert!(out.contains("CUDA error 209 (cudaErrorNoKernelImageForDevice): no kernel image"), "{out}");
    }
    // A very long log is read to its end, and its middle is left out.
    let mut endless = "all is well here\n".repeat(3_000_000).into_bytes();
    endless.extend_from_slice(wrong.as_bytes());
    let (code, out) = explain(&[], endless);
    assert!(code == Some(0) && out.contains("no-kernel-image ("), "{out}");
    let (code, out) = explain(&[], Vec::new());
    assert_eq!(code, Some(3));
    assert!(out.starts_with("nothing to explain; "), "{out}");
    let (code, out) = explain(&["-"], b"epoch 1 loss 0.3\nKilled\n".to_vec());
    assert_eq!(code, Some(3));
    assert!(out.starts_with("no known error in these 2 lines; "), "{out}");
}

#[test]
fn verdicts_are_explained_and_answers_begin_with_a_sentence() {
    for (text, first) in [
        ("starts", "`starts` in a report means: imagelint found no reason"),
        ("minor-version", "`minor-version` in a report means: the driver is older"),
        ("no-gpu", "no-gpu (error, regular): Detects "),
        ("unknown", "`unknown` in a report means: imagelint lacks a fact"),
        ("native", "`native` in a report means: the image contains native code"),
        ("no failure found", "`no failure found` in a report means: imagelint found no reason"),
        ("nvidia-runtime", "`nvidia-runtime` is a launch method (key `launch` of a pool): only NVIDIA_VISIBLE_DEVICES"),
        ("209", "CUDA error 209 (cudaErrorNoKernelImageForDevice): no kernel image is"),
        ("802", "CUDA error 802 (cudaErrorSystemNotReady"),
    ] {
        let (code, out, _) = run(&["explain", text]);
        let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == 0 && out.starts_with(first), "{text}: {out}");
    }
}

#[test]
fn pages_fit_the_width_and_end_with_their_address() {
    for page in RuleBook::built_in().pages() {
        let mut command = Command::new(imagelint_program());
        let output = command.args(["explain", &page.name]).env("COLUMNS", "80").output().expect("runs");
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(out.trim_end().ends_with(&format!("/rules/{}.html", page.name)), "{out}");
        assert!(!out.contains("]("), "{out}");
        // Quoted lines and addresses stay whole.
        let long = |line: &&str| line.chars().count() > 80 && !line.starts_with("    ") && !line.contains("://");
        assert_eq!(out.lines().find(long), None, "{}", page.name);
    }
    let (code, out, _) = run(&["explain", "your system"]);
    assert!(code == 0 && out.starts_with("`your system` is a part of several known messages:\n  "), "{out}");
}

#[test]
fn folders_are_searched_and_a_built_in_page_is_tested_as_given() {
    let (code, out, error) = run(&["rules", "test", "rules/start-up", "--format", "json"]);
    assert_eq!(code, 0, "{error}");
    let all: Value = serde_json::from_str(&out).expect("JSON");
    let outcomes = fs::read_dir("rules/start-up").expect("a folder").count();
    assert_eq!(all["pages"].as_array().map(Vec::len), Some(outcomes));
    let (code, out, error) = run(&["rules", "test", "rules/start-up/no-gpu.md"]);
    assert!(code == 0 && out.contains("of 1 page:"), "{out}{error}");

    let folder = TempDir::new().expect("temporary folder");
    let below = folder.path().join("a/b");
    fs::create_dir_all(&below).expect("folders");
    fs::write(folder.path().join("README.md"), "no page").expect("written");
    // The built-in page with an example that its rule does not report is tested as it is given.
    let own = RuleBook::built_in().get("torch-unpinned").expect("a page");
    let changed = own.text.replacen(": torch-unpinned\n", ": no-gpu\n", 1);
    assert_ne!(changed, own.text);
    fs::write(below.join("torch-unpinned.md"), &changed).expect("written");
    let path = folder.path().to_str().expect("UTF-8");
    let (code, out, error) = run(&["rules", "test", path]);
    assert!(code == 1 && out.contains("of 1 page:") && !out.contains(" 0 missing"), "{out}{error}");
    // Two pages of one name are an error.
    fs::write(folder.path().join("torch-unpinned.md"), &own.text).expect("written");
    let (code, _, error) = run(&["rules", "test", path]);
    assert!(code == 2 && error.contains("a rule with this name already exists"), "{error}");
}
