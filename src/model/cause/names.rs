//! Values with names in them, such as paths, addresses, builds, variables and packages.

use jiff::civil::Date;

use crate::cuda::{ComputeCapability, CudaVersion, DriverVersion};

/// A value with names in it.
pub(super) trait Names {
    /// Adds the names.
    fn add_names<'n>(&'n self, found: &mut Vec<&'n str>);
}

impl Names for str {
    fn add_names<'n>(&'n self, found: &mut Vec<&'n str>) {
        found.push(self);
    }
}

impl Names for String {
    fn add_names<'n>(&'n self, found: &mut Vec<&'n str>) {
        found.push(self);
    }
}

impl<T: Names + ?Sized> Names for Box<T> {
    fn add_names<'n>(&'n self, found: &mut Vec<&'n str>) {
        self.as_ref().add_names(found);
    }
}

impl<T: Names> Names for Option<T> {
    fn add_names<'n>(&'n self, found: &mut Vec<&'n str>) {
        if let Some(value) = self {
            value.add_names(found);
        }
    }
}

macro_rules! without_names {
    ($($type:ty),+) => { $(impl Names for $type { fn add_names<'n>(&'n self, _: &mut Vec<&'n str>) {} })+ };
}

without_names!(u32, usize, Date, ComputeCapability, CudaVersion, DriverVersion);
