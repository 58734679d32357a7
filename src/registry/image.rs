//! The result of a pull: the config of one image.

use std::collections::BTreeMap;

use crate::registry::manifest_types::{Descriptor, RawConfig, malformed_json};
use crate::registry::platform::Platform;
use crate::registry::pull_error::{PullProblem, one_line};

/// The config of one image for one platform, and its digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PulledImage {
    /// The image reference as a user writes it.
    pub reference: String,
    /// Digest of the index that lists this image; `None` if the reference is the image itself.
    pub index_digest: Option<String>,
    /// Digest of the image's manifest; of its config in an archive that has no manifest.
    pub manifest_digest: String,
    /// Digest of the config.
    pub config_digest: String,
    /// Every platform for which the reference has an image.
    pub platforms: Vec<Platform>,
    /// The config.
    pub config: ImageConfig,
}

/// The config of an image, with the layers of its manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageConfig {
    /// The platform in the config; its parts are empty if the config has none.
    pub platform: Platform,
    /// The creation time, as written in the config.
    pub created: Option<String>,
    /// The environment variables in order; an entry without `=` has an empty value.
    pub env: Vec<(String, String)>,
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The entry point, empty where there is none.
    pub entrypoint: Vec<String>,
    /// The default command, empty where there is none.
    pub cmd: Vec<String>,
    /// The working directory, empty if there is none.
    pub working_dir: String,
    /// The steps of the build, oldest first.
    pub history: Vec<HistoryStep>,
    /// The layers, lowest first.
    pub layers: Vec<Layer>,
}

impl ImageConfig {
    /// Returns the value of an environment variable; of several entries the last one counts.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Parses a config blob and adds the layers of the manifest.
    pub(crate) fn parse(bytes: &[u8], layers: &[Descriptor]) -> Result<Self, PullProblem> {
        let raw: RawConfig = serde_json::from_slice(bytes).map_err(|error| malformed_json("image config", &error))?;
        Ok(Self::from_raw(raw, layers))
    }

    /// Converts a parsed config, adding the layers of the manifest.
    pub(crate) fn from_raw(raw: RawConfig, layers: &[Descriptor]) -> Self {
        let run = raw.config.unwrap_or_default();
        let diff_ids = raw.rootfs.and_then(|rootfs| rootfs.diff_ids).unwrap_or_default();
        let mut diff_ids = diff_ids.into_iter();
        let mut platform = raw.platform;
        platform.variant = platform.variant.filter(|variant| !variant.is_empty());
        let split = |entry: String| match entry.split_once('=') {
            Some((key, value)) => (key.to_owned(), value.to_owned()),
            None => (entry, String::new()),
        };
        let step = |raw: crate::registry::manifest_types::RawHistory| HistoryStep {
            created: raw.created,
            created_by: raw.created_by.unwrap_or_default(),
            comment: raw.comment,
            empty_layer: raw.empty_layer,
        };
        let history: Vec<HistoryStep> = raw.history.unwrap_or_default().into_iter().map(step).collect();
        let mut makers = history_of_layers(&history, layers.len()).into_iter();
        let layer = |layer: &Descriptor| Layer {
            digest: layer.digest.clone(),
            size: layer.size,
            media_type: layer.media_type.clone(),
            diff_id: diff_ids.next(),
            urls: layer.urls.clone().unwrap_or_default(),
            history: makers.next().flatten(),
        };
        Self {
            platform,
            created: raw.created,
            env: run.env.unwrap_or_default().into_iter().map(split).collect(),
            labels: run.labels.unwrap_or_default(),
            entrypoint: run.entrypoint,
            cmd: run.cmd,
            working_dir: run.working_dir.unwrap_or_default(),
            history,
            layers: layers.iter().map(layer).collect(),
        }
    }
}

/// One entry of the history in an image config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryStep {
    /// The creation time, as written in the config.
    pub created: Option<String>,
    /// The command, empty if the builder did not record it.
    pub created_by: String,
    /// The builder's comment.
    pub comment: Option<String>,
    /// Whether the step created no layer.
    pub empty_layer: bool,
}

/// One layer of an image, not downloaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    /// Digest of the compressed layer.
    pub digest: String,
    /// Size of the compressed layer in bytes, according to the manifest.
    pub size: u64,
    /// Media type of the layer.
    pub media_type: String,
    /// Digest of the uncompressed layer, if the config has it.
    pub diff_id: Option<String>,
    /// URLs outside the registry, which are never requested.
    pub urls: Vec<String>,
    /// Index of the history entry that created the layer, if it is known.
    pub history: Option<usize>,
}

impl Layer {
    /// Whether the layer is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.media_type.ends_with("+encrypted")
    }

    /// Returns the problem of a foreign layer that is not stored with the image.
    pub(crate) fn foreign_layer_problem(&self) -> PullProblem {
        PullProblem::Foreign { urls: self.urls.iter().map(|url| one_line(url, 200)).collect() }
    }

    /// Whether the layer is a foreign layer, which registries need not store.
    pub fn is_foreign(&self) -> bool {
        self.media_type.contains(".foreign.") || self.media_type.contains(".nondistributable.")
    }
}

/// Returns the history entry of each layer, if as many entries as layers are not empty; otherwise `None` for each.
pub(crate) fn history_of_layers(history: &[HistoryStep], layers: usize) -> Vec<Option<usize>> {
    let steps: Vec<Option<usize>> =
        history.iter().enumerate().filter(|(_, step)| !step.empty_layer).map(|(at, _)| Some(at)).collect();
    if steps.len() == layers { steps } else { vec![None; layers] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_and_unusual_configs_are_parsed() {
        let text = br#"{"architecture":"amd64","os":"linux","config":{"Env":["A=1=2","B","A=3"],
            "Labels":null,"Cmd":null},"history":[{"created_by":"RUN x"}],"rootfs":null}"#;
        let config = ImageConfig::parse(text, &[]).expect("config");
        assert_eq!(config.variable("A"), Some("3"));
        assert_eq!(config.env[1], ("B".into(), String::new()));
        assert_eq!(config.history[0].created_by, "RUN x");
        let text = br#"{"config":{"Entrypoint":"/run","Cmd":["a","b"],"WorkingDir":"/app"}}"#;
        let config = ImageConfig::parse(text, &[]).expect("config");
        assert_eq!((config.entrypoint, config.cmd), (vec!["/run".into()], vec!["a".into(), "b".into()]));
        assert_eq!(config.working_dir, "/app");
        assert!(ImageConfig::parse(br#"{"config":{"Cmd":[7]}}"#, &[]).is_err());
        assert!(ImageConfig::parse(b"{}", &[]).expect("config").platform.is_unspecified());
    }
}
