//! The installs and removals of a command as observations, and what it may install or add beyond them.

use std::collections::BTreeMap;

use crate::build::{Command, DownloadTarget, FileEffect, Operand, StandardInput, TransferKind, Word};
use crate::dockerfile::{BaseKind, CopyInstruction, EvaluatedTarget};
use crate::extract::command_step::CommandStep;
use crate::install::{self, InstallEffects, PackageInstall};
use crate::knowledge::{Knowledge, RequiredLibrariesRow};
use crate::model::cause::Cause;
use crate::model::fact::{Evidence, FactKey, Facts, Origin, PrintedValue, ValueState};
use crate::model::package::{
    IndexSelection, ObservedPackage, PackageManager, PackageName, PackageVersion, Requirement,
};

/// Programs that write a text to their standard output.
const TEXT_PROGRAMS: &[&str] = &["echo", "printf"];
/// Programs that change no file themselves, but may run others: by options, as a trap, or in their own language.
const CODE_RUNNERS: &[&str] = &[".", "awk", "env", "gawk", "mawk", "source", "trap"];
/// Installers that add nothing when run with a maintenance subcommand.
const INSTALLERS: &[&str] = &["apt", "apt-get", "pip", "pip3"];
/// Subcommands of installers that add nothing to an image.
const MAINTENANCE_SUBCOMMANDS: &[&str] =
    &["autoclean", "autoremove", "cache", "check", "clean", "list", "purge", "remove", "uninstall", "update"];
/// Options of pip that take the URL of an index.
const INDEX_OPTIONS: &[&str] = &["--index-url", "--extra-index-url", "-i"];
/// Extensions of files that no loader takes for a library and no shell unpacks.
const PLAIN_EXTENSIONS: &[&str] =
    &["cfg", "csv", "in", "ini", "json", "lock", "md", "py", "toml", "txt", "yaml", "yml"];

/// What commands may have added to an image beyond what is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum UnknownAdditions {
    /// Nothing unknown.
    #[default]
    Nothing,
    /// At most links to existing files.
    Links,
    /// Any file.
    Files,
}

/// Returns the programs and libraries that a command may add to an image by what it does to files.
pub(super) fn added_files(step: CommandStep<'_>) -> UnknownAdditions {
    let runs_code = may_run_others(step.command);
    let has_substitution = step.command.words.iter().any(|word| word.raw.contains(['`', '(']));
    if runs_code || has_substitution && !step.command.program().is_some_and(|one| TEXT_PROGRAMS.contains(&one)) {
        return UnknownAdditions::Files;
    }
    let is_plain = |operand: &Operand| operand.text.as_deref().is_some_and(is_plain_file);
    let writes_text = match step.command.program() {
        Some("cat") => matches!(step.command.input, StandardInput::Text(_)),
        Some(program) => TEXT_PROGRAMS.contains(&program),
        None => false,
    };
    let is_plain_output =
        |word: &Word| word.known().is_some_and(|path| path.starts_with("/dev/") || is_plain_file(path));
    if !writes_text && !step.command.writes.iter().all(is_plain_output) {
        return UnknownAdditions::Files;
    }
    let is_harmless = match step.effect {
        _ if step.command.program() == Some("ldconfig") => return UnknownAdditions::Links,
        FileEffect::Transfer { kind: TransferKind::Link, .. } => return UnknownAdditions::Links,
        FileEffect::Nothing
        | FileEffect::Remove(_)
        | FileEffect::MakeDirectory(_)
        | FileEffect::Create(_)
        | FileEffect::Pack { .. }
        | FileEffect::Download { to: DownloadTarget::StandardOutput, may_have_options: false, .. } => true,
        FileEffect::Transfer { kind: TransferKind::Copy, recursive: false, sources, .. } => {
            sources.iter().all(is_plain)
        }
        FileEffect::Write(files) => files.iter().all(is_plain),
        FileEffect::Download { to: DownloadTarget::File(file), may_have_options: false, .. } => is_plain(file),
        FileEffect::Packages
        | FileEffect::Transfer { .. }
        | FileEffect::Download { .. }
        | FileEffect::Unpack { .. }
        | FileEffect::Clone { .. }
        | FileEffect::Unknown => false,
    };
    if is_harmless { UnknownAdditions::Nothing } else { UnknownAdditions::Files }
}

/// Whether a command changes no file itself, but may run other programs.
pub(super) fn may_run_others(command: &Command) -> bool {
    command.program().is_some_and(|program| CODE_RUNNERS.contains(&program))
}

/// Whether a file is no program, library or archive, by its extension.
pub(super) fn is_plain_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(_, extension)| PLAIN_EXTENSIONS.contains(&extension))
}

/// Whether everything that a package manager adds is in the packages that the command was found to install.
pub(super) fn are_packages_known(command: &Command, found: &InstallEffects, knowledge: Knowledge) -> bool {
    let known = |at: usize| command.words.get(at).and_then(Word::known);
    let Some(program) = known(0) else { return false };
    let program = program.rsplit('/').next().unwrap_or(program);
    if !found.unresolved.is_empty() || !found.files.is_empty() {
        return false;
    }
    // A project, or a package file, may contain anything; an extra installs more than its name indicates.
    let own = |word: &str| (word.contains('/') && !word.starts_with('-')) || word.starts_with('.');
    let own = |word: &str| own(word) && word.rsplit('.').next() != Some("txt");
    // An explicit build without dependencies is the same on every index.
    let all_single_builds = !found.packages.is_empty() && found.packages.iter().all(is_single_build);
    let of_index = |at: usize| all_single_builds && known(at - 1).is_some_and(|before| INDEX_OPTIONS.contains(&before));
    let of_index = |at: &usize| !of_index(*at);
    let mut words = (1..command.words.len()).filter(of_index).map(|at| known(at).unwrap_or("."));
    let upkeep =
        words.clone().find(|word| !word.starts_with('-')).is_some_and(|word| MAINTENANCE_SUBCOMMANDS.contains(&word));
    if found.packages.is_empty() {
        return upkeep && INSTALLERS.contains(&program);
    }
    let plain = |install: &PackageInstall| match install.requirement.manager {
        PackageManager::Pip => {
            let has_known_source = found.default_index_only || all_single_builds;
            has_known_source
                && install
                    .requirement
                    .extras
                    .iter()
                    .all(|extra| is_known_extra(&install.requirement.name, extra, knowledge))
        }
        PackageManager::System => true,
        PackageManager::Conda => knowledge.has_known_content(&install.requirement.name),
    };
    found.packages.iter().all(plain) && !words.any(own)
}

/// Whether a command may install further packages, from a list, a project or a repository that was not read.
pub(super) fn may_install_more(command: &Command, found: &InstallEffects, knowledge: Knowledge) -> bool {
    if !found.unresolved.is_empty() || found.files.iter().any(|file| !file.constraint) {
        return true;
    }
    let of_extra = |install: &PackageInstall| {
        let is_known = |extra: &PackageName| {
            is_known_extra(&install.requirement.name, extra, knowledge)
                || knowledge.is_library_free_extra(&install.requirement.name, extra)
        };
        install.requirement.manager == PackageManager::Pip
            && !install.requirement.no_deps
            && !install.requirement.extras.iter().all(is_known)
    };
    if found.packages.iter().any(of_extra) {
        return true;
    }
    let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
    let program = command.program().unwrap_or_default();
    let of_pip = install::is_pip_command(command) && words.contains(&"install");
    let runs_setup_py = program.starts_with("python")
        && words.iter().any(|word| word.rsplit('/').next() == Some("setup.py"))
        && words.iter().any(|word| matches!(*word, "install" | "develop"));
    let list = |word: &str| word.rsplit('.').next() == Some("txt");
    let project = |word: &&str| word.contains("git+") || (word.starts_with(['.', '/']) && !list(word));
    let projects = words.iter().skip(1).filter(|word| project(word)).count();
    // The version of a package that is built from sources is in no command.
    let has_unknown_version = |one: &PackageInstall| match &one.requirement.version {
        PackageVersion::Unresolved(why) => !matches!(why, Cause::VariableWithoutValue),
        PackageVersion::Exact(_) | PackageVersion::Range(_) => false,
    };
    let source_packages = found.packages.iter().filter(|one| has_unknown_version(one) || one.source.is_some()).count();
    (runs_setup_py && found.packages.is_empty()) || (of_pip && projects > source_packages)
}

/// Whether a command keeps installed versions of the packages that it names, and fits other packages to them: `uv pip
/// install`.
pub(super) fn keeps_installed_packages(command: &Command) -> bool {
    let known = |at: usize| command.words.get(at).and_then(Word::known);
    command.program() == Some("uv") && known(1) == Some("pip") && known(2) == Some("install")
}

/// Whether an install is one specific build of a package, without its dependencies.
fn is_single_build(install: &PackageInstall) -> bool {
    install.requirement.manager == PackageManager::Pip && install.requirement.no_deps && install.variant.is_some()
}

/// Whether the knowledge tables list the dependencies of an extra.
fn is_known_extra(distribution: &str, extra: &str, knowledge: Knowledge) -> bool {
    let extra = PackageName::python(extra);
    let with = |row: &RequiredLibrariesRow| row.distribution == distribution && row.with == Some(extra.as_str());
    let mut dependencies = knowledge.gpu_dependencies_of(distribution);
    dependencies.any(|row| row.extra == Some(extra.as_str())) || knowledge.required_libraries().iter().any(with)
}

/// Whether the base is an image of a registry, and COPY adds nothing but plain text files of the build context.
pub(super) fn has_only_plain_copies(evaluated: &EvaluatedTarget) -> bool {
    let text = |copy: &CopyInstruction| {
        let sources = copy.sources.iter().all(|(source, _)| source.known_text().is_some_and(is_plain_file));
        copy.from.is_none() && sources && !copy.sources.is_empty()
    };
    matches!(&evaluated.base.kind, BaseKind::Image(reference) if !reference.is_build_target())
        && evaluated.copies.iter().all(text)
}

/// Returns the package observation of one install, and adds its fact with these origins.
pub(super) fn observe_package(
    facts: &mut Facts,
    install: &PackageInstall,
    origins: Vec<Origin>,
    command: u32,
    knowledge: Knowledge,
) -> ObservedPackage {
    let PackageInstall { requirement, variant, conditional, .. } = install;
    let Requirement { manager, name, extras, version, indexes, prerelease, .. } = requirement;
    let because = |why: &Cause| Box::new(why.clone());
    let named = || name.to_string();
    let version = match version {
        PackageVersion::Unresolved(Cause::VariableWithoutValue) => {
            PackageVersion::Unresolved(Cause::VersionBehindVariable { name: named() })
        }
        PackageVersion::Unresolved(why) => {
            PackageVersion::Unresolved(Cause::VersionNotKnown { name: named(), because: because(why) })
        }
        version => version.clone(),
    };
    let specifier = match &version {
        PackageVersion::Exact(text) => format!("{name}=={text}"),
        PackageVersion::Range(range) => format!("{name}{range}"),
        PackageVersion::Unresolved(_) => named(),
    };
    let state = ValueState::Known(PrintedValue::Text(specifier));
    let fact = facts.add(FactKey::Package, Some(name), state, Evidence::Leaf(origins));
    let indexes = match indexes {
        IndexSelection::Unknown(reason) if !matches!(reason, Cause::OutsideIndex { .. }) => {
            IndexSelection::Unknown(Cause::BuildNotKnown { because: because(reason) })
        }
        indexes => indexes.clone(),
    };
    let prerelease = prerelease.as_ref().map(|why| Cause::PrereleaseVersion { name: named(), because: because(why) });
    let lacks_libraries = *manager == PackageManager::Pip && knowledge.lacks_library_extra(name, extras);
    let of_processor = |extra: &&PackageName| knowledge.other_processor_of_word(extra).is_some();
    let processor = || extras.iter().find(of_processor).filter(|_| knowledge.cpu_package(name).is_some());
    let variant = variant.as_ref().map(|variant| variant.tag.clone());
    ObservedPackage {
        variant: variant.or_else(|| processor().map(PackageName::to_string)),
        conditional: conditional.then(|| Cause::InstalledByBranch { name: named() }),
        requirement: Requirement {
            version,
            indexes,
            prerelease,
            no_deps: requirement.no_deps || lacks_libraries,
            ..requirement.clone()
        },
        dependent: None,
        location: None,
        command,
        fact,
    }
}

/// The largest number of requirements or constraints of one command for the same package; each is compared with each.
pub(super) const MAX_REPEATS: usize = 64;

/// Drops entries beyond the limit per package, and marks the last remaining version as unresolved if a dropped entry
/// differs. Returns whether any differed.
pub(super) fn limit_installs_per_package(list: &mut Vec<PackageInstall>) -> bool {
    if list.len() <= MAX_REPEATS {
        return false;
    }
    let mut kept: BTreeMap<PackageName, Vec<PackageInstall>> = BTreeMap::new();
    let mut differs: BTreeMap<PackageName, bool> = BTreeMap::new();
    list.retain(|one| {
        let alike = kept.entry(one.requirement.name.clone()).or_default();
        if alike.len() < MAX_REPEATS {
            alike.push(one.clone());
            return true;
        }
        let other = differs.entry(one.requirement.name.clone()).or_default();
        *other = *other || !alike.iter().any(|own| is_same_requirement(own, one));
        false
    });
    differs.retain(|_, other| *other);
    let any = !differs.is_empty();
    for one in list.iter_mut().rev() {
        if differs.remove(&one.requirement.name).is_some() {
            one.requirement.version = PackageVersion::behind_variable();
        }
    }
    any
}

/// Whether two entries differ in nothing but their source positions.
fn is_same_requirement(one: &PackageInstall, other: &PackageInstall) -> bool {
    PackageInstall { span: one.span, source: one.source, ..other.clone() } == *one
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::{MappedText, VariableLookup};
    use crate::install::{CommandContext, MarkerEnvironment, TargetMachine, read_installs_in_context};
    use crate::knowledge::Knowledge;
    use crate::shell::script_commands;

    /// Returns the packages that `pip install` installs for these arguments.
    fn packages_of(words: &str) -> Vec<PackageInstall> {
        let commands = script_commands(&MappedText::contiguous(&format!("pip install {words}"), 0));
        let (lookup, open) = (|_: &str| VariableLookup::Unset, |_: &str, _: &str| Err(Cause::NotCopied));
        let environment = MarkerEnvironment { machine: TargetMachine::new("x86_64"), python: None };
        let around = CommandContext { lookup: &lookup, open: &open, environment, knowledge: Knowledge::built_in() };
        read_installs_in_context(&commands[0], around).packages
    }

    #[test]
    fn repeats_of_one_package_are_limited() {
        let often = |word: &str, times: usize| vec![word; times].join(" ");
        for (words, left, expected) in [
            (often("torch==2.4.0", MAX_REPEATS), MAX_REPEATS, false),
            (often("torch==2.4.0", 40 * MAX_REPEATS), MAX_REPEATS, false),
            (often("torch==2.4.0 numpy", MAX_REPEATS + 1), 2 * MAX_REPEATS, false),
            (format!("{} torch==2.4.0", often("numpy", MAX_REPEATS)), MAX_REPEATS + 1, false),
            (format!("{} torch==2.5.0", often("torch==2.4.0", MAX_REPEATS)), MAX_REPEATS, true),
            (format!("{} torch[x]==2.4.0", often("torch==2.4.0", MAX_REPEATS)), MAX_REPEATS, true),
            (format!("{} torch", often("torch==2.4.0", MAX_REPEATS)), MAX_REPEATS, true),
        ] {
            let mut list = packages_of(&words);
            assert_eq!((limit_installs_per_package(&mut list), list.len()), (expected, left), "{words}");
            let unresolved: Vec<usize> = (0..left)
                .filter(|at| {
                    list[*at].requirement.name == "torch"
                        && list[*at].requirement.version == PackageVersion::behind_variable()
                })
                .collect();
            assert_eq!(unresolved, if expected { vec![left - 1] } else { Vec::new() }, "{words}");
        }
    }

    #[test]
    fn different_packages_are_not_limited() {
        let words: Vec<String> = (0..3 * MAX_REPEATS).map(|number| format!("p{number}=={number}")).collect();
        let mut list = packages_of(&words.join(" "));
        let before = list.clone();
        assert!(!limit_installs_per_package(&mut list));
        assert_eq!(list, before);
    }
}
