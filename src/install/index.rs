//! Which builds of a distribution a command can choose from: indexes, pages of links, and uv's backends.

use crate::install::Builds;
use crate::install::Install;
use crate::install::Opened;
use crate::install::Variant;
use crate::install::VariantSource;
use crate::install::VersionSpec;
use crate::install::variant::every_build;
use crate::install::variant::is_tag;
use crate::install::variant::tag_of_url;
use crate::knowledge::Knowledge;
use crate::shell::Command;
use crate::source::SourceId;
use crate::source::Span;

/// Where pip looks for its settings.
pub(super) const PIP_CONFIG: &[&str] =
    &["/etc/pip.conf", "/root/.config/pip/pip.conf", "/root/.pip/pip.conf", "/usr/pip.conf"];

/// An address, the build it stands for, and where it is written.
#[derive(Clone, Debug)]
pub(super) struct Place {
    tag: Option<String>,
    every: bool,
    span: Span,
    source: Option<SourceId>,
}

impl Place {
    pub(super) fn new(url: &str, span: Span, source: Option<SourceId>) -> Self {
        Self { tag: tag_of_url(url), every: every_build(url), span, source }
    }
}

/// What a command, its files and its environment say of indexes.
#[derive(Clone, Debug, Default)]
pub(super) struct Indexes {
    pub(super) index: Option<Place>,
    pub(super) extra: Vec<Place>,
    pub(super) links: Vec<Place>,
    pub(super) backend: Option<(String, Span)>,
    /// uv takes the first index that has a distribution; pip takes the best version of all.
    pub(super) first_index: bool,
    pub(super) upgrade: bool,
}

impl Indexes {
    /// Fills what the command left open from the environment.
    pub(super) fn defaults(&mut self, uv: bool, command: &Command, variable: &dyn Fn(&str) -> Option<String>) {
        let places = |names: &[&str]| -> Vec<Place> {
            let text = names.iter().find_map(|name| variable(name)).unwrap_or_default();
            // uv lets an index carry a name: `name=https://…`.
            let url = |word: &str| word.split_once("=http").map_or(word.to_owned(), |(_, rest)| format!("http{rest}"));
            text.split_whitespace().map(|word| Place::new(&url(word), command.span, None)).collect()
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
            let backend = || variable("UV_TORCH_BACKEND").map(|tag| (tag, command.span));
            self.backend = self.backend.take().or_else(backend);
            let strategy = variable("UV_INDEX_STRATEGY");
            self.first_index &= strategy.is_none_or(|strategy| strategy == "first-index");
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
                    _ => {}
                }
            }
        }
    }

    /// Says of one package which builds it is chosen from.
    pub(super) fn choose(&self, package: &mut Install) {
        package.upgrade |= self.upgrade;
        if package.variant.is_none() {
            self.offer(package);
            // What a package of another family brings along is chosen from the same indexes.
            if !Knowledge::built_in().has_build_index(&package.name) {
                package.variant = None;
            }
        }
    }

    fn offer(&self, package: &mut Install) {
        if let Some((backend, span)) = &self.backend {
            if is_tag(backend) {
                only(package, backend, VariantSource::TorchBackend, *span, None);
            } else {
                package.builds = Builds::Unknown(format!("uv chooses the build by the machine: `{backend}`"));
            }
            return;
        }
        let local = |version: &str| version.contains('+');
        let whole = self.extra.iter().chain(&self.links).chain(&self.index).any(|place| place.every);
        if whole && !matches!(&package.version, VersionSpec::Exact(version) if local(version)) {
            package.builds = Builds::Unknown("the index offers every build of it side by side".to_owned());
            return;
        }
        let tagged = |list: &[Place]| list.iter().filter(|place| place.tag.is_some()).cloned().collect::<Vec<_>>();
        let (extra, links) = (tagged(&self.extra), tagged(&self.links));
        let index = self.index.as_ref().filter(|place| place.tag.is_some());
        let alone = if self.first_index { extra.first().or(index) } else { index.filter(|_| extra.is_empty()) };
        if let Some(place) = alone
            && let Some(tag) = &place.tag
        {
            let from = if extra.is_empty() { VariantSource::IndexUrl } else { VariantSource::ExtraIndex };
            return only(package, tag, from, place.span, place.source);
        }
        let mut beside: Vec<&Place> = extra.iter().chain(&links).chain(index).collect();
        beside.sort_by(|a, b| b.tag.cmp(&a.tag));
        let Some(best) = beside.first() else { return };
        package.builds = Builds::Beside(beside.iter().filter_map(|place| place.tag.clone()).collect());
        if let (VersionSpec::Exact(_), Some(tag)) = (&package.version, &best.tag) {
            let from = if extra.is_empty() { VariantSource::FindLinks } else { VariantSource::ExtraIndex };
            package.variant = Some(Variant { tag: tag.clone(), from, span: best.span, source: best.source });
        }
    }
}

/// One index alone decides.
fn only(package: &mut Install, tag: &str, from: VariantSource, span: Span, source: Option<SourceId>) {
    package.builds = Builds::Only(tag.to_owned());
    package.variant = Some(Variant { tag: tag.to_owned(), from, span, source });
}
