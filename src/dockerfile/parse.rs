//! Parsing of a Dockerfile; an error becomes a problem, and parsing continues after it.

use std::ops::Range;

use crate::dockerfile::argument_words::whitespace_word_ranges;
use crate::dockerfile::ast::{LintCommentCollector, PhysicalLines, StageNames};
use crate::dockerfile::expand::is_template;
use crate::dockerfile::instruction_check::check_instruction;
use crate::dockerfile::json_form::parse_json_array;
use crate::dockerfile::{
    Dockerfile, DockerfileProblem, Instruction, InstructionFlag, InstructionKind, MappedText, Stage, ast, heredoc,
};
use crate::text::source::Span;

impl Dockerfile {
    /// Parses a Dockerfile; never fails, as errors are recorded as problems.
    pub fn parse(text: &str) -> Self {
        let mut problems = Vec::new();
        let mut instructions = Vec::new();
        let mut lines = PhysicalLines::new(text);
        let escape = ast::read_parser_directives(&mut lines, &mut problems);
        let mut controls = LintCommentCollector::default();
        let mut comments = Vec::new();
        while let Some(logical) = ast::read_logical_line(&mut lines, escape, &mut comments, &mut problems) {
            controls.add_comments(&mut comments, Some(instructions.len()));
            let mut instruction = parse_instruction(&logical.text, escape, true, &mut problems);
            instruction.span.end = logical.end.max(instruction.span.end);
            let takes = |kind: &InstructionKind| kind.accepts_heredocs();
            let child_takes = instruction.child.as_ref().is_some_and(|child| takes(&child.kind));
            if takes(&instruction.kind) || child_takes {
                let (found, end) = heredoc::read_heredocs(&logical.text, escape, &mut lines, &mut problems);
                instruction.span = heredoc::extend_span(instruction.span, end, text);
                match &mut instruction.child {
                    Some(child) => child.heredocs = found,
                    None => instruction.heredocs = found,
                }
            }
            instructions.push(instruction);
        }
        controls.add_comments(&mut comments, None);
        let stages = collect_stages(&instructions, &mut problems);
        problems.sort_by_key(|problem| problem.span);
        if stages.is_empty() {
            // Most likely no Dockerfile at all: one word about that is enough.
            let first = problems.iter().find(|problem| !problem.templated).or(problems.first());
            let message = if instructions.is_empty() {
                "the file has no instructions; add FROM"
            } else {
                "the file has no FROM; add it"
            };
            problems = vec![first.cloned().unwrap_or_else(|| DockerfileProblem::new(Span::new(0, 0), message))];
        }
        if let Some(first) = not_a_dockerfile_problem(&instructions, &problems) {
            problems = vec![first];
        }
        let controls = controls.finish(&instructions, &stages);
        let names = StageNames::from_stages(&stages);
        Self { escape, instructions, stages, problems, controls, names }
    }
}

/// Returns a single problem for a text that is most likely not a Dockerfile.
fn not_a_dockerfile_problem(instructions: &[Instruction], problems: &[DockerfileProblem]) -> Option<DockerfileProblem> {
    let first = instructions.first().filter(|first| matches!(first.kind, InstructionKind::Unknown(_)))?;
    let unknown = instructions.iter().filter(|one| matches!(one.kind, InstructionKind::Unknown(_))).count();
    // Lines of a template language are reported one by one.
    let plain = problems.iter().all(|problem| !problem.templated);
    let most = plain && problems.len() > 1 && unknown * 2 > instructions.len();
    let message =
        format!("{unknown} of {} lines do not start with an instruction: this is not a Dockerfile", instructions.len());
    most.then(|| DockerfileProblem::new(first.keyword, message))
}

/// Parses a logical line as an instruction.
fn parse_instruction(line: &MappedText, escape: char, top: bool, problems: &mut Vec<DockerfileProblem>) -> Instruction {
    let text = line.text();
    let start = text.len() - text.trim_start().len();
    let end = start + text[start..].trim_end().len();
    let body = &text[start..end];
    let keyword_len = body.find([' ', '\t', '\u{b}', '\u{c}', '\r']).unwrap_or(body.len());
    let keyword = line.source_span(start..start + keyword_len);
    let kind = InstructionKind::from_keyword(&body[..keyword_len]);
    let mut rest = start + keyword_len..end;
    skip_whitespace(text, &mut rest);
    let mut flags = Vec::new();
    if !matches!(kind, InstructionKind::Unknown(_)) {
        flags = read_flags(line, &mut rest, escape);
    }
    let arguments = line.slice(rest);
    let json = if kind.accepts_json_form() { parse_json_array(&arguments) } else { None };
    let mut child = None;
    if kind == InstructionKind::Onbuild && top && !arguments.text().is_empty() {
        // What stands below ONBUILD is looked at where the image is built on.
        child = Some(Box::new(parse_instruction(&arguments, escape, false, &mut Vec::new())));
    }
    let span = line.source_span(start..end);
    let found = Instruction { kind, span, keyword, flags, arguments, json, heredocs: Vec::new(), child };
    if let Some(complaint) = check_instruction(&found, escape) {
        problems.push(DockerfileProblem { templated: is_template(text), ..complaint });
    }
    found
}

/// Moves the start of a range past leading whitespace.
fn skip_whitespace(text: &str, rest: &mut Range<usize>) {
    let part = text.get(rest.clone()).unwrap_or("");
    rest.start += part.len() - part.trim_start().len();
}

/// Reads the `--name=value` flags in front of the arguments.
fn read_flags(line: &MappedText, rest: &mut Range<usize>, escape: char) -> Vec<InstructionFlag> {
    let mut flags = Vec::new();
    loop {
        let part = line.get(rest.clone());
        if !part.starts_with("--") {
            return flags;
        }
        let len = flag_length(part, escape);
        let range = rest.start..rest.start + len;
        rest.start = range.end;
        skip_whitespace(line.text(), rest);
        let word = &part[2..len];
        if word.is_empty() {
            return flags;
        }
        let (name, value) = match word.split_once('=') {
            Some((name, _)) => {
                (name, Some(unquote_flag_value(line, range.start + 2 + name.len() + 1..range.end, escape)))
            }
            None => (word, None),
        };
        flags.push(InstructionFlag { name: name.to_owned(), value, span: line.source_span(range.clone()) });
    }
}

/// Returns the length of a flag, up to the first whitespace that is not quoted or escaped.
fn flag_length(part: &str, escape: char) -> usize {
    let mut quote = None;
    let mut chars = part.char_indices();
    while let Some((at, c)) = chars.next() {
        match quote {
            Some(mark) if c == mark => quote = None,
            _ if c == escape => {
                chars.next();
            }
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c.is_whitespace() => return at,
            _ => {}
        }
    }
    part.len()
}

/// Removes quotes and escapes from the value of a flag.
fn unquote_flag_value(line: &MappedText, range: Range<usize>, escape: char) -> MappedText {
    let mut value = MappedText::default();
    value.push("", line.source_offset(range.start));
    let mut quote = None;
    let mut chars = line.get(range.clone()).char_indices();
    while let Some((at, c)) = chars.next() {
        let (at, c) = match quote {
            Some(mark) if c == mark => {
                quote = None;
                continue;
            }
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                continue;
            }
            _ if c == escape => match chars.next() {
                Some(next) => next,
                None => continue,
            },
            _ => (at, c),
        };
        value.push(c.encode_utf8(&mut [0; 4]), line.source_offset(range.start + at));
    }
    value
}

/// Groups instructions into build stages.
fn collect_stages(instructions: &[Instruction], problems: &mut Vec<DockerfileProblem>) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::new();
    let mut outside = false;
    for (at, instruction) in instructions.iter().enumerate() {
        match (&instruction.kind, stages.last_mut()) {
            (InstructionKind::From, _) => {
                let stage = parse_stage(instruction, stages.len(), at);
                stages.push(stage);
            }
            (_, Some(stage)) => stage.instructions.push(at),
            (InstructionKind::Arg | InstructionKind::Unknown(_), None) => {}
            (kind, None) => {
                if !outside {
                    let message = format!("{} before the first FROM", kind.keyword());
                    problems.push(DockerfileProblem::new(instruction.keyword, message));
                }
                outside = true;
            }
        }
    }
    stages
}

/// Creates a build stage from its FROM instruction.
fn parse_stage(from: &Instruction, index: usize, at: usize) -> Stage {
    let text = from.arguments.text();
    let words = whitespace_word_ranges(text);
    let mut base = words.first().cloned().unwrap_or(0..0);
    let mut after = 1;
    if from.arguments.get(base.clone()).contains("{{") {
        let closes = |word: &Range<usize>| text.get(word.clone()).is_some_and(|word| word.contains("}}"));
        if let Some(last) = words.iter().position(closes) {
            base.end = words.get(last).map_or(base.end, |word| word.end);
            after = last + 1;
        }
    }
    let is_as = words.get(after).is_some_and(|word| from.arguments.get(word.clone()).eq_ignore_ascii_case("as"));
    let name = words.get(after + 1).filter(|_| is_as).map(|word| from.arguments.get(word.clone()).to_ascii_lowercase());
    let base_span = if base.is_empty() { from.keyword } else { from.arguments.source_span(base.clone()) };
    Stage { name, index, from: at, base: from.arguments.slice(base), base_span, instructions: Vec::new() }
}
