//! What the history of an image's configuration says: the commands that made its layers, read as a Dockerfile's are.

use crate::dockerfile::Lookup;
use crate::dockerfile::Mapped;
use crate::extract::packaged::packaged;
use crate::extract::packaged::take_away;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::install;
use crate::install::Around;
use crate::install::Environment;
use crate::install::Machine;
use crate::knowledge::Knowledge;
use crate::oci::PulledImage;
use crate::shell;

/// Marks of steps that ran nothing.
pub(super) const NOTHING_RAN: &str = "#(nop)";
/// What `BuildKit` writes behind a step.
pub(super) const BUILDKIT: &str = "# buildkit";

/// Reads the steps that are wanted: packages come and go in `seen`.
pub(super) fn installs(
    image: &PulledImage,
    seen: &mut Observations,
    knowledge: Knowledge,
    wanted: impl Fn(usize) -> bool,
) {
    let machine = if image.config.platform.to_string().contains("arm64") { "aarch64" } else { "x86_64" };
    for (number, step) in image.config.history.iter().enumerate().filter(|(step, _)| wanted(*step)) {
        let Some(text) = shell_text(&step.created_by) else { continue };
        for command in shell::script_commands(&Mapped::whole(text, 0)) {
            let value = |name: &str| image.config.variable(name).map(str::to_owned);
            let lookup = |name: &str| value(name).map_or(Lookup::NoValue, |value| Lookup::Known(value, Vec::new()));
            let open = |_: &str, _: &str| Err("layers were not read".to_owned());
            let environment = Environment { machine: Machine::new(machine), python: None };
            let found =
                install::installs_with(&command, Around { lookup: &lookup, open: &open, environment, knowledge });
            seen.commands += 1;
            take_away(seen, &found);
            for install in &found.packages {
                let field = format!("history[{number}]");
                let origin = Origin::Config { digest: image.config_digest.clone(), field };
                let package = packaged(&mut seen.facts, install, vec![origin], seen.commands, knowledge);
                seen.packages.push(package);
            }
        }
    }
}

/// The text that a shell ran: `/bin/sh -c TEXT`, with or without the words that builders put around it.
pub(super) fn shell_text(created_by: &str) -> Option<&str> {
    if created_by.contains(NOTHING_RAN) {
        return None;
    }
    let text = created_by.trim().trim_end_matches(BUILDKIT).trim_end();
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
