//! The inputs that the pages link under References: what a thread or a repository states, written down as an image and a fleet, on
//! which the rule of the page speaks, and what is one fact away from it, on which it does not.
//!
//! `references/*.toml` hold the cases. `near` are pairs of texts: with the second in place of the first, in the input or in the
//! fleet, the rule has to be silent. `stated` says what the input cannot.

mod data;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use assert_cmd::Command;
use imagelint::rules::RuleBook;
use serde_json::Value;
use tempfile::TempDir;

use crate::references::data::{Case, cases};
use crate::support::program::imagelint_program;

/// A finding: its line, where it has one in the input, and its message.
type Said = (Option<u64>, String);

/// One input to judge.
struct Input {
    /// Name of its file.
    name: String,
    text: String,
    fleet: String,
    persona: String,
}

/// The input of a case, and each that is one fact away from it.
fn inputs(number: usize, case: &Case) -> Vec<Input> {
    let (text, ending) = case.input();
    let input = |at: usize, text: String, fleet: String| {
        let name = format!("c{number}-{at}{ending}");
        Input { name, text, fleet, persona: case.persona.clone().unwrap_or_else(|| "pedantic".to_owned()) }
    };
    let fleet = case.fleet.clone().unwrap_or_default();
    let mut all = vec![input(0, text.to_owned(), fleet.clone())];
    for (at, [one, other]) in case.near.iter().enumerate() {
        let (in_text, in_fleet) = (text.contains(one), fleet.contains(one));
        assert!(in_text || in_fleet, "{}: neither the input nor the fleet has `{one}`", case.link);
        assert_ne!(one, other, "{}", case.link);
        let fleet = if in_text { fleet.clone() } else { fleet.replace(one, other) };
        let text = if in_text { text.replace(one, other) } else { text.to_owned() };
        all.push(input(at + 1, text, fleet));
    }
    all
}

/// What each rule says of each input, by the name of its file; one run for each fleet and persona.
fn judged(inputs: &[Input]) -> BTreeMap<String, BTreeMap<String, Vec<Said>>> {
    let mut runs: BTreeMap<(&str, &str), Vec<&Input>> = BTreeMap::new();
    for input in inputs {
        runs.entry((&input.fleet, &input.persona)).or_default().push(input);
    }
    let mut all = BTreeMap::new();
    for ((fleet, persona), inputs) in runs {
        let folder = TempDir::new().expect("temporary folder");
        let mut arguments = vec!["check", "--format", "json", "--fail-on", "never", "--preview", "--persona", persona];
        if !fleet.is_empty() {
            fs::write(folder.path().join("fleet.toml"), fleet).expect("written");
            arguments.extend(["--fleet", "fleet.toml"]);
        }
        for input in &inputs {
            fs::write(folder.path().join(&input.name), &input.text).expect("written");
        }
        let output = Command::new(imagelint_program())
            .current_dir(folder.path())
            .args(arguments)
            .args(inputs.iter().map(|input| &input.name))
            .output()
            .expect("runs");
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(report["errors"].as_array().map(Vec::len), Some(0), "{}", report["errors"]);
        for subject in report["subjects"].as_array().expect("subjects") {
            all.insert(subject["name"].as_str().expect("a name").to_owned(), by_rule(subject));
        }
        assert!(inputs.iter().all(|input| all.contains_key(&input.name)), "an input was not judged");
    }
    all
}

fn by_rule(subject: &Value) -> BTreeMap<String, Vec<Said>> {
    let mut said: BTreeMap<String, Vec<Said>> = BTreeMap::new();
    for finding in subject["findings"].as_array().expect("findings") {
        let own = |place: &&Value| place["kind"] != "fleet";
        let first = finding["locations"].as_array().and_then(|places| places.iter().find(own));
        let line = first.and_then(|place| place["region"]["start_line"].as_u64());
        let text = |key: &str| finding[key].as_str().expect("text").to_owned();
        said.entry(text("rule")).or_default().push((line, text("message")));
    }
    said
}

#[test]
fn each_page_speaks_on_what_it_links_and_is_silent_one_fact_away() {
    let cases = cases();
    let all: Vec<Vec<Input>> = cases.iter().enumerate().map(|(number, case)| inputs(number, case)).collect();
    let flat: Vec<Input> = all.into_iter().flatten().collect();
    let said = judged(&flat);
    let mut faults = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let (_, ending) = case.input();
        for at in 0..=case.near.len() {
            let found = &said[&format!("c{number}-{at}{ending}")];
            let own = found.get(&case.page).map(Vec::as_slice).unwrap_or_default();
            let right = |(line, message): &Said| {
                message.contains(&case.message) && case.line.is_none_or(|wanted| Some(wanted) == *line)
            };
            if at == 0 && !own.iter().any(right) {
                faults.push(format!("{} is silent on {}: {found:#?}", case.page, case.link));
            }
            if at > 0 && !own.is_empty() {
                let [one, other] = &case.near[at - 1];
                faults.push(format!("{} on {}, with `{other}` for `{one}`: {own:?}", case.page, case.link));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_page_has_a_case_of_a_link_of_its_own_and_two_near_misses() {
    let (cases, book) = (cases(), RuleBook::built_in().clone().with_preview());
    let mut missing: BTreeSet<String> = book.pages().map(|page| page.name.clone()).collect();
    for case in &cases {
        let page = book.get(&case.page).unwrap_or_else(|| panic!("{}: no such page", case.page));
        let linked = page.sections.references.contains(&format!("]({})", case.link));
        assert!(linked, "{} does not link {}", case.page, case.link);
        assert!(case.near.len() >= 2, "{} has {} near misses of {}", case.page, case.near.len(), case.link);
        missing.remove(&case.page);
    }
    assert_eq!(missing.into_iter().collect::<Vec<_>>(), Vec::<String>::new(), "pages without a case");
    let near: usize = cases.iter().map(|case| case.near.len()).sum();
    assert!(near > 2 * cases.len(), "{near} near misses of {} cases", cases.len());
}

#[test]
fn cases_are_facts_and_no_copies() {
    for case in cases() {
        let (text, _) = case.input();
        assert!(text.lines().count() <= 20, "{}: {} lines", case.link, text.lines().count());
        for fact in &case.stated {
            assert!(fact.split_whitespace().count() <= 8, "{}: `{fact}` is a sentence", case.link);
        }
    }
}
