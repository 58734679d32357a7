//! Base images by `--pull`, by the lock file and by the settings.

use std::fs;

use registry::{Registry, free_port};
use scripted_server::{Reply, ScriptedServer};
use serde_json::{Value, json};
use test_repository::{FLEET, TestRepository, code, err, out};

use crate::support::{oci_layout, registry, scripted_server, test_repository};

const ARM: &str = "\n[[pool]]\nname = \"arm\"\ngpu = \"GH200\"\ndriver = \"570.211.01\"\nplatform = \"linux/arm64\"\n\
    launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";

/// The environment of the private base, in addition to its requirement.
const ENV: &[&str] = &[
    "PATH=/bin",
    "CUDA_VERSION=12.4.1",
    "LD_LIBRARY_PATH=/base/lib",
    "NVIDIA_VISIBLE_DEVICES=all",
    "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
];

const REQUIRES: &str = "NVIDIA_REQUIRE_CUDA=cuda>=12.4";

/// The configuration of an image for amd64.
fn config(env: &[&str]) -> Value {
    let mut config = oci_layout::config("amd64");
    config["config"]["Env"] = json!(env);
    config
}

/// Puts an image for amd64 into a registry, and gives its reference.
fn push(registry: &Registry, repository: &TestRepository, tag: &str, env: &[&str]) -> String {
    let folder = repository.path(&format!("layout-{tag}-{}", env.len()));
    let config = config(env).to_string();
    let config = oci_layout::blob(&folder, "application/vnd.oci.image.config.v1+json", config.as_bytes());
    let layer = oci_layout::blob(&folder, "application/vnd.oci.image.layer.v1.tar", &[0; 1024]);
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": [layer]});
    let root = oci_layout::blob(&folder, media_type, manifest.to_string().as_bytes());
    oci_layout::finish(&folder, &[("it", root)]);
    registry.push(&folder, "it", &format!("corp/ml-base:{tag}"), None);
    format!("{}/corp/ml-base:{tag}", registry.host())
}

/// With the requirement that the old pool does not meet.
fn requiring() -> Vec<&'static str> {
    ENV.iter().copied().chain([REQUIRES]).collect()
}

/// A registry with the private base, a place whose Dockerfile builds on it, and the reference.
fn private(rest: &str) -> (Registry, TestRepository, String) {
    let (registry, repository) = (Registry::open(), TestRepository::new());
    let reference = push(&registry, &repository, "1", &requiring());
    repository.file("Dockerfile", &format!("FROM {reference}\n{rest}"));
    (registry, repository, reference)
}

/// Fate and outcome of the first image on a pool.
fn fate(report: &Value, pool: &str) -> String {
    let verdicts = report["subjects"][0]["verdicts"].as_array().expect("verdicts");
    let of_image = |verdict: &&Value| verdict["pool"] == pool && verdict["component"].is_null();
    let verdict = verdicts.iter().find(of_image).expect(pool);
    let word = |key: &str| verdict[key].as_str().unwrap_or_default();
    format!("{} {}", word("fate"), word("outcome")).trim().to_owned()
}

/// The value of a variable, as the facts of the first subject have it in the end.
fn variable(report: &Value, name: &str) -> Value {
    let facts = report["subjects"][0]["facts"].as_array().expect("facts");
    let key = format!("env.{name}");
    // The value of the Dockerfile comes before that of the base.
    facts.iter().find(|fact| fact["key"] == key.as_str()).expect(name)["value"].clone()
}

/// The finding of a rule on the first subject.
fn finding<'a>(report: &'a Value, rule: &str) -> &'a Value {
    let findings = report["subjects"][0]["findings"].as_array().expect("findings");
    findings.iter().find(|finding| finding["rule"] == rule).expect(rule)
}

/// The notes of the first subject in one text.
fn notes(report: &Value) -> String {
    report["subjects"][0]["inspected"]["notes"].to_string()
}

#[test]
fn a_private_base_is_known_by_pull() {
    let (_registry, repository, reference) = private("");
    let before = repository.json(&["check", "Dockerfile"]);
    assert_ne!(fate(&before, "old"), "fails refused");
    let report = repository.json(&["check", "--pull", "Dockerfile"]);
    assert_eq!(fate(&report, "old"), "fails refused", "{report:#}");
    assert_ne!(fate(&report, "new"), "fails refused");
    let finding = finding(&report, "container-refused");
    let first = &finding["locations"][0];
    assert_eq!((&first["path"], &first["region"]["start_line"]), (&"Dockerfile".into(), &1.into()), "{finding:#}");
    let length = reference.len() as u64;
    assert_eq!((&first["region"]["start_column"], &first["region"]["end_column"]), (&6.into(), &(6 + length).into()));
    assert!(finding["locations"].to_string().contains("config.Env[NVIDIA_REQUIRE_CUDA]"), "{finding:#}");
    let told = notes(&report);
    assert!(told.contains(&reference) && told.contains("sha256:"), "{told}");
    let text = report.to_string();
    assert!(text.contains("only its configuration was read") && !text.contains("and was not read"), "{text}");
    let done = repository.run(&["check", "--pull", "Dockerfile"]);
    assert_eq!(code(&done), 1);
    let shown = out(&done);
    assert!(shown.contains("--> Dockerfile:1:6\n") && shown.contains(&format!("FROM {reference}\n")), "{shown}");
    assert!(shown.contains("^ base image\n") && shown.contains("config.Env[NVIDIA_REQUIRE_CUDA]"), "{shown}");
    let line = out(&repository.run(&["check", "--pull", "--format", "concise", "Dockerfile"]));
    assert!(line.starts_with("Dockerfile:1:6: error container-refused: "), "{line}");

    // A line of the Dockerfile's own says more than the FROM; and where the FROM is shown, a comment above it is heard.
    repository.file("Dockerfile", &format!("FROM {reference}\nENV NVIDIA_REQUIRE_CUDA=cuda>=99.0\n"));
    let own = out(&repository.run(&["check", "--pull", "--format", "concise", "Dockerfile"]));
    assert!(own.starts_with("Dockerfile:2:"), "{own}");
    repository.file("Dockerfile", &format!("# imagelint: ignore[container-refused] known\nFROM {reference}\n"));
    assert_eq!(code(&repository.run(&["check", "--pull", "Dockerfile"])), 0);
    repository
        .file("Dockerfile", &format!("FROM {reference}\n# imagelint: ignore[container-refused] elsewhere\nRUN true\n"));
    assert_eq!(code(&repository.run(&["check", "--pull", "Dockerfile"])), 1);
}

#[test]
fn no_registry_request_without_the_pull_flag() {
    let server = ScriptedServer::start(|_, _| Reply::Whole("404 Not Found", Vec::new(), Vec::new()));
    let repository = TestRepository::new();
    repository.file("Dockerfile", &format!("FROM {}/a/b:1\nCOPY --from={}/c:1 / /\n", server.host(), server.host()));
    for arguments in [["check", "Dockerfile"], ["describe", "Dockerfile"], ["needs", "Dockerfile"]] {
        repository.run(&arguments);
    }
    assert!(server.seen().is_empty(), "{:?}", server.seen());
    repository.run(&["check", "--pull", "Dockerfile"]);
    assert!(!server.seen().is_empty());
}

/// A server with one image for every name, and the digest of its configuration.
fn one_image() -> (ScriptedServer, String) {
    let config = config(&requiring()).to_string();
    let digest = oci_layout::sha256(config.as_bytes());
    let descriptor =
        json!({"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest, "size": config.len()});
    let manifest = json!({"schemaVersion": 2, "config": descriptor, "layers": []}).to_string();
    let server = ScriptedServer::start(move |_, request| {
        let body = if request.line.contains("/manifests/") { &manifest } else { &config };
        Reply::Whole("200 OK", Vec::new(), body.clone().into_bytes())
    });
    (server, digest)
}

#[test]
fn each_base_is_pulled_once_with_two_requests() {
    let (server, _) = one_image();
    let repository = TestRepository::new();
    for name in ["Dockerfile", "b.Dockerfile", "c.Dockerfile"] {
        repository.file(name, &format!("FROM {}/a/b:1\nENV NAME={name}\n", server.host()));
    }
    let report = repository.json(&["check", "--pull", "."]);
    assert_eq!(fate(&report, "old"), "fails refused", "{report:#}");
    let lines: Vec<String> = server.seen().into_iter().map(|request| request.line).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[test]
fn image_config_is_requested_once_and_then_cached() {
    let (server, digest) = one_image();
    let repository = TestRepository::new();
    repository.file("Dockerfile", &format!("FROM {}/a/b:1\n", server.host()));
    let kept = repository.path(".git/cache/imagelint/by-digest").join(digest.replace(':', "-"));
    let mut asked = 0;
    for (arguments, damage, requests) in [
        (&["check", "--pull", "--no-cache", "."][..], false, 2),
        (&["check", "--pull", "."], false, 2),
        (&["check", "--pull", "."], false, 1),
        // What somebody else put there is not believed, and is replaced.
        (&["check", "--pull", "."], true, 2),
        (&["check", "--pull", "."], false, 1),
        (&["check", "--pull", "--no-cache", "."], false, 2),
    ] {
        if damage {
            fs::write(&kept, "{\"config\": {}}").expect("a file");
        }
        assert_eq!(fate(&repository.json(arguments), "old"), "fails refused", "{arguments:?}");
        let lines: Vec<String> = server.seen().into_iter().skip(asked).map(|request| request.line).collect();
        assert_eq!(lines.len(), requests, "{arguments:?} {damage}: {lines:?}");
        asked += lines.len();
    }
    assert!(kept.is_file());
    // A cache that cannot be written is none.
    let blocked = repository.path("blocked");
    fs::write(&blocked, "").expect("a file");
    let mut command = repository.command(&["check", "--pull", ".", "--format", "json"]);
    let done = command.env("XDG_CACHE_HOME", &blocked).output().expect("a run");
    assert_eq!(fate(&serde_json::from_slice(&done.stdout).expect("JSON"), "old"), "fails refused");
}

#[test]
fn locked_base_is_read_without_its_registry() {
    let (registry, repository, reference) = private("");
    let done = repository.run(&["lock"]);
    assert_eq!(
        (code(&done), out(&done).contains("imagelint.lock: 1 locked")),
        (0, true),
        "{}{}",
        out(&done),
        err(&done)
    );
    drop(registry);
    let report = repository.json(&["check", "Dockerfile"]);
    assert_eq!(fate(&report, "old"), "fails refused", "{report:#}");
    let finding = finding(&report, "container-refused");
    let text = fs::read_to_string(repository.path("imagelint.lock")).expect("the lock file");
    let line = text.lines().position(|line| line.starts_with("NVIDIA_REQUIRE_CUDA")).expect("the variable") + 1;
    assert_eq!(finding["locations"][0]["path"], "imagelint.lock", "{finding:#}");
    assert_eq!(finding["locations"][0]["region"]["start_line"], line, "{finding:#}");
    assert!(notes(&report).contains("as locked in imagelint.lock"), "{}", notes(&report));
    assert!(text.contains(&format!("reference = \"{reference}\"")), "{text}");

    let told = out(&repository.run(&["describe", "Dockerfile"]));
    assert!(told.contains("NVIDIA_REQUIRE_CUDA = \"cuda>=12.4\""), "{told}");
    repository.file("app.image.toml", &told);
    assert_eq!(fate(&repository.json(&["check", "app.image.toml"]), "old"), "fails refused", "{told}");
}

#[test]
fn a_lock_file_is_reproducible() {
    let (_registry, repository, _) = private("");
    repository.file("sub/Dockerfile", "FROM scratch\n");
    assert_eq!(code(&repository.run(&["lock"])), 0);
    let first = fs::read_to_string(repository.path("imagelint.lock")).expect("the lock file");
    assert_eq!(code(&repository.run(&["lock", "sub/../Dockerfile"])), 0);
    assert_eq!(fs::read_to_string(repository.path("imagelint.lock")).expect("the lock file"), first);
    assert!(!repository.path("sub/imagelint.lock").exists());
}

#[test]
fn lock_check_reports_moved_tags_and_unlocked_bases() {
    let (registry, repository, reference) = private("");
    assert_eq!(code(&repository.run(&["lock", "--check"])), 1, "nothing is locked yet");
    assert!(!repository.path("imagelint.lock").exists());
    assert_eq!(code(&repository.run(&["lock"])), 0);
    let fresh = repository.run(&["lock", "--check"]);
    assert_eq!((code(&fresh), out(&fresh).as_str()), (0, "up to date: 1 locked\n"), "{}", err(&fresh));
    let before = fs::read_to_string(repository.path("imagelint.lock")).expect("the lock file");
    push(&registry, &repository, "1", ENV);
    let moved = repository.run(&["lock", "--check"]);
    assert_eq!(code(&moved), 1);
    assert!(out(&moved).starts_with(&format!("{reference} for linux/amd64 changed from sha256:")), "{}", out(&moved));
    assert_eq!(fs::read_to_string(repository.path("imagelint.lock")).expect("the lock file"), before);
    drop(registry);
    assert_eq!(code(&repository.run(&["lock", "--check"])), 2, "nobody can tell");
}

#[test]
fn pull_overrides_lock_and_lock_overrides_settings() {
    let (registry, repository, _) = private("");
    let settings = "[[base]]\nmatch = \"*/corp/ml-base:*\"\ndescribe = \"bases/ml.image.toml\"\n";
    repository.file("imagelint.toml", settings);
    repository.file("bases/ml.image.toml", "complete = [\"env\"]\n[env]\nNVIDIA_REQUIRE_CUDA = \"mapped\"\n");
    let value = |arguments: &[&str]| variable(&repository.json(arguments), "NVIDIA_REQUIRE_CUDA");
    assert_eq!(value(&["check", "Dockerfile"]), "mapped");
    assert_eq!(code(&repository.run(&["lock"])), 0);
    assert_eq!(value(&["check", "Dockerfile"]), "cuda>=12.4");
    let newer: Vec<&str> = ENV.iter().copied().chain(["A=1", "NVIDIA_REQUIRE_CUDA=cuda>=13.0"]).collect();
    push(&registry, &repository, "1", &newer);
    assert_eq!(value(&["check", "Dockerfile"]), "cuda>=12.4");
    assert_eq!(value(&["check", "--pull", "Dockerfile"]), "cuda>=13.0");
    drop(registry);
    assert_eq!(value(&["check", "--pull", "Dockerfile"]), "cuda>=12.4", "the lock stands in");
}

#[test]
fn mapped_base_has_the_contents_of_its_description() {
    let repository = TestRepository::new();
    repository.file("fleet.toml", FLEET);
    repository.file("Dockerfile", "FROM registry.corp/ml-base\n");
    repository.file("imagelint.toml", "[[base]]\nmatch = \"registry.corp/*\"\ndescribe = \"ml.toml\"\n");
    repository.file("ml.toml", "base = \"nvidia/cuda:12.4.1-base-ubuntu22.04\"\n[env]\nNVIDIA_REQUIRE_CUDA = \"cuda>=12.4\"\n[packages.pip]\ntorch = \"2.4.0+cu124\"\n");
    let report = repository.json(&["check", "Dockerfile"]);
    assert_eq!(fate(&report, "old"), "fails refused", "{report:#}");
    assert_eq!(fate(&report, "new"), "starts");
    let torch = report["subjects"][0]["verdicts"].as_array().expect("verdicts").iter();
    assert!(torch.map(|verdict| &verdict["component"]).any(|component| component == "torch"), "{report:#}");

    repository.file("Dockerfile", "FROM registry.corp.evil/ml-base\n");
    assert_ne!(fate(&repository.json(&["check", "Dockerfile"]), "old"), "fails refused");
}

#[test]
fn a_configuration_wins_over_the_rows_for_the_tag_and_picks_the_build() {
    let repository = TestRepository::new();
    let digest = format!("sha256:{}", "0".repeat(64));
    let lock = |env: &str| {
        let platform = "reference = \"nvidia/cuda:12.4.1-base-ubuntu22.04\"\nplatform = \"linux/amd64\"\n";
        let rest = format!("digest = \"{digest}\"\nconfig = \"{digest}\"\nplatforms = [\"linux/amd64\"]\n");
        format!("version = 1\n[[base]]\n{platform}{rest}[base.env]\n{env}\n")
    };
    repository.file("Dockerfile", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n");
    assert_eq!(fate(&repository.json(&["check", "Dockerfile"]), "old"), "starts");
    let injected = "CUDA_VERSION = \"12.4.1\"\nNVIDIA_VISIBLE_DEVICES = \"all\"\n";
    repository.file("imagelint.lock", &lock(&format!("{injected}NVIDIA_REQUIRE_CUDA = \"cuda>=12.4\"")));
    assert_eq!(fate(&repository.json(&["check", "Dockerfile"]), "old"), "fails refused");
    // Re-tagged without its requirement: the rows for the tag bring none back.
    repository.file("imagelint.lock", &lock("NVIDIA_VISIBLE_DEVICES = \"all\""));
    let report = repository.json(&["check", "Dockerfile"]);
    assert_ne!(fate(&report, "old"), "fails refused");
    assert_eq!(variable(&report, "NVIDIA_REQUIRE_CUDA"), Value::Null);
}

#[test]
fn dockerfile_overrides_its_locked_base() {
    let (_registry, repository, reference) = private("");
    for (rest, name, expected) in [
        ("ENV NVIDIA_REQUIRE_CUDA=cuda>=11.0", "NVIDIA_REQUIRE_CUDA", json!("cuda>=11.0")),
        ("ENV LD_LIBRARY_PATH=/own:$LD_LIBRARY_PATH", "LD_LIBRARY_PATH", json!("/own:/base/lib")),
        ("ENV LD_LIBRARY_PATH=/own${LD_LIBRARY_PATH:+:more}", "LD_LIBRARY_PATH", json!("/own:more")),
        ("ENV LD_LIBRARY_PATH=${LD_LIBRARY_PATH%/lib}", "LD_LIBRARY_PATH", json!("/base")),
        ("ENV CUDA_HOME=/c$NOT_THERE", "CUDA_HOME", json!("/c")),
        ("ARG CUDA_VERSION=11.0\nENV CUDA_HOME=/cuda-$CUDA_VERSION", "CUDA_HOME", json!("/cuda-12.4.1")),
    ] {
        repository.file("Dockerfile", &format!("FROM {reference}\n{rest}\n"));
        assert_eq!(variable(&repository.json(&["check", "--pull", "Dockerfile"]), name), expected, "{rest}");
    }
    repository.file("Dockerfile", &format!("FROM {reference}\nENV NVIDIA_REQUIRE_CUDA=cuda>=11.0\n"));
    assert_ne!(fate(&repository.json(&["check", "--pull", "Dockerfile"]), "old"), "fails refused");
    repository.file("Dockerfile", &format!("FROM {reference} AS b\nFROM scratch\nCOPY --from=b / /\n"));
    assert_ne!(
        fate(&repository.json(&["check", "--pull", "Dockerfile"]), "old"),
        "fails refused",
        "files alone were copied"
    );
    repository.file("Dockerfile", &format!("FROM {reference} AS b\nFROM ubuntu:22.04\nCOPY --from=b /app /app\n"));
    assert_eq!(fate(&repository.json(&["check", "--pull", "Dockerfile"]), "old"), "not-applicable");
}

#[test]
fn files_are_found_through_variables_of_the_base() {
    let (registry, repository) = (Registry::open(), TestRepository::new());
    let env: Vec<&str> = ENV.iter().copied().chain(["APP=/srv/app"]).collect();
    let reference = push(&registry, &repository, "1", &env);
    let steps = "COPY reqs.txt $APP/\nRUN pip install -r $APP/reqs.txt";
    repository.file("Dockerfile", &format!("FROM {reference}\n{steps}\n"));
    repository.file("reqs.txt", "torch==2.4.0\n");
    let packages =
        |arguments: &[&str]| repository.json(arguments)["subjects"][0]["description"]["packages"]["pip"].clone();
    assert_eq!(packages(&["check", "--pull", "Dockerfile"])["torch"], "2.4.0");
    repository.file(
        "Dockerfile",
        &format!("FROM {reference}\n{}\n", steps.replace("RUN pip install -r $APP", "RUN pip install -r /other")),
    );
    assert_eq!(packages(&["check", "--pull", "Dockerfile"])["torch"], Value::Null);
}

#[test]
fn a_missing_platform_is_reported_at_the_from_line() {
    let (registry, repository, reference) = private("");
    repository.file("fleet.toml", &format!("{FLEET}{ARM}"));
    repository.file("Dockerfile", &format!("# a comment\nFROM {reference}\n"));
    for lock in [false, true] {
        let report = repository.json(if lock { &["check", "Dockerfile"] } else { &["check", "--pull", "Dockerfile"] });
        assert_eq!(fate(&report, "arm"), "fails wrong-platform", "{report:#}");
        assert_eq!(fate(&report, "old"), "fails refused");
        let finding = finding(&report, "wrong-platform");
        let place_of = &finding["locations"][0];
        assert_eq!(
            (&place_of["path"], &place_of["region"]["start_line"]),
            (&json!("Dockerfile"), &json!(2)),
            "{finding:#}"
        );
        assert_eq!(code(&repository.run(&["lock"])), 0);
    }
    drop(registry);
    // Where FROM asks for what is not there, no pool gets an image.
    repository.file("Dockerfile", &format!("FROM --platform=linux/arm64 {reference}\n"));
    let report = repository.json(&["check", "Dockerfile"]);
    assert_eq!(
        (fate(&report, "arm"), fate(&report, "new")),
        ("fails wrong-platform".to_owned(), "fails wrong-platform".to_owned())
    );
}

#[test]
fn a_refused_connection_is_a_warning_and_no_more() {
    let repository = TestRepository::new();
    let reference = format!("127.0.0.1:{}/corp/ml-base:1", free_port());
    repository.file("Dockerfile", &format!("FROM {reference}\nENV NVIDIA_VISIBLE_DEVICES=all\n"));
    let without = repository.run(&["check", "Dockerfile"]);
    let with = repository.run(&["check", "--pull", "Dockerfile"]);
    assert_eq!((code(&with), out(&with)), (code(&without), out(&without)), "{}", err(&with));
    let told = err(&with);
    assert!(told.starts_with(&format!("warning: cannot read base image {reference}: ")), "{told}");
    assert_eq!(told.matches("warning").count(), 1, "{told}");
    let report = repository.json(&["check", "--pull", "Dockerfile"]);
    assert!(notes(&report).contains("was not read"), "{}", notes(&report));
    let lock = repository.run(&["lock"]);
    assert_eq!(code(&lock), 2, "{}", err(&lock));
    assert!(err(&lock).contains(&format!("error: cannot read base image {reference}")), "{}", err(&lock));
}

#[test]
fn unreadable_base_keeps_its_lock_entry() {
    let (registry, repository, _) = private("");
    assert_eq!(code(&repository.run(&["lock"])), 0);
    let before = fs::read_to_string(repository.path("imagelint.lock")).expect("the lock file");
    drop(registry);
    assert_eq!(code(&repository.run(&["lock"])), 2);
    assert_eq!(fs::read_to_string(repository.path("imagelint.lock")).expect("the lock file"), before);
}

#[test]
fn hostile_values_are_escaped_and_secrets_are_not_locked() {
    let (registry, repository) = (Registry::open(), TestRepository::new());
    let escape =
        "NVIDIA_REQUIRE_CUDA=cuda>=12.4 \u{1b}[2J\u{1b}]0;x\u{7}\n::error::x\n\"]\n[[base]]\nreference = \"x\"";
    let env: Vec<&str> = ENV.iter().copied().chain([escape, "NPM_TOKEN=hunter2", "NVIDIA_API_KEY=hunter2"]).collect();
    let reference = push(&registry, &repository, "1", &env);
    repository.file("Dockerfile", &format!("FROM {reference}\nENV CUDA_X=$NPM_TOKEN\n"));
    let plain = |text: &str| !text.contains('\u{1b}') && !text.contains("\n::error");
    let pulled = repository.run(&["check", "--pull", "--why", "--verbose", "Dockerfile"]);
    assert!(plain(&out(&pulled)) && plain(&err(&pulled)), "{}{}", out(&pulled), err(&pulled));
    assert_eq!(code(&repository.run(&["lock"])), 0);
    let text = fs::read_to_string(repository.path("imagelint.lock")).expect("the lock file");
    assert!(plain(&text) && !text.contains("hunter2"), "{text}");
    assert_eq!(text.matches("\n[[base]]\n").count(), 1, "{text}");
    drop(registry);
    let locked = repository.run(&["check", "Dockerfile"]);
    assert!(plain(&out(&locked)) && plain(&err(&locked)), "{}{}", out(&locked), err(&locked));
    assert_ne!(code(&locked), 2, "{}", err(&locked));
    assert_eq!(variable(&repository.json(&["check", "Dockerfile"]), "CUDA_X"), Value::Null, "a value that is not kept");
}

#[test]
fn a_malformed_lock_is_an_error_and_the_rest_is_judged() {
    let repository = TestRepository::new();
    repository.file("imagelint.lock", "version = 1\n[[base]]\nreference = \"a b\"\nplatfrom = \"linux/amd64\"\n");
    let done = repository.run(&["check", "Dockerfile"]);
    assert_eq!(code(&done), 2);
    let report = repository.json(&["check", "Dockerfile"]);
    let errors = report["errors"].as_array().expect("errors");
    let of_key = errors.iter().find(|one| one["message"] == "unknown key `platfrom`; did you mean `platform`?");
    let place_of_key = &of_key.unwrap_or_else(|| panic!("{errors:?}"))["location"];
    assert_eq!((&place_of_key["path"], &place_of_key["region"]["start_line"]), (&"imagelint.lock".into(), &4.into()));
    assert!(errors.iter().all(|one| !one["message"].as_str().expect("a message").contains('\n')), "{errors:?}");
    assert_eq!(fate(&report, "new"), "starts");
    assert_eq!(code(&repository.run(&["lock", "--check"])), 2);
    assert_eq!(code(&repository.run(&["describe", "Dockerfile"])), 2);
}

#[test]
fn invalid_or_outside_base_descriptions_are_errors() {
    let outside = tempfile::tempdir().expect("a folder");
    let file = outside.path().join("x.toml");
    fs::write(&file, "[env]\nNVIDIA_REQUIRE_CUDA = \"cuda>=99\"\n").expect("a file");
    let repository = TestRepository::new();
    repository.file("bad.toml", "basis = 1\n");
    std::os::unix::fs::symlink(&file, repository.path("link.toml")).expect("a link");
    let name = outside.path().file_name().expect("a name").to_string_lossy().into_owned();
    for (describe, said) in [
        ("gone.toml".to_owned(), "cannot read"),
        (file.display().to_string(), "outside the repository"),
        (format!("../{name}/x.toml"), "outside the repository"),
        ("link.toml".to_owned(), "outside the repository"),
        ("bad.toml".to_owned(), "unknown key `basis`"),
    ] {
        repository.file("imagelint.toml", &format!("[[base]]\nmatch = \"nvidia/*\"\ndescribe = \"{describe}\"\n"));
        let report = repository.json(&["check", "Dockerfile"]);
        assert!(report["errors"].to_string().contains(said), "{describe}: {}", report["errors"]);
        assert_eq!(fate(&report, "new"), "starts", "{describe}");
        assert_eq!(code(&repository.run(&["check", "Dockerfile"])), 2, "{describe}");
    }
    repository.file("imagelint.toml", "[[bases]]\nmatch = \"x\"\n");
    let done = repository.run(&["check", "Dockerfile"]);
    assert_eq!(code(&done), 2);
    assert!(err(&done).contains("did you mean `base`?"), "{}", err(&done));
}

#[test]
fn a_base_is_never_a_folder_and_a_link_is_not_written_through() {
    let repository = TestRepository::new();
    let folder = repository.path("images");
    let root = oci_layout::image(&folder, "amd64");
    oci_layout::finish(&folder, &[("latest", root)]);
    repository.file("Dockerfile", "FROM oci:images\n");
    assert_eq!(code(&repository.run(&["describe", "Dockerfile"])), 0);
    assert!(!out(&repository.run(&["describe", "Dockerfile"])).contains("CUDA_VERSION"));

    let server = ScriptedServer::start(|_, _| Reply::Whole("404 Not Found", Vec::new(), Vec::new()));
    repository.file("Dockerfile", &format!("FROM {}/a/b:1\n", server.host()));
    repository.file("precious", "mine\n");
    std::os::unix::fs::symlink(repository.path("precious"), repository.path("imagelint.lock")).expect("a link");
    let done = repository.run(&["lock"]);
    assert_eq!(code(&done), 2, "{}", err(&done));
    assert_eq!(fs::read_to_string(repository.path("precious")).expect("the file"), "mine\n");
}

#[test]
fn lock_without_bases_reports_nothing_to_lock() {
    let repository = TestRepository::empty();
    repository.file("Dockerfile", "ARG BASE\nFROM $BASE\nFROM scratch\n");
    let done = repository.run(&["lock"]);
    assert_eq!((code(&done), out(&done).as_str()), (3, ""), "{}", err(&done));
    assert!(err(&done).starts_with("nothing to lock"), "{}", err(&done));
    assert!(!repository.path("imagelint.lock").exists());
}

#[test]
fn an_unreadable_base_image_creates_no_lock_file() {
    let repository = TestRepository::empty();
    let server = ScriptedServer::start(|_, _| Reply::Whole("404 Not Found", Vec::new(), Vec::new()));
    repository.file("Dockerfile", &format!("FROM {}/a/b:1\n", server.host()));
    let done = repository.run(&["lock"]);
    assert_eq!((code(&done), out(&done).as_str()), (2, ""), "{}", err(&done));
    assert!(!repository.path("imagelint.lock").exists());
    // One that is there already stays as it is.
    repository.file("imagelint.lock", "# mine\nversion = 1\n");
    let done = repository.run(&["lock"]);
    assert_eq!(code(&done), 2, "{}", err(&done));
    let held = fs::read_to_string(repository.path("imagelint.lock")).expect("the file");
    assert_eq!(held, "# mine\nversion = 1\n");
}

/// The rules that speak, and what the one about moved tags says.
fn moved(repository: &TestRepository, arguments: &[&str]) -> (Vec<String>, String) {
    let report = repository.json(&[&["check", "--persona", "pedantic"], arguments, &["Dockerfile"]].concat());
    let findings = report["subjects"][0]["findings"].as_array().expect("findings").clone();
    let rules = findings.iter().filter_map(|one| one["rule"].as_str()).map(str::to_owned).collect();
    let told = findings.iter().find(|one| one["rule"] == "tag-moved");
    (rules, told.map_or_else(String::new, |one| one["message"].as_str().unwrap_or_default().to_owned()))
}

#[test]
fn moved_tag_is_reported_if_its_requirements_differ_from_the_digest() {
    let (registry, repository, reference) = private("");
    let report = repository.json(&["check", "--pull", "Dockerfile"]);
    let told = notes(&report);
    let digest = told.find("sha256:").and_then(|at| told.get(at..at + 71)).expect("a digest").to_owned();
    repository.file("Dockerfile", &format!("FROM {reference}@{digest}\n"));
    assert_eq!(moved(&repository, &["--pull"]).1, "", "the tag is the digest");
    // Another image, which asks for the same.
    let path: Vec<&str> =
        requiring().into_iter().map(|one| if one == "PATH=/bin" { "PATH=/usr/bin" } else { one }).collect();
    push(&registry, &repository, "1", &[path, vec!["OTHER=1"]].concat());
    assert_eq!(moved(&repository, &["--pull"]).1, "");
    // Another requirement, and a variable that is gone: the verdict is that of the digest.
    let asks: Vec<&str> = ENV.iter().copied().filter(|one| !one.starts_with("NVIDIA_VISIBLE")).collect();
    push(&registry, &repository, "1", &[asks, vec!["NVIDIA_REQUIRE_CUDA=cuda>=12.9", "A=1", "B=1"]].concat());
    let (rules, told) = moved(&repository, &["--pull"]);
    assert!(rules.contains(&"container-refused".to_owned()), "{rules:?}");
    for part in ["now `cuda>=12.9`, no longer `cuda>=12.4`", "NVIDIA_VISIBLE_DEVICES: no longer `all`", &digest] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("PATH") && !told.contains("CUDA_VERSION"), "{told}");
    assert_eq!(moved(&repository, &[]).1, "", "nobody was asked");
    let bare = reference.rsplit_once(':').expect("a tag").0;
    repository.file("Dockerfile", &format!("FROM {bare}@{digest}\n"));
    assert_eq!(moved(&repository, &["--pull"]).1, "", "there is no tag");
    // A tag that is gone says nothing, and takes nothing away.
    repository.file("Dockerfile", &format!("FROM {bare}:gone@{digest}\n"));
    let done = repository.run(&["check", "--pull", "Dockerfile"]);
    assert!(!err(&done).contains("cannot read base image"), "{}", err(&done));
    let (rules, told) = moved(&repository, &["--pull"]);
    assert!(rules.contains(&"container-refused".to_owned()) && told.is_empty(), "{rules:?} {told}");
}
