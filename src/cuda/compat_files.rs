//! Paths of an image as the container stack follows them, and which names it looks for.

/// Where the default toolkit of an image lies: a directory, or a link to one.
pub const TOOLKIT_ROOT: &str = "/usr/local/cuda";
/// The directory of an image that the container toolkit takes compat libraries from.
pub const COMPAT_ROOT: &str = "/usr/local/cuda/compat";

/// So many links are followed, as the kernel does.
const MOST_LINKS: usize = 40;
/// Longest path, as the kernel has it.
const LONGEST_PATH: usize = 4096;

/// The path behind all links, which never leads out of the image; none where links go in circles.
///
/// `link` gives the target of a path that is a link.
pub fn resolve<'a>(path: &str, link: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let mut links = 0;
    let mut done = String::new();
    let mut ahead: Vec<String> = parts(path).map(str::to_owned).collect();
    while let Some(part) = ahead.pop() {
        if part == ".." {
            done.truncate(done.rfind('/').unwrap_or_default());
            continue;
        }
        let parent = done.len();
        done.push('/');
        done.push_str(&part);
        if done.len() > LONGEST_PATH || ahead.len() > LONGEST_PATH {
            return None;
        }
        if let Some(target) = link(&done) {
            links += 1;
            if links > MOST_LINKS {
                return None;
            }
            done.truncate(if target.starts_with('/') { 0 } else { parent });
            ahead.extend(parts(target).map(str::to_owned));
        }
    }
    Some(if done.is_empty() { "/".to_owned() } else { done })
}

/// The parts of a path that lead anywhere, last first.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').rev().filter(|part| !part.is_empty() && *part != ".")
}

/// The name by which programs ask for libcuda.
pub const LIBCUDA: &str = "libcuda.so.1";

/// Directory and name of a path.
pub fn split_path(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The name of the toolkit's directory that a path is or lies in: `cuda-12.9` of `/usr/local/cuda-12.9/lib64`.
pub fn toolkit_directory(path: &str) -> Option<&str> {
    let name = path.strip_prefix("/usr/local/")?.split('/').next()?;
    name.starts_with("cuda").then_some(name)
}

/// Whether a directory is the compat directory of a toolkit: `/usr/local/cuda/compat`, `/usr/local/cuda-12.8/compat`.
pub fn is_compat_directory(directory: &str) -> bool {
    let above = directory.trim_end_matches('/').strip_suffix("/compat");
    above.is_some_and(|above| toolkit_directory(above) == Some(split_path(above).1))
}

/// Whether a directory is one of stubs of a toolkit: `/usr/local/cuda/lib64/stubs`.
pub fn is_stub_directory(directory: &str) -> bool {
    directory.trim_end_matches('/').ends_with("/stubs")
}

/// Whether a directory is a compat directory of a toolkit, those of other platforms too, or lies below one:
/// `/usr/local/cuda/compat_orin`, `/usr/local/cuda/compat/lib.real`.
pub fn in_compat_directory(directory: &str) -> bool {
    toolkit_directory(directory).is_some() && directory.split('/').skip(4).any(|part| part.starts_with("compat"))
}

/// Whether a path is a folder or lies below it.
pub fn lies_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether the `enable-cuda-compat` hook looks at a file of that name: `libcuda.so.*.*`.
pub fn hook_looks_at(name: &str) -> bool {
    name.strip_prefix("libcuda.so.").is_some_and(|rest| rest.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compat_directories_belong_to_a_toolkit() {
        for (directory, is, inside) in [
            ("/usr/local/cuda/compat", true, true),
            ("/usr/local/cuda/compat/", true, true),
            ("/usr/local/cuda-12.9/compat", true, true),
            ("/usr/local/cuda/compat/lib.real", false, true),
            ("/usr/local/cuda/compat_orin", false, true),
            ("/usr/local/cuda/lib64/compat", false, true),
            ("/usr/local/cuda/lib64", false, false),
            ("/usr/local/cuda", false, false),
            ("/usr/local/compat", false, false),
            ("/usr/local/compat/cuda", false, false),
            ("/opt/cuda/compat", false, false),
            ("/opt/app/compat", false, false),
            ("compat", false, false),
            ("", false, false),
        ] {
            assert_eq!(is_compat_directory(directory), is, "{directory}");
            assert_eq!(in_compat_directory(directory), inside, "{directory}");
        }
    }

    #[test]
    fn links_are_followed_inside_of_the_image() {
        let link = |path: &str| match path {
            "/usr/local/cuda" => Some("/etc/alternatives/cuda"),
            "/etc/alternatives/cuda" => Some("../../usr/local/cuda-12.9"),
            "/loop" => Some("/loop/again"),
            "/lib64" => Some("usr/lib64"),
            "/out" => Some("../../../../etc"),
            _ => None,
        };
        for (path, expected) in [
            ("/usr/local/cuda/compat", Some("/usr/local/cuda-12.9/compat")),
            ("/lib64/libcuda.so.1", Some("/usr/lib64/libcuda.so.1")),
            ("/out", Some("/etc")),
            ("/usr//local/./lib/..", Some("/usr/local")),
            ("/..", Some("/")),
            ("", Some("/")),
            ("/loop", None),
            ("/usr/local/cuda-11", Some("/usr/local/cuda-11")),
        ] {
            assert_eq!(resolve(path, link).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn the_hook_wants_two_numbers_in_the_name() {
        for (name, looked_at) in [
            ("libcuda.so.575.57.08", true),
            ("libcuda.so.1.1", true),
            ("libcuda.so.1", false),
            ("libcuda.so", false),
            ("libnvidia-nvvm.so.575.57.08", false),
            ("xlibcuda.so.1.1", false),
        ] {
            assert_eq!(hook_looks_at(name), looked_at, "{name}");
        }
    }
}
