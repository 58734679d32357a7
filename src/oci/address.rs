//! Which part of the network an address belongs to, and who may send us there.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::net::Ipv6Addr;
use std::net::SocketAddr;
use std::net::ToSocketAddrs;

use reqwest::Url;
use reqwest::dns::Addrs;
use reqwest::dns::Name;
use reqwest::dns::Resolve;
use reqwest::dns::Resolving;

use crate::oci::reference::is_loopback_host;

/// A part of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Zone {
    Public,
    Private,
    Loopback,
    LinkLocal,
    /// Unspecified, multicast, broadcast: no place for a registry.
    Reserved,
}

impl Zone {
    /// The zone of an address.
    pub(crate) fn of(address: IpAddr) -> Self {
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
            IpAddr::V6(v6) => Self::of_v6(v6),
        }
    }

    fn of_v6(v6: Ipv6Addr) -> Self {
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
            Self::of(IpAddr::from([a, b, c, d]))
        } else {
            Self::Public
        }
    }

    /// The zone of a host that shows it by its text; none for a name that has to be looked up.
    pub(crate) fn of_text(host: &str) -> Option<Self> {
        if is_loopback_host(host) || host.to_ascii_lowercase().ends_with(".localhost") {
            return Some(Self::Loopback);
        }
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        bare.parse().ok().map(Self::of)
    }
}

/// The zones a host is in; a name that cannot be looked up here (behind a proxy) counts as public.
pub(crate) async fn zones_of(url: &Url) -> BTreeSet<Zone> {
    let host = url.host_str().unwrap_or_default().to_owned();
    if let Some(zone) = Zone::of_text(&host) {
        return BTreeSet::from([zone, Zone::Public]);
    }
    let port = url.port_or_known_default().unwrap_or(443);
    let mut zones: BTreeSet<Zone> = look_up(host, port)
        .await
        .map(|found| found.into_iter().map(|address| Zone::of(address.ip())).collect())
        .unwrap_or_default();
    zones.remove(&Zone::Reserved);
    zones.insert(Zone::Public);
    zones
}

async fn look_up(host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    let work = move || (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// Looks names up and drops every address outside the allowed zones.
pub(crate) struct GuardedResolver {
    pub(crate) allowed: BTreeSet<Zone>,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = self.allowed.clone();
        Box::pin(async move {
            let found = look_up(name.as_str().to_owned(), 0).await?;
            let kept: Vec<SocketAddr> =
                found.into_iter().filter(|address| allowed.contains(&Zone::of(address.ip()))).collect();
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
    fn addresses_fall_into_their_zones_in_every_spelling() {
        for (text, zone) in [
            ("8.8.8.8", Zone::Public),
            ("10.1.2.3", Zone::Private),
            ("100.64.0.1", Zone::Private),
            ("169.254.169.254", Zone::LinkLocal),
            ("[::ffff:169.254.169.254]", Zone::LinkLocal),
            ("[64:ff9b::a9fe:a9fe]", Zone::LinkLocal),
            ("[fd00::1]", Zone::Private),
            ("0.0.0.0", Zone::Reserved),
            ("[::1]", Zone::Loopback),
            ("x.localhost", Zone::Loopback),
        ] {
            assert_eq!(Zone::of_text(text), Some(zone), "{text}");
        }
        assert_eq!(Zone::of_text("registry.example.com"), None);
    }
}
