//! Resources that all searches for fixes of one subject share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::civil::Date;

use crate::cuda::DriverVersion;
use crate::fix::ThreadBudget;
use crate::fix::minimum_driver::with_driver;
use crate::fleet::{Fleet, Pool};
use crate::judge::{AnalysisSettings, FleetHosts};

/// The largest number of hosts of pools with other drivers that are cached.
const MAX_CACHED_HOSTS: usize = 16_384;

/// The key of cached hosts: a pool by its name, a driver, and the day of the tables.
type DriverHostsKey = (String, DriverVersion, Option<Date>);

/// Resources that all searches for fixes of one subject share.
pub(super) struct SearchResources<'a> {
    /// The hosts of the fleet.
    pub(super) hosts: &'a FleetHosts,
    pub(super) threads: &'a ThreadBudget,
    upgraded: Mutex<(usize, BTreeMap<DriverHostsKey, Arc<FleetHosts>>)>,
}

impl<'a> SearchResources<'a> {
    pub(super) fn new(hosts: &'a FleetHosts, threads: &'a ThreadBudget) -> Self {
        Self { hosts, threads, upgraded: Mutex::new((MAX_CACHED_HOSTS, BTreeMap::new())) }
    }

    /// Returns the hosts of a pool with another driver on a day, as hosts of a fleet with that pool only.
    pub(super) fn hosts_with_driver(
        &self,
        pool: &Pool,
        driver: DriverVersion,
        day: Option<Date>,
        settings: AnalysisSettings<'_>,
    ) -> Arc<FleetHosts> {
        let key = (pool.name.value.clone(), driver, day);
        let kept = || self.upgraded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept().1.get(&key) {
            return Arc::clone(known);
        }
        let fleet = single_pool_fleet(with_driver(pool, driver), settings.fleet);
        let made = Arc::new(FleetHosts::for_fleet(AnalysisSettings { fleet: &fleet, as_of: day, ..settings }));
        let (room, all) = &mut *kept();
        if let Some(left) = room.checked_sub(made.of_pool(0).map_or(0, <[_]>::len)) {
            *room = left;
            all.insert(key, Arc::clone(&made));
        }
        made
    }
}

/// Returns a fleet that contains only one pool.
pub(super) fn single_pool_fleet(pool: Pool, fleet: &Fleet) -> Fleet {
    let Fleet { source, name, built_in, .. } = fleet;
    Fleet { source: *source, name: name.clone(), built_in: *built_in, pools: vec![pool] }
}
