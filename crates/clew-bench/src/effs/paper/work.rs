//! What rows measure: signing and verifying digests, and blocks of packets.

use crate::effs::scheme::{Hash, Shared};
use crate::flow::paper::chaining::Side;
use crate::flow::paper::textbook;
use crate::flow::{self, payloads};
use crate::measure::Case;
use clew_flow::{Known, Suite, Tree};

/// Digests in turn, as the time of FFS depends on the bits of the challenge; and signatures of one root.
const DIGESTS: usize = 32;
const SIGNATURES: usize = 8;

fn digests(hash: Hash) -> Vec<Vec<u8>> {
    let messages = (0..DIGESTS).map(usize::to_be_bytes);
    messages
        .map(|message| hash.digest([&message[..]]))
        .collect()
}

/// Signing a digest.
pub fn signing(name: String, scheme: Shared, hash: Hash) -> Case<'static> {
    let digests = digests(hash);
    let mut turn = digests.into_iter().cycle();
    Case::with_input(
        name,
        "signing a digest",
        move || turn.next().expect("digests"),
        move |digest| scheme.borrow_mut().sign(&digest),
    )
}

/// Verifying its signature.
pub fn verifying(name: String, scheme: Shared, hash: Hash) -> Case<'static> {
    let check = {
        let scheme = scheme.clone();
        move |digest: &[u8], signature: &[u8]| scheme.borrow().verify(digest, signature)
    };
    checking(name, "verifying a digest's signature", &scheme, hash, check)
}

/// Anything that is done with signatures and says whether they are good.
pub fn checking(
    name: String,
    about: &'static str,
    scheme: &Shared,
    hash: Hash,
    check: impl Fn(&[u8], &[u8]) -> bool + 'static,
) -> Case<'static> {
    let sign = |digest: Vec<u8>| {
        let signature = scheme.borrow_mut().sign(&digest);
        (digest, signature)
    };
    let signed: Vec<_> = digests(hash).into_iter().map(sign).collect();
    let mut turn = signed.into_iter().cycle();
    Case::with_input(
        name,
        about,
        move || turn.next().expect("signatures"),
        move |(digest, signature)| assert!(check(&digest, &signature), "a good signature"),
    )
}

/// A flow's blocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Blocks {
    pub degree: u16,
    pub bytes: usize,
    pub block: u16,
}

impl Blocks {
    /// What signing or verifying a packet takes: its digest, its part of the tree and of the block's signature. With the
    /// paper's moduli it is the paper's chaining; today's have the tree of `clew-flow` with SHA-256.
    pub fn case(self, name: String, side: Side, scheme: Shared, hash: Hash) -> Case<'static> {
        let case = match (side, hash) {
            (Side::Signer, Hash::Md5) => self.sign_md5(name, scheme),
            (Side::Verifier, Hash::Md5) => self.verify_md5(name, scheme),
            (Side::Signer, Hash::Sha256) => self.sign_sha256(name, scheme),
            (Side::Verifier, Hash::Sha256) => self.verify_sha256(name, scheme),
        };
        case.each_of(self.block.into())
    }

    fn packets(self) -> Vec<Vec<u8>> {
        payloads(self.block.into(), self.bytes)
    }

    fn sign_md5(self, name: String, scheme: Shared) -> Case<'static> {
        let (packets, mut outs) = (self.packets(), vec![Vec::new(); self.block.into()]);
        Case::new(name, ABOUT_SIGNING, move || {
            sign_md5(self.degree, &packets, &scheme, &mut outs);
        })
    }

    /// The procedure of the appendix: the signature is verified with the first packet, whose path gives the root.
    fn verify_md5(self, name: String, scheme: Shared) -> Case<'static> {
        let (packets, mut outs) = (self.packets(), vec![Vec::new(); self.block.into()]);
        let (root, signature) = sign_md5(self.degree, &packets, &scheme, &mut outs);
        let turn = signatures(&scheme, &root);
        let chains = outs.into_iter().map(|mut out| {
            out.truncate(out.len() - signature.len());
            out
        });
        let chains: Vec<_> = chains.collect();
        Case::with_input(name, ABOUT_VERIFYING, turn, move |signature| {
            let good = scheme.borrow().verify(&root, &signature);
            let mut block = textbook::Verifier::new(packets.len(), self.degree.into(), root);
            let mut all = packets.iter().zip(&chains);
            let all = all.all(|(packet, chain)| block.verify(textbook::md5(packet), chain));
            assert!(good && all, "every packet is verified");
        })
    }

    fn sign_sha256(self, name: String, scheme: Shared) -> Case<'static> {
        let (packets, block) = (self.packets(), self.tree());
        Case::new(name, ABOUT_SIGNING, move || {
            let leaves = flow::leaves(&block, &packets);
            let tree = Tree::new(block, &leaves).expect("a leaf for each packet");
            let signature = scheme.borrow_mut().sign(&tree.root());
            let path = |index| [&tree.path(index).expect("a packet"), &signature[..]].concat();
            (0..self.block).map(path).collect::<Vec<_>>()
        })
    }

    fn verify_sha256(self, name: String, scheme: Shared) -> Case<'static> {
        let (packets, block) = (self.packets(), self.tree());
        let leaves = flow::leaves(&block, &packets);
        let tree = Tree::new(block, &leaves).expect("a leaf for each packet");
        let path = |index| tree.path(index).expect("a packet");
        let (paths, root): (Vec<_>, _) = ((0..self.block).map(path).collect(), tree.root());
        let turn = signatures(&scheme, &root);
        Case::with_input(name, ABOUT_VERIFYING, turn, move |signature| {
            let good = scheme.borrow().verify(&root, &signature);
            let leaves = flow::leaves(&block, &packets);
            let mut known = Known::new(block, root);
            for ((index, leaf), path) in (0..).zip(&leaves).zip(&paths) {
                known.verify(index, leaf, path).expect("a packet");
            }
            assert!(good, "a good signature");
        })
    }

    fn tree(self) -> clew_flow::Block {
        flow::block(Suite::Sha256, self.degree, self.block)
    }
}

const ABOUT_SIGNING: &str = "signing a block, a packet";
const ABOUT_VERIFYING: &str = "verifying a block in order, a packet";

/// Several signatures of one root in turn.
fn signatures(scheme: &Shared, root: &[u8]) -> impl FnMut() -> Vec<u8> + 'static {
    let sign = |_| scheme.borrow_mut().sign(root);
    let signatures: Vec<_> = (0..SIGNATURES).map(sign).collect();
    let mut turn = signatures.into_iter().cycle();
    move || turn.next().expect("signatures")
}

/// Writes all packets' signatures; returns the root's.
fn sign_md5(
    degree: u16,
    packets: &[Vec<u8>],
    scheme: &Shared,
    outs: &mut [Vec<u8>],
) -> (textbook::Digest, Vec<u8>) {
    let leaves: Vec<_> = packets.iter().map(|packet| textbook::md5(packet)).collect();
    let tree = textbook::Tree::new(&leaves, degree.into());
    let signature = scheme.borrow_mut().sign(&tree.root());
    for (position, out) in (0..).zip(outs) {
        out.clear();
        tree.write_overhead(position, out);
        out.extend(&signature);
    }
    (tree.root(), signature)
}
