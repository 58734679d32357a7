//! `action.yml`: its own scripts run, as a workflow would have them run.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::integrations::release::Release;
use crate::integrations::runner::{Context, Done, Runner};
use crate::integrations::test_repository::TestRepository;
use crate::integrations::{REFUSED, own_yaml};
use crate::support::program::imagelint_program;

/// A `gh` that records its arguments; a list of comments is the content of a file, a body is kept.
const GH: &str = r#"#!/bin/bash
printf '%q ' "$@" >>"$HOME/gh.log"; echo >>"$HOME/gh.log"
for word in "$@"; do case $word in body=@*) cp "${word#body=@}" "$HOME/body.md" ;; esac; done
case "$*" in *--paginate*) cat "$HOME/comments" 2>/dev/null || true ;; esac
"#;
const CARGO: &str = "#!/bin/bash\necho \"cargo $*\" >>\"$HOME/build.log\"\n";
const RUSTUP: &str = "#!/bin/bash\necho \"rustup $*\" >>\"$HOME/build.log\"\n";

/// A `curl` that reaches nothing.
const CURL: &str = "#!/bin/bash\nexit 6\n";

struct Job {
    repository: TestRepository,
    temporary: TempDir,
    context: Context,
    environment: Context,
    failing: Vec<&'static str>,
}

impl Job {
    /// A push to a repository, with the built program on the runner.
    fn new() -> Self {
        let job = Self {
            repository: TestRepository::new(),
            temporary: tempfile::tempdir().expect("a folder"),
            context: Context::new(),
            environment: Context::new(),
            failing: vec![],
        };
        for (name, text) in [("gh", GH), ("cargo", CARGO), ("rustup", RUSTUP), ("curl", CURL)] {
            job.program(name, text);
        }
        job.with("inputs.program", imagelint_program().to_str().expect("UTF-8"))
    }

    /// Puts a program in front of those of the system.
    fn program(&self, name: &str, text: &str) {
        let path = self.temporary.path().join(name);
        fs::write(&path, text).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.context.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The event is a pull request.
    fn pull_request(self, fork: &str) -> Self {
        // Nothing to compare with, where a test does not say otherwise.
        self.program("git", "#!/bin/bash\nexit 1\n");
        let job = self.with("github.event.pull_request", "an object").with("github.event.pull_request.number", "7");
        job.with("github.event.pull_request.head.repo.fork", fork).with("github.token", "secret")
    }

    fn run(&self) -> Done {
        self.run_from(Path::new(env!("CARGO_MANIFEST_DIR")))
    }

    fn run_from(&self, action: &Path) -> Done {
        let (workspace, temporary) = (self.repository.path(""), self.temporary.path());
        let (environment, failing) = (&self.environment, self.failing.as_slice());
        let runner = Runner { workspace: &workspace, temporary, action, programs: temporary, environment, failing };
        runner.run(&own_yaml("action.yml"), self.context.clone())
    }

    /// What was left in a file by that name.
    fn left(&self, name: &str) -> String {
        fs::read_to_string(self.temporary.path().join(name)).unwrap_or_default()
    }

    fn owned(&self) -> bool {
        self.repository.path("owned").exists() || self.temporary.path().join("owned").exists()
    }
}

fn output(done: &Done, name: &str) -> String {
    done.context.get(&format!("steps.check.outputs.{name}")).cloned().unwrap_or_default()
}

/// What code scanning keeps an upload by: a name that stands in the file, and the action's input only where none does.
fn category(with: &BTreeMap<String, String>) -> String {
    let text = fs::read_to_string(&with["sarif_file"]).expect("a report");
    let sarif: Value = serde_json::from_str(&text).expect("JSON");
    let own = sarif["runs"][0]["automationDetails"]["id"].as_str();
    own.map_or_else(|| with.get("category").cloned().unwrap_or_default(), str::to_owned)
}

#[test]
fn two_fleets_in_one_workflow_have_separate_categories() {
    for (given, expected) in
        [(None, "imagelint/check/"), (Some("serving"), "imagelint/serving/"), (Some(""), "imagelint/check/")]
    {
        let job = given.into_iter().fold(Job::new(), |job, given| job.with("inputs.category", given));
        job.repository.file("Dockerfile", REFUSED);
        let done = job.run();
        assert_eq!(category(&done.used[0].1), expected, "{}", done.text);
    }
}

#[test]
fn findings_fail_the_job_after_the_sarif_upload() {
    let job = Job::new();
    job.repository.file("Dockerfile", REFUSED);
    let done = job.run();
    assert!(done.failed, "{}", done.text);
    assert_eq!(
        (output(&done, "exit-code"), done.ran),
        ("1".to_owned(), ["check", "upload", "end"].map(str::to_owned).to_vec())
    );
    let (upload, with) = &done.used[0];
    assert!(upload.starts_with("github/codeql-action/upload-sarif@"), "{upload}");
    let sarif: Value = serde_json::from_str(&fs::read_to_string(&with["sarif_file"]).expect("a report")).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "container-refused");
    assert!(done.text.contains("::error file=Dockerfile,line=2,"), "{}", done.text);
    assert!(job.left("summary.md").contains("| `Dockerfile` |"), "{}", job.left("summary.md"));
    assert_eq!(job.left("gh.log"), "", "a push has no comment");
    assert_eq!(job.left("build.log"), "", "the program was given");
}

#[test]
fn a_clean_repository_passes_and_the_upload_closes_old_alerts() {
    let job = Job::new().with("inputs.arguments", "  --pool\n\n  new  \n");
    let done = job.run();
    assert!(!done.failed, "{}", done.text);
    assert_eq!((output(&done, "exit-code"), done.used.len()), ("0".to_owned(), 1));
    assert!(!job.left("summary.md").contains("`old`"), "{}", job.left("summary.md"));
}

#[test]
fn an_invalid_fleet_and_an_empty_repository_fail() {
    let job = Job::new().with("inputs.fleet", "broken.toml");
    job.repository.file("broken.toml", "[[pool]]\nnme = 1\n");
    let done = job.run();
    assert_eq!((done.failed, output(&done, "exit-code")), (true, "2".to_owned()));
    assert!(done.text.contains("unknown key `nme`"), "{}", done.text);
    assert_eq!((output(&done, "sarif"), done.used.len()), (String::new(), 0), "nothing to hand over");

    let job = Job::new().with("inputs.working-directory", "empty");
    job.repository.file("empty/README", "");
    let done = job.run();
    assert_eq!((done.failed, output(&done, "exit-code")), (true, "3".to_owned()), "{}", done.text);
}

#[test]
fn pull_request_gets_one_comment_updated_in_place() {
    let job = Job::new().pull_request("false").with("inputs.sarif", "false");
    let done = job.run();
    assert!(!done.failed && done.used.is_empty(), "{}", done.text);
    let calls = job.left("gh.log");
    assert!(calls.contains("--method POST repos/team/models/issues/7/comments"), "{calls}");
    let body = job.left("body.md");
    assert!(body.starts_with("<!-- imagelint: check -->\n") && body.contains("| `Dockerfile` |"), "{body}");

    fs::write(job.temporary.path().join("comments"), "4711\n4712\n").expect("comments");
    fs::write(job.temporary.path().join("gh.log"), "").expect("no calls");
    job.repository.file("Dockerfile", REFUSED);
    assert!(job.run().failed);
    let calls = job.left("gh.log");
    assert!(calls.contains("--method PATCH repos/team/models/issues/comments/4711 "), "{calls}");
    assert!(!calls.contains("POST") && job.left("body.md").contains("refused"), "{calls}");
}

/// The built program, but for `compare`: that says what it was asked, or fails.
fn comparing(job: Job, compare: &str) -> Job {
    let built = imagelint_program().display().to_string();
    let script = format!("#!/bin/bash\nif [[ $1 == compare ]]; then {compare}; else exec '{built}' \"$@\"; fi\n");
    job.program("stand-in", &script);
    let path = job.temporary.path().join("stand-in").display().to_string();
    job.with("inputs.program", &path)
}

/// Arguments of which some are for the check alone, one a line.
const FURTHER: &str = "--persona=pedantic\n--no-config\n--pool=new\n  --pool\n old\n--as-of\n2026-01-01\n--build-arg\nA=B=C\n\
                       -v\n--allow-incomplete\n--show-fixes\n--jobs\n2\n--why";

/// Whether options take a value, by their long names, as a command helps with them.
fn options(command: &str) -> BTreeMap<String, bool> {
    let help = std::process::Command::new(imagelint_program()).args([command, "--help"]).output();
    let help = String::from_utf8(help.expect("help").stdout).expect("UTF-8");
    // What an option is for stands further in.
    let options = help.lines().filter(|line| !line.starts_with("         "));
    let options = options.filter_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| !word.starts_with("--"));
        Some((words.next()?.to_owned(), words.next().is_some_and(|word| word.starts_with('<'))))
    });
    options.collect()
}

#[test]
fn arguments_common_to_both_commands_are_passed_to_compare() {
    let (check, compare) = (options("check"), options("compare"));
    // What the action says itself, what paints, and what reads a second time what can be read once.
    let own = ["--fail-on", "--format", "--color", "--help", "--password-stdin"];
    let both = |valued: bool| -> Vec<&str> {
        let both = check.iter().filter(|(name, has)| compare.get(*name) == Some(*has) && **has == valued);
        both.map(|(name, _)| name.as_str()).filter(|name| !own.contains(name)).collect()
    };
    let text = crate::integrations::own("action.yml");
    let listed = |name: &str| -> Vec<&str> {
        let (_, list) = text.split_once(&format!("{name}=\"")).expect("the list");
        list.split_once('"').expect("its end").0.split_whitespace().filter(|word| *word != "\\").collect()
    };
    assert_eq!((listed("valued"), listed("alone")), (both(true), both(false)));
    assert!(both(true).len() > 10 && both(false).len() > 3);
}

#[test]
fn comment_includes_the_comparison_with_the_base() {
    let base = "0123456789012345678901234567890123456789";
    let event = || Job::new().pull_request("false").with("github.event.pull_request.base.sha", base);
    let log = r#"echo "$*" >>"$HOME/compare.log"; echo "pool old breaks""#;
    let job = comparing(event(), log).with("inputs.paths", "Dockerfile\nsub dir");
    job.repository.file("sub dir/Dockerfile", REFUSED);
    job.program("git", "#!/bin/bash\necho \"git $*\" >>\"$HOME/git.log\"\n[[ $1 != cat-file ]]\n");
    assert!(job.run().failed, "the check has findings");
    let asked = format!("compare --git={base} --format summary --fail-on never -- Dockerfile sub dir\n");
    assert_eq!(job.left("compare.log"), asked);
    assert_eq!(
        job.left("git.log"),
        format!("git cat-file -e {base}^{{commit}}\ngit fetch --quiet --depth=1 origin {base}\n")
    );
    let (body, summary) = (job.left("body.md"), job.left("summary.md"));
    assert!(body.contains("| `Dockerfile` |") && body.ends_with("\npool old breaks\n"), "{body}");
    assert!(summary.ends_with("\npool old breaks\n"), "{summary}");

    // What cannot be compared fails nothing; neither does a program that has no such command.
    for broken in ["echo half; exit 2", "echo panic >&2; exit 101"] {
        let job = comparing(event(), broken);
        job.program("git", "#!/bin/bash\n");
        let done = job.run();
        assert!(!done.failed && done.text.contains("::notice title=imagelint::"), "{}", done.text);
        assert!(!job.left("body.md").contains("half"), "{}", job.left("body.md"));
    }
    let job = comparing(event(), log).with("inputs.arguments", FURTHER);
    job.program("git", "#!/bin/bash\n");
    let done = job.run();
    let asked = format!(
        "compare --git={base} --format summary --fail-on never --no-config --pool=new --pool old --as-of 2026-01-01 --build-arg A=B=C --jobs 2 -- .\n"
    );
    assert_eq!(job.left("compare.log"), asked, "{}", done.text);
    let job = comparing(event(), log).with("inputs.compare", "false");
    assert!(!job.run().failed);
    assert_eq!(job.left("compare.log"), "");
}

#[test]
fn forks_and_opted_out_jobs_get_no_comment() {
    for job in [Job::new().pull_request("true"), Job::new().pull_request("false").with("inputs.comment", "false")] {
        let done = job.run();
        assert!(!done.failed, "{}", done.text);
        assert_eq!(job.left("gh.log"), "");
    }
}

#[test]
fn a_long_report_is_cut_for_the_comment_and_whole_in_the_summary() {
    let base = "0123456789012345678901234567890123456789";
    let job = Job::new().pull_request("false").with("github.event.pull_request.base.sha", base);
    // A comparison that is as long as it may be in each.
    let long =
        r#"case "$*" in *"--format summary"*) printf 'all %0200000d\n' 0 ;; *) printf 'cut %023990d\n' 0 ;; esac"#;
    let job = comparing(job, long);
    job.program("git", "#!/bin/bash\n");
    let long = "x".repeat(230);
    for number in 0..300 {
        job.repository.file(&format!("{long}-{number}/Dockerfile"), "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n");
    }
    let done = job.run();
    let body = job.left("body.md");
    assert!(!done.failed && 45_000 < body.len() && body.len() < 65_536, "{}{}", done.text, body.len());
    assert!(body.contains("-0/Dockerfile` |") && body.contains("images are omitted from the table"), "the matrix, cut");
    assert!(body.contains("\ncut 0000") && !body.contains("all 0000"));
    let summary = job.left("summary.md");
    assert!(summary.contains("-299/Dockerfile` |") && !summary.contains("left out"), "all of it");
    assert!(summary.contains("\nall 0000") && summary.len() < 1 << 20);
}

#[test]
fn untrusted_inputs_are_never_executed() {
    let evil = "$(touch owned)`touch owned`'\";touch owned;#";
    for name in ["inputs.paths", "inputs.fleet", "inputs.fail-on", "inputs.category", "inputs.arguments"] {
        let job = Job::new().pull_request("false").with(name, evil);
        let done = job.run();
        assert!(!job.owned(), "{name}");
        assert_eq!(done.failed, name != "inputs.category", "{name}: {}", done.text);
    }
    let job = Job::new().pull_request("false").with("inputs.category", "a --> <b>");
    job.run();
    assert!(job.left("body.md").starts_with("<!-- imagelint: a------b- -->\n"), "{}", job.left("body.md"));
    let job = Job::new().with("inputs.paths", "--fix\n--help\n");
    assert!(job.run().failed, "paths are never flags");
}

/// A checkout of the action, with a small source.
struct Checkout(TempDir);

impl Checkout {
    fn new() -> Self {
        let checkout = Self(tempfile::tempdir().expect("a folder"));
        for name in ["install.sh", "packaging/source-digest"] {
            checkout.file(name, &crate::integrations::own(name));
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(checkout.0.path().join(name), mode).expect(name);
        }
        checkout.file("Cargo.toml", "rust-version = \"1.95\"\n");
        for name in ["Cargo.lock", "src/main.rs", "rules/a.md"] {
            checkout.file(name, name);
        }
        checkout
    }

    fn file(&self, name: &str, text: &str) {
        let path: PathBuf = self.0.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect(name);
    }

    /// What a release of this source publishes.
    fn digest(&self) -> String {
        let done =
            std::process::Command::new(self.0.path().join("packaging/source-digest")).output().expect("a script");
        String::from_utf8(done.stdout).expect("UTF-8").trim_end().to_owned()
    }
}

/// A job without an installed program; its `cargo` builds one that finds something.
fn without_program() -> Job {
    let job = Job::new().with("inputs.program", "").with("runner.os", "Linux").with("runner.arch", "X64");
    job.program(
        "cargo",
        "#!/bin/bash\necho \"cargo $*\" >>\"$HOME/build.log\"\nmkdir -p \"$RUNNER_TEMP/imagelint-program/bin\"\n\
         program=$RUNNER_TEMP/imagelint-program/bin/imagelint\nprintf '#!/bin/bash\\nexit 1\\n' >\"$program\"\nchmod +x \"$program\"\n",
    );
    job.with("runner.temp", "/elsewhere")
}

#[test]
fn without_a_download_the_revision_of_the_action_is_built_and_kept() {
    let checkout = Checkout::new();
    let action = checkout.0.path();
    let job = without_program();
    let done = job.run_from(action);
    let root = job.temporary.path().join("imagelint-program");
    let expected = format!(
        "rustup toolchain install 1.95 --profile minimal --no-self-update\ncargo +1.95 install --locked --path . --root {}\n",
        root.display()
    );
    assert_eq!(job.left("build.log"), expected, "{}", done.text);
    assert!(done.text.contains("::warning title=imagelint::the program could not be downloaded"), "{}", done.text);
    // A check with findings ends the job; the build is in the cache by then.
    assert!(done.failed, "{}", done.text);
    assert_eq!(done.ran, ["source", "kept", "made", "", "check", "end"]);
    let [(restore, from), (save, to)] = done.used.as_slice() else { panic!("{:?}", done.used) };
    assert!(
        restore.starts_with("actions/cache/restore@") && save.starts_with("actions/cache/save@"),
        "{restore} {save}"
    );
    assert_eq!(from, to, "the same place under the same key");
    let key = from["key"].clone();
    assert!(key.starts_with("imagelint-Linux-X64-") && key.len() == 20 + 64, "{key}");
    assert_eq!(job.run_from(action).used[0].1["key"], key, "the same source");
    checkout.file("rules/a.md", "changed");
    assert_ne!(job.run_from(action).used[0].1["key"], key, "another one");

    // A cache that cannot be written changes nothing.
    let mut job = without_program();
    job.failing = vec!["actions/cache/save@"];
    let done = job.run_from(action);
    assert_eq!((output(&done, "exit-code"), done.ran.len()), ("1".to_owned(), 6), "{}", done.text);

    // A build that fails is not kept, and nothing is checked.
    job.program("cargo", "#!/bin/bash\nexit 101\n");
    let done = job.run_from(action);
    assert!(done.failed && done.ran == ["source", "kept", "made"], "{:?} {}", done.ran, done.text);

    let job = without_program().with("steps.kept.outputs.cache-hit", "true");
    let done = job.run_from(action);
    assert_eq!((job.left("build.log"), done.used.len()), (String::new(), 1), "nothing to make or to save");
}

#[test]
fn the_program_of_the_same_source_is_downloaded_and_verified() {
    let checkout = Checkout::new();
    let action = checkout.0.path();
    let release = Release::new(&checkout.digest());
    let job = |token: &str| {
        let mut job = without_program().with("inputs.token", token);
        fs::remove_file(job.temporary.path().join("curl")).expect("the real one is used");
        job.environment.insert("IMAGELINT_DOWNLOAD_URL".to_owned(), release.address().to_owned());
        job
    };
    let one = job("");
    let done = one.run_from(action);
    assert_eq!(one.left("build.log"), "", "nothing is built: {}", done.text);
    assert!(done.text.contains("ran: check --fail-on=error"), "the stand-in of the release runs: {}", done.text);
    assert_eq!(done.ran, ["source", "kept", "made", "", "check", "end"]);
    assert!(done.used[1].0.starts_with("actions/cache/save@"), "{:?}", done.used);
    assert!(!done.text.contains("::warning"), "{}", done.text);

    // With the token of the job, the attestation counts.
    let one = job("secret");
    one.run_from(action);
    assert!(one.left("gh.log").starts_with("attestation verify "), "{}", one.left("gh.log"));
    assert_eq!(one.left("build.log"), "");
    let one = job("secret");
    one.program("gh", "#!/bin/bash\nexit 1\n");
    let done = one.run_from(action);
    assert!(one.left("build.log").contains("cargo +1.95 install"), "{}", done.text);
    assert!(done.text.contains("::warning title=imagelint::") && !done.text.contains("ran: check"), "{}", done.text);

    // Another source than that of the release: no download, and no alarm.
    checkout.file("src/main.rs", "changed");
    let one = job("");
    let done = one.run_from(action);
    assert!(one.left("build.log").contains("cargo +1.95 install"), "{}", done.text);
    assert!(done.text.contains("::notice title=imagelint::no program of this revision"), "{}", done.text);
    assert!(!done.text.contains("::warning"), "{}", done.text);

    // A damaged archive.
    checkout.file("src/main.rs", "src/main.rs");
    let name = format!("imagelint-{}-unknown-linux-musl.tar.gz", std::env::consts::ARCH);
    fs::write(release.path(&name), "damaged").expect("an archive");
    let one = job("");
    let done = one.run_from(action);
    assert!(one.left("build.log").contains("cargo +1.95 install"), "{}", done.text);
    assert!(done.text.contains("is damaged") && done.text.contains("::warning title=imagelint::"), "{}", done.text);
}

#[test]
fn fixes_are_in_the_comment_unless_switched_off() {
    let job = || {
        let job = Job::new().pull_request("false");
        job.repository.file(
            "Dockerfile",
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nENV NVIDIA_REQUIRE_CUDA=\"cuda>=99.0\"\n",
        );
        job
    };
    let with = job();
    let done = with.run();
    let body = with.left("body.md");
    assert!(body.contains("  - fix ("), "{body}{}", done.text);
    assert!(with.left("summary.md").contains("  - fix ("), "{}", with.left("summary.md"));
    let without = job().with("inputs.fixes", "false");
    without.run();
    let body = without.left("body.md");
    assert!(body.contains("container-refused") && !body.contains("  - fix ("), "{body}");
    // Given as an argument too, it is still given once.
    let twice = job().with("inputs.arguments", "--show-fixes");
    let done = twice.run();
    assert_eq!(output(&done, "exit-code"), "1", "{}", done.text);
}

#[test]
fn without_code_scanning_the_job_goes_on() {
    let mut job = Job::new().pull_request("false");
    job.failing = vec!["github/codeql-action/upload-sarif@"];
    let done = job.run();
    assert!(!done.failed, "{}", done.text);
    assert!(done.text.contains("::notice title=imagelint::code scanning did not accept the findings"), "{}", done.text);
    assert!(
        job.left("summary.md").contains("> code scanning did not accept the findings"),
        "{}",
        job.left("summary.md")
    );
    assert!(job.left("body.md").contains("| `Dockerfile` |"), "the comment is written");
    job.repository.file("Dockerfile", REFUSED);
    assert!(job.run().failed, "findings still count");

    let job = Job::new();
    assert!(!job.run().text.contains("code scanning"), "nothing is said of an upload that succeeds");
}

#[test]
fn action_file_follows_its_conventions() {
    let action = own_yaml("action.yml");
    let text = crate::integrations::own("action.yml");
    for (name, input) in action["inputs"].as_object().expect("inputs") {
        assert!(input["description"].as_str().is_some_and(|text| text.ends_with('.')), "{name}");
        assert!(input["default"].is_string(), "{name}");
        assert!(text.contains(&format!("inputs.{name}")), "{name} is not used");
    }
    let steps = action["runs"]["steps"].as_array().expect("steps");
    for step in steps {
        assert!(step["name"].is_string(), "{step}");
        if let Some(run) = step["run"].as_str() {
            assert!(!run.contains("${{"), "an expression in a script: {run}");
            assert_eq!(step["shell"], "bash");
        } else {
            let pin = step["uses"].as_str().and_then(|uses| uses.split_once('@')).expect("a version").1;
            assert!(pin.len() == 40 && pin.bytes().all(|byte| byte.is_ascii_hexdigit()), "{pin}");
        }
    }
    for (name, output) in action["outputs"].as_object().expect("outputs") {
        assert_eq!(output["value"], format!("${{{{ steps.check.outputs.{name} }}}}"));
    }
    assert!(steps.iter().any(|step| step["id"] == "check"));
}
