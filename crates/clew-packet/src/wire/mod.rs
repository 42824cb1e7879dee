//! What a trailer has, and which bytes are signed (`spec/packet-trailer.md`).

pub(crate) mod block;
pub(crate) mod bytes;
pub(crate) mod carriage;
pub(crate) mod fields;
pub(crate) mod mark;
pub(crate) mod saved;
pub(crate) mod signable;
pub(crate) mod trailer;
