//! Builds of a framework that nothing pins, from the index of one CUDA: what a command then gets is the newest release
//! that the index has.

use crate::cure::Wish;
use crate::cure::case::Case;
use crate::cure::framework::Torch;
use crate::cure::framework::bound;
use crate::cure::framework::builds;
use crate::cure::framework::built_for_another;
use crate::cure::framework::cuda_of;
use crate::cure::versions::for_python;
use crate::cure::versions::near;
use crate::cure::versions::without_release;
use crate::fact::Offered;
use crate::fact::PackageVersion;
use crate::install::admits;
use crate::knowledge::TorchRow;
use crate::knowledge::by_number;
use crate::report::kinds::FixSafety;

/// So many indexes are tried.
const MOST: usize = 6;

/// A build from its index: whether it is of the same release, how it is told, what else it changes, and the wish.
pub(super) type Served = (bool, String, FixSafety, Wish);

/// The indexes of other builds, the newest CUDA first, whose newest release is that of the default index or a neighbour.
pub(super) fn of_indexes(case: &Case<'_>, torch: &Torch<'_>) -> Vec<Served> {
    let Some(package) = torch.package.filter(|_| torch.pinned.is_none()) else { return Vec::new() };
    let PackageVersion::Open(range) = &package.version else { return Vec::new() };
    let from = match &package.offered {
        Offered::Only(tag) => Some(tag.clone()),
        Offered::Default | Offered::Beside(_) => None,
        Offered::Unknown(_) => return Vec::new(),
    };
    let knowledge = case.knowledge();
    let Some(page) = knowledge.build_pages().iter().find(|row| row.distribution == torch.name) else {
        return Vec::new();
    };
    let day = case.seen.as_of.or(case.settings.as_of);
    let out = |row: &&TorchRow| day.is_none_or(|day| row.released.is_some_and(|released| released <= day));
    let fits = |row: &&TorchRow| range.is_empty() || admits(range, row.version) == Some(true);
    let mut rows: Vec<&'static TorchRow> = knowledge.torch_served().filter(out).filter(fits).collect();
    rows.sort_by(|one, other| by_number(other.version, one.version));
    let mut newest: Vec<(&'static str, &'static TorchRow)> = Vec::new();
    for row in rows {
        for tag in builds(case, row, None) {
            if !newest.iter().any(|(own, _)| *own == tag) {
                newest.push((tag, row));
            }
        }
    }
    newest.retain(|(tag, row)| from.as_deref() != Some(*tag) && near(torch.row.version, row.version));
    newest.sort_by(|(one, _), (other, _)| by_number(other, one));
    let of_index = |(tag, row): (&'static str, &'static TorchRow)| {
        // What is asked for beside it has to lie there too.
        without_release(case, row.version, torch.open(), Some(tag)).is_none().then_some(())?;
        let python = for_python(case, Some(package), torch.row.version, row.version)?;
        let (name, version, cuda) = (torch.name, row.version, cuda_of(tag));
        let same = version == torch.row.version;
        let newest = if same { "which has the same release," } else { "whose newest release is" };
        let title = format!("install {name} from the index of {tag}, {newest} {version}, for CUDA {cuda}{python}");
        let safety = if same { torch.safety(case) } else { FixSafety::Unsafe };
        let safety = match built_for_another(case, torch, version) {
            Some(_) => FixSafety::Manual,
            None => safety.max(bound(case, torch, Some(tag))),
        };
        let wish = Wish::Index {
            package: name.to_owned(),
            from: from.clone(),
            build: tag.to_owned(),
            page: page.page.replace("{build}", tag),
        };
        Some((same, title, safety, wish))
    };
    newest.into_iter().filter_map(of_index).take(MOST).collect()
}
