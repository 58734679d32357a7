//! Programs that `nvcc` makes, and what goes with them to the stage that they are copied to.

use crate::cuda::CudaVersion;
use crate::dockerfile::CopyInstruction;
use crate::extract::compiled;
use crate::extract::dockerfile::Reader;
use crate::extract::tree::absolute;
use crate::fact::CodeSeen;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::NeedsSeen;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::Unsaid;
use crate::fact::Value;
use crate::fact::Why;
use crate::knowledge::Knowledge;
use crate::shell::Command;
use crate::shell::Word;
use crate::source::Span;

/// Options by which it makes no program.
const NO_PROGRAM: &[&str] =
    &["-c", "--compile", "-dc", "-E", "-M", "-MM", "-ptx", "--ptx", "-cubin", "-fatbin", "-lib"];
/// How those begin that name targets.
const TARGETS: &[&str] = &["-arch", "--gpu-architecture", "-gencode", "--generate-code", "-code", "--gpu-code"];
/// The option about the CUDA runtime, which is linked in where it says nothing, and that library.
const RUNTIME: &[&str] = &["-cudart", "--cudart"];
const CUDART: &str = "cudart";
/// The name of what it makes.
const NAME: &str = "code that nvcc compiles";

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// Where it may lie.
    places: Vec<String>,
    /// Libraries that it is linked with, as `-l` names them.
    links: Vec<String>,
    /// Whether it has GPU code, and no word says for which GPUs.
    untold: bool,
    /// The RUN that makes it.
    span: Span,
}

impl Program {
    /// What a command makes that runs in `folder`.
    pub(super) fn of(command: &Command, folder: &str, span: Span) -> Option<Self> {
        let words: Vec<&str> = command.words.iter().map(|word| word.known().unwrap_or(&word.raw)).collect();
        let none = words.iter().any(|word| NO_PROGRAM.contains(word));
        let ends = |ending: &str| words.iter().any(|word| word.rsplit_once('.').is_some_and(|(_, own)| own == ending));
        if command.program() != Some("nvcc") || command.conditional || none || !(words.contains(&"-o") || ends("cu")) {
            return None;
        }
        let mut links: Vec<String> = Vec::new();
        let behind = |at: usize| words.get(at + 1).copied();
        for (at, word) in words.iter().enumerate() {
            let (name, inline) = word.split_once('=').map_or((*word, None), |(name, value)| (name, Some(value)));
            let library = match name.strip_prefix("-l") {
                Some("") => behind(at),
                Some(rest) => Some(rest),
                None if RUNTIME.contains(&name) => {
                    inline.or_else(|| behind(at)).filter(|kind| *kind == "shared").map(|_| CUDART)
                }
                None => None,
            };
            links.extend(library.filter(|library| !library.is_empty()).map(str::to_owned));
        }
        let told = |word: &Word| word.raw.contains('$') || TARGETS.iter().any(|option| word.raw.starts_with(option));
        let untold = ends("cu") && !command.words.iter().any(told);
        let known: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
        Some(Self { places: compiled::of_command(command, &known, folder), links, untold, span })
    }
}

/// The soname of a library of a CUDA release that `-l` names; none of what is linked in, of the driver's and of others.
fn soname(link: &str, cuda: CudaVersion, knowledge: Knowledge) -> Option<&'static str> {
    let rows = knowledge.toolkit_libraries().iter().filter(|row| {
        row.cuda_major == cuda.major()
            && row.from.is_none_or(|from| from <= cuda)
            && row.before.is_none_or(|before| cuda < before)
    });
    let of = |soname: &&&str| soname.strip_prefix("lib").is_some_and(|name| name.split(".so").next() == Some(link));
    // Which cuDNN a toolkit goes with is not said by its release.
    rows.filter(|row| !row.flavour.starts_with("cudnn")).flat_map(|row| row.sonames).find(of).copied()
}

/// Adds what programs that a COPY brings ask for, compiled with a CUDA release that is known: libraries, and a CUDA of which
/// the GPU code is not told. Says where the first was made of which no word names targets.
pub(super) fn bring(
    reader: &mut Reader<'_>,
    copy: &CopyInstruction,
    programs: &[Program],
    cuda: CudaVersion,
    knowledge: Knowledge,
) -> Option<Span> {
    let sources = || copy.sources.iter().filter_map(|(path, _)| path.known());
    let mut untold = None;
    for program in programs.iter().filter(|one| sources().any(|source| compiled::brings(source, &one.places))) {
        let origins = [program.span, copy.span].map(|span| Origin::File { source: reader.source, span });
        let needs: Vec<String> =
            program.links.iter().filter_map(|link| soname(link, cuda, knowledge)).map(str::to_owned).collect();
        if !needs.is_empty() {
            let state = State::Known(Value::List(needs.clone()));
            let fact = reader.seen.facts.add(FactKey::FileNeeds, Some(NAME), state, Evidence::Leaf(origins.to_vec()));
            let (file, opens) = (NAME.to_owned(), Vec::new());
            reader.seen.needs.push(NeedsSeen { file, component: None, needs, opens, fact });
        }
        if program.untold && reader.seen.code.iter().all(|code| code.component.is_some()) {
            let why = Why {
                reason: "for which GPUs it is compiled cannot be told: nvcc is told none, and takes its own default"
                    .to_owned(),
                supply: "name the targets with -gencode or -arch".to_owned(),
            };
            let state = State::Unknown(why);
            let fact = reader.seen.facts.add(FactKey::Code, Some(NAME), state, Evidence::Leaf(origins.to_vec()));
            let (sass, ptx, linkable) = (Vec::new(), Vec::new(), Vec::new());
            let (isa, runtime, unsaid) = (None, None, Some(Unsaid::Unread));
            let (file, component) = (NAME.to_owned(), None);
            reader.seen.code.push(CodeSeen {
                file,
                component,
                sass,
                ptx,
                linkable,
                isa,
                count: 1,
                unsaid,
                runtime,
                fact,
            });
            untold = untold.or(Some(program.span));
        }
    }
    untold
}

/// The programs that a COPY brings, where they lie then.
pub(super) fn carried(programs: &[Program], copy: &CopyInstruction) -> Vec<Program> {
    let sources = || copy.sources.iter().filter_map(|(path, _)| path.known());
    let along = programs.iter().filter(|one| sources().any(|source| compiled::brings(source, &one.places)));
    let destination = copy.destination.as_ref().and_then(|(path, _)| path.known());
    let to = destination.map(|path| absolute(&copy.folder, path));
    along.map(|one| Program { places: one.places.iter().cloned().chain(to.clone()).collect(), ..one.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::Mapped;
    use crate::shell::script_commands;

    fn of(run: &str) -> String {
        let commands = script_commands(&Mapped::whole(run, 0));
        let program = commands.first().and_then(|command| Program::of(command, "/src", Span::new(0, 1)));
        let cuda: CudaVersion = "12.2".parse().expect("a release");
        program.map_or("-".to_owned(), |program| {
            let links = program.links.iter().filter_map(|link| soname(link, cuda, Knowledge::built_in()));
            format!("{} {} {}", program.places.join(","), links.collect::<Vec<_>>().join(","), program.untold)
        })
    }

    #[test]
    fn a_program_is_linked_with_what_its_command_names() {
        for (run, expected) in [
            ("nvcc -arch=sm_80 -lcublas -o /app main.cu", "/app libcublas.so.12 false"),
            ("nvcc -o app main.cu -l cufft -lcublasLt", "/src/app libcufft.so.11,libcublasLt.so.12 true"),
            ("nvcc -cudart shared -o app a.o", "/src/app libcudart.so.12 false"),
            ("nvcc --cudart=shared -gencode arch=compute_80,code=sm_80 main.cu", "/src libcudart.so.12 false"),
            ("nvcc ${FLAGS:-$OTHER} -arch=native -o app main.cu", "/src/app  false"),
            // What is linked in, the driver's and those of others.
            ("nvcc -lcublas_static -lcublasLt_static -lculibos -o app main.cu", "/src/app  true"),
            ("nvcc -cudart static -lcuda -lcudnn -lpng -lnvidia-ml -o app main.cu", "/src/app  true"),
            // No program.
            ("nvcc -c main.cu -lcublas", "-"),
            ("nvcc -ptx main.cu", "-"),
            ("nvcc --version", "-"),
            ("g++ -o app main.cpp -lcublas", "-"),
            ("if x; then nvcc -o app main.cu; fi", "-"),
            ("echo nvcc -o app main.cu -lcublas", "-"),
        ] {
            assert_eq!(of(run), expected, "{run}");
        }
    }
}
