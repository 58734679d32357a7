//! The installer that a command calls and that is certainly not in the image by then: the build stops there.
//!
//! The tables state which installers a base lacks. One command, file or variable that may bring one is enough for silence.

use crate::dockerfile::BaseKind;
use crate::dockerfile::CopyInstruction;
use crate::dockerfile::Mapped;
use crate::dockerfile::RunInstruction;
use crate::extract::asked;
use crate::extract::closed;
use crate::extract::install::Reader;
use crate::extract::tree::absolute;
use crate::fact::BuildAskSeen;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::Value;
use crate::install::python_of;
use crate::shell::Command;
use crate::shell::Word;

/// Installers of system packages, with the verbs by which they install.
const SYSTEM: &[&str] = &["apk", "apt", "apt-get", "dnf", "microdnf", "yum"];
const INSTALLS: &[&str] = &["add", "install"];
/// What they do without a new package.
const UPKEEP: &[&str] = &["autoclean", "autoremove", "clean", "purge", "remove", "update"];
/// Commands that bring no program into a directory of PATH.
const IDLE: &[&str] = &["git", "ldconfig", "ln", "locale-gen", "sed", "update-alternatives"];
/// Directories below which a copied file may be a program, a Python module or a setting of the shell.
const OF_PROGRAMS: &[&str] = &["", "bin", "etc", "lib", "root", "sbin", "usr"];
/// Kinds of mounts that bring no program.
const OWN_MOUNTS: &[&str] = &["type=cache", "type=secret", "type=ssh", "type=tmpfs"];

/// Notes the installer that one command of a RUN calls, if it is certainly missing.
pub(super) fn read(reader: &mut Reader<'_>, command: &Command, run: &RunInstruction, depth: usize) {
    if reader.done.any_installer {
        return;
    }
    let BaseKind::Image(base) = &reader.tree.evaluated.base.kind else { return };
    let Some(row) = reader.knowledge.image_installers(&base.familiar()) else { return };
    let missing = called(command).filter(|name| row.lacks.contains(name));
    reader.done.any_installer = missing.is_some() || !is_idle(reader, command);
    let Some((name, word)) = missing.zip(command.words.first()) else { return };
    let certain = depth == 0 && !command.conditional && !asked::may_fail(run) && !is_brought(reader, command, run);
    if certain {
        let state = State::Known(Value::Text(name.to_owned()));
        let evidence = Evidence::Leaf(vec![Origin::File { source: reader.source, span: word.span }]);
        let what = BuildAskSeen::MISSING_INSTALLER;
        let fact = reader.seen.facts.add(FactKey::BuildAsk, Some(what), state, evidence);
        reader.seen.build_asks.push(BuildAskSeen { what: what.to_owned(), command: name.to_owned(), fact });
    }
}

/// The installer that a command calls by its bare name.
fn called(command: &Command) -> Option<&'static str> {
    let program = command.words.first()?.known()?;
    let word = |at: usize| command.words.get(at).and_then(Word::known);
    let numbered =
        |name: &str| program == name || program.strip_prefix(name) == Some("3") || python_of(program).is_some();
    match program {
        "conda" => Some("conda"),
        "mamba" => Some("mamba"),
        "uv" | "uvx" => Some("uv"),
        _ if program.starts_with("pip") => numbered("pip").then_some("pip"),
        _ if numbered("python") && word(1) == Some("-m") && word(2) == Some("pip") => Some("pip"),
        _ => None,
    }
}

/// Whether a command brings no installer.
fn is_idle(reader: &Reader<'_>, command: &Command) -> bool {
    let Some(program) = command.program() else { return false };
    if SYSTEM.contains(&program) {
        let words = command.words.iter().skip(1).map(|word| word.known().unwrap_or("?"));
        let mut words = words.filter(|word| !word.starts_with('-'));
        return match words.next() {
            Some(verb) if INSTALLS.contains(&verb) => words.all(|name| {
                let name = name.split('=').next().unwrap_or(name);
                reader.knowledge.is_without_installer(name, program.starts_with("apt"))
            }),
            Some(verb) => UPKEEP.contains(&verb),
            None => false,
        };
    }
    command.writes.is_empty() && (closed::is_harmless(program) || IDLE.contains(&program))
}

/// Whether a file, a mount or a variable may bring the installer that a command calls.
fn is_brought(reader: &Reader<'_>, command: &Command, run: &RunInstruction) -> bool {
    let evaluated = reader.tree.evaluated;
    let mut before = evaluated.copies.iter().take_while(|copy| copy.instruction < run.instruction);
    let instruction = reader.tree.dockerfile.instructions.get(run.instruction);
    let mut mounts = instruction.into_iter().flat_map(|one| &one.flags).filter(|flag| flag.name == "mount");
    let own = |text: &str| OWN_MOUNTS.iter().any(|kind| text.contains(kind)) && !text.contains("from=");
    let shell = run.shell.as_ref().and_then(|words| words.first());
    evaluated.env("PATH").is_some()
        || command.variable("PATH").is_some()
        || shell.is_some_and(|shell| !shell.ends_with("sh"))
        || before.any(may_bring)
        || mounts.any(|flag| !own(flag.value.as_ref().map_or("", Mapped::text)))
}

/// Whether a COPY or ADD may bring an installer: it copies from an image, or to a directory of programs.
fn may_bring(copy: &CopyInstruction) -> bool {
    let plain = |source: &str| source.rsplit_once('.').is_some_and(|(_, ending)| closed::PLAIN.contains(&ending));
    if copy.from.is_none() && copy.sources.iter().all(|(source, _)| source.known().is_some_and(plain)) {
        return false;
    }
    let to = copy.destination.as_ref().and_then(|(path, _)| path.known());
    let to = to.map(|path| absolute(&copy.folder, path)).filter(|path| !path.contains('?'));
    let first = to.as_deref().map(|path| path.trim_start_matches('/').split('/').next().unwrap_or_default());
    copy.from.is_some() || first.is_none_or(|first| OF_PROGRAMS.contains(&first))
}

#[cfg(test)]
mod tests {
    use crate::context::Files;
    use crate::dockerfile::Dockerfile;
    use crate::dockerfile::EvaluateOptions;
    use crate::extract::of_dockerfile;
    use crate::fact::BuildAskSeen;
    use crate::knowledge::Knowledge;
    use crate::source::SourceId;

    fn missing(lines: &str) -> Vec<String> {
        let cuda = "FROM nvidia/cuda:11.7.1-base-ubuntu20.04\n";
        let text = if lines.starts_with("FROM") { format!("{lines}\n") } else { format!("{cuda}{lines}\n") };
        let dockerfile = Dockerfile::parse(&text);
        let options = EvaluateOptions::new(Knowledge::built_in());
        let target = of_dockerfile(SourceId(0), &dockerfile, &options, &Files::default()).expect("a stage");
        let asks = target.seen.build_asks.into_iter();
        asks.filter(|ask| ask.what == BuildAskSeen::MISSING_INSTALLER).map(|ask| ask.command).collect()
    }

    #[test]
    fn an_installer_that_the_base_lacks_and_no_line_brings_is_missing() {
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
            ("FROM debian:12 AS a\nRUN echo x\nFROM a\nRUN pip install torch", "pip"),
            ("FROM alpine:3.11\nRUN apk add git && pip3 install torch", "pip"),
            ("FROM rockylinux:9\nRUN dnf install -y git && pip install torch", "pip"),
            ("FROM python:3.11\nRUN uv pip install torch", "uv"),
            ("FROM python:3.11\nRUN conda install pytorch", "conda"),
            ("FROM continuumio/miniconda3:24.1.2-0\nRUN uv pip install torch", "uv"),
        ] {
            assert_eq!(missing(lines), [expected], "{lines}");
        }
    }

    #[test]
    fn what_may_bring_an_installer_is_silent() {
        for lines in [
            "RUN apt-get update && apt-get install -y python3-pip && pip3 install torch",
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
            assert_eq!(missing(lines), [] as [String; 0], "{lines}");
        }
    }
}
