//! Judges an example: a fleet and a Dockerfile or image description, without any other input.

use std::sync::Arc;

use crate::describe::ImageDescription;
use crate::dockerfile::context::ContextFiles;
use crate::dockerfile::{EvaluateOptions, LazyDockerfile};
use crate::fleet::cluster::Start;
use crate::fleet::{Fleet, GpuNameLookup};
use crate::judge::{
    AnalysisSettings, AnalysisSubject, CachedTargetObservations, FleetHosts, ReportDetail, SubjectContent,
    judge_with_undecided,
};
use crate::knowledge::Knowledge;
use crate::report::kinds::SubjectKind;
use crate::report::model;
use crate::rules::{Example, ExampleInput, Persona, RuleBook};
use crate::text::source::{SourceText, Sources};
use crate::{extract, fleet};

/// Returns the findings of an example and the rules that are undecided; an error message if the example cannot be
/// read.
pub fn judge_example(
    example: &Example,
    book: &RuleBook,
    knowledge: Knowledge,
    detail: ReportDetail,
) -> Result<(model::Subject, Vec<String>), String> {
    let mut sources = Sources::default();
    let fleet = read_fleet(example, knowledge, &mut sources)?;
    let subject = read_subject(example, knowledge, &mut sources)?;
    let persona = Persona::Auditor;
    let settings = AnalysisSettings {
        fleet: &fleet,
        pools: &[],
        as_of: None,
        persona,
        knowledge,
        book,
        sources: &sources,
        detail,
        own: None,
    };
    let mut undecided = Vec::new();
    let report = judge_with_undecided(&subject, settings, &FleetHosts::for_fleet(settings), &mut undecided);
    Ok((report, undecided))
}

/// Reads the fleet of an example; the built-in one if it has none.
fn read_fleet(example: &Example, knowledge: Knowledge, sources: &mut Sources) -> Result<Fleet, String> {
    let Some(text) = &example.fleet else {
        let source = sources.add(fleet::built_in_fleet_text());
        return Ok(fleet::built_in_fleet(source));
    };
    let gpu = |name: &str| match knowledge.gpu(name) {
        Some(_) => GpuNameLookup::Known,
        None => GpuNameLookup::Unknown {
            suggestions: knowledge.gpu_suggestions(name).into_iter().map(str::to_owned).collect(),
        },
    };
    let text = SourceText::new("fleet.toml", text.clone());
    let source = sources.add(text.clone());
    let read = fleet::read_fleet(source, &text, &gpu);
    let read = read.and_then(|fleet| fleet::check_versions(&fleet, &text, knowledge).map(|()| fleet));
    read.map_err(|errors| format!("cannot read its fleet: {errors}"))
}

/// Reads the Dockerfile or image description of an example.
fn read_subject(example: &Example, knowledge: Knowledge, sources: &mut Sources) -> Result<AnalysisSubject, String> {
    let (name, kind, content) = match &example.input {
        ExampleInput::Dockerfile(text) => {
            let dockerfile = LazyDockerfile::new(text.as_str());
            let source = sources.add(SourceText::new("Dockerfile", text.as_str()));
            let (options, cached_target) = (EvaluateOptions::new(knowledge), CachedTargetObservations::default());
            let (files, bases) = (ContextFiles::default(), Arc::default());
            (
                "Dockerfile",
                SubjectKind::Dockerfile,
                SubjectContent::Dockerfile { source, dockerfile, options, files, bases, cached_target },
            )
        }
        ExampleInput::Image(text) => {
            let text = SourceText::new("x.image.toml", text.clone());
            let read = ImageDescription::read(&text);
            let description = read.map_err(|errors| format!("cannot read its image: {errors}"))?;
            let source = sources.add(text);
            let content =
                SubjectContent::Fixed(Box::new(extract::observe_description(&description, Some(source), None)));
            ("x.image.toml", SubjectKind::Description, content)
        }
    };
    Ok(AnalysisSubject {
        name: name.to_owned(),
        path: String::new(),
        kind,
        digest: None,
        images: Vec::new(),
        notes: Vec::new(),
        as_of: None,
        only: None,
        start: Start::default(),
        named_at: None,
        content,
    })
}
