//! Combinations of base image, framework release, CUDA build and pip line that start on every pool of a fleet.
//!
//! What is tried is made of rows: releases of what is wished for in each of their builds, on each base that brings a
//! Python with a wheel of it, or in an image that has it. Each combination becomes the *text* of a Dockerfile that goes
//! the whole road, and the replay says how it ends on each pool; nothing here has an opinion of its own.
//!
//! # What is better
//!
//! | order | what counts |
//! |---|---|
//! | 1 | all that decides was seen, before what starts as far as it was seen; of these, what is known to look for libraries that are there, before what of nobody knows which it looks for |
//! | 2 | the worst route over all pools, then the next one: native, minor-version, forward-compat, jit |
//! | 3 | a build for the CUDA major that the base holds, where it holds one |
//! | 4 | the newer release, wish by wish; of a base alone, the newer CUDA, of a container of every month the later month |
//! | 5 | headroom: the smaller driver from which on it starts, the pool that wants the largest first |
//! | 6 | the base that brings less: a language image, an operating system, a CUDA base image, a framework image |
//! | 7 | a tag to run before one to build in, the shorter one, the name |
//!
//! Where the best of them starts somewhere only with code that is compiled for the GPU at start-up, and what it calls
//! was seen by nobody, the fewest images that need no such code are told as well.
//!
//! What fails on a pool, cannot be told there, or starts and uses no GPU is not recommended. Of bases that differ in
//! their flavour alone the smallest is tried; a larger one where that has not enough.

mod along;
mod base;
mod candidate;
mod choice;
mod known;
pub mod model;
mod print;
mod python;
mod rank;
mod split;
mod tell;
mod trial;
mod wish;

pub use self::print::human;
pub use self::wish::Asked;
pub use self::wish::named;

use std::cmp::Reverse;

use crate::fleet::Pool;
use crate::judge;
use crate::judge::Settings;
use crate::outcome::Outcome;
use crate::parallel;
use crate::recommend::base::Base;
use crate::recommend::base::Ground;
use crate::recommend::base::Kind;
use crate::recommend::base::Wanted;
use crate::recommend::candidate::Asks;
use crate::recommend::candidate::Candidate;
use crate::recommend::choice::Choice;
use crate::recommend::choice::Libraries;
use crate::recommend::known::Known;
use crate::recommend::model::Recommendation;
use crate::recommend::rank::Tried;
use crate::recommend::trial::Bench;
use crate::recommend::trial::End;
use crate::recommend::trial::Place;
use crate::recommend::wish::Wish;
use crate::report::kinds::VerdictKind;
use crate::source::SourceText;
use crate::source::Sources;

/// So many combinations of releases are looked at.
const MOST: usize = 2_000;

/// Seeks combinations; the reason where a wish cannot be met whatever the fleet.
pub fn recommend(asked: Asked<'_>, settings: Settings<'_>) -> Result<Recommendation, String> {
    let knowledge = settings.knowledge;
    let wishes = asked.with.iter().map(|text| Wish::read(text, knowledge)).collect::<Result<Vec<_>, _>>()?;
    let wishes = wish::merged(wishes)?;
    if wishes.is_empty() && asked.base.is_none() {
        return Err(tell::nothing_wished());
    }
    let wanted = Wanted::read(asked.base, knowledge)?;
    let python = asked.python.map(wish::python).transpose()?;
    let pools: Vec<&Pool> = settings
        .fleet
        .pools
        .iter()
        .filter(|pool| settings.pools.is_empty() || settings.pools.contains(&pool.name.value))
        .collect();
    let place = Place::of(&pools, settings.as_of, knowledge);
    let mut archs: Vec<String> =
        place.platforms.iter().filter_map(|one| Some(one.split('/').nth(1)?.to_owned())).collect();
    archs.sort();
    let all = wishes.iter().map(|wish| choice::choices(wish, &archs, knowledge)).collect::<Result<Vec<_>, _>>()?;
    let known = Known::of(archs.clone(), knowledge);
    let sets = together(&all, &known);
    let ground = Ground { wanted: &wanted, python: python.as_deref(), archs: &archs, known: &known, knowledge };
    let made: Vec<(Vec<&Choice>, Base)> =
        sets.iter().flat_map(|set| ground.bases(set).into_iter().map(move |base| (set.clone(), base))).collect();
    if made.is_empty() {
        return Err(tell::impossible(asked, &all, &sets, ground));
    }
    let given = asked.base.is_some();
    let mut tried: Vec<Tried<'_>> =
        parallel::map_with(asked.jobs, &made, || Bench::at(&place), |bench, one| first(one, given, bench));
    // Where nobody names a base, older ones of CUDA are for what starts on no other.
    if asked.base.is_none() && !tried.iter().any(Tried::everywhere) {
        let older = parallel::map_with(asked.jobs, &tried, || Bench::at(&place), |bench, one| on_older(one, bench));
        tried.extend(older.into_iter().flatten());
    }
    if let Some(base) = asked.base.filter(|_| wishes.is_empty())
        && tried.iter().all(|one| place.images(&one.text).is_empty())
    {
        return Err(tell::no_gpu_content(base));
    }
    tried.sort_by(rank::order);
    tried.dedup_by(|one, other| one.text == other.text);
    let mut told = tell::all(&mut tried, &pools, &place, asked.limit);
    let open = |one: &&Tried<'_>| {
        let ends = || one.ends.iter();
        ends().any(|end| !end.starts()) && !ends().any(|end| matches!(end, End::Fails(_)))
    };
    told.undetermined.combinations = tried.iter().filter(open).count();
    told.undetermined.because = tried.iter().find(open).and_then(|one| because(one, settings));
    told.fleet.source.clone_from(&settings.fleet.name);
    told.fleet.built_in = settings.fleet.built_in;
    told.wishes = tell::wishes(asked);
    told.notes.extend(tell::stand_ins(&wishes, &all));
    Ok(told)
}

/// Every choice of one wish with those of the others that go with it, the newest first.
fn together<'a>(all: &'a [Vec<Choice>], known: &Known) -> Vec<Vec<&'a Choice>> {
    let mut sets: Vec<Vec<&Choice>> = vec![Vec::new()];
    for choices in all {
        let with = |set: &Vec<&'a Choice>, one: &'a Choice| -> Option<Vec<&'a Choice>> {
            let alone = one.within.is_none() || set.iter().all(|other| other.within.is_none());
            let goes = alone && set.iter().all(|other| choice::together(other, one, known));
            goes.then(|| set.iter().copied().chain([one]).collect())
        };
        sets = sets.iter().flat_map(|set| choices.iter().filter_map(move |one| with(set, one))).take(MOST).collect();
    }
    sets
}

/// Tries what is chosen on a base; where that is `given`, on an older one as well.
fn first<'a>((choices, base): &(Vec<&'a Choice>, Base), given: bool, bench: &Bench<'_, '_>) -> Tried<'a> {
    let candidate = Candidate { choices: choices.clone(), base: base.clone(), asks: Asks::Nothing };
    if given { tried(candidate, bench) } else { on_base(candidate, bench) }
}

/// Tries a combination; where its base asks for too new a driver, on an older one as well.
fn tried<'a>(candidate: Candidate<'a>, bench: &Bench<'_, '_>) -> Tried<'a> {
    let first = on_base(candidate, bench);
    on_older(&first, bench).unwrap_or(first)
}

/// A combination on an older base, where its own asks for too new a driver; none where that starts on no more pools.
fn on_older<'a>(first: &Tried<'a>, bench: &Bench<'_, '_>) -> Option<Tried<'a>> {
    let base = first.candidate.base.older.as_deref()?.clone();
    first.ends.iter().find(|end| wants_newer(**end))?;
    let choices = first.candidate.choices.clone();
    let second = on_base(Candidate { choices, base, asks: Asks::Nothing }, bench);
    (starts(&second) > starts(first)).then_some(second)
}

/// On how many pools it starts.
fn starts(one: &Tried<'_>) -> usize {
    one.ends.iter().filter(|end| end.starts()).count()
}

/// Whether an older base may help.
const fn wants_newer(end: End) -> bool {
    matches!(end, End::Fails(Outcome::Refused | Outcome::InsufficientDriver | Outcome::CompatNotSupported))
}

/// Tries a combination; where the image has to ask for GPUs itself, or its base has not enough, once more.
fn on_base<'a>(candidate: Candidate<'a>, bench: &Bench<'_, '_>) -> Tried<'a> {
    let place = bench.place;
    let once = |candidate: Candidate<'a>| {
        let text = candidate.dockerfile(place.knowledge);
        let images = place.images(&text);
        let ends = bench.ends(&images, candidate.choices.is_empty());
        let apart = trial::apart(&images, place, &candidate);
        let libraries = candidate.choices.iter().map(|choice| choice.libraries(place.knowledge));
        let told = libraries.max().unwrap_or(Libraries::Told) == Libraries::Told;
        Tried { candidate, text, ends, told, apart, drivers: Vec::new() }
    };
    let first = once(candidate);
    if first.everywhere() {
        return first;
    }
    let candidate = &first.candidate;
    let plain = matches!(candidate.base.kind, Kind::Language | Kind::System | Kind::Given);
    let larger = candidate.base.larger.clone();
    let no_gpu = |one: &Tried<'a>| one.ends.contains(&End::Fails(Outcome::NoGpu));
    match larger {
        None if plain && no_gpu(&first) => {
            let asking = |asks| once(Candidate { asks, ..candidate.clone() });
            let second = asking(Asks::Gpus);
            let third = no_gpu(&second).then(|| asking(Asks::Driver));
            // Where none starts, the one that gets past the missing GPU says what is in the way behind it.
            let good = |one: &Tried<'a>| {
                let blind = one.ends.iter().filter(|end| **end == End::Fails(Outcome::NoGpu)).count();
                (starts(one), Reverse(blind))
            };
            match third.filter(|third| good(third) > good(&second)) {
                Some(third) if good(&third) > good(&first) => third,
                Some(_) | None if good(&second) >= good(&first) => second,
                Some(_) | None => first,
            }
        }
        Some(larger) if first.ends.iter().any(|end| lacks(*end)) => {
            let base = Base { reference: larger, larger: None, ..candidate.base.clone() };
            let second = once(Candidate { base, ..candidate.clone() });
            if starts(&second) > starts(&first) { second } else { first }
        }
        None | Some(_) => first,
    }
}

/// Whether more libraries in the base may help.
const fn lacks(end: End) -> bool {
    matches!(end, End::Idle | End::Open | End::Fails(Outcome::LibraryMissing))
}

/// Why it cannot be told whether a combination starts, in the words of the judge.
fn because(one: &Tried<'_>, settings: Settings<'_>) -> Option<String> {
    let mut sources = Sources::default();
    let source = sources.add(SourceText::new("Dockerfile", one.text.clone()));
    // The texts of pools are not told of: places are left out.
    let fleet = crate::fleet::Fleet { built_in: true, source, ..settings.fleet.clone() };
    let settings =
        Settings { sources: &sources, fleet: &fleet, detail: judge::Detail::Verdicts, own: None, ..settings };
    let told = judge::judge(&trial::subject(&one.text, source, settings.knowledge), settings);
    let mut verdicts = told.verdicts.iter().filter(|verdict| verdict.component.is_none());
    let open = verdicts.find(|verdict| verdict.fate != VerdictKind::Starts).map(|verdict| verdict.message.clone());
    let idle = told.verdicts.iter().flat_map(|verdict| &verdict.notes).next().cloned();
    let packages = one.candidate.told();
    let what = if packages.is_empty() { one.candidate.base.reference.clone() } else { packages };
    open.or(idle).map(|why| format!("{what}: {why}"))
}
