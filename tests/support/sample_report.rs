//! A report written by hand: two images on three pools, one finding with a label in the fleet file.

#![expect(clippy::needless_pass_by_value, reason = "values are made where they are passed")]

use imagelint::report::model::Report;
use serde_json::{Value, json as value};

pub(crate) const DOCKERFILE: &str =
    "ARG CUDA=12.4.1\nFROM nvidia/cuda:${CUDA}-runtime-ubuntu22.04\nRUN pip install torch==2.4.0+cu124\n";
pub(crate) const FLEET: &str = "[[pool]]\nname   = \"desk-3090\"\ngpu    = \"RTX 3090\"\ndriver = \"470.182.03\"\n";

fn region(text: &str, part: &str) -> Value {
    let start = text.find(part).expect("the part is in the text");
    let line = text[..start].matches('\n').count() + 1;
    let column = start - text[..start].rfind('\n').map_or(0, |at| at + 1) + 1;
    value!({
        "start_line": line, "start_column": column, "end_line": line, "end_column": column + part.len(),
        "start_byte": start, "end_byte": start + part.len(),
    })
}

fn verdict(pool: &str, fate: &str, scenarios: Value) -> Value {
    value!({
        "pool": pool, "component": null, "fate": fate, "outcome": null, "reason": null,
        "codes": {"certain": null, "possible": []}, "route": null, "message": "", "confidence": "declared",
        "missing": [], "not_seen": [], "scenarios": scenarios,
    })
}

fn with(mut object: Value, changes: Value) -> Value {
    for (key, change) in changes.as_object().expect("an object") {
        object[key] = change.clone();
    }
    object
}

fn scenario(gpu: &str, launch: &str, fate: &str, steps: Value) -> Value {
    value!({
        "when": {"gpu": gpu, "driver": "470.182.03", "launch": launch, "mode": null, "toolkit": null, "build": null},
        "fate": fate, "outcome": null, "steps": steps,
    })
}

fn steps(result: &str) -> Value {
    value!([
        {"step": "requirement", "result": "passes", "text": "the image requires nothing",
         "facts": ["f1"], "cite": ""},
        {"step": "runtime", "result": result, "text": "driver 470.182.03 is older than 525.60.13",
         "facts": ["f2", "pool.driver", "pool.launch", "toolkits/12.4.1"], "cite": "CUDA 12.4 release notes, table 3"},
    ])
}

fn facts() -> Value {
    let origin = value!({"kind": "file", "path": "Dockerfile", "label": "", "region": region(DOCKERFILE, "12.4.1")});
    let env = value!({"kind": "config", "path": "Env", "label": "", "region": null});
    value!([
        {"id": "f1", "key": "env.NVIDIA_REQUIRE_CUDA", "state": "absent", "value": null, "origins": [],
         "derived_from": [], "why": "no ENV sets it"},
        {"id": "f2", "key": "cuda.runtime", "state": "known", "value": "12.4.1", "origins": [env],
         "derived_from": ["f3"], "why": null},
        {"id": "f3", "key": "arg.CUDA", "state": "known", "value": "12.4.1", "origins": [origin],
         "derived_from": ["f2"], "why": null},
    ])
}

fn finding() -> Value {
    let place = |kind: &str, path: &str, label: &str, region: Value| value!({"kind": kind, "path": path, "label": label, "region": region});
    value!({
        "rule": "driver-older-than-runtime", "severity": "error",
        "message": "CUDA 12.4 will not start on pool `desk-3090`: driver 470.182.03 is older than 525.60.13",
        "help": "move the pool to driver 525.60.13 or newer",
        "pools": ["desk-3090"], "component": null, "fixes": [],
        "locations": [
            place("file", "Dockerfile", "CUDA 12.4.1 comes from this tag",
                  region(DOCKERFILE, "nvidia/cuda:${CUDA}-runtime-ubuntu22.04")),
            place("file", "Dockerfile", "set here", region(DOCKERFILE, "12.4.1")),
            place("fleet", "fleet.toml", "the pool's driver is declared here", region(FLEET, "\"470.182.03\"")),
            place("config", "Env", "CUDA_VERSION is 12.4.1", Value::Null),
        ],
    })
}

fn subject(name: &str, kind: &str, verdicts: Value) -> Value {
    value!({
        "name": name, "kind": kind, "stage": null, "platform": null, "digest": null, "gpu_content": true,
        "inspected": {"depth": "text", "notes": []}, "verdicts": verdicts, "findings": [], "facts": [],
        "description": {"any": ["thing"]},
    })
}

pub(crate) fn sample() -> Report {
    let pool = |name: &str, gpu: &str, driver: Value| {
        let fields = match driver.as_str() {
            Some(text) if FLEET.contains(text) => value!([{"key": "pool.driver", "value": text, "location":
                {"kind": "fleet", "path": "fleet.toml", "label": "", "region": region(FLEET, "\"470.182.03\"")}}]),
            _ => value!([]),
        };
        value!({"name": name, "gpu": [gpu], "driver": driver, "nodes": null, "fields": fields, "location":
            {"kind": "fleet", "path": "fleet.toml", "label": "", "region": region(FLEET, "[[pool]]")}})
    };
    let missing = value!([{"key": "pool.driver", "supply": "set `driver` in fleet.toml"}]);
    let failing = with(
        verdict(
            "desk-3090",
            "fails",
            value!([
                scenario("RTX 3090", "docker", "fails", steps("stops")),
                scenario("RTX 3090", "cdi", "fails", steps("stops")),
                scenario("RTX 3090", "slurm", "undetermined", steps("unknown")),
            ]),
        ),
        value!({"outcome": "insufficient-driver", "codes": {"certain": 35, "possible": [803, 999]},
            "message": "CUDA driver version is insufficient for CUDA runtime version"}),
    );
    let torch = with(
        verdict("desk-3090", "depends", value!([])),
        value!({"component": "torch", "missing": missing, "not_seen": ["flash-attn"]}),
    );
    let jit = with(verdict("train-a100", "starts", value!([])), value!({"route": "jit"}));
    let open = with(verdict("edge", "undetermined", value!([])), value!({"missing": missing}));
    let app = with(
        subject("Dockerfile", "dockerfile", value!([failing, torch, jit, open])),
        value!({"stage": "serve", "findings": [finding()], "facts": facts()}),
    );
    let image = with(
        subject(
            "nvcr.io/app:1",
            "image",
            value!([
                with(verdict("desk-3090", "starts", value!([])), value!({"route": "minor-version"})),
                verdict("train-a100", "starts", value!([])),
                verdict("edge", "not-applicable", value!([])),
            ]),
        ),
        value!({"inspected": {"depth": "config", "notes": ["quick"]}}),
    );
    serde_json::from_value(value!({
        "schema_version": 1, "tool": {"version": "0.1.0", "knowledge": "2026-11-01"}, "as_of": null,
        "fleet": {"source": "fleet.toml", "built_in": false, "pools": [
            pool("desk-3090", "RTX 3090", value!("470.182.03")),
            pool("train-a100", "A100", value!("550.54.15")),
            pool("edge", "Orin", Value::Null),
        ]},
        "subjects": [app, image],
        "errors": [{"input": "other.Dockerfile", "message": "no such file", "location": null}],
    }))
    .expect("the sample has the shape of the model")
}
