//! Images with layers of small files, in an OCI layout.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::oci_layout;

/// A layer under way.
pub(crate) struct Layer(tar::Builder<Vec<u8>>);

impl Layer {
    /// With nothing in it.
    pub(crate) fn new() -> Self {
        Self(tar::Builder::new(Vec::new()))
    }

    /// With a file.
    pub(crate) fn file(mut self, path: &str, bytes: &[u8]) -> Self {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len().try_into().expect("a size"));
        header.set_mode(0o755);
        self.0.append_data(&mut header, path.trim_start_matches('/'), bytes).expect(path);
        self
    }

    /// With a text.
    pub(crate) fn text(self, path: &str, text: &str) -> Self {
        self.file(path, text.as_bytes())
    }

    /// With a symbolic link.
    pub(crate) fn link(mut self, path: &str, target: &str) -> Self {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        self.0.append_link(&mut header, path.trim_start_matches('/'), target).expect(path);
        self
    }

    /// With another name of a file.
    pub(crate) fn hard(mut self, path: &str, target: &str) -> Self {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Link);
        header.set_size(0);
        let target = target.trim_start_matches('/');
        self.0.append_link(&mut header, path.trim_start_matches('/'), target).expect(path);
        self
    }

    /// Of an archive that is there.
    pub(crate) fn of(archive: &[u8]) -> Self {
        let mut builder = tar::Builder::new(Vec::new());
        builder.get_mut().extend_from_slice(archive);
        Self(builder)
    }

    /// That takes a file or folder of the layers below away.
    pub(crate) fn without(self, path: &str) -> Self {
        let (folder, name) = path.rsplit_once('/').expect("a folder");
        self.file(&format!("{folder}/.wh.{name}"), b"")
    }

    fn bytes(self) -> Vec<u8> {
        self.0.into_inner().expect("an archive")
    }
}

/// An image under way.
pub(crate) struct Image {
    config: Value,
    layers: Vec<Vec<u8>>,
    packed: &'static str,
}

impl Image {
    /// Of an environment, and a step of the history that makes no layer.
    pub(crate) fn new(env: &[&str]) -> Self {
        let config = json!({
            "architecture": "amd64",
            "os": "linux",
            "config": {"Env": env, "Cmd": ["/bin/sh"]},
            "history": [{"created_by": "ENV first", "empty_layer": true}],
            "rootfs": {"type": "layers", "diff_ids": []}
        });
        Self { config, layers: Vec::new(), packed: "" }
    }

    /// With a layer more, made by a step of the history.
    pub(crate) fn layer(mut self, step: &str, layer: Layer) -> Self {
        let bytes = layer.bytes();
        let list = |value: &mut Value| value.as_array_mut().expect("a list").len();
        self.config["history"].as_array_mut().expect("history").push(json!({"created_by": step}));
        let ids = self.config["rootfs"]["diff_ids"].as_array_mut().expect("diff_ids");
        ids.push(json!(oci_layout::sha256(&bytes)));
        self.layers.push(bytes);
        assert_eq!(list(&mut self.config["rootfs"]["diff_ids"]), self.layers.len());
        self
    }

    /// That starts a program.
    pub(crate) fn starts(mut self, words: &[&str]) -> Self {
        self.config["config"]["Entrypoint"] = json!(words);
        self
    }

    /// For another architecture.
    pub(crate) fn of(mut self, architecture: &str) -> Self {
        self.config["architecture"] = json!(architecture);
        self
    }

    /// In a folder.
    pub(crate) fn runs_in(mut self, folder: &str) -> Self {
        self.config["config"]["WorkingDir"] = json!(folder);
        self
    }

    /// With another ending of the media type of the last layer.
    pub(crate) fn packed(mut self, ending: &'static str) -> Self {
        self.packed = ending;
        self
    }

    /// The digest of a layer.
    pub(crate) fn digest(&self, layer: usize) -> String {
        oci_layout::sha256(&self.layers[layer])
    }

    /// Writes it as `docker save` does.
    pub(crate) fn save(&self, path: &Path) {
        let name = |layer: usize| format!("{layer}/layer.tar");
        let names: Vec<String> = (0..self.layers.len()).map(name).collect();
        let manifest = json!([{"Config": "config.json", "RepoTags": ["one:latest"], "Layers": names}]);
        let mut archive = Layer::new();
        for (name, bytes) in names.iter().zip(&self.layers) {
            archive = archive.file(name, bytes);
        }
        let archive =
            archive.text("config.json", &self.config.to_string()).text("manifest.json", &manifest.to_string());
        std::fs::write(path, archive.bytes()).expect("an archive");
    }

    /// Writes it, and gives the descriptor of its manifest.
    pub(crate) fn write(&self, folder: &Path) -> Value {
        let config = self.config.to_string();
        let config = oci_layout::blob(folder, "application/vnd.oci.image.config.v1+json", config.as_bytes());
        let ending = |at: usize| if at + 1 == self.layers.len() { self.packed } else { "" };
        let of = |(at, bytes): (usize, &Vec<u8>)| {
            oci_layout::blob(folder, &format!("application/vnd.oci.image.layer.v1.tar{}", ending(at)), bytes)
        };
        let layers: Vec<Value> = self.layers.iter().enumerate().map(of).collect();
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let document = json!({"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": layers});
        oci_layout::blob(folder, media_type, document.to_string().as_bytes())
    }
}
