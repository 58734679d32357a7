//! Addresses of indexes of which a part is not known: what the rest tells.

use crate::dockerfile::Resolved;
use crate::install::variant::tag_of_url;

/// Stands where a part is not known.
const OPEN: char = '\u{2}';

/// An address as an option gives it; an error says why it is not known.
pub(super) fn address(value: &Resolved, raw: &str) -> Result<String, String> {
    match value {
        Resolved::Known { value, .. } => Ok(value.clone()),
        Resolved::Unresolved { reason, .. } => settled(raw).ok_or_else(|| reason.clone()),
    }
}

/// The part of an address as written that tells its build, whatever stands in front of it: the folder of a build behind
/// the last variable, or a path that names none below a host that is not known.
pub(super) fn settled(raw: &str) -> Option<String> {
    let marked = marked(raw.trim_matches(['"', '\'']))?;
    let (_, behind) = marked.rsplit_once(OPEN)?;
    let path = behind.get(behind.find('/')?..)?;
    let of_host = marked.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    let plain =
        of_host.is_some_and(|(_, path)| !path.contains(OPEN)) && path.trim_end_matches('/').ends_with("/simple");
    (plain || tag_of_url(path).is_some()).then(|| path.to_owned())
}

/// The path of a file behind the last part of an address that is not known; `None` where its name is a part of that.
pub(super) fn file_behind(raw: &str) -> Option<String> {
    let marked = marked(raw.trim_matches(['"', '\'']))?;
    let (_, behind) = marked.rsplit_once(OPEN)?;
    Some(behind.get(behind.find('/')?..)?.to_owned())
}

/// The text with a mark in the place of each substitution; `None` where one does not end.
fn marked(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '`']) {
        out.push_str(rest.get(..at)?);
        out.push(OPEN);
        let (sign, after) = (rest.get(at..=at)?, rest.get(at + 1..)?);
        rest = match (sign, after.get(..1)) {
            ("`", _) => after.split_once('`')?.1,
            (_, Some("(")) => behind(after, '(', ')')?,
            (_, Some("{")) => behind(after, '{', '}')?,
            _ => after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_'),
        };
    }
    out.push_str(rest);
    Some(out)
}

/// What stands behind the bracket that closes the first one.
fn behind(text: &str, open: char, close: char) -> Option<&str> {
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
    fn the_name_of_a_file_is_known_behind_a_part_that_is_not() {
        for (raw, expected) in [
            ("$U/torch-2.4.0-cp310-cp310-linux_x86_64.whl", Some("/torch-2.4.0-cp310-cp310-linux_x86_64.whl")),
            ("\"${U}/cu118/a.whl\"", Some("/cu118/a.whl")),
            ("https://host/$V/a.whl", Some("/a.whl")),
            ("$U", None),
            ("$U/torch-$V.whl", None),
            ("${U}a.whl", None),
            ("https://host/a.whl", None),
        ] {
            assert_eq!(file_behind(raw).as_deref(), expected, "{raw}");
        }
    }

    #[test]
    fn a_part_that_is_known_tells_what_hangs_on_nothing_else() {
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
            assert_eq!(settled(raw).as_deref(), expected, "{raw}");
        }
    }
}
