//! Eight elements of the base field.

use super::bound::Bound;
use super::kernel::{Kernel, LANES, Lanes, Signs};
use super::limbs::{FROM_384, HALF, ONE, P, R2, Row, TO_384, WORDS};

/// Bytes of an element.
pub const BYTES: usize = 48;

/// Elements of the field, one in each lane: in Montgomery form, and any of the numbers that stand for
/// one. Debug builds check that they fit (`Bound`).
#[derive(Clone, Copy, Debug)]
pub struct Fp<K: Kernel> {
    numbers: K::Numbers,
    bound: Bound,
}

/// The elements' own numbers, below p and out of Montgomery form: for bytes and comparisons.
#[derive(Clone, Copy, Debug)]
pub struct Plain<K: Kernel>(K::Numbers);

impl<K: Kernel> Fp<K> {
    /// Returns the element of this Montgomery form in all lanes.
    #[inline(always)]
    pub fn constant(kernel: K, montgomery: &Row) -> Self {
        Self::new(kernel.constant(montgomery), Bound::new(1))
    }

    /// Returns zero.
    #[inline(always)]
    pub fn zero(kernel: K) -> Self {
        Self::constant(kernel, &Row::ZERO)
    }

    /// Returns one.
    #[inline(always)]
    pub fn one(kernel: K) -> Self {
        Self::constant(kernel, &ONE)
    }

    /// Returns the kernel that computes with these.
    #[inline(always)]
    pub fn kernel(&self) -> K {
        K::of(&self.numbers)
    }

    /// Reads rows that [`Self::to_rows`] made of products, or constants.
    #[inline(always)]
    pub fn from_rows(kernel: K, rows: [&Row; LANES]) -> Self {
        Self::new(kernel.read_rows(rows), Bound::PRODUCT)
    }

    /// Writes the Montgomery forms as they are: for [`Self::from_rows`].
    #[inline(always)]
    #[track_caller]
    pub fn to_rows(&self) -> [Row; LANES] {
        self.bound.check(Bound::PRODUCT);
        K::to_rows(&self.numbers)
    }

    /// Returns x and y of the entry that each lane's digit asks for ([`Kernel::scan`]), for entries that
    /// [`Self::to_rows`] made.
    #[inline(always)]
    pub(super) fn scan(
        kernel: K,
        entries: &[[Row; 2]],
        digits: &[i64; LANES],
    ) -> (Self, Self, Signs) {
        let ([x, y], signs) = kernel.scan(entries, digits);
        let [x, y] = [x, y].map(|numbers| Self::new(numbers, Bound::PRODUCT));
        (x, y, signs)
    }

    /// Decodes big-endian bytes, and returns the lanes whose number is p or more.
    pub fn from_bytes(kernel: K, bytes: [&[u8; BYTES]; LANES]) -> (Self, Lanes) {
        let mut rows = [Row::ZERO; LANES];
        for (row, bytes) in rows.iter_mut().zip(bytes) {
            let mut words = [0; WORDS];
            for (word, bytes) in words.iter_mut().rev().zip(bytes.as_chunks().0) {
                *word = u64::from_be_bytes(*bytes);
            }
            *row = Row::from_words(&words);
        }
        let numbers = kernel.read_rows(rows.each_ref());
        let refused = K::above(&numbers, &P) | K::equal(&numbers, &P);
        // 2^384 is below 10 p.
        let read = Self::new(numbers, Bound::new(10));
        (read.mul(&Self::constant(kernel, &R2)), refused)
    }

    /// Reads the words of blst's Montgomery form, whose R is 2^384.
    pub fn from_blst(kernel: K, words: [&[u64; WORDS]; LANES]) -> Self {
        let mut rows = [Row::ZERO; LANES];
        for (row, words) in rows.iter_mut().zip(words) {
            *row = Row::from_words(words);
        }
        let numbers = kernel.read_rows(rows.each_ref());
        let read = Self::new(numbers, Bound::new(10));
        read.mul(&Self::constant(kernel, &FROM_384))
    }

    /// Returns the words of blst's Montgomery form, below p.
    pub fn to_blst(&self) -> [[u64; WORDS]; LANES] {
        let product = self.mul(&Self::constant(self.kernel(), &TO_384));
        let rows = K::to_rows(&K::reduce_once(&product.numbers));
        let mut words = [[0; WORDS]; LANES];
        for (words, row) in words.iter_mut().zip(&rows) {
            *words = row.to_words();
        }
        words
    }

    /// Returns the elements out of Montgomery form.
    #[inline(always)]
    pub fn plain(&self) -> Plain<K> {
        // At most p: a zero that is written otherwise.
        let numbers = K::out_of_montgomery(&self.numbers);
        let is_p = K::equal(&numbers, &P);
        let zero = self.kernel().constant(&Row::ZERO);
        Plain(K::select(is_p, &numbers, &zero))
    }

    /// Returns the lanes whose element is zero.
    #[inline(always)]
    pub fn zeros(&self) -> Lanes {
        let numbers = K::out_of_montgomery(&self.numbers);
        K::equal(&numbers, &P) | K::equal(&numbers, &Row::ZERO)
    }

    /// Returns lanes whose element may be zero, those where it is among them, of a number from p up to
    /// and below 4 p: looks at one limb.
    #[inline(always)]
    #[track_caller]
    pub fn may_be_zero(&self) -> Lanes {
        self.bound.check(Bound::new(4));
        let is = |multiple: Row| K::lowest_limb_is(&self.numbers, multiple.0[0]);
        let [one, two, three] = const {
            [
                Row::multiple_of_p(1),
                Row::multiple_of_p(2),
                Row::multiple_of_p(3),
            ]
        };
        is(one) | is(two) | is(three)
    }

    /// Returns the product.
    #[inline(always)]
    #[track_caller]
    pub fn mul(&self, other: &Self) -> Self {
        Self::dot([self], [other])
    }

    /// Returns the sum of the products `a[i] * b[i]`, reduced once.
    #[inline(always)]
    #[track_caller]
    pub fn dot<const N: usize>(a: [&Self; N], b: [&Self; N]) -> Self {
        Bound::check_products(a.map(|a| a.bound), b.map(|b| b.bound));
        let numbers = K::dot(a.map(|a| &a.numbers), b.map(|b| &b.numbers));
        Self::new(numbers, Bound::PRODUCT)
    }

    /// Returns the square.
    #[inline(always)]
    #[track_caller]
    pub fn square(&self) -> Self {
        Bound::check_products([self.bound], [self.bound]);
        Self::new(K::square(&self.numbers), Bound::PRODUCT)
    }

    /// Returns `a b - 8 c^2`, reduced once.
    #[inline(always)]
    #[track_caller]
    pub fn product_less_8_squares(a: &Self, b: &Self, c: &Self) -> Self {
        Bound::check_products([a.bound], [b.bound]);
        Bound::check_products([c.bound], [c.bound.times(8)]);
        let numbers = K::product_less_8_squares(&a.numbers, &b.numbers, &c.numbers);
        Self::new(numbers, Bound::PRODUCT.plus(Bound::new(1)))
    }

    /// Returns the sum.
    #[inline(always)]
    pub fn add(&self, other: &Self) -> Self {
        Self::sum::<2, 0, 0>([self, other], [])
    }

    /// Returns the difference. A multiple of p keeps the number from being negative: the subtrahend
    /// must be at most `MULTIPLE * p`.
    #[inline(always)]
    #[track_caller]
    pub fn sub<const MULTIPLE: u64>(&self, other: &Self) -> Self {
        Self::sum::<1, 1, MULTIPLE>([self], [other])
    }

    /// Returns the negative, as [`Self::sub`] does.
    #[inline(always)]
    #[track_caller]
    pub fn neg<const MULTIPLE: u64>(&self) -> Self {
        Self::sum::<0, 1, MULTIPLE>([], [self])
    }

    /// Returns the sum of `plus` less the sum of `minus`, which is at most `MULTIPLE * p`.
    #[inline(always)]
    #[track_caller]
    pub fn sum<const N: usize, const M: usize, const MULTIPLE: u64>(
        plus: [&Self; N],
        minus: [&Self; M],
    ) -> Self {
        let total = |of: &[&Self]| of.iter().fold(Bound::new(0), |sum, a| sum.plus(a.bound));
        let more = Bound::new(MULTIPLE);
        total(&minus).check(more);
        let row = const { &Row::multiple_of_p(MULTIPLE) };
        let numbers = K::sum(plus.map(|a| &a.numbers), minus.map(|a| &a.numbers), row);
        Self::new(numbers, total(&plus).plus(more))
    }

    /// Returns the element F times, F being 2^k or 3 * 2^k and below 2^6.
    #[inline(always)]
    pub fn times<const F: u64>(&self) -> Self {
        Self::new(K::times::<F>(&self.numbers), self.bound.times(F))
    }

    /// Returns the same elements, of numbers below 8 p, as numbers hardly above p.
    #[inline(always)]
    #[track_caller]
    pub fn reduced(&self) -> Self {
        self.bound.check(Bound::new(8));
        Self::new(K::reduce_coarsely(&self.numbers), Bound::PRODUCT)
    }

    /// Returns `other` in these lanes, this in the others.
    #[inline(always)]
    pub fn select(&self, lanes: Lanes, other: &Self) -> Self {
        let numbers = K::select(lanes, &self.numbers, &other.numbers);
        Self::new(numbers, self.bound.max(other.bound))
    }

    /// Returns, in lane i, the element of lane `from[i]`.
    #[inline(always)]
    pub fn permute(&self, from: &[u64; LANES]) -> Self {
        Self::new(K::permute(&self.numbers, from), self.bound)
    }

    /// Returns the numbers that stand for the elements.
    #[inline(always)]
    pub(super) fn numbers(&self) -> &K::Numbers {
        &self.numbers
    }

    /// Returns what the numbers are below.
    #[inline(always)]
    pub(super) fn bound(&self) -> Bound {
        self.bound
    }

    /// Returns the elements of these numbers.
    #[inline(always)]
    pub(super) fn new(numbers: K::Numbers, bound: Bound) -> Self {
        Self { numbers, bound }
    }
}

impl<K: Kernel> Plain<K> {
    /// Returns the lanes whose number is above (p - 1) / 2: which of y and -y is the larger.
    #[inline(always)]
    pub fn upper_half(&self) -> Lanes {
        K::above(&self.0, &HALF)
    }

    /// Encodes each number, big-endian.
    pub fn to_bytes(&self) -> [[u8; BYTES]; LANES] {
        K::to_rows(&self.0).map(|row| {
            let mut bytes = [0; BYTES];
            let words = row.to_words();
            for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words.iter().rev()) {
                *bytes = word.to_be_bytes();
            }
            bytes
        })
    }
}
