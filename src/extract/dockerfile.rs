//! What the shipped stage of a Dockerfile says.

use crate::context::Shelf;
use crate::dockerfile::BaseKind;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::EnvSet;
use crate::dockerfile::EvaluateError;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::Evaluated;
use crate::dockerfile::EvaluatedBase;
use crate::dockerfile::Resolved;
use crate::dockerfile::RunInstruction;
use crate::dockerfile::in_front_of_variables;
use crate::extract::aside;
use crate::extract::closed;
use crate::extract::closed::Beyond;
use crate::extract::copied::Stages;
use crate::extract::inherited;
use crate::extract::install;
use crate::extract::install::State as Done;
use crate::extract::interpreter;
use crate::extract::interpreter::At;
use crate::extract::linked;
use crate::extract::listed;
use crate::extract::of_tests::LOADER_PATH;
use crate::extract::of_tests::Spared;
use crate::extract::removed;
use crate::extract::started::Said;
use crate::extract::started::Started;
use crate::extract::tree::Looks;
use crate::extract::tree::Tree;
use crate::fact::BaseSeen;
use crate::fact::Depth;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::reference::ImageReference;
use crate::source::SourceId;
use crate::source::Span;

/// What was seen of a Dockerfile, with what a report says beside the facts.
#[derive(Clone, Debug)]
pub struct Target {
    /// The observations.
    pub seen: Observations,
    /// Name of the stage that ships, where it has one.
    pub stage: Option<String>,
    /// Numbers of the stages that it is built from, itself last.
    pub stages: Vec<usize>,
    /// What was left out.
    pub notes: Vec<String>,
    /// Whether another platform may make it another: where not, this is what there is to be seen on every one.
    pub of_platform: bool,
}

/// Reads one target for one platform; `shelf` holds the files of its build context.
pub fn of_dockerfile(
    source: SourceId,
    dockerfile: &Dockerfile,
    options: &EvaluateOptions,
    shelf: &dyn Shelf,
) -> Result<Target, EvaluateError> {
    let evaluated = dockerfile.evaluate(options)?;
    let mut reader = Reader {
        source,
        dockerfile,
        options,
        shelf,
        seen: Observations::new(Depth::Text),
        notes: Vec::new(),
        done: Done::default(),
        looks: Looks::default(),
    };
    let mut stages = Stages::new(dockerfile, options);
    let flattened = stages.flattened(&evaluated);
    reader.base(
        flattened.as_ref().map_or(&evaluated.base, |(base, _)| base),
        flattened.as_ref().map(|(_, copy)| copy.span),
    );
    let root = evaluated.chain.first().and_then(|stage| dockerfile.stages.get(*stage));
    reader.seen.base_repository = root.and_then(|stage| repository(stage.base.text()));
    reader.platforms(&evaluated, options);
    reader.environment(dockerfile, &evaluated);
    reader.directories(&evaluated);
    stages.read(&mut reader, &evaluated);
    reader.seen.complete.libraries = closed::is_plain(&evaluated) && reader.done.beyond == Beyond::Nothing;
    let closed = closed::is_plain(&evaluated) && reader.done.beyond != Beyond::Files && !reader.done.other_toolkit;
    if closed && listed::lacks_toolkit(&evaluated.base, options.knowledge) {
        linked::without_stubs(&mut reader.seen);
    }
    removed::read(&evaluated, source, &mut reader.seen);
    reader.entrypoint(dockerfile, &evaluated);
    reader.environments(&evaluated);
    aside::open(&mut reader, &evaluated);
    reader.other_targets(dockerfile, &evaluated);
    let shipped = evaluated.chain.last().and_then(|index| dockerfile.stages.get(*index));
    let stage = shipped.and_then(|stage| stage.name.clone());
    let of_platform = reader.looks.machine.get() || dockerfile.names_platform();
    Ok(Target { seen: reader.seen, stage, stages: evaluated.chain, notes: reader.notes, of_platform })
}

/// The repository of a base as written, where only what follows it is behind a variable or a template marker:
/// `nvidia/cuda:$TAG`, `nvidia/cuda:{{ tag }}`.
fn repository(written: &str) -> Option<String> {
    let name = in_front_of_variables(written.trim_start_matches('"'))?;
    let name = name.strip_suffix('@').or_else(|| Some(name.rsplit_once(':')?.0))?;
    ImageReference::parse(name).ok().map(|image| image.familiar())
}

/// What was read so far.
pub(super) struct Reader<'a> {
    pub(super) source: SourceId,
    dockerfile: &'a Dockerfile,
    options: &'a EvaluateOptions,
    shelf: &'a dyn Shelf,
    pub(super) seen: Observations,
    notes: Vec<String>,
    /// What the commands of the stage at hand left behind.
    pub(super) done: Done,
    /// What was looked for in other stages.
    looks: Looks,
}

impl Reader<'_> {
    fn leaf(&self, spans: impl IntoIterator<Item = Span>) -> Evidence {
        let mut origins: Vec<Origin> = Vec::new();
        for span in spans {
            let origin = Origin::File { source: self.source, span };
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        Evidence::Leaf(origins)
    }

    /// The base; with the COPY that brings its files alone, if it is one.
    fn base(&mut self, base: &EvaluatedBase, copy: Option<Span>) {
        let evidence = self.leaf(std::iter::once(base.span).chain(base.sources.iter().copied()).chain(copy));
        self.seen.base_env = copy.is_none();
        let text = base.text.known().unwrap_or_default().to_owned();
        let facts = &mut self.seen.facts;
        self.seen.base = match &base.kind {
            BaseKind::Scratch => BaseSeen::Scratch(facts.add(FactKey::Base, None, known("scratch"), evidence)),
            BaseKind::Image(reference) if reference.is_made_here() => {
                let stage = self.dockerfile.stages.iter().find(|stage| stage.base_span == base.span);
                let written = stage.map_or("", |stage| stage.base.text());
                let why = Why {
                    reason: format!("another build makes `{written}`, but not for this platform"),
                    supply: "check that build for the platforms of the pools".to_owned(),
                };
                BaseSeen::Unresolved(why, facts.add(FactKey::Base, None, known(written), evidence))
            }
            BaseKind::Image(reference) => {
                BaseSeen::Image(reference.clone(), facts.add(FactKey::Base, None, known(&text), evidence))
            }
            BaseKind::Invalid(reason) => {
                let why = Why {
                    reason: format!("`{text}` is not a valid image reference: {reason}"),
                    supply: "correct the FROM line".to_owned(),
                };
                BaseSeen::Unresolved(why.clone(), facts.add(FactKey::Base, None, State::Unknown(why), evidence))
            }
            BaseKind::Unresolved => {
                let why = unresolved(&base.text);
                BaseSeen::Unresolved(why.clone(), facts.add(FactKey::Base, None, State::Unknown(why), evidence))
            }
        };
    }

    /// The platforms that FROM fixes, else those that the build is told.
    fn platforms(&mut self, evaluated: &Evaluated, options: &EvaluateOptions) {
        let (list, evidence) = match &evaluated.platform {
            Some((Resolved::Known { value, .. }, span)) => (vec![value.clone()], self.leaf([*span])),
            _ if options.platforms.is_empty() => return,
            _ => (options.platforms.clone(), Evidence::Leaf(vec![Origin::Option("--platform")])),
        };
        let fact = self.seen.facts.add(FactKey::Platforms, None, State::Known(Value::from(&list)), evidence);
        self.seen.platforms = Some((list, fact));
    }

    /// Says once that not all of a build was followed: what the rest brings is missing evidence.
    pub(super) fn leaves_out(&mut self, reason: &str, span: Option<Span>) {
        self.done.beyond = Beyond::Files;
        let note = format!("a build installs unknown packages: {reason}");
        if self.notes.contains(&note) {
            return;
        }
        let supply = "scan the built image, or list its packages in an image description".to_owned();
        let state = State::Unknown(Why { reason: note.clone(), supply });
        let evidence = self.leaf(span);
        self.seen.facts.add(FactKey::Requirements, Some("other stages"), state, evidence);
        self.notes.push(note);
    }

    /// Notes the stages that nothing is built from and that are not judged here.
    fn other_targets(&mut self, dockerfile: &Dockerfile, evaluated: &Evaluated) {
        // A FROM that names a stage through a variable builds on it too.
        let built_on = |stage: &usize| evaluated.chain.contains(stage);
        for stage in dockerfile.leaves().into_iter().filter(|stage| !built_on(stage)) {
            let Some(stage) = dockerfile.stages.get(stage) else { continue };
            let name = stage.name.clone().unwrap_or_else(|| stage.index.to_string());
            self.notes.push(format!("stage `{name}` is not checked; select it with `--target {name}`"));
        }
    }

    fn environment(&mut self, dockerfile: &Dockerfile, evaluated: &Evaluated) {
        let spared = Spared::of(dockerfile, self.options, evaluated);
        let mut templates = inherited::templates(dockerfile, self.options, evaluated);
        let (mut sets, mut of_loader): (Vec<&EnvSet>, Vec<&EnvSet>) =
            evaluated.env.iter().partition(|set| set.name != LOADER_PATH);
        if let Some(spared) = &spared {
            of_loader = spared.env.iter().collect();
            templates.remove(LOADER_PATH);
            templates.extend(spared.templates.clone());
            self.notes.push(spared.note.clone());
        }
        self.seen.of_base.env_templates = templates;
        sets.extend(of_loader);
        for set in sets {
            let evidence = self.leaf(std::iter::once(set.value_span).chain(set.origins.iter().copied()));
            let (value, state) = match &set.value {
                Resolved::Known { value, .. } => (Ok(value.clone()), known(value)),
                unresolved_value @ Resolved::Unresolved { .. } => {
                    let why = unresolved(unresolved_value);
                    (Err(why.clone()), State::Unknown(why))
                }
            };
            let fact = self.seen.facts.add(FactKey::Env, Some(&set.name), state, evidence);
            self.seen.env.insert(set.name.clone(), (value, fact));
        }
    }

    /// Files copied into the image that name directories for the loader.
    fn directories(&mut self, evaluated: &Evaluated) {
        let (dockerfile, options, looks) = (self.dockerfile, self.options, &self.looks);
        let tree = Tree { dockerfile, evaluated, options, shelf: self.shelf, looks };
        for copy in &evaluated.copies {
            for (path, text) in tree.brought(copy, linked::names_directories) {
                let origin = Origin::File { source: self.source, span: copy.span };
                linked::read(linked::Says::Writes(vec![path], text), origin, &mut self.seen);
            }
        }
    }

    /// What some RUN instructions of a target install.
    pub(super) fn installs(&mut self, evaluated: &Evaluated, runs: &[RunInstruction]) {
        let inputs = install::Inputs {
            dockerfile: self.dockerfile,
            evaluated,
            runs,
            options: self.options,
            source: self.source,
            shelf: self.shelf,
            looks: &self.looks,
        };
        install::installs(inputs, &mut self.done, &mut self.seen, &mut self.notes);
    }

    /// What the image starts: its ENTRYPOINT, and the commands that come of that and of CMD.
    fn entrypoint(&mut self, dockerfile: &Dockerfile, evaluated: &Evaluated) {
        let started = Started::of(dockerfile, evaluated);
        self.seen.entrypoint = started.entrypoint.map(|said| self.started(said, FactKey::Entrypoint));
        let of_command = started.command.map(|said| self.started(said, FactKey::Command));
        let fact = of_command.or_else(|| self.seen.entrypoint.clone()).map(|(_, fact)| fact);
        self.seen.of_base.starts = fact.map(|fact| (started.commands(), fact));
        self.seen.of_base.start_words = started.words();
    }

    /// Leaves out what lies in environments of Python that the program does not use.
    fn environments(&mut self, evaluated: &Evaluated) {
        let knowledge = self.options.knowledge;
        let own_torch = match &evaluated.base.kind {
            BaseKind::Image(image) => {
                let (name, tag) = (image.familiar(), image.tag().unwrap_or_default());
                let row = knowledge.framework_image(&name, tag).is_some_and(|row| row.torch.is_some());
                row || knowledge.base_family(&name).is_some_and(|row| row.torch)
            }
            BaseKind::Scratch | BaseKind::Invalid(_) | BaseKind::Unresolved => false,
        };
        let programs = Started::of(self.dockerfile, evaluated).programs();
        let runs = evaluated.runs.iter().filter_map(|run| self.dockerfile.instructions.get(run.instruction));
        let links = |text: &&str| text.contains("ln ") || text.contains("update-alternatives");
        let links: Vec<&str> = runs.map(|run| run.arguments.text()).filter(links).collect();
        let at = At { folder: evaluated.folder.as_ref(), programs: &programs, links: &links };
        let notes = interpreter::choose(&mut self.seen, &self.done.homes, at, own_torch, knowledge);
        self.notes.extend(notes);
    }

    /// The words of an instruction that says what is started.
    fn started(&mut self, said: Said<'_>, key: FactKey) -> (Vec<String>, FactId) {
        let words = said.words();
        let evidence = self.leaf(std::iter::once(said.instruction.span).chain(said.shell.map(|shell| shell.span)));
        let fact = self.seen.facts.add(key, None, State::Known(Value::from(&words)), evidence);
        (words, fact)
    }
}

fn known(text: &str) -> State<Value> {
    State::Known(Value::Text(text.to_owned()))
}

fn unresolved(value: &Resolved) -> Why {
    let (names, reason) = match value {
        Resolved::Unresolved { names, reason } => (names.clone(), reason.clone()),
        Resolved::Known { value, .. } => (Vec::new(), format!("`{value}` is not usable here")),
    };
    let supply = match names.first() {
        Some(name) => format!("set it with --build-arg {name}=VALUE"),
        None => "check the file that the template generates".to_owned(),
    };
    Why { reason, supply }
}

#[cfg(test)]
mod tests {
    use super::repository;

    #[test]
    fn a_repository_is_told_where_a_variable_or_marker_stands_behind_it() {
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
            assert_eq!(repository(written).as_deref(), Some(expected), "{written}");
        }
        for written in ["nvidia/cuda:12.4.1-base", "$BASE", "{{ base }}", "nvidia/$NAME:12.4.1", "cuda", ""] {
            assert_eq!(repository(written), None, "{written}");
        }
    }
}
