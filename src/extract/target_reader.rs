//! The observations and the state with which one target of a Dockerfile is read.

use crate::cuda::CudaVersion;
use crate::dockerfile::context::ContextReader;
use crate::dockerfile::{Dockerfile, EvaluateOptions, EvaluatedTarget, RunInstruction};
use crate::extract::command_effects::UnknownAdditions;
use crate::extract::command_reader::StageState;
use crate::extract::run_commands;
use crate::extract::stage_files::StageLookups;
use crate::model::cause::Cause;
use crate::model::fact::{Evidence, FactKey, Observations, Origin, PrintedValue, ValueState};
use crate::model::note::Note;
use crate::text::source::{SourceId, Span};

/// Reads one target of a Dockerfile and collects its observations.
pub(super) struct TargetReader<'a> {
    pub(super) source: SourceId,
    pub(super) dockerfile: &'a Dockerfile,
    pub(super) options: &'a EvaluateOptions,
    pub(super) build_context: &'a dyn ContextReader,
    pub(super) seen: Observations,
    pub(super) notes: Vec<Note>,
    /// What the commands of the current stage leave for later ones.
    pub(super) state: StageState,
    /// What was looked for in other stages.
    pub(super) lookups: StageLookups,
}

impl TargetReader<'_> {
    /// Returns evidence at these positions of the Dockerfile, without duplicates.
    pub(super) fn leaf_evidence(&self, spans: impl IntoIterator<Item = Span>) -> Evidence {
        let mut origins: Vec<Origin> = Vec::new();
        for span in spans {
            let origin = Origin::File { source: self.source, span };
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        Evidence::Leaf(origins)
    }

    /// Notes once that part of a build was not followed, so that packages of the rest are unknown.
    pub(super) fn note_skipped_part(&mut self, reason: Cause, span: Option<Span>) {
        self.state.unknown_additions = UnknownAdditions::Files;
        let cause = Cause::BuildInstallsUnknown { because: Box::new(reason) };
        let note = Note::from(cause.reason());
        if self.notes.contains(&note) {
            return;
        }
        let state = ValueState::Unknown(cause);
        let evidence = self.leaf_evidence(span);
        self.seen.facts.add(FactKey::Requirements, Some("other stages"), state, evidence);
        self.notes.push(note);
    }

    /// Reads what some RUN instructions of a target install.
    pub(super) fn read_runs(&mut self, evaluated: &EvaluatedTarget, runs: &[RunInstruction]) {
        let inputs = run_commands::RunInputs {
            dockerfile: self.dockerfile,
            evaluated,
            runs,
            options: self.options,
            source: self.source,
            build_context: self.build_context,
            lookups: &self.lookups,
        };
        run_commands::read_runs(inputs, &mut self.state, &mut self.seen, &mut self.notes);
    }
}

/// Records the CUDA runtime that a COPY adds to an image without one.
pub(super) fn record_cuda_runtime(reader: &mut TargetReader<'_>, cuda: CudaVersion, spans: [Span; 2]) {
    let origins = spans.map(|span| Origin::File { source: reader.source, span });
    let state = ValueState::Known(PrintedValue::Text(cuda.to_string()));
    let fact = reader.seen.facts.add(FactKey::CudaRuntime, None, state, Evidence::Leaf(origins.to_vec()));
    reader.seen.cuda_runtime = Some((cuda, fact));
}
