//! The captures that are signed and verified.

use crate::groups::rng;
use crate::sha256;
use crate::udp::udp;
use clew_capture::{PacketLengths, Reader, Writer};
use rand_core::Rng;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Flows of the synthetic capture.
pub const FLOWS: u32 = 256;

/// Packets that a flow sends in a row, on average.
pub const MEAN_BURST: u32 = 8;

/// Lengths of the synthetic packets, as IP datagrams, all equally likely.
pub const LENGTHS: [usize; 5] = [100, 100, 576, 1277, 1277];

/// Nanoseconds between two packets.
const GAP_NS: u64 = 10_000;

/// A capture file and what is in it.
pub struct Traffic {
    pub path: PathBuf,
    pub packets: usize,
    /// Of all packets, without what the file adds.
    pub bytes: usize,
}

impl Traffic {
    /// A capture that exists.
    pub fn of(path: &Path) -> io::Result<Self> {
        let packets = sha256::packets(path)?;
        Ok(Self {
            path: path.to_owned(),
            packets: packets.len(),
            bytes: packets.iter().map(|packet| packet.data().len()).sum(),
        })
    }

    /// Writes the synthetic capture: the same one every time.
    pub fn synthetic(path: &Path, packets: u32) -> io::Result<Self> {
        fs::write(path, pcap(packets))?;
        Self::of(path)
    }

    /// Writes the first packets of this one.
    pub fn first(&self, path: &Path, packets: usize) -> io::Result<Self> {
        let reader = Reader::new(File::open(&self.path)?);
        let reader = reader.map_err(|error| io::Error::other(error.to_string()))?;
        let mut writer = Writer::new(Vec::new(), PacketLengths::MayGrow);
        let mut written = 0;
        for record in reader {
            let record = record?;
            written += usize::from(record.packet().is_some());
            if written > packets {
                break;
            }
            writer.write(&record)?;
        }
        fs::write(path, writer.finish()?)?;
        Self::of(path)
    }
}

/// A capture in the format pcap, with nanoseconds, of IP datagrams.
fn pcap(packets: u32) -> Vec<u8> {
    const NANOSECONDS: u32 = 0xa1b2_3c4d;
    const VERSION: u32 = 0x0004_0002;
    const RAW: u32 = 101;
    let mut file = Vec::new();
    let words = |file: &mut Vec<u8>, words: [u32; 4]| {
        file.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    };
    words(&mut file, [NANOSECONDS, VERSION, 0, 0]);
    file.extend(
        [u32::from(u16::MAX), RAW]
            .map(u32::to_le_bytes)
            .as_flattened(),
    );
    let mut rng = rng(7);
    let mut flow = 0;
    for i in 0..packets {
        if rng.next_u32().is_multiple_of(MEAN_BURST) {
            flow = rng.next_u32() % FLOWS;
        }
        let length = LENGTHS[rng.next_u32() as usize % LENGTHS.len()];
        let [.., high, low] = flow.to_be_bytes();
        let packet = udp([10, 0, 0, 1, 10, 1, high, low], i as u16, length, &mut rng);
        let ns = u64::from(i) * GAP_NS;
        let [s, ns] = [ns / 1_000_000_000, ns % 1_000_000_000].map(|part| part as u32);
        let length = packet.len() as u32;
        words(&mut file, [1_700_000_000 + s, ns, length, length]);
        file.extend(packet);
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_have_the_packets_that_were_asked_for() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let [all, some] = ["all", "some"].map(|name| dir.path().join(name));
        let all = Traffic::synthetic(&all, 1000).expect("the disk takes it");
        assert_eq!(all.packets, 1000);
        let some = all.first(&some, 100).expect("the disk takes it");
        assert_eq!(some.packets, 100);
        assert!(some.bytes < all.bytes);
    }
}
