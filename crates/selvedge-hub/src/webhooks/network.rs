//! Addresses that webhooks may be sent to: only public ones, unless the operator allows others. Otherwise users
//! who may create webhooks could reach the services of the hub's own network.
//!
//! Names are checked after their resolution, by the resolver that the connection itself uses, so a name that
//! resolves differently the next time gains nothing.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Why a URL cannot receive webhooks.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UrlError {
    /// It is not a URL, or not of a supported kind.
    #[error("must be a URL like `https://example.com/hook`")]
    Invalid,
    /// It would be sent without encryption.
    #[error(
        "must begin with `https://`; for others, start the hub with `--webhooks-allow-private`"
    )]
    Unencrypted,
    /// It contains a user name or a password.
    #[error("must not contain a user name or a password")]
    Credentials,
    /// It names a private address.
    #[error(
        "{0} is not a public address; to allow it, start the hub with `--webhooks-allow-private`"
    )]
    Private(IpAddr),
}

/// Parses and checks the URL of a receiver, except what its name resolves to.
pub(crate) fn parse_url(text: &str, allow_private: bool) -> Result<Url, UrlError> {
    let url = Url::parse(text).map_err(|_| UrlError::Invalid)?;
    match url.scheme() {
        "https" => {}
        "http" if allow_private => {}
        "http" => return Err(UrlError::Unencrypted),
        _ => return Err(UrlError::Invalid),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlError::Credentials);
    }
    let host = url.host_str().ok_or(UrlError::Invalid)?;
    let literal: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    match literal {
        Some(address) if !allow_private && !is_public(address) => Err(UrlError::Private(address)),
        _ => Ok(url),
    }
}

/// A resolver that returns only addresses that requests may be sent to.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckedResolver {
    pub(super) allow_private: bool,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allow_private = self.allow_private;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found
                .filter(|address| allow_private || is_public(address.ip()))
                .collect();
            if allowed.is_empty() {
                let why = format!("{} has no public address", name.as_str());
                return Err(io::Error::other(why).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// Whether an address is reachable over the internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_benchmark = a == 198 && (b == 18 || b == 19);
    let is_protocol = a == 192 && b == 0 && c == 0;
    let is_relay = a == 192 && b == 88 && c == 99;
    !(a == 0
        || a >= 224
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation()
        || is_shared
        || is_benchmark
        || is_protocol
        || is_relay)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Only this block is assigned for use on the internet. Addresses of tunnels in it could lead to private ones.
    let is_global = first & 0xe000 == 0x2000;
    let is_tunnel = first == 0x2002 || (first == 0x2001 && second < 0x200);
    let is_documentation =
        (first == 0x2001 && second == 0xdb8) || (first == 0x3fff && second < 0x1000);
    is_global && !is_tunnel && !is_documentation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_allowed() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "192.0.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "ff02::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in [
            "1.1.1.1",
            "93.184.216.34",
            "172.32.0.1",
            "2606:4700::1111",
            "2a00:1450::1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn url_with_private_or_odd_parts_is_rejected() {
        for refused in [
            "http://example.com/",
            "https://127.0.0.1/",
            "https://[::1]/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://user:x@example.com/",
            "ftp://example.com/",
            "example.com",
            "file:///etc/passwd",
        ] {
            assert!(parse_url(refused, false).is_err(), "{refused}");
        }
        assert!(parse_url("https://example.com/hook?x=1", false).is_ok());
        assert!(parse_url("http://127.0.0.1:9/hook", true).is_ok());
        assert!(parse_url("ftp://127.0.0.1/", true).is_err());
    }
}
