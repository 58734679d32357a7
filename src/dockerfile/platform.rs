//! Platform specifiers as builders parse them, with short forms and alternative architecture names.
//!
//! After `Parse` and `Normalize` of containerd's platforms package, which docker and `BuildKit` read them with.

use crate::dockerfile::{Dockerfile, Instruction, MappedText};

/// A normalized platform specifier, such as the value of `--platform`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlatformSpecifier {
    /// System, architecture, and the variant if any: `linux/arm64`.
    Whole(String),
    /// A system alone: the architecture is that of the machine that builds.
    System,
}

/// The operating systems that a specifier can name alone.
const OPERATING_SYSTEMS: &[&str] =
    &["linux", "windows", "darwin", "freebsd", "android", "netbsd", "openbsd", "solaris", "wasip1"];
/// The architectures that a specifier can name alone.
const ARCHITECTURES: &[&str] =
    &["386", "amd64", "arm", "arm64", "loong64", "mips64", "mips64le", "ppc64", "ppc64le", "riscv64", "s390x", "wasm"];

/// The prefixes of the names of predefined platform arguments.
const PLATFORM_ARGUMENT_PREFIXES: &[&str] = &["TARGET", "BUILD"];
/// The suffixes of the names of predefined platform arguments.
const PLATFORM_ARGUMENT_SUFFIXES: &[&str] = &["PLATFORM", "OS", "ARCH", "VARIANT"];

impl Dockerfile {
    /// Whether it may use a predefined platform argument; otherwise it is the same for every platform.
    pub fn may_use_platform_arguments(&self) -> bool {
        self.instructions.iter().any(may_use_platform_argument)
    }
}

/// Whether an instruction may use a predefined platform argument.
fn may_use_platform_argument(instruction: &Instruction) -> bool {
    let flags = instruction.flags.iter().filter_map(|flag| flag.value.as_ref());
    let bodies = instruction.heredocs.iter().map(|heredoc| &heredoc.body);
    let words = instruction.json.iter().flatten();
    let mut texts = flags.chain(bodies).chain(words).chain([&instruction.arguments]).map(MappedText::text);
    texts.any(contains_platform_argument) || instruction.child.as_deref().is_some_and(may_use_platform_argument)
}

/// Whether a text contains the name of a predefined platform argument.
fn contains_platform_argument(text: &str) -> bool {
    let behind = |start: &'static str| text.match_indices(start).filter_map(|(at, word)| text.get(at + word.len()..));
    PLATFORM_ARGUMENT_PREFIXES
        .iter()
        .flat_map(|start| behind(start))
        .any(|rest| PLATFORM_ARGUMENT_SUFFIXES.iter().any(|part| rest.starts_with(part)))
}

/// Whether a text is an operating system and architecture under their canonical names, with any variant.
pub fn is_canonical_platform(text: &str) -> bool {
    let mut parts = text.splitn(3, '/');
    let named = |part: Option<&str>, names: &[&str]| part.is_some_and(|part| names.contains(&part));
    named(parts.next(), OPERATING_SYSTEMS) && named(parts.next(), ARCHITECTURES)
}

impl PlatformSpecifier {
    /// Parses a platform specifier; `None` where a builder would reject it.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<String> = text.split('/').map(str::to_lowercase).collect();
        let plain =
            |part: &String| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
        if !parts.iter().all(plain) {
            return None;
        }
        match parts.as_slice() {
            [word] if OPERATING_SYSTEMS.contains(&normalize_operating_system(word)) => Some(Self::System),
            [word] => {
                let (architecture, variant) = normalize_architecture(word, "");
                // For a single word, the default variant v7 is left out.
                let variant = if variant == "v7" { String::new() } else { variant };
                let known = ARCHITECTURES.contains(&architecture.as_str());
                known.then(|| Self::Whole(format_platform("linux", &architecture, &variant)))
            }
            [os, word] => {
                let (architecture, variant) = normalize_architecture(word, "");
                Some(Self::Whole(format_platform(normalize_operating_system(os), &architecture, &variant)))
            }
            [os, word, variant] => {
                let (architecture, variant) = normalize_architecture(word, variant);
                Some(Self::Whole(format_platform(normalize_operating_system(os), &architecture, &variant)))
            }
            _ => None,
        }
    }
}

/// Joins operating system, architecture and variant with slashes.
fn format_platform(system: &str, architecture: &str, variant: &str) -> String {
    if variant.is_empty() { format!("{system}/{architecture}") } else { format!("{system}/{architecture}/{variant}") }
}

/// Returns the canonical name of an operating system.
fn normalize_operating_system(word: &str) -> &str {
    if word == "macos" { "darwin" } else { word }
}

/// Returns the canonical name of an architecture, and its variant.
fn normalize_architecture(word: &str, variant: &str) -> (String, String) {
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
    fn platform_names_are_normalized_like_in_buildkit() {
        let whole = |text: &str| Some(PlatformSpecifier::Whole(text.to_owned()));
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
            ("linux", Some(PlatformSpecifier::System)),
            ("macos", Some(PlatformSpecifier::System)),
            ("amd46", None),
            ("", None),
            ("linux/", None),
            ("/amd64", None),
            ("linux/amd64/v1/x", None),
            ("linux amd64", None),
        ] {
            assert_eq!(PlatformSpecifier::parse(text), expected, "{text}");
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
            assert_eq!(is_canonical_platform(text), expected, "{text}");
        }
    }

    #[test]
    fn platform_arguments_are_found_wherever_they_may_be_used() {
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
            assert_eq!(Dockerfile::parse(text).may_use_platform_arguments(), names, "{text}");
        }
    }
}
