//! Images in the OCI image layout, in a directory or an archive, and in the flat directory of skopeo's `dir:`.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use crate::registry::content_digest::{ContentDigest, sha256, verify_digest};
use crate::registry::image::Layer;
use crate::registry::image_archive::ImageArchive;
use crate::registry::image_files::ImageFiles;
use crate::registry::image_source::image_number;
use crate::registry::manifest_types::{Descriptor, Manifest, REF_NAME_ANNOTATION, RootDocument, check_descriptor};
use crate::registry::pull_error::{PullError, PullProblem};
use crate::registry::pull_options::{PullLimits, PullOptions};

/// The main manifest of a flat directory, and the suffix of the names of other manifests.
const FLAT_MANIFEST: &str = "manifest.json";

/// How a layout names its files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LayoutKind {
    /// `index.json`, and `blobs` by algorithm.
    Blobs,
    /// `manifest.json` of one image or of an index, its manifests `HEX.manifest.json`, and `HEX` for every blob.
    Flat,
}

/// Manifests and blobs in the files of a layout.
pub(crate) struct ImageLayout {
    files: ImageFiles,
    shape: LayoutKind,
    /// The requested image name in the layout.
    name: Option<String>,
    limits: PullLimits,
}

impl ImageLayout {
    /// Opens a layout in a directory, and the document of the image with this name.
    pub(crate) fn open_folder(
        path: &Path,
        name: Option<&str>,
        options: &PullOptions,
    ) -> Result<(Self, RootDocument), PullError> {
        Self::open(ImageFiles::Folder(path.into()), LayoutKind::Blobs, name, options)
    }

    /// Opens a flat directory of one image or index.
    pub(crate) fn open_flat_folder(path: &Path, options: &PullOptions) -> Result<(Self, RootDocument), PullError> {
        Self::open(ImageFiles::Folder(path.into()), LayoutKind::Flat, None, options)
    }

    /// Opens a layout in an archive, and the document of the image with this name.
    pub(crate) fn open_archive(
        archive: Arc<ImageArchive>,
        name: Option<&str>,
        options: &PullOptions,
    ) -> Result<(Self, RootDocument), PullError> {
        Self::open(ImageFiles::Archive(archive), LayoutKind::Blobs, name, options)
    }

    /// Opens a layout and reads its root document.
    fn open(
        files: ImageFiles,
        shape: LayoutKind,
        name: Option<&str>,
        options: &PullOptions,
    ) -> Result<(Self, RootDocument), PullError> {
        let layout = Self { files, shape, name: name.map(Into::into), limits: options.limits.clone() };
        let whole = |bytes: Vec<u8>| RootDocument { digest: sha256(&bytes), bytes };
        let (file, root) = match shape {
            LayoutKind::Blobs => ("index.json", layout.root_document()),
            LayoutKind::Flat => (FLAT_MANIFEST, layout.files.read(FLAT_MANIFEST, layout.limits.manifest).map(whole)),
        };
        let root = root.map_err(|problem| layout.pull_error(file, problem))?;
        Ok((layout, root))
    }

    /// Returns the layout as a user writes it, such as `oci:DIR:NAME`.
    pub(crate) fn reference(&self) -> String {
        let name = self.name.as_ref().map(|name| format!(":{name}")).unwrap_or_default();
        let scheme = match (&self.files, self.shape) {
            (_, LayoutKind::Flat) => "dir",
            (ImageFiles::Folder(_), LayoutKind::Blobs) => "oci",
            (ImageFiles::Archive(_), LayoutKind::Blobs) => "oci-archive",
        };
        format!("{scheme}:{}{name}", self.files.display_location())
    }

    /// Returns a pull error with the layout and the file that was read.
    pub(crate) fn pull_error(&self, request: &str, problem: PullProblem) -> PullError {
        PullError::new(&self.files.display_location(), &self.reference(), request, problem)
    }

    /// Reads the document of the requested image from `index.json`.
    fn root_document(&self) -> Result<RootDocument, PullProblem> {
        let bytes = self.files.read("index.json", self.limits.manifest)?;
        let Manifest::Index(mut entries) = Manifest::parse(&bytes)? else {
            let error = "index.json is an image manifest".into();
            return Err(PullProblem::Malformed { what: "index", error });
        };
        let number = self.name.as_deref().and_then(image_number);
        if let Some(entry) = number.and_then(|number| entries.get(number)) {
            return Ok(RootDocument { digest: entry.digest.clone(), bytes: self.manifest(entry)? });
        }
        entries.retain(|entry| !entry.is_attestation());
        let name_of = |entry: &Descriptor| entry.annotation(REF_NAME_ANNOTATION).map(ToOwned::to_owned);
        let names: Vec<String> = entries.iter().filter_map(name_of).collect();
        if self.name.is_some() {
            entries.retain(|entry| name_of(entry) == self.name);
        }
        let [entry] = &entries[..] else {
            return Err(PullProblem::Layout { requested_name: self.name.clone(), names });
        };
        Ok(RootDocument { digest: entry.digest.clone(), bytes: self.manifest(entry)? })
    }

    /// Reads the manifest of a descriptor and verifies its digest and size.
    pub(crate) fn manifest(&self, descriptor: &Descriptor) -> Result<Vec<u8>, PullProblem> {
        self.read_blob(descriptor, &self.manifest_path(&descriptor.digest)?, self.limits.manifest)
    }

    /// Reads the manifest or index of a digest and verifies it; `None` if the file does not exist.
    pub(crate) fn document(&self, digest: &str) -> Result<Option<Vec<u8>>, PullProblem> {
        let bytes = match self.files.read(&self.manifest_path(digest)?, self.limits.manifest) {
            Ok(bytes) => bytes,
            Err(PullProblem::File { .. }) => return Ok(None),
            Err(problem) => return Err(problem),
        };
        verify_digest(&bytes, digest, None)?;
        Ok(Some(bytes))
    }

    /// Reads the config of a descriptor and verifies its digest and size.
    pub(crate) fn config(&self, descriptor: &Descriptor) -> Result<Vec<u8>, PullProblem> {
        self.read_blob(descriptor, &self.blob_path(&descriptor.digest)?, self.limits.config)
    }

    /// Opens the blob of a layer.
    pub(crate) fn layer_reader(&self, layer: &Layer) -> Result<Box<dyn Read + Send>, PullError> {
        let outcome = self.open_layer(layer);
        outcome.map_err(|problem| self.pull_error(&format!("layer {}", layer.digest), problem))
    }

    /// Returns the offset of a layer in an archive that is best read in order; `None` if the order does not matter.
    pub(crate) fn layer_offset(&self, layer: &Layer) -> Option<u64> {
        match &self.files {
            ImageFiles::Archive(archive) if !archive.is_seekable() => {
                archive.member_range(&self.blob_path(&layer.digest).ok()?).map(|(at, _)| at)
            }
            _ => None,
        }
    }

    /// Opens the blob of a layer and checks its size.
    fn open_layer(&self, layer: &Layer) -> Result<Box<dyn Read + Send>, PullProblem> {
        let (size, reader) = match self.files.open(&self.blob_path(&layer.digest)?) {
            Err(PullProblem::File { .. } | PullProblem::NotFound { .. }) if layer.is_foreign() => {
                return Err(layer.foreign_layer_problem());
            }
            other => other?,
        };
        if size != layer.size {
            return Err(PullProblem::WrongSize { expected: layer.size, actual: size });
        }
        Ok(reader)
    }

    /// Reads a blob of at most `cap` bytes and verifies its digest and size.
    fn read_blob(&self, descriptor: &Descriptor, place: &str, cap: u64) -> Result<Vec<u8>, PullProblem> {
        check_descriptor(descriptor, cap)?;
        let bytes = self.files.read(place, cap)?;
        verify_digest(&bytes, &descriptor.digest, Some(descriptor.size))?;
        Ok(bytes)
    }

    /// Returns the path of a blob in the layout.
    fn blob_path(&self, digest: &str) -> Result<String, PullProblem> {
        let digest = ContentDigest::parse(digest)?;
        Ok(match self.shape {
            LayoutKind::Blobs => format!("blobs/{}/{}", digest.algorithm, digest.hex),
            LayoutKind::Flat => digest.hex.to_owned(),
        })
    }

    /// Returns the path of a manifest in the layout.
    fn manifest_path(&self, digest: &str) -> Result<String, PullProblem> {
        let place = self.blob_path(digest)?;
        Ok(if self.shape == LayoutKind::Flat { format!("{place}.{FLAT_MANIFEST}") } else { place })
    }
}
