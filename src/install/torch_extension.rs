//! GPU code that projects of the build context compile with the build tools of torch.

use crate::build::{Command, Word};
use crate::install::compile_targets;
use crate::install::compile_targets::{CompiledCode, TorchReleaseLookup, variable_with_origins};
use crate::install::context::CommandContext;
use crate::model::cause::Cause;
use crate::model::package::PackageName;

/// Environment variable with the GPU architectures that torch's build tools compile for.
const ARCH_LIST_VARIABLE: &str = "TORCH_CUDA_ARCH_LIST";
/// File that defines what a project compiles.
const SETUP_FILE: &str = "setup.py";
/// Call that defines an extension with GPU code.
const CUDA_EXTENSION_CALL: &str = "CUDAExtension(";
/// File extension of CUDA sources.
const CUDA_SOURCE_SUFFIX: &str = ".cu";
/// Words that show that a `setup.py` decides itself whether or for which GPUs it compiles.
const CUSTOM_TARGET_WORDS: &[&str] =
    &["is_available", "arch=", "gencode", ARCH_LIST_VARIABLE, "CUDA_HOME", "os.environ", "getenv", "sys.argv"];
/// Maximum number of project folders of one command.
const MAX_FOLDERS: usize = 8;

/// Whether the words of a command may build a project or a repository; opens no file.
pub fn may_compile_project(command: &Command) -> bool {
    let own = |word: &str| word == "install" || word.contains("git+") || word.rsplit('/').next() == Some(SETUP_FILE);
    command.words.iter().filter_map(Word::known).any(own)
}

/// Returns the code that a command compiles from a project with a readable `setup.py`; `None` if there is none or its
/// targets are unknown.
pub fn compiled_project(
    command: &Command,
    context: &CommandContext<'_>,
    torch: TorchReleaseLookup<'_>,
) -> Option<CompiledCode> {
    let program = command.program()?;
    let words: Vec<&str> = command.words.iter().skip(1).filter_map(Word::known).collect();
    let own = |word: &str| word.rsplit('/').next() == Some(SETUP_FILE);
    let folders: Vec<String> = match words.iter().position(|word| own(word)).filter(|_| program.starts_with("python")) {
        Some(at) => {
            let builds = |word: &&str| matches!(*word, "install" | "develop" | "bdist_wheel" | "build_ext" | "build");
            words.get(at + 1..)?.iter().find(|word| builds(word))?;
            vec![(*words.get(at)?).to_owned()]
        }
        None => {
            project_folders(program, &words)?.take(MAX_FOLDERS).map(|folder| format!("{folder}/{SETUP_FILE}")).collect()
        }
    };
    let text = folders.iter().find_map(|path| Some((context.open)("", path).ok()?.text.text().to_owned()))?;
    if !builds_cuda_extension(&text) {
        return None;
    }
    let (list, origins, inside) = variable_with_origins(command, context.lookup, ARCH_LIST_VARIABLE)?;
    let mut found = CompiledCode {
        component: project_name(&text).map(String::from),
        by: ARCH_LIST_VARIABLE.to_owned(),
        ..CompiledCode::default()
    };
    compile_targets::read_torch_arch_list(&list, torch().as_deref(), context.knowledge, &mut found)?;
    found.set_origins(origins, inside, command);
    Some(found)
}

/// Returns the code of a torch extension in an unread repository, if the command sets the architectures and disables
/// build isolation.
pub fn compiled_repository(command: &Command, context: &CommandContext<'_>) -> Option<CompiledCode> {
    let words = || command.words.iter().filter_map(Word::known);
    let address = words().find(|word| word.contains("git+"))?;
    words().find(|word| *word == "--no-build-isolation")?;
    let (_, origins, inside) = variable_with_origins(command, context.lookup, ARCH_LIST_VARIABLE)
        .filter(|(list, _, inside)| *inside && !list.is_empty())?;
    let cause = Cause::TargetNotRead { address: address.split('#').next().unwrap_or(address).to_owned() };
    let mut found =
        CompiledCode { by: ARCH_LIST_VARIABLE.to_owned(), targets_unknown: Some(cause), ..CompiledCode::default() };
    found.set_origins(origins, inside, command);
    Some(found)
}

/// Returns the folders that pip or uv installs projects from.
fn project_folders<'w>(program: &str, words: &'w [&'w str]) -> Option<impl Iterator<Item = &'w str>> {
    let pip = program.starts_with("pip") || program == "uv" || words.starts_with(&["-m", "pip"]);
    let at = words.iter().position(|word| *word == "install").filter(|_| pip)?;
    let folder = |word: &&'w str| {
        let path = word.split('[').next().unwrap_or(word).trim_end_matches('/');
        let wheel = path.rsplit('.').next() == Some("whl");
        (path.starts_with(['.', '/']) && !wheel).then_some(path)
    };
    Some(words.get(at + 1..)?.iter().filter_map(folder))
}

/// Whether a `setup.py` always builds an extension with GPU code, and leaves the architectures to the build tools.
fn builds_cuda_extension(text: &str) -> bool {
    let code = || text.lines().map(|line| line.split('#').next().unwrap_or(line));
    let has = |word: &str| code().any(|line| line.contains(word));
    has(CUDA_EXTENSION_CALL)
        && has(CUDA_SOURCE_SUFFIX)
        && !code().any(|line| CUSTOM_TARGET_WORDS.iter().any(|own| line.contains(own)))
}

/// Returns the name of the project in a `setup.py`, if it is a literal.
fn project_name(text: &str) -> Option<PackageName> {
    let call = text.split("setup(").last()?;
    let (_, rest) = call.split_once("name=").filter(|(before, _)| before.trim().is_empty())?;
    let mark = rest.chars().next().filter(|mark| matches!(mark, '"' | '\''))?;
    let name = rest.get(1..)?.split(mark).next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (!name.is_empty() && name.chars().all(plain)).then(|| PackageName::python(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::{MappedText, VariableLookup};
    use crate::install::context::OpenedFile;
    use crate::install::marker::{MarkerEnvironment, TargetMachine};
    use crate::knowledge::Knowledge;
    use crate::shell::script_commands;

    const PROJECT: &str = "from torch.utils.cpp_extension import BuildExtension, CUDAExtension\n\
        setup(name=\"my_ops\", ext_modules=[CUDAExtension('my_ops', ['a.cu'])])\n";

    /// `component: targets` of what the last command compiles, `/src` being the folder with a `setup.py` of a text.
    fn last_command_targets(setup: &str, script: &str) -> Option<String> {
        let lookup = |name: &str| match name {
            ARCH_LIST_VARIABLE => VariableLookup::Known("8.0;8.6+PTX".to_owned(), Vec::new()),
            _ => VariableLookup::Unset,
        };
        let open = |_: &str, path: &str| match path {
            "setup.py" | "./setup.py" | "/src/setup.py" => {
                Ok(OpenedFile::new(None, "/src/setup.py", MappedText::contiguous(setup, 0)))
            }
            _ => Err(Cause::NotCopied),
        };
        let environment = MarkerEnvironment { machine: TargetMachine::new("x86_64"), python: None };
        let context = CommandContext { lookup: &lookup, open: &open, environment, knowledge: Knowledge::built_in() };
        let commands = script_commands(&MappedText::contiguous(script, 0));
        let found = compiled_project(commands.last()?, &context, &|| None)?;
        if let Some(why) = found.targets_unknown {
            return Some(why.to_string());
        }
        let list =
            |list: &[crate::cuda::CodeTarget]| list.iter().map(|target| target.number()).collect::<Vec<_>>().join(" ");
        Some(format!("{}: {} | {}", found.component.unwrap_or_default(), list(&found.sass), list(&found.ptx)))
    }

    #[test]
    fn a_project_with_a_cuda_extension_is_compiled_for_the_list() {
        for script in [
            "python3 setup.py install",
            "python setup.py build_ext --inplace",
            "python /src/setup.py develop",
            "pip install .",
            "pip3 install --no-build-isolation -e .",
            "python3 -m pip install /src/",
            "uv pip install --system '.[dev]'",
        ] {
            assert_eq!(last_command_targets(PROJECT, script).as_deref(), Some("my-ops: 80 86 | 86"), "{script}");
        }
        let own = "TORCH_CUDA_ARCH_LIST=9.0 pip install .";
        assert_eq!(last_command_targets(PROJECT, own).as_deref(), Some("my-ops: 90 | "));
        let nonsense = last_command_targets(PROJECT, "TORCH_CUDA_ARCH_LIST=nonsense pip install .");
        assert_eq!(
            nonsense.as_deref(),
            Some("the build tools of torch do not know the architecture `nonsense` and reject the list")
        );
        assert_eq!(
            last_command_targets(&PROJECT.replace("\"my_ops\"", "NAME"), "pip install .").as_deref(),
            Some(": 80 86 | 86")
        );
    }

    #[test]
    fn projects_with_custom_or_no_targets_are_skipped() {
        for (setup, script) in [
            (PROJECT, "python setup.py --version"),
            (PROJECT, "python setup.py sdist"),
            (PROJECT, "python other.py install"),
            (PROJECT, "pip install torch"),
            (PROJECT, "pip install /other"),
            (PROJECT, "pip install /src/dist/my_ops-1-py3-none-any.whl"),
            (PROJECT, "pip download ."),
            (PROJECT, "echo pip install ."),
            ("setup(name='x', ext_modules=[CppExtension('x', ['a.cpp'])])\n", "pip install ."),
            ("setup(name='x', ext_modules=[CUDAExtension('x', ['a.cpp'])])\n", "pip install ."),
            ("# CUDAExtension('x')\nsetup(name='x')\n", "pip install ."),
            ("if torch.cuda.is_available():\n    e = CUDAExtension('x', s)\nsetup(name='x')\n", "pip install ."),
            ("if os.getenv('FORCE_CUDA') == '1':\n    e = CUDAExtension('x', s)\nsetup()\n", "pip install ."),
            ("e = CUDAExtension('x', s, extra_compile_args={'nvcc': ['-arch=sm_70']})\nsetup()\n", "pip install ."),
            ("os.environ['TORCH_CUDA_ARCH_LIST'] = '9.0'\ne = CUDAExtension('x', s)\nsetup()\n", "pip install ."),
            ("", "pip install ."),
        ] {
            assert_eq!(last_command_targets(setup, script), None, "{setup} {script}");
        }
    }
}
