//! The built-in pages against the folder, the outcomes and each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use imagelint::knowledge::Knowledge;
use imagelint::model::outcome::{FailureCause, Outcome};
use imagelint::rules::{Notice, PageKind, RuleBook, RulePage, Vocabulary, explain_text};

/// Path, relative to the repository, and text of every page on disk.
fn on_disk() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeMap::new();
    for folder in ["rules/practice", "rules/start-up"] {
        for entry in fs::read_dir(root.join(folder)).expect(folder) {
            let path = entry.expect(folder).path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("a UTF-8 name").to_owned();
            found.insert(format!("{folder}/{name}"), fs::read_to_string(&path).expect("a readable page"));
        }
    }
    found
}

#[test]
fn every_page_on_disk_can_be_used_and_is_built_in() {
    let listed: BTreeMap<_, _> =
        RuleBook::built_in().pages().map(|page| (page.path.clone(), page.text.clone())).collect();
    for (path, text) in on_disk() {
        // As one from outside its patterns are compiled, as one of the book its sections are asked for.
        for read in [RulePage::read, RulePage::read_built_in] {
            if let Err(error) = read(&path, &text, &Vocabulary::built_in()) {
                panic!("{error}\n{:?}", miette::Report::new(*error.clone()));
            }
        }
        assert!(
            listed.contains_key(&path),
            "src/rules/builtin.rs lacks: (\"{path}\", include_str!(\"../../{path}\")),"
        );
    }
    assert_eq!(listed, on_disk());
}

#[test]
fn every_outcome_has_exactly_one_rule_page() {
    let book = RuleBook::built_in();
    for outcome in Outcome::ALL {
        assert!(book.outcome_page(*outcome).names().any(|name| name == outcome.name()), "{outcome}");
    }
    let named: Vec<_> = book.pages().filter(|page| matches!(page.kind, PageKind::Startup(_))).collect();
    assert_eq!(named.len(), Outcome::ALL.len());
}

#[test]
fn every_failure_cause_has_a_distinct_help_text() {
    let book = RuleBook::built_in();
    let mut told = BTreeSet::new();
    for cause in FailureCause::ALL.iter().copied() {
        let page = book.outcome_page(cause.outcome());
        let help = page.help_for_cause(Some(cause)).text();
        assert_ne!(help, page.help.text(), "{cause}");
        // Two causes may share a cure across outcomes, never within one.
        assert!(told.insert((page.name.clone(), help)), "{cause}");
    }
    let given: usize = book.pages().map(|page| page.help_for.len()).sum();
    assert_eq!(given, FailureCause::ALL.len());
}

#[test]
fn every_notice_has_exactly_one_page() {
    let book = RuleBook::built_in();
    for notice in Notice::ALL {
        assert!(book.notice_page(*notice).is_some(), "{notice}");
    }
    let told: Vec<_> = book.pages().filter(|page| matches!(page.kind, PageKind::Reader(_))).collect();
    assert_eq!(told.len(), Notice::ALL.len());
    assert_eq!(Notice::ALL.len(), Notice::WORDS.len());
}

#[test]
fn examples_expect_existing_rules_and_mostly_no_findings() {
    let book = RuleBook::built_in();
    for page in book.pages() {
        let mut titles = BTreeSet::new();
        for example in &page.examples {
            assert!(titles.insert(&example.title), "{}: `{}` twice", page.name, example.title);
            for expected in &example.expect {
                assert!(book.get(&expected.rule).is_some(), "{}: there is no rule `{}`", page.name, expected.rule);
            }
        }
        let silent = page.examples.iter().filter(|example| example.expect.is_empty()).count();
        assert!(2 * silent > page.examples.len(), "{}: {silent} silent of {}", page.name, page.examples.len());
    }
}

#[test]
fn every_page_links_a_real_input() {
    // A thread, or the Dockerfiles of a repository.
    let link =
        regex::Regex::new(r"\]\(https://github\.com/[\w.-]+/[\w.-]+(/(issues|pull)/[0-9]+)?\)").expect("a pattern");
    for page in RuleBook::built_in().pages() {
        assert!(link.is_match(&page.sections.references), "{}: {}", page.name, page.sections.references);
        let own =
            ["issues", "pull"].iter().any(|kind| page.sections.references.contains(&format!("imagelint/{kind}/")));
        assert!(!own, "{}: our own trackers are no evidence", page.name);
    }
    for none in [
        "- None",
        "- libnvidia-container issue 266",
        "- [a](https://github.com/a)",
        "- https://github.com/a/b/issues/1",
    ] {
        assert!(!link.is_match(none), "{none}");
    }
}

#[test]
fn error_text_leads_to_its_rule_page() {
    let (book, knowledge) = (RuleBook::built_in(), Knowledge::built_in());
    for page in book.pages().filter(|page| matches!(page.kind, PageKind::Startup(_))) {
        let words = page.error_text().expect("the words of the error");
        let found = explain_text(words, book, knowledge);
        assert!(found.iter().any(|one| one.page.name == page.name), "{}: {words}", page.name);
    }
    assert!(explain_text("the container runs, and that is all", book, knowledge).is_empty());
}

#[test]
fn fleets_and_image_descriptions_are_toml() {
    for page in RuleBook::built_in().pages() {
        for example in &page.examples {
            let image = example.input.text();
            let is_image = matches!(example.input, imagelint::rules::ExampleInput::Image(_));
            for text in example.fleet.as_deref().into_iter().chain(is_image.then_some(image)) {
                let parsed = text.parse::<toml::Table>();
                assert!(parsed.is_ok(), "{}: {}: {parsed:?}\n{text}", page.name, example.title);
            }
        }
    }
}

/// A part of a file of the repository that is made from the code and the pages: compared, or written anew where the variable
/// `IMAGELINT_WRITE` is set.
fn made(path: &str, marker: &str, wanted: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = fs::read_to_string(&file).expect(path);
    let (begin, end) = (format!("<!-- {marker}: begin -->\n"), format!("<!-- {marker}: end -->"));
    let (before, rest) = text.split_once(&begin).expect("a marker where the part begins");
    let (found, after) = rest.split_once(&end).expect("a marker where the part ends");
    let wanted = format!("\n{wanted}\n");
    if found != wanted && std::env::var_os("IMAGELINT_WRITE").is_some() {
        fs::write(&file, format!("{before}{begin}{wanted}{end}{after}")).expect(path);
        return;
    }
    let differs = found.lines().zip(wanted.lines()).find(|(found, wanted)| found != wanted);
    assert!(
        found == wanted,
        "{path} is not what is made of it ({differs:?}): IMAGELINT_WRITE=1 cargo test --test verdicts rule_pages"
    );
}

#[test]
fn author_guide_lists_the_vocabulary() {
    made("rules/README.md", "vocabulary", &imagelint::rules::vocabulary_tables(&Vocabulary::built_in()));
}

#[test]
fn the_table_of_rules_lists_every_page() {
    let table = imagelint::rules::rule_table(RuleBook::built_in(), |page| page.path.clone());
    for page in RuleBook::built_in().pages() {
        assert!(table.contains(&page.path), "{}: {table}", page.path);
    }
}

#[test]
fn the_order_of_changes_names_every_kind() {
    let told = imagelint::fix::cost_order();
    assert!(
        imagelint::report::kinds::ChangeKind::ALL.iter().all(|kind| told.contains(&format!("| `{}` |", kind.name()))),
        "{told}"
    );
}

#[test]
fn the_page_in_the_guide_can_be_used() {
    let guide = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("rules/README.md")).expect("a guide");
    let page = guide.split("````").nth(1).and_then(|page| page.strip_prefix("markdown\n")).expect("a page");
    let page =
        RulePage::read("our-registry.md", page, &Vocabulary::built_in()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(page.examples.len(), 2);
    let condition = guide.split("```text\n").nth(1).and_then(|rest| rest.split("\n```").next()).expect("a condition");
    assert!(imagelint::rules::RuleCondition::parse(condition, &Vocabulary::built_in()).is_ok(), "{condition}");
    assert!(imagelint::rules::RuleCondition::parse(&format!("!!{condition} &&"), &Vocabulary::built_in()).is_err());
}
