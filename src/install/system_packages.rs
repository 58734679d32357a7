//! `apt-get install`, `dnf install` and similar commands, and the names and versions of their packages.

use crate::build::{Command, Word};
use crate::install::effects::{InstallEffects, PackageInstall, RequirementFile};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::package::{PackageManager, PackageName, PackageVersion};

/// Options of apt that take the next word as their value.
const APT_OPTIONS_WITH_VALUE: &[&str] =
    &["-o", "--option", "-t", "--target-release", "--default-release", "-c", "--config-file"];
/// Options of RPM package managers that take the next word as their value.
const RPM_OPTIONS_WITH_VALUE: &[&str] = &[
    "-c",
    "-R",
    "-d",
    "-e",
    "-p",
    "-r",
    "-t",
    "-x",
    "--config",
    "--disableplugin",
    "--disablerepo",
    "--enableplugin",
    "--enablerepo",
    "--exclude",
    "--forcearch",
    "--from",
    "--installroot",
    "--plus-repo",
    "--releasever",
    "--repo",
    "--repoid",
    "--root",
    "--setopt",
    "--type",
];

/// Options with which nothing is installed.
const DRY_RUN_OPTIONS: &[&str] = &[
    "--download-only",
    "--downloadonly",
    "--simulate",
    "--just-print",
    "--dry-run",
    "--recon",
    "--no-act",
    "--print-uris",
    "--test",
];
/// Words in the names of packages that set up a repository or a container runtime.
const SETUP_PACKAGE_WORDS: &[&str] = &["container", "docker", "keyring", "repo"];
/// Letters of the apt options without a value.
const APT_FLAGS: &str = "yqfmuVbds";
/// Letters of the apt options with which nothing is installed.
const APT_DRY_RUN_FLAGS: &str = "ds";

/// Whether an option makes a command only simulate or download.
fn is_dry_run(text: &str, command: &Command) -> bool {
    let apt = command.program().is_some_and(|program| program.starts_with("apt"));
    let letters = text.strip_prefix('-').filter(|rest| rest.chars().all(|letter| APT_FLAGS.contains(letter)));
    DRY_RUN_OPTIONS.contains(&text)
        || (apt && letters.is_some_and(|rest| rest.contains(|letter| APT_DRY_RUN_FLAGS.contains(letter))))
}

/// Reads the effects of a system package manager from its arguments.
pub(super) fn read_arguments(
    program: &str,
    words: &[Word],
    (command, knowledge): (&Command, Knowledge),
    found: &mut InstallEffects,
) {
    if words.iter().filter_map(Word::known).any(|text| is_dry_run(text, command)) {
        return;
    }
    match program {
        "apt" | "apt-get" | "aptitude" => read_named_packages(words, false, (command, knowledge), found),
        "dpkg" | "rpm" => read_package_files(program == "rpm", words, (command, knowledge), found),
        _ => read_named_packages(words, true, (command, knowledge), found),
    }
}

/// Reads packages that are given by name: `apt-get install NAME …`, `dnf module install MODULE …`.
fn read_named_packages(
    words: &[Word],
    rpm: bool,
    (command, knowledge): (&Command, Knowledge),
    found: &mut InstallEffects,
) {
    let with_value = if rpm { RPM_OPTIONS_WITH_VALUE } else { APT_OPTIONS_WITH_VALUE };
    let (mut verb, mut module) = (None, false);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else {
            if verb.is_some() {
                add_unresolved_word(word, rpm, (command, knowledge), found);
            }
            continue;
        };
        if text.starts_with('-') {
            if with_value.contains(&text) {
                rest.next();
            }
            continue;
        }
        let Some(removes) = verb else {
            verb = match text {
                "module" if rpm => {
                    module = true;
                    None
                }
                "in" if rpm => Some(false),
                "rm" if rpm => Some(true),
                "install" | "reinstall" | "localinstall" => Some(false),
                "remove" | "purge" | "autoremove" | "erase" => Some(true),
                _ => return,
            };
            continue;
        };
        if is_32_bit_package(text, rpm) {
            continue;
        }
        if is_package_file(text) {
            add_package_file(text, removes, word, (command, knowledge), found);
        } else if !text.contains("://") && !text.starts_with(['.', '/', '~']) {
            add_named_package(text, (rpm, module), removes, word, command, found);
        }
    }
}

/// Adds a package that is given by name to the installed or removed ones.
fn add_named_package(
    text: &str,
    (rpm, module): (bool, bool),
    removes: bool,
    word: &Word,
    command: &Command,
    found: &mut InstallEffects,
) {
    let spec = match (rpm, module && !text.starts_with('@')) {
        (false, _) => Some(parse_apt_package(text)),
        (true, false) => parse_rpm_package(text),
        (true, true) => parse_rpm_package(&format!("@{text}")),
    };
    let Some((name, version)) = spec else { return };
    let dropped = name.strip_suffix('-').filter(|_| !removes && !rpm);
    if removes || dropped.is_some() {
        found.removed.push((PackageManager::System, PackageName::system(dropped.unwrap_or(&name)), word.span));
    } else {
        add_system_package(&name, version, word, command, found);
    }
}

/// Reads packages that are given by file: `dpkg -i FILE …`, `rpm -Uvh FILE …`, and their removals.
fn read_package_files(
    rpm: bool,
    words: &[Word],
    (command, knowledge): (&Command, Knowledge),
    found: &mut InstallEffects,
) {
    let (mut installs, mut removes) = (false, false);
    for text in words.iter().filter_map(Word::known).filter(|text| text.starts_with('-')) {
        // Into the root of another system.
        if text.starts_with("--root") || text.starts_with("--instdir") {
            return;
        }
        let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-')).unwrap_or_default();
        if rpm {
            let asks = letters.contains(['q', 'V', 'K']);
            installs |= matches!(text, "--install" | "--upgrade") || (letters.contains(['i', 'U']) && !asks);
            removes |= text == "--erase" || (letters.contains('e') && !asks);
        } else {
            installs |= matches!(text, "--install" | "--unpack") || letters.starts_with('i');
            removes |= matches!(text, "--remove" | "--purge" | "-r" | "-P");
        }
    }
    for word in words {
        match word.known() {
            Some(text) if text.starts_with('-') || is_32_bit_package(text, rpm) => {}
            None if installs => add_unresolved_word(word, rpm, (command, knowledge), found),
            Some(text) if installs && is_package_file(text) => {
                add_package_file(text, false, word, (command, knowledge), found);
            }
            Some(text) if removes => add_named_package(text, (rpm, false), true, word, command, found),
            _ => {}
        }
    }
}

/// Adds the package in a package file.
fn add_package_file(
    text: &str,
    removes: bool,
    word: &Word,
    (command, knowledge): (&Command, Knowledge),
    found: &mut InstallEffects,
) {
    match parse_package_file_name(text) {
        _ if removes => {}
        Some((name, version)) => add_system_package(&name, version, word, command, found),
        None => {
            let name = text.rsplit('/').next().unwrap_or(text);
            let is_setup_package = SETUP_PACKAGE_WORDS.iter().any(|what| name.contains(what));
            if !is_setup_package && knowledge.may_contain_libraries(&name.to_ascii_lowercase()) {
                found.files.push(RequirementFile {
                    path: word.value.clone(),
                    constraint: false,
                    extras: Vec::new(),
                    span: word.span,
                    why: Some(Cause::PackageNotNamed),
                });
            }
        }
    }
}

/// Adds a word that is partly unknown, as a package if its name is known.
fn add_unresolved_word(
    word: &Word,
    rpm: bool,
    (command, knowledge): (&Command, Knowledge),
    found: &mut InstallEffects,
) {
    let name = partly_known_name(&word.raw, rpm);
    let whole = name.as_ref().is_some_and(|name| !name.contains(['$', '`']));
    if let Some(name) = name.filter(|name| whole || knowledge.may_contain_libraries(name)) {
        add_system_package(&name, PackageVersion::behind_variable(), word, command, found);
    }
    if !whole {
        found.unresolved.push((word.value.clone(), word.span));
    }
}

/// Adds a system package to the installed ones.
pub(super) fn add_system_package(
    name: &str,
    version: PackageVersion,
    word: &Word,
    command: &Command,
    found: &mut InstallEffects,
) {
    let install = PackageInstall::new(PackageManager::System, PackageName::system(name), version, word.span);
    found.packages.push(PackageInstall { conditional: command.conditional, ..install });
}

/// Architectures that a package name may end in, after a dot or a colon.
const ARCHITECTURES: &[&str] = &["aarch64", "amd64", "arm64", "i386", "i586", "i686", "noarch", "x86_64"];
/// Architectures of 32-bit programs, whose libraries 64-bit programs cannot load.
const ARCHITECTURES_32_BIT: &[&str] = &["i386", "i486", "i586", "i686", "armhf", "armel", "armv7hl"];
/// File extension of Debian packages.
const DEB_SUFFIX: &str = ".deb";
/// File extension of RPM packages.
const RPM_SUFFIX: &str = ".rpm";
/// Profile of a module that contains only sources.
const SOURCE_PROFILE: &str = "src";

/// The name and the requested version of a package for a system package manager.
type NamedVersion = (String, PackageVersion);

/// Whether a word is the path or URL of a system package file.
pub fn is_package_file(word: &str) -> bool {
    let word = without_query(word);
    word.ends_with(DEB_SUFFIX) || word.ends_with(RPM_SUFFIX)
}

/// Whether a word requests a 32-bit package: `libnvidia-compute-535:i386`, `nvidia-driver-libs.i686`.
fn is_32_bit_package(word: &str, rpm: bool) -> bool {
    let word = without_query(word);
    let narrow = |rest: &str| ARCHITECTURES_32_BIT.contains(&rest);
    let (deb, of_rpm) = (word.strip_suffix(DEB_SUFFIX), word.strip_suffix(RPM_SUFFIX));
    let behind = |word: &str, sign: char| word.rsplit_once(sign).is_some_and(|(_, last)| narrow(last));
    match (deb, of_rpm) {
        (Some(stem), _) => behind(stem, '_'),
        (None, Some(stem)) => behind(stem, '.'),
        (None, None) if rpm => behind(word, '.'),
        (None, None) => behind(word.split(['=', '/']).next().unwrap_or(word).trim_end_matches(['+', '-']), ':'),
    }
}

/// Returns the package name in a word with a variable: `cuda-drivers-$BRANCH`, or for RPM `cuda-compat-12-4` of
/// `cuda-compat-12-4-$VERSION`. `None` if the word begins with the variable.
fn partly_known_name(raw: &str, rpm: bool) -> Option<String> {
    let plain: String = raw.chars().filter(|c| !matches!(c, '"' | '\'')).collect();
    let word = plain.split_whitespace().next()?;
    let word = if is_package_file(word) { word.rsplit('/').next()?.split('_').next()? } else { word };
    let word = word.trim_end_matches(RPM_SUFFIX).trim_end_matches(DEB_SUFFIX);
    let (name, _) = word.split_once(['=', '<', '>']).unwrap_or((word, ""));
    let literal = name.split(['$', '`']).next().filter(|literal| !literal.is_empty() && !literal.contains('/'))?;
    let whole =
        literal.strip_suffix('-').filter(|whole| rpm && whole.rsplit('-').next().is_some_and(starts_with_digit));
    Some(whole.unwrap_or(name).to_owned())
}

/// Parses a package argument of apt: `NAME=VERSION`, `NAME:ARCH` or `NAME/RELEASE`.
fn parse_apt_package(word: &str) -> NamedVersion {
    let (name, version) = word.split_once('=').map_or((word, None), |(name, version)| (name, Some(version)));
    let name = name.split(['/', ':']).next().unwrap_or(name);
    (name.to_owned(), version.map_or_else(PackageVersion::any, parse_version))
}

/// Parses a package argument of dnf, yum or zypper, such as `NAME-VERSION-RELEASE.ARCH`; `None` for a module with
/// only sources.
fn parse_rpm_package(word: &str) -> Option<NamedVersion> {
    if let Some(compared) = parse_comparison(word) {
        return Some(compared);
    }
    if let Some((module, profile)) = word.strip_prefix('@').map(|group| group.split_once('/').unwrap_or((group, ""))) {
        return (profile != SOURCE_PROFILE).then(|| (module.to_owned(), PackageVersion::any()));
    }
    let word = without_architecture(word);
    let (epoch, rest) = word.split_once(':').unwrap_or(("", word));
    let word = if !epoch.is_empty() && is_all_digits(epoch) { rest } else { word };
    Some(split_name_and_version(word).map_or_else(
        || (word.to_owned(), PackageVersion::any()),
        |(name, version)| (name.to_owned(), parse_version(version)),
    ))
}

/// Parses the file name of a package: `libcuda1_550.54.14-1_amd64.deb`, `cuda-compat-12-4-550.54.14-1.x86_64.rpm`.
fn parse_package_file_name(word: &str) -> Option<NamedVersion> {
    let name = without_query(word).rsplit('/').next()?;
    let name = name.replace("%2B", "+").replace("%2b", "+").replace("%3A", ":").replace("%3a", ":");
    if let Some(stem) = name.strip_suffix(DEB_SUFFIX) {
        let mut parts = stem.split('_');
        let (name, version) = (parts.next()?, parts.next()?);
        let plain = !name.is_empty() && !name.contains(['*', '?', '[']) && starts_with_digit(version);
        return plain.then(|| (name.to_owned(), parse_version(version)));
    }
    let stem = without_architecture(name.strip_suffix(RPM_SUFFIX)?);
    let (name, version) = split_name_and_version(stem).filter(|(name, _)| !name.contains(['*', '?', '[']))?;
    Some((name.to_owned(), parse_version(version)))
}

/// Parses `NAME = VERSION` as zypper and rpm do; other operators make a version range.
fn parse_comparison(word: &str) -> Option<NamedVersion> {
    let at = word.find(['<', '>', '='])?;
    let (name, rest) = word.split_at_checked(at)?;
    let version = rest.trim_start_matches(['<', '>', '=']);
    let exact = rest.starts_with('=');
    let version = if exact { parse_version(version.trim()) } else { PackageVersion::range(rest) };
    Some((without_architecture(name.trim()).to_owned(), version))
}

/// Parses the version of a package, without its epoch.
fn parse_version(version: &str) -> PackageVersion {
    let (epoch, rest) = version.split_once(':').unwrap_or(("", version));
    let version = if !epoch.is_empty() && is_all_digits(epoch) { rest } else { version };
    if version.contains('*') { PackageVersion::range(version) } else { PackageVersion::exact(version) }
}

/// Splits `NAME-VERSION-RELEASE` or `NAME-VERSION` into name and version; `None` if there is no version.
///
/// A name such as cuda-compat-12-4 ends in numbers itself, so a version has to have a dot or a star.
fn split_name_and_version(word: &str) -> Option<(&str, &str)> {
    let (head, last) = word.rsplit_once('-')?;
    if let Some((name, version)) = head.rsplit_once('-')
        && is_version(version)
        && starts_with_digit(last)
    {
        return Some((name, word.get(name.len() + 1..)?));
    }
    is_version(last).then_some((head, last))
}

/// Whether a text is a version with a dot or a star: `3:550.54.14`, `12.4.*`.
fn is_version(text: &str) -> bool {
    let text = text.split_once(':').map_or(text, |(_, version)| version);
    starts_with_digit(text) && text.contains(['.', '*']) && !text.ends_with('.')
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
}

/// Whether a text consists only of digits.
fn is_all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns a package name without its architecture.
fn without_architecture(word: &str) -> &str {
    match word.rsplit_once('.') {
        Some((rest, last)) if ARCHITECTURES.contains(&last) => rest,
        _ => word,
    }
}

/// Returns a URL without its query and fragment; any other word unchanged.
fn without_query(word: &str) -> &str {
    let of_address = word.contains("://");
    word.split(['?', '#']).next().filter(|_| of_address).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format_spec(named: Option<NamedVersion>) -> String {
        match named {
            None => "nothing".to_owned(),
            Some((name, PackageVersion::Exact(version))) => format!("{name} {version}"),
            Some((name, PackageVersion::Range(range))) if !range.is_any() => {
                format!("{name} in {range}")
            }
            Some((name, _)) => name,
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
            assert_eq!(format_spec(parse_rpm_package(word)), expected, "{word}");
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
            assert_eq!(format_spec(Some(parse_apt_package(word))), expected, "{word}");
        }
    }

    #[test]
    fn packages_of_32_bits_are_recognised() {
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
            assert_eq!(is_32_bit_package(word, rpm), expected, "{word}");
        }
    }

    #[test]
    fn file_names_contain_package_and_version() {
        for (word, expected) in [
            ("./libnvidia-compute-535_535.183.01-0ubuntu1_amd64.deb", "libnvidia-compute-535 535.183.01-0ubuntu1"),
            ("/tmp/cuda-compat-12-4_550.54.15-1_amd64.deb", "cuda-compat-12-4 550.54.15-1"),
            ("libcuda1_1%3A550.54.14-1_amd64.deb", "libcuda1 550.54.14-1"),
            ("libcuda1_550.*_amd64.deb", "libcuda1 in 550.*"),
            ("https://a.b/x/cuda-compat-12-4-550.54.14-1.x86_64.rpm?c=1", "cuda-compat-12-4 550.54.14-1"),
            ("cuda-cudart-11-8-11.8.89-1.x86_64.rpm", "cuda-cudart-11-8 11.8.89-1"),
            ("cuda-keyring_1.1-1_all.deb", "cuda-keyring 1.1-1"),
            // These give no information.
            ("nvidia.deb", "nothing"),
            ("cuda-12-4.rpm", "nothing"),
            ("libnvidia-compute-*.deb", "nothing"),
            ("libnvidia-*_535.183.01_amd64.deb", "nothing"),
            ("*.rpm", "nothing"),
            ("*-550.54.14-1.x86_64.rpm", "nothing"),
            ("driver_latest_amd64.deb", "nothing"),
            ("x.txt", "nothing"),
        ] {
            assert_eq!(format_spec(parse_package_file_name(word)), expected, "{word}");
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
            assert_eq!(partly_known_name(raw, rpm).as_deref(), expected, "{raw}");
        }
        for (word, expected) in
            [("a.deb", true), ("/x/a.rpm", true), ("https://a/b.rpm?x", true), ("a.deb.txt", false), ("rpm", false)]
        {
            assert_eq!(is_package_file(word), expected, "{word}");
        }
    }
}
