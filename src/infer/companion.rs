//! Packages of which each release goes with one release of torch: which of them an installer takes, and what torch that
//! leaves there.
//!
//! What is there already stays. What is not, an installer takes in its newest release, and puts the torch that this one asks
//! for in the place of another.

use std::cmp::Ordering;

use crate::cuda::CudaVersion;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Why;
use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::infer::libraries::release_of;
use crate::infer::libraries::version_of;
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
use crate::knowledge::BEYOND;
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
#[derive(Clone, Debug, PartialEq, Eq)]
enum There {
    No,
    Yes,
    /// What may have brought it, in words.
    Perhaps(String),
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
    let Place { now, day, .. } = place;
    if !day.knowledge.is_built_with_torch(&package.name) {
        return None;
    }
    if let Some(why) = &package.early {
        return replaces_early(package, place).then(|| Asked::Torch(Err(why.clone())));
    }
    let own = match &package.version {
        PackageVersion::Open(own) => own,
        // What is built here from its sources is built for the torch that is there.
        PackageVersion::Unresolved(why) if package.offered == Offered::Unknown(why.clone()) => {
            return Some(Asked::Torch(Ok(Ask::ANY)));
        }
        // Of early versions the tables know none.
        PackageVersion::Exact(_) | PackageVersion::Unresolved(_) => return None,
    };
    let there = if is_renewed(package, place) { There::No } else { there(package, own, place) };
    let nothing_there = matches!(now, Torch::None);
    let stays = if there == There::Yes { There::Yes } else { stays_named(package, ranges, place) };
    if stays == There::Yes {
        return Some(Asked::Torch(Ok(Ask::ANY)));
    }
    let row = newest(package, own, ranges, place);
    let will_do = row.is_some_and(|row| version_there(now).is_some_and(|it| admits(row.torch, it) == Some(true)));
    if let (There::Perhaps(who), false) = (stays, will_do) {
        return Some(Asked::Torch(Err(in_doubt(&who))));
    }
    if let There::Perhaps(who) = there
        && !nothing_there
        && !row
            .is_some_and(|row| row.unasked || version_there(now).is_some_and(|it| admits(row.torch, it) == Some(true)))
    {
        return Some(Asked::Torch(Err(unread(package, &who))));
    }
    let row = row?;
    Some(match (row.unasked, place.python) {
        (true, _) => Asked::Nothing,
        (false, Some(_)) => Asked::Torch(Ok(Ask::of(row.torch))),
        // A release for an older Python asks for an older torch.
        (false, None) if nothing_there => Asked::Torch(Ok(Ask::ANY)),
        (false, None) => Asked::Torch(Ok(Ask { range: row.torch, least: "" })),
    })
}

/// Whether the command takes the newest of a package, whatever is there.
fn is_renewed(package: &PackageSeen, place: Place<'_>) -> bool {
    package.upgrade || place.seen.of_base.renewing.contains(&package.command)
}

/// Whether a version before a release may be taken that puts another torch in the place of the one that is there: which
/// nobody names, nor keeps by what is there already.
fn replaces_early(package: &PackageSeen, place: Place<'_>) -> bool {
    let Place { now, seen, day, .. } = place;
    let torch = |one: &PackageSeen| one.command == package.command && day.knowledge.is_built_framework(&one.name);
    let own = match &package.version {
        PackageVersion::Open(own) => own,
        PackageVersion::Exact(_) | PackageVersion::Unresolved(_) => return false,
    };
    let stays = || !is_renewed(package, place) && there(package, own, place) == There::Yes;
    !matches!(now, Torch::None) && !seen.packages.iter().any(torch) && !stays()
}

/// The version of torch that is there, where it is told.
fn version_there<'t>(now: &'t Torch<'_>) -> Option<&'t str> {
    match now {
        Torch::Brought(brought) => brought.version.as_deref().ok(),
        Torch::None | Torch::Base => None,
    }
}

/// Whether the torch that is there stays since the command names it as well, by an installer that prefers what is there.
///
/// That one turns to newer releases where too many of a package that it was told do not go with it: it has to have taken
/// torch first, and be told none of which each release goes with one torch alone.
fn stays_named(package: &PackageSeen, ranges: &[String], place: Place<'_>) -> There {
    let Place { now, seen, day, .. } = place;
    let together = || seen.packages.iter().filter(|one| one.command == package.command);
    let is_torch = |one: &PackageSeen| day.knowledge.is_built_framework(&one.name);
    let fits = version_there(now).is_some_and(|it| fits(ranges, it) == Some(true));
    let stays = |one: &PackageSeen| !one.upgrade && matches!(one.version, PackageVersion::Open(_));
    let kept = together().rfind(|one| is_torch(one)).is_some_and(stays);
    if !fits || !kept || !seen.of_base.keeping.contains(&package.command) {
        return There::No;
    }
    let exact = |one: &PackageSeen| day.knowledge.torch_pins_of(&one.name).any(|row| row.torch.starts_with("=="));
    // What another one brings along stands in front of that one, and is written where that is.
    let place = |one: &PackageSeen| seen.facts.origins(one.fact);
    let brought = |one: &PackageSeen| together().any(|other| other.fact.0 > one.fact.0 && place(other) == place(one));
    let named = || together().filter(|one| !brought(one));
    let told = |one: &PackageSeen| is_torch(one) || !day.knowledge.is_library_free(&one.name, |_| true);
    let first = named().find(|one| told(one)).is_some_and(is_torch);
    if first && !named().any(exact) { There::Yes } else { There::Perhaps(package.name.clone()) }
}

/// Why it cannot be told whether an installer that prefers the torch that is there keeps it.
fn in_doubt(name: &str) -> Why {
    Why {
        reason: format!(
            "the installer prefers the installed torch, but installs a newer one if too many releases of {name} \
                are incompatible with it"
        ),
        supply: format!("pin compatible releases of torch and {name}"),
    }
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
    let here = |one: &&PackageSeen| one.name == package.name && one.command < package.command;
    let fits = |one: &&PackageSeen| one.apart == package.apart && stays(one.command) && will_do(&one.version);
    let earlier = || seen.packages.iter().filter(here).filter(fits);
    if earlier().any(|one| one.conditional.is_none()) {
        return There::Yes;
    }
    let before = || seen.packages.iter().filter(|one| one.command < package.command && one.apart == package.apart);
    let after = |one: &&PackageSeen| one.manager == Manager::Pip && !one.alone && stays(one.command);
    let brings: Vec<(&PackageSeen, Brings)> =
        before().filter(after).map(|one| (one, brings(one, &package.name, place))).collect();
    if brings.iter().any(|(one, brings)| *brings == Brings::Yes && one.conditional.is_none()) {
        return There::Yes;
    }
    let perhaps = earlier().chain(brings.iter().filter(|(_, brings)| *brings == Brings::Yes).map(|(one, _)| *one));
    let perhaps = perhaps.map(|one| one.name.clone()).next();
    // An environment of its own does not see what the base has.
    if !package.apart && taken.is_none() {
        let of_base = |(name, version): &(&str, &str)| {
            let reaches = |from| release_of(version).is_some_and(|version| from <= version);
            let brought = place.day.knowledge.companions_of(name, reaches);
            *name == package.name || brought.is_some_and(|brought| brought.contains(&package.name.as_str()))
        };
        let told = build.torch.is_some() || !build.torch_about.is_empty() || build.of_others.is_some();
        if told || build.brings.iter().any(of_base) {
            return There::Yes;
        }
        if !matches!(build.family, Family::Plain | Family::Cuda) {
            return There::Perhaps("the base image".to_owned());
        }
    }
    if let Some((one, _)) = brings.iter().find(|(_, brings)| *brings != Brings::No) {
        return There::Perhaps(one.name.clone());
    }
    if let Some(name) = perhaps {
        return There::Perhaps(format!("the command that installs {name} in only some branches"));
    }
    if seen.of_base.untold.iter().any(|command| *command < package.command && stays(*command)) {
        return There::Perhaps("an earlier command".to_owned());
    }
    There::No
}

/// Whether a package brings another along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Brings {
    No,
    Yes,
    Perhaps,
}

fn brings(one: &PackageSeen, companion: &str, place: Place<'_>) -> Brings {
    let knowledge = place.day.knowledge;
    let reaches = |from: CudaVersion| match &one.version {
        PackageVersion::Exact(_) => version_of(one).is_some_and(|version| from <= version),
        // An installer takes the newest that it may.
        PackageVersion::Open(range) => range.is_empty() || admits(range, BEYOND) == Some(true),
        PackageVersion::Unresolved(_) => false,
    };
    if let Some(all) = knowledge.companions_of(&one.name, reaches) {
        return if all.contains(&companion) { Brings::Yes } else { Brings::No };
    }
    let known = knowledge.is_built_framework(&one.name)
        || knowledge.is_built_with_torch(&one.name)
        || knowledge.is_library_free(&one.name, reaches)
        || knowledge.library_packages().iter().any(|row| row.name == one.name);
    if known { Brings::No } else { Brings::Perhaps }
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

fn unread(package: &PackageSeen, who: &str) -> Why {
    let name = &package.name;
    Why {
        reason: format!(
            "{who} may already include {name} and was not read; if it does not, {name} installs the torch that \
                its newest release requires"
        ),
        supply: format!(
            "install {name} and torch with one command, describe the base image, or scan the built \
            image"
        ),
    }
}
