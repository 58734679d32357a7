//! The words of an answer that is not what was asked for: error documents and web pages.

use serde::Deserialize;

use crate::oci::error::one_line;

/// How many characters of an answer are quoted.
const QUOTED: usize = 200;

/// The title of a web page, or none where the bytes are no web page.
pub(crate) fn html(content_type: Option<&str>, body: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(&body[..body.len().min(4096)]);
    let lower = head.to_ascii_lowercase();
    let start = lower.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let looks = start.starts_with("<!doctype html") || start.starts_with("<html");
    let typed = content_type.is_some_and(|text| text.to_ascii_lowercase().starts_with("text/html"));
    // Some registries label their JSON errors as pages.
    if !looks && (!typed || start.starts_with('{')) {
        return None;
    }
    let title = lower.find("<title").and_then(|at| {
        let start = at + lower[at..].find('>')? + 1;
        let end = start + lower[start..].find('<')?;
        head.get(start..end)
    });
    Some(title.map(|title| one_line(title, 80)).unwrap_or_default())
}

#[derive(Deserialize)]
struct Errors {
    errors: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    code: Option<String>,
    message: Option<String>,
}

/// The words of an error answer: `CODE: message` of a registry, else the text itself.
pub(crate) fn words(body: &[u8]) -> String {
    let first = serde_json::from_slice::<Errors>(body).ok().and_then(|all| all.errors.into_iter().next());
    let text = match first {
        Some(Entry { code: Some(code), message: Some(message) }) => format!("{code}: {message}"),
        Some(Entry { code, message }) => code.or(message).unwrap_or_default(),
        None => String::from_utf8_lossy(body).into_owned(),
    };
    one_line(&text, QUOTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_show_their_title_and_errors_their_words() {
        let page = b"\n<!DOCTYPE html><html><head><TITLE>Log in\n here</TITLE>";
        assert_eq!(html(None, page).as_deref(), Some("Log in here"));
        assert_eq!(html(Some("text/html"), b"hello").as_deref(), Some(""));
        assert_eq!(html(Some("text/html"), b"{\"errors\":[]}"), None);
        assert_eq!(html(None, b"{}"), None);
        let error = br#"{"errors":[{"code":"DENIED","message":"no\u001b[31m"}]}"#;
        assert_eq!(words(error), "DENIED: no [31m");
    }
}
