//! Images in a folder: the OCI image layout.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::path::PathBuf;

use crate::oci::client::check_size;
use crate::oci::digest::Digest;
use crate::oci::digest::verify;
use crate::oci::error::Problem;
use crate::oci::error::PullError;
use crate::oci::image::PulledImage;
use crate::oci::options::Limits;
use crate::oci::options::Options;
use crate::oci::platform::Platform;
use crate::oci::resolve::Root;
use crate::oci::resolve::Store;
use crate::oci::resolve::resolve;
use crate::oci::types::Descriptor;
use crate::oci::types::Manifest;
use crate::oci::types::REF_NAME;

/// Reads the configs of one image of a layout.
pub(crate) async fn read(
    path: &Path,
    name: Option<&str>,
    wanted: &[Platform],
    options: &Options,
) -> Result<Vec<PulledImage>, PullError> {
    let layout = Layout { path: path.into(), name: name.map(Into::into), limits: options.limits.clone() };
    let root = layout.root().map_err(|problem| layout.fail("index.json", problem))?;
    resolve(&Store::Layout(layout), root, wanted).await
}

/// A folder with `index.json` and `blobs`.
pub(crate) struct Layout {
    path: PathBuf,
    name: Option<String>,
    limits: Limits,
}

impl Layout {
    /// The layout as a person would name it.
    pub(crate) fn reference(&self) -> String {
        let name = self.name.as_ref().map(|name| format!(":{name}")).unwrap_or_default();
        format!("oci:{}{name}", self.path.display())
    }

    /// Joins a problem to what was asked.
    pub(crate) fn fail(&self, asked: &str, problem: Problem) -> PullError {
        PullError::new(&self.path.display().to_string(), &self.reference(), asked, problem)
    }

    fn root(&self) -> Result<Root, Problem> {
        let bytes = read_file(&self.path.join("index.json"), self.limits.manifest)?;
        let Manifest::Index(mut entries) = Manifest::parse(&bytes)? else {
            let cause = "index.json is an image manifest".into();
            return Err(Problem::Malformed { what: "index", cause });
        };
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
        self.blob(descriptor, self.limits.manifest)
    }

    /// A config, checked against its descriptor.
    pub(crate) fn config(&self, descriptor: &Descriptor) -> Result<Vec<u8>, Problem> {
        self.blob(descriptor, self.limits.config)
    }

    fn blob(&self, descriptor: &Descriptor, cap: u64) -> Result<Vec<u8>, Problem> {
        check_size(descriptor, cap)?;
        let digest = Digest::parse(&descriptor.digest)?;
        let path = self.path.join("blobs").join(digest.algorithm).join(digest.hex);
        let bytes = read_file(&path, cap)?;
        verify(&bytes, &descriptor.digest, Some(descriptor.size))?;
        Ok(bytes)
    }
}

fn read_file(path: &Path, cap: u64) -> Result<Vec<u8>, Problem> {
    let fail = |cause: String| Problem::File { path: path.display().to_string(), cause };
    let about = fs::metadata(path).map_err(|error| fail(error.to_string()))?;
    if !about.is_file() {
        return Err(fail("not a regular file".into()));
    }
    let file = fs::File::open(path).map_err(|error| fail(error.to_string()))?;
    let mut bytes = Vec::new();
    file.take(cap.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| fail(error.to_string()))?;
    if bytes.len() as u64 > cap { Err(Problem::TooLarge { limit: cap }) } else { Ok(bytes) }
}
