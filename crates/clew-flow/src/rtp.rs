//! Signed RTP packets that players understand: the packet signature stands in the padding of RFC 3550
//! (5.1), which every receiver leaves out. `spec/flow-signature.md` section 7.

use alloc::vec::Vec;

use crate::wire::{FIXED_BYTES, is_signed};

/// Size of the fixed header; contributing sources and extensions follow it.
const HEADER_BYTES: usize = 12;

/// Longest packet signature that padding holds: its last byte counts all of it.
pub const RTP_SIGNATURE_MAX: usize = 254;

const VERSION_MASK: u8 = 0xc0;
const VERSION_2: u8 = 0x80;
const PADDING: u8 = 0x20;

/// Turns a signed packet, whose last `signature` bytes are its packet signature, into padded RTP.
/// False, and nothing changed, if what was signed is no RTP packet of version 2, is padded already, or
/// the packet signature is longer than [`RTP_SIGNATURE_MAX`].
pub fn pad(signed: &mut Vec<u8>, signature: usize) -> bool {
    let content = signed.len().saturating_sub(signature);
    let padding = u8::try_from(signature + 1);
    let (Some(first), Ok(padding)) = (signed.first_mut(), padding) else {
        return false;
    };
    if content < HEADER_BYTES || *first & (VERSION_MASK | PADDING) != VERSION_2 {
        return false;
    }
    *first |= PADDING;
    signed.push(padding);
    true
}

/// Returns the signed packet that padded RTP holds, or `None` if it holds none: what is no RTP, or
/// ends in a packet signature as it is, is judged as it is.
pub fn unpadded(packet: &[u8]) -> Option<Vec<u8>> {
    let [first, .., last] = *packet else {
        return None;
    };
    let padding = usize::from(last);
    let (signed, _) = packet.split_at(packet.len() - 1);
    let holds = first & (VERSION_MASK | PADDING) == VERSION_2 | PADDING
        && padding > FIXED_BYTES
        && padding + HEADER_BYTES <= packet.len()
        && !is_signed(packet)
        && is_signed(signed);
    holds.then(|| {
        let mut signed = signed.to_vec();
        signed[0] = first & !PADDING;
        signed
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn signed(first: u8, content: usize, signature: usize) -> Vec<u8> {
        let mut packet = vec![0x11; content + signature];
        packet[0] = first;
        let magic = packet.len() - 4;
        packet[magic..].copy_from_slice(&[0xc1, 0x4c, 0x46, 0x4c]);
        packet
    }

    #[test]
    fn there_and_back() {
        let packet = signed(0x80, 12, RTP_SIGNATURE_MAX);
        let mut padded = packet.clone();
        assert!(pad(&mut padded, RTP_SIGNATURE_MAX));
        assert_eq!((padded[0], padded.last()), (0xa0, Some(&255)));
        assert_eq!(unpadded(&padded).as_ref(), Some(&packet));
        assert_eq!(unpadded(&packet), None, "it is not padded");
    }

    #[test]
    fn what_has_no_padded_form() {
        let too_long = (0x80, 12, RTP_SIGNATURE_MAX + 1);
        for (first, content, signature) in
            [too_long, (0xa0, 12, 80), (0x40, 12, 80), (0x80, 11, 80)]
        {
            let packet = signed(first, content, signature);
            let mut same = packet.clone();
            assert!(
                !pad(&mut same, signature),
                "{first:#x} {content} {signature}"
            );
            assert_eq!(same, packet);
        }
    }

    #[test]
    fn what_is_not_padded_with_a_signature() {
        let mut padded = signed(0x80, 20, 80);
        assert!(pad(&mut padded, 80));
        for change in [(0, 0x80), (0, 0x60), (100, 100), (100, 40), (99, 0)] {
            let mut changed = padded.clone();
            changed[change.0] = change.1;
            assert_eq!(unpadded(&changed), None, "{change:?}");
        }
        assert_eq!((unpadded(&[0xa0]), unpadded(&[])), (None, None));
    }
}
