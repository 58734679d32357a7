//! `fleet init`: the first fleet file, with stand-ins for nvidia-smi and kubectl.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use crate::fleet::fixture;
use crate::fleet::test_repository::{TestRepository, code, err, out};
use crate::support::program::imagelint_program;

/// Runs in a place where only these programs and those of bash exist.
fn run(repository: &TestRepository, programs: &[(&str, &str)], arguments: &[&str]) -> Output {
    let bin = repository.path("bin");
    fs::create_dir_all(&bin).expect("a folder");
    for (name, script) in programs {
        fs::write(bin.join(name), format!("#!/bin/bash\n{script}\n")).expect("a program");
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).expect("a program");
    }
    let mut command = Command::new(imagelint_program());
    command.current_dir(repository.path("")).args(["fleet", "init"]).args(arguments).env("PATH", &bin);
    command.env_remove("IMAGELINT_FLEET").output().expect("runs")
}

/// What `check` says with the file that was written.
fn checked(repository: &TestRepository, file: &str) -> i32 {
    repository.file("Dockerfile", "FROM nvidia/cuda:11.8.0-base-ubuntu22.04\n");
    code(&repository.run(&["check", "--fleet", file, "Dockerfile"]))
}

#[test]
fn fleet_init_without_tools_writes_three_valid_pools() {
    for (programs, why) in [
        (&[][..], "nvidia-smi is not installed"),
        (&[("nvidia-smi", "exit 9")], "nvidia-smi failed"),
        (&[("nvidia-smi", "echo no XML")], "nvidia-smi: "),
        (&[("nvidia-smi", "exec /bin/sleep 60")], "nvidia-smi did not answer within 5 s"),
    ] {
        let repository = TestRepository::empty();
        let begin = std::time::Instant::now();
        let done = run(&repository, programs, &[]);
        assert!(begin.elapsed().as_secs() < 30, "{why}");
        assert_eq!(code(&done), 0, "{}", err(&done));
        assert!(err(&done).contains(why), "{why}: {}", err(&done));
        assert!(out(&done).ends_with("next: imagelint check\n"), "{}", out(&done));
        assert!(err(&done).lines().all(|line| line.len() < 100), "{}", err(&done));
        let text = fs::read_to_string(repository.path("fleet.toml")).expect("the file");
        assert_eq!(text.matches("[[pool]]").count(), 3, "{text}");
        for word in ["# gpu: ", "# driver: ", "# launch: ", "# toolkit: "] {
            assert_eq!(text.lines().filter(|line| line.starts_with(word)).count(), 1, "{word}");
        }
        assert_eq!(checked(&repository, "fleet.toml"), 0);
    }
}

#[test]
fn local_gpus_become_pools_and_an_existing_file_is_kept() {
    let repository = TestRepository::empty();
    repository.file("smi.xml", &fixture("smi.xml"));
    let smi = [("nvidia-smi", "[[ \"$*\" == '-q -x' ]] && printf '%s\\n' \"$(<smi.xml)\"")];
    let done = run(&repository, &smi, &["pools.toml"]);
    assert_eq!(code(&done), 0, "{}", err(&done));
    let text = fs::read_to_string(repository.path("pools.toml")).expect("the file");
    assert!(text.contains("A100-SXM4-40GB") && text.contains("535.161.08"), "{text}");
    assert!(text.starts_with("# Written by imagelint fleet init from nvidia-smi.\n"), "{text}");
    let next =
        "next: set launch in pools.toml (docker-gpus, kubernetes, ...), then imagelint check --fleet pools.toml\n";
    assert!(out(&done).ends_with(next), "{}", out(&done));
    assert_ne!(checked(&repository, "pools.toml"), 2);

    let done = run(&repository, &smi, &["pools.toml"]);
    assert_eq!(code(&done), 2);
    assert!(err(&done).contains("pools.toml exists") && err(&done).contains("--force"), "{}", err(&done));
    fs::create_dir(repository.path("sub")).expect("a folder");
    for arguments in [&["sub"][..], &["--force", "sub"]] {
        let done = run(&repository, &smi, arguments);
        assert_eq!(code(&done), 2);
        assert_eq!(err(&done), "error: sub is a directory\nhelp: imagelint fleet init sub/fleet.toml\n");
    }
    fs::write(repository.path("pools.toml"), "mine").expect("a file");
    assert_eq!(code(&run(&repository, &smi, &["--force", "pools.toml"])), 0);
    assert_eq!(fs::read_to_string(repository.path("pools.toml")).expect("the file"), text);
}

#[test]
fn a_cluster_is_read_only_on_request() {
    let repository = TestRepository::empty();
    repository.file("nodes.json", &fixture("nodes.json"));
    let kubectl = "echo called >>kubectl.log; printf '%s\\n' \"$(<nodes.json)\"";
    assert_eq!(code(&run(&repository, &[("kubectl", kubectl)], &["a.toml"])), 0);
    assert!(!repository.path("kubectl.log").exists(), "nobody requested it");
    let done = run(&repository, &[("kubectl", kubectl)], &["--from-cluster", "b.toml"]);
    assert_eq!(code(&done), 0, "{}", err(&done));
    let imported = repository.run(&["fleet", "import", "nodes.json"]);
    let pools = |text: &str| text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let text = fs::read_to_string(repository.path("b.toml")).expect("the file");
    assert_eq!(pools(&text), pools(&out(&imported)));
    assert_ne!(checked(&repository, "b.toml"), 2);

    for (script, why) in
        [("exit 1", "kubectl failed"), ("exec /bin/sleep 60", "did not answer"), ("echo '{\"items\": []}'", "kubectl")]
    {
        let done = run(&repository, &[("kubectl", script)], &["--from-cluster", "c.toml"]);
        assert_eq!(code(&done), 2, "{script}: {}", out(&done));
        assert!(err(&done).contains(why), "{why}: {}", err(&done));
        assert!(!repository.path("c.toml").exists(), "nothing is written");
    }
}
