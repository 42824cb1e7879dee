//! What single operations of a receiver take here.

use super::schemes::{ALL, Scheme, Tally};
use crate::flow::{TOGETHER, block, leaves, payloads, signer, verifier};
use crate::group::Group;
use crate::groups::rng;
use crate::measure::{Case, Measured};
use clew_flow::{BlockSigner as _, TIMESTAMP_BYTES};
use clew_group::{Scheme as GroupScheme, Signed};
use clew_tree::carriage::{Code, ShareTree, TagSize, Tags};
use clew_tree::{Block, DigestSize, NodeCache, Suite, Tree};

/// Length of the packets.
pub const BYTES: usize = 1024;

/// Who signs blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Signature {
    Ed25519,
    /// A group signature of scheme XR.
    Xr,
}

pub const SIGNATURES: [Signature; 2] = [Signature::Xr, Signature::Ed25519];

impl Signature {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "ed25519",
            Self::Xr => "xr",
        }
    }

    pub fn bytes(self) -> usize {
        match self {
            Self::Ed25519 => 64,
            Self::Xr => GroupScheme::Xr.signature_bytes(false),
        }
    }

    fn blob(self) -> usize {
        TIMESTAMP_BYTES + self.bytes()
    }
}

/// What a receiver's operations take, in microseconds.
pub struct Unit {
    /// A signature.
    pub verify: f64,
    /// Hashing a packet.
    pub hash: f64,
    /// The rest of the way to its root, where there is a tree.
    pub chain: f64,
    /// Restoring a block's signature, where there are shares.
    pub restore: f64,
}

impl Unit {
    /// Those that were measured.
    pub fn measured(measured: &Measured, scheme: Scheme, signature: Signature) -> Self {
        let us = |row: &str| measured.us(row);
        let restore = scheme.needed().map(|_| us(&restore_row(scheme, signature)));
        Self {
            verify: us(&verify_row(signature)),
            hash: us(HASH),
            chain: if scheme.has_tree() { us(CHAIN) } else { 0.0 },
            restore: restore.unwrap_or(0.0),
        }
    }

    /// What a received packet takes.
    pub fn us(&self, tally: &Tally) -> f64 {
        let blocks =
            tally.verifications as f64 * self.verify + tally.restored as f64 * self.restore;
        blocks / tally.received as f64 + self.hash + self.chain
    }
}

const HASH: &str = "hash";
const CHAIN: &str = "chain";

fn verify_row(signature: Signature) -> String {
    format!("{}-verify", signature.name())
}

fn restore_row(scheme: Scheme, signature: Signature) -> String {
    format!("{}-restore-{}", signature.name(), scheme.name())
}

/// The operations.
pub fn cases(group: &Group) -> Vec<Case<'_>> {
    let mut cases: Vec<Case<'_>> = vec![hash(), chain(), ed25519(), xr(group)];
    let shared = ALL.into_iter().filter(|scheme| scheme.needed().is_some());
    for (scheme, signature) in shared.flat_map(|scheme| SIGNATURES.map(|s| (scheme, s))) {
        cases.push(match scheme {
            Scheme::Coded { .. } => restore_coded(scheme, signature),
            _ => restore_saida(scheme, signature),
        });
    }
    cases
}

fn whole_block() -> Block {
    block(Suite::Blake3, 2, TOGETHER as u16)
}

fn hash() -> Case<'static> {
    let (block, packets) = (whole_block(), payloads(TOGETHER, BYTES));
    let work = move || leaves(&block, &packets);
    Case::new(HASH, "the leaf of a packet, 64 together", work).each_of(TOGETHER)
}

fn chain() -> Case<'static> {
    let leaves = vec![[3; 32]; TOGETHER];
    let tree = Tree::new(whole_block(), &leaves).expect("a leaf for each packet");
    let paths = (0..)
        .take(TOGETHER)
        .map(|i| tree.path(i).expect("a packet of the block"));
    let paths: Vec<_> = paths.collect();
    let work = move || {
        let mut known = NodeCache::new(whole_block(), tree.root());
        for ((i, leaf), path) in (0..).zip(&leaves).zip(&paths) {
            known.verify(i, leaf, path).expect("a packet of the block");
        }
    };
    Case::new(CHAIN, "a path in a block of 64, verified nodes kept", work).each_of(TOGETHER)
}

fn ed25519() -> Case<'static> {
    let (message, mut signature) = ([5; 104], Vec::new());
    let signed = signer().sign(&message, &mut rng(5), &mut signature);
    assert_eq!(signed, Ok(()));
    let verifier = verifier();
    let work = move || {
        assert!(
            verifier.verify(&message, &signature).is_some(),
            "it is good"
        )
    };
    Case::new(verify_row(Signature::Ed25519), "a block's signature", work)
}

fn xr(group: &Group) -> Case<'_> {
    let (message, mut order) = ([5; 104], rng(6));
    let mut body = vec![0; Signature::Xr.bytes()];
    let precursor = group.signer.precursor(&mut rng(2));
    precursor.sign(&[&message], false, &mut body);
    let work = move || {
        let signed = Signed {
            message: &message,
            body: &body,
            incremental: false,
        };
        assert!(
            group.verifier.verify(signed, &mut order).is_ok(),
            "it is good"
        );
    };
    Case::new(
        verify_row(Signature::Xr),
        "a group signature, from bytes",
        work,
    )
}

/// As many shares as are needed, from all parts of the block: some of them parity.
fn some(code: &Code, shares: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let (needed, size) = (code.needed(), code.share_bytes());
    let share = |i: u16| {
        let index = (u32::from(i) * u32::from(code.count()) / u32::from(needed)) as u16;
        let share = shares[usize::from(index) * size..][..size].to_vec();
        (index, share)
    };
    (0..needed).map(share).collect()
}

fn coded(scheme: Scheme, blob: usize) -> (Code, Vec<u8>) {
    let needed = scheme.needed().expect("a scheme with shares");
    let code = Code::new(scheme.block() as u16, needed as u16, blob as u16).expect("a code");
    let blob: Vec<u8> = (0..=u8::MAX).cycle().take(blob).collect();
    let shares = code.encode(&blob).expect("a blob of that length");
    (code, shares)
}

/// The roots that the shares lead to, and the blob.
fn restore_coded(scheme: Scheme, signature: Signature) -> Case<'static> {
    let (code, shares) = coded(scheme, signature.blob());
    let tags = Tags::new([1; 16], code, TagSize::T8);
    let tree = ShareTree::new(tags, &shares).expect("all shares");
    let shares = some(&code, &shares);
    let own: Vec<_> = shares
        .iter()
        .map(|(i, _)| tree.tag(*i).expect("a share"))
        .collect();
    let work = move || {
        for ((index, share), tag) in shares.iter().zip(&own) {
            let root = tags.root(*index, share, tag);
            assert_eq!(root, Ok(tree.root()), "an honest share");
        }
        code.decode(&shares).expect("a blob")
    };
    let name = restore_row(scheme, signature);
    Case::new(
        name,
        "k shares with their tags to a block's signature",
        work,
    )
}

/// The digests of a block, and its signature.
fn restore_saida(scheme: Scheme, signature: Signature) -> Case<'static> {
    let lengths = [scheme.block() * DigestSize::D16.bytes(), signature.blob()];
    let parts = lengths.map(|blob| {
        let (code, shares) = coded(scheme, blob);
        (code, some(&code, &shares))
    });
    let work = move || {
        let restored = parts.iter().map(|(code, shares)| code.decode(shares));
        restored
            .map(|blob| blob.expect("a blob").len())
            .sum::<usize>()
    };
    let name = restore_row(scheme, signature);
    Case::new(name, "k shares to a block's digests and signature", work)
}
