//! Observations from the target stage of a Dockerfile.

use crate::dockerfile::context::ContextReader;
use crate::dockerfile::{
    BaseKind, Dockerfile, EnvAssignment, EvaluateError, EvaluateOptions, EvaluatedBase, EvaluatedTarget, ExpandedText,
    literal_prefix,
};
use crate::extract::active_python::ProgramStart;
use crate::extract::command_effects::UnknownAdditions;
use crate::extract::command_reader::StageState;
use crate::extract::stage_copies::StageEvaluator;
use crate::extract::stage_files::{StageFileTree, StageLookups};
use crate::extract::start_commands::{EntrypointAndCmd, StartInstruction};
use crate::extract::target_reader::TargetReader;
use crate::extract::test_stages::{LOADER_PATH, ShippedLoaderPath};
use crate::extract::{
    active_python, arch_lists, command_effects, env_templates, loader_files, python_search_path, removed_compat,
};
use crate::model::cause::Cause;
use crate::model::fact::{
    Evidence, FactId, FactKey, FileKind, InspectionDepth, Observations, ObservedBase, Origin, PrintedValue, ValueState,
};
use crate::model::note::Note;
use crate::model::reference::ImageReference;
use crate::text::source::{SourceId, Span};

/// Observations of one target of a Dockerfile, with its stages and the notes for the report.
#[derive(Clone, Debug)]
pub struct TargetObservations {
    /// The observations.
    pub seen: Observations,
    /// Name of the stage that ships, where it has one.
    pub stage: Option<String>,
    /// Numbers of the stages that it is built from, itself last.
    pub stages: Vec<usize>,
    /// What was left out.
    pub notes: Vec<Note>,
    /// Whether the observations may differ on another platform; if not, they hold on every platform.
    pub of_platform: bool,
}

/// Reads one target for one platform; `build_context` holds the files of its build context.
pub fn observe_dockerfile(
    source: SourceId,
    dockerfile: &Dockerfile,
    options: &EvaluateOptions,
    build_context: &dyn ContextReader,
) -> Result<TargetObservations, EvaluateError> {
    let evaluated = dockerfile.evaluate(options)?;
    let mut reader = TargetReader {
        source,
        dockerfile,
        options,
        build_context,
        seen: Observations::new(InspectionDepth::Text),
        notes: Vec::new(),
        state: StageState::default(),
        lookups: StageLookups::default(),
    };
    let mut stages = StageEvaluator::new(dockerfile, options);
    let flattened = stages.flattened_base(&evaluated);
    reader.read_base(
        flattened.as_ref().map_or(&evaluated.base, |(base, _)| base),
        flattened.as_ref().map(|(_, copy)| copy.span),
    );
    let root = evaluated.chain.first().and_then(|stage| dockerfile.stages.get(*stage));
    reader.seen.base_repository = root.and_then(|stage| base_repository(stage.base.text()));
    reader.read_platforms(&evaluated, options);
    reader.read_environment(dockerfile, &evaluated);
    reader.read_loader_directories(&evaluated);
    stages.read_target(&mut reader, &evaluated);
    reader.seen.complete.libraries = command_effects::has_only_plain_copies(&evaluated)
        && reader.state.unknown_additions == UnknownAdditions::Nothing;
    let closed = command_effects::has_only_plain_copies(&evaluated)
        && reader.state.unknown_additions != UnknownAdditions::Files
        && !reader.state.other_toolkit;
    if closed && arch_lists::base_lacks_toolkit(&evaluated.base, options.knowledge) {
        loader_files::remove_dangling_stub_links(&mut reader.seen);
    }
    removed_compat::record_removals(&evaluated, source, &mut reader.seen);
    reader.read_entrypoint(dockerfile, &evaluated);
    reader.drop_unused_environments(&evaluated);
    python_search_path::mark_unreachable_packages(&mut reader, &evaluated);
    reader.note_other_targets(dockerfile, &evaluated);
    let shipped = evaluated.chain.last().and_then(|index| dockerfile.stages.get(*index));
    let stage = shipped.and_then(|stage| stage.name.clone());
    let of_platform = reader.lookups.machine.get() || dockerfile.may_use_platform_arguments();
    Ok(TargetObservations { seen: reader.seen, stage, stages: evaluated.chain, notes: reader.notes, of_platform })
}

/// Returns the repository of a base if only its tag or digest is a variable or a template marker: `nvidia/cuda:$TAG`,
/// `nvidia/cuda:{{ tag }}`.
fn base_repository(written: &str) -> Option<String> {
    let name = literal_prefix(written.trim_start_matches('"'))?;
    let name = name.strip_suffix('@').or_else(|| Some(name.rsplit_once(':')?.0))?;
    ImageReference::parse(name).ok().map(|image| image.familiar_name())
}

impl TargetReader<'_> {
    /// Records the base image, with the COPY that adds its files if the target copies its whole tree.
    fn read_base(&mut self, base: &EvaluatedBase, copy: Option<Span>) {
        let evidence = self.leaf_evidence(std::iter::once(base.span).chain(base.sources.iter().copied()).chain(copy));
        self.seen.base_env = copy.is_none();
        let text = base.text.known_text().unwrap_or_default().to_owned();
        let facts = &mut self.seen.facts;
        self.seen.base = match &base.kind {
            BaseKind::Scratch => ObservedBase::Scratch(facts.add(FactKey::Base, None, known_text("scratch"), evidence)),
            BaseKind::Image(reference) if reference.is_build_target() => {
                let stage = self.dockerfile.stages.iter().find(|stage| stage.base_span == base.span);
                let written = stage.map_or("", |stage| stage.base.text());
                let why = Cause::MadeForOtherPlatform { name: written.to_string() };
                ObservedBase::Unresolved(why, facts.add(FactKey::Base, None, known_text(written), evidence))
            }
            BaseKind::Image(reference) => {
                ObservedBase::Image(reference.clone(), facts.add(FactKey::Base, None, known_text(&text), evidence))
            }
            BaseKind::Invalid(reason) => {
                let why = Cause::NotAnImageReference { text: text.clone(), error: reason.clone() };
                ObservedBase::Unresolved(
                    why.clone(),
                    facts.add(FactKey::Base, None, ValueState::Unknown(why), evidence),
                )
            }
            BaseKind::Unresolved => {
                let why = unresolved_reason(&base.text);
                ObservedBase::Unresolved(
                    why.clone(),
                    facts.add(FactKey::Base, None, ValueState::Unknown(why), evidence),
                )
            }
        };
    }

    /// Records the platforms that FROM fixes, else those of the `--platform` option.
    fn read_platforms(&mut self, evaluated: &EvaluatedTarget, options: &EvaluateOptions) {
        let (list, evidence) = match &evaluated.platform {
            Some((ExpandedText::Known { value, .. }, span)) => (vec![value.clone()], self.leaf_evidence([*span])),
            _ if options.platforms.is_empty() => return,
            _ => (options.platforms.clone(), Evidence::Leaf(vec![Origin::Option("--platform")])),
        };
        let fact =
            self.seen.facts.add(FactKey::Platforms, None, ValueState::Known(PrintedValue::from(&list)), evidence);
        self.seen.platforms = Some((list, fact));
    }

    /// Notes the final stages of the file that are not checked.
    fn note_other_targets(&mut self, dockerfile: &Dockerfile, evaluated: &EvaluatedTarget) {
        // A FROM that names a stage through a variable builds on it too.
        let built_on = |stage: &usize| evaluated.chain.contains(stage);
        for stage in dockerfile.leaf_stages().into_iter().filter(|stage| !built_on(stage)) {
            let Some(stage) = dockerfile.stages.get(stage) else { continue };
            let name = stage.name.clone().unwrap_or_else(|| stage.index.to_string());
            self.notes.push(format!("stage `{name}` is not checked; select it with `--target {name}`").into());
        }
    }

    /// Records the environment variables of the target.
    fn read_environment(&mut self, dockerfile: &Dockerfile, evaluated: &EvaluatedTarget) {
        let spared = ShippedLoaderPath::from_dockerfile(dockerfile, self.options, evaluated);
        let mut templates = env_templates::find_env_templates(dockerfile, self.options, evaluated);
        let (mut sets, mut of_loader): (Vec<&EnvAssignment>, Vec<&EnvAssignment>) =
            evaluated.env.iter().partition(|set| set.name != LOADER_PATH);
        if let Some(spared) = &spared {
            of_loader = spared.env.iter().collect();
            templates.remove(LOADER_PATH);
            templates.extend(spared.templates.clone());
            self.notes.push(spared.note.clone().into());
        }
        self.seen.base_changes.env_templates = templates;
        sets.extend(of_loader);
        for set in sets {
            let evidence = self.leaf_evidence(std::iter::once(set.value_span).chain(set.origins.iter().copied()));
            let (value, state) = match &set.value {
                ExpandedText::Known { value, .. } => (Ok(value.clone()), known_text(value)),
                unresolved_value @ ExpandedText::Unresolved { .. } => {
                    let why = unresolved_reason(unresolved_value);
                    (Err(why.clone()), ValueState::Unknown(why))
                }
            };
            let fact = self.seen.facts.add(FactKey::Env, Some(&set.name), state, evidence);
            self.seen.env.insert(set.name.clone(), (value, fact));
        }
    }

    /// Records the copied files that name directories for the dynamic loader.
    fn read_loader_directories(&mut self, evaluated: &EvaluatedTarget) {
        let (dockerfile, options, lookups) = (self.dockerfile, self.options, &self.lookups);
        let tree = StageFileTree { dockerfile, evaluated, options, build_context: self.build_context, lookups };
        for copy in &evaluated.copies {
            for (path, text) in tree.copied_texts(copy, loader_files::is_ld_conf_path) {
                let origin = Origin::File { source: self.source, span: copy.span };
                loader_files::record_file(&mut self.seen, path, FileKind::Text(text), origin);
            }
        }
    }

    /// Records the ENTRYPOINT, and the commands that ENTRYPOINT and CMD start.
    fn read_entrypoint(&mut self, dockerfile: &Dockerfile, evaluated: &EvaluatedTarget) {
        let started = EntrypointAndCmd::from_stages(dockerfile, evaluated);
        self.seen.entrypoint = started.entrypoint.map(|start| self.record_start_arguments(start, FactKey::Entrypoint));
        let of_command = started.command.map(|start| self.record_start_arguments(start, FactKey::Command));
        let command = started.effective_command().zip(of_command.as_ref());
        self.seen.command = command.map(|(command, (_, fact))| (command.argv(), *fact));
        let fact = of_command.or_else(|| self.seen.entrypoint.clone()).map(|(_, fact)| fact);
        self.seen.base_changes.starts = fact.map(|fact| (started.commands(), fact));
        self.seen.base_changes.start_words = started.written_arguments();
    }

    /// Removes packages in Python environments that the started program does not use.
    fn drop_unused_environments(&mut self, evaluated: &EvaluatedTarget) {
        let knowledge = self.options.knowledge;
        let own_torch = match &evaluated.base.kind {
            BaseKind::Image(image) => {
                let (name, tag) = (image.familiar_name(), image.tag().unwrap_or_default());
                let row = knowledge.framework_image(&name, tag).is_some_and(|row| row.torch.is_some());
                row || knowledge.base_family(&name).is_some_and(|row| row.torch)
            }
            BaseKind::Scratch | BaseKind::Invalid(_) | BaseKind::Unresolved => false,
        };
        let programs = EntrypointAndCmd::from_stages(self.dockerfile, evaluated).programs();
        let linked_programs = &self.state.linked_programs;
        let at = ProgramStart { folder: evaluated.folder.as_ref(), programs: &programs, linked_programs };
        let notes = active_python::drop_invisible_frameworks(&mut self.seen, at, own_torch, knowledge);
        self.notes.extend(notes.into_iter().map(Note::from));
    }

    /// Records the arguments of an ENTRYPOINT or CMD as a fact.
    fn record_start_arguments(&mut self, start: StartInstruction<'_>, key: FactKey) -> (Vec<String>, FactId) {
        let words = start.written_arguments();
        let evidence =
            self.leaf_evidence(std::iter::once(start.instruction.span).chain(start.shell.map(|shell| shell.span)));
        let fact = self.seen.facts.add(key, None, ValueState::Known(PrintedValue::from(&words)), evidence);
        (words, fact)
    }
}

/// Wraps a text as the state of a known fact.
fn known_text(text: &str) -> ValueState<PrintedValue> {
    ValueState::Known(PrintedValue::Text(text.to_owned()))
}

/// Explains why a value is unresolved and how to supply it.
fn unresolved_reason(value: &ExpandedText) -> Cause {
    let (names, because) = match value {
        ExpandedText::Unresolved { names, reason } => (names.as_slice(), reason.clone()),
        ExpandedText::Known { value, .. } => (&[][..], Box::new(Cause::NotUsableHere { value: value.clone() })),
    };
    match names.first() {
        Some(name) => Cause::ArgumentNotKnown { because, name: name.clone() },
        None => Cause::TemplateNotKnown { because },
    }
}

#[cfg(test)]
mod tests {
    use super::base_repository;

    #[test]
    fn the_repository_is_known_if_only_tag_or_digest_is_unknown() {
        for (written, expected) in [
            ("nvidia/cuda:$TAG", "nvidia/cuda"),
            ("\"nvidia/cuda:${CUDA}-base\"", "nvidia/cuda"),
            ("nvidia/cuda@$DIGEST", "nvidia/cuda"),
            ("nvidia/cuda:12.{{ minor }}.1-base", "nvidia/cuda"),
            ("r.example/x/openmpi-cuda13.1:{{tag:1\\.\\d+}}", "r.example/x/openmpi-cuda13.1"),
            ("nvidia/cuda:@@CUDA@@-devel", "nvidia/cuda"),
            ("nvidia/cuda:<version>-devel", "nvidia/cuda"),
            ("r.example:5000/nvidia/cuda:{tag}", "r.example:5000/nvidia/cuda"),
        ] {
            assert_eq!(base_repository(written).as_deref(), Some(expected), "{written}");
        }
        for written in ["nvidia/cuda:12.4.1-base", "$BASE", "{{ base }}", "nvidia/$NAME:12.4.1", "cuda", ""] {
            assert_eq!(base_repository(written), None, "{written}");
        }
    }
}
