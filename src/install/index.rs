//! Which builds of a distribution a command can choose from: indexes, pages of links, and uv's backends.

use crate::dockerfile::Lookup;
use crate::dockerfile::ONLY_THE_BASE;
use crate::dockerfile::Resolved;
use crate::dockerfile::SET_NOWHERE;
use crate::install::Around;
use crate::install::Builds;
use crate::install::Folders;
use crate::install::Install;
use crate::install::NAMED;
use crate::install::OF_A_SECRET;
use crate::install::Opened;
use crate::install::Variant;
use crate::install::VariantSource;
use crate::install::VersionSpec;
use crate::install::address::address;
use crate::install::range::is_early;
use crate::install::range::names_early;
use crate::install::range::public;
use crate::install::uv_config;
use crate::install::variant::Early;
use crate::install::variant::early_of_url;
use crate::install::variant::every_build;
use crate::install::variant::is_tag;
use crate::install::variant::is_usual;
use crate::install::variant::tag_below;
use crate::install::variant::tag_of_url;
use crate::knowledge::Knowledge;
use crate::shell::Command;
use crate::source::SourceId;
use crate::source::Span;

/// Where pip looks for its settings.
pub(super) const PIP_CONFIG: &[&str] =
    &["/etc/pip.conf", "/etc/xdg/pip/pip.conf", "/root/.config/pip/pip.conf", "/root/.pip/pip.conf", "/usr/pip.conf"];

/// What an option is given and where; an error says why that is not known.
pub(super) type Given = (Result<String, String>, Span);

/// An address, the build it stands for, and where it is written.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Why the address is not known.
    untold: Option<String>,
    tag: Option<String>,
    every: bool,
    early: Option<Early>,
    /// Whether it stands for the default index.
    usual: bool,
    /// The folder that it is, where it is none of the network.
    folder: Option<String>,
    /// As it is written.
    url: String,
    span: Span,
    source: Option<SourceId>,
}

impl Place {
    pub(super) fn new(url: &str, span: Span, source: Option<SourceId>) -> Self {
        let (tag, every, early) = (tag_of_url(url), every_build(url), early_of_url(url));
        Self {
            untold: None,
            tag,
            every,
            early,
            usual: is_usual(url),
            folder: folder(url),
            url: url.to_owned(),
            span,
            source,
        }
    }

    /// The place of an address as an option gives it; uv lets an index carry a name: `name=https://…`.
    pub(super) fn given((address, span): Given, source: Option<SourceId>) -> Self {
        match address {
            Ok(url) => match url.split_once("=http") {
                Some((_, rest)) => Self::new(&format!("http{rest}"), span, source),
                None => Self::new(&url, span, source),
            },
            Err(reason) => Self { untold: Some(reason), ..Self::new("", span, source) },
        }
    }

    /// The same place as one of the indexes that are a distribution's own: there is nothing in it of the index of torch.
    fn of_folders(&self, folders: &[&str]) -> Self {
        Self { tag: tag_below(&self.url, folders), every: false, early: None, ..self.clone() }
    }

    /// Whether it may have a version at all.
    fn may_have(&self, version: &VersionSpec) -> bool {
        match version {
            VersionSpec::Exact(version) if is_early(version) => self.early.is_some(),
            VersionSpec::Exact(_) => self.early != Some(Early::Nightly),
            VersionSpec::Range(_) | VersionSpec::None | VersionSpec::Unresolved => true,
        }
    }
}

/// Where an installer looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Asks {
    /// In indexes, and behind links.
    #[default]
    Indexes,
    /// Behind links alone, and in folders.
    Links,
}

/// What a command, its files and its environment say of indexes.
#[derive(Clone, Debug, Default)]
pub(super) struct Indexes {
    pub(super) index: Option<Place>,
    pub(super) extra: Vec<Place>,
    pub(super) links: Vec<Place>,
    pub(super) backend: Option<Given>,
    pub(super) asks: Asks,
    /// uv takes the first index that has a distribution; pip takes the best version of all.
    pub(super) first_index: bool,
    /// Whether versions before a release are allowed.
    pub(super) early: bool,
    pub(super) ways: Ways,
}

/// How a command treats what is there, and what packages depend on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ways {
    /// A version that is there already is replaced.
    pub(super) upgrade: bool,
    /// Nothing is installed that is not asked for by its name.
    pub(super) alone: bool,
}

impl Indexes {
    /// The same indexes as they are for a distribution that has its own.
    fn of_folders(&self, folders: &[&str]) -> Self {
        let all = |list: &[Place]| list.iter().map(|place| place.of_folders(folders)).collect();
        let index = self.index.as_ref().map(|place| place.of_folders(folders));
        Self { index, extra: all(&self.extra), links: all(&self.links), backend: None, ..self.clone() }
    }

    /// Fills what the command left open from the environment.
    pub(super) fn defaults(&mut self, uv: bool, command: &Command, around: &Around<'_>) {
        let said = |name: &str| setting(name, command, around);
        let variable = |name: &str| said(name).and_then(|value| value.known().map(str::to_owned));
        let places = |names: &[&str]| -> Vec<Place> {
            let given = match names.iter().find_map(|name| said(name)) {
                Some(Resolved::Known { value, .. }) => value.split_whitespace().map(|url| Ok(url.to_owned())).collect(),
                Some(Resolved::Unresolved { reason, .. }) => vec![Err(reason)],
                None => Vec::new(),
            };
            given.into_iter().map(|address| Place::given((address, command.span), None)).collect()
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
            let backend = || said("UV_TORCH_BACKEND").map(|tag| (address(&tag, ""), command.span));
            self.backend = self.backend.take().or_else(backend);
            self.early |= variable("UV_PRERELEASE").is_some_and(|strategy| strategy == "allow");
            let strategy = variable("UV_INDEX_STRATEGY");
            self.first_index &= strategy.is_none_or(|strategy| strategy == "first-index");
        } else {
            self.early |= variable("PIP_PRE").is_some_and(|value| is_true(&value));
            self.ways.alone |= variable("PIP_NO_DEPS").is_some_and(|value| is_true(&value));
        }
        if uv {
            uv_config::read(command, around, self);
        }
        if variable(if uv { "UV_NO_INDEX" } else { "PIP_NO_INDEX" }).is_some_and(|value| is_true(&value)) {
            self.asks = Asks::Links;
        }
    }

    /// Takes an index that another place than the command names, unless it is there already.
    pub(super) fn also(&mut self, place: Place) {
        if !self.extra.iter().any(|own| (own.span, own.source) == (place.span, place.source)) {
            self.extra.push(place);
        }
    }

    /// Fills what is still open from pip's settings.
    pub(super) fn config(&mut self, opened: &Opened) {
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
            let span = opened.text.span(start..start + raw.trim_end().len());
            for url in value.split_whitespace() {
                let place = Place::new(url, span, opened.source);
                match key {
                    "index-url" | "index_url" if index_open => self.index = Some(place),
                    "extra-index-url" | "extra_index_url" if extra_open => self.extra.push(place),
                    "find-links" | "find_links" if links_open => self.links.push(place),
                    "pre" => self.early |= is_true(url),
                    "no-index" | "no_index" if is_true(url) => self.asks = Asks::Links,
                    _ => {}
                }
            }
        }
    }

    /// Takes a file of settings that is there and was not read: what names no index may have one from it.
    pub(super) fn unread(&mut self, path: &str, why: &str, span: Span) {
        if self.index.is_none() && self.asks == Asks::Indexes {
            let reason = format!("{path} may set an index and was not read: {why}");
            self.index = Some(Place::given((Err(reason), span), None));
        }
    }

    /// The folders where wheels are looked for.
    pub(super) fn folders(&self) -> Folders {
        let named = self.links.iter().filter_map(|place| place.folder.clone()).collect();
        Folders { named, alone: self.asks == Asks::Links }
    }

    /// Whether nothing but the default index is named.
    pub(super) fn is_usual(&self) -> bool {
        let named = self.index.is_some() || !self.extra.is_empty() || !self.links.is_empty() || self.backend.is_some();
        !named && !self.early && self.asks == Asks::Indexes
    }

    /// Says of one package which builds it is chosen from.
    pub(super) fn choose(&self, package: &mut Install, knowledge: Knowledge) {
        package.upgrade |= self.ways.upgrade;
        package.alone |= self.ways.alone;
        let without = self.without_own_pages(&package.name, knowledge);
        if let Some(indexes) = without {
            return indexes.choose(package, knowledge);
        }
        let own = knowledge.own_indexes(&package.name);
        if !own.is_empty() && package.variant.is_none() && !is_of_sources(package) {
            self.of_folders(own).offer(package);
        } else if package.variant.is_none() && !is_of_sources(package) {
            match self.unread_page(&package.name, knowledge) {
                Some(page) => package.builds = Builds::Unknown(format!("the wheels on {page} were not read")),
                None => self.offer(package),
            }
            package.early = package.early.take().or_else(|| self.early_by_itself(package));
            // What a package of another family brings along is chosen from the same indexes.
            if !knowledge.has_build_index(&package.name) {
                package.variant = None;
            }
        } else if names_its_build(package) && !knowledge.is_built_framework(&package.name) {
            // The build is told by itself; what it brings along is chosen from the indexes all the same.
            let version = match &package.version {
                VersionSpec::Exact(version) => VersionSpec::Exact(public(version).to_owned()),
                version => version.clone(),
            };
            let mut along = Install { version, variant: None, ..package.clone() };
            self.offer(&mut along);
            package.builds = along.builds;
        }
    }

    /// The indexes that may have a package, without those of the wheels of one project alone; none where all may. The wheels
    /// of such a project itself are what those hold.
    fn without_own_pages(&self, name: &str, knowledge: Knowledge) -> Option<Self> {
        let extension = knowledge.has_build_index(name)
            && !knowledge.is_built_framework(name)
            && !knowledge.is_built_with_torch(name);
        let own = |place: &Place| knowledge.is_own_page(&place.url);
        if extension || !self.index.iter().chain(&self.extra).any(own) {
            return None;
        }
        let extra: Vec<Place> = self.extra.iter().filter(|place| !own(place)).cloned().collect();
        let alone = |place: &Place| Place { untold: Some(NO_OTHER.to_owned()), url: String::new(), ..place.clone() };
        let index = match &self.index {
            Some(place) if own(place) => Some(alone(place)).filter(|_| extra.is_empty()),
            index => index.clone(),
        };
        Some(Self { index, extra, ..self.clone() })
    }

    /// The address of a page of links on the network of which nothing says which builds of a distribution it has: one without
    /// a word of CUDA, and for torch itself one for what is built against it.
    fn unread_page(&self, name: &str, knowledge: Knowledge) -> Option<&str> {
        if !knowledge.has_build_index(name) || self.backend.is_some() {
            return None;
        }
        let torch = knowledge.is_built_framework(name);
        let silent = |place: &&Place| place.tag.is_none() && place.early.is_none();
        let page = |place: &&Place| place.folder.is_none() && place.untold.is_none() && !place.every && !place.usual;
        let of_others = |place: &&Place| torch && silent(place) && knowledge.is_own_page(&place.url);
        let mut pages = self.links.iter().filter(page).filter(|place| !of_others(place));
        let page = pages.find(|place| silent(place) || (torch && is_against_torch(&place.url)))?;
        Some(&page.url)
    }

    fn offer(&self, package: &mut Install) {
        if let Some((backend, span)) = &self.backend {
            package.builds = match backend {
                Ok(backend) if is_tag(backend) => {
                    return only(package, backend, VariantSource::TorchBackend, *span, None);
                }
                Ok(backend) => Builds::Unknown(format!("uv selects the build by the machine: `{backend}`")),
                Err(reason) => Builds::Unknown(format!("the uv option `torch-backend` is unknown: {reason}")),
            };
            return;
        }
        if let Some(reason) = self.untold() {
            package.builds = Builds::Unknown(format!("the address of an index is unknown: {reason}"));
            return;
        }
        if self.asks == Asks::Links {
            let mut tags = self.links.iter().map(|place| place.tag.as_ref());
            let one = tags.next().flatten().filter(|first| tags.all(|tag| tag == Some(*first)));
            return match (one, self.links.first()) {
                (Some(tag), Some(place)) => {
                    only(package, tag, VariantSource::FindLinks, place.span, place.source);
                }
                _ => package.builds = Builds::Unknown(NO_INDEX.to_owned()),
            };
        }
        let local = |version: &str| version.contains('+');
        let whole = self.extra.iter().chain(&self.links).chain(&self.index).any(|place| place.every);
        if whole && !matches!(&package.version, VersionSpec::Exact(version) if local(version)) {
            package.builds = Builds::Unknown(EVERY_BUILD.to_owned());
            return;
        }
        let counts = |place: &&Place| place.may_have(&package.version);
        let tagged = |list: &[Place]| {
            list.iter().filter(|place| place.tag.is_some()).filter(counts).cloned().collect::<Vec<_>>()
        };
        let (extra, links) = (tagged(&self.extra), tagged(&self.links));
        let index = self.index.as_ref().filter(|place| place.tag.is_some());
        let usual = self.extra.iter().position(|place| place.usual);
        let alone = match (self.first_index, usual) {
            (true, Some(at)) => self.extra.iter().take(at).find(|place| place.tag.is_some()),
            (true, None) => extra.first().or(index),
            (false, Some(_)) => None,
            (false, None) => index.filter(|_| extra.is_empty()),
        };
        if let Some(place) = alone
            && let Some(tag) = &place.tag
        {
            if !place.may_have(&package.version) {
                package.builds = Builds::Unknown("the index contains nightly builds and no release".to_owned());
                return;
            }
            let from = if extra.is_empty() { VariantSource::IndexUrl } else { VariantSource::ExtraIndex };
            let pinned = matches!(package.version, VersionSpec::Exact(_));
            package.early = place.early.filter(|_| !pinned).map(|early| format!("the index has {}", early.words()));
            return only(package, tag, from, place.span, place.source);
        }
        if self.first_index && usual.is_some() {
            return;
        }
        let mut beside: Vec<&Place> = extra.iter().chain(&links).chain(index.filter(counts)).collect();
        if let Some(early) = beside.iter().find_map(|place| self.newer(place, &package.version)) {
            let of = early.words();
            package.builds = Builds::Unknown(format!("an additional index contains {of}, which may be newer"));
            return;
        }
        beside.retain(|place| place.early != Some(Early::Nightly) || is_exact_early(&package.version));
        beside.sort_by(|a, b| b.tag.cmp(&a.tag));
        let Some(best) = beside.first() else { return };
        package.builds = Builds::Beside(beside.iter().filter_map(|place| place.tag.clone()).collect());
        if let (VersionSpec::Exact(_), Some(tag)) = (&package.version, &best.tag) {
            let from = if extra.is_empty() { VariantSource::FindLinks } else { VariantSource::ExtraIndex };
            package.variant = Some(Variant { tag: tag.clone(), from, span: best.span, source: best.source });
        }
    }

    /// Why a place that counts is not known; uv asks none behind the first that surely has what is asked for.
    fn untold(&self) -> Option<&str> {
        let asked = |place: &&Place| !self.first_index || (place.tag.is_none() && !place.usual);
        let indexes = self.extra.iter().chain(&self.index).filter(|_| self.asks == Asks::Indexes).take_while(asked);
        indexes.chain(&self.links).find_map(|place| place.untold.as_deref())
    }

    /// Why the version of a package that is not pinned cannot be told, whichever it is.
    pub(super) fn any_version(&self) -> Option<String> {
        let told = |place: &Place| place.tag.is_some() || place.every;
        (self.asks == Asks::Links && !self.links.iter().any(told)).then(|| NO_INDEX.to_owned())
    }

    /// What a place beside the default index has that may be newer than every release there.
    fn newer(&self, place: &Place, version: &VersionSpec) -> Option<Early> {
        let early = place.early?;
        let allowed = match version {
            VersionSpec::Exact(_) => return None,
            VersionSpec::Range(range) => self.early || names_early(range),
            VersionSpec::None | VersionSpec::Unresolved => self.early,
        };
        // A candidate is written as the release that it may become, which no option has to allow.
        (allowed || early == Early::Candidate).then_some(early)
    }

    /// Why a package of the default index may be newer than every release.
    fn early_by_itself(&self, package: &Install) -> Option<String> {
        let open = !matches!(package.version, VersionSpec::Exact(_)) && package.builds == Builds::Default;
        (open && self.early).then(|| "pre-release versions are allowed".to_owned())
    }
}

/// The folder that an address of links is, where it is one.
fn folder(url: &str) -> Option<String> {
    let path = url.strip_prefix("file://").unwrap_or(url);
    (!path.contains("://") && !path.is_empty()).then(|| path.to_owned())
}

/// Whether a page is one of extensions that are built against a torch: `…/torch-2.4.0+cu121.html`, `…/cu113/torch1.10/index.html`.
fn is_against_torch(url: &str) -> bool {
    let mut parts = url.split('/');
    parts.any(|part| {
        let rest = part.strip_prefix("torch").map(|rest| rest.trim_start_matches('-'));
        rest.is_some_and(|rest| rest.starts_with(|sign: char| sign.is_ascii_digit()))
    })
}

/// Why nothing is told of a build where an index has them all.
pub const EVERY_BUILD: &str = "the index contains several builds of the same version";

/// Why nothing can be told of what an index does not have.
const NO_OTHER: &str = "the only index contains the wheels of a single project";

/// Why nothing can be told where no index is asked.
const NO_INDEX: &str = "no index is used, and the wheels at the given location are unknown";

/// What a variable is set to for a command; none where nothing in sight sets it.
pub(super) fn setting(name: &str, command: &Command, around: &Around<'_>) -> Option<Resolved> {
    if let Some(value) = command.variable(name) {
        return Some(value.clone());
    }
    match (around.lookup)(name) {
        Lookup::Known(value, origins) => Some(Resolved::Known { value, origins }),
        // Of what only the base image could set, it sets none.
        Lookup::Unknown(_, reason) if reason == SET_NOWHERE => None,
        Lookup::Unknown(names, reason) if reason == ONLY_THE_BASE && names == [name] => None,
        Lookup::Unknown(names, reason) => Some(Resolved::Unresolved { names, reason }),
        Lookup::Unset | Lookup::NoValue => None,
    }
}

/// Whether a package says by its version or its address which build it is.
fn names_its_build(package: &Install) -> bool {
    let from = package.variant.as_ref().map(|variant| variant.from);
    matches!(from, Some(VariantSource::LocalVersion | VariantSource::WheelUrl))
}

/// Whether a package comes from sources or an address, and no index offers its build.
fn is_of_sources(package: &Install) -> bool {
    matches!(package.builds, Builds::Elsewhere(_))
        || matches!((&package.builds, &package.untold), (Builds::Unknown(why), Some(untold)) if why == untold)
}

/// Whether one version is asked for that comes before a release.
fn is_exact_early(version: &VersionSpec) -> bool {
    matches!(version, VersionSpec::Exact(version) if is_early(version))
}

/// Whether a file that was not read is there all the same.
pub(super) fn is_there(why: &str) -> bool {
    why == NAMED || why == OF_A_SECRET
}

/// How pip reads a switch.
fn is_true(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on" | "y" | "t")
}

/// One index alone decides.
fn only(package: &mut Install, tag: &str, from: VariantSource, span: Span, source: Option<SourceId>) {
    package.builds = Builds::Only(tag.to_owned());
    package.variant = Some(Variant { tag: tag.to_owned(), from, span, source });
}
