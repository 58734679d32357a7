//! The language server without its pipes: what an editor says and is told, while somebody types.
//!
//! A [`Session`] takes the messages of one editor and gives the answers; a [`World`] reads files and judges. The text
//! that is judged is the one in the editor, saved or not.
//!
//! The protocol's types are our own: a message is read into no more than is needed of it, a change whose range cannot be
//! read is refused instead of being taken for the whole text, and a message of any length needs bounded memory.

mod action;
mod complete;
mod diagnose;
mod document;
mod frame;
mod hover;
mod place;
mod search;
mod session;
mod uri;
mod wire;
mod world;

pub use self::complete::tags;
pub use self::document::LONGEST;
pub use self::document::Open;
pub use self::frame::Frame;
pub use self::frame::read;
pub use self::frame::write;
pub use self::search::Found;
pub use self::search::Search;
pub use self::session::End;
pub use self::session::Session;
pub use self::world::Depth;
pub use self::world::Judged;
pub use self::world::Kind;
pub use self::world::World;
