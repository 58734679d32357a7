//! Stages: what ships, what travels with COPY, and what the options of a build change.

use serde_json::Value;
use test_repository::{TestRepository, code, out};

use crate::support::test_repository;

/// Base, packages of pip and of apt, and whether the environment of the base is gone, as one line.
fn seen(text: &str) -> String {
    let repository = TestRepository::new();
    repository.file("Dockerfile", text);
    let report = repository.json(&["check", "Dockerfile"]);
    let told = &report["subjects"][0]["description"];
    // A removed package is listed with the command that removed it.
    let gone = told["packages"]["gone"].as_array().cloned().unwrap_or_default();
    let is_gone = |name: &str| gone.iter().any(|one| one["name"] == name);
    let names = |manager: &str| {
        let all = told["packages"][manager].as_object().cloned().unwrap_or_default();
        all.keys().filter(|name| !is_gone(name)).cloned().collect::<Vec<_>>().join(",")
    };
    let scratch = if told["from_scratch"] == true { " flat" } else { "" };
    format!("{} pip[{}] apt[{}]{scratch}", told["base"].as_str().unwrap_or("-"), names("pip"), names("apt"))
}

#[test]
fn many_stages_that_copy_each_other_are_read() {
    let stage = |at: usize| format!("FROM debian:12 AS s{at}\nCOPY --from=s{0} / /\nCOPY --from=s{0} / /\n", at - 1);
    let deep = (1..40).map(stage).collect::<Vec<_>>().concat();
    let text = format!("FROM python:3.11 AS s0\nRUN pip install torch==2.4.0\n{deep}");
    assert!(seen(&text).starts_with("debian:12"), "it ends");
}

#[test]
fn copying_root_into_scratch_copies_packages_but_not_environment() {
    let base = "nvidia/cuda:12.4.1-base-ubuntu22.04";
    let inner = "FROM nvidia/cuda:12.4.1-base-ubuntu22.04 AS x\nRUN pip install torch==2.4.0\n";
    for whole in ["COPY --from=x / /", "COPY --from=x /. /", "ADD y /y\nCOPY --from=0 / /"] {
        assert_eq!(
            seen(&format!("{inner}FROM scratch\n{whole}\n")),
            format!("{base} pip[torch] apt[] flat"),
            "{whole}"
        );
    }
    assert_eq!(
        seen("FROM scratch\nCOPY --from=nvidia/cuda:12.4.1-base-ubuntu22.04 / /\n"),
        format!("{base} pip[] apt[] flat")
    );
    assert_eq!(seen(&format!("{inner}FROM scratch\nCOPY --from=x /app /app\n")), "scratch pip[] apt[]");
    assert_eq!(seen(&format!("{inner}FROM x\nCOPY --from=x / /\n")), format!("{base} pip[torch] apt[]"));
    let repository = TestRepository::new();
    let outcome = |text: &str| {
        repository.file("Dockerfile", text);
        let report = repository.json(&["check", "--pool", "new", "Dockerfile"]);
        std::fs::write(repository.path("saved.json"), report.to_string()).expect("a report");
        let again = repository.json(&["check", "--pool", "new", "saved.json"]);
        let of = |report: &Value| report["subjects"][0]["verdicts"][0]["outcome"].to_string();
        assert_eq!(of(&report), of(&again), "judged again");
        of(&report)
    };
    assert_eq!(outcome(inner), "null");
    let flat = format!("{inner}FROM scratch\nCOPY --from=x / /\n");
    assert_eq!(outcome(&format!("{flat}ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=all\n")), "null");
}

#[test]
fn shipped_stage_is_the_last_one_or_the_target() {
    let repository = TestRepository::new();
    repository.file(
        "Dockerfile",
        "FROM nvidia/cuda:12.4.1-base-ubuntu22.04 AS run\nENV A=1\nFROM run AS serve\nFROM scratch AS export\nCOPY --from=run /w /\n",
    );
    let report = repository.json(&["check", "Dockerfile"]);
    assert_eq!(
        (&report["subjects"][0]["stage"], &report["subjects"][0]["gpu_content"]),
        (&"export".into(), &false.into())
    );
    assert!(report["subjects"][0]["inspected"]["notes"].to_string().contains("stage `serve` is not checked"));
    let report = repository.json(&["check", "--target", "serve", "Dockerfile"]);
    assert_eq!(report["subjects"][0]["stage"], "serve");
    assert_eq!(report["subjects"][0]["gpu_content"], true);
    let report = repository.json(&["check", "--all-targets", "Dockerfile"]);
    let stages: Vec<&str> = report["subjects"]
        .as_array()
        .expect("subjects")
        .iter()
        .map(|one| one["stage"].as_str().expect("a name"))
        .collect();
    assert_eq!(stages, ["serve", "export"]);
    assert_eq!(code(&repository.run(&["check", "--target", "serv", "Dockerfile"])), 2);
}

#[test]
fn an_image_for_one_platform_does_not_start_on_another() {
    let repository = TestRepository::new();
    repository.file(
        "Dockerfile",
        "ARG TARGETARCH\nFROM nvidia/cuda:12.4.1-base-ubuntu22.04\nARG TARGETARCH\nENV ARCH=$TARGETARCH\n",
    );
    let run = |platform: &str| {
        let report = repository.json(&["check", "--platform", platform, "--pool", "new", "Dockerfile"]);
        let subject = &report["subjects"][0];
        format!("{} {}", subject["description"]["env"]["ARCH"], subject["verdicts"][0]["outcome"])
    };
    assert_eq!(run("linux/arm64"), "\"arm64\" \"wrong-platform\"");
    assert_eq!(run("linux/arm64,linux/amd64"), "\"amd64\" null");
    assert_eq!(run("linux/amd64"), "\"amd64\" null");
    let done = repository.run(&["check", "--platform", "arm", "Dockerfile"]);
    assert_eq!((code(&done), out(&done)), (2, String::new()));
}

/// What the GPU code of the image's own programs is for, of each that was seen.
fn own_code(text: &str) -> Vec<String> {
    let repository = TestRepository::new();
    repository.file("Dockerfile", text);
    let report = repository.json(&["check", "Dockerfile"]);
    let told = report["subjects"][0]["description"]["gpu_code"].as_array().cloned().unwrap_or_default();
    told.iter().map(|code| code["sass"].to_string()).collect()
}

#[test]
fn compiled_gpu_code_is_copied_with_its_build_or_install_directory() {
    let base = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS b\n";
    let run_time = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n";
    let installed = "RUN git clone https://example.com/a/colmap && cd colmap && mkdir build && cd build && \
                     cmake .. -DCMAKE_CUDA_ARCHITECTURES=86-real -DCMAKE_INSTALL_PREFIX=/out && ninja install\n";
    let in_tree = "WORKDIR /src\nRUN cmake -B build -DCMAKE_CUDA_ARCHITECTURES=86-real && cmake --build build\n";
    let alone = "RUN nvcc -gencode arch=compute_86,code=sm_86 -o /app/x x.cu\n";
    let usual = "WORKDIR /src\nRUN cmake -DCMAKE_CUDA_ARCHITECTURES=86-real . && make install\n";
    for (builder, copy, expected) in [
        (installed, "COPY --from=b /out/ /usr/local/", 1),
        (installed, "COPY --from=b /colmap/build/src/colmap /usr/bin/", 1),
        (in_tree, "COPY --from=b /src/build/bin /app", 1),
        (in_tree, "COPY --from=b /src /src", 1),
        (in_tree, "COPY --from=0 / /", 1),
        (alone, "COPY --from=b /app/x /x", 1),
        (usual, "COPY --from=b /usr/local/bin/x /x", 1),
        (
            in_tree,
            "FROM b AS c\nCOPY --from=b /src/build /c\nFROM nvidia/cuda:12.4.1-base-ubuntu22.04\nCOPY --from=c /c /d",
            1,
        ),
        // Packages elsewhere are not copied.
        (installed, "COPY --from=b /opt /opt", 0),
        (installed, "COPY --from=b /outer /opt", 0),
        (in_tree, "COPY --from=b /etc/x /etc/x", 0),
        (in_tree, "COPY --from=b /usr/local/lib/python3.10/site-packages /x", 0),
        (in_tree, "COPY src/build /app", 0),
        (in_tree, "COPY --from=other/image /src/build /app", 0),
        (alone, "COPY --from=b /app/y /y", 0),
        (usual, "COPY --from=b /usr/local/cuda/lib64 /lib", 0),
        (in_tree, "RUN true", 0),
    ] {
        let found = own_code(&format!("{base}{builder}{run_time}{copy}\n"));
        assert_eq!(found, vec!["[\"sm_86\"]"; expected], "{builder}{copy}");
    }
    // A package takes its code along.
    let package = "ENV TORCH_CUDA_ARCH_LIST=8.6\nRUN python3 -m venv /v && /v/bin/pip install torch==2.4.0 && \
                   /v/bin/pip install git+https://github.com/NVIDIA/apex.git\n";
    assert_eq!(own_code(&format!("{base}{package}{run_time}COPY --from=b /v /v\n")), ["[\"sm_86\"]"]);
    assert_eq!(own_code(&format!("{base}{package}{run_time}COPY --from=b /w /v\n")), Vec::<String>::new());
}

#[test]
fn an_unread_script_is_reported_next_to_a_verdict_on_a_cuda_base_image() {
    let unseen = |text: &str| {
        let repository = TestRepository::new();
        repository.file("Dockerfile", text);
        repository.file("fleet.toml", "[[pool]]\nname = \"a\"\ngpu = \"A100\"\ndriver = \"580.82.07\"\n");
        let report = repository.json(&["check", "Dockerfile"]);
        let list = report["subjects"][0]["verdicts"][0]["not_seen"].as_array().cloned().unwrap_or_default();
        let list = list.iter().filter_map(Value::as_str).filter_map(|one| one.strip_prefix("what "));
        list.map(str::to_owned).collect::<Vec<_>>().join(", ")
    };
    let cuda = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n";
    for (run, expected) in [
        ("RUN curl -fsSL https://mirror.example/install.sh | bash", "https://mirror.example/install.sh installs"),
        ("RUN wget -qO- https://mirror.example/x | sh -s -- -y", "https://mirror.example/x installs"),
        ("COPY --from=a /src /src\nRUN /src/install.sh", "/src/install.sh installs"),
        ("RUN wget https://mirror.example/setup.sh && bash setup.sh", "https://mirror.example/setup.sh installs"),
        ("RUN curl -o /tmp/s.sh https://mirror.example/s.sh && bash /tmp/s.sh", "https://mirror.example/s.sh installs"),
        // A tool alone, a text that no shell goes through, and a command that is no script.
        ("RUN curl -LsSf https://astral.sh/uv/install.sh | sh", ""),
        ("RUN curl https://sh.rustup.rs -sSf | sh -s -- -y", ""),
        ("RUN curl -LsSf https://astral.sh/uv/install.sh -o /u.sh && sh /u.sh", ""),
        ("RUN curl -fsSL https://mirror.example/key.gpg | gpg --dearmor -o /k.gpg", ""),
        ("RUN curl -fsSL https://mirror.example/a.tgz | tar xz", ""),
        ("RUN apt-get update && apt-get install -y git", ""),
        ("RUN bash -c 'echo a'", ""),
    ] {
        assert_eq!(unseen(&format!("{cuda}{run}\n")), expected, "{run}");
    }
    assert_eq!(
        unseen("FROM python:3.11\nRUN curl https://mirror.example/i.sh | bash && pip install torch==2.4.1\n"),
        ""
    );
}

#[test]
fn gpu_base_name_with_a_template_marker_is_unknown() {
    let judged = |from: &str| {
        let repository = TestRepository::new();
        repository.file("Dockerfile", &format!("FROM {from}\nRUN pip install numpy\n"));
        repository.file("fleet.toml", "[[pool]]\nname = \"a\"\ngpu = \"A100\"\ndriver = \"580.82.07\"\n");
        let report = repository.json(&["check", "Dockerfile"]);
        let verdict = &report["subjects"][0]["verdicts"][0];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&verdict["fate"]), text(&verdict["message"]))
    };
    for (from, reason) in [
        ("r.example/openmpi5.0-cuda13.1-ubuntu24.04:{{latest-image-tag}}", "the line contains a template marker"),
        ("r.example/stable-ubuntu2004-cu117-py38:{{tag:1\\.\\d+}}", "the line contains a template marker"),
        ("nvidia/cuda:@@CUDA@@-devel-ubuntu22.04", "the line contains a template marker"),
        ("nvidia/cuda:12.{{minor}}.1-devel-ubuntu22.04", "the line contains a template marker"),
        ("nvidia/cuda:<version>-devel", "it contains a placeholder"),
        ("r.example/base-gpu:$TAG", "TAG has no default; only the command line can set it"),
    ] {
        let (fate, message) = judged(from);
        assert_eq!(fate, "undetermined", "{from}: {message}");
        assert!(message.contains(reason), "{from}: {message}");
    }
    for from in [
        "r.example/openmpi4.1.0-ubuntu20.04:{{latest-image-tag}}",
        "python:@@VERSION@@-slim",
        "python:<version>",
        "r.example/barracuda:{{tag}}",
        "r.example/app-no-cuda1:$TAG",
        "{{base}}",
        "$BASE",
    ] {
        assert!(matches!(judged(from).0.as_str(), "" | "not-applicable"), "{from}");
    }
    // An unknown base is not reported as a missing one.
    let repository = TestRepository::new();
    repository.file("Dockerfile", "FROM python:{{version}}\nRUN pip install numpy\n");
    let said = out(&repository.run(&["check", "--show-files", "Dockerfile"]));
    assert!(
        said.contains("no GPU content found: the base image is unknown (the line contains a template marker"),
        "{said}"
    );
}
