//! Builds on the results of other builds: `target:` contexts of bake files and `service:` contexts of compose files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::cli::command_inputs::{BuildDependencies, CommandInputs, ReferencedBuild};
use crate::cli::context_files::{DOCKERFILE_SOURCE, gather_context_files};
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::builds::ImageBuild;
use crate::extract;
use crate::extract::{KnownBase, KnownBases};
use crate::model::reference::{BUILD_TARGET_REGISTRY, ImageReference};
use crate::report::kinds::LocationKind;
use crate::report::model::{InputError, Location, Region};
use crate::text::source::{SourceText, Sources, Span};

/// The platforms for which a build is evaluated when another build depends on it.
const DEPENDENCY_PLATFORMS: [&str; 2] = ["linux/amd64", "linux/arm64"];

/// Replaces contexts that name other builds by image references; `first` is the index of the first build in `all`.
pub(super) fn replace_build_contexts(
    one: &ImageBuild,
    all: &[ImageBuild],
    first: usize,
    options: &mut EvaluateOptions,
) -> BuildDependencies {
    let mut on = BuildDependencies::new();
    for (context, name) in one.referenced_builds() {
        let Some(at) = all.iter().position(|other| other.name == name) else { continue };
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let image = format!("{BUILD_TARGET_REGISTRY}/{}/x{}", first + at, plain.to_ascii_lowercase());
        if let Ok(reference) = ImageReference::parse(&image) {
            options.contexts.insert(context.to_owned(), format!("docker-image://{image}"));
            on.push((reference, first + at));
        }
    }
    on
}

/// Returns the names of builds in a dependency cycle reachable from `one`, in build order, the first name repeated at
/// the end.
pub(super) fn dependency_cycle(one: &ImageBuild, all: &[ImageBuild]) -> Option<Vec<String>> {
    let mut way: Vec<(&ImageBuild, Vec<&ImageBuild>)> = vec![(one, dependencies(one, all))];
    let mut done: Vec<&str> = Vec::new();
    while let Some((at, open)) = way.last_mut() {
        let Some(next) = open.pop() else {
            done.push(at.name.as_str());
            way.pop();
            continue;
        };
        if let Some(from) = way.iter().position(|(own, _)| own.name == next.name) {
            let names = way.iter().skip(from).map(|(own, _)| own.name.clone());
            return Some(names.chain([next.name.clone()]).collect());
        }
        if !done.contains(&next.name.as_str()) {
            way.push((next, dependencies(next, all)));
        }
    }
    None
}

/// Returns the builds that a build depends on directly.
fn dependencies<'a>(one: &'a ImageBuild, all: &'a [ImageBuild]) -> Vec<&'a ImageBuild> {
    one.referenced_builds().filter_map(|(_, name)| all.iter().find(|other| other.name == name)).collect()
}

/// Returns the input error for a dependency cycle, located at the name of its first build in the file.
pub(super) fn cycle_error(title: &str, file: &str, text: &str, names: &[String]) -> InputError {
    let message = format!("its contexts form a cycle: {}", names.join(" -> "));
    let first = names.first().map_or("", String::as_str);
    let marks = [format!("\"{first}\""), format!("{first}:")];
    let at = marks.iter().find_map(|mark| Some((text.find(mark.as_str())?, mark.len())));
    let (start, length) = at.unwrap_or((0, 0));
    let source = SourceText::new(file, text.to_owned());
    let location = Location {
        kind: LocationKind::Builds,
        path: file.to_owned(),
        label: message.clone(),
        region: Some(Region::from_span(&source, Span::new(start, start + length))),
        made_by: None,
    };
    InputError { input: title.to_owned(), message, location: Some(location) }
}

impl CommandInputs {
    /// Returns the known base images for each subject that depends on other builds, by its name.
    pub(super) fn bases_of_dependents(
        &self,
        known: &Arc<KnownBases>,
        sources: &mut Sources,
    ) -> BTreeMap<String, Arc<KnownBases>> {
        let mut made: BTreeMap<usize, Vec<KnownBase>> = BTreeMap::new();
        let mut found = BTreeMap::new();
        for (name, on) in self.base_builds.iter().filter(|(_, on)| !on.is_empty()) {
            let bases = self.with_built_bases(on, known, &mut made, sources);
            found.insert(name.clone(), Arc::new(bases));
        }
        found
    }

    /// Returns the known base images extended by the images that other builds produce.
    fn with_built_bases(
        &self,
        on: &BuildDependencies,
        known: &KnownBases,
        made: &mut BTreeMap<usize, Vec<KnownBase>>,
        sources: &mut Sources,
    ) -> KnownBases {
        let mut bases = known.clone();
        for (reference, number) in on {
            for base in self.built_bases(*number, known, made, sources) {
                bases.add_pulled(reference, base);
            }
        }
        bases
    }

    /// Returns the image that a build produces, for each dependency platform; dependency cycles were rejected before.
    fn built_bases(
        &self,
        number: usize,
        known: &KnownBases,
        made: &mut BTreeMap<usize, Vec<KnownBase>>,
        sources: &mut Sources,
    ) -> Vec<KnownBase> {
        if let Some(done) = made.get(&number) {
            return done.clone();
        }
        let Some(Some(referred)) = self.referred.get(number) else { return Vec::new() };
        let ReferencedBuild { path, source, dockerfile, options, context, on } = referred;
        let bases = self.with_built_bases(on, known, made, sources);
        let mut texts = Sources::default();
        let (files, _) = gather_context_files(
            (path, DOCKERFILE_SOURCE),
            dockerfile,
            options,
            Some(Path::new(context)),
            &bases,
            &mut texts,
        );
        let files = files.with_source_ids(sources.append(texts));
        let base = |platform: &str| {
            let target = extract::observe_dockerfile_on_base(
                *source,
                dockerfile,
                &options.for_platform(platform),
                &files,
                &bases,
            )
            .ok()?;
            let (platform, origin, layers) = (platform.parse().ok(), String::new(), Vec::new());
            Some(KnownBase { platform, seen: target.seen, origin, layers })
        };
        let done: Vec<KnownBase> = DEPENDENCY_PLATFORMS.into_iter().filter_map(base).collect();
        made.insert(number, done.clone());
        done
    }
}
