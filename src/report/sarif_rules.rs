//! The pages of rules as SARIF descriptors.

use std::fmt::Write as _;

use serde_json::Value;
use serde_json::json;

use crate::report::docs;
use crate::report::escape::clean;
use crate::rules::Page;
use crate::rules::Severity;

/// The longest short or full description, in characters.
const LONGEST: usize = 1024;

/// The descriptor of a rule; of one without a page, its name alone.
pub(super) fn descriptor(name: &str, page: Option<&Page>) -> Value {
    let Some(page) = page else {
        let said = json!({"text": clean(name)});
        return json!({"id": name, "shortDescription": said, "fullDescription": said, "help": said});
    };
    let wrong = whole(plain(first(&page.sections.wrong)));
    let help = help(page);
    let (level, kind) = match page.severity {
        Severity::Error => ("error", "error"),
        Severity::Warning => ("warning", "warning"),
        Severity::Note => ("note", "recommendation"),
    };
    let mut told = json!({
        "id": name,
        "name": name,
        "shortDescription": {"text": cut(sentence(&wrong))},
        "fullDescription": {"text": cut(&wrong)},
        "help": {"text": help, "markdown": help},
        "defaultConfiguration": {"level": level},
        "properties": {
            "precision": "high",
            "problem.severity": kind,
            "tags": ["correctness", "container", "gpu"],
        },
    });
    if let Some(address) = docs::page(name) {
        told["helpUri"] = address.into();
    }
    told
}

/// The prose of a page, without its examples.
fn help(page: &Page) -> String {
    let sections = &page.sections;
    let mut text = String::new();
    for (heading, body) in [
        ("What goes wrong", &sections.wrong),
        ("Why", &sections.why),
        ("What to do", &sections.remedy),
        ("When to ignore it", &sections.ignore),
        ("References", &sections.references),
    ] {
        if !body.trim().is_empty() {
            let _ = write!(text, "## {heading}\n\n{}\n\n", body.trim());
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn first(prose: &str) -> &str {
    prose.trim().split("\n\n").next().unwrap_or_default()
}

/// A paragraph in one line.
fn plain(paragraph: &str) -> String {
    paragraph.replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A paragraph up to its last sentence that is whole: what leads into an example would break off.
fn whole(text: String) -> String {
    if let Some(told) = text.strip_suffix(':').filter(|told| !told.rsplit(". ").next().unwrap_or(told).contains(": ")) {
        return format!("{told}.");
    }
    if text.ends_with(['.', '!', '?', ')']) {
        return text;
    }
    match text.rfind(". ") {
        Some(end) => text.get(..=end).unwrap_or(&text).to_owned(),
        None => format!("{text} ..."),
    }
}

fn sentence(text: &str) -> &str {
    text.find(". ").and_then(|end| text.get(..=end)).unwrap_or(text)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some(_) => text.chars().take(LONGEST - 4).chain(" ...".chars()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RuleBook;

    #[test]
    fn every_page_fits_and_says_something() {
        for page in RuleBook::built_in().pages() {
            let told = descriptor(&page.name, Some(page));
            for key in ["shortDescription", "fullDescription"] {
                let text = told[key]["text"].as_str().unwrap_or_default();
                assert!(
                    (10..=LONGEST).contains(&text.chars().count()) && !text.contains('\n'),
                    "{}: {text}",
                    page.name
                );
                assert!(text.ends_with(['.', '!', '?', ')']) && !text.ends_with(".."), "{}: {text}", page.name);
            }
            let help = told["help"]["markdown"].as_str().unwrap_or_default();
            assert!(help.contains("## What to do") && !help.contains("## Examples"), "{}", page.name);
            assert!(told["properties"].get("security-severity").is_none());
        }
    }

    #[test]
    fn a_long_text_is_cut_and_a_rule_without_a_page_has_its_name() {
        assert_eq!(cut(&"é".repeat(2000)).chars().count(), LONGEST);
        for (text, expected) in [
            ("One. Two ends with", "One."),
            ("One. Two answers 35:", "One. Two answers 35."),
            ("One. Two: three ends with:", "One."),
            ("One. Two.", "One. Two."),
            ("PyTorch says", "PyTorch says ..."),
        ] {
            assert_eq!(whole(text.to_owned()), expected);
        }
        assert_eq!(sentence("One 1.2 is. Two."), "One 1.2 is.");
        assert_eq!(descriptor("own", None)["help"]["text"], "own");
    }
}
