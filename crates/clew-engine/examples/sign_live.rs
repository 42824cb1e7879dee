//! Signs live packets: every datagram that comes to IN carries an IP packet, as TUN devices have
//! them, and leaves for OUT, signed.
//!
//! `cargo run -p clew-engine --example sign_live -- MACHINE.key 127.0.0.1:7001 127.0.0.1:7002`

use clew_engine::{Arrival, Cover, Fate, Options, Signer, Signers, TimeSource};
use clew_keys::{MemberKeyFile, TextFile};
use clew_packet::{LinkType, Policy, Timestamp};
use getrandom::{SysRng, rand_core::UnwrapErr};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, SystemTime};
use std::{env, fs, io};

type Failure = Box<dyn std::error::Error>;

/// Most packets of a batch, and how long one waits for the next: what is signed together shares one
/// signature, which is nearly all of the work.
const BATCH: usize = 256;
const PATIENCE: Duration = Duration::from_millis(2);

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [key, from, to] = &arguments[..] else {
        return Err("give MACHINE.key IN OUT".into());
    };
    let signers = signers(&fs::read_to_string(key)?)?;
    let (socket, to) = (UdpSocket::bind(from)?, to.parse()?);
    loop {
        sign(&signers, &socket, to)?;
    }
}

fn signers(key: &str) -> Result<Signers, Failure> {
    let (key, every_source) = (MemberKeyFile::decode(key)?, Vec::new());
    let machine = Signer::new(key, every_source, Policy::default(), now())?;
    let options = Options {
        cover: Cover::Tree(64),
        time: TimeSource::Frame,
    };
    Ok(Signers::new(vec![machine], options))
}

// ANCHOR: sign
/// Waits for packets, signs them and sends them on.
fn sign(signers: &Signers, socket: &UdpSocket, to: SocketAddr) -> Result<(), Failure> {
    let batch = receive(socket)?;
    let fates = signers.sign(&batch, now(), &|| UnwrapErr(SysRng))?;
    for (arrival, fate) in batch.into_iter().zip(fates) {
        let bytes = match fate {
            Fate::Signed(bytes) | Fate::Marked(bytes) => bytes,
            Fate::Passes(_) | Fate::NoFrame => arrival.bytes,
        };
        socket.send_to(&bytes, to)?;
    }
    Ok(())
}
// ANCHOR_END: sign

/// Waits for a packet, and takes along those that follow in a row.
fn receive(socket: &UdpSocket) -> io::Result<Vec<Arrival>> {
    let (mut batch, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    socket.set_read_timeout(None)?;
    while batch.len() < BATCH {
        let bytes = match socket.recv(&mut buffer) {
            Ok(length) => buffer[..length].to_vec(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        };
        let (link, time) = (LinkType::RAW, now());
        batch.push(Arrival { link, bytes, time });
        socket.set_read_timeout(Some(PATIENCE))?;
    }
    Ok(batch)
}

fn now() -> Timestamp {
    let since_1970 = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    Timestamp(since_1970.as_nanos() as u64)
}

#[test]
fn packets_leave_signed() -> Result<(), Failure> {
    let signers = signers(include_str!("../tests/example/sensor-1.key"))?;
    let [from, to] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0"));
    let (from, to) = (from?, to?);
    // An IPv6 packet to a port that nobody knows, and what is not IP.
    let packet = [&[0x60, 0, 0, 0, 0, 4, 132, 64][..], &[1; 32], b"data"].concat();
    for bytes in [&packet[..], b"not IP"] {
        to.send_to(bytes, from.local_addr()?)?;
    }
    let (mut left, mut buffer) = (2, [0; 2048]);
    while left > 0 {
        sign(&signers, &from, to.local_addr()?)?;
        to.set_read_timeout(Some(PATIENCE))?;
        while let Ok(length) = to.recv(&mut buffer) {
            let frame = clew_packet::Frame::whole(LinkType::RAW, &buffer[..length]);
            assert_eq!(
                clew_packet::read(&frame).is_ok(),
                left == 2,
                "only the first"
            );
            left -= 1;
        }
    }
    Ok(())
}
