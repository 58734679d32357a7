//! What was seen of a subject, platform by platform.

use std::borrow::Cow;

use jiff::civil::Date;

use crate::describe::Description;
use crate::describe::Spanned;
use crate::extract;
use crate::fact::Observations;
use crate::judge::Content;
use crate::judge::Subject;
use crate::report::observed::OnPlatform;

/// What a Dockerfile says beside its facts.
#[derive(Clone, Debug, Default)]
pub(super) struct Beside {
    /// Name of the stage that ships.
    pub(super) stage: Option<String>,
    /// The stages that it is built from.
    pub(super) stages: Vec<usize>,
    pub(super) notes: Vec<String>,
    /// Whether it was read for one platform, and is the same on every other.
    pub(super) alike: bool,
}

impl Beside {
    pub(super) fn on(self, platform: &str, seen: Observations) -> OnPlatform {
        let Self { stage, stages, notes, .. } = self;
        OnPlatform { platform: platform.to_owned(), stage, stages, notes, seen }
    }
}

/// What was observed of a subject on one platform, and what is beside it.
pub(super) fn observe<'a>(content: &'a Content, platform: &str, beside: &mut Beside) -> Option<Cow<'a, Observations>> {
    match content {
        Content::Dockerfile { source, dockerfile, options, files, bases, early } => {
            let read = || extract::of_build(*source, dockerfile, &options.on(platform), files, bases).ok();
            let target = early.take().or_else(read)?;
            let alike = !target.of_platform && bases.is_empty();
            *beside = Beside { stage: target.stage, stages: target.stages, notes: target.notes, alike };
            Some(Cow::Owned(target.seen))
        }
        Content::Fixed(seen) => Some(Cow::Borrowed(seen)),
        Content::ByPlatform(list) => of_platform(list, platform, |(name, _)| name).map(|(_, seen)| Cow::Borrowed(seen)),
        Content::Saved(saved) => {
            let one = saved.on(platform)?;
            let (stage, stages, mut notes) = (one.stage.clone(), one.stages.clone(), one.notes.clone());
            if saved.dockerfile.is_some() && one.platform != platform {
                notes.push(format!("the report has no entry for {platform}; the entry for {} is used", one.platform));
            }
            *beside = Beside { stage, stages, notes, alike: false };
            Some(Cow::Borrowed(&one.seen))
        }
    }
}

/// What was observed of a subject, for one platform.
pub fn observations(content: &Content, platform: &str) -> Option<Observations> {
    observe(content, platform, &mut Beside::default()).map(Cow::into_owned)
}

/// The description of a subject on one platform, as of the day that it is asked for.
pub fn description(subject: &Subject, platform: &str, as_of: Option<Date>) -> Option<Description> {
    let seen = observations(&subject.content, platform)?;
    Some(described(&subject.content, platform, as_of.or(subject.as_of), &seen))
}

/// What was seen, of the one platform that it was seen for where the input has several.
pub(super) fn described(content: &Content, platform: &str, as_of: Option<Date>, seen: &Observations) -> Description {
    let mut description = extract::to_description(seen);
    if description.as_of.is_none() {
        description.as_of = as_of.map(Spanned::nowhere);
    }
    let own = match content {
        Content::ByPlatform(list) => of_platform(list, platform, |(name, _)| name).map(|(name, _)| name.as_str()),
        Content::Saved(saved) if saved.dockerfile.is_none() => saved.on(platform).map(|one| one.platform.as_str()),
        Content::Dockerfile { .. } | Content::Fixed(_) | Content::Saved(_) => None,
    };
    if let Some(own) = own.filter(|own| !own.is_empty()) {
        description.platforms = vec![Spanned::nowhere(own.to_owned())];
    }
    description
}

/// Which platform of an image is told of, where there are several or not the one that is asked for.
pub fn which_platform(content: &Content, asked: &str) -> Option<String> {
    let list: Vec<(&str, &Observations)> = match content {
        Content::ByPlatform(list) => list.iter().map(|(name, seen)| (name.as_str(), seen)).collect(),
        // What a report has of an input for every platform is told of by no name.
        Content::Saved(saved) if saved.dockerfile.is_none() => {
            let named = saved.platforms.iter().filter(|one| !one.platform.is_empty());
            named.map(|one| (one.platform.as_str(), &one.seen)).collect()
        }
        Content::Dockerfile { .. } | Content::Fixed(_) | Content::Saved(_) => return None,
    };
    let (own, seen) = *of_platform(&list, asked, |(name, _)| name)?;
    let mut all: Vec<&str> = seen.platforms.iter().flat_map(|(all, _)| all).map(String::as_str).collect();
    all.extend(list.iter().map(|(name, _)| *name));
    all.sort_unstable();
    all.dedup();
    let of = all.join(", ");
    if is_near(own, asked) {
        (all.len() > 1).then(|| format!("{of} are available, and {own} is used; select another with --platform"))
    } else {
        Some(format!("{asked} is not available, only {of}; {own} is used"))
    }
}

/// Whether two names mean one platform, with a variant or without.
fn is_near(own: &str, asked: &str) -> bool {
    let near =
        |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    near(own, asked) || near(asked, own)
}

/// What is there of a platform, else what is there of one that is near it, else the first.
pub(super) fn of_platform<'a, T>(list: &'a [T], platform: &str, name: impl Fn(&T) -> &str) -> Option<&'a T> {
    let near = |one: &&T| is_near(name(one), platform);
    list.iter().find(|one| name(one) == platform).or_else(|| list.iter().find(near)).or(list.first())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two manifests of an index of three, and what is said of each platform that may be asked for.
    #[test]
    fn it_is_told_which_platform_is_told_of() {
        let seen = |all: &[&str]| {
            let mut seen = Observations::default();
            let fact = crate::fact::FactId(0);
            seen.platforms = Some((all.iter().map(|&one| one.to_owned()).collect(), fact));
            seen
        };
        let all = ["linux/amd64", "linux/arm64/v8", "linux/s390x"];
        let index = Content::ByPlatform(vec![
            ("linux/amd64".to_owned(), seen(&all)),
            ("linux/arm64/v8".to_owned(), seen(&all)),
        ]);
        let one = Content::ByPlatform(vec![("linux/arm64".to_owned(), seen(&["linux/arm64"]))]);
        let of = "linux/amd64, linux/arm64/v8, linux/s390x";
        for (content, asked, expected) in [
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
            (&Content::Fixed(Box::new(seen(&all))), "linux/arm", None),
        ] {
            assert_eq!(which_platform(content, asked), expected, "{asked}");
        }
    }

    /// What stands in for a second platform is what is seen there, and what a platform decides never does.
    #[test]
    fn a_dockerfile_is_alike_on_every_platform_where_no_word_of_it_asks_for_one() {
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
            let content = Content::Dockerfile {
                source: crate::source::SourceId(0),
                dockerfile: crate::dockerfile::OnDemand::new(text.as_str()),
                options: crate::dockerfile::EvaluateOptions::new(crate::knowledge::Knowledge::built_in()),
                files: crate::context::Files::default(),
                bases: std::sync::Arc::default(),
                early: crate::judge::Early::default(),
            };
            let on = |platform: &str| {
                let mut beside = Beside::default();
                let seen = observe(&content, platform, &mut beside).map(|seen| format!("{seen:?} {:?}", beside.notes));
                (beside.alike, seen)
            };
            let (one, other) = (on("linux/amd64"), on("linux/arm64"));
            assert_eq!((one.0, other.0), (expected, expected), "{lines}");
            assert!(one.1.is_some() && (!expected || one.1 == other.1), "{lines}");
        }
    }
}
