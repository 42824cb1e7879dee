//! Evidence that a killed observer was writing.

use clew_capture::RECORD_LEN_MAX;
use clew_keys::files::Pending;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tracing::info;

/// Types of the blocks that tell: the first of a file, and those of packets.
const SECTION: u32 = 0x0a0d_0d0a;
const PACKET: u32 = 6;

/// Type and length in front, length behind.
const BLOCK_MIN: u64 = 12;

/// Gives the files that killed runs left in a folder, and that `is_ours` takes by the names they were to get,
/// names in the ring, from number `next` on. Each is cut behind its last whole block. Those without a
/// packet are removed. Returns the next number.
///
/// # Errors
/// The system refuses. No packet is lost.
pub fn adopt(
    folder: &Path,
    is_ours: impl Fn(&str) -> bool,
    path: impl Fn(u64) -> PathBuf,
    next: u64,
) -> io::Result<u64> {
    let mut number = next;
    let left = Pending::abandoned(folder, |name| is_ours(&name.to_string_lossy()))?;
    for (file, mut pending) in left {
        let (whole, packets) = whole(&file)?;
        if packets == 0 {
            pending.keep_if_dropped(false);
            continue;
        }
        let target = path(number);
        file.set_len(whole)?;
        pending.named(target.clone()).commit(&file)?;
        let target = target.display();
        info!("{target}: {packets} packets of evidence that a killed run left");
        number += 1;
    }
    Ok(number)
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
            let next = adopt(folder.path(), |_| true, |_| target.clone(), 1).unwrap();
            assert_eq!(next, 1 + u64::from(expected > 0), "{end}");
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

    /// Two runs of one ring were killed, and other files have the numbers by now.
    #[test]
    fn each_gets_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = |number: u64| folder.path().join(format!("tap-{number:010}.pcapng"));
        let (evidence, _) = evidence();
        let left = |number: u64| {
            let left = format!("{}.clew-0123456789AbCdEf.partial", path(number).display());
            fs::write(&left, &evidence).unwrap();
            PathBuf::from(left)
        };
        let (one, two, other) = (left(7), left(12), left(13));
        let is_ours = |name: &str| name != "tap-0000000013.pcapng";
        let adopt = |next| adopt(folder.path(), is_ours, path, next);
        fs::write(path(8), "another's").unwrap();
        let refused = adopt(8).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert!(one.exists() && two.exists(), "no packet is lost");
        assert_eq!(adopt(9).unwrap(), 11);
        assert_eq!(fs::read(path(9)).unwrap(), evidence);
        assert_eq!(fs::read(path(10)).unwrap(), evidence);
        assert!(!one.exists() && !two.exists() && other.exists());
        assert_eq!(adopt(11).unwrap(), 11, "nothing is left");
        fs::remove_dir_all(&folder).unwrap();
        assert!(adopt(11).is_err());
    }
}
