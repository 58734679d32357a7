//! For which GPUs a command compiles: lists of architectures, tied to the command that reads them.

use crate::cuda::CodeTarget;
use crate::dockerfile::Lookup;
use crate::dockerfile::Resolved;
use crate::install::Around;
use crate::install::lists::OFF;
use crate::install::lists::definitions;
use crate::install::nvcc;
use crate::install::requirement::normalised;
use crate::install::torch_list;
use crate::knowledge::CudaExtensionRow;
use crate::shell::Command;
use crate::shell::Word;
use crate::source::Span;

/// GPU code that a command compiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    /// The distribution that it belongs to; none for a program of the image's own.
    pub component: Option<String>,
    /// The command that compiles it, in a word.
    pub by: String,
    /// Cubins.
    pub sass: Vec<CodeTarget>,
    /// PTX.
    pub ptx: Vec<CodeTarget>,
    /// Why it cannot be told for which GPUs, where code is compiled all the same.
    pub untold: Option<String>,
    /// Where the targets are written in the command's own text.
    pub spans: Vec<Span>,
    /// Where they are written in the Dockerfile, for a variable of its own.
    pub outside: Vec<Span>,
}

impl Compiled {
    /// Adds a cubin, and PTX beside it.
    pub(super) fn add(&mut self, target: CodeTarget, ptx: bool) {
        let lists = [Some(&mut self.sass), ptx.then_some(&mut self.ptx)];
        for list in lists.into_iter().flatten().filter(|list| !list.contains(&target)) {
            list.push(target);
        }
    }

    pub(super) fn cubin(&mut self, text: &str) -> Option<()> {
        let target = text.parse().ok()?;
        if !self.sass.contains(&target) {
            self.sass.push(target);
        }
        Some(())
    }

    /// Says where a variable's list is written.
    pub(super) fn put(&mut self, origins: Vec<Span>, inside: bool, command: &Command) {
        if inside {
            self.spans = origins;
        } else {
            self.outside = origins;
        }
        if self.spans.is_empty() && self.outside.is_empty() {
            self.spans.push(command.span);
        }
    }

    pub(super) fn intermediate(&mut self, text: &str) -> Option<()> {
        let target = text.parse().ok()?;
        if !self.ptx.contains(&target) {
            self.ptx.push(target);
        }
        Some(())
    }
}

/// Which release of torch the image has, for those who have to know.
pub(super) type Torch<'a> = &'a dyn Fn() -> Option<String>;

/// What a command compiles, where the image has a release of `torch`; `None` where it compiles nothing, or nothing says for
/// which GPUs.
pub fn compiled(command: &Command, folder: &str, around: &Around<'_>, torch: Torch<'_>) -> Option<Compiled> {
    match command.program()? {
        "nvcc" => nvcc::nvcc(command, around.lookup),
        "make" => nvcc::through_make(command, folder, around),
        "cmake" => cmake(command, around.lookup),
        program if program.starts_with("pip") || program.starts_with("python") || program == "uv" => {
            extension(command, folder, around, torch)
        }
        _ => None,
    }
}

/// How the definitions by which projects are told to build for GPUs end: `GGML_CUDA`, `USE_GPU`.
const SWITCHES: &[&str] = &["CUDA", "CUBLAS", "GPU"];
/// The words in front of that in definitions about the whole of a build, and not about a part of it.
const LEADS: &[&str] = &["ENABLE", "FAISS", "GGML", "LLAMA", "USE", "WHISPER", "WITH"];

/// Whether a command line of cmake turns GPU code on or off; the name of a definition of which that is not known.
fn switched<'a>(words: &[(&'a str, Span)]) -> Option<Result<bool, &'a str>> {
    let of = |name: &str| {
        let mut parts = name.split('_').rev().map(str::to_ascii_uppercase);
        parts.next().is_some_and(|last| SWITCHES.contains(&last.as_str()))
            && parts.all(|part| LEADS.contains(&part.as_str()))
    };
    let off = |value: &str| OFF.contains(&value.trim_matches(['"', '\'']).to_ascii_uppercase().as_str());
    let mut said: Option<Result<bool, &str>> = None;
    for (name, value, _) in definitions(words).into_iter().filter(|(name, ..)| of(name)) {
        said = match (said, value) {
            (Some(Ok(true)), _) => said,
            (_, value) if value.contains(['$', '`']) => Some(Err(name)),
            (Some(Err(_)), value) if off(value) => said,
            (_, value) => Some(Ok(!off(value))),
        };
    }
    said
}

/// Whether a command line of cmake or make tells a build to be one for GPUs: `-DGGML_CUDA=ON`, `make GGML_CUDA=1`.
pub fn switched_on(command: &Command) -> bool {
    let words: Vec<(&str, Span)> =
        command.words.iter().map(|word| (word.known().unwrap_or(&word.raw), word.span)).collect();
    if command.program() != Some("make") {
        return switched(&words) == Some(Ok(true));
    }
    let defined: Vec<(String, Span)> =
        words.iter().filter(|(word, _)| word.contains('=')).map(|(word, span)| (format!("-D{word}"), *span)).collect();
    let defined: Vec<(&str, Span)> = defined.iter().map(|(word, span)| (word.as_str(), *span)).collect();
    switched(&defined) == Some(Ok(true))
}

/// The list of cmake itself.
const CMAKE_LIST: &str = "CMAKE_CUDA_ARCHITECTURES";

/// `cmake -DCMAKE_CUDA_ARCHITECTURES="80;90-real"`; without that, the list in `CUDAARCHS`.
fn cmake(command: &Command, lookup: &dyn Fn(&str) -> Lookup) -> Option<Compiled> {
    let mut found = Compiled { by: "cmake".to_owned(), ..Compiled::default() };
    let words: Vec<(&str, Span)> =
        command.words.iter().map(|word| (word.known().unwrap_or(&word.raw), word.span)).collect();
    let switched = switched(&words);
    if switched == Some(Ok(false)) {
        return None;
    }
    // The lists of OpenCV's build and its kin hold nothing but numbers, and count where it is told to build for GPUs.
    for (name, list, span) in definitions(&words).into_iter().filter(|_| switched == Some(Ok(true))) {
        let list = list.trim_matches(['"', '\'']).split([';', ',', ' ']).map(|one| one.trim().replace('.', ""));
        let mut list = list.filter(|one| !one.is_empty());
        match name {
            "CUDA_ARCH_BIN" => list.try_for_each(|one| found.cubin(&one))?,
            "CUDA_ARCH_PTX" => list.try_for_each(|one| found.intermediate(&one))?,
            _ => continue,
        }
        found.spans.push(span);
    }
    for word in &command.words {
        let Some(text) = word.known() else {
            // A list that cannot be told is not the one in the environment either.
            if word.raw.contains(CMAKE_LIST) {
                return None;
            }
            continue;
        };
        if matches!(text, "--build" | "--install" | "--open" | "-E" | "-P" | "--version" | "--help") {
            return None;
        }
    }
    for (_, list, span) in definitions(&words).into_iter().filter(|(name, ..)| *name == CMAKE_LIST) {
        architectures(list.trim_matches(['"', '\'']), &mut found)?;
        found.spans.push(span);
    }
    if found.spans.is_empty()
        && let Some((list, origins, inside)) = variable(command, lookup, "CUDAARCHS")
    {
        architectures(&list, &mut found)?;
        "CUDAARCHS".clone_into(&mut found.by);
        found.put(origins, inside, command);
    }
    let any = !found.sass.is_empty() || !found.ptx.is_empty();
    if let Some(Err(name)) = switched.filter(|_| any) {
        (found.sass, found.ptx) = (Vec::new(), Vec::new());
        found.untold = Some(format!("{name}, whose value is unknown, decides whether it is compiled"));
    }
    any.then_some(found)
}

/// The list in `-DCMAKE_CUDA_ARCHITECTURES=80;90`.
fn asked_of_cmake(word: &str) -> Option<&str> {
    let (name, list) = word.strip_prefix("-D")?.split_once('=')?;
    (name.split(':').next() == Some(CMAKE_LIST)).then(|| list.trim_matches(['"', '\'']))
}

/// The list of `cmake`: a number for both kinds of code, `-real` or `-virtual` for one.
fn architectures(list: &str, found: &mut Compiled) -> Option<()> {
    for part in list.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        match part.rsplit_once('-') {
            Some((number, "real")) => found.cubin(number)?,
            Some((number, "virtual")) => found.intermediate(number)?,
            Some(_) => return None,
            None => {
                found.cubin(part)?;
                found.intermediate(part)?;
            }
        }
    }
    Some(())
}

/// The value of a variable, where it is written, and whether that is in the command's own text.
pub(super) fn variable(
    command: &Command,
    lookup: &dyn Fn(&str) -> Lookup,
    name: &str,
) -> Option<(String, Vec<Span>, bool)> {
    match command.variable(name) {
        Some(Resolved::Known { value, origins }) => Some((value.clone(), origins.clone(), true)),
        Some(Resolved::Unresolved { .. }) => None,
        None => match lookup(name) {
            Lookup::Known(value, origins) => Some((value, origins, false)),
            _ => None,
        },
    }
}

/// The package of the table that a command compiles.
pub(super) fn row_of<'a, 'w>(
    command: &'w Command,
    folder: &str,
    lookup: &dyn Fn(&str) -> Lookup,
    extensions: &'a [CudaExtensionRow],
) -> Option<&'a CudaExtensionRow> {
    let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
    if !words.iter().any(|word| matches!(*word, "install" | "develop" | "bdist_wheel" | "build_ext")) {
        return None;
    }
    let variable = |name: &str| variable(command, lookup, name);
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
    let name = |word: &&str| normalised(word.split(['=', '<', '>', '~', '!', '[', ' ']).next().unwrap_or(""));
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

/// What the command makes of that package.
fn extension(command: &Command, folder: &str, around: &Around<'_>, torch: Torch<'_>) -> Option<Compiled> {
    let (lookup, knowledge) = (around.lookup, around.knowledge);
    let row = row_of(command, folder, lookup, knowledge.cuda_extensions())?;
    let on = |name: &str| variable(command, lookup, name).is_some_and(|(value, ..)| value == "1");
    row.switch.is_none_or(on).then_some(())?;
    let (list, origins, inside) = variable(command, lookup, row.variable)?;
    let mut found = Compiled { component: Some(row.distribution.to_owned()), ..Compiled::default() };
    row.variable.clone_into(&mut found.by);
    if row.cmake {
        list.split([' ', '\t']).filter_map(asked_of_cmake).try_for_each(|list| architectures(list, &mut found))?;
        (!found.sass.is_empty() || !found.ptx.is_empty()).then_some(())?;
    } else if row.plain {
        plain(&list, &mut found)?;
        found.ptx = if row.also == Some("ptx") { found.sass.clone() } else { Vec::new() };
    } else {
        torch_list::read(&list, torch().as_deref(), knowledge, &mut found)?;
    }
    found.put(origins, inside, command);
    Some(found)
}

fn plain(list: &str, found: &mut Compiled) -> Option<()> {
    list.split([';', ',', ' ']).map(str::trim).filter(|part| !part.is_empty()).try_for_each(|part| found.cubin(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::Mapped;
    use crate::install::Environment;
    use crate::install::Machine;
    use crate::knowledge::Knowledge;
    use crate::shell::script_commands;

    /// `component: targets` of every command that compiles.
    fn read(text: &str, folder: &str) -> Vec<String> {
        let lookup = |name: &str| match name {
            "TORCH_CUDA_ARCH_LIST" => Lookup::Known("8.0;9.0+PTX".to_owned(), vec![Span::new(0, 1)]),
            _ => Lookup::Unset,
        };
        let commands = script_commands(&Mapped::whole(text, 0));
        let open = |_: &str, _: &str| Err("it is not there".to_owned());
        let environment = Environment { machine: Machine::new("x86_64"), python: None };
        let around = Around { lookup: &lookup, open: &open, environment, knowledge: Knowledge::built_in() };
        let found = commands.iter().filter_map(|one| compiled(one, folder, &around, &|| None));
        let list = |list: &[CodeTarget]| list.iter().map(|target| target.number()).collect::<Vec<_>>().join(" ");
        found
            .map(|one| {
                one.untold.clone().unwrap_or_else(|| {
                    format!("{}: {} | {}", one.component.clone().unwrap_or_default(), list(&one.sass), list(&one.ptx))
                })
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
            assert_eq!(read(text, folder), expected, "{text}");
        }
    }
}
