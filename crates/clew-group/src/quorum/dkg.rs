//! Keys that never exist anywhere: every trustee deals a part, and the key is the sum (Pedersen, with
//! a proof of possession of each part; section 5.2).
//!
//! Each dealer publishes one [`Broadcast`] and gives each trustee one [`DealtShare`], in secret. That
//! is all it does as a dealer, and nothing of it is kept. When all broadcasts and its own dealt
//! shares are there, a trustee checks them and has its share of the key. Whoever cheats is named; the
//! DKG starts again without it, under another context.

use super::sharing::{Polynomial, evaluate, interpolate};
use super::{Quorum, QuorumError, SecretShare, Set, Sharing, Trustee};
use crate::curve::{G1, G1_BYTES, SCALAR_BYTES, Scalar};
use crate::secret::{Secret, secret_bytes, shielded, shielded_shallow};
use crate::transcript::{domain_separator, with_points};
use crate::{DecodeError, PROOF_BYTES, Proof};
use alloc::vec::Vec;
use clew_wire::opaque;
use rand_core::CryptoRng;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

const DEAL: [u8; 32] = domain_separator("clew-deal-1");
const RESHARE: [u8; 32] = domain_separator("clew-reshare-1");

/// The DKG of a new key, of all its trustees.
#[derive(Clone, Debug)]
pub struct Founding {
    round: Round,
}

impl Founding {
    /// Creates a key generation. `context` names it: the same for all trustees, and new for each
    /// run.
    pub fn new(context: [u8; 32], base: &G1, quorum: Quorum) -> Self {
        let round = Round {
            domain: DEAL,
            context,
            base: *base,
            quorum,
        };
        Self { round }
    }

    /// Deals a random part as `dealer`: what to publish, and what to give to each trustee in secret
    /// (itself included), by ascending index.
    pub fn deal(
        &self,
        dealer: Trustee,
        rng: &mut impl CryptoRng,
    ) -> Result<(Broadcast, Vec<DealtShare>), QuorumError> {
        self.round.quorum.check(dealer)?;
        let part = Secret::random(rng);
        Ok(self.round.deal(dealer, &part, rng))
    }

    /// Returns the sharing that broadcasts of all trustees make. Checks every one of them.
    pub fn sharing(&self, broadcasts: &[Broadcast]) -> Result<Sharing, QuorumError> {
        let all = self.round.gather(self.round.quorum.all(), broadcasts)?;
        all.iter().try_for_each(|b| self.round.check(b))?;
        self.round.sum(&all, |points| {
            points.iter().fold(G1::default(), |sum, c| sum + *c)
        })
    }

    /// Returns the sharing, and the share of `trustee`, from what all dealers gave it.
    pub fn receive(
        &self,
        trustee: Trustee,
        broadcasts: &[Broadcast],
        dealt: &[DealtShare],
    ) -> Result<(Sharing, SecretShare), QuorumError> {
        let sharing = self.sharing(broadcasts)?;
        let all = self.round.quorum.all();
        let share = self
            .round
            .receive(all, trustee, broadcasts, dealt, |d| *d.scalar)?;
        Ok((sharing, share))
    }
}

/// The resharing that hands a key on, to other trustees or another threshold: h stays. Old shares do
/// not combine with new ones; those who leave are trusted to forget theirs.
#[derive(Clone, Debug)]
pub struct Resharing<'a> {
    round: Round,
    old: &'a Sharing,
    dealers: Set,
}

impl<'a> Resharing<'a> {
    /// Creates a resharing to the new `quorum`. `dealers` are the old trustees who hand on their
    /// shares, at least as many as open.
    pub fn new(
        context: [u8; 32],
        old: &'a Sharing,
        dealers: Set,
        quorum: Quorum,
    ) -> Result<Self, QuorumError> {
        dealers.check(old.quorum())?;
        let round = Round {
            domain: RESHARE,
            context,
            base: *old.base(),
            quorum,
        };
        Ok(Self {
            round,
            old,
            dealers,
        })
    }

    /// Deals an old share: as [`Founding::deal`], for the new trustees.
    pub fn deal(
        &self,
        share: &SecretShare,
        rng: &mut impl CryptoRng,
    ) -> Result<(Broadcast, Vec<DealtShare>), QuorumError> {
        self.dealers.check_contains(share.trustee())?;
        share.check(self.old)?;
        Ok(self.round.deal(share.trustee(), &share.scalar, rng))
    }

    /// Returns the new sharing that the broadcasts of all dealers make. Checks every one of them.
    pub fn sharing(&self, broadcasts: &[Broadcast]) -> Result<Sharing, QuorumError> {
        let all = self.round.gather(self.dealers, broadcasts)?;
        for broadcast in &all {
            self.round.check(broadcast)?;
            let trustee = broadcast.dealer;
            if broadcast.commitments[0] != self.old.share_key(trustee) {
                return Err(QuorumError::Constant { trustee });
            }
        }
        self.round
            .sum(&all, |points| interpolate(self.dealers, points))
    }

    /// Returns the new sharing, and the new share of `trustee`, from what all dealers gave it.
    pub fn receive(
        &self,
        trustee: Trustee,
        broadcasts: &[Broadcast],
        dealt: &[DealtShare],
    ) -> Result<(Sharing, SecretShare), QuorumError> {
        let sharing = self.sharing(broadcasts)?;
        let all = self.dealers;
        let weighted = |d: &DealtShare| all.lagrange_at_zero(d.dealer) * *d.scalar;
        let share = self
            .round
            .receive(all, trustee, broadcasts, dealt, weighted)?;
        Ok((sharing, share))
    }
}

/// What both runs do alike.
#[derive(Clone, Debug)]
struct Round {
    domain: [u8; 32],
    context: [u8; 32],
    base: G1,
    quorum: Quorum,
}

impl Round {
    fn deal(
        &self,
        dealer: Trustee,
        part: &Scalar,
        rng: &mut impl CryptoRng,
    ) -> (Broadcast, Vec<DealtShare>) {
        shielded(|| {
            let polynomial = Polynomial::random(part, self.quorum, rng);
            let commitments = polynomial.commitments(&self.base);
            let statement = self.statement(dealer, &commitments);
            let broadcast = Broadcast {
                dealer,
                quorum: self.quorum,
                proof: Proof::new([&self.base], part, statement, rng),
                commitments,
            };
            let trustees = self.quorum.all().iter();
            let dealt = trustees.map(|trustee| DealtShare {
                dealer,
                trustee,
                scalar: polynomial.at(trustee),
            });
            (broadcast, dealt.collect())
        })
    }

    fn gather<'b>(
        &self,
        dealers: Set,
        broadcasts: &'b [Broadcast],
    ) -> Result<Vec<&'b Broadcast>, QuorumError> {
        dealers.gather(broadcasts.iter().map(|b| (b.dealer, b)))
    }

    fn check(&self, broadcast: &Broadcast) -> Result<(), QuorumError> {
        let trustee = broadcast.dealer;
        if broadcast.quorum != self.quorum {
            return Err(QuorumError::Commitments { trustee });
        }
        let statement = self.statement(trustee, &broadcast.commitments);
        let pair = [&self.base, &broadcast.commitments[0]];
        if broadcast.proof.holds([pair], statement) {
            Ok(())
        } else {
            Err(QuorumError::Possession { trustee })
        }
    }

    /// The share of `trustee`: the sum of the terms that `term` makes of what all dealers gave it, each
    /// checked with the dealer's broadcast. Zero comes only of dealers that know each other's secrets.
    fn receive(
        &self,
        dealers: Set,
        trustee: Trustee,
        broadcasts: &[Broadcast],
        dealt: &[DealtShare],
        term: impl Fn(&DealtShare) -> Scalar,
    ) -> Result<SecretShare, QuorumError> {
        self.quorum.check(trustee)?;
        let broadcasts = self.gather(dealers, broadcasts)?;
        let dealt = dealers.gather(dealt.iter().map(|d| (d.dealer, d)))?;
        for (broadcast, dealt) in broadcasts.iter().zip(&dealt) {
            let key = evaluate(&broadcast.commitments, trustee);
            if dealt.trustee != trustee || shielded(|| self.base.mul(&dealt.scalar)) != key {
                let trustee = dealt.dealer;
                return Err(QuorumError::DealtShare { trustee });
            }
        }
        let sum = || dealt.iter().fold(Scalar::default(), |sum, d| sum + term(d));
        SecretShare::new(trustee, Secret::new(sum)).map_err(|_| QuorumError::Cancelled)
    }

    /// The sharing whose commitments are the dealers', each k put together by `sum`.
    fn sum(
        &self,
        broadcasts: &[&Broadcast],
        sum: impl Fn(&[G1]) -> G1,
    ) -> Result<Sharing, QuorumError> {
        let commitments = (0..usize::from(self.quorum.threshold())).map(|k| {
            let each = broadcasts.iter().map(|b| b.commitments[k]);
            sum(&each.collect::<Vec<_>>())
        });
        Sharing::new(self.base, commitments.collect(), self.quorum)
            .map_err(|_| QuorumError::Cancelled)
    }

    /// Everything of a dealer's challenge but R.
    fn statement(&self, dealer: Trustee, commitments: &[G1]) -> Sha256 {
        let hash = Sha256::new()
            .chain_update(self.domain)
            .chain_update(self.context)
            .chain_update(header(dealer, self.quorum));
        let points = [self.base].into_iter().chain(commitments.iter().copied());
        points.fold(hash, |hash, point| with_points(hash, &[point]))
    }
}

/// i || n || t.
fn header(dealer: Trustee, quorum: Quorum) -> [u8; HEADER_BYTES] {
    [dealer.index(), quorum.trustees(), quorum.threshold()]
}

const HEADER_BYTES: usize = 3;

/// What a dealer publishes: its t commitments, with the proof that it knows its constant term.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broadcast {
    dealer: Trustee,
    quorum: Quorum,
    commitments: Vec<G1>,
    proof: Proof,
}

impl Broadcast {
    /// Returns the dealer.
    pub fn dealer(&self) -> Trustee {
        self.dealer
    }

    /// Decodes, with the checks of every value; exactly t commitments.
    ///
    /// # Errors
    /// [`QuorumError::Quorum`] or [`QuorumError::Index`] if t, n or i are out of range;
    /// [`QuorumError::Decode`] for a length or a value. The proof is not checked here.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, QuorumError> {
        let Some(([dealer, n, t], rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(DecodeError::Length.into());
        };
        let quorum = Quorum::new(*t, *n)?;
        if rest.len() != G1_BYTES * usize::from(*t) + PROOF_BYTES {
            return Err(DecodeError::Length.into());
        }
        let (points, proof) = rest.split_at(rest.len() - PROOF_BYTES);
        let proof = Proof::from_bytes(proof)?;
        let commitments: Result<Vec<G1>, _> =
            points.chunks_exact(G1_BYTES).map(G1::from_bytes).collect();
        Ok(Self {
            dealer: Trustee::new(*dealer)?,
            quorum,
            commitments: commitments?,
            proof,
        })
    }

    /// Encodes as i || n || t (1 byte each) || C_0 .. C_t-1 (48 each) || c || s (32 each).
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = header(self.dealer, self.quorum).to_vec();
        out.extend(self.commitments.iter().flat_map(G1::to_bytes));
        out.extend(self.proof.to_bytes());
        out
    }
}

/// Size of a dealt share: dealer, trustee (1 byte each), f(trustee) (32).
pub const DEALT_SHARE_BYTES: usize = 2 + SCALAR_BYTES;

/// What a dealer gives to one trustee, on a way that nobody else reads. On the heap, and wiped when
/// dropped.
#[derive(Clone)]
pub struct DealtShare {
    dealer: Trustee,
    trustee: Trustee,
    scalar: Secret<Scalar>,
}

impl DealtShare {
    /// Returns the dealer.
    pub fn dealer(&self) -> Trustee {
        self.dealer
    }

    /// Returns the trustee for whom the share is.
    pub fn trustee(&self) -> Trustee {
        self.trustee
    }

    /// Decodes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, QuorumError> {
        let Some(([dealer, trustee], scalar)) = bytes.split_first_chunk::<2>() else {
            return Err(DecodeError::Length.into());
        };
        Ok(Self {
            dealer: Trustee::new(*dealer)?,
            trustee: Trustee::new(*trustee)?,
            scalar: Secret::try_new(|| Scalar::from_bytes(scalar))?,
        })
    }

    /// Encodes as dealer || trustee || f(trustee). Secret.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let indices = [self.dealer.index(), self.trustee.index()];
        let scalar = || Zeroizing::new(self.scalar.to_bytes());
        shielded_shallow(|| secret_bytes(&[&indices, scalar().as_slice()]))
    }
}

opaque!(DealtShare);
