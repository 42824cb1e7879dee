//! What the design measured: a prototype, on one core of a Zen 5 machine.

/// Microseconds of signing, of signing with nonces drawn before, and of verifying.
#[derive(Clone, Copy, Default)]
pub struct Quoted {
    pub sign: Option<f64>,
    pub online: Option<f64>,
    pub verify: Option<f64>,
}

/// By the slugs of schemes.
const QUOTED: [(&str, [Option<f64>; 3]); 13] = [
    ("effs-2048-128x1", [Some(3.07), Some(2.18), Some(1.21)]),
    ("effs-2048-256x1", [Some(4.7), None, Some(2.0)]),
    ("effs-3072-128x1", [Some(4.95), None, Some(1.74)]),
    ("effs-3072-256x1", [Some(7.5), None, Some(2.4)]),
    ("effs-2048-128x1-portable", [Some(16.0), None, Some(5.5)]),
    ("ed25519-aws-lc", [Some(5.44), None, Some(23.9)]),
    ("ed25519-dalek", [Some(12.4), None, Some(25.9)]),
    ("p256", [Some(11.7), None, Some(35.0)]),
    ("rsa-2048", [Some(211.0), None, Some(13.9)]),
    ("rsa-2048-e3", [None, None, Some(4.39)]),
    ("rsa-3072", [Some(599.0), None, Some(28.0)]),
    ("rsa-3072-e3", [None, None, Some(8.85)]),
    ("bls", [Some(105.0), None, Some(708.0)]),
];

/// What there is of a scheme.
pub fn quoted(slug: &str) -> Quoted {
    let found = QUOTED.iter().find(|row| row.0 == slug);
    found.map_or_else(Quoted::default, |(_, [sign, online, verify])| Quoted {
        sign: *sign,
        online: *online,
        verify: *verify,
    })
}

/// Of signing and of verifying by eFFS-2048(128,1), to Ed25519 of AWS-LC: no more than so much.
pub const RATIOS: [f64; 2] = [0.65, 0.06];

/// Million packets a second of 1024 bytes in blocks of 64, signed and verified by it: no fewer.
pub const MPPS: [f64; 2] = [5.5, 4.0];
