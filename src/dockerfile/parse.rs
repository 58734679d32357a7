//! Reading a Dockerfile; what cannot be read becomes a problem and the rest is still read.

use std::ops::Range;

use crate::dockerfile::Dockerfile;
use crate::dockerfile::Flag;
use crate::dockerfile::Instruction;
use crate::dockerfile::Kind;
use crate::dockerfile::Mapped;
use crate::dockerfile::Problem;
use crate::dockerfile::Stage;
use crate::dockerfile::complaint::complaint;
use crate::dockerfile::control::Controls;
use crate::dockerfile::expand::is_template;
use crate::dockerfile::heredoc;
use crate::dockerfile::json::json_array;
use crate::dockerfile::lines;
use crate::dockerfile::lines::Lines;
use crate::dockerfile::stages::StageNames;
use crate::dockerfile::words::split_whitespace;
use crate::source::Span;

impl Dockerfile {
    /// Reads a text; never fails, whatever the text is.
    pub fn parse(text: &str) -> Self {
        let mut problems = Vec::new();
        let mut instructions = Vec::new();
        let mut lines = Lines::new(text);
        let escape = lines::directives(&mut lines, &mut problems);
        let mut controls = Controls::default();
        let mut comments = Vec::new();
        while let Some(logical) = lines::logical(&mut lines, escape, &mut comments, &mut problems) {
            controls.take(&mut comments, Some(instructions.len()));
            let mut instruction = instruction(&logical.text, escape, true, &mut problems);
            instruction.span.end = logical.end.max(instruction.span.end);
            let takes = |kind: &Kind| kind.takes_heredocs();
            let child_takes = instruction.child.as_ref().is_some_and(|child| takes(&child.kind));
            if takes(&instruction.kind) || child_takes {
                let (found, end) = heredoc::bodies(&logical.text, escape, &mut lines, &mut problems);
                instruction.span = heredoc::extend(instruction.span, end, text);
                match &mut instruction.child {
                    Some(child) => child.heredocs = found,
                    None => instruction.heredocs = found,
                }
            }
            instructions.push(instruction);
        }
        controls.take(&mut comments, None);
        let stages = stages(&instructions, &mut problems);
        problems.sort_by_key(|problem| problem.span);
        if stages.is_empty() {
            // Most likely no Dockerfile at all: one word about that is enough.
            let first = problems.iter().find(|problem| !problem.templated).or(problems.first());
            let message = if instructions.is_empty() {
                "the file has no instructions; add FROM"
            } else {
                "the file has no FROM; add it"
            };
            problems = vec![first.cloned().unwrap_or_else(|| Problem::new(Span::new(0, 0), message))];
        }
        if let Some(first) = no_dockerfile(&instructions, &problems) {
            problems = vec![first];
        }
        let controls = controls.finish(&instructions, &stages);
        let names = StageNames::of(&stages);
        Self { escape, instructions, stages, problems, controls, names }
    }
}

/// That a text is most likely no Dockerfile, in one word: it begins with no instruction, and most of its lines are none.
fn no_dockerfile(instructions: &[Instruction], problems: &[Problem]) -> Option<Problem> {
    let first = instructions.first().filter(|first| matches!(first.kind, Kind::Unknown(_)))?;
    let unknown = instructions.iter().filter(|one| matches!(one.kind, Kind::Unknown(_))).count();
    // What a template language wrote is told line by line.
    let plain = problems.iter().all(|problem| !problem.templated);
    let most = plain && problems.len() > 1 && unknown * 2 > instructions.len();
    let message =
        format!("{unknown} of {} lines do not start with an instruction: this is not a Dockerfile", instructions.len());
    most.then(|| Problem::new(first.keyword, message))
}

fn instruction(line: &Mapped, escape: char, top: bool, problems: &mut Vec<Problem>) -> Instruction {
    let text = line.text();
    let start = text.len() - text.trim_start().len();
    let end = start + text[start..].trim_end().len();
    let body = &text[start..end];
    let keyword_len = body.find([' ', '\t', '\u{b}', '\u{c}', '\r']).unwrap_or(body.len());
    let keyword = line.span(start..start + keyword_len);
    let kind = Kind::of(&body[..keyword_len]);
    let mut rest = start + keyword_len..end;
    skip_blanks(text, &mut rest);
    let mut flags = Vec::new();
    if !matches!(kind, Kind::Unknown(_)) {
        flags = read_flags(line, &mut rest, escape);
    }
    let arguments = line.slice(rest);
    let json = if kind.takes_json() { json_array(&arguments) } else { None };
    let mut child = None;
    if kind == Kind::Onbuild && top && !arguments.text().is_empty() {
        // What stands below ONBUILD is looked at where the image is built on.
        child = Some(Box::new(instruction(&arguments, escape, false, &mut Vec::new())));
    }
    let span = line.span(start..end);
    let found = Instruction { kind, span, keyword, flags, arguments, json, heredocs: Vec::new(), child };
    if let Some(complaint) = complaint(&found, escape) {
        problems.push(Problem { templated: is_template(text), ..complaint });
    }
    found
}

fn skip_blanks(text: &str, rest: &mut Range<usize>) {
    let part = text.get(rest.clone()).unwrap_or("");
    rest.start += part.len() - part.trim_start().len();
}

fn read_flags(line: &Mapped, rest: &mut Range<usize>, escape: char) -> Vec<Flag> {
    let mut flags = Vec::new();
    loop {
        let part = line.get(rest.clone());
        if !part.starts_with("--") {
            return flags;
        }
        let len = flag_length(part, escape);
        let range = rest.start..rest.start + len;
        rest.start = range.end;
        skip_blanks(line.text(), rest);
        let word = &part[2..len];
        if word.is_empty() {
            return flags;
        }
        let (name, value) = match word.split_once('=') {
            Some((name, _)) => (name, Some(unquote(line, range.start + 2 + name.len() + 1..range.end, escape))),
            None => (word, None),
        };
        flags.push(Flag { name: name.to_owned(), value, span: line.span(range.clone()) });
    }
}

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

fn unquote(line: &Mapped, range: Range<usize>, escape: char) -> Mapped {
    let mut value = Mapped::default();
    value.push("", line.offset(range.start));
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
        value.push(c.encode_utf8(&mut [0; 4]), line.offset(range.start + at));
    }
    value
}

fn stages(instructions: &[Instruction], problems: &mut Vec<Problem>) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::new();
    let mut outside = false;
    for (at, instruction) in instructions.iter().enumerate() {
        match (&instruction.kind, stages.last_mut()) {
            (Kind::From, _) => {
                let stage = stage(instruction, stages.len(), at);
                stages.push(stage);
            }
            (_, Some(stage)) => stage.instructions.push(at),
            (Kind::Arg | Kind::Unknown(_), None) => {}
            (kind, None) => {
                if !outside {
                    let message = format!("{} before the first FROM", kind.name());
                    problems.push(Problem::new(instruction.keyword, message));
                }
                outside = true;
            }
        }
    }
    stages
}

fn stage(from: &Instruction, index: usize, at: usize) -> Stage {
    let text = from.arguments.text();
    let words = split_whitespace(text);
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
    let base_span = if base.is_empty() { from.keyword } else { from.arguments.span(base.clone()) };
    Stage { name, index, from: at, base: from.arguments.slice(base), base_span, instructions: Vec::new() }
}
