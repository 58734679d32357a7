//! The history of an image: its steps, and the packages that their commands install.

use std::collections::{BTreeMap, HashSet};

use crate::dockerfile::{Instruction, InstructionKind, MappedText, VariableLookup};
use crate::extract::command_effects::observe_package;
use crate::extract::removals::remove_packages;
use crate::install::{CommandContext, MarkerEnvironment, TargetMachine};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{Observations, Origin};
use crate::registry::{HistoryStep, PulledImage};
use crate::{install, shell};

/// Marker of history steps that ran no command.
const NOP_MARKER: &str = "#(nop)";
/// Comment that `BuildKit` appends to a history step.
const BUILDKIT_SUFFIX: &str = "# buildkit";

/// Reads the wanted history steps, adding and removing packages in `seen`.
pub(super) fn read_history_installs(
    image: &PulledImage,
    seen: &mut Observations,
    knowledge: Knowledge,
    step_filter: impl Fn(usize) -> bool,
) {
    let machine = if image.config.platform.to_string().contains("arm64") { "aarch64" } else { "x86_64" };
    for (number, step) in image.config.history.iter().enumerate().filter(|(step, _)| step_filter(*step)) {
        let Some(text) = shell_text(&step.created_by) else { continue };
        for command in shell::script_commands(&MappedText::contiguous(text, 0)) {
            let value = |name: &str| image.config.variable(name).map(str::to_owned);
            let lookup = |name: &str| {
                value(name).map_or(VariableLookup::NoValue, |value| VariableLookup::Known(value, Vec::new()))
            };
            let open = |_: &str, _: &str| Err(Cause::LayersNotRead);
            let environment = MarkerEnvironment { machine: TargetMachine::new(machine), python: None };
            let found = install::read_installs_in_context(
                &command,
                CommandContext { lookup: &lookup, open: &open, environment, knowledge },
            );
            seen.commands += 1;
            remove_packages(seen, &found);
            for install in &found.packages {
                let field = format!("history[{number}]");
                let origin = Origin::Config { digest: image.config_digest.clone(), field };
                let package = observe_package(&mut seen.facts, install, vec![origin], seen.commands, knowledge);
                seen.packages.push(package);
            }
        }
    }
}

/// Returns the script that a history step ran in a shell: `/bin/sh -c TEXT`, without the additions of builders.
fn shell_text(created_by: &str) -> Option<&str> {
    if created_by.contains(NOP_MARKER) {
        return None;
    }
    let text = created_by.trim().trim_end_matches(BUILDKIT_SUFFIX).trim_end();
    let text = text.strip_prefix("RUN ").unwrap_or(text);
    // Build arguments come first: `|2 A=1 B=2 /bin/sh -c TEXT`.
    let (before, after) = text.split_once(" -c ")?;
    let shell = before.split_whitespace().any(|word| word.starts_with('/') && word.ends_with("sh"));
    shell.then_some(after.trim_start())
}

/// The largest number of last steps and of last instructions that are compared.
const MAX_COMPARED: usize = 512;
/// The score of a step and an instruction of the same kind, with nothing against a match.
const KIND_SCORE: u32 = 1;
/// The score for the same variable name or destination.
const NAME_SCORE: u32 = 3;
/// The score for the same text.
const TEXT_SCORE: u32 = 4;

/// A history step or an instruction in the form of a Dockerfile: its kind, and its text with single blanks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InstructionText {
    pub(super) kind: InstructionKind,
    pub(super) text: String,
}

impl InstructionText {
    /// Whether this is an ENV that sets a variable.
    pub(super) fn sets_variable(&self, name: &str) -> bool {
        let mut words = self.text.split(' ');
        let first = words.next() == Some(name);
        self.kind == InstructionKind::Env
            && (first || self.text.split(' ').any(|word| word.split('=').next() == Some(name)))
    }
}

/// Returns for each history step the index of its instruction; `None` where no line matches.
pub(super) fn match_instructions(history: &[HistoryStep], instructions: &[&Instruction]) -> Vec<Option<usize>> {
    let (first_step, first_line) =
        (history.len().saturating_sub(MAX_COMPARED), instructions.len().saturating_sub(MAX_COMPARED));
    let steps: Vec<Option<InstructionText>> =
        history.iter().skip(first_step).map(|step| text_of_step(&step.created_by)).collect();
    let lines: Vec<InstructionText> =
        instructions.iter().skip(first_line).map(|line| text_of_instruction(line)).collect();
    let score = |step: usize, line: usize| match (steps.get(step), lines.get(line), instructions.get(first_line + line))
    {
        (Some(Some(step)), Some(line), Some(instruction)) => match_score(step, line, instruction),
        _ => 0,
    };
    // The best that the first so many steps and lines reach, row by row.
    let width = lines.len() + 1;
    let mut best = vec![0_u32; (steps.len() + 1) * width];
    let at = |best: &[u32], step: usize, line: usize| best.get(step * width + line).copied().unwrap_or(0);
    for step in 1..=steps.len() {
        for line in 1..=lines.len() {
            let own = score(step - 1, line - 1);
            let both = if own > 0 { at(&best, step - 1, line - 1) + own } else { 0 };
            let reached = both.max(at(&best, step - 1, line)).max(at(&best, step, line - 1));
            if let Some(cell) = best.get_mut(step * width + line) {
                *cell = reached;
            }
        }
    }
    let mut found = vec![None; history.len()];
    let (mut step, mut line, mut next) = (steps.len(), lines.len(), steps.len());
    while step > 0 && line > 0 {
        let here = at(&best, step, line);
        let own = score(step - 1, line - 1);
        if own > 0 && here == at(&best, step - 1, line - 1) + own {
            (step, line) = (step - 1, line - 1);
            // A possible match must be adjacent to a certain match.
            if own > KIND_SCORE || step + 1 == next {
                next = step;
                if let Some(cell) = found.get_mut(first_step + step) {
                    *cell = Some(first_line + line);
                }
            }
        } else if here == at(&best, step - 1, line) {
            step -= 1;
        } else {
            line -= 1;
        }
    }
    found
}

/// Returns those of the last history steps that match no instruction, by their numbers.
pub(super) fn unmatched_steps(
    history: &[HistoryStep],
    instructions: &[&Instruction],
    made_by: &[Option<usize>],
) -> BTreeMap<usize, InstructionText> {
    let matched: HashSet<usize> = made_by.iter().flatten().copied().collect();
    let first_line = instructions.len().saturating_sub(MAX_COMPARED);
    let lines = instructions.iter().enumerate().skip(first_line).filter(|(at, _)| !matched.contains(at));
    let free: Vec<(InstructionText, &Instruction)> =
        lines.map(|(_, line)| (text_of_instruction(line), *line)).collect();
    let steps = history.iter().zip(made_by).enumerate().skip(history.len().saturating_sub(MAX_COMPARED));
    let without = steps.filter(|(_, (_, line))| line.is_none());
    without
        .filter_map(|(number, (step, _))| {
            let step = text_of_step(&step.created_by)?;
            (!free.iter().any(|(line, instruction)| match_score(&step, line, instruction) > 0))
                .then_some((number, step))
        })
        .collect()
}

/// Whether a step certainly matches an instruction, not only by its kind.
pub(super) fn is_certain_match(step: &HistoryStep, instruction: &Instruction) -> bool {
    let line = text_of_instruction(instruction);
    text_of_step(&step.created_by).is_some_and(|step| match_score(&step, &line, instruction) > KIND_SCORE)
}

/// Returns the score of a match between a history step and an instruction; zero if they cannot match.
fn match_score(step: &InstructionText, line: &InstructionText, instruction: &Instruction) -> u32 {
    if step.kind != line.kind {
        return 0;
    }
    let same = step.text == line.text;
    match step.kind {
        _ if same => TEXT_SCORE,
        InstructionKind::Env | InstructionKind::Arg if first_variable(&step.text) == first_variable(&line.text) => {
            NAME_SCORE
        }
        // What is copied is written as a sum of it, or with the variables filled in: to where is the same.
        InstructionKind::Copy | InstructionKind::Add => {
            match (absolute_destination(&step.text), absolute_destination(&line.text)) {
                (Some(there), Some(here)) if there == here => NAME_SCORE,
                (Some(_), Some(_)) => 0,
                _ => KIND_SCORE,
            }
        }
        InstructionKind::Run => {
            let bodies = instruction.heredocs.iter().map(|heredoc| collapse_whitespace(heredoc.body.text()));
            let inside = |body: String| !body.is_empty() && step.text.contains(&body);
            // A shell of the Dockerfile's own stands before what it runs.
            let behind = |shell: &str| shell.starts_with(['/', '|']) && shell.ends_with(' ');
            let there = step.text.strip_suffix(&line.text).is_some_and(behind);
            // And so it does in a list of words that names one.
            let here = line.text.strip_suffix(&step.text).is_some_and(|shell| behind(shell) && shell.ends_with(" -c "));
            if there || here || bodies.into_iter().any(inside) { TEXT_SCORE } else { 0 }
        }
        // The form of a list, as builders write it: with blanks, and with the shell where one is needed.
        InstructionKind::Cmd | InstructionKind::Entrypoint if is_same_exec_form(&step.text, &line.text) => TEXT_SCORE,
        // Builders write these in a form of their own.
        InstructionKind::Expose
        | InstructionKind::Volume
        | InstructionKind::Healthcheck
        | InstructionKind::Shell
        | InstructionKind::Workdir => KIND_SCORE,
        _ if line.text.contains('$') => KIND_SCORE,
        _ => 0,
    }
}

/// Returns the destination of a COPY or ADD, if it is an absolute path without variables.
fn absolute_destination(text: &str) -> Option<&str> {
    let whole = text.split(' ').next_back()?.trim_end_matches('/');
    (whole.starts_with('/') && !whole.contains('$')).then_some(whole)
}

/// Whether an exec form as builders write it equals that of an instruction.
fn is_same_exec_form(step: &str, line: &str) -> bool {
    let bare = |text: &str| text.replace("\",", "\"").replace(", \"", " \"").replace("\"\"", "\" \"");
    let quoted = line.replace('\\', "\\\\").replace('"', "\\\"");
    bare(step) == bare(line) || step.ends_with(&format!("\"-c\" \"{quoted}\"]"))
}

/// Returns the first variable name of an ENV or ARG.
fn first_variable(text: &str) -> &str {
    text.split(['=', ' ']).next().unwrap_or_default()
}

/// Returns a text on one line, with single blanks.
fn collapse_whitespace(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// Returns the kind and text of an instruction.
fn text_of_instruction(instruction: &Instruction) -> InstructionText {
    let text = match &instruction.json {
        Some(words)
            if matches!(instruction.kind, InstructionKind::Run | InstructionKind::Copy | InstructionKind::Add) =>
        {
            words.iter().map(MappedText::text).collect::<Vec<_>>().join(" ")
        }
        _ => instruction.arguments.text().to_owned(),
    };
    InstructionText { kind: instruction.kind.clone(), text: collapse_whitespace(&text) }
}

/// Returns the kind and text of a history step; `None` if its builder did not record them.
pub(super) fn text_of_step(created_by: &str) -> Option<InstructionText> {
    let text = created_by.trim().trim_end_matches(BUILDKIT_SUFFIX).trim();
    if let Some((_, instruction)) = text.split_once(NOP_MARKER) {
        return parse_keyword(instruction.trim());
    }
    if let Some(ran) = shell_text(created_by) {
        return Some(InstructionText { kind: InstructionKind::Run, text: collapse_whitespace(ran) });
    }
    // A committed container, or squashed layers, show only a shell.
    if text.is_empty() || (!text.contains(char::is_whitespace) && text.ends_with("sh")) {
        return None;
    }
    parse_keyword(text)
        .or_else(|| Some(InstructionText { kind: InstructionKind::Run, text: collapse_whitespace(text) }))
}

/// Parses a text that starts with the keyword of an instruction.
fn parse_keyword(text: &str) -> Option<InstructionText> {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    // Builders write keywords in capitals; `env` is a program.
    let kind = InstructionKind::from_keyword(word);
    (kind.keyword() == word && !matches!(kind, InstructionKind::Unknown(_)))
        .then(|| InstructionText { kind, text: collapse_whitespace(rest) })
}

#[cfg(test)]
mod history_tests {
    use super::shell_text;

    #[test]
    fn only_what_a_shell_ran_is_read() {
        for (created_by, expected) in [
            ("/bin/sh -c pip install torch==2.4.1", Some("pip install torch==2.4.1")),
            ("RUN /bin/sh -c pip install x # buildkit", Some("pip install x")),
            ("RUN |2 A=1 B=2 /bin/bash -o pipefail -c make # buildkit", Some("make")),
            ("|1 A=b /bin/sh -c true", Some("true")),
            ("/bin/sh -c #(nop)  ENV A=b", None),
            ("/bin/sh -c #(nop) COPY file:x in /", None),
            ("COPY requirements.txt . # buildkit", None),
            ("ENV A=-c b", None),
            ("bazel build -c opt //x", None),
            ("", None),
        ] {
            assert_eq!(shell_text(created_by), expected, "{created_by}");
        }
    }
}

#[cfg(test)]
mod history_steps_tests {
    use super::*;
    use crate::dockerfile::Dockerfile;

    /// Returns a history step with this text.
    fn history_step(text: &&str) -> HistoryStep {
        HistoryStep { created: None, created_by: (*text).to_owned(), comment: None, empty_layer: false }
    }

    /// Returns the matched instruction of each history step.
    fn matched_lines(history: &[&str], dockerfile: &str) -> Vec<Option<usize>> {
        let dockerfile = Dockerfile::parse(dockerfile);
        let lines: Vec<&Instruction> =
            dockerfile.instructions.iter().filter(|one| one.kind != InstructionKind::From).collect();
        match_instructions(&history.iter().map(history_step).collect::<Vec<_>>(), &lines)
    }

    const DOCKERFILE: &str = "FROM x\nENV A=1 \\\n  B=\"two\"\nCOPY $FROM /app\nRUN pip install \\\n    torch==2.4.1\n\
        CMD [\"python\", \"app.py\"]\n";

    #[test]
    fn every_builder_is_understood() {
        let buildkit = [
            "/bin/sh -c #(nop) ADD file:11 in / ",
            "ENV A=1 B=two",
            "COPY src /app # buildkit",
            "RUN /bin/sh -c pip install     torch==2.4.1 # buildkit",
            "CMD [\"python\" \"app.py\"]",
        ];
        assert_eq!(matched_lines(&buildkit, DOCKERFILE), [None, Some(0), Some(1), Some(2), Some(3)]);
        let classic = [
            "/bin/sh -c #(nop)  CMD [\"bash\"]",
            "/bin/sh -c #(nop)  ENV A=1 B=two",
            "/bin/sh -c #(nop) COPY dir:22 in /app ",
            "|1 V=1 /bin/sh -c pip install     torch==2.4.1",
            "/bin/sh -c #(nop)  CMD [\"python\", \"app.py\"]",
        ];
        assert_eq!(matched_lines(&classic, DOCKERFILE), [None, Some(0), Some(1), Some(2), Some(3)]);
        let kaniko = ["", "ENV A=1", "COPY src /app", "RUN pip install     torch==2.4.1"];
        assert_eq!(matched_lines(&kaniko, DOCKERFILE), [None, Some(0), Some(1), Some(2)]);
        let exec = ["RUN pip install x # buildkit", "pip install y"];
        assert_eq!(
            matched_lines(&exec, "FROM x\nRUN [\"pip\", \"install\", \"x\"]\nRUN [\"pip\",\"install\",\"y\"]\n"),
            [Some(0), Some(1)]
        );
        let heredoc = ["RUN /bin/sh -c pip install a\npip install b\n # buildkit"];
        assert_eq!(matched_lines(&heredoc, "FROM x\nRUN <<E\npip install a\npip install b\nE\n"), [Some(0)]);
    }

    #[test]
    fn exec_forms_and_destinations_are_compared_as_builders_write_them() {
        let lists = ["ENTRYPOINT [\"python\" \"app.py\"]", "CMD [\"/bin/sh\" \"-c\" \"serve --at \\\"a\\\"\"]"];
        assert_eq!(
            matched_lines(&lists, "FROM x\nENTRYPOINT [\"python\",\"app.py\"]\nCMD serve --at \"a\"\n"),
            [Some(0), Some(1)]
        );
        assert_eq!(matched_lines(&lists, "FROM x\nENTRYPOINT [\"python\"]\nCMD serve --at b\n"), [None, None]);
        let shell = ["RUN /bin/bash -lc pip install x # buildkit", "RUN echo pip install y # buildkit"];
        let dockerfile = "FROM x\nSHELL [\"/bin/bash\", \"-lc\"]\nRUN pip install x\nRUN pip install y\n";
        assert_eq!(matched_lines(&shell, dockerfile), [Some(1), None]);
        let dockerfile = "FROM x\nRUN --mount=type=cache,target=/c pip \\\n  # why\n  install x\n\
            RUN [\"/bin/bash\", \"-c\", \"make all\"]\n";
        let forms = ["|1 F=-O -c x /bin/sh -c pip   install x", "RUN /bin/bash -c make all # buildkit"];
        assert_eq!(matched_lines(&forms, dockerfile), [Some(0), Some(1)]);
        // Two copies, of which the image has one.
        let copies = ["COPY a /a # buildkit", "COPY model /srv/model # buildkit", "RUN /bin/sh -c true # buildkit"];
        assert_eq!(matched_lines(&copies, "FROM x\nCOPY [\"a\", \"/a/\"]\nRUN true\n"), [Some(0), None, Some(1)]);
        let classic = ["/bin/sh -c #(nop) COPY dir:1 in /a ", "/bin/sh -c true"];
        assert_eq!(matched_lines(&classic, "FROM x\nCOPY . /b\nCOPY . /a\nRUN true\n"), [Some(1), Some(2)]);
    }

    #[test]
    fn a_step_is_unmatched_if_no_remaining_line_matches() {
        let of = |history: &[&str], dockerfile: &str| -> Vec<usize> {
            let dockerfile = Dockerfile::parse(dockerfile);
            let lines: Vec<&Instruction> =
                dockerfile.instructions.iter().filter(|one| one.kind != InstructionKind::From).collect();
            let steps: Vec<HistoryStep> = history.iter().map(history_step).collect();
            unmatched_steps(&steps, &lines, &match_instructions(&steps, &lines)).into_keys().collect()
        };
        let dockerfile = "FROM x\nRUN make\nCOPY . .\nEXPOSE 80\nUSER $U\nSTOPSIGNAL 9\n";
        let same = ["RUN /bin/sh -c make # buildkit", "COPY . . # buildkit", "EXPOSE [80/tcp]", "USER me"];
        assert!(of(&same, dockerfile).is_empty());
        let classic = ["/bin/sh -c make", "/bin/sh -c #(nop) COPY dir:2 in . ", "/bin/sh -c #(nop)  EXPOSE 80"];
        assert!(of(&classic, dockerfile).is_empty());
        // A copy that is left may be the one that stands elsewhere; a command that differs is none of them.
        let moved = ["/bin/sh -c #(nop) COPY dir:2 in /srv ", "/bin/sh -c make", "", "/bin/sh", "STOPSIGNAL SIGKILL"];
        assert_eq!(of(&moved, dockerfile), [4]);
        let more =
            ["RUN /bin/sh -c make # buildkit", "COPY . . # buildkit", "COPY b /b # buildkit", "RUN /bin/sh -c x"];
        assert_eq!(of(&more, dockerfile), [2, 3]);
    }

    #[test]
    fn steps_of_another_dockerfile_are_not_matched() {
        assert_eq!(
            matched_lines(&["RUN /bin/sh -c pip install jax # buildkit", "CMD [\"bash\"]", "/bin/bash"], DOCKERFILE),
            [None, None, None]
        );
        assert_eq!(matched_lines(&[], DOCKERFILE), []);
        assert_eq!(matched_lines(&["RUN true"], "FROM x\n"), [None]);
        // The base has the same line: the last one is the Dockerfile's own.
        let twice = ["ENV A=1", "RUN /bin/sh -c true", "ENV A=1", "RUN /bin/sh -c true"];
        assert_eq!(matched_lines(&twice, "FROM x\nENV A=1\nRUN true\n"), [None, None, Some(0), Some(1)]);
        // A copy far below that could be any.
        let below = ["COPY file:1 in ./", "RUN /bin/sh -c make", "RUN /bin/sh -c true"];
        assert_eq!(matched_lines(&below, "FROM x\nCOPY a .\nRUN true\n"), [None, None, Some(1)]);
        let many: Vec<&str> = vec!["RUN /bin/sh -c true"; 2_000];
        let found = matched_lines(&many, &format!("FROM x\n{}", "RUN true\n".repeat(2_000)));
        assert_eq!(found.iter().flatten().count(), MAX_COMPARED);
        assert_eq!(found.last(), Some(&Some(1_999)));
    }
}
