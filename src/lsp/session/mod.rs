//! One editor: what it opened, what it is told, what it asks.

mod asked;

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::json;

use crate::lsp::diagnose;
use crate::lsp::diagnose::Places;
use crate::lsp::document::Document;
use crate::lsp::document::Open;
use crate::lsp::hover::Form;
use crate::lsp::place::Encoding;
use crate::lsp::wire;
use crate::lsp::wire::About;
use crate::lsp::wire::Diagnostic;
use crate::lsp::wire::DidChange;
use crate::lsp::wire::DidOpen;
use crate::lsp::wire::In;
use crate::lsp::wire::Message;
use crate::lsp::world::Depth;
use crate::lsp::world::Judged;
use crate::lsp::world::Kind;
use crate::lsp::world::World;

/// Files on the disk that a judgement may hang on.
const WATCHED: &str = "**/{fleet.toml,*imagelint.toml,imagelint.lock,*.image.toml,*requirements*.txt,*.dockerignore}";

/// How a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As agreed.
    Orderly,
    /// Without a word before.
    Early,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    New,
    Running,
    ShutDown,
    Ended(End),
}

/// What was agreed on with the editor.
#[derive(Clone, Copy, Debug)]
struct Agreed {
    encoding: Encoding,
    form: Form,
    /// Whether edits may be of a document at a version.
    versioned: bool,
    /// Whether it can be asked to watch files.
    watches: bool,
}

/// A judgement and what it is of.
struct Kept {
    uri: String,
    judged: Judged,
}

/// One editor.
pub struct Session<W> {
    world: W,
    state: State,
    agreed: Agreed,
    open: Open,
    /// Documents that are to be judged.
    waiting: BTreeSet<String>,
    /// By the document that was judged, by the file that it is told of.
    found: BTreeMap<String, BTreeMap<String, Vec<Diagnostic>>>,
    shown: BTreeMap<String, Vec<Diagnostic>>,
    /// The last judgements since the last change.
    kept: BTreeMap<Depth, Kept>,
    /// How many changes there were.
    serial: u64,
    /// Requests that wait for a search.
    later: Vec<(Value, In)>,
    searching: bool,
    /// To be sent with the next answers.
    outbox: Vec<Value>,
}

impl<W: World + Clone> Session<W> {
    /// Before the first message.
    pub fn new(world: W) -> Self {
        let agreed = Agreed { encoding: Encoding::Utf16, form: Form::Plain, versioned: false, watches: false };
        let (waiting, found, shown, kept) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (later, outbox, open) = (Vec::new(), Vec::new(), Open::default());
        let (state, serial, searching) = (State::New, 0, false);
        Self { world, state, agreed, open, waiting, found, shown, kept, serial, later, searching, outbox }
    }

    /// Whether it is over.
    pub fn end(&self) -> Option<End> {
        match self.state {
            State::Ended(end) => Some(end),
            State::New | State::Running | State::ShutDown => None,
        }
    }

    /// Nothing comes any more.
    pub fn hang_up(&self) -> End {
        if self.state == State::ShutDown { End::Orderly } else { End::Early }
    }

    /// Whether there is something to judge.
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A message could not be read as a whole: what the texts are is not known any more.
    pub fn lose(&mut self) -> Vec<Value> {
        self.open.lose(None);
        self.changed(None);
        std::mem::take(&mut self.outbox)
    }

    /// Takes one message and gives what is sent back.
    pub fn take(&mut self, body: &[u8]) -> Vec<Value> {
        let told = match Message::read(body) {
            Message::Request { id, method, params } => self.request(&id, &method, params).into_iter().collect(),
            Message::Notification { method, params } => self.notification(&method, params),
            Message::Response => Vec::new(),
            Message::Broken(told) => {
                let mut stale = self.lose();
                stale.push(told);
                stale
            }
        };
        let mut all = std::mem::take(&mut self.outbox);
        all.extend(told);
        all
    }

    /// Judges one of the documents that wait, and gives what there is to tell.
    pub fn settle(&mut self) -> Vec<Value> {
        let Some(uri) = self.waiting.pop_first() else { return Vec::new() };
        let found = if self.judge(&uri, Depth::Findings) {
            let kept = self.kept.get(&Depth::Findings);
            kept.map(|kept| diagnose::of(&self.places(&uri, &kept.judged))).unwrap_or_default()
        } else {
            BTreeMap::new()
        };
        let touched: BTreeSet<String> = self
            .found
            .get(&uri)
            .into_iter()
            .flat_map(BTreeMap::keys)
            .chain(found.keys())
            .chain([&uri])
            .cloned()
            .collect();
        self.found.insert(uri, found);
        touched.into_iter().filter_map(|uri| self.publish(uri)).collect()
    }

    /// What is told of a file by all that was judged, if that is new.
    fn publish(&mut self, uri: String) -> Option<Value> {
        let mut list: Vec<Diagnostic> = Vec::new();
        for diagnostic in self.found.values().filter_map(|by_file| by_file.get(&uri)).flatten() {
            if !list.contains(diagnostic) {
                list.push(diagnostic.clone());
            }
        }
        list.sort_by(|one, other| one.range.cmp(&other.range).then_with(|| one.message.cmp(&other.message)));
        let version = self.open.get(&uri).map(|document| document.version);
        // What is open is told of at every version; of other files what is new.
        if version.is_none() && self.shown.get(&uri).map_or(list.is_empty(), |shown| *shown == list) {
            return None;
        }
        let mut params = json!({ "uri": uri, "diagnostics": list });
        if let (Some(version), Some(params)) = (version, params.as_object_mut()) {
            params.insert("version".to_owned(), version.into());
        }
        if list.is_empty() {
            self.shown.remove(&uri)
        } else {
            self.shown.insert(uri, list)
        };
        Some(wire::notification("textDocument/publishDiagnostics", &params))
    }

    fn places<'a>(&'a self, uri: &'a str, judged: &'a Judged) -> Places<'a, 'a> {
        Places::new(judged, &self.world, &self.open, uri, self.agreed.encoding)
    }

    fn kind(&self, document: &Document) -> Kind {
        self.world.kind(document.path.as_deref(), &document.language)
    }

    /// Sees to it that a document is judged; whether it is anything to judge.
    fn judge(&mut self, uri: &str, depth: Depth) -> bool {
        let Some(document) = self.open.get(uri) else { return false };
        let kind = self.kind(document);
        if kind == Kind::Other {
            return false;
        }
        if self.kept.get(&depth).is_none_or(|kept| kept.uri != uri) {
            let path = document.path.as_deref();
            let judged = match &document.text {
                Ok(text) => self.world.judge(kind, path, text, &self.open, depth),
                Err(why) => Judged { refused: Some(why.clone()), ..Judged::default() },
            };
            self.kept.insert(depth, Kept { uri: uri.to_owned(), judged });
        }
        true
    }

    /// Documents that are to be judged again: one and what stands for it, or all.
    fn changed(&mut self, uri: Option<&str>) {
        self.kept.clear();
        self.serial += 1;
        let stale = std::mem::take(&mut self.later).into_iter();
        self.outbox.extend(stale.map(|(id, _)| wire::refusal(&id, wire::CONTENT_MODIFIED, "the text was changed")));
        let alone = |document: &Document| matches!(self.kind(document), Kind::Dockerfile | Kind::Description);
        let one = uri.filter(|uri| self.open.get(uri).is_some_and(alone));
        let again = self.open.iter().filter(|(own, document)| match one {
            Some(one) => *own == one || self.kind(document) == Kind::List,
            None => self.kind(document) != Kind::Other,
        });
        self.waiting.extend(again.map(|(own, _)| own.clone()).collect::<Vec<_>>());
    }

    fn notification(&mut self, method: &str, params: Value) -> Vec<Value> {
        if method == "exit" {
            self.state = State::Ended(self.hang_up());
        }
        if self.state != State::Running {
            return Vec::new();
        }
        match method {
            "initialized" if self.agreed.watches => return vec![watch()],
            "textDocument/didOpen" => {
                if let Some(DidOpen { text_document }) = read(params) {
                    let uri = text_document.uri.clone();
                    self.open.open(text_document);
                    self.changed(Some(&uri));
                }
            }
            "textDocument/didChange" => self.did_change(params),
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" | "workspace/didChangeConfiguration" => {
                self.world.refresh();
                self.changed(None);
            }
            "textDocument/didClose" => {
                if let Some(About { text_document }) = read(params) {
                    return self.close(&text_document.uri);
                }
            }
            _ => {}
        }
        Vec::new()
    }

    fn did_change(&mut self, params: Value) {
        let uri = params.pointer("/textDocument/uri").and_then(Value::as_str).map(str::to_owned);
        if let Some(DidChange { text_document, content_changes }) = read(params) {
            let (encoding, uri) = (self.agreed.encoding, &text_document.uri);
            if self.open.change(uri, text_document.version, content_changes, encoding) {
                self.changed(Some(uri));
            }
        } else {
            // Which text it was may not be known either.
            self.open.lose(uri.as_deref());
            self.changed(None);
        }
    }

    /// Forgets a document, and all that was told because of it.
    fn close(&mut self, uri: &str) -> Vec<Value> {
        let closed = self.open.close(uri);
        self.waiting.remove(uri);
        let told = self.found.remove(uri).unwrap_or_default();
        // Files that others read have the text on the disk again.
        if closed.is_some_and(|document| self.kind(&document) != Kind::Other) {
            self.changed(None);
        }
        let files: BTreeSet<String> = told.into_keys().chain([uri.to_owned()]).collect();
        files.into_iter().filter_map(|uri| self.publish(uri)).collect()
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Option<T> {
    serde_json::from_value(params).ok()
}

/// Asks the editor to tell of files that change on the disk.
fn watch() -> Value {
    let options = json!({ "watchers": [{ "globPattern": WATCHED }] });
    let registration =
        json!({ "id": "files", "method": "workspace/didChangeWatchedFiles", "registerOptions": options });
    json!({
        "jsonrpc": "2.0",
        "id": "imagelint-files",
        "method": "client/registerCapability",
        "params": { "registrations": [registration] },
    })
}
