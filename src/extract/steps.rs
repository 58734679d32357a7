//! Which line of a Dockerfile made which step of an image's history.
//!
//! Builders write a step in their own words: `RUN /bin/sh -c pip install x # buildkit`, `/bin/sh -c pip install x`,
//! `/bin/sh -c #(nop) COPY file:1f2e in /app`. Steps and instructions are laid along each other in their order, the
//! last ones first: what a base was made with comes before.

use std::collections::BTreeMap;
use std::collections::HashSet;

use crate::dockerfile::Instruction;
use crate::dockerfile::Kind;
use crate::extract::history::BUILDKIT;
use crate::extract::history::NOTHING_RAN;
use crate::extract::history::shell_text;
use crate::oci::HistoryStep;

/// So many steps and instructions are compared, the last ones: no Dockerfile that somebody wrote has more.
const MOST: usize = 512;
/// Kind alone agrees, and nothing speaks against it.
const WEAK: u32 = 1;
/// The name of a variable agrees.
const NAMED: u32 = 3;
/// The text agrees.
const SAME: u32 = 4;

/// A step in the words of a Dockerfile.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) kind: Kind,
    pub(super) text: String,
}

impl Words {
    /// Whether an ENV sets a variable.
    pub(super) fn sets(&self, name: &str) -> bool {
        let mut words = self.text.split(' ');
        let first = words.next() == Some(name);
        self.kind == Kind::Env && (first || self.text.split(' ').any(|word| word.split('=').next() == Some(name)))
    }
}

/// The instruction of each step, by its number in the list; none where no line can be told.
pub(super) fn made_by(history: &[HistoryStep], instructions: &[&Instruction]) -> Vec<Option<usize>> {
    let (first_step, first_line) = (history.len().saturating_sub(MOST), instructions.len().saturating_sub(MOST));
    let steps: Vec<Option<Words>> =
        history.iter().skip(first_step).map(|step| words_of_step(&step.created_by)).collect();
    let lines: Vec<Words> = instructions.iter().skip(first_line).map(|line| words_of_line(line)).collect();
    let score = |step: usize, line: usize| match (steps.get(step), lines.get(line), instructions.get(first_line + line))
    {
        (Some(Some(step)), Some(line), Some(instruction)) => alike(step, line, instruction),
        _ => 0,
    };
    // The best that the first so many steps and lines reach, row by row.
    let width = lines.len() + 1;
    let mut best = vec![0_u32; (steps.len() + 1) * width];
    let at = |best: &[u32], step: usize, line: usize| best.get(step * width + line).copied().unwrap_or(0);
    for step in 1..=steps.len() {
        for line in 1..=lines.len() {
            let own = score(step - 1, line - 1);
            let both = if own > 0 { at(&best, step - 1, line - 1) + own } else { 0 };
            let reached = both.max(at(&best, step - 1, line)).max(at(&best, step, line - 1));
            if let Some(cell) = best.get_mut(step * width + line) {
                *cell = reached;
            }
        }
    }
    let mut found = vec![None; history.len()];
    let (mut step, mut line, mut next) = (steps.len(), lines.len(), steps.len());
    while step > 0 && line > 0 {
        let here = at(&best, step, line);
        let own = score(step - 1, line - 1);
        if own > 0 && here == at(&best, step - 1, line - 1) + own {
            (step, line) = (step - 1, line - 1);
            // A step that only could be it has to stand beside one that is.
            if own > WEAK || step + 1 == next {
                next = step;
                if let Some(cell) = found.get_mut(first_step + step) {
                    *cell = Some(first_line + line);
                }
            }
        } else if here == at(&best, step - 1, line) {
            step -= 1;
        } else {
            line -= 1;
        }
    }
    found
}

/// The words of each of the last steps that no line can have made, by the numbers of the steps.
pub(super) fn strange(
    history: &[HistoryStep],
    instructions: &[&Instruction],
    made_by: &[Option<usize>],
) -> BTreeMap<usize, Words> {
    let taken: HashSet<usize> = made_by.iter().flatten().copied().collect();
    let first_line = instructions.len().saturating_sub(MOST);
    let lines = instructions.iter().enumerate().skip(first_line).filter(|(at, _)| !taken.contains(at));
    let free: Vec<(Words, &Instruction)> = lines.map(|(_, line)| (words_of_line(line), *line)).collect();
    let steps = history.iter().zip(made_by).enumerate().skip(history.len().saturating_sub(MOST));
    let without = steps.filter(|(_, (_, line))| line.is_none());
    without
        .filter_map(|(number, (step, _))| {
            let step = words_of_step(&step.created_by)?;
            (!free.iter().any(|(line, instruction)| alike(&step, line, instruction) > 0)).then_some((number, step))
        })
        .collect()
}

/// Whether a step is surely what a line made, and not only of its kind.
pub(super) fn is_sure(step: &HistoryStep, instruction: &Instruction) -> bool {
    let line = words_of_line(instruction);
    words_of_step(&step.created_by).is_some_and(|step| alike(&step, &line, instruction) > WEAK)
}

fn alike(step: &Words, line: &Words, instruction: &Instruction) -> u32 {
    if step.kind != line.kind {
        return 0;
    }
    let same = step.text == line.text;
    match step.kind {
        _ if same => SAME,
        Kind::Env | Kind::Arg if variable(&step.text) == variable(&line.text) => NAMED,
        // What is copied is written as a sum of it, or with the variables filled in: to where is the same.
        Kind::Copy | Kind::Add => match (destination(&step.text), destination(&line.text)) {
            (Some(there), Some(here)) if there == here => NAMED,
            (Some(_), Some(_)) => 0,
            _ => WEAK,
        },
        Kind::Run => {
            let bodies = instruction.heredocs.iter().map(|heredoc| plain(heredoc.body.text()));
            let inside = |body: String| !body.is_empty() && step.text.contains(&body);
            // A shell of the Dockerfile's own stands before what it runs.
            let behind = |shell: &str| shell.starts_with(['/', '|']) && shell.ends_with(' ');
            let there = step.text.strip_suffix(&line.text).is_some_and(behind);
            // And so it does in a list of words that names one.
            let here = line.text.strip_suffix(&step.text).is_some_and(|shell| behind(shell) && shell.ends_with(" -c "));
            if there || here || bodies.into_iter().any(inside) { SAME } else { 0 }
        }
        // The form of a list, as builders write it: with blanks, and with the shell where one is needed.
        Kind::Cmd | Kind::Entrypoint if listed(&step.text, &line.text) => SAME,
        // Builders write these in a form of their own.
        Kind::Expose | Kind::Volume | Kind::Healthcheck | Kind::Shell | Kind::Workdir => WEAK,
        _ if line.text.contains('$') => WEAK,
        _ => 0,
    }
}

/// Where a COPY or an ADD puts things, where that is a whole path without variables.
fn destination(text: &str) -> Option<&str> {
    let whole = text.split(' ').next_back()?.trim_end_matches('/');
    (whole.starts_with('/') && !whole.contains('$')).then_some(whole)
}

/// Whether a list of words as builders write it is the one of a line.
fn listed(step: &str, line: &str) -> bool {
    let bare = |text: &str| text.replace("\",", "\"").replace(", \"", " \"").replace("\"\"", "\" \"");
    let quoted = line.replace('\\', "\\\\").replace('"', "\\\"");
    bare(step) == bare(line) || step.ends_with(&format!("\"-c\" \"{quoted}\"]"))
}

/// The first variable of ENV or ARG.
fn variable(text: &str) -> &str {
    text.split(['=', ' ']).next().unwrap_or_default()
}

/// On one line, with single blanks.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

fn words_of_line(instruction: &Instruction) -> Words {
    let text = match &instruction.json {
        Some(words) if matches!(instruction.kind, Kind::Run | Kind::Copy | Kind::Add) => {
            words.iter().map(crate::dockerfile::Mapped::text).collect::<Vec<_>>().join(" ")
        }
        _ => instruction.arguments.text().to_owned(),
    };
    Words { kind: instruction.kind.clone(), text: plain(&text) }
}

/// What a step says of itself; none where its builder kept that to itself.
pub(super) fn words_of_step(created_by: &str) -> Option<Words> {
    let text = created_by.trim().trim_end_matches(BUILDKIT).trim();
    if let Some((_, told)) = text.split_once(NOTHING_RAN) {
        return by_keyword(told.trim());
    }
    if let Some(ran) = shell_text(created_by) {
        return Some(Words { kind: Kind::Run, text: plain(ran) });
    }
    // A container that somebody committed, or layers that were made one, tell of a shell alone.
    if text.is_empty() || (!text.contains(char::is_whitespace) && text.ends_with("sh")) {
        return None;
    }
    by_keyword(text).or_else(|| Some(Words { kind: Kind::Run, text: plain(text) }))
}

fn by_keyword(text: &str) -> Option<Words> {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    // Builders write keywords in capitals; `env` is a program.
    let kind = Kind::of(word);
    (kind.name() == word && !matches!(kind, Kind::Unknown(_))).then(|| Words { kind, text: plain(rest) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::Dockerfile;

    fn step(text: &&str) -> HistoryStep {
        HistoryStep { created: None, created_by: (*text).to_owned(), comment: None, empty_layer: false }
    }

    fn found(history: &[&str], dockerfile: &str) -> Vec<Option<usize>> {
        let dockerfile = Dockerfile::parse(dockerfile);
        let lines: Vec<&Instruction> = dockerfile.instructions.iter().filter(|one| one.kind != Kind::From).collect();
        made_by(&history.iter().map(step).collect::<Vec<_>>(), &lines)
    }

    const DOCKERFILE: &str = "FROM x\nENV A=1 \\\n  B=\"two\"\nCOPY $FROM /app\nRUN pip install \\\n    torch==2.4.1\n\
        CMD [\"python\", \"app.py\"]\n";

    #[test]
    fn every_builder_is_understood() {
        let buildkit = [
            "/bin/sh -c #(nop) ADD file:11 in / ",
            "ENV A=1 B=two",
            "COPY src /app # buildkit",
            "RUN /bin/sh -c pip install     torch==2.4.1 # buildkit",
            "CMD [\"python\" \"app.py\"]",
        ];
        assert_eq!(found(&buildkit, DOCKERFILE), [None, Some(0), Some(1), Some(2), Some(3)]);
        let classic = [
            "/bin/sh -c #(nop)  CMD [\"bash\"]",
            "/bin/sh -c #(nop)  ENV A=1 B=two",
            "/bin/sh -c #(nop) COPY dir:22 in /app ",
            "|1 V=1 /bin/sh -c pip install     torch==2.4.1",
            "/bin/sh -c #(nop)  CMD [\"python\", \"app.py\"]",
        ];
        assert_eq!(found(&classic, DOCKERFILE), [None, Some(0), Some(1), Some(2), Some(3)]);
        let kaniko = ["", "ENV A=1", "COPY src /app", "RUN pip install     torch==2.4.1"];
        assert_eq!(found(&kaniko, DOCKERFILE), [None, Some(0), Some(1), Some(2)]);
        let exec = ["RUN pip install x # buildkit", "pip install y"];
        assert_eq!(
            found(&exec, "FROM x\nRUN [\"pip\", \"install\", \"x\"]\nRUN [\"pip\",\"install\",\"y\"]\n"),
            [Some(0), Some(1)]
        );
        let heredoc = ["RUN /bin/sh -c pip install a\npip install b\n # buildkit"];
        assert_eq!(found(&heredoc, "FROM x\nRUN <<E\npip install a\npip install b\nE\n"), [Some(0)]);
    }

    #[test]
    fn lists_and_destinations_are_compared_in_the_words_of_builders() {
        let lists = ["ENTRYPOINT [\"python\" \"app.py\"]", "CMD [\"/bin/sh\" \"-c\" \"serve --at \\\"a\\\"\"]"];
        assert_eq!(
            found(&lists, "FROM x\nENTRYPOINT [\"python\",\"app.py\"]\nCMD serve --at \"a\"\n"),
            [Some(0), Some(1)]
        );
        assert_eq!(found(&lists, "FROM x\nENTRYPOINT [\"python\"]\nCMD serve --at b\n"), [None, None]);
        let shell = ["RUN /bin/bash -lc pip install x # buildkit", "RUN echo pip install y # buildkit"];
        let dockerfile = "FROM x\nSHELL [\"/bin/bash\", \"-lc\"]\nRUN pip install x\nRUN pip install y\n";
        assert_eq!(found(&shell, dockerfile), [Some(1), None]);
        let dockerfile = "FROM x\nRUN --mount=type=cache,target=/c pip \\\n  # why\n  install x\n\
            RUN [\"/bin/bash\", \"-c\", \"make all\"]\n";
        let forms = ["|1 F=-O -c x /bin/sh -c pip   install x", "RUN /bin/bash -c make all # buildkit"];
        assert_eq!(found(&forms, dockerfile), [Some(0), Some(1)]);
        // Two copies, of which the image has one.
        let copies = ["COPY a /a # buildkit", "COPY model /srv/model # buildkit", "RUN /bin/sh -c true # buildkit"];
        assert_eq!(found(&copies, "FROM x\nCOPY [\"a\", \"/a/\"]\nRUN true\n"), [Some(0), None, Some(1)]);
        let classic = ["/bin/sh -c #(nop) COPY dir:1 in /a ", "/bin/sh -c true"];
        assert_eq!(found(&classic, "FROM x\nCOPY . /b\nCOPY . /a\nRUN true\n"), [Some(1), Some(2)]);
    }

    #[test]
    fn a_step_is_strange_where_no_line_that_is_left_can_be_it() {
        let of = |history: &[&str], dockerfile: &str| -> Vec<usize> {
            let dockerfile = Dockerfile::parse(dockerfile);
            let lines: Vec<&Instruction> =
                dockerfile.instructions.iter().filter(|one| one.kind != Kind::From).collect();
            let steps: Vec<HistoryStep> = history.iter().map(step).collect();
            strange(&steps, &lines, &made_by(&steps, &lines)).into_keys().collect()
        };
        let dockerfile = "FROM x\nRUN make\nCOPY . .\nEXPOSE 80\nUSER $U\nSTOPSIGNAL 9\n";
        let same = ["RUN /bin/sh -c make # buildkit", "COPY . . # buildkit", "EXPOSE [80/tcp]", "USER me"];
        assert!(of(&same, dockerfile).is_empty());
        let classic = ["/bin/sh -c make", "/bin/sh -c #(nop) COPY dir:2 in . ", "/bin/sh -c #(nop)  EXPOSE 80"];
        assert!(of(&classic, dockerfile).is_empty());
        // A copy that is left may be the one that stands elsewhere; a command that differs is none of them.
        let moved = ["/bin/sh -c #(nop) COPY dir:2 in /srv ", "/bin/sh -c make", "", "/bin/sh", "STOPSIGNAL SIGKILL"];
        assert_eq!(of(&moved, dockerfile), [4]);
        let more =
            ["RUN /bin/sh -c make # buildkit", "COPY . . # buildkit", "COPY b /b # buildkit", "RUN /bin/sh -c x"];
        assert_eq!(of(&more, dockerfile), [2, 3]);
    }

    #[test]
    fn what_another_file_made_is_not_taken() {
        assert_eq!(
            found(&["RUN /bin/sh -c pip install jax # buildkit", "CMD [\"bash\"]", "/bin/bash"], DOCKERFILE),
            [None, None, None]
        );
        assert_eq!(found(&[], DOCKERFILE), []);
        assert_eq!(found(&["RUN true"], "FROM x\n"), [None]);
        // The base has the same line: the last one is the Dockerfile's own.
        let twice = ["ENV A=1", "RUN /bin/sh -c true", "ENV A=1", "RUN /bin/sh -c true"];
        assert_eq!(found(&twice, "FROM x\nENV A=1\nRUN true\n"), [None, None, Some(0), Some(1)]);
        // A copy far below that could be any.
        let below = ["COPY file:1 in ./", "RUN /bin/sh -c make", "RUN /bin/sh -c true"];
        assert_eq!(found(&below, "FROM x\nCOPY a .\nRUN true\n"), [None, None, Some(1)]);
        let many: Vec<&str> = vec!["RUN /bin/sh -c true"; 2_000];
        let found = found(&many, &format!("FROM x\n{}", "RUN true\n".repeat(2_000)));
        assert_eq!(found.iter().flatten().count(), MOST);
        assert_eq!(found.last(), Some(&Some(1_999)));
    }
}
