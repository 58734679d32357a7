//! What a person cannot mean in a description, although each value is of the right type.

use crate::describe::Description;
use crate::dockerfile::Platform;
use crate::dockerfile::is_platform;
use crate::nearest::nearest;
use crate::toml_reader::Reader;

/// Platforms that nodes with GPUs have.
const PLATFORMS: &[&str] = &["linux/amd64", "linux/arm64"];

/// What a person cannot mean.
pub(super) fn checked(reader: &mut Reader, description: &Description) {
    for platform in description.platforms.iter().filter(|platform| !is_platform(&platform.value)) {
        let near = match Platform::read(&platform.value) {
            Some(Platform::Whole(name)) if is_platform(&name) => Some(name),
            _ => nearest(&platform.value, PLATFORMS.iter().copied()).map(str::to_owned),
        };
        let such = || format!("such as {}", PLATFORMS.join(" or "));
        let help = near.map_or_else(such, |name| format!("did you mean `{name}`?"));
        let message = format!("`{}` is not a platform: expected os/architecture", platform.value);
        reader.report(platform.span, message, Some(help));
    }
    let relative = description.files.iter().map(|(path, _)| path).filter(|path| !path.value.starts_with('/'));
    for path in relative {
        let message = format!("`{}` is not an absolute path", path.value);
        reader.report(path.span, message, Some(format!("did you mean `/{}`?", path.value.trim_start_matches("./"))));
    }
}
