//! Changes that cure, written into their files or printed as a patch.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::io::IsTerminal as _;
use std::io::Write as _;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use crate::cli::Failure;
use crate::cli::args::CheckArgs;
use crate::cli::exit::Exit;
use crate::cli::output;
use crate::cli::output::Judge;
use crate::cli::output::Run;
use crate::cli::outputs::width;
use crate::cli::parallel;
use crate::cli::streams;
use crate::cure;
use crate::cure::Repair;
use crate::edit;
use crate::judge::Content;
use crate::judge::Detail;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::judge::judge_on;
use crate::report::escape::clean;
use crate::report::kinds::FixSafety;
use crate::report::kinds::VerdictKind;
use crate::report::wrap::wrap;
use crate::rules::RuleBook;
use crate::source::SourceId;

/// So often files are read again after some were written.
pub(super) const ROUNDS: usize = 8;

/// What one round would write.
struct Round {
    /// Texts by the path that the user knows them by: before and after.
    texts: BTreeMap<String, (String, String)>,
    /// What is told of each.
    told: Vec<String>,
    /// Texts that may not be written, with the reason.
    refused: BTreeMap<String, String>,
}

/// The changes of all subjects; where several change one text, each after those before it. Changes that need a text
/// that may not be written are left out whole.
fn round(
    run: Run<'_>,
    subjects: &[Subject],
    options: &CheckArgs,
    writable: impl Fn(&Path) -> Result<(), String>,
) -> Result<Round, Failure> {
    let rules = output::own_rules(run.options)?;
    let judge = Judge::new(run, subjects, rules.as_ref().unwrap_or(RuleBook::built_in()), Detail::Verdicts);
    let least = options.fixing.least();
    // What comes by a pipe is no file.
    let piped = options.paths.iter().any(|path| path.as_os_str() == "-");
    let repairs: Vec<Repair> = parallel::map(run.options.jobs(), subjects, |subject| {
        judge.with(subject, |settings, hosts| cure::repair(subject, settings, hosts, judge.crew(), least))
    });
    let mut told = Vec::new();
    let mut texts: BTreeMap<SourceId, String> = BTreeMap::new();
    let mut refused = BTreeMap::new();
    for (subject, mut repair) in subjects.iter().zip(repairs) {
        let changed = own(run, subject, &texts);
        if repair.texts.keys().any(|id| changed.contains_key(id)) {
            // What is still to be changed after the changes of the others.
            let Some((after, sources)) = cure::follow(subject, run.sources, &changed) else { continue };
            repair = judge.with(&after, |settings, hosts| {
                cure::repair(&after, Settings { sources: &sources, ..settings }, hosts, judge.crew(), least)
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
        if let Some((path, why)) = others.find_map(|other| broken(run, &judge, other, &repair, &texts)) {
            refused.insert(path, why);
            continue;
        }
        told.extend(repair.fixes.iter().map(|fix| format!("{}: {}", subject.name, fix.title)));
        texts.extend(repair.texts);
    }
    let both = |(id, new): (SourceId, String)| {
        let text = run.sources.get(id);
        (text.name().to_owned(), (text.text().to_owned(), new))
    };
    Ok(Round { texts: texts.into_iter().map(both).collect(), told, refused })
}

/// Of some texts those that a subject is made of: each reads the files that several share by itself.
fn own(run: Run<'_>, subject: &Subject, texts: &BTreeMap<SourceId, String>) -> BTreeMap<SourceId, String> {
    let Content::Dockerfile { source, files, .. } = &subject.content else { return BTreeMap::new() };
    let name = |id: SourceId| run.sources.get(id).name();
    let asked = files.asked().filter_map(|(_, file)| Some(file.as_ref().ok()?.source));
    let of_name = |id: SourceId| texts.iter().find(|(other, _)| name(**other) == name(id));
    asked.chain([*source]).filter_map(|id| Some((id, of_name(id)?.1.clone()))).collect()
}

/// The text of a repair with which another subject that reads it no longer starts somewhere, and on which pools; `texts`
/// are those that changed before it.
fn broken(
    run: Run<'_>,
    judge: &Judge<'_>,
    other: &Subject,
    repair: &Repair,
    texts: &BTreeMap<SourceId, String>,
) -> Option<(String, String)> {
    let before = own(run, other, texts);
    let new = own(run, other, &repair.texts);
    let id = *new.keys().next()?;
    let after: BTreeMap<SourceId, String> = before.clone().into_iter().chain(new).collect();
    let starts = |texts: &BTreeMap<SourceId, String>| -> Option<Vec<String>> {
        let (subject, sources) = cure::follow(other, run.sources, texts)?;
        let judged = judge.with(&subject, |settings, hosts| {
            judge_on(&subject, Settings { sources: &sources, detail: Detail::Fates, ..settings }, hosts)
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

/// So many inputs are named that cannot be changed.
const NAMED: usize = 4;

/// Says which inputs hold no text that could be changed.
pub(crate) fn tell_textless(subjects: &[Subject]) -> io::Result<()> {
    let textless = |subject: &&Subject| !matches!(subject.content, Content::Dockerfile { .. });
    let mut names: Vec<String> = subjects.iter().filter(textless).map(|one| clean(&one.name).into_owned()).collect();
    names.dedup();
    if names.is_empty() {
        return Ok(());
    }
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    writeln!(
        streams::err(),
        "cannot edit {}: saved reports and image descriptions are not edited; use --show-fixes to list their fixes",
        names.join(", ")
    )
}

/// Prints what would be written as one patch.
pub(crate) fn print(run: Run<'_>, subjects: &[Subject], options: &CheckArgs) -> Result<Exit, Failure> {
    let round = round(run, subjects, options, |_| Ok(()))?;
    for (path, why) in &round.refused {
        writeln!(streams::err(), "{path} is not changed: {why}")?;
    }
    let mut out = streams::out();
    for (path, (before, after)) in &round.texts {
        out.write_all(edit::patch(path, before, after).as_bytes())?;
    }
    for line in &round.told {
        writeln!(streams::err(), "{}", wrapped(&format!("would fix {line}")))?;
    }
    if round.texts.is_empty() {
        writeln!(streams::err(), "nothing to change: {}", unchanged(options.fixing.least()))?;
        return Ok(Exit::Clean);
    }
    Ok(Exit::Found)
}

/// A line in the width of the terminal.
fn wrapped(line: &str) -> String {
    wrap(line, 0, 2, width(io::stderr().is_terminal()))
}

/// Why a patch is empty.
const fn unchanged(least: FixSafety) -> &'static str {
    match least {
        FixSafety::Safe => "no safe fix available; --unsafe-fixes also tries version changes",
        FixSafety::Unsafe | FixSafety::Manual => "no automatic fix available; --show-fixes lists the manual fixes",
    }
}

/// Writes one round; whether anything was written.
pub(crate) fn write(run: Run<'_>, subjects: &[Subject], options: &CheckArgs) -> Result<bool, Failure> {
    let roots = roots(options);
    let round = round(run, subjects, options, |path| place(path, &roots).map(|_| ()))?;
    for (path, why) in &round.refused {
        writeln!(streams::err(), "{path} is not changed: {why}")?;
    }
    let mut refused = BTreeSet::new();
    for (path, (before, after)) in &round.texts {
        if let Err(why) = replace(Path::new(path), before, after, &roots) {
            writeln!(streams::err(), "{path} is not changed: {why}")?;
            refused.insert(path.as_str());
        }
    }
    let written = round.texts.keys().any(|path| !refused.contains(path.as_str()));
    if written {
        for line in &round.told {
            writeln!(streams::err(), "{}", wrapped(&format!("fixed {line}")))?;
        }
    }
    Ok(written && refused.is_empty())
}

/// The folders that may be written to: those that the command line names.
fn roots(options: &CheckArgs) -> Vec<PathBuf> {
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

/// Where a file really is, if it may be written: in a folder that was named, or below the one that the program runs in
/// with no link on the way.
fn place(path: &Path, roots: &[PathBuf]) -> Result<PathBuf, String> {
    let real = path.canonicalize().map_err(|error| error.to_string())?;
    let here = || Path::new(".").canonicalize().is_ok_and(|here| here.join(normal(path)) == real);
    if roots.iter().any(|root| real.starts_with(root)) || path.is_relative() && here() {
        Ok(real)
    } else {
        Err("it is outside the directories on the command line; pass its path to the command".to_owned())
    }
}

/// A relative path without the steps that lead nowhere.
fn normal(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// Puts a new text in the place of a file that is as it was read, all at once.
fn replace(path: &Path, before: &str, after: &str, roots: &[PathBuf]) -> Result<(), String> {
    let real = place(path, roots)?;
    if fs::read(&real).map_err(|error| error.to_string())? != before.as_bytes() {
        return Err("it changed after it was read; run the command again".to_owned());
    }
    let mode = fs::metadata(&real).map_err(|error| error.to_string())?.permissions();
    if mode.readonly() {
        return Err("it is read-only; make it writable first".to_owned());
    }
    let name = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = real.with_file_name(format!(".{name}.imagelint-{}", std::process::id()));
    let put = || -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&beside)?;
        file.write_all(after.as_bytes())?;
        file.sync_all()?;
        fs::set_permissions(&beside, mode.clone())?;
        fs::rename(&beside, &real)
    };
    put().map_err(|error| {
        // What could not be put in place is not left behind.
        let _ = fs::remove_file(&beside);
        error.to_string()
    })
}
