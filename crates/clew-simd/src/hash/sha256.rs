//! SHA-256 in lanes.

use core::cmp::Reverse;

use super::lane::{Bits, MessageLane};
use super::{Digest, Input, portable};

/// Inputs that are ordered by length before they go to the lanes.
const ORDERED: usize = 128;

/// What follows a message, before its zeros and its length (FIPS 180-4, 5.1.1), and the bytes that
/// both take at least.
const MARK: &[u8] = &[0x80];
const PADDING: usize = 9;

/// What is longer is no packet, and goes alone.
const BLOCKS_MAX: u32 = 1 << 13;

/// What hashes a message in each of `N` lanes.
pub type Kernel<const N: usize> = fn(&[MessageLane<'_>; N], &Bits<N>) -> [Digest; N];

/// Hashes all inputs in lanes, but for those that take less one after the other. All lanes together
/// take as long as `worth` of them would alone.
pub fn in_lanes<const N: usize>(
    kernel: Kernel<N>,
    worth: usize,
    inputs: &[Input<'_>],
    out: &mut [Digest],
) {
    for (inputs, out) in inputs.chunks(ORDERED).zip(out.chunks_mut(ORDERED)) {
        let mut order = [(0, 0); ORDERED];
        let order = &mut order[..inputs.len()];
        for ((place, input), number) in order.iter_mut().zip(inputs).zip(0_u32..) {
            *place = (blocks(input), number);
        }
        // Those of about the same length shall share a vector.
        order.sort_unstable_by_key(|&(blocks, _)| Reverse(blocks));
        for group in order.chunks(N) {
            let sum: usize = group.iter().map(|&(blocks, _)| blocks as usize).sum();
            let longest = group[0].0;
            if longest > BLOCKS_MAX || sum <= worth * longest as usize {
                for &(_, i) in group {
                    out[i as usize] = portable::sha256_of(&inputs[i as usize]);
                }
                continue;
            }
            run(kernel, inputs, group, out);
        }
    }
}

/// The inputs of a group, which are given by blocks and number.
fn run<const N: usize>(
    kernel: Kernel<N>,
    inputs: &[Input<'_>],
    group: &[(u32, u32)],
    out: &mut [Digest],
) {
    let mut lanes = [MessageLane::IDLE; N];
    let mut bits = Bits {
        high: [0; N],
        low: [0; N],
    };
    for (lane, &(blocks, i)) in group.iter().enumerate() {
        let input = &inputs[i as usize];
        let [head, body, tail] = input.parts();
        lanes[lane] = MessageLane::new([head, body, tail, MARK], 0, blocks);
        let len = input.len() as u64 * 8;
        (bits.high[lane], bits.low[lane]) = ((len >> 32) as u32, len as u32);
    }
    for (digest, &(_, i)) in kernel(&lanes, &bits).iter().zip(group) {
        out[i as usize] = *digest;
    }
}

fn blocks(input: &Input<'_>) -> u32 {
    u32::try_from((input.len() + PADDING).div_ceil(64)).unwrap_or(u32::MAX)
}
