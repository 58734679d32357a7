//! Digest of the facts of a subject, which shows whether they were edited after they were written.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use sha2::{Digest as _, Sha256};

use crate::report::model::Fact;

/// Members of a fact that the digest ignores: its id and its origins, which do not change its content.
const IGNORED_MEMBERS: [&str; 3] = ["id", "origins", "derived_from"];

/// Digest of the contents of all facts, in their order. Deserializing it from facts keeps at most one of their texts
/// in memory, and accepts any JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactsDigest([u8; 32]);

impl FactsDigest {
    /// Returns the digest of facts that are about to be written.
    pub fn of_facts(facts: &[Fact]) -> Option<Self> {
        let mut sum = list_hasher();
        for fact in facts {
            let one: Self = serde_json::from_value(serde_json::to_value(fact).ok()?).ok()?;
            sum.update(one.0);
        }
        Some(Self(sum.finalize().into()))
    }

    /// Returns the 64 hexadecimal digits that a report contains.
    pub fn to_hex(&self) -> String {
        use fmt::Write as _;
        self.0.iter().fold(String::new(), |mut text, byte| {
            // A text has room for everything.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// Returns the digest of a value's bytes, preceded by a byte that identifies its type.
    fn digest_of_value(kind: u8, bytes: &[u8]) -> Self {
        Self(Sha256::new().chain_update([kind]).chain_update(bytes).finalize().into())
    }
}

/// Returns the hasher of a list before its first item.
fn list_hasher() -> Sha256 {
    Sha256::new().chain_update(b"[")
}

impl<'de> Deserialize<'de> for FactsDigest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(FactsDigestVisitor)
    }
}

/// Computes the digest of any JSON value; the order of members and members that are null make no difference.
struct FactsDigestVisitor;

impl<'de> Visitor<'de> for FactsDigestVisitor {
    type Value = FactsDigest;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("facts")
    }

    fn visit_bool<E>(self, value: bool) -> Result<FactsDigest, E> {
        Ok(FactsDigest::digest_of_value(b'b', &[u8::from(value)]))
    }

    fn visit_i64<E>(self, value: i64) -> Result<FactsDigest, E> {
        Ok(FactsDigest::digest_of_value(b'i', &value.to_le_bytes()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<FactsDigest, E> {
        Ok(FactsDigest::digest_of_value(b'u', &value.to_le_bytes()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<FactsDigest, E> {
        Ok(FactsDigest::digest_of_value(b'f', &value.to_le_bytes()))
    }

    fn visit_str<E>(self, value: &str) -> Result<FactsDigest, E> {
        Ok(FactsDigest::digest_of_value(b's', value.as_bytes()))
    }

    fn visit_unit<E>(self) -> Result<FactsDigest, E> {
        Ok(FactsDigest([0; 32]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<FactsDigest, A::Error> {
        let mut sum = list_hasher();
        while let Some(FactsDigest(item)) = items.next_element()? {
            sum.update(item);
        }
        Ok(FactsDigest(sum.finalize().into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<FactsDigest, A::Error> {
        let mut all = [0; 32];
        while let Some(name) = members.next_key::<String>()? {
            if IGNORED_MEMBERS.contains(&name.as_str()) {
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            let FactsDigest(value) = members.next_value()?;
            if value != [0; 32] {
                let member = Sha256::new()
                    .chain_update(FactsDigest::digest_of_value(b'm', name.as_bytes()).0)
                    .chain_update(value);
                for (byte, own) in all.iter_mut().zip(member.finalize()) {
                    *byte ^= own;
                }
            }
        }
        Ok(FactsDigest::digest_of_value(b'{', &all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::kinds::FactState;

    fn parse_digest(text: &str) -> FactsDigest {
        serde_json::from_str(text).expect(text)
    }

    #[test]
    fn facts_digest_depends_only_on_key_state_and_value() {
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
            assert_eq!(parse_digest(facts) == parse_digest(other), alike, "{other}");
        }
    }

    #[test]
    fn written_and_parsed_facts_have_the_same_digest() {
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
        assert_eq!(FactsDigest::of_facts(&facts), Some(parse_digest(&written)));
        assert_ne!(FactsDigest::of_facts(&facts[..1]), Some(parse_digest(&written)));
        assert_eq!(FactsDigest::of_facts(&[]).map(|sum| sum.to_hex().len()), Some(64));
    }
}
