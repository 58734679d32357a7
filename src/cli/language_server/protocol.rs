//! The LSP types, reduced to the fields that are used.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cli::language_server::position::LspRange;

/// Error code for invalid JSON.
pub(super) const PARSE_ERROR: i32 = -32_700;
/// Error code for JSON that is not a message, or for a request that is not allowed in the current state.
pub(super) const INVALID_REQUEST: i32 = -32_600;
/// Error code for an unsupported request.
pub(super) const METHOD_NOT_FOUND: i32 = -32_601;
/// Error code for invalid parameters of a request.
pub(super) const INVALID_PARAMS: i32 = -32_602;
/// Error code for a request before `initialize`.
pub(super) const NOT_INITIALIZED: i32 = -32_002;

/// Error code for a request whose document has changed since.
pub(super) const CONTENT_MODIFIED: i32 = -32_801;

/// A message from the editor.
#[derive(Debug)]
pub(super) enum ClientMessage {
    /// A request, which needs a response.
    Request { id: Value, method: String, params: Value },
    /// A notification, which gets no response.
    Notification { method: String, params: Value },
    /// A response to a request of the server.
    Response,
    /// An invalid message, with the error response to it.
    Broken(Value),
}

impl ClientMessage {
    /// Parses the body of a message.
    pub(super) fn parse(body: &[u8]) -> Self {
        let mut value: Value = match serde_json::from_slice(body) {
            Ok(value) => value,
            Err(error) => return Self::Broken(error_response(&Value::Null, PARSE_ERROR, &error.to_string())),
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
            _ => Self::Broken(error_response(&Value::Null, INVALID_REQUEST, "this is not a JSON-RPC message")),
        }
    }
}

/// Returns the response to a request.
pub(super) fn response(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// Returns the error response to a request.
pub(super) fn error_response(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// Returns a notification to the client.
pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// Parameters of `initialize`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct InitializeParams {
    pub(super) root_uri: Option<String>,
    pub(super) workspace_folders: Option<Vec<WorkspaceFolder>>,
    pub(super) capabilities: Value,
}

/// A workspace folder of the client.
#[derive(Debug, Deserialize)]
pub(super) struct WorkspaceFolder {
    pub(super) uri: String,
}

/// Parameters of `textDocument/didOpen`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DidOpenParams {
    pub(super) text_document: TextDocumentItem,
}

/// A document with its text.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TextDocumentItem {
    pub(super) uri: String,
    #[serde(default)]
    pub(super) language_id: String,
    #[serde(default)]
    pub(super) version: i64,
    pub(super) text: String,
}

/// The URI of a document, with its version where it has one.
#[derive(Debug, Deserialize)]
pub(super) struct TextDocumentIdentifier {
    pub(super) uri: String,
    #[serde(default)]
    pub(super) version: Option<i64>,
}

/// Parameters of `textDocument/didClose`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DidCloseParams {
    pub(super) text_document: TextDocumentIdentifier,
}

/// Parameters of `textDocument/didChange`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DidChangeParams {
    pub(super) text_document: TextDocumentIdentifier,
    pub(super) content_changes: Vec<ContentChange>,
}

/// A change of a range of a document, or of its whole text.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ContentChange {
    pub(super) range: Option<LspRange>,
    pub(super) text: String,
}

/// Parameters of a request for a position in a document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TextDocumentPositionParams {
    pub(super) text_document: TextDocumentIdentifier,
    pub(super) position: crate::cli::language_server::position::LspPosition,
}

/// Parameters of `textDocument/codeAction`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodeActionParams {
    pub(super) text_document: TextDocumentIdentifier,
    pub(super) range: LspRange,
    #[serde(default)]
    pub(super) context: Value,
}

/// A diagnostic in a document.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LspDiagnostic {
    pub(super) range: LspRange,
    /// The severity: 1 error, 2 warning, 3 information.
    pub(super) severity: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<String>,
    pub(super) source: &'static str,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) related_information: Vec<RelatedInformation>,
}

/// A message about another location that belongs to a diagnostic.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct RelatedInformation {
    pub(super) location: DocumentLocation,
    pub(super) message: String,
}

/// A range in a document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct DocumentLocation {
    pub(super) uri: String,
    pub(super) range: LspRange,
}

/// A replacement of a range by a new text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LspTextEdit {
    pub(super) range: LspRange,
    pub(super) new_text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_notifications_and_responses_are_distinguished() {
        let read = |text: &str| ClientMessage::parse(text.as_bytes());
        assert!(matches!(read(r#"{"id":1,"method":"a"}"#), ClientMessage::Request { method, .. } if method == "a"));
        assert!(matches!(read(r#"{"id":"x","method":"a","params":[]}"#), ClientMessage::Request { .. }));
        assert!(matches!(read(r#"{"method":"a"}"#), ClientMessage::Notification { .. }));
        assert!(matches!(read(r#"{"id":1,"result":null}"#), ClientMessage::Response));
    }

    #[test]
    fn invalid_message_gets_an_error_response() {
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
            let ClientMessage::Broken(response) = ClientMessage::parse(text.as_bytes()) else { panic!("{text:.40}") };
            assert_eq!(response["error"]["code"], code, "{text:.40}");
            assert_eq!(response["id"], Value::Null);
        }
        assert!(matches!(ClientMessage::parse(b"\xff\xfe"), ClientMessage::Broken(_)));
    }

    #[test]
    fn a_broken_range_is_rejected() {
        for text in [
            r#"{"range":{"start":{"line":-1,"character":0},"end":{"line":0,"character":0}},"text":"x"}"#,
            r#"{"range":[],"text":"x"}"#,
            r#"{"range":{"start":{"line":0}},"text":"x"}"#,
            r#"{"text":7}"#,
        ] {
            assert!(serde_json::from_str::<ContentChange>(text).is_err(), "{text}");
        }
    }
}
