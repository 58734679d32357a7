//! Fixes of packages with CUDA in their name or extra, and of packages without a version.

use super::test_repository::TestRepository;
use super::{code, err, out, text};
use imagelint::model::package::ExactVersion;

/// A T4 whose driver is CUDA 12.4.
const FLEET: &str = "[[pool]]\nname = \"t4\"\ngpu = \"T4\"\ndriver = \"550.54.15\"\nplatform = \"linux/amd64\"\n\
                     launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";

fn of(run: &str) -> String {
    format!("FROM python:3.11-slim\nENV NVIDIA_VISIBLE_DEVICES=all\n{run}\n")
}

fn repository(run: &str) -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", FLEET);
    repository.file("Dockerfile", &of(run));
    repository
}

#[test]
fn cuda_suffix_or_extra_is_replaced_for_the_same_release() {
    for (before, after) in [
        ("RUN pip install cupy-cuda13x==13.6.0 numpy", "RUN pip install cupy-cuda12x==13.6.0 numpy"),
        ("RUN pip install 'CuPy_CUDA13x==14.0.1' && true", "RUN pip install 'cupy-cuda12x==14.0.1' && true"),
        ("RUN pip install 'jax[cuda13]==0.7.2'", "RUN pip install 'jax[cuda12]==0.7.2'"),
    ] {
        let repository = repository(before);
        let done = repository.run(&["check", "--fix", "Dockerfile"]);
        assert_eq!(text(&repository, "Dockerfile"), of(after), "{}{}", err(&done), out(&done));
        assert_eq!(code(&done), 0, "{before}: {}", out(&done));
    }
    let open = "RUN pip install cupy-cuda13x";
    let repository = repository(open);
    repository.run(&["check", "--fix", "Dockerfile"]);
    assert_eq!(text(&repository, "Dockerfile"), of(open), "the newest of another name may be another release");
    repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
    assert_eq!(text(&repository, "Dockerfile"), of("RUN pip install cupy-cuda12x"));
}

#[test]
fn package_name_without_a_known_alternative_is_unchanged() {
    for run in [
        // No such release is known by another name.
        "RUN pip install cupy-cuda13x==99.0.0",
        "RUN pip install 'cupy-cuda13x>=14'",
        // It has a number that says no CUDA, or it is the one that starts.
        "RUN pip install cupy-cuda12x==13.6.0",
        "RUN pip install cupy==13.6.0",
        "RUN pip install cupy-cuda13x==13.6.0 cupy-cuda12x==13.6.0",
        "RUN pip install --require-hashes cupy-cuda13x==13.6.0 --hash=sha256:00",
    ] {
        let repository = repository(run);
        repository.run(&["check", "--fix", "Dockerfile"]);
        assert_eq!(text(&repository, "Dockerfile"), of(run), "{run}");
    }
}

#[test]
fn unpinned_framework_is_pinned_with_its_companion_packages() {
    let page = "--extra-index-url https://download.pytorch.org/whl/";
    for (run, names, same) in [
        // The release that the range stands for has a build that starts, or it has none.
        ("RUN pip install 'torch<2.12' torchvision torchaudio", &["torch", "torchvision", "torchaudio"][..], true),
        ("RUN pip install 'torch<2.12' 'torchvision>=0.20' numpy", &["torch", "torchvision"], true),
        ("RUN pip install torch numpy", &["torch"], false),
        // What asks for no torch is the newest that the index of the build has.
        ("RUN pip install torch torchvision torchaudio", &["torch", "torchvision"], false),
        ("RUN pip install torch", &["torch"], false),
    ] {
        let repository = repository(run);
        repository.run(&["check", "--fix", "Dockerfile"]);
        let safe = text(&repository, "Dockerfile");
        assert_eq!(safe != of(run), same, "another release than the newest is not safe: {safe}");
        let done = repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
        let after = text(&repository, "Dockerfile");
        assert_eq!(code(&done), 0, "{after}: {}", out(&done));
        assert!(after.contains(page) && after.matches("==").count() == names.len(), "{after}");
        let knowledge = imagelint::knowledge::Knowledge::built_in();
        let version = |name: &str| after.split(&format!("{name}==")).nth(1)?.split([' ', '+', '\'', '\n']).next();
        let torch = version("torch").expect("a version");
        for name in names.iter().filter(|name| **name != "torch") {
            let own = version(name).expect("a version");
            let row = knowledge
                .torch_requirements_of(name)
                .find(|row| row.is_of_version(&own.into()))
                .expect("a release of the tables");
            assert_eq!(row.range.contains(&ExactVersion::from(torch)), Some(true), "{name}=={own} of torch {torch}");
        }
    }
    // What goes with it is not known, or asks for another one.
    for run in ["RUN pip install torch 'torchvision<0.10'", "RUN pip install torch 'torchaudio<0.10'"] {
        let repository = repository(run);
        repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
        assert_eq!(text(&repository, "Dockerfile"), of(run));
        let told = out(&repository.run(&["check", "--show-fixes", "Dockerfile"]));
        assert!(told.contains("(manual; "), "{told}");
        assert!(!told.contains("(unsafe"), "{told}");
    }
}
