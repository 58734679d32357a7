//! Index addresses that are partly unknown because they contain variables or command substitutions.

use crate::dockerfile::ExpandedText;
use crate::install::build_variant::tag_of_url;
use crate::model::cause::Cause;

/// Placeholder for an unknown part of an address.
const UNKNOWN_PART: char = '\u{2}';

/// Returns the address in the value of an option, or its known end if that determines the build; otherwise why it is
/// unknown.
pub(super) fn resolve_address(value: &ExpandedText, raw: &str) -> Result<String, Cause> {
    match value {
        ExpandedText::Known { value, .. } => Ok(value.clone()),
        ExpandedText::Unresolved { reason, .. } => known_address_end(raw).ok_or_else(|| (**reason).clone()),
    }
}

/// Returns the known end of an address that determines the build: a folder of one build after the last variable, or a
/// `/simple` path.
pub(super) fn known_address_end(raw: &str) -> Option<String> {
    let marked = mark_substitutions(raw.trim_matches(['"', '\'']))?;
    let (_, behind) = marked.rsplit_once(UNKNOWN_PART)?;
    let path = behind.get(behind.find('/')?..)?;
    let of_host = marked.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    let plain = of_host.is_some_and(|(_, path)| !path.contains(UNKNOWN_PART))
        && path.trim_end_matches('/').ends_with("/simple");
    (plain || tag_of_url(path).is_some()).then(|| path.to_owned())
}

/// Returns the path of a file after the last unknown part of an address; `None` if the file name itself is partly
/// unknown.
pub(super) fn known_file_path(raw: &str) -> Option<String> {
    let marked = mark_substitutions(raw.trim_matches(['"', '\'']))?;
    let (_, behind) = marked.rsplit_once(UNKNOWN_PART)?;
    Some(behind.get(behind.find('/')?..)?.to_owned())
}

/// Replaces every substitution in a text by `UNKNOWN_PART`; `None` if one does not end.
fn mark_substitutions(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '`']) {
        out.push_str(rest.get(..at)?);
        out.push(UNKNOWN_PART);
        let (sign, after) = (rest.get(at..=at)?, rest.get(at + 1..)?);
        rest = match (sign, after.get(..1)) {
            ("`", _) => after.split_once('`')?.1,
            (_, Some("(")) => text_after_brackets(after, '(', ')')?,
            (_, Some("{")) => text_after_brackets(after, '{', '}')?,
            _ => after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_'),
        };
    }
    out.push_str(rest);
    Some(out)
}

/// Returns the text after the bracket that closes the first one.
fn text_after_brackets(text: &str, open: char, close: char) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return text.get(at + c.len_utf8()..);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_known_after_an_unknown_part() {
        for (raw, expected) in [
            ("$U/torch-2.4.0-cp310-cp310-linux_x86_64.whl", Some("/torch-2.4.0-cp310-cp310-linux_x86_64.whl")),
            ("\"${U}/cu118/a.whl\"", Some("/cu118/a.whl")),
            ("https://host/$V/a.whl", Some("/a.whl")),
            ("$U", None),
            ("$U/torch-$V.whl", None),
            ("${U}a.whl", None),
            ("https://host/a.whl", None),
        ] {
            assert_eq!(known_file_path(raw).as_deref(), expected, "{raw}");
        }
    }

    #[test]
    fn known_ends_of_partly_unknown_addresses() {
        for (raw, expected) in [
            ("https://$HOST/whl/cu118", Some("/whl/cu118")),
            ("\"https://${USER:-a/b}:$(cat /run/t)@corp.example/pypi/simple/\"", Some("/pypi/simple/")),
            ("$MIRROR/whl/nightly/cu128", Some("/whl/nightly/cu128")),
            ("https://`host`/simple", Some("/simple")),
            ("https://download.pytorch.org/whl/cu$CU", None),
            ("https://download.pytorch.org/whl/$CHANNEL/cu118", None),
            ("https://download.pytorch.org/whl/cu$(echo /whl/cu118)", None),
            ("https://corp.example/$REPO/simple", None),
            ("$IDX", None),
            ("${IDX}/cu118", None),
            ("https://$HOST/cu118", None),
            ("https://${HOST/whl/cu118", None),
            ("https://corp.example/whl/cu118", None),
            ("", None),
            ("\u{e9}$", None),
        ] {
            assert_eq!(known_address_end(raw).as_deref(), expected, "{raw}");
        }
    }
}
