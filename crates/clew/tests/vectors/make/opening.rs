//! Vectors of openings: good ones of both schemes, and what others are made of.

use std::sync::LazyLock;

use clew_evidence::{
    Asked, GroupFile, Opening, Packet, Question, Request, Row, armor, packet_digest,
};
use clew_group::Scheme;
use clew_group::quorum::{Decryption, SecretShare, Trustee};
use clew_packet::{Policy, read};

use super::bbs04_group::BBS04;
use super::packet_trailer::*;
use super::records::{NOW, Records};
use super::xr_group::{XR, place, trustee};
use super::{hash, rng};
use crate::case::Case;
use crate::common::Owned;

pub static BBS04_FILE: LazyLock<GroupFile> =
    LazyLock::new(|| GroupFile::from_bytes(&BBS04.records.file()).unwrap());
pub static XR_FILE: LazyLock<GroupFile> =
    LazyLock::new(|| GroupFile::from_bytes(&XR.records.file()).unwrap());

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
        Self {
            scheme,
            machine,
            epoch,
            frame: signed_by(&raw(packet()), machine, &label, policy, epoch, Some(NOW)),
        }
    }

    pub fn group(&self) -> &'static GroupFile {
        match self.scheme {
            Scheme::Bbs04 => &BBS04_FILE,
            Scheme::Xr => &XR_FILE,
        }
    }

    pub fn records(&self) -> &'static Records {
        match self.scheme {
            Scheme::Bbs04 => &BBS04.records,
            Scheme::Xr => &XR.records,
        }
    }

    /// The message, and the signature in its plain form.
    pub fn signed(&self) -> (Vec<u8>, Vec<u8>) {
        let (frame, mut message) = (self.frame.frame(), Vec::new());
        let packet = read(&frame).unwrap();
        packet.write_message(&mut message);
        let plain = self.scheme.signature_bytes(false);
        (message, packet.trailer().body[..plain].to_vec())
    }

    pub fn request(&self, question: Question, warrant: Option<[u8; 32]>) -> Request {
        let (message, body) = self.signed();
        let packet = Packet {
            epoch: self.epoch as u32,
            message: &message,
            body: &body,
        };
        Request::new(self.group(), question, &packet, warrant).unwrap()
    }

    /// With what a trustee sees.
    pub fn asked(&self, request: &Request) -> Asked {
        let (message, body) = self.signed();
        assert_eq!(packet_digest(&message, &body), request.packet);
        let packet = Packet {
            epoch: self.epoch as u32,
            message: &message,
            body: &body,
        };
        Asked::new(self.group(), request, &packet).unwrap()
    }

    /// The decryptions of a trustee.
    pub fn decrypt(&self, asked: &Asked, i: Trustee) -> Vec<Decryption> {
        let place = usize::from(i.index()) - 1;
        let shares: Vec<&SecretShare> = match self.scheme {
            Scheme::Bbs04 => BBS04.shares.iter().map(|all| &all[place]).collect(),
            Scheme::Xr => vec![&XR.sharing(self.epoch).1[place]],
        };
        let pairs = asked.parts().into_iter().zip(shares);
        pairs
            .map(|(part, share)| part.decrypt(share, &mut rng("opening share")).unwrap())
            .collect()
    }

    pub fn row(&self) -> Row {
        self.records().row(place(self.machine))
    }

    /// The opening that these trustees make.
    pub fn open(&self, indices: &[u8], warrant: Option<[u8; 32]>) -> Opening {
        let request = self.request(Question::Opening, warrant);
        let asked = self.asked(&request);
        let share = |i: &u8| (trustee(*i), self.decrypt(&asked, trustee(*i)));
        Opening {
            shares: indices.iter().map(share).collect(),
            row: self.row(),
            request,
        }
    }

    /// A case of this packet that asks for `check`.
    pub fn case(&self, check: &str, name: &str, expect: &str, comment: &str) -> Case {
        self.case_with(check, name, expect, comment, &self.frame)
    }

    pub fn case_with(
        &self,
        check: &str,
        name: &str,
        expect: &str,
        comment: &str,
        frame: &Owned,
    ) -> Case {
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

pub fn all() -> Vec<Case> {
    let bbs04 = |epoch| Sent::new(Scheme::Bbs04, "web-1", epoch, PLAIN);
    let xr = |machine, epoch, policy| Sent::new(Scheme::Xr, machine, epoch, policy);
    let warrant = Some(hash(b"a warrant"));
    [
        (
            "bbs04",
            "Two of three, scheme bbs04.",
            bbs04(0),
            &[1, 2][..],
            None,
        ),
        (
            "bbs04-epoch-2",
            "After two revocations, with a warrant.",
            bbs04(2),
            &[2, 3],
            warrant,
        ),
        ("xr", "Two of three.", xr("web-1", 0, PLAIN), &[1, 3], None),
        (
            "xr-warrant",
            "With a warrant.",
            xr("web-1", 0, PLAIN),
            &[1, 3],
            warrant,
        ),
        (
            "xr-incremental",
            "The packet travels in incremental form.",
            xr("web-1", 1, INCREMENTAL),
            &[2, 3],
            None,
        ),
        (
            "xr-revoked-later",
            "A machine that was revoked later.",
            xr("web-2", 0, PLAIN),
            &[1, 2],
            None,
        ),
        (
            "xr-revoked-before",
            "A machine that was revoked before: the issuer helped it.",
            xr("web-2", 3, PLAIN),
            &[1, 2, 3],
            None,
        ),
        (
            "xr-epoch-3",
            "Under the newer opening key: three of four.",
            xr("web-1", 3, PLAIN),
            &[1, 2, 4],
            None,
        ),
        (
            "xr-joined-later",
            "A machine that joined in epoch 2.",
            xr("web-4", 3, PLAIN),
            &[2, 3, 4],
            None,
        ),
    ]
    .map(|(name, comment, sent, indices, warrant)| {
        let opening = sent.open(indices, warrant);
        let case = sent
            .case("judge", &format!("opening-{name}"), "valid", comment)
            .lines("line", &opening.encode())
            .text("answer", sent.machine);
        match sent.machine {
            "web-2" => case.hex("revoked", 1u32.to_be_bytes()),
            _ => case,
        }
    })
    .into()
}
