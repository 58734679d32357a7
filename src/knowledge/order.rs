//! The order of rows: by key, numbers within it by value.

use std::cmp::Ordering;

/// A run of digits, or one other sign; digits come first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part<'a> {
    /// Without leading zeros: the longer is the greater.
    Number(usize, &'a str),
    Sign(char),
}

fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (part, after) = rest.split_at_checked(length.max(first.len_utf8()))?;
        rest = after;
        if length == 0 {
            return Some(Part::Sign(first));
        }
        let number = part.trim_start_matches('0');
        Some(Part::Number(number.len(), number))
    })
}

/// A number before every release.
pub const EARLIEST: &str = "0";
/// A number that no release reaches.
pub const BEYOND: &str = "99999";

/// Compares two keys: runs of digits as numbers of any length, everything else sign by sign.
pub fn by_number(one: &str, other: &str) -> Ordering {
    parts(one).cmp(parts(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_order_by_value_and_before_letters() {
        for (less, more) in [
            ("9", "10"),
            ("2.9.0", "2.10.0"),
            ("cu92", "cu101"),
            ("99999999999999999999998", "99999999999999999999999"),
            ("1", "a"),
            ("a", "a1"),
            ("Z", "a"),
        ] {
            assert_eq!(by_number(less, more), Ordering::Less, "{less} {more}");
            assert_eq!(by_number(more, less), Ordering::Greater, "{less} {more}");
        }
    }

    #[test]
    fn leading_zeros_make_no_other_key() {
        assert_eq!(by_number("450.80.02", "450.80.2"), Ordering::Equal);
        assert_ne!(by_number("", "0"), Ordering::Equal);
    }
}
