//! What comes from logs and witnesses, and what is sent to them.

use clew_keys::{Author, AuthorKeyFile, LogKeyFile, TextFile};
use clew_log::entry::{Entry, Logged};
use clew_log::tile::{self, Tile};
use clew_log::{AddCheckpoint, Checkpoint, Founder, LogState, Note, Proof, VerifierKey};

/// Entries, each behind its length: what decodes is written again as it was, and no state is left by
/// entries that break a rule.
pub fn log_entry(data: &[u8]) {
    if let Some(entry) = Entry::decode(data) {
        assert_eq!(entry.encode(), data);
        let _ = entry.is_signed();
    }
    let Some(entries) = tile::entries(data) else {
        return;
    };
    assert_eq!(tile::bundle(entries.iter().copied()).as_deref(), Some(data));
    let logged: Vec<_> = entries
        .iter()
        .filter_map(|bytes| Logged::decode(bytes))
        .collect();
    let Some(founder) = logged.first().and_then(Founder::of) else {
        return;
    };
    let mut state = LogState::new(founder);
    for logged in &logged {
        let before = state.size();
        let added = state.add(logged).is_ok();
        assert_eq!(state.size(), before + u64::from(added));
        assert!(state.requests().all(|(place, _)| place < state.size()));
    }
}

/// Texts: notes, checkpoints, proofs, requests to witnesses, keys.
pub fn log_note(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(note) = Note::parse(text) {
        let again = Note::parse(&note.to_string()).expect("it was written");
        assert_eq!(again, note);
        let _ = Checkpoint::parse(note.text());
    }
    if let Some(proof) = Proof::parse(text) {
        assert_eq!(Proof::parse(&proof.to_string()), Some(proof));
    }
    if let Ok(request) = AddCheckpoint::parse(text) {
        let again = AddCheckpoint::parse(&request.to_string());
        assert_eq!(again.as_ref(), Ok(&request));
    }
    if let Ok(key) = text.parse::<VerifierKey>() {
        assert_eq!(key.to_string(), text);
    }
    if let Ok(key) = AuthorKeyFile::decode(text) {
        let again = AuthorKeyFile::decode(&key.encode()).expect("it was written");
        assert_eq!(again.public(), key.public());
    }
    if let Ok(author) = Author::decode(text) {
        assert_eq!(Author::decode(&author.encode()), Ok(author));
    }
    if let Ok(key) = LogKeyFile::decode(text) {
        let again = LogKeyFile::decode(&key.encode()).expect("it was written");
        assert_eq!(again.public(), key.public());
    }
}

/// The path of a tile up to a line's end, then its bytes.
pub fn log_tile(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n');
    let (path, bytes) = data.split_at(end.unwrap_or(data.len()));
    if let Some(tile) = std::str::from_utf8(path).ok().and_then(Tile::from_path) {
        assert_eq!(tile.path().as_bytes(), path);
        let _ = (tile.is_of(u64::MAX), tile.is_of(1 << 62), tile.is_of(0));
    }
    for above in [0, 1, 8, 9, 64] {
        let _ = tile::node_within(bytes, above, 0);
    }
}
