//! Reads an RPM package header: a list of tags, followed by their data.

use crate::layer::installed::clean_value;
use crate::layer::installed::rpm::read_be_u32;

const NAME_TAG: usize = 1000;
const VERSION_TAG: usize = 1001;
const RELEASE_TAG: usize = 1002;
/// The type of a tag whose data is one string.
const STRING_TYPE: usize = 6;
/// The largest number of tags in a header; usual ones have about a hundred.
const MAX_TAGS: usize = 4096;

/// Returns the name, and the version with release but without epoch, as `rpm -q` prints them.
pub(super) fn package_name_and_version(blob: &[u8]) -> Option<(String, String)> {
    let tags = read_be_u32(blob, 0)?;
    if tags > MAX_TAGS {
        return None;
    }
    let data = blob.get(8 + tags * 16..)?;
    let string = |requested_tag: usize| {
        let at = (0..tags).map(|tag| 8 + tag * 16).find(|at| read_be_u32(blob, *at) == Some(requested_tag))?;
        let offset = read_be_u32(blob, at + 8).filter(|_| read_be_u32(blob, at + 4) == Some(STRING_TYPE))?;
        let bytes = data.get(offset..)?;
        let bytes = bytes.get(..bytes.iter().position(|byte| *byte == 0)?)?;
        clean_value(std::str::from_utf8(bytes).ok()?)
    };
    Some((string(NAME_TAG)?, format!("{}-{}", string(VERSION_TAG)?, string(RELEASE_TAG)?)))
}
