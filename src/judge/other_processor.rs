//! Images for a processor other than an NVIDIA GPU, recognised by their contents or the name of the Dockerfile.

use crate::judge::AnalysisSubject;
use crate::knowledge::Knowledge;
use crate::model::fact::{ImageFacts, TargetProcessor};
use crate::report::kinds::SubjectKind;

/// Whether a build of a subject has GPU content and is for no other processor.
pub(crate) fn is_for_nvidia_gpus(subject: &AnalysisSubject, image: &ImageFacts, knowledge: Knowledge) -> bool {
    image.gpu_content && other_processor_reason(subject, image, knowledge).is_none()
}

/// Returns why a build of a subject is for another processor. The contents take precedence over the name of the file.
pub(super) fn other_processor_reason(
    subject: &AnalysisSubject,
    image: &ImageFacts,
    knowledge: Knowledge,
) -> Option<String> {
    match &image.target_processor {
        TargetProcessor::Other(why) => Some(why.clone()),
        TargetProcessor::Unstated if subject.kind == SubjectKind::Dockerfile => {
            reason_from_file_name(&subject.path, knowledge)
        }
        TargetProcessor::Gpus | TargetProcessor::Unstated => None,
    }
}

/// Returns the processor that the name of a Dockerfile states: `Dockerfile.cpu`, `cpu.Dockerfile`, `Dockerfile-cpu`,
/// `Dockerfile.ubuntu-cpu`.
///
/// A name that names a GPU as well, or denies the processor, states nothing.
fn reason_from_file_name(path: &str, knowledge: Knowledge) -> Option<String> {
    let name = path.rsplit(['/', '\\']).next()?;
    let lower = name.to_ascii_lowercase();
    let parts: Vec<Vec<String>> =
        lower.split('.').map(|part| part.split(['-', '_']).map(str::to_owned).collect()).collect();
    knowledge.other_processor_of_words(&parts.concat())?;
    // At the end of a part stands the variant: `cpu-monitor` is a monitor.
    let row = parts.iter().find_map(|part| knowledge.other_processor_of_file_part(part))?;
    Some(format!("the name of the file `{name}` specifies {}", row.processor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_name_states_a_processor_in_the_last_word_of_a_part() {
        let knowledge = Knowledge::built_in();
        for name in [
            "Dockerfile.cpu",
            "docker/cpu.Dockerfile",
            "Dockerfile-cpu",
            "Dockerfile.CPU",
            "Dockerfile.cpu.arm64",
            "Dockerfile.cpu_only",
            "Dockerfile-cpu-only",
            "cpu-inference.Dockerfile",
        ] {
            assert!(
                reason_from_file_name(name, knowledge).is_some_and(|why| why.ends_with("specifies the CPU")),
                "{name}"
            );
        }
        assert!(reason_from_file_name("Dockerfile.neuronx", knowledge).is_some_and(|why| why.ends_with("AWS Neuron")));
        for name in [
            "Dockerfile",
            "cpu/Dockerfile",
            "Dockerfile.cpuset",
            "Dockerfile.cpu-monitor",
            "cpu-monitor.Dockerfile",
            "cpu-inference-monitor.Dockerfile",
            "Dockerfile.only",
            "Dockerfile.cpu.gpu",
            "Dockerfile.gpu-cpu",
            "Dockerfile.cpu-cuda",
            "Dockerfile.cu121.cpu",
            "Dockerfile.non-cpu",
            "Dockerfile.no-cpu",
            "Dockerfile.not_cpu_only",
        ] {
            assert_eq!(reason_from_file_name(name, knowledge), None, "{name}");
        }
    }
}
