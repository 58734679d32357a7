//! Lookups by the name or version of a Python distribution.

use std::cmp::Ordering;

use crate::cuda::CudaVersion;
use crate::knowledge::natural_order::compare_natural;
use crate::knowledge::rows::FrameworkRow;
use crate::knowledge::{Knowledge, RowInfo};

impl Knowledge {
    /// Returns the framework whose versions have builds for several CUDA versions, such as torch.
    pub fn framework_with_variants(self) -> Option<&'static FrameworkRow> {
        self.frameworks().iter().find(|row| row.variants && row.distribution == row.component)
    }

    /// Returns the releases of a distribution in the tables, including those of dependencies with the same version.
    pub fn known_releases(self, distribution: &str) -> impl Iterator<Item = &'static str> {
        let brought = move |name: &str| {
            let mut rows = self.brought_packages().iter();
            rows.any(|row| row.distribution == distribution && row.brings == name && row.same)
        };
        let rows = self.framework_builds().iter().filter(|row| row.version != "*");
        rows.filter(move |row| row.distribution == distribution || brought(row.distribution)).map(|row| row.version)
    }

    /// Whether an extra of a release cannot be used with a Python version such as `3.11`; without a version, whether
    /// with any.
    pub fn is_unusable_extra(self, distribution: &str, extra: &str, version: &str, python: Option<&str>) -> bool {
        let mut rows = self.unmet_extras().iter();
        let for_python = |first: &str| python.is_some_and(|python| compare_natural(first, python).is_le());
        rows.any(|row| {
            (row.distribution, row.extra, row.version) == (distribution, extra, version)
                && row.python.is_none_or(for_python)
        })
    }

    /// Whether a distribution has libraries for several CUDA versions.
    pub fn has_bundled_variants(self, distribution: &str) -> bool {
        self.bundled_variants().iter().any(|row| row.distribution == distribution)
    }

    /// Whether a distribution, of any package manager, is a framework with builds for several CUDA versions.
    pub fn has_variants(self, distribution: &str) -> bool {
        self.framework(distribution).is_some_and(|row| row.variants)
    }

    /// Returns the package repositories with exceptional packages that a URL or a line of a sources list names.
    pub fn package_repositories_in(self, text: &str) -> impl Iterator<Item = &'static str> {
        self.repository_packages().iter().map(|row| row.repository).filter(move |part| text.contains(part))
    }

    /// Returns the name that other repositories use for a package of a repository.
    pub fn common_package_name(self, repository: &str, name: &str) -> Option<String> {
        self.repository_packages().iter().filter(|row| row.repository == repository).find_map(|row| {
            let rest = name.strip_prefix(row.name)?;
            let fits = if row.prefix { rest.starts_with(|c: char| c.is_ascii_digit()) } else { rest.is_empty() };
            fits.then(|| format!("{}{rest}", row.brings))
        })
    }

    /// Returns the CUDA version in the name of a distribution: 12 for `cudf-cu12`, 12.0 for `spconv-cu120`.
    pub fn cuda_of_name(self, distribution: &str) -> Option<(CudaVersion, &'static RowInfo)> {
        let digit = |name: &str| name.ends_with(|one: char| one.is_ascii_digit());
        self.cuda_names().iter().find_map(|row| {
            distribution.strip_suffix(row.after).filter(|name| digit(name))?;
            let (name, rest) = distribution.rsplit_once(row.mark)?;
            let digits = rest.strip_suffix(row.after)?;
            let cuda = self.cuda_from_digits(digits).filter(|_| !name.is_empty())?;
            let told = if row.minor { Some(cuda) } else { cuda.major().to_string().parse().ok() };
            told.map(|cuda| (cuda, &row.info))
        })
    }

    /// Returns the CUDA version in the version of a distribution: 11 for jaxlib `0.4.14+cuda11.cudnn86`.
    pub fn cuda_of_version(self, distribution: &str, version: &str) -> Option<(CudaVersion, &'static RowInfo)> {
        self.cuda_locals_of(distribution).find_map(|row| {
            let (release, rest) = version.split_once(row.mark)?;
            let digits = rest.split(|one: char| !one.is_ascii_digit()).next()?;
            let reached = |bound: &str| compare_natural(release, bound) != Ordering::Less;
            if !row.from.is_none_or(reached) || row.before.is_some_and(reached) {
                return None;
            }
            let cuda = match row.digits {
                Some(own) => row.cuda.filter(|_| own == digits),
                None => self.cuda_from_digits(digits),
            };
            cuda.map(|cuda| (cuda, &row.info))
        })
    }

    /// Parses a CUDA version without a dot: 12 of `12`, 12.4 of `124`, 9.2 of `92`. `None` if it has never existed.
    pub(super) fn cuda_from_digits(self, digits: &str) -> Option<CudaVersion> {
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        let (major, minor) = digits.split_at_checked(digits.len().checked_sub(1)?).filter(|_| plain)?;
        let release: CudaVersion = format!("{major}.{minor}").parse().ok()?;
        let told = match digits.len() {
            2 if self.toolkit(release).is_none() => digits.parse().ok(),
            2 | 3 => Some(release),
            _ => None,
        };
        told.filter(|cuda| !self.is_nonexistent_cuda(*cuda) && cuda.major() <= self.newest_cuda().major() + 1)
    }

    /// Returns the row of a distribution that uses CUDA without a CUDA version in its name.
    pub fn gpu_package(self, distribution: &str) -> Option<&'static RowInfo> {
        self.gpu_packages_of(distribution).next().map(|row| &row.info)
    }
}

#[cfg(test)]
mod tests {
    use crate::knowledge::Knowledge;

    #[test]
    fn versions_tell_their_cuda_where_a_distribution_writes_it_there() {
        for (name, version, expected) in [
            ("jaxlib", "0.4.14+cuda11.cudnn86", Some("11")),
            ("jaxlib", "0.1.75+cuda11.cudnn82", Some("11")),
            ("jaxlib", "0.1.65+cuda111", Some("11.1")),
            ("jaxlib", "0.1.65+cuda101", Some("10.1")),
            ("paddlepaddle-gpu", "2.4.2.post112", Some("11.2")),
            ("paddlepaddle-gpu", "2.0.0.post101", Some("10.1")),
            ("paddlepaddle-gpu", "2.0.0.post90", Some("9.0")),
            ("paddlepaddle-gpu", "1.6.2.post107", Some("10.0")),
            ("paddlepaddle-gpu", "1.8.5.post97", Some("9.0")),
            ("paddlepaddle-gpu", "0.14.0.post87", Some("8.0")),
            ("paddlepaddle-gpu", "1.8.5.post101", None),
            ("paddlepaddle-gpu", "1.8.5.post9", None),
            ("paddlepaddle-gpu", "2.4.2.post107", None),
            ("paddlepaddle-gpu", "2.4.2.post97", None),
            ("paddlepaddle-gpu", "2.4.2", None),
            ("jaxlib", "0.4.14", None),
            ("jaxlib", "0.4.14+rocm60", None),
            ("jaxlib", "0.4.14+cuda", None),
            ("jaxlib", "0.4.14+cuda1", None),
            ("numpy", "1.26.4+cuda12", None),
            ("paddlepaddle", "2.4.2.post112", None),
        ] {
            let told = Knowledge::built_in().cuda_of_version(name, version).map(|(cuda, _)| cuda.to_string());
            assert_eq!(told.as_deref(), expected, "{name} {version}");
        }
    }

    #[test]
    fn names_tell_their_cuda_and_names_that_merely_look_so_tell_none() {
        for (name, expected) in [
            ("cudf-cu12", Some("12")),
            ("spconv-cu120", Some("12.0")),
            ("spconv-cu118", Some("11.8")),
            ("dgl-cu92", Some("9.2")),
            ("mxnet-cu100", Some("10.0")),
            ("nvidia-dali-cuda120", Some("12")),
            ("cupy-cuda12x", Some("12")),
            ("somebodys-cu14", Some("14")),
            ("pycuda", None),
            ("xgboost-cpu", None),
            ("faiss-cpu", None),
            ("nvidia-ml-py", None),
            ("nvidia-ml-py3", None),
            ("nvidia-pyindex", None),
            ("cuda-python", None),
            ("numpy-12", None),
            ("acu12", None),
            ("-cu12", None),
            ("x-cu", None),
            ("x-cu1", None),
            ("x-cu012", None),
            ("x-cu1200", None),
            ("x-cu107", None),
            ("x-cu97", None),
            ("x-cu12x", None),
            ("x-cu12-bindings", None),
            ("x-cu١٢", None),
            ("", None),
        ] {
            let told = Knowledge::built_in().cuda_of_name(name).map(|(cuda, _)| cuda.to_string());
            assert_eq!(told.as_deref(), expected, "{name}");
        }
    }
}
