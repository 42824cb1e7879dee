//! One flow of packets, and its signer in each mode.

use crate::group::Group;
use crate::groups::rng;
use crate::udp::udp;
use clew_group::{Precursor, Scheme};
use clew_packet::{
    Candidate, Frame, GroupId, LinkType, Mode, Policy, SECOND_NS, Sender, Timestamp, Window,
};

/// Length of a packet before it is signed, as an IP datagram: Clue's.
pub const PACKET_BYTES: usize = 1277;

/// The id of the one group.
pub const GROUP: GroupId = GroupId([0xa0; 16]);

/// When all packets are sent and received.
pub const NOW: Timestamp = Timestamp(1_700_000_000 * SECOND_NS);

/// How a flow is signed: the modes of trailers, with their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Each,
    Window(u16),
    Tree(u16),
}

/// The ways that are measured.
pub const WAYS: [Way; 6] = [
    Way::Each,
    Way::Window(8),
    Way::Window(64),
    Way::Tree(8),
    Way::Tree(64),
    Way::Tree(256),
];

impl Way {
    /// As it stands in the names of rows.
    pub fn name(self) -> String {
        match self {
            Self::Each => "each".into(),
            Self::Window(k) => format!("window-{k}"),
            Self::Tree(m) => format!("tree-{m}"),
        }
    }

    /// How many packets one signature of the signer is for.
    pub fn packets(self) -> usize {
        match self {
            Self::Each | Self::Window(_) => 1,
            Self::Tree(m) => m.into(),
        }
    }

    fn mode_and_most(self) -> (Mode, u16) {
        match self {
            Self::Each => (Mode::Each, 1),
            Self::Window(k) => (Mode::Window, k),
            Self::Tree(m) => (Mode::Tree, m),
        }
    }
}

/// UDP over IPv4, of one flow, checksums right, with random content.
pub fn packets(count: usize) -> Vec<Vec<u8>> {
    let mut rng = rng(2);
    let packet = |id| {
        udp(
            [10, 0, 0, 1, 10, 0, 0, 2],
            id as u16,
            PACKET_BYTES,
            &mut rng,
        )
    };
    (0..count).map(packet).collect()
}

/// A packet as a frame.
pub fn frame(bytes: &[u8]) -> Frame<'_> {
    Frame::whole(LinkType::RAW, bytes)
}

/// The signer of one flow.
pub struct Signer {
    sender: Sender,
    way: Way,
    window: Window,
    outs: Vec<Vec<u8>>,
}

impl Signer {
    pub fn new(scheme: Scheme, way: Way, incremental: bool) -> Self {
        let policy = Policy {
            incremental,
            ..Policy::default()
        };
        Self {
            sender: Sender::new(scheme, GROUP, 0, policy),
            way,
            window: Window::new(way.mode_and_most().1),
            outs: vec![Vec::new(); way.packets()],
        }
    }

    /// Signs the next packet, or the next block: as many packets as one signature is for.
    pub fn sign<'p>(
        &mut self,
        packets: &'p [Vec<u8>],
        precursor: impl FnOnce() -> Precursor,
    ) -> &[Vec<u8>] {
        let (mode, most) = self.way.mode_and_most();
        let (sender, outs) = (self.sender, &mut self.outs[..packets.len()]);
        let mut admit = |packet: &'p Vec<u8>| {
            let candidate = sender.admit(&frame(packet), mode, most, &mut outs[0]);
            candidate.expect("a packet of a flow")
        };
        match self.way {
            Way::Each => {
                sender.sign(&frame(&packets[0]), Some(NOW), precursor, &mut outs[0]);
            }
            Way::Window(_) => {
                let packet = admit(&packets[0]);
                let window = &mut self.window;
                sender.sign_in_window(&packet, Some(NOW), window, precursor, &mut outs[0]);
            }
            Way::Tree(_) => {
                let block: Vec<Candidate<'_>> = packets.iter().map(admit).collect();
                let signed = sender.sign_block(&block, Some(NOW), [9; 16], precursor, outs);
                signed.expect("a block");
            }
        }
        &self.outs[..packets.len()]
    }
}

/// All packets, signed.
pub fn sign_all(group: &Group, way: Way, incremental: bool, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut rng = rng(3);
    let mut signer = Signer::new(group.scheme, way, incremental);
    let mut sign = |some: &[Vec<u8>]| {
        let precursor = || group.signer.precursor(&mut rng);
        signer.sign(some, precursor).to_vec()
    };
    packets.chunks(way.packets()).flat_map(&mut sign).collect()
}
