//! Names of the images to scan: from arguments, from a list file, or from the tags of repositories.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::cli::args::ScanArgs;
use crate::cli::error::CommandError;
use crate::registry::{ImageSource, Puller};
use crate::report::kinds::LocationKind;
use crate::report::model::{InputError, Location, Region};
use crate::text::nearest::unreadable_path_message;
use crate::text::source::{SourceText, Span};

/// Largest size of a list of names in bytes.
const MAX_LIST_BYTES: u64 = 64 << 20;
/// Largest length of a tag in a registry.
const MAX_TAG_LENGTH: usize = 128;

/// Image names without duplicates, in the order of the arguments and lists, and the errors of repositories that could
/// not be listed.
#[derive(Debug, Default)]
pub(crate) struct ImageNames {
    pub(crate) list: Vec<String>,
    pub(crate) errors: Vec<InputError>,
}

/// Locations in a list file, by the image or repository named there.
pub(crate) type ListLocations = BTreeMap<String, Location>;

/// Returns the names of images or repositories from the arguments and the list file, and their locations in that
/// file.
pub(crate) fn requested_names(options: &ScanArgs) -> Result<(Vec<String>, ListLocations), CommandError> {
    let (mut requested, mut places) = (options.images.clone(), ListLocations::new());
    if let Some(path) = &options.from_file {
        let text = SourceText::new(
            path.display().to_string(),
            read_file_or_stdin(path, options.access.password_stdin, MAX_LIST_BYTES)?,
        );
        for (name, span) in parse_list(text.text()) {
            if !options.images.contains(&name) && !places.contains_key(&name) {
                places.extend(name_location(&text, &name, span).map(|place| (name.clone(), place)));
            }
            requested.push(name);
        }
    }
    Ok((requested, places))
}

/// Returns the location of an image name in a file, without the surrounding text; `None` for standard input.
pub(crate) fn name_location(text: &SourceText, name: &str, span: Span) -> Option<Location> {
    let (kind, path, label) = (LocationKind::File, text.name().to_owned(), format!("names {name}"));
    (path != "-").then(|| Location { kind, path, label, region: Some(Region::from_span(text, span)), made_by: None })
}

/// Returns where a list names an image, or the repository that the image is a tag of.
pub(crate) fn location_of_image(name: &str, places: &ListLocations) -> Option<Location> {
    let repository = || name.rsplit_once(':').map(|(repository, _)| repository);
    places.get(name).or_else(|| places.get(repository()?)).cloned()
}

/// Whether the names are repositories whose tags are scanned.
pub(crate) fn expands_tags(options: &ScanArgs) -> bool {
    options.all_tags || !options.tags.is_empty()
}

/// Returns all images to scan: the names themselves, or the matching tags if the names are repositories.
pub(crate) fn expand_names(
    requested: Vec<String>,
    options: &ScanArgs,
    puller: &Puller,
) -> Result<ImageNames, CommandError> {
    let mut names = ImageNames::default();
    if expands_tags(options) {
        let patterns = tag_patterns(&options.tags)?;
        let mut repositories = HashSet::new();
        for repository in requested.into_iter().filter(|name| repositories.insert(name.clone())) {
            match matching_tags(&repository, puller, patterns.as_ref()) {
                Ok(list) => names.list.extend(list.into_iter().map(|tag| format!("{repository}:{tag}"))),
                Err(message) => names.errors.push(InputError { input: repository, message, location: None }),
            }
        }
    } else {
        names.list = requested;
    }
    let mut seen = HashSet::new();
    names.list.retain(|name| seen.insert(name.clone()));
    Ok(names)
}

/// Reads the text of a file, or of standard input for `-`, up to `longest` bytes.
pub(crate) fn read_file_or_stdin(path: &Path, password: bool, longest: u64) -> Result<String, CommandError> {
    let command_error = |text: String| CommandError::Message(format!("error: {text}"));
    let shown = path.display();
    let opened: io::Result<Box<dyn Read>> = match path.to_str() {
        Some("-") if password => {
            return Err(command_error(
                "the password and a list cannot both be read from standard input; pass the list as a file".to_owned(),
            ));
        }
        Some("-") => Ok(Box::new(io::stdin())),
        _ => File::open(path).map(|file| Box::new(file) as Box<dyn Read>),
    };
    let mut text = String::new();
    opened.and_then(|file| file.take(longest + 1).read_to_string(&mut text)).map_err(|error| {
        command_error(format!(
            "cannot read {shown}: {}",
            unreadable_path_message(path, &error, "a file, or - for standard input")
        ))
    })?;
    if text.len() as u64 > longest {
        return Err(command_error(format!("{shown} is longer than {longest} bytes")));
    }
    Ok(text)
}

/// Removes the name that an error message begins with, because the report prints the name itself.
pub(crate) fn strip_name_prefix<'a>(text: &'a str, name: &str) -> &'a str {
    text.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(text)
}

/// Returns one name a line with its span; `#` at the beginning or after a blank starts a comment.
fn parse_list(text: &str) -> Vec<(String, Span)> {
    let name = |line: &str| {
        let comment = line.match_indices('#').map(|(at, _)| at);
        let begins =
            |at: &usize| line.get(..*at).is_some_and(|before| before.is_empty() || before.ends_with([' ', '\t']));
        let end = comment.into_iter().find(begins).unwrap_or(line.len());
        line.get(..end).unwrap_or_default().trim().to_owned()
    };
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let own = line.strip_prefix('\u{feff}').unwrap_or(line);
        let name = name(own);
        if !name.is_empty() {
            let at = start + (line.len() - own.len()) + (own.len() - own.trim_start().len());
            let span = Span::new(at, at + name.len());
            found.push((name, span));
        }
        start += line.len();
    }
    found
}

/// Compiles the glob patterns of `--tags`; `None` if there are none.
fn tag_patterns(globs: &[String]) -> Result<Option<GlobSet>, CommandError> {
    if globs.is_empty() {
        return Ok(None);
    }
    let mut set = GlobSetBuilder::new();
    for text in globs {
        let glob = GlobBuilder::new(text).build();
        set.add(glob.map_err(|error| CommandError::Message(format!("error: --tags {text}: {}", error.kind())))?);
    }
    set.build().map(Some).map_err(|error| CommandError::Message(format!("error: --tags: {}", error.kind())))
}

/// Returns the sorted tags of a repository that match the patterns.
fn matching_tags(repository: &str, puller: &Puller, patterns: Option<&GlobSet>) -> Result<Vec<String>, String> {
    let source = ImageSource::parse(repository).map_err(|error| error.to_string())?;
    let ImageSource::Registry(reference) = source else {
        return Err("is not a repository in a registry; only repositories have tags".to_owned());
    };
    let last = repository.rsplit('/').next().unwrap_or(repository);
    if reference.digest().is_some() || last.contains(':') && repository.contains('/') {
        return Err("already names one image; remove its tag or digest when you use --tags or --all-tags".to_owned());
    }
    let named = format!("{repository}:latest");
    let listed = puller.tags(&reference).map_err(|error| strip_name_prefix(&error.to_string(), &named).to_owned())?;
    let found = select_tags(listed, patterns);
    match patterns {
        _ if !found.is_empty() => Ok(found),
        Some(_) => Err("has no tag that matches --tags".to_owned()),
        None => Err("has no tags".to_owned()),
    }
}

/// Returns the image tags that match the patterns, sorted and without duplicates.
fn select_tags(mut tags: Vec<String>, patterns: Option<&GlobSet>) -> Vec<String> {
    tags.retain(|tag| {
        is_valid_tag(tag) && !is_referrer_tag(tag) && patterns.is_none_or(|patterns| patterns.is_match(tag))
    });
    tags.sort();
    tags.dedup();
    tags
}

/// Whether a text is a valid tag.
fn is_valid_tag(tag: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    tag.len() <= MAX_TAG_LENGTH && !tag.is_empty() && tag.chars().all(good)
}

/// Whether a tag names a list of referrers, a signature or an SBOM instead of an image.
fn is_referrer_tag(tag: &str) -> bool {
    let rest = tag.strip_prefix("sha256-").unwrap_or_default();
    rest.len() >= 64 && rest.get(..64).is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_a_name_a_line() {
        let text = "\u{feff}# all of them\nregistry/a:1\r\n\n  b@sha256:00 \t# the old one\n#c\noci:a#b\n";
        let names = parse_list(text);
        assert!(names.iter().all(|(name, span)| text.get(span.start..span.end) == Some(name)), "{names:?}");
        let names: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["registry/a:1", "b@sha256:00", "oci:a#b"]);
        assert!(parse_list(" \n#\n\t# x").is_empty());
    }

    #[test]
    fn tags_are_chosen_sorted_and_without_signatures() {
        let signature = format!("sha256-{:064x}.sig", 7);
        let listed = || {
            let odd = ["", "a b", "../x", "a\u{1b}[31m"].map(str::to_owned);
            let tags =
                ["12.4-runtime", "11.8", "12.4-base", "11.8", "sha256-ab", signature.as_str()].map(str::to_owned);
            [&tags[..], &odd[..]].concat()
        };
        assert_eq!(select_tags(listed(), None), ["11.8", "12.4-base", "12.4-runtime", "sha256-ab"]);
        let of = |globs: &[&str]| {
            let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
            select_tags(listed(), tag_patterns(&globs).expect("patterns").as_ref())
        };
        assert_eq!(of(&["12.*"]), ["12.4-base", "12.4-runtime"]);
        assert_eq!(of(&["*-base", "11.?"]), ["11.8", "12.4-base"]);
        assert!(of(&["13*"]).is_empty());
        assert!(tag_patterns(&["[".to_owned()]).is_err());
    }
}
