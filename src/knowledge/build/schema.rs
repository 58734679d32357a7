//! Schema of the knowledge tables: their names, keys and fields, from their declarations in `tables.rs`.
//!
//! Compiled twice: into the build script, which generates the built-in tables, and into the program, which reads the
//! tables of a user.

/// Type of a field, in TOML and in Rust.
///
/// An absent `Opt…` field is `None`, and an absent list is empty.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Str,
    OptStr,
    Strs,
    U16,
    U32,
    OptU32,
    U32s,
    Bool,
    OptBool,
    /// A boolean that is false if absent.
    Flag,
    /// A version by PEP 440.
    Version,
    OptVersion,
    /// A version, or `*` for every release, which is `None`.
    VersionOrAny,
    /// PEP 440 specifiers; empty if every version is allowed.
    Range,
    OptRange,
    /// A table of versions and ranges.
    RangeByVersion,
    /// A table of names and versions.
    VersionByName,
    Cuda,
    OptCuda,
    /// A CUDA version of exactly two numbers.
    Minor,
    Cudas,
    Driver,
    OptDriver,
    Drivers,
    Capability,
    OptCapability,
    Capabilities,
    Targets,
    Day,
    OptDay,
    StrByArch,
    Brands,
    /// A table of names and values.
    Pairs,
    /// Evidence; `inferred` if absent.
    HowElseInferred,
    /// A variant of a Rust enum: the name of the enum, and the TOML words of its variants.
    Variant(&'static str, &'static [&'static str]),
}

/// Schema of one table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// Fields that identify a row.
    pub(crate) key: &'static [&'static str],
    pub(crate) fields: &'static [(&'static str, Kind)],
}

/// Provenance fields, which every row may have in addition to its own fields.
pub(crate) const PROVENANCE: &[&str] = &["source", "checked", "how"];

/// Kinds of evidence, weakest first.
pub(crate) const HOW: &[&str] = &["memory", "inferred", "documented", "measured"];

macro_rules! enum_words {
    ($($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)* })*) => {
        /// Returns the TOML words of a field enum.
        const fn enum_values(name: FieldEnum) -> &'static [&'static str] {
            match name {
                $(FieldEnum::$name => &[$($word),*],)*
            }
        }

        /// The field enums.
        enum FieldEnum {
            $($name,)*
        }
    };
}

every_field_enum!(enum_words);

macro_rules! list {
    ($(
        $(#[$meta:meta])*
        $name:ident: $row:ident by [$($key:ident),*] {
            $($(#[$field_meta:meta])* $field:ident: $kind:ident $(($enum:ident))?,)*
        }
    )*) => {
        /// Every table, one file each.
        pub(crate) const TABLES: &[Table] = &[$(Table {
            name: stringify!($name),
            key: &[$(stringify!($key)),*],
            fields: &[$((
                stringify!($field),
                Kind::$kind $((stringify!($enum), enum_values(FieldEnum::$enum)))?
            )),*],
        }),*];
    };
}

every_table!(list);
