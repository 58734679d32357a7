//! Installed packages that commands copy, pack, unpack or clone, with their new location.

use crate::extract::install_locations::{CONDA_NAMES, LocatedCommand, conda_environment, conda_environment_option};
use crate::extract::package_locations::PackageLocation;
use crate::extract::stage_files::absolute_path;

/// The source of a copied, packed, unpacked or cloned environment.
pub(super) enum MoveSource {
    /// A folder, or an archive of a folder.
    Path(String),
    /// A conda environment, by its name.
    Env(String),
}

/// Returns the sources that a command copies, packs, unpacks or clones, each with its destination.
pub(super) fn find_package_moves(
    words: &[&str],
    plain: &[&str],
    at: LocatedCommand<'_>,
    entered: Option<&PackageLocation>,
) -> Vec<(MoveSource, PackageLocation)> {
    let Some((first, arguments)) = plain.split_first() else { return Vec::new() };
    let program = first.rsplit('/').next().unwrap_or(first);
    let path = |long: &str, short: &str| option_value(words, long, short).and_then(|path| at.resolve_path(path));
    let from = |place: Option<PackageLocation>| match place {
        Some(PackageLocation::Prefix(root)) => at.resolve_path(&root).map(MoveSource::Path),
        Some(PackageLocation::Env(name)) => Some(MoveSource::Env(name)),
        _ => Some(MoveSource::Env("base".to_owned())),
    };
    match program {
        "cp" | "mv" | "rsync" => {
            let Some((to, sources)) = arguments.split_last() else { return Vec::new() };
            let Some(to) = at.resolve_path(to) else { return Vec::new() };
            let one = |source: &&str| {
                let source = at.resolve_path(source.trim_end_matches("/."))?;
                let name = source.rsplit('/').next().unwrap_or_default().to_owned();
                // Whether the folder was there before decides between the two.
                let places = [to.clone(), format!("{to}/{name}")];
                Some(places.map(|to| (MoveSource::Path(source.clone()), PackageLocation::Prefix(to))))
            };
            sources.iter().filter_map(one).flatten().collect()
        }
        "unzip" => {
            let to = path("", "-d").or_else(|| at.resolve_path("."));
            let file = arguments.first().and_then(|file| at.resolve_path(file));
            file.map(MoveSource::Path).zip(to.map(PackageLocation::Prefix)).into_iter().collect()
        }
        "tar" | "bsdtar" => tar_moves(words, arguments, at),
        _ if program == "conda-pack" || (CONDA_NAMES.contains(&program) && arguments.first() == Some(&"pack")) => {
            let own = conda_environment_option(words).or_else(|| entered.cloned());
            let name = match &own {
                Some(PackageLocation::Prefix(root)) => root.rsplit('/').next().unwrap_or_default().to_owned(),
                Some(PackageLocation::Env(name)) => name.clone(),
                _ => "base".to_owned(),
            };
            let to = path("--output", "-o").or_else(|| at.resolve_path(&format!("{name}.tar.gz")));
            from(own).zip(to.map(PackageLocation::Prefix)).into_iter().collect()
        }
        _ if CONDA_NAMES.contains(&program) => {
            let source = option_value(words, "--clone", "");
            let source = source.and_then(|name| from(Some(conda_environment(name))));
            let to = conda_environment_option(words).and_then(|place| match place {
                PackageLocation::Prefix(root) => at.resolve_path(&root).map(PackageLocation::Prefix),
                other => Some(other),
            });
            source.zip(to).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the sources that `tar` packs or unpacks, each with its destination.
fn tar_moves(words: &[&str], arguments: &[&str], at: LocatedCommand<'_>) -> Vec<(MoveSource, PackageLocation)> {
    let first = words.get(1).copied().unwrap_or_default();
    let letters = |word: &&str| word.strip_prefix('-').is_some_and(|word| !word.starts_with('-'));
    let flags = || words.iter().skip(1).copied().filter(letters).chain((!first.starts_with('-')).then_some(first));
    let has = |letter: char, long: &str| flags().any(|word| word.contains(letter)) || words.contains(&long);
    let folder = option_value(words, "--directory", "-C");
    let Some(there) = at.resolve_path(folder.unwrap_or(".")) else { return Vec::new() };
    // Letters without a sign in front stand among the arguments.
    let arguments = if first.starts_with('-') { arguments } else { arguments.get(1..).unwrap_or_default() };
    let mut paths = arguments.iter().copied().filter(|path| Some(*path) != folder);
    // The file stands behind the letter `f`, or first where letters have no sign.
    let behind = words.windows(2).find(|pair| letters(&pair[0]) && pair[0].ends_with('f')).map(|pair| pair[1]);
    let file = option_value(words, "--file", "").or(behind).or_else(|| paths.next());
    let Some(archive) = file.and_then(|file| at.resolve_path(file)) else { return Vec::new() };
    if has('x', "--extract") {
        return vec![(MoveSource::Path(archive), PackageLocation::Prefix(there))];
    }
    let packed =
        paths.filter(|path| Some(*path) != file && has('c', "--create")).map(|path| absolute_path(&there, path));
    packed.map(|path| (MoveSource::Path(path), PackageLocation::Prefix(archive.clone()))).collect()
}

/// Returns the value of an option, after `=` or as the next argument.
pub(super) fn option_value<'a>(words: &[&'a str], long: &str, short: &str) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(long).filter(|_| !long.is_empty()) {
        Some("") => words.get(at + 1).copied(),
        Some(rest) => rest.strip_prefix('='),
        None if !short.is_empty() && *word == short => words.get(at + 1).copied(),
        None => None,
    })
}
