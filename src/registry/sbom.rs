//! The SBOM of an image, stored as an attestation or as a referrer.

use std::io::{BufReader, Read};
use std::marker::PhantomData;
use std::{fmt, io};

use serde::de::{Error as _, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::model::package::{Distribution, PackageManager};
use crate::registry::content_digest::Sha256Reader;
use crate::registry::image::{Layer, PulledImage};
use crate::registry::image_resolution::ImageStore;
use crate::registry::manifest_types::{Descriptor, malformed_json};
use crate::registry::pull_error::PullProblem;

/// Maximum size in bytes of an SBOM; it is parsed as a stream, never loaded into memory.
const MAX_SBOM_BYTES: u64 = 64 << 20;
/// Maximum number of packages: ten times those of a large image.
const MAX_PACKAGES: usize = 100_000;
/// Maximum number of attestation and referrer manifests that are read.
const MAX_MANIFESTS: usize = 8;
/// Maximum total size in bytes of all names, versions and package URLs.
const MAX_TEXT_BYTES: usize = 16 << 20;

/// The packages that an SBOM lists for an image, not verified against the image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageSbom {
    /// Digest of the SBOM.
    pub digest: String,
    /// The packages in the order of the SBOM.
    pub packages: Vec<Distribution>,
}

/// Finds the SBOM of an image; `None` if it has none.
pub(crate) async fn find_sbom(store: &ImageStore, image: &PulledImage) -> Result<Option<Layer>, PullProblem> {
    let mut candidates = Vec::new();
    if let Some(index) = &image.index_digest {
        let about = |entry: &Descriptor| {
            entry.is_attestation() && entry.annotation("vnd.docker.reference.digest") == Some(&image.manifest_digest)
        };
        candidates.extend(index_entries(store.document(index).await?)?.into_iter().filter(about));
    }
    if candidates.is_empty() {
        let listed = |entry: &Descriptor| entry.artifact_type.as_deref().is_none_or(is_sbom_type);
        candidates.extend(index_entries(store.referrers(&image.manifest_digest).await?)?.into_iter().filter(listed));
    }
    for entry in candidates.iter().take(MAX_MANIFESTS) {
        let Some(bytes) = store.document(&entry.digest).await? else { continue };
        let manifest: SbomManifest =
            serde_json::from_slice(&bytes).map_err(|error| malformed_json("manifest", &error))?;
        let lists = |layer: &Descriptor| {
            is_sbom_type(&layer.media_type) && layer.annotation("in-toto.io/predicate-type").is_none_or(is_sbom_type)
        };
        if let Some(layer) = manifest.layers.into_iter().flatten().find(lists) {
            let Descriptor { digest, size, media_type, .. } = layer;
            return Ok(Some(Layer { digest, size, media_type, ..Layer::default() }));
        }
    }
    Ok(None)
}

/// An index of attestations or referrers.
#[derive(Deserialize)]
struct ReferrerIndex {
    manifests: Option<Vec<Descriptor>>,
}

/// A manifest of an attestation or a referrer.
#[derive(Deserialize)]
struct SbomManifest {
    layers: Option<Vec<Descriptor>>,
}

/// Parses the entries of an index; without a document there are none.
fn index_entries(bytes: Option<Vec<u8>>) -> Result<Vec<Descriptor>, PullProblem> {
    let Some(bytes) = bytes else { return Ok(Vec::new()) };
    let index: ReferrerIndex = serde_json::from_slice(&bytes).map_err(|error| malformed_json("index", &error))?;
    Ok(index.manifests.unwrap_or_default())
}

/// Whether a media type is that of an SBOM, or of a statement that may contain one.
fn is_sbom_type(media_type: &str) -> bool {
    let lower = media_type.to_ascii_lowercase();
    ["spdx", "cyclonedx", "in-toto", "syft"].iter().any(|word| lower.contains(word))
}

/// Returns an error for an SBOM that is too large, before any of it is read.
pub(crate) fn check_size(layer: &Layer) -> Result<(), PullProblem> {
    if layer.size > MAX_SBOM_BYTES { Err(PullProblem::TooLarge { limit: MAX_SBOM_BYTES }) } else { Ok(()) }
}

/// Parses an SBOM while it is streamed, and verifies its digest.
pub(crate) fn read_sbom(layer: &Layer, from: impl Read) -> Result<ImageSbom, PullProblem> {
    let mut from = Sha256Reader::new(from.take(MAX_SBOM_BYTES));
    let parsed: Result<SbomDocument, _> = serde_json::from_reader(BufReader::new(&mut from));
    // What follows the document, or what could not be read of it, counts for the digest.
    let rest = io::copy(&mut from, &mut io::sink());
    let fail = |error: String| PullProblem::Malformed { what: "list of packages", error };
    rest.map_err(|error| fail(error.to_string()))?;
    let actual = from.into_digest();
    if actual != layer.digest {
        return Err(PullProblem::WrongDigest { expected: layer.digest.clone(), actual });
    }
    let document = parsed.map_err(|error| malformed_json("list of packages", &error))?;
    let mut text = 0;
    let mut packages = Vec::new();
    let listed = document.packages().ok_or_else(|| fail("it has neither packages nor components".into()))?;
    for package in listed {
        text += package.text_length();
        if text > MAX_TEXT_BYTES || packages.len() >= MAX_PACKAGES {
            return Err(fail("it has too many packages".into()));
        }
        packages.extend(package.distribution());
    }
    Ok(ImageSbom { digest: layer.digest.clone(), packages })
}

/// An SBOM in SPDX or `CycloneDX`, or an in-toto statement that contains one.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SbomDocument {
    predicate: Option<SbomPredicate>,
    packages: Option<BoundedVec<SbomEntry>>,
    components: Option<BoundedVec<SbomEntry>>,
}

/// The SBOM in the predicate of a statement.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SbomPredicate {
    packages: Option<BoundedVec<SbomEntry>>,
    components: Option<BoundedVec<SbomEntry>>,
}

impl SbomDocument {
    /// Returns the packages of every list in the document; `None` if it has no list.
    fn packages(self) -> Option<impl Iterator<Item = SbomEntry>> {
        let inner = self.predicate.unwrap_or_default();
        let lists = [self.packages, self.components, inner.packages, inner.components];
        let any = lists.iter().any(Option::is_some);
        any.then(|| lists.into_iter().flatten().flat_map(|list| list.0))
    }
}

/// A package as SPDX or `CycloneDX` writes it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SbomEntry {
    name: Option<String>,
    version: Option<String>,
    version_info: Option<String>,
    purl: Option<String>,
    external_refs: BoundedVec<ExternalRef>,
}

/// An external reference of an SPDX package.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ExternalRef {
    reference_type: Option<String>,
    reference_locator: Option<String>,
}

impl SbomEntry {
    /// Returns the total length of the name, the version and the package URL.
    fn text_length(&self) -> usize {
        [self.name.as_deref(), self.version(), self.purl()].into_iter().flatten().map(str::len).sum()
    }

    /// Returns the package that the entry lists; its manager follows from its package URL: `pkg:pypi/torch@2.6.0`,
    /// `pkg:deb/ubuntu/libc6@2.35`. `None` for an entry without a name.
    fn distribution(&self) -> Option<Distribution> {
        let name = self.name.as_deref().filter(|name| !name.is_empty())?;
        let purl = self.purl().and_then(|purl| purl.strip_prefix("pkg:")?.split_once('/'));
        let manager = match purl.map(|(kind, _)| kind) {
            Some("conda") => PackageManager::Conda,
            Some("deb" | "rpm" | "apk" | "alpm") => PackageManager::System,
            _ => PackageManager::Pip,
        };
        Some(Distribution::new(manager, name, self.version().unwrap_or_default()))
    }

    /// Returns the version as written.
    fn version(&self) -> Option<&str> {
        self.version_info.as_deref().or(self.version.as_deref())
    }

    /// Returns the package URL.
    fn purl(&self) -> Option<&str> {
        let is_purl = |of: &&ExternalRef| of.reference_type.as_deref() == Some("purl");
        let listed = || self.external_refs.0.iter().find(is_purl)?.reference_locator.as_deref();
        self.purl.as_deref().or_else(listed)
    }
}

/// A list whose deserialization fails if it has too many elements.
struct BoundedVec<T>(Vec<T>);

impl<T> Default for BoundedVec<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for BoundedVec<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct BoundedVecVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for BoundedVecVisitor<T> {
            type Value = BoundedVec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_unit<E>(self) -> Result<BoundedVec<T>, E> {
                Ok(BoundedVec::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<BoundedVec<T>, A::Error> {
                let mut kept = Vec::new();
                while let Some(item) = items.next_element()? {
                    if kept.len() >= MAX_PACKAGES {
                        while items.next_element::<IgnoredAny>()?.is_some() {}
                        return Err(A::Error::custom("it has too many entries"));
                    }
                    kept.push(item);
                }
                Ok(BoundedVec(kept))
            }
        }
        from.deserialize_any(BoundedVecVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::content_digest::sha256;

    /// Parses the packages of an SBOM with a matching digest.
    fn parse_packages(text: &str) -> Result<Vec<Distribution>, PullProblem> {
        let layer = Layer { digest: sha256(text.as_bytes()), size: text.len() as u64, ..Layer::default() };
        Ok(read_sbom(&layer, text.as_bytes())?.packages)
    }

    #[test]
    fn both_formats_are_read_directly_and_in_a_statement() {
        let spdx = r#"{"packages":[{"name":"pytorch","versionInfo":"2.6.0","externalRefs":[
            {"referenceType":"cpe23Type","referenceLocator":"cpe"},
            {"referenceType":"purl","referenceLocator":"pkg:conda/pytorch@2.6.0"}]},{"versionInfo":"1"}],"files":[{}]}"#;
        let expected = [Distribution::new(PackageManager::Conda, "pytorch", "2.6.0")];
        assert_eq!(parse_packages(spdx).expect("SPDX"), expected);
        assert_eq!(parse_packages(&format!(r#"{{"_type":"x","predicate":{spdx}}}"#)).expect("a statement"), expected);
        let cyclone = r#"{"components":[{"name":"pytorch","version":"2.6.0","purl":"pkg:conda/pytorch@2.6.0"}]}"#;
        assert_eq!(parse_packages(cyclone).expect("CycloneDX"), expected);
    }

    #[test]
    fn the_manager_follows_from_the_address() {
        let of = |name: &str, purl: Option<&str>| {
            let entry = SbomEntry { name: Some(name.to_owned()), purl: purl.map(str::to_owned), ..Default::default() };
            let package = entry.distribution().expect("a package");
            format!("{} {}", package.manager, package.name)
        };
        assert_eq!(of("PyTorch_Lightning", Some("pkg:pypi/pytorch-lightning@2")), "pip pytorch-lightning");
        assert_eq!(of("pytorch", Some("pkg:conda/pytorch@2.1")), "conda pytorch");
        assert_eq!(of("cuda-compat-12-4", Some("pkg:deb/ubuntu/cuda-compat-12-4@550")), "apt cuda-compat-12-4");
        assert_eq!(of("torch", None), "pip torch");
        assert_eq!(of("torch", Some("pkg:")), "pip torch");
    }

    #[test]
    fn invalid_and_too_long_sboms_are_errors() {
        let many = format!(r#"{{"packages":[{}{{}}]}}"#, "{},".repeat(MAX_PACKAGES));
        let deep = "[".repeat(100_000);
        for text in ["", "[]", "{}", r#"{"packages":{}}"#, r#"{"packages":[1]}"#, "{} x", &many, &deep] {
            assert!(parse_packages(text).is_err(), "{}", &text[..text.len().min(40)]);
        }
        let layer = Layer { digest: sha256(b"{ }"), size: 3, ..Layer::default() };
        assert!(matches!(read_sbom(&layer, &b"{}"[..]), Err(PullProblem::WrongDigest { .. })));
        assert!(check_size(&Layer { size: MAX_SBOM_BYTES + 1, ..layer }).is_err());
        assert_eq!(parse_packages(r#"{"packages":[]}"#).expect("nothing claimed"), []);
    }
}
