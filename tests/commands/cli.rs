//! The built program from outside: exit codes, streams, formats, files found and not found.

use serde_json::Value;
use test_repository::{DOCKERFILE, TestRepository, code, err, fates, out};

use crate::support::program::imagelint_program;
use crate::support::test_repository;

/// Is refused on both pools.
const REFUSED: &str = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nENV NVIDIA_REQUIRE_CUDA=\"cuda>=99.0\"\n";
/// Is unknown on both pools.
const UNTOLD: &str = "FROM example.com/team/base:1\nRUN pip install torch\n";

#[test]
fn a_clean_image_ends_with_0_and_a_failing_one_with_1() {
    let repository = TestRepository::new();
    assert_eq!(code(&repository.run(&["check", "--pool", "new", "Dockerfile"])), 0);
    repository.file("Dockerfile", REFUSED);
    let done = repository.run(&["check", "Dockerfile"]);
    assert_eq!(code(&done), 1);
    assert!(out(&done).contains("error[container-refused]"), "{}", out(&done));
    assert!(out(&done).contains("Dockerfile:2:"), "{}", out(&done));
    assert_eq!(code(&repository.run(&["check", "--fail-on", "never", "Dockerfile"])), 0);
}

#[test]
fn unknown_verdict_fails_only_if_requested() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", UNTOLD);
    for (level, expected) in [("error", 0), ("never", 0), ("warning", 1), ("note", 1), ("undetermined", 1)] {
        assert_eq!(code(&repository.run(&["check", "--fail-on", level, "Dockerfile"])), expected, "{level}");
    }
    let done = repository.run(&["check", "Dockerfile"]);
    assert!(out(&done).contains("unknown"), "{}", out(&done));
    let joined = out(&done).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains("run `imagelint scan` on the built image"), "says how to supply it: {joined}");
}

#[test]
fn an_unknown_pool_gets_a_suggestion() {
    let repository = TestRepository::new();
    let done = repository.run(&["check", "--pool", "nwe", "Dockerfile"]);
    assert_eq!((code(&done), out(&done)), (2, String::new()));
    assert!(err(&done).contains("no pool `nwe`; did you mean `new`?"), "{}", err(&done));
}

#[test]
fn fleet_error_is_underlined_with_the_closest_keyword() {
    let repository = TestRepository::new();
    repository.file("broken.toml", "[[pool]]\nname = \"a\"\ngpu = \"A100\"\ndrivr = \"470.182.03\"\n");
    let done = repository.run(&["check", "--fleet", "broken.toml", "Dockerfile"]);
    assert_eq!((code(&done), out(&done)), (2, String::new()));
    for part in ["broken.toml:4:1", "unknown key `drivr`", "drivr = \"470.182.03\"", "──┬──", "did you mean `driver`?"]
    {
        assert!(err(&done).contains(part), "{part}: {}", err(&done));
    }
    let done = repository.run(&["check", "--fleet", "none.toml", "Dockerfile"]);
    assert_eq!(code(&done), 2);
    assert!(err(&done).contains("none.toml"), "{}", err(&done));
}

#[test]
fn one_missing_input_does_not_hide_the_verdicts_of_another() {
    let repository = TestRepository::new();
    let done = repository.run(&["check", "--format", "json", "nothere", "Dockerfile"]);
    assert_eq!(code(&done), 2);
    let report: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(report["errors"][0]["input"], "nothere");
    assert_eq!(report["subjects"][0]["name"], "Dockerfile");
    assert_eq!(report["subjects"][0]["verdicts"][0]["fate"], "starts");
    assert!(out(&repository.run(&["check", "nothere", "Dockerfile"])).contains("1 input cannot be read"));
}

#[test]
fn wrong_usage_exits_with_2_and_an_error_message() {
    let repository = TestRepository::new();
    for arguments in [
        &["check", "--unheard-of"][..],
        &["chek"],
        &["check", "--persona", "nobody"],
        &["check", "--as-of", "2023-13-01"],
        &["check", "--build-arg", "NOVALUE"],
        &["check", "--rules", "nothere", "Dockerfile"],
        &["check", "--target", "nothere", "Dockerfile"],
        &["scan"],
        &["--knowledge", "rules/knowledge"],
    ] {
        let done = repository.run(arguments);
        assert_eq!(code(&done), 2, "{arguments:?}");
        assert!(!err(&done).is_empty() || out(&done).contains("nothere"), "{arguments:?}");
    }
}

#[test]
fn help_and_version_end_with_0() {
    let repository = TestRepository::new();
    for arguments in [&["--help"][..], &["--version"], &["check", "--help"], &["scan", "--help"]] {
        let done = repository.run(arguments);
        assert_eq!((code(&done), err(&done)), (0, String::new()), "{arguments:?}");
    }
    assert!(out(&repository.run(&["--version"])).contains("(compatibility database of 2"));
}

#[test]
fn nothing_to_check_ends_with_3() {
    let repository = TestRepository::new();
    repository.file("empty/README.md", "nothing");
    let done = repository.run(&["check", "empty"]);
    assert_eq!(code(&done), 3);
    assert!(err(&done).contains("nothing to check"), "{}", err(&done));
}

#[test]
fn an_image_without_gpu_content_gets_one_line() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", "FROM python:3.12\nRUN pip install flask\n");
    let done = repository.run(&["check", "Dockerfile"]);
    let line = "checked 1 image: no GPU content found (list files: --show-files)\n".to_owned();
    assert_eq!((code(&done), out(&done), err(&done)), (0, line, String::new()));
    repository.file("Dockerfile", "FROM python:3.11\nENV JAX_PLATFORMS=cpu\nRUN pip install 'jax[cuda12]==0.4.30'\n");
    assert_eq!(code(&repository.run(&["check", "Dockerfile"])), 0);
    repository.file("Dockerfile", "FROM python:3.12\nRUN pip install flask\n");
    assert!(out(&repository.run(&["check", "--verbose", "Dockerfile"])).contains("no GPU content in 1 image"));
    let report = repository.json(&["check", "Dockerfile"]);
    assert_eq!(report["subjects"][0]["gpu_content"], false);
    assert_eq!(report["subjects"][0]["verdicts"][0]["fate"], "not-applicable");
}

#[test]
fn built_in_fleet_is_named_and_gives_no_errors() {
    let repository = TestRepository::empty();
    repository.file("Dockerfile", DOCKERFILE);
    let done = repository.run(&["check", "Dockerfile"]);
    assert_eq!(code(&done), 0);
    assert_eq!(out(&done).lines().filter(|line| line.contains("built-in")).count(), 1, "{}", out(&done));
    assert!(out(&done).contains("warning[no-kernel-image]"), "{}", out(&done));
    assert!(!out(&done).contains("error:"), "{}", out(&done));
    assert_eq!(code(&repository.run(&["check", "--fail-on", "warning", "Dockerfile"])), 1);
}

#[test]
fn a_fleet_is_found_upwards_but_not_above_the_repository() {
    let repository = TestRepository::new();
    repository.file("deep/er/Dockerfile", REFUSED);
    let report = repository.json(&["check", "deep/er/Dockerfile"]);
    assert_eq!((&report["fleet"]["source"], &report["fleet"]["built_in"]), (&"fleet.toml".into(), &false.into()));
    repository.file("deep/.git/HEAD", "");
    assert_eq!(repository.json(&["check", "deep/er/Dockerfile"])["fleet"]["built_in"], true);
    let done = repository.command(&["check", "--format", "json", "deep"]).env("IMAGELINT_FLEET", "fleet.toml").output();
    assert!(out(&done.expect("a run")).contains("\"built_in\": false"));
}

#[test]
fn standard_input_is_a_dockerfile() {
    let repository = TestRepository::new();
    let fleet = ["check", "--fleet", "fleet.toml", "--format", "json", "-"];
    let done = repository.command(&fleet).write_stdin(REFUSED).output().expect("a run");
    assert_eq!(code(&done), 1);
    let report: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!((&report["subjects"][0]["name"], &report["subjects"][0]["kind"]), (&"-".into(), &"dockerfile".into()));
    let done = repository.command(&["check", "-"]).write_stdin("").output().expect("a run");
    assert_eq!(code(&done), 0);
    assert!(out(&done).contains("the file has no instructions"), "{}", out(&done));
}

#[test]
fn from_without_an_image_is_always_reported() {
    let repository = TestRepository::new();
    for text in ["FROM\n", "FROM   \nRUN true\n", "FROM --platform=linux/amd64\n", "FROM debian AS a\nFROM \\\n\n"] {
        repository.file("bare/Dockerfile", text);
        for path in ["bare/Dockerfile", "bare"] {
            let done = repository.run(&["check", path]);
            assert_eq!(code(&done), 1, "{text:?} {path}: {}{}", out(&done), err(&done));
            assert!(out(&done).contains("FROM requires one image name"), "{text:?} {path}: {}", out(&done));
        }
    }
    // Other mistakes of a file in which nothing concerns a GPU are no errors, and what the builder takes is none.
    for (text, told) in [
        ("FROM debian AS\n", true),
        ("FROM debian\nENV A\n", true),
        ("FROM debian\n", false),
        ("# FROM\nFROM debian\n", false),
        ("FROM $X\n", false),
    ] {
        repository.file("bare/Dockerfile", text);
        let done = repository.run(&["check", "bare"]);
        assert_eq!(code(&done), 0, "{text:?}: {}", out(&done));
        assert_eq!(out(&done).contains("warning[dockerfile-syntax]"), told, "{text:?}: {}", out(&done));
    }
}

#[test]
fn colour_is_by_flag_then_by_the_environment() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", REFUSED);
    let escapes = |flag: &[&str], variables: &[(&str, &str)]| {
        let mut command = repository.command(&["check", "Dockerfile"]);
        command.args(flag).envs(variables.iter().copied());
        out(&command.output().expect("a run")).contains('\u{1b}')
    };
    assert!(!escapes(&[], &[]), "no terminal");
    assert!(escapes(&["--color", "always"], &[]));
    assert!(escapes(&["--color", "always"], &[("NO_COLOR", "1")]), "a flag wins");
    assert!(escapes(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!escapes(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!escapes(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(escapes(&[], &[("FORCE_COLOR", "1")]));
    for value in ["", "0"] {
        assert!(!escapes(&[], &[("FORCE_COLOR", value), ("CLICOLOR_FORCE", value)]), "{value}");
    }
    assert!(!escapes(&[], &[("FORCE_COLOR", "1"), ("NO_COLOR", "1")]));
    // A command that never prints in color takes the flag as well, before its name and behind it.
    for arguments in [&["--color", "always", "rules", "list"][..], &["rules", "list", "--color=never"]] {
        let done = repository.run(arguments);
        assert_eq!(code(&done), 0, "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        assert!(out(&done).contains("no-gpu") && !out(&done).contains('\u{1b}'), "{arguments:?}");
    }
    assert_eq!(code(&repository.run(&["--color", "sometimes", "rules", "list"])), 2);
}

#[test]
fn github_job_shows_annotations_unless_another_format_is_set() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", REFUSED);
    let told = |value: &str, arguments: &[&str]| {
        let mut command = repository.command(&["check", "Dockerfile"]);
        out(&command.args(arguments).env("GITHUB_ACTIONS", value).output().expect("a run"))
    };
    let both = told("true", &[]);
    assert!(both.contains("::error file=Dockerfile,line=") && both.contains("error[container-refused]"), "{both}");
    for (value, arguments) in [("false", &[][..]), ("", &[]), ("true", &["--format", "human"])] {
        assert!(!told(value, arguments).contains("::error"), "{value} {arguments:?}");
    }
    assert!(told("true", &["--format", "json"]).starts_with('{'));
}

#[test]
fn words_of_other_linters_mean_the_same_here() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", REFUSED);
    assert_eq!(code(&repository.run(&["check", "Dockerfile"])), 1);
    assert_eq!(code(&repository.run(&["check", "--exit-zero", "Dockerfile"])), 0);
    assert_eq!(code(&repository.run(&["check", "--exit-zero", "--fleet", "none.toml", "Dockerfile"])), 2);
    assert_eq!(code(&repository.run(&["check", "--exit-zero", "--fail-on", "note", "Dockerfile"])), 2, "both at once");
    let [versioned, plain] =
        ["json-v1", "json"].map(|name| out(&repository.run(&["check", "--format", name, "Dockerfile"])));
    assert_eq!(versioned, plain);
    assert_eq!(code(&repository.run(&["check", "--format", "json-v2", "Dockerfile"])), 2);
}

#[test]
fn cache_directory_follows_flag_and_variable() {
    let repository = TestRepository::new();
    let told = |arguments: &[&str], variable: &str| {
        let mut command = repository.command(&["cache", "info"]);
        out(&command.args(arguments).env("IMAGELINT_CACHE_DIR", variable).output().expect("a run"))
    };
    let below = |name: &str| {
        repository.path(name).canonicalize().unwrap_or_else(|_| repository.path(name)).display().to_string()
    };
    repository.file("mine/a", "");
    repository.file("flag/a", "");
    assert!(told(&[], "mine").contains(&below("mine")), "{}", told(&[], "mine"));
    assert!(told(&["--cache-dir", "flag"], "mine").contains(&below("flag")), "a flag wins");
    assert!(told(&[], "").contains(".git/cache/imagelint"), "{}", told(&[], ""));
}

#[test]
fn control_characters_of_an_input_are_spelled_out() {
    let repository = TestRepository::new();
    repository.file(
        "Dockerfile",
        "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nENV NVIDIA_REQUIRE_CUDA=\"cuda>=99\u{1b}[31m\u{7}\u{202e}\"\n",
    );
    for flags in [&["check", "Dockerfile"][..], &["check", "--why", "new", "Dockerfile"]] {
        let text = out(&repository.run(flags));
        assert!(text.contains("\\u{1b}") || text.contains("\\u001b"), "{flags:?}: {text:?}");
        assert!(!text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{flags:?}: {text:?}");
    }
    let text = out(&repository.run(&["check", "--color", "always", "Dockerfile"]));
    assert!(!text.contains("cuda>=99\u{1b}") && text.contains("\\u{1b}"), "{text:?}");
}

#[test]
fn two_runs_are_the_same_byte_for_byte() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", REFUSED);
    repository.file("b/x.Dockerfile", UNTOLD);
    repository.file("c/Containerfile", DOCKERFILE);
    for format in [&["check"][..], &["check", "--format", "json"], &["check", "--why"], &["describe", "Dockerfile"]] {
        let (one, two) = (repository.run(format), repository.run(format));
        assert!(!one.stdout.is_empty(), "{format:?}");
        assert_eq!((&one.stdout, &one.stderr), (&two.stdout, &two.stderr), "{format:?}");
    }
}

#[test]
fn directories_are_searched_by_file_name_without_git_ignored_files() {
    let repository = TestRepository::new();
    repository.file("gpu.Dockerfile", DOCKERFILE);
    repository.file("sub/Containerfile", REFUSED);
    repository.file("sub/notes.txt", DOCKERFILE);
    repository.file(".gitignore", "ignored/\n");
    repository.file("ignored/Dockerfile", DOCKERFILE);
    let names = |arguments: &[&str]| -> Vec<String> {
        let report = repository.json(arguments);
        let subjects = report["subjects"].as_array().expect("subjects").clone();
        subjects.iter().map(|subject| subject["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(&["check"]), ["Dockerfile", "gpu.Dockerfile", "sub/Containerfile"]);
    assert_eq!(names(&["check", "sub"]), ["sub/Containerfile"]);
    assert_eq!(names(&["check", "ignored/Dockerfile"]), ["ignored/Dockerfile"]);
    let whole = repository.path("ignored/Dockerfile").display().to_string();
    assert_eq!(names(&["check", &whole]), [whole]);
}

#[test]
fn the_report_records_the_day_of_as_of() {
    let repository = TestRepository::new();
    let report = repository.json(&["check", "--as-of", "2024-06-01", "Dockerfile"]);
    assert_eq!(report["as_of"], "2024-06-01");
    assert!(repository.json(&["check", "Dockerfile"])["as_of"].is_null());
}

#[test]
fn a_report_and_a_description_judged_again_give_the_same_fates() {
    let repository = TestRepository::new();
    for (name, text) in [("starts", DOCKERFILE), ("refused", REFUSED), ("untold", UNTOLD)] {
        repository.file("Dockerfile", text);
        let first = repository.json(&["check", "Dockerfile"]);
        repository.file("saved/report.json", &first.to_string());
        let again = repository.json(&["check", "--fleet", "fleet.toml", "saved/report.json"]);
        assert_eq!(fates(&first), fates(&again), "{name}: the report");
        let described = repository.run(&["describe", "Dockerfile"]);
        assert_eq!((code(&described), err(&described)), (0, String::new()));
        repository.file("x.image.toml", &out(&described));
        assert_eq!(fates(&first), fates(&repository.json(&["check", "x.image.toml"])), "{name}: the description");
    }
}

#[test]
fn the_json_has_the_fields_of_the_model() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", REFUSED);
    let report = repository.json(&["check", "Dockerfile"]);
    assert_eq!(report["schema_version"], 1);
    let keys = |value: &Value| -> Vec<String> { value.as_object().expect("an object").keys().cloned().collect() };
    assert_eq!(keys(&report), ["as_of", "errors", "fleet", "schema_version", "subjects", "texts", "tool"]);
    let model: imagelint::report::model::Report = serde_json::from_value(report.clone()).expect("the model reads it");
    assert_eq!(serde_json::to_value(model).expect("the model as JSON"), report, "no field more and none less");
    let subject = &report["subjects"][0];
    assert_eq!(subject["inspected"]["depth"], "text");
    let verdict = &subject["verdicts"][0];
    assert_eq!((&verdict["fate"], &verdict["outcome"]), (&"fails".into(), &"refused".into()));
    assert_eq!(verdict["reason"], "requirement");
    assert!(!verdict["scenarios"][0]["steps"].as_array().expect("steps").is_empty());
    let finding = &subject["findings"][0];
    assert_eq!((&finding["rule"], &finding["severity"]), (&"container-refused".into(), &"error".into()));
    assert_eq!(finding["locations"][0]["region"]["start_line"], 2);
    let ids: Vec<&str> =
        subject["facts"].as_array().expect("facts").iter().filter_map(|fact| fact["id"].as_str()).collect();
    let cited = verdict["scenarios"][0]["steps"].as_array().expect("steps").iter();
    for fact in cited.flat_map(|step| step["facts"].as_array().expect("facts")) {
        let fact = fact.as_str().expect("an id");
        assert!(!fact.starts_with('f') || fact.contains('/') || ids.contains(&fact), "{fact} is in the list of facts");
    }
}

/// Both are known to be judged on the built-in fleet: the search begins at the first input, which is no path.
#[test]
fn fleet_is_found_for_standard_input_and_missing_inputs() {
    let repository = TestRepository::new();
    assert_eq!(repository.json(&["check", "nothere", "Dockerfile"])["fleet"]["built_in"], false);
    let done = repository.command(&["check", "-"]).write_stdin(REFUSED).output().expect("a run");
    assert_eq!(code(&done), 1);
}

#[test]
fn an_unknown_pool_to_explain_gets_a_suggestion() {
    let repository = TestRepository::new();
    let done = repository.run(&["check", "--why", "Dockerfile"]);
    assert!(err(&done).contains("put the path Dockerfile before it"), "{}", err(&done));
    let done = repository.run(&["check", "--why", "nwe", "Dockerfile"]);
    assert_eq!(code(&done), 2);
    assert!(err(&done).contains("did you mean `new`?"), "{}", err(&done));
}

#[test]
fn open_verdicts_are_warnings_with_their_places() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", UNTOLD);
    let report = repository.json(&["check", "Dockerfile"]);
    let findings = report["subjects"][0]["findings"].as_array().expect("findings");
    let open: Vec<&Value> = findings.iter().filter(|finding| finding["rule"] == "undetermined").collect();
    assert_eq!(open.len(), 1, "one cause, told once: {findings:?}");
    assert_eq!((&open[0]["severity"], &open[0]["pools"]), (&"warning".into(), &serde_json::json!(["old", "new"])));
    let places = open[0]["locations"].as_array().expect("places");
    assert_eq!((&places[0]["path"], &places[0]["region"]["start_line"]), (&"Dockerfile".into(), &1.into()));
    assert!(places.iter().any(|location| location["path"] == "fleet.toml"), "{places:?}");
    assert!(open[0]["help"].as_str().is_some_and(|help| help.contains("imagelint scan")), "{open:?}");
    let text = out(&repository.run(&["check", "Dockerfile"]));
    assert!(text.trim_end().ends_with("; 1 warning"), "{text}");
}

#[test]
fn ignored_unknown_verdict_stays_unknown_and_passes() {
    let repository = TestRepository::new();
    for (rule, expected) in [("undetermined", 0), ("depends", 1), ("undetermined@old", 1)] {
        repository.file("Dockerfile", &format!("# imagelint: ignore-file[{rule}] seen by hand\n{UNTOLD}"));
        let done = repository.run(&["check", "--fail-on", "undetermined", "Dockerfile"]);
        assert_eq!(code(&done), expected, "{rule}: {}", out(&done));
        assert!(out(&done).contains("2 unknown"), "{rule}: {}", out(&done));
    }
}

#[test]
fn a_known_verdict_has_no_finding_about_an_unknown_one() {
    let repository = TestRepository::new();
    for text in [DOCKERFILE, REFUSED, "FROM python:3.11\nARG X\nENV A=$X\n"] {
        repository.file("Dockerfile", text);
        let report = repository.json(&["check", "Dockerfile"]);
        let findings = report["subjects"][0]["findings"].as_array().expect("findings");
        let open = |finding: &&Value| finding["rule"] == "undetermined" || finding["rule"] == "depends";
        assert_eq!(findings.iter().filter(open).count(), 0, "{text}: {findings:?}");
    }
}

#[test]
fn an_invalid_description_is_reported_with_every_location() {
    let repository = TestRepository::new();
    repository.file("x.image.toml", "base = 3\n[env]\nA = true\n");
    let report = repository.json(&["check", "x.image.toml"]);
    let errors = report["errors"].as_array().expect("errors");
    let told: Vec<String> = errors
        .iter()
        .map(|error| {
            format!("{} {}", error["location"]["region"]["start_line"], error["message"].as_str().expect("words"))
        })
        .collect();
    assert_eq!(
        told,
        [
            "1 `base` is an integer, expected a string; put it in quotes: \"3\"",
            "3 `A` is a boolean, expected a string; put it in quotes: \"true\""
        ]
    );
    let done = repository.run(&["check", "x.image.toml"]);
    assert_eq!(code(&done), 2);
    for part in ["x.image.toml:1:8", "A = true", "1 input cannot be read"] {
        assert!(out(&done).contains(part), "{part}: {}", out(&done));
    }
    assert!(!out(&done).contains("\\n"), "{}", out(&done));
}

#[test]
fn standard_input_is_no_longer_than_a_file() {
    let repository = TestRepository::new();
    let text = format!("{DOCKERFILE}#{}\n", "x".repeat(4 << 20));
    let done = repository.command(&["check", "-"]).write_stdin(text.clone()).output().expect("a run");
    assert_eq!(code(&done), 2);
    assert!(out(&done).contains("longer than 4194304 bytes"), "{}", out(&done));
    repository.file("Dockerfile", &text);
    assert_eq!(code(&repository.run(&["check", "Dockerfile"])), 2);
}

#[test]
fn an_empty_variable_names_no_fleet() {
    let repository = TestRepository::new();
    for command in [&["check", "--format", "json", "Dockerfile"][..], &["check", "--format", "json", "."]] {
        let done = repository.command(command).env("IMAGELINT_FLEET", "").output().expect("a run");
        let report: Value = serde_json::from_slice(&done.stdout).expect("a report");
        assert_eq!(report["fleet"]["source"], "fleet.toml");
    }
    let done =
        repository.command(&["check", "Dockerfile"]).env("IMAGELINT_FLEET", "nothere.toml").output().expect("a run");
    assert_eq!(code(&done), 2);
}

#[test]
fn unused_nearer_fleet_file_is_reported() {
    let repository = TestRepository::new();
    repository.file("sub/Dockerfile", DOCKERFILE);
    repository.file("sub/fleet.toml", test_repository::FLEET);
    let told = "sub/fleet.toml is not used, because this run uses fleet.toml; check separately: imagelint check sub\n";
    assert_eq!(err(&repository.run(&["check", "."])), told);
    for quiet in [&["check", "sub"][..], &["check", "Dockerfile"], &["check", "--fleet", "fleet.toml", "."]] {
        assert_eq!(err(&repository.run(quiet)), "", "{quiet:?}");
    }
}

/// The exit code of a command whose output is not read.
fn unread(repository: &TestRepository, arguments: &[&str], error_stream: bool) -> Option<i32> {
    let mut command = std::process::Command::new(imagelint_program());
    command.current_dir(repository.path("")).args(arguments).env("IMAGELINT_FLEET", repository.path("fleet.toml"));
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().expect("program runs");
    drop(child.stdout.take());
    if error_stream {
        drop(child.stderr.take());
    }
    child.wait().expect("program ends").code()
}

#[test]
fn a_closed_pipe_does_not_change_the_exit_code() {
    let repository = TestRepository::new();
    repository.file("bad.Dockerfile", REFUSED);
    for format in ["human", "json", "concise", "sarif", "junit", "markdown"] {
        for (file, expected) in [("Dockerfile", 0), ("bad.Dockerfile", 1), ("gone.Dockerfile", 2)] {
            let arguments = ["check", "--pool", "new", "--format", format, file];
            for error_stream in [false, true] {
                assert_eq!(unread(&repository, &arguments, error_stream), Some(expected), "{format} {file}");
            }
        }
    }
    for (arguments, expected) in [
        (&["check", "--pool", "new", "--why", "new", "bad.Dockerfile"][..], 1),
        (&["rules", "list"], 0),
        (&["check", "--pool", "nwe", "Dockerfile"], 2),
    ] {
        assert_eq!(unread(&repository, arguments, true), Some(expected), "{arguments:?}");
    }
}

#[test]
fn pool_of_why_must_be_a_checked_pool() {
    let repository = TestRepository::new();
    repository.file(
        "both.toml",
        "[[pool]]\nname = \"a\"\ndockerfiles = [\"Dockerfile\"]\n[[pool]]\nname = \"b\"\ndockerfiles = [\"other/**\"]\n",
    );
    let asked =
        |arguments: &[&str]| repository.run(&[&["check", "--fleet", "both.toml"], arguments, &["Dockerfile"]].concat());
    let done = asked(&["--pool", "a", "--why", "b"]);
    assert_eq!((code(&done), out(&done)), (2, String::new()));
    assert!(err(&done).contains("`b`, but --pool excludes it; the selected pools are a"), "{}", err(&done));
    let done = asked(&["--why", "b"]);
    assert_eq!(code(&done), 0);
    assert!(out(&done).contains("not checked on b"), "{}", out(&done));
    for arguments in [&["--why", "a"][..], &["--pool", "a", "--why", "a"], &["--why", "--pool", "a"]] {
        let done = asked(arguments);
        assert!(
            out(&done).contains("  on a") && !out(&done).contains("not checked on"),
            "{}{}",
            out(&done),
            err(&done)
        );
    }
}

#[test]
fn directory_without_rule_pages_is_reported() {
    let repository = TestRepository::new();
    repository.file("rules/notes.txt", "nothing");
    repository.file("rules/README.md", "# Ours");
    let done = repository.run(&["check", "--rules", "rules", "--pool", "new", "Dockerfile"]);
    assert_eq!(code(&done), 0);
    assert!(err(&done).contains("warning: no rule page (*.md) in rules"), "{}", err(&done));
    let none = repository.run(&["check", "--pool", "new", "Dockerfile"]);
    assert!(!err(&none).contains("no rule page"), "{}", err(&none));
    assert_eq!(code(&repository.run(&["rules", "new", "our-rule", "rules"])), 0);
    let some = repository.run(&["check", "--rules", "rules", "--pool", "new", "Dockerfile"]);
    assert!(!err(&some).contains("no rule page"), "{}", err(&some));
}

#[test]
fn flags_of_every_command_lead_to_the_default_command_too() {
    let repository = TestRepository::new();
    repository.file("Dockerfile", "FROM ubuntu:22.04\n");
    for arguments in [&["--color", "never"][..], &["--color", "never", "."], &["--color=never", "Dockerfile"]] {
        let output = repository.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("checked 1 image"), "{arguments:?}: {text}");
    }
    let output = repository.run(&["--color", "never", "frobnicate"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("unrecognized subcommand 'frobnicate'"));
}
