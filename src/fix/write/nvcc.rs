//! Edits that add GPU architectures to nvcc commands.

use crate::dockerfile::edit::SourceEdit;
use crate::dockerfile::{Instruction, InstructionKind};
use crate::fix::fix_context::{FixContext, fact_spans};
use crate::fix::proposed_change::PTX_SUFFIX;
use crate::fix::write::dockerfile_texts::DockerfileTexts;
use crate::fix::write::nvcc_options::{
    GENCODE_OPTION, NvccOption, NvccOptionKind, WordSeparator, options_in_value, parse_option, quote_edit,
    quoted_value_ranges,
};
use crate::model::fact::ObservedArchList;
use crate::text::source::{SourceId, Span};

/// Options with which nvcc emits a cubin for a single architecture.
const CUBIN_OPTIONS: [&str; 2] = ["-cubin", "--cubin"];
/// Options with which nvcc emits PTX for a single architecture.
const PTX_OPTIONS: [&str; 2] = ["-ptx", "--ptx"];

/// Returns edits that add GPUs to every command with this list; `None` where one has an unsupported form.
pub(super) fn add_gpus(
    case: &FixContext<'_>,
    texts: &DockerfileTexts<'_>,
    name: &str,
    add: &[String],
) -> Option<Vec<SourceEdit>> {
    let mut edits = Vec::new();
    for list in case.seen.base_changes.arch_lists.iter().filter(|list| list.name == name) {
        let new: Vec<MissingGpuCode> = add.iter().filter_map(|one| MissingGpuCode::for_gpu(one, list)).collect();
        if new.is_empty() {
            continue;
        }
        let mut places = fact_spans(case, list.fact);
        places.sort_unstable();
        let (source, _) = *places.first()?;
        let text = texts.sources.get(source).text();
        let own: Vec<Span> = places.iter().filter(|(other, _)| *other == source).map(|(_, span)| *span).collect();
        let more = edits_in_place(texts, (source, text), &own, &new);
        let more = more.map(|found| found.into_iter().map(|(span, new)| SourceEdit { source, span, replacement: new }));
        if let Some(found) = more {
            edits.extend(found);
            continue;
        }
        // Options that stand in the value of a variable.
        let values = variable_value_edits(texts, &new);
        let of_one =
            |span: &Span| [CUBIN_OPTIONS, PTX_OPTIONS].iter().any(|words| command_has_word(texts, text, *span, words));
        let whole = source == texts.source && !own.iter().any(of_one);
        edits.extend((whole && !values.is_empty()).then_some(values)?);
    }
    edits.sort();
    edits.dedup();
    Some(edits)
}

/// Returns the edits of one list, in its options or in the value that contains them.
fn edits_in_place(
    texts: &DockerfileTexts<'_>,
    (source, text): (SourceId, &str),
    own: &[Span],
    new: &[MissingGpuCode],
) -> Option<Vec<(Span, String)>> {
    let at = |span: &Span| texts.dockerfile.instructions.iter().find(|one| contains_span(one.span, *span));
    let listed = source == texts.source && own.iter().filter_map(at).any(|one| one.json.is_some());
    let strings = listed && own.iter().any(|span| starts_json_string(text, *span));
    let between = if strings { WordSeparator::Strings } else { WordSeparator::Blanks };
    // What follows an equals sign is the value of a variable.
    let is_word = |span: &&Span| !text.get(..span.start).is_some_and(|before| before.ends_with('='));
    let read = |span: &Span| Some(span).filter(is_word).and_then(|span| parse_option(text, *span, between));
    let plain = own.iter().map(read).collect::<Option<Vec<NvccOption>>>();
    let (options, value) = match (plain, own) {
        (Some(options), _) => (options, None),
        (None, [value]) if !strings => (options_in_value(text, *value), Some(*value)),
        (None, _) => return None,
    };
    let spans: Vec<Span> = options.iter().map(|option| option.span).collect();
    let one = |words: &[&str]| spans.iter().chain(own).any(|span| command_has_word(texts, text, *span, words));
    if one(&CUBIN_OPTIONS) {
        return None;
    }
    if one(&PTX_OPTIONS) {
        return lower_ptx_target(text, &options, new);
    }
    let edit = append_gpu_code(text, &options, new, between)?;
    Some(vec![match value {
        Some(value) => quote_edit(text, value, edit),
        None => edit,
    }])
}

/// Whether a span contains another.
fn contains_span(whole: Span, part: Span) -> bool {
    whole.start <= part.start && part.end <= whole.end
}

/// Whether the nvcc command at a span contains one of these words; for options in variables, any command.
fn command_has_word(texts: &DockerfileTexts<'_>, text: &str, place: Span, words: &[&str]) -> bool {
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

/// Returns edits that add GPUs to the quoted values of variables with nvcc options.
fn variable_value_edits(texts: &DockerfileTexts<'_>, new: &[MissingGpuCode]) -> Vec<SourceEdit> {
    let mut edits = Vec::new();
    let sets = |one: &&Instruction| {
        matches!(one.kind, InstructionKind::Arg | InstructionKind::Env | InstructionKind::Run) && one.json.is_none()
    };
    for instruction in texts.dockerfile.instructions.iter().filter(sets) {
        let text = texts.text.get(..instruction.span.end).unwrap_or_default();
        for (start, end) in quoted_value_ranges(text, instruction.span) {
            let value = text.get(start..end).unwrap_or_default();
            let last = value.rmatch_indices(GENCODE_OPTION).next().map(|(at, _)| start + at);
            let gencode = last.and_then(|at| options_in_value(text, Span::new(at, end)).into_iter().next());
            let more = gencode.and_then(|option| append_gpu_code(text, &[option], new, WordSeparator::Blanks));
            edits.extend(more.map(|(span, more)| texts.dockerfile_edit(span, more)));
        }
    }
    edits
}

/// Whether a word starts a quoted string, as each word of an exec-form command does.
fn starts_json_string(text: &str, word: Span) -> bool {
    text.get(..word.start).is_some_and(|before| before.ends_with('"'))
}

/// The kinds of code that an nvcc architecture list lacks for one GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MissingGpuCode {
    /// Architecture number, as in `90`.
    number: String,
    /// Whether machine code is missing.
    code: bool,
    /// Whether PTX is missing.
    ptx: bool,
}

impl MissingGpuCode {
    /// Returns the code that a list lacks for a GPU; `None` where nothing is missing.
    fn for_gpu(capability: &str, list: &ObservedArchList) -> Option<Self> {
        let has = |number: &str| list.entries.iter().any(|(entry, _)| entry.strip_prefix("sm_") == Some(number));
        let number = match capability.trim_end_matches(PTX_SUFFIX) {
            "" => newest_architecture(list)?,
            number => number.replace('.', ""),
        };
        let code = !has(&number);
        let ptx = capability.ends_with(PTX_SUFFIX) && list.ptx != Some(true);
        (code || ptx).then_some(Self { number, code, ptx })
    }

    /// Returns the kinds of missing code, as nvcc names them.
    fn code_kinds(&self) -> impl Iterator<Item = &'static str> {
        [self.code.then_some("sm"), self.ptx.then_some("compute")].into_iter().flatten()
    }
}

/// Returns the newest architecture with machine code in a list, as in `90`, without architecture-specific targets.
fn newest_architecture(list: &ObservedArchList) -> Option<String> {
    let numbers = list.entries.iter().filter_map(|(entry, _)| entry.strip_prefix("sm_")?.parse::<u32>().ok());
    numbers.max().map(|number| number.to_string())
}

/// Returns the edit that adds code for some GPUs to the options of one command.
fn append_gpu_code(
    text: &str,
    options: &[NvccOption],
    new: &[MissingGpuCode],
    between: WordSeparator,
) -> Option<(Span, String)> {
    let between = between.text();
    let of_one = |one: &MissingGpuCode| {
        let number = &one.number;
        let gencode_flag = |kind: &str| format!("{between}-gencode{between}arch=compute_{number},code={kind}_{number}");
        one.code_kinds().map(gencode_flag).collect::<Vec<String>>()
    };
    let more: String = new.iter().flat_map(of_one).collect();
    let last = |of: NvccOptionKind| options.iter().rfind(|option| option.of == of);
    let value = |option: &NvccOption| text.get(option.value.start..option.value.end);
    if let Some(gencode) = last(NvccOptionKind::Gencode) {
        return Some((Span::new(gencode.span.end, gencode.span.end), more));
    }
    let arch = last(NvccOptionKind::Arch)?;
    let (kind, from) = value(arch)?.split_once('_')?;
    let number = |text: &str| text.parse::<u32>().ok();
    if let Some(code) = last(NvccOptionKind::Code) {
        // Code is made from what is no newer than it.
        let own = number(from)?;
        let made = |one: &MissingGpuCode| number(&one.number).is_some_and(|new| own <= new && (!one.ptx || own == new));
        let all = new.iter().all(made);
        let inside = value(code)?.strip_suffix(']').map_or(code.value.end, |value| code.value.start + value.len());
        let of_one =
            |one: &MissingGpuCode| one.code_kinds().map(|kind| format!("{kind}_{}", one.number)).collect::<Vec<_>>();
        let words: Vec<String> = new.iter().flat_map(of_one).collect();
        return all.then(|| (Span::new(inside, inside), format!(",{}", words.join(","))));
    }
    // `-arch=sm_80` alone stands for machine code and PTX of it.
    (kind == "sm" && (number(from).is_some() || is_variable(from))).then_some(())?;
    let of_kind = |kind: &str| format!("-gencode{between}arch=compute_{from},code={kind}_{from}");
    Some((arch.span, format!("{}{between}{}{more}", of_kind("sm"), of_kind("compute"))))
}

/// Whether a text is a single variable reference, with or without braces: `${ARCH}`.
fn is_variable(text: &str) -> bool {
    let Some(name) = text.strip_prefix('$') else { return false };
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns edits that lower the single PTX target to the oldest GPU; `None` where the target is already low enough.
fn lower_ptx_target(text: &str, options: &[NvccOption], new: &[MissingGpuCode]) -> Option<Vec<(Span, String)>> {
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

    /// Returns the command with code for more GPUs.
    fn command_with_gpus(text: &str, new: &[&str]) -> Option<String> {
        let begins = |word: &&str| {
            ["-gencode", "--generate-code", "-arch", "--gpu-", "-code"].iter().any(|one| word.starts_with(one))
        };
        let words = text.split([' ', '\n']).filter(begins);
        let span = |word: &str| {
            let at = word.as_ptr() as usize - text.as_ptr() as usize;
            Span::new(at, at + word.len())
        };
        let options: Vec<NvccOption> =
            words.map(|word| parse_option(text, span(word), WordSeparator::Blanks)).collect::<Option<_>>()?;
        let of = |one: &&str| MissingGpuCode {
            number: one.trim_end_matches(PTX_SUFFIX).to_owned(),
            code: true,
            ptx: one.ends_with(PTX_SUFFIX),
        };
        let new: Vec<MissingGpuCode> = new.iter().map(of).collect();
        let (span, more) = append_gpu_code(text, &options, &new, WordSeparator::Blanks)?;
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
            assert_eq!(command_with_gpus(text, &["90"]).as_deref(), expected, "{text}");
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
            assert_eq!(command_with_gpus(text, &[new]).as_deref(), expected, "{text}");
        }
    }
}
