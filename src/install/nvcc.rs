//! GPU targets of nvcc: its options, its environment variables, and options that `make` passes to it.

use crate::cause::Cause;
use crate::dockerfile::VariableLookup;
use crate::install::CommandContext;
use crate::install::compile_targets::{CompiledCode, variable_with_origins};
use crate::shell::{Command, Word};
use crate::source::Span;

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
pub(super) fn nvcc_code(command: &Command, lookup: &dyn Fn(&str) -> VariableLookup) -> Option<CompiledCode> {
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
    // What is left to the linker becomes machine code there, and nothing that a driver compiles.
    let linked = code.strip_prefix(LTO_PREFIX).map(|number| format!("sm_{number}"));
    found.add_cubin(linked.as_deref().unwrap_or(code))
}

/// Returns the code that `make` compiles with options for nvcc: `make
/// NVCC_GENCODE="-gencode=arch=compute_90,code=sm_90"`. An unread makefile may ignore environment variables.
pub(super) fn make_code(command: &Command, folder: &str, around: &CommandContext<'_>) -> Option<CompiledCode> {
    let given = command.words.iter().skip(1).filter_map(|word| Some((word.known()?.split_once('=')?, word.span)));
    let given: Vec<((&str, &str), Span)> = given.filter(|((name, _), _)| !name.starts_with('-')).collect();
    for ((name, value), span) in &given {
        let Some(found) = requested_code(&split_arguments(value, *span, true), name) else { continue };
        if MAKEFILE_FLAG_VARIABLES.contains(name) {
            return Some(found);
        }
        let reason = Cause::MakefileIgnores { name: (*name).to_owned() };
        return Some(CompiledCode { sass: Vec::new(), ptx: Vec::new(), untold: Some(reason), ..found });
    }
    let of_environment = |name: &&&str| given.iter().all(|((own, _), _)| *own != **name);
    for name in MAKEFILE_FLAG_VARIABLES.iter().filter(of_environment) {
        let Some((value, origins, inside)) = variable_with_origins(command, around.lookup, name) else { continue };
        let span = origins.first().copied().unwrap_or(command.span);
        let Some(found) = requested_code(&split_arguments(&value, span, inside || origins.is_empty()), name) else {
            continue;
        };
        if MAKEFILE_NAMES.iter().any(|file| (around.open)(folder, file).is_ok()) {
            return None;
        }
        let reason = Cause::MakefileIgnoresEnv { name: (*name).to_owned() };
        return Some(CompiledCode { sass: Vec::new(), ptx: Vec::new(), untold: Some(reason), ..found });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::CodeTarget;
    use crate::dockerfile::MappedText;
    use crate::install::{MarkerEnvironment, TargetMachine, compiled_code};
    use crate::knowledge::Knowledge;
    use crate::shell::script_commands;

    /// Machine code and PTX of the last command, or why they cannot be told.
    fn last_command_code(text: &str) -> String {
        let lookup = |_: &str| VariableLookup::Unset;
        let open = |folder: &str, path: &str| match (folder, path) {
            ("", "Makefile") if text.contains("known") => {
                Ok(crate::install::OpenedFile::new(None, path, MappedText::default()))
            }
            _ => Err(Cause::NotCopied),
        };
        let environment = MarkerEnvironment { machine: TargetMachine::new("x86_64"), python: None };
        let around = CommandContext { lookup: &lookup, open: &open, environment, knowledge: Knowledge::built_in() };
        let commands = script_commands(&MappedText::contiguous(text, 0));
        let found = commands.last().and_then(|one| compiled_code(one, "", &around, &|| None));
        let list = |list: &[CodeTarget]| list.iter().map(|target| target.number()).collect::<Vec<_>>().join(" ");
        found.map_or_else(
            || "-".to_owned(),
            |one| {
                one.untold
                    .as_ref()
                    .map_or_else(|| format!("{} | {}", list(&one.sass), list(&one.ptx)), ToString::to_string)
            },
        )
    }

    #[test]
    fn machine_code_alone_has_no_ptx() {
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
