//! The config of an image from a container engine, read with two small requests instead of the whole archive.

use serde::Deserialize;

use crate::registry::container_engine::EngineImage;
use crate::registry::content_digest::ContentDigest;
use crate::registry::image::{ImageConfig, PulledImage};
use crate::registry::manifest_types::{
    Descriptor, RawConfig, RawContainerConfig, RawHistory, RawRootFs, malformed_json,
};
use crate::registry::platform::Platform;
use crate::registry::pull_error::{PullError, PullProblem};
use crate::registry::pull_options::PullLimits;
use crate::registry::regular_file::read_within_limit;

/// An image whose config came from a container engine, without its layers.
pub(crate) struct EngineInspection {
    host: String,
    reference: String,
}

/// The engine's description of an image (`docker image inspect`).
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EngineImageJson {
    id: String,
    created: Option<String>,
    architecture: Option<String>,
    os: Option<String>,
    variant: Option<String>,
    config: Option<RawContainerConfig>,
    #[serde(rename = "RootFS")]
    root_fs: Option<EngineRootFs>,
}

/// The layers of an image in the engine's description.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EngineRootFs {
    layers: Option<Vec<String>>,
}

/// An entry of the engine's image history, in which the newest comes first.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EngineHistoryEntry {
    created_by: Option<String>,
    comment: Option<String>,
    size: Option<i64>,
}

impl EngineInspection {
    /// Requests the image's config from the engine; `None` if the response cannot be used and the archive must be
    /// read.
    pub(crate) fn open(
        engine: &EngineImage,
        reference: &str,
        requested: &[Platform],
        limits: &PullLimits,
    ) -> Result<Option<(Self, PulledImage)>, PullError> {
        let inspected = Self { host: engine.display_socket(), reference: reference.to_owned() };
        let image = match inspected.read_image(engine, limits) {
            Ok(image) => image,
            // Podman 4.3 fails to inspect an image without a creation date.
            Err(
                PullProblem::Malformed { .. }
                | PullProblem::UnsupportedDigest { .. }
                | PullProblem::TooLarge { .. }
                | PullProblem::Status { .. },
            ) => return Ok(None),
            Err(problem) => return Err(inspected.pull_error("the image", problem)),
        };
        let platform = &image.config.platform;
        if !platform.is_unspecified()
            && !requested.is_empty()
            && !requested.iter().any(|target| target.accepts(platform))
        {
            let problem =
                PullProblem::MissingPlatform { requested: requested.to_vec(), available: vec![platform.clone()] };
            return Err(inspected.pull_error("the image", problem));
        }
        Ok(Some((inspected, image)))
    }

    /// Requests the description and the history of the image, and builds its config from them.
    fn read_image(&self, engine: &EngineImage, limits: &PullLimits) -> Result<PulledImage, PullProblem> {
        let request = |what: &str| read_within_limit((0, engine.request(what)?), limits.config, what);
        let about: EngineImageJson = serde_json::from_slice(&request("json")?)
            .map_err(|error| malformed_json("the engine's image data", &error))?;
        let steps: Vec<EngineHistoryEntry> = serde_json::from_slice(&request("history")?)
            .map_err(|error| malformed_json("the engine's history", &error))?;
        ContentDigest::parse(&about.id)?;
        let id = about.id.clone();
        let config = build_config(about, steps)?;
        Ok(PulledImage {
            reference: self.reference.clone(),
            index_digest: None,
            manifest_digest: id.clone(),
            config_digest: id,
            platforms: vec![config.platform.clone()],
            config,
        })
    }

    /// Returns a pull error with the engine, the reference and the failed request.
    pub(crate) fn pull_error(&self, request: &str, problem: PullProblem) -> PullError {
        PullError::new(&self.host, &self.reference, request, problem)
    }

    /// Returns the image reference as a user writes it.
    pub(crate) fn reference(&self) -> String {
        self.reference.clone()
    }
}

/// Builds the config from the engine's responses. Layers are identified by the digests of their uncompressed bytes,
/// as in an archive.
fn build_config(about: EngineImageJson, steps: Vec<EngineHistoryEntry>) -> Result<ImageConfig, PullProblem> {
    let diff_ids = about.root_fs.and_then(|root| root.layers).unwrap_or_default();
    for digest in &diff_ids {
        ContentDigest::parse(digest)?;
    }
    let layer = |digest: &String| Descriptor { digest: digest.clone(), ..Descriptor::default() };
    let layers: Vec<Descriptor> = diff_ids.iter().map(layer).collect();
    // Which steps made a layer is not stated: those with a size did. If the numbers differ, no layer gets a step.
    let step = |step: EngineHistoryEntry| RawHistory {
        created: None,
        created_by: step.created_by,
        comment: step.comment.filter(|comment| !comment.is_empty()),
        empty_layer: step.size.unwrap_or_default() == 0,
    };
    let platform = Platform {
        os: about.os.unwrap_or_default(),
        architecture: about.architecture.unwrap_or_default(),
        variant: about.variant,
    };
    let raw = RawConfig {
        platform,
        created: about.created,
        config: about.config,
        history: Some(steps.into_iter().rev().map(step).collect()),
        rootfs: Some(RawRootFs { diff_ids: Some(diff_ids) }),
    };
    Ok(ImageConfig::from_raw(raw, &layers))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds the config from the engine's responses as JSON.
    fn config_from_json(about: &str, steps: &str) -> ImageConfig {
        let about: EngineImageJson = serde_json::from_str(about).expect("about");
        build_config(about, serde_json::from_str(steps).expect("steps")).expect("a configuration")
    }

    #[test]
    fn engine_responses_become_a_config() {
        let (one, two) = (format!("sha256:{}", "1".repeat(64)), format!("sha256:{}", "2".repeat(64)));
        let about = format!(
            r#"{{"Id":"sha256:a","Architecture":"arm64","Os":"linux","Variant":"","Created":"2026-01-01T00:00:00Z",
            "Config":{{"Env":["A=1"],"Cmd":["sh"],"Entrypoint":null,"Labels":null}},"RootFS":{{"Layers":["{one}","{two}"]}}}}"#
        );
        let step =
            |by: &str, size: u64| format!(r#"{{"Id":"<missing>","CreatedBy":"{by}","Comment":"","Size":{size}}}"#);
        let steps = format!("[{},{},{}]", step("RUN b", 7), step("ENV A=1", 0), step("ADD a", 9));
        let config = config_from_json(&about, &steps);
        assert_eq!(config.platform.to_string(), "linux/arm64");
        assert_eq!((config.variable("A"), &config.cmd[..]), (Some("1"), &["sh".to_owned()][..]));
        let commands: Vec<&str> = config.history.iter().map(|step| &*step.created_by).collect();
        assert_eq!(commands, ["ADD a", "ENV A=1", "RUN b"]);
        let makers: Vec<Option<usize>> = config.layers.iter().map(|layer| layer.history).collect();
        assert_eq!(makers, [Some(0), Some(2)]);
        // A layer of no bytes looks like none: then no layer has a maker.
        let config = config_from_json(&about, &format!("[{},{}]", step("RUN b", 0), step("ADD a", 9)));
        assert!(config.layers.iter().all(|layer| layer.history.is_none()));
    }

    #[test]
    fn invalid_engine_responses_are_errors() {
        for odd in ["", "[]", "{}", r#"{"Id":1}"#, r#"{"Id":"a","Config":{"Env":"A=1"}}"#, r#"{"Id":"a","RootFS":[]}"#]
        {
            assert!(serde_json::from_str::<EngineImageJson>(odd).is_err(), "{odd}");
        }
        let about: EngineImageJson = serde_json::from_str(r#"{"Id":"a","RootFS":{"Layers":["../x"]}}"#).expect("about");
        assert!(build_config(about, Vec::new()).is_err());
    }
}
