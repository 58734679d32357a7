//! All vectors of NVIDIA's start-up semantics against our evaluators.

use std::collections::{BTreeMap, BTreeSet};

use imagelint::cuda::{
    ContainerToolkitRelease, HostValue, RequirementHost, RequirementVerdict, SUPPORTED_CAPABILITIES, VisibleDevices,
    cuda_version_requirement, driver_capability_names, evaluate_cli_requirements, evaluate_toolkit_requirements,
    image_requirements, intersect_capabilities, is_legacy_image, parse_capability_list, parse_go_bool,
    toolkit_condition, visible_devices_from_env,
};
use serde_json::{Value, json};

const OLD: ContainerToolkitRelease = ContainerToolkitRelease::UpTo1_20_0;
const HEAD: ContainerToolkitRelease = ContainerToolkitRelease::After1_20_0;

/// Collects mismatches, so that one run shows all.
#[derive(Default)]
struct Score {
    checks: usize,
    skipped: Vec<String>,
    mismatches: Vec<String>,
}

impl Score {
    fn check(&mut self, vector: &Value, what: &str, found: &Value, expected: &Value) {
        self.checks += 1;
        if found != expected {
            self.mismatches.push(format!("{what}: found {found}, expected {expected}, in {vector}"));
        }
    }

    #[expect(clippy::print_stdout, reason = "the score, shown with --nocapture")]
    fn finish(self, skipped: usize) {
        println!("{} checks, skipped {:?}", self.checks, self.skipped);
        assert!(self.mismatches.is_empty(), "{} mismatches:\n{}", self.mismatches.len(), self.mismatches.join("\n"));
        assert_eq!(self.skipped.len(), skipped, "{:?}", self.skipped);
    }
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().map(|list| list.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

fn host(value: &Value, csv: bool) -> RequirementHost {
    let property = |name: &str| HostValue::from_visible(value[name].as_str());
    let apart = |name: &str| if csv { HostValue::NotVisible } else { property(name) };
    RequirementHost { cuda: property("cuda"), driver: apart("driver"), arch: property("arch"), brand: apart("brand") }
}

fn shown(verdict: RequirementVerdict) -> (Value, Value) {
    match verdict {
        RequirementVerdict::Holds => (json!("ok"), Value::Null),
        RequirementVerdict::Unsatisfied { message, .. } => (json!("fail"), json!(message)),
        RequirementVerdict::Malformed { message } => (json!("error"), json!(message)),
        RequirementVerdict::Undetermined { needs } => (json!(format!("needs {needs:?}")), Value::Null),
    }
}

fn check_verdict(
    score: &mut Score,
    vector: &Value,
    what: &str,
    verdict: RequirementVerdict,
    expected: &Value,
    message: &Value,
) {
    let (found, text) = shown(verdict);
    score.check(vector, what, &found, expected);
    if !message.is_null() {
        score.check(vector, what, &text, message);
    }
}

fn evaluate(score: &mut Score, vector: &Value) {
    let requires = texts(&vector["requires"]);
    let full = host(&vector["host"], false);
    if vector["expect_impl"] != "go only" {
        let verdict = evaluate_cli_requirements(requires.iter().copied(), &full);
        check_verdict(score, vector, "C", verdict, &vector["expect"], &vector["message_c"]);
    }
    if vector["kind"] == "message" {
        return;
    }
    let first =
        |keys: &[&str]| keys.iter().map(|key| vector[*key].clone()).find(|value| !value.is_null()).unwrap_or_default();
    let go = |host: &RequirementHost, version| evaluate_toolkit_requirements(requires.iter().copied(), host, version);
    let old = first(&["expect_go_v1_20_0"]);
    check_verdict(score, vector, "Go", go(&full, OLD), &old, &vector["message_go_v1_20_0"]);
    let head = first(&["expect_go_head", "expect_go_v1_20_0"]);
    check_verdict(score, vector, "Go head", go(&full, HEAD), &head, &vector["message_go_head"]);
    let csv = host(&vector["host"], true);
    let old = first(&["expect_go_csv_v1_20_0", "expect_go_v1_20_0"]);
    check_verdict(score, vector, "csv", go(&csv, OLD), &old, &Value::Null);
    // Rows whose host lacks driver and brand anyway have no csv verdict of their own.
    let head =
        if csv == full { head } else { first(&["expect_go_csv_head", "expect_go_csv_v1_20_0", "expect_go_v1_20_0"]) };
    check_verdict(score, vector, "csv head", go(&csv, HEAD), &head, &Value::Null);
}

fn parse_go(score: &mut Score, vector: &Value) {
    if let Some(condition) = vector["condition"].as_str() {
        let found = toolkit_condition(condition, OLD);
        score.check(vector, "error", &json!(found.is_err()), &vector["expect_error"]);
        if let Ok(found) = found {
            let tree =
                found.map_or(Value::Null, |(property, operator, value)| json!([property.as_str(), operator, value]));
            score.check(vector, "tree", &tree, &vector["expect_tree"]);
        }
    } else if vector["expect_error"] == true {
        let verdict =
            evaluate_toolkit_requirements(texts(&json!([vector["requirement"]])), &RequirementHost::default(), OLD);
        score.check(vector, "error", &shown(verdict).0, &json!("error"));
    } else {
        // The tree shows in the verdicts: every truth table row of the expression agrees.
        let requirement = vector["requirement"].as_str().unwrap_or_default();
        for (cuda, arch) in [("11.4", "5.3"), ("11.6", "5.3"), ("11.6", "7.2"), ("13.6", "5.3"), ("13.6", "7.2")] {
            let host = host(&json!({ "cuda": cuda, "arch": arch }), true);
            let found = evaluate_toolkit_requirements([requirement], &host, OLD) == RequirementVerdict::Holds;
            score.check(vector, "tree", &json!(found), &json!(tree_holds(&vector["expect_tree"], &host)));
        }
    }
}

fn tree_holds(tree: &Value, host: &RequirementHost) -> bool {
    let inner = |name: &str| tree[name].as_array();
    if let Some(terms) = inner("or") {
        return terms.iter().any(|term| tree_holds(term, host));
    }
    if let Some(terms) = inner("and") {
        return terms.iter().all(|term| tree_holds(term, host));
    }
    evaluate_toolkit_requirements([texts(tree).concat().as_str()], host, OLD) == RequirementVerdict::Holds
}

/// Conditions that hold or do not, combined as the vector says.
fn logic_go(score: &mut Score, vector: &Value) {
    let operands: Vec<&str> = vector["operands"]
        .as_array()
        .map(|list| list.iter().map(|holds| if *holds == true { "cuda=1" } else { "cuda=2" }).collect())
        .unwrap_or_default();
    if vector["op"] == "or" && operands.is_empty() {
        score.skipped.push("logic_go: an OR of nothing, which no text yields".to_owned());
        return;
    }
    let requirement = operands.join(if vector["op"] == "or" { " " } else { "," });
    let verdict = evaluate_toolkit_requirements([requirement.as_str()], &host(&json!({ "cuda": "1" }), true), OLD);
    score.check(vector, "logic", &json!(verdict == RequirementVerdict::Holds), &vector["expect"]);
}

#[test]
fn requirements() {
    let vectors: Value = serde_json::from_str(include_str!("../vectors/require.json")).expect("json");
    let mut score = Score::default();
    for vector in vectors.as_array().expect("list") {
        match vector["kind"].as_str().unwrap_or_default() {
            "evaluate" | "message" => evaluate(&mut score, vector),
            "parse_go" => parse_go(&mut score, vector),
            "logic_go" => logic_go(&mut score, vector),
            other => score.mismatches.push(format!("unknown kind {other}")),
        }
    }
    score.finish(1);
}

fn environment(vector: &Value) -> BTreeMap<String, String> {
    let pairs = vector["env"].as_object().into_iter().flatten();
    pairs.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
}

fn devices(found: &VisibleDevices) -> Value {
    match found {
        VisibleDevices::Nothing => Value::Null,
        VisibleDevices::DriverOnly => json!([""]),
        VisibleDevices::All => json!(["all"]),
        VisibleDevices::Listed(names) => json!(names),
    }
}

fn joined(words: &BTreeSet<String>) -> String {
    words.iter().map(String::as_str).collect::<Vec<_>>().join(",")
}

/// Requirements in order; none and an empty list are the same.
fn sorted(value: &Value) -> Value {
    let mut list = texts(value);
    list.sort_unstable();
    json!(list)
}

fn requirement_values(env: &BTreeMap<String, String>, version: ContainerToolkitRelease) -> Result<Value, String> {
    let found = image_requirements(env, version).map_err(|error| error.to_string())?;
    Ok(sorted(&json!(found.into_iter().map(|(_, value)| value).collect::<Vec<_>>())))
}

fn image_executed(score: &mut Score, vector: &Value, expected: &Value, version: ContainerToolkitRelease) {
    let env = environment(vector);
    let found = visible_devices_from_env(&env, &[]);
    let mut visible = expected["visible_devices"].clone();
    if vector["note"] == "duplicate" {
        // The toolkit leaves an empty name where the double was; we drop it.
        visible = json!(texts(&visible).into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>());
    }
    score.check(vector, "devices", &devices(&found), &visible);
    score.check(vector, "legacy", &json!(is_legacy_image(&env)), &expected["legacy"]);
    score.check(vector, "cdi", &json!(found.are_all_cdi_names()), &expected["only_cdi"]);
    let disabled = env.get("NVIDIA_DISABLE_REQUIRE").and_then(|value| parse_go_bool(value)).unwrap_or(false);
    score.check(vector, "disabled", &json!(disabled), &expected["disable_require"]);
    match requirement_values(&env, version) {
        Ok(found) => score.check(vector, "requirements", &found, &sorted(&expected["requirements"])),
        Err(error) => score.check(vector, "requirements", &json!(error), &expected["requirements_error"]),
    }
}

fn hook_config(score: &mut Score, vector: &Value) {
    let (env, expected) = (environment(vector), &vector["expect"]);
    let swarm: Vec<&str> = vector["swarm_resource"].as_str().into_iter().collect();
    let found = visible_devices_from_env(&env, &swarm);
    score.check(vector, "gpu", &json!(found != VisibleDevices::Nothing), &expected["gpu_container"]);
    if found == VisibleDevices::Nothing {
        return;
    }
    score.check(vector, "devices", &devices(&found), &expected["devices"]);
    capabilities(score, vector, is_legacy_image(&env));
    let found = requirement_values(&env, OLD).unwrap_or_default();
    score.check(vector, "requirements", &found, &sorted(&expected["requirements"]));
}

fn capabilities(score: &mut Score, vector: &Value, legacy: bool) {
    let env = environment(vector);
    let supported = vector["supported_driver_capabilities"].as_str().unwrap_or(SUPPORTED_CAPABILITIES);
    let value = env.get("NVIDIA_DRIVER_CAPABILITIES").map(String::as_str);
    match driver_capability_names(value, legacy, supported) {
        Ok(found) => score.check(vector, "caps", &json!(joined(&found)), &vector["expect"]["driver_capabilities"]),
        Err(_) => score.check(vector, "caps", &json!(true), &vector["expect"]["panic"]),
    }
}

#[test]
fn container_environment() {
    let vectors: Value = serde_json::from_str(include_str!("../vectors/cuda_image.json")).expect("json");
    let mut score = Score::default();
    for vector in vectors.as_array().expect("list") {
        let (env, expected) = (environment(vector), &vector["expect"]);
        match vector["test"].as_str().unwrap_or_default() {
            "image_executed" => {
                image_executed(&mut score, vector, expected, OLD);
                let head = &vector["expect_head_d34b304"];
                image_executed(&mut score, vector, if head.is_null() { expected } else { head }, HEAD);
            }
            "hook_config" => hook_config(&mut score, vector),
            // Without accepted mounts the environment decides.
            "visible_devices_env" | "visible_devices"
                if vector["accept_volume_mounts"] != true || vector["mounts"] == json!([]) =>
            {
                let found = visible_devices_from_env(&env, &texts(&vector["preferred_envvars"]));
                score.check(vector, "devices", &devices(&found), &expected["devices"]);
            }
            "driver_capabilities" => capabilities(&mut score, vector, vector["legacy_image"] == true),
            "legacy_cuda_version" => {
                let found = cuda_version_requirement(vector["cuda_version"].as_str().unwrap_or_default(), OLD);
                score.check(vector, "error", &json!(found.is_err()), &json!(expected["error"] == true));
                if let Ok(found) = found {
                    score.check(vector, "requirement", &json!(found), &expected["requirement"]);
                }
            }
            "requirements" => {
                let found = requirement_values(&env, OLD).unwrap_or_default();
                score.check(vector, "requirements", &found, &sorted(&expected["requirements"]));
            }
            "capability_intersection" => {
                let text = |name: &str| vector[name].as_str().unwrap_or_default();
                let found = joined(&intersect_capabilities(text("requested"), text("supported")));
                score.check(vector, "intersection", &json!(found), expected);
            }
            "capability_list" => {
                let found = parse_capability_list(vector["value"].as_str().unwrap_or_default());
                let found = if found.is_empty() { Value::Null } else { json!(found) };
                score.check(vector, "list", &found, expected);
            }
            other => score.skipped.push(other.to_owned()),
        }
    }
    score.finish(2);
}
