//! Sums around 2^130 - 5, which random texts never reach.

use std::vec::Vec;

use proptest::prelude::*;

use super::*;

/// As the paper has it, in numbers without limbs: the sum byte by byte, 17 digits of 8 bits.
mod textbook {
    use super::{KEY, TAG};

    pub fn tag(key: &[u8; KEY], text: &[u8]) -> [u8; TAG] {
        let mut r = [0u32; 17];
        for (i, (digit, byte)) in r.iter_mut().zip(&key[..16]).enumerate() {
            let kept = match i {
                3 | 7 | 11 | 15 => 0x0f,
                4 | 8 | 12 => 0xfc,
                _ => 0xff,
            };
            *digit = u32::from(byte & kept);
        }
        let mut h = [0u32; 17];
        for block in text.chunks(16) {
            let ended = block.iter().chain([&1]);
            h.iter_mut()
                .zip(ended)
                .for_each(|(h, byte)| *h += u32::from(*byte));
            h = product(&h, &r);
        }
        finish(&mut h, &key[16..])
    }

    /// Digits from 2^136 on count 64 * 5 times.
    fn product(h: &[u32; 17], r: &[u32; 17]) -> [u32; 17] {
        let mut product = [0; 17];
        for (i, digit) in product.iter_mut().enumerate() {
            let low = (0..=i).map(|j| h[j] * r[i - j]).sum::<u32>();
            let high = (i + 1..17).map(|j| 320 * h[j] * r[i + 17 - j]).sum::<u32>();
            *digit = low + high;
        }
        carry(&mut product);
        carry(&mut product);
        product
    }

    fn carry(h: &mut [u32; 17]) {
        let mut over = 0;
        for digit in &mut h[..16] {
            over += *digit;
            *digit = over & 255;
            over >>= 8;
        }
        over += h[16];
        h[16] = over & 3;
        h[0] += 5 * (over >> 2);
    }

    fn finish(h: &mut [u32; 17], s: &[u8]) -> [u8; TAG] {
        carry(h);
        carry(h);
        let mut less = *h;
        less[0] += 5;
        let mut over = 0;
        for digit in &mut less[..16] {
            over += *digit;
            *digit = over & 255;
            over >>= 8;
        }
        let is_p_or_more = h[16] + over >= 4;
        let digits = if is_p_or_more { &less } else { &*h };
        let mut over = 0;
        core::array::from_fn(|i| {
            over += digits[i] + u32::from(s[i]);
            let byte = over as u8;
            over >>= 8;
            byte
        })
    }
}

fn check(keys: &[[u8; KEY]], texts: &[&[u8]]) {
    let expected = keys
        .iter()
        .zip(texts)
        .map(|(key, text)| textbook::tag(key, text));
    let expected: Vec<_> = expected.collect();
    let mut out = [[0; TAG]; LANES];
    let mut same = |name: &str, tags: &dyn Fn(&mut [[u8; TAG]])| {
        let out = &mut out[..texts.len()];
        out.fill([0xee; TAG]);
        tags(out);
        assert_eq!(*out, expected, "{name}");
    };
    for backend in Backend::multipliers() {
        same(backend.name(), &|out| tags(backend, keys, texts, out));
    }
    #[cfg(target_arch = "x86_64")]
    if Backend::Avx512Ifma.is_available() {
        same("lanes", &|out| ifma::tags(keys, texts, out));
    }
}

/// RFC 8439, section 2.5.2.
#[test]
fn vector_of_the_rfc() {
    let mut key = [0; KEY];
    let number = 0x85d6_be78_5755_6d33_7f44_52fe_42d5_06a8_u128;
    key[..16].copy_from_slice(&number.to_be_bytes());
    let number = 0x0103_808a_fb0d_b2fd_4abf_f6af_4149_f51b_u128;
    key[16..].copy_from_slice(&number.to_be_bytes());
    let text = b"Cryptographic Forum Research Group";
    let tag = 0xa806_1dc1_3051_36c6_c22b_8baf_0c01_27a9_u128;
    assert_eq!(textbook::tag(&key, text), tag.to_be_bytes());
    check(&[key], &[text]);
}

fn edge() -> impl Strategy<Value = u8> {
    prop_oneof![4 => Just(0xff), 2 => Just(0), 1 => any::<u8>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Mostly ones, under small r and the largest there is (RFC 8439, A.3, vectors 5 to 11, are such).
    #[test]
    fn tags_at_the_edges(
        small in prop_oneof![Just(0u8), Just(1), Just(2), Just(4), Just(5)],
        rest in prop_oneof![Just(0u8), Just(0xff)],
        s in prop_oneof![Just(0u8), Just(0xff)],
        texts in prop::collection::vec(prop::collection::vec(edge(), 0..100), 1..=LANES),
    ) {
        let mut key = [rest; KEY];
        key[0] = small;
        key[16..].fill(s);
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        check(&[key; LANES][..texts.len()], &texts);
    }
}
