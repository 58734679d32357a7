//! What `--mount` puts at a path for one RUN.

use crate::dockerfile::Dialect;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::Mapped;
use crate::dockerfile::RunInstruction;
use crate::dockerfile::expand;
use crate::extract::tree::absolute;

/// A folder or file of the context, a stage or an image that a RUN finds at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// What it is of; the build context where none is named.
    pub(super) from: Option<String>,
    /// The stage that this names.
    pub(super) stage: Option<usize>,
    /// The path there.
    pub(super) source: String,
    /// The path for the RUN.
    pub(super) target: String,
}

/// Where secrets of the builder lie that name no other place.
const SECRETS: &str = "/run/secrets";
/// The folder of the user whose files are looked for, and that of the others.
const HOMES: (&str, &str) = ("/root/", "/home/");

/// Whether a RUN finds a secret of the builder at a path: a file of a user's own is taken for that of whoever runs it.
pub(super) fn is_secret(dockerfile: &Dockerfile, run: &RunInstruction, path: &str) -> bool {
    let Some(instruction) = dockerfile.instructions.get(run.instruction) else { return false };
    let flags = instruction.flags.iter().filter(|flag| flag.name == "mount").filter_map(|flag| flag.value.as_ref());
    let dialect = Dialect::Dockerfile(dockerfile.escape);
    flags.map(Mapped::text).any(|text| {
        let value = |names: &[&str]| {
            let pairs = text.split(',').filter_map(|part| part.split_once('='));
            let (_, value) = pairs.map(|(name, value)| (name.trim(), value)).find(|(name, _)| names.contains(name))?;
            expand(value, dialect, &|name| run.scope.lookup(name)).known().map(str::to_owned)
        };
        if value(&["type"]).as_deref() != Some("secret") {
            return false;
        }
        let told = value(&["target", "dst", "destination"]).map(|target| absolute(&run.folder, &target));
        // One that is given as a variable alone is no file.
        let plain = || value(&["id", "source", "src"]).filter(|_| value(&["env"]).is_none());
        let Some(target) = told.or_else(|| Some(format!("{SECRETS}/{}", plain()?))) else { return false };
        let (own, others) = HOMES;
        let below = target.strip_prefix(others).and_then(|rest| rest.split_once('/')).map(|(_, rest)| rest);
        target == path || below.is_some_and(|below| path.strip_prefix(own) == Some(below))
    })
}

/// Whether a RUN has more mounts than `most`.
pub(super) fn many(dockerfile: &Dockerfile, run: &RunInstruction, most: usize) -> bool {
    let flags = dockerfile.instructions.get(run.instruction).map_or(&[][..], |instruction| &instruction.flags);
    flags.len() > most && flags.iter().filter(|flag| flag.name == "mount").nth(most).is_some()
}

/// The mounts of a RUN that bring files of elsewhere.
pub(super) fn mounts(dockerfile: &Dockerfile, run: &RunInstruction) -> Vec<Mount> {
    let Some(instruction) = dockerfile.instructions.get(run.instruction) else { return Vec::new() };
    let flags = instruction.flags.iter().filter(|flag| flag.name == "mount");
    let dialect = Dialect::Dockerfile(dockerfile.escape);
    let one = |text: &str| {
        let value = |names: &[&str]| {
            let pairs = text.split(',').filter_map(|part| part.split_once('='));
            let (_, value) = pairs.map(|(name, value)| (name.trim(), value)).find(|(name, _)| names.contains(name))?;
            expand(value, dialect, &|name| run.scope.lookup(name)).known().map(str::to_owned)
        };
        // What a RUN leaves in a cache is no file of the build.
        if value(&["type"]).is_some_and(|kind| kind != "bind") {
            return None;
        }
        let from = value(&["from"]);
        let stage = from.as_deref().and_then(|name| dockerfile.stage_before(name, run.stage));
        let target = value(&["target", "dst", "destination"]).filter(|target| !target.is_empty())?;
        let target = absolute(&run.folder, &target);
        Some(Mount { from, stage, source: value(&["source", "src"]).unwrap_or_default(), target })
    };
    flags.filter_map(|flag| one(flag.value.as_ref().map_or("", Mapped::text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::EvaluateOptions;

    #[test]
    fn a_secret_lies_where_its_mount_puts_it() {
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
            assert_eq!(is_secret(&file, &evaluated.runs[0], path), expected, "{flags} {path}");
        }
    }

    #[test]
    fn a_mount_says_what_it_is_of() {
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
            let found: Vec<String> = mounts(&file, &evaluated.runs[0]).into_iter().map(said).collect();
            assert_eq!(found.join("; "), expected, "{flags}");
        }
    }
}
