//! `imagelint lsp`: the language server on standard input and output.

mod disk;
mod judged;

use std::io;
use std::sync::mpsc;
use std::sync::mpsc::SyncSender;
use std::sync::mpsc::TryRecvError;
use std::thread;

use crate::cli::Failure;
use crate::cli::args::BuildArgs;
use crate::cli::args::BuildSet;
use crate::cli::args::JudgingArgs;
use crate::cli::args::LspArgs;
use crate::cli::exit::Exit;
use crate::cli::lsp::disk::Disk;
use crate::knowledge::Knowledge;
use crate::lsp;
use crate::lsp::End;
use crate::lsp::Found;
use crate::lsp::Frame;
use crate::lsp::Session;

/// No message is longer: a text of the greatest length, each byte of it escaped.
const LONGEST: u64 = 32 << 20;
/// So many messages wait to be read.
const AHEAD: usize = 4;

/// A search has room for the readers of nested texts.
const STACK: usize = 8 << 20;

/// What the command line says of every document.
#[derive(Debug)]
struct Options<'a> {
    build: BuildArgs,
    set: &'a BuildSet,
    judging: JudgingArgs,
}

/// What a session waits for.
enum Event {
    Frame(Frame),
    Found(Box<Found>),
}

/// Runs it until the editor ends it.
pub(crate) fn run(options: &LspArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let options = Options { build: options.build(), set: &options.set, judging: options.judging() };
    let (send, receive) = mpsc::sync_channel(AHEAD);
    let frames = send.clone();
    thread::Builder::new().name("editor".to_owned()).spawn(move || listen(&frames))?;
    thread::scope(|scope| {
        // It goes with the session, so that no search waits for a listener.
        let receive = receive;
        let mut session = Session::new(Disk::new(&options, knowledge));
        let mut out = io::stdout().lock();
        loop {
            // What was typed on comes before what is judged.
            let next = if session.waits() {
                match receive.try_recv() {
                    Err(TryRecvError::Empty) => None,
                    next => Some(next.unwrap_or(Event::Frame(Frame::End))),
                }
            } else {
                Some(receive.recv().unwrap_or(Event::Frame(Frame::End)))
            };
            let told = match next {
                None => session.settle(),
                Some(Event::Found(found)) => session.found(*found),
                Some(Event::Frame(Frame::Body(body))) => session.take(&body),
                Some(Event::Frame(Frame::Long(_))) => session.lose(),
                Some(Event::Frame(Frame::Broken(why))) => {
                    return Err(Failure::Said(format!(
                        "error: the client does not use the language server protocol: {why}"
                    )));
                }
                Some(Event::Frame(Frame::End)) => return Ok(exit(session.hang_up())),
            };
            for message in told {
                lsp::write(&mut out, message.to_string().as_bytes())?;
            }
            if let Some(end) = session.end() {
                return Ok(exit(end));
            }
            if let Some(search) = session.search() {
                let back = send.clone();
                // Nobody is there any more to hear of it where this fails.
                let work = move || drop(back.send(Event::Found(Box::new(search.run()))));
                thread::Builder::new().name("search".to_owned()).stack_size(STACK).spawn_scoped(scope, work)?;
            }
        }
    })
}

/// Reads messages until there are no more.
fn listen(send: &SyncSender<Event>) {
    let mut from = io::stdin().lock();
    loop {
        let frame = lsp::read(&mut from, LONGEST).unwrap_or(Frame::End);
        let last = matches!(frame, Frame::End | Frame::Broken(_));
        if send.send(Event::Frame(frame)).is_err() || last {
            return;
        }
    }
}

/// The protocol wants 0 after a shutdown, and 1 without.
fn exit(end: End) -> Exit {
    match end {
        End::Orderly => Exit::Clean,
        End::Early => Exit::Found,
    }
}
