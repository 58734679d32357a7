//! What a wheel of the default index asks for from outside of itself: as its row says, and of a range as all rows of it do.

use crate::cuda::CudaVersion;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::infer::libraries::version_of;
use crate::install::admits;
use crate::knowledge::BEYOND;
use crate::knowledge::Knowledge;
use crate::knowledge::LibraryNeedsRow;
use crate::knowledge::RowInfo;

/// Libraries by soname.
pub(super) struct Asks {
    /// Resolved when the wheel is loaded.
    pub(super) needs: Vec<&'static str>,
    /// Opened while the program runs.
    pub(super) opens: Vec<&'static str>,
    /// Whether the program then goes on without a GPU where one of those is not there.
    pub(super) falls_back: bool,
    /// Whether the loader alone finds them.
    pub(super) by_loader: bool,
    /// The row, where the libraries come along as packages of their own.
    pub(super) along: Option<&'static LibraryNeedsRow>,
    /// Where it stands; of a range, for its last release.
    pub(super) row: &'static RowInfo,
}

impl Asks {
    /// Whether a library is among those that it looks for.
    pub(super) fn names(&self, soname: &str) -> bool {
        self.needs.contains(&soname) || self.opens.contains(&soname)
    }
}

/// What a package asks for, whichever of the releases that it may be it is; none where that is not known of every one.
pub(super) fn of(package: &PackageSeen, knowledge: Knowledge) -> Option<Asks> {
    if let Some(version) = version_of(package) {
        return knowledge.needs_of(&package.name, version).map(of_row);
    }
    let PackageVersion::Open(range) = &package.version else { return None };
    of_range(&package.name, range, knowledge)
}

fn of_row(row: &'static LibraryNeedsRow) -> Asks {
    let along = row.along.then_some(row);
    let (needs, opens) = (row.needs.to_vec(), row.opens.to_vec());
    Asks { needs, opens, falls_back: row.falls_back, by_loader: row.by_loader, along, row: &row.info }
}

/// What all releases in a range that ends have in common: of those beyond the tables nobody knows, and they are taken to ask
/// for what the last known ones do.
fn of_range(name: &str, range: &str, knowledge: Knowledge) -> Option<Asks> {
    if range.contains('+') || admits(range, BEYOND) != Some(false) {
        return None;
    }
    let rows = || knowledge.library_needs().iter().filter(|row| row.distribution == name);
    let inside = |version: &CudaVersion| admits(range, &version.to_string()) == Some(true);
    let first = rows().map(|row| row.from).min()?;
    let last = rows().map(|row| row.from).max()?;
    if admits(range, &just_below(first)) != Some(false) {
        return None;
    }
    let releases = knowledge.framework_builds().iter().filter(|row| row.distribution == name);
    let releases = releases.filter_map(|row| row.version.parse().ok());
    // Where one row ends another has to begin.
    let bounds = rows().flat_map(|row| [Some(row.from), row.before.filter(|before| *before < last)]).flatten();
    let mut versions: Vec<CudaVersion> = releases.chain(bounds).filter(inside).collect();
    versions.sort();
    versions.dedup();
    let known: Option<Vec<_>> = versions.into_iter().map(|version| knowledge.needs_of(name, version)).collect();
    let mut known = known?.into_iter().rev();
    let mut asks = of_row(known.next()?);
    for row in known {
        asks.needs.retain(|soname| row.needs.contains(soname));
        asks.opens.retain(|soname| row.opens.contains(soname));
        asks.falls_back &= row.falls_back;
        asks.by_loader &= row.by_loader;
        // Which libraries come along with a release is told of that release alone.
        if asks.along.is_some() || row.along {
            return None;
        }
    }
    (asks.along.is_none() && !(asks.needs.is_empty() && asks.opens.is_empty())).then_some(asks)
}

/// A version below another and above all others that are.
fn just_below(version: CudaVersion) -> String {
    match (version.major(), version.minor()) {
        (0, 0) => String::from("0"),
        (major, 0) => format!("{}.{BEYOND}", major.saturating_sub(1)),
        (major, minor) => format!("{major}.{}.{BEYOND}", minor.saturating_sub(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(name: &str, range: &str) -> Option<String> {
        let asks = of_range(name, range, Knowledge::built_in())?;
        Some([asks.needs.join(" "), asks.opens.join(" ")].join(" | "))
    }

    #[test]
    fn a_range_asks_for_what_each_of_its_releases_does() {
        for (range, expected) in [
            (">=4.0,<5", " | libcublas.so.12"),
            (">=4,<4.9", " | libcublas.so.12"),
            ("~=4.6", " | libcublas.so.12"),
            (">=4.6.1,<4.9", " | libcublas.so.12"),
            (">=4.0,<4.5", " | libcublas.so.12 libcudnn_cnn_infer.so.8 libcudnn_ops_infer.so.8"),
            (">=4.5,<4.6.1", " | libcublas.so.12 libcudnn_cnn.so.9 libcudnn_ops.so.9"),
            (">=3,<4", " | libcublas.so.11 libcudnn_cnn_infer.so.8 libcudnn_ops_infer.so.8"),
            // Of two majors of CUDA nothing but the library without one in its name is common.
            (">=3.20,<4.2", " | libcudnn_cnn_infer.so.8 libcudnn_ops_infer.so.8"),
        ] {
            assert_eq!(common("ctranslate2", range).as_deref(), Some(expected), "{range}");
        }
    }

    #[test]
    fn a_range_of_which_a_part_is_not_known_asks_for_nothing_that_is() {
        for (name, range) in [
            // Without an end, and without a beginning.
            ("ctranslate2", ">=4.0"),
            ("ctranslate2", ""),
            ("ctranslate2", "<5"),
            ("ctranslate2", "!=4.2"),
            // Nothing is common.
            ("ctranslate2", ">=3.20,<4.8"),
            // Releases before the first row, and between two of them.
            ("cupy-cuda12x", ">=11,<13"),
            ("onnxruntime-gpu", ">=1.27,<1.32"),
            ("onnxruntime-gpu", ">=1.10,<1.14"),
            // What comes along is told of a release alone.
            ("torch", ">=2.1,<2.3"),
            ("no-such-thing", ">=1,<2"),
            ("ctranslate2", ">=9,<10"),
            ("ctranslate2", "not a range"),
        ] {
            assert_eq!(common(name, range), None, "{name} {range}");
        }
    }
}
