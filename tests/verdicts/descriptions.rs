//! A description loses nothing that a verdict hangs on: what is described is judged as what it describes.

use std::collections::BTreeMap;

use imagelint::describe::ImageDescription;
use serde_json::Value;
use test_repository::{TestRepository, out};

use crate::support::{inputs, test_repository};

/// A pool with a new driver, in addition to those of every input.
const POOLS: &str = r#"[[pool]]
name = "new"
gpu = "B200"
driver = "570.211.01"
platform = "linux/amd64"
launch = "docker-gpus"
toolkit = "1.17.8"
"#;

/// Pool, component, fate, outcome and codes of every verdict of every subject, by the name of the subject.
fn verdicts_by_subject(report: &Value) -> Vec<(String, Vec<String>)> {
    let keys = ["pool", "component", "fate", "outcome", "codes"];
    let of = |subject: &Value| {
        let verdicts = subject["verdicts"].as_array().expect("verdicts").iter();
        verdicts.map(|verdict| keys.map(|key| verdict[key].to_string()).join(" ")).collect()
    };
    let subjects = report["subjects"].as_array().expect("subjects").iter();
    subjects.map(|subject| (subject["name"].as_str().expect("a name").to_owned(), of(subject))).collect()
}

/// Whatever a step names is in the report: facts of its subject, fields of its pool, declared or left out; rows of tables
/// have a name of their own.
fn assert_steps_name_known_facts(report: &Value) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let pools = list(&report["fleet"]["pools"]);
    for subject in list(&report["subjects"]) {
        let facts: Vec<String> = list(&subject["facts"]).iter().map(|fact| text(&fact["id"])).collect();
        for verdict in list(&subject["verdicts"]) {
            let pool = pools.iter().find(|pool| pool["name"] == verdict["pool"]).expect("a pool");
            let declared = list(&pool["fields"]).iter().map(|field| text(&field["key"])).collect::<Vec<_>>();
            let left_out = list(&pool["undeclared"]).iter().map(text).collect::<Vec<_>>();
            let steps = list(&verdict["scenarios"]).into_iter().flat_map(|one| list(&one["steps"]));
            for id in steps.flat_map(|step| list(&step["facts"])).map(|id| text(&id)) {
                let known = facts.contains(&id) || declared.contains(&id) || left_out.contains(&id) || id.contains('/');
                assert!(known, "{id} of {}", subject["name"]);
            }
        }
    }
}

/// The verdicts of files, and of their descriptions, subject by subject.
fn both(repository: &TestRepository, files: &[String], more: &[&str]) -> Vec<(String, Vec<String>, Vec<String>)> {
    let check = |files: &[String], more: &[&str]| {
        let mut arguments = vec!["check", "--fleet", "fleet.toml"];
        arguments.extend(more);
        arguments.extend(files.iter().map(String::as_str));
        repository.json(&arguments)
    };
    let first = check(files, more);
    assert_steps_name_known_facts(&first);
    let described: Vec<String> = first["subjects"]
        .as_array()
        .expect("subjects")
        .iter()
        .enumerate()
        .map(|(at, subject)| {
            let description = ImageDescription::from_json(subject["description"].clone()).expect("a description");
            let file = format!("out/{at:03}.image.toml");
            repository.file(&file, &description.to_toml());
            file
        })
        .collect();
    let mut second: BTreeMap<String, Vec<String>> = verdicts_by_subject(&check(&described, &[])).into_iter().collect();
    let pair = |((name, own), file)| (name, own, second.remove(file).expect("a verdict of it"));
    verdicts_by_subject(&first).into_iter().zip(&described).map(pair).collect()
}

/// What differs.
fn different(repository: &TestRepository, files: &[String], more: &[&str]) -> Vec<String> {
    let differs = |(name, own, described): (String, Vec<String>, Vec<String>)| {
        (own != described).then(|| format!("{name}: {own:#?}\ndescribed: {described:#?}"))
    };
    both(repository, files, more).into_iter().filter_map(differs).collect()
}

#[test]
fn every_repository_input_has_the_verdicts_of_its_description() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &inputs::fleet_with(POOLS));
    let files = inputs::all(&repository);
    assert!(files.len() > 300, "{}", files.len());
    let wrong: Vec<String> = files.chunks(60).flat_map(|some| different(&repository, some, &[])).collect();
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}

/// Dockerfiles of which one command after another decides what the image holds, each with what its description says.
const BUILDS: &[(&str, &str)] = &[
    ("FROM python:3.11\nARG A\nRUN if [ -n \"$A\" ]; then pip install torch==1.12.1; fi\n", "conditional = "),
    ("FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN pip install vllm==0.6.0\n", "vllm = "),
    ("FROM python:3.11\nRUN pip install torch==1.12.1\nRUN pip install vllm==0.6.0\n", "command = 2"),
    ("FROM python:3.11\nRUN pip install vllm==0.6.0\nRUN pip install torch==1.12.1\n", "command = 2"),
    ("FROM python:3.11\nRUN pip install torch==1.12.1\nRUN pip install torch\n", "[{ version = \"1.12.1\""),
    ("FROM python:3.11\nRUN pip install torch==1.12.1\nRUN pip install -U torch\n", "upgrade = true"),
    ("FROM pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime\nRUN pip install torch==2.4.0\n", "torch = \"2.4.0\""),
    ("FROM pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime\nRUN pip uninstall -y torch\n", "gone = [{ manager = \"pip\""),
    (
        "FROM python:3.11\nRUN pip install torch==2.4.0 --extra-index-url https://download.pytorch.org/whl/cu118\n",
        "torch = ",
    ),
    (
        "FROM python:3.11\nRUN pip install 'torch<2.5' --extra-index-url https://download.pytorch.org/whl/cu118\n",
        "extra_index = [\"cu118\"]",
    ),
    (
        "FROM python:3.11\nRUN pip install torch --index-url https://download.pytorch.org/whl/cu118\n",
        "torch = \"*+cu118\"",
    ),
    ("FROM python:3.11\nARG V\nRUN pip install torch==$V\n", "unknown = "),
    ("FROM python:3.11\nRUN uv python install 3.8\nRUN pip install torch\n", "other_python = true"),
    ("ARG T\nFROM nvidia/cuda:$T\n", "repository = "),
    ("ARG B\nFROM $B\nRUN pip install torch==2.4.0\n", "base_unknown = "),
    ("FROM some/where:1\nRUN pip install torch\n", "of = \"dockerfile\""),
    ("FROM continuumio/miniconda3\nRUN conda install pytorch=2.1 pytorch-cuda=12.1 -c pytorch\n", "[packages.conda]"),
    (
        "FROM python:3.11\nRUN pip install vllm==0.6.1.post1+cu118 --extra-index-url https://download.pytorch.org/whl/cu118\n",
        "extra_index = [\"cu118\"]",
    ),
    ("FROM python:3.11\nRUN echo 'torch==2.5.1+cu121' > /c && pip install -c /c vllm\n", "[packages.bounds]"),
    ("FROM some/where:1\nRUN python3.12 -m venv /v && /v/bin/pip install 'torch<2.5'\n", "environment = \"/v\""),
    ("FROM nvcr.io/nvidia/pytorch:25.07-py3\nRUN pip install accelerate\n", "accelerate = "),
    ("FROM rocm/pytorch:latest\nRUN pip install accelerate onnxruntime-gpu==1.18.0\n", "onnxruntime-gpu = "),
    ("FROM python:3.11\nRUN pip install faster-whisper==1.0.3\n", "ctranslate2 = "),
];

#[test]
fn description_states_the_effects_of_install_commands() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &inputs::fleet_with(POOLS));
    let mut files = Vec::new();
    for (at, (text, said)) in BUILDS.iter().enumerate() {
        let file = format!("{at:02}.Dockerfile");
        repository.file(&file, text);
        let done = repository.run(&["describe", &file]);
        assert!(out(&done).contains(said), "{text}{}", out(&done));
        files.push(file);
    }
    for more in [&[][..], &["--as-of", "2023-06-01"]] {
        let wrong = different(&repository, &files, more);
        assert!(wrong.is_empty(), "{more:?}: {}", wrong.join("\n"));
    }
}

#[test]
fn conditional_install_in_a_description_is_unknown() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &inputs::fleet_with(POOLS));
    repository.file("Dockerfile", BUILDS[0].0);
    repository.file("x.image.toml", &out(&repository.run(&["describe", "Dockerfile"])));
    let report = repository.json(&["check", "--pool", "new", "x.image.toml"]);
    assert_eq!(report["subjects"][0]["verdicts"][0]["fate"], "undetermined", "{}", report["subjects"][0]["verdicts"]);
    // The same without its condition is certain.
    repository.file("x.image.toml", "base = \"python:3.11\"\n[packages.pip]\ntorch = { version = \"1.12.1\" }\n");
    let report = repository.json(&["check", "--pool", "new", "x.image.toml"]);
    assert_eq!(report["subjects"][0]["verdicts"][0]["fate"], "fails");
}

#[test]
fn description_uses_the_as_of_date() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &inputs::fleet_with(POOLS));
    repository.file("Dockerfile", "FROM nvidia/cuda:11.2.2-cudnn8-devel-ubuntu20.04\n");
    let outcome = |file: &str| {
        repository.json(&["check", "--pool", "rtx", file])["subjects"][0]["verdicts"][0]["outcome"].clone()
    };
    for (more, expected) in
        [(&[][..], outcome("Dockerfile")), (&["--as-of", "2021-06-29"], "compat-not-supported".into())]
    {
        let done = repository.run(&[&["describe", "Dockerfile"], more].concat());
        repository.file("x.image.toml", &out(&done));
        assert_eq!(outcome("x.image.toml"), expected, "{}", out(&done));
    }
    assert_ne!(outcome("Dockerfile"), "compat-not-supported");
}

#[test]
fn gpu_code_on_a_plain_base_is_judged() {
    let repository = TestRepository::new();
    repository.file("fleet.toml", POOLS);
    let code = "[[gpu_code]]\nfile = \"app\"\ncomponent = \"app\"\nsass = [\"sm_70\"]\nptx = []\n";
    for head in ["base = \"ubuntu:22.04\"\n", "base = \"python:3.11-slim\"\n", "complete = [\"env\"]\n", ""] {
        repository.file("app.image.toml", &format!("{head}{code}"));
        let report = repository.json(&["check", "--fleet", "fleet.toml", "app.image.toml"]);
        let subject = &report["subjects"][0];
        assert_eq!(subject["gpu_content"], true, "{head}");
        assert_eq!(subject["verdicts"][0]["outcome"], "no-kernel-image", "{head}");
    }
    repository.file("app.image.toml", "base = \"ubuntu:22.04\"\n[packages.pip]\nflask = \"3.0.0\"\n");
    let report = repository.json(&["check", "--fleet", "fleet.toml", "app.image.toml"]);
    assert_eq!(report["subjects"][0]["gpu_content"], false);
}

/// What an unread list is called decides, not the words around its name; one without a name may be for GPUs.
#[test]
fn the_wording_of_an_unread_list_decides_nothing() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &inputs::fleet_with(POOLS));
    let verdicts = |unread: &str| {
        let text = format!("base = \"python:3.11-slim\"\n[packages]\nunread = \"{unread}\"\n");
        repository.file("x.image.toml", &text);
        let report = repository.json(&["check", "x.image.toml"]);
        repository.file("saved.json", &report.to_string());
        let fates = |report: &Value| {
            let verdicts = report["subjects"][0]["verdicts"].as_array().expect("verdicts");
            let parts = verdicts.iter().map(|verdict| format!("{} {}", verdict["component"], verdict["fate"]));
            parts.collect::<Vec<_>>()
        };
        let again = fates(&repository.json(&["check", "saved.json"]));
        assert_eq!(fates(&report), again, "{unread}");
        again
    };
    let unnamed = verdicts("the list is long");
    assert!(unnamed.iter().any(|verdict| verdict.contains("undetermined")), "{unnamed:?}");
    for same in ["the CUDA list is long", "nvidia", "not read", "no GPU", "a command installs unknown packages: x"] {
        assert_eq!(verdicts(same), unnamed, "{same}");
    }
    let of = |file: &str, rest: &str| verdicts(&format!("`{file}` {rest}, so what it installs is unknown"));
    for rest in ["is not in the build context", "was not read (no CUDA here)", "is a build secret for a GPU"] {
        assert_eq!(of("requirements-gpu.txt", rest), unnamed, "{rest}");
        assert_ne!(of("requirements.txt", rest), unnamed, "{rest}");
    }
    let tagged = |tag: &str| {
        verdicts(&format!("`r.txt` is too large, so what it installs, also from the index of {tag}, is unknown"))
    };
    assert_eq!(tagged("cu121"), unnamed);
    assert_ne!(tagged("cpu"), unnamed);
}

/// What the kernels are made for differs from channel to channel.
#[test]
fn the_channel_of_conda_is_described() {
    let repository = TestRepository::empty();
    let pool = POOLS.replace("B200", "A100");
    repository.file("fleet.toml", &pool);
    for (channel, described) in [(" -c pytorch -c nvidia", true), (" -c conda-forge", true), ("", false)] {
        let text = format!(
            "FROM continuumio/miniconda3:24.1.2-0\nENV NVIDIA_VISIBLE_DEVICES=all\n\
             RUN conda install -y{channel} pytorch==1.12.1 cudatoolkit=11.3\n"
        );
        repository.file("Dockerfile", &text);
        let description = out(&repository.run(&["describe", "Dockerfile"]));
        assert_eq!(description.contains("channel = "), described, "{description}");
        repository.file("one.image.toml", &description);
        let fates = |input: &str| {
            let told = verdicts_by_subject(&repository.json(&["check", input]));
            told.into_iter().map(|(_, verdicts)| verdicts).collect::<Vec<_>>()
        };
        assert_eq!(fates("Dockerfile"), fates("one.image.toml"), "{description}");
    }
}

/// Comment lines name what was detected; they change nothing that `check` reads.
#[test]
fn description_starts_with_detected_contents() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &inputs::fleet_with(POOLS));
    let cases = [
        (
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN pip install torch==2.4.0\n",
            &[
                "# Detected in Dockerfile (linux/amd64):\n",
                "#   base image: nvidia/cuda:12.4.1-runtime-ubuntu22.04, CUDA 12.4.1\n",
                "#   torch: 2.4.0, CUDA 12.1 (cu121), built for sm_50, ",
                ", sm_90, no PTX\n",
                "#   NVIDIA_REQUIRE_CUDA: cuda>=12.4 ",
                "#   cuda-compat package: libcuda 550.",
                "#   driver libraries in the image: none\n",
                "#   NVIDIA_VISIBLE_DEVICES: all\n",
            ][..],
        ),
        (
            "FROM some/where:1\nRUN pip install torch==2.4.0\nENV NVIDIA_VISIBLE_DEVICES=\"a\\\nb\"\n",
            &[
                "#   base image: some/where:1, CUDA release unknown\n",
                "#   NVIDIA_REQUIRE_CUDA: unknown\n",
                "#   unknown: ",
            ],
        ),
        ("ARG B\nFROM $B\nRUN pip install torch==2.4.0\n", &["#   base image: unknown\n", "--build-arg B=VALUE"]),
    ];
    for (dockerfile, expected) in cases {
        repository.file("Dockerfile", dockerfile);
        let described = out(&repository.run(&["describe", "Dockerfile"]));
        let unwrapped = described.replace("\n#       ", " ");
        for text in expected {
            assert!(unwrapped.contains(text), "{text}\n{described}");
        }
        assert_eq!(described.matches("# Detected in ").count(), 1, "{described}");
        // All comment lines come first.
        let (head, rest) = described.split_once("\n\n").expect("a description after the comments");
        assert!(head.lines().all(|line| line.starts_with('#')) && !rest.contains("\n#"), "{described}");
        repository.file("x.image.toml", &described);
        let verdicts = |file: &str| {
            verdicts_by_subject(&repository.json(&["check", file])).into_iter().map(|(_, all)| all).collect::<Vec<_>>()
        };
        assert_eq!(verdicts("Dockerfile"), verdicts("x.image.toml"), "{described}");
    }
}
