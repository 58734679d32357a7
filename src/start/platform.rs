//! Platform and mode: which manifest is pulled, and which code starts the container.

use crate::fact::ImageFacts;
use crate::fact::State;
use crate::fleet::DeviceSource;
use crate::fleet::Host;
use crate::fleet::Launch;
use crate::fleet::Options;
use crate::fleet::PoolEntry;
use crate::fleet::PoolField;
use crate::outcome::Outcome;
use crate::start::Basis;
use crate::start::Cite;
use crate::start::Codes;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Wall;
use crate::start::environment::Env;
use crate::start::request::asks_nothing;
use crate::start::request::only_cdi_names;

const INDEX: Cite = Cite("OCI image specification 1.1, image-index.md");
const MODES: Cite = Cite(
    "nvidia-container-toolkit v1.20.0, internal/info/auto.go and internal/runtime/runtime_factory.go; CHANGELOG v1.18.0-rc.1",
);

/// Is there a manifest for the host's platform?
pub(super) fn step(replay: Replay<'_>) -> StepRecord {
    let platforms = &replay.image.platforms;
    let facts = [Basis::Image(platforms.id), Basis::Pool(PoolField::Platform)];
    let result = match &platforms.state {
        State::Known(list) if list.iter().any(|platform| same(platform, &replay.host.platform)) => {
            StepResult::Passes(Route::Native)
        }
        State::Known(_) => StepResult::Stops(Wall::new(Outcome::WrongPlatform, Codes::NONE)),
        // Nothing fixes the platform: it is built for the one that is asked.
        State::Absent { .. } => StepResult::Passes(Route::Native),
        State::Unknown(_) => StepResult::Unknown,
    };
    StepRecord::new(Step::Platform, result, facts, INDEX)
}

/// A step that the container toolkit takes: of one newer than the tables nobody knows what it does.
pub(super) fn by_toolkit(replay: Replay<'_>, step: StepRecord) -> StepRecord {
    if !replay.host.toolkit_newer {
        return step;
    }
    StepRecord::new(step.step, StepResult::Unknown, [Basis::Pool(PoolField::Toolkit)], step.cite)
}

/// Operating system and architecture decide; a variant is only compared where both name one.
fn same(image: &str, host: &str) -> bool {
    let mut image = image.split('/');
    let mut host = host.split('/');
    image.next() == host.next()
        && image.next() == host.next()
        && match (image.next(), host.next()) {
            (Some(image), Some(host)) => image == host,
            _ => true,
        }
}

/// The host as it behaves for an image: what the image's own variable says may change the mode.
pub(super) fn host_for<'a>(image: &'a ImageFacts, host: &'a Host) -> &'a Host {
    let Some(in_cdi) = &host.in_cdi else { return host };
    let env = Env::new(&image.env, host);
    let cdi = match host.devices {
        DeviceSource::LaunchAndEnvironment => asks_nothing(env, host),
        _ => only_cdi_names(env, host),
    };
    if cdi { in_cdi } else { host }
}

/// Which code starts the container?
pub(super) fn mode(replay: Replay<'_>) -> StepRecord {
    let row = replay.host.toolkit.map(|row| Basis::Row(&row.info));
    let host = replay.host;
    let pool = [
        Some(PoolField::Launch),
        Some(PoolField::Toolkit),
        Some(PoolField::Mode),
        (host.launch == Launch::DockerGpus).then_some(PoolField::Engine),
    ];
    let option = host.options.mode_configured.then_some(Basis::Entry(PoolEntry::Option(Options::MODE)));
    let facts = pool.into_iter().flatten().map(Basis::Pool).chain(option).chain(row);
    StepRecord::new(Step::Mode, StepResult::Passes(Route::Native), facts, MODES)
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn a_variant_counts_only_where_both_name_one() {
        for (image, host, expected) in [
            ("linux/amd64", "linux/amd64", true),
            ("linux/arm64/v8", "linux/arm64", true),
            ("linux/arm64/v7", "linux/arm64/v8", false),
            ("linux/amd64", "linux/arm64", false),
            ("windows/amd64", "linux/amd64", false),
        ] {
            assert_eq!(same(image, host), expected, "{image} on {host}");
        }
    }
}
