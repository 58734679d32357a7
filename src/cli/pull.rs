//! Base images in their registries: manifest and configuration of each, once, several at a time.

use std::collections::BTreeMap;
use std::io::Write as _;

use crate::cli::inputs::Build;
use crate::cli::inputs::Inputs;
use crate::cli::parallel;
use crate::cli::scan;
use crate::cli::settings;
use crate::cli::streams;
use crate::extract;
use crate::extract::Bases;
use crate::extract::KnownBase;
use crate::judge::Content;
use crate::oci::Platform;
use crate::oci::PulledImage;
use crate::oci::Puller;
use crate::reference::ImageReference;
use crate::source::Sources;

/// How many registries are spoken to at once, whatever the number of workers.
const MOST_AT_ONCE: usize = 8;
/// How many base images one run reads.
const MOST: usize = 256;

/// The base images that Dockerfiles name, each with the platforms that are asked for.
pub(crate) type Wanted = BTreeMap<ImageReference, Vec<Platform>>;

/// The base images of all builds, for these platforms.
pub(crate) fn wanted(inputs: &Inputs, platforms: &[String]) -> Wanted {
    let mut wanted = Wanted::new();
    let subjects = inputs.subjects.iter().filter_map(|subject| match &subject.content {
        Content::Dockerfile { dockerfile, options, .. } => Some((dockerfile, options)),
        _ => None,
    });
    let referred = inputs.referred.iter().flatten().map(|one| (&one.dockerfile, &one.options));
    for (dockerfile, options) in subjects.chain(referred) {
        let dockerfile = &*dockerfile.once();
        for platform in platforms {
            let Some((reference, platform)) = extract::base_of(dockerfile, &options.on(platform)) else { continue };
            if reference.is_made_here() {
                continue;
            }
            let Ok(platform) = platform.parse() else { continue };
            let list = wanted.entry(reference).or_default();
            if !list.contains(&platform) {
                list.push(platform);
            }
        }
    }
    wanted
}

/// What the registries say of base images, or why they say nothing, in the order of the references.
pub(crate) fn read(
    wanted: &Wanted,
    puller: &Puller,
    jobs: usize,
    refused: &(dyn Fn(&str) -> Option<String> + Sync),
) -> Vec<(ImageReference, Result<Vec<PulledImage>, String>)> {
    let list: Vec<(&ImageReference, &Vec<Platform>)> = wanted.iter().collect();
    // Waiting takes no processor: there are more of these at once than workers.
    let jobs = jobs.saturating_mul(4).min(MOST_AT_ONCE);
    let numbered: Vec<(usize, &(&ImageReference, &Vec<Platform>))> = list.iter().enumerate().collect();
    parallel::map(jobs, &numbered, |(at, (reference, platforms))| {
        let read = if let Some(why) = refused(reference.registry()) {
            Err(why)
        } else if *at < MOST {
            scan::pull_reference(reference, platforms, puller)
        } else {
            Err(format!("there are more than {MOST} base images"))
        };
        ((*reference).clone(), read)
    })
}

/// The tag of a base that is pinned to a digest beside it.
fn tag_of(reference: &ImageReference) -> Option<ImageReference> {
    let (_, digest) = reference.tag().zip(reference.digest())?;
    let written = reference.to_string();
    ImageReference::parse(written.strip_suffix(digest)?.strip_suffix('@')?).ok()
}

/// The tags of those bases, to ask what they are by now.
fn tags(wanted: &Wanted) -> Wanted {
    let mut tags = Wanted::new();
    for (reference, platforms) in wanted {
        let Some(tag) = tag_of(reference) else { continue };
        let list = tags.entry(tag).or_default();
        for platform in platforms {
            if !list.contains(platform) {
                list.push(platform.clone());
            }
        }
    }
    tags
}

/// Reads the bases of all Dockerfiles; what cannot be read is told, and stays as it was.
pub(crate) fn add(wanted: &Wanted, puller: &Puller, build: &Build<'_>, bases: &mut Bases, sources: &Sources) {
    let refused = |registry: &str| settings::lock(build.settings).refuses(registry, sources);
    let tags = tags(wanted);
    let tagged: BTreeMap<_, _> = read(&tags, puller, build.jobs, &refused).into_iter().collect();
    for (reference, read) in read(wanted, puller, build.jobs, &refused) {
        // What the tag cannot tell hides nothing of the digest: the verdict rests on that.
        let now = tag_of(&reference).and_then(|tag| tagged.get(&tag)?.as_ref().ok());
        match read {
            Ok(images) => {
                for image in images {
                    let digest = image.index_digest.as_ref().unwrap_or(&image.manifest_digest);
                    let told =
                        format!("{digest}, the current digest in the registry, configuration {}", image.config_digest);
                    let platform = Some(image.config.platform.clone());
                    let layers = image.config.layers.iter().filter_map(|layer| layer.diff_id.clone()).collect();
                    let mut seen = extract::of_config(&image);
                    let own = |one: &&PulledImage| one.config.platform == image.config.platform;
                    if let Some(now) = now.and_then(|now| now.iter().find(own)) {
                        extract::note_tag_now(&image, now, &mut seen);
                    }
                    bases.pulled(&reference, KnownBase { platform, seen, told, layers });
                }
            }
            Err(error) => {
                // A closed pipe is nobody's fault.
                let _ = writeln!(streams::err(), "warning: cannot read base image {reference}: {error}");
                bases.failed(&reference, error);
            }
        }
    }
}
