//! An HTTP server whose replies a test defines, for faults that a real registry does not produce on demand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;

/// One request: its first line and two of its headers.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) authorization: Option<String>,
    pub(crate) range: Option<String>,
}

/// What the server does with a request.
pub(crate) enum Reply {
    /// A whole answer: status line, further header lines, body.
    Whole(&'static str, Vec<String>, Vec<u8>),
    /// A body without an end.
    Endless,
    /// The connection is cut.
    Cut,
    /// A body of an announced length, cut off after these bytes.
    Part(&'static str, Vec<String>, usize, Vec<u8>),
    /// The same, but the connection stays open without a word.
    Stalled(usize, Vec<u8>),
    /// A body of an announced length, one byte every few milliseconds.
    Drip(usize),
}

type Script = dyn Fn(usize, &Request) -> Reply + Send + Sync;

/// A server on a free port of this machine, ended with the test.
pub(crate) struct ScriptedServer {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedServer {
    /// Starts a server; the script gets the number of the request, from 0, and the request.
    pub(crate) fn start(script: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_on(0, script)
    }

    /// The same on a given port; 0 is any free one.
    pub(crate) fn start_on(port: u16, script: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("free port");
        let port = listener.local_addr().expect("address").port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (log, ended) = (seen.clone(), stop.clone());
        let script: Box<Script> = Box::new(script);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                if let Ok(stream) = stream {
                    serve(stream, &script, &log);
                }
            }
        });
        Self { port, seen, stop, thread: Some(thread) }
    }

    /// `127.0.0.1:PORT`.
    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().expect("requests").clone()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(mut stream: TcpStream, script: &Script, log: &Mutex<Vec<Request>>) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let _ = stream.set_write_timeout(Some(Duration::from_secs(5)));
    let mut reader = BufReader::new(&stream);
    // No server of plain HTTP waits for more of what begins as TLS does.
    if reader.fill_buf().is_ok_and(|bytes| bytes.first() == Some(&0x16)) {
        return;
    }
    let mut lines = reader.lines().map_while(Result::ok);
    let Some(line) = lines.next() else { return };
    let mut authorization = None;
    let mut range = None;
    for header in lines.take_while(|line| !line.is_empty()) {
        let Some((name, value)) = header.split_once(": ") else { continue };
        if name.eq_ignore_ascii_case("authorization") {
            authorization = Some(value.to_owned());
        } else if name.eq_ignore_ascii_case("range") {
            range = Some(value.to_owned());
        }
    }
    let request = Request { line, authorization, range };
    let number = {
        let mut seen = log.lock().expect("requests");
        seen.push(request.clone());
        seen.len() - 1
    };
    match script(number, &request) {
        Reply::Whole(status, headers, body) => {
            let _ = stream.write_all(&head(status, headers, body.len()));
            let _ = stream.write_all(&body);
        }
        Reply::Endless => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
            while stream.write_all(&[b' '; 8192]).is_ok() {}
        }
        Reply::Cut => {}
        Reply::Part(status, headers, length, body) => {
            let _ = stream.write_all(&head(status, headers, length));
            let _ = stream.write_all(&body);
        }
        Reply::Stalled(length, body) => {
            let _ = stream.write_all(&head("200 OK", vec![], length));
            let _ = stream.write_all(&body);
            // Until the other side hangs up, or five seconds long.
            let _ = stream.read(&mut [0]);
        }
        Reply::Drip(length) => {
            let _ = stream.write_all(&head("200 OK", vec![], length));
            while stream.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

fn head(status: &str, headers: Vec<String>, length: usize) -> Vec<u8> {
    let mut lines = vec![format!("HTTP/1.1 {status}"), "Connection: close".into()];
    lines.extend(headers);
    lines.push(format!("Content-Length: {length}\r\n\r\n"));
    lines.join("\r\n").into_bytes()
}
