//! Checks for versions under the wrong key, such as a CUDA version as the driver.

use crate::cuda::{CudaVersion, DriverVersion};
use crate::fleet::{DriverSpec, Fleet, FleetErrors, Pool};
use crate::knowledge::toml_reader::Reader;
use crate::knowledge::{BranchRow, GpuClass, Knowledge};
use crate::text::source::SourceText;

/// The maximum number of branches that are suggested for an abbreviated one.
const MAX_SUGGESTED_BRANCHES: usize = 4;
/// The lower bound of numbers that cannot be a driver branch.
const BRANCH_LIMIT: u32 = 1_000;

/// Reports versions that cannot be what their key declares. A version newer than the compatibility database is
/// accepted.
pub fn check_versions(fleet: &Fleet, text: &SourceText, knowledge: Knowledge) -> Result<(), FleetErrors> {
    let mut reader = Reader::default();
    for pool in &fleet.pools {
        for driver in &pool.driver {
            let versions = declared_versions(&driver.value);
            if let Some((message, help)) = versions.iter().find_map(|version| missing_dot_error(*version, knowledge)) {
                reader.report(driver.span, message, help);
                continue;
            }
            let wrong = versions.into_iter().find_map(|version| implausible_driver_error(version, pool, knowledge));
            if let Some((message, help)) = wrong {
                reader.report(driver.span, message, help);
            }
        }
        if let Some(cuda) = pool.driver_cuda.as_ref().filter(|cuda| may_be_driver_version(cuda.value, knowledge)) {
            let message = format!("`{}` is not a CUDA version", cuda.value);
            reader.report(cuda.span, message, Some("is this `driver`?".to_owned()));
        }
        for toolkit in pool.toolkit.iter().chain(&pool.libnvidia_container) {
            if let Some(key) = intended_key(toolkit.value, knowledge) {
                let message = format!("`{}` is not a version of the NVIDIA Container Toolkit", toolkit.value);
                let newest = knowledge.container_toolkits().last().map(|row| row.from);
                let such = newest.map(|newest| format!(" A recent toolkit is {newest}")).unwrap_or_default();
                reader.report(toolkit.span, message, Some(format!("is this `{key}`?{such}")));
            }
        }
    }
    reader.finish("fleet file", text, ())
}

/// Returns the versions in a driver declaration.
fn declared_versions(driver: &DriverSpec) -> Vec<DriverVersion> {
    match driver {
        DriverSpec::Exact(version) => vec![*version],
        DriverSpec::Branch(branch) => branch.to_string().parse().into_iter().collect(),
        DriverSpec::Range { from, before } => from.iter().chain(before).copied().collect(),
    }
}

/// Returns the error and suggestion for a version that no driver of the pool's GPUs can have.
fn implausible_driver_error(
    version: DriverVersion,
    pool: &Pool,
    knowledge: Knowledge,
) -> Option<(String, Option<String>)> {
    let oldest = knowledge.driver_branches().first()?.branch;
    if version.branch() >= oldest || is_jetson_driver(version, pool, knowledge) {
        return None;
    }
    if let Some(cuda) = as_cuda_version(version, knowledge) {
        let row = knowledge
            .driver_branches()
            .iter()
            .find(|row| !cuda.is_major_only() && row.cuda.release() == cuda.release());
        let branch =
            row.map(|row| format!(" CUDA {cuda} is included in driver branch {}", row.branch)).unwrap_or_default();
        let message = format!("`{version}` is not a driver version");
        return Some((message, Some(format!("is this `driver_cuda`?{branch}"))));
    }
    let message = format!("`{version}` is not a driver version: the oldest driver branch is {oldest}");
    let near: Vec<String> = similar_branches(version, knowledge).iter().map(|branch| format!("`{branch}`")).collect();
    let help = (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")));
    Some((message, help))
}

/// Returns the error and suggestion for a number without a dot that is too long for a branch.
fn missing_dot_error(version: DriverVersion, knowledge: Knowledge) -> Option<(String, Option<String>)> {
    let text = version.to_string();
    if version.branch() < BRANCH_LIMIT || text.contains('.') {
        return None;
    }
    let begins = |row: &&BranchRow| text.starts_with(&row.branch.to_string());
    let branch = knowledge.driver_branches().iter().rfind(begins).map(|row| row.branch.to_string());
    let help = branch.map(|branch| match text.strip_prefix(&branch) {
        Some(rest) if rest.len() > 1 => format!("did you mean `{branch}.{rest}` or the branch `{branch}`?"),
        _ => format!("did you mean `{branch}`?"),
    });
    Some((format!("`{text}` is not a driver version: a branch is shorter, and a version has dots"), help))
}

/// Returns the branches that a version may abbreviate, one with an extra dot, or else the nearest one.
fn similar_branches(version: DriverVersion, knowledge: Knowledge) -> Vec<String> {
    let number = version.branch().to_string();
    let branches = || knowledge.driver_branches().iter().map(|row| row.branch);
    let begun: Vec<String> =
        branches().map(|branch| branch.to_string()).filter(|branch| branch.starts_with(&number)).collect();
    if (1..=MAX_SUGGESTED_BRANCHES).contains(&begun.len()) {
        return begun;
    }
    let digits = version.to_string().replace('.', "");
    let nearest = branches().min_by_key(|branch| branch.abs_diff(version.branch()));
    let split = branches().find(|branch| branch.to_string() == digits);
    split.or(nearest).map(|branch| branch.to_string()).into_iter().collect()
}

/// Whether a version is a Jetson Linux driver, and the pool may have Jetson modules.
fn is_jetson_driver(version: DriverVersion, pool: &Pool, knowledge: Knowledge) -> bool {
    let class = |name: &str| knowledge.gpu(name).map(|row| row.class);
    let may_be = pool.gpu.iter().all(|gpu| class(&gpu.value.name).is_none_or(|class| class == GpuClass::Jetson));
    may_be && knowledge.jetson_releases().iter().any(|row| row.driver.branch() == version.branch())
}

/// Returns the CUDA version that a driver version may be: one with a known major version, or the next one.
fn as_cuda_version(version: DriverVersion, knowledge: Knowledge) -> Option<CudaVersion> {
    let oldest = knowledge.driver_branches().iter().map(|row| row.cuda.major()).min()?;
    let next = knowledge.newest_cuda().major() + 1;
    (oldest..=next).contains(&version.branch()).then_some(CudaVersion(version.0))
}

/// Whether a version is high enough to be a driver version.
fn may_be_driver_version(version: CudaVersion, knowledge: Knowledge) -> bool {
    knowledge.driver_branches().first().is_some_and(|oldest| version.major() >= oldest.branch)
}

/// Returns the key that a toolkit version was probably meant for; `None` where it is a plausible toolkit version.
fn intended_key(version: CudaVersion, knowledge: Knowledge) -> Option<&'static str> {
    let newest = knowledge.container_toolkits().iter().map(|row| row.from.major()).max()?;
    if version.major() <= newest {
        return None;
    }
    let cuda = as_cuda_version(DriverVersion(version.0), knowledge).map(|_| "driver_cuda");
    cuda.or_else(|| may_be_driver_version(version, knowledge).then_some("driver"))
}

#[cfg(test)]
#[path = "plausible_tests.rs"]
mod tests;
