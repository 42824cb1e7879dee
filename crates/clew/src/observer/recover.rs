//! Evidence that a killed observer was writing.

use clew_capture::RECORD_LEN_MAX;
use clew_keys::files::Pending;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use tracing::info;

/// Types of the blocks that tell: the first of a file, and those of packets.
const SECTION: u32 = 0x0a0d_0d0a;
const PACKET: u32 = 6;

/// Type and length in front, length behind.
const BLOCK_MIN: u64 = 12;

/// Gives a file that a killed run left its name, cut behind the last whole block. Returns whether there
/// was one with packets.
///
/// # Errors
/// The system refuses.
pub fn adopt(target: &Path) -> io::Result<bool> {
    for (file, pending) in Pending::abandoned(target)? {
        let (whole, packets) = whole(&file)?;
        // Others are removed: they hold nothing.
        if packets > 0 {
            file.set_len(whole)?;
            pending.commit(&file)?;
            let path = target.display();
            info!("{path}: {packets} packets of evidence that a killed run left");
            return Ok(true);
        }
    }
    Ok(false)
}

/// The length of all whole blocks of a file of ours, and how many of them are packets.
fn whole(file: &File) -> io::Result<(u64, u64)> {
    let size = file.metadata()?.len();
    let (mut at, mut packets) = (0, 0);
    while let Some((kind, length)) = block(file, at, size)? {
        if (at == 0) != (kind == SECTION) {
            break;
        }
        at += length;
        packets += u64::from(kind == PACKET);
    }
    Ok((at, packets))
}

/// Type and length of the block that begins there, if it is whole.
fn block(file: &File, at: u64, size: u64) -> io::Result<Option<(u32, u64)>> {
    if size - at < BLOCK_MIN {
        return Ok(None);
    }
    let kind = number(file, at)?;
    let length = u64::from(number(file, at + 4)?);
    let is_whole = length >= BLOCK_MIN
        && length.is_multiple_of(4)
        && length <= (size - at).min(RECORD_LEN_MAX as u64);
    if !is_whole || u64::from(number(file, at + length - 4)?) != length {
        return Ok(None);
    }
    Ok(Some((kind, length)))
}

fn number(file: &File, at: u64) -> io::Result<u32> {
    let mut bytes = [0; 4];
    file.read_exact_at(&mut bytes, at)?;
    Ok(u32::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clew_capture::{Annotated, PacketInfo, Reader, Record, begin_live};
    use std::fs;

    /// A file of three packets, and where each begins.
    fn evidence() -> (Vec<u8>, Vec<usize>) {
        let mut file = Annotated::new(Vec::new(), "test");
        let mut begins = Vec::new();
        for record in begin_live(1, "eth0", "") {
            file.write(record, None).unwrap();
        }
        for frame in 1..=3 {
            begins.push(file.sink().len());
            let info = PacketInfo {
                frame,
                interface: 0,
                link: 1,
                wire_len: 61,
                time_ns: Some(frame),
            };
            file.write(Record::live(info, &[frame as u8; 61]), None)
                .unwrap();
        }
        begins.push(file.sink().len());
        (file.finish().unwrap(), begins)
    }

    /// Wherever the writing ended.
    #[test]
    fn what_is_whole_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (evidence, begins) = evidence();
        for end in 0..=evidence.len() {
            let target = folder.path().join(format!("tap-{end:010}.pcapng"));
            let left = format!("tap-{end:010}.pcapng.clew-0123456789AbCdEf.partial");
            let left = folder.path().join(left);
            // After a loss of power anything may stand behind it.
            let bytes = [&evidence[..end], &vec![0xee; end % 50]].concat();
            fs::write(&left, bytes).unwrap();
            let expected = begins[1..].iter().filter(|begin| **begin <= end).count();
            assert_eq!(adopt(&target).unwrap(), expected > 0, "{end}");
            assert!(!left.exists());
            if expected > 0 {
                let mut reader = Reader::new(File::open(&target).unwrap()).unwrap();
                let records = reader.by_ref().map(Result::unwrap);
                let packets = records.filter(|record| record.packet().is_some());
                assert_eq!(packets.count(), expected);
                assert!(reader.damage().is_none());
            }
        }
    }

    #[test]
    fn without_a_killed_run_nothing_happens() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!adopt(&folder.path().join("tap-0000000001.pcapng")).unwrap());
        assert!(adopt(&folder.path().join("none/tap-0000000001.pcapng")).is_err());
    }
}
