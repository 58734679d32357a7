//! The lock file of base images, and the settings that map a base image to an image description.

mod base_mappings;
mod reader;
mod stored_variables;
mod writer;

#[cfg(test)]
mod tests;

use crate::describe::Spanned;
use crate::model::reference::ImageReference;
use crate::registry::{Platform, PulledImage};

pub use self::base_mappings::{BaseMapping, read_base_mappings};
pub use self::stored_variables::STORED_VARIABLES;

/// The name of the lock file.
pub const LOCK_FILE_NAME: &str = "imagelint.lock";

/// One base image for one platform in the lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedBaseImage {
    /// The image reference, with `latest` if it has neither tag nor digest.
    pub reference: Spanned<String>,
    /// The platform, such as `linux/amd64`.
    pub platform: String,
    /// Digest of the index or manifest that the reference pointed to.
    pub digest: String,
    /// Digest of the config.
    pub config: String,
    /// The creation time, as written in the config.
    pub created: Option<String>,
    /// Every platform for which the reference had an image.
    pub platforms: Spanned<Vec<String>>,
    /// The entrypoint.
    pub entrypoint: Spanned<Vec<String>>,
    /// The environment variables that affect start-up or installs.
    pub env: Vec<(Spanned<String>, Spanned<String>)>,
    /// Names of the other variables, whose values are not stored.
    pub withheld: Vec<Spanned<String>>,
}

/// The base images of a lock file, sorted by reference and platform.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseImageLock {
    /// The base images.
    pub entries: Vec<LockedBaseImage>,
}

impl BaseImageLock {
    /// Inserts an entry, replacing one with the same reference and platform.
    pub fn insert(&mut self, entry: LockedBaseImage) {
        let key = |entry: &LockedBaseImage| (entry.reference.value.clone(), entry.platform.clone());
        match self.entries.binary_search_by_key(&key(&entry), key) {
            Ok(at) => self.entries[at] = entry,
            Err(at) => self.entries.insert(at, entry),
        }
    }

    /// Returns the entries of a reference.
    pub fn entries_for<'a>(&'a self, reference: &'a str) -> impl Iterator<Item = &'a LockedBaseImage> {
        self.entries.iter().filter(move |entry| entry.reference.value == reference)
    }
}

/// Returns a reference as lock files and patterns write it: with `:latest` if it has neither tag nor digest.
pub fn reference_with_default_tag(reference: &ImageReference) -> String {
    let written = reference.to_string();
    if reference.tag().is_none() && reference.digest().is_none() { format!("{written}:latest") } else { written }
}

/// Returns the lock entry of an image; `None` if the image does not specify its platform.
pub fn locked_base_image(reference: &ImageReference, image: &PulledImage) -> Option<LockedBaseImage> {
    let platform = image.config.platform.to_string();
    platform.parse::<Platform>().ok()?;
    let mut entry = LockedBaseImage {
        reference: Spanned::without_span(reference_with_default_tag(reference)),
        platform,
        digest: image.index_digest.clone().unwrap_or_else(|| image.manifest_digest.clone()),
        config: image.config_digest.clone(),
        created: image.config.created.clone(),
        platforms: Spanned::without_span(image.platforms.iter().map(ToString::to_string).collect()),
        entrypoint: Spanned::without_span(image.config.entrypoint.clone()),
        env: Vec::new(),
        withheld: Vec::new(),
    };
    let mut names: Vec<&str> = image.config.env.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let value = image.config.variable(name).unwrap_or_default();
        let spanned = Spanned::without_span(name.to_owned());
        if stored_variables::is_stored(name, value) {
            entry.env.push((spanned, Spanned::without_span(value.to_owned())));
        } else {
            entry.withheld.push(spanned);
        }
    }
    entry.platforms.value.sort();
    Some(entry)
}
