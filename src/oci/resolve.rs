//! From a tag's document to the configs of the wanted platforms, whatever store it lies in.

use std::collections::VecDeque;

use crate::oci::error::Problem;
use crate::oci::error::PullError;
use crate::oci::image::ImageConfig;
use crate::oci::image::PulledImage;
use crate::oci::inspected::Inspected;
use crate::oci::keep::Kept;
use crate::oci::layout::Layout;
use crate::oci::platform::Platform;
use crate::oci::reference::whole_name;
use crate::oci::saved::Saved;
use crate::oci::types::Descriptor;
use crate::oci::types::Manifest;

/// An index may hold indexes, and those hold images.
const DEEPEST: u32 = 4;
/// How many entries are read of all indexes under one tag.
const MOST_ENTRIES: usize = 256;
/// How many of them may be indexes.
const MOST_INDEXES: usize = 16;

/// A place with manifests and configs.
pub(crate) enum Store {
    Registry(Kept),
    Layout(Layout),
    Saved(Saved),
    /// An engine that told the configuration and was not asked for layers.
    Inspected(Inspected),
}

impl Store {
    async fn manifest(&self, descriptor: &Descriptor) -> Result<Vec<u8>, Problem> {
        match self {
            Self::Registry(kept) => kept.manifest(descriptor).await,
            Self::Layout(layout) => layout.manifest(descriptor),
            Self::Saved(_) | Self::Inspected(_) => Err(no_manifest()),
        }
    }

    async fn config(&self, descriptor: &Descriptor) -> Result<Vec<u8>, Problem> {
        match self {
            Self::Registry(kept) => kept.config(descriptor).await,
            Self::Layout(layout) => layout.config(descriptor),
            Self::Saved(_) | Self::Inspected(_) => Err(no_manifest()),
        }
    }

    /// The document of a digest; none where the place has none.
    pub(crate) async fn document(&self, digest: &str) -> Result<Option<Vec<u8>>, Problem> {
        match self {
            Self::Registry(kept) => kept.client.document(digest).await,
            Self::Layout(layout) => layout.document(digest),
            Self::Saved(_) | Self::Inspected(_) => Ok(None),
        }
    }

    /// The index of what refers to a digest, where the place keeps one.
    pub(crate) async fn referrers(&self, digest: &str) -> Result<Option<Vec<u8>>, Problem> {
        match self {
            Self::Registry(kept) => kept.client.referrers(digest).await,
            Self::Layout(_) | Self::Saved(_) | Self::Inspected(_) => Ok(None),
        }
    }

    pub(crate) fn fail(&self, asked: &str, problem: Problem) -> PullError {
        match self {
            Self::Registry(kept) => kept.client.fail(asked, problem),
            Self::Layout(layout) => layout.fail(asked, problem),
            Self::Saved(saved) => saved.fail(asked, problem),
            Self::Inspected(inspected) => inspected.fail(asked, problem),
        }
    }

    /// The registry's host and port, or the file or folder.
    pub(crate) fn host(&self) -> String {
        self.fail("", Problem::Blocked).place.host
    }

    fn reference(&self) -> String {
        match self {
            Self::Registry(kept) => whole_name(&kept.client.image),
            Self::Layout(layout) => layout.reference(),
            Self::Saved(saved) => saved.reference(),
            Self::Inspected(inspected) => inspected.reference(),
        }
    }

    async fn parsed(&self, descriptor: &Descriptor) -> Result<Manifest, PullError> {
        let outcome = self.manifest(descriptor).await.and_then(|bytes| Manifest::parse(&bytes));
        outcome.map_err(|problem| self.fail(&format!("manifest {}", descriptor.digest), problem))
    }
}

fn no_manifest() -> Problem {
    Problem::Malformed { what: "manifest", cause: "docker save archives have no manifest".into() }
}

/// The document under the reference.
pub(crate) struct Root {
    pub(crate) digest: String,
    pub(crate) bytes: Vec<u8>,
}

/// An image of an index whose platform is known.
struct Leaf {
    descriptor: Descriptor,
    platform: Platform,
    /// What was already pulled to learn the platform.
    pulled: Option<(String, ImageConfig)>,
}

/// Pulls the config of every wanted platform that exists; of all where none is named.
pub(crate) async fn resolve(store: &Store, root: Root, wanted: &[Platform]) -> Result<Vec<PulledImage>, PullError> {
    let asked = format!("manifest {}", root.digest);
    let parsed = Manifest::parse(&root.bytes).map_err(|problem| store.fail(&asked, problem))?;
    let entries = match parsed {
        Manifest::Index(entries) => entries,
        image @ Manifest::Image { .. } => {
            return single(store, root.digest, image, wanted).await.map(|image| vec![image]);
        }
    };
    let leaves = leaves(store, entries).await?;
    let mut platforms: Vec<Platform> = Vec::new();
    for leaf in &leaves {
        if !platforms.contains(&leaf.platform) {
            platforms.push(leaf.platform.clone());
        }
    }
    let chosen = choose(&leaves, wanted);
    if chosen.is_empty() {
        let problem = Problem::MissingPlatform { wanted: wanted.to_vec(), available: platforms };
        return Err(store.fail(&asked, problem));
    }
    let mut images = Vec::new();
    for leaf in chosen {
        let (config_digest, config) = match &leaf.pulled {
            Some(pulled) => pulled.clone(),
            None => pull(store, store.parsed(&leaf.descriptor).await?).await?,
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

async fn single(
    store: &Store,
    manifest_digest: String,
    image: Manifest,
    wanted: &[Platform],
) -> Result<PulledImage, PullError> {
    let (config_digest, config) = pull(store, image).await?;
    let platform = &config.platform;
    let fits = wanted.is_empty() || platform.is_unsaid();
    if !fits && !wanted.iter().any(|wanted| wanted.accepts(platform)) {
        let available = vec![platform.clone()];
        let problem = Problem::MissingPlatform { wanted: wanted.to_vec(), available };
        return Err(store.fail(&format!("manifest {manifest_digest}"), problem));
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

async fn pull(store: &Store, manifest: Manifest) -> Result<(String, ImageConfig), PullError> {
    let Manifest::Image { config, layers } = manifest else {
        let cause = "it is an index, but an image manifest was expected".into();
        return Err(store.fail("an image manifest", Problem::Malformed { what: "manifest", cause }));
    };
    let outcome = store.config(&config).await;
    outcome
        .and_then(|bytes| ImageConfig::parse(&bytes, &layers))
        .map(|parsed| (config.digest.clone(), parsed))
        .map_err(|problem| store.fail(&format!("config {}", config.digest), problem))
}

/// The images of an index and of the indexes in it, without attestations.
async fn leaves(store: &Store, entries: Vec<Descriptor>) -> Result<Vec<Leaf>, PullError> {
    let mut queue: VecDeque<(Descriptor, u32)> = entries.into_iter().map(|entry| (entry, 1)).collect();
    let mut leaves = Vec::new();
    let mut indexes = 0;
    while let Some((descriptor, depth)) = queue.pop_front() {
        let too_wide = leaves.len() + queue.len() > MOST_ENTRIES || indexes > MOST_INDEXES;
        if too_wide || (depth >= DEEPEST && descriptor.is_index()) {
            let asked = format!("manifest {}", descriptor.digest);
            return Err(store.fail(&asked, Problem::IndexTooDeep { limit: DEEPEST }));
        }
        if descriptor.is_attestation() {
            continue;
        }
        if descriptor.is_index() {
            indexes += 1;
            if let Manifest::Index(inner) = store.parsed(&descriptor).await? {
                queue.extend(inner.into_iter().map(|entry| (entry, depth + 1)));
            }
            continue;
        }
        let known = descriptor.platform.clone().filter(|platform| !platform.is_unsaid());
        match known {
            Some(platform) => leaves.push(Leaf { descriptor, platform, pulled: None }),
            None => leaves.extend(unlabelled(store, descriptor).await?),
        }
    }
    Ok(leaves)
}

/// An entry without a platform: only its config tells; an artifact is left out.
async fn unlabelled(store: &Store, descriptor: Descriptor) -> Result<Option<Leaf>, PullError> {
    let parsed = match store.parsed(&descriptor).await {
        Ok(parsed) => parsed,
        Err(error) if matches!(*error.problem, Problem::NotAnImage { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let pulled = pull(store, parsed).await?;
    Ok(Some(Leaf { descriptor, platform: pulled.1.platform.clone(), pulled: Some(pulled) }))
}

/// One leaf for each wanted platform, an exact match before a match of another variant.
fn choose<'a>(leaves: &'a [Leaf], wanted: &[Platform]) -> Vec<&'a Leaf> {
    if wanted.is_empty() {
        return leaves.iter().collect();
    }
    let mut chosen: Vec<&Leaf> = Vec::new();
    for platform in wanted {
        let exact = leaves.iter().find(|leaf| leaf.platform == *platform);
        let fitting = || leaves.iter().find(|leaf| platform.accepts(&leaf.platform));
        let Some(leaf) = exact.or_else(fitting) else { continue };
        if !chosen.iter().any(|known| known.descriptor.digest == leaf.descriptor.digest) {
            chosen.push(leaf);
        }
    }
    chosen
}
