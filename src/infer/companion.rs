//! Packages of which each release goes with one release of torch: which of them an installer takes, and what torch that
//! leaves there.
//!
//! What is there already stays. What is not, an installer takes in its newest release, and puts the torch that this one asks
//! for in the place of another.

use std::cmp::Ordering;

use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Why;
use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::infer::torch::Torch;
use crate::infer::torch_pins::Ask;
use crate::infer::torch_release::Day;
use crate::infer::torch_release::fits;
use crate::infer::torch_release::is_out;
use crate::infer::torch_release::offered;
use crate::infer::torch_release::runs_on;
use crate::install::admits;
use crate::install::order;
use crate::install::public;
use crate::knowledge::TorchPinRow;
use crate::knowledge::TorchRow;

/// What a command finds, and when.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The torch that is there.
    pub(super) now: &'a Torch<'a>,
    /// What is known of the base image.
    pub(super) build: &'a BaseBuild,
    /// What was seen.
    pub(super) seen: &'a Observations,
    /// The Python of the command, where it is known.
    pub(super) python: Option<&'a str>,
    /// The day that counts.
    pub(super) day: Day<'a>,
}

/// Whether a companion is there before its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum There {
    No,
    Yes,
    /// The base was not read.
    Perhaps,
}

/// What the release that an installer takes asks for.
pub(super) enum Asked {
    /// No torch.
    Nothing,
    /// A torch, or why it cannot be told.
    Torch(Result<Ask, Why>),
}

/// What a companion without an exact version asks of torch beside ranges of it that others ask for; `None` where it is no
/// companion, or the tables do not tell which release it is.
pub(super) fn asked_of(package: &PackageSeen, ranges: &[String], place: Place<'_>) -> Option<Asked> {
    let PackageVersion::Open(own) = &package.version else { return None };
    // Of early versions the tables know none.
    if !place.day.knowledge.is_built_with_torch(&package.name) || package.early.is_some() {
        return None;
    }
    let there = if package.upgrade { There::No } else { there(package, own, place) };
    let nothing_there = matches!(place.now, Torch::None);
    match there {
        There::Yes => return Some(Asked::Torch(Ok(Ask::ANY))),
        There::Perhaps if !nothing_there => return Some(Asked::Torch(Err(unread(package)))),
        There::Perhaps | There::No => {}
    }
    let row = newest(package, own, ranges, place)?;
    Some(match (row.unasked, place.python) {
        (true, _) => Asked::Nothing,
        (false, Some(_)) => Asked::Torch(Ok(Ask::of(row.torch))),
        // A release for an older Python asks for an older torch.
        (false, None) if nothing_there => Asked::Torch(Ok(Ask::ANY)),
        (false, None) => Asked::Torch(Ok(Ask { range: row.torch, least: "" })),
    })
}

/// Whether an earlier command or the base brings the package, in a version that will do.
fn there(package: &PackageSeen, own: &str, place: Place<'_>) -> There {
    let Place { build, seen, .. } = place;
    let taken = seen.gone.iter().filter(|gone| gone.name == package.name && gone.command <= package.command);
    let taken = taken.map(|gone| gone.command).max();
    let stays = |command: u32| taken.is_none_or(|taken| taken < command);
    let will_do = |version: &PackageVersion| match version {
        PackageVersion::Exact(version) => own.is_empty() || admits(own, public(version)) != Some(false),
        PackageVersion::Open(_) | PackageVersion::Unresolved(_) => true,
    };
    let mut earlier = seen.packages.iter().filter(|one| one.name == package.name && one.command < package.command);
    if earlier.any(|one| one.apart == package.apart && stays(one.command) && will_do(&one.version)) {
        return There::Yes;
    }
    // An environment of its own does not see what the base has.
    if package.apart || taken.is_some() {
        return There::No;
    }
    if build.torch.is_some() || !build.torch_about.is_empty() || build.of_others.is_some() {
        return There::Yes;
    }
    if matches!(build.family, Family::Plain | Family::Cuda) { There::No } else { There::Perhaps }
}

/// The newest release of those that are asked for whose torch the indexes of the command have, on that day and for that
/// Python.
fn newest(package: &PackageSeen, own: &str, ranges: &[String], place: Place<'_>) -> Option<&'static TorchPinRow> {
    let Place { day, python, .. } = place;
    let served = |row: &&TorchPinRow| {
        let goes = |torch: &TorchRow| {
            admits(row.torch, torch.version) == Some(true) && (row.unasked || fits(ranges, torch.version) == Some(true))
        };
        let there = |torch: &TorchRow| is_out(torch, day) && offered(torch, package, day);
        let of_python = |torch: &TorchRow| python.is_none_or(|python| runs_on(torch, python, day.knowledge));
        day.knowledge.torch_served().any(|torch| goes(torch) && there(torch) && of_python(torch))
    };
    let listed = day.knowledge.torch_pins_of(&package.name).filter(|row| row.version != "*" && !row.torch.is_empty());
    let admitted = listed.filter(|row| own.is_empty() || admits(own, row.version) == Some(true));
    admitted.filter(served).max_by(|one, other| order(one.version, other.version).unwrap_or(Ordering::Equal))
}

fn unread(package: &PackageSeen) -> Why {
    let name = &package.name;
    Why {
        reason: format!(
            "the base image may bring {name} already, and it was not read: where it does not, {name} brings the torch of its newest release"
        ),
        supply: format!("install {name} and torch by one command, describe the base image, or scan the built image"),
    }
}
