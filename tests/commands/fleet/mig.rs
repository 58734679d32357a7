//! GPUs that MIG divides, and virtual ones: what is imported of them, and what is another than declared.

use serde_json::{Value, json};

use crate::fleet::messages::{NOTHING, drift, list};
use crate::fleet::{import, pools};

/// A node by the name of its GPU, more labels, and what its device plugin offers.
fn node(product: &str, labels: &Value, capacity: &Value) -> Value {
    let mut all = labels.clone();
    if !product.is_empty() {
        all["nvidia.com/gpu.product"] = json!(product);
    }
    all["nvidia.com/cuda.driver-version.full"] = json!("550.163.01");
    json!({ "kind": "Node", "metadata": { "name": "n", "labels": all },
            "status": { "capacity": capacity, "nodeInfo": { "architecture": "amd64" } } })
}

fn whole() -> Value {
    node("NVIDIA-A100-SXM4-40GB", &json!({ "nvidia.com/gpu.count": "8" }), &json!({ "nvidia.com/gpu": "8" }))
}

/// The strategy `single`: each device is an `nvidia.com/gpu`.
fn single(profile: &str) -> Value {
    let labels = json!({ "nvidia.com/mig.strategy": "single", "nvidia.com/gpu.count": "56" });
    node(&format!("NVIDIA-A100-SXM4-40GB-MIG-{profile}"), &labels, &json!({ "nvidia.com/gpu": "56" }))
}

/// The strategy `mixed`: devices of each profile are a resource, in addition to `whole` whole GPUs.
fn mixed(profiles: &[&str], whole: u32) -> Value {
    let mut labels = json!({ "nvidia.com/mig.strategy": "mixed", "nvidia.com/gpu.count": "8" });
    let mut capacity = json!({ "nvidia.com/gpu": whole.to_string() });
    for profile in profiles {
        labels[format!("nvidia.com/mig-{profile}.count")] = json!("7");
        capacity[format!("nvidia.com/mig-{profile}")] = json!("7");
    }
    node("NVIDIA-A100-SXM4-40GB", &labels, &capacity)
}

fn fleet(gpu: &str) -> String {
    format!("[[pool]]\nname = \"p\"\nnodes = 1\ngpu = {gpu}\ndriver = \"550.163.01\"\n")
}

const WHOLE: &str = "\"A100-SXM4-40GB\"";
const SMALL: &str = "{ name = \"A100-SXM4-40GB\", mig = \"1g.5gb\" }";
const ANY: &str = "{ name = \"A100-SXM4-40GB\", mig = true }";

#[test]
fn a_mig_slice_matches_only_its_profile() {
    let offered = json!({ "nvidia.com/mig-1g.5gb": "7" });
    let gke = |partition: &str| {
        let labels = json!({ "cloud.google.com/gke-accelerator": "nvidia-tesla-a100",
                             "cloud.google.com/gke-gpu-partition-size": partition });
        node("", &labels, &json!({ "nvidia.com/gpu": "7" }))
    };
    for (declared, node) in [
        (WHOLE, whole()),
        (SMALL, single("1g.5gb")),
        (ANY, single("1g.5gb")),
        (SMALL, mixed(&["1g.5gb"], 0)),
        (ANY, mixed(&["1g.5gb", "3g.20gb"], 2)),
        // Of a node without the labels of GPU Feature Discovery the resources tell it.
        (SMALL, node("NVIDIA-A100-SXM4-40GB", &json!({}), &offered)),
        (SMALL, node("NVIDIA-A100-SXM4-40GB", &json!({}), &json!({ "nvidia.com/mig-1g.5gb.shared": "28" }))),
        (SMALL, single("1g.5gb-SHARED")),
        ("{ name = \"A100\", mig = \"1g.5gb\" }", gke("1g.5gb")),
    ] {
        assert_eq!(drift(&fleet(declared), &list(std::slice::from_ref(&node))), NOTHING, "{declared}: {node:#}");
    }
    for (declared, node) in [
        (WHOLE, single("1g.5gb")),
        (WHOLE, single("INVALID")),
        (WHOLE, mixed(&["1g.5gb"], 0)),
        (WHOLE, node("NVIDIA-A100-SXM4-40GB", &json!({}), &offered)),
        (WHOLE, single("1g.5gb-SHARED")),
        (SMALL, whole()),
        (ANY, whole()),
        (SMALL, single("2g.10gb")),
        (SMALL, single("1g.5gb.me")),
        (SMALL, mixed(&["2g.10gb"], 0)),
        ("\"A100\"", gke("1g.5gb")),
        ("{ name = \"A100\", mig = \"3g.20gb\" }", gke("1g.5gb")),
    ] {
        let (code, found) = drift(&fleet(declared), &list(std::slice::from_ref(&node)));
        assert!(code == 1 && found.len() == 2 && found[0] == "p vanished", "{declared}: {found:?}: {node:#}");
        assert!(found[1].ends_with(" new"), "{found:?}");
    }
    // A node that has some of what is declared, and more, is one of the pool that differs.
    for (declared, node) in
        [(WHOLE, mixed(&["1g.5gb"], 2)), (SMALL, mixed(&["1g.5gb"], 2)), (SMALL, mixed(&["1g.5gb", "3g.20gb"], 0))]
    {
        let (code, found) = drift(&fleet(declared), &list(&[node]));
        assert!(code == 1 && found.contains(&"p mig".to_owned()), "{declared}: {found:?}");
    }
    let both = format!("[{WHOLE}, {SMALL}]");
    assert_eq!(drift(&fleet(&both), &list(&[mixed(&["1g.5gb"], 2)])), NOTHING);
}

#[test]
fn partitioned_node_of_a_labelled_pool_is_reported_with_both_profiles() {
    let labelled = |gpu: &str| fleet(gpu) + "labels = { agentpool = \"x\" }\n";
    for (declared, mut node) in [(WHOLE, single("1g.5gb")), (SMALL, whole()), (SMALL, single("2g.10gb"))] {
        node["metadata"]["labels"]["agentpool"] = json!("x");
        let repository = crate::fleet::test_repository::TestRepository::empty();
        repository.file("f.toml", &labelled(declared));
        repository.file("n.json", &list(&[node]));
        let output = repository.run(&["fleet", "check", "f.toml", "--against", "n.json"]);
        let text = crate::fleet::test_repository::out(&output);
        assert!(
            crate::fleet::test_repository::code(&output) == 1 && text.contains("p: mig: declared A100-SXM4-40GB "),
            "{text}"
        );
        assert!(text.contains("1 difference "), "{text}");
    }
}

#[test]
fn devices_of_mig_are_counted_as_devices() {
    let of = |node: Value| {
        let nodes = list(&[node]);
        let (code, text, error) = import("nodes.json", &nodes);
        assert_eq!(code, 0, "{error}");
        assert_eq!(drift(&text, &nodes), NOTHING, "{text}");
        let pool = pools(&text).into_values().next().expect("a pool");
        let number = |value: Option<&toml::Value>| value.and_then(toml::Value::as_integer);
        let gpu = pool["gpu"].clone();
        (number(pool.get("nodes")), number(gpu.get("count")), gpu.get("mig").cloned(), text)
    };
    // Eight GPUs of seven devices each: one node, and no 56 GPUs.
    let (nodes, count, mig, text) = of(single("1g.5gb"));
    assert_eq!((nodes, count), (Some(1), None), "{text}");
    assert_eq!(mig.and_then(|mig| mig.as_str().map(str::to_owned)).as_deref(), Some("1g.5gb"));
    assert!(text.contains("MIG devices per node: 56 x 1g.5gb; the number of GPUs is unknown"), "{text}");
    let (nodes, count, mig, text) = of(mixed(&["1g.5gb"], 0));
    assert_eq!((nodes, count), (Some(1), Some(8)), "{text}");
    assert_eq!(mig.and_then(|mig| mig.as_str().map(str::to_owned)).as_deref(), Some("1g.5gb"));
    assert!(text.contains("MIG devices and no whole GPU: 7 x 1g.5gb"), "{text}");
    // A profile that adds something is read back; one that is none is not written.
    let (_, _, mig, _) = of(mixed(&["1g.5gb.me"], 0));
    assert_eq!(mig.and_then(|mig| mig.as_str().map(str::to_owned)).as_deref(), Some("1g.5gb+me"));
    let (_, _, mig, text) = of(single("nonsense"));
    assert_eq!(mig.and_then(|mig| mig.as_bool()), Some(true), "{text}");
    let (nodes, count, mig, _) = of(whole());
    assert_eq!((nodes, count, mig), (Some(1), Some(8), None));
}

#[test]
fn fleet_show_names_the_mig_profile() {
    let show = |gpu: &str| {
        let repository = crate::fleet::test_repository::TestRepository::empty();
        repository.file("fleet.toml", &fleet(gpu));
        let report: Value = serde_json::from_str(&crate::fleet::test_repository::out(
            &repository.run(&["fleet", "show", "--format", "json"]),
        ))
        .expect("JSON");
        report["pools"][0]["values"].as_array().expect("values")[0]["value"].as_str().expect("a GPU").to_owned()
    };
    assert_eq!(show(SMALL), "A100-SXM4-40GB (MIG 1g.5gb)");
    assert_eq!(show(ANY), "A100-SXM4-40GB (partitioned with MIG)");
    assert_eq!(show(WHOLE), "A100-SXM4-40GB");
    assert_eq!(show("{ name = \"A100-SXM4-40GB\", count = 8, mig = false }"), "8 x A100-SXM4-40GB");
    assert!(show(&format!("[{WHOLE}, {SMALL}]")).contains("(whole or MIG 1g.5gb)"));
}

#[test]
fn virtual_gpu_is_matched_by_profile() {
    let of = |product: &str| {
        let labels = json!({ "nvidia.com/vgpu.present": "true", "nvidia.com/gpu.count": "1" });
        let nodes = list(&[node(product, &labels, &json!({ "nvidia.com/gpu": "1" }))]);
        let (code, text, error) = import("nodes.json", &nodes);
        assert_eq!(code, 0, "{error}");
        (text, nodes)
    };
    for product in ["GRID-A100-10C", "NVIDIA-A40-48Q", "GRID-T4-4C"] {
        let (text, nodes) = of(product);
        assert!(text.contains("these are virtual GPUs\n"), "{product}: {text}");
        // The name may be written without its product line.
        let short = product.trim_start_matches("GRID-").trim_start_matches("NVIDIA-");
        let declared = |name: &str| fleet(&format!("{{ name = \"{name}\", count = 1 }}"));
        assert_eq!(drift(&declared(short), &nodes), NOTHING, "{short}");
        for other in ["A100", "A100-20C", "T4", "A40"] {
            assert_eq!(drift(&declared(other), &nodes).0, 1, "{other} {product}");
        }
    }
    assert!(of("NVIDIA-A40").0.contains("these are virtual GPUs, with an unknown profile"));
}
