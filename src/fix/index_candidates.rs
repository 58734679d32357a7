//! Candidates that install an unpinned framework from the package index of another CUDA build.

use crate::fact::{IndexSelection, PackageVersion};
use crate::fix::ProposedChange;
use crate::fix::fix_context::FixContext;
use crate::fix::framework::{
    InstalledTorch, available_builds, cuda_version_of_build, dependent_wheel_safety, find_wheel_for_other_release,
};
use crate::fix::versions::{are_neighbours, package_without_release, python_condition};
use crate::install::range_contains;
use crate::knowledge::{TorchRow, compare_natural};
use crate::report::kinds::FixSafety;

/// Maximum number of indexes offered.
const MAX_INDEXES: usize = 6;

/// A build from its index: whether the release stays the same, the title, the safety and the change.
pub(super) type IndexCandidate = (bool, String, FixSafety, ProposedChange);

/// Returns candidates for other build indexes, newest CUDA first, whose newest release is the same or a neighbour.
pub(super) fn find_index_candidates(case: &FixContext<'_>, torch: &InstalledTorch<'_>) -> Vec<IndexCandidate> {
    let Some(package) = torch.package.filter(|_| torch.pinned.is_none()) else { return Vec::new() };
    let PackageVersion::Open(range) = &package.version else { return Vec::new() };
    let from = match &package.offered {
        IndexSelection::Only(tag) => Some(tag.clone()),
        IndexSelection::Default | IndexSelection::Beside(_) => None,
        IndexSelection::Unknown(_) => return Vec::new(),
    };
    let knowledge = case.knowledge();
    let Some(page) = knowledge.build_pages().iter().find(|row| row.distribution == torch.name) else {
        return Vec::new();
    };
    let day = case.seen.as_of.or(case.settings.as_of);
    let out = |row: &&TorchRow| day.is_none_or(|day| row.released.is_some_and(|released| released <= day));
    let fits = |row: &&TorchRow| range.is_empty() || range_contains(range, row.version) == Some(true);
    let mut rows: Vec<&'static TorchRow> = knowledge.served_torch_releases().filter(out).filter(fits).collect();
    rows.sort_by(|one, other| compare_natural(other.version, one.version));
    let mut newest: Vec<(&'static str, &'static TorchRow)> = Vec::new();
    for row in rows {
        for tag in available_builds(case, row, None) {
            if !newest.iter().any(|(own, _)| *own == tag) {
                newest.push((tag, row));
            }
        }
    }
    newest.retain(|(tag, row)| from.as_deref() != Some(*tag) && are_neighbours(torch.row.version, row.version));
    newest.sort_by(|(one, _), (other, _)| compare_natural(other, one));
    let of_index = |(tag, row): (&'static str, &'static TorchRow)| {
        // What is asked for beside it has to lie there too.
        package_without_release(case, row.version, torch.unpinned_command(), Some(tag)).is_none().then_some(())?;
        let python = python_condition(case, Some(package), torch.row.version, row.version)?;
        let (name, version, cuda) = (torch.name, row.version, cuda_version_of_build(tag));
        let same = version == torch.row.version;
        let newest = if same { "which has the same release," } else { "whose newest release is" };
        let title = format!("install {name} from the index of {tag}, {newest} {version}, for CUDA {cuda}{python}");
        let safety = if same { torch.variant_safety(case) } else { FixSafety::Unsafe };
        let safety = match find_wheel_for_other_release(case, torch, version) {
            Some(_) => FixSafety::Manual,
            None => safety.max(dependent_wheel_safety(case, torch, Some(tag))),
        };
        let wish = ProposedChange::Index {
            package: name.to_owned(),
            from: from.clone(),
            build: tag.to_owned(),
            page: page.page.replace("{build}", tag),
        };
        Some((same, title, safety, wish))
    };
    newest.into_iter().filter_map(of_index).take(MAX_INDEXES).collect()
}
