//! An image beside the Dockerfile that it was built from: what was measured in the image, ascribed to the lines.
//!
//! Nothing of what was measured is changed: the line is put before the place where it was read. A line is known by what
//! it asks for, by the step of the history that it made, or as the FROM where the base brought it; else none is told.

use std::collections::BTreeMap;

use crate::context::Shelf;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::EvaluateError;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::Instruction;
use crate::dockerfile::Kind;
use crate::extract::bases::Bases;
use crate::extract::bases::KnownBase;
use crate::extract::bases::of_lines;
use crate::extract::dockerfile::Target;
use crate::extract::steps;
use crate::extract::steps::Words;
use crate::fact::BaseSeen;
use crate::fact::Entry;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::Origin;
use crate::fact::step_field;
use crate::oci::PulledImage;
use crate::source::SourceId;

/// So many differences are told by name.
const MOST_TOLD: usize = 3;
/// So many characters of a value.
const LONGEST: usize = 60;
/// Where builders write the digest of the base.
const BASE_DIGEST: &str = "org.opencontainers.image.base.digest";

/// A Dockerfile, and how it was built.
#[derive(Clone, Copy)]
pub struct Recipe<'a> {
    /// Its text.
    pub source: SourceId,
    /// Its stages.
    pub dockerfile: &'a Dockerfile,
    /// Build arguments, target and platform.
    pub options: &'a EvaluateOptions,
    /// The files of its build context.
    pub shelf: &'a dyn Shelf,
    /// What is known of base images.
    pub bases: &'a Bases,
}

/// What was seen of an image, with the lines of the Dockerfile that made it; and what in the image is not as the
/// Dockerfile says.
pub fn of_built(recipe: Recipe<'_>, image: &PulledImage, seen: Observations) -> Result<Target, EvaluateError> {
    let Recipe { source, dockerfile, options, shelf, bases } = recipe;
    let (Target { seen: said, stage, stages, mut notes, .. }, known) =
        of_lines(source, dockerfile, options, shelf, bases)?;
    let chain = stages.iter().filter_map(|stage| dockerfile.stages.get(*stage));
    let numbers = chain.flat_map(|stage| &stage.instructions).copied();
    let instructions: Vec<&Instruction> = numbers
        .filter_map(|at| dockerfile.instructions.get(at))
        .filter(|one| one.kind != Kind::From && !matches!(one.kind, Kind::Unknown(_)))
        .collect();
    let made_by = steps::made_by(&image.config.history, &instructions);
    let base_layers = known.map_or(0, |known| shared(known, image));
    let first = made_by.iter().position(Option::is_some);
    let strange = steps::strange(&image.config.history, &instructions, &made_by);
    let lines = Lines { source, said: &said, image, instructions, made_by, strange, first, base_layers };
    lines.differences(known, &mut notes);
    let mut seen = seen;
    lines.choose(&mut seen);
    lines.ascribe(&mut seen);
    Ok(Target { seen, stage, stages, notes, of_platform: true })
}

/// How many layers of the base the image has at its bottom; none where it does not have all of them.
fn shared(known: &KnownBase, image: &PulledImage) -> usize {
    let own = image.config.layers.iter().map(|layer| layer.diff_id.as_deref());
    let same = known.layers.iter().map(|layer| Some(layer.as_str())).eq(own.take(known.layers.len()));
    if same { known.layers.len() } else { 0 }
}

/// Who made a layer.
enum Maker<'a> {
    Base,
    Line(&'a Instruction),
    /// A step that is none of the Dockerfile's.
    Other(usize),
    Nobody,
}

/// The lines of a Dockerfile, and what they made.
struct Lines<'a> {
    source: SourceId,
    /// What the lines say.
    said: &'a Observations,
    image: &'a PulledImage,
    /// Those that make a step, in order.
    instructions: Vec<&'a Instruction>,
    /// The instruction of each step of the history.
    made_by: Vec<Option<usize>>,
    /// The words of the steps that no instruction can have made.
    strange: BTreeMap<usize, Words>,
    /// The first step that an instruction made.
    first: Option<usize>,
    /// How many layers the base has.
    base_layers: usize,
}

impl Lines<'_> {
    fn ascribe(&self, seen: &mut Observations) {
        let packages = seen.packages.iter().map(|one| (one.fact, one.name.clone()));
        let code = seen.code.iter().filter_map(|one| Some((one.fact, one.component.clone()?)));
        let needs = seen.needs.iter().filter_map(|one| Some((one.fact, one.component.clone()?)));
        let names: BTreeMap<FactId, String> = packages.chain(code).chain(needs).collect();
        let found: Vec<(FactId, Vec<Origin>)> = seen
            .facts
            .iter()
            .map(|(id, entry)| (id, self.of_entry(entry, &seen.facts.origins(id), names.get(&id).map(String::as_str))))
            .collect();
        for (id, lines) in found {
            seen.facts.ascribe(id, lines);
        }
        self.built_on(seen);
    }

    /// Says of a build that the files alone do not tell to be anybody's choice that a line chose it.
    fn choose(&self, seen: &mut Observations) {
        for package in seen.packages.iter_mut().filter(|package| package.offered == Offered::Default) {
            let said = self.said.packages.iter().rfind(|said| said.name == package.name);
            let chosen = package.variant.clone().map(Offered::Only);
            if let (Some(said), Some(chosen)) = (said, chosen)
                && said.offered == chosen
            {
                package.offered = chosen;
            }
        }
    }

    /// Says what FROM names: of that line speaks who asks what the image is built on.
    fn built_on(&self, seen: &mut Observations) {
        let BaseSeen::Image(_, fact) = &self.said.base else { return };
        let state = self.said.facts.get(*fact).state.clone();
        seen.built_on = Some(seen.facts.add(FactKey::Base, None, state, Evidence::Leaf(self.written(*fact))));
    }

    /// The lines behind something that was measured.
    fn of_entry(&self, entry: &Entry, origins: &[Origin], name: Option<&str>) -> Vec<Origin> {
        match entry.key {
            FactKey::Env => {
                let name = entry.of.as_deref().unwrap_or_default();
                match self.said.env.get(name) {
                    Some((Ok(value), _)) if self.image.config.variable(name) != Some(value) => {
                        self.last_step(|step| step.sets(name))
                    }
                    Some((_, fact)) => self.written(*fact),
                    None => match self.others().filter(|(_, step)| step.sets(name)).last() {
                        Some((number, step)) => vec![self.of_step(number, step)],
                        None => self.base(),
                    },
                }
            }
            FactKey::Entrypoint => match &self.said.entrypoint {
                Some((words, _)) if self.starts_other(words) => self.last_step(|step| step.kind == Kind::Entrypoint),
                Some((_, fact)) => self.written(*fact),
                None => match self.instructions.iter().rfind(|one| one.kind == Kind::Cmd) {
                    Some(last) => vec![self.line(last)],
                    None => self.base(),
                },
            },
            FactKey::Platforms => {
                self.said.platforms.as_ref().map_or_else(|| self.base(), |(_, fact)| self.written(*fact))
            }
            _ => origins.iter().find_map(|origin| self.maker(origin)).map_or_else(Vec::new, |made| match made {
                Maker::Base => self.base(),
                Maker::Line(line) => self.asked(name, line),
                // A layer says itself by which step it was made.
                Maker::Other(_) if origins.iter().any(|origin| matches!(origin, Origin::Layer { .. })) => Vec::new(),
                Maker::Other(number) => self.step(number).map(|step| self.of_step(number, &step)).into_iter().collect(),
                Maker::Nobody => self.named(name).unwrap_or_default(),
            }),
        }
    }

    /// Who made the layer that something was read in, or ran the step.
    fn maker(&self, origin: &Origin) -> Option<Maker<'_>> {
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
            return Some(Maker::Base);
        }
        let Some(step) = step else { return Some(Maker::Nobody) };
        let line = self.made_by.get(step).copied().flatten().and_then(|at| self.instructions.get(at));
        Some(match line {
            Some(line) => Maker::Line(line),
            None if self.base_layers == 0 && self.first.is_some_and(|first| step < first) => Maker::Base,
            None if self.strange.contains_key(&step) => Maker::Other(step),
            None => Maker::Nobody,
        })
    }

    /// A step as a place.
    fn of_step(&self, number: usize, step: &Words) -> Origin {
        let field = format!("{}{}", step_field(number), short(&format!("{} {}", step.kind.name(), step.text)));
        Origin::Config { digest: self.image.config_digest.clone(), field }
    }

    /// The last step of the history of which something holds.
    fn last_step(&self, holds: impl Fn(&Words) -> bool) -> Vec<Origin> {
        let numbers = (0..self.image.config.history.len()).rev();
        let mut steps = numbers.filter_map(|number| Some((number, self.step(number)?)));
        steps.find(|(_, step)| holds(step)).map(|(number, step)| self.of_step(number, &step)).into_iter().collect()
    }

    /// Whether the image starts other words than those of the last ENTRYPOINT, which are a list.
    fn starts_other(&self, words: &[String]) -> bool {
        let last = self.instructions.iter().rfind(|one| one.kind == Kind::Entrypoint);
        last.is_some_and(|last| last.json.is_some()) && self.image.config.entrypoint != words
    }

    /// What a step of the history says of itself.
    fn step(&self, number: usize) -> Option<Words> {
        steps::words_of_step(&self.image.config.history.get(number)?.created_by)
    }

    /// The steps behind the base that no line made, of those that bring files or variables.
    fn others(&self) -> impl Iterator<Item = (usize, &Words)> {
        let brings = |kind: &Kind| matches!(kind, Kind::Run | Kind::Copy | Kind::Add);
        // A variable is easily set by a base as well.
        let steps = self.image.config.history.iter().zip(&self.made_by);
        let first = steps.into_iter().position(|(step, line)| {
            let line = line.and_then(|line| self.instructions.get(line));
            line.is_some_and(|line| brings(&line.kind) && steps::is_sure(step, line))
        });
        let of_base = self.base_layers.checked_sub(1).and_then(|last| self.image.config.layers.get(last)?.history);
        let from = first.max(of_base).map_or(usize::MAX, |last| last + 1);
        let behind = self.strange.range(from..).map(|(number, step)| (*number, step));
        // Steps without a layer behind the base's last one may be the base's own.
        let of_line = move |number: &usize| first.is_some_and(|first| *number > first);
        behind.filter(move |(number, step)| brings(&step.kind) || (step.kind == Kind::Env && of_line(number)))
    }

    /// The words in a line, or elsewhere if it copies, that ask for a package; else the line.
    fn asked(&self, name: Option<&str>, line: &Instruction) -> Vec<Origin> {
        let inside = |origin: &Origin| {
            matches!(origin, Origin::File { source, span }
                if *source == self.source && line.span.start <= span.start && span.end <= line.span.end)
        };
        let of_line = self.all_named(name).find(|origins| origins.iter().any(inside));
        match of_line {
            Some(origins) => origins,
            None if line.kind == Kind::Run => vec![self.line(line)],
            None => self.named(name).into_iter().flatten().chain([self.line(line)]).collect(),
        }
    }

    /// The last line that asks for a package.
    fn named(&self, name: Option<&str>) -> Option<Vec<Origin>> {
        self.all_named(name).next()
    }

    /// Where a package is asked for, the last line first.
    fn all_named(&self, name: Option<&str>) -> impl Iterator<Item = Vec<Origin>> {
        let of = self.said.packages.iter().rev().filter(move |package| name == Some(package.name.as_str()));
        of.map(|package| self.written(package.fact)).filter(|origins| !origins.is_empty())
    }

    /// Where a fact of the Dockerfile is written.
    fn written(&self, fact: FactId) -> Vec<Origin> {
        let mut origins = self.said.facts.origins(fact);
        origins.retain(|origin| matches!(origin, Origin::File { .. }));
        origins
    }

    fn line(&self, instruction: &Instruction) -> Origin {
        Origin::File { source: self.source, span: instruction.span }
    }

    /// The line that names the base.
    fn base(&self) -> Vec<Origin> {
        match &self.said.base {
            BaseSeen::Image(_, fact) | BaseSeen::Scratch(fact) | BaseSeen::Unresolved(_, fact) => self.written(*fact),
            BaseSeen::NotSaid => Vec::new(),
        }
    }

    /// What in the image is not as the Dockerfile says.
    fn differences(&self, known: Option<&KnownBase>, notes: &mut Vec<String>) {
        let mut found: Vec<String> = Vec::new();
        let mut others = self.others();
        if let Some((_, step)) = others.next() {
            let more = others.count();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let text = format!("{} {}", step.kind.name(), step.text);
            found.push(format!("the image has a step that is not in the Dockerfile: `{}`{more}", short(&text)));
        }
        for (name, (value, _)) in &self.said.env {
            let Ok(value) = value else { continue };
            match self.image.config.variable(name) {
                Some(own) if own == value => {}
                Some(own) => found.push(format!(
                    "{name} is `{}` in the image and `{}` in the Dockerfile",
                    short(own),
                    short(value)
                )),
                None => found.push(format!("{name} is not set in the image and `{}` in the Dockerfile", short(value))),
            }
        }
        let named = match &self.said.base {
            BaseSeen::Image(reference, _) => reference.digest(),
            _ => None,
        };
        let told = self.image.config.labels.get(BASE_DIGEST).map(String::as_str);
        if let (Some(named), Some(told)) = (named, told)
            && named != told
        {
            found.push(format!("its base image is {told}, and FROM names {named}"));
        }
        if known.is_some_and(|known| !known.layers.is_empty()) && self.base_layers == 0 {
            found.push("it does not start with the layers of the current base image".to_owned());
        }
        let runs = || self.instructions.iter().enumerate().filter(|(_, one)| one.kind == Kind::Run);
        let without = runs().filter(|(at, _)| !self.made_by.contains(&Some(*at))).count();
        if self.first.is_none() && !self.instructions.is_empty() {
            let why = "so only the names of variables and packages identify lines";
            notes.push(format!("no step in the history of the image comes from the Dockerfile, {why}"));
        } else if without > 0 {
            found.push(format!("{without} of {} RUN lines have no step in its history", runs().count()));
        }
        if found.is_empty() {
            return;
        }
        let more = found.len().saturating_sub(MOST_TOLD);
        found.truncate(MOST_TOLD);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let list = found.join("; ");
        notes.push(format!("the image was not built from this version of the Dockerfile: {list}{more}"));
    }
}

fn short(text: &str) -> String {
    let head: String = text.chars().take(LONGEST).collect();
    if head.len() < text.len() { format!("{head}...") } else { head }
}
