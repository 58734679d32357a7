//! Packages that pip installs outside the Python search path: `--target`, `--prefix`, `--root`.

use crate::dockerfile::EvaluatedTarget;
use crate::extract::package_locations::PackageLocation;
use crate::extract::stage_files::absolute_path;
use crate::extract::target_reader::TargetReader;
use crate::model::cause::Cause;
use crate::model::fact::{Observations, TemplatePart};
use crate::model::package::{ObservedPackage, PackageManager};

/// Variable that lists folders in which Python searches for packages.
const PYTHONPATH_VARIABLE: &str = "PYTHONPATH";
/// Variables that name the root of a Python environment.
const ENVIRONMENT_ROOT_VARIABLES: [&str; 4] = ["PYTHONUSERBASE", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX"];
/// Suffix of the folders that Python searches by default: `site-packages`, `dist-packages`.
const PACKAGES_FOLDER_SUFFIX: &str = "-packages";
/// Roots of the Python environments that images have by default.
const DEFAULT_ENVIRONMENT_ROOTS: [&str; 4] = ["/", "/usr", "/usr/local", "/opt/conda"];

/// Marks packages as conditional that are outside every known folder of the Python search path of the image.
pub(super) fn mark_unreachable_packages(reader: &mut TargetReader<'_>, evaluated: &EvaluatedTarget) {
    let folders = python_search_paths(&reader.seen, evaluated);
    let TargetReader { seen, state: done, .. } = reader;
    let all = seen.packages.iter_mut().filter(|package| package.requirement.manager == PackageManager::Pip);
    for package in all.filter(|package| package.conditional.is_none()) {
        let places = done.locations.package_locations(package.fact);
        if let Some(custom_folder) = custom_install_folder(places)
            && !places.iter().any(|place| is_on_search_path(place, &folders))
        {
            package.conditional = Some(unreachable_reason(package, custom_folder));
        }
    }
}

/// Explains why it is uncertain that Python finds a package.
fn unreachable_reason(package: &ObservedPackage, custom_folder: &str) -> Cause {
    Cause::InstalledElsewhere { name: package.requirement.name.to_string(), folder: custom_folder.to_string() }
}

/// Returns the folder that pip installs into by `--target`, `--prefix` or `--root`, if any.
fn custom_install_folder(places: &[PackageLocation]) -> Option<&str> {
    places.iter().find_map(|place| match place {
        PackageLocation::Flat(folder) | PackageLocation::CustomRoot(folder) => Some(folder.as_str()),
        PackageLocation::Prefix(_)
        | PackageLocation::Named(_)
        | PackageLocation::Within(_)
        | PackageLocation::Env(_) => None,
    })
}

/// The folders and environments in which Python searches for packages.
struct PythonSearchPaths {
    /// Folders that hold packages themselves.
    flat: Vec<String>,
    /// Roots of environments.
    roots: Vec<String>,
    /// Those of environments whose programs are found.
    on_path: Vec<String>,
}

/// Collects the search paths of Python from the environment, the start command and the working directory.
fn python_search_paths(seen: &Observations, evaluated: &EvaluatedTarget) -> PythonSearchPaths {
    let value = |name: &str| seen.env.get(name).and_then(|(value, _)| value.as_deref().ok());
    // The parts that are added to the value of the base.
    let template_parts =
        |name: &str| seen.base_changes.env_templates.get(name).into_iter().flat_map(|template| &template.set);
    let texts = |name: &str| value(name).into_iter().chain(template_parts(name).filter_map(literal_text));
    let listed = |name: &str| texts(name).flat_map(|text| text.split(':')).filter(|one| !one.is_empty());
    // Python searches the directory of the script that it starts, and the working directory.
    let started = seen.base_changes.starts.iter().flat_map(|(commands, _)| commands);
    let scripts = started
        .flat_map(|command| command.split(' '))
        .filter(|word| word.rsplit_once('.').is_some_and(|(_, ending)| ending == "py"));
    let script =
        |path: &str| absolute_path(&evaluated.folder, path).rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let own = Some(evaluated.folder.to_string()).filter(|folder| folder != "/");
    // A word of the start may name more.
    let signs = |letter: char| letter.is_whitespace() || matches!(letter, ';' | '&' | '"' | '\'');
    let start_folders = seen.base_changes.start_words.iter().flat_map(|word| word.split(signs));
    let start_folders = start_folders
        .filter_map(|word| word.strip_prefix(PYTHONPATH_VARIABLE)?.strip_prefix('='))
        .flat_map(|value| value.split(':'));
    let named = listed(PYTHONPATH_VARIABLE).chain(start_folders).map(|folder| absolute_path(&evaluated.folder, folder));
    let on_path = listed("PATH").filter_map(|folder| folder.trim_end_matches('/').strip_suffix("/bin"));
    PythonSearchPaths {
        flat: named.chain(own).chain(scripts.filter_map(script)).collect(),
        roots: ENVIRONMENT_ROOT_VARIABLES.into_iter().filter_map(value).map(str::to_owned).collect(),
        on_path: on_path.map(str::to_owned).collect(),
    }
}

/// Returns the text of a template part, unless it is a variable.
fn literal_text(part: &TemplatePart) -> Option<&str> {
    match part {
        TemplatePart::Text(text) => Some(text),
        TemplatePart::Variable(_) => None,
    }
}

/// Whether Python finds packages at a location.
fn is_on_search_path(place: &PackageLocation, folders: &PythonSearchPaths) -> bool {
    let has = |all: &[String], path: &str| all.iter().any(|one| one.trim_end_matches('/') == path);
    match place {
        PackageLocation::Flat(folder) => {
            folder.contains(PACKAGES_FOLDER_SUFFIX) || has(&folders.flat, folder.trim_end_matches('/'))
        }
        PackageLocation::CustomRoot(root) => {
            let root = root.trim_end_matches('/');
            let inside =
                |folder: &String| folder.starts_with(&format!("{root}/")) && folder.contains(PACKAGES_FOLDER_SUFFIX);
            has(&DEFAULT_ENVIRONMENT_ROOTS.map(str::to_owned), root)
                || has(&folders.roots, root)
                || folders.flat.iter().any(inside)
        }
        // The destination of a COPY or a command: an environment, or a directory of packages.
        PackageLocation::Prefix(path) => {
            let path = path.trim_end_matches('/');
            let path = if path.is_empty() { "/" } else { path };
            let inside =
                |folder: &String| folder.starts_with(&format!("{path}/")) && folder.contains(PACKAGES_FOLDER_SUFFIX);
            path.contains(PACKAGES_FOLDER_SUFFIX)
                || has(&DEFAULT_ENVIRONMENT_ROOTS.map(str::to_owned), path)
                || has(&folders.roots, path)
                || has(&folders.on_path, path)
                || has(&folders.flat, path)
                || folders.flat.iter().any(inside)
        }
        PackageLocation::Named(_) | PackageLocation::Within(_) | PackageLocation::Env(_) => true,
    }
}
