//! What a verdict says of its pool: which of its fields decided, and which it would take.

use serde_json::Value;
use test_repository::TestRepository;

use crate::support::test_repository;

const TORCH: &str = "FROM python:3.11-slim\nENV NVIDIA_VISIBLE_DEVICES=all\nRUN pip install torch==2.5.1\n";

/// The image's verdict on the first pool, with all of the report.
fn verdict(dockerfile: &str, pool: &str) -> Value {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &format!("[[pool]]\nname = \"p\"\n{pool}"));
    repository.file("Dockerfile", dockerfile);
    repository.json(&["check", "Dockerfile"])["subjects"][0]["verdicts"][0].clone()
}

fn message(dockerfile: &str, pool: &str) -> String {
    verdict(dockerfile, pool)["message"].as_str().unwrap_or_default().to_owned()
}

/// The keys of what is missing, in order.
fn missing(verdict: &Value) -> Vec<&str> {
    let list = verdict["missing"].as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|one| one["key"].as_str()).collect()
}

/// The fields of the pool that a step of each scenario names, with the values that it tries.
fn fields(verdict: &Value, step: &str) -> Vec<String> {
    let scenarios = verdict["scenarios"].as_array().expect("scenarios");
    let steps = scenarios.iter().flat_map(|one| one["steps"].as_array().expect("steps"));
    let facts = steps.filter(|one| one["step"] == step).map(|one| {
        let facts = one["facts"].as_array().expect("facts").iter().filter_map(Value::as_str);
        facts.filter(|fact| fact.starts_with("pool.")).collect::<Vec<_>>().join(" ")
    });
    facts.collect()
}

/// Pools share a message where the same decides: the driver, or the CUDA that is declared for it.
#[test]
fn the_declared_cuda_version_of_several_pools_is_reported() {
    let repository = TestRepository::empty();
    repository.file("Dockerfile", TORCH);
    let pool = |name: &str, driver: &str, cuda: &str| {
        let cuda = if cuda.is_empty() { String::new() } else { format!("driver_cuda = \"{cuda}\"\n") };
        format!(
            "[[pool]]\nname = \"{name}\"\ngpu = \"A100\"\nlaunch = \"docker-cdi\"\ntoolkit = \"1.17.8\"\n\
             library_directory = \"/usr/lib64\"\ndriver = \"{driver}\"\n{cuda}"
        )
    };
    let told = |pools: &[String]| {
        repository.file("fleet.toml", &pools.concat());
        let report = repository.json(&["check", "Dockerfile"]);
        let findings = report["subjects"][0]["findings"].as_array().expect("findings").clone();
        let own = findings.iter().filter(|one| one["rule"] == "insufficient-driver");
        own.map(|one| one["message"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let (old, older) = (pool("a", "450.80.02", ""), pool("b", "460.32.03", ""));
    let (by, by_too) = (pool("c", "550.90.07", "11.4"), pool("d", "550.54.15", "11.4"));
    let other = pool("e", "550.54.15", "11.2");
    for (pools, ends) in [
        (vec![old.clone(), older], vec!["drivers 450.80.02 and 460.32.03 are too old for CUDA 12.4"]),
        (
            vec![old, by.clone()],
            vec![
                "driver 450.80.02 is too old for CUDA 12.4",
                "driver 550.90.07 with `driver_cuda = \"11.4\"` is too old for CUDA 12.4",
            ],
        ),
        (
            vec![by.clone(), by_too],
            vec!["drivers 550.90.07 and 550.54.15 with `driver_cuda = \"11.4\"` are too old for CUDA 12.4"],
        ),
        (
            vec![by, other],
            vec![
                "with `driver_cuda = \"11.4\"` is too old for CUDA 12.4",
                "with `driver_cuda = \"11.2\"` is too old for CUDA 12.4",
            ],
        ),
    ] {
        let said = told(&pools);
        assert_eq!(said.len(), ends.len(), "{said:?}");
        for end in ends {
            assert!(said.iter().any(|one| one.ends_with(end)), "{end}: {said:?}");
        }
    }
}

#[test]
fn driver_too_old_by_declared_cuda_is_reported() {
    let base = "gpu = \"A100\"\nlaunch = \"docker-cdi\"\ntoolkit = \"1.17.8\"\nlibrary_directory = \"/usr/lib64\"\n";
    let driver = "driver = \"550.90.07\"\n";
    let said = message(TORCH, &format!("{base}{driver}driver_cuda = \"11.4\"\n"));
    assert!(said.ends_with(": driver 550.90.07 with `driver_cuda = \"11.4\"` is too old for CUDA 12.4"), "{said}");
    // One that is too old by itself, and one of which the CUDA version is all that is said.
    let said = message(TORCH, &format!("{base}driver = \"470.57.02\"\n"));
    assert!(said.ends_with(": driver 470.57.02 is too old for CUDA 12.4"), "{said}");
    let said = message(TORCH, &format!("{base}driver_cuda = \"11.4\"\n"));
    assert!(said.ends_with(": a driver for CUDA 11.4 is too old for CUDA 12.4"), "{said}");
    let said = message(TORCH, &format!("{base}{driver}driver_cuda = \"12.4\"\n"));
    assert_eq!(said, "starts (native)");
}

#[test]
fn missing_gpu_and_driver_of_a_pool_are_requested_first() {
    for pool in ["", "toolkit = \"1.17.8\"\n", "platform = \"linux/amd64\"\n"] {
        let told = verdict(TORCH, pool);
        assert_eq!(missing(&told).get(..2), Some(&["pool.gpu", "pool.driver"][..]), "{pool}: {told:#}");
    }
    let told = verdict(TORCH, "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n");
    assert_eq!(missing(&told), ["pool.gpu", "pool.driver"]);
    // What is said is not asked for, and what decides comes first.
    let told =
        verdict("FROM python:3.11-slim\nRUN pip install torch==2.5.1\n", "gpu = \"A100\"\ndriver = \"570.86.15\"\n");
    assert_eq!(missing(&told), ["pool.launch"], "{told:#}");
}

#[test]
fn an_undecided_option_is_named_in_the_output() {
    let pool = "gpu = \"A100\"\ndriver = \"570.86.15\"\nlaunch = \"kubernetes\"\ntoolkit = \"1.17.8\"\n\
                device_list_strategy = \"volume-mounts\"\n";
    let option = "pool.host.accept-nvidia-visible-devices-as-volume-mounts";
    let told = verdict(TORCH, pool);
    assert_eq!(missing(&told), [option], "{told:#}");
    assert!(
        told["message"]
            .as_str()
            .is_some_and(|text| text
                == "depends on `accept-nvidia-visible-devices-as-volume-mounts`: container-refused or starts"),
        "{told:#}"
    );
    let set = format!("{pool}[pool.host]\naccept-nvidia-visible-devices-as-volume-mounts = true\n");
    assert_eq!(message(TORCH, &set), "starts (native)");
}

#[test]
fn failure_of_another_launch_method_is_not_attributed_to_other_nodes() {
    let bare = "FROM python:3.11-slim\nRUN pip install torch==2.5.1\n";
    let said = message(bare, "gpu = \"A100\"\ndriver = \"470.57.02\"\ntoolkit = \"1.17.8\"\n");
    assert!(!said.contains("other nodes of the pool"), "{said}");
    assert!(said.contains("; depending on the launch method, it fails with "), "{said}");
    // Of several GPUs, they are other nodes.
    let several = "gpu = [\"Tesla K80\", \"A100\"]\ndriver = [\"470.57.02\", \"418.67\"]\nlaunch = \"docker-cdi\"\ntoolkit = \"1.17.8\"\n";
    let said = message(TORCH, several);
    assert!(!said.contains("depending on the launch method"), "{said}");
}

#[test]
fn the_deciding_fields_include_the_tried_value() {
    let of = |image: &str, pool: &str| {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", &format!("[[pool]]\nname = \"p\"\n{pool}"));
        repository.file("one.image.toml", &format!("complete = [\"env\", \"packages\", \"files\", \"code\"]\n{image}"));
        repository.json(&["check", "one.image.toml"])["subjects"][0]["verdicts"][0].clone()
    };
    let compat = "cuda_runtime = \"12.9\"\n[files]\n\"/etc/debian_version\" = {}\n\
                  \"/usr/local/cuda-12.9/compat/libcuda.so.575.57.08\" = {}\n\
                  \"/etc/ld.so.conf.d/cuda-compat.conf\" = { text = \"/usr/local/cuda-12.9/compat\" }\n\
                  [[gpu_code]]\nsass = [\"sm_90\"]\nptx = []\n";
    let cdi = "gpu = \"H100\"\ndriver = \"580.82.07\"\nlaunch = \"docker-cdi\"\ntoolkit = \"1.18.1\"\n";
    let told = of(compat, cdi);
    assert_eq!(told["fate"], "depends", "{told:#}");
    let named = fields(&told, "loader");
    assert!(named.len() > 1 && named.iter().all(|one| one.contains("pool.library_directory")), "{named:?}");
    let required = "cuda_runtime = \"12.4\"\n[env]\n\
                    NVIDIA_REQUIRE_CUDA = \"cuda>=12.9 brand=tesla,driver>=550,driver<551\"\n\
                    [[gpu_code]]\nsass = [\"sm_80\"]\nptx = []\n";
    let legacy = "gpu = { name = \"Our Card\", compute_capability = \"8.0\" }\ndriver = \"550.54.15\"\n\
                  launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\nmode = \"legacy\"\n";
    let told = of(required, legacy);
    assert_eq!(told["fate"], "depends", "{told:#}");
    let named = fields(&told, "requirement");
    assert!(named.len() > 1 && named.iter().all(|one| one.contains("pool.brand")), "{named:?} {told:#}");
    // Where nothing turns on it, nothing is tried.
    let plain =
        verdict(TORCH, "gpu = \"A100\"\ndriver = \"570.86.15\"\nlaunch = \"docker-cdi\"\ntoolkit = \"1.17.8\"\n");
    let named = [fields(&plain, "loader"), fields(&plain, "requirement")].concat().join(" ");
    assert!(!named.contains("library_directory") && !named.contains("brand"), "{plain:#}");
}

#[test]
fn absent_facts_name_their_search_and_origin() {
    let repository = TestRepository::empty();
    repository.file(
        "fleet.toml",
        "[[pool]]\nname = \"p\"\ngpu = \"A100\"\ndriver = \"570.86.15\"\nlaunch = \"docker-cdi\"\n",
    );
    repository.file("Dockerfile", TORCH);
    let whole = "complete = [\"env\", \"packages\", \"files\", \"code\"]\n[packages.pip]\ntorch = \"2.5.1\"\n";
    repository.file("whole.image.toml", whole);
    for input in ["Dockerfile", "whole.image.toml"] {
        let report = repository.json(&["check", input]);
        let facts = report["subjects"][0]["facts"].as_array().cloned().expect("facts");
        let absent: Vec<&Value> = facts.iter().filter(|fact| fact["state"] == "absent").collect();
        assert!(absent.iter().any(|fact| fact["key"] == "image.firmware"), "{input}");
        for fact in absent {
            assert!(fact["why"].as_str().is_some_and(|why| why.starts_with("searched: ")), "{fact:#}");
            let origins = fact["origins"].as_array().map_or(0, Vec::len);
            assert!(origins > 0, "{input}: {fact:#}");
        }
    }
}

/// NVIDIA documents both variables, and the value 1.
#[test]
fn ptx_jit_variables_change_the_verdict() {
    let of = |sass: &str, ptx: &str, env: &str| {
        let repository = TestRepository::empty();
        let pool = "[[pool]]\nname = \"p\"\ngpu = \"A100\"\ndriver = \"570.86.15\"\nlaunch = \"docker-cdi\"\ntoolkit = \"1.17.8\"\n";
        repository.file("fleet.toml", &format!("{pool}env = {{ {env} }}\n"));
        let text = format!(
            "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n\
             [[gpu_code]]\nsass = [{sass}]\nptx = [{ptx}]\n"
        );
        repository.file("one.image.toml", &text);
        let told = repository.json(&["check", "one.image.toml"])["subjects"][0]["verdicts"][0].clone();
        let word = |key: &str| told[key].as_str().unwrap_or("-").to_owned();
        (format!("{} {}", word("fate"), word("outcome")), told["codes"].to_string())
    };
    let (off, forced) = ("CUDA_DISABLE_PTX_JIT = \"1\"", "CUDA_FORCE_PTX_JIT = \"1\"");
    let (old, fits, other) = ("\"sm_70\"", "\"sm_80\"", "\"compute_90\"");
    let ptx = "\"compute_70\"";
    for (sass, ptx, env, expected) in [
        (old, ptx, "", "starts -"),
        (old, ptx, off, "fails no-kernel-image"),
        (fits, ptx, off, "starts -"),
        (fits, "", forced, "fails no-kernel-image"),
        (fits, other, forced, "fails no-kernel-image"),
        (fits, ptx, forced, "starts -"),
        (fits, ptx, &format!("{off}, {forced}"), "fails no-kernel-image"),
        (old, ptx, "CUDA_DISABLE_PTX_JIT = \"0\"", "starts -"),
        (fits, "", "CUDA_FORCE_PTX_JIT = \"0\"", "starts -"),
        (fits, "", "CUDA_FORCE_JIT = \"1\"", "starts -"),
    ] {
        assert_eq!(of(sass, ptx, env).0, expected, "{sass} {ptx} {env}");
    }
    // Of PTX that may not be compiled NVIDIA documents a code of its own; none was measured.
    for (sass, ptx, env, certain, possible) in [
        (old, ptx, off, "null", "[209,223]"),
        (fits, "", forced, "209", "[]"),
        (fits, ptx, &format!("{off}, {forced}"), "null", "[209,223]"),
        // PTX for a later GPU would not be compiled either.
        (old, other, off, "209", "[]"),
        (old, "", off, "209", "[]"),
        (old, "", "", "209", "[]"),
        (old, other, forced, "209", "[]"),
    ] {
        let expected = format!("{{\"certain\":{certain},\"possible\":{possible}}}");
        assert_eq!(of(sass, ptx, env).1, expected, "{sass} {ptx} {env}");
    }
}

#[test]
fn libraries_opened_later_are_listed_as_not_seen() {
    let pool = "gpu = \"A100\"\ndriver = \"570.86.15\"\nlaunch = \"docker-cdi\"\ntoolkit = \"1.17.8\"\n";
    let of = |packages: &str| {
        let told = verdict(&format!("FROM python:3.11-slim\nRUN pip install {packages}\n"), pool);
        assert_eq!(told["fate"], "starts", "{told:#}");
        told["not_seen"].to_string()
    };
    let opened = "libraries that cupy opens later";
    assert!(of("cupy-cuda12x==13.3.0").contains(opened), "{}", of("cupy-cuda12x==13.3.0"));
    assert!(!of("torch==2.5.1").contains("opens later"));
}

/// If one value decides several pools, the text for each names only its own possible results.
#[test]
fn finding_text_is_true_for_every_named_pool() {
    let repository = TestRepository::empty();
    let pool = |name: &str, gpu: &str, drivers: &str| {
        format!(
            "[[pool]]\nname = \"{name}\"\ngpu = \"{gpu}\"\ndriver = {drivers}\ntoolkit = \"1.17.8\"\nlaunch = \"docker-gpus\"\n"
        )
    };
    let (older, old) = ("[\"418.226.00\", \"550.54.15\"]", "[\"470.57.02\", \"550.54.15\"]");
    let fleet = [
        pool("t4", "T4", older),
        pool("a100", "A100", old),
        pool("h100", "H100", old),
        pool("t4-too", "T4", older),
        pool("gtx", "GeForce RTX 2080", old),
    ];
    repository.file("fleet.toml", &fleet.concat());
    let image = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nENV NVIDIA_DISABLE_REQUIRE=1\n\
                 RUN apt-get update && apt-get install -y python3-pip\n\
                 RUN pip install torch==2.6.0+cu124 --index-url https://download.pytorch.org/whl/cu124\n";
    repository.file("Dockerfile", image);
    let report = repository.json(&["check", "Dockerfile"]);
    let subject = &report["subjects"][0];
    let mut told: Vec<String> = Vec::new();
    for finding in subject["findings"].as_array().expect("findings") {
        let message = finding["message"].as_str().expect("a message");
        let pools: Vec<&str> = finding["pools"].as_array().expect("pools").iter().filter_map(Value::as_str).collect();
        assert!(message.starts_with(&format!("may fail on {}: ", pools.join(", "))), "{message}");
        let of = |pool: &&str| {
            let own = subject["verdicts"].as_array().expect("verdicts").iter();
            let mut own = own.filter(|verdict| verdict["pool"] == **pool && verdict["component"].is_null());
            own.next().and_then(|verdict| verdict["message"].as_str()).expect("a verdict")
        };
        // Of each pool that it names, its own verdict is the same.
        let mut verdicts: Vec<&str> = pools.iter().map(of).collect();
        verdicts.dedup();
        told.push(format!("{} | {message}", verdicts.join(", ")));
    }
    told.sort();
    assert_eq!(
        told,
        [
            "depends on the driver: compat-not-supported or starts | may fail on gtx: cuda-compat 550.54.15 does not \
             support GeForce RTX 2080 (sm_75)",
            "depends on the driver: compat-unusable or starts | may fail on t4, t4-too: cuda-compat 550.54.15 does not \
             support driver 418.226.00",
            "depends on the driver: gpu-unsupported or starts | may fail on h100: driver 470.57.02 does not support \
             H100 (sm_90); it needs branch 520 or newer",
        ]
    );
}

/// A container without a GPU stops what is known to call CUDA, and leaves open what may be a build without it.
#[test]
fn missing_gpu_stops_programs_known_to_call_cuda() {
    let pool = "gpu = \"A100\"\nlaunch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"\ndriver = \"570.86.15\"\n";
    let of = |text: &str| {
        let verdict = verdict(text, pool);
        let open = !missing(&verdict).is_empty();
        format!("{}{}", verdict["outcome"].as_str().unwrap_or("-"), if open { " ?" } else { "" })
    };
    let cpu = "https://download.pytorch.org/whl/cpu";
    let either = format!(
        "FROM ubuntu:22.04\nRUN if command -v nvidia-smi; then pip install torch==2.7.1; \
         else pip install torch==2.7.1+cpu --index-url {cpu}; fi\n"
    );
    for (text, expected) in [
        ("FROM python:3.11\nRUN pip install torch==2.7.1\n", "no-gpu"),
        ("FROM python:3.11\nRUN pip install cupy-cuda12x\n", "no-gpu"),
        ("FROM python:3.11\nENV NVIDIA_VISIBLE_DEVICES=void\nRUN pip install torch==2.7.1\n", "no-gpu"),
        // A toolkit without a program that uses it: nothing that calls CUDA was found.
        ("FROM ubuntu:22.04\nRUN apt-get install -y nvidia-cuda-toolkit\n", "- ?"),
        ("FROM ubuntu:22.04\nENV NVIDIA_VISIBLE_DEVICES=void\nRUN apt-get install -y cuda-toolkit\n", "- ?"),
        // It may not be there.
        ("FROM ubuntu:22.04\nRUN if [ -e /x ]; then apt-get install -y nvidia-cuda-toolkit; fi\n", "- ?"),
        ("FROM ubuntu:22.04\nRUN [ -e /x ] && apt-get install -y nvidia-cuda-toolkit; true\n", "- ?"),
        ("FROM ubuntu:22.04\nRUN apt-get install -y nvidia-cuda-toolkit-doc\n", "-"),
        // It may be a build without CUDA, or another maker's.
        (either.as_str(), "- ?"),
        ("FROM rocm/vllm:rocm6.2\nRUN pip install -U triton\n", "- ?"),
        ("FROM ubuntu:22.04\nENV NVIDIA_DRIVER_CAPABILITIES=utility\n", "-"),
        ("FROM ubuntu:22.04\nENV NVIDIA_VISIBLE_DEVICES=void NVIDIA_DRIVER_CAPABILITIES=utility\n", "-"),
    ] {
        assert_eq!(of(text), expected, "{text}");
    }
}

/// What a person reads of a Dockerfile on the pools of a fleet.
fn read(dockerfile: &str, fleet: &str, flags: &[&str]) -> String {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", fleet);
    repository.file("Dockerfile", dockerfile);
    test_repository::out(&repository.run(&[&["check", "Dockerfile"], flags].concat()))
}

const A100: &str = "[[pool]]\nname = \"p\"\ngpu = \"A100\"\ndriver = \"570.86.15\"\nlaunch = \"docker-cdi\"\n\
                    toolkit = \"1.17.8\"\nlibrary_directory = \"/usr/lib64\"\n";

#[test]
fn cpu_only_finding_names_the_deciding_package_or_variable() {
    let jax = "FROM python:3.11\nENV NVIDIA_VISIBLE_DEVICES=all\nENV JAX_PLATFORMS=cpu\n\
               RUN pip install \"jax[cuda12_local]==0.4.30\"\n";
    let text = read(jax, A100, &[]);
    for part in [
        "error[cpu-only]: JAX_PLATFORMS=cpu keeps jax 0.4.30 on the CPU\n --> Dockerfile:3:19\n",
        "^^^ JAX_PLATFORMS=cpu\n",
        "  = cause: JAX_PLATFORMS=cpu makes jax ignore the GPU\n",
        "  = help: remove JAX_PLATFORMS from the image\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("built without CUDA") && !text.contains("jax 0.4.30, jax"), "{text}");
    let below = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip\n\
                 RUN pip3 install torch==2.5.1+cpu xformers==0.0.29\n";
    let text = read(below, A100, &[]);
    for part in [
        "error[cpu-only]: torch 2.5.1 is a CPU-only build, so xformers 0.0.29 uses no GPU\n",
        "^^^^^^^^^^^^^^^^ torch 2.5.1 was built without CUDA\n",
        "  = you will see: Torch not compiled with CUDA enabled\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Without a package that runs on it, nothing in the image is for a GPU.
    let own = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip\n\
               RUN pip3 install torch==2.5.1+cpu\n";
    let text = read(own, A100, &[]);
    assert!(text.contains("not applicable") && !text.contains("[cpu-only]"), "{text}");
}

#[test]
fn suggested_commands_repeat_the_input_and_the_fleet() {
    let repository = TestRepository::empty();
    repository.file("ours.toml", &A100.replace("570.86.15", "470.57.02"));
    repository.file("sub/Dockerfile", TORCH);
    let text = test_repository::out(&repository.run(&["check", "--fleet", "ours.toml", "--color", "never", "sub"]));
    assert!(text.contains("\nTrace: imagelint check --why p --fleet ours.toml sub\n"), "{text}");
    assert!(text.ends_with("\nFixes: imagelint check --show-fixes --fleet ours.toml sub\n"), "{text}");
    let trace = test_repository::out(&repository.run(&["check", "--why", "p", "--fleet", "ours.toml", "sub"]));
    assert!(trace.contains("470.57.02"), "{trace}");
}

#[test]
fn an_undeclared_launch_method_is_shown_with_its_possible_outcomes() {
    let bare = "FROM python:3.11-slim\nRUN pip install torch==2.5.1\n";
    let pool = "[[pool]]\nname = \"p\"\ngpu = \"A100\"\ndriver = \"570.86.15\"\ntoolkit = \"1.17.8\"\n";
    let text = read(bare, pool, &[]);
    for part in ["warning[depends]: may fail on p: ", "  = cause: fails (no-gpu) with launch = \"", "; starts with"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for part in ["  = you will see: ", "  = help: set `launch` of pool p", "/rules/depends.html\n", "fleet.toml:"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("no-gpu or starts"), "{text}");
}

#[test]
fn each_refusal_of_the_toolkit_has_one_name() {
    let fleet = A100.replace("570.86.15", "470.57.02").replace("docker-cdi", "docker-gpus");
    let text = read("FROM nvidia/cuda:13.0.1-runtime-ubuntu22.04\n", &fleet, &[]);
    assert!(text.contains("container-refused") && !text.contains(" refused"), "{text}");
    assert!(!text.contains("the container toolkit refuses the image"), "{text}");
}
