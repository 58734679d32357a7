//! `imagelint.toml`: where it is found, what holds, what is refused, what of it has no effect.

use std::fs;
use std::process::Output;

use test_repository::{TestRepository, code, err, out};

use crate::support::test_repository;

/// Fails on `old`: the driver is older than what the build of torch needs. The version of torch is open.
const FAILS: &str =
    "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch\n";

fn repository() -> TestRepository {
    let repository = TestRepository::new();
    fs::remove_file(repository.path("Dockerfile")).expect("the Dockerfile");
    repository.file("app/Dockerfile", FAILS);
    repository
}

/// Runs with no settings of a user's own.
fn run(repository: &TestRepository, arguments: &[&str]) -> Output {
    repository.command(arguments).env("XDG_CONFIG_HOME", repository.path("home")).output().expect("a run")
}

/// Rule, severity and pools of every finding of the run.
fn findings(repository: &TestRepository, arguments: &[&str]) -> Vec<String> {
    let arguments = [arguments, &["--format", "json"]].concat();
    let done = run(repository, &arguments);
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{}", err(&done)));
    let subjects = report["subjects"].as_array().expect("subjects").iter();
    let all = subjects.flat_map(|subject| subject["findings"].as_array().expect("findings"));
    let mut told: Vec<String> = all
        .map(|one| {
            let pools = one["pools"].as_array().expect("pools").iter().filter_map(|pool| pool.as_str());
            let words = [&one["severity"], &one["rule"]].map(|word| word.as_str().expect("a word"));
            format!("{} {} {}", words[0], words[1], pools.collect::<Vec<_>>().join(",")).trim().to_owned()
        })
        .collect();
    told.sort();
    told
}

#[test]
fn failure_is_reported_without_settings() {
    let repository = repository();
    let told = findings(&repository, &["check", "."]);
    assert!(told.iter().any(|one| one.starts_with("error ") && one.ends_with("old")), "{told:?}");
}

#[test]
fn a_severity_applies_only_to_its_pools() {
    let repository = repository();
    let before = findings(&repository, &["check", "."]);
    let failing = before.iter().find(|one| one.starts_with("error ")).expect("an error").clone();
    let rule = failing.split(' ').nth(1).expect("a rule");
    let with = |text: &str| {
        repository.file("imagelint.toml", text);
        findings(&repository, &["check", "."])
    };
    let lower = with(&format!("[rules.{rule}]\npools = {{ 'ol*' = 'note' }}\n"));
    assert!(lower.iter().any(|one| one.starts_with(&format!("note {rule} old"))), "{lower:?}");
    assert!(!lower.iter().any(|one| one.starts_with(&format!("error {rule} old"))), "{lower:?}");
    let other = with(&format!("[rules.{rule}]\npools = {{ new = 'note' }}\n"));
    assert!(other.iter().any(|one| one.starts_with(&format!("error {rule}")) && one.contains("old")), "{other:?}");
    let off = with(&format!("[rules]\n{rule} = 'off'\n"));
    assert!(!off.iter().any(|one| one.contains(rule)), "{off:?}");
    let mut elsewhere = with(&format!("[[paths]]\nmatch = 'web/**'\nrules = {{ {rule} = 'off' }}\n"));
    elsewhere.retain(|one| one != "warning unused-ignore");
    assert_eq!(elsewhere, before, "another folder's settings");
}

#[test]
fn ignore_hides_its_findings_and_changes_the_exit_code() {
    let repository = repository();
    let failing =
        findings(&repository, &["check", "."]).into_iter().find(|one| one.starts_with("error ")).expect("one");
    let rule = failing.split(' ').nth(1).expect("a rule").to_owned();
    let with = |rest: &str| {
        repository.file("imagelint.toml", &format!("[[ignore]]\nrule = '{rule}'\nreason = 'moved in May'\n{rest}\n"));
        run(&repository, &["check", "."])
    };
    for rest in ["", "until = 9999-01-01", "paths = ['app']", "paths = 'app/*'"] {
        let done = with(rest);
        assert_eq!(code(&done), 0, "{rest}: {}", out(&done));
        assert!(out(&done).contains("✗ "), "the verdict stays: {}", out(&done));
        assert!(!out(&done).contains("unused-ignore"), "{rest}: {}", out(&done));
    }
    for (rest, told) in [
        ("until = 2020-01-01", "expired on 2020-01-01"),
        ("paths = 'web'", "matches no finding"),
        ("paths = 'app/*.x'", "matches no finding"),
    ] {
        let done = with(rest);
        assert_eq!(code(&done), 1, "{rest}: {}", out(&done));
        assert!(out(&done).contains("unused-ignore") && out(&done).contains(told), "{rest}: {}", out(&done));
        assert!(out(&done).contains("--> imagelint.toml:"), "the place: {}", out(&done));
    }
}

/// A run that ends with 1 says why, whatever it is printed as; where the image concerns no GPU as well.
#[test]
fn every_format_reports_an_unused_ignore() {
    let repository = TestRepository::new();
    let formats = [
        "concise",
        "github",
        "sarif",
        "gitlab",
        "junit",
        "checkstyle",
        "rdjsonl",
        "markdown",
        "html",
        "ndjson",
        "human",
    ];
    let ignore = |until: &str| format!("[[ignore]]\nrule = 'stub-library'\nreason = 'x'\n{until}");
    for dockerfile in [test_repository::DOCKERFILE, "FROM python:3.11-slim\nRUN pip install flask\n"] {
        repository.file("Dockerfile", dockerfile);
        for (until, told) in [("", "matches no finding"), ("until = 2020-01-01\n", "expired on 2020-01-01")] {
            repository.file("imagelint.toml", &ignore(until));
            for format in formats {
                let done = run(&repository, &["check", ".", "--fail-on", "warning", "--format", format]);
                assert_eq!(code(&done), 1, "{format}: {}", err(&done));
                assert!(out(&done).contains(told), "{format} {dockerfile}: {}", out(&done));
                assert!(out(&done).contains("imagelint.toml"), "{format}: {}", out(&done));
            }
        }
        // Without the setting there is no message and no failure.
        repository.file("imagelint.toml", "");
        for format in formats {
            let done = run(&repository, &["check", ".", "--fail-on", "warning", "--format", format]);
            assert_eq!(code(&done), 0, "{format}: {}", out(&done));
            assert!(!out(&done).contains("matches no finding"), "{format}: {}", out(&done));
        }
    }
}

#[test]
fn an_ignore_is_unused_only_where_all_was_looked_at() {
    let repository = repository();
    repository.file("imagelint.toml", "[[ignore]]\nrule = 'compat-unusable'\nreason = 'x'\n");
    assert!(findings(&repository, &["check"]).contains(&"warning unused-ignore".to_owned()));
    for some in [&["check", "app/Dockerfile"][..], &["check", "app"], &["check", "--pool", "old"]] {
        let told = findings(&repository, some);
        assert!(!told.contains(&"warning unused-ignore".to_owned()), "{some:?}: {told:?}");
    }
}

#[test]
fn settings_without_effect_are_reported() {
    let idle = "warning unused-ignore".to_owned();
    let repository = repository();
    for (settings, arguments, told) in [
        ("[[paths]]\nmatch = 'gone/**'\ntarget = 'x'\n", &["check"][..], 1),
        ("[[paths]]\nmatch = ['app/*', 'gone']\n[paths.build-args]\nA = '1'\n", &["check"], 0),
        (
            "[[paths]]\nmatch = 'app/**'\npools = ['new']\n[[paths]]\nmatch = '*/Dockerfile'\npools = ['old']\n",
            &["check"],
            0,
        ),
        ("[[paths]]\nmatch = 'gone/**'\ntarget = 'x'\n", &["check", "app/Dockerfile"], 0),
        ("[[paths]]\nmatch = 'gone/**'\ntarget = 'x'\n", &["check", "app"], 0),
        ("[rules]\ncompiler-newer-than-driver = 'error'\n", &["check"], 1),
        ("[[paths]]\nmatch = 'app/**'\nrules.compiler-newer-than-driver = 'note'\n", &["check"], 1),
        ("preview = true\n[rules]\ncompiler-newer-than-driver = 'error'\n", &["check"], 0),
        ("[rules]\ncompiler-newer-than-driver = 'error'\n", &["check", "--preview"], 0),
        ("[rules]\ncompiler-newer-than-driver = 'off'\n", &["check"], 0),
        ("[rules]\ntorch-unpinned = 'error'\n", &["check"], 0),
        // What speaks of the image has no pool of its own.
        ("[rules.unknown-nvidia-variable]\npools = { 'old' = 'off' }\n", &["check"], 1),
        ("[[paths]]\nmatch = 'app/**'\nrules.unknown-nvidia-variable.pools = { 'old' = 'off' }\n", &["check"], 1),
        ("[rules.unknown-nvidia-variable]\nseverity = 'note'\n", &["check"], 0),
        ("[rules.insufficient-driver]\npools = { 'old' = 'warning' }\n", &["check"], 0),
        ("[rules.driver-out-of-support]\npools = { 'old' = 'off' }\n", &["check"], 0),
    ] {
        repository.file("imagelint.toml", settings);
        let found = findings(&repository, arguments);
        assert_eq!(found.iter().filter(|one| **one == idle).count(), told, "{settings} {arguments:?}: {found:?}");
    }
}

#[test]
fn nearest_settings_file_applies_and_the_hidden_name_has_precedence() {
    let repository = repository();
    let target = |name: &str| format!("target = '{name}'\n");
    repository.file("app/Dockerfile", "FROM busybox AS a\nFROM busybox AS b\nFROM busybox AS c\nFROM busybox AS d\n");
    let shown = |expected: &str| {
        let done = run(&repository, &["check", "app", "--show-settings"]);
        assert!(out(&done).contains(expected), "{expected}: {}{}", out(&done), err(&done));
    };
    repository.file("home/imagelint/imagelint.toml", &target("a"));
    shown("home/imagelint/imagelint.toml:1");
    repository.file("imagelint.toml", &target("b"));
    shown("target = \"b\"  # imagelint.toml:1");
    repository.file("app/imagelint.toml", &target("c"));
    shown("target = \"c\"  # app/imagelint.toml:1");
    repository.file("app/.imagelint.toml", &target("d"));
    shown("target = \"d\"  # app/.imagelint.toml:1");
    let done = run(&repository, &["check", "app", "--show-settings", "--target", "a"]);
    assert!(out(&done).contains("target = \"a\"  # --target"), "{}", out(&done));
    let done = run(&repository, &["check", "app", "--show-settings", "--no-config"]);
    assert!(!out(&done).contains("target"), "{}", out(&done));
    let done = run(&repository, &["check", "app", "--show-settings", "--config", "imagelint.toml"]);
    assert!(out(&done).contains("target = \"b\""), "{}", out(&done));
}

#[test]
fn settings_outside_of_the_repository_are_ignored() {
    let repository = repository();
    repository.file("inner/.git/HEAD", "");
    repository.file("inner/Dockerfile", FAILS);
    repository.file("imagelint.toml", "flete = 1\n");
    assert_eq!(code(&run(&repository, &["check", "."])), 2);
    let done = run(&repository, &["check", "inner"]);
    assert_ne!(code(&done), 2, "{}", err(&done));
}

#[test]
fn mistakes_end_the_run_with_their_place() {
    let repository = repository();
    for (text, told) in [
        ("[[bases]]\n", "unknown key `bases`"),
        ("[rules]\ntorch-unpined = 'off'\n", "did you mean `torch-unpinned`?"),
        ("[[ignore]]\nrule = 'refused'\nreason = 'x'\npools = 'odl'\n", "did you mean `old`?"),
        ("extend = 'imagelint.toml'\n", "it extends itself"),
        ("extend = '../../etc/x.toml'\n", "imagelint.toml:1:10"),
        ("fleet = 'none.toml'\n", "none.toml"),
    ] {
        repository.file("imagelint.toml", text);
        let done = run(&repository, &["check", "."]);
        assert_eq!(code(&done), 2, "{text}: {}", err(&done));
        assert!(err(&done).contains(told) && err(&done).contains("imagelint.toml"), "{text}: {}", err(&done));
    }
    // Settings of a fleet are not asked about the pools of another that somebody tries.
    repository.file("imagelint.toml", "[[ignore]]\nrule = 'refused'\nreason = 'x'\npools = 'odl'\n");
    let done = run(&repository, &["check", ".", "--fleet", "fleet.toml"]);
    assert_ne!(code(&done), 2, "{}", err(&done));
}

#[test]
fn settings_cannot_name_paths_outside_the_repository_or_in_git() {
    let outside = tempfile::tempdir().expect("a folder");
    let secret = outside.path().join("secret.toml");
    fs::write(&secret, "password = 'hunter2'\n").expect("a file");
    let repository = repository();
    repository.file(".git/config", "token = 'hunter2'\n");
    std::os::unix::fs::symlink(&secret, repository.path("link.toml")).expect("a link");
    std::os::unix::fs::symlink(outside.path(), repository.path("pages")).expect("a link");
    for path in [secret.to_str().expect("UTF-8"), "link.toml", ".git/config", "pages"] {
        for key in ["fleet", "extend", "baseline", "rule-folders"] {
            repository.file("imagelint.toml", &format!("{key} = '{path}'\n"));
            let done = run(&repository, &["check", "."]);
            assert_eq!(code(&done), 2, "{key} {path}: {}", err(&done));
            assert!(!err(&done).contains("hunter2"), "{key} {path}: {}", err(&done));
        }
    }
    fs::remove_file(repository.path("imagelint.toml")).expect("the settings");
    std::os::unix::fs::symlink(&secret, repository.path("imagelint.toml")).expect("a link");
    let done = run(&repository, &["check", "."]);
    assert_eq!(code(&done), 2);
    assert!(!err(&done).contains("hunter2"), "{}", err(&done));
    // The user's own word reaches everywhere.
    fs::write(&secret, format!("fleet = '{}'\n", repository.path("fleet.toml").display())).expect("a file");
    let done = run(&repository, &["check", ".", "--config", secret.to_str().expect("UTF-8")]);
    assert_eq!(code(&done), 1, "{}", err(&done));
}

/// Endless files, pipes without a writer and files that are too long are never opened if a repository names them.
#[test]
fn special_files_are_refused_as_rule_pages_and_fleets() {
    let repository = repository();
    repository.file("pages/x.txt", "");
    let pipe = repository.path("pages/a.md");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let named = |key: &str, value: &str| repository.file("imagelint.toml", &format!("{key} = '{value}'\n"));
    let refused = |arguments: &[&str], told: &str| {
        let done = run(&repository, arguments);
        assert_eq!(code(&done), 2, "{arguments:?}: {}", err(&done));
        assert!(err(&done).contains(told) && err(&done).len() < 2_000, "{arguments:?}: {}", err(&done));
    };
    let plain = "not a regular file";
    refused(&["check", ".", "--rules", "pages"], plain);
    refused(&["explain", "804", "--rules", "pages"], plain);
    named("rule-folders", "pages");
    refused(&["check", "."], plain);
    for key in ["fleet", "baseline", "extend"] {
        named(key, "pages/a.md");
        refused(&["check", "."], plain);
    }
    fs::remove_file(repository.path("imagelint.toml")).expect("settings");
    fs::remove_file(&pipe).expect("the pipe");
    std::os::unix::fs::symlink("/dev/zero", &pipe).expect("a link");
    refused(&["check", ".", "--rules", "pages"], plain);
    fs::remove_file(&pipe).expect("the link");
    repository.file("pages/a.md", &"x".repeat((256 << 10) + 1));
    refused(&["check", ".", "--rules", "pages"], "longer than 262144 bytes");
    // A link to a plain file is one.
    fs::remove_file(&pipe).expect("the page");
    assert_eq!(code(&run(&repository, &["rules", "new", "own-rule", "own"])), 0);
    std::os::unix::fs::symlink("../own/own-rule.md", &pipe).expect("a link");
    let done = run(&repository, &["check", ".", "--rules", "pages"]);
    assert!(!err(&done).contains(plain), "{}", err(&done));
}

#[test]
fn untrusted_registries_are_not_contacted_despite_repository_settings() {
    let repository = repository();
    repository.file("app/Dockerfile", "FROM 127.0.0.1:9/ml:1\n");
    let asked = |arguments: &[&str]| err(&run(&repository, arguments)) + &out(&run(&repository, arguments));
    let refused = "127.0.0.1:9 is not in `trusted-registries`";
    assert!(!asked(&["check", ".", "--pull"]).contains(refused), "nobody said so");
    repository.file("imagelint.toml", "trusted-registries = ['nvcr.io']\n");
    assert!(asked(&["check", ".", "--pull"]).contains(refused));
    assert!(asked(&["lock", "."]).contains(refused));
    repository.file("list", "127.0.0.1:9/ml:1\n");
    assert!(asked(&["scan", "--from-file", "list"]).contains(refused));
    assert!(!asked(&["scan", "127.0.0.1:9/ml:1"]).contains(refused), "asked for by name");
    repository.file("imagelint.toml", "trusted-registries = ['127.0.0.1:9']\n");
    assert!(!asked(&["check", ".", "--pull"]).contains(refused));
    repository.file("home/imagelint/imagelint.toml", "trusted-registries = ['nvcr.io']\n");
    let told = asked(&["check", ".", "--pull"]);
    assert!(told.contains(refused) && told.contains("home/imagelint"), "{told}");
}

#[test]
fn builds_files_and_pools_are_as_the_settings_say() {
    let repository = repository();
    repository.file("app/Dockerfile", "ARG TAG=12.4.1\nFROM nvidia/cuda:${TAG}-base-ubuntu22.04\n");
    repository.file("vendor/x/Dockerfile", FAILS);
    repository.file("app/gpu.df", FAILS);
    repository.file(
        "imagelint.toml",
        "extend = 'common/base.toml'\nexclude = ['vendor']\ninclude = ['app/*.df']\nfail-on = 'never'\n\
         [[paths]]\nmatch = 'app/Dockerfile'\npools = ['new']\nbuild-args = { TAG = '12.2.2' }\n",
    );
    repository.file(
        "common/base.toml",
        "persona = 'pedantic'\npreview = true\nfail-on = 'note'\n[build-args]\nTAG = '11.8.0'\n",
    );
    let done = run(&repository, &["check", ".", "--show-files"]);
    assert!(out(&done).contains("image.base.cuda = 12.2.2"), "{}", out(&done));
    assert!(out(&done).contains("app/gpu.df") && !out(&done).contains("vendor"), "{}", out(&done));
    let done = run(&repository, &["check", ".", "--show-settings"]);
    for line in [
        "persona = \"pedantic\"  # common/base.toml:1",
        "preview = true  # common/base.toml:2",
        "fail-on = \"never\"  # imagelint.toml:4",
        "fleet = \"fleet.toml\"  # default",
        "build-args.TAG = \"12.2.2\"  # imagelint.toml:8",
        "pools = \"new\"  # imagelint.toml:7",
    ] {
        assert!(out(&done).contains(line), "{line}: {}", out(&done));
    }
    let done = run(&repository, &["check", "app/Dockerfile", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).expect("json");
    let pools: Vec<&str> = report["subjects"][0]["verdicts"]
        .as_array()
        .expect("verdicts")
        .iter()
        .filter_map(|verdict| verdict["pool"].as_str())
        .collect();
    assert!(!pools.is_empty() && pools.iter().all(|pool| *pool == "new"), "{pools:?}");
    assert_eq!(code(&run(&repository, &["check", "vendor"])), 3, "all of it is skipped");
    let named = ["check", "vendor/x/Dockerfile"];
    assert_eq!(code(&run(&repository, &named)), 0, "a file that is named is always taken, and nothing fails the run");
    assert_eq!(code(&run(&repository, &[&named[..], &["--fail-on", "error"]].concat())), 1, "the flag wins");
}

#[test]
fn program_without_arguments_checks_the_repository() {
    let repository = repository();
    let done = run(&repository, &[]);
    assert_eq!((code(&done), out(&done)), (1, out(&run(&repository, &["check"]))));
    let empty = TestRepository::empty();
    let done = run(&empty, &[]);
    assert_eq!(code(&done), 3);
    assert!(
        err(&done).contains("nothing to check: ") && err(&done).contains("imagelint check --help"),
        "{}",
        err(&done)
    );
}

#[test]
fn commands_without_findings_accept_a_settings_file() {
    let repository = repository();
    repository.file("app/Dockerfile", "ARG CUDA\nFROM nvidia/cuda:${CUDA}-base-ubuntu22.04\n");
    repository.file("imagelint.toml", "[build-args]\nCUDA = \"12.4.1\"\n");
    repository.file("other.toml", "[build-args]\nCUDA = \"11.8.0\"\n");
    let path = repository.path("other.toml");
    let other = path.to_str().expect("UTF-8");
    let told = |more: &[&str]| out(&run(&repository, &[&["describe", "app/Dockerfile"], more].concat()));
    assert!(told(&[]).contains("12.4.1-base"));
    let by_other = told(&["--config", other]);
    assert!(by_other.contains("11.8.0-base") && !by_other.contains("12.4.1"), "{by_other}");
    let without = told(&["--no-config"]);
    assert!(!without.contains("12.4.1") && !without.contains("11.8.0"), "{without}");
    // The commands that read an input in the same way are slower to tell of it.
    for command in ["describe", "needs"] {
        let both = run(&repository, &[command, "app/Dockerfile", "--no-config", "--config", other]);
        assert_eq!(code(&both), 2, "{command}");
        let gone = run(&repository, &[command, "app/Dockerfile", "--config", "nowhere.toml"]);
        assert!(code(&gone) == 2 && err(&gone).contains("nowhere.toml"), "{command}: {}", err(&gone));
    }
    repository.file("imagelint.toml", "nonsense = 3\n");
    assert_eq!(code(&run(&repository, &["lock", "--check", "."])), 2);
    assert!(!err(&run(&repository, &["lock", "--check", "--no-config", "."])).contains("nonsense"));
}
