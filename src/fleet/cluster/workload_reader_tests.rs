use std::collections::BTreeSet;

use super::*;
use crate::fleet::cluster::workload_reader::read_workloads;
use crate::fleet::cluster::{ArgumentOverride, LabelCondition, LabelState, NodeRequirement, Workload};

/// Reads workloads without variables of a `.env` file.
fn read_without_variables(text: &str) -> Result<Workloads, ClusterError> {
    read_workloads(text, &BTreeMap::new(), &|_| None)
}

const POD_LIST: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [
  {"kind": "Pod", "metadata": {"name": "serve-5d-x", "namespace": "ml",
     "ownerReferences": [{"kind": "ReplicaSet", "name": "serve-5d"}]},
   "spec": {"nodeSelector": {"tier": "serve"}, "initContainers": [{"name": "wait", "image": "busybox"}], "containers": [
     {"name": "main", "image": "a:1", "resources": {"limits": {"nvidia.com/gpu": "1"}},
      "env": [{"name": "A", "value": "x"}, {"name": "B"}, {"name": "C", "value": "$(A)/y"},
              {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
     {"name": "side", "image": "b:1", "resources": {"limits": {"nvidia.com/gpu": "0"}}}]}},
  {"kind": "Pod", "metadata": {"name": "serve-5d-y", "namespace": "ml",
     "ownerReferences": [{"kind": "ReplicaSet", "name": "serve-5d"}]},
   "spec": {"nodeSelector": {"tier": "serve"}, "containers": [
     {"name": "main", "image": "a:1", "resources": {"limits": {"nvidia.com/gpu": "1"}},
      "env": [{"name": "A", "value": "x"}, {"name": "B"}, {"name": "C", "value": "$(A)/y"},
              {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}]}},
  {"kind": "Node", "metadata": {"name": "n"}},
  {"kind": "Pod", "spec": {"containers": [{"name": "odd", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}]}"#;

const YAML_DOCUMENTS: &str = r#"
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: mon}
spec:
  template:
    spec:
      runtimeClassName: nvidia
      containers:
      - {name: dcgm, image: "dcgm:3", envFrom: [{configMapRef: {name: c}}]}
---
kind: ConfigMap
data: {image: none}
---
kind: CronJob
metadata: {name: nightly, namespace: batch}
spec:
  jobTemplate:
    spec:
      template:
        spec:
          affinity:
            nodeAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
                nodeSelectorTerms:
                - matchExpressions:
                  - {key: tier, operator: In, values: [train, big]}
                  - {key: memory, operator: Gt, values: ["40"]}
                - matchExpressions:
                  - {key: spare, operator: Exists}
          containers:
          - {name: fit, image: "fit:2", resources: {requests: {nvidia.com/mig-1g.5gb: 1}}}
---
kind: Job
metadata: {name: claim}
spec: {template: {spec: {containers: [{name: c, image: "c:1", resources: {claims: [{name: gpu}]}}]}}}
"#;

const COMPOSE_FILE: &str = r#"
services:
  model:
    image: "vllm:1"
    command: serve --port 8000
    environment: {A: 1, B: "${B}", C: null, D: "a$$b"}
    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 1, capabilities: [gpu]}]}}}
  old: {image: "old:1", runtime: nvidia, environment: [A=1, B]}
  short: {image: "short:1", gpus: all, env_file: .env}
  cdi: {image: "cdi:1", devices: ["nvidia.com/gpu=all", "/dev/x:/dev/x"]}
  tagged: {image: "x:${TAG:-1}", gpus: all}
  built: {build: ., gpus: all}
  db: {image: "postgres:16", devices: ["/dev/dri:/dev/dri"]}
  more: {extends: {service: model}}
  named: {image: "named:1", deploy: {resources: {reservations: {devices: [{driver: cdi, device_ids: ["nvidia.com/gpu=0"]}]}}}}
  other: {image: "other:1", deploy: {resources: {reservations: {devices: [{driver: cdi, device_ids: ["amd.com/gpu=0"]}]}}}}
  swarm: {image: "swarm:1", deploy: {resources: {reservations: {generic_resources: [{discrete_resource_spec: {kind: NVIDIA-GPU, value: 2}}]}}}}
  disks: {image: "disks:1", deploy: {resources: {reservations: {generic_resources: [{discrete_resource_spec: {kind: SSD, value: 2}}]}}}}
"#;

/// Returns the names and images of all workloads.
fn names_and_images(found: &Workloads) -> Vec<(&str, &str)> {
    found.list.iter().map(|one| (one.name.as_str(), one.image.as_str())).collect()
}

#[test]
fn pods_of_one_owner_are_one_workload_and_those_without_a_gpu_none() {
    let found = read_without_variables(POD_LIST).expect("a list");
    assert_eq!(names_and_images(&found), [("ml/ReplicaSet/serve-5d: main", "a:1")]);
    assert_eq!(found.without_gpu, 2);
    assert_eq!(found.notes, BTreeSet::from(["default/Pod/without name: odd: it has no image".to_owned()]));
    let one = found.list.first().expect("one");
    let expected = [("A", Some("x")), ("B", Some("")), ("C", Some("x/y")), ("D", None)];
    let env: Vec<(&str, Option<&str>)> =
        one.env.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
    assert_eq!((env, one.env_from), (expected.to_vec(), None));
    let holds = LabelCondition::In(vec!["serve".to_owned()]);
    assert_eq!(one.nodes.0, [vec![NodeRequirement { key: "tier".to_owned(), holds }]]);
}

#[test]
fn workload_documents_are_read_and_other_kinds_skipped() {
    let found = read_without_variables(YAML_DOCUMENTS).expect("documents");
    assert_eq!(
        names_and_images(&found),
        [
            ("batch/CronJob/nightly: fit", "fit:2"),
            ("default/DaemonSet/mon: dcgm", "dcgm:3"),
            ("default/Job/claim: c", "c:1")
        ]
    );
    let from: Vec<bool> = found.list.iter().map(|one| one.env_from.is_some()).collect();
    assert_eq!(from, [false, true, false]);
    // Objects one behind the other are read as well.
    let two = format!("{POD_LIST}\n{POD_LIST}");
    assert_eq!(read_without_variables(&two).expect("two lists").without_gpu, 4);
}

#[test]
fn a_mig_slice_is_a_node_requirement_and_a_whole_gpu_is_not() {
    let keys = |spec: &str| -> Vec<Vec<String>> {
        let text = format!("kind: Pod\nmetadata: {{name: a}}\nspec: {spec}\n");
        let found = read_without_variables(&text).expect("a pod");
        let nodes = found.list.first().expect("a workload").nodes.0.clone();
        nodes.into_iter().map(|list| list.into_iter().map(|demand| demand.key).collect()).collect()
    };
    let container =
        |list: &str, resource: &str| format!("{{name: {list}, image: \"a:1\", resources: {{{list}: {{{resource}}}}}}}");
    let whole = container("limits", "nvidia.com/gpu: 1");
    let slice = container("requests", "nvidia.com/mig-1g.10gb: 1");
    assert_eq!(keys(&format!("{{containers: [{slice}]}}")), [["nvidia.com/mig-1g.10gb"]]);
    // What one container requests, the node of the pod must have.
    assert_eq!(keys(&format!("{{initContainers: [{slice}], containers: [{whole}]}}")), [["nvidia.com/mig-1g.10gb"]]);
    assert_eq!(
        keys(&format!("{{nodeSelector: {{tier: a}}, containers: [{slice}]}}")),
        [["tier", "nvidia.com/mig-1g.10gb"]]
    );
    let none: [[&str; 0]; 0] = [];
    for other in ["nvidia.com/gpu: 1", "nvidia.com/gpu.shared: 1", "nvidia.com/gpu: 1, nvidia.com/mig-1g.10gb: 0"] {
        let resources = container("limits", other);
        assert_eq!(keys(&format!("{{containers: [{resources}]}}")), none, "{other}");
    }
}

/// Returns what is known about a label of a node; a label that only other nodes have is absent.
fn label_state(key: &str, labels: &[(&str, &str)], known: &[&str]) -> LabelState {
    let own = labels.iter().find(|(name, _)| *name == key);
    match own {
        Some((_, value)) => LabelState::OneOf(vec![(*value).to_owned()]),
        None if known.contains(&key) => LabelState::Absent,
        None => LabelState::Unknown,
    }
}

#[test]
fn node_matches_unless_a_declared_label_contradicts() {
    let found = read_without_variables(YAML_DOCUMENTS).expect("documents");
    let nightly = found.list.first().expect("one");
    let fits = |labels: &[(&str, &str)], known: &[&str]| {
        nightly.nodes.may_be_fulfilled(|demand| demand.holds.may_match_label(&label_state(&demand.key, labels, known)))
    };
    for (labels, known, expected) in [
        (&[][..], &[][..], true),
        (&[("tier", "train"), ("memory", "80"), ("spare", "x")], &[], true),
        (&[("tier", "serve"), ("spare", "x")], &[], true),
        (&[("tier", "serve")], &[], true),
        (&[("tier", "serve")], &["spare"], false),
        (&[("tier", "big")], &["spare"], true),
        (&[("tier", "big"), ("memory", "40")], &["spare"], false),
        (&[("tier", "big"), ("memory", "lots")], &["spare"], false),
        (&[("other", "x")], &["tier", "spare"], false),
        (&[("other", "x")], &["tier"], true),
    ] {
        assert_eq!(fits(labels, known), expected, "{labels:?}, known {known:?}");
    }
    assert!(Workload::default().nodes.may_be_fulfilled(|_| false), "anywhere");
    let text = |text: &str| vec![text.to_owned()];
    let (on, off) = (LabelState::OneOf(text("x")), LabelState::Absent);
    for (holds, with, without) in [
        (LabelCondition::In(text("x")), true, false),
        (LabelCondition::NotIn(text("x")), false, true),
        (LabelCondition::DoesNotExist, false, true),
        (LabelCondition::Exists, true, false),
        (LabelCondition::Below(7), false, false),
        (LabelCondition::Unknown, true, true),
    ] {
        assert_eq!((holds.may_match_label(&on), holds.may_match_label(&off)), (with, without), "{holds:?}");
        assert!(holds.may_match_label(&LabelState::Unknown), "{holds:?}");
    }
    for (holds, open, one) in [
        (LabelCondition::In(text("550")), true, true),
        (LabelCondition::In(text("560")), false, false),
        (LabelCondition::In(text("x")), false, false),
        (LabelCondition::NotIn(text("550")), true, false),
        (LabelCondition::Above(549), true, true),
        (LabelCondition::Above(550), true, false),
        (LabelCondition::Above(555), false, false),
        (LabelCondition::Below(550), true, false),
        (LabelCondition::Below(535), false, false),
        (LabelCondition::Exists, true, true),
        (LabelCondition::DoesNotExist, false, false),
    ] {
        let within = [LabelState::Between(Some(535), Some(555)), LabelState::Between(Some(550), Some(550))];
        assert_eq!(within.map(|label| holds.may_match_label(&label)), [open, one], "{holds:?}");
    }
}

#[test]
fn pods_inside_of_objects_of_any_other_kind_are_found() {
    let container = r#"{name: c, image: "a:1", resources: {limits: {nvidia.com/gpu: 1}}}"#;
    let pod = format!("{{nodeSelector: {{tier: train}}, containers: [{container}]}}");
    for (kind, object, names_of) in [
        ("PodTemplate", format!("template: {{spec: {pod}}}"), 1),
        ("PyTorchJob", format!("spec: {{pytorchReplicaSpecs: {{Master: {{template: {{spec: {pod}}}}}}}}}"), 1),
        ("RayCluster", format!("spec: {{workerGroupSpecs: [{{template: {{spec: {pod}}}}}]}}"), 1),
        ("Service", format!("spec: {{template: {{spec: {pod}}}}}"), 1),
        ("Made", format!("spec: {{containers: [{{name: c}}], other: {{containers: [{container}]}}}}"), 1),
        ("CustomResourceDefinition", "spec: {properties: {containers: {items: {image: x}}}}".to_owned(), 0),
        ("ConfigMap", format!("data: {{pod: '{}'}}", pod.replace('\'', "")), 0),
    ] {
        let text = format!("kind: {kind}\nmetadata: {{name: x}}\n{object}\n");
        let found = read_without_variables(&text).unwrap_or_default();
        assert_eq!(found.list.len(), names_of, "{kind}: {found:?}");
        for one in &found.list {
            assert_eq!(one.name, format!("default/{kind}/x: c"));
        }
    }
    let deep = format!("kind: Deep\na: {}{pod}{}\n", "{a: ".repeat(20), "}".repeat(20));
    assert_eq!(read_without_variables(&deep), Err(ClusterError::Nothing));
}

#[test]
fn services_with_gpus_are_read_from_compose_files() {
    let found = read_without_variables(COMPOSE_FILE).expect("services");
    assert_eq!(
        names_and_images(&found),
        [
            ("service cdi", "cdi:1"),
            ("service model", "vllm:1"),
            ("service more", "vllm:1"),
            ("service named", "named:1"),
            ("service old", "old:1"),
            ("service short", "short:1"),
            ("service swarm", "swarm:1"),
            ("service tagged", "x:1"),
        ]
    );
    assert_eq!((found.without_gpu, found.notes.len()), (3, 1), "{:?}", found.notes);
    let env = |at: usize| found.list.iter().nth(at).expect("a service").env.clone();
    let text = |text: &str| Some(text.to_owned());
    let of = |list: &[(&str, Option<String>)]| -> BTreeMap<String, Option<String>> {
        list.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    };
    assert_eq!(env(1), of(&[("A", text("1")), ("B", None), ("C", None), ("D", text("a$b"))]));
    assert_eq!(env(2), env(1));
    assert_eq!(env(4), of(&[("A", text("1")), ("B", None)]));
    let commands: Vec<bool> = found.list.iter().map(|one| one.command.is_image_default()).collect();
    assert_eq!(commands, [true, false, false, true, true, true, true, true]);
}

#[test]
fn a_service_has_what_those_have_that_it_extends() {
    let text = r#"
include: [more/part.yaml]
services:
  base:
    image: "base:${TAG}"
    command: serve
    environment: [A=1, B=2]
    deploy: {resources: {reservations: {devices: [{driver: nvidia, capabilities: [gpu]}]}}}
  own: {extends: base, environment: {B: 3, C: 4}, command: train, image: "own:1"}
  kept: {extends: {service: base}}
  far: {extends: {file: more/far.yaml, service: gpu}, image: "far:1"}
  plain: {extends: {file: more/far.yaml, service: web}}
  gone: {extends: {file: none.yaml, service: x}, image: "gone:1"}
  half: {extends: {file: none.yaml, service: x}, image: "half:1", gpus: all}
  circle: {extends: circle, image: "circle:1", gpus: all}
  none: {extends: 5, image: "none:1"}
"#;
    let open = |path: &str| {
        let text = match path {
            "more/far.yaml" => {
                "services: {gpu: {extends: {file: deep.yaml, service: one}, environment: [X=1]}, web: {image: web}}"
            }
            "more/deep.yaml" => "services: {one: {runtime: nvidia, image: deep, env_file: a.env}}",
            "more/part.yaml" => "services: {part: {image: part, gpus: all}}",
            _ => return None,
        };
        Some(text.to_owned())
    };
    let found = read_workloads(text, &BTreeMap::from([("TAG".to_owned(), "7".to_owned())]), &open).expect("services");
    let describe_workload = |one: &Workload| {
        let env = one.env.iter().map(|(name, value)| format!("{name}={}", value.as_deref().unwrap_or("?")));
        let elsewhere = if one.env_from.is_some() { " +" } else { "" };
        format!("{} {} [{}]{elsewhere}", one.name, one.image, env.collect::<Vec<_>>().join(","))
    };
    assert_eq!(
        found.list.iter().map(describe_workload).collect::<Vec<_>>(),
        [
            "service base base:7 [A=1,B=2]",
            "service circle circle:1 [] +",
            "service far far:1 [X=1] +",
            "service half half:1 [] +",
            "service kept base:7 [A=1,B=2]",
            "service own own:1 [A=1,B=3,C=4]",
            "service part part [] ".trim_end(),
        ]
    );
    let own = found.list.iter().find(|one| one.name == "service own").expect("one");
    let kept = found.list.iter().find(|one| one.name == "service kept").expect("one");
    assert_ne!(own.command, kept.command);
    assert_eq!(found.without_gpu, 1, "what was not read may ask for a GPU");
    let notes: Vec<&str> = found.notes.iter().map(String::as_str).collect();
    assert_eq!(
        notes,
        [
            "service circle: service `circle` extends itself",
            "service gone: service `x` of `none.yaml` could not be read",
            "service half: service `x` of `none.yaml` could not be read",
            "service none: service `none` extends something that is not a service",
        ]
    );
}

#[test]
fn list_document_names_its_kind_once() {
    let pods = r#"{"kind": "PodList", "items": [{"metadata": {"name": "q"}, "spec": {"containers": [
        {"name": "c", "image": "a:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}]}"#;
    assert_eq!(names_and_images(&read_without_variables(pods).expect("pods")), [("default/Pod/q: c", "a:1")]);
    let nodes = pods.replace("PodList", "NodeList");
    assert_eq!(
        names_and_images(&read_without_variables(&nodes).expect("what has containers")),
        [("default/Node/q: c", "a:1")]
    );
}

#[test]
fn service_environment_overrides_env_files() {
    let open = |path: &str| match path {
        "a.env" => Some("A=1\nB=2\nX=$Y\n".to_owned()),
        "b.env" => Some("B=3\n".to_owned()),
        _ => None,
    };
    for (files, expected, whole) in [
        ("a.env", "A=1 B=own X=-", true),
        ("[b.env, {path: a.env}]", "A=1 B=own X=-", true),
        ("[a.env, b.env]", "A=1 B=own X=-", true),
        ("[a.env, none.env]", "A=- B=own X=-", false),
        ("{path: none.env, required: false}", "B=own", false),
        ("[]", "B=own", true),
        ("$FILE", "B=own", false),
    ] {
        let text = format!(
            "services: {{s: {{image: 'i:1', gpus: all, platform: linux/arm64, env_file: {files}, environment: {{B: own}}}}}}"
        );
        let found = read_workloads(&text, &BTreeMap::new(), &open).expect("a service");
        let one = found.list.first().expect("one");
        let shown = |(name, value): (&String, &Option<String>)| format!("{name}={}", value.as_deref().unwrap_or("-"));
        assert_eq!(one.env.iter().map(shown).collect::<Vec<_>>().join(" "), expected, "{files}");
        assert_eq!((one.env_from.is_none(), one.platform.as_deref()), (whole, Some("linux/arm64")), "{files}");
    }
}

#[test]
fn images_of_services_take_variables_as_builds_do() {
    let env_variables = BTreeMap::from([("TAG".to_owned(), "2".to_owned()), ("NONE".to_owned(), String::new())]);
    let read = |image: &str, variables: &BTreeMap<String, String>| {
        let text = format!("services: {{s: {{image: '{image}', gpus: all, command: 'run $TAG'}}}}");
        read_workloads(&text, variables, &|_| None).expect("services")
    };
    for (image, without, with) in [
        (
            "${REG:-127.0.0.1:5000}/team/hl:${TAG:-1}",
            Some("127.0.0.1:5000/team/hl:1"),
            Some("127.0.0.1:5000/team/hl:2"),
        ),
        ("hl:$TAG", None, Some("hl:2")),
        ("hl:${NONE-1}x", Some("hl:1x"), Some("hl:x")),
        // These get no value, whatever surrounds them.
        ("hl:$tag", None, None),
        ("hl:${TAG_}", None, None),
        ("hl:${OTHER:?needed}", None, None),
        ("hl:${NONE:?needed}", None, None),
        ("hl:${TAG", None, None),
        // And these are no variables.
        ("hl:1", Some("hl:1"), Some("hl:1")),
        ("hl:$$TAG", Some("hl:$TAG"), Some("hl:$TAG")),
    ] {
        for (expected, variables) in [(without, &BTreeMap::new()), (with, &env_variables)] {
            let found = read(image, variables);
            let images: Vec<&str> = found.list.iter().map(|one| one.image.as_str()).collect();
            assert_eq!(images, expected.into_iter().collect::<Vec<_>>(), "{image} with {variables:?}");
            assert_eq!(found.notes.len(), usize::from(expected.is_none()), "{image}: {:?}", found.notes);
            let written = found.list.first().and_then(|one| one.written.as_deref());
            assert_eq!(written, expected.filter(|expected| *expected != image).map(|_| image));
        }
    }
    let command = |found: &Workloads| found.list.first().expect("one").command.arguments.clone();
    assert_eq!(command(&read("a", &BTreeMap::new())), ArgumentOverride::Unknown);
    assert_eq!(command(&read("a", &env_variables)), ArgumentOverride::Explicit(vec!["run".to_owned(), "2".to_owned()]));
}

#[test]
fn a_file_without_workloads_is_an_error_and_nothing_breaks_the_reader() {
    for text in
        ["", "{}", "[]", "a: 1", "kind: ConfigMap", "services: 7", "null", r#"{"kind": "Pod"}"#, r#"{"kind": "List"}"#]
    {
        assert_eq!(read_without_variables(text), Err(ClusterError::Nothing), "{text}");
    }
    for text in ["{", "a: [", "\t- x", "{\"kind\": \"Pod\"} x", "a: &a [*a, *a]"] {
        assert!(
            matches!(read_without_variables(text), Err(ClusterError::Unreadable(_) | ClusterError::Nothing)),
            "{text}"
        );
    }
    for deep in ["{\"a\":".repeat(100_000), "[".repeat(100_000), "- ".repeat(100_000), "a: {".repeat(50_000)] {
        assert!(read_without_variables(&deep).is_err());
    }
    let odd =
        r#"{"items": [7, null, "x", {"kind": "Pod", "spec": {"containers": [7, {"image": 7}], "nodeSelector": []}}]}"#;
    assert_eq!(read_without_variables(odd).map(|found| found.list.len()), Ok(0));
}

/// Returns a pod whose container status names an image.
fn pod_json(name: &str, image: &str, phase: &str, image_id: &str) -> String {
    format!(
        r#"{{"kind": "Pod", "metadata": {{"name": "{name}"}},
  "spec": {{"containers": [{{"image": "{image}", "name": "c", "resources": {{"limits": {{"nvidia.com/gpu": 1}}}}}}]}},
  "status": {{"phase": "{phase}", "containerStatuses": [{{"image": "{image}", "imageID": "{image_id}", "name": "c"}}]}}}}"#
    )
}

#[test]
fn a_pod_runs_the_digest_that_its_status_names_until_it_ends() {
    let digest = format!("sha256:{}", "0a".repeat(32));
    let pinned = format!("host/a@{digest}");
    for (image, id, runs, written) in [
        ("a:1", format!("docker.io/library/a@{digest}"), format!("docker.io/library/a@{digest}"), Some("a:1")),
        ("a:1", format!("docker-pullable://a@{digest}"), format!("a@{digest}"), Some("a:1")),
        (&pinned, format!("host/a@{digest}"), pinned.clone(), None),
        // An image by the digest of its configuration alone, and what is no digest.
        ("a:1", digest.clone(), "a:1".to_owned(), None),
        ("a:1", format!("docker://{digest}"), "a:1".to_owned(), None),
        ("a:1", format!("@{digest}"), "a:1".to_owned(), None),
        ("a:1", "a@sha256:12".to_owned(), "a:1".to_owned(), None),
        ("a:1", String::new(), "a:1".to_owned(), None),
    ] {
        let found = read_without_variables(&pod_json("p", image, "Running", &id)).expect("a pod");
        let one = found.list.first().expect("a container");
        assert_eq!((one.image.as_str(), one.written.as_deref()), (runs.as_str(), written), "{id}");
        assert_eq!((one.is_from_status, found.ended), (written.is_some(), 0), "{id}");
    }
    for (phase, ended) in [("Succeeded", 1), ("Failed", 1), ("Pending", 0), ("Unknown", 0)] {
        let found = read_without_variables(&pod_json("p", "a:1", phase, "")).expect("a pod");
        assert_eq!((found.ended, found.list.len()), (ended, 1 - ended), "{phase}");
    }
    let job = r#"{"kind": "Job", "status": {"phase": "Failed"}, "spec": {"template": {"spec": {"containers": [
        {"name": "c", "image": "a:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}}}"#;
    assert_eq!(read_without_variables(job).map(|found| (found.list.len(), found.ended)), Ok((1, 0)));
}

#[test]
fn each_container_has_the_place_where_the_file_names_its_image() {
    let pods =
        [("one", "a:1"), ("two", "b:1"), ("three", "a:1")].map(|(name, image)| pod_json(name, image, "Running", ""));
    let json = format!("{{\"items\": [{}]}}", pods.join(",\n"));
    let yaml = "kind: Job\nmetadata: {name: one}\nspec: {template: {spec: {runtimeClassName: nvidia, containers: \
                [{name: c, image: 'a:1'}]}}}\n---\nkind: Pod\nmetadata: {name: two}\nspec:\n  runtimeClassName: nvidia\n  \
                containers:\n  - image: b:1\n    name: c\n  - name: d\n    image: \"a:1\" # it\n";
    for text in [json.as_str(), yaml] {
        let found = read_without_variables(text).expect("workloads");
        assert_eq!(found.list.len(), 3);
        let mut starts = BTreeSet::new();
        for one in &found.list {
            let (start, end) = one.image_span.0.expect("a place");
            assert_eq!(text.get(start..end), Some(one.image.as_str()), "{one:?}");
            assert!(starts.insert(start), "each its own: {one:?}");
        }
    }
}
