//! What comes from outside: frames, times, randomness.

use clew_capture::Record;
use clew_packet::{Frame, LinkType, Timestamp};
use rand_core::CryptoRng;

/// What may hold a frame. It goes through the engine as it is, without a copy.
pub trait AsFrame: Sync {
    /// Returns the frame and its time. `None` if there is no frame.
    fn as_frame(&self) -> Option<(Frame<'_>, Option<Timestamp>)>;

    /// Returns how many bytes it takes in memory, which bound queues.
    fn size(&self) -> usize;
}

impl AsFrame for Record {
    fn as_frame(&self) -> Option<(Frame<'_>, Option<Timestamp>)> {
        let packet = self.packet()?;
        let frame = Frame {
            link: LinkType(packet.link.into()),
            bytes: self.data(),
            wire_len: packet.wire_len as usize,
        };
        Some((frame, packet.time_ns.map(Timestamp)))
    }

    fn size(&self) -> usize {
        self.bytes().len()
    }
}

/// A whole frame from a socket.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The first header's kind.
    pub link: LinkType,
    /// The bytes of the frame.
    pub bytes: Vec<u8>,
    /// When it came.
    pub time: Timestamp,
}

impl AsFrame for Arrival {
    fn as_frame(&self) -> Option<(Frame<'_>, Option<Timestamp>)> {
        Some((Frame::whole(self.link, &self.bytes), Some(self.time)))
    }

    fn size(&self) -> usize {
        self.bytes.len()
    }
}

/// Which time counts for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeSource {
    /// Its own.
    Frame,
    /// That of the call.
    Now,
}

/// A source of randomness for many threads. Any function is one that returns a generator.
pub trait Randomness: Sync {
    /// Returns a generator for one thread.
    fn generator(&self) -> impl CryptoRng;
}

impl<R: CryptoRng, F: Fn() -> R + Sync> Randomness for F {
    fn generator(&self) -> impl CryptoRng {
        self()
    }
}
