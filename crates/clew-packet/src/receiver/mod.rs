//! The verifying side, in three steps so that the heavy one runs on any thread: specification
//! section 6.

pub(crate) mod block_cache;
pub(crate) mod cover;
pub(crate) mod live;
pub(crate) mod pending;
pub(crate) mod replay;
pub(crate) mod seconds;
mod settling;
pub(crate) mod waiting;

use alloc::{boxed::Box, collections::VecDeque, sync::Arc};
use core::ops::Deref;

use clew_group::{Scheme, VerifyingKey};

use settling::Settled;

use crate::{
    carrier::OuterAddresses,
    net::frame::Frame,
    reason::{Counters, Reason, Verdict},
    receiver::block_cache::BlockCache,
    receiver::pending::{Checked, Pending},
    receiver::replay::{Memory, REMEMBERED_BYTES_MAX, Replay},
    receiver::seconds::AcceptedSeconds,
    receiver::waiting::{CodedPacket, Ticket, Waiting},
    signed::{SignedPacket, Summary, read},
    time::{SECOND_NS, Timestamp},
    wire::trailer::GroupTag,
};

/// The groups that a receiver knows. Preparing a key is expensive, so that a source may do it when
/// it is first asked; a packet whose epoch is over does not ask.
pub trait KeySource {
    /// Returns the scheme of a group.
    ///
    /// # Errors
    /// The group is unknown.
    fn scheme(&self, group: GroupTag) -> Result<Scheme, Unknown>;

    /// Returns when the epoch's successor starts, if it has one.
    ///
    /// # Errors
    /// Which of the two is unknown.
    fn successor_start(&self, group: GroupTag, epoch: u32) -> Result<Option<Timestamp>, Unknown>;

    /// Returns the public key of a known group and epoch, prepared; without one the epoch counts as
    /// unknown.
    fn key(&self, group: GroupTag, epoch: u32) -> Option<Arc<VerifyingKey>>;
}

impl<P: Deref<Target: KeySource>> KeySource for P {
    fn scheme(&self, group: GroupTag) -> Result<Scheme, Unknown> {
        (**self).scheme(group)
    }

    fn successor_start(&self, group: GroupTag, epoch: u32) -> Result<Option<Timestamp>, Unknown> {
        (**self).successor_start(group, epoch)
    }

    fn key(&self, group: GroupTag, epoch: u32) -> Option<Arc<VerifyingKey>> {
        (**self).key(group, epoch)
    }
}

/// What a [`KeySource`] does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The group.
    Group,
    /// The epoch of a known group.
    Epoch,
}

impl From<Unknown> for Reason {
    fn from(unknown: Unknown) -> Self {
        match unknown {
            Unknown::Group => Self::UnknownGroup,
            Unknown::Epoch => Self::UnknownEpoch,
        }
    }
}

/// What a receiver accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// How far a timestamp may be from the packet's time, in nanoseconds.
    pub tolerance_ns: u64,
    /// The sender's resolution in nanoseconds: how much older rounding may have made a timestamp.
    pub resolution_ns: u64,
    /// How long an epoch is accepted after its successor started, in nanoseconds.
    pub grace_ns: u64,
    /// What to do with a signature that was accepted before.
    pub replay: Replay,
    /// Live: earlier timestamps are `stale`, because it is not known what was accepted then.
    pub not_before: Timestamp,
}

impl Acceptance {
    /// Returns the defaults for captures: 30 s, 1 s, 60 s, duplicates flagged.
    pub const fn capture() -> Self {
        Self {
            tolerance_ns: 30 * SECOND_NS,
            resolution_ns: SECOND_NS,
            grace_ns: 60 * SECOND_NS,
            replay: Replay::Flag,
            not_before: Timestamp::NONE,
        }
    }

    /// Returns the defaults for live traffic, from `start` on: as for captures, duplicates refused.
    pub const fn live(start: Timestamp) -> Self {
        Self {
            replay: Replay::Refuse,
            not_before: start,
            ..Self::capture()
        }
    }

    /// Judges steps 5 and 6.
    fn check(
        &self,
        time: Timestamp,
        timestamp: Timestamp,
        successor_start: Option<Timestamp>,
    ) -> Result<(), Reason> {
        if successor_start.is_some_and(|start| time >= start.after(self.grace_ns)) {
            return Err(Reason::EpochOver);
        }
        if timestamp < self.oldest(time) {
            return Err(Reason::Stale);
        }
        if timestamp.since(time) > self.tolerance_ns {
            return Err(Reason::Future);
        }
        Ok(())
    }

    /// Returns the oldest timestamp that is fresh at `time`.
    fn oldest(&self, time: Timestamp) -> Timestamp {
        Timestamp(
            time.0
                .saturating_sub(self.tolerance_ns)
                .saturating_sub(self.resolution_ns),
        )
    }
}

/// The state of verification: what was accepted, and the counters.
///
/// Every frame goes through [`receive`](Self::receive). What that leaves [`Pending`] is checked on
/// any thread and comes back to [`conclude`](Self::conclude), in the order of arrival if the answer
/// is to say which packets were reordered. A pending check that never comes back costs nothing but
/// its count, and the packets that wait for it.
///
/// Packets in coded carriage wait until enough of their block have come. What becomes of them is
/// [`settled`](Self::settled), by what others bring or by [`expire`](Self::expire) and
/// [`give_up`](Self::give_up).
#[derive(Clone, Debug)]
pub struct Receiver<K> {
    keys: K,
    acceptance: Acceptance,
    memory: Memory,
    /// Blocks whose signature was verified: their other packets need no more than their path.
    blocks: BlockCache,
    waiting: Waiting,
    settled: VecDeque<(Ticket, Conclusion)>,
    counters: Counters,
    /// The latest time that a packet had.
    latest: Timestamp,
    /// Live: what was accepted, and how often that became more.
    accepted: (AcceptedSeconds, u64),
    /// What receivers accepted whose memory is lost.
    forgotten: AcceptedSeconds,
}

impl<K: KeySource> Receiver<K> {
    /// Returns a receiver that has accepted nothing yet.
    pub fn new(keys: K, acceptance: Acceptance) -> Self {
        let memory = Memory::new(REMEMBERED_BYTES_MAX, acceptance.not_before);
        let (counters, latest) = (Counters::new(), Timestamp::NONE);
        Self {
            keys,
            acceptance,
            memory,
            blocks: BlockCache::default(),
            waiting: Waiting::new(),
            settled: VecDeque::new(),
            counters,
            latest,
            accepted: (AcceptedSeconds::default(), 0),
            forgotten: AcceptedSeconds::default(),
        }
    }

    /// Does everything but the group signature: steps 1 to 6, and live a first look at 8, so that a
    /// replayed packet costs no verification. `time` is the record's in a capture, the clock's live.
    pub fn receive(&mut self, frame: &Frame<'_>, time: Option<Timestamp>) -> Received {
        let looked = self.look(frame, time);
        self.take(looked)
    }

    /// Does the first half of [`receive`](Self::receive), on any thread: what can be said of the
    /// frame without taking note of it. Everything looked at is given to [`take`](Self::take).
    pub fn look(&self, frame: &Frame<'_>, time: Option<Timestamp>) -> Looked {
        self.look_packet(read(frame), time)
    }

    /// Looks, as [`look`](Self::look), at the payload of a UDP datagram between these addresses: a whole
    /// packet, in one piece or put together.
    pub fn look_datagram(
        &self,
        payload: &[u8],
        outer: &OuterAddresses,
        time: Option<Timestamp>,
    ) -> Looked {
        self.look_packet(SignedPacket::of_datagram(payload, outer), time)
    }

    /// Looks, as [`look`](Self::look), at a packet that was read.
    pub fn look_packet(
        &self,
        read: Result<SignedPacket<'_>, Reason>,
        time: Option<Timestamp>,
    ) -> Looked {
        let (packet, summary) = match read {
            Ok(packet) => (packet, packet.summary()),
            Err(reason) => return Looked::refused(reason, None),
        };
        match self.admit(&packet, summary, time) {
            Ok(found) => Looked { fresh: time, found },
            Err(reason) => Looked::refused(reason, Some(summary)),
        }
    }

    /// Does the second half of [`receive`](Self::receive).
    pub fn take(&mut self, looked: Looked) -> Received {
        if let Some(time) = looked.fresh {
            self.forget(time);
        }
        let mut pending = match looked.found {
            Found::Admitted(pending) => pending,
            Found::Coded(packet) => return self.take_share(*packet),
            Found::Refused(reason, summary) => return Received::Done(self.done(reason, summary)),
        };
        match pending.block().and_then(|block| self.blocks.check(&block)) {
            Some(verified) => Received::Done(self.conclude(pending.checked(verified))),
            None => {
                pending.ticket = self.waiting.next();
                Received::Pending(pending)
            }
        }
    }

    /// Takes a checked packet in: steps 8 and 9, and what its signature says of packets that wait.
    pub fn conclude(&mut self, checked: Checked) -> Conclusion {
        let (checked, waiters) = self.learn(checked);
        let came_before = |(waiter, _): &Settled| waiter.ticket < checked.ticket;
        let (earlier, later) = waiters.into_iter().partition(came_before);
        self.settle_all(earlier);
        let conclusion = self.accept(checked);
        self.settle_all(later);
        conclusion
    }

    /// Steps 8 and 9.
    fn accept(&mut self, checked: Checked) -> Conclusion {
        let Checked {
            summary,
            id,
            signature,
            block,
            ..
        } = checked;
        let block = block.filter(|_| signature.is_ok());
        let late = block.is_some_and(|(block, index)| self.blocks.insert(block, index));
        let fresh = signature.and_then(|held| {
            let replay = self.acceptance.replay;
            self.memory.check(replay, summary.timestamp, id)?;
            self.memory.insert(summary.timestamp, id);
            self.note_second(summary.group, summary.timestamp);
            Ok(if late {
                Reason::Reordered
            } else {
                held.reason()
            })
        });
        self.done(fresh.unwrap_or_else(|reason| reason), Some(summary))
    }

    /// Returns how many packets met each reason.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns how many accepted signatures were forgotten for want of room.
    pub fn evictions(&self) -> u64 {
        self.memory.evictions()
    }

    /// Returns what is done with a signature that was accepted before.
    pub const fn replay(&self) -> Replay {
        self.acceptance.replay
    }

    /// Returns where the keys come from.
    pub const fn keys(&self) -> &K {
        &self.keys
    }

    /// Returns where the keys come from, to learn of new groups and epochs.
    pub const fn keys_mut(&mut self) -> &mut K {
        &mut self.keys
    }

    fn admit(
        &self,
        packet: &SignedPacket<'_>,
        summary: Summary,
        time: Option<Timestamp>,
    ) -> Result<Found, Reason> {
        let trailer = packet.trailer();
        if self.keys.scheme(trailer.group)? != trailer.scheme {
            return Err(Reason::UnknownScheme);
        }
        let successor_start = self.keys.successor_start(trailer.group, trailer.epoch)?;
        if let Some(time) = time {
            self.acceptance
                .check(time, trailer.timestamp, successor_start)?;
        }
        if self.forgotten.has(trailer.group, trailer.timestamp) {
            return Err(Reason::Stale);
        }
        let key = self.keys.key(trailer.group, trailer.epoch);
        let key = key.ok_or(Reason::UnknownEpoch)?;
        self.memory
            .check_time(self.acceptance.replay, trailer.timestamp)?;
        if let Some(packet) = CodedPacket::new(packet, summary, &key) {
            return Ok(Found::Coded(Box::new(packet)));
        }
        let pending = Pending::new(packet, summary, key);
        if self.acceptance.replay == Replay::Refuse {
            self.memory
                .check(Replay::Refuse, trailer.timestamp, pending.id())?;
        }
        Ok(Found::Admitted(pending))
    }

    /// Forgets accepted signatures whose timestamps are stale at `time`. For observers, which flag
    /// duplicates and whose clock goes on; live this happens by itself.
    pub fn forget_stale(&mut self, time: Timestamp) {
        self.memory.forget_before(self.acceptance.oldest(time));
    }

    /// Live, forgets what is no longer fresh. In a capture time may go back.
    fn forget(&mut self, time: Timestamp) {
        if self.acceptance.replay == Replay::Refuse && time > self.latest {
            self.latest = time;
            self.memory.forget_before(self.acceptance.oldest(time));
        }
    }

    fn done(&mut self, reason: Reason, summary: Option<Summary>) -> Conclusion {
        self.counters.count(reason);
        Conclusion {
            verdict: reason.verdict(self.acceptance.replay),
            reason,
            summary,
        }
    }
}

/// What [`Receiver::look`] saw.
#[derive(Debug)]
pub struct Looked {
    /// The packet's time, if it was fresh then.
    fresh: Option<Timestamp>,
    found: Found,
}

#[derive(Debug)]
enum Found {
    Admitted(Pending),
    /// In coded carriage, and admitted.
    Coded(Box<CodedPacket>),
    Refused(Reason, Option<Summary>),
}

impl Looked {
    /// Tells whether it is a fragment of a packet, which is to be put together and looked at then.
    pub const fn is_fragment(&self) -> bool {
        matches!(self.found, Found::Refused(Reason::MissingFragment, _))
    }

    const fn refused(reason: Reason, summary: Option<Summary>) -> Self {
        Self {
            fresh: None,
            found: Found::Refused(reason, summary),
        }
    }
}

/// What [`Receiver::receive`] made of a frame.
#[derive(Debug)]
pub enum Received {
    /// The verdict stands.
    Done(Conclusion),
    /// The group signature has to be checked.
    Pending(Pending),
    /// Too little of its block has come to restore the signature: [`Receiver::settled`] will say.
    Waiting(Ticket),
}

/// What is known about a packet in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that decided.
    pub reason: Reason,
    /// What the trailer says, if there is a well-formed one.
    pub summary: Option<Summary>,
}

impl Conclusion {
    /// Returns the conclusion for a frame without a readable packet.
    pub const fn of(reason: Reason, replay: Replay) -> Self {
        Self {
            verdict: reason.verdict(replay),
            reason,
            summary: None,
        }
    }
}
