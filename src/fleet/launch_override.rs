//! Launch overrides: how a container definition starts a container takes precedence over what its pool declares.

use std::collections::BTreeSet;

use crate::fleet::cluster::{GpuProvider, Start};
use crate::fleet::{Declared, Fleet, Launch, Pool, Runtime};

impl Fleet {
    /// Returns the fleet for a container with a certain start and variables, which override those of the pools;
    /// `None` where nothing changes.
    pub fn for_container_start(&self, start: Start, own: &BTreeSet<&str>) -> Option<Self> {
        let pools: Vec<Option<Pool>> = self.pools.iter().map(|pool| pool.for_container_start(start, own)).collect();
        if pools.iter().all(Option::is_none) {
            return None;
        }
        let pools = self.pools.iter().zip(pools).map(|(own, other)| other.unwrap_or_else(|| own.clone())).collect();
        Some(Self { source: self.source, name: self.name.clone(), built_in: self.built_in, pools })
    }
}

impl Pool {
    /// Returns the pool for a container with a certain start and variables; `None` where nothing changes.
    fn for_container_start(&self, start: Start, own: &BTreeSet<&str>) -> Option<Self> {
        let started = self.for_start(start);
        if !self.env.iter().any(|(name, _)| own.contains(name.as_str())) {
            return started;
        }
        let mut pool = started.unwrap_or_else(|| self.clone());
        pool.env.retain(|(name, _)| !own.contains(name.as_str()));
        Some(pool)
    }

    /// Returns the pool for a container with a certain start; `None` where nothing changes.
    pub fn for_start(&self, start: Start) -> Option<Self> {
        let own = self.launch.as_ref().map(|launch| launch.value);
        let launch = launch_for_start(start.by, own)?;
        // Where all containers are under the nvidia runtime, one that the engine hands GPUs to is, too.
        let under = (own == Some(Launch::NvidiaRuntime)).then_some(Runtime::Nvidia);
        let start_runtime = start.nvidia.then_some(Runtime::Nvidia);
        let runtime = start_runtime.or(self.runtime.as_ref().map(|runtime| runtime.value)).or(under);
        if Some(launch) == own && runtime == self.runtime.as_ref().map(|runtime| runtime.value) {
            return None;
        }
        let span = self.launch.as_ref().map_or(self.name.span, |launch| launch.span);
        let of_runtime = self.runtime.as_ref().map_or(span, |runtime| runtime.span);
        let runtime = runtime.map(|value| Declared { value, span: of_runtime });
        Some(Self { launch: Some(Declared { value: launch, span }), runtime, ..self.clone() })
    }
}

/// Returns the launch method of a container on a pool; `None` where the start does not specify one or does not suit
/// the pool.
fn launch_for_start(by: GpuProvider, own: Option<Launch>) -> Option<Launch> {
    let docker = matches!(own, None | Some(Launch::DockerGpus | Launch::NvidiaRuntime));
    let cdi = own == Some(Launch::DockerCdi);
    let cluster = matches!(own, None | Some(Launch::Kubernetes | Launch::NvidiaRuntime));
    match by {
        GpuProvider::Engine if docker => Some(Launch::DockerGpus),
        GpuProvider::Names if docker || cdi => Some(Launch::DockerCdi),
        GpuProvider::Runtime if docker || cdi => Some(Launch::NvidiaRuntime),
        GpuProvider::Class if cluster => Some(Launch::NvidiaRuntime),
        GpuProvider::Plugin if matches!(own, None | Some(Launch::Kubernetes)) => Some(Launch::Kubernetes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_start_overrides_only_a_pool_of_its_kind() {
        for (by, own, expected) in [
            (GpuProvider::Engine, None, Some(Launch::DockerGpus)),
            (GpuProvider::Engine, Some(Launch::NvidiaRuntime), Some(Launch::DockerGpus)),
            (GpuProvider::Runtime, Some(Launch::DockerGpus), Some(Launch::NvidiaRuntime)),
            (GpuProvider::Runtime, Some(Launch::DockerCdi), Some(Launch::NvidiaRuntime)),
            (GpuProvider::Names, Some(Launch::DockerGpus), Some(Launch::DockerCdi)),
            (GpuProvider::Class, Some(Launch::Kubernetes), Some(Launch::NvidiaRuntime)),
            (GpuProvider::Plugin, None, Some(Launch::Kubernetes)),
            // The engine of the pool takes CDI names for the flag, too.
            (GpuProvider::Engine, Some(Launch::DockerCdi), None),
            (GpuProvider::Engine, Some(Launch::Kubernetes), None),
            (GpuProvider::Runtime, Some(Launch::PodmanCdi), None),
            (GpuProvider::Runtime, Some(Launch::Kubernetes), None),
            (GpuProvider::Class, Some(Launch::Gke), None),
            (GpuProvider::Class, Some(Launch::DockerGpus), None),
            (GpuProvider::Plugin, Some(Launch::NvidiaRuntime), None),
            (GpuProvider::Plugin, Some(Launch::Gke), None),
            (GpuProvider::Unknown, None, None),
            (GpuProvider::Unknown, Some(Launch::DockerGpus), None),
        ] {
            assert_eq!(launch_for_start(by, own), expected, "{by:?} on {own:?}");
        }
    }
}
