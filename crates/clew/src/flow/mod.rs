//! Flow signatures at work: on captures, on files, on the network. The engine is `clew-flow`, the
//! format `spec/flow-signature.md`.

pub mod capture;
pub mod ed25519;
pub mod file;
pub mod keys;
pub mod policy;
pub mod proof;
pub mod relay;
pub mod schemes;
pub mod sidecar;
pub mod sign;
pub mod verify;
