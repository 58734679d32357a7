//! `check --built`: the contents of an image, reported at the lines of its Dockerfile.

use elf::{Elf, container, sass};
use image::{Image, Layer};
use serde_json::Value;
use test_repository::{DOCKERFILE as OTHER, FLEET, TestRepository, code, err, fates, out};

use crate::support::{elf, image, oci_layout, test_repository};

const SITE: &str = "/usr/lib/python3.10/site-packages";
const CUDA: &str = "CUDA_VERSION=12.4.1";
const REQUIRE: &str = "NVIDIA_REQUIRE_CUDA=cuda>=12.4";
const GPUS: &str = "NVIDIA_VISIBLE_DEVICES=all";
const DOCKERFILE: &str = "FROM nvidia/cuda:12.4.1-base-ubuntu22.04
ENV MODEL=small
COPY app /app
RUN pip install \\
    numpy torch
CMD [\"python\", \"app.py\"]
";

/// torch with machine code for an H100 alone.
fn torch() -> Layer {
    let library = Elf::default().registered(&[container(&[sass(90, 'a')])]).bytes();
    Layer::new()
        .text(&format!("{SITE}/torch-2.6.0.dist-info/METADATA"), "Metadata-Version: 2.1\nName: torch\nVersion: 2.6.0\n")
        .text(&format!("{SITE}/torch/version.py"), "__version__ = '2.6.0+cu124'\ncuda: Optional[str] = '12.4'\n")
        .file(&format!("{SITE}/torch/lib/libtorch_cuda.so"), &library)
}

fn base(env: &[&str]) -> Image {
    let base = Layer::new()
        .text("/etc/os-release", "ID=ubuntu\nVERSION_ID=\"22.04\"\n")
        .text("/var/lib/dpkg/status", "Package: libc6\nStatus: install ok installed\nVersion: 2.35-0\n\n");
    Image::new(env).layer("/bin/sh -c #(nop) ADD file:11 in / ", base)
}

/// What `BuildKit` makes of the Dockerfile.
fn built() -> Image {
    base(&[CUDA, REQUIRE, GPUS, "MODEL=small"])
        .layer("COPY app /app # buildkit", Layer::new().text("/app/app.py", "pass\n"))
        .layer("RUN /bin/sh -c pip install     numpy torch # buildkit", torch())
}

fn repository(dockerfile: &str, image: &Image) -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &FLEET.replace("470.182.03", "570.211.01"));
    repository.file("Dockerfile", dockerfile);
    let folder = repository.path("images");
    oci_layout::finish(&folder, &[("one", image.write(&folder))]);
    repository
}

fn check(dockerfile: &str, image: &Image) -> Value {
    repository(dockerfile, image).json(&["check", "Dockerfile", "--built", "oci:images:one"])
}

/// Path and first line of each place of the first finding, and the step where a layer is one.
fn places(report: &Value) -> Vec<String> {
    let list = report["subjects"][0]["findings"][0]["locations"].as_array().expect("a finding with places");
    let shown = |repository: &Value| {
        let line = repository["region"]["start_line"].as_u64().map_or_else(String::new, |line| format!(":{line}"));
        let path = repository["path"].as_str().expect("a path");
        format!("{}{line}", path.rsplit_once('/').map_or(path, |(_, name)| name))
    };
    list.iter().map(shown).collect()
}

fn notes(report: &Value) -> String {
    report["subjects"][0]["inspected"]["notes"].to_string()
}

/// The origins of a fact.
fn origins(report: &Value, key: &str) -> String {
    let facts = report["subjects"][0]["facts"].as_array().expect("facts");
    let fact = facts.iter().find(|fact| fact["key"] == key).unwrap_or_else(|| panic!("{key}: {report:#}"));
    let list = fact["origins"].as_array().expect("origins").iter();
    let shown =
        list.map(|location| format!("{} {}", location["kind"], location["region"]["start_line"]).replace('"', ""));
    shown.collect::<Vec<_>>().join(", ")
}

#[test]
fn measured_contents_decide_and_are_reported_at_their_line() {
    let image = built();
    let repository = repository(DOCKERFILE, &image);
    let report = repository.json(&["check", "Dockerfile", "--built", "oci:images:one"]);
    let subject = &report["subjects"][0];
    assert_eq!(subject["kind"], "dockerfile");
    assert_eq!(subject["inspected"]["depth"], "layers");
    assert!(subject["digest"].as_str().expect("a digest").starts_with("sha256:"));
    // As a scan of the image alone, and not as the Dockerfile alone.
    let scanned = repository.json(&["scan", "oci:images:one"]);
    assert_eq!(fates(&report), fates(&scanned), "{report:#}");
    assert_ne!(fates(&report), fates(&repository.json(&["check", "Dockerfile"])));
    let confidence = |report: &Value| report["subjects"][0]["verdicts"][0]["confidence"].clone();
    assert_eq!(confidence(&report), confidence(&scanned));
    let told = places(&report);
    assert!(told.contains(&"Dockerfile:4".to_owned()) || told.contains(&"Dockerfile:5".to_owned()), "{told:?}");
    assert!(told.iter().any(|location| location == "libtorch_cuda.so"), "{told:?}");
    assert!(
        told.iter().position(|one| one.starts_with("Dockerfile"))
            < told.iter().position(|one| one == "libtorch_cuda.so")
    );
    assert!(!notes(&report).contains("not built from"), "{}", notes(&report));
    assert!(notes(&report).contains("inspected in oci:images:one"), "{}", notes(&report));
    assert_eq!(origins(&report, "env.MODEL"), "file 2, config null");
    assert_eq!(origins(&report, "env.CUDA_VERSION"), "file 1, config null");
    assert_eq!(origins(&report, "image.entrypoint"), "file 6, config null");
    let human = repository.run(&["check", "Dockerfile", "--built", "oci:images:one"]);
    assert_eq!(code(&human), 1, "{}", err(&human));
    assert!(out(&human).contains("torch"), "{}", out(&human));
    // A saved report says the same again.
    let saved = repository.run(&["check", "Dockerfile", "--built", "oci:images:one", "--format", "json"]);
    std::fs::write(repository.path("saved.json"), &saved.stdout).expect("a file");
    let again = repository.json(&["check", "saved.json"]);
    assert_eq!(fates(&again), fates(&report));
    assert_eq!(places(&again), told);
}

#[test]
fn a_comment_above_the_line_counts() {
    let dockerfile = DOCKERFILE.replace("RUN pip", "# imagelint: ignore[no-kernel-image] known\nRUN pip");
    let report = check(&dockerfile, &built());
    assert!(report["subjects"][0]["findings"].as_array().expect("findings").is_empty(), "{report:#}");
    assert!(notes(&report).contains("is ignored: known"), "{}", notes(&report));
}

#[test]
fn without_history_only_the_name_leads_to_the_line() {
    let squashed = base(&[CUDA, REQUIRE, GPUS, "MODEL=small"]).layer("", torch());
    let report = check(DOCKERFILE, &squashed);
    let told = places(&report);
    assert!(told.iter().any(|one| one == "Dockerfile:5"), "{told:?}");
    assert!(notes(&report).contains("no step in the history of the image"), "{}", notes(&report));
    // A requirement that nothing names stays where it was found.
    let report = check("FROM scratch\nCOPY --from=x / /\nRUN make\n", &squashed);
    let told = places(&report);
    assert!(!told.iter().any(|one| one.starts_with("Dockerfile")), "{told:?}");
    // Contents of the base belong to the base, by the digests of its layers or the end of its history.
    let report = check("FROM registry.local/team/torch:1\n", &built());
    assert!(places(&report).contains(&"Dockerfile:1".to_owned()), "{report:#}");
}

#[test]
fn image_built_from_another_dockerfile_is_reported() {
    for (dockerfile, expected) in [
        (
            DOCKERFILE.replace("MODEL=small", "MODEL=large"),
            "MODEL is `small` in the image and `large` in the Dockerfile",
        ),
        (
            DOCKERFILE.replace("ENV MODEL", "ENV SECOND=2 MODEL"),
            "SECOND is not set in the image and `2` in the Dockerfile",
        ),
        (DOCKERFILE.replace("numpy torch", "numpy torch==2.4.1"), "1 of 1 RUN lines have no step in its history"),
        (OTHER.to_owned(), "no step in the history of the image"),
    ] {
        let report = check(&dockerfile, &built());
        assert!(notes(&report).contains(expected), "{expected}: {}", notes(&report));
        assert_eq!(fates(&report), fates(&check(DOCKERFILE, &built())), "{expected}");
    }
    let same = DOCKERFILE.replace("MODEL=small", "MODEL=$WHICH");
    assert!(!notes(&check(&same.replace("ENV", "ARG WHICH\nENV"), &built())).contains("MODEL"));
}

#[test]
fn a_history_entry_without_a_dockerfile_line_has_no_location() {
    let lines = |report: &Value| -> Vec<String> {
        places(report).into_iter().filter(|location| location.starts_with("Dockerfile")).collect()
    };
    // A package that another RUN installed, and one that the line requests in another version.
    let without = DOCKERFILE.replace("RUN pip install \\\n    numpy torch", "RUN true");
    let with = |step: &str| {
        base(&[CUDA, REQUIRE, GPUS, "MODEL=small"])
            .layer("COPY app /app # buildkit", Layer::new().text("/app/app.py", "pass\n"))
            .layer("RUN /bin/sh -c true # buildkit", Layer::new())
            .layer(step, torch())
    };
    for step in [
        "RUN /bin/sh -c pip install numpy torch # buildkit",
        "|1 V=1 /bin/sh -c pip install numpy torch",
        "COPY /venv /opt/venv # buildkit",
        "/bin/sh -c #(nop) COPY dir:22 in /opt/venv ",
    ] {
        let report = check(&without, &with(step));
        assert!(notes(&report).contains("the image has a step that is not in the Dockerfile: `"), "{}", notes(&report));
        assert!(lines(&report).is_empty(), "{step}: {:?}", places(&report));
        assert!(places(&report).contains(&"libtorch_cuda.so".to_owned()), "{step}");
    }
    let report = check(&DOCKERFILE.replace("numpy torch", "numpy torch==2.4.1"), &built());
    assert!(lines(&report).is_empty(), "{:?}", places(&report));
    let report = check(DOCKERFILE, &built());
    assert!(!notes(&report).contains("the image has a step"), "{}", notes(&report));
    assert!(!lines(&report).is_empty());
    // What builders keep to themselves is no step of another's.
    let report = check(&without, &with(""));
    assert!(!notes(&report).contains("the image has a step"), "{}", notes(&report));
    // A variable is the base's where no other step sets it, and the line's where the line sets this value.
    let own = "NVIDIA_REQUIRE_CUDA=cuda>=12.8";
    let image = |step: &str| {
        base(&[CUDA, own, GPUS, "MODEL=big"])
            .layer("COPY app /app # buildkit", Layer::new().text("/app/app.py", "pass\n"))
            .layer("RUN /bin/sh -c pip install     numpy torch # buildkit", torch())
            .layer(step, Layer::new())
    };
    let report = check(DOCKERFILE, &image(&format!("ENV {own}")));
    assert_eq!(origins(&report, "env.NVIDIA_REQUIRE_CUDA"), "config null, config null");
    assert!(report.to_string().contains("history[4]: ENV NVIDIA_REQUIRE_CUDA=cuda>=12.8"), "{report:#}");
    assert_eq!(origins(&report, "env.MODEL"), "config null");
    assert_eq!(origins(&report, "env.CUDA_VERSION"), "file 1, config null");
    assert!(
        notes(&report).contains("has a step that is not in the Dockerfile: `ENV NVIDIA_REQUIRE_CUDA"),
        "{}",
        notes(&report)
    );
    let report = check(DOCKERFILE, &image(""));
    assert_eq!(origins(&report, "env.NVIDIA_REQUIRE_CUDA"), "file 1, config null");
}

#[test]
fn built_images_match_dockerfiles_and_unreadable_images_are_errors() {
    let repository = repository(DOCKERFILE, &built());
    repository.file("other/Dockerfile", "FROM ubuntu:22.04\n");
    let done = repository.run(&["check", "--built", "oci:images:one"]);
    assert_eq!(code(&done), 2);
    assert!(err(&done).contains("1 image(s) for 2 Dockerfile(s)"), "{}", err(&done));
    let done = repository.run(&["check", "Dockerfile", "--built", "oci:images:two"]);
    assert_eq!(code(&done), 2, "{}", out(&done));
    let report = repository.json(&[
        "check",
        "other/Dockerfile",
        "Dockerfile",
        "--built",
        "oci:images:two",
        "--built",
        "oci:images:one",
    ]);
    assert_eq!(report["errors"].as_array().expect("errors").len(), 1, "{report:#}");
    assert_eq!(report["subjects"].as_array().expect("subjects").len(), 1);
    assert_eq!(report["subjects"][0]["name"], "Dockerfile");
    for wrong in [&["check", "--depth", "config"][..], &["check", "--built", "oci:images:one", "--show-files"]] {
        assert_eq!(code(&repository.run(wrong)), 2, "{wrong:?}");
    }
    let config = repository.json(&["check", "Dockerfile", "--built", "oci:images:one", "--depth", "config"]);
    assert_eq!(config["subjects"][0]["inspected"]["depth"], "config");
}

#[test]
fn findings_follow_the_from_line_and_verdicts_the_built_image() {
    let rules = |report: &Value| -> Vec<String> {
        let list = report["subjects"][0]["findings"].as_array().expect("findings");
        let line = |one: &Value| one["locations"][0]["region"]["start_line"].as_u64().unwrap_or_default();
        list.iter().map(|one| format!("{}:{}", one["rule"].as_str().expect("a rule"), line(one))).collect()
    };
    let with = |from: &str| {
        let repository = repository(&DOCKERFILE.replace("nvidia/cuda:12.4.1-base-ubuntu22.04", from), &built());
        let built = ["check", "Dockerfile", "--built", "oci:images:one", "--persona", "pedantic"];
        let report = repository.json(&built);
        assert_eq!(fates(&report), fates(&repository.json(&["scan", "oci:images:one"])), "{from}");
        report
    };
    let withdrawn = "withdrawn-base-tag:1".to_owned();
    let floating = "floating-base-tag:1".to_owned();
    for (from, page) in [
        ("nvidia/cuda:11.7.0-runtime-ubuntu22.04", Some(&withdrawn)),
        ("registry.local/team/base:latest", Some(&floating)),
        ("scratch", None),
    ] {
        let report = with(from);
        let found = rules(&report);
        for known in [&withdrawn, &floating] {
            assert_eq!(found.contains(known), Some(known) == page, "{from}: {found:?}");
        }
        if page.is_some() {
            assert_eq!(origins(&report, "image.base"), "file 1", "{from}");
        }
    }
    // What the base's tables tell of its toolkit is not what is measured.
    let report = with("nvidia/cuda:11.8.0-base-ubuntu22.04");
    let facts = report["subjects"][0]["facts"].as_array().expect("facts");
    let cuda = facts.iter().find(|fact| fact["key"] == "image.base.cuda").expect("the base's CUDA");
    assert_eq!(cuda["value"], "12.4.1", "{cuda:#}");
}

#[test]
fn built_check_skips_large_layers_and_shows_progress_by_flag() {
    let repository = repository(DOCKERFILE, &built());
    let asked = |more: &[&'static str]| [&["check", "Dockerfile", "--built", "oci:images:one"], more].concat();
    let report = repository.json(&asked(&["--max-layer-bytes", "1"]));
    assert!(notes(&report).contains("more than the limit of 1 bytes; raise --max-layer-bytes"), "{}", notes(&report));
    assert_ne!(fates(&report), fates(&repository.json(&asked(&["--max-layer-bytes", "1GB"]))));
    let quiet = repository.run(&asked(&[]));
    assert_eq!(err(&quiet), "");
    let plain = repository.run(&asked(&["--progress", "plain"]));
    assert!(err(&plain).starts_with("progress: 1 of 1 image, "), "{}", err(&plain));
    for alone in [&["check", "--max-layer-bytes", "1"][..], &["check", "--progress", "plain"]] {
        assert_eq!(code(&repository.run(alone)), 2, "{alone:?}");
    }
    assert_eq!(code(&repository.run(&asked(&["--max-layer-bytes", "much"]))), 2);
}
