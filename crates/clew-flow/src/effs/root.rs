//! The signing key s_1 to s_k modulo p and q, and products of it: `spec/effs.md` sections 3 and 4.

use alloc::vec::Vec;
use zeroize::{Zeroize, Zeroizing};

use super::public::V;
use clew_simd::mont::{Kernel, Modulus, WORDS_MAX, powers, words};
use clew_wire::disclose;

/// A number modulo p, and it or another modulo q.
pub type Pair<K> = [<K as Kernel>::Number; 2];

/// Bytes of the longest row, by fours.
const FOURS_MAX: usize = 256 / 8 / 4;

/// For each eight of the s_j, their products by the byte of the challenge that chooses them (Wong and Lam,
/// 3.2, 8-bit precomputation). That byte is public, and so is which products are read.
pub struct Roots<H: Kernel> {
    p: Modulus<H>,
    q: Modulus<H>,
    /// `1/q mod p`, in Montgomery form.
    q_inverse: H::Number,
    products: Vec<[Pair<H>; 256]>,
}

impl<H: Kernel> Drop for Roots<H> {
    fn drop(&mut self) {
        self.q_inverse.zeroize();
        let numbers = self.products.iter_mut().flatten().flatten();
        numbers.for_each(Zeroize::zeroize);
    }
}

impl<H: Kernel> Roots<H> {
    /// Creates the roots from two primes and the result of [`roots`].
    pub fn new([p, q]: [&[u64]; 2], roots: &[u64]) -> Self {
        let prime =
            |words| Modulus::<H>::new(words).expect("primes are odd and have all their bits");
        let (p, q) = (prime(p), prime(q));
        let pair = |words: &[u64]| {
            let (of_p, of_q) = words.split_at(H::WORDS);
            [p.montgomery(&H::load(of_p)), q.montgomery(&H::load(of_q))]
        };
        let roots: Vec<Pair<H>> = roots.chunks(2 * H::WORDS).map(pair).collect();
        let products = roots.chunks(8).map(|eight| subsets(&p, &q, eight));
        Self {
            products: products.collect(),
            q_inverse: inverse(&p, &q),
            p,
            q,
        }
    }

    /// Returns p, q, p, q and so on.
    pub fn moduli_by_turns(&self) -> [&Modulus<H>; 8] {
        let [p, q] = [&self.p, &self.q];
        [p, q, p, q, p, q, p, q]
    }

    /// Returns `r s_1^b_1 .. s_k^b_k` modulo p and q. Four chains of each are under way, where
    /// there are as many factors; then two, then one.
    pub fn product(&self, row: &[u8], r: &Pair<H>) -> Pair<H> {
        let n = self.moduli_by_turns();
        let pair = [n[0], n[1]];
        let chosen = |i: usize| &self.products[i][usize::from(row[i])];
        let (fours, rest) = (row.len() / 4, row.len() / 4 * 4..row.len());
        let mut product = *r;
        for i in rest {
            product = H::multiply(pair, product.each_ref(), chosen(i).each_ref());
        }
        if fours == 0 {
            return product;
        }
        let mut factors = [[&r[0]; 8]; FOURS_MAX];
        for (i, eight) in factors[..fours].iter_mut().enumerate() {
            let [a, b, c, d] = [0, 1, 2, 3].map(|of_four| chosen(4 * i + of_four));
            *eight = [&a[0], &a[1], &b[0], &b[1], &c[0], &c[1], &d[0], &d[1]];
        }
        let mut eight = H::chains(n, &factors[..fours]);
        let [a, b] = [[0, 1, 2, 3], [4, 5, 6, 7]].map(|half| half.map(|at| &eight[at]));
        let mut four = H::multiply([n[0], n[1], n[0], n[1]], a, b);
        let [x_p, x_q, y_p, y_q] = &four;
        let mut roots = H::multiply(pair, [x_p, x_q], [y_p, y_q]);
        product = H::multiply(pair, product.each_ref(), roots.each_ref());
        // Products of roots alone would tell relations of them.
        eight.zeroize();
        four.zeroize();
        roots.zeroize();
        product
    }

    /// Writes `((a - b)(1/q mod p) mod p) q + b` to `out`: the number that is a modulo p and b
    /// modulo q (Wong and Lam, 3.2).
    pub fn combine(&self, [a, b]: &Pair<H>, out: &mut [u64]) {
        let (p, q) = (&self.p, &self.q);
        let mut buffers = [[0; WORDS_MAX / 2]; 2];
        let [of_q, factor] = buffers.each_mut().map(|buffer| &mut buffer[..H::WORDS]);
        q.canonical(b, of_q);
        // Of b itself, not of b + q, which is another modulo p.
        let mut difference = H::difference(p, a, &H::load(of_q));
        p.canonical(&p.product(&difference, &self.q_inverse), factor);
        let (low, high) = out.split_at_mut(H::WORDS);
        low.copy_from_slice(of_q);
        high.fill(0);
        words::mul_add(out, factor, &q.words()[..H::WORDS]);
        difference.zeroize();
        buffers.zeroize();
    }
}

/// Returns s_1 to s_k, the words of each modulo p and then modulo q: `(v^-1)^((p+1)/4)` is
/// `v^((3p-5)/4)`, and so for q. Returns `None` if one is not a root of 1/v, because p or q is not
/// prime or v not a square.
pub fn roots<H: Kernel>([p, q]: [&[u64]; 2], v: &[V]) -> Option<Zeroizing<Vec<u64>>> {
    let (p, q) = (&Modulus::<H>::new(p)?, &Modulus::<H>::new(q)?);
    let exponents = [p, q].map(|prime| exponent(prime.words()));
    let [of_p, of_q] = &exponents;
    let mut roots = Zeroizing::new(alloc::vec![0; v.len() * 2 * H::WORDS]);
    for (v, words) in v.iter().zip(roots.chunks_mut(2 * H::WORDS)) {
        let base = [p, q].map(|prime| prime.montgomery(&residue(prime, v)));
        let root = powers([p, q], base.each_ref(), [of_p, of_q]);
        let square = H::multiply([p, q], root.each_ref(), root.each_ref());
        let [one_p, one_q] = &H::multiply([p, q], square.each_ref(), base.each_ref());
        if !is_one(p, one_p) || !is_one(q, one_q) {
            return None;
        }
        p.plain(&root[0], &mut words[..H::WORDS]);
        q.plain(&root[1], &mut words[H::WORDS..]);
    }
    Some(roots)
}

/// `(3p - 5) / 4` for `p = 4m + 3`: that is 3m + 1.
fn exponent(p: &[u64]) -> Zeroizing<Vec<u64>> {
    let mut m = p.to_vec();
    let mut above = 0;
    for word in m.iter_mut().rev() {
        (*word, above) = (*word >> 2 | above << 62, *word & 3);
    }
    let mut exponent = m.clone();
    words::add(&mut exponent, &m);
    words::add(&mut exponent, &m);
    let mut one = alloc::vec![0; p.len()];
    one[0] = 1;
    words::add(&mut exponent, &one);
    m.zeroize();
    Zeroizing::new(exponent)
}

/// v modulo a prime.
fn residue<H: Kernel>(prime: &Modulus<H>, v: &V) -> H::Number {
    let magnitude = [u64::from(v.magnitude)];
    if !v.negative {
        return H::load(&magnitude);
    }
    let mut words = prime.words().to_vec();
    let mut subtrahend = alloc::vec![0; words.len()];
    subtrahend[..1].copy_from_slice(&magnitude);
    words::sub(&mut words, &subtrahend);
    let residue = H::load(&words);
    words.zeroize();
    residue
}

fn is_one<H: Kernel>(prime: &Modulus<H>, number: &H::Number) -> bool {
    let mut plain = alloc::vec![0; prime.words().len()];
    prime.plain(number, &mut plain);
    let rest = plain[1..].iter().fold(plain[0] ^ 1, |all, word| all | word);
    // As it is of every secret key.
    disclose::bit(u64::from(rest == 0))
}

/// `q^-1 = q^(p-2)` modulo p.
fn inverse<H: Kernel>(p: &Modulus<H>, q: &Modulus<H>) -> H::Number {
    let mut exponent = p.words().to_vec();
    // p is 3 modulo 4: nothing borrows.
    exponent[0] -= 2;
    let base = p.montgomery(&H::load(q.words()));
    let [inverse] = powers([p], [&base], [&exponent]);
    exponent.zeroize();
    inverse
}

/// The products of all subsets of eight roots; the first root is chosen by the top bit.
fn subsets<H: Kernel>(p: &Modulus<H>, q: &Modulus<H>, eight: &[Pair<H>]) -> [Pair<H>; 256] {
    let mut products = [[p, q].map(|prime| *prime.one()); 256];
    for byte in 1..256usize {
        let root = &eight[7 - byte.trailing_zeros() as usize];
        let rest = &products[byte & (byte - 1)];
        products[byte] = H::multiply([p, q], rest.each_ref(), root.each_ref());
    }
    products
}
