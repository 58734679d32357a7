//! The cases of the repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use imagelint::rules::{ExampleInput, RuleBook};

use crate::case::{self, files_below};
use crate::truth::{data, mapper};

/// One run of the program.
pub(crate) struct Case {
    /// Unique.
    pub(crate) name: String,
    /// The file to check, by its path in the folder.
    pub(crate) input: String,
    /// Where to run.
    pub(crate) folder: Folder,
    /// The text of the fleet file.
    pub(crate) fleet: String,
    pub(crate) arguments: Vec<String>,
    /// Whether its files are other people's.
    pub(crate) strangers: bool,
}

/// A folder to run in.
pub(crate) enum Folder {
    /// A new one, with the text of the input and other files.
    New(String, BTreeMap<String, String>),
    /// One that exists.
    Existing(PathBuf),
}

/// Four generations of GPUs, on drivers from 470 to 580, with each launch method that people use.
pub(crate) const FLEET: &str = r#"[[pool]]
name = "t4"
gpu = "T4"
driver = "470.57.02"
launch = "kubernetes"

[[pool]]
name = "a100"
gpu = "A100"
driver = "535.161.08"
launch = "docker-gpus"
toolkit = "1.17.8"

[[pool]]
name = "h100"
gpu = "H100"
driver = "550.54.15"
launch = "kubernetes"
toolkit = "1.17.8"

[[pool]]
name = "b200"
gpu = "B200"
driver = "580.65.06"
launch = "enroot"
"#;

/// The fleet of the program for users without one.
const BUILT_IN_FLEET: &str = include_str!("../../rules/reference-fleet.toml");

/// Every case of `tests/cases`, rule example, public report, example and fixture.
pub(crate) fn committed() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = cases(root);
    all.extend(rule_examples());
    all.extend(reports());
    all.extend(fixtures(root));
    all
}

fn case(name: String, input: &str, text: &str, fleet: &str) -> Case {
    let (folder, arguments) = (Folder::New(text.to_owned(), BTreeMap::new()), Vec::new());
    Case { name, input: input.to_owned(), folder, fleet: fleet.to_owned(), arguments, strangers: false }
}

/// The cases of `tests/cases`. The name of one does not depend on the others.
fn cases(root: &Path) -> Vec<Case> {
    let of = |one: case::Case| {
        let name = format!("cases/{}: {}", one.source, one.name);
        let default = match (&one.fate, one.expects_more_than_facts()) {
            (Some(_), _) => BUILT_IN_FLEET,
            (None, true) => FLEET,
            (None, false) => case::ANY_POOL,
        };
        let fleet = one.fleet.as_deref().unwrap_or(default);
        let mut found = case(name, one.file_name(), one.text().unwrap_or_default(), fleet);
        found.arguments = one.arguments();
        let context = one.context_folder.iter().flat_map(|folder| ["--context", folder.as_str()]);
        found.arguments.extend(context.map(str::to_owned));
        if let Folder::New(_, files) = &mut found.folder {
            files.clone_from(&one.files);
        }
        if let Some(path) = &one.input {
            found.input.clone_from(path);
            found.folder = Folder::Existing(root.to_owned());
        }
        if one.rule.is_some() {
            found.arguments.push("--preview".to_owned());
        }
        let all_findings = one.rule.is_some() || one.findings.is_some();
        let persona = if all_findings { Some("pedantic".to_owned()) } else { one.persona };
        found.arguments.extend(persona.into_iter().flat_map(|persona| ["--persona".to_owned(), persona]));
        found
    };
    case::Cases::read().cases.into_iter().map(of).collect()
}

fn rule_examples() -> Vec<Case> {
    let book = RuleBook::built_in().clone().with_preview();
    let mut found = Vec::new();
    for page in book.pages() {
        for (at, example) in page.examples.iter().enumerate() {
            let (text, input) = match &example.input {
                ExampleInput::Dockerfile(text) => (text, "Dockerfile"),
                ExampleInput::Image(text) => (text, "case.image.toml"),
            };
            let name = format!("rules/{} {at}: {}", page.name, example.title);
            let mut case = case(name, input, text, example.fleet.as_deref().unwrap_or(FLEET));
            case.arguments = ["--preview", "--persona", "pedantic"].map(str::to_owned).to_vec();
            found.push(case);
        }
    }
    found
}

fn reports() -> Vec<Case> {
    let of = |report: &data::Report| {
        case(format!("reports/{}", report.id), "report.image.toml", &mapper::image(report), &mapper::fleet(report))
    };
    data::cases().iter().map(|one| of(&one.report)).collect()
}

/// Whether a file of the repository is an input.
pub(crate) fn is_input(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let file = lower.rsplit('/').next().unwrap_or_default();
    file.contains("dockerfile") && ![".md", ".json", ".dockerignore"].iter().any(|end| file.ends_with(end))
        || file.ends_with(".image.toml")
}

fn fixtures(root: &Path) -> Vec<Case> {
    let mut found = Vec::new();
    for folder in ["examples", "tests/fixtures"] {
        for path in files_below(&root.join(folder)) {
            let name = path.strip_prefix(root).expect("inside").to_string_lossy().into_owned();
            if is_input(&name) {
                let mut case = case(name.clone(), &name, "", FLEET);
                case.folder = Folder::Existing(root.to_owned());
                found.push(case);
            }
        }
    }
    found
}
