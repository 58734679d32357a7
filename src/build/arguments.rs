//! Splits the arguments of a program into options and operands by the table `file_tool_options`.

use crate::build::command::{Command, Word};
use crate::build::file_effect::Operand;
use crate::knowledge::{FileToolOptionRow, Knowledge, OptionMeaning, OptionValue};

/// The arguments of a command.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) operands: Vec<Operand>,
    /// Options that matter for files, with their values, in order.
    pub(super) options: Vec<(OptionMeaning, Option<Operand>)>,
    /// Whether a word may stand for several words, which may be options.
    pub(super) may_hide_options: bool,
}

/// Returns the options of a program in the table.
pub(super) fn options_of_program(program: &str) -> Vec<&'static FileToolOptionRow> {
    let rows = Knowledge::built_in().file_tool_options();
    rows.iter().filter(|row| row.programs.contains(&program)).collect()
}

impl Arguments {
    /// Splits the arguments of a command whose program has these options.
    pub(super) fn of_command(command: &Command, rows: &[&FileToolOptionRow]) -> Self {
        let mut arguments = Self::default();
        let mut words = command.words.iter().skip(1);
        while let Some(word) = words.next() {
            let Some(text) = word.known() else {
                arguments.may_hide_options |= !word.raw.starts_with(['"', '\'']) && !word.raw.contains("://");
                arguments.operands.push(Operand::of_word(word));
                continue;
            };
            match text {
                "--" => {
                    arguments.operands.extend(words.by_ref().map(Operand::of_word));
                }
                _ if !text.starts_with('-') || text == "-" => arguments.operands.push(Operand::of_word(word)),
                _ => arguments.add_option(word, text, rows, &mut words),
            }
        }
        arguments
    }

    /// Adds the options of one word, and the next word if it is the value of the last one.
    fn add_option<'w>(
        &mut self,
        word: &Word,
        text: &str,
        rows: &[&FileToolOptionRow],
        words: &mut impl Iterator<Item = &'w Word>,
    ) {
        let find = |name: &str| rows.iter().find(|row| row.options.contains(&name));
        let joined = |value: &str| Some(Operand { text: Some(value.to_owned()), span: word.span });
        let split = text.split_once('=').filter(|_| text.starts_with("--"));
        let (name, value) = split.map_or((text, None), |(name, value)| (name, Some(value)));
        // Some programs have options of several letters behind one hyphen.
        if let Some(row) = find(name) {
            let value = match (row.value, value) {
                (OptionValue::Absent, _) | (OptionValue::Joined, None) => None,
                (_, Some(value)) => joined(value),
                (OptionValue::Required, None) => words.next().map(Operand::of_word),
            };
            return self.options.push((row.meaning, value));
        }
        if text.starts_with("--") {
            return;
        }
        for (at, letter) in text.char_indices().skip(1) {
            let Some(row) = find(&format!("-{letter}")) else { continue };
            let rest = text.get(at + letter.len_utf8()..).unwrap_or_default();
            let value = match row.value {
                OptionValue::Absent => None,
                OptionValue::Required if rest.is_empty() => words.next().map(Operand::of_word),
                OptionValue::Required | OptionValue::Joined => joined(rest),
            };
            self.options.push((row.meaning, value));
            if row.value != OptionValue::Absent {
                return;
            }
        }
    }

    /// Whether the first operands are these words.
    pub(super) fn begins_with(&self, words: &[&str]) -> bool {
        let texts = self.operands.iter().map(|operand| operand.text.as_deref());
        texts.take(words.len()).eq(words.iter().map(|word| Some(*word)))
    }

    /// Whether an option with a meaning is present.
    pub(super) fn has(&self, meaning: OptionMeaning) -> bool {
        self.options.iter().any(|(own, _)| *own == meaning)
    }

    /// Returns the value of the last option with a meaning.
    pub(super) fn value(&self, meaning: OptionMeaning) -> Option<&Operand> {
        self.values(meaning).last()
    }

    /// Returns the values of all options with a meaning.
    pub(super) fn values(&self, meaning: OptionMeaning) -> impl Iterator<Item = &Operand> {
        self.options.iter().filter(move |(own, _)| *own == meaning).filter_map(|(_, value)| value.as_ref())
    }
}
