//! The field.

use super::with_kernel;
use crate::bls::*;
use blst::{blst_fp, blst_fp_inverse, blst_fp_mul, blst_fp_sqr, blst_fp_sqrt};
use num_bigint::BigUint;
use proptest::prelude::*;
use std::vec::Vec;

fn p() -> BigUint {
    number(&limbs::P)
}

fn number(row: &Row) -> BigUint {
    let limbs = row.0.iter().rev();
    limbs.fold(BigUint::ZERO, |sum, limb| (sum << 52u32) + limb)
}

fn bytes(number: &BigUint) -> [u8; BYTES] {
    let mut out = [0; BYTES];
    let digits = number.to_bytes_be();
    out[BYTES - digits.len()..].copy_from_slice(&digits);
    out
}

type Eight = [BigUint; LANES];

fn read(kernel: Ifma, numbers: &Eight) -> Fp<Ifma> {
    let bytes = numbers.each_ref().map(bytes);
    let (read, refused) = Fp::from_bytes(kernel, bytes.each_ref());
    assert_eq!(refused, 0);
    read
}

fn written(element: &Fp<Ifma>) -> Eight {
    element
        .plain()
        .to_bytes()
        .map(|bytes| BigUint::from_bytes_be(&bytes))
}

/// Elements whose limbs are all zeros or ones, near 0 and p, and any.
fn element() -> impl Strategy<Value = BigUint> {
    let random = prop::array::uniform32(any::<u8>()).prop_map(|half| {
        let half = BigUint::from_bytes_be(&half);
        &half * &half % p()
    });
    let near = (0u32..40, any::<bool>()).prop_map(|(k, below)| {
        if below {
            p() - (k + 1)
        } else {
            BigUint::from(k)
        }
    });
    let edges = prop::array::uniform8(any::<bool>())
        .prop_map(|ones| number(&Row(ones.map(|one| if one { limbs::MASK } else { 0 }))) % p());
    let half = (0u32..5).prop_map(|k| (p() >> 1u32) + k - 2u32);
    prop_oneof![4 => random, 1 => near, 2 => edges, 1 => half]
}

fn eight() -> impl Strategy<Value = Eight> {
    prop::array::uniform8(element())
}

fn each(f: impl Fn(usize) -> BigUint) -> Eight {
    core::array::from_fn(f)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn products_are_those_of_integers(a in eight(), b in eight(), c in eight(), d in eight()) {
        with_kernel(|k| {
            let [x, y, z, w] = [&a, &b, &c, &d].map(|numbers| read(k, numbers));
            assert_eq!(written(&x), a);
            assert_eq!(written(&x.mul(&y)), each(|i| &a[i] * &b[i] % p()));
            assert_eq!(written(&x.square()), each(|i| &a[i] * &a[i] % p()));
            assert_eq!(
                written(&Fp::dot([&x, &z], [&y, &w])),
                each(|i| (&a[i] * &b[i] + &c[i] * &d[i]) % p())
            );
            assert_eq!(
                written(&Fp::product_less_8_squares(&x, &y, &z)),
                each(|i| (&a[i] * &b[i] + (p() * p() - &c[i] * &c[i]) * 8u32) % p())
            );
        });
    }

    /// Sums grow as far as products allow: 2^14 p each.
    #[test]
    fn sums_are_those_of_integers(a in eight(), b in eight()) {
        with_kernel(|k| {
            let (x, y) = (read(k, &a), read(k, &b));
            assert_eq!(written(&x.add(&y)), each(|i| (&a[i] + &b[i]) % p()));
            assert_eq!(written(&x.sub::<2>(&y)), each(|i| (&a[i] + p() - &b[i]) % p()));
            assert_eq!(written(&y.neg::<2>()), each(|i| (p() - &b[i]) % p()));
            assert_eq!(
                written(&Fp::sum::<1, 2, 5>([&x], [&y, &y.times::<3>().reduced()])),
                each(|i| (&a[i] + (p() - &b[i]) * 4u32) % p())
            );
            let [t, d, o] = [x.times::<3>(), x.times::<12>(), x.times::<8>()];
            assert_eq!(written(&t), each(|i| &a[i] * 3u32 % p()));
            assert_eq!(written(&d), each(|i| &a[i] * 12u32 % p()));
            assert_eq!(written(&o), each(|i| &a[i] * 8u32 % p()));
            let large = [&x, &y].map(|x| x.times::<48>().times::<48>().times::<6>());
            assert_eq!(
                written(&large[0].mul(&large[1])),
                each(|i| &a[i] * &b[i] * 13_824u32 * 13_824u32 % p())
            );
            let small = x.add(&y).add(&x.add(&y)).reduced();
            assert_eq!(written(&small), each(|i| (&a[i] + &b[i]) * 2u32 % p()));
        });
    }

    #[test]
    fn comparisons_are_those_of_integers(a in eight(), from in prop::array::uniform8(0u64..8)) {
        with_kernel(|k| {
            let x = read(k, &a);
            let mask = |f: &dyn Fn(&BigUint) -> bool| {
                (0..LANES).fold(0, |mask, i| mask | Lanes::from(f(&a[i])) << i)
            };
            let zeros = mask(&|a| *a == BigUint::ZERO);
            assert_eq!(x.zeros(), zeros);
            assert_eq!(x.sub::<2>(&x).zeros(), 0xff);
            let near = x.sub::<2>(&Fp::zero(k));
            assert_eq!(near.may_be_zero() & zeros, zeros);
            assert_eq!(x.plain().upper_half(), mask(&|a| *a > p() >> 1u32));
            let moved = x.permute(&from);
            assert_eq!(written(&moved), each(|i| a[from[i] as usize].clone()));
            assert_eq!(
                written(&x.select(0b1010_0110, &moved)),
                each(|i| if 0b1010_0110 >> i & 1 == 1 { a[from[i] as usize].clone() } else { a[i].clone() })
            );
            let rows = x.to_rows();
            assert_eq!(written(&Fp::from_rows(k, rows.each_ref())), a);
        });
    }

    #[test]
    fn blst_agrees(a in eight(), b in eight()) {
        with_kernel(|k| {
            let (x, y) = (read(k, &a), read(k, &b));
            let (f, g) = (x.to_blst(), y.to_blst());
            assert_eq!(written(&Fp::from_blst(k, f.each_ref())), a);
            let [product] = [x.mul(&y).to_blst()];
            let square = x.square().to_blst();
            let [root] = ROOT.of(&[x]);
            let is_square = root.square().sub::<2>(&x).zeros();
            for lane in 0..LANES {
                let (f, g) = (blst_fp { l: f[lane] }, blst_fp { l: g[lane] });
                let mut out = blst_fp::default();
                // SAFETY: all pointers are to live values.
                unsafe { blst_fp_mul(&mut out, &f, &g) };
                assert_eq!(product[lane], out.l);
                // SAFETY: both pointers are to live values.
                unsafe { blst_fp_sqr(&mut out, &f) };
                assert_eq!(square[lane], out.l);
                // SAFETY: both pointers are to live values.
                let has_root = unsafe { blst_fp_sqrt(&mut out, &f) };
                assert_eq!(is_square >> lane & 1 == 1, has_root);
                if has_root {
                    let found = root.to_blst()[lane];
                    let negative = root.neg::<2>().to_blst()[lane];
                    assert!(found == out.l || negative == out.l);
                }
            }
        });
    }

    #[test]
    fn a_zero_spoils_no_inverse(
        all in prop::collection::vec(eight(), 0..6),
        zeros in prop::collection::vec((0usize..6, 0..LANES), 0..6)
    ) {
        with_kernel(|k| {
            let mut all = all;
            for (i, lane) in zeros {
                if let Some(eight) = all.get_mut(i) {
                    eight[lane] = BigUint::ZERO;
                }
            }
            let mut values: Vec<_> = all.iter().map(|eight| read(k, eight)).collect();
            let before: Vec<_> = values.iter().map(Fp::to_blst).collect();
            invert_all(&mut values, &mut Vec::new());
            for (value, before) in values.iter().zip(before) {
                for (inverse, of) in value.to_blst().iter().zip(before) {
                    let mut out = blst_fp::default();
                    // SAFETY: both pointers are to live values.
                    unsafe { blst_fp_inverse(&mut out, &blst_fp { l: of }) };
                    assert_eq!(*inverse, out.l);
                }
            }
        });
    }
}

/// p, p + 1, all ones, and numbers of limbs at their edges: refused in their lane only.
#[test]
fn numbers_from_p_on_are_refused() {
    with_kernel(|k| {
        let mut eight = [[0; BYTES]; LANES];
        eight[1] = bytes(&p());
        eight[2] = bytes(&(p() - 1u32));
        eight[3] = bytes(&(p() + 1u32));
        eight[4] = [0xff; BYTES];
        eight[5] = bytes(&(p() + (BigUint::from(1u32) << 52u32)));
        eight[6] = bytes(&(p() - (BigUint::from(1u32) << 52u32)));
        let (read, refused) = Fp::from_bytes(k, eight.each_ref());
        assert_eq!(refused, 0b0011_1010);
        assert_eq!(written(&read)[2], p() - 1u32);
        assert_eq!(
            written(&read)[4],
            BigUint::from_bytes_be(&[0xff; BYTES]) % p()
        );
    });
}

/// The constants are those of integers.
#[test]
fn constants_are_powers() {
    let two = |n: u32| BigUint::from(1u32) << n;
    assert_eq!(number(&limbs::ONE), two(416) % p());
    assert_eq!(number(&limbs::R2), two(832) % p());
    assert_eq!(number(&limbs::TO_384), two(384) % p());
    assert_eq!(number(&limbs::FROM_384), two(448) % p());
    assert_eq!(number(&limbs::HALF), p() >> 1u32);
    assert_eq!(
        (number(&limbs::P) * limbs::P_INVERSE + 1u32) % two(52),
        BigUint::ZERO
    );
    assert_eq!(number(&Row::multiple_of_p(77)), p() * 77u32);
    let words = limbs::P.to_words();
    assert_eq!(words, limbs::P_WORDS);
}

/// Debug builds refuse what would overflow, whatever the numbers are.
#[test]
#[cfg(debug_assertions)]
fn bounds_are_checked() {
    with_kernel(|k| {
        let zero = Fp::zero(k);
        let refused =
            |f: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err();
        let large = zero.times::<48>().times::<48>().times::<8>();
        assert!(refused(&|| _ = large.mul(&large)));
        assert!(refused(&|| _ = zero.sub::<2>(&zero.times::<3>())));
        assert!(refused(&|| _ = zero.times::<12>().reduced()));
        assert!(refused(&|| _ = zero.times::<6>().may_be_zero()));
        assert!(refused(&|| _ = zero.times::<2>().to_rows()));
        assert!(!refused(&|| _ = large.mul(&zero)));
    });
}
