//! Libraries that nothing in the image has: tags that bring them, extras and packages that do, and what is no cure.

use std::fs;

use serde_json::Value;

use crate::search::test_repository::{TestRepository, out};
use crate::search::{clean, fixes, list, one};

const A100: &str = "gpu = \"A100\"\ndriver = \"535.161.08\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";
const PIP: &str = "RUN apt-get update && apt-get install -y python3-pip\n";
const INDEX: &str = "https://download.pytorch.org/whl";

fn found(repository: &TestRepository) -> Vec<Value> {
    fixes(&repository.json(&["check", "--show-fixes", "Dockerfile"]), "a")
}

fn titles(found: &[Value]) -> Vec<&str> {
    found.iter().filter_map(|fix| fix["title"].as_str()).collect()
}

/// The text after the fixes that may be written, and whether nothing fails then.
fn written(repository: &TestRepository) -> (String, bool) {
    repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
    let told = out(&repository.run(&["check", "Dockerfile"]));
    let text = fs::read_to_string(repository.path("Dockerfile")).expect("a file");
    (text, clean(&told))
}

#[test]
fn cuda_base_tag_is_suggested_for_libraries_opened_later() {
    for (tag, package, expected) in [
        ("11.8.0-runtime", "tensorflow==2.12.0", "11.8.0-cudnn8-runtime"),
        ("11.8.0-runtime", "tensorflow==2.13.0", "11.8.0-cudnn8-runtime"),
        ("11.8.0-devel", "tensorflow==2.13.0", "11.8.0-cudnn8-devel"),
        ("11.8.0-runtime", "tensorflow==2.14.0", "11.8.0-cudnn8-runtime"),
        ("12.2.2-runtime", "tensorflow==2.15.1", "12.2.2-cudnn8-runtime"),
        ("12.2.2-base", "tensorflow==2.15.1", "12.2.2-cudnn8-runtime"),
        // No tag of the release has cuDNN 8.
        ("12.3.2-runtime", "tensorflow==2.16.1", "12.2.2-cudnn8-runtime"),
        ("12.4.1-runtime", "onnxruntime-gpu==1.20.1", "12.4.1-cudnn-runtime"),
    ] {
        let repository = one(A100, &format!("FROM nvidia/cuda:{tag}-ubuntu22.04\n{PIP}RUN pip install {package}\n"));
        let found = found(&repository);
        let of_base: Vec<&Value> = found.iter().filter(|fix| fix["kind"] == "base-tag").collect();
        let title = format!("use the tag {expected}-ubuntu22.04 of nvidia/cuda");
        assert_eq!(of_base.first().map(|fix| &fix["title"]), Some(&Value::from(title)), "{tag} {package}: {found:?}");
        assert_eq!(of_base[0]["safety"], "unsafe", "{tag} {package}");
    }
}

#[test]
fn fix_adds_the_extra_that_installs_missing_libraries() {
    let slim = "FROM python:3.11-slim\n";
    for (from, asked, expected) in [
        (slim, "tensorflow==2.16.2", "'tensorflow[and-cuda]==2.16.2'"),
        (slim, "'tensorflow==2.16.2'", "'tensorflow[and-cuda]==2.16.2'"),
        (
            "FROM nvidia/cuda:12.2.2-base-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n",
            "tensorflow==2.15.1",
            "'tensorflow[and-cuda]==2.15.1'",
        ),
    ] {
        let repository = one(A100, &format!("{from}RUN pip install {asked}\n"));
        let found = found(&repository);
        assert!(titles(&found).first().is_some_and(|title| title.contains("[and-cuda]==")), "{found:?}");
        assert_eq!(found[0]["safety"], "unsafe", "{found:?}");
        let (text, starts) = written(&repository);
        assert_eq!((text.as_str(), starts), (format!("{from}RUN pip install {expected}\n").as_str(), true));
    }
    // Releases without it, those that have it already, and other programs.
    for asked in
        ["tensorflow==2.13.0", "tensorflow[and-cuda]==2.16.2", "onnxruntime-gpu==1.20.1", "tensorflow-cpu==2.16.1"]
    {
        let found = found(&one(A100, &format!("{slim}RUN pip install {asked}\n")));
        assert!(titles(&found).iter().all(|title| !title.starts_with("install ")), "{asked}: {found:?}");
    }
}

#[test]
fn a_cuda_base_image_in_place_of_a_plain_one_is_a_manual_change() {
    for (asked, flavour) in
        [("tensorflow==2.13.0", "11.8.0-cudnn8-runtime-ubuntu"), ("onnxruntime-gpu==1.20.1", "-cudnn-runtime-ubuntu")]
    {
        let repository = one(A100, &format!("FROM python:3.11-slim\nRUN pip install {asked}\n"));
        let found = found(&repository);
        let base = found.iter().find(|fix| fix["kind"] == "base-image").unwrap_or_else(|| panic!("{asked}: {found:?}"));
        let title = base["title"].as_str().unwrap_or_default();
        assert!(title.starts_with("use nvidia/cuda:") && title.contains(flavour), "{title}");
        assert!(title.ends_with("as the base image, and install on it what python:3.11-slim contains"), "{title}");
        assert_eq!((&base["safety"], list(&base["edits"]).len()), (&Value::from("manual"), 0), "{base}");
        let before = fs::read_to_string(repository.path("Dockerfile")).expect("a file");
        assert_eq!(written(&repository), (before, false), "nothing is written");
    }
    // What lacks no library needs no other base.
    let found = found(&one(
        A100,
        "FROM python:3.11-slim\nRUN pip install torch==2.9.1+cu130 --index-url https://download.pytorch.org/whl/cu130\n",
    ));
    assert!(titles(&found).iter().all(|title| !title.contains("as the base")), "{found:?}");
}

#[test]
fn no_deps_install_is_fixed_by_installing_dependencies() {
    let slim = "FROM python:3.11-slim\n";
    for (command, expected) in [
        ("pip install --no-deps torch==2.5.1".to_owned(), "pip install torch==2.5.1".to_owned()),
        (
            format!("pip install --no-deps torch==2.5.1 --index-url {INDEX}/cu124"),
            format!("pip install torch==2.5.1 --index-url {INDEX}/cu124"),
        ),
        (
            format!("pip install torch==2.5.1+cu121 --no-deps --index-url {INDEX}/cu121"),
            format!("pip install torch==2.5.1+cu121 --index-url {INDEX}/cu121"),
        ),
    ] {
        let repository = one(A100, &format!("{slim}RUN {command}\n"));
        let found = found(&repository);
        let first = found.first().unwrap_or_else(|| panic!("{command}: a cure"));
        assert_eq!(first["title"], "install torch with its dependencies, without --no-deps", "{command}");
        assert_eq!((&first["kind"], &first["safety"]), (&Value::from("framework-variant"), &Value::from("unsafe")));
        // Another build of the same release lacks the same libraries.
        let same = |title: &&str| title.contains("torch==2.5");
        assert!(!titles(&found).iter().any(same), "{command}: {found:?}");
        // A fix with more packages is written only on request.
        assert_eq!(out(&repository.run(&["check", "--diff", "Dockerfile"])), "", "{command}");
        assert_eq!(written(&repository), (format!("{slim}RUN {expected}\n"), true), "{command}");
    }
    // The option is set elsewhere, and the fix is reported.
    let repository = one(A100, &format!("{slim}ENV PIP_NO_DEPS=1\nRUN pip install torch==2.5.1\n"));
    let told = found(&repository);
    assert!(titles(&told)[0].ends_with("without --no-deps, manual: no single value in a file selects it"), "{told:?}");
    assert_eq!((&told[0]["safety"], list(&told[0]["edits"]).len()), (&Value::from("manual"), 0));
    // Beside hashes what it depends on needs its own.
    let hash = format!("--hash=sha256:{}", "0".repeat(64));
    for (line, hashes) in [
        ("RUN pip install --no-deps --require-hashes torch==2.5.1", ""),
        ("ENV PIP_REQUIRE_HASHES=1\nRUN pip install --no-deps torch==2.5.1", ""),
        ("COPY r.txt /\nRUN pip install --no-deps torch==2.5.1 -r /r.txt", hash.as_str()),
        ("COPY r.txt /\nRUN pip install --no-deps -r /r.txt", hash.as_str()),
    ] {
        let dockerfile = format!("{slim}{line}\n");
        let repository = one(A100, &dockerfile);
        repository.file("r.txt", &format!("torch==2.5.1 {hashes}\n"));
        let found = found(&repository);
        let whole = found
            .iter()
            .filter(|fix| fix["title"].as_str().is_some_and(|title| title.contains("with its dependencies")));
        let whole: Vec<&Value> = whole.collect();
        assert!(!whole.is_empty(), "{line}: {found:?}");
        assert!(
            whole.iter().all(|fix| fix["safety"] == "manual" && list(&fix["edits"]).is_empty()),
            "{line}: {whole:?}"
        );
        assert_eq!(written(&repository).0, dockerfile, "{line}");
    }
    // Wheels that hold their libraries, and what fails for another reason.
    for (driver, command) in [
        ("535.161.08", format!("pip install --no-deps torch==2.1.2+cu121 --index-url {INDEX}/cu121")),
        ("535.161.08", "pip install --no-deps torch==1.12.1".to_owned()),
        ("450.80.02", format!("pip install --no-deps torch==2.1.2+cu121 --index-url {INDEX}/cu121")),
        ("450.80.02", "pip install torch==2.5.1".to_owned()),
    ] {
        let found = found(&one(&A100.replace("535.161.08", driver), &format!("{slim}RUN {command}\n")));
        assert!(titles(&found).iter().all(|title| !title.contains("with its dependencies")), "{command}: {found:?}");
    }
}

#[test]
fn brackets_of_extras_are_quoted_for_the_shell() {
    for (before, after) in [
        ("RUN pip install tensorflow==2.16.2", "RUN pip install 'tensorflow[and-cuda]==2.16.2'"),
        ("RUN pip install tensorflow==2.16.2 && ls", "RUN pip install 'tensorflow[and-cuda]==2.16.2' && ls"),
        ("RUN pip install \"tensorflow==2.16.2\"", "RUN pip install \"tensorflow[and-cuda]==2.16.2\""),
        (
            "RUN bash -c \"pip install tensorflow==2.16.2\"",
            "RUN bash -c \"pip install 'tensorflow[and-cuda]==2.16.2'\"",
        ),
        ("RUN bash -c 'pip install tensorflow==2.16.2'", "RUN bash -c 'pip install \"tensorflow[and-cuda]==2.16.2\"'"),
        (
            "ARG V=2.16.2\nRUN pip install tensorflow==${V}",
            "ARG V=2.16.2\nRUN pip install \"tensorflow[and-cuda]==${V}\"",
        ),
        (
            "RUN [\"pip\", \"install\", \"tensorflow==2.16.2\"]",
            "RUN [\"pip\", \"install\", \"tensorflow[and-cuda]==2.16.2\"]",
        ),
        (
            "RUN [\"sh\", \"-c\", \"pip install tensorflow==2.16.2\"]",
            "RUN [\"sh\", \"-c\", \"pip install 'tensorflow[and-cuda]==2.16.2'\"]",
        ),
        (
            "RUN <<E\n# don't\npip install tensorflow==2.16.2\nE",
            "RUN <<E\n# don't\npip install 'tensorflow[and-cuda]==2.16.2'\nE",
        ),
    ] {
        let repository = one(A100, &format!("FROM python:3.11-slim\n{before}\n"));
        assert_eq!(written(&repository), (format!("FROM python:3.11-slim\n{after}\n"), true), "{before}");
    }
    // A list of requirements is read by no shell.
    let repository = one(A100, "FROM python:3.11-slim\nCOPY r.txt /r.txt\nRUN pip install -r /r.txt\n");
    repository.file("r.txt", "tensorflow==2.16.2\n");
    written(&repository);
    assert_eq!(fs::read_to_string(repository.path("r.txt")).expect("a list"), "tensorflow[and-cuda]==2.16.2\n");
}

#[test]
fn fix_with_more_packages_is_not_written_next_to_hashes() {
    let hash = "--hash=sha256:0000000000000000000000000000000000000000000000000000000000000000";
    let from = "FROM python:3.11-slim\nCOPY r.txt h.txt /\n";
    let of = |lines: &str, list: &str, other: &str| {
        let repository = one(A100, &format!("{from}{lines}\n"));
        repository.file("r.txt", list);
        repository.file("h.txt", other);
        repository
    };
    let named = |fix: &&Value| fix["title"].as_str().is_some_and(|title| title.contains("[and-cuda]"));
    for (lines, text, other) in [
        ("RUN pip install -r /r.txt", format!("tensorflow==2.16.2 {hash}\n"), String::new()),
        ("RUN pip install -r /r.txt -r /h.txt", "tensorflow==2.16.2\n".to_owned(), format!("numpy==1.26.4 {hash}\n")),
        ("ENV PIP_REQUIRE_HASHES=1\nRUN pip install -r /r.txt", "tensorflow==2.16.2\n".to_owned(), String::new()),
        ("RUN pip install --require-hashes -r /r.txt", "tensorflow==2.16.2\n".to_owned(), String::new()),
    ] {
        let repository = of(lines, &text, &other);
        let found = found(&repository);
        let own: Vec<&Value> = found.iter().filter(named).collect();
        assert!(!own.is_empty(), "{lines}: {found:?}");
        for fix in own {
            let title = fix["title"].as_str().unwrap_or_default();
            assert!(
                title.ends_with("manual: its dependencies need hashes as well") && fix["safety"] == "manual",
                "{fix}"
            );
            assert!(list(&fix["edits"]).is_empty(), "{fix}");
        }
        repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
        assert_eq!(fs::read_to_string(repository.path("r.txt")).expect("a list"), text, "{lines}");
    }
    let repository = of("RUN pip install -r /r.txt -r /h.txt", "tensorflow==2.16.2\n", "numpy==1.26.4 # no --hash\n");
    assert!(
        found(&repository).iter().any(|fix| named(&fix) && !list(&fix["edits"]).is_empty()),
        "nothing asks for hashes"
    );
}

/// A build of which the tables do not say what it needs leaves more open than one of which they do.
#[test]
fn build_with_unknown_needs_does_not_narrow_the_verdict() {
    let narrows = |dockerfile: &str| {
        let found = found(&one(A100, dockerfile));
        found.into_iter().filter(|fix| !list(&fix["narrows"]).is_empty()).collect::<Vec<Value>>()
    };
    for (from, asked) in [
        ("FROM python:3.11-slim", "torch==2.7.1 other"),
        ("FROM python:3.11-slim\nRUN ./setup.sh", "torch==2.7.1"),
        ("FROM python:3.11-slim\nRUN ./setup.sh", "torch==2.6.0 other"),
        ("FROM example.com/team/base:1", "torch==2.7.1"),
    ] {
        let found = narrows(&format!("{from}\nRUN pip install --no-deps {asked}\n"));
        assert!(found.iter().all(|fix| !fix["title"].to_string().contains("+cu118")), "{from} {asked}: {found:?}");
    }
}
