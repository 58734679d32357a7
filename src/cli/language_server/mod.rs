//! The language server without its transport: answers the requests of an editor, and publishes diagnostics while the
//! user types.
//!
//! A [`LspSession`] takes the messages of one editor and gives the answers; a [`Workspace`] reads files and judges. The text
//! that is judged is the one in the editor, saved or not.
//!
//! The protocol's types are our own: a message is read into no more than is needed of it, a change whose range cannot be
//! read is refused instead of being taken for the whole text, and a message of any length needs bounded memory.

mod code_actions;
mod completion;
mod diagnostics;
mod fix_search;
mod framing;
mod hover;
mod open_documents;
mod position;
mod protocol;
mod session;
mod uri;
mod workspace;

pub use self::completion::known_base_image_tags;
pub use self::fix_search::{FixSearch, FixSearchOutcome};
pub use self::framing::{IncomingFrame, read_frame, write_frame};
pub use self::open_documents::{MAX_DOCUMENT_BYTES, OpenDocuments};
pub use self::session::{LspSession, SessionEnd};
pub use self::workspace::{AnalysisLevel, DocumentAnalysis, DocumentKind, Workspace};
