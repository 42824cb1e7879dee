//! Seeds made here: a group of each scheme with all that happens in it.

use std::fs;
use std::path::Path;

use clew_evidence::{
    Change, CheckedGroup, FoundRow, GroupId, LineValue, Locator, OpenedBase, Packet, Question,
    RegisterFileHeader, RegisterLine, Request, Row, Share, armor, base_hash, combine_match,
    combine_opening,
};
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{Founding, Part, Quorum, Set, Sharing, Trustee};
use clew_group::xr::{Device, IssuerKey};
use clew_group::{PublicKey, Scheme};
use clew_keys::join::Joining;
use clew_keys::witness_file::Need;
use clew_keys::{IssuerKeyFile, MemberKeyFile, TextFile, TrusteeKeyFile};
use clew_manager::{EpochStart, Machine, NewGroup, Opening, Store};
use clew_trustee::Responder;
use clew_trustee::approval::Shown;
use clew_trustee::rules::{Candidate, Case};
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
        "batch" | "join_file" | "locator" | "matching" | "steps" => of(Scheme::Xr),
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
        let group = NewGroup {
            name: "g".parse().unwrap(),
            scheme,
            opening: Opening::TrustedDealer(Quorum::new(2, 3).unwrap()),
            log: None,
            now: NOW,
        };
        let made = Store::create(dir, group, None, &mut rng()).unwrap();
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
        let signer = member.signing_key(&member.epochs[0]).unwrap();
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
            "batch" => vec![self.batch()],
            "key_payload" => self.key_payloads(),
            "public_key" => vec![self.founding()],
            "member_key" => vec![selected([self.founding(), self.secrets()].concat())],
            "steps" => self.chains(),
            "join_file" => self.join_files(),
            "locator" => vec![self.locator()],
            "witness_file" => vec![self.bucket()],
            "signature" => self.bodies.to_vec(),
            "row" => vec![
                selected(self.row().encode()),
                selected(self.row().entry.encode()),
            ],
            "register_file" => [false, true]
                .map(|points| selected([vec![99], self.register_file(points)].concat()))
                .to_vec(),
            "share" => self
                .shares()
                .iter()
                .map(|s| payload(&s.encode(), "clew-share-1"))
                .collect(),
            "opening" => vec![self.judged(self.opening())],
            "matching" => vec![self.judged(self.matching())],
            "group_file" => vec![self.group_file(), self.long_group_file()],
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

    fn machine(&self) -> Machine {
        self.store.machine("a").unwrap().unwrap()
    }

    /// The machine's row with its x.
    fn found(&self) -> FoundRow {
        let is_xr = self.store.group().scheme() == Scheme::Xr;
        let x = is_xr.then(|| self.machine().x(&self.issuer));
        FoundRow { row: self.row(), x }
    }

    /// What the machine signs with in epoch 0.
    fn base(&self) -> G1 {
        let issuer = self.store.epoch_issuer(&self.issuer, 0).unwrap();
        let machine = self.machine();
        let (credential, x) = (machine.credential().unwrap(), machine.x(&self.issuer));
        issuer.base(&credential, &x).unwrap()
    }

    fn checked(&self) -> CheckedGroup {
        self.store.group().clone().check_epochs(&mut rng()).unwrap()
    }

    /// With hashes, and with points.
    fn register_file(&self, points: bool) -> Vec<u8> {
        let header = RegisterFileHeader {
            group: self.store.group().id(),
            points,
            epochs: vec![0],
        };
        let (FoundRow { row, x }, base) = (self.found(), self.base().to_bytes());
        let value = match points {
            true => LineValue::Point(base),
            false => LineValue::Hash(base_hash(&base)),
        };
        let values = vec![value];
        let line = RegisterLine { row, x, values };
        [header.encode(), line.encode(&header)].concat()
    }

    fn packet(&self) -> Packet<'_> {
        Packet {
            epoch: 0,
            message: b"m",
            body: &self.bodies[0],
            leaf: None,
        }
    }

    fn request(&self, question: Question) -> Request {
        Request::new(self.store.group(), question, &self.packet(), None).unwrap()
    }

    /// Each trustee answers.
    fn ask(&self, request: &Request, act: impl Fn(Responder<'_>, Case<'_>) -> Share) -> [Share; 2] {
        let dir = self.store.issuer_key_path();
        let (group, packet) = (self.checked(), self.packet());
        [0, 1].map(|i| {
            let case = Case {
                group: &group,
                request,
                packet: &packet,
                shown: Shown::default(),
            };
            let path = dir.with_file_name(format!("{i}"));
            act(Responder::new(&self.trustees[i], &path).unwrap(), case)
        })
    }

    fn opening_shares(&self) -> (Request, [Share; 2]) {
        let request = self.request(Question::Opening);
        let shares = self.ask(&request, |responder, case| {
            responder.open(case, NOW, &mut rng()).unwrap()
        });
        (request, shares)
    }

    /// The shares of all three steps of a match.
    fn match_shares(&self) -> (Request, G1, [[Share; 2]; 3]) {
        let (found, base) = (self.found(), self.base());
        let with = Candidate {
            found: &found,
            base: &base,
        };
        let machine = found.row.entry.leaf_hash();
        let request = self.request(Question::Match { machine });
        let set = Set::of([1, 2].map(|i| Trustee::new(i).unwrap())).unwrap();
        let commitments = self.ask(&request, |responder, case| {
            responder.commit(case, with, set, NOW, &mut rng()).unwrap()
        });
        let blinds = self.ask(&request, |responder, case| {
            responder.reveal(case, with, &commitments, NOW).unwrap()
        });
        let last = self.ask(&request, |responder, case| {
            responder
                .compare(case, with, &blinds, NOW, &mut rng())
                .unwrap()
        });
        (request, base, [commitments, blinds, last])
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
        let (group, packet) = (self.checked(), self.packet());
        let opened = combine_opening(&group, &request, &shares, &packet, |_| Some(self.found()));
        payload(&opened.unwrap().evidence.encode(), "clew-opening-1")
    }

    fn matching(&self) -> Vec<u8> {
        let (request, base, [_, _, shares]) = self.match_shares();
        let (group, packet) = (self.checked(), self.packet());
        let matched = combine_match(&group, &request, &shares, &packet, &base, self.found());
        payload(&matched.unwrap().evidence.encode(), "clew-match-1")
    }

    /// Nonce and founding key.
    fn founding(&self) -> Vec<u8> {
        let founding = self.member.epochs[0].public.founding_bytes();
        [&self.member.nonce[..], &founding].concat()
    }

    /// A key with its epoch, and a batch of good signatures.
    fn batch(&self) -> Vec<u8> {
        let id = self.member.epochs[0].id.0;
        [self.founding(), id.to_vec(), self.bodies[0].repeat(11)].concat()
    }

    /// Witness and member key.
    fn secrets(&self) -> Vec<u8> {
        let witness = self.member.epochs[0].witness.to_bytes();
        [&witness[..], &self.member.key.to_bytes()].concat()
    }

    /// A chain that revokes the other machine, and one that revokes this one, too.
    fn chains(&mut self) -> Vec<Vec<u8>> {
        let member = [self.founding(), self.secrets()].concat();
        self.revoke("b", false);
        self.revoke("a", false);
        let steps = self.store.group().epochs().iter().map(|record| {
            let Change::Steps(steps) = &record.change else {
                unreachable!("machines are revoked by steps")
            };
            steps.concat()
        });
        let steps: Vec<Vec<u8>> = steps.collect();
        vec![
            [&member[..], &steps[0]].concat(),
            [member, steps.concat()].concat(),
        ]
    }

    fn revoke(&mut self, name: &str, rebase: bool) {
        let made = NOW + 1 + u64::from(self.store.group().newest_epoch());
        let (when, names) = (EpochStart::now(made), [name.parse().unwrap()]);
        let revoked = self
            .store
            .revoke(&self.issuer, &names, rebase, when, &mut |_, _| true);
        revoked.unwrap();
    }

    /// With a step (`xr`), a rebase, and the checkpoint that both bind.
    fn long_group_file(&mut self) -> Vec<u8> {
        self.revoke("b", false);
        self.revoke("a", true);
        self.group_file()
    }

    /// All five rounds, and what the device keeps.
    fn join_files(&mut self) -> Vec<Vec<u8>> {
        let (store, issuer, rng) = (&mut self.store, &self.issuer, &mut rng());
        let invitation = store
            .invite(issuer, "c".parse().unwrap(), NOW, rng)
            .unwrap();
        let group = store.group().clone().check_epochs(rng).unwrap();
        let mut joining = Joining::begin(invitation.clone(), &group, rng).unwrap();
        let offer = store.offer(issuer, joining.request(), NOW, rng).unwrap();
        let acceptance = joining.accept(&offer, &group, rng).unwrap();
        let credential = store.admit(issuer, &acceptance, NOW).unwrap();
        let payloads = [
            invitation.payload(),
            joining.request().payload(),
            offer.payload(),
            acceptance.payload(),
            credential.payload(),
            joining.payload(),
        ];
        payloads.map(|payload| payload.to_vec()).into()
    }

    fn locator(&self) -> Vec<u8> {
        let (request, shares) = self.opening_shares();
        let (group, packet) = (self.checked(), self.packet());
        let mut locator = None;
        let find = |opened: OpenedBase| {
            let q = self.store.locator(&self.issuer, &opened).unwrap().unwrap();
            locator = Some(Locator::new(&opened, &q));
            Some(self.found())
        };
        combine_opening(&group, &request, &shares, &packet, find).unwrap();
        payload(&locator.unwrap().encode(), "clew-locator-1")
    }

    /// The bucket of a rebase, behind the machine that needs it.
    fn bucket(&mut self) -> Vec<u8> {
        self.revoke("b", true);
        let group: GroupId = self.store.group().id();
        let (epoch, index) = (1, self.machine().entry.index);
        let need = Need {
            group,
            epoch,
            index,
        };
        let bucket = fs::read(need.path_under(&self.store.witnesses_path())).unwrap();
        let numbers = [epoch, index].map(u32::to_be_bytes).concat();
        [&group.0[..], &numbers, &bucket].concat()
    }
}

fn payload(text: &str, label: &'static str) -> Vec<u8> {
    armor::decode(text, label).unwrap().to_vec()
}

fn joins() -> Vec<Vec<u8>> {
    let issuer = IssuerKey::generate(&mut rng());
    let [x, s] = [77, 78].map(Scalar::from_u128);
    let (public, _) = issuer.found(&[1; 32], &G1::generator(), &mut rng());
    let (device, request) = Device::new(&public, &[2; 32], &mut rng());
    let offer = issuer.offer(&public, &[2; 32], &request, &x, &s).unwrap();
    let witness = issuer.in_epoch(&public, []).witness(&x).unwrap();
    vec![
        request.to_bytes().to_vec(),
        offer.to_bytes().to_vec(),
        device.to_bytes().to_vec(),
        witness.to_bytes().to_vec(),
    ]
}

fn quorum() -> Vec<Vec<u8>> {
    let temp = tempfile::tempdir().unwrap();
    let made = Made::new(Scheme::Xr, &temp.path().join("g"));
    let PublicKey::Xr(public) = &made.member.epochs[0].public else {
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
