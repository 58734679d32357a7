//! Rule pages as SARIF rule descriptors.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::report::documentation_urls;
use crate::report::escape::escape_one_line;
use crate::rules::{RulePage, Severity};

/// Maximum length of a short or full description, in characters.
const MAX_DESCRIPTION_LENGTH: usize = 1024;

/// Returns the descriptor of a rule; without a page, only its name.
pub(super) fn rule_descriptor(name: &str, page: Option<&RulePage>) -> Value {
    let Some(page) = page else {
        let message = json!({"text": escape_one_line(name)});
        return json!({"id": name, "shortDescription": message, "fullDescription": message, "help": message});
    };
    let wrong = complete_sentences(paragraph_to_line(first_paragraph(&page.sections.wrong)));
    let help = page_help(page);
    let (level, kind) = match page.severity {
        Severity::Error => ("error", "error"),
        Severity::Warning => ("warning", "warning"),
        Severity::Note => ("note", "recommendation"),
    };
    let mut descriptor = json!({
        "id": name,
        "name": name,
        "shortDescription": {"text": truncate_description(first_sentence(&wrong))},
        "fullDescription": {"text": truncate_description(&wrong)},
        "help": {"text": help, "markdown": help},
        "defaultConfiguration": {"level": level},
        "properties": {
            "precision": "high",
            "problem.severity": kind,
            "tags": ["correctness", "container", "gpu"],
        },
    });
    if let Some(address) = documentation_urls::rule_page_url(name) {
        descriptor["helpUri"] = address.into();
    }
    descriptor
}

/// Returns the text of a page without its examples.
fn page_help(page: &RulePage) -> String {
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

/// Returns the first paragraph of a text.
fn first_paragraph(prose: &str) -> &str {
    prose.trim().split("\n\n").next().unwrap_or_default()
}

/// Returns a paragraph on one line, without backticks.
fn paragraph_to_line(paragraph: &str) -> String {
    paragraph.replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a paragraph up to its last complete sentence, without an introduction to an example.
fn complete_sentences(text: String) -> String {
    if let Some(without_colon) = text
        .strip_suffix(':')
        .filter(|without_colon| !without_colon.rsplit(". ").next().unwrap_or(without_colon).contains(": "))
    {
        return format!("{without_colon}.");
    }
    if text.ends_with(['.', '!', '?', ')']) {
        return text;
    }
    match text.rfind(". ") {
        Some(end) => text.get(..=end).unwrap_or(&text).to_owned(),
        None => format!("{text} ..."),
    }
}

/// Returns the first sentence of a text.
fn first_sentence(text: &str) -> &str {
    text.find(". ").and_then(|end| text.get(..=end)).unwrap_or(text)
}

/// Returns the text cut to the maximum length of a description.
fn truncate_description(text: &str) -> String {
    match text.char_indices().nth(MAX_DESCRIPTION_LENGTH) {
        None => text.to_owned(),
        Some(_) => text.chars().take(MAX_DESCRIPTION_LENGTH - 4).chain(" ...".chars()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RuleBook;

    #[test]
    fn every_sarif_rule_text_is_present_and_within_limits() {
        for page in RuleBook::built_in().pages() {
            let descriptor = rule_descriptor(&page.name, Some(page));
            for key in ["shortDescription", "fullDescription"] {
                let text = descriptor[key]["text"].as_str().unwrap_or_default();
                assert!(
                    (10..=MAX_DESCRIPTION_LENGTH).contains(&text.chars().count()) && !text.contains('\n'),
                    "{}: {text}",
                    page.name
                );
                assert!(text.ends_with(['.', '!', '?', ')']) && !text.ends_with(".."), "{}: {text}", page.name);
            }
            let help = descriptor["help"]["markdown"].as_str().unwrap_or_default();
            assert!(help.contains("## What to do") && !help.contains("## Examples"), "{}", page.name);
            assert!(descriptor["properties"].get("security-severity").is_none());
        }
    }

    #[test]
    fn a_long_text_is_cut_and_a_rule_without_a_page_has_its_name() {
        assert_eq!(truncate_description(&"é".repeat(2000)).chars().count(), MAX_DESCRIPTION_LENGTH);
        for (text, expected) in [
            ("One. Two ends with", "One."),
            ("One. Two answers 35:", "One. Two answers 35."),
            ("One. Two: three ends with:", "One."),
            ("One. Two.", "One. Two."),
            ("PyTorch says", "PyTorch says ..."),
        ] {
            assert_eq!(complete_sentences(text.to_owned()), expected);
        }
        assert_eq!(first_sentence("One 1.2 is. Two."), "One 1.2 is.");
        assert_eq!(rule_descriptor("own", None)["help"]["text"], "own");
    }
}
