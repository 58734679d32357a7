//! What a step rests on, with the fields of the pool that stand above those that it names.

use crate::fleet::Host;
use crate::fleet::Mode;
use crate::fleet::PoolField;
use crate::start::Basis;
use crate::start::Step;
use crate::start::StepRecord;

/// Everything that decided a step on a host: a declared brand behind the GPU, a declared CUDA behind the driver.
pub fn deciding(record: &StepRecord, host: &Host) -> Vec<Basis> {
    let named = |wanted| record.facts.iter().any(|basis| matches!(basis, Basis::Pool(field) if field == wanted));
    let mut found: Vec<Basis> = Vec::new();
    for basis in record.facts.iter() {
        found.push(basis);
        if let Basis::Pool(field) = basis {
            let above = host.overrides.iter().copied().filter(|other| !named(*other));
            found.extend(above.filter(|other| changes(*other, field, record.step, host)).map(Basis::Pool));
        }
    }
    found
}

/// Whether a declared field changes what another tells to a step.
fn changes(declared: PoolField, told: PoolField, step: Step, host: &Host) -> bool {
    match (declared, told) {
        (PoolField::Brand, PoolField::Gpu) => matches!(step, Step::Requirement | Step::UserMode),
        (PoolField::ComputeCapability, PoolField::Gpu) => {
            matches!(step, Step::Requirement | Step::GpuKnown | Step::Code)
        }
        (PoolField::DriverCuda, PoolField::Driver) => {
            matches!(step, Step::Requirement | Step::UserMode | Step::Runtime | Step::Code)
        }
        (PoolField::LibraryDirectory, PoolField::Driver) => {
            step == Step::Loader && matches!(host.mode, Mode::Cdi | Mode::JitCdi)
        }
        (PoolField::LibnvidiaContainer, PoolField::Toolkit) => true,
        (PoolField::CdiSpecs, PoolField::Launch) => step == Step::Mode,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::start::step_tests::hosts;

    /// The fields of the pool that a step with these facts rests on.
    fn fields(pool: &str, step: Step, facts: &[PoolField]) -> Vec<&'static str> {
        let hosts = hosts(pool);
        let facts = facts.iter().copied().map(Basis::Pool);
        let record = StepRecord::new(step, crate::start::StepResult::Unknown, facts, crate::start::Cite(""));
        let name = |basis| match basis {
            Basis::Pool(field) => Some(PoolField::name(field)),
            _ => None,
        };
        deciding(&record, &hosts[0]).into_iter().filter_map(name).collect()
    }

    #[test]
    fn what_stands_above_a_field_is_named_with_it() {
        let pool = "driver = \"535.54.03\"\nlaunch = \"docker-cdi\"\ntoolkit = \"1.17.8\"\nlibnvidia_container = \"1.17.8\"\n\
                    brand = \"tesla\"\ncompute_capability = \"8.0\"\ndriver_cuda = \"12.2\"\nlibrary_directory = \"/usr/lib64\"\n";
        let plain = "driver = \"535.54.03\"\nlaunch = \"docker-cdi\"\ntoolkit = \"1.17.8\"\n";
        let (gpu, driver, toolkit) = (PoolField::Gpu, PoolField::Driver, PoolField::Toolkit);
        for (step, facts, expected) in [
            (Step::Runtime, &[driver][..], &["pool.driver", "pool.driver_cuda"][..]),
            (Step::UserMode, &[driver, gpu], &["pool.driver", "pool.driver_cuda", "pool.gpu", "pool.brand"]),
            (Step::Code, &[gpu], &["pool.gpu", "pool.compute_capability"]),
            (
                Step::Loader,
                &[driver, toolkit],
                &["pool.driver", "pool.library_directory", "pool.toolkit", "pool.libnvidia_container"],
            ),
            (Step::Devices, &[gpu, driver], &["pool.gpu", "pool.driver"]),
            (Step::UserMode, &[gpu, PoolField::Brand], &["pool.gpu", "pool.brand"]),
        ] {
            assert_eq!(fields(pool, step, facts), expected, "{step:?}");
            let names: Vec<&str> = facts.iter().map(|field| field.name()).collect();
            assert_eq!(fields(plain, step, facts), names, "{step:?}");
        }
    }
}
