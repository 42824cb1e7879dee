//! Packets that come together: what is hashed of them at once, before each is judged.

use alloc::vec::Vec;

use super::{Finding, FlowReceiver};
use crate::reason::Reason;
use crate::wire::SignedPacket;
use clew_tree::{Block, Claim, Digest, NodeCache};
use clew_wire::WallTime;

/// A tree is laid out for the packets of a block that is not verified if they are one in so many of
/// its packets, at least: some 1,300 bytes for each, whatever a packet says of its block.
const LAID_OUT: usize = 16;

/// What was hashed of a packet before it is judged.
#[derive(Clone, Copy, Default)]
pub(super) struct Hashed {
    pub leaf: Option<Digest>,
    /// The root that it leads to.
    pub root: Option<Digest>,
}

impl FlowReceiver {
    /// Judges packets as [`receive`](Self::receive) does one after the other, with tickets from the
    /// first on. Packets of one block are hashed together.
    pub fn receive_many<'a>(
        &mut self,
        signed: &[&'a [u8]],
        now: WallTime,
        first_ticket: u64,
    ) -> Vec<Finding<'a>> {
        let parsed: Vec<_> = signed.iter().map(|signed| self.parse(signed)).collect();
        let hashed = self.hash_ahead(&parsed);
        let all = signed.iter().zip(&parsed).zip(&hashed).zip(first_ticket..);
        let finding = |(((signed, parsed), hashed), ticket): (((&&'a [u8], _), _), _)| {
            self.finding(signed, parsed, hashed, now, ticket)
        };
        let findings = all.map(finding).collect();
        self.ahead.clear();
        findings
    }

    /// Hashes what is not refused without.
    fn hash_ahead(&mut self, parsed: &[Result<SignedPacket<'_>, Reason>]) -> Vec<Hashed> {
        let mut hashed = alloc::vec![Hashed::default(); parsed.len()];
        let packets = parsed.iter().zip(&mut hashed);
        let mut to_hash: Vec<(&SignedPacket<'_>, &mut Hashed)> = packets
            .filter_map(|(packet, hashed)| Some((packet.as_ref().ok()?, hashed)))
            .filter(|(packet, _)| self.screen(packet).is_ok())
            .collect();
        // Those of a block side by side, in their order.
        to_hash.sort_by_key(|(packet, _)| u128::from_be_bytes(packet.fixed.id));
        for of_block in to_hash.chunk_by_mut(|(a, _), (b, _)| a.is_beside(b)) {
            let block = of_block[0].0.block;
            let contents: Vec<_> = of_block.iter().map(|(p, _)| p.content()).collect();
            let leaves = block.leaves(&contents);
            let claims = of_block
                .iter()
                .zip(&leaves)
                .map(|((p, _), leaf)| p.claim(*leaf));
            let claims: Vec<Claim<'_>> = claims.collect();
            let ahead = self.root_ahead(of_block[0].0, &claims);
            for (i, (_, hashed)) in of_block.iter_mut().enumerate() {
                let root = ahead.as_ref().filter(|(_, lead)| lead[i]);
                hashed.leaf = Some(leaves[i]);
                hashed.root = root.map(|(root, _)| *root);
            }
        }
        hashed
    }

    /// A root that packets of one block lead to, and which of them do: what they have in common is
    /// hashed once. None if they are too few.
    fn root_ahead(
        &mut self,
        packet: &SignedPacket<'_>,
        claims: &[Claim<'_>],
    ) -> Option<(Digest, Vec<bool>)> {
        let fixed = &packet.fixed;
        let flow = self.flows.get_mut(&(fixed.key, fixed.tag));
        if let Some(known) = flow.and_then(|flow| flow.known(fixed.seq)) {
            return Some((*known.root(), known.verify_all(claims)));
        }
        if claims.len() * LAID_OUT < usize::from(fixed.count) {
            return None;
        }
        let (known, lead) = NodeCache::if_verified(packet.block, claims)?;
        let root = *known.root();
        self.ahead.push(known);
        Some((root, lead))
    }

    /// What is known of a block whose root was verified just now.
    pub(super) fn known_ahead(&mut self, block: &Block, root: &Digest) -> NodeCache {
        let laid_out = |known: &NodeCache| known.block() == block && known.root() == root;
        match self.ahead.iter().position(laid_out) {
            Some(place) => self.ahead.swap_remove(place),
            None => NodeCache::new(*block, *root),
        }
    }
}
