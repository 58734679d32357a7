//! An image description keeps the contents of the base image.

use pool_verdicts::{NEW_AND_OLD as FLEET, verdicts_by_pool};
use test_repository::TestRepository;

use crate::support::{pool_verdicts, test_repository};

#[test]
fn a_description_keeps_the_base_image_of_the_dockerfile() {
    for (rest, described, new, geforce) in [
        (
            "ENV LD_LIBRARY_PATH=/usr/local/cuda/compat:$LD_LIBRARY_PATH",
            "LD_LIBRARY_PATH = \"/usr/local/cuda/compat:${LD_LIBRARY_PATH}\"",
            "driver-mismatch",
            "compat-not-supported",
        ),
        (
            "ENV LD_LIBRARY_PATH=/a${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
            "LD_LIBRARY_PATH = { set = \"/a:${LD_LIBRARY_PATH}\", unset = \"/a\" }",
            "",
            "compat-not-supported",
        ),
        ("RUN rm -rf /usr/local/cuda/compat", "removed = [\"/usr/local/cuda/compat\"]", "", ""),
        ("RUN apt-get remove -y 'cuda-compat-*'", "removed = [\"cuda-compat-*\"]", "", ""),
        ("RUN dnf5 remove -y 'cuda-compat-*'", "removed = [\"cuda-compat-*\"]", "", ""),
        ("RUN dnf5 list 'cuda-compat-*'", "base = ", "", "compat-not-supported"),
        ("RUN if true; then rm -rf /usr/local/cuda/compat; fi", "removed = [\"/usr/local/cuda/compat\"]", "", ""),
        ("RUN if false; then rm -rf /usr/local/cuda/compat; fi", "base = ", "", "compat-not-supported"),
    ] {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", FLEET);
        repository.file("Dockerfile", &format!("FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n{rest}\n"));
        let written = repository.run(&["describe", "Dockerfile"]);
        let written = String::from_utf8(written.stdout).expect("text");
        assert!(written.contains(described), "{rest}: {written}");
        repository.file("again.image.toml", &written);
        let outcomes = verdicts_by_pool(&repository, "Dockerfile");
        let expected = [new, geforce];
        assert_eq!(outcomes.iter().map(|end| end.2.as_str()).collect::<Vec<_>>(), expected, "{rest}: {outcomes:?}");
        assert_eq!(verdicts_by_pool(&repository, "again.image.toml"), outcomes, "{rest}");
    }
}

#[test]
fn unknown_tag_is_reported_with_its_reason() {
    for (from, expected) in [
        ("nvidia/cuda:latest", "includes no CUDA version: the build date decides"),
        (&format!("nvidia/cuda@sha256:{}", "ab".repeat(32)), "includes no CUDA version, and the digest was not read"),
        ("nvidia/cuda", "includes no CUDA version"),
        ("nvidia/cuda:11.9.0-base", "has no tag for CUDA 11.9.0"),
        ("nvidia/cuda:13.2.99-base", "has no tag for CUDA 13.2.99"),
        ("nvidia/cuda:13.99.0-base", "newer than the compatibility database of"),
        ("nvidia/cuda:99.1.0-base", "newer than the compatibility database of"),
        ("vllm/vllm-openai:v0.99.0", "newer than the compatibility database of"),
        ("vllm/vllm-openai:v0.8.99", "is not in the compatibility database of"),
        ("nvcr.io/nvidia/vllm:97.01-py3", "newer than the compatibility database of"),
        ("nvcr.io/nvidia/pytorch:97.01-py3", "newer than the compatibility database of"),
        ("nvcr.io/nvidia/tritonserver:24.05-trtllm-python-py3", "does not have the contents of"),
        ("nvidia/cudagl:11.4.2-devel", "to its CUDA base image were not read"),
    ] {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", FLEET);
        repository.file("Dockerfile", &format!("FROM {from}\n"));
        let report = repository.json(&["check", "Dockerfile"]).to_string();
        assert!(report.contains(expected), "{from}: {report}");
    }
}

/// An unknown result stays unknown: a description never changes it into a certain one, or the other way round.
#[test]
fn a_description_keeps_unknown_values() {
    for (text, described, fate) in [
        (
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nARG X\nENV NVIDIA_REQUIRE_CUDA=$X\n",
            "env_unknown = [\"NVIDIA_REQUIRE_CUDA\"]",
            "undetermined",
        ),
        (
            "FROM python:3.11-slim\nRUN pip install torch --index-url https://download.pytorch.org/whl/cu118\n",
            "torch = \"*+cu118\"",
            "starts",
        ),
        ("FROM python:3.11-slim\nRUN pip install 'torch>=2.4,<2.5'\n", "torch = \">=2.4,<2.5\"", "starts"),
        ("FROM python:3.11-slim\nENV APP=$X\nRUN pip install torch==2.4.1\n", "torch = \"2.4.1\"", "starts"),
    ] {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", FLEET);
        repository.file("Dockerfile", text);
        let written = String::from_utf8(repository.run(&["describe", "Dockerfile"]).stdout).expect("text");
        assert!(written.contains(described), "{text}: {written}");
        repository.file("again.image.toml", &written);
        let ended = verdicts_by_pool(&repository, "Dockerfile");
        assert_eq!(ended[0].1, fate, "{text}: {ended:?}");
        assert_eq!(verdicts_by_pool(&repository, "again.image.toml"), ended, "{text}: {written}");
    }
}

/// What is asked for and not known of a base that the tables have is no base that they lack.
#[test]
fn unknown_variable_does_not_make_a_known_base_unknown() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", FLEET);
    // A requirement that the base does not set is not set, so that building on it adds nothing.
    repository.file("Dockerfile", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nENV NVIDIA_REQUIRE_X=$NVIDIA_REQUIRE_X\n");
    let plain = "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n";
    repository.file("plain.Dockerfile", plain);
    let (own, without) =
        (verdicts_by_pool(&repository, "Dockerfile"), verdicts_by_pool(&repository, "plain.Dockerfile"));
    assert_eq!(own, without);
    for (base, said) in [
        ("nvidia/cuda:12.4.1-base-ubuntu22.04", "lacks the contents of this tag"),
        ("a/b:1", "is not in the compatibility database"),
    ] {
        repository
            .file("Dockerfile", &format!("FROM {base}\nENV NVIDIA_DISABLE_REQUIRE=$SOME NVIDIA_VISIBLE_DEVICES=all\n"));
        let report = repository.json(&["check", "Dockerfile"]);
        let facts = report["subjects"][0]["facts"].as_array().expect("facts");
        let of = |fact: &&serde_json::Value| fact["key"] == "env.NVIDIA_DISABLE_REQUIRE" && fact["state"] == "unknown";
        let why = facts.iter().rfind(of).expect("an open fact")["why"].to_string();
        assert!(why.contains(said) && why.contains("was not read"), "{base}: {why}");
    }
}

/// A digest identifies one build, so no finding suggests to pin it again.
#[test]
fn pinned_packages_are_not_pinned_again() {
    let repository = TestRepository::empty();
    repository.file(
        "fleet.toml",
        "[[pool]]\nname = \"rtx\"\ngpu = \"RTX 2080 Ti\"\ndriver = \"450.102.04\"\n\
        platform = \"linux/amd64\"\nlaunch = \"nvidia-runtime\"\ntoolkit = \"1.17.4\"\n",
    );
    let asked = |base: &str| {
        repository.file("Dockerfile", &format!("FROM {base}\n"));
        let verdict = repository.json(&["check", "Dockerfile"])["subjects"][0]["verdicts"][0].clone();
        assert_eq!(verdict["fate"], "depends", "{base}");
        (verdict["missing"].to_string(), verdict["message"].to_string())
    };
    let tag = "nvidia/cuda:11.2.2-cudnn8-devel-ubuntu20.04";
    let (pinned, message) = asked(&format!("{tag}@sha256:{}", "ab".repeat(32)));
    assert!(!pinned.contains("pin the digest") && pinned.contains("--as-of"), "{pinned}");
    assert!(
        message.contains("depends on the build that the digest names") && !message.contains("the tag"),
        "{message}"
    );
}

/// A missing library is reported at the line that needs it, and at the base that lacks it.
#[test]
fn missing_library_is_reported_at_the_install_line() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", FLEET);
    let install = "apt-get install -y python3-pip && pip install onnxruntime-gpu==1.17.1";
    repository.file("Dockerfile", &format!("FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04\nRUN {install}\n"));
    let print = String::from_utf8(repository.run(&["check", "Dockerfile"]).stdout).expect("text");
    assert!(print.contains(" --> Dockerfile:2:51\n"), "{print}");
    assert!(print.contains("libcublas.so.11: cannot open shared object file"), "{print}");
    assert!(!print.contains("libcurand.so.10"), "CUDA 12 has it: {print}");
}

#[test]
fn absent_requirements_file_is_missing_evidence() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", FLEET);
    let text =
        "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n";
    repository.file("Dockerfile", text);
    let said = "`requirements.txt` is not in the build context, so what it installs is unknown";
    let told = |repository: &TestRepository| {
        let report = repository.json(&["check", "Dockerfile"]);
        let print = String::from_utf8(repository.run(&["check", "Dockerfile"]).stdout).expect("text");
        let print = print.split_whitespace().collect::<Vec<_>>().join(" ");
        (report["subjects"][0]["verdicts"][0]["missing"].to_string(), print.matches(said).count())
    };
    let (missing, printed) = told(&repository);
    assert!(missing.contains("requirements.requirements.txt"), "{missing}");
    assert_eq!(printed, 1);
    repository.file("requirements.txt", "flask\n");
    let (missing, printed) = told(&repository);
    assert!(!missing.contains("requirements") && printed == 0, "{missing}");
}

/// A base is there for the architectures that it has a recipe for; where no table tells them nothing is claimed.
#[test]
fn wrong_platform_is_reported_for_architectures_without_a_base_image() {
    let fleet = "[[pool]]\nname = \"arm\"\ngpu = \"GH200\"\ndriver = \"550.90.07\"\nplatform = \"linux/arm64\"\n\
        launch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\n\n[[pool]]\nname = \"x86\"\ngpu = \"A100\"\n\
        driver = \"550.90.07\"\nplatform = \"linux/amd64\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\n";
    for (from, wrong) in [
        ("nvidia/cuda:10.2-base-ubuntu18.04", [true, false]),
        ("nvidia/cuda:9.0-base", [true, false]),
        // There are recipes of 11.8.0 for arm64, and none for this operating system.
        ("nvidia/cuda:11.8.0-base-centos7", [true, false]),
        ("nvidia/cuda:11.0.3-base-ubuntu20.04", [true, false]),
        ("--platform=linux/arm64 nvidia/cuda:10.2-base-ubuntu18.04", [true, true]),
        ("--platform=linux/arm64 nvidia/cuda:12.4.1-base-ubuntu22.04", [false, true]),
        ("nvidia/cuda:11.8.0-base-ubuntu22.04", [false, false]),
        ("nvidia/cuda:11.0.3-base-ubuntu18.04", [false, false]),
        ("nvidia/cuda:12.4.1-base-ubuntu22.04", [false, false]),
        ("nvidia/cuda:13.3.0-base-ubuntu24.04", [false, false]),
        // Containers for the Jetson modules are there for arm64 alone, also under the name of a family.
        ("nvcr.io/nvidia/l4t-pytorch:r35.2.1-pth2.0-py3", [false, true]),
        ("nvcr.io/nvidia/l4t-jetpack:r36.2.0", [false, true]),
        ("nvcr.io/nvidia/pytorch:24.06-py3-igpu", [false, true]),
        ("nvcr.io/nvidia/pytorch:24.06-py3", [false, false]),
        ("nvcr.io/nvidia/pytorch:25.09-py3", [false, false]),
        ("registry.example/nvidia/l4t-pytorch:r35.2.1-pth2.0-py3", [false, false]),
        ("nvidia/cuda:latest", [false, false]),
        ("pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime", [false, false]),
        ("python:3.12", [false, false]),
    ] {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", fleet);
        repository.file("Dockerfile", &format!("FROM {from}\nRUN pip install torch==2.4.0+cu124\n"));
        let verdicts_by_pool = verdicts_by_pool(&repository, "Dockerfile");
        let told: Vec<bool> = verdicts_by_pool.iter().map(|(_, _, outcome)| outcome == "wrong-platform").collect();
        assert_eq!(told, wrong, "{from}: {verdicts_by_pool:?}");
        assert_eq!(verdicts_by_pool.len(), 2, "{from}");
    }
}

#[test]
fn wrong_platform_is_reported_at_the_from_line() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", "[[pool]]\nname = \"arm\"\ngpu = \"GH200\"\nplatform = \"linux/arm64\"\n");
    repository.file("Dockerfile", "# A comment\nFROM nvidia/cuda:10.2-base-ubuntu18.04\n");
    let report = repository.json(&["check", "Dockerfile"]);
    let findings = report["subjects"][0]["findings"].as_array().cloned().unwrap_or_default();
    let wrong = findings.iter().find(|finding| finding["rule"] == "wrong-platform").expect("a finding");
    let told = wrong["locations"].to_string();
    assert!(told.contains("\"start_line\":2"), "{told}");
}

/// The compat package of a tag is unpinned: what a build of it holds is what had come out by its day.
#[test]
fn compat_package_version_of_a_base_depends_on_its_build_date() {
    let repository = TestRepository::empty();
    // Forced onto the loader, the library must be of the very version of the kernel-mode driver.
    repository.file(
        "Dockerfile",
        "FROM nvidia/cuda:11.2.2-base-ubuntu20.04\nENV LD_LIBRARY_PATH=/usr/local/cuda-11.2/compat\n",
    );
    repository.file(
        "fleet.toml",
        "[[pool]]\nname = \"t4\"\ngpu = \"Tesla T4\"\ndriver = \"460.106.00\"\nplatform = \"linux/amd64\"\n\
            launch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\n",
    );
    for (as_of, fate, outcome, library) in [
        (Some("2021-06-29"), "fails", "driver-mismatch", "460.32.03"),
        (Some("2021-10-25"), "fails", "driver-mismatch", "460.32.03"),
        (Some("2021-11-20"), "depends", "", "with libcuda 460.32.03"),
        (None, "starts", "", "460.106.00"),
    ] {
        let mut arguments = vec!["check", "Dockerfile"];
        arguments.extend(as_of.iter().flat_map(|day| ["--as-of", *day]));
        let report = repository.json(&arguments);
        let verdict = &report["subjects"][0]["verdicts"][0];
        let told = (verdict["fate"].as_str().unwrap_or_default(), verdict["outcome"].as_str().unwrap_or_default());
        assert_eq!(told, (fate, outcome), "{as_of:?}: {verdict:#}");
        assert!(report.to_string().contains(library), "{as_of:?}: {report:#}");
    }
}

/// An unread base may switch the requirements off; bases with known recipes do not.
#[test]
fn requirement_refuses_only_if_the_base_cannot_disable_it() {
    let fleet = "[[pool]]\nname = \"a100\"\ngpu = \"A100\"\ndriver = \"550.90.07\"\nplatform = \"linux/amd64\"\n\
        launch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\n";
    let own = "ENV NVIDIA_REQUIRE_CUDA=\"cuda>=99\"";
    for (from, lines, env, expected) in [
        ("registry.example.com/team/base:1", own, "", "undetermined"),
        ("$BASE", own, "", "undetermined"),
        ("registry.example.com/team/base:1", own, "env = { NVIDIA_DISABLE_REQUIRE = \"0\" }\n", "refused"),
        ("registry.example.com/team/base:1", own, "env = { NVIDIA_DISABLE_REQUIRE = \"1\" }\n", "undetermined"),
        (
            "registry.example.com/team/base:1",
            "ENV NVIDIA_DISABLE_REQUIRE=no NVIDIA_REQUIRE_CUDA=\"cuda>=99\"",
            "",
            "refused",
        ),
        ("nvidia/cuda:latest", own, "", "refused"),
        ("nvidia/cuda:12.4.1-base-ubuntu22.04", own, "", "refused"),
        ("nvcr.io/nvidia/pytorch:24.05-py3", own, "", "refused"),
        ("python:3.12", own, "", "refused"),
    ] {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", &format!("{fleet}{env}"));
        repository.file("Dockerfile", &format!("ARG BASE\nFROM {from}\n{lines}\n"));
        let verdicts_by_pool = verdicts_by_pool(&repository, "Dockerfile");
        let (_, fate, outcome) = verdicts_by_pool.first().expect("a verdict");
        let end = if outcome.is_empty() { fate } else { outcome };
        assert_eq!(end, expected, "{from} {lines} {env}");
    }
    // Who describes an image has seen its variables.
    let repository = TestRepository::empty();
    repository.file("fleet.toml", fleet);
    let described = "base = \"registry.example.com/team/base:1\"\n[env]\nNVIDIA_REQUIRE_CUDA = \"cuda>=99\"\n";
    repository.file("seen.image.toml", described);
    assert_eq!(verdicts_by_pool(&repository, "seen.image.toml").first().map(|end| end.2.as_str()), Some("refused"));
}

/// A compat library in a directory of its own does not take away that of the base.
#[test]
fn second_compat_library_does_not_replace_the_one_of_the_base() {
    let fleet = "[[pool]]\nname = \"a100\"\ngpu = \"A100\"\ndriver = \"470.82.01\"\nplatform = \"linux/amd64\"\n\
        launch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\n";
    let newer = "\"/usr/local/cuda-12.9/compat/libcuda.so.575.57.08\" = {}\n";
    for (lines, expected) in [
        // The library of the base is for this driver.
        (String::new(), "starts"),
        (format!("[files]\n{newer}"), "starts"),
        ("[packages.apt]\ncuda-compat-12-9 = \"575.57.08-0ubuntu1\"\n".to_owned(), "starts"),
        (format!("[files]\n{newer}\"/usr/local/cuda\" = {{ link = \"cuda-12.4\" }}\n"), "starts"),
        // The other one is not, and here the toolkit or the loader comes to it.
        (format!("[files]\n{newer}\"/usr/local/cuda\" = {{ link = \"cuda-12.9\" }}\n"), "compat-unusable"),
        (format!("env = {{ LD_LIBRARY_PATH = \"/usr/local/cuda-12.9/compat\" }}\n[files]\n{newer}"), "compat-unusable"),
        // Without any, the driver is too old.
        ("removed = [\"/usr/local/cuda/compat\"]\n".to_owned(), "insufficient-driver"),
        (format!("removed = [\"cuda-compat-*\"]\n[files]\n{newer}"), "undetermined"),
    ] {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", fleet);
        repository.file("two.image.toml", &format!("base = \"nvidia/cuda:12.4.1-base-ubuntu22.04\"\n{lines}"));
        let verdicts_by_pool = verdicts_by_pool(&repository, "two.image.toml");
        let (_, fate, outcome) = verdicts_by_pool.first().expect("a verdict");
        assert_eq!(if outcome.is_empty() { fate } else { outcome }, expected, "{lines}");
    }
}

/// Copied files name directories for the loader, as files that a command writes do.
#[test]
fn a_copied_list_of_directories_is_read() {
    let conf = "/etc/ld.so.conf.d/00-cuda-compat.conf";
    for (lines, expected) in [
        (format!("COPY <<EOF {conf}\n/usr/local/cuda/compat\nEOF\n"), "driver-mismatch"),
        (
            "COPY <<'00-cuda-compat.conf' /etc/ld.so.conf.d/\n/usr/local/cuda/compat\n00-cuda-compat.conf\n".to_owned(),
            "driver-mismatch",
        ),
        (format!("COPY list {conf}\n"), "driver-mismatch"),
        ("COPY 00-a.conf /etc/ld.so.conf.d/\n".to_owned(), "driver-mismatch"),
        ("WORKDIR /etc\nCOPY list ld.so.conf.d/00-a.conf\n".to_owned(), "driver-mismatch"),
        (
            format!("FROM scratch AS lists\nCOPY list /list\nFROM base\nCOPY --from=lists /list {conf}\n"),
            "driver-mismatch",
        ),
        (format!("COPY list {conf}\nRUN rm {conf}\n"), "starts"),
        (format!("COPY list {conf}\nRUN echo /opt/lib > {conf}\n"), "starts"),
        (format!("COPY <<EOF {conf}\n/opt/lib\nEOF\n"), "starts"),
        (format!("COPY <<EOF {conf}.off\n/usr/local/cuda/compat\nEOF\n"), "starts"),
        ("COPY list /etc/ld.so.conf.d/00-cuda-compat\n".to_owned(), "starts"),
        // The host's own list, `00-nvcr-…`, comes before this one.
        ("COPY list /etc/ld.so.conf.d/00-z.conf\n".to_owned(), "starts"),
        ("COPY list /opt/00-cuda-compat.conf\n".to_owned(), "starts"),
    ] {
        let repository = TestRepository::empty();
        repository.file("list", "/usr/local/cuda/compat\n");
        repository.file("00-a.conf", "/usr/local/cuda/compat\n");
        repository.file(
            "fleet.toml",
            "[[pool]]\nname = \"a100\"\ngpu = \"A100\"\ndriver = \"580.65.06\"\nplatform = \"linux/amd64\"\n\
                launch = \"nvidia-runtime\"\ntoolkit = \"1.18.0\"\n",
        );
        repository.file("Dockerfile", &format!("FROM nvidia/cuda:12.4.1-base-ubuntu22.04 AS base\n{lines}"));
        let verdicts_by_pool = verdicts_by_pool(&repository, "Dockerfile");
        let (_, fate, outcome) = verdicts_by_pool.first().expect("a verdict");
        assert_eq!(if outcome.is_empty() { fate } else { outcome }, expected, "{lines}");
    }
}

/// A text is run by a shell: by the one that SHELL names, which may read the start-up files of the base.
#[test]
fn the_shell_before_an_entrypoint_is_seen() {
    let word = |lines: &str| {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", FLEET);
        repository.file("Dockerfile", &format!("FROM nvcr.io/nvidia/pytorch:23.10-py3\n{lines}"));
        let report = repository.json(&["check", "Dockerfile"]);
        let facts = report["subjects"][0]["facts"].as_array().cloned().unwrap_or_default();
        let probe = facts.iter().rfind(|fact| fact["key"] == "image.compat_probe").cloned().unwrap_or_default();
        probe["state"].as_str().unwrap_or_default().to_owned()
    };
    for (lines, expected) in [
        ("", "known"),
        ("ENTRYPOINT python train.py\n", "absent"),
        ("SHELL [\"/bin/bash\", \"-c\"]\nENTRYPOINT python train.py\n", "unknown"),
        ("SHELL [\"/bin/bash\", \"-c\"]\nENTRYPOINT [\"python\", \"train.py\"]\n", "absent"),
        ("ENTRYPOINT python train.py\nSHELL [\"/bin/bash\", \"-c\"]\n", "absent"),
        ("SHELL [\"/bin/bash\", \"-c\"]\nENTRYPOINT /opt/nvidia/nvidia_entrypoint.sh python\n", "known"),
        ("SHELL [\"python\", \"-c\"]\nENTRYPOINT import train\n", "absent"),
    ] {
        assert_eq!(word(lines), expected, "{lines}");
    }
}

/// The end on the pool with a new driver of what a Dockerfile installs.

#[test]
fn server_images_require_the_cuda_version_of_their_build() {
    let pool = "[[pool]]\nname = \"l4\"\ngpu = \"L4\"\ndriver = \"545.23.08\"\nplatform = \"linux/amd64\"\n\
        launch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\n";
    for (tag, fate, outcome) in [
        ("v0.8.5", "fails", "refused"),
        ("v0.11.0", "fails", "refused"),
        ("v0.13.0", "fails", "refused"),
        ("v0.6.3", "fails", "refused"),
        // Built with CUDA 12.1, whatever the default of its Dockerfile says.
        ("v0.7.2", "starts", ""),
        ("v0.15.1", "fails", "refused"),
        // No public source says what this was built on.
        ("v0.8.99", "undetermined", ""),
    ] {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", pool);
        repository.file("Dockerfile", &format!("FROM vllm/vllm-openai:{tag}\n"));
        let (_, said, wall) = verdicts_by_pool(&repository, "Dockerfile").into_iter().next().expect("a verdict");
        assert_eq!((said.as_str(), wall.as_str()), (fate, outcome), "{tag}");
    }
}

/// The image of one release names the compat directory to `ldconfig`, under a name that is read before those that the
/// container stack writes (gpustack/gpustack#4678): where it rebuilds the cache from files, an older compat library wins.
#[test]
fn compat_directory_in_ld_so_conf_wins_by_file_name() {
    let pool = |name: &str, rest: &str| {
        format!(
            "[[pool]]\nname = \"{name}\"\ngpu = \"RTX 4090\"\ndriver = \"580.65.06\"\nplatform = \"linux/amd64\"\n{rest}\n"
        )
    };
    let fleet = pool("gpus-all", "launch = \"docker-gpus\"\nruntime = \"runc\"\ntoolkit = \"1.17.8\"")
        + &pool("nvidia", "launch = \"nvidia-runtime\"\ntoolkit = \"1.18.1\"");
    for (dockerfile, expected) in [
        ("FROM vllm/vllm-openai:v0.15.0", ["starts", "driver-mismatch"]),
        ("FROM vllm/vllm-openai:v0.15.0\nRUN rm -f /etc/ld.so.conf.d/cuda.conf", ["starts", "driver-mismatch"]),
        (
            "FROM vllm/vllm-openai:v0.15.0\nRUN rm -f /etc/ld.so.conf.d/00-cuda-compat.conf && ldconfig",
            ["starts", "starts"],
        ),
        ("FROM vllm/vllm-openai:v0.15.0\nRUN rm -rf /etc/ld.so.conf.d/", ["starts", "starts"]),
        // Those before call ldconfig once, those after name it nowhere.
        ("FROM vllm/vllm-openai:v0.14.1", ["starts", "starts"]),
        ("FROM vllm/vllm-openai:v0.17.0", ["starts", "starts"]),
        // Under which name is not known.
        ("FROM vllm/vllm-openai:v0.15.1", ["undetermined", "undetermined"]),
        ("FROM vllm/vllm-openai:v0.16.0", ["undetermined", "undetermined"]),
    ] {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", &fleet);
        repository.file("Dockerfile", &format!("{dockerfile}\n"));
        let word = |(_, fate, outcome): (String, String, String)| if outcome.is_empty() { fate } else { outcome };
        let said: Vec<String> = verdicts_by_pool(&repository, "Dockerfile").into_iter().map(word).collect();
        assert_eq!(said, expected, "{dockerfile}");
    }
}

/// What was read off the wheel for amd64 says nothing of the wheel for arm64.
#[test]
fn arm64_image_uses_gpu_code_of_the_arm64_wheel() {
    let base =
        "FROM nvidia/cuda:13.0.2-cudnn-runtime-ubuntu24.04\nRUN apt-get update && apt-get install -y python3-pip\n";
    for (arch, gpu, package, expected) in [
        ("amd64", "T4", "onnxruntime-gpu==1.31.1", "starts"),
        ("arm64", "T4", "onnxruntime-gpu==1.31.1", "no-kernel-image"),
        ("arm64", "GH200 480GB", "onnxruntime-gpu==1.31.1", "starts"),
        ("amd64", "A100", "onnxruntime-gpu==1.30.0", "starts"),
        // The arm64 wheel of this release was not read, and unknown code does not fail.
        ("arm64", "T4", "onnxruntime-gpu==1.30.0", "starts"),
        ("arm64", "T4", "xgboost==3.4.1", "starts"),
        ("amd64", "T4", "xgboost==3.4.1", "starts"),
        ("arm64", "GH200 480GB", "ctranslate2==4.8.5", "cpu-only"),
    ] {
        let repository = TestRepository::empty();
        repository.file(
            "fleet.toml",
            &format!(
                "[[pool]]\nname = \"one\"\ngpu = \"{gpu}\"\ndriver = \"580.65.06\"\nplatform = \"linux/{arch}\"\n\
                launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n"
            ),
        );
        repository.file("Dockerfile", &format!("{base}RUN pip install {package}\n"));
        let (_, fate, outcome) = verdicts_by_pool(&repository, "Dockerfile").into_iter().next().expect("a verdict");
        assert_eq!(if outcome.is_empty() { fate } else { outcome }, expected, "{package} on {arch} with {gpu}");
    }
}
