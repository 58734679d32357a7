//! Programs that commands of a build stage link: their paths and their libraries.

use crate::cuda::CudaVersion;
use crate::extract::stage_files::absolute_path;
use crate::model::fact::Origin;
use crate::shell::{Command, Word};
use crate::text::source::{SourceId, Span};

/// The compiler of the CUDA toolkit.
pub(super) const COMPILER: &str = "nvcc";
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
/// A program that a compiler command links.
#[derive(Clone, Debug)]
pub(super) struct LinkedProgram {
    /// The paths at which the program may be.
    pub(super) places: Vec<String>,
    /// The libraries that it is linked with, by their linker names: `cublas`.
    pub(super) links: Vec<String>,
    /// The CUDA release of its compiler and the span that names it, once a COPY took the program from its stage.
    pub(super) compiler: Option<(CudaVersion, Span)>,
    /// The compiler command and the COPY instructions.
    pub(super) origins: Vec<Origin>,
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
