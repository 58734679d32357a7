//! `imagelint fleet`: pools out of what exists, compared with it, and selected for, through the built program.

use crate::support::test_repository;
mod init;
mod messages;
mod mig;
mod round_trip;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use test_repository::{TestRepository, code, err, out};

/// The text of a fixture.
fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/nodes").join(name);
    std::fs::read_to_string(path).expect(name)
}

fn nodes() -> Value {
    serde_json::from_str(&fixture("nodes.json")).expect("nodes")
}

/// A place with the nodes, and with the fleet that is imported from them.
fn imported() -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("nodes.json", &fixture("nodes.json"));
    let output = repository.run(&["fleet", "import", "nodes.json"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    repository.file("fleet.toml", &out(&output));
    repository
}

/// A fleet file as a table, by pool.
fn pools(text: &str) -> BTreeMap<String, toml::Table> {
    let table: toml::Table = text.parse().expect("TOML");
    let pools = table["pool"].as_array().expect("pools").iter().map(|pool| pool.as_table().expect("a pool").clone());
    pools.map(|pool| (pool["name"].as_str().expect("a name").to_owned(), pool)).collect()
}

/// What is imported from one source.
fn import(name: &str, text: &str) -> (i32, String, String) {
    let repository = TestRepository::empty();
    repository.file(name, text);
    let output = repository.run(&["fleet", "import", name]);
    (code(&output), out(&output), err(&output))
}

#[test]
fn a_fleet_file_is_given_by_its_place_or_by_the_option_of_other_commands() {
    let repository = imported();
    let text = std::fs::read_to_string(repository.path("fleet.toml")).expect("fleet");
    repository.file("other.toml", &text.replace("train-", "other-"));
    for command in ["check", "show"] {
        let given = repository.run(&["fleet", command, "other.toml"]);
        let optional = repository.run(&["fleet", command, "--fleet", "other.toml"]);
        assert_eq!((code(&optional), out(&optional)), (code(&given), out(&given)), "{}", err(&optional));
        assert!(out(&optional).contains("other-a100") && !out(&optional).contains("train-a100"), "{}", out(&optional));
        let both = repository.run(&["fleet", command, "other.toml", "--fleet", "fleet.toml"]);
        assert_eq!(code(&both), 2, "{}", out(&both));
    }
}

#[test]
fn equal_nodes_form_one_pool_and_different_nodes_do_not() {
    let repository = imported();
    let text = std::fs::read_to_string(repository.path("fleet.toml")).expect("fleet");
    let found = pools(&text);
    let get = |name: &str| found.get(name).unwrap_or_else(|| panic!("{name} of {:?}", found.keys()));
    assert_eq!(found.len(), 9);
    let train = get("train-a100-sxm4-80gb-x8-535");
    assert_eq!(train["nodes"].as_integer(), Some(2));
    assert_eq!(train["driver"].as_str(), Some("535.161.08"));
    assert_eq!(train["launch"].as_str(), Some("kubernetes"));
    assert_eq!(train["gpu"]["count"].as_integer(), Some(8));
    assert_eq!(train["labels"]["eks.amazonaws.com/nodegroup"].as_str(), Some("train"));
    // Labels of the old names alone.
    assert_eq!(get("tesla-t4-x4-450")["driver"].as_str(), Some("450.80.02"));
    // Two unlabelled nodes: the machine type of one is known, and nothing of the other.
    assert_eq!(get("tesla-t4-x4")["gpu"]["name"].as_str(), Some("Tesla T4"));
    assert!(get("tesla-t4-x4").get("driver").is_none());
    assert!(get("pool").get("gpu").is_none() && get("pool").get("driver").is_none());
    assert_eq!(get("gh200-480gb")["platform"].as_str(), Some("linux/arm64"));
    assert_eq!(get("l4")["gpu"]["name"].as_str(), Some("NVIDIA L4"));
    assert_eq!(get("a100-sxm4-40gb-mig")["gpu"]["mig"].as_str(), Some("1g.5gb"));
    assert_eq!(get("h100-80gb-hbm3-mig")["gpu"]["mig"].as_bool(), Some(true));
    // What no label says is asked, and declared nowhere.
    for pool in found.values() {
        assert!(pool.get("toolkit").is_none() && pool.get("mode").is_none() && pool.get("runtime").is_none());
    }
    assert_eq!(text.matches("# ? toolkit = ").count(), 9);
    assert!(text.contains("shared with time slicing, 4 containers per GPU"), "{text}");
    assert!(text.contains("Skipped: 2 nodes without GPUs."), "{text}");
    assert!(!text.contains("train-1") && !text.contains("hostname"), "names of nodes are nobody's business: {text}");
}

#[test]
fn the_order_and_the_number_of_nodes_change_no_name() {
    let mut later = nodes();
    let items = later["items"].as_array_mut().expect("items");
    items.reverse();
    let mut more = items.clone();
    for node in &mut more {
        node["metadata"]["name"] = json!("more");
    }
    items.extend(more);
    let (code, text, _) = import("nodes.json", &later.to_string());
    assert_eq!(code, 0);
    let first = import("nodes.json", &fixture("nodes.json")).1;
    assert_eq!(pools(&text).keys().collect::<Vec<_>>(), pools(&first).keys().collect::<Vec<_>>());
    assert_eq!(pools(&text)["l4"]["nodes"].as_integer(), Some(2));
}

#[test]
fn a_gpu_on_the_pci_bus_without_a_driver_is_not_available() {
    let import_of = |labels: &Value| {
        let node = json!({"kind": "Node", "metadata": {"name": "n", "labels": labels}});
        import("nodes.json", &json!({"kind": "NodeList", "items": [node]}).to_string())
    };
    for label in ["pci-10de", "pci-0302_10de", "pci-0300_10de"] {
        let (code, text, error) = import_of(&json!({format!("feature.node.kubernetes.io/{label}.present"): "true"}));
        assert_eq!(code, 0, "{error}");
        let pool = pools(&text).into_values().next().expect("a pool");
        assert!(pool.get("gpu").is_none() && pool.get("driver").is_none(), "{text}");
        assert!(text.contains("an NVIDIA device on the PCI bus") && !text.contains("Skipped"), "{text}");
    }
    for labels in [
        json!({}),
        json!({"feature.node.kubernetes.io/pci-10de.present": "false"}),
        json!({"feature.node.kubernetes.io/pci-0200_15b3.present": "true"}),
        json!({"feature.node.kubernetes.io/pci-0403_10de.present": "true"}),
        json!({"feature.node.kubernetes.io/pci-1002.present": "true"}),
    ] {
        let (code, text, error) = import_of(&labels);
        assert!(code == 3 && text.is_empty() && error.contains("1 node without"), "{labels}: {error}");
    }
    let (_, text, _) = import_of(&json!({
        "feature.node.kubernetes.io/pci-10de.present": "true", "nvidia.com/gpu.product": "Tesla-T4"
    }));
    assert!(!text.contains("on the PCI bus"), "{text}");
}

#[test]
fn every_source_is_imported_without_invented_values() {
    let one = |name: &str, text: &str| {
        let (code, text, error) = import(name, text);
        assert_eq!(code, 0, "{name}: {error}");
        let found = pools(&text);
        assert_eq!(found.len(), 1, "{name}");
        (found.into_values().next().expect("a pool"), text)
    };
    let (gke, text) = one("nodes.yaml", &fixture("nodes.yaml"));
    assert!(gke.get("launch").is_none() && gke.get("driver").is_none(), "two launches are possible there");
    assert!(text.contains("# ? launch = \"gke\"") && gke["name"].as_str() == Some("t4"), "{text}");
    let (smi, text) = one("smi.xml", &fixture("smi.xml"));
    assert_eq!(smi["gpu"]["name"].as_str(), Some("NVIDIA A100-SXM4-40GB"));
    assert_eq!((smi["gpu"]["count"].as_integer(), smi["driver"].as_str()), (Some(2), Some("535.161.08")));
    assert!(smi.get("launch").is_none() && smi.get("platform").is_none() && text.contains("# ? launch"), "{text}");
    let (csv, _) = one("smi.csv", &fixture("smi.csv"));
    assert_eq!((csv["gpu"]["count"].as_integer(), csv["driver"].as_str()), (Some(2), Some("450.80.02")));
    let body = fixture("smi.csv").lines().skip(1).collect::<Vec<_>>().join("\n");
    assert_eq!(one("smi.csv", &body).0["gpu"], csv["gpu"], "the same without its header");
    let (named, _) = one("names.csv", "NVIDIA L4\nNVIDIA L4\n");
    assert_eq!(named["gpu"]["count"].as_integer(), Some(2), "names that are known need no header");
    let (listed, _) = one("l.txt", "GPU 0: NVIDIA L4 (UUID: GPU-1)\nGPU 1: NVIDIA L4 (UUID: GPU-2)\n");
    assert_eq!((listed["gpu"]["name"].as_str(), listed["gpu"]["count"].as_integer()), (Some("NVIDIA L4"), Some(2)));
    assert!(listed.get("driver").is_none() && listed["gpu"].get("mig").is_none());
    let parts = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n  MIG 1g.10gb Device 0: (UUID: MIG-1)\n  \
                 MIG 1g.10gb Device 1: (UUID: MIG-2)\n";
    assert_eq!(one("l.txt", parts).0["gpu"]["mig"].as_str(), Some("1g.10gb"));
    let (target, _) = one("gpu-targets.yml", &fixture("gpu-targets.yml"));
    assert_eq!(target["compute_capability"].as_str(), Some("7.5"));
    assert!(target.get("gpu").is_none() && target.get("nodes").is_none());
}

#[test]
fn values_missing_in_nvidia_smi_stay_undeclared() {
    let unknown = "name, driver_version, compute_cap\nNVIDIA Z999, [N/A], [N/A]\n";
    let text = import("smi.csv", unknown).1;
    let pool = pools(&text).into_values().next().expect("a pool");
    assert!(pool.get("gpu").is_none() && pool.get("driver").is_none(), "{text}");
    assert!(text.contains("NVIDIA Z999"), "{text}");
    // With its compute capability it can be declared.
    let text = import("smi.csv", &unknown.replace("[N/A]\n", "12.9\n")).1;
    let pool = pools(&text).into_values().next().expect("a pool");
    assert_eq!(pool["gpu"]["compute_capability"].as_str(), Some("12.9"));
    // A machine has one driver: these are several machines, and their number is unknown.
    let several = "name, driver_version\nTesla T4, 450.80.02\nTesla T4, 535.161.08\n";
    let found = pools(&import("smi.csv", several).1);
    assert_eq!(found.len(), 2);
    assert!(found.values().all(|pool| pool.get("nodes").is_none()));
}

#[test]
fn machine_types_are_read_from_the_tables() {
    let repository = TestRepository::empty();
    let output = repository.run(&["fleet", "import", "--instance", "p5.48xlarge=4", "--instance", "g4dn.xlarge"]);
    let found = pools(&out(&output));
    assert_eq!(found["p5.48xlarge"]["nodes"].as_integer(), Some(4));
    assert_eq!(found["p5.48xlarge"]["gpu"]["count"].as_integer(), Some(8));
    assert!(found["g4dn.xlarge"].get("nodes").is_none());
    for (instance, told) in [
        ("p5.48xlarg", "the nearest names are `p5.48xlarge`"),
        ("p5.48xlarge=many", "`many` is not a number of nodes"),
        (
            "m5.large",
            "machine type `m5.large` has no NVIDIA GPU, or is not in the compatibility database; the nearest names are `g",
        ),
        ("zzz", "machine type `zzz` has no NVIDIA GPU, or is not in the compatibility database\n"),
    ] {
        let output = repository.run(&["fleet", "import", "--instance", instance]);
        assert_eq!((code(&output), out(&output).as_str()), (2, ""), "{instance}");
        assert!(err(&output).contains(told), "{}", err(&output));
    }
}

#[test]
fn broken_sources_are_errors_with_their_place() {
    let deep = "{\"items\":[".repeat(5000);
    let xml = |body: &str| format!("<nvidia_smi_log>{body}</nvidia_smi_log>");
    let mut bomb = "kind: List\na: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for at in 1..9 {
        let (own, below) = (char::from(b'a' + at), char::from(b'a' + at - 1));
        let line = format!("{own}: &{own} [{}]\n", vec![format!("*{below}"); 9].join(","));
        bomb.push_str(&line);
    }
    bomb += "items: [{kind: Node, metadata: {labels: *i}}]\n";
    let cases: &[(&str, String, &str)] = &[
        ("n.json", "{".to_owned(), "line 1"),
        ("n.json", deep, "recursion"),
        ("n.json", "{\"kind\":\"Node\",\n\"metadata\":{\"labels\":5}}".to_owned(), "line 2"),
        ("n.json", "{\"kind\":\"Node\",\n\"metadata\":{\"labels\":{\"a\":1}}}".to_owned(), "line 2"),
        ("n.json", "{\"kind\":\"Node\",\"metadata\":[]}\n".to_owned(), "line 1"),
        ("n.json", "{\"kind\":\"Pod\"}".to_owned(), "it contains no node"),
        ("n.json", "{}".to_owned(), "it contains no node"),
        ("n.yaml", "kind: Node\nmetadata: {labels: [a]}\n".to_owned(), "line 2"),
        ("n.yaml", "kind: Node\nmetadata: {labels: {a\n".to_owned(), "line"),
        ("n.yaml", bomb, "cannot read n.yaml"),
        ("t.yml", "version: 1\ntargets: []\n".to_owned(), "0 targets"),
        ("t.yml", "version: 2\ntargets: [{name: a}]\n".to_owned(), "version 2"),
        ("t.yml", "version: 1\ntargets: [{name: a, gpu: T4}]\n".to_owned(), "line 2"),
        ("t.yml", "version: 1\ntargets: [{name: a, driver: new}]\n".to_owned(), "target a"),
        ("s.xml", xml(""), "no GPU"),
        ("s.xml", xml("<gpu></gpu>"), "product_name"),
        ("s.xml", xml("\n<gpu>&xxe;</gpu>"), "line 2: unexpected entity"),
        ("s.xml", xml("\n<gpu></gqu>"), "line 2"),
        ("s.xml", "<nvidia_smi_log>\n<gpu>".to_owned(), "line 2: the file ends too early"),
        ("s.xml", xml(&"<a>".repeat(100_000)), "exceeds the size limit"),
        ("s.xml", xml(&"<gpu/>".repeat(3)), "no GPU"),
        ("s.xml", xml("<driver_version>x</driver_version><gpu><product_name>A</product_name></gpu>"), "driver_version"),
        ("s.xml", "<html></html>".to_owned(), "`html` is not"),
        ("s.csv", "index, uuid\n0, GPU-1\n".to_owned(), "unknown format"),
        ("s.csv", "driver_version, uuid\n535.161.08, GPU-1\n".to_owned(), "no column `name`"),
        ("s.csv", "name, driver_version\nTesla T4\n".to_owned(), "line 2: got 1 values, expected 2"),
        ("s.csv", "name, driver_version\nTesla T4, new\n".to_owned(), "line 2"),
        ("s.csv", "name, driver_version\n[N/A], 535.161.08\n".to_owned(), "line 2: a GPU without a name"),
        ("s.csv", "name, driver_version\n".to_owned(), "no GPU"),
        ("s.csv", String::new(), "unknown format"),
        ("s.csv", "No devices were found\n".to_owned(), "unknown format"),
        (
            "s.csv",
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n".to_owned(),
            "unknown format",
        ),
        ("s.csv", "Failed to initialize NVML: Driver/library version mismatch\n".to_owned(), "unknown format"),
        ("s.csv", "bash: nvidia-smi: command not found\n".to_owned(), "unknown format"),
        ("s.csv", "The connection to the server localhost:8080 was refused\n".to_owned(), "unknown format"),
        ("s.csv", "NVIDIA Z999\n".to_owned(), "unknown format"),
        ("s.csv", "NVIDIA L4\nNo devices were found\n".to_owned(), "unknown format"),
        ("smi.txt", "Wed Nov 18 10:00:00 2026\n+-----+\n| NVIDIA-SMI 535.161.08 |\n".to_owned(), "--format=csv"),
        ("l.txt", "GPU 0: NVIDIA L4 (UUID: GPU-1)\nGPU 1: Unable to determine\n".to_owned(), "line 2: neither"),
        ("l.txt", "  MIG 1g.10gb Device 0: (UUID: MIG-1)\n".to_owned(), "unknown format"),
        ("s.csv", "\u{0}\u{1}\n".to_owned(), "unknown format"),
    ];
    for (name, text, told) in cases {
        let (code, printed, error) = import(name, text);
        let start: String = text.chars().take(60).collect();
        assert_eq!((code, printed.as_str()), (2, ""), "{name} {start}: {error}");
        assert!(error.contains(told), "{name} {start}: {error}");
        assert!(error.len() < 2000, "{name} {start}: {error}");
    }
    let repository = TestRepository::empty();
    std::fs::write(repository.path("raw.csv"), b"name\n\xff\xfe T4\n").expect("written");
    for arguments in [vec!["raw.csv"], vec!["nowhere.json"], vec!["-", "-"], vec!["."]] {
        let output = repository.run(&[&["fleet", "import"][..], &arguments].concat());
        assert_eq!(code(&output), 2, "{arguments:?}");
    }
}

#[test]
fn nodes_with_other_gpu_vendors_are_counted_separately() {
    let of = |resource: &str, number: &str| json!({ "kind": "Node", "metadata": { "name": "n" }, "status": { "capacity": { "cpu": "8", resource: number } } });
    let list = |nodes: &[Value]| json!({ "kind": "NodeList", "items": nodes }).to_string();
    let others = [of("amd.com/gpu", "8"), of("amd.com/gpu", "4"), of("gpu.intel.com/xe", "1"), of("memory", "1Gi")];
    let (code, text, error) = import("nodes.json", &list(&others));
    assert_eq!((code, text.as_str()), (3, ""), "{error}");
    let told = "2 nodes with AMD GPUs, 1 node with Intel GPUs, 1 node without GPUs";
    assert!(error.contains(&format!("found no machine with an NVIDIA GPU ({told})")), "{error}");
    let (code, text, error) = import("nodes.json", &list(&[&others[..], &[of("nvidia.com/gpu", "1")]].concat()));
    assert_eq!(code, 0, "{error}");
    assert!(text.contains(&format!("# Skipped: {told}.\n")), "{text}");
    // None of them offers a GPU.
    for node in [of("amd.com/gpu", "0"), of("amd.com/vcn", "8"), of("gpu", "8"), of("example.com/gpu", "8")] {
        let (code, _, error) = import("nodes.json", &list(std::slice::from_ref(&node)));
        assert!(code == 3 && error.contains("(1 node without GPUs)"), "{node}: {error}");
    }
}

/// A cluster without any GPU is no error and no fleet.
#[test]
fn nodes_without_gpus_make_no_pool() {
    let node = json!({ "kind": "Node", "metadata": { "name": "a", "labels": { "nvidia.com/gpu.present": "false" } } });
    let (code, text, error) = import("nodes.json", &node.to_string());
    assert_eq!((code, text.as_str()), (3, ""), "{error}");
    let empty = import("nodes.json", "{\"kind\": \"NodeList\", \"items\": []}");
    assert_eq!(empty.0, 3, "{}", empty.2);
}

/// Whatever stands in a label, what is written is one fleet file that says what was read.
#[test]
fn labels_cannot_write_fields_of_their_own() {
    let evil = "x\"\nlaunch = \"native\"\n[[pool]]\nname = \"evil\" # \u{1b}[31m";
    let mut node = nodes()["items"][0].clone();
    node["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = json!(evil);
    node["metadata"]["name"] = json!(evil);
    node["status"]["nodeInfo"]["containerRuntimeVersion"] = json!(format!("docker://1{evil}"));
    let repository = TestRepository::empty();
    repository.file("nodes.json", &node.to_string());
    let output = repository.run(&["fleet", "import", "--with-names", "nodes.json"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let text = out(&output);
    let found = pools(&text);
    assert_eq!(found.len(), 1, "{text}");
    let pool = found.values().next().expect("a pool");
    assert_eq!(pool["launch"].as_str(), Some("kubernetes"));
    assert!(!text.contains('\u{1b}'));
    node["metadata"]["labels"]["nvidia.com/gpu.product"] = json!(evil);
    repository.file("nodes.json", &node.to_string());
    let output = repository.run(&["fleet", "import", "nodes.json"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert_eq!(pools(&out(&output)).len(), 1);
}

#[test]
fn imported_fleet_loads_and_matches_its_nodes() {
    let repository = imported();
    let output = repository.run(&["fleet", "check"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let text = out(&output);
    assert!(text.contains("pool: ") && text.contains("  gpu: no value is known, so all results"), "{text}");
    assert!(text.contains("  toolkit: values checked: 1.14.3, 1.17.4"), "{text}");
    assert!(text.ends_with("fleet.toml: 9 pools\n"), "{text}");
    let output = repository.run(&["fleet", "check", "--against", "nodes.json"]);
    assert_eq!(code(&output), 0, "{}{}", out(&output), err(&output));
    assert_eq!(out(&output), "fleet.toml: no differences from 10 machines with GPUs\n");
}

#[test]
fn drift_reports_each_change_and_its_pool() {
    let repository = imported();
    let mut later = nodes();
    let items = later["items"].as_array_mut().expect("items");
    items.retain(|node| !["old-1", "train-2"].contains(&node["metadata"]["name"].as_str().expect("a name")));
    for node in items.iter_mut().filter(|node| node["metadata"]["name"] == "shared-1") {
        let labels = node["metadata"]["labels"].as_object_mut().expect("labels");
        labels.retain(|name, _| !name.starts_with("nvidia.com/cuda."));
        labels.insert("nvidia.com/cuda.driver-version.full".to_owned(), json!("570.211.01"));
        labels.insert("nvidia.com/gpu.count".to_owned(), json!("2"));
    }
    let mut new = items[0].clone();
    new["metadata"]["labels"]["nvidia.com/gpu.product"] = json!("NVIDIA-B200");
    new["metadata"]["labels"].as_object_mut().expect("labels").remove("eks.amazonaws.com/nodegroup");
    items.push(new);
    repository.file("later.json", &later.to_string());
    let output = repository.run(&["fleet", "check", "--against", "later.json", "--format", "json"]);
    assert_eq!(code(&output), 1, "{}", err(&output));
    let report: Value = serde_json::from_str(&out(&output)).expect("JSON");
    let drift = report["drift"].as_array().expect("drift").iter();
    let text = |drift: &Value, key: &str| drift[key].as_str().expect("text").to_owned();
    let found: Vec<[String; 4]> =
        drift.map(|one| ["pool", "what", "declared", "seen"].map(|key| text(one, key))).collect();
    let expected = [
        ["l4", "count", "1", "2"],
        ["l4", "driver", "550.163.01", "570.211.01"],
        ["tesla-t4-x4-450", "vanished", "1 node", "no node"],
        ["train-a100-sxm4-80gb-x8-535", "nodes", "2", "1"],
        ["b200", "new", "", "1 node with NVIDIA-B200, driver 535.161.08"],
    ];
    assert_eq!(found, expected.map(|one| one.map(str::to_owned)));
    let output = repository.run(&["fleet", "check", "--against", "later.json"]);
    assert_eq!(code(&output), 1);
    assert!(out(&output).contains("l4: driver: declared 550.163.01, found 570.211.01"), "{}", out(&output));
    // A GPU that was swapped in a node of a known pool.
    repository.file(
        "own.toml",
        "[[pool]]\nname = \"a\"\ngpu = \"T4\"\nlabels = { \"eks.amazonaws.com/nodegroup\" = \"train\" }\n",
    );
    let output = repository.run(&["fleet", "check", "own.toml", "--against", "nodes.json"]);
    assert!(out(&output).contains("a: gpu: declared T4, found NVIDIA-A100-SXM4-80GB"), "{}", out(&output));
}

#[test]
fn a_comparison_needs_a_fleet_of_ones_own() {
    let repository = TestRepository::empty();
    repository.file("nodes.json", &fixture("nodes.json"));
    let output = repository.run(&["fleet", "check", "--against", "nodes.json"]);
    assert_eq!(code(&output), 2);
    assert!(err(&output).contains("no fleet file"), "{}", err(&output));
    repository.file("fleet.toml", "[[pool]]\nname = 5\n");
    let output = repository.run(&["fleet", "check"]);
    assert_eq!(code(&output), 2);
    assert!(err(&output).contains("fleet.toml"), "{}", err(&output));
}

#[test]
fn fleet_show_lists_each_value_with_its_source() {
    let repository = TestRepository::new();
    let output = repository.run(&["fleet", "show", "--format", "json"]);
    let report: Value = serde_json::from_str(&out(&output)).expect("JSON");
    let old = &report["pools"][0];
    let value = |name: &str| {
        let values = old["values"].as_array().expect("values");
        values.iter().find(|value| value["name"] == name).unwrap_or_else(|| panic!("{name}")).clone()
    };
    assert_eq!(old["name"], "old");
    assert_eq!(value("compute capability")["value"], "8.0");
    assert!(value("compute capability")["from"].as_str().expect("a row").starts_with("gpus: "));
    assert_eq!(value("class")["value"], "data-center");
    assert_eq!(value("newest CUDA")["value"], "11.4");
    assert!(value("newest CUDA")["from"].as_str().expect("a row").starts_with("driver_branches: 470"));
    assert_eq!(value("mode")["value"], "legacy");
    assert_eq!(old["open"], json!([]));
    // What the pool says itself is no row's word.
    repository
        .file("own.toml", "[[pool]]\nname = \"a\"\ngpu = \"T4\"\ndriver = \"535.161.08\"\ndriver_cuda = \"12.4\"\n");
    let output = repository.run(&["fleet", "show", "own.toml", "--format", "json"]);
    let report: Value = serde_json::from_str(&out(&output)).expect("JSON");
    let values = report["pools"][0]["values"].as_array().expect("values").clone();
    let cuda = values.iter().find(|value| value["name"] == "newest CUDA").expect("CUDA");
    assert_eq!((cuda["value"].as_str(), &cuda["from"]), (Some("12.4"), &Value::Null));
    let open: Vec<&str> =
        report["pools"][0]["open"].as_array().expect("open").iter().filter_map(|one| one["field"].as_str()).collect();
    assert_eq!(open, ["launch", "toolkit"]);
}

/// Whether a node meets the printed selector, as Kubernetes evaluates it.
fn selected(affinity: &Value, labels: &Value) -> bool {
    let path = "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    let terms = affinity.pointer(path).and_then(Value::as_array).expect("terms");
    let expression = |one: &Value| {
        let value = labels.get(one["key"].as_str().expect("a key")).and_then(Value::as_str);
        match one["operator"].as_str() {
            Some("In") => {
                value.is_some_and(|value| one["values"].as_array().expect("values").iter().any(|v| v == value))
            }
            Some("DoesNotExist") => value.is_none(),
            other => panic!("{other:?}"),
        }
    };
    let expressions = |term: &Value| term["matchExpressions"].as_array().expect("expressions").clone();
    terms.iter().any(|term| !expressions(term).is_empty() && expressions(term).iter().all(expression))
}

fn affinity(repository: &TestRepository, arguments: &[&str]) -> Value {
    let output = repository.run(&[&["fleet", "affinity"][..], arguments].concat());
    assert_eq!(code(&output), 0, "{}", err(&output));
    serde_saphyr::from_str(&out(&output)).expect("YAML")
}

/// The names of the nodes that are selected.
fn chosen(affinity: &Value, nodes: &Value) -> Vec<String> {
    let items = nodes["items"].as_array().expect("items").iter();
    let hit = items.filter(|node| selected(affinity, &node["metadata"]["labels"]));
    hit.map(|node| node["metadata"]["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn affinity_selects_exactly_the_nodes_where_the_image_starts() {
    let repository = imported();
    let all = nodes();
    // Of that release there are wheels for both processors that name the build.
    repository.file("Dockerfile", &test_repository::DOCKERFILE.replace("2.4.0+cu124", "2.6.0+cu126"));
    // Everywhere except on the old driver and on nodes with an unknown driver or GPU.
    let expected = ["train-1", "train-2", "train-3", "mig-1", "mig-2", "shared-1", "arm-1"];
    assert_eq!(chosen(&affinity(&repository, &["Dockerfile", "--against", "nodes.json"]), &all), expected);
    assert_eq!(chosen(&affinity(&repository, &["Dockerfile"]), &all), expected, "by the labels of the pools");
    // One GPU under two drivers: the newer one alone is new enough for code that is compiled at start-up.
    let image = "complete = [\"env\", \"packages\", \"files\", \"code\"]\ncuda_runtime = \"12.8\"\n\
                 platform = \"linux/amd64\"\n[[gpu_code]]\nfile = \"app\"\nptx = [\"compute_80\"]\n";
    repository.file("x.image.toml", image);
    let found = affinity(&repository, &["x.image.toml", "--against", "nodes.json"]);
    assert_eq!(chosen(&found, &all), ["train-3"], "{found:#}");
    assert_eq!(chosen(&affinity(&repository, &["x.image.toml"]), &all), ["train-3"]);
}

#[test]
fn declared_pool_fields_apply_to_selected_nodes() {
    let repository = TestRepository::empty();
    repository.file("nodes.json", &fixture("nodes.json"));
    repository.file("Dockerfile", "FROM nvidia/cuda:12.8.0-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch==2.7.0+cu128\n");
    let fleet = |capabilities: &str| {
        format!(
            "[[pool]]\nname = \"train\"\ngpu = \"A100\"\nlaunch = \"kubernetes\"\nmode = \"legacy\"\ntoolkit = \"1.17.8\"\n\
             labels = {{ \"eks.amazonaws.com/nodegroup\" = \"train\" }}\n\
             env = {{ NVIDIA_DRIVER_CAPABILITIES = \"{capabilities}\" }}\n"
        )
    };
    let all = nodes();
    let train = |repository: &TestRepository| {
        let found = chosen(&affinity(repository, &["Dockerfile", "--against", "nodes.json"]), &all);
        found.into_iter().filter(|name| name.starts_with("train")).collect::<Vec<_>>()
    };
    repository.file("fleet.toml", &fleet("compute,utility"));
    assert_eq!(train(&repository), ["train-1", "train-2", "train-3"]);
    // Containers of that pool get no libcuda; those of the nodes that no pool declares do.
    repository.file("fleet.toml", &fleet("utility"));
    assert_eq!(train(&repository), Vec::<String>::new());
}

#[test]
fn no_affinity_is_written_without_deciding_labels_or_a_starting_pool() {
    let repository = imported();
    repository.file("Dockerfile", test_repository::DOCKERFILE);
    let refused = |arguments: &[&str], exit: i32, told: &str| {
        let output = repository.run(&[&["fleet", "affinity"][..], arguments].concat());
        assert_eq!((code(&output), out(&output).as_str()), (exit, ""), "{arguments:?}: {}", err(&output));
        assert!(err(&output).contains(told), "{arguments:?}: {}", err(&output));
    };
    // Code for a GPU that no node has.
    repository.file(
        "x.image.toml",
        "complete = [\"env\", \"packages\", \"files\", \"code\"]\ncuda_runtime = \"12.0\"\n[[gpu_code]]\nfile = \"app\"\nsass = [\"sm_61\"]\n",
    );
    refused(&["x.image.toml"], 1, "no node is certain to start");
    repository.file("plain", "FROM debian\n");
    refused(&["plain"], 3, "no GPU content");
    refused(&["nowhere"], 2, "file `nowhere` not found");
    refused(&["Dockerfile", "--against", "nowhere.json"], 2, "nowhere.json");
    repository.file("smi.csv", &fixture("smi.csv"));
    refused(&["Dockerfile", "--against", "smi.csv"], 2, "no node with labels");
    repository.file("own.toml", test_repository::FLEET);
    refused(&["Dockerfile", "--fleet", "own.toml"], 2, "own.toml has no Kubernetes pool");
    repository.file("own.toml", "[[pool]]\nname = \"a\"\ngpu = \"A100\"\n");
    refused(&["Dockerfile", "--fleet", "own.toml"], 2, "pool `a` of own.toml has no `labels`");
    // Two pools with the same labels, of which one has too old a driver.
    let pool = |name: &str, driver: &str| {
        format!(
            "[[pool]]\nname = \"{name}\"\ngpu = \"A100\"\ndriver = \"{driver}\"\nlaunch = \"kubernetes\"\n\
             toolkit = \"1.17.8\"\nlabels = {{ tier = \"x\" }}\n"
        )
    };
    repository.file("own.toml", &(pool("new", "570.211.01") + &pool("old", "418.226.00")));
    refused(&["Dockerfile", "--fleet", "own.toml"], 2, "no label distinguishes new (starts) from old");
    repository.file("own.toml", &pool("new", "570.211.01").replace("tier", "\"kubernetes.io/arch\""));
    refused(&["Dockerfile", "--fleet", "own.toml"], 2, "no label that identifies it");
    // An unlabelled node of a declared pool: the message names it and the label that would identify it.
    let bare = |name: &str, labels: Value| {
        json!({ "kind": "Node", "metadata": { "name": name, "labels": labels },
                "status": { "capacity": { "nvidia.com/gpu": "1" }, "nodeInfo": { "architecture": "amd64" } } })
    };
    let own = json!({ "kubernetes.io/arch": "x" });
    repository.file(
        "bare.json",
        &json!({ "kind": "NodeList", "items": [bare("n-1", own.clone()), bare("n-2", json!({}))] }).to_string(),
    );
    let all = ["Dockerfile", "--fleet", "own.toml", "--against", "bare.json"];
    refused(&all, 2, "node n-1 with A100 as declared");
    refused(&all, 2, "nvidia.com/gpu.product");
    // None of them has a label.
    repository.file("bare.json", &bare("n-2", json!({})).to_string());
    refused(&all, 2, "no node with labels");
    repository
        .file("bare.json", &json!({ "kind": "NodeList", "items": [{ "metadata": { "name": "cpu" } }] }).to_string());
    refused(&all, 1, "no node is certain to start");
}

/// A label of one's own will do where it tells the pools apart.
#[test]
fn labels_of_ones_own_select_too() {
    let repository = TestRepository::new();
    let fleet = test_repository::FLEET.replace("docker-gpus", "kubernetes");
    let fleet = fleet.replacen("470.182.03\"", "418.226.00\"\nlabels = { tier = \"old\" }", 1);
    repository.file("fleet.toml", &fleet.replacen("570.211.01\"", "570.211.01\"\nlabels = { tier = \"new\" }", 1));
    let found = affinity(&repository, &["Dockerfile"]);
    assert!(selected(&found, &json!({ "tier": "new" })), "{found:#}");
    for labels in [json!({ "tier": "old" }), json!({}), json!({ "tier": "newer" })] {
        assert!(!selected(&found, &labels), "{labels}");
    }
}
