//! Bytes: descriptors, packet signatures, what is signed (`spec/flow-signature.md` sections 2 to 4).

mod descriptor;
mod message;
mod packet;
mod part;

pub use descriptor::{
    Algorithm, BadDescriptor, Chaining, Descriptor, KeyId, NAME_BYTES_MAX, SIGNATURE_BYTES_MAX,
};
pub use packet::{FIXED_BYTES, Fixed, SignedPacket};
pub use part::{CODED_COUNT_MIN, Carriage, Coded, NEEDED_MIN, SignaturePart, TIMESTAMP_BYTES};

pub(crate) use descriptor::SALT_BYTES;
pub(crate) use message::{Message, message, message_in};
pub(crate) use packet::is_signed;
pub(crate) use part::{NEEDED_BYTES, blob_parts, tag_bytes};
