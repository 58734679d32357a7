//! What goes together, and what there is for a platform: nothing is recommended that no installer finds.

use crate::recommend::{TestRepository, code, combinations, err, out, pool, recommend, with};

fn two() -> TestRepository {
    with(&[pool("t4", "T4", "525.147.05"), pool("a100", "A100", "535.161.08")])
}

fn arm64() -> TestRepository {
    let repository = TestRepository::empty();
    repository.file(
        "fleet.toml",
        "[[pool]]\nname = \"gh\"\ngpu = \"GH200\"\ndriver = \"580.95.05\"\nplatform = \"linux/arm64\"\n\
         launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n",
    );
    repository
}

fn specs(repository: &TestRepository, wishes: &[&str]) -> Vec<String> {
    let report = recommend(repository, &[wishes, &["--limit", "60"]].concat());
    combinations(&report).iter().map(|one| one["pip"].to_string()).collect()
}

#[test]
fn packages_of_one_torch_are_of_the_same_one() {
    let repository = two();
    let of_torch = specs(&repository, &["--torch", "==2.7.1", "--with", "torchvision"]);
    assert!(of_torch.iter().any(|one| one.contains("torchvision==0.22.1")), "{of_torch:?}");
    // Releases that ask for any later torch are of the day of the first.
    for old in ["torchvision==0.1.", "torchvision==0.2.", "torchvision==0.3.0"] {
        assert!(!of_torch.iter().any(|one| one.contains(old)), "{old}: {of_torch:?}");
    }
    // If torch is not requested, the packages that require it determine its release.
    let without = specs(&repository, &["--with", "vllm==0.8.5.post1", "--with", "torchaudio"]);
    assert!(!without.is_empty(), "{without:?}");
    assert!(without.iter().all(|one| one.contains("torchaudio==2.6.0")), "{without:?}");
    for wishes in [
        ["--torch", "2.6", "--with", "torchvision<0.20"],
        // Packages of an image that are built for its torch keep that torch.
        ["--torch", "==2.7.1", "--with", "vllm==0.24.0"],
    ] {
        let done = repository.run(&[&["recommend"], &wishes[..]].concat());
        assert!(code(&done) != 0 && !out(&done).contains("RUN "), "{wishes:?}: {}", out(&done));
    }
    // Nor does what is built for one CUDA major go with the build for another.
    let done = repository.run(&["recommend", "--torch", "==2.7.1", "--with", "sglang"]);
    assert!(code(&done) == 2 && err(&done).contains("has no compatible releases of"), "{}", err(&done));
}

#[test]
fn arm64_recommendations_use_only_known_arm64_wheels() {
    let repository = arm64();
    for (wish, code_of, words) in [
        ("paddlepaddle-gpu", 2, "no wheel of `paddlepaddle-gpu` for linux/arm64"),
        ("faiss-gpu-cu12", 2, "no wheel of `faiss-gpu-cu12` for linux/arm64"),
        ("no-such-thing", 2, "has no releases of `no-such-thing`"),
    ] {
        let done = repository.run(&["recommend", "--with", wish]);
        assert_eq!(code(&done), code_of, "{wish}");
        assert!(err(&done).contains(words), "{}", err(&done));
    }
    let onnx = specs(&repository, &["--with", "onnxruntime-gpu"]);
    assert!(!onnx.is_empty() && !onnx.iter().any(|one| one.contains("onnxruntime-gpu==1.18.")), "{onnx:?}");
    // Wheels that do not name their build are asked for by their release.
    let torch = specs(&repository, &["--torch", "==2.5.1"]);
    assert!(!torch.is_empty() && !torch.iter().any(|one| one.contains('+')), "{torch:?}");
    let done = repository.run(&["recommend", "--torch", ">=2.1,<2.3", "--python", "3.12"]);
    assert!(code(&done) == 2 && err(&done).contains("only in images"), "{}", err(&done));
}
