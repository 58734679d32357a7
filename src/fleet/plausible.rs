//! Versions that cannot be what a pool declares: a CUDA version as its driver, a driver as its CUDA version.

use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::fleet::DriverSpec;
use crate::fleet::Fleet;
use crate::fleet::FleetErrors;
use crate::fleet::Pool;
use crate::knowledge::BranchRow;
use crate::knowledge::GpuClass;
use crate::knowledge::Knowledge;
use crate::source::SourceText;
use crate::toml_reader::Reader;

/// A number that begins more branches than this is short for none of them.
const FEW: usize = 4;
/// The first number that no branch has: without a dot, it is a version that lost its dots.
const NO_BRANCH: u32 = 1_000;

/// Reports versions that cannot be what the key declares. A version newer than the compatibility database stays unknown.
pub fn check_versions(fleet: &Fleet, text: &SourceText, knowledge: Knowledge) -> Result<(), FleetErrors> {
    let mut reader = Reader::default();
    for pool in &fleet.pools {
        for driver in &pool.driver {
            let versions = bounds(&driver.value);
            if let Some((message, help)) = versions.iter().find_map(|version| without_dot(*version, knowledge)) {
                reader.report(driver.span, message, help);
                continue;
            }
            let wrong = versions.into_iter().find_map(|version| not_a_driver(version, pool, knowledge));
            if let Some((message, help)) = wrong {
                reader.report(driver.span, message, help);
            }
        }
        if let Some(cuda) = pool.driver_cuda.as_ref().filter(|cuda| may_be_driver(cuda.value, knowledge)) {
            let message = format!("`{}` is not a CUDA version", cuda.value);
            reader.report(cuda.span, message, Some("is this `driver`?".to_owned()));
        }
        for toolkit in pool.toolkit.iter().chain(&pool.libnvidia_container) {
            if let Some(key) = key_of(toolkit.value, knowledge) {
                let message = format!("`{}` is not a version of the NVIDIA Container Toolkit", toolkit.value);
                let newest = knowledge.container_toolkits().last().map(|row| row.from);
                let such = newest.map(|newest| format!(" A recent toolkit is {newest}")).unwrap_or_default();
                reader.report(toolkit.span, message, Some(format!("is this `{key}`?{such}")));
            }
        }
    }
    reader.finish("fleet file", text, ())
}

/// The versions that a driver is declared by.
fn bounds(driver: &DriverSpec) -> Vec<DriverVersion> {
    match driver {
        DriverSpec::Exact(version) => vec![*version],
        DriverSpec::Branch(branch) => branch.to_string().parse().into_iter().collect(),
        DriverSpec::Range { from, before } => from.iter().chain(before).copied().collect(),
    }
}

/// The error and the suggestion for a version that no driver of the pool's GPUs can have.
fn not_a_driver(version: DriverVersion, pool: &Pool, knowledge: Knowledge) -> Option<(String, Option<String>)> {
    let oldest = knowledge.branches().first()?.branch;
    if version.branch() >= oldest || is_of_module(version, pool, knowledge) {
        return None;
    }
    if let Some(cuda) = as_cuda(version, knowledge) {
        let row = knowledge.branches().iter().find(|row| !cuda.is_major() && row.cuda.release() == cuda.release());
        let branch =
            row.map(|row| format!(" CUDA {cuda} is included in driver branch {}", row.branch)).unwrap_or_default();
        let message = format!("`{version}` is not a driver version");
        return Some((message, Some(format!("is this `driver_cuda`?{branch}"))));
    }
    let message = format!("`{version}` is not a driver version: the oldest driver branch is {oldest}");
    let near: Vec<String> = near(version, knowledge).iter().map(|branch| format!("`{branch}`")).collect();
    let help = (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")));
    Some((message, help))
}

/// The error and the suggestion for a number without a dot that is too long for a branch.
fn without_dot(version: DriverVersion, knowledge: Knowledge) -> Option<(String, Option<String>)> {
    let text = version.to_string();
    if version.branch() < NO_BRANCH || text.contains('.') {
        return None;
    }
    let begins = |row: &&BranchRow| text.starts_with(&row.branch.to_string());
    let branch = knowledge.branches().iter().rfind(begins).map(|row| row.branch.to_string());
    let help = branch.map(|branch| match text.strip_prefix(&branch) {
        Some(rest) if rest.len() > 1 => format!("did you mean `{branch}.{rest}` or the branch `{branch}`?"),
        _ => format!("did you mean `{branch}`?"),
    });
    Some((format!("`{text}` is not a driver version: a branch is shorter, and a version has dots"), help))
}

/// The branches that a version may be short for, one with a dot too many, or else the nearest one.
fn near(version: DriverVersion, knowledge: Knowledge) -> Vec<String> {
    let number = version.branch().to_string();
    let branches = || knowledge.branches().iter().map(|row| row.branch);
    let begun: Vec<String> =
        branches().map(|branch| branch.to_string()).filter(|branch| branch.starts_with(&number)).collect();
    if (1..=FEW).contains(&begun.len()) {
        return begun;
    }
    let digits = version.to_string().replace('.', "");
    let nearest = branches().min_by_key(|branch| branch.abs_diff(version.branch()));
    let split = branches().find(|branch| branch.to_string() == digits);
    split.or(nearest).map(|branch| branch.to_string()).into_iter().collect()
}

/// Whether the number is one of Jetson Linux, and the pool may have modules.
fn is_of_module(version: DriverVersion, pool: &Pool, knowledge: Knowledge) -> bool {
    let class = |name: &str| knowledge.gpu(name).map(|row| row.class);
    let may_be = pool.gpu.iter().all(|gpu| class(&gpu.value.name).is_none_or(|class| class == GpuClass::Jetson));
    may_be && knowledge.jetson_releases().iter().any(|row| row.driver.branch() == version.branch())
}

/// The CUDA version that a number may be: one with the major of a known CUDA version, or of the next.
fn as_cuda(version: DriverVersion, knowledge: Knowledge) -> Option<CudaVersion> {
    let oldest = knowledge.branches().iter().map(|row| row.cuda.major()).min()?;
    let next = knowledge.newest_cuda().major() + 1;
    (oldest..=next).contains(&version.branch()).then_some(CudaVersion(version.0))
}

/// Whether a number is as high as those of drivers.
fn may_be_driver(version: CudaVersion, knowledge: Knowledge) -> bool {
    knowledge.branches().first().is_some_and(|oldest| version.major() >= oldest.branch)
}

/// The key that a version of the container toolkit was meant for: it is none of one.
fn key_of(version: CudaVersion, knowledge: Knowledge) -> Option<&'static str> {
    let newest = knowledge.container_toolkits().iter().map(|row| row.from.major()).max()?;
    if version.major() <= newest {
        return None;
    }
    let cuda = as_cuda(DriverVersion(version.0), knowledge).map(|_| "driver_cuda");
    cuda.or_else(|| may_be_driver(version, knowledge).then_some("driver"))
}

#[cfg(test)]
#[path = "plausible_tests.rs"]
mod tests;
