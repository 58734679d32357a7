//! `imagelint needs`: what an input demands without any fleet, through the built program.

use std::fs;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;
use test_repository::{TestRepository, code, err, out};

use crate::support::program::imagelint_program;
use crate::support::{oci_layout, test_repository};

const ENOUGH: &str = "complete = [\"env\", \"packages\", \"files\", \"code\"]\n";

fn needs(image: &str, more: &[&str]) -> Value {
    let folder = TempDir::new().expect("temporary folder");
    let path = folder.path().join("x.image.toml");
    fs::write(&path, image).expect("written");
    let mut command = Command::new(imagelint_program());
    let output = command.arg("needs").arg(&path).args(["--format", "json"]).args(more).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The group of a GPU in the first component.
fn group<'r>(report: &'r Value, gpu: &str) -> &'r Value {
    let groups = report["subjects"][0]["components"][0]["groups"].as_array().expect("groups");
    groups.iter().find(|group| group["gpus"].as_array().expect("GPUs").iter().any(|name| name == gpu)).expect("the GPU")
}

fn way<'r>(group: &'r Value, title: &str) -> &'r Value {
    group["ways"].as_array().expect("ways").iter().find(|way| way["title"] == title).expect("the way")
}

/// The report is about the build for one platform: machines of other platforms do not run it, with any GPU.
#[test]
fn a_build_for_one_platform_does_not_apply_to_pools_of_another() {
    let image = "base = \"python:3.10-slim\"\n[packages.pip]\ntorch = \"2.6.0\"\n";
    let of = |platform: &str, gpu: &str| {
        let report = needs(image, &["--platform", platform]);
        let way = way(group(&report, gpu), "no container").clone();
        (way["because"]["outcome"].as_str().unwrap_or_default().to_owned(), way["smallest_driver"].is_string())
    };
    for gpu in ["Jetson AGX Orin", "NVIDIA GH200 480GB"] {
        assert_eq!(of("linux/amd64", gpu), ("wrong-platform".to_owned(), false), "{gpu}");
        assert_ne!(of("linux/arm64", gpu).0, "wrong-platform", "{gpu}");
    }
    // Boards that are put into machines of either kind.
    for platform in ["linux/amd64", "linux/arm64"] {
        assert_ne!(of(platform, "NVIDIA A100-SXM4-80GB").0, "wrong-platform", "{platform}");
    }
    assert!(of("linux/amd64", "NVIDIA A100-SXM4-80GB").1);
}

/// The smallest driver of a CUDA 12.4 program with code for all, by how it is started.
#[test]
fn smallest_driver_depends_on_the_launch_method() {
    let image = format!(
        "{ENOUGH}cuda_runtime = \"12.4\"\n[env]\nNVIDIA_VISIBLE_DEVICES = \"all\"\n\
         NVIDIA_REQUIRE_CUDA = \"cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=nvidia,driver>=470,driver<471\"\n\
         [[gpu_code]]\nfile = \"app\"\nsass = [\"sm_70\", \"sm_75\", \"sm_80\", \"sm_90\"]\n"
    );
    let report = needs(&image, &[]);
    let a100 = group(&report, "NVIDIA A100-SXM4-80GB");
    assert_eq!(a100["code"], "native");
    for (title, smallest, outcome) in [
        // Without the check, minor version compatibility: the floor of CUDA 12; lower releases are unknown.
        ("no container", "525.60.13", "undetermined"),
        ("CDI", "525.60.13", "undetermined"),
        ("nvidia runtime", "525.60.13", "undetermined"),
        // The check wants a driver of CUDA 12.4, or of branch 470, on which the program does not start.
        ("docker --gpus", "550.40.07", "refused"),
    ] {
        let way = way(a100, title);
        let found = way["smallest_driver"].as_str().expect("a driver");
        assert_eq!(found.split('.').next(), smallest.split('.').next(), "{title}");
        assert_eq!(way["because"]["outcome"], outcome, "{title}");
        assert_eq!(way["up_to"], Value::Null, "{title}");
        assert_eq!(way["also"].as_array().map(Vec::len), Some(0), "{title}");
        let evidence = way["because"]["evidence"].as_array().expect("evidence");
        assert!(
            evidence.iter().all(|one| one["place"].as_str().is_some_and(|location| !location.is_empty())),
            "{title}"
        );
    }
    assert_eq!(way(a100, "no container")["smallest_driver"], "525.60.13");
    // The requirement of the old branch has no effect: the runtime is too new for it.
    assert_eq!(way(group(&report, "Tesla T4"), "docker --gpus")["because"]["step"], "requirement");
}

#[test]
fn gpu_code_decides_which_gpus_are_covered() {
    let image = format!(
        "{ENOUGH}cuda_runtime = \"11.8\"\n[[gpu_code]]\nfile = \"app\"\nsass = [\"sm_80\"]\nptx = [\"compute_80\"]\n"
    );
    let report = needs(&image, &[]);
    for (gpu, code) in [
        ("NVIDIA A100-SXM4-80GB", "native"),
        ("NVIDIA L4", "native"),
        ("NVIDIA H100 80GB HBM3", "jit"),
        ("NVIDIA GeForce RTX 5090", "jit"),
        ("Tesla V100-SXM2-16GB", "none"),
        ("Tesla T4", "none"),
    ] {
        let group = group(&report, gpu);
        assert_eq!(group["code"], code, "{gpu}");
        let starts = !way(group, "no container")["smallest_driver"].is_null();
        assert_eq!(starts, code != "none", "{gpu}");
    }
    let v100 = way(group(&report, "Tesla V100-SXM2-16GB"), "no container");
    assert_eq!(v100["because"]["outcome"], "no-kernel-image");
    assert_eq!(v100["because"]["step"], "code");
}

/// A compat library is for branches that are listed, and not for those between them.
#[test]
fn older_driver_branches_are_not_assumed_to_be_ordered() {
    let image = format!(
        "{ENOUGH}cuda_runtime = \"12.4\"\n[env]\nNVIDIA_VISIBLE_DEVICES = \"all\"\n\
         [files]\n\"/usr/local/cuda\" = {{ link = \"cuda-12.4\" }}\n\"/etc/debian_version\" = {{}}\n\
         \"/usr/local/cuda-12.4/compat/libcuda.so.550.54.15\" = {{ elf_note = {{ cuda = \"12.4\", driver = [470, 535], device = [1, 2, 14] }} }}\n\
         [[gpu_code]]\nfile = \"app\"\nsass = [\"sm_80\"]\n"
    );
    let report = needs(&image, &[]);
    let a100 = way(group(&report, "NVIDIA A100-SXM4-80GB"), "docker --gpus");
    let branch = |text: &Value| text.as_str().expect("a driver").split('.').next().expect("a branch").to_owned();
    let also: Vec<(String, &Value)> = a100["also"]
        .as_array()
        .expect("ranges")
        .iter()
        .map(|range| (branch(&range["from"]), &range["route"]))
        .collect();
    assert!(also.contains(&("470".to_owned(), &Value::from("forward-compat"))), "{a100}");
    assert!(!also.iter().any(|(branch, _)| branch == "510" || branch == "515"), "{a100}");
    // A GeForce gets no forward compatibility: only the drivers of the library's own branch and newer.
    let geforce = way(group(&report, "NVIDIA GeForce RTX 3090"), "docker --gpus");
    assert_eq!(geforce["also"].as_array().map(Vec::len), Some(0), "{geforce}");
    assert_eq!(branch(&geforce["smallest_driver"]), "550", "{geforce}");
}

#[test]
fn a_dropped_gpu_has_a_newest_driver_as_well() {
    let image = format!("{ENOUGH}cuda_runtime = \"10.2\"\n[[gpu_code]]\nfile = \"app\"\nsass = [\"sm_37\"]\n");
    let report = needs(&image, &[]);
    let k80 = way(group(&report, "Tesla K80"), "no container");
    assert!(k80["smallest_driver"].as_str().is_some_and(|driver| driver.starts_with("440.")), "{k80}");
    assert!(k80["up_to"].as_str().is_some_and(|driver| driver.starts_with("470.")), "{k80}");
}

#[test]
fn an_image_without_gpu_content_demands_nothing() {
    let report = needs("base = \"python:3.11-slim\"\n[packages.pip]\nflask = \"3.0\"\n", &[]);
    assert_eq!(report["subjects"][0]["components"].as_array().map(Vec::len), Some(0), "{report}");
}

#[test]
fn the_human_form_names_drivers_reasons_and_places() {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(imagelint_program());
        command.current_dir(env!("CARGO_MANIFEST_DIR")).env("COLUMNS", "80").arg("needs").args(arguments);
        String::from_utf8(command.output().expect("runs").stdout).expect("text")
    };
    let text = run(&["--why", "examples/a100-torch-1.12/Dockerfile"]);
    assert!(text.contains("torch: CUDA 10.2, built for sm_37, sm_50, sm_60, sm_70, no PTX"), "{text}");
    assert!(text.contains("no-kernel-image"), "{text}");
    assert!(text.contains("(examples/a100-torch-1.12/Dockerfile:"), "{text}");
    assert!(text.contains("tried on every known driver up to "), "{text}");
    // Without facts and sources, a line for each generation.
    let text = run(&["examples/quickstart/Dockerfile"]);
    for part in [
        "\n    Volta      driver 525.60.13 to 580.178.04\n",
        "\n    Hopper     driver 525.60.13 or newer\n",
        "\n    Blackwell  fails: no native code or PTX\n",
        "\n    launch nvidia-runtime: fails on every driver: no GPU in the container:",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    for internal in ["torch.", "image.", "minor_compat", "known driver\n", " = "] {
        assert!(!text.contains(internal), "{internal}\n{text}");
    }
    let repository = TestRepository::empty();
    let requirement = "FROM nvidia/cuda:12.2.2-runtime-ubuntu22.04\nENV NVIDIA_REQUIRE_CUDA=\"cuda>=12.8\"\n";
    repository.file("Dockerfile", requirement);
    let done = repository.command(&["needs", "Dockerfile"]).env("COLUMNS", "80").output().expect("runs");
    for text in [run(&["examples/quickstart/Dockerfile"]), out(&done)] {
        assert!(text.lines().count() < 60, "{text}");
        assert_eq!(text.lines().find(|line| line.chars().count() > 80), None, "{text}");
    }
}

/// The sentence of a CUDA 12.4 program, by the targets that it is built for.
#[test]
fn the_needs_begin_with_one_sentence() {
    let of = |code: &str| {
        let image = format!(
            "{ENOUGH}cuda_runtime = \"12.4\"\n[env]\nNVIDIA_VISIBLE_DEVICES = \"all\"\n[[gpu_code]]\nfile = \"app\"\n{code}\n"
        );
        needs(&image, &[])["subjects"][0]["summary"].as_str().expect("a sentence").to_owned()
    };
    assert_eq!(
        of("sass = [\"sm_75\", \"sm_80\", \"sm_90\"]\nptx = []"),
        "CUDA 12.4; Turing to Hopper; driver 525.60.13 or newer; not Blackwell, Rubin"
    );
    // Native code runs within its generation only: A100 has none here, and Ada has.
    let part = of("sass = [\"sm_86\"]\nptx = []");
    assert!(part.starts_with("CUDA 12.4; Ampere (8.6"), "{part}");
    assert!(part.contains(" to Ada; ") && part.ends_with("; not Hopper, Blackwell, Rubin"), "{part}");
    let compiled = of("sass = [\"sm_80\"]\nptx = [\"compute_80\"]");
    assert!(compiled.contains("Blackwell") && compiled.contains("only through PTX JIT"), "{compiled}");
    assert!(!compiled.contains("; not "), "{compiled}");
}

/// Kepler ends with branch 470, which NVIDIA no longer supports.
#[test]
fn gpus_without_a_supported_driver_branch_are_shown_on_request() {
    let repository = TestRepository::empty();
    repository.file(
        "old.toml",
        &format!("{ENOUGH}cuda_runtime = \"10.2\"\n[[gpu_code]]\nsass = [\"sm_37\", \"sm_75\"]\nptx = []\n"),
    );
    let omitted = "GPUs without a supported driver branch are omitted; show them with --all-gpus";
    for (more, shown) in [(&[][..], false), (&["--all-gpus"], true), (&["--as-of", "2023-01-01"], true)] {
        let done = repository.run(&[&["needs", "--why", "old.toml"], more].concat());
        assert_eq!(code(&done), 0, "{}", err(&done));
        assert_eq!(out(&done).contains("Tesla K80"), shown, "{more:?}: {}", out(&done));
        assert!(out(&done).contains("Tesla T4"), "{more:?}: {}", out(&done));
        assert_eq!(out(&done).contains(omitted), more != ["--all-gpus"], "{more:?}: {}", out(&done));
    }
}

#[test]
fn missing_image_is_a_broken_input() {
    let mut command = Command::new(imagelint_program());
    let output = command.args(["needs", "oci:/nowhere/at-all:x"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/at-all"));
}

/// A folder with the layout of an index of two platforms.
fn with_layout() -> TestRepository {
    let repository = TestRepository::empty();
    let folder = repository.path("image");
    fs::create_dir_all(&folder).expect("a folder");
    let index = oci_layout::index(&folder);
    let one = oci_layout::image(&folder, "arm64");
    oci_layout::finish(&folder, &[("many", index), ("one", one)]);
    repository
}

/// An image for `scan` is one for these commands as well, and the output names the platform.
#[test]
fn a_bare_path_of_a_layout_is_an_image() {
    let repository = with_layout();
    // The search over all nodes takes its time: once is enough.
    let done = repository.run(&["needs", "./image:many"]);
    assert!(code(&done) == 0 && out(&done).contains("./image:many (linux/amd64"), "{}{}", out(&done), err(&done));
    assert!(err(&done).contains("linux/amd64 is used; select another with --platform"), "{}", err(&done));
    for (input, more, said) in [
        (
            "./image:many",
            &[][..],
            "linux/amd64, linux/arm64 are available, and linux/amd64 is used; select another with --platform",
        ),
        (
            "./image:many",
            &["--platform", "linux/arm64"],
            "linux/amd64, linux/arm64 are available, and linux/arm64 is used; select another with --platform",
        ),
        ("oci:image:one", &[], "linux/amd64 is not available, only linux/arm64; linux/arm64 is used"),
        ("oci:image:one", &["--platform", "linux/arm64"], ""),
    ] {
        let done = repository.run(&[&["describe", input], more].concat());
        assert_eq!(code(&done), 0, "{input}: {}", err(&done));
        assert_eq!(err(&done).is_empty(), said.is_empty(), "{input} {more:?}: {}", err(&done));
        assert!(err(&done).contains(said), "{input} {more:?}: {}", err(&done));
        assert!(out(&done).contains("12.4") || out(&done).contains("linux/"), "{}", out(&done));
    }
    for command in ["needs", "describe"] {
        // The layout has two images, and none of them is selected.
        let done = repository.run(&[command, "./image"]);
        assert_eq!(code(&done), 2, "{}", err(&done));
        let done = repository.run(&[command, "./nowhere:many"]);
        assert!(code(&done) == 2 && err(&done).contains("not found"), "{}", err(&done));
        let done = repository.run(&[command, "./image:many", "--platform", "amd64"]);
        assert!(code(&done) == 2 && err(&done).contains("expected os/architecture"), "{}", err(&done));
    }
}

#[test]
fn archive_is_recognized_by_content_not_by_name() {
    let repository = with_layout();
    let archive = fs::File::create(repository.path("image.of.mine")).expect("a file");
    let mut tar = tar::Builder::new(archive);
    tar.append_dir_all(".", repository.path("image")).expect("packed");
    tar.finish().expect("written");
    let done = repository.run(&["describe", "./image.of.mine:many"]);
    assert!(code(&done) == 0 && out(&done).contains("CUDA_VERSION = \"12.4.1\""), "{}{}", out(&done), err(&done));
    let bare = repository.run(&["describe", "image.of.mine"]);
    assert!(err(&bare).contains("many"), "an archive of two images is read as one: {}", err(&bare));
}

/// The contents of layers are cached, unless the cache is disabled.
#[test]
fn layers_are_cached_unless_disabled() {
    let repository = with_layout();
    let kept = || repository.path(".git/cache/imagelint").exists();
    assert_eq!(code(&repository.run(&["describe", "./image:many", "--no-cache"])), 0);
    assert!(!kept(), "something was kept");
    assert_eq!(code(&repository.run(&["describe", "./image:many"])), 0);
    assert!(kept());
}

#[test]
fn description_is_recognized_under_any_file_name() {
    let repository = TestRepository::empty();
    repository.file("mine.toml", &format!("{ENOUGH}cuda_runtime = \"12.4\"\n[[gpu_code]]\nsass = [\"sm_80\"]\n"));
    let done = repository.run(&["needs", "mine.toml"]);
    assert!(code(&done) == 0 && out(&done).contains("sm_80"), "{}{}", out(&done), err(&done));
    assert!(out(&repository.run(&["describe", "mine.toml"])).contains("cuda_runtime = \"12.4\""));
    // Another TOML file is reported as an invalid description, and a text without a stage is not skipped silently.
    repository.file("other.toml", "[[pool]]\nname = \"p\"\n");
    let done = repository.run(&["needs", "other.toml"]);
    assert!(code(&done) == 2 && err(&done).contains("pool"), "{}", err(&done));
    repository.file("notes", "nothing of the kind\n");
    for command in ["needs", "describe"] {
        let done = repository.run(&[command, "notes"]);
        assert_eq!(code(&done), 3, "{}", err(&done));
        assert!(err(&done).contains("notes contains no stage and no image"), "{}", err(&done));
    }
}

#[test]
fn colour_follows_the_color_flag_and_format() {
    let repository = TestRepository::empty();
    repository.file("Dockerfile", "FROM python:3.11\nRUN pip install flask\n");
    for (format, wanted, coloured) in [("human", "always", true), ("human", "auto", false), ("json", "always", false)] {
        let done = repository.run(&["needs", "Dockerfile", "--color", wanted, "--format", format]);
        assert_eq!(out(&done).contains("\u{1b}["), coloured, "{format} {wanted}");
    }
}
