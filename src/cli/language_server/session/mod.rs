//! A session with one editor: open documents, published diagnostics and pending requests.

mod requests;

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cli::language_server::diagnostics::LocationMapper;
use crate::cli::language_server::hover::MarkupKind;
use crate::cli::language_server::open_documents::{OpenDocument, OpenDocuments};
use crate::cli::language_server::position::PositionEncoding;
use crate::cli::language_server::protocol::{
    ClientMessage, CodeActionParams, DidChangeParams, DidCloseParams, DidOpenParams, LspDiagnostic,
};
use crate::cli::language_server::workspace::{AnalysisLevel, DocumentAnalysis, DocumentKind, Workspace};
use crate::cli::language_server::{diagnostics, protocol};

/// Glob of the files on disk that an analysis may depend on.
const WATCHED_FILES_GLOB: &str =
    "**/{fleet.toml,*imagelint.toml,imagelint.lock,*.image.toml,*requirements*.txt,*.dockerignore}";

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// After a shutdown request.
    Orderly,
    /// Without a shutdown request.
    Early,
}

/// The state of a session in the LSP lifecycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SessionState {
    #[default]
    New,
    Running,
    ShutDown,
    Ended(SessionEnd),
}

/// The capabilities that were negotiated with the client at initialization.
#[derive(Clone, Copy, Debug)]
struct NegotiatedCapabilities {
    encoding: PositionEncoding,
    form: MarkupKind,
    /// Whether the client supports edits of a document at a version.
    versioned: bool,
    /// Whether the client can watch files.
    watches: bool,
}

/// A cached analysis, with the URI of its document.
struct CachedAnalysis {
    uri: String,
    analysis: DocumentAnalysis,
}

/// The state of the language server for one editor.
pub struct LspSession<W> {
    workspace: W,
    state: SessionState,
    capabilities: NegotiatedCapabilities,
    open_documents: OpenDocuments,
    /// URIs of the documents that have to be analyzed.
    pending_documents: BTreeSet<String>,
    /// The diagnostics by the analyzed document, then by the file that they belong to.
    diagnostics: BTreeMap<String, BTreeMap<String, Vec<LspDiagnostic>>>,
    published: BTreeMap<String, Vec<LspDiagnostic>>,
    /// The last analysis at each level since the last change.
    cached: BTreeMap<AnalysisLevel, CachedAnalysis>,
    /// The number of changes so far.
    revision: u64,
    /// Requests that wait for a search.
    pending_requests: Vec<(Value, CodeActionParams)>,
    searching: bool,
    /// Messages to send with the next responses.
    outbox: Vec<Value>,
}

impl<W: Workspace + Clone> LspSession<W> {
    /// Creates a session that waits for the first message.
    pub fn new(world: W) -> Self {
        let agreed = NegotiatedCapabilities {
            encoding: PositionEncoding::Utf16,
            form: MarkupKind::Plain,
            versioned: false,
            watches: false,
        };
        let (waiting, found, shown, kept) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (later, outbox, open) = (Vec::new(), Vec::new(), OpenDocuments::default());
        let (state, serial, searching) = (SessionState::New, 0, false);
        Self {
            workspace: world,
            state,
            capabilities: agreed,
            open_documents: open,
            pending_documents: waiting,
            diagnostics: found,
            published: shown,
            cached: kept,
            revision: serial,
            pending_requests: later,
            searching,
            outbox,
        }
    }

    /// Returns how the session ended, or `None` if it is active.
    pub fn end(&self) -> Option<SessionEnd> {
        match self.state {
            SessionState::Ended(end) => Some(end),
            SessionState::New | SessionState::Running | SessionState::ShutDown => None,
        }
    }

    /// Returns how a session ends whose input ends now.
    pub fn end_of_input(&self) -> SessionEnd {
        if self.state == SessionState::ShutDown { SessionEnd::Orderly } else { SessionEnd::Early }
    }

    /// Whether documents have to be analyzed.
    pub fn has_pending_documents(&self) -> bool {
        !self.pending_documents.is_empty()
    }

    /// Marks all open texts as unknown after an unreadable message; returns the messages to send.
    pub fn mark_texts_unknown(&mut self) -> Vec<Value> {
        self.open_documents.mark_unknown(None);
        self.invalidate(None);
        std::mem::take(&mut self.outbox)
    }

    /// Handles one message, and returns the messages to send.
    pub fn handle_message(&mut self, body: &[u8]) -> Vec<Value> {
        let messages = match ClientMessage::parse(body) {
            ClientMessage::Request { id, method, params } => {
                self.handle_request(&id, &method, params).into_iter().collect()
            }
            ClientMessage::Notification { method, params } => self.handle_notification(&method, params),
            ClientMessage::Response => Vec::new(),
            ClientMessage::Broken(response) => {
                let mut stale = self.mark_texts_unknown();
                stale.push(response);
                stale
            }
        };
        let mut all = std::mem::take(&mut self.outbox);
        all.extend(messages);
        all
    }

    /// Analyzes one of the pending documents, and returns the messages with its diagnostics.
    pub fn analyze_next(&mut self) -> Vec<Value> {
        let Some(uri) = self.pending_documents.pop_first() else { return Vec::new() };
        let found = if self.ensure_analyzed(&uri, AnalysisLevel::Findings) {
            let kept = self.cached.get(&AnalysisLevel::Findings);
            kept.map(|kept| diagnostics::diagnostics_by_uri(&self.location_mapper(&uri, &kept.analysis)))
                .unwrap_or_default()
        } else {
            BTreeMap::new()
        };
        let touched: BTreeSet<String> = self
            .diagnostics
            .get(&uri)
            .into_iter()
            .flat_map(BTreeMap::keys)
            .chain(found.keys())
            .chain([&uri])
            .cloned()
            .collect();
        self.diagnostics.insert(uri, found);
        touched.into_iter().filter_map(|uri| self.publish_diagnostics(uri)).collect()
    }

    /// Returns the notification with the diagnostics of a file from all analyses, unless nothing changed.
    fn publish_diagnostics(&mut self, uri: String) -> Option<Value> {
        let mut list: Vec<LspDiagnostic> = Vec::new();
        for diagnostic in self.diagnostics.values().filter_map(|by_file| by_file.get(&uri)).flatten() {
            if !list.contains(diagnostic) {
                list.push(diagnostic.clone());
            }
        }
        list.sort_by(|one, other| one.range.cmp(&other.range).then_with(|| one.message.cmp(&other.message)));
        let version = self.open_documents.get(&uri).map(|document| document.version);
        // Diagnostics of open documents are sent for every version, those of other files only if they changed.
        if version.is_none() && self.published.get(&uri).map_or(list.is_empty(), |shown| *shown == list) {
            return None;
        }
        let mut params = json!({ "uri": uri, "diagnostics": list });
        if let (Some(version), Some(params)) = (version, params.as_object_mut()) {
            params.insert("version".to_owned(), version.into());
        }
        if list.is_empty() {
            self.published.remove(&uri)
        } else {
            self.published.insert(uri, list)
        };
        Some(protocol::notification("textDocument/publishDiagnostics", &params))
    }

    /// Returns the mapping of an analysis to URIs and ranges in the editor.
    fn location_mapper<'a>(&'a self, uri: &'a str, judged: &'a DocumentAnalysis) -> LocationMapper<'a, 'a> {
        LocationMapper::new(judged, &self.workspace, &self.open_documents, uri, self.capabilities.encoding)
    }

    /// Returns the kind of a document.
    fn document_kind(&self, document: &OpenDocument) -> DocumentKind {
        self.workspace.document_kind(document.path.as_deref(), &document.language)
    }

    /// Analyzes a document unless the analysis is cached; returns whether it is of a kind that is analyzed.
    fn ensure_analyzed(&mut self, uri: &str, depth: AnalysisLevel) -> bool {
        let Some(document) = self.open_documents.get(uri) else { return false };
        let kind = self.document_kind(document);
        if kind == DocumentKind::Other {
            return false;
        }
        if self.cached.get(&depth).is_none_or(|kept| kept.uri != uri) {
            let path = document.path.as_deref();
            let judged = match &document.text {
                Ok(text) => self.workspace.analyze(kind, path, text, &self.open_documents, depth),
                Err(why) => DocumentAnalysis { refused: Some(why.clone()), ..DocumentAnalysis::default() },
            };
            self.cached.insert(depth, CachedAnalysis { uri: uri.to_owned(), analysis: judged });
        }
        true
    }

    /// Discards the cached analyses, and queues the documents that a change affects: one and those that depend on it,
    /// or all.
    fn invalidate(&mut self, uri: Option<&str>) {
        self.cached.clear();
        self.revision += 1;
        let stale = std::mem::take(&mut self.pending_requests).into_iter();
        self.outbox.extend(
            stale.map(|(id, _)| protocol::error_response(&id, protocol::CONTENT_MODIFIED, "the text was changed")),
        );
        let is_independent = |document: &OpenDocument| {
            matches!(self.document_kind(document), DocumentKind::Dockerfile | DocumentKind::Description)
        };
        let one = uri.filter(|uri| self.open_documents.get(uri).is_some_and(is_independent));
        let again = self.open_documents.iter().filter(|(own, document)| match one {
            Some(one) => *own == one || self.document_kind(document) == DocumentKind::List,
            None => self.document_kind(document) != DocumentKind::Other,
        });
        self.pending_documents.extend(again.map(|(own, _)| own.clone()).collect::<Vec<_>>());
    }

    /// Handles a notification, and returns the messages to send.
    fn handle_notification(&mut self, method: &str, params: Value) -> Vec<Value> {
        if method == "exit" {
            self.state = SessionState::Ended(self.end_of_input());
        }
        if self.state != SessionState::Running {
            return Vec::new();
        }
        match method {
            "initialized" if self.capabilities.watches => return vec![register_file_watcher()],
            "textDocument/didOpen" => {
                if let Some(DidOpenParams { text_document }) = parse_params(params) {
                    let uri = text_document.uri.clone();
                    self.open_documents.open(text_document);
                    self.invalidate(Some(&uri));
                }
            }
            "textDocument/didChange" => self.did_change(params),
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" | "workspace/didChangeConfiguration" => {
                self.workspace.refresh();
                self.invalidate(None);
            }
            "textDocument/didClose" => {
                if let Some(DidCloseParams { text_document }) = parse_params(params) {
                    return self.close(&text_document.uri);
                }
            }
            _ => {}
        }
        Vec::new()
    }

    /// Handles `textDocument/didChange`.
    fn did_change(&mut self, params: Value) {
        let uri = params.pointer("/textDocument/uri").and_then(Value::as_str).map(str::to_owned);
        if let Some(DidChangeParams { text_document, content_changes }) = parse_params(params) {
            let (encoding, uri) = (self.capabilities.encoding, &text_document.uri);
            if self.open_documents.apply_changes(uri, text_document.version, content_changes, encoding) {
                self.invalidate(Some(uri));
            }
        } else {
            // Which text it was may not be known either.
            self.open_documents.mark_unknown(uri.as_deref());
            self.invalidate(None);
        }
    }

    /// Handles `textDocument/didClose`: forgets a document and clears the diagnostics of its analysis.
    fn close(&mut self, uri: &str) -> Vec<Value> {
        let closed = self.open_documents.close(uri);
        self.pending_documents.remove(uri);
        let removed = self.diagnostics.remove(uri).unwrap_or_default();
        // Files that others read have the text on the disk again.
        if closed.is_some_and(|document| self.document_kind(&document) != DocumentKind::Other) {
            self.invalidate(None);
        }
        let files: BTreeSet<String> = removed.into_keys().chain([uri.to_owned()]).collect();
        files.into_iter().filter_map(|uri| self.publish_diagnostics(uri)).collect()
    }
}

/// Parses the parameters of a message; `None` if they are invalid.
fn parse_params<T: DeserializeOwned>(params: Value) -> Option<T> {
    serde_json::from_value(params).ok()
}

/// Returns the request to the client to watch files on disk.
fn register_file_watcher() -> Value {
    let options = json!({ "watchers": [{ "globPattern": WATCHED_FILES_GLOB }] });
    let registration =
        json!({ "id": "files", "method": "workspace/didChangeWatchedFiles", "registerOptions": options });
    json!({
        "jsonrpc": "2.0",
        "id": "imagelint-files",
        "method": "client/registerCapability",
        "params": { "registrations": [registration] },
    })
}
