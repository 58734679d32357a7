//! The cases of the folder.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

/// What one link states.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// The page that links it.
    pub(crate) page: String,
    pub(crate) link: String,
    /// What no other field can say, in a few words.
    #[serde(default)]
    pub(crate) stated: Vec<String>,
    dockerfile: Option<String>,
    image: Option<String>,
    /// The built-in fleet where it is left out.
    pub(crate) fleet: Option<String>,
    /// `pedantic` where it is left out.
    pub(crate) persona: Option<String>,
    /// Where the finding stands in the input.
    pub(crate) line: Option<u64>,
    /// A part of its message.
    pub(crate) message: String,
    /// Texts, and what stands in their place one fact away.
    pub(crate) near: Vec<[String; 2]>,
}

impl Case {
    /// The text, and how the name of its file ends.
    pub(crate) fn input(&self) -> (&str, &'static str) {
        match (&self.dockerfile, &self.image) {
            (Some(text), None) => (text, ".Dockerfile"),
            (None, Some(text)) => (text, ".image.toml"),
            _ => panic!("{}: one of `dockerfile` and `image`", self.link),
        }
    }
}

/// All of them.
pub(crate) fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verdicts/references");
    let paths = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).expect("readable");
        toml::from_str::<File>(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())).case
    };
    paths.iter().flat_map(read).collect()
}
