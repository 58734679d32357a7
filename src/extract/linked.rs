//! Files that commands link, write and remove: those by which the loader finds libcuda, and nothing else.

use std::collections::BTreeSet;

use crate::cuda::lies_below;
use crate::cuda::split_path;
use crate::extract::driver_files;
use crate::extract::tree::absolute;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::FileKind;
use crate::fact::FileSeen;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::Value;
use crate::install;
use crate::install::Around;
use crate::shell::Command;
use crate::shell::Word;

const LD_CONF: &str = "/etc/ld.so.conf";
const LD_CONF_FOLDER: &str = "/etc/ld.so.conf.d/";
/// How the names of driver libraries begin.
const LIBRARIES: &[&str] = &["libcuda.so", "libnvidia-ml.so"];
/// The directory that a toolkit keeps stubs in.
const STUBS: &str = "/stubs/";
/// What the names of a toolkit's packages have in them.
const TOOLKIT: &str = "cuda";
/// No text of such a file is longer.
const LONGEST: usize = 16 * 1024;

/// What one command does to such files.
pub(super) enum Says {
    /// It is of no concern.
    Nothing,
    /// It links one path to another.
    Links(String, String),
    /// It puts driver libraries at paths, each from another.
    Brings(Vec<(String, String)>),
    /// It puts driver libraries at these paths, if it runs.
    Perhaps(Vec<String>),
    /// It removes what lies at these paths.
    Removes(Vec<String>),
    /// It writes a text to these files.
    Writes(Vec<String>, String),
    /// It adds a text to these files.
    Adds(Vec<String>, String),
}

/// What one command, run in a folder, does to such files.
///
/// A command that may not run does nothing for certain: of such a one, where driver libraries may be is told alone.
pub(super) fn says(command: &Command, folder: &str, around: &Around<'_>) -> Says {
    if command.conditional {
        let certain = Command { conditional: false, ..command.clone() };
        return match says(&certain, folder, around) {
            Says::Links(link, _) => Says::Perhaps(vec![link]),
            Says::Brings(brought) => Says::Perhaps(brought.into_iter().map(|(path, _)| path).collect()),
            _ => Says::Nothing,
        };
    }
    let program = command.program();
    match program {
        Some("ln") => return link(command, folder).map_or(Says::Nothing, |(link, target)| Says::Links(link, target)),
        Some("cp" | "mv" | "install") => {
            let brought = driver_files::moved(command, folder);
            return if brought.is_empty() { Says::Nothing } else { Says::Brings(brought) };
        }
        Some("rm" | "unlink") => {
            return Says::Removes(arguments(command).map(|path| absolute(folder, path)).collect());
        }
        _ => {}
    }
    let tee = program == Some("tee");
    let appends = command.appends || (tee && command.words.iter().any(|word| word.known() == Some("-a")));
    let named = arguments(command).filter(|_| tee);
    let paths = command.writes.iter().filter_map(Word::known).chain(named).map(|path| absolute(folder, path));
    let paths: Vec<String> = paths.filter(|path| names_directories(path)).collect();
    if paths.is_empty() {
        return Says::Nothing;
    }
    match install::output(command, around) {
        Ok(parts) if parts.iter().map(|part| part.text.text().len()).sum::<usize>() <= LONGEST => {
            let text = parts.iter().map(|part| part.text.text()).collect();
            if appends { Says::Adds(paths, text) } else { Says::Writes(paths, text) }
        }
        _ => Says::Nothing,
    }
}

/// Notes what a command does.
pub(super) fn read(says: Says, origin: Origin, seen: &mut Observations) {
    match says {
        Says::Nothing => {}
        Says::Links(link, target) => put(seen, link, FileKind::Link(target), origin),
        Says::Brings(libraries) => {
            for (path, source) in libraries {
                // A stub stays one wherever it lies.
                let stub = source.contains(STUBS);
                let kind = if stub { FileKind::Link(source) } else { FileKind::Present };
                put(seen, path, kind, origin.clone());
            }
        }
        Says::Perhaps(paths) => {
            for path in paths {
                let reason = format!("{path} is created by only some branches of the commands");
                maybe(seen, path, reason, origin.clone());
            }
        }
        Says::Removes(paths) => {
            seen.files.retain(|own, _| !paths.iter().any(|path| taken(own, path)));
            seen.of_base.perhaps.retain(|own, _| !paths.iter().any(|path| taken(own, path)));
        }
        Says::Writes(paths, text) => {
            for path in paths {
                put(seen, path, FileKind::Text(text.clone()), origin.clone());
            }
        }
        Says::Adds(paths, text) => {
            for path in paths {
                let before = match seen.files.get(&path).map(|file| &file.kind) {
                    Some(FileKind::Text(before)) if before.len() <= LONGEST => format!("{before}\n"),
                    _ => String::new(),
                };
                put(seen, path, FileKind::Text(format!("{before}{text}")), origin.clone());
            }
        }
    }
}

/// Forgets links that lead to nothing: to stubs of a toolkit, where nothing in the image brings one.
pub(super) fn without_stubs(seen: &mut Observations) {
    let of_toolkit = |name: &str| name.contains(TOOLKIT) || is_library(name);
    if seen.packages.iter().any(|package| package.manager != Manager::Pip && of_toolkit(&package.name)) {
        return;
    }
    let there: BTreeSet<String> = seen
        .files
        .iter()
        .filter(|(_, file)| !matches!(file.kind, FileKind::Link(_)))
        .map(|(path, _)| path.clone())
        .collect();
    seen.files.retain(|path, file| match &file.kind {
        FileKind::Link(target) => {
            let target = absolute(split_path(path).0, target);
            !target.contains(STUBS) || there.contains(&target)
        }
        _ => true,
    });
}

/// The words behind the program that are no options.
fn arguments(command: &Command) -> impl Iterator<Item = &str> {
    command.words.iter().skip(1).filter_map(Word::known).filter(|word| !word.starts_with('-'))
}

/// The symbolic link that `ln` makes, and where it leads.
fn link(command: &Command, folder: &str) -> Option<(String, String)> {
    let options = command.words.iter().skip(1).filter_map(Word::known).filter(|word| word.starts_with('-'));
    let symbolic = options.clone().any(|word| word == "--symbolic" || (!word.starts_with("--") && word.contains('s')));
    let plain =
        options.clone().all(|word| !word.starts_with("--target") && (word.starts_with("--") || !word.contains('t')));
    let words: Vec<&str> = arguments(command).collect();
    // A word that is not known would be left out of the list.
    let known = command.words.iter().all(|word| word.known().is_some());
    let (target, link) = match words.as_slice() {
        [target, link] => (*target, *link),
        [target] => (*target, "."),
        _ => return None,
    };
    if !symbolic || !plain || !known {
        return None;
    }
    let name = split_path(target).1;
    let path = absolute(folder, link);
    // Into a directory it goes under the name of what it leads to.
    let into = is_library(name) && !split_path(&path).1.contains(".so");
    let path = if into { format!("{}/{name}", path.trim_end_matches('/')) } else { path };
    is_library(split_path(&path).1).then(|| (path, target.to_owned()))
}

/// Whether a name is that of a driver library.
pub(super) fn is_library(name: &str) -> bool {
    LIBRARIES.iter().any(|library| name.starts_with(library))
}

/// Whether a path is one of a file that names directories for the loader.
pub(super) fn names_directories(path: &str) -> bool {
    let folder = path.strip_prefix(LD_CONF_FOLDER);
    path == LD_CONF || folder.is_some_and(|name| !name.contains('/') && name.strip_suffix(".conf").is_some())
}

/// Whether removing a path takes a file away: the path itself, a directory above it, or a pattern of names.
fn taken(own: &str, path: &str) -> bool {
    match path.strip_suffix('*') {
        Some(head) => own.strip_prefix(head).is_some_and(|rest| !rest.contains('/')),
        None => lies_below(own, path),
    }
}

/// Notes a file.
pub(super) fn put(seen: &mut Observations, path: String, kind: FileKind, origin: Origin) {
    let said = match &kind {
        FileKind::Link(target) => format!("link to {target}"),
        FileKind::Text(text) => text.clone(),
        FileKind::Present | FileKind::NoLibrary | FileKind::Noted(_) => "present".to_owned(),
    };
    let evidence = Evidence::Leaf(vec![origin]);
    let fact = seen.facts.add(FactKey::File, Some(&path), State::Known(Value::Text(said)), evidence);
    seen.files.insert(path, FileSeen { kind, fact });
}

/// Notes a driver library that may be there.
pub(super) fn maybe(seen: &mut Observations, path: String, reason: String, origin: Origin) {
    let state = State::Known(Value::Text("perhaps".to_owned()));
    let fact = seen.facts.add(FactKey::File, Some(&path), state, Evidence::Leaf(vec![origin]));
    seen.of_base.perhaps.insert(path, (reason, fact));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::Lookup;
    use crate::dockerfile::Mapped;
    use crate::fact::Depth;
    use crate::install::Environment;
    use crate::install::Machine;
    use crate::shell::script_commands;

    /// The files that a text for the shell leaves, in words.
    fn left(script: &str) -> Vec<String> {
        let mut seen = Observations::new(Depth::Text);
        let lookup = |_: &str| Lookup::NoValue;
        let open = |_: &str, _: &str| Err("it is not there".to_owned());
        let environment = Environment { machine: Machine::new("x86_64"), python: None };
        let around =
            Around { lookup: &lookup, open: &open, environment, knowledge: crate::knowledge::Knowledge::built_in() };
        for command in script_commands(&Mapped::whole(script, 0)) {
            read(says(&command, "/srv", &around), Origin::Option("--test"), &mut seen);
        }
        let words = |kind: &FileKind| match kind {
            FileKind::Link(target) => format!("-> {target}"),
            FileKind::Text(text) => text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("|"),
            FileKind::Present | FileKind::NoLibrary | FileKind::Noted(_) => String::new(),
        };
        let certain = seen.files.iter().map(|(path, file)| format!("{path} {}", words(&file.kind)));
        certain.chain(seen.of_base.perhaps.keys().map(|path| format!("{path} perhaps"))).collect()
    }

    #[test]
    fn links_of_driver_libraries_and_lists_of_directories_are_noted() {
        for (script, expected) in [
            ("ln -s /a/stubs/libcuda.so /usr/lib/libcuda.so.1", "/usr/lib/libcuda.so.1 -> /a/stubs/libcuda.so"),
            ("ln -sfn libcuda.so /a/stubs/libcuda.so.1 && ldconfig", "/a/stubs/libcuda.so.1 -> libcuda.so"),
            ("ln -sf /a/stubs/libcuda.so /usr/lib64/", "/usr/lib64/libcuda.so -> /a/stubs/libcuda.so"),
            ("ln --symbolic /a/libnvidia-ml.so.1 libnvidia-ml.so.1", "/srv/libnvidia-ml.so.1 -> /a/libnvidia-ml.so.1"),
            ("echo /a/compat > /etc/ld.so.conf.d/00-a.conf", "/etc/ld.so.conf.d/00-a.conf /a/compat"),
            ("echo \"/a\" >> /etc/ld.so.conf; echo /b >> /etc/ld.so.conf", "/etc/ld.so.conf /a|/b"),
            ("printf '/a\\n/b\\n' > /etc/ld.so.conf.d/a.conf", "/etc/ld.so.conf.d/a.conf /a|/b"),
            ("printf '%s\\n' /a /b > /etc/ld.so.conf.d/a.conf", "/etc/ld.so.conf.d/a.conf /a|/b"),
            ("echo /a | tee /etc/ld.so.conf.d/a.conf", "/etc/ld.so.conf.d/a.conf /a"),
            ("echo -e '/a\\n/b' | tee -a /etc/ld.so.conf.d/a.conf >/dev/null", "/etc/ld.so.conf.d/a.conf /a|/b"),
        ] {
            assert_eq!(left(script), [expected], "{script}");
        }
    }

    #[test]
    fn driver_libraries_that_commands_copy_are_noted_where_they_land() {
        for (script, expected) in [
            ("cp /tmp/libcuda.so.535.54.03 /usr/lib64/", "/usr/lib64/libcuda.so.535.54.03 "),
            ("cp -a /tmp/libcuda.so.535.54.03 /usr/lib64", "/usr/lib64/libcuda.so.535.54.03 "),
            ("cp x/libcuda.so.535.54.03 /usr/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.1 "),
            ("mv /tmp/driver/libcuda.so* /usr/lib64/", "/usr/lib64/libcuda.so.1 "),
            ("install -m 755 libnvidia-ml.so.1 /usr/lib64/", "/usr/lib64/libnvidia-ml.so.1 "),
            ("cp /a/stubs/libcuda.so /usr/lib/libcuda.so.1", "/usr/lib/libcuda.so.1 -> /a/stubs/libcuda.so"),
            ("cp readme libcuda.so.1 /usr/lib64", "/usr/lib64/libcuda.so.1 "),
            ("if [ -n \"$A\" ]; then cp /a/libcuda.so.1 /usr/lib64/; fi", "/usr/lib64/libcuda.so.1 perhaps"),
            ("test -e /x || ln -s /a/libcuda.so.1 /usr/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.1 perhaps"),
        ] {
            assert_eq!(left(script), [expected], "{script}");
        }
        for script in [
            "cp libcudart.so.12 /usr/lib64/",
            "if true; then cp libcudart.so.12 /usr/lib64/; fi",
            "if [ -n \"$A\" ]; then rm /usr/lib64/libcuda.so.1; fi",
            "[ -n \"$A\" ] && cp libcuda.so.1 /usr/lib64/; rm -f /usr/lib64/libcuda*",
            "cp $LIB /usr/lib64/libcuda.so.1",
            "cp libcuda.so.1 $(pwd)/",
            "cp -t /usr/lib64 libcuda.so.1",
            "install -d /usr/lib64/libcuda.so.1",
            "cp libcuda.so.1 /usr/lib64/ && rm /usr/lib64/libcuda.so.1",
            "echo cp libcuda.so.1 /usr/lib64/",
        ] {
            assert_eq!(left(script), [""; 0], "{script}");
        }
    }

    #[test]
    fn what_is_removed_unsure_or_of_no_concern_is_not() {
        for script in [
            "ln -s /a/libcuda.so /b/libcuda.so.1 && rm -f /b/libcuda.so.1",
            "ln -s /a/libcuda.so /b/libcuda.so.1 && rm -rf /b",
            "ln -s /a/libcuda.so /b/libcuda.so.1 && rm /b/libcuda*",
            "ln /a/libcuda.so /b/libcuda.so.1",
            "ln -s /usr/local/cuda-12.4 /usr/local/cuda",
            "ln -s /usr/bin/python3 /usr/bin/python",
            "ln -st /b /a/libcuda.so",
            "ln -s $(pwd)/libcuda.so /b/libcuda.so.1",
            "echo /a > /etc/ld.so.conf.d/a.txt",
            "echo /a > /etc/ld.so.conf.d/deeper/a.conf",
            "echo /a",
            "echo $(pwd) > /etc/ld.so.conf.d/a.conf",
            "echo /a > /etc/ld.so.conf.d/a.conf && rm /etc/ld.so.conf.d/*",
            "echo /a; true; tee /etc/ld.so.conf.d/a.conf",
            "if [ -d /a ]; then echo /a > /etc/ld.so.conf.d/a.conf; fi",
        ] {
            assert_eq!(left(script), Vec::<String>::new(), "{script}");
        }
    }

    #[test]
    fn a_link_to_stubs_that_nothing_brings_is_none() {
        let of = |script: &str, package: Option<&str>| {
            let mut seen = Observations::new(Depth::Text);
            let lookup = |_: &str| Lookup::NoValue;
            let open = |_: &str, _: &str| Err("it is not there".to_owned());
            let (environment, knowledge) = (
                Environment { machine: Machine::new("x86_64"), python: None },
                crate::knowledge::Knowledge::built_in(),
            );
            let around = Around { lookup: &lookup, open: &open, environment, knowledge };
            for command in script_commands(&Mapped::whole(script, 0)) {
                read(says(&command, "/", &around), Origin::Option("--test"), &mut seen);
            }
            if let Some(name) = package {
                let version = crate::fact::PackageVersion::Open(String::new());
                let fact = crate::fact::FactId(0);
                seen.packages.push(crate::fact::PackageSeen::new(Manager::Apt, name.to_owned(), version, fact));
            }
            without_stubs(&mut seen);
            seen.files.len()
        };
        let stubs = "ln -s /c/stubs/libcuda.so /c/stubs/libcuda.so.1";
        assert_eq!(of(stubs, None), 0);
        assert_eq!(of("ln -s libcuda.so /c/stubs/libcuda.so.1", None), 0);
        assert_eq!(of(stubs, Some("curl")), 0);
        // Something may bring it, it is put there, or it leads elsewhere.
        assert_eq!(of(stubs, Some("cuda-driver-dev-12-4")), 1);
        assert_eq!(of(stubs, Some("nvidia-cuda-toolkit")), 1);
        assert_eq!(of(&format!("cp /x/libcuda.so /c/stubs/ && {stubs}"), None), 2);
        assert_eq!(of("ln -s /c/lib/libcuda.so /c/lib/libcuda.so.1", None), 1);
        assert_eq!(of("echo /c/stubs > /etc/ld.so.conf.d/a.conf", None), 1);
    }
}
