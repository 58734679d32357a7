//! What the shipped stage of a Dockerfile says.

use crate::context::Shelf;
use crate::dockerfile::BaseKind;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::EvaluateError;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::Evaluated;
use crate::dockerfile::Resolved;
use crate::extract::install;
use crate::fact::BaseSeen;
use crate::fact::Depth;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::source::SourceId;
use crate::source::Span;

/// What was seen of a Dockerfile, with what a report says beside the facts.
#[derive(Clone, Debug)]
pub struct Target {
    /// The observations.
    pub seen: Observations,
    /// Name of the stage that ships, where it has one.
    pub stage: Option<String>,
    /// What was left out.
    pub notes: Vec<String>,
}

/// Reads one target for one platform; `shelf` holds the files of its build context.
pub fn of_dockerfile(
    source: SourceId,
    dockerfile: &Dockerfile,
    options: &EvaluateOptions,
    shelf: &dyn Shelf,
) -> Result<Target, EvaluateError> {
    let evaluated = dockerfile.evaluate(options)?;
    let mut reader = Reader { source, seen: Observations::new(Depth::Text), notes: Vec::new() };
    reader.base(&evaluated);
    reader.environment(&evaluated);
    install::installs(dockerfile, &evaluated, options, source, shelf, &mut reader.seen, &mut reader.notes);
    let shipped = evaluated.chain.last().and_then(|index| dockerfile.stages.get(*index));
    let stage = shipped.and_then(|stage| stage.name.clone());
    Ok(Target { seen: reader.seen, stage, notes: reader.notes })
}

struct Reader {
    source: SourceId,
    seen: Observations,
    notes: Vec<String>,
}

impl Reader {
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

    fn base(&mut self, evaluated: &Evaluated) {
        let base = &evaluated.base;
        let evidence = self.leaf(std::iter::once(base.span).chain(base.sources.iter().copied()));
        let text = base.text.known().unwrap_or_default().to_owned();
        let facts = &mut self.seen.facts;
        self.seen.base = match &base.kind {
            BaseKind::Scratch => BaseSeen::Scratch(facts.add(FactKey::Base, None, known("scratch"), evidence)),
            BaseKind::Image(reference) => {
                BaseSeen::Image(reference.clone(), facts.add(FactKey::Base, None, known(&text), evidence))
            }
            BaseKind::Invalid(reason) => {
                let why = Why {
                    reason: format!("`{text}` is no image reference: {reason}"),
                    supply: "correct the FROM line".to_owned(),
                };
                BaseSeen::Unresolved(why.clone(), facts.add(FactKey::Base, None, State::Unknown(why), evidence))
            }
            BaseKind::Unresolved => {
                let why = unresolved(&base.text);
                BaseSeen::Unresolved(why.clone(), facts.add(FactKey::Base, None, State::Unknown(why), evidence))
            }
        };
        if let Some((Resolved::Known { value, .. }, span)) = &evaluated.platform {
            let evidence = self.leaf([*span]);
            let list = vec![value.clone()];
            let fact = self.seen.facts.add(FactKey::Platforms, None, State::Known(Value::from(&list)), evidence);
            self.seen.platforms = Some((list, fact));
        }
    }

    fn environment(&mut self, evaluated: &Evaluated) {
        for set in &evaluated.env {
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
}

fn known(text: &str) -> State<Value> {
    State::Known(Value::Text(text.to_owned()))
}

fn unresolved(value: &Resolved) -> Why {
    let (names, reason) = match value {
        Resolved::Unresolved { names, reason } => (names.clone(), reason.clone()),
        Resolved::Known { value, .. } => (Vec::new(), format!("`{value}` cannot be used")),
    };
    let supply = match names.first() {
        Some(name) => format!("give it by --build-arg {name}=VALUE"),
        None => "check the file that the template makes".to_owned(),
    };
    Why { reason, supply }
}
