//! Verification: `spec/effs.md` section 6.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use super::challenge::{challenge, write_part};
use super::parameters::Parameters;
use super::public::{PublicKey, V};
use clew_simd::Backend;
use clew_simd::mont::{Kernel, Modulus, WORDS_MAX, words};
use clew_simd::mont::{Machine, Work};
use clew_wire::disclose;

/// Why a signature is refused: the first rule of section 6 that it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// It is longer or shorter than signatures of the key.
    Length,
    /// The key has no such level.
    Level,
    /// A y is 0.
    ZeroRoot,
    /// A y is beyond (n-1)/2.
    RootRange,
    /// A z is 0.
    ZeroCommitment,
    /// The hash is another.
    Challenge,
    /// A z is not what the signature carries of it.
    Commitment,
}

impl Refusal {
    /// Returns its name in the specification.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Level => "level",
            Self::ZeroRoot => "zero-root",
            Self::RootRange => "root-range",
            Self::ZeroCommitment => "zero-commitment",
            Self::Challenge => "challenge",
            Self::Commitment => "commitment",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for Refusal {}

/// What a signature was found to be worth: a forgery that gets so far takes 2 to so many hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Assurance(u16);

impl Assurance {
    /// Less may refuse a signature, and never accepts one.
    pub const ENOUGH: Self = Self(128);

    /// Returns the assurance in bits.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Returns whether the signature is to be accepted.
    pub fn is_enough(self) -> bool {
        self >= Self::ENOUGH
    }
}

impl Parameters {
    /// Returns the assurance that verification to a level gives.
    pub fn assurance(&self, level: u8) -> Assurance {
        Assurance(self.k() * u16::from(level))
    }

    /// Returns the lowest level that gives so many bits, or the highest that there is.
    pub fn level_for(&self, bits: u16) -> u8 {
        let level = bits.div_ceil(self.k()).max(1);
        level.min(self.t().into()) as u8
    }
}

/// A public key, ready to verify.
pub struct Verifier(Box<dyn Commit>);

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verifier({})", self.0.key().parameters())
    }
}

impl Verifier {
    /// Creates a verifier with the fastest backend. It takes some 70 or 140 KB.
    pub fn new(key: &PublicKey) -> Self {
        Self::on(key, Backend::best())
    }

    /// Creates a verifier with a named backend: for tests and measurements.
    ///
    /// # Panics
    ///
    /// If this machine does not have the backend.
    pub fn on(key: &PublicKey, backend: Backend) -> Self {
        struct Build<'a>(&'a PublicKey);
        impl Work for Build<'_> {
            type Out = Box<dyn Commit>;
            fn run<M: Machine>(self) -> Box<dyn Commit> {
                Box::new(Columns::<M::Full>::new(self.0))
            }
        }
        Self(key.parameters().size().run(backend, Build(key)))
    }

    /// Returns the key.
    pub fn key(&self) -> &PublicKey {
        self.0.key()
    }

    /// Verifies a signature up to a level, 1 to t.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn verify(
        &self,
        message: &[u8],
        signature: &[u8],
        level: u8,
    ) -> Result<Assurance, Refusal> {
        let parameters = self.key().parameters();
        if signature.len() != parameters.signature_bytes() {
            return Err(Refusal::Length);
        }
        if !(1..=parameters.t()).contains(&level) {
            return Err(Refusal::Level);
        }
        self.begin(message, signature)?.raise(level)
    }

    /// Verifies a signature at level 1, to be raised later (Wong and Lam, 3.3).
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn begin<'a>(
        &'a self,
        message: &[u8],
        signature: &'a [u8],
    ) -> Result<Progress<'a>, Refusal> {
        let parameters = self.key().parameters();
        if signature.len() != parameters.signature_bytes() {
            return Err(Refusal::Length);
        }
        let (challenge_bits, rest) = signature.split_at(parameters.challenge_bytes());
        let (roots, carried) =
            rest.split_at(usize::from(parameters.t()) * parameters.size().bytes());
        let progress = Progress {
            verifier: self,
            challenge: challenge_bits,
            roots,
            carried,
            level: 1,
        };
        let mut first = Vec::with_capacity(parameters.part_bytes());
        progress.write_part(0, &mut first)?;
        let expected = challenge(self.key(), message, [&first, carried]);
        match expected.starts_with(challenge_bits) {
            true => Ok(progress),
            false => Err(Refusal::Challenge),
        }
    }
}

/// A signature that is verified up to a level.
#[derive(Debug)]
pub struct Progress<'a> {
    verifier: &'a Verifier,
    challenge: &'a [u8],
    roots: &'a [u8],
    /// X_2 to X_t.
    carried: &'a [u8],
    level: u8,
}

impl Progress<'_> {
    /// Returns the level verified so far.
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// Returns the assurance of that level.
    pub fn assurance(&self) -> Assurance {
        self.verifier.key().parameters().assurance(self.level)
    }

    /// Verifies the rows up to that level which are not verified yet.
    ///
    /// # Errors
    /// The first rule that they break, or there is no such level.
    pub fn raise(&mut self, level: u8) -> Result<Assurance, Refusal> {
        let parameters = self.verifier.key().parameters();
        if !(self.level..=parameters.t()).contains(&level) {
            return Err(Refusal::Level);
        }
        let mut part = Vec::with_capacity(parameters.part_bytes());
        for row in self.level..level {
            part.clear();
            self.write_part(row.into(), &mut part)?;
            let start = usize::from(row - 1) * parameters.part_bytes();
            if self.carried[start..][..part.len()] != part {
                return Err(Refusal::Commitment);
            }
            self.level = row + 1;
        }
        Ok(self.assurance())
    }

    /// Appends Z of a row, from 0.
    fn write_part(&self, row: usize, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let key = self.verifier.key();
        let (width, size) = (key.parameters().row_bytes(), key.parameters().size());
        let root = &self.roots[row * size.bytes()..][..size.bytes()];
        let (mut y, mut z) = ([0; WORDS_MAX], [0; WORDS_MAX]);
        let (y, z) = (&mut y[..size.words()], &mut z[..size.words()]);
        words::read(y, root);
        self.verifier
            .0
            .commitment(&self.challenge[row * width..][..width], y, z)?;
        write_part(key, row, z, out);
        Ok(())
    }
}

/// Computes z of a row.
pub(super) trait Commit: Send + Sync {
    fn key(&self) -> &PublicKey;

    /// `z = y^2 v_1^b_1 .. v_k^b_k mod n`, of a y that section 6 lets pass.
    fn commitment(&self, row: &[u8], y: &[u64], z: &mut [u64]) -> Result<(), Refusal>;
}

/// Columns whose product stays below any modulus: 128 numbers of 16 bits.
const COLUMNS_MAX: usize = 128;

/// A public key with the products of each eight of its v.
pub(super) struct Columns<F: Kernel> {
    key: PublicKey,
    n: Modulus<F>,
    /// n / 2.
    half: Vec<u64>,
    /// What takes the product of y^2 and of all v to what it is without Rs.
    scale: F::Number,
    /// For each eight columns, the product of v for each byte of the challenge.
    products: Vec<[u128; 256]>,
    /// Which v are negative: a bit for each column, as in the challenge.
    negative: Vec<u8>,
}

impl<F: Kernel> Columns<F> {
    pub fn new(key: &PublicKey) -> Self {
        let n = Modulus::new(key.n()).expect("a key's modulus is odd and has all its bits");
        let mut half = key.n().to_vec();
        let mut above = 0;
        for word in half.iter_mut().rev() {
            (*word, above) = (*word >> 1 | above << 63, *word & 1);
        }
        let chunks = usize::from(key.parameters().k()).div_ceil(COLUMNS_MAX);
        Self {
            // One R is lost with y^2, one with the product of both, and one for each chunk of columns.
            scale: n.power_of_r(2 + chunks),
            half,
            products: key.v().chunks(8).map(products).collect(),
            negative: key.v().chunks(8).map(negative).collect(),
            key: key.clone(),
            n,
        }
    }

    /// `z` of a y that is in range.
    fn commit(&self, row: &[u8], y: &[u64], z: &mut [u64]) {
        let n = &self.n;
        let y = F::load(y);
        let mut chunks = row
            .chunks(COLUMNS_MAX / 8)
            .zip(self.products.chunks(COLUMNS_MAX / 8));
        let mut v = chunks
            .next()
            .map_or(self.scale, |(row, products)| product::<F>(row, products));
        let mut factor = self.scale;
        for (row, products) in chunks {
            factor = n.product(&product::<F>(row, products), &factor);
        }
        let [squared, scaled] = F::multiply([n, n], [&y, &v], [&y, &factor]);
        v = n.product(&squared, &scaled);
        n.canonical(&v, z);
        let signs = row
            .iter()
            .zip(&self.negative)
            .map(|(b, n)| (b & n).count_ones());
        if signs.sum::<u32>() % 2 == 1 {
            let positive = z.to_vec();
            z.copy_from_slice(n.words());
            words::sub(z, &positive);
        }
    }
}

impl<F: Kernel> Commit for Columns<F> {
    fn key(&self) -> &PublicKey {
        &self.key
    }

    fn commitment(&self, row: &[u8], y: &[u64], z: &mut [u64]) -> Result<(), Refusal> {
        // What a signer has just made is public from here on, too.
        if is_zero(y) {
            return Err(Refusal::ZeroRoot);
        }
        if disclose::bit(words::less(&self.half, y)) {
            return Err(Refusal::RootRange);
        }
        self.commit(row, y, z);
        match is_zero(z) {
            true => Err(Refusal::ZeroCommitment),
            false => Ok(()),
        }
    }
}

fn is_zero(number: &[u64]) -> bool {
    let all = number.iter().fold(0, |all, word| all | word);
    disclose::bit(u64::from(all == 0))
}

/// The products of eight v, by the byte that chooses among them.
fn products(v: &[V]) -> [u128; 256] {
    let mut products = [1; 256];
    for byte in 1..256usize {
        let last = byte.trailing_zeros();
        let v = u128::from(v[7 - last as usize].magnitude);
        products[byte] = products[byte & (byte - 1)] * v;
    }
    products
}

fn negative(v: &[V]) -> u8 {
    v.iter().fold(0, |byte, v| byte << 1 | u8::from(v.negative))
}

/// The product of up to [`COLUMNS_MAX`] columns. All is public here: short factors take less time.
fn product<F: Kernel>(row: &[u8], products: &[[u128; 256]]) -> F::Number {
    let mut out = [0u64; 2 * COLUMNS_MAX / 8 + 2];
    out[0] = 1;
    let mut length = 1;
    for (byte, products) in row.iter().zip(products) {
        length = times(&mut out, length, products[usize::from(*byte)]);
    }
    F::load(&out[..length])
}

/// `out *= factor`, of so many words; how many it has then.
fn times(out: &mut [u64; 2 * COLUMNS_MAX / 8 + 2], length: usize, factor: u128) -> usize {
    let (low, high) = (factor as u64, (factor >> 64) as u64);
    let (mut carry, mut carry_high, mut before) = (0, 0, 0u64);
    for word in &mut out[..length + 2] {
        let sum = u128::from(*word) * u128::from(low) + carry;
        let with_high = u128::from(before) * u128::from(high) + u128::from(sum as u64) + carry_high;
        before = *word;
        (*word, carry, carry_high) = (with_high as u64, sum >> 64, with_high >> 64);
    }
    let top = out[..length + 2].iter().rposition(|word| *word != 0);
    top.map_or(0, |top| top + 1)
}
