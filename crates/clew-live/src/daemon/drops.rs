//! What the daemon drops outside of sender and receiver, each packet with its direction and reason.

pub use arriving::DroppedIn;
pub use leaving::DroppedOut;

use super::shared::{Shared, lock};
use clew_packet::KeySource;

mod leaving {
    clew_wire::reasons! {
        /// Why the daemon dropped a packet or a datagram on its way to the network.
        pub enum DroppedOut {
            NoPeer = "no-peer": "Its destination is no peer's.",
            OwnCarrier = "own-carrier": "It is a datagram of this daemon that came back to it.",
            Unreadable = "unreadable": "A super-packet could not be cut into packets.",
            InterfaceFull = "interface-full": "The interface had no room for packets of this host, because more came than were read.",
            SendBusy = "send-busy": "The socket took no more for too long.",
            TooLong = "too-long": "It was longer than the path takes; later ones are cut.",
            NoAddress = "no-address": "Its peer has no end point any more.",
            SendFailed = "send-failed": "The system refused to send it.",
            CookieUnsent = "cookie-unsent": "The system refused to send a cookie.",
        }
    }
}

mod arriving {
    clew_wire::reasons! {
        /// Why a packet or a datagram from the network was dropped before or after it was judged.
        pub enum DroppedIn {
            SocketFull = "socket-full": "The kernel dropped datagrams before they were read: more came than its buffer holds, or their UDP checksums were wrong.",
            NfqueueFull = "nfqueue-full": "The kernel's queue had no room for a packet from a peer's prefix.",
            NfqueueBuffer = "nfqueue-buffer": "The buffer of the queue's process had no room for one.",
            CopyFull = "copy-full": "The data plane had no room for a packet with a trailer.",
            Empty = "empty": "A verified packet had no content: its sender keeps a translator's entry alive.",
            OtherPeer = "other-peer": "A peer spoke, as a router does, of packets to another peer.",
            TunRefused = "tun-refused": "The interface refused packets that had been verified.",
        }
    }
}

/// What was dropped since the start.
#[derive(Debug, Default)]
pub(super) struct Drops {
    pub leaving: leaving::Counters,
    pub arriving: arriving::Counters,
    /// What others had counted when they were last asked.
    seen: [u64; 5],
}

impl<K: KeySource> Shared<K> {
    pub fn drop_leaving(&self, reason: DroppedOut, times: usize) {
        lock(&self.drops).leaving.add(reason, times as u64);
    }

    pub fn drop_arriving(&self, reason: DroppedIn, times: usize) {
        lock(&self.drops).arriving.add(reason, times as u64);
    }

    /// Leaves out what others dropped before now: sockets and interface outlive a data plane.
    pub fn begin_to_count(&self) {
        lock(&self.drops).seen = self.dropped_by_others();
    }

    fn dropped_by_others(&self) -> [u64; 5] {
        let [queue, buffer, copies] = self.network.dropped().unwrap_or_default();
        let (sockets, interface) = (self.network.unread(), self.tun.unread());
        [queue, buffer, copies, sockets, interface]
    }

    /// Counts what others dropped before it came here.
    pub fn count_arrivals(&self) {
        let now = self.dropped_by_others();
        let mut drops = lock(&self.drops);
        let seen = std::mem::replace(&mut drops.seen, now);
        let [queue, buffer, copies, sockets, interface] =
            std::array::from_fn(|at| now[at].saturating_sub(seen[at]));
        for (reason, new) in [
            (DroppedIn::NfqueueFull, queue),
            (DroppedIn::NfqueueBuffer, buffer),
            (DroppedIn::CopyFull, copies),
            (DroppedIn::SocketFull, sockets),
        ] {
            drops.arriving.add(reason, new);
        }
        drops.leaving.add(DroppedOut::InterfaceFull, interface);
    }
}
