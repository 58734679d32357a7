//! The cases of `tests/cases`: an input and what is expected of it.
//!
//! A case can expect the verdict on some pools (`fate`), facts and packages (`facts`, `absent`, `packages`, `notes`), all
//! findings (`findings`), or a finding of one rule (`rule`). A case that expects none of them is refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The fleet of the cases that expect only facts, which do not depend on a pool. More pools take more time.
pub(crate) const ANY_POOL: &str = "[[pool]]\nname = \"any\"\ngpu = \"A100\"\ndriver = \"570.86.15\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";

/// All cases, and the images that they share.
#[derive(Debug, Default)]
pub(crate) struct Cases {
    /// Image descriptions by name.
    pub(crate) images: BTreeMap<String, String>,
    pub(crate) cases: Vec<Case>,
}

/// One file of the folder.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CaseFile {
    /// Fleets by name. Every file can use them.
    fleets: BTreeMap<String, String>,
    /// Image descriptions by name. Every file can use them.
    images: BTreeMap<String, String>,
    /// Files of build contexts by name: the text of each file by its path. The cases of this file can use them.
    contexts: BTreeMap<String, BTreeMap<String, String>>,
    case: Vec<Case>,
}

/// One case. A field that it leaves out is not compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// Unique.
    pub(crate) name: String,
    /// The path of its file in `tests/cases`, without `.toml`.
    #[serde(skip)]
    pub(crate) source: String,

    // The input: exactly one of these.
    /// The text of a Dockerfile.
    pub(crate) dockerfile: Option<String>,
    /// The text of an image description, or its name in `images`.
    pub(crate) image: Option<String>,
    /// The path of a file in the repository.
    pub(crate) input: Option<String>,

    /// The file name of `dockerfile`, if it is not `Dockerfile`.
    pub(crate) file: Option<String>,
    /// The name of a set of files in `contexts`.
    pub(crate) context: Option<String>,
    /// Files of the build context by their paths, in addition to those of `context`: the text of each, or its path in
    /// `tests/fixtures`.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    /// The folder of `files` that is the build context. Without it, the folder of the Dockerfile.
    pub(crate) context_folder: Option<String>,
    /// The deciding part of the input that an image description cannot express.
    pub(crate) not_described: Option<String>,

    // The arguments.
    /// The text of a fleet file, its path in the repository, or its name in `fleets`. Without it, the
    /// built-in fleet, or `ANY_POOL` for a case that expects only facts.
    pub(crate) fleet: Option<String>,
    /// Without it, `pedantic` for `rule`, and the default of the program for all others.
    pub(crate) persona: Option<String>,
    pub(crate) as_of: Option<String>,
    /// The build platform. Without it, `linux/amd64` for a case without pools, and the platform of each pool for all others.
    pub(crate) platform: Option<String>,
    #[serde(default)]
    pub(crate) pools: Vec<String>,

    // The verdict, the same on each pool.
    pub(crate) fate: Option<String>,
    /// The component of the verdict. Without it, the verdict of the image.
    pub(crate) component: Option<String>,
    pub(crate) outcome: Option<String>,
    pub(crate) reason: Option<String>,
    /// The certain error code.
    pub(crate) certain: Option<u64>,
    /// The possible error codes.
    pub(crate) possible: Option<Vec<u64>>,
    pub(crate) route: Option<String>,
    /// The first step that stops, in every failing scenario.
    pub(crate) step: Option<String>,
    /// The first part of the key of a fact that the step depends on, or `pool.<field>`.
    pub(crate) fact: Option<String>,
    /// The first parts of keys that the verdict lists as missing.
    #[serde(default)]
    pub(crate) missing: Vec<String>,
    /// What the verdict lists as not inspected.
    pub(crate) not_inspected: Option<Vec<String>>,

    // The facts and packages of the report.
    /// Values by the keys of facts, such as `"torch.version" = "2.4.0"`: `?` for an unknown one, `-` for an absent one.
    #[serde(default)]
    pub(crate) facts: BTreeMap<String, String>,
    /// Components without a verdict, because the image does not contain them.
    #[serde(default)]
    pub(crate) absent: Vec<String>,
    /// All components with a verdict, in any order. An empty list: none.
    pub(crate) components: Option<Vec<String>>,
    /// All packages that the Dockerfile installs, in any order: the name with its version or range, `=?` for an unknown
    /// version, the build that the index selects in brackets, and `?` for a package that may not be installed. An example is
    /// `torch==2.4.0[cu118]?`.
    pub(crate) packages: Option<Vec<String>>,
    /// Without it, `packages` is compared with all packages, else with those whose names begin with one of these texts.
    #[serde(default)]
    pub(crate) package_names: Vec<String>,
    /// All notes on files and commands that were not read. An empty list: no note; this is the default with `packages`. `…`
    /// at an end stands for any text.
    pub(crate) notes: Option<Vec<String>>,

    // The findings.
    /// All findings, in any order: `rule@line`, or `rule@path:line` in another file than the input. An empty list: no
    /// finding.
    pub(crate) findings: Option<Vec<String>>,

    // A finding of one rule.
    pub(crate) rule: Option<String>,
    /// The link on the page of the rule that reports the problem.
    pub(crate) link: Option<String>,
    /// Facts of the link that no other field has, in a few words.
    #[serde(default)]
    pub(crate) stated: Vec<String>,
    /// The line of the finding in the input.
    pub(crate) line: Option<u64>,
    /// A part of its message.
    pub(crate) message: Option<String>,
    /// Near misses: a text of the input or the fleet, and its replacement. The rule has no finding then.
    #[serde(default)]
    pub(crate) near: Vec<[String; 2]>,
}

impl Case {
    /// The text of the input, if the case contains it.
    pub(crate) fn text(&self) -> Option<&str> {
        self.dockerfile.as_deref().or(self.image.as_deref())
    }

    /// The file name of the text.
    pub(crate) fn file_name(&self) -> &str {
        match (&self.file, &self.dockerfile) {
            (Some(name), _) => name,
            (None, Some(_)) => "Dockerfile",
            (None, None) => "case.image.toml",
        }
    }

    /// The arguments of the program, without fleet and persona.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let platform = self.platform.as_deref().or((!self.expects_more_than_facts()).then_some("linux/amd64"));
        let options = [("--as-of", self.as_of.as_deref()), ("--platform", platform)].into_iter();
        let options = options.filter_map(|(option, value)| Some((option, value?)));
        let pools = self.pools.iter().map(|pool| ("--pool", pool.as_str()));
        options.chain(pools).flat_map(|(option, value)| [option, value]).map(str::to_owned).collect()
    }

    /// Whether it expects a verdict or a finding.
    pub(crate) fn expects_more_than_facts(&self) -> bool {
        self.fate.is_some() || self.findings.is_some() || self.rule.is_some()
    }

    /// Whether it expects facts or packages.
    pub(crate) fn expects_facts(&self) -> bool {
        !self.facts.is_empty()
            || !self.absent.is_empty()
            || self.components.is_some()
            || self.packages.is_some()
            || self.notes.is_some()
    }

    /// The reason why it is not a case.
    fn fault(&self) -> Option<&'static str> {
        let inputs = [&self.dockerfile, &self.image, &self.input].into_iter().flatten().count();
        let verdict = [&self.component, &self.outcome, &self.reason, &self.route, &self.step, &self.fact];
        let other_verdict = self.certain.is_some() || self.possible.is_some() || self.not_inspected.is_some();
        let has_verdict = verdict.into_iter().any(Option::is_some) || other_verdict || !self.missing.is_empty();
        let has_finding = self.link.is_some() || self.message.is_some() || self.line.is_some();
        let faults = [
            (inputs != 1, "it needs exactly one of `dockerfile`, `image` and `input`"),
            (self.file.is_some() && self.dockerfile.is_none(), "`file` needs `dockerfile`"),
            (!self.expects_more_than_facts() && !self.expects_facts(), "it expects no verdict, no fact and no finding"),
            (self.fate.is_some() && self.pools.is_empty(), "`fate` needs `pools`"),
            (self.fate.is_none() && has_verdict, "a part of a verdict needs `fate`"),
            (self.fate.is_none() && self.input.is_some(), "without `fate` it needs the text of the input"),
            (!self.package_names.is_empty() && self.packages.is_none(), "`package_names` needs `packages`"),
            (!self.files.is_empty() && self.dockerfile.is_none(), "`files` and `context` need `dockerfile`"),
            (self.context_folder.is_some() && self.files.is_empty(), "`context_folder` needs `files`"),
            (self.rule.is_some() && self.message.is_none(), "`rule` needs `message`"),
            (self.rule.is_none() && (has_finding || !self.near.is_empty()), "a part of a finding needs `rule`"),
            (self.link.is_none() && !self.stated.is_empty(), "`stated` needs `link`"),
        ];
        faults.into_iter().find_map(|(fault, what)| fault.then_some(what))
    }
}

impl Cases {
    /// The cases of `tests/cases`. Names of fleets and images are replaced by the text.
    pub(crate) fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = root.join("tests/cases");
        let text = |path: PathBuf| {
            let name = path.strip_prefix(&folder).expect("inside").with_extension("");
            (name.to_string_lossy().into_owned(), fs::read_to_string(&path).expect("readable"))
        };
        let mut cases = Self::of(files_below(&folder).into_iter().map(text)).unwrap_or_else(|fault| panic!("{fault}"));
        for case in &mut cases.cases {
            if let Some(fleet) = case.fleet.as_mut().filter(|fleet| !fleet.contains("[[pool]]")) {
                *fleet = fs::read_to_string(root.join(&*fleet))
                    .unwrap_or_else(|error| panic!("{}: fleet {fleet}: {error}", case.name));
            }
            for text in case.files.values_mut().filter(|text| text.starts_with("tests/fixtures/")) {
                *text = fs::read_to_string(root.join(&*text))
                    .unwrap_or_else(|error| panic!("{}: file {text}: {error}", case.name));
            }
        }
        cases
    }

    /// The cases of some files, each with its name and text, or the first fault.
    pub(crate) fn of(files: impl IntoIterator<Item = (String, String)>) -> Result<Self, String> {
        let (mut all, mut fleets, mut names) = (Self::default(), BTreeMap::new(), BTreeMap::new());
        for (source, text) in files {
            let file: CaseFile = toml::from_str(&text).map_err(|error| format!("{source}.toml: {error}"))?;
            add(&mut fleets, file.fleets, &source)?;
            add(&mut all.images, file.images, &source)?;
            for mut case in file.case {
                if let Some(other) = names.insert(case.name.clone(), source.clone()) {
                    return Err(format!("{source}.toml: `{}`: {other}.toml has a case with this name", case.name));
                }
                if let Some(name) = &case.context {
                    let Some(context) = file.contexts.get(name) else {
                        return Err(format!("{source}.toml: `{}`: no context has the name `{name}`", case.name));
                    };
                    for (path, text) in context {
                        case.files.entry(path.clone()).or_insert_with(|| text.clone());
                    }
                }
                if let Some(fault) = case.fault() {
                    return Err(format!("{source}.toml: `{}`: {fault}", case.name));
                }
                case.source.clone_from(&source);
                all.cases.push(case);
            }
        }
        for case in &mut all.cases {
            for (field, shared) in [(&mut case.fleet, &fleets), (&mut case.image, &all.images)] {
                if let Some(text) = field.as_ref().and_then(|name| shared.get(name)) {
                    *field = Some(text.clone());
                }
            }
        }
        Ok(all)
    }
}

/// Adds the fleets or images of a file to those of the others.
fn add(all: &mut BTreeMap<String, String>, own: BTreeMap<String, String>, source: &str) -> Result<(), String> {
    for (name, text) in own {
        if all.contains_key(&name) {
            return Err(format!("{source}.toml: another file defines `{name}`, too"));
        }
        all.insert(name, text);
    }
    Ok(())
}

/// Writes the files of a build context into a folder, which it creates.
pub(crate) fn write_files(folder: &Path, files: &BTreeMap<String, String>) {
    fs::create_dir_all(folder).expect("a folder");
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("written");
    }
}

/// The files of a folder and of the folders in it, sorted.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}
