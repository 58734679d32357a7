//! Pinned certificates: a registry that presents one of them is trusted, whoever issued it.
//!
//! Many registries have a self-signed certificate that is marked as one of a certificate authority, which chain
//! validation rejects as a host certificate. A pinned certificate needs no chain: it must match byte by byte, and its
//! name and validity period are checked like those of any other.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

use crate::registry::pull_error::error_chain;
use crate::registry::pull_options::CertificateFile;

/// The DER tag of an integer.
const DER_INTEGER: u8 = 0x02;
/// The DER tag of a time with a two-digit year.
const DER_UTC_TIME: u8 = 0x17;
/// The DER tag of a time with a four-digit year.
const DER_GENERALIZED_TIME: u8 = 0x18;
/// The DER tag of a sequence.
const DER_SEQUENCE: u8 = 0x30;
/// The DER tag of the explicit version field of a certificate.
const DER_VERSION: u8 = 0xa0;

/// Builds a TLS configuration that trusts the system's authorities and these certificates.
pub(super) fn tls_config(roots: &[CertificateFile]) -> Result<ClientConfig, String> {
    let mut named: Vec<CertificateDer<'static>> = Vec::new();
    for root in roots {
        for certificate in CertificateDer::pem_slice_iter(&root.pem) {
            named.push(certificate.map_err(|error| format!("{}: no certificates in PEM format: {error}", root.path))?);
        }
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let usual = Verifier::new_with_extra_roots(named.iter().cloned(), provider.clone());
    let usual = Arc::new(usual.map_err(|error| error_chain(&error))?);
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error_chain(&error))?.dangerous();
    Ok(builder
        .with_custom_certificate_verifier(Arc::new(PinnedCertificateVerifier { system: usual, pinned: named }))
        .with_no_client_auth())
}

/// A certificate verifier that trusts the system's authorities and pinned certificates.
#[derive(Debug)]
struct PinnedCertificateVerifier {
    /// The verifier of the system, with the pinned certificates as extra roots.
    system: Arc<Verifier>,
    /// The pinned certificates.
    pinned: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for PinnedCertificateVerifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let outcome = self.system.verify_server_cert(shown, above, name, ocsp, now);
        let Err(error) = outcome else { return outcome };
        let revoked = matches!(error, Error::InvalidCertificate(CertificateError::Revoked));
        if revoked || !self.pinned.iter().any(|named| named.as_ref() == shown.as_ref()) {
            return Err(error);
        }
        verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
        let (from, until) = validity_period(shown).ok_or(Error::InvalidCertificate(CertificateError::BadEncoding))?;
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
        self.system.verify_tls12_signature(message, shown, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.system.verify_tls13_signature(message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.system.supported_verify_schemes()
    }
}

/// Returns the start and the end of a certificate's validity, counted from 1970.
fn validity_period(certificate: &[u8]) -> Option<(Duration, Duration)> {
    let (whole, _) = read_der_element(certificate, DER_SEQUENCE)?;
    let (signed, _) = read_der_element(whole, DER_SEQUENCE)?;
    let rest = read_der_element(signed, DER_VERSION).map_or(signed, |(_, rest)| rest);
    let (_, rest) = read_der_element(rest, DER_INTEGER)?;
    let (_, rest) = read_der_element(rest, DER_SEQUENCE)?;
    let (_, rest) = read_der_element(rest, DER_SEQUENCE)?;
    let (days, _) = read_der_element(rest, DER_SEQUENCE)?;
    let (from, rest) = read_der_time(days)?;
    let (until, _) = read_der_time(rest)?;
    Some((from, until))
}

/// Splits the first DER element off; returns its content and the rest.
fn read_der_element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
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

/// Parses a DER time at the beginning; returns it and the rest.
fn read_der_time(bytes: &[u8]) -> Option<(Duration, &[u8])> {
    let (text, rest, long) = match read_der_element(bytes, DER_UTC_TIME) {
        Some((text, rest)) => (text, rest, false),
        None => read_der_element(bytes, DER_GENERALIZED_TIME).map(|(text, rest)| (text, rest, true))?,
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

    /// Encodes a DER element.
    fn der_element(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).expect("short");
        [&[tag][..], &if length < 128 { vec![length] } else { vec![0x81, length] }, content].concat()
    }

    /// Encodes a certificate with this validity, without a signature.
    fn encode_certificate(from: &[u8], until: &[u8]) -> Vec<u8> {
        let parts = [
            der_element(DER_VERSION, &[2, 1, 2]),
            der_element(DER_INTEGER, &[1]),
            der_element(DER_SEQUENCE, &[5; 130]),
            der_element(DER_SEQUENCE, b""),
        ];
        der_element(
            DER_SEQUENCE,
            &der_element(DER_SEQUENCE, &[parts.concat(), der_element(DER_SEQUENCE, &[from, until].concat())].concat()),
        )
    }

    #[test]
    fn the_validity_of_a_certificate_is_parsed() {
        let seconds = |bytes: &[u8]| validity_period(bytes).map(|(from, until)| (from.as_secs(), until.as_secs()));
        let until = der_element(DER_GENERALIZED_TIME, b"20500101000000Z");
        let whole = encode_certificate(&der_element(DER_UTC_TIME, b"260102030405Z"), &until);
        assert_eq!(seconds(&whole), Some((1_767_323_045, 2_524_608_000)));
        assert_eq!(
            seconds(&encode_certificate(&der_element(DER_UTC_TIME, b"500101000000Z"), &until)),
            Some((0, 2_524_608_000))
        );
        for odd in [&b"260102030405"[..], b"260102030405+01", b"261302030405Z", b"", b"x", &[0xff; 13]] {
            assert_eq!(seconds(&encode_certificate(&der_element(DER_UTC_TIME, odd), &until)), None, "{odd:?}");
        }
        for end in 0..whole.len() {
            assert_eq!(seconds(&whole[..end]), None, "cut at {end}");
        }
        assert_eq!(seconds(&[DER_SEQUENCE, 0x85, 1, 1, 1, 1, 1]), None);
    }
}
