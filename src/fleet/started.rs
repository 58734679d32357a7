//! Pools as a container sees them of which a file says how it is started: that stands above what the pool declares of all
//! others.

use std::collections::BTreeSet;

use crate::cluster::By;
use crate::cluster::Start;
use crate::fleet::Declared;
use crate::fleet::Fleet;
use crate::fleet::Launch;
use crate::fleet::Pool;
use crate::fleet::Runtime;

impl Fleet {
    /// The fleet for a container that is started so and has these variables of its own, which stand above those of the
    /// pools; none where it is the same.
    pub fn started(&self, start: Start, own: &BTreeSet<&str>) -> Option<Self> {
        let pools: Vec<Option<Pool>> = self.pools.iter().map(|pool| pool.started_with(start, own)).collect();
        if pools.iter().all(Option::is_none) {
            return None;
        }
        let pools = self.pools.iter().zip(pools).map(|(own, other)| other.unwrap_or_else(|| own.clone())).collect();
        Some(Self { source: self.source, name: self.name.clone(), built_in: self.built_in, pools })
    }
}

impl Pool {
    fn started_with(&self, start: Start, own: &BTreeSet<&str>) -> Option<Self> {
        let started = self.started(start);
        if !self.env.iter().any(|(name, _)| own.contains(name.as_str())) {
            return started;
        }
        let mut pool = started.unwrap_or_else(|| self.clone());
        pool.env.retain(|(name, _)| !own.contains(name.as_str()));
        Some(pool)
    }

    /// The pool for such a container; none where it is the same.
    pub fn started(&self, start: Start) -> Option<Self> {
        let own = self.launch.as_ref().map(|launch| launch.value);
        let launch = launch(start.by, own)?;
        // Where all containers are under the nvidia runtime, one that the engine hands GPUs to is, too.
        let under = (own == Some(Launch::NvidiaRuntime)).then_some(Runtime::Nvidia);
        let said = start.nvidia.then_some(Runtime::Nvidia);
        let runtime = said.or(self.runtime.as_ref().map(|runtime| runtime.value)).or(under);
        if Some(launch) == own && runtime == self.runtime.as_ref().map(|runtime| runtime.value) {
            return None;
        }
        let span = self.launch.as_ref().map_or(self.name.span, |launch| launch.span);
        let of_runtime = self.runtime.as_ref().map_or(span, |runtime| runtime.span);
        let runtime = runtime.map(|value| Declared { value, span: of_runtime });
        Some(Self { launch: Some(Declared { value: launch, span }), runtime, ..self.clone() })
    }
}

/// The launch that a file means on a pool with one of its own; none where nothing is said, or the pool is not for such files.
fn launch(by: By, own: Option<Launch>) -> Option<Launch> {
    let docker = matches!(own, None | Some(Launch::DockerGpus | Launch::NvidiaRuntime));
    let cdi = own == Some(Launch::DockerCdi);
    let cluster = matches!(own, None | Some(Launch::Kubernetes | Launch::NvidiaRuntime));
    match by {
        By::Engine if docker => Some(Launch::DockerGpus),
        By::Names if docker || cdi => Some(Launch::DockerCdi),
        By::Runtime if docker || cdi => Some(Launch::NvidiaRuntime),
        By::Class if cluster => Some(Launch::NvidiaRuntime),
        By::Plugin if matches!(own, None | Some(Launch::Kubernetes)) => Some(Launch::Kubernetes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_says_stands_above_a_pool_of_its_kind_and_of_no_other() {
        for (by, own, expected) in [
            (By::Engine, None, Some(Launch::DockerGpus)),
            (By::Engine, Some(Launch::NvidiaRuntime), Some(Launch::DockerGpus)),
            (By::Runtime, Some(Launch::DockerGpus), Some(Launch::NvidiaRuntime)),
            (By::Runtime, Some(Launch::DockerCdi), Some(Launch::NvidiaRuntime)),
            (By::Names, Some(Launch::DockerGpus), Some(Launch::DockerCdi)),
            (By::Class, Some(Launch::Kubernetes), Some(Launch::NvidiaRuntime)),
            (By::Plugin, None, Some(Launch::Kubernetes)),
            // The engine of the pool takes CDI names for the flag, too.
            (By::Engine, Some(Launch::DockerCdi), None),
            (By::Engine, Some(Launch::Kubernetes), None),
            (By::Runtime, Some(Launch::PodmanCdi), None),
            (By::Runtime, Some(Launch::Kubernetes), None),
            (By::Class, Some(Launch::Gke), None),
            (By::Class, Some(Launch::DockerGpus), None),
            (By::Plugin, Some(Launch::NvidiaRuntime), None),
            (By::Plugin, Some(Launch::Gke), None),
            (By::Untold, None, None),
            (By::Untold, Some(Launch::DockerGpus), None),
        ] {
            assert_eq!(launch(by, own), expected, "{by:?} on {own:?}");
        }
    }
}
