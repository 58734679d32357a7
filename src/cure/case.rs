//! What candidates are made from: the subject, what was seen of it, and where it fails.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::fact::Component;
use crate::fact::FactKey;
use crate::fact::ImageFacts;
use crate::fact::Observations;
use crate::fact::Role;
use crate::fact::State;
use crate::fact::Value;
use crate::fleet::Pool;
use crate::infer::infer;
use crate::judge;
use crate::judge::Detail;
use crate::judge::Hosts;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::report::model;

/// One subject that fails somewhere.
pub(super) struct Case<'a> {
    pub(super) subject: &'a Subject,
    pub(super) settings: Settings<'a>,
    pub(super) before: &'a model::Subject,
    /// What was seen for the platform of the first pool that it fails on.
    pub(super) seen: Observations,
    pub(super) image: ImageFacts,
    /// `linux/amd64`.
    pub(super) platform: String,
    /// Architectures of the pools that it fails on.
    pub(super) archs: Vec<String>,
    /// The steps that stop it, by the pools that it fails on.
    walls: BTreeMap<String, BTreeSet<String>>,
    /// The facts that are not known of it as it is.
    open: BTreeSet<String>,
}

impl<'a> Case<'a> {
    /// None where it fails nowhere, or nothing was seen of it.
    pub(super) fn of(
        subject: &'a Subject,
        before: &'a model::Subject,
        settings: Settings<'a>,
        hosts: &Hosts,
    ) -> Option<Self> {
        let knowledge = settings.knowledge;
        let failing: Vec<&Pool> = settings
            .fleet
            .pools
            .iter()
            .filter(|pool| whole(before).any(|one| one.pool == pool.name.value && one.fate == "fails"))
            .collect();
        let mut platforms: Vec<String> = failing.iter().flat_map(|pool| pool.platforms(knowledge)).collect();
        platforms.dedup();
        let platform = platforms.first()?.clone();
        let mut archs: Vec<String> =
            platforms.iter().filter_map(|one| one.split('/').nth(1).map(str::to_owned)).collect();
        archs.sort();
        archs.dedup();
        let seen = judge::observations(&subject.content, &platform)?;
        let image = infer(&seen, &platform, settings.as_of, knowledge).into_iter().find(|image| image.gpu_content)?;
        let told = judge::judge_on(subject, Settings { detail: Detail::Everything, ..settings }, hosts);
        let stops = |verdict: &model::Verdict| {
            let steps = verdict.scenarios.iter().flat_map(|scenario| &scenario.steps);
            let steps = steps.filter(|step| step.result == "stops").map(|step| step.step.clone());
            (verdict.pool.clone(), steps.collect())
        };
        let walls = whole(&told).filter(|one| one.fate == "fails").map(stops).collect();
        let open = told.facts.iter().filter(|fact| fact.state == "unknown").map(|fact| fact.key.clone()).collect();
        Some(Self { subject, settings, before, seen, image, platform, archs, walls, open })
    }

    /// The steps that stop it on a pool that it fails on.
    pub(super) fn walls(&self, pool: &str) -> Option<&BTreeSet<String>> {
        self.walls.get(pool).filter(|walls| !walls.is_empty())
    }

    /// Whether a step cannot be told for what was not known before the change either.
    pub(super) fn was_open(&self, step: &model::Step, told: &model::Subject) -> bool {
        let unknown = |id: &&String| told.facts.iter().find(|fact| fact.id == **id && fact.state == "unknown");
        let mut keys = step.facts.iter().filter_map(|id| unknown(&id)).map(|fact| &fact.key).peekable();
        keys.peek().is_some() && keys.all(|key| self.open.contains(key))
    }

    pub(super) fn knowledge(&self) -> Knowledge {
        self.settings.knowledge
    }

    /// The pools of the fleet that it fails on.
    pub(super) fn failing(&self) -> impl Iterator<Item = &'a Pool> {
        let before = self.before;
        let fails = move |pool: &&Pool| whole(before).any(|one| one.pool == pool.name.value && one.fate == "fails");
        self.settings.fleet.pools.iter().filter(fails)
    }

    /// Whether it fails so on some pool.
    pub(super) fn ends(&self, outcome: &str) -> bool {
        whole(self.before).any(|one| one.outcome.as_deref() == Some(outcome))
    }

    /// Core components, those that the image is there to run.
    pub(super) fn core(&self) -> impl Iterator<Item = &Component> {
        self.image.components.iter().filter(|one| one.role == Role::Core)
    }

    /// The last fact of a component.
    pub(super) fn told(&self, key: FactKey, of: &str) -> Option<String> {
        let of_it = self.image.facts.iter().filter(|(_, entry)| entry.key == key && entry.of.as_deref() == Some(of));
        match &of_it.last()?.1.state {
            State::Known(Value::Text(text)) => Some(text.clone()),
            State::Known(value) => Some(value.to_string()),
            State::Absent { .. } | State::Unknown(_) => None,
        }
    }
}

/// The verdicts of a subject as a whole.
pub(super) fn whole(subject: &model::Subject) -> impl Iterator<Item = &model::Verdict> {
    subject.verdicts.iter().filter(|one| one.component.is_none())
}
