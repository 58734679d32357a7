//! What is written down of base images: the lock file, and the settings that map a base to an image description.

mod keep;
mod read;
mod settings;
mod write;

#[cfg(test)]
mod tests;

use crate::describe::Spanned;
use crate::oci::Platform;
use crate::oci::PulledImage;
use crate::reference::ImageReference;

pub use self::keep::KEPT;
pub use self::settings::{Mapping, mappings};

/// The name by which a lock file is found.
pub const FILE: &str = "imagelint.lock";

/// One base image for one platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The reference, as [`name`] writes it.
    pub reference: Spanned<String>,
    /// `linux/amd64`.
    pub platform: String,
    /// Digest of the index or manifest that the reference stood for.
    pub digest: String,
    /// Digest of the configuration.
    pub config: String,
    /// When the image was made, as it says itself.
    pub created: Option<String>,
    /// Every platform that the reference had an image for.
    pub platforms: Spanned<Vec<String>>,
    /// The program that it starts.
    pub entrypoint: Spanned<Vec<String>>,
    /// Variables that the start-up asks for.
    pub env: Vec<(Spanned<String>, Spanned<String>)>,
    /// Names of the other variables, whose values are not kept.
    pub withheld: Vec<Spanned<String>>,
}

/// A lock file: sorted by reference and platform.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// The bases.
    pub entries: Vec<Entry>,
}

impl Lock {
    /// Puts an entry in the place of that of its reference and platform, or beside the others.
    pub fn put(&mut self, entry: Entry) {
        let key = |entry: &Entry| (entry.reference.value.clone(), entry.platform.clone());
        match self.entries.binary_search_by_key(&key(&entry), key) {
            Ok(at) => self.entries[at] = entry,
            Err(at) => self.entries.insert(at, entry),
        }
    }

    /// The entries of a reference.
    pub fn of<'a>(&'a self, reference: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(move |entry| entry.reference.value == reference)
    }
}

/// A reference as the lock file and the patterns of the settings see it: never without tag and digest.
pub fn name(reference: &ImageReference) -> String {
    let written = reference.to_string();
    if reference.tag().is_none() && reference.digest().is_none() { format!("{written}:latest") } else { written }
}

/// What is written down of an image; nothing of one that does not say its platform.
pub fn entry(reference: &ImageReference, image: &PulledImage) -> Option<Entry> {
    let platform = image.config.platform.to_string();
    platform.parse::<Platform>().ok()?;
    let mut entry = Entry {
        reference: Spanned::nowhere(name(reference)),
        platform,
        digest: image.index_digest.clone().unwrap_or_else(|| image.manifest_digest.clone()),
        config: image.config_digest.clone(),
        created: image.config.created.clone(),
        platforms: Spanned::nowhere(image.platforms.iter().map(ToString::to_string).collect()),
        entrypoint: Spanned::nowhere(image.config.entrypoint.clone()),
        env: Vec::new(),
        withheld: Vec::new(),
    };
    let mut names: Vec<&str> = image.config.env.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let value = image.config.variable(name).unwrap_or_default();
        let spanned = Spanned::nowhere(name.to_owned());
        if keep::is_kept(name, value) {
            entry.env.push((spanned, Spanned::nowhere(value.to_owned())));
        } else {
            entry.withheld.push(spanned);
        }
    }
    entry.platforms.value.sort();
    Some(entry)
}
