//! X25519 (RFC 7748, section 5): many products at once. [`Backend::Avx512Ifma`] takes eight to a vector,
//! and few of them one by one with four multiplications to a vector; others go one by one by
//! `curve25519-dalek`.

#[cfg(target_arch = "x86_64")]
mod ifma;
#[cfg(target_arch = "x86_64")]
mod number;
mod portable;
#[cfg(test)]
mod tests;

use zeroize::Zeroize as _;

use crate::Backend;

/// Bytes of a secret, of a u-coordinate and of a product.
pub const BYTES: usize = 32;

/// Jobs that are taken together at most: as many as a vector has lanes.
pub const LANES: usize = 8;

/// The base point's u-coordinate (RFC 7748, section 4.1).
pub const BASE: [u8; BYTES] = {
    let mut bytes = [0; BYTES];
    bytes[0] = 9;
    bytes
};

/// From so many jobs on eight lanes take less than one by one (measured on Sapphire Rapids;
/// `tunnel-crypto` in the README of `clew-bench`).
#[cfg(target_arch = "x86_64")]
const SHARED_WORTH: usize = 3;

/// The same for public keys, for which `curve25519-dalek` has tables: it makes few of them one by one.
#[cfg(target_arch = "x86_64")]
const PUBLIC_WORTH: usize = 4;

/// A secret, which is clamped, and a u-coordinate: all 32 bytes are taken, as RFC 7748 has it.
pub type Job<'a> = (&'a [u8; BYTES], &'a [u8; BYTES]);

/// Writes the product of each job in its place: zeros if the point has small order.
///
/// # Panics
///
/// If `out` is not as long as `jobs`, or this machine does not have the backend.
pub fn products(backend: Backend, jobs: &[Job<'_>], out: &mut [[u8; BYTES]]) {
    assert_eq!(jobs.len(), out.len(), "a place for each job");
    backend.require();
    for (jobs, out) in jobs.chunks(LANES).zip(out.chunks_mut(LANES)) {
        match backend {
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512Ifma if jobs.len() >= SHARED_WORTH => in_lanes(jobs, out),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512Ifma => one_by_one(jobs, out, |(secret, public)| {
                ifma::one::product(secret, public)
            }),
            _ => one_by_one(jobs, out, portable::product),
        }
    }
}

/// Writes the public key of each secret in its place.
///
/// # Panics
///
/// If `out` is not as long as `secrets`, or this machine does not have the backend.
pub fn public_keys(backend: Backend, secrets: &[&[u8; BYTES]], out: &mut [[u8; BYTES]]) {
    assert_eq!(secrets.len(), out.len(), "a place for each secret");
    backend.require();
    for (secrets, out) in secrets.chunks(LANES).zip(out.chunks_mut(LANES)) {
        match backend {
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512Ifma if secrets.len() >= PUBLIC_WORTH => {
                let mut jobs = [(secrets[0], &BASE); LANES];
                for (job, secret) in jobs.iter_mut().zip(secrets) {
                    job.0 = secret;
                }
                in_lanes(&jobs[..secrets.len()], out);
            }
            _ => one_by_one(secrets, out, |secret| portable::public_key(secret)),
        }
    }
}

fn one_by_one<J>(jobs: &[J], out: &mut [[u8; BYTES]], product: impl Fn(&J) -> [u8; BYTES]) {
    for (job, out) in jobs.iter().zip(out) {
        let mut bytes = product(job);
        *out = bytes;
        bytes.zeroize();
    }
}

/// Up to [`LANES`] jobs in one vector. A lane without a job multiplies the base point by zeros.
#[cfg(target_arch = "x86_64")]
fn in_lanes(jobs: &[Job<'_>], out: &mut [[u8; BYTES]]) {
    let (mut secrets, mut publics) = ([&[0; BYTES]; LANES], [&BASE; LANES]);
    for (lane, (secret, public)) in jobs.iter().enumerate() {
        (secrets[lane], publics[lane]) = (secret, public);
    }
    let mut products = ifma::eight::products(&secrets, &publics);
    out.copy_from_slice(&products[..jobs.len()]);
    products.zeroize();
}
