//! What COPY brings from other stages: packages travel with the directories that they lie in.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cuda::CudaVersion;
use crate::cuda::TOOLKIT_ROOT;
use crate::dockerfile::BaseKind;
use crate::dockerfile::CopyInstruction;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::Evaluated;
use crate::dockerfile::EvaluatedBase;
use crate::dockerfile::Resolved;
use crate::dockerfile::RunInstruction;
use crate::extract::archives;
use crate::extract::compiled;
use crate::extract::dockerfile::Reader;
use crate::extract::driver_files;
use crate::extract::install::State as Done;
use crate::extract::landing;
use crate::extract::landing::Place;
use crate::extract::linked;
use crate::extract::loose;
use crate::extract::mounts::mounts;
use crate::extract::programs;
use crate::extract::toolkit_copied;
use crate::extract::toolkit_copied::Told;
use crate::extract::tree::absolute;
use crate::extract::tree::below;
use crate::extract::tree::carried;
use crate::fact::CodeSeen;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::FileKind;
use crate::fact::LooseSeen;
use crate::fact::Manager;
use crate::fact::Origin;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::install::Opened;
use crate::reference::ImageReference;
use crate::source::Span;

/// How many stages one target may look into; a chain of stages may ask for each of them more than once.
const MOST_STAGES: usize = 256;

/// The other stages of a file.
pub(super) struct Stages<'a> {
    dockerfile: &'a Dockerfile,
    options: &'a EvaluateOptions,
    left: usize,
    /// Those that were looked into.
    known: BTreeMap<usize, Arc<Evaluated>>,
}

impl<'a> Stages<'a> {
    pub(super) fn new(dockerfile: &'a Dockerfile, options: &'a EvaluateOptions) -> Self {
        Self { dockerfile, options, left: MOST_STAGES, known: BTreeMap::new() }
    }

    fn evaluate(&mut self, stage: usize) -> Option<Arc<Evaluated>> {
        self.left = self.left.checked_sub(1)?;
        if let Some(known) = self.known.get(&stage) {
            return Some(Arc::clone(known));
        }
        let options = EvaluateOptions { target: Some(stage.to_string()), ..self.options.clone() };
        let evaluated = Arc::new(self.dockerfile.evaluate(&options).ok()?);
        self.known.insert(stage, Arc::clone(&evaluated));
        Some(evaluated)
    }

    /// The base whose files an image from nothing holds, and the COPY that brings them.
    pub(super) fn flattened(&mut self, evaluated: &Evaluated) -> Option<(EvaluatedBase, CopyInstruction)> {
        if evaluated.base.kind != BaseKind::Scratch {
            return None;
        }
        let copy = evaluated.copies.iter().find(|copy| copy.from.is_some() && sources(copy).any(landing::whole))?;
        let base = if let Some(stage) = copy.from_stage {
            let inner = self.evaluate(stage)?;
            self.flattened(&inner).map_or_else(|| inner.base.clone(), |(base, _)| base)
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
        let brings =
            |copy: &CopyInstruction| !driver_files::named(copy).is_empty() || driver_files::unnamed(copy).is_some();
        let knowledge = self.options.knowledge;
        let concerns = |copy: &CopyInstruction| {
            copy.from.is_some() || brings(copy) || toolkit_copied::told(copy, None, knowledge).is_some()
        };
        self.walk(reader, evaluated, &concerns, &mut |stages, reader, copy| {
            // What an image from nothing holds is its base already.
            if concerns(copy) && !(flattened && sources(copy).any(landing::whole)) {
                stages.bring_of_base(reader, copy);
                stages.bring_driver(reader, copy);
                stages.bring_toolkit(reader, copy);
            }
        });
        programs::judge(reader, evaluated, knowledge);
        self.bring_loose(reader, evaluated);
    }

    /// Notes what the copies of a target put there without a package.
    fn bring_loose(&mut self, reader: &mut Reader<'_>, evaluated: &Evaluated) {
        for copy in &evaluated.copies {
            let changed = |stage| self.evaluate(stage).is_none_or(|inner| !inner.runs.is_empty());
            let image = if copy.from_stage.is_some_and(changed) { None } else { self.bottom(copy) };
            if reader.seen.of_base.loose.len() < loose::MOST {
                reader.seen.of_base.loose.extend(loose::of_copy(copy, image.as_ref().map(|(image, _)| image)));
            }
        }
    }

    /// Goes through the instructions of a target; `further` is told of each COPY that concerns it or brings an archive.
    fn walk(
        &mut self,
        reader: &mut Reader<'_>,
        evaluated: &Evaluated,
        concerns: &dyn Fn(&CopyInstruction) -> bool,
        further: &mut dyn FnMut(&mut Self, &mut Reader<'_>, &CopyInstruction),
    ) {
        let knowledge = self.options.knowledge;
        let wanted = |copy: &&CopyInstruction| concerns(copy) || archives::named(copy, knowledge);
        let mut copies = evaluated.copies.iter().filter(wanted).peekable();
        let mut arrives = |stages: &mut Self, reader: &mut Reader<'_>, copy: &CopyInstruction| {
            stages.bring(reader, copy);
            archives::bring(reader, copy, knowledge);
            further(stages, reader, copy);
        };
        for run in &evaluated.runs {
            while let Some(copy) = copies.next_if(|copy| copy.instruction < run.instruction) {
                arrives(self, reader, copy);
            }
            let mounts = mounts(self.dockerfile, run);
            let of_stages = || mounts.iter().filter_map(|mount| Some((mount, mount.stage?)));
            for (mount, stage) in of_stages() {
                let copy = copy_of(run, stage, mount.source.clone(), mount.target.clone());
                let looked = self.look(reader, stage);
                if let Some(looked) = looked {
                    carry_files(reader, &looked.done, &copy);
                }
            }
            reader.installs(evaluated, std::slice::from_ref(run));
            for (mount, stage) in of_stages() {
                let moved = reader.done.lands.moved().to_vec();
                for (from, to) in moved {
                    let Some(rest) = below(&from, &mount.target) else { continue };
                    let source = format!("{}/{rest}", mount.source);
                    self.bring(reader, &copy_of(run, stage, source, to));
                }
            }
        }
        for copy in copies {
            arrives(self, reader, copy);
        }
    }

    /// Reads another stage apart from the one at hand, but for its facts.
    fn look(&mut self, reader: &mut Reader<'_>, stage: usize) -> Option<Looked> {
        if self.left == 0 {
            let span = self.dockerfile.stages.get(stage).map(|stage| stage.base_span);
            reader.leaves_out(&format!("it requires more than {MOST_STAGES} lookups in other stages"), span);
        }
        let inner = self.evaluate(stage)?;
        // What the other stage took away, bounded or wrote stays there.
        let done = std::mem::take(&mut reader.done);
        let (own_packages, own_code) =
            (std::mem::take(&mut reader.seen.packages), std::mem::take(&mut reader.seen.code));
        let facts = std::mem::take(&mut reader.seen.facts);
        let mut own = reader.seen.clone();
        (own.packages, own.code) = (own_packages, own_code);
        reader.seen.facts = facts;
        let before = std::mem::take(&mut reader.seen.of_base.loose);
        reader.seen.of_base.unknown_wheels.clear();
        self.walk(reader, &inner, &|copy| copy.from_stage.is_some(), &mut |_, _, _| {});
        self.bring_loose(reader, &inner);
        let loose = std::mem::replace(&mut reader.seen.of_base.loose, before);
        let unread = std::mem::take(&mut reader.seen.of_base.unknown_wheels);
        let packages = std::mem::take(&mut reader.seen.packages);
        let code = std::mem::take(&mut reader.seen.code);
        std::mem::swap(&mut own.facts, &mut reader.seen.facts);
        own.commands = reader.seen.commands;
        own.of_base.brought = std::mem::take(&mut reader.seen.of_base.brought);
        own.of_base.arch_lists = std::mem::take(&mut reader.seen.of_base.arch_lists);
        own.of_base.builds_for_gpus = reader.seen.of_base.builds_for_gpus;
        reader.seen = own;
        Some(Looked { packages, code, loose, unread, done: std::mem::replace(&mut reader.done, done) })
    }

    /// The image at the bottom of what is copied from, and where it is named.
    fn bottom(&mut self, copy: &CopyInstruction) -> Option<(ImageReference, Span)> {
        let (name, span) = copy.from.as_ref()?;
        let Some(stage) = copy.from_stage else {
            return Some((ImageReference::parse(name.known()?).ok()?, *span));
        };
        let inner = self.evaluate(stage)?;
        match &inner.base.kind {
            BaseKind::Image(image) => Some((image.clone(), inner.base.span)),
            _ => None,
        }
    }

    /// Adds the driver libraries that a COPY names, and the compat package of the CUDA image that it takes a toolkit from.
    fn bring_driver(&mut self, reader: &mut Reader<'_>, copy: &CopyInstruction) {
        let here = Origin::File { source: reader.source, span: copy.span };
        let bottom = self.bottom(copy);
        let package = bottom
            .and_then(|(image, span)| Some((driver_files::of_image(copy, &image, self.options.knowledge)?, span)));
        let Some((package, span)) = package else {
            for path in driver_files::named(copy) {
                linked::put(&mut reader.seen, path, FileKind::Present, here.clone());
            }
            if let Some(path) = driver_files::unnamed(copy) {
                let reason = format!("it is unknown whether the copied files include {path}, and for which driver");
                linked::maybe(&mut reader.seen, path, reason, here);
            }
            return;
        };
        if let Some(link) = package.linked {
            linked::put(&mut reader.seen, TOOLKIT_ROOT.to_owned(), link, here.clone());
        }
        let state = State::Known(Value::Text(package.name.clone()));
        let origins = vec![Origin::File { source: reader.source, span }, here];
        let fact = reader.seen.facts.add(FactKey::Package, Some(&package.name), state, Evidence::Leaf(origins));
        let version = PackageVersion::Open(String::new());
        reader.seen.packages.push(PackageSeen::new(Manager::Apt, package.name, version, fact));
    }

    /// Notes the CUDA of what a COPY brings from a CUDA image to one that has none, and that what comes from an image
    /// that nobody read may be compiled for GPUs.
    fn bring_toolkit(&mut self, reader: &mut Reader<'_>, copy: &CopyInstruction) {
        let knowledge = self.options.knowledge;
        if let (None, Some(from)) = (copy.from_stage, &copy.from) {
            let image = from.0.known().and_then(|name| ImageReference::parse(name).ok());
            let plain = image.is_some_and(|image| knowledge.plain_image(&image.familiar()).is_some());
            reader.seen.of_base.builds_for_gpus |= !plain;
        }
        let bottom = self.bottom(copy);
        let own = bottom.as_ref().and_then(|(image, _)| toolkit_copied::release(image, knowledge));
        let Some(told) = toolkit_copied::told(copy, own, knowledge) else { return };
        let done = copy.from_stage.and_then(|stage| self.look(reader, stage)).map(|looked| looked.done);
        let told = match done.filter(|done| done.other_toolkit) {
            Some(_) => toolkit_copied::told(copy, None, knowledge).unwrap_or(told),
            None => told,
        };
        let here = Origin::File { source: reader.source, span: copy.span };
        if let Told::Release(cuda) = told {
            let image = bottom.as_ref().map(|(image, _)| image);
            for path in toolkit_copied::landing(copy, cuda, image, knowledge) {
                linked::put(&mut reader.seen, path, FileKind::Present, here.clone());
            }
        }
        if reader.seen.cuda_runtime.is_some() || !toolkit_copied::is_without(&reader.seen, knowledge) {
            return;
        }
        let span = bottom.map_or(copy.span, |(_, span)| span);
        match told {
            Told::Release(cuda) => put_cuda(reader, cuda, [span, copy.span]),
            Told::Untold => {
                let why = Why {
                    reason: "the CUDA version that the copied libraries require is unknown".to_owned(),
                    supply: "set `cuda_runtime` in an image description".to_owned(),
                };
                let evidence = Evidence::Leaf(vec![here]);
                reader.seen.facts.add(FactKey::Requirements, Some("libraries of CUDA"), State::Unknown(why), evidence);
            }
        }
    }

    /// Adds the framework of the image at the bottom of what is copied from, where its directories are copied: its build is
    /// known where the tables tell one that others serve too.
    fn bring_of_base(&mut self, reader: &mut Reader<'_>, copy: &CopyInstruction) {
        let Some((image, span)) = self.bottom(copy) else { return };
        let knowledge = self.options.knowledge;
        let python = |source: &str| source.contains("-packages") || source.contains("/python");
        let name = image.familiar();
        let plain = knowledge.plain_image(&name).is_some() || knowledge.is_cuda_repository(&name);
        if !plain && sources(copy).any(python) {
            reader.seen.of_base.untold.push(reader.seen.commands);
        }
        let row = knowledge.framework_image(&image.familiar(), image.tag().unwrap_or_default());
        let framework = knowledge.built_framework().filter(|_| row.is_some_and(|row| row.torch.is_some()));
        // A command of the stage may have put another in its place, and one of the target may remove that of conda.
        let untouched =
            copy.from_stage.is_none_or(|stage| self.evaluate(stage).is_some_and(|inner| inner.runs.is_empty()));
        let row = row.filter(|row| untouched && row.torch_channel.is_none());
        let Some(torch) = framework.map(|framework| framework.distribution) else { return };
        if sources(copy).any(|source| landing::brings(source, Manager::Pip, torch, &landing::usual())) {
            let served =
                row.and_then(|row| Some((row, row.torch.filter(|version| knowledge.torch(version).is_some())?)));
            let (version, variant) = if let Some((row, own)) = served {
                let tag = format!("cu{}{}", row.cuda.major(), row.cuda.minor());
                (PackageVersion::Exact(format!("{own}+{tag}")), Some(tag))
            } else {
                let why = Why {
                    reason: format!("{torch} is copied from `{image}`, and its build there is unknown"),
                    supply: "run `imagelint scan` on the built image, or describe it in an image description"
                        .to_owned(),
                };
                (PackageVersion::Unresolved(why), None)
            };
            let origins = [span, copy.span].map(|span| Origin::File { source: reader.source, span });
            let state = State::Known(Value::Text(torch.to_owned()));
            let fact = reader.seen.facts.add(FactKey::Package, Some(torch), state, Evidence::Leaf(origins.to_vec()));
            let name = torch.to_owned();
            reader.seen.commands += 1;
            let command = reader.seen.commands;
            let package = PackageSeen::new(Manager::Pip, name, version, fact);
            reader.seen.packages.push(PackageSeen { variant, command, ..package });
        }
    }

    /// Adds the packages of another stage that lie in what is copied.
    fn bring(&mut self, reader: &mut Reader<'_>, copy: &CopyInstruction) {
        let Some(looked) = copy.from_stage.and_then(|stage| self.look(reader, stage)) else { return };
        let Looked { packages, code, loose, unread, done } = looked;
        carry_files(reader, &done, copy);
        if reader.seen.of_base.loose.len() < loose::MOST {
            reader.seen.of_base.loose.extend(loose::copied(&loose, copy));
        }
        let destination = copy.destination.as_ref().and_then(|(path, _)| path.known());
        let to = || destination.map(|path| absolute(&copy.folder, path));
        for package in packages {
            let places = done.lands.package(package.fact);
            if !sources(copy).any(|source| landing::brings(source, package.manager, &package.name, places)) {
                continue;
            }
            let fact = with_copy(reader, package.fact, copy);
            let places = places.iter().cloned().chain(to().map(Place::Prefix)).collect();
            reader.done.lands.put(fact, places);
            let home = done
                .homes
                .get(&package.fact)
                .and_then(|home| home.moved(|path| sources(copy).find_map(|source| carried(path, source, copy))));
            reader.done.homes.extend(home.map(|home| (fact, home)));
            reader.seen.packages.push(PackageSeen { fact, ..package });
        }
        bring_unread(reader, &unread, &done, copy);
        let knowledge = self.options.knowledge;
        let compiler = self.bottom(copy).filter(|_| !done.other_toolkit);
        let compiler = compiler.and_then(|(image, span)| Some((toolkit_copied::release(&image, knowledge)?, span)));
        let isa = compiler.and_then(|(cuda, _)| knowledge.target_set(cuda)).map(|row| row.ptx_isa);
        for code in code {
            let (packages, places) = (done.lands.package(code.fact), done.lands.program(code.fact));
            let along = sources(copy).any(|source| match &code.component {
                Some(package) => landing::brings(source, Manager::Pip, package, packages),
                None => compiled::brings(source, places),
            });
            if !along {
                continue;
            }
            let fact = with_copy(reader, code.fact, copy);
            let packages = packages.iter().cloned().chain(to().map(Place::Prefix)).collect();
            let places = places.iter().cloned().chain(to()).collect();
            reader.done.lands.put(fact, packages);
            reader.done.lands.put_program(fact, places);
            // A program of the image's own has the CUDA of its compiler, whatever it is copied to.
            if let (None, Some((cuda, span))) = (&code.component, compiler)
                && programs::takes(reader, cuda, knowledge)
            {
                put_cuda(reader, cuda, [span, copy.span]);
            }
            let isa = code.isa.or(isa.filter(|_| code.component.is_none()));
            reader.seen.code.push(CodeSeen { isa, fact, ..code });
        }
        programs::bring(reader, done.programs, copy, compiler);
    }
}

/// Takes over the lists that commands of another stage install by and that were not read, where what they may have
/// installed lies in what is copied.
fn bring_unread(reader: &mut Reader<'_>, unread: &[(u32, FactId)], done: &Done, copy: &CopyInstruction) {
    let along = |fact: FactId| {
        let places = done.lands.package(fact);
        sources(copy).any(|source| landing::brings(source, Manager::Pip, "", places))
    };
    let along: Vec<FactId> = unread.iter().map(|(_, fact)| *fact).filter(|fact| along(*fact)).collect();
    if along.is_empty() {
        return;
    }
    reader.seen.commands += 1;
    let destination = copy.destination.as_ref().and_then(|(path, _)| path.known());
    let to = destination.map(|path| Place::Prefix(absolute(&copy.folder, path)));
    for fact in along {
        let places = done.lands.package(fact).iter().cloned().chain(to.clone()).collect();
        reader.done.lands.put(fact, places);
        reader.seen.of_base.unknown_wheels.push((reader.seen.commands, fact));
    }
}

/// What was seen of another stage.
struct Looked {
    packages: Vec<PackageSeen>,
    code: Vec<CodeSeen>,
    loose: Vec<LooseSeen>,
    /// Why it is unknown what its commands install.
    unread: Vec<(u32, FactId)>,
    done: Done,
}

/// Notes the CUDA that an image without one has by a COPY.
pub(super) fn put_cuda(reader: &mut Reader<'_>, cuda: CudaVersion, spans: [Span; 2]) {
    let origins = spans.map(|span| Origin::File { source: reader.source, span });
    let state = State::Known(Value::Text(cuda.to_string()));
    let fact = reader.seen.facts.add(FactKey::CudaRuntime, None, state, Evidence::Leaf(origins.to_vec()));
    reader.seen.cuda_runtime = Some((cuda, fact));
}

/// A COPY that does what a mount or a command of a RUN does with files of a stage.
fn copy_of(run: &RunInstruction, stage: usize, source: String, to: String) -> CopyInstruction {
    let literal = |path: String| (Resolved::literal(path), run.span);
    CopyInstruction {
        stage: run.stage,
        instruction: run.instruction,
        span: run.span,
        from: Some(literal(stage.to_string())),
        from_stage: Some(stage),
        sources: vec![literal(source)],
        parents: false,
        destination: Some(literal(to)),
        workdir: run.workdir.clone(),
        folder: Arc::clone(&run.folder),
    }
}

/// Brings the wheels and files that another stage gathered, fetched or wrote.
fn carry_files(reader: &mut Reader<'_>, other: &Done, copy: &CopyInstruction) {
    let destination = copy.destination.as_ref().and_then(|(path, _)| path.known());
    let to = absolute(&copy.folder, destination.unwrap_or("/"));
    for source in sources(copy) {
        reader.done.wheels.extend(other.wheels.copied(source, &to));
        reader.done.fetched.extend(other.fetched.copied(source, copy));
        for (path, made) in &other.made {
            if let Some(to) = carried(path, source, copy) {
                let made = made.clone().map(|opened| Opened { path: to.clone(), ..opened });
                reader.done.made.insert(to, made);
            }
        }
    }
}

pub(super) fn sources(copy: &CopyInstruction) -> impl Iterator<Item = &str> {
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
