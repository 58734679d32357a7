//! Tags of CUDA images, and their parts.

use crate::cuda::CudaVersion;

/// The parts of a CUDA image tag such as `12.4.1-cudnn-devel-ubuntu22.04`.
pub(super) struct CudaTag<'a> {
    pub(super) version: &'a str,
    pub(super) cudnn: Option<&'a str>,
    pub(super) flavour: &'a str,
    pub(super) os: &'a str,
}

impl<'a> CudaTag<'a> {
    /// Splits a tag into its parts; `None` if it has another form.
    pub(super) fn parse(tag: &'a str) -> Option<Self> {
        let words: Vec<&str> = tag.split('-').collect();
        let (version, cudnn, flavour, os) = match words.as_slice() {
            [version, flavour, os] => (*version, None, *flavour, *os),
            [version, cudnn, flavour, os] if cudnn.starts_with("cudnn") => (*version, Some(*cudnn), *flavour, *os),
            _ => return None,
        };
        Some(Self { version, cudnn, flavour, os })
    }
}

/// Returns the CUDA version in the tag of a CUDA base image.
pub(super) fn cuda_version_from_tag(image: &str) -> Option<CudaVersion> {
    let (_, tag) = image.rsplit_once(':')?;
    CudaTag::parse(tag)?.version.parse().ok()
}

/// Returns the release of an operating system as a number, `2204` for `ubuntu22.04`, so that differences measure
/// distance.
pub(super) fn os_release_number(system: &str) -> u32 {
    let digits: String = system.chars().filter(char::is_ascii_digit).take(6).collect();
    digits.parse().unwrap_or(0)
}
