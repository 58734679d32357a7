//! The container engine on this machine: Docker or Podman, accessed through its socket.

use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use crate::registry::pull_error::{PullProblem, one_line};
use crate::registry::pull_options::{PullEnvironment, PullLimits};

/// Maximum size in bytes of the status line and the headers of a response.
const MAX_RESPONSE_HEAD: usize = 64 << 10;
/// Maximum number of bytes that are read of an error response.
const MAX_ERROR_BODY: u64 = 16 << 10;

/// The kind of a container engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// Docker's daemon.
    Docker,
    /// Podman's service.
    Podman,
}

impl EngineKind {
    /// Returns the prefix of image names: `docker-daemon` or `podman`.
    pub(crate) fn scheme(self) -> &'static str {
        match self {
            Self::Docker => "docker-daemon",
            Self::Podman => "podman",
        }
    }
}

/// An image in a container engine.
#[derive(Clone, Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has the sockets that these limits are for"))]
pub(crate) struct EngineImage {
    socket: PathBuf,
    image: String,
    /// Maximum wait for the first byte: some engines write the whole archive before they send any of it.
    first_byte: Duration,
    /// Maximum wait for each later byte.
    stall: Duration,
}

impl EngineImage {
    /// Locates the engine's socket by the environment and checks the image name.
    pub(crate) fn new(
        kind: EngineKind,
        image: &str,
        environment: &PullEnvironment,
        limits: &PullLimits,
    ) -> Result<Self, PullProblem> {
        let plain = |sign: char| sign.is_ascii_alphanumeric() || "._-/:@".contains(sign);
        if image.is_empty() || image.len() > 1024 || !image.chars().all(plain) {
            return Err(PullProblem::Reference { error: "an engine image is a name, a tag or an ID".into() });
        }
        let socket = socket_path(kind, environment)?;
        Ok(Self { socket, image: image.into(), first_byte: limits.whole, stall: limits.stall })
    }

    /// Returns the path of the socket.
    pub(crate) fn display_socket(&self) -> String {
        self.socket.display().to_string()
    }

    /// Opens the image as an archive in the format of `docker save`.
    pub(crate) fn open_archive(&self) -> Result<Box<dyn Read + Send>, PullProblem> {
        self.request("get")
    }

    /// Sends a request about the image (`get`, `json` or `history`) and returns the response body.
    pub(crate) fn request(&self, what: &str) -> Result<Box<dyn Read + Send>, PullProblem> {
        // HTTP 1.0: the body is sent as it is, and ends with the connection.
        let request = format!("GET /images/{}/{what} HTTP/1.0\r\nHost: engine\r\n\r\n", self.image);
        let mut stream = connect(self, request.as_bytes())?;
        let (status, rest) = read_response_head(&mut stream).map_err(|error| self.engine_problem(error))?;
        let body = std::io::Cursor::new(rest).chain(stream);
        if status == 200 {
            return Ok(Box::new(body));
        }
        let mut error_body = Vec::new();
        // What cannot be read of the reason is left out of it.
        let _ = body.take(MAX_ERROR_BODY).read_to_end(&mut error_body);
        let message = error_text(&error_body);
        if status == 404 {
            return Err(PullProblem::NotFound { message, nearest: Vec::new() });
        }
        Err(PullProblem::Status { status, message, tries: 1 })
    }

    /// Returns the problem of a failed request to the engine.
    fn engine_problem(&self, error: String) -> PullProblem {
        PullProblem::Engine { socket: self.display_socket(), error }
    }
}

/// Returns the path of the engine's socket from the environment or the default location.
fn socket_path(kind: EngineKind, environment: &PullEnvironment) -> Result<PathBuf, PullProblem> {
    let (name, host) = match kind {
        EngineKind::Docker => ("DOCKER_HOST", &environment.docker_host),
        EngineKind::Podman => ("CONTAINER_HOST", &environment.container_host),
    };
    if let Some(host) = host {
        let path = host.strip_prefix("unix://").filter(|path| path.starts_with('/'));
        let error = format!("{name} must be a socket on this machine (unix:///PATH)");
        return path.map(Into::into).ok_or_else(|| PullProblem::Engine { socket: one_line(host, 200), error });
    }
    let own = environment.xdg_runtime_dir.as_ref().map(|folder| folder.join("podman").join("podman.sock"));
    Ok(match kind {
        EngineKind::Docker => "/var/run/docker.sock".into(),
        EngineKind::Podman => own.filter(|path| path.exists()).unwrap_or_else(|| "/run/podman/podman.sock".into()),
    })
}

/// Reads the head of a response; returns the status and the bytes of the body that were read with it.
fn read_response_head(stream: &mut impl Read) -> Result<(u16, Vec<u8>), String> {
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
        if bytes.len() > MAX_RESPONSE_HEAD {
            return Err("the answer is not HTTP".into());
        }
        match stream.read(&mut piece).map_err(|error| error.to_string())? {
            0 => return Err("it closed the connection without an answer".into()),
            count => bytes.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
    }
}

/// The body of an error response.
#[derive(serde::Deserialize)]
struct EngineErrorBody {
    message: String,
}

/// Returns the message of an error response on one line.
fn error_text(bytes: &[u8]) -> String {
    let message = serde_json::from_slice::<EngineErrorBody>(bytes).map(|body| body.message);
    one_line(&message.unwrap_or_else(|_| String::from_utf8_lossy(bytes).into_owned()), 200)
}

/// Sends a request through the socket and returns the response.
#[cfg(unix)]
fn connect(engine: &EngineImage, request: &[u8]) -> Result<Box<dyn Read + Send>, PullProblem> {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    /// A response reader whose time-out is longer for the first byte than for later ones.
    struct EngineResponseReader {
        stream: UnixStream,
        stall: Option<Duration>,
    }

    impl Read for EngineResponseReader {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let count = self.stream.read(out)?;
            if let Some(stall) = self.stall.take() {
                self.stream.set_read_timeout(Some(stall))?;
            }
            Ok(count)
        }
    }

    let fail = |error: std::io::Error| engine.engine_problem(error.to_string());
    let mut stream = UnixStream::connect(&engine.socket).map_err(fail)?;
    stream.set_read_timeout(Some(engine.first_byte)).map_err(fail)?;
    stream.set_write_timeout(Some(engine.stall)).map_err(fail)?;
    stream.write_all(request).map_err(fail)?;
    Ok(Box::new(EngineResponseReader { stream, stall: Some(engine.stall) }))
}

#[cfg(not(unix))]
fn connect(engine: &EngineImage, _: &[u8]) -> Result<Box<dyn Read + Send>, PullProblem> {
    Err(engine.engine_problem("engine sockets are supported only on Unix".into()))
}
