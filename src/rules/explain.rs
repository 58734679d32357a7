//! Which pages tell of what a person names: a rule, an outcome, an error's number or name, a line of a log.

use std::cmp::Reverse;

use crate::knowledge::ErrorRow;
use crate::knowledge::Knowledge;
use crate::knowledge::MessageRow;
use crate::nearest::distance;
use crate::rules::book::RuleBook;
use crate::rules::header::Kind;
use crate::rules::page::Page;

/// How many near names are told.
const NEAR: usize = 5;
/// So much of a text is looked through.
const LONGEST: usize = 1 << 16;

/// A page that tells of it.
#[derive(Clone, Debug)]
pub struct Match<'a> {
    /// The page.
    pub page: &'a Page,
    /// Why it is this one, in a line: `error 804 (cudaError…): forward compatibility …`.
    pub why: String,
}

/// A page by name, why, and how well it fits.
struct Fit<'a> {
    rule: &'a str,
    why: String,
    weight: usize,
}

/// The pages that tell of a text, the best first; none where nothing fits.
pub fn explain<'a>(text: &str, book: &'a RuleBook, knowledge: Knowledge) -> Vec<Match<'a>> {
    let text = first(text);
    if let Some(page) = book.get(&text.to_ascii_lowercase()) {
        return vec![Match { page, why: format!("the rule `{}`", page.name) }];
    }
    let mut fits = of_errors(text, knowledge);
    fits.extend(of_messages(text, knowledge));
    fits.extend(of_pages(text, book));
    fits.sort_by_key(|fit| Reverse(fit.weight));
    let mut found: Vec<Match<'a>> = Vec::new();
    for fit in fits {
        let known = found.iter().any(|one| one.page.name == fit.rule);
        if let Some(page) = book.get(fit.rule).filter(|_| !known) {
            found.push(Match { page, why: fit.why });
        }
    }
    found
}

/// The errors that a text names, is the number of, or tells of in a line.
pub fn errors(text: &str, knowledge: Knowledge) -> Vec<&'static ErrorRow> {
    let lower = first(text).to_lowercase();
    knowledge.errors().iter().filter(|row| weight(row, &lower).is_some()).collect()
}

/// The known lines of logs in a text that no page is about.
pub fn lines(text: &str, knowledge: Knowledge) -> Vec<&'static MessageRow> {
    let lower = first(text).to_lowercase();
    knowledge.messages().iter().filter(|row| row.rules.is_empty() && says(row, &lower)).collect()
}

/// So much of a text as is looked through.
fn first(text: &str) -> &str {
    let text = text.trim();
    text.get(..text.floor_char_boundary(LONGEST)).unwrap_or(text)
}

/// Names that come near a text that nothing fits, the nearest first.
pub fn near(text: &str, book: &RuleBook, knowledge: Knowledge) -> Vec<String> {
    let asked = text.trim().to_lowercase();
    let most = asked.chars().count().clamp(3, 60) / 3 + 1;
    let rules = book.pages().map(|page| page.name.clone());
    let errors = knowledge.errors().iter().flat_map(names).map(str::to_owned);
    let codes = knowledge.errors().iter().map(|row| row.code.to_string());
    let measured = rules.chain(errors).chain(codes).filter_map(|name| {
        let far = name.chars().count().abs_diff(asked.chars().count()) > most;
        let distance = if far { most + 1 } else { distance(&asked, &name.to_lowercase()) };
        (distance <= most).then_some((distance, name))
    });
    let mut found: Vec<(usize, String)> = measured.collect();
    found.sort();
    found.dedup();
    found.into_iter().take(NEAR).map(|(_, name)| name).collect()
}

/// Both names of an error.
fn names(row: &'static ErrorRow) -> impl Iterator<Item = &'static str> {
    std::iter::once(row.name).chain(row.driver_name)
}

/// Pages by errors: asked for by number or name, or found in a longer text by name, by number or by their words.
fn of_errors(text: &str, knowledge: Knowledge) -> Vec<Fit<'static>> {
    let lower = text.to_lowercase();
    let mut fits = Vec::new();
    for row in knowledge.errors() {
        let Some(weight) = weight(row, &lower) else { continue };
        for (at, rule) in row.rules.iter().copied().enumerate() {
            let why = format!("error {} ({}): {}", row.code, row.name, row.text);
            fits.push(Fit { rule, why, weight: weight - at });
        }
    }
    fits
}

/// How well a text, in small letters, fits an error: by number or name, by its words, or by its number in a line.
fn weight(row: &'static ErrorRow, lower: &str) -> Option<usize> {
    let words = row.text.trim_end_matches('.').to_lowercase();
    if is_asked(row, lower) {
        return Some(1_000);
    }
    let told = words.split(' ').count() > 1
        && lower.match_indices(&words).any(|(at, _)| !is_of_another(row, lower, at + words.len()));
    if told { Some(100 + words.len()) } else { has_code(lower, row.code).then_some(100) }
}

/// Whether the number of another error stands in brackets behind its words: `UNKNOWN ERROR (303)`.
fn is_of_another(row: &'static ErrorRow, lower: &str, behind: usize) -> bool {
    let rest = lower.get(behind..).unwrap_or_default().trim_start().strip_prefix('(');
    let number = rest.and_then(|rest| rest.split_once(')')).and_then(|(number, _)| number.parse::<u32>().ok());
    number.is_some_and(|number| number != u32::from(row.code) && row.was != Some(number))
}

/// Whether a text, in small letters, is the number of an error or has one of its names.
fn is_asked(row: &'static ErrorRow, lower: &str) -> bool {
    lower == row.code.to_string()
        || row.was.is_some_and(|was| lower == was.to_string())
        || names(row).any(|name| has_word(lower, &name.to_lowercase()))
}

/// Whether a number is told as that of an error: `error 804`, `error code: 35`, `CUDA failure 999`, `(35)`.
fn has_code(text: &str, code: u16) -> bool {
    let code = code.to_string();
    let told = [
        "error ",
        "error: ",
        "error code ",
        "error code: ",
        "error=",
        "failure ",
        "err=",
        "code=",
        "code: ",
        "returned ",
    ];
    told.iter().any(|lead| has_word(text, &format!("{lead}{code}")))
}

/// Whether a text has a word that is no part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let part = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    text.match_indices(word).any(|(at, found)| {
        let before = text.get(..at).unwrap_or_default().chars().next_back();
        let behind = text.get(at + found.len()..).unwrap_or_default().chars().next();
        !before.is_some_and(part) && !behind.is_some_and(part)
    })
}

/// Pages by the lines of logs, of which the longest that fits says most.
fn of_messages(text: &str, knowledge: Knowledge) -> Vec<Fit<'static>> {
    let lower = text.to_lowercase();
    let mut fits = Vec::new();
    for row in knowledge.messages() {
        if !says(row, &lower) {
            continue;
        }
        let weight = 200 + row.says.iter().map(|part| part.len()).sum::<usize>();
        for (at, rule) in row.rules.iter().copied().enumerate() {
            fits.push(Fit { rule, why: told(row), weight: weight - at });
        }
    }
    fits
}

/// A line of a log in words.
fn told(row: &MessageRow) -> String {
    format!("a log says `{}`", row.says.join(" … "))
}

/// Whether a text, in small letters, has the parts of a line in their order.
fn says(row: &MessageRow, lower: &str) -> bool {
    let mut rest = lower;
    !row.says.is_empty()
        && row.says.iter().all(|part| {
            let part = part.to_lowercase();
            let behind = rest.find(&part).and_then(|at| rest.get(at + part.len()..));
            rest = behind.unwrap_or(rest);
            behind.is_some()
        })
}

/// Pages by the lines that they quote themselves: behind what the tables say, start-up pages first.
fn of_pages<'a>(text: &str, book: &'a RuleBook) -> Vec<Fit<'a>> {
    let lower = text.to_lowercase();
    let mut fits = Vec::new();
    for page in book.pages() {
        let quoted = quoted(&page.sections.wrong).filter(|line| quotes(line, &lower));
        let Some(line) = quoted.max_by_key(|line| line.len()) else { continue };
        let startup = matches!(page.kind, Kind::Startup(_));
        let weight = line.len().min(HALF) + if startup { HALF } else { 0 };
        fits.push(Fit { rule: &page.name, why: format!("a log says `{line}`"), weight });
    }
    fits
}

/// The most that the length of a quoted line counts: any row of the tables weighs more.
const HALF: usize = 49;

/// The lines of the `text` blocks of a section.
fn quoted(section: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    section.lines().filter(move |line| {
        let fence = line.strip_prefix("```");
        if let Some(kind) = fence {
            inside = kind.trim() == "text";
        }
        inside && fence.is_none()
    })
}

/// Whether a text, in small letters, has a quoted line, whatever stands for its numbers and for what it leaves out. A
/// line of one word has to be one of the text.
fn quotes(line: &str, lower: &str) -> bool {
    let line = line.trim().trim_end_matches('.').to_lowercase();
    if !line.contains(' ') {
        return line.chars().any(char::is_alphabetic) && lower.lines().any(|other| other.trim() == line);
    }
    let (line, lower) = (squeezed(&line), squeezed(lower));
    let parts = line.split(|sign: char| sign.is_ascii_digit() || sign == '…');
    let mut parts = parts.map(str::trim).filter(|part| part.chars().any(char::is_alphabetic)).peekable();
    let mut rest = lower.as_str();
    parts.peek().is_some()
        && parts.all(|part| {
            let behind = rest.find(part).and_then(|at| rest.get(at + part.len()..));
            rest = behind.unwrap_or_default();
            behind.is_some()
        })
}

/// A text with one blank between its words.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(text: &str) -> Vec<String> {
        let found = explain(text, RuleBook::built_in(), Knowledge::built_in());
        found.into_iter().map(|one| one.page.name.clone()).collect()
    }

    #[test]
    fn codes_names_and_lines_lead_to_their_pages() {
        for (text, expected) in [
            ("804", "compat-not-supported"),
            ("48", "no-kernel-image"),
            ("cudaErrorNoKernelImageForDevice", "no-kernel-image"),
            ("CUDA_ERROR_STUB_LIBRARY", "stub-library"),
            ("cuda_error_unsupported_ptx_version", "unsupported-ptx"),
            ("no-gpu", "no-gpu"),
            ("Wheel-Of-Another-Cuda", "torch-cuda-mismatch"),
            (
                "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4, please update your driver",
                "container-refused",
            ),
            (
                "docker: Error response from daemon: ... nvidia-container-cli: device error: 8: unknown device",
                "container-refused",
            ),
            ("RuntimeError: CUDA error: no kernel image is available for execution on the device", "no-kernel-image"),
            (
                "UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 803: system has \
              unsupported display driver / cuda driver combination",
                "driver-mismatch",
            ),
            ("cuInit failed with error code 34", "stub-library"),
            ("RuntimeError: Found no NVIDIA driver on your system. Please check", "no-gpu"),
            (
                "./app: error while loading shared libraries: libcudart.so.12: cannot open shared object file",
                "library-missing",
            ),
            ("exec /opt/app/app: exec format error", "wrong-platform"),
            ("OSError: libcublas.so.11: cannot open shared object file: No such file or directory", "library-missing"),
            (
                "FAIL : Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.11: cannot open \
                 shared object file: No such file or directory",
                "library-missing",
            ),
            ("Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all", "container-refused"),
            (
                "ERROR: This container was built for NVIDIA Driver Release 450.51 or later, but version 440.33.01 was \
                 detected and compatibility mode is UNAVAILABLE. [[CUDA Driver UNAVAILABLE (cuInit(0) returned 804)]]",
                "insufficient-driver",
            ),
        ] {
            assert_eq!(pages(text).first().map(String::as_str), Some(expected), "{text}");
        }
        assert_eq!(pages("803"), ["driver-mismatch", "compat-unusable"]);
    }

    #[test]
    fn other_texts_lead_nowhere() {
        for text in [
            "",
            "8040",
            "cuda",
            "error",
            "it took 35 seconds",
            "version 804.1",
            "xcudaErrorUnknownx",
            "error 3512",
            "ModuleNotFoundError: No module named 'torch'",
            "unsatisfied condition",
            "no-gpu-at-all",
        ] {
            assert!(pages(text).is_empty(), "{text}: {:?}", pages(text));
        }
        let near = |text| near(text, RuleBook::built_in(), Knowledge::built_in());
        assert_eq!(near("no-gpus").first().map(String::as_str), Some("no-gpu"));
        assert_eq!(near("cudaErrorStubLibary").first().map(String::as_str), Some("cudaErrorStubLibrary"));
        assert!(near("something else entirely, of some length").is_empty());
    }

    #[test]
    fn every_line_that_a_page_quotes_leads_to_it() {
        let mut all = 0;
        for page in RuleBook::built_in().pages() {
            for line in quoted(&page.sections.wrong) {
                all += 1;
                assert!(pages(line).contains(&page.name), "{}: `{line}` leads to {:?}", page.name, pages(line));
            }
        }
        assert!(all > 50, "{all} lines");
        // Start-up pages come first, and a line is no quotation of half of another.
        assert_eq!(pages("CUDA driver version is insufficient for CUDA runtime version")[0], "insufficient-driver");
        assert_eq!(pages("nvcc fatal : Unsupported gpu architecture 'compute_120'"), ["arch-list-beyond-compiler"]);
        for text in ["GPU 0", "Unsupported gpu architecture", "AssertionError: x", "Cannot load x", "..."] {
            assert!(pages(text).is_empty(), "{text}: {:?}", pages(text));
        }
    }

    #[test]
    fn an_error_without_a_page_is_known_all_the_same() {
        let told = |text: &str| errors(text, Knowledge::built_in()).iter().map(|row| row.code).collect::<Vec<_>>();
        for (text, expected) in [
            ("802", &[802][..]),
            (" cudaErrorSystemNotReady", &[802]),
            ("46", &[46]),
            ("RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized", &[802]),
            ("system not yet initialized", &[802]),
            ("8020", &[]),
            ("it took 802 seconds", &[]),
            ("the system is not yet initialized", &[]),
            ("", &[]),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
        assert!(pages("802").is_empty());
        assert!(pages("Error 802: system not yet initialized").is_empty());
    }

    #[test]
    fn a_line_that_nothing_in_an_image_decides_is_told_all_the_same() {
        let told = |text: &str| lines(text, Knowledge::built_in()).len();
        for text in [
            "docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].",
            "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object",
            "nvidia-container-cli: initialization error: driver error: driver not loaded",
        ] {
            assert_eq!((told(text), pages(text)), (1, Vec::new()), "{text}");
        }
        for text in
            ["could not select a driver", "libnvidia-ml.so.1", "driver not loaded", "with capabilities: [[gpu]]"]
        {
            assert_eq!(told(text), 0, "{text}");
        }
    }

    #[test]
    fn the_number_behind_the_words_decides() {
        let none = "failed call to cuInit: UNKNOWN ERROR (303)";
        assert_eq!(pages(none), ["no-gpu", "library-missing"]);
        assert_eq!(pages("CUDA error: unknown error (999)"), ["compat-unusable"]);
        assert_eq!(pages("CUDA error: unknown error"), ["compat-unusable"]);
        assert!(pages("unknown error (12)").is_empty());
    }

    #[test]
    fn every_page_that_the_tables_name_is_there() {
        let knowledge = Knowledge::built_in();
        let named = knowledge
            .errors()
            .iter()
            .flat_map(|row| row.rules)
            .chain(knowledge.messages().iter().flat_map(|row| row.rules));
        for rule in named {
            assert!(RuleBook::built_in().get(rule).is_some(), "{rule}");
        }
        for row in knowledge.messages() {
            assert!(row.rules.is_empty() == row.means.is_some(), "{:?}: pages, or what it means", row.says);
        }
    }
}
