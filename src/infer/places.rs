//! Places of an image: where links lead, which directories `ldconfig` is told of, where the host's libraries go.

use crate::cuda::COMPAT_ROOT;
use crate::cuda::LIB64;
use crate::cuda::LdConf;
use crate::cuda::debian_directory;
use crate::cuda::resolve;
use crate::cuda::split_path;
use crate::fact::BaseSeen;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::FileKind;
use crate::fact::Observations;
use crate::fact::State;
use crate::fact::Why;
use crate::infer::base::BaseBuild;
use crate::infer::unknown;
use crate::knowledge::Knowledge;
use crate::knowledge::OsRow;

/// Where systems other than Debian's keep libraries.
/// What tells Debian's systems.
const DEBIAN_MARK: &str = "/etc/debian_version";
/// What `ldconfig` reads.
pub(super) const LD_CONF: &str = "/etc/ld.so.conf";
/// And what that includes.
pub(super) const LD_CONF_FOLDER: &str = "/etc/ld.so.conf.d";
const LD_CACHE: &str = "/etc/ld.so.cache";
/// What was searched where a description lists every file.
const EVERY_FILE: &str = "every file of the image";
/// A directory is reached by at most so many names.
const MOST_NAMES: usize = 16;
/// So many links are looked at.
const MOST_LINKS: usize = 4096;

/// The files of an image with its links followed.
pub(super) struct Tree<'a> {
    seen: &'a Observations,
    /// Links and what is behind all of them.
    links: Vec<(&'a str, String)>,
}

impl<'a> Tree<'a> {
    pub(super) fn of(seen: &'a Observations) -> Self {
        let mut tree = Self { seen, links: Vec::new() };
        let links = seen.files.iter().filter(|(_, file)| matches!(file.kind, FileKind::Link(_)));
        let resolved = links.filter_map(|(path, _)| Some((path.as_str(), tree.resolve(path)?)));
        tree.links = resolved.take(MOST_LINKS).collect();
        tree
    }

    /// The path behind all links.
    pub(super) fn resolve(&self, path: &str) -> Option<String> {
        let resolved = resolve(path, |path| match &self.seen.files.get(path)?.kind {
            FileKind::Link(target) => Some(target.as_str()),
            _ => None,
        })?;
        Some(merged(&resolved))
    }

    /// Every name of the directory that a file lies in, the real one first.
    pub(super) fn directories(&self, path: &str) -> Vec<String> {
        let written = split_path(path).0;
        let mut names = vec![self.resolve(written).unwrap_or_else(|| written.to_owned())];
        let mut at = 0;
        while let Some(name) = names.get(at).cloned() {
            at += 1;
            let by_link = self.links.iter().filter_map(|(link, target)| {
                let rest = name.strip_prefix(target.as_str())?;
                (rest.is_empty() || rest.starts_with('/')).then(|| format!("{link}{rest}"))
            });
            // Most systems have `/lib` as a link to `/usr/lib`.
            let short = name.strip_prefix("/usr").filter(|rest| rest.starts_with("/lib")).map(str::to_owned);
            for more in by_link.chain(short).chain([written.to_owned()]) {
                if !names.contains(&more) && names.len() < MOST_NAMES {
                    names.push(more);
                }
            }
        }
        names
    }

    /// Whether an absolute link is on the way to the toolkit's compat directory.
    pub(super) fn absolute_link(&self) -> bool {
        let mut parent = COMPAT_ROOT;
        let mut found = false;
        while !parent.is_empty() {
            if let Some(FileKind::Link(target)) = self.seen.files.get(parent).map(|file| &file.kind) {
                found |= target.starts_with('/');
            }
            parent = split_path(parent).0;
        }
        found
    }
}

/// `/lib` and `/lib64` are links into `/usr` on most systems.
fn merged(path: &str) -> String {
    if path.starts_with("/lib/") || path.starts_with("/lib64/") || path == "/lib" || path == "/lib64" {
        format!("/usr{path}")
    } else {
        path.to_owned()
    }
}

/// Where legacy mode mounts the host's libraries: Debian's directory where the image has Debian's mark.
pub(super) fn library_directory(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    arch: &str,
    knowledge: Knowledge,
) -> Fact<String> {
    let base: Vec<FactId> = build.fact.into_iter().collect();
    let key = FactKey::LibraryDirectory;
    let derived = |by, from, row| Evidence::Derived { by, from, row };
    if let Some(mark) = seen.files.get(DEBIAN_MARK) {
        let evidence = derived(Derivation::Resolution, vec![mark.fact], None);
        return facts.add_typed(key, None, State::Known(debian_directory(arch).to_owned()), evidence);
    }
    if seen.complete.files {
        let searched = State::Absent { searched: EVERY_FILE };
        let mark =
            facts.add(FactKey::File, Some(DEBIAN_MARK), searched, derived(Derivation::Resolution, Vec::new(), None));
        let evidence = derived(Derivation::Resolution, vec![mark], None);
        return facts.add_typed(key, None, State::Known(LIB64.to_owned()), evidence);
    }
    if let Some(row) = operating_system(seen, knowledge) {
        let directory = if row.debian { debian_directory(arch).to_owned() } else { LIB64.to_owned() };
        let evidence = derived(Derivation::Row, base, Some(&row.info));
        return facts.add_typed(key, None, State::Known(directory), evidence);
    }
    let why = build.unseen("the Linux distribution family of the image");
    unknown(facts, key, None, why, derived(Derivation::Inheritance, base, None))
}

/// The operating system that the base's name or tag tells.
pub(super) fn operating_system(seen: &Observations, knowledge: Knowledge) -> Option<&'static OsRow> {
    match &seen.base {
        BaseSeen::Image(reference, _) => {
            knowledge.operating_system(&reference.familiar(), reference.tag().unwrap_or_default())
        }
        BaseSeen::NotSaid | BaseSeen::Scratch(_) | BaseSeen::Unresolved(..) => None,
    }
}

/// What the image and its base name to `ldconfig`, with what every Debian system has.
pub(super) fn ld_conf(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    tree: &Tree<'_>,
    library_directory: &Fact<String>,
) -> Fact<Vec<LdConf>> {
    let mut files = Vec::new();
    let mut from = vec![library_directory.id];
    for (name, directory) in build.ld_conf.iter().filter(|(name, _)| keeps(seen, name)) {
        files.push(LdConf::read(name, directory));
        from.extend(build.fact);
    }
    for (path, file) in &seen.files {
        let FileKind::Text(text) = &file.kind else { continue };
        let (directory, name) = split_path(path);
        if path == LD_CONF {
            // Its own lines stand before the directory that it includes, or behind it.
            let (before, behind) = text.split_once("include").unwrap_or((text, ""));
            let behind = behind.split_once('\n').map_or("", |(_, behind)| behind);
            files.push(LdConf::read("", before));
            files.push(LdConf::read("~", behind));
        } else if directory == LD_CONF_FOLDER && name.strip_suffix(".conf").is_some() {
            files.push(LdConf::read(name, text));
        } else {
            continue;
        }
        from.push(file.fact);
    }
    if let Some(triplet) = library_directory.known().and_then(|directory| directory.strip_prefix("/usr/lib/")) {
        for (name, text) in [
            ("libc.conf".to_owned(), "/usr/local/lib".to_owned()),
            (format!("{triplet}.conf"), format!("/usr/local/lib/{triplet}\n/usr/lib/{triplet}")),
        ] {
            if !files.iter().any(|file| file.name == name) {
                files.push(LdConf::read(&name, &text));
            }
        }
    }
    for directory in files.iter_mut().flat_map(|file| &mut file.directories) {
        if let Some(resolved) = tree.resolve(directory) {
            *directory = resolved;
        }
    }
    files.retain(|file| !file.directories.is_empty());
    files.sort_by(|one, other| one.name.cmp(&other.name));
    let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
    facts.add_typed(FactKey::LdConf, None, State::Known(files), evidence)
}

/// Whether a file for `ldconfig` that the base has is still there, as the base has it.
fn keeps(seen: &Observations, name: &str) -> bool {
    let path = format!("{LD_CONF_FOLDER}/{name}");
    let removed = |what: &str| what == path || what == LD_CONF_FOLDER;
    !seen.complete.files
        && !seen.files.contains_key(&path)
        && !seen.of_base.removed.iter().any(|(what, _)| removed(what.trim_end_matches('/')))
}

/// Whether the image ships the loader's cache. What is not listed as absent is taken to be there, as on every system
/// with glibc; known it is where the tables know the system of the base, and there is none where its loader keeps none.
pub(super) fn ld_cache(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    knowledge: Knowledge,
) -> Fact<String> {
    let derived = |by, from, row| Evidence::Derived { by, from, row };
    let base = || build.fact.into_iter().collect();
    let (state, evidence) = match (seen.files.get(LD_CACHE), operating_system(seen, knowledge)) {
        (Some(file), _) => {
            let evidence = derived(Derivation::Resolution, vec![file.fact], None);
            (State::Known(LD_CACHE.to_owned()), evidence)
        }
        (None, _) if seen.complete.files => {
            (State::Absent { searched: EVERY_FILE }, derived(Derivation::Resolution, Vec::new(), None))
        }
        (None, Some(row)) if row.cacheless => {
            let searched = "the loader of the base image's distribution, which has no cache";
            (State::Absent { searched }, derived(Derivation::Row, base(), Some(&row.info)))
        }
        (None, Some(row)) => {
            let evidence = derived(Derivation::Row, base(), Some(&row.info));
            (State::Known("as on every system with glibc".to_owned()), evidence)
        }
        (None, None) => {
            let why = build.unseen("the loader cache of the image");
            (State::Unknown(why), derived(Derivation::Inheritance, base(), None))
        }
    };
    facts.add_typed(FactKey::LdCache, None, state, evidence)
}

/// Whether a program may be a script for the shell: bases whose entrypoint tries the compat library have a start-up
/// file that does the same in every shell of one kind.
fn may_be_shell(words: &[String]) -> bool {
    let program = words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word));
    !program.starts_with("python")
}

fn by_shell() -> Why {
    Why {
        reason: "it is unknown whether the ENTRYPOINT, which replaces that of the base image, runs a shell that \
            selects cuda-compat"
            .to_owned(),
        supply: "keep the ENTRYPOINT of the base image, or start the program without a shell".to_owned(),
    }
}

/// The entrypoint that tries the compat library: the image's own, else the one of the base image's family.
pub(super) fn compat_probe(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    knowledge: Knowledge,
) -> Fact<Vec<String>> {
    let (state, from, row) = match &seen.entrypoint {
        Some((words, fact)) => match knowledge.compat_probe(words) {
            Some((word, row)) => (State::Known(vec![word.clone()]), vec![*fact], Some(row)),
            None if build.compat_folder.is_some() && may_be_shell(words) => {
                (State::Unknown(by_shell()), vec![*fact], build.compat_probe.map(|(_, row)| row))
            }
            None => (State::Absent { searched: "the entrypoint of the image" }, vec![*fact], None),
        },
        None => match build.compat_probe {
            Some((word, row)) => {
                let known = || State::Known(vec![word.to_owned()]);
                let state = build.probe_unsure.clone().map_or_else(known, State::Unknown);
                (state, build.fact.into_iter().collect(), Some(row))
            }
            None => (
                State::Absent { searched: "the base image's family and ENTRYPOINT" },
                build.fact.into_iter().collect(),
                None,
            ),
        },
    };
    let by = if row.is_some() { Derivation::Row } else { Derivation::Inheritance };
    facts.add_typed(FactKey::CompatProbe, None, state, Evidence::Derived { by, from, row })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::Depth;
    use crate::infer::infer;
    use crate::reference::ImageReference;

    /// What is said of the loader's cache in an image of that base.
    fn cache(base: &str) -> &'static str {
        let mut seen = Observations::new(Depth::Text);
        let state = State::Known(crate::fact::Value::Text(base.to_owned()));
        let fact = seen.facts.add(FactKey::Base, None, state, Evidence::Leaf(Vec::new()));
        seen.base = BaseSeen::Image(ImageReference::parse(base).expect(base), fact);
        seen.base_env = true;
        let images = infer(&seen, "linux/amd64", None, Knowledge::built_in());
        match images.first().map(|image| &image.ld_cache.state) {
            Some(State::Known(_)) => "there",
            Some(State::Absent { .. }) => "absent",
            Some(State::Unknown(_)) => "unknown",
            None => "no image",
        }
    }

    #[test]
    fn a_loader_that_keeps_no_cache_ships_none() {
        for (base, expected) in [
            ("alpine:3.20", "absent"),
            ("python:3.11-alpine3.19", "absent"),
            ("python:3.11-slim", "there"),
            ("ubuntu:22.04", "there"),
            ("rockylinux:9", "there"),
            ("someone/alpine-like:1", "unknown"),
            ("someone/app:1", "unknown"),
        ] {
            assert_eq!(cache(base), expected, "{base}");
        }
    }
}
