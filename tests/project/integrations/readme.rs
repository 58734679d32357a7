//! The README shows what the program prints, and its commands run.
//!
//! `IMAGELINT_WRITE=1 cargo test --test project readme` writes the outputs and files that it shows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::integrations::own;
use crate::integrations::test_repository::TestRepository;
use crate::support::program::imagelint_program;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A fenced code block with the line before it.
struct Block {
    before: String,
    language: String,
    text: String,
}

fn blocks(document: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut before = String::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let text =
                lines.by_ref().take_while(|line| *line != "```").fold(String::new(), |text, line| text + line + "\n");
            found.push(Block { before: before.clone(), language: language.to_owned(), text });
        }
        line.clone_into(&mut before);
    }
    found
}

/// The standard output of a command of the README, without color, for a terminal of 80 columns.
fn printed(arguments: &str, folder: &Path) -> String {
    let done = Command::new(imagelint_program())
        .args(arguments.split(' '))
        .current_dir(folder)
        .env_remove("IMAGELINT_FLEET")
        .env("NO_COLOR", "1")
        .env("COLUMNS", "80")
        .output()
        .expect("a run");
    assert!(matches!(done.status.code(), Some(0 | 1)), "{arguments}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("UTF-8")
}

/// What a block has to show: the file that the line before it names, or what its command prints.
fn expected_content(block: &Block) -> Option<String> {
    let file = block.before.strip_prefix("<!-- file: ").and_then(|rest| rest.strip_suffix(" -->"));
    if let Some(file) = file {
        return Some(own(file));
    }
    let command = block.text.lines().next()?.strip_prefix("$ imagelint ").filter(|_| block.language == "console")?;
    Some(format!("$ imagelint {command}\n{}", printed(command, &root())))
}

#[test]
fn readme_matches_the_program_output() {
    let readme = own("README.md");
    let mut renewed = readme.clone();
    let (mut files, mut outputs) = (0, 0);
    for block in blocks(&readme) {
        let Some(wanted) = expected_content(&block) else { continue };
        let count = if block.language == "console" { &mut outputs } else { &mut files };
        *count += 1;
        let (head, end) = (format!("{}\n```{}\n", block.before, block.language), "```\n");
        renewed = renewed.replacen(&format!("{head}{}{end}", block.text), &format!("{head}{wanted}{end}"), 1);
    }
    assert!(files >= 2 && outputs >= 2, "{files} files and {outputs} outputs are shown");
    if std::env::var_os("IMAGELINT_WRITE").is_some() {
        fs::write(root().join("README.md"), &renewed).expect("README.md");
        return;
    }
    let differs = readme.lines().zip(renewed.lines()).find(|(shown, real)| shown != real);
    assert!(readme == renewed, "shown and printed: {differs:?}; IMAGELINT_WRITE=1 cargo test --test project readme");
}

/// Commands that need a registry or a cluster.
fn is_online(line: &str) -> bool {
    line.starts_with("imagelint scan ") || line.starts_with("kubectl get pods")
}

#[test]
fn the_commands_of_the_readme_run() {
    let readme = own("README.md");
    let repository = TestRepository::empty();
    for file in ["Dockerfile", "serve.py"] {
        repository.file(file, &own(&format!("examples/quickstart/{file}")));
    }
    repository.file("bin/kubectl", &format!("#!/bin/sh\ncat '{}/tests/fixtures/nodes/nodes.json'\n", root().display()));
    // No nvidia-smi: the fleet file is the one with examples.
    let program = imagelint_program();
    let folder = program.parent().expect("a folder");
    let path = format!("{}:{}:/usr/bin:/bin", repository.path("bin").display(), folder.display());
    let lines = blocks(&readme).into_iter().filter(|block| block.language == "sh");
    let lines: Vec<String> =
        lines.flat_map(|block| block.text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let mut run = 0;
    for line in lines.iter().filter(|line| line.contains("imagelint ") && !is_online(line)) {
        let done = Command::new("sh")
            .args(["-c", &format!("chmod +x bin/kubectl; {line}")])
            .current_dir(repository.path(""))
            .env("PATH", &path)
            .env_remove("IMAGELINT_FLEET")
            .output()
            .expect("a shell");
        let code = done.status.code();
        assert!(matches!(code, Some(0 | 1)), "{line}: {code:?} {}", String::from_utf8_lossy(&done.stderr));
        run += 1;
    }
    assert!(run >= 8, "{run} commands run");
}

#[test]
fn the_fleet_files_of_the_readme_load() {
    let readme = own("README.md");
    let mut loaded = 0;
    for block in blocks(&readme).iter().filter(|block| block.language == "toml" && block.text.contains("[[pool]]")) {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", &block.text);
        printed("fleet show", &repository.path(""));
        loaded += 1;
    }
    assert_eq!(loaded, 2);
}

#[test]
fn the_test_command_of_the_readme_is_the_one_of_the_checks() {
    let readme = own("README.md");
    let command = "tests/install-tools && cargo test --locked";
    assert!(readme.contains(&format!("```sh\n{command}\n```")), "README.md has no {command}");
    assert!(own(".ci/run").contains(&format!("\n{command}\n")), ".ci/run does not run {command}");
    assert!(root().join("tests/install-tools").is_file());
}

#[test]
fn demo_pictures_match_the_program_output() {
    let done = Command::new("python3")
        .args(["docs/demo", "--check", imagelint_program().to_str().expect("UTF-8")])
        .current_dir(root())
        .output()
        .expect("python3");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn links_of_the_readme_lead_to_files_and_headings() {
    let readme = own("README.md");
    let anchor = |heading: &str| {
        let plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, ' ' | '-');
        heading.to_ascii_lowercase().chars().filter(plain).collect::<String>().replace(' ', "-")
    };
    let headings: Vec<String> = readme.lines().filter_map(|line| line.strip_prefix("## ")).map(anchor).collect();
    let links: Vec<&str> = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let sources = readme.split("src").skip(1).filter_map(|rest| rest.split('"').nth(1));
    for link in links.into_iter().chain(sources.filter(|source| source.starts_with("docs/"))) {
        match link.strip_prefix('#') {
            Some(name) => assert!(headings.iter().any(|heading| heading == name), "no heading for #{name}"),
            None => assert!(link.starts_with("https://") || root().join(link).exists(), "no file for {link}"),
        }
    }
}
