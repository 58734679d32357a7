//! The container toolkit versions that a host may have.

use jiff::ToSpan;
use jiff::civil::Date;

use crate::cuda::{CudaVersion, DriverVersion};
use crate::knowledge::Knowledge;
use crate::knowledge::rows::ContainerToolkitRow;

/// Years after which a superseded toolkit range is no longer assumed on new hosts.
///
/// Nodes get driver and toolkit from the same hands: distributions and cloud images carry releases that are up to two
/// years old. The third year is for those who keep one of them back.
const YEARS_IN_USE: i16 = 3;

impl Knowledge {
    /// Returns the first toolkit version that selects a mode automatically, if the tables have one.
    pub fn first_toolkit_with_mode(self, mode: &str) -> Option<CudaVersion> {
        self.container_toolkits().iter().find(|row| row.auto_mode == mode).map(|row| row.from)
    }

    /// Returns the version that represents a toolkit range on a date: its newest release then, otherwise the oldest
    /// known.
    pub fn representative_toolkit(self, row: &ContainerToolkitRow, as_of: Option<Date>) -> CudaVersion {
        let Some(day) = as_of else { return row.sample };
        let in_range = |version: CudaVersion| row.from <= version && row.before.is_none_or(|before| version < before);
        let known = || self.container_toolkit_days().iter().filter(|one| in_range(one.version));
        let newest = known().filter(|one| one.released <= day).map(|one| one.version).max();
        // Of a day before all of them the oldest stands for what there was.
        let oldest = || known().map(|one| one.version).min();
        newest.or_else(oldest).map_or(row.sample, |version| version.min(row.sample))
    }

    /// Returns the toolkit ranges that a host without a declared toolkit may have: neither released after `as_of` nor
    /// superseded long before.
    pub fn toolkits_in_use(
        self,
        driver: Option<DriverVersion>,
        as_of: Option<Date>,
    ) -> impl Iterator<Item = &'static ContainerToolkitRow> {
        let rows = self.container_toolkits();
        let driver = driver.and_then(|driver| self.driver_branch(driver.branch())).and_then(|row| row.released);
        let since = driver.max(as_of);
        // A range of which the day is not known came no earlier than the one before it.
        let begun = move |at: usize| {
            let released = rows.get(..=at).into_iter().flatten().rev().find_map(|row| row.released);
            as_of.is_none_or(|day| released.is_none_or(|released| released <= day))
        };
        let current = move |at: usize| {
            let superseded = rows.get(at + 1..).into_iter().flatten().find_map(|next| next.released);
            match (superseded, since) {
                (Some(superseded), Some(since)) => {
                    superseded.checked_add(YEARS_IN_USE.years()).is_ok_and(|last| since <= last)
                }
                _ => true,
            }
        };
        rows.iter().enumerate().filter(move |(at, _)| begun(*at) && current(*at)).map(|(_, row)| row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(driver: Option<&str>, as_of: Option<&str>) -> Vec<String> {
        let driver = driver.map(|driver| driver.parse().expect(driver));
        let as_of = as_of.map(|day| day.parse().expect(day));
        let rows = Knowledge::built_in().toolkits_in_use(driver, as_of);
        rows.map(|row| row.sample.to_string()).collect()
    }

    #[test]
    fn nothing_is_left_out_where_no_day_is_known() {
        let all = Knowledge::built_in().container_toolkits().len();
        assert_eq!(samples(None, None).len(), all);
        assert_eq!(samples(Some("99999.1"), None).len(), all, "a driver that no table has");
        assert_eq!(samples(Some("450.80.02"), None).len(), all, "a driver without a date");
    }

    #[test]
    fn a_range_superseded_long_before_is_left_out_and_a_current_one_never() {
        for (driver, as_of, sample, expected) in [
            (Some("535.171.04"), Some("2024-06-06"), "1.3.0", false),
            (Some("535.171.04"), Some("2024-06-06"), "1.14.3", true),
            (Some("535.171.04"), Some("2023-12-01"), "1.3.0", true),
            (Some("535.171.04"), None, "1.3.0", true),
            (Some("580.65.06"), None, "1.3.0", false),
            (Some("580.65.06"), None, "1.14.3", true),
            (Some("450.80.02"), Some("2020-12-11"), "1.3.0", true),
            (Some("450.80.02"), Some("2020-12-11"), "1.14.3", false),
            (None, Some("2024-06-06"), "1.17.4", false),
        ] {
            let found = samples(driver, as_of).iter().any(|found| found == sample);
            assert_eq!(found, expected, "{sample} with {driver:?} as of {as_of:?}");
        }
    }

    #[test]
    fn a_range_is_told_by_a_release_that_was_out() {
        let knowledge = Knowledge::built_in();
        let sample = |version: &str, day: Option<&str>| {
            let row = knowledge.container_toolkit(version.parse().expect(version)).expect("a range");
            knowledge.representative_toolkit(row, day.map(|day| day.parse().expect(day))).to_string()
        };
        for (of, day, expected) in [
            ("1.14.3", None, "1.14.3"),
            ("1.14.3", Some("2021-06-29"), "1.5.1"),
            ("1.14.3", Some("2021-06-13"), "1.5.0"),
            ("1.14.3", Some("2020-12-14"), "1.4.0"),
            ("1.14.3", Some("2023-10-18"), "1.14.2"),
            // A later one of the range stands for nothing else.
            ("1.14.3", Some("2024-12-31"), "1.14.3"),
            ("1.3.0", Some("2021-06-29"), "1.3.0"),
            ("1.3.0", Some("2020-07-21"), "1.2.0"),
            // Before the first of which a day is known.
            ("1.3.0", Some("2018-01-01"), "1.0.0"),
            ("1.3.0", Some("2019-03-03"), "1.0.2"),
            ("1.20.0", Some("2026-09-01"), "1.20.0"),
        ] {
            assert_eq!(sample(of, day), expected, "{of} {day:?}");
        }
    }
}
