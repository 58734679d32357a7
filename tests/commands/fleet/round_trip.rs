//! What is imported of nodes does not differ from them, whatever they say and do not say; a change of one node does.

use serde_json::{Value, json};

use crate::fleet::import;
use crate::fleet::messages::{NOTHING, drift, list};
use crate::fleet::test_repository::{TestRepository, code, err, out};

/// Numbers that look random, the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % bound.max(1)
    }

    fn one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

const PRODUCT: &str = "nvidia.com/gpu.product";
const COUNT: &str = "nvidia.com/gpu.count";
const DRIVER: &str = "nvidia.com/cuda.driver-version.full";
const GROUP: &str = "eks.amazonaws.com/nodegroup";
const TYPE: &str = "node.kubernetes.io/instance-type";
const TELLING: [&str; 5] = [PRODUCT, COUNT, DRIVER, GROUP, TYPE];

/// A GPU with its compute capability; of the last two the tables know nothing, and of one neither do its nodes.
const GPUS: [(&str, &str, &str); 6] = [
    ("NVIDIA-A100-SXM4-40GB", "8", "0"),
    ("NVIDIA-A100-SXM4-80GB", "8", "0"),
    ("Tesla-T4", "7", "5"),
    ("NVIDIA-L4", "8", "9"),
    ("NVIDIA-Z999", "12", "9"),
    ("NVIDIA-Z999", "", ""),
];

/// A node of some kind, with the labels of one of several versions of GPU Feature Discovery, or of none.
fn node(random: &mut Random) -> Value {
    let mut labels = json!({ "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux" });
    let mut capacity = json!({ "nvidia.com/gpu": "8" });
    let (product, major, minor) = random.of(&GPUS);
    let driver = random.of(&["470.57.02", "535.161.08", "550.54.15", "999.1.2"]);
    if !random.one_in(6) {
        labels[PRODUCT] = json!(product);
        labels[COUNT] = json!(random.of(&["4", "8"]));
        if !major.is_empty() {
            labels["nvidia.com/gpu.compute.major"] = json!(major);
            labels["nvidia.com/gpu.compute.minor"] = json!(minor);
        }
    }
    if random.one_in(2) {
        labels[DRIVER] = json!(driver);
        labels["nvidia.com/cuda.runtime-version.full"] = json!(random.of(&["12.4", "13.0"]));
    }
    if random.one_in(3) {
        for (name, part) in ["major", "minor", "rev"].iter().zip(driver.split('.')) {
            labels[format!("nvidia.com/cuda.driver.{name}")] = json!(part);
        }
    }
    if product.contains("A100") && labels.get(PRODUCT).is_some() {
        match random.below(4) {
            0 => {
                labels[PRODUCT] = json!(format!("{product}-MIG-1g.5gb"));
                labels["nvidia.com/mig.strategy"] = json!("single");
            }
            1 => {
                labels["nvidia.com/mig.strategy"] = json!("mixed");
                capacity["nvidia.com/gpu"] = json!(random.of(&["0", "2"]));
                capacity[format!("nvidia.com/mig-{}", random.of(&["1g.5gb", "2g.10gb"]))] = json!("7");
                capacity[format!("nvidia.com/mig-{}", random.of(&["1g.5gb", "3g.20gb"]))] = json!("2");
            }
            _ => {}
        }
    }
    if random.one_in(5) {
        labels["nvidia.com/gpu.replicas"] = json!(random.of(&["2", "4"]));
        labels["nvidia.com/gpu.sharing-strategy"] = json!(random.of(&["mps", "time-slicing"]));
    }
    if random.one_in(3) {
        // No machine of another type has MIG devices.
        let types: &[&str] = if capacity.as_object().is_some_and(|all| all.len() > 1) {
            &["p4d.24xlarge"]
        } else {
            &["p4d.24xlarge", "g4dn.xlarge", "our-own"]
        };
        labels[TYPE] = json!(random.of(types));
    }
    if random.one_in(3) {
        labels[GROUP] = json!(random.of(&["train", "serve"]));
    }
    if random.one_in(12) {
        labels = json!({ "cloud.google.com/gke-accelerator": random.of(&["nvidia-tesla-t4", "nvidia-l4"]) });
        capacity = json!({ "nvidia.com/gpu": "1" });
    }
    if random.one_in(20) {
        labels = json!({});
    }
    let engine = random.of(&["containerd://1.7.13", "cri-o://1.28.1"]);
    let arch = if random.one_in(9) { "arm64" } else { "amd64" };
    json!({ "kind": "Node", "metadata": { "name": "n", "labels": labels },
            "spec": { "unschedulable": random.one_in(5) },
            "status": { "capacity": capacity,
                        "nodeInfo": { "architecture": arch, "containerRuntimeVersion": engine } } })
}

fn labels(node: &mut Value) -> &mut serde_json::Map<String, Value> {
    node["metadata"]["labels"].as_object_mut().expect("labels")
}

/// A few nodes, of which some are like another but for one label.
fn cluster(random: &mut Random) -> Vec<Value> {
    let mut nodes: Vec<Value> = Vec::new();
    for _ in 0..=random.below(8) {
        if nodes.is_empty() || random.one_in(2) {
            nodes.push(node(random));
            continue;
        }
        let mut like = nodes[random.below(nodes.len())].clone();
        let names: Vec<String> = labels(&mut like).keys().cloned().collect();
        if let Some(name) = names.get(random.below(names.len() * 2)) {
            labels(&mut like).remove(name);
        }
        nodes.push(like);
    }
    nodes
}

fn fleet_of(nodes: &str) -> String {
    let (code, text, error) = import("nodes.json", nodes);
    assert_eq!(code, 0, "{error}\n{nodes}");
    text
}

#[test]
fn imported_fleet_matches_its_nodes_and_one_changed_node_differs() {
    let (mut changed, mut kinds) = (0, std::collections::BTreeSet::new());
    for seed in 0..24 {
        let random = &mut Random(seed);
        let nodes = cluster(random);
        let (own, fleet) = (list(&nodes), fleet_of(&list(&nodes)));
        assert_eq!(drift(&fleet, &own), NOTHING, "seed {seed}:\n{fleet}\n{own}");
        let at = random.below(nodes.len());
        let mut cases: Vec<(&str, Vec<Value>)> = vec![("one more", nodes.clone()), ("another GPU", nodes.clone())];
        cases[0].1.push(nodes[at].clone());
        let other = &mut cases[1].1[at];
        labels(other).insert(PRODUCT.to_owned(), json!("NVIDIA-B200"));
        if nodes[at]["metadata"]["labels"].get(PRODUCT).is_none() {
            // What a node begins to say is no difference from a pool that says nothing of it.
            cases.pop();
        }
        if nodes.len() > 1 {
            let mut fewer = nodes.clone();
            fewer.remove(at);
            cases.push(("one less", fewer));
        }
        for name in TELLING {
            let mut later = nodes.clone();
            if labels(&mut later[at]).remove(name).is_some() {
                cases.push(("a label less", later));
            }
        }
        if nodes[at]["metadata"]["labels"].get(DRIVER).is_some() {
            let mut later = nodes.clone();
            labels(&mut later[at]).insert(DRIVER.to_owned(), json!("580.65.06"));
            cases.push(("another driver", later));
        }
        for (what, later) in cases {
            let (code, found) = drift(&fleet, &list(&later));
            assert!(code == 1 && !found.is_empty(), "seed {seed}: {what} of {at}:\n{fleet}\n{}", list(&later));
            changed += 1;
            kinds.insert(what);
        }
    }
    assert!(changed > 60 && kinds.len() == 5, "{changed} {kinds:?}");
}

#[test]
fn nodes_differing_by_a_missing_label_form_two_pools() {
    let full = json!({ PRODUCT: "Tesla-T4", COUNT: "1", DRIVER: "550.54.15", TYPE: "g4dn.xlarge", "agentpool": "t4" });
    let of = |labels: &Value| {
        json!({ "kind": "Node", "metadata": { "name": "n", "labels": labels },
                "status": { "capacity": { "nvidia.com/gpu": "1" }, "nodeInfo": { "architecture": "amd64" } } })
    };
    let full_map = full.as_object().expect("labels");
    for name in full_map.keys() {
        let mut less = full_map.clone();
        less.remove(name);
        let nodes = list(&[of(&full), of(&json!(less)), of(&json!(less))]);
        let fleet = fleet_of(&nodes);
        assert_eq!(fleet.matches("[[pool]]").count(), 2, "{fleet}");
        assert_eq!(drift(&fleet, &nodes), NOTHING, "{name}:\n{fleet}");
        // The order of the file does not count.
        let (head, tail) = fleet.rsplit_once("\n[[pool]]").expect("two pools");
        let (start, first) = head.split_once("\n[[pool]]").expect("two pools");
        let turned = format!("{start}\n[[pool]]{tail}\n[[pool]]{first}");
        assert_eq!(drift(&turned, &nodes), NOTHING, "{name}:\n{turned}");
        // Nodes that moved from one pool to the other are reported for both.
        let (code, found) = drift(&fleet, &list(&[of(&full), of(&full), of(&json!(less))]));
        assert_eq!((code, found.len()), (1, 2), "{name}: {found:?}");
        assert!(found.iter().all(|one| one.ends_with(" nodes")), "{name}: {found:?}");
    }
}

#[test]
fn removed_or_changed_label_is_reported_once() {
    let own = json!({ PRODUCT: "Tesla-T4", COUNT: "1", DRIVER: "550.54.15", "nvidia.com/mig.strategy": "none" });
    let of = |labels: Value| {
        list(&[json!({ "kind": "Node", "metadata": { "name": "n", "labels": labels },
                       "status": { "capacity": { "nvidia.com/gpu": "1" } } })])
    };
    let fleet = fleet_of(&of(own.clone()));
    let with = |name: &str, value: Option<&str>| {
        let mut labels = own.as_object().expect("labels").clone();
        match value {
            Some(value) => labels.insert(name.to_owned(), json!(value)),
            None => labels.remove(name),
        };
        drift(&fleet, &of(json!(labels))).1
    };
    assert_eq!(with(DRIVER, Some("580.65.06")), ["tesla-t4 driver"]);
    assert_eq!(with(DRIVER, None), ["tesla-t4 labels"]);
    assert_eq!(with(COUNT, Some("4")), ["tesla-t4 count"]);
    assert_eq!(with("nvidia.com/mig.strategy", Some("mixed")), ["tesla-t4 labels"]);
    assert_eq!(with("nvidia.com/gpu.family", Some("turing")), Vec::<String>::new());
    // What the pool now says in a wider way, its label still says in the narrow one.
    let wider = fleet.replace("driver = \"550.54.15\"\n", "driver = \"550\"\n");
    let newer = of(json!({ PRODUCT: "Tesla-T4", COUNT: "1", DRIVER: "550.163.01", "nvidia.com/mig.strategy": "none" }));
    assert_eq!(drift(&wider, &newer), (1, vec!["tesla-t4 labels".to_owned()]));
}

/// Pools that declare the same have the nodes that they declare, as far as there are so many.
#[test]
fn identical_pools_share_their_nodes() {
    let pool = |name: &str, nodes: u32| {
        format!("[[pool]]\nname = \"{name}\"\nnodes = {nodes}\ngpu = {{ name = \"T4\", count = 1 }}\n")
    };
    let node = || {
        json!({ "kind": "Node", "metadata": { "name": "n", "labels": { PRODUCT: "Tesla-T4", COUNT: "1" } },
                "status": { "capacity": { "nvidia.com/gpu": "1" } } })
    };
    let both = pool("a", 2) + &pool("b", 1);
    let nodes = |number| list(&vec![node(); number]);
    assert_eq!(drift(&both, &nodes(3)), NOTHING);
    for (number, told) in [(4, "a nodes"), (2, "b vanished")] {
        assert_eq!(drift(&both, &nodes(number)), (1, vec![told.to_owned()]), "{number}");
    }
}

/// A node that may be of two pools is selected where it starts on both.
#[test]
fn a_node_of_one_of_two_pools_starts_where_both_do() {
    let repository = TestRepository::empty();
    let node = json!({ "kind": "Node", "metadata": { "name": "n", "labels": { PRODUCT: "Tesla-T4", TYPE: "own" } },
                       "status": { "capacity": { "nvidia.com/gpu": "1" } } });
    repository.file("nodes.json", &list(&[node]));
    repository.file("Dockerfile", crate::fleet::test_repository::DOCKERFILE);
    let pool = |name: &str, driver: &str| {
        format!(
            "[[pool]]\nname = \"{name}\"\ngpu = \"T4\"\ndriver = \"{driver}\"\nlaunch = \"kubernetes\"\ntoolkit = \"1.17.8\"\n"
        )
    };
    let ask = |fleet: String| {
        repository.file("fleet.toml", &fleet);
        repository.run(&["fleet", "affinity", "Dockerfile", "--against", "nodes.json"])
    };
    let done = ask(pool("new", "570.211.01") + &pool("newer", "580.65.06"));
    assert_eq!(code(&done), 0, "{}", err(&done));
    for name in ["new", "newer"] {
        assert!(out(&done).contains(&format!("(pool {name}): starts")), "{}", out(&done));
    }
    for fleet in
        [pool("new", "570.211.01") + &pool("old", "418.226.00"), pool("old", "418.226.00") + &pool("new", "570.211.01")]
    {
        let done = ask(fleet);
        assert_eq!((code(&done), out(&done).as_str()), (1, ""), "{}", err(&done));
        assert!(
            err(&done).contains("no node is certain to start") && err(&done).contains("(pool new): starts"),
            "{}",
            err(&done)
        );
    }
}
