//! Fp12 over the lanes: one element in two vectors.
//!
//! The tower is that of `spec/group-signature.md` section 2: `Fp2 = Fp[u]/(u^2 + 1)`,
//! `Fp6 = Fp2[v]/(v^3 - xi)` with `xi = 1 + u`, `Fp12 = Fp6[w]/(w^2 - v)`. Vector k has the coefficient
//! of `v^s w^k` in *slot* s: its real part in lane 2 s, its imaginary part in lane 2 s + 1. Slot 3 has
//! nothing that counts.

use super::bound::Bound;
use super::fp::Fp;
use super::kernel::{Kernel, LANES};
use super::limbs::{Row, WORDS};
use blst::{blst_fp2, blst_fp6, blst_fp12};

/// All numbers of an element are below so many p.
pub const LIMIT: u64 = 512;

/// A backend's arithmetic in Fp12. Numbers are below `LIMIT` p before and after. Time depends on no
/// number.
pub trait Tower: Kernel {
    /// Returns `f g`.
    fn multiply(f: &[Self::Numbers; 2], g: &[Self::Numbers; 2]) -> [Self::Numbers; 2];

    /// Returns `f^2`.
    fn square(f: &[Self::Numbers; 2]) -> [Self::Numbers; 2];

    /// Returns `f (1 + y v + z v w)`, with y and z, products, in slots 1 and 2 of the line.
    fn multiply_by_line(f: &[Self::Numbers; 2], line: &Self::Numbers) -> [Self::Numbers; 2];

    /// Squares so many times an element of norm 1 over Fp6 and over Fp4 (Granger and Scott, "Faster
    /// Squaring in the Cyclotomic Subgroup", section 3.2).
    fn cyclotomic_squares(f: &[Self::Numbers; 2], count: usize) -> [Self::Numbers; 2];

    /// Returns `f^(p^6)`: the inverse of an element of norm 1 over Fp6.
    fn conjugate(f: &[Self::Numbers; 2]) -> [Self::Numbers; 2];

    /// Returns `f^p`, by the factors of `FROBENIUS`.
    fn frobenius(f: &[Self::Numbers; 2], factors: &[Self::Numbers; 2]) -> [Self::Numbers; 2];
}

/// One element of Fp12.
#[derive(Clone, Copy, Debug)]
pub struct Fp12<K: Tower>([K::Numbers; 2]);

impl<K: Tower> Fp12<K> {
    /// Reads an element as blst has it.
    pub fn from_blst(kernel: K, f: &blst_fp12) -> Self {
        Self([0, 1].map(|half| *from_fp6(kernel, &f.fp6[half]).numbers()))
    }

    /// Returns the element as blst has it.
    pub fn to_blst(&self) -> blst_fp12 {
        let mut out = blst_fp12::default();
        for (half, numbers) in out.fp6.iter_mut().zip(&self.0) {
            let words = Fp::<K>::new(*numbers, Bound::new(LIMIT)).to_blst();
            let values = half.fp2.iter_mut().flat_map(|fp2| &mut fp2.fp);
            for (value, words) in values.zip(words) {
                value.l = words;
            }
        }
        out
    }

    /// Returns the product.
    #[inline(always)]
    pub fn mul(&self, other: &Self) -> Self {
        Self(K::multiply(&self.0, &other.0))
    }

    /// Returns the square.
    #[inline(always)]
    pub fn square(&self) -> Self {
        Self(<K as Tower>::square(&self.0))
    }

    /// Returns the product with a line, as [`Tower::multiply_by_line`] has it.
    #[inline(always)]
    #[track_caller]
    pub fn mul_by_line(&self, line: &Fp<K>) -> Self {
        line.bound().check(Bound::PRODUCT);
        Self(K::multiply_by_line(&self.0, line.numbers()))
    }

    /// Squares so many times an element of the cyclotomic subgroup.
    #[inline(always)]
    pub fn cyclotomic_squares(&self, count: usize) -> Self {
        Self(K::cyclotomic_squares(&self.0, count))
    }

    /// Returns the inverse of an element of norm 1 over Fp6.
    #[inline(always)]
    pub fn conjugate(&self) -> Self {
        Self(K::conjugate(&self.0))
    }

    /// Returns `f^(p^times)`.
    pub fn frobenius(&self, times: usize) -> Self {
        let kernel = K::of(&self.0[0]);
        let factors = FROBENIUS
            .each_ref()
            .map(|rows| kernel.read_rows(rows.each_ref()));
        (0..times).fold(*self, |f, _| Self(K::frobenius(&f.0, &factors)))
    }
}

/// Reads an element of Fp6, or three of Fp2, into slots 0 to 2.
pub fn from_fp6<K: Kernel>(kernel: K, values: &blst_fp6) -> Fp<K> {
    const NONE: [u64; WORDS] = [0; WORDS];
    let words = |lane: usize| {
        let fp2: Option<&blst_fp2> = values.fp2.get(lane / 2);
        fp2.map_or(&NONE, |fp2| &fp2.fp[lane % 2].l)
    };
    Fp::from_blst(kernel, core::array::from_fn::<_, LANES, _>(words))
}

/// `xi^(k (p - 1) / 6)` in Montgomery form, for the coefficients of `w^k`: k = 0, 2, 4 and 1, 3, 5.
#[rustfmt::skip]
pub static FROBENIUS: [[Row; LANES]; 2] = [
    [
        Row([0x6_480e_a8e9_b9af, 0x6_5766_c8fe_444f, 0x8_b540_fea9_6f7d, 0x3_b2ee_82ef_d422,
             0xa_6723_e5f0_ade5, 0xf_f6eb_6fdd_4230, 0xe_06ef_23c2_4a25, 0x0_0000_0001_4c8e]),
        Row::ZERO,
        Row::ZERO,
        Row([0xa_4246_57e2_5648, 0xc_7570_6049_e739, 0xb_5908_5299_e0e2, 0xd_9cf1_7286_a964,
             0x0_69ec_7cb3_3aa8, 0x3_5e99_5b23_9c7e, 0x8_2faa_0ff3_c329, 0x0_0000_0001_7601]),
        Row([0x1_8a55_00cc_654c, 0x2_e1c1_e948_2fe9, 0xd_5d53_2d24_a460, 0x0_23e9_8269_5377,
             0x3_6c99_171e_f509, 0x1_9b09_66cc_23e1, 0x4_4c5f_b3cf_7304, 0x0_0000_0001_227f]),
        Row::ZERO,
        Row::ZERO,
        Row::ZERO,
    ],
    [
        Row([0x3_f1c0_02e8_3512, 0x0_7b2d_5add_b4fe, 0xf_8872_2674_745b, 0x0_86dc_4175_cadf,
             0x6_f8de_cd6c_7fb1, 0xb_7a3c_fa3f_dd94, 0x5_c66d_6d43_83f0, 0x0_0000_0001_119a]),
        Row([0xb_0e3f_fd17_7599, 0xf_6fe7_e522_46a1, 0x7_2883_fdaa_37a4, 0x0_a51a_3197_5f2f,
             0x0_6b98_7e18_73d4, 0x6_403e_69f4_dd39, 0xc_23cc_12a3_165a, 0x0_0000_0000_8e76]),
        Row([0x5_3e59_8836_494a, 0x0_d44c_cf70_2cac, 0xd_677e_519e_1819, 0x7_253f_567a_b707,
             0xc_14d0_0a8d_e6bd, 0x9_75b0_e8b0_7449, 0xd_f760_e4bf_908f, 0x0_0000_0001_0e93]),
        Row([0x5_3e59_8836_494a, 0x0_d44c_cf70_2cac, 0xd_677e_519e_1819, 0x7_253f_567a_b707,
             0xc_14d0_0a8d_e6bd, 0x9_75b0_e8b0_7449, 0xd_f760_e4bf_908f, 0x0_0000_0001_0e93]),
        Row([0xa_3019_8b1e_d3b1, 0x1_6464_ea4d_e60a, 0x6_3efa_53f3_e074, 0x6_8025_24e3_57d8,
             0xb_a937_8c75_72e9, 0x3_3572_7ebb_9710, 0x1_d394_d21c_7a35, 0x0_0000_0000_801d]),
        Row([0x4_cfe6_74e0_d6fa, 0xe_86b0_55b2_1595, 0x0_71fb_d02a_cb8b, 0xa_abd1_4e29_d237,
             0xb_bb3f_bf0f_809b, 0xe_8508_e579_23bc, 0x0_16a4_adca_2015, 0x0_0000_0001_1ff4]),
        Row::ZERO,
        Row::ZERO,
    ],
];
