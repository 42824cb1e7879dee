//! The rows of the table.
//!
//! Each case asserts its verdict once when it is made, so that nothing fast and wrong is measured.

use super::cover::Cover;
use crate::group::Group;
use crate::group_signature::forgery;
use crate::groups::{self, OTHER, rng};
use crate::measure::Case;
use crate::paper::{self, CLUE};
use clew_group::{Scheme, Signed};

/// What is tried first, at random, decides what rejecting costs: a sample has the mean of so many.
const ORDERS: usize = 16;

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Sign,
    PrecompSign,
    Precompute,
    Verify,
    IncrementalVerify,
    CorruptedIncremental,
    /// Not Clue's: the ordinary form when a packet was changed.
    ChangedVerify,
    /// Not Clue's: what an incremental form saves when a packet was changed.
    ChangedIncremental,
}

/// Clue's six rows, and two of ours.
pub const OPERATIONS: [Operation; 8] = [
    Operation::Sign,
    Operation::PrecompSign,
    Operation::Precompute,
    Operation::Verify,
    Operation::IncrementalVerify,
    Operation::CorruptedIncremental,
    Operation::ChangedVerify,
    Operation::ChangedIncremental,
];

impl Operation {
    /// As it stands in the names of rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sign => "sign",
            Self::PrecompSign => "precomp-sign",
            Self::Precompute => "precompute",
            Self::Verify => "verify",
            Self::IncrementalVerify => "incr-verify",
            Self::CorruptedIncremental => "incr-corrupted",
            Self::ChangedVerify => "changed",
            Self::ChangedIncremental => "incr-changed",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Sign => "all of Sign",
            Self::PrecompSign => "with a precursor",
            Self::Precompute => "Sign before the message is known",
            Self::Verify => "bytes to verdict",
            Self::IncrementalVerify => "bytes to verdict, incremental form",
            Self::CorruptedIncremental => "the same, an R replaced, c made to fit",
            Self::ChangedVerify => "another packet was signed",
            Self::ChangedIncremental => "another packet was signed, incremental form",
        }
    }

    /// The row that its paper, or common sense, compares it with.
    fn against(self) -> Option<Self> {
        match self {
            Self::Sign | Self::Precompute => None,
            Self::PrecompSign => Some(Self::Sign),
            Self::Verify => Some(Self::Sign),
            _ => Some(Self::Verify),
        }
    }

    fn incremental(self) -> bool {
        use Operation::{ChangedIncremental, CorruptedIncremental, IncrementalVerify};
        matches!(
            self,
            IncrementalVerify | CorruptedIncremental | ChangedIncremental
        )
    }
}

/// The name of a row.
pub fn row(scheme: &str, operation: Operation, cover: Cover) -> String {
    format!("{scheme}-{}-{}", operation.name(), cover.name())
}

/// What the paper has for a row, in microseconds.
pub fn quoted(operation: Operation, cover: Cover) -> Option<f64> {
    match (operation, cover) {
        (Operation::Verify, Cover::Packet) => Some(paper::VERIFY),
        (Operation::CorruptedIncremental, Cover::Packet) => Some(paper::CORRUPTED_INCREMENTAL[0]),
        (Operation::CorruptedIncremental, Cover::Window) => Some(paper::CORRUPTED_INCREMENTAL[1]),
        _ => None,
    }
}

/// A cell of the table: a row and a column, of one scheme.
#[derive(Clone, Copy)]
pub struct Bench<'g> {
    pub group: &'g Group,
    pub operation: Operation,
    pub cover: Cover,
}

impl<'g> Bench<'g> {
    /// The cell as a case, with what the paper has for it.
    pub fn case(self) -> Case<'g> {
        let Self {
            operation, cover, ..
        } = self;
        let mut case = match operation {
            Operation::Sign | Operation::PrecompSign | Operation::Precompute => self.signing(),
            _ => self.verifying(),
        };
        if let Some(figure) = quoted(operation, cover) {
            case = case.quote(CLUE.name, figure);
        }
        match operation.against() {
            Some(other) => case.against(row(self.group.name(), other, cover)),
            None => case,
        }
    }

    fn name(self) -> String {
        row(self.group.name(), self.operation, self.cover)
    }

    fn signing(self) -> Case<'g> {
        let (group, cover, about) = (self.group, self.cover, self.operation.about());
        let (mut nonces, mut body) = (rng(3), self.body());
        let mut precursor = move || group.signer.precursor(&mut nonces);
        let mut sign = move |precursor: clew_group::Precursor| {
            let (message, paths) = cover.send();
            precursor.sign(&[message.as_ref()], false, &mut body);
            paths
        };
        match self.operation {
            Operation::Sign => Case::new(self.name(), about, move || sign(precursor())),
            Operation::PrecompSign => Case::with_input(self.name(), about, precursor, sign),
            _ => Case::new(self.name(), about, precursor),
        }
    }

    fn verifying(self) -> Case<'g> {
        let (group, cover, incremental) = (self.group, self.cover, self.operation.incremental());
        let (message, paths) = cover.send();
        let body = match self.operation {
            Operation::ChangedVerify | Operation::ChangedIncremental => self.signed(OTHER),
            Operation::CorruptedIncremental => corrupted(
                group.scheme,
                &self.signed(message.as_ref()),
                message.as_ref(),
            ),
            _ => self.signed(message.as_ref()),
        };
        let mut order = rng(6);
        let mut verify = move || {
            let message = cover.receive(&paths);
            let signed = Signed {
                message: message.as_ref(),
                body: &body,
                incremental,
            };
            group.verifier.verify(signed, &mut order)
        };
        let good = matches!(
            self.operation,
            Operation::Verify | Operation::IncrementalVerify
        );
        assert_eq!(verify().is_ok(), good, "{}", self.name());
        let tries = match self.operation {
            Operation::CorruptedIncremental => ORDERS,
            _ => 1,
        };
        let verify_all = move || (0..tries).map(|_| verify()).filter(Result::is_ok).count();
        Case::new(self.name(), self.operation.about(), verify_all).each_of(tries)
    }

    /// Room for a signature.
    fn body(self) -> Vec<u8> {
        let scheme = self.group.scheme;
        vec![0; scheme.signature_bytes(self.operation.incremental())]
    }

    fn signed(self, message: &[u8]) -> Vec<u8> {
        let mut body = self.body();
        let precursor = self.group.signer.precursor(&mut rng(2));
        precursor.sign(&[message], self.operation.incremental(), &mut body);
        body
    }
}

/// What anybody can make of a signature in incremental form: the hash fits, and no equation holds.
/// What Clue corrupted is not said; whatever else is changed, the hash tells at once.
fn corrupted(scheme: Scheme, good: &[u8], message: &[u8]) -> Vec<u8> {
    let length = "an incremental form";
    match scheme {
        Scheme::Bbs04 => forgery::other_r1(good.try_into().expect(length), message).to_vec(),
        Scheme::Xr => groups::other_r1(good.try_into().expect(length), message).to_vec(),
    }
}
