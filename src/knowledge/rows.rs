//! Row types of the knowledge tables: the content of `rules/knowledge/`, with source and date. The tables are declared
//! in `build/tables.rs`.

use jiff::civil::Date;

use crate::cuda::{CodeTarget, ComputeCapability, CudaVersion, DriverVersion};
pub use crate::knowledge::drivers::ToolkitChanges;
use crate::model::named_values::named_values;
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
