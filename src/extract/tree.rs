//! Which file of the build context lies at a path of the image: through COPY, ADD and bind mounts.

use std::cell::Cell;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::context::Missing;
use crate::context::Shelf;
use crate::context::matches;
use crate::context::normal;
use crate::context::rooted;
use crate::dockerfile::CopyInstruction;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::Evaluated;
use crate::dockerfile::Mapped;
use crate::dockerfile::Pattern;
use crate::dockerfile::Resolved;
use crate::dockerfile::RunInstruction;
use crate::extract::mounts::is_secret;
use crate::extract::mounts::many as many_mounts;
use crate::extract::mounts::mounts;
use crate::install::NAMED;
use crate::install::NOT_BROUGHT;
use crate::install::OF_A_SECRET;
use crate::install::Opened;

/// No text that is asked for by its path is longer.
const LONGEST: usize = 16 * 1024;
/// How files of settings for installers end.
const SETTINGS: &[&str] = &[".conf", "/uv.toml"];
/// Stages copy from stages, but not for ever.
const DEEPEST: usize = 4;
/// Each instruction of a stage may copy from another, which does the same: so many looks end in time.
const MOST_LOOKS: usize = 16 * 1024;
/// Stages are kept with the variables of each instruction.
const MOST_KEPT: usize = 32 * 1024;
/// Every file that a RUN asks for is held against all its mounts.
const MOST_MOUNTS: usize = 256;

/// The files of one stage as its instructions lay them out.
#[derive(Clone, Copy)]
pub(super) struct Tree<'a> {
    pub(super) dockerfile: &'a Dockerfile,
    pub(super) evaluated: &'a Evaluated,
    pub(super) options: &'a EvaluateOptions,
    pub(super) shelf: &'a dyn Shelf,
    pub(super) looks: &'a Looks,
}

/// How often files were looked for in other stages, and what those stages are.
#[derive(Debug, Default)]
pub(super) struct Looks {
    done: Cell<usize>,
    /// Whether anything was decided by the machine that the image is for.
    pub(super) machine: Cell<bool>,
    stages: RefCell<BTreeMap<usize, Arc<Evaluated>>>,
}

impl Looks {
    /// A stage for one more look; none where too many were taken.
    fn stage(&self, tree: &Tree<'_>, stage: usize) -> Result<Arc<Evaluated>, String> {
        self.done.set(self.done.get() + 1);
        if self.done.get() > MOST_LOOKS {
            return Err(format!("more than {MOST_LOOKS} lookups in other stages are necessary"));
        }
        if let Some(known) = self.stages.borrow().get(&stage) {
            return Ok(Arc::clone(known));
        }
        let instructions = (self.stages.borrow().len() + 1) * tree.dockerfile.instructions.len();
        if instructions > MOST_KEPT {
            return Err(format!("files come from too many stages: more than {MOST_KEPT} instructions count"));
        }
        let options = EvaluateOptions { target: Some(stage.to_string()), ..tree.options.clone() };
        let evaluated = Arc::new(tree.dockerfile.evaluate(&options).map_err(|error| error.to_string())?);
        self.stages.borrow_mut().insert(stage, Arc::clone(&evaluated));
        Ok(evaluated)
    }
}

/// A path of the image: `path` as seen from `folder`.
pub(super) fn absolute(folder: &str, path: &str) -> String {
    match path.strip_prefix("~/") {
        Some(rest) => rooted("/root", rest.trim_start_matches('/')),
        None => rooted(folder, path),
    }
}

/// Whether a COPY or ADD puts its sources below a folder, under their own names.
pub(super) fn ends_in_folder(copy: &CopyInstruction, destination: &str) -> bool {
    destination.ends_with('/') || copy.sources.len() > 1 || destination.ends_with('.')
}

/// Where a COPY puts a file of another stage, where it brings it from `source`.
pub(super) fn carried(path: &str, source: &str, copy: &CopyInstruction) -> Option<String> {
    let destination = copy.destination.as_ref().and_then(|(path, _)| path.known())?;
    let into = absolute(&copy.folder, destination);
    let source = absolute("/", source);
    let (folder, name) = source.rsplit_once('/')?;
    if name.contains(['*', '?', '[']) {
        let rest = below(path, folder)?;
        return matches(name, rest.split('/').next()?).then(|| absolute(&into, rest));
    }
    match below(path, &source)? {
        "" if ends_in_folder(copy, destination) => Some(absolute(&into, name)),
        "" => Some(into),
        rest => Some(absolute(&into, rest)),
    }
}

impl Tree<'_> {
    /// The file at a path of the image, as a RUN finds it.
    pub(super) fn open(&self, run: &RunInstruction, path: &str) -> Result<Opened, String> {
        if many_mounts(self.dockerfile, run, MOST_MOUNTS) {
            return Err(format!("it may be under one of more than {MOST_MOUNTS} mounts"));
        }
        if let Some(answer) = self.mounted(run, path) {
            return answer;
        }
        if is_secret(self.dockerfile, run, path) {
            return Err(OF_A_SECRET.to_owned());
        }
        self.copied(Some(run), usize::MAX, path, 0)
    }

    /// The instruction that brings the file at a path of the image; the first one where that is not told.
    pub(super) fn brought_at(&self, run: &RunInstruction, path: &str) -> usize {
        if self.mounted(run, path).is_some() {
            return run.instruction;
        }
        let copies = self.evaluated.copies.iter().rev().filter(|copy| copy.instruction < run.instruction);
        let brings = |copy: &&CopyInstruction| {
            let Some(destination) = copy.destination.as_ref().and_then(|(path, _)| path.known()) else { return false };
            if is_beside(path, destination) {
                return false;
            }
            let into = absolute(&copy.folder, destination);
            let named = copy.sources.iter().filter_map(|(source, _)| source.known());
            let mut from = named.flat_map(|source| candidates(source, &into, path, ends_in_folder(copy, destination)));
            from.any(|source| self.at_source(copy, &source, path, 0).is_ok())
        };
        copies.clone().find(brings).map_or(0, |copy| copy.instruction)
    }

    fn shelf(&self, context: &str, path: &str) -> Result<Opened, Missing> {
        let file = self.shelf.open(&normal(context))?;
        let text = Mapped::whole(&file.text, 0);
        Ok(Opened { kept: file.kept, ..Opened::new(Some(file.source), path, text) })
    }

    /// `--mount=type=bind,source=requirements.txt,target=requirements.txt`.
    pub(super) fn mounted(&self, run: &RunInstruction, path: &str) -> Option<Result<Opened, String>> {
        for mount in mounts(self.dockerfile, run) {
            let Some(below) = below(path, &mount.target) else { continue };
            let source = format!("{}/{below}", mount.source);
            return Some(match (mount.from, mount.stage) {
                (None, _) => self.shelf(&source, path).map_err(|missing| missing.to_string()),
                (Some(_), Some(stage)) => self.of_stage(stage, run.instruction, &source, 0),
                (Some(from), None) => Err(format!("it comes from `{from}`")),
            });
        }
        None
    }

    /// The file of another stage as its COPY instructions bring it.
    fn of_stage(&self, stage: usize, before: usize, path: &str, depth: usize) -> Result<Opened, String> {
        let evaluated = self.looks.stage(self, stage)?;
        let tree = Tree { evaluated: &evaluated, ..*self };
        tree.copied(None, before, &absolute("/", path), depth + 1)
    }

    fn copied(&self, run: Option<&RunInstruction>, before: usize, path: &str, depth: usize) -> Result<Opened, String> {
        let before = run.map_or(before, |run| run.instruction);
        let mut why = None;
        for copy in self.evaluated.copies.iter().rev().filter(|copy| copy.instruction < before) {
            let Some((destination, _)) = &copy.destination else { continue };
            let Some(destination) = destination.known() else { continue };
            if is_beside(path, destination) {
                continue;
            }
            let into = absolute(&copy.folder, destination);
            let names_folder = ends_in_folder(copy, destination);
            for (source, _) in &copy.sources {
                let Some(source) = source.known() else { continue };
                if let Some(found) = self.heredoc(copy, source, &into, path, names_folder) {
                    return Ok(found);
                }
                let candidates = if copy.parents {
                    below(path, &into).and_then(|rest| in_parents(source, rest)).into_iter().collect()
                } else {
                    candidates(source, &into, path, names_folder)
                };
                for candidate in candidates {
                    match self.at_source(copy, &candidate, path, depth) {
                        Ok(opened) => return Ok(opened),
                        Err(Some(reason)) if names(copy, source, &candidate, path) && is_absent(copy, &reason) => {
                            why = Some(NAMED.to_owned());
                        }
                        Err(Some(reason)) => drop(why.get_or_insert(reason)),
                        Err(None) => {}
                    }
                }
            }
        }
        Err(why.unwrap_or_else(|| NOT_BROUGHT.to_owned()))
    }

    /// The files of a COPY that lie at certain paths of the image, with their texts.
    pub(super) fn brought(&self, copy: &CopyInstruction, wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let Some(destination) = copy.destination.as_ref().and_then(|(path, _)| path.known()) else { return Vec::new() };
        let into = absolute(&copy.folder, destination);
        let names = copy.sources.iter().filter_map(|(source, _)| source.known()).map(|source| {
            let source = source.strip_prefix("<<").map_or(source, heredoc_name);
            source.rsplit('/').next().unwrap_or(source)
        });
        let below = names.map(|name| format!("{}/{name}", into.trim_end_matches('/')));
        let paths = std::iter::once(into.clone()).chain(below).filter(|path| wanted(path));
        let text = |path: String| {
            let opened = self.copied(None, copy.instruction + 1, &path, 0).ok()?;
            let text = opened.text.text();
            // What a variable stands for there is not looked up.
            (text.len() <= LONGEST && !text.contains('$')).then(|| (path, text.to_owned()))
        };
        paths.filter_map(text).collect()
    }

    /// The file where a COPY takes it from; no reason where it is simply not there.
    fn at_source(
        &self,
        copy: &CopyInstruction,
        from: &str,
        path: &str,
        depth: usize,
    ) -> Result<Opened, Option<String>> {
        match (&copy.from, copy.from_stage) {
            (None, _) => self.shelf(from, path).map_err(|missing| Some(missing.to_string())),
            (Some(_), Some(stage)) if depth < DEEPEST => {
                self.of_stage(stage, copy.instruction, from, depth).map_err(Some)
            }
            (Some((Resolved::Known { value, .. }, _)), _) => Err(Some(format!("it comes from `{value}`"))),
            (Some(_), _) => Err(Some("it comes from another stage or image".to_owned())),
        }
    }

    /// `COPY <<EOF requirements.txt`: the file stands in the Dockerfile itself.
    fn heredoc(
        &self,
        copy: &CopyInstruction,
        source: &str,
        into: &str,
        path: &str,
        names_folder: bool,
    ) -> Option<Opened> {
        let name = heredoc_name(source.strip_prefix("<<")?);
        let here = if names_folder { format!("{into}/{name}") } else { into.to_owned() };
        let heredocs = &self.dockerfile.instructions.get(copy.instruction)?.heredocs;
        let body = heredocs.iter().find(|heredoc| heredoc.name == name).filter(|_| here == path)?;
        Some(Opened::new(None, path, body.body.clone()))
    }
}

/// Whether a COPY names a lock file by its name, or a file of settings wherever it comes from.
fn names(copy: &CopyInstruction, source: &str, candidate: &str, path: &str) -> bool {
    let ending = |path: &str| path.rsplit_once('.').map(|(_, ending)| ending.to_owned());
    let same = source.rsplit('/').next() == path.rsplit('/').next();
    let settings = SETTINGS.iter().any(|ending| path.ends_with(ending));
    (copy.from.is_none() && same && ending(source).as_deref() == Some("lock"))
        || (settings && normal(source) == candidate)
}

/// Whether what a COPY names is there for it, and not at hand.
fn is_absent(copy: &CopyInstruction, reason: &str) -> bool {
    let lacks = [Missing::NotThere, Missing::NoContext].iter().any(|missing| reason == missing.to_string());
    lacks || (copy.from.is_some() && copy.from_stage.is_none())
}

/// The name of a heredoc behind its sign: `EOF` of `-"EOF"`.
pub(super) fn heredoc_name(written: &str) -> &str {
    written.trim_start_matches('-').trim_matches(['"', '\''])
}

/// What follows a folder, or nothing where both are the same.
pub(super) fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
}

/// Where what lies at `rest` of the destination comes from when a source keeps its folders, those behind `/./` alone.
fn in_parents(source: &str, rest: &str) -> Option<String> {
    let (above, kept) = source.split_once("/./").unwrap_or(("", source));
    let kept = normal(kept);
    let whole = Pattern::new(&kept).and_then(|pattern| pattern.matches(rest)) == Some(true);
    let inside = below(&format!("/{rest}"), &format!("/{kept}")).is_some();
    (whole || inside).then(|| if above.is_empty() { rest.to_owned() } else { format!("{above}/{rest}") })
}

/// Whether a path surely does not lie at or below a destination: one that is written in full, with nothing to leave out.
fn is_beside(path: &str, destination: &str) -> bool {
    let whole = destination.trim_end_matches('/');
    !path.starts_with(whole) && whole.starts_with('/') && !whole.contains("//") && !whole.contains("/.")
}

/// Where `path` may come from when `source` is copied to `into`, likeliest first.
pub(super) fn candidates(source: &str, into: &str, path: &str, names_folder: bool) -> Vec<String> {
    let Some(rest) = below(path, into) else { return Vec::new() };
    let source = normal(source);
    let name = source.rsplit('/').next().unwrap_or(&source);
    let mut out = Vec::new();
    if name.contains(['*', '?', '[']) {
        let first = rest.split('/').next().unwrap_or(rest);
        // All wheels of a folder are asked for by a star.
        let all = first == "*" && name == "*.whl";
        if !first.is_empty() && (all || matches(name, first)) {
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
            assert_eq!(candidates(source, into, path, folder), expected, "{source} {into} {path}");
        }
    }

    #[test]
    fn a_source_that_keeps_its_folders_is_found_below_them() {
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
            assert_eq!(in_parents(source, rest).as_deref(), expected, "{source} {rest}");
        }
    }

    #[test]
    fn what_lies_beside_a_destination_is_told_only_where_it_is_written_in_full() {
        for (path, destination, expected) in [
            ("/b/x", "/a", true),
            ("/b", "/a/", true),
            ("/apple", "/b/c", true),
            // At it, below it, or with the same beginning.
            ("/a", "/a", false),
            ("/a/x", "/a/", false),
            ("/apple", "/a", false),
            ("/x", "/", false),
            // Parts that may go away.
            ("/b/x", "/a/../b", false),
            ("/a/b", "/a/./b", false),
            ("/a/b", "/a//b", false),
            // Seen from a folder.
            ("/app/x", "app", false),
            ("/app/x", "./", false),
            ("/root/x", "~/", false),
        ] {
            assert_eq!(is_beside(path, destination), expected, "{path} {destination}");
        }
    }

    #[test]
    fn paths_are_seen_from_a_folder() {
        for (folder, path, expected) in [
            ("/app", "r.txt", "/app/r.txt"),
            ("/app", "../r.txt", "/r.txt"),
            ("/app", "/r.txt", "/r.txt"),
            ("/", "../../etc/passwd", "/etc/passwd"),
            ("/app", "~/.pip/pip.conf", "/root/.pip/pip.conf"),
        ] {
            assert_eq!(absolute(folder, path), expected, "{folder} {path}");
        }
    }
}
