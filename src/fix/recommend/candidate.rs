//! A candidate combination: releases on a base image, as the head of a Dockerfile.

use std::fmt::Write as _;

use crate::fix::recommend::base_image::{BaseCandidate, python_install_commands};
use crate::fix::recommend::release::CandidateRelease;
use crate::knowledge::Knowledge;
use crate::replay::GKE_DRIVER_DIRECTORY;

/// Virtual environment for Python packages if the system Python accepts none.
const VENV_DIRECTORY: &str = "/opt/venv";

/// Virtual environment with uv, which installs another Python.
const UV_DIRECTORY: &str = "/opt/uv";
/// Directory of the Python versions that uv installs.
const UV_PYTHON_DIRECTORY: &str = "/opt/python";

/// Separator between two commands of one instruction.
const COMMAND_SEPARATOR: &str = " \\\n && ";

/// Environment variables that a Dockerfile sets for GPU access in addition to its base image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GpuEnvironment {
    /// No variables.
    Nothing,
    /// Variables that request GPUs.
    Gpus,
    /// Also the library path of the directory where some nodes mount the driver.
    Driver,
}

/// A candidate combination of releases and base image.
#[derive(Clone, Debug)]
pub(super) struct CandidateImage<'a> {
    pub(super) candidate_releases: Vec<&'a CandidateRelease>,
    pub(super) base: BaseCandidate,
    /// The environment variables for GPU access.
    pub(super) gpu_environment: GpuEnvironment,
}

impl CandidateImage<'_> {
    /// Returns the chosen releases as requirement specifiers.
    pub(super) fn packages_text(&self) -> String {
        self.candidate_releases.iter().map(|choice| choice.display_name()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the pip commands, one for each index.
    pub(super) fn pip_commands(&self, knowledge: Knowledge) -> Vec<String> {
        let page = self.candidate_releases.iter().find_map(|choice| choice.page.as_deref());
        let mut of_page = Vec::new();
        let mut others = Vec::new();
        for choice in self.candidate_releases.iter().filter(|choice| !choice.spec.is_empty()) {
            // What has builds on an index of its own is taken from the one of the framework.
            let there = choice.page.is_some() || (page.is_some() && knowledge.has_build_index(&choice.name));
            if there { &mut of_page } else { &mut others }.push(shell_quote(&choice.spec));
        }
        let mut lines = Vec::new();
        if let (Some(page), false) = (page, of_page.is_empty()) {
            lines.push(format!("pip install --no-cache-dir {} --index-url {page}", of_page.join(" ")));
        }
        if !others.is_empty() {
            lines.push(format!("pip install --no-cache-dir {}", others.join(" ")));
        }
        lines
    }

    /// Returns the head of a Dockerfile.
    pub(super) fn dockerfile(&self, knowledge: Knowledge) -> String {
        let mut text = format!("FROM {}\n", self.base.reference);
        if self.gpu_environment != GpuEnvironment::Nothing
            && let Some(row) = knowledge.cuda_images().last()
        {
            let (devices, capabilities) = (row.visible_devices, row.driver_capabilities);
            let _ = writeln!(text, "ENV NVIDIA_VISIBLE_DEVICES={devices} NVIDIA_DRIVER_CAPABILITIES={capabilities}");
        }
        if self.gpu_environment == GpuEnvironment::Driver {
            let _ = writeln!(text, "ENV LD_LIBRARY_PATH={GKE_DRIVER_DIRECTORY}");
        }
        let pip = self.pip_commands(knowledge);
        if self.base.bare && !pip.is_empty() {
            let _ = write!(
                text,
                "RUN {}",
                python_install_commands(&self.base.reference, knowledge).join(COMMAND_SEPARATOR)
            );
            let _ = match self.base.python.filter(|_| self.base.fetched) {
                Some(python) => writeln!(
                    text,
                    "{COMMAND_SEPARATOR}python3 -m venv {UV_DIRECTORY} \\\n \
                     && {UV_DIRECTORY}/bin/pip install --no-cache-dir uv \\\n \
                     && UV_PYTHON_INSTALL_DIR={UV_PYTHON_DIRECTORY} {UV_DIRECTORY}/bin/uv venv --seed --python {python} {VENV_DIRECTORY}"
                ),
                None => writeln!(text, "{COMMAND_SEPARATOR}python3 -m venv {VENV_DIRECTORY}"),
            };
            let _ = writeln!(text, "ENV PATH={VENV_DIRECTORY}/bin:$PATH");
        }
        for line in pip {
            let _ = writeln!(text, "RUN {line}");
        }
        text
    }
}

/// Quotes a specifier for a shell if it has brackets, which are patterns.
fn shell_quote(spec: &str) -> String {
    if spec.contains('[') { format!("'{spec}'") } else { spec.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fix::recommend::base_image::BaseImageKind;
    use crate::knowledge::ParsedText;
    use crate::model::package::PackageName;

    fn choice(name: &'static str, spec: &str, page: Option<&str>) -> CandidateRelease {
        CandidateRelease {
            name: PackageName::python(name),
            extras: Vec::new(),
            code: name,
            version: ParsedText::leak("1"),
            build: None,
            spec: spec.to_owned(),
            page: page.map(str::to_owned),
            cuda: None,
            within: None,
        }
    }

    fn text(candidate_releases: Vec<&CandidateRelease>, installs: bool, gpu_environment: GpuEnvironment) -> String {
        let base = BaseCandidate {
            reference: "a:1".to_owned(),
            kind: BaseImageKind::Given,
            python: None,
            bare: installs,
            fetched: false,
            cuda: None,
            larger: None,
            older: None,
        };
        CandidateImage { candidate_releases, base, gpu_environment }.dockerfile(Knowledge::built_in())
    }

    #[test]
    fn each_index_has_a_command_of_its_own() {
        let torch = choice("torch", "torch==2.6.0+cu118", Some("https://x/cu118"));
        let (vision, other) = (choice("torchvision", "torchvision==0.21.0", None), choice("a", "a[b]==1", None));
        assert_eq!(
            text(vec![&torch, &vision, &other], false, GpuEnvironment::Nothing),
            "FROM a:1\nRUN pip install --no-cache-dir torch==2.6.0+cu118 torchvision==0.21.0 --index-url https://x/cu118\n\
             RUN pip install --no-cache-dir 'a[b]==1'\n"
        );
        assert_eq!(
            text(vec![&vision], false, GpuEnvironment::Nothing),
            "FROM a:1\nRUN pip install --no-cache-dir torchvision==0.21.0\n"
        );
    }

    #[test]
    fn generated_dockerfile_contains_only_needed_lines() {
        let within = choice("torch", "", None);
        assert_eq!(text(vec![&within], true, GpuEnvironment::Nothing), "FROM a:1\n");
        let bare = text(vec![&choice("a", "a==1", None)], true, GpuEnvironment::Gpus);
        assert!(
            bare.contains("ENV NVIDIA_VISIBLE_DEVICES=all ") && bare.contains("python3 -m venv /opt/venv\n"),
            "{bare}"
        );
        assert!(!bare.contains("LD_LIBRARY_PATH"), "{bare}");
        let driver = text(vec![&choice("a", "a==1", None)], true, GpuEnvironment::Driver);
        let line = "ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib64\n";
        assert!(driver.contains(line) && driver.replace(line, "") == bare, "{driver}");
    }
}
