//! Option syntax of pip: combined short options, and abbreviated long options.

use crate::shell::Word;

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
    let mut meant = LONG_OPTIONS.iter().filter(|option| option.starts_with(name));
    match (meant.next(), meant.next()) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
            value: crate::dockerfile::ExpandedText::literal(*text),
            raw: (*text).to_owned(),
            span: crate::source::Span::new(0, 1),
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
