//! `make` with a Makefile of the context: the recipes of what a command asks for are read as if they stood in the RUN.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::dockerfile::Lookup;
use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::dockerfile::RunInstruction;
use crate::extract::install::Reader;
use crate::extract::make_conditions::Conditions;
use crate::extract::make_conditions::Counts;
use crate::extract::make_values::At;
use crate::extract::make_values::is_name;
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
/// Files that are read in name others, but not for ever.
const MOST_FILES: usize = 16;
/// No line of a recipe is longer when its variables are put in.
pub(super) const LONGEST: usize = 64 * 1024;

/// What a command asks of `make`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    folder: String,
    file: Option<String>,
    goals: Vec<String>,
    /// Nothing for a value that is not known.
    variables: BTreeMap<String, Option<String>>,
}

/// A line of a recipe: in which of the files it stands, where it begins and ends there, and whether a condition of the file
/// may leave it out.
#[derive(Clone, Copy, Debug)]
struct Line {
    file: usize,
    start: usize,
    end: usize,
    conditional: bool,
}

/// What a rule makes, and of what.
#[derive(Debug, Default)]
pub(super) struct Rule {
    pub(super) before: Vec<String>,
    /// The variables that have another value here and for what it is made of.
    own: BTreeSet<String>,
    lines: Vec<Line>,
}

/// The variables that `make` is run with: nothing where one is not set, an error where that is open.
pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Result<Option<String>, ()>;

/// A Makefile, as far as it is plain.
#[derive(Debug, Default)]
pub(super) struct Makefile {
    /// The file that was asked for, and those that it reads in.
    files: Vec<Opened>,
    rules: BTreeMap<String, Rule>,
    first: Option<String>,
    /// Nothing where a condition of the file decides.
    pub(super) variables: BTreeMap<String, Option<String>>,
    /// Those of them that are told where they are set, and not where they are used.
    immediate: BTreeSet<String>,
    /// Whether it reads in what is not at hand and may set any variable.
    pub(super) open: bool,
    /// Whether what is not at hand may have the first rule.
    first_open: bool,
    /// How many texts were expanded.
    pub(super) spent: Cell<usize>,
}

/// What a Makefile is read with.
#[derive(Clone, Copy)]
struct Around<'a> {
    /// The variables of the command line.
    given: &'a BTreeMap<String, Option<String>>,
    environment: Environment<'a>,
    /// A file by the name that the Makefile gives it.
    named: &'a dyn Fn(&str) -> Option<Opened>,
}

impl Reader<'_> {
    /// Goes through the recipes that `make` runs, where the context has its file.
    pub(super) fn make(&mut self, command: &Command, run: &RunInstruction, depth: usize) {
        let Some(asked) = asked(command) else { return };
        let folder = absolute(&self.folder, &asked.folder);
        let named: Vec<&str> = asked.file.as_ref().map_or_else(|| NAMES.to_vec(), |file| vec![file]);
        let Some(opened) = named.iter().find_map(|name| self.open(&folder, name, run).ok()) else { return };
        if depth >= DEEPEST || self.done.scripts >= MOST_SCRIPTS {
            return self.note(format!("{} was not read: the scripts are nested too deeply", opened.path));
        }
        self.done.scripts += 1;
        let environment = |name: &str| set_for_make(name, command, run);
        let named = |name: &str| self.open(&folder, name, run).ok();
        let around = Around { given: &asked.variables, environment: &environment, named: &named };
        let file = Makefile::read(opened, around);
        let (source, before) = (self.source, self.folder.clone());
        // A recipe has no arguments.
        let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
        let mut variables = command.variables.to_vec();
        variables.retain(|(name, _)| !is_number(name));
        for (text, of, conditional) in file.run(asked.goals) {
            self.source = of.source.unwrap_or(source);
            // Every line has a shell of its own.
            self.folder.clone_from(&folder);
            let commands = self.among(run, |files| shell::called_commands(&text, &run.scope, &variables, files));
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
    fn read(opened: Opened, around: Around<'_>) -> Self {
        let mut file = Self { variables: around.given.clone(), ..Self::default() };
        file.files.push(opened);
        file.lines(0, around);
        file
    }

    /// Goes through one of the files.
    fn lines(&mut self, number: usize, around: Around<'_>) {
        let Some(own) = self.files.get(number) else { return };
        let (text, environment) = (own.text.text().to_owned(), around.environment);
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
                    let line = Line { file: number, start: start + 1, end: 0, conditional: counts == Counts::Maybe };
                    self.recipe(&targets, line, recipe);
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
                _ if conditions.takes(plain, &|text| self.told(text, environment, 0)) => {}
                _ if counts == Counts::No => {}
                "vpath" => {}
                "include" | "-include" | "sinclude" => {
                    self.read_in(plain.get(word.len()..).unwrap_or(""), counts == Counts::Maybe, around);
                }
                _ if self.assignment(plain, counts == Counts::Maybe, around) => {}
                _ if self.of_targets(plain, around) => targets.clear(),
                _ => {
                    let plain = plain.split_once(':').map_or_else(String::new, |(names, rest)| {
                        let told = |text: &str| self.told(text, environment, 0).unwrap_or_else(|| text.to_owned());
                        let (before, recipe) =
                            rest.split_once(';').map_or((rest, ""), |(before, recipe)| (before, recipe));
                        let recipe = if rest.contains(';') { format!(";{recipe}") } else { String::new() };
                        format!("{}:{}{recipe}", told(names), told(before))
                    });
                    let at = Line { file: number, start, end: 0, conditional: counts == Counts::Maybe };
                    targets = self.rule(&plain, at, line);
                }
            }
        }
    }

    /// Reads in what `include` names; what is not at hand may set every variable.
    fn read_in(&mut self, names: &str, conditional: bool, around: Around<'_>) {
        let told = self.told(names, around.environment, 0).filter(|_| !conditional);
        let names: Vec<String> = told
            .as_deref()
            .map_or_else(|| vec!["?".to_owned()], |told| told.split_whitespace().map(str::to_owned).collect());
        for name in names {
            let is_plain = told.is_some() && !name.contains(['*', '?', '[']) && self.files.len() < MOST_FILES;
            let Some(opened) = Some(name).filter(|_| is_plain).and_then(|name| (around.named)(&name)) else {
                let given = |name: &String| around.given.contains_key(name);
                self.variables.iter_mut().filter(|(name, _)| !given(name)).for_each(|(_, value)| *value = None);
                self.open = true;
                self.first_open |= self.first.is_none();
                continue;
            };
            self.files.push(opened);
            self.lines(self.files.len() - 1, around);
        }
    }

    /// Takes `targets: NAME = value`; says whether the line is one.
    fn of_targets(&mut self, line: &str, around: Around<'_>) -> bool {
        let Some((targets, rest)) = line.split_once(':') else { return false };
        let Some((name, _)) = rest.split_once('=').filter(|(name, _)| !name.contains([';', '$'])) else { return false };
        let words = name.trim().trim_end_matches([':', '?', '+', '!']).split_whitespace();
        let mut words = words.skip_while(|word| matches!(*word, "export" | "override" | "private"));
        let Some(name) = words.next().filter(|_| words.next().is_none()) else { return false };
        if around.given.contains_key(name) {
            return true;
        }
        let told = self.told(targets, around.environment, 0).filter(|told| !told.contains('%'));
        match told {
            Some(told) => {
                for target in told.split_whitespace() {
                    if self.rules.len() < MOST || self.rules.contains_key(target) {
                        self.rules.entry(target.to_owned()).or_default().own.insert(name.to_owned());
                    }
                }
            }
            // For which targets that is cannot be told.
            None => self.varied(name),
        }
        true
    }

    fn varied(&mut self, name: &str) {
        for rule in self.rules.values_mut() {
            rule.own.insert(name.to_owned());
        }
        if self.variables.len() < MOST {
            self.variables.insert(name.to_owned(), None);
        }
    }

    /// Takes `NAME = value`; says whether the line is one.
    fn assignment(&mut self, line: &str, conditional: bool, around: Around<'_>) -> bool {
        let Around { given, environment, .. } = around;
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
            // `!=` takes what a command writes.
            _ if conditional
                || sign == "!"
                || self.open && matches!((sign, self.variables.get(name)), ("?" | "+", None)) =>
            {
                None
            }
            (":" | "::" | ":::", _) => Some(self.frozen(value.trim(), environment, 0)),
            ("+", Some(Some(own))) if self.immediate.contains(name) => {
                Some(format!("{own} {}", self.frozen(value.trim(), environment, 0)))
            }
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
        if sign.starts_with(':') {
            self.immediate.insert(name.to_owned());
        } else if sign.is_empty() {
            self.immediate.remove(name);
        }
        if self.variables.len() < MOST || self.variables.contains_key(name) {
            self.variables.insert(name.to_owned(), value);
        }
        true
    }

    /// Takes `targets: what they are made of ; recipe`; gives the targets.
    fn rule(&mut self, plain: &str, at: Line, line: &str) -> Vec<String> {
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
        if let Some(from) = line.find(';').filter(|_| inline) {
            let recipe = line.get(from + 1..).unwrap_or("");
            self.recipe(&targets, Line { start: at.start + from + 1, ..at }, recipe);
        }
        targets
    }

    fn recipe(&mut self, targets: &[String], at: Line, recipe: &str) {
        let marks = recipe.len() - recipe.trim_start_matches(['@', '-', '+', ' ', '\t']).len();
        let line = Line { start: at.start + marks, end: at.start + recipe.trim_end().len(), ..at };
        for target in targets {
            if let Some(rule) = self.rules.get_mut(target).filter(|rule| rule.lines.len() < MOST) {
                rule.lines.push(line);
            }
        }
    }

    /// The lines that are run for some goals, in order, each with whether it may be left out.
    fn run(&self, goals: Vec<String>) -> Vec<(Mapped, &Opened, bool)> {
        // Which goal is the first one cannot be told where a file may be in front of it.
        let any = goals.is_empty() && self.first_open;
        let none: Arc<BTreeSet<String>> = Arc::default();
        let mut open: Vec<(String, bool, Arc<BTreeSet<String>>)> =
            if goals.is_empty() { self.first.iter().cloned().collect() } else { goals }
                .into_iter()
                .rev()
                .map(|goal| (goal, false, Arc::clone(&none)))
                .collect();
        let mut perhaps: BTreeSet<String> = BTreeSet::new();
        let (mut seen, mut lines): (BTreeSet<String>, Vec<(Mapped, &Opened, bool)>) = (BTreeSet::new(), Vec::new());
        while let Some((goal, ready, own)) = open.pop() {
            let Some(rule) = self.rules.get(&goal) else {
                if let Some((front, back)) = goal.split_once('$').filter(|_| seen.insert(goal.clone())) {
                    // Which it is hangs on what is not known.
                    let back = back.rsplit([')', '}']).next().filter(|_| back.contains([')', '}'])).unwrap_or("");
                    let may = self
                        .rules
                        .keys()
                        .filter(|own| own.starts_with(front) && own.ends_with(back) && !seen.contains(*own));
                    let may: Vec<String> = may.filter(|_| front.len() + back.len() > 0).cloned().collect();
                    open.extend(may.iter().map(|goal| (goal.clone(), false, Arc::clone(&own))));
                    perhaps.extend(may);
                }
                continue;
            };
            if !ready {
                if seen.insert(goal.clone()) {
                    let own = if rule.own.is_empty() { own } else { Arc::new(own.union(&rule.own).cloned().collect()) };
                    open.push((goal, true, Arc::clone(&own)));
                    open.extend(rule.before.iter().rev().map(|name| (name.clone(), false, Arc::clone(&own))));
                }
                continue;
            }
            for line in rule.lines.iter().filter(|line| line.end > line.start) {
                if let Some(opened) = self.files.get(line.file).filter(|_| lines.len() < MOST) {
                    let at = At { goal: &goal, rule, own: &own };
                    let conditional = line.conditional || any || perhaps.contains(&goal);
                    lines.push((self.filled(opened, *line, at), opened, conditional));
                }
            }
        }
        lines
    }

    /// A line of a recipe as the shell gets it.
    fn filled(&self, opened: &Opened, line: Line, at_goal: At<'_>) -> Mapped {
        let text = opened.text.get(line.start..line.end);
        let mut filled = Mapped::default();
        let mut chars = text.char_indices();
        while let Some((at, c)) = chars.next() {
            let place = opened.text.offset(line.start + at);
            let value = if c == '$' { self.value(text.get(at + 1..).unwrap_or(""), at_goal, 0) } else { None };
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
