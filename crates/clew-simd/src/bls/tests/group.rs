//! Points: decoding, products and sums.

use super::oracle::{ORDER, Point, TORSION, is_in_group, of_small_x, uncompressed};
use super::with_kernel;
use crate::bls::curve::{BETA, BETA_SQUARED};
use crate::bls::digits::signed_digits;
use crate::bls::*;
use blst::{BLST_ERROR, blst_p1_affine};
use proptest::collection;
use proptest::prelude::*;
use std::vec::Vec;

/// What `clew-group` says of an encoding, by blst.
fn by_blst(bytes: &Encoded) -> Result<blst_p1_affine, Refused> {
    match uncompressed(bytes) {
        Ok(point) if point == blst_p1_affine::default() => Err(Refused::Identity),
        Ok(point) if is_in_group(&point) => Ok(point),
        Ok(_) | Err(BLST_ERROR::BLST_POINT_NOT_IN_GROUP) => Err(Refused::Subgroup),
        Err(_) => Err(Refused::Point),
    }
}

fn check_decoding(encoded: &[Encoded]) {
    with_kernel(|kernel| {
        let refs: Vec<&Encoded> = encoded.iter().collect();
        let decoded = Engine::Ifma(kernel).decode(&refs);
        assert_eq!(decoded.len(), encoded.len());
        for (bytes, decoded) in encoded.iter().zip(decoded) {
            assert_eq!(decoded, by_blst(bytes), "{bytes:x?}");
        }
    });
}

/// Points of the group, of the curve only, of small order, sums of both kinds, and no points at all.
fn encoding() -> impl Strategy<Value = Encoded> {
    let good = any::<u64>().prop_map(|k| Point::generator().times(&k.to_le_bytes()).encoded());
    let any_bytes = (any::<[u8; 32]>(), any::<[u8; 16]>()).prop_map(|(a, b)| {
        let mut bytes = [0; BYTES];
        bytes[..32].copy_from_slice(&a);
        bytes[32..].copy_from_slice(&b);
        bytes[0] = bytes[0] & 0x3f | 0x80;
        bytes
    });
    let with_torsion = (0usize..5, any::<u64>(), any::<u32>()).prop_map(|(i, k, m)| {
        let torsion = TORSION[i].1.times(&m.to_le_bytes());
        torsion
            .add(&Point::generator().times(&k.to_le_bytes()))
            .encoded()
    });
    let damaged = (any::<u64>(), 0usize..BYTES, any::<u8>()).prop_map(|(k, place, byte)| {
        let mut bytes = Point::generator().times(&k.to_le_bytes()).encoded();
        bytes[place] ^= byte;
        bytes
    });
    prop_oneof![3 => good, 1 => any_bytes, 1 => with_torsion, 2 => damaged]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn decoding_is_blsts(encoded in collection::vec(encoding(), 0..40)) {
        check_decoding(&encoded);
    }

    #[test]
    fn digits_are_the_number(k: u128, short: u64) {
        let sum = |digits: &[i16], w: u32| {
            digits.iter().rev().fold(0u128, |sum, d| (sum << w).wrapping_add(*d as i128 as u128))
        };
        for k in [k, u128::MAX, u128::MAX << 64, k | u128::MAX >> 3] {
            let digits = signed_digits::<5, 26>(k);
            prop_assert_eq!(sum(&digits, 5), k);
            prop_assert!(digits.iter().all(|d| (-16..=16).contains(d)));
        }
        for k in [short, u64::MAX, u64::MAX << 59, 1 << 63] {
            let (five, four) = (signed_digits::<5, 13>(k.into()), signed_digits::<4, 17>(k.into()));
            prop_assert_eq!(sum(&five, 5), u128::from(k));
            prop_assert_eq!(sum(&four, 4), u128::from(k));
            prop_assert!(five.iter().all(|d| (-16..=16).contains(d)));
            prop_assert!(four.iter().all(|d| (-8..=8).contains(d)));
        }
    }
}

/// Every flag with x of a point, zero, p and beyond; points of each order; one bad lane in a vector of good
/// ones.
#[test]
fn chosen_encodings_are_decoded_as_by_blst() {
    let good = Point::generator().encoded();
    let mut p = [0; BYTES];
    for (bytes, word) in p
        .as_chunks_mut()
        .0
        .iter_mut()
        .zip(limbs::P_WORDS.iter().rev())
    {
        *bytes = word.to_be_bytes();
    }
    let mut above = p;
    above[BYTES - 1] += 1;
    let mut below = p;
    below[BYTES - 1] -= 1;
    let mut one = [0; BYTES];
    one[BYTES - 1] = 1;
    let mut ones = [0xff; BYTES];
    ones[0] = 0x1f;
    let mut encoded = Vec::new();
    for x in [good, [0; BYTES], one, p, above, below, ones] {
        for flags in 0..8u8 {
            let mut bytes = x;
            bytes[0] = bytes[0] & 0x1f | flags << 5;
            encoded.push(bytes);
        }
    }
    for (_, point) in TORSION.iter() {
        encoded.push(point.encoded());
        encoded.push(point.negated_if(true).encoded());
        encoded.push(point.add(&Point::generator()).encoded());
    }
    encoded.extend(of_small_x(40).iter().map(Point::encoded));
    check_decoding(&encoded);
    for bad in &encoded {
        for place in [0, 3, 7, 8, 15] {
            let mut mixed = [good; 16];
            mixed[place] = *bad;
            check_decoding(&mixed);
        }
    }
}

#[test]
fn torsion_points_have_their_orders() {
    for (prime, point) in TORSION.iter() {
        assert!(!point.is_identity());
        assert!(point.times(&prime.to_le_bytes()).is_identity(), "{prime}");
        assert!(!point.times(&ORDER).is_identity());
    }
}

#[test]
fn beta_is_the_endomorphisms() {
    with_kernel(|kernel| {
        let [beta, square] = [BETA, BETA_SQUARED].map(|row| Fp::constant(kernel, &row));
        assert_eq!(beta.square().sub::<2>(&square).zeros(), 0xff);
        assert_eq!(beta.mul(&square).sub::<2>(&Fp::one(kernel)).zeros(), 0xff);
        let generator = Point::generator().affine();
        let image = Point::generator()
            .times(&super::oracle::LAMBDA.to_le_bytes())
            .affine();
        let x = Fp::from_blst(kernel, [&generator.x.l; LANES])
            .mul(&beta)
            .to_blst();
        assert_eq!(x, [image.x.l; LANES]);
        assert_eq!(generator.y.l, image.y.l);
    });
}

/// Points that meet: few multiples of the generator with both signs, the identity, and any.
fn point() -> impl Strategy<Value = Point> {
    let near = (-3i8..=3).prop_map(|k| {
        Point::generator()
            .times(&[k.unsigned_abs()])
            .negated_if(k < 0)
    });
    let far = any::<u64>().prop_map(|k| Point::generator().times(&k.to_le_bytes()));
    prop_oneof![near, far]
}

fn half() -> impl Strategy<Value = u128> {
    prop_oneof![
        4 => any::<u128>(),
        1 => Just(u128::MAX),
        1 => Just(0),
        1 => 0u128..40,
        1 => (0u32..128).prop_map(|i| 1 << i),
    ]
}

fn long_power() -> impl Strategy<Value = Halves<u128>> {
    let parts = (any::<bool>(), half(), half());
    parts.prop_map(|(negative, low, high)| Halves {
        negative,
        halves: [low, high],
    })
}

fn short_power() -> impl Strategy<Value = Halves<u64>> {
    long_power().prop_map(|power| Halves {
        negative: power.negative,
        halves: power.halves.map(|half| half as u64),
    })
}

fn widened(power: &Halves<u64>) -> Halves<u128> {
    Halves {
        negative: power.negative,
        halves: power.halves.map(u128::from),
    }
}

fn check_sums(long: &[(Point, [Halves<u128>; 2])], short: &[(Point, Halves<u64>)]) {
    with_kernel(|kernel| {
        let longs: Vec<Long> = long
            .iter()
            .map(|(point, powers)| Long {
                point: point.affine(),
                powers: *powers,
            })
            .collect();
        let shorts: Vec<Short> = short
            .iter()
            .map(|(point, power)| Short {
                point: point.affine(),
                power: *power,
            })
            .collect();
        let sums = Engine::Ifma(kernel).two_sums(&longs, &shorts);
        for (s, parts) in sums.iter().enumerate() {
            for (lane, part) in parts.iter().enumerate() {
                let own = long.iter().skip(lane).step_by(LANES);
                let mut sum = own.fold(Point::identity(), |sum, (point, powers)| {
                    sum.add(&point.times_halves(&powers[s]))
                });
                if s == 0 {
                    let own = short.iter().skip(lane).step_by(LANES);
                    sum = own.fold(sum, |sum, (point, power)| {
                        sum.add(&point.times_halves(&widened(power)))
                    });
                }
                assert!(Point::from_affine(part) == sum, "sum {s}, lane {lane}");
            }
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn sums_are_blsts(
        long in collection::vec((point(), [long_power(), long_power()]), 0..40),
        short in collection::vec((point(), short_power()), 0..40)
    ) {
        check_sums(&long, &short);
    }

    #[test]
    fn products_of_a_base_are_blsts(
        base in 1u64..,
        tasks in collection::vec((point(), short_power(), any::<[u8; 32]>()), 0..40)
    ) {
        with_kernel(|kernel| {
            let base = Point::generator().times(&base.to_le_bytes());
            let (comb, tasks) = comb_and_tasks(kernel, base, &tasks);
            let products = Engine::Ifma(kernel).products(&comb, &tasks);
            assert_eq!(products.len(), tasks.len());
            for (task, product) in tasks.iter().zip(products) {
                let other = Point::from_affine(&task.point).times_halves(&widened(&task.power));
                let sum = base.times(&task.of_base).add(&other);
                let expected = (!sum.is_identity()).then(|| sum.encoded());
                assert_eq!(product, expected);
            }
        });
    }
}

fn comb_and_tasks(
    kernel: Ifma,
    base: Point,
    tasks: &[(Point, Halves<u64>, [u8; 32])],
) -> (Comb, Vec<Task>) {
    let bases = [0usize, 8, 16, 24].map(|byte| {
        let mut power = [0; 32];
        power[byte] = 1;
        base.times(&power).affine()
    });
    let tasks = tasks.iter().map(|(point, power, of_base)| {
        let mut of_base = *of_base;
        of_base[31] &= 0x7f;
        Task {
            of_base,
            point: point.affine(),
            power: *power,
        }
    });
    (Engine::Ifma(kernel).comb(&bases), tasks.collect())
}

/// Results that are the identity, and digits at their ends.
#[test]
fn chosen_products_are_blsts() {
    let g = Point::generator();
    let one = |k: u64| Halves {
        negative: false,
        halves: [k, 0],
    };
    with_kernel(|kernel| {
        let mut minus_one = ORDER;
        minus_one[0] = 0;
        let mut of_one = [0; 32];
        of_one[0] = 1;
        let most = {
            let mut most = [0xff; 32];
            most[31] = 0x7f;
            most
        };
        let tasks = [
            (g, one(1), minus_one),
            (g.negated_if(true), one(1), of_one),
            (g, one(0), [0; 32]),
            (Point::identity(), one(9), [0; 32]),
            (Point::identity(), one(9), of_one),
            (g, one(u64::MAX), most),
            (
                g,
                Halves {
                    negative: true,
                    halves: [u64::MAX; 2],
                },
                [0x80; 32],
            ),
        ];
        let (comb, tasks) = comb_and_tasks(kernel, g, &tasks);
        let products = Engine::Ifma(kernel).products(&comb, &tasks);
        for (i, (task, product)) in tasks.iter().zip(products).enumerate() {
            assert_eq!(product.is_none(), i < 4, "{i}");
            let other = Point::from_affine(&task.point).times_halves(&widened(&task.power));
            let sum = g.times(&task.of_base).add(&other);
            assert_eq!(product, (!sum.is_identity()).then(|| sum.encoded()), "{i}");
        }
    });
}

/// More points than a chunk, the identity, and points that are equal and opposite in one lane and in
/// neighbours.
#[test]
fn chosen_sums_are_blsts() {
    let g = Point::generator();
    let full = |k: u128| Halves {
        negative: false,
        halves: [k, k],
    };
    let points = (0..200u64).map(|i| match i % 5 {
        0 => g,
        1 => g.negated_if(true),
        2 => Point::identity(),
        3 => g.times(&(i / 40 + 2).to_le_bytes()),
        _ => g.times(&(i + 2).to_le_bytes()),
    });
    let long: Vec<_> = points
        .clone()
        .map(|p| (p, [full(0x1f), full(u128::MAX)]))
        .collect();
    let short: Vec<_> = points
        .map(|p| {
            (
                p,
                Halves {
                    negative: true,
                    halves: [u64::MAX, 0x1f],
                },
            )
        })
        .collect();
    check_sums(&long, &short);
    check_sums(&[], &short[..9]);
    check_sums(&long[..9], &[]);
    check_sums(&[], &[]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// With scalars whose digits are zero, at their ends and random; a start that meets a product.
    #[test]
    fn secret_sums_are_blsts(random in prop::array::uniform8(any::<[u8; 32]>()), base in 1u64..) {
        with_kernel(|kernel| {
            let engine = Engine::Ifma(kernel);
            let bases = [Point::generator(), Point::generator().times(&base.to_le_bytes())];
            let tables = bases.map(|base| {
                let sixty_four = |point: &Point| Some(point.times(&[64]));
                let powers = core::iter::successors(Some(base), sixty_four).take(WINDOWS);
                let powers: Vec<_> = powers.map(|power| power.affine()).collect();
                engine.secret_table(powers[..].try_into().unwrap())
            });
            let mut first = random;
            first[0] = [0; 32];
            first[1] = [0; 32];
            first[1][0] = 1;
            first[2] = ORDER;
            first[2][0] = 0;
            first[3] = [0xff; 32];
            first[4] = [0x55; 32];
            first[5] = core::array::from_fn(|i| [0x20, 0x08, 0x82][i % 3]);
            let mut second = random;
            second.rotate_left(3);
            for scalar in first.iter_mut().chain(&mut second) {
                scalar[31] &= 0x7f;
            }
            let start = bases[0].affine();
            let sums = [
                SecretSum { start: None, products: &[(&tables[0], &first)] },
                SecretSum { start: Some(&start), products: &[(&tables[0], &first)] },
                SecretSum { start: None, products: &[(&tables[0], &first), (&tables[1], &second)] },
            ];
            let summed = engine.secret_sums(&sums);
            for lane in 0..LANES {
                let product = bases[0].times(&first[lane]);
                let other = bases[1].times(&second[lane]);
                let expected = [product, product.add(&bases[0]), product.add(&other)];
                for (summed, expected) in summed.iter().zip(expected) {
                    assert!(Point::from_affine(&summed.points[lane]) == expected, "{lane}");
                    if !expected.is_identity() {
                        assert_eq!(summed.encoded[lane], expected.encoded());
                    }
                }
            }
        });
    }
}
