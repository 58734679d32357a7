//! Release dates of drivers, and the driver versions that a compat package had on a date.

use jiff::ToSpan as _;
use jiff::civil::Date;

use crate::cuda::{CudaVersion, DriverVersion};
use crate::knowledge::Knowledge;
use crate::knowledge::rows::DriverMoveRow;

/// Maximum delay between a driver release and its compat package, in days.
const MAX_PACKAGING_DELAY_DAYS: i32 = 180;

impl Knowledge {
    /// Returns the row of an Ubuntu package that no longer contains the driver branch in its name, such as
    /// `nvidia-driver-455`.
    pub fn moved_driver_package(self, package: &str) -> Option<&'static DriverMoveRow> {
        self.driver_moves().iter().find(|row| {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_holds_what_had_come_out_and_was_not_yet_followed() {
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
            // When the last of them came out no table says.
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
