//! What rows measure: signing and verifying digests, and blocks of packets.

use crate::effs::bn::Modulus;
use crate::effs::primes::{large, residue};
use crate::effs::scheme::{Hash, Shared};
use crate::flow::paper::chaining::Side;
use crate::flow::paper::textbook;
use crate::flow::{self, payloads};
use crate::groups::rng;
use crate::measure::Case;
use clew_tree::{NodeCache, Suite, Tree};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Digests in turn, as the time of FFS depends on the bits of the challenge; and signatures of one root.
const DIGESTS: usize = 32;
const SIGNATURES: usize = 8;

fn digests(hash: Hash) -> Vec<Vec<u8>> {
    let messages = (0..DIGESTS).map(usize::to_be_bytes);
    messages
        .map(|message| hash.digest([&message[..]]))
        .collect()
}

/// Work is done for so long before it is measured. Signing takes the longer time: the tables of eFFS are in the caches then, as
/// they are when one signature follows the other.
pub const WARM_SIGNING: Duration = Duration::from_millis(3);
pub const WARM: Duration = Duration::from_micros(300);

/// A sample is the median of so many parts, each about so long: another process that takes over after a time slice meets one
/// of them, not all.
const PARTS: usize = 5;
const PART: Duration = Duration::from_micros(60);

const ABOUT_SIGNING: &str = "signing a digest";
const ABOUT_BLOCK: &str = "signing a block, a packet";

/// A case whose work is done several times before it is measured; `pieces` are done at once.
fn warm(
    name: String,
    about: &'static str,
    pieces: usize,
    work: impl FnMut() + 'static,
) -> Case<'static> {
    let before = match about {
        ABOUT_SIGNING | ABOUT_BLOCK => WARM_SIGNING,
        _ => WARM,
    };
    warm_for(name, about, pieces, before, work)
}

/// The same, done for so long a time before it is measured.
pub fn warm_for(
    name: String,
    about: &'static str,
    pieces: usize,
    before: Duration,
    mut work: impl FnMut() + 'static,
) -> Case<'static> {
    Case::timed(name, about, move || {
        let (begin, mut done) = (Instant::now(), 0_u32);
        while begin.elapsed() < before {
            work();
            done += 1;
        }
        let each = begin.elapsed() / done.max(1);
        let count = PART.as_nanos() / each.as_nanos().max(1);
        let mut part = || {
            let start = Instant::now();
            (0..count.max(1)).for_each(|_| work());
            start.elapsed()
        };
        // What takes long is neither repeated nor taken from several.
        let parts = if count == 0 { 1 } else { PARTS };
        let mut times: Vec<_> = (0..parts).map(|_| part()).collect();
        times.sort();
        (times[parts / 2], count.max(1) as usize * pieces)
    })
}

/// Signing a digest.
pub fn signing(name: String, scheme: Shared, hash: Hash) -> Case<'static> {
    let digests = digests(hash);
    let mut turn = (0..DIGESTS).cycle();
    warm(name, ABOUT_SIGNING, 1, move || {
        let digest = &digests[turn.next().unwrap_or(0)];
        black_box(scheme.borrow_mut().sign(digest));
    })
}

/// Verifying its signature.
pub fn verifying(name: String, scheme: Shared, hash: Hash) -> Case<'static> {
    let check = {
        let scheme = scheme.clone();
        move |digest: &[u8], signature: &[u8]| scheme.borrow().verify(digest, signature)
    };
    checking(name, "verifying a digest's signature", &scheme, hash, check)
}

/// One product modulo a number of so many bits: what everything else is made of.
pub fn product(name: String, bits: usize) -> Case<'static> {
    let mut rng = rng(9);
    let mut number = large(bits, &mut rng);
    number.add_word(1 - number.rest_by_word(2));
    let modulus = Modulus::new(&number);
    let [mut a, b] = [(); 2].map(|()| residue(&number, &mut rng));
    warm(name, "a product", 1, move || modulus.multiply(&mut a, &b))
}

/// Anything that is done with signatures and says whether they are good.
pub fn checking(
    name: String,
    about: &'static str,
    scheme: &Shared,
    hash: Hash,
    check: impl Fn(&[u8], &[u8]) -> bool + 'static,
) -> Case<'static> {
    let digests = digests(hash);
    let sign = |digest: &Vec<u8>| scheme.borrow_mut().sign(digest);
    let signatures: Vec<_> = digests.iter().map(sign).collect();
    let mut turn = (0..DIGESTS).cycle();
    warm(name, about, 1, move || {
        let place = turn.next().unwrap_or(0);
        let good = check(&digests[place], &signatures[place]);
        assert!(good, "a good signature");
    })
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
        match (side, hash) {
            (Side::Signer, Hash::Md5) => self.sign_md5(name, scheme),
            (Side::Verifier, Hash::Md5) => self.verify_md5(name, scheme),
            (Side::Signer, Hash::Sha256) => self.sign_sha256(name, scheme),
            (Side::Verifier, Hash::Sha256) => self.verify_sha256(name, scheme),
        }
    }

    fn packets(self) -> Vec<Vec<u8>> {
        payloads(self.block.into(), self.bytes)
    }

    fn sign_md5(self, name: String, scheme: Shared) -> Case<'static> {
        let (packets, mut outs) = (self.packets(), vec![Vec::new(); self.block.into()]);
        warm(name, ABOUT_BLOCK, packets.len(), move || {
            sign_md5(self.degree, &packets, &scheme, &mut outs);
        })
    }

    /// The procedure of the appendix: the signature is verified with the first packet, whose path gives the root.
    fn verify_md5(self, name: String, scheme: Shared) -> Case<'static> {
        let (packets, mut outs) = (self.packets(), vec![Vec::new(); self.block.into()]);
        let (root, signature) = sign_md5(self.degree, &packets, &scheme, &mut outs);
        let mut turn = signatures(&scheme, &root);
        let chains = outs.into_iter().map(|mut out| {
            out.truncate(out.len() - signature.len());
            out
        });
        let chains: Vec<_> = chains.collect();
        warm(name, ABOUT_VERIFYING, packets.len(), move || {
            let signature = turn();
            let good = scheme.borrow().verify(&root, &signature);
            let mut block = textbook::Verifier::new(packets.len(), self.degree.into(), root);
            let mut all = packets.iter().zip(&chains);
            let all = all.all(|(packet, chain)| block.verify(textbook::md5(packet), chain));
            assert!(good && all, "every packet is verified");
        })
    }

    fn sign_sha256(self, name: String, scheme: Shared) -> Case<'static> {
        let (packets, block) = (self.packets(), self.tree());
        warm(name, ABOUT_BLOCK, packets.len(), move || {
            let leaves = flow::leaves(&block, &packets);
            let tree = Tree::new(block, &leaves).expect("a leaf for each packet");
            let signature = scheme.borrow_mut().sign(&tree.root());
            let path = |index| [&tree.path(index).expect("a packet"), &signature[..]].concat();
            black_box((0..self.block).map(path).collect::<Vec<_>>());
        })
    }

    fn verify_sha256(self, name: String, scheme: Shared) -> Case<'static> {
        let (packets, block) = (self.packets(), self.tree());
        let leaves = flow::leaves(&block, &packets);
        let tree = Tree::new(block, &leaves).expect("a leaf for each packet");
        let path = |index| tree.path(index).expect("a packet");
        let (paths, root): (Vec<_>, _) = ((0..self.block).map(path).collect(), tree.root());
        let mut turn = signatures(&scheme, &root);
        warm(name, ABOUT_VERIFYING, packets.len(), move || {
            let signature = turn();
            let good = scheme.borrow().verify(&root, &signature);
            let leaves = flow::leaves(&block, &packets);
            let mut known = NodeCache::new(block, root);
            for ((index, leaf), path) in (0..).zip(&leaves).zip(&paths) {
                known.verify(index, leaf, path).expect("a packet");
            }
            assert!(good, "a good signature");
        })
    }

    fn tree(self) -> clew_tree::Block {
        flow::block(Suite::Sha256, self.degree, self.block)
    }
}

const ABOUT_VERIFYING: &str = "verifying a block in order, a packet";

/// Several signatures of one root in turn.
fn signatures(scheme: &Shared, root: &[u8]) -> impl FnMut() -> Vec<u8> + use<> {
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
