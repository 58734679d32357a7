//! Whether an image with a change still builds, as far as its files and the tables show: hashes, version limits, the
//! builds in each index, GPU targets that the compiler lacks, and pinned dependencies.

use crate::cuda::{CodeTarget, CudaVersion};
use crate::dockerfile::edit::SourceEdit;
use crate::fix::changed_subject::subject_with_edits;
use crate::fix::fix_context::{FixContext, fact_spans};
use crate::fix::proposed_change::{PTX_SUFFIX, TargetPackage, last_pip_package};
use crate::fix::written_urls::writes_unknown_url;
use crate::fix::{ProposedChange, stale_references};
use crate::infer::variant_cuda;
use crate::judge;
use crate::judge::SubjectContent;
use crate::model::fact::{Observations, ObservedArchList, ObservedBase};
use crate::model::package::{ExactVersion, IndexSelection, ObservedPackage, PackageManager, PackageVersion};
use crate::model::reference::ImageReference;
use crate::text::source::{SourceId, Span};

/// The reason for a manual change if no single value in a file can be edited.
pub(super) const NO_SINGLE_VALUE: &str = "manual: no single value in a file selects it";
const STALE_HASHES: &str = "manual: its hashes are those of other wheels";
const MISSING_HASHES: &str = "manual: its dependencies need hashes as well";
const LIMITED_BY_CONSTRAINT: &str = "manual: another list limits it to another release";
const UNKNOWN_DEPENDENT_BUILD: &str = "manual: whether a package built on it exists for that CUDA is unknown";
const OUTDATED_DEPENDENT_BUILD: &str =
    "manual: another command installs a package built on it, which stays a build for another CUDA";
const UNVERIFIED_ADDRESS: &str = "manual: no source shows that the address of that build exists";
const NOT_IN_INDEX: &str = "manual: no index of that command is known to contain it";
/// Note for a change whose compiler does not support the requested GPU targets.
const COMPILER_TOO_OLD: &str = "manual: its compiler does not support all requested GPUs";
/// Note for a change that needs a wheel without a local version label.
const UNLABELLED_WHEEL: &str = "manual: a wheel for these platforms has no build in its version: omit the build, and install \
    only from that index";
/// Note for a change with a dependency that is pinned to an incompatible release.
const CONFLICTING_PIN: &str = "manual: one of its dependencies is pinned to a release for another version of it";

/// Options and variables that make pip select wheels by their hashes.
const HASH_OPTIONS: [&str; 4] = ["--hash=", "--hash ", "--require-hashes", "PIP_REQUIRE_HASHES"];

/// Returns the packages that a change requires.
fn requested_packages(change: &ProposedChange) -> Vec<TargetPackage<'_>> {
    match change {
        ProposedChange::Build { package, companions, .. } => {
            companions.iter().chain([package]).map(TargetPackage::from).collect()
        }
        ProposedChange::All(list) => list.iter().flat_map(requested_packages).collect(),
        _ => Vec::new(),
    }
}

/// Whether everything that a change replaces was observed: each of its packages, or in any case the base image.
pub(super) fn is_target_observed(case: &FixContext<'_>, change: &ProposedChange) -> bool {
    if matches!(change, ProposedChange::Base { .. } | ProposedChange::Whole { .. } | ProposedChange::DropPackage(_)) {
        return true;
    }
    let targets = requested_packages(change);
    !targets.is_empty() && targets.iter().all(|one| last_pip_package(&case.seen, one.name).is_some())
}

/// Returns the reason why the edits of a change cannot be applied automatically, if there is one.
pub(super) fn find_build_obstacle(
    case: &FixContext<'_>,
    change: &ProposedChange,
    edits: &[SourceEdit],
    after: &Observations,
) -> Option<&'static str> {
    if adds_dependencies(change) && requires_hashes(case) {
        return Some(MISSING_HASHES);
    }
    if writes_unknown_url(case, edits) {
        return Some(UNVERIFIED_ADDRESS);
    }
    let targets = requested_packages(change);
    if let Some(why) = build_conflict(case, &targets, after) {
        return Some(why);
    }
    if targets.is_empty() && !renames_or_moves_package(change) {
        return None;
    }
    if edits.iter().any(|edit| has_hashes_at(case, edit.source, edit.span)) {
        return Some(STALE_HASHES);
    }
    if targets.iter().any(|one| violates_constraint(after, one)) {
        return Some(LIMITED_BY_CONSTRAINT);
    }
    if targets
        .iter()
        .filter_map(|one| Some((one, one.build?)))
        .any(|(one, build)| has_unknown_dependent_build(case, one, build, after))
    {
        return Some(UNKNOWN_DEPENDENT_BUILD);
    }
    if targets.iter().any(|one| one.build.is_some_and(|build| leaves_dependent_on_other_cuda(case, one, build, after)))
    {
        return Some(OUTDATED_DEPENDENT_BUILD);
    }
    let left = |one: &TargetPackage<'_>| stale_references::find_stale_reference(case, *one, edits, after);
    if let Some(why) = targets.iter().find_map(left) {
        return Some(why);
    }
    (!are_builds_in_indexes(case, &targets, edits, after)).then_some(NOT_IN_INDEX)
}

/// Whether a change installs additional packages that no file names.
fn adds_dependencies(change: &ProposedChange) -> bool {
    match change {
        ProposedChange::All(list) => list.iter().any(adds_dependencies),
        one => matches!(one, ProposedChange::Whole { .. } | ProposedChange::Extra { .. }),
    }
}

/// Whether a change replaces a package by another distribution or extra, or takes it from another index.
fn renames_or_moves_package(change: &ProposedChange) -> bool {
    match change {
        ProposedChange::All(list) => list.iter().any(renames_or_moves_package),
        one => matches!(one, ProposedChange::Extra { .. } | ProposedChange::Name { .. } | ProposedChange::Index { .. }),
    }
}

/// Whether another package with GPU code moves to the requested build, although no table shows that such a build of
/// it exists.
fn has_unknown_dependent_build(
    case: &FixContext<'_>,
    target: &TargetPackage<'_>,
    build: &str,
    after: &Observations,
) -> bool {
    let knowledge = case.knowledge();
    let chosen = |package: &'_ ObservedPackage| match cuda_build_of(case, package) {
        Some(local) => Some(local.to_owned()),
        None => match &package.requirement.indexes {
            IndexSelection::Only(tag) => Some(tag.clone()),
            IndexSelection::Default | IndexSelection::DefaultAndExtra(_) | IndexSelection::Unknown(_) => None,
        },
    };
    let others = after
        .packages
        .iter()
        .filter(|one| one.requirement.manager == PackageManager::Pip && one.requirement.name != target.name);
    let mut follows = others.filter(|one| {
        let code =
            knowledge.framework(&one.requirement.name).is_some() && knowledge.has_build_index(&one.requirement.name);
        code && !knowledge.is_built_with_torch(&one.requirement.name)
    });
    follows.any(|one| {
        let before = last_pip_package(&case.seen, &one.requirement.name).and_then(chosen);
        chosen(one).as_deref() == Some(build) && before.as_deref() != Some(build)
    })
}

/// Whether a package that is built together with the framework stays a build for another CUDA major release.
fn leaves_dependent_on_other_cuda(
    case: &FixContext<'_>,
    target: &TargetPackage<'_>,
    build: &str,
    after: &Observations,
) -> bool {
    let knowledge = case.knowledge();
    let major = |tag: &str| variant_cuda(tag).map(CudaVersion::major);
    let arch = case.platform.split('/').nth(1).unwrap_or_default();
    let of_index = || {
        let row = knowledge.torch_release(target.version).filter(|_| knowledge.has_variants(target.name))?;
        row.default_variant.iter().find(|one| one.arch == arch).map(|one| one.value)
    };
    let is_dependent = |one: &&ObservedPackage| {
        one.requirement.manager == PackageManager::Pip
            && knowledge.is_built_with_torch(&one.requirement.name)
            && !matches!(one.requirement.version, PackageVersion::Unresolved(_))
    };
    after.packages.iter().filter(is_dependent).any(|one| {
        let tag = match (cuda_build_of(case, one), &one.requirement.indexes) {
            (Some(local), _) => Some(local),
            (None, IndexSelection::Only(tag)) => Some(tag.as_str()),
            (None, IndexSelection::DefaultAndExtra(tags)) if tags.iter().any(|tag| tag == build) => Some(build),
            (None, IndexSelection::Default | IndexSelection::DefaultAndExtra(_)) => of_index(),
            (None, IndexSelection::Unknown(_)) => None,
        };
        tag.is_some_and(|tag| major(tag).is_some_and(|own| Some(own) != major(build)))
    })
}

/// Whether the requirements file or instruction around a position selects wheels by their hashes.
fn has_hashes_at(case: &FixContext<'_>, source: SourceId, place: Span) -> bool {
    let text = case.settings.sources.get(source).text();
    let own = match &case.subject.content {
        SubjectContent::Dockerfile { source: own, dockerfile, .. } if *own == source => {
            let holds = |span: &Span| span.start <= place.start && place.end <= span.end;
            let mut spans = dockerfile.instructions.iter().map(|one| one.span);
            spans.find(holds).and_then(|span| text.get(span.start..span.end)).unwrap_or_default()
        }
        _ => text,
    };
    contains_hash_option(own)
}

/// Whether a text selects wheels by their hashes, or requires hashes for all of them.
fn contains_hash_option(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.any(|line| HASH_OPTIONS.iter().any(|words| line.contains(words)))
}

/// Whether any file of the build contains hashes; pip then requires them for everything that it installs.
fn requires_hashes(case: &FixContext<'_>) -> bool {
    let SubjectContent::Dockerfile { source, files, .. } = &case.subject.content else { return false };
    let read = files.requested_files().filter_map(|(_, file)| Some(file.as_ref().ok()?.source));
    let mut texts = read.chain([*source]).map(|source| case.settings.sources.get(source).text());
    texts.any(contains_hash_option)
}

/// Whether a constraint does not admit the requested version of a package.
fn violates_constraint(after: &Observations, one: &TargetPackage<'_>) -> bool {
    let Some(package) = last_pip_package(after, one.name) else { return false };
    let own =
        after.bounds.iter().filter(|bound| bound.requirement.name == one.name && bound.command == package.command);
    own.into_iter().any(|bound| match &bound.requirement.version {
        PackageVersion::Exact(text) => {
            let local = text.local();
            !text.without_local().is_same(one.version) || (local.is_some() && local != one.build)
        }
        PackageVersion::Range(range) => !range.is_any() && range.contains(one.version) == Some(false),
        PackageVersion::Unresolved(_) => true,
    })
}

/// Returns the CUDA build that a version names, `cu118` of `2.4.0+cu118`, if its package has an index for each build.
fn cuda_build_of<'a>(case: &FixContext<'_>, package: &'a ObservedPackage) -> Option<&'a str> {
    let local = package.requirement.version.local()?;
    let pip = package.requirement.manager == PackageManager::Pip
        && case.knowledge().has_build_index(&package.requirement.name);
    (pip && local.starts_with("cu")).then_some(local)
}

/// Whether every build that a version names is in an index of its install command. A version with a build hides which
/// indexes are searched, so the files are read once more without the builds.
fn are_builds_in_indexes(
    case: &FixContext<'_>,
    targets: &[TargetPackage<'_>],
    edits: &[SourceEdit],
    after: &Observations,
) -> bool {
    let named: Vec<(&ObservedPackage, &str)> =
        after.packages.iter().filter_map(|one| Some((one, cuda_build_of(case, one)?))).collect();
    if named.is_empty() {
        return true;
    }
    let mut less: Vec<SourceEdit> = Vec::new();
    for package in case.seen.packages.iter().filter(|one| cuda_build_of(case, one).is_some()) {
        let place = fact_spans(case, package.fact).into_iter().next();
        less.extend(place.and_then(|place| edit_removing_build(case, place)).filter(|edit| !less.contains(edit)));
    }
    let within = |edit: &SourceEdit, removal: &SourceEdit| {
        // What is put in behind it stays.
        edit.source == removal.source && removal.span.start <= edit.span.start && edit.span.start < removal.span.end
    };
    let kept: Vec<SourceEdit> = edits
        .iter()
        .filter(|edit| !less.iter().any(|removal| within(edit, removal)))
        .map(|edit| {
            let builds = targets.iter().filter_map(|one| one.build);
            let replacement =
                builds.fold(edit.replacement.clone(), |text, build| text.replace(&format!("+{build}"), ""));
            SourceEdit { replacement, ..edit.clone() }
        })
        .collect();
    less.extend(kept);
    let read = subject_with_edits(case.subject, case.settings.sources, &less)
        .and_then(|subject| judge::observations_for_platform(&subject.content, &case.platform));
    let Some(read) = read else { return false };
    named.into_iter().all(|(package, build)| {
        let mut same = read.packages.iter().rev().filter(|one| {
            one.requirement.manager == PackageManager::Pip && one.requirement.name == package.requirement.name
        });
        let own = targets.iter().any(|one| one.name == package.requirement.name);
        match same.find(|one| one.command == package.command) {
            Some(one) if cuda_build_of(case, one).is_none() => offers_build(&one.requirement.indexes, build),
            // A wheel that is named by its address, and a version that stands elsewhere.
            _ => !own,
        }
    })
}

/// Returns the edit that removes the build from the version at a position; `None` if no version is there.
fn edit_removing_build(case: &FixContext<'_>, (source, span): (SourceId, Span)) -> Option<SourceEdit> {
    let word = case.settings.sources.get(source).text().get(span.start..span.end)?;
    let at = word.find('+').filter(|_| !word.contains("://"))?;
    let rest = word.get(at..)?;
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | ',' | ')' | ']' | '#' | '\\');
    let end = rest.find(ends).unwrap_or(rest.len());
    let span = Span::new(span.start + at, span.start + at + end);
    Some(SourceEdit { source, span, replacement: String::new() })
}

/// Whether the builds that a command selects from include a build.
fn offers_build(offered: &IndexSelection, build: &str) -> bool {
    match offered {
        IndexSelection::Only(tag) => tag == build,
        IndexSelection::DefaultAndExtra(tags) => tags.iter().any(|tag| tag == build),
        IndexSelection::Unknown(cause) => cause.is_several_builds(),
        IndexSelection::Default => false,
    }
}

/// Returns the note on the conflict that prevents a change from being written, if there is one.
fn build_conflict(case: &FixContext<'_>, targets: &[TargetPackage<'_>], after: &Observations) -> Option<&'static str> {
    if requests_unsupported_targets(case, after) {
        return Some(COMPILER_TOO_OLD);
    }
    let any = |predicate: &dyn Fn(&TargetPackage<'_>) -> bool| targets.iter().any(predicate);
    if any(&|one| conflicts_with_unlabelled_wheel(case, one, after)) {
        return Some(UNLABELLED_WHEEL);
    }
    any(&|one| has_conflicting_pin(case, one, targets, after)).then_some(CONFLICTING_PIN)
}

/// Whether a compiler is newly requested to build for GPUs that it does not support.
fn requests_unsupported_targets(case: &FixContext<'_>, after: &Observations) -> bool {
    let knowledge = case.knowledge();
    let compiler = |image: &ImageReference| {
        let (repository, tag) = (image.familiar_name(), image.tag()?);
        let of_framework =
            || knowledge.framework_image(&repository, tag).filter(|_| knowledge.flavour_has_compiler(tag));
        knowledge.compiler_cuda(&repository, tag).or_else(|| of_framework().map(|row| row.cuda))
    };
    let refused = |seen: &Observations| -> Vec<CodeTarget> {
        let base = if let ObservedBase::Image(image, _) = &seen.base { Some(image) } else { None };
        let of_list = |list: &ObservedArchList| {
            let row = knowledge.target_set(compiler(list.compiler.as_ref().or(base)?)?)?;
            let targets = list.entries.iter().map(|(_, target)| *target);
            Some(targets.filter(|target| !row.targets.contains(target)).collect::<Vec<_>>())
        };
        let of_command = seen.base_changes.arch_lists.iter().filter_map(of_list).flatten();
        let variables = knowledge.cuda_extensions().iter().filter(|row| !row.plain && !row.cmake);
        let of_variable = variables.filter_map(|row| {
            let (Ok(value), _) = seen.env.get(row.variable)? else { return None };
            let row = knowledge.target_set(compiler(base?)?)?;
            let words = value.split([' ', ',', ';']).filter_map(|word| word.trim_end_matches(PTX_SUFFIX).parse().ok());
            Some(words.filter(|target| !row.targets.contains(target)).collect::<Vec<CodeTarget>>())
        });
        of_command.chain(of_variable.flatten()).collect()
    };
    let before = refused(&case.seen);
    refused(after).iter().any(|target| !before.contains(target))
}

/// Whether the only wheel for a platform has no local version label and the requirement cannot select it.
fn conflicts_with_unlabelled_wheel(case: &FixContext<'_>, one: &TargetPackage<'_>, after: &Observations) -> bool {
    let Some(build) = one.build.filter(|_| case.knowledge().has_variants(one.name)) else { return false };
    let named = last_pip_package(after, one.name).is_some_and(|package| package.requirement.version.local().is_some());
    let archs = case.platforms.iter().filter_map(|platform| platform.split('/').nth(1));
    let row = |arch: &str| case.knowledge().torch_build(one.version, build, arch);
    let is_sole_index = last_pip_package(after, one.name)
        .is_some_and(|package| package.requirement.indexes == IndexSelection::Only(build.to_owned()));
    (named || !is_sole_index) && archs.into_iter().any(|arch| row(arch).is_some_and(|row| row.unnamed))
}

/// Whether a dependency of the new release is pinned to a version that the release does not accept.
fn has_conflicting_pin(
    case: &FixContext<'_>,
    one: &TargetPackage<'_>,
    targets: &[TargetPackage<'_>],
    after: &Observations,
) -> bool {
    let of_platform = |arch: &str| case.platforms.iter().any(|platform| platform.split('/').nth(1) == Some(arch));
    let rows = case.knowledge().requirements_of(one.name.as_ref());
    let rows = rows.filter(|row| row.is_of_version(one.version) && !row.newest && !row.unasked);
    let mut requirements = rows.filter(|row| row.arch.is_none_or(of_platform));
    requirements.any(|row| {
        let goes = targets.iter().any(|one| one.name == row.package);
        let mut own = pinned_packages(after).filter(|(package, _)| !goes && package.requirement.name == row.package);
        own.any(|(_, version)| row.range.contains(&version.without_local()) == Some(false))
    })
}

/// Returns the packages that pip commands pin, with their versions.
fn pinned_packages(seen: &Observations) -> impl Iterator<Item = (&ObservedPackage, &ExactVersion)> {
    seen.packages.iter().filter(|one| one.requirement.manager == PackageManager::Pip).filter_map(|one| {
        match &one.requirement.version {
            PackageVersion::Exact(version) => Some((one, version)),
            PackageVersion::Range(_) | PackageVersion::Unresolved(_) => None,
        }
    })
}
