//! Public keys: `spec/effs.md` section 3.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use sha2::{Digest as _, Sha256};

use super::parameters::{Parameters, Rule};
use super::small::{is_prime, primes};
use clew_simd::mont::words;
use clew_wire::disclose;

/// Bytes before n.
const HEADER_BYTES: usize = 5;

/// Why bytes are no key: the rule that they break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BadKey {
    /// The first byte names no rule and form.
    Rule,
    /// The modulus has neither 2048 nor 3072 bits.
    ModulusSize,
    /// Columns and rows that there are not.
    Parameters,
    /// More or fewer bytes than the parameters make.
    Length,
    /// n has less bits, or is not of the residue that the rule makes: it is even, for example.
    Modulus,
    /// The v do not ascend: one is repeated, or they stand in another order.
    VOrder,
    /// A v is not prime: a square, for example.
    VPrime,
    /// The secret key is not that of the public one, or its primes are none of these.
    Secret,
}

impl BadKey {
    /// Returns its name in the specification.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::ModulusSize => "modulus-size",
            Self::Parameters => "parameters",
            Self::Length => "length",
            Self::Modulus => "modulus",
            Self::VOrder => "v-order",
            Self::VPrime => "v-prime",
            Self::Secret => "secret",
        }
    }
}

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for BadKey {}

/// A v_j.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct V {
    /// Without its sign.
    pub magnitude: u16,
    pub negative: bool,
}

/// A public key: n and v_1 to v_k.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    parameters: Parameters,
    n: Vec<u64>,
    v: Vec<V>,
    bytes: Vec<u8>,
    id: [u8; 32],
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.parameters)
    }
}

impl PublicKey {
    /// Reads a public key.
    ///
    /// # Errors
    /// The first rule of section 3 that it breaks.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadKey> {
        let parameters = Self::parameters_of(bytes)?;
        let (n, v) = bytes[HEADER_BYTES..].split_at(parameters.size().bytes());
        let mut words = vec![0; parameters.size().words()];
        words::read(&mut words, n);
        let residue = match parameters.rule() {
            Rule::Paper => words[0] % 4 == 1,
            Rule::Williams => words[0] % 8 == 5,
        };
        if !residue || words[words.len() - 1] >> 63 == 0 {
            return Err(BadKey::Modulus);
        }
        let v = match parameters.rule() {
            Rule::Paper => ascending(v)?,
            Rule::Williams => tweaked(v),
        };
        Ok(Self {
            parameters,
            n: words,
            v,
            bytes: bytes.to_vec(),
            id: Sha256::new_with_prefix(b"pk")
                .chain_update(bytes)
                .finalize()
                .into(),
        })
    }

    /// Returns the parameters of a public key of the right length, whatever else is wrong with it.
    ///
    /// # Errors
    /// What is wrong with them, or with the length.
    pub fn parameters_of(bytes: &[u8]) -> Result<Parameters, BadKey> {
        let [rule, high, low, columns, rows] =
            *bytes.first_chunk::<HEADER_BYTES>().ok_or(BadKey::Length)?;
        let size = u16::from_be_bytes([high, low]);
        let parameters = Parameters::read(rule, size, columns, rows)?;
        match bytes.len() == parameters.public_key_bytes() {
            true => Ok(parameters),
            false => Err(BadKey::Length),
        }
    }

    /// Of the modulus and the v that the rule gives, which are public from here on.
    pub(super) fn of(parameters: Parameters, n: &[u64], v: &[V]) -> Result<Self, BadKey> {
        let mut bytes = parameters.header().to_vec();
        bytes.resize(HEADER_BYTES + parameters.size().bytes(), 0);
        words::write(&mut bytes[HEADER_BYTES..], n);
        match parameters.rule() {
            Rule::Paper => bytes.extend(v.iter().flat_map(|v| v.magnitude.to_be_bytes())),
            Rule::Williams => bytes.extend(v.chunks(4).map(|four| {
                let code =
                    |v: &V| u8::from(v.magnitude.is_multiple_of(2)) << 1 | u8::from(v.negative);
                four.iter().fold(0, |byte, v| byte << 2 | code(v))
            })),
        }
        disclose::bytes(&mut bytes[HEADER_BYTES..]);
        Self::from_bytes(&bytes)
    }

    /// Returns the encoded public key.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns its parameters.
    pub const fn parameters(&self) -> Parameters {
        self.parameters
    }

    /// n.
    pub(super) fn n(&self) -> &[u64] {
        &self.n
    }

    pub(super) fn v(&self) -> &[V] {
        &self.v
    }

    /// What challenges bind: pkid.
    pub(super) const fn id(&self) -> &[u8; 32] {
        &self.id
    }
}

/// The v of the paper's rule.
fn ascending(bytes: &[u8]) -> Result<Vec<V>, BadKey> {
    let (pairs, _) = bytes.as_chunks::<2>();
    let v: Vec<u16> = pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect();
    if !v.is_sorted_by(|a, b| a < b) {
        return Err(BadKey::VOrder);
    }
    if !v.iter().all(|v| is_prime(*v)) {
        return Err(BadKey::VPrime);
    }
    let positive = |magnitude| V {
        magnitude,
        negative: false,
    };
    Ok(v.into_iter().map(positive).collect())
}

/// The v of Williams' rule: each byte has four.
fn tweaked(bytes: &[u8]) -> Vec<V> {
    let odd = primes().into_iter().skip(1);
    let codes = bytes
        .iter()
        .flat_map(|byte| [6, 4, 2, 0].map(|at| byte >> at & 3));
    let v = odd.zip(codes).map(|(l, code)| V {
        magnitude: l << (code >> 1),
        negative: code & 1 == 1,
    });
    v.collect()
}
