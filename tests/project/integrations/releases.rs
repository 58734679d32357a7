//! What a release consists of: one version and one address everywhere, the names of its files, its workflow.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::integrations::release::TARGETS;
use crate::integrations::test_repository::{code, err, out};
use crate::integrations::{own, own_yaml};

/// Files that users copy, run or follow.
const COPIED: [&str; 14] = [
    "README.md",
    "action.yml",
    "install.sh",
    "pyproject.toml",
    ".pre-commit-hooks.yaml",
    ".pre-commit-run",
    "Dockerfile",
    "examples/ci/github.yml",
    "examples/ci/gitlab.yml",
    "examples/ci/pre-commit.yaml",
    "docs/src/how-to/ci.md",
    "docs/src/how-to/install.md",
    "docs/src/tutorial/first-check.md",
    "docs/src/tutorial/pull-request.md",
];

/// A copy of what `packaging/version` reads and writes.
struct Copy(TempDir);

impl Copy {
    fn new() -> Self {
        let copy = Self(tempfile::tempdir().expect("a folder"));
        let names = [
            "Cargo.toml",
            "Cargo.lock",
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "SECURITY.md",
            "python",
            "docs",
            "examples",
            "packaging",
            ".github",
            "rules",
        ];
        for name in names.into_iter().chain(COPIED.into_iter().filter(|name| !name.contains('/'))) {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
            let done = Command::new("cp").arg("-r").arg(from).arg(copy.0.path()).output().expect("cp");
            assert!(done.status.success(), "{name}: {done:?}");
        }
        copy
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect(name)
    }

    fn replace(&self, name: &str, old: &str, new: &str) {
        let text = self.read(name);
        assert!(text.contains(old), "{name} has no {old}");
        fs::write(self.path(name), text.replacen(old, new, 1)).expect(name);
    }

    fn version(&self, arguments: &[&str]) -> Output {
        Command::new(self.path("packaging/version")).args(arguments).output().expect("python3")
    }
}

/// Version and address of another project that could be meant.
const VERSION: &str = env!("CARGO_PKG_VERSION");
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

#[test]
fn every_place_has_the_version_and_the_addresses_of_the_manifest() {
    let done = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/version")).output().expect("python3");
    assert_eq!((code(&done), out(&done)), (0, format!("{VERSION}\n")), "{}", err(&done));

    // Each place alone can be wrong, and is found.
    let slug = REPOSITORY.trim_start_matches("https://github.com/");
    for (file, old) in [
        ("Cargo.lock", format!("name = \"imagelint\"\nversion = \"{VERSION}\"")),
        ("pyproject.toml", format!("version = \"{VERSION}\"")),
        ("pyproject.toml", format!("imagelint=={VERSION}")),
        ("install.sh", format!("IMAGELINT_VERSION:-{VERSION}")),
        ("examples/ci/github.yml", format!("{slug}@v{VERSION}")),
        ("examples/ci/gitlab.yml", format!("IMAGELINT_VERSION: \"{VERSION}\"")),
        ("examples/ci/pre-commit.yaml", format!("rev: v{VERSION}")),
        ("docs/src/how-to/ci.md", format!("rev: v{VERSION}")),
        ("docs/src/tutorial/pull-request.md", format!("{slug}@v{VERSION}")),
        ("README.md", format!("ghcr.io/{slug}:{VERSION}")),
        ("docs/src/how-to/install.md", format!("imagelint_{VERSION}_amd64.deb")),
        ("docs/src/how-to/install.md", format!("release.yml@refs/tags/v{VERSION}")),
    ] {
        let copy = Copy::new();
        copy.replace(file, &old, &old.replace(VERSION, "7.7.7"));
        let done = copy.version(&[]);
        assert!(code(&done) == 1 && err(&done).contains(&format!("{file}: ")), "{file}, {old}: {}", err(&done));
    }
    let owner = slug.split('/').next().expect("an owner");
    for (file, old, new) in [
        ("install.sh", REPOSITORY.to_owned(), "https://github.com/somebody/imagelint".to_owned()),
        ("README.md", format!("{REPOSITORY}/releases"), "https://github.com/somebody/imagelint/releases".to_owned()),
        ("examples/ci/github.yml", format!("uses: {slug}@"), "uses: OWNER/imagelint@".to_owned()),
        ("docs/src/how-to/install.md", format!("ghcr.io/{owner}/"), "ghcr.io/somebody/".to_owned()),
        ("docs/book.toml", "site-url = \"/".to_owned(), "site-url = \"/other/".to_owned()),
        ("README.md", " <!-- unreleased -->".to_owned(), String::new()),
        ("docs/src/how-to/install.md", " <!-- unreleased -->".to_owned(), String::new()),
    ] {
        let copy = Copy::new();
        copy.replace(file, &old, &new);
        let done = copy.version(&[]);
        assert!(code(&done) == 1 && err(&done).contains(&format!("{file}: ")), "{file}, {old}: {}", err(&done));
    }
}

#[test]
fn one_command_sets_the_version_everywhere() {
    let copy = Copy::new();
    let done = copy.version(&["set", "27.8.9", "--date", "2027-01-31"]);
    assert_eq!(code(&done), 0, "{}", err(&done));
    let done = copy.version(&[]);
    assert_eq!((code(&done), out(&done)), (0, "27.8.9\n".to_owned()), "{}", err(&done));
    let changelog = copy.read("CHANGELOG.md");
    assert!(changelog.contains("\n## 27.8.9 (2027-01-31)\n") && !changelog.contains("Unreleased"), "{changelog}");
    for file in COPIED.into_iter().filter(|file| file.rsplit('.').next() == Some("md")) {
        let text = copy.read(file);
        assert!(!text.contains("released yet") && !text.contains(&format!("v{VERSION}")), "{file}");
    }
    // Cargo accepts what was written, with its lock file.
    let manifest: toml::Table = copy.read("Cargo.toml").parse().expect("TOML");
    assert_eq!(manifest["package"]["version"].as_str(), Some("27.8.9"));
    let lock: toml::Table = copy.read("Cargo.lock").parse().expect("TOML");
    let packages = lock["package"].as_array().expect("packages");
    let changed: Vec<_> = packages.iter().filter(|package| package["version"].as_str() == Some("27.8.9")).collect();
    assert!(changed.len() == 1 && changed[0]["name"].as_str() == Some("imagelint"), "{changed:?}");

    let before = copy.read("Cargo.toml");
    for wrong in [
        &["set", "v1.2.3"][..],
        &["set", "1.2"],
        &["set", "1.2.3", "--date", "tomorrow"],
        &["set", "1.2.3", "--date", "2027-02-01"],
        &["set"],
        &["release"],
        &["address", "https://example.test/x", "https://docs.test"],
    ] {
        let done = copy.version(wrong);
        assert!(code(&done) > 0 && !err(&done).contains("Traceback"), "{wrong:?}: {}", err(&done));
    }
    assert_eq!(copy.read("Cargo.toml"), before, "nothing is written on an error");
}

#[test]
fn one_command_sets_the_addresses_everywhere() {
    let copy = Copy::new();
    let done = copy.version(&["address", "https://github.com/some-body/imagelint", "https://docs.test/manual/"]);
    assert_eq!(code(&done), 0, "{}", err(&done));
    let done = copy.version(&[]);
    assert_eq!(code(&done), 0, "{}", err(&done));
    for file in COPIED {
        let text = copy.read(file);
        assert!(!text.contains(REPOSITORY) && !text.contains(env!("CARGO_PKG_HOMEPAGE")), "{file}");
    }
    assert!(copy.read("examples/ci/github.yml").contains("uses: some-body/imagelint@v"));
    assert!(copy.read("README.md").contains("ghcr.io/some-body/imagelint:"));
    assert!(copy.read("README.md").contains("https://docs.test/manual/rules/"));
    assert!(copy.read("docs/book.toml").contains("site-url = \"/manual/\""));
    let manifest: toml::Table = copy.read("Cargo.toml").parse().expect("TOML");
    assert_eq!(manifest["package"]["homepage"].as_str(), Some("https://docs.test/manual"));
    assert_eq!(manifest["package"]["repository"].as_str(), Some("https://github.com/some-body/imagelint"));
}

#[test]
fn what_users_copy_has_no_placeholders() {
    for file in COPIED {
        let text = own(file);
        for placeholder in ["OWNER", "COMMIT", "example.com", "imagelint.example"] {
            assert!(!text.contains(placeholder), "{file} contains {placeholder}");
        }
    }
    assert_eq!(imagelint::report::documentation_urls::DOCS_URL, env!("CARGO_PKG_HOMEPAGE"));
    for address in [REPOSITORY, env!("CARGO_PKG_HOMEPAGE")] {
        assert!(address.starts_with("https://") && !address.ends_with('/'), "{address}");
    }
}

#[test]
fn manifests_of_package_managers_have_the_checksums_of_the_release() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = TARGETS.map(archive);
    let lines: Vec<String> = names.iter().enumerate().map(|(at, name)| format!("{}  {name}", digest(at))).collect();
    let sums = lines.join("\n") + "\n";
    let write = |text: &str| {
        fs::write(folder.path().join("SHA256SUMS"), text).expect("checksums");
        let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/version"));
        command.args(["manifests", "SHA256SUMS", "out"]).current_dir(folder.path()).output().expect("python3")
    };
    let done = write(&sums);
    assert_eq!(code(&done), 0, "{}", err(&done));
    let read = |name: &str| fs::read_to_string(folder.path().join("out").join(name)).expect(name);
    let formula = read("imagelint.rb");
    for (at, name) in names.iter().enumerate().filter(|(_, name)| !name.contains("windows")) {
        let lines =
            format!("url \"{REPOSITORY}/releases/download/v{VERSION}/{name}\"\n      sha256 \"{}\"\n", digest(at));
        assert!(formula.contains(&lines), "{lines}: {formula}");
    }
    assert!(formula.contains(&format!("  version \"{VERSION}\"\n")) && !formula.contains('@'), "{formula}");
    for kind in ["", ".installer", ".locale.en-US"] {
        let text = read(&format!("imagelint.imagelint{kind}.yaml"));
        let manifest: Value = serde_saphyr::from_str(&text).expect("YAML");
        assert_eq!(manifest["PackageIdentifier"], "imagelint.imagelint");
        assert_eq!(manifest["PackageVersion"], VERSION);
        if kind == ".installer" {
            let installer = &manifest["Installers"][0];
            let windows = names.iter().position(|name| name.contains("windows")).expect("one for Windows");
            assert_eq!(installer["InstallerSha256"], digest(windows));
            assert_eq!(
                installer["InstallerUrl"],
                format!("{REPOSITORY}/releases/download/v{VERSION}/{}", names[windows])
            );
            let path = manifest["NestedInstallerFiles"][0]["RelativeFilePath"].as_str().expect("a path");
            assert_eq!(path, format!("{}\\imagelint.exe", names[windows].trim_end_matches(".zip")));
        }
    }
    // A release that lacks one has no manifest.
    let (_, others) = sums.split_once('\n').expect("several lines");
    let done = write(others);
    assert!(code(&done) == 1 && err(&done).contains(&format!("no checksum of {}", names[0])), "{}", err(&done));
}

fn digest(number: usize) -> String {
    format!("{number:064x}")
}

/// The archive of a target, as install.sh names it.
fn archive(target: &str) -> String {
    format!("imagelint-{target}.{}", if target.contains("windows") { "zip" } else { "tar.gz" })
}

#[test]
fn binstall_finds_the_archives_of_a_release() {
    let manifest: toml::Table = own("Cargo.toml").parse().expect("TOML");
    let binstall = &manifest["package"]["metadata"]["binstall"];
    for target in TARGETS {
        let other = binstall["overrides"].get(target);
        let field =
            |name: &str| other.and_then(|other| other.get(name)).unwrap_or(&binstall[name]).as_str().expect(name);
        let filled = |text: &str| {
            let values = [
                ("repo", REPOSITORY),
                ("version", VERSION),
                ("name", "imagelint"),
                ("target", target),
                ("bin", "imagelint"),
            ];
            values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{ {name} }}"), value))
        };
        let name = archive(target);
        assert_eq!(filled(field("pkg-url")), format!("{REPOSITORY}/releases/download/v{VERSION}/{name}"));
        assert_eq!(field("pkg-fmt"), if name.rsplit('.').next() == Some("zip") { "zip" } else { "tgz" });
        let folder = name.trim_end_matches(".zip").trim_end_matches(".tar.gz");
        assert_eq!(filled(field("bin-dir")), format!("{folder}/imagelint{{ binary-ext }}"));
    }
}

#[test]
fn archives_contain_what_the_package_managers_install() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    // A stand-in that writes what the program writes.
    let program = folder.path().join("imagelint");
    let text = "#!/bin/sh\ncase $1 in man) mkdir -p \"$2\" && echo page >\"$2/imagelint.1\" ;; completions) echo \"$2\" ;; esac\n";
    fs::write(&program, text).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    let pack = |out: &str| {
        let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/archive"));
        command.arg(&program).args([TARGETS[0]]).arg(folder.path().join(out)).env("SOURCE_DATE_EPOCH", "1");
        let done = command.output().expect("bash");
        assert_eq!((code(&done), out_line(&done)), (0, archive(TARGETS[0])), "{}", err(&done));
        fs::read(folder.path().join(out).join(archive(TARGETS[0]))).expect("an archive")
    };
    let first = pack("one");
    assert!(first == pack("two"), "the same content gives the same archive");
    let listed = Command::new("tar").arg("-tzf").arg(folder.path().join("one").join(archive(TARGETS[0]))).output();
    let listed = out(&listed.expect("tar"));
    for name in [
        "imagelint",
        "LICENSE",
        "README.md",
        "man/imagelint.1",
        "completions/imagelint",
        "completions/_imagelint",
        "completions/imagelint.fish",
    ] {
        assert!(listed.contains(&format!("imagelint-{}/{name}\n", TARGETS[0])), "{name}: {listed}");
    }
}

fn out_line(done: &Output) -> String {
    out(done).trim_end().to_owned()
}

#[test]
fn the_source_digest_depends_on_what_the_program_is_built_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect(name);
    };
    file("packaging/source-digest", &own("packaging/source-digest"));
    let names = ["Cargo.toml", "Cargo.lock", "src/main.rs", "src/a b.rs", "rules/one.md", "README.md"];
    for name in names {
        file(name, name);
    }
    let digest = || {
        let done = Command::new("bash").arg(folder.path().join("packaging/source-digest")).output().expect("bash");
        assert_eq!(code(&done), 0, "{}", err(&done));
        out_line(&done)
    };
    let first = digest();
    assert!(first.len() == 64 && first.bytes().all(|byte| byte.is_ascii_hexdigit()), "{first}");
    for name in names {
        file(name, "changed");
        assert_eq!(digest() == first, name == "README.md", "{name}");
        file(name, name);
    }
    fs::rename(folder.path().join("src/main.rs"), folder.path().join("src/other.rs")).expect("another name");
    assert_ne!(digest(), first);
}

#[test]
fn the_release_workflow_builds_every_archive_with_pinned_actions_and_few_rights() {
    let workflow = own_yaml(".github/workflows/release.yml");
    let text = own(".github/workflows/release.yml");
    let jobs = workflow["jobs"].as_object().expect("jobs");
    let mut targets: Vec<&str> = Vec::new();
    for (name, job) in jobs {
        let matrix = job["strategy"]["matrix"]["include"].as_array();
        targets.extend(matrix.into_iter().flatten().filter_map(|row| row["target"].as_str()));
        assert!(job["timeout-minutes"].is_u64(), "{name} may run for hours");
        for step in job["steps"].as_array().expect("steps") {
            if let Some(run) = step["run"].as_str() {
                assert!(!run.contains("${{"), "{name}: an expression in a script: {run}");
                let done = Command::new("bash").args(["-n", "-c", run]).output().expect("bash");
                assert!(done.status.success(), "{name}: {run}: {}", err(&done));
            } else {
                let uses = step["uses"].as_str().expect("an action");
                let pin = uses.split_once('@').expect("a version").1;
                assert!(pin.len() == 40 && pin.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}: {uses}");
                let line = text.lines().find(|line| line.contains(uses)).expect("a line");
                assert!(line.contains(" # v"), "{uses} lacks its version");
                if uses.starts_with("actions/checkout@") {
                    assert_eq!(step["with"]["persist-credentials"], false, "{name}");
                }
            }
        }
    }
    targets.sort_unstable();
    let mut expected = TARGETS.to_vec();
    expected.sort_unstable();
    assert_eq!(targets, expected);
    assert_eq!(workflow["permissions"], serde_json::json!({"contents": "read"}));
    let writers: Vec<&str> = jobs
        .iter()
        .filter(|(_, job)| job["permissions"]["contents"] == "write")
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(writers, ["publish"]);
    // What the script verifies is what the workflow signs.
    let script = own("install.sh");
    for name in ["SHA256SUMS.sigstore.json", "source-digest.txt"] {
        assert!(text.contains(name) && script.contains(name), "{name}");
    }
    assert!(script.contains("/.github/workflows/release.yml") && script.contains("@refs/tags/v$version"));
}

/// A script of the workflow.
fn script(job: &str, name: &str) -> String {
    let steps = own_yaml(".github/workflows/release.yml")["jobs"][job]["steps"].clone();
    let found =
        steps.as_array().expect("steps").iter().find(|step| step["name"] == name).map(|step| step["run"].clone());
    found.unwrap_or_else(|| panic!("{job} has no step {name}")).as_str().expect("a script").to_owned()
}

#[test]
fn the_checksums_of_a_release_cover_all_its_files() {
    let script = script("publish", "Write the checksums, the Homebrew formula and the winget manifest");
    let copy = Copy::new();
    for folder in ["src", "dist"] {
        fs::create_dir(copy.path(folder)).expect(folder);
    }
    fs::write(copy.path("src/main.rs"), "fn main() {}\n").expect("a source");
    let done = Command::new(copy.path("packaging/source-digest")).output().expect("bash");
    fs::write(copy.path("dist/source-digest.txt"), &done.stdout).expect("a digest");
    for target in TARGETS {
        fs::write(copy.path("dist").join(archive(target)), target).expect(target);
    }
    let run = || {
        let mut command = Command::new("bash");
        let done = command.args(["-euo", "pipefail", "-c", &script]).current_dir(copy.path("")).output();
        done.expect("bash")
    };
    let done = run();
    assert_eq!(code(&done), 0, "{}", err(&done));
    let check = Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(copy.path("dist")).output();
    let check = check.expect("sha256sum");
    assert_eq!(code(&check), 0, "{}", err(&check));
    let mut sound: Vec<String> = out(&check).lines().map(|line| line.trim_end_matches(": OK").to_owned()).collect();
    sound.push("SHA256SUMS".to_owned());
    sound.sort();
    let files = fs::read_dir(copy.path("dist")).expect("a folder");
    let mut files: Vec<String> =
        files.map(|file| file.expect("one").file_name().into_string().expect("UTF-8")).collect();
    files.sort();
    assert_eq!(sound, files);
    for name in ["install.sh", "imagelint.rb", "imagelint.imagelint.installer.yaml", "source-digest.txt"] {
        assert!(files.iter().any(|file| file == name), "{name}: {files:?}");
    }
    // A program of another source is not released.
    fs::write(copy.path("src/main.rs"), "fn main() { }\n").expect("a source");
    assert_ne!(code(&run()), 0);
}

/// What the workflow refuses to release.
#[test]
fn a_tag_of_another_version_or_repository_is_not_released() {
    let script = script("check", "All places have one version and one address");
    let (server, slug) =
        REPOSITORY.rsplit_once("/imagelint").map_or(("", ""), |(start, _)| start.rsplit_once('/').expect("an owner"));
    let slug = format!("{slug}/imagelint");
    let run = |copy: &Copy, kind: &str, name: &str, repository: &str| {
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", &script]).current_dir(copy.path(""));
        command.envs([("GITHUB_REF_TYPE", kind), ("GITHUB_REF_NAME", name), ("GITHUB_REPOSITORY", repository)]);
        let done = command.env("SERVER", server).output().expect("bash");
        (code(&done), out(&done) + &err(&done))
    };
    let copy = Copy::new();
    let tag = format!("v{VERSION}");
    assert_eq!(run(&copy, "branch", "main", &slug), (0, String::new()));
    for (name, repository, text) in [
        (tag.as_str(), slug.as_str(), "CHANGELOG.md has no heading"),
        ("v7.7.7", &slug, "the tag is v7.7.7"),
        (&tag, "somebody/imagelint", "run packaging/version address"),
    ] {
        let (code, said) = run(&copy, "tag", name, repository);
        assert!(code == 1 && said.contains(text), "{name} {repository}: {said}");
    }
    assert_eq!(code(&copy.version(&["set", VERSION, "--date", "2027-01-31"])), 0);
    assert_eq!(run(&copy, "tag", &tag, &slug), (0, String::new()));
    copy.replace("install.sh", &format!(":-{VERSION}"), ":-7.7.7");
    let (code, said) = run(&copy, "tag", &tag, &slug);
    assert!(code == 1 && said.contains("install.sh: "), "{said}");
}
