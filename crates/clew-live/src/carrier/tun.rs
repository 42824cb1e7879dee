//! The TUN interface: packets that the host sends to peers, and those that it gets from them.
//!
//! With `IFF_VNET_HDR` one read brings a TCP super-packet, which crate `tun-rs` cuts into the packets
//! that a wire would have had; and one write takes many packets that belong together.

use super::Offloads;
use super::kernel::dropped_by_interface;
use crate::ip_fragments::Fragmenter;
use nix::net::if_::if_nametoindex;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tun_rs::{DeviceBuilder, GROTable, SyncDevice, VIRTIO_NET_HDR_LEN};

/// The largest IP datagram.
const PACKET_MAX: usize = 65_535;

/// Most packets of one read: a super-packet of the smallest usual segments.
const PIECES_MAX: usize = 256;

/// Most packets of one write.
const WRITE_MAX: usize = 128;

/// Most buffers that wait to be used again.
const SPARE_MAX: usize = 1_024;

/// A TUN interface that is there already.
#[derive(Clone)]
pub struct Tun {
    device: Arc<SyncDevice>,
    mtu: usize,
    /// The kernel refused a super-packet that was put together here.
    writes_single: Arc<AtomicBool>,
    /// The kernel puts no packets into this queue.
    is_detached: Arc<AtomicBool>,
}

impl Tun {
    /// Attaches to the interface. Without privileges the caller has to be its owner.
    ///
    /// # Errors
    /// There is no such interface, another process has it, or it belongs to another user.
    pub fn attach(name: &str, mtu: u16, wants_offload: bool) -> io::Result<Self> {
        // With privileges the system would make one, which nothing leads to.
        if_nametoindex(name)?;
        let build = |(queues, offload)| {
            let builder = DeviceBuilder::new().name(name).inherit_enable_state();
            let set = |options: &mut tun_rs::DeviceBuilderGuard<'_>| {
                options.offload(offload).multi_queue(queues);
            };
            builder.with(set).build_sync()
        };
        // An interface that somebody else made may have one queue; a kernel without the header gives
        // packets one by one.
        let mut device = build((true, wants_offload));
        for other in [(false, wants_offload), (true, false), (false, false)] {
            device = match device {
                Err(error) if error.kind() == ErrorKind::InvalidInput => build(other),
                done => done,
            };
        }
        let device = device?;
        device.set_nonblocking(true)?;
        Ok(Self {
            device: Arc::new(device),
            mtu: usize::from(mtu),
            writes_single: Arc::default(),
            is_detached: Arc::default(),
        })
    }

    /// Fills in what the kernel does for this interface.
    pub fn offloads(&self, offloads: &mut Offloads) {
        let single = self.writes_single.load(Ordering::Relaxed);
        offloads.tun_tcp = self.device.tcp_gso() && !single;
        offloads.tun_udp = self.device.udp_gso() && !single;
    }

    /// Gives up this process's queue: from now on the kernel puts packets into those of others. What is
    /// in the queue is lost, so read it before.
    pub fn detach(&self) {
        // An interface of one queue, or one that is gone, has nothing to give up.
        let detached = crate::sys::detach_tun_queue(self.as_fd());
        self.is_detached.store(detached.is_ok(), Ordering::Relaxed);
    }

    /// Takes the queue back that [`detach`](Self::detach) gave up.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn attach_again(&self) -> io::Result<()> {
        match self.is_detached.swap(false, Ordering::Relaxed) {
            true => crate::sys::attach_tun_queue(self.as_fd()),
            false => Ok(()),
        }
    }

    /// Returns how many packets the interface had no room for, because nobody read them in time.
    pub fn unread(&self) -> u64 {
        let name = self.device.name();
        name.map_or(0, |name| dropped_by_interface(&name))
    }

    /// Returns the end that reads.
    pub fn reader(&self) -> TunReader {
        TunReader {
            tun: self.clone(),
            raw: vec![0; VIRTIO_NET_HDR_LEN + PACKET_MAX],
            pieces: vec![vec![0; self.mtu]; PIECES_MAX],
            sizes: vec![0; PIECES_MAX],
            spare: Vec::new(),
        }
    }

    /// Returns the end that writes. `id` is a random number: the first identification of IPv6 fragments.
    pub fn writer(&self, id: u32) -> TunWriter {
        TunWriter {
            tun: self.clone(),
            table: GROTable::new(),
            room: Vec::new(),
            used: 0,
            fragmenter: Fragmenter::new(id),
            fragments: Vec::new(),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// Reads packets.
pub struct TunReader {
    tun: Tun,
    raw: Vec<u8>,
    pieces: Vec<Vec<u8>>,
    sizes: Vec<usize>,
    spare: Vec<Vec<u8>>,
}

impl TunReader {
    /// Reads once, without waiting, and appends the packets.
    ///
    /// # Errors
    /// [`WouldBlock`](ErrorKind::WouldBlock) if there is nothing. `InvalidInput` and `Other` are of
    /// this one packet, which is gone. Others are of the interface.
    pub fn read(&mut self, packets: &mut Vec<Vec<u8>>) -> io::Result<()> {
        let (raw, pieces, sizes) = (&mut self.raw, &mut self.pieces, &mut self.sizes);
        let count = self.tun.device.recv_multiple(raw, pieces, sizes, 0)?;
        for (piece, size) in pieces.iter_mut().zip(sizes).take(count) {
            let mut next = self.spare.pop().unwrap_or_default();
            next.resize(self.tun.mtu, 0);
            let mut packet = std::mem::replace(piece, next);
            packet.truncate(*size);
            packets.push(packet);
        }
        Ok(())
    }

    /// Returns whether a buffer would be used again.
    pub fn wants_buffer(&self) -> bool {
        self.spare.len() < SPARE_MAX
    }

    /// Takes a buffer to be used again.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        if self.wants_buffer() {
            self.spare.push(buffer);
        }
    }
}

impl AsFd for TunReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}

/// Writes packets.
pub struct TunWriter {
    tun: Tun,
    table: GROTable,
    room: Vec<Vec<u8>>,
    /// How many of them have a packet.
    used: usize,
    fragmenter: Fragmenter,
    fragments: Vec<Vec<u8>>,
}

impl TunWriter {
    /// Writes packets in their order, those that are too long for the interface in IP fragments. Returns
    /// how many packets the interface refused, at least: of packets that were put together nobody knows.
    pub fn write<'a>(&mut self, packets: impl IntoIterator<Item = &'a [u8]>) -> usize {
        let mut refused = 0;
        for packet in packets {
            let mut fragments = std::mem::take(&mut self.fragments);
            if self.fragmenter.cut(packet, self.tun.mtu, &mut fragments) {
                for fragment in fragments.drain(..) {
                    refused += self.put(&fragment);
                }
            } else {
                refused += self.put(packet);
            }
            self.fragments = fragments;
        }
        refused + self.send()
    }

    fn put(&mut self, packet: &[u8]) -> usize {
        if self.room.len() == self.used {
            // Others of its flow are put behind it.
            let room = Vec::with_capacity(VIRTIO_NET_HDR_LEN + PACKET_MAX);
            self.room.push(room);
        }
        let room = &mut self.room[self.used];
        room.clear();
        room.resize(VIRTIO_NET_HDR_LEN, 0);
        room.extend_from_slice(packet);
        self.used += 1;
        match self.used == WRITE_MAX {
            true => self.send(),
            false => 0,
        }
    }

    fn send(&mut self) -> usize {
        let count = std::mem::take(&mut self.used);
        if count == 0 {
            return 0;
        }
        let room = &mut self.room[..count];
        let device = &self.tun.device;
        if self.tun.writes_single.load(Ordering::Relaxed) {
            let is_refused = |packet: &&mut Vec<u8>| device.send(packet).is_err();
            return room.iter_mut().filter(is_refused).count();
        }
        let sent = device.send_multiple(&mut self.table, room, VIRTIO_NET_HDR_LEN);
        match sent.map_err(|error| error.raw_os_error()) {
            Ok(_) => 0,
            // The kernel takes a group that it would not have made itself as a mistake.
            Err(Some(nix::libc::EINVAL)) if device.tcp_gso() => {
                self.tun.writes_single.store(true, Ordering::Relaxed);
                1
            }
            // The interface is down: it takes none.
            Err(Some(nix::libc::EIO)) => count,
            Err(_) => 1,
        }
    }
}
