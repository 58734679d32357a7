//! What commands copy, pack, unpack or clone of packages that are installed, and where that goes.

use crate::extract::landing::Place;
use crate::extract::lands::At;
use crate::extract::lands::CONDA;
use crate::extract::lands::environment;
use crate::extract::lands::named;
use crate::extract::tree::absolute;

/// What is moved.
pub(super) enum From {
    /// A folder, or a file that a folder was packed into.
    Path(String),
    /// conda's environment of this name.
    Env(String),
}

/// What a command copies, packs, unpacks or clones, and where that goes.
pub(super) fn moves(words: &[&str], plain: &[&str], at: At<'_>, entered: Option<&Place>) -> Vec<(From, Place)> {
    let Some((first, arguments)) = plain.split_first() else { return Vec::new() };
    let program = first.rsplit('/').next().unwrap_or(first);
    let path = |long: &str, short: &str| option(words, long, short).and_then(|path| at.absolute(path));
    let from = |place: Option<Place>| match place {
        Some(Place::Prefix(root)) => at.absolute(&root).map(From::Path),
        Some(Place::Env(name)) => Some(From::Env(name)),
        _ => Some(From::Env("base".to_owned())),
    };
    match program {
        "cp" | "mv" | "rsync" => {
            let Some((to, sources)) = arguments.split_last() else { return Vec::new() };
            let Some(to) = at.absolute(to) else { return Vec::new() };
            let one = |source: &&str| {
                let source = at.absolute(source.trim_end_matches("/."))?;
                let name = source.rsplit('/').next().unwrap_or_default().to_owned();
                // Whether the folder was there before decides between the two.
                let places = [to.clone(), format!("{to}/{name}")];
                Some(places.map(|to| (From::Path(source.clone()), Place::Prefix(to))))
            };
            sources.iter().filter_map(one).flatten().collect()
        }
        "unzip" => {
            let to = path("", "-d").or_else(|| at.absolute("."));
            let file = arguments.first().and_then(|file| at.absolute(file));
            file.map(From::Path).zip(to.map(Place::Prefix)).into_iter().collect()
        }
        "tar" | "bsdtar" => tar(words, arguments, at),
        _ if program == "conda-pack" || (CONDA.contains(&program) && arguments.first() == Some(&"pack")) => {
            let own = named(words).or_else(|| entered.cloned());
            let name = match &own {
                Some(Place::Prefix(root)) => root.rsplit('/').next().unwrap_or_default().to_owned(),
                Some(Place::Env(name)) => name.clone(),
                _ => "base".to_owned(),
            };
            let to = path("--output", "-o").or_else(|| at.absolute(&format!("{name}.tar.gz")));
            from(own).zip(to.map(Place::Prefix)).into_iter().collect()
        }
        _ if CONDA.contains(&program) => {
            let source = option(words, "--clone", "");
            let source = source.and_then(|name| from(Some(environment(name))));
            let to = named(words).and_then(|place| match place {
                Place::Prefix(root) => at.absolute(&root).map(Place::Prefix),
                other => Some(other),
            });
            source.zip(to).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// What `tar` packs or unpacks.
fn tar(words: &[&str], arguments: &[&str], at: At<'_>) -> Vec<(From, Place)> {
    let first = words.get(1).copied().unwrap_or_default();
    let letters = |word: &&str| word.strip_prefix('-').is_some_and(|word| !word.starts_with('-'));
    let flags = || words.iter().skip(1).copied().filter(letters).chain((!first.starts_with('-')).then_some(first));
    let has = |letter: char, long: &str| flags().any(|word| word.contains(letter)) || words.contains(&long);
    let folder = option(words, "--directory", "-C");
    let Some(there) = at.absolute(folder.unwrap_or(".")) else { return Vec::new() };
    // Letters without a sign in front stand among the arguments.
    let arguments = if first.starts_with('-') { arguments } else { arguments.get(1..).unwrap_or_default() };
    let mut paths = arguments.iter().copied().filter(|path| Some(*path) != folder);
    // The file stands behind the letter `f`, or first where letters have no sign.
    let behind = words.windows(2).find(|pair| letters(&pair[0]) && pair[0].ends_with('f')).map(|pair| pair[1]);
    let file = option(words, "--file", "").or(behind).or_else(|| paths.next());
    let Some(archive) = file.and_then(|file| at.absolute(file)) else { return Vec::new() };
    if has('x', "--extract") {
        return vec![(From::Path(archive), Place::Prefix(there))];
    }
    let packed = paths.filter(|path| Some(*path) != file && has('c', "--create")).map(|path| absolute(&there, path));
    packed.map(|path| (From::Path(path), Place::Prefix(archive.clone()))).collect()
}

/// The value of an option, behind `=` or as the next word.
pub(super) fn option<'a>(words: &[&'a str], long: &str, short: &str) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(long).filter(|_| !long.is_empty()) {
        Some("") => words.get(at + 1).copied(),
        Some(rest) => rest.strip_prefix('='),
        None if !short.is_empty() && *word == short => words.get(at + 1).copied(),
        None => None,
    })
}
