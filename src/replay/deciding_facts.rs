//! The facts that decided a step, with the pool fields that override those that it names.

use crate::fleet::{Host, Mode, PoolField};
use crate::replay::{Basis, StartStep, StepRecord};

/// Returns everything that decided a step on a host, including declared fields that override the GPU or the driver.
pub fn deciding_facts(record: &StepRecord, host: &Host) -> Vec<Basis> {
    let named = |declared| record.facts.iter().any(|basis| matches!(basis, Basis::Pool(field) if field == declared));
    let mut found: Vec<Basis> = Vec::new();
    for basis in record.facts.iter() {
        found.push(basis);
        if let Basis::Pool(field) = basis {
            let above = host.overrides.iter().copied().filter(|other| !named(*other));
            found.extend(above.filter(|other| overrides_field(*other, field, record.step, host)).map(Basis::Pool));
        }
    }
    found
}

/// Whether a declared pool field overrides what another field provides for a step.
fn overrides_field(declared: PoolField, overridden: PoolField, step: StartStep, host: &Host) -> bool {
    match (declared, overridden) {
        (PoolField::Brand, PoolField::Gpu) => matches!(step, StartStep::Requirement | StartStep::UserMode),
        (PoolField::ComputeCapability, PoolField::Gpu) => {
            matches!(step, StartStep::Requirement | StartStep::GpuKnown | StartStep::Code)
        }
        (PoolField::DriverCuda, PoolField::Driver) => {
            matches!(step, StartStep::Requirement | StartStep::UserMode | StartStep::Runtime | StartStep::Code)
        }
        (PoolField::LibraryDirectory, PoolField::Driver) => {
            step == StartStep::Loader && matches!(host.mode, Mode::Cdi | Mode::JitCdi)
        }
        (PoolField::LibnvidiaContainer, PoolField::Toolkit) => true,
        (PoolField::CdiSpecs, PoolField::Launch) => step == StartStep::Mode,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::step_tests::pool_hosts;

    /// Returns the names of the pool fields that decide a step with these facts.
    fn deciding_fields(pool: &str, step: StartStep, facts: &[PoolField]) -> Vec<&'static str> {
        let hosts = pool_hosts(pool);
        let facts = facts.iter().copied().map(Basis::Pool);
        let record = StepRecord::new(step, crate::replay::StepResult::Unknown, facts, crate::replay::Citation(""));
        let name = |basis| match basis {
            Basis::Pool(field) => Some(PoolField::name(field)),
            _ => None,
        };
        deciding_facts(&record, &hosts[0]).into_iter().filter_map(name).collect()
    }

    #[test]
    fn an_overriding_field_is_listed_with_the_overridden() {
        let pool = "driver = \"535.54.03\"\nlaunch = \"docker-cdi\"\ntoolkit = \"1.17.8\"\nlibnvidia_container = \"1.17.8\"\n\
                    brand = \"tesla\"\ncompute_capability = \"8.0\"\ndriver_cuda = \"12.2\"\nlibrary_directory = \"/usr/lib64\"\n";
        let plain = "driver = \"535.54.03\"\nlaunch = \"docker-cdi\"\ntoolkit = \"1.17.8\"\n";
        let (gpu, driver, toolkit) = (PoolField::Gpu, PoolField::Driver, PoolField::Toolkit);
        for (step, facts, expected) in [
            (StartStep::Runtime, &[driver][..], &["pool.driver", "pool.driver_cuda"][..]),
            (StartStep::UserMode, &[driver, gpu], &["pool.driver", "pool.driver_cuda", "pool.gpu", "pool.brand"]),
            (StartStep::Code, &[gpu], &["pool.gpu", "pool.compute_capability"]),
            (
                StartStep::Loader,
                &[driver, toolkit],
                &["pool.driver", "pool.library_directory", "pool.toolkit", "pool.libnvidia_container"],
            ),
            (StartStep::Devices, &[gpu, driver], &["pool.gpu", "pool.driver"]),
            (StartStep::UserMode, &[gpu, PoolField::Brand], &["pool.gpu", "pool.brand"]),
        ] {
            assert_eq!(deciding_fields(pool, step, facts), expected, "{step:?}");
            let names: Vec<&str> = facts.iter().map(|field| field.name()).collect();
            assert_eq!(deciding_fields(plain, step, facts), names, "{step:?}");
        }
    }
}
