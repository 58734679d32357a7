//! Builds that others build on: `target:` in the contexts of a bake file, `service:` in those of a compose file.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use crate::builds::Build as Described;
use crate::cli::gather::ITSELF;
use crate::cli::gather::gather;
use crate::cli::inputs::Inputs;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::OnDemand;
use crate::extract;
use crate::extract::Bases;
use crate::extract::KnownBase;
use crate::reference::ImageReference;
use crate::reference::MADE_HERE;
use crate::report::model::InputError;
use crate::report::model::Location;
use crate::report::model::Region;
use crate::source::SourceId;
use crate::source::SourceText;
use crate::source::Sources;
use crate::source::Span;

/// The platforms that a build is read for where another builds on it.
const USUAL: [&str; 2] = ["linux/amd64", "linux/arm64"];

/// The images that a build stands on, each with the number of the build that makes it.
pub(super) type On = Vec<(ImageReference, usize)>;

/// A build that others may build on.
#[derive(Clone, Debug)]
pub(super) struct Referred {
    pub(super) path: String,
    pub(super) source: SourceId,
    pub(super) dockerfile: OnDemand,
    pub(super) options: EvaluateOptions,
    pub(super) context: PathBuf,
    pub(super) on: On,
}

/// Puts the images that other builds make in the place of contexts that name those builds; `first` is the number of the
/// first of them all.
pub(super) fn splice(one: &Described, all: &[Described], first: usize, options: &mut EvaluateOptions) -> On {
    let mut on = On::new();
    for (context, name) in one.referred() {
        let Some(at) = all.iter().position(|other| other.name == name) else { continue };
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let image = format!("{MADE_HERE}/{}/x{}", first + at, plain.to_ascii_lowercase());
        if let Ok(reference) = ImageReference::parse(&image) {
            options.contexts.insert(context.to_owned(), format!("docker-image://{image}"));
            on.push((reference, first + at));
        }
    }
    on
}

/// The names of builds that stand on one another in a circle, from one of them back to itself, as a build reaches them.
pub(super) fn circle(one: &Described, all: &[Described]) -> Option<Vec<String>> {
    let mut way: Vec<(&Described, Vec<&Described>)> = vec![(one, below(one, all))];
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
            way.push((next, below(next, all)));
        }
    }
    None
}

fn below<'a>(one: &'a Described, all: &'a [Described]) -> Vec<&'a Described> {
    one.referred().filter_map(|(_, name)| all.iter().find(|other| other.name == name)).collect()
}

/// The error of such a circle, at the name of its first build in the text of the file.
pub(super) fn round(title: &str, file: &str, text: &str, names: &[String]) -> InputError {
    let message = format!("its contexts form a cycle: {}", names.join(" -> "));
    let first = names.first().map_or("", String::as_str);
    let marks = [format!("\"{first}\""), format!("{first}:")];
    let at = marks.iter().find_map(|mark| Some((text.find(mark.as_str())?, mark.len())));
    let (start, length) = at.unwrap_or((0, 0));
    let source = SourceText::new(file, text.to_owned());
    let location = Location {
        kind: "builds".to_owned(),
        path: file.to_owned(),
        label: message.clone(),
        region: Some(Region::of(&source, Span::new(start, start + length))),
        made_by: None,
    };
    InputError { input: title.to_owned(), message, location: Some(location) }
}

impl Inputs {
    /// What is known of base images for each subject that stands on other builds, by its name.
    pub(super) fn spliced(&self, known: &Arc<Bases>, sources: &mut Sources) -> BTreeMap<String, Arc<Bases>> {
        let mut made: BTreeMap<usize, Vec<KnownBase>> = BTreeMap::new();
        let mut found = BTreeMap::new();
        for (name, on) in self.on.iter().filter(|(_, on)| !on.is_empty()) {
            let bases = self.bases(on, known, &mut made, sources);
            found.insert(name.clone(), Arc::new(bases));
        }
        found
    }

    /// The bases with those beside them that other builds make.
    fn bases(
        &self,
        on: &On,
        known: &Bases,
        made: &mut BTreeMap<usize, Vec<KnownBase>>,
        sources: &mut Sources,
    ) -> Bases {
        let mut bases = known.clone();
        for (reference, number) in on {
            for base in self.made(*number, known, made, sources) {
                bases.pulled(reference, base);
            }
        }
        bases
    }

    /// What a build makes, for each of the usual platforms. No build stands on itself: circles were refused.
    fn made(
        &self,
        number: usize,
        known: &Bases,
        made: &mut BTreeMap<usize, Vec<KnownBase>>,
        sources: &mut Sources,
    ) -> Vec<KnownBase> {
        if let Some(done) = made.get(&number) {
            return done.clone();
        }
        let Some(Some(referred)) = self.referred.get(number) else { return Vec::new() };
        let Referred { path, source, dockerfile, options, context, on } = referred;
        let bases = self.bases(on, known, made, sources);
        let mut texts = Sources::default();
        let (files, _) = gather((path, ITSELF), dockerfile, options, Some(Path::new(context)), &bases, &mut texts);
        let files = files.moved(sources.append(texts));
        let base = |platform: &str| {
            let target = extract::of_build(*source, dockerfile, &options.on(platform), &files, &bases).ok()?;
            let (platform, told, layers) = (platform.parse().ok(), String::new(), Vec::new());
            Some(KnownBase { platform, seen: target.seen, told, layers })
        };
        let done: Vec<KnownBase> = USUAL.into_iter().filter_map(base).collect();
        made.insert(number, done.clone());
        done
    }
}
