//! Package indexes, link pages and uv's torch backends, which determine the builds that a command can choose from.
//!
//! Settings come from the command, its variables, `uv.toml` of the project, the user and the system, and `[tool.uv]`
//! of a `pyproject.toml` (docs.astral.sh/uv/concepts/configuration-files).

use std::sync::Arc;

use crate::build::{Command, Word};
use crate::dockerfile::{ExpandedText, VariableLookup};
use crate::install::context::{CommandContext, OpenedFile};
use crate::install::effects::{BuildVariant, FindLinksFolders, PackageInstall, VariantSource};
use crate::install::lenient_toml;
use crate::install::lenient_toml::{
    SpannedTomlValue, TomlFile, TomlTable, list_at, table_at, tables_at, text_at, value_at, value_span,
};
use crate::install::requirement::{
    PrereleaseKind, is_build_tag, is_default_index, prerelease_kind_of_url, resolve_address, serves_every_build,
    tag_below_folder, tag_of_url,
};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::package::{IndexSelection, PackageVersion};
use crate::text::source::{SourceId, Span};

/// Paths of the configuration files of pip.
pub(super) const PIP_CONFIG_FILES: &[&str] =
    &["/etc/pip.conf", "/etc/xdg/pip/pip.conf", "/root/.config/pip/pip.conf", "/root/.pip/pip.conf", "/usr/pip.conf"];

/// The value of an option, or why it is unknown, and where it is written.
pub(super) type OptionValue = (Result<String, Cause>, Span);

/// The address of an index or a link page, the build that it serves, and where it is written.
#[derive(Clone, Debug)]
pub(super) struct IndexAddress {
    /// Why the address is unknown.
    unknown_cause: Option<Cause>,
    /// The build tag in the address.
    tag: Option<String>,
    /// Whether it serves all builds of every version.
    every: bool,
    /// The kind of pre-release that it serves.
    prerelease_kind: Option<PrereleaseKind>,
    /// Whether it is the default index or a mirror of that.
    usual: bool,
    /// The local folder that it refers to; `None` if it is on the network.
    folder: Option<String>,
    /// The address as written; empty if unknown.
    url: String,
    span: Span,
    source: Option<SourceId>,
}

impl IndexAddress {
    /// Creates an index address from a known URL or path.
    pub(super) fn new(url: &str, span: Span, source: Option<SourceId>) -> Self {
        let (tag, every, prerelease_kind) = (tag_of_url(url), serves_every_build(url), prerelease_kind_of_url(url));
        Self {
            unknown_cause: None,
            tag,
            every,
            prerelease_kind,
            usual: is_default_index(url),
            folder: local_folder(url),
            url: url.to_owned(),
            span,
            source,
        }
    }

    /// Creates an index address from the value of an option; drops the name that uv allows in `name=https://…`.
    pub(super) fn from_option((address, span): OptionValue, source: Option<SourceId>) -> Self {
        match address {
            Ok(url) => match url.split_once("=http") {
                Some((_, rest)) => Self::new(&format!("http{rest}"), span, source),
                None => Self::new(&url, span, source),
            },
            Err(reason) => Self { unknown_cause: Some(reason), ..Self::new("", span, source) },
        }
    }

    /// Returns the address as an index of a distribution with its own wheel folders, without the layout of torch's
    /// index.
    fn with_tag_folders(&self, folders: &[&str]) -> Self {
        Self { tag: tag_below_folder(&self.url, folders), every: false, prerelease_kind: None, ..self.clone() }
    }

    /// Whether the index may serve a version.
    fn may_serve(&self, version: &PackageVersion) -> bool {
        match version {
            PackageVersion::Exact(version) if version.is_prerelease() => self.prerelease_kind.is_some(),
            PackageVersion::Exact(_) => self.prerelease_kind != Some(PrereleaseKind::Nightly),
            PackageVersion::Range(_) | PackageVersion::Unresolved(_) => true,
        }
    }
}

/// The sources that an installer searches for packages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SearchSources {
    /// Indexes and link pages.
    #[default]
    Indexes,
    /// Only link pages and folders, as with `--no-index`.
    Links,
}

/// The index options of a command, its files and its environment.
#[derive(Clone, Debug, Default)]
pub(super) struct IndexOptions {
    /// The index that replaces the default one.
    pub(super) index: Option<IndexAddress>,
    /// Extra indexes.
    pub(super) extra: Vec<IndexAddress>,
    /// Link pages and folders (`--find-links`).
    pub(super) links: Vec<IndexAddress>,
    /// The torch backend of uv.
    pub(super) backend: Option<OptionValue>,
    /// The sources that are searched.
    pub(super) sources: SearchSources,
    /// Whether the first index that has a distribution is used, as by uv; pip uses the best version of all.
    pub(super) first_index: bool,
    /// Whether pre-releases are allowed.
    pub(super) allow_prereleases: bool,
    /// Options on installed versions and dependencies.
    pub(super) resolution: ResolutionOptions,
}

/// Options on versions that are already installed, and on dependencies.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command")]
pub(super) struct ResolutionOptions {
    /// Whether a version that is already installed is replaced.
    pub(super) upgrade: bool,
    /// Whether even the same version is installed again.
    pub(super) reinstall: bool,
    /// Whether an upgrade takes the newest version of every dependency (`--upgrade-strategy eager`).
    pub(super) eager: bool,
    /// Whether dependencies are not installed (`--no-deps`).
    pub(super) no_deps: bool,
}

impl IndexOptions {
    /// Returns the options as they apply to a distribution with its own wheel folders.
    fn with_tag_folders(&self, folders: &[&str]) -> Self {
        let all = |list: &[IndexAddress]| list.iter().map(|address| address.with_tag_folders(folders)).collect();
        let index = self.index.as_ref().map(|address| address.with_tag_folders(folders));
        Self { index, extra: all(&self.extra), links: all(&self.links), backend: None, ..self.clone() }
    }

    /// Fills unset options from environment variables, and for uv from its configuration files.
    pub(super) fn apply_environment(&mut self, uv: bool, command: &Command, context: &CommandContext<'_>) {
        let raw_variable = |name: &str| command_variable(name, command, context);
        let variable = |name: &str| raw_variable(name).and_then(|value| value.known_text().map(str::to_owned));
        let places = |names: &[&str]| -> Vec<IndexAddress> {
            let given = match names.iter().find_map(|name| raw_variable(name)) {
                Some(ExpandedText::Known { value, .. }) => {
                    value.split_whitespace().map(|url| Ok(url.to_owned())).collect()
                }
                Some(ExpandedText::Unresolved { reason, .. }) => vec![Err(*reason)],
                None => Vec::new(),
            };
            given.into_iter().map(|address| IndexAddress::from_option((address, command.span), None)).collect()
        };
        let (index, extra, links): (&[&str], &[&str], &[&str]) = if uv {
            (&["UV_DEFAULT_INDEX", "UV_INDEX_URL"], &["UV_INDEX", "UV_EXTRA_INDEX_URL"], &["UV_FIND_LINKS"])
        } else {
            (&["PIP_INDEX_URL"], &["PIP_EXTRA_INDEX_URL"], &["PIP_FIND_LINKS"])
        };
        self.index = self.index.take().or_else(|| places(index).into_iter().next());
        if self.extra.is_empty() {
            self.extra = places(extra);
        }
        if self.links.is_empty() {
            self.links = places(links);
        }
        if uv {
            let backend = || raw_variable("UV_TORCH_BACKEND").map(|tag| (resolve_address(&tag, ""), command.span));
            self.backend = self.backend.take().or_else(backend);
            self.allow_prereleases |= variable("UV_PRERELEASE").is_some_and(|strategy| strategy == "allow");
            let strategy = variable("UV_INDEX_STRATEGY");
            self.first_index &= strategy.is_none_or(|strategy| strategy == "first-index");
        } else {
            self.allow_prereleases |= variable("PIP_PRE").is_some_and(|value| is_true(&value));
            let is_set = |name: &str| variable(name).is_some_and(|value| is_true(&value));
            self.resolution.no_deps |= is_set("PIP_NO_DEPS");
            self.resolution.upgrade |= is_set("PIP_UPGRADE");
            self.resolution.reinstall |= is_set("PIP_FORCE_REINSTALL") || is_set("PIP_IGNORE_INSTALLED");
            self.resolution.eager |= variable("PIP_UPGRADE_STRATEGY").as_deref() == Some("eager");
        }
        if uv {
            read_uv_config(command, context, self);
        }
        if variable(if uv { "UV_NO_INDEX" } else { "PIP_NO_INDEX" }).is_some_and(|value| is_true(&value)) {
            self.sources = SearchSources::Links;
        }
    }

    /// Adds an extra index that is not named by the command, unless it is present already.
    fn add_extra_index(&mut self, address: IndexAddress) {
        if !self.extra.iter().any(|own| (own.span, own.source) == (address.span, address.source)) {
            self.extra.push(address);
        }
    }

    /// Fills options that are still unset from a configuration file of pip.
    pub(super) fn apply_pip_config(&mut self, opened: &OpenedFile) {
        let mut section = "";
        let mut key = "";
        let (index_open, extra_open, links_open) = (self.index.is_none(), self.extra.is_empty(), self.links.is_empty());
        let text = opened.text.text();
        let mut at = 0;
        for raw in text.split_inclusive('\n') {
            let start = at;
            at += raw.len();
            let line = raw.trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_end_matches(']');
                continue;
            }
            let value = if raw.starts_with([' ', '\t']) {
                line
            } else {
                let Some((name, value)) = line.split_once('=').or_else(|| line.split_once(':')) else { continue };
                key = name.trim();
                value.trim()
            };
            if !matches!(section, "global" | "install") {
                continue;
            }
            let span = opened.text.source_span(start..start + raw.trim_end().len());
            for url in value.split_whitespace() {
                let address = IndexAddress::new(url, span, opened.source);
                match key {
                    "index-url" | "index_url" if index_open => self.index = Some(address),
                    "extra-index-url" | "extra_index_url" if extra_open => self.extra.push(address),
                    "find-links" | "find_links" if links_open => self.links.push(address),
                    "pre" => self.allow_prereleases |= is_true(url),
                    "no-index" | "no_index" if is_true(url) => self.sources = SearchSources::Links,
                    _ => {}
                }
            }
        }
    }

    /// Records a configuration file that exists but was not read, which makes an unset main index unknown.
    pub(super) fn add_unread_config(&mut self, path: &str, why: Cause, span: Span) {
        if self.index.is_none() && self.sources == SearchSources::Indexes {
            let reason = Cause::IndexSettingsNotRead { path: path.to_owned(), because: Box::new(why) };
            self.index = Some(IndexAddress::from_option((Err(reason), span), None));
        }
    }

    /// Returns the folders that are searched for wheels.
    pub(super) fn link_folders(&self) -> FindLinksFolders {
        let named = self.links.iter().filter_map(|address| address.folder.clone()).collect();
        FindLinksFolders { named, exclusive: self.sources == SearchSources::Links }
    }

    /// Whether only the default index is used.
    pub(super) fn is_default(&self) -> bool {
        let named = self.index.is_some() || !self.extra.is_empty() || !self.links.is_empty() || self.backend.is_some();
        !named && !self.allow_prereleases && self.sources == SearchSources::Indexes
    }

    /// Sets the builds that a package is chosen from.
    pub(super) fn choose_builds(&self, package: &mut PackageInstall, knowledge: Knowledge) {
        package.requirement.upgrade |= self.resolution.upgrade || self.resolution.reinstall;
        package.requirement.no_deps |= self.resolution.no_deps;
        let without = self.without_project_pages(&package.requirement.name, knowledge);
        if let Some(indexes) = without {
            return indexes.choose_builds(package, knowledge);
        }
        let own = knowledge.project_indexes(&package.requirement.name);
        if !own.is_empty() && package.variant.is_none() && !is_outside_indexes(package) {
            self.with_tag_folders(own).choose_from_indexes(package);
        } else if package.variant.is_none() && !is_outside_indexes(package) {
            match self.undetermined_link_page(&package.requirement.name, knowledge) {
                Some(page) => {
                    package.requirement.indexes =
                        IndexSelection::Unknown(Cause::WheelPageNotRead { page: page.to_owned() });
                }
                None => self.choose_from_indexes(package),
            }
            package.requirement.prerelease =
                package.requirement.prerelease.take().or_else(|| self.prerelease_cause(package));
            // The dependencies of other packages are chosen from the same indexes.
            if !knowledge.has_build_index(&package.requirement.name) {
                package.variant = None;
            }
        } else if has_explicit_build(package) && !knowledge.has_variants(&package.requirement.name) {
            // The version names the build; the dependencies are still chosen from the indexes.
            let version = match &package.requirement.version {
                PackageVersion::Exact(version) => PackageVersion::Exact(version.without_local()),
                version => version.clone(),
            };
            let mut without_build = PackageInstall { variant: None, ..package.clone() }.with_version(version);
            self.choose_from_indexes(&mut without_build);
            package.requirement.indexes = without_build.requirement.indexes;
        }
    }

    /// Returns the options without the indexes that serve only the wheels of one other project; `None` if there are
    /// none.
    fn without_project_pages(&self, name: &str, knowledge: Knowledge) -> Option<Self> {
        let extension =
            knowledge.has_build_index(name) && !knowledge.has_variants(name) && !knowledge.is_built_with_torch(name);
        let own = |address: &IndexAddress| knowledge.is_project_page(&address.url);
        if extension || !self.index.iter().chain(&self.extra).any(own) {
            return None;
        }
        let extra: Vec<IndexAddress> = self.extra.iter().filter(|address| !own(address)).cloned().collect();
        let project_index = |address: &IndexAddress| IndexAddress {
            unknown_cause: Some(Cause::IndexOfOneProject),
            url: String::new(),
            ..address.clone()
        };
        let index = match &self.index {
            Some(address) if own(address) => Some(project_index(address)).filter(|_| extra.is_empty()),
            index => index.clone(),
        };
        Some(Self { index, extra, ..self.clone() })
    }

    /// Returns the URL of a link page of which it is unknown which builds of a distribution it serves.
    fn undetermined_link_page(&self, name: &str, knowledge: Knowledge) -> Option<&str> {
        if !knowledge.has_build_index(name) || self.backend.is_some() {
            return None;
        }
        let torch = knowledge.has_variants(name);
        let silent = |address: &&IndexAddress| address.tag.is_none() && address.prerelease_kind.is_none();
        let page = |address: &&IndexAddress| {
            address.folder.is_none() && address.unknown_cause.is_none() && !address.every && !address.usual
        };
        let other_project =
            |address: &&IndexAddress| torch && silent(address) && knowledge.is_project_page(&address.url);
        let mut pages = self.links.iter().filter(page).filter(|address| !other_project(address));
        let page = pages.find(|address| silent(address) || (torch && is_torch_extension_page(&address.url)))?;
        Some(&page.url)
    }

    /// Sets the builds of a package by the torch backend, the indexes and the link pages.
    fn choose_from_indexes(&self, package: &mut PackageInstall) {
        if let Some((backend, span)) = &self.backend {
            package.requirement.indexes = match backend {
                Ok(backend) if is_build_tag(backend) => {
                    return restrict_to_index(package, backend, VariantSource::TorchBackend, *span, None);
                }
                Ok(backend) => IndexSelection::Unknown(Cause::BackendByMachine { backend: backend.clone() }),
                Err(reason) => IndexSelection::Unknown(Cause::BackendNotKnown { because: Box::new(reason.clone()) }),
            };
            return;
        }
        if let Some(reason) = self.unknown_index_cause() {
            package.requirement.indexes =
                IndexSelection::Unknown(Cause::IndexNotKnown { because: Box::new(reason.clone()) });
            return;
        }
        if self.sources == SearchSources::Links {
            let mut tags = self.links.iter().map(|address| address.tag.as_ref());
            let one = tags.next().flatten().filter(|first| tags.all(|tag| tag == Some(*first)));
            return match (one, self.links.first()) {
                (Some(tag), Some(address)) => {
                    restrict_to_index(package, tag, VariantSource::FindLinks, address.span, address.source);
                }
                _ => package.requirement.indexes = IndexSelection::Unknown(Cause::NoIndex),
            };
        }
        let whole = self.extra.iter().chain(&self.links).chain(&self.index).any(|address| address.every);
        if whole && package.requirement.version.local().is_none() {
            package.requirement.indexes = IndexSelection::Unknown(Cause::SeveralBuilds);
            return;
        }
        let counts = |address: &&IndexAddress| address.may_serve(&package.requirement.version);
        let tagged = |list: &[IndexAddress]| {
            list.iter().filter(|address| address.tag.is_some()).filter(counts).cloned().collect::<Vec<_>>()
        };
        let (extra, links) = (tagged(&self.extra), tagged(&self.links));
        let index = self.index.as_ref().filter(|address| address.tag.is_some());
        let usual = self.extra.iter().position(|address| address.usual);
        let only_index = match (self.first_index, usual) {
            (true, Some(at)) => self.extra.iter().take(at).find(|address| address.tag.is_some()),
            (true, None) => extra.first().or(index),
            (false, Some(_)) => None,
            (false, None) => index.filter(|_| extra.is_empty()),
        };
        if let Some(address) = only_index
            && let Some(tag) = &address.tag
        {
            if !address.may_serve(&package.requirement.version) {
                package.requirement.indexes = IndexSelection::Unknown(Cause::NightliesOnly);
                return;
            }
            let from = if extra.is_empty() { VariantSource::IndexUrl } else { VariantSource::ExtraIndex };
            let pinned = package.requirement.version.is_exact();
            package.requirement.prerelease = address
                .prerelease_kind
                .filter(|_| !pinned)
                .map(|kind| Cause::IndexHasPrereleases { kind: kind.plural_name().to_owned() });
            return restrict_to_index(package, tag, from, address.span, address.source);
        }
        if self.first_index && usual.is_some() {
            return;
        }
        let mut candidates: Vec<&IndexAddress> = extra.iter().chain(&links).chain(index.filter(counts)).collect();
        if let Some(kind) =
            candidates.iter().find_map(|address| self.newer_prerelease(address, &package.requirement.version))
        {
            package.requirement.indexes =
                IndexSelection::Unknown(Cause::NewerInExtraIndex { kind: kind.plural_name().to_owned() });
            return;
        }
        candidates.retain(|address| {
            address.prerelease_kind != Some(PrereleaseKind::Nightly)
                || is_exact_prerelease(&package.requirement.version)
        });
        candidates.sort_by(|a, b| b.tag.cmp(&a.tag));
        let Some(best) = candidates.first() else { return };
        package.requirement.indexes =
            IndexSelection::DefaultAndExtra(candidates.iter().filter_map(|address| address.tag.clone()).collect());
        if let (PackageVersion::Exact(_), Some(tag)) = (&package.requirement.version, &best.tag) {
            let from = if extra.is_empty() { VariantSource::FindLinks } else { VariantSource::ExtraIndex };
            package.variant = Some(BuildVariant { tag: tag.clone(), from, span: best.span, source: best.source });
        }
    }

    /// Returns why a relevant index is unknown; with uv, indexes after the first sufficient one are not relevant.
    fn unknown_index_cause(&self) -> Option<&Cause> {
        let is_searched = |address: &&IndexAddress| !self.first_index || (address.tag.is_none() && !address.usual);
        let indexes = self
            .extra
            .iter()
            .chain(&self.index)
            .filter(|_| self.sources == SearchSources::Indexes)
            .take_while(is_searched);
        indexes.chain(&self.links).find_map(|address| address.unknown_cause.as_ref())
    }

    /// Returns why the version of any unpinned package is unknown: no index is searched.
    pub(super) fn unknown_version_cause(&self) -> Option<Cause> {
        let has_known_builds = |address: &IndexAddress| address.tag.is_some() || address.every;
        (self.sources == SearchSources::Links && !self.links.iter().any(has_known_builds)).then_some(Cause::NoIndex)
    }

    /// Returns the kind of pre-release of an extra index that may be newer than every release of the default index.
    fn newer_prerelease(&self, address: &IndexAddress, version: &PackageVersion) -> Option<PrereleaseKind> {
        let kind = address.prerelease_kind?;
        let allowed = match version {
            PackageVersion::Exact(_) => return None,
            PackageVersion::Range(range) => self.allow_prereleases || range.names_prerelease(),
            PackageVersion::Unresolved(_) => self.allow_prereleases,
        };
        // A candidate is written as the release that it may become, which no option has to allow.
        (allowed || kind == PrereleaseKind::Candidate).then_some(kind)
    }

    /// Returns why a package of the default index may be a pre-release.
    fn prerelease_cause(&self, package: &PackageInstall) -> Option<Cause> {
        let open = !package.requirement.version.is_exact() && package.requirement.indexes == IndexSelection::Default;
        (open && self.allow_prereleases).then_some(Cause::PreReleasesAllowed)
    }
}

/// Returns the local folder that a `--find-links` address refers to; `None` if it is on the network.
fn local_folder(url: &str) -> Option<String> {
    let path = url.strip_prefix("file://").unwrap_or(url);
    (!path.contains("://") && !path.is_empty()).then(|| path.to_owned())
}

/// Whether a page serves extensions built for one torch release: `…/torch-2.4.0+cu121.html`,
/// `…/cu113/torch1.10/index.html`.
fn is_torch_extension_page(url: &str) -> bool {
    let mut parts = url.split('/');
    parts.any(|part| {
        let rest = part.strip_prefix("torch").map(|rest| rest.trim_start_matches('-'));
        rest.is_some_and(|rest| rest.starts_with(|sign: char| sign.is_ascii_digit()))
    })
}

/// Returns the value of an environment variable for a command; `None` if nothing known sets it.
pub(super) fn command_variable(name: &str, command: &Command, context: &CommandContext<'_>) -> Option<ExpandedText> {
    if let Some(value) = command.variable(name) {
        return Some(value.clone());
    }
    match (context.lookup)(name) {
        VariableLookup::Known(value, origins) => Some(ExpandedText::Known { value, origins }),
        // Of what only the base image could set, it sets none.
        VariableLookup::Unset | VariableLookup::NoValue | VariableLookup::Unknown(_, Cause::SetNowhere) => None,
        VariableLookup::Unknown(names, Cause::OnlyBaseSets) if names == [name] => None,
        VariableLookup::Unknown(names, reason) => Some(ExpandedText::unresolved(names, reason)),
    }
}

/// Whether the version or the URL of a package determines its build.
fn has_explicit_build(package: &PackageInstall) -> bool {
    let from = package.variant.as_ref().map(|variant| variant.from);
    matches!(from, Some(VariantSource::LocalVersion | VariantSource::WheelUrl))
}

/// Whether a package is built from sources or comes from a URL, so that no index serves its build.
fn is_outside_indexes(package: &PackageInstall) -> bool {
    matches!(
        package.requirement.indexes,
        IndexSelection::Unknown(
            Cause::OutsideIndex { .. } | Cause::BuiltFromSources { .. } | Cause::ArchiveNotKnown { .. }
        )
    )
}

/// Whether an exact version is requested that is a pre-release.
fn is_exact_prerelease(version: &PackageVersion) -> bool {
    matches!(version, PackageVersion::Exact(version) if version.is_prerelease())
}

/// Whether a file that was not read exists nevertheless.
pub(super) fn exists_unread(why: &Cause) -> bool {
    matches!(why, Cause::NotInContext | Cause::BuildSecret)
}

/// Whether pip reads the value of a switch as true.
fn is_true(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on" | "y" | "t")
}

/// Restricts a package to the builds of one index.
fn restrict_to_index(
    package: &mut PackageInstall,
    tag: &str,
    from: VariantSource,
    span: Span,
    source: Option<SourceId>,
) {
    package.requirement.indexes = IndexSelection::Only(tag.to_owned());
    package.variant = Some(BuildVariant { tag: tag.to_owned(), from, span, source });
}

/// Folders that are searched for the configuration of a project: the working directory and its parents.
const PROJECT_FOLDERS: &[&str] = &["", "../", "../../", "../../../"];
/// Configuration files of the user and of the system, in order of precedence.
const USER_AND_SYSTEM_FILES: &[&str] = &["/root/.config/uv/uv.toml", "/etc/uv/uv.toml"];

/// A configuration file, and the table in it that contains the settings.
struct UvConfigFile {
    opened: OpenedFile,
    root: Arc<TomlFile>,
    /// Keys of the table with the settings; empty for the whole file.
    within: &'static [&'static str],
}

impl UvConfigFile {
    /// Parses a configuration file.
    fn new(opened: OpenedFile, within: &'static [&'static str]) -> Self {
        Self { root: lenient_toml::parse_toml(&opened), opened, within }
    }

    /// Returns the table with the settings, if there is one.
    fn uv_settings_table(&self) -> Option<&TomlTable> {
        let root = (*self.root).as_ref()?;
        if self.within.is_empty() { Some(root) } else { table_at(root, self.within) }
    }
}

/// Adds the index settings of uv's configuration files after those of a command and its environment.
fn read_uv_config(command: &Command, context: &CommandContext<'_>, indexes: &mut IndexOptions) {
    let words = || command.words.iter().filter_map(Word::known);
    let switched_off =
        command_variable("UV_NO_CONFIG", command, context).is_some_and(|value| value.known_text() != Some("0"));
    if switched_off || words().any(|word| word == "--no-config") {
        return;
    }
    let (files, unread) = config_files(command, context);
    for settings in &files {
        let Some(table) = settings.uv_settings_table() else { continue };
        let tables = [table_at(table, &["pip"]).filter(|_| words().any(|word| word == "pip")), Some(table)];
        for table in tables.into_iter().flatten() {
            add_settings(table, settings, command, indexes);
        }
    }
    if let Some((path, why)) = unread {
        indexes.add_unread_config(&path, why, command.span);
    }
}

/// Returns the configuration files that apply to a command, in order of precedence, and the first one that exists but
/// was not read.
fn config_files(command: &Command, context: &CommandContext<'_>) -> (Vec<UvConfigFile>, Option<(String, Cause)>) {
    let mut words = command.words.iter().filter_map(Word::known);
    let named = words.find_map(|word| match word.split_once('=') {
        Some(("--config-file", path)) => Some(Some(path.to_owned())),
        _ => (word == "--config-file").then_some(None),
    });
    let named = match named {
        Some(Some(path)) => Some(path),
        Some(None) => words.next().map(str::to_owned),
        None => match command_variable("UV_CONFIG_FILE", command, context) {
            Some(ExpandedText::Known { value, .. }) => Some(value),
            _ => None,
        },
    };
    if let Some(path) = named {
        return match (context.open)("", &path) {
            Ok(opened) => (vec![UvConfigFile::new(opened, &[])], None),
            Err(why) => (Vec::new(), Some((path, why))),
        };
    }
    let (mut found, mut unread) = (Vec::new(), None);
    let mut own = |path: &str| match (context.open)("", path) {
        Ok(opened) => Some(UvConfigFile::new(opened, &[])),
        Err(why) => {
            if unread.is_none() && exists_unread(&why) {
                unread = Some((path.to_owned(), why));
            }
            None
        }
    };
    // `uvx` and `uv tool` do not read the settings of the project.
    let tool = command.program() == Some("uvx") || command.words.get(1).and_then(Word::known) == Some("tool");
    for folder in PROJECT_FOLDERS.iter().filter(|_| !tool) {
        if let Some(settings) = own(&format!("{folder}uv.toml")) {
            found.push(settings);
            break;
        }
        let project = (context.open)("", &format!("{folder}pyproject.toml")).ok();
        let project = project.map(|opened| UvConfigFile::new(opened, &["tool", "uv"]));
        if let Some(project) = project.filter(|project| project.uv_settings_table().is_some()) {
            found.push(project);
            break;
        }
    }
    found.extend(USER_AND_SYSTEM_FILES.iter().filter_map(|path| own(path)));
    (found, unread)
}

/// Adds the index settings in a table.
fn add_settings(table: &TomlTable, settings: &UvConfigFile, command: &Command, indexes: &mut IndexOptions) {
    let opened = &settings.opened;
    let address = |value: &SpannedTomlValue| {
        let url = value.get_ref().as_str()?;
        Some(IndexAddress::new(url, value_span(value, opened), opened.source))
    };
    let is = |table: &TomlTable, key: &str| {
        value_at(table, &[key]).and_then(|value| value.get_ref().as_bool()) == Some(true)
    };
    for index in tables_at(table, &["index"]).into_iter().filter(|index| !is(index, "explicit")) {
        let Some(found) = value_at(index, &["url"]).and_then(address) else { continue };
        if !is(index, "default") {
            indexes.add_extra_index(found);
        } else if indexes.index.is_none() {
            indexes.index = Some(found);
        }
    }
    // One address may stand for a list of one.
    let listed = |key: &str| {
        let one = value_at(table, &[key]).filter(|value| value.get_ref().as_str().is_some());
        one.into_iter().chain(list_at(table, &[key])).filter_map(address).collect::<Vec<_>>()
    };
    for found in listed("extra-index-url") {
        indexes.add_extra_index(found);
    }
    indexes.links.extend(listed("find-links"));
    if indexes.index.is_none() {
        indexes.index = listed("index-url").into_iter().next();
    }
    if let Some(backend) = text_at(table, &["torch-backend"]).filter(|_| indexes.backend.is_none()) {
        indexes.backend = Some((Ok(backend.to_owned()), command.span));
    }
    indexes.first_index &= text_at(table, &["index-strategy"]).is_none_or(|strategy| strategy == "first-index");
    indexes.allow_prereleases |= text_at(table, &["prerelease"]) == Some("allow");
    if is(table, "no-index") {
        indexes.sources = SearchSources::Links;
    }
}

/// Applies an option on indexes or resolution; returns whether it is one.
pub(super) fn apply_index_option(
    name: &str,
    value: impl FnOnce() -> Option<OptionValue>,
    indexes: &mut IndexOptions,
) -> bool {
    let address = |given: OptionValue| IndexAddress::from_option(given, None);
    match name {
        "--no-index" => indexes.sources = SearchSources::Links,
        "-i" | "--index-url" | "--pypi-url" | "--default-index" => indexes.index = value().map(address),
        "--extra-index-url" | "--index" => indexes.extra.extend(value().map(address)),
        "-f" | "--find-links" => indexes.links.extend(value().map(address)),
        "--torch-backend" => indexes.backend = value(),
        "--pre" => indexes.allow_prereleases = true,
        "--no-deps" | "--no-dependencies" => indexes.resolution.no_deps = true,
        "--prerelease" => {
            indexes.allow_prereleases |= value().is_some_and(|(strategy, _)| strategy.as_deref() == Ok("allow"));
        }
        "--index-strategy" => {
            indexes.first_index &= value().is_none_or(|(strategy, _)| strategy.as_deref() == Ok("first-index"));
        }
        "-U" | "--upgrade" => indexes.resolution.upgrade = true,
        "--upgrade-strategy" => {
            indexes.resolution.eager |= value().is_some_and(|(strategy, _)| strategy.as_deref() == Ok("eager"));
        }
        "--force-reinstall" | "-I" | "--ignore-installed" | "--reinstall" => indexes.resolution.reinstall = true,
        _ => return false,
    }
    true
}
