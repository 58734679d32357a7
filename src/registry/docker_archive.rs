//! Archives of `docker save`: `manifest.json` lists the config and the layer files of each image.

use std::collections::BTreeMap;
use std::io::Read;

use serde::Deserialize;

use crate::model::reference::ImageReference;
use crate::registry::content_digest::{ContentDigest, sha256, sha256_of_reader};
use crate::registry::image::{ImageConfig, Layer, PulledImage};
use crate::registry::image_archive::{CompressionFormat, ImageArchive};
use crate::registry::image_source::image_number;
use crate::registry::manifest_types::{Descriptor, malformed_json};
use crate::registry::platform::Platform;
use crate::registry::pull_error::{PullError, PullProblem, one_line};
use crate::registry::pull_options::PullLimits;

/// An image in a `docker save` archive.
pub(crate) struct DockerArchive {
    archive: ImageArchive,
    reference: String,
    /// The file of each layer, by the digest that identifies the layer.
    paths: BTreeMap<String, String>,
}

/// One image in `manifest.json`.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DockerArchiveEntry {
    config: String,
    repo_tags: Option<Vec<String>>,
    layers: Option<Vec<String>>,
}

/// The part of the config that lists the layers.
#[derive(Default, Deserialize)]
struct DockerArchiveConfig {
    rootfs: Option<DockerArchiveRootFs>,
}

/// The digests of the uncompressed layers.
#[derive(Deserialize)]
struct DockerArchiveRootFs {
    diff_ids: Option<Vec<String>>,
}

impl DockerArchive {
    /// Reads the image with this name, or the only image if no name is passed.
    pub(crate) fn open(
        archive: ImageArchive,
        reference: &str,
        name: Option<&str>,
        requested: &[Platform],
        limits: &PullLimits,
    ) -> Result<(Self, PulledImage), PullError> {
        let mut saved = Self { archive, reference: reference.into(), paths: BTreeMap::new() };
        let image = saved.read_image(name, limits).map_err(|problem| saved.pull_error("manifest.json", problem))?;
        let platform = &image.config.platform;
        if !platform.is_unspecified()
            && !requested.is_empty()
            && !requested.iter().any(|target| target.accepts(platform))
        {
            let problem =
                PullProblem::MissingPlatform { requested: requested.to_vec(), available: vec![platform.clone()] };
            return Err(saved.pull_error("manifest.json", problem));
        }
        Ok((saved, image))
    }

    /// Reads the config and the layers of the image with this name.
    fn read_image(&mut self, name: Option<&str>, limits: &PullLimits) -> Result<PulledImage, PullProblem> {
        let bytes = self.archive.read_member("manifest.json", limits.manifest)?;
        let entries: Vec<DockerArchiveEntry> =
            serde_json::from_slice(&bytes).map_err(|error| malformed_json("manifest.json", &error))?;
        let entry = find_entry(&entries, name)?;
        let bytes = self.archive.read_member(&entry.config, limits.config)?;
        let config: DockerArchiveConfig =
            serde_json::from_slice(&bytes).map_err(|error| malformed_json("image config", &error))?;
        let diff_ids = config.rootfs.and_then(|rootfs| rootfs.diff_ids).unwrap_or_default();
        let files = entry.layers.clone().unwrap_or_default();
        if diff_ids.len() != files.len() {
            let error = format!("{} layers, but the config has digests of {}", files.len(), diff_ids.len());
            return Err(PullProblem::Malformed { what: "manifest.json", error });
        }
        let mut layers = Vec::new();
        for (file, diff_id) in files.iter().zip(&diff_ids) {
            let layer = self.layer_descriptor(file, diff_id)?;
            self.paths.insert(layer.digest.clone(), file.clone());
            layers.push(layer);
        }
        let config = ImageConfig::parse(&bytes, &layers)?;
        let digest = sha256(&bytes);
        Ok(PulledImage {
            reference: self.reference.clone(),
            index_digest: None,
            manifest_digest: digest.clone(),
            config_digest: digest,
            platforms: vec![config.platform.clone()],
            config,
        })
    }

    /// Describes a layer. An uncompressed layer is identified by its diff ID, a compressed one by the digest in its
    /// file name or, without one, by its sha256.
    fn layer_descriptor(&self, file: &str, diff_id: &str) -> Result<Descriptor, PullProblem> {
        ContentDigest::parse(diff_id)?;
        let missing = || PullProblem::File {
            path: self.archive.display_location(),
            error: format!("it does not contain `{}`", one_line(file, 200)),
        };
        let (_, size) = self.archive.member_range(file).ok_or_else(missing)?;
        let packing = self.archive.compression(file);
        let digest = match (packing, digest_in_file_name(file)) {
            (CompressionFormat::None, _) => diff_id.to_owned(),
            (_, Some(digest)) if digest != diff_id => digest,
            _ => sha256_of_reader(self.archive.open_member(file)?.1).map_err(|error| PullProblem::File {
                path: self.archive.display_location(),
                error: error.to_string(),
            })?,
        };
        let media_type = match packing {
            CompressionFormat::None => "application/vnd.docker.image.rootfs.diff.tar",
            CompressionFormat::Gzip => "application/vnd.docker.image.rootfs.diff.tar.gzip",
            CompressionFormat::Zstd => "application/vnd.oci.image.layer.v1.tar+zstd",
        };
        Ok(Descriptor { media_type: media_type.into(), digest, size, ..Descriptor::default() })
    }

    /// Opens the file of a layer.
    pub(crate) fn layer_reader(&self, layer: &Layer) -> Result<Box<dyn Read + Send>, PullError> {
        let path = self.paths.get(&layer.digest);
        let missing =
            || PullProblem::NotFound { message: "it is not a layer of this image".into(), nearest: Vec::new() };
        let outcome = path.ok_or_else(missing).and_then(|path| self.archive.open_member(path));
        outcome
            .map(|(_, reader)| reader)
            .map_err(|problem| self.pull_error(&format!("layer {}", layer.digest), problem))
    }

    /// Returns the offset of a layer in an archive that is best read in order; `None` if the order does not matter.
    pub(crate) fn layer_offset(&self, layer: &Layer) -> Option<u64> {
        if self.archive.is_seekable() {
            return None;
        }
        self.paths.get(&layer.digest).and_then(|path| self.archive.member_range(path)).map(|(at, _)| at)
    }

    /// Returns a pull error with the archive, the reference and the file that was read.
    pub(crate) fn pull_error(&self, request: &str, problem: PullProblem) -> PullError {
        PullError::new(&self.archive.display_location(), &self.reference, request, problem)
    }

    /// Returns the archive as a user writes it.
    pub(crate) fn reference(&self) -> String {
        self.reference.clone()
    }
}

/// Finds the image with this number or name, or the only image if no name is passed.
fn find_entry<'a>(
    entries: &'a [DockerArchiveEntry],
    name: Option<&str>,
) -> Result<&'a DockerArchiveEntry, PullProblem> {
    if let Some(entry) = name.and_then(image_number).and_then(|number| entries.get(number)) {
        return Ok(entry);
    }
    let tags = |entry: &'a DockerArchiveEntry| entry.repo_tags.iter().flatten();
    let fits = |entry: &&DockerArchiveEntry| {
        name.is_none_or(|name| {
            let reference = ImageReference::parse(name).ok();
            entry
                .repo_tags
                .iter()
                .flatten()
                .any(|tag| tag == name || reference.is_some() && is_same_image(tag, reference.as_ref()))
        })
    };
    let found: Vec<&DockerArchiveEntry> = entries.iter().filter(fits).collect();
    if let [entry] = found[..] {
        return Ok(entry);
    }
    let names = entries.iter().flat_map(tags).map(|tag| one_line(tag, 200)).take(50).collect();
    Err(PullProblem::Layout { requested_name: name.map(ToOwned::to_owned), names })
}

/// Whether a tag of the archive is the requested image; a missing tag means `latest`.
fn is_same_image(tag: &str, reference: Option<&ImageReference>) -> bool {
    let whole = |image: &ImageReference| {
        (image.registry().to_owned(), image.repository().to_owned(), image.tag().unwrap_or("latest").to_owned())
    };
    ImageReference::parse(tag).ok().as_ref().map(whole) == reference.map(whole)
}

/// Returns the digest in a file name such as `blobs/sha256/HEX`, `HEX.tar.gz` or `sha256:HEX.tar`.
fn digest_in_file_name(file: &str) -> Option<String> {
    let name = file.rsplit('/').next()?;
    let hex = name.strip_prefix("sha256:").unwrap_or(name).split('.').next()?;
    let digest = format!("sha256:{hex}");
    ContentDigest::parse(&digest).is_ok().then_some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_has_a_digest_only_if_it_is_complete() {
        let hex = "0123456789abcdef".repeat(4);
        for name in [format!("blobs/sha256/{hex}"), format!("{hex}.tar.gz"), format!("sha256:{hex}.tar")] {
            assert_eq!(digest_in_file_name(&name), Some(format!("sha256:{hex}")), "{name}");
        }
        for name in [format!("{hex}/layer.tar"), "layer.tar.gz".into(), format!("{hex}0.tar"), String::new()] {
            assert_eq!(digest_in_file_name(&name), None, "{name}");
        }
    }
}
