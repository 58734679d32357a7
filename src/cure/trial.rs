//! A trial: the whole road again with a change, on every pool of the subject.

use std::sync::Arc;

use crate::cure::PoolChange;
use crate::cure::Wish;
use crate::cure::beside;
use crate::cure::buildable::BY_HAND;
use crate::cure::buildable::hindrance;
use crate::cure::buildable::is_named;
use crate::cure::case::Aim;
use crate::cure::case::Case;
use crate::cure::case::whole;
use crate::cure::means::alone;
use crate::cure::pretend::pretend;
use crate::cure::search::PoolFate;
use crate::cure::trials::Trials;
use crate::cure::write;
use crate::cure::write::Way;
use crate::dockerfile::OnDemand;
use crate::edit::TextEdit;
use crate::fact::Observations;
use crate::fleet;
use crate::fleet::Declared;
use crate::fleet::DriverSpec;
use crate::fleet::Pool;
use crate::infer::infer;
use crate::judge;
use crate::judge::Content;
use crate::judge::Detail;
use crate::judge::Early;
use crate::judge::Hosts;
use crate::judge::Inferred;
use crate::judge::Only;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::judge::saved::Saved;
use crate::least::Images;
use crate::report::kinds::VerdictKind;
use crate::report::model;
use crate::report::observed::OnPlatform;
use crate::source::SourceText;
use crate::source::Span;
use crate::start::Doubts;
use crate::start::Route;

/// What is asked of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// The fates.
    Fates,
    /// Those where it helps.
    Help,
    /// Those on the pools that changes are sought for, and of these nothing but how it ends.
    Ends,
}

/// What a trial showed.
pub(super) struct Outcome {
    pub(super) edits: Vec<TextEdit>,
    /// Whether they name a place of which the tables do not know what lies there.
    pub(super) elsewhere: bool,
    /// What keeps it from being written.
    pub(super) by_hand: Option<&'static str>,
    pub(super) subject: Option<Subject>,
    pub(super) fates: Vec<PoolFate>,
}

impl Outcome {
    /// One that no text was edited for.
    fn told(fates: Vec<PoolFate>, subject: Option<Subject>, by_hand: Option<&'static str>) -> Self {
        Self { edits: Vec::new(), elsewhere: false, by_hand, subject, fates }
    }
}

impl Trials<'_> {
    /// Tries a wish in every way to write it, until one grants it.
    pub(super) fn wish(&mut self, case: &Case<'_>, wish: &Wish) -> Option<Outcome> {
        self.told(case, wish, Told::Fates)
    }

    /// The same for one who asks for nothing but how it ends on the pools that changes are sought for.
    pub(super) fn ends(&mut self, case: &Case<'_>, wish: &Wish) -> Option<Outcome> {
        self.told(case, wish, Told::Ends)
    }

    /// The same for one who asks for nothing where it helps on no pool: of such fates some may be left out.
    pub(super) fn help(&mut self, case: &Case<'_>, wish: &Wish) -> Option<Outcome> {
        self.told(case, wish, Told::Help)
    }

    fn told(&mut self, case: &Case<'_>, wish: &Wish, told: Told) -> Option<Outcome> {
        if let Wish::Pools(changes) = wish {
            let fates = self.pools(case, changes);
            return Some(Outcome::told(fates, None, None));
        }
        if !matches!(case.subject.content, Content::Dockerfile { .. }) {
            let seen = pretended(case, wish)?;
            if !self.take() {
                return None;
            }
            let subject = fixed(case.subject, case.before, seen);
            return Some(Outcome::told(self.judged(case, &subject, told), Some(subject), None));
        }
        let mut hindered = None;
        for Way { edits, elsewhere } in write::ways(case, wish) {
            let Some(subject) = write::written(case.subject, case.settings.sources, &edits) else { continue };
            // Each text is read once for each platform, and judged as it was seen.
            let Some(seen) = as_seen(&subject, case.before, &case.platforms, Some) else { continue };
            let observed = observed(&seen, &case.platform).filter(|seen| wish.holds(seen) && drops(case, wish, seen));
            let Some(observed) = observed.filter(|_| beside::others_exist(case, &subject)) else { continue };
            if let Some(why) = hindrance(case, wish, &edits, observed) {
                hindered.get_or_insert((seen, why));
                continue;
            }
            if !self.take() {
                return None;
            }
            let fates = self.judged(case, &seen, told);
            return Some(Outcome { edits, elsewhere, by_hand: None, subject: Some(subject), fates });
        }
        // What somebody names in a text that is not edited is changed there by hand.
        let (seen, why) = match hindered {
            Some(found) => found,
            None if is_named(case, wish) => (fixed(case.subject, case.before, pretended(case, wish)?), BY_HAND),
            None => return None,
        };
        if !self.take() {
            return None;
        }
        Some(Outcome::told(self.judged(case, &seen, told), None, Some(why)))
    }

    /// The fates on the pools that changes are sought for; with those on all others where it helps on one.
    fn judged(&self, case: &Case<'_>, subject: &Subject, told: Told) -> Vec<PoolFate> {
        let inferred = Inferred::default();
        let judged = |pools: &[String], detail| {
            let settings = Settings { pools, detail, ..case.settings };
            case.asked(|doubts| judge::judge_sharing(subject, settings, self.means.hosts, &inferred, doubts))
        };
        let runs = whole(case.before);
        let (aimed, others): (Vec<_>, Vec<_>) = runs.partition(|one| case.aim.takes(one.fate));
        let [aimed, others] =
            [aimed, others].map(|list| list.into_iter().map(|one| one.pool.clone()).collect::<Vec<String>>());
        let settings = Settings { pools: &aimed, detail: Detail::Steps, ..case.settings };
        let mut found = match told {
            Told::Ends => return fates(&judged(&aimed, Detail::Fates)),
            Told::Fates => lifted(case, &judged(&aimed, Detail::Steps)),
            Told::Help => {
                let ask = |doubts: &mut Doubts| {
                    judge::judge_with_doubts(subject, settings, self.means.hosts, &inferred, doubts)
                };
                lifted(case, &case.asked(ask))
            }
        };
        if !others.is_empty() && found.iter().any(|one| one.fate == VerdictKind::Starts || one.lifted) {
            found.extend(fates(&judged(&others, Detail::Fates)));
            let place = |pool: &str| whole(case.before).position(|one| one.pool == pool);
            found.sort_by_cached_key(|one| place(&one.pool));
        }
        found
    }

    /// What is seen, inferred for the platforms of a pool.
    pub(super) fn images(case: &Case<'_>, pool: &Pool) -> Images {
        let (subject, knowledge) = (case.fixed(), case.knowledge());
        Images::of(subject, &pool.platforms(knowledge), case.settings.as_of, knowledge)
    }

    /// The fates of these pools with their changes, and of the others as they are.
    pub(super) fn pools(&mut self, case: &Case<'_>, changes: &[(String, PoolChange)]) -> Vec<PoolFate> {
        let mut found = fates(case.before);
        let (subject, inferred) = (case.fixed(), &case.inferred);
        for (name, change) in changes {
            let Some(pool) = case.settings.fleet.pools.iter().find(|pool| pool.name.value == *name) else { continue };
            if !self.take() {
                break;
            }
            let mut pool = pool.clone();
            match change {
                PoolChange::Driver(version) => {
                    pool.driver = vec![declared(DriverSpec::Exact(*version))];
                    pool.driver_cuda = None;
                }
                PoolChange::Toolkit(version) => {
                    pool.toolkit = Some(declared(*version));
                    pool.libnvidia_container = None;
                }
                PoolChange::Mode(mode) => pool.mode = Some(declared(*mode)),
                PoolChange::Env(name, value) => pool.env.push(((*name).to_owned(), declared((*value).to_owned()))),
            }
            let fleet = alone(pool, case.settings.fleet);
            // No launch and no toolkit has every mode.
            if matches!(change, PoolChange::Mode(_))
                && fleet::check_modes(&fleet, &SourceText::new("", ""), case.knowledge()).is_err()
            {
                continue;
            }
            let settings = Settings { fleet: &fleet, pools: &[], detail: Detail::Steps, ..case.settings };
            let hosts = match (change, fleet.pools.first()) {
                (PoolChange::Driver(version), Some(pool)) => {
                    self.means.upgraded(pool, *version, settings.as_of, settings)
                }
                _ => Arc::new(Hosts::of(settings)),
            };
            let told = judge::judge_with_doubts(subject, settings, &hosts, inferred, &mut case.sought());
            for fate in lifted(case, &told) {
                if let Some(known) = found.iter_mut().find(|one| one.pool == fate.pool) {
                    *known = fate;
                }
            }
        }
        found
    }
}

/// What would be seen with a wish; none where that cannot be told.
fn pretended(case: &Case<'_>, wish: &Wish) -> Option<Observations> {
    pretend(wish, &case.seen, case.knowledge()).filter(|seen| wish.holds(seen))
}

/// Whether no compat library is left, where none is wished for.
fn drops(case: &Case<'_>, wish: &Wish, seen: &Observations) -> bool {
    let left = || infer(seen, &case.platform, case.settings.as_of, case.knowledge());
    !wish.drops_compat() || left().iter().all(|image| image.compat.known().is_none())
}

fn declared<T>(value: T) -> Declared<T> {
    Declared { value, span: Span::default() }
}

/// The subject with these observations in the place of what it consists of.
pub(super) fn fixed(subject: &Subject, before: &model::Subject, seen: Observations) -> Subject {
    let only = Some(Only::Pools(whole(before).map(|one| one.pool.clone()).collect()));
    Subject { content: Content::Fixed(Box::new(seen)), only, ..shell(subject) }
}

/// What was seen on one platform of a subject that is as it was seen.
fn observed<'a>(subject: &'a Subject, platform: &str) -> Option<&'a Observations> {
    match &subject.content {
        Content::Saved(saved) => saved.on(platform).map(|one| &one.seen),
        Content::Fixed(seen) => Some(seen),
        Content::Dockerfile { .. } | Content::ByPlatform(_) => None,
    }
}

/// A subject as it is seen for each of these platforms, with a change, where it runs; none where it cannot be seen.
pub(super) fn as_seen(
    subject: &Subject,
    before: &model::Subject,
    platforms: &[String],
    change: impl Fn(Observations) -> Option<Observations>,
) -> Option<Subject> {
    let on = |platform: &String| {
        let seen = change(judge::observations(&subject.content, platform)?)?;
        Some(OnPlatform { platform: platform.clone(), stage: None, stages: Vec::new(), notes: Vec::new(), seen })
    };
    let platforms = platforms.iter().map(on).collect::<Option<Vec<_>>>()?;
    let content = Content::Saved(Saved { dockerfile: None, platforms });
    let only = Some(Only::Pools(whole(before).map(|one| one.pool.clone()).collect()));
    Some(Subject { content, only, kind: "description", ..shell(subject) })
}

/// A subject without its content, which is the larger part of it.
pub(super) fn shell(subject: &Subject) -> Subject {
    Subject {
        name: subject.name.clone(),
        path: subject.path.clone(),
        kind: subject.kind,
        digest: subject.digest.clone(),
        images: subject.images.clone(),
        notes: Vec::new(),
        as_of: subject.as_of,
        only: subject.only.clone(),
        start: subject.start,
        named_at: None,
        content: Content::Fixed(Box::default()),
    }
}

/// What becomes of a subject, pool by pool.
pub(super) fn fates(subject: &model::Subject) -> Vec<PoolFate> {
    let fate = |verdict: &model::Verdict| PoolFate {
        pool: verdict.pool.clone(),
        fate: verdict.fate,
        outcome: verdict.outcome.clone(),
        lifted: false,
        compiled: verdict.route.as_deref() == Some(Route::Jit.name()),
        minor: verdict.route.as_deref() == Some(Route::MinorVersion.name()),
    };
    whole(subject).map(fate).collect()
}

/// The fates of a subject that is judged step by step, and where what stopped it is gone and nothing is certain instead
/// of it.
fn lifted(case: &Case<'_>, told: &model::Subject) -> Vec<PoolFate> {
    let mut found = fates(told);
    let was = |pool: &str| whole(case.before).any(|one| one.pool == pool && case.aim.takes(one.fate));
    let open = |one: &PoolFate| Aim::Open.takes(one.fate) && was(&one.pool);
    for one in &mut found {
        let verdict = whole(told).find(|told| told.pool == one.pool);
        one.lifted = open(one) && verdict.is_some_and(|verdict| case.is_gone(verdict, told));
    }
    found
}

/// A subject of which the files that it asks for are read once, however many texts of it are tried.
pub(super) fn keeping(subject: &Subject) -> Subject {
    let content = match subject.content.clone() {
        Content::Dockerfile { source, dockerfile, options, files, bases, early } => {
            Content::Dockerfile { source, dockerfile, options, files: files.keeping(), bases, early }
        }
        content @ (Content::Fixed(_) | Content::ByPlatform(_) | Content::Saved(_)) => content,
    };
    Subject { content, ..shell(subject) }
}

/// The content of a Dockerfile with another text.
pub(super) fn content(subject: &Subject, dockerfile: OnDemand, files: crate::context::Files) -> Option<Subject> {
    let Content::Dockerfile { source, options, bases, .. } = &subject.content else { return None };
    let (source, options, bases, early) = (*source, options.clone(), Arc::clone(bases), Early::default());
    let content = Content::Dockerfile { source, dockerfile, options, files, bases, early };
    Some(Subject { content, ..shell(subject) })
}
