//! Services of compose files that request no GPU and may get one from the default runtime of a node.

use jiff::civil::Date;

use crate::cli::inputs::Inputs;
use crate::fact::State;
use crate::fleet::Fleet;
use crate::fleet::Launch;
use crate::infer::infer;
use crate::judge;
use crate::judge::Subject;
use crate::knowledge::Knowledge;

/// Why such a service is skipped.
pub(super) const WHY: &str = "the service requests no GPU";

/// The variable by which an image asks the container toolkit for GPUs.
const DEVICES: &str = "NVIDIA_VISIBLE_DEVICES";

/// The pools whose default runtime gives GPUs to every image that asks for them.
pub(super) fn pools(fleet: &Fleet) -> Vec<String> {
    let gives = fleet
        .pools
        .iter()
        .filter(|pool| pool.launch.as_ref().is_some_and(|launch| launch.value == Launch::NvidiaRuntime));
    gives.map(|pool| pool.name.value.clone()).collect()
}

impl Inputs {
    /// Leaves out the services that request no GPU and whose images ask for none either.
    pub(crate) fn pass_over_unrequested(&mut self, platforms: &[String], as_of: Option<Date>, knowledge: Knowledge) {
        let unrequested = std::mem::take(&mut self.unrequested);
        let mut passed = Vec::new();
        self.subjects.retain(|subject| {
            let asks = !unrequested.contains(&subject.name)
                || platforms.iter().any(|platform| asks(subject, platform, as_of, knowledge));
            if !asks {
                passed.push((subject.name.clone(), WHY));
            }
            asks
        });
        self.passed.extend(passed);
    }
}

/// Whether the environment of an image asks for GPUs, or may.
fn asks(subject: &Subject, platform: &str, as_of: Option<Date>, knowledge: Knowledge) -> bool {
    let Some(seen) = judge::observations(&subject.content, platform) else { return true };
    infer(&seen, platform, as_of, knowledge).iter().any(|image| match &image.env.get(DEVICES).state {
        State::Known(value) => !matches!(value.as_str(), "" | "none" | "void"),
        State::Absent { .. } => false,
        State::Unknown(_) => true,
    })
}
