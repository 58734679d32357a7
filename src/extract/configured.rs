//! Settings of pip that commands write down, which hold for all that follows.

use crate::extract::install::Reader;
use crate::shell::Command;
use crate::shell::Word;

impl Reader<'_> {
    /// `pip config set global.index-url …` holds for all that follows.
    pub(super) fn configure(&mut self, command: &Command) -> bool {
        let plain = |word: &&Word| word.known().is_none_or(|text| !text.starts_with("--"));
        let words: Vec<&Word> = command.words.iter().filter(plain).collect();
        let pip = command.program().is_some_and(|program| program.starts_with("pip") || program.starts_with("python"));
        let set = |pair: &[&Word]| pair.iter().map(|word| word.known()).eq([Some("config"), Some("set")]);
        let Some(at) = words.windows(2).position(set).filter(|_| pip) else {
            return false;
        };
        if let [key, value, ..] = words.get(at + 2..).unwrap_or_default() {
            let key = key.known().unwrap_or("");
            let name = key.rsplit('.').next().unwrap_or(key).to_ascii_uppercase().replace('-', "_");
            self.done.settings.insert(format!("PIP_{name}"), value.value.clone());
        }
        true
    }
}
