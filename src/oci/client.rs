//! The registry side: manifests, blobs and tags of one repository.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Response;
use reqwest::header::LINK;

use crate::oci::digest::Digest;
use crate::oci::digest::sha256;
use crate::oci::digest::verify;
use crate::oci::error::Problem;
use crate::oci::error::PullError;
use crate::oci::http::Answer;
use crate::oci::http::Opened;
use crate::oci::http::Patience;
use crate::oci::options::Limits;
use crate::oci::page::words;
use crate::oci::reference;
use crate::oci::reference::whole_name;
use crate::oci::resolve::Root;
use crate::oci::session::Session;
use crate::oci::tags::TagPage;
use crate::oci::tags::nearest;
use crate::oci::tags::next_page;
use crate::oci::types::Descriptor;
use crate::oci::types::MANIFEST_TYPES;
use crate::reference::ImageReference;

/// How many pages of tags are read to name the nearest.
const MOST_PAGES: usize = 5;
/// How many tags are read where all are asked for.
const MOST_TAGS: usize = 100_000;
/// How many requests are made for them: one for every ten tags.
const MOST_REQUESTS: usize = 10_000;
/// The largest page of tags.
const TAGS_CAP: u64 = 1 << 20;

/// A client for one image.
pub(crate) struct Client {
    pub(crate) image: ImageReference,
    limits: Limits,
    session: Arc<Session>,
}

impl Client {
    /// A client over a session with the image's registry.
    pub(crate) fn new(image: &ImageReference, limits: &Limits, session: Arc<Session>) -> Self {
        Self { image: image.clone(), limits: limits.clone(), session }
    }

    /// Joins a problem to what was asked.
    pub(crate) fn fail(&self, asked: &str, problem: Problem) -> PullError {
        PullError::new(self.session.host(), &whole_name(&self.image), asked, problem)
    }

    /// The document under the tag or digest of the reference.
    pub(crate) async fn root(&self, patience: Patience) -> Result<Root, PullError> {
        let version = reference::version(&self.image);
        let asked = format!("manifest {version}");
        let outcome = self.root_manifest(version, patience).await;
        outcome.map_err(|problem| self.fail(&asked, problem))
    }

    async fn root_manifest(&self, version: &str, patience: Patience) -> Result<Root, Problem> {
        let answer = self.manifest_as(version, patience).await?;
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
        let cap = self.limits.manifest;
        check_size(descriptor, cap)?;
        checked(self.manifest_answer(&descriptor.digest).await?, descriptor)
    }

    /// The config that a manifest names, checked against its descriptor.
    pub(crate) async fn config(&self, descriptor: &Descriptor) -> Result<Vec<u8>, Problem> {
        let cap = self.limits.config;
        check_size(descriptor, cap)?;
        let path = format!("blobs/{}", descriptor.digest);
        checked(self.session.ask(&path, "application/octet-stream, */*", cap).await?, descriptor)
    }

    /// The document of a digest, whatever its size; none where the registry has none.
    pub(crate) async fn document(&self, digest: &str) -> Result<Option<Vec<u8>>, Problem> {
        Digest::parse(digest)?;
        let answer = self.manifest_answer(digest).await?;
        if answer.status.as_u16() == 404 {
            return Ok(None);
        }
        let answer = success(answer)?;
        verify(&answer.body, digest, None)?;
        Ok(Some(answer.body))
    }

    /// The index of what refers to a digest: of the registry, or under the tag that stands in where it keeps none.
    pub(crate) async fn referrers(&self, digest: &str) -> Result<Option<Vec<u8>>, Problem> {
        Digest::parse(digest)?;
        let cap = self.limits.manifest;
        let answer = self.session.ask(&format!("referrers/{digest}"), MANIFEST_TYPES, cap).await?;
        if answer.status.is_success() {
            return Ok(Some(answer.body));
        }
        let answer = self.manifest_answer(&digest.replacen(':', "-", 1)).await?;
        if answer.status.as_u16() == 404 { Ok(None) } else { success(answer).map(|answer| Some(answer.body)) }
    }

    /// The bytes of a layer, from one of them on.
    pub(crate) async fn layer(&self, digest: &str, from: u64) -> Result<Box<Response>, Problem> {
        Digest::parse(digest)?;
        match self.session.open(&format!("blobs/{digest}"), "application/octet-stream, */*", from).await? {
            Opened::Stream(response) => Ok(response),
            Opened::Answer(answer) => Err(success(*answer)
                .err()
                .unwrap_or(Problem::Malformed { what: "layer", cause: "a response without the layer's bytes".into() })),
        }
    }

    /// How long to wait before a broken stream is taken up again.
    pub(crate) fn back_off(&self, tries: u32) -> Duration {
        self.session.back_off(tries)
    }

    async fn manifest_answer(&self, version: &str) -> Result<Answer, Problem> {
        self.manifest_as(version, Patience::Whole).await
    }

    async fn manifest_as(&self, version: &str, patience: Patience) -> Result<Answer, Problem> {
        let cap = self.limits.manifest;
        self.session.ask_as(&format!("manifests/{version}"), MANIFEST_TYPES, cap, patience).await
    }

    /// Every tag once, in the order of the registry, until a page brings none that is new; a list that goes on without
    /// end is an error.
    pub(crate) async fn every_tag(&self, patience: Patience) -> Result<Vec<String>, PullError> {
        let fail = |problem| self.fail("the tags", problem);
        let (mut tags, mut known) = (Vec::new(), HashSet::new());
        let mut path = "tags/list?n=1000".to_owned();
        for _ in 0..MOST_REQUESTS {
            let answer = self.session.ask_as(&path, "application/json", TAGS_CAP, patience).await;
            let answer = answer.and_then(success).map_err(fail)?;
            let page: TagPage = serde_json::from_slice(&answer.body)
                .map_err(|error| fail(Problem::Malformed { what: "list of tags", cause: error.to_string() }))?;
            let before = tags.len();
            tags.extend(page.tags.unwrap_or_default().into_iter().filter(|tag| known.insert(tag.clone())));
            if tags.len() > MOST_TAGS {
                return Err(fail(Problem::TooMany { what: "tags", limit: MOST_TAGS }));
            }
            match answer.header(LINK.as_str()).and_then(next_page) {
                Some(next) if tags.len() > before => next.clone_into(&mut path),
                _ => return Ok(tags),
            }
        }
        Err(fail(Problem::TooMany { what: "pages of tags", limit: MOST_REQUESTS }))
    }

    /// All tags, as far as a few pages tell; none where the registry does not list them.
    async fn tags(&self) -> Vec<String> {
        let mut tags = Vec::new();
        let mut path = "tags/list?n=1000".to_owned();
        for _ in 0..MOST_PAGES {
            let Ok(answer) = self.session.ask(&path, "application/json", TAGS_CAP).await else { break };
            let Ok(page) = serde_json::from_slice::<TagPage>(&answer.body) else { break };
            tags.extend(page.tags.unwrap_or_default());
            match answer.header(LINK.as_str()).and_then(next_page) {
                Some(next) => next.clone_into(&mut path),
                None => break,
            }
        }
        tags
    }
}

fn success(answer: Answer) -> Result<Answer, Problem> {
    let (said, tries) = (words(&answer.body), answer.tries);
    match (answer.status.as_u16(), answer.elsewhere.clone()) {
        (200, _) => Ok(answer),
        (status, Some(by)) => Err(Problem::Elsewhere { by, status, said, tries }),
        (404, None) => Err(Problem::NotFound { said, nearest: Vec::new() }),
        (status, None) => Err(Problem::Status { status, said, tries }),
    }
}

fn checked(answer: Answer, descriptor: &Descriptor) -> Result<Vec<u8>, Problem> {
    let answer = success(answer)?;
    verify(&answer.body, &descriptor.digest, Some(descriptor.size))?;
    Ok(answer.body)
}

/// Refuses a descriptor that announces too much or a digest that cannot be checked.
pub(crate) fn check_size(descriptor: &Descriptor, cap: u64) -> Result<(), Problem> {
    Digest::parse(&descriptor.digest)?;
    if descriptor.size > cap { Err(Problem::TooLarge { limit: cap }) } else { Ok(()) }
}
