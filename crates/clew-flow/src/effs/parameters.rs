//! What there is to choose: `spec/effs.md` section 2.

use core::fmt;
use core::str::FromStr;

use clew_simd::Backend;
use clew_simd::mont::{Work, run_2048, run_3072};

/// Bits of the modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Size {
    /// 112-bit class.
    N2048 = 2048,
    /// 128-bit class.
    N3072 = 3072,
}

impl Size {
    /// Returns the number of bytes of a number modulo n.
    pub const fn bytes(self) -> usize {
        self as usize / 8
    }

    /// Runs `work` with the backend's kernels for numbers of this size.
    pub(super) fn run<W: Work>(self, backend: Backend, work: W) -> W::Out {
        match self {
            Self::N2048 => run_2048(backend, work),
            Self::N3072 => run_3072(backend, work),
        }
    }

    /// 64-bit words of a number modulo n.
    pub(super) const fn words(self) -> usize {
        self as usize / 64
    }
}

/// Which small numbers are v_1 to v_k.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The first primes that are squares (Wong and Lam, 3.2).
    Paper = 1,
    /// The first odd primes, each with the sign and the factor of two that make it a square: shorter keys.
    Williams = 2,
}

/// How a signature of several rows carries its commitments x_2 to x_t.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Whole (Wong and Lam, 3.3).
    Paper,
    /// By their hashes.
    Compact,
}

/// Added to the rule in a public key whose form is compact.
const COMPACT: u8 = 16;

/// Size of a commitment's hash.
pub(super) const HASH_BYTES: usize = 32;

/// The parameters of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameters {
    size: Size,
    columns: u8,
    rows: u8,
    rule: Rule,
    form: Form,
}

impl Parameters {
    /// Returns `(k, t)` columns and rows of that size, or `None` if k t is neither 128 nor 256, or
    /// t none of 1, 2, 4 and 8. By the paper's rule, and compact if there is more than one row.
    pub const fn new(size: Size, k: u16, t: u8) -> Option<Self> {
        if !matches!(t, 1 | 2 | 4 | 8) || !matches!(k as u32 * t as u32, 128 | 256) {
            return None;
        }
        Some(Self {
            size,
            columns: (k / 8) as u8,
            rows: t,
            rule: Rule::Paper,
            form: if t == 1 { Form::Paper } else { Form::Compact },
        })
    }

    /// Replaces the rule of v.
    pub const fn with_rule(self, rule: Rule) -> Self {
        Self { rule, ..self }
    }

    /// Replaces the form of signatures by the paper's.
    pub const fn in_papers_form(self) -> Self {
        Self {
            form: Form::Paper,
            ..self
        }
    }

    /// Of the first byte of a public key, N, k/8 and t.
    pub(super) fn read(rule: u8, size: u16, columns: u8, rows: u8) -> Result<Self, super::BadKey> {
        use super::BadKey;
        let (form, rule) = match rule & COMPACT {
            0 => (Form::Paper, rule),
            _ => (Form::Compact, rule - COMPACT),
        };
        let rule = match rule {
            1 => Rule::Paper,
            2 => Rule::Williams,
            _ => return Err(BadKey::Rule),
        };
        let size = match size {
            2048 => Size::N2048,
            3072 => Size::N3072,
            _ => return Err(BadKey::ModulusSize),
        };
        let parameters = Self::new(size, u16::from(columns) * 8, rows);
        let parameters = parameters.ok_or(BadKey::Parameters)?.with_rule(rule);
        match form {
            Form::Paper => Ok(parameters.in_papers_form()),
            Form::Compact if rows == 1 => Err(BadKey::Parameters),
            Form::Compact => Ok(parameters),
        }
    }

    /// The bytes that [`Self::read`] reads.
    pub(super) fn header(&self) -> [u8; 5] {
        let compact = if self.form == Form::Compact {
            COMPACT
        } else {
            0
        };
        let [high, low] = (self.size as u16).to_be_bytes();
        [
            self.rule as u8 | compact,
            high,
            low,
            self.columns,
            self.rows,
        ]
    }

    /// Returns the size of the modulus.
    pub const fn size(&self) -> Size {
        self.size
    }

    /// Returns k, the columns of the challenge: bits of a row.
    pub const fn k(&self) -> u16 {
        self.columns as u16 * 8
    }

    /// Returns t, the rows of the challenge: levels of verification.
    pub const fn t(&self) -> u8 {
        self.rows
    }

    /// Returns the rule by which v was chosen.
    pub const fn rule(&self) -> Rule {
        self.rule
    }

    /// Returns the form of signatures.
    pub const fn form(&self) -> Form {
        self.form
    }

    /// Bytes of a row of the challenge.
    pub(super) const fn row_bytes(&self) -> usize {
        self.columns as usize
    }

    /// Bytes of the challenge.
    pub(super) const fn challenge_bytes(&self) -> usize {
        self.columns as usize * self.rows as usize
    }

    /// Bytes of a commitment as a signature carries it.
    pub(super) const fn part_bytes(&self) -> usize {
        match self.form {
            Form::Paper => self.size.bytes(),
            Form::Compact => HASH_BYTES,
        }
    }

    /// Returns the size of a signature in bytes.
    pub const fn signature_bytes(&self) -> usize {
        let rows = self.rows as usize;
        self.challenge_bytes() + rows * self.size.bytes() + (rows - 1) * self.part_bytes()
    }

    /// Returns the size of a public key in bytes.
    pub const fn public_key_bytes(&self) -> usize {
        let v = match self.rule {
            Rule::Paper => 2 * self.k() as usize,
            Rule::Williams => self.k() as usize / 4,
        };
        5 + self.size.bytes() + v
    }

    /// Returns the size of a secret key in bytes.
    pub const fn secret_key_bytes(&self) -> usize {
        self.size.bytes() + super::secret::SEED_BYTES
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (size, k, t) = (self.size as u16, self.k(), self.t());
        write!(f, "effs-{size}({k},{t})")
    }
}

/// The text names no parameters that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownParameters;

impl fmt::Display for UnknownParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such parameters: effs-N(k,t), N being 2048 or 3072, t 1, 2, 4 or 8, and k t 128 or 256")
    }
}

impl core::error::Error for UnknownParameters {}

impl FromStr for Parameters {
    type Err = UnknownParameters;

    /// Reads what is displayed, or `effs-N` of (128,1).
    fn from_str(text: &str) -> Result<Self, UnknownParameters> {
        let parse = || {
            let text = text.strip_prefix("effs-")?;
            let (size, rest) = text.split_once('(').unwrap_or((text, "128,1)"));
            let (k, t) = rest.strip_suffix(')')?.split_once(',')?;
            let size = match size {
                "2048" => Size::N2048,
                "3072" => Size::N3072,
                _ => return None,
            };
            Self::new(size, k.parse().ok()?, t.parse().ok()?)
        };
        parse().ok_or(UnknownParameters)
    }
}
