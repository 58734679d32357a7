//! Reads the RPM database, which stores one header for each package in a `SQLite` table, a Berkeley DB hash or RPM's
//! own format.
//!
//! Only what the formats need for that is read here: a crate for `SQLite` would add a C library of many times the
//! size of the rest, for one table of which the first kilobytes of each row count.

mod berkeley;
mod header;
mod ndb;
mod sqlite;

use crate::layer::installed::FileEvidence;
use crate::layer::installed::text_databases::PackageList;

/// The number of bytes read of a header: the signatures of a package's files precede its name.
const MAX_HEADER_BYTES: usize = 1 << 20;

/// A callback for the start of every header; `None` ends the iteration.
type HeaderCallback<'a> = &'a mut dyn FnMut(&[u8]) -> Option<()>;

/// Reads the packages in a `SQLite` database, of RPM 4.16 and later.
pub(super) fn read_sqlite_packages(bytes: &[u8]) -> Vec<FileEvidence> {
    collect_packages(|each| sqlite::visit_headers(bytes, each))
}

/// Reads the packages in a Berkeley DB hash, of earlier RPM versions.
pub(super) fn read_berkeley_packages(bytes: &[u8]) -> Vec<FileEvidence> {
    collect_packages(|each| berkeley::visit_headers(bytes, each))
}

/// Reads the packages in RPM's own database format.
pub(super) fn read_ndb_packages(bytes: &[u8]) -> Vec<FileEvidence> {
    collect_packages(|each| ndb::visit_headers(bytes, each))
}

/// Returns all packages, or evidence of a damaged database: a part of a list would be taken for the whole.
fn collect_packages(headers: impl FnOnce(HeaderCallback<'_>) -> Option<()>) -> Vec<FileEvidence> {
    let mut list = PackageList::default();
    let mut push = |header: &[u8]| {
        let (name, version) = header::package_name_and_version(header)?;
        // Keys that packages are checked with are kept as if they were packages.
        if name != "gpg-pubkey" {
            list.push(Some(name), Some(version));
        }
        Some(())
    };
    match headers(&mut push) {
        Some(()) => list.finish(),
        None => FileEvidence::not_inspected("an RPM database that is damaged or has an unknown format"),
    }
}

/// Reads a big-endian 32-bit number at an offset.
fn read_be_u32(bytes: &[u8], at: usize) -> Option<usize> {
    let four: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    usize::try_from(u32::from_be_bytes(four)).ok()
}
