//! The Dockerfile reader against what `BuildKit` and another parser say, and against broken input.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use imagelint::dockerfile::{Dockerfile, EvaluateOptions, Instruction};
use imagelint::text::source::SourceText;
use imagelint::{install, shell};
use serde_json::Value;

/// Refused by `BuildKit`, not a problem here: why.
const TOLERATED: &[(&str, &str)] = &[];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dockerfiles")
}

fn fixtures() -> Vec<(String, String)> {
    let mut all: Vec<_> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "Dockerfile"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned())
        })
        .collect();
    all.sort();
    all
}

fn heredoc_names(instruction: &Instruction) -> Vec<&str> {
    let holder = instruction.child.as_deref().unwrap_or(instruction);
    holder.heredocs.iter().map(|heredoc| heredoc.name.as_str()).collect()
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().map_or_else(Vec::new, |all| all.iter().filter_map(Value::as_str).collect())
}

#[test]
fn every_fixture_parses_like_buildkit() {
    let expected = fs::read_to_string(folder().join("expected.jsonl")).unwrap();
    let texts = fixtures();
    let mut wrong = Vec::new();
    let mut checked = 0;
    for line in expected.lines() {
        let oracle: Value = serde_json::from_str(line).unwrap();
        let name = oracle["file"].as_str().unwrap().trim_start_matches("edge/");
        let text = &texts.iter().find(|(own, _)| own == name).unwrap_or_else(|| panic!("no fixture {name}")).1;
        let read = Dockerfile::parse(text);
        let source = SourceText::new(name, text.clone());
        checked += 1;
        let accepted = oracle["ok"] == true && oracle["sem_ok"] == true;
        let tolerated = TOLERATED.iter().any(|(own, _)| *own == name);
        if accepted != read.problems.is_empty() && !tolerated {
            wrong.push(format!("{name}: accepted {accepted}, problems {:?}", read.problems));
        }
        if oracle["ok"] != true {
            continue;
        }
        let own: Vec<_> = read
            .instructions
            .iter()
            .map(|one| {
                let line = |offset| u64::try_from(source.position(offset).line).unwrap();
                let keyword = source.slice(one.keyword).to_owned();
                let last = line(one.span.end.max(one.span.start + 1) - 1);
                (keyword, line(one.span.start), last, one.json.is_some(), heredoc_names(one).join(" "))
            })
            .collect();
        let theirs: Vec<_> = oracle["inst"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                let keyword = one["name"].as_str().unwrap().to_owned();
                let here = strings(&one["here"]).join(" ");
                (keyword, one["line"].as_u64().unwrap(), one["end"].as_u64().unwrap(), one["json"] == true, here)
            })
            .collect();
        if own != theirs {
            wrong.push(format!("{name}:\n  own    {own:?}\n  theirs {theirs:?}"));
        }
        if let Some(stages) = oracle["stages"].as_array() {
            let own: Vec<_> =
                read.stages.iter().map(|one| (one.base.text(), one.name.as_deref().unwrap_or(""))).collect();
            let theirs: Vec<_> =
                stages.iter().map(|one| (one["base"].as_str().unwrap(), one["name"].as_str().unwrap())).collect();
            if own != theirs {
                wrong.push(format!("{name}: stages {own:?}, not {theirs:?}"));
            }
        }
    }
    assert_eq!(checked, 75);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn instructions_match_the_parse_dockerfile_crate() {
    let mut compared = 0;
    for (name, text) in fixtures() {
        let Ok(other) = parse_dockerfile::parse(&text) else { continue };
        let read = Dockerfile::parse(&text);
        if !read.problems.is_empty() {
            continue;
        }
        compared += 1;
        let own: Vec<String> = read.instructions.iter().map(|one| one.kind.keyword().to_ascii_lowercase()).collect();
        // The variant's name is the keyword.
        let word = |one| format!("{one:?}").split('(').next().unwrap_or_default().to_ascii_lowercase();
        let theirs: Vec<String> = other.instructions.iter().map(word).collect();
        assert_eq!(own, theirs, "{name}");
        let stages = other.instructions.iter().filter_map(|one| match one {
            parse_dockerfile::Instruction::From(from) => Some(from),
            _ => None,
        });
        let theirs: Vec<_> = stages
            .map(|from| {
                let stage = from.as_.as_ref().map(|(_, stage)| stage.value.to_ascii_lowercase());
                // It counts from behind a byte order mark.
                let mark = text.len() - text.trim_start_matches('\u{feff}').len();
                (from.image.value.to_string(), from.image.span.start + mark..from.image.span.end + mark, stage)
            })
            .collect();
        let own: Vec<_> = read
            .stages
            .iter()
            .map(|one| (one.base.text().to_owned(), one.base_span.start..one.base_span.end, one.name.clone()))
            .collect();
        assert_eq!(own, theirs, "{name}");
    }
    assert!(compared > 40, "{compared}");
}

fn read_all(text: &str) {
    let read = Dockerfile::parse(text);
    let targets = (0..read.stages.len().min(3)).map(|index| Some(index.to_string())).chain([None]);
    for target in targets {
        let Ok(evaluated) = read
            .evaluate(&EvaluateOptions { target, ..EvaluateOptions::new(imagelint::knowledge::Knowledge::built_in()) })
        else {
            continue;
        };
        for run in &evaluated.runs {
            for command in shell::run_commands(run) {
                assert!(command.span.end <= text.len());
                drop(install::read_installs(&command, run, imagelint::knowledge::Knowledge::built_in()));
            }
        }
    }
    for problem in &read.problems {
        assert!(problem.span.end <= text.len());
    }
}

#[test]
fn no_prefix_of_a_fixture_stops_the_reader() {
    for (_, text) in fixtures() {
        for (at, _) in text.char_indices() {
            read_all(&text[..at]);
        }
    }
}

#[test]
fn no_mutation_of_a_fixture_stops_the_reader() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below.max(1)
    };
    let spice = b"\\`\"'$${}()<<-|&;\n\r\t #=@:/*%+[],";
    for (_, text) in fixtures() {
        for _ in 0..60 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..=random(8) {
                let at = random(bytes.len() + 1);
                let byte = spice[random(spice.len())];
                match random(3) {
                    0 => bytes.insert(at, byte),
                    1 if at < bytes.len() => bytes[at] = byte,
                    _ if at < bytes.len() => drop(bytes.remove(at)),
                    _ => {}
                }
            }
            read_all(&String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn nesting_and_repetition_end() {
    for text in [
        format!("FROM a\nENV A=x\n{}", "ENV A=$A$A\n".repeat(80)),
        format!("FROM a\nRUN {}", "(".repeat(50_000)),
        format!("FROM a\nRUN {}", "bash -c '".repeat(2_000)),
        format!("FROM a\nRUN {}", "if true; then ".repeat(5_000)),
        format!("FROM a\nRUN x=1 {}", "${x/${x:-".repeat(2_000)),
        format!("FROM a\nRUN x {}", "\\\n".repeat(30_000)),
        format!("FROM {}", "${a:-".repeat(5_000)),
    ] {
        read_all(&text);
    }
}

/// Files of so many stages, each from the one before.
fn stages(count: usize) -> Dockerfile {
    let mut text = "FROM a AS s0\n".to_owned();
    for at in 1..count {
        writeln!(text, "FROM s{} AS s{at}\nCOPY --from=s0 /a /a", at - 1).unwrap();
    }
    Dockerfile::parse(&text)
}

/// More stages than any real file has: a search through all of them for each would take minutes.
#[test]
fn many_stages_take_no_longer_each() {
    let begun = Instant::now();
    let file = stages(60_000);
    assert_eq!(file.leaf_stages(), [59_999]);
    let options = EvaluateOptions::new(imagelint::knowledge::Knowledge::built_in());
    let error = file.evaluate(&options).unwrap_err();
    assert!(error.to_string().contains("more than 2048 instructions"), "{error}");
    let evaluated = stages(1_000).evaluate(&options).unwrap();
    assert_eq!((evaluated.chain.len(), evaluated.copies.len()), (1_000, 999));
    assert!(evaluated.copies.iter().all(|copy| copy.from_stage == Some(0)));
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}
