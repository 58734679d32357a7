//! Variant tags such as `cu118`, in versions and in the paths of indexes and wheels.

/// Whether a word is a variant tag.
pub(super) fn is_tag(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match word {
        "cpu" | "xpu" => true,
        _ => {
            word.strip_prefix("cu").is_some_and(|rest| digits(rest) && (2..=3).contains(&rest.len()))
                || word.strip_prefix("rocm").is_some_and(|rest| !rest.is_empty() && rest.split('.').all(digits))
        }
    }
}

/// The tag in a local version: `cu118` in `2.1.0+cu118`; a suffix after a dot is dropped.
pub(super) fn tag_of_version(version: &str) -> Option<String> {
    let local = version.split_once('+')?.1;
    let first = local.split(['.', '-', '_']).next().unwrap_or(local);
    [local, first].into_iter().find(|part| is_tag(part)).map(str::to_owned)
}

/// The tag in the path of an index: the part after `/whl/`, whatever the host is.
pub fn tag_of_url(url: &str) -> Option<String> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let mut parts = path.split('/').skip_while(|part| !is_wheels(part)).skip(1);
    parts.find_map(|part| Some(part).filter(|part| is_tag(part)).map(str::to_owned).or_else(|| tag_of_page(part)))
}

/// The tag of the folder that lies right below one of those paths: `cu126` in `.../packages/stable/cu126/`.
pub(super) fn tag_below(url: &str, folders: &[&str]) -> Option<String> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let below = |folder: &&str| path.split_once(&format!("/{folder}/")).map(|(_, rest)| rest);
    let first = folders.iter().find_map(below)?.split('/').next()?;
    Some(first).filter(|part| is_tag(part)).map(str::to_owned)
}

/// The folder of wheels: the index's own, and what mirrors call it.
pub(super) fn is_wheels(part: &str) -> bool {
    matches!(part, "whl" | "pytorch-wheels" | "pytorch")
}

/// `cu121` in the name of a page such as `torch-2.1.0+cu121.html`.
fn tag_of_page(part: &str) -> Option<String> {
    tag_of_version(part.strip_suffix(".html")?)
}

/// What an index has that is no release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Early {
    /// A build of every day, and nothing else.
    Nightly,
    /// What may become the next release, in its version.
    Candidate,
}

impl Early {
    /// What that is, as part of a sentence.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Nightly => "nightly builds",
            Self::Candidate => "release candidates",
        }
    }
}

/// Whether an address is of all that the default index has: of itself or of a mirror, whose path is short and ends in
/// `simple`.
pub(super) fn is_usual(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or(url).trim_end_matches('/');
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    path.ends_with("/simple") && path.matches('/').count() <= 2
}

/// What the index of an address has that is no release, by the folder below that of the wheels.
pub(super) fn early_of_url(url: &str) -> Option<Early> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let mut parts = path.split('/').skip_while(|part| !is_wheels(part)).skip(1);
    match parts.next()? {
        "nightly" => Some(Early::Nightly),
        "test" => Some(Early::Candidate),
        _ => None,
    }
}

/// Whether an address offers every build of every version side by side; the page in the folder of one build does not.
pub(super) fn every_build(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or(url).trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or(path);
    let below = path.split('/').any(is_wheels) && tag_of_url(url).is_none();
    below && (is_wheels(last) || matches!(last, "torch_stable.html" | "torch_nightly.html" | "nightly" | "test"))
}
