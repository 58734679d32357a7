//! Rows by distribution name: indexes for fast lookup in long package lists.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::OnceLock;

use crate::knowledge::Knowledge;
use crate::knowledge::rows::{
    CudaVersionSuffixRow, FrameworkRow, GpuPackageRow, LibraryWheelRow, PackageWithoutCudaRow, RequiresDistRow,
    WheelPythonRow,
};

/// A fast hasher for names of the tables, which no attacker chooses; see `FxHash` of the Rust compiler.
#[derive(Clone, Copy, Default)]
struct NameHasher(u64);

/// Multiplier of `FxHash`.
const FACTOR: u64 = 0x517c_c1b7_2722_0a95;

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            self.write_u64(rest.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(FACTOR);
    }

    fn finish(&self) -> u64 {
        // The low bits choose the place, and a product leaves them the poorest.
        self.0 ^ self.0 >> 32
    }
}

/// The rows of a table by name.
type RowsByName<R> = HashMap<&'static str, Vec<&'static R>, BuildHasherDefault<NameHasher>>;

/// An index of one built-in table by name, created on first use; its rows keep the order of the table.
struct LazyNameIndex<R: 'static>(OnceLock<RowsByName<R>>);

impl<R> LazyNameIndex<R> {
    const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Returns the rows with a name; tables with rows of a user are searched linearly.
    fn rows_named<'a>(
        &'static self,
        knowledge: Knowledge,
        rows: &'static [R],
        name_of: fn(&R) -> &'static str,
        name: &'a str,
    ) -> impl Iterator<Item = &'static R> + Clone + use<'a, R> {
        let built_in = knowledge.is_built_in();
        let by_name = || {
            self.0.get_or_init(|| {
                let mut found: RowsByName<R> = HashMap::default();
                for row in rows {
                    found.entry(name_of(row)).or_default().push(row);
                }
                found
            })
        };
        let known: &'static [&'static R] =
            if built_in { by_name().get(name).map_or(&[], Vec::as_slice) } else { Default::default() };
        let others = if built_in { &[] } else { rows };
        known.iter().copied().chain(others.iter().filter(move |row| name_of(row) == name))
    }
}

macro_rules! by_name {
    ($($(#[$doc:meta])* $name:ident: $row:ident by $key:ident in $rows:expr;)*) => {
        impl Knowledge {
            $($(#[$doc])*
            pub fn $name(self, $key: &str) -> impl Iterator<Item = &'static $row> + Clone + use<'_> {
                static ROWS: LazyNameIndex<$row> = LazyNameIndex::new();
                let rows: fn(Knowledge) -> &'static [$row] = $rows;
                ROWS.rows_named(self, rows(self), |row| row.$key, $key)
            })*
        }
    };
}

by_name! {
    /// What the releases of a distribution and their extras require of other packages.
    requirements_of: RequiresDistRow by distribution in |all| all.requires_dist();
    /// What other distributions require of a package.
    requirements_on: RequiresDistRow by package in |all| all.requires_dist();
    /// What a distribution is, where it has GPU code: one row, or none.
    frameworks_of: FrameworkRow by distribution in |all| all.frameworks();
    /// How the versions of a distribution say their CUDA.
    cuda_locals_of: CudaVersionSuffixRow by distribution in |all| all.cuda_version_suffixes();
    /// Where a distribution has a library of the CUDA toolkit: one row, or none.
    library_wheels_of: LibraryWheelRow by distribution in |all| all.library_wheels();
    /// Where a distribution calls CUDA and does not say which: one row, or none.
    gpu_packages_of: GpuPackageRow by distribution in |all| all.gpu_packages();
    /// Whether a distribution contains no CUDA library: one row if so, otherwise none.
    library_free_of: PackageWithoutCudaRow by distribution in |all| all.packages_without_cuda_libraries();
    /// For which processors and Pythons a distribution has wheels.
    wheel_pythons_of: WheelPythonRow by distribution in |all| all.wheel_pythons();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_a_name_are_those_of_the_table_in_its_order() {
        let knowledge = Knowledge::built_in();
        for name in ["torchvision", "vllm", "torch", "Torchvision", "torchvisio", "torchvision ", "numpy", ""] {
            let all = knowledge.requires_dist().iter().filter(|row| row.distribution == name);
            let (found, all): (Vec<_>, Vec<_>) = (knowledge.requirements_of(name).collect(), all.collect());
            assert_eq!(found.len(), all.len(), "{name}");
            assert!(found.iter().zip(&all).all(|(one, other)| std::ptr::eq(*one, *other)), "{name}");
        }
    }

    #[test]
    fn tables_of_a_users_own_have_their_rows_too() {
        let own: &'static _ = Box::leak(Box::new(*Knowledge::built_in().tables()));
        let knowledge = Knowledge::from_tables(own);
        for (name, expected) in [("torch", 1), ("onnxruntime-gpu", 1), ("numpy", 0), ("", 0)] {
            assert_eq!(knowledge.frameworks_of(name).count(), expected, "{name}");
            assert_eq!(Knowledge::built_in().frameworks_of(name).count(), expected, "{name}");
        }
    }
}
