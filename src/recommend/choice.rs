//! Releases and builds of one distribution that a wish allows, of those that the tables know one by one.

use std::cmp::Ordering;

use crate::cuda::CudaVersion;
use crate::infer::is_compiled;
use crate::infer::variant_cuda;
use crate::install::between;
use crate::install::order;
use crate::knowledge::BroughtRow;
use crate::knowledge::FrameworkBuildRow;
use crate::knowledge::FrameworkImageRow;
use crate::knowledge::Knowledge;
use crate::knowledge::TorchPinRow;
use crate::knowledge::TorchRow;
use crate::knowledge::by_number;
use crate::nearest::nearest;
use crate::recommend::along;
use crate::recommend::known::Known;
use crate::recommend::python;
use crate::recommend::wish::Wish;

/// One release, in one build.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// Normalised name.
    pub(super) name: String,
    /// What decides its GPU code and for which Pythons it has wheels: itself, or what it brings along.
    pub(super) code: &'static str,
    /// Without local part.
    pub(super) version: &'static str,
    /// `cu118`, where there are several.
    pub(super) build: Option<&'static str>,
    /// What is written behind `pip install`; empty where the base has it.
    pub(super) spec: String,
    /// The index that its build lies in, where that is not the default one.
    pub(super) page: Option<String>,
    /// The CUDA that it was built with; a major alone where no more is known.
    pub(super) cuda: Option<CudaVersion>,
    /// The image that has it.
    pub(super) within: Option<&'static FrameworkImageRow>,
}

impl Choice {
    /// What it is called in tables and sentences: `torch==2.6.0+cu118`.
    pub(super) fn told(&self) -> String {
        if self.spec.is_empty() { format!("{}=={}", self.name, self.version) } else { self.spec.clone() }
    }
}

/// What the tables tell of the libraries that a choice looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Libraries {
    /// Which they are, or that another framework brings them.
    Told,
    /// That an extra brings libraries, not whether those are all.
    Brought,
    /// Nothing.
    Untold,
}

impl Choice {
    /// What is known of the libraries that it looks for.
    pub(super) fn libraries(&self, knowledge: Knowledge) -> Libraries {
        let pinned = || knowledge.torch_pins_of(&self.name).next().is_some();
        let needs = || self.version.parse().ok().and_then(|version| knowledge.needs_of(self.code, version));
        if self.within.is_some() || knowledge.is_built_framework(self.code) || pinned() || needs().is_some() {
            Libraries::Told
        } else if self.spec.contains('[') {
            Libraries::Brought
        } else {
            Libraries::Untold
        }
    }
}

/// Which version is newer.
pub(super) fn newer(one: &str, other: &str) -> Ordering {
    order(one, other).unwrap_or_else(|| by_number(one, other))
}

/// Every choice of a wish for some architectures, the newest first; why there is none.
pub(super) fn choices(wish: &Wish, archs: &[String], knowledge: Knowledge) -> Result<Vec<Choice>, String> {
    let mut found = all(wish, archs, knowledge);
    let nowhere = || {
        let archs = archs.iter().map(|arch| format!("linux/{arch}")).collect::<Vec<_>>().join(" and ");
        format!("the compatibility database of {} has no wheel of `{}` for {archs}", knowledge.newest_date(), wish.text)
    };
    if found.is_empty() {
        let elsewhere = !all(wish, &[], knowledge).is_empty();
        return Err(if elsewhere { nowhere() } else { unknown(&wish.name, knowledge) });
    }
    let versions: Vec<&'static str> = found.iter().map(|one| one.version).collect();
    found.retain(|one| wish.admits(one.version));
    let date = knowledge.newest_date();
    if found.is_empty() {
        let newest = versions.iter().copied().max_by(|one, other| newer(one, other)).unwrap_or_default();
        let oldest = versions.iter().copied().min_by(|one, other| newer(one, other)).unwrap_or_default();
        let name = &wish.name;
        return Err(format!(
            "the compatibility database of {date} has no `{}`; it has {name} {oldest} to {newest}",
            wish.text
        ));
    }
    if let Some(build) = &wish.build {
        let mut builds: Vec<&str> = found.iter().filter_map(|one| one.build).collect();
        builds.sort_by(|one, other| by_number(one, other));
        builds.dedup();
        let there = if builds.is_empty() { "unknown".to_owned() } else { builds.join(", ") };
        found.retain(|one| one.build == Some(build.as_str()));
        if found.is_empty() {
            return Err(format!(
                "the compatibility database of {date} has no `{}`; its builds of that release are {there}",
                wish.text
            ));
        }
    }
    let known = Known::of(archs.to_vec(), knowledge);
    found.retain(|one| python::is_served(one, &known));
    if found.is_empty() {
        return Err(nowhere());
    }
    found.sort_by(|one, other| newer(other.version, one.version));
    Ok(found)
}

fn all(wish: &Wish, archs: &[String], knowledge: Knowledge) -> Vec<Choice> {
    let mut found = if knowledge.is_built_framework(&wish.name) {
        let built = knowledge.built_framework().filter(|row| row.distribution == wish.name);
        built.map_or_else(Vec::new, |row| of_builds(row.distribution, archs, knowledge))
    } else {
        of_distribution(wish, knowledge)
    };
    if found.is_empty() {
        found = of_pins(&wish.name, knowledge);
    }
    if found.is_empty() {
        // A component of which no distribution has the name: those that are it.
        let rows = knowledge.frameworks().iter().filter(|row| row.component == wish.name);
        for row in rows.filter(|row| row.distribution != wish.name && !row.variants) {
            found.extend(of_distribution(&Wish { name: row.distribution.to_owned(), ..wish.clone() }, knowledge));
        }
    }
    if !found.is_empty() && wish.extras.is_empty() && wish.build.is_none() {
        found.extend(in_images(&wish.name, knowledge));
    }
    found
}

/// Releases of the framework of several builds.
fn of_builds(name: &'static str, archs: &[String], knowledge: Knowledge) -> Vec<Choice> {
    let page = knowledge.build_pages().iter().find(|row| row.distribution == name);
    let there = |row: &TorchRow, tag: &str| {
        archs.iter().all(|arch| arch == "amd64" || knowledge.torch_build(row.version, tag, arch).is_some())
    };
    let default = |row: &TorchRow, tag: &str| {
        let of = |arch: &String| row.default_variant.iter().any(|own| own.arch == arch && own.value == tag);
        !archs.is_empty() && archs.iter().all(of)
    };
    let mut found = Vec::new();
    for row in knowledge.torch_served() {
        for tag in row.variants.iter().filter(|tag| there(row, tag)) {
            let Some(cuda) = variant_cuda(tag) else { continue };
            let plain = default(row, tag);
            let page = page.map(|page| page.page.replace("{build}", tag)).filter(|_| !plain);
            if !plain && page.is_none() {
                continue;
            }
            // What lies in an index of its own is found there without its build as well.
            let unnamed = archs
                .iter()
                .any(|arch| knowledge.torch_build(row.version, tag, arch).is_some_and(|build| build.unnamed));
            let spec = if plain || unnamed {
                format!("{name}=={}", row.version)
            } else {
                format!("{name}=={}+{tag}", row.version)
            };
            found.push(Choice {
                name: name.to_owned(),
                code: name,
                version: row.version,
                build: Some(tag),
                spec,
                page,
                cuda: Some(cuda),
                within: None,
            });
        }
    }
    found
}

/// Releases of one build each: of the distribution itself, with each extra that brings what it runs on, or of what
/// it brings along in its own version.
fn of_distribution(wish: &Wish, knowledge: Knowledge) -> Vec<Choice> {
    let name = wish.name.as_str();
    let whole = |version: &str| version.matches('.').count() >= 2;
    let rows = |distribution: &str| {
        let distribution = distribution.to_owned();
        let rows = knowledge.framework_builds().iter().filter(move |row| row.distribution == distribution);
        rows.filter(move |row| whole(row.version) && row.cuda.is_some())
    };
    let choice = |row: &'static FrameworkBuildRow, extras: &[&str]| {
        let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
        let spec = format!("{name}{extras}=={}", row.version);
        let (name, build, page) = (name.to_owned(), None, None);
        let (code, version, cuda) = (row.distribution, row.version, row.cuda);
        Choice { name, code, version, build, spec, page, cuda, within: None }
    };
    let asked: Vec<&str> = wish.extras.iter().map(String::as_str).collect();
    let brought = || knowledge.brought_packages().iter().filter(|row| row.distribution == name);
    let mut found = Vec::new();
    for row in rows(name) {
        found.push(choice(row, &asked));
        if asked.is_empty() {
            let brings = |one: &BroughtRow| between(row.version, one.from, one.before);
            let own = brought().filter(|one| !one.extra.is_empty() && !one.same && brings(one));
            let mut extras: Vec<&str> = own.map(|one| one.extra).collect();
            extras.dedup();
            found.extend(extras.iter().map(|extra| choice(row, &[extra])));
        }
    }
    // Of extras that bring the same, the one that says most; what is added behind a `-` wants more of the image.
    let plain = |row: &BroughtRow| {
        let mut others = brought().filter(|other| other.same && other.brings == row.brings && other.extra != row.extra);
        !others.any(|other| {
            row.extra.strip_prefix(other.extra).is_some_and(|rest| rest.starts_with('-'))
                || (other.extra.len() > row.extra.len() && !other.extra.contains('-'))
        })
    };
    for along in
        brought().filter(|row| row.same && if asked.is_empty() { plain(row) } else { asked.contains(&row.extra) })
    {
        let extras = if asked.is_empty() { vec![along.extra] } else { asked.clone() };
        let own = rows(along.brings).filter(|row| between(row.version, along.from, along.before));
        found.extend(own.map(|row| choice(row, &extras)));
    }
    found
}

/// Releases of what goes with a framework and has no row of its own.
fn of_pins(name: &str, knowledge: Knowledge) -> Vec<Choice> {
    let rows = knowledge.torch_pins_of(name).filter(|row| row.version != "*");
    let choice = |row: &'static TorchPinRow| Choice {
        name: name.to_owned(),
        code: row.distribution,
        version: row.version,
        build: None,
        spec: format!("{name}=={}", row.version),
        page: None,
        cuda: None,
        within: None,
    };
    rows.map(choice).collect()
}

/// Releases that images bring; of images that differ in their flavour alone, the smallest.
fn in_images(name: &str, knowledge: Knowledge) -> Vec<Choice> {
    let built = knowledge.built_framework().filter(|row| row.distribution == name);
    // An image that has it for a program of its own is none to build on.
    let all_have = |repository: &str| {
        let mut rows = knowledge.framework_images().iter().filter(|row| row.repository == repository);
        rows.all(|row| row.torch.is_some())
    };
    let mut found: Vec<Choice> = Vec::new();
    for row in knowledge.framework_images() {
        let brought = row.brings.iter().find(|(own, _)| *own == name).map(|(own, version)| (*own, *version));
        let of_torch =
            built.and_then(|built| Some((built.distribution, row.torch?))).filter(|_| all_have(row.repository));
        let Some((code, version)) = brought.or(of_torch) else { continue };
        let first = row.tag.split('-').next().unwrap_or(row.tag);
        if knowledge.withdrawn(row.repository, first).is_some() || version.matches('.').count() < 2 {
            continue;
        }
        let choice = Choice {
            name: name.to_owned(),
            code,
            version,
            build: None,
            spec: String::new(),
            page: None,
            cuda: Some(row.cuda),
            within: Some(row),
        };
        let alike = |one: &Choice| {
            one.version == version
                && one.within.is_some_and(|other| other.repository == row.repository && other.cuda == row.cuda)
        };
        match found.iter_mut().find(|one| alike(one)) {
            Some(one) if one.within.is_some_and(|other| weight(row.tag) < weight(other.tag)) => *one = choice,
            Some(_) => {}
            None => found.push(choice),
        }
    }
    found
}

/// What a tag says of its size: one to build in is larger than one to run, and each word adds.
pub(super) fn weight(tag: &str) -> (bool, usize) {
    (tag.split('-').any(|word| word == "devel"), tag.len())
}

/// Whether one choice goes with another: what pins a framework wants its release.
pub(super) fn together(one: &Choice, other: &Choice, known: &Known) -> bool {
    let knowledge = known.knowledge;
    let asked = |one: &Choice| known.pin(one).filter(|pin| !pin.is_empty());
    let component = |one: &Choice| knowledge.framework(one.code).map(|row| row.component);
    let twice = one.code != other.code && component(one).is_some() && component(one) == component(other);
    // Two distributions with the same code in them, for two CUDA releases.
    if twice && one.cuda.is_some() && other.cuda.is_some() || along::apart(one, other, knowledge) {
        return false;
    }
    // What an image brings is compiled on the torch of that image.
    let stays = |one: &Choice, other: &Choice| {
        one.within.is_some() && other.within.is_none() && is_compiled(&one.name, knowledge)
    };
    let wants = |one: &Choice, other: &Choice| {
        !stays(one, other) && asked(one).is_none_or(|pin| known.admits(pin, other.version))
    };
    match [one, other].map(|choice| knowledge.is_built_framework(&choice.name)) {
        [false, true] => wants(one, other),
        [true, false] => wants(other, one),
        // Both bring the framework along: one release of it for both.
        _ => match (asked(one), asked(other)) {
            (Some(own), Some(others)) => one_release(own, others, known),
            (None, Some(_)) => !stays(one, other),
            (Some(_), None) => !stays(other, one),
            (None, None) => true,
        },
    }
}

/// Whether some release of the framework of several builds lies in two ranges.
fn one_release(own: &'static str, others: &'static str, known: &Known) -> bool {
    let exact = |pin: &'static str| pin.strip_prefix("==").filter(|pin| !pin.contains(['*', ',']));
    let within = |range: &'static str, version: &'static str| known.admits(range, version);
    match (exact(own), exact(others)) {
        (Some(own), _) => within(others, own),
        (None, Some(others)) => within(own, others),
        (None, None) => {
            known.knowledge.torch_served().any(|row| within(own, row.version) && within(others, row.version))
        }
    }
}

/// Which release of the framework of several builds a distribution wants, where the tables say it.
pub(super) fn pin(name: &str, version: &str, knowledge: Knowledge) -> Option<&'static str> {
    let rows = || knowledge.torch_pins_of(name);
    // As it is written, which most are, before it is read: no table has one release in two ways.
    let written = || rows().find(|row| row.version == version);
    let own = || rows().find(|row| newer(row.version, version).is_eq());
    let any = || rows().find(|row| row.version == "*");
    let built = || knowledge.framework_build(name, version).and_then(|row| row.torch);
    written().or_else(own).or_else(any).map(|row| row.torch).or_else(built)
}

fn unknown(name: &str, knowledge: Knowledge) -> String {
    let builds = knowledge.framework_builds().iter().map(|row| row.distribution);
    let brought = knowledge.brought_packages().iter().filter(|row| row.same).map(|row| row.distribution);
    let built = knowledge.built_framework().map(|row| row.distribution);
    let pins = knowledge.torch_pins().iter().filter(|row| row.version != "*").map(|row| row.distribution);
    let mut names: Vec<&str> = builds.chain(brought).chain(built).chain(pins).collect();
    names.sort_unstable();
    names.dedup();
    let hint = nearest(name, names).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
    format!("the compatibility database of {} has no releases of `{name}`{hint}", knowledge.newest_date())
}
