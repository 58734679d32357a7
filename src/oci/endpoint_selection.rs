//! The choice between plain HTTP and HTTPS: one request to each endpoint before any retry.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::oci::endpoint::RegistryEndpoint;
use crate::oci::http_client::RetryPolicy;
use crate::oci::image_name;
use crate::oci::image_name::full_name;
use crate::oci::pull_error::{PullError, PullProblem};
use crate::oci::puller::Puller;
use crate::oci::registry_client::RegistryClient;
use crate::reference::ImageReference;

/// The protocol that each host has responded to: whether plain HTTP, by host and port.
#[derive(Debug, Default)]
pub(crate) struct KnownProtocols(Mutex<BTreeMap<String, bool>>);

impl KnownProtocols {
    /// Sends a request to the endpoints of one location until one responds; an endpoint whose connection ends early
    /// is retried after the others.
    pub(crate) async fn try_endpoints<T>(
        &self,
        puller: &Puller,
        image: &ImageReference,
        ways: &[RegistryEndpoint],
        ask: impl AsyncFn(&RegistryClient, RetryPolicy) -> Result<T, PullError>,
    ) -> Result<(RegistryClient, T), PullError> {
        let mut ways: Vec<&RegistryEndpoint> = ways.iter().collect();
        if ways.iter().any(|way| self.has_responded(way)) {
            ways.retain(|way| self.has_responded(way));
        }
        let first = if ways.len() > 1 { RetryPolicy::Once } else { RetryPolicy::Full };
        let (mut told, mut ended): (Option<PullError>, Vec<&RegistryEndpoint>) = (None, Vec::new());
        for way in ways {
            let client = RegistryClient::new(image, &puller.options.limits, puller.session_for(image, way)?);
            match self.record_response(way, ask(&client, first).await) {
                Ok(found) => return Ok((client, found)),
                Err(error) if is_final(&error.problem) => return Err(error),
                Err(error) => {
                    // What was tried more often had answered before.
                    if first == RetryPolicy::Once && matches!(*error.problem, PullProblem::Cut { tries: 1, .. }) {
                        ended.push(way);
                    }
                    let weak = told.as_ref().is_none_or(|told| requires_tls(&told.problem));
                    told = if weak { Some(error) } else { told };
                }
            }
        }
        for way in ended {
            let client = RegistryClient::new(image, &puller.options.limits, puller.session_for(image, way)?);
            match self.record_response(way, ask(&client, RetryPolicy::AfterFirst).await) {
                Ok(found) => return Ok((client, found)),
                Err(error) if is_final(&error.problem) => return Err(error),
                Err(error) => {
                    let weak =
                        told.as_ref().is_none_or(|told| !matches!(*told.problem, PullProblem::Cut { tries: 2.., .. }));
                    told = if weak { Some(error) } else { told };
                }
            }
        }
        let none = || PullError::new(image_name::registry_host(image), &full_name(image), "", PullProblem::Blocked);
        Err(told.unwrap_or_else(none))
    }

    /// Whether a host has responded to the protocol of an endpoint.
    fn has_responded(&self, way: &RegistryEndpoint) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&way.host).is_some_and(|plain| *plain == way.plain_http)
    }

    /// Records the protocol of an endpoint that has responded.
    fn record_response<T>(&self, way: &RegistryEndpoint, outcome: Result<T, PullError>) -> Result<T, PullError> {
        let of_registry =
            |problem: &PullProblem| matches!(problem, PullProblem::NotFound { .. } | PullProblem::Unauthorized { .. });
        if outcome.as_ref().err().is_none_or(|error| of_registry(&error.problem)) {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(way.host.clone(), way.plain_http);
        }
        outcome
    }
}

/// Whether a problem is final, so that another protocol would not help: a registry's response, or an untrusted
/// certificate.
fn is_final(problem: &PullProblem) -> bool {
    match problem {
        PullProblem::Transport { cause: text } => text.contains("invalid peer certificate"),
        PullProblem::Cut { .. } | PullProblem::Slow { .. } => false,
        other => !requires_tls(other),
    }
}

/// Whether a server responded to plain HTTP that it requires TLS.
fn requires_tls(problem: &PullProblem) -> bool {
    match problem {
        PullProblem::Status { status: 400, said, .. } => said.to_ascii_lowercase().contains("https"),
        PullProblem::Html { status: 400, title } => title.to_ascii_lowercase().contains("https"),
        _ => false,
    }
}
