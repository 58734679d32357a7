//! What an editor asks, and the answers.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::json;

use crate::dockerfile::Dockerfile;
use crate::lsp::action;
use crate::lsp::action::Asked;
use crate::lsp::complete;
use crate::lsp::complete::Wanted;
use crate::lsp::diagnose::NAMELESS;
use crate::lsp::document::Document;
use crate::lsp::hover;
use crate::lsp::hover::Form;
use crate::lsp::place::Encoding;
use crate::lsp::place::Lines;
use crate::lsp::search::Found;
use crate::lsp::search::Search;
use crate::lsp::session::Agreed;
use crate::lsp::session::Kept;
use crate::lsp::session::Session;
use crate::lsp::session::State;
use crate::lsp::session::read;
use crate::lsp::uri;
use crate::lsp::wire;
use crate::lsp::wire::At;
use crate::lsp::wire::In;
use crate::lsp::wire::Initialize;
use crate::lsp::world::Depth;
use crate::lsp::world::Judged;
use crate::lsp::world::Kind;
use crate::lsp::world::World;

/// So many requests wait for a search.
const MOST_LATER: usize = 64;
/// So many words are offered at once.
const MOST_WORDS: usize = 5000;

impl<W: World + Clone> Session<W> {
    pub(super) fn request(&mut self, id: &Value, method: &str, params: Value) -> Option<Value> {
        let answer = match (self.state, method) {
            (State::New, "initialize") => match read(params) {
                Some(said) => wire::answer(id, &self.initialize(&said)),
                None => wire::refusal(id, wire::INVALID_PARAMS, "invalid parameters of initialize"),
            },
            (State::New, _) => wire::refusal(id, wire::NOT_INITIALIZED, "initialize must be the first request"),
            (State::ShutDown | State::Ended(_), _) | (_, "initialize") => {
                wire::refusal(id, wire::INVALID_REQUEST, "this request is not allowed in this state")
            }
            (State::Running, "shutdown") => {
                self.state = State::ShutDown;
                wire::answer(id, &Value::Null)
            }
            (State::Running, "textDocument/hover") => self.asked(id, params, Self::hover),
            (State::Running, "textDocument/codeAction") => return self.actions(id, params),
            (State::Running, "textDocument/completion") => self.asked(id, params, Self::complete),
            (State::Running, _) => wire::refusal(id, wire::METHOD_NOT_FOUND, "imagelint does not support this request"),
        };
        Some(answer)
    }

    fn asked<P: DeserializeOwned>(
        &mut self,
        id: &Value,
        params: Value,
        act: fn(&mut Self, &P) -> Option<Value>,
    ) -> Value {
        match read(params) {
            Some(params) => wire::answer(id, &act(self, &params).unwrap_or_default()),
            None => wire::refusal(id, wire::INVALID_PARAMS, "invalid parameters"),
        }
    }

    fn initialize(&mut self, said: &Initialize) -> Value {
        self.state = State::Running;
        let capability = |path: &str| said.capabilities.pointer(path);
        let has = |path: &str| capability(path).and_then(Value::as_bool).unwrap_or(false);
        let words =
            |path: &str| capability(path).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let offered: Vec<Encoding> = words("/general/positionEncodings").filter_map(Encoding::named).collect();
        // What needs no counting comes first, whatever the editor likes best.
        let encoding = if offered.contains(&Encoding::Utf8) { Some(Encoding::Utf8) } else { offered.first().copied() };
        let markdown = words("/textDocument/hover/contentFormat").any(|form| form == "markdown");
        self.agreed = Agreed {
            encoding: encoding.unwrap_or_default(),
            form: if markdown { Form::Markdown } else { Form::Plain },
            versioned: has("/workspace/workspaceEdit/documentChanges"),
            watches: has("/workspace/didChangeWatchedFiles/dynamicRegistration"),
        };
        let folder = said.workspace_folders.iter().flatten().map(|folder| &folder.uri).chain(&said.root_uri).next();
        if let Some(folder) = folder.and_then(|folder| uri::path(folder)) {
            self.world.enter(&folder);
        }
        json!({
            "capabilities": {
                "positionEncoding": self.agreed.encoding.name(),
                "textDocumentSync": { "openClose": true, "change": 2, "save": { "includeText": false } },
                "hoverProvider": true,
                "codeActionProvider": { "codeActionKinds": ["quickfix"] },
                "completionProvider": { "triggerCharacters": [":", "\"", "=", ",", "[", "@", "-", "."] },
            },
            "serverInfo": { "name": "imagelint", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    /// The name of a document in the report on it.
    fn name<'a>(&self, document: &Document, judged: &'a Judged) -> &'a str {
        let Some(path) = &document.path else { return NAMELESS };
        let own = judged.sources.iter().find(|text| self.world.full(text.name()) == *path);
        own.map_or(NAMELESS, |text| text.name())
    }

    /// The answer, where it needs no search.
    fn actions(&mut self, id: &Value, params: Value) -> Option<Value> {
        let Some(asked) = read::<In>(params) else {
            return Some(wire::refusal(id, wire::INVALID_PARAMS, "invalid parameters"));
        };
        let nothing = || Some(wire::answer(id, &json!([])));
        let wanted = asked.context.get("only").and_then(Value::as_array);
        if wanted.is_some_and(|kinds| !kinds.iter().any(|kind| kind == "quickfix" || kind == "")) {
            return nothing();
        }
        let uri = &asked.text_document.uri;
        // The search for cures takes its time: it is made where something is told.
        let mut told = self.found.values().filter_map(|by_file| by_file.get(uri)).flatten();
        if !told.any(|diagnostic| diagnostic.range.touches(asked.range)) && !self.waiting.contains(uri) {
            return nothing();
        }
        if self.kept.get(&Depth::Fixes).is_some_and(|kept| kept.uri == *uri) {
            return Some(wire::answer(id, &self.offers(&asked)));
        }
        if self.later.len() >= MOST_LATER {
            return Some(wire::refusal(id, wire::CONTENT_MODIFIED, "too many requests are pending"));
        }
        self.later.push((id.clone(), asked));
        None
    }

    /// A search that is to be made beside the session, one at a time; what it found goes to [`Self::found`].
    pub fn search(&mut self) -> Option<Search<W>> {
        let uri = self.later.first().filter(|_| !self.searching)?.1.text_document.uri.clone();
        // A document that cannot be judged is searched in no time.
        let document = self.open.get(&uri);
        let text = document.and_then(|document| document.text.as_ref().ok()).cloned();
        let kind = document.filter(|_| text.is_some()).map_or(Kind::Other, |document| self.kind(document));
        let path = document.and_then(|document| document.path.clone());
        let (world, open, serial) = (self.world.clone(), self.open.clone(), self.serial);
        self.searching = true;
        Some(Search { world, uri, kind, path, text: text.unwrap_or_default(), open, serial })
    }

    /// Takes what a search found, and gives the answers that waited for it.
    pub fn found(&mut self, found: Found) -> Vec<Value> {
        self.searching = false;
        let mut told = std::mem::take(&mut self.outbox);
        if found.serial != self.serial {
            return told;
        }
        let uri = found.uri;
        self.kept.insert(Depth::Fixes, Kept { uri: uri.clone(), judged: found.judged });
        let (ready, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.later).into_iter().partition(|(_, asked)| asked.text_document.uri == uri);
        self.later = later;
        told.extend(ready.iter().map(|(id, asked)| wire::answer(id, &self.offers(asked))));
        told
    }

    /// What is offered for a part of a document, once it was searched.
    fn offers(&self, asked: &In) -> Value {
        self.offered(asked).map_or_else(|| json!([]), Value::Array)
    }

    fn offered(&self, asked: &In) -> Option<Vec<Value>> {
        let uri = &asked.text_document.uri;
        let (document, kept) = (self.open.get(uri)?, self.kept.get(&Depth::Fixes)?);
        let text = document.text.as_deref().ok()?;
        let dockerfile = (self.kind(document) == Kind::Dockerfile).then(|| Dockerfile::parse(text));
        let asked = Asked {
            uri,
            name: self.name(document, &kept.judged),
            lines: &Lines::new(text, self.agreed.encoding),
            dockerfile: dockerfile.as_ref(),
            range: asked.range,
            versioned: self.agreed.versioned,
            open: &self.open,
        };
        let report = kept.judged.report.as_ref()?;
        Some(action::of(report, &self.places(uri, &kept.judged), &asked))
    }

    fn hover(&mut self, at: &At) -> Option<Value> {
        let uri = &at.text_document.uri;
        if !self.judge(uri, Depth::Facts) {
            return None;
        }
        let (document, kept) = (self.open.get(uri)?, self.kept.get(&Depth::Facts)?);
        let text = document.text.as_deref().ok()?;
        let lines = Lines::new(text, self.agreed.encoding);
        let (name, offset) = (self.name(document, &kept.judged), lines.offset(at.position));
        let is_dockerfile = self.kind(document) == Kind::Dockerfile;
        let report = kept.judged.report.as_ref()?;
        let (told, span) = hover::of(report, name, text, is_dockerfile, offset, self.agreed.form)?;
        let form = if self.agreed.form == Form::Markdown { "markdown" } else { "plaintext" };
        Some(json!({ "contents": { "kind": form, "value": told }, "range": lines.range(span) }))
    }

    fn complete(&mut self, at: &At) -> Option<Value> {
        let document = self.open.get(&at.text_document.uri)?;
        let text = document.text.as_deref().ok()?;
        let lines = Lines::new(text, self.agreed.encoding);
        let offset = lines.offset(at.position);
        let (start, line) = lines.line_at(offset);
        let (wanted, span) = match self.kind(document) {
            Kind::Dockerfile => complete::in_dockerfile(start, line, offset)?,
            Kind::Fleet => complete::in_fleet(text, start, line, offset)?,
            Kind::Description | Kind::List | Kind::Other => return None,
        };
        let range = lines.range(span);
        let path = document.path.clone();
        let (words, kind) = match wanted {
            Wanted::Tag(repository) => (self.world.tags(&repository), 12),
            Wanted::Gpu => (self.world.gpus(), 12),
            Wanted::Pool => (self.world.pools(path.as_deref(), &self.open), 18),
            Wanted::Rule => (self.world.rules(path.as_deref()), 18),
        };
        let item = |(at, word): (usize, String)| {
            json!({
                "label": word,
                "kind": kind,
                "sortText": format!("{at:05}"),
                "textEdit": { "range": range, "newText": word },
            })
        };
        Some(Value::Array(words.into_iter().take(MOST_WORDS).enumerate().map(item).collect()))
    }
}
