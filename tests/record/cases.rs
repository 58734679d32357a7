//! The cases of the repository.

use std::fs;
use std::path::{Path, PathBuf};

use imagelint::rules::{ExampleInput, RuleBook};

use crate::truth::{data, mapper};

/// One run of the program.
pub(crate) struct Case {
    /// Unique.
    pub(crate) name: String,
    /// The file to check, by its path in the folder.
    pub(crate) input: String,
    /// Where to run.
    pub(crate) place: Place,
    /// The text of the fleet file.
    pub(crate) fleet: String,
    pub(crate) arguments: Vec<String>,
    /// Whether its files are other people's.
    pub(crate) strangers: bool,
}

/// A folder to run in.
pub(crate) enum Place {
    /// A new one, with the input alone.
    Text(String),
    /// One that exists.
    Folder(PathBuf),
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

/// Every story, rule example, known mistake, linked reference, public report, example and fixture.
pub(crate) fn committed() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = stories(root);
    all.extend(rule_examples());
    all.extend(mistakes(root));
    all.extend(references(root));
    all.extend(reports());
    all.extend(fixtures(root));
    all
}

fn case(name: String, input: &str, text: &str, fleet: &str) -> Case {
    let (place, arguments) = (Place::Text(text.to_owned()), Vec::new());
    Case { name, input: input.to_owned(), place, fleet: fleet.to_owned(), arguments, strangers: false }
}

/// The files of a folder and of the folders in it, sorted.
pub(crate) fn below(folder: &Path) -> Vec<PathBuf> {
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

fn tables(folder: &Path) -> impl Iterator<Item = (String, toml::Table)> {
    let files = below(folder).into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.map(|path| {
        let text = fs::read_to_string(&path).expect("readable");
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (stem, toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    })
}

fn text<'t>(table: &'t toml::Table, key: &str) -> Option<&'t str> {
    table.get(key).and_then(toml::Value::as_str)
}

fn entries<'t>(table: &'t toml::Table, key: &str) -> impl Iterator<Item = &'t toml::Table> {
    table.get(key).and_then(toml::Value::as_array).into_iter().flatten().filter_map(toml::Value::as_table)
}

/// Stories share fleets and images by name, over all files.
fn stories(root: &Path) -> Vec<Case> {
    let all: Vec<(String, toml::Table)> = tables(&root.join("tests/stories")).collect();
    let shared = |kind: &str, word: &str| {
        let of = |table: &toml::Table| table.get(kind)?.as_table()?.get(word)?.as_str().map(str::to_owned);
        all.iter().find_map(|(_, table)| of(table)).unwrap_or_else(|| word.to_owned())
    };
    let mut found = Vec::new();
    for (stem, table) in &all {
        for (at, story) in entries(table, "case").enumerate() {
            let name = format!("stories/{stem} {at}: {}", text(story, "name").unwrap_or_default());
            let fleet = shared("fleets", text(story, "fleet").unwrap_or_default());
            let fleet =
                if fleet.contains("[[pool]]") { fleet } else { fs::read_to_string(root.join(fleet)).expect("a fleet") };
            let mut case = match (text(story, "input"), text(story, "image"), text(story, "dockerfile")) {
                (Some(path), ..) => {
                    let mut case = case(name, path, "", &fleet);
                    case.place = Place::Folder(root.to_owned());
                    case
                }
                (_, Some(image), _) => case(name, "case.image.toml", &shared("images", image), &fleet),
                (_, _, dockerfile) => {
                    case(name, text(story, "file").unwrap_or("Dockerfile"), dockerfile.unwrap_or_default(), &fleet)
                }
            };
            for pool in story.get("pools").and_then(toml::Value::as_array).into_iter().flatten() {
                case.arguments.extend(["--pool".to_owned(), pool.as_str().unwrap_or_default().to_owned()]);
            }
            if let Some(day) = text(story, "as_of") {
                case.arguments.extend(["--as-of".to_owned(), day.to_owned()]);
            }
            found.push(case);
        }
    }
    found
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

fn mistakes(root: &Path) -> Vec<Case> {
    let folder = root.join("tests/mistakes");
    let mut found = Vec::new();
    for path in below(&folder) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".Dockerfile") else { continue };
        let fleet = fs::read_to_string(folder.join(format!("{stem}.fleet.toml")));
        let mut case = case(format!("mistakes/{stem}"), &name, "", fleet.as_deref().unwrap_or(FLEET));
        case.place = Place::Folder(folder.clone());
        case.arguments = ["--persona", "pedantic"].map(str::to_owned).to_vec();
        found.push(case);
    }
    found
}

fn references(root: &Path) -> Vec<Case> {
    let mut found = Vec::new();
    for (stem, table) in tables(&root.join("tests/verdicts/references")) {
        for (at, one) in entries(&table, "case").enumerate() {
            let (text_of_case, input) = match (text(one, "dockerfile"), text(one, "image")) {
                (Some(text), _) => (text, "Dockerfile"),
                (None, image) => (image.unwrap_or_default(), "case.image.toml"),
            };
            let name = format!("references/{stem} {at}: {}", text(one, "page").unwrap_or_default());
            let mut case = case(name, input, text_of_case, text(one, "fleet").unwrap_or(FLEET));
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
        for path in below(&root.join(folder)) {
            let name = path.strip_prefix(root).expect("inside").to_string_lossy().into_owned();
            if is_input(&name) {
                let mut case = case(name.clone(), &name, "", FLEET);
                case.place = Place::Folder(root.to_owned());
                found.push(case);
            }
        }
    }
    found
}
