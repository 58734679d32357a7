//! GPU targets of compile commands: architecture lists, each tied to the command that reads it.

use crate::cause::Cause;
use crate::cuda::CodeTarget;
use crate::dockerfile::{ExpandedText, VariableLookup};
use crate::install::arch_lists::{OFF_VALUES, cmake_definitions};
use crate::install::requirement::normalise_name;
use crate::install::{CommandContext, nvcc, torch_arch_list};
use crate::knowledge::CudaExtensionRow;
use crate::shell::{Command, Word};
use crate::source::Span;

/// GPU code that a command compiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompiledCode {
    /// The distribution that it belongs to; `None` for a program of the image itself.
    pub component: Option<String>,
    /// The program or variable that determines the targets.
    pub by: String,
    /// The targets with machine code (cubins).
    pub sass: Vec<CodeTarget>,
    /// The targets with PTX.
    pub ptx: Vec<CodeTarget>,
    /// Why the targets are unknown, although code is compiled.
    pub untold: Option<Cause>,
    /// Where the targets are written in the text of the command.
    pub spans: Vec<Span>,
    /// Where the targets are written elsewhere in the Dockerfile, if they are in an environment variable.
    pub outside: Vec<Span>,
}

impl CompiledCode {
    /// Adds a machine code target, and PTX for it if requested.
    pub(super) fn add_target(&mut self, target: CodeTarget, ptx: bool) {
        let lists = [Some(&mut self.sass), ptx.then_some(&mut self.ptx)];
        for list in lists.into_iter().flatten().filter(|list| !list.contains(&target)) {
            list.push(target);
        }
    }

    /// Parses and adds a machine code target; `None` if it is invalid.
    pub(super) fn add_cubin(&mut self, text: &str) -> Option<()> {
        let target = text.parse().ok()?;
        if !self.sass.contains(&target) {
            self.sass.push(target);
        }
        Some(())
    }

    /// Records where the list of a variable is written.
    pub(super) fn set_origins(&mut self, origins: Vec<Span>, inside: bool, command: &Command) {
        if inside {
            self.spans = origins;
        } else {
            self.outside = origins;
        }
        if self.spans.is_empty() && self.outside.is_empty() {
            self.spans.push(command.span);
        }
    }

    /// Parses and adds a PTX target; `None` if it is invalid.
    pub(super) fn add_ptx(&mut self, text: &str) -> Option<()> {
        let target = text.parse().ok()?;
        if !self.ptx.contains(&target) {
            self.ptx.push(target);
        }
        Some(())
    }
}

/// Function that returns the torch release of the image, called only if it is needed.
pub(super) type TorchReleaseLookup<'a> = &'a dyn Fn() -> Option<String>;

/// Returns the code that a command compiles, with the image's release of `torch`; `None` if it compiles none or its
/// targets are unknown.
pub fn compiled_code(
    command: &Command,
    folder: &str,
    around: &CommandContext<'_>,
    torch: TorchReleaseLookup<'_>,
) -> Option<CompiledCode> {
    match command.program()? {
        "nvcc" => nvcc::nvcc_code(command, around.lookup),
        "make" => nvcc::make_code(command, folder, around),
        "cmake" => cmake_code(command, around.lookup),
        program if program.starts_with("pip") || program.starts_with("python") || program == "uv" => {
            extension_code(command, folder, around, torch)
        }
        _ => None,
    }
}

/// Last parts of the names of definitions that switch GPU code on: `GGML_CUDA`, `USE_GPU`.
const GPU_SWITCH_SUFFIXES: &[&str] = &["CUDA", "CUBLAS", "GPU"];
/// First parts of the names of such definitions, if they are about the whole build.
const GPU_SWITCH_PREFIXES: &[&str] = &["ENABLE", "FAISS", "GGML", "LLAMA", "USE", "WHISPER", "WITH"];

/// Whether definitions of cmake switch GPU code on or off; the error is the name of a definition with an unknown
/// value.
fn gpu_switch<'a>(words: &[(&'a str, Span)]) -> Option<Result<bool, &'a str>> {
    let of = |name: &str| {
        let mut parts = name.split('_').rev().map(str::to_ascii_uppercase);
        parts.next().is_some_and(|last| GPU_SWITCH_SUFFIXES.contains(&last.as_str()))
            && parts.all(|part| GPU_SWITCH_PREFIXES.contains(&part.as_str()))
    };
    let off = |value: &str| OFF_VALUES.contains(&value.trim_matches(['"', '\'']).to_ascii_uppercase().as_str());
    let mut said: Option<Result<bool, &str>> = None;
    for (name, value, _) in cmake_definitions(words).into_iter().filter(|(name, ..)| of(name)) {
        said = match (said, value) {
            (Some(Ok(true)), _) => said,
            (_, value) if value.contains(['$', '`']) => Some(Err(name)),
            (Some(Err(_)), value) if off(value) => said,
            (_, value) => Some(Ok(!off(value))),
        };
    }
    said
}

/// Whether a command line of cmake or make switches GPU code on: `-DGGML_CUDA=ON`, `make GGML_CUDA=1`.
pub fn enables_gpu_code(command: &Command) -> bool {
    let words: Vec<(&str, Span)> =
        command.words.iter().map(|word| (word.known().unwrap_or(&word.raw), word.span)).collect();
    if command.program() != Some("make") {
        return gpu_switch(&words) == Some(Ok(true));
    }
    let defined: Vec<(String, Span)> =
        words.iter().filter(|(word, _)| word.contains('=')).map(|(word, span)| (format!("-D{word}"), *span)).collect();
    let defined: Vec<(&str, Span)> = defined.iter().map(|(word, span)| (word.as_str(), *span)).collect();
    gpu_switch(&defined) == Some(Ok(true))
}

/// Name of the cmake definition with the GPU architectures.
const CMAKE_ARCHITECTURES: &str = "CMAKE_CUDA_ARCHITECTURES";

/// Returns the code of a build that cmake configures with `-DCMAKE_CUDA_ARCHITECTURES="80;90-real"` or otherwise
/// `CUDAARCHS`.
fn cmake_code(command: &Command, lookup: &dyn Fn(&str) -> VariableLookup) -> Option<CompiledCode> {
    let mut found = CompiledCode { by: "cmake".to_owned(), ..CompiledCode::default() };
    let words: Vec<(&str, Span)> =
        command.words.iter().map(|word| (word.known().unwrap_or(&word.raw), word.span)).collect();
    let switched = gpu_switch(&words);
    if switched == Some(Ok(false)) {
        return None;
    }
    // The lists of OpenCV's build and its kin hold nothing but numbers, and count where it is told to build for GPUs.
    for (name, list, span) in cmake_definitions(&words).into_iter().filter(|_| switched == Some(Ok(true))) {
        let list = list.trim_matches(['"', '\'']).split([';', ',', ' ']).map(|one| one.trim().replace('.', ""));
        let mut list = list.filter(|one| !one.is_empty());
        match name {
            "CUDA_ARCH_BIN" => list.try_for_each(|one| found.add_cubin(&one))?,
            "CUDA_ARCH_PTX" => list.try_for_each(|one| found.add_ptx(&one))?,
            _ => continue,
        }
        found.spans.push(span);
    }
    for word in &command.words {
        let Some(text) = word.known() else {
            // A list that cannot be told is not the one in the environment either.
            if word.raw.contains(CMAKE_ARCHITECTURES) {
                return None;
            }
            continue;
        };
        if matches!(text, "--build" | "--install" | "--open" | "-E" | "-P" | "--version" | "--help") {
            return None;
        }
    }
    for (_, list, span) in cmake_definitions(&words).into_iter().filter(|(name, ..)| *name == CMAKE_ARCHITECTURES) {
        add_cmake_architectures(list.trim_matches(['"', '\'']), &mut found)?;
        found.spans.push(span);
    }
    if found.spans.is_empty()
        && let Some((list, origins, inside)) = variable_with_origins(command, lookup, "CUDAARCHS")
    {
        add_cmake_architectures(&list, &mut found)?;
        "CUDAARCHS".clone_into(&mut found.by);
        found.set_origins(origins, inside, command);
    }
    let any = !found.sass.is_empty() || !found.ptx.is_empty();
    if let Some(Err(name)) = switched.filter(|_| any) {
        (found.sass, found.ptx) = (Vec::new(), Vec::new());
        found.untold = Some(Cause::CompileSwitch { name: name.to_owned() });
    }
    any.then_some(found)
}

/// Returns the list in an argument such as `-DCMAKE_CUDA_ARCHITECTURES=80;90`.
fn cmake_architectures(word: &str) -> Option<&str> {
    let (name, list) = word.strip_prefix("-D")?.split_once('=')?;
    (name.split(':').next() == Some(CMAKE_ARCHITECTURES)).then(|| list.trim_matches(['"', '\'']))
}

/// Adds the targets of a cmake list: a number for both kinds of code, `-real` or `-virtual` for one.
fn add_cmake_architectures(list: &str, found: &mut CompiledCode) -> Option<()> {
    for part in list.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        match part.rsplit_once('-') {
            Some((number, "real")) => found.add_cubin(number)?,
            Some((number, "virtual")) => found.add_ptx(number)?,
            Some(_) => return None,
            None => {
                found.add_cubin(part)?;
                found.add_ptx(part)?;
            }
        }
    }
    Some(())
}

/// Returns the value of a variable, where it is written, and whether that is in the text of the command.
pub(super) fn variable_with_origins(
    command: &Command,
    lookup: &dyn Fn(&str) -> VariableLookup,
    name: &str,
) -> Option<(String, Vec<Span>, bool)> {
    match command.variable(name) {
        Some(ExpandedText::Known { value, origins }) => Some((value.clone(), origins.clone(), true)),
        Some(ExpandedText::Unresolved { .. }) => None,
        None => match lookup(name) {
            VariableLookup::Known(value, origins) => Some((value, origins, false)),
            _ => None,
        },
    }
}

/// Returns the table row of the package that a command compiles.
pub(super) fn compiled_extension_row<'a, 'w>(
    command: &'w Command,
    folder: &str,
    lookup: &dyn Fn(&str) -> VariableLookup,
    extensions: &'a [CudaExtensionRow],
) -> Option<&'a CudaExtensionRow> {
    let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
    if !words.iter().any(|word| matches!(*word, "install" | "develop" | "bdist_wheel" | "build_ext")) {
        return None;
    }
    let variable = |name: &str| variable_with_origins(command, lookup, name);
    // The part for Python may lie two folders below.
    let here = |repository: &str| folder.rsplit('/').take(3).any(|part| part.eq_ignore_ascii_case(repository));
    let of_folder = words.iter().any(|word| matches!(*word, "." | "./" | "-e" | "setup.py" | ".[all]"));
    // A repository that lies in another: `pip install ./submodules/simple-knn`.
    // Of what follows an option it is not known whether it is the option's value.
    let inside = |pair: &[&'w str]| {
        let [before, word] = pair else { return None };
        let free = !before.starts_with('-') || matches!(*before, "-e" | "--editable" | "--no-build-isolation");
        let path = word.split('[').next().unwrap_or(word).trim_end_matches('/');
        let (above, last) = path.rsplit_once('/').filter(|_| free)?;
        (!above.is_empty() && !above.starts_with(['/', '-']) && !word.contains("://")).then_some(last)
    };
    let insides: Vec<&str> = words.windows(2).filter_map(inside).collect();
    let repository = |word: &&'w str| {
        let path = word.split(['@', '#']).find(|part| part.contains("://")).unwrap_or("");
        path.trim_end_matches('/').trim_end_matches(".git").rsplit('/').next()
    };
    let repositories: Vec<&str> = words.iter().filter(|word| word.contains("git+")).filter_map(repository).collect();
    let name = |word: &&str| normalise_name(word.split(['=', '<', '>', '~', '!', '[', ' ']).next().unwrap_or(""));
    let distributions: Vec<String> = words.iter().map(name).collect();
    let from_source = words.iter().any(|word| word.starts_with("--no-binary"));
    let built = |row: &&CudaExtensionRow| {
        let forced = || {
            let value = row.force.and_then(&variable);
            value.is_some_and(|(value, ..)| value.eq_ignore_ascii_case("true") || value == "1")
        };
        // A page of links serves wheels.
        let links = || {
            words.iter().any(|word| {
                let name = word.split('=').next().unwrap_or(word);
                let other_index = row.cmake && matches!(name, "-i" | "--index-url" | "--extra-index-url" | "--index");
                matches!(name, "-f" | "--find-links") || other_index
            })
        };
        let named = || distributions.iter().any(|one| one == row.distribution);
        let compiles = || from_source || (row.sdist && !links()) || forced();
        (of_folder && here(row.repository))
            || [&repositories, &insides].into_iter().any(|names| names.contains(&row.repository))
            || (named() && compiles())
    };
    extensions.iter().find(built)
}

/// Returns the code that a command compiles for a package of the table.
fn extension_code(
    command: &Command,
    folder: &str,
    around: &CommandContext<'_>,
    torch: TorchReleaseLookup<'_>,
) -> Option<CompiledCode> {
    let (lookup, knowledge) = (around.lookup, around.knowledge);
    let row = compiled_extension_row(command, folder, lookup, knowledge.cuda_extensions())?;
    let on = |name: &str| variable_with_origins(command, lookup, name).is_some_and(|(value, ..)| value == "1");
    row.switch.is_none_or(on).then_some(())?;
    let (list, origins, inside) = variable_with_origins(command, lookup, row.variable)?;
    let mut found = CompiledCode { component: Some(row.distribution.to_owned()), ..CompiledCode::default() };
    row.variable.clone_into(&mut found.by);
    if row.cmake {
        list.split([' ', '\t'])
            .filter_map(cmake_architectures)
            .try_for_each(|list| add_cmake_architectures(list, &mut found))?;
        (!found.sass.is_empty() || !found.ptx.is_empty()).then_some(())?;
    } else if row.plain {
        add_plain_list(&list, &mut found)?;
        found.ptx = if row.also == Some("ptx") { found.sass.clone() } else { Vec::new() };
    } else {
        torch_arch_list::read_torch_arch_list(&list, torch().as_deref(), knowledge, &mut found)?;
    }
    found.set_origins(origins, inside, command);
    Some(found)
}

/// Adds the machine code targets of a list of numbers.
fn add_plain_list(list: &str, found: &mut CompiledCode) -> Option<()> {
    list.split([';', ',', ' '])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .try_for_each(|part| found.add_cubin(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::MappedText;
    use crate::install::{MarkerEnvironment, TargetMachine};
    use crate::knowledge::Knowledge;
    use crate::shell::script_commands;

    /// `component: targets` of every command that compiles.
    fn compiled_targets(text: &str, folder: &str) -> Vec<String> {
        let lookup = |name: &str| match name {
            "TORCH_CUDA_ARCH_LIST" => VariableLookup::Known("8.0;9.0+PTX".to_owned(), vec![Span::new(0, 1)]),
            _ => VariableLookup::Unset,
        };
        let commands = script_commands(&MappedText::contiguous(text, 0));
        let open = |_: &str, _: &str| Err(Cause::NotCopied);
        let environment = MarkerEnvironment { machine: TargetMachine::new("x86_64"), python: None };
        let around = CommandContext { lookup: &lookup, open: &open, environment, knowledge: Knowledge::built_in() };
        let found = commands.iter().filter_map(|one| compiled_code(one, folder, &around, &|| None));
        let list = |list: &[CodeTarget]| list.iter().map(|target| target.number()).collect::<Vec<_>>().join(" ");
        found
            .map(|one| {
                one.untold.as_ref().map_or_else(
                    || {
                        format!(
                            "{}: {} | {}",
                            one.component.clone().unwrap_or_default(),
                            list(&one.sass),
                            list(&one.ptx)
                        )
                    },
                    ToString::to_string,
                )
            })
            .collect()
    }

    #[test]
    fn lists_belong_to_the_command_that_reads_them() {
        for (text, folder, expected) in [
            (
                "nvcc -gencode arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=[sm_90,compute_90] a.cu",
                "/",
                vec![": 80 90 | 90"],
            ),
            ("nvcc -arch=sm_75 -o a a.cu", "/", vec![": 75 | 75"]),
            ("nvcc -arch=compute_70 -code=sm_70,sm_75 a.cu", "/", vec![": 70 75 | "]),
            ("cmake -D CMAKE_CUDA_ARCHITECTURES='80;86-real;90a-virtual' .", "/", vec![": 80 86 | 80 90a"]),
            (
                "TORCH_CUDA_ARCH_LIST='7.5 8.6+PTX' pip install git+https://github.com/NVIDIA/apex.git@main",
                "/",
                vec!["apex: 75 86 | 86"],
            ),
            (
                "TCNN_CUDA_ARCHITECTURES=75,86 pip install git+https://github.com/NVlabs/tiny-cuda-nn/#subdirectory=bindings/torch",
                "/",
                vec!["tinycudann: 75 86 | 75 86"],
            ),
            ("TCNN_CUDA_ARCHITECTURES=86 python setup.py install", "/src/tiny-cuda-nn/x", vec!["tinycudann: 86 | 86"]),
            ("TCNN_CUDA_ARCHITECTURES=86 python setup.py install", "/src/other", vec![]),
            ("export TORCH_CUDA_ARCH_LIST=Hopper; pip install torch-scatter", "/", vec!["torch-scatter: 90 | 90"]),
            ("pip install torch-scatter", "/", vec!["torch-scatter: 80 90 | 90"]),
            ("FORCE_CUDA=1 MMCV_WITH_OPS=1 pip install mmcv-full==1.7.2", "/", vec!["mmcv-full: 80 90 | 90"]),
            ("FORCE_CUDA=1 pip install -e .", "/src/mmcv", vec!["mmcv: 80 90 | 90"]),
            // Where the machine that builds shows no GPU, it compiles none without being told to.
            ("MMCV_WITH_OPS=1 pip install mmcv==2.1.0", "/", vec![]),
            ("FORCE_CUDA=0 pip install mmcv==2.1.0", "/", vec![]),
            ("FORCE_CUDA=1 pip install mmcv==2.1.0 -f https://mirror.example/mmcv", "/", vec![]),
            ("python setup.py install", "/src/apex", vec!["apex: 80 90 | 90"]),
            (
                "FLASH_ATTN_CUDA_ARCHS='80;90' FLASH_ATTENTION_FORCE_BUILD=TRUE pip install flash-attn==2.7.4",
                "/",
                vec!["flash-attn: 80 90 | "],
            ),
            (
                "CMAKE_ARGS='-DGGML_CUDA=on -DCMAKE_CUDA_ARCHITECTURES=86;90-real' pip install llama-cpp-python==0.2.90",
                "/",
                vec!["llama-cpp-python: 86 90 | 86"],
            ),
            (
                "export CMAKE_ARGS=-DCMAKE_CUDA_ARCHITECTURES:STRING=75; uv pip install llama_cpp_python",
                "/",
                vec!["llama-cpp-python: 75 | 75"],
            ),
            ("cmake -D CMAKE_CUDA_ARCHITECTURES:STRING='86;90-real' .", "/", vec![": 86 90 | 86"]),
            ("CUDAARCHS='80;90-real' cmake -S . -B b && cmake --build b", "/", vec![": 80 90 | 80"]),
            ("CUDAARCHS=80 cmake -DCMAKE_CUDA_ARCHITECTURES=90 -B b", "/", vec![": 90 | 90"]),
            ("export CUDAARCHS=86; cmake -B b", "/", vec![": 86 | 86"]),
            ("cmake -DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=75-real -B b", "/", vec![": 75 | "]),
            ("cmake -DWITH_CUDA=ON -DCUDA_ARCH_BIN=7.5,8.6 -DCUDA_ARCH_PTX=8.6 ..", "/", vec![": 75 86 | 86"]),
            ("cmake -D WITH_CUDA=ON -D CUDA_ARCH_BIN='7.5 12.0' ..", "/", vec![": 75 120 | "]),
            ("cmake -DA_CUDA=ON -DB_CUDA=OFF -DCMAKE_CUDA_ARCHITECTURES=75-real -B b", "/", vec![": 75 | "]),
            ("cmake -DCMAKE_DISABLE_FIND_PACKAGE_CUDA=OFF -DCMAKE_CUDA_ARCHITECTURES=75-real .", "/", vec![": 75 | "]),
            (
                "cmake -DGGML_CUDA=$(x) -DCMAKE_CUDA_ARCHITECTURES=75-real -B b",
                "/",
                vec!["GGML_CUDA, whose value is unknown, decides whether it is compiled"],
            ),
            // The build is told to do without GPUs, or nobody told it to do with.
            ("cmake -B b -DCMAKE_CUDA_ARCHITECTURES='75-real;80-real' -DGGML_CUDA=OFF", "/", vec![]),
            (
                "cmake -DWITH_CUDA=OFF -DCMAKE_CUDA_ARCHITECTURES=75 ..; cmake -DUSE_GPU=0 -DCUDA_ARCH_BIN=7.5 .",
                "/",
                vec![],
            ),
            ("CUDAARCHS=80 cmake -DLLAMA_CUBLAS:BOOL=off -B b; cmake -DCUDA_ARCH_BIN=7.5 ..", "/", vec![]),
            ("cmake -D FAISS_ENABLE_GPU=NO -DCMAKE_CUDA_ARCHITECTURES=75 -B b", "/", vec![]),
            ("cmake -DWITH_CUDA=ON -DCUDA_ARCH_BIN=Turing ..", "/", vec![]),
            // What is left out is a part of the build.
            ("cmake -DENABLE_MULTI_GPU=OFF -DCMAKE_CUDA_ARCHITECTURES=75-real ..", "/", vec![": 75 | "]),
            ("cmake -DOPENCV_DNN_CUDA=OFF -DMPI_CUDA=OFF -DCMAKE_CUDA_ARCHITECTURES=75-real ..", "/", vec![": 75 | "]),
            // The list is read when the build is configured, and where none is said to it.
            ("cmake -B b; export CUDAARCHS=86; cmake --build b; CUDAARCHS=90 make", "/", vec![]),
            ("CUDAARCHS=80 cmake -DCMAKE_CUDA_ARCHITECTURES=$UNKNOWN_LIST$(x) -B b", "/", vec![]),
            ("CUDAARCHS=native cmake -B b; CUDAARCHS=80 cmake -E echo", "/", vec![]),
            // A wheel is not compiled, whatever a variable says.
            ("FLASH_ATTN_CUDA_ARCHS=80 pip install flash-attn", "/", vec![]),
            ("TORCH_CUDA_ARCH_LIST=8.0 pip install torch xformers", "/", vec![]),
            ("CMAKE_ARGS='-DCMAKE_CUDA_ARCHITECTURES=75' pip install flask; pip install llama-cpp-python", "/", vec![]),
            ("CMAKE_ARGS='-DGGML_CUDA=on' pip install llama-cpp-python", "/", vec![]),
            ("CMAKE_ARGS='-DCMAKE_CUDA_ARCHITECTURES=native' pip install llama-cpp-python", "/", vec![]),
            (
                "CMAKE_ARGS=-DCMAKE_CUDA_ARCHITECTURES=75 pip install llama-cpp-python --extra-index-url=https://h/whl/cu124",
                "/",
                vec![],
            ),
            ("pip install torch-scatter -f https://data.pyg.org/whl/torch-2.1.0+cu121.html", "/", vec![]),
            ("pip install .", "/src/web", vec![]),
            // Targets that only the machine of the build knows.
            ("nvcc -arch=native a.cu; cmake -DCMAKE_CUDA_ARCHITECTURES=native .", "/", vec![]),
            ("cmake -DCMAKE_CUDA_ARCHITECTURES=all-major .; cmake -DCMAKE_BUILD_TYPE=Release .", "/", vec![]),
            ("nvcc --version; nvcc -arch=sm_80 -E a.cu; nvcc a.cu", "/", vec![]),
            ("sed -i 's/-gencode arch=compute_20,code=sm_20//' Makefile; echo nvcc -arch=sm_20 a.cu", "/", vec![]),
            (
                "TORCH_CUDA_ARCH_LIST=nonsense pip install torch-scatter",
                "/",
                vec!["the build tools of torch do not know the architecture `nonsense` and reject the list"],
            ),
            ("TORCH_CUDA_ARCH_LIST= pip install torch-scatter", "/", vec![]),
        ] {
            assert_eq!(compiled_targets(text, folder), expected, "{text}");
        }
    }
}
