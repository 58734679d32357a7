//! Image configs out of registries and OCI layouts, in two requests and without any layer.

use std::path::Path;
use std::path::PathBuf;

use crate::oci::error::one_line;
use crate::reference::ImageReference;
use crate::reference::ReferenceError;

mod address;
mod auth;
mod challenge;
mod client;
mod credentials;
mod digest;
mod error;
mod helper;
mod http;
mod image;
mod keep;
mod layout;
mod options;
mod page;
mod platform;
mod reference;
mod resolve;
mod tags;
mod types;

pub use client::pull_config;
pub use error::Place;
pub use error::Problem;
pub use error::PullError;
pub use image::HistoryStep;
pub use image::ImageConfig;
pub use image::Layer;
pub use image::PulledImage;
pub use keep::Keep;
pub use options::Environment;
pub use options::Limits;
pub use options::Options;
pub use platform::NotAPlatform;
pub use platform::Platform;

/// Sources of other tools, which would be misread as a registry's host or an image's name.
const FOREIGN: [&str; 6] =
    ["containers-storage", "dir", "docker-archive", "docker-daemon", "oci-archive", "singularity"];

/// Where to read an image's config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A registry.
    Registry(ImageReference),
    /// A folder in the OCI image layout.
    Layout {
        /// The folder.
        path: PathBuf,
        /// The image's name in `index.json`; none where there is only one image.
        name: Option<String>,
    },
}

impl Source {
    /// Reads `oci:DIR[:NAME]`, `oci-dir:DIR[:NAME]`, `docker://REFERENCE` or a bare reference.
    pub fn parse(text: &str) -> Result<Self, PullError> {
        if let Some(reference) = text.strip_prefix("docker://") {
            return Self::registry(reference);
        }
        match text.split_once(':') {
            Some(("oci" | "oci-dir", rest)) if !rest.is_empty() => Ok(Self::layout(rest)),
            Some((scheme, _)) if FOREIGN.contains(&scheme) => {
                let problem = Problem::Scheme { scheme: scheme.into() };
                Err(PullError::new("", &one_line(text, 300), "", problem))
            }
            _ => Self::registry(text),
        }
    }

    fn registry(text: &str) -> Result<Self, PullError> {
        let wrong = |error: ReferenceError| {
            PullError::new("", &one_line(text, 300), "", Problem::Reference { reason: error.to_string() })
        };
        ImageReference::parse(text).map(Self::Registry).map_err(wrong)
    }

    fn layout(rest: &str) -> Self {
        let whole = || Self::Layout { path: rest.into(), name: None };
        match rest.rsplit_once(':') {
            // A folder may have a colon in its name; a name has no separator.
            Some((path, name)) if !path.is_empty() && !name.is_empty() => {
                if name.contains(['/', '\\']) || Path::new(rest).is_dir() {
                    whole()
                } else {
                    Self::Layout { path: path.into(), name: Some(name.into()) }
                }
            }
            _ => whole(),
        }
    }
}

/// Reads the configs of an image, one for each wanted platform that exists; all where none is
/// named. Wants a tokio runtime with time and input/output switched on.
pub async fn read_configs(
    source: &Source,
    wanted: &[Platform],
    options: &Options,
) -> Result<Vec<PulledImage>, PullError> {
    match source {
        Source::Registry(reference) => pull_config(reference, wanted, options).await,
        Source::Layout { path, name } => layout::read(path, name.as_deref(), wanted, options).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_told_apart_by_their_prefix() {
        let layout = |path: &str, name: Option<&str>| Source::Layout { path: path.into(), name: name.map(Into::into) };
        assert_eq!(Source::parse("oci:a/b:c").expect("layout"), layout("a/b", Some("c")));
        assert_eq!(Source::parse("oci-dir:a:b/c").expect("layout"), layout("a:b/c", None));
        assert_eq!(Source::parse("docker://debian").expect("hub"), Source::parse("debian").expect("hub"));
        assert!(matches!(Source::parse("docker:24"), Ok(Source::Registry(_))));
        let error = Source::parse("docker-archive:x.tar").expect_err("foreign");
        assert!(matches!(*error.problem, Problem::Scheme { .. }));
    }
}
