//! Image equivalence: what two images have in common if no start distinguishes them.
//!
//! A start-up depends on the inferred properties of an image and on the facts behind them. Facts are numbered
//! as they are observed; here they are renumbered in the order of use, so that unrelated facts make no difference.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::model::fact::{Evidence, FactId, ImageFacts};

/// Prefix of a fact id in debug output.
const FACT_ID_PREFIX: &str = "FactId(";

/// Returns a text that is equal for images with the same result on every host. It depends on how facts were derived,
/// and not on where they were seen.
pub(super) fn image_equivalence_key(image: &ImageFacts) -> String {
    // All fields are listed, so that a new field must be added here.
    let ImageFacts {
        facts,
        build,
        platforms,
        env,
        compat,
        driver_libraries,
        library_directory,
        ld_conf,
        ld_cache,
        compat_probe,
        // Only rules read them.
        dependencies: _,
        needs,
        firmware,
        base,
        base_cuda,
        components,
        cuda_usage: callers,
        minimum_capabilities: code_floors,
        gpu_content,
        target_processor: made_for,
    } = image;
    let files = (compat, driver_libraries, library_directory, ld_conf, ld_cache, compat_probe, firmware);
    let rest = (build, platforms, env, needs, base, base_cuda, components, callers, code_floors);
    let rest = (rest, gpu_content, made_for);
    let mut met = FactNumbering::default();
    let mut key = String::new();
    met.write_renumbered(&format!("{files:?} {rest:?}"), &mut key);
    let mut at = 0;
    while let Some(id) = met.order.get(at).copied() {
        let entry = facts.get(id);
        let by = match &entry.evidence {
            Evidence::Leaf(_) => None,
            Evidence::Derived { by, from, row } => Some((by, from, row.map(|row| (row.table, row.row)))),
        };
        met.write_renumbered(&format!("\n{:?} {:?} {:?} {by:?}", entry.key, entry.subject, entry.state), &mut key);
        at += 1;
    }
    key
}

/// Numbers of facts in the order of their first occurrence.
#[derive(Default)]
struct FactNumbering {
    order: Vec<FactId>,
    places: BTreeMap<FactId, usize>,
}

impl FactNumbering {
    /// Writes a text with its fact ids renumbered in the order of their occurrence; quoted text is unchanged.
    fn write_renumbered(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        let mut quoted = false;
        while let Some(at) = rest.find(['"', '\\', 'F']) {
            let (before, found) = rest.split_at(at);
            out.push_str(before);
            let number = found.strip_prefix(FACT_ID_PREFIX).filter(|_| !quoted).and_then(|rest| rest.split_once(')'));
            if let Some((id, behind)) = number.and_then(|(digits, behind)| Some((FactId(digits.parse().ok()?), behind)))
            {
                let place = *self.places.entry(id).or_insert_with(|| {
                    self.order.push(id);
                    self.order.len() - 1
                });
                // Writing into a text cannot fail.
                let _ = write!(out, "#{place}");
                rest = behind;
                continue;
            }
            // A backslash also covers the character after it.
            let signs = if found.starts_with('\\') { 2 } else { 1 };
            quoted ^= found.starts_with('"');
            let end = found.char_indices().nth(signs).map_or(found.len(), |(end, _)| end);
            let (own, behind) = found.split_at(end);
            out.push_str(own);
            rest = behind;
        }
        out.push_str(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns texts with their fact ids renumbered.
    fn renumbered(texts: &[&str]) -> String {
        let (mut met, mut out) = (FactNumbering::default(), String::new());
        for text in texts {
            met.write_renumbered(text, &mut out);
        }
        out
    }

    #[test]
    fn facts_are_numbered_by_first_occurrence() {
        for (texts, expected) in [
            (&["FactId(7) FactId(3) FactId(7)"][..], "#0 #1 #0"),
            (&["id: FactId(12), F", "FactId(12), FactId(4)"], "id: #0, F#0, #1"),
            (&["[FactId(0)]"], "[#0]"),
            // A number without a fact.
            (&[r#""FactId(7)" FactId(9)"#], r#""FactId(7)" #0"#),
            (&[r#""\"FactId(7)" FactId(9)"#], r#""\"FactId(7)" #0"#),
            (&[r#""a\\" FactId(9) "FactId(1)"#], r#""a\\" #0 "FactId(1)"#),
            (&["FactId(x) FactId( FactIds(3) Fact"], "FactId(x) FactId( FactIds(3) Fact"),
            (&["", "é\\é\"FactId(1)"], "é\\é\"FactId(1)"),
        ] {
            assert_eq!(renumbered(texts), expected, "{texts:?}");
        }
    }
}
