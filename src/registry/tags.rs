//! The pages of a tag list, and the tags nearest to a missing one.

use std::cmp::Reverse;

use serde::Deserialize;

use crate::text::nearest::edit_distance;

/// Maximum number of tags that are suggested.
const MAX_SUGGESTED_TAGS: usize = 5;

/// One page of the tag list.
#[derive(Deserialize)]
pub(crate) struct TagPage {
    pub(crate) tags: Option<Vec<String>>,
}

/// Returns the tags nearest to the requested one, nearest first; of equally near ones, the last in the alphabet
/// first.
pub(crate) fn nearest_tags(requested_tag: &str, mut tags: Vec<String>) -> Vec<String> {
    tags.retain(|tag| tag.len() <= 128 && !tag.chars().any(char::is_control));
    tags.sort_by_cached_key(|tag| (edit_distance(requested_tag, tag), Reverse(tag.clone())));
    tags.dedup();
    tags.truncate(MAX_SUGGESTED_TAGS);
    tags
}

/// Returns the URL in a `Link: <…>; rel="next"` header.
pub(crate) fn next_page_path(header: &str) -> Option<&str> {
    let (address, rest) = header.trim().strip_prefix('<')?.split_once('>')?;
    rest.contains("next").then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closest_tags_are_suggested_first() {
        assert_eq!((edit_distance("kitten", "sitting"), edit_distance("", "ab"), edit_distance("a", "")), (3, 2, 1));
        let tags = ["latest", "12.4.0-base", "12.4.1-base", "11.8"].map(Into::into).to_vec();
        assert_eq!(nearest_tags("12.4-base", tags)[..2], ["12.4.1-base", "12.4.0-base"]);
        assert_eq!(next_page_path("</v2/a/tags/list?last=b&n=2>; rel=\"next\""), Some("/v2/a/tags/list?last=b&n=2"));
        assert_eq!(next_page_path("nothing"), None);
    }
}
