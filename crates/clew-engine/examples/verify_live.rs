//! Verifies live packets: every datagram that comes to ADDRESS carries an IP packet. Prints a line
//! for each, with the verdict and its reason.
//!
//! `cargo run -p clew-engine --example verify_live -- group.clew 127.0.0.1:7002`

use clew_engine::{Arrival, Keyring, Rules, Verifier};
use clew_evidence::GroupFile;
use clew_packet::{LinkType, Reason, Timestamp, Verdict};
use getrandom::{SysRng, rand_core::UnwrapErr};
use std::net::UdpSocket;
use std::time::{Duration, SystemTime};
use std::{env, fs, io};

type Failure = Box<dyn std::error::Error>;

/// Most packets of a batch, and how long one waits for the next: signatures are cheaper together.
const BATCH: usize = 1024;
const PATIENCE: Duration = Duration::from_millis(2);

/// How often packets that wait for others of their block are looked after if nothing comes.
const TICK: Duration = Duration::from_secs(1);

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [group, address] = &arguments[..] else {
        return Err("give GROUPFILE ADDRESS".into());
    };
    let keyring = Keyring::from(GroupFile::from_bytes(&fs::read(group)?)?);
    let socket = UdpSocket::bind(address)?;
    let mut verifier = Verifier::new(&keyring, Rules::live(now()));
    loop {
        for (verdict, reason) in verify(&mut verifier, &socket)? {
            println!("{verdict} {reason}");
        }
    }
}

// ANCHOR: verify
/// Waits for packets. Returns what is known of them, and of earlier ones that waited.
fn verify(
    verifier: &mut Verifier<&Keyring, Arrival>,
    socket: &UdpSocket,
) -> io::Result<Vec<(Verdict, Reason)>> {
    let judged = verifier.push(receive(socket)?, now(), &|| UnwrapErr(SysRng));
    // A daemon would hand on `_arrival.bytes` of what is valid.
    let conclusions = judged.into_iter().filter_map(|(_arrival, known)| known);
    Ok(conclusions
        .map(|known| (known.verdict, known.reason))
        .collect())
}
// ANCHOR_END: verify

/// Waits for a packet, and takes along those that follow in a row. None came if a tick is over.
fn receive(socket: &UdpSocket) -> io::Result<Vec<Arrival>> {
    let (mut batch, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    socket.set_read_timeout(Some(TICK))?;
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
fn signed_packets_are_valid_once() -> Result<(), Failure> {
    use clew_engine::{Cover, Fate, Options, Signer, Signers, TimeSource};
    let key = <clew_keys::MemberKeyFile as clew_keys::TextFile>::decode(include_str!(
        "../tests/example/sensor-1.key"
    ))?;
    let machine = Signer::new(key, Vec::new(), clew_packet::Policy::default(), now())?;
    let (cover, time) = (Cover::Each, TimeSource::Now);
    let signers = Signers::new(vec![machine], Options { cover, time });
    let bytes = [&[0x60, 0, 0, 0, 0, 4, 132, 64][..], &[1; 32], b"data"].concat();
    let (link, time) = (LinkType::RAW, now());
    let packet = Arrival { link, bytes, time };
    let fates = signers.sign(std::slice::from_ref(&packet), now(), &|| UnwrapErr(SysRng))?;
    let [Fate::Signed(signed)] = &fates[..] else {
        return Err("it was not signed".into());
    };

    let group = GroupFile::from_bytes(include_bytes!("../tests/example/group.clew"))?;
    let keyring = Keyring::from(group);
    let mut verifier = Verifier::new(&keyring, Rules::live(Timestamp::NONE));
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    for bytes in [signed, &packet.bytes, signed] {
        socket.send_to(bytes, socket.local_addr()?)?;
    }
    let mut found = Vec::new();
    while found.len() < 3 {
        found.extend(verify(&mut verifier, &socket)?);
    }
    let reasons: Vec<Reason> = found.into_iter().map(|(_, reason)| reason).collect();
    assert_eq!(reasons, [Reason::Ok, Reason::NoTrailer, Reason::Duplicate]);
    Ok(())
}
