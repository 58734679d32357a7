//! Detection of files that are named like a Dockerfile but are source code, data or binary files.

use crate::dockerfile::{Dockerfile, InstructionKind, whitespace_word_ranges};

/// The extensions of source code and data files; a Dockerfile may have one too.
const OTHER_FILE_EXTENSIONS: &[&str] = &[
    "bash", "bat", "c", "cc", "cpp", "cs", "css", "diff", "ex", "go", "h", "html", "hpp", "java", "js", "json", "jsx",
    "kt", "lua", "mjs", "patch", "php", "pl", "ps1", "py", "r", "rb", "rs", "scala", "sh", "sql", "svg", "swift",
    "toml", "ts", "tsx", "vim", "xml", "yaml", "yml", "zig", "zsh",
];

/// Returns why a file with zero bytes is not a text file that a builder can read; `None` for a text file.
pub fn non_text_reason(text: &str) -> Option<&'static str> {
    let zeros = text.bytes().filter(|byte| *byte == 0).count();
    match zeros {
        0 => None,
        // In UTF-16, every second byte of ASCII text is zero, and the byte order mark is not valid UTF-8.
        _ if text.chars().count() <= zeros * 5 / 2 && text.bytes().any(|byte| byte == b'\n') => {
            Some("it is UTF-16, which no builder supports; save it as UTF-8")
        }
        _ => Some("it is a binary file, not a text file"),
    }
}

/// Whether the file extension or zero bytes suggest that a file is not a Dockerfile.
pub(super) fn may_be_other_file_type(name: &str, text: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    OTHER_FILE_EXTENSIONS.contains(&ending.as_str()) || non_text_reason(text).is_some()
}

impl Dockerfile {
    /// Whether it has a valid FROM, and at most as many unknown instructions as known ones.
    pub(super) fn is_plausible(&self) -> bool {
        let takes = |number: &usize| {
            let text = self.instructions.get(*number).map_or("", |from| from.arguments.text());
            let words: Vec<&str> =
                whitespace_word_ranges(text).into_iter().filter_map(|range| text.get(range)).collect();
            match words.as_slice() {
                [_] => true,
                [_, word, _] => word.eq_ignore_ascii_case("as"),
                _ => false,
            }
        };
        let unknown = self.instructions.iter().filter(|one| matches!(one.kind, InstructionKind::Unknown(_))).count();
        self.stages.iter().any(|stage| takes(&stage.from)) && unknown * 2 <= self.instructions.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::LazyDockerfile;

    #[test]
    fn non_text_files_are_detected() {
        let wide = |text: &str| {
            let bytes: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let why = |text: &str| non_text_reason(text).map_or("", |why| why.get(..9).unwrap_or_default());
        assert_eq!(why(&wide("FROM x\nRUN y\n")), "it is UTF");
        assert_eq!(why(&wide("FROM x\r\nRUN y\r\n").replace('\u{fffd}', "")), "it is UTF");
        assert_eq!(why("\u{7f}ELF\u{2}\u{1}\0\0\0\0 and more of it\n"), "it is a b");
        assert_eq!(why("\0\0\0\0\0\0"), "it is a b");
        assert_eq!(why("FROM x\nRUN printf 'ä'\n"), "");
    }

    #[test]
    fn a_program_is_no_dockerfile_and_a_dockerfile_is_no_program() {
        for (name, text, expected) in [
            ("dockerfile.py", "import os\nfrom pathlib import Path\n\ndef f():\n    return 1\n", true),
            ("dockerfile.rs", "//! Reads it.\nuse std::fs;\nfn main() {}\n", true),
            ("Dockerfile.go", "package docker\n\nimport \"os\"\n", true),
            ("dockerfile.sql", "SELECT *\nFROM images\nWHERE id = 1\nLIMIT 1\n", true),
            ("dockerfile.yml", "name: build\non: push\n", true),
            ("Dockerfile.sh", "#!/bin/sh\ncat > Dockerfile <<EOF\nFROM x\nEOF\n", true),
            ("dockerfile.py", "", true),
            ("Dockerfile.patch.encrypted", "\u{1}3o\0\n\u{2}x\0\n", true),
            // Dockerfiles by what is in them, whatever they end in.
            ("Dockerfile.py", "FROM python:3.12\nCOPY . .\n", false),
            ("Dockerfile.go", "# the service\nARG V=1\nfrom golang:$V as build\nRUN go build\nrun x\n", false),
            ("Dockerfile.js", "FROM --platform=linux/amd64 node\nRUN x\nstray line\n", false),
            ("Dockerfile.rs", "FROM rust\nRUN printf '\0'\n", false),
            // Broken ones that say by their name what they are.
            ("Dockerfile", "import os\n", false),
            ("Dockerfile.gpu", "RUN pip install torch\n", false),
            ("Dockerfile.txt", "RUN x\n", false),
            ("gpu.Dockerfile", "LABEL a=b\n", false),
        ] {
            assert_eq!(LazyDockerfile::new(text).is_not_a_dockerfile(name), expected, "{name}: {text}");
        }
    }
}
