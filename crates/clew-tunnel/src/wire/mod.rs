//! Bytes: values, RPCs and packets (`spec/tunnel.md` sections 4, 5 and 11).

pub mod packet;
pub mod plaintext;
pub mod rpc;
pub mod values;
