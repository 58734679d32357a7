//! What the container stack does with the compat libraries of an image: decisions on plain values.

use std::fmt;
use std::fmt::Write;

use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;

/// NVIDIA's note inside a compat library: what it may be used on.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ElfNote {
    /// CUDA version of the library.
    pub cuda: Option<CudaVersion>,
    /// Kernel-mode branches.
    pub driver: Vec<u32>,
    /// NVML brand numbers.
    pub device: Vec<u32>,
}

/// What libnvidia-container was told by `--cuda-compat-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CliCompat {
    /// Libraries of another major are mounted beside the host's.
    Mount,
    /// The directory of libraries of a greater major goes first in the `ldconfig` call.
    Ldconfig,
    /// None is used.
    Disabled,
}

/// How the `enable-cuda-compat` hook decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookRule {
    /// By the majors of both drivers.
    Majors,
    /// By the library's note where there is one, else by the majors.
    Note,
    /// By the CUDA version in the note alone.
    Cuda,
}

/// What the hook is told of the host; nothing where a version is not given or cannot be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct HookHost {
    /// Kernel-mode driver.
    pub driver: Option<DriverVersion>,
    /// Newest CUDA of that driver; given in csv mode alone.
    pub cuda: Option<CudaVersion>,
}

/// Whether libnvidia-container keeps a library of the compat directory.
///
/// It compares text, over as many characters as the library's major has: a host 99 is no less than a library 222.
pub fn cli_keeps(mode: CliCompat, library: DriverVersion, host: DriverVersion) -> bool {
    let (own, other) = (library.branch(), host.branch());
    // Numbers of as many digits compare as their texts do.
    if library.0.first_digits() == host.0.first_digits() {
        return match mode {
            CliCompat::Mount => other != own,
            CliCompat::Ldconfig => other < own,
            CliCompat::Disabled => false,
        };
    }
    let (library, host) = (Text::of(library), Text::of(host));
    let major = library.bytes().split(|byte| *byte == b'.').next().unwrap_or_default();
    let host = host.bytes().get(..major.len()).unwrap_or(host.bytes());
    match mode {
        CliCompat::Mount => host != major,
        CliCompat::Ldconfig => host < major,
        CliCompat::Disabled => false,
    }
}

/// Whether the hook puts the only library of the compat directory first.
pub fn hook_uses(rule: HookRule, library: DriverVersion, note: Option<&ElfNote>, host: HookHost) -> bool {
    let greater_major = || host.driver.is_some_and(|driver| driver.branch() < library.branch());
    let newer_cuda = || note.and_then(|note| note.cuda).zip(host.cuda).is_some_and(|(note, host)| note > host);
    match rule {
        HookRule::Majors => greater_major(),
        HookRule::Cuda => newer_cuda(),
        HookRule::Note => match (note, host.driver) {
            (Some(note), Some(driver)) => note.driver.contains(&driver.branch()) && library > driver,
            (Some(_), None) => newer_cuda(),
            (None, _) => host.cuda.is_none() && greater_major(),
        },
    }
}

/// The candidate, where there is exactly one: of several the hook takes none.
pub fn only<T>(mut candidates: impl Iterator<Item = T>) -> Option<T> {
    let first = candidates.next()?;
    candidates.next().is_none().then_some(first)
}

/// A version as written, without the heap.
struct Text {
    bytes: [u8; 48],
    len: usize,
}

impl Text {
    fn of(version: DriverVersion) -> Self {
        let mut text = Self { bytes: [0; 48], len: 0 };
        // Four numbers of nine digits fit; what does not is cut off.
        let _ = write!(text, "{version}");
        text
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let end = self.len + part.len();
        let place = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;
        place.copy_from_slice(part.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> DriverVersion {
        text.parse().expect(text)
    }

    #[test]
    fn libnvidia_container_compares_majors_as_text() {
        for (mode, library, host, kept) in [
            (CliCompat::Mount, "515.65.01", "460.32.03", true),
            (CliCompat::Mount, "450.51.06", "460.32.03", true),
            (CliCompat::Mount, "460.91.03", "460.32.03", false),
            (CliCompat::Ldconfig, "515.65.01", "460.32.03", true),
            (CliCompat::Ldconfig, "450.51.06", "460.32.03", false),
            (CliCompat::Ldconfig, "460.91.03", "460.32.03", false),
            (CliCompat::Ldconfig, "1000.1", "999.9", false),
            (CliCompat::Disabled, "515.65.01", "460.32.03", false),
        ] {
            assert_eq!(cli_keeps(mode, version(library), version(host)), kept, "{mode:?} {library} on {host}");
        }
    }

    #[test]
    fn the_hook_asks_what_its_rule_says() {
        let note = ElfNote { cuda: "12.9".parse().ok(), driver: vec![535, 575], device: Vec::new() };
        let on = |driver: &str, cuda: &str| HookHost { driver: driver.parse().ok(), cuda: cuda.parse().ok() };
        for (rule, note, host, used) in [
            (HookRule::Majors, Some(&note), on("545.23.08", ""), true),
            (HookRule::Majors, None, on("575.10.10", ""), false),
            (HookRule::Majors, None, on("580.65.06", ""), false),
            (HookRule::Majors, None, on("", "12.4"), false),
            (HookRule::Note, Some(&note), on("535.161.08", ""), true),
            (HookRule::Note, Some(&note), on("545.23.08", ""), false),
            (HookRule::Note, Some(&note), on("575.64.03", ""), false),
            (HookRule::Note, Some(&note), on("", "12.8"), true),
            (HookRule::Note, None, on("535.161.08", ""), true),
            (HookRule::Note, None, on("", "12.8"), false),
            (HookRule::Cuda, Some(&note), on("540.4.0", "12.6"), true),
            (HookRule::Cuda, Some(&note), on("540.4.0", "12.10"), false),
            (HookRule::Cuda, None, on("540.4.0", "12.6"), false),
        ] {
            assert_eq!(hook_uses(rule, version("575.57.08"), note, host), used, "{rule:?} {note:?} {host:?}");
        }
    }

    #[test]
    fn of_several_candidates_none_is_the_only_one() {
        assert_eq!(only([1].into_iter()), Some(1));
        assert_eq!(only([1, 2].into_iter()), None);
        assert_eq!(only([0; 0].into_iter()), None);
    }
}
