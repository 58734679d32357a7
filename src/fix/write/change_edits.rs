//! The edits that make a proposed change, of every kind of change.

use crate::dockerfile::edit;
use crate::dockerfile::edit::SourceEdit;
use crate::fix::fix_context::{FixContext, fact_spans};
use crate::fix::proposed_change::{ProposedChange, is_compat_package};
use crate::fix::write::dockerfile_texts::{DockerfileTexts, EditVariant, combine_variants};
use crate::fix::write::value_edits::{
    extend_arch_list, extend_path_list, quote_env_value, remove_pieces, requote_value,
};
use crate::fix::write::{no_deps_option, nvcc, package_build, removed_package, unpinned_framework};
use crate::model::package::PackageManager;
use crate::text::source::{SourceId, Span};

/// Maximum number of edit variants for one change.
const MAX_VARIANTS: usize = 12;
/// The instruction that removes the compat library from an image.
const REMOVE_COMPAT_LINE: &str = "RUN rm -rf /usr/local/cuda/compat";

/// Returns the variants of the edits that make a change, the simplest first.
pub(in crate::fix) fn edit_variants(case: &FixContext<'_>, change: &ProposedChange) -> Vec<EditVariant> {
    let Some(texts) = DockerfileTexts::from_case(case) else { return Vec::new() };
    let plain = |ways: Vec<Vec<SourceEdit>>| ways.into_iter().map(EditVariant::from_edits).collect();
    let mut found: Vec<EditVariant> = match change {
        ProposedChange::Base { from, to } => {
            let leaves = edit::value_spans(texts.dockerfile, texts.text, texts.evaluated.base.span);
            let ways = edit::replacement_candidates(texts.text, &leaves, from, to).into_iter();
            plain(
                ways.map(|way| way.into_iter().map(|(span, new)| texts.dockerfile_edit(span, new)).collect()).collect(),
            )
        }
        ProposedChange::Build { .. } => package_build::build_edit_variants(case, &texts, change),
        ProposedChange::Index { .. } => unpinned_framework::index_edit_variants(case, &texts, change),
        ProposedChange::Extra { package, from, to, .. } => plain(
            package_build::extra_edit(case, &texts, package, (from.as_ref(), to))
                .map(|edit| vec![edit])
                .into_iter()
                .collect(),
        ),
        ProposedChange::Name { from, to } => {
            plain(package_build::rename_package(case, &texts, (from, to)).into_iter().collect())
        }
        ProposedChange::Whole { package } => {
            plain(no_deps_option::remove_no_deps(case, &texts, package).map(|edit| vec![edit]).into_iter().collect())
        }
        ProposedChange::Conda { package, from, to } => {
            package_build::conda_edit_variants(case, &texts, package, (from, to))
        }
        ProposedChange::Env(list) => plain(vec![variable_edits(case, &texts, list)]),
        ProposedChange::EnvWithout { name, holds } => {
            let written = variable_value_span(case, name).filter(|(source, _)| *source == texts.source);
            let edit = written.and_then(|(_, span)| {
                Some(texts.dockerfile_edit(span, remove_pieces(texts.text.get(span.start..span.end)?, holds)))
            });
            plain(edit.into_iter().map(|edit| vec![edit]).collect())
        }
        ProposedChange::ArchList { variable, add } if variable.starts_with('-') => {
            plain(nvcc::add_gpus(case, &texts, variable, add).into_iter().collect())
        }
        ProposedChange::ArchList { variable, add } => {
            let is_name = |word: &str| case.knowledge().torch_arch_names().iter().any(|row| row.name == word);
            let edits: Vec<SourceEdit> = extend_arch_list(texts.text, texts.dockerfile, variable, add, &is_name)
                .into_iter()
                .map(|(span, new)| texts.dockerfile_edit(span, new))
                .collect();
            plain(vec![edits])
        }
        ProposedChange::DropPackage(name) => {
            plain(package_removals(case, &texts, |other| other == name).into_iter().collect())
        }
        ProposedChange::DropCompat => {
            let installed =
                package_removals(case, &texts, |name| is_compat_package(case.knowledge(), name)).unwrap_or_default();
            let line = texts.insert_after_from(texts.evaluated.chain.first(), REMOVE_COMPAT_LINE);
            let line: Vec<SourceEdit> = line.into_iter().collect();
            let both = if installed.is_empty() { Vec::new() } else { [installed.as_slice(), &line].concat() };
            plain(vec![installed, line, both])
        }
        ProposedChange::AddCompat(name) => {
            let line = format!(
                "RUN apt-get update && apt-get install -y --no-install-recommends {name} && rm -rf /var/lib/apt/lists/*"
            );
            plain(vec![texts.insert_after_from(texts.evaluated.chain.first(), &line).into_iter().collect()])
        }
        ProposedChange::Platforms(_) => {
            plain(texts.platform_flag_removal().map(|edit| vec![edit]).into_iter().collect())
        }
        ProposedChange::All(list) => list
            .iter()
            .fold(vec![EditVariant::default()], |done, one| combine_variants(&done, &edit_variants(case, one))),
        ProposedChange::DropFiles(_) | ProposedChange::Pools(_) => Vec::new(),
    };
    found.retain(|way| !way.edits.is_empty());
    found.truncate(MAX_VARIANTS);
    found
}

/// Whether the FROM of the first stage has a platform flag.
pub(in crate::fix) fn has_platform_flag(case: &FixContext<'_>) -> bool {
    DockerfileTexts::from_case(case).is_some_and(|texts| texts.platform_flag_removal().is_some())
}

/// Returns edits that set variables: in place where they are set now, else in a new ENV line.
fn variable_edits(case: &FixContext<'_>, texts: &DockerfileTexts<'_>, list: &[(String, String)]) -> Vec<SourceEdit> {
    let mut edits = Vec::new();
    let mut others = Vec::new();
    let now = |name: &str| case.image.env.get(name).known().map_or("", String::as_str);
    for (name, value) in list {
        let own = variable_value_span(case, name).filter(|(source, _)| *source == texts.source);
        if let Some((_, span)) = own {
            let written = texts.text.get(span.start..span.end).unwrap_or_default();
            let new = extend_path_list(written, now(name), value).unwrap_or_else(|| requote_value(written, value));
            edits.push(texts.dockerfile_edit(span, new));
        } else {
            // What the base says stays what it says.
            let of_base = format!("${{{name}}}");
            let longer = if now(name).is_empty() { None } else { extend_path_list(&of_base, now(name), value) };
            others.push(format!("{name}={}", longer.unwrap_or_else(|| quote_env_value(value))));
        }
    }
    if !others.is_empty() {
        edits.extend(texts.insert_after_from(texts.evaluated.chain.last(), &format!("ENV {}", others.join(" "))));
    }
    edits
}

/// Returns the source and span in which the value of a variable is written.
fn variable_value_span(case: &FixContext<'_>, name: &str) -> Option<(SourceId, Span)> {
    let (_, fact) = case.seen.env.get(name)?;
    fact_spans(case, *fact).into_iter().next()
}

/// Returns edits that remove matching system packages; `None` where a command would not run without them.
fn package_removals(
    case: &FixContext<'_>,
    texts: &DockerfileTexts<'_>,
    named: impl Fn(&str) -> bool,
) -> Option<Vec<SourceEdit>> {
    let own = case
        .seen
        .packages
        .iter()
        .filter(|one| one.requirement.manager == PackageManager::System && named(&one.requirement.name));
    let mut edits: Vec<SourceEdit> = Vec::new();
    for package in own {
        let Some((source, word)) = fact_spans(case, package.fact).into_iter().next() else { continue };
        if source != texts.source {
            continue;
        }
        let holds = |span: &Span| span.start <= word.start && word.end <= span.end;
        let instruction = texts.dockerfile.instructions.iter().map(|one| one.span).find(holds)?;
        let span = removed_package::package_removal_span(
            texts.text,
            texts.dockerfile.escape,
            instruction,
            word,
            &package.requirement.name,
        )?;
        let edit = SourceEdit { source, span, replacement: String::new() };
        if !edits.contains(&edit) {
            edits.push(edit);
        }
    }
    Some(edits)
}
