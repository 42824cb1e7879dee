//! One plain function per parser: each takes any bytes and asserts what must hold for them. The
//! targets of `cargo fuzz` call them, and so does `crates/clew/tests/fuzz.rs`, on stable.

pub mod batch;
pub mod capture;
pub mod carriers;
pub mod dkg;
pub mod evidence;
pub mod files;
pub mod flow;
pub mod logs;
pub mod packet;
pub mod requests;
pub mod rounds;
pub mod signature;
pub mod tunnel;
pub mod tunnel_engine;

/// A plain function with the name of its target.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 40] = [
    ("batch", batch::batch),
    ("carriers", carriers::carriers),
    ("coded_packets", packet::coded_packets),
    ("container", capture::container),
    ("dkg", dkg::dkg),
    ("effs", flow::effs),
    ("flow_descriptor", flow::flow_descriptor),
    ("flow_file", flow::flow_file),
    ("flow_manifests", flow::flow_manifests),
    ("flow_packets", flow::flow_packets),
    ("flow_proof", flow::flow_proof),
    ("flow_rtp", flow::flow_rtp),
    ("frame", packet::frame),
    ("group_file", files::group_file),
    ("join", rounds::join),
    ("join_file", files::join_file),
    ("key_file", files::key_file),
    ("key_payload", files::key_payload),
    ("locator", evidence::locator),
    ("log_entry", logs::log_entry),
    ("log_note", logs::log_note),
    ("log_tile", logs::log_tile),
    ("matching", evidence::matching),
    ("member_key", signature::member_key),
    ("opening", evidence::opening),
    ("public_key", signature::public_key),
    ("quorum", rounds::quorum),
    ("register_file", evidence::register_file),
    ("request_post", requests::request_post),
    ("row", evidence::row),
    ("share", evidence::share),
    ("signature", signature::signature),
    ("steps", signature::steps),
    ("trailer", packet::trailer),
    ("tunnel_engine", tunnel_engine::tunnel_engine),
    ("tunnel_packet", tunnel::tunnel_packet),
    ("tunnel_puzzle", tunnel::tunnel_puzzle),
    ("tunnel_record", tunnel::tunnel_record),
    ("tunnel_rpc", tunnel::tunnel_rpc),
    ("witness_file", files::witness_file),
];
