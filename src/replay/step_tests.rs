//! Helpers for tests of single steps: an image with an environment on the hosts of one pool.

use crate::describe::ImageDescription;
use crate::extract::observe_description;
use crate::fleet;
use crate::fleet::{GpuNameLookup, Host};
use crate::infer::infer_image_facts;
use crate::knowledge::Knowledge;
use crate::model::fact::ImageFacts;
use crate::replay::platform::host_in_selected_mode;
use crate::replay::{FullRecorder, Replay, StartStep, StepRecord, StepResult, explanations, replay};
use crate::text::source::{SourceId, SourceText};

/// Infers the image of a description, which ends in its environment.
pub(super) fn image_from_description(description: &str) -> ImageFacts {
    let text = SourceText::new("test.image.toml", description);
    let description = ImageDescription::read(&text).expect("good description");
    let seen = observe_description(&description, Some(SourceId(0)), None);
    infer_image_facts(&seen, "linux/amd64", None, Knowledge::built_in()).into_iter().next().expect("an image")
}

/// Returns a completely known image with these variables.
pub(super) fn image_with_env(variables: &str) -> ImageFacts {
    image_from_description(&format!(
        "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\n{variables}\n\
         [[gpu_code]]\nsass = [\"sm_80\"]\nptx = []\n"
    ))
}

/// Returns the hosts of one pool: an A100 with driver 550.54.15 unless the fields differ.
pub(super) fn pool_hosts(fields: &str) -> Vec<Host> {
    let own = |key: &str, line: &str| if fields.contains(key) { String::new() } else { format!("{line}\n") };
    let gpu = own("gpu =", "gpu = \"NVIDIA A100-SXM4-80GB\"");
    let driver = own("driver =", "driver = \"550.54.15\"");
    let text = SourceText::new("fleet.toml", format!("[[pool]]\nname = \"p\"\n{gpu}{driver}{fields}"));
    let fleet = fleet::read_fleet(SourceId(0), &text, &|_| GpuNameLookup::Known).expect("good fleet");
    fleet.pools.iter().flat_map(|pool| pool.hosts(Knowledge::built_in(), None)).collect()
}

/// Returns the result of one step on one host as a short name, and its text.
pub(super) fn step_result_and_text(image: &ImageFacts, host: &Host, step: StartStep) -> (String, String) {
    let component = image.components.first().expect("a component");
    let host = host_in_selected_mode(image, host);
    let replayed = Replay::new(image, component, host, Knowledge::built_in());
    let mut steps = FullRecorder::default();
    let _ = replay(replayed, &mut steps);
    let record: &StepRecord = steps.0.iter().find(|record| record.step == step).expect("the step was taken");
    (result_name(record.result), explanations::describe_step(replayed, record))
}

/// Returns the short name of a result.
fn result_name(result: StepResult) -> String {
    match result {
        StepResult::Passes(_) => "passes".to_owned(),
        StepResult::Stops(failure) => {
            let detail = failure.reason().map_or_else(|| failure.outcome().name(), |reason| reason.name());
            failure.codes().certain.map_or_else(|| detail.to_owned(), |code| format!("{detail} {code}"))
        }
        StepResult::Unknown => "unknown".to_owned(),
        StepResult::NotSeen => "not seen".to_owned(),
        StepResult::FailsLater => "fails later".to_owned(),
        StepResult::NotApplicable => "n/a".to_owned(),
    }
}

/// Checks a step on every host of a pool; rows are fields, variables, the result, and a part of the text.
pub(super) fn expect_step_results(step: StartStep, table: &[(&str, &str, &str, &str)]) {
    for (fields, variables, found, expected_text) in table {
        let image = image_with_env(variables);
        let hosts = pool_hosts(fields);
        assert!(!hosts.is_empty(), "{fields}: no host");
        for host in &hosts {
            let (result, text) = step_result_and_text(&image, host, step);
            assert_eq!(result, *found, "{fields} | {variables} | {text}");
            assert!(text.contains(expected_text), "{fields} | {variables}: {text}");
        }
    }
}
