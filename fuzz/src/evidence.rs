//! What travels between trustees, those who open, and judges. Texts are fuzzed behind their checksum:
//! the bytes are the payload.

use clew_evidence::{
    CheckedGroup, GroupFile, Locator, Match, Opening, Packet, RegisterEntry, RegisterReader, Row,
    Share, armor, judge_match, judge_opening,
};
use clew_group::Scheme;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

/// A share, of any step.
pub fn share(data: &[u8]) {
    let text = armor::encode("", "clew-share-1", data);
    if let Ok(share) = Share::decode(&text) {
        assert_eq!(payload(&share.encode(), "clew-share-1"), data);
        assert_eq!(
            share.set().is_none(),
            share.step.as_str() == "opening share"
        );
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Share::decode(text);
    }
}

/// A group file with its length in front, and what is judged under it.
fn with_group(data: &[u8]) -> Option<(CheckedGroup, &[u8])> {
    let (length, rest) = data.split_first_chunk()?;
    let (group, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
    let group = GroupFile::from_bytes(group).ok()?;
    let checked = group
        .check_epochs(&mut ChaCha20Rng::seed_from_u64(1))
        .ok()?;
    Some((checked, rest))
}

fn packet(epoch: u32) -> Packet<'static> {
    let (message, body) = (&b"message"[..], &b"body"[..]);
    Packet {
        epoch,
        message,
        body,
        leaf: None,
    }
}

/// An opening. One that is read is written the same again, and judged without harm.
pub fn opening(data: &[u8]) {
    let Some((group, data)) = with_group(data) else {
        return;
    };
    let text = armor::encode("", "clew-opening-1", data);
    if let Ok(opening) = Opening::decode(&text, &group) {
        assert_eq!(payload(&opening.encode(), "clew-opening-1"), data);
        let packet = packet(opening.request.epoch);
        assert!(judge_opening(&group, &opening, &packet).is_err());
    }
}

/// A match, likewise.
pub fn matching(data: &[u8]) {
    let Some((group, data)) = with_group(data) else {
        return;
    };
    let text = armor::encode("", "clew-match-1", data);
    if let Ok(matched) = Match::decode(&text, &group) {
        assert_eq!(payload(&matched.encode(), "clew-match-1"), data);
        let packet = packet(matched.request.epoch);
        assert!(judge_match(&group, &matched, &packet).is_err());
    }
}

/// A Q file.
pub fn locator(data: &[u8]) {
    let text = armor::encode("", "clew-locator-1", data);
    if let Ok(locator) = Locator::decode(&text) {
        assert_eq!(payload(&locator.encode(), "clew-locator-1"), data);
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Locator::decode(text);
    }
}

fn payload(text: &str, label: &'static str) -> Vec<u8> {
    armor::decode(text, label).expect("it was written").to_vec()
}

/// Byte 0 chooses the scheme; the rest is a row, and an entry.
pub fn row(data: &[u8]) {
    let Some((scheme, bytes)) = with_scheme(data) else {
        return;
    };
    if let Some(row) = Row::decode(scheme, bytes) {
        assert_eq!(row.encode(), bytes);
        assert_eq!(row.entry.scheme(), scheme);
    }
    if let Some(entry) = RegisterEntry::decode(bytes) {
        assert_eq!(entry.encode(), bytes);
    }
}

/// Byte 0 chooses the scheme, byte 1 how much is read at once; the rest is a register file.
pub fn register_file(data: &[u8]) {
    let Some((scheme, [piece, bytes @ ..])) = with_scheme(data) else {
        return;
    };
    let whole = read_register(scheme, bytes, bytes.len().max(1));
    let in_pieces = read_register(scheme, bytes, usize::from(*piece) + 1);
    assert_eq!(whole, in_pieces);
    let (again, complete) = whole;
    assert!(bytes.starts_with(&again));
    assert!(!complete || again == bytes);
}

/// What was read, written again, and whether that is all.
fn read_register(scheme: Scheme, bytes: &[u8], piece: usize) -> (Vec<u8>, bool) {
    let mut reader = RegisterReader::new(scheme);
    let (mut header, mut again) = (None, Vec::new());
    for piece in bytes.chunks(piece) {
        reader.push(piece);
        if header.is_none() {
            header = match reader.header() {
                Ok(header) => header.cloned(),
                Err(_) => return (again, false),
            };
            again.extend(header.iter().flat_map(|header| header.encode()));
        }
        let Some(header) = &header else {
            continue;
        };
        loop {
            match reader.line() {
                Ok(Some(line)) => again.extend(line.encode(header)),
                Ok(None) => break,
                Err(_) => return (again, false),
            }
        }
    }
    let complete = header.is_some() && reader.finish().is_ok();
    (again, complete)
}

fn with_scheme(data: &[u8]) -> Option<(Scheme, &[u8])> {
    let (choice, rest) = data.split_first()?;
    let scheme = if choice % 2 == 0 {
        Scheme::Xr
    } else {
        Scheme::Bbs04
    };
    Some((scheme, rest))
}
