//! Wrapper programs, which run another program that their arguments name: `sudo -u app CMD`, `timeout 1800 CMD`.

use crate::build::Word;
use crate::dockerfile::ExpandedText;

/// The maximum number of nested wrappers that are followed.
const MAX_NESTED_WRAPPERS: usize = 8;

/// A wrapper program, and how its arguments lead to the wrapped program.
struct WrapperProgram {
    name: &'static str,
    /// Options whose value is the next word.
    with_value: &'static [&'static str],
    /// Options with which it runs no program, or not the following one.
    without_program: &'static [&'static str],
    /// The number of words between the options and the wrapped program.
    operands: usize,
}

/// Returns a wrapper program with the common options that run nothing.
const fn wrapper_program(name: &'static str, with_value: &'static [&'static str], operands: usize) -> WrapperProgram {
    WrapperProgram { name, with_value, without_program: &["--help", "--version"], operands }
}

/// All known wrapper programs.
const WRAPPERS: &[WrapperProgram] = &[
    WrapperProgram {
        without_program: &["-l", "-v", "-k", "-K", "-e", "--list", "--validate", "--edit"],
        ..wrapper_program(
            "sudo",
            &[
                "-u",
                "--user",
                "-g",
                "--group",
                "-h",
                "--host",
                "-p",
                "--prompt",
                "-C",
                "--close-from",
                "-D",
                "--chdir",
                "-R",
                "--chroot",
                "-T",
                "-r",
                "-t",
                "-U",
            ],
            0,
        )
    },
    wrapper_program("doas", &["-u", "-C"], 0),
    WrapperProgram {
        without_program: &["-S", "--split-string", "-C", "--chdir"],
        ..wrapper_program("env", &["-u", "--unset"], 0)
    },
    wrapper_program("nice", &["-n", "--adjustment"], 0),
    wrapper_program("ionice", &["-c", "--class", "-n", "--classdata"], 0),
    wrapper_program("nohup", &[], 0),
    wrapper_program("setsid", &[], 0),
    wrapper_program("stdbuf", &["-i", "--input", "-o", "--output", "-e", "--error"], 0),
    wrapper_program("unbuffer", &[], 0),
    wrapper_program("timeout", &["-s", "--signal", "-k", "--kill-after"], 1),
    wrapper_program("time", &["-f", "--format", "-o", "--output"], 0),
    wrapper_program("exec", &["-a"], 0),
    WrapperProgram { without_program: &["-v", "-V"], ..wrapper_program("command", &[], 0) },
    wrapper_program("builtin", &[], 0),
    wrapper_program("gosu", &[], 1),
    wrapper_program("su-exec", &[], 1),
    wrapper_program("s6-setuidgid", &[], 1),
    wrapper_program(
        "setpriv",
        &["--reuid", "--regid", "--groups", "--inh-caps", "--ambient-caps", "--bounding-set"],
        0,
    ),
    wrapper_program("fakeroot", &[], 0),
    wrapper_program("eatmydata", &[], 0),
    wrapper_program("travis_retry", &[], 0),
    wrapper_program("chronic", &[], 0),
    wrapper_program("tini", &["-p", "-e"], 0),
    wrapper_program("dumb-init", &[], 0),
    wrapper_program(
        "xvfb-run",
        &["-n", "--server-num", "-s", "--server-args", "-e", "--error-file", "-w", "--wait"],
        0,
    ),
    wrapper_program("taskset", &[], 1),
    wrapper_program("numactl", &["-N", "-m", "-C", "-i", "-p"], 0),
    wrapper_program("flock", &["-w", "--timeout", "-E", "--conflict-exit-code"], 1),
    wrapper_program("linux32", &[], 0),
    wrapper_program("linux64", &[], 0),
];

/// Options of Python without a value, which can be combined with `-m` in one word.
const PYTHON_FLAGS: &str = "bBdEhiIOPqRsSuvVx";
/// Options of Python whose value is the next word.
const PYTHON_OPTIONS_WITH_VALUE: &[&str] = &["-W", "-X"];

/// Splits Python's `-m` from a combined word: `python -um pip`, `python -mpip`.
pub(super) fn split_module_option(mut words: Vec<Word>) -> Vec<Word> {
    let python = |word: &Word| word.known().is_some_and(|text| program_name(text).starts_with("python"));
    if !words.first().is_some_and(python) {
        return words;
    }
    let mut at = 1;
    while let Some(option) = words.get(at).and_then(Word::known).filter(|text| text.starts_with('-')) {
        let flags = option.trim_start_matches('-').trim_start_matches(|c| PYTHON_FLAGS.contains(c));
        let module = flags.strip_prefix('m').filter(|_| !option.starts_with("--") && option != "-m");
        if let Some(module) = module.map(str::to_owned) {
            let flags = option.len() - module.len() - 1;
            let part = |text: &str| words.get(at).map(|word| word.with_text(text));
            let before = option.get(..flags).filter(|flags| *flags != "-").and_then(part);
            let behind = Some(module.as_str()).filter(|module| !module.is_empty()).and_then(part);
            let parts: Vec<Word> = before.into_iter().chain(part("-m")).chain(behind).collect();
            words.splice(at..=at, parts);
            break;
        }
        if matches!(option, "-m" | "-c" | "-") {
            break;
        }
        at += 1 + usize::from(PYTHON_OPTIONS_WITH_VALUE.contains(&option));
    }
    words
}

/// Returns the file name of a program.
fn program_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a program runs another program that its arguments name.
pub fn is_wrapper_program(program: &str) -> bool {
    WRAPPERS.iter().any(|wrapper| wrapper.name == program)
}

/// Returns the index of the program that a command runs behind `sudo`, `timeout` and other wrappers; 0 without a
/// known one.
pub fn wrapped_program_index(words: &[Word]) -> usize {
    let mut at = 0;
    for _ in 0..MAX_NESTED_WRAPPERS {
        match words.get(at..).and_then(wrapper_length) {
            Some(length) => at += length,
            None => break,
        }
    }
    at
}

/// Modules of Python that are programs of their own, whichever Python runs them.
const TOOL_MODULES: &[&str] = &["pipx", "uv"];

/// Returns the index of such a module: `python -m uv sync`. With `uv pip`, the Python is that of the packages.
fn tool_module_index<'w>(program: &str, known: &impl Fn(usize) -> Option<&'w str>) -> Option<usize> {
    if !program.starts_with("python") {
        return None;
    }
    let mut at = 1;
    while known(at).is_some_and(|word| word.starts_with('-') && word != "-m") {
        at += 1 + usize::from(known(at).is_some_and(|word| PYTHON_OPTIONS_WITH_VALUE.contains(&word)));
    }
    let module = known(at + 1).filter(|module| known(at) == Some("-m") && TOOL_MODULES.contains(module))?;
    (module != "uv" || known(at + 2) != Some("pip")).then_some(at + 1)
}

/// Returns the number of words that belong to the outermost wrapper.
fn wrapper_length(words: &[Word]) -> Option<usize> {
    let known = |at: usize| words.get(at).and_then(Word::known);
    let program = known(0)?.rsplit('/').next()?;
    if let Some(module) = tool_module_index(program, &known) {
        return Some(module);
    }
    if let Some(length) = fixed_wrapper_length(program, &known) {
        return (length < words.len()).then_some(length);
    }
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == program)?;
    let mut at = 1;
    loop {
        let word = words.get(at)?;
        match word.known() {
            Some("--") => {
                at += 1;
                break;
            }
            Some(option) if option.len() > 1 && option.starts_with('-') => {
                if wrapper.without_program.contains(&option) {
                    return None;
                }
                at += 1 + usize::from(takes_next_word(option, wrapper.with_value));
            }
            _ if parse_variable_assignment(word).is_some() => at += 1,
            _ => break,
        }
    }
    at += wrapper.operands;
    // `env A=1 -- CMD`, and variables behind the user of `sudo`.
    while words.get(at).is_some_and(|word| parse_variable_assignment(word).is_some()) {
        at += 1;
    }
    // A word that only may be a program is left to the caller.
    (at < words.len()).then_some(at)
}

/// Whether the value of an option is the next word: `--user app`, `-u app`, `-EHu app`, but not `-uapp`.
fn takes_next_word(option: &str, with_value: &[&str]) -> bool {
    if option.starts_with("--") {
        return with_value.contains(&option);
    }
    let takes =
        |letter: char| with_value.iter().any(|one| one.strip_prefix('-') == Some(letter.encode_utf8(&mut [0; 4])));
    option.chars().skip(1).position(takes).is_some_and(|at| at + 2 == option.chars().count())
}

/// Returns the number of wrapper words of `runuser -u app -- CMD`, `chroot / CMD` or `scl enable NAME -- CMD`.
fn fixed_wrapper_length<'w>(program: &str, known: &impl Fn(usize) -> Option<&'w str>) -> Option<usize> {
    match (program, known(1)?, known(2)?) {
        ("runuser", "-u", _) => Some(3 + usize::from(known(3) == Some("--"))),
        ("chroot", "/", _) => Some(2),
        ("scl", "enable", _) if known(3) == Some("--") => Some(4),
        _ => None,
    }
}

/// Returns the variable that a word `NAME=value` in front of a program sets.
pub(super) fn parse_variable_assignment(word: &Word) -> Option<(String, ExpandedText)> {
    let (name, _) = super::scripts::split_assignment(word.raw.trim_matches(['"', '\'']))?;
    let value = match &word.value {
        ExpandedText::Known { value, origins } => {
            let (_, value) = value.split_once('=')?;
            ExpandedText::Known { value: value.to_owned(), origins: origins.clone() }
        }
        unresolved @ ExpandedText::Unresolved { .. } => unresolved.clone(),
    };
    Some((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use crate::dockerfile::MappedText;
    use crate::shell::script_commands;

    /// Returns the words of each command, behind the variables that are set for it.
    fn command_lines(text: &str) -> Vec<String> {
        let commands = script_commands(&MappedText::contiguous(text, 0));
        let line = |one: crate::build::Command| {
            let set = one.variables.iter().map(|(name, value)| format!("{name}={}", value.known_text().unwrap_or("?")));
            let words = one.words.iter().map(|word| word.known().unwrap_or("?").to_owned());
            set.chain(words).collect::<Vec<_>>().join(" ")
        };
        commands.into_iter().map(line).collect()
    }

    #[test]
    fn wrapped_command_is_the_command() {
        for (text, expected) in [
            ("timeout 1800 pip install x", "pip install x"),
            ("timeout -k 5 --signal=KILL 30m pip install x", "pip install x"),
            ("/usr/bin/timeout 1800 pip install x", "pip install x"),
            ("nice -n 5 pip install x", "pip install x"),
            ("nice -10 nohup pip install x", "pip install x"),
            ("stdbuf -oL pip install x", "pip install x"),
            ("stdbuf -o L -e L pip install x", "pip install x"),
            ("ionice -c2 -n 7 nice pip install x", "pip install x"),
            ("gosu root pip install x", "pip install x"),
            ("su-exec app:app pip install x", "pip install x"),
            ("sudo -H pip install x", "pip install x"),
            ("sudo -EHu app pip install x", "pip install x"),
            ("sudo -u app -H -- pip install x", "pip install x"),
            ("sudo -E A=1 pip install x", "A=1 pip install x"),
            ("env -u B A=1 C=\"$D\" pip install x", "A=1 C= pip install x"),
            ("setpriv --reuid=1000 --regid 1000 --init-groups pip install x", "pip install x"),
            ("runuser -u app -- pip install x", "pip install x"),
            ("runuser -u app pip install x", "pip install x"),
            ("chroot / pip install x", "pip install x"),
            ("time pip install x", "pip install x"),
            ("time -p pip install x", "pip install x"),
            ("/usr/bin/time -v pip install x", "pip install x"),
            ("exec pip install x", "pip install x"),
            ("command pip install x", "pip install x"),
            ("su app -c 'pip install x'", "pip install x"),
            ("su - app -c \"pip install x\"", "pip install x"),
            ("su -s /bin/bash -c \"pip install x\" app", "pip install x"),
            ("su app --command=\"pip install x\"", "pip install x"),
            ("runuser -l app -c 'pip install x'", "pip install x"),
            ("sudo -u app bash -lc 'pip install x'", "pip install x"),
            ("timeout 9 sh -c 'sudo pip install x'", "pip install x"),
            ("A=1 bash -c 'pip install x'", "A=1 pip install x"),
            ("env A=1 bash -c 'pip install x'", "A=1 pip install x"),
            ("script -qec 'pip install x' /dev/null", "pip install x"),
            ("scl enable gcc-toolset-11 -- pip install x", "pip install x"),
            ("scl enable gcc-toolset-11 'pip install x'", "pip install x"),
        ] {
            assert_eq!(command_lines(text), [expected], "{text}");
        }
    }

    #[test]
    fn a_command_that_wraps_no_program_is_unchanged() {
        for text in [
            "command -v pip install",
            "sudo -l pip install x",
            "env -S pip install x",
            "env",
            "sudo",
            "timeout 1800",
            "gosu root",
            "nohup",
            "su app",
            "chroot /mnt pip install x",
            "echo timeout 1800 pip install x",
            "sudo $NOBODY",
            "timeout --help pip install x",
            "runuser -u app",
        ] {
            let first = text.split(' ').next();
            let lines = command_lines(text);
            assert_eq!(lines.first().and_then(|one| one.split(' ').next()), first, "{text}: {lines:?}");
        }
        // What is set for one command is not set for the next one.
        assert_eq!(command_lines("env A=1 a; b"), ["A=1 a", "b"]);
        assert_eq!(command_lines("A=1 bash -c 'a'; b"), ["A=1 a", "b"]);
        let deep = format!("{}pip install x", "nice ".repeat(500));
        assert_eq!(command_lines(&deep).len(), 1);
    }
}
