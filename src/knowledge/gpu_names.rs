//! Lookup of GPUs by the names that users, drivers and node labels use.

use std::sync::{Mutex, PoisonError};

use crate::knowledge::rows::{GpuClass, GpuRow};
use crate::text::nearest::edit_distance;

/// Vendor and product lines that users omit.
const OPTIONAL_PREFIXES: [&str; 3] = ["nvidia", "tesla", "geforce"];
/// Product line of virtual GPUs, which is not part of the name of a whole GPU.
const VGPU_PRODUCT_LINE: &str = "grid";

/// Splits a name into lower-case words at every character that is not alphanumeric; omits the MIG profile.
fn name_words(name: &str) -> Vec<String> {
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

/// Whether a name includes a virtual GPU profile: `GRID-A100-10C`.
pub fn names_vgpu_profile(name: &str) -> bool {
    name_words(name).iter().skip(1).any(|word| has_unit(word, VGPU_PROFILE_UNITS))
}

/// Removes the vendor and the product line.
fn without_optional_prefixes(mut words: Vec<String>) -> Vec<String> {
    for prefix in OPTIONAL_PREFIXES {
        if words.len() > 1 && words[0] == prefix {
            words.remove(0);
        }
    }
    words
}

/// Whether a word contains a digit.
fn has_digit(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a word is a number with one of these units: a memory size, or a virtual GPU profile.
fn has_unit(word: &str, units: &[&str]) -> bool {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && word.get(digits..).is_some_and(|unit| units.contains(&unit))
}

/// Removes the words with one of these units; `None` if that removes nothing or everything.
fn without_units(words: &[String], units: &[&str]) -> Option<Vec<String>> {
    let rest: Vec<String> = words.iter().filter(|word| !has_unit(word, units)).cloned().collect();
    (!rest.is_empty() && rest.len() < words.len()).then_some(rest)
}

/// Returns the words for the physical board of a virtual GPU, without optional prefixes.
fn board_words(words: Vec<String>) -> Vec<String> {
    let mut words = without_optional_prefixes(words);
    if words.len() > 1 && words.first().is_some_and(|word| word == VGPU_PRODUCT_LINE) {
        words.remove(0);
    }
    words
}

/// Units of memory sizes.
const MEMORY_UNITS: &[&str] = &["gb", "gib"];
/// Suffixes of virtual GPU profiles: `GRID A100D-4C`.
const VGPU_PROFILE_UNITS: &[&str] = &["a", "b", "c", "q"];

/// Whether `short` omits words of `full`, but neither the model nor the virtual GPU profile.
fn is_abbreviation_of(short: &[String], full: &[String]) -> bool {
    if full.iter().any(|word| has_unit(word, VGPU_PROFILE_UNITS) && !short.contains(word)) {
        return false;
    }
    let model = full.iter().find(|word| has_digit(word));
    let mut rest = full.iter();
    model.is_some_and(|model| short.contains(model)) && short.iter().all(|word| rest.any(|other| other == word))
}

/// Whether two GPUs are equal for every check.
fn are_interchangeable(one: &GpuRow, other: &GpuRow) -> bool {
    let brands = |row: &GpuRow| -> Vec<_> {
        row.brands.iter().map(|brand| (brand.from_branch, brand.up_to_branch, brand.brand)).collect()
    };
    one.capability == other.capability
        && one.class == other.class
        && one.forward_compat == other.forward_compat
        && brands(one) == brands(other)
}

/// Returns the first row if all rows are interchangeable with it.
fn common_row(found: &[&'static GpuRow]) -> Option<&'static GpuRow> {
    let first = *found.first()?;
    found.iter().all(|row| are_interchangeable(first, row)).then_some(first)
}

/// Returns the name and the aliases of a GPU.
fn names_of_row(row: &'static GpuRow) -> impl Iterator<Item = &'static str> {
    std::iter::once(row.name).chain(row.aliases.iter().copied())
}

/// Returns the row that `name` refers to, if it is unambiguous.
pub(super) fn find_gpu(rows: &'static [GpuRow], name: &str) -> Option<&'static GpuRow> {
    common_row(&find_gpus(rows, name))
}

/// A name or an alias of a GPU, in normalized forms.
struct GpuSpelling {
    row: &'static GpuRow,
    words: Vec<String>,
    core: Vec<String>,
    joined: String,
}

/// Every spelling of one table.
type GpuSpellingIndex = &'static [GpuSpelling];

/// Cache of spelling indexes, one per table.
static SPELLING_INDEXES: Mutex<Vec<(&'static [GpuRow], GpuSpellingIndex)>> = Mutex::new(Vec::new());

/// Returns the spelling index of a table, from the cache if possible.
fn spelling_index(rows: &'static [GpuRow]) -> GpuSpellingIndex {
    let mut known = SPELLING_INDEXES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, index)) = known.iter().find(|(of, _)| std::ptr::eq(*of, rows)) {
        return index;
    }
    let build_spelling = |row: &'static GpuRow, spelling: &str| {
        let words = name_words(spelling);
        let core = without_optional_prefixes(words.clone());
        GpuSpelling { row, words, joined: core.concat(), core }
    };
    let all: Vec<GpuSpelling> =
        rows.iter().flat_map(|row| names_of_row(row).map(move |spelling| build_spelling(row, spelling))).collect();
    let index: GpuSpellingIndex = all.leak();
    known.push((rows, index));
    index
}

/// Returns every row that `name` may refer to, by the strictest comparison that matches any.
pub(super) fn find_gpus(rows: &'static [GpuRow], name: &str) -> Vec<&'static GpuRow> {
    let name = name.trim();
    let written: Vec<&'static GpuRow> =
        rows.iter().filter(|row| names_of_row(row).any(|spelling| spelling.eq_ignore_ascii_case(name))).collect();
    let words = name_words(name);
    if !written.is_empty() || words.is_empty() {
        return written;
    }
    let index = spelling_index(rows);
    let found = find_by_words(index, &words);
    if !found.is_empty() {
        return found;
    }
    // Shares of one board differ in memory alone, and people write the memory of boards that are named without it.
    let share = without_units(&words, VGPU_PROFILE_UNITS).map(|base_words| {
        let board = board_words(base_words);
        let shares = index.iter().filter(|spelling| {
            without_units(&spelling.words, VGPU_PROFILE_UNITS).is_some_and(|board_of| board_words(board_of) == board)
        });
        let mut found: Vec<&'static GpuRow> = shares.map(|spelling| spelling.row).collect();
        found.dedup_by_key(|row| row.name);
        found
    });
    let share = share.filter(|found| !found.is_empty());
    share
        .or_else(|| without_units(&words, MEMORY_UNITS).map(|base_words| find_by_words(index, &base_words)))
        .unwrap_or_default()
}

/// Returns the rows that match some words, by the strictest comparison that matches any.
fn find_by_words(index: GpuSpellingIndex, words: &[String]) -> Vec<&'static GpuRow> {
    let core = without_optional_prefixes(words.to_vec());
    let joined = core.concat();
    let matching = |test: &dyn Fn(&GpuSpelling) -> bool| -> Vec<&'static GpuRow> {
        let mut found: Vec<&'static GpuRow> =
            index.iter().filter(|spelling| test(spelling)).map(|spelling| spelling.row).collect();
        found.dedup_by_key(|row| row.name);
        found
    };
    let stages: [&dyn Fn(&GpuSpelling) -> bool; 4] = [
        &|spelling| spelling.words == *words,
        &|spelling| spelling.core == core,
        &|spelling| spelling.joined == joined,
        &|spelling| is_abbreviation_of(&core, &spelling.core),
    ];
    stages.into_iter().map(matching).find(|found| !found.is_empty()).unwrap_or_default()
}

/// Whether two names refer to the same GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuNameMatch {
    /// The same GPU.
    Yes,
    /// Possibly the same GPU, because one name is ambiguous.
    May,
    /// Different GPUs.
    No,
}

/// Compares two names of whole GPUs, either of which may omit words.
pub(super) fn compare_gpu_names(rows: &'static [GpuRow], one: &str, other: &str) -> GpuNameMatch {
    let (words_of_one, words_of_other) =
        (without_optional_prefixes(name_words(one)), without_optional_prefixes(name_words(other)));
    if words_of_one == words_of_other {
        return GpuNameMatch::Yes;
    }
    let shorter =
        is_abbreviation_of(&words_of_one, &words_of_other) || is_abbreviation_of(&words_of_other, &words_of_one);
    let common = || {
        let of_other = find_gpus(rows, other);
        find_gpus(rows, one).iter().any(|row| of_other.iter().any(|own| own.name == row.name))
    };
    if shorter || common() { GpuNameMatch::May } else { GpuNameMatch::No }
}

/// Whether the declared GPU name `general` includes the GPU name `own` of a machine, such as `A100` and
/// `NVIDIA A100-SXM4-40GB`: `general` has the same words, or fewer ones if the others do not affect the checks.
pub(super) fn covers_gpu_name(rows: &'static [GpuRow], general: &str, own: &str) -> bool {
    let (of_general, of_own) = (find_gpus(rows, general), find_gpus(rows, own));
    let (Some(wide), Some(narrow)) = (common_row(&of_general), common_row(&of_own)) else { return false };
    let (general, own) = (without_optional_prefixes(name_words(general)), without_optional_prefixes(name_words(own)));
    let profiles = |words: &[String]| -> Vec<String> {
        words.iter().filter(|word| has_unit(word, VGPU_PROFILE_UNITS)).cloned().collect()
    };
    if !are_interchangeable(wide, narrow) || profiles(&general) != profiles(&own) {
        return false;
    }
    let common = || of_general.iter().any(|row| of_own.iter().any(|other| other.name == row.name));
    // Behind the model of a data centre board stand its form and its memory, behind others what makes another model of it.
    general == own || common() || (wide.class == GpuClass::DataCenter && is_abbreviation_of(&general, &own))
}

/// Returns the model in a name, without vendor, product line, form factor and memory: `A100` of `NVIDIA
/// A100-SXM4-40GB`.
fn model_in_name(name: &'static str) -> &'static str {
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

/// Removes the vendor from a name if the rest is known on its own.
fn without_vendor(rows: &'static [GpuRow], name: &'static str) -> &'static str {
    name.strip_prefix("NVIDIA ").filter(|short| find_gpu(rows, short).is_some()).unwrap_or(name)
}

/// Returns up to three names most similar to `name`; letters that look like digits count as digits: `A10O` is A100.
pub(super) fn suggest_gpu_names(rows: &'static [GpuRow], name: &str) -> Vec<&'static str> {
    let query = without_optional_prefixes(name_words(name)).join(" ");
    let alike = |text: &str| text.replace('o', "0").replace(['i', 'l'], "1");
    let mut lookalikes: Vec<&'static str> = rows.iter().map(|row| model_in_name(row.name)).collect();
    lookalikes.retain(|model| {
        alike(&without_optional_prefixes(name_words(model)).join(" ")) == alike(&query)
            && find_gpu(rows, model).is_some()
    });
    lookalikes.sort_unstable();
    lookalikes.dedup();
    if !lookalikes.is_empty() {
        lookalikes.truncate(3);
        return lookalikes;
    }
    let mut near: Vec<(usize, &'static str)> = rows
        .iter()
        .filter_map(|row| {
            let distance = names_of_row(row)
                .map(|spelling| edit_distance(&query, &without_optional_prefixes(name_words(spelling)).join(" ")))
                .min()?;
            (distance <= (query.len() / 3).max(2)).then_some((distance, row.name))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, name)| without_vendor(rows, name)).collect()
}
