//! 16 messages at once in AVX-512 IFMA, in the lanes of two vectors: while the products of one are on
//! their way, those of the other start.
#![allow(
    unsafe_code,
    reason = "vector loads and stores, and the call of what the processor was asked for"
)]

use core::arch::x86_64::*;

use super::{BLOCK, KEY, LANES, M42, M44, TAG, WHOLE, finish, last_block, limbs_of_r};
use crate::Backend;
use crate::vector::wide::{V, add, load, splat, store, zero};

/// Messages in a vector, and vectors.
const WIDTH: usize = 8;
const VECTORS: usize = LANES / WIDTH;

/// Writes the tags of at most [`LANES`] messages to `out`.
pub fn tags(keys: &[[u8; KEY]], texts: &[&[u8]], out: &mut [[u8; TAG]]) {
    Backend::Avx512Ifma.require();
    // Lanes without a message do what the first lane does, so that they are never behind or ahead.
    let of = |lane: usize| if lane < texts.len() { lane } else { 0 };
    let lanes = core::array::from_fn(|lane| Lane::new(texts.get(of(lane)).copied()));
    let r = core::array::from_fn(|lane| keys.get(of(lane)).map_or([0; 3], limbs_of_r));
    // SAFETY: the processor has the features.
    let sums = unsafe { sums(&r, &lanes, texts.len().div_ceil(WIDTH)) };
    for ((out, h), key) in out.iter_mut().zip(sums).zip(keys) {
        *out = finish(h, key);
    }
}

/// A message, and its last block if that is not a whole one.
struct Lane<'a> {
    whole: &'a [[u8; BLOCK]],
    last: [u8; BLOCK],
    blocks: usize,
}

impl<'a> Lane<'a> {
    fn new(text: Option<&'a [u8]>) -> Self {
        let (whole, rest) = text.unwrap_or_default().as_chunks();
        let has_rest = !rest.is_empty();
        Self {
            whole,
            last: if has_rest {
                last_block(rest)
            } else {
                [0; BLOCK]
            },
            blocks: whole.len() + usize::from(has_rest),
        }
    }

    fn block(&self, i: usize) -> &[u8; BLOCK] {
        self.whole.get(i).unwrap_or(&self.last)
    }
}

/// What is multiplied by in each lane: limbs of r, and 20 times the upper two, for 2^132 is 4 * 5.
/// They are below 2^44 and 2^49.
struct Factors {
    r: [V; 3],
    s: [V; 2],
}

/// The sums of the messages in the first vectors, whose limbs are below 2^45.
#[target_feature(enable = "avx512f,avx512ifma")]
fn sums(r: &[[u64; 3]; LANES], lanes: &[Lane<'_>; LANES], vectors: usize) -> [[u64; 3]; LANES] {
    let (r, lanes) = (r.as_chunks::<WIDTH>().0, lanes.as_chunks::<WIDTH>().0);
    let factors: [Factors; VECTORS] = [Factors::new(&r[0]), Factors::new(&r[1])];
    let mut h = [[zero(); 3]; VECTORS];
    let all = || lanes.as_flattened().iter();
    let common = all().map(|lane| lane.whole.len()).min().unwrap_or(0);
    for i in 0..common {
        for ((h, factors), lanes) in h.iter_mut().zip(&factors).zip(lanes).take(vectors) {
            *h = product(&sum(h, &message(lanes, i, u8::MAX)), factors);
        }
    }
    let most = all().map(|lane| lane.blocks).max().unwrap_or(0);
    for i in common..most {
        for ((h, factors), lanes) in h.iter_mut().zip(&factors).zip(lanes).take(vectors) {
            *h = absorbed(h, factors, lanes, i);
        }
    }
    let mut sums = [[0; 3]; LANES];
    for (sums, h) in sums.as_chunks_mut::<WIDTH>().0.iter_mut().zip(h) {
        let limbs = h.map(|limb| store(limb));
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum = limbs.map(|limb| limb[lane]);
        }
    }
    sums
}

impl Factors {
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn new(r: &[[u64; 3]; WIDTH]) -> Self {
        let mut limbs = [[0; WIDTH]; 5];
        for (lane, [r0, r1, r2]) in r.iter().enumerate() {
            for (limb, value) in limbs.iter_mut().zip([*r0, *r1, *r2, 20 * r1, 20 * r2]) {
                limb[lane] = value;
            }
        }
        let [r0, r1, r2, s1, s2] = &limbs;
        Self {
            r: [load(r0), load(r1), load(r2)],
            s: [load(s1), load(s2)],
        }
    }
}

/// `(h + block i) * r` in the lanes that have such a block; the others keep h.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn absorbed(h: &[V; 3], factors: &Factors, lanes: &[Lane<'_>; WIDTH], i: usize) -> [V; 3] {
    let (mut present, mut whole) = (0, 0);
    for (lane, bit) in lanes.iter().zip([1u8, 2, 4, 8, 16, 32, 64, 128]) {
        present |= if i < lane.blocks { bit } else { 0 };
        whole |= if i < lane.whole.len() { bit } else { 0 };
    }
    let product = product(&sum(h, &message(lanes, i, whole)), factors);
    let mut kept = *h;
    for (h, product) in kept.iter_mut().zip(product) {
        *h = _mm512_mask_mov_epi64(*h, present, product);
    }
    kept
}

#[target_feature(enable = "avx512f")]
#[inline]
fn sum(a: &[V; 3], b: &[V; 3]) -> [V; 3] {
    [add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2])]
}

/// Limbs of block i of each lane.
#[target_feature(enable = "avx512f")]
#[inline]
fn message(lanes: &[Lane<'_>; WIDTH], i: usize, whole: u8) -> [V; 3] {
    let even = four([0, 2, 4, 6].map(|lane: usize| lanes[lane].block(i)));
    let odd = four([1, 3, 5, 7].map(|lane: usize| lanes[lane].block(i)));
    let low = _mm512_unpacklo_epi64(even, odd);
    let high = _mm512_unpackhi_epi64(even, odd);
    let middle = _mm512_or_si512(_mm512_srli_epi64::<44>(low), _mm512_slli_epi64::<20>(high));
    let above = _mm512_maskz_set1_epi64(whole, WHOLE as i64);
    [
        _mm512_and_si512(low, splat(M44)),
        _mm512_and_si512(middle, splat(M44)),
        _mm512_or_si512(_mm512_srli_epi64::<24>(high), above),
    ]
}

/// The product. Limbs of h are below 2^44 + 2^15, of a block below 2^44, and of their sum below 2^46, the
/// third below 2^44. Lower halves of products are below 2^52, of which a limb gets three; upper halves,
/// three in a limb, are below 2^44 in the first and 2^40 in the others. They weigh 2^52, which is 2^8 in
/// the next limb and 20 * 2^8 from the last one to the first. So sums are below 2^54, and limbs below
/// 2^44 + 5 * 2^12 remain.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn product(h: &[V; 3], factors: &Factors) -> [V; 3] {
    let ([r0, r1, r2], [s1, s2]) = (factors.r, factors.s);
    let rows = [[r0, s2, s1], [r1, r0, s2], [r2, r1, r0]];
    let zero = zero();
    let (mut low, mut high) = ([zero; 3], [zero; 3]);
    for j in 0..3 {
        for k in 0..3 {
            low[k] = _mm512_madd52lo_epu64(low[k], h[j], rows[k][j]);
            high[k] = _mm512_madd52hi_epu64(high[k], h[j], rows[k][j]);
        }
    }
    let d0 = _mm512_madd52lo_epu64(low[0], high[2], splat(20 << 8));
    let d1 = add(low[1], _mm512_slli_epi64::<8>(high[0]));
    let d2 = add(low[2], _mm512_slli_epi64::<8>(high[1]));
    let over = _mm512_srli_epi64::<42>(d2);
    [
        _mm512_madd52lo_epu64(_mm512_and_si512(d0, splat(M44)), over, splat(5)),
        add(
            _mm512_and_si512(d1, splat(M44)),
            _mm512_srli_epi64::<44>(d0),
        ),
        add(
            _mm512_and_si512(d2, splat(M42)),
            _mm512_srli_epi64::<44>(d1),
        ),
    ]
}

#[target_feature(enable = "avx512f")]
#[inline]
fn four(blocks: [&[u8; BLOCK]; 4]) -> V {
    let [a, b, c, d] = blocks;
    let all = _mm512_castsi128_si512(one(a));
    let all = _mm512_inserti32x4::<1>(all, one(b));
    let all = _mm512_inserti32x4::<2>(all, one(c));
    _mm512_inserti32x4::<3>(all, one(d))
}

#[inline]
fn one(block: &[u8; BLOCK]) -> __m128i {
    // SAFETY: 16 bytes are read, of an array of 16; every x86-64 has this instruction.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}
