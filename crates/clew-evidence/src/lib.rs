//! What anybody can check offline, without asking the manager: the group file and the register.
//!
//! Formats only, no IO: a [`GroupFile`] is read from bytes with every rule of `spec/group-file.md`
//! section 3, and its parts are written by [`Genesis`], [`EpochRecord`] and [`RegisterHead`].

pub mod armor;
mod evidence;
mod group_file;
mod judge;
mod merkle;
mod name;
mod parts;
mod proof;
mod register;
mod register_file;
mod request;
mod share;
mod signed;
pub mod wire;

pub use armor::TextError;
pub use clew_packet::GroupId;
pub use evidence::{Match, Opening, ReadError};
pub use group_file::{
    EpochSharing, GroupFile, GroupFileError, HEADER, MAX_EPOCHS, Revocation, Rule,
};
pub use judge::{
    Asked, Caveat, CombineError, Combined, Fault, JudgeRule, Judgement, Refused, Why,
    combine_match, combine_opening, gather_blinds, gather_commitments, judge_match, judge_opening,
};
pub use merkle::{Frontier, MAX_PEAKS, MAX_PROOF_HASHES, Node, inclusion_proof};
pub use name::{BadName, MAX_NAME_BYTES, Name};
pub use parts::{
    Change, EpochRecord, Genesis, MAX_PART_BYTES, NewOpeningKey, Origin, RegisterHead, SealedHead,
    SharingRecord, seal,
};
pub use proof::{MAX_ROW_BYTES, Proof, Row};
pub use register::{Device, DeviceStatement, MAX_ENTRY_BYTES, RegisterEntry, join_session};
pub use register_file::{RegisterFileError, RegisterLine, RegisterReader, register_file_header};
pub use request::{Packet, Question, REQUEST_BYTES, Request, packet_digest};
pub use share::{Share, Step};
