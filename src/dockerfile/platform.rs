//! Platforms as builders read them: one word may stand for the rest, and architectures have several names.
//!
//! After `Parse` and `Normalize` of containerd's platforms package, which docker and `BuildKit` read them with.

use crate::dockerfile::Dockerfile;
use crate::dockerfile::Instruction;
use crate::dockerfile::Mapped;

/// What a word or several with slashes name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Platform {
    /// System, architecture, and the variant if any: `linux/arm64`.
    Whole(String),
    /// A system alone: the architecture is that of the machine that builds.
    System,
}

/// Systems that a word alone may name.
const SYSTEMS: &[&str] =
    &["linux", "windows", "darwin", "freebsd", "android", "netbsd", "openbsd", "solaris", "wasip1"];
/// Architectures that a word alone may name.
const ARCHITECTURES: &[&str] =
    &["386", "amd64", "arm", "arm64", "loong64", "mips64", "mips64le", "ppc64", "ppc64le", "riscv64", "s390x", "wasm"];

/// How the names begin of the arguments that the platform sets.
const ARGUMENTS: &[&str] = &["TARGET", "BUILD"];
/// And how they go on.
const PARTS: &[&str] = &["PLATFORM", "OS", "ARCH", "VARIANT"];

impl Dockerfile {
    /// Whether a word in it may name an argument that the platform sets: without any, it says the same for every platform.
    pub fn names_platform(&self) -> bool {
        self.instructions.iter().any(names_argument)
    }
}

fn names_argument(instruction: &Instruction) -> bool {
    let flags = instruction.flags.iter().filter_map(|flag| flag.value.as_ref());
    let bodies = instruction.heredocs.iter().map(|heredoc| &heredoc.body);
    let words = instruction.json.iter().flatten();
    let mut texts = flags.chain(bodies).chain(words).chain([&instruction.arguments]).map(Mapped::text);
    texts.any(named) || instruction.child.as_deref().is_some_and(names_argument)
}

fn named(text: &str) -> bool {
    let behind = |start: &'static str| text.match_indices(start).filter_map(|(at, word)| text.get(at + word.len()..));
    ARGUMENTS.iter().flat_map(|start| behind(start)).any(|rest| PARTS.iter().any(|part| rest.starts_with(part)))
}

/// Whether a text is system and architecture under their own names, with whatever variant.
pub fn is_platform(text: &str) -> bool {
    let mut parts = text.splitn(3, '/');
    let named = |part: Option<&str>, names: &[&str]| part.is_some_and(|part| names.contains(&part));
    named(parts.next(), SYSTEMS) && named(parts.next(), ARCHITECTURES)
}

impl Platform {
    /// Reads one; none where no builder takes it for a platform.
    pub fn read(text: &str) -> Option<Self> {
        let parts: Vec<String> = text.split('/').map(str::to_lowercase).collect();
        let plain =
            |part: &String| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
        if !parts.iter().all(plain) {
            return None;
        }
        match parts.as_slice() {
            [word] if SYSTEMS.contains(&system(word)) => Some(Self::System),
            [word] => {
                let (architecture, variant) = architecture(word, "");
                // What is v7 by itself is not said of a word alone.
                let variant = if variant == "v7" { String::new() } else { variant };
                let known = ARCHITECTURES.contains(&architecture.as_str());
                known.then(|| Self::Whole(joined("linux", &architecture, &variant)))
            }
            [os, word] => {
                let (architecture, variant) = architecture(word, "");
                Some(Self::Whole(joined(system(os), &architecture, &variant)))
            }
            [os, word, variant] => {
                let (architecture, variant) = architecture(word, variant);
                Some(Self::Whole(joined(system(os), &architecture, &variant)))
            }
            _ => None,
        }
    }
}

fn joined(system: &str, architecture: &str, variant: &str) -> String {
    if variant.is_empty() { format!("{system}/{architecture}") } else { format!("{system}/{architecture}/{variant}") }
}

fn system(word: &str) -> &str {
    if word == "macos" { "darwin" } else { word }
}

/// An architecture under its own name, with its variant.
fn architecture(word: &str, variant: &str) -> (String, String) {
    let (name, variant) = match (word, variant) {
        ("i386", _) => ("386", ""),
        ("x86_64" | "x86-64" | "amd64", "v1") => ("amd64", ""),
        ("x86_64" | "x86-64", variant) => ("amd64", variant),
        ("aarch64" | "arm64", "8" | "v8") => ("arm64", ""),
        ("aarch64", variant) => ("arm64", variant),
        ("armhf", _) | ("arm", "" | "7") => ("arm", "v7"),
        ("armel", _) | ("arm", "6") => ("arm", "v6"),
        ("arm", "5") => ("arm", "v5"),
        ("arm", "8") => ("arm", "v8"),
        other => other,
    };
    (name.to_owned(), variant.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_and_other_names_are_read_as_builders_do() {
        let whole = |text: &str| Some(Platform::Whole(text.to_owned()));
        for (text, expected) in [
            ("linux/amd64", whole("linux/amd64")),
            ("amd64", whole("linux/amd64")),
            ("AMD64", whole("linux/amd64")),
            ("x86_64", whole("linux/amd64")),
            ("linux/x86-64", whole("linux/amd64")),
            ("aarch64", whole("linux/arm64")),
            ("arm64/v8", whole("arm64/v8")),
            ("linux/arm64/v8", whole("linux/arm64")),
            ("linux/arm64/v9", whole("linux/arm64/v9")),
            ("linux/arm", whole("linux/arm/v7")),
            ("arm", whole("linux/arm")),
            ("linux/armhf", whole("linux/arm/v7")),
            ("windows/amd64", whole("windows/amd64")),
            ("linux", Some(Platform::System)),
            ("macos", Some(Platform::System)),
            ("amd46", None),
            ("", None),
            ("linux/", None),
            ("/amd64", None),
            ("linux/amd64/v1/x", None),
            ("linux amd64", None),
        ] {
            assert_eq!(Platform::read(text), expected, "{text}");
        }
        for (text, expected) in [
            ("linux/amd64", true),
            ("linux/arm64/v8", true),
            ("windows/amd64", true),
            ("linux/x86_64", false),
            ("amd64", false),
            ("linux", false),
            ("linx/amd64", false),
            ("", false),
        ] {
            assert_eq!(is_platform(text), expected, "{text}");
        }
    }

    #[test]
    fn a_platform_is_named_wherever_an_argument_of_it_may_be_meant() {
        for (text, names) in [
            ("FROM x\nARG TARGETARCH\n", true),
            ("FROM --platform=$BUILDPLATFORM x\n", true),
            ("ARG A=${TARGETVARIANT:-y}\nFROM x:$A\n", true),
            ("FROM x\nRUN <<E\npip install -r $TARGETARCH.txt\nE\n", true),
            ("FROM x\nRUN --mount=source=$TARGETOS,target=a true\n", true),
            ("FROM x\nONBUILD ARG TARGET\\\nARCH\n", true),
            ("FROM x\nCMD [\"$BUILDOS\"]\n", true),
            ("FROM x\nARG BUILD_TYPE\nARG TARGET\nENV TARGET_ARCH=y\n", false),
            ("FROM x\nRUN pip install \"a; platform_machine == 'x'\"\n", false),
            ("FROM x\n# ARG TARGETARCH\nCOPY target /a\nRUN targetarch\n", false),
        ] {
            assert_eq!(Dockerfile::parse(text).names_platform(), names, "{text}");
        }
    }
}
