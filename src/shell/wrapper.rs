//! Programs that run another program, which their arguments name: `sudo -u app CMD`, `timeout 1800 CMD`.

use crate::dockerfile::Resolved;
use crate::shell::Word;

/// Programs that run one another so are not deeper.
const DEEPEST: usize = 8;

/// How the arguments of a program lead to the one that it runs.
struct Wrapper {
    name: &'static str,
    /// Options that a value follows as a word of its own.
    with_value: &'static [&'static str],
    /// Options with which it runs nothing, or not what follows.
    alone: &'static [&'static str],
    /// So many words stand between the options and the program.
    operands: usize,
}

const fn wrapper(name: &'static str, with_value: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { name, with_value, alone: &["--help", "--version"], operands }
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        alone: &["-l", "-v", "-k", "-K", "-e", "--list", "--validate", "--edit"],
        ..wrapper(
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
    wrapper("doas", &["-u", "-C"], 0),
    Wrapper { alone: &["-S", "--split-string", "-C", "--chdir"], ..wrapper("env", &["-u", "--unset"], 0) },
    wrapper("nice", &["-n", "--adjustment"], 0),
    wrapper("ionice", &["-c", "--class", "-n", "--classdata"], 0),
    wrapper("nohup", &[], 0),
    wrapper("setsid", &[], 0),
    wrapper("stdbuf", &["-i", "--input", "-o", "--output", "-e", "--error"], 0),
    wrapper("unbuffer", &[], 0),
    wrapper("timeout", &["-s", "--signal", "-k", "--kill-after"], 1),
    wrapper("time", &["-f", "--format", "-o", "--output"], 0),
    wrapper("exec", &["-a"], 0),
    Wrapper { alone: &["-v", "-V"], ..wrapper("command", &[], 0) },
    wrapper("builtin", &[], 0),
    wrapper("gosu", &[], 1),
    wrapper("su-exec", &[], 1),
    wrapper("s6-setuidgid", &[], 1),
    wrapper("setpriv", &["--reuid", "--regid", "--groups", "--inh-caps", "--ambient-caps", "--bounding-set"], 0),
    wrapper("fakeroot", &[], 0),
    wrapper("eatmydata", &[], 0),
    wrapper("travis_retry", &[], 0),
    wrapper("chronic", &[], 0),
    wrapper("tini", &["-p", "-e"], 0),
    wrapper("dumb-init", &[], 0),
    wrapper("xvfb-run", &["-n", "--server-num", "-s", "--server-args", "-e", "--error-file", "-w", "--wait"], 0),
    wrapper("taskset", &[], 1),
    wrapper("numactl", &["-N", "-m", "-C", "-i", "-p"], 0),
    wrapper("flock", &["-w", "--timeout", "-E", "--conflict-exit-code"], 1),
    wrapper("linux32", &[], 0),
    wrapper("linux64", &[], 0),
];

/// Options of Python that stand in front of `-m` in one word, and those that a value follows.
const PYTHON_FLAGS: &str = "bBdEhiIOPqRsSuvVx";
const PYTHON_WITH_VALUE: &[&str] = &["-W", "-X"];

/// The same words with `-m` of Python as one of its own: `python -um pip`, `python -mpip`.
pub(super) fn module_apart(mut words: Vec<Word>) -> Vec<Word> {
    let python = |word: &Word| word.known().is_some_and(|text| name(text).starts_with("python"));
    if !words.first().is_some_and(python) {
        return words;
    }
    let mut at = 1;
    while let Some(option) = words.get(at).and_then(Word::known).filter(|text| text.starts_with('-')) {
        let flags = option.trim_start_matches('-').trim_start_matches(|c| PYTHON_FLAGS.contains(c));
        let module = flags.strip_prefix('m').filter(|_| !option.starts_with("--") && option != "-m");
        if let Some(module) = module.map(str::to_owned) {
            let flags = option.len() - module.len() - 1;
            let part = |text: &str| words.get(at).map(|word| word.part(text));
            let before = option.get(..flags).filter(|flags| *flags != "-").and_then(part);
            let behind = Some(module.as_str()).filter(|module| !module.is_empty()).and_then(part);
            let parts: Vec<Word> = before.into_iter().chain(part("-m")).chain(behind).collect();
            words.splice(at..=at, parts);
            break;
        }
        if matches!(option, "-m" | "-c" | "-") {
            break;
        }
        at += 1 + usize::from(PYTHON_WITH_VALUE.contains(&option));
    }
    words
}

fn name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a program runs another, which its arguments name.
pub(super) fn is_wrapper(program: &str) -> bool {
    WRAPPERS.iter().any(|wrapper| wrapper.name == program)
}

/// Where the program stands that a command runs in the end: behind `sudo`, `timeout` and the like; 0 where the first
/// word is that program itself, and where what it runs cannot be told.
pub fn inner(words: &[Word]) -> usize {
    let mut at = 0;
    for _ in 0..DEEPEST {
        match words.get(at..).and_then(one) {
            Some(length) => at += length,
            None => break,
        }
    }
    at
}

/// How many words of a command are those of the program that runs another.
fn one(words: &[Word]) -> Option<usize> {
    let known = |at: usize| words.get(at).and_then(Word::known);
    let program = known(0)?.rsplit('/').next()?;
    if let Some(length) = one_of_another_user(program, &known) {
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
                if wrapper.alone.contains(&option) {
                    return None;
                }
                at += 1 + usize::from(takes_next(option, wrapper.with_value));
            }
            _ if set(word).is_some() => at += 1,
            _ => break,
        }
    }
    at += wrapper.operands;
    // `env A=1 -- CMD`, and variables behind the user of `sudo`.
    while words.get(at).is_some_and(|word| set(word).is_some()) {
        at += 1;
    }
    // What only may be a program is left to those who read the words.
    (at < words.len()).then_some(at)
}

/// Whether the value of an option is the next word: `--user app`, `-u app`, `-EHu app`, and not `-uapp`.
fn takes_next(option: &str, with_value: &[&str]) -> bool {
    if option.starts_with("--") {
        return with_value.contains(&option);
    }
    let takes =
        |letter: char| with_value.iter().any(|one| one.strip_prefix('-') == Some(letter.encode_utf8(&mut [0; 4])));
    option.chars().skip(1).position(takes).is_some_and(|at| at + 2 == option.chars().count())
}

/// `runuser -u app -- CMD`, `chroot / CMD`, `scl enable NAME -- CMD`.
fn one_of_another_user<'w>(program: &str, known: &impl Fn(usize) -> Option<&'w str>) -> Option<usize> {
    match (program, known(1)?, known(2)?) {
        ("runuser", "-u", _) => Some(3 + usize::from(known(3) == Some("--"))),
        ("chroot", "/", _) => Some(2),
        ("scl", "enable", _) if known(3) == Some("--") => Some(4),
        _ => None,
    }
}

/// The variable that a word in front of a program sets: `NAME=value`.
pub(super) fn set(word: &Word) -> Option<(String, Resolved)> {
    let (name, _) = super::nested::assignment(word.raw.trim_matches(['"', '\'']))?;
    let value = match &word.value {
        Resolved::Known { value, origins } => {
            let (_, value) = value.split_once('=')?;
            Resolved::Known { value: value.to_owned(), origins: origins.clone() }
        }
        unresolved @ Resolved::Unresolved { .. } => unresolved.clone(),
    };
    Some((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use crate::dockerfile::Mapped;
    use crate::shell::script_commands;

    /// The words of each command, behind the variables that are set in front of it.
    fn run(text: &str) -> Vec<String> {
        let commands = script_commands(&Mapped::whole(text, 0));
        let line = |one: crate::shell::Command| {
            let set = one.variables.iter().map(|(name, value)| format!("{name}={}", value.known().unwrap_or("?")));
            let words = one.words.iter().map(|word| word.known().unwrap_or("?").to_owned());
            set.chain(words).collect::<Vec<_>>().join(" ")
        };
        commands.into_iter().map(line).collect()
    }

    #[test]
    fn what_another_program_runs_is_the_command() {
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
            assert_eq!(run(text), [expected], "{text}");
        }
    }

    #[test]
    fn what_runs_nothing_else_stays_as_it_is() {
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
            let said = run(text);
            assert_eq!(said.first().and_then(|one| one.split(' ').next()), first, "{text}: {said:?}");
        }
        // What is set for one command is not set for the next one.
        assert_eq!(run("env A=1 a; b"), ["A=1 a", "b"]);
        assert_eq!(run("A=1 bash -c 'a'; b"), ["A=1 a", "b"]);
        let deep = format!("{}pip install x", "nice ".repeat(500));
        assert_eq!(run(&deep).len(), 1);
    }
}
