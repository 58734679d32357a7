//! Writes fixes to their files, or prints them as a patch.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use crate::cli::args::CheckArgs;
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::judging::{Judge, JudgingRun, output_width};
use crate::cli::{judging, parallel, streams};
use crate::dockerfile::edit;
use crate::fix;
use crate::fix::AppliedFixes;
use crate::judge::{AnalysisSettings, AnalysisSubject, ReportDetail, SubjectContent, judge_on_hosts};
use crate::report::escape::escape_one_line;
use crate::report::kinds::{FixSafety, VerdictKind};
use crate::report::wrap::wrap;
use crate::rules::RuleBook;
use crate::text::source::SourceId;

/// Maximum number of rounds in which fixes are written and the files are read again.
pub(super) const MAX_FIX_ROUNDS: usize = 8;

/// The changes of one round of fixes.
struct FixRound {
    /// Texts by the path that the user knows them by: before and after.
    texts: BTreeMap<String, (String, String)>,
    /// Titles of the fixes, with their subjects.
    messages: Vec<String>,
    /// Texts that may not be written, with the reason.
    refused: BTreeMap<String, String>,
}

/// Returns the fixes of all subjects; several fixes of one text build on each other. Fixes of a text that may not be
/// written are omitted completely.
fn plan_round(
    run: JudgingRun<'_>,
    subjects: &[AnalysisSubject],
    options: &CheckArgs,
    writable: impl Fn(&Path) -> Result<(), String>,
) -> Result<FixRound, CommandError> {
    let rules = judging::custom_rule_book(run.options)?;
    let judge = Judge::new(run, subjects, rules.as_ref().unwrap_or(RuleBook::built_in()), ReportDetail::Verdicts);
    let least = options.fixing.lowest_safety();
    // What comes by a pipe is no file.
    let piped = options.paths.iter().any(|path| path.as_os_str() == "-");
    let repairs: Vec<AppliedFixes> = parallel::map(run.options.jobs(), subjects, |subject| {
        judge.with_hosts(subject, |settings, hosts| {
            fix::repair_subject(subject, settings, hosts, judge.spare_threads(), least)
        })
    });
    let mut fix_titles = Vec::new();
    let mut texts: BTreeMap<SourceId, String> = BTreeMap::new();
    let mut refused = BTreeMap::new();
    for (subject, mut repair) in subjects.iter().zip(repairs) {
        let changed = texts_of_subject(run, subject, &texts);
        if repair.texts.keys().any(|id| changed.contains_key(id)) {
            // What is still to be changed after the changes of the others.
            let Some((after, sources)) = fix::subject_with_texts(subject, run.sources, &changed) else { continue };
            repair = judge.with_hosts(&after, |settings, hosts| {
                fix::repair_subject(
                    &after,
                    AnalysisSettings { sources: &sources, ..settings },
                    hosts,
                    judge.spare_threads(),
                    least,
                )
            });
        }
        let barred = repair.texts.keys().filter_map(|id| {
            let path = run.sources.get(*id).name();
            let read = run.sources.get(*id).text();
            let other = !piped && fs::read(path).is_ok_and(|now| now != read.as_bytes());
            let other =
                other.then(|| "it is not UTF-8, or it changed after it was read; run the command again".to_owned());
            Some((path.to_owned(), writable(Path::new(path)).err().or(other)?))
        });
        let barred: Vec<(String, String)> = barred.collect();
        if !barred.is_empty() {
            refused.extend(barred);
            continue;
        }
        let mut others = subjects.iter().filter(|other| !std::ptr::eq(*other, subject));
        if let Some((path, why)) = others.find_map(|other| find_regression(run, &judge, other, &repair, &texts)) {
            refused.insert(path, why);
            continue;
        }
        fix_titles.extend(repair.fixes.iter().map(|fix| format!("{}: {}", subject.name, fix.title)));
        texts.extend(repair.texts);
    }
    let both = |(id, new): (SourceId, String)| {
        let text = run.sources.get(id);
        (text.name().to_owned(), (text.text().to_owned(), new))
    };
    Ok(FixRound { texts: texts.into_iter().map(both).collect(), messages: fix_titles, refused })
}

/// Selects the changed texts that a subject consists of. Each subject reads shared files by itself, so files are
/// matched by name.
fn texts_of_subject(
    run: JudgingRun<'_>,
    subject: &AnalysisSubject,
    texts: &BTreeMap<SourceId, String>,
) -> BTreeMap<SourceId, String> {
    let SubjectContent::Dockerfile { source, files, .. } = &subject.content else { return BTreeMap::new() };
    let name = |id: SourceId| run.sources.get(id).name();
    let requested = files.requested_files().filter_map(|(_, file)| Some(file.as_ref().ok()?.source));
    let of_name = |id: SourceId| texts.iter().find(|(other, _)| name(**other) == name(id));
    requested.chain([*source]).filter_map(|id| Some((id, of_name(id)?.1.clone()))).collect()
}

/// Returns the changed file and a reason if a repair stops another subject from starting on a pool; `texts` contains
/// the earlier changes.
fn find_regression(
    run: JudgingRun<'_>,
    judge: &Judge<'_>,
    other: &AnalysisSubject,
    repair: &AppliedFixes,
    texts: &BTreeMap<SourceId, String>,
) -> Option<(String, String)> {
    let before = texts_of_subject(run, other, texts);
    let new = texts_of_subject(run, other, &repair.texts);
    let id = *new.keys().next()?;
    let after: BTreeMap<SourceId, String> = before.clone().into_iter().chain(new).collect();
    let starts = |texts: &BTreeMap<SourceId, String>| -> Option<Vec<String>> {
        let (subject, sources) = fix::subject_with_texts(other, run.sources, texts)?;
        let judged = judge.with_hosts(&subject, |settings, hosts| {
            judge_on_hosts(
                &subject,
                AnalysisSettings { sources: &sources, detail: ReportDetail::Fates, ..settings },
                hosts,
            )
        });
        let whole =
            judged.verdicts.into_iter().filter(|one| one.component.is_none() && one.fate == VerdictKind::Starts);
        Some(whole.map(|one| one.pool).collect())
    };
    let (was, is) = (starts(&before)?, starts(&after)?);
    let lost: Vec<String> = was.iter().filter(|pool| !is.contains(pool)).map(|pool| format!("`{pool}`")).collect();
    (!lost.is_empty()).then(|| {
        let titles: Vec<&str> = repair.fixes.iter().map(|fix| fix.title.as_str()).collect();
        let why = format!("{} would stop {} from starting on {}", titles.join(", and "), other.name, lost.join(", "));
        (run.sources.get(id).name().to_owned(), why)
    })
}

/// Maximum number of inputs that a message names.
const MAX_NAMED_INPUTS: usize = 4;

/// Prints which inputs cannot be edited, because they are not Dockerfiles.
pub(crate) fn report_uneditable_inputs(subjects: &[AnalysisSubject]) -> io::Result<()> {
    let textless = |subject: &&AnalysisSubject| !matches!(subject.content, SubjectContent::Dockerfile { .. });
    let mut names: Vec<String> =
        subjects.iter().filter(textless).map(|one| escape_one_line(&one.name).into_owned()).collect();
    names.dedup();
    if names.is_empty() {
        return Ok(());
    }
    let more = names.len().saturating_sub(MAX_NAMED_INPUTS);
    names.truncate(MAX_NAMED_INPUTS);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    writeln!(
        streams::stderr(),
        "cannot edit {}: saved reports and image descriptions are not edited; use --show-fixes to list their fixes",
        names.join(", ")
    )
}

/// Prints all fixes as one patch.
pub(crate) fn print_patch(
    run: JudgingRun<'_>,
    subjects: &[AnalysisSubject],
    options: &CheckArgs,
) -> Result<Exit, CommandError> {
    let round = plan_round(run, subjects, options, |_| Ok(()))?;
    for (path, why) in &round.refused {
        writeln!(streams::stderr(), "{path} is not changed: {why}")?;
    }
    let mut out = streams::stdout();
    for (path, (before, after)) in &round.texts {
        out.write_all(edit::unified_diff(path, before, after).as_bytes())?;
    }
    for line in &round.messages {
        writeln!(streams::stderr(), "{}", wrap_to_terminal(&format!("would fix {line}")))?;
    }
    if round.texts.is_empty() {
        writeln!(streams::stderr(), "nothing to change: {}", no_fix_reason(options.fixing.lowest_safety()))?;
        return Ok(Exit::Clean);
    }
    Ok(Exit::Found)
}

/// Wraps a line at the width of the terminal.
fn wrap_to_terminal(line: &str) -> String {
    wrap(line, 0, 2, output_width(io::stderr().is_terminal()))
}

/// Returns the reason for an empty patch.
const fn no_fix_reason(least: FixSafety) -> &'static str {
    match least {
        FixSafety::Safe => "no safe fix available; --unsafe-fixes also tries version changes",
        FixSafety::Unsafe | FixSafety::Manual => "no automatic fix available; --show-fixes lists the manual fixes",
    }
}

/// Writes one round of fixes; returns whether files changed and none was refused.
pub(crate) fn write_fixes(
    run: JudgingRun<'_>,
    subjects: &[AnalysisSubject],
    options: &CheckArgs,
) -> Result<bool, CommandError> {
    let roots = writable_roots(options);
    let round = plan_round(run, subjects, options, |path| writable_path(path, &roots).map(|_| ()))?;
    for (path, why) in &round.refused {
        writeln!(streams::stderr(), "{path} is not changed: {why}")?;
    }
    let mut refused = BTreeSet::new();
    for (path, (before, after)) in &round.texts {
        if let Err(why) = replace_file(Path::new(path), before, after, &roots) {
            writeln!(streams::stderr(), "{path} is not changed: {why}")?;
            refused.insert(path.as_str());
        }
    }
    let written = round.texts.keys().any(|path| !refused.contains(path.as_str()));
    if written {
        for line in &round.messages {
            writeln!(streams::stderr(), "{}", wrap_to_terminal(&format!("fixed {line}")))?;
        }
    }
    Ok(written && refused.is_empty())
}

/// Returns the directories that may be written to: those that the command line names.
fn writable_roots(options: &CheckArgs) -> Vec<PathBuf> {
    let named = options.paths.iter().chain(&options.bake).chain(&options.compose).chain(&options.build.context);
    let folder = |path: &PathBuf| {
        let folder = if path.is_dir() { path.as_path() } else { path.parent().unwrap_or(path) };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        folder.canonicalize().ok()
    };
    let mut roots: Vec<PathBuf> = named.filter_map(folder).collect();
    if options.paths.is_empty() {
        roots.extend(Path::new(".").canonicalize());
    }
    roots
}

/// Returns the real path of a file that may be written: in a named directory, or below the current directory without
/// links.
fn writable_path(path: &Path, roots: &[PathBuf]) -> Result<PathBuf, String> {
    let real = path.canonicalize().map_err(|error| error.to_string())?;
    let here = || Path::new(".").canonicalize().is_ok_and(|here| here.join(without_current_dir(path)) == real);
    if roots.iter().any(|root| real.starts_with(root)) || path.is_relative() && here() {
        Ok(real)
    } else {
        Err("it is outside the directories on the command line; pass its path to the command".to_owned())
    }
}

/// Returns a relative path without `.` components.
fn without_current_dir(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// Replaces a file atomically, if it has not changed since it was read.
fn replace_file(path: &Path, before: &str, after: &str, roots: &[PathBuf]) -> Result<(), String> {
    let real = writable_path(path, roots)?;
    if fs::read(&real).map_err(|error| error.to_string())? != before.as_bytes() {
        return Err("it changed after it was read; run the command again".to_owned());
    }
    let mode = fs::metadata(&real).map_err(|error| error.to_string())?.permissions();
    if mode.readonly() {
        return Err("it is read-only; make it writable first".to_owned());
    }
    let name = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let temporary = real.with_file_name(format!(".{name}.imagelint-{}", std::process::id()));
    let write_and_rename = || -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        file.write_all(after.as_bytes())?;
        file.sync_all()?;
        fs::set_permissions(&temporary, mode.clone())?;
        fs::rename(&temporary, &real)
    };
    write_and_rename().map_err(|error| {
        // What could not be put in place is not left behind.
        let _ = fs::remove_file(&temporary);
        error.to_string()
    })
}
