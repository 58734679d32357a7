//! Image descriptions into observations, and observations back into a description.

use std::collections::BTreeSet;

use crate::cuda::CodeTarget;
use crate::cuda::CudaVersion;
use crate::describe::Description;
use crate::describe::ElfNote as WrittenNote;
use crate::describe::Family;
use crate::describe::FileFacts;
use crate::describe::GpuCode;
use crate::describe::OnBase;
use crate::describe::Package;
use crate::describe::Spanned;
use crate::describe::UnknownBase;
use crate::extract::along;
use crate::extract::described;
use crate::extract::inherited;
use crate::extract::started;
use crate::fact::BaseSeen;
use crate::fact::BuildAskSeen;
use crate::fact::CodeSeen;
use crate::fact::Depth;
use crate::fact::ElfNote;
use crate::fact::EnvTemplate;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::FileKind;
use crate::fact::FileSeen;
use crate::fact::Manager;
use crate::fact::NeedsSeen;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::PackageSeen;
use crate::fact::REMOVED;
use crate::fact::State;
use crate::fact::Unsaid;
use crate::fact::Value;
use crate::fact::Why;
use crate::install::normalised;
use crate::knowledge::Knowledge;
use crate::reference::ImageReference;
use crate::source::SourceId;
use crate::source::Span;

/// Reads a description. `origin` makes the evidence of a place in it.
pub fn of_description(description: &Description, source: Option<SourceId>, report: Option<&str>) -> Observations {
    let mut reader = Reader { seen: Observations::new(description.of), source, report: report.map(str::to_owned) };
    reader.head(description);
    reader.of_base(description);
    reader.packages(description);
    reader.files(description);
    reader.code(description);
    reader.seen
}

struct Reader {
    seen: Observations,
    source: Option<SourceId>,
    report: Option<String>,
}

impl Reader {
    fn fact(&mut self, key: FactKey, of: Option<&str>, state: State<Value>, span: Span) -> FactId {
        let origin = match (self.source, &self.report) {
            (Some(source), _) => Origin::File { source, span },
            (None, report) => Origin::Report(report.clone().unwrap_or_default()),
        };
        self.seen.facts.add(key, of, state, Evidence::Leaf(vec![origin]))
    }

    fn text(&mut self, key: FactKey, of: Option<&str>, value: &str, span: Span) -> FactId {
        self.fact(key, of, State::Known(Value::Text(value.to_owned())), span)
    }

    fn head(&mut self, description: &Description) {
        if let Some(base) = &description.base {
            self.seen.base = if base.value == "scratch" {
                BaseSeen::Scratch(self.text(FactKey::Base, None, &base.value, base.span))
            } else {
                match ImageReference::parse(&base.value) {
                    Ok(reference) => BaseSeen::Image(reference, self.text(FactKey::Base, None, &base.value, base.span)),
                    Err(error) => {
                        let why = Why { reason: error.to_string(), supply: "correct `base`".to_owned() };
                        let fact = self.fact(FactKey::Base, None, State::Unknown(why.clone()), base.span);
                        BaseSeen::Unresolved(why, fact)
                    }
                }
            };
        }
        if let Some(base) = &description.base_unknown {
            let UnknownBase { reason, supply, repository } = &base.value;
            let supply = supply.clone().unwrap_or_else(|| "set `base`".to_owned());
            let why = Why { reason: reason.clone(), supply };
            let fact = self.fact(FactKey::Base, None, State::Unknown(why.clone()), base.span);
            self.seen.base = BaseSeen::Unresolved(why, fact);
            self.seen.base_repository.clone_from(repository);
        }
        self.seen.base_env = !description.from_scratch;
        self.seen.of_base.builds_for_gpus = description.builds_for_gpus;
        self.seen.as_of = description.as_of.as_ref().map(|day| day.value);
        if let Some(span) = description.platforms.iter().map(|platform| platform.span).reduce(Span::to) {
            let list: Vec<String> = description.platforms.iter().map(|platform| platform.value.clone()).collect();
            let fact = self.fact(FactKey::Platforms, None, State::Known(Value::from(&list)), span);
            self.seen.platforms = Some((list, fact));
        }
        if let Some(cuda) = &description.cuda_runtime {
            let fact = self.text(FactKey::CudaRuntime, None, &cuda.value.to_string(), cuda.span);
            self.seen.cuda_runtime = Some((cuda.value, fact));
        }
        if let Some(words) = &description.entrypoint {
            let fact = self.fact(FactKey::Entrypoint, None, State::Known(Value::from(&words.value)), words.span);
            self.seen.of_base.start_words.clone_from(&words.value);
            self.seen.of_base.starts = Some((started::commands(&words.value), fact));
            self.seen.entrypoint = Some((words.value.clone(), fact));
        }
        if let Some(changes) = &description.tag_now {
            let fact = self.fact(FactKey::TagNow, None, State::Known(Value::from(&changes.value)), changes.span);
            self.seen.tag_now = Some((changes.value.clone(), fact));
        }
        for family in &description.complete {
            match family.value {
                Family::Env => self.seen.complete.env = true,
                Family::Packages => self.seen.complete.packages = true,
                Family::Files => self.seen.complete.files = true,
                Family::Code => self.seen.complete.code = true,
                Family::Libraries => self.seen.complete.libraries = true,
            }
        }
        if let Some(span) = description.complete.iter().map(|family| family.span).reduce(Span::to) {
            let list: Vec<String> = description.complete.iter().map(|one| one.value.as_str().to_owned()).collect();
            self.seen.complete_by = Some(self.fact(FactKey::Complete, None, State::Known(Value::List(list)), span));
        }
        for (name, value) in &description.env {
            let fact = self.text(FactKey::Env, Some(&name.value), &value.value, value.span);
            self.seen.env.insert(name.value.clone(), (Ok(value.value.clone()), fact));
        }
    }

    /// Values that cannot be told or build on the base's, and what the build removes of it.
    fn of_base(&mut self, description: &Description) {
        for name in &description.env_unknown {
            let why = Why {
                reason: format!("the value of {} is unknown", name.value),
                supply: "set it under [env]".to_owned(),
            };
            let fact = self.fact(FactKey::Env, Some(&name.value), State::Unknown(why.clone()), name.span);
            self.seen.env.insert(name.value.clone(), (Err(why), fact));
        }
        for (name, value) in &description.env_on_base {
            let why = Why {
                reason: format!("{} extends a variable of the base image", name.value),
                supply: "set its whole value under [env]".to_owned(),
            };
            let span = value.unset.as_ref().map_or(value.set.span, |unset| value.set.span.to(unset.span));
            let fact = self.fact(FactKey::Env, Some(&name.value), State::Unknown(why.clone()), span);
            self.seen.env.insert(name.value.clone(), (Err(why), fact));
            let template = EnvTemplate {
                set: inherited::parts(&value.set.value),
                unset: value.unset.as_ref().map(|unset| unset.value.clone()),
            };
            self.seen.of_base.env_templates.insert(name.value.clone(), template);
        }
        for what in &description.removed {
            let key = if what.value.starts_with('/') { FactKey::File } else { FactKey::Package };
            let state = State::Absent { searched: REMOVED };
            let fact = self.fact(key, Some(&what.value), state, what.span);
            self.seen.of_base.removed.push((what.value.clone(), fact));
        }
    }

    fn packages(&mut self, description: &Description) {
        let pip = described::names(&description.packages);
        for (manager, list) in described::sections(&description.packages) {
            for (name, package) in list {
                let (plain, extras) = match manager {
                    Manager::Pip => described::with_extras(&name.value),
                    Manager::Conda | Manager::Apt => (name.value.as_str(), Vec::new()),
                };
                let package = self.package(manager, plain, package);
                if !extras.is_empty() {
                    let more = along::with_extras(&package, &extras, &pip, &self.seen, Knowledge::built_in());
                    self.seen.packages.extend(more);
                }
                self.seen.packages.push(package);
            }
        }
        for (name, package) in &description.packages.bounds {
            let package = self.package(Manager::Pip, &name.value, package);
            self.seen.bounds.push(package);
        }
        described::in_order(&description.packages, &mut self.seen);
        let supply = || "add it to the image description".to_owned();
        if let Some(reason) = &description.packages.unread {
            let why = Why { reason: reason.value.clone(), supply: supply() };
            self.fact(FactKey::Requirements, Some("more packages"), State::Unknown(why), reason.span);
        }
        for number in &description.packages.unknown_wheels {
            let why = Why { reason: "a command installs unknown wheels".to_owned(), supply: supply() };
            let fact = self.fact(FactKey::Requirements, Some("wheels"), State::Unknown(why), number.span);
            self.seen.of_base.unknown_wheels.push((number.value, fact));
        }
        let numbers = |list: &[Spanned<u32>]| list.iter().map(|number| number.value).collect();
        self.seen.of_base.untold = numbers(&description.packages.untold);
        self.seen.of_base.keeping = numbers(&description.packages.keeping);
        self.seen.of_base.renewing = numbers(&description.packages.renewing);
        if let Some(command) = &description.packages.by_driver {
            let what = BuildAskSeen::BY_DRIVER.to_owned();
            let fact = self.text(FactKey::BuildAsk, Some(&what), &command.value, command.span);
            self.seen.build_asks.push(BuildAskSeen { what, command: command.value.clone(), fact });
        }
    }

    fn package(&mut self, manager: Manager, name: &str, package: &Spanned<Package>) -> PackageSeen {
        let plain = described::plain_name(manager, name);
        let fact = self.text(FactKey::Package, Some(&plain), described::in_words(&package.value), package.span);
        described::observed(manager, plain, &package.value, self.seen.depth, fact)
    }

    fn files(&mut self, description: &Description) {
        for (path, facts) in &description.files {
            let kind = match (&facts.link, &facts.text, &facts.elf_note) {
                (Some(link), _, _) => FileKind::Link(link.value.clone()),
                (None, Some(text), _) => FileKind::Text(text.value.clone()),
                (None, None, Some(note)) => FileKind::Noted(ElfNote {
                    cuda: note.cuda.as_ref().map(|cuda| cuda.value),
                    driver: note.driver.iter().map(|branch| branch.value).collect(),
                    device: note.device.iter().map(|brand| brand.value).collect(),
                }),
                (None, None, None) => FileKind::Present,
            };
            let fact = self.text(FactKey::File, Some(&path.value), file_text(&kind), path.span);
            self.needs(&path.value, None, &facts.needs, &facts.opens);
            self.seen.files.insert(path.value.clone(), FileSeen { kind, fact });
        }
    }

    /// The libraries that a file asks for.
    fn needs(&mut self, file: &str, component: Option<&str>, needs: &[Spanned<String>], opens: &[Spanned<String>]) {
        let names = |list: &[Spanned<String>]| list.iter().map(|name| name.value.clone()).collect::<Vec<_>>();
        let Some(span) = needs.iter().chain(opens).map(|name| name.span).reduce(Span::to) else { return };
        let (needs, opens) = (names(needs), names(opens));
        let listed = State::Known(Value::List(needs.iter().chain(&opens).cloned().collect()));
        let fact = self.fact(FactKey::FileNeeds, Some(file), listed, span);
        let component = component.map(str::to_owned);
        self.seen.needs.push(NeedsSeen { file: file.to_owned(), component, needs, opens, fact });
    }

    /// Code of which nobody knows for which GPUs it is.
    fn untold_code(&mut self, file: String, component: Option<String>, reason: &Spanned<String>) {
        let why = Why { reason: reason.value.clone(), supply: "set its `sass` and `ptx`".to_owned() };
        let fact = self.fact(FactKey::Code, Some(&file), State::Unknown(why), reason.span);
        let (sass, ptx, linkable) = (Vec::new(), Vec::new(), Vec::new());
        let (isa, runtime, unsaid) = (None, None, Some(Unsaid::Unread));
        self.seen.code.push(CodeSeen { file, component, sass, ptx, linkable, isa, count: 1, unsaid, runtime, fact });
    }

    fn code(&mut self, description: &Description) {
        for entry in &description.gpu_code {
            let file = entry.file.as_ref().map_or_else(|| "GPU code".to_owned(), |file| file.value.clone());
            let places = entry.sass.iter().chain(&entry.ptx).flatten().map(|target| target.span);
            let span = places.chain(entry.file.iter().map(|file| file.span)).reduce(Span::to).unwrap_or_default();
            let component = entry.component.as_ref().map(|name| normalised(&name.value));
            self.needs(&file, component.as_deref(), &entry.needs, &entry.opens);
            if let Some(reason) = &entry.untold {
                self.untold_code(file, component, reason);
                continue;
            }
            let unsaid = match (&entry.sass, &entry.ptx) {
                (None, None) => continue,
                // Where all code is listed, the rest is absent.
                _ if self.seen.complete.code => None,
                (None, Some(_)) => Some(Unsaid::Sass),
                (Some(_), None) => Some(Unsaid::Ptx),
                (Some(_), Some(_)) => None,
            };
            let (sass, ptx) = (entry.sass.as_deref().unwrap_or_default(), entry.ptx.as_deref().unwrap_or_default());
            let targets = |list: &[Spanned<_>]| list.iter().map(|target| target.value).collect::<Vec<_>>();
            let (sass, ptx) = (targets(sass), targets(ptx));
            let printed: Vec<String> = sass
                .iter()
                .map(|target: &CodeTarget| format!("sm_{}", target.number()))
                .chain(ptx.iter().map(|target: &CodeTarget| format!("compute_{}", target.number())))
                .collect();
            let fact = self.fact(FactKey::Code, Some(&file), State::Known(Value::List(printed)), span);
            let linkable = entry.linkable.iter().map(|target| target.value).collect();
            let isa = entry.ptx_isa.as_ref().map(|isa| isa.value);
            let count = entry.containers.as_ref().map_or(1, |count| count.value as usize);
            let runtime = None;
            self.seen.code.push(CodeSeen { file, component, sass, ptx, linkable, isa, count, unsaid, runtime, fact });
        }
    }
}

fn file_text(kind: &FileKind) -> &str {
    match kind {
        FileKind::Present => "present",
        FileKind::NoLibrary => "no library",
        FileKind::Noted(_) => "a library with a forward compatibility note",
        FileKind::Link(target) | FileKind::Text(target) => target,
    }
}

/// The description that says what was observed: what `describe` prints and reports carry.
pub fn to_description(seen: &Observations) -> Description {
    let text = |text: &str| Spanned::nowhere(text.to_owned());
    let base_unknown = match &seen.base {
        BaseSeen::Unresolved(Why { reason, supply }, _) => Some(UnknownBase {
            reason: reason.clone(),
            supply: Some(supply.clone()),
            repository: seen.base_repository.clone(),
        }),
        BaseSeen::Image(..) | BaseSeen::Scratch(_) | BaseSeen::NotSaid => None,
    };
    let mut description = Description {
        of: seen.depth,
        base_unknown: base_unknown.map(Spanned::nowhere),
        base: match &seen.base {
            BaseSeen::Image(reference, _) => Some(text(&reference.to_string())),
            BaseSeen::Scratch(_) => Some(text("scratch")),
            BaseSeen::NotSaid | BaseSeen::Unresolved(..) => None,
        },
        as_of: seen.as_of.map(Spanned::nowhere),
        platforms: seen.platforms.iter().flat_map(|(list, _)| list).map(|platform| text(platform)).collect(),
        from_scratch: !seen.base_env,
        builds_for_gpus: seen.of_base.builds_for_gpus,
        cuda_runtime: runtime(seen).map(Spanned::nowhere),
        entrypoint: seen.entrypoint.as_ref().map(|(words, _)| Spanned::nowhere(words.clone())),
        tag_now: seen.tag_now.as_ref().map(|(changes, _)| Spanned::nowhere(changes.clone())),
        ..Description::default()
    };
    for (whole, family) in [
        (seen.complete.env, Family::Env),
        (seen.complete.packages, Family::Packages),
        (seen.complete.files, Family::Files),
        (seen.complete.code, Family::Code),
        (seen.complete.libraries && seen.depth != Depth::Layers, Family::Libraries),
    ] {
        if whole {
            description.complete.push(Spanned::nowhere(family));
        }
    }
    for (name, (value, _)) in &seen.env {
        match (value, seen.of_base.env_templates.get(name)) {
            (Ok(value), _) => description.env.push((text(name), text(value))),
            (Err(_), Some(template)) => {
                let set = text(&inherited::written(&template.set));
                let unset = template.unset.as_deref().map(text);
                description.env_on_base.push((text(name), OnBase { set, unset }));
            }
            (Err(_), None) => description.env_unknown.push(text(name)),
        }
    }
    description.removed = seen.of_base.removed.iter().map(|(what, _)| text(what)).collect();
    description.packages = described::described(seen, Knowledge::built_in());
    for (path, file) in &seen.files {
        let mut facts = FileFacts::default();
        match &file.kind {
            FileKind::Present => {}
            FileKind::NoLibrary => continue,
            FileKind::Link(target) => facts.link = Some(text(target)),
            FileKind::Text(content) => facts.text = Some(text(content)),
            FileKind::Noted(note) => {
                facts.elf_note = Some(WrittenNote {
                    cuda: note.cuda.map(Spanned::nowhere),
                    driver: note.driver.iter().copied().map(Spanned::nowhere).collect(),
                    device: note.device.iter().copied().map(Spanned::nowhere).collect(),
                });
            }
        }
        description.files.push((text(path), facts));
    }
    for code in &seen.code {
        let untold = match &seen.facts.get(code.fact).state {
            State::Unknown(why) => Some(text(&why.reason)),
            State::Known(_) | State::Absent { .. } => None,
        };
        if untold.is_some() || code.unsaid == Some(Unsaid::Unread) {
            let (file, component) = (Some(text(&code.file)), code.component.as_deref().map(text));
            description.gpu_code.extend(untold.map(|untold| GpuCode {
                file,
                component,
                untold: Some(untold),
                ..GpuCode::default()
            }));
            continue;
        }
        description.gpu_code.push(GpuCode {
            file: Some(text(&code.file)),
            component: code.component.as_deref().map(text),
            sass: said(&code.sass, Unsaid::Sass, code.unsaid),
            ptx: said(&code.ptx, Unsaid::Ptx, code.unsaid),
            linkable: code.linkable.iter().copied().map(Spanned::nowhere).collect(),
            ptx_isa: code.isa.map(Spanned::nowhere),
            containers: u32::try_from(code.count).ok().filter(|count| *count != 1).map(Spanned::nowhere),
            ..GpuCode::default()
        });
    }
    for asked in seen.needs.iter().filter(|asked| !asked.needs.is_empty() || !asked.opens.is_empty()) {
        write_needs(&mut description, asked);
    }
    description
}

/// The CUDA runtime of the image's own code: that which was seen, else what the library tells that it asks for, where neither
/// its compiler nor the environment says more.
fn runtime(seen: &Observations) -> Option<CudaVersion> {
    let own = || seen.code.iter().filter(|code| code.component.is_none());
    let silent = own().all(|code| code.isa.is_none()) && !seen.env.contains_key("CUDA_VERSION");
    let asked: BTreeSet<&str> = own().filter_map(|code| code.runtime.as_deref()).collect();
    let asked = asked.first().filter(|_| silent && asked.len() == 1);
    let asked = asked.and_then(|soname| Knowledge::built_in().runtime_of(soname));
    seen.cuda_runtime.map(|(cuda, _)| cuda).or(asked)
}

/// A list of targets, where something was said of them.
fn said(targets: &[CodeTarget], kind: Unsaid, unsaid: Option<Unsaid>) -> Option<Vec<Spanned<CodeTarget>>> {
    (unsaid != Some(kind)).then(|| targets.iter().copied().map(Spanned::nowhere).collect())
}

/// What a file asks for, beside what is written of it already.
fn write_needs(description: &mut Description, asked: &NeedsSeen) {
    let names = |list: &[String]| list.iter().cloned().map(Spanned::nowhere).collect::<Vec<_>>();
    let (needs, opens) = (names(&asked.needs), names(&asked.opens));
    let file = description.files.iter_mut().find(|(path, _)| path.value == asked.file && asked.component.is_none());
    if let Some((_, facts)) = file {
        (facts.needs, facts.opens) = (needs, opens);
        return;
    }
    let of = |code: &GpuCode| {
        let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.value.clone());
        text(&code.file).as_deref() == Some(&asked.file) && text(&code.component) == asked.component
    };
    match description.gpu_code.iter_mut().find(|code| of(code) && code.needs.is_empty() && code.opens.is_empty()) {
        Some(code) => (code.needs, code.opens) = (needs, opens),
        None => description.gpu_code.push(GpuCode {
            file: Some(Spanned::nowhere(asked.file.clone())),
            component: asked.component.clone().map(Spanned::nowhere),
            needs,
            opens,
            ..GpuCode::default()
        }),
    }
}
