//! Images in the OCI image layout, in a folder or in an archive of one; and the flat folder that skopeo calls `dir:`.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use crate::oci::archive::Archive;
use crate::oci::client::check_size;
use crate::oci::digest::Digest;
use crate::oci::digest::sha256;
use crate::oci::digest::verify;
use crate::oci::error::Problem;
use crate::oci::error::PullError;
use crate::oci::files::Files;
use crate::oci::image::Layer;
use crate::oci::options::Limits;
use crate::oci::options::Options;
use crate::oci::resolve::Root;
use crate::oci::resolve::Store;
use crate::oci::source::numbered;
use crate::oci::types::Descriptor;
use crate::oci::types::Manifest;
use crate::oci::types::REF_NAME;

/// The first document of a flat folder, and what the names of all others end in.
const FLAT: &str = "manifest.json";

/// Where a layout has its files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// `index.json`, and `blobs` by algorithm.
    Blobs,
    /// `manifest.json` of one image or of an index, its manifests `HEX.manifest.json`, and `HEX` for every blob.
    Flat,
}

/// Manifests and blobs in files.
pub(crate) struct Layout {
    files: Files,
    shape: Shape,
    name: Option<String>,
    limits: Limits,
}

impl Layout {
    /// A layout in a folder, and the document under the name.
    pub(crate) fn folder(path: &Path, name: Option<&str>, options: &Options) -> Result<(Store, Root), PullError> {
        Self::open(Files::Folder(path.into()), Shape::Blobs, name, options)
    }

    /// A flat folder of one image or index.
    pub(crate) fn flat(path: &Path, options: &Options) -> Result<(Store, Root), PullError> {
        Self::open(Files::Folder(path.into()), Shape::Flat, None, options)
    }

    /// A layout in an archive, and the document under the name.
    pub(crate) fn archive(
        archive: Arc<Archive>,
        name: Option<&str>,
        options: &Options,
    ) -> Result<(Store, Root), PullError> {
        Self::open(Files::Archive(archive), Shape::Blobs, name, options)
    }

    fn open(files: Files, shape: Shape, name: Option<&str>, options: &Options) -> Result<(Store, Root), PullError> {
        let layout = Self { files, shape, name: name.map(Into::into), limits: options.limits.clone() };
        let whole = |bytes: Vec<u8>| Root { digest: sha256(&bytes), bytes };
        let (asked, root) = match shape {
            Shape::Blobs => ("index.json", layout.root()),
            Shape::Flat => (FLAT, layout.files.read(FLAT, layout.limits.manifest).map(whole)),
        };
        let root = root.map_err(|problem| layout.fail(asked, problem))?;
        Ok((Store::Layout(layout), root))
    }

    /// The layout as a person would name it.
    pub(crate) fn reference(&self) -> String {
        let name = self.name.as_ref().map(|name| format!(":{name}")).unwrap_or_default();
        let scheme = match (&self.files, self.shape) {
            (_, Shape::Flat) => "dir",
            (Files::Folder(_), Shape::Blobs) => "oci",
            (Files::Archive(_), Shape::Blobs) => "oci-archive",
        };
        format!("{scheme}:{}{name}", self.files.shown())
    }

    /// Joins a problem to what was asked.
    pub(crate) fn fail(&self, asked: &str, problem: Problem) -> PullError {
        PullError::new(&self.files.shown(), &self.reference(), asked, problem)
    }

    fn root(&self) -> Result<Root, Problem> {
        let bytes = self.files.read("index.json", self.limits.manifest)?;
        let Manifest::Index(mut entries) = Manifest::parse(&bytes)? else {
            let cause = "index.json is an image manifest".into();
            return Err(Problem::Malformed { what: "index", cause });
        };
        let number = self.name.as_deref().and_then(numbered);
        if let Some(entry) = number.and_then(|number| entries.get(number)) {
            return Ok(Root { digest: entry.digest.clone(), bytes: self.manifest(entry)? });
        }
        entries.retain(|entry| !entry.is_attestation());
        let name_of = |entry: &Descriptor| entry.annotation(REF_NAME).map(ToOwned::to_owned);
        let names: Vec<String> = entries.iter().filter_map(name_of).collect();
        if self.name.is_some() {
            entries.retain(|entry| name_of(entry) == self.name);
        }
        let [entry] = &entries[..] else {
            return Err(Problem::Layout { asked: self.name.clone(), names });
        };
        Ok(Root { digest: entry.digest.clone(), bytes: self.manifest(entry)? })
    }

    /// A manifest, checked against its descriptor.
    pub(crate) fn manifest(&self, descriptor: &Descriptor) -> Result<Vec<u8>, Problem> {
        self.blob(descriptor, &self.manifest_place(&descriptor.digest)?, self.limits.manifest)
    }

    /// The document of a digest, whatever its size; none where it is not there.
    pub(crate) fn document(&self, digest: &str) -> Result<Option<Vec<u8>>, Problem> {
        let bytes = match self.files.read(&self.manifest_place(digest)?, self.limits.manifest) {
            Ok(bytes) => bytes,
            Err(Problem::File { .. }) => return Ok(None),
            Err(problem) => return Err(problem),
        };
        verify(&bytes, digest, None)?;
        Ok(Some(bytes))
    }

    /// A config, checked against its descriptor.
    pub(crate) fn config(&self, descriptor: &Descriptor) -> Result<Vec<u8>, Problem> {
        self.blob(descriptor, &self.place(&descriptor.digest)?, self.limits.config)
    }

    /// The bytes of a layer.
    pub(crate) fn layer(&self, layer: &Layer) -> Result<Box<dyn Read + Send>, PullError> {
        let outcome = self.open_layer(layer);
        outcome.map_err(|problem| self.fail(&format!("layer {}", layer.digest), problem))
    }

    /// Where a layer lies, for those who read one after the other; none where the order makes no difference.
    pub(crate) fn position(&self, layer: &Layer) -> Option<u64> {
        match &self.files {
            Files::Archive(archive) if !archive.seekable() => {
                archive.place(&self.place(&layer.digest).ok()?).map(|(at, _)| at)
            }
            _ => None,
        }
    }

    fn open_layer(&self, layer: &Layer) -> Result<Box<dyn Read + Send>, Problem> {
        let (size, reader) = match self.files.open(&self.place(&layer.digest)?) {
            Err(Problem::File { .. } | Problem::NotFound { .. }) if layer.is_foreign() => {
                return Err(layer.elsewhere());
            }
            other => other?,
        };
        if size != layer.size {
            return Err(Problem::WrongSize { expected: layer.size, actual: size });
        }
        Ok(reader)
    }

    fn blob(&self, descriptor: &Descriptor, place: &str, cap: u64) -> Result<Vec<u8>, Problem> {
        check_size(descriptor, cap)?;
        let bytes = self.files.read(place, cap)?;
        verify(&bytes, &descriptor.digest, Some(descriptor.size))?;
        Ok(bytes)
    }

    fn place(&self, digest: &str) -> Result<String, Problem> {
        let digest = Digest::parse(digest)?;
        Ok(match self.shape {
            Shape::Blobs => format!("blobs/{}/{}", digest.algorithm, digest.hex),
            Shape::Flat => digest.hex.to_owned(),
        })
    }

    fn manifest_place(&self, digest: &str) -> Result<String, Problem> {
        let place = self.place(digest)?;
        Ok(if self.shape == Shape::Flat { format!("{place}.{FLAT}") } else { place })
    }
}
