//! Vectors of matches as evidence: both answers, and each rule of `judge` broken.

use clew_evidence::{Match, Question, Row};
use clew_group::Scheme;
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{Blind, Blinding, Decryption, Match as Asked, Set};
use clew_group::xr::Signature;
use ed25519_dalek::Signer;

use super::damage::{doubled, flipped, identity};
use super::key_file::armored;
use super::matching::blind_with;
use super::opening::{OPENING, Sent, payload};
use super::packet_trailer::*;
use super::xr_group::{XR, place, trustee};
use super::{hash, patched, replaced, rng};
use crate::case::Case;

pub fn all() -> Vec<Case> {
    let groups = [
        answers(),
        requests(),
        layouts(),
        rows(),
        blinds_and_shares(),
    ];
    groups.into_iter().flatten().collect()
}

pub const MATCH: &str = "clew-match-1";

/// What trustees are asked: the packet, the machine, who answers.
pub struct Asking {
    pub sent: Sent,
    machine: &'static str,
    pub set: Set,
}

impl Asking {
    pub fn new(sent: Sent, machine: &'static str, indices: &[u8]) -> Self {
        let set = Set::of(indices.iter().map(|i| trustee(*i))).unwrap();
        Self { sent, machine, set }
    }

    pub fn request(&self) -> clew_evidence::Request {
        let machine = self.row().entry.leaf_hash();
        self.sent.request(Question::Match { machine }, None)
    }

    pub fn row(&self) -> Row {
        XR.records.row(place(self.machine))
    }

    pub fn credential(&self) -> G1 {
        XR.machine(self.machine).key(self.sent.epoch).credential()
    }

    pub fn points(&self) -> [G1; 2] {
        let signature = Signature::from_bytes(&self.sent.signed().1).unwrap();
        [*signature.t1(), *signature.t2()]
    }

    pub fn question(&self) -> Asked<'static> {
        let ([t1, t2], sharing) = (self.points(), &XR.sharing(self.sent.epoch).0);
        let id = self.request().id();
        Asked::new(&id, self.set, sharing, [&t1, &t2], &self.credential()).unwrap()
    }

    pub fn blinds(&self) -> Vec<Blind> {
        let question = self.question();
        let blind = |i| {
            let begun = question.begin(i, &mut rng(&format!("evidence blind of {i}")));
            Blind::from_bytes(&Blinding::into_bytes(begun.unwrap().0)).unwrap()
        };
        self.set.iter().map(blind).collect()
    }

    pub fn decryptions(&self, blinds: &[Blind]) -> Vec<Decryption> {
        let question = self.question();
        let product = question.product(blinds).unwrap();
        let shares = &XR.sharing(self.sent.epoch).1;
        let decrypt = |i: clew_group::quorum::Trustee| {
            let share = &shares[usize::from(i.index()) - 1];
            product
                .part()
                .decrypt(share, &mut rng("evidence match share"))
                .unwrap()
        };
        self.set.iter().map(decrypt).collect()
    }

    pub fn answered(&self) -> Match {
        let blinds = self.blinds();
        Match {
            request: self.request(),
            set: self.set,
            credential: self.credential().to_bytes(),
            decryptions: self.decryptions(&blinds),
            blinds,
            row: self.row(),
        }
    }
}

fn answers() -> Vec<Case> {
    let sent = |machine, epoch| Sent::new(Scheme::Xr, machine, epoch, PLAIN);
    [
        (
            "yes",
            "The machine that sent it.",
            sent("web-1", 0),
            "web-1",
            &[1, 3][..],
        ),
        ("no", "Another machine.", sent("web-1", 0), "web-2", &[1, 3]),
        (
            "all",
            "All three answer.",
            sent("web-1", 0),
            "web-1",
            &[1, 2, 3],
        ),
        (
            "epoch-3",
            "Under the newer opening key.",
            sent("web-4", 3),
            "web-4",
            &[1, 2, 4],
        ),
        (
            "epoch-3-no",
            "The same, another machine.",
            sent("web-4", 3),
            "web-1",
            &[2, 3, 4],
        ),
    ]
    .map(|(name, comment, sent, machine, indices)| {
        let answer = match sent.machine == machine {
            true => "it was this machine",
            false => "it was not this machine",
        };
        let asking = Asking::new(sent, machine, indices);
        let evidence = asking.answered();
        asking
            .sent
            .case("judge", &format!("match-{name}"), "valid", comment)
            .lines("line", &evidence.encode())
            .text("machine", machine)
            .text("answer", answer)
    })
    .into()
}

fn asking() -> Asking {
    Asking::new(Sent::new(Scheme::Xr, "web-1", 0, PLAIN), "web-1", &[1, 3])
}

/// The payload of the match that the cases break.
fn good() -> Vec<u8> {
    payload(&asking().answered().encode(), MATCH)
}

/// Where the fields are, for a set of two.
const SET: usize = 174;
const CREDENTIAL: usize = 178;
const BLINDS: usize = 226;
const DECRYPTIONS: usize = BLINDS + 2 * 160;
const ROW: usize = DECRYPTIONS + 2 * 112;

fn bad_of(sent: &Sent, name: &str, rule: &str, comment: &str, payload: &[u8]) -> Case {
    sent.case("judge", &format!("match-{name}"), rule, comment)
        .lines("line", &armored(MATCH, payload))
}

fn bad(name: &str, rule: &str, comment: &str, payload: &[u8]) -> Case {
    bad_of(&asking().sent, name, rule, comment, payload)
}

fn requests() -> Vec<Case> {
    let good = good();
    let set = |at: usize, value: &[u8]| replaced(&good, at, value);
    let sent = asking().sent;
    let opening = payload(&sent.open(&[1, 3], None).encode(), OPENING);
    let mut forged = sent.clone();
    let at = sent.frame.bytes.len() - 31 - 288;
    forged.frame.bytes = flipped(&sent.frame.bytes, at + 256);
    let machine = asking().row().entry.leaf_hash();
    let request = forged.request(Question::Match { machine }, None).to_bytes();
    let of_forged = replaced(&good, 0, &request);
    let other = signed(&raw(packet()), "xr-ipv4-udp");
    let comment = "The packet's signature is not good, and the request is about that packet.";
    let id = XR.records.epoch_id(1);
    vec![
        bad(
            "kind-opening",
            "layout",
            "The request asks for an opening.",
            &opening,
        ),
        bad(
            "kind-3",
            "layout",
            "The request has kind 3.",
            &set(16, &[3]),
        ),
        bad(
            "scheme",
            "layout",
            "A match of scheme bbs04.",
            &set(17, &[1]),
        ),
        bad(
            "group",
            "group",
            "Another group.",
            &set(18, &[good[18] ^ 1]),
        ),
        bad(
            "epoch-id",
            "group",
            "The id of another epoch.",
            &set(38, &id.0),
        ),
        sent.case_with("judge", "match-packet", "packet", "Another packet.", &other)
            .lines("line", &armored(MATCH, &good)),
        bad_of(&forged, "signature", "signature", comment, &of_forged),
    ]
}

fn layouts() -> Vec<Case> {
    let good = good();
    let set = |at: usize, value: &[u8]| replaced(&good, at, value);
    let layout = |name: &str, comment: &str, payload: &[u8]| {
        bad(&format!("layout-{name}"), "layout", comment, payload)
    };
    vec![
        layout(
            "set-one",
            "A set of one, where two open.",
            &set(SET, &[0, 0, 0, 1]),
        ),
        layout(
            "set-four",
            "Trustee 4 of 3 in the set.",
            &set(SET, &[0, 0, 0, 9]),
        ),
        layout("set-empty", "Nobody in the set.", &set(SET, &[0, 0, 0, 0])),
        layout(
            "credential",
            "A_X is the identity.",
            &set(CREDENTIAL, &identity(48)),
        ),
        layout(
            "e",
            "E of trustee 1 is the identity.",
            &set(BLINDS, &identity(48)),
        ),
        layout(
            "f",
            "F of trustee 3 is the identity.",
            &set(BLINDS + 208, &identity(48)),
        ),
        layout(
            "blind-s",
            "s of a blind is not reduced.",
            &set(BLINDS + 128, &[0xff; 32]),
        ),
        layout(
            "d",
            "D of trustee 1 is the identity.",
            &set(DECRYPTIONS, &identity(48)),
        ),
        layout("share-c", "c of a share has bit 254 set.", &{
            patched(&good, DECRYPTIONS as isize + 48, 0x7f)
        }),
        layout("no-row", "No row.", &good[..ROW]),
        layout("cut", "The last byte is missing.", &good[..good.len() - 1]),
        layout(
            "long",
            "A byte behind the row.",
            &[&good[..], &[0]].concat(),
        ),
    ]
}

/// The match with the row of another register, and a request for its entry.
fn rows() -> Vec<Case> {
    let (good, asking, records) = (good(), asking(), &XR.records);
    let with = |name: &str, rule: &str, comment: &str, row: &Row| {
        let machine = row.entry.leaf_hash();
        let request = asking
            .sent
            .request(Question::Match { machine }, None)
            .to_bytes();
        let payload = [&request, &good[174..ROW], &row.encode()].concat();
        bad(name, rule, comment, &payload)
    };
    let at = place("web-1");
    let mut forged = records.entries.clone();
    let device = forged[at].device.as_mut().unwrap();
    device.signature = asking.sent.records().manager.sign(b"device").to_bytes();
    let forged = records.row_of(&forged, at, records.head_of(&forged));
    let mut broken = records.row(at);
    broken.proof.hashes[1][5] ^= 1;
    let later = records.row(place("web-4"));
    let other = records.row(place("web-3"));
    let kept = [&good[..ROW], &other.encode()].concat();
    vec![
        bad(
            "register-machine",
            "register",
            "The row is not the one asked about.",
            &kept,
        ),
        with(
            "register-hash",
            "register",
            "A hash of the proof is another.",
            &broken,
        ),
        with(
            "register-joined",
            "register",
            "It joined after the packet's epoch.",
            &later,
        ),
        with("device", "device", "The device did not sign.", &forged),
        with(
            "credential-row",
            "credential",
            "A_X is of another machine than the row.",
            &other,
        ),
        bad(
            "credential",
            "credential",
            "A_X is another point.",
            &doubled(&good, CREDENTIAL, 48),
        ),
        bad("credential-epoch", "credential", "A_X is of epoch 1.", &{
            let a = XR.machine("web-1").key(1).credential().to_bytes();
            replaced(&good, CREDENTIAL, &a)
        }),
    ]
}

fn blinds_and_shares() -> Vec<Case> {
    let (good, asking) = (good(), asking());
    let case = |rule: &str, name: &str, comment: &str, payload: &[u8]| {
        bad(&format!("{rule}-{name}"), rule, comment, payload)
    };
    let [first, third] = [BLINDS, BLINDS + 160];
    let swapped = [
        &good[..first],
        &good[third..DECRYPTIONS],
        &good[first..third],
        { &good[DECRYPTIONS..] },
    ];
    let [one, three] = [DECRYPTIONS, DECRYPTIONS + 112];
    let of_other = Asking::new(asking.sent.clone(), "web-2", &[1, 3]).answered();
    let of_other = payload(&of_other.encode(), MATCH);
    let session = *asking.question().session();
    let ([t1, t2], rho) = (asking.points(), Scalar::random(&mut rng("evidence rho")));
    let points = [t1, t2 - asking.credential()];
    let blind = |index, rho| blind_with(&session, points, index, &rho);
    let cancelling = [blind(1, rho), blind(3, -rho)].concat();
    assert_ne!(hash(&cancelling), hash(&good[first..DECRYPTIONS]));
    vec![
        case(
            "blind",
            "e",
            "E of trustee 3 is another point.",
            &doubled(&good, third, 48),
        )
        .hex("culprit", [3]),
        case(
            "blind",
            "f",
            "F of trustee 1 is another point.",
            &doubled(&good, first + 48, 48),
        )
        .hex("culprit", [1]),
        case(
            "blind",
            "c",
            "c of trustee 3 is one bit off.",
            &flipped(&good, third + 128),
        )
        .hex("culprit", [3]),
        case(
            "blind",
            "s",
            "s of trustee 1 is one bit off.",
            &flipped(&good, first + 160),
        )
        .hex("culprit", [1]),
        case(
            "blind",
            "order",
            "Each in the other's place.",
            &swapped.concat(),
        )
        .hex("culprit", [1]),
        case("blind", "other-match", "Blinds of another match.", &{
            replaced(&good, first, &of_other[first..DECRYPTIONS])
        })
        .hex("culprit", [1]),
        case(
            "blind",
            "cancelled",
            "Both blinds hold, and E is the identity.",
            &replaced(&good, first, &cancelling),
        ),
        case(
            "share",
            "d",
            "D of trustee 3 is another point.",
            &doubled(&good, three, 48),
        )
        .hex("culprit", [3]),
        case(
            "share",
            "c",
            "c of trustee 1 is one bit off.",
            &flipped(&good, one + 80),
        )
        .hex("culprit", [1]),
        case(
            "share",
            "s",
            "s of trustee 3 is one bit off.",
            &flipped(&good, three + 112),
        )
        .hex("culprit", [3]),
        case("share", "other-match", "Shares of another match.", &{
            replaced(&good, one, &of_other[one..ROW])
        })
        .hex("culprit", [1]),
    ]
}
