//! Variants of a host: one for each possible value of an open field that matters only for few images.

use std::sync::OnceLock;

use crate::cuda::{LIB64_DIRECTORY, debian_library_directory};
use crate::fleet::requirement_values::requirement_host;
use crate::fleet::{Host, HostGpu, Mode, PoolField};
use crate::knowledge::Knowledge;

/// The variants of one host, created on first use.
#[derive(Clone, Debug, Default)]
pub(super) struct HostVariants {
    directory: OnceLock<Vec<Host>>,
    brand: OnceLock<Vec<Host>>,
    compat: OnceLock<Vec<Host>>,
}

impl PoolField {
    /// Whether the values of this field become variants on demand instead of separate hosts of the pool.
    pub fn has_variants_on_demand(self) -> bool {
        matches!(self, Self::LibraryDirectory | Self::Brand)
    }
}

impl Host {
    /// Returns the host with each possible value of a field; empty where the field is declared or has no variants.
    pub fn variants_for_field(&self, field: PoolField, knowledge: Knowledge) -> &[Self] {
        match field {
            PoolField::LibraryDirectory => self.variants.directory.get_or_init(|| self.library_directory_variants()),
            PoolField::Brand => self.variants.brand.get_or_init(|| self.brand_variants(knowledge)),
            _ => &[],
        }
    }

    /// Returns the host once with and once without the use of the image's compat library, where an unread note
    /// decides that.
    pub fn compat_library_variants(&self) -> &[Self] {
        let with = |(at, taken)| Self {
            takes_compat: Some(taken),
            alike: self.alike.and_then(|alike| alike.for_variant(at)),
            variants: HostVariants::default(),
            ..self.clone()
        };
        self.variants.compat.get_or_init(|| [(0, true), (1, false)].map(with).into())
    }

    /// Whether another host is this very host, its CDI mode, or a variant of one of them.
    pub fn is_or_has_variant(&self, other: &Self) -> bool {
        let of = |own: &Self| {
            let lists = [&own.variants.directory, &own.variants.brand, &own.variants.compat];
            let lists = lists.map(|list| list.get().map_or(&[][..], Vec::as_slice));
            std::ptr::eq(own, other) || lists.iter().any(|list| list.iter().any(|one| std::ptr::eq(one, other)))
        };
        of(self) || self.in_cdi.as_deref().is_some_and(of)
    }

    /// Whether its GPU has a name but no known brand.
    pub fn lacks_brand(&self) -> bool {
        self.gpu.as_ref().is_some_and(|gpu| gpu.named && gpu.brand.is_none())
    }

    /// Returns the directories where the host may have the driver libraries; CDI mounts them at the same path.
    pub fn library_directories(&self) -> [&'static str; 2] {
        [LIB64_DIRECTORY, debian_library_directory(self.platform.split('/').nth(1).unwrap_or_default())]
    }

    /// Creates the variants for each possible library directory.
    fn library_directory_variants(&self) -> Vec<Self> {
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
                alike: self.alike.and_then(|alike| alike.for_variant(2 + at)),
                variants: HostVariants::default(),
                ..self.clone()
            }
        };
        self.library_directories().into_iter().enumerate().map(with).collect()
    }

    /// Creates the variants for each possible GPU brand.
    fn brand_variants(&self, knowledge: Knowledge) -> Vec<Self> {
        let Some(gpu) = self.gpu.as_ref().filter(|_| self.lacks_brand()) else { return Vec::new() };
        let newer = self.behaviour.newer_brands;
        let rows = knowledge.brands().iter().filter(|row| newer || !row.later);
        let with = |brand: &str| {
            let gpu = Some(HostGpu { brand: Some(brand.to_ascii_lowercase()), ..gpu.clone() });
            let values = requirement_host(gpu.as_ref(), self.driver, self.driver_cuda, newer, knowledge);
            let assumed = [self.assumed.as_slice(), &[PoolField::Brand]].concat();
            let overrides = [self.overrides.as_slice(), &[PoolField::Brand]].concat();
            Self { gpu, values, assumed, overrides, alike: None, variants: HostVariants::default(), ..self.clone() }
        };
        rows.map(|row| with(row.name)).collect()
    }
}
