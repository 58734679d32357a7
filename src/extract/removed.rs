//! What commands take away from the base image: compat packages, their directories, and files for `ldconfig`.

use crate::dockerfile::Evaluated;
use crate::dockerfile::RunInstruction;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::REMOVED;
use crate::fact::State;
use crate::shell;
use crate::shell::Command;
use crate::source::SourceId;
use crate::source::Span;

/// Package managers of systems.
const MANAGERS: &[&str] = &["apt", "apt-get", "aptitude", "dnf", "dpkg", "microdnf", "rpm", "tdnf", "yum", "zypper"];
/// What makes them remove.
const REMOVES: &[&str] = &["-P", "-e", "-r", "--purge", "--remove", "autoremove", "erase", "purge", "remove", "rm"];
/// The compat packages begin so.
const PACKAGE: &str = "cuda-compat";
/// And the directories of toolkits so.
const DIRECTORY: &str = "/usr/local/cuda";
/// Where the files for `ldconfig` lie.
const LD_CONF: &str = "/etc/ld.so.conf.d";

/// Notes what the commands of a target remove; packages that were installed before are no longer there.
///
/// A command that may not run removes nothing for certain, and is left out.
pub(super) fn read(evaluated: &Evaluated, source: SourceId, seen: &mut Observations) {
    for run in evaluated.runs.iter().filter(|run| mentions_cuda(run)) {
        for command in shell::commands(run).iter().filter(|command| !command.conditional) {
            for (what, span) in removals(command) {
                let key = if what.starts_with('/') { FactKey::File } else { FactKey::Package };
                let evidence = Evidence::Leaf(vec![Origin::File { source, span }]);
                let state = State::Absent { searched: REMOVED };
                let fact = seen.facts.add(key, Some(&what), state, evidence);
                if !what.starts_with(LD_CONF) {
                    drop_packages(seen, source, span);
                }
                seen.of_base.removed.push((what, fact));
            }
        }
    }
}

/// Forgets compat packages that were installed in front of `span`.
fn drop_packages(seen: &mut Observations, source: SourceId, span: Span) {
    let facts = &seen.facts;
    let earlier = |origin: &Origin| matches!(origin, Origin::File { source: own, span: at } if *own == source && at.start < span.start);
    seen.packages.retain(|package| {
        package.manager != Manager::Apt
            || !package.name.starts_with(PACKAGE)
            || !facts.origins(package.fact).iter().any(earlier)
    });
}

/// Whether a RUN speaks of CUDA or of files for `ldconfig` at all: only then its commands are taken apart.
fn mentions_cuda(run: &RunInstruction) -> bool {
    run.mentions("cuda") || run.mentions(LD_CONF)
}

/// Whether a package, or a pattern of packages, is that of compat: `cuda-compat-12-4`, `cuda-*`.
fn names_compat(text: &str) -> bool {
    text.starts_with(PACKAGE) || text.strip_suffix('*').is_some_and(|head| head.len() > 3 && PACKAGE.starts_with(head))
}

/// The compat packages and paths that one command removes.
fn removals(command: &Command) -> Vec<(String, Span)> {
    let program = command.program().unwrap_or_default();
    let words = || command.words.iter().skip(1).filter_map(|word| Some((word.known()?, word.span)));
    let owned = |(text, span): (&str, Span)| (text.to_owned(), span);
    if matches!(program, "rm" | "unlink") {
        let ours = |text: &str| text.starts_with(DIRECTORY) || text.starts_with(LD_CONF);
        return words().filter(|(text, _)| ours(text)).map(owned).collect();
    }
    if MANAGERS.contains(&program) && words().any(|(text, _)| REMOVES.contains(&text)) {
        return words().filter(|(text, _)| names_compat(text)).map(owned).collect();
    }
    Vec::new()
}
