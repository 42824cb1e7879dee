//! The keys that all rows share, made once from a seed.

use super::quoted::{MODULUS, SIZES};
use crate::effs::dsa::Dsa;
use crate::effs::ffs::{BASIC, EFFS, Ffs, Material, Shape};
use crate::effs::primes::Factors;
use crate::effs::rsa::{OfLibrary, Rsa};
use crate::effs::scheme::{Scheme, Shared};
use crate::groups::rng;
use std::cell::RefCell;
use std::rc::Rc;

/// The paper's moduli, and two of today.
pub const ALL_SIZES: [usize; 6] = [SIZES[0], SIZES[1], SIZES[2], SIZES[3], 2048, 3072];

/// What is measured, by the names that the paper has; the last is no row of its.
pub const MEASURED: [&str; 5] = ["RSA", "DSA", "FFS(128,1)", "eFFS(128,1)", LIBRARY];

/// RSA as AWS-LC has it.
pub const LIBRARY: &str = "RSA of AWS-LC";

/// The paper's parameters in section 4.
const SHAPE: Shape = Shape { k: 128, t: 1 };

/// Keys of one modulus, which RSA and FFS have in common.
pub struct OfSize {
    pub bits: usize,
    pub schemes: Vec<(&'static str, Shared)>,
}

/// All keys.
pub struct Keys {
    pub sizes: Vec<OfSize>,
    /// Of [`MODULUS`].
    pub material: Material,
}

impl Keys {
    pub fn new() -> Self {
        let sizes = ALL_SIZES.map(|bits| OfSize::new(bits, &material(bits)));
        Self {
            sizes: sizes.into(),
            material: material(MODULUS),
        }
    }

    /// A scheme with a modulus of so many bits.
    pub fn get(&self, name: &str, bits: usize) -> Option<Shared> {
        let size = self.sizes.iter().find(|size| size.bits == bits)?;
        let mut schemes = size.schemes.iter();
        let (_, scheme) = schemes.find(|(other, _)| *other == name)?;
        Some(Rc::clone(scheme))
    }
}

fn material(bits: usize) -> Material {
    Material::new(Factors::new(bits, &mut rng(bits as u64)), SHAPE.k)
}

impl OfSize {
    fn new(bits: usize, material: &Material) -> Self {
        let seed = bits as u64;
        let ffs = |speedups, seed| Ffs::new(material, SHAPE, speedups, rng(seed));
        let factors = material.factors();
        let mut schemes = vec![
            (MEASURED[0], shared(Rsa::new(factors))),
            (MEASURED[1], shared(Dsa::new(bits, rng(seed + 1)))),
            (MEASURED[2], shared(ffs(BASIC, seed + 2))),
            (MEASURED[3], shared(ffs(EFFS, seed + 3))),
        ];
        schemes.extend(OfLibrary::new(factors).map(|key| (LIBRARY, shared(key))));
        Self { bits, schemes }
    }
}

/// Gives rows a scheme in common.
pub fn shared(scheme: impl Scheme + 'static) -> Shared {
    Rc::new(RefCell::new(scheme))
}
