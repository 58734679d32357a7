//! Manifests, indexes and configs as registries write them, read leniently.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::Deserializer;

use crate::oci::error::Problem;
use crate::oci::error::one_line;
use crate::oci::platform::Platform;

/// What `Accept` says when a manifest is asked for.
pub(crate) const MANIFEST_TYPES: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, \
    application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json";

/// The annotation that names an image within a layout.
pub(crate) const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// A pointer to a blob or manifest.
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
    /// Whether this points at an attestation about an image, not at an image.
    pub(crate) fn is_attestation(&self) -> bool {
        let annotated = self.annotation("vnd.docker.reference.type") == Some("attestation-manifest");
        let typed = self.artifact_type.as_deref() == Some("application/vnd.docker.attestation.manifest.v1+json");
        annotated || typed || self.platform.as_ref().is_some_and(Platform::is_unknown)
    }

    /// Whether this points at another index.
    pub(crate) fn is_index(&self) -> bool {
        matches!(
            self.media_type.as_str(),
            "application/vnd.oci.image.index.v1+json" | "application/vnd.docker.distribution.manifest.list.v2+json"
        )
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key).map(String::as_str)
    }
}

/// Either kind of document found under a tag.
#[derive(Clone, Debug)]
pub(crate) enum Manifest {
    /// An OCI index or a Docker manifest list.
    Index(Vec<Descriptor>),
    /// An OCI manifest or a Docker schema 2 manifest.
    Image { config: Box<Descriptor>, layers: Vec<Descriptor> },
}

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
    /// Reads an index or manifest; what it is shows in its members, not in a header.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        let raw: RawManifest = serde_json::from_slice(bytes).map_err(|error| malformed("manifest", &error))?;
        if raw.schema_version == Some(1) || raw.media_type.contains("manifest.v1+") && raw.media_type.contains("docker")
        {
            return Err(Problem::Schema1);
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
                    Err(Problem::NotAnImage { media_type: one_line(&media_type, 200) })
                }
            }
            (manifests, _) => Err(Problem::Malformed {
                what: "manifest",
                cause: if manifests.is_some() {
                    "it is both an index and an image".into()
                } else {
                    "it has neither `manifests` nor `config`".into()
                },
            }),
        }
    }
}

/// The error of a document that is not what it should be.
pub(crate) fn malformed(what: &'static str, error: &serde_json::Error) -> Problem {
    Problem::Malformed { what, cause: one_line(&error.to_string(), 300) }
}

/// The config blob.
#[derive(Deserialize)]
pub(crate) struct RawConfig {
    #[serde(flatten)]
    pub(crate) platform: Platform,
    pub(crate) created: Option<String>,
    pub(crate) config: Option<RawExecution>,
    pub(crate) history: Option<Vec<RawHistory>>,
    pub(crate) rootfs: Option<RawRootFs>,
}

/// The part of the config blob that says how to start a container.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct RawExecution {
    pub(crate) env: Option<Vec<String>>,
    pub(crate) labels: Option<BTreeMap<String, String>>,
    #[serde(default, deserialize_with = "words")]
    pub(crate) entrypoint: Vec<String>,
    #[serde(default, deserialize_with = "words")]
    pub(crate) cmd: Vec<String>,
    pub(crate) working_dir: Option<String>,
}

/// A list of words, or the one word that early builders wrote in place of a list; engines take both.
fn words<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Words {
        List(Vec<String>),
        One(String),
    }
    let written = Option::<Words>::deserialize(source)?;
    Ok(written.map_or_else(Vec::new, |words| match words {
        Words::List(list) => list,
        Words::One(word) => vec![word],
    }))
}

/// One step of the build.
#[derive(Deserialize)]
pub(crate) struct RawHistory {
    pub(crate) created: Option<String>,
    pub(crate) created_by: Option<String>,
    pub(crate) comment: Option<String>,
    #[serde(default)]
    pub(crate) empty_layer: bool,
}

/// The digests of the unpacked layers.
#[derive(Deserialize)]
pub(crate) struct RawRootFs {
    pub(crate) diff_ids: Option<Vec<String>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_that_are_no_image_are_named() {
        let schema1 = br#"{"schemaVersion":1,"name":"a","fsLayers":[]}"#;
        assert!(matches!(Manifest::parse(schema1), Err(Problem::Schema1)));
        let chart = br#"{"schemaVersion":2,"config":{"mediaType":"application/vnd.cncf.helm.config.v1+json",
            "digest":"sha256:0","size":2},"layers":[]}"#;
        assert!(matches!(Manifest::parse(chart), Err(Problem::NotAnImage { .. })));
        for odd in [r#"{"schemaVersion":2,"manifests":[],"layers":[]}"#, "{}", "[]", ""] {
            assert!(matches!(Manifest::parse(odd.as_bytes()), Err(Problem::Malformed { .. })), "{odd}");
        }
    }
}
