//! `install.sh`, with a release that is served on this machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::integrations::release::Release;
use crate::integrations::test_repository::{code, err};

/// What the script needs in each case, next to one tool to download and one for checksums.
const TOOLS: [&str; 14] =
    ["sh", "uname", "mktemp", "awk", "cut", "gzip", "tar", "cat", "rm", "mkdir", "cp", "mv", "chmod", "grep"];

/// A computer with a few tools, and nothing else on its path.
struct Computer {
    home: TempDir,
    release: Release,
}

impl Computer {
    fn new() -> Self {
        let computer = Self { home: tempfile::tempdir().expect("a folder"), release: Release::new("0123") };
        fs::create_dir(computer.path("tools")).expect("a folder");
        for tool in TOOLS.into_iter().chain(["curl", "sha256sum"]) {
            computer.link(tool);
        }
        computer
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Makes a tool of this system available.
    fn link(&self, tool: &str) {
        let path = std::env::var_os("PATH").expect("a path");
        let mut real = std::env::split_paths(&path).map(|folder| folder.join(tool));
        let real = real.find(|path| path.is_file()).unwrap_or_else(|| panic!("no {tool} here"));
        std::os::unix::fs::symlink(real, self.path("tools").join(tool)).expect(tool);
    }

    fn remove(&self, tool: &str) {
        fs::remove_file(self.path("tools").join(tool)).expect(tool);
    }

    /// Replaces a tool by a script.
    fn script(&self, tool: &str, text: &str) {
        let path = self.path("tools").join(tool);
        let _ = fs::remove_file(&path);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect(tool);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect(tool);
    }

    fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh");
        let mut command = Command::new("/bin/sh");
        command.arg(script).args(arguments).current_dir(self.home.path()).env_clear();
        command.env("PATH", self.path("tools")).env("HOME", self.home.path()).env("TMPDIR", self.home.path());
        command.env("IMAGELINT_DOWNLOAD_URL", self.release.address()).envs(environment.iter().copied());
        command.output().expect("sh")
    }

    fn run(&self) -> Output {
        self.run_with(&[], &[])
    }

    fn installed(&self) -> PathBuf {
        self.path(".local/bin/imagelint")
    }

    /// The installation fails with this exit code and text, and leaves nothing behind.
    fn refuses(&self, done: &Output, exit: i32, text: &str) {
        let said = err(done);
        assert!(code(done) == exit && said.contains(text), "{} for {exit}, {text}: {said}", code(done));
        assert!(said.lines().last().expect("a message").starts_with("imagelint install: error: "), "{said}");
        assert!(!self.installed().exists(), "{text}: it is installed");
        self.is_clean();
    }

    /// No temporary folder stays.
    fn is_clean(&self) {
        let left = fs::read_dir(self.home.path()).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("tmp")).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// The archive of this system.
fn archive() -> String {
    format!("imagelint-{}-unknown-linux-musl.tar.gz", std::env::consts::ARCH)
}

#[test]
fn the_program_is_installed_and_starts() {
    let computer = Computer::new();
    let done = computer.run();
    assert_eq!(code(&done), 0, "{}", err(&done));
    let said = err(&done);
    let place = computer.installed();
    assert!(said.contains(&format!("installed imagelint 0.1.0 (stand-in) as {}\n", place.display())), "{said}");
    assert!(said.contains("add it to your PATH: export PATH="), "{said}");
    assert!(said.contains("the signature was not checked, because cosign is not installed"), "{said}");
    let ran = Command::new(&place).arg("check").output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "ran: check\n");
    computer.is_clean();

    // Another time: the program is replaced, and a folder on the PATH needs no advice.
    let tools = computer.path("tools").display().to_string();
    for arguments in [&["--to", tools.as_str()][..], &["--to", "tools"]] {
        let done = computer.run_with(arguments, &[]);
        assert_eq!(code(&done), 0, "{}", err(&done));
        assert!(!err(&done).contains("PATH"), "{}", err(&done));
        assert!(computer.path("tools/imagelint").is_file());
    }
    let done = computer.run_with(&[], &[("IMAGELINT_INSTALL_DIR", "a b/c")]);
    assert_eq!(code(&done), 0, "{}", err(&done));
    assert!(computer.path("a b/c/imagelint").is_file());
}

#[test]
fn other_tools_do_as_well() {
    let computer = Computer::new();
    computer.remove("curl");
    computer.remove("sha256sum");
    computer.link("wget");
    computer.link("openssl");
    let done = computer.run();
    assert_eq!(code(&done), 0, "{}", err(&done));
    assert!(computer.installed().is_file());
    fs::write(computer.release.path(&archive()), "damaged").expect("an archive");
    assert_eq!(code(&computer.run()), 1, "openssl computes a checksum that is compared");
}

#[test]
fn a_damaged_or_replaced_download_is_refused() {
    let computer = Computer::new();
    let path = computer.release.path(&archive());
    let sound = fs::read(&path).expect("an archive");
    fs::write(&path, &sound[..sound.len() / 2]).expect("half of it");
    computer.refuses(&computer.run(), 1, &format!("{} is damaged: its SHA-256 is ", archive()));
    fs::write(&path, [&sound[..], b"more"].concat()).expect("more than it");
    computer.refuses(&computer.run(), 1, "is damaged");
    fs::write(&path, "").expect("nothing");
    computer.refuses(&computer.run(), 1, "is damaged");
    fs::remove_file(&path).expect("gone");
    computer.refuses(&computer.run(), 1, "cannot download");

    // Sound by its checksum, and not what it should be.
    fs::write(&path, "no archive").expect("another file");
    computer.release.sum();
    computer.refuses(&computer.run(), 1, "cannot unpack");
    computer.release.pack("other", "");
    fs::rename(computer.release.path("imagelint-other.tar.gz"), &path).expect("another archive");
    computer.release.sum();
    computer.refuses(&computer.run(), 1, "has no imagelint; nothing was installed");
    let target = archive().trim_start_matches("imagelint-").trim_end_matches(".tar.gz").to_owned();
    computer.release.pack(&target, "#!/bin/sh\necho 'cannot execute' >&2; exit 126\n");
    computer.release.sum();
    computer.refuses(&computer.run(), 1, "the program does not start on this system: cannot execute");

    fs::write(&path, &sound).expect("an archive");
    computer.release.sum();
    computer.refuses(
        &computer.run_with(&[], &[("IMAGELINT_SHA256", &"0".repeat(64))]),
        1,
        "does not have the checksum of IMAGELINT_SHA256",
    );
    fs::write(computer.release.path("SHA256SUMS"), "").expect("no checksums");
    computer.refuses(&computer.run(), 3, "has no program for");
    fs::remove_file(computer.release.path("SHA256SUMS")).expect("gone");
    computer.refuses(&computer.run(), 1, "SHA256SUMS; check the version, the address and the network");
}

#[test]
fn missing_tools_and_unsupported_systems_are_named() {
    for (tool, text) in [
        ("curl", "neither curl nor wget found; install one of them and try again"),
        ("sha256sum", "none of sha256sum, shasum and openssl found"),
        ("tar", "tar not found; install tar and try again"),
        ("mktemp", "mktemp not found; install mktemp"),
    ] {
        let computer = Computer::new();
        computer.remove(tool);
        computer.refuses(&computer.run(), 1, text);
    }
    let computer = Computer::new();
    for (system, machine, text) in [
        ("Linux", "riscv64", "no program for the CPU architecture riscv64; build from source: cargo install"),
        ("FreeBSD", "amd64", "no program for the operating system FreeBSD; build from source: cargo install"),
        ("MINGW64_NT-10.0", "aarch64", "has no program for aarch64-pc-windows-msvc"),
    ] {
        computer.script("uname", &format!("case $1 in -s) echo {system} ;; *) echo {machine} ;; esac"));
        computer.refuses(&computer.run(), 3, text);
    }
    // Each system gets its own archive.
    for (system, machine, wanted) in [
        ("Linux", "amd64", "x86_64-unknown-linux-musl.tar.gz"),
        ("Linux", "arm64", "aarch64-unknown-linux-musl.tar.gz"),
        ("Darwin", "x86_64", "x86_64-apple-darwin.tar.gz"),
        ("Darwin", "arm64", "aarch64-apple-darwin.tar.gz"),
        ("MSYS_NT-10.0", "x86_64", "x86_64-pc-windows-msvc.zip"),
    ] {
        computer.script("uname", &format!("case $1 in -s) echo {system} ;; *) echo {machine} ;; esac"));
        fs::write(computer.release.path(&format!("imagelint-{wanted}")), "damaged").expect(wanted);
        computer.refuses(&computer.run(), 1, &format!("imagelint-{wanted} is damaged"));
    }
}

#[test]
fn signatures_and_attestations_are_checked_if_their_tools_are_there() {
    let computer = Computer::new();
    computer.script("cosign", "echo \"$*\" >\"$HOME/cosign.log\"; echo 'no matching identity' >&2; exit 1");
    computer.refuses(&computer.run(), 1, "the signature of the checksums is not valid; nothing was installed");
    assert!(err(&computer.run()).contains("no matching identity"));
    let asked = fs::read_to_string(computer.path("cosign.log")).expect("a call");
    let repository = env!("CARGO_PKG_REPOSITORY");
    let version = env!("CARGO_PKG_VERSION");
    for text in [
        "verify-blob --new-bundle-format --bundle ",
        &format!("--certificate-identity {repository}/.github/workflows/release.yml@refs/tags/v{version} "),
        "--certificate-oidc-issuer https://token.actions.githubusercontent.com ",
    ] {
        assert!(asked.contains(text), "{text}: {asked}");
    }
    assert!(asked.trim_end().ends_with("/SHA256SUMS"), "{asked}");

    computer.script("cosign", "exit 0");
    computer.script("gh", "echo \"$*\" >\"$HOME/gh.log\"; exit 1");
    let done = computer.run();
    assert_eq!(code(&done), 0, "gh without a token is not asked: {}", err(&done));
    assert!(err(&done).contains("verified: checksum, signature\n"), "{}", err(&done));
    fs::remove_file(computer.installed()).expect("the program");
    computer.refuses(&computer.run_with(&[], &[("GH_TOKEN", "secret")]), 1, "has no valid attestation");
    let asked = fs::read_to_string(computer.path("gh.log")).expect("a call");
    let slug = repository.trim_start_matches("https://github.com/");
    let end = format!("/{} --repo {slug} --signer-workflow {slug}/.github/workflows/release.yml\n", archive());
    assert!(asked.starts_with("attestation verify ") && asked.ends_with(&end), "{asked}");
    computer.script("gh", "exit 0");
    let done = computer.run_with(&[], &[("GH_TOKEN", "secret")]);
    assert!(code(&done) == 0 && err(&done).contains("verified: checksum, signature, attestation\n"), "{}", err(&done));

    fs::remove_file(computer.installed()).expect("the program");
    fs::remove_file(computer.release.path("SHA256SUMS.sigstore.json")).expect("the signature");
    computer.refuses(&computer.run(), 1, "cannot download the signature");
}

#[test]
fn only_a_program_of_the_wanted_source_is_installed() {
    let computer = Computer::new();
    computer.refuses(&computer.run_with(&["--source-digest", "4567"], &[]), 3, "was built from another source");
    fs::write(computer.release.path("source-digest.txt"), "4567\n").expect("a digest");
    computer.refuses(&computer.run_with(&["--source-digest", "4567"], &[]), 1, "source-digest.txt is damaged");
    computer.release.sum();
    let done = computer.run_with(&["--source-digest", "4567"], &[]);
    assert_eq!(code(&done), 0, "{}", err(&done));
}

#[test]
fn wrong_usage_and_folders_are_explained() {
    let computer = Computer::new();
    computer.refuses(
        &computer.run_with(&["--too", "x"], &[]),
        2,
        "unknown option --too; use: install.sh [--to FOLDER]",
    );
    computer.refuses(&computer.run_with(&["--to"], &[]), 2, "--to needs a value");
    for address in ["http://mirror.test/x", "ftp://127.0.0.1/", "http://127.0.0.1:1@mirror.test/"] {
        let done = computer.run_with(&[], &[("IMAGELINT_DOWNLOAD_URL", address)]);
        computer.refuses(&done, 2, "IMAGELINT_DOWNLOAD_URL must ");
    }
    fs::write(computer.path("file"), "").expect("a file");
    computer.refuses(&computer.run_with(&["--to", "file"], &[]), 1, "choose another folder with --to");
    computer.refuses(&computer.run_with(&[], &[("HOME", "")]), 2, "HOME is not set; choose a folder with --to");
    // Half of the script does nothing.
    let script = crate::integrations::own("install.sh");
    let (half, _) = script.trim_end().rsplit_once('\n').expect("several lines");
    let done = Command::new("/bin/sh").arg("-c").arg(half).env("HOME", computer.home.path()).output().expect("sh");
    assert!(done.status.success() && done.stderr.is_empty() && !computer.installed().exists(), "{done:?}");
}
