//! What the README shows of the program is what the program prints.

use std::path::Path;

use assert_cmd::Command;

use crate::own;
use crate::place::Place;

/// The pools that the README describes beside its first output.
const POOLS: [(&str, &str, &str); 3] = [
    ("docker-gpus", "docker-gpus", "1.14.3"),
    ("docker-cdi", "docker-cdi", "1.17.4"),
    ("nvidia-runtime", "nvidia-runtime", "1.18.2"),
];

/// The lines of a block of the README behind its first, which is this one.
fn block(first: &str) -> Vec<String> {
    let readme = own("README.md");
    let mut lines = readme.lines().skip_while(|line| *line != first).skip(1);
    let block: Vec<String> = lines.by_ref().take_while(|line| *line != "```").map(str::to_owned).collect();
    assert!(!block.is_empty(), "README.md has no block that begins with {first}");
    block
}

/// The lines that are not printed, in the order of the block. What stands in brackets tells that something is left out, and
/// three dots that a line is shortened.
fn astray<'a>(block: &'a [String], printed: &str) -> Vec<&'a str> {
    let mut rest = printed.lines();
    let shown = block.iter().filter(|line| !line.starts_with("[..."));
    shown.filter(|line| !rest.any(|real| is_shortened(line, real))).map(String::as_str).collect()
}

/// Whether a line is another one, or that with something left out at its dots.
fn is_shortened(line: &str, real: &str) -> bool {
    let mut parts = line.split(" ...");
    let Some(mut rest) = parts.next().and_then(|first| real.strip_prefix(first)) else { return false };
    let mut cut = false;
    for part in parts {
        cut = true;
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || (cut && line.ends_with(" ..."))
}

fn printed(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::cargo_bin("imagelint").expect("the program");
    let done = command.args(arguments).current_dir(folder).env_remove("IMAGELINT_FLEET").output().expect("a run");
    String::from_utf8(done.stdout).expect("UTF-8")
}

#[test]
fn the_first_output_is_what_is_printed() {
    let place = Place::bare();
    let dockerfile = block("```dockerfile");
    place.file("Dockerfile", &format!("{}\n", dockerfile.join("\n")));
    let pool = |(name, launch, toolkit)| {
        let host = "gpu = \"NVIDIA A100-PCIE-40GB\"\ndriver = \"460.32.03\"\n";
        format!("[[pool]]\nname = \"{name}\"\n{host}launch = \"{launch}\"\ntoolkit = \"{toolkit}\"\n\n")
    };
    place.file("fleet.toml", &POOLS.map(pool).concat());
    let block = block("$ imagelint check --color never .");
    let printed = printed(&place.path(""), &["check", "--color", "never", "."]);
    assert_eq!(astray(&block, &printed), [""; 0], "{printed}");
}

#[test]
fn the_outputs_on_the_example_are_what_is_printed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/a100-torch-1.12");
    for arguments in ["check --diff Dockerfile", "needs Dockerfile.cure"] {
        let block = block(&format!("$ imagelint {arguments}"));
        let printed = printed(&folder, &arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(astray(&block, &printed), [""; 0], "{arguments}: {printed}");
    }
}

#[test]
fn a_line_that_is_not_printed_is_found() {
    let block: Vec<String> = ["a", "[... left out]", "b: x, ... [y]", "c"].map(str::to_owned).to_vec();
    assert_eq!(astray(&block, "a\nd\nb: x, 1, 2 [y]\nc\n"), [""; 0]);
    assert_eq!(astray(&block, "a\nb: x, 1, 2 [z]\nc\n"), ["b: x, ... [y]", "c"]);
    assert_eq!(astray(&block, "b: x, 1 [y]\nc\na\n"), ["b: x, ... [y]", "c"]);
}

/// The name by which a page is scrolled to a heading.
fn anchor(heading: &str) -> String {
    let plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, ' ' | '-');
    heading.to_ascii_lowercase().chars().filter(plain).collect::<String>().replace(' ', "-")
}

#[test]
fn the_list_of_contents_leads_to_every_heading_in_their_order() {
    let readme = own("README.md");
    let mut in_block = false;
    let mut headings = Vec::new();
    for line in readme.lines() {
        in_block ^= line.starts_with("```");
        headings.extend(line.strip_prefix("## ").filter(|_| !in_block).map(anchor));
    }
    let list = readme.split("\n\n").find(|part| part.starts_with("Contents: ")).expect("a list of contents");
    let links: Vec<&str> = list.split("(#").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert_eq!(links, headings);
    assert!(links.len() > 10, "{links:?}");
}
