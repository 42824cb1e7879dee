//! X25519 and boxes, in the way that callers get: without AVX-512 under valgrind, which has none.
//!
//! Opening a box ends in a verdict that the caller is told; all that it computes before is what sealing
//! computes, and a comparison by `subtle`.

use super::{Draws, Operation};
use clew_tunnel::boxes::{Key, Packet, seal};
use clew_tunnel::x25519::{Public, Secret, public_keys, shared};
use rand_core::Rng;

/// The other side's key, which is public.
const PEER: Public = Public([7; 32]);

/// As many as vectors have lanes.
const SECRETS: usize = 8;

/// Packets, and bytes of each with its tag: the lanes of two vectors and more, whatever vectors these
/// are.
const PACKETS: usize = 5;
const BOXED: usize = 316;

pub fn all<'a>() -> Vec<Operation<'a>> {
    let secrets = |d: &mut Draws| [(); SECRETS].map(|()| bytes(d));
    vec![
        Operation::new("x25519 shared", secrets, |secrets| {
            let secrets = secrets.map(Secret::from_bytes);
            let mut out = [const { None }; SECRETS];
            shared(&secrets.each_ref().map(|secret| (secret, &PEER)), &mut out);
            out
        })
        .timed(),
        Operation::new("x25519 public keys", secrets, |secrets| {
            let secrets = secrets.map(Secret::from_bytes);
            let mut out = [PEER; SECRETS];
            public_keys(&secrets.each_ref(), &mut out);
            out
        })
        .timed(),
        Operation::new("box seal", bytes, |key| {
            let stream = Key::from_bytes(key).stream(&[1; 16]);
            let mut boxed = [[5; BOXED]; PACKETS];
            let packets = (0u64..).zip(&mut boxed);
            let packets = packets.filter_map(|(n, b)| Packet::new(&stream, n.to_le_bytes(), b));
            seal(&mut packets.collect::<Vec<_>>());
            boxed
        })
        .timed(),
    ]
}

fn bytes(draws: &mut Draws) -> [u8; 32] {
    let mut bytes = [0; 32];
    draws.fill_bytes(&mut bytes);
    bytes
}
