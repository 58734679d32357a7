//! `imagelint lsp`: runs the language server on standard input and output.

use crate::cli::lsp::options::LspOptions;
mod disk_workspace;
mod document_check;
mod options;

use std::sync::mpsc;
use std::sync::mpsc::{SyncSender, TryRecvError};
use std::{io, thread};

use crate::cli::args::LspArgs;
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::language_server;
use crate::cli::language_server::{FixSearchOutcome, IncomingFrame, LspSession, SessionEnd};
use crate::cli::lsp::disk_workspace::DiskWorkspace;
use crate::knowledge::Knowledge;

/// Largest size of a message in bytes: a text of the greatest length with each byte escaped.
const MAX_MESSAGE_BYTES: u64 = 32 << 20;
/// Number of messages that may wait to be processed.
const MAX_QUEUED_MESSAGES: usize = 4;

/// Stack size of a search thread: room for the parsers of nested texts.
const SEARCH_STACK_BYTES: usize = 8 << 20;

/// An event that the session processes: a message from the editor or the result of a search.
enum SessionEvent {
    Frame(IncomingFrame),
    Found(Box<FixSearchOutcome>),
}

/// Runs `imagelint lsp` until the editor ends the session.
pub(crate) fn run(options: &LspArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    let options = LspOptions { build: options.to_build_args(), set: &options.set, judging: options.to_judging_args() };
    let (send, receive) = mpsc::sync_channel(MAX_QUEUED_MESSAGES);
    let frames = send.clone();
    thread::Builder::new().name("editor".to_owned()).spawn(move || forward_messages(&frames))?;
    thread::scope(|scope| {
        // It is dropped with the session, so that no search waits for a receiver.
        let receive = receive;
        let mut session = LspSession::new(DiskWorkspace::new(&options, knowledge));
        let mut out = io::stdout().lock();
        loop {
            // What was typed on comes before what is judged.
            let next = if session.has_pending_documents() {
                match receive.try_recv() {
                    Err(TryRecvError::Empty) => None,
                    next => Some(next.unwrap_or(SessionEvent::Frame(IncomingFrame::End))),
                }
            } else {
                Some(receive.recv().unwrap_or(SessionEvent::Frame(IncomingFrame::End)))
            };
            let messages = match next {
                None => session.analyze_next(),
                Some(SessionEvent::Found(found)) => session.finish_fix_search(*found),
                Some(SessionEvent::Frame(IncomingFrame::Body(body))) => session.handle_message(&body),
                Some(SessionEvent::Frame(IncomingFrame::Long(_))) => session.mark_texts_unknown(),
                Some(SessionEvent::Frame(IncomingFrame::Broken(why))) => {
                    return Err(CommandError::Message(format!(
                        "error: the client does not use the language server protocol: {why}"
                    )));
                }
                Some(SessionEvent::Frame(IncomingFrame::End)) => return Ok(exit_code(session.end_of_input())),
            };
            for message in messages {
                language_server::write_frame(&mut out, message.to_string().as_bytes())?;
            }
            if let Some(end) = session.end() {
                return Ok(exit_code(end));
            }
            if let Some(search) = session.next_fix_search() {
                let back = send.clone();
                // Sending fails only if the session has ended.
                let work = move || drop(back.send(SessionEvent::Found(Box::new(search.run()))));
                thread::Builder::new()
                    .name("search".to_owned())
                    .stack_size(SEARCH_STACK_BYTES)
                    .spawn_scoped(scope, work)?;
            }
        }
    })
}

/// Reads messages from standard input and sends them to the session until there are no more.
fn forward_messages(send: &SyncSender<SessionEvent>) {
    let mut from = io::stdin().lock();
    loop {
        let frame = language_server::read_frame(&mut from, MAX_MESSAGE_BYTES).unwrap_or(IncomingFrame::End);
        let last = matches!(frame, IncomingFrame::End | IncomingFrame::Broken(_));
        if send.send(SessionEvent::Frame(frame)).is_err() || last {
            return;
        }
    }
}

/// Returns the exit code that the protocol prescribes: 0 after a shutdown request, else 1.
fn exit_code(end: SessionEnd) -> Exit {
    match end {
        SessionEnd::Orderly => Exit::Clean,
        SessionEnd::Early => Exit::Found,
    }
}
