//! Platform and mode steps: which manifest is pulled, and which mode of the toolkit starts the container.

use crate::fleet::{DeviceSource, Host, Launch, PoolEntry, PoolField, ToolkitOptions};
use crate::model::fact::{ImageFacts, ValueState};
use crate::model::outcome::Outcome;
use crate::replay::environment::ContainerEnv;
use crate::replay::gpu_request::{requests_no_devices, requests_only_cdi_names};
use crate::replay::{
    Basis, Citation, CudaErrorCodes, Replay, ReplayFailure, StartRoute, StartStep, StepRecord, StepResult,
};

/// Citation for the choice of a manifest by platform.
const IMAGE_INDEX_CITATION: Citation = Citation("OCI image specification 1.1, image-index.md");
/// Citation for the choice of the toolkit's mode.
const MODE_CITATION: Citation = Citation(
    "nvidia-container-toolkit v1.20.0, internal/info/auto.go and internal/runtime/runtime_factory.go; CHANGELOG v1.18.0-rc.1",
);

/// Replays the platform step: whether the image has a manifest for the host's platform.
pub(super) fn platform_step(replay: Replay<'_>) -> StepRecord {
    let platforms = &replay.image.platforms;
    let facts = [Basis::Image(platforms.id), Basis::Pool(PoolField::Platform)];
    let result = match &platforms.state {
        ValueState::Known(list) if list.iter().any(|platform| is_same_platform(platform, &replay.host.platform)) => {
            StepResult::Passes(StartRoute::Native)
        }
        ValueState::Known(_) => StepResult::Stops(ReplayFailure::new(Outcome::WrongPlatform, CudaErrorCodes::NONE)),
        // The platform is not fixed: the image is built for the requested one.
        ValueState::Absent { .. } => StepResult::Passes(StartRoute::Native),
        ValueState::Unknown(_) => StepResult::Unknown,
    };
    StepRecord::new(StartStep::Platform, result, facts, IMAGE_INDEX_CITATION)
}

/// Makes a step of the container toolkit unknown if the host's toolkit is newer than the knowledge tables.
pub(super) fn unknown_for_newer_toolkit(replay: Replay<'_>, step: StepRecord) -> StepRecord {
    if !replay.host.toolkit_newer {
        return step;
    }
    StepRecord::new(step.step, StepResult::Unknown, [Basis::Pool(PoolField::Toolkit)], step.cite)
}

/// Whether two platforms match by operating system and architecture; variants are compared only if both have one.
fn is_same_platform(image: &str, host: &str) -> bool {
    let mut image = image.split('/');
    let mut host = host.split('/');
    image.next() == host.next()
        && image.next() == host.next()
        && match (image.next(), host.next()) {
            (Some(image), Some(host)) => image == host,
            _ => true,
        }
}

/// Returns the host in the mode that applies to an image; variables of the image may select the CDI mode.
pub(super) fn host_in_selected_mode<'a>(image: &'a ImageFacts, host: &'a Host) -> &'a Host {
    let Some(in_cdi) = &host.in_cdi else { return host };
    let env = ContainerEnv::new(&image.env, host);
    let cdi = match host.devices {
        DeviceSource::LaunchAndEnvironment => requests_no_devices(env, host),
        _ => requests_only_cdi_names(env, host),
    };
    if cdi { in_cdi } else { host }
}

/// Replays the mode step: which mode of the container toolkit starts the container.
pub(super) fn mode_step(replay: Replay<'_>) -> StepRecord {
    let row = replay.host.toolkit.map(|row| Basis::Row(&row.info));
    let host = replay.host;
    let pool = [
        Some(PoolField::Launch),
        Some(PoolField::Toolkit),
        Some(PoolField::Mode),
        (host.launch == Launch::DockerGpus).then_some(PoolField::Engine),
    ];
    let option = host.options.mode_configured.then_some(Basis::Entry(PoolEntry::Option(ToolkitOptions::MODE)));
    let facts = pool.into_iter().flatten().map(Basis::Pool).chain(option).chain(row);
    StepRecord::new(StartStep::Mode, StepResult::Passes(StartRoute::Native), facts, MODE_CITATION)
}

#[cfg(test)]
mod tests {
    use super::is_same_platform;

    #[test]
    fn variant_is_compared_only_if_both_have_one() {
        for (image, host, expected) in [
            ("linux/amd64", "linux/amd64", true),
            ("linux/arm64/v8", "linux/arm64", true),
            ("linux/arm64/v7", "linux/arm64/v8", false),
            ("linux/amd64", "linux/arm64", false),
            ("windows/amd64", "linux/amd64", false),
        ] {
            assert_eq!(is_same_platform(image, host), expected, "{image} on {host}");
        }
    }
}
