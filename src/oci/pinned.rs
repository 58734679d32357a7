//! Certificates that are named by themselves: a registry that shows one of them is trusted, whoever issued it.
//!
//! Many registries have a certificate that they signed themselves and that calls itself one of an authority, which the
//! rules for chains of certificates do not take for that of a host. Whoever names it has nothing to be told by a chain:
//! it has to be the same byte by byte, and its name and days are checked as those of any other.

use std::sync::Arc;
use std::time::Duration;

use rustls::CertificateError;
use rustls::ClientConfig;
use rustls::DigitallySignedStruct;
use rustls::Error;
use rustls::SignatureScheme;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::client::danger::ServerCertVerified;
use rustls::client::danger::ServerCertVerifier;
use rustls::client::verify_server_name;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::ServerName;
use rustls::pki_types::UnixTime;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::ParsedCertificate;
use rustls_platform_verifier::Verifier;

use crate::oci::error::chain;
use crate::oci::options::Root;

/// Tags of DER.
const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const LONG_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// Settings of TLS under which the system's authorities and these certificates are trusted.
pub(super) fn settings(roots: &[Root]) -> Result<ClientConfig, String> {
    let mut named: Vec<CertificateDer<'static>> = Vec::new();
    for root in roots {
        for certificate in CertificateDer::pem_slice_iter(&root.pem) {
            named.push(certificate.map_err(|error| format!("{}: no certificates in PEM format: {error}", root.path))?);
        }
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let usual = Verifier::new_with_extra_roots(named.iter().cloned(), provider.clone());
    let usual = Arc::new(usual.map_err(|error| chain(&error))?);
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| chain(&error))?.dangerous();
    Ok(builder.with_custom_certificate_verifier(Arc::new(Pinned { usual, named })).with_no_client_auth())
}

/// What the system trusts, and certificates that are trusted by themselves.
#[derive(Debug)]
struct Pinned {
    usual: Arc<Verifier>,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let outcome = self.usual.verify_server_cert(shown, above, name, ocsp, now);
        let Err(error) = outcome else { return outcome };
        let revoked = matches!(error, Error::InvalidCertificate(CertificateError::Revoked));
        if revoked || !self.named.iter().any(|named| named.as_ref() == shown.as_ref()) {
            return Err(error);
        }
        verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
        let (from, until) = days(shown).ok_or(Error::InvalidCertificate(CertificateError::BadEncoding))?;
        let now = Duration::from_secs(now.as_secs());
        if now < from {
            Err(Error::InvalidCertificate(CertificateError::NotValidYet))
        } else if now > until {
            Err(Error::InvalidCertificate(CertificateError::Expired))
        } else {
            Ok(ServerCertVerified::assertion())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls12_signature(message, shown, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// The first and the last second in which a certificate holds, counted from 1970.
fn days(certificate: &[u8]) -> Option<(Duration, Duration)> {
    let (whole, _) = part(certificate, SEQUENCE)?;
    let (signed, _) = part(whole, SEQUENCE)?;
    let rest = part(signed, VERSION).map_or(signed, |(_, rest)| rest);
    let (_, rest) = part(rest, INTEGER)?;
    let (_, rest) = part(rest, SEQUENCE)?;
    let (_, rest) = part(rest, SEQUENCE)?;
    let (days, _) = part(rest, SEQUENCE)?;
    let (from, rest) = time(days)?;
    let (until, _) = time(rest)?;
    Some((from, until))
}

/// The content of the first part of DER, and what is behind it.
fn part(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let [own, length, rest @ ..] = bytes else { return None };
    if *own != tag {
        return None;
    }
    let (length, rest) = match usize::from(*length) {
        short if short < 0x80 => (short, rest),
        long if (0x81..=0x84).contains(&long) => {
            let (digits, rest) = rest.split_at_checked(long - 0x80)?;
            (digits.iter().fold(0, |value, digit| value << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// A time at the beginning, and what is behind it.
fn time(bytes: &[u8]) -> Option<(Duration, &[u8])> {
    let (text, rest, long) = match part(bytes, UTC_TIME) {
        Some((text, rest)) => (text, rest, false),
        None => part(bytes, LONG_TIME).map(|(text, rest)| (text, rest, true))?,
    };
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    // Two digits of the year are those of 1950 to 2049.
    let text = match (long, text.get(..2)?.parse::<u8>().ok()?) {
        (true, _) => text.to_owned(),
        (false, 50..) => format!("19{text}"),
        (false, _) => format!("20{text}"),
    };
    let time = jiff::civil::DateTime::strptime("%Y%m%d%H%M%S", &text).ok()?;
    let second = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second();
    // Before 1970 is at its beginning.
    Some((Duration::from_secs(u64::try_from(second).unwrap_or(0)), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).expect("short");
        [&[tag][..], &if length < 128 { vec![length] } else { vec![0x81, length] }, content].concat()
    }

    fn certificate(from: &[u8], until: &[u8]) -> Vec<u8> {
        let parts = [of(VERSION, &[2, 1, 2]), of(INTEGER, &[1]), of(SEQUENCE, &[5; 130]), of(SEQUENCE, b"")];
        of(SEQUENCE, &of(SEQUENCE, &[parts.concat(), of(SEQUENCE, &[from, until].concat())].concat()))
    }

    #[test]
    fn the_days_of_a_certificate_are_read() {
        let seconds = |bytes: &[u8]| days(bytes).map(|(from, until)| (from.as_secs(), until.as_secs()));
        let until = of(LONG_TIME, b"20500101000000Z");
        let whole = certificate(&of(UTC_TIME, b"260102030405Z"), &until);
        assert_eq!(seconds(&whole), Some((1_767_323_045, 2_524_608_000)));
        assert_eq!(seconds(&certificate(&of(UTC_TIME, b"500101000000Z"), &until)), Some((0, 2_524_608_000)));
        for odd in [&b"260102030405"[..], b"260102030405+01", b"261302030405Z", b"", b"x", &[0xff; 13]] {
            assert_eq!(seconds(&certificate(&of(UTC_TIME, odd), &until)), None, "{odd:?}");
        }
        for end in 0..whole.len() {
            assert_eq!(seconds(&whole[..end]), None, "cut at {end}");
        }
        assert_eq!(seconds(&[SEQUENCE, 0x85, 1, 1, 1, 1, 1]), None);
    }
}
