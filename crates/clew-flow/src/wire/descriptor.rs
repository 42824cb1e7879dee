//! What a receiver knows of a flow: `spec/flow-signature.md` section 2.

use alloc::string::String;
use alloc::vec::Vec;
use sha2::{Digest as _, Sha256};

use super::packet::FIXED_BYTES;
use super::part::TIMESTAMP_BYTES;
use crate::effs::{Parameters, PublicKey};
use clew_tree::{Block, Degree, Digest, DigestSize, ID_BYTES, PACKETS_MAX, Suite};
use clew_wire::Reader;

const VERSION: u8 = 1;
const DOMAIN: &[u8; 16] = b"clew-flow-desc-1";
const SALTED: u8 = 1;
const EVERY: u8 = 2;

/// Longest name of a flow, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// Size of a salt.
pub(crate) const SALT_BYTES: usize = 16;

/// Longest block signature: coded carriage has room for it and its timestamp.
pub const SIGNATURE_BYTES_MAX: usize = 1192;

/// A signature scheme for blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Ed25519, RFC 8032.
    Ed25519 = 1,
    /// eFFS ([`crate::effs`]), whose parameters stand in the public key.
    Effs = 2,
}

impl Algorithm {
    /// Size of a block signature by that public key; none if it has no such length or parameters.
    fn signature_bytes(self, public_key: &[u8]) -> Option<usize> {
        let bytes = match self {
            Self::Ed25519 => (public_key.len() == 32).then_some(64)?,
            Self::Effs => PublicKey::parameters_of(public_key).ok()?.signature_bytes(),
        };
        (bytes <= SIGNATURE_BYTES_MAX).then_some(bytes)
    }

    const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Ed25519),
            2 => Some(Self::Effs),
            _ => None,
        }
    }
}

/// First 4 bytes of a descriptor's digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub [u8; 4]);

/// How a flow's blocks are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chaining {
    /// The hash function.
    pub suite: Suite,
    /// Size of digests in paths.
    pub digest: DigestSize,
    /// The tree's degree.
    pub degree: Degree,
    /// Packets of a block at most, 1 to [`PACKETS_MAX`].
    pub most: u16,
    /// Whether each packet has a salt, so that nobody confirms a guess of a neighbour by its digest:
    /// where receivers see parts of a flow.
    pub salted: bool,
    /// Whether the signer signs every packet, so that an unsigned one is not of the flow: receivers
    /// that let unsigned packets pass do not let it pass.
    pub every: bool,
}

impl Default for Chaining {
    /// BLAKE3, 16-byte digests, a binary tree, blocks of up to 64 packets, no salts, every packet
    /// signed.
    fn default() -> Self {
        Self {
            suite: Suite::Blake3,
            digest: DigestSize::D16,
            degree: Degree::BINARY,
            most: 64,
            salted: false,
            every: true,
        }
    }
}

impl Chaining {
    /// Returns a block of the flow, or `None` if it may not have so many packets.
    pub fn block(&self, id: [u8; ID_BYTES], count: u16) -> Option<Block> {
        let fits = count <= self.most;
        fits.then(|| Block::shaped(id, count, self.digest, self.degree, self.suite))?
    }

    fn flags(&self) -> u8 {
        (u8::from(self.salted) * SALTED) | (u8::from(self.every) * EVERY)
    }

    fn with_flags(self, flags: u8) -> Option<Self> {
        let known = flags & !(SALTED | EVERY) == 0;
        known.then_some(Self {
            salted: flags & SALTED != 0,
            every: flags & EVERY != 0,
            ..self
        })
    }

    /// Returns the size of a packet's salt: 16 or 0 bytes.
    pub const fn salt_bytes(&self) -> usize {
        if self.salted { SALT_BYTES } else { 0 }
    }
}

/// What a receiver knows of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    chaining: Chaining,
    algorithm: Algorithm,
    public_key: Vec<u8>,
    signature_bytes: usize,
    name: String,
    digest: Digest,
}

/// The bytes are no descriptor: `bad-descriptor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadDescriptor;

impl core::fmt::Display for BadDescriptor {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("bad-descriptor")
    }
}

impl core::error::Error for BadDescriptor {}

impl Descriptor {
    /// Describes a flow.
    ///
    /// # Errors
    /// A key of the wrong length or with signatures that are too long, a block of no packets or too
    /// many, a name that is too long or has control characters.
    pub fn new(
        chaining: Chaining,
        algorithm: Algorithm,
        public_key: &[u8],
        name: &str,
    ) -> Result<Self, BadDescriptor> {
        let signature_bytes = algorithm.signature_bytes(public_key).ok_or(BadDescriptor)?;
        let holds = (1..=PACKETS_MAX).contains(&chaining.most)
            && name.len() <= NAME_BYTES_MAX
            && !name.chars().any(char::is_control);
        if !holds {
            return Err(BadDescriptor);
        }
        let mut descriptor = Self {
            chaining,
            algorithm,
            public_key: public_key.to_vec(),
            signature_bytes,
            name: name.into(),
            digest: [0; 32],
        };
        let hash = Sha256::new_with_prefix(DOMAIN).chain_update(descriptor.to_bytes());
        descriptor.digest = hash.finalize().into();
        Ok(descriptor)
    }

    /// Reads a descriptor.
    ///
    /// # Errors
    /// See [`BadDescriptor`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadDescriptor> {
        let mut at = Reader(bytes);
        let read = parse(&mut at).ok_or(BadDescriptor)?;
        if !at.0.is_empty() {
            return Err(BadDescriptor);
        }
        let (chaining, algorithm, public_key, name) = read;
        Self::new(chaining, algorithm, public_key, name)
    }

    /// Returns the encoded descriptor.
    pub fn to_bytes(&self) -> Vec<u8> {
        let c = &self.chaining;
        let mut out = Vec::from([VERSION, c.suite as u8, c.digest as u8]);
        out.extend(c.degree.get().to_be_bytes());
        out.extend(c.most.to_be_bytes());
        out.extend([c.flags(), self.algorithm as u8]);
        out.extend((self.public_key.len() as u16).to_be_bytes());
        out.extend(&self.public_key);
        out.push(self.name.len() as u8);
        out.extend(self.name.as_bytes());
        out
    }

    /// Returns the parameters by which blocks are made.
    pub const fn chaining(&self) -> &Chaining {
        &self.chaining
    }

    /// Returns the scheme of its block signatures.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the length of its blocks' blobs, which full carriage carries: timestamp and
    /// signature.
    pub const fn blob_bytes(&self) -> usize {
        TIMESTAMP_BYTES + self.signature_bytes
    }

    /// Returns the longest packet signature in full carriage: that of a packet of the largest
    /// block.
    pub fn signature_bytes_max(&self) -> usize {
        let chaining = self.chaining();
        let block = chaining.block([0; ID_BYTES], chaining.most);
        let depth = block.and_then(|block| block.depth(0)).unwrap_or(0);
        chaining.salt_bytes() + depth * chaining.digest.bytes() + self.blob_bytes() + FIXED_BYTES
    }

    /// Returns the parameters of its eFFS key, if it has one.
    pub fn effs(&self) -> Option<Parameters> {
        let is_effs = self.algorithm == Algorithm::Effs;
        is_effs.then(|| PublicKey::parameters_of(&self.public_key).ok())?
    }

    /// Returns the signer's encoded public key.
    pub fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    /// Returns the name for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the digest of the descriptor, which signatures bind.
    pub const fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Returns the id by which packets name the flow.
    pub const fn key_id(&self) -> KeyId {
        let [a, b, c, d, ..] = self.digest;
        KeyId([a, b, c, d])
    }
}

type Parts<'a> = (Chaining, Algorithm, &'a [u8], &'a str);

fn parse<'a>(at: &mut Reader<'a>) -> Option<Parts<'a>> {
    if at.u8()? != VERSION {
        return None;
    }
    let chaining = Chaining {
        suite: Suite::from_byte(at.u8()?)?,
        digest: DigestSize::from_bytes(at.u8()?)?,
        degree: Degree::new(at.u16()?)?,
        most: at.u16()?,
        ..Chaining::default()
    };
    let chaining = chaining.with_flags(at.u8()?)?;
    let algorithm = Algorithm::from_byte(at.u8()?)?;
    let key = at.u16()?;
    let key = at.take(key.into())?;
    let name = at.u8()?;
    let name = core::str::from_utf8(at.take(name.into())?).ok()?;
    Some((chaining, algorithm, key, name))
}
