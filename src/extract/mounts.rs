//! The `--mount` flags of a RUN instruction.

use crate::dockerfile::{Dialect, Dockerfile, MappedText, RunInstruction, expand_variables};
use crate::extract::stage_files::absolute_path;

/// A bind mount of a RUN: a path of the build context, a build stage or an image, and where the RUN sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// The stage or image that is mounted; `None` for the build context.
    pub(super) from: Option<String>,
    /// The index of the build stage that `from` names, if any.
    pub(super) stage: Option<usize>,
    /// The path in the build context, stage or image.
    pub(super) source: String,
    /// The absolute path in the RUN.
    pub(super) target: String,
}

/// The default folder of mounted build secrets.
const SECRETS_FOLDER: &str = "/run/secrets";
/// The home directory of root, and the parent of all other home directories.
const HOME_FOLDERS: (&str, &str) = ("/root/", "/home/");

/// Whether a build secret is mounted at a path; one mounted in the home directory of another user counts for root.
pub(super) fn is_secret_mount(dockerfile: &Dockerfile, run: &RunInstruction, path: &str) -> bool {
    let Some(instruction) = dockerfile.instructions.get(run.instruction) else { return false };
    let flags = instruction.flags.iter().filter(|flag| flag.name == "mount").filter_map(|flag| flag.value.as_ref());
    let dialect = Dialect::Dockerfile(dockerfile.escape);
    flags.map(MappedText::text).any(|text| {
        let value = |names: &[&str]| {
            let pairs = text.split(',').filter_map(|part| part.split_once('='));
            let (_, value) = pairs.map(|(name, value)| (name.trim(), value)).find(|(name, _)| names.contains(name))?;
            expand_variables(value, dialect, &|name| run.scope.lookup(name)).known_text().map(str::to_owned)
        };
        if value(&["type"]).as_deref() != Some("secret") {
            return false;
        }
        let told = value(&["target", "dst", "destination"]).map(|target| absolute_path(&run.folder, &target));
        // One that is given as a variable alone is no file.
        let plain = || value(&["id", "source", "src"]).filter(|_| value(&["env"]).is_none());
        let Some(target) = told.or_else(|| Some(format!("{SECRETS_FOLDER}/{}", plain()?))) else { return false };
        let (own, others) = HOME_FOLDERS;
        let below = target.strip_prefix(others).and_then(|rest| rest.split_once('/')).map(|(_, rest)| rest);
        target == path || below.is_some_and(|below| path.strip_prefix(own) == Some(below))
    })
}

/// Whether a RUN has more than `most` mounts.
pub(super) fn has_more_mounts_than(dockerfile: &Dockerfile, run: &RunInstruction, most: usize) -> bool {
    let flags = dockerfile.instructions.get(run.instruction).map_or(&[][..], |instruction| &instruction.flags);
    flags.len() > most && flags.iter().filter(|flag| flag.name == "mount").nth(most).is_some()
}

/// Returns the bind mounts of a RUN.
pub(super) fn bind_mounts(dockerfile: &Dockerfile, run: &RunInstruction) -> Vec<Mount> {
    let Some(instruction) = dockerfile.instructions.get(run.instruction) else { return Vec::new() };
    let flags = instruction.flags.iter().filter(|flag| flag.name == "mount");
    let dialect = Dialect::Dockerfile(dockerfile.escape);
    let one = |text: &str| {
        let value = |names: &[&str]| {
            let pairs = text.split(',').filter_map(|part| part.split_once('='));
            let (_, value) = pairs.map(|(name, value)| (name.trim(), value)).find(|(name, _)| names.contains(name))?;
            expand_variables(value, dialect, &|name| run.scope.lookup(name)).known_text().map(str::to_owned)
        };
        // What a RUN leaves in a cache is no file of the build.
        if value(&["type"]).is_some_and(|kind| kind != "bind") {
            return None;
        }
        let from = value(&["from"]);
        let stage = from.as_deref().and_then(|name| dockerfile.find_stage_before(name, run.stage));
        let target = value(&["target", "dst", "destination"]).filter(|target| !target.is_empty())?;
        let target = absolute_path(&run.folder, &target);
        Some(Mount { from, stage, source: value(&["source", "src"]).unwrap_or_default(), target })
    };
    flags.filter_map(|flag| one(flag.value.as_ref().map_or("", MappedText::text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::EvaluateOptions;

    #[test]
    fn a_secret_is_at_the_target_of_its_mount() {
        for (flags, path, expected) in [
            ("--mount=type=secret,id=p,target=/etc/pip.conf", "/etc/pip.conf", true),
            ("--mount=type=secret,id=p,dst=pip.conf", "/app/pip.conf", true),
            ("--mount=type=secret,id=p", "/run/secrets/p", true),
            ("--mount=type=cache,target=/x --mount=id=p,type=secret", "/run/secrets/p", true),
            ("--mount=type=secret,id=p,target=/home/me/.pip/pip.conf", "/root/.pip/pip.conf", true),
            ("--mount=type=secret,id=p,target=/home/me/.pip/pip.conf", "/etc/pip.conf", false),
            ("--mount=type=secret,id=p,target=/home/me/.netrc", "/root/.pip/pip.conf", false),
            ("--mount=type=secret,id=p,env=TOKEN", "/run/secrets/p", false),
            ("--mount=type=secret,id=pip.conf", "/etc/pip.conf", false),
            ("--mount=type=cache,target=/etc/pip.conf", "/etc/pip.conf", false),
            ("--mount=type=ssh", "/run/secrets/p", false),
            ("--network=none", "/etc/pip.conf", false),
        ] {
            let file = Dockerfile::parse(&format!("FROM scratch\nWORKDIR /app\nRUN {flags} true\n"));
            let options = EvaluateOptions::new(crate::knowledge::Knowledge::built_in());
            let evaluated = file.evaluate(&options).expect("a stage");
            assert_eq!(is_secret_mount(&file, &evaluated.runs[0], path), expected, "{flags} {path}");
        }
    }

    #[test]
    fn a_bind_mount_has_a_source_and_a_target() {
        for (flags, expected) in [
            ("--mount=type=bind,source=w,target=/w", "- - w /w"),
            ("--mount=target=.", "- -  /app"),
            ("--mount=type=bind,from=b,src=/wheels,dst=w", "b 0 /wheels /app/w"),
            ("--mount=from=0,target=/x --mount=type=bind,destination=y", "0 0  /x; - -  /app/y"),
            ("--mount=type=bind,from=$IMAGE,target=/x", "python:3.12 -  /x"),
            // No files of elsewhere.
            ("--mount=type=cache,target=/root/.cache", ""),
            ("--mount=type=secret,id=x,target=/x", ""),
            ("--mount=type=tmpfs,target=/x", ""),
            ("--mount=type=bind,source=w", ""),
            ("--mount=type=bind,source=w,target=$NOBODY", ""),
            ("--network=none", ""),
        ] {
            let text = format!("FROM a AS b\nFROM scratch\nARG IMAGE=python:3.12\nWORKDIR /app\nRUN {flags} true\n");
            let file = Dockerfile::parse(&text);
            let evaluated =
                file.evaluate(&EvaluateOptions::new(crate::knowledge::Knowledge::built_in())).expect("a stage");
            let said = |mount: Mount| {
                let stage = mount.stage.map_or_else(|| "-".to_owned(), |stage| stage.to_string());
                format!("{} {stage} {} {}", mount.from.as_deref().unwrap_or("-"), mount.source, mount.target)
            };
            let found: Vec<String> = bind_mounts(&file, &evaluated.runs[0]).into_iter().map(said).collect();
            assert_eq!(found.join("; "), expected, "{flags}");
        }
    }
}
