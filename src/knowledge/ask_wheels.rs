//! What the tables say of Python distributions that a person names.

use std::collections::BTreeSet;

use crate::knowledge::CondaBuildRow;
use crate::knowledge::Knowledge;
use crate::knowledge::ask::Answer;
use crate::knowledge::ask::near;
use crate::knowledge::rows::FrameworkBuildRow;
use crate::knowledge::shown::ShowRow;

impl Knowledge {
    pub(super) fn ask_torch(self, key: &str) -> Answer {
        let key = key.strip_prefix("torch").unwrap_or(key).trim_start_matches(['=', ' ', 'v']);
        let mut answer = Answer::default();
        let keys: Vec<String> = self.torch_releases().iter().map(|row| row.version.to_owned()).collect();
        answer.near = near(key, &keys);
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
        if answer.rows.is_empty() && self.newer_torch(version) {
            answer.note = Some(self.newer("torch release"));
        }
        answer
    }

    pub(super) fn ask_framework(self, key: &str) -> Answer {
        let mut answer = Answer::default();
        let (name, version) = match key.split_once([' ', '=']) {
            Some((name, version)) => (name, Some(version.trim_start_matches(['=', ' ', 'v']))),
            None => (key, None),
        };
        let name = name.to_lowercase().replace(['_', '.'], "-");
        answer.push(self.framework(&name).map(ShowRow::shown));
        self.push_wheels(&mut answer, &name, version);
        self.push_brought(&mut answer, &name, version);
        let builds = || self.framework_builds().iter().filter(|row| row.distribution == name);
        match version {
            None => answer.rows.extend(builds().map(ShowRow::shown)),
            Some(version) => {
                let build = self.framework_build(&name, version);
                let plugins = self.plugins(&name);
                let own = || self.framework_builds().iter().filter(|row| row.distribution == name);
                let of_all =
                    own().chain(self.framework_builds().iter().filter(|row| plugins.contains(row.distribution)));
                let told = |row: &&FrameworkBuildRow| begins(row.version, version);
                let several: Vec<&FrameworkBuildRow> = of_all.filter(told).collect();
                if build.is_none_or(|row| row.version == "*") && !several.is_empty() {
                    answer.rows.extend(several.into_iter().map(ShowRow::shown));
                    return answer;
                }
                let of_plugins = self.framework_builds().iter().filter(|row| plugins.contains(row.distribution));
                let mut keys: Vec<String> =
                    builds().chain(of_plugins).map(|row| format!("{name} {}", row.version)).collect();
                keys.dedup();
                answer.near = near(key, &keys);
                let bundled = self.bundled_variants_of(&name, version).is_some();
                let floor = self.package_floor(&name, Some(version));
                if build.is_none() && !bundled && builds().next().is_some() {
                    answer.rows.clear();
                    answer.note = self.newer_framework(&name, version).then(|| self.newer("version"));
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
            answer.near = near(&name, &keys);
        }
        answer
    }

    /// Rows about distributions that are no framework by themselves.
    fn push_wheels(self, answer: &mut Answer, name: &str, version: Option<&str>) {
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
                    triton.filter(|row| row.version == version || begins(row.version, version)).map(ShowRow::shown),
                );
            }
        }
    }

    /// Rows about what an install of a distribution brings along and what it compiles: `jax` is code of its plugins.
    fn push_brought(self, answer: &mut Answer, name: &str, version: Option<&str>) {
        let compiled = self.cuda_extensions().iter().filter(|row| row.distribution == name);
        answer.rows.extend(compiled.map(ShowRow::shown));
        answer.push(self.package_floor(name, version).map(ShowRow::shown));
        let builds = self.plugins(name).into_iter().filter_map(|plugin| self.framework_build(plugin, version?));
        answer.rows.extend(builds.filter(|row| Some(row.version) == version).map(ShowRow::shown));
        if version.is_none() {
            let brought = self.brought_packages().iter().filter(|row| row.distribution == name);
            answer.rows.extend(brought.map(ShowRow::shown));
        }
    }

    /// Whether a distribution is known by what it brings along.
    pub(super) fn brings(self, name: &str) -> bool {
        self.brought_packages().iter().any(|row| row.distribution == name)
    }

    /// What comes along with a distribution in its own version.
    fn plugins(self, name: &str) -> BTreeSet<&'static str> {
        let brought = self.brought_packages().iter().filter(|row| row.distribution == name && row.same);
        brought.map(|row| row.brings).collect()
    }
}

/// Whether a version is a release of a shorter one: 1.18.1 of 1.18, not 1.180.
fn begins(version: &str, shorter: &str) -> bool {
    !shorter.is_empty() && version.strip_prefix(shorter).is_some_and(|rest| rest.starts_with('.'))
}
