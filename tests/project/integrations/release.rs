//! A release as users download it: its files in a folder, served on this machine until it is dropped.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use tempfile::TempDir;

/// Archives that a release has.
pub(crate) const TARGETS: [&str; 5] = [
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
];

/// The program of a release: it prints a version, and other arguments.
const PROGRAM: &str =
    "#!/bin/sh\ncase $1 in --version) echo 'imagelint 0.1.0 (stand-in)' ;; *) echo \"ran: $*\"; exit 1 ;; esac\n";

/// A served release.
pub(crate) struct Release {
    folder: TempDir,
    address: String,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Release {
    /// A release with a stand-in for each target, checksums and a signature, built from a source with this digest.
    pub(crate) fn new(source_digest: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let ended = Arc::new(AtomicBool::new(false));
        let (path, flag) = (folder.path().to_owned(), Arc::clone(&ended));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if flag.load(Ordering::SeqCst) {
                    break;
                }
                // A client that leaves early is not this server's concern.
                let _ = stream.and_then(|stream| answer(stream, &path));
            }
        });
        let release = Self { folder, address, ended, thread: Some(thread) };
        for target in TARGETS {
            release.pack(target, PROGRAM);
        }
        fs::write(release.path("source-digest.txt"), format!("{source_digest}\n")).expect("a digest");
        fs::write(release.path("SHA256SUMS.sigstore.json"), "{}").expect("a signature");
        release.sum();
        release
    }

    /// Packs a program for a target.
    pub(crate) fn pack(&self, target: &str, program: &str) {
        let work = tempfile::tempdir().expect("a folder");
        let name = format!("imagelint-{target}");
        fs::create_dir(work.path().join(&name)).expect("a folder");
        fs::write(work.path().join(&name).join("imagelint"), program).expect("a program");
        let archive = self.path(&format!("{name}.{}", if target.contains("windows") { "zip" } else { "tar.gz" }));
        let done =
            Command::new("tar").arg("-C").arg(work.path()).arg("-czf").args([&archive, Path::new(&name)]).output();
        assert!(done.expect("tar").status.success(), "{name}");
    }

    /// Writes the checksums of all files but the signature.
    pub(crate) fn sum(&self) {
        let script = "rm -f SHA256SUMS; sha256sum -- *.tar.gz *.zip *.txt >SHA256SUMS";
        let done = Command::new("sh").args(["-c", script]).current_dir(self.folder.path()).output().expect("sh");
        assert!(done.status.success(), "{done:?}");
    }

    /// A file of the release.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where it is served.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        let woken = TcpStream::connect(self.address.trim_start_matches("http://"));
        if let (Ok(_), Some(thread)) = (woken, self.thread.take()) {
            thread.join().expect("the server ends");
        }
    }
}

/// Answers one request with a file of the folder.
fn answer(mut stream: TcpStream, folder: &Path) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            read => request.extend_from_slice(&buffer[..read]),
        }
    }
    let request = String::from_utf8_lossy(&request);
    let name = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let (status, body) = match fs::read(folder.join(name)) {
        Ok(body) if !name.contains("..") => ("200 OK", body),
        _ => ("404 Not Found", b"no such file".to_vec()),
    };
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len())?;
    stream.write_all(&body)
}
