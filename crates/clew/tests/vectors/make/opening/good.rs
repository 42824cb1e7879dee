//! Vectors of openings: good ones of both schemes, and what others are made of.

use std::sync::LazyLock;

use clew_evidence::{Asked, CheckedGroup, GroupFile, Opening, Packet, Question, Request, Row, armor};
use clew_group::Scheme;
use clew_group::curve::Scalar;
use clew_group::quorum::{Decryption, SecretShare, Trustee};
use clew_packet::{Block, Policy, read};

use crate::case::Case;
use crate::common::Owned;
use crate::make::groups::bbs04_group::BBS04;
use crate::make::groups::records::{NOW, Records, row_of};
use crate::make::groups::xr_group::{NEWEST, XR, place, trustee, x};
use crate::make::packet::frames::*;
use crate::make::packet::modes;
use crate::make::{hash, rng, scalar};

static BBS04_FILE: LazyLock<CheckedGroup> = LazyLock::new(|| checked(&BBS04.records));
static XR_FILE: LazyLock<CheckedGroup> = LazyLock::new(|| checked(&XR.records));

/// The group file of these records, checked.
pub fn checked(records: &Records) -> CheckedGroup {
    let file = GroupFile::from_bytes(&records.file()).unwrap();
    file.check_epochs(&mut rng("weights")).unwrap()
}

pub const OPENING: &str = "clew-opening-1";

/// A signed packet that is asked about: by whom, in which epoch, and how it travels.
#[derive(Clone)]
pub struct Sent {
    pub scheme: Scheme,
    pub machine: &'static str,
    pub epoch: usize,
    pub frame: Owned,
}

impl Sent {
    pub fn new(scheme: Scheme, machine: &'static str, epoch: usize, policy: Policy) -> Self {
        let label = match scheme {
            Scheme::Bbs04 => format!("opened of {machine} in {epoch}"),
            Scheme::Xr => format!("xr-opened of {machine} in {epoch}"),
        };
        Self { scheme, machine, epoch, frame: signed_by(&raw(packet()), machine, &label, policy, epoch, Some(NOW)) }
    }

    /// A packet that a machine signs with a second credential, which the issuer made on its C.
    pub fn twice(machine: &'static str, epoch: usize) -> Self {
        let label = format!("xr-opened twice of {machine}");
        let precursor = || XR.second_precursor(machine, &Self::other_x(), epoch, &label);
        Self {
            scheme: Scheme::Xr,
            machine,
            epoch,
            frame: signed_with(&raw(packet()), Scheme::Xr, PLAIN, epoch, Some(NOW), precursor),
        }
    }

    /// x of that credential.
    pub fn other_x() -> Scalar {
        scalar("x of a second credential")
    }

    pub fn group(&self) -> &'static CheckedGroup {
        match self.scheme {
            Scheme::Bbs04 => &BBS04_FILE,
            Scheme::Xr => &XR_FILE,
        }
    }

    pub fn records(&self) -> &'static Records {
        records(self.scheme)
    }

    /// The message, and the signature in its plain form.
    pub fn signed(&self) -> (Vec<u8>, Vec<u8>) {
        let plain = self.scheme.signature_bytes(false);
        (message_of(&self.frame), trailer_of(&self.frame).body[..plain].to_vec())
    }

    pub fn request(&self, question: Question, warrant: Option<[u8; 32]>) -> Request {
        let (message, body) = self.signed();
        let packet = self.packet(&message, &body);
        Request::new(self.group(), question, &packet, warrant).unwrap()
    }

    /// With what a trustee sees.
    pub fn asked(&self, request: &Request) -> Asked {
        let (message, body) = self.signed();
        Asked::new(self.group(), request, &self.packet(&message, &body)).unwrap()
    }

    fn packet<'a>(&self, message: &'a [u8], body: &'a [u8]) -> Packet<'a> {
        Packet { epoch: self.epoch as u32, message, body, leaf: self.leaf() }
    }

    /// What names the packet in its block, if it is in one with a tree.
    fn leaf(&self) -> Option<[u8; 32]> {
        let frame = self.frame.frame();
        let packet = read(&frame).unwrap();
        let in_tree = matches!(packet.trailer().block, Block::Tree { .. });
        in_tree.then(|| packet.asked())
    }

    /// The packet of that place in a signed block of three, of the newest epoch.
    pub fn in_block(index: usize) -> Self {
        let frame = modes::block(3, PLAIN, "xr-opened block").remove(index);
        Self { scheme: Scheme::Xr, machine: "web-1", epoch: NEWEST, frame }
    }

    /// The decryptions of a trustee.
    pub fn decrypt(&self, asked: &Asked, i: Trustee) -> Vec<Decryption> {
        let place = usize::from(i.index()) - 1;
        let shares: Vec<&SecretShare> = match self.scheme {
            Scheme::Bbs04 => BBS04.shares.iter().map(|all| &all[place]).collect(),
            Scheme::Xr => vec![&XR.sharing(self.epoch).1[place]],
        };
        let pairs = asked.parts().into_iter().zip(shares);
        pairs.map(|(part, share)| part.decrypt(share, &mut rng("opening share")).unwrap()).collect()
    }

    pub fn row(&self) -> Row {
        self.records().row(place(self.machine))
    }

    /// x of the machine, with xr.
    pub fn x(&self) -> Option<Scalar> {
        (self.scheme == Scheme::Xr).then(|| x(self.machine))
    }

    /// The opening that these trustees make.
    pub fn open(&self, indices: &[u8], warrant: Option<[u8; 32]>) -> Opening {
        let request = self.request(Question::Opening, warrant);
        let asked = self.asked(&request);
        let share = |i: &u8| (trustee(*i), self.decrypt(&asked, trustee(*i)));
        Opening { shares: indices.iter().map(share).collect(), x: self.x(), row: self.row(), request }
    }

    /// A case of this packet that asks for `check`.
    pub fn case(&self, check: &str, name: &str, expect: &str, comment: &str) -> Case {
        self.case_with(check, name, expect, comment, &self.frame)
    }

    pub fn case_with(&self, check: &str, name: &str, expect: &str, comment: &str, frame: &Owned) -> Case {
        Case::new("opening", name, expect, comment)
            .text("check", check)
            .text("group-file", group_file(self.scheme))
            .hex("link-type", frame.link.0.to_be_bytes())
            .hex("wire-length", (frame.bytes.len() as u32).to_be_bytes())
            .hex("frame", &frame.bytes)
    }
}

/// The payload of a text.
pub fn payload(text: &str, label: &'static str) -> Vec<u8> {
    armor::decode(text, label).unwrap().to_vec()
}

/// What is said beside what evidence proves.
pub fn with_judgement(case: Case, request: &Request, row: &Row, caveats: &[&str]) -> Case {
    let entry = &row.entry;
    let case = case
        .hex("asked", request.asked_packet)
        .hex("index", entry.index.to_be_bytes())
        .hex("joined", entry.joined.to_be_bytes())
        .hex("how", [entry.how.code()]);
    let case = match entry.fingerprint() {
        Some(fingerprint) => case.text("fingerprint", &fingerprint.to_string()),
        None => case,
    };
    case.texts("caveat", caveats)
}

/// A good opening: who is named, and what is said besides.
fn good(name: &str, comment: &str, sent: &Sent, opening: &Opening, caveats: &[&str]) -> Case {
    let case = sent
        .case("judge", &format!("opening-{name}"), "valid", comment)
        .lines("line", &opening.encode())
        .text("answer", opening.row.entry.name.as_str());
    let case = case.each("x", opening.x.iter().map(Scalar::to_bytes));
    with_judgement(case, &opening.request, &opening.row, caveats)
}

fn bbs04(epoch: usize) -> Sent {
    Sent::new(Scheme::Bbs04, "web-1", epoch, PLAIN)
}

fn xr(machine: &'static str, epoch: usize) -> Sent {
    Sent::new(Scheme::Xr, machine, epoch, PLAIN)
}

const ANCHOR: &str = "not-anchored";
const DEALT: &str = "trusted-dealer";
const HOST: &str = "joined-on-issuer-host";
const ISSUER: &str = "issuer-could-sign";

pub fn all() -> Vec<Case> {
    let mut cases = plain();
    cases.extend(late_and_revoked());
    cases.extend(checkpointed());
    cases.push(pinned());
    cases.extend(blocks());
    cases
}

/// A packet of a block, shown as it is or by another one of its block.
fn blocks() -> Vec<Case> {
    let sent = Sent::in_block(1);
    let opening = sent.open(&[1, 2, 4], None);
    let case = |name: &str, comment: &str, shown: &Sent| {
        let case = good(name, comment, &sent, &opening, &[DEALT, ANCHOR]);
        let frame = &shown.frame.bytes;
        case.without("frame").without("wire-length").hex("wire-length", (frame.len() as u32).to_be_bytes()).hex("frame", frame)
    };
    vec![
        case("xr-block", "A packet of a block.", &sent),
        case("xr-block-other", "Another packet of the block stands for the one asked about.", &Sent::in_block(2)),
    ]
}

fn plain() -> Vec<Case> {
    let warrant = Some(hash(b"a warrant"));
    let incremental = Sent::new(Scheme::Xr, "web-1", 1, INCREMENTAL);
    let case = |name: &str, comment: &str, opened: (Sent, &[u8]), warrant, caveats: &[&str]| {
        let opening = opened.0.open(opened.1, warrant);
        good(name, comment, &opened.0, &opening, caveats)
    };
    let of_bbs04 = [ISSUER, DEALT, HOST, ANCHOR];
    vec![
        case("bbs04", "Two of three, scheme bbs04.", (bbs04(0), &[1, 2]), None, &of_bbs04),
        case("bbs04-epoch-2", "After two rebases, with a warrant.", (bbs04(2), &[2, 3]), warrant, &of_bbs04),
        case("xr", "Two of three.", (xr("web-1", 0), &[1, 3]), None, &[ANCHOR]),
        case("xr-warrant", "With a warrant.", (xr("web-1", 0), &[1, 3]), warrant, &[ANCHOR]),
        case("xr-incremental", "The packet travels in incremental form.", (incremental, &[2, 3]), None, &[ANCHOR]),
        case("xr-epoch-3", "Under the newer opening key: three of four.", (xr("web-1", 3), &[1, 2, 4]), None, &[DEALT, ANCHOR]),
        case("xr-epoch-4", "After the rebase.", (xr("web-1", 4), &[1, 2, 4]), None, &[DEALT, ANCHOR]),
    ]
}

/// Machines that joined after the packet's epoch, and revoked ones.
fn late_and_revoked() -> Vec<Case> {
    let case = |name: &str, comment: &str, sent: Sent, indices: &[u8], caveats: &[&str]| {
        let opening = sent.open(indices, None);
        good(&format!("xr-{name}"), comment, &sent, &opening, caveats)
    };
    vec![
        case("revoked-later", "A machine that a later step revokes.", xr("web-2", 0), &[1, 2], &["revoked-later 1", ANCHOR]),
        case(
            "revoked-before",
            "A machine that was revoked before: the issuer helped it.",
            xr("web-2", 3),
            &[1, 2, 3],
            &[DEALT, "revoked-before 1", ANCHOR],
        ),
        case(
            "revoked-rebased",
            "The same over the rebase, which does not name it.",
            xr("web-3", 4),
            &[1, 2, 3],
            &[DEALT, "revoked-before 3", ANCHOR],
        ),
        case("joined-in-2", "A machine that joined in epoch 2.", xr("web-4", 3), &[2, 3, 4], &[DEALT, ANCHOR]),
        case(
            "joined-later",
            "The same machine dates a packet back to epoch 0.",
            xr("web-4", 0),
            &[1, 3],
            &["joined-later 2", ANCHOR],
        ),
        case(
            "joined-later-revoked",
            "A machine that joined later, has a name again, and was revoked.",
            xr("web-5", 1),
            &[2, 3],
            &[HOST, "joined-later 2", "revoked-later 3", ANCHOR, "name-reissued"],
        ),
    ]
}

/// Rows of an earlier size of the register.
fn checkpointed() -> Vec<Case> {
    let case = |machines: usize, comment: &str| {
        let sent = xr("web-1", 0);
        let row = row_of(&XR.records.entries[..machines], place("web-1"));
        let opening = Opening { row, ..sent.open(&[1, 3], None) };
        let name = format!("xr-checkpoint-{machines}");
        good(&name, comment, &sent, &opening, &[ANCHOR])
    };
    vec![
        case(2, "A row of the first checkpoint, which no epoch binds."),
        case(3, "A row of the second, which epochs 1 and 2 bind."),
    ]
}

/// With the fingerprint of the device that is expected.
fn pinned() -> Case {
    let sent = xr("web-1", 0);
    let opening = sent.open(&[1, 3], None);
    let known = opening.row.entry.fingerprint().unwrap().to_string();
    let comment = "The device key is the one expected.";
    good("xr-pinned", comment, &sent, &opening, &[ANCHOR]).text("device", &known)
}
