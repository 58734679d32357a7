//! The commands that a container of an image starts with.

use crate::dockerfile::Dockerfile;
use crate::dockerfile::Evaluated;
use crate::dockerfile::Instruction;
use crate::dockerfile::Kind;
use crate::dockerfile::Mapped;
use crate::shell;

/// So long is what an image starts, in bytes; what is longer is not read.
const LONGEST: usize = 1 << 16;
/// What runs a text where SHELL names nothing else.
const SHELL: [&str; 2] = ["/bin/sh", "-c"];

/// What a target starts.
#[derive(Default)]
pub(super) struct Started<'a> {
    /// The ENTRYPOINT that counts, with the SHELL that runs it where it is a text.
    pub(super) entrypoint: Option<Said<'a>>,
    /// The CMD behind it, or in its place.
    pub(super) command: Option<Said<'a>>,
}

/// An instruction that says what is started.
#[derive(Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) instruction: &'a Instruction,
    /// The SHELL that runs it, where it is a text and one was named.
    pub(super) shell: Option<&'a Instruction>,
}

impl Said<'_> {
    /// The words as written; a text with the shell that SHELL names in front.
    pub(super) fn words(&self) -> Vec<String> {
        if self.instruction.json.is_some() {
            return listed(self.instruction);
        }
        let text = self.instruction.arguments.text().split_whitespace().map(str::to_owned);
        self.shell.map(listed).unwrap_or_default().into_iter().chain(text).collect()
    }

    /// The words that are run.
    fn argv(&self) -> Vec<String> {
        if self.instruction.json.is_some() {
            return listed(self.instruction);
        }
        let own = self.shell.map_or_else(|| SHELL.map(str::to_owned).to_vec(), listed);
        own.into_iter().chain([self.instruction.arguments.text().to_owned()]).collect()
    }
}

fn listed(instruction: &Instruction) -> Vec<String> {
    instruction.json.iter().flatten().map(|word| word.text().to_owned()).collect()
}

impl<'a> Started<'a> {
    /// What the stages of a target say, the last one last: an ENTRYPOINT takes back the CMD of the stages before it.
    pub(super) fn of(dockerfile: &'a Dockerfile, evaluated: &Evaluated) -> Self {
        let mut said = Self::default();
        let mut shell = None;
        for stage in evaluated.chain.iter().filter_map(|index| dockerfile.stages.get(*index)) {
            let mut own = false;
            for instruction in stage.instructions.iter().filter_map(|at| dockerfile.instructions.get(*at)) {
                let shell_of_text = || shell.filter(|_| instruction.json.is_none());
                match instruction.kind {
                    Kind::Shell => shell = Some(instruction),
                    Kind::Cmd => {
                        own = true;
                        said.command = Some(Said { instruction, shell: shell_of_text() });
                    }
                    Kind::Entrypoint => {
                        said.entrypoint = Some(Said { instruction, shell: shell_of_text() });
                        said.command = said.command.filter(|_| own);
                    }
                    _ => {}
                }
            }
        }
        said
    }

    /// The words of ENTRYPOINT and CMD as they are written.
    pub(super) fn words(&self) -> Vec<String> {
        let text = self.entrypoint.is_some_and(|said| said.instruction.json.is_none());
        let both = [self.entrypoint, self.command.filter(|_| !text)];
        both.iter().flatten().flat_map(Said::words).collect()
    }

    /// The commands that a container starts with, as far as ENTRYPOINT and CMD say it.
    pub(super) fn commands(&self) -> Vec<String> {
        commands(&self.argv())
    }

    /// The programs of these commands, as they are written.
    pub(super) fn programs(&self) -> Vec<String> {
        programs(&self.argv())
    }

    fn argv(&self) -> Vec<String> {
        // An ENTRYPOINT that is a text leaves its CMD out; `ENTRYPOINT []` is none.
        let entrypoint = self.entrypoint.map(|said| said.argv()).unwrap_or_default();
        let text = self.entrypoint.is_some_and(|said| said.instruction.json.is_none());
        let command = self.command.filter(|_| !text).map(|said| said.argv()).unwrap_or_default();
        [entrypoint, command].concat()
    }
}

/// The programs that the words of a container come to, as they are written.
fn programs(argv: &[String]) -> Vec<String> {
    let own = |command: &shell::Command| {
        let word = command.words.first().filter(|_| !command.conditional && command.program().is_some())?;
        Some(word.known().unwrap_or(&word.raw).to_owned())
    };
    parsed(argv).iter().filter_map(own).collect()
}

/// The commands of a shell that does what the words say.
fn parsed(argv: &[String]) -> Vec<shell::Command> {
    let quoted: Vec<String> = argv.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    let text = quoted.join(" ");
    if text.len() > LONGEST { Vec::new() } else { shell::script_commands(&Mapped::whole(&text, 0)) }
}

/// The commands that the words of a container come to, each on one line with blanks between its words and the program by its
/// name; a blank in a word has a backslash in front. Programs that run another, as `tini` and `sh -c` do, are left out, and
/// so is what may not run.
pub(super) fn commands(argv: &[String]) -> Vec<String> {
    let told = |command: &shell::Command| {
        let program = command.program().filter(|_| !command.conditional)?.to_owned();
        let rest = command.words.iter().skip(1).map(|word| word.known().unwrap_or(&word.raw).to_owned());
        let words: Vec<String> = std::iter::once(program).chain(rest).map(|word| on_one_line(&word)).collect();
        Some(words.join(" "))
    };
    parsed(argv).iter().filter_map(told).collect()
}

fn on_one_line(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for letter in word.chars() {
        if letter.is_whitespace() {
            out.push_str("\\ ");
        } else {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::EvaluateOptions;
    use crate::knowledge::Knowledge;

    fn of(text: &str) -> Vec<String> {
        let dockerfile = Dockerfile::parse(text);
        let evaluated = dockerfile.evaluate(&EvaluateOptions::new(Knowledge::built_in())).expect("a target");
        Started::of(&dockerfile, &evaluated).commands()
    }

    #[test]
    fn a_container_starts_with_entrypoint_and_cmd() {
        for (text, expected) in [
            ("CMD [\"ffmpeg\", \"-i\", \"a b\"]", &["ffmpeg -i a\\ b"][..]),
            ("CMD /usr/bin/ffmpeg -hwaccel cuda && echo $DONE", &["ffmpeg -hwaccel cuda", "echo"]),
            ("CMD exec timeout 5 ffmpeg -y", &["ffmpeg -y"]),
            ("CMD [\"bash\", \"-lc\", \"cd /a; ffmpeg -y | tee l\"]", &["cd /a", "ffmpeg -y", "tee l"]),
            ("ENTRYPOINT [\"ffmpeg\"]\nCMD [\"-y\"]", &["ffmpeg -y"]),
            ("CMD [\"-y\"]\nENTRYPOINT [\"ffmpeg\"]", &["ffmpeg -y"]),
            ("ENTRYPOINT [\"/sbin/tini\", \"-g\", \"--\"]\nCMD [\"ffmpeg\", \"-y\"]", &["ffmpeg -y"]),
            ("ENTRYPOINT [\"tini\", \"--\"]\nCMD ffmpeg -y", &["ffmpeg -y"]),
            ("ENTRYPOINT []\nCMD ffmpeg -y", &["ffmpeg -y"]),
            ("SHELL [\"/bin/bash\", \"-c\"]\nCMD ffmpeg -y", &["ffmpeg -y"]),
            // What stands behind another program is an argument.
            ("ENTRYPOINT [\"/run.py\"]\nCMD [\"ffmpeg\", \"-y\"]", &["run.py ffmpeg -y"]),
            ("ENTRYPOINT [\"/run.py\"]\nCMD ffmpeg -y", &["run.py /bin/sh -c ffmpeg\\ -y"]),
            ("CMD echo ffmpeg -y", &["echo ffmpeg -y"]),
            ("CMD [\"echo\", \"it's; ffmpeg -y\"]", &["echo it's;\\ ffmpeg\\ -y"]),
            // A text as ENTRYPOINT leaves CMD out.
            ("ENTRYPOINT serve --all\nCMD [\"ffmpeg\", \"-y\"]", &["serve --all"]),
            // What may not run.
            ("CMD test -e /a || ffmpeg -y", &["test -e /a"]),
            ("", &[]),
        ] {
            assert_eq!(of(&format!("FROM x\n{text}\n")), expected, "{text}");
        }
    }

    #[test]
    fn an_entrypoint_takes_back_the_cmd_of_the_stages_before_it() {
        let parent = "FROM x AS a\nCMD [\"ffmpeg\"]\nFROM a\n";
        assert_eq!(of(parent), ["ffmpeg"]);
        assert_eq!(of(&format!("{parent}ENTRYPOINT [\"serve\"]\n")), ["serve"]);
        assert_eq!(of(&format!("{parent}ENTRYPOINT [\"serve\"]\nCMD [\"-v\"]\n")), ["serve -v"]);
        let parent = "FROM x AS a\nENTRYPOINT [\"serve\"]\nCMD [\"-v\"]\nFROM a\n";
        assert_eq!(of(&format!("{parent}CMD [\"-q\"]\n")), ["serve -q"]);
        assert_eq!(of(&format!("FROM x AS b\nCMD [\"ffmpeg\"]\n{parent}")), ["serve -v"]);
    }

    #[test]
    fn what_is_too_long_is_not_read() {
        assert_eq!(commands(&["a".repeat(100)]).len(), 1);
        assert!(commands(&["a".repeat(LONGEST)]).is_empty());
    }
}
