//! An image that an engine is asked about and not for: two small answers in the place of the whole archive.

use serde::Deserialize;

use crate::oci::digest::Digest;
use crate::oci::engine::Engine;
use crate::oci::error::Problem;
use crate::oci::error::PullError;
use crate::oci::files::whole;
use crate::oci::image::ImageConfig;
use crate::oci::image::PulledImage;
use crate::oci::options::Limits;
use crate::oci::platform::Platform;
use crate::oci::types::Descriptor;
use crate::oci::types::RawConfig;
use crate::oci::types::RawExecution;
use crate::oci::types::RawHistory;
use crate::oci::types::RawRootFs;
use crate::oci::types::malformed;

/// An image of which the engine told the configuration.
pub(crate) struct Inspected {
    host: String,
    reference: String,
}

/// What an engine says of an image.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct About {
    id: String,
    created: Option<String>,
    architecture: Option<String>,
    os: Option<String>,
    variant: Option<String>,
    config: Option<RawExecution>,
    #[serde(rename = "RootFS")]
    root_fs: Option<RootFs>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RootFs {
    layers: Option<Vec<String>>,
}

/// A step of its history, the newest of which comes first.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Step {
    created_by: Option<String>,
    comment: Option<String>,
    size: Option<i64>,
}

impl Inspected {
    /// Asks the engine about the image; none where it does not say it in a way that is
    /// understood, and the archive has to be read.
    pub(crate) fn open(
        engine: &Engine,
        reference: &str,
        wanted: &[Platform],
        limits: &Limits,
    ) -> Result<Option<(Self, PulledImage)>, PullError> {
        let inspected = Self { host: engine.shown(), reference: reference.to_owned() };
        let image = match inspected.image(engine, limits) {
            Ok(image) => image,
            // Podman 4.3 fails on what it is asked about an image that does not say when it was made.
            Err(
                Problem::Malformed { .. }
                | Problem::UnsupportedDigest { .. }
                | Problem::TooLarge { .. }
                | Problem::Status { .. },
            ) => return Ok(None),
            Err(problem) => return Err(inspected.fail("the image", problem)),
        };
        let platform = &image.config.platform;
        if !platform.is_unsaid() && !wanted.is_empty() && !wanted.iter().any(|wanted| wanted.accepts(platform)) {
            let problem = Problem::MissingPlatform { wanted: wanted.to_vec(), available: vec![platform.clone()] };
            return Err(inspected.fail("the image", problem));
        }
        Ok(Some((inspected, image)))
    }

    fn image(&self, engine: &Engine, limits: &Limits) -> Result<PulledImage, Problem> {
        let ask = |what: &str| whole((0, engine.ask(what)?), limits.config, what);
        let about: About =
            serde_json::from_slice(&ask("json")?).map_err(|error| malformed("the engine's image data", &error))?;
        let steps: Vec<Step> =
            serde_json::from_slice(&ask("history")?).map_err(|error| malformed("the engine's history", &error))?;
        Digest::parse(&about.id)?;
        let id = about.id.clone();
        let config = config(about, steps)?;
        Ok(PulledImage {
            reference: self.reference.clone(),
            index_digest: None,
            manifest_digest: id.clone(),
            config_digest: id,
            platforms: vec![config.platform.clone()],
            config,
        })
    }

    /// Joins a problem to what was asked.
    pub(crate) fn fail(&self, asked: &str, problem: Problem) -> PullError {
        PullError::new(&self.host, &self.reference, asked, problem)
    }

    /// The image as a person would name it.
    pub(crate) fn reference(&self) -> String {
        self.reference.clone()
    }
}

/// The configuration behind the two answers. A layer is known by the digest of its unpacked bytes, as in an archive.
fn config(about: About, steps: Vec<Step>) -> Result<ImageConfig, Problem> {
    let diff_ids = about.root_fs.and_then(|root| root.layers).unwrap_or_default();
    for digest in &diff_ids {
        Digest::parse(digest)?;
    }
    let layer = |digest: &String| Descriptor { digest: digest.clone(), ..Descriptor::default() };
    let layers: Vec<Descriptor> = diff_ids.iter().map(layer).collect();
    // Nobody says which steps made no layer: those that did have a size, and where their numbers differ nobody is told.
    let step = |step: Step| RawHistory {
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
    Ok(ImageConfig::of(raw, &layers))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(about: &str, steps: &str) -> ImageConfig {
        let about: About = serde_json::from_str(about).expect("about");
        config(about, serde_json::from_str(steps).expect("steps")).expect("a configuration")
    }

    #[test]
    fn the_answers_of_an_engine_are_a_configuration() {
        let (one, two) = (format!("sha256:{}", "1".repeat(64)), format!("sha256:{}", "2".repeat(64)));
        let about = format!(
            r#"{{"Id":"sha256:a","Architecture":"arm64","Os":"linux","Variant":"","Created":"2026-01-01T00:00:00Z",
            "Config":{{"Env":["A=1"],"Cmd":["sh"],"Entrypoint":null,"Labels":null}},"RootFS":{{"Layers":["{one}","{two}"]}}}}"#
        );
        let step =
            |by: &str, size: u64| format!(r#"{{"Id":"<missing>","CreatedBy":"{by}","Comment":"","Size":{size}}}"#);
        let steps = format!("[{},{},{}]", step("RUN b", 7), step("ENV A=1", 0), step("ADD a", 9));
        let config = read(&about, &steps);
        assert_eq!(config.platform.to_string(), "linux/arm64");
        assert_eq!((config.variable("A"), &config.cmd[..]), (Some("1"), &["sh".to_owned()][..]));
        let told: Vec<&str> = config.history.iter().map(|step| &*step.created_by).collect();
        assert_eq!(told, ["ADD a", "ENV A=1", "RUN b"]);
        let makers: Vec<Option<usize>> = config.layers.iter().map(|layer| layer.history).collect();
        assert_eq!(makers, [Some(0), Some(2)]);
        // A layer of no bytes looks like none: then no layer has a maker.
        let config = read(&about, &format!("[{},{}]", step("RUN b", 0), step("ADD a", 9)));
        assert!(config.layers.iter().all(|layer| layer.history.is_none()));
    }

    #[test]
    fn odd_answers_are_no_configuration() {
        for odd in ["", "[]", "{}", r#"{"Id":1}"#, r#"{"Id":"a","Config":{"Env":"A=1"}}"#, r#"{"Id":"a","RootFS":[]}"#]
        {
            assert!(serde_json::from_str::<About>(odd).is_err(), "{odd}");
        }
        let about: About = serde_json::from_str(r#"{"Id":"a","RootFS":{"Layers":["../x"]}}"#).expect("about");
        assert!(config(about, Vec::new()).is_err());
    }
}
