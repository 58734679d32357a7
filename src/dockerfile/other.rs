//! Texts that are named like a Dockerfile and are none: the source of a program, data, an encrypted file.

use crate::dockerfile::Dockerfile;
use crate::dockerfile::Kind;
use crate::dockerfile::split_whitespace;

/// Endings of programs and of data; a Dockerfile may end so too.
const ENDINGS: &[&str] = &[
    "bash", "bat", "c", "cc", "cpp", "cs", "css", "diff", "ex", "go", "h", "html", "hpp", "java", "js", "json", "jsx",
    "kt", "lua", "mjs", "patch", "php", "pl", "ps1", "py", "r", "rb", "rs", "scala", "sh", "sql", "svg", "swift",
    "toml", "ts", "tsx", "vim", "xml", "yaml", "yml", "zig", "zsh",
];

/// Why a text is none that a builder reads, judged by the zero bytes in it, and what to do; none where it may be one.
pub fn no_text(text: &str) -> Option<&'static str> {
    let zeros = text.bytes().filter(|byte| *byte == 0).count();
    match zeros {
        0 => None,
        // Every other byte of plain letters, beside a mark that is no UTF-8.
        _ if text.chars().count() <= zeros * 5 / 2 && text.bytes().any(|byte| byte == b'\n') => {
            Some("it is UTF-16, which no builder supports; save it as UTF-8")
        }
        _ => Some("it is a binary file, not a text file"),
    }
}

/// Whether this text, of a file of that name, is another thing by its ending or its bytes, unless its FROMs say otherwise.
pub(super) fn may_be_another_thing(name: &str, text: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    ENDINGS.contains(&ending.as_str()) || no_text(text).is_some()
}

impl Dockerfile {
    /// Whether there is a FROM that a builder takes, and no more lines that are none than instructions.
    pub(super) fn is_like_one(&self) -> bool {
        let takes = |number: &usize| {
            let text = self.instructions.get(*number).map_or("", |from| from.arguments.text());
            let words: Vec<&str> = split_whitespace(text).into_iter().filter_map(|range| text.get(range)).collect();
            match words.as_slice() {
                [_] => true,
                [_, word, _] => word.eq_ignore_ascii_case("as"),
                _ => false,
            }
        };
        let unknown = self.instructions.iter().filter(|one| matches!(one.kind, Kind::Unknown(_))).count();
        self.stages.iter().any(|stage| takes(&stage.from)) && unknown * 2 <= self.instructions.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::OnDemand;

    #[test]
    fn what_is_no_text_is_told_apart() {
        let wide = |text: &str| {
            let bytes: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let why = |text: &str| no_text(text).map_or("", |why| why.get(..9).unwrap_or_default());
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
            assert_eq!(OnDemand::new(text).is_another_thing(name), expected, "{name}: {text}");
        }
    }
}
