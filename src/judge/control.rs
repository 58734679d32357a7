//! What the comments of a Dockerfile ask for: which findings are left out, on which pools the image runs;
//! and what its reader took note of.

use std::collections::BTreeSet;

use crate::dockerfile::Control;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::Ignored;
use crate::dockerfile::LineControl;
use crate::dockerfile::Order;
use crate::dockerfile::Problem;
use crate::fleet::Pool;
use crate::judge::Content;
use crate::judge::Only;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::judge::asked;
use crate::judge::asked::LeftOut;
use crate::judge::beside::Besides;
use crate::judge::beside::shown;
use crate::judge::place::Places;
use crate::judge::scope::NoticeWords;
use crate::knowledge::Knowledge;
use crate::nearest::nearest;
use crate::report::kinds::FindingSeverity;
use crate::report::model::Finding;
use crate::report::model::Location;
use crate::report::observed::OnPlatform;
use crate::rules::Kind;
use crate::rules::Notice;
use crate::rules::Persona;
use crate::rules::RuleBook;
use crate::source::SourceId;
use crate::source::Span;

/// What is told of a comment: as which notice, where, and in which words.
type Told = (Notice, Span, String);

/// The comments of a Dockerfile, and which of them had an effect.
pub(super) struct Orders<'a> {
    file: Option<(SourceId, &'a Dockerfile)>,
    settings: Settings<'a>,
    /// Comment and place in its list of rules.
    used: BTreeSet<(usize, usize)>,
    /// The comments among the lines of files and of here-documents.
    beside: Besides,
    /// Text, comment and place in its list of rules.
    used_beside: BTreeSet<(usize, usize, usize)>,
    /// What was left out and why.
    pub(super) notes: Vec<String>,
}

/// Whether where a subject runs hangs on the names or the labels of all pools.
pub fn looks_for_pools(subject: &Subject) -> bool {
    let dockerfile = match &subject.content {
        Content::Dockerfile { dockerfile, .. } => Some(&**dockerfile),
        Content::Saved(saved) => saved.dockerfile.as_ref().map(|(_, dockerfile)| dockerfile),
        Content::Fixed(_) | Content::ByPlatform(_) => None,
    };
    let names =
        |dockerfile: &Dockerfile| dockerfile.controls.iter().any(|control| matches!(control.order, Order::Pools(_)));
    matches!(subject.only, Some(Only::Nodes(_))) || dockerfile.is_some_and(names)
}

impl<'a> Orders<'a> {
    /// Those of a subject; none of what is no Dockerfile.
    pub(super) fn of(subject: &'a Subject, settings: Settings<'a>) -> Self {
        let file = match &subject.content {
            // Where something was seen early no text beside it was read, and nobody has to look into it again.
            Content::Dockerfile { dockerfile, early, .. } if early.is_there() && dockerfile.is_silent() => None,
            Content::Dockerfile { source, dockerfile, .. } => Some((*source, &**dockerfile)),
            Content::Saved(saved) => saved.dockerfile.as_ref().map(|(source, dockerfile)| (*source, dockerfile)),
            Content::Fixed(_) | Content::ByPlatform(_) => None,
        };
        let (used, beside, used_beside) = (BTreeSet::new(), Besides::default(), BTreeSet::new());
        Self { file, settings, used, beside, used_beside, notes: Vec::new() }
    }

    fn controls(&self) -> &'a [Control] {
        self.file.map_or(&[], |(_, dockerfile)| dockerfile.controls.as_slice())
    }

    /// Whether the image runs on a pool as far as its comments say.
    pub(super) fn runs(&self, pool: &Pool) -> bool {
        let mut named = self.pools().filter(|(name, _)| self.has_pool(name)).peekable();
        named.peek().is_none() || named.any(|(name, _)| *name == pool.name.value)
    }

    fn pools(&self) -> impl Iterator<Item = &'a (String, Span)> {
        self.controls().iter().flat_map(|control| match &control.order {
            Order::Pools(pools) => pools.as_slice(),
            Order::Ignore { .. } | Order::Broken(_) => &[],
        })
    }

    fn has_pool(&self, name: &str) -> bool {
        self.settings.fleet.pools.iter().any(|pool| pool.name.value == name)
    }

    /// Whether a comment or the settings leave out what a rule says of these places, for one pool or without pools.
    pub(super) fn ignores(&mut self, rule: &str, pool: Option<&str>, places: &[Location]) -> bool {
        self.comments_ignore(rule, pool, places) || self.settings_leave_out(rule, pool)
    }

    fn settings_leave_out(&mut self, rule: &str, pool: Option<&str>) -> bool {
        let left_out = asked::left_out(rule, pool, self.settings);
        if let Some(LeftOut::Ignored(note)) = &left_out {
            self.note(note);
        }
        left_out.is_some()
    }

    /// Keeps a note, once.
    fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_owned());
        }
    }

    /// Takes the comments of what stands beside the instructions; `looked` is what was seen of the subject.
    pub(super) fn look_beside(&mut self, looked: &[OnPlatform]) {
        if let Some(file) = self.file {
            self.beside = Besides::of(file, looked, self.settings.sources);
        }
    }

    fn comments_ignore(&mut self, rule: &str, pool: Option<&str>, places: &[Location]) -> bool {
        self.instructions_ignore(rule, pool, places) || self.lines_ignore(rule, pool, places)
    }

    fn instructions_ignore(&mut self, rule: &str, pool: Option<&str>, places: &[Location]) -> bool {
        let Some((source, dockerfile)) = self.file else { return false };
        let name = self.settings.sources.get(source).name();
        let readers = self.beside.readers(places).cloned().unwrap_or_default();
        let mut speaking: BTreeSet<usize> = BTreeSet::new();
        for (at, control) in dockerfile.controls.iter().enumerate() {
            let Order::Ignore { rules, reason } = &control.order else { continue };
            let Some(which) = asked_for(rules, rule, pool, self.settings.book) else { continue };
            let about = control.instruction.and_then(|at| dockerfile.instructions.get(at)).map(|found| found.span);
            let here = about.is_none_or(|span| places.iter().any(|place| touches(place, name, span)));
            let reads = control.instruction.filter(|at| readers.contains(at));
            if here || reads.is_some() {
                self.used.insert((at, which));
            }
            speaking.extend(reads);
            // Of a file that several instructions read, each has to be spoken of.
            if here || !readers.is_empty() && readers.is_subset(&speaking) {
                self.note_ignored((rule, pool), reason, source, control.span);
                return true;
            }
        }
        false
    }

    /// Whether a comment at the very line that a finding is shown at leaves it out.
    fn lines_ignore(&mut self, rule: &str, pool: Option<&str>, places: &[Location]) -> bool {
        let Some(place) = shown(places) else { return false };
        for (at, lines) in self.beside.lines.iter().enumerate() {
            let name = self.settings.sources.get(lines.source).name();
            for (number, control) in lines.controls.iter().enumerate() {
                let Order::Ignore { rules, reason } = &control.order else { continue };
                let Some(which) = asked_for(rules, rule, pool, self.settings.book) else { continue };
                if touches(place, name, control.about) {
                    self.used_beside.insert((at, number, which));
                    let (source, span, reason) = (lines.source, control.span, reason.clone());
                    self.note_ignored((rule, pool), &reason, source, span);
                    return true;
                }
            }
        }
        false
    }

    /// Notes what a comment leaves out and why.
    fn note_ignored(&mut self, (rule, pool): (&str, Option<&str>), reason: &str, source: SourceId, span: Span) {
        let text = self.settings.sources.get(source);
        let on = pool.map_or_else(String::new, |pool| format!(" on pool `{pool}`"));
        let reason = if reason.is_empty() { "without a reason" } else { reason };
        self.note(&format!("{}:{}: {rule}{on} is ignored: {reason}", text.name(), text.position(span.start)));
    }

    /// What the reader took note of; `stages` are those that ship, `whole` says whether anything was judged.
    pub(super) fn notices(&mut self, stages: &[usize], whole: bool, places: Places<'_>) -> Vec<Finding> {
        let Some((source, dockerfile)) = self.file else { return Vec::new() };
        let mut found = Vec::new();
        for problem in &dockerfile.problems {
            let concerns = whole || self.concerns(source, problem);
            // What a template language wrote, no builder is asked to read.
            if problem.templated && !concerns && self.settings.persona == Persona::Regular {
                continue;
            }
            let notice = if problem.templated { Notice::Template } else { Notice::Syntax };
            if let Some(mut finding) = self.finding(notice, source, problem.span, &problem.message, places)
                && !self.ignores(&finding.rule, None, &finding.locations)
            {
                let said = self.settings.own.and_then(|own| own.level(&finding.rule, None));
                if !concerns && said.is_none() && finding.severity == FindingSeverity::Error {
                    finding.severity = FindingSeverity::Warning;
                }
                found.push(finding);
            }
        }
        if whole {
            let own = self.idle(dockerfile, stages).into_iter().map(|told| (source, told));
            let all: Vec<(SourceId, Told)> = own.chain(self.idle_beside(dockerfile, stages)).collect();
            for (source, (notice, span, message)) in all {
                let told = self.finding(notice, source, span, &message, places);
                found.extend(told.filter(|finding| !self.settings_leave_out(&finding.rule, None)));
            }
        }
        found
    }

    /// Whether what cannot be read, in a file in which nothing concerns a GPU, may hide what does: a `FROM` without an
    /// image, and a line that names it.
    fn concerns(&self, source: SourceId, problem: &Problem) -> bool {
        let stages = self.file.map_or(&[][..], |(_, dockerfile)| &dockerfile.stages);
        // What the image stands on is lost with the line.
        let baseless = stages.iter().any(|stage| stage.base.text().is_empty() && stage.base_span == problem.span);
        let text = self.settings.sources.get(source).text();
        let line = |at: usize| text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
        let rest = text.get(line(problem.span.start)..).unwrap_or_default();
        let end = rest.find('\n').unwrap_or(rest.len()).max(problem.span.end.saturating_sub(line(problem.span.start)));
        baseless || names_a_gpu(rest.get(..end).unwrap_or(rest), self.settings.knowledge)
    }

    /// Comments that cannot be followed, and ignores that left nothing out.
    fn idle(&self, dockerfile: &Dockerfile, stages: &[usize]) -> Vec<Told> {
        let mut found = Vec::new();
        for (at, control) in dockerfile.controls.iter().enumerate() {
            match &control.order {
                Order::Broken(why) => found.push((Notice::Comment, control.span, why.clone())),
                Order::Pools(pools) if !self.settings.fleet.built_in => {
                    let unheard = pools.iter().filter(|(name, _)| !self.has_pool(name));
                    found.extend(unheard.map(|(name, span)| (Notice::Comment, *span, self.no_pool(name))));
                }
                Order::Pools(_) => {}
                Order::Ignore { rules, .. } => {
                    let unused = rules.iter().enumerate().filter(|(which, _)| !self.used.contains(&(at, *which)));
                    let shipped = control.instruction.is_none_or(|at| ships(dockerfile, stages, at));
                    found.extend(unused.filter_map(|(_, one)| self.unused(one, shipped)));
                }
            }
        }
        found
    }

    /// The same of comments among lines, with the text that each stands in.
    fn idle_beside(&self, dockerfile: &Dockerfile, stages: &[usize]) -> Vec<(SourceId, Told)> {
        let mut found = Vec::new();
        for (at, lines) in self.beside.lines.iter().enumerate().filter(|(_, lines)| lines.told) {
            let shipped = lines.readers.iter().any(|at| ships(dockerfile, stages, *at));
            for (number, LineControl { span, order, .. }) in lines.controls.iter().enumerate() {
                match order {
                    Order::Broken(why) => found.push((lines.source, (Notice::Comment, *span, why.clone()))),
                    Order::Ignore { rules, .. } => {
                        let unused = rules.iter().enumerate();
                        let unused = unused.filter(|(which, _)| !self.used_beside.contains(&(at, number, *which)));
                        found.extend(unused.filter_map(|(_, one)| Some((lines.source, self.unused(one, shipped)?))));
                    }
                    Order::Pools(_) => {}
                }
            }
        }
        found
    }

    fn unused(&self, one: &Ignored, shipped: bool) -> Option<Told> {
        let Some(page) = self.settings.book.get(&one.rule) else {
            let near = nearest(&one.rule, self.settings.book.pages().map(|page| page.name.as_str()));
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            return Some((Notice::Comment, one.span, format!("there is no rule `{}`{near}", one.rule)));
        };
        let any_fleet = self.settings.fleet.built_in;
        if let Some(pool) = one.pool.as_deref().filter(|pool| !any_fleet && !self.has_pool(pool)) {
            return Some((Notice::Comment, one.span, self.no_pool(pool)));
        }
        let by_pool = matches!(page.kind, Kind::Startup(_)) || one.pool.is_some();
        let open = by_pool && (any_fleet || !self.settings.pools.is_empty());
        if !shipped || open || page.persona > self.settings.persona {
            return None;
        }
        let on = one.pool.as_ref().map_or_else(String::new, |pool| format!(" of pool `{pool}`"));
        Some((
            Notice::UnusedIgnore,
            one.span,
            format!("`{}` reports nothing here{on}, so the ignore has no effect", one.rule),
        ))
    }

    fn no_pool(&self, name: &str) -> String {
        let near = nearest(name, self.settings.fleet.pools.iter().map(|pool| pool.name.value.as_str()));
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        format!("the fleet has no pool `{name}`{near}")
    }

    fn finding(
        &self,
        notice: Notice,
        source: SourceId,
        span: Span,
        message: &str,
        places: Places<'_>,
    ) -> Option<Finding> {
        let page = self.settings.book.reader(notice)?;
        let words = NoticeWords(message.to_owned());
        Some(Finding {
            rule: page.name.clone(),
            severity: asked::severity(page, None, self.settings).into(),
            message: page.message.render(&words),
            help: Some(page.help.render(&words)),
            pools: Vec::new(),
            component: None,
            locations: vec![places.text("file", source, span, message.to_owned())],
            cause: None,
            also_unknown: Vec::new(),
            symptom: None,
            fixes: Vec::new(),
        })
    }
}

/// Which of the rules of an ignore is asked for, on a pool or of the image.
fn asked_for(rules: &[Ignored], rule: &str, pool: Option<&str>, book: &RuleBook) -> Option<usize> {
    let on = |only: &str| pool.is_some_and(|pool| pool == only);
    rules.iter().position(|one| book.is(&one.rule, rule) && one.pool.as_deref().is_none_or(on))
}

/// Whether a word of a text is a package with GPU code, or speaks of CUDA.
fn names_a_gpu(text: &str, knowledge: Knowledge) -> bool {
    let text = text.to_ascii_lowercase();
    let mut words = text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '-' && sign != '_');
    words.any(|word| {
        word.contains("cuda")
            || word.contains("nvidia")
            || knowledge.framework(word).is_some()
            || knowledge.gpu_package(word).is_some()
            || knowledge.named_cuda(word).is_some()
    })
}

/// Whether a place lies in a span of the text of that name.
fn touches(place: &Location, name: &str, span: Span) -> bool {
    place.kind == "file"
        && place.path == name
        && place.region.is_some_and(|region| region.start_byte < span.end && span.start < region.end_byte)
}

/// Whether an instruction belongs to the stages that ship, or stands before all stages.
fn ships(dockerfile: &Dockerfile, stages: &[usize], instruction: usize) -> bool {
    dockerfile.stage_of(instruction).is_none_or(|stage| stages.contains(&stage.index))
}
