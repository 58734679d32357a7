//! Manifests, indexes and configs as registries write them, parsed leniently.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use crate::registry::content_digest::ContentDigest;
use crate::registry::platform::Platform;
use crate::registry::pull_error::{PullProblem, one_line};

/// The `Accept` header of requests for manifests.
pub(crate) const MANIFEST_TYPES: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, \
    application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json";

/// The annotation with the name of an image in a layout.
pub(crate) const REF_NAME_ANNOTATION: &str = "org.opencontainers.image.ref.name";

/// An OCI descriptor: the reference to a blob or manifest by digest.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    #[serde(default)]
    pub(crate) media_type: String,
    pub(crate) digest: String,
    pub(crate) size: u64,
    pub(crate) platform: Option<Platform>,
    pub(crate) artifact_type: Option<String>,
    pub(crate) annotations: Option<BTreeMap<String, String>>,
    pub(crate) urls: Option<Vec<String>>,
}

impl Descriptor {
    /// Whether this describes an attestation instead of an image.
    pub(crate) fn is_attestation(&self) -> bool {
        let annotated = self.annotation("vnd.docker.reference.type") == Some("attestation-manifest");
        let typed = self.artifact_type.as_deref() == Some("application/vnd.docker.attestation.manifest.v1+json");
        annotated || typed || self.platform.as_ref().is_some_and(Platform::is_unknown)
    }

    /// Whether this describes an index.
    pub(crate) fn is_index(&self) -> bool {
        matches!(
            self.media_type.as_str(),
            "application/vnd.oci.image.index.v1+json" | "application/vnd.docker.distribution.manifest.list.v2+json"
        )
    }

    /// Returns the value of an annotation.
    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key).map(String::as_str)
    }
}

/// A document that a tag points to: an index or an image manifest.
#[derive(Clone, Debug)]
pub(crate) enum Manifest {
    /// An OCI index or a Docker manifest list.
    Index(Vec<Descriptor>),
    /// An OCI manifest or a Docker schema 2 manifest.
    Image { config: Box<Descriptor>, layers: Vec<Descriptor> },
}

/// An index or manifest as parsed from JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawManifest {
    schema_version: Option<u32>,
    #[serde(default)]
    media_type: String,
    artifact_type: Option<String>,
    manifests: Option<Vec<Descriptor>>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
}

impl Manifest {
    /// Parses an index or image manifest; which of them it is follows from its fields, not from the media type.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, PullProblem> {
        let raw: RawManifest = serde_json::from_slice(bytes).map_err(|error| malformed_json("manifest", &error))?;
        if raw.schema_version == Some(1) || raw.media_type.contains("manifest.v1+") && raw.media_type.contains("docker")
        {
            return Err(PullProblem::Schema1);
        }
        match (raw.manifests, raw.config) {
            (Some(manifests), None) if raw.layers.is_none() => Ok(Self::Index(manifests)),
            (None, Some(config)) => {
                let image = matches!(
                    config.media_type.as_str(),
                    "" | "application/vnd.oci.image.config.v1+json" | "application/vnd.docker.container.image.v1+json"
                );
                if image {
                    Ok(Self::Image { config: Box::new(config), layers: raw.layers.unwrap_or_default() })
                } else {
                    let media_type = raw.artifact_type.unwrap_or(config.media_type);
                    Err(PullProblem::NotAnImage { media_type: one_line(&media_type, 200) })
                }
            }
            (manifests, _) => Err(PullProblem::Malformed {
                what: "manifest",
                error: if manifests.is_some() {
                    "it is both an index and an image".into()
                } else {
                    "it has neither `manifests` nor `config`".into()
                },
            }),
        }
    }
}

/// Returns the problem of a document that cannot be parsed.
pub(crate) fn malformed_json(what: &'static str, error: &serde_json::Error) -> PullProblem {
    PullProblem::Malformed { what, error: one_line(&error.to_string(), 300) }
}

/// The manifest or index that the reference points to.
pub(crate) struct RootDocument {
    pub(crate) digest: String,
    pub(crate) bytes: Vec<u8>,
}

/// Returns an error for a descriptor whose size exceeds `cap` or whose digest is not supported.
pub(crate) fn check_descriptor(descriptor: &Descriptor, cap: u64) -> Result<(), PullProblem> {
    ContentDigest::parse(&descriptor.digest)?;
    if descriptor.size > cap { Err(PullProblem::TooLarge { limit: cap }) } else { Ok(()) }
}

/// An image config as parsed from JSON.
#[derive(Deserialize)]
pub(crate) struct RawConfig {
    #[serde(flatten)]
    pub(crate) platform: Platform,
    pub(crate) created: Option<String>,
    pub(crate) config: Option<RawContainerConfig>,
    pub(crate) history: Option<Vec<RawHistory>>,
    pub(crate) rootfs: Option<RawRootFs>,
}

/// The part of an image config with the settings of containers.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct RawContainerConfig {
    pub(crate) env: Option<Vec<String>>,
    pub(crate) labels: Option<BTreeMap<String, String>>,
    #[serde(default, deserialize_with = "words")]
    pub(crate) entrypoint: Vec<String>,
    #[serde(default, deserialize_with = "words")]
    pub(crate) cmd: Vec<String>,
    pub(crate) working_dir: Option<String>,
}

/// Deserializes a list of strings, or a single string that old builders wrote in place of a list.
fn words<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum StringOrList {
        List(Vec<String>),
        One(String),
    }
    let written = Option::<StringOrList>::deserialize(source)?;
    Ok(written.map_or_else(Vec::new, |words| match words {
        StringOrList::List(list) => list,
        StringOrList::One(word) => vec![word],
    }))
}

/// One entry of the history in an image config.
#[derive(Deserialize)]
pub(crate) struct RawHistory {
    pub(crate) created: Option<String>,
    pub(crate) created_by: Option<String>,
    pub(crate) comment: Option<String>,
    #[serde(default)]
    pub(crate) empty_layer: bool,
}

/// The digests of the uncompressed layers.
#[derive(Deserialize)]
pub(crate) struct RawRootFs {
    pub(crate) diff_ids: Option<Vec<String>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_that_are_not_images_are_identified() {
        let schema1 = br#"{"schemaVersion":1,"name":"a","fsLayers":[]}"#;
        assert!(matches!(Manifest::parse(schema1), Err(PullProblem::Schema1)));
        let chart = br#"{"schemaVersion":2,"config":{"mediaType":"application/vnd.cncf.helm.config.v1+json",
            "digest":"sha256:0","size":2},"layers":[]}"#;
        assert!(matches!(Manifest::parse(chart), Err(PullProblem::NotAnImage { .. })));
        for odd in [r#"{"schemaVersion":2,"manifests":[],"layers":[]}"#, "{}", "[]", ""] {
            assert!(matches!(Manifest::parse(odd.as_bytes()), Err(PullProblem::Malformed { .. })), "{odd}");
        }
    }
}
