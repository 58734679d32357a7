//! Indexes, manifests and configurations of images, in a layout.

use std::fs;
use std::sync::LazyLock;

use imagelint::registry::{ImageSource, PullOptions, Puller};
use serde_json::{Value, json};

use crate::oci_layout;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

static PULLER: LazyLock<Puller> = LazyLock::new(|| Puller::new(PullOptions::default()).expect("a puller"));

pub(crate) const WORDS: &[&str] = &[
    "\"schemaVersion\":1",
    "\"manifests\":[",
    "\"config\":{",
    "\"layers\":[]",
    "\"layers\":null",
    "\"size\":-1",
    "\"size\":18446744073709551615",
    "\"digest\":\"sha256:\"",
    "\"digest\":\"../../x\"",
    "\"platform\":{\"os\":\"unknown\",\"architecture\":\"unknown\"}",
    "\"mediaType\":\"application/vnd.oci.image.index.v1+json\"",
    "\"Env\":[\"A\"]",
    "\"history\":[{}]",
    "[[[[[[[[",
    "{\"a\":",
    "null",
    "1e999",
    "\\ud800",
];

pub(crate) fn seeds() -> Vec<String> {
    let folder = tempfile::tempdir().expect("temporary folder");
    let index = oci_layout::index(folder.path());
    let image = oci_layout::image(folder.path(), "amd64");
    oci_layout::finish(folder.path(), &[("one", index), ("two", image)]);
    let named =
        fs::read_dir(folder.path().join("blobs/sha256")).expect("blobs").map(|file| file.expect("a file").path());
    let mut files: Vec<_> = named.chain([folder.path().join("index.json")]).collect();
    files.sort();
    files.into_iter().filter_map(|path| fs::read_to_string(path).ok()).collect()
}

/// Reads a text as the index, as a manifest and as a configuration.
pub(crate) fn read(text: &str) {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path();
    let layer = oci_layout::blob(path, "application/vnd.oci.image.layer.v1.tar", b"a layer");
    let manifest = oci_layout::blob(path, MANIFEST, text.as_bytes());
    let config = oci_layout::blob(path, CONFIG, text.as_bytes());
    let document = json!({"schemaVersion": 2, "config": config, "layers": [layer]}).to_string();
    let sound = oci_layout::blob(path, MANIFEST, document.as_bytes());
    let nested = oci_layout::blob(path, "application/vnd.oci.image.index.v1+json", text.as_bytes());
    let index = |root: &Value| json!({"schemaVersion": 2, "manifests": [root]}).to_string();
    let source = ImageSource::parse(&format!("oci:{}", path.display())).expect("a layout");
    for root in [text.to_owned(), index(&manifest), index(&sound), index(&nested)] {
        fs::write(path.join("index.json"), root).expect("index.json");
        match PULLER.open(&source, &[]) {
            Ok(opened) => opened.images.iter().for_each(|image| {
                image.config.layers.iter().for_each(|layer| drop(opened.blobs.layer_reader(layer)));
            }),
            Err(error) => assert!(error.to_string().len() < 8192, "{error}"),
        }
    }
}
