//! `make` with a Makefile of the context: the recipes of what a command asks for are read as if they stood in the RUN.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::dockerfile::Lookup;
use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::dockerfile::RunInstruction;
use crate::extract::install::Reader;
use crate::extract::make_conditions::Conditions;
use crate::extract::make_conditions::Counts;
use crate::extract::scripts::DEEPEST;
use crate::extract::scripts::MOST_SCRIPTS;
use crate::extract::tree::absolute;
use crate::install::Opened;
use crate::shell;
use crate::shell::Command;
use crate::shell::Word;

/// The names that `make` looks for, in its order.
const NAMES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];
/// So many rules and variables are read of one file, and so many recipes are run of it.
const MOST: usize = 512;
/// Variables stand for variables, but not for ever.
const LONGEST_CHAIN: usize = 8;
/// No line of a recipe is longer when its variables are put in.
const LONGEST: usize = 64 * 1024;

/// What a command asks of `make`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    folder: String,
    file: Option<String>,
    goals: Vec<String>,
    /// Nothing for a value that is not known.
    variables: BTreeMap<String, Option<String>>,
}

/// A line of a recipe: where it begins and ends in the file, and whether a condition of the file may leave it out.
#[derive(Clone, Copy, Debug)]
struct Line {
    start: usize,
    end: usize,
    conditional: bool,
}

/// What a rule makes, and of what.
#[derive(Debug, Default)]
struct Rule {
    before: Vec<String>,
    lines: Vec<Line>,
}

/// The variables that `make` is run with: nothing where one is not set, an error where that is open.
type Environment<'a> = &'a dyn Fn(&str) -> Result<Option<String>, ()>;

/// A Makefile, as far as it is plain.
#[derive(Debug, Default)]
struct Makefile {
    rules: BTreeMap<String, Rule>,
    first: Option<String>,
    /// Nothing where a condition of the file decides.
    variables: BTreeMap<String, Option<String>>,
}

impl Reader<'_> {
    /// Goes through the recipes that `make` runs, where the context has its file.
    pub(super) fn make(&mut self, command: &Command, run: &RunInstruction, depth: usize) {
        let Some(asked) = asked(command) else { return };
        let folder = absolute(&self.folder, &asked.folder);
        let named: Vec<&str> = asked.file.as_ref().map_or_else(|| NAMES.to_vec(), |file| vec![file]);
        let Some(opened) = named.iter().find_map(|name| self.open(&folder, name, run).ok()) else { return };
        if depth >= DEEPEST || self.done.scripts >= MOST_SCRIPTS {
            return self.note(format!("{} was not read: too many scripts run one another", opened.path));
        }
        self.done.scripts += 1;
        let environment = |name: &str| set_for_make(name, command, run);
        let file = Makefile::read(opened.text.text(), &asked.variables, &environment);
        let (source, before) = (self.source, self.folder.clone());
        self.source = opened.source.unwrap_or(source);
        for (text, conditional) in file.run(&opened, asked.goals) {
            // Every line has a shell of its own.
            self.folder.clone_from(&folder);
            let commands =
                self.among(run, |files| shell::called_commands(&text, &run.scope, &command.variables, files));
            for mut inner in commands {
                inner.conditional |= command.conditional || conditional;
                self.step(&inner, run, depth + 1);
            }
        }
        (self.source, self.folder) = (source, before);
    }
}

/// What the environment of `make` has under a name: nothing where it is certainly not set, an error where that is open.
fn set_for_make(name: &str, command: &Command, run: &RunInstruction) -> Result<Option<String>, ()> {
    match command.variable(name).map(Resolved::known) {
        Some(value) => value.map(|value| Some(value.to_owned())).ok_or(()),
        None if run.scope.is_free(name) => Ok(None),
        None => match run.scope.lookup(name) {
            Lookup::Known(value, _) => Ok(Some(value)),
            Lookup::Unset | Lookup::NoValue => Ok(None),
            Lookup::Unknown(..) => Err(()),
        },
    }
}

/// What a command asks of `make`; none where it runs nothing.
fn asked(command: &Command) -> Option<Asked> {
    if !matches!(command.program(), Some("make" | "gmake")) {
        return None;
    }
    let mut asked = Asked { folder: ".".to_owned(), ..Asked::default() };
    let mut words = command.words.iter().skip(1).map(Word::known).peekable();
    for (at, word) in command.words.iter().enumerate().skip(1).filter(|(_, word)| word.known().is_none()) {
        let raw = word.raw.trim_matches(['"', '\'']);
        let of_option = command.words.get(at - 1).and_then(Word::known);
        match raw.split_once('=') {
            _ if matches!(of_option, Some("-C" | "--directory" | "-f" | "--file" | "--makefile")) => return None,
            Some((name, _)) if is_name(name) => {
                asked.variables.insert(name.to_owned(), None);
            }
            _ if raw.starts_with("-C") || raw.starts_with("-f") => return None,
            _ if raw.starts_with('-') => {}
            _ => asked.goals.push(raw.to_owned()),
        }
    }
    while let Some(word) = words.next() {
        let Some(word) = word else { continue };
        match word {
            "-n" | "--dry-run" | "--just-print" | "-q" | "--question" | "-t" | "--touch" | "-v" | "--version" => {
                return None;
            }
            "-C" | "--directory" => asked.folder = format!("{}/{}", asked.folder, words.next()??),
            "-f" | "--file" | "--makefile" => asked.file = Some(words.next()??.to_owned()),
            "-I" | "-o" | "-W" => {
                words.next();
            }
            "-j" | "--jobs" | "-l" | "--load-average" => {
                words.next_if(|next| next.is_some_and(|next| next.parse::<f64>().is_ok()));
            }
            _ if word.starts_with("-C") => asked.folder = format!("{}/{}", asked.folder, word.get(2..)?),
            _ if word.starts_with("-f") => asked.file = word.get(2..).map(str::to_owned),
            _ if word.starts_with('-') => match word.split_once('=') {
                Some(("--directory", folder)) => asked.folder = format!("{}/{folder}", asked.folder),
                Some(("--file" | "--makefile", file)) => asked.file = Some(file.to_owned()),
                _ => {}
            },
            _ => match word.split_once('=') {
                Some((name, value)) => {
                    let name = name.trim_end_matches([':', '?', '+']).to_owned();
                    asked.variables.insert(name, Some(value.to_owned()));
                }
                None => asked.goals.push(word.to_owned()),
            },
        }
    }
    Some(asked)
}

impl Makefile {
    fn read(text: &str, given: &BTreeMap<String, Option<String>>, environment: Environment<'_>) -> Self {
        let mut file = Self { variables: given.clone(), ..Self::default() };
        let (mut targets, mut conditions, mut at): (Vec<String>, Conditions, usize) =
            (Vec::new(), Conditions::default(), 0);
        let mut defines = false;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let length = logical(rest);
            let (start, line) = (at, rest.get(..length).unwrap_or(rest));
            at += length;
            let counts = conditions.now();
            if let Some(recipe) = line.strip_prefix('\t').filter(|_| !targets.is_empty()) {
                if counts != Counts::No {
                    file.recipe(&targets, start + 1, recipe, counts == Counts::Maybe);
                }
                continue;
            }
            let plain = line.split(" #").next().unwrap_or(line).replace("\\\n", " ");
            let plain = plain.trim();
            let word = plain.split_whitespace().next().unwrap_or("");
            match word {
                "define" => defines = true,
                "endef" => defines = false,
                _ if defines || plain.is_empty() || plain.starts_with('#') => {}
                _ if conditions.takes(plain, &|text| file.told(text, environment, 0)) => {}
                _ if counts == Counts::No => {}
                "include" | "-include" | "sinclude" | "vpath" => {}
                _ if file.assignment(plain, counts == Counts::Maybe, given, environment) => {}
                _ => {
                    let plain = plain.split_once(':').map_or_else(String::new, |(names, rest)| {
                        let told = |text: &str| file.told(text, environment, 0).unwrap_or_else(|| text.to_owned());
                        let (before, recipe) =
                            rest.split_once(';').map_or((rest, ""), |(before, recipe)| (before, recipe));
                        let recipe = if rest.contains(';') { format!(";{recipe}") } else { String::new() };
                        format!("{}:{}{recipe}", told(names), told(before))
                    });
                    targets = file.rule(&plain, start, line, counts == Counts::Maybe);
                }
            }
        }
        file
    }

    /// Takes `NAME = value`; says whether the line is one.
    fn assignment(
        &mut self,
        line: &str,
        conditional: bool,
        given: &BTreeMap<String, Option<String>>,
        environment: Environment<'_>,
    ) -> bool {
        let forced = line.starts_with("override ");
        let line = ["export ", "override "].iter().fold(line, |line, word| line.strip_prefix(word).unwrap_or(line));
        let Some((name, value)) = line.split_once('=') else { return false };
        let (name, sign) = (name.trim_end_matches([':', '?', '+', '!']), name);
        let (sign, name) = (sign.get(name.len()..).unwrap_or(""), name.trim());
        if name.is_empty() || name.contains([' ', ':', '$', '\t']) {
            return false;
        }
        if given.contains_key(name) && !forced {
            return true;
        }
        let plain = |value: &String| value.chars().all(|c| c.is_ascii_alphanumeric() || "._+-:/=, ".contains(c));
        let value = match (sign, self.variables.get(name)) {
            ("?", Some(Some(own))) => Some(own.clone()),
            _ if conditional => None,
            ("?", None) if environment(name) == Ok(None) => Some(value.trim().to_owned()),
            ("?", None) if environment(name).is_ok_and(|own| own.as_ref().is_some_and(plain)) => {
                environment(name).ok().flatten()
            }
            ("+", None) => environment(name).ok().map(|own| match own {
                Some(own) => format!("{own} {}", value.trim()),
                None => value.trim().to_owned(),
            }),
            ("?", Some(own)) => own.clone(),
            ("+", Some(own)) => own.as_ref().map(|own| format!("{own} {}", value.trim())),
            // What the environment has stands above such a value, also for a shell.
            ("?", None) if value.contains(['"', '\'', '}']) => None,
            ("?", None) => Some(format!("$${{{name}-{}}}", value.trim())),
            _ => Some(value.trim().to_owned()),
        };
        if self.variables.len() < MOST {
            self.variables.insert(name.to_owned(), value);
        }
        true
    }

    /// What a text with variables comes to before anything runs; `None` where that cannot be told.
    fn told(&self, text: &str, environment: Environment<'_>, depth: usize) -> Option<String> {
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            let (value, length) = self.told_one(after, environment, depth)?;
            out.push_str(&value);
            if out.len() > LONGEST || depth >= LONGEST_CHAIN {
                return None;
            }
            rest = after.get(length..)?;
        }
        Some(out + rest)
    }

    /// What stands behind a `$` comes to, and how long it is.
    fn told_one(&self, text: &str, environment: Environment<'_>, depth: usize) -> Option<(String, usize)> {
        let close = match text.chars().next()? {
            '$' => return Some(("$".to_owned(), 1)),
            '(' => ')',
            '{' => '}',
            _ => return None,
        };
        let end = closed(text, close)?;
        let name = text.get(1..end)?;
        let value = match self.variables.get(name) {
            Some(value) => self.told(value.as_ref()?, environment, depth + 1)?,
            None if is_name(name) => environment(name).ok()?.unwrap_or_default(),
            None => {
                let (function, words) = name.split_once(' ')?;
                let words = self.told(words, environment, depth + 1)?;
                match (function, words.split_once(',')) {
                    ("strip", _) => words.split_whitespace().collect::<Vec<_>>().join(" "),
                    ("filter", Some((own, words))) if !own.contains('%') => {
                        let kept =
                            words.split_whitespace().filter(|word| own.split_whitespace().any(|one| one == *word));
                        kept.collect::<Vec<_>>().join(" ")
                    }
                    ("findstring", Some((part, whole))) => {
                        if whole.contains(part) {
                            part.to_owned()
                        } else {
                            String::new()
                        }
                    }
                    _ => return None,
                }
            }
        };
        Some((value, end + 1))
    }

    /// Takes `targets: what they are made of ; recipe`; gives the targets.
    fn rule(&mut self, plain: &str, start: usize, line: &str, conditional: bool) -> Vec<String> {
        let Some((targets, before)) = plain.split_once(':') else { return Vec::new() };
        let (before, inline) = before.split_once(';').map_or((before, false), |(before, _)| (before, true));
        let names = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
        let targets: Vec<String> = names(targets).into_iter().filter(|name| !name.contains(['%', '$', '='])).collect();
        for target in targets.iter().filter(|target| !target.starts_with('.')) {
            if self.rules.len() < MOST {
                self.first.get_or_insert_with(|| target.clone());
                let rule = self.rules.entry(target.clone()).or_default();
                rule.before.extend(names(before.trim_start_matches(':')).into_iter().filter(|name| name != "|"));
            }
        }
        if let Some(at) = line.find(';').filter(|_| inline) {
            let recipe = line.get(at + 1..).unwrap_or("");
            self.recipe(&targets, start + at + 1, recipe, conditional);
        }
        targets
    }

    fn recipe(&mut self, targets: &[String], start: usize, recipe: &str, conditional: bool) {
        let marks = recipe.len() - recipe.trim_start_matches(['@', '-', '+', ' ', '\t']).len();
        let line = Line { start: start + marks, end: start + recipe.trim_end().len(), conditional };
        for target in targets {
            if let Some(rule) = self.rules.get_mut(target).filter(|rule| rule.lines.len() < MOST) {
                rule.lines.push(line);
            }
        }
    }

    /// The lines that are run for some goals, in order, each with whether it may be left out.
    fn run(&self, opened: &Opened, goals: Vec<String>) -> Vec<(Mapped, bool)> {
        let mut open: Vec<(String, bool)> = if goals.is_empty() { self.first.iter().cloned().collect() } else { goals }
            .into_iter()
            .rev()
            .map(|goal| (goal, false))
            .collect();
        let mut perhaps: BTreeSet<String> = BTreeSet::new();
        let (mut seen, mut lines): (BTreeSet<String>, Vec<(Mapped, bool)>) = (BTreeSet::new(), Vec::new());
        while let Some((goal, ready)) = open.pop() {
            let Some(rule) = self.rules.get(&goal) else {
                if let Some((front, back)) = goal.split_once('$').filter(|_| seen.insert(goal.clone())) {
                    // Which it is hangs on what is not known.
                    let back = back.rsplit([')', '}']).next().filter(|_| back.contains([')', '}'])).unwrap_or("");
                    let may = self
                        .rules
                        .keys()
                        .filter(|own| own.starts_with(front) && own.ends_with(back) && !seen.contains(*own));
                    let may: Vec<String> = may.filter(|_| front.len() + back.len() > 0).cloned().collect();
                    open.extend(may.iter().map(|own| (own.clone(), false)));
                    perhaps.extend(may);
                }
                continue;
            };
            if !ready {
                if seen.insert(goal.clone()) {
                    open.push((goal, true));
                    open.extend(rule.before.iter().rev().map(|name| (name.clone(), false)));
                }
                continue;
            }
            for line in rule.lines.iter().filter(|line| line.end > line.start) {
                if lines.len() < MOST {
                    lines.push((self.filled(opened, *line, &goal, rule), line.conditional || perhaps.contains(&goal)));
                }
            }
        }
        lines
    }

    /// A line of a recipe as the shell gets it.
    fn filled(&self, opened: &Opened, line: Line, goal: &str, rule: &Rule) -> Mapped {
        let text = opened.text.get(line.start..line.end);
        let mut filled = Mapped::default();
        let mut chars = text.char_indices();
        while let Some((at, c)) = chars.next() {
            let place = opened.text.offset(line.start + at);
            let value = if c == '$' { self.value(text.get(at + 1..).unwrap_or(""), goal, rule, 0) } else { None };
            let Some((value, length)) = value else {
                filled.push(c.encode_utf8(&mut [0; 4]), place);
                continue;
            };
            let end = at + 1 + length;
            while chars.clone().next().is_some_and(|(next, _)| next < end) {
                chars.next();
            }
            for c in value.chars().take(LONGEST.saturating_sub(filled.text().len())) {
                filled.push(c.encode_utf8(&mut [0; 4]), place);
            }
        }
        filled
    }

    /// What stands behind a `$` comes to, and how long it is.
    fn value(&self, text: &str, goal: &str, rule: &Rule, depth: usize) -> Option<(String, usize)> {
        let first = text.chars().next()?;
        let close = match first {
            '$' => return Some(("$".to_owned(), 1)),
            '@' => return Some((goal.to_owned(), 1)),
            '<' => return Some((rule.before.first().cloned().unwrap_or_default(), 1)),
            '^' => return Some((rule.before.join(" "), 1)),
            '(' => ')',
            '{' => '}',
            _ => return None,
        };
        let end = closed(text, close)?;
        let name = text.get(1..end)?;
        let value = match self.variables.get(name) {
            Some(Some(value)) if depth < LONGEST_CHAIN => self.whole(value, goal, rule, depth + 1),
            None if name == "MAKE" => "make".to_owned(),
            // A variable of the environment is one of the shell.
            None if is_name(name) => format!("${{{name}}}"),
            _ => "$(make)".to_owned(),
        };
        Some((value, end + 1))
    }

    fn whole(&self, text: &str, goal: &str, rule: &Rule, depth: usize) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            let (value, length) = self.value(after, goal, rule, depth).unwrap_or_else(|| ("$".to_owned(), 0));
            out.push_str(&value);
            if out.len() > LONGEST {
                return out;
            }
            rest = after.get(length..).unwrap_or("");
        }
        out + rest
    }
}

/// Where the bracket closes that a text begins with.
fn closed(text: &str, close: char) -> Option<usize> {
    let first = text.chars().next()?;
    let mut open = 0_usize;
    text.char_indices().find_map(|(at, c)| {
        open = if c == first { open + 1 } else { open.saturating_sub(usize::from(c == close)) };
        (open == 0).then_some(at)
    })
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// How long a line is, with those that a backslash joins to it.
fn logical(text: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if !line.trim_end_matches(['\n', '\r']).ends_with('\\') {
            break;
        }
    }
    length
}
