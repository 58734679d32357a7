//! A session with one repository of a registry: its connection, and one login shared by all requests.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Response, Url};

use crate::registry::endpoint::RegistryEndpoint;
use crate::registry::error_body::error_message;
use crate::registry::http_client::{HttpClient, HttpRequest, HttpResponse, OpenedResponse, RetryPolicy, host_and_port};
use crate::registry::pull_error::PullProblem;
use crate::registry::pull_options::PullOptions;
use crate::registry::registry_credentials::CredentialLookup;
use crate::registry::{auth, auth_challenge, credential_lookup};

/// A session with one repository of a registry.
pub(crate) struct RegistrySession {
    endpoint: RegistryEndpoint,
    options: PullOptions,
    base: Url,
    http: HttpClient,
    /// The `Authorization` header, and how often it was renewed.
    authorization: Mutex<(u64, Option<HeaderValue>)>,
    /// Locked during a login; other requests wait for its result.
    login_lock: tokio::sync::Mutex<()>,
    lookup: OnceLock<CredentialLookup>,
}

impl RegistrySession {
    /// Creates a session without sending a request.
    pub(crate) fn new(endpoint: &RegistryEndpoint, options: &PullOptions) -> Result<Self, PullProblem> {
        let scheme = if endpoint.plain_http { "http" } else { "https" };
        let base = Url::parse(&format!("{scheme}://{}/v2/{}/", endpoint.host, endpoint.repository))
            .map_err(|error| PullProblem::Reference { error: error.to_string() })?;
        let http = HttpClient::new(base.clone(), endpoint, options)?;
        Ok(Self {
            endpoint: endpoint.clone(),
            options: options.clone(),
            base,
            http,
            authorization: Mutex::new((0, None)),
            login_lock: tokio::sync::Mutex::new(()),
            lookup: OnceLock::new(),
        })
    }

    /// Returns the host of the registry.
    pub(crate) fn host(&self) -> &str {
        &self.endpoint.host
    }

    /// Returns the wait before a broken stream is resumed.
    pub(crate) fn back_off(&self, tries: u32) -> Duration {
        self.http.back_off(tries)
    }

    /// Requests a path within the repository; logs in once if the registry requires it.
    pub(crate) async fn get(&self, path: &str, accept: &'static str, cap: u64) -> Result<HttpResponse, PullProblem> {
        self.get_with(path, accept, cap, RetryPolicy::Full).await
    }

    /// Requests a path within the repository with this retry policy; logs in once if the registry requires it.
    pub(crate) async fn get_with(
        &self,
        path: &str,
        accept: &'static str,
        cap: u64,
        patience: RetryPolicy,
    ) -> Result<HttpResponse, PullProblem> {
        let (seen, request) = self.build_request(path, accept, cap, 0)?;
        let request = HttpRequest { retry_policy: patience, ..request };
        let mut answer = self.http.send(&request).await?;
        if answer.status.as_u16() == 401 && self.log_in(&answer, seen).await? {
            let (_, request) = self.build_request(path, accept, cap, 0)?;
            answer = self.http.send(&request).await?;
        }
        self.check_access(answer)
    }

    /// Requests a body that is streamed, starting at byte `from`.
    pub(crate) async fn open_stream(
        &self,
        path: &str,
        accept: &'static str,
        from: u64,
    ) -> Result<OpenedResponse, PullProblem> {
        let (seen, request) = self.build_request(path, accept, 0, from)?;
        let mut opened = self.http.open_stream(&request).await?;
        if let OpenedResponse::Answer(answer) = &opened
            && answer.status.as_u16() == 401
            && self.log_in(answer, seen).await?
        {
            let (_, request) = self.build_request(path, accept, 0, from)?;
            opened = self.http.open_stream(&request).await?;
        }
        match opened {
            OpenedResponse::Answer(answer) => {
                self.check_access(*answer).map(|answer| OpenedResponse::Answer(Box::new(answer)))
            }
            OpenedResponse::Stream(response) => {
                html_problem(&response).map_or(Ok(OpenedResponse::Stream(response)), Err)
            }
        }
    }

    /// Builds the request for a path; returns it with the renewal count of its `Authorization` header.
    fn build_request(
        &self,
        path: &str,
        accept: &'static str,
        cap: u64,
        from: u64,
    ) -> Result<(u64, HttpRequest), PullProblem> {
        // `./` keeps a digest's `sha256:` from being read as a scheme.
        let path = if path.starts_with(['/', '.']) { path.into() } else { format!("./{path}") };
        let url = self.base.join(&path).ok().filter(|url| url.origin() == self.base.origin());
        let Some(url) = url else {
            return Err(PullProblem::Refused { to: path, reason: "it is on another host than the registry" });
        };
        let (seen, authorization) = self.authorization.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok((seen, HttpRequest { url, accept, authorization, form: None, cap, from, retry_policy: RetryPolicy::Full }))
    }

    /// Returns the problem of an HTML page or of denied access.
    fn check_access(&self, answer: HttpResponse) -> Result<HttpResponse, PullProblem> {
        if let Some(page) = answer.html_problem() {
            return Err(page);
        }
        let status = answer.status.as_u16();
        if matches!(status, 401 | 403) {
            let by = host_and_port(&answer.url);
            let summary = self.lookup.get().map(|lookup| lookup.summary.clone());
            let credentials = summary.unwrap_or_else(|| "the registry offers no login method".into());
            return Err(PullProblem::Unauthorized { by, status, message: error_message(&answer.body), credentials });
        }
        Ok(answer)
    }

    /// Answers the challenge of the registry itself, never that of a host it redirects to; returns whether to retry.
    async fn log_in(&self, answer: &HttpResponse, seen: u64) -> Result<bool, PullProblem> {
        if answer.url.origin() != self.base.origin() {
            return Ok(false);
        }
        let headers = answer.headers.get_all(WWW_AUTHENTICATE).into_iter();
        let Some(challenge) = auth_challenge::select_challenge(headers.filter_map(|value| value.to_str().ok())) else {
            return Ok(false);
        };
        let _turn = self.login_lock.lock().await;
        if self.authorization.lock().unwrap_or_else(PoisonError::into_inner).0 != seen {
            // Another thread has logged in meanwhile.
            return Ok(true);
        }
        let lookup = self.credential_lookup().await?;
        let value = auth::answer_challenge(&self.http, &challenge, &self.endpoint.repository, &lookup).await?;
        let found = value.is_some();
        if found {
            *self.authorization.lock().unwrap_or_else(PoisonError::into_inner) = (seen + 1, value);
        }
        Ok(found)
    }

    /// Looks up the credentials once, on a blocking thread.
    async fn credential_lookup(&self) -> Result<CredentialLookup, PullProblem> {
        if let Some(lookup) = self.lookup.get() {
            return Ok(lookup.clone());
        }
        let (endpoint, options) = (self.endpoint.clone(), self.options.clone());
        let search = move || credential_lookup::look_up_credentials(&endpoint.host, &endpoint.repository, &options);
        let found = tokio::task::spawn_blocking(search)
            .await
            .map_err(|error| PullProblem::Challenge { error: error.to_string() })?;
        Ok(self.lookup.get_or_init(|| found).clone())
    }
}

/// Returns the problem of an HTML page in place of a layer.
fn html_problem(response: &Response) -> Option<PullProblem> {
    let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase();
    let status = response.status().as_u16();
    kind.starts_with("text/html").then_some(PullProblem::Html { status, title: String::new() })
}
