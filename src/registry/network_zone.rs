//! The part of the network that an address belongs to, and the check of addresses that a registry refers to.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::registry::image_name::is_loopback_host;

/// A part of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NetworkZone {
    Public,
    Private,
    Loopback,
    LinkLocal,
    /// Unspecified, multicast and broadcast addresses, which cannot belong to a registry.
    Reserved,
}

impl NetworkZone {
    /// Returns the zone of an IP address.
    pub(crate) fn from_address(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => {
                let [a, b, ..] = v4.octets();
                if v4.is_loopback() {
                    Self::Loopback
                } else if v4.is_link_local() {
                    Self::LinkLocal
                } else if v4.is_private() || (a == 100 && b & 0xc0 == 64) {
                    Self::Private
                } else if a == 0 || a >= 224 {
                    Self::Reserved
                } else {
                    Self::Public
                }
            }
            IpAddr::V6(v6) => Self::from_ipv6(v6),
        }
    }

    /// Returns the zone of an IPv6 address; addresses of NAT64 have the zone of the IPv4 address in them.
    fn from_ipv6(v6: Ipv6Addr) -> Self {
        if v6.is_loopback() {
            Self::Loopback
        } else if v6.is_unicast_link_local() {
            Self::LinkLocal
        } else if v6.is_unique_local() {
            Self::Private
        } else if v6.is_unspecified() || v6.is_multicast() {
            Self::Reserved
        } else if let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = v6.segments() {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            Self::from_address(IpAddr::from([a, b, c, d]))
        } else {
            Self::Public
        }
    }

    /// Returns the zone of a host written as an address or as `localhost`; `None` for a name that needs a DNS lookup.
    pub(crate) fn from_host(host: &str) -> Option<Self> {
        if is_loopback_host(host) || host.to_ascii_lowercase().ends_with(".localhost") {
            return Some(Self::Loopback);
        }
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        bare.parse().ok().map(Self::from_address)
    }
}

/// Returns the zones of a URL's host, always with the public zone; a failed DNS lookup adds no other zone.
pub(crate) async fn network_zones(url: &Url) -> BTreeSet<NetworkZone> {
    let host = url.host_str().unwrap_or_default().to_owned();
    if let Some(zone) = NetworkZone::from_host(&host) {
        return BTreeSet::from([zone, NetworkZone::Public]);
    }
    let port = url.port_or_known_default().unwrap_or(443);
    let mut zones: BTreeSet<NetworkZone> = resolve_host(host, port)
        .await
        .map(|found| found.into_iter().map(|address| NetworkZone::from_address(address.ip())).collect())
        .unwrap_or_default();
    zones.remove(&NetworkZone::Reserved);
    zones.insert(NetworkZone::Public);
    zones
}

/// Returns the socket addresses of a host from the system's resolver.
async fn resolve_host(host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    let work = move || (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// A DNS resolver that drops every address outside the allowed zones.
pub(crate) struct GuardedResolver {
    /// The zones whose addresses are returned.
    pub(crate) allowed: BTreeSet<NetworkZone>,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = self.allowed.clone();
        Box::pin(async move {
            let found = resolve_host(name.as_str().to_owned(), 0).await?;
            let kept: Vec<SocketAddr> = found
                .into_iter()
                .filter(|address| allowed.contains(&NetworkZone::from_address(address.ip())))
                .collect();
            if kept.is_empty() {
                let text = "the name resolves to an internal address, and references from the registry to internal \
                            addresses are not followed";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, text).into());
            }
            Ok(Box::new(kept.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_the_same_zone_in_every_notation() {
        for (text, zone) in [
            ("8.8.8.8", NetworkZone::Public),
            ("10.1.2.3", NetworkZone::Private),
            ("100.64.0.1", NetworkZone::Private),
            ("169.254.169.254", NetworkZone::LinkLocal),
            ("[::ffff:169.254.169.254]", NetworkZone::LinkLocal),
            ("[64:ff9b::a9fe:a9fe]", NetworkZone::LinkLocal),
            ("[fd00::1]", NetworkZone::Private),
            ("0.0.0.0", NetworkZone::Reserved),
            ("[::1]", NetworkZone::Loopback),
            ("x.localhost", NetworkZone::Loopback),
        ] {
            assert_eq!(NetworkZone::from_host(text), Some(zone), "{text}");
        }
        assert_eq!(NetworkZone::from_host("registry.example.com"), None);
    }
}
