//! What a pull gives: the config of one image, in plain types.

use std::collections::BTreeMap;

use crate::oci::error::Problem;
use crate::oci::error::one_line;
use crate::oci::platform::Platform;
use crate::oci::types::Descriptor;
use crate::oci::types::RawConfig;
use crate::oci::types::malformed;

/// One image of one platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PulledImage {
    /// The reference as a person would write it.
    pub reference: String,
    /// Digest of the index that names this image; none where the tag is the image itself.
    pub index_digest: Option<String>,
    /// Digest of the image's manifest; of its config in an archive that has no manifest.
    pub manifest_digest: String,
    /// Digest of the config.
    pub config_digest: String,
    /// Every platform that the reference has an image for.
    pub platforms: Vec<Platform>,
    /// The config.
    pub config: ImageConfig,
}

/// The config of an image and the layers that its manifest lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageConfig {
    /// The platform that the config names; its parts are empty where it names none.
    pub platform: Platform,
    /// When the image was made, as written.
    pub created: Option<String>,
    /// The environment in order; an entry without `=` has an empty value.
    pub env: Vec<(String, String)>,
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The entry point, empty where there is none.
    pub entrypoint: Vec<String>,
    /// The default command, empty where there is none.
    pub cmd: Vec<String>,
    /// The folder in which it starts, empty where none is named.
    pub working_dir: String,
    /// The steps of the build, oldest first.
    pub history: Vec<HistoryStep>,
    /// The layers, lowest first.
    pub layers: Vec<Layer>,
}

impl ImageConfig {
    /// The value of a variable; the last entry of a name counts.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Reads the config blob and joins it with the layers of the manifest.
    pub(crate) fn parse(bytes: &[u8], layers: &[Descriptor]) -> Result<Self, Problem> {
        let raw: RawConfig = serde_json::from_slice(bytes).map_err(|error| malformed("image config", &error))?;
        Ok(Self::of(raw, layers))
    }

    /// Joins a config with the layers of the manifest.
    pub(crate) fn of(raw: RawConfig, layers: &[Descriptor]) -> Self {
        let run = raw.config.unwrap_or_default();
        let diff_ids = raw.rootfs.and_then(|rootfs| rootfs.diff_ids).unwrap_or_default();
        let mut diff_ids = diff_ids.into_iter();
        let mut platform = raw.platform;
        platform.variant = platform.variant.filter(|variant| !variant.is_empty());
        let split = |entry: String| match entry.split_once('=') {
            Some((key, value)) => (key.to_owned(), value.to_owned()),
            None => (entry, String::new()),
        };
        let step = |raw: crate::oci::types::RawHistory| HistoryStep {
            created: raw.created,
            created_by: raw.created_by.unwrap_or_default(),
            comment: raw.comment,
            empty_layer: raw.empty_layer,
        };
        let history: Vec<HistoryStep> = raw.history.unwrap_or_default().into_iter().map(step).collect();
        let mut makers = makers(&history, layers.len()).into_iter();
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

/// One step of the build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryStep {
    /// When, as written.
    pub created: Option<String>,
    /// The command, empty where the builder kept it to itself.
    pub created_by: String,
    /// The builder's remark.
    pub comment: Option<String>,
    /// Whether the step made no layer.
    pub empty_layer: bool,
}

/// One layer, not pulled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    /// Digest of the packed layer.
    pub digest: String,
    /// Size of the packed layer in bytes, as the manifest says.
    pub size: u64,
    /// Media type of the layer.
    pub media_type: String,
    /// Digest of the unpacked layer, where the config has it.
    pub diff_id: Option<String>,
    /// Addresses outside of the registry, which are never gone to.
    pub urls: Vec<String>,
    /// The step of the history that made it, where the history tells.
    pub history: Option<usize>,
}

impl Layer {
    /// Whether only those who have a key can read the layer.
    pub fn is_encrypted(&self) -> bool {
        self.media_type.ends_with("+encrypted")
    }

    /// That a foreign layer does not lie where the image is.
    pub(crate) fn elsewhere(&self) -> Problem {
        Problem::Foreign { urls: self.urls.iter().map(|url| one_line(url, 200)).collect() }
    }

    /// Whether the layer is one that registries need not hold.
    pub fn is_foreign(&self) -> bool {
        self.media_type.contains(".foreign.") || self.media_type.contains(".nondistributable.")
    }
}

/// The steps of the history that made the layers, where it has one step for each layer.
pub(crate) fn makers(history: &[HistoryStep], layers: usize) -> Vec<Option<usize>> {
    let steps: Vec<Option<usize>> =
        history.iter().enumerate().filter(|(_, step)| !step.empty_layer).map(|(at, _)| Some(at)).collect();
    if steps.len() == layers { steps } else { vec![None; layers] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_and_odd_entries_in_a_config_are_borne() {
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
        assert!(ImageConfig::parse(b"{}", &[]).expect("config").platform.is_unsaid());
    }
}
