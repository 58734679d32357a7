//! Reads the effects of a command on packages, by the installer that it calls.

use crate::build::{Command, Word};
use crate::dockerfile::{ExpandedText, RunInstruction, VariableLookup};
use crate::install::context::{CommandContext, OpenedFile};
use crate::install::effects::InstallEffects;
use crate::install::invocation::{
    InstallerInvocation, installer_invocation, python_version_of_program, run_command_index,
};
use crate::install::marker::{MarkerEnvironment, TargetMachine};
use crate::install::{
    conda, driver_installers, framework_archive, lock_export, pip, project_tools, standard_streams, system_packages,
};
use crate::knowledge::{InstallerSyntax, Knowledge};
use crate::model::cause::Cause;
use crate::model::fact::InstallerBehavior;

/// Returns the effects of a command of a RUN instruction, without reading the files that it names.
pub fn read_installs(command: &Command, run: &RunInstruction, knowledge: Knowledge) -> InstallEffects {
    let environment = MarkerEnvironment { machine: TargetMachine::new("x86_64"), python: None };
    let open = |_: &str, _: &str| Err(Cause::NotRead);
    read_installs_in_context(
        command,
        CommandContext { lookup: &|name| run.scope.lookup(name), open: &open, environment, knowledge },
    )
}

/// Returns the effects of a command in a context, including those of the files that it names.
pub fn read_installs_in_context(command: &Command, context: CommandContext<'_>) -> InstallEffects {
    let variable = |name: &str| match command.variable(name) {
        Some(value) => value.known_text().map(str::to_owned),
        None => match (context.lookup)(name) {
            VariableLookup::Known(value, _) => Some(value),
            _ => None,
        },
    };
    let mut found = InstallEffects::default();
    let mut words = command.words.as_slice();
    let mut xargs_arguments: Option<Result<Vec<OpenedFile>, Cause>> = None;
    for _ in 0..8 {
        let Some(program) = words.first().and_then(Word::known) else { break };
        let program = program.rsplit('/').next().unwrap_or(program);
        let after = |skip: usize| words.get(skip..).unwrap_or(&[]);
        let (row, from) = match installer_invocation(program, words) {
            Some(InstallerInvocation::Inside(skip)) => {
                if program == "xargs" {
                    xargs_arguments = Some(standard_streams::xargs_arguments(words, command, &context));
                }
                words = after(skip);
                continue;
            }
            Some(InstallerInvocation::Installer(row, from)) => (row, from),
            None => {
                driver_installers::read_installer(words, command, context.knowledge, &mut found);
                framework_archive::read_downloads(words, command, context.knowledge, &mut found);
                break;
            }
        };
        let tool = row.words.first().copied().unwrap_or_default();
        let arguments = after(from);
        match row.syntax {
            InstallerSyntax::ProjectRun | InstallerSyntax::CondaRun => {
                let skip = run_command_index(row.syntax, words, from);
                if matches!(tool, "uv" | "pixi") {
                    // What a project needs is installed before its program runs.
                    let own = words.get(from - 1..skip).unwrap_or_default();
                    project_tools::read_arguments(tool, own, command, &context, &mut found);
                }
                words = after(skip);
                continue;
            }
            InstallerSyntax::Pip | InstallerSyntax::Uv => {
                let is_uv = row.syntax == InstallerSyntax::Uv;
                let piped = xargs_arguments.take();
                pip::read_arguments(arguments, is_uv, piped, command, &context, &variable, &mut found);
            }
            InstallerSyntax::Requirements => {
                let verb = words.first().map(|word| word.with_text("install"));
                let install: Vec<Word> = verb.into_iter().chain(arguments.iter().cloned()).collect();
                let piped = xargs_arguments.take();
                pip::read_arguments(&install, false, piped, command, &context, &variable, &mut found);
            }
            InstallerSyntax::SingleRun => {
                project_tools::read_single_run(arguments, command, context.knowledge, &mut found);
            }
            InstallerSyntax::NewEnvironment => {
                if variable("UV_VENV_SEED").is_some() || words.iter().any(|word| word.known() == Some("--seed")) {
                    project_tools::read_seed_packages(row.seeds, command, &context, &mut found);
                }
            }
            InstallerSyntax::Synchronize => {
                let words = lock_export::pip_sync_arguments(words);
                found.behaviors.insert(InstallerBehavior::IgnoresRequirements);
                pip::read_arguments(&words, false, None, command, &context, &variable, &mut found);
            }
            InstallerSyntax::Project => project_tools::read_arguments(tool, arguments, command, &context, &mut found),
            InstallerSyntax::Conda => conda::read_arguments(arguments, command, &context, &mut found),
            InstallerSyntax::CondaLock => conda::read_conda_lock(arguments, command, &context, &mut found),
            InstallerSyntax::System => {
                let mut arguments = arguments.to_vec();
                match (xargs_arguments.take(), words.first()) {
                    (Some(Ok(texts)), Some(word)) => {
                        let names = texts.iter().flat_map(|opened| opened.text.text().split_whitespace());
                        arguments.extend(names.map(|name| word.with_text(name)));
                    }
                    (Some(Err(cause)), _) => {
                        found.unresolved.push((ExpandedText::unresolved(Vec::new(), cause), command.span));
                    }
                    _ => {}
                }
                system_packages::read_arguments(tool, &arguments, (command, context.knowledge), &mut found);
            }
        }
        if xargs_arguments.is_some() && (!found.packages.is_empty() || !found.removed.is_empty()) {
            let value = ExpandedText::unresolved(Vec::new(), Cause::MoreArguments);
            found.unresolved.push((value, command.span));
        }
        let python = python_version_of_program(program);
        for package in &mut found.packages {
            package.requirement.python.clone_from(&python);
        }
        break;
    }
    found
}

#[cfg(test)]
#[path = "command_effects_tests.rs"]
mod tests;
