//! Reading a group file: every rule of spec section 3 up to the first public key, in its order.

use super::revoked::Revoked;
use super::rule::at;
use super::{GroupFile, GroupFileError, Rule};
use crate::parts::{
    Change, Checkpoint, End, EpochRecord, Genesis, Kind, LENGTH_BYTES, MAX_WHOLE_BYTES, Part,
    RegisterHead, body_hash, kind, signed_message,
};
use crate::signed::{holds, strict_key};
use alloc::boxed::Box;
use alloc::vec::Vec;
use clew_group::{Proof, PublicKey};
use ed25519_dalek::VerifyingKey;

/// The first bytes of every group file.
pub const HEADER: &[u8; 16] = b"clew-group-file\n";

/// Most epochs after the first that one group may have.
pub const MAX_EPOCHS: usize = 1 << 20;

/// The decoded bodies, what they revoke, and the first public key, checked.
pub(super) struct Read {
    pub genesis: Genesis,
    pub epochs: Vec<EpochRecord>,
    pub checkpoints: Vec<Checkpoint>,
    pub register: RegisterHead,
    pub revoked: Revoked,
    pub first_key: PublicKey,
}

/// Reads and checks a group file piece by piece, each part before the next one is looked at.
///
/// Of a hostile file it keeps what the manager signed, and less than one part more.
#[derive(Default)]
pub struct GroupFileReader {
    state: State,
    /// The bytes of the header or of a part that is not whole yet.
    waiting: Vec<u8>,
    /// How many parts were taken: the number of the next one.
    taken: usize,
    /// Whether checkpoints may stand between records.
    is_of_feed: bool,
}

/// What a reader has, in the order of the file.
#[derive(Default)]
enum State {
    #[default]
    Nothing,
    Header,
    Parts(Box<Checked>),
    All(Box<Checked>, Box<RegisterHead>),
}

impl GroupFileReader {
    /// A reader of a file that comes in a feed's bundles (`spec/manager-service.md` section 3): behind the
    /// records of each stand its checkpoints.
    pub fn of_feed() -> Self {
        Self {
            is_of_feed: true,
            ..Self::default()
        }
    }

    /// Takes the next bytes of the file.
    ///
    /// # Errors
    /// The first rule of `spec/group-file.md` section 3 that fails, with the number of the part. There
    /// is no use in reading on.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), GroupFileError> {
        while !bytes.is_empty() {
            let missing = self.length()? - self.waiting.len();
            let (piece, rest) = bytes.split_at(missing.min(bytes.len()));
            self.waiting.extend_from_slice(piece);
            bytes = rest;
            if self.length()? == self.waiting.len() {
                let whole = core::mem::take(&mut self.waiting);
                let state = core::mem::take(&mut self.state);
                self.state = self.take(state, &whole)?;
            }
        }
        Ok(())
    }

    /// Returns the file, once all of it was pushed.
    ///
    /// # Errors
    /// As [`Self::push`]: it ends too early, or breaks a rule that needs all of it.
    pub fn finish(self) -> Result<GroupFile, GroupFileError> {
        match self.state {
            State::Nothing => Err(at(0, Rule::Header)),
            State::Header | State::Parts(_) => Err(at(self.taken, Rule::Truncated)),
            State::All(file, register) => file.finish(*register).map(GroupFile::of),
        }
    }

    /// The length of what comes next, as far as it is known: the header, the length of a part, a
    /// part.
    fn length(&self) -> Result<usize, GroupFileError> {
        match self.state {
            State::Nothing => Ok(HEADER.len()),
            State::Header | State::Parts(_) => match Part::length(&self.waiting) {
                Some(length) if length > MAX_WHOLE_BYTES => Err(at(self.taken, Rule::TooLong)),
                Some(length) => Ok(length),
                None => Ok(LENGTH_BYTES),
            },
            State::All(..) => Err(at(self.taken, Rule::TrailingBytes)),
        }
    }

    /// What there is with the header or a part more.
    fn take(&mut self, state: State, whole: &[u8]) -> Result<State, GroupFileError> {
        if let State::Nothing = state {
            return match whole == HEADER {
                true => Ok(State::Header),
                false => Err(at(0, Rule::Header)),
            };
        }
        let number = self.taken;
        self.taken += 1;
        let part = Part::of(whole).ok_or(at(number, Rule::Truncated))?;
        let state = match state {
            State::Parts(file) => file.with(&part, self.is_of_feed),
            _ => Checked::founded(&part).map(|file| State::Parts(Box::new(file))),
        };
        state.map_err(|rule| at(number, rule))
    }
}

/// What the parts so far say, each checked against those before it.
struct Checked {
    genesis: Genesis,
    manager: VerifyingKey,
    epochs: Vec<EpochRecord>,
    /// The hash of the last record's body.
    last: [u8; 32],
    revoked: Revoked,
    checkpoints: Vec<Checkpoint>,
}

impl Checked {
    /// Of record 0.
    fn founded(part: &Part<'_>) -> Result<Self, Rule> {
        let Some(Kind::Genesis) = kind(part.body) else {
            return Err(Rule::Kind);
        };
        let genesis = Genesis::decode(part.body).ok_or(Rule::Layout)?;
        let manager = strict_key(&genesis.manager).ok_or(Rule::Signature)?;
        let file = Self {
            genesis,
            manager,
            epochs: Vec::new(),
            last: body_hash(part.body),
            revoked: Revoked::default(),
            checkpoints: Vec::new(),
        };
        file.check_signature(part)?;
        Ok(file)
    }

    /// Adds a part: its kind, its layout, its signature, then what it says beside the parts before
    /// it. The register is the last.
    fn with(mut self: Box<Self>, part: &Part<'_>, is_of_feed: bool) -> Result<State, Rule> {
        match kind(part.body) {
            Some(Kind::Epoch) if is_of_feed || self.checkpoints.is_empty() => {
                let record = EpochRecord::decode(self.genesis.scheme, part.body);
                let record = record.ok_or(Rule::Layout)?;
                self.check_signature(part)?;
                self.add_epoch(record, body_hash(part.body))?;
            }
            Some(Kind::Checkpoint) => {
                let checkpoint = Checkpoint::decode(part.body).ok_or(Rule::Layout)?;
                self.check_signature(part)?;
                self.add_checkpoint(checkpoint)?;
            }
            Some(Kind::Register) => {
                let head = RegisterHead::decode(part.body).ok_or(Rule::Layout)?;
                self.check_signature(part)?;
                self.check_head(&head)?;
                return Ok(State::All(self, Box::new(head)));
            }
            _ => return Err(Rule::Kind),
        }
        Ok(State::Parts(self))
    }

    fn check_signature(&self, part: &Part<'_>) -> Result<(), Rule> {
        check_signature(&self.manager, part)
    }

    /// Records count up, each names the one before, none is made or starts too early, revokes again
    /// or has fewer machines. `id` is the hash of its body.
    fn add_epoch(&mut self, record: EpochRecord, id: [u8; 32]) -> Result<(), Rule> {
        let before = self.epochs.last();
        let made_before = before.map_or(self.genesis.created, |before| before.made);
        if self.epochs.len() == MAX_EPOCHS {
            return Err(Rule::TooManyEpochs);
        }
        if record.epoch as usize != self.epochs.len() + 1 {
            return Err(Rule::Epoch);
        }
        if record.previous.0 != self.last {
            return Err(Rule::Chain);
        }
        if record.made < made_before || record.start < record.made {
            return Err(Rule::Start);
        }
        let is_end = matches!(record.change, Change::End(_));
        if end_of(&self.epochs).is_some() || (is_end && record.start != record.made) {
            return Err(Rule::Ended);
        }
        self.revoked.add(&record)?;
        if before.is_some_and(|before| record.machines < before.machines) {
            return Err(Rule::Checkpoint);
        }
        self.epochs.push(record);
        self.last = id;
        Ok(())
    }

    fn add_checkpoint(&mut self, checkpoint: Checkpoint) -> Result<(), Rule> {
        if !checkpoint.follows(self.checkpoints.last()) {
            return Err(Rule::Checkpoint);
        }
        self.checkpoints.push(checkpoint);
        Ok(())
    }

    fn check_head(&self, head: &RegisterHead) -> Result<(), Rule> {
        check_end(head, &self.epochs)?;
        check_head(head, &self.last, self.checkpoints.last())
    }

    /// What needs the whole file: the checkpoints that records name, and the first key.
    fn finish(self, register: RegisterHead) -> Result<Read, GroupFileError> {
        if let Some(record) = self.epochs.iter().find(|record| !self.has_size_of(record)) {
            return Err(at(record.epoch as usize, Rule::Checkpoint));
        }
        let first_key = first_key(&self.genesis).ok_or(at(0, Rule::PublicKey))?;
        Ok(Read {
            genesis: self.genesis,
            epochs: self.epochs,
            checkpoints: self.checkpoints,
            register,
            revoked: self.revoked,
            first_key,
        })
    }

    /// Whether the record's register is empty or a checkpoint.
    fn has_size_of(&self, record: &EpochRecord) -> bool {
        let place = self
            .checkpoints
            .binary_search_by_key(&record.machines, |checkpoint| checkpoint.machines);
        let found = place.ok().map(|place| &self.checkpoints[place]);
        record.machines == 0 || found.is_some_and(|found| found.root == record.root)
    }
}

/// Reads the register's head from a part that stands behind everything that a file has.
pub(super) fn head(file: &GroupFile, whole: &[u8]) -> Result<RegisterHead, Rule> {
    match Part::length(whole) {
        Some(length) if length > MAX_WHOLE_BYTES => return Err(Rule::TooLong),
        Some(length) if length == whole.len() => {}
        _ => return Err(Rule::Truncated),
    }
    let part = Part::of(whole).ok_or(Rule::Truncated)?;
    let Some(Kind::Register) = kind(part.body) else {
        return Err(Rule::Kind);
    };
    let head = RegisterHead::decode(part.body).ok_or(Rule::Layout)?;
    let manager = strict_key(&file.genesis.manager).ok_or(Rule::Signature)?;
    check_signature(&manager, &part)?;
    check_end(&head, &file.epochs)?;
    check_head(&head, &file.last_id().0, file.checkpoints.last())?;
    Ok(head)
}

/// The last record, if it ends the group.
pub(super) fn end_of(epochs: &[EpochRecord]) -> Option<(&EpochRecord, &End)> {
    let last = epochs.last()?;
    match &last.change {
        Change::End(end) => Some((last, end)),
        _ => None,
    }
}

/// The register of a group that ended does not grow.
fn check_end(head: &RegisterHead, epochs: &[EpochRecord]) -> Result<(), Rule> {
    let grew = |(last, _): (&EpochRecord, _)| head.machines != last.machines;
    match end_of(epochs).is_some_and(grew) {
        true => Err(Rule::Ended),
        false => Ok(()),
    }
}

fn check_signature(manager: &VerifyingKey, part: &Part<'_>) -> Result<(), Rule> {
    match holds(manager, &signed_message(part.body), part.signature) {
        true => Ok(()),
        false => Err(Rule::Signature),
    }
}

/// Checks that a head is of the epoch with this id, and follows this checkpoint.
fn check_head(
    head: &RegisterHead,
    last: &[u8; 32],
    checkpoint: Option<&Checkpoint>,
) -> Result<(), Rule> {
    if head.last.0 != *last {
        return Err(Rule::Chain);
    }
    match head.follows(checkpoint) {
        true => Ok(()),
        false => Err(Rule::Checkpoint),
    }
}

fn first_key(genesis: &Genesis) -> Option<PublicKey> {
    let founded = PublicKey::founded(genesis.scheme, &genesis.nonce, &genesis.founding[..]);
    let key = founded.ok()?;
    if let PublicKey::Xr(xr) = &key {
        let proof = Proof::from_bytes(genesis.issuer_proof.as_ref()?).ok()?;
        xr.check_genesis(&genesis.nonce, &proof).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WallTime;
    use crate::parts::{Change, Origin, SharingRecord, sign_part};
    use clew_group::quorum::Quorum;
    use clew_group::{EpochId, Scheme};
    use ed25519_dalek::SigningKey;

    const MANY: usize = 1 << 20;

    fn manager() -> SigningKey {
        SigningKey::from_bytes(&[5; 32])
    }

    /// Record 0 as a part of a file.
    fn some_genesis() -> Vec<u8> {
        let genesis = Genesis {
            scheme: Scheme::Bbs04,
            created: WallTime::from_nanos(5),
            nonce: [0; 32],
            manager: manager().verifying_key().to_bytes(),
            log: None,
            name: "acme".parse().unwrap(),
            founding: Box::new([0; 192]),
            issuer_proof: None,
            sharing: SharingRecord {
                origin: Origin::TrustedDealer,
                quorum: Quorum::new(1, 1).unwrap(),
                commitments: vec![],
            },
        };
        sign_part(&genesis.encode(), &manager())
    }

    fn record(epoch: u32, previous: [u8; 32]) -> EpochRecord {
        EpochRecord {
            epoch,
            previous: EpochId(previous),
            made: WallTime::from_nanos(5),
            start: WallTime::from_nanos(5),
            machines: 0,
            root: [0; 32],
            change: Change::Rebase { revoked: vec![] },
        }
    }

    /// Without signatures, which would take a minute.
    #[test]
    fn too_many_epochs() {
        let genesis = some_genesis();
        let mut file = Checked::founded(&Part::of(&genesis).unwrap()).ok().unwrap();
        let mut previous = file.last;
        for epoch in 1..=MAX_EPOCHS as u32 {
            let record = record(epoch, previous);
            previous = record.epoch_id().0;
            assert_eq!(file.add_epoch(record, previous), Ok(()));
        }
        let one_more = record(MAX_EPOCHS as u32 + 1, previous);
        assert_eq!(file.add_epoch(one_more, [0; 32]), Err(Rule::TooManyEpochs));
    }

    /// Of a hostile file nothing behind its first bad part is looked at.
    #[test]
    fn a_bad_part_is_the_last_that_is_read() {
        let genesis = some_genesis();
        let first = record(1, body_hash(&genesis[4..genesis.len() - 64]));
        let mut forged = sign_part(&first.encode(), &manager());
        *forged.last_mut().unwrap() ^= 1;
        let more = forged.repeat(MANY);
        let unsigned = |body: &[u8]| [&[0, 0, 0, body.len() as u8], body, &[0; 64]].concat();
        for (bad, rule) in [
            (forged, Rule::Signature),
            (unsigned(&[]), Rule::Kind),
            (unsigned(&[1]), Rule::Layout),
        ] {
            let file = [&HEADER[..], &genesis, &bad, &more].concat();
            let mut reader = GroupFileReader::default();
            assert_eq!(reader.push(&file), Err(at(1, rule)));
            assert_eq!(reader.taken, 2);
            assert!(reader.waiting.capacity() <= 2 * MAX_WHOLE_BYTES);
        }
    }

    /// In whatever pieces a file comes, the answer is the same.
    #[test]
    fn pieces_make_no_difference() {
        let genesis = some_genesis();
        let file = [&HEADER[..], &genesis, &[0, 0, 0x10, 1]].concat();
        let cut = [&HEADER[..], &genesis, &[0, 0, 0x10]].concat();
        for size in [1, 3, 16, 17, 100, file.len()] {
            let read = |file: &[u8]| {
                let mut reader = GroupFileReader::default();
                file.chunks(size).try_for_each(|piece| reader.push(piece))?;
                reader.finish().map(drop)
            };
            assert_eq!(read(&file), Err(at(1, Rule::TooLong)));
            assert_eq!(read(&cut), Err(at(1, Rule::Truncated)));
            assert_eq!(read(&file[..15]), Err(at(0, Rule::Header)));
            assert_eq!(read(&file[..16]), Err(at(0, Rule::Truncated)));
            assert_eq!(read(b"clew-group-file "), Err(at(0, Rule::Header)));
        }
    }
}
