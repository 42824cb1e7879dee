//! Integers at fixed places, in the byte order of a file or section.

/// The byte order in which a file or section was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

/// Readers assume that the caller has checked the length of `bytes` once, for all of its fields.
impl ByteOrder {
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(array(bytes, at)),
            Self::Big => u16::from_be_bytes(array(bytes, at)),
        }
    }

    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(array(bytes, at)),
            Self::Big => u32::from_be_bytes(array(bytes, at)),
        }
    }

    pub(crate) fn u64(self, bytes: &[u8], at: usize) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(array(bytes, at)),
            Self::Big => u64::from_be_bytes(array(bytes, at)),
        }
    }

    pub(crate) fn u16_bytes(self, value: u16) -> [u8; 2] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    pub(crate) fn u32_bytes(self, value: u32) -> [u8; 4] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    pub(crate) fn u64_bytes(self, value: u64) -> [u8; 8] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    pub(crate) fn put_u32(self, bytes: &mut [u8], at: usize, value: u32) {
        bytes[at..at + 4].copy_from_slice(&self.u32_bytes(value));
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}
