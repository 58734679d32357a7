//! The ways to speak to a place, plain HTTP and HTTPS, each tried once before any is tried again.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;

use crate::oci::client::Client;
use crate::oci::endpoint::Endpoint;
use crate::oci::error::Problem;
use crate::oci::error::PullError;
use crate::oci::http::Patience;
use crate::oci::puller::Puller;
use crate::oci::reference;
use crate::oci::reference::whole_name;
use crate::reference::ImageReference;

/// The ways that hosts have answered to: whether in plain HTTP, by host and port.
#[derive(Debug, Default)]
pub(crate) struct Ways(Mutex<BTreeMap<String, bool>>);

impl Ways {
    /// Asks one place in the ways that it may be spoken to. A connection that ends says nothing of the image: the next way
    /// is tried at once, and this one again where none of them answers.
    pub(crate) async fn ask<T>(
        &self,
        puller: &Puller,
        image: &ImageReference,
        ways: &[Endpoint],
        ask: impl AsyncFn(&Client, Patience) -> Result<T, PullError>,
    ) -> Result<(Client, T), PullError> {
        let mut ways: Vec<&Endpoint> = ways.iter().collect();
        if ways.iter().any(|way| self.has_answered(way)) {
            ways.retain(|way| self.has_answered(way));
        }
        let first = if ways.len() > 1 { Patience::Once } else { Patience::Whole };
        let (mut told, mut ended): (Option<PullError>, Vec<&Endpoint>) = (None, Vec::new());
        for way in ways {
            let client = Client::new(image, &puller.options.limits, puller.session(image, way)?);
            match self.heard(way, ask(&client, first).await) {
                Ok(found) => return Ok((client, found)),
                Err(error) if is_final(&error.problem) => return Err(error),
                Err(error) => {
                    // What was tried more often had answered before.
                    if first == Patience::Once && matches!(*error.problem, Problem::Cut { tries: 1, .. }) {
                        ended.push(way);
                    }
                    let weak = told.as_ref().is_none_or(|told| wants_tls(&told.problem));
                    told = if weak { Some(error) } else { told };
                }
            }
        }
        for way in ended {
            let client = Client::new(image, &puller.options.limits, puller.session(image, way)?);
            match self.heard(way, ask(&client, Patience::Rest).await) {
                Ok(found) => return Ok((client, found)),
                Err(error) if is_final(&error.problem) => return Err(error),
                Err(error) => {
                    let weak =
                        told.as_ref().is_none_or(|told| !matches!(*told.problem, Problem::Cut { tries: 2.., .. }));
                    told = if weak { Some(error) } else { told };
                }
            }
        }
        let none = || PullError::new(reference::host(image), &whole_name(image), "", Problem::Blocked);
        Err(told.unwrap_or_else(none))
    }

    /// Whether a host has answered to a way.
    fn has_answered(&self, way: &Endpoint) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&way.host).is_some_and(|plain| *plain == way.plain)
    }

    /// Notes that a host has answered to a way.
    fn heard<T>(&self, way: &Endpoint, outcome: Result<T, PullError>) -> Result<T, PullError> {
        let of_registry =
            |problem: &Problem| matches!(problem, Problem::NotFound { .. } | Problem::Unauthorized { .. });
        if outcome.as_ref().err().is_none_or(|error| of_registry(&error.problem)) {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(way.host.clone(), way.plain);
        }
        outcome
    }
}

/// Whether a problem is the answer, and another way has no better one: what a registry says, or a certificate that is not
/// trusted, which nobody shows who speaks no TLS.
fn is_final(problem: &Problem) -> bool {
    match problem {
        Problem::Transport { cause } => cause.contains("invalid peer certificate"),
        Problem::Cut { .. } | Problem::Slow { .. } => false,
        other => !wants_tls(other),
    }
}

/// Whether a server answered plain HTTP with the word that it speaks TLS.
fn wants_tls(problem: &Problem) -> bool {
    match problem {
        Problem::Status { status: 400, said, .. } => said.to_ascii_lowercase().contains("https"),
        Problem::Html { status: 400, title } => title.to_ascii_lowercase().contains("https"),
        _ => false,
    }
}
