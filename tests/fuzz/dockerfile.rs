//! Dockerfiles: read, evaluated for every stage, turned into observations.

use std::fs;
use std::path::Path;

use imagelint::dockerfile::{Dockerfile, EvaluateOptions, Instruction};
use imagelint::extract;
use imagelint::text::source::{SourceText, Sources, Span};

pub(crate) const WORDS: &[&str] = &[
    "FROM a\n",
    "FROM ${A:-b} AS c\n",
    "FROM scratch\n",
    "COPY --from=c / /\n",
    "COPY --from=0 /opt/venv /opt/venv\n",
    "ARG A\n",
    "ARG A=1 B=${A} C\n",
    "ENV A=1 B=$A \\\n",
    "ENV PATH=/x/bin:$PATH\n",
    "RUN <<E\n",
    "RUN <<-'E' <<\"F\" cat\n",
    "\nE\n",
    "ONBUILD ",
    "SHELL [\"a\"]\n",
    "WORKDIR x\n",
    "RUN pip install torch==2.4.0 --target x -r y\n",
    "RUN [\"sh\", \"-c\", \"x\"]\n",
    "# imagelint: ignore[a@b] c\n",
    "# imagelint: ignore-file[a]\n",
    "# imagelint: pools=a,b\n",
    "# escape=`\n",
    "# syntax=x\n",
    "--mount=type=bind,from=c ",
    "${A##*/}",
    "${A/b/c}",
    "${A:+${B:-${C}}}",
    "{{ x }}",
    "{% if %}",
    "\\\n# c\n\n",
    "\u{feff}",
    "é\u{202e}",
];

pub(crate) fn seeds() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dockerfiles");
    let entries = fs::read_dir(folder).expect("the fixtures").map(|entry| entry.expect("a fixture").path());
    let mut paths: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "Dockerfile")).collect();
    paths.sort();
    paths.iter().map(|path| String::from_utf8_lossy(&fs::read(path).expect("a fixture")).into_owned()).collect()
}

pub(crate) fn read(text: &str) {
    let dockerfile = Dockerfile::parse(text);
    let inside = |span: Span| assert!(text.get(span.start..span.end).is_some(), "{span:?} is no part of the text");
    let each = |instruction: &Instruction| {
        inside(instruction.span);
        inside(instruction.keyword);
        inside(instruction.arguments.full_source_span());
        for flag in &instruction.flags {
            inside(flag.span);
        }
        for heredoc in &instruction.heredocs {
            inside(heredoc.span);
            inside(heredoc.body.full_source_span());
        }
        for word in instruction.json.iter().flatten() {
            inside(word.full_source_span());
        }
    };
    for instruction in &dockerfile.instructions {
        each(instruction);
        instruction.child.as_deref().into_iter().for_each(each);
    }
    dockerfile.stages.iter().for_each(|stage| inside(stage.base_span));
    dockerfile.problems.iter().for_each(|problem| inside(problem.span));
    dockerfile.controls.iter().for_each(|control| inside(control.span));
    let mut sources = Sources::default();
    let source = sources.add(SourceText::new("Dockerfile", text));
    for target in (0..dockerfile.stages.len().min(4)).map(|at| Some(at.to_string())).chain([None]) {
        let options = EvaluateOptions { target, ..EvaluateOptions::new(imagelint::knowledge::Knowledge::built_in()) };
        if let Ok(target) = extract::observe_dockerfile(
            source,
            &dockerfile,
            &options,
            &imagelint::dockerfile::context::ContextFiles::default(),
        ) {
            assert!(target.stages.iter().all(|stage| *stage < dockerfile.stages.len()));
        }
    }
    no_from_is_lost(text, &dockerfile);
}

/// A FROM behind whatever came before is a stage, unless a continuation takes it in.
fn no_from_is_lost(text: &str, dockerfile: &Dockerfile) {
    let continued = text.lines().any(|line| line.trim_end_matches([' ', '\t', '\r']).ends_with(['\\', '`']));
    if continued {
        return;
    }
    let longer = Dockerfile::parse(&format!("{text}\n\nFROM last AS word\n"));
    assert_eq!(longer.stages.last().map(|stage| stage.base.text()), Some("last"), "a FROM is lost");
    if !dockerfile.stages.is_empty() {
        assert_eq!(longer.stages.len(), dockerfile.stages.len() + 1, "a FROM is lost");
    }
}
