//! `imagelint scan` on OCI layouts and on a real registry.

use std::collections::BTreeSet;
use std::path::Path;

use registry::Registry;
use serde_json::{Value, json};
use test_repository::{FLEET, TestRepository, code, err, out};

use crate::support::{oci_layout, registry, test_repository};

const ARM: &str = r#"
[[pool]]
name = "arm"
gpu = "GH200"
driver = "570.211.01"
platform = "linux/arm64"
launch = "docker-gpus"
toolkit = "1.17.8"
"#;

/// Writes an image of one platform that requires CUDA 12.4, and gives the descriptor of its manifest.
fn image(folder: &Path, architecture: &str) -> Value {
    let mut config = oci_layout::config(architecture);
    config["config"]["Env"] = json!([
        "PATH=/bin",
        "CUDA_VERSION=12.4.1",
        "NVIDIA_REQUIRE_CUDA=cuda>=12.4",
        "NVIDIA_VISIBLE_DEVICES=all",
        "NVIDIA_DRIVER_CAPABILITIES=compute,utility"
    ]);
    let config = oci_layout::blob(folder, "application/vnd.oci.image.config.v1+json", config.to_string().as_bytes());
    let layer = oci_layout::blob(folder, "application/vnd.oci.image.layer.v1.tar", &[0; 1024]);
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": [layer]});
    oci_layout::blob(folder, media_type, manifest.to_string().as_bytes())
}

/// A place with a layout `images` of `one` and `many`.
fn repository(fleet: &str) -> TestRepository {
    let repository = TestRepository::new();
    repository.file("fleet.toml", fleet);
    let folder = repository.path("images");
    let one = image(&folder, "amd64");
    let many = oci_layout::index(&folder);
    oci_layout::finish(&folder, &[("one", one), ("many", many)]);
    repository
}

/// Fate and outcome of the image on a pool.
fn fate(report: &Value, pool: &str) -> (String, String) {
    let verdicts = report["subjects"][0]["verdicts"].as_array().expect("verdicts");
    let of_image = |verdict: &&Value| verdict["pool"] == pool && verdict["component"].is_null();
    let verdict = verdicts.iter().find(of_image).expect(pool);
    (verdict["fate"].as_str().expect("a fate").to_owned(), verdict["outcome"].as_str().unwrap_or_default().to_owned())
}

fn refused() -> (String, String) {
    ("fails".to_owned(), "refused".to_owned())
}

#[test]
fn config_requirement_refuses_only_the_old_pool() {
    let repository = repository(FLEET);
    let report = repository.json(&["scan", "--depth", "config", "oci:images:one"]);
    assert_eq!(fate(&report, "old"), refused());
    assert_ne!(fate(&report, "new").0, "fails", "{report:#}");
    let subject = &report["subjects"][0];
    assert_eq!((&subject["kind"], &subject["inspected"]["depth"]), (&"image".into(), &"config".into()));
    assert!(subject["digest"].as_str().expect("a digest").starts_with("sha256:"));
    let finding = &subject["findings"][0];
    assert_eq!((&finding["rule"], &finding["pools"]), (&"container-refused".into(), &json!(["old"])));
    assert_eq!(finding["locations"][0]["kind"], "config");
    assert!(finding["locations"].to_string().contains("config.Env[NVIDIA_REQUIRE_CUDA]"), "{finding:#}");

    let done = repository.run(&["scan", "--depth", "config", "oci:images:one"]);
    assert_eq!(code(&done), 1);
    // The report breaks lines at 80 columns.
    let told = out(&done).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("unsatisfied condition: cuda>=12.4"), "{told}");
    assert_eq!(code(&repository.run(&["scan", "--pool", "new", "oci:images:one"])), 0);
}

#[test]
fn human_report_states_that_only_the_config_was_read() {
    let repository = repository(FLEET);
    let text = out(&repository.run(&["scan", "--depth", "config", "oci:images:one"]));
    assert!(text.contains("config only: layers were not read"), "{text}");
}

#[test]
fn an_index_gives_every_pool_the_image_of_its_platform() {
    let repository = repository(&format!("{FLEET}{ARM}"));
    let report = repository.json(&["scan", "oci:images:many"]);
    assert_eq!(fate(&report, "old"), refused());
    assert_ne!(fate(&report, "arm").1, "wrong-platform", "{report:#}");
    let told = |report: &Value| {
        let subject = &report["subjects"][0];
        let images = subject["images"].as_array().expect("images").clone();
        assert!(images.iter().all(|image| image["index"] == subject["digest"]), "{subject:#}");
        let manifests: BTreeSet<String> = images.iter().map(|image| image["manifest"].to_string()).collect();
        assert!(manifests.len() == images.len() && !manifests.contains(&subject["digest"].to_string()), "{subject:#}");
        let platforms: Vec<String> = images.iter().map(|image| image["platform"].to_string()).collect();
        (platforms.join(" "), subject["platform"].clone())
    };
    assert_eq!(told(&report), (r#""linux/amd64" "linux/arm64""#.to_owned(), Value::Null));
    let one = repository.json(&["scan", "--platform", "linux/arm64", "oci:images:many"]);
    assert_eq!(told(&one), (r#""linux/arm64""#.to_owned(), json!("linux/arm64")));
    repository.file("saved.json", &one.to_string());
    assert_eq!(
        repository.json(&["check", "--platform", "linux/arm64", "saved.json"])["subjects"][0]["images"],
        one["subjects"][0]["images"]
    );
    let alone = &repository.json(&["scan", "oci:images:one"])["subjects"][0];
    assert_eq!(alone["images"][0], json!({"platform": "linux/amd64", "manifest": alone["digest"]}));
}

#[test]
fn platform_flag_selects_the_pools_of_that_platform() {
    let repository = repository(&format!("{FLEET}{ARM}"));
    let report = repository.json(&["scan", "--platform", "linux/arm64", "oci:images:many"]);
    let pools: Vec<&Value> =
        report["subjects"][0]["verdicts"].as_array().expect("verdicts").iter().map(|of| &of["pool"]).collect();
    assert!(!pools.is_empty() && pools.iter().all(|pool| *pool == "arm"), "{pools:?}");
    let done = repository.run(&["scan", "--platform", "linux/s390x", "oci:images:many"]);
    assert_eq!(code(&done), 2);
    assert!(err(&done).contains("no pool of the fleet has the platform linux/s390x"), "{}", err(&done));
    assert_eq!(code(&repository.run(&["scan", "--platform", "arm", "oci:images:many"])), 2);
}

#[test]
fn an_image_of_another_platform_does_not_start() {
    let repository = repository(&format!("{FLEET}{ARM}"));
    let report = repository.json(&["scan", "oci:images:one"]);
    assert_eq!(fate(&report, "arm"), ("fails".to_owned(), "wrong-platform".to_owned()));
    assert_eq!(fate(&report, "old"), refused());
}

#[test]
fn missing_image_does_not_hide_other_images() {
    let repository = repository(FLEET);
    let done = repository.run(&["scan", "--format", "json", "oci:images:none", "oci:images:one"]);
    assert_eq!(code(&done), 2, "{}", err(&done));
    let report: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(report["errors"][0]["input"], "oci:images:none");
    assert_eq!(fate(&report, "old"), refused());
}

#[test]
fn a_real_registry_gives_the_same_verdicts_as_the_layout() {
    let repository = repository(FLEET);
    let registry = Registry::open();
    registry.push(&repository.path("images"), "one", "team/app:1", None);
    let report = repository.json(&["scan", &format!("{}/team/app:1", registry.host())]);
    assert_eq!(test_repository::fates(&report), test_repository::fates(&repository.json(&["scan", "oci:images:one"])));
    assert_eq!(fate(&report, "old"), refused());
}

#[test]
fn a_description_of_an_image_is_judged_the_same() {
    let repository = repository(FLEET);
    let described = repository.run(&["describe", "oci:images:one"]);
    assert_eq!(code(&described), 0, "{}", err(&described));
    repository.file("x.image.toml", &out(&described));
    let report = repository.json(&["check", "x.image.toml"]);
    assert_eq!(test_repository::fates(&report), test_repository::fates(&repository.json(&["scan", "oci:images:one"])));
}

#[test]
fn description_of_an_index_has_the_requested_platform() {
    let repository = repository(&format!("{FLEET}{ARM}"));
    for (platform, pool) in [("linux/amd64", "old"), ("linux/arm64", "arm")] {
        let described = out(&repository.run(&["describe", "--platform", platform, "oci:images:many"]));
        assert!(described.contains(&format!("platform = \"{platform}\"\n")), "{described}");
        repository.file("x.image.toml", &described);
        let (report, scanned) =
            (repository.json(&["check", "x.image.toml"]), repository.json(&["scan", "oci:images:many"]));
        assert_eq!(fate(&report, pool), fate(&scanned, pool), "{described}");
        let other = if pool == "old" { "arm" } else { "old" };
        assert_eq!(fate(&report, other).1, "wrong-platform", "{described}");
    }
}

/// Layers were not read: without a sign of a GPU in the configuration nothing is known, and history is evidence.
#[test]
fn unread_layers_are_never_assumed_empty() {
    for (history, expected, key) in [
        (json!([{"created_by": "/bin/sh -c #(nop) ADD file:x in /"}]), "undetermined", None),
        (json!([{"created_by": "RUN /bin/sh -c pip install flask # buildkit"}]), "undetermined", None),
        (
            json!([{"created_by": "RUN /bin/sh -c pip install torch==2.4.1+cu121 # buildkit"}]),
            "undetermined",
            Some("package.torch"),
        ),
        (json!([{"created_by": "RUN |1 V=2.4.1 /bin/sh -c pip install torch==$V # buildkit"}]), "undetermined", None),
    ] {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", "[[pool]]\nname = \"p\"\ngpu = \"A100\"\ndriver = \"535.161.08\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n");
        let folder = repository.path("image");
        let mut config = oci_layout::config("amd64");
        config["config"]["Env"] = json!(["PATH=/usr/bin"]);
        config["history"] = history.clone();
        let config =
            oci_layout::blob(&folder, "application/vnd.oci.image.config.v1+json", config.to_string().as_bytes());
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": []});
        let manifest = oci_layout::blob(&folder, media_type, manifest.to_string().as_bytes());
        oci_layout::finish(&folder, &[("x", manifest)]);
        let report = repository.json(&["scan", "--depth", "config", "--fleet", "fleet.toml", "oci:image:x"]);
        let subject = &report["subjects"][0];
        assert_eq!(subject["verdicts"][0]["fate"], expected, "{history}: {subject}");
        let facts = subject["facts"].as_array().expect("facts");
        let read = facts.iter().find(|fact| fact["key"].as_str().is_some_and(|key| key.starts_with("package.")));
        if let Some(key) = key {
            let read = read.unwrap_or_else(|| panic!("{history}: no package"));
            assert_eq!(read["key"], key);
            assert_eq!(read["origins"][0]["path"], "history[0]", "{read}");
        }
    }
}

/// The exit code of a run, its standard error, and the number of errors in the report.
fn incomplete(repository: &TestRepository, arguments: &[&str]) -> (i32, String, usize) {
    let done = repository.run(&[arguments, &["--format", "json"]].concat());
    let report: Value = serde_json::from_str(&out(&done)).unwrap_or_else(|_| panic!("{}", err(&done)));
    (code(&done), err(&done), report["errors"].as_array().expect("errors").len())
}

#[test]
fn unreadable_input_exits_with_2_unless_allowed() {
    let repository = repository(FLEET);
    repository.file("good/Dockerfile", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n");
    repository.file("Dockerfile", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nENV NVIDIA_REQUIRE_CUDA=cuda>=99.0\n");
    repository.file("list", "oci:images:one\noci:gone\n");
    let said = "1 input could not be read (ignored by the exit code): ";
    for (arguments, allowed) in [
        (&["check", "--pool", "new", "good/Dockerfile", "gone"][..], 0),
        (&["check", "Dockerfile", "gone"], 1),
        (&["check", "--exit-zero", "Dockerfile", "gone"], 0),
        (&["check", "gone"], 3),
        (&["check", "--exit-zero", "gone"], 3),
        (&["scan", "--pool", "new", "oci:images:one", "oci:gone"], 0),
        (&["scan", "--from-file", "list"], 1),
        (&["scan", "oci:gone"], 3),
    ] {
        let (code, told, errors) = incomplete(&repository, arguments);
        assert_eq!((code, errors, told.contains(said)), (2, 1, false), "{arguments:?}: {told}");
        let (code, told, errors) = incomplete(&repository, &[arguments, &["--allow-incomplete"]].concat());
        assert_eq!((code, errors), (allowed, 1), "{arguments:?}: {told}");
        assert!(told.contains(said) && told.trim_end().ends_with("gone"), "{arguments:?}: {told}");
    }
    // Lines, lists of files and baselines end alike.
    for (arguments, allowed) in [
        (&["scan", "--pool", "new", "--from-file", "list", "--format", "ndjson"][..], 0),
        (&["scan", "--from-file", "list", "--format", "ndjson"], 1),
        (&["check", "--show-files", "Dockerfile", "gone"], 0),
        (&["check", "--write-baseline", "known.json", "Dockerfile", "gone"], 0),
    ] {
        assert_eq!(code(&repository.run(arguments)), 2, "{arguments:?}");
        let done = repository.run(&[arguments, &["--allow-incomplete"]].concat());
        assert_eq!(code(&done), allowed, "{arguments:?}: {}", err(&done));
        assert!(err(&done).contains(said), "{arguments:?}: {}", err(&done));
    }
    // Where all was read it changes nothing; a broken fleet is no input.
    assert_eq!(incomplete(&repository, &["check", "--allow-incomplete", "Dockerfile"]), (1, String::new(), 0));
    assert_eq!(code(&repository.run(&["check", "--allow-incomplete", "--fleet", "gone", "Dockerfile"])), 2);
    assert_eq!(code(&repository.run(&["scan", "--allow-incomplete", "--from-file", "absent"])), 2);
    assert_eq!(
        code(&repository.run(&["compare", "--allow-incomplete", "Dockerfile", "good/Dockerfile"])),
        2,
        "no such flag"
    );
}
