//! A wish as edits of the texts that hold it. Nothing here is certain: what comes out is read again.

mod alone;
mod build;
mod index;
mod nvcc;
mod options;
mod private;
mod removed;
mod served;
pub(in crate::cure) mod shown;
mod whole;
mod word;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::context::Files;
use crate::cure::Wish;
use crate::cure::case::Case;
use crate::cure::compat::is_compat;
use crate::cure::trial::content;
use crate::cure::write::word::arch_list;
use crate::cure::write::word::dropped;
use crate::cure::write::word::extended;
use crate::cure::write::word::quoted;
use crate::cure::write::word::requoted;
use crate::cure::write::word::without;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::Evaluated;
use crate::dockerfile::OnDemand;
use crate::edit;
use crate::edit::TextEdit;
use crate::fact::FactId;
use crate::fact::Manager;
use crate::fact::Origin;
use crate::judge::Content;
use crate::judge::Subject;
use crate::source::SourceId;
use crate::source::Sources;
use crate::source::Span;

/// So many ways to write one wish are tried.
const MOST: usize = 12;
/// What takes the compat library away from an image.
const NO_COMPAT: &str = "RUN rm -rf /usr/local/cuda/compat";

/// One way to write a wish.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) edits: Vec<TextEdit>,
    /// Whether it names a place of which the tables do not know what lies there.
    pub(super) elsewhere: bool,
}

impl Way {
    fn of(edits: Vec<TextEdit>) -> Self {
        Self { edits, elsewhere: false }
    }
}

/// A Dockerfile and the texts around it.
pub(super) struct Texts<'a> {
    pub(super) source: SourceId,
    pub(super) text: &'a str,
    pub(super) dockerfile: &'a Dockerfile,
    pub(super) evaluated: Evaluated,
    pub(super) sources: &'a Sources,
    pub(super) files: &'a Files,
}

impl<'a> Texts<'a> {
    fn of(case: &'a Case<'_>) -> Option<Self> {
        let Content::Dockerfile { source, dockerfile, options, files, .. } = &case.subject.content else {
            return None;
        };
        let evaluated = dockerfile.evaluate(&options.on(&case.platform)).ok()?;
        let sources = case.settings.sources;
        Some(Self { source: *source, text: sources.get(*source).text(), dockerfile, evaluated, sources, files })
    }

    fn edit(&self, span: Span, replacement: impl Into<String>) -> TextEdit {
        TextEdit { source: self.source, span, replacement: replacement.into() }
    }

    /// The FROM of the root without a platform.
    fn without_platform(&self) -> Option<TextEdit> {
        let from = self.dockerfile.stages.get(*self.evaluated.chain.first()?)?.from;
        let flag = self.dockerfile.instructions.get(from)?.flag("platform")?;
        Some(self.edit(dropped(self.text, flag.span), String::new()))
    }

    /// A line behind the FROM of the root, or of the stage that ships.
    fn line_behind(&self, stage: Option<&usize>, line: &str) -> Option<TextEdit> {
        let from = self.dockerfile.stages.get(*stage?)?.from;
        let end = self.dockerfile.instructions.get(from)?.span.end;
        let (at, line) = edit::insertion_after(self.text, end, line);
        Some(self.edit(Span::new(at, at), line))
    }
}

/// The ways to write a wish, the plainest first.
pub(super) fn ways(case: &Case<'_>, wish: &Wish) -> Vec<Way> {
    let Some(texts) = Texts::of(case) else { return Vec::new() };
    let plain = |ways: Vec<Vec<TextEdit>>| ways.into_iter().map(Way::of).collect();
    let mut found: Vec<Way> = match wish {
        Wish::Base { from, to } => {
            let leaves = edit::leaves(texts.dockerfile, texts.text, texts.evaluated.base.span);
            let ways = edit::respell(texts.text, &leaves, from, to).into_iter();
            plain(ways.map(|way| way.into_iter().map(|(span, new)| texts.edit(span, new)).collect()).collect())
        }
        Wish::Build { .. } => build::ways(case, &texts, wish),
        Wish::Index { .. } => served::ways(case, &texts, wish),
        Wish::Extra { package, from, to, .. } => {
            plain(build::extra(case, &texts, package, (from, to)).map(|edit| vec![edit]).into_iter().collect())
        }
        Wish::Name { from, to } => plain(build::renamed(case, &texts, (from, to)).into_iter().collect()),
        Wish::Whole { package } => {
            plain(whole::option(case, &texts, package).map(|edit| vec![edit]).into_iter().collect())
        }
        Wish::Conda { package, from, to } => build::of_conda(case, &texts, package, (from, to)),
        Wish::Env(list) => plain(vec![variables(case, &texts, list)]),
        Wish::EnvWithout { name, holds } => {
            let written = value_of(case, name).filter(|(source, _)| *source == texts.source);
            let edit = written
                .and_then(|(_, span)| Some(texts.edit(span, without(texts.text.get(span.start..span.end)?, holds))));
            plain(edit.into_iter().map(|edit| vec![edit]).collect())
        }
        Wish::ArchList { variable, add } if variable.starts_with('-') => {
            plain(nvcc::with_more(case, &texts, variable, add).into_iter().collect())
        }
        Wish::ArchList { variable, add } => {
            let is_name = |word: &str| case.knowledge().torch_arch_names().iter().any(|row| row.name == word);
            let edits: Vec<TextEdit> = arch_list(texts.text, texts.dockerfile, variable, add, &is_name)
                .into_iter()
                .map(|(span, new)| texts.edit(span, new))
                .collect();
            plain(vec![edits])
        }
        Wish::DropPackage(name) => plain(packages(case, &texts, |other| other == name).into_iter().collect()),
        Wish::DropCompat => {
            let installed = packages(case, &texts, |name| is_compat(case.knowledge(), name)).unwrap_or_default();
            let line = texts.line_behind(texts.evaluated.chain.first(), NO_COMPAT);
            let line: Vec<TextEdit> = line.into_iter().collect();
            let both = if installed.is_empty() { Vec::new() } else { [installed.as_slice(), &line].concat() };
            plain(vec![installed, line, both])
        }
        Wish::AddCompat(name) => {
            let line = format!(
                "RUN apt-get update && apt-get install -y --no-install-recommends {name} && rm -rf /var/lib/apt/lists/*"
            );
            plain(vec![texts.line_behind(texts.evaluated.chain.first(), &line).into_iter().collect()])
        }
        Wish::Platforms(_) => plain(texts.without_platform().map(|edit| vec![edit]).into_iter().collect()),
        Wish::All(list) => list.iter().fold(vec![Way::default()], |done, one| together(&done, &ways(case, one))),
        Wish::DropFiles(_) | Wish::Pools(_) => Vec::new(),
    };
    found.retain(|way| !way.edits.is_empty());
    found.truncate(MOST);
    found
}

/// Whether the FROM of the root says for which platform it is.
pub(super) fn names_platform(case: &Case<'_>) -> bool {
    Texts::of(case).is_some_and(|texts| texts.without_platform().is_some())
}

/// Every way of some with every way of others.
fn together(some: &[Way], others: &[Way]) -> Vec<Way> {
    let both = |way: &Way, more: &Way| Way {
        edits: [way.edits.as_slice(), &more.edits].concat(),
        elsewhere: way.elsewhere || more.elsewhere,
    };
    some.iter().flat_map(|way| others.iter().map(move |more| both(way, more))).collect()
}

/// Each value in the place of the one that is written, the others on a line of their own.
fn variables(case: &Case<'_>, texts: &Texts<'_>, list: &[(String, String)]) -> Vec<TextEdit> {
    let mut edits = Vec::new();
    let mut others = Vec::new();
    let now = |name: &str| case.image.env.get(name).known().map_or("", String::as_str);
    for (name, value) in list {
        let own = value_of(case, name).filter(|(source, _)| *source == texts.source);
        if let Some((_, span)) = own {
            let written = texts.text.get(span.start..span.end).unwrap_or_default();
            let new = extended(written, now(name), value).unwrap_or_else(|| requoted(written, value));
            edits.push(texts.edit(span, new));
        } else {
            // What the base says stays what it says.
            let of_base = format!("${{{name}}}");
            let longer = if now(name).is_empty() { None } else { extended(&of_base, now(name), value) };
            others.push(format!("{name}={}", longer.unwrap_or_else(|| quoted(value))));
        }
    }
    if !others.is_empty() {
        edits.extend(texts.line_behind(texts.evaluated.chain.last(), &format!("ENV {}", others.join(" "))));
    }
    edits
}

/// Where a variable's own value is written.
fn value_of(case: &Case<'_>, name: &str) -> Option<(SourceId, Span)> {
    let (_, fact) = case.seen.env.get(name)?;
    places(case, *fact).into_iter().next()
}

/// The places of a fact in texts, its own first.
pub(super) fn places(case: &Case<'_>, fact: FactId) -> Vec<(SourceId, Span)> {
    let origins = case.seen.facts.origins(fact).into_iter();
    origins
        .filter_map(|origin| match origin {
            Origin::File { source, span } => Some((source, span)),
            Origin::Config { .. } | Origin::Layer { .. } | Origin::Option(_) | Origin::Report(_) => None,
        })
        .collect()
}

/// Every word that installs one of some system packages, left out; none when a command would not run without it.
fn packages(case: &Case<'_>, texts: &Texts<'_>, named: impl Fn(&str) -> bool) -> Option<Vec<TextEdit>> {
    let own = case.seen.packages.iter().filter(|one| one.manager == Manager::Apt && named(&one.name));
    let mut edits: Vec<TextEdit> = Vec::new();
    for package in own {
        let Some((source, word)) = places(case, package.fact).into_iter().next() else { continue };
        if source != texts.source {
            continue;
        }
        let holds = |span: &Span| span.start <= word.start && word.end <= span.end;
        let instruction = texts.dockerfile.instructions.iter().map(|one| one.span).find(holds)?;
        let span = removed::cut(texts.text, texts.dockerfile.escape, instruction, word, &package.name)?;
        let edit = TextEdit { source, span, replacement: String::new() };
        if !edits.contains(&edit) {
            edits.push(edit);
        }
    }
    Some(edits)
}

/// The subject with edited texts; none where they cannot be made as they are meant.
pub(super) fn written(subject: &Subject, sources: &Sources, edits: &[TextEdit]) -> Option<Subject> {
    let Content::Dockerfile { source, dockerfile, files, .. } = &subject.content else { return None };
    let mut of_text: BTreeMap<SourceId, Vec<TextEdit>> = BTreeMap::new();
    for edit in edits {
        of_text.entry(edit.source).or_default().push(edit.clone());
    }
    let own = of_text.remove(source).unwrap_or_default();
    let (text, dockerfile) = edit::dockerfile(sources.get(*source).text(), dockerfile, &own).ok()?;
    let mut files = files.clone();
    for (source, edits) in of_text {
        let new = edit::apply(sources.get(source).text(), &edits).ok()?;
        files = files.with(source, &Arc::from(new))?;
    }
    content(subject, OnDemand::known(text, dockerfile), files)
}
