//! Limits against hostile files are reported when they are reached: the rest is missing evidence, and never taken for
//! absent.

use std::fmt::Write as _;

use test_repository::{TestRepository, code, err, out};

use crate::support::test_repository;

const BASE: &str = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n";

/// The fate on the first pool, and the notes.
fn judged(text: &str) -> (String, String) {
    let repository = TestRepository::new();
    repository.file("Dockerfile", text);
    let report = repository.json(&["check", "Dockerfile"]);
    let subject = &report["subjects"][0];
    let verdicts = subject["verdicts"].as_array().expect("verdicts");
    let open = verdicts.iter().any(|one| !one["missing"].as_array().is_none_or(Vec::is_empty));
    let fate = subject["verdicts"][0]["fate"].as_str().expect("a fate");
    (format!("{fate}{}", if open { " ?" } else { "" }), subject["inspected"]["notes"].to_string())
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut all, at| {
        let _ = write!(all, "{}", line(at));
        all
    })
}

#[test]
fn a_script_beyond_the_limit_is_reported() {
    let cut = "a script exceeds the limits for commands, words or levels";
    for script in [
        format!("{}true", "( ".repeat(300)),
        format!("true; {}true", "if true; then ".repeat(300)),
        format!("A='{}'; {}true", "x ".repeat(900), "echo $A; ".repeat(80)),
    ] {
        let (_, notes) = judged(&format!("{BASE}RUN {script}\n"));
        assert!(notes.contains(cut), "{} {notes}", &script[..60]);
    }
    for script in [
        format!("{}true{}", "( ".repeat(40), " )".repeat(40)),
        "if true; then true; fi; ".repeat(100) + "true",
        format!("A='{}'; {}true", "x ".repeat(90), "echo $A; ".repeat(80)),
    ] {
        let (_, notes) = judged(&format!("{BASE}RUN {script}\n"));
        assert!(!notes.contains("more than"), "{notes}");
    }
}

#[test]
fn commands_beyond_the_limit_of_a_script_are_unknown() {
    let nested = |many: usize| format!("{BASE}RUN {}true; pip install torch==1.12.1\n", "( true; ".repeat(many));
    let (fate, _) = judged(&nested(300));
    assert!(fate.ends_with('?'), "{fate}");
}

#[test]
fn shell_variable_beyond_the_limit_is_unknown() {
    let index = "pip install torch==2.4.0 --index-url https://download.pytorch.org/whl/${CU:-cu124}";
    let with = |many: usize| {
        let set = lines(many, |at| format!("V{at}=1; "));
        let repository = TestRepository::new();
        repository.file("Dockerfile", &format!("{BASE}RUN {set}CU=cu118; {index}\n"));
        let report = repository.json(&["check", "Dockerfile"]);
        let said = report["subjects"][0]["facts"].to_string();
        (said.contains("11.8"), said.contains("a command that is not inspected may set it"))
    };
    assert_eq!(with(100), (true, false));
    assert_eq!(with(300), (false, true));
    // One that is kept takes its later values all the same.
    let again = lines(300, |at| format!("V{at}=1; "));
    let repository = TestRepository::new();
    repository.file("Dockerfile", &format!("{BASE}RUN CU=cu121; {again}CU=cu118; {index}\n"));
    let said = repository.json(&["check", "Dockerfile"])["subjects"][0]["facts"].to_string();
    assert!(said.contains("11.8") && !said.contains("\"12.1\""), "{said}");
}

#[test]
fn stage_lookups_beyond_the_limit_are_reported() {
    let stages = |many: usize| {
        let made = lines(many, |at| format!("FROM {} AS s{at}\nRUN pip install numpy\n", &BASE[5..BASE.len() - 1]));
        let copied = lines(many, |at| format!("COPY --from=s{at} /usr/lib/python3 /usr/lib/python3\n"));
        format!("{made}{BASE}{copied}")
    };
    let told = "it requires more than 256 lookups in other stages";
    let (_, few) = judged(&stages(20));
    assert!(!few.contains("more than"), "{few}");
    let (fate, many) = judged(&stages(140));
    assert!(many.contains(told) && fate.ends_with('?'), "{fate} {many}");
}

#[test]
fn a_dockerfile_of_more_instructions_than_are_followed_ends_with_two() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", &format!("{BASE}{}", "RUN true\n".repeat(2_047)));
    assert_eq!(code(&repository.run(&["check", "Dockerfile"])), 0);
    repository.file("Dockerfile", &format!("{BASE}{}", "RUN true\n".repeat(2_048)));
    let done = repository.run(&["check", "Dockerfile"]);
    assert_eq!(code(&done), 2);
    let said = format!("{}{}", out(&done), err(&done));
    assert!(said.contains("more than 2048 instructions"), "{said}");
}
