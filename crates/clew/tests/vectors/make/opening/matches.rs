//! Vectors of matches as evidence: both answers, and each rule of `judge` broken.

use clew_evidence::{Match, Question, Row};
use clew_group::Scheme;
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{Blind, Blinding, Decryption, Match as Asked, Set};
use clew_group::xr::Signature;

use crate::case::Case;
use crate::make::damage::{Damage, identity};
use crate::make::group_signature::matching::blind_with;
use crate::make::groups::strange::{self, STRANGE};
use crate::make::groups::xr_group::{XR, place, trustee, x};
use crate::make::key_file::keys::armored;
use crate::make::opening::bad::later;
use crate::make::opening::good::{OPENING, Sent, payload, with_judgement};
use crate::make::packet::frames::*;
use crate::make::{flat, hash, rng};

pub fn all() -> Vec<Case> {
    flat([answers(), requests(), layouts(), rows(), blinds_and_shares()])
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

    /// What the machine signs with in the packet's epoch.
    pub fn base(&self) -> G1 {
        XR.base(self.machine, self.sent.epoch)
    }

    pub fn points(&self) -> [G1; 2] {
        let signature = Signature::from_bytes(&self.sent.signed().1).unwrap();
        [*signature.t1(), *signature.t2()]
    }

    pub fn question(&self) -> Asked<'static> {
        let ([t1, t2], sharing) = (self.points(), &XR.sharing(self.sent.epoch).0);
        let id = self.request().id();
        Asked::new(&id, self.set, sharing, [&t1, &t2], &self.base()).unwrap()
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
            product.part().decrypt(share, &mut rng("evidence match share")).unwrap()
        };
        self.set.iter().map(decrypt).collect()
    }

    pub fn answered(&self) -> Match {
        let blinds = self.blinds();
        Match {
            request: self.request(),
            set: self.set,
            base: self.base().to_bytes(),
            x: x(self.machine),
            decryptions: self.decryptions(&blinds),
            blinds,
            row: self.row(),
        }
    }
}

fn answers() -> Vec<Case> {
    let sent = |machine, epoch| Sent::new(Scheme::Xr, machine, epoch, PLAIN);
    let (anchor, dealt) = ("not-anchored", "trusted-dealer");
    [
        (("yes", "The machine that sent it."), (sent("web-1", 0), "web-1", &[1, 3][..]), &[anchor][..]),
        (("no", "Another machine."), (sent("web-1", 0), "web-3", &[1, 3]), &[anchor]),
        (("all", "All three answer."), (sent("web-2", 0), "web-2", &[1, 2, 3]), &["revoked-later 1", anchor]),
        (("epoch-3", "Under the newer opening key."), (sent("web-4", 3), "web-4", &[1, 2, 4]), &[dealt, anchor]),
        (("epoch-3-no", "The same, another machine."), (sent("web-4", 3), "web-1", &[2, 3, 4]), &[dealt, anchor]),
        (("epoch-4", "After the rebase."), (sent("web-1", 4), "web-1", &[1, 2, 3]), &[dealt, anchor]),
        (
            ("late", "A machine that joined later dates a packet back."),
            (sent("web-5", 1), "web-5", &[1, 2]),
            &["joined-on-issuer-host", "joined-later 2", "revoked-later 3", anchor, "name-reissued"],
        ),
        (
            ("late-no", "That machine did not, so nothing is said of it as a signer."),
            (sent("web-1", 1), "web-5", &[1, 2]),
            &[anchor, "name-reissued"],
        ),
    ]
    .map(|((name, comment), (sent, machine, indices), caveats)| {
        let answer = match sent.machine == machine {
            true => "it was this machine",
            false => "it was not this machine",
        };
        let asking = Asking::new(sent, machine, indices);
        let evidence = asking.answered();
        let case = asking
            .sent
            .case("judge", &format!("match-{name}"), "valid", comment)
            .lines("line", &evidence.encode())
            .text("machine", evidence.row.entry.name.as_str())
            .text("answer", answer)
            .hex("b", evidence.base)
            .hex("x", evidence.x.to_bytes());
        with_judgement(case, &evidence.request, &evidence.row, caveats)
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
const SET: usize = 206;
const BASE: usize = SET + 4;
const X: usize = BASE + 48;
const BLINDS: usize = X + 32;
const DECRYPTIONS: usize = BLINDS + 2 * 160;
const ANCHOR: usize = DECRYPTIONS + 2 * 112;
const ROW: usize = ANCHOR + 2;

fn bad_of(sent: &Sent, name: &str, rule: &str, comment: &str, payload: &[u8]) -> Case {
    sent.case("judge", &format!("match-{name}"), rule, comment).lines("line", &armored(MATCH, payload))
}

fn bad(name: &str, rule: &str, comment: &str, payload: &[u8]) -> Case {
    bad_of(&asking().sent, name, rule, comment, payload)
}

fn requests() -> Vec<Case> {
    let good = good();
    let set = |at: usize, value: &[u8]| good.set(at, value);
    let sent = asking().sent;
    let opening = payload(&sent.open(&[1, 3], None).encode(), OPENING);
    let mut forged = sent.clone();
    let at = sent.frame.bytes.len() - 31 - 288;
    forged.frame.bytes = sent.frame.bytes.flip(at + 255);
    let machine = asking().row().entry.leaf_hash();
    let request = forged.request(Question::Match { machine }, None).to_bytes();
    let of_forged = good.set(0, request);
    let other = signed(&raw(packet()), "xr-ipv4-udp");
    let comment = "The packet's signature is not good, and the request is about that packet.";
    let id = XR.records.epoch_id(1);
    vec![
        bad("kind-opening", "layout", "The request asks for an opening.", &opening),
        bad("kind-3", "layout", "The request has kind 3.", &set(16, &[3])),
        bad("scheme", "layout", "A match of scheme bbs04.", &set(17, &[1])),
        bad("group", "group", "Another group.", &set(18, &[good[18] ^ 1])),
        bad("epoch-id", "group", "The id of another epoch.", &set(38, &id.0)),
        later(bad("epoch", "group", "An epoch that the file does not have yet.", &set(34, &[0, 0, 0, 5]))),
        sent.case_with("judge", "match-packet", "packet", "Another packet.", &other).lines("line", &armored(MATCH, &good)),
        bad_of(&forged, "signature", "signature", comment, &of_forged),
    ]
}

fn layouts() -> Vec<Case> {
    let good = good();
    let set = |at: usize, value: &[u8]| good.set(at, value);
    let layout = |name: &str, comment: &str, payload: &[u8]| bad(&format!("layout-{name}"), "layout", comment, payload);
    vec![
        layout("set-one", "A set of one, where two open.", &set(SET, &[0, 0, 0, 1])),
        layout("set-four", "Trustee 4 of 3 in the set.", &set(SET, &[0, 0, 0, 9])),
        layout("set-empty", "Nobody in the set.", &set(SET, &[0, 0, 0, 0])),
        layout("base", "B_X is the identity.", &set(BASE, &identity(48))),
        layout("x-zero", "x is zero.", &set(X, &[0; 32])),
        layout("x-not-reduced", "x + r in the place of x.", &good.unreduced(X)),
        layout("anchor", "An anchor of one byte.", &good.replace(ANCHOR..ROW, [0, 1, 7])),
        layout("no-anchor", "No anchor.", &good.replace(ANCHOR..ROW, [])),
        layout("e", "E of trustee 1 is the identity.", &set(BLINDS, &identity(48))),
        layout("f", "F of trustee 3 is the identity.", &set(BLINDS + 208, &identity(48))),
        layout("blind-s", "s of a blind is not reduced.", &set(BLINDS + 128, &[0xff; 32])),
        layout("d", "D of trustee 1 is the identity.", &set(DECRYPTIONS, &identity(48))),
        layout("share-c", "c of a share has bit 254 set.", &good.set(DECRYPTIONS + 48, [0x7f])),
        layout("no-row", "No row.", &good[..ROW]),
        layout("cut", "The last byte is missing.", &good.cut(1)),
        layout("long", "A byte behind the row.", &good.plus([0])),
    ]
}

/// The match about another row, and a request for its entry.
fn rows() -> Vec<Case> {
    let (good, asking, records) = (good(), asking(), &XR.records);
    let about = |x: &Scalar, row: &Row| {
        let machine = row.entry.leaf_hash();
        let request = asking.sent.request(Question::Match { machine }, None);
        let request = request.to_bytes();
        let (before, after) = (&good[SET..X], &good[BLINDS..ROW]);
        [&request[..], before, &x.to_bytes(), after, &row.encode()].concat()
    };
    let with = |name: &str, rule: &str, comment: &str, row: &Row| bad(name, rule, comment, &about(&x("web-1"), row));
    let strange =
        |name: &str, rule: &str, comment: &str, index| with(name, rule, comment, &strange::xr().row(index)).in_file(STRANGE);
    let mut broken = records.row(place("web-1"));
    broken.hashes[1][5] ^= 1;
    let own = records.row(place("web-1"));
    let other = records.row(place("web-3"));
    let kept = [&good[..ROW], &other.encode()].concat();
    let of_epoch_1 = XR.base("web-1", 1).to_bytes();
    vec![
        bad("register-machine", "register", "The row is not the one asked about.", &kept),
        with("register-hash", "register", "A hash of the proof is another.", &broken),
        strange("register-joined", "register", "It joined in an epoch that the file does not have.", strange::JOINED),
        strange("device", "device", "The device did not sign.", 0),
        strange("device-proof", "device", "The proof of y does not hold.", strange::PROOF),
        strange("credential", "credential", "The device signed for another A.", strange::CREDENTIAL),
        bad("credential-x", "credential", "The x of another machine.", &about(&x("web-3"), &own)),
        bad("signer-row", "signer", "B_X is of another machine than row and x.", &about(&x("web-3"), &other)),
        bad("signer", "signer", "B_X is another point.", &good.doubled(BASE, 48)),
        bad("signer-epoch", "signer", "B_X is of epoch 1.", &good.set(BASE, of_epoch_1)),
    ]
}

fn blinds_and_shares() -> Vec<Case> {
    let (good, asking) = (good(), asking());
    let case = |rule: &str, name: &str, comment: &str, payload: &[u8]| bad(&format!("{rule}-{name}"), rule, comment, payload);
    let [first, third] = [BLINDS, BLINDS + 160];
    let swapped = [&good[..first], &good[third..DECRYPTIONS], &good[first..third], { &good[DECRYPTIONS..] }];
    let [one, three] = [DECRYPTIONS, DECRYPTIONS + 112];
    let of_other = Asking::new(asking.sent.clone(), "web-2", &[1, 3]).answered();
    let of_other = payload(&of_other.encode(), MATCH);
    let session = *asking.question().session();
    let ([t1, t2], rho) = (asking.points(), Scalar::random(&mut rng("evidence rho")));
    let points = [t1, t2 - asking.base()];
    let blind = |index, rho| blind_with(&session, points, index, &rho);
    let cancelling = [blind(1, rho), blind(3, -rho)].concat();
    assert_ne!(hash(&cancelling), hash(&good[first..DECRYPTIONS]));
    vec![
        case("blind", "e", "E of trustee 3 is another point.", &good.doubled(third, 48)).blames(3),
        case("blind", "f", "F of trustee 1 is another point.", &good.doubled(first + 48, 48)).blames(1),
        case("blind", "c", "c of trustee 3 is one bit off.", &good.flip(third + 127)).blames(3),
        case("blind", "s", "s of trustee 1 is one bit off.", &good.flip(first + 159)).blames(1),
        case("blind", "order", "Each in the other's place.", &swapped.concat()).blames(1),
        case("blind", "other-match", "Blinds of another match.", &good.set(first, &of_other[first..DECRYPTIONS])).blames(1),
        case("blind", "cancelled", "Both blinds hold, and E is the identity.", &good.set(first, &cancelling)),
        case("share", "d", "D of trustee 3 is another point.", &good.doubled(three, 48)).blames(3),
        case("share", "c", "c of trustee 1 is one bit off.", &good.flip(one + 79)).blames(1),
        case("share", "s", "s of trustee 3 is one bit off.", &good.flip(three + 111)).blames(3),
        case("share", "other-match", "Shares of another match.", &good.set(one, &of_other[one..ANCHOR])).blames(1),
    ]
}
