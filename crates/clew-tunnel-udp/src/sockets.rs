//! UDP sockets in batches: many datagrams in one call of the system, where it has such (GSO, GRO, recvmmsg).

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::task::{Context, Poll};

use clew_tunnel::engine::Run;
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use socket2::{Domain, Protocol, Socket as RawSocket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Bytes of the system's own buffers that are asked for, in each direction; it may give less.
const SYSTEM_BUFFER: usize = 4 << 20;

/// Bytes for what one call may bring of one address: a train of datagrams that the system put together.
const TRAIN: usize = 65_536;

/// One socket.
pub struct Socket {
    /// The engine's name for it.
    pub(crate) name: u32,
    io: UdpSocket,
    state: UdpSocketState,
    address: SocketAddr,
}

impl Socket {
    /// Binds a socket. With `is_shared`, others of this program may bind the same address: the system
    /// chooses among them.
    ///
    /// # Errors
    /// The system's.
    pub fn bind(address: SocketAddr, name: u32, is_shared: bool) -> io::Result<Self> {
        let raw = RawSocket::new(
            Domain::for_address(address),
            Type::DGRAM,
            Some(Protocol::UDP),
        )?;
        if address.is_ipv6() {
            // IPv4 has a socket of its own.
            raw.set_only_v6(true)?;
        }
        #[cfg(unix)]
        if is_shared {
            raw.set_reuse_port(true)?;
        }
        raw.bind(&address.into())?;
        raw.set_nonblocking(true)?;
        let io = UdpSocket::from_std(raw.into())?;
        let state = UdpSocketState::new((&io).into())?;
        // More is better, and none is needed.
        let _ = state.set_recv_buffer_size((&io).into(), SYSTEM_BUFFER);
        let _ = state.set_send_buffer_size((&io).into(), SYSTEM_BUFFER);
        Ok(Self {
            name,
            address: io.local_addr()?,
            io,
            state,
        })
    }

    /// From now on the system gives each datagram to one of the `shards` sockets that share this one's
    /// address, in the order in which they were bound: the one that the last four bytes of its TID say.
    /// Elsewhere than on Linux it goes by addresses, and tunnels are found by the table alone.
    ///
    /// # Errors
    /// The system's.
    #[cfg(target_os = "linux")]
    pub(crate) fn spread(&self, shards: u32) -> io::Result<()> {
        use nix::libc::{sock_filter, sock_fprog};
        use nix::sys::socket::{setsockopt, sockopt::AttachReusePortCbpf};

        let step = |code, k| sock_filter {
            code,
            jt: 0,
            jf: 0,
            k,
        };
        // Load the word at 4, take it modulo the shards, return that (classic BPF).
        let mut steps = [step(0x20, 4), step(0x94, shards), step(0x16, 0)];
        let program = sock_fprog {
            len: steps.len() as u16,
            filter: steps.as_mut_ptr(),
        };
        setsockopt(&self.io, AttachReusePortCbpf, &program).map_err(io::Error::from)
    }

    /// Returns the address to which it is bound.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a run. False if the system has no room now.
    pub(crate) fn send(&self, run: &Run<'_>) -> io::Result<bool> {
        let most = self.state.max_gso_segments().max(1);
        for piece in run.bytes.chunks(run.segment * most) {
            let transmit = Transmit {
                destination: run.to,
                ecn: None,
                contents: piece,
                segment_size: (piece.len() > run.segment).then_some(run.segment),
                src_ip: None,
            };
            let sent = self.io.try_io(Interest::WRITABLE, || {
                self.state.try_send((&self.io).into(), &transmit)
            });
            match sent {
                Ok(()) => {}
                Err(full) if full.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(other) => return Err(other),
            }
        }
        Ok(true)
    }

    /// Waits until the system may have room.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        self.io.writable().await
    }
}

/// Sockets that are waited for together.
#[derive(Default)]
pub struct Sockets {
    all: Vec<Socket>,
    /// Which one is asked first.
    turn: usize,
}

/// Memory for what one call brings.
pub(crate) struct ReceiveBuffer {
    bytes: Vec<u8>,
    metas: [RecvMeta; BATCH_SIZE],
    count: usize,
    train: usize,
}

impl ReceiveBuffer {
    /// Allocates memory for trains of datagrams if the system makes such, for single ones
    /// otherwise.
    pub(crate) fn new(sockets: &Sockets) -> Self {
        let makes_trains = sockets.all.iter().any(|s| s.state.gro_segments() > 1);
        let train = if makes_trains { TRAIN } else { 2_048 };
        Self {
            bytes: vec![0; BATCH_SIZE * train],
            metas: [RecvMeta::default(); BATCH_SIZE],
            count: 0,
            train,
        }
    }

    /// The datagrams, with where they came from.
    pub(crate) fn datagrams(&mut self) -> impl Iterator<Item = (SocketAddr, &mut [u8])> {
        let trains = self.bytes.chunks_mut(self.train).zip(&self.metas);
        trains.take(self.count).flat_map(|(bytes, meta)| {
            let length = meta.len.min(bytes.len());
            let stride = meta.stride.max(1);
            let datagrams = bytes[..length].chunks_mut(stride);
            datagrams.map(move |datagram| (meta.addr, datagram))
        })
    }
}

impl Sockets {
    /// Adds a socket.
    pub fn add(&mut self, socket: Socket) {
        self.all.push(socket);
    }

    /// Keeps those alone whose names `is_used` knows.
    pub(crate) fn retain(&mut self, mut is_used: impl FnMut(u32) -> bool) {
        self.all.retain(|socket| is_used(socket.name));
    }

    /// The socket of this name for this family of addresses.
    pub(crate) fn find(&self, name: u32, to: SocketAddr) -> Option<&Socket> {
        let fits = |s: &&Socket| s.name == name && s.address.is_ipv4() == to.is_ipv4();
        self.all.iter().find(fits)
    }

    /// Returns the addresses to which they are bound.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.all.iter().map(Socket::address).collect()
    }

    /// Waits for datagrams at any socket.
    pub(crate) async fn receive(&mut self, incoming: &mut ReceiveBuffer) -> io::Result<()> {
        std::future::poll_fn(|cx| self.poll_receive(cx, incoming)).await
    }

    /// Takes what is there, without waiting. Whether there was anything.
    pub(crate) fn try_receive(&mut self, incoming: &mut ReceiveBuffer) -> io::Result<bool> {
        for _ in 0..self.all.len() {
            self.turn = (self.turn + 1) % self.all.len();
            if let Some(taken) = take(&self.all[self.turn], incoming) {
                return taken.map(|()| true);
            }
        }
        Ok(false)
    }

    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        incoming: &mut ReceiveBuffer,
    ) -> Poll<io::Result<()>> {
        for _ in 0..self.all.len() {
            self.turn = (self.turn + 1) % self.all.len();
            let socket = &self.all[self.turn];
            while let Poll::Ready(ready) = socket.io.poll_recv_ready(cx) {
                if let Err(error) = ready {
                    return Poll::Ready(Err(error));
                }
                if let Some(taken) = take(socket, incoming) {
                    return Poll::Ready(taken);
                }
            }
        }
        Poll::Pending
    }
}

/// One call of the system. None if there is nothing.
fn take(socket: &Socket, incoming: &mut ReceiveBuffer) -> Option<io::Result<()>> {
    let mut slices = incoming
        .bytes
        .chunks_mut(incoming.train)
        .map(IoSliceMut::new);
    let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
        std::array::from_fn(|_| slices.next().unwrap_or_else(|| IoSliceMut::new(&mut [])));
    let metas = &mut incoming.metas;
    let taken = socket.io.try_io(Interest::READABLE, || {
        socket.state.recv((&socket.io).into(), &mut slices, metas)
    });
    match taken {
        Ok(count) => {
            incoming.count = count;
            Some(Ok(()))
        }
        Err(empty) if empty.kind() == io::ErrorKind::WouldBlock => None,
        // Somebody's port was closed: nothing of ours.
        Err(refused) if refused.kind() == io::ErrorKind::ConnectionRefused => {
            incoming.count = 0;
            Some(Ok(()))
        }
        Err(other) => Some(Err(other)),
    }
}
