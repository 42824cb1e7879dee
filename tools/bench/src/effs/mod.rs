//! Signature schemes by Feige, Fiat and Shamir beside RSA and DSA: the evaluation of Wong and Lam's eFFS.

mod bn;
mod crt;
mod dsa;
mod ffs;
pub mod paper;
mod primes;
mod rsa;
mod scheme;
pub mod today;
