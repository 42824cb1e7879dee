//! Block signatures: who may have made them, and which are looked at. Steps 9 and 10 of
//! `spec/flow-signature.md` section 5.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use sha2::{Digest as _, Sha256};

use super::Acceptance;
use super::refused::{Budgets, Refused};
use crate::reason::Reason;
use crate::signing::BlockVerifier;
use crate::wire::{BadDescriptor, Carriage, Descriptor, KeyId, Message, blob_parts};
use clew_wire::WallTime;

/// The flows that are known, and what is remembered of signatures.
#[derive(Debug)]
pub(crate) struct Signatures {
    acceptance: Acceptance,
    known: BTreeMap<KeyId, (Descriptor, Box<dyn BlockVerifier>)>,
    refused: Refused,
    budgets: Budgets,
    verifications: u64,
}

impl Signatures {
    pub fn new(
        flows: impl IntoIterator<Item = (Descriptor, Box<dyn BlockVerifier>)>,
        acceptance: Acceptance,
    ) -> Self {
        let known = flows.into_iter().map(|flow| (flow.0.key_id(), flow));
        Self {
            known: known.collect(),
            refused: Refused::new(),
            budgets: Budgets::new(acceptance.effort),
            acceptance,
            verifications: 0,
        }
    }

    /// Creates verifiers as the descriptors name them.
    pub fn of(
        descriptors: impl IntoIterator<Item = Descriptor>,
        acceptance: Acceptance,
    ) -> Result<Self, BadDescriptor> {
        let flows = descriptors.into_iter().map(|descriptor| {
            let verifier = descriptor.verifier()?;
            Ok((descriptor, verifier))
        });
        let flows: Vec<_> = flows.collect::<Result<_, _>>()?;
        Ok(Self::new(flows, acceptance))
    }

    /// Returns the flow of a key id, or [`Reason::UnknownFlow`] if there is none.
    pub fn flow(&self, key: KeyId) -> Result<&Descriptor, Reason> {
        let known = self.known.get(&key).ok_or(Reason::UnknownFlow)?;
        Ok(&known.0)
    }

    pub fn flows(&self) -> impl Iterator<Item = &Descriptor> {
        self.known.values().map(|(descriptor, _)| descriptor)
    }

    /// Adds effort for a valid packet.
    pub fn earn(&mut self) {
        self.budgets.earn();
    }

    pub const fn verifications(&self) -> u64 {
        self.verifications
    }

    /// Returns whether a blob that came now, in that carriage, makes its block valid: by the
    /// message that its timestamp leads to.
    pub fn verify(
        &mut self,
        key: KeyId,
        carriage: Carriage,
        blob: &[u8],
        now: WallTime,
        message: impl FnOnce(&Descriptor, WallTime) -> Message,
    ) -> Result<(), Reason> {
        let (descriptor, verifier) = self.known.get(&key).ok_or(Reason::UnknownFlow)?;
        let (timestamp, signature) = blob_parts(blob).ok_or(Reason::BadLength)?;
        self.acceptance.check(timestamp, now)?;
        let message = message(descriptor, timestamp);
        let name = Sha256::new_with_prefix(message).chain_update(signature);
        let name: [u8; 32] = name.finalize().into();
        if let Some(reason) = self.refused.get(&name) {
            return Err(reason);
        }
        if !self.budgets.of(carriage).spend(now) {
            return Err(Reason::Busy);
        }
        self.verifications += 1;
        let reason = match verifier.verify(&message, signature) {
            Some(assurance) if assurance.is_enough() => return Ok(()),
            Some(_) => Reason::Weak,
            None => Reason::BadSignature,
        };
        self.refused.insert(name, reason);
        Err(reason)
    }
}
