//! Which sources a group's machines may have.

use crate::packet::PeerIndex;
use crate::prefixes::Prefixes;
use clew_packet::GroupTag;
use ipnet::IpNet;
use std::net::IpAddr;

/// What a receiver knows of a peer. Its place in the list is its [`PeerIndex`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerRule {
    /// The group that signs its packets.
    pub group: GroupTag,
    /// The inner sources that it may have. Of two peers the one with the longer prefix has a source.
    pub prefixes: Vec<IpNet>,
    /// Where it is configured to be.
    pub address: Option<IpAddr>,
    /// The largest TCP segment over IPv4 towards it, as [`Outbound::mss`](crate::sender::Outbound::mss)
    /// says.
    pub mss: Option<u16>,
}

/// All peers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peers {
    rules: Vec<PeerRule>,
    prefixes: Prefixes,
}

impl Peers {
    /// Returns the peers of a list; those after the first 65,536 are left out.
    pub fn new(rules: Vec<PeerRule>) -> Self {
        let prefixes = (0..=u16::MAX).zip(&rules).flat_map(|(index, rule)| {
            let prefixes = rule.prefixes.iter();
            prefixes.map(move |net| (*net, PeerIndex(index)))
        });
        let prefixes = Prefixes::new(prefixes);
        Self { rules, prefixes }
    }

    /// Returns the peer that has an inner source, if its packets are signed by that group.
    pub fn find(&self, group: GroupTag, source: IpAddr) -> Option<PeerIndex> {
        let is_of_group = |peer: &&PeerIndex| self.rule(**peer).is_some_and(|r| r.group == group);
        let mut found = self.prefixes.find(source).iter();
        found.find(is_of_group).copied()
    }

    /// Takes the largest TCP segments towards all peers, in their order.
    pub fn set_mss(&mut self, mss: &[Option<u16>]) {
        for (rule, mss) in self.rules.iter_mut().zip(mss) {
            rule.mss = *mss;
        }
    }

    /// Returns where peers are configured to be.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.rules.iter().filter_map(|rule| rule.address)
    }

    /// Returns what is known of a peer.
    pub fn rule(&self, peer: PeerIndex) -> Option<&PeerRule> {
        self.rules.get(usize::from(peer.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: GroupTag = GroupTag([1; 8]);
    const OTHER: GroupTag = GroupTag([2; 8]);

    fn rule(group: GroupTag, prefixes: &[&str]) -> PeerRule {
        PeerRule {
            group,
            prefixes: prefixes.iter().map(|p| p.parse().unwrap()).collect(),
            address: None,
            mss: None,
        }
    }

    #[test]
    fn the_longest_prefix_has_the_source() {
        let peers = Peers::new(vec![
            rule(GROUP, &["10.0.0.0/8", "2001:db8::/32"]),
            rule(OTHER, &["10.1.0.0/16"]),
            rule(GROUP, &["10.1.2.3/32"]),
        ]);
        let find = |group, source: &str| peers.find(group, source.parse().unwrap());
        assert_eq!(find(GROUP, "10.9.9.9"), Some(PeerIndex(0)));
        assert_eq!(find(GROUP, "2001:db8::9"), Some(PeerIndex(0)));
        assert_eq!(find(OTHER, "10.1.9.9"), Some(PeerIndex(1)));
        assert_eq!(find(GROUP, "10.1.9.9"), None, "another group's");
        assert_eq!(find(GROUP, "10.1.2.3"), Some(PeerIndex(2)));
        assert_eq!(find(GROUP, "11.0.0.1"), None);
        assert_eq!(find(OTHER, "10.9.9.9"), None);
    }
}
