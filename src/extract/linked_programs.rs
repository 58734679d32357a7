//! Programs that commands of a build stage link: their paths, and what they need in an image that copies them.

use crate::cuda::{CudaVersion, split_path};
use crate::dockerfile::{CopyInstruction, EvaluatedTarget};
use crate::extract::dockerfile::TargetReader;
use crate::extract::stage_copies::{known_sources, record_cuda_runtime};
use crate::extract::stage_files::absolute_path;
use crate::extract::{compiled_programs, copied_toolkit, package_locations};
use crate::fact::{Evidence, FactKey, ObservedBase, ObservedLibraryDependencies, Origin, PrintedValue, ValueState};
use crate::knowledge::Knowledge;
use crate::shell::{Command, Word};
use crate::source::{SourceId, Span};

/// The largest number of recorded programs per stage.
const MAX_PROGRAMS: usize = 64;
/// The compiler of the CUDA toolkit.
const COMPILER: &str = "nvcc";
/// Compiler options that stop before linking.
const NON_LINKING_OPTIONS: &[&str] = &[
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
/// Extensions of compiler input files.
const INPUT_EXTENSIONS: &[&str] = &["a", "c", "cc", "cpp", "cu", "cxx", "o"];
/// The output name of the compiler without an `-o` option.
const DEFAULT_OUTPUT: &str = "a.out";
/// The CUDA runtime library, which the compiler links statically by default.
const RUNTIME_LIBRARY: &str = "cudart";
/// The C library that compiled programs need.
const C_LIBRARY: &str = "libc.so.6";
/// The prefix of the file name of its dynamic loader.
const LOADER_PREFIX: &str = "ld-linux";
/// Folders of the C library and its dynamic loader.
const C_LIBRARY_FOLDERS: &[&str] =
    &["/lib", "/lib64", "/usr", "/usr/lib", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"];

/// A program that a compiler command links.
#[derive(Clone, Debug)]
pub(super) struct LinkedProgram {
    /// The paths at which the program may be.
    places: Vec<String>,
    /// The libraries that it is linked with, by their linker names: `cublas`.
    links: Vec<String>,
    /// The CUDA release of its compiler and the span that names it, once a COPY took the program from its stage.
    compiler: Option<(CudaVersion, Span)>,
    /// The compiler command and the COPY instructions.
    origins: Vec<Origin>,
}

/// Returns the program that a command, run in `folder`, links.
pub(super) fn parse_link_command(command: &Command, folder: &str, source: SourceId) -> Option<LinkedProgram> {
    if command.program() != Some(COMPILER) {
        return None;
    }
    let words: Vec<&str> = command.words.iter().skip(1).filter_map(Word::known).collect();
    let input = |word: &&str| {
        !word.starts_with('-') && word.rsplit_once('.').is_some_and(|(_, ending)| INPUT_EXTENSIONS.contains(&ending))
    };
    if words.iter().any(|word| NON_LINKING_OPTIONS.contains(word)) || !words.iter().any(input) {
        return None;
    }
    let behind = |at: usize| words.get(at + 1).copied();
    let (mut out, mut links) = (DEFAULT_OUTPUT, Vec::new());
    for (at, word) in words.iter().enumerate() {
        let (name, inline) = word.split_once('=').map_or((*word, None), |(name, value)| (name, Some(value)));
        let value = || inline.or(behind(at)).unwrap_or_default();
        match name {
            "-o" | "--output-file" => out = value(),
            "-l" | "--library" => links.extend(value().split(',').map(str::to_owned)),
            "-cudart" | "--cudart" if value() == "shared" => links.push(RUNTIME_LIBRARY.to_owned()),
            _ => links.extend(word.strip_prefix("-l").filter(|name| !name.contains('=')).map(str::to_owned)),
        }
    }
    Some(LinkedProgram {
        places: vec![absolute_path(folder, out)],
        links,
        compiler: None,
        origins: vec![Origin::File { source, span: command.span }],
    })
}

/// Adds the programs of another stage that a COPY includes; `compiler` is the CUDA release of that stage.
pub(super) fn copy_programs(
    reader: &mut TargetReader<'_>,
    programs: Vec<LinkedProgram>,
    copy: &CopyInstruction,
    compiler: Option<(CudaVersion, Span)>,
) {
    let to =
        copy.destination.as_ref().and_then(|(path, _)| path.known_text()).map(|path| absolute_path(&copy.folder, path));
    for mut program in programs {
        let comes = known_sources(copy).any(|source| compiled_programs::is_program_copied(source, &program.places));
        if !comes || reader.state.programs.len() >= MAX_PROGRAMS {
            continue;
        }
        program.places.extend(to.clone());
        program.compiler = program.compiler.or(compiler);
        program.origins.push(Origin::File { source: reader.source, span: copy.span });
        reader.state.programs.push(program);
    }
}

/// Records what the copied programs need: the CUDA of their compiler, shared libraries, and the C library.
pub(super) fn record_program_needs(reader: &mut TargetReader<'_>, evaluated: &EvaluatedTarget, knowledge: Knowledge) {
    let copied: Vec<LinkedProgram> =
        reader.state.programs.iter().filter(|one| one.origins.len() > 1).cloned().collect();
    for program in &copied {
        if let Some((cuda, span)) = program.compiler.filter(|(cuda, _)| needs_compiler_cuda(reader, *cuda, knowledge)) {
            let mut of_copy = program.origins.iter().filter_map(|origin| match origin {
                Origin::File { span, .. } => Some(*span),
                _ => None,
            });
            record_cuda_runtime(reader, cuda, [span, of_copy.next_back().unwrap_or(span)]);
        }
    }
    let mut needs: Vec<String> = Vec::new();
    let mut origins: Vec<Origin> = Vec::new();
    for program in &copied {
        let sonames = program.compiler.iter().flat_map(|(cuda, _)| {
            program.links.iter().filter_map(|link| copied_toolkit::find_soname(&format!("lib{link}"), *cuda, knowledge))
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
        brought.filter(|_| base_lacks_c_library(&reader.seen.base, knowledge) && !copies_c_library(evaluated))
    {
        needs.push(C_LIBRARY.to_owned());
        origins.extend(brought.into_iter().filter(|origin| !origins.contains(origin)).collect::<Vec<_>>());
    }
    if needs.is_empty() {
        return;
    }
    let file = code.map_or_else(|| format!("code that {COMPILER} compiles"), |code| code.file.clone());
    let state = ValueState::Known(PrintedValue::List(needs.clone()));
    let fact = reader.seen.facts.add(FactKey::FileNeeds, Some(&file), state, Evidence::Leaf(origins));
    reader.seen.needs.push(ObservedLibraryDependencies { file, component: None, needs, opens: Vec::new(), fact });
}

/// Whether programs of a compiler add their CUDA to an image: it has none of its own, or another release.
pub(super) fn needs_compiler_cuda(reader: &TargetReader<'_>, cuda: CudaVersion, knowledge: Knowledge) -> bool {
    let seen = &reader.seen;
    let of_base = || match &seen.base {
        ObservedBase::Image(image, _) => copied_toolkit::release_of_cuda_image(image, knowledge),
        ObservedBase::Scratch(_) | ObservedBase::NotSaid | ObservedBase::Unresolved(..) => None,
    };
    let other = || of_base().is_some_and(|own| own.release() != cuda.release());
    seen.cuda_runtime.is_none() && (copied_toolkit::base_lacks_cuda(seen, knowledge) || other())
}

/// Whether the base image has no C library that a compiled program can use.
fn base_lacks_c_library(base: &ObservedBase, knowledge: Knowledge) -> bool {
    match base {
        ObservedBase::Scratch(_) => true,
        ObservedBase::Image(image, _) => {
            let system = knowledge.operating_system(&image.familiar_name(), image.tag().unwrap_or_default());
            knowledge.plain_image(&image.familiar_name()).is_some() && system.is_some_and(|system| system.musl)
        }
        ObservedBase::NotSaid | ObservedBase::Unresolved(..) => false,
    }
}

/// Whether a COPY adds the C library, or a folder that contains it.
fn copies_c_library(evaluated: &EvaluatedTarget) -> bool {
    let mut all = evaluated.copies.iter().flat_map(known_sources);
    all.any(|source| {
        let path = absolute_path("/", source);
        let path = path.trim_end_matches('*').trim_end_matches('/');
        package_locations::is_whole_tree(source)
            || C_LIBRARY_FOLDERS.contains(&path)
            || split_path(path).1.starts_with(LOADER_PREFIX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::MappedText;
    use crate::shell::script_commands;

    /// Returns the linked program of a RUN, as text.
    fn program_of(run: &str) -> String {
        let commands = script_commands(&MappedText::contiguous(run, 0));
        let program = commands.first().and_then(|command| parse_link_command(command, "/src", SourceId(0)));
        program.map_or_else(String::new, |one| format!("{} {}", one.places.join(" "), one.links.join(" ")))
    }

    #[test]
    fn linked_programs_have_their_libraries() {
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
            assert_eq!(program_of(run), expected, "{run}");
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
            assert_eq!(program_of(run), "", "{run}");
        }
    }
}
