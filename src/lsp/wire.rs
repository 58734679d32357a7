//! The protocol's types: as much of each message as is needed.

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;

use crate::lsp::place::Range;

/// JSON that cannot be read.
pub(super) const PARSE_ERROR: i32 = -32_700;
/// JSON that is no message, or comes at the wrong time.
pub(super) const INVALID_REQUEST: i32 = -32_600;
/// A request that is not known.
pub(super) const METHOD_NOT_FOUND: i32 = -32_601;
/// A request whose parameters cannot be read.
pub(super) const INVALID_PARAMS: i32 = -32_602;
/// A request before the first.
pub(super) const NOT_INITIALIZED: i32 = -32_002;

/// A request on a text that has been changed since.
pub(super) const CONTENT_MODIFIED: i32 = -32_801;

/// A message from the editor.
#[derive(Debug)]
pub(super) enum Message {
    /// Wants an answer.
    Request { id: Value, method: String, params: Value },
    /// Wants none.
    Notification { method: String, params: Value },
    /// An answer to what was asked of it.
    Response,
    /// No message; what is told of it.
    Broken(Value),
}

impl Message {
    /// Reads a body.
    pub(super) fn read(body: &[u8]) -> Self {
        let mut value: Value = match serde_json::from_slice(body) {
            Ok(value) => value,
            Err(error) => return Self::Broken(refusal(&Value::Null, PARSE_ERROR, &error.to_string())),
        };
        let id = value.get("id").cloned();
        let params = value.get_mut("params").map(Value::take).unwrap_or_default();
        let method = value.get("method").and_then(Value::as_str).map(str::to_owned);
        match (method, id) {
            (Some(method), None) => Self::Notification { method, params },
            (Some(method), Some(id)) if id.is_string() || id.is_i64() || id.is_u64() => {
                Self::Request { id, method, params }
            }
            (None, Some(_)) if value.get("result").is_some() || value.get("error").is_some() => Self::Response,
            _ => Self::Broken(refusal(&Value::Null, INVALID_REQUEST, "this is not a JSON-RPC message")),
        }
    }
}

/// The answer to a request.
pub(super) fn answer(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// The answer to a request that cannot be followed.
pub(super) fn refusal(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// A notification to the editor.
pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// What the editor says of itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Initialize {
    pub(super) root_uri: Option<String>,
    pub(super) workspace_folders: Option<Vec<Folder>>,
    pub(super) capabilities: Value,
}

/// A folder that is open.
#[derive(Debug, Deserialize)]
pub(super) struct Folder {
    pub(super) uri: String,
}

/// A document that is opened.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DidOpen {
    pub(super) text_document: Item,
}

/// A document with its text.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Item {
    pub(super) uri: String,
    #[serde(default)]
    pub(super) language_id: String,
    #[serde(default)]
    pub(super) version: i64,
    pub(super) text: String,
}

/// A document by name.
#[derive(Debug, Deserialize)]
pub(super) struct Named {
    pub(super) uri: String,
    #[serde(default)]
    pub(super) version: Option<i64>,
}

/// Something about a document as a whole.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct About {
    pub(super) text_document: Named,
}

/// A document that was changed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DidChange {
    pub(super) text_document: Named,
    pub(super) content_changes: Vec<Change>,
}

/// One change: of a range, or the whole text.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Change {
    pub(super) range: Option<Range>,
    pub(super) text: String,
}

/// Something about a place in a document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct At {
    pub(super) text_document: Named,
    pub(super) position: crate::lsp::place::Position,
}

/// Something about a part of a document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct In {
    pub(super) text_document: Named,
    pub(super) range: Range,
    #[serde(default)]
    pub(super) context: Value,
}

/// What is told of a place.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Diagnostic {
    pub(super) range: Range,
    /// 1 error, 2 warning, 3 note.
    pub(super) severity: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<String>,
    pub(super) source: &'static str,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) related_information: Vec<Related>,
}

/// What is told of another place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Related {
    pub(super) location: Site,
    pub(super) message: String,
}

/// A place in some file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Site {
    pub(super) uri: String,
    pub(super) range: Range,
}

/// One text in the place of another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TextEdit {
    pub(super) range: Range,
    pub(super) new_text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_notifications_and_answers_are_told_apart() {
        let read = |text: &str| Message::read(text.as_bytes());
        assert!(matches!(read(r#"{"id":1,"method":"a"}"#), Message::Request { method, .. } if method == "a"));
        assert!(matches!(read(r#"{"id":"x","method":"a","params":[]}"#), Message::Request { .. }));
        assert!(matches!(read(r#"{"method":"a"}"#), Message::Notification { .. }));
        assert!(matches!(read(r#"{"id":1,"result":null}"#), Message::Response));
    }

    #[test]
    fn what_is_no_message_gets_a_refusal() {
        let deep = "[".repeat(100_000);
        for (text, code) in [
            ("", PARSE_ERROR),
            ("{", PARSE_ERROR),
            ("\u{0}", PARSE_ERROR),
            (deep.as_str(), PARSE_ERROR),
            ("[]", INVALID_REQUEST),
            ("null", INVALID_REQUEST),
            (r#"{"id":null,"method":"a"}"#, INVALID_REQUEST),
            (r#"{"id":[1],"method":"a"}"#, INVALID_REQUEST),
            (r#"{"id":1.5,"method":"a"}"#, INVALID_REQUEST),
            (r#"{"id":1}"#, INVALID_REQUEST),
            (r#"{"method":7}"#, INVALID_REQUEST),
        ] {
            let Message::Broken(told) = Message::read(text.as_bytes()) else { panic!("{text:.40}") };
            assert_eq!(told["error"]["code"], code, "{text:.40}");
            assert_eq!(told["id"], Value::Null);
        }
        assert!(matches!(Message::read(b"\xff\xfe"), Message::Broken(_)));
    }

    #[test]
    fn a_broken_range_is_not_taken_for_the_whole_text() {
        for text in [
            r#"{"range":{"start":{"line":-1,"character":0},"end":{"line":0,"character":0}},"text":"x"}"#,
            r#"{"range":[],"text":"x"}"#,
            r#"{"range":{"start":{"line":0}},"text":"x"}"#,
            r#"{"text":7}"#,
        ] {
            assert!(serde_json::from_str::<Change>(text).is_err(), "{text}");
        }
    }
}
