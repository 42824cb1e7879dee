//! Proof of one packet: what a third party needs to check who signed it, and nothing of the other
//! packets but their digests (`spec/flow-signature.md` section 8).

use clew_evidence::wire::Reader;
use clew_flow::manifest::Manifest;
use clew_flow::{
    Acceptance, Descriptor, Effort, Fixed, FlowReceiver, Reason, SignedPacket, WallTime,
};
use std::time::Duration;

/// What a proof begins with.
pub const MAGIC: [u8; 16] = *b"clew-flow-proof1";

/// Longest proof that is read: the longest datagram and its descriptor.
pub const PROOF_BYTES_MAX: usize = 1 << 17;

/// One packet in full form, with the descriptor of its flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Whose flow it is: as trustworthy as where it came from.
    pub descriptor: Descriptor,
    /// The packet with its packet signature, in full carriage.
    pub signed: Vec<u8>,
}

/// The bytes are no proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not a proof of clew flow extract")]
pub struct NotAProof;

impl Proof {
    /// Its bytes: magic (16), length of the descriptor (2), descriptor, signed packet.
    pub fn to_bytes(&self) -> Vec<u8> {
        let descriptor = self.descriptor.to_bytes();
        let length = (descriptor.len() as u16).to_be_bytes();
        [&MAGIC[..], &length, &descriptor, &self.signed].concat()
    }

    /// Reads a proof. Nothing of it is verified.
    ///
    /// # Errors
    /// See [`NotAProof`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NotAProof> {
        if bytes.len() > PROOF_BYTES_MAX {
            return Err(NotAProof);
        }
        Self::read(bytes).ok_or(NotAProof)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut fields = Reader(bytes);
        if fields.array()? != MAGIC {
            return None;
        }
        let length = u16::from_be_bytes(fields.array()?);
        let descriptor = fields.take(length.into())?;
        Some(Self {
            descriptor: Descriptor::from_bytes(descriptor).ok()?,
            signed: fields.0.to_vec(),
        })
    }

    /// Verifies the packet, whenever it was signed.
    pub fn verify(&self) -> Reason {
        match self.manifest() {
            Some(Ok(manifest)) => manifest.verify(&self.descriptor),
            Some(Err(reason)) => reason,
            None => self.verify_signature(),
        }
    }

    /// The manifest behind the packet, if that is what there is.
    fn manifest(&self) -> Option<Result<Manifest<'_>, Reason>> {
        let fixed = Fixed::of(&self.signed).ok().filter(Manifest::is)?;
        if fixed.key != self.descriptor.key_id() {
            return Some(Err(Reason::UnknownFlow));
        }
        Some(Manifest::of(&self.signed, fixed, &self.descriptor))
    }

    fn verify_signature(&self) -> Reason {
        let acceptance = Acceptance {
            tolerance: Duration::MAX,
            effort: Effort::default(),
            ..Acceptance::default()
        };
        let receiver = FlowReceiver::new([self.descriptor.clone()], acceptance);
        match receiver {
            Ok(mut receiver) => {
                receiver
                    .receive(&self.signed, WallTime::default(), 0)
                    .reason
            }
            // A key that is none signs nothing.
            Err(_) => Reason::BadSignature,
        }
    }

    /// What a proof that holds is of.
    pub fn packet(&self) -> Option<Proven<'_>> {
        let fixed = Fixed::of(&self.signed).ok()?;
        let (packet, timestamp) = match self.manifest() {
            Some(manifest) => manifest.ok().map(|m| (m.packet, m.timestamp()))?,
            None => SignedPacket::of(&self.signed, fixed, &self.descriptor)
                .ok()
                .map(|signed| (Some(signed.packet), signed.part.timestamp()))?,
        };
        Some(Proven {
            fixed,
            packet: packet?,
            timestamp: timestamp?,
        })
    }
}

/// What a proof is of.
#[derive(Clone, Copy, Debug)]
pub struct Proven<'a> {
    /// Where it was in its block.
    pub fixed: Fixed,
    /// What was sent.
    pub packet: &'a [u8],
    /// When its block was signed.
    pub timestamp: WallTime,
}
