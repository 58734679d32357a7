//! Build stages for tests or builds whose own loader path settings do not apply to the shipped image.

use std::collections::BTreeMap;

use crate::cuda::{is_stub_directory, library_path_directories};
use crate::dockerfile::{
    BaseEnvAssumption, Dockerfile, EnvAssignment, EvaluateOptions, EvaluatedTarget, VariableLookup,
};
use crate::extract::env_templates;
use crate::knowledge::Knowledge;
use crate::model::fact::EnvTemplate;

/// The environment variable by which such a stage finds the libcuda stub where no driver is present.
pub(super) const LOADER_PATH: &str = "LD_LIBRARY_PATH";

/// The loader path of the shipped image, where a stage for tests or builds adds stub directories to its own.
pub(super) struct ShippedLoaderPath {
    /// The settings of the variable before that stage.
    pub(super) env: Vec<EnvAssignment>,
    /// How the value extends the environment of the base image, where that is unknown.
    pub(super) templates: BTreeMap<String, EnvTemplate>,
    /// The note for the report.
    pub(super) note: String,
}

impl ShippedLoaderPath {
    /// Returns the shipped loader path, if only trailing stages for tests or builds set stub directories.
    pub(super) fn from_dockerfile(
        dockerfile: &Dockerfile,
        options: &EvaluateOptions,
        evaluated: &EvaluatedTarget,
    ) -> Option<Self> {
        let set = evaluated.env(LOADER_PATH)?;
        if dockerfile.stages.len() < 2 || !sets_stub_directory(dockerfile, options)? {
            return None;
        }
        let (own, purpose) = trailing_test_stages(dockerfile, evaluated, options.knowledge)?;
        let bare = clear_stages(dockerfile, &own);
        if !own.contains(&set.stage) || sets_stub_directory(&bare, options)? {
            return None;
        }
        let name = dockerfile.stages.get(set.stage)?.name.as_deref()?;
        let note =
            format!("the stubs on the loader path of stage `{name}` are its own: by its name it is for {purpose}");
        let before = bare.evaluate(options).ok()?;
        let mut templates = env_templates::find_env_templates(&bare, options, &before);
        templates.retain(|name, _| name == LOADER_PATH);
        Some(Self { env: before.env.into_iter().filter(|set| set.name == LOADER_PATH).collect(), templates, note })
    }
}

/// Returns the last stages of a chain if their names mark them for tests or builds, with that purpose.
fn trailing_test_stages(
    dockerfile: &Dockerfile,
    evaluated: &EvaluatedTarget,
    knowledge: Knowledge,
) -> Option<(Vec<usize>, &'static str)> {
    let purpose = |stage: &usize| knowledge.stage_purpose(dockerfile.stages.get(*stage)?.name.as_deref()?);
    let last = evaluated.chain.last().and_then(purpose)?;
    let own: Vec<usize> = evaluated.chain.iter().rev().copied().take_while(|stage| purpose(stage).is_some()).collect();
    let leaves = dockerfile.leaf_stages();
    let mut others = leaves.iter().filter(|stage| !evaluated.chain.contains(stage) && purpose(stage).is_none());
    (own.len() < evaluated.chain.len() || others.next().is_some()).then_some((own, last))
}

/// Returns the Dockerfile without the instructions of these stages.
fn clear_stages(dockerfile: &Dockerfile, own: &[usize]) -> Dockerfile {
    let mut bare = dockerfile.clone();
    for stage in own {
        if let Some(stage) = bare.stages.get_mut(*stage) {
            stage.instructions.clear();
        }
    }
    bare
}

/// Whether the Dockerfile itself puts a stub directory on the loader path; `None` where that is unknown.
fn sets_stub_directory(dockerfile: &Dockerfile, options: &EvaluateOptions) -> Option<bool> {
    let evaluated =
        dockerfile.evaluate(&EvaluateOptions { base_env: BaseEnvAssumption::Empty, ..options.clone() }).ok()?;
    match evaluated.scope.lookup(LOADER_PATH) {
        VariableLookup::Known(value, _) => Some(library_path_directories(&value).any(is_stub_directory)),
        VariableLookup::Unset | VariableLookup::NoValue => Some(false),
        VariableLookup::Unknown(..) => None,
    }
}
