//! GPU code that a project of the build context compiles with torch's build tools, for the GPUs of their variable.

use crate::install::Around;
use crate::install::requirement::normalised;
use crate::install::targets::Compiled;
use crate::install::targets::Torch;
use crate::install::targets::variable;
use crate::install::torch_list;
use crate::shell::Command;
use crate::shell::Word;

/// The variable that torch's build tools read.
const LIST: &str = "TORCH_CUDA_ARCH_LIST";
/// The file that says what a project compiles.
const SETUP: &str = "setup.py";
/// What makes an extension with GPU code, and how its sources end.
const EXTENSION: &str = "CUDAExtension(";
const SOURCE: &str = ".cu";
/// Where one of these stands, the file chooses for itself whether or for which GPUs it compiles.
const OWN_CHOICE: &[&str] =
    &["is_available", "arch=", "gencode", LIST, "CUDA_HOME", "os.environ", "getenv", "sys.argv"];
/// No command names more folders.
const MOST: usize = 8;

/// Whether a command has any of the words by which a project or a repository is compiled: a look that opens no file.
pub fn may_compile(command: &Command) -> bool {
    let own = |word: &str| word == "install" || word.contains("git+") || word.rsplit('/').next() == Some(SETUP);
    command.words.iter().filter_map(Word::known).any(own)
}

/// What a command compiles out of a project with a `setup.py` that was read; `None` where it compiles none, or for which
/// GPUs cannot be told.
pub fn of_project(command: &Command, around: &Around<'_>, torch: Torch<'_>) -> Option<Compiled> {
    let program = command.program()?;
    let words: Vec<&str> = command.words.iter().skip(1).filter_map(Word::known).collect();
    let own = |word: &str| word.rsplit('/').next() == Some(SETUP);
    let folders: Vec<String> = match words.iter().position(|word| own(word)).filter(|_| program.starts_with("python")) {
        Some(at) => {
            let builds = |word: &&str| matches!(*word, "install" | "develop" | "bdist_wheel" | "build_ext" | "build");
            words.get(at + 1..)?.iter().find(|word| builds(word))?;
            vec![(*words.get(at)?).to_owned()]
        }
        None => installed(program, &words)?.take(MOST).map(|folder| format!("{folder}/{SETUP}")).collect(),
    };
    let text = folders.iter().find_map(|path| Some((around.open)("", path).ok()?.text.text().to_owned()))?;
    if !compiles(&text) {
        return None;
    }
    let (list, origins, inside) = variable(command, around.lookup, LIST)?;
    let mut found = Compiled { component: name(&text), by: LIST.to_owned(), ..Compiled::default() };
    torch_list::read(&list, torch().as_deref(), around.knowledge, &mut found)?;
    found.put(origins, inside, command);
    Some(found)
}

/// An extension of torch in a repository that nobody read: the command says itself for which GPUs, and that the build sees
/// the torch of the image.
pub fn of_repository(command: &Command, around: &Around<'_>) -> Option<Compiled> {
    let words = || command.words.iter().filter_map(Word::known);
    let address = words().find(|word| word.contains("git+"))?;
    words().find(|word| *word == "--no-build-isolation")?;
    let (_, origins, inside) =
        variable(command, around.lookup, LIST).filter(|(list, _, inside)| *inside && !list.is_empty())?;
    let untold = format!("the target of {} was not inspected", address.split('#').next().unwrap_or(address));
    let mut found = Compiled { by: LIST.to_owned(), untold: Some(untold), ..Compiled::default() };
    found.put(origins, inside, command);
    Some(found)
}

/// The folders that pip, or uv in its place, installs projects from.
fn installed<'w>(program: &str, words: &'w [&'w str]) -> Option<impl Iterator<Item = &'w str>> {
    let pip = program.starts_with("pip") || program == "uv" || words.starts_with(&["-m", "pip"]);
    let at = words.iter().position(|word| *word == "install").filter(|_| pip)?;
    let folder = |word: &&'w str| {
        let path = word.split('[').next().unwrap_or(word).trim_end_matches('/');
        let wheel = path.rsplit('.').next() == Some("whl");
        (path.starts_with(['.', '/']) && !wheel).then_some(path)
    };
    Some(words.get(at + 1..)?.iter().filter_map(folder))
}

/// Whether a `setup.py` makes an extension with GPU code whatever the machine that builds has, and leaves to the build
/// tools for which GPUs.
fn compiles(text: &str) -> bool {
    let code = || text.lines().map(|line| line.split('#').next().unwrap_or(line));
    let has = |word: &str| code().any(|line| line.contains(word));
    has(EXTENSION) && has(SOURCE) && !code().any(|line| OWN_CHOICE.iter().any(|own| line.contains(own)))
}

/// The name of the project, where it is written as it is.
fn name(text: &str) -> Option<String> {
    let call = text.split("setup(").last()?;
    let (_, rest) = call.split_once("name=").filter(|(before, _)| before.trim().is_empty())?;
    let mark = rest.chars().next().filter(|mark| matches!(mark, '"' | '\''))?;
    let name = rest.get(1..)?.split(mark).next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (!name.is_empty() && name.chars().all(plain)).then(|| normalised(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::Lookup;
    use crate::dockerfile::Mapped;
    use crate::install::Environment;
    use crate::install::Machine;
    use crate::install::Opened;
    use crate::knowledge::Knowledge;
    use crate::shell::script_commands;

    const PROJECT: &str = "from torch.utils.cpp_extension import BuildExtension, CUDAExtension\n\
        setup(name=\"my_ops\", ext_modules=[CUDAExtension('my_ops', ['a.cu'])])\n";

    /// `component: targets` of what the last command compiles, `/src` being the folder with a `setup.py` of a text.
    fn read(setup: &str, script: &str) -> Option<String> {
        let lookup = |name: &str| match name {
            LIST => Lookup::Known("8.0;8.6+PTX".to_owned(), Vec::new()),
            _ => Lookup::Unset,
        };
        let open = |_: &str, path: &str| match path {
            "setup.py" | "./setup.py" | "/src/setup.py" => {
                Ok(Opened::new(None, "/src/setup.py", Mapped::whole(setup, 0)))
            }
            _ => Err("it is not there".to_owned()),
        };
        let environment = Environment { machine: Machine::new("x86_64"), python: None };
        let around = Around { lookup: &lookup, open: &open, environment, knowledge: Knowledge::built_in() };
        let commands = script_commands(&Mapped::whole(script, 0));
        let found = of_project(commands.last()?, &around, &|| None)?;
        if let Some(why) = found.untold {
            return Some(why);
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
            assert_eq!(read(PROJECT, script).as_deref(), Some("my-ops: 80 86 | 86"), "{script}");
        }
        let own = "TORCH_CUDA_ARCH_LIST=9.0 pip install .";
        assert_eq!(read(PROJECT, own).as_deref(), Some("my-ops: 90 | "));
        let nonsense = read(PROJECT, "TORCH_CUDA_ARCH_LIST=nonsense pip install .");
        assert_eq!(
            nonsense.as_deref(),
            Some("the build tools of torch do not know the architecture `nonsense` and reject the list")
        );
        assert_eq!(read(&PROJECT.replace("\"my_ops\"", "NAME"), "pip install .").as_deref(), Some(": 80 86 | 86"));
    }

    #[test]
    fn what_chooses_for_itself_or_compiles_nothing_is_left() {
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
            assert_eq!(read(setup, script), None, "{setup} {script}");
        }
    }
}
