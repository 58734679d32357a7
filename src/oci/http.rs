//! HTTP with limits: guarded redirects, bounded bodies, time-outs and patient retries.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::Certificate;
use reqwest::Client;
use reqwest::Response;
use reqwest::StatusCode;
use reqwest::Url;
use reqwest::header::ACCEPT;
use reqwest::header::AUTHORIZATION;
use reqwest::header::CONTENT_TYPE;
use reqwest::header::DATE;
use reqwest::header::HeaderMap;
use reqwest::header::HeaderValue;
use reqwest::header::LOCATION;
use reqwest::header::RANGE;
use reqwest::header::RETRY_AFTER;
use reqwest::redirect::Policy;

use crate::oci::address::GuardedResolver;
use crate::oci::address::Zone;
use crate::oci::address::zones_of;
use crate::oci::endpoint::Endpoint;
use crate::oci::error::Problem;
use crate::oci::error::chain;
use crate::oci::options::Access;
use crate::oci::options::Limits;
use crate::oci::options::Options;
use crate::oci::page::html;
use crate::oci::pinned;
use crate::oci::reference::is_loopback_host;

/// How many redirects are followed.
const MOST_REDIRECTS: usize = 5;
/// How much of an answer that is no success is read.
const FAILURE_CAP: u64 = 16 * 1024;

/// One request.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) url: Url,
    pub(crate) accept: &'static str,
    pub(crate) authorization: Option<HeaderValue>,
    /// A form to post; none for a plain GET.
    pub(crate) form: Option<String>,
    /// The largest body that is read.
    pub(crate) cap: u64,
    /// The byte to begin at, where the ones before it came already.
    pub(crate) from: u64,
    /// What is done about a connection that ends without a whole answer.
    pub(crate) patience: Patience,
}

/// How often is asked where connections end without a whole answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Patience {
    /// As often as the limits have it.
    #[default]
    Whole,
    /// Once: there is another way to speak to the host.
    Once,
    /// What is left of the whole after one that was in vain.
    Rest,
}

impl Ask {
    /// Whether another try is worth it after this problem, or none.
    fn repeats(&self, problem: Option<&Problem>) -> bool {
        problem.is_none() || self.patience != Patience::Once
    }
}

/// An answer whose body has not been read.
pub(crate) enum Opened {
    /// Bytes from a place on: all of them, or those from the byte that was asked for.
    Stream(Box<Response>),
    /// Anything else, read within the cap of failures.
    Answer(Box<Answer>),
}

/// One answer, read within its cap.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// How many requests it took.
    pub(crate) tries: u32,
    /// Where the answer came from in the end.
    pub(crate) url: Url,
    /// The host that answered, where a redirect led away from the one that was asked.
    pub(crate) elsewhere: Option<String>,
}

impl Answer {
    /// The text of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The problem of a web page that came instead of an answer.
    pub(crate) fn page(&self) -> Option<Problem> {
        let title = html(self.header(CONTENT_TYPE.as_str()), &self.body)?;
        Some(Problem::Html { status: self.status.as_u16(), title })
    }
}

/// A client for one registry.
pub(crate) struct Http {
    registry: Url,
    direct: Client,
    /// For every other host: knows the zones the registry may send us to.
    guarded: OnceLock<Client>,
    limits: Limits,
    /// What the guarded client is made with: limits and certificates alone.
    options: Options,
}

impl Http {
    /// A client for the registry at this address.
    pub(crate) fn new(registry: Url, endpoint: &Endpoint, options: &Options) -> Result<Self, Problem> {
        let direct = build(&registry, endpoint.unverified, options, None)?;
        let (limits, roots) = (options.limits.clone(), options.access.roots.clone());
        let options =
            Options { limits: limits.clone(), access: Access { roots, ..Access::default() }, ..Options::default() };
        Ok(Self { registry, direct, guarded: OnceLock::new(), options, limits })
    }

    /// Asks, and asks again where the answer says that this may help or did not come whole.
    pub(crate) async fn send(&self, ask: &Ask) -> Result<Answer, Problem> {
        let mut tries = 1;
        if ask.patience == Patience::Rest {
            tokio::time::sleep(self.back_off(tries)).await;
            tries += 1;
        }
        loop {
            let whole = tokio::time::timeout(self.limits.whole, self.once(ask)).await;
            let outcome = whole.unwrap_or_else(|_| self.late());
            let Some(wait) = self.wait(tries, outcome.as_ref()).filter(|_| ask.repeats(outcome.as_ref().err())) else {
                return outcome.map(|answer| Answer { tries, ..answer }).map_err(|problem| after(problem, tries));
            };
            tokio::time::sleep(wait).await;
            tries += 1;
        }
    }

    /// The same for a body that is read bit by bit: how long that takes, and what to do about a connection that ends, is
    /// the reader's business.
    pub(crate) async fn open(&self, ask: &Ask) -> Result<Opened, Problem> {
        let mut tries = 1;
        loop {
            let begun = async {
                match self.follow(ask).await {
                    Ok(response) if matches!(response.status().as_u16(), 200 | 206) => {
                        Ok(Opened::Stream(Box::new(response)))
                    }
                    Ok(response) => {
                        read(response, ask, FAILURE_CAP).await.map(|answer| Opened::Answer(Box::new(answer)))
                    }
                    Err(problem) => Err(problem),
                }
            };
            let outcome = match tokio::time::timeout(self.limits.whole, begun).await.unwrap_or_else(|_| self.late()) {
                Ok(Opened::Answer(answer)) => answer,
                Ok(stream) => return Ok(stream),
                Err(problem) => return Err(problem),
            };
            let Some(wait) = self.wait(tries, Ok(&*outcome)) else {
                return Ok(Opened::Answer(Box::new(Answer { tries, ..*outcome })));
            };
            tokio::time::sleep(wait).await;
            tries += 1;
        }
    }

    /// That an answer took too long.
    fn late<T>(&self) -> Result<T, Problem> {
        let cause = format!("the response was not complete within {} s", self.limits.whole.as_secs());
        Err(Problem::Slow { cause })
    }

    /// How long to wait before the next try; none where another try will not help.
    fn wait(&self, tries: u32, outcome: Result<&Answer, &Problem>) -> Option<Duration> {
        let back_off = self.back_off(tries);
        let wait = match outcome {
            Ok(answer) if matches!(answer.status.as_u16(), 429 | 500 | 502 | 503 | 504) => {
                retry_after(answer).unwrap_or(back_off)
            }
            Err(Problem::Cut { .. }) => back_off,
            _ => return None,
        };
        (tries <= self.limits.retries && wait <= self.limits.longest_wait).then_some(wait)
    }

    /// The wait before a repetition: it doubles with every try.
    pub(crate) fn back_off(&self, tries: u32) -> Duration {
        self.limits.back_off.saturating_mul(1 << tries.saturating_sub(1).min(6)).min(self.limits.longest_wait)
    }

    async fn once(&self, ask: &Ask) -> Result<Answer, Problem> {
        read(self.follow(ask).await?, ask, ask.cap).await
    }

    async fn follow(&self, ask: &Ask) -> Result<Response, Problem> {
        let mut url = ask.url.clone();
        let mut authorization = ask.authorization.clone();
        for _ in 0..=MOST_REDIRECTS {
            let client = self.client_for(&url).await?;
            let mut request = match &ask.form {
                None => client.get(url.clone()),
                Some(form) => client
                    .post(url.clone())
                    .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                    .body(form.clone()),
            };
            request = request.header(ACCEPT, ask.accept);
            if ask.from > 0 {
                request = request.header(RANGE, format!("bytes={}-", ask.from));
            }
            if let Some(value) = &authorization {
                request = request.header(AUTHORIZATION, value.clone());
            }
            let response = request.send().await.map_err(transport)?;
            let Some(next) = redirect(&response, &url).filter(|_| ask.form.is_none()) else {
                return Ok(response);
            };
            if next.origin() != url.origin() {
                authorization = None;
            }
            url = next;
        }
        Err(refused(&url, "there are more than 5 redirects"))
    }

    /// The client for an address, after the check that we may go there at all.
    async fn client_for(&self, url: &Url) -> Result<&Client, Problem> {
        let host = url.host_str().unwrap_or_default();
        let own = url.origin() == self.registry.origin();
        let plain = url.scheme() == "http" && self.registry.scheme() == "http" && (own || is_loopback_host(host));
        if url.scheme() != "https" && !plain {
            return Err(refused(url, "only https is allowed outside this machine"));
        }
        if Some(host) == self.registry.host_str() {
            return Ok(&self.direct);
        }
        let allowed = zones_of(&self.registry).await;
        if Zone::of_text(host).is_some_and(|zone| !allowed.contains(&zone)) {
            return Err(refused(
                url,
                "it is an internal address, and references from the registry to internal addresses are not followed",
            ));
        }
        if let Some(client) = self.guarded.get() {
            return Ok(client);
        }
        let client = build(&self.registry, false, &self.options, Some(GuardedResolver { allowed }))?;
        Ok(self.guarded.get_or_init(|| client))
    }
}

fn build(
    registry: &Url,
    unverified: bool,
    options: &Options,
    guard: Option<GuardedResolver>,
) -> Result<Client, Problem> {
    let limits = &options.limits;
    let mut builder = Client::builder()
        .user_agent(concat!("imagelint/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .referer(false)
        .connect_timeout(limits.connect)
        .read_timeout(limits.stall)
        .tls_danger_accept_invalid_certs(unverified);
    for root in &options.access.roots {
        let certificates = Certificate::from_pem_bundle(&root.pem).map_err(|error| Problem::File {
            path: root.path.clone(),
            cause: format!("no certificates in PEM format: {}", chain(&error)),
        })?;
        if certificates.is_empty() {
            return Err(Problem::File {
                path: root.path.clone(),
                cause: "it contains no certificate in PEM format".into(),
            });
        }
    }
    // Where nothing is verified, no certificate has to be trusted.
    if !unverified && !options.access.roots.is_empty() {
        let settings = pinned::settings(&options.access.roots).map_err(|cause| Problem::Setup { cause })?;
        builder = builder.tls_backend_preconfigured(settings);
    }
    if registry.host_str().is_some_and(is_loopback_host) {
        builder = builder.no_proxy();
    }
    if let Some(guard) = guard {
        builder = builder.dns_resolver(Arc::new(guard));
    }
    builder.build().map_err(|error| Problem::Setup { cause: chain(&error) })
}

fn redirect(response: &Response, from: &Url) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    from.join(response.headers().get(LOCATION)?.to_str().ok()?).ok()
}

fn refused(url: &Url, reason: &'static str) -> Problem {
    Problem::Refused { to: format!("{}://{}{}", url.scheme(), authority(url), url.path()), reason }
}

/// The host of an address, with its port where it is not the usual one.
pub(crate) fn authority(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{port}", url.host_str().unwrap_or_default())
}

/// The problem behind an error of the connection.
pub(crate) fn transport(error: reqwest::Error) -> Problem {
    let error = error.without_url();
    let mut made = !error.is_connect();
    let mut cause: Option<&dyn Error> = Some(&error);
    while let Some(error) = cause {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        made |= matches!(kind, Some(io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted));
        cause = error.source();
    }
    let cause = chain(&error);
    // What stands but does not speak HTTP will not do so the next time.
    if made && !cause.contains("invalid HTTP") {
        Problem::Cut { cause, tries: 1 }
    } else {
        Problem::Transport { cause }
    }
}

/// The same problem after so many tries.
fn after(problem: Problem, tries: u32) -> Problem {
    match problem {
        Problem::Cut { cause, .. } => Problem::Cut { cause, tries },
        other => other,
    }
}

/// The problem of a body that ended after so many of its bytes.
fn cut(error: reqwest::Error, came: usize, length: Option<u64>) -> Problem {
    match (transport(error), length) {
        (Problem::Cut { cause, tries }, Some(length)) => {
            Problem::Cut { cause: format!("got {came} of {length} bytes: {cause}"), tries }
        }
        (problem, _) => problem,
    }
}

/// Reads a body, never holding more than its cap; of a failure only the beginning.
async fn read(mut response: Response, ask: &Ask, cap: u64) -> Result<Answer, Problem> {
    let status = response.status();
    let success = status.is_success();
    let limit = if success { cap } else { FAILURE_CAP };
    if success && response.content_length().is_some_and(|length| length > cap) {
        return Err(Problem::TooLarge { limit });
    }
    let length = response.content_length();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| cut(error, body.len(), length))? {
        let room = usize::try_from(limit).unwrap_or(usize::MAX) - body.len();
        if chunk.len() > room {
            if success {
                return Err(Problem::TooLarge { limit });
            }
            body.extend_from_slice(&chunk[..room]);
            break;
        }
        body.extend_from_slice(&chunk);
    }
    let (headers, url) = (response.headers().clone(), response.url().clone());
    let elsewhere = (url.origin() != ask.url.origin()).then(|| authority(&url));
    Ok(Answer { status, headers, url, elsewhere, body, tries: 1 })
}

/// How long a server asks to be left alone: so many seconds, or until a day and time, counted from its own clock.
fn retry_after(answer: &Answer) -> Option<Duration> {
    let told = answer.header(RETRY_AFTER.as_str())?.trim();
    told.parse().ok().map(Duration::from_secs).or_else(|| until(told, answer.header(DATE.as_str())?))
}

/// The time between two dates as HTTP writes them; none at all where it is over.
fn until(then: &str, now: &str) -> Option<Duration> {
    let parser = jiff::fmt::rfc2822::DateTimeParser::new().relaxed_weekday(true);
    let time = |text: &str| parser.parse_timestamp(text.trim()).ok();
    let seconds = time(then)?.as_second().checked_sub(time(now)?.as_second())?;
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_and_time_is_counted_from_the_clock_of_the_server() {
        let now = "Sun, 22 Nov 2026 08:00:00 GMT";
        for (then, expected) in [
            ("Sun, 22 Nov 2026 08:00:07 GMT", Some(7)),
            ("Sun, 22 Nov 2026 09:00:00 GMT", Some(3600)),
            ("Sat, 21 Nov 2026 08:00:00 GMT", Some(0)),
            ("tomorrow", None),
            ("", None),
            ("Sun, 99 Nov 2026 08:00:07 GMT", None),
        ] {
            assert_eq!(until(then, now), expected.map(Duration::from_secs), "{then}");
        }
        assert_eq!(until(now, "never"), None);
    }
}
