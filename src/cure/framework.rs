//! Other builds of the same release of a framework, and other releases.

use std::ops::Range;

use crate::cure::Candidate;
use crate::cure::Kind;
use crate::cure::Wish;
use crate::cure::bundled;
use crate::cure::case::Case;
use crate::cure::served::of_indexes;
use crate::cure::versions::FAR;
use crate::cure::versions::companions;
use crate::cure::versions::far;
use crate::cure::versions::for_python;
use crate::cure::versions::near;
use crate::cure::versions::nearest;
use crate::cure::versions::releases;
use crate::cure::versions::without_release;
use crate::cure::wish::package_of;
use crate::fact::FactKey;
use crate::fact::Manager;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Signature;
use crate::install::admits;
use crate::install::public;
use crate::knowledge::Knowledge;
use crate::knowledge::TorchBuildRow;
use crate::knowledge::TorchRow;
use crate::knowledge::by_number;
use crate::report::kinds::FixSafety;

/// So many releases of one framework are tried.
const MOST: usize = 10;
/// So many builds of each release.
const BUILDS: usize = 5;
/// So many releases are tried where none of those is of avail, and so many builds of each of these.
const FURTHEST: usize = 100;
const FURTHER_BUILDS: usize = 2;

/// torch as a command brings it.
pub(super) struct Torch<'a> {
    /// Its name, of the table.
    pub(super) name: &'static str,
    /// Nothing names it where only its code was seen.
    pub(super) package: Option<&'a PackageSeen>,
    /// As written, without local part; none where nothing pins it.
    pub(super) pinned: Option<String>,
    /// Its release, or the one that is nearest to it.
    pub(super) row: &'static TorchRow,
    /// The build that it has.
    has: Option<String>,
    /// The build that the commands say.
    said: Option<String>,
}

impl<'a> Torch<'a> {
    fn of(case: &'a Case<'_>) -> Option<Self> {
        let name = case.knowledge().built_framework()?.component;
        let Some(package) = package_of(&case.seen, name) else { return Self::of_code(case, name) };
        let row = match case.told(FactKey::ComponentVersion, name) {
            Some(version) => release(case, public(&version))?,
            None => newest(case, package)?,
        };
        let (pinned, local) = match &package.version {
            PackageVersion::Exact(text) => {
                (Some(public(text).to_owned()), text.split_once('+').map(|(_, local)| local.to_owned()))
            }
            PackageVersion::Open(_) => (None, None),
            PackageVersion::Unresolved(_) => return None,
        };
        let said = local.or_else(|| package.variant.clone());
        let has = case.told(FactKey::ComponentVariant, name).or_else(|| said.clone());
        Some(Self { name, package: Some(package), pinned, row, has, said })
    }

    /// One of which nothing but its code is known: the newest release with a build of just that code.
    fn of_code(case: &Case<'_>, name: &'static str) -> Option<Self> {
        let component = case.core().find(|one| one.name == name)?;
        let code = component.code.known()?;
        let signatures: Vec<&Signature> =
            code.libraries.iter().flat_map(|library| &library.containers).map(|(signature, _)| signature).collect();
        let same = |row: &&TorchBuildRow| {
            !signatures.is_empty() && signatures.iter().all(|own| own.sass == row.sass && own.ptx == row.ptx)
        };
        // Of some of its code at least.
        let holds = |row: &&TorchBuildRow| {
            let all = |own: &&Signature| !own.sass.is_empty() && own.sass.iter().all(|one| row.sass.contains(one));
            !signatures.is_empty() && signatures.iter().all(all)
        };
        let builds = || case.knowledge().torch_builds().iter();
        let newest = |one: &&TorchBuildRow, other: &&TorchBuildRow| by_number(one.version, other.version);
        let build = builds().filter(same).max_by(newest).or_else(|| builds().filter(holds).max_by(newest))?;
        let has = Some(build.variant.to_owned());
        Some(Self { name, package: None, pinned: None, row: case.knowledge().torch(build.version)?, has, said: None })
    }

    /// What another build of the same release changes: others that are built on it want the one that they were made for.
    pub(super) fn safety(&self, case: &Case<'_>) -> FixSafety {
        let frameworks = case.knowledge().frameworks();
        let other = |name: &str| name != self.name && frameworks.iter().any(|row| row.component == name);
        let alone = !case.image.components.iter().any(|one| other(&one.name)) && case.seen.code.is_empty();
        if alone { FixSafety::Safe } else { FixSafety::Unsafe }
    }

    /// The command that asks for it, where nothing pins it.
    pub(super) fn open(&self) -> Option<u32> {
        self.package.filter(|_| self.pinned.is_none()).map(|package| package.command)
    }

    fn wish(&self, case: &Case<'_>, to: &TorchRow, build: Option<&str>) -> Option<Wish> {
        let open = self.open();
        let stays = open.is_none() && to.version == self.row.version;
        let changed = if stays { Vec::new() } else { companions(case, self.name, to.version, open)? };
        Some(Wish::Build {
            package: self.name.to_owned(),
            from: self.pinned.clone(),
            to: to.version.to_owned(),
            old_build: self.said.clone(),
            build: build.map(str::to_owned),
            page: build.and_then(|build| page(case, self.name, build)),
            companions: [changed, bundled::companions(case, build.or(default_build(case, to)))].concat(),
        })
    }
}

/// The build of a release that the default index has.
pub(super) fn default_build(case: &Case<'_>, row: &TorchRow) -> Option<&'static str> {
    let arch = case.platform.split('/').nth(1)?;
    row.default_variant.iter().find(|one| one.arch == arch).map(|one| one.value)
}

/// The row of a release; of what led to one, that one's.
fn release(case: &Case<'_>, version: &str) -> Option<&'static TorchRow> {
    let knowledge = case.knowledge();
    let of_it = || {
        let numbers = version.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        knowledge.torch(numbers.trim_end_matches('.'))
    };
    knowledge.torch(version).or_else(of_it)
}

/// The newest release that a range admits, of those of the day.
fn newest(case: &Case<'_>, package: &PackageSeen) -> Option<&'static TorchRow> {
    let PackageVersion::Open(range) = &package.version else { return None };
    let day = case.seen.as_of.or(case.settings.as_of);
    let out = |row: &&TorchRow| day.is_none_or(|day| row.released.is_some_and(|released| released <= day));
    let fits = |row: &&TorchRow| range.is_empty() || admits(range, row.version) == Some(true);
    let rows = case.knowledge().torch_served().filter(out).filter(fits);
    rows.max_by(|one, other| by_number(one.version, other.version))
}

/// Builds of a release for every architecture, the nearest to one first.
pub(super) fn builds(case: &Case<'_>, row: &'static TorchRow, near: Option<&str>) -> Vec<&'static str> {
    let knowledge = case.knowledge();
    let there = |tag: &&str| {
        tag.starts_with("cu")
            && case.archs.iter().all(|arch| arch == "amd64" || knowledge.torch_build(row.version, tag, arch).is_some())
    };
    let mut all: Vec<&'static str> = row.variants.iter().copied().filter(there).collect();
    all.sort_by(|one, other| by_number(one, other));
    let place =
        near.map_or(all.len(), |near| all.iter().position(|one| by_number(one, near).is_ge()).unwrap_or(all.len()));
    let mut ranked: Vec<(usize, &'static str)> =
        all.into_iter().enumerate().map(|(at, tag)| (far(at, place), tag)).collect();
    ranked.sort_by_key(|(far, _)| *far);
    ranked.into_iter().map(|(_, tag)| tag).collect()
}

/// The same release for another CUDA.
pub(super) fn variants(case: &Case<'_>) -> Vec<Candidate> {
    let Some(torch) = Torch::of(case) else { return Vec::new() };
    let safety = torch.safety(case);
    let now = torch.pinned.as_deref().or(torch.package.is_none().then_some("")).unwrap_or(torch.row.version);
    let safety = if now == torch.row.version { safety } else { FixSafety::Unsafe };
    // A release of which only a neighbour is known may be for a Python that the neighbour has no wheel for.
    let version = torch.row.version;
    let Some(python) = for_python(case, torch.package, version, version) else { return Vec::new() };
    let other = |tag: &&str| torch.has.as_deref() != Some(*tag);
    let tags = builds(case, torch.row, torch.has.as_deref()).into_iter().filter(other);
    let pinned = tags.filter_map(|tag| {
        let version = torch.row.version;
        let same = if now == version { "the same release" } else { "the nearest known release," };
        let name = torch.name;
        let said = said(case, name, version, tag);
        let title = format!("install {name}=={version}{said}, {same} for CUDA {}{python}", cuda_of(tag));
        let safety = safety.max(bound(case, &torch, Some(tag)));
        let (title, safety) = match without_release(case, version, torch.open(), Some(tag)) {
            Some(other) => (format!("{title}, and a release of {other} for it"), FixSafety::Manual),
            None => (title, safety),
        };
        Some((title, safety, torch.wish(case, torch.row, Some(tag))?))
    });
    let served = of_indexes(case, &torch).into_iter().filter(|(same, ..)| *same);
    let served = served.map(|(_, title, safety, wish)| (title, safety, wish));
    // What nobody knows a release for is the newest that the index has.
    let lacks = without_release(case, torch.row.version, torch.open(), None).is_some();
    let all: Vec<_> = if lacks { served.chain(pinned).collect() } else { pinned.chain(served).collect() };
    let candidate =
        |(step, (title, safety, wish))| Candidate { kind: Kind::FrameworkVariant, step, title, safety, wish };
    all.into_iter().enumerate().map(candidate).collect()
}

/// Whether something else was built for the CUDA that goes: `flash-attn==2.7.4+cu12torch2.6`, a wheel of its own.
pub(super) fn bound(case: &Case<'_>, torch: &Torch<'_>, build: Option<&str>) -> FixSafety {
    let major = |local: &str| {
        let digits: String = local.strip_prefix("cu")?.chars().take_while(char::is_ascii_digit).collect();
        digits.get(..2).map(str::to_owned)
    };
    let Some(now) = build.or(torch.row.variants.first().copied()).and_then(major) else { return FixSafety::Safe };
    let of_others = case.seen.packages.iter().filter(|one| one.manager == Manager::Pip && one.name != torch.name);
    let local = |one: &PackageSeen| match &one.version {
        PackageVersion::Exact(text) => text.split_once('+').map(|(_, local)| local.to_owned()),
        PackageVersion::Open(_) | PackageVersion::Unresolved(_) => None,
    };
    // What has the same build is changed with it.
    let stays = |local: &String| Some(local) != torch.said.as_ref() && major(local).is_some_and(|own| own != now);
    if of_others.filter_map(local).any(|local| stays(&local)) { FixSafety::Manual } else { FixSafety::Safe }
}

/// A wheel that was built for another release than the one that is to come: `flash-attn==2.7.4+cu12torch2.6`.
pub(super) fn built_for_another<'a>(case: &'a Case<'_>, torch: &Torch<'_>, version: &str) -> Option<&'a str> {
    let of_release = |package: &&PackageSeen| {
        let PackageVersion::Exact(text) = &package.version else { return false };
        let Some((_, local)) = text.split_once('+') else { return false };
        let Some((_, own)) = local.split_once(torch.name) else { return false };
        let length = own.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(own.len());
        let own = own.get(..length).unwrap_or_default().trim_end_matches('.');
        !own.is_empty() && version != own && !version.starts_with(&format!("{own}."))
    };
    let pip = case.seen.packages.iter().filter(|one| one.manager == Manager::Pip);
    pip.filter(|one| one.name != torch.name).find(of_release).map(|one| one.name.as_str())
}

/// Whether no version names a build on one of the platforms that it runs on.
pub(super) fn is_unnamed(case: &Case<'_>, version: &str, tag: &str) -> bool {
    let mut archs = case.platforms.iter().filter_map(|platform| platform.split('/').nth(1));
    archs.any(|arch| case.knowledge().is_unnamed(version, tag, arch))
}

/// What follows a release in a title: its build, with the index that contains it.
fn said(case: &Case<'_>, name: &str, version: &str, tag: &str) -> String {
    let index = page(case, name, tag).unwrap_or_else(|| format!("of {tag}"));
    if is_unnamed(case, version, tag) {
        format!(" only from the index {index}")
    } else {
        format!("+{tag} from the index {index}")
    }
}

/// The address of the index of a build.
fn page(case: &Case<'_>, name: &str, build: &str) -> Option<String> {
    let page = case.knowledge().build_pages().iter().find(|row| row.distribution == name)?;
    Some(page.page.replace("{build}", build))
}

/// `11.8` of `cu118`.
pub(super) fn cuda_of(tag: &str) -> String {
    let digits = tag.trim_start_matches("cu");
    digits
        .split_at_checked(digits.len().saturating_sub(1))
        .map_or_else(String::new, |(major, minor)| format!("{major}.{minor}"))
}

/// Another release: whether it is far away, how it is told, what else it changes, and the wish.
type Release = (bool, String, FixSafety, Wish);

/// Neighbouring releases of torch, and of what brings it or is there to run.
pub(super) fn versions(case: &Case<'_>) -> Vec<Candidate> {
    of_places(case, 0..MOST, BUILDS)
}

/// Those that are further away.
pub(super) fn further(case: &Case<'_>) -> Vec<Candidate> {
    of_places(case, MOST..FURTHEST, FURTHER_BUILDS)
}

fn of_places(case: &Case<'_>, places: Range<usize>, builds: usize) -> Vec<Candidate> {
    let mut wishes: Vec<Release> = Vec::new();
    if let Some(torch) = Torch::of(case) {
        wishes.extend(of_torch(case, &torch, places.clone(), builds));
    }
    let other = |one: &&PackageSeen| one.manager == Manager::Pip && !case.knowledge().is_built_framework(&one.name);
    for package in case.seen.packages.iter().filter(other) {
        wishes.extend(of_package(case, package, places.clone()));
    }
    let first = places.start * builds;
    let candidate = |(step, (far, title, safety, wish)): (usize, Release)| Candidate {
        kind: Kind::FrameworkVersion,
        step: if far { FAR + first + step } else { first + step },
        title,
        safety,
        wish,
    };
    wishes.into_iter().enumerate().map(candidate).collect()
}

/// A neighbouring release may be written; of one further away more than a number has to change.
fn step(from: &str, to: &str) -> FixSafety {
    if near(from, to) { FixSafety::Unsafe } else { FixSafety::Manual }
}

fn of_torch(case: &Case<'_>, torch: &Torch<'_>, places: Range<usize>, most: usize) -> Vec<Release> {
    let knowledge = case.knowledge();
    let all: Vec<&str> = knowledge.torch_served().map(|row| row.version).collect();
    // What goes with a release is known of all that is asked for beside it, before those of which it is not.
    let (mut found, mut lacking) = (Vec::new(), Vec::new());
    for version in nearest(&all, torch.row.version).into_iter().skip(places.start).take(places.len()) {
        let Some(row) = knowledge.torch(version) else { continue };
        let Some(python) = for_python(case, torch.package, torch.row.version, version) else { continue };
        let default =
            torch.said.is_none() && torch.package.is_none_or(|package| matches!(package.offered, Offered::Default));
        let named = builds(case, row, torch.said.as_deref().or(torch.has.as_deref())).into_iter().map(Some);
        let tags = default.then_some(None).into_iter().chain(named).take(most);
        for tag in tags {
            let name = torch.name;
            let local = tag.map_or_else(String::new, |tag| said(case, name, version, tag));
            let title = format!("install {name}=={version}{local}{python}");
            let safety = step(torch.row.version, version).max(bound(case, torch, tag));
            let lacks = without_release(case, version, torch.open(), tag);
            let (title, safety) = match (built_for_another(case, torch, version), lacks) {
                (Some(other), _) => (format!("{title}, and a build of {other} for it"), FixSafety::Manual),
                (None, Some(other)) => (format!("{title}, and a release of {other} for it"), FixSafety::Manual),
                (None, None) => (title, safety),
            };
            let list = if lacks.is_some() { &mut lacking } else { &mut found };
            let wish = torch.wish(case, row, tag);
            list.extend(wish.map(|wish| (!near(torch.row.version, version), title, safety, wish)));
        }
    }
    // What stands in an index is nearer than what is written by hand.
    let by_hand = |one: &Release| one.2 == FixSafety::Manual;
    let (written, manual): (Vec<Release>, Vec<Release>) = found.into_iter().partition(|one| !by_hand(one));
    let served = if places.start == 0 { of_indexes(case, torch) } else { Vec::new() };
    let served =
        served.into_iter().filter(|(same, ..)| !same).map(|(_, title, safety, wish)| (false, title, safety, wish));
    written.into_iter().chain(served).chain(manual).chain(lacking).collect()
}

fn of_package(case: &Case<'_>, package: &PackageSeen, places: Range<usize>) -> Vec<Release> {
    let knowledge = case.knowledge();
    let PackageVersion::Exact(text) = &package.version else { return Vec::new() };
    let core = case.core().any(|one| component_of(knowledge, &package.name) == Some(one.name.as_str()));
    let now = public(text);
    let all = releases(knowledge, &package.name);
    if all.is_empty() || !(core || brings_torch(knowledge, &package.name, now)) {
        return Vec::new();
    }
    let wish = |(to, needs): (&str, String)| {
        let wish = Wish::Build {
            package: package.name.clone(),
            from: Some(now.to_owned()),
            to: to.to_owned(),
            old_build: None,
            build: package.variant.clone(),
            page: None,
            companions: Vec::new(),
        };
        (!near(now, to), format!("install {}=={to}{needs}", package.name), step(now, to), wish)
    };
    let there = |to: &'static str| Some((to, for_python(case, Some(package), now, to)?));
    let mut ranked = nearest(&all, now);
    // Of what is further away, the other patches of each minor as well.
    if places.start > 0 {
        let others: Vec<&str> = all.iter().copied().filter(|one| *one != now && !ranked.contains(one)).collect();
        ranked.extend(others.into_iter().rev());
    }
    ranked.into_iter().filter_map(there).skip(places.start).take(places.len()).map(wish).collect()
}

fn component_of(knowledge: Knowledge, distribution: &str) -> Option<&'static str> {
    knowledge.framework(distribution).map(|row| row.component)
}

/// Whether a release of a distribution decides which torch there is.
fn brings_torch(knowledge: Knowledge, distribution: &str, version: &str) -> bool {
    let mut rows = knowledge.torch_pins_of(distribution);
    rows.any(|row| row.version == version && !row.unasked && row.torch.starts_with("=="))
}
