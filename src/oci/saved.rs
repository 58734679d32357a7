//! Archives of `docker save` and its relatives: `manifest.json` names a config and the files of the layers.

use std::collections::BTreeMap;
use std::io::Read;

use serde::Deserialize;

use crate::oci::archive::Archive;
use crate::oci::archive::Packing;
use crate::oci::digest::Digest;
use crate::oci::digest::sha256;
use crate::oci::digest::sha256_of;
use crate::oci::error::Problem;
use crate::oci::error::PullError;
use crate::oci::error::one_line;
use crate::oci::image::ImageConfig;
use crate::oci::image::Layer;
use crate::oci::image::PulledImage;
use crate::oci::options::Limits;
use crate::oci::platform::Platform;
use crate::oci::source::numbered;
use crate::oci::types::Descriptor;
use crate::oci::types::malformed;
use crate::reference::ImageReference;

/// An image of an archive.
pub(crate) struct Saved {
    archive: Archive,
    reference: String,
    /// The file of each layer, by the digest that the layer is known by.
    paths: BTreeMap<String, String>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    config: String,
    repo_tags: Option<Vec<String>>,
    layers: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
struct Config {
    rootfs: Option<RootFs>,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Option<Vec<String>>,
}

impl Saved {
    /// Reads the image of this name, the only one where no name is given.
    pub(crate) fn open(
        archive: Archive,
        reference: &str,
        name: Option<&str>,
        wanted: &[Platform],
        limits: &Limits,
    ) -> Result<(Self, PulledImage), PullError> {
        let mut saved = Self { archive, reference: reference.into(), paths: BTreeMap::new() };
        let image = saved.image(name, limits).map_err(|problem| saved.fail("manifest.json", problem))?;
        let platform = &image.config.platform;
        if !platform.is_unsaid() && !wanted.is_empty() && !wanted.iter().any(|wanted| wanted.accepts(platform)) {
            let problem = Problem::MissingPlatform { wanted: wanted.to_vec(), available: vec![platform.clone()] };
            return Err(saved.fail("manifest.json", problem));
        }
        Ok((saved, image))
    }

    fn image(&mut self, name: Option<&str>, limits: &Limits) -> Result<PulledImage, Problem> {
        let bytes = self.archive.read("manifest.json", limits.manifest)?;
        let entries: Vec<Entry> = serde_json::from_slice(&bytes).map_err(|error| malformed("manifest.json", &error))?;
        let entry = chosen(&entries, name)?;
        let bytes = self.archive.read(&entry.config, limits.config)?;
        let config: Config = serde_json::from_slice(&bytes).map_err(|error| malformed("image config", &error))?;
        let diff_ids = config.rootfs.and_then(|rootfs| rootfs.diff_ids).unwrap_or_default();
        let files = entry.layers.clone().unwrap_or_default();
        if diff_ids.len() != files.len() {
            let cause = format!("{} layers, but the config has digests of {}", files.len(), diff_ids.len());
            return Err(Problem::Malformed { what: "manifest.json", cause });
        }
        let mut layers = Vec::new();
        for (file, diff_id) in files.iter().zip(&diff_ids) {
            let layer = self.layer_of(file, diff_id)?;
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

    /// A layer that is not packed is known by the digest that the config has of it; a packed one by that in its name,
    /// and by the sum of its bytes where its name has none.
    fn layer_of(&self, file: &str, diff_id: &str) -> Result<Descriptor, Problem> {
        Digest::parse(diff_id)?;
        let missing = || Problem::File {
            path: self.archive.shown(),
            cause: format!("it does not contain `{}`", one_line(file, 200)),
        };
        let (_, size) = self.archive.place(file).ok_or_else(missing)?;
        let packing = self.archive.packing(file);
        let digest = match (packing, named(file)) {
            (Packing::None, _) => diff_id.to_owned(),
            (_, Some(digest)) if digest != diff_id => digest,
            _ => sha256_of(self.archive.member(file)?.1)
                .map_err(|error| Problem::File { path: self.archive.shown(), cause: error.to_string() })?,
        };
        let media_type = match packing {
            Packing::None => "application/vnd.docker.image.rootfs.diff.tar",
            Packing::Gzip => "application/vnd.docker.image.rootfs.diff.tar.gzip",
            Packing::Zstd => "application/vnd.oci.image.layer.v1.tar+zstd",
        };
        Ok(Descriptor { media_type: media_type.into(), digest, size, ..Descriptor::default() })
    }

    /// The bytes of a layer.
    pub(crate) fn layer(&self, layer: &Layer) -> Result<Box<dyn Read + Send>, PullError> {
        let path = self.paths.get(&layer.digest);
        let missing = || Problem::NotFound { said: "it is not a layer of this image".into(), nearest: Vec::new() };
        let outcome = path.ok_or_else(missing).and_then(|path| self.archive.member(path));
        outcome.map(|(_, reader)| reader).map_err(|problem| self.fail(&format!("layer {}", layer.digest), problem))
    }

    /// Where a layer lies, for those who read one after the other; none where the order makes no difference.
    pub(crate) fn position(&self, layer: &Layer) -> Option<u64> {
        if self.archive.seekable() {
            return None;
        }
        self.paths.get(&layer.digest).and_then(|path| self.archive.place(path)).map(|(at, _)| at)
    }

    /// Joins a problem to what was asked.
    pub(crate) fn fail(&self, asked: &str, problem: Problem) -> PullError {
        PullError::new(&self.archive.shown(), &self.reference, asked, problem)
    }

    /// The archive as a person would name it.
    pub(crate) fn reference(&self) -> String {
        self.reference.clone()
    }
}

fn chosen<'a>(entries: &'a [Entry], name: Option<&str>) -> Result<&'a Entry, Problem> {
    if let Some(entry) = name.and_then(numbered).and_then(|number| entries.get(number)) {
        return Ok(entry);
    }
    let tags = |entry: &'a Entry| entry.repo_tags.iter().flatten();
    let fits = |entry: &&Entry| {
        name.is_none_or(|name| {
            let wanted = ImageReference::parse(name).ok();
            entry.repo_tags.iter().flatten().any(|tag| tag == name || wanted.is_some() && same(tag, wanted.as_ref()))
        })
    };
    let found: Vec<&Entry> = entries.iter().filter(fits).collect();
    if let [entry] = found[..] {
        return Ok(entry);
    }
    let names = entries.iter().flat_map(tags).map(|tag| one_line(tag, 200)).take(50).collect();
    Err(Problem::Layout { asked: name.map(ToOwned::to_owned), names })
}

/// Whether a tag of the archive is the wanted image; a tag that is not named is `latest`.
fn same(tag: &str, wanted: Option<&ImageReference>) -> bool {
    let whole = |image: &ImageReference| {
        (image.registry().to_owned(), image.repository().to_owned(), image.tag().unwrap_or("latest").to_owned())
    };
    ImageReference::parse(tag).ok().as_ref().map(whole) == wanted.map(whole)
}

/// The digest in names such as `blobs/sha256/HEX`, `HEX.tar.gz` and `sha256:HEX.tar`.
fn named(file: &str) -> Option<String> {
    let name = file.rsplit('/').next()?;
    let hex = name.strip_prefix("sha256:").unwrap_or(name).split('.').next()?;
    let digest = format!("sha256:{hex}");
    Digest::parse(&digest).is_ok().then_some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_gives_a_digest_only_where_it_has_a_whole_one() {
        let hex = "0123456789abcdef".repeat(4);
        for name in [format!("blobs/sha256/{hex}"), format!("{hex}.tar.gz"), format!("sha256:{hex}.tar")] {
            assert_eq!(named(&name), Some(format!("sha256:{hex}")), "{name}");
        }
        for name in [format!("{hex}/layer.tar"), "layer.tar.gz".into(), format!("{hex}0.tar"), String::new()] {
            assert_eq!(named(&name), None, "{name}");
        }
    }
}
