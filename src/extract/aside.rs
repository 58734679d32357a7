//! What pip was told to put elsewhere than where Python looks: `--target`, `--prefix`, `--root`.

use crate::dockerfile::Evaluated;
use crate::extract::dockerfile::Reader;
use crate::extract::landing::Place;
use crate::extract::tree::absolute;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::TemplatePart;
use crate::fact::Why;

/// Variables that name folders in which Python looks for packages, and one below which it does.
const FOLDERS: &str = "PYTHONPATH";
const BELOW: [&str; 4] = ["PYTHONUSERBASE", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX"];
/// How the folders are called in which Python looks by itself.
const OWN: &str = "-packages";
/// Roots of environments that images have by themselves.
const ROOTS: [&str; 4] = ["/", "/usr", "/usr/local", "/opt/conda"];

/// Makes open what lies in none of the folders in which the Python of the image is told to look: whether a program or a
/// file of the image adds another was not seen.
pub(super) fn open(reader: &mut Reader<'_>, evaluated: &Evaluated) {
    let folders = folders(&reader.seen, evaluated);
    let Reader { seen, done, .. } = reader;
    let all = seen.packages.iter_mut().filter(|package| package.manager == Manager::Pip);
    for package in all.filter(|package| package.conditional.is_none()) {
        let places = done.lands.package(package.fact);
        if let Some(aside) = elsewhere(places)
            && !places.iter().any(|place| is_reached(place, &folders))
        {
            package.conditional = Some(why(package, aside));
        }
    }
}

/// Why it is not certain that Python finds a package.
fn why(package: &PackageSeen, aside: &str) -> Why {
    Why {
        reason: format!(
            "{} is installed into {aside}, and no {FOLDERS} or inspected COPY puts this on the search path of Python",
            package.name
        ),
        supply: format!("set {FOLDERS} in the image, or scan the built image"),
    }
}

/// The folder that pip was told, where it was told one.
fn elsewhere(places: &[Place]) -> Option<&str> {
    places.iter().find_map(|place| match place {
        Place::Flat(folder) | Place::Aside(folder) => Some(folder.as_str()),
        Place::Prefix(_) | Place::Named(_) | Place::Within(_) | Place::Env(_) => None,
    })
}

/// Where Python looks.
struct Folders {
    /// Folders that hold packages themselves.
    flat: Vec<String>,
    /// Roots of environments.
    roots: Vec<String>,
    /// Those of environments whose programs are found.
    on_path: Vec<String>,
}

fn folders(seen: &Observations, evaluated: &Evaluated) -> Folders {
    let value = |name: &str| seen.env.get(name).and_then(|(value, _)| value.as_deref().ok());
    // What is put beside the value of the base.
    let beside = |name: &str| seen.of_base.env_templates.get(name).into_iter().flat_map(|template| &template.set);
    let texts = |name: &str| value(name).into_iter().chain(beside(name).filter_map(literal));
    let listed = |name: &str| texts(name).flat_map(|text| text.split(':')).filter(|one| !one.is_empty());
    // Python looks beside the script that it starts, and in the working directory.
    let started = seen.of_base.starts.iter().flat_map(|(commands, _)| commands);
    let scripts = started
        .flat_map(|command| command.split(' '))
        .filter(|word| word.rsplit_once('.').is_some_and(|(_, ending)| ending == "py"));
    let script = |path: &str| absolute(&evaluated.folder, path).rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let own = Some(evaluated.folder.to_string()).filter(|folder| folder != "/");
    // A word of the start may name more.
    let signs = |letter: char| letter.is_whitespace() || matches!(letter, ';' | '&' | '"' | '\'');
    let told = seen.of_base.start_words.iter().flat_map(|word| word.split(signs));
    let told = told.filter_map(|word| word.strip_prefix(FOLDERS)?.strip_prefix('=')).flat_map(|value| value.split(':'));
    let named = listed(FOLDERS).chain(told).map(|folder| absolute(&evaluated.folder, folder));
    let on_path = listed("PATH").filter_map(|folder| folder.trim_end_matches('/').strip_suffix("/bin"));
    Folders {
        flat: named.chain(own).chain(scripts.filter_map(script)).collect(),
        roots: BELOW.into_iter().filter_map(value).map(str::to_owned).collect(),
        on_path: on_path.map(str::to_owned).collect(),
    }
}

fn literal(part: &TemplatePart) -> Option<&str> {
    match part {
        TemplatePart::Text(text) => Some(text),
        TemplatePart::Variable(_) => None,
    }
}

/// Whether Python finds what lies in a place.
fn is_reached(place: &Place, folders: &Folders) -> bool {
    let has = |all: &[String], path: &str| all.iter().any(|one| one.trim_end_matches('/') == path);
    match place {
        Place::Flat(folder) => folder.contains(OWN) || has(&folders.flat, folder.trim_end_matches('/')),
        Place::Aside(root) => {
            let root = root.trim_end_matches('/');
            let inside = |folder: &String| folder.starts_with(&format!("{root}/")) && folder.contains(OWN);
            has(&ROOTS.map(str::to_owned), root) || has(&folders.roots, root) || folders.flat.iter().any(inside)
        }
        // To where a COPY or a command brings it: an environment, or a folder of packages.
        Place::Prefix(path) => {
            let path = path.trim_end_matches('/');
            let path = if path.is_empty() { "/" } else { path };
            let inside = |folder: &String| folder.starts_with(&format!("{path}/")) && folder.contains(OWN);
            path.contains(OWN)
                || has(&ROOTS.map(str::to_owned), path)
                || has(&folders.roots, path)
                || has(&folders.on_path, path)
                || has(&folders.flat, path)
                || folders.flat.iter().any(inside)
        }
        Place::Named(_) | Place::Within(_) | Place::Env(_) => true,
    }
}
