//! References to the old build of a framework that a change would not update: wheel URLs, index pages, and wheels of
//! CUDA libraries.

use crate::cuda::CudaVersion;
use crate::dockerfile::edit::SourceEdit;
use crate::dockerfile::{Dockerfile, Stage};
use crate::fix::fix_context::FixContext;
use crate::fix::proposed_change::TargetPackage;
use crate::fix::versions::default_build;
use crate::infer::variant_cuda;
use crate::judge::SubjectContent;
use crate::model::fact::Observations;
use crate::model::package::{IndexSelection, ObservedPackage, PackageManager, PackageVersion};
use crate::text::source::{SourceId, Span};

const STALE_WHEEL_ADDRESS: &str = "manual: the same command names an address of wheels for another build";
const STALE_LIBRARY_WHEELS: &str = "manual: library wheels for another CUDA major release are installed with it";

/// Returns why edits cannot be applied automatically, if a reference to the old build would remain.
pub(super) fn find_stale_reference(
    case: &FixContext<'_>,
    goes: TargetPackage<'_>,
    edits: &[SourceEdit],
    after: &Observations,
) -> Option<&'static str> {
    if !case.knowledge().has_variants(goes.name) {
        return None;
    }
    let default = || default_build(case, case.knowledge().torch_release(goes.version)?);
    let major = variant_cuda(goes.build.or_else(default)?)?.major();
    let addresses = build_texts(case).into_iter().any(|(source, text)| {
        let changed = |span: Span| {
            let meets = |edit: &SourceEdit| edit.span.start < span.end && span.start < edit.span.end;
            edits.iter().any(|edit| edit.source == source && meets(edit))
        };
        let elsewhere = instructions_of_unrelated_stages(case, source, edits);
        let is_unrelated =
            |span: Span| elsewhere.iter().any(|stage| stage.start <= span.start && span.end <= stage.end);
        let is_kept = |span: &Span| !changed(*span) && !is_unrelated(*span);
        let address = |span: Span| text.get(span.start..span.end).unwrap_or_default();
        wheel_addresses(text)
            .into_iter()
            .filter(is_kept)
            .map(address)
            .any(|one| is_address_for_other_build(one, (goes, major)))
    });
    if addresses || after.packages.iter().any(|one| is_dependent_from_other_build(case, one, major)) {
        return Some(STALE_WHEEL_ADDRESS);
    }
    let library = |one: &ObservedPackage| {
        let PackageVersion::Exact(version) = &one.requirement.version else { return false };
        let cuda = case.knowledge().library_wheel_cuda(&one.requirement.name, version.public());
        one.requirement.manager == PackageManager::Pip && cuda.is_some_and(|(cuda, _)| cuda.major() != major)
    };
    after.packages.iter().any(library).then_some(STALE_LIBRARY_WHEELS)
}

/// Returns the texts of all files that the build reads.
fn build_texts<'a>(case: &FixContext<'a>) -> Vec<(SourceId, &'a str)> {
    let SubjectContent::Dockerfile { source, files, .. } = &case.subject.content else { return Vec::new() };
    let read = files.requested_files().filter_map(|(_, file)| Some(file.as_ref().ok()?.source));
    read.chain([*source]).map(|source| (source, case.settings.sources.get(source).text())).collect()
}

/// Returns the instructions of build stages that the image does not build on and that no edit changes.
fn instructions_of_unrelated_stages(case: &FixContext<'_>, text: SourceId, edits: &[SourceEdit]) -> Vec<Span> {
    let SubjectContent::Dockerfile { source, dockerfile, options, .. } = &case.subject.content else {
        return Vec::new();
    };
    let dockerfile: &Dockerfile = dockerfile;
    let Some(evaluated) =
        (*source == text).then(|| dockerfile.evaluate(&options.for_platform(&case.platform)).ok()).flatten()
    else {
        return Vec::new();
    };
    let spans = |stage: &Stage| -> Vec<Span> {
        let own = std::iter::once(&stage.from).chain(&stage.instructions);
        own.filter_map(|at| Some(dockerfile.instructions.get(*at)?.span)).collect()
    };
    let edited = |span: &Span| {
        edits.iter().any(|edit| edit.source == text && span.start <= edit.span.start && edit.span.end <= span.end)
    };
    let others = dockerfile.stages.iter().filter(|stage| !evaluated.chain.contains(&stage.index)).map(spans);
    others.filter(|spans| !spans.iter().any(edited)).flatten().collect()
}

/// Returns the URLs of wheels, pages and indexes in a text: after an option or setting for them, or of a single
/// wheel. Comments are skipped.
fn wheel_addresses(text: &str) -> Vec<Span> {
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '=' | ';' | ',' | '|' | ')' | '\\');
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let begins = start;
        start += line.len();
        if line.trim_start().starts_with(['#', ';']) {
            continue;
        }
        let mut named = false;
        for (at, _) in line.match_indices("://") {
            let from = line.get(..at).and_then(|before| before.rfind(ends)).map_or(0, |before| before + 1);
            let to = line.get(at..).and_then(|rest| rest.find(ends)).map_or(line.len(), |length| at + length);
            let before = line.get(..from).unwrap_or_default().trim_end_matches(['"', '\'', '=', ' ', '\t']);
            let option = before.rsplit(char::is_whitespace).next().unwrap_or_default();
            // One of several behind one name.
            named = if option.contains("://") { named } else { is_index_option(option) };
            if named || line.get(from..to).is_some_and(|address| address.rsplit('.').next() == Some("whl")) {
                found.push(Span::new(begins + from, begins + to));
            }
        }
    }
    found
}

/// Whether an option or a setting selects an index or a page of wheels: `-f`, `--extra-index-url`, `PIP_FIND_LINKS`.
fn is_index_option(option: &str) -> bool {
    let option = option.to_ascii_lowercase();
    matches!(option.as_str(), "-f" | "-i") || option.contains("index") || option.contains("links")
}

/// Whether a URL names builds for another CUDA major release, `cu121`, `pt24cu121`, `cu12torch2.4`, or another
/// framework release, `torch-2.4.0`, `torch2.4`.
fn is_address_for_other_build(address: &str, (goes, major): (TargetPackage<'_>, u32)) -> bool {
    let path = address.split_once("://").map_or(address, |(_, rest)| rest);
    let path = path.split_once('/').map_or("", |(_, path)| path).replace("%2B", "+").replace("%2b", "+");
    let builds = path.split(['/', '+', '-', '_', '?', '&', '.']).filter_map(cuda_major_version);
    let same_release = |rest: &str| {
        let rest = rest.trim_start_matches('-');
        let version = rest.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
        let version = version.trim_end_matches('.');
        let goes_on = goes.version.as_str().strip_prefix(version);
        !version.contains('.') || goes_on.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    builds.into_iter().any(|own| own != major) || !path.split(goes.name).skip(1).all(same_release)
}

/// Returns the CUDA major release that a word names: 12 of `cu121`, `pt24cu121` and `cu12torch2`.
fn cuda_major_version(word: &str) -> Option<u32> {
    let (before, behind) = word.rsplit_once("cu")?;
    let length = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
    let (digits, rest) = behind.split_at_checked(length)?;
    let begins = before.is_empty() || before.ends_with(|c: char| c.is_ascii_digit());
    let whole = (2..=4).contains(&length) && (rest.is_empty() || length == 2 || rest.starts_with("torch"));
    digits.get(..2).filter(|_| begins && whole)?.parse().ok()
}

/// Whether a package that is built on the framework comes from builds for another CUDA major release.
fn is_dependent_from_other_build(case: &FixContext<'_>, package: &ObservedPackage, major: u32) -> bool {
    let knowledge = case.knowledge();
    let tags = match &package.requirement.indexes {
        IndexSelection::Only(tag) => std::slice::from_ref(tag),
        IndexSelection::DefaultAndExtra(tags) => tags.as_slice(),
        IndexSelection::Default | IndexSelection::Unknown(_) => return false,
    };
    // Extensions for each torch are in its indexes, and their own versions distinguish them.
    let extension = knowledge.has_build_index(&package.requirement.name)
        && !knowledge.has_variants(&package.requirement.name)
        && !knowledge.is_built_with_torch(&package.requirement.name);
    let another = |tag: &String| variant_cuda(tag).map(CudaVersion::major).is_some_and(|own| own != major);
    extension && tags.iter().all(another)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::package::ExactVersion;

    #[test]
    fn an_address_names_another_build_or_release() {
        let version = ExactVersion::from("2.4.0");
        let goes = TargetPackage { name: "torch", version: &version, build: Some("cu118") };
        for (address, expected) in [
            ("https://data.pyg.org/whl/torch-2.4.0+cu121.html", true),
            ("https://data.pyg.org/whl/torch-2.4.0%2Bcu121.html", true),
            ("https://data.pyg.org/whl/torch-2.3.0+cu118.html", true),
            ("https://mirror.example/dist/cu121/torch2.4/index.html", true),
            ("https://mirror.example/wheels/torch-2.4/cu121/repo.html", true),
            ("https://mirror.example/whl/cu124/", true),
            ("https://mirror.example/a_scatter-2.1.2+pt24cu121-cp311-cp311-linux_x86_64.whl", true),
            ("https://mirror.example/flash_attn-2.7.4+cu12torch2.4cxx11abiFALSE-cp311.whl", true),
            ("https://data.pyg.org/whl/torch-2.4.0+cu118.html", false),
            ("https://mirror.example/dist/cu118/torch2.4/index.html", false),
            ("https://mirror.example/flash_attn-2.7.4+cu11torch2.4cxx11abiFALSE-cp311.whl", false),
            ("https://download.pytorch.org/whl/torch_stable.html", false),
            ("https://mirror.example/cuda/12.4/archive", false),
            ("https://cu121.mirror.example/simple", false),
            ("https://mirror.example/focus-12/discuss/cup12", false),
            ("https://github.com/pytorch/vision.git", false),
            ("https://mirror.example/torch", false),
            ("://", false),
        ] {
            assert_eq!(is_address_for_other_build(address, (goes, 11)), expected, "{address}");
        }
        // Minor versions of one major are equal here.
        assert!(!is_address_for_other_build("https://data.pyg.org/whl/torch-2.4.0+cu121.html", (goes, 12)));
    }

    #[test]
    fn urls_are_found_in_any_instruction_but_not_in_comments() {
        for (text, expected) in [
            ("RUN pip install a -f https://h/x.html && true", vec!["https://h/x.html"]),
            ("RUN pip install a --find-links=\"https://h/x\"", vec!["https://h/x"]),
            ("ENV PIP_FIND_LINKS=https://h/a\n# -f https://h/b\n", vec!["https://h/a"]),
            ("ENV PIP_EXTRA_INDEX_URL=\"https://h/a https://h/b\"", vec!["https://h/a", "https://h/b"]),
            ("[global]\nfind-links = https://h/a\n; -i https://h/c", vec!["https://h/a"]),
            ("a @ https://h/a.whl ; x", vec!["https://h/a.whl"]),
            ("curl -O https://h/cu121", vec![]),
            ("pip install git+https://h/torch2.1", vec![]),
            ("nothing", vec![]),
        ] {
            let found: Vec<&str> =
                wheel_addresses(text).into_iter().filter_map(|span| text.get(span.start..span.end)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
