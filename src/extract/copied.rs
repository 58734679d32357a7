//! What COPY brings from other stages: packages travel with the directories that they lie in.

use std::collections::BTreeMap;

use crate::dockerfile::BaseKind;
use crate::dockerfile::CopyInstruction;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::Evaluated;
use crate::dockerfile::EvaluatedBase;
use crate::extract::compiled;
use crate::extract::dockerfile::Reader;
use crate::extract::driver_files;
use crate::extract::landing;
use crate::extract::landing::Place;
use crate::extract::linked;
use crate::extract::tree::absolute;
use crate::fact::CodeSeen;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::FileKind;
use crate::fact::Manager;
use crate::fact::Origin;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::knowledge::Knowledge;
use crate::reference::ImageReference;
use crate::source::Span;

/// How many stages one target may look into; a chain of stages may ask for each of them more than once.
const MOST_STAGES: usize = 64;
/// The link to the toolkit in use.
const TOOLKIT: &str = "/usr/local/cuda";

/// Where the packages of a stage may lie, by their facts, and the programs that it compiles.
#[derive(Debug, Default)]
struct Landings {
    packages: BTreeMap<FactId, Vec<Place>>,
    programs: BTreeMap<FactId, Vec<String>>,
}

/// The other stages of a file.
pub(super) struct Stages<'a> {
    dockerfile: &'a Dockerfile,
    options: &'a EvaluateOptions,
    left: usize,
}

impl<'a> Stages<'a> {
    pub(super) fn new(dockerfile: &'a Dockerfile, options: &'a EvaluateOptions) -> Self {
        Self { dockerfile, options, left: MOST_STAGES }
    }

    fn evaluate(&mut self, stage: usize) -> Option<Evaluated> {
        self.left = self.left.checked_sub(1)?;
        let options = EvaluateOptions { target: Some(stage.to_string()), ..self.options.clone() };
        self.dockerfile.evaluate(&options).ok()
    }

    /// The base whose files an image from nothing holds, and the COPY that brings them.
    pub(super) fn flattened(&mut self, evaluated: &Evaluated) -> Option<(EvaluatedBase, CopyInstruction)> {
        if evaluated.base.kind != BaseKind::Scratch {
            return None;
        }
        let copy = evaluated.copies.iter().find(|copy| copy.from.is_some() && sources(copy).any(landing::whole))?;
        let base = if let Some(stage) = copy.from_stage {
            let inner = self.evaluate(stage)?;
            self.flattened(&inner).map_or(inner.base, |(base, _)| base)
        } else {
            let (name, span) = copy.from.as_ref()?;
            let kind = BaseKind::Image(ImageReference::parse(name.known()?).ok()?);
            EvaluatedBase { text: name.clone(), span: *span, sources: name.origins().to_vec(), kind }
        };
        (base.kind != BaseKind::Scratch).then(|| (base, copy.clone()))
    }

    /// Reads what a target installs and what its COPY instructions bring, in the order of the file.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, evaluated: &Evaluated) {
        let flattened = evaluated.base.kind == BaseKind::Scratch;
        let others = || {
            let brings =
                |copy: &CopyInstruction| !driver_files::named(copy).is_empty() || driver_files::unnamed(copy).is_some();
            let concerns = move |copy: &&CopyInstruction| copy.from.is_some() || brings(copy);
            evaluated.copies.iter().filter(concerns)
        };
        if others().next().is_none() {
            reader.installs(evaluated, &evaluated.runs);
            return;
        }
        let mut runs = evaluated.runs.as_slice();
        for copy in others() {
            let before = runs.partition_point(|run| run.instruction < copy.instruction);
            let (now, later) = runs.split_at(before);
            reader.installs(evaluated, now);
            runs = later;
            self.bring(reader, copy, &mut Landings::default());
            // What an image from nothing holds is its base already.
            if !(flattened && sources(copy).any(landing::whole)) {
                self.bring_of_base(reader, copy);
                self.bring_driver(reader, copy);
            }
        }
        reader.installs(evaluated, runs);
    }

    /// The same for a stage that others copy from, with the places of its packages.
    fn read_placed(&mut self, reader: &mut Reader<'_>, evaluated: &Evaluated) -> Landings {
        let mut landings = Landings::default();
        let mut tools = landing::Tools::default();
        let mut copies = evaluated.copies.iter().filter(|copy| copy.from_stage.is_some()).peekable();
        for run in &evaluated.runs {
            tools.note(run);
            while let Some(copy) = copies.next_if(|copy| copy.instruction < run.instruction) {
                self.bring(reader, copy, &mut landings);
            }
            let first = reader.seen.facts.len();
            reader.installs(evaluated, std::slice::from_ref(run));
            let new = reader.seen.packages.iter().filter(|package| package.fact.0 >= first);
            let facts: Vec<FactId> = new.map(|package| package.fact).collect();
            if !facts.is_empty() {
                let places = landing::of_run(run, &tools);
                landings.packages.extend(facts.into_iter().map(|fact| (fact, places.clone())));
            }
            let cloned = landing::cloned(run);
            let conda = reader.seen.packages.iter().filter(|package| package.manager == Manager::Conda);
            for package in conda.filter(|_| !cloned.is_empty()) {
                landings.packages.entry(package.fact).or_default().extend(cloned.iter().cloned());
            }
            let new = reader.seen.code.iter().filter(|code| code.fact.0 >= first);
            let facts: Vec<FactId> = new.map(|code| code.fact).collect();
            if !facts.is_empty() {
                let (packages, programs) = (landing::of_run(run, &tools), compiled::of_run(run));
                landings.packages.extend(facts.iter().map(|fact| (*fact, packages.clone())));
                landings.programs.extend(facts.into_iter().map(|fact| (fact, programs.clone())));
            }
        }
        for copy in copies {
            self.bring(reader, copy, &mut landings);
        }
        landings
    }

    /// The image at the bottom of what is copied from, and where it is named.
    fn bottom(&mut self, copy: &CopyInstruction) -> Option<(ImageReference, Span)> {
        let (name, span) = copy.from.as_ref()?;
        let Some(stage) = copy.from_stage else {
            return Some((ImageReference::parse(name.known()?).ok()?, *span));
        };
        let inner = self.evaluate(stage)?;
        match inner.base.kind {
            BaseKind::Image(image) => Some((image, inner.base.span)),
            _ => None,
        }
    }

    /// Adds the driver libraries that a COPY names, and the compat package of the CUDA image that it takes a toolkit from.
    fn bring_driver(&mut self, reader: &mut Reader<'_>, copy: &CopyInstruction) {
        let here = Origin::File { source: reader.source, span: copy.span };
        let bottom = self.bottom(copy);
        let package =
            bottom.and_then(|(image, span)| Some((driver_files::of_image(copy, &image, Knowledge::built_in())?, span)));
        let Some((package, span)) = package else {
            for path in driver_files::named(copy) {
                linked::put(&mut reader.seen, path, FileKind::Present, here.clone());
            }
            if let Some(path) = driver_files::unnamed(copy) {
                let reason = format!("whether what is copied there brings {path}, and of which driver, was not seen");
                linked::maybe(&mut reader.seen, path, reason, here);
            }
            return;
        };
        if let Some(link) = package.linked {
            linked::put(&mut reader.seen, TOOLKIT.to_owned(), link, here.clone());
        }
        let state = State::Known(Value::Text(package.name.clone()));
        let origins = vec![Origin::File { source: reader.source, span }, here];
        let fact = reader.seen.facts.add(FactKey::Package, Some(&package.name), state, Evidence::Leaf(origins));
        let version = PackageVersion::Open(String::new());
        reader.seen.packages.push(PackageSeen::new(Manager::Apt, package.name, version, fact));
    }

    /// Adds the framework of the image at the bottom of what is copied from, where its directories are copied:
    /// that it is there is known, its build is not.
    fn bring_of_base(&mut self, reader: &mut Reader<'_>, copy: &CopyInstruction) {
        let Some((image, span)) = self.bottom(copy) else { return };
        let knowledge = Knowledge::built_in();
        let row = knowledge.framework_image(&image.familiar(), image.tag().unwrap_or_default());
        let framework = knowledge.built_framework().filter(|_| row.is_some_and(|row| row.torch.is_some()));
        let Some(torch) = framework.map(|framework| framework.distribution) else { return };
        if sources(copy).any(|source| landing::brings(source, Manager::Pip, torch, &landing::usual())) {
            let why = Why {
                reason: format!("{torch} is copied out of `{image}`, and its build there is not known"),
                supply: "run `imagelint scan` on the built image, or describe it in an image description".to_owned(),
            };
            let origins = [span, copy.span].map(|span| Origin::File { source: reader.source, span });
            let state = State::Known(Value::Text(torch.to_owned()));
            let fact = reader.seen.facts.add(FactKey::Package, Some(torch), state, Evidence::Leaf(origins.to_vec()));
            let version = PackageVersion::Unresolved(why);
            let name = torch.to_owned();
            reader.seen.commands += 1;
            let command = reader.seen.commands;
            reader.seen.packages.push(PackageSeen { command, ..PackageSeen::new(Manager::Pip, name, version, fact) });
        }
    }

    /// Adds the packages of another stage that lie in what is copied.
    fn bring(&mut self, reader: &mut Reader<'_>, copy: &CopyInstruction, landings: &mut Landings) {
        let Some(inner) = copy.from_stage.and_then(|stage| self.evaluate(stage)) else { return };
        // What the other stage took away, bounded or wrote stays there.
        let done = std::mem::take(&mut reader.done);
        let mut own = reader.seen.clone();
        reader.seen.packages = Vec::new();
        reader.seen.code = Vec::new();
        let inner_landings = self.read_placed(reader, &inner);
        let others = std::mem::take(&mut reader.seen.packages);
        let programs = std::mem::take(&mut reader.seen.code);
        std::mem::swap(&mut own.facts, &mut reader.seen.facts);
        own.commands = reader.seen.commands;
        own.of_base.arch_lists = std::mem::take(&mut reader.seen.of_base.arch_lists);
        reader.seen = own;
        let destination = copy.destination.as_ref().and_then(|(path, _)| path.known());
        let other = std::mem::replace(&mut reader.done, done);
        let to = absolute(&copy.folder, destination.unwrap_or("/"));
        for source in sources(copy) {
            reader.done.wheels.extend(other.wheels.copied(source, &to));
        }
        for package in others {
            let places = inner_landings.packages.get(&package.fact).map_or(&[][..], Vec::as_slice);
            if !sources(copy).any(|source| landing::brings(source, package.manager, &package.name, places)) {
                continue;
            }
            let mut places = places.to_vec();
            let fact = with_copy(reader, package.fact, copy);
            places.extend(destination.map(|path| Place::Prefix(path.trim_end_matches('/').to_owned())));
            landings.packages.insert(fact, places);
            reader.seen.packages.push(PackageSeen { fact, ..package });
        }
        for code in programs {
            let mut packages = inner_landings.packages.get(&code.fact).cloned().unwrap_or_default();
            let mut places = inner_landings.programs.get(&code.fact).cloned().unwrap_or_default();
            let along = sources(copy).any(|source| match &code.component {
                Some(package) => landing::brings(source, Manager::Pip, package, &packages),
                None => compiled::brings(source, &places),
            });
            if !along {
                continue;
            }
            let fact = with_copy(reader, code.fact, copy);
            packages.extend(destination.map(|path| Place::Prefix(path.trim_end_matches('/').to_owned())));
            places.extend(destination.map(|path| absolute("/", path)));
            landings.packages.insert(fact, packages);
            landings.programs.insert(fact, places);
            reader.seen.code.push(CodeSeen { fact, ..code });
        }
    }
}

fn sources(copy: &CopyInstruction) -> impl Iterator<Item = &str> {
    copy.sources.iter().filter_map(|(path, _)| path.known())
}

/// A fact of the other stage with the COPY beside its own place.
fn with_copy(reader: &mut Reader<'_>, fact: FactId, copy: &CopyInstruction) -> FactId {
    let facts = &mut reader.seen.facts;
    let mut origins = facts.origins(fact);
    origins.push(Origin::File { source: reader.source, span: copy.span });
    let known = facts.get(fact);
    let (key, of, state) = (known.key, known.of.clone(), known.state.clone());
    facts.add(key, of.as_deref(), state, Evidence::Leaf(origins))
}
