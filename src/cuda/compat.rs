//! Decides whether the container stack uses the compat libraries of an image.

use std::fmt;
use std::fmt::Write;

use crate::cuda::{CudaVersion, DriverVersion};

/// NVIDIA's note in a compat library: the drivers and devices with which it works.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CompatNote {
    /// CUDA version of the library.
    pub cuda: Option<CudaVersion>,
    /// Kernel-mode branches.
    pub driver: Vec<u32>,
    /// NVML brand numbers.
    pub device: Vec<u32>,
}

/// The value of `--cuda-compat-mode` of libnvidia-container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CudaCompatMode {
    /// Libraries of another major version are mounted in addition to those of the host.
    Mount,
    /// The directory of libraries of a greater major version is first in the `ldconfig` call.
    Ldconfig,
    /// No compat library is used.
    Disabled,
}

/// The rule by which the `enable-cuda-compat` hook decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompatHookRule {
    /// By the majors of both drivers.
    Majors,
    /// By the library's note where there is one, else by the majors.
    Note,
    /// By the CUDA version in the note alone.
    Cuda,
}

/// The host versions that the hook knows; `None` for a version that is missing or invalid.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompatHookHost {
    /// Kernel-mode driver.
    pub driver: Option<DriverVersion>,
    /// Newest CUDA of that driver; given in csv mode alone.
    pub cuda: Option<CudaVersion>,
}

/// Whether libnvidia-container uses a library of the compat directory.
///
/// It compares text, over as many characters as the library's major has: a host 99 is no less than a library 222.
pub fn cli_uses_compat_library(mode: CudaCompatMode, library: DriverVersion, host: DriverVersion) -> bool {
    let (own, other) = (library.branch(), host.branch());
    // Numbers of as many digits compare as their texts do.
    if library.0.first_component_width() == host.0.first_component_width() {
        return match mode {
            CudaCompatMode::Mount => other != own,
            CudaCompatMode::Ldconfig => other < own,
            CudaCompatMode::Disabled => false,
        };
    }
    let (library, host) = (VersionText::from_version(library), VersionText::from_version(host));
    let major = library.bytes().split(|byte| *byte == b'.').next().unwrap_or_default();
    let host = host.bytes().get(..major.len()).unwrap_or(host.bytes());
    match mode {
        CudaCompatMode::Mount => host != major,
        CudaCompatMode::Ldconfig => host < major,
        CudaCompatMode::Disabled => false,
    }
}

/// Whether the hook puts the only library of the compat directory first in the search order.
pub fn hook_uses_compat_library(
    rule: CompatHookRule,
    library: DriverVersion,
    note: Option<&CompatNote>,
    host: CompatHookHost,
) -> bool {
    let greater_major = || host.driver.is_some_and(|driver| driver.branch() < library.branch());
    let newer_cuda = || note.and_then(|note| note.cuda).zip(host.cuda).is_some_and(|(note, host)| note > host);
    match rule {
        CompatHookRule::Majors => greater_major(),
        CompatHookRule::Cuda => newer_cuda(),
        CompatHookRule::Note => match (note, host.driver) {
            (Some(note), Some(driver)) => note.driver.contains(&driver.branch()) && library > driver,
            (Some(_), None) => newer_cuda(),
            (None, _) => host.cuda.is_none() && greater_major(),
        },
    }
}

/// Returns the candidate if there is exactly one; the hook uses none of several.
pub fn exactly_one<T>(mut candidates: impl Iterator<Item = T>) -> Option<T> {
    let first = candidates.next()?;
    candidates.next().is_none().then_some(first)
}

/// A version as text, without a heap allocation.
struct VersionText {
    bytes: [u8; 48],
    len: usize,
}

impl VersionText {
    /// Formats a version; what does not fit is cut off.
    fn from_version(version: DriverVersion) -> Self {
        let mut text = Self { bytes: [0; 48], len: 0 };
        // Four numbers of nine digits fit; what does not is cut off.
        let _ = write!(text, "{version}");
        text
    }

    /// Returns the text as bytes.
    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl Write for VersionText {
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
            (CudaCompatMode::Mount, "515.65.01", "460.32.03", true),
            (CudaCompatMode::Mount, "450.51.06", "460.32.03", true),
            (CudaCompatMode::Mount, "460.91.03", "460.32.03", false),
            (CudaCompatMode::Ldconfig, "515.65.01", "460.32.03", true),
            (CudaCompatMode::Ldconfig, "450.51.06", "460.32.03", false),
            (CudaCompatMode::Ldconfig, "460.91.03", "460.32.03", false),
            (CudaCompatMode::Ldconfig, "1000.1", "999.9", false),
            (CudaCompatMode::Disabled, "515.65.01", "460.32.03", false),
        ] {
            assert_eq!(
                cli_uses_compat_library(mode, version(library), version(host)),
                kept,
                "{mode:?} {library} on {host}"
            );
        }
    }

    #[test]
    fn compat_hook_compares_driver_branches_or_cuda_by_its_rule() {
        let note = CompatNote { cuda: "12.9".parse().ok(), driver: vec![535, 575], device: Vec::new() };
        let on = |driver: &str, cuda: &str| CompatHookHost { driver: driver.parse().ok(), cuda: cuda.parse().ok() };
        for (rule, note, host, used) in [
            (CompatHookRule::Majors, Some(&note), on("545.23.08", ""), true),
            (CompatHookRule::Majors, None, on("575.10.10", ""), false),
            (CompatHookRule::Majors, None, on("580.65.06", ""), false),
            (CompatHookRule::Majors, None, on("", "12.4"), false),
            (CompatHookRule::Note, Some(&note), on("535.161.08", ""), true),
            (CompatHookRule::Note, Some(&note), on("545.23.08", ""), false),
            (CompatHookRule::Note, Some(&note), on("575.64.03", ""), false),
            (CompatHookRule::Note, Some(&note), on("", "12.8"), true),
            (CompatHookRule::Note, None, on("535.161.08", ""), true),
            (CompatHookRule::Note, None, on("", "12.8"), false),
            (CompatHookRule::Cuda, Some(&note), on("540.4.0", "12.6"), true),
            (CompatHookRule::Cuda, Some(&note), on("540.4.0", "12.10"), false),
            (CompatHookRule::Cuda, None, on("540.4.0", "12.6"), false),
        ] {
            assert_eq!(
                hook_uses_compat_library(rule, version("575.57.08"), note, host),
                used,
                "{rule:?} {note:?} {host:?}"
            );
        }
    }

    #[test]
    fn exactly_one_refuses_several_candidates() {
        assert_eq!(exactly_one([1].into_iter()), Some(1));
        assert_eq!(exactly_one([1, 2].into_iter()), None);
        assert_eq!(exactly_one([0; 0].into_iter()), None);
    }
}
