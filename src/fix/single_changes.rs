//! The candidates of each kind of change, tested one by one until one is sufficient.

use crate::fix::fix_context::FixContext;
use crate::fix::tested_fix::{TestedFix, test_until_sufficient};
use crate::fix::trial::TrialRunner;
use crate::fix::{
    FixCandidate, arch_lists, base_image_tags, compat_library, conda, environment_variables, fleet_changes, framework,
    image_platforms, package_extras, renamed_packages,
};
use crate::report::kinds::ChangeKind;

/// Returns every single change that helps, of each kind until one is sufficient.
pub(super) fn single_change_fixes(
    kinds: &[ChangeKind],
    case: &FixContext<'_>,
    trials: &mut TrialRunner<'_>,
) -> Vec<TestedFix> {
    let mut tried: Vec<TestedFix> = Vec::new();
    let of_kind = |kind: &ChangeKind, trials: &mut TrialRunner<'_>| {
        let candidates = candidates_of_kind(*kind, case, trials);
        test_until_sufficient(&candidates, case, trials)
    };
    trials.run_each(kinds, of_kind, |found| {
        tried.extend(found);
        true
    });
    tried
}

/// Returns the candidate changes of one kind.
fn candidates_of_kind(kind: ChangeKind, case: &FixContext<'_>, trials: &mut TrialRunner<'_>) -> Vec<FixCandidate> {
    match kind {
        ChangeKind::Environment => environment_variables::environment_candidates(case),
        ChangeKind::ArchList => arch_lists::arch_list_candidates(case),
        ChangeKind::DriverLibraries => compat_library::driver_library_candidates(case),
        ChangeKind::FrameworkVariant => [
            package_extras::missing_dependency_candidates(case),
            framework::framework_variant_candidates(case),
            package_extras::extra_variant_candidates(case),
            renamed_packages::renamed_variant_candidates(case),
            conda::conda_variant_candidates(case),
        ]
        .concat(),
        ChangeKind::BaseTag => base_image_tags::base_tag_candidates(case),
        ChangeKind::Platform => image_platforms::platform_candidates(case),
        ChangeKind::Driver => fleet_changes::driver_candidates(case, trials),
        ChangeKind::Compat => compat_library::compat_candidates(case),
        ChangeKind::FrameworkVersion => framework::framework_version_candidates(case),
        ChangeKind::BaseImage => base_image_tags::cuda_image_candidates(case),
        ChangeKind::Toolkit => fleet_changes::toolkit_candidates(case, trials),
        ChangeKind::RunEnvironment => fleet_changes::run_environment_candidates(case, trials),
    }
}
