//! What the reader of a Dockerfile tells, and what comments in it leave out: seen through the built program.

use serde_json::Value;
use test_repository::{TestRepository, code, err, out};

use crate::support::test_repository;

/// Is refused on both pools.
const REFUSED: &str = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nENV NVIDIA_REQUIRE_CUDA=\"cuda>=99.0\"\n";

/// Rule, first line and column of every finding of the first subject.
fn findings(report: &Value) -> Vec<String> {
    let tell = |finding: &Value| {
        let region = &finding["locations"][0]["region"];
        format!("{} {}:{}", finding["rule"].as_str().expect("a rule"), region["start_line"], region["start_column"])
    };
    report["subjects"][0]["findings"].as_array().expect("findings").iter().map(tell).collect()
}

/// The findings for a text, without those about the unknown base image.
fn of(text: &str) -> Vec<String> {
    let repository = TestRepository::new();
    repository.file("Dockerfile", text);
    let mut found = findings(&repository.json(&["check", "Dockerfile"]));
    found.retain(|finding| !finding.starts_with("undetermined"));
    found
}

/// What the reader says of a text to who asks for more than what is proved.
fn read(text: &str) -> Vec<String> {
    let repository = TestRepository::new();
    repository.file("Dockerfile", text);
    let mut found = findings(&repository.json(&["check", "--persona", "pedantic", "Dockerfile"]));
    found.retain(|finding| finding.starts_with("dockerfile-"));
    found
}

#[test]
fn each_stray_line_is_one_finding_and_the_rest_is_judged() {
    let text = format!("{REFUSED}export STRAY=1\nRUN x\nRNU echo\nRUN <<E <<F\nnever ended\n");
    let repository = TestRepository::new();
    repository.file("Dockerfile", &text);
    let report = repository.json(&["check", "Dockerfile"]);
    assert_eq!(
        findings(&report),
        ["container-refused 2:25", "dockerfile-syntax 3:1", "dockerfile-syntax 5:1", "dockerfile-syntax 6:5"]
    );
    assert!(report["subjects"][0]["findings"][2]["message"].as_str().is_some_and(|text| text.contains("`RUN`")));
    let done = repository.run(&["check", "Dockerfile"]);
    assert_eq!(code(&done), 1);
    assert!(out(&done).contains("unknown instruction `export`"), "{}", out(&done));
}

#[test]
fn an_unterminated_heredoc_hides_no_stage() {
    let text = "FROM debian:12 AS a\nRUN <<E\necho 1\nFROMAGE\n  RUN x\nrun y\nFROM nvidia/cuda:12.4.1-base-ubuntu22.04\nENV A=1\n";
    assert_eq!(of(text), ["dockerfile-syntax 2:5"]);
    let repository = TestRepository::new();
    repository.file("Dockerfile", text);
    let report = repository.json(&["check", "Dockerfile"]);
    assert_eq!(report["subjects"][0]["description"]["base"], "nvidia/cuda:12.4.1-base-ubuntu22.04");
    assert_eq!(report["subjects"][0]["description"]["env"]["A"], "1");
}

/// A syntax error is reported for a named file and for one found in the folder: as an error if it may hide a part that
/// concerns a GPU, otherwise as a warning.
#[test]
fn syntax_error_without_gpu_content_is_a_warning() {
    for (text, place_of, rc) in [
        // The second instruction is none: of no concern to anybody's GPU.
        ("FROM python:3.11-slim\nRUN pip install\n  flask\n", "3:3", 0),
        ("FROM corp.example/x:1\nexport A=1\n", "2:1", 0),
        ("FROM corp.example/x:1\nCOPY a\n", "2:1", 0),
        // The line that cannot be read may hide what concerns one.
        ("FROM python:3.11-slim\nRUN pip install\n  torch==2.4.0\n", "3:3", 1),
        ("FROM corp.example/x:1\nexport NVIDIA_VISIBLE_DEVICES=all\n", "2:1", 1),
        ("FROMM nvidia/cuda:12.4.1-base-ubuntu22.04\n", "1:1", 1),
        ("FROM\n", "1:1", 1),
        // No stage at all.
        ("", "1:1", 0),
        ("# syntax=docker/dockerfile:1\n", "1:1", 0),
        ("FROMM debian\nRUN true\n", "1:1", 0),
        ("apiVersion: v1\nkind: Pod\n", "1:1", 0),
        ("RUN pip install flask\n", "1:1", 0),
    ] {
        assert_eq!(read(text), [format!("dockerfile-syntax {place_of}")], "{text}");
        let repository = TestRepository::new();
        repository.file("Dockerfile", text);
        for path in ["Dockerfile", "."] {
            let done = repository.run(&["check", "--format", "concise", path]);
            assert_eq!(code(&done), rc, "{text}: {path}: {}{}", out(&done), err(&done));
            let severity = if rc == 1 { "error" } else { "warning" };
            let expected = format!("Dockerfile:{place_of}: {severity} dockerfile-syntax");
            assert!(out(&done).contains(&expected), "{text}: {path}: {}", out(&done));
            assert_eq!(code(&repository.run(&["check", "--fail-on", "warning", path])), 1, "{text}: {path}");
        }
        let listed = repository.run(&["check", "--show-files", "."]);
        assert!(out(&listed).contains("1 of its lines cannot be read"), "{text}: {}", out(&listed));
    }
    let repository = TestRepository::new();
    for accepted in ["FROM python:3.11-slim\nRUN pip install flask\n", "from scratch\n", "FROM {{ base }}\n"] {
        repository.file("Dockerfile", accepted);
        let listed = out(&repository.run(&["check", "--show-files", "."]));
        assert_eq!(listed.contains("cannot be read"), accepted.contains('{'), "{listed}");
        for path in ["Dockerfile", "."] {
            let done = repository.run(&["check", path]);
            let clean = "checked 1 image: no GPU content found";
            assert!(code(&done) == 0 && out(&done).starts_with(clean), "{accepted} {path}: {}", out(&done));
        }
    }
    // Whoever sets how bad it is, is heard.
    repository.file("Dockerfile", "FROM debian\nRUNN true\n");
    for (level, rc) in [("error", 1), ("warning", 0), ("off", 0)] {
        repository.file("imagelint.toml", &format!("[rules]\ndockerfile-syntax = \"{level}\"\n"));
        let done = repository.run(&["check", "Dockerfile"]);
        assert_eq!((code(&done), out(&done).contains("dockerfile-syntax")), (rc, level != "off"), "{level}");
    }
}

#[test]
fn another_thing_by_the_name_of_a_dockerfile_is_one_finding() {
    let yaml = "apiVersion: v1\nkind: Job\nmetadata:\n  name: x\nspec:\n  text: |\n    FROM debian:12\n    RUN x\n";
    assert_eq!(read(yaml), ["dockerfile-syntax 1:1"]);
    // Broken Dockerfiles, line by line: one begins as such, one has more instructions than not, one is a template.
    for (text, lines) in [
        ("FROM debian:12\na\nb\nc\nRUN x\n", 3),
        ("x\nFROM debian:12\ny\nRUN x\n", 2),
        ("{% if x %}\nFROM debian:12\n{% endif %}\n{% if y %}\n", 3),
    ] {
        assert_eq!(read(text).len(), lines, "{text}: {:?}", read(text));
    }
}

#[test]
fn a_template_is_no_error() {
    let text = "FROM debian:12\n{% if x %}\nRUN x\n{% endif %}\n";
    assert_eq!(read(text), ["dockerfile-template 2:1", "dockerfile-template 4:1"]);
    let repository = TestRepository::new();
    repository.file("Dockerfile", text);
    let done = repository.run(&["check", "Dockerfile"]);
    assert_eq!(
        (code(&done), out(&done)),
        (0, "checked 1 image: no GPU content found (list files: --show-files)\n".to_owned())
    );
}

#[test]
fn only_instructions_rejected_by_buildkit_are_reported() {
    for refused in [
        "FROM a\nCOPY --form=b x y",
        "FROM a\nCOPY --from x y",
        "FROM a\nCOPY --link=maybe x y",
        "FROM a\nRUN --network=none --network=host x",
        "FROM a AS 1st",
        "FROM a AS scratch",
        "FROM a\nSHELL bash",
        "FROM a\nHEALTHCHECK curl x",
        "FROM a\nHEALTHCHECK NONE x",
        "FROM a\nARG =x",
        "FROM a\nONBUILD FROM b",
        "FROM a\nENV --x=1 A=1",
    ] {
        assert_eq!(read(refused).len(), 1, "{refused}: {:?}", read(refused));
    }
    for taken in [
        "FROM --platform=$BUILDPLATFORM a AS b-1.x_y\nCOPY --from=b --chown=1 --chmod=1 --link --parents --exclude=x --exclude=y a b",
        "FROM a\nADD --keep-git-dir=true --checksum=x --unpack=false a b",
        "FROM a\nRUN --mount=type=cache,target=/x --mount=type=tmpfs,target=/y --network=none --security=insecure --device=nvidia.com/gpu=all x",
        "FROM a\nHEALTHCHECK --interval=5s --start-interval=1s --retries=3 CMD x\nHEALTHCHECK none",
        "FROM a\nSHELL [\"bash\", \"-c\"]\nONBUILD RUN --strange x\nARG a b=c\nRUN x --from",
        "FROM a\nLABEL a=b\nENV a b\nMAINTAINER me\nEXPOSE 80/tcp 81\nVOLUME /a /b\nUSER a\nWORKDIR /a b\nSTOPSIGNAL 9",
    ] {
        assert_eq!(read(taken), Vec::<String>::new(), "{taken}");
    }
}

#[test]
fn an_ignored_finding_is_left_out_and_does_not_fail_the_run() {
    let repository = TestRepository::new();
    for text in [
        REFUSED.replace("ENV", "# imagelint: ignore[refused] on purpose\nENV"),
        REFUSED.replace("ENV NV", "ENV \\\n# imagelint: ignore[refused, no-gpu@old]\n NV"),
        format!("# syntax=docker/dockerfile:1\n# imagelint: ignore-file[refused] on purpose\n{REFUSED}"),
    ] {
        repository.file("Dockerfile", &text);
        let report = repository.json(&["check", "Dockerfile"]);
        let found = findings(&report);
        assert!(!found.iter().any(|finding| finding.starts_with("container-refused")), "{text}\n{found:?}");
        assert_eq!(code(&repository.run(&["check", "Dockerfile"])), 0, "{text}");
        assert_eq!(report["subjects"][0]["verdicts"][0]["fate"], "fails", "the verdict stands");
        assert!(report["subjects"][0]["inspected"]["notes"].to_string().contains("refused on pool `old` is ignored"));
    }
}

#[test]
fn an_ignore_for_one_pool_leaves_the_others() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", &REFUSED.replace("ENV", "# imagelint: ignore[refused@old] gone soon\nENV"));
    let report = repository.json(&["check", "Dockerfile"]);
    let finding = &report["subjects"][0]["findings"][0];
    assert_eq!((&finding["rule"], finding["pools"].to_string()), (&"container-refused".into(), "[\"new\"]".to_owned()));
    assert!(!finding["message"].to_string().contains("`old`"), "{finding}");
    assert!(findings(&report).len() == 1, "{report}");
}

#[test]
fn misplaced_or_misnamed_ignore_hides_nothing_and_is_reported() {
    for (text, expected) in [
        ("FROM a AS x\n# imagelint: ignore[refused]\nRUN x\n%", vec!["container-refused 5:25"]),
        ("%# imagelint: ignore[refused]\nRUN x\n", vec!["container-refused 2:25", "unused-ignore 3:21"]),
        ("# imagelint: ignore[no-gpu]\n%", vec!["unused-ignore 1:21", "container-refused 3:25"]),
        ("# imagelint: ignore[refusd]\n%", vec!["invalid-directive 1:21", "container-refused 3:25"]),
        ("# imagelint: ignore[refused@nwe]\n%", vec!["invalid-directive 1:21", "container-refused 3:25"]),
        ("# imagelint: ignore\n%", vec!["invalid-directive 1:1", "container-refused 3:25"]),
        ("%# imagelint: ignore-file[refused]\n", vec!["container-refused 2:25", "invalid-directive 3:1"]),
        ("%RUN echo # imagelint: ignore[refused]\n", vec!["container-refused 2:25"]),
        ("%RUN <<E\n# imagelint: ignore[refused]\nE\n", vec!["container-refused 2:25", "invalid-directive 4:1"]),
        ("%RUN <<E\n# imagelint: ignore[refused]\nx\nE\n", vec!["container-refused 2:25", "unused-ignore 4:21"]),
        ("%RUN cat >f <<E\n# imagelint: ignore[refused]\nx\nE\n", vec!["container-refused 2:25"]),
        ("%COPY <<E /f\n# imagelint: ignore[refused]\nE\n", vec!["container-refused 2:25"]),
    ] {
        let text = text.replace('%', REFUSED);
        assert_eq!(of(&text), expected, "{text}");
    }
}

#[test]
fn unused_ignore_is_reported_only_if_all_pools_were_checked() {
    let text = "# imagelint: ignore[insufficient-driver] x\nFROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n\
                # imagelint: ignore[torch-unpinned] x\nRUN x\n";
    let repository = TestRepository::new();
    repository.file("Dockerfile", text);
    let all = |arguments: &[&str]| findings(&repository.json(&[&["check", "Dockerfile"], arguments].concat()));
    assert_eq!(all(&["--pool", "new"]), Vec::<String>::new(), "of one pool, at the usual persona");
    assert_eq!(all(&["--pool", "new", "--persona", "pedantic"]), ["unused-ignore 3:21"]);
    assert!(all(&[]).contains(&"unused-ignore 1:21".to_owned()), "{:?}", all(&[]));
}

#[test]
fn pools_directive_selects_the_pools_of_an_image() {
    let repository = TestRepository::new();
    let pools = |text: &str| {
        repository.file("Dockerfile", &format!("{text}{REFUSED}"));
        let report = repository.json(&["check", "Dockerfile"]);
        let verdicts = report["subjects"][0]["verdicts"].as_array().expect("verdicts").clone();
        let named: Vec<String> = verdicts
            .iter()
            .filter(|verdict| verdict["component"].is_null())
            .map(|verdict| verdict["pool"].as_str().expect("a pool").to_owned())
            .collect();
        (named.join(" "), findings(&report).len())
    };
    assert_eq!(pools(""), ("old new".to_owned(), 1));
    assert_eq!(pools("# imagelint: pools=new\n"), ("new".to_owned(), 1));
    assert_eq!(pools("# imagelint: pools=new,old\n"), ("old new".to_owned(), 1));
    assert_eq!(pools("# imagelint: pools=nwe\n"), ("old new".to_owned(), 2), "an unknown name narrows nothing");
}

/// Installs what `requirements.txt` lists, with what stands above the command.
fn installing(above: &str) -> String {
    format!(
        "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip\nCOPY *.txt .\n{above}\
         RUN pip install -r requirements.txt\n"
    )
}

/// Files with their texts, and what is said of the first.
fn with(files: &[(&str, &str)], rule: &str) -> Vec<String> {
    let repository = TestRepository::new();
    for (path, text) in files {
        repository.file(path, text);
    }
    let report = repository.json(&["check", files[0].0]);
    let mut found = findings(&report);
    found.retain(|one| one.starts_with(rule) || one.starts_with("unused") || one.starts_with("invalid-directive"));
    found
}

/// `PyTorch` of CUDA 10.2 on a base of CUDA 12.4.
const OTHER_CUDA: &str = "torch-cuda-mismatch";

#[test]
fn ignore_above_an_install_applies_to_its_requirements_files() {
    let said = "# imagelint: ignore[torch-cuda-mismatch] on purpose\n";
    let listed = [("requirements.txt", "numpy\ntorch==1.12.1\n")];
    let of =
        |dockerfile: &str, more: &[(&str, &str)]| with(&[&[("Dockerfile", dockerfile)], more].concat(), OTHER_CUDA);
    assert_eq!(of(&installing(""), &listed), ["torch-cuda-mismatch 2:1"]);
    assert_eq!(of(&installing(said), &listed), Vec::<String>::new());
    let nested = [("requirements.txt", "-r more.txt\n"), ("more.txt", "torch==1.12.1\n")];
    assert_eq!(of(&installing(said), &nested), Vec::<String>::new());
    // Of another rule, of another pool, above another instruction.
    let other = said.replace(OTHER_CUDA, "no-gpu");
    assert_eq!(of(&installing(&other), &listed), ["torch-cuda-mismatch 2:1", "unused-ignore 4:21"]);
    let of_pool = said.replace(OTHER_CUDA, "torch-cuda-mismatch@old");
    assert_eq!(of(&installing(&of_pool), &listed), ["torch-cuda-mismatch 2:1", "unused-ignore 4:21"]);
    let elsewhere = format!("{}{said}RUN make\n", installing(""));
    assert_eq!(of(&elsewhere, &listed), ["torch-cuda-mismatch 2:1", "unused-ignore 5:21"]);
    let of_copy = installing("").replace("COPY", &format!("{said}COPY"));
    assert_eq!(of(&of_copy, &listed), ["torch-cuda-mismatch 2:1", "unused-ignore 3:21"]);
    // Two commands read the file, and of one of them nothing is said.
    let again = "RUN pip install --no-deps -r requirements.txt\n";
    assert_eq!(of(&format!("{}{again}", installing(said)), &listed), ["torch-cuda-mismatch 2:1"]);
    assert_eq!(of(&format!("{}{said}{again}", installing(said)), &listed), Vec::<String>::new());
}

#[test]
fn ignore_in_a_requirements_file_applies_only_to_its_line() {
    let of = |text: &str| with(&[("Dockerfile", &installing("")), ("requirements.txt", text)], OTHER_CUDA);
    for silent in [
        "torch==1.12.1  # imagelint: ignore[torch-cuda-mismatch] on purpose\n",
        "# imagelint: ignore[torch-cuda-mismatch] on purpose\ntorch==1.12.1\n",
        "# imagelint: ignore[torch-cuda-mismatch]\n\n# more\ntorch==1.12.1 \\\n  --hash=sha256:0\n",
    ] {
        assert_eq!(of(silent), Vec::<String>::new(), "{silent}");
    }
    for (text, expected) in [
        // Another line, another rule, another pool.
        (
            "numpy # imagelint: ignore[torch-cuda-mismatch]\ntorch==1.12.1\n",
            vec!["torch-cuda-mismatch 2:1", "unused-ignore 1:27"],
        ),
        (
            "# imagelint: ignore[torch-cuda-mismatch]\nnumpy\ntorch==1.12.1\n",
            vec!["torch-cuda-mismatch 3:1", "unused-ignore 1:21"],
        ),
        ("torch==1.12.1 # imagelint: ignore[no-gpu]\n", vec!["torch-cuda-mismatch 1:1", "unused-ignore 1:35"]),
        ("torch==1.12.1 # imagelint: ignore[no-such]\n", vec!["torch-cuda-mismatch 1:1", "invalid-directive 1:35"]),
        // What is for a whole file is not for those of others.
        (
            "# imagelint: ignore-file[torch-cuda-mismatch]\ntorch==1.12.1\n",
            vec!["invalid-directive 1:1", "torch-cuda-mismatch 2:1"],
        ),
        ("# imagelint: pools=new\ntorch==1.12.1\n", vec!["invalid-directive 1:1", "torch-cuda-mismatch 2:1"]),
        ("torch==1.12.1 # imagelint: ignore\n", vec!["torch-cuda-mismatch 1:1", "invalid-directive 1:15"]),
        (
            "torch==1.12.1\n# imagelint: ignore[torch-cuda-mismatch]\n",
            vec!["torch-cuda-mismatch 1:1", "invalid-directive 2:1"],
        ),
    ] {
        let mut found = of(text);
        let mut expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn ignore_in_a_requirements_file_keeps_findings_of_the_dockerfile() {
    // The walls of the Dockerfile stay, and so do those of the other file.
    let text =
        format!("{REFUSED}RUN apt-get install -y python3-pip\nCOPY *.txt .\nRUN pip install -r requirements.txt\n");
    let listed = "# imagelint: ignore[refused] not mine\ntorch==2.4.0\n";
    let found = with(&[("Dockerfile", &text), ("requirements.txt", listed)], "container-refused");
    assert_eq!(found, ["unused-ignore 1:21", "container-refused 2:25"]);
}

#[test]
fn ignore_in_a_here_document_applies_only_to_its_line() {
    let of = |script: &str| {
        let text = format!(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN <<E\napt-get install -y python3-pip\n{script}E\n"
        );
        with(&[("Dockerfile", &text)], OTHER_CUDA)
    };
    for silent in [
        "# imagelint: ignore[torch-cuda-mismatch] why\npip install torch==1.12.1\n",
        "pip install torch==1.12.1 # imagelint: ignore[torch-cuda-mismatch] why\n",
        "\t# imagelint: ignore[torch-cuda-mismatch] why\n\tpip install \\\n\t  torch==1.12.1\n",
    ] {
        assert_eq!(of(silent), Vec::<String>::new(), "{silent}");
    }
    for (script, expected) in [
        (
            "# imagelint: ignore[torch-cuda-mismatch] why\nmake\npip install torch==1.12.1\n",
            ["unused-ignore 4:21", "torch-cuda-mismatch 6:13"],
        ),
        (
            "pip install torch==1.12.1\n# imagelint: ignore[torch-cuda-mismatch] why\nmake\n",
            ["torch-cuda-mismatch 4:13", "unused-ignore 5:21"],
        ),
        (
            "# imagelint: ignore[no-gpu] why\npip install torch==1.12.1\n",
            ["unused-ignore 4:21", "torch-cuda-mismatch 5:13"],
        ),
    ] {
        assert_eq!(of(script), expected, "{script}");
    }
}
