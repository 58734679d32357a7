//! The smallest driver of a pool with which all its images start.

use crate::cuda::DriverVersion;
use crate::fleet::Host;
use crate::fleet::Pool;
use crate::knowledge::Knowledge;
use crate::least::End;
use crate::least::Images;
use crate::least::releases;
use crate::least::with_driver;

/// What was found; images by their place in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Smallest {
    /// The smallest release with which all start that start with some.
    pub driver: Option<DriverVersion>,
    /// Those that fail with every release.
    pub never: Vec<usize>,
    /// Those that start with no release for certain.
    pub open: Vec<usize>,
}

/// Seeks it. Every release that the tables know is tried, the first that all agree to is taken.
pub fn smallest(pool: &Pool, images: &[&Images], knowledge: Knowledge) -> Smallest {
    let mut found = Smallest::default();
    let day = images.iter().find_map(|images| images.day());
    let tried: Vec<(DriverVersion, Vec<Host>)> = releases(pool, knowledge)
        .into_iter()
        .map(|driver| (driver, with_driver(pool, driver).hosts(knowledge, day)))
        .collect();
    if tried.is_empty() {
        found.open = (0..images.len()).collect();
        return found;
    }
    let mut able: Vec<&Images> = Vec::new();
    for (at, images) in images.iter().enumerate() {
        let mut open = false;
        let starts = tried.iter().rev().any(|(_, hosts)| match images.on_hosts(hosts, knowledge) {
            End::Starts(_) | End::Nothing => true,
            End::Open => {
                open = true;
                false
            }
            End::Fails => false,
        });
        match (starts, open) {
            (true, _) => able.push(images),
            (false, true) => found.open.push(at),
            (false, false) => found.never.push(at),
        }
    }
    if able.is_empty() {
        return found;
    }
    for (driver, hosts) in &tried {
        let fails = |images: &&Images| !matches!(images.on_hosts(hosts, knowledge), End::Starts(_) | End::Nothing);
        match able.iter().position(fails) {
            None => {
                found.driver = Some(*driver);
                break;
            }
            // What a driver was too old for is asked first of the next.
            Some(at) => able.swap(0, at),
        }
    }
    found
}
