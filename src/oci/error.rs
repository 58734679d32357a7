//! What can go wrong between a reference and the config behind it, in words a person can act on.

use std::error::Error;
use std::fmt;

use crate::oci::platform::Platform;

/// A failed pull: where, what was asked, and what came back.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct PullError {
    /// Host, reference and request.
    pub place: Box<Place>,
    /// What came back instead of an answer.
    pub problem: Box<Problem>,
}

impl PullError {
    /// Joins a problem to the place it happened at.
    pub(crate) fn new(host: &str, reference: &str, asked: &str, problem: Problem) -> Self {
        let place = Place { host: host.into(), reference: reference.into(), asked: asked.into() };
        Self { place: Box::new(place), problem: Box::new(problem) }
    }
}

impl PullError {
    /// The same error, with those of the mirrors that were asked before.
    pub(crate) fn after(self, mirrors: &[Self]) -> Self {
        if mirrors.is_empty() {
            return self;
        }
        let tried = mirrors.iter().map(|error| format!("{}: {}", error.place.host, error.problem)).collect();
        Self { place: self.place, problem: Box::new(Problem::Mirrors { last: self.problem, tried }) }
    }
}

/// Where a pull failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The registry's host and port, or the folder of a layout; empty where none was reached.
    pub host: String,
    /// The reference as a person would write it.
    pub reference: String,
    /// What was asked for, such as `manifest latest`; empty where nothing was asked yet.
    pub asked: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reference)?;
        if !self.asked.is_empty() {
            write!(f, ": requested {1} from {0}", self.host, self.asked)?;
        }
        Ok(())
    }
}

/// What came back, or why nothing did.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text is no reference.
    #[error("not an image reference: {reason}")]
    Reference {
        /// Which part is wrong.
        reason: String,
    },
    /// A source of another tool that this client does not read.
    #[error(
        "the source `{scheme}:` is not supported; use a registry reference, oci:DIR[:NAME], dir:DIR, \
         oci-archive:FILE[:NAME], docker-archive:FILE[:NAME], docker-daemon:NAME or podman:NAME"
    )]
    Scheme {
        /// The word before the colon.
        scheme: String,
    },
    /// The HTTP client could not be set up.
    #[error("cannot set up HTTPS: {cause}")]
    Setup {
        /// The chain of causes.
        cause: String,
    },
    /// No connection, or none that could be spoken over.
    #[error("no response: {cause}; {}", reach(.cause))]
    Transport {
        /// The chain of causes.
        cause: String,
    },
    /// A connection that ended, or fell silent, before the answer was whole: another try may mend it.
    #[error(
        "incomplete response{}: {cause}; try again later, and check proxies between this machine and the registry",
        retried(*.tries)
    )]
    Cut {
        /// The chain of causes.
        cause: String,
        /// How many requests were made.
        tries: u32,
    },
    /// An answer that comes too slowly to be waited for.
    #[error("{cause}; try again later, and check the network and the proxy settings")]
    Slow {
        /// How slow it was.
        cause: String,
    },
    /// An HTTP status that is no success.
    #[error("status {status}{}{}{}", quoted(.said), retried(*.tries), advice(*.status))]
    Status {
        /// The HTTP status.
        status: u16,
        /// The words of the answer, shortened.
        said: String,
        /// How many requests were made.
        tries: u32,
    },
    /// An HTTP status that is no success, of a host that the registry redirects to.
    #[error(
        "{by}, to which the registry redirects, returned status {status}{}{}{}",
        quoted(.said), retried(*.tries), advice(*.status)
    )]
    Elsewhere {
        /// The host, with its port where it is not the usual one.
        by: String,
        /// The HTTP status.
        status: u16,
        /// The words of the answer, shortened.
        said: String,
        /// How many requests were made.
        tries: u32,
    },
    /// The registry or its token service refuses.
    #[error(
        "{by} denied access with status {status}{}; {credentials}; registries often answer this for repositories that \
         do not exist", quoted(.said)
    )]
    Unauthorized {
        /// Who refused: the registry or the host of its token service.
        by: String,
        /// The HTTP status.
        status: u16,
        /// The words of the answer, shortened.
        said: String,
        /// Whether credentials were found, and where.
        credentials: String,
    },
    /// The way of logging in is not one that is understood, or not a safe one.
    #[error("cannot log in: {reason}")]
    Challenge {
        /// What was wrong with the challenge or the token.
        reason: String,
    },
    /// Nothing under this tag or digest.
    #[error("not found{}{}", quoted(.said), suggestion(.nearest))]
    NotFound {
        /// The words of the answer, shortened.
        said: String,
        /// The tags of the repository that look most like the one asked for.
        nearest: Vec<String>,
    },
    /// None of the wanted platforms is there.
    #[error("no image{}; available: {}", for_any(.wanted), list(.available))]
    MissingPlatform {
        /// What was wanted.
        wanted: Vec<Platform>,
        /// What there is.
        available: Vec<Platform>,
    },
    /// The bytes are not those that the digest names.
    #[error("wrong digest: expected {expected}, got {actual}; the bytes were changed in transit or in the store")]
    WrongDigest {
        /// The digest that was asked for or announced.
        expected: String,
        /// The digest of what came.
        actual: String,
    },
    /// The bytes are not as many as the descriptor says.
    #[error("wrong size: the descriptor specifies {expected} bytes, got {actual}")]
    WrongSize {
        /// The size in the descriptor.
        expected: u64,
        /// The size of what came.
        actual: u64,
    },
    /// A digest that cannot be checked.
    #[error("cannot check the digest `{digest}`: {reason}")]
    UnsupportedDigest {
        /// The digest as written.
        digest: String,
        /// Why not.
        reason: &'static str,
    },
    /// More bytes than this kind of document may have.
    #[error("larger than the limit of {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// A list that goes on and on.
    #[error("the list exceeds the limit of {limit} {what}")]
    TooMany {
        /// What was counted.
        what: &'static str,
        /// How many are read.
        limit: usize,
    },
    /// A web page instead of the document.
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
    /// The document cannot be read as what it should be.
    #[error("the response is not a valid {what}: {cause}")]
    Malformed {
        /// What it should have been.
        what: &'static str,
        /// Why it is not.
        cause: String,
    },
    /// A manifest of the format given up in 2017.
    #[error("a Docker schema 1 manifest, which contains no config; push the image again with a current tool")]
    Schema1,
    /// A manifest of something that is no container image.
    #[error("not a container image but an artifact of type `{media_type}`")]
    NotAnImage {
        /// The media type found.
        media_type: String,
    },
    /// Indexes inside indexes inside an index.
    #[error("indexes nested deeper than {limit} levels, or with too many entries")]
    IndexTooDeep {
        /// The depth that is read.
        limit: u32,
    },
    /// A redirect that is not followed.
    #[error("cannot use the address {to}: {reason}")]
    Refused {
        /// The address without its query.
        to: String,
        /// Why not.
        reason: &'static str,
    },
    /// The stream of a layer broke too often.
    #[error("the connection broke {breaks} times, the last time after {at} of {size} bytes: {cause}")]
    Broken {
        /// How many bytes came.
        at: u64,
        /// How many there are.
        size: u64,
        /// How often it broke.
        breaks: u32,
        /// What happened the last time.
        cause: Box<Problem>,
    },
    /// Another part of a layer than the one asked for.
    #[error("requested the bytes from {asked} of {size}, but got `{answered}`")]
    Range {
        /// The first byte asked for.
        asked: u64,
        /// The size in the descriptor.
        size: u64,
        /// What the answer says of itself.
        answered: String,
    },
    /// A layer that registries and layouts may leave out.
    #[error("not inspected: a foreign layer, whose bytes are not stored with the image{}", elsewhere(.urls))]
    Foreign {
        /// Where the manifest says that it is.
        urls: Vec<String>,
    },
    /// A registry that the settings of this machine forbid.
    #[error("blocked by registries.conf")]
    Blocked,
    /// Neither the mirrors nor the registry.
    #[error("{last}; its mirrors failed first: {}", .tried.join("; "))]
    Mirrors {
        /// What the registry itself said.
        last: Box<Problem>,
        /// What each mirror said.
        tried: Vec<String>,
    },
    /// The engine on this machine does not answer.
    #[error(
        "no response from the engine at {socket}: {cause}; check that its service runs and that you have access to \
         its socket"
    )]
    Engine {
        /// The socket, or what stands where it should be named.
        socket: String,
        /// The cause.
        cause: String,
    },
    /// The name of a folder that holds no image.
    #[error(
        "`{name}` is a directory without an image: it contains neither index.json nor skopeo's manifest.json and \
         version; for an image of that name, use {}", .name.trim_end_matches('/')
    )]
    Folder {
        /// The name.
        name: String,
    },
    /// A file or folder that holds no image.
    #[error("found no image: {cause}")]
    NoImage {
        /// What was looked for.
        cause: &'static str,
    },
    /// A file of a layout cannot be read.
    #[error("cannot read {path}: {cause}")]
    File {
        /// The file.
        path: String,
        /// The cause.
        cause: String,
    },
    /// A layout or an archive with several images, or none of the name asked for.
    #[error("{}; add a name after a colon, as in oci:DIR:NAME{}", ambiguous(.asked.as_deref(), .names), choice(.names))]
    Layout {
        /// The name asked for.
        asked: Option<String>,
        /// The names that it has: `org.opencontainers.image.ref.name`, or the tags of `manifest.json`.
        names: Vec<String>,
    },
}

fn quoted(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({text})") }
}

fn retried(tries: u32) -> String {
    if tries > 1 { format!(" after {tries} attempts") } else { String::new() }
}

/// What to do about a status.
fn advice(status: u16) -> &'static str {
    match status {
        429 => "; the registry limits requests: log in, or try again later",
        500..=599 => "; the registry has an internal error: try again later",
        _ => "",
    }
}

fn suggestion(tags: &[String]) -> String {
    match tags {
        [] => "; check the repository and the tag".into(),
        [one] => format!("; the nearest tag is {one}"),
        many => format!("; the nearest tags are {}", many.join(", ")),
    }
}

fn elsewhere(urls: &[String]) -> String {
    if urls.is_empty() {
        String::new()
    } else {
        format!("; addresses in the manifest are not contacted: {}", urls.join(", "))
    }
}

fn ambiguous(asked: Option<&str>, names: &[String]) -> String {
    match (asked, names.len()) {
        (Some(name), _) => format!("it has no single image named `{name}`"),
        (None, 0 | 1) => "it does not contain exactly one image".into(),
        (None, _) => "it contains several images".into(),
    }
}

fn choice(names: &[String]) -> String {
    if names.is_empty() { " (its images have no names)".into() } else { format!(", one of: {}", names.join(", ")) }
}

fn for_any(platforms: &[Platform]) -> String {
    if platforms.is_empty() { String::new() } else { format!(" for {}", list(platforms)) }
}

fn list(platforms: &[Platform]) -> String {
    if platforms.is_empty() {
        return "no platform".into();
    }
    platforms.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// An error and its causes in one line, without a cause that its effect already quotes.
pub(crate) fn chain(error: &dyn Error) -> String {
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

/// What to do where nobody answers, by the words of the TLS library.
fn reach(cause: &str) -> &'static str {
    if cause.contains("UnknownIssuer") {
        "pass the certificate of the registry's issuer with --cacert or SSL_CERT_FILE"
    } else if cause.contains("invalid peer certificate") {
        // `NotValidForName`, `certificate not valid for name …`, `NotValidYet`, `Expired`.
        let words = cause.to_ascii_lowercase().replace(' ', "");
        if words.contains("notvalid") || words.contains("expired") {
            "the registry's certificate is not valid for this host or this date"
        } else {
            "the registry's certificate is not trusted; pass that certificate with --cacert"
        }
    } else if cause.contains("corrupt message") {
        "the registry does not use TLS: if it is a plain HTTP registry, set --plain-http HOST, or `insecure = true` \
         in registries.conf"
    } else if cause.contains("tls handshake eof") {
        "it closes the connection at the start of TLS: for a plain HTTP registry, set --plain-http HOST, or `insecure \
         = true` in registries.conf; otherwise check the proxy settings"
    } else {
        "check the host name, the network and the proxy settings"
    }
}

/// Text from outside on one line, without control characters, of at most `most` characters.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    let words = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= most {
        return words;
    }
    words.chars().take(most).chain(['…']).collect()
}
