//! Which of several Python environments counts.

use serde_json::{Value, json};

use crate::layer_scan::elf::sass;
use crate::layer_scan::image::{Image, Layer};
use crate::layer_scan::{COMPUTE, GPUS, PATH, SITE, debian, facts, fate, repository, scan, torch};

/// torch 2.6 in `/opt/venv`, 2.1 for the interpreter of the system.
fn two_environments() -> Layer {
    let layer = Layer::new()
        .link("/usr/bin/python3", "python3.11")
        .link("/opt/venv/bin/python3", "/usr/bin/python3")
        .link("/opt/venv/bin/python", "python3");
    let layer = layer.text("/opt/venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n");
    let layer = torch(layer, SITE, "2.6.0+cu124", "12.4", &[sass(80, ' '), sass(90, ' ')]);
    torch(layer, "/usr/local/lib/python3.11/dist-packages", "2.1.0+cu121", "12.1", &[sass(80, ' ')])
}

/// The version of torch that counts.
fn counting(report: &Value) -> Value {
    let facts = facts(report);
    let fact = facts.iter().find(|fact| fact["key"] == "torch.version").unwrap_or_else(|| panic!("{report:#}"));
    fact["value"].clone()
}

#[test]
fn command_line_selects_the_python_environment() {
    let link = || two_environments().link("/usr/local/bin/serve", "/opt/venv/bin/serve");
    for (words, expected) in [
        (&["sh", "-c", "exec /opt/venv/bin/python -m serve"][..], Value::from("2.6.0")),
        (&["bash", "-c", ". /opt/venv/bin/activate && python -m serve"], "2.6.0".into()),
        (&["bash", "-c", "source '/opt/venv/bin/activate'; exec serve"], "2.6.0".into()),
        (&["sh", "-c", "cd /app && venv/bin/uvicorn app:app"], "2.6.0".into()),
        (&["venv/bin/python3", "serve.py"], "2.6.0".into()),
        (&["./venv/bin/serve"], "2.6.0".into()),
        (&["/usr/local/bin/serve"], "2.6.0".into()),
        (&["/opt/venv/bin/serve", "--python", "x"], "2.6.0".into()),
        (&["sh", "-c", "python3 serve.py"], "2.1.0".into()),
        (&["/usr/bin/python3", "serve.py"], "2.1.0".into()),
        (&["/opt/other/bin/serve"], "2.1.0".into()),
        (&["sh", "-c", "PATH=/opt/venv/bin:$PATH exec python3 serve.py"], Value::Null),
        (&["bash", "-c", "source /opt/conda/bin/activate x && python3 serve.py"], Value::Null),
        (&["conda", "run", "-n", "x", "python3", "serve.py"], Value::Null),
        (&["sh", "-c", "uv run serve.py"], Value::Null),
    ] {
        let image = Image::new(&[GPUS, COMPUTE]).layer("ADD rootfs", debian()).layer("RUN pip install", link());
        let report = scan(&image.runs_in("/opt").starts(words));
        assert_eq!(counting(&report), expected, "{words:?}");
    }
}

#[test]
fn workload_command_overrides_the_interpreter_of_the_image() {
    let image = Image::new(&[GPUS, COMPUTE]).layer("ADD rootfs", debian()).layer("RUN pip install", two_environments());
    let repository = repository(&[("one", &image.starts(&["/opt/venv/bin/python", "-m", "serve"]))]);
    let registry = crate::layer_scan::registry::Registry::open();
    registry.push(&repository.path("images"), "one", "app:1", None);
    let name = format!("{}/app:1", registry.host());
    let (venv, system) = (Value::from("2.6.0"), Value::from("2.1.0"));
    let cases = [
        (json!({}), &venv),
        (json!({"args": ["--port", "1"]}), &venv),
        (json!({"command": []}), &venv),
        (json!({"command": ["/usr/bin/python3", "serve.py"]}), &system),
        (json!({"command": ["$(RUN)"], "env": [{"name": "RUN", "value": "/usr/bin/python3"}]}), &system),
        (json!({"command": ["python3"], "env": [{"name": "PATH", "value": "/opt/venv/bin:/usr/bin"}]}), &venv),
        (json!({"command": ["python3"], "workingDir": "/opt"}), &system),
        (json!({"command": ["venv/bin/python3"], "workingDir": "/opt"}), &venv),
        (json!({"command": ["$(RUN)"], "env": [{"name": "RUN", "valueFrom": {}}]}), &Value::Null),
        (json!({"command": ["conda", "run", "python3"]}), &Value::Null),
    ];
    let pod = |(at, (container, _)): (usize, &(Value, &Value))| {
        let mut container = container.clone();
        container["name"] = json!("c");
        container["image"] = json!(name);
        container["resources"] = json!({"limits": {"nvidia.com/gpu": 1}});
        json!({"kind": "Pod", "metadata": {"name": format!("p{at}")}, "spec": {"containers": [container]}})
    };
    let pods: Vec<Value> = cases.iter().enumerate().map(pod).collect();
    repository.file("pods.json", &json!({"items": pods}).to_string());
    let services = json!({
        "list": {"image": name, "gpus": "all", "entrypoint": ["/usr/bin/python3", "serve.py"]},
        "line": {"image": name, "gpus": "all", "entrypoint": "/usr/bin/python3 'a b.py'"},
        "more": {"image": name, "gpus": "all", "command": "--port 1"},
        "open": {"image": name, "gpus": "all", "entrypoint": "${RUN} serve.py"},
    });
    repository.file("compose.json", &json!({ "services": services }).to_string());
    let of = |report: &Value, name: &str| {
        let subjects = report["subjects"].as_array().expect("subjects");
        let named = |one: &&Value| one["name"].as_str().is_some_and(|own| own.contains(name));
        let one = subjects.iter().find(named).unwrap_or_else(|| panic!("{name}: {report:#}"));
        counting(&json!({ "subjects": [one] }))
    };
    let report = repository.json(&["scan", "--from-kubernetes", "pods.json"]);
    for (at, (container, expected)) in cases.iter().enumerate() {
        assert_eq!(of(&report, &format!("Pod/p{at}: c")), **expected, "{container}");
    }
    let report = repository.json(&["scan", "--from-kubernetes", "compose.json"]);
    for (name, expected) in [("list", &system), ("line", &system), ("more", &venv), ("open", &Value::Null)] {
        assert_eq!(of(&report, &format!("(service {name})")), *expected, "{name}");
    }
}

#[test]
fn a_package_linked_into_a_cache_is_reported() {
    let cache = "/root/.cache/uv/archive-v0/x";
    for (name, target, told) in [
        ("torch", format!("{cache}/torch"), true),
        ("six", format!("{cache}/six"), false),
        ("torch", "/opt/shared/torch".to_owned(), false),
    ] {
        let layer = torch(Layer::new(), cache, "2.6.0+cu124", "12.4", &[sass(80, ' ')]);
        let layer = layer.link(&format!("{SITE}/{name}"), &target);
        let report = scan(&Image::new(&[GPUS, COMPUTE]).layer("ADD rootfs", debian()).layer("RUN uv", layer));
        let notes = report["subjects"][0]["inspected"]["notes"].to_string();
        assert_eq!(notes.contains("a link into the cache of a tool"), told, "{name}: {notes}");
        let seen: Vec<&Value> = report["subjects"][0]["verdicts"].as_array().expect("verdicts").iter().collect();
        assert!(!told || seen.iter().all(|verdict| verdict["fate"] == "undetermined"), "{name}: {seen:#?}");
    }
}

#[test]
fn a_python_interpreter_is_found_through_its_links() {
    let folder = |of: &str| format!("/usr/local/lib/python{of}/dist-packages");
    let two = |links: &[(&str, &str)]| {
        let layer = torch(Layer::new(), &folder("3.10"), "2.1.0+cu121", "12.1", &[sass(80, ' ')]);
        let layer = torch(layer, &folder("3.12"), "2.6.0+cu124", "12.4", &[sass(80, ' '), sass(90, ' ')]);
        let layer = torch(layer, "/opt/python/lib/python3.12/site-packages", "2.5.0+cu124", "12.4", &[sass(80, ' ')]);
        let layer = links.iter().fold(layer, |layer, (at, to)| layer.link(at, to));
        let image = Image::new(&[GPUS, COMPUTE]).layer("ADD rootfs", debian()).layer("RUN pip install", layer);
        counting(&scan(&image.starts(&["python3", "serve.py"])))
    };
    let alternatives =
        [("/usr/bin/python3", "/etc/alternatives/python3"), ("/etc/alternatives/python3", "/usr/bin/python3.12")];
    assert_eq!(two(&alternatives), "2.6.0");
    assert_eq!(two(&[("/usr/bin/python3", "python3.10")]), "2.1.0");
    assert_eq!(two(&[("/usr/local/bin/python3", "../../../opt/python/bin/python3.12")]), "2.5.0");
    // Of an interpreter that is nowhere to be seen, nothing is known.
    assert_eq!(two(&[]), Value::Null);
}

#[test]
fn pth_directories_and_editable_sources_count() {
    let site = "/usr/local/lib/python3.11/dist-packages";
    let two = |layer: Layer| {
        let layer = torch(layer, "/opt/libs", "2.6.0+cu124", "12.4", &[sass(80, ' '), sass(90, ' ')]);
        torch(layer, "/opt/old", "2.1.0+cu121", "12.1", &[sass(80, ' ')])
    };
    let python = || Layer::new().link("/usr/bin/python3", "python3.11");
    let version = |layer: Layer| {
        let image = Image::new(&[GPUS, COMPUTE]).layer("ADD rootfs", debian()).layer("RUN pip install", layer);
        counting(&scan(&image))
    };
    let added = |text: &str| version(two(python().text(&format!("{site}/own.pth"), text)));
    assert_eq!(added("/opt/libs\n"), "2.6.0");
    assert_eq!(added("import os; os.environ\n# /opt/libs\n../../../../../opt/old\n"), "2.1.0");
    assert_eq!(added("/opt/old/\n\n"), "2.1.0");
    assert_eq!(added("# /opt/libs\nimport x; x('/opt/libs')\n"), Value::Null);
    // As the two ways of installing in place leave it.
    let sources = |layer: Layer| {
        let said = "__version__ = '2.6.0+cu124'\ncuda = '12.4'\n";
        layer.text("/src/torch/version.py", said).text("/src/torch.egg-info/PKG-INFO", "Name: torch\nVersion: 2.6.0\n")
    };
    assert_eq!(version(sources(python()).text(&format!("{site}/torch.egg-link"), "/src\n.")), "2.6.0");
    let record = format!("{site}/torch-2.6.0.dist-info");
    let direct = r#"{"dir_info": {"editable": true}, "url": "file:///src"}"#;
    let layer = sources(python()).text(&format!("{record}/METADATA"), "Name: torch\nVersion: 2.6.0\n");
    let layer = layer.text(&format!("{record}/direct_url.json"), direct);
    let image = Image::new(&[GPUS, COMPUTE]).layer("ADD rootfs", debian()).layer("RUN pip install", layer);
    let report = scan(&image);
    assert!(facts(&report).iter().any(|fact| fact["key"] == "torch.cuda" && fact["value"] == "12.4"), "{report:#}");
}

/// A pool whose driver is between CUDA 11.8 and 12.4, and one whose driver has both.
const BETWEEN: &str = r#"[[pool]]
name = "t4"
gpu = "T4"
driver = "470.182.03"
platform = "linux/amd64"
launch = "docker-gpus"
toolkit = "1.17.8"

[[pool]]
name = "h100"
gpu = "H100"
driver = "570.211.01"
platform = "linux/amd64"
launch = "docker-gpus"
toolkit = "1.17.8"
"#;
const CUDA_12: (&str, Option<&str>) = ("2.6.0+cu124", Some("12.4"));
const CUDA_11: (&str, Option<&str>) = ("2.1.0+cu118", Some("11.8"));
const CPU: (&str, Option<&str>) = ("2.6.0+cpu", None);

/// A torch of one build in each of two environments, and what becomes of the image: fates, and `torch.cuda`.
fn scan_two_environments(
    builds: [(&str, Option<&str>); 2],
    number: u32,
    words: &[&str],
) -> ([String; 2], Option<String>, Value) {
    let layer = ["a", "b"].iter().zip(builds).fold(Layer::new(), |layer, (name, (version, cuda))| {
        let site = format!("/opt/{name}/lib/python3.11/site-packages");
        let layer = layer.text(&format!("/opt/{name}/pyvenv.cfg"), "home = /usr/bin\nversion = 3.11.2\n");
        let layer = layer.link(&format!("/opt/{name}/bin/python"), "/usr/bin/python3.11");
        match cuda {
            Some(cuda) => torch(layer, &site, version, cuda, &[sass(75, ' '), sass(number, ' ')]),
            None => layer.text(
                &format!("{site}/torch/version.py"),
                &format!("__version__ = '{version}'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n"),
            ),
        }
    });
    let image = Image::new(&[GPUS, COMPUTE]).layer("ADD rootfs", debian()).layer("RUN pip install", layer);
    let repository = repository(&[("one", &image.starts(words))]);
    repository.file("fleet.toml", BETWEEN);
    let report = repository.json(&["scan", "oci:images:one"]);
    let known = |fact: &&Value| fact["key"] == "torch.cuda" && fact["state"] == "known";
    let cuda = facts(&report).iter().find(known).and_then(|fact| Some(fact["value"].as_str()?.to_owned()));
    (["t4", "h100"].map(|pool| fate(&report, pool)), cuda, report)
}

#[test]
fn two_environments_decide_only_if_both_agree() {
    for builds in [[CUDA_12, CUDA_11], [CUDA_11, CUDA_12], [CPU, CUDA_12], [CUDA_12, CPU], [CPU, CUDA_11]] {
        for number in [80, 90] {
            let (fates, cuda, report) = scan_two_environments(builds, number, &["/entry.sh"]);
            assert_eq!((&fates[0][..], cuda), ("undetermined", None), "{builds:?}: {report:#}");
            let both_lack_code = number == 80 && !builds.contains(&CPU);
            let expected = if both_lack_code { "fails no-kernel-image" } else { "undetermined" };
            assert_eq!(fates[1], expected, "{builds:?} with {number}: {report:#}");
            assert!(report.to_string().contains("several environments contain torch"), "{builds:?}");
        }
    }
    // What all of them have in common holds, whichever it is.
    let later = ("2.5.0+cu124", Some("12.4"));
    for builds in [[CUDA_12, later], [later, CUDA_12], [CUDA_12, CUDA_12]] {
        let (fates, cuda, report) = scan_two_environments(builds, 90, &["/entry.sh"]);
        assert_eq!(fates, ["fails insufficient-driver", "starts"], "{builds:?}: {report:#}");
        assert_eq!(cuda.as_deref(), Some("12.4"));
    }
    // Where it is known which of them runs, the other says nothing.
    for (name, [t4, h100]) in [("a", ["fails insufficient-driver", "starts"]), ("b", ["starts", "starts"])] {
        let program = format!("/opt/{name}/bin/python");
        let (fates, _, report) = scan_two_environments([CUDA_12, CUDA_11], 90, &[&program, "serve.py"]);
        assert_eq!(fates, [t4, h100], "{name}: {report:#}");
    }
}

#[test]
fn record_matching_the_installed_version_counts() {
    let image = |records: &[&str]| {
        let layer = torch(Layer::new(), SITE, "2.6.0+cu124", "12.4", &[sass(75, ' '), sass(90, ' ')]);
        let layer = records.iter().fold(layer.without(&format!("{SITE}/none")), |layer, version| {
            let text = format!("Metadata-Version: 2.1\nName: torch\nVersion: {version}\n");
            layer.text(&format!("{SITE}/torch-{version}.dist-info/METADATA"), &text)
        });
        Image::new(&[GPUS, COMPUTE]).layer("ADD rootfs", debian()).layer("RUN pip install", layer)
    };
    for records in [&["2.1.0"][..], &["2.7.1"], &["2.1.0", "2.7.1"], &[]] {
        let report = scan(&image(records));
        assert_eq!(counting(&report), "2.6.0", "{records:?}");
        let cuda = facts(&report).iter().find(|fact| fact["key"] == "torch.cuda").expect("a fact");
        assert_eq!(cuda["value"], "12.4", "{records:?}");
    }
}

#[test]
fn packages_in_any_directory_count_but_caches_do_not() {
    let two = |site: &str| {
        let layer = torch(Layer::new(), site, "2.6.0+cu124", "12.4", &[sass(80, ' ')]);
        let image = Image::new(&[GPUS, COMPUTE, PATH]).layer("ADD rootfs", debian());
        scan(&image.layer("RUN pip install --target", layer))
    };
    for site in ["/app/vendor", "/app/deps", "/srv/vendor/python", "/vendor"] {
        let report = two(site);
        assert_eq!([fate(&report, "a100"), fate(&report, "h100")], ["starts", "fails no-kernel-image"], "{site}");
        assert_eq!(counting(&report), "2.6.0", "{site}: {report:#}");
    }
    // A record without the package is none that a program could import.
    let text = "Metadata-Version: 2.1\nName: torch\nVersion: 2.6.0+cpu\n";
    let record = Layer::new().text("/srv/data/torch-2.6.0+cpu.dist-info/METADATA", text);
    let report = scan(&Image::new(&[GPUS, COMPUTE, PATH]).layer("ADD rootfs", debian()).layer("COPY data", record));
    assert!(!facts(&report).iter().any(|fact| fact["key"] == "torch.version"), "{report:#}");
    for site in [
        "/root/.cache/uv/archive-v0/x",
        "/tmp/build/vendor",
        "/app/tests/vendor",
        "/opt/venv/lib/python3.11/site-packages/pip/_vendor",
        "/opt/conda/pkgs/pytorch-2.6.0-py3.11_cuda12.4_0/vendor",
    ] {
        let report = two(site);
        let version = |fact: &Value| fact["key"] == "torch.version" && fact["value"] == "2.6.0";
        assert!(!facts(&report).iter().any(version), "{site}: {report:#}");
    }
}
