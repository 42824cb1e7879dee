//! What a block signature covers: `spec/flow-signature.md` section 4.

use super::descriptor::Descriptor;
use clew_tree::{Block, Digest};
use clew_wire::WallTime;

const DOMAIN: &[u8; 16] = b"clew-flow-v1\0\0\0\0";

/// Size of the message.
pub(crate) const MESSAGE_BYTES: usize = 16 + 32 + 4 + 4 + 8 + 2 + 16 + 32;

/// What a block signature covers.
pub(crate) type Message = [u8; MESSAGE_BYTES];

/// The message of a block.
pub(crate) fn message(
    descriptor: &Descriptor,
    place: ([u8; 4], u32),
    timestamp: WallTime,
    block: &Block,
    root: &Digest,
) -> Message {
    message_in(DOMAIN, descriptor, place, timestamp, block, root)
}

/// The message of a block that is signed as the domain says.
pub(crate) fn message_in(
    domain: &[u8; 16],
    descriptor: &Descriptor,
    (tag, seq): ([u8; 4], u32),
    timestamp: WallTime,
    block: &Block,
    root: &Digest,
) -> Message {
    let parts: [&[u8]; 8] = [
        domain,
        descriptor.digest(),
        &tag,
        &seq.to_be_bytes(),
        &timestamp.as_nanos().to_be_bytes(),
        &block.count().to_be_bytes(),
        block.id(),
        root,
    ];
    let mut message = [0; MESSAGE_BYTES];
    let mut rest = &mut message[..];
    for part in parts {
        let (here, after) = rest.split_at_mut(part.len());
        here.copy_from_slice(part);
        rest = after;
    }
    message
}
