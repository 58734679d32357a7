//! Conditional directives of a Makefile: `ifeq`, `ifneq`, `ifdef` and `ifndef`, with nesting and `else` branches.

/// The result of a Makefile condition: whether its lines are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MakeConditionResult {
    /// The lines are active.
    Yes,
    /// The lines are skipped.
    No,
    /// The condition depends on an unknown value.
    Maybe,
}

/// The stack of open Makefile conditions at a line.
#[derive(Debug, Default)]
pub(super) struct MakeConditionStack {
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
    pub(super) fn apply_directive(&mut self, line: &str, value: &dyn Fn(&str) -> Option<String>) -> bool {
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
                let Some((_, taken)) = self.open.last().copied() else { return true };
                let (next, behind) = rest.split_once([' ', '(']).unwrap_or((rest, ""));
                let holds = match next {
                    "ifeq" | "ifneq" | "ifdef" | "ifndef" => {
                        let from = rest.len() - behind.len();
                        let from = from - usize::from(rest.get(..from).is_some_and(|front| front.ends_with('(')));
                        evaluate_condition(next, rest.get(from..).unwrap_or("").trim(), value)
                    }
                    _ => MakeConditionResult::Yes,
                };
                let now = match (taken, holds) {
                    (MakeConditionResult::Yes, _) | (_, MakeConditionResult::No) => MakeConditionResult::No,
                    (MakeConditionResult::No, holds) => holds,
                    (MakeConditionResult::Maybe, _) => MakeConditionResult::Maybe,
                };
                let taken = match (taken, now) {
                    (MakeConditionResult::Yes, _) | (_, MakeConditionResult::Yes) => MakeConditionResult::Yes,
                    (MakeConditionResult::No, now) => now,
                    (MakeConditionResult::Maybe, _) => MakeConditionResult::Maybe,
                };
                self.open.last_mut().into_iter().for_each(|own| *own = (now, taken));
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
