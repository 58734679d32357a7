//! Fingerprints that identify a finding although lines move: rule, file, instruction, pool, and number among equal
//! findings.
//!
//! A message, a line number and a severity are no part of it: a newer program may word or weigh a finding otherwise.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::report::kinds::{LocationKind, SubjectKind};
use crate::report::model::{Finding, InputError, Location, Subject};
use crate::rules::RuleBook;

/// The fingerprint of a finding on one pool, or of one that is independent of pools.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint {
    /// File as the caller names it, or the subject where no file is to blame.
    pub path: String,
    /// Rule.
    pub rule: String,
    /// Pool, where it is about one.
    pub pool: Option<String>,
    /// Hash of all of it, with the text of the instruction and the number among equals: 32 hexadecimal digits.
    pub hash: String,
}

/// Generates the fingerprints of the findings of one run; equal findings are numbered in their order.
#[derive(Clone, Debug, Default)]
pub struct FingerprintGenerator {
    seen: BTreeMap<String, usize>,
    /// The first names of rules that have another one now.
    first_names: BTreeMap<String, String>,
}

impl FingerprintGenerator {
    /// Returns a generator for findings of these rules; a renamed rule is identified by its original name.
    pub fn for_rules(book: &RuleBook) -> Self {
        let renamed = book.pages().filter(|page| page.first_name() != page.name);
        let first_names = renamed.map(|page| (page.name.clone(), page.first_name().to_owned())).collect();
        Self { seen: BTreeMap::new(), first_names }
    }

    /// Returns the original name of a rule.
    fn original_rule_name(&self, rule: &str) -> String {
        self.first_names.get(rule).cloned().unwrap_or_else(|| rule.to_owned())
    }

    /// Returns the fingerprints of a finding: one for each of its pools, or a single one if it has none.
    ///
    /// `texts` returns the text at a path of a location; `named` returns the name of such a path, the same wherever
    /// program runs, such as the path from the repository's root.
    pub fn finding_fingerprints<'t>(
        &mut self,
        finding: &Finding,
        subject: &Subject,
        texts: &dyn Fn(&str) -> Option<&'t str>,
        named: &dyn Fn(&str) -> String,
    ) -> Vec<Fingerprint> {
        let (path, text) = causing_text(finding, subject, texts, named);
        let pools: Vec<Option<&String>> =
            if finding.pools.is_empty() { vec![None] } else { finding.pools.iter().map(Some).collect() };
        let rule = self.original_rule_name(&finding.rule);
        let one = |pool: Option<&String>| {
            let pool_word = pool.map_or("", String::as_str);
            let hash = self.unique_hash(hash_parts(&[&rule, &path, &text, pool_word]));
            Fingerprint { path: path.clone(), rule: finding.rule.clone(), pool: pool.cloned(), hash }
        };
        pools.into_iter().map(one).collect()
    }

    /// Returns one hash for a finding on all its pools, for formats that accept only one; it does not depend on the
    /// pools.
    pub fn hash_for_all_pools<'t>(
        &mut self,
        finding: &Finding,
        subject: &Subject,
        texts: &dyn Fn(&str) -> Option<&'t str>,
        named: &dyn Fn(&str) -> String,
    ) -> String {
        let (path, text) = causing_text(finding, subject, texts, named);
        let rule = self.original_rule_name(&finding.rule);
        self.unique_hash(hash_parts(&[&rule, &path, &text]))
    }

    /// Returns the fingerprint of an input that could not be read.
    pub fn error_fingerprint(&mut self, error: &InputError, named: &dyn Fn(&str) -> String) -> Fingerprint {
        let (rule, path) = ("cannot-read".to_owned(), named(&error.input));
        let hash = self.unique_hash(hash_parts(&[&rule, &path]));
        Fingerprint { path, rule, pool: None, hash }
    }

    /// Returns the hash `key`, or another one derived from it if it was used before.
    fn unique_hash(&mut self, key: String) -> String {
        let number = self.seen.entry(key.clone()).or_default();
        *number += 1;
        if *number == 1 { key } else { hash_parts(&[&key, &number.to_string()]) }
    }
}

/// Returns the file that causes a finding, and the instruction or path in it.
fn causing_text<'t>(
    finding: &Finding,
    subject: &Subject,
    texts: &dyn Fn(&str) -> Option<&'t str>,
    named: &dyn Fn(&str) -> String,
) -> (String, String) {
    // The line of a list or a manifest says nothing of an image but its name.
    let listed = |location: &Location| subject.kind == SubjectKind::Image && location.region.is_some();
    let own = |location: &&Location| location.kind != LocationKind::Fleet && !listed(location);
    match finding.locations.iter().find(own) {
        Some(blamed) => located_text(blamed, subject, texts, named),
        None => (named(&subject.name), String::new()),
    }
}

/// Returns the file of a location and the text there; for a layer only the path, since its digest changes with each
/// build.
fn located_text<'t>(
    blamed: &Location,
    subject: &Subject,
    texts: &dyn Fn(&str) -> Option<&'t str>,
    named: &dyn Fn(&str) -> String,
) -> (String, String) {
    if let Some(region) = blamed.region {
        let text = texts(&blamed.path).unwrap_or_default();
        return (named(&blamed.path), instruction_text(text, region.start_byte, region.end_byte));
    }
    let inside = match blamed.kind {
        LocationKind::Layer => blamed.path.splitn(3, ':').nth(2).unwrap_or(&blamed.path),
        _ => &blamed.path,
    };
    (named(&subject.name), inside.to_owned())
}

/// Returns the instruction that contains the bytes, on one line, without comments and repeated blanks.
fn instruction_text(text: &str, start: usize, end: usize) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut first, mut last, mut at) = (0, 0, 0);
    for (number, line) in lines.iter().enumerate() {
        if at <= start {
            first = number;
        }
        if at < end.max(start + 1) {
            last = number;
        }
        at += line.len();
    }
    let goes_on = |line: usize| lines.get(line).is_some_and(|line| is_comment(line) || line.trim_end().ends_with('\\'));
    let mut begin = first;
    while let Some(before) = begin.checked_sub(1).filter(|before| goes_on(*before)) {
        begin = before;
    }
    // Comments above an instruction are none of its lines.
    while begin < first && lines.get(begin).is_some_and(|line| is_comment(line)) {
        begin += 1;
    }
    while goes_on(last) && last + 1 < lines.len() {
        last += 1;
    }
    let mut normalized = String::new();
    let own = lines.get(begin..=last).unwrap_or_default().iter().filter(|line| !is_comment(line));
    for word in own.flat_map(|line| line.trim_end().trim_end_matches('\\').split_whitespace()) {
        if !normalized.is_empty() {
            normalized.push(' ');
        }
        normalized.push_str(word);
    }
    normalized
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// Returns the hash of the parts, each with its length, so that no two lists of parts have the same input.
fn hash_parts(parts: &[&str]) -> String {
    let mut sum = Sha256::new();
    for part in parts {
        sum.update(part.len().to_le_bytes());
        sum.update(part.as_bytes());
    }
    let mut hex = String::new();
    for byte in sum.finalize().iter().take(16) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fact::InspectionDepth;
    use crate::report::kinds::FindingSeverity;
    use crate::report::model::{Inspected, Observed, Region};

    fn subject() -> Subject {
        Subject {
            name: "Dockerfile".to_owned(),
            kind: SubjectKind::Dockerfile,
            as_of: None,
            stage: None,
            platform: None,
            digest: None,
            images: Vec::new(),
            gpu_content: true,
            inspected: Inspected { depth: InspectionDepth::Text, notes: Vec::new() },
            split: None,
            about: None,
            verdicts: Vec::new(),
            findings: Vec::new(),
            facts: Vec::new(),
            description: serde_json::Value::Null,
            observed: Observed::default(),
        }
    }

    /// A finding of `rule` at the first place of `word` in the text.
    fn finding(rule: &str, text: &str, word: &str, pools: &[&str]) -> Finding {
        let start = text.find(word).expect("the word");
        let region = Region {
            start_line: 1,
            start_column: 1,
            end_line: 1,
            end_column: 1,
            start_byte: start,
            end_byte: start + word.len(),
        };
        let place = |kind: LocationKind, path: &str, region: Option<Region>| Location {
            kind,
            path: path.to_owned(),
            label: "a label".to_owned(),
            region,
            made_by: None,
        };
        Finding {
            rule: rule.to_owned(),
            severity: FindingSeverity::Error,
            message: "a message".to_owned(),
            help: None,
            pools: pools.iter().map(|pool| (*pool).to_owned()).collect(),
            component: None,
            locations: vec![
                place(LocationKind::Fleet, "fleet.toml", Some(region)),
                place(LocationKind::File, "Dockerfile", Some(region)),
            ],
            cause: None,
            also_unknown: Vec::new(),
            symptom: None,
            fixes: Vec::new(),
            base_not_read: false,
        }
    }

    fn hashes(text: &str, findings: &[Finding]) -> Vec<String> {
        let mut made = FingerprintGenerator::default();
        let texts = |path: &str| (path == "Dockerfile").then_some(text);
        let of = |finding: &Finding| made.finding_fingerprints(finding, &subject(), &texts, &str::to_owned);
        findings.iter().flat_map(of).map(|one| one.hash).collect()
    }

    fn hash_of(text: &str, rule: &str, word: &str) -> String {
        hashes(text, &[finding(rule, text, word, &["a"])]).concat()
    }

    const TEXT: &str = "FROM x\nRUN pip install \\\n  # why\n  torch \\\n  vllm\nRUN true\n";

    #[test]
    fn lines_that_move_and_blanks_that_change_keep_it() {
        let before = hash_of(TEXT, "r", "torch");
        assert_eq!(before.len(), 32);
        for moved in [
            "# a\n# b\n\nFROM x\nRUN pip install \\\n  # why\n  torch \\\n  vllm\n",
            "FROM y\nENV A=b\nRUN pip   install torch vllm\r\n",
            "FROM x\nRUN pip install \\\r\n torch \\\r\n# another word\r\n vllm\r\nRUN true\\\n",
            "FROM x\n# above it\nRUN pip install torch vllm",
        ] {
            assert_eq!(hash_of(moved, "r", "torch"), before, "{moved}");
        }
    }

    #[test]
    fn another_instruction_rule_or_pool_changes_it() {
        let before = hash_of(TEXT, "r", "torch");
        assert_ne!(hash_of(TEXT, "s", "torch"), before, "the rule");
        assert_ne!(hash_of(TEXT, "r", "true"), before, "the instruction");
        assert_ne!(hash_of(&TEXT.replace("vllm", "vllm==1"), "r", "torch"), before, "a word of the instruction");
        let other = hashes(TEXT, &[finding("r", TEXT, "torch", &["b"])]);
        assert_ne!(other.concat(), before, "the pool");
        let none = hashes(TEXT, &[finding("r", TEXT, "torch", &[])]);
        assert_ne!(none.concat(), before, "no pool");
    }

    #[test]
    fn equal_findings_differ_by_number_and_pool() {
        let one = finding("r", TEXT, "torch", &["a", "b"]);
        let made = hashes(TEXT, &[one.clone(), one]);
        let different: std::collections::BTreeSet<&String> = made.iter().collect();
        assert_eq!((made.len(), different.len()), (4, 4));
        assert_eq!(made[0], hash_of(TEXT, "r", "torch"), "the first is what it is alone");
    }

    #[test]
    fn hash_for_all_pools_ignores_the_pools() {
        let whole = |findings: &[Finding]| -> Vec<String> {
            let mut made = FingerprintGenerator::default();
            let texts = |path: &str| (path == "Dockerfile").then_some(TEXT);
            findings.iter().map(|one| made.hash_for_all_pools(one, &subject(), &texts, &str::to_owned)).collect()
        };
        let of = |pools: &[&str]| finding("r", TEXT, "torch", pools);
        let before = whole(&[of(&["b"])]);
        for pools in [&["b", "c"][..], &["a", "b"], &[]] {
            assert_eq!(whole(&[of(pools)]), before, "{pools:?}");
        }
        assert_ne!(whole(&[finding("s", TEXT, "torch", &["b"])]), before, "the rule");
        assert_ne!(whole(&[finding("r", TEXT, "true", &["b"])]), before, "the instruction");
        // Two findings of one rule at one instruction are two all the same.
        let both = whole(&[of(&["a"]), of(&["b"])]);
        assert_eq!(both[0], before[0]);
        assert_ne!(both[0], both[1]);
    }

    #[test]
    fn a_message_and_a_severity_are_no_part_of_it() {
        let one = finding("r", TEXT, "torch", &["a"]);
        let other = Finding { severity: FindingSeverity::Note, message: "other words".to_owned(), ..one.clone() };
        assert_eq!(hashes(TEXT, &[one]), hashes(TEXT, &[other]));
    }

    #[test]
    fn places_beyond_the_text_do_no_harm() {
        let mut one = finding("r", TEXT, "torch", &[]);
        for text in ["", "\n", "\\\n", "#\n#", "é"] {
            assert_eq!(hashes(text, std::slice::from_ref(&one)).len(), 1, "{text:?}");
        }
        one.locations.clear();
        assert_eq!(hashes(TEXT, &[one]).len(), 1);
    }

    #[test]
    fn fingerprint_of_a_layer_file_ignores_the_layer_digest() {
        let mut one = finding("r", TEXT, "torch", &["a"]);
        let layer = |digest: &str, path: &str| Location {
            kind: LocationKind::Layer,
            path: format!("sha256:{digest}:{path}"),
            label: String::new(),
            region: None,
            made_by: None,
        };
        let mut with = |digest: &str, path: &str| {
            one.locations = vec![layer(digest, path)];
            hashes(TEXT, std::slice::from_ref(&one))
        };
        assert_eq!(with("00", "/opt/app"), with("11", "/opt/app"));
        assert_ne!(with("00", "/opt/app"), with("00", "/opt/other"));
    }
}
