//! Which torch an image ends up with: command by command, what is asked for, brought along, replaced or kept.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use jiff::civil::Date;

use crate::fact::Depth;
use crate::fact::FactId;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Why;
use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::infer::conda_torch::conda;
use crate::infer::conda_torch::imported;
use crate::infer::python::python;
use crate::infer::torch_release::Day;
use crate::infer::torch_release::as_said;
use crate::infer::torch_release::fits;
use crate::infer::torch_release::newest;
use crate::infer::torch_wheel::believed;
use crate::install::admits;
use crate::install::order;
use crate::install::public;
use crate::knowledge::Knowledge;
use crate::knowledge::RowInfo;
use crate::knowledge::TorchPinRow;
use crate::knowledge::TorchRow;

/// What the image holds.
#[derive(Clone, Debug)]
pub(super) enum Torch<'a> {
    /// None that was seen.
    None,
    /// That of the base image.
    Base,
    /// One that a command brought.
    Brought(Brought<'a>),
}

/// A torch that a command brought.
#[derive(Clone, Debug)]
pub(super) struct Brought<'a> {
    /// The package that asked for it.
    pub(super) package: &'a PackageSeen,
    /// Which version, without local part.
    pub(super) version: Result<String, Why>,
    /// Which build; `None` is the default index's own.
    pub(super) variant: Result<Option<String>, Why>,
    /// Whether it is the newest of several that would do.
    pub(super) newest: bool,
    /// The row that it was chosen by.
    pub(super) row: Option<&'static RowInfo>,
    /// What tells, beside the package, that it is this one.
    pub(super) told: Option<FactId>,
    /// The releases that it may be, where the version cannot be told.
    pub(super) candidates: Vec<&'static TorchRow>,
    /// Whether it certainly is one of those.
    pub(super) closed: bool,
    /// Whose build it is.
    pub(super) maker: Maker<'a>,
}

/// Whose build of a release it is: they differ in their GPU code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Maker<'a> {
    /// The wheel of the project.
    Wheel,
    /// That of a conda channel.
    Channel(&'a str),
    /// Not told.
    Unknown,
}

impl<'a> Maker<'a> {
    pub(super) fn of(package: &'a PackageSeen) -> Self {
        match (package.manager, package.channel.as_deref()) {
            (Manager::Conda, channel) => channel.map_or(Self::Unknown, Self::Channel),
            _ => Self::Wheel,
        }
    }
}

impl<'a> Brought<'a> {
    pub(super) fn unknown(package: &'a PackageSeen, why: Why) -> Self {
        let variant = match (&package.variant, &package.offered) {
            (Some(tag), Offered::Only(_) | Offered::Default) => Ok(Some(tag.clone())),
            _ => Err(why.clone()),
        };
        Self {
            package,
            version: Err(why),
            variant,
            newest: false,
            row: None,
            told: None,
            candidates: Vec::new(),
            closed: false,
            maker: Maker::of(package),
        }
    }

    /// The same where the commands may also pass it by: its build is told where what is there without it is no other.
    fn or_what_is_there(self, now: &Torch<'_>, open_base: bool) -> Self {
        let alike = match now {
            Torch::None => !open_base,
            Torch::Base => false,
            Torch::Brought(other) => self.variant.is_ok() && self.variant.as_ref().ok() == other.variant.as_ref().ok(),
        };
        match &self.version {
            Err(why) if !alike => Self { variant: Err(why.clone()), ..self },
            _ => self,
        }
    }

    /// The same where it is one of two that are known, of one kind of build.
    fn or_one_of(self, two: [&Brought<'_>; 2], knowledge: Knowledge) -> Self {
        let [one, other] = two;
        let wheels = two.iter().all(|brought| brought.maker == Maker::Wheel && self.maker == Maker::Wheel);
        let rows = two.map(|brought| knowledge.torch(brought.version.as_ref().ok()?));
        match (rows, &one.variant, &other.variant) {
            ([Some(first), Some(second)], Ok(variant), Ok(same)) if wheels && variant == same => {
                Self { variant: Ok(variant.clone()), candidates: vec![first, second], closed: true, ..self }
            }
            _ => self,
        }
    }

    /// The same behind one that may be there already: a build of the very version stays, of whatever index.
    fn or_kept(self, other: &Brought<'_>, ranges: &[String]) -> Self {
        let Err(why) = &other.version else { return self };
        let of_same =
            (&other.package.offered, &other.package.variant) == (&self.package.offered, &self.package.variant);
        let replaced = match &other.package.version {
            PackageVersion::Exact(version) => fits(ranges, version) == Some(false),
            PackageVersion::Open(_) | PackageVersion::Unresolved(_) => false,
        };
        let stays = other.package.conditional.is_some() && !of_same && !replaced;
        if stays { Self { variant: Err(why.clone()), ..self } } else { self }
    }
}

/// Goes through the commands.
pub(super) fn resolve<'a>(
    seen: &'a Observations,
    build: &BaseBuild,
    arch: &str,
    as_of: Option<Date>,
    knowledge: Knowledge,
) -> Torch<'a> {
    let day = Day { arch, as_of, knowledge };
    let mut now = if build.torch.is_some() { Torch::Base } else { Torch::None };
    if seen.depth != Depth::Text {
        let of_manager = |wanted: &dyn Fn(Manager) -> bool| {
            seen.packages.iter().rfind(|package| is_torch(package, knowledge) && wanted(package.manager))
        };
        let of_conda = of_manager(&|manager| manager == Manager::Conda).map(|package| conda(package, seen, knowledge));
        let of_pip = of_manager(&|manager| manager != Manager::Conda)
            .map(|package| believed(as_said(package, day), seen.depth, day));
        return match (of_pip, of_conda) {
            (Some(pip), Some(conda)) => Torch::Brought(imported(pip, conda, seen, day)),
            (Some(one), None) | (None, Some(one)) => Torch::Brought(one),
            (None, None) => now,
        };
    }
    let mut open_base = build.torch.is_none() && !matches!(build.family, Family::Plain | Family::Cuda);
    let commands: BTreeSet<u32> =
        seen.packages.iter().map(|package| package.command).chain(seen.gone.iter().map(|gone| gone.command)).collect();
    for command in commands {
        if seen.gone.iter().any(|gone| gone.command == command && knowledge.is_built_framework(&gone.name)) {
            now = Torch::None;
            open_base = false;
        }
        let here: Vec<&PackageSeen> = seen.packages.iter().filter(|package| package.command == command).collect();
        if let Some(brought) = step(&here, &now, open_base, seen, build, day) {
            now = Torch::Brought(believed(brought, seen.depth, day));
            open_base = false;
        }
    }
    now
}

/// The name of what is asked for: the package itself, or what it asks for in turn.
pub(super) fn wanted(package: &PackageSeen, knowledge: Knowledge) -> &str {
    let built = knowledge.built_framework().map(|row| row.distribution);
    built.filter(|_| !is_torch(package, knowledge)).unwrap_or(&package.name)
}

fn is_torch(package: &PackageSeen, knowledge: Knowledge) -> bool {
    knowledge.is_built_framework(&package.name)
}

/// What one command changes; `None` where it leaves things as they are.
fn step<'a>(
    here: &[&'a PackageSeen],
    now: &Torch<'_>,
    open_base: bool,
    seen: &'a Observations,
    build: &BaseBuild,
    day: Day<'_>,
) -> Option<Brought<'a>> {
    let asked = here.iter().rfind(|package| is_torch(package, day.knowledge)).copied();
    let pins: Vec<(&'a PackageSeen, Result<&'static str, Why>)> = here
        .iter()
        .filter(|package| package.manager == Manager::Pip && !package.alone)
        .filter(|package| Some(package.fact) != asked.map(|asked| asked.fact))
        // What was compiled for the image runs on what the image has.
        .filter(|package| build.compiled(package).is_none())
        .filter_map(|package| Some((*package, pin(package, day.knowledge)?)))
        .collect();
    let package = asked.or_else(|| pins.first().map(|(package, _)| *package))?;
    if package.manager == Manager::Conda {
        return Some(conda(package, seen, day.knowledge));
    }
    let exact = matches!(package.version, PackageVersion::Exact(_)) && asked.is_some();
    let mut ranges: Vec<String> = Vec::new();
    let mut open: Option<Why> = None;
    match asked.map(|asked| &asked.version) {
        Some(PackageVersion::Exact(version)) => ranges.push(format!("=={version}")),
        Some(PackageVersion::Open(range)) => ranges.push(range.clone()),
        Some(PackageVersion::Unresolved(why)) => open = Some(why.clone()),
        None => {}
    }
    for (_, pin) in &pins {
        match pin {
            Ok(range) => ranges.push((*range).to_owned()),
            Err(why) if !exact => open = open.or_else(|| Some(why.clone())),
            Err(_) => {}
        }
    }
    for bound in seen.bounds.iter().filter(|bound| bound.command == package.command && is_torch(bound, day.knowledge)) {
        if let Some(why) = &bound.conditional {
            open = open.or_else(|| Some(why.clone()));
            continue;
        }
        match &bound.version {
            PackageVersion::Exact(version) => ranges.push(format!("=={version}")),
            PackageVersion::Open(range) => ranges.push(range.clone()),
            PackageVersion::Unresolved(why) => open = open.or_else(|| Some(why.clone())),
        }
    }
    let replaced = asked.is_some_and(|asked| asked.upgrade);
    // What comes of an index of early versions asks for one of its own kind.
    let replaced =
        replaced || asked.is_none() && package.early.is_some() && matches!(package.offered, Offered::Only(_));
    if open.is_none() && !replaced && held(now, build).is_some_and(|held| fits(&ranges, &held) == Some(true)) {
        return None;
    }
    let ways = package.conditional.clone();
    let certain = open.is_none();
    if let Some(why) = open.or(ways) {
        let brought = Brought::unknown(package, why);
        if package.conditional.is_none() {
            return Some(brought);
        }
        let sure = certain.then(|| newest(package, &ranges, &python(seen, package, day.knowledge), day));
        let brought = brought.or_what_is_there(now, open_base);
        return Some(match (sure, now) {
            (Some(sure), Torch::Brought(there)) => brought.or_one_of([&sure, there], day.knowledge),
            _ => brought,
        });
    }
    if let (Torch::Brought(Brought { version: Err(why), .. }), false, false) = (now, replaced, exact) {
        return Some(Brought::unknown(package, why.clone()));
    }
    if open_base && !exact {
        let name = wanted(package, day.knowledge);
        let why = Why {
            reason: format!("the base image may bring {name} already, and it was not read"),
            supply: format!("pin it, such as {name}==<version>, or scan the built image"),
        };
        // What is there already stays, of whatever index: neither is the build told.
        let variant = Err(why.clone());
        return Some(Brought { variant, ..Brought::unknown(package, why) });
    }
    Some(match &package.version {
        PackageVersion::Exact(version) if exact => {
            let said = as_said(package, day);
            match now {
                Torch::Brought(other) if !replaced && !version.contains('+') => said.or_kept(other, &ranges),
                _ => said,
            }
        }
        _ => newest(package, &ranges, &python(seen, package, day.knowledge), day),
    })
}

/// The version that is there, as the installer's records say it.
fn held(now: &Torch<'_>, build: &BaseBuild) -> Option<String> {
    match now {
        Torch::None => None,
        Torch::Base => build.torch.map(|(version, _)| version.to_owned()),
        Torch::Brought(brought) => {
            let version = brought.version.as_ref().ok()?;
            Some(match &brought.variant {
                Ok(Some(variant)) => format!("{version}+{variant}"),
                _ => version.clone(),
            })
        }
    }
}

/// The newest listed version that a range admits, where that is not the newest of all.
fn newest_within(range: &str, listed: &[&'static TorchPinRow]) -> Option<&'static TorchPinRow> {
    let newest = |rows: &mut dyn Iterator<Item = &'static TorchPinRow>| {
        rows.reduce(|one, other| if order(other.version, one.version) == Some(Ordering::Greater) { other } else { one })
    };
    let of_all = newest(&mut listed.iter().copied())?;
    let admitted = newest(&mut listed.iter().copied().filter(|row| admits(range, row.version) != Some(false)))?;
    (admitted.version != of_all.version).then_some(admitted)
}

/// What a package asks of torch; `None` where it asks for none.
fn pin(package: &PackageSeen, knowledge: Knowledge) -> Option<Result<&'static str, Why>> {
    let rows = || knowledge.torch_pins().iter().filter(|row| row.distribution == package.name);
    let listed = || rows().filter(|row| row.version != "*");
    rows().next()?;
    let any = rows().find(|row| row.version == "*");
    let any = match &package.version {
        PackageVersion::Exact(version) => {
            let own = listed().find(|row| order(row.version, public(version)) == Some(Ordering::Equal));
            own.or(any.filter(|_| listed().next().is_none()))
        }
        PackageVersion::Open(range) if any.is_some() && !range.is_empty() => {
            newest_within(range, &listed().collect::<Vec<_>>()).or(any)
        }
        PackageVersion::Open(_) | PackageVersion::Unresolved(_) => any,
    };
    Some(any.map(|row| row.torch).ok_or_else(|| Why {
        reason: format!("which release of torch {} brings is not in the tables", package.name),
        supply: "pin torch beside it".to_owned(),
    }))
}
