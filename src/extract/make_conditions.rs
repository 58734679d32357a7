//! Conditions of a Makefile: `ifeq`, `ifneq`, `ifdef` and `ifndef`, with what they nest and what stands behind `else`.

/// Whether a line of a Makefile counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// That cannot be told.
    Maybe,
}

/// The conditions that are open at a line.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// Of each whether the lines at hand count, and whether an arm was taken so far.
    open: Vec<(Counts, Counts)>,
}

impl Conditions {
    /// Whether the line at hand counts.
    pub(super) fn now(&self) -> Counts {
        let all = self.open.iter().map(|(now, _)| *now);
        all.fold(Counts::Yes, |all, now| match (all, now) {
            (Counts::No, _) | (_, Counts::No) => Counts::No,
            (Counts::Maybe, _) | (_, Counts::Maybe) => Counts::Maybe,
            (Counts::Yes, Counts::Yes) => Counts::Yes,
        })
    }

    /// Takes a line, where it is one of a condition; `value` is what a text with variables comes to, where that is known.
    pub(super) fn takes(&mut self, line: &str, value: &dyn Fn(&str) -> Option<String>) -> bool {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (word, rest) = match line.find('(').filter(|at| matches!(line.get(..*at), Some("ifeq" | "ifneq"))) {
            Some(at) => line.split_at(at),
            None => (word, rest.trim()),
        };
        match word {
            "ifeq" | "ifneq" | "ifdef" | "ifndef" => {
                let holds = holds(word, rest, value);
                self.open.push((holds, holds));
            }
            "else" => {
                let Some((_, taken)) = self.open.last().copied() else { return true };
                let (next, behind) = rest.split_once([' ', '(']).unwrap_or((rest, ""));
                let holds = match next {
                    "ifeq" | "ifneq" | "ifdef" | "ifndef" => {
                        let from = rest.len() - behind.len();
                        let from = from - usize::from(rest.get(..from).is_some_and(|front| front.ends_with('(')));
                        holds(next, rest.get(from..).unwrap_or("").trim(), value)
                    }
                    _ => Counts::Yes,
                };
                let now = match (taken, holds) {
                    (Counts::Yes, _) | (_, Counts::No) => Counts::No,
                    (Counts::No, holds) => holds,
                    (Counts::Maybe, _) => Counts::Maybe,
                };
                let taken = match (taken, now) {
                    (Counts::Yes, _) | (_, Counts::Yes) => Counts::Yes,
                    (Counts::No, now) => now,
                    (Counts::Maybe, _) => Counts::Maybe,
                };
                self.open.last_mut().into_iter().for_each(|own| *own = (now, taken));
            }
            "endif" => drop(self.open.pop()),
            _ => return false,
        }
        true
    }
}

fn holds(word: &str, rest: &str, value: &dyn Fn(&str) -> Option<String>) -> Counts {
    let holds = match word {
        "ifdef" | "ifndef" => value(&format!("$({rest})")).map(|value| !value.is_empty()),
        _ => sides(rest).and_then(|(one, other)| Some(value(one.trim())? == value(other.trim())?)),
    };
    match holds {
        Some(holds) if holds == matches!(word, "ifeq" | "ifdef") => Counts::Yes,
        Some(_) => Counts::No,
        None => Counts::Maybe,
    }
}

/// The two sides of `(a,b)`, `"a" "b"` and `'a' 'b'`.
fn sides(text: &str) -> Option<(&str, &str)> {
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

    /// Which of the lines that are no conditions count; `D` is `gpu`, `E` nothing, `U` is not known.
    fn counted(text: &str) -> String {
        let value = |text: &str| match text {
            "$(D)" => Some("gpu".to_owned()),
            "$(E)" => Some(String::new()),
            _ if text.contains('$') => None,
            _ => Some(text.to_owned()),
        };
        let mut conditions = Conditions::default();
        let mut out = String::new();
        for line in text.lines() {
            if !conditions.takes(line, &value) {
                out += match conditions.now() {
                    Counts::Yes => line,
                    Counts::No => "-",
                    Counts::Maybe => "?",
                };
            }
        }
        out
    }

    #[test]
    fn a_condition_says_which_lines_count() {
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
            assert_eq!(counted(text), expected, "{text}");
        }
    }
}
