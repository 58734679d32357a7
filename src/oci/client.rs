//! The registry side: manifests, blobs and tags of one repository.

use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::PoisonError;

use reqwest::Url;
use reqwest::header::HeaderValue;
use reqwest::header::LINK;
use reqwest::header::WWW_AUTHENTICATE;

use crate::oci::auth;
use crate::oci::challenge;
use crate::oci::credentials;
use crate::oci::credentials::Lookup;
use crate::oci::digest::sha256;
use crate::oci::digest::verify;
use crate::oci::error::Problem;
use crate::oci::error::PullError;
use crate::oci::http::Answer;
use crate::oci::http::Ask;
use crate::oci::http::Http;
use crate::oci::image::PulledImage;
use crate::oci::keep::Kept;
use crate::oci::options::Options;
use crate::oci::page::words;
use crate::oci::platform::Platform;
use crate::oci::reference;
use crate::oci::reference::whole_name;
use crate::oci::resolve::Root;
use crate::oci::resolve::Store;
use crate::oci::resolve::resolve;
use crate::oci::tags::TagPage;
use crate::oci::tags::nearest;
use crate::oci::tags::next_page;
use crate::oci::types::Descriptor;
use crate::oci::types::MANIFEST_TYPES;
use crate::reference::ImageReference;

/// How many pages of tags are read to name the nearest.
const MOST_PAGES: usize = 5;
/// The largest page of tags.
const TAGS_CAP: u64 = 1 << 20;

/// Pulls the configs of a reference, one for each wanted platform that exists; all where none is
/// named. Wants a tokio runtime with time and input/output switched on.
pub async fn pull_config(
    image: &ImageReference,
    wanted: &[Platform],
    options: &Options,
) -> Result<Vec<PulledImage>, PullError> {
    let client = Client::new(image, options)?;
    let root = client.root().await?;
    let kept = Kept { client, keep: options.keep.clone() };
    resolve(&Store::Registry(Box::new(kept)), root, wanted).await
}

/// A client for one repository.
pub(crate) struct Client {
    pub(crate) image: ImageReference,
    options: Options,
    base: Url,
    http: Http,
    authorization: Mutex<Option<HeaderValue>>,
    lookup: OnceLock<Lookup>,
}

impl Client {
    fn new(image: &ImageReference, options: &Options) -> Result<Self, PullError> {
        let host = reference::host(image);
        let fail = |problem| PullError::new(host, &whole_name(image), "", problem);
        let scheme = if reference::is_loopback(image) { "http" } else { "https" };
        let base = Url::parse(&format!("{scheme}://{host}/v2/{}/", image.repository()))
            .map_err(|error| fail(Problem::Reference { reason: error.to_string() }))?;
        let http = Http::new(base.clone(), &options.limits).map_err(fail)?;
        Ok(Self {
            image: image.clone(),
            options: options.clone(),
            base,
            http,
            authorization: Mutex::new(None),
            lookup: OnceLock::new(),
        })
    }

    /// Joins a problem to what was asked.
    pub(crate) fn fail(&self, asked: &str, problem: Problem) -> PullError {
        PullError::new(reference::host(&self.image), &whole_name(&self.image), asked, problem)
    }

    /// The document under the tag or digest of the reference.
    async fn root(&self) -> Result<Root, PullError> {
        let version = reference::version(&self.image);
        let asked = format!("manifest {version}");
        let outcome = self.root_manifest(version).await;
        outcome.map_err(|problem| self.fail(&asked, problem))
    }

    async fn root_manifest(&self, version: &str) -> Result<Root, Problem> {
        let answer = self.manifest_answer(version).await?;
        if answer.status.as_u16() == 404 {
            let nearest = match self.image.digest() {
                Some(_) => Vec::new(),
                None => nearest(version, self.tags().await),
            };
            return Err(Problem::NotFound { said: words(&answer.body), nearest });
        }
        let answer = success(answer)?;
        let announced = answer.header("docker-content-digest").filter(|text| !text.is_empty());
        if let Some(digest) = self.image.digest().or(announced) {
            verify(&answer.body, digest, None)?;
        }
        let digest = self.image.digest().map_or_else(|| sha256(&answer.body), str::to_owned);
        Ok(Root { digest, bytes: answer.body })
    }

    /// The manifest that an index names, checked against its descriptor.
    pub(crate) async fn manifest(&self, descriptor: &Descriptor) -> Result<Vec<u8>, Problem> {
        let cap = self.options.limits.manifest;
        check_size(descriptor, cap)?;
        checked(self.manifest_answer(&descriptor.digest).await?, descriptor)
    }

    /// The config that a manifest names, checked against its descriptor.
    pub(crate) async fn config(&self, descriptor: &Descriptor) -> Result<Vec<u8>, Problem> {
        let cap = self.options.limits.config;
        check_size(descriptor, cap)?;
        let path = format!("blobs/{}", descriptor.digest);
        checked(self.ask(&path, "application/octet-stream, */*", cap).await?, descriptor)
    }

    async fn manifest_answer(&self, version: &str) -> Result<Answer, Problem> {
        let cap = self.options.limits.manifest;
        self.ask(&format!("manifests/{version}"), MANIFEST_TYPES, cap).await
    }

    /// All tags, as far as a few pages tell; none where the registry does not list them.
    async fn tags(&self) -> Vec<String> {
        let mut tags = Vec::new();
        let mut path = "tags/list?n=1000".to_owned();
        for _ in 0..MOST_PAGES {
            let Ok(answer) = self.ask(&path, "application/json", TAGS_CAP).await else { break };
            let Ok(page) = serde_json::from_slice::<TagPage>(&answer.body) else { break };
            tags.extend(page.tags.unwrap_or_default());
            match answer.header(LINK.as_str()).and_then(next_page) {
                Some(next) => next.clone_into(&mut path),
                None => break,
            }
        }
        tags
    }

    /// Asks for a path within the repository, logging in once where that is demanded.
    async fn ask(&self, path: &str, accept: &'static str, cap: u64) -> Result<Answer, Problem> {
        // `./` keeps a digest's `sha256:` from being read as a scheme.
        let path = if path.starts_with(['/', '.']) { path.into() } else { format!("./{path}") };
        let url = self.base.join(&path).ok().filter(|url| url.origin() == self.base.origin());
        let Some(url) = url else {
            return Err(Problem::Refused { to: path, reason: "it leads away from the registry" });
        };
        let request = || {
            let authorization = self.authorization();
            Ask { url: url.clone(), accept, authorization, form: None, cap }
        };
        let mut answer = self.http.send(&request()).await?;
        if answer.status.as_u16() == 401 && self.log_in(&answer).await? {
            answer = self.http.send(&request()).await?;
        }
        if let Some(page) = answer.page() {
            return Err(page);
        }
        let status = answer.status.as_u16();
        if matches!(status, 401 | 403) {
            let by = answer.url.host_str().unwrap_or_default().to_owned();
            let told = self.lookup.get().map(|lookup| lookup.told.clone());
            let credentials = told.unwrap_or_else(|| "no way of logging in was offered".into());
            return Err(Problem::Unauthorized { by, status, said: words(&answer.body), credentials });
        }
        Ok(answer)
    }

    /// Answers the challenge of the registry itself, never that of a host it redirects to.
    async fn log_in(&self, answer: &Answer) -> Result<bool, Problem> {
        if answer.url.origin() != self.base.origin() {
            return Ok(false);
        }
        let headers = answer.headers.get_all(WWW_AUTHENTICATE).into_iter();
        let Some(challenge) = challenge::choose(headers.filter_map(|value| value.to_str().ok())) else {
            return Ok(false);
        };
        let lookup = self.lookup().await?;
        let value = auth::answer(&self.http, &challenge, self.image.repository(), &lookup).await?;
        let found = value.is_some();
        *self.authorization.lock().unwrap_or_else(PoisonError::into_inner) = value;
        Ok(found)
    }

    fn authorization(&self) -> Option<HeaderValue> {
        self.authorization.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn lookup(&self) -> Result<Lookup, Problem> {
        if let Some(lookup) = self.lookup.get() {
            return Ok(lookup.clone());
        }
        let (image, options) = (self.image.clone(), self.options.clone());
        let search = move || credentials::look_up(&image, &options);
        let found = tokio::task::spawn_blocking(search)
            .await
            .map_err(|error| Problem::Challenge { reason: error.to_string() })?;
        Ok(self.lookup.get_or_init(|| found).clone())
    }
}

fn success(answer: Answer) -> Result<Answer, Problem> {
    match answer.status.as_u16() {
        200 => Ok(answer),
        404 => Err(Problem::NotFound { said: words(&answer.body), nearest: Vec::new() }),
        status => Err(Problem::Status { status, said: words(&answer.body), tries: answer.tries }),
    }
}

fn checked(answer: Answer, descriptor: &Descriptor) -> Result<Vec<u8>, Problem> {
    let answer = success(answer)?;
    verify(&answer.body, &descriptor.digest, Some(descriptor.size))?;
    Ok(answer.body)
}

/// Refuses a descriptor that announces too much or a digest that cannot be checked.
pub(crate) fn check_size(descriptor: &Descriptor, cap: u64) -> Result<(), Problem> {
    crate::oci::digest::Digest::parse(&descriptor.digest)?;
    if descriptor.size > cap { Err(Problem::TooLarge { limit: cap }) } else { Ok(()) }
}
