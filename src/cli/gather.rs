//! The files of the build context that a Dockerfile asks for.

use std::path::Path;

use crate::context::Context;
use crate::context::Files;
use crate::context::Gathering;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::Flag;
use crate::dockerfile::Instruction;
use crate::dockerfile::Kind;
use crate::dockerfile::Mapped;
use crate::extract;
use crate::extract::Bases;
use crate::extract::Target;
use crate::source::SourceId;
use crate::source::Sources;

/// Stands for the text of the Dockerfile itself, which is none of those that are gathered.
pub(super) const ITSELF: SourceId = SourceId(u32::MAX);

/// What is copied may hang on the platform.
const USUAL: [&str; 2] = ["linux/amd64", "linux/arm64"];

/// The files of the build context that the commands of a Dockerfile read; its own folder where none is named. Beside them
/// stands what was seen of it, where the same will be seen with these files on every platform; `source` is its text.
pub(super) fn gather(
    (name, source): (&str, SourceId),
    dockerfile: &Dockerfile,
    options: &EvaluateOptions,
    context: Option<&Path>,
    bases: &Bases,
    sources: &mut Sources,
) -> (Files, Option<Target>) {
    let nothing = (Files::default(), None);
    if !dockerfile.instructions.iter().any(reads_context) {
        return nothing;
    }
    let own = (name != "-").then(|| Path::new(name));
    let folder = context.or_else(|| own.and_then(Path::parent));
    let Some(context) = folder.and_then(|folder| Context::new(folder, own)) else { return nothing };
    let gathering = Gathering::new(&context, sources);
    let mut seen = None;
    for platform in options.platforms.iter().map(String::as_str).chain(USUAL) {
        let options = EvaluateOptions { platform: platform.to_owned(), ..options.clone() };
        let Ok(read) = extract::of_build(source, dockerfile, &options, &gathering, bases) else { break };
        if !read.of_platform && !bases.knows(dockerfile, &options) {
            // The files that were found get other numbers yet, and with a base that is known others may hold more.
            seen = Some(read).filter(|_| !gathering.found_any() && bases.is_empty());
            break;
        }
    }
    (gathering.into_files(), seen)
}

/// Whether an instruction can bring or show a file of the context, in whichever stage it stands.
fn reads_context(instruction: &Instruction) -> bool {
    match instruction.kind {
        Kind::Copy | Kind::Add => instruction.flag("from").is_none_or(|from| from.value.is_none()),
        Kind::Run => instruction.flags.iter().any(|flag| flag.name == "mount" && may_bind(flag)),
        // It runs where another stage builds on this one.
        _ => instruction.child.as_deref().is_some_and(reads_context),
    }
}

/// Whether a mount may be one of files: that is what a mount without a type is.
fn may_bind(mount: &Flag) -> bool {
    let said = mount.value.as_ref().map_or("", Mapped::text);
    !said.contains("type=") || said.contains("bind") || said.contains('$')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any(text: &str, of: fn(&Instruction) -> bool) -> bool {
        Dockerfile::parse(text).instructions.iter().any(of)
    }

    #[test]
    fn a_context_is_read_by_copies_and_bind_mounts() {
        for (line, reads) in [
            ("COPY . /app", true),
            ("ADD a.txt /", true),
            ("copy --chown=1:1 a /", true),
            ("COPY --from a /b", true),
            ("COPY --from=x a /", false),
            ("COPY <<E /a\na\nE", true),
            ("RUN --mount=type=bind,source=a,target=a pip install -r a", true),
            ("RUN --mount=target=/a pip install -r /a/r.txt", true),
            ("RUN --mount=type=cache,target=/c --mount=source=a,target=a true", true),
            ("RUN --mount=type=$KIND,target=/a true", true),
            ("RUN --mount=type=cache,target=/root/.cache pip install torch", false),
            ("RUN --mount=type=secret,id=a true", false),
            ("RUN cp a b", false),
            ("ENV COPY=a", false),
            ("ONBUILD COPY a /", true),
            ("ONBUILD RUN cp a /", false),
        ] {
            assert_eq!(any(&format!("FROM x\n{line}\n"), reads_context), reads, "{line}");
        }
    }
}
