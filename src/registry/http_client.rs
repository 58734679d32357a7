//! An HTTP client with limits: restricted redirects, bounded bodies, time-outs and retries.

use std::error::Error;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, HeaderValue, LOCATION, RANGE, RETRY_AFTER,
};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Response, StatusCode, Url};

use crate::registry::endpoint::RegistryEndpoint;
use crate::registry::error_body::html_title;
use crate::registry::image_name::is_loopback_host;
use crate::registry::network_zone::{GuardedResolver, NetworkZone, network_zones};
use crate::registry::pinned_certificates;
use crate::registry::pull_error::{ConnectionFault, PullProblem, error_chain};
use crate::registry::pull_options::{PullLimits, PullOptions, RegistryAccess};

/// Maximum number of redirects that are followed.
const MAX_REDIRECTS: usize = 5;
/// Maximum number of bytes that are read of an error response.
const MAX_ERROR_BODY: u64 = 16 * 1024;

/// One HTTP request.
#[derive(Clone)]
pub(crate) struct HttpRequest {
    pub(crate) url: Url,
    pub(crate) accept: &'static str,
    pub(crate) authorization: Option<HeaderValue>,
    /// A form to post; without one the request is a GET.
    pub(crate) form: Option<String>,
    /// Maximum size in bytes of the response body.
    pub(crate) cap: u64,
    /// The offset of the first byte to request, for a download that is resumed.
    pub(crate) from: u64,
    /// When the request is repeated after an incomplete response.
    pub(crate) retry_policy: RetryPolicy,
}

/// How often a request is repeated if connections end before a complete response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RetryPolicy {
    /// Up to the limit of retries.
    #[default]
    Full,
    /// Never, because another protocol is available for this host.
    Once,
    /// Up to the limit of retries, where the first attempt has already failed.
    AfterFirst,
}

impl HttpRequest {
    /// Whether the request may be repeated after this problem, or after a complete response.
    fn allows_retry(&self, problem: Option<&PullProblem>) -> bool {
        problem.is_none() || self.retry_policy != RetryPolicy::Once
    }
}

/// The response to a request for a body that is streamed.
pub(crate) enum OpenedResponse {
    /// A successful response whose body has not been read.
    Stream(Box<Response>),
    /// Any other response, read up to the limit for error responses.
    Answer(Box<HttpResponse>),
}

/// A response whose body has been read.
pub(crate) struct HttpResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// The number of requests that were sent.
    pub(crate) tries: u32,
    /// The URL of the response after all redirects.
    pub(crate) url: Url,
    /// The host that responded, if a redirect led to another host than the requested one.
    pub(crate) redirect_host: Option<String>,
}

impl HttpResponse {
    /// Returns the value of a header as text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the problem of an HTML page in place of the expected response.
    pub(crate) fn html_problem(&self) -> Option<PullProblem> {
        let title = html_title(self.header(CONTENT_TYPE.as_str()), &self.body)?;
        Some(PullProblem::Html { status: self.status.as_u16(), title })
    }
}

/// An HTTP client for one registry and the hosts that it refers to.
pub(crate) struct HttpClient {
    registry: Url,
    direct: Client,
    /// The client for every other host, restricted to the network zones of the registry.
    guarded: OnceLock<Client>,
    limits: PullLimits,
    /// The options of the client for other hosts: limits and certificates only.
    options: PullOptions,
}

impl HttpClient {
    /// Creates a client for the registry at this URL.
    pub(crate) fn new(registry: Url, endpoint: &RegistryEndpoint, options: &PullOptions) -> Result<Self, PullProblem> {
        let direct = build_client(&registry, endpoint.accept_invalid_certs, options, None)?;
        let (limits, roots) = (options.limits.clone(), options.access.roots.clone());
        let options = PullOptions {
            limits: limits.clone(),
            access: RegistryAccess { roots, ..RegistryAccess::default() },
            ..PullOptions::default()
        };
        Ok(Self { registry, direct, guarded: OnceLock::new(), options, limits })
    }

    /// Sends a request, and repeats it as the retry policy and the response allow.
    pub(crate) async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, PullProblem> {
        let mut tries = 1;
        if request.retry_policy == RetryPolicy::AfterFirst {
            tokio::time::sleep(self.back_off(tries)).await;
            tries += 1;
        }
        loop {
            let whole = tokio::time::timeout(self.limits.whole, self.send_once(request)).await;
            let outcome = whole.unwrap_or_else(|_| self.timeout_problem());
            let Some(wait) =
                self.retry_delay(tries, outcome.as_ref()).filter(|_| request.allows_retry(outcome.as_ref().err()))
            else {
                return outcome
                    .map(|answer| HttpResponse { tries, ..answer })
                    .map_err(|problem| with_attempts(problem, tries));
            };
            tokio::time::sleep(wait).await;
            tries += 1;
        }
    }

    /// Sends a request for a body that the caller streams; the caller limits the time and handles broken connections.
    pub(crate) async fn open_stream(&self, request: &HttpRequest) -> Result<OpenedResponse, PullProblem> {
        let mut tries = 1;
        loop {
            let begun = async {
                match self.follow_redirects(request).await {
                    Ok(response) if matches!(response.status().as_u16(), 200 | 206) => {
                        Ok(OpenedResponse::Stream(Box::new(response)))
                    }
                    Ok(response) => read_response(response, request, MAX_ERROR_BODY)
                        .await
                        .map(|answer| OpenedResponse::Answer(Box::new(answer))),
                    Err(problem) => Err(problem),
                }
            };
            let outcome =
                match tokio::time::timeout(self.limits.whole, begun).await.unwrap_or_else(|_| self.timeout_problem()) {
                    Ok(OpenedResponse::Answer(answer)) => answer,
                    Ok(stream) => return Ok(stream),
                    Err(problem) => return Err(problem),
                };
            let Some(wait) = self.retry_delay(tries, Ok(&*outcome)) else {
                return Ok(OpenedResponse::Answer(Box::new(HttpResponse { tries, ..*outcome })));
            };
            tokio::time::sleep(wait).await;
            tries += 1;
        }
    }

    /// Returns the problem of a response that took too long.
    fn timeout_problem<T>(&self) -> Result<T, PullProblem> {
        let error = format!("the response was not complete within {} s", self.limits.whole.as_secs());
        Err(PullProblem::Slow { error })
    }

    /// Returns the wait before the next attempt; `None` if a retry would not help.
    fn retry_delay(&self, tries: u32, outcome: Result<&HttpResponse, &PullProblem>) -> Option<Duration> {
        let back_off = self.back_off(tries);
        let wait = match outcome {
            Ok(answer) if matches!(answer.status.as_u16(), 429 | 500 | 502 | 503 | 504) => {
                retry_after(answer).unwrap_or(back_off)
            }
            Err(PullProblem::Cut { .. }) => back_off,
            _ => return None,
        };
        (tries <= self.limits.retries && wait <= self.limits.longest_wait).then_some(wait)
    }

    /// Returns the wait before a retry; it doubles with every attempt.
    pub(crate) fn back_off(&self, tries: u32) -> Duration {
        self.limits.back_off.saturating_mul(1 << tries.saturating_sub(1).min(6)).min(self.limits.longest_wait)
    }

    /// Sends a request once and reads its response.
    async fn send_once(&self, request: &HttpRequest) -> Result<HttpResponse, PullProblem> {
        read_response(self.follow_redirects(request).await?, request, request.cap).await
    }

    /// Sends a request and follows its redirects.
    async fn follow_redirects(&self, request: &HttpRequest) -> Result<Response, PullProblem> {
        let mut url = request.url.clone();
        let mut authorization = request.authorization.clone();
        for _ in 0..=MAX_REDIRECTS {
            let client = self.client_for(&url).await?;
            let mut builder = match &request.form {
                None => client.get(url.clone()),
                Some(form) => client
                    .post(url.clone())
                    .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                    .body(form.clone()),
            };
            builder = builder.header(ACCEPT, request.accept);
            if request.from > 0 {
                builder = builder.header(RANGE, format!("bytes={}-", request.from));
            }
            if let Some(value) = &authorization {
                builder = builder.header(AUTHORIZATION, value.clone());
            }
            let response = builder.send().await.map_err(connection_problem)?;
            let Some(next) = redirect_target(&response, &url).filter(|_| request.form.is_none()) else {
                return Ok(response);
            };
            if next.origin() != url.origin() {
                authorization = None;
            }
            url = next;
        }
        Err(refused_address(&url, "there are more than 5 redirects"))
    }

    /// Returns the client for a URL after checking that the URL may be used.
    async fn client_for(&self, url: &Url) -> Result<&Client, PullProblem> {
        let host = url.host_str().unwrap_or_default();
        let own = url.origin() == self.registry.origin();
        let plain = url.scheme() == "http" && self.registry.scheme() == "http" && (own || is_loopback_host(host));
        if url.scheme() != "https" && !plain {
            return Err(refused_address(url, "only https is allowed outside this machine"));
        }
        if Some(host) == self.registry.host_str() {
            return Ok(&self.direct);
        }
        let allowed = network_zones(&self.registry).await;
        if NetworkZone::from_host(host).is_some_and(|zone| !allowed.contains(&zone)) {
            return Err(refused_address(
                url,
                "it is an internal address, and references from the registry to internal addresses are not followed",
            ));
        }
        if let Some(client) = self.guarded.get() {
            return Ok(client);
        }
        let client = build_client(&self.registry, false, &self.options, Some(GuardedResolver { allowed }))?;
        Ok(self.guarded.get_or_init(|| client))
    }
}

/// Builds a client with the limits and certificates of the options.
fn build_client(
    registry: &Url,
    unverified: bool,
    options: &PullOptions,
    guard: Option<GuardedResolver>,
) -> Result<Client, PullProblem> {
    let limits = &options.limits;
    let mut builder = Client::builder()
        .user_agent(concat!("imagelint/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .referer(false)
        .connect_timeout(limits.connect)
        .read_timeout(limits.stall)
        .tls_danger_accept_invalid_certs(unverified);
    for root in &options.access.roots {
        let certificates = Certificate::from_pem_bundle(&root.pem).map_err(|error| PullProblem::File {
            path: root.path.clone(),
            error: format!("no certificates in PEM format: {}", error_chain(&error)),
        })?;
        if certificates.is_empty() {
            return Err(PullProblem::File {
                path: root.path.clone(),
                error: "it contains no certificate in PEM format".into(),
            });
        }
    }
    // Where nothing is verified, no certificate has to be trusted.
    if !unverified && !options.access.roots.is_empty() {
        let settings =
            pinned_certificates::tls_config(&options.access.roots).map_err(|error| PullProblem::Setup { error })?;
        builder = builder.tls_backend_preconfigured(settings);
    }
    if registry.host_str().is_some_and(is_loopback_host) {
        builder = builder.no_proxy();
    }
    if let Some(guard) = guard {
        builder = builder.dns_resolver(Arc::new(guard));
    }
    builder.build().map_err(|error| PullProblem::Setup { error: error_chain(&error) })
}

/// Returns the URL that a response redirects to.
fn redirect_target(response: &Response, from: &Url) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    from.join(response.headers().get(LOCATION)?.to_str().ok()?).ok()
}

/// Returns the problem of a URL that is not used.
fn refused_address(url: &Url, reason: &'static str) -> PullProblem {
    PullProblem::Refused { to: format!("{}://{}{}", url.scheme(), host_and_port(url), url.path()), reason }
}

/// Returns the host of a URL, with its port unless it is the default one.
pub(crate) fn host_and_port(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{port}", url.host_str().unwrap_or_default())
}

/// Converts a connection error into a problem.
pub(crate) fn connection_problem(error: reqwest::Error) -> PullProblem {
    let error = error.without_url();
    let mut made = !error.is_connect();
    let mut source: Option<&dyn Error> = Some(&error);
    while let Some(error) = source {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        made |= matches!(kind, Some(io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted));
        source = error.source();
    }
    let text = error_chain(&error);
    // A server that is reached but does not speak HTTP will not do so at the next attempt either.
    if made && !text.contains("invalid HTTP") {
        PullProblem::Cut { error: text, tries: 1 }
    } else {
        PullProblem::Transport { fault: connection_fault(&text), error: text }
    }
}

/// Returns what is wrong with a connection, from the message of the TLS library, which is part of the error text of
/// the HTTP client.
fn connection_fault(text: &str) -> ConnectionFault {
    if text.contains("UnknownIssuer") {
        ConnectionFault::UnknownIssuer
    } else if text.contains("invalid peer certificate") {
        // `NotValidForName`, `certificate not valid for name …`, `NotValidYet`, `Expired`.
        let words = text.to_ascii_lowercase().replace(' ', "");
        if words.contains("notvalid") || words.contains("expired") {
            ConnectionFault::CertificateNotValid
        } else {
            ConnectionFault::CertificateNotTrusted
        }
    } else if text.contains("corrupt message") {
        ConnectionFault::NotTls
    } else if text.contains("tls handshake eof") {
        ConnectionFault::HandshakeClosed
    } else {
        ConnectionFault::Other
    }
}

/// Sets the number of attempts of a problem.
fn with_attempts(problem: PullProblem, tries: u32) -> PullProblem {
    match problem {
        PullProblem::Cut { error, .. } => PullProblem::Cut { error, tries },
        other => other,
    }
}

/// Returns the problem of a body that ended early, with the number of bytes received.
fn incomplete_body(error: reqwest::Error, came: usize, length: Option<u64>) -> PullProblem {
    match (connection_problem(error), length) {
        (PullProblem::Cut { error, tries }, Some(length)) => {
            PullProblem::Cut { error: format!("got {came} of {length} bytes: {error}"), tries }
        }
        (problem, _) => problem,
    }
}

/// Reads a response body, at most `cap` bytes of it; an error body is truncated to its own limit.
async fn read_response(mut response: Response, request: &HttpRequest, cap: u64) -> Result<HttpResponse, PullProblem> {
    let status = response.status();
    let success = status.is_success();
    let limit = if success { cap } else { MAX_ERROR_BODY };
    if success && response.content_length().is_some_and(|length| length > cap) {
        return Err(PullProblem::TooLarge { limit });
    }
    let length = response.content_length();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| incomplete_body(error, body.len(), length))? {
        let room = usize::try_from(limit).unwrap_or(usize::MAX) - body.len();
        if chunk.len() > room {
            if success {
                return Err(PullProblem::TooLarge { limit });
            }
            body.extend_from_slice(&chunk[..room]);
            break;
        }
        body.extend_from_slice(&chunk);
    }
    let (headers, url) = (response.headers().clone(), response.url().clone());
    let elsewhere = (url.origin() != request.url.origin()).then(|| host_and_port(&url));
    Ok(HttpResponse { status, headers, url, redirect_host: elsewhere, body, tries: 1 })
}

/// Returns the wait requested by `Retry-After`, as seconds or as a date relative to the server's clock.
fn retry_after(answer: &HttpResponse) -> Option<Duration> {
    let value = answer.header(RETRY_AFTER.as_str())?.trim();
    value.parse().ok().map(Duration::from_secs).or_else(|| time_until(value, answer.header(DATE.as_str())?))
}

/// Returns the time between two HTTP dates; zero if `then` has passed.
fn time_until(then: &str, now: &str) -> Option<Duration> {
    let parser = jiff::fmt::rfc2822::DateTimeParser::new().relaxed_weekday(true);
    let time = |text: &str| parser.parse_timestamp(text.trim()).ok();
    let seconds = time(then)?.as_second().checked_sub(time(now)?.as_second())?;
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_date_is_relative_to_the_clock_of_the_server() {
        let now = "Sun, 22 Nov 2026 08:00:00 GMT";
        for (then, expected) in [
            ("Sun, 22 Nov 2026 08:00:07 GMT", Some(7)),
            ("Sun, 22 Nov 2026 09:00:00 GMT", Some(3600)),
            ("Sat, 21 Nov 2026 08:00:00 GMT", Some(0)),
            ("tomorrow", None),
            ("", None),
            ("Sun, 99 Nov 2026 08:00:07 GMT", None),
        ] {
            assert_eq!(time_until(then, now), expected.map(Duration::from_secs), "{then}");
        }
        assert_eq!(time_until(now, "never"), None);
    }
}
