//! Which torch an image ends up with: command by command, what is asked for, brought along, replaced or kept.

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
use crate::infer::companion::Asked;
use crate::infer::companion::Place;
use crate::infer::companion::asked_of;
use crate::infer::conda_torch::conda;
use crate::infer::conda_torch::imported;
use crate::infer::conda_torch::or_for_gpus;
use crate::infer::python::python;
use crate::infer::torch_pins::Ask;
use crate::infer::torch_pins::pin_beside;
use crate::infer::torch_release::Day;
use crate::infer::torch_release::as_said;
use crate::infer::torch_release::fits;
use crate::infer::torch_release::newest;
use crate::infer::torch_wheel::believed;
use crate::infer::unread::replaces;
use crate::infer::unread::there_already;
use crate::knowledge::Knowledge;
use crate::knowledge::RowInfo;
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

    /// Whether it takes the place of what is there: by an option of the command, or because that names one build.
    fn replaces(&self, seen: &Observations, knowledge: Knowledge) -> bool {
        let named = |bound: &&PackageSeen| Some(bound.fact) == self.told;
        let named = seen.bounds.iter().find(named).unwrap_or(self.package);
        let local = matches!(&named.version, PackageVersion::Exact(version) if version.contains('+'));
        let own = is_torch(self.package, knowledge) && replaces(seen, self.package);
        own || (is_torch(named, knowledge) && local) || seen.of_base.renewing.contains(&self.package.command)
    }

    /// Whether its version is the only one that goes with what is asked for.
    fn is_pinned(&self) -> bool {
        self.version.is_ok() && !self.newest
    }

    /// The same where it may be there already, in any build: of a version that is named, the build alone is open.
    fn or_there(self, why: Why) -> Self {
        let variant = Err(why.clone());
        let known = if self.is_pinned() { self } else { Self::unknown(self.package, why) };
        Self { variant, ..known }
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

    /// The same on a base that may bring that very version: a pin without a build is met by any of them.
    fn or_of_base(self) -> Self {
        let Ok(version) = &self.version else { return self };
        let name = &self.package.name;
        let why = Why {
            reason: format!(
                "the base image was not read and may already include a build of {name} {version}, which the pin keeps"
            ),
            supply: format!(
                "pin the build with its index, such as {name}=={version}+cuXXX from \
                 https://download.pytorch.org/whl/cuXXX, describe the base image, or scan the built image"
            ),
        };
        Self { variant: Err(why), ..self }
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

impl Torch<'_> {
    /// Whether its version is known.
    fn has_version(&self) -> bool {
        matches!(self, Self::Brought(brought) if brought.version.is_ok())
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
    let told = build.torch.is_some() || !build.torch_about.is_empty();
    let mut now = if told || build.of_others.is_some() { Torch::Base } else { Torch::None };
    if seen.depth != Depth::Text {
        let of_manager = |wanted: &dyn Fn(Manager) -> bool| {
            seen.packages.iter().rfind(|package| is_torch(package, knowledge) && wanted(package.manager))
        };
        let of_conda = of_manager(&|manager| manager == Manager::Conda).map(|package| conda(package, seen, knowledge));
        let of_pip =
            of_manager(&|manager| manager != Manager::Conda).map(|package| believed(as_said(package, day), seen, day));
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
            let brought = match there_already(seen, command, brought.is_pinned()) {
                Some(why) if !now.has_version() && !brought.replaces(seen, knowledge) => brought.or_there(why),
                _ => brought,
            };
            now = Torch::Brought(believed(brought, seen, day));
            open_base = false;
        }
    }
    match now {
        Torch::Brought(brought) => Torch::Brought(or_for_gpus(brought, seen, knowledge)),
        now => now,
    }
}

/// The name of what is asked for: the package itself, or what it asks for in turn.
pub(super) fn wanted(package: &PackageSeen, knowledge: Knowledge) -> &str {
    let built = knowledge.built_framework().map(|row| row.distribution);
    built.filter(|_| !is_torch(package, knowledge)).unwrap_or(&package.name)
}

fn is_torch(package: &PackageSeen, knowledge: Knowledge) -> bool {
    knowledge.is_built_framework(&package.name)
}

/// Whether a base that was not read may have the package that is pinned: its name says so, or nobody knows its name.
fn may_bring(build: &BaseBuild, package: &PackageSeen, knowledge: Knowledge) -> bool {
    let of_index = package.variant.is_none() && package.offered == Offered::Default;
    of_index && build.torch_about.is_empty() && build.may_be_named(wanted(package, knowledge))
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
    // An environment of its own does not see what lies outside it.
    let apart = here.iter().any(|package| package.apart);
    let inside = matches!(now, Torch::Brought(brought) if brought.package.apart);
    let (now, open_base) = if apart && !inside { (&Torch::None, false) } else { (now, open_base) };
    let asked = here.iter().rfind(|package| is_torch(package, day.knowledge)).copied();
    let command = here.first()?.command;
    let of_command = |bound: &&PackageSeen| bound.command == command && is_torch(bound, day.knowledge);
    let bounds = || seen.bounds.iter().filter(of_command);
    // What names one version: the command itself, else what bounds it.
    let is_exact = |package: &&PackageSeen| matches!(package.version, PackageVersion::Exact(_));
    let open = |asked: &PackageSeen| matches!(asked.version, PackageVersion::Open(_));
    let bound = || bounds().filter(|bound| bound.conditional.is_none()).rfind(is_exact);
    let named = asked.filter(is_exact).or_else(|| bound().filter(|_| asked.is_none_or(open)));
    let exact = named.is_some();
    let mut ranges: Vec<String> = Vec::new();
    let mut untold: Option<Why> = None;
    for package in asked.into_iter().chain(bounds()) {
        match (&package.version, &package.conditional) {
            (_, Some(why)) if Some(package.fact) != asked.map(|asked| asked.fact) => {
                untold = untold.or_else(|| Some(why.clone()));
            }
            (PackageVersion::Exact(version), _) => ranges.push(format!("=={version}")),
            (PackageVersion::Open(range), _) => ranges.push(range.clone()),
            // A bound that is not known changes nothing about the one version that a command names.
            (PackageVersion::Unresolved(_), _) if asked.is_some_and(|asked| is_exact(&asked)) => {}
            (PackageVersion::Unresolved(why), _) => untold = untold.or_else(|| Some(why.clone())),
        }
    }
    let runs_on = here.first().and_then(|package| python(seen, package, day.knowledge).ok());
    let place = Place { now, build, seen, python: runs_on.as_deref(), day };
    let pins: Vec<(&'a PackageSeen, Result<Ask, Why>)> = here
        .iter()
        .filter(|package| package.manager == Manager::Pip && !package.alone)
        .filter(|package| Some(package.fact) != asked.map(|asked| asked.fact))
        // What was compiled for the image runs on what the image has.
        .filter(|package| build.compiled(package).is_none())
        .filter_map(|package| Some((*package, asked_by(package, &ranges, exact, place)?)))
        .collect();
    // A package that was not read may require any build.
    let unread = |(package, _): &&(&'a PackageSeen, Result<Ask, Why>)| matches!(package.offered, Offered::Unknown(_));
    let first = pins.iter().find(unread).or(pins.first());
    let package = asked.or_else(|| first.map(|(package, _)| *package))?;
    if package.manager == Manager::Conda {
        return Some(conda(package, seen, day.knowledge));
    }
    let older = may_stay(&pins, &ranges, now, build);
    for (_, pin) in &pins {
        match pin {
            Ok(ask) => ranges.push(ask.range.to_owned()),
            Err(why) if !exact => untold = untold.or_else(|| Some(why.clone())),
            Err(_) => {}
        }
    }
    let replaced = asked.is_some_and(|asked| asked.upgrade);
    // What comes of an index of early versions asks for one of its own kind.
    let replaced =
        replaced || asked.is_none() && package.early.is_some() && matches!(package.offered, Offered::Only(_));
    let replaced = replaced || seen.of_base.renewing.contains(&command);
    let kept = untold.is_none() && !replaced && keeps(now, build, &ranges);
    if kept || !replaced && stays_for_others(package, now, build) {
        return None;
    }
    if let Some(older) = older.filter(|_| untold.is_none() && !replaced) {
        return Some(Brought::unknown(older, asks_for_less(older)));
    }
    let ways = package.conditional.clone();
    let certain = untold.is_none();
    if let Some(why) = untold.or(ways) {
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
            reason: format!("the base image was not read and may already include {name}"),
            supply: format!("pin it, such as {name}==<version>, or scan the built image"),
        };
        // What is there already stays, of whatever index: neither is the build told.
        let variant = Err(why.clone());
        return Some(Brought { variant, ..Brought::unknown(package, why) });
    }
    Some(match named {
        Some(named) => {
            let told = Some(named.fact).filter(|fact| *fact != package.fact);
            let said = Brought { package, told, ..as_said(named, day) };
            let local = matches!(&named.version, PackageVersion::Exact(version) if version.contains('+'));
            if open_base && !local && may_bring(build, package, day.knowledge) {
                return Some(said.or_of_base());
            }
            match now {
                Torch::Brought(other) if !replaced && !local => said.or_kept(other, &ranges),
                _ => said,
            }
        }
        None => newest(package, &ranges, &python(seen, package, day.knowledge), day),
    })
}

/// What a package asks of torch beside ranges of it that others ask for, or beside the `exact` version that is named.
fn asked_by(package: &PackageSeen, ranges: &[String], exact: bool, place: Place<'_>) -> Option<Result<Ask, Why>> {
    // Of what is not pinned, the installer takes a release that goes with the version that is named.
    let beside = if exact { &[] } else { ranges };
    if let Some(own) = asked_of(package, beside, place).filter(|_| !exact) {
        return match own {
            Asked::Nothing => None,
            Asked::Torch(pin) => Some(pin),
        };
    }
    let pin = pin_beside(package, beside, place.python, place.day.knowledge)?;
    let open = matches!(package.version, PackageVersion::Open(_));
    Some(if exact && open { Ok(Ask::ANY) } else { pin })
}

/// The first package that may ask for less than the tables say, where the torch that is there goes with the least of it all.
fn may_stay<'a>(
    pins: &[(&'a PackageSeen, Result<Ask, Why>)],
    ranges: &[String],
    now: &Torch<'_>,
    build: &BaseBuild,
) -> Option<&'a PackageSeen> {
    let (older, _) = pins.iter().find(|(_, pin)| matches!(pin, Ok(ask) if ask.least != ask.range))?;
    let asks = pins.iter().filter_map(|(_, pin)| Some(pin.as_ref().ok()?.least.to_owned()));
    keeps(now, build, &ranges.iter().cloned().chain(asks).collect::<Vec<_>>()).then_some(*older)
}

/// Why it cannot be told whether the torch that is there stays beside a release of which only newer ones are listed.
fn asks_for_less(package: &PackageSeen) -> Why {
    let name = &package.name;
    let of = match &package.version {
        PackageVersion::Exact(version) => format!("{name} {version}"),
        PackageVersion::Open(_) | PackageVersion::Unresolved(_) => format!("the installed release of {name}"),
    };
    Why {
        reason: format!(
            "{of} may require an older torch than its releases in the compatibility database, so the installed \
                torch may stay"
        ),
        supply: "pin torch as well, or scan the built image".to_owned(),
    }
}

/// Whether a torch that the base brings for the GPUs of another maker is taken to stay: whatever it is, what is asked for
/// names no version.
fn stays_for_others(package: &PackageSeen, now: &Torch<'_>, build: &BaseBuild) -> bool {
    build.of_others.is_some() && matches!(now, Torch::Base) && matches!(package.version, PackageVersion::Open(_))
}

/// Whether the version that is there will do, as the installer's records say it; of a base that tells none, whether
/// those before and after it would.
fn keeps(now: &Torch<'_>, build: &BaseBuild, ranges: &[String]) -> bool {
    let will_do = |version: &str| fits(ranges, version) == Some(true);
    match now {
        Torch::None => false,
        Torch::Base => match build.torch {
            Some((version, _)) => will_do(version),
            None => !build.torch_about.is_empty() && build.torch_about.iter().all(|version| will_do(version)),
        },
        Torch::Brought(brought) => brought.version.as_ref().is_ok_and(|version| match &brought.variant {
            Ok(Some(variant)) => will_do(&format!("{version}+{variant}")),
            _ => will_do(version),
        }),
    }
}
