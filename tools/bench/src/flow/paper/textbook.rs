//! Chaining as the paper has it (2.1, 2.2 and its appendix): MD5 over children and nothing else, and
//! of a packet whose digest is cached nothing but that digest is compared. For comparison only: it has
//! the defects that `spec/tree.md` names.

use md5::{Digest as _, Md5};

/// A message digest.
pub type Digest = [u8; 16];

pub fn md5(packet: &[u8]) -> Digest {
    Md5::digest(packet).into()
}

fn parent(children: &[Digest]) -> Digest {
    Md5::digest(children.as_flattened()).into()
}

/// An authentication tree; with a degree not below the number of packets, a star.
pub struct Tree {
    degree: usize,
    /// Leaves first, then each level up to the root.
    levels: Vec<Vec<Digest>>,
}

impl Tree {
    pub fn new(leaves: &[Digest], degree: usize) -> Self {
        let mut levels = vec![leaves.to_vec()];
        while levels[levels.len() - 1].len() > 1 {
            let families = levels[levels.len() - 1].chunks(degree);
            levels.push(families.map(parent).collect());
        }
        Self { degree, levels }
    }

    pub fn root(&self) -> Digest {
        self.levels[self.levels.len() - 1][0]
    }

    /// A packet's signature but for the block's: its position, and the siblings on its way to the root.
    pub fn write_overhead(&self, position: u16, out: &mut Vec<u8>) {
        out.extend(position.to_be_bytes());
        let mut own = usize::from(position);
        for nodes in &self.levels[..self.levels.len() - 1] {
            let first = own / self.degree * self.degree;
            let family = &nodes[first..nodes.len().min(first + self.degree)];
            let (before, rest) = family.split_at(own - first);
            out.extend_from_slice(before.as_flattened());
            out.extend_from_slice(rest[1..].as_flattened());
            own /= self.degree;
        }
    }
}

/// A block at a receiver: the procedure `flowverify` of the appendix.
pub struct Verifier {
    degree: usize,
    /// Cached nodes of each level, as in [`Tree`]; of the root it is the block signature that says.
    cached: Vec<Vec<Option<Digest>>>,
}

impl Verifier {
    /// A block of so many packets whose signature covers this root.
    pub fn new(packets: usize, degree: usize, root: Digest) -> Self {
        let mut cached = vec![vec![None; packets]];
        let mut nodes = packets;
        while nodes > 1 {
            nodes = nodes.div_ceil(degree);
            cached.push(vec![None; nodes]);
        }
        let top = cached.len() - 1;
        cached[top][0] = Some(root);
        Self { degree, cached }
    }

    /// Whether a packet of this digest is verified by what it carries.
    pub fn verify(&mut self, digest: Digest, overhead: &[u8]) -> bool {
        let Some((position, siblings)) = overhead.split_first_chunk::<2>() else {
            return false;
        };
        let (mut siblings, rest) = siblings.as_chunks::<16>();
        let mut own = usize::from(u16::from_be_bytes(*position));
        if !rest.is_empty() || own >= self.cached[0].len() {
            return false;
        }
        let (mut node, mut computed) = (digest, Vec::new());
        for level in 0..self.cached.len() {
            if let Some(cached) = self.cached[level][own] {
                return cached == node && self.cache(&computed);
            }
            let first = own / self.degree * self.degree;
            let members = self.degree.min(self.cached[level].len() - first);
            if siblings.len() + 1 < members {
                return false;
            }
            let (of_level, above) = siblings.split_at(members - 1);
            let (before, after) = of_level.split_at(own - first);
            let family = [before, &[node], after].concat();
            node = parent(&family);
            computed.push((level, first, family));
            (siblings, own) = (above, own / self.degree);
        }
        false
    }

    fn cache(&mut self, computed: &[(usize, usize, Vec<Digest>)]) -> bool {
        for (level, first, family) in computed {
            let nodes = &mut self.cached[*level][*first..][..family.len()];
            let all = nodes.iter_mut().zip(family);
            all.for_each(|(node, digest)| *node = Some(*digest));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_a_block_are_verified_and_others_are_not() {
        let packets: Vec<[u8; 2]> = (0..16u16).map(u16::to_be_bytes).collect();
        let leaves: Vec<Digest> = packets.iter().map(|p| md5(p)).collect();
        for (degree, overhead) in [(2, 4), (4, 6), (8, 8), (16, 15)] {
            let tree = Tree::new(&leaves, degree);
            let mut verifier = Verifier::new(16, degree, tree.root());
            for (position, leaf) in (0..).zip(&leaves) {
                let mut own = Vec::new();
                tree.write_overhead(position, &mut own);
                assert_eq!(own.len(), 2 + 16 * overhead, "degree {degree}");
                assert!(!verifier.verify(md5(b"another"), &own));
                assert!(verifier.verify(*leaf, &own));
                assert!(
                    !verifier.verify(md5(b"another"), &own),
                    "though it is cached"
                );
            }
        }
    }
}
