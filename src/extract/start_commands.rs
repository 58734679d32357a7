//! The commands that a container starts with, from ENTRYPOINT and CMD or from what overrides them.

use std::collections::BTreeMap;

use crate::build::Command;
use crate::dockerfile::{Dockerfile, EvaluatedTarget, Instruction, InstructionKind, MappedText};
use crate::model::cause::Cause;
use crate::model::fact::{Evidence, FactId, FactKey, Observations, Origin, PrintedValue, ValueState};
use crate::shell;

/// The largest length, in bytes, of a command line; longer ones are not read.
const MAX_COMMAND_LENGTH: usize = 1 << 16;
/// The shell of the shell form without a SHELL instruction.
const DEFAULT_SHELL: [&str; 2] = ["/bin/sh", "-c"];

/// The effective ENTRYPOINT and CMD instructions of a build target.
#[derive(Default)]
pub(super) struct EntrypointAndCmd<'a> {
    /// The effective ENTRYPOINT.
    pub(super) entrypoint: Option<StartInstruction<'a>>,
    /// The effective CMD.
    pub(super) command: Option<StartInstruction<'a>>,
}

/// An ENTRYPOINT or CMD instruction, with the SHELL that applies to it.
#[derive(Clone, Copy)]
pub(super) struct StartInstruction<'a> {
    pub(super) instruction: &'a Instruction,
    /// The SHELL instruction that runs it, if it is in shell form and there is one.
    pub(super) shell: Option<&'a Instruction>,
}

impl StartInstruction<'_> {
    /// Returns the arguments as written; in shell form, those of the SHELL instruction come first.
    pub(super) fn written_arguments(&self) -> Vec<String> {
        if self.instruction.json.is_some() {
            return exec_form_arguments(self.instruction);
        }
        let text = self.instruction.arguments.text().split_whitespace().map(str::to_owned);
        self.shell.map(exec_form_arguments).unwrap_or_default().into_iter().chain(text).collect()
    }

    /// Returns the arguments that the container runs.
    pub(super) fn argv(&self) -> Vec<String> {
        if self.instruction.json.is_some() {
            return exec_form_arguments(self.instruction);
        }
        let own = self.shell.map_or_else(|| DEFAULT_SHELL.map(str::to_owned).to_vec(), exec_form_arguments);
        own.into_iter().chain([self.instruction.arguments.text().to_owned()]).collect()
    }
}

/// Returns the arguments of an instruction in exec form.
fn exec_form_arguments(instruction: &Instruction) -> Vec<String> {
    instruction.json.iter().flatten().map(|word| word.text().to_owned()).collect()
}

impl<'a> EntrypointAndCmd<'a> {
    /// Finds the effective instructions of the stages of a target; an ENTRYPOINT resets the CMD of earlier stages.
    pub(super) fn from_stages(dockerfile: &'a Dockerfile, evaluated: &EvaluatedTarget) -> Self {
        let mut effective = Self::default();
        let mut shell = None;
        for stage in evaluated.chain.iter().filter_map(|index| dockerfile.stages.get(*index)) {
            let mut own = false;
            for instruction in stage.instructions.iter().filter_map(|at| dockerfile.instructions.get(*at)) {
                let shell_of_text = || shell.filter(|_| instruction.json.is_none());
                match instruction.kind {
                    InstructionKind::Shell => shell = Some(instruction),
                    InstructionKind::Cmd => {
                        own = true;
                        effective.command = Some(StartInstruction { instruction, shell: shell_of_text() });
                    }
                    InstructionKind::Entrypoint => {
                        effective.entrypoint = Some(StartInstruction { instruction, shell: shell_of_text() });
                        effective.command = effective.command.filter(|_| own);
                    }
                    _ => {}
                }
            }
        }
        effective
    }

    /// Returns the arguments of ENTRYPOINT and CMD as written.
    pub(super) fn written_arguments(&self) -> Vec<String> {
        let both = [self.entrypoint, self.effective_command()];
        both.iter().flatten().flat_map(StartInstruction::written_arguments).collect()
    }

    /// Returns the commands that a container starts with, according to ENTRYPOINT and CMD.
    pub(super) fn commands(&self) -> Vec<String> {
        commands_of_argv(&self.argv())
    }

    /// Returns the programs of these commands, as written.
    pub(super) fn programs(&self) -> Vec<String> {
        programs_of_argv(&self.argv())
    }

    /// Returns the arguments of ENTRYPOINT and CMD that the container runs.
    fn argv(&self) -> Vec<String> {
        // `ENTRYPOINT []` is none.
        let both = [self.entrypoint, self.effective_command()];
        both.iter().flatten().flat_map(StartInstruction::argv).collect()
    }

    /// Returns the CMD, unless an ENTRYPOINT in shell form ignores it.
    pub(super) fn effective_command(&self) -> Option<StartInstruction<'a>> {
        let shell_form = self.entrypoint.is_some_and(|entrypoint| entrypoint.instruction.json.is_none());
        self.command.filter(|_| !shell_form)
    }
}

/// Returns the programs that the arguments of a container run, as written.
fn programs_of_argv(argv: &[String]) -> Vec<String> {
    let own = |command: &Command| {
        let word = command.words.first().filter(|_| !command.conditional && command.program().is_some())?;
        Some(word.known().unwrap_or(&word.raw).to_owned())
    };
    parse_argv(argv).iter().filter_map(own).collect()
}

/// Parses arguments as commands of a shell.
fn parse_argv(argv: &[String]) -> Vec<Command> {
    let quoted: Vec<String> = argv.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    let text = quoted.join(" ");
    if text.len() > MAX_COMMAND_LENGTH { Vec::new() } else { shell::script_commands(&MappedText::contiguous(&text, 0)) }
}

/// Returns the commands that the arguments of a container run, one line each with escaped blanks, without wrappers
/// like `tini` and conditional commands.
pub(super) fn commands_of_argv(argv: &[String]) -> Vec<String> {
    let format_command = |command: &Command| {
        let program = command.program().filter(|_| !command.conditional)?.to_owned();
        let rest = command.words.iter().skip(1).map(|word| word.known().unwrap_or(&word.raw).to_owned());
        let words: Vec<String> = std::iter::once(program).chain(rest).map(|word| escape_whitespace(&word)).collect();
        Some(words.join(" "))
    };
    parse_argv(argv).iter().filter_map(format_command).collect()
}

/// Returns an argument with a backslash before each blank.
fn escape_whitespace(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for letter in word.chars() {
        if letter.is_whitespace() {
            out.push_str("\\ ");
        } else {
            out.push(letter);
        }
    }
    out
}

/// The command-line option whose file states how containers are started.
const START_OPTION: &str = "--from-kubernetes";

/// Sets the variables of a container start; `None` is a value set outside of the manifest, and `others` a source of
/// further variables.
pub fn set_start_variables(
    seen: &mut Observations,
    variables: &BTreeMap<String, Option<String>>,
    others: Option<&str>,
) {
    for (name, value) in variables {
        let value_or_cause = value.clone().ok_or_else(|| Cause::SetOutsideManifest { name: name.clone() });
        let state = match &value_or_cause {
            Ok(value) => ValueState::Known(PrintedValue::Text(value.clone())),
            Err(why) => ValueState::Unknown(why.clone()),
        };
        let fact = seen.facts.add(FactKey::Env, Some(name), state, Evidence::Leaf(vec![Origin::Option(START_OPTION)]));
        seen.env.insert(name.clone(), (value_or_cause, fact));
    }
    if let Some(place) = others {
        seen.complete.env = false;
        seen.base_changes.unread.env = Some(Cause::VariablesOutsideManifest { place: place.to_string() });
    }
}

/// Returns the names of the variables that the container start sets.
pub fn start_variable_names(seen: &Observations) -> impl Iterator<Item = &str> {
    let of_start = |fact: FactId| match &seen.facts.get(fact).evidence {
        Evidence::Leaf(origins) => origins.contains(&Origin::Option(START_OPTION)),
        Evidence::Derived { .. } => false,
    };
    seen.env.iter().filter(move |(_, (_, fact))| of_start(*fact)).map(|(name, _)| name.as_str())
}

/// Marks the entrypoint as set by the container start.
pub fn mark_entrypoint_overridden(seen: &mut Observations) {
    let Some((words, fact)) = &mut seen.entrypoint else { return };
    let state = ValueState::Known(PrintedValue::from(&*words));
    *fact = seen.facts.add(FactKey::Entrypoint, None, state, Evidence::Leaf(vec![Origin::Option(START_OPTION)]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::EvaluateOptions;
    use crate::knowledge::Knowledge;

    /// Returns the commands that the image of a Dockerfile starts with.
    fn commands_of(text: &str) -> Vec<String> {
        let dockerfile = Dockerfile::parse(text);
        let evaluated = dockerfile.evaluate(&EvaluateOptions::new(Knowledge::built_in())).expect("a target");
        EntrypointAndCmd::from_stages(&dockerfile, &evaluated).commands()
    }

    #[test]
    fn a_container_starts_with_entrypoint_and_cmd() {
        for (text, expected) in [
            ("CMD [\"ffmpeg\", \"-i\", \"a b\"]", &["ffmpeg -i a\\ b"][..]),
            ("CMD /usr/bin/ffmpeg -hwaccel cuda && echo $DONE", &["ffmpeg -hwaccel cuda", "echo"]),
            ("CMD exec timeout 5 ffmpeg -y", &["ffmpeg -y"]),
            ("CMD [\"bash\", \"-lc\", \"cd /a; ffmpeg -y | tee l\"]", &["cd /a", "ffmpeg -y", "tee l"]),
            ("ENTRYPOINT [\"ffmpeg\"]\nCMD [\"-y\"]", &["ffmpeg -y"]),
            ("CMD [\"-y\"]\nENTRYPOINT [\"ffmpeg\"]", &["ffmpeg -y"]),
            ("ENTRYPOINT [\"/sbin/tini\", \"-g\", \"--\"]\nCMD [\"ffmpeg\", \"-y\"]", &["ffmpeg -y"]),
            ("ENTRYPOINT [\"tini\", \"--\"]\nCMD ffmpeg -y", &["ffmpeg -y"]),
            ("ENTRYPOINT []\nCMD ffmpeg -y", &["ffmpeg -y"]),
            ("SHELL [\"/bin/bash\", \"-c\"]\nCMD ffmpeg -y", &["ffmpeg -y"]),
            // Words after another program are its arguments.
            ("ENTRYPOINT [\"/run.py\"]\nCMD [\"ffmpeg\", \"-y\"]", &["run.py ffmpeg -y"]),
            ("ENTRYPOINT [\"/run.py\"]\nCMD ffmpeg -y", &["run.py /bin/sh -c ffmpeg\\ -y"]),
            ("CMD echo ffmpeg -y", &["echo ffmpeg -y"]),
            ("CMD [\"echo\", \"it's; ffmpeg -y\"]", &["echo it's;\\ ffmpeg\\ -y"]),
            // A text as ENTRYPOINT leaves CMD out.
            ("ENTRYPOINT serve --all\nCMD [\"ffmpeg\", \"-y\"]", &["serve --all"]),
            // What may not run.
            ("CMD test -e /a || ffmpeg -y", &["test -e /a"]),
            ("", &[]),
        ] {
            assert_eq!(commands_of(&format!("FROM x\n{text}\n")), expected, "{text}");
        }
    }

    #[test]
    fn an_entrypoint_resets_the_cmd_of_earlier_stages() {
        let parent = "FROM x AS a\nCMD [\"ffmpeg\"]\nFROM a\n";
        assert_eq!(commands_of(parent), ["ffmpeg"]);
        assert_eq!(commands_of(&format!("{parent}ENTRYPOINT [\"serve\"]\n")), ["serve"]);
        assert_eq!(commands_of(&format!("{parent}ENTRYPOINT [\"serve\"]\nCMD [\"-v\"]\n")), ["serve -v"]);
        let parent = "FROM x AS a\nENTRYPOINT [\"serve\"]\nCMD [\"-v\"]\nFROM a\n";
        assert_eq!(commands_of(&format!("{parent}CMD [\"-q\"]\n")), ["serve -q"]);
        assert_eq!(commands_of(&format!("FROM x AS b\nCMD [\"ffmpeg\"]\n{parent}")), ["serve -v"]);
    }

    #[test]
    fn start_command_above_the_limit_is_not_read() {
        assert_eq!(commands_of_argv(&["a".repeat(100)]).len(), 1);
        assert!(commands_of_argv(&["a".repeat(MAX_COMMAND_LENGTH)]).is_empty());
    }
}
