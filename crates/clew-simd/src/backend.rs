//! The instructions that kernels choose between.

#[cfg(target_arch = "x86_64")]
cpufeatures::new!(avx2, "avx2");
#[cfg(target_arch = "x86_64")]
cpufeatures::new!(avx512, "avx2", "avx512f", "avx512bw", "bmi2");
#[cfg(target_arch = "x86_64")]
cpufeatures::new!(
    avx512_ifma,
    "avx2",
    "avx512f",
    "avx512bw",
    "avx512dq",
    "avx512vl",
    "avx512ifma",
    "bmi2"
);
#[cfg(target_arch = "x86_64")]
cpufeatures::new!(sha, "sha", "sse2", "ssse3", "sse4.1");

/// The instructions that a kernel uses. Each backend's machine also has those below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// AVX-512 with IFMA, which multiplies numbers of 52 bits.
    Avx512Ifma,
    /// AVX-512: vectors of 512 bits.
    Avx512,
    /// AVX2: vectors of 256 bits.
    Avx2,
    /// No vector instructions, or those that other crates choose.
    Portable,
}

impl Backend {
    /// Returns the backends of this machine, the fastest first and [`Backend::Portable`] last.
    pub fn all() -> impl Iterator<Item = Self> {
        let all = [Self::Avx512Ifma, Self::Avx512, Self::Avx2, Self::Portable];
        all.into_iter().filter(|backend| backend.is_available())
    }

    /// Returns those of [`Backend::all`] that multiply numbers in different ways.
    pub fn multipliers() -> impl Iterator<Item = Self> {
        Self::all().filter(|backend| matches!(backend, Self::Avx512Ifma | Self::Portable))
    }

    /// Returns the fastest backend of this machine.
    #[inline]
    pub fn best() -> Self {
        Self::all().next().unwrap_or(Self::Portable)
    }

    /// Returns whether this machine has the instructions. Asks the processor once.
    #[inline]
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Ifma => avx512_ifma::get(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => avx512::get(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => avx2::get(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512Ifma | Self::Avx512 | Self::Avx2 => false,
            Self::Portable => true,
        }
    }

    /// Fails unless this machine has the instructions: what a kernel's `unsafe` relies on.
    #[inline]
    #[track_caller]
    pub(crate) fn require(self) {
        assert!(self.is_available(), "this machine has no {}", self.name());
    }

    /// Returns its name: `avx512-ifma`, `avx512`, `avx2` or `portable`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Avx512Ifma => "avx512-ifma",
            Self::Avx512 => "avx512",
            Self::Avx2 => "avx2",
            Self::Portable => "portable",
        }
    }
}

/// Whether the processor has instructions for SHA-256, which the crate `sha2` uses.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_sha() -> bool {
    sha::get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_are_those_of_the_machine() {
        assert_eq!(Backend::all().next(), Some(Backend::best()));
        assert_eq!(Backend::all().last(), Some(Backend::Portable));
        #[cfg(target_arch = "x86_64")]
        {
            let expected = [
                ("avx512-ifma", std::is_x86_feature_detected!("avx512ifma")),
                ("avx512", std::is_x86_feature_detected!("avx512bw")),
                ("avx2", std::is_x86_feature_detected!("avx2")),
                ("portable", true),
            ];
            let expected = expected.iter().filter(|(_, has)| *has);
            assert!(
                Backend::all()
                    .map(Backend::name)
                    .eq(expected.map(|(name, _)| *name))
            );
        }
    }
}
