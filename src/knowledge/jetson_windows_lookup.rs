//! Lookup of drivers with their own numbering: Jetson modules, and Windows for WSL.

use crate::cuda::{CudaVersion, DriverVersion};
use crate::knowledge::Knowledge;
use crate::knowledge::rows::{JetsonReleaseRow, WindowsDriverRow};

impl Knowledge {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> DriverVersion {
        text.parse().expect(text)
    }

    #[test]
    fn a_modules_number_tells_its_release() {
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
    fn a_windows_number_tells_its_branch() {
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
