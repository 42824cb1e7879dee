//! Matches: did the machine with this base make this signature? A fixed set of trustees answers
//! without opening it (section 5.4).
//!
//! 1. Each trustee blinds the question with a random exponent and publishes a commitment to its
//!    [`Blind`]. It keeps a [`Blinding`].
//! 2. When all commitments are there, it publishes the blind ([`Blinding::reveal`]). It keeps a
//!    [`Revealed`].
//! 3. When all blinds are there, it decrypts their product ([`Revealed::share`]), once.
//! 4. Anybody draws the conclusion ([`Match::judge`]).
//!
//! The random exponent is forgotten as soon as the blind is made: nothing later needs it. What must
//! not happen is that one blind is in two products that its trustee decrypts: the two would differ
//! by a power of T1 that whoever made the other blinds knows, and so would open the signature.
//! Therefore each step consumes the state of the one before, and fails for good if it fails:
//!
//! ```compile_fail
//! # use clew_group::{curve::G1, quorum::*};
//! # fn f(asked: Match<'_>, mine: Revealed, blinds: &[Blind], share: &SecretShare) {
//! # let mut rng = rand_chacha::ChaCha20Rng::from_seed([0; 32]);
//! # use rand_core::SeedableRng;
//! mine.share(&asked, blinds, share, &mut rng);
//! mine.share(&asked, blinds, share, &mut rng); // use of moved value
//! # }
//! ```

use super::trustee::check_count;
use super::{Decryption, Part, QuorumError, SecretShare, Set, Sharing, Trustee};
use crate::curve::{G1, G1_BYTES, Scalar};
use crate::secret::{Secret, shielded};
use crate::transcript::{domain_separator, with_points};
use crate::{DecodeError, PROOF_BYTES, Proof};
use alloc::vec::Vec;
use clew_wire::opaque;
use rand_core::CryptoRng;
use sha2::{Digest, Sha256};

/// Size of a blind: E, F (48 bytes each), c, s (32 each).
pub const BLIND_BYTES: usize = 2 * G1_BYTES + PROOF_BYTES;

const SESSION: [u8; 32] = domain_separator("clew-match-1");
const BLIND: [u8; 32] = domain_separator("clew-blind-1");
const COMMITMENT: [u8; 32] = domain_separator("clew-blind-commit-1");
const PRODUCT: [u8; 32] = domain_separator("clew-product-1");

/// What is asked, of whom.
#[derive(Clone, Debug)]
pub struct Match<'a> {
    session: [u8; 32],
    set: Set,
    sharing: &'a Sharing,
    t1: G1,
    delta: G1,
}

impl<'a> Match<'a> {
    /// Asks `set` whether the signature with these T1 and T2 is of the machine whose base in the
    /// signature's epoch is `base`. [`QuorumError::NoAnswer`] if that is T2 itself.
    pub fn new(
        request_id: &[u8; 32],
        set: Set,
        sharing: &'a Sharing,
        [t1, t2]: [&G1; 2],
        base: &G1,
    ) -> Result<Self, QuorumError> {
        set.check(sharing.quorum())?;
        let delta = *t2 - *base;
        if t1.is_identity() || delta.is_identity() {
            return Err(QuorumError::NoAnswer);
        }
        let session = Sha256::new()
            .chain_update(SESSION)
            .chain_update(request_id)
            .chain_update(set.to_bytes());
        Ok(Self {
            session: session.finalize().into(),
            set,
            sharing,
            t1: *t1,
            delta,
        })
    }

    /// Returns the 32 bytes that name this match: its request and set.
    pub fn session(&self) -> &[u8; 32] {
        &self.session
    }

    /// Makes step 1, in constant time. Returns what `trustee` keeps and what it publishes.
    pub fn begin(
        &self,
        trustee: Trustee,
        rng: &mut impl CryptoRng,
    ) -> Result<(Blinding, BlindCommitment), QuorumError> {
        self.set.check_contains(trustee)?;
        let rho = Secret::new(|| Scalar::random_secret(rng));
        let blind = shielded(|| {
            let (e, f) = (self.t1.mul(&rho), self.delta.mul(&rho));
            let statement = self.statement(trustee, &e, &f);
            let proof = Proof::new([&self.t1, &self.delta], &rho, statement, rng);
            Blind { e, f, proof }
        });
        let commitment = self.commitment(trustee, &blind);
        Ok((Blinding { trustee, blind }, commitment))
    }

    /// Returns the product of the blinds of all of the set, in the order of indices. Checks every
    /// proof.
    pub fn product(&self, blinds: &[Blind]) -> Result<Product<'_>, QuorumError> {
        check_count(self.set, blinds)?;
        let mut pairs = self.set.iter().zip(blinds);
        pairs.try_for_each(|(trustee, blind)| self.verify(trustee, blind))?;
        let e = blinds.iter().fold(G1::default(), |e, blind| e + blind.e);
        if e.is_identity() {
            return Err(QuorumError::Product);
        }
        let context = Sha256::new()
            .chain_update(PRODUCT)
            .chain_update(self.session);
        let context = blinds.iter().fold(context, |hash, blind| {
            with_points(hash, &[blind.e, blind.f])
        });
        Ok(Product {
            asked: self,
            e,
            f: blinds.iter().fold(G1::default(), |f, blind| f + blind.f),
            context: context.finalize().into(),
        })
    }

    /// Checks a whole transcript, the blinds and decryptions of all of the set in the order of
    /// indices. The answer it proves: whether the machine made the signature.
    pub fn judge(&self, blinds: &[Blind], decryptions: &[Decryption]) -> Result<bool, QuorumError> {
        self.product(blinds)?.conclude(decryptions)
    }

    fn verify(&self, trustee: Trustee, blind: &Blind) -> Result<(), QuorumError> {
        let Blind { e, f, proof } = blind;
        let statement = self.statement(trustee, e, f);
        let nothing = e.is_identity() || f.is_identity();
        if !nothing && proof.holds([[&self.t1, e], [&self.delta, f]], statement) {
            Ok(())
        } else {
            Err(QuorumError::Blind { trustee })
        }
    }

    /// Everything of a blind's challenge but R and Q.
    fn statement(&self, trustee: Trustee, e: &G1, f: &G1) -> Sha256 {
        let hash = self.hash(BLIND, trustee);
        with_points(hash, &[self.t1, self.delta, *e, *f])
    }

    fn commitment(&self, trustee: Trustee, blind: &Blind) -> BlindCommitment {
        let hash = self.hash(COMMITMENT, trustee);
        BlindCommitment(hash.chain_update(blind.to_bytes()).finalize().into())
    }

    fn hash(&self, domain: [u8; 32], trustee: Trustee) -> Sha256 {
        Sha256::new()
            .chain_update(domain)
            .chain_update(self.session)
            .chain_update([trustee.index()])
    }

    /// What the set gave in place of `trustee`.
    fn given_by<'b, T>(&self, trustee: Trustee, values: &'b [T]) -> Option<&'b T> {
        let mut pairs = self.set.iter().zip(values);
        pairs.find_map(|(i, value)| (i == trustee).then_some(value))
    }
}

/// Binds a trustee to its blind, step 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlindCommitment(pub [u8; 32]);

/// (E_i, F_i) = (T1^rho, Delta^rho) with a proof of the one exponent, step 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blind {
    e: G1,
    f: G1,
    proof: Proof,
}

impl Blind {
    /// Decodes, with the checks of every value.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() != BLIND_BYTES {
            return Err(DecodeError::Length);
        }
        let (points, proof) = bytes.split_at(2 * G1_BYTES);
        let (e, f) = points.split_at(G1_BYTES);
        let proof = Proof::from_bytes(proof)?;
        Ok(Self {
            e: G1::from_bytes(e)?,
            f: G1::from_bytes(f)?,
            proof,
        })
    }

    /// Encodes as E || F || c || s.
    pub fn to_bytes(&self) -> [u8; BLIND_BYTES] {
        let mut out = [0; BLIND_BYTES];
        let (points, proof) = out.split_at_mut(2 * G1_BYTES);
        points.copy_from_slice(G1::to_bytes_many(&[self.e, self.f]).as_flattened());
        proof.copy_from_slice(&self.proof.to_bytes());
        out
    }
}

/// What a trustee keeps between steps 1 and 2: a blind that nobody has seen.
pub struct Blinding {
    trustee: Trustee,
    blind: Blind,
}

impl Blinding {
    /// Encodes as the blind (160 bytes), for a file that only this trustee reads and writes.
    pub fn into_bytes(self) -> [u8; BLIND_BYTES] {
        self.blind.to_bytes()
    }

    /// Decodes. The caller removes the file it read, before it goes on.
    pub fn from_bytes(trustee: Trustee, bytes: &[u8]) -> Result<Self, DecodeError> {
        let blind = Blind::from_bytes(bytes)?;
        Ok(Self { trustee, blind })
    }

    /// Step 2, when the commitments of all of the set are there, in the order of indices: what to
    /// keep and what to publish. The trustee's own commitment must be among them.
    pub fn reveal(
        self,
        asked: &Match<'_>,
        commitments: &[BlindCommitment],
    ) -> Result<(Revealed, Blind), QuorumError> {
        let Self { trustee, blind } = self;
        check_count(asked.set, commitments)?;
        if asked.given_by(trustee, commitments) != Some(&asked.commitment(trustee, &blind)) {
            return Err(QuorumError::OwnBlind);
        }
        let commitments = commitments.to_vec();
        let revealed = Revealed {
            trustee,
            commitments,
        };
        Ok((revealed, blind))
    }
}

opaque!(Blinding);

/// What a trustee keeps between steps 2 and 3: all commitments, its own among them. Whoever could
/// write in it could make the trustee open.
pub struct Revealed {
    trustee: Trustee,
    commitments: Vec<BlindCommitment>,
}

impl Revealed {
    /// Encodes as the commitments (32 bytes each), for a file that only this trustee writes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.commitments.iter().flat_map(|c| c.0).collect()
    }

    /// Decodes. The caller removes the file it read, synced, before the share leaves.
    pub fn from_bytes(trustee: Trustee, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (commitments, []) = bytes.as_chunks() else {
            return Err(DecodeError::Length);
        };
        let commitments = commitments.iter().copied().map(BlindCommitment).collect();
        Ok(Self {
            trustee,
            commitments,
        })
    }

    /// Step 3, when the blinds of all of the set are there, in the order of indices: checks that
    /// they are those committed to (so that this trustee's own is among them), every proof and the
    /// product, and decrypts the product.
    pub fn share(
        self,
        asked: &Match<'_>,
        blinds: &[Blind],
        share: &SecretShare,
        rng: &mut impl CryptoRng,
    ) -> Result<Decryption, QuorumError> {
        self.check_blinds(asked, blinds)?;
        if share.trustee() != self.trustee {
            let trustee = self.trustee;
            return Err(QuorumError::SecretShare { trustee });
        }
        asked.product(blinds)?.part().decrypt(share, rng)
    }

    /// That the blinds are those committed to, the own one first: without it, what came is not to
    /// be believed.
    fn check_blinds(&self, asked: &Match<'_>, blinds: &[Blind]) -> Result<(), QuorumError> {
        check_count(asked.set, blinds)?;
        check_count(asked.set, &self.commitments)?;
        asked.set.check_contains(self.trustee)?;
        let committed = self.commitments.iter();
        let all = asked.set.iter().zip(blinds).zip(committed);
        let changed = all
            .filter(|((i, blind), committed)| asked.commitment(*i, blind) != **committed)
            .map(|((i, _), _)| i);
        let changed: Vec<Trustee> = changed.collect();
        match changed.first() {
            None => Ok(()),
            Some(_) if changed.contains(&self.trustee) => Err(QuorumError::OwnBlind),
            Some(trustee) => Err(QuorumError::Revealed { trustee: *trustee }),
        }
    }
}

opaque!(Revealed);

/// The product (E, F) of all blinds, which is not the identity.
#[derive(Clone, Debug)]
pub struct Product<'a> {
    asked: &'a Match<'a>,
    e: G1,
    f: G1,
    context: [u8; 32],
}

impl Product<'_> {
    /// Returns the part to be decrypted: E, under the id of these blinds.
    pub fn part(&self) -> Part<'_> {
        Part {
            number: 1,
            sharing: self.asked.sharing,
            point: &self.e,
            context: &self.context,
        }
    }

    /// Checks the decryptions of all of the set, in the order of indices, and says whether the
    /// machine made the signature.
    pub fn conclude(&self, decryptions: &[Decryption]) -> Result<bool, QuorumError> {
        let power = self.part().combine_of(self.asked.set, decryptions)?;
        Ok(self.f == power)
    }
}
