//! Means: what all searches for one subject share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use jiff::civil::Date;

use crate::cuda::DriverVersion;
use crate::cure::Crew;
use crate::fleet::Fleet;
use crate::fleet::Pool;
use crate::judge::Hosts;
use crate::judge::Settings;
use crate::least::with_driver;

/// So many hosts of pools with other drivers are kept.
const ROOM: usize = 16_384;

/// A pool by its name, a driver, and the day for which tables are asked.
type Asked = (String, DriverVersion, Option<Date>);

/// What all searches for one subject share.
pub(super) struct Means<'a> {
    /// The hosts of the fleet.
    pub(super) hosts: &'a Hosts,
    pub(super) crew: &'a Crew,
    upgraded: Mutex<(usize, BTreeMap<Asked, Arc<Hosts>>)>,
}

impl<'a> Means<'a> {
    pub(super) fn new(hosts: &'a Hosts, crew: &'a Crew) -> Self {
        Self { hosts, crew, upgraded: Mutex::new((ROOM, BTreeMap::new())) }
    }

    /// The hosts of a pool with another driver on a day: those of a fleet that has no other pool.
    pub(super) fn upgraded(
        &self,
        pool: &Pool,
        driver: DriverVersion,
        day: Option<Date>,
        settings: Settings<'_>,
    ) -> Arc<Hosts> {
        let asked = (pool.name.value.clone(), driver, day);
        let kept = || self.upgraded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept().1.get(&asked) {
            return Arc::clone(known);
        }
        let fleet = alone(with_driver(pool, driver), settings.fleet);
        let made = Arc::new(Hosts::of(Settings { fleet: &fleet, as_of: day, ..settings }));
        let (room, all) = &mut *kept();
        if let Some(left) = room.checked_sub(made.of_pool(0).map_or(0, <[_]>::len)) {
            *room = left;
            all.insert(asked, Arc::clone(&made));
        }
        made
    }
}

/// A fleet that has one pool alone.
pub(super) fn alone(pool: Pool, fleet: &Fleet) -> Fleet {
    let Fleet { source, name, built_in, .. } = fleet;
    Fleet { source: *source, name: name.clone(), built_in: *built_in, pools: vec![pool] }
}
