//! The places where a reference may be asked for, in order.

use crate::oci::options::Options;
use crate::oci::reference;
use crate::oci::reference::is_loopback;
use crate::reference::ImageReference;

/// A place to ask for a repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Endpoint {
    /// Host and port.
    pub(crate) host: String,
    /// The repository's name there.
    pub(crate) repository: String,
    /// Whether plain HTTP is spoken.
    pub(crate) plain: bool,
    /// Whether any certificate will do.
    pub(crate) unverified: bool,
}

impl Endpoint {
    /// The ways to speak to a host: plain HTTP first on this machine and where it is asked for, HTTPS alone elsewhere but
    /// where the settings say otherwise.
    pub(crate) fn ways(host: &str, repository: &str, insecure: bool, options: &Options) -> Vec<Self> {
        let way = |plain, unverified| Self { host: host.into(), repository: repository.into(), plain, unverified };
        if is_loopback(host) || options.access.plain_http.iter().any(|asked| asked == host) {
            vec![way(true, false), way(false, insecure)]
        } else if insecure {
            vec![way(false, true), way(true, false)]
        } else {
            vec![way(false, false)]
        }
    }

    /// The places for an image that nothing is configured for.
    pub(crate) fn own(image: &ImageReference, options: &Options) -> Vec<Self> {
        Self::ways(reference::host(image), image.repository(), false, options)
    }
}
