//! The file of the build context at a path of the image, through COPY, ADD and the `--mount` flags of RUN.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dockerfile::context::{ContextFileError, ContextReader, normalize_path, path_matches, resolve_path};
use crate::dockerfile::{
    CopyDestination, CopyInstruction, Dialect, Dockerfile, EvaluateOptions, EvaluatedTarget, ExpandedText, MappedText,
    RunInstruction, ShellPattern, expand_variables,
};
use crate::install::OpenedFile;
use crate::model::cause::Cause;
use crate::model::fact::{FactId, Observations, Origin, ReferencedText};
use crate::text::source::SourceId;

/// The largest size, in bytes, of a copied text that is read by its path.
const MAX_TEXT_LENGTH: usize = 16 * 1024;
/// Endings of the paths of installer settings files.
const INSTALLER_SETTINGS_ENDINGS: &[&str] = &[".conf", "/uv.toml"];
/// The largest depth of stages that copy from stages.
const MAX_STAGE_DEPTH: usize = 4;
/// The largest number of lookups in other stages, since each COPY of a stage may read yet another.
const MAX_STAGE_LOOKUPS: usize = 16 * 1024;
/// The largest number of instructions in all cached stages.
const MAX_CACHED_INSTRUCTIONS: usize = 32 * 1024;
/// The largest number of mounts of a RUN, since each file that it reads is compared with all of them.
const MAX_MOUNTS: usize = 256;

/// The files of one build stage as its instructions copy and mount them.
#[derive(Clone, Copy)]
pub(super) struct StageFileTree<'a> {
    pub(super) dockerfile: &'a Dockerfile,
    pub(super) evaluated: &'a EvaluatedTarget,
    pub(super) options: &'a EvaluateOptions,
    pub(super) build_context: &'a dyn ContextReader,
    pub(super) lookups: &'a StageLookups,
}

/// The number of lookups in other stages, and the evaluated stages.
#[derive(Debug, Default)]
pub(super) struct StageLookups {
    done: Cell<usize>,
    /// Whether any decision depended on the machine architecture of the image.
    pub(super) machine: Cell<bool>,
    stages: RefCell<BTreeMap<usize, Arc<EvaluatedTarget>>>,
}

impl StageLookups {
    /// Returns an evaluated stage for one more lookup; an error beyond the limits.
    fn evaluate_stage(&self, tree: &StageFileTree<'_>, stage: usize) -> Result<Arc<EvaluatedTarget>, Cause> {
        self.done.set(self.done.get() + 1);
        if self.done.get() > MAX_STAGE_LOOKUPS {
            return Err(Cause::ManyLookups { limit: MAX_STAGE_LOOKUPS });
        }
        if let Some(known) = self.stages.borrow().get(&stage) {
            return Ok(Arc::clone(known));
        }
        let instructions = (self.stages.borrow().len() + 1) * tree.dockerfile.instructions.len();
        if instructions > MAX_CACHED_INSTRUCTIONS {
            return Err(Cause::ManyInstructions { limit: MAX_CACHED_INSTRUCTIONS });
        }
        let options = EvaluateOptions { target: Some(stage.to_string()), ..tree.options.clone() };
        let evaluated = Arc::new(
            tree.dockerfile
                .evaluate(&options)
                .map_err(|error| Cause::StageNotEvaluated { error: error.to_string() })?,
        );
        self.stages.borrow_mut().insert(stage, Arc::clone(&evaluated));
        Ok(evaluated)
    }
}

/// Returns the absolute path in the image of `path`, relative to `folder`.
pub(super) fn absolute_path(folder: &str, path: &str) -> String {
    match path.strip_prefix("~/") {
        Some(rest) => resolve_path("/root", rest.trim_start_matches('/')),
        None => resolve_path(folder, path),
    }
}

/// Returns the path to which a COPY from another stage copies the file at `path`, if `source` includes it.
pub(super) fn copied_path(path: &str, source: &str, copy: &CopyInstruction) -> Option<String> {
    let CopyDestination { path: into, is_folder } = copy.destination.as_ref()?;
    let source = absolute_path("/", source);
    let (folder, name) = source.rsplit_once('/')?;
    if name.contains(['*', '?', '[']) {
        let rest = strip_folder(path, folder)?;
        return path_matches(name, rest.split('/').next()?).then(|| absolute_path(into, rest));
    }
    match strip_folder(path, &source)? {
        "" if *is_folder => Some(absolute_path(into, name)),
        "" => Some(into.clone()),
        rest => Some(absolute_path(into, rest)),
    }
}

impl StageFileTree<'_> {
    /// Opens the file at a path of the image, as a RUN sees it.
    pub(super) fn open(&self, run: &RunInstruction, path: &str) -> Result<OpenedFile, Cause> {
        if has_more_mounts_than(self.dockerfile, run, MAX_MOUNTS) {
            return Err(Cause::ManyMounts { limit: MAX_MOUNTS });
        }
        if let Some(answer) = self.open_mounted(run, path) {
            return answer;
        }
        if is_secret_mount(self.dockerfile, run, path) {
            return Err(Cause::BuildSecret);
        }
        self.open_copied(Some(run), usize::MAX, path, 0)
    }

    /// Returns the index of the instruction that adds the file at a path; zero where that is unknown.
    pub(super) fn copy_instruction_index(&self, run: &RunInstruction, path: &str) -> usize {
        if self.open_mounted(run, path).is_some() {
            return run.instruction;
        }
        let copies = self.evaluated.copies.iter().rev().filter(|copy| copy.instruction < run.instruction);
        let brings = |copy: &&CopyInstruction| {
            let Some(CopyDestination { path: into, is_folder }) = &copy.destination else { return false };
            if strip_folder(path, into).is_none() {
                return false;
            }
            let named = copy.sources.iter().filter_map(|(source, _)| source.known_text());
            let mut from = named.flat_map(|source| copy_source_candidates(source, into, path, *is_folder));
            from.any(|source| self.open_copy_source(copy, &source, path, 0).is_ok())
        };
        copies.clone().find(brings).map_or(0, |copy| copy.instruction)
    }

    /// Opens a file of the build context for a path of the image.
    fn open_context_file(&self, context: &str, path: &str) -> Result<OpenedFile, ContextFileError> {
        let file = self.build_context.open(&normalize_path(context))?;
        let text = MappedText::contiguous(&file.text, 0);
        Ok(OpenedFile { kept: file.parse_cache, ..OpenedFile::new(Some(file.source), path, text) })
    }

    /// Opens a file through a bind mount such as `--mount=type=bind,source=requirements.txt,target=requirements.txt`;
    /// `None` if no mount covers the path.
    pub(super) fn open_mounted(&self, run: &RunInstruction, path: &str) -> Option<Result<OpenedFile, Cause>> {
        for mount in bind_mounts(self.dockerfile, run) {
            let Some(below) = strip_folder(path, &mount.target) else { continue };
            let source = format!("{}/{below}", mount.source);
            return Some(match (mount.from, mount.stage) {
                (None, _) => self.open_context_file(&source, path).map_err(Cause::from),
                (Some(_), Some(stage)) => self.open_in_stage(stage, run.instruction, &source, 0),
                (Some(from), None) => Err(Cause::FromImage { image: from.clone() }),
            });
        }
        None
    }

    /// Opens a file of another stage, through the COPY instructions there.
    fn open_in_stage(&self, stage: usize, before: usize, path: &str, depth: usize) -> Result<OpenedFile, Cause> {
        let evaluated = self.lookups.evaluate_stage(self, stage)?;
        let tree = StageFileTree { evaluated: &evaluated, ..*self };
        tree.open_copied(None, before, &absolute_path("/", path), depth + 1)
    }

    /// Opens a file through the last COPY or ADD that may provide it.
    fn open_copied(
        &self,
        run: Option<&RunInstruction>,
        before: usize,
        path: &str,
        depth: usize,
    ) -> Result<OpenedFile, Cause> {
        let before = run.map_or(before, |run| run.instruction);
        let mut why = None;
        for copy in self.evaluated.copies.iter().rev().filter(|copy| copy.instruction < before) {
            let Some(CopyDestination { path: into, is_folder }) = &copy.destination else { continue };
            if strip_folder(path, into).is_none() {
                continue;
            }
            for (source, _) in &copy.sources {
                let Some(source) = source.known_text() else { continue };
                if let Some(found) = self.open_heredoc(copy, source, into, path, *is_folder) {
                    return Ok(found);
                }
                let candidates = if copy.parents {
                    strip_folder(path, into).and_then(|rest| source_with_parents(source, rest)).into_iter().collect()
                } else {
                    copy_source_candidates(source, into, path, *is_folder)
                };
                for candidate in candidates {
                    match self.open_copy_source(copy, &candidate, path, depth) {
                        Ok(opened) => return Ok(opened),
                        Err(Some(reason))
                            if names_lock_or_settings_file(copy, source, &candidate, path)
                                && is_source_unavailable(copy, &reason) =>
                        {
                            why = Some(Cause::NotInContext);
                        }
                        Err(Some(reason)) => drop(why.get_or_insert(reason)),
                        Err(None) => {}
                    }
                }
            }
        }
        Err(why.unwrap_or(Cause::NotCopied))
    }

    /// Returns the copied files whose image path is `wanted`, with their texts.
    pub(super) fn copied_texts(
        &self,
        copy: &CopyInstruction,
        path_filter: impl Fn(&str) -> bool,
    ) -> Vec<(String, String)> {
        let Some(CopyDestination { path: into, .. }) = &copy.destination else { return Vec::new() };
        let names = copy.sources.iter().filter_map(|(source, _)| source.known_text()).map(|source| {
            let source = source.strip_prefix("<<").map_or(source, heredoc_name);
            source.rsplit('/').next().unwrap_or(source)
        });
        let below = names.map(|name| format!("{}/{name}", into.trim_end_matches('/')));
        let paths = std::iter::once(into.clone()).chain(below).filter(|path| path_filter(path));
        let text = |path: String| {
            let opened = self.open_copied(None, copy.instruction + 1, &path, 0).ok()?;
            let text = opened.text.text();
            // What a variable stands for there is not looked up.
            (text.len() <= MAX_TEXT_LENGTH && !text.contains('$')).then(|| (path, text.to_owned()))
        };
        paths.filter_map(text).collect()
    }

    /// Opens the source of a COPY; the error has no reason if the file is simply absent.
    fn open_copy_source(
        &self,
        copy: &CopyInstruction,
        from: &str,
        path: &str,
        depth: usize,
    ) -> Result<OpenedFile, Option<Cause>> {
        match (&copy.from, copy.from_stage) {
            (None, _) => self.open_context_file(from, path).map_err(|missing| Some(missing.into())),
            (Some(_), Some(stage)) if depth < MAX_STAGE_DEPTH => {
                self.open_in_stage(stage, copy.instruction, from, depth).map_err(Some)
            }
            (Some((ExpandedText::Known { value, .. }, _)), _) => Err(Some(Cause::FromImage { image: value.clone() })),
            (Some(_), _) => Err(Some(Cause::FromElsewhere)),
        }
    }

    /// Opens a file from a heredoc of the Dockerfile: `COPY <<EOF requirements.txt`.
    fn open_heredoc(
        &self,
        copy: &CopyInstruction,
        source: &str,
        into: &str,
        path: &str,
        names_folder: bool,
    ) -> Option<OpenedFile> {
        let name = heredoc_name(source.strip_prefix("<<")?);
        let here = if names_folder { format!("{into}/{name}") } else { into.to_owned() };
        let heredocs = &self.dockerfile.instructions.get(copy.instruction)?.heredocs;
        let body = heredocs.iter().find(|heredoc| heredoc.name == name).filter(|_| here == path)?;
        Some(OpenedFile::new(None, path, body.body.clone()))
    }
}

/// Whether a COPY names a lock file by its file name, or an installer settings file from any source.
fn names_lock_or_settings_file(copy: &CopyInstruction, source: &str, candidate: &str, path: &str) -> bool {
    let ending = |path: &str| path.rsplit_once('.').map(|(_, ending)| ending.to_owned());
    let same = source.rsplit('/').next() == path.rsplit('/').next();
    let settings = INSTALLER_SETTINGS_ENDINGS.iter().any(|ending| path.ends_with(ending));
    (copy.from.is_none() && same && ending(source).as_deref() == Some("lock"))
        || (settings && normalize_path(source) == candidate)
}

/// Whether the source of a COPY exists for the build but is not available here.
fn is_source_unavailable(copy: &CopyInstruction, reason: &Cause) -> bool {
    let lacks = matches!(reason, Cause::NotThere | Cause::NoContext);
    lacks || (copy.from.is_some() && copy.from_stage.is_none())
}

/// Returns the name of a heredoc from its marker: `EOF` of `-"EOF"`.
pub(super) fn heredoc_name(written: &str) -> &str {
    written.trim_start_matches('-').trim_matches(['"', '\''])
}

/// Returns the rest of a path after a folder; empty if both are the same.
pub(super) fn strip_folder<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
}

/// Returns the source path of the file at `rest` below the destination of a `COPY --parents`.
fn source_with_parents(source: &str, rest: &str) -> Option<String> {
    let (above, kept) = source.split_once("/./").unwrap_or(("", source));
    let kept = normalize_path(kept);
    let whole = ShellPattern::compile(&kept).and_then(|pattern| pattern.matches(rest)) == Some(true);
    let inside = strip_folder(&format!("/{rest}"), &format!("/{kept}")).is_some();
    (whole || inside).then(|| if above.is_empty() { rest.to_owned() } else { format!("{above}/{rest}") })
}

/// Returns the possible sources of `path` when `source` is copied to `into`, most likely first.
pub(super) fn copy_source_candidates(source: &str, into: &str, path: &str, names_folder: bool) -> Vec<String> {
    let Some(rest) = strip_folder(path, into) else { return Vec::new() };
    let source = normalize_path(source);
    let name = source.rsplit('/').next().unwrap_or(&source);
    let mut out = Vec::new();
    if name.contains(['*', '?', '[']) {
        let first = rest.split('/').next().unwrap_or(rest);
        // A star requests all wheels of a directory.
        let all = first == "*" && name == "*.whl";
        if !first.is_empty() && (all || path_matches(name, first)) {
            let folder = source.rsplit_once('/').map_or("", |(folder, _)| folder);
            out.push(format!("{folder}/{rest}"));
        }
        return out;
    }
    if rest.is_empty() && !names_folder {
        out.push(source.clone());
    }
    if rest == name && !rest.is_empty() {
        out.push(source.clone());
    }
    if !rest.is_empty() {
        out.push(format!("{source}/{rest}"));
    }
    out
}

/// A bind mount of a RUN: a path of the build context, a build stage or an image, and where the RUN sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// The stage or image that is mounted; `None` for the build context.
    pub(super) from: Option<String>,
    /// The index of the build stage that `from` names, if any.
    pub(super) stage: Option<usize>,
    /// The path in the build context, stage or image.
    pub(super) source: String,
    /// The absolute path in the RUN.
    pub(super) target: String,
}

/// The default folder of mounted build secrets.
const SECRETS_FOLDER: &str = "/run/secrets";
/// The home directory of root, and the parent of all other home directories.
const HOME_FOLDERS: (&str, &str) = ("/root/", "/home/");

/// Whether a build secret is mounted at a path; one mounted in the home directory of another user counts for root.
fn is_secret_mount(dockerfile: &Dockerfile, run: &RunInstruction, path: &str) -> bool {
    let Some(instruction) = dockerfile.instructions.get(run.instruction) else { return false };
    let flags = instruction.flags.iter().filter(|flag| flag.name == "mount").filter_map(|flag| flag.value.as_ref());
    let dialect = Dialect::Dockerfile(dockerfile.escape);
    flags.map(MappedText::text).any(|text| {
        let value = |names: &[&str]| {
            let pairs = text.split(',').filter_map(|part| part.split_once('='));
            let (_, value) = pairs.map(|(name, value)| (name.trim(), value)).find(|(name, _)| names.contains(name))?;
            expand_variables(value, dialect, &|name| run.scope.lookup(name)).known_text().map(str::to_owned)
        };
        if value(&["type"]).as_deref() != Some("secret") {
            return false;
        }
        let explicit_target =
            value(&["target", "dst", "destination"]).map(|target| absolute_path(&run.folder, &target));
        // One that is given as a variable alone is no file.
        let plain = || value(&["id", "source", "src"]).filter(|_| value(&["env"]).is_none());
        let Some(target) = explicit_target.or_else(|| Some(format!("{SECRETS_FOLDER}/{}", plain()?))) else {
            return false;
        };
        let (own, others) = HOME_FOLDERS;
        let below = target.strip_prefix(others).and_then(|rest| rest.split_once('/')).map(|(_, rest)| rest);
        target == path || below.is_some_and(|below| path.strip_prefix(own) == Some(below))
    })
}

/// Whether a RUN has more than `most` mounts.
fn has_more_mounts_than(dockerfile: &Dockerfile, run: &RunInstruction, most: usize) -> bool {
    let flags = dockerfile.instructions.get(run.instruction).map_or(&[][..], |instruction| &instruction.flags);
    flags.len() > most && flags.iter().filter(|flag| flag.name == "mount").nth(most).is_some()
}

/// Returns the bind mounts of a RUN.
pub(super) fn bind_mounts(dockerfile: &Dockerfile, run: &RunInstruction) -> Vec<Mount> {
    let Some(instruction) = dockerfile.instructions.get(run.instruction) else { return Vec::new() };
    let flags = instruction.flags.iter().filter(|flag| flag.name == "mount");
    let dialect = Dialect::Dockerfile(dockerfile.escape);
    let one = |text: &str| {
        let value = |names: &[&str]| {
            let pairs = text.split(',').filter_map(|part| part.split_once('='));
            let (_, value) = pairs.map(|(name, value)| (name.trim(), value)).find(|(name, _)| names.contains(name))?;
            expand_variables(value, dialect, &|name| run.scope.lookup(name)).known_text().map(str::to_owned)
        };
        // What a RUN leaves in a cache is no file of the build.
        if value(&["type"]).is_some_and(|kind| kind != "bind") {
            return None;
        }
        let from = value(&["from"]);
        let stage = from.as_deref().and_then(|name| dockerfile.find_stage_before(name, run.stage));
        let target = value(&["target", "dst", "destination"]).filter(|target| !target.is_empty())?;
        let target = absolute_path(&run.folder, &target);
        Some(Mount { from, stage, source: value(&["source", "src"]).unwrap_or_default(), target })
    };
    flags.filter_map(|flag| one(flag.value.as_ref().map_or("", MappedText::text))).collect()
}

/// Returns the sources of a COPY that are known.
pub(super) fn known_sources(copy: &CopyInstruction) -> impl Iterator<Item = &str> {
    copy.sources.iter().filter_map(|(path, _)| path.known_text())
}

/// Records the files that a RUN had read: those behind the facts from `first` on, except the Dockerfile.
pub(super) fn record_referenced_files(seen: &mut Observations, first: u32, dockerfile: SourceId, run: &RunInstruction) {
    let facts = (first..seen.facts.len()).flat_map(|id| seen.facts.origins(FactId(id)));
    let mut texts: Vec<SourceId> =
        facts.filter_map(|origin| origin_source(&origin)).filter(|text| *text != dockerfile).collect();
    texts.sort_unstable();
    texts.dedup();
    seen.base_changes
        .referenced_texts
        .extend(texts.into_iter().map(|text| ReferencedText { text: text.0, instruction: run.instruction }));
}

/// Returns the source text of an origin, if it is in a file.
fn origin_source(origin: &Origin) -> Option<SourceId> {
    match origin {
        Origin::File { source, .. } => Some(*source),
        Origin::Config { .. } | Origin::Layer { .. } | Origin::Option(_) | Origin::Report(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_back_through_a_copy() {
        for (source, into, path, folder, expected) in [
            (
                "requirements.txt",
                "/app",
                "/app/requirements.txt",
                true,
                vec!["requirements.txt", "requirements.txt/requirements.txt"],
            ),
            ("requirements/gpu.txt", "/tmp/r.txt", "/tmp/r.txt", false, vec!["requirements/gpu.txt"]),
            (".", "/app", "/app/a/b.txt", true, vec!["/a/b.txt"]),
            ("src", "/app", "/app/b.txt", false, vec!["src/b.txt"]),
            ("req*.txt", "/app", "/app/req-a.txt", true, vec!["/req-a.txt"]),
            ("req*.txt", "/app", "/app/other.txt", true, vec![]),
            ("a.txt", "/app", "/apple/a.txt", true, vec![]),
            ("a.txt", "/app", "/etc/passwd", true, vec![]),
        ] {
            assert_eq!(copy_source_candidates(source, into, path, folder), expected, "{source} {into} {path}");
        }
    }

    #[test]
    fn a_source_with_parents_is_below_its_folders() {
        for (source, rest, expected) in [
            ("./req/gpu.txt", "req/gpu.txt", Some("req/gpu.txt")),
            ("req", "req/gpu.txt", Some("req/gpu.txt")),
            ("**/*.txt", "a/b/r.txt", Some("a/b/r.txt")),
            ("x/./y/r.txt", "y/r.txt", Some("x/y/r.txt")),
            ("req/gpu.txt", "gpu.txt", None),
            ("x/./y/r.txt", "x/y/r.txt", None),
            ("req", "requirements.txt", None),
            ("*.txt", "r.in", None),
        ] {
            assert_eq!(source_with_parents(source, rest).as_deref(), expected, "{source} {rest}");
        }
    }

    #[test]
    fn paths_are_relative_to_a_folder() {
        for (folder, path, expected) in [
            ("/app", "r.txt", "/app/r.txt"),
            ("/app", "../r.txt", "/r.txt"),
            ("/app", "/r.txt", "/r.txt"),
            ("/", "../../etc/passwd", "/etc/passwd"),
            ("/app", "~/.pip/pip.conf", "/root/.pip/pip.conf"),
        ] {
            assert_eq!(absolute_path(folder, path), expected, "{folder} {path}");
        }
    }
}

#[cfg(test)]
mod mounts_tests {
    use super::*;
    use crate::dockerfile::EvaluateOptions;

    #[test]
    fn a_secret_is_at_the_target_of_its_mount() {
        for (flags, path, expected) in [
            ("--mount=type=secret,id=p,target=/etc/pip.conf", "/etc/pip.conf", true),
            ("--mount=type=secret,id=p,dst=pip.conf", "/app/pip.conf", true),
            ("--mount=type=secret,id=p", "/run/secrets/p", true),
            ("--mount=type=cache,target=/x --mount=id=p,type=secret", "/run/secrets/p", true),
            ("--mount=type=secret,id=p,target=/home/me/.pip/pip.conf", "/root/.pip/pip.conf", true),
            ("--mount=type=secret,id=p,target=/home/me/.pip/pip.conf", "/etc/pip.conf", false),
            ("--mount=type=secret,id=p,target=/home/me/.netrc", "/root/.pip/pip.conf", false),
            ("--mount=type=secret,id=p,env=TOKEN", "/run/secrets/p", false),
            ("--mount=type=secret,id=pip.conf", "/etc/pip.conf", false),
            ("--mount=type=cache,target=/etc/pip.conf", "/etc/pip.conf", false),
            ("--mount=type=ssh", "/run/secrets/p", false),
            ("--network=none", "/etc/pip.conf", false),
        ] {
            let file = Dockerfile::parse(&format!("FROM scratch\nWORKDIR /app\nRUN {flags} true\n"));
            let options = EvaluateOptions::new(crate::knowledge::Knowledge::built_in());
            let evaluated = file.evaluate(&options).expect("a stage");
            assert_eq!(is_secret_mount(&file, &evaluated.runs[0], path), expected, "{flags} {path}");
        }
    }

    #[test]
    fn a_bind_mount_has_a_source_and_a_target() {
        for (flags, expected) in [
            ("--mount=type=bind,source=w,target=/w", "- - w /w"),
            ("--mount=target=.", "- -  /app"),
            ("--mount=type=bind,from=b,src=/wheels,dst=w", "b 0 /wheels /app/w"),
            ("--mount=from=0,target=/x --mount=type=bind,destination=y", "0 0  /x; - -  /app/y"),
            ("--mount=type=bind,from=$IMAGE,target=/x", "python:3.12 -  /x"),
            // No files of elsewhere.
            ("--mount=type=cache,target=/root/.cache", ""),
            ("--mount=type=secret,id=x,target=/x", ""),
            ("--mount=type=tmpfs,target=/x", ""),
            ("--mount=type=bind,source=w", ""),
            ("--mount=type=bind,source=w,target=$NOBODY", ""),
            ("--network=none", ""),
        ] {
            let text = format!("FROM a AS b\nFROM scratch\nARG IMAGE=python:3.12\nWORKDIR /app\nRUN {flags} true\n");
            let file = Dockerfile::parse(&text);
            let evaluated =
                file.evaluate(&EvaluateOptions::new(crate::knowledge::Knowledge::built_in())).expect("a stage");
            let format_mount = |mount: Mount| {
                let stage = mount.stage.map_or_else(|| "-".to_owned(), |stage| stage.to_string());
                format!("{} {stage} {} {}", mount.from.as_deref().unwrap_or("-"), mount.source, mount.target)
            };
            let found: Vec<String> = bind_mounts(&file, &evaluated.runs[0]).into_iter().map(format_mount).collect();
            assert_eq!(found.join("; "), expected, "{flags}");
        }
    }
}
