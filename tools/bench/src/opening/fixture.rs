//! A packet of a group, and everything that its trustees say about it.

use crate::groups::{PACKET, rng};
use crate::issuing::{Issuing, checked};
use clew_evidence::{Asked, CheckedGroup, FoundRow, Packet, Question, Request, Share, Step};
use clew_group::Scheme;
use clew_group::curve::G1;
use clew_group::quorum::{Decryption, Quorum, SecretShare, Set, Trustee};
use clew_keys::{OpeningShare, TrusteeKeyFile};

/// What all cases of one quorum work on.
pub struct Fixture {
    pub scheme: Scheme,
    pub quorum: Quorum,
    pub group: CheckedGroup,
    pub trustees: Vec<TrusteeKeyFile>,
    pub found: FoundRow,
    /// What the machine signs with.
    pub base: G1,
    body: Vec<u8>,
    pub opening: Request,
    pub asked: Asked,
}

impl Fixture {
    pub fn new(scheme: Scheme, quorum: Quorum) -> Self {
        let mut issuing = Issuing::new(scheme, quorum);
        let key = issuing.enrol("machine-1");
        issuing.store.refresh().expect("the store is whole");
        let machine = issuing.machine("machine-1");
        let found = FoundRow {
            row: issuing.store.row(&machine).expect("the register is whole"),
            x: (scheme == Scheme::Xr).then(|| machine.x(&issuing.issuer)),
        };
        let group = checked(issuing.store.group());
        let held = key.newest().expect("a key has an epoch");
        let signer = key.signing_key(held).expect("a good key");
        let precursor = signer.precursor(&mut rng(2));
        let mut body = vec![0; scheme.signature_bytes(false)];
        precursor.sign(&[PACKET], false, &mut body);
        let opening = Request::new(&group, Question::Opening, &packet(&body), None);
        let opening = opening.expect("the group has an epoch 0");
        let asked = Asked::new(&group, &opening, &packet(&body));
        Self {
            scheme,
            quorum,
            asked: asked.expect("a good signature"),
            base: issuing.base(&machine, 0),
            trustees: issuing.trustees,
            group,
            found,
            body,
            opening,
        }
    }

    pub fn packet(&self) -> Packet<'_> {
        packet(&self.body)
    }

    /// The first t trustees.
    pub fn set(&self) -> Set {
        let set = (1..=self.quorum.threshold()).map(trustee);
        Set::of(set).expect("each once")
    }

    /// What a trustee's secrets make of the packet.
    pub fn decrypt(&self, asked: &Asked, key: &TrusteeKeyFile, seed: u64) -> Vec<Decryption> {
        let mut rng = rng(seed);
        let parts = asked.parts();
        let both = parts.iter().zip(secrets(key));
        let decryptions = both.map(|(part, share)| part.decrypt(share, &mut rng));
        let decryptions: Result<_, _> = decryptions.collect();
        decryptions.expect("a share of this sharing")
    }

    /// The shares of the first t trustees.
    pub fn shares(&self) -> Vec<Share> {
        let keys = self.trustees.iter().take(self.quorum.threshold().into());
        let share = |key: &TrusteeKeyFile| Share {
            request: self.opening.clone(),
            trustee: key.trustee(),
            step: Step::Opening(self.decrypt(&self.asked, key, 3)),
        };
        keys.map(share).collect()
    }
}

fn packet(body: &[u8]) -> Packet<'_> {
    Packet {
        epoch: 0,
        message: PACKET,
        body,
        leaf: None,
    }
}

pub fn secrets(key: &TrusteeKeyFile) -> &[SecretShare] {
    match &key.share {
        OpeningShare::Bbs04(both) => both,
        OpeningShare::Xr(one) => std::slice::from_ref(one),
    }
}

pub fn trustee(index: u8) -> Trustee {
    Trustee::new(index).expect("an index")
}
