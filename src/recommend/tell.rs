//! What was tried as it is told.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::fleet::Pool;
use crate::knowledge::Knowledge;
use crate::knowledge::by_number;
use crate::least::is_below;
use crate::recommend::along;
use crate::recommend::base::Ground;
use crate::recommend::base::Wanted;
use crate::recommend::candidate::Candidate;
use crate::recommend::choice::Choice;
use crate::recommend::choice::newer;
use crate::recommend::model::Combination;
use crate::recommend::model::FleetTold;
use crate::recommend::model::OnPool;
use crate::recommend::model::Package;
use crate::recommend::model::Part;
use crate::recommend::model::Recommendation;
use crate::recommend::model::Rejected;
use crate::recommend::model::Undetermined;
use crate::recommend::model::Wishes;
use crate::recommend::python;
use crate::recommend::rank;
use crate::recommend::rank::Tried;
use crate::recommend::split;
use crate::recommend::trial::End;
use crate::recommend::trial::Place;
use crate::recommend::wish::Wish;
use crate::report::json::SCHEMA_VERSION;

/// All that is told of combinations that were tried, in their order but for the drivers.
pub(super) fn all(tried: &mut [Tried<'_>], pools: &[&Pool], place: &Place<'_>, limit: usize) -> Recommendation {
    let names: Vec<String> = pools.iter().map(|pool| pool.name.value.clone()).collect();
    let mut winners: Vec<Tried<'_>> = tried.iter().filter(|one| one.everywhere()).cloned().collect();
    ask_drivers(&mut winners, place, limit);
    let told = winners.iter().take(limit).enumerate();
    let mut combinations: Vec<Combination> = told.map(|(at, one)| combination(at + 1, one, &names, place)).collect();
    if let Some(best) = winners.first() {
        for (one, told) in winners.iter().zip(&mut combinations).skip(1) {
            told.lost_because = Some(rank::lost(best, one, &names));
        }
    }
    let (mut split, mut never) = (Vec::new(), Vec::new());
    if winners.is_empty() {
        never = split::never(tried, names.len()).iter().filter_map(|at| names.get(*at).cloned()).collect();
        split = parts(tried, &names, place);
    } else if winners.first().is_some_and(Tried::is_carried) {
        let sound: Vec<Tried<'_>> = tried.iter().map(Tried::without_jit).collect();
        if split::never(&sound, names.len()).is_empty() {
            split = parts(&sound, &names, place);
        }
    }
    Recommendation {
        schema_version: SCHEMA_VERSION,
        knowledge: place.knowledge.newest_date().to_string(),
        fleet: FleetTold { source: String::new(), built_in: false, pools: names.clone() },
        wishes: Wishes { with: Vec::new(), base: None, python: None },
        tried: tried.len(),
        more: winners.len() - combinations.len(),
        rejected: if winners.is_empty() && never.is_empty() {
            Vec::new()
        } else {
            rejected(tried, winners.first(), &names, place, limit)
        },
        undetermined: Undetermined { combinations: 0, because: None },
        notes: notes(winners.first(), &split),
        combinations,
        split,
        never,
    }
}

/// The wishes as they were written.
pub(super) fn wishes(asked: crate::recommend::Asked<'_>) -> Wishes {
    Wishes { with: asked.with.to_vec(), base: asked.base.map(str::to_owned), python: asked.python.map(str::to_owned) }
}

/// Asks for the smallest drivers of as many as are told, with all that are their like, and orders them by it.
fn ask_drivers(winners: &mut [Tried<'_>], place: &Place<'_>, limit: usize) {
    let last = winners.get(limit.saturating_sub(1)).or(winners.last()).cloned();
    let Some(last) = last else { return };
    let asked = winners.iter().take_while(|one| rank::first(one, &last).is_le()).count();
    for one in winners.iter_mut().take(asked) {
        one.drivers = place.smallest(&place.images(&one.text));
    }
    if let Some(asked) = winners.get_mut(..asked) {
        asked.sort_by(rank::order);
    }
}

fn combination(rank: usize, one: &Tried<'_>, names: &[String], place: &Place<'_>) -> Combination {
    let Candidate { choices, base, .. } = &one.candidate;
    let package = |choice: &&Choice| Package {
        name: choice.name.clone(),
        version: choice.version.to_owned(),
        build: choice.build.map(str::to_owned),
        spec: Some(choice.spec.clone()).filter(|spec| !spec.is_empty()),
    };
    let cuda = choices.iter().find_map(|choice| choice.cuda).or(base.cuda);
    Combination {
        rank,
        base: base.reference.clone(),
        python: base.python.map(str::to_owned),
        packages: choices.iter().map(package).collect(),
        cuda: cuda.map(|cuda| cuda.to_string()),
        pip: one.candidate.pip(place.knowledge),
        dockerfile: one.text.clone(),
        pools: on_pools(one, names, place, |_| true),
        unseen: one.unseen(),
        lost_because: None,
    }
}

/// How it ends on some pools.
fn on_pools(one: &Tried<'_>, names: &[String], place: &Place<'_>, wanted: impl Fn(End) -> bool) -> Vec<OnPool> {
    let pools = &place.declared;
    let drivers = one.drivers.iter().copied().chain(std::iter::repeat(None));
    let ends = names.iter().zip(&one.ends).zip(drivers).filter(|((_, end), _)| wanted(**end));
    let told = |((name, end), driver): ((&String, &End), Option<crate::cuda::DriverVersion>)| {
        let (fate, route, outcome) = match end {
            End::Starts { route, .. } => ("starts", Some(route.name()), None),
            End::Idle => ("no-gpu-used", None, None),
            End::Fails(outcome) => ("fails", None, Some(outcome.name())),
            End::Open => ("undetermined", None, None),
        };
        let smallest_driver = driver.map(|driver| driver.to_string());
        let below = driver.is_some() && end.starts() && pools.get(name).is_some_and(|pool| is_below(pool, driver));
        OnPool { pool: name.clone(), fate, route, outcome, smallest_driver, below }
    };
    ends.map(told).collect()
}

/// What is newer than the best and fails somewhere, on the base on which it starts on most pools; all that fails where
/// nothing is the best.
fn rejected(
    tried: &[Tried<'_>],
    best: Option<&Tried<'_>>,
    names: &[String],
    place: &Place<'_>,
    limit: usize,
) -> Vec<Rejected> {
    let starts = |one: &Tried<'_>| one.ends.iter().filter(|end| end.starts()).count();
    let fails = |one: &&Tried<'_>| one.ends.iter().any(|end| matches!(end, End::Fails(_)));
    let better = |one: &&Tried<'_>| best.is_none_or(|best| rank::versions(&one.candidate, &best.candidate).is_le());
    // Of a base alone nothing else is the same.
    let packages = |one: &Tried<'_>| (!one.candidate.choices.is_empty()).then(|| one.candidate.told());
    let everywhere: BTreeSet<String> = tried.iter().filter(|one| one.everywhere()).filter_map(packages).collect();
    let mut found: Vec<&Tried<'_>> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for one in tried.iter().filter(fails).filter(better) {
        let Some(packages) = packages(one) else {
            found.push(one);
            continue;
        };
        // What starts everywhere on another base stands for itself.
        if everywhere.contains(&packages) {
            continue;
        }
        let at = *places.entry(packages).or_insert(found.len());
        match found.get_mut(at) {
            Some(other) if starts(one) > starts(other) => *other = one,
            Some(_) => {}
            None => found.push(one),
        }
    }
    found.sort_by(|one, other| {
        rank::versions(&one.candidate, &other.candidate).then_with(|| starts(other).cmp(&starts(one)))
    });
    // Of those that end alike the newest tells for all.
    let mut ends: Vec<&[End]> = Vec::new();
    found.retain(|one| {
        let new = !ends.contains(&one.ends.as_slice());
        ends.push(&one.ends);
        new
    });
    let told = |one: &&Tried<'_>| Rejected {
        base: one.candidate.base.reference.clone(),
        packages: one.candidate.told(),
        pools: on_pools(one, names, place, |end| !end.starts()),
    };
    found.iter().take(limit).map(told).collect()
}

/// Images that start on every pool together, each the best one for its pools.
fn parts(tried: &[Tried<'_>], names: &[String], place: &Place<'_>) -> Vec<Part> {
    let part = |(at, own): (usize, Vec<usize>)| {
        let on: Vec<String> = own.iter().filter_map(|pool| names.get(*pool).cloned()).collect();
        let mut able: Vec<Tried<'_>> = tried.iter().filter_map(|one| only(one, &own)).collect();
        able.sort_by(rank::order);
        let best = able.first().or(tried.get(at))?;
        Some(Part { combination: combination(1, best, &on, place), on })
    };
    split::smallest(tried, names.len()).into_iter().filter_map(part).collect()
}

/// The same on some pools alone, where it starts on all of them.
fn only<'a>(one: &Tried<'a>, pools: &[usize]) -> Option<Tried<'a>> {
    let ends: Vec<End> = pools.iter().filter_map(|pool| one.ends.get(*pool).copied()).collect();
    ends.iter().all(|end| end.starts()).then(|| Tried { ends, ..one.clone() })
}

fn notes(best: Option<&Tried<'_>>, split: &[Part]) -> Vec<String> {
    let mut notes = Vec::new();
    let fetched = best.map(|best| &best.candidate.base).filter(|base| base.fetched && base.bare);
    if let Some((base, python)) = fetched.and_then(|base| Some((base, base.python?))) {
        notes.push(format!("{} does not include Python {python}; uv installs it", base.reference));
    }
    let unseen = best.is_some_and(Tried::unseen) || split.iter().any(|part| part.combination.unseen);
    if unseen {
        notes.push("no failure found, but its native code, PTX or libraries are not in the compatibility database; check the built \
                    image with `imagelint scan`".to_owned());
    }
    notes
}

/// The flags that say what is to run.
const WHAT_RUNS: &str = "--torch, --tensorflow, --jax, or --with 'NAME>=VERSION' for any other";

/// What is to be said where nothing was.
pub(super) fn nothing_wished() -> String {
    format!(
        "nothing to recommend: name what runs with {WHAT_RUNS}, or a base image for GPUs with --base, such as --torch \
         '>=2.4'"
    )
}

/// What stands in the place of what is wished for, where the tables know that alone.
pub(super) fn stand_ins(wishes: &[Wish], all: &[Vec<Choice>]) -> Vec<String> {
    let stand_in = |(wish, choices): (&Wish, &Vec<Choice>)| {
        let other = choices.iter().find(|_| choices.iter().all(|one| one.name != wish.name))?;
        let (name, own) = (&wish.name, &other.name);
        Some(format!(
            "for {name} the compatibility database has only {own}, which contains its native code and PTX: install {name} as well"
        ))
    };
    wishes.iter().zip(all).filter_map(stand_in).collect()
}

/// What is to be said of a base of which a tag has to be named.
fn wants_tag(repository: &str, knowledge: Knowledge) -> Option<String> {
    let rows = knowledge.framework_images().iter().filter(|row| row.repository == repository);
    let newest = rows.max_by(|one, other| by_number(one.tag, other.tag))?;
    Some(format!("{repository} needs a tag, such as {repository}:{}, or name what runs in it", newest.tag))
}

/// What is to be said of a base that holds nothing for a GPU.
pub(super) fn no_gpu_content(base: &str) -> String {
    format!("{base} contains nothing for GPUs: name what runs in it with {WHAT_RUNS}")
}

/// Why no base goes with what is wished for.
pub(super) fn impossible(
    asked: crate::recommend::Asked<'_>,
    all: &[Vec<Choice>],
    sets: &[Vec<&Choice>],
    ground: Ground<'_>,
) -> String {
    let date = ground.knowledge.newest_date();
    let wishes = asked.with.join(" ");
    if sets.is_empty() {
        let mut pairs =
            all.iter().enumerate().flat_map(|(at, one)| all.iter().skip(at + 1).map(move |other| (one, other)));
        let of = |one: &[Choice], other: &[Choice]| {
            one.iter().all(|one| other.iter().all(|other| along::apart(one, other, ground.knowledge)))
        };
        let name = |choices: &[Choice]| choices.first().map(|choice| choice.name.clone()).unwrap_or_default();
        return match pairs.find(|(one, other)| of(one, other)) {
            Some((one, other)) => format!(
                "{} and {} both depend on NVIDIA's pip packages. The compatibility database of {date} does not list \
                 releases that require the same ones: build an image for each, or install one without its libraries",
                name(one),
                name(other)
            ),
            None => format!("the compatibility database of {date} has no compatible releases of {wishes}"),
        };
    }
    if let Wanted::Exactly(reference) = ground.wanted
        && let (Some(why), false) = (ground.barrier(reference), wishes.is_empty())
    {
        return format!("{wishes} cannot be installed on {reference}: {why}");
    }
    if !sets.iter().any(|set| ground.some_python(set)) {
        return format!("the compatibility database of {date} has no Python version with wheels of all of {wishes}");
    }
    let others = || sets.iter().flat_map(|set| Ground { python: None, ..ground }.bases(set));
    if let Some(python) = ground.python {
        let mut pythons: Vec<&str> = others().filter_map(|base| base.python).collect();
        let any = Wanted::Any;
        let (archs, knowledge) = (ground.archs, ground.knowledge);
        let wheels =
            python::all(knowledge).filter(|own| sets.iter().any(|set| python::all_have(set, own, ground.known)));
        if sets.iter().all(|set| set.iter().any(|choice| choice.within.is_some())) {
            return format!(
                "the compatibility database of {date} has {wishes} for {} only in images, and their Python versions are \
                 unknown: omit --python",
                archs.iter().map(|arch| format!("linux/{arch}")).collect::<Vec<_>>().join(" and ")
            );
        }
        if sets.iter().any(|set| python::all_have(set, python, ground.known)) {
            let base = asked.base.unwrap_or("a base");
            pythons.sort_by(|one, other| newer(one, other));
            pythons.dedup();
            let elsewhere = !sets.iter().all(|set| Ground { wanted: &any, ..ground }.bases(set).is_empty());
            let hint = if elsewhere { "; without --base there is a combination" } else { "" };
            let there = if pythons.is_empty() { "no known Python".to_owned() } else { pythons.join(", ") };
            return format!(
                "the compatibility database of {date} has no tag of {base} with Python {python}; its tags include {there}{hint}"
            );
        }
        let mut wheels: Vec<&str> = wheels.collect();
        wheels.sort_by(|one, other| newer(one, other));
        wheels.dedup();
        return format!(
            "the compatibility database of {date} has no wheel of {wishes} for Python {python}; choose one of {}",
            wheels.join(", ")
        );
    }
    match asked.base {
        Some(base) if matches!(ground.wanted, Wanted::Repository(name) if brings(name, ground)) => {
            format!("{base} includes its own framework: use only --base, without {wishes}")
        }
        Some(base) if wishes.is_empty() => match ground.wanted {
            Wanted::Repository(name) => wants_tag(name, ground.knowledge).unwrap_or_else(|| no_gpu_content(base)),
            Wanted::Any | Wanted::Exactly(_) => no_gpu_content(base),
        },
        Some(base) => {
            format!("the compatibility database of {date} has no tag of {base} that is compatible with {wishes}")
        }
        None => format!("the compatibility database of {date} has no base image that is compatible with {wishes}"),
    }
}

/// Whether the images of a repository bring the framework of their month.
fn brings(repository: &str, ground: Ground<'_>) -> bool {
    ground.knowledge.base_family(repository).is_some_and(|family| family.month_tag.is_some())
}
