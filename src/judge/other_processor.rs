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
fn by_name(path: &str, knowledge: Knowledge) -> Option<String> {
    let name = path.rsplit(['/', '\\']).next()?;
    // Behind the last dash stands the variant: `cpu-monitor` is a monitor.
    let mut variants = name.split('.').filter_map(|part| part.rsplit(['-', '_']).next());
    let row = variants.find_map(|word| knowledge.other_processor_of_word(word))?;
    Some(format!("the name of the file `{name}` specifies {}", row.processor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_states_a_processor_with_a_whole_word_at_the_end_of_a_part() {
        let knowledge = Knowledge::built_in();
        for name in
            ["Dockerfile.cpu", "docker/cpu.Dockerfile", "Dockerfile-cpu", "Dockerfile.CPU", "Dockerfile.cpu.arm64"]
        {
            assert!(by_name(name, knowledge).is_some_and(|why| why.ends_with("specifies the CPU")), "{name}");
        }
        assert!(by_name("Dockerfile.neuronx", knowledge).is_some_and(|why| why.ends_with("AWS Neuron")));
        for name in
            ["Dockerfile", "cpu/Dockerfile", "Dockerfile.cpuset", "Dockerfile.cpu-monitor", "cpu-monitor.Dockerfile"]
        {
            assert_eq!(by_name(name, knowledge), None, "{name}");
        }
    }
}
