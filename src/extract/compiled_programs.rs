//! Where commands leave the programs that they compile, and which copied paths include them.

use crate::cuda::is_at_or_below;
use crate::extract::command_effects::PLAIN_EXTENSIONS;
use crate::extract::stage_files::absolute_path;
use crate::install::enables_gpu_code;
use crate::shell::{Command, Word};

/// Default prefix of `make install`; Python has folders of its own below it.
const DEFAULT_INSTALL_PREFIX: &str = "/usr/local";

/// Returns the folders and files in which the programs that a command compiles may lie.
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

/// Whether copying `source` from a stage includes programs that lie at one of these paths.
pub(super) fn is_program_copied(source: &str, places: &[String]) -> bool {
    let named = source.split(['*', '?', '[']).next().unwrap_or(source);
    let named = if named.len() == source.len() { named } else { named.rsplit_once('/').map_or("", |(above, _)| above) };
    // A text is no program, whatever was compiled beside it.
    if source.rsplit_once('.').is_some_and(|(_, ending)| PLAIN_EXTENSIONS.contains(&ending) || ending == "sh") {
        return false;
    }
    let source = absolute_path("/", named);
    let within = |path: &str, folder: &str| folder == "/" || is_at_or_below(path, folder);
    places.iter().any(|place| {
        let usual = place == DEFAULT_INSTALL_PREFIX && ["/python", "/cuda"].iter().any(|other| source.contains(other));
        within(place, &source) || (within(&source, place) && !usual)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::MappedText;
    use crate::shell::script_commands;

    /// Returns the paths in which the programs that a script compiles may lie.
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
            // Nothing is compiled, or nobody can tell where.
            ("/", "nvcc -arch=sm_80 x.cu", ""),
            ("/src", "make; ninja; gcc -o x x.c; pip install torch; echo nvcc -o y", ""),
        ] {
            assert_eq!(program_paths(workdir, run), expected, "{run}");
        }
    }

    #[test]
    fn builds_for_gpus_say_so() {
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
    fn a_program_comes_along_where_its_folder_does() {
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
