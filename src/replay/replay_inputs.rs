//! The inputs of a replay, and what the container gets by them: its environment, its devices and its capabilities.

use crate::fleet::Host;
use crate::knowledge::Knowledge;
use crate::model::fact::{Component, ImageFacts};
use crate::replay::environment::ContainerEnv;
use crate::replay::gpu_request::{GpuRequest, resolve_gpu_request};
use crate::replay::granted_capabilities::{GrantedCapabilities, resolve_capabilities};

/// The inputs of a replay, which every step may read: image, component, host and knowledge tables.
#[derive(Clone, Copy)]
pub struct Replay<'a> {
    /// The image that is started.
    pub image: &'a ImageFacts,
    /// The component whose start is replayed.
    pub component: &'a Component,
    /// The host on which it starts.
    pub host: &'a Host,
    /// The knowledge tables.
    pub knowledge: Knowledge,
    /// The devices and capabilities that the container gets on the host, once computed.
    granted: Option<GrantedResources>,
}

impl<'a> Replay<'a> {
    /// Creates the replay of a component of an image on a host.
    pub fn new(image: &'a ImageFacts, component: &'a Component, host: &'a Host, knowledge: Knowledge) -> Self {
        Self { image, component, host, knowledge, granted: None }
    }

    /// Returns the same replay on another host.
    pub(super) fn with_host(self, host: &'a Host) -> Self {
        Self { host, granted: None, ..self }
    }

    /// Returns the same replay of another component.
    pub(super) fn with_component(self, component: &'a Component) -> Self {
        Self { component, ..self }
    }

    /// Returns the same replay with the container's devices and capabilities computed once for all steps.
    pub(super) fn with_granted_devices(self) -> Self {
        let request = self.container_request();
        let given = resolve_capabilities(self.environment(), self.host, request.kind, "compute");
        Self { granted: Some(GrantedResources { request, given }), ..self }
    }

    /// Returns the environment of the container.
    pub(super) fn environment(self) -> ContainerEnv<'a> {
        ContainerEnv::new(&self.image.env, self.host)
    }

    /// Returns the device request of the container.
    pub(super) fn container_request(self) -> GpuRequest {
        self.granted.map_or_else(|| resolve_gpu_request(self.environment(), self.host), |granted| granted.request)
    }

    /// Returns the driver capabilities that the container gets.
    pub(super) fn granted_capabilities(self) -> GrantedCapabilities {
        self.granted.map_or_else(|| self.granted_capabilities_for("compute"), |granted| granted.given)
    }

    /// Returns the driver capabilities that the container gets; unknown only where that affects one capability.
    pub(super) fn granted_capabilities_for(self, capability: &str) -> GrantedCapabilities {
        resolve_capabilities(self.environment(), self.host, self.container_request().kind, capability)
    }
}

/// The device request and the driver capabilities of a container.
#[derive(Clone, Copy, Debug)]
struct GrantedResources {
    request: GpuRequest,
    given: GrantedCapabilities,
}
