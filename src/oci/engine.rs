//! The engine on this machine: Docker or Podman behind its socket, asked for an image as an archive, or about one.

use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use crate::oci::error::Problem;
use crate::oci::error::one_line;
use crate::oci::options::Environment;
use crate::oci::options::Limits;

/// The most bytes before the body of an answer.
const MOST_HEAD: usize = 64 << 10;
/// How much of an answer that is no success is read.
const MOST_SAID: u64 = 16 << 10;

/// Which engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Docker's daemon.
    Docker,
    /// Podman's service.
    Podman,
}

impl Kind {
    /// The word before the colon.
    pub(crate) fn scheme(self) -> &'static str {
        match self {
            Self::Docker => "docker-daemon",
            Self::Podman => "podman",
        }
    }
}

/// An image in an engine.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    socket: PathBuf,
    image: String,
    /// Time for the first byte: some engines write the whole archive before they send any of it.
    first: Duration,
    stall: Duration,
}

impl Engine {
    /// The engine that the environment leads to.
    pub(crate) fn new(kind: Kind, image: &str, environment: &Environment, limits: &Limits) -> Result<Self, Problem> {
        let plain = |sign: char| sign.is_ascii_alphanumeric() || "._-/:@".contains(sign);
        if image.is_empty() || image.len() > 1024 || !image.chars().all(plain) {
            return Err(Problem::Reference { reason: "an engine image is a name, a tag or an ID".into() });
        }
        let socket = socket(kind, environment)?;
        Ok(Self { socket, image: image.into(), first: limits.whole, stall: limits.stall })
    }

    /// The socket.
    pub(crate) fn shown(&self) -> String {
        self.socket.display().to_string()
    }

    /// The image as an archive of `docker save`, from its beginning.
    pub(crate) fn stream(&self) -> Result<Box<dyn Read + Send>, Problem> {
        self.ask("get")
    }

    /// What the engine says of the image when asked for this.
    pub(crate) fn ask(&self, what: &str) -> Result<Box<dyn Read + Send>, Problem> {
        // HTTP 1.0: the body is sent as it is, and ends with the connection.
        let request = format!("GET /images/{}/{what} HTTP/1.0\r\nHost: engine\r\n\r\n", self.image);
        let mut stream = connect(self, request.as_bytes())?;
        let (status, rest) = head(&mut stream).map_err(|cause| self.fail(cause))?;
        let body = std::io::Cursor::new(rest).chain(stream);
        if status == 200 {
            return Ok(Box::new(body));
        }
        let mut said = Vec::new();
        // What cannot be read of the reason is left out of it.
        let _ = body.take(MOST_SAID).read_to_end(&mut said);
        let said = said_by(&said);
        if status == 404 {
            return Err(Problem::NotFound { said, nearest: Vec::new() });
        }
        Err(Problem::Status { status, said, tries: 1 })
    }

    fn fail(&self, cause: String) -> Problem {
        Problem::Engine { socket: self.shown(), cause }
    }
}

fn socket(kind: Kind, environment: &Environment) -> Result<PathBuf, Problem> {
    let (name, host) = match kind {
        Kind::Docker => ("DOCKER_HOST", &environment.docker_host),
        Kind::Podman => ("CONTAINER_HOST", &environment.container_host),
    };
    if let Some(host) = host {
        let path = host.strip_prefix("unix://").filter(|path| path.starts_with('/'));
        let cause = format!("{name} must be a socket on this machine (unix:///PATH)");
        return path.map(Into::into).ok_or_else(|| Problem::Engine { socket: one_line(host, 200), cause });
    }
    let own = environment.xdg_runtime_dir.as_ref().map(|folder| folder.join("podman").join("podman.sock"));
    Ok(match kind {
        Kind::Docker => "/var/run/docker.sock".into(),
        Kind::Podman => own.filter(|path| path.exists()).unwrap_or_else(|| "/run/podman/podman.sock".into()),
    })
}

/// Reads up to the empty line: the status, and what came after the line already.
fn head(stream: &mut impl Read) -> Result<(u16, Vec<u8>), String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let rest = bytes.get(end + 4..).unwrap_or_default().to_vec();
            let line = String::from_utf8_lossy(bytes.split(|byte| *byte == b'\r').next().unwrap_or_default());
            let status = line.strip_prefix("HTTP/1.").and_then(|line| line.split(' ').nth(1)?.parse().ok());
            return status.map(|status| (status, rest)).ok_or_else(|| "the answer is not HTTP".into());
        }
        if bytes.len() > MOST_HEAD {
            return Err("the answer is not HTTP".into());
        }
        match stream.read(&mut piece).map_err(|error| error.to_string())? {
            0 => return Err("it closed the connection without an answer".into()),
            count => bytes.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
    }
}

#[derive(serde::Deserialize)]
struct Said {
    message: String,
}

fn said_by(bytes: &[u8]) -> String {
    let said = serde_json::from_slice::<Said>(bytes).map(|said| said.message);
    one_line(&said.unwrap_or_else(|_| String::from_utf8_lossy(bytes).into_owned()), 200)
}

#[cfg(unix)]
fn connect(engine: &Engine, request: &[u8]) -> Result<Box<dyn Read + Send>, Problem> {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    /// More patient before the first byte than after it.
    struct Answering {
        stream: UnixStream,
        stall: Option<Duration>,
    }

    impl Read for Answering {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let count = self.stream.read(out)?;
            if let Some(stall) = self.stall.take() {
                self.stream.set_read_timeout(Some(stall))?;
            }
            Ok(count)
        }
    }

    let fail = |error: std::io::Error| engine.fail(error.to_string());
    let mut stream = UnixStream::connect(&engine.socket).map_err(fail)?;
    stream.set_read_timeout(Some(engine.first)).map_err(fail)?;
    stream.set_write_timeout(Some(engine.stall)).map_err(fail)?;
    stream.write_all(request).map_err(fail)?;
    Ok(Box::new(Answering { stream, stall: Some(engine.stall) }))
}

#[cfg(not(unix))]
fn connect(engine: &Engine, _: &[u8]) -> Result<Box<dyn Read + Send>, Problem> {
    Err(engine.fail("engine sockets are supported only on Unix".into()))
}
