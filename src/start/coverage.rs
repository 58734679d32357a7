//! Coverage: how much of a library's code a GPU can run.

use crate::cuda::CodeTarget;
use crate::cuda::ComputeCapability;
use crate::cuda::Suffix;
use crate::fact::Library;
use crate::fact::Signature;
use crate::knowledge::Knowledge;

/// From this percentage on, the remaining containers are parts for one generation of GPUs. Measured: 87 to 100 on every GPU
/// that a build is for.
const NEARLY_ALL_PERCENT: usize = 80;

/// How much of a library a GPU can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// No container.
    None,
    /// Some containers: it is unknown whether a program runs the others.
    Part,
    /// Nearly all containers.
    Most,
}

/// How many containers of a library a GPU can run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// By machine code.
    pub cubin: usize,
    /// By compiling PTX, of those without machine code for it.
    pub ptx: usize,
    /// By compiling PTX, whatever machine code there is.
    pub compiled: usize,
    /// All that hold code.
    pub all: usize,
    /// Whether there is PTX for it that is linked while the program runs, if at all.
    pub linkable: bool,
    /// Whether there may be code that nobody has spoken of.
    pub unsaid: bool,
    /// Whether there is code that it could run, and a variable keeps it from being used.
    pub switched_off: bool,
}

impl Coverage {
    /// The same where the environment keeps PTX from being compiled, or has it compiled in the place of machine code.
    pub(super) fn switched(self, off: bool, forced: bool) -> Self {
        let (cubin, ptx) = if forced { (0, self.compiled) } else { (self.cubin, self.ptx) };
        let (ptx, linkable) = if off { (0, false) } else { (ptx, self.linkable) };
        let switched_off = self.runnable() > 0 && cubin + ptx == 0;
        Self { cubin, ptx, linkable, switched_off, ..self }
    }

    /// How many containers run, by machine code or by PTX.
    pub(super) fn runnable(self) -> usize {
        self.cubin + self.ptx
    }

    /// The share that so many of its containers are.
    pub fn share(self, containers: usize) -> Share {
        match containers {
            0 => Share::None,
            _ if containers.saturating_mul(100) >= self.all.saturating_mul(NEARLY_ALL_PERCENT) => Share::Most,
            _ => Share::Part,
        }
    }
}

/// How many containers of a library a GPU can run; containers without any code are left out.
pub fn coverage(library: &Library, gpu: ComputeCapability, jetson: bool, knowledge: Knowledge) -> Coverage {
    let linkable = library.linkable.iter().any(|target| ptx_runs(*target, gpu, knowledge));
    let mut found = Coverage { linkable, unsaid: library.unsaid, ..Coverage::default() };
    for (container, number) in &library.containers {
        if container.sass.is_empty() && container.ptx.is_empty() {
            continue;
        }
        found.all += number;
        let compiles = container.ptx.iter().any(|target| ptx_runs(*target, gpu, knowledge));
        found.compiled += if compiles { *number } else { 0 };
        if runs_cubin(container, gpu, jetson, knowledge) {
            found.cubin += number;
        } else if compiles {
            found.ptx += number;
        }
    }
    found
}

fn runs_cubin(container: &Signature, gpu: ComputeCapability, jetson: bool, knowledge: Knowledge) -> bool {
    container.sass.iter().any(|target| cubin_runs(*target, gpu, jetson, knowledge))
}

/// A cubin runs on its own major from its minor on; on one capability with `a`; in its family with `f`.
/// There is no binary compatibility between Tegra modules and anything else.
pub(super) fn cubin_runs(target: CodeTarget, gpu: ComputeCapability, jetson: bool, knowledge: Knowledge) -> bool {
    let named = target.capability;
    if jetson || knowledge.tegra_capability(named) {
        return named == gpu;
    }
    match target.suffix {
        Suffix::None => named.major == gpu.major && named.minor <= gpu.minor,
        Suffix::ArchitectureSpecific => named == gpu,
        Suffix::FamilySpecific => in_family(named, gpu, knowledge),
    }
}

/// PTX compiles for its capability and everything later; with a suffix no further than a cubin reaches.
fn ptx_runs(target: CodeTarget, gpu: ComputeCapability, knowledge: Knowledge) -> bool {
    match target.suffix {
        Suffix::None => target.capability <= gpu,
        Suffix::ArchitectureSpecific => target.capability == gpu,
        Suffix::FamilySpecific => in_family(target.capability, gpu, knowledge),
    }
}

fn in_family(named: ComputeCapability, gpu: ComputeCapability, knowledge: Knowledge) -> bool {
    named.minor <= gpu.minor && knowledge.family(named).contains(&gpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sass: &[&str], ptx: &[&str], gpu: &str, jetson: bool) -> (usize, usize) {
        let targets = |list: &[&str]| list.iter().map(|text| text.parse().expect("target")).collect();
        let signature = Signature { sass: targets(sass), ptx: targets(ptx) };
        let library = Library { file: String::new(), containers: vec![(signature, 1)], ..Library::default() };
        let coverage = coverage(&library, gpu.parse().expect(gpu), jetson, Knowledge::built_in());
        assert_eq!(coverage.all, 1);
        (coverage.cubin, coverage.ptx)
    }

    const CUBIN: (usize, usize) = (1, 0);
    const PTX: (usize, usize) = (0, 1);
    const NONE: (usize, usize) = (0, 0);

    #[test]
    fn code_reaches_as_far_as_the_programming_guide_says() {
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
            assert_eq!(found(sass, ptx, gpu, false), expected, "{sass:?} {ptx:?} on {gpu}");
        }
    }

    #[test]
    fn tegra_runs_only_what_names_it() {
        assert_eq!(found(&["sm_80"], &[], "8.7", true), NONE);
        assert_eq!(found(&["sm_87"], &[], "8.7", true), CUBIN);
        assert_eq!(found(&["sm_80"], &["compute_80"], "8.7", true), PTX);
        assert_eq!(found(&["sm_87"], &[], "8.9", false), NONE);
    }

    #[test]
    fn between_no_container_and_nearly_all_is_a_part() {
        for (runnable, all, expected) in [
            (100, 100, Share::Most),
            (80, 100, Share::Most),
            (79, 100, Share::Part),
            (1, 100, Share::Part),
            (0, 100, Share::None),
            (0, 0, Share::None),
            (1, 1, Share::Most),
        ] {
            let coverage = Coverage { all, ..Coverage::default() };
            assert_eq!(coverage.share(runnable), expected, "{runnable} of {all}");
        }
    }
}
