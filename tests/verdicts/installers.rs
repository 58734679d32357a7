//! The resolver against pip and uv: generated indexes and commands, with the answers of the real programs.
//!
//! `tests/installers/run` generates the cases and asks the programs.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::GzDecoder;
use imagelint::model::cause::Cause;
use imagelint::model::package::{ExactVersion, PackageName};
use imagelint::resolve::{
    Catalog, DependencySpecifier, InstallRequest, InstallerPolicy, Release, Resolution, Selection, UpgradePolicy,
    resolve,
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
    fn releases(&self, name: &PackageName) -> Result<Vec<Release>, Cause> {
        let releases = self.index.get(name.as_str()).into_iter().flatten();
        Ok(releases
            .map(|(version, release)| Release { yanked: release.yanked, ..Release::new(version.as_str()) })
            .collect())
    }

    fn requirements(
        &self,
        name: &PackageName,
        version: &ExactVersion,
        extras: &[PackageName],
    ) -> Result<Vec<DependencySpecifier>, Cause> {
        let release = &self.index[name.as_str()][version.as_str()];
        let applies = |one: &&RequirementText| {
            one.extra.as_deref().is_none_or(|extra| extras.iter().any(|own| own.as_str() == extra))
        };
        Ok(release.requires.iter().filter(applies).map(RequirementText::requirement).collect())
    }
}

impl Case {
    /// Returns what the resolver says; `Err` if it does not know.
    fn resolve(&self, policy: InstallerPolicy) -> Result<Answer, Cause> {
        let installed: BTreeMap<PackageName, ExactVersion> = self
            .installed
            .iter()
            .map(|(name, version)| (PackageName::python(name), ExactVersion::from(version.as_str())))
            .collect();
        let all = |texts: &[RequirementText]| texts.iter().map(RequirementText::requirement).collect();
        let request = InstallRequest {
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
            installed: installed.iter().map(|(name, version)| (name.clone(), version)).collect(),
        };
        match resolve(&request, self, policy) {
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
            Resolution::Impossible => Ok(None),
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
