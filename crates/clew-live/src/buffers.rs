//! Buffers that are used again, so that packets need no allocation.

/// Most buffers that are kept for later.
const BUFFERS_MAX: usize = 512;
/// A buffer with more room than this is not kept.
const BUFFER_BYTES_MAX: usize = 1 << 17;

/// Buffers that are used again.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Vec<Vec<u8>>);

impl Buffers {
    /// Returns an empty buffer.
    pub fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    /// Keeps a buffer for later.
    pub fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.0.len() < BUFFERS_MAX && buffer.capacity() <= BUFFER_BYTES_MAX {
            buffer.clear();
            self.0.push(buffer);
        }
    }
}
