//! The GPUs that a command of nvcc compiles for, and more.

use crate::cure::case::Case;
use crate::cure::lists::WITH_PTX;
use crate::cure::write::Texts;
use crate::cure::write::places;
use crate::dockerfile::Instruction;
use crate::dockerfile::Kind;
use crate::edit::TextEdit;
use crate::fact::ArchListSeen;
use crate::source::Span;

/// The option that says one kind of code.
const GENCODE: &str = "-gencode";
/// Options with which nvcc makes code for one architecture alone.
const OF_ONE: [&str; 4] = ["-cubin", "--cubin", "-ptx", "--ptx"];

/// An option of nvcc as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Said {
    of: Of,
    /// With its value.
    span: Span,
    /// The value without quotes.
    value: Span,
}

/// What an option says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// One kind of code and what it is made from.
    Gencode,
    /// What code is made from.
    Arch,
    /// The kinds of code.
    Code,
}

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
        let own = places.iter().filter(|(other, _)| *other == source);
        let instructions = texts.dockerfile.instructions.iter().filter(|_| source == texts.source);
        let instructions: Vec<&Instruction> = instructions
            .filter(|one| own.clone().any(|(_, span)| one.span.start <= span.start && span.end <= one.span.end))
            .collect();
        let listed = instructions.iter().any(|one| one.json.is_some());
        if listed && own.clone().any(|(_, span)| begins_string(text, *span)) {
            return None;
        }
        let mut commands = instructions.iter().filter_map(|one| text.get(one.span.start..one.span.end));
        if commands.any(is_of_one) || (source != texts.source && is_of_one(text)) {
            return None;
        }
        let Some(options) = own.map(|(_, span)| read(text, *span)).collect::<Option<Vec<Said>>>() else {
            // Options that stand in the value of a variable.
            let values = in_values(texts, &new);
            edits.extend((source == texts.source && !values.is_empty()).then_some(values)?);
            continue;
        };
        let (span, replacement) = longer(text, &options, &new)?;
        edits.push(TextEdit { source, span, replacement });
    }
    edits.sort();
    edits.dedup();
    Some(edits)
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
            let word = |at: usize| {
                let length = value.get(at - start..)?.find(char::is_whitespace);
                Some(Span::new(at, length.map_or(end, |length| at + length)))
            };
            let said = last.and_then(word).and_then(|word| read(text, word)).filter(|said| said.span.end <= end);
            let more = said.and_then(|said| longer(text, &[said], new));
            edits.extend(more.map(|(span, more)| texts.edit(span, more)));
        }
    }
    edits
}

/// Where the values in quotes of variables stand in a part of a text.
fn values(text: &str, part: Span) -> Vec<(usize, usize)> {
    let slice = text.get(part.start..part.end).unwrap_or_default();
    let mut found = Vec::new();
    for quote in ['"', '\''] {
        for (at, begins) in slice.match_indices(&format!("={quote}")) {
            let named =
                slice.get(..at).is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
            let start = part.start + at + begins.len();
            let length = text.get(start..part.end).and_then(|rest| rest.find(quote)).filter(|_| named);
            found.extend(length.map(|length| (start, start + length)));
        }
    }
    found
}

/// Whether a word is the first of a string, as each word of a list of them is: one more in it is none of its own.
fn begins_string(text: &str, word: Span) -> bool {
    text.get(..word.start).is_some_and(|before| before.ends_with('"'))
}

/// Whether a command, or one of a text, makes code for one architecture alone.
fn is_of_one(text: &str) -> bool {
    let parts = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';' | '&' | '|' | ')');
    text.split(parts).any(|word| OF_ONE.contains(&word))
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
fn longer(text: &str, options: &[Said], new: &[New]) -> Option<(Span, String)> {
    let of_one = |one: &New| {
        let number = &one.number;
        let said = |kind: &str| format!(" -gencode arch=compute_{number},code={kind}_{number}");
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
    number(from).filter(|_| kind == "sm")?;
    let both = format!("-gencode arch=compute_{from},code=sm_{from} -gencode arch=compute_{from},code=compute_{from}");
    Some((arch.span, format!("{both}{more}")))
}

/// The option that begins at a word.
fn read(text: &str, word: Span) -> Option<Said> {
    let written = text.get(word.start..word.end)?;
    let (name, inline) = written.split_once('=').map_or((written, false), |(name, _)| (name, true));
    let of = match name {
        GENCODE | "--generate-code" => Of::Gencode,
        "-arch" | "--gpu-architecture" => Of::Arch,
        "-code" | "--gpu-code" => Of::Code,
        _ => return None,
    };
    let start = if inline { word.start + name.len() + 1 } else { word.end + blank(text.get(word.end..)?) };
    let rest = text.get(start..)?;
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '=' | ',' | '[' | ']');
    let inner = rest.get(usize::from(quote.is_some())..)?;
    let length = inner.find(|c: char| !plain(c)).unwrap_or(inner.len());
    let behind = inner.get(length..)?.chars().next();
    let ends = match quote {
        Some(_) => behind == quote,
        None => behind.is_none_or(|c| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '&' | '|' | ')')),
    };
    if !ends || length == 0 {
        return None;
    }
    let quotes = usize::from(quote.is_some());
    let value = Span::new(start + quotes, start + quotes + length);
    Some(Said { of, span: Span::new(word.start, value.end + quotes), value })
}

/// How much blank a text begins with, lines that go on included.
fn blank(text: &str) -> usize {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        match rest.strip_prefix("\\\n").or_else(|| rest.strip_prefix("\\\r\n")) {
            Some(more) => rest = more,
            None => return text.len() - rest.len(),
        }
    }
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
        let options: Vec<Said> = words.map(|word| read(text, span(word))).collect::<Option<_>>()?;
        let of = |one: &&str| New {
            number: one.trim_end_matches(WITH_PTX).to_owned(),
            code: true,
            ptx: one.ends_with(WITH_PTX),
        };
        let new: Vec<New> = new.iter().map(of).collect();
        let (span, more) = longer(text, &options, &new)?;
        let mut text = text.to_owned();
        text.replace_range(span.start..span.end, &more);
        Some(text)
    }

    #[test]
    fn values_of_variables_stand_in_quotes() {
        for (text, expected) in [
            ("RUN A=\"-x y\" && B='z' nvcc $A", &["-x y", "z"][..]),
            ("ENV A=\"\"", &[""]),
            ("RUN echo =\"a\" -DX-=\"b\"", &[]),
            ("RUN A=\"open", &[]),
            ("RUN A=b", &[]),
        ] {
            let found = values(text, Span::new(0, text.len()));
            let told: Vec<&str> = found.into_iter().map(|(start, end)| &text[start..end]).collect();
            assert_eq!(told, expected, "{text}");
        }
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
            // What is compiled for a newer one is no beginning of code for an older one.
            ("nvcc -arch=compute_100 -code=sm_100 a.cu", None),
            ("nvcc -arch=compute_90a -code=sm_90a a.cu", None),
            ("nvcc -arch=sm_90a a.cu", None),
            ("nvcc -arch=native a.cu", None),
            ("nvcc -arch=compute_80 a.cu", None),
            ("nvcc -arch=$ARCH a.cu", None),
            ("nvcc -gencode arch=compute_80,code=${CODE} a.cu", None),
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
