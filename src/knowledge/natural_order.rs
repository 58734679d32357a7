//! Order of keys and versions, in which digits compare as numbers.

use std::cmp::Ordering;

/// A run of digits or another character of a key; digits are first in order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum KeyPart<'a> {
    /// Length and digits of a number without leading zeros; a longer one is greater.
    Number(usize, &'a str),
    Sign(char),
}

/// Splits a key into runs of digits and other characters.
fn key_parts(text: &str) -> impl Iterator<Item = KeyPart<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (part, after) = rest.split_at_checked(length.max(first.len_utf8()))?;
        rest = after;
        if length == 0 {
            return Some(KeyPart::Sign(first));
        }
        let number = part.trim_start_matches('0');
        Some(KeyPart::Number(number.len(), number))
    })
}

/// Compares two keys: runs of digits as numbers of any length, everything else by character.
pub fn compare_natural(one: &str, other: &str) -> Ordering {
    key_parts(one).cmp(key_parts(other))
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
            assert_eq!(compare_natural(less, more), Ordering::Less, "{less} {more}");
            assert_eq!(compare_natural(more, less), Ordering::Greater, "{less} {more}");
        }
    }

    #[test]
    fn leading_zeros_make_no_other_key() {
        assert_eq!(compare_natural("450.80.02", "450.80.2"), Ordering::Equal);
        assert_ne!(compare_natural("", "0"), Ordering::Equal);
    }
}
