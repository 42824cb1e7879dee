//! Bytes: values, RPCs and packets (`spec/tunnel.md` sections 4, 5 and 11).

mod bytes;
pub mod packet;
pub mod plaintext;
pub mod rpc;
pub mod values;

pub(crate) use bytes::Reader;
