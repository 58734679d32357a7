//! One repository at one place: the connection, and one log-in however many ask at once.

use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::time::Duration;

use reqwest::Response;
use reqwest::Url;
use reqwest::header::CONTENT_TYPE;
use reqwest::header::HeaderValue;
use reqwest::header::WWW_AUTHENTICATE;

use crate::oci::auth;
use crate::oci::challenge;
use crate::oci::credentials;
use crate::oci::credentials::Lookup;
use crate::oci::endpoint::Endpoint;
use crate::oci::error::Problem;
use crate::oci::http::Answer;
use crate::oci::http::Ask;
use crate::oci::http::Http;
use crate::oci::http::Opened;
use crate::oci::http::Patience;
use crate::oci::http::authority;
use crate::oci::options::Options;
use crate::oci::page::words;

/// The connection to one repository.
pub(crate) struct Session {
    endpoint: Endpoint,
    options: Options,
    base: Url,
    http: Http,
    /// The header to show, and how often it was fetched.
    shown: Mutex<(u64, Option<HeaderValue>)>,
    /// Held by the one who logs in; the others wait for what comes of it.
    turn: tokio::sync::Mutex<()>,
    lookup: OnceLock<Lookup>,
}

impl Session {
    /// A connection that nothing has been asked of yet.
    pub(crate) fn new(endpoint: &Endpoint, options: &Options) -> Result<Self, Problem> {
        let scheme = if endpoint.plain { "http" } else { "https" };
        let base = Url::parse(&format!("{scheme}://{}/v2/{}/", endpoint.host, endpoint.repository))
            .map_err(|error| Problem::Reference { reason: error.to_string() })?;
        let http = Http::new(base.clone(), endpoint, options)?;
        Ok(Self {
            endpoint: endpoint.clone(),
            options: options.clone(),
            base,
            http,
            shown: Mutex::new((0, None)),
            turn: tokio::sync::Mutex::new(()),
            lookup: OnceLock::new(),
        })
    }

    /// The host that is spoken to.
    pub(crate) fn host(&self) -> &str {
        &self.endpoint.host
    }

    /// How long to wait before a broken stream is taken up again.
    pub(crate) fn back_off(&self, tries: u32) -> Duration {
        self.http.back_off(tries)
    }

    /// Asks for a path within the repository, logging in once where that is demanded.
    pub(crate) async fn ask(&self, path: &str, accept: &'static str, cap: u64) -> Result<Answer, Problem> {
        self.ask_as(path, accept, cap, Patience::Whole).await
    }

    /// The same, with what is done about a connection that ends at once.
    pub(crate) async fn ask_as(
        &self,
        path: &str,
        accept: &'static str,
        cap: u64,
        patience: Patience,
    ) -> Result<Answer, Problem> {
        let (seen, ask) = self.request(path, accept, cap, 0)?;
        let ask = Ask { patience, ..ask };
        let mut answer = self.http.send(&ask).await?;
        if answer.status.as_u16() == 401 && self.log_in(&answer, seen).await? {
            let (_, ask) = self.request(path, accept, cap, 0)?;
            answer = self.http.send(&ask).await?;
        }
        self.accepted(answer)
    }

    /// Asks for a body that is read bit by bit, from one of its bytes on.
    pub(crate) async fn open(&self, path: &str, accept: &'static str, from: u64) -> Result<Opened, Problem> {
        let (seen, ask) = self.request(path, accept, 0, from)?;
        let mut opened = self.http.open(&ask).await?;
        if let Opened::Answer(answer) = &opened
            && answer.status.as_u16() == 401
            && self.log_in(answer, seen).await?
        {
            let (_, ask) = self.request(path, accept, 0, from)?;
            opened = self.http.open(&ask).await?;
        }
        match opened {
            Opened::Answer(answer) => self.accepted(*answer).map(|answer| Opened::Answer(Box::new(answer))),
            Opened::Stream(response) => page(&response).map_or(Ok(Opened::Stream(response)), Err),
        }
    }

    /// The request for a path, and how often the header in it was fetched.
    fn request(&self, path: &str, accept: &'static str, cap: u64, from: u64) -> Result<(u64, Ask), Problem> {
        // `./` keeps a digest's `sha256:` from being read as a scheme.
        let path = if path.starts_with(['/', '.']) { path.into() } else { format!("./{path}") };
        let url = self.base.join(&path).ok().filter(|url| url.origin() == self.base.origin());
        let Some(url) = url else {
            return Err(Problem::Refused { to: path, reason: "it is on another host than the registry" });
        };
        let (seen, authorization) = self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok((seen, Ask { url, accept, authorization, form: None, cap, from, patience: Patience::Whole }))
    }

    fn accepted(&self, answer: Answer) -> Result<Answer, Problem> {
        if let Some(page) = answer.page() {
            return Err(page);
        }
        let status = answer.status.as_u16();
        if matches!(status, 401 | 403) {
            let by = authority(&answer.url);
            let told = self.lookup.get().map(|lookup| lookup.told.clone());
            let credentials = told.unwrap_or_else(|| "the registry offers no login method".into());
            return Err(Problem::Unauthorized { by, status, said: words(&answer.body), credentials });
        }
        Ok(answer)
    }

    /// Answers the challenge of the registry itself, never that of a host it redirects to.
    async fn log_in(&self, answer: &Answer, seen: u64) -> Result<bool, Problem> {
        if answer.url.origin() != self.base.origin() {
            return Ok(false);
        }
        let headers = answer.headers.get_all(WWW_AUTHENTICATE).into_iter();
        let Some(challenge) = challenge::choose(headers.filter_map(|value| value.to_str().ok())) else {
            return Ok(false);
        };
        let _turn = self.turn.lock().await;
        if self.shown.lock().unwrap_or_else(PoisonError::into_inner).0 != seen {
            // Somebody else has logged in meanwhile.
            return Ok(true);
        }
        let lookup = self.lookup().await?;
        let value = auth::answer(&self.http, &challenge, &self.endpoint.repository, &lookup).await?;
        let found = value.is_some();
        if found {
            *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = (seen + 1, value);
        }
        Ok(found)
    }

    async fn lookup(&self) -> Result<Lookup, Problem> {
        if let Some(lookup) = self.lookup.get() {
            return Ok(lookup.clone());
        }
        let (endpoint, options) = (self.endpoint.clone(), self.options.clone());
        let search = move || credentials::look_up(&endpoint.host, &endpoint.repository, &options);
        let found = tokio::task::spawn_blocking(search)
            .await
            .map_err(|error| Problem::Challenge { reason: error.to_string() })?;
        Ok(self.lookup.get_or_init(|| found).clone())
    }
}

/// The problem of a web page in place of a layer.
fn page(response: &Response) -> Option<Problem> {
    let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase();
    let status = response.status().as_u16();
    kind.starts_with("text/html").then_some(Problem::Html { status, title: String::new() })
}
