//! Packages, code and files that COPY takes from other stages and images: packages travel with their directories.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cuda::TOOLKIT_ROOT;
use crate::dockerfile::{
    BaseKind, CopyDestination, CopyInstruction, Dockerfile, EvaluateOptions, EvaluatedBase, EvaluatedTarget,
    ExpandedText, RunInstruction,
};
use crate::extract::changed_files::{ChangedFile, FileChange};
use crate::extract::command_reader::StageState;
use crate::extract::copied_toolkit::CopiedCuda;
use crate::extract::package_locations::PackageLocation;
use crate::extract::stage_files::{absolute_path, bind_mounts, copied_path, known_sources, strip_folder};
use crate::extract::target_reader::{TargetReader, record_cuda_runtime};
use crate::extract::{
    compiled_programs, copied_programs, copied_toolkit, framework_archives, loader_files, package_locations,
    unpackaged_files,
};
use crate::install::OpenedFile;
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{
    Evidence, FactId, FactKey, FileKind, InstallerBehavior, InstallerCommands, Observations, ObservedBase,
    ObservedFile, ObservedGpuCode, Origin, PrintedValue, UnpackagedFiles, ValueState,
};
use crate::model::package::{ObservedPackage, PackageManager, PackageName, PackageVersion, RemovedPackage};
use crate::model::reference::ImageReference;
use crate::text::source::Span;

/// Maximum number of lookups in other stages per target; a chain of stages may look up each of them more than once.
const MAX_STAGE_LOOKUPS: usize = 256;

/// Directories that contain the Python of an image, as COPY names them; the root is empty.
const PYTHON_PREFIXES: &[&str] = &["", "/usr", "/usr/local", "/usr/local/bin", "/usr/bin"];

/// The stages of a Dockerfile, evaluated on demand.
pub(super) struct StageEvaluator<'a> {
    dockerfile: &'a Dockerfile,
    options: &'a EvaluateOptions,
    remaining_lookups: usize,
    /// Those that were looked into.
    known: BTreeMap<usize, Arc<EvaluatedTarget>>,
}

impl<'a> StageEvaluator<'a> {
    pub(super) fn new(dockerfile: &'a Dockerfile, options: &'a EvaluateOptions) -> Self {
        Self { dockerfile, options, remaining_lookups: MAX_STAGE_LOOKUPS, known: BTreeMap::new() }
    }

    /// Evaluates a stage, once for all lookups; `None` if the maximum number of lookups is reached.
    fn evaluate(&mut self, stage: usize) -> Option<Arc<EvaluatedTarget>> {
        self.remaining_lookups = self.remaining_lookups.checked_sub(1)?;
        if let Some(known) = self.known.get(&stage) {
            return Some(Arc::clone(known));
        }
        let options = EvaluateOptions { target: Some(stage.to_string()), ..self.options.clone() };
        let evaluated = Arc::new(self.dockerfile.evaluate(&options).ok()?);
        self.known.insert(stage, Arc::clone(&evaluated));
        Some(evaluated)
    }

    /// Returns the base whose whole file tree a `FROM scratch` image copies, and the COPY that does so.
    pub(super) fn flattened_base(&mut self, evaluated: &EvaluatedTarget) -> Option<(EvaluatedBase, CopyInstruction)> {
        if evaluated.base.kind != BaseKind::Scratch {
            return None;
        }
        let copy = evaluated
            .copies
            .iter()
            .find(|copy| copy.from.is_some() && known_sources(copy).any(package_locations::is_whole_tree))?;
        let base = if let Some(stage) = copy.from_stage {
            let inner = self.evaluate(stage)?;
            self.flattened_base(&inner).map_or_else(|| inner.base.clone(), |(base, _)| base)
        } else {
            let (name, span) = copy.from.as_ref()?;
            let kind = BaseKind::Image(ImageReference::parse(name.known_text()?).ok()?);
            EvaluatedBase { text: name.clone(), span: *span, sources: name.origins().to_vec(), kind }
        };
        (base.kind != BaseKind::Scratch).then(|| (base, copy.clone()))
    }

    /// Reads what a target installs and what its COPY instructions add, in the order of the file.
    pub(super) fn read_target(&mut self, reader: &mut TargetReader<'_>, evaluated: &EvaluatedTarget) {
        let flattened = evaluated.base.kind == BaseKind::Scratch;
        let brings = |copy: &CopyInstruction| {
            !loader_files::named_driver_libraries(copy).is_empty() || loader_files::possible_libcuda(copy).is_some()
        };
        let knowledge = self.options.knowledge;
        let concerns = |copy: &CopyInstruction| {
            copy.from.is_some() || brings(copy) || copied_toolkit::cuda_of_copy(copy, None, knowledge).is_some()
        };
        self.read_instructions(reader, evaluated, &concerns, &mut |stages, reader, copy| {
            // What an image from nothing holds is its base already.
            if concerns(copy) && !(flattened && known_sources(copy).any(package_locations::is_whole_tree)) {
                stages.add_base_framework(reader, copy);
                stages.add_driver_files(reader, copy);
                stages.record_copied_toolkit(reader, copy);
            }
        });
        copied_programs::record_program_needs(reader, evaluated, knowledge);
        self.record_unpackaged_files(reader, evaluated);
    }

    /// Records the files that the copies of a target add without a package.
    fn record_unpackaged_files(&mut self, reader: &mut TargetReader<'_>, evaluated: &EvaluatedTarget) {
        for copy in &evaluated.copies {
            let changed = |stage| self.evaluate(stage).is_none_or(|inner| !inner.runs.is_empty());
            let image = if copy.from_stage.is_some_and(changed) { None } else { self.source_image(copy) };
            if reader.seen.base_changes.unpackaged.len() < unpackaged_files::MAX_UNPACKAGED_FILES {
                reader
                    .seen
                    .base_changes
                    .unpackaged
                    .extend(unpackaged_files::unpackaged_files_of_copy(copy, image.as_ref().map(|(image, _)| image)));
            }
        }
    }

    /// Reads the instructions of a target in order, and calls `further` with each COPY that concerns it or names an
    /// archive.
    fn read_instructions(
        &mut self,
        reader: &mut TargetReader<'_>,
        evaluated: &EvaluatedTarget,
        concerns: &dyn Fn(&CopyInstruction) -> bool,
        further: &mut dyn FnMut(&mut Self, &mut TargetReader<'_>, &CopyInstruction),
    ) {
        reader.seen.other_python = reader.seen.other_python || self.copies_other_python(evaluated);
        let knowledge = self.options.knowledge;
        let is_relevant =
            |copy: &&CopyInstruction| concerns(copy) || framework_archives::has_archive_source(copy, knowledge);
        let mut copies = evaluated.copies.iter().filter(is_relevant).peekable();
        let mut arrives = |stages: &mut Self, reader: &mut TargetReader<'_>, copy: &CopyInstruction| {
            stages.add_copied_packages(reader, copy);
            framework_archives::add_archive_packages(reader, copy, knowledge);
            further(stages, reader, copy);
        };
        for run in &evaluated.runs {
            while let Some(copy) = copies.next_if(|copy| copy.instruction < run.instruction) {
                arrives(self, reader, copy);
            }
            let mounts = bind_mounts(self.dockerfile, run);
            let of_stages = || mounts.iter().filter_map(|mount| Some((mount, mount.stage?)));
            for (mount, stage) in of_stages() {
                let copy = equivalent_copy(run, stage, mount.source.clone(), &mount.target);
                let looked = self.read_stage(reader, stage);
                if let Some(looked) = looked {
                    copy_files(reader, &looked.state, &copy);
                }
            }
            reader.read_runs(evaluated, std::slice::from_ref(run));
            for (mount, stage) in of_stages() {
                let moved = reader.state.locations.moved_paths().to_vec();
                for (from, to) in moved {
                    let Some(rest) = strip_folder(&from, &mount.target) else { continue };
                    let source = format!("{}/{rest}", mount.source);
                    self.add_copied_packages(reader, &equivalent_copy(run, stage, source, &to));
                }
            }
        }
        for copy in copies {
            arrives(self, reader, copy);
        }
    }

    /// Reads another stage into separate observations that share only the facts.
    fn read_stage(&mut self, reader: &mut TargetReader<'_>, stage: usize) -> Option<StageContents> {
        if self.remaining_lookups == 0 {
            let span = self.dockerfile.stages.get(stage).map(|stage| stage.base_span);
            reader.note_skipped_part(Cause::TooManyStages { limit: MAX_STAGE_LOOKUPS }, span);
        }
        let inner = self.evaluate(stage)?;
        // What the other stage took away, bounded or wrote stays there.
        let done = std::mem::take(&mut reader.state);
        let (own_packages, own_code) =
            (std::mem::take(&mut reader.seen.packages), std::mem::take(&mut reader.seen.code));
        let facts = std::mem::take(&mut reader.seen.facts);
        let mut own = reader.seen.clone();
        (own.packages, own.code) = (own_packages, own_code);
        reader.seen.facts = facts;
        let before = std::mem::take(&mut reader.seen.base_changes.unpackaged);
        reader.seen.base_changes.unknown_wheels.clear();
        self.read_instructions(reader, &inner, &|copy| copy.from_stage.is_some(), &mut |_, _, _| {});
        self.record_unpackaged_files(reader, &inner);
        let unpackaged = std::mem::replace(&mut reader.seen.base_changes.unpackaged, before);
        let unread = std::mem::take(&mut reader.seen.base_changes.unknown_wheels);
        let packages = std::mem::take(&mut reader.seen.packages);
        let uninstalled = reader.seen.uninstalled_packages.split_off(own.uninstalled_packages.len());
        let removed = reader.seen.removed_packages.split_off(own.removed_packages.len());
        let mut files = std::mem::take(&mut reader.seen.files);
        files.retain(|path, file| own.files.get(path).is_none_or(|own| own.fact != file.fact));
        let commands = InstallOptions::added(&own, &reader.seen);
        let code = std::mem::take(&mut reader.seen.code);
        std::mem::swap(&mut own.facts, &mut reader.seen.facts);
        own.commands = reader.seen.commands;
        own.base_changes.referenced_texts = std::mem::take(&mut reader.seen.base_changes.referenced_texts);
        own.base_changes.arch_lists = std::mem::take(&mut reader.seen.base_changes.arch_lists);
        own.base_changes.builds_for_gpus = reader.seen.base_changes.builds_for_gpus;
        own.base_changes.copies_unread_images = reader.seen.base_changes.copies_unread_images;
        reader.seen = own;
        Some(StageContents {
            packages,
            uninstalled,
            removed,
            files,
            commands,
            code,
            unpackaged,
            unread,
            state: std::mem::replace(&mut reader.state, done),
        })
    }

    /// Returns the image at the bottom of the stage that is copied from, and where it is named.
    fn source_image(&mut self, copy: &CopyInstruction) -> Option<(ImageReference, Span)> {
        let (name, span) = copy.from.as_ref()?;
        let Some(stage) = copy.from_stage else {
            return Some((ImageReference::parse(name.known_text()?).ok()?, *span));
        };
        let inner = self.evaluate(stage)?;
        match &inner.base.kind {
            BaseKind::Image(image) => Some((image.clone(), inner.base.span)),
            _ => None,
        }
    }

    /// Whether a COPY of a target copies the Python of another image, with another version than that of the base image.
    fn copies_other_python(&mut self, evaluated: &EvaluatedTarget) -> bool {
        let knowledge = self.options.knowledge;
        let python = |image: &ImageReference| knowledge.image_python(image).map(|row| row.python);
        let own = match &evaluated.base.kind {
            BaseKind::Image(image) => python(image),
            _ => None,
        };
        evaluated.copies.iter().any(|copy| {
            let mut sources = copy.sources.iter().filter_map(|(source, _)| source.known_text());
            sources.any(|source| PYTHON_PREFIXES.contains(&source.trim_end_matches('/'))) && {
                let copied = self.source_image(copy).and_then(|(image, _)| python(&image));
                copied.is_some() && copied != own
            }
        })
    }

    /// Adds the driver libraries that a COPY names, and the compat package of a CUDA image whose toolkit it copies.
    fn add_driver_files(&mut self, reader: &mut TargetReader<'_>, copy: &CopyInstruction) {
        let here = Origin::File { source: reader.source, span: copy.span };
        let bottom = self.source_image(copy);
        let package = bottom.and_then(|(image, span)| {
            Some((loader_files::copied_compat_package(copy, &image, self.options.knowledge)?, span))
        });
        let Some((package, span)) = package else {
            for path in loader_files::named_driver_libraries(copy) {
                loader_files::record_file(&mut reader.seen, path, FileKind::Present, here.clone());
            }
            if let Some(path) = loader_files::possible_libcuda(copy) {
                let because = Cause::DriverFileNotNamed { path: path.clone() };
                loader_files::record_possible_driver_library(&mut reader.seen, path, because, here);
            }
            return;
        };
        if let Some(link) = package.linked {
            loader_files::record_file(&mut reader.seen, TOOLKIT_ROOT.to_owned(), link, here.clone());
        }
        let state = ValueState::Known(PrintedValue::Text(package.name.clone()));
        let origins = vec![Origin::File { source: reader.source, span }, here];
        let fact = reader.seen.facts.add(FactKey::Package, Some(&package.name), state, Evidence::Leaf(origins));
        let version = PackageVersion::any();
        reader.seen.packages.push(ObservedPackage::new(
            PackageManager::System,
            PackageName::system(&package.name),
            version,
            fact,
        ));
    }

    /// Records the CUDA that a COPY takes from a CUDA image, and that unread images may contain code for GPUs.
    fn record_copied_toolkit(&mut self, reader: &mut TargetReader<'_>, copy: &CopyInstruction) {
        let knowledge = self.options.knowledge;
        if let (None, Some(from)) = (copy.from_stage, &copy.from) {
            let image = from.0.known_text().and_then(|name| ImageReference::parse(name).ok());
            let name = image.as_ref().map(ImageReference::familiar_name).unwrap_or_default();
            let tag = image.as_ref().and_then(ImageReference::tag).unwrap_or_default();
            let changes = &mut reader.seen.base_changes;
            if knowledge.framework_image(&name, tag).is_some() {
                changes.builds_for_gpus = true;
            } else {
                changes.copies_unread_images |= knowledge.plain_image(&name).is_none();
            }
        }
        let bottom = self.source_image(copy);
        let own = bottom.as_ref().and_then(|(image, _)| copied_toolkit::release_of_cuda_image(image, knowledge));
        let Some(copied_cuda) = copied_toolkit::cuda_of_copy(copy, own, knowledge) else { return };
        let done = copy.from_stage.and_then(|stage| self.read_stage(reader, stage)).map(|looked| looked.state);
        let copied_cuda = match done.filter(|done| done.other_toolkit) {
            Some(_) => copied_toolkit::cuda_of_copy(copy, None, knowledge).unwrap_or(copied_cuda),
            None => copied_cuda,
        };
        let here = Origin::File { source: reader.source, span: copy.span };
        if let CopiedCuda::Release(cuda) = copied_cuda {
            let image = bottom.as_ref().map(|(image, _)| image);
            for path in copied_toolkit::copied_library_paths(copy, cuda, image, knowledge) {
                loader_files::record_file(&mut reader.seen, path, FileKind::Present, here.clone());
            }
        }
        if reader.seen.cuda_runtime.is_some() || !copied_toolkit::base_lacks_cuda(&reader.seen, knowledge) {
            return;
        }
        let span = bottom.map_or(copy.span, |(_, span)| span);
        match copied_cuda {
            CopiedCuda::Release(cuda) => record_cuda_runtime(reader, cuda, [span, copy.span]),
            CopiedCuda::Unknown => {
                let why = Cause::CopiedLibraries;
                let evidence = Evidence::Leaf(vec![here]);
                reader.seen.facts.add(
                    FactKey::Requirements,
                    Some("libraries of CUDA"),
                    ValueState::Unknown(why),
                    evidence,
                );
            }
        }
    }

    /// Adds the framework of the image that is copied from, if its directories are copied; its build may be unknown.
    fn add_base_framework(&mut self, reader: &mut TargetReader<'_>, copy: &CopyInstruction) {
        let Some((image, span)) = self.source_image(copy) else { return };
        let knowledge = self.options.knowledge;
        let python = |source: &str| source.contains("-packages") || source.contains("/python");
        let name = image.familiar_name();
        let plain = knowledge.plain_image(&name).is_some() || knowledge.is_cuda_repository(&name);
        if !plain && known_sources(copy).any(python) {
            reader.seen.base_changes.installers.insert(InstallerBehavior::InstallsUnknown, reader.seen.commands);
        }
        let row = knowledge.framework_image(&image.familiar_name(), image.tag().unwrap_or_default());
        let framework = knowledge.framework_with_variants().filter(|_| row.is_some_and(|row| row.torch.is_some()));
        // A command of the stage may have put another in its place, and one of the target may remove that of conda.
        let untouched =
            copy.from_stage.is_none_or(|stage| self.evaluate(stage).is_some_and(|inner| inner.runs.is_empty()));
        let row = row.filter(|row| untouched && row.torch_channel.is_none());
        let Some(torch) = framework.map(|framework| framework.distribution) else { return };
        if known_sources(copy).any(|source| {
            package_locations::is_package_copied(
                source,
                PackageManager::Pip,
                torch,
                &package_locations::default_locations(),
            )
        }) {
            let served = row
                .and_then(|row| Some((row, row.torch.filter(|version| knowledge.torch_release(version).is_some())?)));
            let (version, variant) = if let Some((row, own)) = served {
                let tag = format!("cu{}{}", row.cuda.major(), row.cuda.minor());
                (PackageVersion::exact(format!("{own}+{tag}")), Some(tag))
            } else {
                let why = Cause::CopiedTorch { package: torch.to_string(), image: image.to_string() };
                (PackageVersion::Unresolved(why), None)
            };
            let origins = [span, copy.span].map(|span| Origin::File { source: reader.source, span });
            let state = ValueState::Known(PrintedValue::Text(torch.to_owned()));
            let fact = reader.seen.facts.add(FactKey::Package, Some(torch), state, Evidence::Leaf(origins.to_vec()));
            let name = PackageName::python(torch);
            reader.seen.commands += 1;
            let command = reader.seen.commands;
            let package = ObservedPackage::new(PackageManager::Pip, name, version, fact);
            reader.seen.packages.push(ObservedPackage { variant, command, ..package });
        }
    }

    /// Adds what the commands of another stage removed from the copied folders: its packages came without these.
    fn add_copied_removals(
        &self,
        reader: &mut TargetReader<'_>,
        copy: &CopyInstruction,
        (uninstalled, removed): (Vec<ObservedPackage>, Vec<RemovedPackage>),
        done: &StageState,
    ) {
        let plain = match &reader.seen.base {
            ObservedBase::Image(image, _) => is_without_frameworks(image, self.options.knowledge),
            _ => false,
        };
        if !plain {
            return;
        }
        let is_copied = |manager, name: &PackageName, places: &[PackageLocation]| {
            known_sources(copy).any(|source| package_locations::is_package_copied(source, manager, name, places))
        };
        let usual = package_locations::default_locations();
        for removal in removed {
            let own = uninstalled
                .iter()
                .filter(|package| package.requirement.name == removal.name && package.command <= removal.command);
            let places = own.clone().next_back().map(|package| done.locations.package_locations(package.fact));
            // What the image itself has under this name is another one.
            let is_installed = reader.seen.packages.iter().any(|package| package.requirement.name == removal.name);
            if !is_installed && is_copied(removal.manager, &removal.name, places.unwrap_or(&usual)) {
                reader.seen.uninstalled_packages.extend(own.cloned());
                reader.seen.removed_packages.push(removal);
            }
        }
    }

    /// Adds the packages, code and programs of another stage that are in the copied paths.
    fn add_copied_packages(&mut self, reader: &mut TargetReader<'_>, copy: &CopyInstruction) {
        let Some(looked) = copy.from_stage.and_then(|stage| self.read_stage(reader, stage)) else { return };
        let StageContents { packages, uninstalled, removed, files, commands, code, unpackaged, unread, state: done } =
            looked;
        copy_files(reader, &done, copy);
        for (path, file) in files {
            if let Some(to) = known_sources(copy).find_map(|source| copied_path(&path, source, copy)) {
                let fact = add_copied_fact(reader, file.fact, copy);
                reader.seen.files.insert(to, ObservedFile { fact, ..file });
            }
        }
        if reader.seen.base_changes.unpackaged.len() < unpackaged_files::MAX_UNPACKAGED_FILES {
            reader.seen.base_changes.unpackaged.extend(unpackaged_files::select_copied_files(&unpackaged, copy));
        }
        let to = || copy.destination.as_ref().map(|destination| destination.path.clone());
        let mut copied = BTreeSet::new();
        let knowledge = self.options.knowledge;
        let mut replaces = self.source_image(copy).is_some_and(|(image, _)| is_without_frameworks(&image, knowledge));
        let own_names: BTreeSet<PackageName> =
            reader.seen.packages.iter().map(|package| package.requirement.name.clone()).collect();
        self.add_copied_removals(reader, copy, (uninstalled, removed), &done);
        for package in packages {
            let places = done.locations.package_locations(package.fact);
            if !known_sources(copy).any(|source| {
                package_locations::is_package_copied(
                    source,
                    package.requirement.manager,
                    &package.requirement.name,
                    places,
                )
            }) {
                continue;
            }
            let fact = add_copied_fact(reader, package.fact, copy);
            let places = places.iter().cloned().chain(to().map(PackageLocation::Prefix)).collect();
            reader.state.locations.set_package_locations(fact, places);
            let location = package.location.as_ref().and_then(|location| {
                location.after_copy(|path| known_sources(copy).find_map(|source| copied_path(path, source, copy)))
            });
            let location = location.filter(|location| !location.is_system_packages());
            // The copied release takes the place of an installed one, whichever is newer.
            if replaces && own_names.contains(&package.requirement.name) {
                reader.seen.base_changes.installers.insert(InstallerBehavior::Reinstalls, package.command);
                replaces = false;
            }
            copied.insert(package.command);
            reader.seen.packages.push(ObservedPackage { location, fact, ..package });
        }
        commands.add_to(&mut reader.seen, &copied);
        copy_unread_lists(reader, &unread, &done, copy);
        let compiler = self.source_image(copy).filter(|_| !done.other_toolkit);
        let compiler =
            compiler.and_then(|(image, span)| Some((copied_toolkit::release_of_cuda_image(&image, knowledge)?, span)));
        let isa = compiler.and_then(|(cuda, _)| knowledge.target_set(cuda)).map(|row| row.ptx_isa);
        for code in code {
            let (packages, places) =
                (done.locations.package_locations(code.fact), done.locations.program_paths(code.fact));
            let is_copied = known_sources(copy).any(|source| match &code.component {
                Some(package) => package_locations::is_package_copied(source, PackageManager::Pip, package, packages),
                None => compiled_programs::is_program_copied(source, places),
            });
            if !is_copied {
                continue;
            }
            let fact = add_copied_fact(reader, code.fact, copy);
            let packages = packages.iter().cloned().chain(to().map(PackageLocation::Prefix)).collect();
            let places = places.iter().cloned().chain(to()).collect();
            reader.state.locations.set_package_locations(fact, packages);
            reader.state.locations.set_program_paths(fact, places);
            // A program of the image's own has the CUDA of its compiler, whatever it is copied to.
            if let (None, Some((cuda, span))) = (&code.component, compiler)
                && copied_programs::needs_compiler_cuda(reader, cuda, knowledge)
            {
                record_cuda_runtime(reader, cuda, [span, copy.span]);
            }
            let isa = code.isa.or(isa.filter(|_| code.component.is_none()));
            reader.seen.code.push(ObservedGpuCode { isa, fact, ..code });
        }
        copied_programs::copy_programs(reader, done.programs, copy, compiler);
    }
}

/// Records unread requirement lists of another stage whose packages may be in the copied paths.
fn copy_unread_lists(
    reader: &mut TargetReader<'_>,
    unread: &[(u32, FactId)],
    done: &StageState,
    copy: &CopyInstruction,
) {
    let is_copied = |fact: FactId| {
        let places = done.locations.package_locations(fact);
        known_sources(copy).any(|source| package_locations::is_package_copied(source, PackageManager::Pip, "", places))
    };
    let copied: Vec<FactId> = unread.iter().map(|(_, fact)| *fact).filter(|fact| is_copied(*fact)).collect();
    if copied.is_empty() {
        return;
    }
    reader.seen.commands += 1;
    let to = copy.destination.as_ref().map(|destination| PackageLocation::Prefix(destination.path.clone()));
    for fact in copied {
        let places = done.locations.package_locations(fact).iter().cloned().chain(to.clone()).collect();
        reader.state.locations.set_package_locations(fact, places);
        reader.seen.base_changes.unknown_wheels.push((reader.seen.commands, fact));
    }
}

/// Constraints and options of the install commands of a stage.
struct InstallOptions {
    constraints: Vec<ObservedPackage>,
    installers: InstallerCommands,
}

impl InstallOptions {
    /// Returns those of the commands that were read between two states of the observations.
    fn added(before: &Observations, after: &Observations) -> Self {
        Self {
            constraints: after.bounds.iter().skip(before.bounds.len()).cloned().collect(),
            installers: after.base_changes.installers.added_since(&before.base_changes.installers),
        }
    }

    /// Adds those of some commands to observations.
    fn add_to(self, seen: &mut Observations, commands: &BTreeSet<u32>) {
        let is_copied = |command: u32| commands.contains(&command);
        seen.bounds.extend(self.constraints.into_iter().filter(|bound| is_copied(bound.command)));
        seen.base_changes.installers.extend_with_options(&self.installers, is_copied);
    }
}

/// Whether an image contains no framework: a plain base image, or one with CUDA alone.
pub(super) fn is_without_frameworks(image: &ImageReference, knowledge: Knowledge) -> bool {
    let name = image.familiar_name();
    knowledge.plain_image(&name).is_some() || knowledge.is_cuda_repository(&name)
}

/// Observations of another stage.
struct StageContents {
    packages: Vec<ObservedPackage>,
    /// Packages that its commands installed and removed.
    uninstalled: Vec<ObservedPackage>,
    removed: Vec<RemovedPackage>,
    /// Files that its commands wrote or linked for the loader.
    files: BTreeMap<String, ObservedFile>,
    commands: InstallOptions,
    code: Vec<ObservedGpuCode>,
    unpackaged: Vec<UnpackagedFiles>,
    /// Why it is unknown what its commands install.
    unread: Vec<(u32, FactId)>,
    state: StageState,
}

/// Returns a COPY with the effect that a mount or a command of a RUN has on files of a stage.
fn equivalent_copy(run: &RunInstruction, stage: usize, source: String, to: &str) -> CopyInstruction {
    let literal = |path: String| (ExpandedText::literal(path), run.span);
    CopyInstruction {
        stage: run.stage,
        instruction: run.instruction,
        span: run.span,
        from: Some(literal(stage.to_string())),
        from_stage: Some(stage),
        sources: vec![literal(source)],
        parents: false,
        destination: Some(CopyDestination {
            path: absolute_path(&run.folder, to),
            is_folder: to.ends_with(['/', '.']),
        }),
        workdir: run.workdir.clone(),
        folder: Arc::clone(&run.folder),
    }
}

/// Copies the records of wheels, downloaded files and written files from another stage.
fn copy_files(reader: &mut TargetReader<'_>, other: &StageState, copy: &CopyInstruction) {
    let to = copy.destination.as_ref().map_or("/", |destination| &destination.path);
    for source in known_sources(copy) {
        reader.state.wheels.extend(other.wheels.copied_to(source, to));
        reader.state.fetched.extend(other.fetched.files_in_copy(source, copy));
        reader.state.environments.extend_copied(&other.environments, |folder| copied_path(folder, source, copy));
        let (instruction, traces) = (copy.instruction, reader.state.traces.len());
        for (changed, change) in (other.changed_files.removals().map(|one| (one, one.change.clone())))
            .chain(other.changed_files.filled_folders().map(|one| (one, FileChange::UnknownFiles)))
        {
            if let Some(path) = copied_path(&changed.path, source, copy) {
                reader.state.changed_files.push(ChangedFile { path, change, instruction, traces });
            }
        }
        for written in other.changed_files.written_files().into_values() {
            if let (Some(path), FileChange::Written(content)) =
                (copied_path(&written.path, source, copy), &written.change)
            {
                let content = content.clone().map(|opened| OpenedFile { path: path.clone(), ..opened });
                let change = FileChange::Written(content);
                reader.state.changed_files.push(ChangedFile { path, change, instruction, traces });
            }
        }
    }
}

/// Adds a copy of a fact of another stage, with the COPY instruction as an additional origin.
fn add_copied_fact(reader: &mut TargetReader<'_>, fact: FactId, copy: &CopyInstruction) -> FactId {
    let facts = &mut reader.seen.facts;
    let mut origins = facts.origins(fact);
    origins.push(Origin::File { source: reader.source, span: copy.span });
    let known = facts.get(fact);
    let (key, of, state) = (known.key, known.subject.clone(), known.state.clone());
    facts.add(key, of.as_deref(), state, Evidence::Leaf(origins))
}
