//! An example as the judge takes it: a fleet, a Dockerfile or an image description, and nothing from outside.

use std::sync::Arc;

use crate::cluster::Start;
use crate::context::Files;
use crate::describe::Description;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::OnDemand;
use crate::extract;
use crate::fleet;
use crate::fleet::Fleet;
use crate::fleet::GpuName;
use crate::judge::Content;
use crate::judge::Detail;
use crate::judge::Early;
use crate::judge::Hosts;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::judge::judge_and_tell;
use crate::knowledge::Knowledge;
use crate::report::model;
use crate::rules::Example;
use crate::rules::ExampleInput;
use crate::rules::Persona;
use crate::rules::RuleBook;
use crate::source::SourceText;
use crate::source::Sources;

/// What is said of an example, and which pages could not tell whether to speak; the reason where it cannot be read.
pub fn judged(
    example: &Example,
    book: &RuleBook,
    knowledge: Knowledge,
    detail: Detail,
) -> Result<(model::Subject, Vec<String>), String> {
    let mut sources = Sources::default();
    let fleet = read_fleet(example, knowledge, &mut sources)?;
    let subject = read_subject(example, knowledge, &mut sources)?;
    let persona = Persona::Auditor;
    let settings = Settings {
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
    let report = judge_and_tell(&subject, settings, &Hosts::of(settings), &mut undecided);
    Ok((report, undecided))
}

fn read_fleet(example: &Example, knowledge: Knowledge, sources: &mut Sources) -> Result<Fleet, String> {
    let Some(text) = &example.fleet else {
        let source = sources.add(fleet::built_in_text());
        return Ok(fleet::built_in(source));
    };
    let gpu = |name: &str| match knowledge.gpu(name) {
        Some(_) => GpuName::Known,
        None => {
            GpuName::Unknown { suggestions: knowledge.gpu_suggestions(name).into_iter().map(str::to_owned).collect() }
        }
    };
    let text = SourceText::new("fleet.toml", text.clone());
    let source = sources.add(text.clone());
    let read = fleet::read(source, &text, &gpu);
    let read = read.and_then(|fleet| fleet::check_versions(&fleet, &text, knowledge).map(|()| fleet));
    read.map_err(|errors| format!("cannot read its fleet: {errors}"))
}

fn read_subject(example: &Example, knowledge: Knowledge, sources: &mut Sources) -> Result<Subject, String> {
    let (name, kind, content) = match &example.input {
        ExampleInput::Dockerfile(text) => {
            let dockerfile = OnDemand::new(text.as_str());
            let source = sources.add(SourceText::new("Dockerfile", text.as_str()));
            let (options, early) = (EvaluateOptions::new(knowledge), Early::default());
            let (files, bases) = (Files::default(), Arc::default());
            ("Dockerfile", "dockerfile", Content::Dockerfile { source, dockerfile, options, files, bases, early })
        }
        ExampleInput::Image(text) => {
            let text = SourceText::new("x.image.toml", text.clone());
            let read = Description::read(&text);
            let description = read.map_err(|errors| format!("cannot read its image: {errors}"))?;
            let source = sources.add(text);
            let content = Content::Fixed(Box::new(extract::of_description(&description, Some(source), None)));
            ("x.image.toml", "description", content)
        }
    };
    Ok(Subject {
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
