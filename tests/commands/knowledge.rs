//! `imagelint knowledge` and `--knowledge DIR`, from outside.

use test_repository::{DOCKERFILE, FLEET, TestRepository, code, err, fates, out};

use crate::support::test_repository;

/// A GPU that no built-in table has.
const OWN_GPU: &str = r#"source = "node inventory"
checked = 2026-11-21
how = "measured"

[[row]]
name = "NVIDIA H100 ACME"
aliases = ["acme-h100"]
capability = "9.0"
architecture = "Hopper"
class = "data-center"
forward_compat = true
"#;

#[test]
fn rows_are_printed_with_source_date_and_how() {
    let repository = TestRepository::new();
    for (arguments, parts) in [
        (&["gpu", "A100-PCIE-40GB"][..], &["gpus: NVIDIA A100-PCIE-40GB", "NVIDIA-A100-PCIE-40GB", "8.0"][..]),
        (&["gpu", "NVIDIA-H100-80GB-HBM3"], &["gpus: NVIDIA H100 80GB HBM3", "architectures: Hopper"]),
        (&["torch", "2.6"], &["torch_releases: 2.6.0", "torch_builds: 2.6.0 cu124 amd64", "50, 60, 70"]),
        (&["driver", "535.161.08"], &["driver_branches: 535", "12.2", "forward_matrix"]),
        (&["cuda", "12.4"], &["toolkits: 12.4.1", "target_sets: 12.4", "minor_compat: 12", "compat_packages: 12.4"]),
        (&["base", "nvidia/cuda:12.4.1-base-ubuntu22.04"], &["cuda_images: 12.4.1", "cuda>=12.4 brand=tesla"]),
        (&["toolkit", "1.17.4"], &["container_toolkits: 1.17.4"]),
        (&["error", "804"], &["cudaErrorCompatNotSupportedOnDevice"]),
        (&["framework", "tensorflow", "2.15.1"], &["framework_builds: tensorflow 2.15.1"]),
        (&["framework", "bitsandbytes", "0.45.1"], &["bundled_variants: bitsandbytes 0.45.0", "cu124"]),
        (&["framework", "nvidia-cuda-runtime-cu12"], &["library_wheels", "libcudart"]),
        (&["table", "engines"], &["engines: docker"]),
    ] {
        let done = repository.command(&["knowledge"]).args(arguments).output().expect("a run");
        assert_eq!(code(&done), 0, "{arguments:?}: {}", err(&done));
        for part in parts.iter().chain(&["  known ", "2026-11-21"]) {
            assert!(out(&done).contains(part), "{arguments:?} {part}: {}", out(&done));
        }
    }
}

#[test]
fn numbers_of_modules_and_of_windows_are_answered() {
    let repository = TestRepository::new();
    for (driver, part) in [("540.4.0", "12.6"), ("36.4.3", "12.6"), ("531.61", "530")] {
        let done = repository.command(&["knowledge", "driver", driver]).output().expect("a run");
        assert_eq!(code(&done), 0, "{driver}: {}{}", out(&done), err(&done));
        assert!(out(&done).contains(part), "{driver}: {}", out(&done));
    }
}

#[test]
fn an_unknown_key_lists_the_nearest_and_ends_with_3() {
    let repository = TestRepository::new();
    for (arguments, part) in [
        (&["gpu", "RTX 4091"][..], "GeForce RTX 4090"),
        (&["gpu", "A1000000"], "nearest: "),
        (&["torch", "2.6.9"], "2.6.0"),
        (&["torch", "99.0"], "this torch release is newer than the compatibility database of"),
        (&["driver", "99999"], "this driver is newer than the compatibility database of"),
        (&["driver", "536"], "535"),
        (&["cuda", "99.0"], "this CUDA version is newer than the compatibility database of"),
        (&["base", "nvidia/cuda:12.4.9-base-ubuntu22.04"], "nvidia/cuda:12.4.1"),
        (&["base", "nvidia/cudaa:1"], "nvidia/cuda"),
        (&["error", "805"], "804"),
        (&["framework", "tensorflw"], "tensorflow"),
        (&["framework", "jax", "0.4.37"], "jax 0.4.31"),
        (&["framework", "jaxx"], "jax"),
        (&["gpu", "p5.49xlarge"], "p5.48xlarge"),
        (&["image", "nvidia/cuda:13.1.9-base-ubuntu24.04"], "nvidia/cuda:13.1.1"),
        (&["table", "gpu"], "gpus"),
        (&["toolkit", "1.30"], "this container toolkit is newer than the compatibility database of"),
        (&["driver", "540"], "nearest: 5"),
        (&["driver", "540"], "545"),
        (&["framework", "vllm 0."], "nearest: "),
        (&["framework", "onnxruntime-gpu 1.1"], "nearest: "),
        (&["torch", "torch==99.0"], "this torch release is newer than the compatibility database of"),
        (&["cuda", "cu12x"], "no cuda `cu12x`"),
    ] {
        let done = repository.command(&["knowledge"]).args(arguments).output().expect("a run");
        assert_eq!(code(&done), 3, "{arguments:?}: {}{}", out(&done), err(&done));
        assert!(out(&done).contains(part), "{arguments:?}: {}", out(&done));
    }
}

/// What people type: a name with a version, a machine type, an image with its tag, a full driver version.
#[test]
fn entries_are_found_by_common_spellings() {
    let repository = TestRepository::new();
    for (arguments, parts) in [
        (&["gpu", "a100"][..], &["gpus: NVIDIA A100-SXM4-40GB"][..]),
        (&["gpu", "RTX PRO 6000"], &["Blackwell Server Edition", "Workstation Edition", "requires the full name"]),
        (&["gpu", "DGX Spark"], &["gpus: NVIDIA GB10", "12.1"]),
        (&["gpu", "g5.xlarge"], &["cloud_instances: g5.xlarge", "gpus: NVIDIA A10G"]),
        (&["framework", "jax 0.4.30"], &["framework_builds: jax-cuda12-plugin 0.4.30"]),
        (&["framework", "jax"], &["requires_dist: jax cuda12 jax-cuda12-plugin"]),
        (&["framework", "flash-attn 2.6.3"], &["frameworks: flash-attn", "FLASH_ATTN_CUDA_ARCHS", "8.0"]),
        (
            &["framework", "text-generation-server 1.0"],
            &["frameworks: text-generation-server", "has no entry for single versions of text-generation-server"],
        ),
        (&["framework", "vllm 0.6.3"], &["framework_builds: vllm 0.6.3"]),
        (&["image", "nvidia/cuda:13.1.0-base-ubuntu24.04"], &["cuda_images: 13.1.0"]),
        (&["image", "vllm/vllm-openai:v0.5.3"], &["framework_images: vllm/vllm-openai v0.5.3"]),
        (&["driver", "570.86.15"], &["driver_branches: 570"]),
        (&["cuda", "13.5"], &["toolkits: 13.5.0", "target_sets: 13.5"]),
        (&["framework", "onnxruntime-gpu 1.18"], &["onnxruntime-gpu 1.18.0", "onnxruntime-gpu 1.18.1"]),
        (&["framework", "paddlepaddle-gpu 2.6"], &["paddlepaddle-gpu 2.6.0", "paddlepaddle-gpu 2.6.2"]),
        (&["framework", "vllm 0.6"], &["vllm 0.6.3"]),
        (&["framework", "jax 0.4"], &["jax-cuda12-plugin 0.4.30"]),
        (&["framework", "triton 3.0"], &["triton_compilers: 3.0.0"]),
        (&["framework", "vllm==0.6.3"], &["vllm 0.6.3"]),
        (&["torch", "v2.6"], &["torch_releases: 2.6.0"]),
        (&["torch", "torch==2.6"], &["torch_releases: 2.6.0"]),
        (&["cuda", "cu124"], &["toolkits: 12.4.1"]),
        (&["tensorflow", "2.15.1"], &["framework_builds: tensorflow 2.15.1"]),
        (&["jax", "0.4.30"], &["jax-cuda12-plugin 0.4.30"]),
    ] {
        let done = repository.command(&["knowledge"]).args(arguments).output().expect("a run");
        assert_eq!(code(&done), 0, "{arguments:?}: {}{}", out(&done), err(&done));
        for part in parts {
            assert!(out(&done).contains(part), "{arguments:?} without `{part}`: {}", out(&done));
        }
    }
}

#[test]
fn a_misspelt_kind_or_a_missing_key_is_a_usage_error() {
    let repository = TestRepository::new();
    for (arguments, part) in [
        (&["gpuu", "A100"][..], "did you mean `gpu`?"),
        (&["gpu"], "no gpu given"),
        (&["zebra", "1"], "expected one of"),
    ] {
        let done = repository.command(&["knowledge"]).args(arguments).output().expect("a run");
        assert_eq!((code(&done), out(&done)), (2, String::new()), "{arguments:?}");
        assert!(err(&done).contains(part), "{arguments:?}: {}", err(&done));
    }
}

#[test]
fn json_has_every_field_of_every_row() {
    let repository = TestRepository::new();
    let answer = repository.json(&["knowledge", "gpu", "A100-PCIE-40GB"]);
    let row = &answer["rows"][0];
    assert_eq!((row["table"].as_str(), row["fields"]["capability"].as_str()), (Some("gpus"), Some("8.0")));
    assert_eq!((row["fields"]["arm64_host"].as_bool(), row["fields"]["last_branch"].is_null()), (Some(false), true));
    assert!(row["source"].as_str().is_some_and(|source| !source.is_empty()));
    let tables = repository.json(&["knowledge"]);
    let gpus = tables["tables"].as_array().expect("tables").iter().find(|table| table["table"] == "gpus");
    let gpus = gpus.expect("the table of GPUs");
    let known = ["measured", "documented", "inferred", "memory"].map(|how| gpus[how].as_u64().expect(how));
    assert_eq!(Some(known.iter().sum()), gpus["rows"].as_u64());
}

#[test]
fn a_table_of_ones_own_makes_a_gpu_known_to_fleets() {
    let repository = TestRepository::new();
    repository.file("fleet.toml", &FLEET.replace("\"H100\"", "\"acme-h100\""));
    let done = repository.run(&["check", "Dockerfile"]);
    assert_eq!(code(&done), 2, "{}", out(&done));
    repository.file("lab/gpus.toml", OWN_GPU);
    let report = repository.json(&["check", "--knowledge", "lab", "--pool", "new", "Dockerfile"]);
    assert!(fates(&report)[0].contains("\"starts\""), "{report}");
    let folder = repository.path("lab").display().to_string();
    let done = repository.run(&["--knowledge", &folder, "knowledge", "gpu", "acme-h100"]);
    assert!(out(&done).contains("measured, 2026-11-21: node inventory"), "{}", out(&done));
    let done = repository.command(&["check", "--pool", "new", "Dockerfile"]).env("IMAGELINT_KNOWLEDGE", "lab").output();
    assert_eq!(code(&done.expect("a run")), 0);
}

/// Says of driver 570 that its CUDA is too old for the image.
fn own_branch(how: &str) -> String {
    format!("source = \"a lab\"\nchecked = 2026-11-21\n{how}[[row]]\nbranch = 570\ncuda = \"12.0\"\n")
}

#[test]
fn a_users_row_from_memory_causes_no_error() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", DOCKERFILE);
    let check = ["check", "--knowledge", "lab", "--pool", "new", "Dockerfile"];
    repository.file("lab/driver_branches.toml", &own_branch("how = \"measured\"\n"));
    assert_eq!(code(&repository.run(&check)), 1, "{}", out(&repository.run(&check)));
    repository.file("lab/driver_branches.toml", &own_branch(""));
    let done = repository.run(&check);
    assert_eq!(code(&done), 0, "{}", out(&done));
    assert!(out(&done).contains("warning[container-refused]"), "{}", out(&done));
    let text = out(&done).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("depends on an unverified entry of the compatibility database, so it is not an error"),
        "{text}"
    );
}

#[test]
fn table_error_is_underlined_with_the_closest_keyword() {
    let repository = TestRepository::new();
    repository.file("lab/gpus.toml", &OWN_GPU.replace("capability", "capabilty"));
    for command in [&["check", "Dockerfile"][..], &["knowledge"], &["describe", "Dockerfile"]] {
        let done = repository.command(command).args(["--knowledge", "lab"]).output().expect("a run");
        assert_eq!((code(&done), out(&done)), (2, String::new()), "{command:?}");
        for part in [
            "gpus.toml:5:1",
            "8 │ capabilty = \"9.0\"",
            "unknown key `capabilty`",
            "did you mean `capability`?",
            "the entry has no `capability`",
        ] {
            assert!(err(&done).contains(part), "{part}: {}", err(&done));
        }
    }
}

#[test]
fn knowledge_folder_with_no_table_or_an_unknown_one_is_refused() {
    let repository = TestRepository::new();
    for (folder, part) in
        [("nowhere", "cannot read the compatibility database in nowhere"), ("empty", "contains no table")]
    {
        repository.file("empty/README.md", "nothing\n");
        let done = repository.run(&["knowledge", "--knowledge", folder]);
        assert_eq!(code(&done), 2, "{folder}");
        assert!(err(&done).contains(part), "{}", err(&done));
    }
    repository.file("strange/gpu.toml", OWN_GPU);
    let done = repository.run(&["knowledge", "--knowledge", "strange"]);
    assert_eq!(code(&done), 2);
    assert!(err(&done).contains("did you mean `gpus`?"), "{}", err(&done));
}

/// A pool whose driver is too old for the requirement of the CUDA 12.4 base.
const OLD_DRIVER: &str = "[[pool]]\nname = \"old\"\ngpu = \"RTX 3090\"\ndriver = \"530.41.03\"\nplatform = \"linux/amd64\"\n\
    launch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\n";

#[test]
fn image_inherits_the_requirement_of_its_base() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", OLD_DRIVER);
    let fate = |tag: &str| {
        repository.file("Dockerfile", &format!("FROM ghcr.io/huggingface/text-generation-inference:{tag}\n"));
        let report = repository.json(&["check", "Dockerfile"]);
        let verdict = &report["subjects"][0]["verdicts"][0];
        (verdict["fate"].as_str().unwrap_or_default().to_owned(), verdict["outcome"].clone())
    };
    assert_eq!(fate("3.3.7"), ("fails".to_owned(), "refused".into()));
    let (started, outcome) = fate("2.0.4");
    assert!(started != "fails" && outcome.is_null(), "{started} {outcome}");
    assert_ne!(fate("99.0").0, "fails");
}

/// CUDA 12 on a driver for CUDA 11, through a way of starting that leaves compat libraries alone.
const CDI_470: &str = "[[pool]]\nname = \"old\"\ngpu = \"RTX 3090\"\ndriver = \"470.182.03\"\nplatform = \"linux/amd64\"\n\
    launch = \"docker-cdi\"\ntoolkit = \"1.17.4\"\n";

/// A row from memory and a documented one about the same image, and nothing else that differs.
#[test]
fn a_row_from_memory_about_the_image_decides_no_error_either() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", CDI_470);
    repository.file("Dockerfile", "FROM example.com/team/app:1\n");
    for (how, expected, word) in [("memory", 0, "warning[insufficient"), ("documented", 1, "error[insufficient")] {
        let row = "[[row]]\nrepository = \"example.com/team/app\"\ntag = \"1\"\ncuda = \"12.3\"\n";
        let head = format!("source = \"a wiki\"\nchecked = 2026-11-21\nhow = \"{how}\"\n");
        repository.file("lab/framework_images.toml", &format!("{head}{row}"));
        let family = "[[row]]\nrepository = \"example.com/team/app\"\ncompat = false\n";
        repository.file("lab/base_families.toml", &format!("{}{family}", head.replace("memory", "documented")));
        let done = repository.run(&["check", "--knowledge", "lab", "Dockerfile"]);
        assert_eq!(code(&done), expected, "{how}: {}{}", out(&done), err(&done));
        assert!(out(&done).contains(word), "{how}: {}", out(&done));
    }
}

/// What is not a regular file is never opened: it might have no end.
#[test]
fn table_that_is_not_a_regular_file_is_refused() {
    let repository = TestRepository::new();
    std::fs::create_dir_all(repository.path("tables/gpus.toml")).expect("a folder with the name of a table");
    let done = repository.run(&["knowledge", "--knowledge", "tables", "gpu", "A100"]);
    assert_eq!(code(&done), 2);
    assert!(err(&done).contains("this is a directory; pass a file"), "{}", err(&done));
}

/// A package, its repository and its import, as rows of two tables.
const OWN_PACKAGE: [&str; 2] = [
    "distribution = \"acme-ops\"\ncomponent = \"acme-ops\"\nno_code = 209\nbad_ptx = 222\ncuda_from = \"torch\"\nrepositories = [\"acme/kernels\"]\n",
    "distribution = \"acme-ops\"\nrepository = \"kernels\"\nvariable = \"TORCH_CUDA_ARCH_LIST\"\nsdist = true\n",
];

/// A table with one row.
fn own(row: &str) -> String {
    format!("source = \"a lab\"\nchecked = 2026-11-21\nhow = \"measured\"\n[[row]]\n{row}")
}

/// The verdicts of one pool, with or without the tables in `lab`.
fn verdict_lines(repository: &TestRepository, dockerfile: &str, own: bool) -> String {
    repository.file("Dockerfile", dockerfile);
    let mut arguments = vec!["check", "--pool", "new", "Dockerfile"];
    arguments.extend(["--knowledge", "lab"].iter().filter(|_| own));
    let mut fates = fates(&repository.json(&arguments));
    fates.sort();
    fates.join("\n")
}

#[test]
fn a_users_package_is_compiled_for_the_architecture_list() {
    let repository = TestRepository::new();
    repository.file("lab/frameworks.toml", &own(OWN_PACKAGE[0]));
    repository.file("lab/cuda_extensions.toml", &own(OWN_PACKAGE[1]));
    let base = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch==2.4.0+cu124\n";
    let build = |list: &str, name: &str| format!("{base}ENV TORCH_CUDA_ARCH_LIST={list}\nRUN pip install {name}\n");
    for (list, part) in [("7.0", "no-kernel-image"), ("9.0", "\"starts\""), ("7.0+PTX", "\"jit\"")] {
        let ours = verdict_lines(&repository, &build(list, "acme-ops"), true);
        let known = verdict_lines(&repository, &build(list, "torch-scatter"), false);
        assert!(ours.contains(part), "{list}: {ours}");
        let sorted = |text: &str| text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(sorted(&ours), sorted(&known.replace("torch-scatter", "acme-ops")), "{list}");
        let without = verdict_lines(&repository, &build(list, "acme-ops"), false);
        assert!(!without.contains("acme-ops") && !without.contains("no-kernel-image"), "{list}: {without}");
    }
}

#[test]
fn source_repository_identifies_a_custom_package() {
    let repository = TestRepository::new();
    repository.file("lab/frameworks.toml", &own(OWN_PACKAGE[0]));
    let build = |path: &str| format!("{DOCKERFILE}RUN pip install git+https://github.com/{path}\n");
    assert!(verdict_lines(&repository, &build("acme/kernels"), true).contains("acme-ops"));
    assert!(!verdict_lines(&repository, &build("acme/kernels"), false).contains("acme-ops"));
    assert!(!verdict_lines(&repository, &build("acme/other"), true).contains("acme-ops"));
    assert!(!verdict_lines(&repository, &build("other/kernels"), true).contains("acme-ops"));
}

#[test]
fn custom_mirror_of_cuda_images_has_their_contents() {
    let repository = TestRepository::new();
    repository.file("fleet.toml", &FLEET.replace("\"H100\"", "\"A100\"").replace("570.211.01", "535.161.08"));
    repository.file(
        "lab/base_families.toml",
        &own("repository = \"mirror.example/cuda\"\ncuda_base = true\nlisted = true\n"),
    );
    let copied = |image: &str| {
        format!(
            "FROM python:3.11-slim\nCOPY --from={image}:12.8.1-devel-ubuntu22.04 /usr/local/cuda /usr/local/cuda\n\
             ENV LD_LIBRARY_PATH=/usr/local/cuda/compat NVIDIA_VISIBLE_DEVICES=all\nRUN pip install torch==2.8.0\n"
        )
    };
    let known = verdict_lines(&repository, &copied("nvidia/cuda"), false);
    assert_eq!(verdict_lines(&repository, &copied("mirror.example/cuda"), true), known);
    assert_ne!(verdict_lines(&repository, &copied("mirror.example/cuda"), false), known);
    assert_ne!(verdict_lines(&repository, &copied("mirror.example/other"), true), known);
}

#[test]
fn gpu_names_in_the_arch_list_expand_like_in_torch() {
    let repository = TestRepository::new();
    let fleet = FLEET.replace("\"H100\"", "\"B200\"").replace("570.211.01", "580.95.05");
    repository.file("fleet.toml", &fleet);
    let build = |torch: &str, list: &str| {
        format!(
            "FROM nvidia/cuda:12.8.1-devel-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch=={torch}\n\
             ENV TORCH_CUDA_ARCH_LIST={list}\nRUN pip install --no-binary :all: torch-scatter\n"
        )
    };
    let of = |torch: &str, list: &str| verdict_lines(&repository, &build(torch, list), false);
    assert_eq!(of("2.8.0", "Hopper"), of("2.8.0", "9.0+PTX"));
    assert!(of("2.8.0", "Hopper").contains("\"jit\""), "{}", of("2.8.0", "Hopper"));
    assert_eq!(of("2.8.0", "Blackwell"), of("2.8.0", "10.0"));
    for (torch, list) in [("2.8.0", "hopper"), ("2.8.0", "Hopper+PTX"), ("2.8.0", "nonsense"), ("2.8.0", "9.0,10.0")] {
        let refused = of(torch, list);
        assert!(!refused.contains("\"jit\""), "{torch} {list}: {refused}");
        assert!(!refused.contains("no-kernel-image"), "{torch} {list}: {refused}");
    }
    repository.file("Dockerfile", &build("2.8.0", "hopper"));
    let report = repository.json(&["check", "--pool", "new", "Dockerfile"]).to_string();
    assert!(report.contains("do not know the architecture `hopper` and reject the list"), "{report}");
}
