//! One plain function per parser: each takes any bytes and asserts what must hold for them. The
//! targets of `cargo fuzz` call them, and so does `crates/clew/tests/fuzz.rs`, on stable.

pub mod capture;
pub mod files;
pub mod packet;
pub mod signature;

/// A plain function with the name of its target.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 8] = [
    ("container", capture::container),
    ("frame", packet::frame),
    ("group_file", files::group_file),
    ("key_file", files::key_file),
    ("public_key", signature::public_key),
    ("revocation", signature::revocation),
    ("signature", signature::signature),
    ("trailer", packet::trailer),
];
