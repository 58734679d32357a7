//! Programs that commands of a stage link: where they lie, and what they need wherever a COPY brings them.

use crate::cuda::CudaVersion;
use crate::cuda::split_path;
use crate::dockerfile::CopyInstruction;
use crate::dockerfile::Evaluated;
use crate::extract::compiled;
use crate::extract::copied::put_cuda;
use crate::extract::copied::sources;
use crate::extract::dockerfile::Reader;
use crate::extract::landing;
use crate::extract::toolkit_copied;
use crate::extract::tree::absolute;
use crate::fact::BaseSeen;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::NeedsSeen;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::Value;
use crate::knowledge::Knowledge;
use crate::shell::Command;
use crate::shell::Word;
use crate::source::SourceId;
use crate::source::Span;

/// So many programs of one stage are kept.
const MOST: usize = 64;
/// The compiler of the toolkit.
const COMPILER: &str = "nvcc";
/// Options by which it links nothing.
const UNLINKED: &[&str] = &[
    "--compile",
    "--cubin",
    "--device-c",
    "--device-link",
    "--device-w",
    "--fatbin",
    "--lib",
    "--optix-ir",
    "--preprocess",
    "--ptx",
    "-E",
    "-M",
    "-MM",
    "-c",
    "-cubin",
    "-dc",
    "-dlink",
    "-dw",
    "-fatbin",
    "-lib",
    "-optix-ir",
    "-ptx",
];
/// What its input ends in.
const INPUTS: &[&str] = &["a", "c", "cc", "cpp", "cu", "cxx", "o"];
/// Where it leaves a program that it is given no name for.
const NAMELESS: &str = "a.out";
/// The runtime, which it links in unless it is told to share it.
const RUNTIME: &str = "cudart";
/// The C library that programs of the compiler need, and how the loader of it is called.
const C_LIBRARY: &str = "libc.so.6";
const LOADER: &str = "ld-linux";
/// Folders of that library and its loader.
const C_FOLDERS: &[&str] =
    &["/lib", "/lib64", "/usr", "/usr/lib", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"];

/// A program that a command links.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// Where it may lie.
    places: Vec<String>,
    /// The libraries that it is linked with, as the linker is told them: `cublas`.
    links: Vec<String>,
    /// The release of its compiler, and where that is named, once a COPY brought it out of its stage.
    compiler: Option<(CudaVersion, Span)>,
    /// The command, and the COPY.
    origins: Vec<Origin>,
}

/// The program that a command links in a folder.
pub(super) fn of_command(command: &Command, folder: &str, source: SourceId) -> Option<Program> {
    if command.program() != Some(COMPILER) {
        return None;
    }
    let words: Vec<&str> = command.words.iter().skip(1).filter_map(Word::known).collect();
    let input = |word: &&str| {
        !word.starts_with('-') && word.rsplit_once('.').is_some_and(|(_, ending)| INPUTS.contains(&ending))
    };
    if words.iter().any(|word| UNLINKED.contains(word)) || !words.iter().any(input) {
        return None;
    }
    let behind = |at: usize| words.get(at + 1).copied();
    let (mut out, mut links) = (NAMELESS, Vec::new());
    for (at, word) in words.iter().enumerate() {
        let (name, inline) = word.split_once('=').map_or((*word, None), |(name, value)| (name, Some(value)));
        let value = || inline.or(behind(at)).unwrap_or_default();
        match name {
            "-o" | "--output-file" => out = value(),
            "-l" | "--library" => links.extend(value().split(',').map(str::to_owned)),
            "-cudart" | "--cudart" if value() == "shared" => links.push(RUNTIME.to_owned()),
            _ => links.extend(word.strip_prefix("-l").filter(|name| !name.contains('=')).map(str::to_owned)),
        }
    }
    Some(Program {
        places: vec![absolute(folder, out)],
        links,
        compiler: None,
        origins: vec![Origin::File { source, span: command.span }],
    })
}

/// Brings the programs of another stage that lie in what is copied; `compiler` is the release at the bottom of that stage.
pub(super) fn bring(
    reader: &mut Reader<'_>,
    programs: Vec<Program>,
    copy: &CopyInstruction,
    compiler: Option<(CudaVersion, Span)>,
) {
    let to = copy.destination.as_ref().and_then(|(path, _)| path.known()).map(|path| absolute(&copy.folder, path));
    for mut program in programs {
        let comes = sources(copy).any(|source| compiled::brings(source, &program.places));
        if !comes || reader.done.programs.len() >= MOST {
            continue;
        }
        program.places.extend(to.clone());
        program.compiler = program.compiler.or(compiler);
        program.origins.push(Origin::File { source: reader.source, span: copy.span });
        reader.done.programs.push(program);
    }
}

/// Says what the programs need that were copied into the target: the CUDA of their compiler, the libraries that they share,
/// and the C library, which some bases do not have.
pub(super) fn judge(reader: &mut Reader<'_>, evaluated: &Evaluated, knowledge: Knowledge) {
    let copied: Vec<Program> = reader.done.programs.iter().filter(|one| one.origins.len() > 1).cloned().collect();
    for program in &copied {
        if let Some((cuda, span)) = program.compiler.filter(|(cuda, _)| takes(reader, *cuda, knowledge)) {
            let mut of_copy = program.origins.iter().filter_map(|origin| match origin {
                Origin::File { span, .. } => Some(*span),
                _ => None,
            });
            put_cuda(reader, cuda, [span, of_copy.next_back().unwrap_or(span)]);
        }
    }
    let mut needs: Vec<String> = Vec::new();
    let mut origins: Vec<Origin> = Vec::new();
    for program in &copied {
        let sonames = program.compiler.iter().flat_map(|(cuda, _)| {
            program.links.iter().filter_map(|link| toolkit_copied::soname(&format!("lib{link}"), *cuda, knowledge))
        });
        let new: Vec<String> = sonames.map(str::to_owned).filter(|soname| !needs.contains(soname)).collect();
        if !new.is_empty() {
            origins
                .extend(program.origins.iter().filter(|origin| !origins.contains(origin)).cloned().collect::<Vec<_>>());
            needs.extend(new);
        }
    }
    let code = reader.seen.code.iter().find(|code| code.component.is_none());
    let brought = copied.first().map(|program| program.origins.clone());
    let brought = brought.or_else(|| Some(reader.seen.facts.origins(code?.fact)));
    if let Some(brought) =
        brought.filter(|_| lacks_c_library(&reader.seen.base, knowledge) && !brings_c_library(evaluated))
    {
        needs.push(C_LIBRARY.to_owned());
        origins.extend(brought.into_iter().filter(|origin| !origins.contains(origin)).collect::<Vec<_>>());
    }
    if needs.is_empty() {
        return;
    }
    let file = code.map_or_else(|| format!("code that {COMPILER} compiles"), |code| code.file.clone());
    let state = State::Known(Value::List(needs.clone()));
    let fact = reader.seen.facts.add(FactKey::FileNeeds, Some(&file), state, Evidence::Leaf(origins));
    reader.seen.needs.push(NeedsSeen { file, component: None, needs, opens: Vec::new(), fact });
}

/// Whether programs of a compiler bring their CUDA to an image: it has none of its own, or that of another release.
pub(super) fn takes(reader: &Reader<'_>, cuda: CudaVersion, knowledge: Knowledge) -> bool {
    let seen = &reader.seen;
    let of_base = || match &seen.base {
        BaseSeen::Image(image, _) => toolkit_copied::release(image, knowledge),
        BaseSeen::Scratch(_) | BaseSeen::NotSaid | BaseSeen::Unresolved(..) => None,
    };
    let other = || of_base().is_some_and(|own| own.release() != cuda.release());
    seen.cuda_runtime.is_none() && (toolkit_copied::is_without(seen, knowledge) || other())
}

/// Whether a base has no C library that a program of the compiler can use.
fn lacks_c_library(base: &BaseSeen, knowledge: Knowledge) -> bool {
    match base {
        BaseSeen::Scratch(_) => true,
        BaseSeen::Image(image, _) => {
            let system = knowledge.operating_system(&image.familiar(), image.tag().unwrap_or_default());
            knowledge.plain_image(&image.familiar()).is_some() && system.is_some_and(|system| system.musl)
        }
        BaseSeen::NotSaid | BaseSeen::Unresolved(..) => false,
    }
}

/// Whether a COPY brings it, or whole folders that it lies in.
fn brings_c_library(evaluated: &Evaluated) -> bool {
    let mut all = evaluated.copies.iter().flat_map(sources);
    all.any(|source| {
        let path = absolute("/", source);
        let path = path.trim_end_matches('*').trim_end_matches('/');
        landing::whole(source) || C_FOLDERS.contains(&path) || split_path(path).1.starts_with(LOADER)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::Mapped;
    use crate::shell::script_commands;

    fn of(run: &str) -> String {
        let commands = script_commands(&Mapped::whole(run, 0));
        let program = commands.first().and_then(|command| of_command(command, "/src", SourceId(0)));
        program.map_or_else(String::new, |one| format!("{} {}", one.places.join(" "), one.links.join(" ")))
    }

    #[test]
    fn programs_are_told_with_what_they_are_linked_with() {
        for (run, expected) in [
            ("nvcc -o /app a.cu", "/app "),
            ("nvcc -arch=sm_80 -lcublas -o /app a.cu", "/app cublas"),
            ("nvcc a.cu -o b/app -l cublas,cufft -lcudnn --library=curand", "/src/b/app cublas cufft cudnn curand"),
            ("nvcc -cudart shared a.cu", "/src/a.out cudart"),
            ("nvcc --cudart=shared a.cu", "/src/a.out cudart"),
            ("nvcc -cudart static a.cu", "/src/a.out "),
            ("nvcc --cudart=none a.o", "/src/a.out "),
            ("nvcc -shared -Xcompiler -fPIC -o liba.so a.cu -lcublas_static", "/src/liba.so cublas_static"),
        ] {
            assert_eq!(of(run), expected, "{run}");
        }
        for run in [
            "nvcc -c a.cu -o a.o -lcublas",
            "nvcc -cubin -arch=sm_80 a.cu",
            "nvcc -ptx a.cu",
            "nvcc --version",
            "nvcc -o /app",
            "gcc -o /app a.c -lcublas",
            "echo nvcc -o /app a.cu",
        ] {
            assert_eq!(of(run), "", "{run}");
        }
    }
}
