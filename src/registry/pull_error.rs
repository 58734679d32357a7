//! Errors of pulls, with messages that suggest a fix.

use std::error::Error;
use std::fmt;

use crate::registry::platform::Platform;

/// A failed pull: what was requested from which host, and why it failed.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct PullError {
    /// Host, reference and request.
    pub place: Box<PullLocation>,
    /// Why the request failed.
    pub problem: Box<PullProblem>,
}

impl PullError {
    /// Creates an error for a request and its problem.
    pub(crate) fn new(host: &str, reference: &str, request: &str, problem: PullProblem) -> Self {
        let place = PullLocation { host: host.into(), reference: reference.into(), request: request.into() };
        Self { place: Box::new(place), problem: Box::new(problem) }
    }
}

impl PullError {
    /// Adds the errors of the mirrors that failed before the registry.
    pub(crate) fn with_mirror_errors(self, mirrors: &[Self]) -> Self {
        if mirrors.is_empty() {
            return self;
        }
        let tried = mirrors.iter().map(|error| format!("{}: {}", error.place.host, error.problem)).collect();
        Self { place: self.place, problem: Box::new(PullProblem::Mirrors { last: self.problem, tried }) }
    }
}

/// The host, reference and request of a failed pull.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullLocation {
    /// The registry's host and port, or the folder of a layout; empty where none was reached.
    pub host: String,
    /// The image reference as a user writes it.
    pub reference: String,
    /// What was requested, such as `manifest latest`; empty if nothing was requested yet.
    pub request: String,
}

impl fmt::Display for PullLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reference)?;
        if !self.request.is_empty() {
            write!(f, ": requested {1} from {0}", self.host, self.request)?;
        }
        Ok(())
    }
}

/// The reason why a pull failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PullProblem {
    /// The text is not a valid image reference.
    #[error("not an image reference: {error}")]
    Reference {
        /// Which part is wrong.
        error: String,
    },
    /// A source prefix that is not supported.
    #[error(
        "the source `{scheme}:` is not supported; use a registry reference, oci:DIR[:NAME], dir:DIR, \
         oci-archive:FILE[:NAME], docker-archive:FILE[:NAME], docker-daemon:NAME or podman:NAME"
    )]
    Scheme {
        /// The word before the colon.
        scheme: String,
    },
    /// The HTTP client could not be set up.
    #[error("cannot set up HTTPS: {error}")]
    Setup {
        /// The error and its sources.
        error: String,
    },
    /// No connection, or one that failed before any response.
    #[error("no response: {error}; {}", fault.advice())]
    Transport {
        /// The error and its sources.
        error: String,
        /// What is wrong, as far as it is known.
        fault: ConnectionFault,
    },
    /// A connection that ended or stalled before the response was complete; a retry may help.
    #[error(
        "incomplete response{}: {error}; try again later, and check proxies between this machine and the registry",
        attempts_text(*.tries)
    )]
    Cut {
        /// The error and its sources.
        error: String,
        /// How many requests were made.
        tries: u32,
    },
    /// A response that is slower than the limits allow.
    #[error("{error}; try again later, and check the network and the proxy settings")]
    Slow {
        /// How slow it was.
        error: String,
    },
    /// An HTTP status other than success.
    #[error("status {status}{}{}{}", quoted(.message), attempts_text(*.tries), advice(*.status))]
    Status {
        /// The HTTP status.
        status: u16,
        /// The words of the answer, shortened.
        message: String,
        /// How many requests were made.
        tries: u32,
    },
    /// An HTTP status other than success, from a host that the registry redirects to.
    #[error(
        "{by}, to which the registry redirects, returned status {status}{}{}{}",
        quoted(.message), attempts_text(*.tries), advice(*.status)
    )]
    Elsewhere {
        /// The host, with its port where it is not the usual one.
        by: String,
        /// The HTTP status.
        status: u16,
        /// The words of the answer, shortened.
        message: String,
        /// How many requests were made.
        tries: u32,
    },
    /// The registry or its token service denies access.
    #[error(
        "{by} denied access with status {status}{}; {credentials}; registries often answer this for repositories that \
         do not exist", quoted(.message)
    )]
    Unauthorized {
        /// The refusing host: the registry or its token service.
        by: String,
        /// The HTTP status.
        status: u16,
        /// The words of the answer, shortened.
        message: String,
        /// Whether credentials were found, and where.
        credentials: String,
    },
    /// An authentication method that is not supported, or not secure.
    #[error("cannot log in: {error}")]
    Challenge {
        /// What was wrong with the challenge or the token.
        error: String,
    },
    /// No document under this tag or digest.
    #[error("not found{}{}", quoted(.message), suggestion(.nearest))]
    NotFound {
        /// The words of the answer, shortened.
        message: String,
        /// The tags of the repository that are most similar to the requested one.
        nearest: Vec<String>,
    },
    /// The image has none of the requested platforms.
    #[error("no image{}; available: {}", platforms_text(.requested), list(.available))]
    MissingPlatform {
        /// What was wanted.
        requested: Vec<Platform>,
        /// What there is.
        available: Vec<Platform>,
    },
    /// The bytes do not match their digest.
    #[error("wrong digest: expected {expected}, got {actual}; the bytes were changed in transit or in the store")]
    WrongDigest {
        /// The requested or announced digest.
        expected: String,
        /// The digest of what came.
        actual: String,
    },
    /// The number of bytes differs from the size in the descriptor.
    #[error("wrong size: the descriptor specifies {expected} bytes, got {actual}")]
    WrongSize {
        /// The size in the descriptor.
        expected: u64,
        /// The size of what came.
        actual: u64,
    },
    /// A digest that cannot be verified.
    #[error("cannot check the digest `{digest}`: {reason}")]
    UnsupportedDigest {
        /// The digest as written.
        digest: String,
        /// Why not.
        reason: &'static str,
    },
    /// A document that is larger than its limit.
    #[error("larger than the limit of {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// A list that is longer than its limit.
    #[error("the list exceeds the limit of {limit} {what}")]
    TooMany {
        /// What was counted.
        what: &'static str,
        /// How many are read.
        limit: usize,
    },
    /// An HTML page instead of the document.
    #[error(
        "got an HTML page with status {status}{}, which comes from a proxy, a login page or a web server instead of a \
         registry; check the address", quoted(.title)
    )]
    Html {
        /// The HTTP status.
        status: u16,
        /// The title of the page, shortened.
        title: String,
    },
    /// A document that is not in the expected format.
    #[error("the response is not a valid {what}: {error}")]
    Malformed {
        /// What it should have been.
        what: &'static str,
        /// Why it is not.
        error: String,
    },
    /// A manifest in the obsolete Docker schema 1 format.
    #[error("a Docker schema 1 manifest, which contains no config; push the image again with a current tool")]
    Schema1,
    /// A manifest of an artifact that is not a container image.
    #[error("not a container image but an artifact of type `{media_type}`")]
    NotAnImage {
        /// The media type found.
        media_type: String,
    },
    /// Indexes that are nested too deeply or have too many entries.
    #[error("indexes nested deeper than {limit} levels, or with too many entries")]
    IndexTooDeep {
        /// The depth that is read.
        limit: u32,
    },
    /// A redirect that is not followed for security reasons.
    #[error("cannot use the address {to}: {reason}")]
    Refused {
        /// The address without its query.
        to: String,
        /// Why not.
        reason: &'static str,
    },
    /// A layer download that was interrupted too often.
    #[error("the connection broke {breaks} times, the last time after {at} of {size} bytes: {error}")]
    Broken {
        /// How many bytes came.
        at: u64,
        /// How many there are.
        size: u64,
        /// How often it broke.
        breaks: u32,
        /// What happened the last time.
        error: Box<PullProblem>,
    },
    /// A range of a layer other than the requested one.
    #[error("requested the bytes from {offset} of {size}, but got `{answered}`")]
    Range {
        /// The first requested byte.
        offset: u64,
        /// The size in the descriptor.
        size: u64,
        /// What the answer says of itself.
        answered: String,
    },
    /// A foreign layer, which registries and layouts need not store.
    #[error("not inspected: a foreign layer, whose bytes are not stored with the image{}", elsewhere(.urls))]
    Foreign {
        /// Where the manifest says that it is.
        urls: Vec<String>,
    },
    /// A registry that `registries.conf` blocks.
    #[error("blocked by registries.conf")]
    Blocked,
    /// The registry and all of its mirrors failed.
    #[error("{last}; its mirrors failed first: {}", .tried.join("; "))]
    Mirrors {
        /// What the registry itself said.
        last: Box<PullProblem>,
        /// What each mirror said.
        tried: Vec<String>,
    },
    /// The container engine on this machine does not respond.
    #[error(
        "no response from the engine at {socket}: {error}; check that its service runs and that you have access to \
         its socket"
    )]
    Engine {
        /// The socket, or what stands where it should be named.
        socket: String,
        /// The error.
        error: String,
    },
    /// The name of a directory without an image.
    #[error(
        "`{name}` is a directory without an image: it contains neither index.json nor skopeo's manifest.json and \
         version; for an image of that name, use {}", .name.trim_end_matches('/')
    )]
    Folder {
        /// The name.
        name: String,
    },
    /// A file or directory without an image.
    #[error("found no image: {error}")]
    NoImage {
        /// What was looked for.
        error: &'static str,
    },
    /// A file that cannot be read.
    #[error("cannot read {path}: {error}")]
    File {
        /// The file.
        path: String,
        /// The error.
        error: String,
    },
    /// A layout or archive with several images, or without the requested one.
    #[error("{}; add a name after a colon, as in oci:DIR:NAME{}", ambiguous(.requested_name.as_deref(), .names), choice(.names))]
    Layout {
        /// The requested name.
        requested_name: Option<String>,
        /// The names that it has: `org.opencontainers.image.ref.name`, or the tags of `manifest.json`.
        names: Vec<String>,
    },
}

/// Formats a message in parentheses; empty for an empty message.
fn quoted(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({text})") }
}

/// Formats the number of attempts; empty for a single attempt.
fn attempts_text(tries: u32) -> String {
    if tries > 1 { format!(" after {tries} attempts") } else { String::new() }
}

/// Returns a suggestion for an HTTP status.
fn advice(status: u16) -> &'static str {
    match status {
        429 => "; the registry limits requests: log in, or try again later",
        500..=599 => "; the registry has an internal error: try again later",
        _ => "",
    }
}

/// Formats the nearest tags as a suggestion.
fn suggestion(tags: &[String]) -> String {
    match tags {
        [] => "; check the repository and the tag".into(),
        [one] => format!("; the nearest tag is {one}"),
        many => format!("; the nearest tags are {}", many.join(", ")),
    }
}

/// Formats the URLs of a foreign layer.
fn elsewhere(urls: &[String]) -> String {
    if urls.is_empty() {
        String::new()
    } else {
        format!("; addresses in the manifest are not contacted: {}", urls.join(", "))
    }
}

/// Describes why a name does not select exactly one image.
fn ambiguous(requested_name: Option<&str>, names: &[String]) -> String {
    match (requested_name, names.len()) {
        (Some(name), _) => format!("it has no single image named `{name}`"),
        (None, 0 | 1) => "it does not contain exactly one image".into(),
        (None, _) => "it contains several images".into(),
    }
}

/// Formats the names to choose from.
fn choice(names: &[String]) -> String {
    if names.is_empty() { " (its images have no names)".into() } else { format!(", one of: {}", names.join(", ")) }
}

/// Formats the requested platforms; empty if none were requested.
fn platforms_text(platforms: &[Platform]) -> String {
    if platforms.is_empty() { String::new() } else { format!(" for {}", list(platforms)) }
}

/// Formats platforms as a comma-separated list.
fn list(platforms: &[Platform]) -> String {
    if platforms.is_empty() {
        return "no platform".into();
    }
    platforms.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Formats an error and its causes on one line, without a cause that the line already contains.
pub(crate) fn error_chain(error: &dyn Error) -> String {
    let mut line = one_line(&error.to_string(), 400);
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = one_line(&error.to_string(), 400);
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = error.source();
    }
    line
}

/// What is wrong with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionFault {
    /// The issuer of the certificate is unknown.
    UnknownIssuer,
    /// The certificate is not valid for this host or date.
    CertificateNotValid,
    /// The certificate is not trusted for another reason.
    CertificateNotTrusted,
    /// The server does not speak TLS.
    NotTls,
    /// The server closed the connection at the start of TLS.
    HandshakeClosed,
    /// Any other.
    Other,
}

impl ConnectionFault {
    /// Whether the server has a certificate that is not accepted.
    pub(crate) const fn is_certificate_error(self) -> bool {
        matches!(self, Self::UnknownIssuer | Self::CertificateNotValid | Self::CertificateNotTrusted)
    }

    /// Returns what the user can do.
    const fn advice(self) -> &'static str {
        match self {
            Self::UnknownIssuer => "pass the certificate of the registry's issuer with --cacert or SSL_CERT_FILE",
            Self::CertificateNotValid => "the registry's certificate is not valid for this host or this date",
            Self::CertificateNotTrusted => {
                "the registry's certificate is not trusted; pass that certificate with --cacert"
            }
            Self::NotTls => {
                "the registry does not use TLS: if it is a plain HTTP registry, set --plain-http HOST, or `insecure = \
                 true` in registries.conf"
            }
            Self::HandshakeClosed => {
                "it closes the connection at the start of TLS: for a plain HTTP registry, set --plain-http HOST, or \
                 `insecure = true` in registries.conf; otherwise check the proxy settings"
            }
            Self::Other => "check the host name, the network and the proxy settings",
        }
    }
}

/// Formats external text on one line, without control characters, in at most `most` characters.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    let words = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= most {
        return words;
    }
    words.chars().take(most).chain(['…']).collect()
}
