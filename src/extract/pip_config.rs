//! Settings of pip that commands write, which apply to all later commands.

use crate::build::{Command, Word};
use crate::extract::command_reader::CommandReader;
use crate::install::is_pip_command;

impl CommandReader<'_> {
    /// Applies `pip config set global.index-url …` to all later commands, and returns whether the command is one.
    pub(super) fn apply_pip_config(&mut self, command: &Command) -> bool {
        let plain = |word: &&Word| word.known().is_none_or(|text| !text.starts_with("--"));
        let words: Vec<&Word> = command.words.iter().filter(plain).collect();
        let set = |pair: &[&Word]| pair.iter().map(|word| word.known()).eq([Some("config"), Some("set")]);
        let Some(at) = words.windows(2).position(set).filter(|_| is_pip_command(command)) else {
            return false;
        };
        if let [key, value, ..] = words.get(at + 2..).unwrap_or_default() {
            let key = key.known().unwrap_or("");
            let name = key.rsplit('.').next().unwrap_or(key).to_ascii_uppercase().replace('-', "_");
            self.state.settings.insert(format!("PIP_{name}"), value.value.clone());
        }
        true
    }
}
