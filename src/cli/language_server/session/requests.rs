//! The requests of an editor, and their responses.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cli::language_server::code_actions::CodeActionRequest;
use crate::cli::language_server::completion::CompletionKind;
use crate::cli::language_server::diagnostics::UNNAMED_TEXT;
use crate::cli::language_server::fix_search::{FixSearch, FixSearchOutcome};
use crate::cli::language_server::hover::MarkupKind;
use crate::cli::language_server::open_documents::OpenDocument;
use crate::cli::language_server::position::{LineIndex, PositionEncoding};
use crate::cli::language_server::protocol::{CodeActionParams, InitializeParams, TextDocumentPositionParams};
use crate::cli::language_server::session::{
    CachedAnalysis, LspSession, NegotiatedCapabilities, SessionState, parse_params,
};
use crate::cli::language_server::workspace::{AnalysisLevel, DocumentAnalysis, DocumentKind, Workspace};
use crate::cli::language_server::{code_actions, completion, hover, protocol, uri};
use crate::dockerfile::Dockerfile;

/// Maximum number of requests that wait for a search.
const MAX_PENDING_REQUESTS: usize = 64;
/// Maximum number of completions per response.
const MAX_COMPLETIONS: usize = 5000;

impl<W: Workspace + Clone> LspSession<W> {
    /// Handles a request; returns its response, or `None` if the response has to wait for a search.
    pub(super) fn handle_request(&mut self, id: &Value, method: &str, params: Value) -> Option<Value> {
        let answer = match (self.state, method) {
            (SessionState::New, "initialize") => match parse_params(params) {
                Some(parsed) => protocol::response(id, &self.initialize(&parsed)),
                None => protocol::error_response(id, protocol::INVALID_PARAMS, "invalid parameters of initialize"),
            },
            (SessionState::New, _) => {
                protocol::error_response(id, protocol::NOT_INITIALIZED, "initialize must be the first request")
            }
            (SessionState::ShutDown | SessionState::Ended(_), _) | (_, "initialize") => {
                protocol::error_response(id, protocol::INVALID_REQUEST, "this request is not allowed in this state")
            }
            (SessionState::Running, "shutdown") => {
                self.state = SessionState::ShutDown;
                protocol::response(id, &Value::Null)
            }
            (SessionState::Running, "textDocument/hover") => self.respond_with(id, params, Self::hover),
            (SessionState::Running, "textDocument/codeAction") => return self.respond_to_code_action(id, params),
            (SessionState::Running, "textDocument/completion") => self.respond_with(id, params, Self::complete),
            (SessionState::Running, _) => {
                protocol::error_response(id, protocol::METHOD_NOT_FOUND, "imagelint does not support this request")
            }
        };
        Some(answer)
    }

    /// Parses the parameters of a request, and returns the response with the result of `act`.
    fn respond_with<P: DeserializeOwned>(
        &mut self,
        id: &Value,
        params: Value,
        act: fn(&mut Self, &P) -> Option<Value>,
    ) -> Value {
        match parse_params(params) {
            Some(params) => protocol::response(id, &act(self, &params).unwrap_or_default()),
            None => protocol::error_response(id, protocol::INVALID_PARAMS, "invalid parameters"),
        }
    }

    /// Negotiates the capabilities, and returns the result of `initialize`.
    fn initialize(&mut self, params: &InitializeParams) -> Value {
        self.state = SessionState::Running;
        let capability = |path: &str| params.capabilities.pointer(path);
        let has = |path: &str| capability(path).and_then(Value::as_bool).unwrap_or(false);
        let words =
            |path: &str| capability(path).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let offered: Vec<PositionEncoding> =
            words("/general/positionEncodings").filter_map(PositionEncoding::from_name).collect();
        // What needs no counting comes first, whatever the editor likes best.
        let encoding = if offered.contains(&PositionEncoding::Utf8) {
            Some(PositionEncoding::Utf8)
        } else {
            offered.first().copied()
        };
        let markdown = words("/textDocument/hover/contentFormat").any(|form| form == "markdown");
        self.capabilities = NegotiatedCapabilities {
            encoding: encoding.unwrap_or_default(),
            form: if markdown { MarkupKind::Markdown } else { MarkupKind::Plain },
            versioned: has("/workspace/workspaceEdit/documentChanges"),
            watches: has("/workspace/didChangeWatchedFiles/dynamicRegistration"),
        };
        let folder = params.workspace_folders.iter().flatten().map(|folder| &folder.uri).chain(&params.root_uri).next();
        if let Some(folder) = folder.and_then(|folder| uri::path_from_uri(folder)) {
            self.workspace.set_root_folder(&folder);
        }
        json!({
            "capabilities": {
                "positionEncoding": self.capabilities.encoding.name(),
                "textDocumentSync": { "openClose": true, "change": 2, "save": { "includeText": false } },
                "hoverProvider": true,
                "codeActionProvider": { "codeActionKinds": ["quickfix"] },
                "completionProvider": { "triggerCharacters": [":", "\"", "=", ",", "[", "@", "-", "."] },
            },
            "serverInfo": { "name": "imagelint", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    /// Returns the name of a document in its report.
    fn report_name<'a>(&self, document: &OpenDocument, judged: &'a DocumentAnalysis) -> &'a str {
        let Some(path) = &document.path else { return UNNAMED_TEXT };
        let own = judged.sources.iter().find(|text| self.workspace.absolute_path(text.name()) == *path);
        own.map_or(UNNAMED_TEXT, |text| text.name())
    }

    /// Returns the response to a code action request, or `None` if it has to wait for a search.
    fn respond_to_code_action(&mut self, id: &Value, params: Value) -> Option<Value> {
        let Some(action_params) = parse_params::<CodeActionParams>(params) else {
            return Some(protocol::error_response(id, protocol::INVALID_PARAMS, "invalid parameters"));
        };
        let nothing = || Some(protocol::response(id, &json!([])));
        let requested_kinds = action_params.context.get("only").and_then(Value::as_array);
        if requested_kinds.is_some_and(|kinds| !kinds.iter().any(|kind| kind == "quickfix" || kind == "")) {
            return nothing();
        }
        let uri = &action_params.text_document.uri;
        // The search for fixes takes time, so it only runs where a diagnostic is shown.
        let mut published = self.diagnostics.values().filter_map(|by_file| by_file.get(uri)).flatten();
        if !published.any(|diagnostic| diagnostic.range.touches(action_params.range))
            && !self.pending_documents.contains(uri)
        {
            return nothing();
        }
        if self.cached.get(&AnalysisLevel::Fixes).is_some_and(|kept| kept.uri == *uri) {
            return Some(protocol::response(id, &self.code_actions_json(&action_params)));
        }
        if self.pending_requests.len() >= MAX_PENDING_REQUESTS {
            return Some(protocol::error_response(id, protocol::CONTENT_MODIFIED, "too many requests are pending"));
        }
        self.pending_requests.push((id.clone(), action_params));
        None
    }

    /// Returns the next search to run outside of the session, one at a time; its result is passed to
    /// `LspSession::finish_fix_search`.
    pub fn next_fix_search(&mut self) -> Option<FixSearch<W>> {
        let uri = self.pending_requests.first().filter(|_| !self.searching)?.1.text_document.uri.clone();
        // A document that cannot be judged is searched in no time.
        let document = self.open_documents.get(&uri);
        let text = document.and_then(|document| document.text.as_ref().ok()).cloned();
        let kind =
            document.filter(|_| text.is_some()).map_or(DocumentKind::Other, |document| self.document_kind(document));
        let path = document.and_then(|document| document.path.clone());
        let (world, open, serial) = (self.workspace.clone(), self.open_documents.clone(), self.revision);
        self.searching = true;
        Some(FixSearch { world, uri, kind, path, text: text.unwrap_or_default(), open, revision: serial })
    }

    /// Stores the result of a search, and returns the responses that waited for it.
    pub fn finish_fix_search(&mut self, found: FixSearchOutcome) -> Vec<Value> {
        self.searching = false;
        let mut responses = std::mem::take(&mut self.outbox);
        if found.revision != self.revision {
            return responses;
        }
        let uri = found.uri;
        self.cached.insert(AnalysisLevel::Fixes, CachedAnalysis { uri: uri.clone(), analysis: found.analysis });
        let (ready, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.pending_requests)
            .into_iter()
            .partition(|(_, action_params)| action_params.text_document.uri == uri);
        self.pending_requests = later;
        responses.extend(
            ready.iter().map(|(id, action_params)| protocol::response(id, &self.code_actions_json(action_params))),
        );
        responses
    }

    /// Returns the code actions for a request as JSON; an empty list if there are none.
    fn code_actions_json(&self, action_params: &CodeActionParams) -> Value {
        self.code_actions(action_params).map_or_else(|| json!([]), Value::Array)
    }

    /// Returns the code actions for a request, if its document was searched for fixes.
    fn code_actions(&self, action_params: &CodeActionParams) -> Option<Vec<Value>> {
        let uri = &action_params.text_document.uri;
        let (document, kept) = (self.open_documents.get(uri)?, self.cached.get(&AnalysisLevel::Fixes)?);
        let text = document.text.as_deref().ok()?;
        let dockerfile = (self.document_kind(document) == DocumentKind::Dockerfile).then(|| Dockerfile::parse(text));
        let request = CodeActionRequest {
            uri,
            name: self.report_name(document, &kept.analysis),
            lines: &LineIndex::new(text, self.capabilities.encoding),
            dockerfile: dockerfile.as_ref(),
            range: action_params.range,
            versioned: self.capabilities.versioned,
            open_documents: &self.open_documents,
        };
        let report = kept.analysis.report.as_ref()?;
        Some(code_actions::collect_code_actions(report, &self.location_mapper(uri, &kept.analysis), &request))
    }

    /// Returns the hover result for a position.
    fn hover(&mut self, at: &TextDocumentPositionParams) -> Option<Value> {
        let uri = &at.text_document.uri;
        if !self.ensure_analyzed(uri, AnalysisLevel::Facts) {
            return None;
        }
        let (document, kept) = (self.open_documents.get(uri)?, self.cached.get(&AnalysisLevel::Facts)?);
        let text = document.text.as_deref().ok()?;
        let lines = LineIndex::new(text, self.capabilities.encoding);
        let (name, offset) = (self.report_name(document, &kept.analysis), lines.offset(at.position));
        let is_dockerfile = self.document_kind(document) == DocumentKind::Dockerfile;
        let report = kept.analysis.report.as_ref()?;
        let (contents, span) = hover::hover_text(report, name, text, is_dockerfile, offset, self.capabilities.form)?;
        let form = if self.capabilities.form == MarkupKind::Markdown { "markdown" } else { "plaintext" };
        Some(json!({ "contents": { "kind": form, "value": contents }, "range": lines.range(span) }))
    }

    /// Returns the completions for a position.
    fn complete(&mut self, at: &TextDocumentPositionParams) -> Option<Value> {
        let document = self.open_documents.get(&at.text_document.uri)?;
        let text = document.text.as_deref().ok()?;
        let lines = LineIndex::new(text, self.capabilities.encoding);
        let offset = lines.offset(at.position);
        let (start, line) = lines.line_at(offset);
        let (completion_kind, span) = match self.document_kind(document) {
            DocumentKind::Dockerfile => completion::completion_in_dockerfile(start, line, offset)?,
            DocumentKind::Fleet => completion::completion_in_fleet_file(text, start, line, offset)?,
            DocumentKind::Description | DocumentKind::List | DocumentKind::Other => return None,
        };
        let range = lines.range(span);
        let path = document.path.clone();
        let (words, kind) = match completion_kind {
            CompletionKind::Tag(repository) => (self.workspace.base_image_tags(&repository), 12),
            CompletionKind::Gpu => (self.workspace.gpu_names(), 12),
            CompletionKind::Pool => (self.workspace.pool_names(path.as_deref(), &self.open_documents), 18),
            CompletionKind::Rule => (self.workspace.rule_names(path.as_deref()), 18),
        };
        let item = |(at, word): (usize, String)| {
            json!({
                "label": word,
                "kind": kind,
                "sortText": format!("{at:05}"),
                "textEdit": { "range": range, "newText": word },
            })
        };
        Some(Value::Array(words.into_iter().take(MAX_COMPLETIONS).enumerate().map(item).collect()))
    }
}
