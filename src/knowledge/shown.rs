//! Rows as data to show: every field by its name in the table files.

use jiff::civil::Date;

use crate::cuda::CodeTarget;
use crate::cuda::ComputeCapability;
use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::knowledge::rows;
use crate::knowledge::rows::BrandRow;
use crate::knowledge::rows::ByArch;
use crate::knowledge::rows::CompatSelection;
use crate::knowledge::rows::GpuClass;
use crate::knowledge::rows::How;
use crate::knowledge::rows::RowInfo;
use crate::knowledge::rows::ToolkitChange;
use crate::knowledge::set::Tables;

/// A value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Not said.
    Nothing,
    /// Words, versions, dates.
    Text(String),
    /// A number.
    Number(u32),
    /// A flag.
    Flag(bool),
    /// Several.
    List(Vec<Shown>),
    /// By name.
    Map(Vec<(String, Shown)>),
}

/// A row to show.
#[derive(Clone, Debug)]
pub struct ShownRow {
    /// Where it stands and where it comes from.
    pub info: &'static RowInfo,
    /// Its fields in the order of the table.
    pub fields: Vec<(&'static str, Shown)>,
}

/// A row that can be shown.
pub(super) trait ShowRow {
    /// Every field with its value.
    fn shown(&'static self) -> ShownRow;
}

/// A type of a field.
trait Show {
    fn show(&self) -> Shown;
}

macro_rules! shown_as_text {
    ($($name:ty)*) => {$(
        impl Show for $name {
            fn show(&self) -> Shown {
                Shown::Text(self.to_string())
            }
        }
    )*};
}

shown_as_text!(&'static str CudaVersion DriverVersion ComputeCapability Date);

macro_rules! shown_as_word {
    ($($name:ty)*) => {$(
        impl Show for $name {
            fn show(&self) -> Shown {
                Shown::Text(self.word().to_owned())
            }
        }
    )*};
}

shown_as_word!(How GpuClass CompatSelection ToolkitChange);

impl Show for CodeTarget {
    fn show(&self) -> Shown {
        Shown::Text(self.number())
    }
}

impl Show for u32 {
    fn show(&self) -> Shown {
        Shown::Number(*self)
    }
}

impl Show for u16 {
    fn show(&self) -> Shown {
        Shown::Number((*self).into())
    }
}

impl Show for bool {
    fn show(&self) -> Shown {
        Shown::Flag(*self)
    }
}

impl<T: Show> Show for Option<T> {
    fn show(&self) -> Shown {
        self.as_ref().map_or(Shown::Nothing, Show::show)
    }
}

impl<T: Show> Show for &'static [T] {
    fn show(&self) -> Shown {
        Shown::List(self.iter().map(Show::show).collect())
    }
}

impl<T: Show> Show for ByArch<T> {
    fn show(&self) -> Shown {
        Shown::Map(vec![(self.arch.to_owned(), self.value.show())])
    }
}

impl Show for (&'static str, &'static str) {
    fn show(&self) -> Shown {
        Shown::Map(vec![(self.0.to_owned(), self.1.show())])
    }
}

impl Show for BrandRow {
    fn show(&self) -> Shown {
        let fields = [
            ("brand", self.brand.show()),
            ("from_branch", self.from_branch.show()),
            ("up_to_branch", self.up_to_branch.show()),
        ];
        let said = fields.into_iter().filter(|(_, value)| *value != Shown::Nothing);
        Shown::Map(said.map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

macro_rules! show {
    ($($name:ident: $row:ident by [$($key:ident),*] { $($field:ident: $kind:expr),* $(,)? })*) => {
        $(impl ShowRow for rows::$row {
            fn shown(&'static self) -> ShownRow {
                ShownRow { info: &self.info, fields: vec![$((stringify!($field), self.$field.show())),*] }
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
