//! Subjects for a processor other than an NVIDIA GPU: their contents state it, or the name of the Dockerfile does.

use crate::fact::ImageFacts;
use crate::fact::MadeFor;
use crate::judge::Subject;
use crate::knowledge::Knowledge;

/// Whether a build of a subject has GPU content and is for no other processor.
pub(crate) fn is_for_gpus(subject: &Subject, image: &ImageFacts, knowledge: Knowledge) -> bool {
    image.gpu_content && stated(subject, image, knowledge).is_none()
}

/// Why a build of a subject is for another processor. The contents take precedence over the name of the file.
pub(super) fn stated(subject: &Subject, image: &ImageFacts, knowledge: Knowledge) -> Option<String> {
    match &image.made_for {
        MadeFor::Other(why) => Some(why.clone()),
        MadeFor::Unstated if subject.kind == "dockerfile" => by_name(&subject.path, knowledge),
        MadeFor::Gpus | MadeFor::Unstated => None,
    }
}

/// What the name of a Dockerfile states: `Dockerfile.cpu`, `cpu.Dockerfile`, `Dockerfile-cpu`, `Dockerfile.ubuntu-cpu`.
///
/// A name that names a GPU as well, or denies the processor, states nothing.
fn by_name(path: &str, knowledge: Knowledge) -> Option<String> {
    let name = path.rsplit(['/', '\\']).next()?;
    let lower = name.to_ascii_lowercase();
    let parts: Vec<Vec<String>> =
        lower.split('.').map(|part| part.split(['-', '_']).map(str::to_owned).collect()).collect();
    knowledge.other_processor_of_words(&parts.concat())?;
    // At the end of a part stands the variant: `cpu-monitor` is a monitor.
    let row = parts.iter().find_map(|part| knowledge.other_processor_of_part(part))?;
    Some(format!("the name of the file `{name}` specifies {}", row.processor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_states_a_processor_with_a_whole_word_at_the_end_of_a_part() {
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
            assert!(by_name(name, knowledge).is_some_and(|why| why.ends_with("specifies the CPU")), "{name}");
        }
        assert!(by_name("Dockerfile.neuronx", knowledge).is_some_and(|why| why.ends_with("AWS Neuron")));
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
            assert_eq!(by_name(name, knowledge), None, "{name}");
        }
    }
}
