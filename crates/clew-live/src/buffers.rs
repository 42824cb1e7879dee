//! Buffers that are used again, so that packets need no allocation.

/// Most buffers of each kind that are kept for later.
const BUFFERS_MAX: usize = 512;
/// A buffer with more room than this is not kept.
const BUFFER_BYTES_MAX: usize = 1 << 17;

/// Buffers that are used again.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    any: Vec<Vec<u8>>,
    /// Those of packets, which whoever reads packets wants back.
    packets: Vec<Vec<u8>>,
}

impl Buffers {
    /// Returns an empty buffer.
    pub fn take(&mut self) -> Vec<u8> {
        self.any.pop().unwrap_or_default()
    }

    /// Keeps a buffer for later.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        keep(&mut self.any, buffer);
    }

    /// Returns the empty buffer of a packet, if there is one.
    pub fn take_packet(&mut self) -> Option<Vec<u8>> {
        self.packets.pop()
    }

    /// Keeps the buffer of a packet for whoever reads the next one.
    pub fn recycle_packet(&mut self, buffer: Vec<u8>) {
        keep(&mut self.packets, buffer);
    }
}

fn keep(kept: &mut Vec<Vec<u8>>, mut buffer: Vec<u8>) {
    if kept.len() < BUFFERS_MAX && buffer.capacity() <= BUFFER_BYTES_MAX {
        buffer.clear();
        kept.push(buffer);
    }
}
