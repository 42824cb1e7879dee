//! Which arithmetic there is for each size.

use super::parameters::Size;
use crate::mont::{Kernel, Portable};

/// Kernels for one size of the modulus: modulo p or q, and modulo n.
pub(super) trait Machine: 'static {
    type Half: Kernel;
    type Full: Kernel;
}

pub(super) struct Portable2048;
impl Machine for Portable2048 {
    type Half = Portable<16>;
    type Full = Portable<32>;
}

pub(super) struct Portable3072;
impl Machine for Portable3072 {
    type Half = Portable<24>;
    type Full = Portable<48>;
}

#[cfg(target_arch = "x86_64")]
mod ifma {
    use super::Machine;
    use crate::mont::Ifma;

    pub struct Ifma2048;
    impl Machine for Ifma2048 {
        type Half = Ifma<24, 3, 20>;
        type Full = Ifma<40, 5, 40>;
    }

    pub struct Ifma3072;
    impl Machine for Ifma3072 {
        type Half = Ifma<32, 4, 30>;
        type Full = Ifma<64, 8, 60>;
    }
}

/// How a machine multiplies. All ways give the same signatures of the same randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    #[cfg(target_arch = "x86_64")]
    Ifma,
    Portable,
}

impl Path {
    /// The ways that this machine has, the fastest first. The last one is everywhere.
    pub fn all() -> impl Iterator<Item = Self> {
        let kinds = [
            #[cfg(target_arch = "x86_64")]
            (Kind::Ifma, <ifma::Ifma2048 as Machine>::Half::available()),
            (Kind::Portable, true),
        ];
        let here = kinds.into_iter().filter(|(_, available)| *available);
        here.map(|(kind, _)| Self(kind))
    }

    /// The fastest.
    pub fn best() -> Self {
        Self::all().next().unwrap_or(Self(Kind::Portable))
    }

    /// Its name: `avx512-ifma` or `portable`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Ifma => <ifma::Ifma2048 as Machine>::Full::NAME,
            Kind::Portable => <Portable2048 as Machine>::Full::NAME,
        }
    }

    /// What `work` does with the kernels of this way and size.
    pub(super) fn with<W: Work>(self, size: Size, work: W) -> W::Out {
        match (self.0, size) {
            #[cfg(target_arch = "x86_64")]
            (Kind::Ifma, Size::N2048) => work.run::<ifma::Ifma2048>(),
            #[cfg(target_arch = "x86_64")]
            (Kind::Ifma, Size::N3072) => work.run::<ifma::Ifma3072>(),
            (Kind::Portable, Size::N2048) => work.run::<Portable2048>(),
            (Kind::Portable, Size::N3072) => work.run::<Portable3072>(),
        }
    }
}

/// What is done in the same way with any kernels.
pub(super) trait Work {
    type Out;
    fn run<M: Machine>(self) -> Self::Out;
}
