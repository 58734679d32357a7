//! Commands that query the build machine for its GPU or driver, so that their result depends on where the image is
//! built.

use crate::build::Command;
use crate::dockerfile::{RunForm, RunInstruction, VariableLookup};
use crate::knowledge::{BuildProbeRow, Knowledge};
use crate::model::fact::{
    BuildMachineProperty, BuildMachineQuery, Evidence, FactKey, Observations, Origin, PrintedValue, ValueState,
};
use crate::text::source::SourceId;

/// Shell syntax with which a script continues after a failed command, or may skip the command.
const FAILURE_TOLERANT_SYNTAX: &[&str] = &["|", ";", "set +e", "if ", "! "];
/// Maximum length of a reported command, in characters.
const MAX_COMMAND_CHARS: usize = 120;

/// Records what one command queries from the build machine.
///
/// A command that may not run is left out; so is one that may fail, or that is given a device, if it only tests
/// whether there is a GPU.
pub(super) fn record_build_host_query(
    command: &Command,
    run: &RunInstruction,
    (lookup, knowledge): (&dyn Fn(&str) -> VariableLookup, Knowledge),
    source: SourceId,
    seen: &mut Observations,
) {
    let Some(program) = command.program().filter(|_| !command.conditional) else { return };
    let mut rows = knowledge.build_probes().iter().filter(|row| program.starts_with(row.program));
    let Some(first) = rows.next() else { return };
    let text = command_line(command);
    let value = |name: &str| match command.variable(name) {
        Some(own) => own.known_text().map(str::to_owned),
        None => match lookup(name) {
            VariableLookup::Known(value, _) => Some(value),
            _ => None,
        },
    };
    let says = |row: &&BuildProbeRow| is_row_match(row, &text, &value);
    let Some(row) = std::iter::once(first).chain(rows).find(says) else { return };
    let Ok(what) = row.what.parse::<BuildMachineProperty>() else { return };
    // Without a GPU the build fails, unless the shell tolerates the failure.
    if what == BuildMachineProperty::Gpu && (run.device || tolerates_failure(run)) {
        return;
    }
    let command_text: String = text.trim().chars().take(MAX_COMMAND_CHARS).collect();
    let evidence = Evidence::Leaf(vec![Origin::File { source, span: command.span }]);
    let fact = seen.facts.add(
        FactKey::BuildAsk,
        Some(what.name()),
        ValueState::Known(PrintedValue::Text(command_text.clone())),
        evidence,
    );
    seen.build_probes.push(BuildMachineQuery { what, command: command_text, fact });
}

/// Returns the command with its variable assignments in front, with a blank at either end.
fn command_line(command: &Command) -> String {
    let mut text = String::new();
    for (name, value) in command.variables.iter() {
        text.extend([" ", name, "=", value.known_text().unwrap_or("?")]);
    }
    for word in &command.words {
        text.push(' ');
        text.push_str(word.known().unwrap_or("?"));
    }
    text.push(' ');
    text
}

/// Whether a command line and its variables match a row of the query table.
fn is_row_match(row: &BuildProbeRow, text: &str, value: &dyn Fn(&str) -> Option<String>) -> bool {
    let set = match (row.variable, row.value) {
        (Some(variable), Some(expected)) => value(variable).is_some_and(|own| own == expected),
        _ => true,
    };
    let without = row.without.is_none_or(|part| !text.contains(part));
    let unless = row.unless.is_none_or(|variable| value(variable).is_none());
    set && without && unless && row.words.iter().all(|part| text.contains(part))
}

/// Whether a RUN may continue although one of its commands fails or is skipped, judged by its unquoted text.
pub(super) fn tolerates_failure(run: &RunInstruction) -> bool {
    let RunForm::Shell(text) = &run.form else { return false };
    let mut quote = None;
    let mut bare = String::new();
    for letter in text.text().chars() {
        match quote {
            Some(open) if open == letter => quote = None,
            Some(_) => {}
            None if matches!(letter, '\'' | '"') => quote = Some(letter),
            None => bare.push(letter),
        }
    }
    // What is started with `&` ends unseen; a lone one is no part of `&&` or of a redirection.
    let without_operators = ["&&", ">&", "<&", "&>"].iter().fold(bare.clone(), |text, part| text.replace(part, ""));
    !run.heredocs.is_empty()
        || without_operators.contains('&')
        || bare.contains('`')
        || bare.contains("$(")
        || FAILURE_TOLERANT_SYNTAX.iter().any(|part| bare.contains(part))
}

#[cfg(test)]
mod tests {
    use crate::dockerfile::context::ContextFiles;
    use crate::dockerfile::{Dockerfile, EvaluateOptions};
    use crate::extract::observe_dockerfile;
    use crate::model::fact::BuildMachineProperty;
    use crate::text::source::SourceId;

    /// Returns kind and command of the queries that these Dockerfile lines make.
    fn build_host_queries(lines: &str) -> Vec<String> {
        let dockerfile = Dockerfile::parse(&format!("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n{lines}\n"));
        let target = observe_dockerfile(
            SourceId(0),
            &dockerfile,
            &EvaluateOptions::new(crate::knowledge::Knowledge::built_in()),
            &ContextFiles::default(),
        );
        let asks = target.expect("a stage").seen.build_probes;
        // The image has no uv and no conda, which is not the subject here.
        let asks = asks.into_iter().filter(|ask| ask.what != BuildMachineProperty::Installer);
        asks.map(|ask| format!("{}: {}", ask.what, ask.command)).collect()
    }

    #[test]
    fn host_queries_are_recorded_with_their_arguments() {
        for (lines, expected) in [
            ("RUN nvidia-smi", "gpu: nvidia-smi"),
            ("RUN apt-get update && nvidia-smi -L", "gpu: nvidia-smi -L"),
            ("RUN apt-get update >/dev/null 2>&1 && nvidia-smi -L", "gpu: nvidia-smi -L"),
            (
                "RUN python3 -c 'import torch; assert torch.cuda.is_available()'",
                "gpu: python3 -c import torch; assert torch.cuda.is_available()",
            ),
            ("RUN nvcc -O3 -arch=native -o /x x.cu; true", "code: nvcc -O3 -arch=native -o /x x.cu"),
            ("ENV CUDAARCHS=native\nRUN cmake -B build", "code: cmake -B build"),
            ("ENV UV_TORCH_BACKEND=auto\nRUN uv pip install torch", "variant: uv pip install torch"),
            ("RUN UV_TORCH_BACKEND=auto uv pip install torch", "variant: UV_TORCH_BACKEND=auto uv pip install torch"),
            (
                "RUN mamba install -y -c conda-forge 'nnpops>=0.4=cuda*'",
                "variant: mamba install -y -c conda-forge nnpops>=0.4=cuda*",
            ),
        ] {
            assert_eq!(build_host_queries(lines), [expected], "{lines}");
        }
    }

    #[test]
    fn commands_that_may_fail_or_query_no_host_are_not_recorded() {
        for lines in [
            "RUN nvidia-smi || true",
            "RUN nvidia-smi; echo done",
            "RUN nvidia-smi | head -1",
            "RUN nvidia-smi & wait",
            "RUN if nvidia-smi; then make; fi",
            "RUN echo nvidia-smi",
            "RUN sed -i s/nvidia-smi// run.sh",
            "RUN python3 -c 'import torch; print(torch.cuda.is_available())'",
            "RUN python3 -c 'import torch; assert torch.version.cuda'",
            "RUN nvcc -arch=sm_90 -o /x x.cu",
            "RUN CUDAARCHS=90 cmake -B build",
            "RUN CUDAARCHS=native cmake -B build -DCMAKE_CUDA_ARCHITECTURES=90",
            "RUN gcc -march=native -o /x x.c",
            "RUN uv pip install --torch-backend=cu124 torch",
            "RUN UV_TORCH_BACKEND=auto uv venv",
            "RUN CONDA_OVERRIDE_CUDA=12.4 mamba install -y -c conda-forge 'nnpops>=0.4=cuda*'",
            "RUN mamba install -y -c conda-forge 'nnpops>=0.4=cpu*'",
            "CMD nvidia-smi",
        ] {
            assert_eq!(build_host_queries(lines), [] as [String; 0], "{lines}");
        }
    }
}
