//! The smallest driver of a pool with which all its images start.

use std::collections::BTreeMap;

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

/// Seeks it: the first of all releases that the tables know to which all agree. Images that end alike everywhere are
/// tried once, and whether one starts at all is asked of the releases that the start-up can tell apart.
pub fn smallest(pool: &Pool, images: &[(&Images, usize)], knowledge: Knowledge) -> Smallest {
    let mut found = Smallest::default();
    let day = images.iter().find_map(|(images, _)| images.day());
    let drivers = releases(pool, knowledge);
    let tried: Vec<Vec<Host>> = drivers.iter().map(|driver| with_driver(pool, *driver).hosts(knowledge, day)).collect();
    if tried.is_empty() {
        found.open = (0..images.len()).collect();
        return found;
    }
    let mut alike: BTreeMap<usize, Able> = BTreeMap::new();
    let mut able: Vec<&Images> = Vec::new();
    for (at, (images, kind)) in images.iter().enumerate() {
        let ability = *alike.entry(*kind).or_insert_with(|| {
            let order = images.telling(pool, &drivers, knowledge);
            let ability = ability(images, order.into_iter().filter_map(|at| tried.get(at)), knowledge);
            if ability == Able::Starts {
                able.push(images);
            }
            ability
        });
        match ability {
            Able::Starts => {}
            Able::Open => found.open.push(at),
            Able::Never => found.never.push(at),
        }
    }
    if able.is_empty() {
        return found;
    }
    for (driver, hosts) in drivers.iter().zip(&tried) {
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

/// Whether images start with some driver.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Able {
    Starts,
    Open,
    Never,
}

fn ability<'a>(images: &Images, mut tried: impl Iterator<Item = &'a Vec<Host>>, knowledge: Knowledge) -> Able {
    let mut open = false;
    let starts = tried.any(|hosts| match images.on_hosts(hosts, knowledge) {
        End::Starts(_) | End::Nothing => true,
        End::Open => {
            open = true;
            false
        }
        End::Fails => false,
    });
    match (starts, open) {
        (true, _) => Able::Starts,
        (false, true) => Able::Open,
        (false, false) => Able::Never,
    }
}
