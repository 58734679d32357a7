//! Files that come by an address, a mount, a script or another stage: what they install travels with them, and what
//! was not read is said.

use serde_json::Value;
use test_repository::TestRepository;

use crate::support::test_repository;

const URL: &str = "https://download.pytorch.org";
const ZIP: &str = "libtorch-cxx11-abi-shared-with-deps-2.3.0";
const WHEEL: &str = "torch-2.3.0+cu121-cp310-cp310-linux_x86_64.whl";

/// Packages with their versions, sorted, whoever installs them; then the notes, each behind `!`.
fn seen(files: &[(&str, &str)], text: &str) -> String {
    let repository = TestRepository::new();
    for (name, text) in files {
        repository.file(name, text);
    }
    repository.file("Dockerfile", text);
    let report = repository.json(&["check", "Dockerfile"]);
    let subject = &report["subjects"][0];
    let version = |value: &Value| match value {
        Value::Array(list) => list.iter().map(|one| one["version"].as_str().unwrap_or("?").to_owned()).collect(),
        Value::Object(one) => vec![one.get("version").and_then(Value::as_str).unwrap_or("?").to_owned()],
        other => vec![other.as_str().unwrap_or("?").to_owned()],
    };
    let mut packages: Vec<String> = Vec::new();
    for manager in ["pip", "conda"] {
        let all = subject["description"]["packages"][manager].as_object().cloned().unwrap_or_default();
        packages.extend(
            all.iter()
                .flat_map(|(name, value)| version(value).into_iter().map(move |version| format!("{name}=={version}"))),
        );
    }
    packages.retain(|one| one.starts_with("torch") || one.starts_with("pytorch=="));
    let notes = subject["inspected"]["notes"].as_array().cloned().unwrap_or_default();
    packages.extend(notes.iter().map(|note| format!("!{}", note.as_str().unwrap_or("?"))));
    packages.join(" ")
}

/// Files of a build context with their texts.
type Around<'a> = &'a [(&'a str, &'a str)];

/// Says of all cases at once which are wrong: files around a Dockerfile, its text, and what is seen.
fn all(cases: &[(Around<'_>, String, &str)]) {
    let mut wrong = Vec::new();
    for (files, text, expected) in cases {
        let said = seen(files, text);
        if said != *expected {
            wrong.push(format!("{text}\n  expected {expected}\n  said     {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn libtorch_archive_counts_from_add_copy_mount_or_download() {
    let cu121 = format!("{URL}/libtorch/cu121/{ZIP}%2Bcu121.zip");
    let own = format!("{ZIP}+cu121.zip");
    let there: &[(&str, &str)] = &[(&format!("dl/{own}"), "zip")];
    let torch = "torch==2.3.0+cu121";
    all(&[
        (&[], format!("FROM ubuntu:22.04\nADD {cu121} /opt/\nRUN unzip /opt/{own} -d /opt\n"), torch),
        (&[], format!("FROM ubuntu:22.04\nADD --checksum=sha256:00 {cu121} /tmp/l.zip\nRUN unzip /tmp/l.zip\n"), torch),
        (
            &[],
            format!("FROM ubuntu:22.04\nRUN --mount=type=cache,target=/d wget -O /d/l.zip {cu121} && unzip /d/l.zip\n"),
            torch,
        ),
        (there, format!("FROM ubuntu:22.04\nRUN --mount=source=dl,target=/dl unzip /dl/{own} -d /opt\n"), torch),
        (there, format!("FROM ubuntu:22.04\nCOPY dl/{own} /tmp/l.zip\nRUN unzip /tmp/l.zip -d /opt\n"), torch),
        (
            &[],
            format!(
                "FROM debian AS d\nADD {cu121} /tmp/l.zip\nRUN unzip /tmp/l.zip -d /out\n\
                 FROM ubuntu:22.04\nCOPY --from=d /out /opt\n"
            ),
            torch,
        ),
        (
            &[],
            format!(
                "FROM scratch AS d\nADD {cu121} /l.zip\nFROM ubuntu:22.04\nRUN --mount=from=d,target=/d unzip /d/l.zip -d /o\n"
            ),
            torch,
        ),
        (
            &[],
            format!(
                "FROM debian AS d\nRUN wget {cu121} -O /l.zip\nFROM ubuntu:22.04\nCOPY --from=d /l.zip /\nRUN unzip /l.zip\n"
            ),
            torch,
        ),
        (&[], format!("FROM ubuntu:22.04\nADD {URL}/libtorch/cpu/{ZIP}%2Bcpu.zip /opt/\n"), "torch==2.3.0+cpu"),
        // Another system's, another archive, and one that stays in its stage.
        (&[], format!("FROM ubuntu:22.04\nADD {URL}/libtorch/cpu/libtorch-macos-2.3.0.zip /opt/\n"), ""),
        (&[], "FROM ubuntu:22.04\nADD https://mirror.example/libtorch.html /opt/\n".to_owned(), ""),
        (&[], "FROM ubuntu:22.04\nADD https://mirror.example/tools-2.3.0+cu121.zip /opt/\n".to_owned(), ""),
        (&[], format!("FROM debian AS d\nADD {cu121} /t/l.zip\nFROM ubuntu:22.04\nCOPY --from=d /opt /opt\n"), ""),
        (&[], format!("FROM ubuntu:22.04\nRUN echo {own}; ls /opt/{own}\n"), ""),
    ]);
}

#[test]
fn wheels_are_read_through_addresses_and_mounts() {
    let address = format!("{URL}/whl/cu121/torch-2.3.0%2Bcu121-cp310-cp310-linux_x86_64.whl");
    let wheel = format!("wheels/{WHEEL}");
    let there: &[(&str, &str)] = &[(&wheel, "zip")];
    let mount = "RUN --mount=type=bind,source=wheels,target=/w";
    let base = "FROM python:3.10-slim\n";
    let stage =
        format!("FROM python:3.10 AS b\nRUN pip wheel -w /wheels torch==2.3.0 --index-url {URL}/whl/cu121\n{base}");
    let torch = "torch==2.3.0+cu121";
    all(&[
        (&[], format!("{base}ADD {address} /tmp/t.whl\nRUN pip install /tmp/t.whl\n"), torch),
        (&[], format!("{base}ADD {address} /tmp/\nRUN pip install /tmp/*.whl\n"), torch),
        (there, format!("{base}{mount} pip install /w/{WHEEL}\n"), torch),
        (there, format!("{base}{mount} pip install /w/*.whl\n"), torch),
        (there, format!("{base}{mount} pip install --no-index --find-links /w torch\n"), torch),
        (there, format!("{base}ENV PIP_NO_INDEX=1 PIP_FIND_LINKS=/w\n{mount} pip install torch\n"), torch),
        // pip takes a local version of what is asked for, and of what is not a later one of the index.
        (there, format!("{base}{mount} pip install -f /w torch==2.3.0\n"), torch),
        (&[], format!("{stage}RUN --mount=type=bind,from=b,source=/wheels,target=/w pip install /w/*.whl\n"), torch),
        (
            &[],
            format!("{stage}RUN --mount=from=b,target=/b pip install --no-index --find-links=/b/wheels torch\n"),
            torch,
        ),
        (&[], format!("{stage}COPY --from=b /wheels/*.whl /w/\nRUN pip install /w/*.whl\n"), torch),
        (
            &[("r.txt", "torch==2.3.0\n")],
            format!(
                "FROM scratch AS r\nCOPY r.txt /r.txt\n{base}RUN --mount=from=r,source=/r.txt,target=/r.txt pip install -r /r.txt\n"
            ),
            "torch==2.3.0",
        ),
        // Those are not what is asked for, or not looked at.
        (there, format!("{base}{mount} pip install -f /w torch==2.2.0\n"), "torch==2.2.0"),
        (there, format!("{base}{mount} pip install -f /w torch\n"), "torch==*"),
        (there, format!("{base}{mount} pip install -f /x torch==2.3.0\n"), "torch==2.3.0"),
        (there, format!("{base}{mount} pip install flask\n"), ""),
        (&[], format!("{stage}COPY --from=b /wheels/numpy*.whl /w/\nRUN pip install /w/*.whl\n"), ""),
        (
            &[],
            format!("{base}RUN --mount=type=bind,from=a/b:1,source=/wheels,target=/w pip install /w/*.whl\n"),
            "!a command installs unknown packages: the wheels in /w are unknown: it comes from `a/b:1`",
        ),
    ]);
}

#[test]
fn environment_made_by_a_script_is_copied_with_its_directory() {
    let last = "FROM python:3.10-slim\nCOPY --from=b";
    let stage = "FROM python:3.10 AS b\nCOPY make.sh .\nRUN ./make.sh\n";
    let made: &[(&str, &str)] = &[(
        "make.sh",
        "#!/bin/bash\nset -e\nENV=${1:-/opt/venv}\npython -m venv $ENV\n. $ENV/bin/activate\npip install torch==1.13.1\n",
    )];
    let plain: &[(&str, &str)] = &[("make.sh", "python -m venv /v && /v/bin/pip install torch==1.13.1\n")];
    let unread = "!./make.sh was not read: it is not in the build context";
    all(&[
        (made, format!("{stage}{last} /opt/venv /opt/venv\n"), "torch==1.13.1"),
        (
            made,
            format!("{}{last} /srv/v /srv/v\n", stage.replace("RUN ./make.sh", "RUN ./make.sh /srv/v")),
            "torch==1.13.1",
        ),
        (plain, format!("{stage}{last} /v /v\n"), "torch==1.13.1"),
        (plain, format!("{stage}RUN cp -r /v /out\n{last} /out /v\n"), "torch==1.13.1"),
        (
            plain,
            format!("{stage}FROM python:3.10-slim\nRUN --mount=from=b,source=/v,target=/m cp -a /m /v\n"),
            "torch==1.13.1",
        ),
        // It lies elsewhere, or nobody has seen what lies there.
        (made, format!("{stage}{last} /srv/v /srv/v\n"), ""),
        (plain, format!("{stage}{last} /opt/venv /opt/venv\n"), ""),
        (plain, format!("{stage}RUN cp -r /v /out\n{last} /x /v\n"), ""),
        (&[], format!("{stage}{last} /opt/venv /opt/venv\n"), unread),
        (
            &[],
            "FROM python:3.10\nCOPY . .\nRUN bash make.sh\n".to_owned(),
            "!make.sh was not read: it is not in the build context",
        ),
    ]);
}

#[test]
fn cloned_or_packed_conda_environment_keeps_its_packages() {
    let create = "FROM continuumio/miniconda3 AS b\nWORKDIR /w\n\
                  RUN conda create -n a pytorch==2.1.0 pytorch-cuda=12.1 -c pytorch -c nvidia\n";
    let pip = "FROM continuumio/miniconda3 AS b\nWORKDIR /w\nRUN conda create -n a python=3.10 && conda run -n a pip install torch==1.13.1\n";
    let active = "FROM continuumio/miniconda3 AS b\nSHELL [\"/bin/bash\", \"-c\"]\n\
                  RUN conda create -n a python=3.10\nRUN source activate a && pip install torch==1.13.1\n";
    let last = "FROM debian:12-slim\nCOPY --from=b";
    all(&[
        (&[], format!("{create}RUN conda create -n c --clone a\n{last} /opt/conda/envs/c /e\n"), "pytorch==2.1.0"),
        (&[], format!("{pip}RUN conda create -p /e --clone a\n{last} /e /e\n"), "torch==1.13.1"),
        (
            &[],
            format!("{pip}RUN conda-pack -n a -o /e.tar && mkdir /v && tar xf /e.tar -C /v\n{last} /v /v\n"),
            "torch==1.13.1",
        ),
        (
            &[],
            format!("{create}RUN conda-pack -n a\n{last} /w/a.tar.gz /t/\nRUN tar -xzf /t/a.tar.gz -C /e\n"),
            "pytorch==2.1.0",
        ),
        (&[], format!("{active}{last} /opt/conda/envs/a /e\n"), "torch==1.13.1"),
        // Another environment, or none that was made before.
        (&[], format!("{create}RUN conda create -n c --clone other\n{last} /opt/conda/envs/c /e\n"), ""),
        (&[], format!("{pip}RUN conda create -p /e --clone base\n{last} /e /e\n"), ""),
        (&[], format!("{create}RUN conda create -n c python=3.10\n{last} /opt/conda/envs/c /e\n"), ""),
        (&[], format!("{pip}RUN conda-pack -n c -o /e.tar && tar xf /e.tar -C /v\n{last} /v /v\n"), ""),
        (&[], format!("{pip}RUN conda-pack -n a -o /e.tar\n{last} /v /v\n"), ""),
        (
            &[],
            "FROM debian:12-slim\nADD env.tar.gz /e\nRUN /e/bin/conda-unpack\n".to_owned(),
            "!/e was not read: it was packed outside of the build",
        ),
    ]);
}

#[test]
fn requirements_file_written_in_another_stage_is_read_after_copy() {
    let pyproject =
        "[tool.poetry]\nname = \"app\"\n[tool.poetry.dependencies]\npython = \"^3.10\"\ntorch = \"1.13.1\"\n";
    let lock = "[[package]]\nname = \"torch\"\nversion = \"1.13.1\"\noptional = false\ngroups = [\"main\"]\n\
                [metadata]\nlock-version = \"2.1\"\npython-versions = \"^3.10\"\n";
    let files: &[(&str, &str)] = &[("pyproject.toml", pyproject), ("poetry.lock", lock), ("r.txt", "torch==2.0.0\n")];
    let stage = "FROM python:3.10 AS r\nWORKDIR /tmp\nCOPY . .\n";
    let last = "FROM python:3.10\nWORKDIR /code\nCOPY --from=r";
    let install = "RUN pip install -r /code/r.txt\n";
    all(&[
        (
            files,
            format!(
                "{stage}RUN poetry export -f requirements.txt --output out.txt\n{last} /tmp/out.txt /code/r.txt\n{install}"
            ),
            "torch==1.13.1",
        ),
        (files, format!("{stage}RUN poetry export -o r.txt\n{last} /tmp/r.txt .\n{install}"), "torch==1.13.1"),
        (files, format!("{stage}RUN sed -i s/2.0.0/2.1.0/ r.txt\n{last} /tmp/ /code/\n{install}"), "torch==2.1.0"),
        (files, format!("{stage}{last} /tmp/r.txt /code/\n{install}"), "torch==2.0.0"),
        (
            files,
            format!("{stage}RUN python list.py > r.txt\n{last} /tmp/r.txt /code/\n{install}"),
            "!/code/r.txt was not read: a command writes it first",
        ),
        (files, format!("{stage}RUN poetry export -o out.txt\n{last} /tmp/r.txt /code/\n{install}"), "torch==2.0.0"),
        (
            files,
            format!("{stage}RUN poetry export -o out.txt\n{last} /srv/out.txt /code/r.txt\n{install}"),
            "!/code/r.txt was not read: no COPY adds it to the image",
        ),
    ]);
}

/// A repository with a Dockerfile that runs a script which is not there, beside something that speaks of a GPU or not.
fn with_script(variable: &str) -> TestRepository {
    let repository = TestRepository::new();
    repository.file("Dockerfile", &format!("FROM python:3.10-slim\nENV {variable}\nCOPY . .\nRUN ./make.sh\n"));
    repository
}

#[test]
fn unread_files_are_listed_in_every_report_format() {
    let repository = TestRepository::new();
    let cuda = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n";
    repository.file("Dockerfile", &format!("{cuda}COPY . .\nRUN ./make.sh && pip install -r requirements.txt\n"));
    for arguments in [&["-v"][..], &["--format", "junit"], &["--format", "markdown"], &["--format", "ndjson"]] {
        let done = repository.run(&[&["check", "Dockerfile"][..], arguments].concat());
        let said = test_repository::out(&done).replace('\\', "");
        for missing in ["`./make.sh` is not in the build context", "`requirements.txt` is not in the build context"] {
            assert!(said.contains(missing), "{arguments:?}: {missing}: {said}");
        }
    }
    // Without anything that speaks of a GPU it is named, and no verdict is doubted.
    let silent = with_script("APP=web");
    for arguments in [&["-v"][..], &["--format", "junit"], &["--format", "markdown"]] {
        let said =
            test_repository::out(&silent.run(&[&["check", "Dockerfile"][..], arguments].concat())).replace('\\', "");
        assert!(said.contains("not read: ./make.sh"), "{arguments:?}: {said}");
    }
    let read = TestRepository::new();
    read.file("make.sh", "echo ready\n");
    read.file("requirements.txt", "flask\n");
    read.file("Dockerfile", &format!("{cuda}COPY . .\nRUN ./make.sh && pip install -r requirements.txt\n"));
    for arguments in [&["-v"][..], &["--format", "junit"], &["--format", "markdown"], &["--format", "ndjson"]] {
        let said = test_repository::out(&read.run(&[&["check", "Dockerfile"][..], arguments].concat()));
        assert!(!said.contains("is not in the build context"), "{arguments:?}: {said}");
    }
}

#[test]
fn unread_script_makes_the_verdict_unknown_only_with_gpu_hints() {
    for (variable, expected) in [
        ("TORCH_CUDA_ARCH_LIST=8.0", "undetermined"),
        ("USE_CUDA=1", "undetermined"),
        ("USE_CUDA=0", "not-applicable"),
        ("APP=web", "not-applicable"),
    ] {
        let report = with_script(variable).json(&["check", "Dockerfile"]);
        let subject = &report["subjects"][0];
        assert_eq!(subject["verdicts"][0]["fate"], expected, "{variable}");
        let missing = subject["verdicts"][0]["missing"].to_string();
        assert!(missing.contains("provide `./make.sh` in the build context"), "{variable}: {missing}");
    }
}

#[test]
fn script_is_looked_up_like_in_the_shell() {
    let files: &[(&str, &str)] =
        &[("install.sh", "pip install torch==2.7.1\n"), ("tool.py", "#!/usr/bin/env python3\nimport torch\n")];
    let with = |lines: &str| format!("FROM python:3.11\n{lines}\n");
    let torch = "torch==2.7.1";
    all(&[
        (files, with("COPY install.sh /usr/local/bin/\nRUN install.sh"), torch),
        (files, with("COPY --chmod=755 install.sh /usr/bin/setup-all\nRUN setup-all --now"), torch),
        (files, with("ENV PATH=/opt/x:$PATH\nCOPY install.sh /opt/x/\nRUN cd /tmp && install.sh"), torch),
        (files, with("COPY install.sh /usr/local/bin/\nRUN bash -c install.sh"), torch),
        (files, with("COPY install.sh /usr/local/bin/\nRUN [\"install.sh\"]"), torch),
        (files, with("COPY install.sh /w/\nRUN bash < /w/install.sh"), torch),
        (files, with("COPY install.sh /w/\nWORKDIR /w\nRUN cat install.sh | sh -ex"), torch),
        (&[], with("RUN echo 'pip install torch==2.7.1' > /usr/local/bin/inst && inst"), torch),
        (&[], with("RUN eval \"pip install torch==2.7.1\""), torch),
        (&[], with("RUN V=2.7.1; eval pip install torch==$V"), torch),
        // It lies nowhere on PATH, is gone, is no script, or is only named.
        (files, with("COPY install.sh /w/\nRUN setup-all; install"), ""),
        (files, with("COPY install.sh /usr/local/bin/\nRUN rm /usr/local/bin/install.sh\nRUN echo install.sh"), ""),
        (files, with("COPY tool.py /usr/local/bin/tool\nRUN tool"), ""),
        (files, with("COPY install.sh /usr/local/bin/\nRUN cat /usr/local/bin/install.sh | grep torch"), ""),
        (files, with("COPY install.sh /usr/local/bin/\nRUN bash -n < /usr/local/bin/install.sh"), ""),
        (files, with("RUN setup-all\nCOPY install.sh /usr/local/bin/setup-all"), ""),
        (&[], with("RUN eval \"$(nobody knows)\"; eval echo pip install torch==2.7.1"), ""),
    ]);
}

#[test]
fn options_of_pip_are_read_as_pip_reads_them() {
    let files: &[(&str, &str)] = &[("r.txt", "torch==2.7.1\n")];
    let with = |line: &str| format!("FROM python:3.11\nCOPY . /w\nWORKDIR /w\nRUN {line}\n");
    let torch = "torch==2.7.1";
    all(&[
        (files, with("pip install -Ur r.txt"), torch),
        (files, with("pip install -qr r.txt"), torch),
        (files, with("pip -qq install -qqUrr.txt"), torch),
        (files, with("pip install --requirem r.txt"), torch),
        (files, with("pip install --requirem=r.txt"), torch),
        (files, with("python3.11 -mpip install torch==2.7.1"), torch),
        (files, with("python -um pip install torch==2.7.1"), torch),
        (files, with("python -W ignore -Im pip install -Ur r.txt"), torch),
        (files, with("pip install --find https://mirror.example torch==2.7.1+cu118"), "torch==2.7.1+cu118"),
        // pip refuses some, uv takes no beginnings, and others name no list.
        (files, with("pip install --req r.txt"), ""),
        (files, with("pip install -Ut r.txt"), ""),
        (files, with("python -c 'import pip' -m pip install torch==2.7.1"), ""),
        (files, with("python -mvenv pip install torch==2.7.1"), ""),
        (files, with("pip -V install -hr"), ""),
        (files, with("pip install -Uc r.txt"), ""),
    ]);
}
