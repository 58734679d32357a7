//! Detection of a package installer that a command calls and that is certainly missing from the image, so that the
//! build fails.
//!
//! The tables state which installers a base lacks. One command, file or variable that may install one suppresses the
//! finding.

use crate::build::{Command, FileEffect, Word, is_shell, is_system_package_manager};
use crate::dockerfile::{
    BaseKind, CopyInstruction, Instruction, InstructionKind, MappedText, RunInstruction, parse_name_value_pairs,
};
use crate::extract::build_host_queries;
use crate::extract::command_effects::{is_plain_file, may_run_others};
use crate::extract::command_reader::CommandReader;
use crate::extract::command_step::CommandStep;
use crate::extract::stage_files::absolute_path;
use crate::install::python_version_of_program;
use crate::knowledge::ImageInstallersRow;
use crate::model::fact::{
    BuildMachineProperty, BuildMachineQuery, Evidence, FactKey, Origin, PrintedValue, ValueState,
};

/// The subcommands by which system package managers install packages.
const INSTALL_VERBS: &[&str] = &["add", "install"];
/// The subcommands by which they install no new package.
const MAINTENANCE_VERBS: &[&str] = &["autoclean", "autoremove", "clean", "purge", "remove", "update"];
/// Programs that change files, but add no program to a directory of PATH.
const HARMLESS_PROGRAMS: &[&str] = &["git", "sed"];
/// Commands that create links to programs.
const LINK_COMMANDS: &[&str] = &["ln", "update-alternatives"];
/// Directories that are in the PATH of every image.
const DEFAULT_PATH: &[&str] = &["/bin", "/sbin", "/usr/bin", "/usr/local/bin", "/usr/local/sbin", "/usr/sbin"];
/// Top-level directories in which a copied file may be a program, a Python module or a shell setting.
const PROGRAM_ROOTS: &[&str] = &["", "bin", "etc", "lib", "root", "sbin", "usr"];
/// Environment variables that change what a shell runs.
const SHELL_VARIABLES: &[&str] = &["BASH_ENV"];
/// Environment variables that change the module search path of Python.
const PYTHON_VARIABLES: &[&str] = &["PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE"];
/// Mount types that provide no program.
const MOUNTS_WITHOUT_PROGRAMS: &[&str] = &["cache", "secret", "ssh", "tmpfs"];

/// Records the installer that one command of a RUN calls, if it is certainly missing.
pub(super) fn record_missing_installer(
    reader: &mut CommandReader<'_>,
    step: CommandStep<'_>,
    run: &RunInstruction,
    depth: usize,
) {
    let command = step.command;
    if reader.state.any_installer {
        return;
    }
    let BaseKind::Image(base) = &reader.tree.evaluated.base.kind else { return };
    let Some(row) = reader.knowledge.installers_of_repository(&base.familiar_name()) else { return };
    let absent = |name: &&'static str| row.lacks.contains(name) && !reader.state.installers.contains(name);
    let missing = called_installer(command).filter(absent);
    match provided_installers(reader, step) {
        Some(installers) => {
            reader.state.installers.extend(installers);
            reader.state.any_installer = missing.is_some();
        }
        None => reader.state.any_installer = true,
    }
    let Some((name, word)) = missing.zip(command.words.first()) else { return };
    let certain = depth == 0
        && !command.conditional
        && !build_host_queries::tolerates_failure(run)
        && !may_be_provided(reader, command, run, row);
    if certain {
        let state = ValueState::Known(PrintedValue::Text(name.to_owned()));
        let evidence = Evidence::Leaf(vec![Origin::File { source: reader.source, span: word.span }]);
        let what = BuildMachineProperty::Installer;
        let fact = reader.seen.facts.add(FactKey::BuildAsk, Some(what.name()), state, evidence);
        reader.seen.build_probes.push(BuildMachineQuery { what, command: name.to_owned(), fact });
    }
}

/// Returns the installer that a command calls by its bare name.
fn called_installer(command: &Command) -> Option<&'static str> {
    let program = command.words.first()?.known()?;
    let word = |at: usize| command.words.get(at).and_then(Word::known);
    let of_python = is_python_program(program) && word(1) == Some("-m") && word(2) == Some("pip");
    if of_python { Some("pip") } else { installer_of_program(program) }
}

/// Returns the installer with this program name.
fn installer_of_program(program: &str) -> Option<&'static str> {
    match program {
        "conda" => Some("conda"),
        "mamba" => Some("mamba"),
        "uv" | "uvx" => Some("uv"),
        _ if program.starts_with("pip") => is_name_with_version(program, "pip").then_some("pip"),
        _ => None,
    }
}

/// Whether a program is a Python interpreter by its name.
fn is_python_program(program: &str) -> bool {
    is_name_with_version(program, "python")
}

/// Whether a program has this name, optionally followed by a Python version.
fn is_name_with_version(program: &str, name: &str) -> bool {
    let rest = program.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest == "3" || python_version_of_program(program).is_some())
}

/// Returns the installers that a command adds to the image; `None` if it may add any.
fn provided_installers(reader: &CommandReader<'_>, step: CommandStep<'_>) -> Option<Vec<&'static str>> {
    let command = step.command;
    let program = command.program()?;
    if is_system_package_manager(program) {
        let words = command.words.iter().skip(1).map(|word| word.known().unwrap_or("?"));
        let mut words = words.filter(|word| !word.starts_with('-'));
        let verb = words.next()?;
        if MAINTENANCE_VERBS.contains(&verb) {
            return Some(Vec::new());
        }
        let installers = |name: &str| {
            let name = name.split('=').next().unwrap_or(name);
            reader.knowledge.installers_of_package(name, program.starts_with("apt"))
        };
        let all: Option<Vec<&[&str]>> = words.map(installers).collect();
        return all.filter(|_| INSTALL_VERBS.contains(&verb)).map(|all| all.concat());
    }
    let idle = match step.effect {
        // Such as an activated environment, which has installers of its own.
        FileEffect::Nothing if may_run_others(command) => false,
        FileEffect::Nothing
        | FileEffect::Remove(_)
        | FileEffect::MakeDirectory(_)
        | FileEffect::Create(_)
        | FileEffect::Pack { .. }
        | FileEffect::Clone { .. } => true,
        FileEffect::Write(_) | FileEffect::Unknown => HARMLESS_PROGRAMS.contains(&program),
        FileEffect::Packages
        | FileEffect::Transfer { .. }
        | FileEffect::Download { .. }
        | FileEffect::Unpack { .. } => false,
    };
    let links = || LINK_COMMANDS.contains(&program) && links_no_installer(&reader.folder, command);
    (command.writes.is_empty() && (idle || links())).then(Vec::new)
}

/// Whether no link that a command creates can be an installer or a Python interpreter.
fn links_no_installer(folder: &str, command: &Command) -> bool {
    let known: Option<Vec<&str>> = command.words.iter().skip(1).map(Word::known).collect();
    let Some(words) = known else { return false };
    let operands: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let of_links = command.program() == Some("ln");
    let elsewhere = words.iter().any(|word| word.starts_with("-t") || word.starts_with("--target"));
    if of_links && !elsewhere {
        // A link with one operand is in the folder of the command.
        let place =
            absolute_path(folder, if operands.len() > 1 { operands.last().copied().unwrap_or(".") } else { "." });
        let of_programs = |part: &str| matches!(part, "bin" | "sbin") || part.contains('?') || part.contains("python");
        if !place.split('/').any(of_programs) {
            return true;
        }
    }
    let none = |(at, word): (usize, &&str)| {
        let (parent, name) = word.trim_end_matches('/').rsplit_once('/').unwrap_or(("", word));
        let is_place = of_links && at > 0 && at + 1 == operands.len();
        let of_image = parent.is_empty() || DEFAULT_PATH.contains(&parent);
        let of_all = matches!(name, "." | "bin" | "sbin") && !is_place;
        !of_all
            && !name.contains(['*', '?', '['])
            && installer_of_program(name).is_none()
            && (of_image || !is_python_program(name))
    };
    operands.iter().enumerate().all(none)
}

/// Whether a file, mount, variable or unknown instruction may provide the installer that a command calls.
fn may_be_provided(
    reader: &CommandReader<'_>,
    command: &Command,
    run: &RunInstruction,
    row: &ImageInstallersRow,
) -> bool {
    let dockerfile = reader.tree.dockerfile;
    let mut before = reader.tree.evaluated.copies.iter().take_while(|copy| copy.instruction < run.instruction);
    let instruction = dockerfile.instructions.get(run.instruction);
    let mut mounts = instruction.into_iter().flat_map(|one| &one.flags).filter(|flag| flag.name == "mount");
    let mut lines = dockerfile.instructions.iter().take(run.instruction);
    let python = command.program().is_some_and(is_python_program);
    let leads = |line: &Instruction| {
        matches!(line.kind, InstructionKind::Unknown(_)) || changes_search_path(line, dockerfile.escape, python, row)
    };
    let of_run = |name: &&str| command.variable(name).is_some();
    let shell = run.shell.as_ref().and_then(|words| words.first());
    let is_shell = |shell: &String| {
        let (folder, name) = shell.rsplit_once('/').unwrap_or(("", shell));
        is_shell(name) && (folder.is_empty() || DEFAULT_PATH.contains(&folder))
    };
    of_run(&"PATH")
        || SHELL_VARIABLES.iter().any(&of_run)
        || (python && PYTHON_VARIABLES.iter().any(of_run))
        || shell.is_some_and(|shell| !is_shell(shell))
        || lines.any(leads)
        || before.any(|copy| may_copy_installer(copy, row))
        || mounts
            .any(|flag| !is_mount_without_programs(flag.value.as_ref().map_or("", MappedText::text), &run.folder, row))
}

/// Whether an ARG or ENV changes where programs or Python modules are searched.
fn changes_search_path(line: &Instruction, escape: char, python: bool, row: &ImageInstallersRow) -> bool {
    if !matches!(line.kind, InstructionKind::Arg | InstructionKind::Env) {
        return false;
    }
    let of_base = |folder: &str| {
        matches!(folder, "$PATH" | "${PATH}") || DEFAULT_PATH.contains(&folder) || row.path.contains(&folder)
    };
    parse_name_value_pairs(&line.arguments, escape, line.kind == InstructionKind::Env).iter().any(|pair| {
        match pair.name.as_str() {
            "PATH" => {
                let value = pair.value.as_ref().map_or("", MappedText::text);
                !value.trim_matches(['"', '\'']).split(':').all(of_base)
            }
            name => SHELL_VARIABLES.contains(&name) || (python && PYTHON_VARIABLES.contains(&name)),
        }
    })
}

/// Whether a mount provides no program: it uses no other image and covers no program directory.
fn is_mount_without_programs(mount: &str, folder: &str, row: &ImageInstallersRow) -> bool {
    let fields = || mount.split(',').filter_map(|field| field.split_once('='));
    let own = fields().any(|(name, value)| name == "type" && MOUNTS_WITHOUT_PROGRAMS.contains(&value));
    let mut targets = fields().filter(|(name, _)| matches!(*name, "target" | "dst" | "destination"));
    let has_no_programs = |path: &str| {
        let path = absolute_path(folder, path);
        let of_home = path.strip_prefix("/root/").is_some_and(|rest| rest.starts_with('.'));
        !path.contains(['?', '$']) && (of_home || !may_contain_programs(&path, row))
    };
    own && !fields().any(|(name, _)| name == "from") && targets.all(|(_, path)| has_no_programs(path))
}

/// Whether a COPY or ADD may add an installer: its source is an image, or its destination a program directory.
fn may_copy_installer(copy: &CopyInstruction, row: &ImageInstallersRow) -> bool {
    if copy.from.is_none() && copy.sources.iter().all(|(source, _)| source.known_text().is_some_and(is_plain_file)) {
        return false;
    }
    let to = copy.destination.as_ref().map(|destination| &destination.path).filter(|path| !path.contains('?'));
    copy.from.is_some() || to.is_none_or(|path| may_contain_programs(path, row))
}

/// Whether the top-level directory of a path may contain programs.
fn may_contain_programs(path: &str, row: &ImageInstallersRow) -> bool {
    let first = |path: &str| path.trim_start_matches('/').split('/').next().unwrap_or_default().to_owned();
    let own = first(path);
    PROGRAM_ROOTS.contains(&own.as_str()) || row.path.iter().any(|folder| first(folder) == own)
}

#[cfg(test)]
mod tests {
    use crate::dockerfile::context::ContextFiles;
    use crate::dockerfile::{Dockerfile, EvaluateOptions};
    use crate::extract::observe_dockerfile;
    use crate::knowledge::Knowledge;
    use crate::model::fact::BuildMachineProperty;
    use crate::text::source::SourceId;

    /// Returns the missing installers of a Dockerfile.
    fn missing_installers(lines: &str) -> Vec<String> {
        let cuda = "FROM nvidia/cuda:11.7.1-base-ubuntu20.04\n";
        let text = if lines.starts_with("FROM") { format!("{lines}\n") } else { format!("{cuda}{lines}\n") };
        let dockerfile = Dockerfile::parse(&text);
        let options = EvaluateOptions::new(Knowledge::built_in());
        let target = observe_dockerfile(SourceId(0), &dockerfile, &options, &ContextFiles::default()).expect("a stage");
        let asks = target.seen.build_probes.into_iter();
        asks.filter(|ask| ask.what == BuildMachineProperty::Installer).map(|ask| ask.command).collect()
    }

    #[test]
    fn an_installer_that_the_base_lacks_and_no_line_provides_is_missing() {
        for (lines, expected) in [
            ("RUN pip install torch==1.13.1", "pip"),
            ("RUN [\"pip\", \"install\", \"torch\"]", "pip"),
            ("RUN pip3 install torch && pip3 install numpy", "pip"),
            ("RUN python3 -m pip install torch", "pip"),
            (
                "RUN apt-get update && apt-get install -y --no-install-recommends git curl python3 && pip3 install torch",
                "pip",
            ),
            ("COPY requirements.txt .\nRUN pip install -r requirements.txt", "pip"),
            ("WORKDIR /app\nCOPY . .\nRUN pip install .", "pip"),
            ("RUN --mount=type=cache,target=/root/.cache pip install torch", "pip"),
            ("RUN mkdir -p /app && git clone https://example.com/x /app\nRUN conda install pytorch", "conda"),
            ("RUN uv pip install torch", "uv"),
            ("RUN ln -s /usr/bin/python3 /usr/bin/python && pip install torch", "pip"),
            ("RUN ln -sf python3 /usr/bin/python && python -m pip install torch", "pip"),
            ("RUN ln -sf /usr/share/zoneinfo/UTC /etc/localtime && pip install torch", "pip"),
            ("ADD uv /opt/uv\nRUN ln -s /opt/uv /opt/tools/uv && uv pip install torch", "uv"),
            (
                "RUN update-alternatives --install /usr/bin/python python /usr/bin/python3.8 1 && pip install torch",
                "pip",
            ),
            ("RUN update-alternatives --install /usr/bin/gcc gcc /usr/bin/gcc-11 1 && pip install torch", "pip"),
            ("RUN --mount=type=cache,target=/var/cache/apt --mount=type=secret,id=x pip install torch", "pip"),
            ("ENV PYTHONPATH=/app\nRUN pip install torch", "pip"),
            ("ENV PATH=/usr/local/cuda/bin:$PATH\nRUN pip install torch", "pip"),
            ("ENV PATH=\"/usr/local/cuda/bin:${PATH}\"\nRUN pip install torch", "pip"),
            ("RUN pip install torch > /tmp/log 2>&1", "pip"),
            ("SHELL [\"/bin/bash\", \"-o\", \"pipefail\", \"-c\"]\nRUN pip install torch", "pip"),
            ("RUN apt-get update && apt-get install -y python3 python3-venv && pip install torch", "pip"),
            ("RUN apt-get update && apt-get install -y python3-distutils && pip3 install torch", "pip"),
            ("FROM debian:12 AS a\nRUN echo x\nFROM a\nRUN pip install torch", "pip"),
            ("FROM alpine:3.11\nRUN apk add git && pip3 install torch", "pip"),
            ("FROM rockylinux:9\nRUN dnf install -y git && pip install torch", "pip"),
            ("FROM python:3.11\nRUN uv pip install torch", "uv"),
            ("FROM ubuntu:22.04\nRUN apt-get install -y python3-pip\nRUN uv pip install torch", "uv"),
            ("FROM python:3.11\nRUN conda install pytorch", "conda"),
            ("FROM continuumio/miniconda3:24.1.2-0\nRUN uv pip install torch", "uv"),
        ] {
            assert_eq!(missing_installers(lines), [expected], "{lines}");
        }
    }

    #[test]
    fn a_line_that_may_provide_an_installer_is_silent() {
        for lines in [
            "RUN apt-get update && apt-get install -y python3-pip && pip3 install torch",
            "RUN apt-get install -y python3-pip && pip3 install uv && uv pip install torch",
            "RUN apt-get install -y $PACKAGES\nRUN pip install torch",
            "RUN apt-get install -y unknown-package\nRUN pip install torch",
            "RUN python3 get-pip.py\nRUN pip install torch",
            "RUN python3 -m ensurepip && python3 -m pip install torch",
            "RUN curl -sS https://bootstrap.example/get-pip.py | python3\nRUN pip install torch",
            "RUN curl -LsSf https://astral.sh/uv/install.sh | sh\nRUN uv pip install torch",
            "COPY --from=ghcr.io/astral-sh/uv:0.5 /uv /bin/uv\nRUN uv pip install torch",
            "RUN --mount=from=ghcr.io/astral-sh/uv,source=/uv,target=/bin/uv uv pip install torch",
            "RUN --mount=type=bind,from=x,source=/bin,target=/bin pip install torch",
            "COPY setup.sh /\nRUN bash /setup.sh\nRUN pip install torch",
            "COPY tools /usr/local/bin/\nRUN pip install torch",
            "COPY rootfs /\nRUN pip install torch",
            "ADD python.tar.gz /usr/local\nRUN pip install torch",
            "COPY conda /opt/conda\nENV PATH=/opt/conda/bin:$PATH\nRUN pip install torch",
            "RUN export PATH=/opt/x/bin:$PATH && pip install torch",
            "RUN /opt/conda/bin/pip install torch",
            "RUN . /opt/venv/bin/activate && pip install torch",
            "RUN printf '#!/bin/sh' > /usr/bin/pip && pip install torch",
            "RUN pip install torch || true",
            "RUN pip install torch; echo done",
            "RUN if command -v pip; then pip install torch; fi",
            "RUN echo pip install torch",
            "SHELL [\"conda\", \"run\", \"-n\", \"x\"]\nRUN pip install torch",
            "ADD miniconda.tar.gz /opt/conda\nRUN ln -s /opt/conda/bin/pip /usr/bin/pip && pip install torch",
            "ADD miniconda.tar.gz /opt/conda\nRUN ln -s /opt/conda/bin/python /usr/bin/python && python -m pip install torch",
            "ADD miniconda.tar.gz /opt/conda\nRUN ln -s /opt/conda/bin/* /usr/local/bin/ && pip install torch",
            "ADD miniconda.tar.gz /opt/conda\nRUN cd /usr/bin && ln -s /opt/conda/bin/pip && pip install torch",
            "ADD miniconda.tar.gz /opt/conda\nRUN ln -t /usr/bin -s /opt/conda/bin/pip && pip install torch",
            "ADD x.tar.gz /opt/x\nRUN ln -s /opt/x/python3/site-packages/pip /usr/lib/python3/dist-packages/pip && python3 -m pip install torch",
            "COPY uv /opt/uv\nRUN ln -s /opt/uv /usr/local/bin/uv && uv pip install torch",
            "COPY uv /opt/uv\nRUN ln -s /opt/uv /usr/local/bin && uv pip install torch",
            "COPY uv /opt/uv\nRUN ln -s $TOOL /usr/local/bin/ && uv pip install torch",
            "COPY uv /opt/uv\nRUN update-alternatives --install /usr/bin/uv uv /opt/uv 10 && uv pip install torch",
            "ADD https://example.com/uv /opt/uv\nRUN chmod +x /opt/uv && ln -s /opt/uv /usr/bin/uv && uv pip install torch",
            "RUN git clone https://example.com/y /opt/y && ln -s /opt/y/bin/pip /usr/bin/pip && pip install torch",
            "ARG PATH=/opt/conda/bin:$PATH\nADD conda.tar.gz /opt\nRUN pip install torch",
            "ARG PATH\nADD conda.tar.gz /opt\nRUN pip install torch",
            "ENV PATH /opt/conda/bin:$PATH\nADD conda.tar.gz /opt\nRUN pip install torch",
            "INCLUDE ./pip.dockerfile\nRUN pip install torch",
            "{% include 'pip.j2' %}\nRUN pip install torch",
            "{{ install_pip }}\nRUN pip install torch",
            "RUN pip install torch & wait",
            "RUN pip install torch &",
            "RUN --mount=type=cache,target=/usr/local/bin uv pip install torch",
            "RUN --mount=type=cache,target=$HOME/bin uv pip install torch",
            "ENV BASH_ENV=/opt/env.sh\nCOPY env.sh /opt/env.sh\nSHELL [\"/bin/bash\", \"-c\"]\nRUN pip install torch",
            "COPY run.sh /opt/run.sh\nSHELL [\"/opt/run.sh\", \"-c\"]\nRUN pip install torch",
            "ENV PYTHONPATH=/opt/pip\nADD pip.tar.gz /opt/pip\nRUN python3 -m pip install torch",
            "RUN pip() { /opt/conda/bin/pip \"$@\"; }; pip install torch",
            "RUN pip() { /opt/conda/bin/pip \"$@\"; } && pip install torch",
            "RUN alias pip=/opt/conda/bin/pip && pip install torch",
            "FROM continuumio/miniconda3:24.1.2-0\nCOPY uv /opt/conda/bin/\nRUN uv pip install torch",
            "FROM python:3.11\nRUN pip install torch",
            "FROM alpine:3.11\nRUN apk add --no-cache python3 && pip3 install torch",
            "FROM registry.access.redhat.com/ubi8/ubi:8.0\nRUN dnf install -y python3 && pip3 install torch",
            "FROM python:3.11\nRUN pip install uv && uv pip install torch",
            "FROM continuumio/miniconda3:24.1.2-0\nRUN conda install pytorch && pip install x",
            "FROM ghcr.io/astral-sh/uv:python3.12-bookworm\nRUN uv pip install torch",
            "FROM example.com/team/base:1\nRUN pip install torch",
            "FROM nvidia/cuda:$TAG\nRUN apt-get install -y python3-pip && pip install torch",
            "FROM scratch\nRUN pip install torch",
        ] {
            assert_eq!(missing_installers(lines), [] as [String; 0], "{lines}");
        }
    }
}
