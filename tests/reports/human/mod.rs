//! Reports as a reader sees them: one hand-made run in every rendering.

use crate::support::sample_report;
use std::collections::BTreeMap;

use imagelint::replay::StartStep;
use imagelint::report::human::{strip_for_human, write_human};
use imagelint::report::human_options::HumanOptions;
use imagelint::report::json::{parse_report, write_json};
use imagelint::report::kinds::{FindingSeverity, StepStatus, VerdictKind};
use imagelint::report::model::{Finding, Pool, Report, Verdict};
use imagelint::report::why::{WhyOptions, write_why};

use crate::human::sample_report::{DOCKERFILE, FLEET, sample};

fn texts() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([("Dockerfile", DOCKERFILE), ("fleet.toml", FLEET)])
}

#[test]
fn a_report_stripped_for_the_human_format_looks_the_same() {
    let (whole, mut thin) = (sample(), sample());
    let size = |report: &Report| serde_json::to_string(report).expect("JSON").len();
    thin.subjects = thin.subjects.into_iter().map(strip_for_human).collect();
    assert!(size(&thin) < size(&whole), "something of it is left out");
    for verbose in [false, true] {
        let options = HumanOptions { verbose, ..options(100) };
        assert_eq!(human_report(&thin, &options), human_report(&whole, &options));
    }
}

fn options(width: usize) -> HumanOptions<'static> {
    HumanOptions {
        color: false,
        ascii: false,
        width,
        verbose: false,
        searched: false,
        command: "check",
        arguments: " --fleet f.toml .",
    }
}

fn human_report(report: &Report, options: &HumanOptions<'_>) -> String {
    let mut out = Vec::new();
    write_human(report, &texts(), options, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("UTF-8")
}

fn reasons(report: &Report, pool: Option<&str>) -> String {
    let mut out = Vec::new();
    let options = WhyOptions { pool, whole: true, color: false, width: 100 };
    write_why(report, &options, &|_| None, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn a_person_reads_the_matrix_then_frames() {
    insta::assert_snapshot!("wide", human_report(&sample(), &options(100)));
}

#[test]
fn a_narrow_terminal_gets_ascii_and_short_cells() {
    insta::assert_snapshot!("narrow", human_report(&sample(), &HumanOptions { ascii: true, ..options(60) }));
}

#[test]
fn why_lists_hosts_steps_and_facts() {
    insta::assert_snapshot!("why", reasons(&sample(), Some("desk-3090")));
}

#[test]
fn colours_are_used_only_if_requested() {
    assert!(!human_report(&sample(), &options(100)).contains('\u{1b}'));
    let painted = human_report(&sample(), &HumanOptions { color: true, ..options(100) });
    for part in ["\u{1b}[31m✗ insufficient-driver\u{1b}[0m", "\u{1b}[32m✓ starts (PTX JIT)\u{1b}[0m"] {
        assert!(painted.contains(part), "{painted}");
    }
}

#[test]
fn images_without_gpu_content_are_not_mentioned() {
    let mut report = sample();
    report.errors.clear();
    for subject in &mut report.subjects {
        subject.gpu_content = false;
        subject.findings.clear();
    }
    let line = "checked 2 images: no GPU content found (list files: --show-files)\n";
    assert_eq!(human_report(&report, &options(100)), line);
    let verbose = HumanOptions { verbose: true, ..options(100) };
    assert_eq!(human_report(&report, &verbose), "no GPU content in 2 images: nothing to check\n");
    for verdict in &mut report.subjects[1].verdicts {
        verdict.unused_gpu = Some("JAX_PLATFORMS=cpu switches the GPU off".to_owned());
    }
    let off = format!("nvcr.io/app:1: no GPU is used: JAX_PLATFORMS=cpu switches the GPU off\n{line}");
    assert_eq!(human_report(&report, &options(100)), off);
    report = sample();
    report.errors.clear();
    report.subjects[0].gpu_content = false;
    report.subjects[0].findings.clear();
    assert_eq!(
        human_report(&report, &options(100)),
        "nvcr.io/app:1\n\n  pool        GPU       driver      result\n  \
         desk-3090   RTX 3090  470.182.03  ✓ starts          minor version compatibility\n  \
         train-a100  A100      550.54.15   ✓ starts\n  edge        Orin      -           - not applicable\n\n\
         nvcr.io/app:1: config only: layers were not read\nnvcr.io/app:1: quick\n\n\
         checked 1 image on 3 pools, no failure found\n"
    );
}

#[test]
fn table_shows_the_reason_for_not_applicable() {
    let mut report = sample();
    let subject = &mut report.subjects[1];
    for verdict in subject.verdicts.iter_mut().filter(|verdict| verdict.pool == "edge") {
        verdict.message = "no GPU is used: the package `cpuonly` selects CPU-only builds".to_owned();
    }
    report.subjects.truncate(2);
    report.subjects.remove(0);
    let text = human_report(&report, &options(120));
    assert!(text.contains("- not applicable  no GPU is used: the package `cpuonly`"), "{text}");
}

/// Two images in one directory, on many pools: `fast-*` start, `slow-*` fail.
fn many_pools() -> Report {
    let mut report = sample();
    report.errors.clear();
    let pool = report.fleet.pools[0].clone();
    let names: Vec<String> = (0..12).map(|at| format!("{}-{at}", if at % 3 == 0 { "slow" } else { "fast" })).collect();
    report.fleet.pools.clear();
    for name in &names {
        report.fleet.pools.push(Pool { name: name.clone(), ..pool.clone() });
    }
    let fails = report.subjects[0]
        .verdicts
        .iter()
        .find(|verdict| verdict.fate == VerdictKind::Fails)
        .expect("one fails")
        .clone();
    let starts = report.subjects[1]
        .verdicts
        .iter()
        .find(|verdict| verdict.fate == VerdictKind::Starts)
        .expect("one starts")
        .clone();
    for (subject, name) in report.subjects.iter_mut().zip(["one", "two"]) {
        subject.name = format!("services/inference/models/{name}/Dockerfile");
        (subject.stage, subject.platform) = (None, None);
        subject.findings.clear();
        subject.inspected.notes.clear();
        let of = |name: &String| if name.starts_with("slow") { &fails } else { &starts };
        subject.verdicts = names.iter().map(|name| Verdict { pool: name.clone(), ..of(name).clone() }).collect();
    }
    report
}

#[test]
fn many_pools_of_several_images_are_one_table() {
    let text = human_report(&many_pools(), &options(80));
    let table = "services/inference/models:\n                ";
    assert!(text.starts_with(table), "{text}");
    assert_eq!(text.matches("\none/Dockerfile  ").count(), 1, "{text}");
    assert!(text.contains("\nslow-0 +3: slow-0, slow-3, slow-6, slow-9\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("checked 2 images on 12 pools: all 2 fail on the same 4 pools\n"), "{text}");
    // With room for all of it, nothing is left out.
    let wide = human_report(&many_pools(), &options(600));
    assert!(wide.contains("\nservices/inference/models/one/Dockerfile  ") && !wide.contains(" +3"), "{wide}");
}

#[test]
fn unknown_verdicts_do_not_pass_silently() {
    let mut report = sample();
    report.errors.clear();
    report.subjects.iter_mut().for_each(|subject| subject.findings.clear());
    let text = human_report(&report, &options(100));
    assert!(text.ends_with("checked 2 images on 3 pools: 1 of 2 fails on desk-3090\n"), "{text}");
}

#[test]
fn shared_cause_is_shown_once_with_all_images() {
    let mut report = sample();
    report.errors.clear();
    let mut open = report.subjects[0].findings[0].clone();
    open.rule = "undetermined".to_owned();
    open.severity = FindingSeverity::Warning;
    open.message = "cannot tell: the base is not known".to_owned();
    open.help = Some("scan it".to_owned());
    open.pools = vec!["a".to_owned(), "b".to_owned()];
    report.subjects[0].findings = vec![open.clone()];
    report.subjects[1].findings = vec![open.clone(), Finding { message: "cannot tell: other".to_owned(), ..open }];
    let text = human_report(&report, &options(100));
    assert_eq!(text.matches("the base is not known").count(), 1, "{text}");
    assert_eq!(text.matches("help: scan it").count(), 2, "{text}");
    let head = "\nwarning[undetermined]: cannot tell: the base is not known\n --> Dockerfile:2:6\n";
    assert!(text.contains(head), "{text}");
    assert!(text.contains("  = images: 2: Dockerfile (serve) on a, b; nvcr.io/app:1 on a, b\n"), "{text}");
    assert!(text.contains("/rules/undetermined.html\n"), "{text}");
    assert!(text.ends_with("2 warnings\n"), "{text}");
    report.subjects[1].gpu_content = false;
    let text = human_report(&report, &options(100));
    assert!(!text.contains("cannot tell: other"), "nothing of an image without GPU content: {text}");
}

#[test]
fn notes_are_shown_once_with_pools_and_unseen_code_has_no_tick() {
    let mut report = sample();
    for verdict in report.subjects[1].verdicts.iter_mut().filter(|verdict| verdict.component.is_none()) {
        verdict.notes.push("component x fails on its own".to_owned());
        verdict.scenarios.clear();
    }
    let text = human_report(&report, &options(100));
    let note = "note: nvcr.io/app:1: component x fails on its own (";
    assert_eq!(text.matches(note).count(), 1, "{text}");
    let step = &mut report.subjects[0].verdicts[0].scenarios[0].steps[0];
    (step.step, step.text, step.result) = (StartStep::Code, "was not seen".to_owned(), StepStatus::NotSeen);
    let text = reasons(&report, Some("desk-3090"));
    assert!(text.contains("? code: was not seen"), "{text}");
    assert!(!text.contains("✓ code"), "{text}");
}

#[test]
fn finding_shows_cause_then_symptom_then_fix() {
    let mut report = sample();
    let finding = &mut report.subjects[0].findings[0];
    finding.rule = "insufficient-driver".to_owned();
    finding.cause = Some("CUDA 12 needs driver 525.60.13 or newer".to_owned());
    finding.symptom = Some("CUDA driver version is insufficient for CUDA runtime version".to_owned());
    let lines = "  = cause: CUDA 12 needs driver 525.60.13 or newer\n  = you will see: CUDA driver version is insufficient \
                 for CUDA runtime version\n  = help: move the pool to driver 525.60.13 or newer\n  = docs: https://";
    let text = human_report(&report, &options(100));
    assert!(text.contains(lines) && text.contains("/rules/insufficient-driver.html\n"), "{text}");
    for line in human_report(&report, &options(80)).lines().filter(|line| !line.contains("= docs:")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn fifty_images_with_the_same_faults_are_two_findings() {
    let mut report = sample();
    let image = report.subjects.remove(1);
    let first = report.subjects.remove(0).findings.remove(0);
    let second = Finding { message: "another fault".to_owned(), ..first.clone() };
    for number in 0..50 {
        let mut tag = image.clone();
        tag.name = format!("nvcr.io/app:{number}");
        tag.findings = vec![first.clone(), second.clone()];
        report.subjects.push(tag);
    }
    let text = human_report(&report, &options(100));
    assert_eq!(text.matches("error[driver-older-than-runtime]").count(), 2, "{text}");
    assert!(text.contains("\nchecked 50 images on 3 pools, no failure found; 2 errors; "), "{text}");
    let images = "  = images: 50: nvcr.io/app:0, nvcr.io/app:1, nvcr.io/app:2 and 47 more\n";
    assert_eq!(text.matches(images).count(), 2, "{text}");
    // Other words, another place or other pools: another fault.
    report.subjects[7].findings[0].message = "not the same".to_owned();
    let text = human_report(&report, &options(100));
    assert_eq!(text.matches("error[driver-older-than-runtime]").count(), 3, "{text}");
}

#[test]
fn why_output_fits_a_screen_by_default() {
    let mut out = Vec::new();
    let options = WhyOptions { pool: None, whole: false, color: false, width: 80 };
    write_why(&sample(), &options, &|_| Some("release notes (checked 2026-11-01)".to_owned()), &mut out)
        .expect("a vector");
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(text.contains("runtime: driver 470.182.03 is older than 525.60.13\n"), "{text}");
    assert!(text.contains("driver of the pool: 470.182.03 (fleet.toml:4:10)\n"), "{text}");
    assert!(text.contains("source: release notes (checked 2026-11-01)\n"), "{text}");
    assert!(!text.contains("requirement:") && !text.contains("pool.launch") && text.lines().count() < 40, "{text}");
}

/// The reasons in brief, in 80 columns.
fn brief(report: &Report) -> String {
    let mut out = Vec::new();
    let options = WhyOptions { pool: None, whole: false, color: false, width: 80 };
    write_why(report, &options, &|_| None, &mut out).expect("a vector");
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn pools_and_images_with_the_same_deciding_step_are_one_entry_and_failures_come_first() {
    let mut report = sample();
    let subject = report.subjects.remove(0);
    report.subjects.clear();
    let verdict = subject.verdicts.iter().find(|one| one.component.is_none() && one.fate == VerdictKind::Fails);
    let failing = verdict.expect("a failure").clone();
    let mut starting = failing.clone();
    starting.fate = VerdictKind::Starts;
    starting.outcome = None;
    for scenario in &mut starting.scenarios {
        scenario.fate = VerdictKind::Starts;
        for step in &mut scenario.steps {
            step.result = StepStatus::Passes;
        }
    }
    let pool = report.fleet.pools.remove(0);
    report.fleet.pools.clear();
    for number in 0..13 {
        let name = format!("pool-{number}");
        report.fleet.pools.push(Pool { name, ..pool.clone() });
    }
    for number in 0..50 {
        let mut image = subject.clone();
        image.name = format!("image-{number}");
        image.stage = None;
        image.verdicts.clear();
        for (at, pool) in report.fleet.pools.iter().enumerate() {
            let of = if at % 4 == 3 { &failing } else { &starting };
            image.verdicts.push(Verdict { pool: pool.name.clone(), ..of.clone() });
        }
        report.subjects.push(image);
    }
    let text = brief(&report);
    assert!(text.lines().count() < 45 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(
        text.starts_with("  image-0, image-1, image-2 and 47 more on pool-3, pool-7, pool-11:\n    ✗ fails"),
        "{text}"
    );
    assert_eq!(text.matches("✗ fails").count(), 1, "{text}");
    assert_eq!(text.matches("✓ starts").count(), 1, "{text}");
    // One image has its name above its entries.
    report.subjects.truncate(1);
    let text = brief(&report);
    assert!(text.starts_with("image-0\n\n  on pool-3, pool-7, pool-11: ✗ fails"), "{text}");
    assert!(!text.contains("built-in"), "{text}");
    report.fleet.built_in = true;
    assert!(brief(&report).contains("no fleet file: "), "{text}");
}

#[test]
fn more_than_a_screen_shows_failures_only_and_names_the_rest() {
    let mut report = sample();
    let subject = report.subjects.remove(0);
    report.subjects.clear();
    let verdict = subject.verdicts.iter().find(|one| one.component.is_none() && one.fate == VerdictKind::Fails);
    let failing = verdict.expect("a failure").clone();
    for number in 0_u16..40 {
        let mut image = subject.clone();
        image.name = format!("image-{number}");
        let mut fails = failing.clone();
        // Every image has an error code of its own.
        fails.codes.certain = Some(100 + number);
        let mut starts = failing.clone();
        starts.fate = VerdictKind::Starts;
        image.verdicts = vec![starts, fails];
        report.subjects.push(image);
    }
    let text = brief(&report);
    assert!(text.lines().count() <= 50, "{text}");
    assert!(text.contains("✗ fails") && !text.contains("✓ starts"), "{text}");
    assert!(text.contains("not shown. One pool: --why POOL."), "{text}");
    assert!(text.contains("--why=full"), "{text}");
}

#[test]
fn the_built_in_fleet_is_named_as_such() {
    let mut report = sample();
    report.fleet.built_in = true;
    let line = "no fleet file: checked against built-in example pools; findings are warnings at most. Describe\n  yours: imagelint fleet init\n\n";
    assert!(human_report(&report, &options(100)).starts_with(line));
    assert!(!human_report(&sample(), &options(100)).contains("built-in"));
}

#[test]
fn untrusted_text_is_escaped_for_the_terminal() {
    let evil = "a\u{1b}]8;;http://x\u{7}b\nc\u{202e}d";
    let shown = "a\\u{1b}]8;;http://x\\u{7}b\\nc\\u{202e}d";
    let text = serde_json::to_string(&sample()).expect("JSON");
    let hostile = serde_json::to_string(evil).expect("JSON");
    let mut text = text;
    // Every string of the report that is not a word of the schema.
    for word in [
        "desk-3090",
        "Dockerfile",
        "nvcr.io/app:1",
        "serve",
        "set here",
        "Env",
        "RTX 3090",
        "docker",
        "torch",
        "flash-attn",
        "470.182.03",
        "12.4.1",
        "driver",
        "pool.launch",
        "no such file",
        "other.Dockerfile",
        "no ENV sets it",
        "move the pool to driver 525.60.13 or newer",
        "f3",
        "toolkits/12.4.1",
        "the image requires nothing",
        "CUDA 12.4 release notes, table 3",
        "driver-older-than-runtime",
        "set `driver` in fleet.toml",
        "pool.driver",
        "CUDA_VERSION is 12.4.1",
        "cuda.runtime",
    ] {
        // Keys are followed by a colon, values are not.
        for end in [",", "]", "}"] {
            text = text.replace(&format!("\"{word}\"{end}"), &format!("{hostile}{end}"));
        }
    }
    let report = parse_report(&text).expect("still a report");
    let source = format!("FROM {evil}\n");
    let fleet = format!("# {evil}\n{FLEET}");
    let texts = BTreeMap::from([(evil, source.as_str()), ("fleet.toml", &fleet)]);
    let mut out = Vec::new();
    write_human(&report, &texts, &options(100), &mut out).expect("a vector takes everything");
    write_human(&report, &texts, &options(1), &mut out).expect("a vector takes everything");
    for whole in [false, true] {
        let options = WhyOptions { pool: None, whole, color: false, width: 80 };
        write_why(&report, &options, &|_| None, &mut out).expect("a vector takes everything");
    }
    let out = String::from_utf8(out).expect("UTF-8");
    assert!(40 < out.matches(shown).count(), "{out}");
    for c in ['\u{1b}', '\u{7}', '\u{202e}'] {
        assert!(!out.contains(c), "{out:?}");
    }
    // The only lines with this first letter are the program's own summary.
    let mut lines = out.lines().filter(|line| line.starts_with('c'));
    assert!(lines.all(|line| line.starts_with("checked 2 images on 3")), "{out}");
}

#[test]
fn region_outside_of_the_text_is_no_error() {
    let mut report = sample();
    report.errors.clear();
    report.subjects.truncate(1);
    let places = &mut report.subjects[0].findings[0].locations;
    places.truncate(1);
    let region = places[0].region.as_mut().expect("a region");
    (region.start_byte, region.end_byte) = (DOCKERFILE.len(), DOCKERFILE.len());
    let text = human_report(&report, &options(100));
    let drawn = " --> Dockerfile:3:34\n  3 | RUN pip install torch==2.4.0+cu124\n    \
                 |                                  ^ CUDA 12.4.1";
    assert!(text.contains(drawn), "{text}");
    for (start, end) in [(0, 0), (9_999, 3), (usize::MAX, usize::MAX), (0, usize::MAX), (15, 16), (16, 16)] {
        let region = report.subjects[0].findings[0].locations[0].region.as_mut().expect("a region");
        (region.start_byte, region.end_byte) = (start, end);
        let text = human_report(&report, &options(100));
        assert!(text.contains("^ CUDA 12.4.1 comes from this tag"), "{start}..{end}: {text}");
    }
}

#[test]
fn no_pair_of_regions_panics() {
    let text = "é \u{1b}x\r\n\n\tRUN a \\\n 漢\u{202e}b\n\r\nlast";
    let mut report = sample();
    report.errors.clear();
    report.subjects.truncate(1);
    report.subjects[0].findings[0].locations.truncate(2);
    let texts = BTreeMap::from([("Dockerfile", text)]);
    let ends = text.len() + 2;
    for number in 0..ends * ends {
        let (start, end) = (number / ends, number % ends);
        for (at, (start, end)) in [(start, end), (end / 2, start)].into_iter().enumerate() {
            let region = report.subjects[0].findings[0].locations[at].region.as_mut();
            let region = region.expect("a region");
            (region.start_byte, region.end_byte) = (start, end);
        }
        let mut out = Vec::new();
        write_human(&report, &texts, &options(80), &mut out).expect("a vector takes everything");
        let out = String::from_utf8(out).expect("UTF-8");
        assert!(out.contains(" --> Dockerfile:"), "{start}..{end}: {out}");
        for label in ["CUDA 12.4.1 comes from this tag", "set here"] {
            assert!(out.contains(label), "{start}..{end}: {out}");
        }
    }
}

#[test]
fn long_line_is_truncated_with_correct_line_and_column() {
    let mut report = sample();
    report.errors.clear();
    let text = format!("# one\nRUN {} pip install {}\n", "x".repeat(50_000), "y".repeat(50_000));
    let start = text.find("pip").expect("pip");
    let places = &mut report.subjects[0].findings[0].locations;
    places.truncate(1);
    let region = places[0].region.as_mut().expect("a region");
    (region.start_byte, region.end_byte) = (start, start + 3);
    let mut out = Vec::new();
    let texts = BTreeMap::from([("Dockerfile", text.as_str())]);
    write_human(&report, &texts, &options(100), &mut out).expect("a vector takes everything");
    let out = String::from_utf8(out).expect("UTF-8");
    assert!(out.contains(" --> Dockerfile:2:50006\n") && out.contains("  2 | …xxx") && out.contains("yyy…\n"), "{out}");
    assert!(out.len() < 3_000, "{}", out.len());
}

#[test]
fn a_report_without_file_texts_shows_locations_as_notes() {
    let mut out = Vec::new();
    write_human(&sample(), &BTreeMap::new(), &options(100), &mut out).expect("a vector takes everything");
    let out = String::from_utf8(out).expect("UTF-8");
    assert!(
        out.contains(
            "\n --> Dockerfile:2:6  CUDA 12.4.1 comes from this tag\n \
             --> Dockerfile:1:10  set here\n --> config field Env  CUDA_VERSION is 12.4.1\n \
             --> fleet.toml:4  the pool's driver is declared here\n"
        ),
        "{out}"
    );
}

#[test]
fn a_broken_pipe_is_returned_as_an_error() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let broken = Some(std::io::ErrorKind::BrokenPipe);
    let all = WhyOptions { pool: None, whole: true, color: false, width: 80 };
    assert_eq!(write_human(&sample(), &texts(), &options(80), &mut Closed).err().map(|error| error.kind()), broken);
    assert_eq!(write_why(&sample(), &all, &|_| None, &mut Closed).err().map(|error| error.kind()), broken);
    assert_eq!(write_json(&sample(), &mut Closed).err().map(|error| error.kind()), broken);
}

#[test]
fn json_report_round_trips() {
    let report = sample();
    let mut out = Vec::new();
    write_json(&report, &mut out).expect("a vector takes everything");
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(text.starts_with("{\n  \"schema_version\": 1,\n  \"tool\": {\n"));
    assert!(text.ends_with("\n}\n"));
    let again = parse_report(&text).expect("our own report");
    assert_eq!(serde_json::to_value(&again).expect("JSON"), serde_json::to_value(&report).expect("JSON"));
}
