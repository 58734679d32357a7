//! The syntax tree of a Dockerfile: parser directives, physical and logical lines, stages, and comments for imagelint.
//!
//! `# imagelint: ignore[rule] reason` above an instruction or among its lines, `ignore-file[rule] reason`
//! before the first FROM, `pools=a,b` anywhere. A rule may carry a pool: `ignore[rule@pool]`. Comments among lines
//! of other texts are those of `line_lint_comment`.

use std::collections::BTreeMap;

use crate::dockerfile::MappedText;
use crate::text::nearest::nearest_word;
use crate::text::source::Span;

/// The keyword of an instruction; `Unknown` contains an unrecognized one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name is the keyword itself")]
pub enum InstructionKind {
    Add,
    Arg,
    Cmd,
    Copy,
    Entrypoint,
    Env,
    Expose,
    From,
    Healthcheck,
    Label,
    Maintainer,
    Onbuild,
    Run,
    Shell,
    Stopsignal,
    User,
    Volume,
    Workdir,
    Unknown(String),
}

impl InstructionKind {
    /// Returns the instruction kind of a keyword in any case.
    pub fn from_keyword(word: &str) -> Self {
        match word.to_ascii_uppercase().as_str() {
            "ADD" => Self::Add,
            "ARG" => Self::Arg,
            "CMD" => Self::Cmd,
            "COPY" => Self::Copy,
            "ENTRYPOINT" => Self::Entrypoint,
            "ENV" => Self::Env,
            "EXPOSE" => Self::Expose,
            "FROM" => Self::From,
            "HEALTHCHECK" => Self::Healthcheck,
            "LABEL" => Self::Label,
            "MAINTAINER" => Self::Maintainer,
            "ONBUILD" => Self::Onbuild,
            "RUN" => Self::Run,
            "SHELL" => Self::Shell,
            "STOPSIGNAL" => Self::Stopsignal,
            "USER" => Self::User,
            "VOLUME" => Self::Volume,
            "WORKDIR" => Self::Workdir,
            _ => Self::Unknown(word.to_owned()),
        }
    }

    /// Returns the keyword in upper case, or the unknown keyword as written.
    pub fn keyword(&self) -> &str {
        match self {
            Self::Add => "ADD",
            Self::Arg => "ARG",
            Self::Cmd => "CMD",
            Self::Copy => "COPY",
            Self::Entrypoint => "ENTRYPOINT",
            Self::Env => "ENV",
            Self::Expose => "EXPOSE",
            Self::From => "FROM",
            Self::Healthcheck => "HEALTHCHECK",
            Self::Label => "LABEL",
            Self::Maintainer => "MAINTAINER",
            Self::Onbuild => "ONBUILD",
            Self::Run => "RUN",
            Self::Shell => "SHELL",
            Self::Stopsignal => "STOPSIGNAL",
            Self::User => "USER",
            Self::Volume => "VOLUME",
            Self::Workdir => "WORKDIR",
            Self::Unknown(word) => word,
        }
    }

    /// Whether `BuildKit` accepts here-documents after this keyword.
    pub fn accepts_heredocs(&self) -> bool {
        matches!(self, Self::Run | Self::Copy | Self::Add)
    }

    /// Whether the arguments can be written as a JSON array.
    pub fn accepts_json_form(&self) -> bool {
        matches!(self, Self::Add | Self::Copy | Self::Cmd | Self::Entrypoint | Self::Run | Self::Shell | Self::Volume)
    }
}

/// A `--name=value` flag in front of the arguments of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionFlag {
    /// The name without the dashes.
    pub name: String,
    /// What follows `=`; `None` where there is no `=`.
    pub value: Option<MappedText>,
    /// The whole flag.
    pub span: Span,
}

/// A here-document that an instruction opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heredoc {
    /// The terminator without its quotes.
    pub name: String,
    /// The opening word.
    pub span: Span,
    /// The body, up to but without the terminator.
    pub body: MappedText,
    /// Whether variables in the body are expanded: the terminator is not quoted.
    pub expand: bool,
    /// Whether leading tabs are stripped: `<<-`.
    pub strip: bool,
}

/// An instruction with its flags, arguments and here-documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its keyword.
    pub kind: InstructionKind,
    /// From the keyword to the last byte, heredocs included.
    pub span: Span,
    /// The keyword.
    pub keyword: Span,
    /// The flags in front of the arguments.
    pub flags: Vec<InstructionFlag>,
    /// What follows keyword and flags, without continuations and comments.
    pub arguments: MappedText,
    /// The elements where the arguments are a JSON array.
    pub json: Option<Vec<MappedText>>,
    /// The here-documents it opens.
    pub heredocs: Vec<Heredoc>,
    /// The instruction below ONBUILD.
    pub child: Option<Box<Instruction>>,
}

impl Instruction {
    /// Returns the first flag with a name.
    pub fn flag(&self, name: &str) -> Option<&InstructionFlag> {
        self.flags.iter().find(|flag| flag.name == name)
    }
}

/// A build stage: a FROM and the instructions after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The name after AS.
    pub name: Option<String>,
    /// Its number, from 0.
    pub index: usize,
    /// Which instruction is its FROM.
    pub from: usize,
    /// The base as written.
    pub base: MappedText,
    /// Where the base is written.
    pub base_span: Span,
    /// The instructions after its FROM.
    pub instructions: Vec<usize>,
}

/// An error that `BuildKit` would report, with its source span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DockerfileProblem {
    /// Where it is.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// Whether a template language wrote it: the file that gets built is another one.
    pub templated: bool,
}

impl DockerfileProblem {
    /// Creates a problem in text that does not come from a template language.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), templated: false }
    }
}

/// A parsed Dockerfile, with its errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dockerfile {
    /// The escape character: `\`, or the value of `# escape=`.
    pub escape: char,
    /// All instructions in order.
    pub instructions: Vec<Instruction>,
    /// The build stages in order.
    pub stages: Vec<Stage>,
    /// What is wrong with the file.
    pub problems: Vec<DockerfileProblem>,
    /// Comments with directives for imagelint.
    pub controls: Vec<LintComment>,
    /// The stages by their names.
    pub(super) names: StageNames,
}

/// The maximum length of a physical line in bytes.
const LONGEST_LINE: usize = 65_535;

/// A physical line without its line ending.
#[derive(Clone, Copy, Debug)]
pub(super) struct PhysicalLine<'a> {
    pub(super) start: usize,
    pub(super) text: &'a str,
    /// Where the next line starts.
    pub(super) next: usize,
}

impl PhysicalLine<'_> {
    /// Returns the source span of the line.
    pub(super) fn span(self) -> Span {
        Span::new(self.start, self.start + self.text.len())
    }
}

/// A cursor over the physical lines of a text.
#[derive(Debug)]
pub(super) struct PhysicalLines<'a> {
    text: &'a str,
    pub(super) at: usize,
}

impl<'a> PhysicalLines<'a> {
    /// Creates a cursor at the first line, after a byte order mark.
    pub(super) fn new(text: &'a str) -> Self {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self { text, at }
    }

    /// Returns the next physical line.
    pub(super) fn next_line(&mut self) -> Option<PhysicalLine<'a>> {
        let start = self.at;
        let rest = self.text.get(start..).filter(|rest| !rest.is_empty())?;
        let (line, next) = match rest.find('\n') {
            Some(end) => (&rest[..end], start + end + 1),
            None => (rest, self.text.len()),
        };
        self.at = next;
        Some(PhysicalLine { start, text: line.trim_end_matches('\r'), next })
    }
}

/// A logical line: physical lines joined at their continuations.
#[derive(Debug)]
pub(super) struct LogicalLine {
    pub(super) text: MappedText,
    pub(super) end: usize,
}

/// Reads the parser directives at the top of the file and returns the escape character.
pub(super) fn read_parser_directives(lines: &mut PhysicalLines<'_>, problems: &mut Vec<DockerfileProblem>) -> char {
    let mut escape = '\\';
    let mut seen: Vec<String> = Vec::new();
    loop {
        let before = lines.at;
        let Some(line) = lines.next_line() else { break };
        let directive = line.text.trim_start().strip_prefix('#').and_then(|rest| rest.split_once('='));
        let Some((name, value)) = directive else {
            lines.at = before;
            break;
        };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        if !is_parser_directive(&name) || value.is_empty() {
            lines.at = before;
            break;
        }
        let span = line.span();
        if seen.contains(&name) {
            problems.push(DockerfileProblem::new(span, format!("only one {name} directive is allowed")));
        } else if name == "escape" {
            match value {
                "\\" => {}
                "`" => escape = '`',
                _ => problems
                    .push(DockerfileProblem::new(span, format!("the escape character must be ` or \\, not `{value}`"))),
            }
        }
        seen.push(name);
    }
    escape
}

/// Whether a lower-case name is that of a parser directive.
fn is_parser_directive(name: &str) -> bool {
    ["syntax", "escape", "check"].contains(&name)
}

/// Reads the next non-empty logical line; comments before and inside it are added to `comments`.
pub(super) fn read_logical_line<'a>(
    lines: &mut PhysicalLines<'a>,
    escape: char,
    comments: &mut Vec<PhysicalLine<'a>>,
    problems: &mut Vec<DockerfileProblem>,
) -> Option<LogicalLine> {
    let mut comment = |line: PhysicalLine<'a>, stripped: &str| {
        if stripped.starts_with('#') {
            comments.push(line);
        }
    };
    loop {
        let first = lines.next_line()?;
        check_line_length(first, problems);
        let stripped = first.text.trim_start();
        if stripped.is_empty() || stripped.starts_with('#') {
            comment(first, stripped);
            continue;
        }
        let mut text = MappedText::default();
        let mut end = first.start + first.text.len();
        let (part, mut open) = split_continuation(stripped, escape);
        text.push(part, first.start + first.text.len() - stripped.len());
        while open {
            let Some(line) = lines.next_line() else { break };
            check_line_length(line, problems);
            let stripped = line.text.trim_start();
            if stripped.is_empty() || stripped.starts_with('#') {
                comment(line, stripped);
                continue;
            }
            end = line.start + line.text.len();
            let (part, more) = split_continuation(line.text, escape);
            text.push(part, line.start);
            open = more;
        }
        if !text.text().trim().is_empty() {
            return Some(LogicalLine { text, end });
        }
        problems.push(DockerfileProblem::new(first.span(), "nothing follows the line continuation".to_owned()));
    }
}

/// Returns the line without a trailing continuation character, and whether it had one.
fn split_continuation(line: &str, escape: char) -> (&str, bool) {
    let trimmed = line.trim_end_matches([' ', '\t']);
    match trimmed.strip_suffix(escape) {
        Some(before) if !before.ends_with(escape) => (before, true),
        _ => (line, false),
    }
}

/// Reports a line that is longer than the maximum.
fn check_line_length(line: PhysicalLine<'_>, problems: &mut Vec<DockerfileProblem>) {
    if line.text.len() > LONGEST_LINE {
        let message = format!("the line is longer than {LONGEST_LINE} bytes");
        problems.push(DockerfileProblem::new(line.span(), message));
    }
}

/// The directives that a comment for imagelint can contain.
const DIRECTIVE_NAMES: &[&str] = &["ignore", "ignore-file", "pools"];
/// The names of suppressions in other linters, for suggestions.
const FOREIGN_DIRECTIVE_NAMES: &[&str] = &["noqa", "disable", "disable-next-line", "nolint", "skip", "allow", "off"];

/// The prefix of a comment for imagelint, before the colon.
const NAME: &str = "imagelint";

/// A rule named in a suppression, and its pool if it is limited to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuppressedRule {
    /// The rule.
    pub rule: String,
    /// The pool that it is ignored for; every pool where `None`.
    pub pool: Option<String>,
    /// Where it is written.
    pub span: Span,
}

/// The directive in a comment for imagelint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LintDirective {
    /// Leave out what these rules say.
    Ignore {
        /// The rules.
        rules: Vec<SuppressedRule>,
        /// Cause, in the words of the file; may be empty.
        reason: String,
    },
    /// The image runs on these pools alone.
    Pools(Vec<(String, Span)>),
    /// It cannot be followed: why.
    Broken(String),
}

/// A comment for imagelint in a Dockerfile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintComment {
    /// The whole comment.
    pub span: Span,
    /// The directive that it contains.
    pub directive: LintDirective,
    /// Index of the instruction that it applies to; `None` for the whole file.
    pub instruction: Option<usize>,
}

/// Collects the comments for imagelint while a Dockerfile is parsed.
#[derive(Debug, Default)]
pub(super) struct LintCommentCollector {
    found: Vec<(LintComment, bool)>,
    /// The first comment for imagelint, where nothing but comments was read so far.
    leading: Option<usize>,
    begun: bool,
}

impl LintCommentCollector {
    /// Adds the comments above or inside an instruction, or after the last one.
    pub(super) fn add_comments(&mut self, comments: &mut Vec<PhysicalLine<'_>>, instruction: Option<usize>) {
        for line in comments.drain(..) {
            let Some(comment) = line.text.trim_start().strip_prefix('#') else { continue };
            let body = comment.trim_start();
            if let Some(text) = body.strip_prefix("imagelint:") {
                let start = line.start + line.text.len() - text.len();
                let (order, file) = parse_directive(text, start);
                if !self.begun {
                    self.leading.get_or_insert(self.found.len());
                }
                let lead = line.text.len() - line.text.trim_start().len();
                let span = Span::new(line.start + lead, line.start + line.text.trim_end().len());
                self.found.push((LintComment { span, directive: order, instruction }, file));
            } else if let Some(order) = parse_mistyped_comment(body) {
                let lead = line.text.len() - line.text.trim_start().len();
                let span = Span::new(line.start + lead, line.start + line.text.trim_end().len());
                self.begun |= self.leading.is_none();
                self.found.push((LintComment { span, directive: order, instruction }, false));
            } else if let (Some(at), Some((name, value))) = (self.leading.filter(|_| !self.begun), body.split_once('='))
                && is_parser_directive(&name.trim().to_ascii_lowercase())
                && !value.trim().is_empty()
                && let Some((control, _)) = self.found.get_mut(at)
            {
                let message = format!("move it below `# {}=`, which has no effect after a comment", name.trim());
                control.directive = LintDirective::Broken(message);
            } else {
                // Any other comment ends the block of parser directives.
                self.begun |= self.leading.is_none();
            }
        }
        self.begun = true;
    }

    /// Returns the comments, each with the instruction that it applies to, and checks their positions.
    pub(super) fn finish(self, instructions: &[Instruction], stages: &[Stage]) -> Vec<LintComment> {
        let first_from = stages.first().map_or(instructions.len(), |stage| stage.from);
        let check_position = |(mut control, file): (LintComment, bool)| {
            if file {
                if control.instruction.is_none_or(|at| at > first_from) {
                    control.directive =
                        LintDirective::Broken("`ignore-file` must come before the first FROM".to_owned());
                }
                control.instruction = None;
            } else if matches!(control.directive, LintDirective::Ignore { .. }) && control.instruction.is_none() {
                control.directive = LintDirective::Broken("no instruction follows it".to_owned());
            }
            if matches!(control.directive, LintDirective::Pools(_)) {
                control.instruction = None;
            }
            control
        };
        self.found.into_iter().map(check_position).collect()
    }
}

/// Returns an error for a comment that resembles one for imagelint; `None` for any other comment.
pub(super) fn parse_mistyped_comment(body: &str) -> Option<LintDirective> {
    let name = body.get(..NAME.len()).filter(|name| name.eq_ignore_ascii_case(NAME))?;
    let rest = body.get(NAME.len()..)?;
    let after = rest.trim_start();
    let words = after.strip_prefix(':').unwrap_or(after).trim_start();
    let has_keyword = ["ignore", "pools="].iter().any(|word| words.starts_with(word));
    let close = rest.starts_with([':', ' ', '\t']);
    let (colon, exact) = (rest.starts_with(':'), name == NAME);
    // With a correct name and colon, other mistakes are reported where the directive is parsed.
    (has_keyword && close && !(colon && exact))
        .then(|| LintDirective::Broken(format!("expected `# {NAME}: ignore[rule]`: `{NAME}` in lowercase and a colon")))
}

/// Parses the text after `imagelint:`; also returns whether the directive applies to the whole file.
pub(super) fn parse_directive(text: &str, start: usize) -> (LintDirective, bool) {
    let lead = text.len() - text.trim_start().len();
    let (text, start) = (text.trim(), start + lead);
    let broken = |message: &str| (LintDirective::Broken(message.to_owned()), false);
    if let Some(list) = text.strip_prefix("pools=") {
        let list = list.split_whitespace().next().unwrap_or("");
        let pools = split_list(list, start + "pools=".len());
        return if pools.is_empty() {
            broken("`pools=` is empty; add the name of a pool")
        } else {
            (LintDirective::Pools(pools), false)
        };
    }
    let (rest, file) = match (text.strip_prefix("ignore-file"), text.strip_prefix("ignore")) {
        (Some(rest), _) => (rest, true),
        (None, Some(rest)) => (rest, false),
        (None, None) => {
            let word = text.split(['[', '=', ' ', ':']).next().unwrap_or(text);
            let suggestion = if FOREIGN_DIRECTIVE_NAMES.contains(&word) {
                Some("ignore")
            } else {
                nearest_word(word, DIRECTIVE_NAMES.iter().copied())
            };
            let hint = suggestion.map_or_else(String::new, |suggestion| format!("; did you mean `{suggestion}`?"));
            return broken(&format!("expected `ignore[rule]`, `ignore-file[rule]` or `pools=a,b`{hint}"));
        }
    };
    let Some((list, reason)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return broken("expected rule names in square brackets: `ignore[rule]`");
    };
    let listed = split_list(list, start + text.len() - rest.len() + 1);
    if listed.is_empty() {
        return broken("expected rule names in square brackets: `ignore[rule]`");
    }
    let ignored = |(word, span): (String, Span)| match word.split_once('@') {
        Some((rule, pool)) => SuppressedRule { rule: rule.to_owned(), pool: Some(pool.to_owned()), span },
        None => SuppressedRule { rule: word, pool: None, span },
    };
    let rules = listed.into_iter().map(ignored).collect();
    (LintDirective::Ignore { rules, reason: reason.trim().to_owned() }, file)
}

/// Splits a comma-separated list into its elements with their spans.
fn split_list(list: &str, start: usize) -> Vec<(String, Span)> {
    let mut at = start;
    let mut found = Vec::new();
    for part in list.split(',') {
        let word = part.trim();
        let from = at + part.len() - part.trim_start().len();
        if !word.is_empty() {
            found.push((word.to_owned(), Span::new(from, from + word.len())));
        }
        at += part.len() + 1;
    }
    found
}

/// The stage numbers for each lower-case stage name, which may be defined more than once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StageNames(BTreeMap<String, Vec<usize>>);

impl StageNames {
    /// Collects the names of stages that are in file order.
    pub(super) fn from_stages(stages: &[Stage]) -> Self {
        let mut names: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for stage in stages {
            if let Some(name) = &stage.name {
                names.entry(name.to_ascii_lowercase()).or_default().push(stage.index);
            }
        }
        Self(names)
    }

    /// Returns the last stage with a name that precedes another stage.
    fn last_before(&self, name: &str, before: usize) -> Option<usize> {
        let numbers = self.0.get(&name.to_ascii_lowercase())?;
        numbers.get(numbers.partition_point(|number| *number < before).checked_sub(1)?).copied()
    }
}

impl Dockerfile {
    /// Returns the number of the stage with a name in any case, or with a number.
    pub fn find_stage(&self, name: &str) -> Option<usize> {
        self.find_stage_before(name, self.stages.len())
    }

    /// Returns the number of the stage with a name or number before another stage, as COPY can refer to it.
    pub fn find_stage_before(&self, name: &str, before: usize) -> Option<usize> {
        let number = || name.parse().ok().filter(|index| *index < before);
        self.names.last_before(name, before).or_else(number)
    }

    /// Returns the number of the stage that the FROM of a later stage names.
    pub(super) fn find_parent_stage(&self, name: &str, before: usize) -> Option<usize> {
        self.names.last_before(name, before)
    }

    /// Returns the stage that contains an instruction; `None` before the first FROM.
    pub fn stage_of_instruction(&self, instruction: usize) -> Option<&Stage> {
        let at = self.stages.partition_point(|stage| stage.from <= instruction).checked_sub(1)?;
        self.stages.get(at)
    }

    /// Returns the stages that no other stage builds on or copies from; names with variables are not followed.
    pub fn leaf_stages(&self) -> Vec<usize> {
        let mut used = vec![false; self.stages.len()];
        for stage in &self.stages {
            let mut earlier: Vec<usize> = self.find_parent_stage(stage.base.text(), stage.index).into_iter().collect();
            let instructions = stage.instructions.iter().filter_map(|at| self.instructions.get(*at));
            for flag in instructions.flat_map(|instruction| &instruction.flags) {
                let value = flag.value.as_ref().map_or("", MappedText::text);
                let from = |name: &str| self.find_stage_before(name, stage.index);
                match flag.name.as_str() {
                    "from" => earlier.extend(from(value)),
                    "mount" => {
                        let names = value.split(',').filter_map(|part| part.strip_prefix("from="));
                        earlier.extend(names.filter_map(from));
                    }
                    _ => {}
                }
            }
            for earlier in earlier {
                if let Some(used) = used.get_mut(earlier) {
                    *used = true;
                }
            }
        }
        (0..self.stages.len()).filter(|at| used.get(*at) == Some(&false)).collect()
    }
}

#[cfg(test)]
mod lint_comment_tests {
    use super::*;
    use crate::dockerfile::Dockerfile;

    fn describe_comments(text: &str) -> Vec<(String, Option<usize>)> {
        let tell = |control: LintComment| {
            let description = match &control.directive {
                LintDirective::Ignore { rules, reason } => {
                    let rules = rules.iter().map(|one| {
                        let pool = one.pool.as_ref().map_or_else(String::new, |pool| format!(" on {pool}"));
                        assert!(text[one.span.start..one.span.end].starts_with(&one.rule), "the place of a rule");
                        format!("{}{pool}", one.rule)
                    });
                    format!("{} ({reason})", rules.collect::<Vec<_>>().join(", "))
                }
                LintDirective::Pools(pools) => {
                    assert!(pools.iter().all(|(pool, span)| text[span.start..span.end] == **pool));
                    pools.iter().map(|(pool, _)| pool.as_str()).collect::<Vec<_>>().join("+")
                }
                LintDirective::Broken(why) => format!("broken: {why}"),
            };
            (description, control.instruction)
        };
        Dockerfile::parse(text).controls.into_iter().map(tell).collect()
    }

    #[test]
    fn suppression_applies_to_the_next_or_enclosing_instruction() {
        let text = "# syntax=x\n# imagelint: ignore[a, b@p] because\nFROM a\nRUN x \\\n  # imagelint: ignore[c]\n  y\n\
                    # imagelint: pools=one,two\nENV A=1\n";
        let expected = |text: &str, at: Option<usize>| (text.to_owned(), at);
        assert_eq!(
            describe_comments(text),
            [expected("a, b on p (because)", Some(0)), expected("c ()", Some(1)), expected("one+two", None)]
        );
        assert_eq!(
            describe_comments("# imagelint: ignore-file[a] all of it\nARG X\nFROM a\n"),
            [expected("a (all of it)", None)]
        );
    }

    #[test]
    fn invalid_suppression_is_reported() {
        for (text, why) in [
            ("FROM a\n# imagelint: ignore\nRUN x", "in square brackets"),
            ("FROM a\n# imagelint: ignore[]\nRUN x", "in square brackets"),
            ("FROM a\n# imagelint: ignore[a\nRUN x", "in square brackets"),
            ("FROM a\n# imagelint: disable[a]\nRUN x", "did you mean `ignore`?"),
            ("FROM a\n# imagelint: ingore[a]\nRUN x", "did you mean `ignore`?"),
            ("FROM a\n# imagelint: noqa\nRUN x", "did you mean `ignore`?"),
            ("FROM a\n# imagelint: unrelated words\nRUN x", "expected `ignore[rule]`"),
            ("FROM a\n# imagelint: pools=\nRUN x", "is empty"),
            ("FROM a\n# imagelint: ignore[a]\n", "no instruction follows"),
            ("FROM a\nFROM b\n# imagelint: ignore-file[a]\nRUN x", "before the first FROM"),
            ("# imagelint: ignore[a]\n# syntax=docker/dockerfile:1\nFROM a", "below `# syntax=`"),
            ("FROM a\n# Imagelint: ignore[a]\nRUN x", "in lowercase"),
            ("FROM a\n# imagelint ignore[a]\nRUN x", "a colon"),
            ("FROM a\n# imagelint : pools=a\nRUN x", "a colon"),
        ] {
            let found = describe_comments(text);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].0.starts_with("broken: ") && found[0].0.contains(why), "{text}: {found:?}");
        }
    }

    #[test]
    fn other_comments_and_texts_are_ignored() {
        for text in [
            "# hadolint ignore=DL3006 # why\nFROM a\n# check=skip=A\nRUN x",
            "FROM a\nRUN <<E\n# imagelint: ignore[a]\nE\n",
            "FROM a\nRUN echo # imagelint: ignore[a]\n",
            "# about imagelint: ignore[a]\nFROM a",
            "# Imagelint finds this\nFROM a\n# imagelinter ignore[a]\nRUN x",
            "# imagelint\nFROM a",
        ] {
            assert_eq!(describe_comments(text), [], "{text}");
        }
        assert_eq!(Dockerfile::parse("# escape=`\n# imagelint: ignore[a]\nFROM a").escape, '`');
    }
}

#[cfg(test)]
mod stages_tests {
    use super::*;
    use crate::dockerfile::EvaluateOptions;

    #[test]
    fn a_name_is_the_last_one_in_front_of_the_place() {
        let file = Dockerfile::parse("FROM a AS x\nFROM x AS X\nFROM b\nCOPY --from=x /a /\nFROM c AS x\n");
        assert_eq!(
            [0, 1, 2, 3, 4].map(|before| file.find_stage_before("x", before)),
            [None, Some(0), Some(1), Some(1), Some(3)]
        );
        assert_eq!(
            (file.find_stage("x"), file.find_stage("2"), file.find_stage("4"), file.find_stage("y")),
            (Some(3), Some(2), None, None)
        );
        assert_eq!(file.leaf_stages(), [2, 3], "the first x is built on, the second copied from");
        let evaluated = file.evaluate(&EvaluateOptions {
            target: Some("2".to_owned()),
            ..EvaluateOptions::new(crate::knowledge::Knowledge::built_in())
        });
        assert_eq!(evaluated.expect("a stage").copies[0].from_stage, Some(1));
    }

    #[test]
    fn a_number_is_no_base_and_nothing_follows_itself() {
        let file = Dockerfile::parse("FROM a\nFROM 0\nFROM self AS self\n");
        assert_eq!(file.leaf_stages(), [0, 1, 2]);
        let chain = |target: &str| {
            let options = EvaluateOptions {
                target: Some(target.to_owned()),
                ..EvaluateOptions::new(crate::knowledge::Knowledge::built_in())
            };
            file.evaluate(&options).expect("a stage").chain
        };
        assert_eq!((chain("1"), chain("self")), (vec![1], vec![2]));
    }
}
