//! Packages that depend on the build of a framework: extensions, CUDA library wheels, packages with a library for each
//! CUDA version, and indexes without torch.

use super::test_repository::TestRepository;
use super::{code, err, out, text};

/// A pool of one GPU.
fn fleet(gpu: &str, driver: &str, more: &str) -> String {
    format!(
        "[[pool]]\nname = \"one\"\ngpu = \"{gpu}\"\ndriver = \"{driver}\"\nlaunch = \"docker-gpus\"\n\
         toolkit = \"1.17.8\"\n{more}"
    )
}

fn repository(fleet: &str, files: &[(&str, &str)]) -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", fleet);
    for (name, text) in files {
        repository.file(name, text);
    }
    repository
}

/// The Dockerfile as `--fix --unsafe-fixes` leaves it.
fn written(fleet: &str, run: &str) -> String {
    let repository = repository(fleet, &[("Dockerfile", &format!("FROM python:3.10-slim\nRUN {run}\n"))]);
    repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
    let after = text(&repository, "Dockerfile");
    after.trim_start_matches("FROM python:3.10-slim\nRUN ").trim_end().to_owned()
}

const PAGE: &str = "https://download.pytorch.org/whl";

#[test]
fn arm64_build_without_a_local_version_is_selected_by_index() {
    let arm64 = "platform = \"linux/arm64\"\n";
    let gh200 = fleet("GH200", "550.90.07", arm64);
    let index = format!("--index-url {PAGE}/cu124");
    for (before, after) in [
        ("pip install torch==2.5.1", format!("pip install torch==2.5.1 {index}")),
        (
            "pip3 install -q torch==2.4.0 torchvision==0.19.0 && rm -rf /tmp/x",
            format!("pip3 install -q torch==2.4.0 {index} torchvision==0.19.0 && rm -rf /tmp/x"),
        ),
    ] {
        let repository = repository(&gh200, &[("Dockerfile", &format!("FROM python:3.11-slim\nRUN {before}\n"))]);
        let done = repository.run(&["check", "--fix", "Dockerfile"]);
        assert_eq!(text(&repository, "Dockerfile"), format!("FROM python:3.11-slim\nRUN {after}\n"), "{}", err(&done));
        assert_eq!(code(&done), 0, "{}", out(&done));
    }
    // Later builds have their name in the version.
    let gh200_560 = fleet("GH200", "560.35.05", arm64);
    assert!(written(&gh200_560, "pip install torch==2.6.0").contains("torch==2.6.0+cu126 --extra-index-url"));
    // So has every build for amd64.
    let t4 = fleet("T4", "470.223.02", "");
    assert!(written(&t4, "pip install torch==2.4.0").contains("torch==2.4.0+cu118 --extra-index-url"));
    // Packages that are not in that index are not found there: the fix is reported and not written.
    for run in [
        "pip install torch==2.5.1 numpy",
        "pip install torch==2.5.1 .",
        "pip install torch==2.5.1 -c c.txt",
        "pip install torch==2.5.1 -i https://mirror.example/simple",
    ] {
        assert_eq!(written(&gh200, run), run);
    }
    let list = [
        ("Dockerfile", "FROM python:3.11-slim\nCOPY r.txt .\nRUN pip install -r r.txt\n"),
        ("r.txt", "torch==2.5.1\nnumpy\n"),
    ];
    let repository = repository(&gh200, &list);
    let told = out(&repository.run(&["check", "--show-fixes", "--color", "never", "Dockerfile"]));
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("install torch==2.5.1 only from the index https://download.pytorch.org/whl/cu124"), "{told}");
    assert!(!told.contains("2.5.1+cu124"), "{told}");
    repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
    assert_eq!(text(&repository, "r.txt"), "torch==2.5.1\nnumpy\n");
}

#[test]
fn no_build_is_written_next_to_find_links_pages_of_another_build() {
    let t4 = fleet("T4", "470.223.02", "");
    let b200 = fleet("B200", "580.95.05", "");
    let pyg = "https://data.pyg.org/whl";
    for (fleet, run) in [
        (&t4, format!("pip install torch==2.4.0 && pip install torch-scatter torch-sparse -f {pyg}/torch-2.4.0+cu121.html")),
        (&t4, format!("CUDA=cu121; pip install torch==2.4.0 && pip install torch-scatter -f {pyg}/torch-2.4.0+$CUDA.html")),
        (&t4, "pip install torch==2.1.2 torchvision==0.16.2 && pip install mmcv==2.1.0 -f https://download.openmmlab.com/mmcv/dist/cu121/torch2.1/index.html".to_owned()),
        (&t4, "pip install torch==2.4.0 dgl -f https://data.dgl.ai/wheels/torch-2.4/cu121/repo.html".to_owned()),
        (&t4, "pip install torch==2.4.0 && pip install auto-gptq==0.7.1 --extra-index-url https://huggingface.github.io/autogptq-index/whl/cu121/".to_owned()),
        (&t4, "pip install torch==2.4.0 flashinfer==0.1.6 -i https://flashinfer.ai/whl/cu121/torch2.4/ --extra-index-url https://mirror.example/simple".to_owned()),
        (&t4, "pip install torch==2.4.0 && pip install https://mirror.example/flash_attn-2.6.3+cu12torch2.4cxx11abiFALSE-cp310-cp310-linux_x86_64.whl".to_owned()),
        // Another release, of the same CUDA major.
        (&b200, format!("pip install torch==2.6.0 && pip install torch-geometric pyg-lib -f {pyg}/torch-2.6.0+cu124.html")),
    ] {
        assert_eq!(written(fleet, &run), run);
    }
    // Of the build that comes, of none, or of no concern to pip.
    for more in [
        format!("pip install torch-scatter -f {pyg}/torch-2.4.0+cu118.html"),
        format!("pip install torch-geometric -f {PAGE}/torch_stable.html"),
        "pip install numpy -i https://mirror.example/simple".to_owned(),
        "curl -O https://mirror.example/cuda/12.1/x.tar".to_owned(),
    ] {
        let run = format!("pip install torch==2.4.0 && {more}");
        assert!(written(&t4, &run).contains("torch==2.4.0+cu118 --extra-index-url"), "{run}");
    }
}

#[test]
fn no_build_is_written_next_to_libraries_for_another_cuda_major() {
    let t4 = fleet("T4", "470.223.02", "");
    for run in [
        "pip install torch==2.4.0 nvidia-cudnn-cu12==9.1.0.70 nvidia-nccl-cu12==2.20.5",
        "pip install nvidia-cublas-cu12==12.1.3.1 && pip install torch==2.4.0",
    ] {
        assert_eq!(written(&t4, run), run);
        let repository = repository(&t4, &[("Dockerfile", &format!("FROM python:3.10-slim\nRUN {run}\n"))]);
        let told = out(&repository.run(&["check", "--show-fixes", "--color", "never", "Dockerfile"]));
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("manual: library wheels for another CUDA major release"), "{told}");
    }
    for more in ["nvidia-cudnn-cu11==9.1.0.70", "nvidia-ml-py==12.560.30", "numpy==1.26.4"] {
        let run = format!("pip install torch==2.4.0 {more}");
        assert!(written(&t4, &run).contains("torch==2.4.0+cu118"), "{run}");
    }
}

#[test]
fn package_without_a_matching_cuda_library_is_upgraded() {
    let b200 = fleet("B200", "580.95.05", "");
    let after = written(&b200, "pip install torch==2.6.0 bitsandbytes==0.45.0");
    assert!(after.contains("torch==2.7.1+cu128") && after.ends_with("bitsandbytes==0.45.3"), "{after}");
    let t4 = fleet("T4", "470.223.02", "");
    let after = written(&t4, "pip install torch==2.4.0 bitsandbytes==0.43.3");
    assert!(after.contains("torch==2.4.0+cu118") && after.ends_with("bitsandbytes==0.43.3"), "{after}");
}
