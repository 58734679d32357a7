//! Going through shell text command by command, keeping the variables that it sets.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::dockerfile::Dialect;
use crate::dockerfile::Heredoc;
use crate::dockerfile::Lookup;
use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::dockerfile::RunForm;
use crate::dockerfile::RunInstruction;
use crate::dockerfile::Scope;
use crate::dockerfile::expand;
use crate::shell::Command;
use crate::shell::Word;
use crate::shell::lexer::Token;
use crate::shell::lexer::tokens;

const DEEPEST: usize = 4;
const MOST_COMMANDS: usize = 20_000;
const MOST_VARIABLES: usize = 256;

pub(super) fn commands(run: &RunInstruction) -> Vec<Command> {
    let mut walk = Walk::new(&run.scope, &run.heredocs);
    match &run.form {
        RunForm::Shell(text) => walk.text(text, 0),
        RunForm::Exec(elements) => {
            let words: Vec<_> = elements
                .iter()
                .map(|element| Word {
                    value: Resolved::literal(element.text()),
                    raw: element.text().to_owned(),
                    span: element.full_span(),
                })
                .collect();
            let script = inner_script(&words).and_then(|at| elements.get(at));
            match script {
                Some(script) => walk.text(script, 1),
                None => walk.emit(words, None, Vec::new(), None),
            }
        }
    }
    walk.out
}

pub(super) fn script(text: &Mapped, scope: &Scope, variables: &[(String, Resolved)]) -> Vec<Command> {
    let mut walk = Walk::new(scope, &[]);
    walk.variables.extend(variables.iter().take(MOST_VARIABLES).cloned());
    walk.text(text, 0);
    walk.out
}

/// Which word is the script of `sh -c SCRIPT`.
fn inner_script(words: &[Word]) -> Option<usize> {
    if !is_shell(words.first()?.known()?) {
        return None;
    }
    let flag = |word: &Word| {
        word.known().is_some_and(|text| text.starts_with('-') && !text.starts_with("--") && text.ends_with('c'))
    };
    words.iter().position(flag).map(|at| at + 1)
}

fn is_shell(program: &str) -> bool {
    matches!(program.rsplit('/').next(), Some("sh" | "bash" | "dash" | "ash" | "zsh"))
}

/// What a branch saw before it began, and what was set in it.
struct Branch {
    before: BTreeMap<String, Resolved>,
    case: bool,
    set: Vec<String>,
}

struct Walk<'a> {
    scope: &'a Scope,
    heredocs: &'a [Heredoc],
    variables: BTreeMap<String, Resolved>,
    branches: Vec<Branch>,
    after_or: bool,
    out: Vec<Command>,
}

impl<'a> Walk<'a> {
    fn new(scope: &'a Scope, heredocs: &'a [Heredoc]) -> Self {
        let (variables, branches, out) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { scope, heredocs, variables, branches, after_or: false, out }
    }

    fn lookup(&self, name: &str) -> Lookup {
        match self.variables.get(name) {
            Some(Resolved::Known { value, origins }) => Lookup::Known(value.clone(), origins.clone()),
            Some(Resolved::Unresolved { reason, .. }) => Lookup::Unknown(vec![name.to_owned()], reason.clone()),
            None => self.scope.lookup(name),
        }
    }

    fn text(&mut self, text: &Mapped, depth: usize) {
        let mut words = Vec::new();
        let mut heredocs = Vec::new();
        let mut writes = Vec::new();
        for token in tokens(text.text()) {
            match token {
                Token::Word(range) => {
                    words.push(range);
                    continue;
                }
                Token::Redirect(range) => {
                    let span = text.span(range.clone());
                    writes.extend(self.written(text, range));
                    heredocs.extend(
                        self.heredocs.iter().filter(|one| one.span.start >= span.start && one.span.end <= span.end),
                    );
                    continue;
                }
                Token::Close if self.branches.last().is_some_and(|branch| branch.case) => words.clear(),
                _ => self.simple(text, &words, &heredocs, std::mem::take(&mut writes), depth),
            }
            words.clear();
            heredocs.clear();
            self.after_or = token == Token::Or;
        }
        self.simple(text, &words, &heredocs, writes, depth);
        self.after_or = false;
    }

    fn assign(&mut self, name: &str, value: Resolved) {
        if let Some(branch) = self.branches.last_mut()
            && branch.set.len() < MOST_VARIABLES
        {
            branch.set.push(name.to_owned());
        }
        if self.variables.len() < MOST_VARIABLES {
            self.variables.insert(name.to_owned(), value);
        }
    }

    /// Takes a keyword of the shell; says whether the rest of the words is a command.
    fn keyword(&mut self, word: &str) -> Option<bool> {
        match word {
            "if" | "while" | "until" => self.branch(false),
            "case" => {
                self.branch(true);
                return Some(false);
            }
            "fi" | "done" | "esac" => {
                if let Some(branch) = self.branches.pop() {
                    self.variables = branch.before;
                    for name in branch.set {
                        let reason = "it is set on one of several ways through the script".to_owned();
                        self.assign(&name, Resolved::Unresolved { names: vec![name.clone()], reason });
                    }
                }
            }
            "else" | "elif" => {
                if let Some(branch) = self.branches.last() {
                    self.variables = branch.before.clone();
                }
            }
            "then" | "do" | "{" | "}" | "!" | "time" => {}
            _ => return None,
        }
        Some(true)
    }

    fn branch(&mut self, case: bool) {
        if self.branches.len() < MOST_VARIABLES {
            self.branches.push(Branch { before: self.variables.clone(), case, set: Vec::new() });
        }
    }

    /// The file that a redirection writes.
    fn written(&self, text: &Mapped, range: Range<usize>) -> Option<Word> {
        let raw = text.get(range.clone());
        let target =
            raw.find('>')? + raw.get(raw.find('>')?..)?.find(|c: char| !matches!(c, '>' | '|' | '&' | ' ' | '\t'))?;
        self.word(text, range.start + target..range.end).into_iter().next()
    }

    fn simple(
        &mut self,
        text: &Mapped,
        ranges: &[Range<usize>],
        heredocs: &[&Heredoc],
        writes: Vec<Word>,
        depth: usize,
    ) {
        let mut rest = ranges;
        while let Some((first, after)) = rest.split_first() {
            let word = text.get(first.clone());
            if word == "for" {
                self.branch(false);
                self.loop_variable(text, after);
                return;
            }
            match self.keyword(word) {
                Some(true) => rest = after,
                Some(false) => return,
                None => break,
            }
        }
        let mut own = Vec::new();
        let start = rest.first().map(|first| first.start);
        while let Some((first, after)) = rest.split_first() {
            let Some((name, value)) = assignment(text.get(first.clone())) else { break };
            let origin = text.span(first.start + name.len() + 1..first.end);
            own.push((name.to_owned(), self.value(value, origin)));
            rest = after;
        }
        let words: Vec<Word> = rest.iter().flat_map(|range| self.word(text, range.clone())).collect();
        if words.is_empty() {
            for (name, value) in std::mem::take(&mut own) {
                self.assign(&name, value);
            }
        } else if matches!(words[0].known(), Some("export" | "declare" | "local" | "readonly" | "typeset")) {
            for range in &rest[1..] {
                if let Some((name, value)) = assignment(text.get(range.clone())) {
                    let value = self.value(value, text.span(range.start + name.len() + 1..range.end));
                    self.assign(name, value);
                }
            }
            return;
        }
        let scripts = words.is_empty() || (words.len() < 4 && words[0].known().is_some_and(is_shell));
        for heredoc in heredocs.iter().filter(|_| scripts && depth < DEEPEST) {
            self.text(&heredoc.body, depth + 1);
        }
        if let Some(range) = inner_script(&words).and_then(|at| rest.get(at))
            && depth < DEEPEST
        {
            let script = unquoted(text, range.clone());
            return self.text(&script, depth + 1);
        }
        if let (Some(start), false) = (start, words.is_empty()) {
            let saved = self.variables.clone();
            for (name, value) in own {
                self.variables.insert(name, value);
            }
            let reads = heredocs.last().map(|heredoc| heredoc.body.text().to_owned());
            self.emit(words, Some(text.span(start..start + 1).start), writes, reads);
            self.variables = saved;
        }
    }

    fn emit(&mut self, words: Vec<Word>, start: Option<usize>, writes: Vec<Word>, reads: Option<String>) {
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
        let mut span = first.span.to(last.span);
        span.start = start.unwrap_or(span.start).min(span.start);
        let conditional = self.after_or || !self.branches.is_empty();
        if self.out.len() < MOST_COMMANDS {
            let variables = self.variables.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            self.out.push(Command { words, span, variables, writes, reads, conditional });
        }
    }

    fn loop_variable(&mut self, text: &Mapped, words: &[Range<usize>]) {
        let Some(name) = words.first().map(|range| text.get(range.clone()).to_owned()) else { return };
        let values: Vec<Word> = words.iter().skip(2).flat_map(|range| self.word(text, range.clone())).collect();
        let value = match values.as_slice() {
            [only] => only.value.clone(),
            _ => {
                Resolved::Unresolved { names: vec![name.clone()], reason: "a loop gives it several values".to_owned() }
            }
        };
        self.assign(&name, value);
    }

    fn value(&self, raw: &str, span: crate::source::Span) -> Resolved {
        let mut value = expand(raw, Dialect::Shell, &|name| self.lookup(name));
        if let Resolved::Known { origins, .. } = &mut value {
            origins.push(span);
        }
        value
    }

    /// One word, or several where an unquoted variable holds several.
    fn word(&self, text: &Mapped, range: Range<usize>) -> Vec<Word> {
        let raw = text.get(range.clone()).to_owned();
        let span = text.span(range);
        let value = expand(&raw, Dialect::Shell, &|name| self.lookup(name));
        match &value {
            Resolved::Known { value, origins }
                if raw.contains('$') && !raw.contains(['"', '\'', '\\']) && value.contains(char::is_whitespace) =>
            {
                let part = |part: &str| Resolved::Known { value: part.to_owned(), origins: origins.clone() };
                value.split_whitespace().map(|one| Word { value: part(one), raw: raw.clone(), span }).collect()
            }
            Resolved::Known { value, .. } if value.is_empty() && !raw.contains(['"', '\'']) => Vec::new(),
            _ => vec![Word { value, raw, span }],
        }
    }
}

fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let good = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (good && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())).then_some((name, value))
}

/// The text of a quoted word; variables stay as they are, for the shell inside has them too.
fn unquoted(text: &Mapped, range: Range<usize>) -> Mapped {
    let mut out = Mapped::default();
    out.push("", text.offset(range.start));
    let mut quote = None;
    let mut chars = text.get(range.clone()).char_indices();
    while let Some((at, c)) = chars.next() {
        let (at, c) = match quote {
            Some(mark) if c == mark => {
                quote = None;
                continue;
            }
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                continue;
            }
            None | Some('"') if c == '\\' => match chars.clone().next() {
                Some(next) if quote.is_none() || matches!(next.1, '"' | '\\' | '$' | '`') => {
                    chars.next();
                    next
                }
                _ => (at, c),
            },
            _ => (at, c),
        };
        out.push(c.encode_utf8(&mut [0; 4]), text.offset(range.start + at));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Vec<String> {
        let text = Mapped::whole(text, 0);
        let word = |word: Word| word.known().map_or_else(|| "?".to_owned(), str::to_owned);
        script(&text, &Scope::default(), &[])
            .into_iter()
            .map(|one| one.words.into_iter().map(word).collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn scripts_fall_into_commands() {
        for (text, expected) in [
            ("a b && c || d; (e; f) | g", vec!["a b", "c", "d", "e", "f", "g"]),
            ("V=1 && pip install x==$V", vec!["pip install x==1"]),
            ("export V=2; a $V", vec!["a 2"]),
            ("V=1 a; b \"$V\"", vec!["a", "b "]),
            ("bash -lc 'a \"b c\" && d'", vec!["a b c", "d"]),
            ("sh -c \"pip install torch==2.1\"", vec!["pip install torch==2.1"]),
            ("if [ x ]; then V=1; else V=2; fi; a $V", vec!["[ x ]", "a ?"]),
            ("for v in 1 2; do a $v; done; b", vec!["a ?", "b"]),
            ("case $x in a) b;; c) d;; esac; e", vec!["b", "d", "e"]),
            ("P='a b' && x $P \"$P\"", vec!["x a b a b"]),
            ("V=$(date) && a $V", vec!["a ?"]),
            ("echo 'pip install torch'", vec!["echo pip install torch"]),
            ("cat <<E\npip install x\nE\na", vec!["cat", "a"]),
        ] {
            assert_eq!(run(text), expected, "{text}");
        }
    }
}
