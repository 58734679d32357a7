//! Writes OCI image layouts.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The digest of some bytes.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let sum = Sha256::digest(bytes);
    let hex: Vec<String> = sum.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{}", hex.concat())
}

/// Writes a blob and gives its descriptor.
pub(crate) fn blob(layout: &Path, media_type: &str, bytes: &[u8]) -> Value {
    let digest = sha256(bytes);
    let folder = layout.join("blobs/sha256");
    fs::create_dir_all(&folder).expect("folder of blobs");
    fs::write(folder.join(digest.trim_start_matches("sha256:")), bytes).expect("blob");
    json!({"mediaType": media_type, "digest": digest, "size": bytes.len()})
}

/// The config of a small image, with odd entries that real images have.
pub(crate) fn config(architecture: &str) -> Value {
    json!({
        "architecture": architecture,
        "os": "linux",
        "config": {
            "Env": ["PATH=/bin", "CUDA_VERSION=12.4.1", "NVIDIA_REQUIRE_CUDA=cuda>=12.4", "BARE"],
            "Labels": {"maintainer": "nobody"},
            "Entrypoint": ["/start"],
            "Cmd": null
        },
        "history": [{"created_by": "RUN true", "empty_layer": true}, {"created_by": "COPY . /"}],
        "rootfs": {"type": "layers", "diff_ids": [sha256(LAYER)]}
    })
}

/// An empty tar archive.
const LAYER: &[u8] = &[0; 1024];

/// Writes an image and gives the descriptor of its manifest.
pub(crate) fn image(layout: &Path, architecture: &str) -> Value {
    let bytes = config(architecture).to_string();
    let config = blob(layout, "application/vnd.oci.image.config.v1+json", bytes.as_bytes());
    let layer = blob(layout, "application/vnd.oci.image.layer.v1.tar", LAYER);
    manifest(layout, &config, &layer)
}

/// Writes the manifest of a config and one layer, and gives its descriptor.
pub(crate) fn manifest(layout: &Path, config: &Value, layer: &Value) -> Value {
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let document = json!({"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": [layer]});
    blob(layout, media_type, document.to_string().as_bytes())
}

/// Writes an index of two platforms and an attestation, and gives its descriptor.
pub(crate) fn index(layout: &Path) -> Value {
    let mut entries = Vec::new();
    for architecture in ["amd64", "arm64"] {
        let mut entry = image(layout, architecture);
        entry["platform"] = json!({"os": "linux", "architecture": architecture});
        entries.push(entry);
    }
    let bytes = br#"{"architecture":"unknown","os":"unknown","config":{},"rootfs":{"type":"layers","diff_ids":[]}}"#;
    let config = blob(layout, "application/vnd.oci.image.config.v1+json", bytes);
    let statement = blob(layout, "application/vnd.in-toto+json", b"{}");
    let mut attestation = manifest(layout, &config, &statement);
    attestation["platform"] = json!({"os": "unknown", "architecture": "unknown"});
    attestation["annotations"] = json!({
        "vnd.docker.reference.type": "attestation-manifest",
        "vnd.docker.reference.digest": entries[0]["digest"]
    });
    entries.push(attestation);
    let media_type = "application/vnd.oci.image.index.v1+json";
    let document = json!({"schemaVersion": 2, "mediaType": media_type, "manifests": entries});
    blob(layout, media_type, document.to_string().as_bytes())
}

/// Writes the files at the top of a layout, with a name for every root.
pub(crate) fn finish(layout: &Path, roots: &[(&str, Value)]) {
    let named = |(name, root): &(&str, Value)| {
        let mut root = root.clone();
        root["annotations"] = json!({"org.opencontainers.image.ref.name": name});
        root
    };
    let manifests: Vec<Value> = roots.iter().map(named).collect();
    let index = json!({"schemaVersion": 2, "manifests": manifests});
    fs::write(layout.join("index.json"), index.to_string()).expect("index.json");
    fs::write(layout.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).expect("oci-layout");
}
