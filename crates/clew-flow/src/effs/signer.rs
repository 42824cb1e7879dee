//! Signing: `spec/effs.md` section 4.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use rand_core::CryptoRng;

use super::challenge::{challenge, write_part};
use super::nonce::{Instance, Nonce, Pool};
use super::public::PublicKey;
use super::root::Roots;
use super::secret::SecretKey;
use super::verifier::{Columns, Commit as _};
use clew_simd::Backend;
use clew_simd::mont::{Kernel, WORDS_MAX, words};
use clew_simd::mont::{Machine, Work};
use clew_wire::disclose;

/// The signature that was just made does not hold: the machine computed wrong. It was not let out, since
/// it could tell the key (Boneh, DeMillo and Lipton, 1997).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault;

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the signature does not hold: this machine's memory or processor is faulty")
    }
}

impl core::error::Error for Fault {}

/// A secret key, ready to sign. Wiped when it is dropped, and never printed. A clone has the same roots, and
/// draws nonces of its own.
pub struct Signer {
    engine: Box<dyn Engine>,
    public: PublicKey,
    instance: Arc<dyn Fn() -> Instance + Send + Sync>,
}

impl Clone for Signer {
    fn clone(&self) -> Self {
        Self {
            engine: self.engine.another(),
            public: self.public.clone(),
            instance: Arc::clone(&self.instance),
        }
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({}, ..)", self.public.parameters())
    }
}

impl Signer {
    /// Creates a signer with the fastest backend. This computes roots and their products, 1 to 3
    /// MiB. `instance` returns the boot and process in which it is called.
    pub fn new(key: &SecretKey, instance: impl Fn() -> Instance + Send + Sync + 'static) -> Self {
        Self::on(key, Backend::best(), instance)
    }

    /// Creates a signer with a named backend: for tests and measurements.
    ///
    /// # Panics
    ///
    /// If this machine does not have the backend.
    pub fn on(
        key: &SecretKey,
        backend: Backend,
        instance: impl Fn() -> Instance + Send + Sync + 'static,
    ) -> Self {
        struct Build<'a>(&'a SecretKey);
        impl Work for Build<'_> {
            type Out = Box<dyn Engine>;
            fn run<M: Machine>(self) -> Box<dyn Engine> {
                Box::new(Parts::<M::Half, M::Full>::new(self.0))
            }
        }
        Self {
            engine: key.public().parameters().size().run(backend, Build(key)),
            public: key.public().clone(),
            instance: Arc::new(instance),
        }
    }

    /// Returns the public key.
    pub const fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Draws nonces in advance, as many as are kept: signing takes less time then.
    pub fn prepare(&mut self, rng: &mut dyn CryptoRng) {
        self.engine.prepare((self.instance)(), rng);
    }

    /// Returns the signature of a message.
    ///
    /// # Errors
    /// It does not hold.
    pub fn sign(&mut self, message: &[u8], rng: &mut dyn CryptoRng) -> Result<Vec<u8>, Fault> {
        let mut out = Vec::with_capacity(self.public.parameters().signature_bytes());
        self.append(message, rng, &mut out)?;
        Ok(out)
    }

    /// Appends the signature of a message.
    ///
    /// # Errors
    /// It does not hold: nothing is appended.
    pub fn append(
        &mut self,
        message: &[u8],
        rng: &mut dyn CryptoRng,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let (instance, start) = ((self.instance)(), out.len());
        let signed = self.engine.append(message, instance, rng, out);
        if signed.is_err() {
            out.truncate(start);
        }
        signed
    }
}

pub(super) trait Engine: Send + Sync {
    /// One with an empty pool.
    fn another(&self) -> Box<dyn Engine>;

    fn prepare(&mut self, instance: Instance, rng: &mut dyn CryptoRng);

    fn append(
        &mut self,
        message: &[u8],
        instance: Instance,
        rng: &mut dyn CryptoRng,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault>;
}

/// What signs with kernels modulo p and q (H), and modulo n (F).
pub(super) struct Parts<H: Kernel, F: Kernel> {
    roots: Arc<Roots<H>>,
    check: Arc<Columns<F>>,
    pool: Pool<H>,
}

impl<H: Kernel, F: Kernel> Parts<H, F> {
    pub fn new(key: &SecretKey) -> Self {
        Self {
            roots: Arc::new(Roots::new(key.primes(), key.roots())),
            check: Arc::new(Columns::new(key.public())),
            pool: Pool::new(key.seed()),
        }
    }

    /// y of a row, if it is what it has to be.
    fn root(&self, row: &[u8], nonce: &Nonce<H>, y: &mut [u64]) -> Result<(), Fault> {
        self.roots.combine(&self.roots.product(row, &nonce.r), y);
        let mut other = [0; WORDS_MAX];
        let other = &mut other[..y.len()];
        other.copy_from_slice(self.check.key().n());
        words::sub(other, y);
        // It is public from here on.
        words::assign_if(words::less(other, y), y, other);
        let mut z = [0; WORDS_MAX];
        let z = &mut z[..y.len()];
        self.check.commitment(row, y, z).map_err(|_| Fault)?;
        let differences = z.iter().zip(nonce.x.iter()).map(|(z, x)| z ^ x);
        let difference = differences.fold(0, |all, word| all | word);
        match disclose::bit(u64::from(difference == 0)) {
            true => Ok(()),
            false => Err(Fault),
        }
    }
}

impl<H: Kernel, F: Kernel> Engine for Parts<H, F> {
    fn another(&self) -> Box<dyn Engine> {
        Box::new(Self {
            roots: Arc::clone(&self.roots),
            check: Arc::clone(&self.check),
            pool: self.pool.another(),
        })
    }

    fn prepare(&mut self, instance: Instance, rng: &mut dyn CryptoRng) {
        self.pool.fill(&self.roots, instance, rng);
    }

    fn append(
        &mut self,
        message: &[u8],
        instance: Instance,
        rng: &mut dyn CryptoRng,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let key = self.check.key();
        let parameters = key.parameters();
        let size = parameters.size();
        let rows = 0..usize::from(parameters.t());
        let mut draw = |_| self.pool.take(&self.roots, instance, rng);
        let nonces: Vec<Nonce<H>> = rows.clone().map(&mut draw).collect();
        let mut parts = Vec::with_capacity(rows.len() * parameters.part_bytes());
        for (i, nonce) in nonces.iter().enumerate() {
            write_part(key, i, &nonce.x[..size.words()], &mut parts);
        }
        let mut bits = challenge(key, message, [&parts, &[]]);
        let bits = &mut bits[..parameters.challenge_bytes()];
        disclose::bytes(bits);
        out.extend_from_slice(bits);
        for (row, nonce) in bits.chunks(parameters.row_bytes()).zip(&nonces) {
            let mut y = [0; WORDS_MAX];
            let y = &mut y[..size.words()];
            self.root(row, nonce, y)?;
            let start = out.len();
            out.resize(start + size.bytes(), 0);
            words::write(&mut out[start..], y);
        }
        out.extend_from_slice(&parts[parameters.part_bytes()..]);
        Ok(())
    }
}
