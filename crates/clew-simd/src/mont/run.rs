//! The kernels of each backend for moduli of two sizes.

#[cfg(target_arch = "x86_64")]
use super::Ifma;
use super::{Kernel, Portable};
use crate::Backend;

/// Kernels for one size of the modulus: modulo one of two factors, and modulo their product.
pub trait Machine: 'static {
    /// Modulo a factor.
    type Half: Kernel;
    /// Modulo the product.
    type Full: Kernel;
}

impl<H: Kernel, F: Kernel> Machine for (H, F) {
    type Half = H;
    type Full = F;
}

/// A computation that is the same for all kernels.
pub trait Work {
    /// Its result.
    type Out;
    /// Computes with these kernels.
    fn run<M: Machine>(self) -> Self::Out;
}

/// Runs `work` with the backend's kernels for a modulus of 2048 bits.
///
/// # Panics
///
/// If this machine does not have the backend.
pub fn run_2048<W: Work>(backend: Backend, work: W) -> W::Out {
    backend.require();
    match backend {
        #[cfg(target_arch = "x86_64")]
        Backend::Avx512Ifma => work.run::<(Ifma<24, 3, 20>, Ifma<40, 5, 40>)>(),
        _ => work.run::<(Portable<16>, Portable<32>)>(),
    }
}

/// Runs `work` with the backend's kernels for a modulus of 3072 bits, as [`run_2048`].
///
/// # Panics
///
/// If this machine does not have the backend.
pub fn run_3072<W: Work>(backend: Backend, work: W) -> W::Out {
    backend.require();
    match backend {
        #[cfg(target_arch = "x86_64")]
        Backend::Avx512Ifma => work.run::<(Ifma<32, 4, 30>, Ifma<64, 8, 60>)>(),
        _ => work.run::<(Portable<24>, Portable<48>)>(),
    }
}
