//! The carrier without attribution: every packet gets a trailer of zeros and goes to one end point.
//! The baseline that the daemon is measured against. It verifies nothing: never use it elsewhere.
//!
//! `forwarder INTERFACE PORT REMOTE TRAILER`, with a TUN that is there and up already.

use clew_live::carrier::{Datagrams, Offloads, Tun, Udp};
use clew_live::packet::{Burst, PeerIndex};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::thread;

/// Most bytes that one TUN read brings are in so many reads at once.
const READS_MAX: usize = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [interface, port, remote, trailer] = arguments.as_slice() else {
        return Err("usage: forwarder INTERFACE PORT REMOTE TRAILER".into());
    };
    let (remote, trailer): (SocketAddr, usize) = (remote.parse()?, trailer.parse()?);
    let tun = Tun::attach(interface, 1_500, true)?;
    let udp = Arc::new(Udp::bind(port.parse()?)?);
    let mut offloads = Offloads::default();
    tun.offloads(&mut offloads);
    udp.offloads(&mut offloads);
    eprintln!("{offloads:?}");
    let (out, socket) = (tun.clone(), Arc::clone(&udp));
    let sender = thread::spawn(move || send(&out, &socket, remote, trailer));
    receive(&tun, &udp, trailer)?;
    sender.join().map_err(|_| "the sender ended")??;
    Ok(())
}

fn wait<'a>(descriptors: impl Iterator<Item = BorrowedFd<'a>>) -> io::Result<()> {
    let mut all: Vec<_> = descriptors
        .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
        .collect();
    poll(&mut all, PollTimeout::NONE)?;
    Ok(())
}

fn send(tun: &Tun, udp: &Udp, to: SocketAddr, trailer: usize) -> io::Result<()> {
    use std::os::fd::AsFd;
    let (mut reader, mut packets) = (tun.reader(), Vec::new());
    let mut burst = Burst {
        peer: PeerIndex(0),
        ecn: 0,
        bytes: Vec::new(),
        segment: 0,
    };
    loop {
        for _ in 0..READS_MAX {
            match reader.read(&mut packets) {
                Ok(()) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock && packets.is_empty() => {
                    wait([tun.as_fd()].into_iter())?;
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(other) => return Err(other),
            }
        }
        for packet in packets.drain(..) {
            let length = packet.len() + trailer;
            if !burst.bytes.len().is_multiple_of(burst.segment.max(1)) || length > burst.segment {
                udp.send(to, None, &burst);
                burst.bytes.clear();
                burst.segment = length;
            }
            burst.bytes.extend_from_slice(&packet);
            burst.bytes.resize(burst.bytes.len() + trailer, 0);
            reader.recycle(packet);
        }
        udp.send(to, None, &burst);
        burst.bytes.clear();
        burst.segment = 0;
    }
}

fn receive(tun: &Tun, udp: &Udp, trailer: usize) -> io::Result<()> {
    let (mut writer, mut room) = (tun.writer(0), Datagrams::default());
    let mut bytes = Vec::new();
    let mut lengths = Vec::new();
    loop {
        let any = udp.receive(&mut room, |datagram, _| {
            let packet = &datagram[..datagram.len().saturating_sub(trailer)];
            bytes.extend_from_slice(packet);
            lengths.push(packet.len());
        })?;
        if !any {
            udp.errors(|_| ());
            wait(udp.descriptors())?;
        }
        let mut rest = bytes.as_slice();
        let packets = lengths.drain(..).map(|length| {
            let (packet, behind) = rest.split_at(length);
            rest = behind;
            packet
        });
        writer.write(packets);
        bytes.clear();
    }
}
