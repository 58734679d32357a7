//! Names of build stages and of programs that show the purpose of an image.

use crate::knowledge::Knowledge;
use crate::knowledge::rows::{DriverProgramRow, MonitoringProgramRow};

/// Returns the program of a command line.
fn program_of(command: &str) -> &str {
    command.split(' ').next().unwrap_or(command)
}

impl Knowledge {
    /// Returns the row of a program that installs the driver of its node, by its command line.
    pub fn driver_program(self, command: &str) -> Option<&'static DriverProgramRow> {
        self.driver_programs().iter().find(|row| row.program == program_of(command))
    }

    /// Returns the row of a program that only queries GPUs, by its command line.
    pub fn monitoring_program(self, command: &str) -> Option<&'static MonitoringProgramRow> {
        self.monitoring_programs().iter().find(|row| row.program == program_of(command))
    }

    /// Returns the purpose of a build stage that is not shipped, by its name: `tests` of `integration-tests`.
    pub fn stage_purpose(self, name: &str) -> Option<&'static str> {
        let last = name.rsplit(['-', '_', '.']).next()?;
        let row = self.stage_names().iter().find(|row| last.eq_ignore_ascii_case(row.word))?;
        Some(row.purpose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_tells_whether_it_installs_a_driver() {
        let installs = |command: &str| Knowledge::built_in().driver_program(command).is_some();
        assert!(installs("nvidia-driver init") && installs("nvidia-driver"));
        for command in ["nvidia-driver-570", "nvidia-smi", "python nvidia-driver", "", "nvidia-device-plugin"] {
            assert!(!installs(command), "{command}");
        }
    }

    #[test]
    fn the_last_word_of_a_name_says_what_a_stage_is_for() {
        for (name, expected) in [
            ("test", Some("tests")),
            ("Test", Some("tests")),
            ("integration-tests", Some("tests")),
            ("test-coverage", Some("tests")),
            ("kernel_builder", Some("builds")),
            ("test-runtime", None),
            ("tested", None),
            ("latest", None),
            ("contest", None),
            ("build-and-serve", None),
            ("runtime", None),
            ("-", None),
            ("", None),
        ] {
            assert_eq!(Knowledge::built_in().stage_purpose(name), expected, "{name}");
        }
    }
}
