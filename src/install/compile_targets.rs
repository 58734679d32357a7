//! GPU code that commands compile with nvcc, make, cmake or the build tools of torch, and its targets.

use std::cmp::Reverse;

use crate::build::{Command, Word};
use crate::cuda::CodeTarget;
use crate::dockerfile::{ExpandedText, VariableLookup};
use crate::install::context::CommandContext;
use crate::knowledge::{CudaExtensionRow, Knowledge, TorchArchNameRow};
use crate::model::cause::Cause;
use crate::model::package::{ExactVersion, PackageName};
use crate::text::source::Span;

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
    pub targets_unknown: Option<Cause>,
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
    fn add_cubin(&mut self, text: &str) -> Option<()> {
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
    fn add_ptx(&mut self, text: &str) -> Option<()> {
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
    context: &CommandContext<'_>,
    torch: TorchReleaseLookup<'_>,
) -> Option<CompiledCode> {
    match command.program()? {
        "nvcc" => nvcc_code(command, context.lookup),
        "make" => make_code(command, folder, context),
        "cmake" => cmake_code(command, context.lookup),
        program if program.starts_with("pip") || program.starts_with("python") || program == "uv" => {
            extension_code(command, folder, context, torch)
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
    let mut switch: Option<Result<bool, &str>> = None;
    for (name, value, _) in cmake_definitions(words).into_iter().filter(|(name, ..)| of(name)) {
        switch = match (switch, value) {
            (Some(Ok(true)), _) => switch,
            (_, value) if value.contains(['$', '`']) => Some(Err(name)),
            (Some(Err(_)), value) if off(value) => switch,
            (_, value) => Some(Ok(!off(value))),
        };
    }
    switch
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
    // The lists of OpenCV and similar builds contain only numbers, and count if the build is for GPUs.
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
            // If the list is unknown, the list in the environment is not used either.
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
        found.targets_unknown = Some(Cause::CompileSwitch { name: name.to_owned() });
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
    // The Python part may be two folders below.
    let here = |repository: &str| folder.rsplit('/').take(3).any(|part| part.eq_ignore_ascii_case(repository));
    let of_folder = words.iter().any(|word| matches!(*word, "." | "./" | "-e" | "setup.py" | ".[all]"));
    // A repository inside another: `pip install ./submodules/simple-knn`.
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
    let name = |word: &&str| PackageName::python(word.split(['=', '<', '>', '~', '!', '[', ' ']).next().unwrap_or(""));
    let distributions: Vec<PackageName> = words.iter().map(name).collect();
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
    context: &CommandContext<'_>,
    torch: TorchReleaseLookup<'_>,
) -> Option<CompiledCode> {
    let (lookup, knowledge) = (context.lookup, context.knowledge);
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
        read_torch_arch_list(&list, torch().as_deref(), knowledge, &mut found)?;
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

/// Environment variable with options that precede those of the command line.
const PREPEND_FLAGS_VARIABLE: &str = "NVCC_PREPEND_FLAGS";
/// Environment variable with options that follow those of the command line.
const APPEND_FLAGS_VARIABLE: &str = "NVCC_APPEND_FLAGS";
/// Variables in which makefiles commonly expect options of nvcc.
const MAKEFILE_FLAG_VARIABLES: &[&str] = &["CUDA_NVCC_FLAGS", "NVCCFLAGS", "NVCC_FLAGS", "NVCC_GENCODE"];
/// Default names of makefiles.
const MAKEFILE_NAMES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];
/// Options with which no GPU code is generated.
const NO_CODE_OPTIONS: &[&str] = &["-E", "-M", "-MM"];
/// Options with which only PTX is generated.
const PTX_ONLY_OPTIONS: &[&str] = &["-ptx", "--ptx"];
/// Options with which `-arch` generates no PTX: cubin output, and link-time optimisation.
const NO_PTX_OPTIONS: &[&str] = &["-cubin", "--cubin", "-dlto", "--dlink-time-opt"];
/// Prefix of targets that become machine code only when they are linked.
const LTO_PREFIX: &str = "lto_";

/// An argument as written, where it is written, and whether that is in the text of the command.
pub(super) type NvccArgument = (String, Span, bool);

/// Returns the code that an nvcc command line generates.
fn nvcc_code(command: &Command, lookup: &dyn Fn(&str) -> VariableLookup) -> Option<CompiledCode> {
    if !names_cuda_source(command) || known_words(command).any(|word| NO_CODE_OPTIONS.contains(&word)) {
        return None;
    }
    requested_code(&nvcc_arguments(command, lookup)?, "nvcc")
}

/// Returns the known words of a command.
fn known_words(command: &Command) -> impl Iterator<Item = &str> {
    command.words.iter().filter_map(Word::known)
}

/// Whether an nvcc command line names a CUDA source file.
fn names_cuda_source(command: &Command) -> bool {
    known_words(command).any(|word| word.rsplit_once('.').is_some_and(|(_, ending)| ending == "cu"))
}

/// Returns the arguments of an nvcc command line and of its environment variables; `None` if one is unknown.
pub(super) fn nvcc_arguments(command: &Command, lookup: &dyn Fn(&str) -> VariableLookup) -> Option<Vec<NvccArgument>> {
    let of_variable = |name: &str| -> Vec<NvccArgument> {
        let Some((value, origins, inside)) =
            variable_with_origins(command, lookup, name).filter(|_| names_cuda_source(command))
        else {
            return Vec::new();
        };
        let span = origins.first().copied().unwrap_or(command.span);
        value.split_whitespace().map(|word| (word.to_owned(), span, inside || origins.is_empty())).collect()
    };
    let own: Option<Vec<NvccArgument>> =
        command.words.iter().skip(1).map(|word| Some((word.known()?.to_owned(), word.span, true))).collect();
    Some(
        of_variable(PREPEND_FLAGS_VARIABLE).into_iter().chain(own?).chain(of_variable(APPEND_FLAGS_VARIABLE)).collect(),
    )
}

/// Returns the nvcc arguments in the usual variables on the command line of `make`.
pub(super) fn make_nvcc_arguments(command: &Command) -> Vec<NvccArgument> {
    let of_name = |text: &'_ str| {
        let (name, value) = text.split_once('=')?;
        MAKEFILE_FLAG_VARIABLES.contains(&name).then(|| value.to_owned())
    };
    let given = command.words.iter().skip(1).filter_map(|word| Some((of_name(word.known()?)?, word.span)));
    given.flat_map(|(value, span)| split_arguments(&value, span, true)).collect()
}

/// Splits the value of a variable into arguments.
fn split_arguments(value: &str, span: Span, inside: bool) -> Vec<NvccArgument> {
    let bare = |word: &str| word.trim_matches(['"', '\'']).to_owned();
    value.split_whitespace().map(|word| (bare(word), span, inside)).collect()
}

/// Whether the arguments request only PTX.
pub(super) fn generates_only_ptx(parts: &[NvccArgument]) -> bool {
    parts.iter().any(|(word, ..)| PTX_ONLY_OPTIONS.contains(&word.as_str()))
}

/// Returns the code that arguments request; `None` if there is none or it is unknown.
fn requested_code(parts: &[NvccArgument], by: &str) -> Option<CompiledCode> {
    let mut found = CompiledCode { by: by.to_owned(), ..CompiledCode::default() };
    let mut arch: Option<String> = None;
    let mut codes: Vec<String> = Vec::new();
    let mut from: Vec<String> = Vec::new();
    let mut rest = parts.iter();
    while let Some((text, span, inside)) = rest.next() {
        let (name, inline) = text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
        let mut value = || inline.map(str::to_owned).or_else(|| rest.next().map(|(text, ..)| text.clone()));
        match name {
            "-gencode" | "--generate-code" => add_gencode(&value()?, &mut found, &mut from)?,
            "-arch" | "--gpu-architecture" => arch = Some(value()?),
            "-code" | "--gpu-code" => codes.push(value()?),
            _ => continue,
        }
        let written = if *inside { &mut found.spans } else { &mut found.outside };
        written.push(*span);
    }
    if generates_only_ptx(parts) {
        // It is that of what code would be made from.
        (found.sass, found.ptx) = (Vec::new(), Vec::new());
        from.extend(arch);
        from.iter().try_for_each(|from| found.add_ptx(from))?;
        return (!found.ptx.is_empty()).then_some(found);
    }
    if let Some(arch) = arch.filter(|_| codes.is_empty()) {
        found.add_cubin(&arch.replace("compute_", "sm_"))?;
        if !parts.iter().any(|(word, ..)| NO_PTX_OPTIONS.contains(&word.as_str())) {
            found.add_ptx(&arch)?;
        }
    }
    for code in codes {
        code.trim_matches(['[', ']']).split(',').try_for_each(|code| add_code(code, &mut found))?;
    }
    (!found.spans.is_empty() || !found.outside.is_empty()).then_some(found)
}

/// Adds the code of a value such as `arch=compute_80,code=[sm_80,compute_80]`, and records its virtual architecture.
fn add_gencode(text: &str, found: &mut CompiledCode, from: &mut Vec<String>) -> Option<()> {
    let (arch, codes) = text.trim_matches(['"', '\'']).split_once("code=")?;
    from.extend(arch.strip_prefix("arch=").map(|arch| arch.trim_end_matches(',').to_owned()));
    codes.trim_matches(['[', ']', '"', '\'']).split(',').try_for_each(|code| add_code(code, found))
}

/// Adds one target of a `code=` list.
fn add_code(code: &str, found: &mut CompiledCode) -> Option<()> {
    let code = code.trim();
    if code.starts_with("compute_") {
        return found.add_ptx(code);
    }
    // Code for link-time optimization becomes machine code in the linker; the driver compiles none of it.
    let linked = code.strip_prefix(LTO_PREFIX).map(|number| format!("sm_{number}"));
    found.add_cubin(linked.as_deref().unwrap_or(code))
}

/// Returns the code that `make` compiles with options for nvcc: `make
/// NVCC_GENCODE="-gencode=arch=compute_90,code=sm_90"`. An unread makefile may ignore environment variables.
fn make_code(command: &Command, folder: &str, context: &CommandContext<'_>) -> Option<CompiledCode> {
    let given = command.words.iter().skip(1).filter_map(|word| Some((word.known()?.split_once('=')?, word.span)));
    let given: Vec<((&str, &str), Span)> = given.filter(|((name, _), _)| !name.starts_with('-')).collect();
    for ((name, value), span) in &given {
        let Some(found) = requested_code(&split_arguments(value, *span, true), name) else { continue };
        if MAKEFILE_FLAG_VARIABLES.contains(name) {
            return Some(found);
        }
        let reason = Cause::MakefileIgnores { name: (*name).to_owned() };
        return Some(CompiledCode { sass: Vec::new(), ptx: Vec::new(), targets_unknown: Some(reason), ..found });
    }
    let of_environment = |name: &&&str| given.iter().all(|((own, _), _)| *own != **name);
    for name in MAKEFILE_FLAG_VARIABLES.iter().filter(of_environment) {
        let Some((value, origins, inside)) = variable_with_origins(command, context.lookup, name) else { continue };
        let span = origins.first().copied().unwrap_or(command.span);
        let Some(found) = requested_code(&split_arguments(&value, span, inside || origins.is_empty()), name) else {
            continue;
        };
        if MAKEFILE_NAMES.iter().any(|file| (context.open)(folder, file).is_ok()) {
            return None;
        }
        let reason = Cause::MakefileIgnoresEnv { name: (*name).to_owned() };
        return Some(CompiledCode { sass: Vec::new(), ptx: Vec::new(), targets_unknown: Some(reason), ..found });
    }
    None
}

/// Parses a list such as `7.0 8.0;9.0+PTX` or `Ampere;Hopper` as a release of torch does; `None` for an empty list.
///
/// The build tools reject a list with an unknown entry: then, and if a name means different GPUs in different
/// releases, `found` gets the reason and no code. An empty list counts as no list.
pub(super) fn read_torch_arch_list(
    list: &str,
    torch: Option<&str>,
    knowledge: Knowledge,
    found: &mut CompiledCode,
) -> Option<()> {
    if list.is_empty() {
        return None;
    }
    let whole =
        expand_names(list, torch, knowledge).and_then(|list| list.split(';').try_for_each(|one| add_entry(one, found)));
    if let Err(why) = whole {
        (found.sass, found.ptx, found.targets_unknown) = (Vec::new(), Vec::new(), Some(why));
    }
    Some(())
}

/// Replaces architecture names in a list by their targets, the longest names first.
fn expand_names(list: &str, torch: Option<&str>, knowledge: Knowledge) -> Result<String, Cause> {
    let torch = torch.map(ExactVersion::from);
    let mut list = list.replace(' ', ";");
    let mut names: Vec<&str> = knowledge.torch_arch_names().iter().map(|row| row.name).collect();
    names.sort_by_key(|name| (Reverse(name.len()), *name));
    names.dedup();
    for name in names {
        if !list.contains(name) {
            continue;
        }
        let mut rows = knowledge.torch_arch_name_rows(name, torch.as_ref());
        // A release that does not know the name leaves it as it is.
        let Some(row) = rows.next() else { continue };
        if rows.any(|other: &TorchArchNameRow| other.targets != row.targets) {
            return Err(Cause::ArchNameByRelease { name: name.to_owned() });
        }
        list = list.replace(name, &row.targets.join(";"));
    }
    Ok(list)
}

/// Adds the target of one entry; an error if torch rejects it.
fn add_entry(entry: &str, found: &mut CompiledCode) -> Result<(), Cause> {
    let number = entry.strip_suffix("+PTX").unwrap_or(entry);
    let target = Some(number).filter(|number| number.contains('.')).and_then(|number| number.parse().ok());
    let Some(target) = target else {
        return Err(Cause::ArchRejected { entry: entry.to_owned() });
    };
    found.add_target(target, number != entry);
    Ok(())
}

/// Values of a cmake definition that switch it off.
pub(super) const OFF_VALUES: &[&str] = &["OFF", "FALSE", "NO", "N", "0"];

/// Returns the definitions on a cmake command line: `-DX=1`, `-D X=1`, `-DX:STRING=1`.
pub(super) fn cmake_definitions<'a>(words: &[(&'a str, Span)]) -> Vec<(&'a str, &'a str, Span)> {
    let mut found = Vec::new();
    let mut before = "";
    for (word, span) in words {
        let text = if before == "-D" { Some(*word) } else { word.strip_prefix("-D") };
        if let Some((name, value)) = text.and_then(|text| text.split_once('=')) {
            found.push((name.split(':').next().unwrap_or(name), value, *span));
        }
        before = word;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::MappedText;
    use crate::install::marker::{MarkerEnvironment, TargetMachine};
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
        let context = CommandContext { lookup: &lookup, open: &open, environment, knowledge: Knowledge::built_in() };
        let found = commands.iter().filter_map(|one| compiled_code(one, folder, &context, &|| None));
        let list = |list: &[CodeTarget]| list.iter().map(|target| target.number()).collect::<Vec<_>>().join(" ");
        found
            .map(|one| {
                one.targets_unknown.as_ref().map_or_else(
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
            // On a build machine without a GPU, it compiles GPU code only on request.
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
            // GPU support is disabled, or not enabled.
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

#[cfg(test)]
mod nvcc_tests {
    use super::*;
    use crate::cuda::CodeTarget;
    use crate::dockerfile::MappedText;
    use crate::install::compiled_code;
    use crate::install::marker::{MarkerEnvironment, TargetMachine};
    use crate::knowledge::Knowledge;
    use crate::shell::script_commands;

    /// Machine code and PTX of the last command, or why they are unknown.
    fn last_command_code(text: &str) -> String {
        let lookup = |_: &str| VariableLookup::Unset;
        let open = |folder: &str, path: &str| match (folder, path) {
            ("", "Makefile") if text.contains("known") => {
                Ok(crate::install::OpenedFile::new(None, path, MappedText::default()))
            }
            _ => Err(Cause::NotCopied),
        };
        let environment = MarkerEnvironment { machine: TargetMachine::new("x86_64"), python: None };
        let context = CommandContext { lookup: &lookup, open: &open, environment, knowledge: Knowledge::built_in() };
        let commands = script_commands(&MappedText::contiguous(text, 0));
        let found = commands.last().and_then(|one| compiled_code(one, "", &context, &|| None));
        let list = |list: &[CodeTarget]| list.iter().map(|target| target.number()).collect::<Vec<_>>().join(" ");
        found.map_or_else(
            || "-".to_owned(),
            |one| {
                one.targets_unknown
                    .as_ref()
                    .map_or_else(|| format!("{} | {}", list(&one.sass), list(&one.ptx)), ToString::to_string)
            },
        )
    }

    #[test]
    fn the_output_format_decides_between_machine_code_and_ptx() {
        for (text, expected) in [
            ("nvcc -arch=sm_70 -cubin -o /k.cubin a.cu", "70 | "),
            ("nvcc --cubin -arch compute_70 a.cu", "70 | "),
            ("nvcc -arch=sm_80 -dlto -o a a.cu", "80 | "),
            ("nvcc -gencode arch=compute_80,code=lto_80 -gencode arch=compute_80,code=sm_80 -dlto a.cu", "80 | "),
            ("nvcc -gencode arch=compute_80,code=[lto_80,compute_80] a.cu", "80 | 80"),
            ("nvcc -arch=sm_70 -fatbin a.cu", "70 | 70"),
            ("nvcc -arch=sm_70 a.cu", "70 | 70"),
            ("nvcc -arch=native -cubin a.cu", "-"),
            ("nvcc -arch=sm_70 -ptx a.cu", " | 70"),
            ("nvcc --ptx -gencode arch=compute_70,code=sm_75 a.cu", " | 70"),
            ("nvcc -arch compute_90 -code=sm_90 -ptx a.cu", " | 90"),
            ("nvcc -ptx a.cu", "-"),
            ("nvcc -arch=native -ptx a.cu", "-"),
            ("nvcc -gencode code=sm_70 -ptx a.cu", "-"),
            ("nvcc -arch=sm_70 -E a.cu", "-"),
        ] {
            assert_eq!(last_command_code(text), expected, "{text}");
        }
    }

    #[test]
    fn options_in_variables_reach_the_compiler() {
        let unknown = |name: &str| format!("the makefile may ignore {name} of the environment");
        for (text, expected) in [
            ("NVCC_APPEND_FLAGS='-gencode arch=compute_70,code=sm_70' nvcc a.cu", "70 | "),
            ("export NVCC_PREPEND_FLAGS=-arch=sm_75; nvcc -o a a.cu", "75 | 75"),
            ("NVCC_APPEND_FLAGS=-O3 nvcc -arch=sm_80 a.cu", "80 | 80"),
            ("make NVCC_GENCODE='-gencode=arch=compute_90,code=sm_90'", "90 | "),
            (
                "make -j8 src.build NVCC_GENCODE=\"-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=sm_90\"",
                "80 90 | ",
            ),
            ("make NVCCFLAGS='-O3 -arch=sm_60' all", "60 | 60"),
            ("make FOO='-gencode arch=compute_70,code=sm_70' test", "the makefile may ignore FOO"),
            ("make CUDA_ARCH=-arch=sm_70", "the makefile may ignore CUDA_ARCH"),
        ] {
            assert_eq!(last_command_code(text), expected, "{text}");
        }
        let gencode = "'-gencode=arch=compute_90,code=sm_90'";
        assert_eq!(last_command_code(&format!("export NVCC_GENCODE={gencode}; make")), unknown("NVCC_GENCODE"));
        assert_eq!(last_command_code(&format!("NVCCFLAGS={gencode} make -j8")), unknown("NVCCFLAGS"));
        for text in [
            "make",
            "make CFLAGS=-march=native",
            "make NVCCFLAGS=-O3",
            "make ARCH=sm_80",
            "NVCC_APPEND_FLAGS=-arch=native nvcc a.cu",
            "NVCC_APPEND_FLAGS=-arch=sm_80 nvcc --version",
            "NVCC_APPEND_FLAGS=-arch=sm_80 gcc a.c",
            "NVCC_GENCODE=-O3 make",
            "OTHER=-arch=sm_80 make",
            "NVCC_GENCODE=-arch=sm_80 make known",
            "make NVCC_GENCODE=$(x)",
            "echo make NVCC_GENCODE=-arch=sm_80",
        ] {
            assert_eq!(last_command_code(text), "-", "{text}");
        }
    }
}

#[cfg(test)]
mod torch_arch_list_tests {
    use super::*;

    /// `cubins | PTX`, or why they are unknown.
    fn format_targets(list: &str, torch: Option<&str>) -> String {
        let mut found = CompiledCode::default();
        if read_torch_arch_list(list, torch, Knowledge::built_in(), &mut found).is_none() {
            return "nothing".to_owned();
        }
        let text = |list: &[CodeTarget]| list.iter().map(|one| one.number()).collect::<Vec<_>>().join(" ");
        found
            .targets_unknown
            .as_ref()
            .map_or_else(|| format!("{} | {}", text(&found.sass), text(&found.ptx)), ToString::to_string)
    }

    #[test]
    fn a_list_is_read_as_torch_reads_it() {
        for (list, torch, expected) in [
            ("8.0;9.0+PTX", None, "80 90 | 90"),
            ("7.0 9.0a", None, "70 90a | "),
            ("Hopper", None, "90 | 90"),
            ("Maxwell;7.0", None, "50 52 70 | 52"),
            ("Kepler+Tesla", None, "37 | "),
            ("Ampere", Some("2.4.0"), "80 86 | 86"),
            ("Ampere", Some("1.6.0"), "80 | 80"),
            ("Ampere+Tegra", Some("2.4.0"), "87 | "),
            ("Blackwell", Some("2.6.0"), "100 | 100"),
            ("Blackwell", Some("2.7.1"), "100 120 | 120"),
            ("Hopper Blackwell", Some("2.8.0"), "90 100 103 120 121 | 90 121"),
            ("Blackwell+Tegra", Some("2.8.0"), "101 | "),
            ("Blackwell+Tegra", Some("2.9.0"), "110 | "),
            ("", Some("2.8.0"), "nothing"),
        ] {
            assert_eq!(format_targets(list, torch), expected, "{list} {torch:?}");
        }
    }

    #[test]
    fn a_rejected_list_has_no_code() {
        for (list, torch, entry) in [
            ("nonsense", None, "nonsense"),
            ("hopper", None, "hopper"),
            ("HOPPER", None, "HOPPER"),
            ("9.0;hopper", None, "hopper"),
            ("7.0,8.0", None, "7.0,8.0"),
            ("80", None, "80"),
            ("8.0;", None, ""),
            ("Hopper+PTX", None, "9.0+PTX+PTX"),
            ("Hopper", Some("1.13.1"), "Hopper"),
            ("Blackwell", Some("2.5.1"), "Blackwell"),
            ("Volta+Tegra", Some("1.13.1"), "7.0+PTX+Tegra"),
        ] {
            let why = format!("the build tools of torch do not know the architecture `{entry}` and reject the list");
            assert_eq!(format_targets(list, torch), why, "{list} {torch:?}");
        }
        for name in ["Ampere", "Blackwell", "Blackwell+Tegra"] {
            assert!(format_targets(name, None).starts_with(&format!("the meaning of `{name}` differs")), "{name}");
        }
    }
}
