//! Packages from the history of an image configuration: the commands of its steps, read like those of a Dockerfile.

use crate::dockerfile::{MappedText, VariableLookup};
use crate::extract::package_observation::{observe_package, remove_packages};
use crate::install::{CommandContext, MarkerEnvironment, TargetMachine};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{Observations, Origin};
use crate::registry::PulledImage;
use crate::{install, shell};

/// Marker of history steps that ran no command.
pub(super) const NOP_MARKER: &str = "#(nop)";
/// Comment that `BuildKit` appends to a history step.
pub(super) const BUILDKIT_SUFFIX: &str = "# buildkit";

/// Reads the wanted history steps, adding and removing packages in `seen`.
pub(super) fn read_history_installs(
    image: &PulledImage,
    seen: &mut Observations,
    knowledge: Knowledge,
    wanted: impl Fn(usize) -> bool,
) {
    let machine = if image.config.platform.to_string().contains("arm64") { "aarch64" } else { "x86_64" };
    for (number, step) in image.config.history.iter().enumerate().filter(|(step, _)| wanted(*step)) {
        let Some(text) = shell_text(&step.created_by) else { continue };
        for command in shell::script_commands(&MappedText::contiguous(text, 0)) {
            let value = |name: &str| image.config.variable(name).map(str::to_owned);
            let lookup = |name: &str| {
                value(name).map_or(VariableLookup::NoValue, |value| VariableLookup::Known(value, Vec::new()))
            };
            let open = |_: &str, _: &str| Err(Cause::LayersNotRead);
            let environment = MarkerEnvironment { machine: TargetMachine::new(machine), python: None };
            let found = install::read_installs_in_context(
                &command,
                CommandContext { lookup: &lookup, open: &open, environment, knowledge },
            );
            seen.commands += 1;
            remove_packages(seen, &found);
            for install in &found.packages {
                let field = format!("history[{number}]");
                let origin = Origin::Config { digest: image.config_digest.clone(), field };
                let package = observe_package(&mut seen.facts, install, vec![origin], seen.commands, knowledge);
                seen.packages.push(package);
            }
        }
    }
}

/// Returns the script that a history step ran in a shell: `/bin/sh -c TEXT`, without the additions of builders.
pub(super) fn shell_text(created_by: &str) -> Option<&str> {
    if created_by.contains(NOP_MARKER) {
        return None;
    }
    let text = created_by.trim().trim_end_matches(BUILDKIT_SUFFIX).trim_end();
    let text = text.strip_prefix("RUN ").unwrap_or(text);
    // Build arguments come first: `|2 A=1 B=2 /bin/sh -c TEXT`.
    let (before, after) = text.split_once(" -c ")?;
    let shell = before.split_whitespace().any(|word| word.starts_with('/') && word.ends_with("sh"));
    shell.then_some(after.trim_start())
}

#[cfg(test)]
mod tests {
    use super::shell_text;

    #[test]
    fn only_what_a_shell_ran_is_read() {
        for (created_by, expected) in [
            ("/bin/sh -c pip install torch==2.4.1", Some("pip install torch==2.4.1")),
            ("RUN /bin/sh -c pip install x # buildkit", Some("pip install x")),
            ("RUN |2 A=1 B=2 /bin/bash -o pipefail -c make # buildkit", Some("make")),
            ("|1 A=b /bin/sh -c true", Some("true")),
            ("/bin/sh -c #(nop)  ENV A=b", None),
            ("/bin/sh -c #(nop) COPY file:x in /", None),
            ("COPY requirements.txt . # buildkit", None),
            ("ENV A=-c b", None),
            ("bazel build -c opt //x", None),
            ("", None),
        ] {
            assert_eq!(shell_text(created_by), expected, "{created_by}");
        }
    }
}
