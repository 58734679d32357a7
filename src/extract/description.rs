//! Conversion of image descriptions and their packages into observations, and back.

use std::collections::BTreeSet;

use crate::cuda::{CodeTarget, CudaVersion};
use crate::describe::{
    ContentCategory, DescribedElfNote as WrittenNote, DescribedEnvTemplate, DescribedFile, DescribedGpuCode,
    DescribedPackage, DescribedPackages, DescribedRemoval, ImageDescription, NamedEntry, Spanned, UnknownBase,
};
use crate::extract::possible_dependencies::possible_dependencies;
use crate::extract::{env_templates, start_commands};
use crate::knowledge::Knowledge;
use crate::model::cause::{ADD_TO_DESCRIPTION, Cause, SET_BASE, SET_CODE_TARGETS};
use crate::model::fact::{
    BuildMachineProperty, BuildMachineQuery, CompatNote, EnvTemplate, Evidence, FactId, FactKey, FileKind,
    InspectionDepth, InstallerBehavior, Observations, ObservedBase, ObservedFile, ObservedGpuCode,
    ObservedLibraryDependencies, Origin, PrintedValue, REMOVED_BY_COMMAND, UNNAMED_LIST, UnknownCodeKind, ValueState,
};
use crate::model::package::{
    IndexSelection, ObservedPackage, PackageManager, PackageName, PackageVersion, PythonLocation, RemovedPackage,
    Requirement,
};
use crate::model::reference::ImageReference;
use crate::text::source::{SourceId, Span};

/// Reads a description; its facts refer to `source`, or to `report` if there is none.
pub fn observe_description(
    description: &ImageDescription,
    source: Option<SourceId>,
    report: Option<&str>,
) -> Observations {
    let mut reader =
        DescriptionReader { seen: Observations::new(description.source), source, report: report.map(str::to_owned) };
    reader.read_header(description);
    reader.read_base_dependents(description);
    reader.read_packages(description);
    reader.read_files(description);
    reader.read_gpu_code(description);
    reader.seen
}

/// Converts one description into observations.
struct DescriptionReader {
    seen: Observations,
    source: Option<SourceId>,
    report: Option<String>,
}

impl DescriptionReader {
    /// Adds a fact with its position in the description as the origin.
    fn add_fact(&mut self, key: FactKey, of: Option<&str>, state: ValueState<PrintedValue>, span: Span) -> FactId {
        let origin = match (self.source, &self.report) {
            (Some(source), _) => Origin::File { source, span },
            (None, report) => Origin::Report(report.clone().unwrap_or_default()),
        };
        self.seen.facts.add(key, of, state, Evidence::Leaf(vec![origin]))
    }

    /// Adds a fact whose value is a text.
    fn add_text_fact(&mut self, key: FactKey, of: Option<&str>, value: &str, span: Span) -> FactId {
        self.add_fact(key, of, ValueState::Known(PrintedValue::Text(value.to_owned())), span)
    }

    /// Reads base, platforms, CUDA runtime, entrypoint, completeness and environment.
    fn read_header(&mut self, description: &ImageDescription) {
        if let Some(base) = &description.base {
            self.seen.base = if base.value == "scratch" {
                ObservedBase::Scratch(self.add_text_fact(FactKey::Base, None, &base.value, base.span))
            } else {
                match ImageReference::parse(&base.value) {
                    Ok(reference) => {
                        ObservedBase::Image(reference, self.add_text_fact(FactKey::Base, None, &base.value, base.span))
                    }
                    Err(error) => {
                        let why = Cause::NotAnImage { error: error.to_string() };
                        let fact = self.add_fact(FactKey::Base, None, ValueState::Unknown(why.clone()), base.span);
                        ObservedBase::Unresolved(why, fact)
                    }
                }
            };
        }
        if let Some(base) = &description.base_unknown {
            let UnknownBase { reason, supply, repository } = &base.value;
            let supply = supply.clone().unwrap_or_else(|| SET_BASE.to_owned());
            let why = Cause::recorded(reason.as_str(), supply);
            let fact = self.add_fact(FactKey::Base, None, ValueState::Unknown(why.clone()), base.span);
            self.seen.base = ObservedBase::Unresolved(why, fact);
            self.seen.base_repository.clone_from(repository);
        }
        self.seen.base_env = !description.from_scratch;
        self.seen.base_changes.builds_for_gpus = description.builds_for_gpus;
        self.seen.base_changes.copies_unread_images = description.copies_unread_images;
        self.seen.as_of = description.as_of.as_ref().map(|day| day.value);
        if let Some(span) = description.platforms.iter().map(|platform| platform.span).reduce(Span::cover) {
            let list: Vec<String> = description.platforms.iter().map(|platform| platform.value.clone()).collect();
            let fact = self.add_fact(FactKey::Platforms, None, ValueState::Known(PrintedValue::from(&list)), span);
            self.seen.platforms = Some((list, fact));
        }
        if let Some(cuda) = &description.cuda_runtime {
            let fact = self.add_text_fact(FactKey::CudaRuntime, None, &cuda.value.to_string(), cuda.span);
            self.seen.cuda_runtime = Some((cuda.value, fact));
        }
        self.read_start_arguments(description);
        if let Some(changes) = &description.tag_now {
            let fact = self.add_fact(
                FactKey::TagNow,
                None,
                ValueState::Known(PrintedValue::from(&changes.value)),
                changes.span,
            );
            self.seen.tag_now = Some((changes.value.clone(), fact));
        }
        for family in &description.complete {
            match family.value {
                ContentCategory::Env => self.seen.complete.env = true,
                ContentCategory::Packages => self.seen.complete.packages = true,
                ContentCategory::Files => self.seen.complete.files = true,
                ContentCategory::Code => self.seen.complete.code = true,
                ContentCategory::Libraries => self.seen.complete.libraries = true,
            }
        }
        if let Some(span) = description.complete.iter().map(|family| family.span).reduce(Span::cover) {
            let list: Vec<String> = description.complete.iter().map(|one| one.value.as_str().to_owned()).collect();
            self.seen.complete_by =
                Some(self.add_fact(FactKey::Complete, None, ValueState::Known(PrintedValue::List(list)), span));
        }
        for (name, value) in &description.env {
            let fact = self.add_text_fact(FactKey::Env, Some(&name.value), &value.value, value.span);
            self.seen.env.insert(name.value.clone(), (Ok(value.value.clone()), fact));
        }
    }

    /// Records the entrypoint and the command of a description.
    fn read_start_arguments(&mut self, description: &ImageDescription) {
        let mut record = |words: &Spanned<Vec<String>>, key| {
            let fact = self.add_fact(key, None, ValueState::Known(PrintedValue::from(&words.value)), words.span);
            (words.value.clone(), fact)
        };
        let entrypoint = description.entrypoint.as_ref().map(|words| record(words, FactKey::Entrypoint));
        let command = description.command.as_ref().map(|words| record(words, FactKey::Command));
        let arguments: Vec<String> = entrypoint.iter().chain(&command).flat_map(|(words, _)| words.clone()).collect();
        let fact = command.as_ref().or(entrypoint.as_ref()).map(|(_, fact)| *fact);
        self.seen.base_changes.starts = fact.map(|fact| (start_commands::commands_of_argv(&arguments), fact));
        self.seen.base_changes.start_words = arguments;
        (self.seen.entrypoint, self.seen.command) = (entrypoint, command);
    }

    /// Reads variables that are unknown or extend those of the base, and what the build removes from the base.
    fn read_base_dependents(&mut self, description: &ImageDescription) {
        for name in &description.env_unknown {
            let why = Cause::DescribedVariable { name: name.value.clone() };
            let fact = self.add_fact(FactKey::Env, Some(&name.value), ValueState::Unknown(why.clone()), name.span);
            self.seen.env.insert(name.value.clone(), (Err(why), fact));
        }
        for (name, value) in &description.env_on_base {
            let why = Cause::DescribedExtension { name: name.value.clone() };
            let span = value.unset.as_ref().map_or(value.set.span, |unset| value.set.span.cover(unset.span));
            let fact = self.add_fact(FactKey::Env, Some(&name.value), ValueState::Unknown(why.clone()), span);
            self.seen.env.insert(name.value.clone(), (Err(why), fact));
            let template = EnvTemplate {
                set: env_templates::parse_parts(&value.set.value),
                unset: value.unset.as_ref().map(|unset| unset.value.clone()),
            };
            self.seen.base_changes.env_templates.insert(name.value.clone(), template);
        }
        for what in &description.removed {
            let key = if what.value.starts_with('/') { FactKey::File } else { FactKey::Package };
            let state = ValueState::Absent { searched: REMOVED_BY_COMMAND };
            let fact = self.add_fact(key, Some(&what.value), state, what.span);
            self.seen.base_changes.removed.push((what.value.clone(), fact));
        }
    }

    /// Reads the packages, constraints and notes on unread requirement lists.
    fn read_packages(&mut self, description: &ImageDescription) {
        let names = description.packages.pip.iter().map(|(name, _)| split_extras(&name.value).0);
        let described: BTreeSet<PackageName> = names.map(PackageName::python).collect();
        for (manager, list) in package_sections(&description.packages) {
            for (name, package) in list {
                let (plain, extras) = match manager {
                    PackageManager::Pip => split_extras(&name.value),
                    PackageManager::Conda | PackageManager::System => (name.value.as_str(), Vec::new()),
                };
                let mut package = self.read_package(manager, plain, package);
                if !extras.is_empty() {
                    package.requirement.extras = extras;
                    let knowledge = Knowledge::built_in();
                    let more = possible_dependencies(&package, &described, &mut self.seen.facts, knowledge);
                    self.seen.packages.extend(more);
                }
                self.seen.packages.push(package);
            }
        }
        for (name, package) in &description.packages.bounds {
            let package = self.read_package(PackageManager::Pip, &name.value, package);
            self.seen.bounds.push(package);
        }
        restore_command_order(&description.packages, &mut self.seen);
        if let Some(reason) = &description.packages.unread {
            let why = Cause::recorded(reason.value.as_str(), ADD_TO_DESCRIPTION);
            self.add_fact(FactKey::Requirements, Some(UNNAMED_LIST), ValueState::Unknown(why), reason.span);
        }
        for number in &description.packages.unknown_wheels {
            let why = Cause::UnknownWheels;
            let fact = self.add_fact(FactKey::Requirements, Some("wheels"), ValueState::Unknown(why), number.span);
            self.seen.base_changes.unknown_wheels.push((number.value, fact));
        }
        for (behavior, commands) in &description.packages.behaviors {
            for command in commands {
                self.seen.base_changes.installers.insert(*behavior, command.value);
            }
        }
        if let Some(command) = &description.packages.by_driver {
            let what = BuildMachineProperty::Variant;
            let fact = self.add_text_fact(FactKey::BuildAsk, Some(what.name()), &command.value, command.span);
            self.seen.build_probes.push(BuildMachineQuery { what, command: command.value.clone(), fact });
        }
    }

    /// Reads one package of a section.
    fn read_package(
        &mut self,
        manager: PackageManager,
        name: &str,
        package: &Spanned<DescribedPackage>,
    ) -> ObservedPackage {
        let plain = PackageName::new(manager, name);
        let fact = self.add_text_fact(FactKey::Package, Some(&plain), version_text(&package.value), package.span);
        observe_described_package(manager, plain, &package.value, self.seen.depth, fact)
    }

    /// Reads the files with their links, texts and notes.
    fn read_files(&mut self, description: &ImageDescription) {
        for (path, facts) in &description.files {
            let kind = match (&facts.link, &facts.text, &facts.elf_note) {
                (Some(link), _, _) => FileKind::Link(link.value.clone()),
                (None, Some(text), _) => FileKind::Text(text.value.clone()),
                (None, None, Some(note)) => FileKind::Noted(CompatNote {
                    cuda: note.cuda.as_ref().map(|cuda| cuda.value),
                    driver: note.driver.iter().map(|branch| branch.value).collect(),
                    device: note.device.iter().map(|brand| brand.value).collect(),
                }),
                (None, None, None) => FileKind::Present,
            };
            let fact = self.add_text_fact(FactKey::File, Some(&path.value), file_kind_text(&kind), path.span);
            self.add_needed_libraries(&path.value, None, &facts.needs, &facts.opens);
            self.seen.files.insert(path.value.clone(), ObservedFile { kind, fact });
        }
    }

    /// Adds the libraries that a file needs or opens.
    fn add_needed_libraries(
        &mut self,
        file: &str,
        component: Option<&str>,
        needs: &[Spanned<String>],
        opens: &[Spanned<String>],
    ) {
        let names = |list: &[Spanned<String>]| list.iter().map(|name| name.value.clone()).collect::<Vec<_>>();
        let Some(span) = needs.iter().chain(opens).map(|name| name.span).reduce(Span::cover) else { return };
        let (needs, opens) = (names(needs), names(opens));
        let listed = ValueState::Known(PrintedValue::List(needs.iter().chain(&opens).cloned().collect()));
        let fact = self.add_fact(FactKey::FileNeeds, Some(file), listed, span);
        let component = component.map(str::to_owned);
        self.seen.needs.push(ObservedLibraryDependencies { file: file.to_owned(), component, needs, opens, fact });
    }

    /// Adds GPU code whose targets are unknown.
    fn add_unknown_code(&mut self, file: String, component: Option<String>, reason: &Spanned<String>) {
        let why = Cause::recorded(reason.value.as_str(), SET_CODE_TARGETS);
        let fact = self.add_fact(FactKey::Code, Some(&file), ValueState::Unknown(why), reason.span);
        let (sass, ptx, linkable) = (Vec::new(), Vec::new(), Vec::new());
        let (isa, runtime, unknown_kind) = (None, None, Some(UnknownCodeKind::Unread));
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
    }

    /// Reads the GPU code with its targets.
    fn read_gpu_code(&mut self, description: &ImageDescription) {
        for entry in &description.gpu_code {
            let file = entry.file.as_ref().map_or_else(|| "GPU code".to_owned(), |file| file.value.clone());
            let places = entry.sass.iter().chain(&entry.ptx).flatten().map(|target| target.span);
            let span = places.chain(entry.file.iter().map(|file| file.span)).reduce(Span::cover).unwrap_or_default();
            let component = entry.component.as_ref().map(|name| PackageName::python(&name.value).to_string());
            self.add_needed_libraries(&file, component.as_deref(), &entry.needs, &entry.opens);
            if let Some(reason) = &entry.targets_unknown {
                self.add_unknown_code(file, component, reason);
                continue;
            }
            let unknown_kind = match (&entry.sass, &entry.ptx) {
                (None, None) => continue,
                // Where all code is listed, the rest is absent.
                _ if self.seen.complete.code => None,
                (None, Some(_)) => Some(UnknownCodeKind::Sass),
                (Some(_), None) => Some(UnknownCodeKind::Ptx),
                (Some(_), Some(_)) => None,
            };
            let (sass, ptx) = (entry.sass.as_deref().unwrap_or_default(), entry.ptx.as_deref().unwrap_or_default());
            let targets = |list: &[Spanned<_>]| list.iter().map(|target| target.value).collect::<Vec<_>>();
            let (sass, ptx) = (targets(sass), targets(ptx));
            let printed: Vec<String> = sass
                .iter()
                .map(|target: &CodeTarget| format!("sm_{}", target.number()))
                .chain(ptx.iter().map(|target: &CodeTarget| format!("compute_{}", target.number())))
                .collect();
            let fact = self.add_fact(FactKey::Code, Some(&file), ValueState::Known(PrintedValue::List(printed)), span);
            let linkable = entry.linkable.iter().map(|target| target.value).collect();
            let isa = entry.ptx_isa.as_ref().map(|isa| isa.value);
            let count = entry.containers.as_ref().map_or(1, |count| count.value as usize);
            let runtime = None;
            self.seen.code.push(ObservedGpuCode {
                file,
                component,
                sass,
                ptx,
                linkable,
                isa,
                count,
                unknown_kind,
                runtime,
                fact,
            });
        }
    }
}

/// Returns a text for the kind of a file: the target of a link, the content of a text file, else a phrase.
fn file_kind_text(kind: &FileKind) -> &str {
    match kind {
        FileKind::Present => "present",
        FileKind::NoLibrary => "no library",
        FileKind::Noted(_) => "a library with a forward compatibility note",
        FileKind::Link(target) | FileKind::Text(target) => target,
    }
}

/// Converts observations into a description, as `describe` prints it and reports carry it.
pub fn to_description(seen: &Observations) -> ImageDescription {
    let text = |text: &str| Spanned::without_span(text.to_owned());
    let base_unknown = match &seen.base {
        ObservedBase::Unresolved(cause, _) => Some(UnknownBase {
            reason: cause.reason(),
            supply: Some(cause.remedy()),
            repository: seen.base_repository.clone(),
        }),
        ObservedBase::Image(..) | ObservedBase::Scratch(_) | ObservedBase::NotSaid => None,
    };
    let mut description = ImageDescription {
        source: seen.depth,
        base_unknown: base_unknown.map(Spanned::without_span),
        base: match &seen.base {
            ObservedBase::Image(reference, _) => Some(text(&reference.to_string())),
            ObservedBase::Scratch(_) => Some(text("scratch")),
            ObservedBase::NotSaid | ObservedBase::Unresolved(..) => None,
        },
        as_of: seen.as_of.map(Spanned::without_span),
        platforms: seen.platforms.iter().flat_map(|(list, _)| list).map(|platform| text(platform)).collect(),
        from_scratch: !seen.base_env,
        builds_for_gpus: seen.base_changes.builds_for_gpus,
        copies_unread_images: seen.base_changes.copies_unread_images,
        cuda_runtime: inferred_cuda_runtime(seen).map(Spanned::without_span),
        entrypoint: seen.entrypoint.as_ref().map(|(words, _)| Spanned::without_span(words.clone())),
        command: seen.command.as_ref().map(|(words, _)| Spanned::without_span(words.clone())),
        tag_now: seen.tag_now.as_ref().map(|(changes, _)| Spanned::without_span(changes.clone())),
        ..ImageDescription::default()
    };
    for (whole, family) in [
        (seen.complete.env, ContentCategory::Env),
        (seen.complete.packages, ContentCategory::Packages),
        (seen.complete.files, ContentCategory::Files),
        (seen.complete.code, ContentCategory::Code),
        (seen.complete.libraries && seen.depth != InspectionDepth::Layers, ContentCategory::Libraries),
    ] {
        if whole {
            description.complete.push(Spanned::without_span(family));
        }
    }
    for (name, (value, _)) in &seen.env {
        match (value, seen.base_changes.env_templates.get(name)) {
            (Ok(value), _) => description.env.push((text(name), text(value))),
            (Err(_), Some(template)) => {
                let set = text(&env_templates::format_parts(&template.set));
                let unset = template.unset.as_deref().map(text);
                description.env_on_base.push((text(name), DescribedEnvTemplate { set, unset }));
            }
            (Err(_), None) => description.env_unknown.push(text(name)),
        }
    }
    description.removed = seen.base_changes.removed.iter().map(|(what, _)| text(what)).collect();
    description.packages = describe_packages(seen, Knowledge::built_in());
    for (path, file) in &seen.files {
        let mut facts = DescribedFile::default();
        match &file.kind {
            FileKind::Present => {}
            FileKind::NoLibrary => continue,
            FileKind::Link(target) => facts.link = Some(text(target)),
            FileKind::Text(content) => facts.text = Some(text(content)),
            FileKind::Noted(note) => {
                facts.elf_note = Some(WrittenNote {
                    cuda: note.cuda.map(Spanned::without_span),
                    driver: note.driver.iter().copied().map(Spanned::without_span).collect(),
                    device: note.device.iter().copied().map(Spanned::without_span).collect(),
                });
            }
        }
        description.files.push((text(path), facts));
    }
    for code in &seen.code {
        let unknown_reason = match &seen.facts.get(code.fact).state {
            ValueState::Unknown(why) => Some(text(&why.reason())),
            ValueState::Known(_) | ValueState::Absent { .. } => None,
        };
        if unknown_reason.is_some() || code.unknown_kind == Some(UnknownCodeKind::Unread) {
            let (file, component) = (Some(text(&code.file)), code.component.as_deref().map(text));
            description.gpu_code.extend(unknown_reason.map(|reason| DescribedGpuCode {
                file,
                component,
                targets_unknown: Some(reason),
                ..DescribedGpuCode::default()
            }));
            continue;
        }
        description.gpu_code.push(DescribedGpuCode {
            file: Some(text(&code.file)),
            component: code.component.as_deref().map(text),
            sass: listed_targets(&code.sass, UnknownCodeKind::Sass, code.unknown_kind),
            ptx: listed_targets(&code.ptx, UnknownCodeKind::Ptx, code.unknown_kind),
            linkable: code.linkable.iter().copied().map(Spanned::without_span).collect(),
            ptx_isa: code.isa.map(Spanned::without_span),
            containers: u32::try_from(code.count).ok().filter(|count| *count != 1).map(Spanned::without_span),
            ..DescribedGpuCode::default()
        });
    }
    for dependencies in seen.needs.iter().filter(|entry| !entry.needs.is_empty() || !entry.opens.is_empty()) {
        write_needed_libraries(&mut description, dependencies);
    }
    description
}

/// Returns the CUDA runtime of the image's own code: observed, else implied by the only runtime library that the code
/// needs.
fn inferred_cuda_runtime(seen: &Observations) -> Option<CudaVersion> {
    let own = || seen.code.iter().filter(|code| code.component.is_none());
    let silent = own().all(|code| code.isa.is_none()) && !seen.env.contains_key("CUDA_VERSION");
    let sonames: BTreeSet<&str> = own().filter_map(|code| code.runtime.as_deref()).collect();
    let only_soname = sonames.first().filter(|_| silent && sonames.len() == 1);
    let implied = only_soname.and_then(|soname| Knowledge::built_in().cuda_of_runtime(soname));
    seen.cuda_runtime.map(|(cuda, _)| cuda).or(implied)
}

/// Returns a list of targets, or `None` if nothing is known of targets of this kind.
fn listed_targets(
    targets: &[CodeTarget],
    kind: UnknownCodeKind,
    unknown_kind: Option<UnknownCodeKind>,
) -> Option<Vec<Spanned<CodeTarget>>> {
    (unknown_kind != Some(kind)).then(|| targets.iter().copied().map(Spanned::without_span).collect())
}

/// Writes the libraries that a file needs into its existing entry, or into a new one.
fn write_needed_libraries(description: &mut ImageDescription, dependencies: &ObservedLibraryDependencies) {
    let names = |list: &[String]| list.iter().cloned().map(Spanned::without_span).collect::<Vec<_>>();
    let (needs, opens) = (names(&dependencies.needs), names(&dependencies.opens));
    let file = description
        .files
        .iter_mut()
        .find(|(path, _)| path.value == dependencies.file && dependencies.component.is_none());
    if let Some((_, facts)) = file {
        (facts.needs, facts.opens) = (needs, opens);
        return;
    }
    let of = |code: &DescribedGpuCode| {
        let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.value.clone());
        text(&code.file).as_deref() == Some(&dependencies.file) && text(&code.component) == dependencies.component
    };
    match description.gpu_code.iter_mut().find(|code| of(code) && code.needs.is_empty() && code.opens.is_empty()) {
        Some(code) => (code.needs, code.opens) = (needs, opens),
        None => description.gpu_code.push(DescribedGpuCode {
            file: Some(Spanned::without_span(dependencies.file.clone())),
            component: dependencies.component.clone().map(Spanned::without_span),
            needs,
            opens,
            ..DescribedGpuCode::default()
        }),
    }
}

/// The package managers that a description covers.
const MANAGERS: [PackageManager; 3] = [PackageManager::Pip, PackageManager::Conda, PackageManager::System];

/// Returns the sections of a description by package manager.
fn package_sections(packages: &DescribedPackages) -> [(PackageManager, &[NamedEntry<Spanned<DescribedPackage>>]); 3] {
    [
        (PackageManager::Pip, &packages.pip),
        (PackageManager::Conda, &packages.conda),
        (PackageManager::System, &packages.apt),
    ]
}

/// Splits a name as pip takes it into the plain name and the extras in brackets: `jax[cuda12]`.
fn split_extras(name: &str) -> (&str, Vec<PackageName>) {
    let Some((plain, rest)) = name.split_once('[') else { return (name, Vec::new()) };
    let list = rest.split(']').next().unwrap_or_default();
    (
        plain.trim_end(),
        list.split(',').map(str::trim).filter(|extra| !extra.is_empty()).map(PackageName::python).collect(),
    )
}

/// Returns the version of a described package, `*` if there is none.
pub(super) fn version_text(package: &DescribedPackage) -> &str {
    if package.version.is_empty() { "*" } else { &package.version }
}

/// Converts a described package into an observed one.
fn observe_described_package(
    manager: PackageManager,
    name: PackageName,
    package: &DescribedPackage,
    depth: InspectionDepth,
    fact: FactId,
) -> ObservedPackage {
    let why = |reason: &String| Cause::recorded(reason.as_str(), ADD_TO_DESCRIPTION);
    let exact = package.version.starts_with(|first: char| first.is_ascii_digit());
    let version = match &package.unknown {
        Some(reason) => PackageVersion::Unresolved(why(reason)),
        None if exact => PackageVersion::exact(package.version.as_str()),
        None => PackageVersion::range(package.version.trim_start_matches('*')),
    };
    let offered = match (&package.index_unknown, &package.index) {
        (Some(reason), _) => IndexSelection::Unknown(why(reason)),
        (None, Some(tag)) => IndexSelection::Only(tag.clone()),
        (None, None) if package.extra_index.is_empty() => IndexSelection::Default,
        (None, None) => IndexSelection::DefaultAndExtra(package.extra_index.clone()),
    };
    // In a command, `+cu118` after a range is the index that the release is chosen from.
    let (version, of_index) = match version {
        PackageVersion::Range(range) if depth == InspectionDepth::Text => match range.as_str().split_once('+') {
            Some((range, tag)) => (PackageVersion::range(range), Some(tag.to_owned())),
            None => (PackageVersion::Range(range), None),
        },
        version => (version, None),
    };
    let variant = of_index.clone().or_else(|| package.variant.clone());
    let requirement = Requirement {
        indexes: of_index.map_or(offered, IndexSelection::Only),
        prerelease: package.early.as_ref().map(why),
        // Commands keep installed packages unless an option says otherwise; a plain description lists installed ones.
        upgrade: package.upgrade || depth != InspectionDepth::Text,
        no_deps: package.no_deps,
        channel: package.channel.clone(),
        python: package.python.clone(),
        ..Requirement::new(manager, name, version)
    };
    ObservedPackage {
        requirement,
        variant,
        dependent: None,
        location: package.environment.clone().map(PythonLocation::in_separate_environment),
        conditional: package.conditional.as_ref().map(why),
        command: package.command.unwrap_or(0),
        fact,
    }
}

/// Sorts the packages by command, and restores the removals and the number of commands.
fn restore_command_order(packages: &DescribedPackages, seen: &mut Observations) {
    seen.packages.sort_by_key(|package| package.command);
    seen.other_python |= packages.other_python;
    for removal in &packages.removed_packages {
        let Some(manager) = MANAGERS.into_iter().find(|manager| manager.name() == removal.value.manager) else {
            continue;
        };
        let name = PackageName::new(manager, &removal.value.name);
        let location = removal.value.environment.clone().map(PythonLocation::in_separate_environment);
        let removed = RemovedPackage { manager, name, command: removal.value.command, location };
        let is_here = |package: &ObservedPackage| removed.shares_environment_with(package);
        seen.remove_package(removed.clone(), &is_here);
    }
    let packages = seen.packages.iter().chain(&seen.uninstalled_packages).chain(&seen.bounds);
    let commands = packages.map(|package| package.command);
    seen.commands = commands.chain(seen.removed_packages.iter().map(|removal| removal.command)).max().unwrap_or(0);
}

/// Whether the build of a package depends on the commands around it, or influences such a choice.
fn is_order_sensitive(name: &str, knowledge: Knowledge) -> bool {
    let mut dependency_rows = knowledge.gpu_dependencies_of(name);
    let mut written_over = knowledge.processor_packages().iter().filter(|row| row.same_folder);
    knowledge.framework(name).is_some_and(|row| row.variants)
        || dependency_rows.any(|row| knowledge.torch_requirements_of(row.package).next().is_some())
        || written_over.any(|row| row.distribution == name || row.instead == name)
        || knowledge.torch_requirements_of(name).next().is_some()
        || !knowledge.project_indexes(name).is_empty()
        || knowledge.library_wheel(name).is_some()
}

/// Whether a behavior matters only to packages that follow the torch which is installed before them.
const fn matters_to_companions(behavior: InstallerBehavior) -> bool {
    matches!(behavior, InstallerBehavior::InstallsUnknown | InstallerBehavior::KeepsInstalled)
}

/// Converts observed packages into the packages of a description.
fn describe_packages(seen: &Observations, knowledge: Knowledge) -> DescribedPackages {
    let chosen = |package: &&ObservedPackage| is_order_sensitive(&package.requirement.name, knowledge);
    let commands: BTreeSet<u32> = seen.packages.iter().filter(chosen).map(|package| package.command).collect();
    // The base image may contain any framework, and another package may install a library.
    let library = |name: &str| knowledge.library_packages().iter().any(|row| row.name == name);
    let is_listed =
        |name: &str| knowledge.framework(name).is_some() || is_order_sensitive(name, knowledge) || library(name);
    let removals = seen.removed_packages.iter().filter(|removal| is_listed(&removal.name));
    let simple = |package: &ObservedPackage| is_version_sufficient(package, seen.depth);
    // A package that is built with torch and has no exact version follows the torch that is installed before it.
    let goes_with = |package: &ObservedPackage| {
        knowledge.is_built_with_torch(&package.requirement.name) && package.requirement.version.is_range()
    };
    let open = seen.packages.iter().any(goes_with);
    let installers = &seen.base_changes.installers;
    let has_commands = |behavior| !installers.commands(behavior).is_empty();
    let around = open
        && InstallerBehavior::ALL.iter().any(|behavior| matters_to_companions(*behavior) && has_commands(*behavior));
    let ordered = commands.len() > 1
        || seen.removed_packages.iter().any(|removal| is_order_sensitive(&removal.name, knowledge))
        || !seen.bounds.is_empty()
        || !seen.base_changes.unknown_wheels.is_empty()
        || around
        || InstallerBehavior::ALL.iter().any(|behavior| !matters_to_companions(*behavior) && has_commands(*behavior))
        || !seen.packages.iter().filter(chosen).all(simple);
    let described = |behavior: &&InstallerBehavior| around || !matters_to_companions(**behavior);
    let behaviors = InstallerBehavior::ALL.iter().filter(described).map(|behavior| {
        let commands = installers.commands(*behavior).iter().copied().map(Spanned::without_span);
        (*behavior, commands.collect::<Vec<_>>())
    });
    let by_driver = seen.build_probes.iter().find(|ask| ask.what == BuildMachineProperty::Variant);
    let mut found = DescribedPackages {
        other_python: seen.other_python,
        by_driver: by_driver.map(|ask| spanned_text(&ask.command)),
        unread: seen.facts.iter().find_map(|(_, entry)| match (entry.key, &entry.state) {
            (FactKey::Requirements, ValueState::Unknown(why)) => Some(spanned_text(&why.reason())),
            _ => None,
        }),
        behaviors: behaviors.filter(|(_, commands)| !commands.is_empty()).collect(),
        unknown_wheels: seen
            .base_changes
            .unknown_wheels
            .iter()
            .map(|(number, _)| Spanned::without_span(*number))
            .collect(),
        ..DescribedPackages::default()
    };
    let named = |package: &ObservedPackage, described: DescribedPackage| {
        (spanned_text(&package.requirement.name), Spanned::without_span(described))
    };
    let mut log: Vec<&ObservedPackage> = seen.packages.iter().collect();
    let uninstalled = seen.uninstalled_packages.iter().filter(chosen);
    if ordered && uninstalled.clone().next().is_some() {
        log.extend(uninstalled);
        log.sort_by_key(|package| package.command);
    }
    for package in log {
        let list = match package.requirement.manager {
            PackageManager::Pip => &mut found.pip,
            PackageManager::Conda => &mut found.conda,
            PackageManager::System => &mut found.apt,
        };
        if ordered && chosen(&package) {
            list.push(named(package, full_description(package)));
            continue;
        }
        // A later install replaces an earlier one.
        list.retain(|(name, _)| package.requirement.name != name.value);
        let named_index = !matches!(package.requirement.indexes, IndexSelection::Unknown(_));
        let in_short = simple(package) || !chosen(&package) && named_index && has_known_version(package);
        // Of libraries, what they depend on would be others.
        let bare = library(&package.requirement.name) || knowledge.lacks_library_extra(&package.requirement.name, &[]);
        let in_short = in_short && !(package.requirement.no_deps && bare);
        let described = if in_short {
            DescribedPackage::with_version(version_with_variant(package))
        } else {
            full_description(package)
        };
        // Builds of a framework differ from channel to channel.
        let channel =
            package.requirement.channel.clone().filter(|_| knowledge.framework(&package.requirement.name).is_some());
        list.push(named(package, DescribedPackage { command: None, channel, ..described }));
    }
    if ordered {
        found.bounds = seen.bounds.iter().map(|package| named(package, full_description(package))).collect();
    }
    let of = |removal: &RemovedPackage| DescribedRemoval {
        manager: removal.manager.name().to_owned(),
        name: removal.name.to_string(),
        command: removal.command,
        environment: removal.location.as_ref().and_then(PythonLocation::separate_environment).map(str::to_owned),
    };
    found.removed_packages = removals.map(|removal| Spanned::without_span(of(removal))).collect();
    found
}

/// Wraps a text as a described value without a source position.
fn spanned_text(text: &str) -> Spanned<String> {
    Spanned::without_span(text.to_owned())
}

/// Whether a package is unconditional and its version is not unresolved.
fn has_known_version(package: &ObservedPackage) -> bool {
    package.conditional.is_none() && !matches!(package.requirement.version, PackageVersion::Unresolved(_))
}

/// Whether the version of a package, with its build tag, describes it completely.
fn is_version_sufficient(package: &ObservedPackage, depth: InspectionDepth) -> bool {
    let local = package.requirement.version.local().is_some();
    let one_index = match (&package.variant, &package.requirement.indexes) {
        (None, IndexSelection::Default) => true,
        (Some(variant), IndexSelection::Only(tag)) => variant == tag,
        _ => false,
    };
    let known = match &package.requirement.version {
        PackageVersion::Range(_) if depth == InspectionDepth::Text => one_index && package.requirement.python.is_none(),
        PackageVersion::Exact(_) | PackageVersion::Range(_) => true,
        PackageVersion::Unresolved(_) => false,
    };
    let of_build = match (&package.variant, &package.requirement.indexes) {
        (Some(_), _) if package.requirement.manager != PackageManager::Pip => false,
        // A variant without CUDA that is present, but that no command is known to have selected.
        (Some(variant), IndexSelection::Default) => local || variant.starts_with("cu"),
        (_, IndexSelection::Default | IndexSelection::Only(_)) => true,
        // The GPU code of a wheel at an unread URL is unknown, whatever its version names.
        (_, IndexSelection::Unknown(_)) => local && !Knowledge::built_in().has_variants(&package.requirement.name),
        (_, IndexSelection::DefaultAndExtra(_)) => local,
    };
    // Its dependencies are chosen from the indexes, whatever its own version is.
    let has_other_index = (local || depth == InspectionDepth::Text && package.variant.is_none())
        && package.requirement.indexes != IndexSelection::Default;
    let pins = || Knowledge::built_in().torch_requirements_of(&package.requirement.name).next().is_some();
    known
        && of_build
        && !(has_other_index && pins())
        && package.requirement.prerelease.is_none()
        && package.conditional.is_none()
        && !((package.requirement.upgrade || package.requirement.no_deps || package.separate_environment().is_some())
            && depth == InspectionDepth::Text)
}

/// Describes a package with everything that influences which build it is.
fn full_description(package: &ObservedPackage) -> DescribedPackage {
    let (version, unknown) = match &package.requirement.version {
        PackageVersion::Exact(version) => (version.to_string(), None),
        PackageVersion::Range(range) if range.as_str().starts_with(|first: char| first.is_ascii_digit()) => {
            (format!("*{range}"), None)
        }
        PackageVersion::Range(range) => (range.to_string(), None),
        PackageVersion::Unresolved(why) => (String::new(), Some(why.reason())),
    };
    let (mut index, mut extra_index, mut index_unknown) = (None, Vec::new(), None);
    match &package.requirement.indexes {
        IndexSelection::Default => {}
        IndexSelection::Only(tag) => index = Some(tag.clone()),
        IndexSelection::DefaultAndExtra(tags) => extra_index.clone_from(tags),
        IndexSelection::Unknown(why) => index_unknown = Some(why.reason()),
    }
    DescribedPackage {
        version,
        unknown,
        conditional: package.conditional.as_ref().map(Cause::reason),
        variant: package.variant.clone(),
        index,
        extra_index,
        index_unknown,
        early: package.requirement.prerelease.as_ref().map(Cause::reason),
        upgrade: package.requirement.upgrade,
        no_deps: package.requirement.no_deps,
        channel: package.requirement.channel.clone(),
        environment: package.separate_environment().map(str::to_owned),
        python: package.requirement.python.clone(),
        command: Some(package.command),
    }
}

/// Returns the version with the variant that a command chose by its index, written as a local version.
fn version_with_variant(package: &ObservedPackage) -> String {
    match (&package.requirement.version, &package.variant) {
        (PackageVersion::Exact(version), Some(variant)) if version.local().is_none() => format!("{version}+{variant}"),
        (PackageVersion::Exact(version), _) => version.to_string(),
        (PackageVersion::Range(range), variant) => {
            let offered = match &package.requirement.indexes {
                IndexSelection::Only(tag) => Some(tag),
                IndexSelection::Default | IndexSelection::DefaultAndExtra(_) | IndexSelection::Unknown(_) => None,
            };
            let range = if range.is_any() { "*" } else { range.as_str() };
            let variant = variant.as_ref().or(offered).filter(|_| !range.contains('+'));
            variant.map_or_else(|| range.to_owned(), |variant| format!("{range}+{variant}"))
        }
        (PackageVersion::Unresolved(_), _) => "*".to_owned(),
    }
}
