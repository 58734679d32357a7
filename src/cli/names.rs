//! The names of the images that are asked about: from arguments, from a list, from the tags of repositories.

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;

use globset::GlobBuilder;
use globset::GlobSet;
use globset::GlobSetBuilder;

use crate::cli::Failure;
use crate::cli::args::ScanArgs;
use crate::nearest::unread;
use crate::oci::Puller;
use crate::oci::Source;
use crate::report::model::InputError;
use crate::report::model::Location;
use crate::report::model::Region;
use crate::source::SourceText;
use crate::source::Span;

/// The longest list of names that is read.
const LONGEST: u64 = 64 << 20;
/// The longest tag that a registry may have.
const LONGEST_TAG: usize = 128;

/// Names in the order in which they were asked for, each once; and what could not be listed.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) list: Vec<String>,
    pub(crate) errors: Vec<InputError>,
}

/// Where a list names images or repositories, by what is named.
pub(crate) type Places = BTreeMap<String, Location>;

/// The names that arguments and list give, of images or of repositories; and the lines of the list.
pub(crate) fn asked(options: &ScanArgs) -> Result<(Vec<String>, Places), Failure> {
    let (mut asked, mut places) = (options.images.clone(), Places::new());
    if let Some(path) = &options.from_file {
        let text = SourceText::new(path.display().to_string(), text(path, options.access.password_stdin, LONGEST)?);
        for (name, span) in lines(text.text()) {
            if !options.images.contains(&name) && !places.contains_key(&name) {
                places.extend(place(&text, &name, span).map(|place| (name.clone(), place)));
            }
            asked.push(name);
        }
    }
    Ok((asked, places))
}

/// The line of a file that names an image. What stands around it is nobody's business, so the text is not kept.
pub(crate) fn place(text: &SourceText, name: &str, span: Span) -> Option<Location> {
    let (kind, path, label) = ("file".to_owned(), text.name().to_owned(), format!("names {name}"));
    (path != "-").then(|| Location { kind, path, label, region: Some(Region::of(text, span)), made_by: None })
}

/// Where an image of a list is named: itself, or the repository that it is a tag of.
pub(crate) fn place_of(name: &str, places: &Places) -> Option<Location> {
    let repository = || name.rsplit_once(':').map(|(repository, _)| repository);
    places.get(name).or_else(|| places.get(repository()?)).cloned()
}

/// Whether the names that are given are of repositories, and their tags are asked about.
pub(crate) fn are_tags(options: &ScanArgs) -> bool {
    options.all_tags || !options.tags.is_empty()
}

/// Every image that is asked about, where these are the names that were given.
pub(crate) fn all(asked: Vec<String>, options: &ScanArgs, puller: &Puller) -> Result<Names, Failure> {
    let mut names = Names::default();
    if are_tags(options) {
        let wanted = patterns(&options.tags)?;
        let mut repositories = HashSet::new();
        for repository in asked.into_iter().filter(|name| repositories.insert(name.clone())) {
            match tags(&repository, puller, wanted.as_ref()) {
                Ok(list) => names.list.extend(list.into_iter().map(|tag| format!("{repository}:{tag}"))),
                Err(message) => names.errors.push(InputError { input: repository, message, location: None }),
            }
        }
    } else {
        names.list = asked;
    }
    let mut seen = HashSet::new();
    names.list.retain(|name| seen.insert(name.clone()));
    Ok(names)
}

/// The text of a file or of standard input, up to so many bytes.
pub(crate) fn text(path: &Path, password: bool, longest: u64) -> Result<String, Failure> {
    let said = |text: String| Failure::Said(format!("error: {text}"));
    let shown = path.display();
    let opened: io::Result<Box<dyn Read>> = match path.to_str() {
        Some("-") if password => {
            return Err(said(
                "the password and a list cannot both be read from standard input; pass the list as a file".to_owned(),
            ));
        }
        Some("-") => Ok(Box::new(io::stdin())),
        _ => File::open(path).map(|file| Box::new(file) as Box<dyn Read>),
    };
    let mut text = String::new();
    opened.and_then(|file| file.take(longest + 1).read_to_string(&mut text)).map_err(|error| {
        said(format!("cannot read {shown}: {}", unread(path, &error, "a file, or - for standard input")))
    })?;
    if text.len() as u64 > longest {
        return Err(said(format!("{shown} is longer than {longest} bytes")));
    }
    Ok(text)
}

/// What is wrong, without the name that it begins with: the report begins with it as well.
pub(crate) fn without<'a>(text: &'a str, name: &str) -> &'a str {
    text.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(text)
}

/// One name a line, with its place; nothing in a name is a `#` behind a blank.
fn lines(text: &str) -> Vec<(String, Span)> {
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

fn patterns(globs: &[String]) -> Result<Option<GlobSet>, Failure> {
    if globs.is_empty() {
        return Ok(None);
    }
    let mut set = GlobSetBuilder::new();
    for text in globs {
        let glob = GlobBuilder::new(text).build();
        set.add(glob.map_err(|error| Failure::Said(format!("error: --tags {text}: {}", error.kind())))?);
    }
    set.build().map(Some).map_err(|error| Failure::Said(format!("error: --tags: {}", error.kind())))
}

/// The tags of a repository that are asked for, sorted.
fn tags(repository: &str, puller: &Puller, wanted: Option<&GlobSet>) -> Result<Vec<String>, String> {
    let source = Source::parse(repository).map_err(|error| error.to_string())?;
    let Source::Registry(reference) = source else {
        return Err("is not a repository in a registry; only repositories have tags".to_owned());
    };
    let last = repository.rsplit('/').next().unwrap_or(repository);
    if reference.digest().is_some() || last.contains(':') && repository.contains('/') {
        return Err("already names one image; remove its tag or digest when you use --tags or --all-tags".to_owned());
    }
    let named = format!("{repository}:latest");
    let listed = puller.tags(&reference).map_err(|error| without(&error.to_string(), &named).to_owned())?;
    let found = chosen(listed, wanted);
    match wanted {
        _ if !found.is_empty() => Ok(found),
        Some(_) => Err("has no tag that matches --tags".to_owned()),
        None => Err("has no tags".to_owned()),
    }
}

fn chosen(mut tags: Vec<String>, wanted: Option<&GlobSet>) -> Vec<String> {
    tags.retain(|tag| is_tag(tag) && !is_companion(tag) && wanted.is_none_or(|wanted| wanted.is_match(tag)));
    tags.sort();
    tags.dedup();
    tags
}

fn is_tag(tag: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    tag.len() <= LONGEST_TAG && !tag.is_empty() && tag.chars().all(good)
}

/// Whether a tag stands in for a list of referrers, or holds a signature or a list of packages: none is an image.
fn is_companion(tag: &str) -> bool {
    let rest = tag.strip_prefix("sha256-").unwrap_or_default();
    rest.len() >= 64 && rest.get(..64).is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_a_name_a_line() {
        let text = "\u{feff}# all of them\nregistry/a:1\r\n\n  b@sha256:00 \t# the old one\n#c\noci:a#b\n";
        let names = lines(text);
        assert!(names.iter().all(|(name, span)| text.get(span.start..span.end) == Some(name)), "{names:?}");
        let names: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["registry/a:1", "b@sha256:00", "oci:a#b"]);
        assert!(lines(" \n#\n\t# x").is_empty());
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
        assert_eq!(chosen(listed(), None), ["11.8", "12.4-base", "12.4-runtime", "sha256-ab"]);
        let of = |globs: &[&str]| {
            let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
            chosen(listed(), patterns(&globs).expect("patterns").as_ref())
        };
        assert_eq!(of(&["12.*"]), ["12.4-base", "12.4-runtime"]);
        assert_eq!(of(&["*-base", "11.?"]), ["11.8", "12.4-base"]);
        assert!(of(&["13*"]).is_empty());
        assert!(patterns(&["[".to_owned()]).is_err());
    }
}
