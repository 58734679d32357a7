//! Coverage: how many code containers of a library a GPU can run.

use crate::cuda::{CodeTarget, ComputeCapability, TargetSuffix};
use crate::knowledge::Knowledge;
use crate::model::fact::{CodeTargets, GpuCodeLibrary};

/// Percentage of runnable containers from which on the others count as parts for one generation of GPUs. Measured: 87
/// to 100 on every GPU that a build targets.
const NEARLY_ALL_PERCENT: usize = 80;

/// How much of a library's code a GPU can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoverageShare {
    /// No container.
    None,
    /// Some containers: it is unknown whether a program runs the others.
    Part,
    /// Nearly all containers.
    Most,
}

/// Numbers of code containers of a library that a GPU can run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeCoverage {
    /// Containers with native code for the GPU.
    pub cubin: usize,
    /// Containers without native code for the GPU, but with PTX that compiles for it.
    pub ptx: usize,
    /// Containers with PTX that compiles for the GPU, with or without native code.
    pub compiled: usize,
    /// All containers that hold any code.
    pub all: usize,
    /// Whether there is PTX for the GPU that may be linked at run time.
    pub linkable: bool,
    /// Whether there may be code that is not listed.
    pub has_unknown_code: bool,
    /// Whether the GPU could run some code that an environment variable disables.
    pub switched_off: bool,
}

impl CodeCoverage {
    /// Returns the coverage where the environment disables the compilation of PTX, or forces it instead of native
    /// code.
    pub(super) fn with_ptx_settings(self, off: bool, forced: bool) -> Self {
        let (cubin, ptx) = if forced { (0, self.compiled) } else { (self.cubin, self.ptx) };
        let (ptx, linkable) = if off { (0, false) } else { (ptx, self.linkable) };
        let switched_off = self.runnable() > 0 && cubin + ptx == 0;
        Self { cubin, ptx, linkable, switched_off, ..self }
    }

    /// Returns how many containers run, by native code or by PTX.
    pub(super) fn runnable(self) -> usize {
        self.cubin + self.ptx
    }

    /// Returns which share of all containers a number of containers is.
    pub fn share(self, containers: usize) -> CoverageShare {
        match containers {
            0 => CoverageShare::None,
            _ if containers.saturating_mul(100) >= self.all.saturating_mul(NEARLY_ALL_PERCENT) => CoverageShare::Most,
            _ => CoverageShare::Part,
        }
    }
}

/// Counts the code containers of a library that a GPU can run; containers without code are left out.
pub fn code_coverage(
    library: &GpuCodeLibrary,
    gpu: ComputeCapability,
    jetson: bool,
    knowledge: Knowledge,
) -> CodeCoverage {
    let linkable = library.linkable.iter().any(|target| ptx_runs(*target, gpu, knowledge));
    let mut found = CodeCoverage { linkable, has_unknown_code: library.has_unknown_code, ..CodeCoverage::default() };
    for (container, number) in &library.containers {
        if container.sass.is_empty() && container.ptx.is_empty() {
            continue;
        }
        found.all += number;
        let compiles = container.ptx.iter().any(|target| ptx_runs(*target, gpu, knowledge));
        found.compiled += if compiles { *number } else { 0 };
        if has_matching_cubin(container, gpu, jetson, knowledge) {
            found.cubin += number;
        } else if compiles {
            found.ptx += number;
        }
    }
    found
}

/// Whether a container has native code that runs on the GPU.
fn has_matching_cubin(container: &CodeTargets, gpu: ComputeCapability, jetson: bool, knowledge: Knowledge) -> bool {
    container.sass.iter().any(|target| cubin_runs(*target, gpu, jetson, knowledge))
}

/// Whether a cubin runs on a GPU: on its major from its minor on; with `a` on one capability, with `f` in its family.
/// There is no binary compatibility between Tegra modules and other GPUs.
pub(super) fn cubin_runs(target: CodeTarget, gpu: ComputeCapability, jetson: bool, knowledge: Knowledge) -> bool {
    let named = target.capability;
    if jetson || knowledge.is_tegra_capability(named) {
        return named == gpu;
    }
    match target.suffix {
        TargetSuffix::None => named.major == gpu.major && named.minor <= gpu.minor,
        TargetSuffix::ArchitectureSpecific => named == gpu,
        TargetSuffix::FamilySpecific => is_in_family(named, gpu, knowledge),
    }
}

/// Whether PTX compiles for a GPU of its capability or a later one; with a suffix no further than a cubin runs.
fn ptx_runs(target: CodeTarget, gpu: ComputeCapability, knowledge: Knowledge) -> bool {
    match target.suffix {
        TargetSuffix::None => target.capability <= gpu,
        TargetSuffix::ArchitectureSpecific => target.capability == gpu,
        TargetSuffix::FamilySpecific => is_in_family(target.capability, gpu, knowledge),
    }
}

/// Whether a GPU belongs to the family of a capability, with no lower minor.
fn is_in_family(named: ComputeCapability, gpu: ComputeCapability, knowledge: Knowledge) -> bool {
    named.minor <= gpu.minor && knowledge.family_members(named).contains(&gpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers of containers that run by native code and by PTX, of a library with one container.
    fn count_runnable(sass: &[&str], ptx: &[&str], gpu: &str, jetson: bool) -> (usize, usize) {
        let targets = |list: &[&str]| list.iter().map(|text| text.parse().expect("target")).collect();
        let signature = CodeTargets { sass: targets(sass), ptx: targets(ptx) };
        let library =
            GpuCodeLibrary { file: String::new(), containers: vec![(signature, 1)], ..GpuCodeLibrary::default() };
        let coverage = code_coverage(&library, gpu.parse().expect(gpu), jetson, Knowledge::built_in());
        assert_eq!(coverage.all, 1);
        (coverage.cubin, coverage.ptx)
    }

    /// One container runs by native code.
    const CUBIN: (usize, usize) = (1, 0);
    /// One container runs by PTX.
    const PTX: (usize, usize) = (0, 1);
    /// No container runs.
    const NONE: (usize, usize) = (0, 0);

    #[test]
    fn code_runs_as_the_programming_guide_specifies() {
        for (sass, ptx, gpu, expected) in [
            (&["sm_70"][..], &[][..], "7.5", CUBIN),
            (&["sm_75"], &[], "7.0", NONE),
            (&["sm_70"], &[], "8.0", NONE),
            (&["sm_70"], &["compute_70"], "8.0", PTX),
            (&["sm_80"], &[], "8.9", CUBIN),
            (&["sm_86"], &[], "8.0", NONE),
            (&["sm_90a"], &[], "9.0", CUBIN),
            (&["sm_90a"], &["compute_90a"], "10.0", NONE),
            (&["sm_100f"], &[], "10.3", CUBIN),
            (&["sm_103f"], &[], "10.0", NONE),
            (&["sm_100f"], &[], "12.0", NONE),
            (&["sm_120a"], &[], "12.1", NONE),
            (&["sm_90"], &["compute_90"], "12.0", PTX),
            (&[], &["compute_120"], "10.0", NONE),
        ] {
            assert_eq!(count_runnable(sass, ptx, gpu, false), expected, "{sass:?} {ptx:?} on {gpu}");
        }
    }

    #[test]
    fn tegra_runs_only_code_for_its_capability() {
        assert_eq!(count_runnable(&["sm_80"], &[], "8.7", true), NONE);
        assert_eq!(count_runnable(&["sm_87"], &[], "8.7", true), CUBIN);
        assert_eq!(count_runnable(&["sm_80"], &["compute_80"], "8.7", true), PTX);
        assert_eq!(count_runnable(&["sm_87"], &[], "8.9", false), NONE);
    }

    #[test]
    fn the_share_between_none_and_nearly_all_is_a_part() {
        for (runnable, all, expected) in [
            (100, 100, CoverageShare::Most),
            (80, 100, CoverageShare::Most),
            (79, 100, CoverageShare::Part),
            (1, 100, CoverageShare::Part),
            (0, 100, CoverageShare::None),
            (0, 0, CoverageShare::None),
            (1, 1, CoverageShare::Most),
        ] {
            let coverage = CodeCoverage { all, ..CodeCoverage::default() };
            assert_eq!(coverage.share(runnable), expected, "{runnable} of {all}");
        }
    }
}
