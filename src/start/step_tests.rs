//! An image with an environment on the hosts of one pool, for the tests of single steps.

use crate::describe::Description;
use crate::extract::of_description;
use crate::fact::ImageFacts;
use crate::fleet;
use crate::fleet::GpuName;
use crate::fleet::Host;
use crate::infer::infer;
use crate::knowledge::Knowledge;
use crate::source::SourceId;
use crate::source::SourceText;
use crate::start::Replay;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Steps;
use crate::start::platform::host_for;
use crate::start::replay;
use crate::start::words;

/// The image of a description, which ends in its environment.
pub(super) fn image(description: &str) -> ImageFacts {
    let text = SourceText::new("test.image.toml", description);
    let description = Description::read(&text).expect("good description");
    let seen = of_description(&description, Some(SourceId(0)), None);
    infer(&seen, "linux/amd64", None, Knowledge::built_in()).into_iter().next().expect("an image")
}

/// An image of which everything is known, with these variables.
pub(super) fn with_env(variables: &str) -> ImageFacts {
    image(&format!(
        "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\n{variables}\n\
         [[gpu_code]]\nsass = [\"sm_80\"]\nptx = []\n"
    ))
}

/// The hosts of one pool: an A100 with driver 550.54.15 where nothing else is said.
pub(super) fn hosts(fields: &str) -> Vec<Host> {
    let own = |key: &str, line: &str| if fields.contains(key) { String::new() } else { format!("{line}\n") };
    let gpu = own("gpu =", "gpu = \"NVIDIA A100-SXM4-80GB\"");
    let driver = own("driver =", "driver = \"550.54.15\"");
    let text = SourceText::new("fleet.toml", format!("[[pool]]\nname = \"p\"\n{gpu}{driver}{fields}"));
    let fleet = fleet::read(SourceId(0), &text, &|_| GpuName::Known).expect("good fleet");
    fleet.pools.iter().flat_map(|pool| pool.hosts(Knowledge::built_in(), None)).collect()
}

/// What one step finds on one host, in a word, and what it says.
pub(super) fn step(image: &ImageFacts, host: &Host, step: Step) -> (String, String) {
    let component = image.components.first().expect("a component");
    let host = host_for(image, host);
    let replayed = Replay::of(image, component, host, Knowledge::built_in());
    let mut steps = Steps::default();
    let _ = replay(replayed, &mut steps);
    let record: &StepRecord = steps.0.iter().find(|record| record.step == step).expect("the step was taken");
    (word(record.result), words::step(replayed, record))
}

fn word(result: StepResult) -> String {
    match result {
        StepResult::Passes(_) => "passes".to_owned(),
        StepResult::Stops(wall) => {
            let detail = wall.reason().map_or_else(|| wall.outcome().name(), |reason| reason.name());
            wall.codes().certain.map_or_else(|| detail.to_owned(), |code| format!("{detail} {code}"))
        }
        StepResult::Unknown => "unknown".to_owned(),
        StepResult::NotSeen => "not seen".to_owned(),
        StepResult::FailsLater => "fails later".to_owned(),
        StepResult::NotApplicable => "n/a".to_owned(),
    }
}

/// Expects of every host of a pool: fields, variables, what the step finds, a part of what it says.
pub(super) fn expect(wanted: Step, table: &[(&str, &str, &str, &str)]) {
    for (fields, variables, found, said) in table {
        let image = with_env(variables);
        let hosts = hosts(fields);
        assert!(!hosts.is_empty(), "{fields}: no host");
        for host in &hosts {
            let (result, text) = step(&image, host, wanted);
            assert_eq!(result, *found, "{fields} | {variables} | {text}");
            assert!(text.contains(said), "{fields} | {variables}: {text}");
        }
    }
}
