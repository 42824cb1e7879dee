//! Which packets are verified at all: those of chosen addresses, and a sample of flows.

use clew_packet::{Flow, Frame, flow};
use ipnet::IpNet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It is verified.
    Take,
    /// Its addresses were not asked for.
    Filtered,
    /// Its flow is not in the sample.
    Unsampled,
}

/// Chooses packets by their flow, so that a block is verified whole or not at all.
#[derive(Clone, Debug)]
pub struct Chooser {
    /// Prefixes of sources; all if there are none.
    pub from: Vec<IpNet>,
    /// Prefixes of destinations; all if there are none.
    pub to: Vec<IpNet>,
    /// One flow in so many.
    pub sample: u32,
    /// Nobody outside knows it, so nobody can choose flows that are not in the sample.
    pub seed: u64,
}

impl Chooser {
    /// Chooses about one packet. Both directions of a connection have the same fate.
    pub fn choose(&self, frame: &Frame<'_>) -> Choice {
        if self.from.is_empty() && self.to.is_empty() && self.sample <= 1 {
            return Choice::Take;
        }
        let flow = flow(frame).ok();
        let source = flow.as_ref().map(|flow| flow.source);
        let destination = flow.as_ref().map(|flow| flow.destination);
        if !contains(&self.from, source) || !contains(&self.to, destination) {
            return Choice::Filtered;
        }
        match self.hash(flow.as_ref(), frame) % u64::from(self.sample.max(1)) {
            0 => Choice::Take,
            _ => Choice::Unsampled,
        }
    }

    /// A packet without a flow, such as a fragment, is chosen by its bytes.
    fn hash(&self, flow: Option<&Flow>, frame: &Frame<'_>) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.seed.hash(&mut hasher);
        match flow {
            Some(flow) => {
                let mut ends = [
                    (flow.source, flow.source_port),
                    (flow.destination, flow.destination_port),
                ];
                ends.sort_unstable();
                (flow.protocol, ends).hash(&mut hasher);
            }
            None => frame.bytes.hash(&mut hasher),
        }
        hasher.finish()
    }
}

fn contains(nets: &[IpNet], address: Option<IpAddr>) -> bool {
    let is_within = |address| nets.iter().any(|net| net.contains(&address));
    nets.is_empty() || address.is_some_and(is_within)
}

/// Reads `1/N`.
///
/// # Errors
/// It has another form, or N is 0.
pub fn parse_sample(text: &str) -> Result<u32, String> {
    let count = text.strip_prefix("1/").and_then(|count| count.parse().ok());
    let count = count.filter(|count| *count > 0);
    count.ok_or_else(|| "use the form 1/8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clew_packet::LinkType;

    /// UDP over IPv4.
    fn packet(from: [u8; 4], to: [u8; 4], ports: [u16; 2]) -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 29, 0, 0, 0, 0, 64, 17, 0, 0];
        bytes.extend(from.iter().chain(&to));
        bytes.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
        bytes.extend([0, 9, 0, 0, 7]);
        bytes
    }

    fn chooser(from: &str, to: &str, sample: u32) -> Chooser {
        let nets = |text: &str| {
            text.split_terminator(' ')
                .map(|n| n.parse().unwrap())
                .collect()
        };
        Chooser {
            from: nets(from),
            to: nets(to),
            sample,
            seed: 7,
        }
    }

    fn choice(chooser: &Chooser, bytes: &[u8]) -> Choice {
        chooser.choose(&Frame::whole(LinkType::RAW, bytes))
    }

    #[test]
    fn a_sample_has_whole_flows_in_both_directions() {
        let chooser = chooser("", "", 4);
        let mut taken = 0;
        for port in 0..1000 {
            let there = packet([10, 0, 0, 1], [10, 0, 0, 2], [port, 53]);
            let back = packet([10, 0, 0, 2], [10, 0, 0, 1], [53, port]);
            let first = choice(&chooser, &there);
            let other = [&there[..28], &[8]].concat();
            assert_eq!(
                choice(&chooser, &other),
                first,
                "another packet of the flow"
            );
            assert_eq!(choice(&chooser, &back), first, "the other direction");
            taken += usize::from(first == Choice::Take);
        }
        assert!((150..350).contains(&taken), "{taken} of 1000");
    }

    #[test]
    fn other_seeds_choose_other_flows() {
        let chosen = |seed| {
            let chooser = Chooser {
                seed,
                ..chooser("", "", 2)
            };
            let flow = |port| packet([10, 0, 0, 1], [10, 0, 0, 2], [port, 53]);
            (0..64)
                .map(|port| choice(&chooser, &flow(port)))
                .collect::<Vec<_>>()
        };
        assert_ne!(chosen(1), chosen(2));
    }

    #[test]
    fn prefixes() {
        let bytes = packet([10, 0, 0, 1], [192, 0, 2, 1], [1, 2]);
        for (from, to, expected) in [
            ("", "", Choice::Take),
            ("10.0.0.0/8", "", Choice::Take),
            ("fd00::/8 10.0.0.1/32", "192.0.2.0/24", Choice::Take),
            ("10.0.0.2/32", "", Choice::Filtered),
            ("10.0.0.0/8", "10.0.0.0/8", Choice::Filtered),
        ] {
            assert_eq!(
                choice(&chooser(from, to, 1), &bytes),
                expected,
                "{from} {to}"
            );
        }
        let not_ip = choice(&chooser("10.0.0.0/8", "", 1), &[0; 30]);
        assert_eq!(not_ip, Choice::Filtered);
        assert_eq!(choice(&chooser("", "", 1), &[0; 30]), Choice::Take);
    }

    #[test]
    fn samples_are_fractions() {
        assert_eq!(parse_sample("1/8"), Ok(8));
        for bad in ["8", "1/0", "2/3", "1/", "1/-1"] {
            assert!(parse_sample(bad).is_err(), "{bad}");
        }
    }
}
