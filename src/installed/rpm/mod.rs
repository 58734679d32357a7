//! The database of RPM: a package is one header, kept in a table of `SQLite`, a Berkeley hash or RPM's own format.
//!
//! Only what the formats need for that is read here: a crate for `SQLite` would bring a C library of many times the
//! size of the rest, for one table of which the first kilobytes of each row count.

mod berkeley;
mod header;
mod ndb;
mod sqlite;

use crate::installed::Evidence;
use crate::installed::Manager;
use crate::installed::dpkg::List;

/// So much of a header is looked at: the signatures of a package's files stand before its name.
const HEADER: usize = 1 << 20;

/// What is done with the beginning of every header; none ends it all.
type Each<'a> = &'a mut dyn FnMut(&[u8]) -> Option<()>;

/// Packages in a database of `SQLite`, that of RPM 4.16 and later.
pub(super) fn sqlite(bytes: &[u8]) -> Vec<Evidence> {
    packages(|each| sqlite::headers(bytes, each))
}

/// Packages in a Berkeley hash, that of earlier ones.
pub(super) fn berkeley(bytes: &[u8]) -> Vec<Evidence> {
    packages(|each| berkeley::headers(bytes, each))
}

/// Packages in RPM's own format.
pub(super) fn ndb(bytes: &[u8]) -> Vec<Evidence> {
    packages(|each| ndb::headers(bytes, each))
}

/// The packages, or that nothing is known: half a list would be taken for the whole.
fn packages(headers: impl FnOnce(Each<'_>) -> Option<()>) -> Vec<Evidence> {
    let mut list = List::default();
    let mut push = |header: &[u8]| {
        let (name, version) = header::package(header)?;
        // Keys that packages are checked with are kept as if they were packages.
        if name != "gpg-pubkey" {
            list.push(Manager::Rpm, Some(name), Some(version));
        }
        Some(())
    };
    match headers(&mut push) {
        Some(()) => list.done(),
        None => Evidence::missed("an RPM database that is damaged or has an unknown format"),
    }
}

/// A number of four bytes at a place, big end first.
fn big(bytes: &[u8], at: usize) -> Option<usize> {
    let four: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    usize::try_from(u32::from_be_bytes(four)).ok()
}
