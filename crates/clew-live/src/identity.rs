//! Who signs: a machine's key with its epochs, and the one that is in force at a moment.

use clew_evidence::{GroupFile, GroupId, Name};
use clew_group::{EpochId, Precursor, SigningKey};
use clew_keys::{HeldEpoch, MemberKeyFile};
use clew_packet::{Policy, Sender, Timestamp};
use clew_wire::nanos;
use rand_core::CryptoRng;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A machine's key, to be shared by all threads. A replaced key file makes another identity, which
/// takes the place of this one between two blocks.
#[derive(Debug)]
pub struct Identity {
    /// Without the device's own key, which signs no packet.
    machine: MemberKeyFile,
    epochs: Vec<Slot>,
    limit: Option<Limit>,
    /// How long it goes on in an epoch that is over, in nanoseconds.
    overlap: u64,
}

/// The longest overlap: half of the default grace.
const OVERLAP_MAX: Duration = Duration::from_secs(30);

/// Returns how long a machine goes on signing in an epoch after the next one started: half of the grace that
/// this host gives others, as if all hosts gave the same.
///
/// Who hears of an epoch first would else sign in one that others do not know yet, and all that it sends
/// would be lost there. The other half is for clocks that differ, and for packets on their way.
pub fn overlap(grace: Duration) -> Duration {
    (grace / 2).min(OVERLAP_MAX)
}

/// A held epoch, prepared when it is first needed.
#[derive(Debug)]
struct Slot {
    sender: Sender,
    key: OnceLock<Arc<EpochKey>>,
}

/// When a key stops to sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The first epoch that the key cannot sign in.
    pub epoch: u32,
    /// When that epoch starts.
    pub from: Timestamp,
    /// Whether that epoch revokes the machine. Otherwise the key file is to be updated.
    pub is_revoked: bool,
}

/// The key of one epoch, prepared.
#[derive(Debug)]
pub struct EpochKey {
    sender: Sender,
    key: SigningKey,
    name: KeyName,
    number: u32,
}

/// Names a machine's key in an epoch: precursors of one are never used for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyName {
    /// The group.
    pub group: GroupId,
    /// The machine's row in the register.
    pub index: u32,
    /// The epoch's id, which a fork of the group's history cannot share.
    pub epoch: EpochId,
}

/// Why a machine does not sign now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unready {
    /// There is no key.
    #[error("no machine key is loaded")]
    NoKey,
    /// The key's first epoch has not started.
    #[error(
        "machine {machine}: epoch {epoch} has not started: check the clock, or give the key file of \
         the epoch in force"
    )]
    NotYet {
        /// The machine.
        machine: Name,
        /// Its earliest epoch.
        epoch: u32,
    },
    /// The key does not hold the epoch in force.
    #[error(
        "machine {machine}: the key holds epochs up to {held}, and epoch {in_force} is in force: \
         update the key file"
    )]
    Behind {
        /// The machine.
        machine: Name,
        /// Its last epoch.
        held: u32,
        /// The first epoch that it lacks.
        in_force: u32,
    },
    /// The machine was revoked.
    #[error("machine {machine} was revoked in epoch {epoch}")]
    Revoked {
        /// The machine.
        machine: Name,
        /// The epoch that locks it out.
        epoch: u32,
    },
    /// Credential and witness do not fit the epoch.
    #[error("machine {machine}: the key does not sign in epoch {epoch}: fetch it again")]
    Unfit {
        /// The machine.
        machine: Name,
        /// The epoch.
        epoch: u32,
    },
}

impl Limit {
    /// Returns the limit of a key by its group's file. `revoked` is what
    /// [`Updated`](clew_keys::update::Updated) says of it. Returns `None` if the key holds all epochs.
    pub fn of(key: &MemberKeyFile, group: &GroupFile, revoked: Option<u32>) -> Option<Self> {
        let newest = key.newest()?.epoch;
        let epoch = revoked.unwrap_or(newest.saturating_add(1));
        let start = group.start(epoch)?;
        Some(Self {
            epoch,
            from: Timestamp(start.as_nanos()),
            is_revoked: revoked.is_some(),
        })
    }
}

impl Identity {
    /// Returns the identity of a key that signs as the policy says, until the limit if there is one.
    pub fn new(mut key: MemberKeyFile, policy: Policy, limit: Option<Limit>) -> Self {
        key.device = None;
        let slots = key.epochs.iter().map(|held| Slot {
            sender: Sender::new(key.scheme(), key.group, held.epoch, policy),
            key: OnceLock::new(),
        });
        Self {
            epochs: slots.collect(),
            machine: key,
            limit,
            overlap: 0,
        }
    }

    /// The same, which goes on in each epoch for so long after the next one started, if it holds both.
    /// Whoever is revoked does not.
    pub fn with_overlap(mut self, overlap: Duration) -> Self {
        self.overlap = nanos(overlap);
        self
    }

    /// Returns the machine's name, for its owner's eyes.
    pub const fn machine(&self) -> &Name {
        &self.machine.machine
    }

    /// Returns the key of the epoch in force, or with an overlap of the one before. The first call for an epoch
    /// takes milliseconds:
    /// [`prepare`](Self::prepare) does that ahead.
    ///
    /// # Errors
    /// Why the machine does not sign at `now`.
    pub fn at(&self, now: Timestamp) -> Result<&Arc<EpochKey>, Unready> {
        let machine = || self.machine.machine.clone();
        if let Some(limit) = self.limit.filter(|limit| now >= self.end(limit)) {
            return Err(self.over(&limit));
        }
        let place = self.place(now);
        let (held, slot) = self.held(place).ok_or(Unready::NoKey)?;
        if held.start > now.0 {
            let (machine, epoch) = (machine(), held.epoch);
            return Err(Unready::NotYet { machine, epoch });
        }
        self.ready(held, slot)
    }

    /// Prepares the keys of the epoch in force and of the next one.
    ///
    /// # Errors
    /// Why the machine does not sign at `now`.
    pub fn prepare(&self, now: Timestamp) -> Result<(), Unready> {
        self.at(now)?;
        self.next(now).map_or(Ok(()), |next| next.map(|(_, _)| ()))
    }

    /// Returns the key of the epoch after the one that [`at`](Self::at) returns, and from when on that signs.
    /// Returns `None` if the key does not hold it.
    pub fn next(&self, now: Timestamp) -> Option<Result<(&Arc<EpochKey>, Timestamp), Unready>> {
        let (held, slot) = self.held(self.place(now) + 1)?;
        if self.limit.is_some_and(|limit| held.epoch >= limit.epoch) {
            return None;
        }
        let key = self.ready(held, slot);
        Some(key.map(|key| (key, Timestamp(held.start).after(self.overlap))))
    }

    /// The place of the epoch to sign in.
    fn place(&self, now: Timestamp) -> usize {
        self.machine.place_at(now.0.saturating_sub(self.overlap))
    }

    /// When the key stops to sign.
    const fn end(&self, limit: &Limit) -> Timestamp {
        match limit.is_revoked {
            true => limit.from,
            false => limit.from.after(self.overlap),
        }
    }

    fn held(&self, place: usize) -> Option<(&HeldEpoch, &Slot)> {
        self.machine.epochs.get(place).zip(self.epochs.get(place))
    }

    fn ready<'a>(&'a self, held: &HeldEpoch, slot: &'a Slot) -> Result<&'a Arc<EpochKey>, Unready> {
        if let Some(key) = slot.key.get() {
            return Ok(key);
        }
        let unfit = |_| Unready::Unfit {
            machine: self.machine.machine.clone(),
            epoch: held.epoch,
        };
        let key = EpochKey {
            sender: slot.sender,
            key: self.machine.signing_key(held).map_err(unfit)?,
            name: KeyName {
                group: self.machine.group,
                index: self.machine.index,
                epoch: held.id,
            },
            number: held.epoch,
        };
        Ok(slot.key.get_or_init(|| Arc::new(key)))
    }

    fn over(&self, limit: &Limit) -> Unready {
        let (machine, epoch) = (self.machine.machine.clone(), limit.epoch);
        match limit.is_revoked {
            true => Unready::Revoked { machine, epoch },
            false => Unready::Behind {
                machine,
                held: epoch.saturating_sub(1),
                in_force: epoch,
            },
        }
    }
}

impl EpochKey {
    /// Returns what cuts packets into trailers.
    pub const fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Returns the number of the epoch.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Returns the name of the key.
    pub const fn name(&self) -> &KeyName {
        &self.name
    }

    /// Computes many precursors, together where the machine can.
    pub fn precursors(&self, count: usize, rng: &mut impl CryptoRng) -> Vec<Precursor> {
        self.key.precursors(count, rng)
    }

    /// Computes a precursor.
    pub fn precursor(&self, rng: &mut impl CryptoRng) -> Precursor {
        self.key.precursor(rng)
    }
}
