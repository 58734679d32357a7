//! Going through shell text command by command, keeping the variables that it sets.

mod branches;
mod redirects;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

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
use crate::shell::Input;
use crate::shell::Word;
use crate::shell::lexer::Token;
use crate::shell::lexer::tokens;
use crate::shell::nested::assignment;
use crate::shell::nested::inner_script;
use crate::shell::nested::is_shell;
use crate::shell::nested::substitution;
use crate::shell::nested::unquoted;
use crate::shell::walk::branches::Branch;
use crate::shell::walk::redirects::Redirects;

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
                    output: None,
                })
                .collect();
            let script = inner_script(&words).and_then(|at| elements.get(at));
            match script {
                Some(script) => walk.text(script, 1),
                None => walk.emit(words, None, Redirects::default()),
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

struct Walk<'a> {
    scope: &'a Scope,
    heredocs: &'a [Heredoc],
    variables: BTreeMap<String, Resolved>,
    branches: Vec<Branch>,
    after_or: bool,
    /// What the command in front of a `|` writes, and how many stand in front of it.
    pipe: (Input, usize),
    /// How deep this text lies in substitutions.
    substitutions: usize,
    out: Vec<Command>,
}

impl<'a> Walk<'a> {
    fn new(scope: &'a Scope, heredocs: &'a [Heredoc]) -> Self {
        let (variables, branches, out) = (BTreeMap::new(), Vec::new(), Vec::new());
        let pipe = (Input::None, 0);
        Self { scope, heredocs, variables, branches, after_or: false, pipe, substitutions: 0, out }
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
        let mut redirects = Redirects::default();
        for token in tokens(text.text()) {
            match token {
                Token::Word(range) => {
                    words.push(range);
                    continue;
                }
                Token::Redirect(range) => {
                    self.redirect(text, range, &mut redirects);
                    continue;
                }
                Token::Close if self.branches.last().is_some_and(|branch| branch.case) => words.clear(),
                _ => self.piped(text, &words, std::mem::take(&mut redirects), depth, token == Token::Pipe),
            }
            words.clear();
            redirects = Redirects::default();
            self.after_or = token == Token::Or;
        }
        self.piped(text, &words, redirects, depth, false);
        self.after_or = false;
    }

    fn simple(&mut self, text: &Mapped, ranges: &[Range<usize>], redirects: Redirects<'a>, depth: usize) {
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
        } else if words[0].known() == Some("read") {
            for name in words.iter().skip(1).filter_map(Word::known).filter(|name| !name.starts_with('-')) {
                let reason = "it is read while the script runs".to_owned();
                self.assign(name, Resolved::Unresolved { names: vec![name.to_owned()], reason });
            }
        }
        let scripts = words.is_empty() || (words.len() < 4 && words[0].known().is_some_and(is_shell));
        for heredoc in redirects.heredocs.iter().filter(|_| scripts && depth < DEEPEST) {
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
            self.emit(words, Some(text.span(start..start + 1).start), redirects);
            self.variables = saved;
        }
    }

    fn emit(&mut self, words: Vec<Word>, start: Option<usize>, redirects: Redirects<'_>) {
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
        let mut span = first.span.to(last.span);
        span.start = start.unwrap_or(span.start).min(span.start);
        let conditional = self.after_or || !self.branches.is_empty();
        if self.out.len() < MOST_COMMANDS {
            let variables = self.variables.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            let Redirects { writes, appends, input, .. } = redirects;
            let input = if input == Input::None { std::mem::take(&mut self.pipe.0) } else { input };
            self.out.push(Command { words, span, variables, writes, appends, input, conditional });
        }
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
        let span = text.span(range.clone());
        if let Some(inside) = substitution(&raw) {
            let output = self.substituted(&text.slice(range.start + inside.start..range.start + inside.end));
            let value = if raw.starts_with('<') {
                let reason = "it is what another command writes".to_owned();
                Resolved::Unresolved { names: Vec::new(), reason }
            } else {
                expand(&raw, Dialect::Shell, &|name| self.lookup(name))
            };
            return vec![Word { value, raw, span, output }];
        }
        let value = expand(&raw, Dialect::Shell, &|name| self.lookup(name));
        match &value {
            Resolved::Known { value, origins }
                if raw.contains('$') && !raw.contains(['"', '\'', '\\']) && value.contains(char::is_whitespace) =>
            {
                let part = |part: &str| Resolved::Known { value: part.to_owned(), origins: origins.clone() };
                value
                    .split_whitespace()
                    .map(|one| Word { value: part(one), raw: raw.clone(), span, output: None })
                    .collect()
            }
            Resolved::Known { value, .. } if value.is_empty() && !raw.contains(['"', '\'']) => Vec::new(),
            _ => vec![Word { value, raw, span, output: None }],
        }
    }

    /// The command that writes what a substitution stands for; none where there are several, one after the other.
    fn substituted(&self, text: &Mapped) -> Option<Arc<Command>> {
        if self.substitutions >= DEEPEST {
            return None;
        }
        let mut walk = Walk::new(self.scope, &[]);
        walk.variables.clone_from(&self.variables);
        walk.substitutions = self.substitutions + 1;
        walk.text(text, 0);
        let last = walk.out.pop()?;
        let fed = |command: &Command| matches!(command.input, Input::Pipe(_));
        let one = walk.out.iter().chain([&last]).enumerate().all(|(at, command)| fed(command) == (at > 0));
        one.then(|| Arc::new(last))
    }
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
