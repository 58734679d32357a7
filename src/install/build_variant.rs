//! Build tags such as `cu118`, in versions and in the URLs of indexes and wheels.

/// Whether a word is a build tag.
pub(super) fn is_build_tag(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match word {
        "cpu" | "xpu" => true,
        _ => {
            word.strip_prefix("cu").is_some_and(|rest| digits(rest) && (2..=3).contains(&rest.len()))
                || word.strip_prefix("rocm").is_some_and(|rest| !rest.is_empty() && rest.split('.').all(digits))
        }
    }
}

/// Returns the build tag in a local version: `cu118` in `2.1.0+cu118`; a suffix after a dot is dropped.
pub(super) fn tag_of_version(version: &str) -> Option<String> {
    let local = version.split_once('+')?.1;
    let first = local.split(['.', '-', '_']).next().unwrap_or(local);
    [local, first].into_iter().find(|part| is_build_tag(part)).map(str::to_owned)
}

/// Returns the build tag in the URL of an index: the part after `/whl/`, on any host.
pub fn tag_of_url(url: &str) -> Option<String> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let mut parts = path.split('/').skip_while(|part| !is_wheel_folder(part)).skip(1);
    parts.find_map(|part| Some(part).filter(|part| is_build_tag(part)).map(str::to_owned).or_else(|| tag_of_page(part)))
}

/// Returns the build tag of the folder directly below one of these paths: `cu126` in `.../packages/stable/cu126/`.
pub(super) fn tag_below_folder(url: &str, folders: &[&str]) -> Option<String> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let below = |folder: &&str| path.split_once(&format!("/{folder}/")).map(|(_, rest)| rest);
    let first = folders.iter().find_map(below)?.split('/').next()?;
    Some(first).filter(|part| is_build_tag(part)).map(str::to_owned)
}

/// Whether a path component is the wheel folder of torch's index or of a mirror.
pub(super) fn is_wheel_folder(part: &str) -> bool {
    matches!(part, "whl" | "pytorch-wheels" | "pytorch")
}

/// Returns the build tag in the name of a page such as `torch-2.1.0+cu121.html`.
fn tag_of_page(part: &str) -> Option<String> {
    tag_of_version(part.strip_suffix(".html")?)
}

/// The kind of pre-release that an index serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrereleaseKind {
    /// Nightly builds, and nothing else.
    Nightly,
    /// Release candidates, with the version of the next release.
    Candidate,
}

impl PrereleaseKind {
    /// Returns the plural name for use in a sentence.
    pub(super) fn plural_name(self) -> &'static str {
        match self {
            Self::Nightly => "nightly builds",
            Self::Candidate => "release candidates",
        }
    }
}

/// Whether a URL is the default index or a mirror of all of it, with a short path that ends in `simple`.
pub(super) fn is_default_index(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or(url).trim_end_matches('/');
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    path.ends_with("/simple") && path.matches('/').count() <= 2
}

/// Returns the kind of pre-release that the index at a URL serves, by the folder below the wheel folder.
pub(super) fn prerelease_kind_of_url(url: &str) -> Option<PrereleaseKind> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let mut parts = path.split('/').skip_while(|part| !is_wheel_folder(part)).skip(1);
    match parts.next()? {
        "nightly" => Some(PrereleaseKind::Nightly),
        "test" => Some(PrereleaseKind::Candidate),
        _ => None,
    }
}

/// Whether a URL serves all builds of every version side by side; the page in the folder of one build does not.
pub(super) fn serves_every_build(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or(url).trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or(path);
    let below = path.split('/').any(is_wheel_folder) && tag_of_url(url).is_none();
    below && (is_wheel_folder(last) || matches!(last, "torch_stable.html" | "torch_nightly.html" | "nightly" | "test"))
}
