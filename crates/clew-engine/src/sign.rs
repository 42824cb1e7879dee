//! Signing frames: those of the machines given, each with a fate.

mod units;

use crate::{AsFrame, Randomness, TimeSource};
use clew_evidence::Name;
use clew_group::SigningKey;
use clew_keys::MemberKeyFile;
use clew_packet::{Policy, SECOND_NS, Sender, SignOutcome, Timestamp};
use ipnet::IpNet;
use std::net::IpAddr;
use std::sync::OnceLock;
use units::Ready;

/// One machine, and the sources it owns.
pub struct Signer {
    /// Without the device's own key, which signs no packet.
    machine: MemberKeyFile,
    epochs: Vec<Epoch>,
    /// Empty: every source.
    from: Vec<IpNet>,
}

/// An epoch that a machine's key holds.
struct Epoch {
    sender: Sender,
    /// Prepared when the first packet needs it.
    key: OnceLock<SigningKey>,
}

impl Signer {
    /// Returns a machine that signs what comes `from` these sources, or from all if none is given:
    /// each packet in the epoch of the packet's time. The epoch in force at `now` is checked at once.
    ///
    /// # Errors
    /// The key does not sign in that epoch.
    pub fn new(
        mut key: MemberKeyFile,
        from: Vec<IpNet>,
        policy: Policy,
        now: Timestamp,
    ) -> Result<Self, SignError> {
        key.device = None;
        let epochs = key.epochs.iter().map(|held| Epoch {
            sender: Sender::new(key.scheme(), key.group, held.epoch, policy),
            key: OnceLock::new(),
        });
        let signer = Self {
            epochs: epochs.collect(),
            machine: key,
            from,
        };
        signer.ready(signer.machine.place_at(now.0))?;
        Ok(signer)
    }

    fn owns(&self, source: IpAddr) -> bool {
        self.from.is_empty() || self.from.iter().any(|net| net.contains(&source))
    }

    /// Prepares the key of an epoch, if it is not.
    fn ready(&self, place: usize) -> Result<Ready<'_>, SignError> {
        let (Some(epoch), Some(held)) = (self.epochs.get(place), self.machine.epochs.get(place))
        else {
            return Err(SignError::NoEpoch(self.machine.machine.clone()));
        };
        let key = match epoch.key.get() {
            Some(key) => key,
            None => {
                let unfit = |_| SignError::Unfit(self.machine.machine.clone(), held.epoch);
                let key = self.machine.signing_key(held).map_err(unfit)?;
                epoch.key.get_or_init(|| key)
            }
        };
        let sender = &epoch.sender;
        Ok(Ready { sender, key })
    }
}

/// What one signature may cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// One packet.
    Each,
    /// A packet and some before it in its flow.
    Window(WindowSize),
    /// A block of up to so many packets of a flow.
    Tree(u16),
}

/// How many packets a window has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSize {
    /// So many, or as many as there are.
    Fixed(u16),
    /// Those of the flight that the packet is of. Clue's senders take their congestion window, which
    /// is a flight of packets too; a capture shows it by the pauses.
    Adaptive,
}

impl WindowSize {
    /// What windows grow to where nothing ends them: larger ones gain little (Clue, Figure 2).
    const ADAPTIVE_MAX: u16 = 64;

    /// A pause that ends a flight: shorter than most paths' round trips, longer than what lies
    /// between packets sent in a row.
    const PAUSE_NS: u64 = SECOND_NS / 100;

    fn most(self) -> u16 {
        match self {
            Self::Fixed(k) => k,
            Self::Adaptive => Self::ADAPTIVE_MAX,
        }
    }
}

/// How frames are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What one signature covers.
    pub cover: Cover,
    /// Where timestamps come from.
    pub time: TimeSource,
}

/// What became of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// There is none.
    NoFrame,
    /// It passes as it is, with this outcome.
    Passes(SignOutcome),
    /// Its trailer was there already; these are its new bytes, with a mark.
    Marked(Vec<u8>),
    /// It is signed; these are its new bytes.
    Signed(Vec<u8>),
}

impl Fate {
    /// What became of a frame that `sender` or `mark` wrote to `out`, or not.
    fn of(outcome: SignOutcome, out: Vec<u8>) -> Self {
        match outcome {
            SignOutcome::Signed => Self::Signed(out),
            SignOutcome::AlreadySigned => Self::Marked(out),
            other => Self::Passes(other),
        }
    }
}

/// Machines that sign together. A packet is signed by the first that owns its source.
pub struct Signers {
    machines: Vec<Signer>,
    options: Options,
}

impl Signers {
    /// Returns the machines, which sign as the options say.
    pub fn new(machines: Vec<Signer>, options: Options) -> Self {
        Self { machines, options }
    }

    /// Signs a batch, and returns the fates in its order. Blocks end with it, so that no frame waits
    /// for one that does not come.
    ///
    /// # Errors
    /// None of the batch is to be sent then.
    pub fn sign(
        &self,
        batch: &[impl AsFrame],
        now: Timestamp,
        randomness: &impl Randomness,
    ) -> Result<Vec<Fate>, SignError> {
        units::sign(self, batch, now, randomness)
    }
}

/// Why a batch is not signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The key of this machine holds no epoch.
    #[error("machine {0}: the key holds no epoch")]
    NoEpoch(Name),
    /// The key of this machine does not sign in this epoch.
    #[error("machine {0}: the key does not sign in epoch {1}")]
    Unfit(Name, u32),
    /// So many packets are not a block: [`Cover::Tree`] is above the format's maximum.
    #[error("{0} packets are not a valid block")]
    NotABlock(usize),
}
