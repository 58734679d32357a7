//! Queries about drivers, the NVIDIA container toolkit and the platforms that they run on.

use jiff::ToSpan as _;
use jiff::civil::Date;

use crate::cuda::{CudaVersion, DriverVersion};
use crate::knowledge::Knowledge;
use crate::knowledge::rows::{
    ContainerToolkitRow, JetsonReleaseRow, ToolkitChange, TransitionalDriverRow, WindowsDriverRow,
};

/// Maximum delay between a driver release and its compat package, in days.
const MAX_PACKAGING_DELAY_DAYS: i32 = 180;

/// Years after which a superseded toolkit range is no longer assumed on new hosts.
///
/// Nodes get driver and toolkit from the same hands: distributions and cloud images carry releases that are up to two
/// years old. The third year is for those who keep one of them back.
const YEARS_IN_USE: i16 = 3;

/// A set of toolkit changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolkitChanges(u32);

impl Knowledge {
    /// Returns the row of an Ubuntu package that no longer contains the driver branch in its name, such as
    /// `nvidia-driver-455`.
    pub fn moved_driver_package(self, package: &str) -> Option<&'static TransitionalDriverRow> {
        self.transitional_driver_packages().iter().find(|row| {
            let (number, kind) =
                row.name.split_once('-').map_or((row.name, None), |(number, kind)| (number, Some(kind)));
            let mut parts = package.split('-').skip_while(|part| *part != number);
            parts.next().is_some() && parts.find(|part| *part != "open") == kind
        })
    }

    /// Returns the release date of a driver, if it is known.
    pub fn driver_release_date(self, version: DriverVersion) -> Option<Date> {
        self.driver_releases().iter().find(|row| row.version == version).map(|row| row.released)
    }

    /// Returns the driver versions that the compat package of a CUDA version may contain if it was installed between
    /// two dates.
    ///
    /// One whose day is not known may have been there all the time; the oldest came with the toolkit.
    pub fn compat_versions_between(self, cuda: CudaVersion, from: Date, to: Date) -> Vec<DriverVersion> {
        let all = self.compat_package(cuda).map_or(&[][..], |row| row.versions);
        let toolkit = self.toolkits().iter().find(|row| row.version == cuda).and_then(|row| row.bundled_driver);
        let versions = all.get(all.partition_point(|version| Some(*version) < toolkit)..).unwrap_or_default();
        let versions = if versions.is_empty() { all } else { versions };
        let out = |version: &DriverVersion| self.driver_release_date(*version);
        let packed = |day: Date| day.saturating_add(MAX_PACKAGING_DELAY_DAYS.days());
        let there = |at: usize, version: &DriverVersion| {
            let begun = at == 0 || out(version).is_none_or(|day| day <= to);
            let mut later = versions.iter().skip(at + 1);
            begun && !later.any(|next| out(next).is_some_and(|day| packed(day) <= from))
        };
        versions.iter().enumerate().filter(|(at, version)| there(*at, version)).map(|(_, version)| *version).collect()
    }

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

    /// Returns the Jetson release with a driver version: the row with the longest matching prefix.
    pub fn jetson_release(self, driver: DriverVersion) -> Option<&'static JetsonReleaseRow> {
        let rows = self.jetson_releases().iter().filter(|row| driver.0.starts_with(row.driver.0));
        rows.filter(|row| row.driver.0.len() <= driver.0.len()).max_by_key(|row| row.driver.0.len())
    }

    /// Whether Jetson modules with a CUDA version have NVML; `None` if no release is known.
    pub fn jetson_has_nvml(self, cuda: CudaVersion) -> Option<bool> {
        let mut rows = self.jetson_releases().iter().filter(|row| row.cuda.release() == cuda.release());
        let first = rows.next()?.nvml;
        rows.all(|row| row.nvml == first).then_some(first)
    }

    /// Returns the range of a Windows driver version, which determines its driver branch.
    pub fn windows_driver(self, driver: DriverVersion) -> Option<&'static WindowsDriverRow> {
        let number = driver.branch();
        self.windows_drivers().iter().find(|row| row.from <= number && number < row.before)
    }
}

impl ToolkitChanges {
    /// Returns the set of the changes for which `has_come` is true.
    pub fn matching(has_come: impl Fn(ToolkitChange) -> bool) -> Self {
        let come = ToolkitChange::ALL.iter().copied().filter(|change| has_come(*change));
        Self(come.fold(0, |set, change| set | 1 << change as u32))
    }

    /// Whether the set contains a change.
    pub const fn contains(self, change: ToolkitChange) -> bool {
        self.0 & 1 << change as u32 != 0
    }
}

#[cfg(test)]
mod driver_rows_tests {
    use super::*;

    #[test]
    fn driver_package_contains_releases_current_in_its_period() {
        for (cuda, from, to, expected) in [
            ("11.2", "2021-04-01", "2021-06-29", &["460.32.03"][..]),
            ("11.2", "2021-04-01", "2021-10-26", &["460.32.03", "460.106.00"]),
            ("11.2", "2021-10-26", "2021-12-01", &["460.32.03", "460.106.00"]),
            ("11.2", "2022-05-01", "2022-12-01", &["460.106.00"]),
            ("11.2", "2020-01-01", "2020-01-02", &["460.32.03"]),
            ("12.4", "2024-04-01", "2024-05-01", &["550.54.14", "550.54.15"]),
            ("12.4.1", "2024-04-01", "2024-05-01", &["550.54.15"]),
            // The image of 12.8.0 holds 570.86.10, although 570.86.15 was out when it was built.
            ("12.8.0", "2025-01-28", "2025-02-28", &["570.86.10", "570.86.15"]),
            ("12.8.1", "2025-03-11", "2025-03-31", &["570.124.06"]),
            // The tables do not contain the date of the last of them.
            ("10.2", "2020-01-01", "2020-06-01", &["440.33.01", "440.64.00", "440.118.02"]),
            ("12.1", "2030-01-01", "2031-01-01", &["530.30.02"]),
            ("9.0", "2020-01-01", "2020-06-01", &[]),
        ] {
            let day = |day: &str| day.parse().expect(day);
            let found = Knowledge::built_in().compat_versions_between(cuda.parse().expect(cuda), day(from), day(to));
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{cuda} {from} {to}");
        }
    }
}

#[cfg(test)]
mod toolkit_lookup_tests {
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
    fn a_range_is_represented_by_a_release_available_on_the_day() {
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

#[cfg(test)]
mod toolkit_changes_tests {
    use super::*;

    #[test]
    fn a_set_contains_exactly_its_changes() {
        for change in ToolkitChange::ALL.iter().copied() {
            let set = ToolkitChanges::matching(|one| one == change);
            for other in ToolkitChange::ALL.iter().copied() {
                assert_eq!(set.contains(other), other == change, "{change:?} {other:?}");
            }
            assert!(!ToolkitChanges::default().contains(change));
        }
    }
}

#[cfg(test)]
mod jetson_windows_lookup_tests {
    use super::*;

    fn version(text: &str) -> DriverVersion {
        text.parse().expect(text)
    }

    #[test]
    fn jetson_module_version_selects_its_cuda_release() {
        for (driver, expected) in [
            ("36.4.3", Some("12.6")),
            ("36.4", Some("12.6")),
            ("36.3.0", Some("12.2")),
            ("35.4.1", Some("11.4")),
            ("35", Some("11.4")),
            ("540.4.0", Some("12.6")),
            ("580.00", Some("13.0")),
            ("36", None),
            ("540", None),
            ("36.40.1", None),
            ("535.54.03", None),
            ("580.65.06", None),
        ] {
            let found = Knowledge::built_in().jetson_release(version(driver)).map(|row| row.cuda.to_string());
            assert_eq!(found.as_deref(), expected, "{driver}");
        }
    }

    #[test]
    fn modules_have_nvml_since_a_release() {
        for (cuda, expected) in
            [("10.2", Some(false)), ("11.4", Some(false)), ("12.2", Some(true)), ("12.6", Some(true)), ("12.4", None)]
        {
            assert_eq!(Knowledge::built_in().jetson_has_nvml(cuda.parse().expect(cuda)), expected, "{cuda}");
        }
    }

    #[test]
    fn windows_driver_version_selects_its_branch() {
        for (driver, expected) in [
            ("531.61", Some(530)),
            ("535.98", Some(535)),
            ("538.95", Some(535)),
            ("552.44", Some(550)),
            ("577.00", Some(575)),
            ("581.80", Some(580)),
            ("472.12", Some(470)),
            ("541.00", None),
            ("480.10", None),
            ("999.99", None),
        ] {
            let found = Knowledge::built_in().windows_driver(version(driver)).map(|row| row.branch);
            assert_eq!(found, expected, "{driver}");
        }
    }
}
