//! Bytes: descriptors, packet signatures, what is signed (`spec/flow-signature.md` sections 2 to 4).

mod bytes;
mod descriptor;
mod message;
mod packet;

pub use descriptor::{
    Algorithm, BadDescriptor, Chaining, Descriptor, KeyId, NAME_BYTES_MAX, SALT_BYTES,
};
pub use packet::{Carriage, FIXED_BYTES, Fixed, SignedPacket, TIMESTAMP_BYTES};

pub(crate) use message::message;
pub(crate) use packet::{Signature, is_signed};
