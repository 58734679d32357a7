//! Tags that look like the one that is missing.

use std::cmp::Reverse;

use serde::Deserialize;

use crate::nearest::distance;

/// How many tags are named.
const NAMED: usize = 5;

/// One page of the tag list.
#[derive(Deserialize)]
pub(crate) struct TagPage {
    pub(crate) tags: Option<Vec<String>>,
}

/// The tags nearest to a wanted one, nearest first; among equals the later in the alphabet.
pub(crate) fn nearest(wanted: &str, mut tags: Vec<String>) -> Vec<String> {
    tags.retain(|tag| tag.len() <= 128 && !tag.chars().any(char::is_control));
    tags.sort_by_cached_key(|tag| (distance(wanted, tag), Reverse(tag.clone())));
    tags.dedup();
    tags.truncate(NAMED);
    tags
}

/// The address in a `Link: <…>; rel="next"` header.
pub(crate) fn next_page(header: &str) -> Option<&str> {
    let (address, rest) = header.trim().strip_prefix('<')?.split_once('>')?;
    rest.contains("next").then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_tags_come_first() {
        assert_eq!((distance("kitten", "sitting"), distance("", "ab"), distance("a", "")), (3, 2, 1));
        let tags = ["latest", "12.4.0-base", "12.4.1-base", "11.8"].map(Into::into).to_vec();
        assert_eq!(nearest("12.4-base", tags)[..2], ["12.4.1-base", "12.4.0-base"]);
        assert_eq!(next_page("</v2/a/tags/list?last=b&n=2>; rel=\"next\""), Some("/v2/a/tags/list?last=b&n=2"));
        assert_eq!(next_page("nothing"), None);
    }
}
