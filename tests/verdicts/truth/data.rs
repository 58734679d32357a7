//! The files of `tests/verdicts/truth`: reports, what counts as right, and which reports their facts decide.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reports {
    report: Vec<Report>,
}

/// What one report states.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    pub(crate) id: String,
    pub(crate) url: Option<String>,
    pub(crate) date: Option<toml::value::Datetime>,
    /// Reports of one thread.
    pub(crate) group: String,
    pub(crate) outcome: String,
    pub(crate) code: Option<u16>,
    /// Facts that no field says.
    #[serde(default)]
    pub(crate) stated: Vec<String>,
    #[serde(default)]
    pub(crate) image: Image,
    #[serde(default)]
    pub(crate) host: Host,
}

/// The image side, as stated.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Image {
    #[serde(rename = "ref")]
    pub(crate) reference: Option<String>,
    pub(crate) from: Option<String>,
    pub(crate) cuda_runtime: Option<String>,
    pub(crate) platform: Option<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) pip: BTreeMap<String, String>,
    pub(crate) conda: BTreeMap<String, String>,
    pub(crate) apt: BTreeMap<String, String>,
    /// The component that `sass` and `ptx` are of.
    pub(crate) code_of: Option<String>,
    pub(crate) sass: Vec<String>,
    pub(crate) ptx: Option<Vec<String>>,
    pub(crate) compat_libcuda: Option<String>,
    pub(crate) baked_libcuda: Option<String>,
    /// The folder of the system's libraries, if it is not that of Debian.
    pub(crate) library_folder: Option<String>,
}

/// The host side, as stated.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Host {
    pub(crate) gpu: Vec<String>,
    pub(crate) brand: Option<String>,
    pub(crate) compute_capability: Option<String>,
    pub(crate) driver: Option<String>,
    pub(crate) driver_cuda: Option<String>,
    pub(crate) libnvidia_container: Option<String>,
    pub(crate) runtime: Option<String>,
    pub(crate) arch: Option<String>,
    pub(crate) env: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Outcomes {
    outcome: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    name: String,
    right: Vec<String>,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decisions {
    decidable: Vec<Decided>,
    undecidable: Vec<Open>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decided {
    id: String,
    why: String,
    right: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    id: String,
    missing: String,
    right: Option<Vec<String>>,
}

/// A report with what is right for it.
pub(crate) struct Case {
    pub(crate) report: Report,
    pub(crate) decidable: bool,
    /// Ends that count as right.
    pub(crate) right: Vec<String>,
}

fn read<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verdicts/truth").join(name);
    let text = fs::read_to_string(&path).expect("readable");
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every report; panics where the three files do not fit together.
pub(crate) fn cases() -> Vec<Case> {
    let outcomes: Outcomes = read("outcomes.toml");
    let mut right: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for rule in outcomes.outcome {
        assert!(!rule.right.is_empty() && !rule.why.is_empty(), "{} says nothing", rule.name);
        assert!(right.insert(rule.name.clone(), rule.right).is_none(), "{} is there twice", rule.name);
    }
    let decisions: Decisions = read("decidable.toml");
    let decided = decisions.decidable.into_iter().map(|one| (one.id, true, one.why, one.right));
    let open = decisions.undecidable.into_iter().map(|one| (one.id, false, one.missing, one.right));
    let mut decisions: BTreeMap<String, (bool, Option<Vec<String>>)> = BTreeMap::new();
    for (id, decidable, reason, right) in decided.chain(open) {
        assert!(!reason.is_empty(), "{id} has no reason");
        assert!(decisions.insert(id.clone(), (decidable, right)).is_none(), "{id} is decided twice");
    }
    let mut cases = Vec::new();
    for report in read::<Reports>("reports.toml").report {
        let of_outcome = right.get(&report.outcome).unwrap_or_else(|| panic!("{}: outcome unmapped", report.id));
        let (decidable, own) = decisions.remove(&report.id).unwrap_or_else(|| panic!("{}: not decided", report.id));
        let right = own.unwrap_or_else(|| of_outcome.clone());
        cases.push(Case { report, decidable, right });
    }
    assert!(decisions.is_empty(), "decided, but not reported: {:?}", decisions.keys());
    cases
}
