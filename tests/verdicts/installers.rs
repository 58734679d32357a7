//! The resolver against pip and uv: generated indexes and commands, with the answers of the real programs.
//!
//! `tests/installers/run` generates the cases and asks the programs.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::GzDecoder;
use imagelint::model::cause::Cause;
use imagelint::model::package::{ExactVersion, PackageName};
use imagelint::resolve::{
    Catalog, DependencySpecifier, InstallRequest, InstallerPolicy, Release, Releases, Resolution, Selection,
    UpgradePolicy, resolve,
};
use serde::Deserialize;

/// The share of cases for which the resolver may say that it does not know.
const MAX_UNKNOWN: f64 = 0.05;

/// The packages that a program installs; `None` if it finds no solution.
type Answer = Option<BTreeMap<String, String>>;

#[derive(Deserialize)]
struct Vectors {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    seed: u64,
    index: BTreeMap<String, BTreeMap<String, IndexRelease>>,
    installed: BTreeMap<String, String>,
    command: Command,
    pip: BTreeMap<String, Answer>,
    #[serde(default, deserialize_with = "present")]
    uv: Option<Answer>,
}

/// Distinguishes `null`, which is an answer, from a missing field.
fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Answer>, D::Error> {
    Answer::deserialize(value).map(Some)
}

#[derive(Deserialize)]
struct IndexRelease {
    requires: Vec<RequirementText>,
    yanked: bool,
}

#[derive(Deserialize)]
struct RequirementText {
    name: String,
    extras: Vec<String>,
    range: String,
    #[serde(default)]
    extra: Option<String>,
}

#[derive(Deserialize)]
struct Command {
    requirements: Vec<RequirementText>,
    constraints: Vec<RequirementText>,
    upgrade: String,
    no_deps: bool,
    prereleases: bool,
}

impl RequirementText {
    fn requirement(&self) -> DependencySpecifier {
        let extras = self.extras.iter().map(|extra| PackageName::python(extra)).collect();
        DependencySpecifier { extras, ..DependencySpecifier::new(PackageName::python(&self.name), self.range.as_str()) }
    }
}

impl Catalog for Case {
    fn releases(&self, name: &PackageName) -> Releases {
        let releases = self.index.get(name.as_str()).into_iter().flatten();
        let release = |(version, release): (&String, &IndexRelease)| Release {
            yanked: release.yanked,
            ..Release::new(version.as_str())
        };
        Releases::complete(releases.map(release).collect())
    }

    fn requirements(
        &self,
        name: &PackageName,
        version: Option<&ExactVersion>,
        extras: &[PackageName],
    ) -> Vec<DependencySpecifier> {
        let Some(version) = version else { return Vec::new() };
        let release = &self.index[name.as_str()][version.as_str()];
        let applies = |one: &&RequirementText| {
            one.extra.as_deref().is_none_or(|extra| extras.iter().any(|own| own.as_str() == extra))
        };
        release.requires.iter().filter(applies).map(RequirementText::requirement).collect()
    }
}

impl Case {
    /// Returns the command of the case.
    fn request(&self) -> InstallRequest {
        let installed: BTreeMap<PackageName, ExactVersion> = self
            .installed
            .iter()
            .map(|(name, version)| (PackageName::python(name), ExactVersion::from(version.as_str())))
            .collect();
        let all = |texts: &[RequirementText]| texts.iter().map(RequirementText::requirement).collect();
        InstallRequest {
            requirements: all(&self.command.requirements),
            constraints: all(&self.command.constraints),
            upgrade: match self.command.upgrade.as_str() {
                "never" => UpgradePolicy::Never,
                "named" => UpgradePolicy::Named,
                "all" => UpgradePolicy::All,
                other => panic!("upgrade {other}"),
            },
            no_deps: self.command.no_deps,
            prereleases: self.command.prereleases,
            installed,
        }
    }

    /// Returns what the resolver says; `Err` if it does not know.
    fn resolve(&self, policy: InstallerPolicy) -> Result<Answer, Cause> {
        match resolve(&self.request(), self, policy) {
            Resolution::Selected(selections) => {
                let mut answer = BTreeMap::new();
                for (name, selection) in selections {
                    match selection {
                        Selection::Installed(_) => {}
                        Selection::Release(version) => drop(answer.insert(name.to_string(), version.to_string())),
                        Selection::Unknown(cause) => return Err(cause),
                    }
                }
                Ok(Some(answer))
            }
            Resolution::Impossible(_) => Ok(None),
            Resolution::Unknown(cause) => Err(cause),
        }
    }
}

fn vectors() -> Vectors {
    let packed = std::fs::read("tests/vectors/installers.json.gz").expect("the vectors");
    let mut text = String::new();
    GzDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("gzip");
    serde_json::from_str(&text).expect("the vectors")
}

/// Checks the answers to all cases: equal, or unknown in at most 5 %.
fn check(policy: InstallerPolicy, expected: impl Fn(&Case) -> Option<Vec<&Answer>>) {
    let vectors = vectors();
    let (mut asked, mut unknown, mut wrong) = (0, 0, Vec::new());
    for case in &vectors.cases {
        let Some(answers) = expected(case) else { continue };
        asked += 1;
        match case.resolve(policy) {
            Err(_) => unknown += 1,
            Ok(own) if answers.iter().all(|answer| **answer == own) => {}
            Ok(own) => wrong.push(format!("case {}: {own:?} instead of {answers:?}", case.seed)),
        }
    }
    assert!(asked >= 300, "only {asked} cases");
    assert!(wrong.is_empty(), "{} of {asked} wrong, {unknown} unknown\n{}", wrong.len(), wrong.join("\n"));
    let share = f64::from(unknown) / f64::from(asked);
    assert!(share <= MAX_UNKNOWN, "{unknown} of {asked} unknown");
}

#[test]
fn the_resolver_selects_what_pip_selects() {
    check(InstallerPolicy::Pip, |case| Some(case.pip.values().collect()));
}

#[test]
fn the_resolver_selects_what_uv_selects() {
    check(InstallerPolicy::Uv, |case| case.uv.as_ref().map(|answer| vec![answer]));
}

/// A case in which the list of one distribution is hidden.
struct HiddenList<'a> {
    case: &'a Case,
    hidden: &'a str,
}

impl Catalog for HiddenList<'_> {
    fn releases(&self, name: &PackageName) -> Releases {
        if name.as_str() == self.hidden {
            return Releases::unlisted(Cause::TorchRequirement { package: self.hidden.to_owned() });
        }
        self.case.releases(name)
    }

    fn requirements(
        &self,
        name: &PackageName,
        version: Option<&ExactVersion>,
        extras: &[PackageName],
    ) -> Vec<DependencySpecifier> {
        if name.as_str() == self.hidden { Vec::new() } else { self.case.requirements(name, version, extras) }
    }
}

/// Without the list of a distribution that requires nothing, its own version is unknown. Ranges that exclude each other
/// are still a conflict, and the other selections stay, unless the distribution lacks a release in a range.
#[test]
fn a_hidden_list_makes_only_its_distribution_unknown() {
    let vectors = vectors();
    let (mut asked, mut alike, mut wrong) = (0, 0, Vec::new());
    for case in &vectors.cases {
        let answers = case.pip.values().map(|answer| (InstallerPolicy::Pip, answer));
        for (policy, answer) in answers.chain(case.uv.as_ref().map(|answer| (InstallerPolicy::Uv, answer))) {
            let is_leaf = |(_, releases): &(_, &BTreeMap<String, IndexRelease>)| {
                releases.values().all(|one| one.requires.is_empty())
            };
            for (hidden, _) in case.index.iter().filter(is_leaf) {
                let Resolution::Selected(selections) = resolve(&case.request(), &HiddenList { case, hidden }, policy)
                else {
                    if answer.is_some() && case.resolve(policy).is_ok() {
                        wrong.push(format!("case {} without {hidden}: no selection", case.seed));
                    }
                    continue;
                };
                asked += 1;
                if let Some(Selection::Release(version)) = selections.get(&PackageName::python(hidden)) {
                    wrong.push(format!("case {}: {hidden} {version} by no list", case.seed));
                }
                let is_same = |(name, selection): (&PackageName, &Selection)| match selection {
                    Selection::Release(version) => {
                        answer.as_ref().and_then(|answer| answer.get(name.as_str())) == Some(&version.to_string())
                    }
                    Selection::Installed(_) => {
                        answer.as_ref().is_some_and(|answer| !answer.contains_key(name.as_str()))
                    }
                    Selection::Unknown(_) => name.as_str() == hidden,
                };
                alike += u32::from(selections.iter().all(is_same));
            }
        }
    }
    assert!(asked >= 1_000, "only {asked} cases");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    let share = f64::from(alike) / f64::from(asked);
    assert!(share >= 0.9, "{alike} of {asked} alike");
}
