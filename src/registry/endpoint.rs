//! Registry endpoints: host, repository and protocol of the requests for an image.

use crate::model::reference::ImageReference;
use crate::registry::image_name;
use crate::registry::image_name::is_loopback_registry;
use crate::registry::pull_options::PullOptions;

/// A host, a repository on it, and the protocol to use.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RegistryEndpoint {
    /// Host and port.
    pub(crate) host: String,
    /// The repository's name on this host.
    pub(crate) repository: String,
    /// Whether requests use plain HTTP.
    pub(crate) plain_http: bool,
    /// Whether invalid certificates are accepted.
    pub(crate) accept_invalid_certs: bool,
}

impl RegistryEndpoint {
    /// Returns the endpoints of a host: plain HTTP first on this machine or if requested by the options, otherwise
    /// HTTPS only unless `insecure`.
    pub(crate) fn for_host(host: &str, repository: &str, insecure: bool, options: &PullOptions) -> Vec<Self> {
        let way = |plain, unverified| Self {
            host: host.into(),
            repository: repository.into(),
            plain_http: plain,
            accept_invalid_certs: unverified,
        };
        if is_loopback_registry(host) || options.access.plain_http.iter().any(|plain_http_host| plain_http_host == host)
        {
            vec![way(true, false), way(false, insecure)]
        } else if insecure {
            vec![way(false, true), way(true, false)]
        } else {
            vec![way(false, false)]
        }
    }

    /// Returns the endpoints of an image whose registry is not configured.
    pub(crate) fn default_for(image: &ImageReference, options: &PullOptions) -> Vec<Self> {
        Self::for_host(image_name::registry_host(image), image.repository(), false, options)
    }
}
