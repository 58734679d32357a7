//! What a stage for tests or builds sets for itself: a file may end in one, and what would ship stands in front of it.

use std::collections::BTreeMap;

use crate::cuda::is_stub_directory;
use crate::cuda::library_path;
use crate::dockerfile::BaseEnv;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::EnvSet;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::Evaluated;
use crate::dockerfile::Lookup;
use crate::extract::inherited;
use crate::fact::EnvTemplate;
use crate::knowledge::Knowledge;

/// The variable by which such a stage finds the stub of libcuda, where no driver is.
pub(super) const LOADER_PATH: &str = "LD_LIBRARY_PATH";

/// The loader path of what would ship, where a stage for tests or builds puts stubs on its own.
pub(super) struct Spared {
    /// How it is set in front of that stage, where it is.
    pub(super) env: Vec<EnvSet>,
    /// How that value builds on the environment of the base image, where it cannot be told.
    pub(super) templates: BTreeMap<String, EnvTemplate>,
    /// What is said of it.
    pub(super) note: String,
}

impl Spared {
    /// That of a shipped stage that names the stubs for its tests or builds alone.
    pub(super) fn of(dockerfile: &Dockerfile, options: &EvaluateOptions, evaluated: &Evaluated) -> Option<Self> {
        let set = evaluated.env(LOADER_PATH)?;
        if dockerfile.stages.len() < 2 || !names_stubs(dockerfile, options)? {
            return None;
        }
        let (own, purpose) = own_stages(dockerfile, evaluated, options.knowledge)?;
        let bare = without(dockerfile, &own);
        if !own.contains(&set.stage) || names_stubs(&bare, options)? {
            return None;
        }
        let name = dockerfile.stages.get(set.stage)?.name.as_deref()?;
        let note =
            format!("the stubs on the loader path of stage `{name}` are its own: by its name it is for {purpose}");
        let before = bare.evaluate(options).ok()?;
        let mut templates = inherited::templates(&bare, options, &before);
        templates.retain(|name, _| name == LOADER_PATH);
        Some(Self { env: before.env.into_iter().filter(|set| set.name == LOADER_PATH).collect(), templates, note })
    }
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
