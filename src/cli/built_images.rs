//! `check --built`: images that were built from the checked Dockerfiles.

use std::io::Write as _;

use crate::cli::args::CheckArgs;
use crate::cli::command_inputs::CommandInputs;
use crate::cli::error::CommandError;
use crate::cli::layers::LayerScanner;
use crate::cli::progress::ScanProgress;
use crate::cli::scan::ImageReader;
use crate::cli::{image_names, parallel, scan, streams};
use crate::dockerfile::Dockerfile;
use crate::extract;
use crate::extract::DockerfileBuild;
use crate::judge::{AnalysisSubject, SavedSubject, SubjectContent};
use crate::model::note::Note;
use crate::registry::{Platform, Puller};
use crate::report::model::{InputError, OnPlatform};

/// Fails unless `--built` specifies one image for each Dockerfile.
pub(crate) fn check_image_count(images: &[String], inputs: &CommandInputs) -> Result<(), CommandError> {
    let dockerfiles = inputs.subjects.iter().filter(|subject| is_dockerfile(subject)).count();
    if images.is_empty() || images.len() == dockerfiles {
        return Ok(());
    }
    let (images, help) = (images.len(), "pass one image per Dockerfile, in the same order");
    Err(CommandError::Message(format!(
        "error: --built specifies {images} image(s) for {dockerfiles} Dockerfile(s): {help}"
    )))
}

fn is_dockerfile(subject: &AnalysisSubject) -> bool {
    matches!(subject.content, SubjectContent::Dockerfile { .. })
}

/// Replaces the content of each Dockerfile with that of its image; a Dockerfile whose image cannot be read becomes an
/// error.
pub(crate) fn replace_with_built_images(
    inputs: &mut CommandInputs,
    options: &CheckArgs,
    platforms: &[Platform],
    puller: &Puller,
) {
    let progress = ScanProgress::new(options.progress, options.built.len());
    let layers = LayerScanner::new(options.max_layer_bytes, options.judging.jobs(), !options.build.no_cache, &progress);
    let look = ImageReader { depth: options.depth, layers: &layers };
    let mut images = options.built.iter();
    let (others, dockerfiles): (Vec<_>, Vec<_>) = std::mem::take(&mut inputs.subjects)
        .into_iter()
        .map(|subject| {
            let image = if is_dockerfile(&subject) { images.next() } else { None };
            (subject, image)
        })
        .enumerate()
        .partition(|(_, (_, image))| image.is_none());
    let built = parallel::map(options.judging.jobs(), &dockerfiles, |(at, (subject, image))| {
        let name = image.map_or("", String::as_str);
        progress.begin_image(name);
        let built = (*at, read_built_image(subject.clone(), name, platforms, puller, look));
        progress.finish_image(name);
        built
    });
    progress.finish();
    if let Some(why) = layers.cache_error() {
        let _ = writeln!(streams::stderr(), "note: {why}; later runs read all layers again");
    }
    let mut all: Vec<(usize, AnalysisSubject)> = others.into_iter().map(|(at, (subject, _))| (at, subject)).collect();
    for (at, outcome) in built {
        match outcome {
            Ok((subject, faults)) => {
                let fault = |message| InputError { input: subject.name.clone(), message, location: None };
                inputs.errors.extend(faults.into_iter().map(fault));
                all.push((at, subject));
            }
            Err(error) => inputs.errors.push(*error),
        }
    }
    all.sort_by_key(|(at, _)| *at);
    inputs.subjects = all.into_iter().map(|(_, subject)| subject).collect();
}

/// Returns the subject with the content of its image, and the errors of layers that cannot be read.
fn read_built_image(
    subject: AnalysisSubject,
    image: &str,
    platforms: &[Platform],
    puller: &Puller,
    look: ImageReader<'_>,
) -> Result<(AnalysisSubject, Vec<String>), Box<InputError>> {
    let failed = |message: String| Box::new(InputError { input: subject.name.clone(), message, location: None });
    let SubjectContent::Dockerfile { source, dockerfile, options, files, bases, .. } = &subject.content else {
        return Ok((subject, Vec::new()));
    };
    let opened = look.open(puller, image, platforms).map_err(|error| {
        failed(format!("cannot read its image {image}: {}", image_names::strip_name_prefix(&error.message, image)))
    })?;
    let (mut found, mut image_notes) =
        (Vec::new(), vec![Note::from(format!("inspected in {image}, which --built specifies as its image"))]);
    let mut faults = Vec::new();
    for one in &opened.images {
        let platform = one.config.platform.to_string();
        let (seen, notes, unread) = look.observations(one, &opened.blobs);
        faults.extend(unread.into_iter().map(|fault| format!("its image {image}: {fault}")));
        let recipe = DockerfileBuild {
            source: *source,
            dockerfile,
            options: &options.for_platform(&platform),
            build_context: files,
            bases: bases.as_ref(),
        };
        let target = extract::observe_built_image(recipe, one, seen).map_err(|error| failed(error.to_string()))?;
        let several = opened.images.len() > 1;
        image_notes.extend(notes.into_iter().map(|note| if several { note.on_platform(&platform) } else { note }));
        let extract::TargetObservations { seen, stage, stages, notes, .. } = target;
        found.push(OnPlatform { platform, stage, stages, notes, seen });
    }
    let content = SubjectContent::Saved(SavedSubject {
        dockerfile: Some((*source, Dockerfile::clone(dockerfile))),
        platforms: found,
    });
    let notes = image_notes.into_iter().chain(subject.notes.iter().cloned()).collect();
    let images = scan::image_digests(opened.images.iter());
    Ok((AnalysisSubject { digest: scan::opened_digest(&opened), images, notes, content, ..subject }, faults))
}
