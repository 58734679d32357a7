//! Launch methods from workload files: the engine, the nvidia runtime or a device plugin. They have priority over the pool.

use serde_json::Value;

use crate::layer_scan::elf::sass;
use crate::layer_scan::image::{Image, Layer};
use crate::layer_scan::registry::Registry;
use crate::layer_scan::test_repository::TestRepository;
use crate::layer_scan::{COMPUTE, GPUS, PATH, SITE, debian, repository, torch};

const STARTS: &str = "starts";
const NO_GPU: &str = "fails no-gpu";

/// One pool with an H100 for each launch; none of `open`.
fn fleet(launches: &[&str]) -> String {
    let pool = |launch: &&str| {
        let said = if *launch == "open" { String::new() } else { format!("launch = \"{launch}\"\n") };
        format!(
            "[[pool]]\nname = \"{launch}\"\ngpu = \"H100\"\ndriver = \"580.65.06\"\nplatform = \"linux/amd64\"\ntoolkit = \"1.17.8\"\n{said}\n"
        )
    };
    launches.iter().map(pool).collect()
}

/// A place with an image `unset` that says nothing of devices and one, `all`, that asks for all, and a registry that has both.
fn images() -> (TestRepository, Registry) {
    let image = |env: &[&str]| {
        let layer = torch(Layer::new(), SITE, "2.6.0+cu124", "12.4", &[sass(80, ' '), sass(90, ' ')]);
        Image::new(env).layer("ADD rootfs", debian()).layer("RUN pip install torch", layer)
    };
    let repository = repository(&[("unset", &image(&[COMPUTE, PATH])), ("all", &image(&[GPUS, COMPUTE, PATH]))]);
    let registry = Registry::open();
    for name in ["unset", "all"] {
        registry.push(&repository.path("images"), name, &format!("app:{name}"), None);
    }
    (repository, registry)
}

/// Judges a file in which `IMAGE:` stands for the name of the images.
fn scan(repository: &TestRepository, registry: &Registry, text: &str) -> Value {
    repository.file("file.yaml", &text.replace("IMAGE:", &format!("{}/app:", registry.host())));
    repository.json(&["scan", "--fail-on", "never", "--from-kubernetes", "file.yaml"])
}

/// Fate and outcome of a workload on each pool, and the whole report.
fn fates(report: &Value, workload: &str) -> Vec<(String, String)> {
    let subjects = report["subjects"].as_array().expect("subjects");
    let of = |subject: &&Value| subject["name"].as_str().is_some_and(|name| name.ends_with(&format!("{workload})")));
    let subject = subjects.iter().find(of).unwrap_or_else(|| panic!("{workload}: {report:#}"));
    let verdicts = subject["verdicts"].as_array().expect("verdicts").iter();
    let text = |verdict: &Value, key: &str| verdict[key].as_str().map(str::to_owned);
    let of_image = verdicts.filter(|verdict| verdict["component"].is_null());
    let told = of_image.map(|verdict| {
        let outcome = text(verdict, "outcome").map(|outcome| format!(" {outcome}")).unwrap_or_default();
        (text(verdict, "pool").expect("a pool"), format!("{}{outcome}", text(verdict, "fate").expect("a fate")))
    });
    told.collect()
}

const COMPOSE: &str = r#"services:
  none: {image: "IMAGE:all", runtime: nvidia, environment: {NVIDIA_VISIBLE_DEVICES: none}}
  void: {image: "IMAGE:all", runtime: nvidia, environment: [NVIDIA_VISIBLE_DEVICES=void]}
  unset: {image: "IMAGE:unset", runtime: nvidia}
  image: {image: "IMAGE:all", runtime: nvidia}
  told: {image: "IMAGE:unset", runtime: nvidia, environment: {NVIDIA_VISIBLE_DEVICES: all}}
  flag: {image: "IMAGE:unset", gpus: all, environment: [NVIDIA_VISIBLE_DEVICES=none]}
  both: {image: "IMAGE:unset", gpus: all, runtime: nvidia}
  reserved:
    image: "IMAGE:unset"
    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: all, capabilities: [gpu]}]}}}
  names: {image: "IMAGE:unset", devices: ["nvidia.com/gpu=all"]}
  other:
    image: "IMAGE:unset"
    deploy: {resources: {reservations: {devices: [{driver: amd, count: 1, capabilities: [gpu]}]}}}
"#;

#[test]
fn compose_launch_method_overrides_the_pool() {
    let (repository, registry) = images();
    repository.file("fleet.toml", &fleet(&["docker-gpus", "nvidia-runtime", "open"]));
    let report = scan(&repository, &registry, COMPOSE);
    for (service, expected) in [
        ("none", NO_GPU),
        ("void", NO_GPU),
        ("unset", NO_GPU),
        ("image", STARTS),
        ("told", STARTS),
        ("flag", STARTS),
        ("both", STARTS),
        ("reserved", STARTS),
        ("names", STARTS),
    ] {
        let told = fates(&report, &format!("service {service}"));
        assert_eq!(told.len(), 3);
        for (pool, fate) in told {
            assert_eq!(fate, expected, "{service} on {pool}: {report:#}");
        }
    }
    assert!(!report.to_string().contains("service other"), "GPUs of another maker: {report:#}");
    let note = |service: &str| {
        let subjects = report["subjects"].as_array().expect("subjects").iter();
        let mut of = subjects.filter(|one| one["name"].as_str().is_some_and(|name| name.contains(service)));
        of.next().expect(service)["inspected"]["notes"].to_string()
    };
    let told = "`launch` of docker-gpus is ignored";
    assert!(note("service unset").contains(told) && !note("service flag").contains(told), "{report:#}");
    // A saved report says it again.
    repository.file("saved.json", &report.to_string());
    let again = repository.json(&["check", "--fail-on", "never", "saved.json"]);
    for service in ["none", "unset", "flag"] {
        assert_eq!(fates(&again, &format!("service {service}")), fates(&report, &format!("service {service}")));
    }
}

const PODS: &str = r#"# Pods of one node.
{kind: Pod, metadata: {name: unset}, spec: {runtimeClassName: nvidia, containers: [{name: c, image: "IMAGE:unset"}]}}
---
kind: Pod
metadata: {name: none}
spec:
  runtimeClassName: nvidia
  containers: [{name: c, image: "IMAGE:all", env: [{name: NVIDIA_VISIBLE_DEVICES, value: none}]}]
---
{kind: Pod, metadata: {name: image}, spec: {runtimeClassName: nvidia, containers: [{name: c, image: "IMAGE:all"}]}}
---
kind: Pod
metadata: {name: given}
spec:
  runtimeClassName: nvidia
  containers: [{name: c, image: "IMAGE:unset", resources: {limits: {nvidia.com/gpu: 1}}}]
---
kind: Pod
metadata: {name: plain}
spec:
  containers: [{name: c, image: "IMAGE:unset", resources: {limits: {nvidia.com/gpu: 1}}}]
"#;

#[test]
fn pod_without_device_plugin_request_gets_gpus_from_its_environment() {
    let (repository, registry) = images();
    repository.file("fleet.toml", &fleet(&["kubernetes", "open"]));
    let report = scan(&repository, &registry, PODS);
    for (pod, expected) in
        [("unset", NO_GPU), ("none", NO_GPU), ("image", STARTS), ("given", STARTS), ("plain", STARTS)]
    {
        for (pool, fate) in fates(&report, &format!("default/Pod/{pod}: c")) {
            assert_eq!(fate, expected, "{pod} on {pool}: {report:#}");
        }
    }
    // Where the pool hands out GPUs without that runtime, its class says nothing.
    repository.file("fleet.toml", &fleet(&["gke"]));
    let report = scan(&repository, &registry, PODS);
    let of = |pod: &str| fates(&report, &format!("default/Pod/{pod}: c"));
    assert_eq!(of("unset"), of("given"), "{report:#}");
}

#[test]
fn variables_from_env_from_are_reported_as_unread() {
    let (repository, registry) = images();
    repository.file("fleet.toml", &fleet(&["kubernetes"]));
    let pod = |from: &str| {
        format!(
            "kind: Pod\nmetadata: {{name: p}}\nspec:\n  runtimeClassName: nvidia\n  containers: [{{name: c, image: \
             \"IMAGE:unset\"{from}}}]\n"
        )
    };
    for (from, fate, told) in [
        (", envFrom: [{configMapRef: {name: c}}]", "undetermined", Some("`envFrom` of the pod was not read")),
        (", envFrom: []", NO_GPU, None),
        ("", NO_GPU, None),
    ] {
        let report = scan(&repository, &registry, &pod(from));
        assert_eq!(fates(&report, "p: c"), [("kubernetes".to_owned(), fate.to_owned())], "{from}: {report:#}");
        let text = report.to_string();
        assert!(told.is_none_or(|told| text.contains(told)), "{from}: {report:#}");
        assert!(
            !text.contains("is not in the compatibility database")
                && (told.is_some() || !text.contains("was not read")),
            "{from}"
        );
    }
    repository.file("fleet.toml", &fleet(&["docker-gpus"]));
    let text = "services: {s: {image: 'IMAGE:unset', runtime: nvidia, env_file: a.env}}\n";
    let report = scan(&repository, &registry, text);
    assert!(report.to_string().contains("`env_file` of the service was not read"), "{report:#}");
}
