//! From a frame to the datagram in it, and its parts.

pub(crate) mod checksum;
pub(crate) mod datagram;
pub(crate) mod flow;
pub(crate) mod frame;
pub(crate) mod ip;
pub(crate) mod link;
pub(crate) mod original;
pub(crate) mod udp;
pub(crate) mod upper;
