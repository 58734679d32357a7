//! Finding a GPU by what people, drivers and node labels call it.

use std::sync::Mutex;
use std::sync::PoisonError;

use crate::knowledge::rows::GpuClass;
use crate::knowledge::rows::GpuRow;
use crate::nearest::distance;

/// Makers and product lines that people leave out.
const OPTIONAL_PREFIXES: [&str; 3] = ["nvidia", "tesla", "geforce"];
/// The product line of shares, which is no part of the name of a whole GPU.
const SHARES: &str = "grid";

/// A name in lower-case words: blanks, dashes, underscores and other signs separate.
fn words(name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    let mut words: Vec<String> =
        lower.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    if let Some(at) = words.iter().position(|word| word == "mig").filter(|at| *at > 0) {
        words.truncate(at);
    }
    if words.len() > 1 && words.last().is_some_and(|word| word == "shared") {
        words.pop();
    }
    words
}

/// Whether a name says which share of a GPU is meant: `GRID-A100-10C`.
pub fn names_share(name: &str) -> bool {
    words(name).iter().skip(1).any(|word| measures(word, PROFILES))
}

/// The words without maker and product line.
fn core(mut words: Vec<String>) -> Vec<String> {
    for prefix in OPTIONAL_PREFIXES {
        if words.len() > 1 && words[0] == prefix {
            words.remove(0);
        }
    }
    words
}

fn has_digit(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a word ends in one of `units` behind digits: the memory of a board, the profile of a share of one.
fn measures(word: &str, units: &[&str]) -> bool {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && word.get(digits..).is_some_and(|unit| units.contains(&unit))
}

/// The words without those that measure.
fn without(words: &[String], units: &[&str]) -> Option<Vec<String>> {
    let rest: Vec<String> = words.iter().filter(|word| !measures(word, units)).cloned().collect();
    (!rest.is_empty() && rest.len() < words.len()).then_some(rest)
}

/// The words of the board of a share, without those that people leave out.
fn board(words: Vec<String>) -> Vec<String> {
    let mut words = core(words);
    if words.len() > 1 && words.first().is_some_and(|word| word == SHARES) {
        words.remove(0);
    }
    words
}

/// What measures memory in a name.
const MEMORY: &[&str] = &["gb", "gib"];
/// What ends the profile of a virtual GPU: `GRID A100D-4C`.
const PROFILES: &[&str] = &["a", "b", "c", "q"];

/// Whether `short` leaves out words of `full`, but neither the one that tells the model nor the profile of a share of it.
fn abbreviates(short: &[String], full: &[String]) -> bool {
    if full.iter().any(|word| measures(word, PROFILES) && !short.contains(word)) {
        return false;
    }
    let model = full.iter().find(|word| has_digit(word));
    let mut rest = full.iter();
    model.is_some_and(|model| short.contains(model)) && short.iter().all(|word| rest.any(|other| other == word))
}

/// Whether it makes no difference to any check which of the two is meant.
fn interchangeable(one: &GpuRow, other: &GpuRow) -> bool {
    let brands = |row: &GpuRow| -> Vec<_> {
        row.brands.iter().map(|brand| (brand.from_branch, brand.up_to_branch, brand.brand)).collect()
    };
    one.capability == other.capability
        && one.class == other.class
        && one.forward_compat == other.forward_compat
        && brands(one) == brands(other)
}

/// The first row of `found` if all agree with it.
fn agreed(found: &[&'static GpuRow]) -> Option<&'static GpuRow> {
    let first = *found.first()?;
    found.iter().all(|row| interchangeable(first, row)).then_some(first)
}

fn spellings(row: &'static GpuRow) -> impl Iterator<Item = &'static str> {
    std::iter::once(row.name).chain(row.aliases.iter().copied())
}

/// The row that `name` means, if that is beyond doubt.
pub(super) fn find(rows: &'static [GpuRow], name: &str) -> Option<&'static GpuRow> {
    agreed(&all(rows, name))
}

/// One spelling of a GPU, taken apart.
struct Spelling {
    row: &'static GpuRow,
    words: Vec<String>,
    core: Vec<String>,
    joined: String,
}

/// Every spelling of one table.
type Index = &'static [Spelling];

/// The spellings of the tables asked so far, each taken apart once: a fleet asks for the same few names again and again.
static INDEXES: Mutex<Vec<(&'static [GpuRow], Index)>> = Mutex::new(Vec::new());

fn index(rows: &'static [GpuRow]) -> Index {
    let mut known = INDEXES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, index)) = known.iter().find(|(of, _)| std::ptr::eq(*of, rows)) {
        return index;
    }
    let apart = |row: &'static GpuRow, spelling: &str| {
        let words = words(spelling);
        let core = core(words.clone());
        Spelling { row, words, joined: core.concat(), core }
    };
    let all: Vec<Spelling> =
        rows.iter().flat_map(|row| spellings(row).map(move |spelling| apart(row, spelling))).collect();
    let index: Index = all.leak();
    known.push((rows, index));
    index
}

/// Every row that `name` may mean: the closest way of reading it that fits any.
pub(super) fn all(rows: &'static [GpuRow], name: &str) -> Vec<&'static GpuRow> {
    let name = name.trim();
    let written: Vec<&'static GpuRow> =
        rows.iter().filter(|row| spellings(row).any(|spelling| spelling.eq_ignore_ascii_case(name))).collect();
    let asked = words(name);
    if !written.is_empty() || asked.is_empty() {
        return written;
    }
    let index = index(rows);
    let found = of_words(index, &asked);
    if !found.is_empty() {
        return found;
    }
    // Shares of one board differ in memory alone, and people write the memory of boards that are named without it.
    let share = without(&asked, PROFILES).map(|asked| {
        let asked = board(asked);
        let shares = index
            .iter()
            .filter(|spelling| without(&spelling.words, PROFILES).is_some_and(|board_of| board(board_of) == asked));
        let mut found: Vec<&'static GpuRow> = shares.map(|spelling| spelling.row).collect();
        found.dedup_by_key(|row| row.name);
        found
    });
    let share = share.filter(|found| !found.is_empty());
    share.or_else(|| without(&asked, MEMORY).map(|asked| of_words(index, &asked))).unwrap_or_default()
}

fn of_words(index: Index, asked: &[String]) -> Vec<&'static GpuRow> {
    let asked_core = core(asked.to_vec());
    let joined = asked_core.concat();
    let matching = |test: &dyn Fn(&Spelling) -> bool| -> Vec<&'static GpuRow> {
        let mut found: Vec<&'static GpuRow> =
            index.iter().filter(|spelling| test(spelling)).map(|spelling| spelling.row).collect();
        found.dedup_by_key(|row| row.name);
        found
    };
    let stages: [&dyn Fn(&Spelling) -> bool; 4] = [
        &|spelling| spelling.words == *asked,
        &|spelling| spelling.core == asked_core,
        &|spelling| spelling.joined == joined,
        &|spelling| abbreviates(&asked_core, &spelling.core),
    ];
    stages.into_iter().map(matching).find(|found| !found.is_empty()).unwrap_or_default()
}

/// Whether two names mean one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameGpu {
    /// They do.
    Yes,
    /// One of them leaves open whether they do.
    May,
    /// They do not.
    No,
}

/// Compares two names of whole GPUs, of which either may leave out words.
pub(super) fn same(rows: &'static [GpuRow], one: &str, other: &str) -> SameGpu {
    let (words_of_one, words_of_other) = (core(words(one)), core(words(other)));
    if words_of_one == words_of_other {
        return SameGpu::Yes;
    }
    let shorter = abbreviates(&words_of_one, &words_of_other) || abbreviates(&words_of_other, &words_of_one);
    let common = || {
        let of_other = all(rows, other);
        all(rows, one).iter().any(|row| of_other.iter().any(|own| own.name == row.name))
    };
    if shorter || common() { SameGpu::May } else { SameGpu::No }
}

/// Whether `general` names the GPU that a machine calls `own`, either by the same words or by leaving out some that make
/// no difference to any check.
pub(super) fn covers(rows: &'static [GpuRow], general: &str, own: &str) -> bool {
    let (of_general, of_own) = (all(rows, general), all(rows, own));
    let (Some(wide), Some(narrow)) = (agreed(&of_general), agreed(&of_own)) else { return false };
    let (general, own) = (core(words(general)), core(words(own)));
    let profiles =
        |words: &[String]| -> Vec<String> { words.iter().filter(|word| measures(word, PROFILES)).cloned().collect() };
    if !interchangeable(wide, narrow) || profiles(&general) != profiles(&own) {
        return false;
    }
    let common = || of_general.iter().any(|row| of_own.iter().any(|other| other.name == row.name));
    // Behind the model of a data centre board stand its form and its memory, behind others what makes another model of it.
    general == own || common() || (wide.class == GpuClass::DataCenter && abbreviates(&general, &own))
}

/// The model in a name, without maker, product line, form and memory: `A100` of `NVIDIA A100-SXM4-40GB`.
fn model(name: &'static str) -> &'static str {
    let mut start = None;
    let mut at = 0;
    for word in name.split(|sign: char| !sign.is_alphanumeric()) {
        let end = at + word.len();
        if start.is_none() && !OPTIONAL_PREFIXES.contains(&word.to_lowercase().as_str()) {
            start = Some(at);
        }
        if let Some(start) = start.filter(|_| has_digit(word)) {
            return name.get(start..end).unwrap_or(name);
        }
        at = end + name.get(end..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    }
    name
}

/// A name without its maker, if it is known without it.
fn without_maker(rows: &'static [GpuRow], name: &'static str) -> &'static str {
    name.strip_prefix("NVIDIA ").filter(|short| find(rows, short).is_some()).unwrap_or(name)
}

/// Up to three names that are nearest to `name`. Letters that look like digits count as these: `A10O` means A100.
pub(super) fn suggestions(rows: &'static [GpuRow], name: &str) -> Vec<&'static str> {
    let asked = core(words(name)).join(" ");
    let alike = |text: &str| text.replace('o', "0").replace(['i', 'l'], "1");
    let mut meant: Vec<&'static str> = rows.iter().map(|row| model(row.name)).collect();
    meant.retain(|model| alike(&core(words(model)).join(" ")) == alike(&asked) && find(rows, model).is_some());
    meant.sort_unstable();
    meant.dedup();
    if !meant.is_empty() {
        meant.truncate(3);
        return meant;
    }
    let mut near: Vec<(usize, &'static str)> = rows
        .iter()
        .filter_map(|row| {
            let distance = spellings(row).map(|spelling| distance(&asked, &core(words(spelling)).join(" "))).min()?;
            (distance <= (asked.len() / 3).max(2)).then_some((distance, row.name))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, name)| without_maker(rows, name)).collect()
}
