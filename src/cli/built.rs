//! `check --built`: images beside the Dockerfiles that they were built from.

use std::io::Write as _;

use crate::cli::Failure;
use crate::cli::args::CheckArgs;
use crate::cli::inputs::Inputs;
use crate::cli::layers::Layers;
use crate::cli::names;
use crate::cli::parallel;
use crate::cli::progress::Progress;
use crate::cli::scan;
use crate::cli::scan::Look;
use crate::cli::streams;
use crate::dockerfile::Dockerfile;
use crate::extract;
use crate::extract::Recipe;
use crate::judge::Content;
use crate::judge::Subject;
use crate::judge::saved::Saved;
use crate::oci::Platform;
use crate::oci::Puller;
use crate::report::model::InputError;
use crate::report::observed::OnPlatform;

/// Says whether there is an image for each Dockerfile.
pub(crate) fn agree(images: &[String], inputs: &Inputs) -> Result<(), Failure> {
    let dockerfiles = inputs.subjects.iter().filter(|subject| is_dockerfile(subject)).count();
    if images.is_empty() || images.len() == dockerfiles {
        return Ok(());
    }
    let (images, help) = (images.len(), "pass one image per Dockerfile, in the same order");
    Err(Failure::Said(format!("error: --built specifies {images} image(s) for {dockerfiles} Dockerfile(s): {help}")))
}

fn is_dockerfile(subject: &Subject) -> bool {
    matches!(subject.content, Content::Dockerfile { .. })
}

/// Puts what the images hold in the place of what the Dockerfiles say; a Dockerfile whose image cannot be read is an
/// error, and not judged.
pub(crate) fn put(inputs: &mut Inputs, options: &CheckArgs, platforms: &[Platform], puller: &Puller) {
    let progress = Progress::new(options.progress, options.built.len());
    let layers = Layers::new(options.max_layer_bytes, options.judging.jobs(), !options.build.no_cache, &progress);
    let look = Look { depth: options.depth, layers: &layers };
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
        progress.begin(name);
        let built = (*at, subject_of(subject.clone(), name, platforms, puller, look));
        progress.image(name);
        built
    });
    progress.finish();
    if let Some(why) = layers.complaint() {
        let _ = writeln!(streams::err(), "note: {why}; later runs read all layers again");
    }
    let mut all: Vec<(usize, Subject)> = others.into_iter().map(|(at, (subject, _))| (at, subject)).collect();
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

fn subject_of(
    subject: Subject,
    image: &str,
    platforms: &[Platform],
    puller: &Puller,
    look: Look<'_>,
) -> Result<(Subject, Vec<String>), Box<InputError>> {
    let failed = |message: String| Box::new(InputError { input: subject.name.clone(), message, location: None });
    let Content::Dockerfile { source, dockerfile, options, files, bases, .. } = &subject.content else {
        return Ok((subject, Vec::new()));
    };
    let opened = look
        .open(puller, image, platforms)
        .map_err(|error| failed(format!("cannot read its image {image}: {}", names::without(&error.message, image))))?;
    let (mut found, mut told) =
        (Vec::new(), vec![format!("inspected in {image}, which --built specifies as its image")]);
    let mut faults = Vec::new();
    for one in &opened.images {
        let platform = one.config.platform.to_string();
        let (seen, notes, unread) = look.at(one, &opened.blobs);
        faults.extend(unread.into_iter().map(|fault| format!("its image {image}: {fault}")));
        let recipe = Recipe {
            source: *source,
            dockerfile,
            options: &options.on(&platform),
            shelf: files,
            bases: bases.as_ref(),
        };
        let target = extract::of_built(recipe, one, seen).map_err(|error| failed(error.to_string()))?;
        let several = opened.images.len() > 1;
        told.extend(notes.into_iter().map(|note| if several { format!("{platform}: {note}") } else { note }));
        let extract::Target { seen, stage, stages, notes, .. } = target;
        found.push(OnPlatform { platform, stage, stages, notes, seen });
    }
    let content =
        Content::Saved(Saved { dockerfile: Some((*source, Dockerfile::clone(dockerfile))), platforms: found });
    let notes = told.into_iter().chain(subject.notes.iter().cloned()).collect();
    let images = scan::images(opened.images.iter());
    Ok((Subject { digest: scan::digest(&opened), images, notes, content, ..subject }, faults))
}
