//! Follows the links of an image as the container stack does, and recognises the paths of CUDA files.

/// The path of the default CUDA toolkit of an image: a directory or a link to one.
pub const TOOLKIT_ROOT: &str = "/usr/local/cuda";
/// The directory of an image from which the container toolkit takes compat libraries.
pub const COMPAT_ROOT: &str = "/usr/local/cuda/compat";

/// The largest number of links that are followed, as in the kernel.
const MAX_LINKS: usize = 40;
/// The longest path, as in the kernel.
const MAX_PATH_LENGTH: usize = 4096;

/// Returns the path after all links are followed, always within the image; `None` for a cycle.
///
/// `link` gives the target of a path that is a link.
pub fn resolve_links<'a>(path: &str, link: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let mut links = 0;
    let mut done = String::new();
    let mut ahead: Vec<String> = reversed_components(path).map(str::to_owned).collect();
    while let Some(part) = ahead.pop() {
        if part == ".." {
            done.truncate(done.rfind('/').unwrap_or_default());
            continue;
        }
        let parent = done.len();
        done.push('/');
        done.push_str(&part);
        if done.len() > MAX_PATH_LENGTH || ahead.len() > MAX_PATH_LENGTH {
            return None;
        }
        if let Some(target) = link(&done) {
            links += 1;
            if links > MAX_LINKS {
                return None;
            }
            done.truncate(if target.starts_with('/') { 0 } else { parent });
            ahead.extend(reversed_components(target).map(str::to_owned));
        }
    }
    Some(if done.is_empty() { "/".to_owned() } else { done })
}

/// Returns the components of a path without empty ones and `.`, the last one first.
fn reversed_components(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').rev().filter(|part| !part.is_empty() && *part != ".")
}

/// The soname of libcuda, under which programs load it.
pub const LIBCUDA_SONAME: &str = "libcuda.so.1";

/// Splits a path into directory and file name.
pub fn split_path(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Returns the name of the toolkit directory that contains a path: `cuda-12.9` for `/usr/local/cuda-12.9/lib64`.
pub fn toolkit_directory(path: &str) -> Option<&str> {
    let name = path.strip_prefix("/usr/local/")?.split('/').next()?;
    name.starts_with("cuda").then_some(name)
}

/// Whether a directory is the compat directory of a toolkit: `/usr/local/cuda/compat`, `/usr/local/cuda-12.8/compat`.
pub fn is_compat_directory(directory: &str) -> bool {
    let above = directory.trim_end_matches('/').strip_suffix("/compat");
    above.is_some_and(|above| toolkit_directory(above) == Some(split_path(above).1))
}

/// Whether a directory contains stub libraries of a toolkit: `/usr/local/cuda/lib64/stubs`.
pub fn is_stub_directory(directory: &str) -> bool {
    directory.trim_end_matches('/').ends_with("/stubs")
}

/// Whether a directory is a compat directory of a toolkit for any platform, or below one:
/// `/usr/local/cuda/compat_orin`, `/usr/local/cuda/compat/lib.real`.
pub fn is_in_compat_tree(directory: &str) -> bool {
    toolkit_directory(directory).is_some() && directory.split('/').skip(4).any(|part| part.starts_with("compat"))
}

/// Whether a path is a directory or is below it.
pub fn is_at_or_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether the `enable-cuda-compat` hook considers a file of that name: `libcuda.so.*.*`.
pub fn is_hook_library_name(name: &str) -> bool {
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
            assert_eq!(is_in_compat_tree(directory), inside, "{directory}");
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
            assert_eq!(resolve_links(path, link).as_deref(), expected, "{path}");
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
            assert_eq!(is_hook_library_name(name), looked_at, "{name}");
        }
    }
}
