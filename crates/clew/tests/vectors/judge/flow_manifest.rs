//! Manifests.

use clew_flow::manifest::{ManifestReceiver, digest};
use clew_flow::{Acceptance, Ed25519Signer, FlowSender, Reason, WallTime};

use super::flow_signature::{Told, descriptor, proof, signs, times};
use super::{Stop, check_all, holds};
use crate::case::Case;
use crate::drawn::Drawn;

pub const RULES: [&str; 16] = [
    "valid",
    "unsigned",
    "unknown-version",
    "bad-length",
    "unknown-flow",
    "bad-block",
    "unknown-carriage",
    "old",
    "duplicate",
    "conflict",
    "stale",
    "future",
    "bad-signature",
    "pending",
    "no-signature",
    "bad-proof",
];

pub fn judge(case: &Case) -> Result<(), Stop> {
    match case.word("check")? {
        "manifests" => manifests(case),
        "proof" => proof(case),
        _ => Err(Stop::Wrong("no such check".to_owned())),
    }
}

fn manifests(case: &Case) -> Result<(), Stop> {
    let own = descriptor(case.bytes("descriptor")?)?;
    let mut receiver = ManifestReceiver::new([own], Acceptance::default())?;
    let mut told = Told::default();
    let (received, times) = (case.all("received"), times(case)?);
    let came = case.all("kind").into_iter().zip(received);
    for ((kind, bytes), ticket) in came.zip(0..) {
        let finding = match kind {
            b"manifest" => receiver.receive_manifest(bytes, times[0]),
            _ => receiver.receive(bytes, ticket),
        };
        told.take(&[finding]);
    }
    if !case.all("end").is_empty() {
        told.resolve(&receiver.end());
    }
    check_all(case, "reason", told.0.iter().map(|r| r.as_str()))?;
    if case.has("content") {
        signed(case)?;
    }
    let wrong = told.0.into_iter().find(|reason| *reason != Reason::Ok);
    wrong.map_or(Ok(()), |reason| Err(Stop::Rule(reason.as_str())))
}

/// The signer makes this manifest of the contents, and signs that message.
fn signed(case: &Case) -> Result<(), Stop> {
    let own = descriptor(case.bytes("descriptor")?)?;
    let (contents, bytes) = (case.all("content"), case.all("received")[0]);
    let drawn = [case.bytes("tag")?, case.bytes("seq")?, case.bytes("id")?];
    let mut drawn = Drawn::new(&drawn);
    let signer = Ed25519Signer::from_secret(&case.array("secret")?);
    let mut sender = FlowSender::new(own.clone(), signer, &mut drawn)?;
    let manifest = sender.sign_manifest(&contents, WallTime::from_nanos(case.u64("timestamp")?), &mut drawn);
    holds(manifest.is_ok_and(|made| made == bytes), "it is signed so")?;
    let digests = contents.iter().flat_map(|packet| digest(&own, packet));
    let listed = bytes.starts_with(&digests.collect::<Vec<u8>>());
    holds(listed, "it lists the contents")?;
    signs(case, &own)
}
