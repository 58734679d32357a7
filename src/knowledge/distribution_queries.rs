//! Answers to queries about Python distributions.

use std::collections::BTreeSet;

use crate::knowledge::printable_rows::ShowRow;
use crate::knowledge::queries::{KnowledgeAnswer, nearest_keys};
use crate::knowledge::rows::FrameworkBuildRow;
use crate::knowledge::{CondaBuildRow, Knowledge};

impl Knowledge {
    /// Answers a query about a torch version, with or without a build such as `+cu124`.
    pub(super) fn query_torch(self, key: &str) -> KnowledgeAnswer {
        let key = key.strip_prefix("torch").unwrap_or(key).trim_start_matches(['=', ' ', 'v']);
        let mut answer = KnowledgeAnswer::default();
        let keys: Vec<String> = self.torch_releases().iter().map(|row| row.version.to_owned()).collect();
        answer.near = nearest_keys(key, &keys);
        let (version, variant) = key.split_once('+').map_or((key, None), |(version, variant)| (version, Some(variant)));
        let of = |row: &str| row == version || row.strip_prefix(version).is_some_and(|rest| rest.starts_with('.'));
        answer.rows.extend(self.torch_releases().iter().filter(|row| of(row.version)).map(ShowRow::shown));
        let builds = self.torch_builds().iter().filter(|row| of(row.version));
        let asked = builds.filter(|row| variant.is_none_or(|variant| row.variant == variant));
        answer.rows.extend(asked.map(ShowRow::shown));
        let of_conda = |row: &&CondaBuildRow| {
            self.conda_build(row.channel, version, row.variant).is_some_and(|one| one.first == row.first)
        };
        let asked = self
            .conda_builds()
            .iter()
            .filter(of_conda)
            .filter(|row| variant.is_none_or(|variant| row.variant == variant));
        answer.rows.extend(asked.map(ShowRow::shown));
        if answer.rows.is_empty() && self.is_newer_torch(version) {
            answer.note = Some(self.newer_than_database("torch release"));
        }
        answer
    }

    /// Answers a query about a distribution with GPU code, with or without a version.
    pub(super) fn query_framework(self, key: &str) -> KnowledgeAnswer {
        let mut answer = KnowledgeAnswer::default();
        let (name, version) = match key.split_once([' ', '=']) {
            Some((name, version)) => (name, Some(version.trim_start_matches(['=', ' ', 'v']))),
            None => (key, None),
        };
        let name = name.to_lowercase().replace(['_', '.'], "-");
        answer.push(self.framework(&name).map(ShowRow::shown));
        self.push_distribution_rows(&mut answer, &name, version);
        self.push_dependency_rows(&mut answer, &name, version);
        let builds = || self.framework_builds().iter().filter(|row| row.distribution == name);
        match version {
            None => answer.rows.extend(builds().map(ShowRow::shown)),
            Some(version) => {
                let build = self.framework_build(&name, version);
                let plugins = self.same_version_dependencies(&name);
                let own = || self.framework_builds().iter().filter(|row| row.distribution == name);
                let of_all =
                    own().chain(self.framework_builds().iter().filter(|row| plugins.contains(row.distribution)));
                let told = |row: &&FrameworkBuildRow| is_release_of(row.version, version);
                let several: Vec<&FrameworkBuildRow> = of_all.filter(told).collect();
                if build.is_none_or(|row| row.version == "*") && !several.is_empty() {
                    answer.rows.extend(several.into_iter().map(ShowRow::shown));
                    return answer;
                }
                let of_plugins = self.framework_builds().iter().filter(|row| plugins.contains(row.distribution));
                let mut keys: Vec<String> =
                    builds().chain(of_plugins).map(|row| format!("{name} {}", row.version)).collect();
                keys.dedup();
                answer.near = nearest_keys(key, &keys);
                let bundled = self.bundled_variants_of(&name, version).is_some();
                let floor = self.package_floor(&name, Some(version));
                if build.is_none() && !bundled && builds().next().is_some() {
                    answer.rows.clear();
                    answer.note = self.is_newer_framework(&name, version).then(|| self.newer_than_database("version"));
                } else if build.is_none() && !bundled && !answer.rows.is_empty() && floor.is_none() {
                    answer.note =
                        Some(format!("the compatibility database has no entry for single versions of {name}"));
                }
                answer.push(build.map(ShowRow::shown));
            }
        }
        if answer.rows.is_empty() && answer.near.is_empty() {
            let builds = self.framework_builds().iter().map(|row| row.distribution);
            let libraries = self.library_wheels().iter().map(|row| row.distribution);
            let mut keys: Vec<String> =
                self.frameworks().iter().map(|row| row.distribution).map(str::to_owned).collect();
            let bringing = self.brought_packages().iter().map(|row| row.distribution);
            keys.extend(builds.chain(libraries).chain(bringing).map(str::to_owned));
            keys.extend(["bitsandbytes", "triton"].map(str::to_owned));
            keys.sort();
            keys.dedup();
            answer.near = nearest_keys(&name, &keys);
        }
        answer
    }

    /// Adds rows about a distribution that is not a framework: CUDA libraries, bundled variants, Triton, arm64
    /// wheels.
    fn push_distribution_rows(self, answer: &mut KnowledgeAnswer, name: &str, version: Option<&str>) {
        answer.push(self.library_wheel(name).map(ShowRow::shown));
        let bundled = self.bundled_variants().iter().filter(|row| row.distribution == name);
        let triton = self.triton_compilers().iter().filter(|_| name == "triton");
        match version {
            None => {
                answer.rows.extend(bundled.map(ShowRow::shown));
                answer.rows.extend(triton.map(ShowRow::shown));
            }
            Some(version) => {
                let arm64 = self.arm64_builds().iter().filter(|row| row.distribution == name);
                answer.rows.extend(arm64.filter(|row| row.version == version).map(ShowRow::shown));
                answer.push(self.bundled_variants_of(name, version).map(ShowRow::shown));
                answer.rows.extend(
                    triton
                        .filter(|row| row.version == version || is_release_of(row.version, version))
                        .map(ShowRow::shown),
                );
            }
        }
    }

    /// Adds rows about the dependencies of a distribution and the GPU code that it compiles.
    fn push_dependency_rows(self, answer: &mut KnowledgeAnswer, name: &str, version: Option<&str>) {
        let compiled = self.cuda_extensions().iter().filter(|row| row.distribution == name);
        answer.rows.extend(compiled.map(ShowRow::shown));
        answer.push(self.package_floor(name, version).map(ShowRow::shown));
        let builds = self
            .same_version_dependencies(name)
            .into_iter()
            .filter_map(|plugin| self.framework_build(plugin, version?));
        answer.rows.extend(builds.filter(|row| Some(row.version) == version).map(ShowRow::shown));
        if version.is_none() {
            let brought = self.brought_packages().iter().filter(|row| row.distribution == name);
            answer.rows.extend(brought.map(ShowRow::shown));
        }
    }

    /// Whether the tables list dependencies of a distribution.
    pub(super) fn has_dependency_rows(self, name: &str) -> bool {
        self.brought_packages().iter().any(|row| row.distribution == name)
    }

    /// Returns the dependencies that have the same version as the distribution, such as the plugins of `jax`.
    fn same_version_dependencies(self, name: &str) -> BTreeSet<&'static str> {
        let brought = self.brought_packages().iter().filter(|row| row.distribution == name && row.same);
        brought.map(|row| row.brings).collect()
    }
}

/// Whether a version is a release of a shorter version: 1.18.1 of 1.18, but not 1.180.
fn is_release_of(version: &str, shorter: &str) -> bool {
    !shorter.is_empty() && version.strip_prefix(shorter).is_some_and(|rest| rest.starts_with('.'))
}
