//! The state of a walk through shell text: variables, open blocks, functions and the position in the text.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::build::{Command, StandardInput, Word};
use crate::dockerfile::{ExpandedText, Heredoc, MappedText, VariableLookup, VariableScope};
use crate::model::cause::Cause;
use crate::shell::scripts::ShellFiles;
use crate::shell::walk::command_status::{AndOrList, Tristate};

/// The maximum depth of nested scripts and substitutions.
pub(super) const MAX_DEPTH: usize = 4;
/// The maximum number of commands and blocks of a script.
pub(super) const MAX_COMMANDS: usize = 20_000;
/// The maximum number of variables, arrays and functions, and of nested blocks.
pub(super) const MAX_VARIABLES: usize = 256;

/// The kind of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellBlockKind {
    /// `if`.
    If,
    /// `for`, `while`, `until`.
    Loop,
    /// `case`, with its subject if known.
    Case(Option<String>),
    /// `{ }`.
    Braces,
    /// `( )`.
    Subshell,
    /// A nested script, such as that of `sh -c`.
    Script,
    /// The body of a called function, or the script of `eval`.
    Called,
}

/// An open block: a compound command, nested script or function body.
pub(super) struct ShellBlock {
    pub(super) kind: ShellBlockKind,
    /// Whether the current commands run, as far as this block decides.
    pub(super) now: Tristate,
    /// Whether the condition, or a pattern of `case`, is being read.
    pub(super) in_condition: bool,
    /// Whether an earlier arm ran.
    pub(super) arm_ran: Tristate,
    /// The variables at the start of the block.
    pub(super) before: BTreeMap<String, ExpandedText>,
    /// The positional parameters at the start of the block.
    pub(super) arguments: PositionalParameters,
    /// The arrays at the start of the block.
    pub(super) arrays: BTreeMap<String, Option<Vec<Word>>>,
    /// Whether the block is part of a pipeline and so runs in a subshell.
    pub(super) part: bool,
    /// The variables at the end of the arm that certainly runs.
    pub(super) after: Option<BTreeMap<String, ExpandedText>>,
    /// The variables that are set in arms that run or may run.
    pub(super) set: Vec<String>,
    /// The surrounding command list.
    pub(super) list: AndOrList,
    /// The reachability at the start of the block.
    pub(super) reachability: Reachability,
    /// The options of the shell at the start of the block.
    pub(super) options: ShellOptions,
    /// The indexes of the commands of the surrounding list.
    pub(super) list_start: (usize, usize),
    /// The remaining values of a loop over values.
    pub(super) value_loop: Option<ValueLoop>,
    /// The state of a loop with a condition.
    pub(super) condition_loop: Option<ConditionLoop>,
    /// Whether every iteration of the loop is evaluated.
    pub(super) followed: bool,
    /// The variable of `while read`, and the input that it reads unless `done` redirects another one.
    pub(super) reading: Option<(String, StandardInput)>,
}

/// The remaining values of a loop over known values.
#[derive(Debug, Default)]
pub(super) struct ValueLoop {
    pub(super) name: String,
    /// The remaining values, the next one last.
    pub(super) left: Vec<ExpandedText>,
    /// The text and the token at which the body starts.
    pub(super) body: Option<(usize, usize)>,
    /// Whether the next iteration runs, if an earlier one may have ended the loop.
    pub(super) begin: Option<Tristate>,
}

/// The state of a loop with a condition.
#[derive(Debug)]
pub(super) struct ConditionLoop {
    /// Whether the loop ends when the condition is true.
    pub(super) until: bool,
    /// The text and the token at which the condition starts.
    pub(super) at: Option<(usize, usize)>,
    /// The number of iterations so far.
    pub(super) iterations: usize,
    /// Whether the current iteration certainly runs and another one may follow.
    pub(super) going: bool,
}

/// Whether the current commands are reached despite earlier `exit` and `return` commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reachability {
    /// Whether no `exit` ended the shell.
    pub(super) shell: Tristate,
    /// Whether no `return` ended the function.
    pub(super) function: Tristate,
}

impl Default for Reachability {
    fn default() -> Self {
        Self { shell: Tristate::Yes, function: Tristate::Yes }
    }
}

/// The positional parameters of the current script or function.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PositionalParameters {
    /// The known parameters from the first one on; `None` outside of a script or function, or if all are unknown.
    pub(super) words: Option<Arc<Vec<Word>>>,
    /// Whether unknown parameters may follow.
    pub(super) open: bool,
}

/// The position of a command in a pipeline; the commands of a pipeline and background commands run in subshells.
#[derive(Clone, Copy, Default)]
pub(super) struct PipelinePosition {
    /// Whether another command of the pipeline precedes it.
    pub(super) behind: bool,
    /// Whether another command of the pipeline, or `&`, follows.
    pub(super) ahead: bool,
}

/// The body of a function.
#[derive(Clone)]
pub(super) enum FunctionBody {
    /// In the current text.
    Here(MappedText),
    /// In a sourced file; its commands have the span of the call.
    Elsewhere(Arc<str>),
}

/// How a script requires the success of the command of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequiredSuccess {
    /// The script ends with an error if the command fails.
    Once,
    /// The command is repeated until it succeeds.
    Eventually,
}

/// The state of `[[ … ]]` with `&&` and `||` inside, which the lexer splits into several commands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DoubleBrackets {
    /// Whether the brackets are open.
    pub(super) open: bool,
    /// Whether they contain or follow something that is not supported.
    pub(super) broken: bool,
    /// Whether `||` occurred in them.
    pub(super) or: bool,
}

/// Options of a shell that decide whether a failing command ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellOptions {
    /// A failing command ends the shell (`-e`).
    pub(super) errexit: bool,
    /// A pipeline fails if one of its commands does (`-o pipefail`).
    pub(super) pipefail: bool,
}

impl ShellOptions {
    /// Applies the options of a shell or of `set`, up to the first other word.
    pub(super) fn apply<'w>(&mut self, words: impl IntoIterator<Item = &'w str>) {
        let mut words = words.into_iter();
        while let Some(word) = words.next().filter(|word| !matches!(*word, "-" | "--")) {
            let (is_on, letters) = match (word.strip_prefix('-'), word.strip_prefix('+')) {
                (Some(letters), _) => (true, letters),
                (None, Some(letters)) => (false, letters),
                (None, None) => return,
            };
            // `--login` and other long options.
            if letters.starts_with('-') {
                continue;
            }
            if letters.contains('e') {
                self.errexit = is_on;
            }
            if letters.contains('o') {
                match words.next() {
                    Some("errexit") => self.errexit = is_on,
                    Some("pipefail") => self.pipefail = is_on,
                    _ => {}
                }
            }
        }
    }
}

/// The state of a walk through shell text.
pub(super) struct ShellWalker<'a> {
    pub(super) scope: &'a VariableScope,
    pub(super) heredocs: &'a [Heredoc],
    /// The files that exist before the first command.
    pub(super) files: ShellFiles<'a>,
    pub(super) variables: BTreeMap<String, ExpandedText>,
    pub(super) branches: Vec<ShellBlock>,
    pub(super) reachability: Reachability,
    /// The number of blocks opened so far.
    pub(super) opened: usize,
    /// Whether a limit was reached and the rest is not read.
    pub(super) limit_reached: bool,
    /// The number of words that expansions have added.
    pub(super) added_words: usize,
    pub(super) list: AndOrList,
    pub(super) brackets: DoubleBrackets,
    /// How the script requires the success of the current command, if it is a condition.
    pub(super) required_success: Option<RequiredSuccess>,
    /// The options of the shell about failures.
    pub(super) options: ShellOptions,
    /// The indexes in `out` of the first command of the current list, and of the first one behind its last `&&`.
    pub(super) list_start: (usize, usize),
    /// Whether a sourced file or another command may have set any variable.
    pub(super) sourced: bool,
    /// The input of the current command from a pipeline, and the number of previous commands in it.
    pub(super) pipe: (StandardInput, usize),
    /// The number of enclosing substitutions.
    pub(super) substitutions: usize,
    /// The bodies of functions by name.
    pub(super) functions: BTreeMap<String, FunctionBody>,
    /// The number of function calls so far.
    pub(super) called: usize,
    /// The number of sourced files.
    pub(super) read_in: usize,
    /// The positional parameters of the current script or function.
    pub(super) arguments: PositionalParameters,
    /// The position of the current command in a pipeline.
    pub(super) part: PipelinePosition,
    /// The arrays by name; `None` for one whose elements are unknown.
    pub(super) arrays: BTreeMap<String, Option<Vec<Word>>>,
    /// The number of the current text.
    pub(super) level: usize,
    /// The number of texts so far.
    pub(super) levels: usize,
    /// The number of loop iterations behind the first ones.
    pub(super) extra_iterations: usize,
    /// The index of the token to continue with, if it is not the next one.
    pub(super) jump: Option<usize>,
    /// The variables of the last recorded command.
    pub(super) last_variables: Arc<Vec<(String, ExpandedText)>>,
    /// The recorded commands.
    pub(super) out: Vec<Command>,
}

impl<'a> ShellWalker<'a> {
    /// Returns a walker at the start of a text.
    pub(super) fn new(scope: &'a VariableScope, heredocs: &'a [Heredoc], files: ShellFiles<'a>) -> Self {
        let (variables, branches, out) = (BTreeMap::new(), Vec::new(), Vec::new());
        let pipe = (StandardInput::None, 0);
        let (list, brackets, required_success, reachability) =
            (AndOrList::default(), DoubleBrackets::default(), None, Reachability::default());
        let (opened, limit_reached, added_words, sourced, substitutions) = (0, false, 0, false, 0);
        let (functions, called, arrays) = (BTreeMap::new(), 0, BTreeMap::new());
        let (read_in, arguments, part) = (0, PositionalParameters::default(), PipelinePosition::default());
        let (level, levels, extra_iterations, jump, last_variables) = (0, 0, 0, None, Arc::default());
        Self {
            scope,
            heredocs,
            files,
            variables,
            branches,
            reachability,
            opened,
            limit_reached,
            added_words,
            list,
            brackets,
            required_success,
            options: ShellOptions::default(),
            list_start: (0, 0),
            sourced,
            pipe,
            substitutions,
            functions,
            called,
            read_in,
            arguments,
            part,
            arrays,
            level,
            levels,
            extra_iterations,
            jump,
            last_variables,
            out,
        }
    }

    /// Looks up a variable or positional parameter.
    pub(super) fn lookup_variable(&self, name: &str) -> VariableLookup {
        let argument = self.positional_parameter(name);
        if self.is_parameter_unset(name) {
            return VariableLookup::Unset;
        }
        match argument.as_ref().or_else(|| self.variables.get(name)) {
            Some(ExpandedText::Known { value, origins }) => VariableLookup::Known(value.clone(), origins.clone()),
            Some(ExpandedText::Unresolved { reason, .. }) => {
                VariableLookup::Unknown(vec![name.to_owned()], (**reason).clone())
            }
            // What a script or RUN is not called with is not set; within a function it may be.
            None if self.called == 0 && self.substitutions == 0 && is_number(name) => VariableLookup::Unset,
            None if name == "PWD" && !self.sourced => match self.absolute_folder() {
                Some(folder) => VariableLookup::Known(folder, Vec::new()),
                None => self.scope.lookup(name),
            },
            None => match self.scope.lookup(name) {
                VariableLookup::Unset | VariableLookup::Unknown(..)
                    if self.sourced && self.scope.is_set_nowhere(name) =>
                {
                    VariableLookup::Unknown(vec![name.to_owned()], Cause::SetByUninspectedCommand)
                }
                other => other,
            },
        }
    }

    /// Whether the current commands run.
    pub(super) fn commands_run(&self) -> Tristate {
        self.branches.iter().fold(self.list.gate.and(self.reachability.combined()), |runs, branch| runs.and(branch.now))
    }

    /// Whether the current commands are the condition of a block.
    pub(super) fn is_in_condition(&self) -> bool {
        self.branches.last().is_some_and(|branch| branch.in_condition)
    }
}

/// Whether the name of a variable is a number, as of a positional parameter.
pub(super) fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|one| one.is_ascii_digit())
}
