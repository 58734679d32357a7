//! What a stage for tests or builds sets for itself: a file may end in one, and what would ship stands in front of it.

use crate::cuda::is_stub_directory;
use crate::cuda::library_path;
use crate::dockerfile::BaseEnv;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::Evaluated;
use crate::dockerfile::Lookup;
use crate::fact::Observations;
use crate::knowledge::Knowledge;

/// The variable by which such a stage finds the stub of libcuda, where no driver is.
const LOADER_PATH: &str = "LD_LIBRARY_PATH";

/// Notes what the shipped stage sets for its tests or builds alone; gives what is said of it.
pub(super) fn note(
    dockerfile: &Dockerfile,
    options: &EvaluateOptions,
    evaluated: &Evaluated,
    seen: &mut Observations,
) -> Option<String> {
    let set = evaluated.env(LOADER_PATH)?;
    let (_, fact) = seen.env.get(LOADER_PATH)?;
    if dockerfile.stages.len() < 2 || !names_stubs(dockerfile, options)? {
        return None;
    }
    let (own, purpose) = own_stages(dockerfile, evaluated, options.knowledge)?;
    if !own.contains(&set.stage) || names_stubs(&without(dockerfile, &own), options)? {
        return None;
    }
    seen.of_base.of_tests.push(*fact);
    let name = dockerfile.stages.get(set.stage)?.name.as_deref()?;
    Some(format!("the stubs on the loader path of stage `{name}` are its own: by its name it is for {purpose}"))
}

/// The last stages of a chain, where they are named as being for tests or builds and another stage of the file may ship in
/// their place; with what they are for.
fn own_stages(
    dockerfile: &Dockerfile,
    evaluated: &Evaluated,
    knowledge: Knowledge,
) -> Option<(Vec<usize>, &'static str)> {
    let purpose = |stage: &usize| knowledge.purpose_of_stage(dockerfile.stages.get(*stage)?.name.as_deref()?);
    let last = evaluated.chain.last().and_then(purpose)?;
    let own: Vec<usize> = evaluated.chain.iter().rev().copied().take_while(|stage| purpose(stage).is_some()).collect();
    let leaves = dockerfile.leaves();
    let mut others = leaves.iter().filter(|stage| !evaluated.chain.contains(stage) && purpose(stage).is_none());
    (own.len() < evaluated.chain.len() || others.next().is_some()).then_some((own, last))
}

/// The file without what these stages do.
fn without(dockerfile: &Dockerfile, own: &[usize]) -> Dockerfile {
    let mut bare = dockerfile.clone();
    for stage in own {
        if let Some(stage) = bare.stages.get_mut(*stage) {
            stage.instructions.clear();
        }
    }
    bare
}

/// Whether the file itself names stubs to the loader, whatever the base image does; none where that cannot be told.
fn names_stubs(dockerfile: &Dockerfile, options: &EvaluateOptions) -> Option<bool> {
    let evaluated = dockerfile.evaluate(&EvaluateOptions { base_env: BaseEnv::Empty, ..options.clone() }).ok()?;
    match evaluated.scope.lookup(LOADER_PATH) {
        Lookup::Known(value, _) => Some(library_path(&value).any(is_stub_directory)),
        Lookup::Unset | Lookup::NoValue => Some(false),
        Lookup::Unknown(..) => None,
    }
}
