//! The sum of the facts of a subject: whether somebody changed them since they were written.

use std::fmt;

use serde::Deserialize;
use serde::Deserializer;
use serde::de::IgnoredAny;
use serde::de::MapAccess;
use serde::de::SeqAccess;
use serde::de::Visitor;
use sha2::Digest as _;
use sha2::Sha256;

use crate::report::model::Fact;

/// What of a fact does not count: its number, where it was read and what it comes from are not what it says.
const APART: [&str; 3] = ["id", "origins", "derived_from"];

/// A sum over what every fact says, in their order. Read from the facts, of which no more than one text at a time is in
/// memory; nothing in them is wrong for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactsSum([u8; 32]);

impl FactsSum {
    /// That of facts that are about to be written.
    pub fn of(facts: &[Fact]) -> Option<Self> {
        let mut sum = list();
        for fact in facts {
            let one: Self = serde_json::from_value(serde_json::to_value(fact).ok()?).ok()?;
            sum.update(one.0);
        }
        Some(Self(sum.finalize().into()))
    }

    /// As a report has it: 64 hexadecimal digits.
    pub fn text(&self) -> String {
        use fmt::Write as _;
        self.0.iter().fold(String::new(), |mut text, byte| {
            // A text has room for everything.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    fn word(kind: u8, bytes: &[u8]) -> Self {
        Self(Sha256::new().chain_update([kind]).chain_update(bytes).finalize().into())
    }
}

fn list() -> Sha256 {
    Sha256::new().chain_update(b"[")
}

impl<'de> Deserialize<'de> for FactsSum {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Summed)
    }
}

/// Sums any value of JSON: the order of members does not count, and one that is null is as good as none.
struct Summed;

impl<'de> Visitor<'de> for Summed {
    type Value = FactsSum;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("facts")
    }

    fn visit_bool<E>(self, value: bool) -> Result<FactsSum, E> {
        Ok(FactsSum::word(b'b', &[u8::from(value)]))
    }

    fn visit_i64<E>(self, value: i64) -> Result<FactsSum, E> {
        Ok(FactsSum::word(b'i', &value.to_le_bytes()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<FactsSum, E> {
        Ok(FactsSum::word(b'u', &value.to_le_bytes()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<FactsSum, E> {
        Ok(FactsSum::word(b'f', &value.to_le_bytes()))
    }

    fn visit_str<E>(self, value: &str) -> Result<FactsSum, E> {
        Ok(FactsSum::word(b's', value.as_bytes()))
    }

    fn visit_unit<E>(self) -> Result<FactsSum, E> {
        Ok(FactsSum([0; 32]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<FactsSum, A::Error> {
        let mut sum = list();
        while let Some(FactsSum(item)) = items.next_element()? {
            sum.update(item);
        }
        Ok(FactsSum(sum.finalize().into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<FactsSum, A::Error> {
        let mut all = [0; 32];
        while let Some(name) = members.next_key::<String>()? {
            if APART.contains(&name.as_str()) {
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            let FactsSum(value) = members.next_value()?;
            if value != [0; 32] {
                let member = Sha256::new().chain_update(FactsSum::word(b'm', name.as_bytes()).0).chain_update(value);
                for (byte, own) in all.iter_mut().zip(member.finalize()) {
                    *byte ^= own;
                }
            }
        }
        Ok(FactsSum::word(b'{', &all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::kinds::FactState;

    fn sum(text: &str) -> FactsSum {
        serde_json::from_str(text).expect(text)
    }

    #[test]
    fn what_a_fact_says_counts_and_nothing_else() {
        let facts = r#"[{"id":"f0","key":"a","state":"known","value":["x","y"],"origins":[],"why":null}]"#;
        for (other, alike) in [
            (r#"[{"value":["x","y"],"state":"known","key":"a"}]"#, true),
            (
                r#"[{"id":"f9","key":"a","state":"known","value":["x","y"],"origins":[{"kind":"file"}],"derived_from":["f1"]}]"#,
                true,
            ),
            (r#"[{"key":"a","state":"known","value":["y","x"]}]"#, false),
            (r#"[{"key":"a","state":"known","value":["xy"]}]"#, false),
            (r#"[{"key":"a","state":"known","value":"x"}]"#, false),
            (r#"[{"key":"b","state":"known","value":["x","y"]}]"#, false),
            (r#"[{"key":"a","state":"unknown","value":["x","y"]}]"#, false),
            (r#"[{"key":"a","state":"known","value":["x","y"],"why":""}]"#, false),
            (r#"[{"key":"a","state":"known","value":["x","y"]},{}]"#, false),
            ("[]", false),
            ("7", false),
            (r#"{"key":"a","state":"known","value":["x","y"]}"#, false),
        ] {
            assert_eq!(sum(facts) == sum(other), alike, "{other}");
        }
    }

    #[test]
    fn what_is_written_sums_to_what_is_read() {
        let fact = Fact {
            id: "f0".to_owned(),
            key: "image.base".to_owned(),
            state: FactState::Known,
            value: Some(serde_json::json!(["é", "b"])),
            origins: Vec::new(),
            derived_from: vec!["f1".to_owned()],
            why: None,
        };
        let facts = [fact.clone(), Fact { value: None, why: Some("searched: x".to_owned()), ..fact }];
        let written = serde_json::to_string(&facts).expect("JSON");
        assert_eq!(FactsSum::of(&facts), Some(sum(&written)));
        assert_ne!(FactsSum::of(&facts[..1]), Some(sum(&written)));
        assert_eq!(FactsSum::of(&[]).map(|sum| sum.text().len()), Some(64));
    }
}
