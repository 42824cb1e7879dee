//! SHA-256 in lanes.

use core::cmp::Reverse;

use super::kernel::{Bits, MessageLane};
use super::{Digest, Input, portable};

/// Inputs that are ordered by length before they go to the lanes.
const ORDERED: usize = 256;

/// What follows a message, before its zeros and its length (FIPS 180-4, 5.1.1), and the bytes that
/// both take at least.
const MARK: &[u8] = &[0x80];
const PADDING: usize = 9;

/// What hashes a message in each of `N` lanes.
pub type Kernel<const N: usize> = fn(&[MessageLane<'_>; N], &Bits<N>) -> [Digest; N];

/// All inputs in lanes, but for those that one after the other take less: where all lanes together
/// take as long as `worth` of them would alone.
pub fn in_lanes<const N: usize>(
    kernel: Kernel<N>,
    worth: u64,
    inputs: &[Input<'_>],
    out: &mut [Digest],
) {
    for (inputs, out) in inputs.chunks(ORDERED).zip(out.chunks_mut(ORDERED)) {
        let mut order = [(0, 0); ORDERED];
        let order = &mut order[..inputs.len()];
        for (i, input) in inputs.iter().enumerate() {
            order[i] = (blocks(input), i);
        }
        // Those of about the same length shall share a vector.
        order.sort_unstable_by_key(|&(blocks, _)| Reverse(blocks));
        for group in order.chunks(N) {
            let sum: u64 = group.iter().map(|&(blocks, _)| u64::from(blocks)).sum();
            if sum <= worth * u64::from(group[0].0) {
                group
                    .iter()
                    .for_each(|&(_, i)| out[i] = portable::sha256_of(&inputs[i]));
                continue;
            }
            let mut lanes = [MessageLane::IDLE; N];
            let mut bits = Bits {
                high: [0; N],
                low: [0; N],
            };
            for (lane, &(blocks, i)) in group.iter().enumerate() {
                let [head, body, tail] = inputs[i].parts();
                lanes[lane] = MessageLane::new([head, body, tail, MARK], 0, blocks);
                let len = inputs[i].len() as u64 * 8;
                (bits.high[lane], bits.low[lane]) = ((len >> 32) as u32, len as u32);
            }
            for (digest, &(_, i)) in kernel(&lanes, &bits).iter().zip(group) {
                out[i] = *digest;
            }
        }
    }
}

fn blocks(input: &Input<'_>) -> u32 {
    (input.len() + PADDING).div_ceil(64) as u32
}
