//! GPU architecture lists that commands pass to the compiler, each read as its command reads it.

use crate::build::{Command, Word};
use crate::cuda::{CodeTarget, TOOLKIT_ROOT, is_at_or_below};
use crate::dockerfile::{ExpandedText, VariableLookup};
use crate::install::compile_targets::{
    NvccArgument, OFF_VALUES, cmake_definitions, compiled_extension_row, generates_only_ptx, make_nvcc_arguments,
    nvcc_arguments, variable_with_origins,
};
use crate::knowledge::CudaExtensionRow;
use crate::text::source::Span;

/// Variable with the architectures of torch extensions.
const TORCH_LIST: &str = "TORCH_CUDA_ARCH_LIST";
/// Lists that are passed to cmake with `-D`, and whether entries without a suffix also request PTX, if known.
const CMAKE_LISTS: &[(&str, Option<bool>)] =
    &[("CMAKE_CUDA_ARCHITECTURES", Some(true)), (TORCH_LIST, Some(false)), ("CUDA_ARCH_BIN", None)];
/// Variables that replace the compiler of the toolkit by another one.
const COMPILER_VARIABLES: &[&str] = &["CUDACXX", "CUDA_HOME", "CUDA_PATH", "NVCC"];

/// A list of GPU architectures that a command compiles for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchList {
    /// The variable or option that contains the list.
    pub name: String,
    /// The entries as written, with their targets; entries without a number are left out.
    pub entries: Vec<(String, CodeTarget)>,
    /// Whether PTX is requested; `None` if that is unknown.
    pub ptx: Option<bool>,
    /// Where the list is written in the text of the command.
    pub spans: Vec<Span>,
    /// Where the list is written elsewhere in the Dockerfile, if it is in an environment variable.
    pub outside: Vec<Span>,
    /// Whether the command names another compiler.
    pub other_compiler: bool,
}

impl ArchList {
    /// Creates an empty list.
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ptx: Some(false), ..Self::default() }
    }

    /// Adds an entry if its target is valid.
    fn add_entry(&mut self, entry: &str, target: &str) {
        if let Ok(target) = target.parse()
            && !self.entries.iter().any(|(own, _)| own == entry)
        {
            self.entries.push((entry.to_owned(), target));
        }
    }

    /// Records whether an entry requests PTX.
    fn record_ptx(&mut self, requested: bool) {
        self.ptx = self.ptx.map(|ptx| ptx || requested);
    }

    /// Adds the entries of a cmake list; `plain` is whether entries without a suffix also request PTX.
    fn add_cmake_list(&mut self, list: &str, plain: Option<bool>) {
        if plain.is_none() {
            self.ptx = None;
        }
        for part in list.split([';', ' ', ',']).map(|part| part.trim_matches(['\\', '"', '\''])) {
            let number = part.split_once('(').map_or(part, |(number, _)| number);
            match number.rsplit_once('-') {
                Some((number, "real")) => self.add_entry(part, number),
                Some((number, "virtual")) => {
                    self.add_entry(part, number);
                    self.record_ptx(true);
                }
                // `native`, `all` and `all-major` are for the compiler to fill in.
                _ if number.starts_with(|first: char| first.is_ascii_alphabetic()) => self.ptx = None,
                _ => {
                    let bare = number.strip_suffix("+PTX");
                    self.add_entry(part, bare.unwrap_or(number));
                    self.record_ptx(bare.is_some() || (plain == Some(true) && !part.is_empty()));
                }
            }
        }
    }
}

/// Returns the architecture lists that a command passes to the compiler.
pub fn read_arch_lists(
    command: &Command,
    folder: &str,
    lookup: &dyn Fn(&str) -> VariableLookup,
    extensions: &[CudaExtensionRow],
) -> Vec<ArchList> {
    let Some(program) = command.program() else { return Vec::new() };
    let found = match program {
        "nvcc" => nvcc_arguments(command, lookup).and_then(|parts| nvcc_list(&parts)).into_iter().collect(),
        "cmake" => cmake_lists(command, lookup),
        "make" | "ninja" => {
            let given = nvcc_list(&make_nvcc_arguments(command));
            variable_list(command, lookup, TORCH_LIST).into_iter().chain(given).collect()
        }
        _ if program.starts_with("pip") || program.starts_with("python") || program == "uv" => {
            python_lists(command, folder, lookup, extensions)
        }
        _ => Vec::new(),
    };
    let mut found: Vec<ArchList> = found;
    found.retain(|list| !list.entries.is_empty());
    if !found.is_empty() && may_use_other_compiler(command, lookup) {
        for list in &mut found {
            list.other_compiler = true;
        }
    }
    found
}

/// Whether a command may use another compiler than that of the toolkit in its default directory.
fn may_use_other_compiler(command: &Command, lookup: &dyn Fn(&str) -> VariableLookup) -> bool {
    let elsewhere = |path: &str| {
        let path = path.trim_end_matches('/');
        path.contains('/') && !is_at_or_below(path, TOOLKIT_ROOT)
    };
    let named = COMPILER_VARIABLES.iter().any(|name| match command.variable(name) {
        Some(ExpandedText::Known { value, .. }) => elsewhere(value),
        Some(ExpandedText::Unresolved { .. }) => true,
        None => matches!(lookup(name), VariableLookup::Known(value, _) if elsewhere(&value)),
    });
    let path = command.program() == Some("nvcc") && command.words.first().and_then(Word::known).is_some_and(elsewhere);
    let compiler_options = ["CMAKE_CUDA_COMPILER", "CUDAToolkit_ROOT", "CUDA_TOOLKIT_ROOT_DIR"];
    named || path || command.words.iter().any(|word| compiler_options.iter().any(|name| word.raw.contains(name)))
}

/// Returns the list in the options of nvcc.
fn nvcc_list(parts: &[NvccArgument]) -> Option<ArchList> {
    let only_ptx = generates_only_ptx(parts);
    let mut parts = parts.iter();
    let mut found = ArchList::new("-gencode");
    let mut linked = false;
    let (mut arch, mut codes) = (false, false);
    while let Some((text, span, inside)) = parts.next() {
        let (name, inline) = text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
        let option = match name {
            "-gencode" | "--generate-code" => "-gencode",
            "-arch" | "--gpu-architecture" => "-arch",
            "-code" | "--gpu-code" => "-code",
            _ => continue,
        };
        let value = match inline {
            Some(value) => value.to_owned(),
            None => parts.next()?.0.clone(),
        };
        let written = if *inside { &mut found.spans } else { &mut found.outside };
        if !written.contains(span) {
            written.push(*span);
        }
        arch |= option == "-arch";
        codes |= option == "-code";
        for (at, part) in value.split(['=', ',', '[', ']', '"', '\'', ' ']).enumerate() {
            linked |= part.starts_with("lto_");
            if part.starts_with("sm_") || part.starts_with("compute_") {
                found.add_entry(part, part);
            }
            // The first of `arch=compute_80,code=...` is a step on the way alone.
            let kept = option != "-gencode" || at > 1;
            found.record_ptx(kept && option != "-arch" && part.starts_with("compute_"));
        }
    }
    if arch {
        "-arch".clone_into(&mut found.name);
        found.record_ptx(!codes);
    }
    if linked {
        found.ptx = None;
    } else if only_ptx {
        found.ptx = Some(true);
    }
    Some(found)
}

/// Returns the lists of a cmake configuration: `-DCMAKE_CUDA_ARCHITECTURES=80`, and environment variables.
fn cmake_lists(command: &Command, lookup: &dyn Fn(&str) -> VariableLookup) -> Vec<ArchList> {
    let words: Vec<(&str, Span)> = command.words.iter().map(|word| (word.known().unwrap_or("?"), word.span)).collect();
    let acts = |(word, _): &(&str, Span)| {
        matches!(*word, "--build" | "--install" | "--open" | "-E" | "-P" | "--version" | "--help")
    };
    if words.iter().any(acts) {
        return Vec::new();
    }
    let definitions = cmake_definitions(&words);
    let off =
        |name: &str, value: &str| name.contains("CUDA") && OFF_VALUES.contains(&value.to_ascii_uppercase().as_str());
    if definitions.iter().any(|(name, value, _)| off(name, value)) {
        return Vec::new();
    }
    let mut found: Vec<ArchList> = definitions.into_iter().filter_map(definition_list).collect();
    let is_absent = |name: &str| command.words.iter().all(|word| !word.raw.contains(name));
    if is_absent("CMAKE_CUDA_ARCHITECTURES")
        && let Some(mut list) =
            parse_variable_list(command, lookup, "CUDAARCHS", |list, text| list.add_cmake_list(text, Some(true)))
    {
        "CUDAARCHS".clone_into(&mut list.name);
        found.push(list);
    }
    found
}

/// Returns the architecture list in a cmake definition.
fn definition_list((name, value, span): (&str, &str, Span)) -> Option<ArchList> {
    let (known, plain) = CMAKE_LISTS.iter().find(|(known, _)| *known == name)?;
    let mut list = ArchList::new(known);
    list.add_cmake_list(value, *plain);
    list.spans.push(span);
    Some(list)
}

/// Returns the lists of pip, uv and `setup.py`: torch's variable, or the cmake arguments of a project.
fn python_lists(
    command: &Command,
    folder: &str,
    lookup: &dyn Fn(&str) -> VariableLookup,
    extensions: &[CudaExtensionRow],
) -> Vec<ArchList> {
    let row = compiled_extension_row(command, folder, lookup, extensions);
    // Some select the entries that the compiler release supports, so it gets no unknown architecture.
    if row.is_some_and(|row| row.plain) || (row.is_none() && !builds_from_source(command)) {
        return Vec::new();
    }
    if row.is_none_or(|row| !row.cmake) {
        return variable_list(command, lookup, TORCH_LIST).into_iter().collect();
    }
    let arguments = |list: &mut ArchList, text: &str| {
        for (name, value, _) in
            cmake_definitions(&text.split([' ', '\t']).map(|word| (word, command.span)).collect::<Vec<_>>())
        {
            if name == "CMAKE_CUDA_ARCHITECTURES" {
                list.add_cmake_list(value, Some(true));
            }
        }
    };
    let found = parse_variable_list(command, lookup, "CMAKE_ARGS", arguments);
    found.map(|list| ArchList { name: "CMAKE_CUDA_ARCHITECTURES".to_owned(), ..list }).into_iter().collect()
}

/// Whether a Python command builds a folder or a repository instead of installing a wheel.
fn builds_from_source(command: &Command) -> bool {
    let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
    let any = |names: &[&str]| words.iter().any(|word| names.contains(word));
    let setup = words.iter().any(|word| word.rsplit('/').next() == Some("setup.py"));
    if setup {
        return any(&["install", "develop", "build", "build_ext", "bdist_wheel"]);
    }
    let source = |word: &&str| {
        word.contains("git+") || matches!(*word, "." | "./" | "..") || word.starts_with("./") || word.starts_with(".[")
    };
    let editable = any(&["-e", "--editable"]);
    let forced = any(&["--no-build-isolation"]) || words.iter().any(|word| word.starts_with("--no-binary"));
    any(&["install", "wheel", "build"]) && (editable || forced || words.iter().skip(1).any(source))
}

/// Returns the list in an environment variable, in torch's syntax.
fn variable_list(command: &Command, lookup: &dyn Fn(&str) -> VariableLookup, name: &str) -> Option<ArchList> {
    parse_variable_list(command, lookup, name, |list, text| list.add_cmake_list(text, Some(false)))
}

/// Returns the list in an environment variable, parsed by `read`.
fn parse_variable_list(
    command: &Command,
    lookup: &dyn Fn(&str) -> VariableLookup,
    name: &str,
    read: impl Fn(&mut ArchList, &str),
) -> Option<ArchList> {
    let (text, origins, inside) = variable_with_origins(command, lookup, name)?;
    let mut list = ArchList::new(name);
    read(&mut list, &text);
    if inside {
        list.spans = origins;
    } else {
        list.outside = origins;
    }
    if list.spans.is_empty() && list.outside.is_empty() {
        list.spans.push(command.span);
    }
    Some(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::MappedText;
    use crate::knowledge::Knowledge;
    use crate::shell::script_commands;

    /// `name: entries` of every list, with a `+` where PTX is requested, a `?` where that is unknown, and a `!` where
    /// the compiler is another.
    fn format_lists(text: &str, folder: &str) -> Vec<String> {
        let lookup = |name: &str| match name {
            "CUDA_ROOT" => VariableLookup::Known("/opt/cuda".to_owned(), Vec::new()),
            _ => VariableLookup::Unset,
        };
        let commands = script_commands(&MappedText::contiguous(text, 0));
        let rows = Knowledge::built_in().cuda_extensions();
        let found = commands.iter().flat_map(|one| read_arch_lists(one, folder, &lookup, rows));
        let format_list = |list: ArchList| {
            let entries: Vec<String> = list.entries.into_iter().map(|(entry, _)| entry).collect();
            let ptx = list.ptx.map_or("?", |ptx| if ptx { "+" } else { "" });
            format!("{}: {}{ptx}{}", list.name, entries.join(" "), if list.other_compiler { "!" } else { "" })
        };
        found.map(format_list).collect()
    }

    #[test]
    fn lists_are_read_by_the_commands_that_compile() {
        for (text, folder, expected) in [
            ("nvcc -gencode arch=compute_80,code=sm_80 a.cu", "/", "-gencode: compute_80 sm_80"),
            ("nvcc -gencode=arch=compute_90,code=[sm_90,compute_90] a.cu", "/", "-gencode: compute_90 sm_90+"),
            ("nvcc -arch=sm_35 -o a a.cu", "/", "-arch: sm_35+"),
            ("nvcc -arch=compute_70 -code=sm_70 a.cu", "/", "-arch: compute_70 sm_70"),
            ("nvcc -gencode arch=compute_80,code=lto_80 a.cu", "/", "-gencode: compute_80?"),
            ("NVCC_APPEND_FLAGS='-gencode arch=compute_70,code=sm_70' nvcc a.cu", "/", "-gencode: compute_70 sm_70"),
            ("export NVCC_PREPEND_FLAGS=-arch=sm_75; nvcc -o a a.cu", "/", "-arch: sm_75+"),
            (
                "make NVCC_GENCODE=\"-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=sm_90\"",
                "/",
                "-gencode: compute_80 sm_80 compute_90 sm_90",
            ),
            ("/opt/cuda-11/bin/nvcc -arch sm_80 a.cu", "/", "-arch: sm_80+!"),
            ("/usr/local/cuda/bin/nvcc -arch sm_80 a.cu", "/", "-arch: sm_80+"),
            ("cmake .. -DCMAKE_CUDA_ARCHITECTURES='80;86-real'", "/", "CMAKE_CUDA_ARCHITECTURES: 80 86-real+"),
            ("cmake -D CMAKE_CUDA_ARCHITECTURES:STRING=90a-real .", "/", "CMAKE_CUDA_ARCHITECTURES: 90a-real"),
            ("cmake -DTORCH_CUDA_ARCH_LIST='7.0 9.0+PTX' .", "/", "TORCH_CUDA_ARCH_LIST: 7.0 9.0+PTX+"),
            ("cmake -DWITH_CUDA=ON -DCUDA_ARCH_BIN=3.0,7.5 ..", "/", "CUDA_ARCH_BIN: 3.0 7.5?"),
            ("cmake -DCMAKE_CUDA_ARCHITECTURES='75;native' ..", "/", "CMAKE_CUDA_ARCHITECTURES: 75?"),
            ("CUDAARCHS=52 cmake -B b", "/", "CUDAARCHS: 52+"),
            (
                "CUDACXX=/usr/local/cuda-11.8/bin/nvcc cmake -DCMAKE_CUDA_ARCHITECTURES=52 .",
                "/",
                "CMAKE_CUDA_ARCHITECTURES: 52+!",
            ),
            ("TORCH_CUDA_ARCH_LIST='7.5 Turing' pip install git+https://h/o/r", "/", "TORCH_CUDA_ARCH_LIST: 7.5?"),
            ("export TORCH_CUDA_ARCH_LIST=8.0; cd x && python setup.py install", "/", "TORCH_CUDA_ARCH_LIST: 8.0"),
            ("TORCH_CUDA_ARCH_LIST=8.0 uv pip install --no-build-isolation -e .", "/", "TORCH_CUDA_ARCH_LIST: 8.0"),
            ("TORCH_CUDA_ARCH_LIST=8.0 pip install torch-scatter", "/", "TORCH_CUDA_ARCH_LIST: 8.0"),
            ("TORCH_CUDA_ARCH_LIST=8.0+PTX make", "/", "TORCH_CUDA_ARCH_LIST: 8.0+PTX+"),
            (
                "CMAKE_ARGS='-DGGML_CUDA=on -DCMAKE_CUDA_ARCHITECTURES=52' pip install llama-cpp-python",
                "/",
                "CMAKE_CUDA_ARCHITECTURES: 52+",
            ),
        ] {
            assert_eq!(format_lists(text, folder), [expected], "{text}");
        }
    }

    #[test]
    fn command_without_a_compilation_reads_no_architecture_list() {
        for text in [
            "nvcc --version",
            "nvcc -o a a.cu",
            "nvcc -arch=native a.cu",
            "NVCC_APPEND_FLAGS=-arch=sm_35 nvcc --version",
            "NVCC_APPEND_FLAGS=-arch=sm_35 make",
            "NVCC_APPEND_FLAGS=-O3 nvcc a.cu",
            "make FOO='-gencode arch=compute_35,code=sm_35'",
            "make NVCCFLAGS=-O3",
            "nvcc -arch=$UNKNOWN$(x) a.cu",
            "echo nvcc -arch=sm_35",
            "gcc -march=native x.c",
            "cmake --build b",
            "CUDAARCHS=35 cmake --build b",
            "CUDAARCHS=35 make",
            "cmake -DCMAKE_CUDA_ARCHITECTURES=native ..",
            "cmake -DCMAKE_CUDA_ARCHITECTURES=OFF ..",
            "cmake -DWITH_CUDA=OFF -DCUDA_ARCH_BIN=3.0 ..",
            "cmake -DGGML_CUDA=off -DCMAKE_CUDA_ARCHITECTURES=35 ..",
            "cmake -DCMAKE_BUILD_TYPE=Release ..",
            "TORCH_CUDA_ARCH_LIST=3.5 pip install torch xformers",
            "TORCH_CUDA_ARCH_LIST=3.5 pip install -r requirements.txt",
            "TORCH_CUDA_ARCH_LIST=3.5 python train.py",
            "TORCH_CUDA_ARCH_LIST=3.5 python setup.py sdist",
            "TORCH_CUDA_ARCH_LIST=Turing python setup.py install",
            "TORCH_CUDA_ARCH_LIST=3.5 ls; python setup.py install",
            "FLASH_ATTN_CUDA_ARCHS=120 FLASH_ATTENTION_FORCE_BUILD=TRUE pip install flash-attn",
            "python setup.py install",
            "pip install . && export TORCH_CUDA_ARCH_LIST=3.5",
            "CMAKE_ARGS=-DCMAKE_CUDA_ARCHITECTURES=35 pip install flask",
        ] {
            assert_eq!(format_lists(text, "/"), [] as [String; 0], "{text}");
        }
    }
}
