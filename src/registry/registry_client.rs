//! A registry client: manifests, blobs and tags of one repository.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Response;
use reqwest::header::LINK;

use crate::model::reference::ImageReference;
use crate::registry::content_digest::{ContentDigest, sha256, verify_digest};
use crate::registry::error_body::error_message;
use crate::registry::http_client::{HttpResponse, OpenedResponse, RetryPolicy};
use crate::registry::image_name;
use crate::registry::image_name::full_name;
use crate::registry::manifest_types::{Descriptor, MANIFEST_TYPES, RootDocument, check_descriptor};
use crate::registry::pull_error::{PullError, PullProblem};
use crate::registry::pull_options::PullLimits;
use crate::registry::registry_session::RegistrySession;
use crate::registry::tags::{TagPage, nearest_tags, next_page_path};

/// Maximum number of tag pages that are read to suggest the nearest tags.
const MAX_SUGGESTION_PAGES: usize = 5;
/// Maximum number of tags in a complete list of tags.
const MAX_TAGS: usize = 100_000;
/// Maximum number of requests for a complete list of tags.
const MAX_TAG_REQUESTS: usize = 10_000;
/// Maximum size in bytes of one page of tags.
const MAX_TAG_PAGE_BYTES: u64 = 1 << 20;

/// A client for the repository of one image reference.
pub(crate) struct RegistryClient {
    pub(crate) image: ImageReference,
    limits: PullLimits,
    session: Arc<RegistrySession>,
}

impl RegistryClient {
    /// Creates a client that uses a session with the image's registry.
    pub(crate) fn new(image: &ImageReference, limits: &PullLimits, session: Arc<RegistrySession>) -> Self {
        Self { image: image.clone(), limits: limits.clone(), session }
    }

    /// Returns a pull error with the registry, the reference and the failed request.
    pub(crate) fn pull_error(&self, request: &str, problem: PullProblem) -> PullError {
        PullError::new(self.session.host(), &full_name(&self.image), request, problem)
    }

    /// Fetches the document of the reference's tag or digest.
    pub(crate) async fn root_document(&self, patience: RetryPolicy) -> Result<RootDocument, PullError> {
        let version = image_name::tag_or_digest(&self.image);
        let request = format!("manifest {version}");
        let outcome = self.fetch_root_document(version, patience).await;
        outcome.map_err(|problem| self.pull_error(&request, problem))
    }

    /// Fetches the document of a tag or digest and verifies its digest; for a missing tag suggests the nearest ones.
    async fn fetch_root_document(&self, version: &str, patience: RetryPolicy) -> Result<RootDocument, PullProblem> {
        let answer = self.request_manifest_with(version, patience).await?;
        if answer.status.as_u16() == 404 {
            let nearest = match self.image.digest() {
                Some(_) => Vec::new(),
                None => nearest_tags(version, self.tags_for_suggestion().await),
            };
            return Err(PullProblem::NotFound { message: error_message(&answer.body), nearest });
        }
        let answer = require_success(answer)?;
        let announced = answer.header("docker-content-digest").filter(|text| !text.is_empty());
        if let Some(digest) = self.image.digest().or(announced) {
            verify_digest(&answer.body, digest, None)?;
        }
        let digest = self.image.digest().map_or_else(|| sha256(&answer.body), str::to_owned);
        Ok(RootDocument { digest, bytes: answer.body })
    }

    /// Fetches the manifest of a descriptor and verifies its digest and size.
    pub(crate) async fn manifest(&self, descriptor: &Descriptor) -> Result<Vec<u8>, PullProblem> {
        let cap = self.limits.manifest;
        check_descriptor(descriptor, cap)?;
        verified_body(self.request_manifest(&descriptor.digest).await?, descriptor)
    }

    /// Fetches the config of a descriptor and verifies its digest and size.
    pub(crate) async fn config(&self, descriptor: &Descriptor) -> Result<Vec<u8>, PullProblem> {
        let cap = self.limits.config;
        check_descriptor(descriptor, cap)?;
        let path = format!("blobs/{}", descriptor.digest);
        verified_body(self.session.get(&path, "application/octet-stream, */*", cap).await?, descriptor)
    }

    /// Fetches the manifest or index of a digest and verifies it; `None` if the registry has none.
    pub(crate) async fn document(&self, digest: &str) -> Result<Option<Vec<u8>>, PullProblem> {
        ContentDigest::parse(digest)?;
        let answer = self.request_manifest(digest).await?;
        if answer.status.as_u16() == 404 {
            return Ok(None);
        }
        let answer = require_success(answer)?;
        verify_digest(&answer.body, digest, None)?;
        Ok(Some(answer.body))
    }

    /// Fetches the index of the referrers of a digest, from the referrers API or from its fallback tag.
    pub(crate) async fn referrers(&self, digest: &str) -> Result<Option<Vec<u8>>, PullProblem> {
        ContentDigest::parse(digest)?;
        let cap = self.limits.manifest;
        let answer = self.session.get(&format!("referrers/{digest}"), MANIFEST_TYPES, cap).await?;
        if answer.status.is_success() {
            return Ok(Some(answer.body));
        }
        let answer = self.request_manifest(&digest.replacen(':', "-", 1)).await?;
        if answer.status.as_u16() == 404 { Ok(None) } else { require_success(answer).map(|answer| Some(answer.body)) }
    }

    /// Opens the blob of a layer, starting at byte `from`.
    pub(crate) async fn open_layer(&self, digest: &str, from: u64) -> Result<Box<Response>, PullProblem> {
        ContentDigest::parse(digest)?;
        match self.session.open_stream(&format!("blobs/{digest}"), "application/octet-stream, */*", from).await? {
            OpenedResponse::Stream(response) => Ok(response),
            OpenedResponse::Answer(answer) => Err(require_success(*answer).err().unwrap_or(PullProblem::Malformed {
                what: "layer",
                error: "a response without the layer's bytes".into(),
            })),
        }
    }

    /// Returns the wait before a broken stream is resumed.
    pub(crate) fn back_off(&self, tries: u32) -> Duration {
        self.session.back_off(tries)
    }

    /// Requests the manifest of a tag or digest.
    async fn request_manifest(&self, version: &str) -> Result<HttpResponse, PullProblem> {
        self.request_manifest_with(version, RetryPolicy::Full).await
    }

    /// Requests the manifest of a tag or digest with this retry policy.
    async fn request_manifest_with(&self, version: &str, patience: RetryPolicy) -> Result<HttpResponse, PullProblem> {
        let cap = self.limits.manifest;
        self.session.get_with(&format!("manifests/{version}"), MANIFEST_TYPES, cap, patience).await
    }

    /// Returns every tag once, in the order of the registry; a list with too many tags or pages is an error.
    pub(crate) async fn all_tags(&self, patience: RetryPolicy) -> Result<Vec<String>, PullError> {
        let fail = |problem| self.pull_error("the tags", problem);
        let (mut tags, mut known) = (Vec::new(), HashSet::new());
        let mut path = "tags/list?n=1000".to_owned();
        for _ in 0..MAX_TAG_REQUESTS {
            let answer = self.session.get_with(&path, "application/json", MAX_TAG_PAGE_BYTES, patience).await;
            let answer = answer.and_then(require_success).map_err(fail)?;
            let page: TagPage = serde_json::from_slice(&answer.body)
                .map_err(|error| fail(PullProblem::Malformed { what: "list of tags", error: error.to_string() }))?;
            let before = tags.len();
            tags.extend(page.tags.unwrap_or_default().into_iter().filter(|tag| known.insert(tag.clone())));
            if tags.len() > MAX_TAGS {
                return Err(fail(PullProblem::TooMany { what: "tags", limit: MAX_TAGS }));
            }
            match answer.header(LINK.as_str()).and_then(next_page_path) {
                Some(next) if tags.len() > before => next.clone_into(&mut path),
                _ => return Ok(tags),
            }
        }
        Err(fail(PullProblem::TooMany { what: "pages of tags", limit: MAX_TAG_REQUESTS }))
    }

    /// Returns the tags of the first few pages; empty if the registry does not list them.
    async fn tags_for_suggestion(&self) -> Vec<String> {
        let mut tags = Vec::new();
        let mut path = "tags/list?n=1000".to_owned();
        for _ in 0..MAX_SUGGESTION_PAGES {
            let Ok(answer) = self.session.get(&path, "application/json", MAX_TAG_PAGE_BYTES).await else { break };
            let Ok(page) = serde_json::from_slice::<TagPage>(&answer.body) else { break };
            tags.extend(page.tags.unwrap_or_default());
            match answer.header(LINK.as_str()).and_then(next_page_path) {
                Some(next) => next.clone_into(&mut path),
                None => break,
            }
        }
        tags
    }
}

/// Returns the problem of a response whose status is not 200.
fn require_success(answer: HttpResponse) -> Result<HttpResponse, PullProblem> {
    let (message, tries) = (error_message(&answer.body), answer.tries);
    match (answer.status.as_u16(), answer.redirect_host.clone()) {
        (200, _) => Ok(answer),
        (status, Some(by)) => Err(PullProblem::Elsewhere { by, status, message, tries }),
        (404, None) => Err(PullProblem::NotFound { message, nearest: Vec::new() }),
        (status, None) => Err(PullProblem::Status { status, message, tries }),
    }
}

/// Returns the body of a successful response after it matches the descriptor's digest and size.
fn verified_body(answer: HttpResponse, descriptor: &Descriptor) -> Result<Vec<u8>, PullProblem> {
    let answer = require_success(answer)?;
    verify_digest(&answer.body, &descriptor.digest, Some(descriptor.size))?;
    Ok(answer.body)
}
