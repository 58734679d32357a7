//! Which files a run looks at, in which order, and what a hostile repository cannot do.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;
use test_repository::{TestRepository, code, err, out};

use crate::support::test_repository;

const GPU: &str = "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n";

fn names(report: &Value) -> Vec<String> {
    let subjects = report["subjects"].as_array().expect("subjects").iter();
    subjects.map(|subject| subject["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn directory_search_matches_names_and_skips_git_ignored_files() {
    let repository = TestRepository::new();
    for name in [
        "Dockerfile",
        "dockerfile.GPU",
        "Dockerfile_gpu",
        "Dockerfile-gpu",
        "gpu.dockerfile",
        "x/Containerfile",
        "x/a.containerfile",
        ".devcontainer/Dockerfile",
    ] {
        repository.file(name, GPU);
    }
    for name in [
        "Dockerfiles",
        "mydockerfile",
        "Dockerfile.dockerignore",
        "Dockerfile.md",
        ".git/Dockerfile",
        "out/Dockerfile",
        "x/skip.Dockerfile",
        "Dockerfile/inside.txt2",
    ] {
        if name != "Dockerfile/inside.txt2" {
            repository.file(name, GPU);
        }
    }
    repository.file(".gitignore", "out/\n");
    repository.file("x/.gitignore", "skip.*\n");
    let found = names(&repository.json(&["check", "."]));
    let expected = [
        ".devcontainer/Dockerfile",
        "Dockerfile",
        "Dockerfile-gpu",
        "Dockerfile_gpu",
        "dockerfile.GPU",
        "gpu.dockerfile",
        "x/Containerfile",
        "x/a.containerfile",
    ];
    assert_eq!(found, expected);
    assert_eq!(names(&repository.json(&["check"])), expected, "the current folder is the default");
    assert_eq!(
        names(&repository.json(&["check", "out/Dockerfile", "mydockerfile"])),
        ["out/Dockerfile", "mydockerfile"]
    );
}

#[test]
fn report_is_independent_of_the_number_of_workers() {
    let repository = TestRepository::new();
    for at in 0..60 {
        let text = format!("FROM nvidia/cuda:1{}.{}.1-base-ubuntu22.04\nENV A={at}\n", at % 3, at % 5);
        repository.file(&format!("d{at}/Dockerfile"), &text);
    }
    for at in 0..20 {
        let text = "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nARG TARGETARCH\nCOPY . /app\n\
                    RUN pip install -r /app/a.txt && pip install -r /app/$TARGETARCH.txt\n";
        repository.file(&format!("r{at}/Dockerfile"), text);
        repository.file(&format!("r{at}/a.txt"), &format!("torch==2.{}.0\n-r b.txt\n", at % 4));
        repository.file(&format!("r{at}/b.txt"), &format!("numpy=={at}\n"));
        repository.file(&format!("r{at}/arm64.txt"), &format!("cupy-cuda12x=={at}\n"));
    }
    let pool =
        |name: &str, gpu: &str| format!("[[pool]]\nname = \"{name}\"\ngpu = \"{gpu}\"\ndriver = \"570.211.01\"\n");
    repository.file("fleet.toml", &[pool("a", "A100"), pool("g", "GH200")].concat());
    let whole = repository.json(&["check", "--jobs", "1", "."]);
    let texts: Vec<&str> =
        whole["texts"].as_array().into_iter().flatten().filter_map(|text| text["path"].as_str()).collect();
    for name in ["r7/a.txt", "r7/b.txt", "r7/arm64.txt"] {
        assert!(texts.contains(&name), "{name} in {texts:?}");
    }
    for jobs in ["2", "5", "64"] {
        assert!(repository.json(&["check", "--jobs", jobs, "."]) == whole, "{jobs}");
    }
    let one = repository.run(&["check", "--jobs", "1", "."]);
    for jobs in ["2", "5", "64"] {
        assert_eq!(out(&repository.run(&["check", "--jobs", jobs, "."])), out(&one), "{jobs}");
    }
    assert!(out(&one).contains("81 images"), "{}", out(&one));
    assert_eq!(code(&repository.run(&["check", "--jobs", "0"])), 2);
}

#[test]
fn standard_input_may_have_a_name() {
    let repository = TestRepository::new();
    repository.file(
        "fleet.toml",
        "[[pool]]\nname = \"a\"\ngpu = \"A100\"\ndriver = \"570.211.01\"\ndockerfiles = [\"train/**\"]\n",
    );
    let run = |arguments: &[&str]| {
        let done = repository.command(&[&["check", "-", "--format", "json"], arguments].concat());
        let done = { done }.write_stdin(GPU).output().expect("a run");
        serde_json::from_slice::<Value>(&done.stdout).expect("JSON")
    };
    let report = run(&["--stdin-filename", "train/Dockerfile"]);
    assert_eq!(names(&report), ["train/Dockerfile"]);
    assert_eq!(report["subjects"][0]["verdicts"].as_array().map(Vec::is_empty), Some(false));
    assert_eq!(names(&run(&["--fleet", "fleet.toml"])), ["-"]);
}

#[test]
fn list_of_files_states_the_reasons() {
    let repository = TestRepository::new();
    repository.file("gpu/Dockerfile", GPU);
    repository.file("web/Dockerfile", "FROM python:3.12\nRUN pip install flask\n");
    repository.file("none/Dockerfile", "RUN x\n");
    let done = repository.run(&["check", "--show-files", "gpu", "web", "none"]);
    let lines: Vec<String> = out(&done).lines().map(str::to_owned).collect();
    assert_eq!(code(&done), 0);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].starts_with("gpu/Dockerfile: dockerfile: GPU content: "), "{}", lines[0]);
    assert!(lines[0].contains("image.base.cuda = 12.4.1"), "{}", lines[0]);
    assert!(
        lines[1].contains("no GPU content: the base image python:3.12 includes no CUDA, none of 1 package"),
        "{}",
        lines[1]
    );
    assert!(lines[2].contains("there is no stage to check"), "{}", lines[2]);
    assert_eq!(code(&repository.run(&["check", "--show-files", "nothere"])), 2);
}

#[test]
fn a_walk_follows_no_link_and_reads_no_device() {
    let outer = TestRepository::new();
    outer.file("Dockerfile", GPU);
    let repository = TestRepository::empty();
    repository.file("sound/Dockerfile", GPU);
    symlink(outer.path("Dockerfile"), repository.path("Dockerfile")).expect("a link");
    symlink(outer.path(""), repository.path("folder")).expect("a link");
    symlink("/dev/zero", repository.path("gpu.Dockerfile")).expect("a link");
    symlink(".", repository.path("sound/loop")).expect("a link");
    assert_eq!(names(&repository.json(&["check", "."])), ["sound/Dockerfile"]);
}

#[test]
fn endless_ignore_files_are_reported_and_not_read() {
    for list in [".gitignore", ".ignore"] {
        let repository = TestRepository::empty();
        repository.file("Dockerfile", GPU);
        repository.file("sub/Dockerfile", GPU);
        symlink("/dev/zero", repository.path(&format!("sub/{list}"))).expect("a link");
        let done = repository.run(&["check", "."]);
        assert_eq!(code(&done), 2, "{list}");
        let said = joined(&out(&done));
        assert!(said.contains("is not a regular file or is too large"), "{list}: {said}");
        assert!(said.contains("1 image on"), "what is beside it is judged: {said}");
        symlink("/dev/zero", repository.path(list)).expect("a link");
        assert_eq!(code(&repository.run(&["check", "."])), 2, "{list}");
        assert_eq!(code(&repository.run(&["check", "--fail-on", "never", "Dockerfile"])), 0, "{list}");
    }
    // A link to a list is one.
    let repository = TestRepository::empty();
    repository.file("Dockerfile", GPU);
    repository.file("sub/gpu.Dockerfile", GPU);
    repository.file("shared", "gpu.Dockerfile\n");
    symlink("../shared", repository.path("sub/.gitignore")).expect("a link");
    repository.file(".git/HEAD", "");
    assert_eq!(names(&repository.json(&["check", "."])), ["Dockerfile"]);
}

#[test]
fn endless_or_outside_context_files_are_not_read() {
    let outer = TestRepository::empty();
    outer.file("secret.txt", "torch==1.13.1+cpu\n");
    outer.file(
        "repo/Dockerfile",
        "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nWORKDIR /app\nCOPY . /app\nCOPY ../secret.txt /y.txt\n\
         RUN pip install -r ../secret.txt -r /y.txt\nRUN pip install -r link.txt -r folder/secret.txt\n\
         RUN pip install -r device.txt -r huge.txt\nRUN pip install .\nRUN sh fifo\nRUN conda env create -f fifo\n\
         RUN --mount=type=bind,source=../secret.txt,target=/x.txt pip install -r /x.txt\n",
    );
    let repo = |name: &str| outer.path(&format!("repo/{name}"));
    for (to, link) in [
        ("/dev/zero", "device.txt"),
        ("/dev/zero", "pyproject.toml"),
        ("/dev/zero", ".dockerignore"),
        ("/dev/zero", "imagelint.toml"),
        ("../secret.txt", "link.txt"),
        ("..", "folder"),
    ] {
        symlink(to, repo(link)).expect("a link");
    }
    let made = std::process::Command::new("mkfifo").arg(repo("fifo")).status();
    assert!(made.is_ok_and(|status| status.success()), "a pipe with a name");
    fs::File::create(repo("huge.txt")).and_then(|file| file.set_len(3 << 30)).expect("a file full of holes");
    let report = outer.json(&["check", "--fail-on", "never", "repo/Dockerfile"]);
    let text = report.to_string();
    assert!(!text.contains("1.13.1"), "{text}");
    for file in ["../secret.txt", "/y.txt", "link.txt", "folder/secret.txt", "device.txt", "huge.txt", "fifo", "/x.txt"]
    {
        assert!(text.contains(&format!("{file} was not read")), "{file}: {text}");
    }
}

#[test]
fn nothing_in_a_repository_reaches_the_terminal_as_a_command() {
    let repository = TestRepository::new();
    let evil = "\u{1b}[2J\u{1b}]0;x\u{7}\u{202e}\u{9b}31m";
    let folder = "a\u{1b}[31m";
    repository.file(
        &format!("{folder}/Dockerfile"),
        &format!(
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04 AS run\nENV NVIDIA_REQUIRE_CUDA=\"cuda>=99.0 {evil}\"\n\
             {evil}stray\n::error file=x::pwned\nCOPY --{evil} a b\n# imagelint: ignore[{evil}] {evil}\n\
             # imagelint: pools={evil}\nRUN pip install torch=={evil} -r {evil}\nENV <!--{evil}\n"
        ),
    );
    repository.file("x.hcl", &format!("target \"{evil}\" {{ dockerfile = \"{evil}\" }}"));
    repository
        .file("x.yaml", &format!("services: {{\"a\": {{build: {{context: ., args: [\"{}\"]}}}}}}", "x".repeat(9)));
    for arguments in [
        &["check", "--color", "never", "."][..],
        &["check", "--color", "never", "--verbose", "--persona", "auditor", "."],
        &["check", "--color", "never", "--why", "--", "."],
        &["check", "--show-files", "."],
        &["check", "--color", "never", "--bake", "x.hcl"],
        &["check", "--color", "never", "--compose", "x.yaml"],
        &["check", "--color", "never", "--format", "json", "."],
    ] {
        let done = repository.run(arguments);
        let said = format!("{}{}", out(&done), err(&done));
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!said.contains(bad), "{arguments:?}: {said:?}");
        let command = |line: &str| line.trim_start().starts_with("::error");
        assert!(!said.lines().any(command), "{arguments:?}: a workflow command");
        assert!(!said.is_empty(), "{arguments:?}");
    }
}

#[test]
fn nothing_in_a_repository_names_a_program_or_opens_the_network() {
    let repository = TestRepository::new();
    let bin = repository.path("bin");
    for name in ["git", "sh", "docker", "docker-credential-evil", "curl", "python", "pip"] {
        repository.file(&format!("bin/{name}"), &format!("#!/bin/sh\ntouch {}\n", repository.path("ran").display()));
        let mut permissions = fs::metadata(bin.join(name)).expect("a program").permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
        fs::set_permissions(bin.join(name), permissions).expect("permissions");
    }
    repository.file("config.json", "{\"credsStore\": \"evil\", \"credHelpers\": {\"127.0.0.1:1\": \"evil\"}}");
    repository.file(".git/config", "[core]\n\tfsmonitor = touch ran\n\tpager = touch ran\n");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a port");
    let port = listener.local_addr().expect("a port").port();
    repository.file(
        "Dockerfile",
        &format!(
            "# syntax=127.0.0.1:{port}/x/frontend:1\nFROM 127.0.0.1:{port}/x/cuda:12.4.1\n\
             ADD http://127.0.0.1:{port}/x /x\nCOPY --from=127.0.0.1:{port}/y:1 / /\n\
             RUN pip install --index-url http://127.0.0.1:{port}/simple torch -r http://127.0.0.1:{port}/r.txt\n\
             RUN --mount=type=bind,from=127.0.0.1:{port}/z curl http://127.0.0.1:{port}/\n"
        ),
    );
    let mut command = repository.command(&["check", "--format", "json", "."]);
    command
        .env("PATH", &bin)
        .env("DOCKER_CONFIG", repository.path(""))
        .env("http_proxy", format!("http://127.0.0.1:{port}"));
    let done = command.output().expect("a run");
    assert_eq!(names(&serde_json::from_slice(&done.stdout).expect("JSON")), ["Dockerfile"]);
    assert!(!repository.path("ran").exists(), "a program was run");
    let reached = listener.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(reached, Err(std::io::ErrorKind::WouldBlock), "the network was opened");
}

/// A report with its wrapped lines as one.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Name and notes of each subject, and the exit code.
fn subjects_and_exit_code(repository: &TestRepository, arguments: &[&str]) -> (Vec<String>, i32) {
    let arguments = [&["check"], arguments].concat();
    let report = repository.json(&arguments);
    let line = |subject: &Value| {
        let notes = subject["inspected"]["notes"].as_array().expect("notes").iter();
        let notes: Vec<&str> =
            notes.filter_map(Value::as_str).filter(|note| note.starts_with("checked in place of")).collect();
        format!("{}: {}", subject["name"].as_str().expect("a name"), notes.join("; "))
    };
    (report["subjects"].as_array().expect("subjects").iter().map(line).collect(), code(&repository.run(&arguments)))
}

/// A repository in which several images are built from lists.
fn lists() -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", test_repository::FLEET);
    repository.file("a/requirements.txt", "-r base.txt\n");
    repository.file("a/base.txt", "torch==2.4.0\n");
    repository.file("a/unused.txt", "torch==1.0\n");
    repository.file("a/Dockerfile", "FROM python:3.12\nCOPY *.txt ./\nRUN pip install -r requirements.txt\n");
    repository.file("a/web.Dockerfile", "FROM python:3.12\nCOPY unused.txt ./\nRUN pip install flask\n");
    repository.file("b/Dockerfile", "FROM python:3.12\nCOPY a/setup.sh /\nCOPY a/base.txt /\nRUN sh /setup.sh\n");
    repository.file("a/setup.sh", "pip install -r /base.txt\n");
    repository.file("c/Dockerfile", "FROM python:3.12\nCOPY requirements.txt /\nRUN pip install -r requirements.txt\n");
    repository.file("c/requirements.txt", "torch==2.4.0\n");
    repository
}

#[test]
fn requirements_file_is_checked_through_its_dockerfiles() {
    let repository = lists();
    for (arguments, expected) in [
        (&["a/requirements.txt"][..], vec!["a/Dockerfile: checked in place of a/requirements.txt, which it reads"]),
        (
            &["a/base.txt"],
            vec![
                "a/Dockerfile: checked in place of a/base.txt, which it reads",
                "b/Dockerfile: checked in place of a/base.txt, which it reads in the build context .",
            ],
        ),
        (&["a/setup.sh"], vec!["b/Dockerfile: checked in place of a/setup.sh, which it reads in the build context ."]),
        (
            &["a/base.txt", "a/Dockerfile", "b/Dockerfile", "a/requirements.txt"],
            vec![
                "a/Dockerfile: checked in place of a/base.txt, which it reads; checked in place of a/requirements.txt, which it reads",
                "b/Dockerfile: checked in place of a/base.txt, which it reads in the build context .",
            ],
        ),
        (
            &["c/requirements.txt", "a/unused.txt"],
            vec!["c/Dockerfile: checked in place of c/requirements.txt, which it reads"],
        ),
    ] {
        let (found, exit) = subjects_and_exit_code(&repository, arguments);
        assert_eq!(found, expected, "{arguments:?}");
        assert_eq!(exit, 1, "torch does not run on the old pool: {arguments:?}");
    }
    // Its files are checked with it, in its context.
    let report = repository.json(&["check", "a/setup.sh"]);
    let facts = report["subjects"][0]["facts"].as_array().expect("facts");
    assert!(facts.iter().any(|fact| fact["key"].as_str().is_some_and(|key| key.starts_with("package.torch"))));
}

#[test]
fn requirements_file_without_a_dockerfile_is_nothing_to_check() {
    let repository = lists();
    for name in ["requirements-dev.txt", "poetry.lock", "docs/environment.yml", "Pipfile"] {
        repository.file(name, "x\n");
        let done = repository.run(&["check", name]);
        assert_eq!(code(&done), 0, "{name}: {}", err(&done));
        assert_eq!(err(&done), format!("nothing to check: no Dockerfile reads {name}\n"));
        assert_eq!(repository.json(&["check", name])["subjects"], serde_json::json!([]), "{name}");
    }
    // Objects of a cluster are judged by another command, and so says the help.
    repository.file("k8s.yaml", "kind: Pod\nspec: {containers: [{name: a, image: b}]}\n");
    let done = repository.run(&["check", "k8s.yaml"]);
    assert!(code(&done) == 0 && err(&done).contains("scan --from-kubernetes k8s.yaml"), "{}", err(&done));
    // A fleet is no description of an image; one with a key that is not known there is.
    repository.file("own.toml", "[[pool]]\nname = \"a\"\n");
    let told = err(&repository.run(&["check", "own.toml"])) + &out(&repository.run(&["check", "own.toml"]));
    assert!(told.contains("it is a fleet file") && told.contains("fleet check own.toml"), "{told}");
    for (name, text) in [("own.toml", "pools = 3\n"), ("own.image.toml", "[[pool]]\nname = \"a\"\n")] {
        repository.file(name, text);
        let done = repository.run(&["check", name]);
        let told = err(&done) + &out(&done);
        assert!(told.contains("unknown key `pool") && !told.contains("it is a fleet file"), "{told}");
    }
    // Nor is a text of which nothing says that it is a list.
    let done = repository.run(&["check", "a/unused.txt"]);
    assert_eq!((code(&done), err(&done)), (3, "nothing to check: no Dockerfile reads a/unused.txt\n".to_owned()));
    assert_eq!(code(&repository.run(&["check", "a/unused.txt", "poetry.lock"])), 3);
    // Nothing at all is another matter, and so is a list that is not there.
    repository.file("empty/readme", "");
    assert_eq!(code(&repository.run(&["check", "empty"])), 3);
    assert_eq!(code(&repository.run(&["check", "nothere.txt"])), 2);
    // A Dockerfile may have any name.
    repository.file("recipe.txt", GPU);
    assert_eq!(names(&repository.json(&["check", "recipe.txt"])), ["recipe.txt"]);
}

#[test]
fn a_dockerfile_without_a_matching_pool_is_reported() {
    let repository = TestRepository::new();
    let pool = |name: &str, glob: &str| format!("[[pool]]\nname = \"{name}\"\ndockerfiles = [\"{glob}\"]\n");
    repository.file("fleet.toml", &(pool("a", "train/**") + &pool("b", "serve/**")));
    repository.file("other/Dockerfile", GPU);
    repository.file("train/Dockerfile", GPU);
    let told =
        "other/Dockerfile is assigned to no pool: no `dockerfiles` pattern of fleet.toml matches other/Dockerfile\n"
            .to_owned();
    let done = repository.run(&["check", "other"]);
    assert_eq!((code(&done), err(&done)), (3, told.clone()));
    let done = repository.run(&["check", "other", "train"]);
    assert_ne!(code(&done), 3, "the other one was judged");
    assert_eq!(err(&done), told);
    assert_eq!(err(&repository.run(&["check", "train"])), "");
}

#[test]
fn describe_and_needs_take_exactly_one_existing_input() {
    let repository = TestRepository::new();
    repository.file("d/Dockerfile", GPU);
    repository.file("e/a.Dockerfile", GPU);
    repository.file("e/b.Dockerfile", GPU);
    repository.file("fleet.toml", "[[pool]]\nname = \"a\"\n");
    assert_eq!(code(&repository.run(&["describe", "d"])), 0);
    for (input, said) in [
        ("d/nope", "error: file `d/nope` not found"),
        ("./nope:1", "error: file `./nope:1` not found"),
        ("nope", "error: file `nope` not found"),
        ("e", "error: e contains 2 inputs; pass one of them: e/a.Dockerfile, e/b.Dockerfile"),
    ] {
        let done = repository.run(&["describe", input]);
        assert_eq!((code(&done), out(&done)), (2, String::new()), "{input}");
        assert!(err(&done).starts_with(said), "{}", err(&done));
    }
    assert_eq!(code(&repository.run(&["needs", "d/nope"])), 2);
    let done = repository.run(&["describe", "fleet.toml"]);
    assert_eq!((code(&done), out(&done)), (2, String::new()), "a fleet is no description: {}", err(&done));
    assert!(err(&done).starts_with("error: cannot read fleet.toml: it is a fleet file"), "{}", err(&done));
    repository.file("requirements.txt", "torch\n");
    let done = repository.run(&["describe", "requirements.txt"]);
    assert_eq!((code(&done), out(&done)), (3, String::new()), "{}", err(&done));
    assert!(err(&done).starts_with("nothing to describe: requirements.txt"), "{}", err(&done));
}

#[test]
fn requirements_file_ignores_dockerfiles_outside_the_repository() {
    let outer = TestRepository::new();
    outer.file("Dockerfile", "FROM python:3.12\nCOPY inner/requirements.txt /\nRUN pip install -r /requirements.txt\n");
    outer.file("inner/.git/config", "");
    outer.file("inner/requirements.txt", "torch\n");
    assert_eq!(subjects_and_exit_code(&outer, &["inner/requirements.txt"]), (vec![], 0));
    // Nor one in a folder that git ignores.
    let repository = lists();
    repository.file(".gitignore", "c/\n");
    assert_eq!(subjects_and_exit_code(&repository, &["c/requirements.txt"]), (vec![], 0));
}

#[test]
fn build_context_is_the_parent_directory_with_the_copied_files() {
    let repository = TestRepository::new();
    repository.file(".git/HEAD", "");
    repository.file("svc/requirements.txt", "torch==2.4.0\n");
    let text = "FROM python:3.11\nCOPY requirements.txt /r/\nRUN pip install -r /r/requirements.txt\n";
    repository.file("svc/docker/Dockerfile", text);
    repository.file("web/Dockerfile", text);
    let seen = |arguments: &[&str]| {
        let report = repository.json(&[&["check"], arguments].concat());
        let subject = &report["subjects"][0];
        (subject["description"]["packages"]["pip"]["torch"].to_string(), subject["inspected"]["notes"].to_string())
    };
    let (torch, notes) = seen(&["svc/docker/Dockerfile"]);
    assert!(
        torch.contains("2.4.0") && notes.contains("the build context is assumed to be svc, which"),
        "{torch} {notes}"
    );
    // Beside it, above the repository or where somebody says it, nothing is looked for.
    for arguments in [&["web/Dockerfile"][..], &["--context", "svc/docker", "svc/docker/Dockerfile"]] {
        let (torch, notes) = seen(arguments);
        assert!(torch == "null" && notes.contains("is not in the build context"), "{arguments:?}: {torch} {notes}");
        assert!(!notes.contains("assumed to be"), "{notes}");
    }
}

#[test]
fn source_code_named_like_a_dockerfile_is_skipped() {
    let repository = TestRepository::empty();
    repository.file("dockerfile.py", "import os\nfrom pathlib import Path\n\ndef f():\n    return os\n");
    repository.file("src/dockerfile.rs", "//! Reads it.\nuse std::fs;\n");
    repository.file("Dockerfile.bin", "\u{1}\0\n");
    // In its lines it is one.
    repository.file("Dockerfile.go", GPU);
    let report = repository.json(&["check", "."]);
    assert_eq!(names(&report), ["Dockerfile.go"]);
    assert!(report["errors"].as_array().expect("errors").is_empty(), "{report}");
    let named = repository.run(&["check", "dockerfile.py"]);
    assert_eq!(code(&named), 0, "{}", err(&named));
    assert!(out(&named).is_empty() && err(&named).contains("nothing to check"), "{}{}", out(&named), err(&named));
    // A binary file is reported: as skipped in a folder, and as an error if it was named.
    let told = "Dockerfile.bin is skipped: it is a binary file, not a text file\n";
    assert_eq!(err(&repository.run(&["check", "."])).matches(told).count(), 1);
    let listed = out(&repository.run(&["check", "--show-files", "."]));
    assert!(
        listed.contains("Dockerfile.bin: skipped: it is a binary file") && !listed.contains("dockerfile.py"),
        "{listed}"
    );
    let named = repository.run(&["check", "Dockerfile.bin"]);
    assert_eq!(code(&named), 2);
    assert!(out(&named).contains("Dockerfile.bin: it is a binary file, not a text file"), "{}", out(&named));
    let wide: Vec<u8> = format!("\u{feff}{GPU}RUN true\n").encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(repository.path("Dockerfile.wide"), wide).expect("a file");
    let named = repository.run(&["check", "Dockerfile.wide", "Dockerfile.go"]);
    assert_eq!(code(&named), 2);
    let said = joined(&out(&named));
    assert!(said.contains("Dockerfile.wide: it is UTF-16, which no builder supports; save it as UTF-8"), "{said}");
    assert!(err(&repository.run(&["check", "."])).contains("Dockerfile.wide is skipped: it is UTF-16"));
    // Other letters than ours are no such thing.
    fs::write(repository.path("Dockerfile.latin"), b"# caf\xe9\nFROM debian:12\n").expect("a file");
    assert_eq!(names(&repository.json(&["check", "Dockerfile.latin"])), ["Dockerfile.latin"]);
    // A file that is a Dockerfile only by its name is reported.
    repository.file("Dockerfile", "import os\n");
    assert_eq!(names(&repository.json(&["check", "Dockerfile"])), ["Dockerfile"]);
}
