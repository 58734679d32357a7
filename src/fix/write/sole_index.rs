//! Edits that make the index of a build the only index of an install command.

use crate::dockerfile::edit::SourceEdit;
use crate::fix::fix_context::FixContext;
use crate::fix::write::dockerfile_texts::DockerfileTexts;
use crate::fix::write::index_urls;
use crate::fix::write::index_urls::{NEUTRAL_OPTIONS, RequirementSyntax, instruction_at};
use crate::model::package::{IndexSelection, ObservedPackage, PackageName};
use crate::text::source::{SourceId, Span};

/// Turns edits that add an extra index into edits that replace the default one; `None` where that could break the
/// install.
pub(super) fn replace_default_index(
    case: &FixContext<'_>,
    texts: &DockerfileTexts<'_>,
    (own, source, word): (&ObservedPackage, SourceId, Span),
    style: RequirementSyntax,
    more: Vec<SourceEdit>,
) -> Option<Vec<SourceEdit>> {
    let named = own.requirement.indexes != IndexSelection::Default
        || !index_urls::nearby_index_urls(texts, (source, word)).is_empty();
    if source != texts.source || style != RequirementSyntax::Shell || named {
        return None;
    }
    let one = instruction_at(texts, word)?;
    let before = texts.text.get(one.span.start..word.start)?;
    let behind = texts.text.get(word.start..one.span.end)?;
    let knowledge = case.knowledge();
    let lies_there = |name: &str| knowledge.has_variants(name) || knowledge.is_built_with_torch(name);
    installs_only_matching((before, behind), texts.dockerfile.escape, lies_there).then_some(())?;
    let instead = |edit: SourceEdit| SourceEdit {
        replacement: edit.replacement.replace(index_urls::EXTRA_INDEX_OPTION, index_urls::INDEX_OPTION),
        ..edit
    };
    Some(more.into_iter().map(instead).collect())
}

/// Whether a command, split at a word, installs only packages whose names match.
fn installs_only_matching((before, behind): (&str, &str), escape: char, is_one: impl Fn(&str) -> bool) -> bool {
    let ends = [';', '&', '|', '(', ')', '`', '\n', '#'];
    let joined = |text: &str| text.replace("\r\n", "\n").replace(&format!("{escape}\n"), " ");
    let (before, behind) = (joined(before), joined(behind));
    let before = before.rsplit(ends).next().unwrap_or_default();
    let command = format!("{before}{}", behind.split(ends).next().unwrap_or_default());
    let mut words = command.split_whitespace();
    let named = |word: &str| {
        let name = word.trim_matches(['"', '\'']).split(['=', '<', '>', '~', '!', '[', ';', '@']).next();
        name.is_some_and(|name| is_one(&PackageName::python(name)))
    };
    words.any(|word| word == "install") && words.all(|word| NEUTRAL_OPTIONS.contains(&word) || named(word))
}

#[cfg(test)]
mod tests {
    use super::installs_only_matching;

    #[test]
    fn detects_commands_that_install_only_these_packages() {
        for (text, expected) in [
            ("RUN pip install torch==2.5.1", true),
            ("RUN apt-get update && pip3 install torch==2.5.1 Vision==0.20.1 && rm -rf /x", true),
            ("RUN python3 -m pip install --no-cache-dir \\\n  'torch==2.5.1' \\\n  \"vision\"\n", true),
            ("RUN uv pip install --system torch", true),
            ("RUN pip install torch==2.5.1 numpy", false),
            ("RUN pip install numpy torch==2.5.1", false),
            ("RUN pip install torch==2.5.1 .", false),
            ("RUN pip install -r a.txt torch==2.5.1", false),
            ("RUN pip install torch==2.5.1 -c a.txt", false),
            ("RUN pip install torch==2.5.1 $MORE", false),
            ("RUN pip install torch==2.5.1 \\\n  numpy", false),
            ("RUN pip install torch==2.5.1 --find-links /x", false),
            ("RUN pip install torch==2.5.1 visionary", false),
            ("RUN echo torch==2.5.1", false),
        ] {
            let at = text.find("torch").expect("there");
            let is_one = |name: &str| matches!(name, "torch" | "vision");
            assert_eq!(installs_only_matching(text.split_at(at), '\\', is_one), expected, "{text}");
        }
    }
}
