//! Services of compose files that request no GPU but may get one from the default runtime of a node.

use jiff::civil::Date;

use crate::cli::command_inputs::CommandInputs;
use crate::fleet::{Fleet, Launch};
use crate::infer::infer_image_facts;
use crate::judge;
use crate::judge::AnalysisSubject;
use crate::knowledge::Knowledge;
use crate::model::fact::ValueState;

/// The reason why such a service is skipped.
pub(super) const SKIP_REASON: &str = "the service requests no GPU";

/// The environment variable by which an image requests GPUs from the container toolkit.
const VISIBLE_DEVICES_VARIABLE: &str = "NVIDIA_VISIBLE_DEVICES";

/// Returns the pools whose default runtime provides GPUs to every image that requests them.
pub(super) fn pools_with_nvidia_runtime(fleet: &Fleet) -> Vec<String> {
    let gives = fleet
        .pools
        .iter()
        .filter(|pool| pool.launch.as_ref().is_some_and(|launch| launch.value == Launch::NvidiaRuntime));
    gives.map(|pool| pool.name.value.clone()).collect()
}

impl CommandInputs {
    /// Removes the services that request no GPU and whose images request none either.
    pub(crate) fn skip_services_without_gpu(
        &mut self,
        platforms: &[String],
        as_of: Option<Date>,
        knowledge: Knowledge,
    ) {
        let unrequested = std::mem::take(&mut self.unrequested);
        let mut passed = Vec::new();
        self.subjects.retain(|subject| {
            let asks = !unrequested.contains(&subject.name)
                || platforms.iter().any(|platform| may_request_gpu(subject, platform, as_of, knowledge));
            if !asks {
                passed.push((subject.name.clone(), SKIP_REASON));
            }
            asks
        });
        self.skipped.extend(passed);
    }
}

/// Whether the environment of an image requests GPUs, or may do so.
fn may_request_gpu(subject: &AnalysisSubject, platform: &str, as_of: Option<Date>, knowledge: Knowledge) -> bool {
    let Some(seen) = judge::observations_for_platform(&subject.content, platform) else { return true };
    infer_image_facts(&seen, platform, as_of, knowledge).iter().any(|image| {
        match &image.env.get(VISIBLE_DEVICES_VARIABLE).state {
            ValueState::Known(value) => !matches!(value.as_str(), "" | "none" | "void"),
            ValueState::Absent { .. } => false,
            ValueState::Unknown(_) => true,
        }
    })
}
