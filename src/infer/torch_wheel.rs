//! Whether a build of torch that is asked for is one that there is: a name alone says nothing about a wheel.

use crate::fact::Depth;
use crate::fact::Manager;
use crate::fact::Why;
use crate::infer::framework::variant_cuda;
use crate::infer::torch::Brought;
use crate::infer::torch::wanted;
use crate::infer::torch_release::Day;

/// A torch whose build is one of its release, or may be; of any other nothing is told.
pub(super) fn believed<'a>(brought: Brought<'a>, depth: Depth, day: Day<'_>) -> Brought<'a> {
    let Ok(Some(tag)) = &brought.variant else { return brought };
    let Some(why) = unheard(tag, &brought, depth, day) else { return brought };
    Brought { variant: Err(why), candidates: Vec::new(), ..brought }
}

/// Why no wheel of that build is known.
fn unheard(tag: &str, brought: &Brought<'_>, depth: Depth, day: Day<'_>) -> Option<Why> {
    let cuda = variant_cuda(tag)?;
    let name = wanted(brought.package, day.knowledge);
    let release = brought.version.as_ref().ok().and_then(|version| day.knowledge.torch(version));
    if release.is_some_and(|row| row.variants.contains(&tag)) {
        return None;
    }
    let supply = "correct the build in its name or its index, or describe the built image".to_owned();
    if !day.knowledge.may_be_cuda(cuda) {
        return Some(Why {
            reason: format!("the build {tag} of {name} names CUDA {cuda}, which does not exist"),
            supply,
        });
    }
    // Of what lies in an image, or of another platform, the list of the indexes is no measure.
    let of_list = depth == Depth::Text && brought.package.manager == Manager::Pip && day.arch == "amd64";
    let row = release.filter(|_| of_list)?;
    let known = row.variants.join(", ");
    let reason = format!("no wheel of {name} {} for {tag} is known, only for {known}", row.version);
    Some(Why { reason, supply })
}
