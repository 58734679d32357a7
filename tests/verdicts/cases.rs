//! The cases of `tests/cases` with an expected verdict, facts, packages or a list of findings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

use assert_cmd::Command;
use imagelint::rules::RuleBook;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::batch::{self, Input};
use crate::support::case::{ANY_POOL, Case, Cases};
use crate::support::program::imagelint_program;

struct Mismatch {
    case: String,
    pool: String,
    what: &'static str,
    expected: String,
    found: String,
}

/// The subjects of a case whose input is a file of the repository, or the message of the program.
fn subjects_of_file(case: &Case, input: &str) -> Result<Vec<Value>, String> {
    let folder = TempDir::new().expect("temporary folder");
    let mut command = Command::new(imagelint_program());
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(["check", input, "--format", "json", "--fail-on", "never"]);
    if let Some(text) = &case.fleet {
        let fleet = folder.path().join("fleet.toml");
        fs::write(&fleet, text).expect("fleet written");
        command.arg("--fleet").arg(fleet);
    }
    command.args(case.arguments());
    if let Some(persona) = &case.persona {
        command.args(["--persona", persona]);
    }
    let output = command.output().expect("program runs");
    if output.status.code() != Some(0) {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("exit {:?}: {}", output.status.code(), message.trim()));
    }
    let report: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("no JSON: {error}"))?;
    Ok(list(&report["subjects"]).to_vec())
}

/// The subjects of each case, or the message of the program.
fn subjects_of<'c>(cases: &[&'c Case]) -> Vec<(&'c Case, Result<Vec<Value>, String>)> {
    let input = |(at, case): (usize, &&Case)| {
        case.text()?;
        let mut input = Input::new(at.to_string(), case);
        input.fleet = case.fleet.clone().or_else(|| (!case.expects_more_than_facts()).then(|| ANY_POOL.to_owned()));
        Some(input)
    };
    let mut found = batch::subjects(&cases.iter().enumerate().filter_map(input).collect::<Vec<_>>());
    let of = |(at, case): (usize, &&'c Case)| match &case.input {
        Some(path) => (*case, subjects_of_file(case, path)),
        None => (*case, Ok(found.remove(&at.to_string()).expect("a subject"))),
    };
    cases.iter().enumerate().map(of).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The keys of the facts of a step, and of the facts that they are derived from.
fn keys_of(step: &Value, facts: &[Value]) -> Vec<String> {
    let mut ids: Vec<String> = list(&step["facts"]).iter().map(text).collect();
    let mut keys = Vec::new();
    let mut next = 0;
    while let Some(id) = ids.get(next).cloned() {
        next += 1;
        let Some(fact) = facts.iter().find(|fact| fact["id"] == id.as_str()) else {
            keys.push(id);
            continue;
        };
        keys.push(text(&fact["key"]));
        for from in list(&fact["derived_from"]).iter().map(text) {
            if !ids.contains(&from) {
                ids.push(from);
            }
        }
    }
    keys
}

/// A fact without evidence: a known value without an origin, an absence without the searched places, or an unknown value
/// without a reason and a remedy.
fn unfounded(fact: &Value) -> Option<String> {
    let rests = !list(&fact["origins"]).is_empty() || !list(&fact["derived_from"]).is_empty();
    let why = fact["why"].as_str().unwrap_or_default();
    let founded = match fact["state"].as_str() {
        Some("known") => rests && !fact["value"].is_null(),
        Some("absent") => why.strip_prefix("searched: ").is_some_and(|searched| !searched.trim().is_empty()),
        Some("unknown") => why.split_once(';').is_some_and(|(why, supply)| !why.is_empty() && supply.len() > 1),
        _ => false,
    };
    (!founded).then(|| format!("{} {}", text(&fact["key"]), text(&fact["state"])))
}

#[test]
fn a_fact_without_evidence_is_detected() {
    let fact = |state: &str, origins: Value, why: Value| {
        let value = if state == "known" { json!("x") } else { Value::Null };
        json!({"key": "k", "state": state, "value": value, "origins": origins, "derived_from": [], "why": why})
    };
    for (state, origins, why, founded) in [
        ("known", json!([{"kind": "file"}]), Value::Null, true),
        ("known", json!([]), Value::Null, false),
        ("absent", json!([]), json!("searched: every file"), true),
        ("absent", json!([{"kind": "file"}]), json!("searched: "), false),
        ("absent", json!([]), Value::Null, false),
        ("unknown", json!([]), json!("not read; read it"), true),
        ("unknown", json!([]), json!("not read; "), false),
        ("unknown", json!([]), Value::Null, false),
        ("other", json!([{"kind": "file"}]), json!("searched: x"), false),
    ] {
        assert_eq!(unfounded(&fact(state, origins, why.clone())).is_none(), founded, "{state} {why}");
    }
}

/// The differences on one pool: the field, the expected value and the value of the report.
fn compare(case: &Case, subject: &Value, verdict: &Value) -> Vec<(&'static str, String, String)> {
    let mut wrong = Vec::new();
    let mut same = |what, expected: Option<&str>, found: &Value| {
        if let Some(expected) = expected.filter(|expected| *expected != text(found)) {
            wrong.push((what, expected.to_owned(), text(found)));
        }
    };
    same("fate", case.fate.as_deref(), &verdict["fate"]);
    same("outcome", case.outcome.as_deref(), &verdict["outcome"]);
    same("reason", case.reason.as_deref(), &verdict["reason"]);
    same("route", case.route.as_deref(), &verdict["route"]);
    let certain = case.certain.map(|code| code.to_string());
    same("certain", certain.as_deref(), &verdict["codes"]["certain"]);
    if let Some(expected) = &case.possible {
        let mut expected = expected.clone();
        let mut found: Vec<u64> = list(&verdict["codes"]["possible"]).iter().filter_map(Value::as_u64).collect();
        expected.sort_unstable();
        found.sort_unstable();
        if expected != found {
            wrong.push(("possible", format!("{expected:?}"), format!("{found:?}")));
        }
    }
    let missing: Vec<String> = list(&verdict["missing"]).iter().map(|one| text(&one["key"])).collect();
    for key in &case.missing {
        if !missing.iter().any(|found| found.starts_with(key.as_str())) {
            wrong.push(("missing", key.clone(), missing.join(" ")));
        }
    }
    if let Some(expected) = &case.not_inspected {
        let found: Vec<String> = list(&verdict["not_seen"]).iter().map(text).collect();
        if *expected != found {
            wrong.push(("not inspected", expected.join(", "), found.join(", ")));
        }
    }
    let failing: Vec<&Value> = list(&verdict["scenarios"]).iter().filter(|one| one["fate"] == "fails").collect();
    if case.step.is_some() && failing.is_empty() {
        wrong.push(("step", case.step.clone().unwrap_or_default(), "no failing scenario".to_owned()));
    }
    for scenario in failing {
        let stop = list(&scenario["steps"]).iter().find(|step| step["result"] == "stops");
        let (name, keys) = stop.map_or_else(
            || ("none stops".to_owned(), Vec::new()),
            |step| (text(&step["step"]), keys_of(step, list(&subject["facts"]))),
        );
        if let Some(expected) = case.step.as_ref().filter(|expected| **expected != name) {
            wrong.push(("step", expected.clone(), name));
        }
        if let Some(fact) = &case.fact
            && !keys.iter().any(|key| key.starts_with(fact.as_str()))
        {
            wrong.push(("fact", fact.clone(), keys.join(" ")));
        }
    }
    wrong
}

/// A package as a case expects it.
fn package(package: &Value) -> String {
    let version = &package["version"];
    let version = match (version["exact"].as_str(), version["open"].as_str()) {
        (Some(version), _) => format!("=={version}"),
        (None, Some(range)) => range.to_owned(),
        (None, None) => "=?".to_owned(),
    };
    let build = package["variant"].as_str().map(|variant| format!("[{variant}]")).unwrap_or_default();
    let possible = if package["conditional"].is_null() { "" } else { "?" };
    format!("{}{version}{build}{possible}", text(&package["name"]))
}

/// Whether a note is the expected one, where `…` at an end stands for any text.
fn is_note(found: &str, expected: &str) -> bool {
    let begins = expected.strip_prefix('…');
    let part = begins.unwrap_or(expected);
    let ends = part.strip_suffix('…');
    let part = ends.unwrap_or(part);
    match (begins, ends) {
        (None, None) => found == part,
        (None, Some(_)) => found.starts_with(part),
        (Some(_), None) => found.ends_with(part),
        (Some(_), Some(_)) => found.contains(part),
    }
}

/// The differences of components, packages and notes: the field, the expected value and the value of the report.
fn compare_packages(case: &Case, subject: &Value) -> Vec<(&'static str, String, String)> {
    let mut wrong = Vec::new();
    if let Some(expected) = &case.packages {
        let mut expected = expected.clone();
        let own = |one: &String| {
            case.package_names.is_empty() || case.package_names.iter().any(|name| one.starts_with(name.as_str()))
        };
        let packages = list(&subject["observed"]["platforms"][0]["seen"]["packages"]);
        let mut found: Vec<String> = packages.iter().map(package).filter(own).collect();
        expected.sort();
        found.sort();
        if expected != found {
            wrong.push(("packages", expected.join(" "), found.join(" ")));
        }
    }
    if case.packages.is_some() || case.notes.is_some() {
        let expected = case.notes.as_deref().unwrap_or_default();
        let found: Vec<String> = list(&subject["inspected"]["notes"]).iter().map(text).collect();
        let same = |(found, expected): (&String, &String)| is_note(found, expected);
        if expected.len() != found.len() || !found.iter().zip(expected).all(same) {
            wrong.push(("notes", expected.join(" | "), found.join(" | ")));
        }
    }
    if let Some(expected) = &case.components {
        let expected: BTreeSet<String> = expected.iter().cloned().collect();
        let verdicts = list(&subject["verdicts"]).iter();
        let found: BTreeSet<String> = verdicts.filter_map(|one| one["component"].as_str()).map(str::to_owned).collect();
        if expected != found {
            let [expected, found] = [expected, found].map(|all| all.into_iter().collect::<Vec<_>>().join(" "));
            wrong.push(("components", expected, found));
        }
    }
    for name in &case.absent {
        let verdict = list(&subject["verdicts"]).iter().find(|one| one["component"].as_str() == Some(name));
        let (version, removed) = (format!("{name}.version"), &subject["description"]["packages"]["gone"]);
        let fact = list(&subject["facts"]).iter().find(|fact| fact["key"].as_str() == Some(&version));
        // A package of the base image keeps its facts after its removal.
        let fact = fact.filter(|_| !list(removed).iter().any(|one| one["name"].as_str() == Some(name)));
        if let Some(found) = verdict.or(fact) {
            wrong.push(("absent", name.clone(), found.to_string()));
        }
    }
    wrong
}

#[test]
fn ellipsis_in_a_note_matches_any_text() {
    for (expected, same) in [
        ("r.txt was not read: it is missing", true),
        ("r.txt was not read: …", true),
        ("…it is missing", true),
        ("…was not read…", true),
        ("r.txt was not read", false),
        ("s.txt…", false),
        ("…it is there", false),
        ("…was read…", false),
    ] {
        assert_eq!(is_note("r.txt was not read: it is missing", expected), same, "{expected}");
    }
}

fn judge(case: &Case, subjects: &Result<Vec<Value>, String>) -> Vec<Mismatch> {
    let mismatch = |pool: &str, what, expected: &str, found: String| Mismatch {
        case: case.name.clone(),
        pool: pool.to_owned(),
        what,
        expected: expected.to_owned(),
        found,
    };
    let subject = match subjects.as_ref().map(Vec::as_slice) {
        Ok([subject]) => subject,
        Ok(subjects) => return vec![mismatch("", "report", "one subject", format!("{} subjects", subjects.len()))],
        Err(error) => return vec![mismatch("", "run", "a report", error.clone())],
    };
    let component = case.component.as_deref();
    let unfounded = list(&subject["facts"]).iter().filter_map(unfounded);
    let mut wrong: Vec<Mismatch> = unfounded.map(|fact| mismatch("", "fact", "evidence", fact)).collect();
    for (key, expected) in &case.facts {
        let facts = || list(&subject["facts"]).iter().filter(|fact| fact["key"].as_str() == Some(key));
        let found = facts().next_back().map_or("no fact".to_owned(), |fact| match fact["state"].as_str() {
            Some("known") => text(&fact["value"]),
            Some("unknown") => "?".to_owned(),
            _ => "-".to_owned(),
        });
        if found != *expected {
            wrong.push(mismatch("", "facts", &format!("{key} = {expected}"), found));
        }
    }
    let packages = compare_packages(case, subject).into_iter();
    wrong.extend(packages.map(|(what, expected, found)| mismatch("", what, &expected, found)));
    for pool in case.pools.iter().filter(|_| case.fate.is_some()) {
        let verdict = list(&subject["verdicts"])
            .iter()
            .find(|one| one["pool"] == pool.as_str() && one["component"].as_str() == component);
        match verdict {
            None => wrong.push(mismatch(pool, "verdict", component.unwrap_or("the image's"), "none".to_owned())),
            Some(verdict) => wrong.extend(
                compare(case, subject, verdict)
                    .into_iter()
                    .map(|(what, expected, found)| mismatch(pool, what, &expected, found)),
            ),
        }
    }
    wrong
}

#[test]
fn each_case_has_its_verdict_and_its_facts() {
    let cases = Cases::read().cases;
    let with_verdict: Vec<&Case> = cases.iter().filter(|case| case.fate.is_some() || case.expects_facts()).collect();
    assert!(with_verdict.len() > 2_000, "{} cases", with_verdict.len());
    let subjects = subjects_of(&with_verdict);
    let wrong: Vec<Mismatch> = subjects.iter().flat_map(|(case, subjects)| judge(case, subjects)).collect();
    let mut lines = String::new();
    for one in &wrong {
        let Mismatch { case, pool, what, expected, found } = one;
        writeln!(lines, "{case:<40} {pool:<18} {what:<9} expected {expected:<22} found {found}").expect("text");
    }
    assert!(wrong.is_empty(), "{} mismatches in {} cases:\n{lines}", wrong.len(), with_verdict.len());
}

/// The findings of an input as a case expects them.
fn findings(input: &Input, subjects: &[Value]) -> BTreeSet<String> {
    let name = |finding: &Value| {
        let place = &finding["locations"][0];
        let line = place["region"]["start_line"].as_u64();
        let line = line.map_or_else(|| "-".to_owned(), |line| line.to_string());
        let path = place["path"].as_str().unwrap_or_default();
        let path = path.strip_prefix(&format!("{}/", input.id)).unwrap_or(path);
        let file = if path.is_empty() || path == input.file { String::new() } else { format!("{path}:") };
        format!("{}@{file}{line}", finding["rule"].as_str().expect("a rule"))
    };
    subjects.iter().flat_map(|subject| list(&subject["findings"])).map(name).collect()
}

/// An expected finding with the current name of its rule.
fn now(expected: &str) -> String {
    let (rule, line) = expected.split_once('@').unwrap_or((expected, ""));
    let page = RuleBook::built_in().get(rule);
    format!("{}@{line}", page.map_or(rule, |page| page.name.as_str()))
}

#[test]
fn each_case_has_exactly_its_findings() {
    let cases = Cases::read().cases;
    let expected = |case: &Case| case.findings.as_ref().map(|all| all.iter().map(|one| now(one)).collect());
    let expected: BTreeMap<usize, BTreeSet<String>> =
        cases.iter().enumerate().filter_map(|(at, case)| Some((at, expected(case)?))).collect();
    let without = expected.values().filter(|all| all.is_empty()).count();
    let with = expected.len() - without;
    assert!(with >= 60 && without >= 40, "{with} cases with findings, {without} without");
    let inputs: Vec<Input> = expected.keys().map(|at| Input::new(at.to_string(), &cases[*at])).collect();
    let found = batch::subjects(&inputs);
    let mut faults = Vec::new();
    for (input, (at, expected)) in inputs.iter().zip(&expected) {
        let found = findings(input, &found[&input.id]);
        if found != *expected {
            faults.push(format!("{}\n  expected {expected:?}\n  found    {found:?}", cases[*at].name));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn invalid_case_is_refused_with_its_file_name() {
    let input = "name = \"one\"\ndockerfile = \"FROM a\"\nfleet = \"f\"\n";
    let verdict = "pools = [\"p\"]\nfate = \"starts\"\n";
    let of = |fields: &str| {
        let fleets = "[fleets]\nf = \"[[pool]]\"\n";
        let text = format!("{fleets}[[case]]\n{fields}");
        Cases::of([("a".to_owned(), text)]).map(|cases| cases.cases.len())
    };
    for fields in [
        format!("{input}{verdict}"),
        format!("{input}findings = []\n"),
        format!("{input}rule = \"r\"\nmessage = \"m\"\n"),
        format!("{input}{verdict}findings = [\"r@1\"]\n"),
        format!("{input}facts = {{ \"torch.version\" = \"2.4.0\" }}\n"),
        format!("{input}absent = [\"torch\"]\n"),
        format!("{input}components = []\n"),
        format!("{input}packages = []\npackage_names = [\"torch\"]\n"),
        format!("{input}notes = [\"n\"]\nfiles.\"r.txt\" = \"flask\"\n"),
        format!("{input}notes = []\nfiles.\"app/r.txt\" = \"flask\"\ncontext_folder = \"app\"\n"),
    ] {
        assert_eq!(of(&fields), Ok(1), "{fields}");
    }
    for (fields, fault) in [
        (input.to_owned(), "`one`: it expects no verdict, no fact and no finding"),
        (format!("{input}pools = [\"p\"]\n"), "`one`: it expects no verdict, no fact and no finding"),
        (format!("{input}fate = \"starts\"\n"), "`one`: `fate` needs `pools`"),
        (format!("{input}findings = []\noutcome = \"refused\"\n"), "`one`: a part of a verdict needs `fate`"),
        (format!("{input}findings = []\nmissing = [\"pool.gpu\"]\n"), "`one`: a part of a verdict needs `fate`"),
        (format!("{input}{verdict}image = \"\"\n"), "`one`: it needs exactly one of"),
        (format!("name = \"one\"\nfleet = \"f\"\n{verdict}"), "`one`: it needs exactly one of"),
        (
            "name = \"one\"\ninput = \"Dockerfile\"\nfindings = []\n".to_owned(),
            "`one`: without `fate` it needs the text",
        ),
        (format!("{input}{verdict}package_names = [\"torch\"]\n"), "`one`: `package_names` needs `packages`"),
        (format!("{input}{verdict}context = \"c\"\n"), "`one`: no context has the name `c`"),
        (
            "name = \"one\"\nimage = \"\"\nfindings = []\nfiles.a = \"\"\n".to_owned(),
            "`one`: `files` and `context` need",
        ),
        (format!("{input}notes = []\ncontext_folder = \"app\"\n"), "`one`: `context_folder` needs `files`"),
        (format!("{input}rule = \"r\"\n"), "`one`: `rule` needs `message`"),
        (format!("{input}{verdict}near = [[\"a\", \"b\"]]\n"), "`one`: a part of a finding needs `rule`"),
        (format!("{input}{verdict}[[case]]\n{input}{verdict}"), "`one`: a.toml has a case with this name"),
        (format!("{input}{verdict}fates = \"starts\"\n"), "unknown field `fates`"),
    ] {
        let error = of(&fields).expect_err(&fields);
        assert!(error.starts_with("a.toml: ") && error.contains(fault), "{fields}{error}");
    }
}

#[test]
fn files_share_fleets_images_and_contexts() {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let user =
        file("a", "[[case]]\nname = \"one\"\nimage = \"i\"\nfleet = \"f\"\npools = [\"p\"]\nfate = \"starts\"\n");
    let owner = file("b", "[fleets]\nf = \"the fleet\"\n[images]\ni = \"the image\"\n");
    let cases = Cases::of([user.clone(), owner.clone()]).expect("cases").cases;
    assert_eq!((cases[0].fleet.as_deref(), cases[0].text()), (Some("the fleet"), Some("the image")));
    assert_eq!(cases[0].source, "a");
    let context = "[contexts.c]\n\"r.txt\" = \"flask\"\n\"s.txt\" = \"jax\"\n[[case]]\nname = \"two\"\ndockerfile = \"\"\n\
                   context = \"c\"\nfiles.\"r.txt\" = \"torch\"\nnotes = [\"n\"]\n";
    let cases = Cases::of([file("d", context)]).expect("cases").cases;
    let files: Vec<(&str, &str)> = cases[0].files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    assert_eq!(files, [("r.txt", "torch"), ("s.txt", "jax")]);
    let other = file("c", "[images]\ni = \"another\"\n");
    assert!(Cases::of([user, owner, other]).expect_err("twice").contains("another file defines `i`, too"));
}
