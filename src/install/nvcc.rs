//! For which GPUs the compiler of the toolkit makes code: its own options, those in its variables, and those that `make`
//! hands on to it.

use crate::dockerfile::Lookup;
use crate::install::Around;
use crate::install::targets::Compiled;
use crate::install::targets::variable;
use crate::shell::Command;
use crate::shell::Word;
use crate::source::Span;

/// Variables whose options stand in front of those of the command line, and behind them.
const PREPENDED: &str = "NVCC_PREPEND_FLAGS";
const APPENDED: &str = "NVCC_APPEND_FLAGS";
/// Variables in which makefiles look for options of the compiler.
const OF_MAKEFILES: &[&str] = &["CUDA_NVCC_FLAGS", "NVCCFLAGS", "NVCC_FLAGS", "NVCC_GENCODE"];
/// How a makefile is called.
const MAKEFILES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];
/// Options by which no code for GPUs is made.
const WITHOUT_CODE: &[&str] = &["-E", "-M", "-MM"];
/// Options by which nothing but PTX is made.
const PTX_ALONE: &[&str] = &["-ptx", "--ptx"];
/// Options by which the code is for one architecture alone: machine code, and what is linked by the code of a GPU later.
const ALONE: &[&str] = &["-cubin", "--cubin", "-dlto", "--dlink-time-opt"];
/// How a target is written that is code only once it is linked.
const UNLINKED: &str = "lto_";

/// An option as it is written, where it stands, and whether that is in the command's own text.
pub(super) type Part = (String, Span, bool);

/// What a command line of the compiler makes.
pub(super) fn nvcc(command: &Command, lookup: &dyn Fn(&str) -> Lookup) -> Option<Compiled> {
    if !compiles(command) || words(command).any(|word| WITHOUT_CODE.contains(&word)) {
        return None;
    }
    options(&parts(command, lookup)?, "nvcc")
}

/// The words of a command that are known.
fn words(command: &Command) -> impl Iterator<Item = &str> {
    command.words.iter().filter_map(Word::known)
}

/// Whether a command line of the compiler names something to compile.
fn compiles(command: &Command) -> bool {
    words(command).any(|word| word.rsplit_once('.').is_some_and(|(_, ending)| ending == "cu"))
}

/// The options of a command line of the compiler, those in its variables where it compiles; none where one is not known.
pub(super) fn parts(command: &Command, lookup: &dyn Fn(&str) -> Lookup) -> Option<Vec<Part>> {
    let of_variable = |name: &str| -> Vec<Part> {
        let Some((value, origins, inside)) = variable(command, lookup, name).filter(|_| compiles(command)) else {
            return Vec::new();
        };
        let span = origins.first().copied().unwrap_or(command.span);
        value.split_whitespace().map(|word| (word.to_owned(), span, inside || origins.is_empty())).collect()
    };
    let own: Option<Vec<Part>> =
        command.words.iter().skip(1).map(|word| Some((word.known()?.to_owned(), word.span, true))).collect();
    Some(of_variable(PREPENDED).into_iter().chain(own?).chain(of_variable(APPENDED)).collect())
}

/// The options of the compiler that a command of `make` gives a makefile by a name that these have for them.
pub(super) fn parts_for_make(command: &Command) -> Vec<Part> {
    let of_name = |text: &'_ str| {
        let (name, value) = text.split_once('=')?;
        OF_MAKEFILES.contains(&name).then(|| value.to_owned())
    };
    let given = command.words.iter().skip(1).filter_map(|word| Some((of_name(word.known()?)?, word.span)));
    given.flat_map(|(value, span)| split(&value, span, true)).collect()
}

/// The options in the value of a variable.
fn split(value: &str, span: Span, inside: bool) -> Vec<Part> {
    let bare = |word: &str| word.trim_matches(['"', '\'']).to_owned();
    value.split_whitespace().map(|word| (bare(word), span, inside)).collect()
}

/// Whether options ask for PTX and nothing else.
pub(super) fn makes_ptx_alone(parts: &[Part]) -> bool {
    parts.iter().any(|(word, ..)| PTX_ALONE.contains(&word.as_str()))
}

/// The code that options ask for; `None` where they ask for none, or for none that can be told.
fn options(parts: &[Part], by: &str) -> Option<Compiled> {
    let mut found = Compiled { by: by.to_owned(), ..Compiled::default() };
    let mut arch: Option<String> = None;
    let mut codes: Vec<String> = Vec::new();
    let mut from: Vec<String> = Vec::new();
    let mut rest = parts.iter();
    while let Some((text, span, inside)) = rest.next() {
        let (name, inline) = text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
        let mut value = || inline.map(str::to_owned).or_else(|| rest.next().map(|(text, ..)| text.clone()));
        match name {
            "-gencode" | "--generate-code" => gencode(&value()?, &mut found, &mut from)?,
            "-arch" | "--gpu-architecture" => arch = Some(value()?),
            "-code" | "--gpu-code" => codes.push(value()?),
            _ => continue,
        }
        let written = if *inside { &mut found.spans } else { &mut found.outside };
        written.push(*span);
    }
    if makes_ptx_alone(parts) {
        // It is that of what code would be made from.
        (found.sass, found.ptx) = (Vec::new(), Vec::new());
        from.extend(arch);
        from.iter().try_for_each(|from| found.intermediate(from))?;
        return (!found.ptx.is_empty()).then_some(found);
    }
    if let Some(arch) = arch.filter(|_| codes.is_empty()) {
        found.cubin(&arch.replace("compute_", "sm_"))?;
        if !parts.iter().any(|(word, ..)| ALONE.contains(&word.as_str())) {
            found.intermediate(&arch)?;
        }
    }
    for code in codes {
        code.trim_matches(['[', ']']).split(',').try_for_each(|code| one_code(code, &mut found))?;
    }
    (!found.spans.is_empty() || !found.outside.is_empty()).then_some(found)
}

/// `arch=compute_80,code=[sm_80,compute_80]`: its code, and what that is made from.
fn gencode(text: &str, found: &mut Compiled, from: &mut Vec<String>) -> Option<()> {
    let (arch, codes) = text.trim_matches(['"', '\'']).split_once("code=")?;
    from.extend(arch.strip_prefix("arch=").map(|arch| arch.trim_end_matches(',').to_owned()));
    codes.trim_matches(['[', ']', '"', '\'']).split(',').try_for_each(|code| one_code(code, found))
}

fn one_code(code: &str, found: &mut Compiled) -> Option<()> {
    let code = code.trim();
    if code.starts_with("compute_") {
        return found.intermediate(code);
    }
    // What is left to the linker becomes machine code there, and nothing that a driver compiles.
    let linked = code.strip_prefix(UNLINKED).map(|number| format!("sm_{number}"));
    found.cubin(linked.as_deref().unwrap_or(code))
}

/// What `make` builds with options for the compiler: `make NVCC_GENCODE="-gencode=arch=compute_90,code=sm_90"`. Whether a
/// makefile reads a variable of the environment is not known where that was not read.
pub(super) fn through_make(command: &Command, folder: &str, around: &Around<'_>) -> Option<Compiled> {
    let given = command.words.iter().skip(1).filter_map(|word| Some((word.known()?.split_once('=')?, word.span)));
    let given: Vec<((&str, &str), Span)> = given.filter(|((name, _), _)| !name.starts_with('-')).collect();
    for ((name, value), span) in &given {
        let Some(found) = options(&split(value, *span, true), name) else { continue };
        if OF_MAKEFILES.contains(name) {
            return Some(found);
        }
        let reason = format!("the makefile may ignore {name}");
        return Some(Compiled { sass: Vec::new(), ptx: Vec::new(), untold: Some(reason), ..found });
    }
    let of_environment = |name: &&&str| given.iter().all(|((own, _), _)| *own != **name);
    for name in OF_MAKEFILES.iter().filter(of_environment) {
        let Some((value, origins, inside)) = variable(command, around.lookup, name) else { continue };
        let span = origins.first().copied().unwrap_or(command.span);
        let Some(found) = options(&split(&value, span, inside || origins.is_empty()), name) else { continue };
        if MAKEFILES.iter().any(|file| (around.open)(folder, file).is_ok()) {
            return None;
        }
        let reason = format!("the makefile may ignore {name} of the environment");
        return Some(Compiled { sass: Vec::new(), ptx: Vec::new(), untold: Some(reason), ..found });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::CodeTarget;
    use crate::dockerfile::Mapped;
    use crate::install::Environment;
    use crate::install::Machine;
    use crate::install::compiled;
    use crate::knowledge::Knowledge;
    use crate::shell::script_commands;

    /// Machine code and PTX of the last command, or why they cannot be told.
    fn last(text: &str) -> String {
        let lookup = |_: &str| Lookup::Unset;
        let open = |folder: &str, path: &str| match (folder, path) {
            ("", "Makefile") if text.contains("known") => {
                Ok(crate::install::Opened::new(None, path, Mapped::default()))
            }
            _ => Err("it is not there".to_owned()),
        };
        let environment = Environment { machine: Machine::new("x86_64"), python: None };
        let around = Around { lookup: &lookup, open: &open, environment, knowledge: Knowledge::built_in() };
        let commands = script_commands(&Mapped::whole(text, 0));
        let found = commands.last().and_then(|one| compiled(one, "", &around, &|| None));
        let list = |list: &[CodeTarget]| list.iter().map(|target| target.number()).collect::<Vec<_>>().join(" ");
        found.map_or_else(
            || "-".to_owned(),
            |one| one.untold.clone().unwrap_or_else(|| format!("{} | {}", list(&one.sass), list(&one.ptx))),
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
            assert_eq!(last(text), expected, "{text}");
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
            assert_eq!(last(text), expected, "{text}");
        }
        let gencode = "'-gencode=arch=compute_90,code=sm_90'";
        assert_eq!(last(&format!("export NVCC_GENCODE={gencode}; make")), unknown("NVCC_GENCODE"));
        assert_eq!(last(&format!("NVCCFLAGS={gencode} make -j8")), unknown("NVCCFLAGS"));
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
            assert_eq!(last(text), "-", "{text}");
        }
    }
}
