//! Parts of the base image that commands remove: CUDA compat packages, their directories, and `ldconfig` files.

use crate::build::{Command, FileEffect, Operand, is_system_package_manager};
use crate::dockerfile::{EvaluatedTarget, RunInstruction};
use crate::extract::stage_files::absolute_path;
use crate::model::fact::{Evidence, FactKey, Observations, Origin, REMOVED_BY_COMMAND, ValueState};
use crate::model::package::PackageManager;
use crate::shell;
use crate::text::source::{SourceId, Span};

/// Options and subcommands of system package managers that remove packages.
const REMOVE_VERBS: &[&str] =
    &["-P", "-e", "-r", "--purge", "--remove", "autoremove", "erase", "purge", "remove", "rm"];
/// The prefix of the names of compat packages.
const COMPAT_PACKAGE_PREFIX: &str = "cuda-compat";
/// The prefix of the directories of CUDA toolkits.
const TOOLKIT_PREFIX: &str = "/usr/local/cuda";
/// The folder of the `ldconfig` configuration files.
const LD_CONF_FOLDER: &str = "/etc/ld.so.conf.d";

/// Records what the commands of a target remove; packages that were installed before are no longer present.
///
/// A command that may not run removes nothing for certain, and is left out.
pub(super) fn record_removals(evaluated: &EvaluatedTarget, source: SourceId, seen: &mut Observations) {
    for run in evaluated.runs.iter().filter(|run| mentions_cuda(run)) {
        for command in shell::run_commands(run).iter().filter(|command| !command.conditional) {
            for (what, span) in removed_by_command(command, &run.folder) {
                let key = if what.starts_with('/') { FactKey::File } else { FactKey::Package };
                let evidence = Evidence::Leaf(vec![Origin::File { source, span }]);
                let state = ValueState::Absent { searched: REMOVED_BY_COMMAND };
                let fact = seen.facts.add(key, Some(&what), state, evidence);
                if !what.starts_with(LD_CONF_FOLDER) {
                    remove_earlier_compat_packages(seen, source, span);
                }
                seen.base_changes.removed.push((what, fact));
            }
        }
    }
}

/// Removes compat packages that were installed before `span`.
fn remove_earlier_compat_packages(seen: &mut Observations, source: SourceId, span: Span) {
    let facts = &seen.facts;
    let earlier = |origin: &Origin| matches!(origin, Origin::File { source: own, span: at } if *own == source && at.start < span.start);
    seen.packages.retain(|package| {
        package.requirement.manager != PackageManager::System
            || !package.requirement.name.starts_with(COMPAT_PACKAGE_PREFIX)
            || !facts.origins(package.fact).iter().any(earlier)
    });
}

/// Whether a RUN mentions CUDA or `ldconfig` files; the commands of others are not parsed.
fn mentions_cuda(run: &RunInstruction) -> bool {
    run.mentions("cuda") || run.mentions(LD_CONF_FOLDER) || run.folder.starts_with(TOOLKIT_PREFIX)
}

/// Whether a package name or pattern matches compat packages: `cuda-compat-12-4`, `cuda-*`.
fn matches_compat_package(text: &str) -> bool {
    text.starts_with(COMPAT_PACKAGE_PREFIX)
        || text.strip_suffix('*').is_some_and(|head| head.len() > 3 && COMPAT_PACKAGE_PREFIX.starts_with(head))
}

/// Returns the compat packages and paths that one command removes.
fn removed_by_command(command: &Command, start_folder: &str) -> Vec<(String, Span)> {
    let program = command.program().unwrap_or_default();
    let words = || command.words.iter().skip(1).filter_map(|word| Some((word.known()?, word.span)));
    let owned = |(text, span): (&str, Span)| (text.to_owned(), span);
    if let FileEffect::Remove(paths) = FileEffect::of_command(command) {
        let ours = |path: &str| path.starts_with(TOOLKIT_PREFIX) || path.starts_with(LD_CONF_FOLDER);
        let folder = command.folder.as_deref().map(|folder| absolute_path(start_folder, folder));
        let absolute = |operand: &Operand| {
            let path = operand.text.as_deref()?;
            let known = path.starts_with('/') || folder.is_some();
            Some((known.then(|| absolute_path(folder.as_deref().unwrap_or_default(), path))?, operand.span))
        };
        return paths.iter().filter_map(absolute).filter(|(path, _)| ours(path)).collect();
    }
    if is_system_package_manager(program) && words().any(|(text, _)| REMOVE_VERBS.contains(&text)) {
        return words().filter(|(text, _)| matches_compat_package(text)).map(owned).collect();
    }
    Vec::new()
}
