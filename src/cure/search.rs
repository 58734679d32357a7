//! The search: candidates of every kind, the smallest first, each tried on all pools.

use crate::cure::Candidate;
use crate::cure::Kind;
use crate::cure::Wish;
use crate::cure::base;
use crate::cure::case::Aim;
use crate::cure::case::Case;
use crate::cure::chain;
use crate::cure::compat;
use crate::cure::conda;
use crate::cure::environment;
use crate::cure::extra;
use crate::cure::framework;
use crate::cure::host;
use crate::cure::kind::Cost;
use crate::cure::lists;
use crate::cure::means::Means;
use crate::cure::moved;
use crate::cure::named;
use crate::cure::older;
use crate::cure::pair;
use crate::cure::platform;
use crate::cure::split;
use crate::cure::trial;
use crate::cure::trials;
use crate::cure::trials::Trials;
use crate::cure::versions::FAR;
use crate::edit::TextEdit;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::report::kinds::FixSafety;
use crate::report::kinds::VerdictKind;
use crate::report::model;

/// What becomes of an image on a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolFate {
    /// Name of the pool.
    pub pool: String,
    /// `starts`, `fails`, `depends`, `undetermined`, `not-applicable`.
    pub fate: VerdictKind,
    /// How it fails.
    pub outcome: Option<String>,
    /// Whether a step that stopped it before, or may have, passes now, and what else there is cannot be told.
    pub lifted: bool,
    /// Whether it starts only with code that is compiled for the GPU at start-up.
    pub compiled: bool,
    /// Whether it starts only by minor version compatibility.
    pub minor: bool,
}

/// What it means to start with the host's libcuda beside an image for a newer CUDA.
const MINOR: &str =
    "by minor version compatibility: code that requires the newer driver still fails with CUDA error 36";

/// A change that was tried and helps on at least one pool.
#[derive(Clone, Debug)]
pub struct Tried {
    /// What is changed.
    pub kind: Kind,
    /// How far it is from what is there, within its kind.
    pub step: usize,
    /// One line.
    pub title: String,
    /// What else it may change.
    pub safety: FixSafety,
    /// The change.
    pub wish: Wish,
    /// What to write.
    pub edits: Vec<TextEdit>,
    /// The fates with it, pool by pool.
    pub fates: Vec<PoolFate>,
    /// Pools on which it starts with it and failed before.
    pub cures: Vec<String>,
    /// Pools on which it starts with it for certain, and might have failed before.
    pub settles: Vec<String>,
    /// Pools on which the failure is gone with it, and whether it starts cannot be told.
    pub lifts: Vec<String>,
    /// Pools on which it might have failed before, and less is left open with it.
    pub narrows: Vec<String>,
    /// Pools on which it no longer starts with it.
    pub breaks: Vec<String>,
    /// Whether it starts on one of those only with code that is compiled at start-up.
    pub compiled: bool,
    /// What has to be true for it to help, of what is not known of the image.
    pub supposed: Option<String>,
    /// The subject with it, where its text or what was seen of it is another.
    pub subject: Option<Subject>,
}

impl Tried {
    /// The pools on which it starts with it, of those that changes are sought for.
    pub(super) fn starts(&self, aim: Aim) -> &[String] {
        match aim {
            Aim::Failing => &self.cures,
            Aim::Open => &self.settles,
        }
    }

    /// The pools on which it only comes nearer to that.
    pub(super) fn eases(&self, aim: Aim) -> &[String] {
        match aim {
            Aim::Failing => &self.lifts,
            Aim::Open => &self.narrows,
        }
    }

    /// On how many pools it helps.
    pub(super) fn helps(&self, aim: Aim) -> usize {
        self.starts(aim).len() + self.eases(aim).len()
    }
}

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Of each kind the best, then the others: what breaks nothing first, what cures more first, the smallest first.
    pub tried: Vec<Tried>,
    /// Why no change is offered that makes it start everywhere, and how to split the pools.
    pub split: Option<String>,
    /// Whether candidates were left out because there are too many.
    pub cut: bool,
}

/// Looks for changes of some kinds, for some pools.
pub(super) fn search(
    aim: Aim,
    kinds: &[Kind],
    subject: &Subject,
    before: &model::Subject,
    settings: Settings<'_>,
    means: &Means<'_>,
) -> Found {
    let Some(case) = Case::of(aim, subject, before, settings, means.hosts) else { return Found::default() };
    let all = case.aimed().count();
    let certain = aim == Aim::Failing;
    let most = if certain { trials::MOST } else { trials::MOST_OPEN };
    let mut trials = Trials::new(means, trials::budget(subject, most));
    let mut tried = singles(kinds, &case, &mut trials);
    let of_image = |one: &Tried| one.kind.of_image() && one.breaks.is_empty() && one.helps(aim) == all;
    if certain && !tried.iter().any(of_image) {
        tried.extend(pair::pair(&case, &mut trials));
    }
    if certain && !tried.iter().any(|one| of_image(one) && !one.compiled) {
        tried.extend(until_enough(&lists::on_other_bases(&case), &case, &mut trials));
    }
    if certain && !tried.iter().any(of_image) {
        tried = best(tried, &case);
        let more = chain::chains(&case, &tried, &mut trials);
        tried.extend(more);
    }
    // The last resort: an old release on a newer GPU, whose code is compiled at start-up, is none.
    if certain && kinds.contains(&Kind::FrameworkVersion) && !tried.iter().any(of_image) {
        let further = until_enough(&framework::further(&case), &case, &mut trials);
        tried.extend(further.into_iter().filter(|one| !one.compiled));
    }
    if certain && kinds.contains(&Kind::Driver) {
        tried.extend(moved::moved(&case, &tried, &mut trials));
    }
    let split = if certain { split::told(&case, &tried) } else { None };
    Found { tried: forward(best(tried, &case), aim), split, cut: trials.left() == 0 }
}

/// The changes without those that go back to an older CUDA major release or operating system of the base, if others of the
/// image help on the same pools.
fn forward(tried: Vec<Tried>, aim: Aim) -> Vec<Tried> {
    let (back, onward): (Vec<bool>, Vec<&Tried>) = (
        tried.iter().map(|one| base::goes_back(&one.wish)).collect(),
        tried.iter().filter(|one| one.kind.of_image() && !base::goes_back(&one.wish)).collect(),
    );
    let needless = |one: &Tried| {
        let others = || onward.iter().filter(|other| other.breaks.iter().all(|pool| one.breaks.contains(pool)));
        let starts = |pool: &String| others().any(|other| other.starts(aim).contains(pool));
        let eases = |pool: &String| starts(pool) || others().any(|other| other.eases(aim).contains(pool));
        one.starts(aim).iter().all(starts) && one.eases(aim).iter().all(eases)
    };
    let kept: Vec<bool> = tried.iter().zip(back).map(|(one, back)| !back || !needless(one)).collect();
    tried.into_iter().zip(kept).filter_map(|(one, kept)| kept.then_some(one)).collect()
}

/// Every change of some kinds that helps by itself, of each kind until one is enough.
pub(super) fn singles(kinds: &[Kind], case: &Case<'_>, trials: &mut Trials<'_>) -> Vec<Tried> {
    let mut tried: Vec<Tried> = Vec::new();
    let of_kind = |kind: &Kind, trials: &mut Trials<'_>| {
        let candidates = candidates(*kind, case, trials);
        until_enough(&candidates, case, trials)
    };
    trials.each(kinds, of_kind, |found| {
        tried.extend(found);
        true
    });
    tried
}

fn until_enough(candidates: &[Candidate], case: &Case<'_>, trials: &mut Trials<'_>) -> Vec<Tried> {
    let (aim, all) = (case.aim, case.aimed().count());
    let mut tried = Vec::new();
    let one = |candidate: &Candidate, trials: &mut Trials<'_>| attempt(case, candidate.clone(), trials);
    trials.each(candidates, one, |one| {
        let Some(one) = one else { return true };
        // What still hangs on a field of the pool may be cured by the next.
        let hangs = |now: &PoolFate| now.fate == VerdictKind::Depends && one.lifts.contains(&now.pool);
        let enough = one.breaks.is_empty() && one.helps(aim) == all && !one.compiled && !one.fates.iter().any(hangs);
        tried.push(one);
        !enough
    });
    tried
}

/// Of each kind the best, then the others that are of use.
pub(super) fn best(mut tried: Vec<Tried>, case: &Case<'_>) -> Vec<Tried> {
    let (aim, all) = (case.aim, case.aimed().count());
    let cost = |one: &Tried| Cost {
        breaks: !one.breaks.is_empty(),
        helpless: all - one.helps(aim).min(all),
        compiled: one.compiled,
        far: one.step >= FAR,
        left: all - one.starts(aim).len().min(all),
        changes: if let Wish::All(list) = &one.wish { list.len() } else { 1 },
        kind: one.kind,
        step: one.step,
    };
    tried.sort_by_key(cost);
    let (mut first, mut others): (Vec<Tried>, Vec<Tried>) = (Vec::new(), Vec::new());
    for one in tried {
        // Of a kind, what cures no more and breaks no less than a smaller change is of no use.
        let of_kind = || first.iter().chain(&others).filter(|other| other.kind == one.kind);
        let no_better = |other: &Tried| {
            other.safety <= one.safety
                && other.compiled <= one.compiled
                && one.starts(aim).iter().all(|pool| other.starts(aim).contains(pool))
                && one.eases(aim).iter().all(|pool| other.starts(aim).contains(pool) || other.eases(aim).contains(pool))
                && other.breaks.iter().all(|pool| one.breaks.contains(pool))
        };
        if of_kind().next().is_none() {
            first.push(one);
        } else if !of_kind().any(no_better) {
            others.push(one);
        }
    }
    first.append(&mut others);
    first
}

fn candidates(kind: Kind, case: &Case<'_>, trials: &mut Trials<'_>) -> Vec<Candidate> {
    match kind {
        Kind::Environment => environment::environment(case),
        Kind::ArchList => lists::arch_lists(case),
        Kind::DriverLibraries => compat::driver_libraries(case),
        Kind::FrameworkVariant => [
            extra::whole(case),
            framework::variants(case),
            extra::variants(case),
            named::variants(case),
            conda::variants(case),
        ]
        .concat(),
        Kind::BaseTag => base::candidates(case),
        Kind::Platform => platform::platforms(case),
        Kind::Driver => host::drivers(case, trials),
        Kind::Compat => compat::compat(case),
        Kind::FrameworkVersion => framework::versions(case),
        Kind::BaseImage => base::images(case),
        Kind::Toolkit => host::toolkits(case, trials),
        Kind::RunEnvironment => host::run_environment(case, trials),
    }
}

/// Tries one; none where it cures nothing.
pub(super) fn attempt(case: &Case<'_>, candidate: Candidate, trials: &mut Trials<'_>) -> Option<Tried> {
    let outcome = trials.help(case, &candidate.wish)?;
    if older::is_refused(case, &candidate.wish, outcome.subject.as_ref()) {
        return None;
    }
    let before = trial::fates(case.before);
    let starts =
        |list: &[PoolFate], pool: &str| list.iter().any(|one| one.pool == pool && one.fate == VerdictKind::Starts);
    let (mut cures, mut settles, mut lifts, mut narrows) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut breaks = Vec::new();
    for one in &before {
        let failed = Aim::Failing.takes(one.fate);
        let eased = outcome.fates.iter().any(|now| now.pool == one.pool && now.lifted);
        let list = match (one.fate == VerdictKind::Starts, starts(&outcome.fates, &one.pool)) {
            (false, true) if failed => &mut cures,
            (false, true) => &mut settles,
            (true, false) => &mut breaks,
            (false, false) if eased && failed => &mut lifts,
            (false, false) if eased => &mut narrows,
            _ => continue,
        };
        list.push(one.pool.clone());
    }
    let Candidate { kind, step, mut title, safety, wish } = candidate;
    let started = |one: &&PoolFate| cures.contains(&one.pool) || settles.contains(&one.pool);
    let compiled = outcome.fates.iter().filter(started).any(|one| one.compiled);
    // Of a change that was tried alone before, the title may say it already.
    let also = |title: &mut String, words: &str| {
        if !title.contains(words) {
            title.extend([", ", words]);
        }
    };
    // PTX carries a program to a newer GPU, and not the libraries of CUDA that it calls.
    let safety = if compiled { safety.max(FixSafety::Unsafe) } else { safety };
    if compiled {
        also(&mut title, "with PTX compiled at start-up");
    }
    if wish.drops_compat() && outcome.fates.iter().filter(started).any(|one| one.minor) {
        also(&mut title, MINOR);
    }
    if let Some(why) = outcome.by_hand {
        also(&mut title, why);
    }
    // What takes its wheels from a mirror may have no way to another index.
    let safety = if outcome.elsewhere { safety.max(FixSafety::Unsafe) } else { safety };
    if outcome.elsewhere {
        also(&mut title, "if the build can reach its index");
    }
    // What no file holds, nobody can write.
    let safety = if outcome.edits.is_empty() { FixSafety::Manual } else { safety };
    let edits = if safety == FixSafety::Manual { Vec::new() } else { outcome.edits };
    let tried = Tried {
        kind,
        step,
        title,
        safety,
        wish,
        edits,
        fates: outcome.fates,
        cures,
        settles,
        lifts,
        narrows,
        breaks,
        compiled,
        supposed: None,
        subject: outcome.subject,
    };
    (tried.helps(case.aim) > 0).then_some(tried)
}
