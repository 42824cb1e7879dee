//! The table of what touches secrets, and of the controls that leak them.

mod bbs04;
mod curve;
mod effs;
mod quorum;
mod tunnel;
mod xr;

use super::valgrind;
use clew_group::EpochId;
use clew_group::curve::{G1, Scalar};
use core::convert::Infallible;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng, TryCryptoRng, TryRng};
use std::hint::black_box;

/// The id of the one epoch.
const EPOCH: EpochId = EpochId([0xe0; 32]);

/// A secret of its own, and what is done with it.
pub struct Operation<'a> {
    pub name: &'static str,
    /// Whether `timing` measures it, too.
    pub is_timed: bool,
    prepare: Box<dyn Fn(&mut Draws) -> Work<'a> + 'a>,
}

/// Does the work once and says whether memcheck takes the result for a secret.
pub type Work<'a> = Box<dyn FnOnce() -> bool + 'a>;

impl<'a> Operation<'a> {
    /// `secret` makes what is marked secret, which may hold no pointers; `work` is what is checked.
    fn new<I: 'a, O>(
        name: &'static str,
        secret: impl Fn(&mut Draws) -> I + 'a,
        work: impl Fn(I) -> O + Copy + 'a,
    ) -> Self {
        let prepare = move |draws: &mut Draws| -> Work<'a> {
            let mut input = secret(draws);
            valgrind::mark_secret(&mut input);
            Box::new(move || {
                let mut output = black_box(work(black_box(input)));
                let is_secret = valgrind::is_secret(&output);
                // Declassified: nothing is done with a result after this but to drop it.
                valgrind::mark_public(&mut output);
                is_secret
            })
        };
        Self {
            name,
            is_timed: false,
            prepare: Box::new(prepare),
        }
    }

    /// The same, to be measured as well: for what takes a secret of its own in each packet or opening.
    fn timed(self) -> Self {
        Self {
            is_timed: true,
            ..self
        }
    }

    /// Draws a secret, outside of what is measured.
    pub fn prepare(&self, draws: &mut Draws) -> Work<'a> {
        (self.prepare)(draws)
    }
}

/// Where the numbers in secrets come from: short and sparse ones, or random ones.
pub enum Draws {
    Sparse(u8),
    Random(Box<ChaCha20Rng>),
}

impl Draws {
    /// Always the same numbers: little-endian `n + 2^64` for n = 1, 2, ...
    pub fn sparse() -> Self {
        Self::Sparse(0)
    }

    pub fn random(seed: u64) -> Self {
        Self::Random(Box::new(ChaCha20Rng::seed_from_u64(seed)))
    }

    fn scalar(&mut self) -> Scalar {
        Scalar::random(self)
    }
}

impl TryRng for Draws {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        match self {
            Self::Random(rng) => rng.fill_bytes(out),
            Self::Sparse(n) => {
                *n = n.wrapping_add(1);
                out.fill(0);
                out.iter_mut()
                    .step_by(8)
                    .zip([*n, 1])
                    .for_each(|(o, b)| *o = b);
            }
        }
        Ok(())
    }
}

/// Sparse draws are no randomness, but what is measured asks for this.
impl TryCryptoRng for Draws {}

/// Draws that are followed: where an operation makes its secrets itself.
struct Followed(Draws);

impl TryRng for Followed {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut value = self.0.try_next_u32()?;
        valgrind::mark_secret(&mut value);
        Ok(value)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut value = self.0.try_next_u64()?;
        valgrind::mark_secret(&mut value);
        Ok(value)
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(out)?;
        valgrind::mark_secret(out);
        Ok(())
    }
}

impl TryCryptoRng for Followed {}

/// What is public, or was made before.
pub struct Fixture {
    curve: curve::Fixture,
    bbs04: bbs04::Fixture,
    xr: xr::Fixture,
    quorum: quorum::Fixture,
    effs: effs::Fixture,
}

impl Fixture {
    pub fn new() -> Self {
        Self {
            curve: curve::Fixture::new(),
            bbs04: bbs04::Fixture::new(),
            xr: xr::Fixture::new(),
            quorum: quorum::Fixture::new(),
            effs: effs::Fixture::new(),
        }
    }
}

/// Everything that touches a secret, a line each.
pub fn all(fixture: &Fixture) -> Vec<Operation<'_>> {
    let parts = [
        curve::all(&fixture.curve),
        bbs04::all(&fixture.bbs04),
        xr::all(&fixture.xr),
        quorum::all(&fixture.quorum),
        tunnel::all(),
        effs::all(&fixture.effs),
    ];
    parts.into_iter().flatten().collect()
}

fn nothing(_: &mut Draws) {}

fn random(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Bytes in the value itself, where memcheck sees them.
fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("of that length")
}

/// Draws that are followed.
fn followed(seed: u64) -> Followed {
    Followed(Draws::random(seed))
}

/// What both checks must find.
pub fn controls<'a>() -> Vec<Operation<'a>> {
    vec![
        Operation::new("control: branch", Draws::scalar, |k| branching_mul(&k)).timed(),
        Operation::new("control: address", Draws::scalar, |k| looked_up(&k)),
        effs::control(),
    ]
}

/// `k * G` as textbooks have it: bits of the secret that are zero take no addition.
fn branching_mul(k: &Scalar) -> G1 {
    let mut sum = G1::default();
    for byte in k.to_bytes() {
        for bit in (0..8).rev() {
            sum = sum.double();
            if byte >> bit & 1 == 1 {
                sum += G1::generator();
            }
        }
    }
    sum
}

/// Bytes of a table, at places that the secret says.
fn looked_up(k: &Scalar) -> u8 {
    let table: [u8; 256] = black_box(core::array::from_fn(|i| (i * 7 + 3) as u8));
    k.to_bytes()
        .iter()
        .fold(0, |all, byte| all ^ table[usize::from(*byte)])
}
