//! Reports for other programs: each as its reader takes it, with friendly texts and hostile ones.

use crate::support::sample_report;
use std::collections::BTreeSet;

use imagelint::report::checkstyle::CheckstyleWriter;
use imagelint::report::concise::ConciseWriter;
use imagelint::report::github::GithubWriter;
use imagelint::report::gitlab::GitlabWriter;
use imagelint::report::html::write_html;
use imagelint::report::junit::JunitWriter;
use imagelint::report::kinds::{ChangeKind, FindingSeverity, FixSafety, LocationKind};
use imagelint::report::markdown::{MarkdownTarget, write_markdown};
use imagelint::report::model::{Edit, Fix, Region, Report};
use imagelint::report::ndjson::NdjsonWriter;
use imagelint::report::rdjson::RdjsonWriter;
use imagelint::report::report_writer::{ReportContext, ReportWriter};
use imagelint::report::sarif::SarifWriter;
use imagelint::rules::RuleBook;
use imagelint::text::source::{SourceText, Sources, Span};
use serde_json::Value;

use crate::formats::sample_report::{DOCKERFILE, FLEET, sample};

mod hostile;
mod xml;

/// A report in a format.
fn rendered_report(format: &str, report: &Report) -> String {
    let mut sources = Sources::default();
    sources.add(SourceText::new("Dockerfile", DOCKERFILE));
    sources.add(SourceText::new("fleet.toml", FLEET));
    let from_root = |path: &str| format!("deep/{path}");
    let fleet = report.fleet.clone();
    let book = RuleBook::built_in();
    let setting = ReportContext { category: "check", fleet: &fleet, sources: &sources, book, from_root: &from_root };
    let mut out = Vec::new();
    let mut sink: Box<dyn ReportWriter> = match format {
        "concise" => Box::new(ConciseWriter::new(setting)),
        "ndjson" => Box::new(NdjsonWriter::default()),
        "sarif" => Box::new(SarifWriter::new(setting)),
        "github" => Box::new(GithubWriter::new(setting)),
        "gitlab" => Box::new(GitlabWriter::new(setting)),
        "rdjsonl" => Box::new(RdjsonWriter::new(setting)),
        "checkstyle" => Box::new(CheckstyleWriter::new(setting)),
        "junit" => Box::new(JunitWriter::new(setting)),
        other => {
            match other {
                "markdown" => write_markdown(report, MarkdownTarget::Comment, &mut out).expect("memory"),
                "summary" => write_markdown(report, MarkdownTarget::Summary, &mut out).expect("memory"),
                _ => write_html(report, &mut out).expect("memory"),
            }
            return String::from_utf8(out).expect("UTF-8");
        }
    };
    sink.write_start(report, &mut out).expect("memory");
    for subject in &report.subjects {
        sink.write_subject(subject, &mut out).expect("memory");
    }
    sink.write_end(report, &mut out).expect("memory");
    String::from_utf8(out).expect("UTF-8")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// What the sample's finding is about.
const BASE: &str = "nvidia/cuda:${CUDA}-runtime-ubuntu22.04";

/// The sample with a fix, and a warning on an image that has no line of its own.
fn full() -> Report {
    let mut report = sample();
    let finding = report.subjects[0].findings[0].clone();
    let region = finding.locations[0].region.expect("a region");
    let mut fix = Fix {
        title: "take an older tag".to_owned(),
        kind: ChangeKind::BaseTag,
        safety: FixSafety::Unsafe,
        edits: vec![Edit { path: "Dockerfile".to_owned(), region, replacement: "nvidia/cuda:11.4.3".to_owned() }],
        cures: vec!["desk-3090".to_owned()],
        settles: Vec::new(),
        lifts: Vec::new(),
        narrows: Vec::new(),
        supposes: None,
        breaks: Vec::new(),
        drivers: Vec::new(),
    };
    report.subjects[0].findings[0].fixes.push(fix.clone());
    fix.edits.clear();
    "move the pool to a newer driver".clone_into(&mut fix.title);
    report.subjects[0].findings[0].fixes.push(fix);
    let mut other = finding;
    other.severity = FindingSeverity::Warning;
    other.pools = vec!["train-a100".to_owned()];
    other.locations.retain(|place| place.kind == LocationKind::Config);
    report.subjects[1].findings.push(other);
    report
}

#[test]
fn every_format_renders_the_report_like_its_snapshot() {
    for format in
        ["concise", "ndjson", "sarif", "github", "gitlab", "rdjsonl", "checkstyle", "junit", "markdown", "summary"]
    {
        let text = rendered_report(format, &full());
        let text = match format {
            "sarif" => serde_json::to_string_pretty(&json(&text)).expect("JSON"),
            _ => text,
        };
        insta::assert_snapshot!(format, text.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    }
}

#[test]
fn finding_located_only_in_the_fleet_names_its_image() {
    let mut report = sample();
    report.subjects[0].findings[0].locations.retain(|place| place.kind == LocationKind::Fleet);
    let formats = ["concise", "sarif", "github", "gitlab", "rdjsonl", "checkstyle", "junit", "markdown"];
    let named = |format: &str, report: &Report| {
        let text = rendered_report(format, report);
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("CUDA 12.4 will not start")).collect();
        assert!(!lines.is_empty(), "{format}: {text}");
        lines.iter().any(|line| line.contains("Dockerfile (serve)"))
    };
    for format in formats {
        assert!(named(format, &report), "{format}: {}", rendered_report(format, &report));
    }
    assert!(rendered_report("concise", &report).starts_with(
        "fleet.toml:4:10: error driver-older-than-runtime: Dockerfile (serve): CUDA 12.4 will not start on pool"
    ));
    // One with a line of the image says enough by it.
    for format in formats.into_iter().filter(|format| *format != "sarif") {
        assert!(!named(format, &sample()), "{format}: {}", rendered_report(format, &sample()));
    }
}

#[test]
fn sarif_meets_code_scanning_requirements() {
    let log = json(&rendered_report("sarif", &full()));
    assert_eq!(log["version"], "2.1.0");
    assert!(log["$schema"].as_str().expect("a schema").ends_with("/sarif-schema-2.1.0.json"));
    let run = &log["runs"][0];
    assert_eq!(run["automationDetails"]["id"], "imagelint/check/");
    let driver = &run["tool"]["driver"];
    assert_eq!((&driver["name"], &driver["semanticVersion"]), (&"imagelint".into(), &"0.1.0".into()));
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 2);
    for result in results {
        let rule = &driver["rules"][usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("small")];
        assert_eq!(rule["id"], result["ruleId"]);
        for text in [&rule["shortDescription"]["text"], &rule["fullDescription"]["text"], &rule["help"]["text"]] {
            assert!(!text.as_str().expect("a text").is_empty());
        }
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uriBaseId"], "SRCROOT");
        let hash = result["partialFingerprints"]["primaryLocationLineHash"].as_str().expect("a hash");
        assert!(hash.len() == 34 && hash.ends_with(":1"), "{hash}");
    }
    assert!(run["originalUriBaseIds"]["SRCROOT"].is_object());
    let first = &results[0];
    assert_eq!(first["level"], "error");
    let place = &first["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "deep/Dockerfile");
    let region = serde_json::json!({"startLine": 2, "startColumn": 6, "endLine": 2, "endColumn": 6 + BASE.len()});
    assert_eq!(place["region"], region);
    let related = first["relatedLocations"].as_array().expect("related places");
    let uris: Vec<_> = related.iter().map(|one| &one["physicalLocation"]["artifactLocation"]["uri"]).collect();
    assert_eq!(uris, ["deep/Dockerfile", "deep/fleet.toml"]);
    let fixes = first["fixes"].as_array().expect("fixes");
    assert_eq!(fixes.len(), 1, "what no file holds is no change of a file");
    let change = &fixes[0]["artifactChanges"][0]["replacements"][0];
    assert_eq!((&change["deletedRegion"], &change["insertedContent"]["text"]), (&region, &"nvidia/cuda:11.4.3".into()));
    assert_eq!(results[1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "deep/fleet.toml");
    assert_ne!(first["partialFingerprints"], results[1]["partialFingerprints"]);
    let told = &run["invocations"][0];
    assert_eq!(told["executionSuccessful"], false);
    assert_eq!(told["toolExecutionNotifications"][0]["message"]["text"], "cannot read other.Dockerfile: no such file");
    assert!(!log.to_string().contains("security-severity"));
}

#[test]
fn sarif_stops_at_the_result_limit() {
    let mut report = sample();
    let mut finding = report.subjects[0].findings[0].clone();
    finding.locations.clear();
    report.subjects[0].findings = vec![finding; 25_003];
    let run = json(&rendered_report("sarif", &report))["runs"][0].clone();
    assert_eq!(run["results"].as_array().map(Vec::len), Some(25_000));
    let notes = run["invocations"][0]["toolExecutionNotifications"].as_array().expect("notes").clone();
    assert_eq!(notes[1]["message"]["text"], "omitted here: 3 more findings");
}

#[test]
fn sarif_rules_are_read_from_rule_pages() {
    let mut report = sample();
    report.subjects[0].findings[0].rule = "refused".to_owned();
    let rule = json(&rendered_report("sarif", &report))["runs"][0]["tool"]["driver"]["rules"][0].clone();
    let help = rule["help"]["markdown"].as_str().expect("help");
    assert!(help.starts_with("## What goes wrong\n\nThe container toolkit reads the variables of the image, finds that the node does not satisfy them, and stops."), "{help}");
    assert!(help.contains("NVIDIA_DISABLE_REQUIRE") && !help.contains("toml fleet"), "{help}");
    assert_eq!((&rule["defaultConfiguration"]["level"], &rule["id"]), (&"error".into(), &"refused".into()));
}

#[test]
fn github_shows_ten_and_counts_the_rest() {
    let lines = |report: &Report| rendered_report("github", report).lines().map(str::to_owned).collect::<Vec<_>>();
    let few = lines(&full());
    assert_eq!(few.len(), 3);
    let end = 5 + BASE.len();
    assert!(
        few[0].starts_with(&format!(
            "::error file=deep/Dockerfile,line=2,endLine=2,col=6,endColumn={end},title=driver-older-than-runtime::CUDA"
        )),
        "{}",
        few[0]
    );
    assert!(few[0].ends_with("%0Ahelp: move the pool to driver 525.60.13 or newer"), "{}", few[0]);
    assert_eq!(few[1], "::error file=deep/other.Dockerfile,title=cannot-read::other.Dockerfile: no such file");
    assert!(few[2].starts_with("::warning file=deep/fleet.toml,line=1,"), "{}", few[2]);
    let mut report = full();
    let finding = report.subjects[0].findings[0].clone();
    report.subjects[0].findings = vec![finding; 7];
    let warning = report.subjects[1].findings[0].clone();
    report.subjects[1].findings = vec![warning; 20];
    let many = lines(&report);
    let counted = |word: &str| many.iter().filter(|line| line.starts_with(word)).count();
    assert_eq!((counted("::error "), counted("::warning "), many.len()), (8, 2, 11));
    assert_eq!(many[10], "not shown next to their lines: 18 warnings; another format lists them");
}

#[test]
fn gitlab_gets_an_array_with_fingerprints() {
    let list = json(&rendered_report("gitlab", &full()));
    let list = list.as_array().expect("an array");
    let severities: Vec<_> = list.iter().map(|issue| issue["severity"].as_str().expect("a word")).collect();
    assert_eq!(severities, ["major", "minor", "critical"]);
    assert_eq!(list[0]["location"], serde_json::json!({"path": "deep/Dockerfile", "lines": {"begin": 2}}));
    let prints: BTreeSet<&str> = list.iter().map(|issue| issue["fingerprint"].as_str().expect("a print")).collect();
    assert_eq!(prints.len(), 3);
    let mut report = full();
    report.subjects.iter_mut().for_each(|subject| subject.findings.clear());
    report.errors.clear();
    assert_eq!(rendered_report("gitlab", &report), "[]\n");
}

#[test]
fn reviewdog_gets_ranges_related_places_and_suggestions() {
    let text = rendered_report("rdjsonl", &full());
    let lines: Vec<Value> = text.lines().map(json).collect();
    assert_eq!(lines.len(), 3);
    let range = serde_json::json!({"start": {"line": 2, "column": 6}, "end": {"line": 2, "column": 6 + BASE.len()}});
    assert_eq!(lines[0]["location"], serde_json::json!({"path": "Dockerfile", "range": range}));
    assert_eq!((&lines[0]["severity"], &lines[1]["severity"]), (&"ERROR".into(), &"WARNING".into()));
    assert_eq!(lines[0]["suggestions"], serde_json::json!([{"range": range, "text": "nvidia/cuda:11.4.3"}]));
    assert_eq!(lines[0]["related_locations"].as_array().map(Vec::len), Some(2));
    assert_eq!(lines[2]["location"], serde_json::json!({"path": "other.Dockerfile"}));
}

#[test]
fn formats_with_edits_contain_only_fixes_that_help_and_break_no_pool() {
    let with = |change: fn(&mut Fix)| {
        let mut report = full();
        change(&mut report.subjects[0].findings[0].fixes[0]);
        let line = rendered_report("rdjsonl", &report).lines().next().map(json).expect("a line");
        let log = json(&rendered_report("sarif", &report));
        [line["suggestions"].is_array(), log["runs"][0]["results"][0]["fixes"].is_array()]
    };
    for (change, expected) in [
        ((|_| {}) as fn(&mut Fix), [true, true]),
        (|fix| fix.breaks.push("edge".to_owned()), [false, false]),
        (|fix| fix.edits.clear(), [false, false]),
        (|fix| fix.settles = std::mem::take(&mut fix.cures), [false, false]),
        // A description says that it is made by hand, and a suggestion has none.
        (|fix| fix.safety = FixSafety::Manual, [false, true]),
    ] {
        assert_eq!(with(change), expected);
    }
    let text = rendered_report("sarif", &full());
    assert!(text.contains("take an older tag (unsafe; starts on desk-3090)"), "{text}");
}

#[test]
fn reviewdog_gets_several_changes_of_a_file_as_one() {
    let change = |start: usize, end: usize, new: &str, path: &str| Edit {
        path: path.to_owned(),
        region: Region::from_span(&SourceText::new(path, DOCKERFILE), Span::new(start, end)),
        replacement: new.to_owned(),
    };
    let suggestions = |edits: Vec<Edit>| {
        let mut report = full();
        report.subjects[0].findings[0].fixes[0].edits = edits;
        json(rendered_report("rdjsonl", &report).lines().next().expect("a line"))["suggestions"].clone()
    };
    let (from, next) = (DOCKERFILE.find(BASE).expect("the base"), DOCKERFILE.find(BASE).expect("it") + BASE.len());
    let between = &DOCKERFILE[next..next + 2];
    let several = vec![change(next + 2, next + 3, "Z", "Dockerfile"), change(from, next, "x:1", "Dockerfile")];
    let one = suggestions(several);
    assert_eq!((one[0]["text"].as_str(), one.as_array().map(Vec::len)), (Some(&*format!("x:1{between}Z")), Some(1)));
    assert_eq!(one[0]["range"]["start"], serde_json::json!({"line": 2, "column": 6}));
    assert_eq!(
        suggestions(vec![change(from, next, "x", "Dockerfile"), change(next, next, ":1", "Dockerfile")])[0]["text"],
        "x:1"
    );
    // Not what overlaps, and not what another file needs as well.
    for edits in [
        vec![change(from, next, "x", "Dockerfile"), change(from + 1, next, "y", "Dockerfile")],
        vec![change(from, next, "x", "Dockerfile"), change(next, next, "y", "requirements.txt")],
        Vec::new(),
    ] {
        assert!(suggestions(edits).is_null());
    }
}

#[test]
fn checkstyle_lists_errors_by_file() {
    let all = xml::elements(&rendered_report("checkstyle", &full()));
    let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["checkstyle", "file", "error", "file", "error", "file", "error"]);
    assert_eq!((all[1].get("name"), all[2].get("line"), all[2].get("column")), ("Dockerfile", "2", "6"));
    assert_eq!((all[2].get("severity"), all[4].get("severity")), ("error", "warning"));
    assert_eq!(all[2].get("source"), "imagelint.driver-older-than-runtime");
    assert!(all[2].get("message").contains("\nhelp: move the pool"));
}

#[test]
fn junit_has_a_case_per_pool_and_fails_only_for_errors() {
    let all = xml::elements(&rendered_report("junit", &full()));
    let suites: Vec<String> = all
        .iter()
        .filter(|one| one.name == "testsuite")
        .map(|one| ["name", "tests", "failures", "errors", "skipped"].map(|key| one.get(key)).join(" "))
        .collect();
    assert_eq!(suites, ["Dockerfile (serve) 3 1 0 1", "nvcr.io/app:1 3 0 0 1", "inputs 1 0 1 0"]);
    let cases = all.iter().filter(|one| one.name == "testcase").map(|one| one.get("name")).collect::<Vec<_>>();
    assert_eq!(cases[..3], ["desk-3090", "train-a100", "edge"]);
    let failures: Vec<_> = all.iter().filter(|one| one.name == "failure").collect();
    assert_eq!((failures.len(), failures[0].get("type")), (1, "driver-older-than-runtime"));
    // As it is called from the root of the repository.
    assert!(failures[0].text.starts_with("deep/Dockerfile:2: CUDA 12.4"), "{}", failures[0].text);
    let files = all.iter().filter(|one| one.name == "testcase").map(|one| one.get("file")).collect::<Vec<_>>();
    assert_eq!((files[0], files[files.len() - 1]), ("deep/Dockerfile", "deep/other.Dockerfile"));
    let said = all.iter().filter(|one| one.name == "system-out").map(|one| one.text.as_str()).collect::<Vec<_>>();
    assert!(
        said.iter().any(|text| text.contains("warning driver-older-than-runtime: deep/fleet.toml:1: ")),
        "{said:?}"
    );
}

#[test]
fn an_unknown_verdict_is_not_a_pass_in_junit() {
    let mut report = sample();
    report.subjects[0].findings.clear();
    let text = rendered_report("junit", &report);
    let skipped: Vec<_> = xml::elements(&text).into_iter().filter(|one| one.name == "skipped").collect();
    assert_eq!(skipped[0].get("message"), "unknown");
    report.subjects[0].gpu_content = false;
    let text = rendered_report("junit", &report);
    assert!(text.contains("no GPU content, nothing to check"), "{text}");
}

#[test]
fn markdown_is_truncated_with_a_note_below_the_comment_limit() {
    let mut report = sample();
    let subject = report.subjects[0].clone();
    report.subjects = (0..2_000)
        .map(|number| {
            let mut one = subject.clone();
            one.name = format!("services/{number}/Dockerfile");
            one.findings[0].message = format!("number {number}");
            one
        })
        .collect();
    let text = rendered_report("markdown", &report);
    // Beside it a comparison has 24,000 bytes of the 65,536 characters of a comment.
    assert!((38_000..40_001).contains(&text.len()), "{}", text.len());
    assert!(MarkdownTarget::Comment.max_comparison_bytes() + 40_000 < 65_000);
    let rows = text.lines().filter(|line| line.starts_with("| `services/")).count();
    assert!(
        text.contains(&format!("{} images are omitted from the table because of the size limit.", 2_000 - rows)),
        "{rows}"
    );
    let items = text.lines().filter(|line| line.starts_with("- **error**")).count();
    assert!(
        text.contains(&format!("{} more under \"findings\" omitted because of the size limit", 2_000 - items)),
        "{items}"
    );
    assert!(rows > 100 && items > 50);
    let text = rendered_report("summary", &report);
    let all = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!((all("| `services/"), all("- **error**"), text.contains("omitted")), (2_000, 2_000, false));
    assert!(text.len() < 1 << 20, "{}", text.len());
}

#[test]
fn html_page_for_many_images_stays_small() {
    let mut report = sample();
    let (subject, pool) = (report.subjects[0].clone(), report.fleet.pools[0].clone());
    let verdict = subject.verdicts[0].clone();
    report.fleet.pools = (0..30)
        .map(|number| {
            let mut one = pool.clone();
            one.name = format!("p{number}");
            one
        })
        .collect();
    report.subjects = (0..500)
        .map(|number| {
            let mut one = subject.clone();
            one.name = format!("services/{number}/Dockerfile");
            one.verdicts = report
                .fleet
                .pools
                .iter()
                .map(|pool| {
                    let mut verdict = verdict.clone();
                    verdict.pool.clone_from(&pool.name);
                    verdict
                })
                .collect();
            one
        })
        .collect();
    let page = rendered_report("html", &report);
    assert!(page.len() < 500_000, "{} bytes", page.len());
}
