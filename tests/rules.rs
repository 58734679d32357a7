//! The examples of every built-in page, judged: what each page promises of itself is what the program does.

use std::collections::BTreeSet;
use std::sync::Arc;

use imagelint::context::Files;
use imagelint::describe::Description;
use imagelint::dockerfile::Dockerfile;
use imagelint::dockerfile::EvaluateOptions;
use imagelint::extract;
use imagelint::fleet;
use imagelint::fleet::Fleet;
use imagelint::fleet::GpuName;
use imagelint::judge::Content;
use imagelint::judge::Detail;
use imagelint::judge::Settings;
use imagelint::judge::Subject;
use imagelint::judge::judge;
use imagelint::knowledge::Knowledge;
use imagelint::report::model;
use imagelint::report::observed::Observed;
use imagelint::rules::Example;
use imagelint::rules::ExampleInput;
use imagelint::rules::Kind;
use imagelint::rules::Page;
use imagelint::rules::Persona;
use imagelint::rules::RuleBook;
use imagelint::source::SourceText;
use imagelint::source::Sources;

fn gpu_name(name: &str) -> GpuName {
    match Knowledge::built_in().gpu(name) {
        Some(_) => GpuName::Known,
        None => GpuName::Unknown { suggestions: Vec::new() },
    }
}

fn read_fleet(example: &Example, sources: &mut Sources) -> Result<Fleet, String> {
    let Some(text) = &example.fleet else {
        let source = sources.add(fleet::built_in_text());
        return Ok(fleet::built_in(source));
    };
    let text = SourceText::new("fleet.toml", text.clone());
    let source = sources.add(text.clone());
    fleet::read(source, &text, &gpu_name).map_err(|errors| format!("fleet cannot be read: {errors:?}"))
}

fn read_subject(example: &Example, sources: &mut Sources) -> Result<Subject, String> {
    Ok(match &example.input {
        ExampleInput::Dockerfile(text) => {
            let dockerfile = Dockerfile::parse(text);
            let source = sources.add(SourceText::new("Dockerfile", text.clone()));
            let options = EvaluateOptions::default();
            let content =
                Content::Dockerfile { source, dockerfile, options, files: Files::default(), bases: Arc::default() };
            Subject {
                name: "Dockerfile".to_owned(),
                path: String::new(),
                kind: "dockerfile",
                digest: None,
                notes: Vec::new(),
                as_of: None,
                only: None,
                content,
            }
        }
        ExampleInput::Image(text) => {
            let text = SourceText::new("x.image.toml", text.clone());
            let description = Description::read(&text).map_err(|errors| format!("cannot be read: {errors:?}"))?;
            let source = sources.add(text);
            let content = Content::Fixed(extract::of_description(&description, Some(source), None));
            Subject {
                name: "x.image.toml".to_owned(),
                path: String::new(),
                kind: "description",
                digest: None,
                notes: Vec::new(),
                as_of: None,
                only: None,
                content,
            }
        }
    })
}

fn judged(example: &Example, detail: Detail) -> Result<model::Subject, String> {
    let mut sources = Sources::default();
    let fleet = read_fleet(example, &mut sources)?;
    let subject = read_subject(example, &mut sources)?;
    let settings = Settings {
        fleet: &fleet,
        pools: &[],
        as_of: None,
        persona: Persona::Auditor,
        knowledge: Knowledge::built_in(),
        book: RuleBook::built_in(),
        sources: &sources,
        detail,
        own: None,
    };
    Ok(judge(&subject, settings))
}

/// What the page's own rule says of an example, as `level: rule`; the cap of the built-in fleet is taken off.
fn said(page: &Page, example: &Example, report: &model::Subject) -> BTreeSet<String> {
    let mut said = BTreeSet::new();
    for finding in report.findings.iter().filter(|finding| finding.rule == page.name) {
        let level = if example.fleet.is_none() { page.severity.word() } else { &finding.severity };
        said.insert(format!("{level}: {}", finding.rule));
    }
    let open = |verdict: &model::Verdict| {
        verdict.component.is_none() && matches!(verdict.fate.as_str(), "depends" | "undetermined")
    };
    if matches!(page.kind, Kind::Startup(_)) && report.verdicts.iter().any(open) {
        said.insert(format!("undetermined: {}", page.name));
    }
    said
}

/// The verdicts on one line, for whoever has to find out.
fn fates(report: &model::Subject) -> String {
    let of_image = report.verdicts.iter().filter(|verdict| verdict.component.is_none());
    let words = of_image.map(|verdict| {
        let outcome = verdict.outcome.as_deref().unwrap_or_default();
        let missing: Vec<&str> = verdict.missing.iter().map(|missing| missing.key.as_str()).collect();
        format!("{} {} {outcome} {} {missing:?}", verdict.pool, verdict.fate, verdict.message)
    });
    words.collect::<Vec<_>>().join("; ")
}

/// How what is said differs from what the example promises.
fn difference(page: &Page, example: &Example) -> Option<String> {
    let report = match judged(example, Detail::Everything) {
        Ok(report) => report,
        Err(error) => return Some(error),
    };
    let said = said(page, example, &report);
    let wanted: BTreeSet<String> =
        example.expect.iter().map(|expected| format!("{}: {}", expected.level, expected.rule)).collect();
    let noisy: Vec<_> = said.difference(&wanted).collect();
    let missing: Vec<_> = wanted.difference(&said).collect();
    let differs = !noisy.is_empty() || !missing.is_empty();
    differs.then(|| format!("noisy {noisy:?}, missing {missing:?}\n    {}", fates(&report)))
}

#[test]
fn every_page_says_of_its_examples_what_it_promises_and_nothing_else() {
    let (mut validated, mut wrong) = (0, Vec::new());
    for page in RuleBook::built_in().pages() {
        for example in &page.examples {
            match difference(page, example) {
                Some(difference) => wrong.push(format!("{} / {}: {difference}", page.name, example.title)),
                None => validated += 1,
            }
        }
    }
    assert!(wrong.is_empty(), "{validated} examples validated, not so:\n{}", wrong.join("\n"));
}

#[test]
fn what_is_not_told_in_full_says_the_same() {
    let text = |subject: &model::Subject| serde_json::to_string(subject).expect("JSON");
    for page in RuleBook::built_in().pages() {
        for example in &page.examples {
            let whole = judged(example, Detail::Everything).expect("an example");
            let short = judged(example, Detail::Verdicts).expect("an example");
            assert!(text(&short).len() < text(&whole).len(), "{} / {}", page.name, example.title);
            let mut left = model::Subject {
                facts: Vec::new(),
                description: serde_json::Value::Null,
                observed: Observed::default(),
                ..whole
            };
            left.verdicts.iter_mut().for_each(|verdict| verdict.scenarios.clear());
            assert_eq!(text(&short), text(&left), "{} / {}", page.name, example.title);
        }
    }
}
