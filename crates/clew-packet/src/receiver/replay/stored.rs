//! The memory as bytes, for a process that takes over from another on the same host.

use alloc::{boxed::Box, vec::Vec};

use super::{Indices, Memory, SignatureId};
use crate::receiver::seconds::AcceptedSeconds;
use crate::time::Timestamp;
use crate::wire::trailer::GroupTag;

/// What the bytes start with: a format of this version of the program, which nobody else reads.
const MAGIC: [u8; 8] = *b"clewRM02";

/// An interval of seconds in bytes: whether it is of one group, which one, its first and last second.
const INTERVAL_BYTES: usize = 1 + 8 + 8 + 8;

/// Bytes that are no memory, or are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadMemory;

impl core::fmt::Display for BadMemory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("not a replay memory of this version")
    }
}

impl core::error::Error for BadMemory {}

impl Memory {
    /// Returns everything that is remembered.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        for time in [self.start, self.floor] {
            out.extend(time.0.to_be_bytes());
        }
        for ((at, id), indices) in &self.accepted {
            let words: &[u64] = match indices {
                Indices::Small(first) => core::slice::from_ref(first),
                Indices::Large(words) => words.as_slice(),
            };
            out.extend(at.0.to_be_bytes());
            out.extend(id.0);
            out.push(words.len() as u8);
            words.iter().for_each(|word| out.extend(word.to_be_bytes()));
        }
        out
    }

    /// Reads what [`to_bytes`](Self::to_bytes) returned into a memory of at most `bytes_max` bytes.
    pub(crate) fn from_bytes(bytes: &[u8], bytes_max: usize) -> Result<Self, BadMemory> {
        let mut rest = bytes.strip_prefix(&MAGIC).ok_or(BadMemory)?;
        let start = Timestamp(number(&mut rest)?);
        let mut memory = Self::new(bytes_max, start);
        memory.floor = Timestamp(number(&mut rest)?);
        while !rest.is_empty() {
            let at = Timestamp(number(&mut rest)?);
            let id = SignatureId(*take(&mut rest)?);
            let [count] = *take(&mut rest)?;
            let indices = match count {
                1 => Indices::Small(number(&mut rest)?),
                16 => {
                    let mut words = Box::new([0; 16]);
                    for word in words.iter_mut() {
                        *word = number(&mut rest)?;
                    }
                    Indices::Large(words)
                }
                _ => return Err(BadMemory),
            };
            memory.bytes += indices.bytes();
            if let Some(earlier) = memory.accepted.insert((at, id), indices) {
                memory.bytes -= earlier.bytes();
            }
            while memory.bytes > memory.bytes_max {
                memory.forget_first();
            }
        }
        Ok(memory)
    }

    /// Returns the time from which on everything is known.
    pub(crate) const fn start(&self) -> Timestamp {
        self.start
    }
}

impl AcceptedSeconds {
    /// Returns the number of intervals, and the intervals.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (group, intervals) in self.iter() {
            for (first, last) in intervals {
                out.push(u8::from(group.is_some()));
                out.extend(group.map_or([0; 8], |group| group.0));
                out.extend([first.to_be_bytes(), last.to_be_bytes()].concat());
            }
        }
        let count = (out.len() / INTERVAL_BYTES) as u64;
        [&count.to_be_bytes()[..], &out].concat()
    }

    /// Reads what [`to_bytes`](Self::to_bytes) returned. Returns what is behind it, too.
    pub(crate) fn from_bytes(bytes: &[u8], now: Timestamp) -> Result<(Self, &[u8]), BadMemory> {
        let (mut rest, mut seconds) = (bytes, Self::default());
        for _ in 0..number(&mut rest)? {
            let group = match *take(&mut rest)? {
                [0] => take::<8>(&mut rest).map(|_| None),
                [1] => take(&mut rest).map(|tag| Some(GroupTag(*tag))),
                _ => Err(BadMemory),
            }?;
            let interval = (number(&mut rest)?, number(&mut rest)?);
            seconds.insert_interval(group, interval, now);
        }
        Ok((seconds, rest))
    }
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [u8; N], BadMemory> {
    let (first, behind) = rest.split_first_chunk().ok_or(BadMemory)?;
    *rest = behind;
    Ok(first)
}

fn number(rest: &mut &[u8]) -> Result<u64, BadMemory> {
    take(rest).map(|bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::super::{AcceptedId, Replay, naming_hash};
    use super::*;
    use crate::reason::Reason;

    fn id(byte: u8, index: u16) -> AcceptedId {
        AcceptedId {
            signature: SignatureId::of(&[0; 32], &naming_hash(&[byte])),
            index: Some(index),
        }
    }

    fn filled() -> Memory {
        let mut memory = Memory::new(1 << 20, Timestamp(5));
        for (at, byte, index) in [(6, 1, 0), (7, 2, 3), (7, 3, 1_000)] {
            memory.insert(Timestamp(at), id(byte, index));
        }
        memory
    }

    #[test]
    fn what_was_accepted_stays_refused_and_other_packets_do_not() {
        let read = Memory::from_bytes(&filled().to_bytes(), 1 << 20).unwrap();
        let check = |at, byte, index| read.check(Replay::Refuse, Timestamp(at), id(byte, index));
        for (at, byte, index) in [(6, 1, 0), (7, 2, 3), (7, 3, 1_000)] {
            assert_eq!(check(at, byte, index), Err(Reason::Duplicate));
        }
        assert_eq!(check(7, 2, 4), Ok(()), "another packet of the block");
        assert_eq!(check(5, 9, 0), Ok(()), "not before the first start");
        assert_eq!(check(4, 9, 0), Err(Reason::Stale));
        assert_eq!((read.bytes, read.start()), (filled().bytes, Timestamp(5)));
    }

    #[test]
    fn a_smaller_memory_forgets_the_oldest_and_refuses_them() {
        let read = Memory::from_bytes(&filled().to_bytes(), 300).unwrap();
        assert!(read.bytes <= 300);
        let oldest = read.check(Replay::Refuse, Timestamp(6), id(1, 0));
        assert_eq!(oldest, Err(Reason::Stale));
    }

    #[test]
    fn seconds_come_back_and_what_is_behind_them_is_left() {
        let now = Timestamp(0);
        let mut seconds = AcceptedSeconds::default();
        for (group, interval) in [
            (None, (0, 7)),
            (Some(GroupTag([1; 8])), (9, 10)),
            (Some(GroupTag([1; 8])), (20, 20)),
            (Some(GroupTag([2; 8])), (9, 9)),
        ] {
            seconds.insert_interval(group, interval, now);
        }
        let bytes = [seconds.to_bytes(), b"rest".to_vec()].concat();
        let (read, rest) = AcceptedSeconds::from_bytes(&bytes, now).unwrap();
        assert_eq!((read, rest), (seconds, &b"rest"[..]));
        let whole = bytes.len() - rest.len();
        (0..whole).for_each(|end| {
            assert!(AcceptedSeconds::from_bytes(&bytes[..end], now).is_err());
        });
        let mut other = bytes;
        other[8] = 2;
        assert!(AcceptedSeconds::from_bytes(&other, now).is_err());
    }

    #[test]
    fn cut_and_foreign_bytes_are_refused() {
        let whole = filled().to_bytes();
        let is_read = |end: &usize| Memory::from_bytes(&whole[..*end], 1 << 20).is_ok();
        let ends: Vec<usize> = (0..=whole.len()).filter(is_read).collect();
        // Behind the head, the first entry, another one, and all.
        assert_eq!((ends.len(), &ends[..2]), (4, &[24, 57][..]));
        assert_eq!(ends[3], whole.len());
        let mut other = whole;
        other[48] = 2;
        assert!(Memory::from_bytes(&other, 1 << 20).is_err());
    }
}
