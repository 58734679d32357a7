//! System paths of an image: link targets, `ldconfig` directories, and where the host's libraries are mounted.

use crate::cuda::{COMPAT_ROOT, LIB64_DIRECTORY, LdConf, debian_library_directory, resolve_links, split_path};
use crate::infer::base::BaseBuild;
use crate::infer::unknown_fact::add_unknown_fact;
use crate::knowledge::{Knowledge, OsRow};
use crate::model::cause::Cause;
use crate::model::fact::{
    Derivation, Evidence, FactId, FactKey, Facts, FileKind, Observations, ObservedBase, TypedFact, ValueState,
};

/// The file that identifies Debian and its derivatives.
const DEBIAN_MARKER_FILE: &str = "/etc/debian_version";
/// The main configuration file of `ldconfig`.
pub(super) const LD_CONF: &str = "/etc/ld.so.conf";
/// The directory of configuration files that it includes.
pub(super) const LD_CONF_DIRECTORY: &str = "/etc/ld.so.conf.d";
/// The cache of the dynamic loader.
const LD_CACHE: &str = "/etc/ld.so.cache";
/// What was searched if a description lists every file.
const EVERY_FILE: &str = "every file of the image";
/// Maximum number of names that are followed for one directory.
const MAX_DIRECTORY_NAMES: usize = 16;
/// Maximum number of links that are followed.
const MAX_LINKS: usize = 4096;

/// The files of an image, with its links resolved.
pub(super) struct ImageFileTree<'a> {
    seen: &'a Observations,
    /// Links, each with its final target.
    links: Vec<(&'a str, String)>,
}

impl<'a> ImageFileTree<'a> {
    /// Resolves the links among the observed files.
    pub(super) fn new(seen: &'a Observations) -> Self {
        let mut tree = Self { seen, links: Vec::new() };
        let links = seen.files.iter().filter(|(_, file)| matches!(file.kind, FileKind::Link(_)));
        let resolved = links.filter_map(|(path, _)| Some((path.as_str(), tree.resolve(path)?)));
        tree.links = resolved.take(MAX_LINKS).collect();
        tree
    }

    /// Returns a path with all links resolved.
    pub(super) fn resolve(&self, path: &str) -> Option<String> {
        let resolved = resolve_links(path, |path| match &self.seen.files.get(path)?.kind {
            FileKind::Link(target) => Some(target.as_str()),
            _ => None,
        })?;
        Some(apply_usr_merge(&resolved))
    }

    /// Returns every name of the directory of a file, the real one first.
    pub(super) fn directory_names(&self, path: &str) -> Vec<String> {
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
                if !names.contains(&more) && names.len() < MAX_DIRECTORY_NAMES {
                    names.push(more);
                }
            }
        }
        names
    }

    /// Whether an absolute link is on the path to the toolkit's compat directory.
    pub(super) fn has_absolute_compat_link(&self) -> bool {
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

/// Maps `/lib` and `/lib64` into `/usr`, as on systems with a merged `/usr`.
fn apply_usr_merge(path: &str) -> String {
    if path.starts_with("/lib/") || path.starts_with("/lib64/") || path == "/lib" || path == "/lib64" {
        format!("/usr{path}")
    } else {
        path.to_owned()
    }
}

/// Infers where legacy mode mounts the host's libraries: in Debian's directory if the image has Debian's marker file.
pub(super) fn infer_library_directory(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    arch: &str,
    knowledge: Knowledge,
) -> TypedFact<String> {
    let base: Vec<FactId> = build.fact.into_iter().collect();
    let key = FactKey::LibraryDirectory;
    let derived = |by, from, row| Evidence::Derived { by, from, row };
    if let Some(mark) = seen.files.get(DEBIAN_MARKER_FILE) {
        let evidence = derived(Derivation::Resolution, vec![mark.fact], None);
        return facts.add_typed(key, None, ValueState::Known(debian_library_directory(arch).to_owned()), evidence);
    }
    if seen.complete.files {
        let searched = ValueState::Absent { searched: EVERY_FILE };
        let mark = facts.add(
            FactKey::File,
            Some(DEBIAN_MARKER_FILE),
            searched,
            derived(Derivation::Resolution, Vec::new(), None),
        );
        let evidence = derived(Derivation::Resolution, vec![mark], None);
        return facts.add_typed(key, None, ValueState::Known(LIB64_DIRECTORY.to_owned()), evidence);
    }
    if let Some(row) = base_operating_system(seen, knowledge) {
        let directory = if row.debian { debian_library_directory(arch).to_owned() } else { LIB64_DIRECTORY.to_owned() };
        let evidence = derived(Derivation::Row, base, Some(&row.info));
        return facts.add_typed(key, None, ValueState::Known(directory), evidence);
    }
    let why = build.explain_unknown("the Linux distribution family of the image");
    add_unknown_fact(facts, key, None, why, derived(Derivation::Inheritance, base, None))
}

/// Returns the operating system that the name or tag of the base image states.
pub(super) fn base_operating_system(seen: &Observations, knowledge: Knowledge) -> Option<&'static OsRow> {
    match &seen.base {
        ObservedBase::Image(reference, _) => {
            knowledge.operating_system(&reference.familiar_name(), reference.tag().unwrap_or_default())
        }
        ObservedBase::NotSaid | ObservedBase::Scratch(_) | ObservedBase::Unresolved(..) => None,
    }
}

/// Infers the directories that the image and its base configure for `ldconfig`, with Debian's defaults.
pub(super) fn infer_ld_conf(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    tree: &ImageFileTree<'_>,
    library_directory: &TypedFact<String>,
) -> TypedFact<Vec<LdConf>> {
    let mut files = Vec::new();
    let mut from = vec![library_directory.id];
    for (name, directory) in build.ld_conf.iter().filter(|(name, _)| base_conf_file_remains(seen, name)) {
        files.push(LdConf::parse(name, directory));
        from.extend(build.fact);
    }
    for (path, file) in &seen.files {
        let FileKind::Text(text) = &file.kind else { continue };
        let (directory, name) = split_path(path);
        if path == LD_CONF {
            // Its own lines stand before the directory that it includes, or behind it.
            let (before, behind) = text.split_once("include").unwrap_or((text, ""));
            let behind = behind.split_once('\n').map_or("", |(_, behind)| behind);
            files.push(LdConf::parse("", before));
            files.push(LdConf::parse("~", behind));
        } else if directory == LD_CONF_DIRECTORY && name.strip_suffix(".conf").is_some() {
            files.push(LdConf::parse(name, text));
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
                files.push(LdConf::parse(&name, &text));
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
    facts.add_typed(FactKey::LdConf, None, ValueState::Known(files), evidence)
}

/// Whether an `ldconfig` file of the base image is still there unchanged.
fn base_conf_file_remains(seen: &Observations, name: &str) -> bool {
    let path = format!("{LD_CONF_DIRECTORY}/{name}");
    let removed = |what: &str| what == path || what == LD_CONF_DIRECTORY;
    !seen.complete.files
        && !seen.files.contains_key(&path)
        && !seen.base_changes.removed.iter().any(|(what, _)| removed(what.trim_end_matches('/')))
}

/// Infers whether the image contains the loader cache; it is assumed unless its absence is known, as on every glibc
/// system.
pub(super) fn infer_ld_cache(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    knowledge: Knowledge,
) -> TypedFact<String> {
    let derived = |by, from, row| Evidence::Derived { by, from, row };
    let base = || build.fact.into_iter().collect();
    let (state, evidence) = match (seen.files.get(LD_CACHE), base_operating_system(seen, knowledge)) {
        (Some(file), _) => {
            let evidence = derived(Derivation::Resolution, vec![file.fact], None);
            (ValueState::Known(LD_CACHE.to_owned()), evidence)
        }
        (None, _) if seen.complete.files => {
            (ValueState::Absent { searched: EVERY_FILE }, derived(Derivation::Resolution, Vec::new(), None))
        }
        (None, Some(row)) if row.cacheless => {
            let searched = "the loader of the base image's distribution, which has no cache";
            (ValueState::Absent { searched }, derived(Derivation::Row, base(), Some(&row.info)))
        }
        (None, Some(row)) => {
            let evidence = derived(Derivation::Row, base(), Some(&row.info));
            (ValueState::Known("as on every system with glibc".to_owned()), evidence)
        }
        (None, None) => {
            let why = build.explain_unknown("the loader cache of the image");
            (ValueState::Unknown(why), derived(Derivation::Inheritance, base(), None))
        }
    };
    facts.add_typed(FactKey::LdCache, None, state, evidence)
}

/// Whether a program may be a shell script: shells of some base images test the compat library at their start.
fn may_run_shell(words: &[String]) -> bool {
    let program = words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word));
    !program.starts_with("python")
}

/// Explains why it is unknown whether a shell tests the compat library.
fn explain_shell_probe() -> Cause {
    Cause::EntrypointShell
}

/// Infers the entrypoint that tries cuda-compat and falls back to the host driver: the image's, else that of its
/// base image family.
pub(super) fn infer_compat_probe(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    knowledge: Knowledge,
) -> TypedFact<Vec<String>> {
    let (state, from, row) = match &seen.entrypoint {
        Some((words, fact)) => match knowledge.compat_probe(words) {
            Some((word, row)) => (ValueState::Known(vec![word.clone()]), vec![*fact], Some(row)),
            None if build.compat_folder.is_some() && may_run_shell(words) => {
                (ValueState::Unknown(explain_shell_probe()), vec![*fact], build.compat_probe.map(|(_, row)| row))
            }
            None => (ValueState::Absent { searched: "the entrypoint of the image" }, vec![*fact], None),
        },
        None => match build.compat_probe {
            Some((word, row)) => {
                let known = || ValueState::Known(vec![word.to_owned()]);
                let state = build.probe_unsure.clone().map_or_else(known, ValueState::Unknown);
                (state, build.fact.into_iter().collect(), Some(row))
            }
            None => (
                ValueState::Absent { searched: "the base image's family and ENTRYPOINT" },
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
    use crate::infer::infer_image_facts;
    use crate::model::fact::InspectionDepth;
    use crate::model::reference::ImageReference;

    /// Returns what is inferred about the loader cache on a base image.
    fn ld_cache_state(base: &str) -> &'static str {
        let mut seen = Observations::new(InspectionDepth::Text);
        let state = ValueState::Known(crate::model::fact::PrintedValue::Text(base.to_owned()));
        let fact = seen.facts.add(FactKey::Base, None, state, Evidence::Leaf(Vec::new()));
        seen.base = ObservedBase::Image(ImageReference::parse(base).expect(base), fact);
        seen.base_env = true;
        let images = infer_image_facts(&seen, "linux/amd64", None, Knowledge::built_in());
        match images.first().map(|image| &image.ld_cache.state) {
            Some(ValueState::Known(_)) => "there",
            Some(ValueState::Absent { .. }) => "absent",
            Some(ValueState::Unknown(_)) => "unknown",
            None => "no image",
        }
    }

    #[test]
    fn a_loader_without_cache_ships_no_cache_file() {
        for (base, expected) in [
            ("alpine:3.20", "absent"),
            ("python:3.11-alpine3.19", "absent"),
            ("python:3.11-slim", "there"),
            ("ubuntu:22.04", "there"),
            ("rockylinux:9", "there"),
            ("someone/alpine-like:1", "unknown"),
            ("someone/app:1", "unknown"),
        ] {
            assert_eq!(ld_cache_state(base), expected, "{base}");
        }
    }
}
