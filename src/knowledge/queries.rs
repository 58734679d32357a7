//! Answers to queries about a GPU, driver, image, distribution or other subject of the compatibility database.

use std::collections::BTreeSet;

use crate::cuda::{CudaVersion, DriverVersion};
use crate::knowledge::printable_rows::{ShowRow, ShownRow};
use crate::knowledge::rows::{CudaRecipeRow, FrameworkBuildRow, RowInfo};
use crate::knowledge::{CondaBuildRow, Knowledge, gpu_names};
use crate::model::package::ExactVersion;
use crate::model::reference::ImageReference;
use crate::text::nearest::edit_distance;

/// Subjects that can be queried.
pub const QUERY_SUBJECTS: &[&str] =
    &["gpu", "driver", "cuda", "torch", "image", "base", "toolkit", "error", "framework", "requirement", "table"];

/// Maximum number of similar keys in an answer.
const MAX_SUGGESTIONS: usize = 5;

/// The answer to a query: matching rows, or similar keys.
#[derive(Clone, Debug, Default)]
pub struct KnowledgeAnswer {
    /// Matching rows, best match first.
    pub rows: Vec<ShownRow>,
    /// Similar keys, if no row matches.
    pub near: Vec<String>,
    /// An additional remark.
    pub note: Option<String>,
}

impl KnowledgeAnswer {
    /// Adds a row, if there is one.
    pub(super) fn push(&mut self, row: Option<ShownRow>) {
        self.rows.extend(row);
    }
}

/// Row counts and date of one table.
#[derive(Clone, Debug)]
pub struct TableSummary {
    /// Name of the table file without `.toml`.
    pub name: &'static str,
    /// Number of rows.
    pub rows: usize,
    /// Number of rows by evidence: measured, documented, inferred, memory.
    pub by_how: [usize; 4],
    /// Most recent date on which a source was read.
    pub newest: jiff::civil::Date,
}

impl Knowledge {
    /// Returns the summaries of all tables.
    pub fn table_summaries(self) -> Vec<TableSummary> {
        let mut tables: Vec<TableSummary> = Vec::new();
        for (name, rows) in self.tables().shown() {
            let infos = || rows.iter().map(|row| row.info);
            let mut by_how = [0; 4];
            for info in infos() {
                by_how[3 - info.how as usize] += 1;
            }
            let newest = infos().map(|info| info.checked).max().unwrap_or_default();
            tables.push(TableSummary { name, rows: rows.len(), by_how, newest });
        }
        tables
    }

    /// Returns the rows about a key; `None` if `subject` is neither in `QUERY_SUBJECTS` nor a known distribution.
    pub fn query(self, subject: &str, key: &str) -> Option<KnowledgeAnswer> {
        let key = key.trim();
        let mut answer = match subject {
            "gpu" => self.query_gpu(key),
            "driver" => self.query_driver(key),
            "cuda" => self.query_cuda(key),
            "torch" => self.query_torch(key),
            "image" | "base" => self.query_base(key),
            "toolkit" => self.query_toolkit(key),
            "error" => self.query_error(key),
            "framework" => self.query_framework(key),
            "requirement" => self.query_requirement(key),
            "table" => self.query_table(key),
            // A distribution as the kind: what follows is its version.
            name if self.framework(name).is_some() || self.has_dependency_rows(name) => {
                self.query_framework(&format!("{name} {key}"))
            }
            _ => return None,
        };
        if !answer.rows.is_empty() {
            answer.near.clear();
        }
        Some(answer)
    }

    /// Answers a query about a GPU or a cloud machine type.
    fn query_gpu(self, key: &str) -> KnowledgeAnswer {
        let mut found = gpu_names::find_gpus(self.gpus(), key);
        let mut answer = KnowledgeAnswer::default();
        let instance = self.cloud_instance(key).filter(|_| found.is_empty());
        answer.push(instance.map(ShowRow::shown));
        found.extend(instance.and_then(|instance| self.gpu(instance.gpu)));
        for capability in found.iter().map(|row| row.capability).collect::<BTreeSet<_>>() {
            answer.push(self.architecture(capability).map(ShowRow::shown));
        }
        let first = usize::from(instance.is_some());
        answer.rows.splice(first..first, found.iter().copied().map(ShowRow::shown));
        if found.len() > 1 && self.gpu(key).is_none() {
            answer.note = Some(format!("`{key}` matches all of these; a fleet file requires the full name"));
        }
        answer.near = self.gpu_suggestions(key).into_iter().map(str::to_owned).collect();
        if answer.near.is_empty() {
            let aliases = self.gpus().iter().flat_map(|row| row.aliases).copied();
            let types = self.cloud_instances().iter().map(|row| row.name);
            let names: Vec<String> = aliases.chain(types).map(str::to_owned).collect();
            answer.near = nearest_keys(key, &names);
        }
        answer
    }

    /// Answers a query about a driver version or branch.
    fn query_driver(self, key: &str) -> KnowledgeAnswer {
        let mut answer = KnowledgeAnswer::default();
        let Ok(driver) = key.trim_start_matches(['r', 'R']).parse::<DriverVersion>() else { return answer };
        let mut branches: Vec<u32> = self.driver_branches().iter().map(|row| row.branch).collect();
        branches.sort_by_key(|branch| branch.abs_diff(driver.branch()));
        answer.near = branches.into_iter().take(MAX_SUGGESTIONS).map(|branch| branch.to_string()).collect();
        let Some(branch) = self.driver_branch(driver.branch()) else {
            // A number on its own may be a slip; one with its release is that of a module or of Windows.
            let whole = Some(driver).filter(|driver| !driver.is_branch_only());
            answer.push(whole.and_then(|driver| self.jetson_release(driver)).map(ShowRow::shown));
            answer.push(whole.and_then(|driver| self.windows_driver(driver)).map(ShowRow::shown));
            let newer = answer.rows.is_empty() && self.is_newer_driver(driver);
            answer.note = newer.then(|| self.newer_than_database("driver"));
            return answer;
        };
        answer.push(Some(branch.shown()));
        let packages = self.compat_packages().iter();
        answer.rows.extend(packages.filter(|row| row.branch == branch.branch).map(ShowRow::shown));
        let ended = self.architectures().iter().filter(|row| row.last_branch == Some(branch.branch));
        answer.rows.extend(ended.map(ShowRow::shown));
        let cells = self.forward_matrix().iter().filter(|row| row.base_branch == branch.branch);
        answer.rows.extend(cells.map(ShowRow::shown));
        answer
    }

    /// Answers a query about a CUDA version.
    fn query_cuda(self, key: &str) -> KnowledgeAnswer {
        let mut answer = KnowledgeAnswer::default();
        let keys: Vec<String> = self.toolkits().iter().map(|row| row.version.to_string()).collect();
        answer.near = nearest_keys(key, &keys);
        let variant = key.strip_prefix("cu").and_then(|digits| self.cuda_from_digits(digits));
        let Some(cuda) = variant.or_else(|| key.parse::<CudaVersion>().ok()) else { return answer };
        let toolkits = self.toolkits().iter();
        let is_requested = |version: CudaVersion| version.0.starts_with(cuda.0) || cuda.0.starts_with(version.0);
        answer.rows.extend(toolkits.filter(|row| is_requested(row.version)).map(ShowRow::shown));
        if answer.rows.is_empty() {
            answer.note = self.is_newer_cuda(cuda).then(|| self.newer_than_database("CUDA version"));
            return answer;
        }
        answer.push(self.target_set(cuda).map(ShowRow::shown));
        answer.push(self.minor_compat_of(cuda.major()).map(ShowRow::shown));
        answer.push(self.compat_package(cuda).map(ShowRow::shown));
        let cells = self.forward_matrix().iter().filter(|row| row.cuda.release() == cuda.release());
        answer.rows.extend(cells.map(ShowRow::shown));
        answer
    }

    /// Answers a query about a base image.
    fn query_base(self, key: &str) -> KnowledgeAnswer {
        let mut answer = KnowledgeAnswer::default();
        let Ok(reference) = ImageReference::parse(key) else { return answer };
        let (repository, tag) = (reference.familiar_name(), reference.tag().unwrap_or_default());
        let version = tag.split('-').next().unwrap_or(tag);
        answer.push(self.base_family(&repository).map(ShowRow::shown));
        answer.push(self.plain_image(&repository).map(ShowRow::shown));
        answer.push(self.framework_image(&repository, tag).map(ShowRow::shown));
        let month = self.base_family(&repository).and_then(|family| self.ngc_release(family, tag));
        answer.push(month.map(ShowRow::shown));
        answer.push(self.code_floor(&repository, tag).map(ShowRow::shown));
        answer.push(self.withdrawn_tag(&repository, version).map(ShowRow::shown));
        if self.is_cuda_repository(&repository) {
            let Some(image) = self.cuda_image(version) else {
                let keys: Vec<String> = self.cuda_images().iter().map(|row| row.version.to_owned()).collect();
                answer.near =
                    nearest_keys(version, &keys).into_iter().map(|version| format!("{repository}:{version}")).collect();
                if !tag.is_empty() {
                    answer.rows.clear();
                }
                return answer;
            };
            answer.push(Some(image.shown()));
            let os = tag.rsplit('-').next().unwrap_or(tag);
            let known = self.cuda_recipes_for_version(version).any(|row| row.architectures_on(os).next().is_some());
            let matches_os = |row: &&CudaRecipeRow| !known || row.architectures_on(os).next().is_some();
            let recipes: Vec<_> = self.cuda_recipes_for_version(version).filter(matches_os).collect();
            let ids: BTreeSet<&str> = recipes.iter().filter_map(|row| row.require).collect();
            answer.rows.extend(recipes.into_iter().map(ShowRow::shown));
            answer.rows.extend(ids.into_iter().filter_map(|id| self.requirement(id)).map(ShowRow::shown));
        } else if answer.rows.is_empty()
            || (!tag.is_empty() && month.is_none() && self.framework_image(&repository, tag).is_none())
        {
            let images = self.framework_images().iter().filter(|row| row.repository == repository);
            let keys: Vec<String> = images.map(|row| format!("{}:{}", row.repository, row.tag)).collect();
            answer.near = nearest_keys(&format!("{repository}:{tag}"), &keys);
            if answer.near.is_empty() {
                let families = self.base_families().iter().map(|row| row.repository);
                let plain = self.plain_images().iter().map(|row| row.repository);
                let keys: Vec<String> = families.chain(plain).map(str::to_owned).collect();
                answer.near = nearest_keys(&repository, &keys);
            }
        }
        answer
    }

    /// Answers a query about a version of the NVIDIA Container Toolkit.
    fn query_toolkit(self, key: &str) -> KnowledgeAnswer {
        let mut answer = KnowledgeAnswer::default();
        if let Ok(version) = key.trim_start_matches('v').parse::<CudaVersion>() {
            answer.push(self.container_toolkit(version).map(ShowRow::shown));
            let newest = self.container_toolkits().last().map(|row| row.sample.release());
            let newer = answer.rows.is_empty() && newest.is_some_and(|newest| version.release() > newest);
            answer.note = newer.then(|| self.newer_than_database("container toolkit"));
        }
        answer
    }

    /// Answers a query about a CUDA error, by code or name.
    fn query_error(self, key: &str) -> KnowledgeAnswer {
        let mut answer = KnowledgeAnswer::default();
        let keys: Vec<String> =
            self.errors().iter().flat_map(|row| [row.code.to_string(), row.name.to_owned()]).collect();
        answer.near = nearest_keys(key, &keys);
        let rows = self.errors().iter();
        let matching = rows.filter(|row| row.code.to_string() == key || row.name.eq_ignore_ascii_case(key));
        answer.rows.extend(matching.map(ShowRow::shown));
        answer
    }

    /// Answers a query about an `NVIDIA_REQUIRE_CUDA` value, by id, value or image version.
    fn query_requirement(self, key: &str) -> KnowledgeAnswer {
        let keys: Vec<String> = self.requirements().iter().map(|row| row.id.to_owned()).collect();
        let of_version: BTreeSet<&str> = self.cuda_recipes_for_version(key).filter_map(|row| row.require).collect();
        let rows = self.requirements().iter();
        let matching = rows.filter(|row| row.id == key || row.value == key || of_version.contains(row.id));
        KnowledgeAnswer { rows: matching.map(ShowRow::shown).collect(), near: nearest_keys(key, &keys), note: None }
    }

    /// Answers a query for all rows of a table.
    fn query_table(self, key: &str) -> KnowledgeAnswer {
        let tables = self.tables().shown();
        let keys: Vec<String> = tables.iter().map(|(name, _)| (*name).to_owned()).collect();
        let near = nearest_keys(key, &keys);
        let rows = tables.into_iter().find(|(name, _)| *name == key.trim_end_matches(".toml"));
        KnowledgeAnswer { rows: rows.map(|(_, rows)| rows).unwrap_or_default(), near, note: None }
    }

    /// Answers a query about a torch version, with or without a build such as `+cu124`.
    fn query_torch(self, key: &str) -> KnowledgeAnswer {
        let key = key.strip_prefix("torch").unwrap_or(key).trim_start_matches(['=', ' ', 'v']);
        let mut answer = KnowledgeAnswer::default();
        let keys: Vec<String> = self.torch_releases().iter().map(|row| row.version.to_string()).collect();
        answer.near = nearest_keys(key, &keys);
        let (version, variant) = key.split_once('+').map_or((key, None), |(version, variant)| (version, Some(variant)));
        let of = |row: &str| row == version || row.strip_prefix(version).is_some_and(|rest| rest.starts_with('.'));
        answer.rows.extend(self.torch_releases().iter().filter(|row| of(row.version.as_str())).map(ShowRow::shown));
        let builds = self.torch_builds().iter().filter(|row| of(row.version.as_str()));
        let typed = ExactVersion::from(version);
        let matching_builds = builds.filter(|row| variant.is_none_or(|variant| row.variant == variant));
        answer.rows.extend(matching_builds.map(ShowRow::shown));
        let of_conda = |row: &&CondaBuildRow| {
            self.conda_build(row.channel, &typed, row.variant).is_some_and(|one| one.info.row == row.info.row)
        };
        let matching_conda_builds = self
            .conda_builds()
            .iter()
            .filter(of_conda)
            .filter(|row| variant.is_none_or(|variant| row.variant == variant));
        answer.rows.extend(matching_conda_builds.map(ShowRow::shown));
        if answer.rows.is_empty() && self.is_newer_torch(&typed) {
            answer.note = Some(self.newer_than_database("torch release"));
        }
        answer
    }

    /// Answers a query about a distribution with GPU code, with or without a version.
    fn query_framework(self, key: &str) -> KnowledgeAnswer {
        let mut answer = KnowledgeAnswer::default();
        let (name, version) = match key.split_once([' ', '=']) {
            Some((name, version)) => (name, Some(version.trim_start_matches(['=', ' ', 'v']))),
            None => (key, None),
        };
        let name = name.to_lowercase().replace(['_', '.'], "-");
        answer.push(self.framework(&name).map(ShowRow::shown));
        self.push_distribution_rows(&mut answer, &name, version);
        self.push_dependency_rows(&mut answer, &name, version);
        let builds = || self.framework_releases().filter(|row| row.distribution == name);
        match version {
            None => answer.rows.extend(builds().map(ShowRow::shown)),
            Some(version) => {
                let typed = ExactVersion::from(version);
                let build = self.framework_build(&name, &typed);
                let plugins = self.same_version_dependencies(&name);
                let own = || self.framework_releases_of(&name);
                let of_all = own().chain(self.framework_releases().filter(|row| plugins.contains(row.distribution)));
                let is_release =
                    |row: &&FrameworkBuildRow| row.version.is_some_and(|own| is_release_of(own.as_str(), version));
                let several: Vec<&FrameworkBuildRow> = of_all.filter(is_release).collect();
                if build.is_none_or(|row| row.version_text() != version) && !several.is_empty() {
                    answer.rows.extend(several.into_iter().map(ShowRow::shown));
                    return answer;
                }
                let of_plugins = self.framework_releases().filter(|row| plugins.contains(row.distribution));
                let mut keys: Vec<String> =
                    builds().chain(of_plugins).map(|row| format!("{name} {}", row.version_text())).collect();
                keys.dedup();
                answer.near = nearest_keys(key, &keys);
                let bundled = self.bundled_variants_of(&name, &typed).is_some();
                let floor = self.package_floor(&name, Some(&typed));
                if build.is_none() && !bundled && builds().next().is_some() {
                    answer.rows.clear();
                    answer.note = self.is_newer_framework(&name, &typed).then(|| self.newer_than_database("version"));
                } else if build.is_none() && !bundled && !answer.rows.is_empty() && floor.is_none() {
                    answer.note =
                        Some(format!("the compatibility database has no entry for single versions of {name}"));
                }
                answer.push(build.map(ShowRow::shown));
            }
        }
        if answer.rows.is_empty() && answer.near.is_empty() {
            let builds = self.framework_releases().map(|row| row.distribution);
            let libraries = self.library_wheels().iter().map(|row| row.distribution);
            let mut keys: Vec<String> =
                self.frameworks().iter().map(|row| row.distribution).map(str::to_owned).collect();
            let bringing = self.gpu_dependencies().map(|row| row.distribution);
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
                let of_arch =
                    self.framework_builds().iter().filter(|row| row.arch.is_some() && row.distribution == name);
                let typed = ExactVersion::from(version);
                answer.rows.extend(of_arch.filter(|row| row.is_of_version(&typed)).map(ShowRow::shown));
                answer.push(self.bundled_variants_of(name, &typed).map(ShowRow::shown));
                answer.rows.extend(
                    triton
                        .filter(|row| row.version.is_same(&typed) || is_release_of(row.version.as_str(), version))
                        .map(ShowRow::shown),
                );
            }
        }
    }

    /// Adds rows about the dependencies of a distribution and the GPU code that it compiles.
    fn push_dependency_rows(self, answer: &mut KnowledgeAnswer, name: &str, version: Option<&str>) {
        let compiled = self.cuda_extensions().iter().filter(|row| row.distribution == name);
        answer.rows.extend(compiled.map(ShowRow::shown));
        let typed = version.map(ExactVersion::from);
        answer.push(self.package_floor(name, typed.as_ref()).map(ShowRow::shown));
        let builds = self
            .same_version_dependencies(name)
            .into_iter()
            .filter_map(|plugin| self.framework_build(plugin, typed.as_ref()?));
        answer.rows.extend(
            builds.filter(|row| typed.as_ref().is_some_and(|version| row.is_of_version(version))).map(ShowRow::shown),
        );
        if version.is_none() {
            answer.rows.extend(self.gpu_dependencies_of(name).map(ShowRow::shown));
        }
    }

    /// Whether the tables list dependencies of a distribution.
    fn has_dependency_rows(self, name: &str) -> bool {
        self.gpu_dependencies_of(name).next().is_some()
    }

    /// Returns the dependencies that have the same version as the distribution, such as the plugins of `jax`.
    fn same_version_dependencies(self, name: &str) -> BTreeSet<&'static str> {
        self.gpu_dependencies_of(name).filter(|row| row.same).map(|row| row.package).collect()
    }
}

/// Returns the keys most similar to `key`, most similar first.
fn nearest_keys(key: &str, keys: &[String]) -> Vec<String> {
    let query = key.to_lowercase();
    let most = query.chars().count().max(3) / 2 + 1;
    let mut found: Vec<(usize, usize, &String)> = keys
        .iter()
        .enumerate()
        .map(|(at, candidate)| (edit_distance(&query, &candidate.to_lowercase()), at, candidate))
        .filter(|(distance, _, _)| *distance <= most)
        .collect();
    found.sort_unstable();
    found.into_iter().take(MAX_SUGGESTIONS).map(|(_, _, key)| key.clone()).collect()
}

/// Returns the heading of a row: `gpus: NVIDIA L4`.
pub fn row_heading(info: &RowInfo) -> String {
    format!("{}: {}", info.table, info.row)
}

/// Whether a version is a release of a shorter version: 1.18.1 of 1.18, but not 1.180.
fn is_release_of(version: &str, shorter: &str) -> bool {
    !shorter.is_empty() && version.strip_prefix(shorter).is_some_and(|rest| rest.starts_with('.'))
}
