//! Files of the build context that a Dockerfile reads.

use std::path::Path;

use crate::dockerfile::context::{BuildContext, ContextFiles, RecordingReader};
use crate::dockerfile::{Dockerfile, EvaluateOptions, Instruction, InstructionFlag, InstructionKind, MappedText};
use crate::extract;
use crate::extract::{KnownBases, TargetObservations};
use crate::text::source::{SourceId, Sources};

/// Placeholder for the source of the Dockerfile itself, which is not a gathered file.
pub(super) const DOCKERFILE_SOURCE: SourceId = SourceId(u32::MAX);

/// Platforms for which files are always gathered, because copied files may depend on the platform.
const DEFAULT_PLATFORMS: [&str; 2] = ["linux/amd64", "linux/arm64"];

/// Returns the files of the build context that the commands of a Dockerfile read; the default context is its
/// directory. Also returns the evaluated target, if these files and every platform lead to the same one; `source` is
/// the text of the Dockerfile.
pub(super) fn gather_context_files(
    (name, source): (&str, SourceId),
    dockerfile: &Dockerfile,
    options: &EvaluateOptions,
    context: Option<&Path>,
    bases: &KnownBases,
    sources: &mut Sources,
) -> (ContextFiles, Option<TargetObservations>) {
    let nothing = (ContextFiles::default(), None);
    if !dockerfile.instructions.iter().any(reads_context) {
        return nothing;
    }
    let own = (name != "-").then(|| Path::new(name));
    let folder = context.or_else(|| own.and_then(Path::parent));
    let Some(context) = folder.and_then(|folder| BuildContext::new(folder, own)) else { return nothing };
    let gathering = RecordingReader::new(&context, sources);
    let mut seen = None;
    for platform in options.platforms.iter().map(String::as_str).chain(DEFAULT_PLATFORMS) {
        let options = EvaluateOptions { platform: platform.to_owned(), ..options.clone() };
        let Ok(read) = extract::observe_dockerfile_on_base(source, dockerfile, &options, &gathering, bases) else {
            break;
        };
        if !read.of_platform && !bases.has_base_for(dockerfile, &options) {
            // The files that were found get other numbers yet, and with a base that is known others may hold more.
            seen = Some(read).filter(|_| !gathering.has_any_file() && bases.is_empty());
            break;
        }
    }
    (gathering.into_files(), seen)
}

/// Whether an instruction can copy or mount a file of the build context, in whichever stage it stands.
fn reads_context(instruction: &Instruction) -> bool {
    match instruction.kind {
        InstructionKind::Copy | InstructionKind::Add => {
            instruction.flag("from").is_none_or(|from| from.value.is_none())
        }
        InstructionKind::Run => instruction.flags.iter().any(|flag| flag.name == "mount" && may_bind_files(flag)),
        // It runs where another stage builds on this one.
        _ => instruction.child.as_deref().is_some_and(reads_context),
    }
}

/// Whether a mount may be a bind mount, which is the default type.
fn may_bind_files(mount: &InstructionFlag) -> bool {
    let mount_options = mount.value.as_ref().map_or("", MappedText::text);
    !mount_options.contains("type=") || mount_options.contains("bind") || mount_options.contains('$')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any_instruction(text: &str, of: fn(&Instruction) -> bool) -> bool {
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
            assert_eq!(any_instruction(&format!("FROM x\n{line}\n"), reads_context), reads, "{line}");
        }
    }
}
