//! Completions, manual pages, help, and pipes that close early.

use std::io::Read as _;
use std::process::{Command, Stdio};

use crate::integrations::REFUSED;
use crate::integrations::test_repository::{TestRepository, code, err, out};
use crate::support::program::imagelint_program;

/// Names of the commands, as the program lists them.
fn commands(repository: &TestRepository) -> Vec<String> {
    let help = out(&repository.run(&["--help"]));
    let list = help.split("Commands:\n").nth(1).expect("a list").split("\n\n").next().expect("a list").to_owned();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn every_shell_gets_every_command() {
    let repository = TestRepository::empty();
    let commands = commands(&repository);
    assert!(commands.len() > 10, "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = repository.run(&["completions", shell]);
        assert_eq!((code(&done), err(&done)), (0, String::new()), "{shell}");
        for command in &commands {
            assert!(out(&done).contains(command), "{shell} lacks {command}");
        }
    }
    for wrong in [&["completions"][..], &["completions", "tcsh"], &["completions", "bash", "zsh"]] {
        let done = repository.run(wrong);
        assert_eq!((code(&done), out(&done)), (2, String::new()), "{wrong:?}");
    }
    assert!(err(&repository.run(&["completions", "fsh"])).contains("'fish'"), "the nearest one is named");
}

#[test]
fn bash_completes_commands_and_flags() {
    let repository = TestRepository::empty();
    repository.file("complete.bash", &out(&repository.run(&["completions", "bash"])));
    let complete = |words: &str, at: usize| {
        let script = format!(
            "source complete.bash; COMP_WORDS=({words}); COMP_CWORD={at}; \
             _imagelint imagelint \"${{COMP_WORDS[{at}]}}\" \"${{COMP_WORDS[$(({at}-1))]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let done = Command::new("bash").args(["-c", &script]).current_dir(repository.path("")).output().expect("bash");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        out(&done)
    };
    assert_eq!(complete("imagelint des", 1), "describe\n");
    assert_eq!(complete("imagelint check --fail-o", 2), "--fail-on\n");
    assert_eq!(complete("imagelint check --fail-on und", 3), "undetermined\n");
    assert_eq!(complete("imagelint check --format sar", 3), "sarif\n");
    assert_eq!(complete("imagelint scan --persona ped", 3), "pedantic\n");
    assert_eq!(complete("imagelint check --format pdf", 3).trim(), "");
    assert_eq!(complete("imagelint check --unheard", 2).trim(), "");
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let repository = TestRepository::empty();
    let done = repository.run(&["man", "new/man1"]);
    assert_eq!((code(&done), err(&done)), (0, String::new()));
    for command in commands(&repository).iter().filter(|command| *command != "help") {
        let page = std::fs::read_to_string(repository.path(&format!("new/man1/imagelint-{command}.1"))).expect(command);
        assert!(page.contains("Example: imagelint "), "{command}");
        let title = page.lines().find(|line| line.starts_with(".TH")).expect("a title");
        assert!(title.contains(&format!("\"imagelint {}", env!("CARGO_PKG_VERSION"))), "{title}");
        assert_eq!(page.matches(".SH \"EXIT STATUS\"").count(), 1, "{command}");
    }
    assert!(repository.path("new/man1/imagelint-rules-test.1").is_file());
    assert_eq!(code(&repository.run(&["man", "new/man1"])), 0, "a second time");

    repository.file("taken", "a file");
    let done = repository.run(&["man", "taken"]);
    assert_eq!((code(&done), out(&done)), (2, String::new()));
    assert!(err(&done).starts_with("error: cannot write manual pages to taken: "), "{}", err(&done));
    assert_eq!(code(&repository.run(&["man"])), 2);
}

/// What a run says on the error stream after its reader took a few bytes and left.
fn after_a_closed_pipe(repository: &TestRepository, arguments: &[&str], bytes: usize) -> (Option<i32>, String) {
    let mut child = Command::new(imagelint_program())
        .args(arguments)
        .current_dir(repository.path(""))
        .env("XDG_CACHE_HOME", repository.path(".git/cache"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut first = vec![0; bytes];
    stdout.read_exact(&mut first).expect("some output");
    drop(stdout);
    let done = child.wait_with_output().expect("an end");
    (done.status.code(), String::from_utf8(done.stderr).expect("UTF-8"))
}

#[test]
fn a_pipe_closed_by_head_is_not_an_error() {
    let repository = TestRepository::new();
    let long = "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nENV NVIDIA_REQUIRE_CUDA=\"cuda>=99.0\"\n";
    for number in 0..9 {
        repository.file(&format!("many/{number}/Dockerfile"), long);
    }
    for arguments in [
        &["check", "many"][..],
        &["check", "--format", "json", "many"],
        &["check", "--format", "sarif", "many"],
        &["check", "--format", "html", "many"],
        &["check", "--help"],
        &["completions", "bash"],
        &["rules", "vocabulary"],
        &["schema"],
        &["needs", "Dockerfile"],
        &["knowledge", "torch", "2.4"],
    ] {
        for bytes in [0, 10] {
            let (code, said) = after_a_closed_pipe(&repository, arguments, bytes);
            assert!(code.is_some_and(|code| code < 2), "{arguments:?}: {code:?} {said}");
            assert!(!said.contains("panicked") && !said.contains("Broken pipe"), "{arguments:?}: {said}");
        }
    }
}

#[test]
fn an_error_message_contains_the_next_step() {
    let repository = TestRepository::new();
    repository.file("empty/README", "");
    repository.file("broken.json", "{");
    repository.file("bad-settings.toml", "ignore = [\"torch\"]\n");
    repository.file("no-fleet.toml", "fleet = \"nosuch\"\n");
    repository.file("staged/Dockerfile", "FROM debian:12 AS build\nFROM debian:12 AS ship\n");
    repository.file("bad.toml", "[[pool]]\nname = \"a\"\ngpu = \"A1000000\"\n");
    for (arguments, help) in [
        (&["chek"][..], "'check'"),
        (&["knowledg"], "'knowledge'"),
        (&["nofile"], "`nofile` is neither a command nor a file; run `imagelint --help`"),
        (&["no/such/Dockerfile"], "`no/such/Dockerfile` is neither a command nor a file"),
        (&["nvidia/cuda:12.4.1"], "for an image: imagelint scan nvidia/cuda:12.4.1"),
        (&["check", "--select", "torch"], "select rules in imagelint.toml under [rules], or with --persona"),
        (&["check", "--ignore", "torch"], "select rules in imagelint.toml under [rules], or with --persona"),
        (&["scan"], "--from-kubernetes FILE"),
        (&["scan", "fleet.toml"], "`fleet.toml` is a file, not an image; use: imagelint fleet check fleet.toml"),
        (&["scan", "broken.json"], "for a report: imagelint check broken.json"),
        (&["scan", "https://hub.docker.com/r/pytorch/pytorch"], "use: imagelint scan pytorch/pytorch"),
        (&["scan", "https://hub.docker.com/_/python"], "use: imagelint scan python"),
        (&["scan", "http://reg.io/x:1"], "use: imagelint scan reg.io/x:1"),
        (&["scan", "--from-kubernetes", "fleet.toml"], "kubectl get pods -A -o json"),
        (&["scan", "--from-file", "fleet.tom"], "cannot read fleet.tom: not found; did you mean `fleet.toml`?"),
        (&["scan", "docker-archive:zzz.tar"], "not found; pass"),
        (&["scan", "docker-archive:broken.json"], "`docker save`"),
        (&["fleet", "import", "zzz"], "not found; pass a file"),
        (&["fleet", "affinity", "Dockerfile", "--against", "zzz"], "not found; pass a file"),
        (&["check", "--fleet", "."], "this is a directory; pass a file"),
        (&["check", "--bake", "zzz.hcl"], "not found; pass a file"),
        (&["check", "--knowledge", "zzz"], "not found; pass a directory of tables"),
        (&["check", "broken.json"], "pass a report of --format json"),
        (&["check", "--config", "bad-settings.toml"], "write a table: [[ignore]]"),
        (&["check", "--config", "no-fleet.toml"], "cannot read the fleet file"),
        (&["Dockerfile"], "to check a path, run `imagelint check Dockerfile`"),
        (&["."], "to check a path, run `imagelint check .`"),
        (&["staged"], "to check a path, run `imagelint check staged`"),
        (&["check", "--flet", "x"], "'--fleet'"),
        (&["check", "--fail-on", "eror"], "'error'"),
        (&["check", "--pool", "nwe"], "did you mean `new`?"),
        (&["check", "--fleet", "bad.toml"], "compute_capability"),
        (&["check", "empty"], "nothing to check"),
        (&["rules", "show", "refussed"], "did you mean `container-refused`?"),
        (&["knowledge", "gpu", "A10000"], "A100"),
        (&["explain", "no such thing at all"], "imagelint "),
        (&["lock", "empty"], "nothing"),
        (&["check", "Dokerfile"], "did you mean `Dockerfile`?"),
        (&["check", "zzz"], "zzz: not found; pass a Dockerfile or a directory"),
        (&["check", "--target", "x", "Dockerfile"], "no stage `x`; its stages have no names"),
        (&["check", "--target", "biuld", "staged/Dockerfile"], "it has build, ship"),
        (&["check", "--fleet", "zzz.toml"], "imagelint fleet import"),
        (&["check", "--baseline", "zzz.json"], "--write-baseline zzz.json"),
        (&["check", "--config", "zzz.toml"], "--no-config"),
        (&["check", "--as-of", "tomorrow"], "YYYY-MM-DD"),
        (&["check", "--rules", "zzz"], "imagelint rules new"),
        (&["--fleet", "zzz.toml"], "imagelint fleet import"),
        (&["--flet", "x"], "'--fleet'"),
        (&["compare", "Dockerfile"], "--git main...HEAD"),
        (&["knowledge", "gpu", "qqqqqq"], "imagelint knowledge table"),
        (&["fleet", "import", "empty/README"], "kubectl get nodes"),
    ] {
        let done = repository.run(arguments);
        assert!(code(&done) > 1, "{arguments:?}");
        let said = (out(&done) + &err(&done)).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(help), "{arguments:?}: {said}");
    }
}

#[test]
fn mistyped_value_gets_a_suggestion() {
    let repository = TestRepository::new();
    let fleet = |line: &str| repository.file("typo.toml", &format!("[[pool]]\nname = \"a\"\ngpu = \"A100\"\n{line}\n"));
    for (line, help) in [
        ("driver = \"12.4\"", "is this `driver_cuda`?"),
        ("driver = \"53\"", "did you mean `530` or `535`?"),
        ("driver = \"R535\"", "did you mean `535`?"),
        ("driver_cuda = \"550\"", "is this `driver`?"),
        ("toolkit = \"v1.17.8\"", "did you mean `1.17.8`?"),
        ("toolkit = \"12.4\"", "is this `driver_cuda`? A recent toolkit is "),
        ("cuda = \"12.4\"", "did you mean `driver_cuda`?"),
        ("driver_version = \"535\"", "did you mean `driver`?"),
        ("launch = \"k8s\"", "did you mean `kubernetes`?"),
        ("launch = \"docker\"", "did you mean `docker-gpus` or `docker-cdi`?"),
        ("platform = \"aarch64\"", "did you mean `linux/arm64`?"),
        ("mode = \"legcy\"", "did you mean `legacy`?"),
    ] {
        fleet(line);
        let done = repository.run(&["check", "--fleet", "typo.toml"]);
        assert!(code(&done) == 2 && err(&done).contains(help) && err(&done).contains("typo.toml:4:"), "{}", err(&done));
    }
    fleet("driver = \"999.10\"");
    assert_eq!(code(&repository.run(&["check", "--fleet", "typo.toml"])), 0, "newer than the database: unknown");
    fleet("driver = \"550.54.15\"");
    for (arguments, help) in [
        (&["fleet", "what-if", "Dockerfile", "--fleet", "typo.toml", "--set", "a.driver=12.4"][..], "`driver_cuda`"),
        (&["check", "--persona", "strict"], "did you mean `pedantic`?"),
        (&["check", "--format", "md"], "did you mean `markdown`?"),
        (&["check", "--fail-on", "fatal"], "'error'"),
        (&["check", "--color", "off"], "'never'"),
        (&["check", "nvcr.io/nvidia/cuda:12.4.1-base-ubuntu22.04"], "for an image: imagelint scan nvcr.io/"),
        (&["scan", "./Dockerfile"], "use: imagelint check ./Dockerfile"),
        (&["scan", "."], "use: imagelint check ."),
        (&["rules", "lst"], "'list'"),
    ] {
        let done = repository.run(arguments);
        // A wrapped line is read as one.
        let said = (out(&done) + &err(&done)).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code(&done) > 1 && said.contains(help), "{arguments:?}: {said}");
    }
}

#[test]
fn the_short_help_of_check_fits_two_screens_and_has_headings() {
    let repository = TestRepository::new();
    for command in ["check", "scan"] {
        let short = out(&repository.run(&[command, "-h"]));
        assert!(short.lines().count() <= 48, "{command}: {}\n{short}", short.lines().count());
        for heading in ["Input:", "Fleet:", "Output:", "Registry:"] {
            assert!(short.lines().any(|line| line == heading), "{command} {heading} {short}");
        }
    }
    assert!(out(&repository.run(&["check", "-h"])).contains("\nFixes:\n"));
}

#[test]
fn flags_are_accepted_before_and_after_the_command() {
    let repository = TestRepository::new();
    let after = repository.run(&["check", "--color", "never", "--format", "concise", "Dockerfile"]);
    let before = repository.run(&["--color", "never", "--format", "concise", "check", "Dockerfile"]);
    assert_eq!((code(&before), out(&before)), (code(&after), out(&after)));
    assert_eq!(code(&repository.run(&["--format", "json", "rules", "list"])), 0);
}

#[test]
fn the_first_help_has_an_example_and_demands_no_command() {
    let repository = TestRepository::new();
    for flag in ["--help", "-h"] {
        let help = out(&repository.run(&[flag]));
        assert!(help.contains("\nUsage: imagelint [COMMAND] [OPTIONS]\n") && !help.contains("<COMMAND>"), "{help}");
        assert!(help.contains("imagelint check --fleet fleet.toml Dockerfile"), "{help}");
    }
    // Of a word that is no path the tip speaks of commands alone.
    let said = err(&repository.run(&["chek"]));
    assert!(!said.contains("a path is checked") && !said.contains("no file"), "{said}");
    // No command is near it, however many of its letters one has.
    let said = err(&repository.run(&["nofile"]));
    assert!(!said.contains("similar subcommand") && !said.contains("'knowledge'"), "{said}");
}

#[test]
fn lsp_accepts_only_flags_that_apply_to_an_editor() {
    let repository = TestRepository::new();
    let help = out(&repository.run(&["lsp", "--help"]));
    for flag in ["--fleet", "--pool", "--persona", "--build-arg", "--baseline", "--stdio"] {
        assert!(help.contains(&format!("{flag}\n")) || help.contains(&format!("{flag} <")), "{flag}: {help}");
    }
    for flag in
        ["--format", "--fail-on", "--why", "--verbose", "--color", "--show-fixes", "--show-settings", "--no-cache"]
    {
        assert!(!help.contains(flag), "{flag}: {help}");
        let done = repository.run(&["lsp", flag]);
        assert!(code(&done) == 2 && err(&done).contains(flag), "{flag}: {done:?}");
    }
}

#[test]
fn flags_without_a_command_belong_to_check() {
    let repository = TestRepository::new();
    let told = |arguments: &[&str]| {
        let done = repository.run(arguments);
        (code(&done), out(&done))
    };
    let pool = ["--pool", "new", "--format", "concise", "--fail-on", "warning"];
    repository.file("Dockerfile", REFUSED);
    let named = told(&[&["check"][..], &pool].concat());
    assert!(named.0 == 1 && named.1.contains("Dockerfile:2"), "{named:?}");
    assert_eq!(told(&pool), named);
    assert!(told(&["--version"]).1.starts_with("imagelint "));
    assert!(told(&["--help"]).1.contains("Commands:"));
    assert_eq!(code(&repository.run(&["Dockerfile"])), 2, "no command, and no flag");
}
