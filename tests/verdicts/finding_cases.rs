//! The cases of `tests/cases` with a finding of one rule. Most have a link from the References section of a rule page: a
//! public thread or repository that reports the problem. Each of their near misses changes one fact and has no finding.

use std::collections::{BTreeMap, BTreeSet};

use imagelint::rules::RuleBook;
use serde_json::Value;

use crate::batch::{self, Input};
use crate::support::case::{Case, Cases};

/// A finding: its line in the input, if it has one, and its message.
type Finding = (Option<u64>, String);

/// A case with the fields of a finding.
struct RuleCase {
    case: Case,
    rule: String,
    message: String,
}

/// The cases with a finding of one rule.
fn rule_cases() -> Vec<RuleCase> {
    let of = |case: Case| {
        let (rule, message) = (case.rule.clone()?, case.message.clone()?);
        Some(RuleCase { case, rule, message })
    };
    Cases::read().cases.into_iter().filter_map(of).collect()
}

/// Those with a link, each after its link.
fn linked() -> Vec<(String, RuleCase)> {
    rule_cases().into_iter().filter_map(|one| Some((one.case.link.clone()?, one))).collect()
}

/// The input of a case, and its near misses.
fn inputs(number: usize, case: &Case) -> Vec<Input> {
    let input = |at: usize| {
        let mut input = Input::new(format!("{number}-{at}"), case);
        if case.persona.is_none() {
            input.arguments.extend(["--persona", "pedantic"].map(str::to_owned));
        }
        input.arguments.push("--preview".to_owned());
        input
    };
    let mut all = vec![input(0)];
    for (at, [one, other]) in case.near.iter().enumerate() {
        let mut near = input(at + 1);
        let fleet = near.fleet.as_deref().unwrap_or_default();
        let (in_text, in_fleet) = (near.text.contains(one), fleet.contains(one));
        assert!(in_text || in_fleet, "{}: neither the input nor the fleet contains `{one}`", case.name);
        assert_ne!(one, other, "{}", case.name);
        if in_text {
            near.text = near.text.replace(one, other);
        } else {
            near.fleet = Some(fleet.replace(one, other));
        }
        all.push(near);
    }
    all
}

fn by_rule(subjects: &[Value]) -> BTreeMap<String, Vec<Finding>> {
    let mut found: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    for finding in subjects.iter().flat_map(|subject| subject["findings"].as_array().expect("findings")) {
        let own = |place: &&Value| place["kind"] != "fleet";
        let first = finding["locations"].as_array().and_then(|places| places.iter().find(own));
        let line = first.and_then(|place| place["region"]["start_line"].as_u64());
        let text = |key: &str| finding[key].as_str().expect("text").to_owned();
        found.entry(text("rule")).or_default().push((line, text("message")));
    }
    found
}

#[test]
fn each_rule_has_a_finding_in_its_case_and_none_in_a_near_miss() {
    let cases = rule_cases();
    let all = cases.iter().enumerate().flat_map(|(number, one)| inputs(number, &one.case));
    let found = batch::subjects(&all.collect::<Vec<_>>());
    let mut faults = Vec::new();
    for (number, RuleCase { case, rule, message }) in cases.iter().enumerate() {
        for at in 0..=case.near.len() {
            let found = by_rule(&found[&format!("{number}-{at}")]);
            let own = found.get(rule).map(Vec::as_slice).unwrap_or_default();
            let right = |(line, text): &Finding| {
                text.contains(message.as_str()) && case.line.is_none_or(|expected| Some(expected) == *line)
            };
            if at == 0 && !own.iter().any(right) {
                faults.push(format!("{}: {rule} does not have this finding: {found:#?}", case.name));
            }
            if at > 0 && !own.is_empty() {
                let [one, other] = &case.near[at - 1];
                faults.push(format!("{}: with `{other}` for `{one}`, {rule} has a finding: {own:?}", case.name));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_rule_page_has_a_linked_case_with_two_near_misses() {
    let (cases, book) = (linked(), RuleBook::built_in().clone().with_preview());
    let mut missing: BTreeSet<String> = book.pages().map(|page| page.name.clone()).collect();
    for (link, RuleCase { case, rule, .. }) in &cases {
        let page = book.get(rule).unwrap_or_else(|| panic!("{rule}: no such page"));
        assert!(page.sections.references.contains(&format!("]({link})")), "{rule} does not link {link}");
        assert!(case.near.len() >= 2, "{rule} has {} near misses of {link}", case.near.len());
        missing.remove(rule);
    }
    assert_eq!(missing.into_iter().collect::<Vec<_>>(), Vec::<String>::new(), "pages without a case");
    let near: usize = cases.iter().map(|(_, one)| one.case.near.len()).sum();
    assert!(near > 2 * cases.len(), "{near} near misses of {} cases", cases.len());
}

#[test]
fn cases_are_short_and_quote_nothing() {
    for (link, RuleCase { case, .. }) in linked() {
        let lines = case.text().expect("a text").lines().count();
        assert!(lines <= 20, "{link}: {lines} lines");
        for fact in &case.stated {
            assert!(fact.split_whitespace().count() <= 8, "{link}: `{fact}` is a sentence");
        }
    }
}
