//! The table of what touches secrets, and of the controls that leak them.

use super::valgrind;
use clew_group::EpochId;
use clew_group::bbs04::{
    IssuerKey, MemberKey, Nonces, OpenerKey, PublicKey, Revocation, Signature, SigningKey,
};
use clew_group::curve::{FixedBase, G1, G2, PreparedG2, Scalar, pairing_product};
use core::convert::Infallible;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng, TryCryptoRng, TryRng};
use std::hint::black_box;

/// Products of scalars are too fast for a clock: that many follow each other.
const CHAIN: usize = 64;

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

/// What is public, or was made before: a group, a signature, tables.
pub struct Fixture {
    group: PublicKey,
    issuer: IssuerKey,
    signature: Signature,
    signer: SigningKey,
    revocation: Revocation,
    fixed: FixedBase,
    prepared: [PreparedG2; 2],
}

impl Fixture {
    pub fn new() -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let (_, opening) = OpenerKey::generate(&[7; 32], &mut rng);
        let (issuer, issuing) = IssuerKey::generate(&mut rng);
        let group = PublicKey::genesis(&opening, &issuing);
        let mut member = issuer.issue_random(&group, &mut rng);
        valgrind::mark_secret(&mut member);
        let signer = SigningKey::new(&group, EPOCH, member).expect("the issuer's own key");
        // What others see is of a member whose secrets are not followed.
        let public = issuer.issue_random(&group, &mut rng);
        let other = SigningKey::new(&group, EPOCH, public).expect("the issuer's own key");
        let revocation = issuer.revoke(&group, Scalar::random(&mut rng));
        Self {
            signature: other.precursor(&mut rng).sign(&[b"opened"]),
            revocation: revocation.expect("a random x is not -gamma"),
            fixed: FixedBase::new(&G1::generator()),
            prepared: [G2::generator(), G2::generator().mul(&Scalar::from_u128(7))]
                .map(|point| PreparedG2::new(&point)),
            group,
            issuer,
            signer,
        }
    }
}

/// Everything that touches a secret, a line each.
pub fn all(f: &Fixture) -> Vec<Operation<'_>> {
    let two = |d: &mut Draws| [d.scalar(), d.scalar()];
    let points = |d: &mut Draws| [(); 2].map(|()| G1::generator().mul(&d.scalar()));
    let [q1, q2] = &f.prepared;
    vec![
        Operation::new("scalar add", two, |[a, b]| a + b),
        Operation::new("scalar sub, neg", two, |[a, b]| -(a - b)),
        Operation::new("scalar mul x 64", two, |[a, b]| {
            (0..CHAIN).fold(a, |a, _| a * b)
        })
        .timed(),
        Operation::new("scalar invert", Draws::scalar, |a| a.invert()).timed(),
        Operation::new("scalar to bytes", Draws::scalar, |a| a.to_bytes()),
        Operation::new("scalar from 64 bytes", seed, |seed| {
            let mut wide = [0; 64];
            wide[..32].copy_from_slice(&seed);
            Scalar::from_wide(&wide)
        }),
        Operation::new("G1 add, sub, double", points, |[p, q]| (p - q).double() + p),
        Operation::new("G1 mul", Draws::scalar, |k| G1::generator().mul(&k)).timed(),
        Operation::new("G1 to bytes", points, |points| G1::to_bytes_many(&points)),
        Operation::new("G2 mul", Draws::scalar, |k| G2::generator().mul(&k)),
        Operation::new("fixed-base mul", Draws::scalar, |k| f.fixed.mul(&k)).timed(),
        Operation::new("fixed-base table", points, |[p, _]| {
            FixedBase::new(&p).mul(&Scalar::from_u128(5))
        }),
        Operation::new("pairings", points, move |[p, q]| {
            pairing_product([(&p, q1), (&q, q2)]).to_bytes()
        }),
        Operation::new("bbs04 sign", Nonces::random, |nonces| {
            f.signer.precursor_from(nonces).sign(&[b"a packet"])
        })
        .timed(),
        Operation::new("bbs04 new signing key", member(f), |(key, nonces)| {
            let signer = SigningKey::new(&f.group, EPOCH, key).expect("the issuer's own key");
            signer.precursor_from(nonces).sign(&[b"a packet"])
        }),
        Operation::new("bbs04 open", opener, |key| key.open(&f.signature)).timed(),
        Operation::new("bbs04 issue", issuer, |(key, x)| key.issue(&f.group, x)).timed(),
        Operation::new("bbs04 revoke", issuer, |(key, x)| key.revoke(&f.group, x)),
        Operation::new("bbs04 member update", member(f), |(key, _)| {
            key.after(&f.revocation)
        }),
        Operation::new("bbs04 precursor", nothing, |()| {
            f.signer.precursor(&mut Followed(Draws::random(5)))
        }),
        Operation::new("bbs04 new issuing key", nothing, |()| {
            let (key, issuing) = IssuerKey::generate(&mut Followed(Draws::random(6)));
            (key.to_bytes(), issuing)
        }),
        Operation::new("bbs04 keys to bytes", member_and_opener(f), |(a, b)| {
            (a.to_bytes(), b.to_bytes())
        }),
    ]
}

fn seed(draws: &mut Draws) -> [u8; 32] {
    draws.scalar().to_bytes()
}

fn member(f: &Fixture) -> impl Fn(&mut Draws) -> (MemberKey, Nonces) + '_ {
    |draws| {
        (
            f.issuer.issue_random(&f.group, draws),
            Nonces::random(draws),
        )
    }
}

fn member_and_opener(f: &Fixture) -> impl Fn(&mut Draws) -> (MemberKey, OpenerKey) + '_ {
    |draws| (f.issuer.issue_random(&f.group, draws), opener(draws))
}

fn nothing(_: &mut Draws) {}

fn opener(draws: &mut Draws) -> OpenerKey {
    let bytes = [draws.scalar(), draws.scalar()].map(|xi| xi.to_bytes());
    OpenerKey::from_bytes(bytes.as_flattened()).expect("two scalars")
}

fn issuer(draws: &mut Draws) -> (IssuerKey, Scalar) {
    let key = IssuerKey::from_bytes(&draws.scalar().to_bytes()).expect("a scalar");
    (key, draws.scalar())
}

/// What both checks must find.
pub fn controls<'a>() -> Vec<Operation<'a>> {
    vec![
        Operation::new("control: branch", Draws::scalar, |k| branching_mul(&k)).timed(),
        Operation::new("control: address", Draws::scalar, |k| looked_up(&k)),
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
