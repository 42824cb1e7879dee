//! Bytes: descriptors, packet signatures, what is signed (`spec/flow-signature.md` sections 2 to 4).

mod bytes;
mod carried;
mod descriptor;
mod message;
mod packet;

pub use carried::{CODED_COUNT_MIN, Carriage, Carried, Coded, NEEDED_MIN, TIMESTAMP_BYTES};
pub use descriptor::{
    Algorithm, BadDescriptor, Chaining, Descriptor, KeyId, NAME_BYTES_MAX, SALT_BYTES,
    SIGNATURE_BYTES_MAX,
};
pub use packet::{FIXED_BYTES, Fixed, SignedPacket};

pub(crate) use carried::{NEEDED_BYTES, tag_bytes};
pub(crate) use message::{Message, message, message_in};
pub(crate) use packet::is_signed;
