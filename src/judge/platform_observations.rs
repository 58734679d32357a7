//! Observations of a subject, platform by platform.

use std::borrow::Cow;

use jiff::civil::Date;

use crate::describe::{ImageDescription, Spanned};
use crate::extract;
use crate::infer::observations_with_dependencies;
use crate::judge::subject::{find_platform, is_same_platform};
use crate::judge::{AnalysisSubject, SubjectContent};
use crate::knowledge::Knowledge;
use crate::model::fact::Observations;
use crate::model::note::Note;
use crate::report::model::OnPlatform;

/// What was read from a Dockerfile in addition to its facts.
#[derive(Clone, Debug, Default)]
pub(super) struct DockerfileSummary {
    /// Name of the shipped stage.
    pub(super) stage: Option<String>,
    /// Indices of the stages that it is built from.
    pub(super) stages: Vec<usize>,
    pub(super) notes: Vec<Note>,
    /// Whether it is the same on every platform.
    pub(super) platform_independent: bool,
}

impl DockerfileSummary {
    /// Combines the summary with the observations on a platform.
    pub(super) fn into_platform_observations(self, platform: &str, seen: Observations) -> OnPlatform {
        let Self { stage, stages, notes, .. } = self;
        OnPlatform { platform: platform.to_owned(), stage, stages, notes, seen }
    }
}

/// Returns the observations of a subject on one platform, and fills in the summary of its Dockerfile.
pub(super) fn observe_platform<'a>(
    content: &'a SubjectContent,
    platform: &str,
    summary: &mut DockerfileSummary,
) -> Option<Cow<'a, Observations>> {
    match content {
        SubjectContent::Dockerfile { source, dockerfile, options, files, bases, cached_target } => {
            let read = || {
                extract::observe_dockerfile_on_base(*source, dockerfile, &options.for_platform(platform), files, bases)
                    .ok()
            };
            let target = cached_target.take().or_else(read)?;
            let alike = !target.of_platform && bases.is_empty();
            *summary = DockerfileSummary {
                stage: target.stage,
                stages: target.stages,
                notes: target.notes,
                platform_independent: alike,
            };
            Some(Cow::Owned(target.seen))
        }
        SubjectContent::Fixed(seen) => Some(Cow::Borrowed(seen)),
        SubjectContent::ByPlatform(list) => {
            find_platform(list, platform, |(name, _)| name).map(|(_, seen)| Cow::Borrowed(seen))
        }
        SubjectContent::Saved(saved) => {
            let one = saved.for_platform(platform)?;
            let (stage, stages, mut notes) = (one.stage.clone(), one.stages.clone(), one.notes.clone());
            if saved.dockerfile.is_some() && one.platform != platform {
                notes.push(
                    format!("the report has no entry for {platform}; the entry for {} is used", one.platform).into(),
                );
            }
            *summary = DockerfileSummary { stage, stages, notes, platform_independent: false };
            Some(Cow::Borrowed(&one.seen))
        }
    }
}

/// Returns the observations of a subject on one platform.
pub fn observations_for_platform(content: &SubjectContent, platform: &str) -> Option<Observations> {
    observe_platform(content, platform, &mut DockerfileSummary::default()).map(Cow::into_owned)
}

/// Returns the description of a subject on one platform, as of a day.
pub fn describe_subject(
    subject: &AnalysisSubject,
    platform: &str,
    as_of: Option<Date>,
    knowledge: Knowledge,
) -> Option<ImageDescription> {
    let seen = observations_for_platform(&subject.content, platform)?;
    Some(describe_observations(&subject.content, platform, as_of.or(subject.as_of), &seen, knowledge))
}

/// Returns the description of observations, limited to their platform if the input has several.
pub(super) fn describe_observations(
    content: &SubjectContent,
    platform: &str,
    as_of: Option<Date>,
    seen: &Observations,
    knowledge: Knowledge,
) -> ImageDescription {
    let seen = observations_with_dependencies(seen, platform, as_of, knowledge);
    let mut description = extract::to_description(&seen);
    if description.as_of.is_none() {
        description.as_of = as_of.map(Spanned::without_span);
    }
    let own = match content {
        SubjectContent::ByPlatform(list) => {
            find_platform(list, platform, |(name, _)| name).map(|(name, _)| name.as_str())
        }
        SubjectContent::Saved(saved) if saved.dockerfile.is_none() => {
            saved.for_platform(platform).map(|one| one.platform.as_str())
        }
        SubjectContent::Dockerfile { .. } | SubjectContent::Fixed(_) | SubjectContent::Saved(_) => None,
    };
    if let Some(own) = own.filter(|own| !own.is_empty()) {
        description.platforms = vec![Spanned::without_span(own.to_owned())];
    }
    description
}

/// Returns a note on the platform that is used, if an image has several or lacks the requested one.
pub fn platform_note(content: &SubjectContent, requested: &str) -> Option<String> {
    let list: Vec<(&str, &Observations)> = match content {
        SubjectContent::ByPlatform(list) => list.iter().map(|(name, seen)| (name.as_str(), seen)).collect(),
        // In a saved report, observations for all platforms have an empty name, which is not listed.
        SubjectContent::Saved(saved) if saved.dockerfile.is_none() => {
            let named = saved.platforms.iter().filter(|one| !one.platform.is_empty());
            named.map(|one| (one.platform.as_str(), &one.seen)).collect()
        }
        SubjectContent::Dockerfile { .. } | SubjectContent::Fixed(_) | SubjectContent::Saved(_) => return None,
    };
    let (own, seen) = *find_platform(&list, requested, |(name, _)| name)?;
    let mut all: Vec<&str> = seen.platforms.iter().flat_map(|(all, _)| all).map(String::as_str).collect();
    all.extend(list.iter().map(|(name, _)| *name));
    all.sort_unstable();
    all.dedup();
    let of = all.join(", ");
    if is_same_platform(own, requested) {
        (all.len() > 1).then(|| format!("{of} are available, and {own} is used; select another with --platform"))
    } else {
        Some(format!("{requested} is not available, only {of}; {own} is used"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two manifests of an index of three, and the note for each platform that may be requested.
    #[test]
    fn the_note_names_the_used_platform() {
        let seen = |all: &[&str]| {
            let mut seen = Observations::default();
            let fact = crate::model::fact::FactId(0);
            seen.platforms = Some((all.iter().map(|&one| one.to_owned()).collect(), fact));
            seen
        };
        let all = ["linux/amd64", "linux/arm64/v8", "linux/s390x"];
        let index = SubjectContent::ByPlatform(vec![
            ("linux/amd64".to_owned(), seen(&all)),
            ("linux/arm64/v8".to_owned(), seen(&all)),
        ]);
        let one = SubjectContent::ByPlatform(vec![("linux/arm64".to_owned(), seen(&["linux/arm64"]))]);
        let of = "linux/amd64, linux/arm64/v8, linux/s390x";
        for (content, requested, expected) in [
            (
                &index,
                "linux/amd64",
                Some(format!("{of} are available, and linux/amd64 is used; select another with --platform")),
            ),
            (
                &index,
                "linux/arm64",
                Some(format!("{of} are available, and linux/arm64/v8 is used; select another with --platform")),
            ),
            (&index, "linux/ppc64le", Some(format!("linux/ppc64le is not available, only {of}; linux/amd64 is used"))),
            (&one, "linux/arm64", None),
            (&one, "linux/arm64/v8", None),
            (&one, "linux/arm", Some("linux/arm is not available, only linux/arm64; linux/arm64 is used".to_owned())),
            (&SubjectContent::Fixed(Box::new(seen(&all))), "linux/arm", None),
        ] {
            assert_eq!(platform_note(content, requested), expected, "{requested}");
        }
    }

    /// What stands in for a second platform is what is seen there, and what a platform decides never does.
    #[test]
    fn dockerfile_without_platform_variables_is_equal_on_all_platforms() {
        for (lines, expected) in [
            ("RUN pip install torch==2.4.0", true),
            ("ARG TARGET=a\nRUN uname -m && pip install torch==2.4.0", true),
            ("RUN pip install \"torch; sys_platform == 'linux'\"", true),
            ("RUN pip install \"torch; platform_machine == 'x86_64'\"", false),
            ("RUN echo \"torch; 'arm' in platform_machine\" > r.txt && pip install -r r.txt", false),
            ("COPY <<E r.txt\ntorch; platform_machine != 'aarch64'\nE\nRUN pip install -r r.txt", false),
            ("ARG TARGETARCH\nRUN pip install torch-$TARGETARCH", false),
            ("ARG TARGETPLATFORM\nENV A=$TARGETPLATFORM", false),
            ("RUN --mount=type=bind,source=$BUILDARCH,target=/x true", false),
        ] {
            let text = format!("FROM python:3.11\n{lines}\n");
            let content = SubjectContent::Dockerfile {
                source: crate::text::source::SourceId(0),
                dockerfile: crate::dockerfile::LazyDockerfile::new(text.as_str()),
                options: crate::dockerfile::EvaluateOptions::new(Knowledge::built_in()),
                files: crate::dockerfile::context::ContextFiles::default(),
                bases: std::sync::Arc::default(),
                cached_target: crate::judge::CachedTargetObservations::default(),
            };
            let on = |platform: &str| {
                let mut summary = DockerfileSummary::default();
                let seen = observe_platform(&content, platform, &mut summary)
                    .map(|seen| format!("{seen:?} {:?}", summary.notes));
                (summary.platform_independent, seen)
            };
            let (one, other) = (on("linux/amd64"), on("linux/arm64"));
            assert_eq!((one.0, other.0), (expected, expected), "{lines}");
            assert!(one.1.is_some() && (!expected || one.1 == other.1), "{lines}");
        }
    }
}
