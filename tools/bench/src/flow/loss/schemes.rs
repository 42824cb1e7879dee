//! The schemes that are compared: how many signatures a receiver verifies, and how many of its packets,
//! when others are lost. Packets come in order.

use clew_tree::carriage::Rate;

/// Packets that a signature is for, and how a receiver gets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheme {
    /// A signature for each packet.
    Each,
    /// Clue's: each packet's signature covers the k packets up to it. What is not in a whole window is
    /// verified by itself.
    Window {
        k: usize,
        /// Windows wherever k packets follow each other, overlapping ones too; if not, only every
        /// k-th one.
        best: bool,
    },
    /// A block's signature in all of its packets.
    Full(usize),
    /// In so many of them.
    Sparse { block: usize, carriers: usize },
    /// A share of it in each, of which this rate is enough.
    Coded { block: usize, percent: u8 },
    /// Park, Chong and Siegel, *Efficient Multicast Packet Authentication Using Signature
    /// Amortization*, 2002: the digests of a block and its signature are coded into shares, and
    /// packets carry nothing else. Below the rate nothing of a block can be verified.
    Saida { block: usize, percent: u8 },
}

const fn saida(percent: u8) -> Scheme {
    Scheme::Saida { block: 64, percent }
}

const fn window(k: usize, best: bool) -> Scheme {
    Scheme::Window { k, best }
}

pub const FULL: Scheme = Scheme::Full(64);
pub const SPARSE: Scheme = Scheme::Sparse {
    block: 64,
    carriers: 4,
};
pub const CODED: Scheme = Scheme::Coded {
    block: 64,
    percent: 25,
};

pub const ALL: [Scheme; 13] = [
    Scheme::Each,
    window(8, false),
    window(8, true),
    window(64, false),
    window(64, true),
    Scheme::Full(8),
    FULL,
    Scheme::Full(256),
    SPARSE,
    CODED,
    saida(50),
    saida(75),
    saida(90),
];

/// What a receiver did on one line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Packets that arrived, and those of them that could be verified.
    pub received: u64,
    pub verified: u64,
    /// Signatures that were verified.
    pub verifications: u64,
    /// Blocks whose signature was restored from shares.
    pub restored: u64,
}

impl Scheme {
    /// As it stands in the names of rows.
    pub fn name(self) -> String {
        match self {
            Self::Each => "each".into(),
            Self::Window { k, best: false } => format!("window-{k}"),
            Self::Window { k, best: true } => format!("window-{k}-best"),
            Self::Full(block) => format!("tree-{block}-full"),
            Self::Sparse { block, carriers } => format!("tree-{block}-sparse-{carriers}"),
            Self::Coded { block, percent } => format!("tree-{block}-coded-{percent}"),
            Self::Saida { block, percent } => format!("saida-{block}-{percent}"),
        }
    }

    /// Packets of a block, or of a window.
    pub fn block(self) -> usize {
        match self {
            Self::Each => 1,
            Self::Window { k, .. } => k,
            Self::Full(block)
            | Self::Sparse { block, .. }
            | Self::Coded { block, .. }
            | Self::Saida { block, .. } => block,
        }
    }

    /// Whether it has a tree.
    pub fn has_tree(self) -> bool {
        matches!(
            self,
            Self::Full(_) | Self::Sparse { .. } | Self::Coded { .. }
        )
    }

    /// Shares that restore a block's signature.
    pub fn needed(self) -> Option<usize> {
        let (Self::Coded { block, percent } | Self::Saida { block, percent }) = self else {
            return None;
        };
        let rate = Rate::new(percent)?;
        Some(rate.needed(block as u16).into())
    }

    /// What a receiver does with those packets that arrived.
    pub fn tally(self, arrived: &[bool]) -> Tally {
        let parts: Box<dyn Iterator<Item = &[bool]>> = match self {
            // Runs of packets without loss.
            Self::Window { best: true, .. } => Box::new(arrived.split(|arrives| !arrives)),
            _ => Box::new(arrived.chunks(self.block())),
        };
        parts.fold(Tally::default(), |sum, part| sum + self.part(part))
    }

    /// A block, an aligned window or a run.
    fn part(self, arrived: &[bool]) -> Tally {
        let received = arrived.iter().filter(|arrives| **arrives).count() as u64;
        let whole = received == arrived.len() as u64;
        let restores = |needed: usize| received >= needed as u64;
        let (verifications, restored) = match self {
            Self::Each => (received, 0),
            Self::Window { k, .. } if whole && arrived.len() >= k => {
                (arrived.len().div_ceil(k) as u64, 0)
            }
            Self::Window { .. } => (received, 0),
            Self::Full(_) => (received.min(1), 0),
            Self::Sparse { block, carriers } => {
                let carried = arrived.iter().step_by(block / carriers).any(|a| *a);
                (u64::from(carried), 0)
            }
            Self::Coded { .. } | Self::Saida { .. } => {
                let restored = u64::from(self.needed().is_some_and(restores));
                (restored, restored)
            }
        };
        Tally {
            received,
            verified: if verifications > 0 { received } else { 0 },
            verifications,
            restored,
        }
    }

    /// Bytes that packets have more on average, with a signature of that length.
    pub fn bytes(self, format: &Format, signature: usize) -> f64 {
        let block = self.block();
        let path = block.ilog2() as usize;
        let blob = format.timestamp + signature;
        let share = |whole: usize| whole.div_ceil(self.needed().unwrap_or(1));
        let own = match self {
            Self::Each => blob as f64,
            Self::Window { .. } => (blob + WINDOW_DIGEST) as f64,
            Self::Full(_) => (blob + path * DIGEST) as f64,
            Self::Sparse { carriers, .. } => {
                (blob * carriers) as f64 / block as f64 + (path * DIGEST) as f64
            }
            Self::Coded { .. } => {
                (format.needed + share(blob) + path * (format.tag + DIGEST)) as f64
            }
            Self::Saida { .. } => (format.needed + share(block * DIGEST) + share(blob)) as f64,
        };
        own + format.fixed as f64
    }
}

/// Bytes of digests in paths, and of what names Clue's window.
const DIGEST: usize = 16;
const WINDOW_DIGEST: usize = 20;

/// What else packets carry, in bytes.
pub struct Format {
    pub fixed: usize,
    pub timestamp: usize,
    /// The number of shares needed, where there are shares.
    pub needed: usize,
    /// A digest in tags.
    pub tag: usize,
}

/// `spec/flow-signature.md`.
pub const OURS: Format = Format {
    fixed: clew_flow::FIXED_BYTES,
    timestamp: clew_flow::TIMESTAMP_BYTES,
    needed: 2,
    tag: 8,
};

impl std::ops::Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            received: self.received + other.received,
            verified: self.verified + other.verified,
            verifications: self.verifications + other.verifications,
            restored: self.restored + other.restored,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(scheme: Scheme, arrived: &[bool]) -> [u64; 4] {
        let t = scheme.tally(arrived);
        [t.received, t.verified, t.verifications, t.restored]
    }

    #[test]
    fn a_window_must_be_whole() {
        let mut arrived = [true; 24];
        assert_eq!(counts(window(8, false), &arrived), [24, 24, 3, 0]);
        arrived[4] = false;
        assert_eq!(counts(window(8, false), &arrived), [23, 23, 7 + 2, 0]);
        assert_eq!(counts(window(8, true), &arrived), [23, 23, 4 + 3, 0]);
    }

    #[test]
    fn a_tree_takes_what_there_is() {
        let mut arrived = [false; 128];
        assert_eq!(counts(FULL, &arrived), [0; 4]);
        arrived[..17].fill(true);
        arrived[0] = false;
        arrived[70..85].fill(true);
        assert_eq!(counts(FULL, &arrived), [31, 31, 2, 0]);
        assert_eq!(counts(SPARSE, &arrived), [31, 31, 2, 0]);
        assert_eq!(counts(CODED, &arrived), [31, 16, 1, 1]);
        arrived[80] = false;
        assert_eq!(counts(SPARSE, &arrived), [30, 16, 1, 0]);
        assert_eq!(counts(saida(25), &arrived), [30, 16, 1, 1]);
    }
}
