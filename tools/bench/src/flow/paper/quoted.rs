//! What the paper's text has: C. K. Wong and S. S. Lam, *Digital Signatures for Flows and Multicasts*,
//! revised version of June 14, 1999, section 2. Its figures are pictures without numbers in our copy: a
//! figure's points here are those that the text or Table 1 gives, and everything else stays empty.
//!
//! Milliseconds and packets a second on a Pentium II of 300 MHz, with MD5 and moduli of 512 bits.

/// Block sizes of Table 1, and of the figures.
pub const BLOCKS: [u16; 7] = [2, 4, 8, 16, 32, 64, 128];

/// The period T of Table 1, in ms.
pub const PERIOD_MS: f64 = 50.0;

/// Table 1: the bound D_s in ms, by the degree of the tree and block size.
pub const TABLE_1: [(u16, [f64; 7]); 3] = [
    (2, [62.9, 62.9, 62.9, 63.1, 63.3, 63.8, 64.9]),
    (4, [62.8, 62.9, 62.9, 63.0, 63.2, 63.5, 64.2]),
    (8, [62.8, 62.9, 62.9, 63.0, 63.2, 63.5, 64.2]),
];

/// A signature scheme of the paper.
pub struct Scheme {
    pub name: &'static str,
    /// Of a block's digest, in ms (2.3).
    pub sign_ms: f64,
    pub verify_ms: f64,
    /// Packets a second, each signed by itself, for packets of [`BYTES`] (1.1).
    pub singly_sign: [f64; 3],
    pub singly_verify: [f64; 3],
    /// The same by blocks of 16 in a tree of degree two, for packets of 1024 bytes (2.6).
    pub flow_sign: f64,
    pub flow_verify: f64,
}

/// Lengths of packets in 1.1 and in figures 9 and 10.
pub const BYTES: [usize; 3] = [512, 1024, 2048];

pub const RSA: Scheme = Scheme {
    name: "RSA",
    sign_ms: 12.7,
    verify_ms: 0.40,
    singly_sign: [78.8, 78.7, 78.0],
    singly_verify: [2180.0, 1960.0, 1620.0],
    flow_sign: 1090.0,
    flow_verify: 7030.0,
};

pub const DSA: Scheme = Scheme {
    name: "DSA",
    sign_ms: 5.6,
    verify_ms: 7.6,
    singly_sign: [176.0, 175.0, 172.0],
    singly_verify: [128.0, 127.0, 126.0],
    flow_sign: 2140.0,
    flow_verify: 1660.0,
};

/// Figure 4, degree two and 16 packets, in ms: at a signer and at a verifier (2.3).
pub const CHAINING_16_MS: [f64; 2] = [0.21, 0.24];

/// MD5 of a packet of these [`BYTES`], in ms: what verifying it singly takes (1.1) but for the
/// signature, with RSA, whose verification is the shortest.
pub fn md5_ms(bytes: usize) -> Option<f64> {
    let place = BYTES.iter().position(|b| *b == bytes)?;
    Some(1e3 / RSA.singly_verify[place] - RSA.verify_ms)
}

/// The chaining time of Figure 4(a) in ms, as far as Table 1 tells it: what its bound has more than for
/// two packets, plus what the line for degree two is then below the text's 0.21 ms for 16.
pub fn chaining_ms(degree: u16, block: u16) -> Option<f64> {
    let (_, two) = TABLE_1[0];
    let (_, row) = TABLE_1.iter().find(|(d, _)| *d == degree)?;
    let place = BLOCKS.iter().position(|m| *m == block)?;
    let base = two[3] - CHAINING_16_MS[0];
    let chaining = row[place] - base;
    (chaining > 0.05).then_some(chaining)
}

/// Packets a second of 16 in a block if signatures took no time, for packets of 1024 bytes: what
/// the flow's rate leaves beside RSA.
pub fn chaining_alone() -> [f64; 2] {
    let rate = |flow: f64, signature: f64| 16e3 / (16e3 / flow - signature);
    [
        rate(RSA.flow_sign, RSA.sign_ms),
        rate(RSA.flow_verify, RSA.verify_ms),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_figures_agree_with_each_other() {
        // 16 packets: chaining, 16 digests, one signature.
        let digests = 16.0 * md5_ms(1024).unwrap();
        let sign = 16e3 / (digests + CHAINING_16_MS[0] + RSA.sign_ms);
        let verify = 16e3 / (digests + CHAINING_16_MS[1] + RSA.verify_ms);
        assert!((sign / RSA.flow_sign - 1.0).abs() < 0.01, "{sign}");
        // 0.40 ms is rounded, and a sixth of it all.
        assert!((verify / RSA.flow_verify - 1.0).abs() < 0.06, "{verify}");
        assert!((chaining_ms(2, 16).unwrap() - CHAINING_16_MS[0]).abs() < 1e-9);
    }
}
