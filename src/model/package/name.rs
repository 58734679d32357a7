//! Names of packages.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::model::package::PackageManager;

/// The name of a package or of an extra, in the form in which its package manager compares names.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PackageName(String);

impl PackageName {
    /// Returns the name of a Python distribution or extra, normalized (PEP 503): lower case, one `-` for every run of
    /// `-`, `_` and `.`.
    pub fn python(name: &str) -> Self {
        let mut out = String::with_capacity(name.len());
        for c in name.chars() {
            match c {
                '-' | '_' | '.' if out.ends_with('-') => {}
                '-' | '_' | '.' => out.push('-'),
                other => out.push(other.to_ascii_lowercase()),
            }
        }
        Self(out)
    }

    /// Returns the name of a conda package: lower case.
    pub fn conda(name: &str) -> Self {
        Self(name.to_ascii_lowercase())
    }

    /// Returns the name of a package of the system, which is compared as it is.
    pub fn system(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// Returns the name of a package of a package manager.
    pub fn new(manager: PackageManager, name: &str) -> Self {
        match manager {
            PackageManager::Pip => Self::python(name),
            PackageManager::Conda => Self::conda(name),
            PackageManager::System => Self::system(name),
        }
    }

    /// Returns the name as a text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for PackageName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for PackageName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for PackageName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<PackageName> for String {
    fn from(name: PackageName) -> Self {
        name.0
    }
}

impl fmt::Display for PackageName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl PartialEq<str> for PackageName {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for PackageName {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl PartialEq<String> for PackageName {
    fn eq(&self, other: &String) -> bool {
        self.0 == *other
    }
}

impl PartialEq<PackageName> for str {
    fn eq(&self, other: &PackageName) -> bool {
        *self == other.0
    }
}

impl PartialEq<PackageName> for &str {
    fn eq(&self, other: &PackageName) -> bool {
        **self == other.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_package_manager_compares_names_in_its_own_form() {
        for (name, expected) in [("Foo_Bar", "foo-bar"), ("a.-_b", "a-b"), ("torch", "torch"), ("-x-", "-x-"), ("", "")]
        {
            assert_eq!(PackageName::python(name), expected);
        }
        assert_eq!(PackageName::new(PackageManager::System, "libfoo_1.0"), "libfoo_1.0");
        assert_eq!(PackageName::new(PackageManager::Conda, "PyTorch_GPU"), "pytorch_gpu");
    }
}
