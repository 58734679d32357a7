//! Suppression by comments and settings: findings that are left out, pools on which an image runs, and comments
//! without effect.

use std::collections::BTreeSet;

use crate::dockerfile::{Dockerfile, DockerfileProblem, LineLintComment, LintComment, LintDirective, SuppressedRule};
use crate::fleet::Pool;
use crate::judge::file_comments::{FileComments, file_location};
use crate::judge::location::LocationBuilder;
use crate::judge::rule_settings::SettingsSuppression;
use crate::judge::scope::NoticeScope;
use crate::judge::{AnalysisSettings, AnalysisSubject, PoolRestriction, SubjectContent, rule_settings};
use crate::knowledge::Knowledge;
use crate::model::note::Note;
use crate::report::kinds::{FindingSeverity, LocationKind};
use crate::report::model::{Finding, Location, OnPlatform};
use crate::rules::{Notice, PageKind, Persona, RuleBook};
use crate::text::nearest::nearest_word;
use crate::text::source::{SourceId, Span};

/// A notice on a comment: its kind, its span and its message.
type CommentNotice = (Notice, Span, String);

/// The control comments of a Dockerfile with the settings, and which comments had an effect.
pub(super) struct SuppressionState<'a> {
    file: Option<(SourceId, &'a Dockerfile)>,
    settings: AnalysisSettings<'a>,
    /// Comment index and index in its list of rules.
    used: BTreeSet<(usize, usize)>,
    /// The comments in files and here-documents.
    file_comments: FileComments,
    /// Text index, comment index and index in its list of rules.
    used_file_comments: BTreeSet<(usize, usize, usize)>,
    /// Suppressed findings with the reason for each.
    pub(super) notes: Vec<Note>,
}

/// Whether the names or labels of all pools decide where a subject runs.
pub fn depends_on_all_pools(subject: &AnalysisSubject) -> bool {
    let dockerfile = match &subject.content {
        SubjectContent::Dockerfile { dockerfile, .. } => Some(&**dockerfile),
        SubjectContent::Saved(saved) => saved.dockerfile.as_ref().map(|(_, dockerfile)| dockerfile),
        SubjectContent::Fixed(_) | SubjectContent::ByPlatform(_) => None,
    };
    let names = |dockerfile: &Dockerfile| {
        dockerfile.controls.iter().any(|control| matches!(control.directive, LintDirective::Pools(_)))
    };
    matches!(subject.only, Some(PoolRestriction::Nodes(_))) || dockerfile.is_some_and(names)
}

impl<'a> SuppressionState<'a> {
    /// Creates the state for a subject; without comments unless it has a Dockerfile.
    pub(super) fn for_subject(subject: &'a AnalysisSubject, settings: AnalysisSettings<'a>) -> Self {
        let file = match &subject.content {
            // With cached observations, no other file was read, and there are no comments to apply.
            SubjectContent::Dockerfile { dockerfile, cached_target, .. }
                if cached_target.is_cached() && dockerfile.is_free_of_notices() =>
            {
                None
            }
            SubjectContent::Dockerfile { source, dockerfile, .. } => Some((*source, &**dockerfile)),
            SubjectContent::Saved(saved) => saved.dockerfile.as_ref().map(|(source, dockerfile)| (*source, dockerfile)),
            SubjectContent::Fixed(_) | SubjectContent::ByPlatform(_) => None,
        };
        let (used, comments, used_comments) = (BTreeSet::new(), FileComments::default(), BTreeSet::new());
        Self { file, settings, used, file_comments: comments, used_file_comments: used_comments, notes: Vec::new() }
    }

    /// Returns the control comments of the Dockerfile.
    fn controls(&self) -> &'a [LintComment] {
        self.file.map_or(&[], |(_, dockerfile)| dockerfile.controls.as_slice())
    }

    /// Whether the comments allow the image to run on a pool.
    pub(super) fn runs_on(&self, pool: &Pool) -> bool {
        let mut named = self.named_pools().filter(|(name, _)| self.has_pool(name)).peekable();
        named.peek().is_none() || named.any(|(name, _)| *name == pool.name.value)
    }

    /// Returns the pools that comments name.
    fn named_pools(&self) -> impl Iterator<Item = &'a (String, Span)> {
        self.controls().iter().flat_map(|control| match &control.directive {
            LintDirective::Pools(pools) => pools.as_slice(),
            LintDirective::Ignore { .. } | LintDirective::Broken(_) => &[],
        })
    }

    /// Whether the fleet has a pool of this name.
    fn has_pool(&self, name: &str) -> bool {
        self.settings.fleet.pools.iter().any(|pool| pool.name.value == name)
    }

    /// Whether a comment or the settings suppress a finding at these locations, for one pool or for the image; notes
    /// the suppression.
    pub(super) fn suppresses(&mut self, rule: &str, pool: Option<&str>, places: &[Location]) -> bool {
        self.comments_suppress(rule, pool, places) || self.settings_suppress(rule, pool)
    }

    /// Whether the settings suppress a rule; notes the ignore.
    fn settings_suppress(&mut self, rule: &str, pool: Option<&str>) -> bool {
        let left_out = rule_settings::settings_suppression(rule, pool, self.settings);
        if let Some(SettingsSuppression::Ignored(note)) = &left_out {
            self.add_note(note);
        }
        left_out.is_some()
    }

    /// Adds a note unless it is there already.
    fn add_note(&mut self, note: &str) {
        if !self.notes.iter().any(|known| known.line() == note) {
            self.notes.push(note.into());
        }
    }

    /// Reads the comments in files and here-documents that the observations refer to.
    pub(super) fn read_file_comments(&mut self, looked: &[OnPlatform]) {
        if let Some(file) = self.file {
            self.file_comments = FileComments::collect(file, looked, self.settings.sources);
        }
    }

    /// Whether a comment suppresses a finding at these locations.
    fn comments_suppress(&mut self, rule: &str, pool: Option<&str>, places: &[Location]) -> bool {
        self.instruction_comments_suppress(rule, pool, places) || self.line_comments_suppress(rule, pool, places)
    }

    /// Whether a comment on an instruction of the Dockerfile suppresses a finding at these locations.
    fn instruction_comments_suppress(&mut self, rule: &str, pool: Option<&str>, places: &[Location]) -> bool {
        let Some((source, dockerfile)) = self.file else { return false };
        let name = self.settings.sources.get(source).name();
        let readers = self.file_comments.readers_of_finding(places).cloned().unwrap_or_default();
        let mut speaking: BTreeSet<usize> = BTreeSet::new();
        for (at, control) in dockerfile.controls.iter().enumerate() {
            let LintDirective::Ignore { rules, reason } = &control.directive else { continue };
            let Some(which) = matching_ignore(rules, rule, pool, self.settings.book) else { continue };
            let about = control.instruction.and_then(|at| dockerfile.instructions.get(at)).map(|found| found.span);
            let here = about.is_none_or(|span| places.iter().any(|place| overlaps_span(place, name, span)));
            let reads = control.instruction.filter(|at| readers.contains(at));
            if here || reads.is_some() {
                self.used.insert((at, which));
            }
            speaking.extend(reads);
            // Of a file that several instructions read, each has to be spoken of.
            if here || !readers.is_empty() && readers.is_subset(&speaking) {
                self.add_suppression_note((rule, pool), reason, source, control.span);
                return true;
            }
        }
        false
    }

    /// Whether a comment on the line at which a finding is shown suppresses it.
    fn line_comments_suppress(&mut self, rule: &str, pool: Option<&str>, places: &[Location]) -> bool {
        let Some(place) = file_location(places) else { return false };
        for (at, lines) in self.file_comments.lines.iter().enumerate() {
            let name = self.settings.sources.get(lines.source).name();
            for (number, control) in lines.controls.iter().enumerate() {
                let LintDirective::Ignore { rules, reason } = &control.directive else { continue };
                let Some(which) = matching_ignore(rules, rule, pool, self.settings.book) else { continue };
                if overlaps_span(place, name, control.about) {
                    self.used_file_comments.insert((at, number, which));
                    let (source, span, reason) = (lines.source, control.span, reason.clone());
                    self.add_suppression_note((rule, pool), &reason, source, span);
                    return true;
                }
            }
        }
        false
    }

    /// Notes which finding a comment suppresses and why.
    fn add_suppression_note(&mut self, (rule, pool): (&str, Option<&str>), reason: &str, source: SourceId, span: Span) {
        let text = self.settings.sources.get(source);
        let on = pool.map_or_else(String::new, |pool| format!(" on pool `{pool}`"));
        let reason = if reason.is_empty() { "without a reason" } else { reason };
        self.add_note(&format!("{}:{}: {rule}{on} is ignored: {reason}", text.name(), text.position(span.start)));
    }

    /// Returns findings on syntax problems and on comments without effect; `stages` are the shipped stages, `whole`
    /// is whether the subject was judged.
    pub(super) fn notice_findings(
        &mut self,
        stages: &[usize],
        whole: bool,
        places: LocationBuilder<'_>,
    ) -> Vec<Finding> {
        let Some((source, dockerfile)) = self.file else { return Vec::new() };
        let mut found = Vec::new();
        for problem in &dockerfile.problems {
            let concerns = whole || self.may_hide_gpu_content(source, problem);
            // No builder reads lines of a template language.
            if problem.templated && !concerns && self.settings.persona == Persona::Regular {
                continue;
            }
            let notice = if problem.templated { Notice::Template } else { Notice::Syntax };
            if let Some(mut finding) = self.notice_finding(notice, source, problem.span, &problem.message, places)
                && !self.suppresses(&finding.rule, None, &finding.locations)
            {
                let own_severity = self.settings.own.and_then(|own| own.rule_severity(&finding.rule, None));
                if !concerns && own_severity.is_none() && finding.severity == FindingSeverity::Error {
                    finding.severity = FindingSeverity::Warning;
                }
                found.push(finding);
            }
        }
        if whole {
            let own = self.comments_without_effect(dockerfile, stages).into_iter().map(|comment| (source, comment));
            let all: Vec<(SourceId, CommentNotice)> =
                own.chain(self.file_comments_without_effect(dockerfile, stages)).collect();
            for (source, (notice, span, message)) in all {
                let new_finding = self.notice_finding(notice, source, span, &message, places);
                found.extend(new_finding.filter(|finding| !self.settings_suppress(&finding.rule, None)));
            }
        }
        found
    }

    /// Whether an unreadable line may hide GPU content: a `FROM` without an image, or a line that names a GPU
    /// package.
    fn may_hide_gpu_content(&self, source: SourceId, problem: &DockerfileProblem) -> bool {
        let stages = self.file.map_or(&[][..], |(_, dockerfile)| &dockerfile.stages);
        // The unreadable line may be the FROM that names the base image.
        let baseless = stages.iter().any(|stage| stage.base.text().is_empty() && stage.base_span == problem.span);
        let text = self.settings.sources.get(source).text();
        let line = |at: usize| text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
        let rest = text.get(line(problem.span.start)..).unwrap_or_default();
        let end = rest.find('\n').unwrap_or(rest.len()).max(problem.span.end.saturating_sub(line(problem.span.start)));
        baseless || mentions_gpu(rest.get(..end).unwrap_or(rest), self.settings.knowledge)
    }

    /// Returns notices on comments of instructions that cannot be followed or suppressed nothing.
    fn comments_without_effect(&self, dockerfile: &Dockerfile, stages: &[usize]) -> Vec<CommentNotice> {
        let mut found = Vec::new();
        for (at, control) in dockerfile.controls.iter().enumerate() {
            match &control.directive {
                LintDirective::Broken(why) => found.push((Notice::Comment, control.span, why.clone())),
                LintDirective::Pools(pools) if !self.settings.fleet.built_in => {
                    let unheard = pools.iter().filter(|(name, _)| !self.has_pool(name));
                    found.extend(unheard.map(|(name, span)| (Notice::Comment, *span, self.unknown_pool_message(name))));
                }
                LintDirective::Pools(_) => {}
                LintDirective::Ignore { rules, .. } => {
                    let unused = rules.iter().enumerate().filter(|(which, _)| !self.used.contains(&(at, *which)));
                    let shipped = control.instruction.is_none_or(|at| is_in_shipped_stage(dockerfile, stages, at));
                    found.extend(unused.filter_map(|(_, one)| self.unused_ignore_notice(one, shipped)));
                }
            }
        }
        found
    }

    /// Returns notices on comments in files and here-documents that are invalid or without effect, with their texts.
    fn file_comments_without_effect(
        &self,
        dockerfile: &Dockerfile,
        stages: &[usize],
    ) -> Vec<(SourceId, CommentNotice)> {
        let mut found = Vec::new();
        for (at, lines) in self.file_comments.lines.iter().enumerate().filter(|(_, lines)| lines.reports_unused) {
            let shipped = lines.readers.iter().any(|at| is_in_shipped_stage(dockerfile, stages, *at));
            for (number, LineLintComment { span, directive: order, .. }) in lines.controls.iter().enumerate() {
                match order {
                    LintDirective::Broken(why) => found.push((lines.source, (Notice::Comment, *span, why.clone()))),
                    LintDirective::Ignore { rules, .. } => {
                        let unused = rules.iter().enumerate();
                        let unused =
                            unused.filter(|(which, _)| !self.used_file_comments.contains(&(at, number, *which)));
                        found.extend(
                            unused
                                .filter_map(|(_, one)| Some((lines.source, self.unused_ignore_notice(one, shipped)?))),
                        );
                    }
                    LintDirective::Pools(_) => {}
                }
            }
        }
        found
    }

    /// Returns the notice on an ignore that matched no finding; `None` if another pool or persona may need it.
    fn unused_ignore_notice(&self, one: &SuppressedRule, shipped: bool) -> Option<CommentNotice> {
        let Some(page) = self.settings.book.get(&one.rule) else {
            let near = nearest_word(&one.rule, self.settings.book.pages().map(|page| page.name.as_str()));
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            return Some((Notice::Comment, one.span, format!("there is no rule `{}`{near}", one.rule)));
        };
        let any_fleet = self.settings.fleet.built_in;
        if let Some(pool) = one.pool.as_deref().filter(|pool| !any_fleet && !self.has_pool(pool)) {
            return Some((Notice::Comment, one.span, self.unknown_pool_message(pool)));
        }
        let by_pool = matches!(page.kind, PageKind::Startup(_)) || one.pool.is_some();
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

    /// Returns the message on a pool that the fleet does not have.
    fn unknown_pool_message(&self, name: &str) -> String {
        let near = nearest_word(name, self.settings.fleet.pools.iter().map(|pool| pool.name.value.as_str()));
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        format!("the fleet has no pool `{name}`{near}")
    }

    /// Returns a finding for a notice; `None` if no rule reports it.
    fn notice_finding(
        &self,
        notice: Notice,
        source: SourceId,
        span: Span,
        message: &str,
        places: LocationBuilder<'_>,
    ) -> Option<Finding> {
        let page = self.settings.book.notice_page(notice)?;
        let words = NoticeScope(message.to_owned());
        Some(Finding {
            rule: page.name.clone(),
            severity: rule_settings::configured_severity(page, None, self.settings).into(),
            message: page.message.render(&words),
            help: Some(page.help.render(&words)),
            pools: Vec::new(),
            component: None,
            locations: vec![places.text(LocationKind::File, source, span, message.to_owned())],
            cause: None,
            also_unknown: Vec::new(),
            symptom: None,
            fixes: Vec::new(),
            base_not_read: false,
        })
    }
}

/// Returns the index of the entry of an ignore that matches a rule, on a pool or for the image.
fn matching_ignore(rules: &[SuppressedRule], rule: &str, pool: Option<&str>, book: &RuleBook) -> Option<usize> {
    let on = |only: &str| pool.is_some_and(|pool| pool == only);
    rules.iter().position(|one| book.is_name_of(&one.rule, rule) && one.pool.as_deref().is_none_or(on))
}

/// Whether a text mentions CUDA, NVIDIA or a package with GPU code.
fn mentions_gpu(text: &str, knowledge: Knowledge) -> bool {
    let text = text.to_ascii_lowercase();
    let mut words = text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '-' && sign != '_');
    words.any(|word| {
        word.contains("cuda")
            || word.contains("nvidia")
            || knowledge.framework(word).is_some()
            || knowledge.gpu_package(word).is_some()
            || knowledge.cuda_of_name(word).is_some()
    })
}

/// Whether a location overlaps a span of the text with this name.
fn overlaps_span(place: &Location, name: &str, span: Span) -> bool {
    place.kind == LocationKind::File
        && place.path == name
        && place.region.is_some_and(|region| region.start_byte < span.end && span.start < region.end_byte)
}

/// Whether an instruction belongs to a shipped stage or precedes all stages.
fn is_in_shipped_stage(dockerfile: &Dockerfile, stages: &[usize], instruction: usize) -> bool {
    dockerfile.stage_of_instruction(instruction).is_none_or(|stage| stages.contains(&stage.index))
}
