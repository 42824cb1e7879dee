//! What a trustee's operator sees and decides.

use clew_wire::WallTime;
use std::time::Instant;

/// What a matter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A request about packets.
    Request,
    /// A plan for an opening key.
    Plan,
}

/// Something that a trustee's operator decides about. Texts are for people, and may be others' words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matter {
    /// What it is.
    pub kind: Kind,
    /// Its id, in hexadecimal.
    pub id: String,
    /// What is asked, in one line.
    pub title: String,
    /// How far it is, in words.
    pub state: &'static str,
    /// Whether nobody decided yet.
    pub waits: bool,
    /// Whether it may be approved now.
    pub may_approve: bool,
    /// Whether it may be refused now.
    pub may_refuse: bool,
    /// All that the operator has to see, by name.
    pub facts: Vec<(String, String)>,
    /// What is wrong with it, or hinders what was ordered.
    pub trouble: Option<String>,
    /// SHA-256 of what does not change of it: a decision names what was seen.
    pub seen: [u8; 32],
}

/// One packet of a request's capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its number in the capture, from 1.
    pub frame: u64,
    /// When it was recorded, as the capture says.
    pub time: Option<WallTime>,
    /// Length in bytes.
    pub bytes: usize,
    /// From where to where, as far as it can be read.
    pub flow: String,
    /// Whether the warrant's signature covers it.
    pub is_covered: bool,
}

/// The packets of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packets {
    /// The capture file, as the requester posted it.
    pub capture: Vec<u8>,
    /// The first of its packets.
    pub first: Vec<Packet>,
    /// How many there are.
    pub count: u64,
}

/// What an operator decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Take part, or give the share.
    Approve,
    /// Do not. Of a request, with the name of a rule, or that of the rule that failed.
    Refuse(Option<String>),
}

/// A decision of an operator who saw the matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// What it is about.
    pub kind: Kind,
    /// The matter's id.
    pub id: String,
    /// [`Matter::seen`] of what the operator saw.
    pub seen: [u8; 32],
    /// The decision.
    pub word: Word,
}

/// How the trustee's work goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// When the board was last read.
    pub answered: Option<Instant>,
    /// Why it cannot be read, or why requests wait.
    pub trouble: Option<String>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocketError {
    /// No matter has this id.
    #[error("there is no such matter")]
    None,
    /// The matter is not any more what the operator saw.
    #[error("this has changed since it was shown: read it again")]
    Changed,
    /// The decision is not possible.
    #[error("{0}")]
    Refused(String),
    /// The trustee's directory cannot be read or written.
    #[error("the trustee's directory cannot be used")]
    Disk(String),
}

/// A trustee's directory, as its pages and notices use it. Methods may wait for the disk.
pub trait Docket: Send + Sync + 'static {
    /// The trustee's name.
    fn name(&self) -> String;

    /// The group's name.
    fn group(&self) -> String;

    /// The key whose holder is the operator.
    fn key(&self) -> [u8; 32];

    /// All matters of a kind: those that wait first, then the newest first.
    ///
    /// # Errors
    /// [`DocketError::Disk`].
    fn matters(&self, kind: Kind) -> Result<Vec<Matter>, DocketError>;

    /// One of them, by its whole id.
    ///
    /// # Errors
    /// [`DocketError::None`], [`DocketError::Disk`].
    fn matter(&self, kind: Kind, id: &str) -> Result<Matter, DocketError>;

    /// The packets of a request.
    ///
    /// # Errors
    /// [`DocketError::None`] if there are none; [`DocketError::Disk`].
    fn packets(&self, id: &str) -> Result<Packets, DocketError>;

    /// Signs a decision and writes it, synced. The program that talks to the board checks everything again.
    ///
    /// # Errors
    /// [`DocketError`].
    fn order(&self, ordered: &Ordered) -> Result<(), DocketError>;

    /// Names of the rules by which a request can be refused.
    fn rules(&self) -> Vec<&'static str>;

    /// How the work goes.
    fn standing(&self) -> Standing;

    /// Ids of the matters that wait, and of which nobody was told.
    ///
    /// # Errors
    /// [`DocketError::Disk`].
    fn untold(&self) -> Result<Vec<(Kind, String)>, DocketError>;

    /// Remembers, synced, that these were told.
    ///
    /// # Errors
    /// [`DocketError::Disk`].
    fn set_told(&self, told: &[(Kind, String)]) -> Result<(), DocketError>;
}
