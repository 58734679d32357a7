//! Options of pip: combined short and abbreviated long ones, and those that select indexes and requirement files.

use crate::build::Word;
use crate::install::effects::{InstallEffects, RequirementFile};
use crate::install::package_index::{IndexOptions, OptionValue, apply_index_option};
use crate::install::requirement::resolve_address;

/// Short options without a value.
const SHORT_FLAGS: &str = "UIqvhV";

/// The long options of `pip install`, which may be abbreviated.
const LONG_OPTIONS: &[&str] = &[
    "--abi",
    "--all-releases",
    "--break-system-packages",
    "--build-constraint",
    "--cache-dir",
    "--cert",
    "--check-build-dependencies",
    "--client-cert",
    "--compile",
    "--config-settings",
    "--constraint",
    "--debug",
    "--default-timeout",
    "--disable-pip-version-check",
    "--dry-run",
    "--editable",
    "--exists-action",
    "--extra-index-url",
    "--find-links",
    "--force-reinstall",
    "--global-option",
    "--group",
    "--hash",
    "--help",
    "--ignore-installed",
    "--ignore-requires-python",
    "--implementation",
    "--index-url",
    "--install-option",
    "--isolated",
    "--keyring-provider",
    "--log",
    "--no-binary",
    "--no-build-isolation",
    "--no-cache-dir",
    "--no-clean",
    "--no-color",
    "--no-compile",
    "--no-deps",
    "--no-index",
    "--no-input",
    "--no-python-version-warning",
    "--no-use-pep517",
    "--no-warn-conflicts",
    "--no-warn-script-location",
    "--only-binary",
    "--only-final",
    "--platform",
    "--pre",
    "--prefer-binary",
    "--prefix",
    "--progress-bar",
    "--proxy",
    "--pypi-url",
    "--python",
    "--python-version",
    "--quiet",
    "--report",
    "--require-hashes",
    "--require-virtualenv",
    "--requirement",
    "--resume-retries",
    "--retries",
    "--root",
    "--root-user-action",
    "--src",
    "--target",
    "--timeout",
    "--trusted-host",
    "--upgrade",
    "--upgrade-strategy",
    "--uploaded-prior-to",
    "--use-deprecated",
    "--use-feature",
    "--use-pep517",
    "--user",
    "--verbose",
    "--version",
    "--wheel-dir",
];

/// Completes an abbreviated long option; returns any other text unchanged.
pub(super) fn complete_option(name: &str) -> &str {
    if !name.starts_with("--") || name.len() < 3 || LONG_OPTIONS.contains(&name) {
        return name;
    }
    let mut candidates = LONG_OPTIONS.iter().filter(|option| option.starts_with(name));
    match (candidates.next(), candidates.next()) {
        (Some(one), None) => one,
        _ => name,
    }
}

/// Splits combined short options into separate words: `-Ur r.txt` becomes `-U -r r.txt`.
pub(super) fn split_short_options(words: &[Word]) -> Vec<Word> {
    let is_flag = |text: &str| {
        let mut chars = text.chars();
        chars.next() == Some('-') && chars.next().is_some_and(|c| SHORT_FLAGS.contains(c)) && chars.next().is_some()
    };
    let mut out = Vec::with_capacity(words.len());
    for word in words {
        let Some(mut text) = word.known().filter(|text| is_flag(text)).map(str::to_owned) else {
            out.push(word.clone());
            continue;
        };
        while is_flag(&text) {
            let (flag, rest) = text.split_at(2);
            out.push(word.with_text(flag));
            text = format!("-{rest}");
        }
        out.push(word.with_text(&text));
    }
    out
}

/// Returns the value of an option: the rest of its word, or the next word.
pub(super) fn option_value<'w>(
    inline: Option<&str>,
    word: &Word,
    rest: &mut impl Iterator<Item = &'w Word>,
) -> Option<OptionValue> {
    match inline {
        Some(value) => Some((Ok(value.to_owned()), word.span)),
        None => rest.next().map(|next| (resolve_address(&next.value, &next.raw), next.span)),
    }
}

/// Applies `--option=$VALUE` with an unknown value; returns whether the option is relevant.
pub(super) fn apply_unresolved_option(
    word: &Word,
    uv: bool,
    indexes: &mut IndexOptions,
    found: &mut InstallEffects,
) -> bool {
    let (name, inline) = split_option(word.raw.trim_matches(['"', '\'']));
    let name = if uv { name } else { complete_option(name) };
    let Some(raw) = inline.filter(|_| name.starts_with('-')) else { return false };
    if name == "--python" {
        return true;
    }
    if takes_requirement_file(name) {
        let (path, constraint, span) = (word.value.clone(), takes_constraint_file(name), word.span);
        found.files.push(RequirementFile { path, constraint, extras: Vec::new(), span, why: None });
        return true;
    }
    apply_index_option(name, || Some((resolve_address(&word.value, raw), word.span)), indexes)
}

/// Whether an option takes a requirement file.
pub(super) fn takes_requirement_file(name: &str) -> bool {
    matches!(name, "-r" | "--requirement" | "--requirements") || takes_constraint_file(name)
}

/// Whether an option takes a file that only constrains versions.
pub(super) fn takes_constraint_file(name: &str) -> bool {
    matches!(name, "-c" | "--constraint" | "--constraints") || takes_override_file(name)
}

/// Whether an option takes an override file.
pub(super) fn takes_override_file(name: &str) -> bool {
    matches!(name, "--override" | "--overrides")
}

/// Splits `--name=value`, or a short option with its value in the same word.
pub(super) fn split_option(text: &str) -> (&str, Option<&str>) {
    if text.starts_with("--") {
        return text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    }
    match text.get(..2) {
        Some(short @ ("-r" | "-c" | "-i" | "-f" | "-e")) if text.len() > 2 => (short, text.get(2..)),
        _ => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::ExpandedText;
    use crate::text::source::Span;

    #[test]
    fn unambiguous_abbreviations_are_completed() {
        for (name, expected) in [
            ("--extra-index", "--extra-index-url"),
            ("--index", "--index-url"),
            ("--requirem", "--requirement"),
            ("--find", "--find-links"),
            ("--upgrade", "--upgrade"),
            ("--pre", "--pre"),
            ("--python", "--python"),
            // pip refuses these, or knows none such.
            ("--req", "--req"),
            ("--no", "--no"),
            ("--bogus", "--bogus"),
            ("--", "--"),
            ("-r", "-r"),
            ("torch", "torch"),
        ] {
            assert_eq!(complete_option(name), expected, "{name}");
        }
    }

    #[test]
    fn combined_short_options_are_split() {
        let word = |text: &&str| Word {
            value: ExpandedText::literal(*text),
            raw: (*text).to_owned(),
            span: Span::new(0, 1),
            output: None,
        };
        for (given, expected) in [
            (&["-Ur", "r.txt"][..], "-U -r r.txt"),
            (&["-qqUrr.txt", "x"], "-q -q -U -rr.txt x"),
            (&["-vvv"], "-v -v -v"),
            (&["-U", "-rr.txt"], "-U -rr.txt"),
            (&["-rUq", "-fhttps://x"], "-rUq -fhttps://x"),
            (&["--Ur", "torch", "-", ""], "--Ur torch - "),
            (&["Ur"], "Ur"),
        ] {
            let words = split_short_options(&given.iter().map(word).collect::<Vec<_>>());
            let texts: Vec<&str> = words.iter().filter_map(Word::known).collect();
            assert_eq!(texts.join(" "), expected);
        }
    }
}
