//! What an image's own list of packages claims: an SBOM beside it, as an attestation or as a referrer.

use std::fmt;
use std::io;
use std::io::BufReader;
use std::io::Read;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::Deserializer;
use serde::de::Error as _;
use serde::de::IgnoredAny;
use serde::de::SeqAccess;
use serde::de::Visitor;

use crate::oci::digest::Summing;
use crate::oci::error::Problem;
use crate::oci::image::Layer;
use crate::oci::image::PulledImage;
use crate::oci::resolve::Store;
use crate::oci::types::Descriptor;
use crate::oci::types::malformed;

/// The largest list that is read; it is read as a stream and never held.
const MOST_BYTES: u64 = 64 << 20;
/// How many packages are kept: ten times those of a large image.
const MOST_PACKAGES: usize = 100_000;
/// How many manifests beside an image are looked into.
const MOST_MANIFESTS: usize = 8;
/// The most bytes of all names, versions and addresses together.
const MOST_TEXT: usize = 16 << 20;

/// What a list of packages claims about an image. Nobody has looked whether it is so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Digest of the list.
    pub digest: String,
    /// The packages in the order of the list.
    pub packages: Vec<Claim>,
}

/// One package, as claimed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Name, as written.
    pub name: String,
    /// Version, as written; empty where there is none.
    pub version: String,
    /// Package URL, where there is one.
    pub purl: Option<String>,
}

/// Where the list of an image is; none where it has none.
pub(crate) async fn find(store: &Store, image: &PulledImage) -> Result<Option<Layer>, Problem> {
    let mut beside = Vec::new();
    if let Some(index) = &image.index_digest {
        let about = |entry: &Descriptor| {
            entry.is_attestation() && entry.annotation("vnd.docker.reference.digest") == Some(&image.manifest_digest)
        };
        beside.extend(entries(store.document(index).await?)?.into_iter().filter(about));
    }
    if beside.is_empty() {
        let listed = |entry: &Descriptor| entry.artifact_type.as_deref().is_none_or(is_list);
        beside.extend(entries(store.referrers(&image.manifest_digest).await?)?.into_iter().filter(listed));
    }
    for entry in beside.iter().take(MOST_MANIFESTS) {
        let Some(bytes) = store.document(&entry.digest).await? else { continue };
        let manifest: Beside = serde_json::from_slice(&bytes).map_err(|error| malformed("manifest", &error))?;
        let lists = |layer: &Descriptor| {
            is_list(&layer.media_type) && layer.annotation("in-toto.io/predicate-type").is_none_or(is_list)
        };
        if let Some(layer) = manifest.layers.into_iter().flatten().find(lists) {
            let Descriptor { digest, size, media_type, .. } = layer;
            return Ok(Some(Layer { digest, size, media_type, ..Layer::default() }));
        }
    }
    Ok(None)
}

#[derive(Deserialize)]
struct Index {
    manifests: Option<Vec<Descriptor>>,
}

#[derive(Deserialize)]
struct Beside {
    layers: Option<Vec<Descriptor>>,
}

fn entries(bytes: Option<Vec<u8>>) -> Result<Vec<Descriptor>, Problem> {
    let Some(bytes) = bytes else { return Ok(Vec::new()) };
    let index: Index = serde_json::from_slice(&bytes).map_err(|error| malformed("index", &error))?;
    Ok(index.manifests.unwrap_or_default())
}

/// Whether a type names a list of packages, or a statement that may be one.
fn is_list(media_type: &str) -> bool {
    let lower = media_type.to_ascii_lowercase();
    ["spdx", "cyclonedx", "in-toto", "syft"].iter().any(|word| lower.contains(word))
}

/// Refuses a list that is too large before a byte of it is read.
pub(crate) fn check(layer: &Layer) -> Result<(), Problem> {
    if layer.size > MOST_BYTES { Err(Problem::TooLarge { limit: MOST_BYTES }) } else { Ok(()) }
}

/// Reads a list as it streams by, and checks its digest.
pub(crate) fn read(layer: &Layer, from: impl Read) -> Result<Claims, Problem> {
    let mut from = Summing::new(from.take(MOST_BYTES));
    let parsed: Result<Document, _> = serde_json::from_reader(BufReader::new(&mut from));
    // What follows the document, or what could not be read of it, counts for the digest.
    let rest = io::copy(&mut from, &mut io::sink());
    let fail = |cause: String| Problem::Malformed { what: "list of packages", cause };
    rest.map_err(|error| fail(error.to_string()))?;
    let actual = from.sum();
    if actual != layer.digest {
        return Err(Problem::WrongDigest { expected: layer.digest.clone(), actual });
    }
    let document = parsed.map_err(|error| malformed("list of packages", &error))?;
    let mut text = 0;
    let mut packages = Vec::new();
    let listed = document.packages().ok_or_else(|| fail("it has neither packages nor components".into()))?;
    for package in listed {
        let claim = package.claim();
        text += claim.name.len() + claim.version.len() + claim.purl.as_ref().map_or(0, String::len);
        if text > MOST_TEXT || packages.len() >= MOST_PACKAGES {
            return Err(fail("it has too many packages".into()));
        }
        if !claim.name.is_empty() {
            packages.push(claim);
        }
    }
    Ok(Claims { digest: layer.digest.clone(), packages })
}

/// SPDX, `CycloneDX`, or a statement around one of them.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Document {
    predicate: Option<List>,
    packages: Option<Bounded<Package>>,
    components: Option<Bounded<Package>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct List {
    packages: Option<Bounded<Package>>,
    components: Option<Bounded<Package>>,
}

impl Document {
    /// The packages of every list in it; none where it has no list at all.
    fn packages(self) -> Option<impl Iterator<Item = Package>> {
        let inner = self.predicate.unwrap_or_default();
        let lists = [self.packages, self.components, inner.packages, inner.components];
        let any = lists.iter().any(Option::is_some);
        any.then(|| lists.into_iter().flatten().flat_map(|list| list.0))
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Package {
    name: Option<String>,
    version: Option<String>,
    version_info: Option<String>,
    purl: Option<String>,
    external_refs: Bounded<ExternalRef>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ExternalRef {
    reference_type: Option<String>,
    reference_locator: Option<String>,
}

impl Package {
    fn claim(self) -> Claim {
        let is_purl = |of: &ExternalRef| of.reference_type.as_deref() == Some("purl");
        let listed = self.external_refs.0.into_iter().find(is_purl).and_then(|of| of.reference_locator);
        Claim {
            name: self.name.unwrap_or_default(),
            version: self.version_info.or(self.version).unwrap_or_default(),
            purl: self.purl.or(listed),
        }
    }
}

/// A list that stops growing: what is beyond the bound is an error.
struct Bounded<T>(Vec<T>);

impl<T> Default for Bounded<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Bounded<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Items<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
            type Value = Bounded<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_unit<E>(self) -> Result<Bounded<T>, E> {
                Ok(Bounded::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Bounded<T>, A::Error> {
                let mut kept = Vec::new();
                while let Some(item) = items.next_element()? {
                    if kept.len() >= MOST_PACKAGES {
                        while items.next_element::<IgnoredAny>()?.is_some() {}
                        return Err(A::Error::custom("it has too many entries"));
                    }
                    kept.push(item);
                }
                Ok(Bounded(kept))
            }
        }
        from.deserialize_any(Items(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::digest::sha256;

    fn claims(text: &str) -> Result<Vec<(String, String, Option<String>)>, Problem> {
        let layer = Layer { digest: sha256(text.as_bytes()), size: text.len() as u64, ..Layer::default() };
        let claims = read(&layer, text.as_bytes())?;
        Ok(claims.packages.into_iter().map(|claim| (claim.name, claim.version, claim.purl)).collect())
    }

    #[test]
    fn both_forms_are_read_alone_and_in_a_statement() {
        let spdx = r#"{"packages":[{"name":"torch","versionInfo":"2.6.0","externalRefs":[
            {"referenceType":"cpe23Type","referenceLocator":"cpe"},
            {"referenceType":"purl","referenceLocator":"pkg:pypi/torch@2.6.0"}]},{"versionInfo":"1"}],"files":[{}]}"#;
        let expected = [("torch".to_owned(), "2.6.0".to_owned(), Some("pkg:pypi/torch@2.6.0".to_owned()))];
        assert_eq!(claims(spdx).expect("SPDX"), expected);
        assert_eq!(claims(&format!(r#"{{"_type":"x","predicate":{spdx}}}"#)).expect("a statement"), expected);
        let cyclone = r#"{"components":[{"name":"torch","version":"2.6.0","purl":"pkg:pypi/torch@2.6.0"}]}"#;
        assert_eq!(claims(cyclone).expect("CycloneDX"), expected);
    }

    #[test]
    fn what_is_no_list_or_too_long_a_list_is_an_error() {
        let many = format!(r#"{{"packages":[{}{{}}]}}"#, "{},".repeat(MOST_PACKAGES));
        let deep = "[".repeat(100_000);
        for text in ["", "[]", "{}", r#"{"packages":{}}"#, r#"{"packages":[1]}"#, "{} x", &many, &deep] {
            assert!(claims(text).is_err(), "{}", &text[..text.len().min(40)]);
        }
        let layer = Layer { digest: sha256(b"{ }"), size: 3, ..Layer::default() };
        assert!(matches!(read(&layer, &b"{}"[..]), Err(Problem::WrongDigest { .. })));
        assert!(check(&Layer { size: MOST_BYTES + 1, ..layer }).is_err());
        assert_eq!(claims(r#"{"packages":[]}"#).expect("nothing claimed"), []);
    }
}
