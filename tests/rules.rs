//! The examples of every built-in page, judged: what each page promises of itself is what the program does.

use imagelint::examples::Verdict;
use imagelint::examples::judged;
use imagelint::examples::of_page;
use imagelint::judge::Detail;
use imagelint::knowledge::Knowledge;
use imagelint::report::model;
use imagelint::report::observed::Observed;
use imagelint::rules::RuleBook;

#[test]
fn every_page_says_of_its_examples_what_it_promises_and_nothing_else() {
    let (mut validated, mut wrong) = (0, Vec::new());
    let book = RuleBook::built_in().clone().with_preview();
    for page in book.pages() {
        for example in of_page(page, &book, Knowledge::built_in()) {
            match example.verdict {
                Verdict::Validated => validated += 1,
                _ => wrong.push(format!("{}: {example:?}", page.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "{validated} examples validated, not so:\n{}", wrong.join("\n"));
}

#[test]
fn what_is_not_told_in_full_says_the_same() {
    let text = |subject: &model::Subject| serde_json::to_string(subject).expect("JSON");
    let (book, knowledge) = (RuleBook::built_in(), Knowledge::built_in());
    for page in book.pages() {
        for example in &page.examples {
            let (whole, open) = judged(example, book, knowledge, Detail::Everything).expect("an example");
            let (short, still_open) = judged(example, book, knowledge, Detail::Verdicts).expect("an example");
            assert!(text(&short).len() < text(&whole).len(), "{} / {}", page.name, example.title);
            let mut left = model::Subject {
                facts: Vec::new(),
                description: serde_json::Value::Null,
                observed: Observed::default(),
                ..whole
            };
            left.verdicts.iter_mut().for_each(|verdict| verdict.scenarios.clear());
            assert_eq!(text(&short), text(&left), "{} / {}", page.name, example.title);
            assert_eq!(open, still_open, "{} / {}", page.name, example.title);
        }
    }
}
