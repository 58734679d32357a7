//! From the document of a reference to the configs of the requested platforms, in any store.

use std::collections::VecDeque;

use crate::registry::cached_registry::CachedRegistry;
use crate::registry::docker_archive::DockerArchive;
use crate::registry::engine_inspection::EngineInspection;
use crate::registry::image::{ImageConfig, PulledImage};
use crate::registry::image_layout::ImageLayout;
use crate::registry::image_name::full_name;
use crate::registry::manifest_types::{Descriptor, Manifest, RootDocument};
use crate::registry::platform::Platform;
use crate::registry::pull_error::{PullError, PullProblem};

/// Maximum depth of nested indexes.
const MAX_INDEX_DEPTH: u32 = 4;
/// Maximum number of entries in all indexes of one reference.
const MAX_INDEX_ENTRIES: usize = 256;
/// Maximum number of nested indexes of one reference.
const MAX_INDEXES: usize = 16;

/// A store of manifests and configs.
pub(crate) enum ImageStore {
    Registry(CachedRegistry),
    Layout(ImageLayout),
    Saved(DockerArchive),
    /// A container engine that provides the config but no layers.
    Inspected(EngineInspection),
}

impl ImageStore {
    /// Reads the manifest of a descriptor.
    async fn manifest(&self, descriptor: &Descriptor) -> Result<Vec<u8>, PullProblem> {
        match self {
            Self::Registry(kept) => kept.manifest(descriptor).await,
            Self::Layout(layout) => layout.manifest(descriptor),
            Self::Saved(_) | Self::Inspected(_) => Err(missing_manifest()),
        }
    }

    /// Reads the config of a descriptor.
    async fn config(&self, descriptor: &Descriptor) -> Result<Vec<u8>, PullProblem> {
        match self {
            Self::Registry(kept) => kept.config(descriptor).await,
            Self::Layout(layout) => layout.config(descriptor),
            Self::Saved(_) | Self::Inspected(_) => Err(missing_manifest()),
        }
    }

    /// Reads the manifest or index of a digest; `None` if the store has none.
    pub(crate) async fn document(&self, digest: &str) -> Result<Option<Vec<u8>>, PullProblem> {
        match self {
            Self::Registry(kept) => kept.client.document(digest).await,
            Self::Layout(layout) => layout.document(digest),
            Self::Saved(_) | Self::Inspected(_) => Ok(None),
        }
    }

    /// Reads the index of the referrers of a digest, if the store has one.
    pub(crate) async fn referrers(&self, digest: &str) -> Result<Option<Vec<u8>>, PullProblem> {
        match self {
            Self::Registry(kept) => kept.client.referrers(digest).await,
            Self::Layout(_) | Self::Saved(_) | Self::Inspected(_) => Ok(None),
        }
    }

    /// Returns a pull error with the store, the reference and the failed request.
    pub(crate) fn pull_error(&self, request: &str, problem: PullProblem) -> PullError {
        match self {
            Self::Registry(kept) => kept.client.pull_error(request, problem),
            Self::Layout(layout) => layout.pull_error(request, problem),
            Self::Saved(saved) => saved.pull_error(request, problem),
            Self::Inspected(inspected) => inspected.pull_error(request, problem),
        }
    }

    /// Returns the registry's host and port, or the path of the file or directory.
    pub(crate) fn host(&self) -> String {
        self.pull_error("", PullProblem::Blocked).place.host
    }

    /// Returns the image reference as a user writes it.
    fn reference(&self) -> String {
        match self {
            Self::Registry(kept) => full_name(&kept.client.image),
            Self::Layout(layout) => layout.reference(),
            Self::Saved(saved) => saved.reference(),
            Self::Inspected(inspected) => inspected.reference(),
        }
    }

    /// Reads and parses the manifest of a descriptor.
    async fn parse_manifest(&self, descriptor: &Descriptor) -> Result<Manifest, PullError> {
        let outcome = self.manifest(descriptor).await.and_then(|bytes| Manifest::parse(&bytes));
        outcome.map_err(|problem| self.pull_error(&format!("manifest {}", descriptor.digest), problem))
    }
}

/// Returns the problem of a store without manifests.
fn missing_manifest() -> PullProblem {
    PullProblem::Malformed { what: "manifest", error: "docker save archives have no manifest".into() }
}

/// An image of an index, with its platform.
struct IndexedImage {
    descriptor: Descriptor,
    platform: Platform,
    /// The digest and the config, if the config was read to learn the platform.
    pulled: Option<(String, ImageConfig)>,
}

/// Reads the config of every requested platform that exists; of all platforms if none is requested.
pub(crate) async fn resolve_images(
    store: &ImageStore,
    root: RootDocument,
    requested: &[Platform],
) -> Result<Vec<PulledImage>, PullError> {
    let request = format!("manifest {}", root.digest);
    let parsed = Manifest::parse(&root.bytes).map_err(|problem| store.pull_error(&request, problem))?;
    let entries = match parsed {
        Manifest::Index(entries) => entries,
        image @ Manifest::Image { .. } => {
            return resolve_single(store, root.digest, image, requested).await.map(|image| vec![image]);
        }
    };
    let leaves = indexed_images(store, entries).await?;
    let mut platforms: Vec<Platform> = Vec::new();
    for leaf in &leaves {
        if !platforms.contains(&leaf.platform) {
            platforms.push(leaf.platform.clone());
        }
    }
    let chosen = select_platforms(&leaves, requested);
    if chosen.is_empty() {
        let problem = PullProblem::MissingPlatform { requested: requested.to_vec(), available: platforms };
        return Err(store.pull_error(&request, problem));
    }
    let mut images = Vec::new();
    for leaf in chosen {
        let (config_digest, config) = match &leaf.pulled {
            Some(pulled) => pulled.clone(),
            None => pull_config(store, store.parse_manifest(&leaf.descriptor).await?).await?,
        };
        images.push(PulledImage {
            reference: store.reference(),
            index_digest: Some(root.digest.clone()),
            manifest_digest: leaf.descriptor.digest.clone(),
            config_digest,
            platforms: platforms.clone(),
            config,
        });
    }
    Ok(images)
}

/// Reads the config of a manifest that is not in an index, and checks its platform.
async fn resolve_single(
    store: &ImageStore,
    manifest_digest: String,
    image: Manifest,
    requested: &[Platform],
) -> Result<PulledImage, PullError> {
    let (config_digest, config) = pull_config(store, image).await?;
    let platform = &config.platform;
    let fits = requested.is_empty() || platform.is_unspecified();
    if !fits && !requested.iter().any(|target| target.accepts(platform)) {
        let available = vec![platform.clone()];
        let problem = PullProblem::MissingPlatform { requested: requested.to_vec(), available };
        return Err(store.pull_error(&format!("manifest {manifest_digest}"), problem));
    }
    Ok(PulledImage {
        reference: store.reference(),
        index_digest: None,
        manifest_digest,
        config_digest,
        platforms: vec![platform.clone()],
        config,
    })
}

/// Reads the config of an image manifest; returns its digest and the config.
async fn pull_config(store: &ImageStore, manifest: Manifest) -> Result<(String, ImageConfig), PullError> {
    let Manifest::Image { config, layers } = manifest else {
        let error = "it is an index, but an image manifest was expected".into();
        return Err(store.pull_error("an image manifest", PullProblem::Malformed { what: "manifest", error }));
    };
    let outcome = store.config(&config).await;
    outcome
        .and_then(|bytes| ImageConfig::parse(&bytes, &layers))
        .map(|parsed| (config.digest.clone(), parsed))
        .map_err(|problem| store.pull_error(&format!("config {}", config.digest), problem))
}

/// Returns the images of an index and of its nested indexes, without attestations.
async fn indexed_images(store: &ImageStore, entries: Vec<Descriptor>) -> Result<Vec<IndexedImage>, PullError> {
    let mut queue: VecDeque<(Descriptor, u32)> = entries.into_iter().map(|entry| (entry, 1)).collect();
    let mut leaves = Vec::new();
    let mut indexes = 0;
    while let Some((descriptor, depth)) = queue.pop_front() {
        let too_wide = leaves.len() + queue.len() > MAX_INDEX_ENTRIES || indexes > MAX_INDEXES;
        if too_wide || (depth >= MAX_INDEX_DEPTH && descriptor.is_index()) {
            let request = format!("manifest {}", descriptor.digest);
            return Err(store.pull_error(&request, PullProblem::IndexTooDeep { limit: MAX_INDEX_DEPTH }));
        }
        if descriptor.is_attestation() {
            continue;
        }
        if descriptor.is_index() {
            indexes += 1;
            if let Manifest::Index(inner) = store.parse_manifest(&descriptor).await? {
                queue.extend(inner.into_iter().map(|entry| (entry, depth + 1)));
            }
            continue;
        }
        let known = descriptor.platform.clone().filter(|platform| !platform.is_unspecified());
        match known {
            Some(platform) => leaves.push(IndexedImage { descriptor, platform, pulled: None }),
            None => leaves.extend(image_without_platform(store, descriptor).await?),
        }
    }
    Ok(leaves)
}

/// Reads the platform of an entry without one from its config; `None` for an artifact.
async fn image_without_platform(store: &ImageStore, descriptor: Descriptor) -> Result<Option<IndexedImage>, PullError> {
    let parsed = match store.parse_manifest(&descriptor).await {
        Ok(parsed) => parsed,
        Err(error) if matches!(*error.problem, PullProblem::NotAnImage { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let pulled = pull_config(store, parsed).await?;
    Ok(Some(IndexedImage { descriptor, platform: pulled.1.platform.clone(), pulled: Some(pulled) }))
}

/// Selects one image for each requested platform; an exact match comes before a match with another variant.
fn select_platforms<'a>(leaves: &'a [IndexedImage], requested: &[Platform]) -> Vec<&'a IndexedImage> {
    if requested.is_empty() {
        return leaves.iter().collect();
    }
    let mut chosen: Vec<&IndexedImage> = Vec::new();
    for platform in requested {
        let exact = leaves.iter().find(|leaf| leaf.platform == *platform);
        let fitting = || leaves.iter().find(|leaf| platform.accepts(&leaf.platform));
        let Some(leaf) = exact.or_else(fitting) else { continue };
        if !chosen.iter().any(|known| known.descriptor.digest == leaf.descriptor.digest) {
            chosen.push(leaf);
        }
    }
    chosen
}
