//! Messages in the bodies of unexpected responses: registry error documents and HTML pages.

use serde::Deserialize;

use crate::registry::pull_error::one_line;

/// Maximum number of characters of a quoted message.
const MAX_MESSAGE_CHARS: usize = 200;

/// Returns the title of an HTML page; `None` if the body is not an HTML page.
pub(crate) fn html_title(content_type: Option<&str>, body: &[u8]) -> Option<String> {
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

/// An error document of a registry.
#[derive(Deserialize)]
struct RegistryErrors {
    errors: Vec<RegistryError>,
}

/// One error of an error document.
#[derive(Deserialize)]
struct RegistryError {
    code: Option<String>,
    message: Option<String>,
}

/// Returns the message of an error response: `CODE: message` of a registry, otherwise the text itself.
pub(crate) fn error_message(body: &[u8]) -> String {
    let first = serde_json::from_slice::<RegistryErrors>(body).ok().and_then(|all| all.errors.into_iter().next());
    let text = match first {
        Some(RegistryError { code: Some(code), message: Some(message) }) => format!("{code}: {message}"),
        Some(RegistryError { code, message }) => code.or(message).unwrap_or_default(),
        None => String::from_utf8_lossy(body).into_owned(),
    };
    one_line(&text, MAX_MESSAGE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_show_their_title_and_errors_their_message() {
        let page = b"\n<!DOCTYPE html><html><head><TITLE>Log in\n here</TITLE>";
        assert_eq!(html_title(None, page).as_deref(), Some("Log in here"));
        assert_eq!(html_title(Some("text/html"), b"hello").as_deref(), Some(""));
        assert_eq!(html_title(Some("text/html"), b"{\"errors\":[]}"), None);
        assert_eq!(html_title(None, b"{}"), None);
        let error = br#"{"errors":[{"code":"DENIED","message":"no\u001b[31m"}]}"#;
        assert_eq!(error_message(error), "DENIED: no [31m");
    }
}
