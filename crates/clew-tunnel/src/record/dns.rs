//! TXT records of the DNS: `spec/tunnel.md` section 3, text forms.

use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Cert, Ecert};
use crate::reason::Reason;

const CERT: &str = "mlt0c=";
const ECERT: &str = "mlt0e=";

/// Longest text that is read: base64 of more than the longest part.
const TEXT_MAX: usize = 1_024;

/// The text of a certificate.
pub fn to_dns_cert(cert: &Cert) -> String {
    [CERT, &STANDARD.encode(cert.to_bytes())].concat()
}

/// The text of an ephemeral certificate.
pub fn to_dns_ecert(ecert: &Ecert) -> String {
    [ECERT, &STANDARD.encode(ecert.to_bytes())].concat()
}

/// Reads the text of a certificate. None: it is the text of something else, and to be passed over.
///
/// # Errors
/// `record-length`, also for what is no base64; `record-version`.
pub fn from_dns_cert(text: &str) -> Option<Result<Cert, Reason>> {
    let bytes = decoded(text.strip_prefix(CERT)?);
    Some(bytes.and_then(|bytes| Cert::parse(&bytes)))
}

/// Reads the text of an ephemeral certificate. None: it is the text of something else, and to be passed
/// over.
///
/// # Errors
/// As [`from_dns_cert`].
pub fn from_dns_ecert(text: &str) -> Option<Result<Ecert, Reason>> {
    let bytes = decoded(text.strip_prefix(ECERT)?);
    Some(bytes.and_then(|bytes| Ecert::parse(&bytes)))
}

fn decoded(base64: &str) -> Result<Vec<u8>, Reason> {
    let short = Some(base64).filter(|text| text.len() <= TEXT_MAX);
    let bytes = short.and_then(|text| STANDARD.decode(text).ok());
    bytes.ok_or(Reason::RecordLength)
}
