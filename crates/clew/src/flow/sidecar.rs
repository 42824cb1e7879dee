//! Manifests beside a capture that stays as it is (`spec/flow-signature.md` section 10).

use super::capture::{datagram, time};
use super::file::record;
use super::schemes::{Flows, Verifiable};
use super::verify::{Freshness, Judged, Verified};
use crate::capture::Capture;
use crate::failure::Failure;
use clew_flow::manifest::{Manifest, digest};
use clew_flow::{Descriptor, Fixed, Reason, WallTime};
use clew_tree::Digest;
use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::time::Duration;

/// What a file of manifests begins with.
pub const MAGIC: [u8; 16] = *b"clew-flow-list1\n";

/// Most packets that the manifests of one file may list: each takes some 100 bytes of memory.
pub const LISTED_MAX: usize = 1 << 24;

/// A digest in verified manifests.
#[derive(Clone, Copy, Debug, Default)]
struct Listed {
    /// Places that no packet took yet.
    open: u32,
    /// When its last manifest was signed.
    signed: WallTime,
}

/// The verified manifests of a file.
#[derive(Debug)]
pub struct Sidecar {
    flows: Vec<Descriptor>,
    listed: HashMap<Digest, Listed>,
    /// How many manifests were verified.
    pub manifests: u64,
}

impl Sidecar {
    /// Reads and verifies all manifests of a file.
    ///
    /// # Errors
    /// It is no such file, or one of its manifests is not valid: then the answer is no.
    pub fn read(path: &Path, flows: &Flows) -> Result<Self, Failure> {
        let mut sidecar = Self {
            flows: flows.to_vec(),
            listed: HashMap::new(),
            manifests: 0,
        };
        let mut seen = HashSet::new();
        each(path, flows, |manifest, _| {
            sidecar.manifests += 1;
            // Once is enough of one that was stored twice.
            match seen.insert(manifest.fixed.id) {
                true => sidecar.add(&manifest).map_err(|e| Failure::file(path, e)),
                false => Ok(()),
            }
        })?;
        Ok(sidecar)
    }

    fn add(&mut self, manifest: &Manifest<'_>) -> Result<(), &'static str> {
        for digest in manifest.digests() {
            let listed = self.listed.entry(*digest).or_default();
            listed.open += 1;
            listed.signed = manifest.timestamp().unwrap_or_default();
        }
        match self.listed.len() > LISTED_MAX {
            true => Err("too many packets for this memory: sign the capture in parts"),
            false => Ok(()),
        }
    }

    /// Judges a packet. A manifest's time may be `tolerance` from `now`.
    fn judge(&mut self, packet: &[u8], now: Option<WallTime>, tolerance: Duration) -> Reason {
        let mut reason = Reason::NoSignature;
        for flow in &self.flows {
            let Some(listed) = self.listed.get_mut(&digest(flow, packet)) else {
                continue;
            };
            let signed = listed.signed;
            let near = now.is_none_or(|now| (now - signed).max(signed - now) <= tolerance);
            reason = match listed.open.checked_sub(1) {
                None => Reason::Duplicate,
                Some(_) if !near => Reason::Stale,
                Some(left) => {
                    listed.open = left;
                    return Reason::Ok;
                }
            };
        }
        reason
    }
}

/// The full form of a packet, by the manifest of a file that lists it; none if none does.
pub fn full_form(path: &Path, flows: &Flows, packet: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
    let mut full = None;
    each(path, flows, |manifest, flow| {
        full = full.take().or_else(|| manifest.in_full(packet, flow));
        Ok(())
    })?;
    Ok(full)
}

/// Verifies all manifests of a file, one after the other.
fn each(
    path: &Path,
    flows: &Flows,
    mut each: impl FnMut(Manifest<'_>, &Descriptor) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |e: &dyn Display| Failure::file(path, e);
    let mut from = BufReader::new(File::open(path).map_err(|e| failed(&e))?);
    let mut magic = [0; MAGIC.len()];
    if from.read_exact(&mut magic).is_err() || magic != MAGIC {
        return Err(failed(&"not a manifest file")
            .hint("use the file of clew flow sign --carriage manifest"));
    }
    let known = flows.verifiable()?;
    let mut number = 0;
    while let Some(bytes) = record(&mut from).map_err(|e| failed(&e))? {
        number += 1;
        let (manifest, flow) = verified(&bytes, &known).map_err(|reason| {
            failed(&format!(
                "manifest {number}: {}: {reason}",
                reason.verdict()
            ))
            .no()
        })?;
        each(manifest, flow)?;
    }
    Ok(())
}

/// A manifest whose signature holds, and whose it is.
fn verified<'a, 'f>(
    bytes: &'a [u8],
    known: &'f [Verifiable],
) -> Result<(Manifest<'a>, &'f Descriptor), Reason> {
    let fixed = Fixed::of(bytes)?;
    let flow = known.iter().find(|(flow, _)| flow.key_id() == fixed.key);
    let (flow, verifier) = flow.ok_or(Reason::UnknownFlow)?;
    let manifest = Manifest::of(bytes, fixed, flow)?;
    if manifest.packet.is_some() {
        return Err(Reason::BadLength);
    }
    match manifest.is_signed(flow, verifier.as_ref()) {
        true => Ok((manifest, flow)),
        false => Err(Reason::BadSignature),
    }
}

/// Verifies a capture by its manifests. `each` gets every record in order.
pub fn verify_capture(
    mut capture: Capture,
    mut sidecar: Sidecar,
    freshness: Freshness,
    mut each: impl FnMut(Judged) -> Result<(), Failure>,
) -> Result<Verified, Failure> {
    let mut verified = Verified {
        verifications: sidecar.manifests,
        ..Verified::default()
    };
    while let Some(batch) = capture.next_batch()? {
        for record in batch {
            let reason = datagram(&record).map(|udp| {
                let now = match freshness {
                    Freshness::AtCaptureTime => time(&record),
                    Freshness::MaxAge(_) => Some(freshness.now(&record)),
                };
                sidecar.judge(udp.payload(), now, freshness.tolerance())
            });
            verified.count(&record, reason);
            each(Judged { record, reason })?;
        }
    }
    let open = sidecar.listed.values().map(|listed| u64::from(listed.open));
    verified.lost.packets = open.sum();
    verified.damage = capture.damage().map(ToString::to_string);
    Ok(verified)
}
