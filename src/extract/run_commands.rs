//! What the RUN commands of the target stage install, with the files and scripts that they read.

use std::collections::BTreeSet;

use crate::build::{Command, FileEffect, StandardInput, Word, is_shell};
use crate::cuda::is_at_or_below;
use crate::dockerfile::context::ContextReader;
use crate::dockerfile::{
    CopyDestination, Dockerfile, EvaluateOptions, EvaluatedTarget, ExpandedText, RunInstruction, VariableLookup,
};
use crate::extract::changed_files::{FileChange, transferred_paths};
use crate::extract::command_effects::{MAX_REPEATS, UnknownAdditions, limit_installs_per_package, observe_package};
use crate::extract::command_reader::{CommandReader, StageState, UNKNOWN_FOLDER};
use crate::extract::command_step::{CommandStep, LocatedCommand};
use crate::extract::install_locations::{SYSTEM_BIN_FOLDERS, option_value};
use crate::extract::makefile::{Makefile, MakefileContext};
use crate::extract::possible_dependencies::possible_dependencies;
use crate::extract::python_version::RequestedPython;
use crate::extract::stage_files::{StageFileTree, StageLookups, absolute_path};
use crate::extract::virtual_environments::TargetPython;
use crate::extract::written_files::record_changed_files;
use crate::extract::{
    arch_lists, build_host_queries, command_effects, compiled_programs, loader_files, makefile, missing_installer,
    python_version, stage_files, unpackaged_files, virtual_environments,
};
use crate::install::{CommandContext, CompiledCode, InstallEffects, MarkerEnvironment, PackageInstall, TargetMachine};
use crate::model::cause::Cause;
use crate::model::fact::{
    Evidence, FactId, FactKey, InstallerBehavior, Observations, ObservedGpuCode, Origin, PrintedValue, UnknownCodeKind,
    ValueState as FactState,
};
use crate::model::note::Note;
use crate::model::package::{
    IndexSelection, ObservedPackage, PackageManager, PackageName, PackageVersion, PythonLocation, Requirement,
};
use crate::resolve::{Catalog as _, LISTED_ARCHITECTURE, TableCatalog};
use crate::shell::{SCRIPT_FILE_VARIABLE, wrapped_program_index};
use crate::text::source::{SourceId, Span};
use crate::{install, shell};

/// The Dockerfile, options and build context with which RUN instructions are read.
#[derive(Clone, Copy)]
pub(super) struct RunInputs<'a> {
    pub(super) dockerfile: &'a Dockerfile,
    pub(super) evaluated: &'a EvaluatedTarget,
    /// Those of its RUN instructions that are read.
    pub(super) runs: &'a [RunInstruction],
    pub(super) options: &'a EvaluateOptions,
    pub(super) source: SourceId,
    pub(super) build_context: &'a dyn ContextReader,
    pub(super) lookups: &'a StageLookups,
}

/// The largest depth of nested scripts.
const MAX_SCRIPT_DEPTH: usize = 4;
/// The largest number of scripts that are read per stage.
const MAX_SCRIPTS: usize = 64;
/// Maximum number of commands read per target, including those of scripts and of stages that it copies from.
const MAX_COMMANDS: u32 = 8_192;
/// Maximum number of packages and constraints kept per command; the longest lock files have some thousands.
const MAX_PACKAGES_PER_COMMAND: usize = 8_192;
/// Maximum number of packages and constraints kept per target.
const MAX_PACKAGES: usize = 32_768;

/// What one command installs and compiles, and where.
struct CommandInstalls {
    found: InstallEffects,
    compiled: Option<CompiledCode>,
    /// The command with the names of packages in place of files that another command fetched.
    named: Option<Command>,
    /// The Python that it installs for.
    python: Option<String>,
    /// That Python, by its environment.
    target: TargetPython,
    /// Where the packages are installed, if not where the Python of the image searches.
    location: Option<PythonLocation>,
}

/// Reads every RUN in order, adding and removing packages in `seen`; what could not be read becomes a note.
pub(super) fn read_runs(inputs: RunInputs<'_>, done: &mut StageState, seen: &mut Observations, notes: &mut Vec<Note>) {
    let RunInputs { dockerfile, evaluated, runs, options, source, build_context, lookups } = inputs;
    let machine = if options.platform.split('/').nth(1) == Some("arm64") { "aarch64" } else { "x86_64" };
    let machine = TargetMachine::with_read_flag(machine, &lookups.machine);
    let tree = StageFileTree { dockerfile, evaluated, options, build_context, lookups };
    let (start_folder, folder, knowledge) = (String::new(), String::new(), options.knowledge);
    let (state, dockerfile) = (done, source);
    let mut reader =
        CommandReader { tree, machine, seen, notes, state, source, dockerfile, start_folder, folder, knowledge };
    for run in runs {
        run.folder.as_ref().clone_into(&mut reader.folder);
        reader.state.environments.start_run();
        reader.state.locations.begin_run(run);
        let copies = evaluated.copies.iter().take_while(|copy| copy.instruction < run.instruction);
        for copy in copies.skip(reader.state.copies) {
            reader.state.copies += 1;
            reader.state.fetched.record_add(copy);
            reader.state.cloned.record_add(copy);
        }
        let first = reader.seen.facts.len();
        let commands = reader.commands_with_files(run, |files| shell::run_commands_with_files(run, files));
        reader.read_commands(commands, run, 0, false);
        stage_files::record_referenced_files(reader.seen, first, source, run);
        let places = reader.state.locations.compiled_paths().to_vec();
        for code in reader.seen.code.iter().filter(|code| code.fact.0 >= first) {
            reader.state.locations.set_program_paths(code.fact, places.clone());
        }
    }
}

impl CommandReader<'_> {
    /// Reads the commands of a text that starts in the current folder.
    fn read_commands(&mut self, commands: Vec<Command>, run: &RunInstruction, depth: usize, conditional: bool) {
        let caller = std::mem::replace(&mut self.start_folder, self.folder.clone());
        for mut command in commands {
            command.conditional |= conditional;
            self.read_command(&command, run, depth);
        }
        self.folder = std::mem::replace(&mut self.start_folder, caller);
    }

    /// Reads one command; `depth` is its level in scripts that run one another.
    fn read_command(&mut self, command: &Command, run: &RunInstruction, depth: usize) {
        self.seen.commands += 1;
        self.folder = match &command.folder {
            Some(folder) => absolute_path(&self.start_folder, folder),
            None => UNKNOWN_FOLDER.to_owned(),
        };
        if self.seen.commands > MAX_COMMANDS || self.seen.packages.len() + self.seen.bounds.len() > MAX_PACKAGES {
            let most = Cause::ManyCommands { commands: MAX_COMMANDS, packages: MAX_PACKAGES };
            return self.record_skipped_commands(command, &most);
        }
        if command.cut {
            self.record_skipped_commands(command, &Cause::ScriptTooLarge);
        }
        let folder = self.folder.clone();
        let effect = FileEffect::of_command(command);
        let transfers = transferred_paths(&effect, &folder, &|path| self.is_known_folder(path, run));
        let step = CommandStep { command, folder: &folder, effect: &effect, transfers: &transfers };
        missing_installer::record_missing_installer(self, step, run, depth);
        self.seen.other_python = self.seen.other_python
            || (python_version::may_change_python(step) && !python_version::uses_image_python(self, command, run));
        self.state.environments.record_command(step);
        if command.program() == Some("cd") {
            return;
        }
        self.seen.base_changes.builds_for_gpus |= compiled_programs::is_gpu_compilation(command);
        if self.seen.base_changes.unpackaged.len() < unpackaged_files::MAX_UNPACKAGED_FILES {
            self.seen.base_changes.unpackaged.extend(unpackaged_files::unpackaged_files_of_command(step));
        }
        let located = LocatedCommand { step, run, knowledge: self.knowledge };
        self.record_removed_packages(step);
        let moves = located.possible_moves();
        self.state.locations.record_command(located, &moves, &self.seen.packages);
        for program in &mut self.state.programs {
            program.record_moves(&moves);
        }
        self.state.linked_programs.extend(step.linked_programs());
        self.record_unpacked_environment(command);
        self.record_downloaded_script(command);
        self.record_python_code(command, run);
        if self.apply_pip_config(command) || self.read_script(command, run, depth) {
            return;
        }
        self.record_file_changes(step, run);
        self.read_make_command(command, run, depth);
        let read = self.parse_installs(step, run);
        self.record_side_effects(located, depth, &read);
        self.record_installs(located, read);
    }

    /// Drops packages that a command names in too many variants or beyond the limit, with a note.
    fn limit_packages(&mut self, found: &mut InstallEffects, tag: Option<&str>, span: Span) {
        let lists = [&mut found.packages, &mut found.constraints];
        let cut = lists.map(|list| {
            let thinned = limit_installs_per_package(list);
            let long = list.len() > MAX_PACKAGES_PER_COMMAND;
            list.truncate(MAX_PACKAGES_PER_COMMAND);
            thinned || long
        });
        if cut.contains(&true) {
            let cause = Cause::TooManyPackages { packages: MAX_PACKAGES_PER_COMMAND, variants: MAX_REPEATS };
            self.add_note(Note::unknown_packages(&cause));
            self.record_unknown_packages(&[], cause, tag, span);
        }
    }

    /// Returns what a command installs and compiles, with the files that it names.
    fn parse_installs(&mut self, step: CommandStep<'_>, run: &RunInstruction) -> CommandInstalls {
        let CommandStep { command, effect, .. } = step;
        let knowledge = self.knowledge;
        for word in command.words.iter().filter_map(Word::known) {
            self.state.repositories.extend(knowledge.package_repositories_in(word));
        }
        let base = *self
            .state
            .python
            .get_or_init(|| python_version::base_image_python(&self.tree.evaluated.base.kind, knowledge));
        let lookup = |name: &str| self.state.lookup(run, name);
        let open = |folder: &str, path: &str| self.open_image_file(folder, path, run);
        let python = python_version::target_python_version(self, command, base, run, &lookup);
        let environment = MarkerEnvironment { machine: self.machine, python: python.as_deref() };
        let named = self.state.fetched.with_urls(command, &self.folder);
        let around = CommandContext { lookup: &lookup, open: &open, environment, knowledge };
        let mut found = install::read_installs_in_context(named.as_ref().unwrap_or(command), around);
        let listed =
            |folder: &str| open("/", &format!("{folder}/*")).or_else(|why| self.open_wheel_names(folder, why, run));
        self.state.wheels.resolve_installs(&mut found, command, &self.folder, (&listed, knowledge));
        found.packages.extend(self.state.cloned.built_package(command, &self.folder, knowledge));
        found
            .packages
            .extend(install::unpacked_archive(command, effect, knowledge).filter(|one| !self.has_package(one)));
        for package in found.packages.iter_mut().filter(|package| package.requirement.manager == PackageManager::System)
        {
            let common = self
                .state
                .repositories
                .iter()
                .find_map(|one| knowledge.common_package_name(one, &package.requirement.name));
            if let Some(common) = common {
                package.requirement.name = PackageName::system(&common);
            }
        }
        let of_pip = |package: &&mut PackageInstall| package.requirement.manager == PackageManager::Pip;
        if found.packages.iter().any(|package| package.requirement.manager == PackageManager::Pip)
            && let RequestedPython::Version(version) = python_version::requested_python(self, command, run, &lookup)
        {
            for package in found.packages.iter_mut().filter(of_pip) {
                package.requirement.python.get_or_insert_with(|| version.clone());
            }
        }
        let torch = || self.installed_torch_version();
        let compiled = install::compiled_code(command, &self.folder, &around, &torch);
        let base = &self.tree.evaluated.base;
        let able = || arch_lists::has_cuda_compiler(base, self.state.other_toolkit, self.seen, knowledge);
        let own = || {
            install::compiled_project(command, &around, &torch)
                .or_else(|| install::compiled_repository(command, &around))
        };
        let compiled = compiled.or_else(|| (install::may_compile_project(command) && able()).then(own).flatten());
        let changes_packages = compiled.is_some() || found != InstallEffects::default();
        let head = run.path_head.as_deref();
        let target = match virtual_environments::tool_environment(command, &found.packages, &lookup) {
            _ if !changes_packages => TargetPython::Image,
            Some(folder) => TargetPython::Environment(folder),
            None => self.state.environments.target(command, &self.folder, head, &lookup),
        };
        let location = changes_packages.then(|| self.python_location(command, &target)).flatten();
        CommandInstalls { found, compiled, named, python, target, location }
    }

    /// Records what a command sets, writes, downloads and queries besides its installs.
    fn record_side_effects(&mut self, at: LocatedCommand<'_>, depth: usize, read: &CommandInstalls) {
        let LocatedCommand { step, run, .. } = at;
        let command = step.command;
        let environment = MarkerEnvironment { machine: self.machine, python: read.python.as_deref() };
        let lookup = |name: &str| self.state.lookup(run, name);
        if depth == 0 {
            build_host_queries::record_build_host_query(
                command,
                run,
                (&lookup, self.knowledge),
                self.source,
                self.seen,
            );
        }
        let at = arch_lists::ArchListContext {
            base: &self.tree.evaluated.base,
            folder: &self.folder,
            source: self.source,
            dockerfile: self.dockerfile,
            other_toolkit: self.state.other_toolkit,
            knowledge: self.knowledge,
        };
        arch_lists::record_arch_lists(command, &at, &lookup, self.seen);
        self.state.other_toolkit |= arch_lists::runs_toolkit_installer(step);
        let changes = record_changed_files(self, step, run, &environment);
        let origin = Origin::File { source: self.source, span: command.span };
        let appended = {
            let open = |folder: &str, path: &str| self.open_image_file(folder, path, run);
            let lookup = |name: &str| self.state.lookup(run, name);
            let around = CommandContext { lookup: &lookup, open: &open, environment, knowledge: self.knowledge };
            let is_unknown = |(path, change): &(String, FileChange)| {
                loader_files::is_ld_conf_path(path) && matches!(change, FileChange::Written(Err(_)))
            };
            let parts = changes.iter().any(is_unknown).then(|| install::standard_output(command, &around).ok());
            parts.flatten().map(|parts| parts.iter().map(|part| part.text.text()).collect::<String>())
        };
        loader_files::record_loader_files(step, &changes, &origin, self.seen);
        if let Some(text) = appended {
            loader_files::record_appended_text(step, &text, &origin, self.seen);
        }
        self.state.other_python = self.state.other_python
            || (python_version::may_add_python(step) && !python_version::uses_image_python(self, command, run));
        self.state.fetched.record_command(step);
        self.state.cloned.record_command(step);
        self.state.programs.extend(compiled_programs::parse_link_command(command, &self.folder, self.source));
    }

    /// Records what a command installs, after what it removes.
    fn record_installs(&mut self, at: LocatedCommand<'_>, read: CommandInstalls) {
        let command = at.step.command;
        let CommandInstalls { mut found, compiled, named, target, location, .. } = read;
        self.state.wheels.record_command(&mut found, &self.folder, self.source);
        let added = match command_effects::added_files(at.step) {
            _ if compiled.is_some() => UnknownAdditions::Files,
            UnknownAdditions::Files if command_effects::are_packages_known(command, &found, self.knowledge) => {
                UnknownAdditions::Nothing
            }
            added => added,
        };
        self.state.unknown_additions = self.state.unknown_additions.max(added);
        if !install::is_system_package_command(command)
            && command_effects::may_install_more(command, &found, self.knowledge)
        {
            self.seen.base_changes.installers.insert(InstallerBehavior::InstallsUnknown, self.seen.commands);
        }
        let keeps = command_effects::keeps_installed_packages(command).then_some(InstallerBehavior::KeepsInstalled);
        for behavior in found.behaviors.iter().copied().chain(keeps) {
            self.seen.base_changes.installers.insert(behavior, self.seen.commands);
        }
        let tag = command.words.iter().filter_map(Word::known).find_map(install::tag_of_url);
        self.limit_packages(&mut found, tag.as_deref(), command.span);
        let (lists, sources) = (found.files.is_empty() && found.unresolved.is_empty(), found.sources.is_empty());
        let empty = found.packages.is_empty() && compiled.is_none() && lists && sources;
        let at = LocatedCommand { step: CommandStep { command: named.as_ref().unwrap_or(command), ..at.step }, ..at };
        let environments = &self.state.environments;
        let places =
            if empty { Vec::new() } else { self.state.locations.locations_for_command(at, &target, environments) };
        if let Some(compiled) = compiled {
            let fact = self.record_compiled_code(compiled);
            self.state.locations.set_package_locations(fact, places.clone());
        }
        if found.syncs {
            self.add_unlisted_packages(&mut found, command, location.as_ref());
        }
        self.record_uninstalls(&mut found, command, location.as_ref());
        let is_removed = |code: &ObservedGpuCode| {
            found.removed.iter().any(|(_, name, _)| code.component.as_deref() == Some(name.as_str()))
        };
        self.seen.code.retain(|code| !is_removed(code));
        let (mut installed, mut dependencies) = self.observe_installs(&found.packages, location.as_ref());
        if command.failure_ignored
            && let Some(cause) = installed.iter().find_map(|package| self.unlisted_release(package))
        {
            // An installer that fails installs nothing.
            for package in installed.iter_mut().chain(&mut dependencies) {
                package.conditional.get_or_insert_with(|| cause.clone());
            }
        }
        // Dependencies come before the packages that a command names, so that the named ones win.
        for package in dependencies.into_iter().chain(installed) {
            self.state.locations.set_package_locations(package.fact, places.clone());
            let location = location.clone().filter(|_| package.requirement.manager == PackageManager::Pip);
            let package = ObservedPackage { location, ..package };
            if package.separate_environment().is_some() && package.requirement.name == "pip" {
                self.state.environments.forget_missing_pip();
            }
            self.seen.packages.push(package);
        }
        for install in &found.constraints {
            let package = self.observe_install(install);
            self.seen.bounds.push(package);
        }
        let before = self.seen.base_changes.unknown_wheels.len();
        for (word, span) in &found.unresolved {
            if let ExpandedText::Unresolved { names, reason } = word {
                self.add_note(Note::unknown_packages(reason));
                if !install::is_system_package_command(command) {
                    self.record_unknown_packages(names, (**reason).clone(), tag.as_deref(), *span);
                }
            }
        }
        for file in &found.files {
            self.record_unread_file(file, tag.as_deref());
        }
        if install::is_system_package_command(command) {
            // A system package leaves a version alone that a Python installer pins.
            self.seen
                .base_changes
                .scripts
                .extend(self.seen.base_changes.unknown_wheels.iter().skip(before).map(|one| one.1));
        }
        for (address, span, source) in &found.sources {
            self.record_unread_source(address, *span, source.unwrap_or(self.source));
        }
        for (_, fact) in self.seen.base_changes.unknown_wheels.iter().skip(before) {
            self.state.locations.set_package_locations(*fact, places.clone());
        }
    }

    /// Returns the packages that a command names, and their possible dependencies.
    fn observe_installs(
        &mut self,
        packages: &[PackageInstall],
        location: Option<&PythonLocation>,
    ) -> (Vec<ObservedPackage>, Vec<ObservedPackage>) {
        let named: BTreeSet<PackageName> = packages.iter().map(|one| one.requirement.name.clone()).collect();
        let installed: Vec<ObservedPackage> = packages.iter().map(|one| self.observe_install(one)).collect();
        let mut dependencies = Vec::new();
        for package in &installed {
            let mut possible = possible_dependencies(package, &named, &mut self.seen.facts, self.knowledge);
            if self.is_installed_elsewhere(&package.requirement.name, location) {
                // What another environment contains does not stay in this one.
                for dependent in possible.iter_mut().filter_map(|dependency| dependency.dependent.as_mut()) {
                    dependent.upgrade = true;
                }
            }
            dependencies.extend(possible);
        }
        (installed, dependencies)
    }

    /// Whether earlier commands installed a package only in other environments.
    fn is_installed_elsewhere(&self, name: &PackageName, location: Option<&PythonLocation>) -> bool {
        let mut installs = self.seen.packages.iter().filter(|own| own.requirement.name == *name).peekable();
        installs.peek().is_some() && installs.all(|own| own.location.as_ref() != location)
    }

    /// Whether a package of this name and version was seen before, such as that of a downloaded archive.
    fn has_package(&self, one: &PackageInstall) -> bool {
        self.seen.packages.iter().any(|package| {
            let same = match (&package.requirement.version, &one.requirement.version) {
                (PackageVersion::Exact(own), PackageVersion::Exact(version)) => own == version,
                (_, PackageVersion::Unresolved(_)) => true,
                _ => false,
            };
            same && package.requirement.name == one.requirement.name
        })
    }

    /// Records the GPU code that a command compiles, replacing earlier code of the same component.
    fn record_compiled_code(&mut self, compiled: CompiledCode) -> FactId {
        let inside = compiled.spans.iter().map(|span| Origin::File { source: self.source, span: *span });
        let outside = compiled.outside.iter().map(|span| Origin::File { source: self.dockerfile, span: *span });
        let origins = inside.chain(outside).collect();
        let sass = compiled.sass.iter().map(|target| format!("sm_{}", target.number()));
        let ptx = compiled.ptx.iter().map(|target| format!("compute_{}", target.number()));
        let state = match &compiled.targets_unknown {
            Some(reason) => FactState::Unknown(Cause::TargetsNotKnown {
                because: Box::new(reason.clone()),
                by: compiled.by.clone(),
            }),
            None => FactState::Known(PrintedValue::List(sass.chain(ptx).collect())),
        };
        let unknown_kind = compiled.targets_unknown.as_ref().map(|_| UnknownCodeKind::Unread);
        let name = compiled.component.clone().unwrap_or_else(|| format!("code that {} compiles", compiled.by));
        let fact = self.seen.facts.add(FactKey::Code, Some(&name), state, Evidence::Leaf(origins));
        let CompiledCode { component, sass, ptx, .. } = compiled;
        // What is compiled anew takes the place of what was.
        self.seen.code.retain(|one| component.is_none() || one.component != component || one.file != name);
        let (linkable, isa, runtime) = (Vec::new(), None, None);
        let file = name;
        self.seen.code.push(ObservedGpuCode {
            file,
            component,
            sass,
            ptx,
            linkable,
            isa,
            count: 1,
            unknown_kind,
            runtime,
            fact,
        });
        fact
    }

    /// Converts an install into an observed package.
    fn observe_install(&mut self, install: &PackageInstall) -> ObservedPackage {
        let source = install.source.unwrap_or(self.source);
        let mut origins = vec![Origin::File { source, span: install.span }];
        if let Some(variant) = &install.variant {
            let origin = Origin::File { source: variant.source.unwrap_or(self.source), span: variant.span };
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        observe_package(&mut self.seen.facts, install, origins, self.seen.commands, self.knowledge)
    }

    /// Returns the cause for a pinned release that the tables do not list, although they list those of its distribution, and for a
    /// library package, of which they list none.
    fn unlisted_release(&self, package: &ObservedPackage) -> Option<Cause> {
        let Requirement { manager: PackageManager::Pip, name, version: PackageVersion::Exact(version), .. } =
            &package.requirement
        else {
            return None;
        };
        let catalog = TableCatalog {
            knowledge: self.knowledge,
            arch: LISTED_ARCHITECTURE,
            as_of: None,
            python: None,
            indexes: &IndexSelection::Default,
        };
        let public = version.without_local();
        // Of library packages, the tables list no single releases.
        let releases = catalog.releases(name);
        if releases.is_unlisted() && self.knowledge.library_wheel(name).is_none() {
            return None;
        }
        (!releases.versions().any(|release| release.is_same(&public))).then(|| Cause::ReleaseMayNotExist {
            name: name.to_string(),
            version: version.to_string(),
            date: self.knowledge.newest_source_date(),
        })
    }

    /// Returns where a command installs packages, if not where the Python of the image searches.
    fn python_location(&self, command: &Command, target: &TargetPython) -> Option<PythonLocation> {
        if let TargetPython::Environment(folder) = target {
            return Some(PythonLocation::Environment {
                includes_system_packages: self.state.environments.includes_system_packages(folder),
                folder: folder.clone(),
            });
        }
        let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
        if let Some(target) = option_value(&words, "--target", "-t").filter(|_| words.contains(&"install")) {
            let target = absolute_path(&self.folder, target);
            return (!target.contains("-packages")).then_some(PythonLocation::Folder(target));
        }
        (*target == TargetPython::Other).then_some(PythonLocation::Unknown)
    }
}

impl CommandReader<'_> {
    /// Reads a script of the build context; returns whether the command runs one.
    fn read_script(&mut self, command: &Command, run: &RunInstruction, depth: usize) -> bool {
        let found = self.script_on_path(command, run);
        let Some((at, same_shell)) =
            found.as_ref().map(|(at, _)| (*at, false)).or_else(|| find_script_argument(command))
        else {
            return self.read_script_from_input(command, run, depth);
        };
        let Some(word) = command.words.get(at) else { return false };
        let path = match &word.value {
            ExpandedText::Known { value, .. } if value.contains(['*', '?']) => {
                self.record_unknown_script(value, &Cause::MatchesUnknown, word.span, run);
                return false;
            }
            ExpandedText::Known { value, .. } => found.as_ref().map_or(value.as_str(), |(_, path)| path.as_str()),
            ExpandedText::Unresolved { reason, .. } => {
                self.record_unknown_script(word.raw.trim_matches(['"', '\'']), reason, word.span, run);
                return false;
            }
        };
        if depth >= MAX_SCRIPT_DEPTH || self.state.scripts >= MAX_SCRIPTS {
            self.add_note(Note::not_read(path, Cause::ScriptsTooDeep));
            return true;
        }
        let opened = match self.open_image_file("", path, run) {
            Ok(opened) => opened,
            // A loop over the scripts of a folder does not find it.
            Err(Cause::RemovedByCommand) => return false,
            Err(why) => {
                if is_shell_script(path) {
                    self.seen.base_changes.installers.insert(InstallerBehavior::InstallsUnknown, self.seen.commands);
                    self.record_unread_script(path, &why, command.span);
                    self.add_note(Note::not_read(path, &why));
                }
                return false;
            }
        };
        if path.rsplit_once('.').is_some_and(|(_, ending)| ending == "run") {
            return false;
        }
        let first = opened.text.text().lines().next().unwrap_or("");
        if first.starts_with("#!") && !first.contains("sh") {
            return false;
        }
        self.state.scripts += 1;
        let mut variables = command.variables.to_vec();
        if !same_shell || command.words.len() > at + 1 {
            // Its arguments are its own.
            variables.retain(|(name, _)| name == "0" || !name.bytes().all(|byte| byte.is_ascii_digit()));
        }
        if !same_shell {
            variables.push(("0".to_owned(), ExpandedText::literal(path)));
        }
        variables.push((SCRIPT_FILE_VARIABLE.to_owned(), ExpandedText::literal(path)));
        for (number, word) in command.words.iter().skip(at + 1).take(9).enumerate() {
            variables.push(((number + 1).to_string(), word.value.clone()));
        }
        let source = self.source;
        self.source = opened.source.unwrap_or(source);
        let commands = self.commands_with_files(run, |files| {
            shell::called_script_commands(&opened.text, &run.scope, &variables, files)
        });
        self.read_commands(commands, run, depth + 1, command.conditional);
        self.source = source;
        true
    }

    /// Returns the first script in a directory of PATH with the bare name of a command, and the position of that
    /// name.
    fn script_on_path(&mut self, command: &Command, run: &RunInstruction) -> Option<(usize, String)> {
        let at = wrapped_program_index(&command.words);
        let name = command.words.get(at)?.known().filter(|name| !name.is_empty() && !name.contains('/'))?;
        if self.state.on_path.0 != run.instruction + 1 {
            self.state.on_path = (run.instruction + 1, self.copied_path_directories(command, run));
        }
        let copied = self.state.on_path.1.iter().find_map(|folder| {
            let path = format!("{folder}/{name}");
            (!self.is_removed(&path, run) && self.open_image_file("", &path, run).is_ok()).then_some(path)
        });
        let of_system = || {
            SYSTEM_BIN_FOLDERS
                .iter()
                .filter(|_| self.state.changed_files.len() > 0)
                .map(|folder| format!("{folder}/{name}"))
        };
        let made = || of_system().find(|path| self.state.changed_files.written_file(path).is_some());
        copied.or_else(made).map(|path| (at, path))
    }

    /// Returns the directories of PATH that a COPY may add programs to.
    fn copied_path_directories(&self, command: &Command, run: &RunInstruction) -> Vec<String> {
        let path_value = match command.variable("PATH") {
            Some(value) => value.known_text().map(str::to_owned),
            None => match run.scope.lookup("PATH") {
                VariableLookup::Known(value, _) => Some(value),
                VariableLookup::Unset | VariableLookup::NoValue | VariableLookup::Unknown(..) => None,
            },
        };
        let path_value = path_value.or_else(|| run.path_head.clone()).unwrap_or_default();
        let copies = || self.tree.evaluated.copies.iter().filter(|copy| copy.instruction < run.instruction);
        let reached = |folder: &String| {
            copies().filter_map(|copy| copy.destination.as_ref()).any(|CopyDestination { path: into, .. }| {
                is_at_or_below(into, folder) || (into != "/" && is_at_or_below(folder, into))
            })
        };
        let mut found: Vec<String> =
            path_value.split(':').chain(SYSTEM_BIN_FOLDERS.iter().copied()).map(str::to_owned).collect();
        found.retain(|folder| folder.starts_with('/') && reached(folder));
        found.dedup();
        found
    }

    /// Reads the script that a shell receives from a file or pipe; returns whether there is one.
    fn read_script_from_input(&mut self, command: &Command, run: &RunInstruction, depth: usize) -> bool {
        let at = wrapped_program_index(&command.words);
        let known = |at: usize| command.words.get(at).and_then(Word::known);
        let shell = known(at).is_some_and(is_shell);
        let reads = |word: &str| word.starts_with("--") || !word.contains('n');
        let plain =
            (at + 1..command.words.len()).all(|at| known(at).is_some_and(|word| word.starts_with('-') && reads(word)));
        // A here-document was already read as part of the text that contains it.
        let given = matches!(command.input, StandardInput::File(_) | StandardInput::Pipe(_));
        if !shell || !plain || !given || depth >= MAX_SCRIPT_DEPTH || self.state.scripts >= MAX_SCRIPTS {
            return false;
        }
        let open = |folder: &str, path: &str| self.open_image_file(folder, path, run);
        let lookup = |name: &str| run.scope.lookup(name);
        let environment = MarkerEnvironment { machine: self.machine, python: None };
        let around = CommandContext { lookup: &lookup, open: &open, environment, knowledge: self.knowledge };
        let Ok(texts) = install::standard_input(command, &around) else { return false };
        for opened in texts {
            self.state.scripts += 1;
            let source = self.source;
            self.source = opened.source.unwrap_or(source);
            let variables = &command.variables;
            let commands = self.commands_with_files(run, |files| {
                shell::called_script_commands(&opened.text, &run.scope, variables, files)
            });
            self.read_commands(commands, run, depth + 1, command.conditional);
            self.source = source;
        }
        true
    }

    /// Records a script whose name is unknown and that may be in the build context, as missing evidence.
    fn record_unknown_script(&mut self, written: &str, reason: &Cause, span: Span, run: &RunInstruction) {
        let name = written.rsplit('/').next().unwrap_or(written);
        // A known name is that of a copied file, or of no file in the build context.
        let name = if name.contains(['$', '`', ')', '}']) { "*.sh" } else { name };
        let front = written.split(['$', '`', '*', '?']).next().unwrap_or_default();
        let folder = front.rsplit_once('/').map_or("", |(folder, _)| folder);
        let below = (!front.is_empty()).then(|| absolute_path(&self.folder, folder));
        if self.tree.may_copy_file(run, below.as_deref(), name) {
            self.add_note(Note::not_read(written, reason));
            self.seen.base_changes.installers.insert(InstallerBehavior::InstallsUnknown, self.seen.commands);
            self.record_unread_script(written, reason, span);
        }
    }

    /// Reads the recipes that a `make` command runs, if the build context contains its Makefile.
    fn read_make_command(&mut self, command: &Command, run: &RunInstruction, depth: usize) {
        let Some(invocation) = makefile::parse_make_command(command) else { return };
        let folder = absolute_path(&self.folder, &invocation.folder);
        let named: Vec<&str> =
            invocation.file.as_ref().map_or_else(|| makefile::DEFAULT_NAMES.to_vec(), |file| vec![file]);
        let Some(opened) = named.iter().find_map(|name| self.open_image_file(&folder, name, run).ok()) else { return };
        if depth >= MAX_SCRIPT_DEPTH || self.state.scripts >= MAX_SCRIPTS {
            return self.add_note(Note::not_read(&opened.path, Cause::ScriptsTooDeep));
        }
        self.state.scripts += 1;
        let environment = |name: &str| makefile::make_environment_value(name, command, run);
        let named = |name: &str| self.open_image_file(&folder, name, run).ok();
        let around = MakefileContext { given: &invocation.variables, environment: &environment, named: &named };
        let file = Makefile::read(opened, around);
        let (source, before) = (self.source, self.folder.clone());
        // A recipe has no arguments.
        let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
        let mut variables = command.variables.to_vec();
        variables.retain(|(name, _)| !is_number(name));
        for (text, of, conditional) in file.recipe_lines(invocation.goals) {
            self.source = of.source.unwrap_or(source);
            // Every line has a shell of its own.
            self.folder.clone_from(&folder);
            let commands = self
                .commands_with_files(run, |files| shell::called_script_commands(&text, &run.scope, &variables, files));
            self.read_commands(commands, run, depth + 1, command.conditional || conditional);
        }
        (self.source, self.folder) = (source, before);
    }
}

/// Returns the position of the script among the arguments of a command, and whether the current shell runs it.
fn find_script_argument(command: &Command) -> Option<(usize, bool)> {
    let known = |at: usize| command.words.get(at).and_then(Word::known);
    let at = wrapped_program_index(&command.words);
    let Some(first) = known(at) else {
        // `"$HERE/torch.sh"`
        let raw = command.words.get(at)?.raw.trim_matches(['"', '\'']);
        return (raw.contains('/') && is_shell_script(raw)).then_some((at, false));
    };
    match first.rsplit('/').next()? {
        program if is_shell(program) => {
            let after =
                (at + 1..command.words.len()).find(|at| known(*at).is_none_or(|word| !word.starts_with(['-', '+'])))?;
            // With `-n` the shell reads the script and runs nothing of it.
            let flags = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('n');
            let reads = (at + 1..after).any(|at| known(at).is_some_and(flags));
            (!reads).then_some((after, false))
        }
        "." | "source" => Some((at + 1, true)),
        _ => {
            (is_shell_script(first) || first.starts_with("./") || (first.starts_with('/') && !first.contains("/bin/")))
                .then_some((at, false))
        }
    }
}

/// Whether a path has the extension of a shell script.
fn is_shell_script(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| matches!(ending, "sh" | "bash"))
}

#[cfg(test)]
mod tests {
    use super::find_script_argument;
    use crate::dockerfile::MappedText;
    use crate::shell::script_commands;

    #[test]
    fn a_command_names_the_script_that_it_runs() {
        for (text, expected) in [
            ("./install.sh a", Some((0, false))),
            ("bash -eux /tmp/x.sh", Some((2, false))),
            ("sudo -E sh x.sh", Some((1, false))),
            ("timeout 60 bash x.sh", Some((1, false))),
            (". ./env.sh", Some((1, true))),
            ("/tmp/install.sh", Some((0, false))),
            ("python3 x.py", None),
            ("/usr/bin/pip install x", None),
            ("bash -n x.sh", None),
            ("sh -en x.sh", None),
            ("bash --noprofile x.sh", Some((2, false))),
            ("echo x.sh", None),
        ] {
            let commands = script_commands(&MappedText::contiguous(text, 0));
            assert_eq!(commands.first().and_then(find_script_argument), expected, "{text}");
        }
    }
}
