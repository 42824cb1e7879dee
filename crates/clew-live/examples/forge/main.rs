//! Datagrams of an attacker who has no credential of a group: each a line of hex digits.
//!
//! `forge KEY GROUP-FILE FROM TO COUNT [trailer]`: the key is that of a machine of another group; FROM
//! and TO are the inner packet's addresses and ports; `trailer` makes packets of that carrier. The
//! signatures pass every check but the last and dearest.

mod forger;

use clew_evidence::GroupFile;
use clew_keys::{MemberKeyFile, TextFile};
use clew_packet::Carrier;
use forger::Forger;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::time::SystemTime;

/// Bytes of the inner packet's payload.
const LENGTH: usize = 320;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (arguments, carrier) = match arguments.as_slice() {
        [first @ .., last] if last == "trailer" => (first, Carrier::Trailer),
        all => (all, Carrier::UdpTunnel),
    };
    let [key, group, from, to, count] = arguments else {
        return Err("usage: forge KEY GROUP-FILE FROM TO COUNT [trailer]".into());
    };
    let key = MemberKeyFile::decode(&fs::read_to_string(key)?)?;
    let group = GroupFile::from_bytes(&fs::read(group)?)?;
    let (from, to) = (from.parse()?, to.parse()?);
    let mut forger = Forger::of_group(key, &group).ok_or("the group file has no such epoch")?;
    forger.set_carrier(carrier);
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let packets = (0..count.parse()?).map(|n: usize| {
        let payload = n.to_be_bytes().repeat(LENGTH / 8);
        forger::udp(from, to, &payload)
    });
    for datagram in forger.datagrams(packets, wall) {
        let mut line = String::new();
        for byte in datagram {
            write!(line, "{byte:02x}")?;
        }
        println!("{line}");
    }
    Ok(())
}
