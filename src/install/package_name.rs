//! How package managers write which package they mean: by name and version, by a file that holds it, by a module.

use crate::install::VersionSpec;

/// Architectures that a name may end in, behind a dot or a colon.
const ARCHITECTURES: &[&str] = &["aarch64", "amd64", "arm64", "i386", "i586", "i686", "noarch", "x86_64"];
/// Those of programs with 32 bits, whose libraries no program with 64 bits loads.
const NARROW: &[&str] = &["i386", "i486", "i586", "i686", "armhf", "armel", "armv7hl"];
/// How the files of packages end.
const DEB: &str = ".deb";
const RPM: &str = ".rpm";
/// A profile of a module that holds sources alone.
const SOURCES: &str = "src";

/// A package as a manager was asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// Its name.
    pub(super) name: String,
    /// The version that is asked for.
    pub(super) version: VersionSpec,
}

impl Named {
    fn new(name: &str, version: VersionSpec) -> Self {
        Self { name: name.to_owned(), version }
    }
}

/// Whether a word is a file that holds a package of the system.
pub fn is_file(word: &str) -> bool {
    let word = without_query(word);
    word.ends_with(DEB) || word.ends_with(RPM)
}

/// Whether a word asks for a package of programs with 32 bits: `libnvidia-compute-535:i386`, `nvidia-driver-libs.i686`.
pub(super) fn is_narrow(word: &str, rpm: bool) -> bool {
    let word = without_query(word);
    let narrow = |rest: &str| NARROW.contains(&rest);
    let (deb, of_rpm) = (word.strip_suffix(DEB), word.strip_suffix(RPM));
    let behind = |word: &str, sign: char| word.rsplit_once(sign).is_some_and(|(_, last)| narrow(last));
    match (deb, of_rpm) {
        (Some(stem), _) => behind(stem, '_'),
        (None, Some(stem)) => behind(stem, '.'),
        (None, None) if rpm => behind(word, '.'),
        (None, None) => behind(word.split(['=', '/']).next().unwrap_or(word).trim_end_matches(['+', '-']), ':'),
    }
}

/// A word of which a part is not known, as far as it tells a name: `cuda-drivers-$BRANCH`, or `cuda-compat-12-4` of
/// `cuda-compat-12-4-$VERSION` for RPM. `None` where a variable begins it.
pub(super) fn partly(raw: &str, rpm: bool) -> Option<String> {
    let plain: String = raw.chars().filter(|c| !matches!(c, '"' | '\'')).collect();
    let word = plain.split_whitespace().next()?;
    let word = if is_file(word) { word.rsplit('/').next()?.split('_').next()? } else { word };
    let word = word.trim_end_matches(RPM).trim_end_matches(DEB);
    let (name, _) = word.split_once(['=', '<', '>']).unwrap_or((word, ""));
    let literal = name.split(['$', '`']).next().filter(|literal| !literal.is_empty() && !literal.contains('/'))?;
    let whole =
        literal.strip_suffix('-').filter(|whole| rpm && whole.rsplit('-').next().is_some_and(starts_with_digit));
    Some(whole.unwrap_or(name).to_owned())
}

/// `NAME=VERSION`, `NAME:ARCH` and `NAME/RELEASE`, as apt takes them.
pub(super) fn of_apt(word: &str) -> Named {
    let (name, version) = word.split_once('=').map_or((word, None), |(name, version)| (name, Some(version)));
    let name = name.split(['/', ':']).next().unwrap_or(name);
    Named::new(name, version.map_or(VersionSpec::None, spec))
}

/// `NAME-VERSION-RELEASE.ARCH` and what may be left of it, as dnf, yum and zypper take it; `None` where a module has
/// nothing but sources.
pub(super) fn of_rpm(word: &str) -> Option<Named> {
    if let Some(compared) = compared(word) {
        return Some(compared);
    }
    if let Some((module, profile)) = word.strip_prefix('@').map(|group| group.split_once('/').unwrap_or((group, ""))) {
        return (profile != SOURCES).then(|| Named::new(module, VersionSpec::None));
    }
    let word = without_architecture(word);
    let (epoch, rest) = word.split_once(':').unwrap_or(("", word));
    let word = if !epoch.is_empty() && digits(epoch) { rest } else { word };
    Some(
        split(word)
            .map_or_else(|| Named::new(word, VersionSpec::None), |(name, version)| Named::new(name, spec(version))),
    )
}

/// What a file holds by its own name: `libcuda1_550.54.14-1_amd64.deb`, `cuda-compat-12-4-550.54.14-1.x86_64.rpm`.
pub(super) fn in_file(word: &str) -> Option<Named> {
    let name = without_query(word).rsplit('/').next()?;
    let name = name.replace("%2B", "+").replace("%2b", "+").replace("%3A", ":").replace("%3a", ":");
    if let Some(stem) = name.strip_suffix(DEB) {
        let mut parts = stem.split('_');
        let (name, version) = (parts.next()?, parts.next()?);
        let plain = !name.is_empty() && !name.contains(['*', '?', '[']) && starts_with_digit(version);
        return plain.then(|| Named::new(name, spec(version)));
    }
    let stem = without_architecture(name.strip_suffix(RPM)?);
    let (name, version) = split(stem).filter(|(name, _)| !name.contains(['*', '?', '[']))?;
    Some(Named::new(name, spec(version)))
}

/// `NAME = VERSION`, as zypper and rpm compare; more than one version may fit the other signs.
fn compared(word: &str) -> Option<Named> {
    let at = word.find(['<', '>', '='])?;
    let (name, rest) = word.split_at_checked(at)?;
    let version = rest.trim_start_matches(['<', '>', '=']);
    let exact = rest.starts_with('=');
    let version = if exact { spec(version.trim()) } else { VersionSpec::Range(rest.to_owned()) };
    Some(Named::new(without_architecture(name.trim()), version))
}

/// The version of a package, without the epoch in front of it.
fn spec(version: &str) -> VersionSpec {
    let (epoch, rest) = version.split_once(':').unwrap_or(("", version));
    let version = if !epoch.is_empty() && digits(epoch) { rest } else { version };
    if version.contains('*') { VersionSpec::Range(version.to_owned()) } else { VersionSpec::Exact(version.to_owned()) }
}

/// Name and version of `NAME-VERSION-RELEASE` or `NAME-VERSION`; `None` where there is no version.
///
/// A name such as cuda-compat-12-4 ends in numbers itself, so a version has to have a dot or a star.
fn split(word: &str) -> Option<(&str, &str)> {
    let (head, last) = word.rsplit_once('-')?;
    if let Some((name, version)) = head.rsplit_once('-')
        && is_version(version)
        && starts_with_digit(last)
    {
        return Some((name, word.get(name.len() + 1..)?));
    }
    is_version(last).then_some((head, last))
}

/// Whether this is a version with a dot: `3:550.54.14`, `12.4.*`.
fn is_version(text: &str) -> bool {
    let text = text.split_once(':').map_or(text, |(_, version)| version);
    starts_with_digit(text) && text.contains(['.', '*']) && !text.ends_with('.')
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
}

fn digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn without_architecture(word: &str) -> &str {
    match word.rsplit_once('.') {
        Some((rest, last)) if ARCHITECTURES.contains(&last) => rest,
        _ => word,
    }
}

fn without_query(word: &str) -> &str {
    let of_address = word.contains("://");
    word.split(['?', '#']).next().filter(|_| of_address).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(named: Option<Named>) -> String {
        match named {
            None => "nothing".to_owned(),
            Some(Named { name, version: VersionSpec::Exact(version) }) => format!("{name} {version}"),
            Some(Named { name, version: VersionSpec::Range(range) }) => format!("{name} in {range}"),
            Some(Named { name, .. }) => name,
        }
    }

    #[test]
    fn rpm_writes_versions_behind_names() {
        for (word, expected) in [
            ("nvidia-driver-cuda-libs-550.54.14", "nvidia-driver-cuda-libs 550.54.14"),
            ("cuda-compat-12-4-550.54.14-1.x86_64", "cuda-compat-12-4 550.54.14-1"),
            ("cuda-cudart-11-8-11.8.89", "cuda-cudart-11-8 11.8.89"),
            ("cuda-cudart-12-4-12.4.127-1", "cuda-cudart-12-4 12.4.127-1"),
            ("3:nvidia-driver-cuda-550.54.14-1.el9.x86_64", "nvidia-driver-cuda 550.54.14-1.el9"),
            ("nvidia-driver-cuda-3:550.54.14-1.el9", "nvidia-driver-cuda 550.54.14-1.el9"),
            ("libnccl-2.21.5-1+cuda12.4", "libnccl 2.21.5-1+cuda12.4"),
            ("cuda-12.4.1-1", "cuda 12.4.1-1"),
            ("nvidia-driver-cuda-libs-550.*", "nvidia-driver-cuda-libs in 550.*"),
            ("nvidia-driver-cuda-libs-550*", "nvidia-driver-cuda-libs in 550*"),
            ("nvidia-compute-G06=550.54.14", "nvidia-compute-G06 550.54.14"),
            ("cuda-drivers = 550.54.14-1", "cuda-drivers 550.54.14-1"),
            ("cuda-drivers>=550", "cuda-drivers in >=550"),
            ("@nvidia-driver:550-dkms", "nvidia-driver:550-dkms"),
            ("@nvidia-driver:550/default", "nvidia-driver:550"),
            // A name alone, numbers or not.
            ("cuda-compat-12-4", "cuda-compat-12-4"),
            ("cuda-compat-12-4.x86_64", "cuda-compat-12-4"),
            ("cuda-drivers-550", "cuda-drivers-550"),
            ("nvidia-driver:latest-dkms", "nvidia-driver:latest-dkms"),
            ("python3.11", "python3.11"),
            ("java-1.8.0-openjdk", "java-1.8.0-openjdk"),
            ("gcc-toolset-12", "gcc-toolset-12"),
            ("gcc-c++", "gcc-c++"),
            ("@nvidia-driver:550/src", "nothing"),
            ("", ""),
        ] {
            assert_eq!(told(of_rpm(word)), expected, "{word}");
        }
    }

    #[test]
    fn apt_writes_versions_behind_a_sign() {
        for (word, expected) in [
            ("libnvidia-compute-535=535.183.01-0ubuntu1", "libnvidia-compute-535 535.183.01-0ubuntu1"),
            ("libnvidia-compute-535:amd64=535.183.01-0ubuntu1", "libnvidia-compute-535 535.183.01-0ubuntu1"),
            ("libnvidia-compute-535/jammy-updates", "libnvidia-compute-535"),
            ("cuda-cudart-12-4=12.4.*", "cuda-cudart-12-4 in 12.4.*"),
            ("libcuda1=1:550.54.14-1", "libcuda1 550.54.14-1"),
            // A version of RPM's is a name there.
            ("cuda-cudart-11-8-11.8.89", "cuda-cudart-11-8-11.8.89"),
            ("libcuda1", "libcuda1"),
        ] {
            assert_eq!(told(Some(of_apt(word))), expected, "{word}");
        }
    }

    #[test]
    fn libraries_of_32_bits_are_for_other_programs() {
        for (word, rpm, expected) in [
            ("libnvidia-compute-535:i386", false, true),
            ("libnvidia-compute-535:i386=535.183.01-0ubuntu1", false, true),
            ("libnvidia-compute-535:i386/jammy", false, true),
            ("libnvidia-compute-535:i386-", false, true),
            ("./libnvidia-compute-535_535.183.01-0ubuntu1_i386.deb", false, true),
            ("nvidia-driver-cuda-libs.i686", true, true),
            ("nvidia-driver-cuda-libs-550.54.14-1.el9.i686.rpm", true, true),
            ("libnvidia-compute-535:amd64", false, false),
            ("libnvidia-compute-535:any", false, false),
            ("libnvidia-compute-535", false, false),
            ("libc6-i386", false, false),
            ("libx.i386", false, false),
            ("nvidia-driver-cuda-libs.x86_64", true, false),
            ("nvidia-driver:550-dkms", true, false),
            ("./libnvidia-compute-535_535.183.01-0ubuntu1_amd64.deb", false, false),
        ] {
            assert_eq!(is_narrow(word, rpm), expected, "{word}");
        }
    }

    #[test]
    fn the_name_of_a_file_tells_what_it_holds() {
        for (word, expected) in [
            ("./libnvidia-compute-535_535.183.01-0ubuntu1_amd64.deb", "libnvidia-compute-535 535.183.01-0ubuntu1"),
            ("/tmp/cuda-compat-12-4_550.54.15-1_amd64.deb", "cuda-compat-12-4 550.54.15-1"),
            ("libcuda1_1%3A550.54.14-1_amd64.deb", "libcuda1 550.54.14-1"),
            ("libcuda1_550.*_amd64.deb", "libcuda1 in 550.*"),
            ("https://a.b/x/cuda-compat-12-4-550.54.14-1.x86_64.rpm?c=1", "cuda-compat-12-4 550.54.14-1"),
            ("cuda-cudart-11-8-11.8.89-1.x86_64.rpm", "cuda-cudart-11-8 11.8.89-1"),
            ("cuda-keyring_1.1-1_all.deb", "cuda-keyring 1.1-1"),
            // These tell nothing.
            ("nvidia.deb", "nothing"),
            ("cuda-12-4.rpm", "nothing"),
            ("libnvidia-compute-*.deb", "nothing"),
            ("libnvidia-*_535.183.01_amd64.deb", "nothing"),
            ("*.rpm", "nothing"),
            ("*-550.54.14-1.x86_64.rpm", "nothing"),
            ("driver_latest_amd64.deb", "nothing"),
            ("x.txt", "nothing"),
        ] {
            assert_eq!(told(in_file(word)), expected, "{word}");
        }
        for (raw, rpm, expected) in [
            ("libnvidia-compute-$B", false, Some("libnvidia-compute-$B")),
            ("\"libnvidia-compute-${B}\"=535.1", false, Some("libnvidia-compute-${B}")),
            ("/tmp/libnvidia-compute-${B}_${V}_amd64.deb", false, Some("libnvidia-compute-${B}")),
            ("libcudnn8=$V", false, Some("libcudnn8")),
            ("cuda-compat-12-4-$V", true, Some("cuda-compat-12-4")),
            ("cuda-compat-$V", true, Some("cuda-compat-$V")),
            ("cuda-compat-12-4-$V", false, Some("cuda-compat-12-4-$V")),
            ("$PACKAGES", false, None),
            ("$FOLDER/libcuda1.deb", false, Some("libcuda1")),
            ("/opt/$X", false, None),
            ("", false, None),
        ] {
            assert_eq!(partly(raw, rpm).as_deref(), expected, "{raw}");
        }
        for (word, expected) in
            [("a.deb", true), ("/x/a.rpm", true), ("https://a/b.rpm?x", true), ("a.deb.txt", false), ("rpm", false)]
        {
            assert_eq!(is_file(word), expected, "{word}");
        }
    }
}
