//! Flows of packets of 1024 bytes, by block: measured with the real sender and receiver, and computed for schemes
//! that flows cannot have.

use super::design::MPPS;
use super::tables::{JUDGED, met};
use super::{Fixture, others::ED25519};
use crate::effs::paper::work::WARM_SIGNING;
use crate::flow::running::Shape;
use crate::measure::{Case, Measured};
use clew::flow::ed25519;
use clew_flow::effs::{Assurance, Fault};
use clew_flow::{Algorithm, BlockSigner, BlockVerifier, Chaining, Descriptor};
use clew_record::table::Table;
use rand_core::CryptoRng;
use std::sync::Arc;

pub const BLOCKS: [u16; 5] = [1, 16, 64, 256, 1024];
const BYTES: usize = 1024;

/// No signature at all.
pub const CHAIN: &str = "chain";

/// What is measured, and what signs it.
pub const MEASURED: [(&str, &str); 4] = [
    ("effs-2048-128x1", "eFFS-2048(128,1)"),
    ("effs-3072-128x1", "eFFS-3072(128,1)"),
    (ED25519, "Ed25519, AWS-LC"),
    (CHAIN, "no signature"),
];

/// What is computed.
pub const COMPUTED: [(&str, &str); 6] = [
    ("rsa-2048", "RSA-2048"),
    ("rsa-2048-e3", "RSA-2048 e=3"),
    ("rsa-3072", "RSA-3072"),
    ("rsa-3072-e3", "RSA-3072 e=3"),
    ("bls", "BLS12-381 min-sig"),
    ("xr", "group signature XR"),
];

fn row(slug: &str, block: u16, side: &str) -> String {
    format!("flow-{slug}-m{block}-{side}")
}

/// Bytes of a signature that says nothing, and takes no time.
#[derive(Clone, Debug)]
struct Nothing(Vec<u8>);

impl BlockSigner for Nothing {
    fn algorithm(&self) -> Algorithm {
        Algorithm::Ed25519
    }

    fn public_key(&self) -> Vec<u8> {
        self.0.clone()
    }

    fn sign(&mut self, _: &[u8], _: &mut dyn CryptoRng, out: &mut Vec<u8>) -> Result<(), Fault> {
        out.extend([0; 64]);
        Ok(())
    }
}

impl BlockVerifier for Nothing {
    fn verify(&self, _: &[u8], _: &[u8]) -> Option<Assurance> {
        Some(Assurance::ENOUGH)
    }
}

pub fn cases(fixture: &Fixture) -> Vec<Case<'static>> {
    let mut cases = Vec::new();
    let ed25519 = ed25519::Signer::from_secret(&[7; 32]);
    for block in BLOCKS {
        for (slug, _) in MEASURED {
            if let Some(engine) = fixture.engine(slug) {
                cases.extend(both(slug, block, engine.signer.clone(), None));
            } else if slug == CHAIN {
                let nothing = Nothing(ed25519.public_key());
                let verifier = Arc::new(nothing.clone());
                cases.extend(both(slug, block, nothing, Some(verifier)));
            } else {
                let verifier = ed25519::verifier(&ed25519.public_key()).expect("a key");
                cases.extend(both(slug, block, ed25519.clone(), Some(verifier.into())));
            }
        }
    }
    cases
}

/// Both sides of a flow, which is verified by this or by what its descriptor says.
fn both<S: BlockSigner + Clone + 'static>(
    slug: &str,
    block: u16,
    signer: S,
    verifier: Option<Arc<dyn BlockVerifier>>,
) -> [Case<'static>; 2] {
    let chaining = Chaining {
        most: block,
        ..Chaining::default()
    };
    let shape = Shape {
        chaining,
        bytes: BYTES,
    };
    let verifier = verifier.unwrap_or_else(|| {
        let (algorithm, key) = (signer.algorithm(), signer.public_key());
        let flow = Descriptor::new(chaining, algorithm, &key, "clew-bench");
        let verifier = flow.and_then(|flow| flow.verifier());
        verifier.expect("the signer's own key").into()
    });
    let [sign, verify] = ["sign", "verify"].map(|side| row(slug, block, side));
    [
        shape.signing_by(sign, WARM_SIGNING, signer.clone()),
        shape.verifying_by(verify, signer, verifier),
    ]
}

/// Thousand packets a second.
pub fn kpps(measured: &Measured, slug: &str, block: u16, side: &str) -> f64 {
    let us = |slug| measured.us(&row(slug, block, side));
    let is_measured = MEASURED.iter().any(|(name, _)| *name == slug);
    let us = match is_measured {
        true => us(slug),
        false => us(CHAIN) + measured.us(&format!("{slug}-{side}")) / f64::from(block),
    };
    1e3 / us
}

/// Rates of all schemes, by block.
pub fn table(measured: &Measured, side: &str, name: &str) -> Table {
    let title = format!(
        "{name}, thousand packets of {BYTES} bytes a second: BLAKE3, digests of 16 bytes, the signature in every packet, one core"
    );
    let columns = BLOCKS.map(|block| format!("m={block}"));
    let columns = ["scheme".into()].into_iter().chain(columns);
    let mut table = Table::new(format!("flows-{side}"), title, columns);
    let measured_ones = MEASURED.map(|(slug, title)| (slug, title.to_owned()));
    let computed = COMPUTED.map(|(slug, title)| (slug, format!("{title} (computed)")));
    for (slug, title) in measured_ones.into_iter().chain(computed) {
        let rate = |block| format!("{:.1}", kpps(measured, slug, block, side));
        table.row(title, BLOCKS.map(rate));
    }
    table
}

/// Whether flows are as fast as the design says.
pub fn judge(measured: &Measured) -> [String; 2] {
    let verdict = |(side, done, least): (&str, &str, f64)| {
        let rate = kpps(measured, JUDGED, 64, side) / 1e3;
        format!(
            "target on the design's machine: eFFS-2048(128,1), m=64, >= {least} million packets a second {done}: {rate:.2} here, {}",
            met(rate >= least)
        )
    };
    [("sign", "signed", MPPS[0]), ("verify", "verified", MPPS[1])].map(verdict)
}
