//! Programs that stages compile or link: their code for GPUs, and what they need in an image that copies them.

use crate::build::{Command, Word};
use crate::cuda::{CudaVersion, is_at_or_below};
use crate::dockerfile::context::{normalize_path, path_matches};
use crate::dockerfile::{CopyDestination, RunInstruction};
use crate::extract::command_effects::is_plain_file;
use crate::extract::command_step::PossibleMove;
use crate::extract::stage_files::{StageFileTree, absolute_path, copy_source_candidates, heredoc_name, strip_folder};
use crate::install::enables_gpu_code;
use crate::model::fact::Origin;
use crate::text::source::{SourceId, Span};

/// Default prefix of `make install`; Python has folders of its own below it.
const DEFAULT_INSTALL_PREFIX: &str = "/usr/local";

/// Returns the folders and files that may contain the programs that a command compiles.
pub(super) fn compiled_program_paths(command: &Command, words: &[&str], folder: &str) -> Vec<String> {
    let after = |short: &str| {
        let at = words.iter().position(|word| *word == short)?;
        words.get(at + 1).map(|path| absolute_path(folder, path))
    };
    let behind =
        |start: &str| words.iter().find_map(|word| word.strip_prefix(start)).map(|path| absolute_path(folder, path));
    match command.program() {
        Some("nvcc") => vec![after("-o").unwrap_or_else(|| folder.to_owned())],
        Some("cmake") if words.contains(&"--install") => {
            let prefix = after("--prefix").or_else(|| behind("--prefix="));
            vec![prefix.unwrap_or_else(|| DEFAULT_INSTALL_PREFIX.to_owned())]
        }
        Some("cmake") if words.contains(&"--build") => after("--build").into_iter().collect(),
        Some("cmake") => {
            let prefix = behind("-DCMAKE_INSTALL_PREFIX=").or_else(|| behind("-DCMAKE_INSTALL_PREFIX:PATH="));
            let build = after("-B").or_else(|| behind("-B").filter(|path| path != folder));
            let source = after("-S");
            let here = (build.is_none() || source.is_none()).then(|| folder.to_owned());
            [here, prefix, build, source].into_iter().flatten().collect()
        }
        Some("make" | "ninja") if words.contains(&"install") => {
            vec![behind("DESTDIR=").unwrap_or_else(|| DEFAULT_INSTALL_PREFIX.to_owned())]
        }
        _ => Vec::new(),
    }
}

/// Whether a command compiles for GPUs, or configures such a build.
pub(super) fn is_gpu_compilation(command: &Command) -> bool {
    match command.program() {
        Some("nvcc") => {
            let source = |word: &str| word.rsplit_once('.').is_some_and(|(_, ending)| ending == "cu");
            command.words.iter().filter_map(Word::known).any(|word| word == "-o" || source(word))
        }
        Some("cmake" | "make") => enables_gpu_code(command),
        _ => false,
    }
}

/// Whether copying `source` from a stage includes programs at one of these paths.
pub(super) fn is_program_copied(source: &str, places: &[String]) -> bool {
    let named = source.split(['*', '?', '[']).next().unwrap_or(source);
    let named = if named.len() == source.len() { named } else { named.rsplit_once('/').map_or("", |(above, _)| above) };
    // A text file is no program, even if something was compiled next to it.
    if is_plain_file(source) || source.rsplit('.').next() == Some("sh") {
        return false;
    }
    let source = absolute_path("/", named);
    let within = |path: &str, folder: &str| folder == "/" || is_at_or_below(path, folder);
    places.iter().any(|place| {
        let usual = place == DEFAULT_INSTALL_PREFIX && ["/python", "/cuda"].iter().any(|other| source.contains(other));
        within(place, &source) || (within(&source, place) && !usual)
    })
}

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
/// The largest number of places of one program.
const MAX_PLACES: usize = 16;
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

impl LinkedProgram {
    /// Adds the paths at which the program may be after files were copied or moved. Another one may get the old path.
    pub(super) fn record_moves(&mut self, moves: &[PossibleMove]) {
        for moved in moves {
            for place in self.places.iter().flat_map(|place| moved.new_paths(place)).collect::<Vec<_>>() {
                if !self.places.contains(&place) && self.places.len() < MAX_PLACES {
                    self.places.push(place);
                }
            }
        }
    }
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

/// The largest number of files that a pattern may match.
const MAX_MATCHES: usize = 64;

impl StageFileTree<'_> {
    /// Returns the paths of the copied files that match a glob pattern of the image; `None` where they are unknown.
    pub(super) fn expand_glob(&self, run: &RunInstruction, pattern: &str) -> Option<Vec<String>> {
        let (folder, name) = pattern.rsplit_once('/')?;
        if folder.contains(['*', '?', '[']) {
            return None;
        }
        let names = |text: &str| text.lines().map(|name| format!("{folder}/{name}")).collect::<Vec<_>>();
        if let Some(mounted) = self.open_mounted(run, pattern) {
            return Some(names(mounted.ok()?.text.text()));
        }
        let mut found = Vec::new();
        for copy in self.evaluated.copies.iter().filter(|copy| copy.instruction < run.instruction) {
            let CopyDestination { path: into, is_folder } = copy.destination.as_ref()?;
            let near = strip_folder(folder, into).is_some() || strip_folder(into, folder).is_some();
            if near && (copy.from.is_some() || copy.parents) {
                return None;
            }
            for (source, _) in copy.sources.iter().filter(|_| near) {
                let source = source.known_text()?;
                let own = source.strip_prefix("<<").map(heredoc_name);
                let last = own.unwrap_or_else(|| source.rsplit('/').next().unwrap_or(source));
                let path = if *is_folder { absolute_path(into, last) } else { into.clone() };
                let is_one = !last.contains(['*', '?', '['])
                    && strip_folder(&path, folder) == path.rsplit('/').next()
                    && path_matches(pattern, &path);
                if is_one && (own.is_some() || self.build_context.open(&normalize_path(source)).is_ok()) {
                    found.push(path);
                }
                for candidate in copy_source_candidates(source, into, pattern, *is_folder) {
                    // Of a pattern in the COPY those count that are of both.
                    let listing = self.build_context.open(&normalize_path(&candidate));
                    found.extend(listing.iter().flat_map(|file| names(&file.text)));
                }
            }
            if found.len() > MAX_MATCHES {
                return None;
            }
        }
        found.retain(|path| path.rsplit('/').next().is_some_and(|own| path_matches(name, own)));
        Some(found)
    }

    /// Returns the names of the wheels in a folder; `None` where a COPY instruction may add others.
    pub(super) fn wheel_names(&self, run: &RunInstruction, folder: &str) -> Option<Vec<String>> {
        if self.open_mounted(run, &format!("{folder}/*")).is_some() {
            return None;
        }
        let mut found = Vec::new();
        for copy in self.evaluated.copies.iter().filter(|copy| copy.instruction < run.instruction) {
            let CopyDestination { path: into, .. } = copy.destination.as_ref()?;
            if strip_folder(folder, into).is_none() && strip_folder(into, folder).is_none() {
                continue;
            }
            for (source, _) in &copy.sources {
                let source = source.known_text().filter(|_| !copy.parents)?;
                let name = source.rsplit('/').next().unwrap_or(source);
                let is_wheel = name.rsplit('.').next() == Some("whl");
                if name.contains(['*', '?', '[', ':']) || !is_wheel && !is_plain_file(name) {
                    return None;
                }
                found.extend((is_wheel && into == folder).then(|| name.to_owned()));
            }
            if found.len() > MAX_MATCHES {
                return None;
            }
        }
        (!found.is_empty()).then_some(found)
    }

    /// Whether a COPY from the build context may add a file of this name or pattern below `folder`, or anywhere
    /// without one.
    pub(super) fn may_copy_file(&self, run: &RunInstruction, folder: Option<&str>, name: &str) -> bool {
        let copies =
            self.evaluated.copies.iter().filter(|copy| copy.instruction < run.instruction && copy.from.is_none());
        copies.filter_map(|copy| Some((copy, &copy.destination.as_ref()?.path))).any(|(copy, into)| {
            let near = folder
                .is_none_or(|folder| strip_folder(folder, into).is_some() || strip_folder(into, folder).is_some());
            near && copy.sources.iter().filter_map(|(source, _)| source.known_text()).any(|source| {
                let last = source.strip_prefix("<<").map_or(source, heredoc_name);
                let last = last.rsplit('/').next().unwrap_or(last);
                let inside = || {
                    self.build_context
                        .open(&normalize_path(&format!("{source}/{name}")))
                        .is_ok_and(|file| !file.text.is_empty())
                };
                path_matches(name, last) || path_matches(last, name) || inside()
            })
        })
    }
}

#[cfg(test)]
mod compiled_programs_tests {
    use super::*;
    use crate::dockerfile::MappedText;
    use crate::shell::script_commands;

    /// Returns the paths that may contain the programs that a script compiles.
    fn program_paths(workdir: &str, run: &str) -> String {
        let mut folder = workdir.to_owned();
        let mut found: Vec<String> = Vec::new();
        for command in script_commands(&MappedText::contiguous(run, 0)) {
            let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
            if let ["cd", to] = words.as_slice() {
                folder = absolute_path(&folder, to);
            }
            for place in compiled_program_paths(&command, &words, &folder) {
                if place != "/" && !found.contains(&place) {
                    found.push(place);
                }
            }
        }
        found.join(" ")
    }

    #[test]
    fn compilers_leave_programs_in_their_folders() {
        for (workdir, run, expected) in [
            ("/", "nvcc -arch=sm_80 -o /app/x x.cu", "/app/x"),
            ("/src", "nvcc -arch=sm_80 -o bin/x x.cu", "/src/bin/x"),
            ("/src", "nvcc -arch=sm_80 x.cu", "/src"),
            ("/src", "cmake -B build -DX=1 && cmake --build build", "/src /src/build"),
            (
                "/src",
                "mkdir b && cd b && cmake .. -DCMAKE_INSTALL_PREFIX=/out && ninja install",
                "/src/b /out /usr/local",
            ),
            ("/", "git clone https://h/llama.cpp && cd llama.cpp && cmake -B build", "/llama.cpp /llama.cpp/build"),
            ("/src", "cmake -S . -B /b && cmake --install /b --prefix /opt/x", "/b /src /opt/x"),
            ("/w", "cmake -S y -B b -DX=1 && cmake --build b", "/w/b /w/y"),
            ("/src", "make && make DESTDIR=/stage install", "/stage"),
            // Nothing is compiled, or its location is unknown.
            ("/", "nvcc -arch=sm_80 x.cu", ""),
            ("/src", "make; ninja; gcc -o x x.c; pip install torch; echo nvcc -o y", ""),
        ] {
            assert_eq!(program_paths(workdir, run), expected, "{run}");
        }
    }

    #[test]
    fn compiled_gpu_builds_are_marked() {
        for (run, expected) in [
            ("nvcc -o x x.cu", true),
            ("nvcc -c x.cu", true),
            ("cmake -B build -DGGML_CUDA=ON", true),
            ("make -j8 GGML_CUDA=1", true),
            ("make GPU=1 CUDNN=1", true),
            ("nvcc --version", false),
            ("cmake -B build -DGGML_CUDA=OFF", false),
            ("cmake -B build -DCMAKE_BUILD_TYPE=Release", false),
            ("cmake --build build", false),
            ("make -j8", false),
            ("make GGML_CUDA=0", false),
            ("ninja install", false),
            ("go build -o /out/tool", false),
            ("echo cmake -DGGML_CUDA=ON", false),
        ] {
            let commands = script_commands(&MappedText::contiguous(run, 0));
            assert_eq!(commands.first().map(is_gpu_compilation), Some(expected), "{run}");
        }
    }

    #[test]
    fn a_program_is_copied_with_its_folder() {
        let own: Vec<String> = ["/src/build", "/out"].map(str::to_owned).to_vec();
        let usual = vec![DEFAULT_INSTALL_PREFIX.to_owned()];
        for (source, places, expected) in [
            ("/src/build/bin", &own, true),
            ("/src/build/bin/*", &own, true),
            ("/src", &own, true),
            ("/", &own, true),
            ("/out/", &own, true),
            ("out/lib/lib*.so", &own, true),
            ("/usr/local", &usual, true),
            ("/usr/local/bin/colmap", &usual, true),
            ("/usr/local/lib", &usual, true),
            ("/src/build2", &own, false),
            ("/src/README", &own, false),
            ("/src/build/convert.py", &own, false),
            ("/src/build/*.py", &own, false),
            ("/out/run.sh", &own, false),
            ("/outer", &own, false),
            ("/opt/venv", &own, false),
            ("/usr/local/lib/python3.10/site-packages", &usual, false),
            ("/usr/local/cuda/lib64", &usual, false),
            ("/usr/share", &usual, false),
            ("/src/build", &Vec::new(), false),
        ] {
            assert_eq!(is_program_copied(source, places), expected, "{source}");
        }
    }
}

#[cfg(test)]
mod linked_programs_tests {
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
