//! Nodes of a block that are verified: the cache of Wong and Lam's procedure (their appendix).

use alloc::vec::Vec;

use crate::block::{Block, Digest, DigestSize};
use crate::nodes::{Family, TreeNodes};

/// The verified nodes of a block whose root was verified.
///
/// A packet whose leaf is known costs its own hash and no more; another costs the hashes up to the
/// first node that is known. At most twice as many nodes as packets are kept, each as long as the
/// block's digests.
#[derive(Clone, Debug)]
pub struct NodeCache {
    levels: TreeNodes,
    root: Digest,
    /// What is known of each family, in the place of its first node.
    marks: Vec<Mark>,
}

/// What is known of a family. All families above a verified one are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Nothing,
    Verified,
    /// The packet at hand of that number was the first to say so.
    Said(u32),
}

/// A packet is not what the verified block has at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// There is no such place, or the path is not as long as it must be.
    Shape,
    /// The packet, or its path, is another.
    Digest,
}

/// A packet's claim to a place in a block. Nothing of it is verified.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The packet's place.
    pub index: u16,
    /// Its leaf.
    pub leaf: Digest,
    /// The digests between its leaf and the root.
    pub path: &'a [u8],
}

impl NodeCache {
    /// Creates a cache that has only the root, which was verified with the block.
    pub fn new(block: Block, root: Digest) -> Self {
        let levels = TreeNodes::new(block);
        Self {
            marks: alloc::vec![Mark::Nothing; levels.len()],
            levels,
            root,
        }
    }

    /// Builds the cache that is valid if the first packet's root verifies. The flags mark packets
    /// consistent with that root. A packet that contradicts one before it is not marked.
    ///
    /// Returns `None` if no packet leads to a root.
    pub fn if_verified(block: Block, claims: &[Claim<'_>]) -> Option<(Self, Vec<bool>)> {
        let mut known = Self::new(block, [0; 32]);
        let mut root = None;
        let lead = known.climb(claims, &mut root);
        known.root = root?;
        Some((known, lead))
    }

    /// Returns the block whose nodes these are.
    pub fn block(&self) -> &Block {
        self.levels.block()
    }

    /// Returns the root.
    pub fn root(&self) -> &Digest {
        &self.root
    }

    /// Verifies a packet by its leaf and path, with as few hashes as are needed, and takes in what
    /// this verified. All of the path is compared: whoever takes the packet on may rely on it.
    ///
    /// # Errors
    /// The packet is not of the block at this index, or does not carry its path.
    pub fn verify(&mut self, index: u16, leaf: &Digest, path: &[u8]) -> Result<(), Mismatch> {
        let depth = self.block().depth(index).ok_or(Mismatch::Shape)?;
        if path.len() != depth * self.block().digest().bytes() {
            return Err(Mismatch::Shape);
        }
        let leaf = *leaf;
        match self.verify_all(&[Claim { index, leaf, path }])[..] {
            [true] => Ok(()),
            _ => Err(Mismatch::Digest),
        }
    }

    /// Returns which of these packets of the block are verified, with nodes hashed together. One
    /// that contradicts another before it is left out and may be valid alone.
    pub fn verify_all(&mut self, claims: &[Claim<'_>]) -> Vec<bool> {
        let root = self.root;
        self.climb(claims, &mut Some(root))
    }

    /// Which packets lead to the root, or to that of the first one.
    fn climb(&mut self, claims: &[Claim<'_>], root: &mut Option<Digest>) -> Vec<bool> {
        match self.block().digest() {
            DigestSize::D16 => self.climb_by::<16>(claims, root),
            DigestSize::D24 => self.climb_by::<24>(claims, root),
            DigestSize::D32 => self.climb_by::<32>(claims, root),
        }
    }

    fn climb_by<const D: usize>(
        &mut self,
        claims: &[Claim<'_>],
        root: &mut Option<Digest>,
    ) -> Vec<bool> {
        let mut hashed: Vec<Digest> = claims.iter().map(|claim| claim.leaf).collect();
        let climbers = (0..).zip(claims).map(|(at, claim)| Climber {
            place: claim.index,
            path: claim.path.as_chunks().0,
            stage: Stage::Hashed(at),
        });
        let mut climbers: Vec<Climber<'_, D>> = climbers.collect();
        let mut said = Vec::new();
        for level in self.levels.levels() {
            said.clear();
            for i in 0..climbers.len() {
                let (before, rest) = climbers.split_at_mut(i);
                self.step(level, before, &mut rest[0], &hashed, &mut said);
            }
            let parents = hashed.len();
            hashed.resize(parents + said.len(), [0; 32]);
            self.levels.parents(level, &said, &mut hashed[parents..]);
        }
        let mut lead = Vec::with_capacity(claims.len());
        for climber in &climbers {
            lead.push(match climber.stage {
                Stage::Hashed(at) => hashed[at] == *root.get_or_insert(hashed[at]),
                Stage::Behind(other) => lead[other as usize],
                Stage::Met => true,
                Stage::Elsewhere => false,
            });
        }
        // First those that lead there: others may have said the same on their way elsewhere.
        for (leads, mark) in [(true, Mark::Verified), (false, Mark::Nothing)] {
            let these = claims.iter().zip(&lead).filter(|(_, lead)| **lead == leads);
            these.for_each(|(claim, _)| self.settle(claim.index, mark));
        }
        lead
    }

    /// A packet's step to the next level: what it has of its family is compared, or taken down as
    /// `said` if nothing is known of it. The parents of those are hashed next.
    fn step<const D: usize>(
        &mut self,
        level: usize,
        before: &[Climber<'_, D>],
        climber: &mut Climber<'_, D>,
        hashed: &[Digest],
        said: &mut Vec<Family>,
    ) {
        if matches!(climber.stage, Stage::Elsewhere | Stage::Behind(_)) {
            return;
        }
        let family = self.levels.family(level, climber.place);
        climber.place = family.parent;
        let siblings = family.nodes.len() - 1;
        let (Some((siblings, above)), Some(mark)) = (
            climber.path.split_at_checked(siblings),
            self.marks.get_mut(family.nodes.start),
        ) else {
            climber.stage = Stage::Elsewhere;
            return;
        };
        // A node without siblings moves up as it is.
        if siblings.is_empty() {
            return;
        }
        climber.path = above;
        let nodes = &mut self.levels.nodes_mut::<D>()[family.nodes.clone()];
        let (left, rest) = nodes.split_at_mut(family.own);
        let [own, after @ ..] = rest else {
            return;
        };
        let (siblings_before, siblings_after) = siblings.split_at(family.own);
        let hash = match climber.stage {
            Stage::Hashed(at) => hashed[at].first_chunk::<D>(),
            _ => None,
        };
        climber.stage = match (*mark, hash) {
            (Mark::Nothing, Some(hash)) => {
                left.copy_from_slice(siblings_before);
                after.copy_from_slice(siblings_after);
                *own = *hash;
                let parent = hashed.len() + said.len();
                said.push(family);
                *mark = Mark::Said(before.len() as u32);
                Stage::Hashed(parent)
            }
            _ if !same(left, siblings_before) || !same(after, siblings_after) => Stage::Elsewhere,
            (_, Some(hash)) if own != hash => Stage::Elsewhere,
            (Mark::Said(by), _) => match &before[by as usize] {
                other if other.path == climber.path => Stage::Behind(by),
                other => other.stage,
            },
            _ => Stage::Met,
        };
    }

    /// Marks what was only said on a packet's way.
    fn settle(&mut self, index: u16, mark: Mark) {
        let mut place = index;
        for level in self.levels.levels() {
            let family = self.levels.family(level, place);
            match &mut self.marks[family.nodes.start] {
                Mark::Verified => return,
                said @ Mark::Said(_) => *said = mark,
                Mark::Nothing => {}
            }
            place = family.parent;
        }
    }
}

/// One by one: mostly there is one, whose size is known here.
fn same<const D: usize>(some: &[[u8; D]], others: &[[u8; D]]) -> bool {
    some.iter().eq(others)
}

/// A packet on its way up.
struct Climber<'a, const D: usize> {
    place: u16,
    /// What is left of its path.
    path: &'a [[u8; D]],
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Its node was hashed, as the one of that number.
    Hashed(usize),
    /// From here on its way is that of the packet of this number, before it.
    Behind(u32),
    /// It came to a verified node: what is left is to compare its path.
    Met,
    /// It does not lead to the root, or contradicts a packet before it.
    Elsewhere,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Degree;
    use crate::suite::Suite;
    use crate::tree::Tree;
    use proptest::prelude::*;

    type Sent = (u16, Digest, Vec<u8>);

    /// Packets of a block, some of them changed: a leaf, or a byte of the path.
    fn sent(tree: &Tree, arrivals: &[(u16, u8, usize)]) -> Vec<Sent> {
        let packet = |&(index, change, at): &(u16, u8, usize)| {
            let index = index % tree.block().count();
            let mut leaf = tree.block().leaf(index, &[&index.to_be_bytes()]);
            let mut path = tree.path(index).expect("the block has it");
            match change {
                0 => leaf[at % 32] ^= 1,
                1 if !path.is_empty() => {
                    let at = at % path.len();
                    path[at] ^= 1;
                }
                _ => {}
            }
            (index, leaf, path)
        };
        arrivals.iter().map(packet).collect()
    }

    fn claims(sent: &[Sent]) -> Vec<Claim<'_>> {
        let sent = sent.iter().map(|(index, leaf, path)| Claim {
            index: *index,
            leaf: *leaf,
            path,
        });
        sent.collect()
    }

    proptest! {
        #[test]
        fn together_as_alone(
            (count, degree) in (1u16..80, prop_oneof![2u16..6, Just(1024)]),
            suite in prop_oneof![Just(Suite::Blake3), Just(Suite::Sha256)],
            size in prop_oneof![Just(DigestSize::D16), Just(DigestSize::D24), Just(DigestSize::D32)],
            first in prop::collection::vec((any::<u16>(), 0u8..12, any::<usize>()), 1..70),
            then in prop::collection::vec((any::<u16>(), 0u8..12, any::<usize>()), 1..70),
        ) {
            let degree = Degree::new(degree).expect("a degree");
            let block = Block::shaped([3; 16], count, size, degree, suite).expect("a block");
            let leaves = (0..count).map(|i| block.leaf(i, &[&i.to_be_bytes()]));
            let tree = Tree::new(block, &leaves.collect::<Vec<_>>()).expect("a tree");
            let alone = |claim: &Claim<'_>| block.root(claim.index, &claim.leaf, claim.path);

            let first = sent(&tree, &first);
            prop_assert!(NodeCache::if_verified(block, &[]).is_none());
            let (known, leads) = NodeCache::if_verified(block, &claims(&first)).expect("a root");
            prop_assert_eq!(Some(*known.root()), alone(&claims(&first)[0]));
            prop_assert!(leads[0]);
            for (claim, leads) in claims(&first).iter().zip(leads) {
                prop_assert!(!leads || alone(claim) == Some(*known.root()));
            }

            // A block of which something is known, if the first packet was not changed.
            let mut known = match *known.root() == tree.root() {
                true => known,
                false => NodeCache::new(block, tree.root()),
            };
            let then = sent(&tree, &then);
            let leads = known.verify_all(&claims(&then));
            let unchanged = then == sent(&tree, &then.iter().map(|sent| (sent.0, 9, 0)).collect::<Vec<_>>());
            for (claim, leads) in claims(&then).iter().zip(leads) {
                let valid = alone(claim) == Some(tree.root());
                prop_assert!(leads <= valid && (leads || !unchanged));
                prop_assert_eq!(known.verify(claim.index, &claim.leaf, claim.path).is_ok(), valid);
            }
        }
    }
}
