//! A built image together with its Dockerfile: what was measured in the image is attributed to Dockerfile lines.
//!
//! The measured facts do not change: the line becomes an origin before the location in the image. A line is found
//! by what it requests, by its history step, or as the FROM if the base image has it; otherwise no line is given.

use std::collections::BTreeMap;

use crate::dockerfile::context::ContextReader;
use crate::dockerfile::{Dockerfile, EvaluateError, EvaluateOptions, Instruction, InstructionKind};
use crate::extract::base_images::{KnownBase, KnownBases, observe_dockerfile_and_base};
use crate::extract::dockerfile::TargetObservations;
use crate::extract::history;
use crate::extract::history::InstructionText;
use crate::model::fact::{
    Evidence, FactEntry, FactId, FactKey, Observations, ObservedBase, Origin, history_field_prefix,
};
use crate::model::note::Note;
use crate::model::package::IndexSelection;
use crate::registry::PulledImage;
use crate::text::source::SourceId;

/// Maximum number of differences that are reported one by one.
const MAX_DIFFERENCES: usize = 3;
/// Maximum length of a reported value, in characters.
const MAX_VALUE_CHARS: usize = 60;
/// Image label in which builders record the digest of the base image.
const BASE_DIGEST_LABEL: &str = "org.opencontainers.image.base.digest";

/// A Dockerfile and the inputs of its build.
#[derive(Clone, Copy)]
pub struct DockerfileBuild<'a> {
    /// Its text.
    pub source: SourceId,
    /// Its stages.
    pub dockerfile: &'a Dockerfile,
    /// Build arguments, target and platform.
    pub options: &'a EvaluateOptions,
    /// The files of its build context.
    pub build_context: &'a dyn ContextReader,
    /// What is known of base images.
    pub bases: &'a KnownBases,
}

/// Attributes the observations of an image to the Dockerfile lines that created them, and notes where image and
/// Dockerfile differ.
pub fn observe_built_image(
    recipe: DockerfileBuild<'_>,
    image: &PulledImage,
    seen: Observations,
) -> Result<TargetObservations, EvaluateError> {
    let DockerfileBuild { source, dockerfile, options, build_context, bases } = recipe;
    let (TargetObservations { seen: declared, stage, stages, mut notes, .. }, known) =
        observe_dockerfile_and_base(source, dockerfile, options, build_context, bases)?;
    let chain = stages.iter().filter_map(|stage| dockerfile.stages.get(*stage));
    let numbers = chain.flat_map(|stage| &stage.instructions).copied();
    let instructions: Vec<&Instruction> = numbers
        .filter_map(|at| dockerfile.instructions.get(at))
        .filter(|one| one.kind != InstructionKind::From && !matches!(one.kind, InstructionKind::Unknown(_)))
        .collect();
    let made_by = history::match_instructions(&image.config.history, &instructions);
    let base_layers = known.map_or(0, |known| shared_base_layers(known, image));
    let first = made_by.iter().position(Option::is_some);
    let strange = history::unmatched_steps(&image.config.history, &instructions, &made_by);
    let lines = LineAttribution {
        source,
        declared: &declared,
        image,
        instructions,
        made_by,
        unmatched_steps: strange,
        first,
        base_layers,
    };
    lines.note_differences(known, &mut notes);
    let mut seen = seen;
    lines.mark_chosen_builds(&mut seen);
    lines.attribute_facts(&mut seen);
    Ok(TargetObservations { seen, stage, stages, notes, of_platform: true })
}

/// Counts the layers at the bottom of the image that are those of the base; zero unless all of them are there.
fn shared_base_layers(known: &KnownBase, image: &PulledImage) -> usize {
    let own = image.config.layers.iter().map(|layer| layer.diff_id.as_deref());
    let same = known.layers.iter().map(|layer| Some(layer.as_str())).eq(own.take(known.layers.len()));
    if same { known.layers.len() } else { 0 }
}

/// What created a layer.
enum LayerCreator<'a> {
    Base,
    Line(&'a Instruction),
    /// A step that is none of the Dockerfile's.
    Other(usize),
    Nobody,
}

/// The instructions of a Dockerfile, matched with the history steps of the image.
struct LineAttribution<'a> {
    source: SourceId,
    /// The observations from the Dockerfile.
    declared: &'a Observations,
    image: &'a PulledImage,
    /// Those that make a step, in order.
    instructions: Vec<&'a Instruction>,
    /// The instruction of each step of the history.
    made_by: Vec<Option<usize>>,
    /// The words of the steps that no instruction can have created.
    unmatched_steps: BTreeMap<usize, InstructionText>,
    /// The first step that an instruction made.
    first: Option<usize>,
    /// How many layers the base has.
    base_layers: usize,
}

impl LineAttribution<'_> {
    /// Attributes each measured fact to the Dockerfile lines behind it.
    fn attribute_facts(&self, seen: &mut Observations) {
        let packages = seen.packages.iter().map(|one| (one.fact, one.requirement.name.to_string()));
        let code = seen.code.iter().filter_map(|one| Some((one.fact, one.component.clone()?)));
        let needs = seen.needs.iter().filter_map(|one| Some((one.fact, one.component.clone()?)));
        let names: BTreeMap<FactId, String> = packages.chain(code).chain(needs).collect();
        let found: Vec<(FactId, Vec<Origin>)> = seen
            .facts
            .iter()
            .map(|(id, entry)| {
                (id, self.lines_of_fact(entry, &seen.facts.origins(id), names.get(&id).map(String::as_str)))
            })
            .collect();
        for (id, lines) in found {
            seen.facts.prepend_origins(id, lines);
        }
        self.record_base(seen);
    }

    /// Marks a build as chosen if a Dockerfile line chose it and the files of the image do not by themselves show
    /// that.
    fn mark_chosen_builds(&self, seen: &mut Observations) {
        for package in seen.packages.iter_mut().filter(|package| package.requirement.indexes == IndexSelection::Default)
        {
            let declared =
                self.declared.packages.iter().rfind(|other| other.requirement.name == package.requirement.name);
            let chosen = package.variant.clone().map(IndexSelection::Only);
            if let (Some(declared), Some(chosen)) = (declared, chosen)
                && declared.requirement.indexes == chosen
            {
                package.requirement.indexes = chosen;
            }
        }
    }

    /// Records the base image that FROM names, with that line as its origin.
    fn record_base(&self, seen: &mut Observations) {
        let ObservedBase::Image(_, fact) = &self.declared.base else { return };
        let state = self.declared.facts.get(*fact).state.clone();
        seen.built_on = Some(seen.facts.add(FactKey::Base, None, state, Evidence::Leaf(self.file_origins(*fact))));
    }

    /// Returns the Dockerfile lines behind a measured fact.
    fn lines_of_fact(&self, entry: &FactEntry, origins: &[Origin], name: Option<&str>) -> Vec<Origin> {
        match entry.key {
            FactKey::Env => {
                let name = entry.subject.as_deref().unwrap_or_default();
                match self.declared.env.get(name) {
                    Some((Ok(value), _)) if self.image.config.variable(name) != Some(value) => {
                        self.last_matching_step(|step| step.sets_variable(name))
                    }
                    Some((_, fact)) => self.file_origins(*fact),
                    None => match self.foreign_steps().filter(|(_, step)| step.sets_variable(name)).last() {
                        Some((number, step)) => vec![self.step_origin(number, step)],
                        None => self.base_origins(),
                    },
                }
            }
            FactKey::Entrypoint => match &self.declared.entrypoint {
                Some((words, _)) if self.has_other_entrypoint(words) => {
                    self.last_matching_step(|step| step.kind == InstructionKind::Entrypoint)
                }
                Some((_, fact)) => self.file_origins(*fact),
                None => match self.instructions.iter().rfind(|one| one.kind == InstructionKind::Cmd) {
                    Some(last) => vec![self.line_origin(last)],
                    None => self.base_origins(),
                },
            },
            FactKey::Platforms => self
                .declared
                .platforms
                .as_ref()
                .map_or_else(|| self.base_origins(), |(_, fact)| self.file_origins(*fact)),
            _ => {
                origins.iter().find_map(|origin| self.layer_creator(origin)).map_or_else(Vec::new, |made| match made {
                    LayerCreator::Base => self.base_origins(),
                    LayerCreator::Line(line) => self.package_origins(name, line),
                    // A layer records the step that made it.
                    LayerCreator::Other(_) if origins.iter().any(|origin| matches!(origin, Origin::Layer { .. })) => {
                        Vec::new()
                    }
                    LayerCreator::Other(number) => {
                        self.parsed_step(number).map(|step| self.step_origin(number, &step)).into_iter().collect()
                    }
                    LayerCreator::Nobody => self.last_package_request(name).unwrap_or_default(),
                })
            }
        }
    }

    /// Returns what created the layer in which something was read, or the history step that an origin names.
    fn layer_creator(&self, origin: &Origin) -> Option<LayerCreator<'_>> {
        let (layer, step) = match origin {
            Origin::Layer { digest, step, .. } => {
                let layer = self.image.config.layers.iter().position(|layer| layer.digest == *digest);
                (layer, step.and_then(|step| usize::try_from(step).ok()))
            }
            Origin::Config { field, .. } => {
                let number = field.strip_prefix("history[")?.strip_suffix(']')?;
                (None, number.parse().ok())
            }
            Origin::Report(_) => (None, None),
            Origin::File { .. } | Origin::Option(_) => return None,
        };
        if layer.is_some_and(|layer| layer < self.base_layers) || self.instructions.is_empty() {
            return Some(LayerCreator::Base);
        }
        let Some(step) = step else { return Some(LayerCreator::Nobody) };
        let line = self.made_by.get(step).copied().flatten().and_then(|at| self.instructions.get(at));
        Some(match line {
            Some(line) => LayerCreator::Line(line),
            None if self.base_layers == 0 && self.first.is_some_and(|first| step < first) => LayerCreator::Base,
            None if self.unmatched_steps.contains_key(&step) => LayerCreator::Other(step),
            None => LayerCreator::Nobody,
        })
    }

    /// Returns a history step as an origin.
    fn step_origin(&self, number: usize, step: &InstructionText) -> Origin {
        let field = format!(
            "{}{}",
            history_field_prefix(number),
            shorten_value(&format!("{} {}", step.kind.keyword(), step.text))
        );
        Origin::Config { digest: self.image.config_digest.clone(), field }
    }

    /// Returns the origin of the last history step that satisfies a condition.
    fn last_matching_step(&self, holds: impl Fn(&InstructionText) -> bool) -> Vec<Origin> {
        let numbers = (0..self.image.config.history.len()).rev();
        let mut steps = numbers.filter_map(|number| Some((number, self.parsed_step(number)?)));
        steps.find(|(_, step)| holds(step)).map(|(number, step)| self.step_origin(number, &step)).into_iter().collect()
    }

    /// Whether the image has another entrypoint than the last ENTRYPOINT instruction, if that is a JSON list.
    fn has_other_entrypoint(&self, words: &[String]) -> bool {
        let last = self.instructions.iter().rfind(|one| one.kind == InstructionKind::Entrypoint);
        last.is_some_and(|last| last.json.is_some()) && self.image.config.entrypoint != words
    }

    /// Returns the parsed words of a history step.
    fn parsed_step(&self, number: usize) -> Option<InstructionText> {
        history::text_of_step(&self.image.config.history.get(number)?.created_by)
    }

    /// Returns the steps after the base that no instruction created, among those that add files or variables.
    fn foreign_steps(&self) -> impl Iterator<Item = (usize, &InstructionText)> {
        let brings = |kind: &InstructionKind| {
            matches!(kind, InstructionKind::Run | InstructionKind::Copy | InstructionKind::Add)
        };
        // A variable is easily set by a base as well.
        let steps = self.image.config.history.iter().zip(&self.made_by);
        let first = steps.into_iter().position(|(step, line)| {
            let line = line.and_then(|line| self.instructions.get(line));
            line.is_some_and(|line| brings(&line.kind) && history::is_certain_match(step, line))
        });
        let of_base = self.base_layers.checked_sub(1).and_then(|last| self.image.config.layers.get(last)?.history);
        let from = first.max(of_base).map_or(usize::MAX, |last| last + 1);
        let behind = self.unmatched_steps.range(from..).map(|(number, step)| (*number, step));
        // Steps without a layer behind the base's last one may be the base's own.
        let of_line = move |number: &usize| first.is_some_and(|first| *number > first);
        behind
            .filter(move |(number, step)| brings(&step.kind) || (step.kind == InstructionKind::Env && of_line(number)))
    }

    /// Returns where a line, or a line that it copies from, requests a package; else the line itself.
    fn package_origins(&self, name: Option<&str>, line: &Instruction) -> Vec<Origin> {
        let inside = |origin: &Origin| {
            matches!(origin, Origin::File { source, span }
                if *source == self.source && line.span.start <= span.start && span.end <= line.span.end)
        };
        let of_line = self.package_requests(name).find(|origins| origins.iter().any(inside));
        match of_line {
            Some(origins) => origins,
            None if line.kind == InstructionKind::Run => vec![self.line_origin(line)],
            None => self.last_package_request(name).into_iter().flatten().chain([self.line_origin(line)]).collect(),
        }
    }

    /// Returns the last line that requests a package.
    fn last_package_request(&self, name: Option<&str>) -> Option<Vec<Origin>> {
        self.package_requests(name).next()
    }

    /// Returns where a package is requested, the last line first.
    fn package_requests(&self, name: Option<&str>) -> impl Iterator<Item = Vec<Origin>> {
        let of =
            self.declared.packages.iter().rev().filter(move |package| name == Some(package.requirement.name.as_str()));
        of.map(|package| self.file_origins(package.fact)).filter(|origins| !origins.is_empty())
    }

    /// Returns the origins of a Dockerfile fact that are in files.
    fn file_origins(&self, fact: FactId) -> Vec<Origin> {
        let mut origins = self.declared.facts.origins(fact);
        origins.retain(|origin| matches!(origin, Origin::File { .. }));
        origins
    }

    /// Returns the line of an instruction as an origin.
    fn line_origin(&self, instruction: &Instruction) -> Origin {
        Origin::File { source: self.source, span: instruction.span }
    }

    /// Returns the line that names the base image.
    fn base_origins(&self) -> Vec<Origin> {
        match &self.declared.base {
            ObservedBase::Image(_, fact) | ObservedBase::Scratch(fact) | ObservedBase::Unresolved(_, fact) => {
                self.file_origins(*fact)
            }
            ObservedBase::NotSaid => Vec::new(),
        }
    }

    /// Notes where the image differs from the Dockerfile.
    fn note_differences(&self, known: Option<&KnownBase>, notes: &mut Vec<Note>) {
        let mut found: Vec<String> = Vec::new();
        let mut others = self.foreign_steps();
        if let Some((_, step)) = others.next() {
            let more = others.count();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let text = format!("{} {}", step.kind.keyword(), step.text);
            found.push(format!("the image has a step that is not in the Dockerfile: `{}`{more}", shorten_value(&text)));
        }
        for (name, (value, _)) in &self.declared.env {
            let Ok(value) = value else { continue };
            match self.image.config.variable(name) {
                Some(own) if own == value => {}
                Some(own) => found.push(format!(
                    "{name} is `{}` in the image and `{}` in the Dockerfile",
                    shorten_value(own),
                    shorten_value(value)
                )),
                None => found
                    .push(format!("{name} is not set in the image and `{}` in the Dockerfile", shorten_value(value))),
            }
        }
        let named = match &self.declared.base {
            ObservedBase::Image(reference, _) => reference.digest(),
            _ => None,
        };
        let label_digest = self.image.config.labels.get(BASE_DIGEST_LABEL).map(String::as_str);
        if let (Some(named), Some(label_digest)) = (named, label_digest)
            && named != label_digest
        {
            found.push(format!("its base image is {label_digest}, and FROM names {named}"));
        }
        if known.is_some_and(|known| !known.layers.is_empty()) && self.base_layers == 0 {
            found.push("it does not start with the layers of the current base image".to_owned());
        }
        let runs = || self.instructions.iter().enumerate().filter(|(_, one)| one.kind == InstructionKind::Run);
        let without = runs().filter(|(at, _)| !self.made_by.contains(&Some(*at))).count();
        if self.first.is_none() && !self.instructions.is_empty() {
            let why = "so only the names of variables and packages identify lines";
            notes.push(format!("no step in the history of the image comes from the Dockerfile, {why}").into());
        } else if without > 0 {
            found.push(format!("{without} of {} RUN lines have no step in its history", runs().count()));
        }
        if found.is_empty() {
            return;
        }
        let more = found.len().saturating_sub(MAX_DIFFERENCES);
        found.truncate(MAX_DIFFERENCES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let list = found.join("; ");
        notes.push(format!("the image was not built from this version of the Dockerfile: {list}{more}").into());
    }
}

/// Returns a text, shortened to the maximum length of a reported value.
fn shorten_value(text: &str) -> String {
    let head: String = text.chars().take(MAX_VALUE_CHARS).collect();
    if head.len() < text.len() { format!("{head}...") } else { head }
}
