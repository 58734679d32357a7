//! Tests of rule pages: invalid pages, the spans of their errors, and the advice.

use crate::model::outcome::FailureCause;
use crate::rules::example::Level;
use crate::rules::page::RulePage;
use crate::rules::page_error::RulePageError;
use crate::rules::rule_book::RuleBook;
use crate::rules::vocabulary::Vocabulary;

/// A valid practice page of a user.
const VALID_PAGE: &str = r#"# our-rule

```toml rule
severity = "warning"
since = "0.1.0"
when = 'image.base.cuda < version("12.4")'
blame = "image.base"
message = "CUDA {image.base.cuda}"
help = "take another"
```

## What goes wrong

It breaks.

## What to do

Repair it.

## Examples

### Breaks

```toml fleet
[[pool]]
```

```dockerfile
# warning: our-rule
FROM a
```

### Works

```dockerfile
# escape=`
# note: a comment with blanks
FROM b
```
"#;

/// Parses a text as the page `our-rule`.
fn parse_page(text: &str) -> Result<RulePage, Box<RulePageError>> {
    RulePage::read("ours/our-rule.md", text, &Vocabulary::built_in())
}

#[test]
fn a_page_is_read_into_its_parts() {
    let page = parse_page(VALID_PAGE).expect("well formed");
    assert_eq!((page.sections.wrong.as_str(), page.sections.why.as_str()), ("It breaks.", ""));
    assert_eq!(page.examples[0].expect[0].level, Level::Warning);
    assert_eq!(page.examples[1].fleet.as_deref(), Some("[[pool]]\n"));
    assert!(page.examples[1].expect.is_empty());
}

#[test]
fn page_error_is_underlined() {
    for (old, new, under, help) in [
        ("severity", "severty", "severty", "severity"),
        ("\"warning\"", "\"waning\"", "\"waning\"", "warning"),
        ("base.cuda <", "base.cud <", "image.base.cud", "image.base.cuda"),
        ("{image.base.cuda}", "{image.base.cudd}", "image.base.cudd", "image.base.cuda"),
        ("\"image.base\"", "\"image.bas\"", "\"image.bas\"", "image.base"),
        ("\"0.1.0\"", "\"1\"", "\"1\"", ""),
        ("help = ", "outcome = \"no-gpu\"\nhelp = ", "'image.base.cuda < version(\"12.4\")'", ""),
        ("when = 'image.base.cuda < version(\"12.4\")'", "outcome = \"no-gpus\"", "\"no-gpus\"", "no-gpu"),
        ("# our-rule\n", "# Our rule\n", "Our rule", ""),
        ("# our-rule\n", "# your-rule\n", "your-rule", "your-rule.md"),
        ("## What to do", "## What to dp", "## What to dp", "What to do"),
        ("## What goes wrong", "## What to do", "## What to do", "order"),
        ("toml fleet", "toml flet", "toml flet", "toml fleet"),
        ("# warning: our", "# waring: our", "waring", "warning"),
        ("# note: a comment with blanks", "# warning: our-rule", "## Examples", ""),
        ("# warning: our-rule\n", "", "## Examples", "# warning: our-rule"),
        ("# warning: our", "# error: our", "", ""),
        ("toml rule", "toml", "```toml", ""),
    ] {
        let text = VALID_PAGE.replacen(old, new, 1);
        let error = parse_page(&text).expect_err(new);
        let found = &text[error.span().start..error.span().end];
        assert!(found.starts_with(under), "{new}: {found}: {}", error.message());
        assert!(error.advice().unwrap_or_default().contains(help), "{new}: {:?}", error.advice());
    }
}

#[test]
fn page_with_too_many_pools_or_examples_is_refused() {
    let refused = |text: &str| parse_page(text).err().map(|error| error.to_string()).unwrap_or_default();
    let many = |count: usize| VALID_PAGE.replace("[[pool]]\n", &"[[pool]]\n".repeat(count));
    assert!(refused(&many(33)).contains("at most 32 pools"), "{}", refused(&many(33)));
    let example = |at: usize| format!("\n### Works {at}\n\n```dockerfile\nFROM b\n```\n");
    let with = |count: usize| format!("{VALID_PAGE}{}", (0..count).map(example).collect::<String>());
    assert!(refused(&with(127)).contains("at most 128 examples"), "{}", refused(&with(127)));
    for text in [VALID_PAGE, &many(32), &with(126)] {
        assert_eq!(refused(text), "");
    }
    assert!(refused(&format!("\u{feff}{VALID_PAGE}")).contains("byte order mark"));
}

#[test]
fn no_cut_makes_it_fall_over() {
    for (at, _) in VALID_PAGE.char_indices() {
        for text in [
            VALID_PAGE[..at].to_owned(),
            format!("{}é`{}", &VALID_PAGE[..at], &VALID_PAGE[at..]),
            VALID_PAGE[at..].to_owned(),
        ] {
            if let Err(error) = parse_page(&text) {
                drop(format!("{:?}", miette::Report::new(*error)));
            }
        }
    }
}

#[test]
fn a_folder_adds_practice_pages_and_repeats_none() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let book =
        RuleBook::with_folder(vec![file("our-rule.md", VALID_PAGE), file("notes.txt", ""), file("README.md", "x")])
            .expect("well formed");
    assert!(book.get("our-rule").is_some());
    assert_eq!(book.practice_pages().len(), RuleBook::built_in().practice_pages().len() + 1);
    let twice = RuleBook::with_folder(vec![file("a/our-rule.md", VALID_PAGE), file("b/our-rule.md", VALID_PAGE)])
        .expect_err("ill formed");
    assert!(twice[0].message().contains("a/our-rule.md"), "{twice:?}");
    let outcome = VALID_PAGE.replace("when = 'image.base.cuda < version(\"12.4\")'", "outcome = \"no-gpu\"");
    assert_eq!(RuleBook::with_folder(vec![file("our-rule.md", &outcome)]).expect_err("ill formed").len(), 1);
}

/// Returns a page with every section, about an outcome if one is passed.
fn complete_page(outcome: Option<&str>) -> String {
    let page = VALID_PAGE.replacen("## What goes wrong\n", "Detects it.\n\n## What goes wrong\n", 1);
    let page = page.replace("## What to do\n", "## Why\n\nIt must.\n\n## What to do\n");
    let page = page.replace("## Examples\n", "## When to ignore it\n\nNever.\n\n## Examples\n");
    let page = format!("{page}\n## References\n\n- a thread\n");
    match outcome {
        None => page,
        Some(outcome) => page
            .replace("severity = \"warning\"\n", "")
            .replace("when = 'image.base.cuda < version(\"12.4\")'", &format!("outcome = \"{outcome}\""))
            .replace("# warning: our", "# error: our"),
    }
}

#[test]
fn a_built_in_page_has_every_section_and_a_failure_its_words() {
    let own = |text: &str| RulePage::read_built_in("our-rule.md", text, &Vocabulary::built_in());
    let page = complete_page(None);
    assert_eq!(own(&page).expect("a whole page").missing_sections().count(), 0);
    for (section, body) in [("Why", "It must."), ("When to ignore it", "Never."), ("References", "- a thread")] {
        let short = page.replace(&format!("## {section}\n\n{body}\n"), "");
        let error = own(&short).expect_err(section);
        assert!(error.message().contains(section), "{}", error.message());
        // A page from outside is accepted, and its missing sections are known.
        assert_eq!(parse_page(&short).expect("well formed").missing_sections().collect::<Vec<_>>(), [section]);
    }
    let startup = complete_page(Some("no-gpu"));
    for wrong in ["It breaks.", "```text\n\n```", "```sh\nnvidia-smi\n```", "`35`"] {
        let error = own(&startup.replace("It breaks.", wrong)).expect_err(wrong);
        assert!(error.message().contains("does not contain the error message"), "{}", error.message());
    }
    let valid_page =
        own(&startup.replace("It breaks.", "So:\n\n```text\nno device\n```\n\nIt ends.")).expect("well formed");
    assert_eq!(valid_page.error_text(), Some("no device"));
}

#[test]
fn a_cause_of_the_outcome_may_have_a_help_of_its_own() {
    let own = |page: &str, helps: &str| {
        let text =
            page.replacen("help = \"take another\"\n", &format!("help = \"take another\"\n\n[help_for]\n{helps}\n"), 1);
        let page = RulePage::read("our-rule.md", &text, &Vocabulary::built_in());
        page.map_err(|error| (text[error.span().start..error.span().end].to_owned(), error.advice().map(str::to_owned)))
    };
    let startup = complete_page(Some("no-gpu"));
    let page = own(&startup, "hidden = \"show it on {pool.name}\"").expect("well formed");
    assert_eq!(page.help_for_cause(Some(FailureCause::Hidden)).text(), "show it on {pool.name}");
    for other in [None, Some(FailureCause::DriverOnly), Some(FailureCause::Hook)] {
        assert_eq!(page.help_for_cause(other).text(), "take another", "{other:?}");
    }
    for (page, helps, under, help) in [
        (&startup, "hiden = \"x\"", "hiden", "did you mean `hidden`?"),
        (&startup, "hook = \"x\"", "hook", "one of: asks-for-none, "),
        (&startup, "hidden = \"{pool.nam}\"", "pool.nam", "pool.name"),
        (&startup, "hidden = \"\"", "\"\"", ""),
        (&complete_page(Some("refused")), "hidden = \"x\"", "hidden", "one of: malformed-requirement, "),
        (&complete_page(None), "hidden = \"x\"", "hidden", ""),
    ] {
        let (found, given) = own(page, helps).expect_err(helps);
        assert_eq!(found, under, "{helps}");
        assert!(given.unwrap_or_default().contains(help), "{helps}");
    }
}

#[test]
fn a_pattern_from_outside_is_tried_when_the_page_is_read() {
    let page = complete_page(None).replace("image.base.cuda < version(\"12.4\")", "matches(image.base.tag, \"(\")");
    assert!(parse_page(&page).is_err());
    let own = RulePage::read_built_in("our-rule.md", &page, &Vocabulary::built_in());
    assert!(own.is_ok(), "{own:?}");
}
