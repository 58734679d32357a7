//! What nodes and machines do not say, say in short, or say several times over.

use serde_json::{Value, json};

use crate::fleet::test_repository::{TestRepository, code, err, out};
use crate::fleet::{affinity, chosen, fixture, import, pools};

/// A node with one device of the plugin, and labels.
fn node(name: &str, labels: &Value) -> Value {
    json!({ "kind": "Node", "metadata": { "name": name, "labels": labels },
            "status": { "capacity": { "nvidia.com/gpu": "1" }, "nodeInfo": { "architecture": "amd64" } } })
}

pub(crate) fn list(nodes: &[Value]) -> String {
    json!({ "kind": "NodeList", "items": nodes }).to_string()
}

/// The comparison of a fleet file with nodes: the exit code and each difference as `pool what`.
pub(crate) fn drift(fleet: &str, nodes: &str) -> (i32, Vec<String>) {
    let repository = TestRepository::empty();
    repository.file("f.toml", fleet);
    repository.file("nodes.json", nodes);
    let output = repository.run(&["fleet", "check", "f.toml", "--against", "nodes.json", "--format", "json"]);
    let report: Value = serde_json::from_str(&out(&output)).unwrap_or_else(|_| panic!("{}", err(&output)));
    let told =
        |one: &Value| format!("{} {}", one["pool"].as_str().expect("a pool"), one["what"].as_str().expect("what"));
    (code(&output), report["drift"].as_array().expect("drift").iter().map(told).collect())
}

pub(crate) const NOTHING: (i32, Vec<String>) = (0, Vec::new());

/// The fleet file imported from a node with an unknown GPU, with the GPU filled in.
fn answered(nodes: &str) -> String {
    let (code, text, error) = import("nodes.json", nodes);
    assert_eq!(code, 0, "{error}");
    let question = text.lines().find(|line| line.starts_with("# ? gpu = ")).expect("the question");
    text.replace(question, "gpu = \"NVIDIA L4\"\ndriver = \"550.163.01\"\ntoolkit = \"1.17.8\"")
}

#[test]
fn the_answer_to_a_question_is_no_difference() {
    let labels = json!({ "kubernetes.io/arch": "amd64" });
    for own in [labels.clone(), json!({}), json!({ "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": "a" })] {
        let nodes = list(&[node("a", &own)]);
        assert_eq!(drift(&answered(&nodes), &nodes), NOTHING, "{own}");
    }
    let fleet = answered(&list(&[node("a", &labels)]));
    // Once the node says it, it is still so.
    let said = |gpu: &str| json!({ "kubernetes.io/arch": "amd64", "nvidia.com/gpu.product": gpu });
    assert_eq!(drift(&fleet, &list(&[node("a", &said("NVIDIA-L4"))])), NOTHING);
    // Another GPU, another processor, another number, and a node of another pool are differences.
    for gpu in ["NVIDIA-A100-SXM4-40GB", "NVIDIA-L40", "Tesla-T4"] {
        let (code, found) = drift(&fleet, &list(&[node("a", &said(gpu))]));
        assert_eq!((code, found.len(), found[0].as_str()), (1, 2, "pool vanished"), "{gpu}: {found:?}");
        assert!(found[1].ends_with(" new"), "{gpu}: {found:?}");
    }
    let mut arm = node("a", &json!({ "kubernetes.io/arch": "arm64" }));
    arm["status"]["nodeInfo"]["architecture"] = json!("arm64");
    assert_eq!(drift(&fleet, &list(&[arm])).0, 1);
    assert_eq!(drift(&fleet, &list(&[node("a", &labels), node("b", &labels)])), (1, vec!["pool nodes".to_owned()]));
    assert_eq!(drift(&fleet, &list(&[node("a", &json!({}))])).0, 1, "a label of the pool that the node lacks");
    // A node that says nothing of its GPU is not one of those that all do.
    let told =
        "[[pool]]\nname = \"l4\"\ngpu = \"NVIDIA L4\"\nlabels = { \"nvidia.com/gpu.product\" = \"NVIDIA-L4\" }\n";
    let (_, found) = drift(told, &list(&[node("a", &said("NVIDIA-L4")), node("b", &labels)]));
    assert_eq!(found, ["pool new"]);
    let told = "[[pool]]\nname = \"l4\"\ngpu = \"NVIDIA L4\"\n";
    let (_, found) = drift(told, &list(&[node("a", &said("NVIDIA-L4")), node("b", &labels)]));
    assert_eq!(found, ["pool new"], "nothing says that it is of that pool");
}

#[test]
fn node_affinity_uses_the_same_answer() {
    let nodes = list(&[node("a", &json!({ "node.kubernetes.io/instance-type": "our-l4" }))]);
    let repository = TestRepository::empty();
    repository.file("nodes.json", &nodes);
    repository.file("Dockerfile", crate::fleet::test_repository::DOCKERFILE);
    repository.file("fleet.toml", &answered(&nodes));
    let all = serde_json::from_str(&nodes).expect("nodes");
    let found = affinity(&repository, &["Dockerfile", "--against", "nodes.json"]);
    assert_eq!(chosen(&found, &all), ["a"]);
    let output = repository.run(&["fleet", "affinity", "Dockerfile", "--against", "nodes.json"]);
    assert!(
        out(&output).contains("NVIDIA L4 as declared, driver 550.163.01 as declared (pool pool): starts"),
        "{}",
        out(&output)
    );
    // Of a node that the pool's labels do not reach nothing is declared.
    let bare = list(&[node("a", &json!({ "kubernetes.io/os": "linux" }))]);
    repository.file("bare.json", &bare);
    let output = repository.run(&["fleet", "affinity", "Dockerfile", "--against", "bare.json"]);
    assert!(code(&output) == 1 && err(&output).contains("(of no pool)"), "{}", err(&output));
}

/// A pool of one GPU, and whether a node with this product is of it.
fn covers(declared: &str, product: &str) -> bool {
    let fleet = format!(
        "[[pool]]\nname = \"p\"\nnodes = 1\ngpu = {{ name = \"{declared}\", count = 1 }}\ndriver = \"550.163.01\"\n"
    );
    let labels = json!({ "nvidia.com/gpu.product": product, "nvidia.com/gpu.count": "1",
                         "nvidia.com/cuda.driver-version.full": "550.163.01" });
    let (code, found) = drift(&fleet, &list(&[node("a", &labels)]));
    assert!(found.is_empty() || (found.len() == 2 && found[0] == "p vanished"), "{declared} {product}: {found:?}");
    code == 0
}

#[test]
fn a_short_gpu_name_matches_all_its_variants() {
    for (declared, product) in [
        ("A100", "NVIDIA-A100-SXM4-40GB"),
        ("A100", "NVIDIA-A100-SXM4-80GB"),
        ("A100", "NVIDIA-A100-80GB-PCIe"),
        ("A100 80GB", "NVIDIA-A100-SXM4-80GB"),
        ("H100", "NVIDIA-H100-80GB-HBM3"),
        ("H100", "NVIDIA-H100-NVL"),
        ("V100", "Tesla-V100-SXM2-16GB"),
        ("T4", "Tesla-T4"),
        ("NVIDIA A100-SXM4-40GB", "NVIDIA-A100-SXM4-40GB-SHARED"),
        ("g4dn.xlarge", "Tesla-T4"),
    ] {
        assert!(covers(declared, product), "{declared} {product}");
    }
    for (declared, product) in [
        ("A100-PCIE-40GB", "NVIDIA-A100-SXM4-80GB"),
        ("A100 40GB", "NVIDIA-A100-SXM4-80GB"),
        ("NVIDIA A100-SXM4-40GB", "NVIDIA-A100-SXM4-80GB"),
        ("H100 NVL", "NVIDIA-H100-80GB-HBM3"),
        ("NVIDIA H100 80GB HBM3", "NVIDIA-H100"),
        ("H100", "NVIDIA-H200"),
        ("H100", "NVIDIA-H100-80C"),
        ("A100", "NVIDIA-A30"),
        ("A100", "GRID-A100D-80C"),
        ("A10", "NVIDIA-A10G"),
        ("A40", "NVIDIA-A40-48Q"),
        ("L4", "NVIDIA-L40"),
        ("L40", "NVIDIA-L40S"),
        ("V100", "NVIDIA-A100-SXM4-40GB"),
        ("RTX 3080", "NVIDIA-GeForce-RTX-3080-Ti"),
        ("RTX 3080", "NVIDIA-GeForce-RTX-3080-Laptop-GPU"),
        ("GRID T4-16Q", "GRID-T4-8C"),
        ("A100", "NVIDIA-Z999"),
    ] {
        assert!(!covers(declared, product), "{declared} {product}");
    }
}

#[test]
fn most_specific_pool_matches_a_node() {
    let pool = |name: &str, gpu: &str| format!("[[pool]]\nname = \"{name}\"\nnodes = 1\ngpu = \"{gpu}\"\n");
    let nodes = |products: &[&str]| -> String {
        let nodes: Vec<Value> =
            products.iter().map(|product| node(product, &json!({ "nvidia.com/gpu.product": product }))).collect();
        list(&nodes)
    };
    let both = nodes(&["NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-80GB-PCIe"]);
    for fleet in [
        pool("any", "A100") + &pool("sxm", "NVIDIA A100-SXM4-40GB"),
        pool("sxm", "A100-SXM4-40GB") + &pool("any", "A100"),
    ] {
        assert_eq!(drift(&fleet, &both), NOTHING, "{fleet}");
    }
    // A node that a pool has by its label has the GPU that is declared in short, or another one.
    let labelled = |product: &str| {
        let node =
            node("a", &json!({ "agentpool": "x", "nvidia.com/gpu.product": product, "nvidia.com/gpu.count": "4" }));
        let fleet = "[[pool]]\nname = \"x\"\ngpu = { name = \"A100\", count = 8 }\nlabels = { agentpool = \"x\" }\n";
        drift(fleet, &list(&[node])).1
    };
    assert_eq!(labelled("NVIDIA-A100-SXM4-40GB"), ["x count"]);
    assert_eq!(labelled("NVIDIA-H100-NVL"), ["x gpu"]);
}

#[test]
fn fields_of_a_pool_with_a_short_gpu_name_apply_to_its_nodes() {
    let repository = TestRepository::empty();
    repository.file("nodes.json", &fixture("nodes.json"));
    repository.file("Dockerfile", "FROM nvidia/cuda:12.8.0-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch==2.7.0+cu128\n");
    let all: Value = serde_json::from_str(&fixture("nodes.json")).expect("nodes");
    let train = |gpu: &str, capabilities: &str| {
        let fleet = format!(
            "[[pool]]\nname = \"train\"\ngpu = \"{gpu}\"\nlaunch = \"kubernetes\"\nmode = \"legacy\"\ntoolkit = \"1.17.8\"\n\
             env = {{ NVIDIA_DRIVER_CAPABILITIES = \"{capabilities}\" }}\n"
        );
        repository.file("fleet.toml", &fleet);
        let output = repository.run(&["fleet", "affinity", "Dockerfile", "--against", "nodes.json"]);
        match code(&output) {
            0 => chosen(&serde_saphyr::from_str(&out(&output)).expect("YAML"), &all)
                .into_iter()
                .filter(|name| name.starts_with("train"))
                .collect::<Vec<_>>(),
            other => panic!("{other}: {}", err(&output)),
        }
    };
    assert_eq!(train("A100", "compute,utility"), ["train-1", "train-2", "train-3"]);
    // Containers of that pool get no libcuda.
    assert_eq!(train("A100", "utility"), Vec::<String>::new());
    // What is declared of another board is not declared of these.
    assert_eq!(train("A100-PCIE-40GB", "compute,utility"), train("H200", "compute,utility"));
}

#[test]
fn documents_in_one_stream_are_machines_of_their_own() {
    let first = fixture("smi.xml");
    let second = first.replace("535.161.08", "418.226.00").replace("NVIDIA A100-SXM4-40GB", "Tesla T4");
    let (code, text, error) = import("all.xml", &(first.clone() + &second));
    assert_eq!(code, 0, "{error}");
    let found: Vec<(String, Option<i64>, Option<i64>)> = pools(&text)
        .into_values()
        .map(|pool| {
            let driver = pool["driver"].as_str().expect("a driver").to_owned();
            (driver, pool["nodes"].as_integer(), pool["gpu"]["count"].as_integer())
        })
        .collect();
    let expected = [("535.161.08", Some(1), Some(2)), ("418.226.00", Some(1), Some(2))];
    assert_eq!(found, expected.map(|(driver, nodes, count)| (driver.to_owned(), nodes, count)));
    // The same machine twice is two of one pool, and none has the GPUs of both.
    let (_, text, _) = import("all.xml", &format!("{first}{first}"));
    let pool = pools(&text).into_values().next().expect("a pool");
    assert_eq!((pool["nodes"].as_integer(), pool["gpu"]["count"].as_integer()), (Some(2), Some(2)));
    // What is broken in one of them is an error of all.
    for (broken, told) in [
        (first.clone() + "<nvidia_smi_log></nvidia_smi_log>", "no GPU"),
        (first.clone() + "<nvidia_smi_log><gpu>", "ends too early"),
        (first.clone() + "<html></html>", "`html` is not"),
        ("<?xml version=\"1.0\"?>".to_owned(), "no GPU"),
    ] {
        let (code, text, error) = import("all.xml", &broken);
        assert!(code == 2 && text.is_empty() && error.contains(told), "{told}: {error}");
    }
}

#[test]
fn vgpu_profiles_keep_their_names() {
    for (name, kept) in [
        ("GRID T4-16C", "GRID T4-16C"),
        ("GRID T4-8C", "GRID T4-8C"),
        ("GRID T4-16Q", "GRID T4-16Q"),
        ("NVIDIA A40-48C", "NVIDIA A40-48C"),
        ("A40-48Q", "NVIDIA A40-48Q"),
        ("GRID A100D-4C", "GRID A100D-4C"),
        ("NVIDIA-A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB"),
        ("tesla-a100", "tesla-a100"),
    ] {
        let (code, text, error) = import("smi.csv", &format!("name, driver_version\n{name}, 550.163.01\n"));
        assert_eq!(code, 0, "{error}");
        let pool = pools(&text).into_values().next().expect("a pool");
        assert_eq!(pool["gpu"]["name"].as_str(), Some(kept), "{name}");
    }
}

#[test]
fn a_driver_of_windows_is_one_under_wsl() {
    let xml = |model: &str| {
        let model = format!(
            "<driver_model><current_dm>{model}</current_dm><pending_dm>WDDM</pending_dm></driver_model>\n<mig_mode>"
        );
        import("smi.xml", &fixture("smi.xml").replace("<mig_mode>", &model)).1
    };
    for model in ["WDDM", "MCDM"] {
        let text = xml(model);
        assert_eq!(pools(&text).into_values().next().expect("a pool")["wsl"].as_bool(), Some(true), "{text}");
    }
    for model in ["N/A", "TCC", ""] {
        let text = xml(model);
        assert!(pools(&text).into_values().next().expect("a pool").get("wsl").is_none(), "{model}: {text}");
    }
}

#[test]
fn errors_name_the_command_that_prints_the_source_format() {
    for (name, text, told, not) in [
        ("s.xml", "<nvidia_smi_log>", "nvidia-smi -q -x", "kubectl"),
        ("l.txt", "GPU 0: NVIDIA L4 (UUID: GPU-1)\nGPU 1: ?\n", "nvidia-smi -L", "kubectl"),
        ("n.json", "{", "kubectl get nodes", "help: nvidia-smi"),
        ("n.yaml", "kind: Pod\n", "kubectl get nodes", "help: nvidia-smi"),
    ] {
        let (code, _, error) = import(name, text);
        let help = error.lines().find(|line| line.starts_with("help: ")).expect("help");
        assert!(code == 2 && help.contains(told) && !help.contains(not), "{name}: {error}");
    }
    let repository = TestRepository::empty();
    let output = repository.run(&["fleet", "import", "p5.48xlarge"]);
    assert!(code(&output) == 2 && err(&output).contains("--instance p5.48xlarge"), "{}", err(&output));
    let output = repository.run(&["fleet", "import", "p5.json"]);
    assert!(code(&output) == 2 && !err(&output).contains("--instance"), "{}", err(&output));
    let output = repository.run(&["fleet", "import", "--instance", "p5.48xlarge=0"]);
    assert!(code(&output) == 2 && out(&output).is_empty(), "{}", out(&output));
    assert!(err(&output).contains("`0` is not a number of nodes"), "{}", err(&output));
}
