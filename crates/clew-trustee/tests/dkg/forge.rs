//! Files as the specification lays them out, written by whoever wants to cheat. Nothing of the
//! product but the armor and the mathematics is used.

use clew_evidence::armor;
use clew_group::quorum::{Broadcast, DealtShare};
use clew_keys::TextFile;
use clew_trustee::dkg::{Deal, Hello, State};
use ed25519_dalek::{Signer, SigningKey};
use hpke::aead::ChaCha20Poly1305;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256 as Kem;
use hpke::{Deserializable, OpModeR, OpModeS, Serializable};
use sha2::{Digest, Sha256};

pub const PARTICIPANT: usize = 66;
pub const SEALED: usize = 32 + 34 + 16;

pub fn padded(label: &str) -> [u8; 32] {
    let mut out = [0; 32];
    out[..label.len()].copy_from_slice(label.as_bytes());
    out
}

pub fn payload(text: &str) -> Vec<u8> {
    let label = armor::label(text).unwrap().to_owned();
    armor::decode(text, label.leak()).unwrap().to_vec()
}

pub fn armored(label: &str, payload: &[u8]) -> String {
    armor::encode("made up", label, payload).to_string()
}

fn signed(label: &str, body: &[u8], key: &SigningKey) -> Vec<u8> {
    let message = [&padded(label)[..], body].concat();
    [body, &key.sign(&message).to_bytes()].concat()
}

/// What a state file holds: plan id, indices, X25519 and Ed25519 secrets.
pub struct Secrets {
    pub plan: [u8; 32],
    pub seal: [u8; 32],
    pub sign: SigningKey,
}

impl Secrets {
    pub fn of(state: &State) -> Self {
        let bytes = payload(&state.encode());
        Self {
            plan: bytes[..32].try_into().unwrap(),
            seal: bytes[34..66].try_into().unwrap(),
            sign: SigningKey::from_bytes(bytes[66..98].try_into().unwrap()),
        }
    }

    pub fn seal_public(&self) -> [u8; 32] {
        let secret = Deserializable::from_bytes(&self.seal).unwrap();
        <Kem as hpke::Kem>::sk_to_pk(&secret).to_bytes().into()
    }

    /// A hello with these indices and X25519 key, signed properly.
    pub fn hello(&self, indices: [u8; 2], seal: [u8; 32]) -> Hello {
        let sign = self.sign.verifying_key().to_bytes();
        let body = [&self.plan[..], &indices, &seal, &sign].concat();
        let label = "clew-dkg-hello-1";
        Hello::decode(&armored(label, &signed(label, &body, &self.sign))).unwrap()
    }

    /// A deal with whatever is in it, signed properly.
    pub fn deal(&self, participants: &[u8], broadcast: &[u8], sealed: &[u8]) -> Deal {
        let body = [&self.plan[..], participants, broadcast, sealed].concat();
        let label = "clew-dkg-deal-1";
        Deal::decode(&armored(label, &signed(label, &body, &self.sign))).unwrap()
    }

    /// Opens what a deal has for the trustee of that index.
    pub fn open(&self, parts: &Parts, index: u8) -> Option<Vec<u8>> {
        let sealed = &parts.sealed[SEALED * usize::from(index - 1)..][..SEALED];
        let encapped = Deserializable::from_bytes(&sealed[..32]).unwrap();
        let secret = Deserializable::from_bytes(&self.seal).unwrap();
        hpke::single_shot_open::<ChaCha20Poly1305, HkdfSha256, Kem>(
            &OpModeR::Base,
            &secret,
            &encapped,
            &info(&parts.context(), parts.dealer(), index),
            &sealed[32..],
            &parts.broadcast,
        )
        .ok()
    }
}

/// A deal taken apart.
#[derive(Clone)]
pub struct Parts {
    pub plan: Vec<u8>,
    pub participants: Vec<u8>,
    pub broadcast: Vec<u8>,
    pub sealed: Vec<u8>,
    pub signature: Vec<u8>,
}

impl Parts {
    pub fn of(deal: &Deal) -> Self {
        let bytes = payload(&deal.encode());
        let (plan, rest) = bytes.split_at(32);
        let (participants, rest) = rest.split_at(1 + PARTICIPANT * usize::from(rest[0]));
        let (n, t) = (usize::from(rest[1]), usize::from(rest[2]));
        let (broadcast, rest) = rest.split_at(3 + 48 * t + 64);
        let (sealed, signature) = rest.split_at(SEALED * n);
        assert_eq!(signature.len(), 64);
        Self {
            plan: plan.to_vec(),
            participants: participants.to_vec(),
            broadcast: broadcast.to_vec(),
            sealed: sealed.to_vec(),
            signature: signature.to_vec(),
        }
    }

    /// The deal of these parts, with the signature that it had.
    pub fn deal(&self) -> Deal {
        let parts = [
            &self.plan,
            &self.participants,
            &self.broadcast,
            &self.sealed,
            &self.signature,
        ];
        let bytes: Vec<u8> = parts.into_iter().flatten().copied().collect();
        Deal::decode(&armored("clew-dkg-deal-1", &bytes)).unwrap()
    }

    pub fn dealer(&self) -> u8 {
        self.broadcast[0]
    }

    pub fn context(&self) -> [u8; 32] {
        let bytes = [&padded("clew-dkg-1")[..], &self.plan, &self.participants];
        Sha256::digest(bytes.concat()).into()
    }

    pub fn replace(&mut self, index: u8, sealed: &[u8]) {
        self.sealed[SEALED * usize::from(index - 1)..][..SEALED].copy_from_slice(sealed);
    }

    /// Seals anything for the trustee of that index, as a dealer would.
    pub fn seal(&self, index: u8, plain: &[u8]) -> Vec<u8> {
        let at = 1 + PARTICIPANT * usize::from(index - 1) + 2;
        let to = Deserializable::from_bytes(&self.participants[at..at + 32]).unwrap();
        let (encapped, text) =
            hpke::single_shot_seal_with_rng::<ChaCha20Poly1305, HkdfSha256, Kem>(
                &OpModeS::Base,
                &to,
                &info(&self.context(), self.dealer(), index),
                plain,
                &self.broadcast,
                &mut super::run::rng(index.into()),
            )
            .unwrap();
        [&encapped.to_bytes()[..], &text].concat()
    }

    /// All of it, for other broadcasts and shares.
    pub fn redealt(&self, (broadcast, dealt): (Broadcast, Vec<DealtShare>)) -> Self {
        let mut new = self.clone();
        new.broadcast = broadcast.to_bytes();
        for share in &dealt {
            let index = share.trustee().index();
            let sealed = new.seal(index, share.to_bytes().as_slice());
            new.replace(index, &sealed);
        }
        new
    }
}

fn info(context: &[u8; 32], dealer: u8, trustee: u8) -> Vec<u8> {
    [
        &padded("clew-dealt-share-1")[..],
        context,
        &[dealer, trustee],
    ]
    .concat()
}
