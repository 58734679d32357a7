//! Makefiles of the build context: their conditions, and the recipes that a `make` command runs.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::build::{Command, Word};
use crate::dockerfile::{ExpandedText, MappedText, RunInstruction, VariableLookup};
use crate::install::OpenedFile;

/// The default file names of `make`, in its search order.
pub(super) const DEFAULT_NAMES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];
/// The largest number of rules and variables that are read, and of recipe lines that are run, per Makefile.
const MAX_RULES: usize = 512;
/// The largest number of files that one Makefile may include.
const MAX_FILES: usize = 16;
/// The largest length, in bytes, of a recipe line after variable expansion.
const MAX_LINE_LENGTH: usize = 64 * 1024;

/// The folder, file, goals and variables of a `make` command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MakeInvocation {
    pub(super) folder: String,
    pub(super) file: Option<String>,
    pub(super) goals: Vec<String>,
    /// Variables set on the command line; `None` for an unknown value.
    pub(super) variables: BTreeMap<String, Option<String>>,
}

/// A recipe line: the number of its file, its byte range there, and whether a condition may skip it.
#[derive(Clone, Copy, Debug)]
struct MakeRecipeLine {
    file: usize,
    start: usize,
    end: usize,
    conditional: bool,
}

/// The prerequisites and recipe of a Makefile target.
#[derive(Debug, Default)]
struct MakeRule {
    /// The prerequisites of the target.
    pub(super) before: Vec<String>,
    /// The variables that have a target-specific value.
    own: BTreeSet<String>,
    lines: Vec<MakeRecipeLine>,
}

/// A lookup of environment variables of `make`: `None` if one is not set, an error if its value is unknown.
type MakeEnvironment<'a> = &'a dyn Fn(&str) -> Result<Option<String>, ()>;

/// A parsed Makefile, limited to the constructs that can be evaluated statically.
#[derive(Debug, Default)]
pub(super) struct Makefile {
    /// The Makefile itself, followed by the files that it includes.
    files: Vec<OpenedFile>,
    rules: BTreeMap<String, MakeRule>,
    first: Option<String>,
    /// The values of the variables; `None` where a condition decides.
    pub(super) variables: BTreeMap<String, Option<String>>,
    /// The variables that are expanded when they are assigned (`:=`).
    immediate: BTreeSet<String>,
    /// Whether an included file is unavailable, so that any variable may be set there.
    pub(super) open: bool,
    /// Whether an unavailable file may contain the first rule.
    first_open: bool,
    /// The number of texts expanded so far.
    spent: Cell<usize>,
}

/// The inputs of reading a Makefile.
#[derive(Clone, Copy)]
pub(super) struct MakefileContext<'a> {
    /// The variables set on the command line.
    pub(super) given: &'a BTreeMap<String, Option<String>>,
    pub(super) environment: MakeEnvironment<'a>,
    /// Opens an included file by its name.
    pub(super) named: &'a dyn Fn(&str) -> Option<OpenedFile>,
}

/// Returns an environment variable of `make`: `None` if it is certainly not set, an error if its value is unknown.
pub(super) fn make_environment_value(
    name: &str,
    command: &Command,
    run: &RunInstruction,
) -> Result<Option<String>, ()> {
    match command.variable(name).map(ExpandedText::known_text) {
        Some(value) => value.map(|value| Some(value.to_owned())).ok_or(()),
        None if run.scope.is_set_nowhere(name) => Ok(None),
        None => match run.scope.lookup(name) {
            VariableLookup::Known(value, _) => Ok(Some(value)),
            VariableLookup::Unset | VariableLookup::NoValue => Ok(None),
            VariableLookup::Unknown(..) => Err(()),
        },
    }
}

/// Parses a `make` command line; `None` if the command runs no recipe.
pub(super) fn parse_make_command(command: &Command) -> Option<MakeInvocation> {
    if !matches!(command.program(), Some("make" | "gmake")) {
        return None;
    }
    let mut invocation = MakeInvocation { folder: ".".to_owned(), ..MakeInvocation::default() };
    let mut words = command.words.iter().skip(1).map(Word::known).peekable();
    for (at, word) in command.words.iter().enumerate().skip(1).filter(|(_, word)| word.known().is_none()) {
        let raw = word.raw.trim_matches(['"', '\'']);
        let of_option = command.words.get(at - 1).and_then(Word::known);
        match raw.split_once('=') {
            _ if matches!(of_option, Some("-C" | "--directory" | "-f" | "--file" | "--makefile")) => return None,
            Some((name, _)) if is_variable_name(name) => {
                invocation.variables.insert(name.to_owned(), None);
            }
            _ if raw.starts_with("-C") || raw.starts_with("-f") => return None,
            _ if raw.starts_with('-') => {}
            _ => invocation.goals.push(raw.to_owned()),
        }
    }
    while let Some(word) = words.next() {
        let Some(word) = word else { continue };
        match word {
            "-n" | "--dry-run" | "--just-print" | "-q" | "--question" | "-t" | "--touch" | "-v" | "--version" => {
                return None;
            }
            "-C" | "--directory" => invocation.folder = format!("{}/{}", invocation.folder, words.next()??),
            "-f" | "--file" | "--makefile" => invocation.file = Some(words.next()??.to_owned()),
            "-I" | "-o" | "-W" => {
                words.next();
            }
            "-j" | "--jobs" | "-l" | "--load-average" => {
                words.next_if(|next| next.is_some_and(|next| next.parse::<f64>().is_ok()));
            }
            _ if word.starts_with("-C") => invocation.folder = format!("{}/{}", invocation.folder, word.get(2..)?),
            _ if word.starts_with("-f") => invocation.file = word.get(2..).map(str::to_owned),
            _ if word.starts_with('-') => match word.split_once('=') {
                Some(("--directory", folder)) => invocation.folder = format!("{}/{folder}", invocation.folder),
                Some(("--file" | "--makefile", file)) => invocation.file = Some(file.to_owned()),
                _ => {}
            },
            _ => match word.split_once('=') {
                Some((name, value)) => {
                    let name = name.trim_end_matches([':', '?', '+']).to_owned();
                    invocation.variables.insert(name, Some(value.to_owned()));
                }
                None => invocation.goals.push(word.to_owned()),
            },
        }
    }
    Some(invocation)
}

impl Makefile {
    /// Reads a Makefile and the files that it includes.
    pub(super) fn read(opened: OpenedFile, around: MakefileContext<'_>) -> Self {
        let mut file = Self { variables: around.given.clone(), ..Self::default() };
        file.files.push(opened);
        file.read_lines(0, around);
        file
    }

    /// Reads the lines of the file with this number.
    fn read_lines(&mut self, number: usize, around: MakefileContext<'_>) {
        let Some(own) = self.files.get(number) else { return };
        let (text, environment) = (own.text.text().to_owned(), around.environment);
        let (mut targets, mut conditions, mut at): (Vec<String>, MakeConditionStack, usize) =
            (Vec::new(), MakeConditionStack::default(), 0);
        let mut defines = false;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let length = logical_line_length(rest);
            let (start, line) = (at, rest.get(..length).unwrap_or(rest));
            at += length;
            let counts = conditions.current();
            if let Some(recipe) = line.strip_prefix('\t').filter(|_| !targets.is_empty()) {
                if counts != MakeConditionResult::No {
                    let line = MakeRecipeLine {
                        file: number,
                        start: start + 1,
                        end: 0,
                        conditional: counts == MakeConditionResult::Maybe,
                    };
                    self.add_recipe_line(&targets, line, recipe);
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
                _ if conditions.apply_directive(plain, &|text| self.expand(text, environment, 0)) => {}
                _ if counts == MakeConditionResult::No => {}
                "vpath" => {}
                "include" | "-include" | "sinclude" => {
                    self.include_files(
                        plain.get(word.len()..).unwrap_or(""),
                        counts == MakeConditionResult::Maybe,
                        around,
                    );
                }
                _ if self.read_assignment(plain, counts == MakeConditionResult::Maybe, around) => {}
                _ if self.read_target_variable(plain, around) => targets.clear(),
                _ => {
                    let plain = plain.split_once(':').map_or_else(String::new, |(names, rest)| {
                        let expanded =
                            |text: &str| self.expand(text, environment, 0).unwrap_or_else(|| text.to_owned());
                        let (before, recipe) =
                            rest.split_once(';').map_or((rest, ""), |(before, recipe)| (before, recipe));
                        let recipe = if rest.contains(';') { format!(";{recipe}") } else { String::new() };
                        format!("{}:{}{recipe}", expanded(names), expanded(before))
                    });
                    let at = MakeRecipeLine {
                        file: number,
                        start,
                        end: 0,
                        conditional: counts == MakeConditionResult::Maybe,
                    };
                    targets = self.read_rule(&plain, at, line);
                }
            }
        }
    }

    /// Reads the files that an `include` directive names; an unavailable file makes every variable unknown.
    fn include_files(&mut self, names: &str, conditional: bool, around: MakefileContext<'_>) {
        let expanded = self.expand(names, around.environment, 0).filter(|_| !conditional);
        let names: Vec<String> = expanded
            .as_deref()
            .map_or_else(|| vec!["?".to_owned()], |text| text.split_whitespace().map(str::to_owned).collect());
        for name in names {
            let is_plain = expanded.is_some() && !name.contains(['*', '?', '[']) && self.files.len() < MAX_FILES;
            let Some(opened) = Some(name).filter(|_| is_plain).and_then(|name| (around.named)(&name)) else {
                let given = |name: &String| around.given.contains_key(name);
                self.variables.iter_mut().filter(|(name, _)| !given(name)).for_each(|(_, value)| *value = None);
                self.open = true;
                self.first_open |= self.first.is_none();
                continue;
            };
            self.files.push(opened);
            self.read_lines(self.files.len() - 1, around);
        }
    }

    /// Reads a target-specific variable, `targets: NAME = value`; returns whether the line is one.
    fn read_target_variable(&mut self, line: &str, around: MakefileContext<'_>) -> bool {
        let Some((targets, rest)) = line.split_once(':') else { return false };
        let Some((name, _)) = rest.split_once('=').filter(|(name, _)| !name.contains([';', '$'])) else { return false };
        let words = name.trim().trim_end_matches([':', '?', '+', '!']).split_whitespace();
        let mut words = words.skip_while(|word| matches!(*word, "export" | "override" | "private"));
        let Some(name) = words.next().filter(|_| words.next().is_none()) else { return false };
        if around.given.contains_key(name) {
            return true;
        }
        let expanded = self.expand(targets, around.environment, 0).filter(|text| !text.contains('%'));
        match expanded {
            Some(names) => {
                for target in names.split_whitespace() {
                    if self.rules.len() < MAX_RULES || self.rules.contains_key(target) {
                        self.rules.entry(target.to_owned()).or_default().own.insert(name.to_owned());
                    }
                }
            }
            // It is unknown for which targets it is set.
            None => self.mark_variable_unknown(name),
        }
        true
    }

    /// Marks a variable as target-specific for every rule and unknown elsewhere.
    fn mark_variable_unknown(&mut self, name: &str) {
        for rule in self.rules.values_mut() {
            rule.own.insert(name.to_owned());
        }
        if self.variables.len() < MAX_RULES {
            self.variables.insert(name.to_owned(), None);
        }
    }

    /// Reads a variable assignment, `NAME = value`; returns whether the line is one.
    fn read_assignment(&mut self, line: &str, conditional: bool, around: MakefileContext<'_>) -> bool {
        let MakefileContext { given, environment, .. } = around;
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
            (":" | "::" | ":::", _) => Some(self.expand_simply(value.trim(), environment, 0)),
            ("+", Some(Some(own))) if self.immediate.contains(name) => {
                Some(format!("{own} {}", self.expand_simply(value.trim(), environment, 0)))
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
            // The environment takes precedence over a value set with `?=`, also in a shell.
            ("?", None) if value.contains(['"', '\'', '}']) => None,
            ("?", None) => Some(format!("$${{{name}-{}}}", value.trim())),
            _ => Some(value.trim().to_owned()),
        };
        if sign.starts_with(':') {
            self.immediate.insert(name.to_owned());
        } else if sign.is_empty() {
            self.immediate.remove(name);
        }
        if self.variables.len() < MAX_RULES || self.variables.contains_key(name) {
            self.variables.insert(name.to_owned(), value);
        }
        true
    }

    /// Reads a rule, `targets: prerequisites ; recipe`; returns its targets.
    fn read_rule(&mut self, plain: &str, at: MakeRecipeLine, line: &str) -> Vec<String> {
        let Some((targets, before)) = plain.split_once(':') else { return Vec::new() };
        let (before, inline) = before.split_once(';').map_or((before, false), |(before, _)| (before, true));
        let names = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
        let targets: Vec<String> = names(targets).into_iter().filter(|name| !name.contains(['%', '$', '='])).collect();
        for target in targets.iter().filter(|target| !target.starts_with('.')) {
            if self.rules.len() < MAX_RULES {
                self.first.get_or_insert_with(|| target.clone());
                let rule = self.rules.entry(target.clone()).or_default();
                rule.before.extend(names(before.trim_start_matches(':')).into_iter().filter(|name| name != "|"));
            }
        }
        if let Some(from) = line.find(';').filter(|_| inline) {
            let recipe = line.get(from + 1..).unwrap_or("");
            self.add_recipe_line(&targets, MakeRecipeLine { start: at.start + from + 1, ..at }, recipe);
        }
        targets
    }

    /// Adds a recipe line to the rules of the targets.
    fn add_recipe_line(&mut self, targets: &[String], at: MakeRecipeLine, recipe: &str) {
        let marks = recipe.len() - recipe.trim_start_matches(['@', '-', '+', ' ', '\t']).len();
        let line = MakeRecipeLine { start: at.start + marks, end: at.start + recipe.trim_end().len(), ..at };
        for target in targets {
            if let Some(rule) = self.rules.get_mut(target).filter(|rule| rule.lines.len() < MAX_RULES) {
                rule.lines.push(line);
            }
        }
    }

    /// Returns the recipe lines that are run for some goals, in order, each with whether it may be skipped.
    pub(super) fn recipe_lines(&self, goals: Vec<String>) -> Vec<(MappedText, &OpenedFile, bool)> {
        // The first goal is unknown if an unread file may define one before it.
        let any = goals.is_empty() && self.first_open;
        let none: Arc<BTreeSet<String>> = Arc::default();
        let mut open: Vec<(String, bool, Arc<BTreeSet<String>>)> =
            if goals.is_empty() { self.first.iter().cloned().collect() } else { goals }
                .into_iter()
                .rev()
                .map(|goal| (goal, false, Arc::clone(&none)))
                .collect();
        let mut perhaps: BTreeSet<String> = BTreeSet::new();
        let (mut seen, mut lines): (BTreeSet<String>, Vec<(MappedText, &OpenedFile, bool)>) =
            (BTreeSet::new(), Vec::new());
        while let Some((goal, ready, own)) = open.pop() {
            let Some(rule) = self.rules.get(&goal) else {
                if let Some((front, back)) = goal.split_once('$').filter(|_| seen.insert(goal.clone())) {
                    // Which goal it is depends on an unknown variable.
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
                if let Some(opened) = self.files.get(line.file).filter(|_| lines.len() < MAX_RULES) {
                    let at = MakeRecipeContext { goal: &goal, rule, own: &own };
                    let conditional = line.conditional || any || perhaps.contains(&goal);
                    lines.push((self.expand_recipe_line(opened, *line, at), opened, conditional));
                }
            }
        }
        lines
    }

    /// Returns a recipe line as the shell receives it, with its variables expanded.
    fn expand_recipe_line(
        &self,
        opened: &OpenedFile,
        line: MakeRecipeLine,
        at_goal: MakeRecipeContext<'_>,
    ) -> MappedText {
        let text = opened.text.get(line.start..line.end);
        let mut filled = MappedText::default();
        let mut chars = text.char_indices();
        while let Some((at, c)) = chars.next() {
            let place = opened.text.source_offset(line.start + at);
            let value = if c == '$' {
                self.expand_recipe_reference(text.get(at + 1..).unwrap_or(""), at_goal, 0)
            } else {
                None
            };
            let Some((value, length)) = value else {
                filled.push(c.encode_utf8(&mut [0; 4]), place);
                continue;
            };
            let end = at + 1 + length;
            while chars.clone().next().is_some_and(|(next, _)| next < end) {
                chars.next();
            }
            for c in value.chars().take(MAX_LINE_LENGTH.saturating_sub(filled.text().len())) {
                filled.push(c.encode_utf8(&mut [0; 4]), place);
            }
        }
        filled
    }
}

/// Returns the length of the first line, including the lines that a backslash joins to it.
fn logical_line_length(text: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if !line.trim_end_matches(['\n', '\r']).ends_with('\\') {
            break;
        }
    }
    length
}

/// The largest depth of nested variable expansions.
const MAX_EXPANSION_DEPTH: usize = 8;
/// The largest number of expansions for one Makefile: one variable may refer to many, and each of those too.
const MAX_EXPANSIONS: usize = 50_000;
/// The largest length, in characters, of a variable reference; longer ones are not read.
const MAX_REFERENCE_LENGTH: usize = 4096;
/// The largest number of nested brackets in a variable reference.
const MAX_BRACKET_DEPTH: usize = 32;
/// The placeholder for an unknown part of a text.
const UNKNOWN_VALUE: &str = "$(?)";

/// The target and rule of the recipe in which a text is expanded.
#[derive(Clone, Copy)]
struct MakeRecipeContext<'a> {
    goal: &'a str,
    rule: &'a MakeRule,
    /// The variables that have a target-specific value in this recipe.
    pub(super) own: &'a BTreeSet<String>,
}

impl Makefile {
    /// Returns a text with its variables expanded while the file is read; `None` where a value is unknown.
    pub(super) fn expand(&self, text: &str, environment: MakeEnvironment<'_>, depth: usize) -> Option<String> {
        let (mut out, mut rest) = (String::new(), text);
        if self.spent.replace(self.spent.get() + 1) > MAX_EXPANSIONS {
            return None;
        }
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            let (value, length) = self.expand_reference(after, environment, depth)?;
            out.push_str(&value);
            if out.len() > MAX_LINE_LENGTH || depth >= MAX_EXPANSION_DEPTH {
                return None;
            }
            rest = after.get(length..)?;
        }
        Some(out + rest)
    }

    /// Returns the value of the reference after a `$`, and the length of that reference.
    fn expand_reference(&self, text: &str, environment: MakeEnvironment<'_>, depth: usize) -> Option<(String, usize)> {
        let close = match text.chars().next()? {
            '$' => return Some(("$".to_owned(), 1)),
            '(' => ')',
            '{' => '}',
            _ => return None,
        };
        let end = closing_bracket(text, close)?;
        let name = text.get(1..end)?;
        let value = match self.variables.get(name) {
            Some(value) => self.expand(value.as_ref()?, environment, depth + 1)?,
            // A file that is not at hand may set it.
            None if is_variable_name(name) && self.open => return None,
            None if is_variable_name(name) => environment(name).ok()?.unwrap_or_default(),
            None => {
                let (function, words) = name.split_once(' ')?;
                let words = self.expand(words, environment, depth + 1)?;
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

    /// Returns the value that `:=` assigns: the text expanded at this line, with `$(?)` for each unknown value.
    fn expand_simply(&self, text: &str, environment: MakeEnvironment<'_>, depth: usize) -> String {
        let (mut out, mut rest) = (String::new(), text);
        let spent = self.spent.replace(self.spent.get() + 1) > MAX_EXPANSIONS;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            if spent || out.len() > MAX_LINE_LENGTH || depth >= MAX_EXPANSION_DEPTH {
                return out + UNKNOWN_VALUE;
            }
            if let Some((value, length)) = self.expand_reference(after, environment, depth) {
                out.push_str(&value.replace('$', "$$"));
                rest = after.get(length..).unwrap_or("");
                continue;
            }
            let close = if after.starts_with('{') { '}' } else { ')' };
            let end = if after.starts_with(['(', '{']) { closing_bracket(after, close) } else { None };
            let Some(end) = end else { return out + UNKNOWN_VALUE };
            match after.get(1..end).and_then(|name| self.variables.get(name)) {
                Some(Some(value)) => out.push_str(&self.expand_simply(value, environment, depth + 1)),
                _ => out.push_str(UNKNOWN_VALUE),
            }
            rest = after.get(end + 1..).unwrap_or("");
        }
        out + rest
    }

    /// Returns the shell text for the reference after a `$` in a recipe, and the length of that reference.
    fn expand_recipe_reference(&self, text: &str, at: MakeRecipeContext<'_>, depth: usize) -> Option<(String, usize)> {
        let first = text.chars().next()?;
        let close = match first {
            '$' => return Some(("$".to_owned(), 1)),
            '@' => return Some((at.goal.to_owned(), 1)),
            '<' => return Some((at.rule.before.first().cloned().unwrap_or_default(), 1)),
            '^' => return Some((at.rule.before.join(" "), 1)),
            '(' => ')',
            '{' => '}',
            _ => return None,
        };
        let unknown = || "$(make)".to_owned();
        // What does not end, or is too long, may be anything.
        let Some(end) = closing_bracket(text, close) else { return Some((unknown(), text.len())) };
        let name = text.get(1..end)?;
        let value = match self.variables.get(name) {
            // Another value holds for the target.
            _ if at.own.contains(name) => unknown(),
            Some(Some(value)) if depth < MAX_EXPANSION_DEPTH => self.expand_recipe_text(value, at, depth + 1),
            None if name == "MAKE" => "make".to_owned(),
            // A variable of the environment is one of the shell.
            None if is_variable_name(name) && !self.open => format!("${{{name}}}"),
            _ => unknown(),
        };
        Some((value, end + 1))
    }

    /// Returns a text with its variables expanded as in a recipe.
    fn expand_recipe_text(&self, text: &str, at: MakeRecipeContext<'_>, depth: usize) -> String {
        let (mut out, mut rest) = (String::new(), text);
        if self.spent.replace(self.spent.get() + 1) > MAX_EXPANSIONS {
            return "$(make)".to_owned();
        }
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            let (value, length) = self.expand_recipe_reference(after, at, depth).unwrap_or_else(|| ("$".to_owned(), 0));
            out.push_str(&value);
            if out.len() > MAX_LINE_LENGTH {
                return out;
            }
            rest = after.get(length..).unwrap_or("");
        }
        out + rest
    }
}

/// Returns the position of the bracket that closes the first one; `None` if it is missing or too far away.
fn closing_bracket(text: &str, close: char) -> Option<usize> {
    let first = text.chars().next()?;
    let mut open = 0_usize;
    for (at, c) in text.char_indices().take(MAX_REFERENCE_LENGTH) {
        open = if c == first { open + 1 } else { open.saturating_sub(usize::from(c == close)) };
        if open == 0 {
            return Some(at);
        }
        if open > MAX_BRACKET_DEPTH {
            return None;
        }
    }
    None
}

/// Whether a text is a plain variable name.
fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The result of a Makefile condition: whether its lines are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MakeConditionResult {
    /// The lines are active.
    Yes,
    /// The lines are skipped.
    No,
    /// The condition depends on an unknown value.
    Maybe,
}

/// The stack of open Makefile conditions at a line.
#[derive(Debug, Default)]
struct MakeConditionStack {
    /// For each condition, whether the current branch is active and whether any branch was active so far.
    open: Vec<(MakeConditionResult, MakeConditionResult)>,
}

impl MakeConditionStack {
    /// Returns whether the current line is active under all open conditions.
    pub(super) fn current(&self) -> MakeConditionResult {
        let all = self.open.iter().map(|(now, _)| *now);
        all.fold(MakeConditionResult::Yes, |all, now| match (all, now) {
            (MakeConditionResult::No, _) | (_, MakeConditionResult::No) => MakeConditionResult::No,
            (MakeConditionResult::Maybe, _) | (_, MakeConditionResult::Maybe) => MakeConditionResult::Maybe,
            (MakeConditionResult::Yes, MakeConditionResult::Yes) => MakeConditionResult::Yes,
        })
    }

    /// Applies a line if it is a conditional directive and returns whether it was; `value` expands a text if its
    /// value is known.
    fn apply_directive(&mut self, line: &str, value: &dyn Fn(&str) -> Option<String>) -> bool {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (word, rest) = match line.find('(').filter(|at| matches!(line.get(..*at), Some("ifeq" | "ifneq"))) {
            Some(at) => line.split_at(at),
            None => (word, rest.trim()),
        };
        match word {
            "ifeq" | "ifneq" | "ifdef" | "ifndef" => {
                let holds = evaluate_condition(word, rest, value);
                self.open.push((holds, holds));
            }
            "else" => {
                let Some((_, branch_taken)) = self.open.last().copied() else { return true };
                let (next, behind) = rest.split_once([' ', '(']).unwrap_or((rest, ""));
                let holds = match next {
                    "ifeq" | "ifneq" | "ifdef" | "ifndef" => {
                        let from = rest.len() - behind.len();
                        let from = from - usize::from(rest.get(..from).is_some_and(|front| front.ends_with('(')));
                        evaluate_condition(next, rest.get(from..).unwrap_or("").trim(), value)
                    }
                    _ => MakeConditionResult::Yes,
                };
                let now = match (branch_taken, holds) {
                    (MakeConditionResult::Yes, _) | (_, MakeConditionResult::No) => MakeConditionResult::No,
                    (MakeConditionResult::No, holds) => holds,
                    (MakeConditionResult::Maybe, _) => MakeConditionResult::Maybe,
                };
                let branch_taken = match (branch_taken, now) {
                    (MakeConditionResult::Yes, _) | (_, MakeConditionResult::Yes) => MakeConditionResult::Yes,
                    (MakeConditionResult::No, now) => now,
                    (MakeConditionResult::Maybe, _) => MakeConditionResult::Maybe,
                };
                self.open.last_mut().into_iter().for_each(|own| *own = (now, branch_taken));
            }
            "endif" => drop(self.open.pop()),
            _ => return false,
        }
        true
    }
}

/// Evaluates the condition of an `ifeq`, `ifneq`, `ifdef` or `ifndef` directive.
fn evaluate_condition(word: &str, rest: &str, value: &dyn Fn(&str) -> Option<String>) -> MakeConditionResult {
    let holds = match word {
        "ifdef" | "ifndef" => value(&format!("$({rest})")).map(|value| !value.is_empty()),
        _ => split_condition_operands(rest).and_then(|(one, other)| Some(value(one.trim())? == value(other.trim())?)),
    };
    match holds {
        Some(holds) if holds == matches!(word, "ifeq" | "ifdef") => MakeConditionResult::Yes,
        Some(_) => MakeConditionResult::No,
        None => MakeConditionResult::Maybe,
    }
}

/// Returns the two operands of `(a,b)`, `"a" "b"` and `'a' 'b'`.
fn split_condition_operands(text: &str) -> Option<(&str, &str)> {
    if let Some(inside) = text.strip_prefix('(') {
        let inside = inside.trim_end().strip_suffix(')')?;
        let mut depth = 0_usize;
        let comma = inside.char_indices().find_map(|(at, c)| {
            match c {
                '(' | '{' => depth += 1,
                ')' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            (c == ',' && depth == 0).then_some(at)
        })?;
        return Some((inside.get(..comma)?, inside.get(comma + 1..)?));
    }
    let one = |text: &'_ str| -> Option<usize> {
        let mark = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        Some(text.get(1..)?.find(mark)? + 2)
    };
    let first = one(text)?;
    let rest = text.get(first..)?.trim();
    let second = one(rest)?;
    Some((text.get(1..first - 1)?, rest.get(1..second - 1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the active lines of a text, `-` for skipped and `?` for unknown ones; `D` is `gpu`, `E` empty, `U`
    /// unknown.
    fn active_lines(text: &str) -> String {
        let value = |text: &str| match text {
            "$(D)" => Some("gpu".to_owned()),
            "$(E)" => Some(String::new()),
            _ if text.contains('$') => None,
            _ => Some(text.to_owned()),
        };
        let mut conditions = MakeConditionStack::default();
        let mut out = String::new();
        for line in text.lines() {
            if !conditions.apply_directive(line, &value) {
                out += match conditions.current() {
                    MakeConditionResult::Yes => line,
                    MakeConditionResult::No => "-",
                    MakeConditionResult::Maybe => "?",
                };
            }
        }
        out
    }

    #[test]
    fn a_condition_decides_which_lines_are_active() {
        for (text, expected) in [
            ("ifeq ($(D),gpu)\na\nelse\nb\nendif\nc", "a-c"),
            ("ifeq ($(D),cpu)\na\nelse\nb\nendif\nc", "-bc"),
            ("ifneq ($(D), gpu)\na\nelse\nb\nendif", "-b"),
            ("ifeq \"$(D)\" \"gpu\"\na\nendif", "a"),
            ("ifeq '$(D)' \"x\"\na\nendif", "-"),
            ("ifeq($(D),gpu)\na\nendif", "a"),
            ("ifdef D\na\nendif\nifdef E\nb\nendif\nifndef E\nc\nendif", "a-c"),
            ("ifdef U\na\nelse\nb\nendif\nc", "??c"),
            ("ifeq ($(D),x)\na\nelse ifeq ($(D),gpu)\nb\nelse\nc\nendif", "-b-"),
            ("ifeq ($(U),x)\na\nelse ifeq ($(D),gpu)\nb\nelse\nc\nendif", "???"),
            ("ifeq ($(D),gpu)\na\nelse ifeq ($(U),y)\nb\nelse\nc\nendif", "a--"),
            ("ifeq ($(D),x)\nifeq ($(U),y)\na\nendif\nb\nendif\nc", "--c"),
            ("ifeq (,$(E))\na\nendif", "a"),
            ("ifeq what\na\nendif\nb", "?b"),
            ("endif\nelse\na", "a"),
        ] {
            assert_eq!(active_lines(text), expected, "{text}");
        }
    }
}
