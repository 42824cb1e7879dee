//! As what keys write, and which shares of opening keys trustees hold.

use alloc::vec::Vec;
use clew_wire::Reader;
use core::fmt;

/// As what a key may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// As nothing any more.
    None,
    /// As this trustee, about packets of this opening key's epochs.
    Trustee(Trusteeship),
    /// As an observer of packets.
    Observer,
    /// As somebody who asks trustees.
    Requester,
}

/// Which share of which opening key a trustee holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trusteeship {
    /// The first epoch of the opening key.
    pub since: u32,
    /// The trustee's index among its trustees, from 1.
    pub index: u8,
}

impl Role {
    /// Returns the role with its trusteeship, as an entry has them.
    pub const fn code(self) -> [u8; 6] {
        let (role, held) = match self {
            Self::None => (0, None),
            Self::Trustee(held) => (1, Some(held)),
            Self::Observer => (2, None),
            Self::Requester => (3, None),
        };
        match held {
            None => [role, 0, 0, 0, 0, 0],
            Some(held) => {
                let [a, b, c, d] = held.since.to_be_bytes();
                [role, a, b, c, d, held.index]
            }
        }
    }

    /// Returns the role with these bytes. Returns `None` if there is none.
    pub fn from_code(code: [u8; 6]) -> Option<Self> {
        let held = Trusteeship::read(&mut Reader(&code[1..]));
        match (code[0], held) {
            (1, held) => held.map(Self::Trustee),
            _ if code[1..] != [0; 5] => None,
            (0, _) => Some(Self::None),
            (2, _) => Some(Self::Observer),
            (3, _) => Some(Self::Requester),
            _ => None,
        }
    }
}

/// The trustee's index, and the opening key unless it is the group's first.
impl fmt::Display for Trusteeship {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trustee {}", self.index)?;
        match self.since {
            0 => Ok(()),
            since => write!(f, " of the opening key since epoch {since}"),
        }
    }
}

impl Trusteeship {
    /// A trustee of a group's first opening key.
    pub const fn of_first_key(index: u8) -> Self {
        Self { since: 0, index }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.since.to_be_bytes());
        out.push(self.index);
    }

    pub(crate) fn read(fields: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            since: fields.u32()?,
            index: fields.u8().filter(|index| *index > 0)?,
        })
    }
}
