//! Variants of a host: each value that it may have where its pool leaves one open that decides for few images alone.

use std::sync::OnceLock;

use crate::cuda::LIB64;
use crate::cuda::debian_directory;
use crate::fleet::Host;
use crate::fleet::HostGpu;
use crate::fleet::Mode;
use crate::fleet::PoolField;
use crate::fleet::host_values::values;
use crate::knowledge::Knowledge;

/// The variants of one host, made when something first turns on them.
#[derive(Clone, Debug, Default)]
pub(super) struct Variants {
    directory: OnceLock<Vec<Host>>,
    brand: OnceLock<Vec<Host>>,
    compat: OnceLock<Vec<Host>>,
}

impl PoolField {
    /// Whether the pool is no more hosts for leaving it open: only those hosts that turn on it have variants.
    pub fn is_of_few(self) -> bool {
        matches!(self, Self::LibraryDirectory | Self::Brand)
    }
}

impl Host {
    /// The same host with each value of a field; none where the field is declared, or is one of those by which a pool is
    /// more hosts than one.
    pub fn with_each(&self, field: PoolField, knowledge: Knowledge) -> &[Self] {
        match field {
            PoolField::LibraryDirectory => self.variants.directory.get_or_init(|| self.with_each_directory()),
            PoolField::Brand => self.variants.brand.get_or_init(|| self.with_each_brand(knowledge)),
            _ => &[],
        }
    }

    /// The same host where its toolkit takes the compat library of an image, and where it does not: which of the two may hang
    /// on a note in the library that nobody read.
    pub fn with_either_library(&self) -> &[Self] {
        let with = |(at, taken)| Self {
            takes_compat: Some(taken),
            alike: self.alike.and_then(|alike| alike.with(at)),
            variants: Variants::default(),
            ..self.clone()
        };
        self.variants.compat.get_or_init(|| [(0, true), (1, false)].map(with).into())
    }

    /// Whether another is this very host, in the mode that it takes for some images and with a value of what it leaves
    /// open.
    pub fn stands_for(&self, other: &Self) -> bool {
        let of = |own: &Self| {
            let lists = [&own.variants.directory, &own.variants.brand, &own.variants.compat];
            let lists = lists.map(|list| list.get().map_or(&[][..], Vec::as_slice));
            std::ptr::eq(own, other) || lists.iter().any(|list| list.iter().any(|one| std::ptr::eq(one, other)))
        };
        of(self) || self.in_cdi.as_deref().is_some_and(of)
    }

    /// Whether its GPU has a name, and no brand under its driver.
    pub fn lacks_brand(&self) -> bool {
        self.gpu.as_ref().is_some_and(|gpu| gpu.named && gpu.brand.is_none())
    }

    /// Where the host's libraries may lie: CDI mounts them at the same place.
    pub fn library_directories(&self) -> [&'static str; 2] {
        [LIB64, debian_directory(self.platform.split('/').nth(1).unwrap_or_default())]
    }

    fn with_each_directory(&self) -> Vec<Self> {
        if self.library_directory.is_some() || !matches!(self.mode, Mode::Cdi | Mode::JitCdi) {
            return Vec::new();
        }
        let with = |(at, directory): (usize, &str)| {
            let field = PoolField::LibraryDirectory;
            Self {
                library_directory: Some(directory.to_owned()),
                assumed: [self.assumed.as_slice(), &[field]].concat(),
                overrides: [self.overrides.as_slice(), &[field]].concat(),
                // Those of the compat library come first.
                alike: self.alike.and_then(|alike| alike.with(2 + at)),
                variants: Variants::default(),
                ..self.clone()
            }
        };
        self.library_directories().into_iter().enumerate().map(with).collect()
    }

    fn with_each_brand(&self, knowledge: Knowledge) -> Vec<Self> {
        let Some(gpu) = self.gpu.as_ref().filter(|_| self.lacks_brand()) else { return Vec::new() };
        let newer = self.behaviour.newer_brands;
        let rows = knowledge.brands().iter().filter(|row| newer || !row.later);
        let with = |brand: &str| {
            let gpu = Some(HostGpu { brand: Some(brand.to_ascii_lowercase()), ..gpu.clone() });
            let values = values(gpu.as_ref(), self.driver, self.driver_cuda, newer, knowledge);
            let assumed = [self.assumed.as_slice(), &[PoolField::Brand]].concat();
            let overrides = [self.overrides.as_slice(), &[PoolField::Brand]].concat();
            Self { gpu, values, assumed, overrides, alike: None, variants: Variants::default(), ..self.clone() }
        };
        rows.map(|row| with(row.name)).collect()
    }
}
