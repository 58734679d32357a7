//! Row types of the knowledge tables: the content of `rules/knowledge/`, with source and date. The tables are declared
//! in `build/tables.rs`.

use jiff::civil::Date;

use crate::cuda::{CodeTarget, ComputeCapability, CudaVersion, DriverVersion};
pub use crate::knowledge::drivers::ToolkitChanges;
use crate::knowledge::parsed_text::{ParsedText, RowRange, RowVersion};
use crate::model::named_values::named_values;
use crate::model::package::{ExactVersion, VersionRange};
pub use crate::model::row_info::{How, RowInfo};

/// A GPU brand that applies to a range of driver branches.
#[derive(Clone, Copy, Debug)]
pub struct BrandRow {
    /// First driver branch; `None` if unbounded.
    pub from_branch: Option<u32>,
    /// Last driver branch; `None` if unbounded.
    pub up_to_branch: Option<u32>,
    /// Brand in lower case, as in `NVIDIA_REQUIRE_CUDA`: `tesla`, `nvidia`, `geforce`.
    pub brand: &'static str,
}

/// A value for one CPU architecture.
#[derive(Clone, Copy, Debug)]
pub struct ByArch<T: 'static> {
    /// Architecture: `amd64`, `arm64`.
    pub arch: &'static str,
    /// The value.
    pub value: T,
}

macro_rules! field_enums {
    ($($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)* })*) => {
        $(named_values! {
            $(#[$meta])*
            $name { $($(#[$variant_meta])* $variant = $word,)* }
        })*
    };
}

every_field_enum!(field_enums);

/// The version of a row for every version.
pub(super) const EVERY_VERSION: &str = "*";

/// The Rust type of a kind of field.
macro_rules! field_type {
    (Str) => { &'static str };
    (OptStr) => { Option<&'static str> };
    (Strs) => { &'static [&'static str] };
    (U16) => { u16 };
    (U32) => { u32 };
    (OptU32) => { Option<u32> };
    (U32s) => { &'static [u32] };
    (Bool) => { bool };
    (OptBool) => { Option<bool> };
    (Flag) => { bool };
    (Version) => { RowVersion };
    (OptVersion) => { Option<RowVersion> };
    (VersionOrAny) => { Option<RowVersion> };
    (Range) => { RowRange };
    (OptRange) => { Option<RowRange> };
    (VersionByName) => { &'static [(&'static str, RowVersion)] };
    (RangeByVersion) => { &'static [(RowVersion, RowRange)] };
    (Cuda) => { CudaVersion };
    (OptCuda) => { Option<CudaVersion> };
    (Minor) => { CudaVersion };
    (Cudas) => { &'static [CudaVersion] };
    (Driver) => { DriverVersion };
    (OptDriver) => { Option<DriverVersion> };
    (Drivers) => { &'static [DriverVersion] };
    (Capability) => { ComputeCapability };
    (OptCapability) => { Option<ComputeCapability> };
    (Capabilities) => { &'static [ComputeCapability] };
    (Targets) => { &'static [CodeTarget] };
    (Day) => { Date };
    (OptDay) => { Option<Date> };
    (StrByArch) => { &'static [ByArch<&'static str>] };
    (Brands) => { &'static [BrandRow] };
    (Pairs) => { &'static [(&'static str, &'static str)] };
    (HowElseInferred) => { How };
    (Variant $name:ident) => { $name };
}

macro_rules! row_structs {
    ($(
        $(#[$meta:meta])*
        $name:ident: $row:ident by [$($key:ident),*] {
            $($(#[$field_meta:meta])* $field:ident: $kind:ident $(($enum:ident))?,)*
        }
    )*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Copy, Debug)]
            pub struct $row {
                /// Table, key and source of the row.
                pub info: RowInfo,
                $($(#[$field_meta])* pub $field: field_type!($kind $($enum)?),)*
            }
        )*
    };
}

every_table!(row_structs);

impl FrameworkBuildRow {
    /// Whether its version is certainly in a range; not for a row about every version.
    pub fn is_in_range(&self, range: &VersionRange) -> bool {
        self.version.is_some_and(|version| range.contains(version) == Some(true))
    }

    /// Whether it is about one release, rather than a minor version or every version.
    pub fn is_full_release(&self) -> bool {
        self.version.is_some_and(|version| version.as_str().split('.').count() > 2)
    }

    /// Returns the version as the table has it: `*` for every version.
    pub fn version_text(&self) -> &'static str {
        self.version.map_or(EVERY_VERSION, ParsedText::as_str)
    }

    /// Whether it is the row of a version.
    pub fn is_of_version(&self, version: &ExactVersion) -> bool {
        self.version.is_some_and(|own| own.is_same(version))
    }
}

impl RequiresDistRow {
    /// Returns the version as the table has it: `*` for every version.
    pub fn version_text(&self) -> &'static str {
        self.version.map_or(EVERY_VERSION, ParsedText::as_str)
    }

    /// Whether a release is in the range of releases of the row; an invalid version counts as the newest.
    pub fn applies_to(&self, release: &ExactVersion) -> bool {
        let reaches = |bound: RowVersion| !release.is_valid() || release.compare(bound).is_ge();
        self.from.is_none_or(reaches) && !self.before.is_some_and(reaches)
    }

    /// Whether it is the row of a version.
    pub fn is_of_version(&self, version: &ExactVersion) -> bool {
        self.version.is_some_and(|own| own.is_same(version))
    }
}

impl WheelPythonRow {
    /// Whether a release is in the range.
    pub fn contains(&self, version: &ExactVersion) -> bool {
        version.compare(self.first).is_ge() && self.last.is_none_or(|last| version.compare(last).is_le())
    }
}

impl RequiredLibrariesRow {
    /// Whether it needs a library.
    pub fn needs_library(&self, soname: &str) -> bool {
        self.sonames().any(|own| own == soname)
    }

    /// Returns all libraries that it needs.
    pub fn sonames(&self) -> impl Iterator<Item = &'static str> {
        self.needs.iter().chain(self.opens).copied()
    }
}

/// Returns the row of the newest version.
pub fn newest_framework_build(
    rows: impl Iterator<Item = &'static FrameworkBuildRow>,
) -> Option<&'static FrameworkBuildRow> {
    let releases = rows.filter_map(|row| Some((row.version?, row)));
    releases.max_by(|(one, _), (other, _)| one.compare(other)).map(|(_, row)| row)
}
