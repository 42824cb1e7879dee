//! What a reader of records refuses: `spec/tunnel.md` section 3.3.

use super::{Cert, Ecert, Record, check_hostname};
use crate::keys::canonical;
use crate::limits::{LIFETIME_MAX, SKEW};
use crate::reason::Reason;
use clew_wire::WallTime;
use core::time::Duration;

/// What a reader asks of a record.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The host; none: any (of a name server).
    pub hostname: Option<&'a str>,
    /// The time.
    pub now: WallTime,
    /// Longest life of a certificate that this reader takes.
    pub cert_lifetime_max: Duration,
}

impl Wanted<'_> {
    /// Verifies a record. `trusts` says whether the certificate's issuer is trusted for its hostname, or its
    /// signing key is the pinned one of the host; the certificate is not verified yet when it is asked.
    ///
    /// # Errors
    /// Those of section 3.3 from `untrusted` on: the first that applies.
    pub fn verify(
        &self,
        record: &Record,
        trusts: impl FnOnce(&Cert) -> bool,
    ) -> Result<(), Reason> {
        self.verify_parts(&record.cert, &record.ecert, trusts)
    }

    /// The same for a certificate and an ephemeral one that came by themselves: a stale-key answer has
    /// only the latter.
    ///
    /// # Errors
    /// As [`Self::verify`].
    pub(crate) fn verify_parts(
        &self,
        cert: &Cert,
        ecert: &Ecert,
        trusts: impl FnOnce(&Cert) -> bool,
    ) -> Result<(), Reason> {
        if !trusts(cert) {
            return Err(Reason::Untrusted);
        }
        if !cert.is_signed() || !ecert.is_signed(&cert.body.signing) {
            return Err(Reason::RecordSignature);
        }
        let (cert, ecert) = (&cert.body, &ecert.body);
        if (cert.signing, cert.boxing) != (ecert.signing, ecert.boxing) {
            return Err(Reason::RecordKeys);
        }
        check_hostname(&cert.hostname)?;
        if self
            .hostname
            .is_some_and(|host| host.as_bytes() != cert.hostname)
        {
            return Err(Reason::WrongHost);
        }
        ecert.check()?;
        // That the signing key is canonical its signature has shown.
        for key in [cert.boxing, ecert.ephemeral] {
            canonical(key.0)?;
        }
        self.check_times([
            (cert.start, cert.end, self.cert_lifetime_max),
            (ecert.start, ecert.end, LIFETIME_MAX),
        ])
    }

    /// Lifetimes first, then starts, then ends.
    fn check_times(&self, times: [(u64, u64, Duration); 2]) -> Result<(), Reason> {
        let lives = |(start, end, most): (u64, u64, Duration)| {
            start < end && Duration::from_millis(end - start) <= most
        };
        if !times.into_iter().all(lives) {
            return Err(Reason::BadLifetime);
        }
        let latest = (self.now + SKEW).as_millis();
        if times.iter().any(|(start, ..)| *start > latest) {
            return Err(Reason::NotYetValid);
        }
        if times.iter().any(|(_, end, _)| self.now.as_millis() > *end) {
            return Err(Reason::Expired);
        }
        Ok(())
    }
}
