//! Seeds made here: a group of each scheme with all that happens in it.

use std::fs;
use std::path::Path;

use clew_evidence::{
    Packet, Question, Request, Row, Share, armor, combine_match, combine_opening,
    register_file_header,
};
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{Founding, Part, Quorum, Set, Sharing, Trustee};
use clew_group::xr::{Device, IssuerKey};
use clew_group::{PublicKey, Scheme, SigningKey};
use clew_manager::Store;
use clew_manager::keys::{IssuerKeyFile, MemberKeyFile, TrusteeKeyFile};
use clew_manager::trustee::{Candidate, Case, Desk};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

const NOW: u64 = 1_800_000_000_000_000_000;

/// The seeds of a target, of both schemes where it has both.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let schemes = [Scheme::Xr, Scheme::Bbs04];
    let of = |scheme| {
        let temp = tempfile::tempdir().unwrap();
        Made::new(scheme, &temp.path().join("g")).seeds(target)
    };
    match target {
        "join" => joins(),
        "quorum" => quorum(),
        "matching" | "revocation_xr" => of(Scheme::Xr),
        _ => schemes.into_iter().flat_map(of).collect(),
    }
}

struct Made {
    store: Store,
    issuer: IssuerKeyFile,
    member: MemberKeyFile,
    trustees: [TrusteeKeyFile; 2],
    /// The member's signature over "m", plain and incremental.
    bodies: [Vec<u8>; 2],
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(4)
}

impl Made {
    fn new(scheme: Scheme, dir: &Path) -> Self {
        let (name, quorum) = ("g".parse().unwrap(), Quorum::new(2, 3).unwrap());
        let made = Store::create(dir, name, scheme, quorum, NOW, None, &mut rng()).unwrap();
        let text = |path: &Path| fs::read_to_string(path).unwrap();
        let mut store = made.store;
        let issuer = IssuerKeyFile::decode(&text(&store.issuer_key_path())).unwrap();
        let members = ["a", "b"].map(|name| {
            let name = name.parse().unwrap();
            let pending = store.enrol(&issuer, name, NOW, &mut rng()).unwrap();
            let key = pending.key().clone();
            pending.commit().unwrap();
            store.refresh().unwrap();
            key
        });
        let [member, _] = members;
        let key = |i: usize| TrusteeKeyFile::decode(&text(&made.trustee_keys[i])).unwrap();
        let signer = SigningKey::new(&member.public, member.id, member.key.clone()).unwrap();
        let bodies = [false, true].map(|incremental| {
            let mut body = vec![0; scheme.signature_bytes(incremental)];
            signer
                .precursor(&mut rng())
                .sign(&[b"m"], incremental, &mut body);
            body
        });
        Self {
            trustees: [0, 1].map(key),
            store,
            issuer,
            member,
            bodies,
        }
    }

    fn seeds(mut self, target: &str) -> Vec<Vec<u8>> {
        let scheme = self.store.group().scheme();
        let choice = u8::from(scheme == Scheme::Bbs04);
        let selected = |bytes: Vec<u8>| [vec![choice], bytes].concat();
        match target {
            "key_payload" => self.key_payloads(),
            "public_key" => vec![self.member.public.to_bytes()],
            "signature" => self.bodies.to_vec(),
            "row" => vec![
                selected(self.row().encode()),
                selected(self.row().entry.encode()),
            ],
            "register_file" => vec![selected([vec![99], self.register_file()].concat())],
            "share" => self
                .shares()
                .iter()
                .map(|s| payload(&s.encode(), "clew-share-1"))
                .collect(),
            "opening" => vec![self.judged(self.opening())],
            "matching" => vec![self.judged(self.matching())],
            "group_file" => vec![self.group_file()],
            "revocation_xr" => vec![self.revocation()],
            other => unreachable!("{other} has no seeds"),
        }
    }

    fn key_payloads(&self) -> Vec<Vec<u8>> {
        vec![
            payload(&self.member.encode(), "clew-member-key-1"),
            payload(&self.issuer.encode(), "clew-issuer-key-1"),
            payload(&self.trustees[1].encode(), "clew-trustee-key-1"),
        ]
    }

    fn group_file(&self) -> Vec<u8> {
        fs::read(self.store.group_file_path()).unwrap()
    }

    /// Behind the group file and its length.
    fn judged(&self, evidence: Vec<u8>) -> Vec<u8> {
        let group = self.group_file();
        [&(group.len() as u16).to_be_bytes()[..], &group, &evidence].concat()
    }

    fn row(&self) -> Row {
        let machine = self.store.machine("a").unwrap().unwrap();
        self.store.row(&machine).unwrap()
    }

    fn register_file(&self) -> Vec<u8> {
        let lines = self.store.lines(&self.issuer, 0).unwrap();
        let mut bytes = register_file_header(self.store.group().id(), 0);
        let each = |machine| -> Result<(), clew_manager::StoreError> {
            bytes.extend(lines.line(&machine)?.encode());
            Ok(())
        };
        self.store.machines(each).unwrap();
        bytes
    }

    fn packet(&self) -> Packet<'_> {
        Packet {
            epoch: 0,
            message: b"m",
            body: &self.bodies[0],
        }
    }

    fn request(&self, question: Question) -> Request {
        Request::new(self.store.group(), question, &self.packet(), None).unwrap()
    }

    /// Each trustee at its desk.
    fn ask(&self, request: &Request, act: impl Fn(Desk<'_>, Case<'_>) -> Share) -> [Share; 2] {
        let dir = self.store.issuer_key_path();
        let packet = self.packet();
        [0, 1].map(|i| {
            let case = Case {
                group: self.store.group(),
                request,
                packet: &packet,
            };
            let path = dir.with_file_name(format!("{i}"));
            act(Desk::new(&self.trustees[i], &path), case)
        })
    }

    fn opening_shares(&self) -> (Request, [Share; 2]) {
        let request = self.request(Question::Opening);
        let shares = self.ask(&request, |desk, case| {
            desk.open(case, NOW, &mut rng()).unwrap()
        });
        (request, shares)
    }

    /// The shares of all three steps of a match.
    fn match_shares(&self) -> (Request, G1, [[Share; 2]; 3]) {
        let row = self.row();
        let credential = G1::from_bytes(&row.entry.credential).unwrap();
        let with = Candidate {
            row: &row,
            credential: &credential,
        };
        let machine = row.entry.leaf_hash();
        let request = self.request(Question::Match { machine });
        let set = Set::of([1, 2].map(|i| Trustee::new(i).unwrap())).unwrap();
        let commitments = self.ask(&request, |desk, case| {
            desk.commit(case, with, set, NOW, &mut rng()).unwrap()
        });
        let blinds = self.ask(&request, |desk, case| {
            desk.reveal(case, with, &commitments).unwrap()
        });
        let last = self.ask(&request, |desk, case| {
            desk.compare(case, with, &blinds, &mut rng()).unwrap()
        });
        (request, credential, [commitments, blinds, last])
    }

    fn shares(&self) -> Vec<Share> {
        let mut shares = self.opening_shares().1.to_vec();
        if self.store.group().scheme() == Scheme::Xr {
            shares.extend(self.match_shares().2.into_iter().flatten());
        }
        shares
    }

    fn opening(&self) -> Vec<u8> {
        let (request, shares) = self.opening_shares();
        let (group, packet) = (self.store.group(), self.packet());
        let opened = combine_opening(group, &request, &shares, &packet, |_, _| Some(self.row()));
        payload(&opened.unwrap().evidence.encode(), "clew-opening-1")
    }

    fn matching(&self) -> Vec<u8> {
        let (request, a, [_, _, shares]) = self.match_shares();
        let (group, packet) = (self.store.group(), self.packet());
        let matched = combine_match(group, &request, &shares, &packet, &a, self.row());
        payload(&matched.unwrap().evidence.encode(), "clew-match-1")
    }

    /// Public key, revocation of the other machine, and member key.
    fn revocation(&mut self) -> Vec<u8> {
        self.store.revoke(&self.issuer, "b", NOW, NOW).unwrap();
        let record = self.store.group().epochs()[0].encode();
        let revocation = &record[record.len() - 224..];
        let key = self.member.public.to_bytes();
        [&key[..], revocation, &self.member.key.to_bytes()].concat()
    }
}

fn payload(text: &str, label: &'static str) -> Vec<u8> {
    armor::decode(text, label).unwrap().to_vec()
}

fn joins() -> Vec<Vec<u8>> {
    let (issuer, x) = (IssuerKey::generate(&mut rng()), Scalar::from_u128(77));
    let (public, _) = issuer.found(&[1; 32], &G1::generator(), &mut rng());
    let (_, request) = Device::new(&public, &[2; 32], &mut rng());
    let offer = issuer
        .offer(&public, &[2; 32], &request, &x, &mut rng())
        .unwrap();
    let credential = issuer
        .scale([])
        .unwrap()
        .credential(&offer.credential(), &x);
    let credential = credential.to_bytes().to_vec();
    vec![
        request.to_bytes().to_vec(),
        offer.to_bytes().to_vec(),
        credential,
    ]
}

fn quorum() -> Vec<Vec<u8>> {
    let temp = tempfile::tempdir().unwrap();
    let made = Made::new(Scheme::Xr, &temp.path().join("g"));
    let PublicKey::Xr(public) = &made.member.public else {
        unreachable!("it is an xr group")
    };
    let quorum = Quorum::new(2, 3).unwrap();
    let one = Trustee::new(1).unwrap();
    let founding = Founding::new([3; 32], public.u(), quorum);
    let (broadcast, dealt) = founding.deal(one, &mut rng()).unwrap();
    let secret = Scalar::from_u128(9);
    let (sharing, shares) = Sharing::deal(public.u(), &secret, quorum, &mut rng()).unwrap();
    let part = Part {
        number: 1,
        sharing: &sharing,
        point: public.h(),
        context: &[5; 32],
    };
    let decryption = part.decrypt(&shares[0], &mut rng()).unwrap();
    let mut all = vec![
        broadcast.to_bytes(),
        dealt[0].to_bytes().to_vec(),
        decryption.to_bytes().to_vec(),
        shares[0].to_bytes().to_vec(),
        vec![0, 0, 0, 3],
    ];
    let (_, _, [_, blinds, _]) = made.match_shares();
    let blind = payload(&blinds[0].encode(), "clew-share-1");
    all.push(blind[blind.len() - 160..].to_vec());
    all.push(vec![7; 64]); // commitments, as they are kept meanwhile
    all
}
