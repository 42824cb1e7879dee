//! One signed packet of a capture, as trustees and judges look at it.

use super::coverage::Window;
use super::fragments::Fragments;
use super::packet;
use super::restore::in_full;
use crate::capture::Capture;
use crate::failure::Failure;
use crate::random;
use crate::report;
use clew_capture::Record;
use clew_engine::AsFrame;
use clew_engine::Keyring;
use clew_evidence::{GroupFile, Packet, Request};
use clew_packet::{
    Acceptance, Block, Carriage, Conclusion, Mode, Reason, Received, Receiver, Restorer,
    SignedPacket, Summary, Verdict, read,
};
use std::collections::BTreeMap;
use std::path::Path;

/// A signed packet, taken apart.
pub struct Evidence {
    /// What its trailer says.
    pub summary: Summary,
    /// Names the packet that is asked about among those under its signature.
    pub asked: [u8; 32],
    /// Of mode `window`: the packets before it that its signature covers.
    pub window: Option<Window>,
    /// How many packets its signature covers, as the signature says.
    pub covered: usize,
    message: Vec<u8>,
    body: Vec<u8>,
    /// Of mode `tree`: the packet's leaf.
    leaf: Option<[u8; 32]>,
}

impl Evidence {
    /// Packet `number` of a capture, in full form if it has another, once its signature was verified.
    /// When it was seen is not judged: what counts is the time that it was signed with.
    pub fn verified(path: &Path, number: u64, group: &GroupFile) -> Result<Self, Failure> {
        let record = in_full(packet::find(path, number)?.record, path, number, group)?;
        Self::of_verified(&record, number, group)
    }

    /// The same of a record in full form.
    pub fn of_verified(record: &Record, number: u64, group: &GroupFile) -> Result<Self, Failure> {
        let Conclusion {
            verdict, reason, ..
        } = conclude(record, group);
        match (verdict, Self::of(record, &mut Restorer::new())) {
            (Verdict::Valid, Some(evidence)) => Ok(evidence),
            (Verdict::Invalid, _) => {
                let why = report::explain(reason);
                let failure = Failure::new(format!("packet {number}: invalid, {reason}: {why}"));
                Err(match reason {
                    // With another group file it may be valid.
                    Reason::UnknownGroup => failure,
                    Reason::UnknownEpoch => failure.hint("get the newest group file"),
                    _ => failure.no(),
                })
            }
            _ => Err(Failure::new(format!(
                "packet {number}: {verdict}, {reason}: cannot be opened"
            ))),
        }
    }

    /// A packet of a capture with the signature that a request is about, not verified: the first that
    /// there is, whichever was asked about. Of a block in coded carriage it is one of those that
    /// restore its signature.
    pub fn find(
        path: &Path,
        request: &Request,
        group: &GroupFile,
    ) -> Result<Option<Self>, Failure> {
        let mut capture = Capture::open(path, "reading")?;
        let (mut restorer, mut fragments) = (Restorer::new(), Fragments::new());
        while let Some(batch) = capture.next_batch()? {
            for whole in batch.into_iter().filter_map(|r| fragments.take(r)) {
                let found = Self::of(&whole.record, &mut restorer);
                if let Some(found) = found.filter(|evidence| evidence.is_of(request, group)) {
                    let asked = request.asked_packet;
                    return Ok(Some(Self { asked, ..found }));
                }
            }
        }
        Ok(None)
    }

    /// One packet of a capture for each of the signatures with these digests that it has, not verified.
    pub fn with_digests(path: &Path, digests: &[[u8; 32]]) -> Result<Vec<Self>, Failure> {
        let mut capture = Capture::open(path, "reading")?;
        let (mut restorer, mut fragments) = (Restorer::new(), Fragments::new());
        let mut found = BTreeMap::new();
        while let Some(batch) = capture.next_batch()? {
            for whole in batch.into_iter().filter_map(|r| fragments.take(r)) {
                let Some(evidence) = Self::of(&whole.record, &mut restorer) else {
                    continue;
                };
                let digest = evidence.packet().digest();
                if digests.contains(&digest) {
                    found.entry(digest).or_insert(evidence);
                }
            }
        }
        Ok(found.into_values().collect())
    }

    fn is_of(&self, request: &Request, group: &GroupFile) -> bool {
        let Summary {
            group: tag,
            scheme,
            epoch,
            ..
        } = self.summary;
        let about = (group.id().tag(), group.scheme(), request.epoch);
        (tag, scheme, epoch) == about && self.packet().digest() == request.signature_digest
    }

    /// Whether the signature covers that packet too.
    pub fn covers(&self, packet: &SignedPacket<'_>) -> bool {
        packet.is_covered_by(&self.message, &self.body)
    }

    /// What trustees and judges are shown.
    pub fn packet(&self) -> Packet<'_> {
        Packet {
            epoch: self.summary.epoch,
            message: &self.message,
            body: &self.body,
            leaf: self.leaf,
        }
    }

    /// What a record holds; in coded carriage, once the signature of its block can be restored.
    fn of(record: &Record, restorer: &mut Restorer<()>) -> Option<Self> {
        let (frame, _) = record.as_frame()?;
        let signed = read(&frame).ok()?;
        let summary = signed.summary();
        let mut message = Vec::new();
        signed.write_message(&mut message);
        let mut body = match signed.trailer().carriage {
            Carriage::Full => signed.trailer().body.to_vec(),
            Carriage::Coded(_) => restorer.take(&signed, ())?.signature,
        };
        // The plain form is what both forms begin with.
        body.truncate(summary.scheme.signature_bytes(false));
        Some(Self {
            summary,
            asked: signed.asked(),
            leaf: (summary.mode == Mode::Tree).then(|| signed.asked()),
            window: Window::of(&signed),
            covered: match signed.trailer().block {
                Block::Each => 1,
                Block::Window { k, .. } => k.into(),
                Block::Tree { block, .. } => block.count().into(),
            },
            message,
            body,
        })
    }
}

/// What a record in full form is, whenever it was seen.
pub fn conclude(record: &Record, group: &GroupFile) -> Conclusion {
    let keyring = Keyring::from(group.clone());
    let mut receiver = Receiver::new(&keyring, Acceptance::capture());
    let received = record
        .as_frame()
        .map(|(frame, _)| receiver.receive(&frame, None));
    match received.expect("the record found is a packet") {
        Received::Done(conclusion) => conclusion,
        Received::Pending(pending) => receiver.conclude(pending.check(&mut random::os())),
        Received::Waiting(ticket) => receiver.give_up(ticket),
    }
}
