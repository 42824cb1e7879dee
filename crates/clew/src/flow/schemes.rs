//! Who signs and who verifies blocks here: Ed25519 by AWS-LC, eFFS by `clew-flow`.

use super::ed25519;
use super::keys::title;
use crate::failure::Failure;
use crate::random;
use clew_flow::effs::{self, Assurance, Fault, Instance, Parameters};
use clew_flow::{
    Acceptance, Algorithm, BadDescriptor, BlockSigner, BlockVerifier, Descriptor, Distribution,
    FlowReceiver, FlowSender, Unsignable, WallTime,
};
use rand_core::CryptoRng;
use sha2::{Digest as _, Sha256};
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::LazyLock;

/// Signs the blocks of a flow. A clone has the same key.
#[derive(Clone, Debug)]
pub enum Signer {
    /// Ed25519.
    Ed25519(ed25519::Signer),
    /// eFFS.
    Effs(effs::Signer),
}

impl Signer {
    fn scheme(&mut self) -> &mut dyn BlockSigner {
        match self {
            Self::Ed25519(signer) => signer,
            Self::Effs(signer) => signer,
        }
    }
}

impl BlockSigner for Signer {
    fn algorithm(&self) -> Algorithm {
        match self {
            Self::Ed25519(signer) => signer.algorithm(),
            Self::Effs(signer) => signer.algorithm(),
        }
    }

    fn public_key(&self) -> Vec<u8> {
        match self {
            Self::Ed25519(signer) => signer.public_key(),
            Self::Effs(signer) => signer.public_key(),
        }
    }

    fn sign(
        &mut self,
        message: &[u8],
        rng: &mut dyn CryptoRng,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        self.scheme().sign(message, rng, out)
    }

    fn prepare(&mut self, rng: &mut dyn CryptoRng) {
        self.scheme().prepare(rng);
    }
}

/// Signs a block, and returns its packets with their signatures.
///
/// # Errors
/// The block has too many packets, or a signature was computed wrongly.
pub fn sign_block(
    sender: &mut FlowSender<Signer>,
    packets: &[&[u8]],
    distribution: Distribution,
    time: WallTime,
) -> Result<Vec<Vec<u8>>, Failure> {
    let (rng, mut outs) = (&mut random::os(), vec![Vec::new(); packets.len()]);
    let signed = sender.sign_block(packets, distribution, time, rng, &mut outs);
    signed.map_err(cannot_sign)?;
    Ok(outs)
}

/// Signs the manifest of a block whose packets stay as they are, as [`sign_block`] does.
pub fn sign_manifest(
    sender: &mut FlowSender<Signer>,
    packets: &[&[u8]],
    time: WallTime,
) -> Result<Vec<u8>, Failure> {
    let signed = sender.sign_manifest(packets, time, &mut random::os());
    signed.map_err(cannot_sign)
}

/// What a user is told of a block that was not signed.
fn cannot_sign(why: Unsignable) -> Failure {
    match why {
        Unsignable::Empty => Failure::new("a block has no packets"),
        Unsignable::TooMany => Failure::new("a block has more packets than its flow allows"),
        Unsignable::TooManyToCode => Failure::new("a block has more packets than a code allows"),
        Unsignable::Buffers => Failure::new("a block needs as many buffers as packets"),
        Unsignable::Salted => Failure::new("a manifest cannot sign packets with salts"),
        Unsignable::Fault => Failure::new(effs::Fault.to_string())
            .hint("nothing was released. Test this machine before it signs again"),
    }
}

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

static BOOT: LazyLock<io::Result<Vec<u8>>> = LazyLock::new(|| boot_id(Path::new(BOOT_ID)));

/// Reads the id of this boot.
///
/// # Errors
/// The system's; [`io::ErrorKind::InvalidData`] if the file is empty.
fn boot_id(path: &Path) -> io::Result<Vec<u8>> {
    let id = std::fs::read(path)?;
    match id.is_empty() {
        true => Err(io::Error::new(io::ErrorKind::InvalidData, "empty boot id")),
        false => Ok(id),
    }
}

/// Checks that [`instance`] can tell this boot from others.
///
/// # Errors
/// The boot id cannot be read.
pub fn check_instance() -> Result<(), Failure> {
    let boot = BOOT.as_ref().map(drop);
    boot.map_err(|error| {
        Failure::file(Path::new(BOOT_ID), error)
            .hint("mount /proc: without the boot id, an eFFS nonce may be used twice")
    })
}

/// Names this boot and this process, for nonces that are drawn in advance. A forked process is another
/// instance. A restored virtual machine has the same instance: the operator must restart the signer.
///
/// # Panics
/// The boot id cannot be read: see [`check_instance`].
pub fn instance() -> Instance {
    let boot = BOOT.as_ref().expect("signers call check_instance first");
    let process = std::process::id().to_be_bytes();
    let hash = Sha256::new_with_prefix(process).chain_update(boot);
    Instance(hash.finalize().into())
}

/// A flow with what verifies its blocks.
pub type Verifiable = (Descriptor, Box<dyn BlockVerifier>);

/// What verifies a flow's blocks to so many bits, as [`Descriptor::verifier_for`] does.
///
/// # Errors
/// The public key is none.
pub fn verifier(
    descriptor: &Descriptor,
    bits: u16,
) -> Result<Box<dyn BlockVerifier>, BadDescriptor> {
    // It says what keys there are.
    let known = descriptor.verifier_for(bits)?;
    match descriptor.algorithm() {
        Algorithm::Ed25519 => ed25519::verifier(descriptor.public_key()).ok_or(BadDescriptor),
        Algorithm::Effs => Ok(known),
    }
}

/// Flows that are known, and how far their signatures are verified.
#[derive(Clone, Debug)]
pub struct Flows {
    descriptors: Vec<Descriptor>,
    bits: u16,
}

impl Flows {
    /// These flows, verified as far as it can be done.
    pub const fn new(descriptors: Vec<Descriptor>) -> Self {
        Self::verified_to(descriptors, u16::MAX)
    }

    /// These flows, each verified up to the level that gives so many bits.
    pub const fn verified_to(descriptors: Vec<Descriptor>, bits: u16) -> Self {
        Self { descriptors, bits }
    }

    /// Each with what verifies its blocks.
    ///
    /// # Errors
    /// A descriptor's public key is none.
    pub fn verifiable(&self) -> Result<Vec<Verifiable>, Failure> {
        let with_verifier = |flow: &Descriptor| {
            let named = |_| Failure::new(format!("flow {}: invalid public key", title(flow)));
            Ok((flow.clone(), verifier(flow, self.bits).map_err(named)?))
        };
        self.iter().map(with_verifier).collect()
    }

    /// A receiver of them.
    ///
    /// # Errors
    /// A descriptor's public key is none.
    pub fn receiver(&self, acceptance: Acceptance) -> Result<FlowReceiver, Failure> {
        Ok(FlowReceiver::with_verifiers(self.verifiable()?, acceptance))
    }

    /// Of each flow whose signatures have levels: the flow, its parameters, and the bits to which they are
    /// verified here.
    pub fn assurances(&self) -> impl Iterator<Item = (&Descriptor, Parameters, Assurance)> {
        self.iter().filter_map(|flow| {
            let parameters = flow.effs()?;
            let level = parameters.level_for(self.bits);
            Some((flow, parameters, parameters.assurance(level)))
        })
    }
}

impl Deref for Flows {
    type Target = [Descriptor];

    fn deref(&self) -> &[Descriptor] {
        &self.descriptors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise every boot would be the same one.
    #[test]
    fn without_a_boot_id_there_is_no_instance() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("boot_id");
        assert!(boot_id(&path).is_err());
        std::fs::write(&path, "").unwrap();
        assert!(boot_id(&path).is_err());
        std::fs::write(&path, "id").unwrap();
        assert_eq!(boot_id(&path).unwrap(), b"id");
        check_instance().unwrap();
        assert_eq!(instance(), instance());
    }
}
