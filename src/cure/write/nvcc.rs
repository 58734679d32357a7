//! The GPUs that a command of nvcc compiles for, and more.

use crate::cure::case::Case;
use crate::cure::lists::WITH_PTX;
use crate::cure::write::Texts;
use crate::cure::write::options::Between;
use crate::cure::write::options::GENCODE;
use crate::cure::write::options::Of;
use crate::cure::write::options::Said;
use crate::cure::write::options::in_quotes;
use crate::cure::write::options::read;
use crate::cure::write::options::values;
use crate::cure::write::options::within;
use crate::cure::write::places;
use crate::dockerfile::Instruction;
use crate::dockerfile::Kind;
use crate::edit::TextEdit;
use crate::fact::ArchListSeen;
use crate::source::SourceId;
use crate::source::Span;

/// Options with which nvcc makes machine code for one architecture alone, and PTX of one alone.
const CUBIN: [&str; 2] = ["-cubin", "--cubin"];
const PTX: [&str; 2] = ["-ptx", "--ptx"];

/// Every command with a list of this name with more GPUs, `9.0`; none where one of them is written otherwise than is known
/// here.
pub(super) fn with_more(case: &Case<'_>, texts: &Texts<'_>, name: &str, add: &[String]) -> Option<Vec<TextEdit>> {
    let mut edits = Vec::new();
    for list in case.seen.of_base.arch_lists.iter().filter(|list| list.name == name) {
        let new: Vec<New> = add.iter().filter_map(|one| New::of(one, list)).collect();
        if new.is_empty() {
            continue;
        }
        let mut places = places(case, list.fact);
        places.sort_unstable();
        let (source, _) = *places.first()?;
        let text = texts.sources.get(source).text();
        let own: Vec<Span> = places.iter().filter(|(other, _)| *other == source).map(|(_, span)| *span).collect();
        let more = in_place(texts, (source, text), &own, &new);
        let more = more.map(|found| found.into_iter().map(|(span, new)| TextEdit { source, span, replacement: new }));
        if let Some(found) = more {
            edits.extend(found);
            continue;
        }
        // Options that stand in the value of a variable.
        let values = in_values(texts, &new);
        let of_one = |span: &Span| [CUBIN, PTX].iter().any(|words| makes_one(texts, text, *span, words));
        let whole = source == texts.source && !own.iter().any(of_one);
        edits.extend((whole && !values.is_empty()).then_some(values)?);
    }
    edits.sort();
    edits.dedup();
    Some(edits)
}

/// The edits of one list where its options, or the value that holds them, are written.
fn in_place(
    texts: &Texts<'_>,
    (source, text): (SourceId, &str),
    own: &[Span],
    new: &[New],
) -> Option<Vec<(Span, String)>> {
    let at = |span: &Span| texts.dockerfile.instructions.iter().find(|one| holds(one.span, *span));
    let listed = source == texts.source && own.iter().filter_map(at).any(|one| one.json.is_some());
    let strings = listed && own.iter().any(|span| begins_string(text, *span));
    let between = if strings { Between::Strings } else { Between::Blanks };
    // What follows an equals sign is the value of a variable.
    let is_word = |span: &&Span| !text.get(..span.start).is_some_and(|before| before.ends_with('='));
    let read = |span: &Span| Some(span).filter(is_word).and_then(|span| read(text, *span, between));
    let plain = own.iter().map(read).collect::<Option<Vec<Said>>>();
    let (options, value) = match (plain, own) {
        (Some(options), _) => (options, None),
        (None, [value]) if !strings => (within(text, *value), Some(*value)),
        (None, _) => return None,
    };
    let spans: Vec<Span> = options.iter().map(|option| option.span).collect();
    let one = |words: &[&str]| spans.iter().chain(own).any(|span| makes_one(texts, text, *span, words));
    if one(&CUBIN) {
        return None;
    }
    if one(&PTX) {
        return lower(text, &options, new);
    }
    let edit = longer(text, &options, new, between)?;
    Some(vec![match value {
        Some(value) => in_quotes(text, value, edit),
        None => edit,
    }])
}

fn holds(whole: Span, part: Span) -> bool {
    whole.start <= part.start && part.end <= whole.end
}

/// Whether a command that options at a place reach has one of these words: their own; of those in a variable, any.
fn makes_one(texts: &Texts<'_>, text: &str, place: Span, words: &[&str]) -> bool {
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';' | '&' | '|' | ')');
    let has = |text: &str| text.split(ends).any(|word| words.contains(&word));
    let parts = [';', '&', '|'];
    let start = text.get(..place.start).and_then(|before| before.rfind(parts)).map_or(0, |at| at + 1);
    let end = text.get(place.end..).and_then(|rest| rest.find(parts)).map_or(text.len(), |at| place.end + at);
    let within = |one: &&Instruction| one.span.start <= place.start && place.end <= one.span.end;
    let own = texts.dockerfile.instructions.iter().find(within).filter(|_| std::ptr::eq(text, texts.text));
    let (start, end) = own.map_or((start, end), |one| (start.max(one.span.start), end.min(one.span.end)));
    let command = text.get(start..end).unwrap_or_default();
    if command.split(ends).any(|word| word.rsplit('/').next() == Some("nvcc")) {
        return has(command);
    }
    has(text)
}

/// More GPUs in every value in quotes that holds such an option and is that of a variable.
fn in_values(texts: &Texts<'_>, new: &[New]) -> Vec<TextEdit> {
    let mut edits = Vec::new();
    let sets = |one: &&Instruction| matches!(one.kind, Kind::Arg | Kind::Env | Kind::Run) && one.json.is_none();
    for instruction in texts.dockerfile.instructions.iter().filter(sets) {
        let text = texts.text.get(..instruction.span.end).unwrap_or_default();
        for (start, end) in values(text, instruction.span) {
            let value = text.get(start..end).unwrap_or_default();
            let last = value.rmatch_indices(GENCODE).next().map(|(at, _)| start + at);
            let said = last.and_then(|at| within(text, Span::new(at, end)).into_iter().next());
            let more = said.and_then(|said| longer(text, &[said], new, Between::Blanks));
            edits.extend(more.map(|(span, more)| texts.edit(span, more)));
        }
    }
    edits
}

/// Whether a word is the first of a string, as each word of a list of them is: one more in it is none of its own.
fn begins_string(text: &str, word: Span) -> bool {
    text.get(..word.start).is_some_and(|before| before.ends_with('"'))
}

/// What a list lacks for one GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
struct New {
    /// `90`.
    number: String,
    /// Machine code.
    code: bool,
    /// PTX.
    ptx: bool,
}

impl New {
    /// None where the list has it all.
    fn of(wanted: &str, list: &ArchListSeen) -> Option<Self> {
        let has = |number: &str| list.entries.iter().any(|(entry, _)| entry.strip_prefix("sm_") == Some(number));
        let number = match wanted.trim_end_matches(WITH_PTX) {
            "" => newest(list)?,
            number => number.replace('.', ""),
        };
        let code = !has(&number);
        let ptx = wanted.ends_with(WITH_PTX) && list.ptx != Some(true);
        (code || ptx).then_some(Self { number, code, ptx })
    }

    /// The kinds of code.
    fn kinds(&self) -> impl Iterator<Item = &'static str> {
        [self.code.then_some("sm"), self.ptx.then_some("compute")].into_iter().flatten()
    }
}

/// The newest GPU that a list has machine code for, `90`; what is for one architecture alone is no beginning of another.
fn newest(list: &ArchListSeen) -> Option<String> {
    let numbers = list.entries.iter().filter_map(|(entry, _)| entry.strip_prefix("sm_")?.parse::<u32>().ok());
    numbers.max().map(|number| number.to_string())
}

/// The edit that adds code for these GPUs to the options of one command.
fn longer(text: &str, options: &[Said], new: &[New], between: Between) -> Option<(Span, String)> {
    let between = between.text();
    let of_one = |one: &New| {
        let number = &one.number;
        let said = |kind: &str| format!("{between}-gencode{between}arch=compute_{number},code={kind}_{number}");
        one.kinds().map(said).collect::<Vec<String>>()
    };
    let more: String = new.iter().flat_map(of_one).collect();
    let last = |of: Of| options.iter().rfind(|option| option.of == of);
    let value = |option: &Said| text.get(option.value.start..option.value.end);
    if let Some(gencode) = last(Of::Gencode) {
        return Some((Span::new(gencode.span.end, gencode.span.end), more));
    }
    let arch = last(Of::Arch)?;
    let (kind, from) = value(arch)?.split_once('_')?;
    let number = |text: &str| text.parse::<u32>().ok();
    if let Some(code) = last(Of::Code) {
        // Code is made from what is no newer than it.
        let own = number(from)?;
        let made = |one: &New| number(&one.number).is_some_and(|new| own <= new && (!one.ptx || own == new));
        let all = new.iter().all(made);
        let inside = value(code)?.strip_suffix(']').map_or(code.value.end, |value| code.value.start + value.len());
        let of_one = |one: &New| one.kinds().map(|kind| format!("{kind}_{}", one.number)).collect::<Vec<_>>();
        let words: Vec<String> = new.iter().flat_map(of_one).collect();
        return all.then(|| (Span::new(inside, inside), format!(",{}", words.join(","))));
    }
    // `-arch=sm_80` alone stands for machine code and PTX of it.
    (kind == "sm" && (number(from).is_some() || is_variable(from))).then_some(())?;
    let of_kind = |kind: &str| format!("-gencode{between}arch=compute_{from},code={kind}_{from}");
    Some((arch.span, format!("{}{between}{}{more}", of_kind("sm"), of_kind("compute"))))
}

/// Whether a text is one variable in braces, or without: `${ARCH}`.
fn is_variable(text: &str) -> bool {
    let Some(name) = text.strip_prefix('$') else { return false };
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The edits by which PTX, of which a command makes one, is that of the oldest of these GPUs; none where it is no newer.
fn lower(text: &str, options: &[Said], new: &[New]) -> Option<Vec<(Span, String)>> {
    let number = |text: &str| text.parse::<u32>().ok();
    let oldest = new.iter().filter_map(|one| number(&one.number)).min()?;
    let mut edits = Vec::new();
    for option in options {
        let value = text.get(option.value.start..option.value.end)?;
        for kind in ["compute_", "sm_"] {
            for (at, _) in value.match_indices(kind) {
                let digits = value.get(at + kind.len()..)?;
                let length = digits.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(digits.len());
                let own = number(digits.get(..length)?)?;
                let start = option.value.start + at + kind.len();
                (oldest < own).then(|| edits.push((Span::new(start, start + length), oldest.to_string())))?;
            }
        }
    }
    (!edits.is_empty()).then_some(edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command with more, each word that begins an option given.
    fn written(text: &str, new: &[&str]) -> Option<String> {
        let begins = |word: &&str| {
            ["-gencode", "--generate-code", "-arch", "--gpu-", "-code"].iter().any(|one| word.starts_with(one))
        };
        let words = text.split([' ', '\n']).filter(begins);
        let span = |word: &str| {
            let at = word.as_ptr() as usize - text.as_ptr() as usize;
            Span::new(at, at + word.len())
        };
        let options: Vec<Said> = words.map(|word| read(text, span(word), Between::Blanks)).collect::<Option<_>>()?;
        let of = |one: &&str| New {
            number: one.trim_end_matches(WITH_PTX).to_owned(),
            code: true,
            ptx: one.ends_with(WITH_PTX),
        };
        let new: Vec<New> = new.iter().map(of).collect();
        let (span, more) = longer(text, &options, &new, Between::Blanks)?;
        let mut text = text.to_owned();
        text.replace_range(span.start..span.end, &more);
        Some(text)
    }

    #[test]
    fn gpus_are_added_as_nvcc_takes_them() {
        for (text, expected) in [
            (
                "nvcc -gencode arch=compute_80,code=sm_80 a.cu",
                Some("nvcc -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 a.cu"),
            ),
            (
                "nvcc -gencode=arch=compute_70,code=[sm_70,compute_70] -gencode \\\n  \"arch=compute_80,code=sm_80\"; x",
                Some(
                    "nvcc -gencode=arch=compute_70,code=[sm_70,compute_70] -gencode \\\n  \"arch=compute_80,code=sm_80\" \
                     -gencode arch=compute_90,code=sm_90; x",
                ),
            ),
            (
                "nvcc -arch=sm_80 a.cu",
                Some(
                    "nvcc -gencode arch=compute_80,code=sm_80 -gencode arch=compute_80,code=compute_80 \
                     -gencode arch=compute_90,code=sm_90 a.cu",
                ),
            ),
            ("nvcc -arch=compute_80 -code=sm_80 a.cu", Some("nvcc -arch=compute_80 -code=sm_80,sm_90 a.cu")),
            ("nvcc -arch compute_80 -code '[sm_80]' a.cu", Some("nvcc -arch compute_80 -code '[sm_80,sm_90]' a.cu")),
            (
                "nvcc -gencode arch=compute_${A},code=sm_$A a.cu",
                Some("nvcc -gencode arch=compute_${A},code=sm_$A -gencode arch=compute_90,code=sm_90 a.cu"),
            ),
            (
                "nvcc -arch=sm_$A a.cu",
                Some(
                    "nvcc -gencode arch=compute_$A,code=sm_$A -gencode arch=compute_$A,code=compute_$A \
                     -gencode arch=compute_90,code=sm_90 a.cu",
                ),
            ),
            // What is compiled for a newer one is no beginning of code for an older one.
            ("nvcc -arch=compute_100 -code=sm_100 a.cu", None),
            ("nvcc -arch=compute_90a -code=sm_90a a.cu", None),
            ("nvcc -arch=sm_90a a.cu", None),
            ("nvcc -arch=native a.cu", None),
            ("nvcc -arch=compute_80 a.cu", None),
            ("nvcc -arch=$ARCH a.cu", None),
            ("nvcc -arch=sm_${ARCH:-80} a.cu", None),
            ("nvcc -arch=compute_$ARCH -code=sm_$ARCH a.cu", None),
            ("nvcc -gencode \"arch=compute_80 a.cu", None),
            ("nvcc -gencode=", None),
            ("nvcc -code=sm_80 a.cu", None),
        ] {
            assert_eq!(written(text, &["90"]).as_deref(), expected, "{text}");
        }
        for (text, new, expected) in [
            (
                "nvcc -gencode arch=compute_80,code=sm_80 a.cu",
                "90+PTX",
                Some(
                    "nvcc -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 \
                     -gencode arch=compute_90,code=compute_90 a.cu",
                ),
            ),
            (
                "nvcc -arch=compute_90 -code=sm_90a a.cu",
                "90+PTX",
                Some("nvcc -arch=compute_90 -code=sm_90a,sm_90,compute_90 a.cu"),
            ),
            // PTX is that of what code is made from.
            ("nvcc -arch=compute_80 -code=sm_80 a.cu", "90+PTX", None),
        ] {
            assert_eq!(written(text, &[new]).as_deref(), expected, "{text}");
        }
    }
}
