//! What the tests share: keys, frames, and a sender and receiver that know them.
//!
//! Keys are made here and nowhere else.
#![allow(dead_code, reason = "each test program uses its part")]
pub mod carriers;
pub mod groups;
pub mod packets;
pub mod trailers;

use std::sync::{Arc, LazyLock};

use clew_group::bbs04::{IssuerKey, OpenerKey, PublicKey};
use clew_group::{EpochId, MemberKey, Precursor, Scheme, SigningKey, VerifyingKey};
use clew_packet::{
    Acceptance, Conclusion, Frame, GroupId, GroupTag, KeySource, LinkType, Policy, Reason,
    Received, Receiver, SECOND_NS, Sender, SignOutcome, Stripped, Timestamp, Unknown, strip,
};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

pub const GROUP: GroupId = GroupId([0xa0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
pub const NOW: Timestamp = Timestamp(1_700_000_000 * SECOND_NS + 123_456_789);
/// The epoch that tests sign in. Epoch 6 is over at [`SUCCESSOR_START`], epoch 7 is not.
pub const EPOCH: u32 = 7;
pub const SUCCESSOR_START: Timestamp = Timestamp(NOW.0 - 3600 * SECOND_NS);

/// The group with its one member.
struct Group {
    signer: SigningKey,
    verifier: Arc<VerifyingKey>,
}

static MADE: LazyLock<Group> = LazyLock::new(|| {
    let (mut rng, nonce) = (ChaCha20Rng::seed_from_u64(42), [0; 32]);
    let (_, opening) = OpenerKey::generate(&nonce, &mut rng);
    let (issuer, issuing) = IssuerKey::generate(&mut rng);
    let public = PublicKey::genesis(&nonce, &opening, &issuing);
    let member = issuer.issue_random(&mut rng);
    let witness = issuer.in_epoch(&public, []).witness(member.x()).unwrap();
    let (public, id) = (clew_group::PublicKey::Bbs04(public), EpochId([7; 32]));
    let signer = SigningKey::new(&public, id, MemberKey::Bbs04(member), &witness).unwrap();
    let verifier = Arc::new(VerifyingKey::new(&public, id));
    Group { signer, verifier }
});

/// A precursor of the one member, never the same one twice in a program.
pub fn precursor() -> Precursor {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NONCE: AtomicU64 = AtomicU64::new(0);
    let mut rng = ChaCha20Rng::seed_from_u64(NONCE.fetch_add(1, Ordering::Relaxed));
    MADE.signer.precursor(&mut rng)
}

/// The public key that verifies in epochs 6 and 7.
pub fn verifying_key() -> Arc<VerifyingKey> {
    Arc::clone(&MADE.verifier)
}

#[derive(Clone)]
pub struct Keys(Arc<VerifyingKey>);

impl KeySource for Keys {
    fn scheme(&self, group: GroupTag) -> Result<Scheme, Unknown> {
        match group == GROUP.tag() {
            true => Ok(self.0.scheme()),
            false => Err(Unknown::Group),
        }
    }

    fn successor_start(&self, group: GroupTag, epoch: u32) -> Result<Option<Timestamp>, Unknown> {
        match (group == GROUP.tag(), epoch) {
            (false, _) => Err(Unknown::Group),
            (_, 6) => Ok(Some(SUCCESSOR_START)),
            (_, EPOCH) => Ok(None),
            _ => Err(Unknown::Epoch),
        }
    }

    fn key(&self, _: GroupTag, _: u32) -> Option<Arc<VerifyingKey>> {
        Some(Arc::clone(&self.0))
    }
}

pub fn receiver(acceptance: Acceptance) -> Receiver<Keys> {
    Receiver::new(Keys(verifying_key()), acceptance)
}

pub fn sender(policy: Policy) -> Sender {
    Sender::new(Scheme::Bbs04, GROUP, EPOCH, policy)
}

/// All three steps.
pub fn verify_at(
    receiver: &mut Receiver<Keys>,
    frame: &Frame<'_>,
    time: Option<Timestamp>,
) -> Conclusion {
    match receiver.receive(frame, time) {
        Received::Done(conclusion) => conclusion,
        Received::Pending(pending) => {
            let mut rng = ChaCha20Rng::seed_from_u64(1);
            receiver.conclude(pending.check(&mut rng))
        }
        Received::Waiting(ticket) => unreachable!("{ticket:?}: nothing is coded"),
    }
}

/// What a new receiver for captures says at the time of signing.
pub fn verify(frame: &Frame<'_>) -> Reason {
    verify_at(&mut receiver(Acceptance::capture()), frame, Some(NOW)).reason
}

/// A frame that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    pub link: LinkType,
    pub bytes: Vec<u8>,
    /// Bytes on the wire that were not captured.
    pub missing: usize,
}

impl Owned {
    pub fn new(link: LinkType, bytes: Vec<u8>) -> Self {
        Self {
            link,
            bytes,
            missing: 0,
        }
    }

    pub fn frame(&self) -> Frame<'_> {
        let wire_len = self.bytes.len() + self.missing;
        Frame {
            link: self.link,
            bytes: &self.bytes,
            wire_len,
        }
    }

    pub fn with(&self, bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            ..self.clone()
        }
    }

    /// Signs or marks; none if the packet passes as it is.
    pub fn sign(&self, policy: Policy) -> (Option<Self>, SignOutcome) {
        self.written(|frame, out| sender(policy).sign(frame, Some(NOW), precursor, out))
    }

    /// The same with bytes in place of the signature, which takes no time.
    pub fn sign_in_form(&self, policy: Policy) -> (Option<Self>, SignOutcome) {
        let body = |_: &[u8], body: &mut [u8]| body.fill(0x5a);
        self.written(|frame, out| sender(policy).sign_with(frame, Some(NOW), body, out))
    }

    fn written(
        &self,
        sign: impl FnOnce(&Frame<'_>, &mut Vec<u8>) -> SignOutcome,
    ) -> (Option<Self>, SignOutcome) {
        let mut out = vec![0xa5; 3];
        let reason = sign(&self.frame(), &mut out);
        let written = matches!(reason, SignOutcome::Signed | SignOutcome::AlreadySigned);
        assert_eq!(written, !out.is_empty(), "{reason}");
        (written.then(|| self.with(out)), reason)
    }

    /// Signs what has to be signable.
    pub fn signed(&self, policy: Policy) -> Self {
        let (signed, reason) = self.sign(policy);
        assert_eq!(reason, SignOutcome::Signed);
        signed.expect("it was signed")
    }

    /// Strips; none if there was nothing to strip.
    pub fn strip(&self) -> (Option<Self>, Stripped) {
        let mut out = vec![0xa5; 3];
        let stripped = strip(&self.frame(), &mut out);
        let nothing = matches!(stripped, Stripped::Nothing(_));
        assert_eq!(nothing, out.is_empty(), "{stripped:?}");
        ((!nothing).then(|| self.with(out)), stripped)
    }

    pub fn verify(&self) -> Reason {
        verify(&self.frame())
    }
}
