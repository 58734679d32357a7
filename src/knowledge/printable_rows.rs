//! Rows in printable form: every field by its name in the table files.

use jiff::civil::Date;

use crate::cuda::{CodeTarget, ComputeCapability, CudaVersion, DriverVersion};
use crate::knowledge::lookup::Tables;
use crate::knowledge::parsed_text::{ParsedText, RowRange, RowVersion};
use crate::knowledge::rows;
use crate::knowledge::rows::{
    BrandRow, ByArch, CompatSelection, GpuClass, How, InstallerSyntax, OptionMeaning, OptionValue, RowInfo, ToolEffect,
    ToolkitChange,
};

/// The value of a field, for output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// An absent value.
    Nothing,
    /// A string, version or date.
    Text(String),
    /// An integer.
    Number(u32),
    /// A boolean.
    Flag(bool),
    /// A list of values.
    List(Vec<FieldValue>),
    /// Values by name.
    Map(Vec<(String, FieldValue)>),
}

/// A row with its fields, for output.
#[derive(Clone, Debug)]
pub struct ShownRow {
    /// Table, key and source of the row.
    pub info: &'static RowInfo,
    /// Names and values of its fields, in the order of the schema.
    pub fields: Vec<(&'static str, FieldValue)>,
}

/// Conversion of a row for output.
pub(super) trait ShowRow {
    /// Returns every field with its value.
    fn shown(&'static self) -> ShownRow;
}

/// Conversion of a field value for output.
trait Show {
    /// Returns the value for output.
    fn show(&self) -> FieldValue;
}

macro_rules! shown_as_text {
    ($($name:ty)*) => {$(
        impl Show for $name {
            fn show(&self) -> FieldValue {
                FieldValue::Text(self.to_string())
            }
        }
    )*};
}

shown_as_text!(&'static str RowVersion RowRange CudaVersion DriverVersion ComputeCapability Date);

macro_rules! shown_as_word {
    ($($name:ty)*) => {$(
        impl Show for $name {
            fn show(&self) -> FieldValue {
                FieldValue::Text(self.name().to_owned())
            }
        }
    )*};
}

shown_as_word!(How GpuClass CompatSelection InstallerSyntax OptionMeaning OptionValue ToolEffect ToolkitChange);

impl Show for CodeTarget {
    fn show(&self) -> FieldValue {
        FieldValue::Text(self.number())
    }
}

impl Show for u32 {
    fn show(&self) -> FieldValue {
        FieldValue::Number(*self)
    }
}

impl Show for u16 {
    fn show(&self) -> FieldValue {
        FieldValue::Number((*self).into())
    }
}

impl Show for bool {
    fn show(&self) -> FieldValue {
        FieldValue::Flag(*self)
    }
}

impl<T: Show> Show for Option<T> {
    fn show(&self) -> FieldValue {
        self.as_ref().map_or(FieldValue::Nothing, Show::show)
    }
}

impl<T: Show> Show for &'static [T] {
    fn show(&self) -> FieldValue {
        FieldValue::List(self.iter().map(Show::show).collect())
    }
}

impl<T: Show> Show for ByArch<T> {
    fn show(&self) -> FieldValue {
        FieldValue::Map(vec![(self.arch.to_owned(), self.value.show())])
    }
}

impl<T: Show> Show for (&'static str, T) {
    fn show(&self) -> FieldValue {
        FieldValue::Map(vec![(self.0.to_owned(), self.1.show())])
    }
}

impl Show for (RowVersion, RowRange) {
    fn show(&self) -> FieldValue {
        FieldValue::Map(vec![(self.0.as_str().to_owned(), self.1.show())])
    }
}

impl Show for BrandRow {
    fn show(&self) -> FieldValue {
        let fields = [
            ("brand", self.brand.show()),
            ("from_branch", self.from_branch.show()),
            ("up_to_branch", self.up_to_branch.show()),
        ];
        let set_fields = fields.into_iter().filter(|(_, value)| *value != FieldValue::Nothing);
        FieldValue::Map(set_fields.map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// Converts a field of a kind for output.
macro_rules! shown_field {
    ($value:expr, VersionOrAny) => {
        FieldValue::Text($value.map_or(rows::EVERY_VERSION, ParsedText::as_str).to_owned())
    };
    ($value:expr, $kind:ident) => {
        $value.show()
    };
}

macro_rules! show {
    ($(
        $(#[$meta:meta])*
        $name:ident: $row:ident by [$($key:ident),*] {
            $($(#[$field_meta:meta])* $field:ident: $kind:ident $(($enum:ident))?,)*
        }
    )*) => {
        $(impl ShowRow for rows::$row {
            fn shown(&'static self) -> ShownRow {
                ShownRow { info: &self.info, fields: vec![$((stringify!($field), shown_field!(self.$field, $kind))),*] }
            }
        })*

        impl Tables {
            /// Every table by name, with its rows.
            pub(crate) fn shown(&self) -> Vec<(&'static str, Vec<ShownRow>)> {
                vec![$((stringify!($name), self.$name.iter().map(ShowRow::shown).collect())),*]
            }
        }
    };
}

every_table!(show);
