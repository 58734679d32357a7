//! One header of RPM: a list of tags, then what they stand for.

use crate::installed::rpm::big;
use crate::installed::word;

const NAME: usize = 1000;
const VERSION: usize = 1001;
const RELEASE: usize = 1002;
/// The kind of a tag that is one string.
const STRING: usize = 6;
/// Headers have some hundred tags.
const MOST_TAGS: usize = 4096;

/// Name, and version with release, as `rpm -q` prints them: without the epoch.
pub(super) fn package(blob: &[u8]) -> Option<(String, String)> {
    let tags = big(blob, 0)?;
    if tags > MOST_TAGS {
        return None;
    }
    let data = blob.get(8 + tags * 16..)?;
    let string = |wanted: usize| {
        let at = (0..tags).map(|tag| 8 + tag * 16).find(|at| big(blob, *at) == Some(wanted))?;
        let offset = big(blob, at + 8).filter(|_| big(blob, at + 4) == Some(STRING))?;
        let bytes = data.get(offset..)?;
        let bytes = bytes.get(..bytes.iter().position(|byte| *byte == 0)?)?;
        word(std::str::from_utf8(bytes).ok()?)
    };
    Some((string(NAME)?, format!("{}-{}", string(VERSION)?, string(RELEASE)?)))
}
