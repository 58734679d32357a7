//! Checks values of a description that have the right type but are certainly mistakes.

use crate::describe::ImageDescription;
use crate::dockerfile::{PlatformSpecifier, is_canonical_platform};
use crate::knowledge::toml_reader::Reader;
use crate::text::nearest::nearest_word;

/// Platforms of nodes with GPUs, which error messages suggest.
const COMMON_PLATFORMS: &[&str] = &["linux/amd64", "linux/arm64"];

/// Reports invalid platforms and relative paths in a description.
pub(super) fn validate(reader: &mut Reader, description: &ImageDescription) {
    for platform in description.platforms.iter().filter(|platform| !is_canonical_platform(&platform.value)) {
        let near = match PlatformSpecifier::parse(&platform.value) {
            Some(PlatformSpecifier::Whole(name)) if is_canonical_platform(&name) => Some(name),
            _ => nearest_word(&platform.value, COMMON_PLATFORMS.iter().copied()).map(str::to_owned),
        };
        let such = || format!("such as {}", COMMON_PLATFORMS.join(" or "));
        let help = near.map_or_else(such, |name| format!("did you mean `{name}`?"));
        let message = format!("`{}` is not a platform: expected system/architecture", platform.value);
        reader.report(platform.span, message, Some(help));
    }
    let relative = description.files.iter().map(|(path, _)| path).filter(|path| !path.value.starts_with('/'));
    for path in relative {
        let message = format!("`{}` is not an absolute path in the image", path.value);
        reader.report(path.span, message, Some(format!("did you mean `/{}`?", path.value.trim_start_matches("./"))));
    }
}
