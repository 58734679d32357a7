//! Base images from registries: pulls manifest and configuration of each base image once, several in parallel.

use std::collections::BTreeMap;
use std::io::Write as _;

use crate::cli::command_inputs::{CommandInputs, InputOptions};
use crate::cli::{parallel, scan, settings, streams};
use crate::extract;
use crate::extract::{KnownBase, KnownBases};
use crate::judge::SubjectContent;
use crate::model::reference::ImageReference;
use crate::registry::{Platform, PulledImage, Puller};
use crate::text::source::Sources;

/// Largest number of base images pulled in parallel, whatever the number of workers.
const MAX_CONCURRENT_PULLS: usize = 8;
/// Largest number of base images that one run pulls.
const MAX_BASE_IMAGES: usize = 256;

/// Base images that Dockerfiles name, each with its requested platforms.
pub(crate) type BaseImageRequests = BTreeMap<ImageReference, Vec<Platform>>;

/// Returns the base images of all builds for some platforms.
pub(crate) fn base_image_requests(inputs: &CommandInputs, platforms: &[String]) -> BaseImageRequests {
    let mut requests = BaseImageRequests::new();
    let subjects = inputs.subjects.iter().filter_map(|subject| match &subject.content {
        SubjectContent::Dockerfile { dockerfile, options, .. } => Some((dockerfile, options)),
        _ => None,
    });
    let referred = inputs.referred.iter().flatten().map(|one| (&one.dockerfile, &one.options));
    for (dockerfile, options) in subjects.chain(referred) {
        let dockerfile = &*dockerfile.parsed_uncached();
        for platform in platforms {
            let Some((reference, platform)) = extract::find_base_image(dockerfile, &options.for_platform(platform))
            else {
                continue;
            };
            if reference.is_build_target() {
                continue;
            }
            let Ok(platform) = platform.parse() else { continue };
            let list = requests.entry(reference).or_default();
            if !list.contains(&platform) {
                list.push(platform);
            }
        }
    }
    requests
}

/// Pulls base images from their registries and returns images or error for each, in the order of the references.
pub(crate) fn pull_base_images(
    requests: &BaseImageRequests,
    puller: &Puller,
    jobs: usize,
    refused: &(dyn Fn(&str) -> Option<String> + Sync),
) -> Vec<(ImageReference, Result<Vec<PulledImage>, String>)> {
    let list: Vec<(&ImageReference, &Vec<Platform>)> = requests.iter().collect();
    // Waiting takes no processor: there are more of these at once than workers.
    let jobs = jobs.saturating_mul(4).min(MAX_CONCURRENT_PULLS);
    let numbered: Vec<(usize, &(&ImageReference, &Vec<Platform>))> = list.iter().enumerate().collect();
    parallel::map(jobs, &numbered, |(at, (reference, platforms))| {
        let read = if let Some(why) = refused(reference.registry()) {
            Err(why)
        } else if *at < MAX_BASE_IMAGES {
            scan::pull_reference(reference, platforms, puller)
        } else {
            Err(format!("there are more than {MAX_BASE_IMAGES} base images"))
        };
        ((*reference).clone(), read)
    })
}

/// Returns the reference without its digest, if it has both a tag and a digest.
fn tag_of_pinned_reference(reference: &ImageReference) -> Option<ImageReference> {
    let (_, digest) = reference.tag().zip(reference.digest())?;
    let written = reference.to_string();
    ImageReference::parse(written.strip_suffix(digest)?.strip_suffix('@')?).ok()
}

/// Returns requests for the tags of base images that are pinned to a digest, to compare their current digests.
fn tag_requests(requests: &BaseImageRequests) -> BaseImageRequests {
    let mut tags = BaseImageRequests::new();
    for (reference, platforms) in requests {
        let Some(tag) = tag_of_pinned_reference(reference) else { continue };
        let list = tags.entry(tag).or_default();
        for platform in platforms {
            if !list.contains(platform) {
                list.push(platform.clone());
            }
        }
    }
    tags
}

/// Pulls the base images and adds them to `bases`; prints a warning for each that cannot be read.
pub(crate) fn add_pulled_bases(
    requests: &BaseImageRequests,
    puller: &Puller,
    build: &InputOptions<'_>,
    bases: &mut KnownBases,
    sources: &Sources,
) {
    let refused =
        |registry: &str| settings::lock_settings(build.settings).untrusted_registry_message(registry, sources);
    let tags = tag_requests(requests);
    let tagged: BTreeMap<_, _> = pull_base_images(&tags, puller, build.jobs, &refused).into_iter().collect();
    for (reference, read) in pull_base_images(requests, puller, build.jobs, &refused) {
        // What the tag cannot tell hides nothing of the digest: the verdict rests on that.
        let now = tag_of_pinned_reference(&reference).and_then(|tag| tagged.get(&tag)?.as_ref().ok());
        match read {
            Ok(images) => {
                for image in images {
                    let digest = image.index_digest.as_ref().unwrap_or(&image.manifest_digest);
                    let origin =
                        format!("{digest}, the current digest in the registry, configuration {}", image.config_digest);
                    let platform = Some(image.config.platform.clone());
                    let layers = image.config.layers.iter().filter_map(|layer| layer.diff_id.clone()).collect();
                    let mut seen = extract::observe_config(&image);
                    let own = |one: &&PulledImage| one.config.platform == image.config.platform;
                    if let Some(now) = now.and_then(|now| now.iter().find(own)) {
                        extract::record_tag_drift(&image, now, &mut seen);
                    }
                    bases.add_pulled(&reference, KnownBase { platform, seen, origin, layers });
                }
            }
            Err(error) => {
                // A closed pipe is not an error.
                let _ = writeln!(streams::stderr(), "warning: cannot read base image {reference}: {error}");
                bases.add_failure(&reference, error);
            }
        }
    }
}
