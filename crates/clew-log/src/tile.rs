//! The files by which a log is served (`c2sp.org/tlog-tiles`): tiles of hashes, and bundles of
//! entries.

use crate::Hash;
use crate::tree;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Hashes of a full tile, and entries of a full bundle.
pub const WIDTH: u64 = 256;
/// Most bytes of an entry: its length has two.
pub const ENTRY_BYTES_MAX: usize = u16::MAX as usize;

/// Levels of the tree within a tile.
const HEIGHT: u32 = WIDTH.trailing_zeros();
/// Levels of tiles that a log of at most 2^62 entries can have.
const LEVELS: u32 = 8;

/// A file of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Of hashes, from 0, which are leaves; `None` for entries.
    pub level: Option<u32>,
    /// The place within the level.
    pub index: u64,
    /// How many hashes or entries: 1 to [`WIDTH`].
    pub width: u64,
}

impl Tile {
    /// Returns the path below the log's prefix: `tile/0/x001/x234/067.p/8`, `tile/entries/000`.
    pub fn path(&self) -> String {
        let mut place = format!("{:03}", self.index % 1_000);
        let mut rest = self.index / 1_000;
        while rest > 0 {
            place = format!("x{:03}/{place}", rest % 1_000);
            rest /= 1_000;
        }
        let partial = match self.width {
            WIDTH => String::new(),
            width => format!(".p/{width}"),
        };
        match self.level {
            Some(level) => format!("tile/{level}/{place}{partial}"),
            None => format!("tile/entries/{place}{partial}"),
        }
    }

    /// Reads such a path. Returns `None` if it is not the path of a tile.
    pub fn from_path(path: &str) -> Option<Self> {
        let rest = path.strip_prefix("tile/")?;
        let (level, place) = rest.split_once('/')?;
        let level = match level {
            "entries" => None,
            level => Some(crate::text::number(level)?.try_into().ok()?),
        };
        let (place, width) = match place.split_once(".p/") {
            Some((place, width)) => (place, crate::text::number(width)?),
            None => (place, WIDTH),
        };
        let digits = place.split('/').map(|part| part.trim_start_matches('x'));
        let index = digits
            .map(str::parse::<u64>)
            .try_fold(0_u64, |index, digit| {
                index.checked_mul(1_000)?.checked_add(digit.ok()?)
            })?;
        let tile = Self {
            level,
            index,
            width,
        };
        // What is left to check is checked by writing it again.
        (tile.path() == path && tile.width >= 1 && tile.width <= WIDTH).then_some(tile)
    }

    /// Returns whether a log of that size has this file. A log keeps partial files of sizes that it
    /// published a checkpoint of, so this is about any size up to the present one.
    pub fn is_of(&self, size: u64) -> bool {
        let level = self.level.unwrap_or(0);
        let hashes = match level < LEVELS {
            true => size >> (HEIGHT * level),
            false => 0,
        };
        let first = self.index.checked_mul(WIDTH);
        let end = first.and_then(|first| first.checked_add(self.width));
        end.is_some_and(|end| end <= hashes)
    }

    /// Makes a tile of hashes from the tree's nodes. Returns `None` if one is missing, or the tile has
    /// entries.
    pub fn hashes(&self, mut node: impl FnMut(u32, u64) -> Option<Hash>) -> Option<Vec<u8>> {
        let level = HEIGHT.checked_mul(self.level?)?;
        let first = self.index.checked_mul(WIDTH)?;
        let hash = |place| node(level, first.checked_add(place)?);
        let hashes: Option<Vec<Hash>> = (0..self.width).map(hash).collect();
        hashes.map(|hashes| hashes.as_flattened().to_vec())
    }
}

/// Returns the tiles of hashes that a log of that size has at its right edge, with the full ones that
/// complete the tree: those from which its root is computed.
pub fn edge(size: u64) -> Vec<Tile> {
    let mut tiles = Vec::new();
    for level in 0..LEVELS {
        let hashes = size >> (HEIGHT * level);
        let (full, width) = (hashes / WIDTH, hashes % WIDTH);
        if width > 0 {
            tiles.push(Tile {
                level: Some(level),
                index: full,
                width,
            });
        }
    }
    tiles
}

/// Computes a node of the tree from a tile: the root of 2^`above` of its hashes, the `place`-th.
/// Returns `None` if the tile does not have them.
pub fn node_within(tile: &[u8], above: u32, place: u64) -> Option<Hash> {
    let (hashes, []) = tile.as_chunks::<32>() else {
        return None;
    };
    let count = 1_usize
        .checked_shl(above)
        .filter(|count| *count <= WIDTH as usize)?;
    let first = usize::try_from(place).ok()?.checked_mul(count)?;
    let own = hashes.get(first..first.checked_add(count)?)?;
    let mut row = own.to_vec();
    while row.len() > 1 {
        row = row
            .chunks(2)
            .map(|pair| tree::parent(&pair[0], &pair[1]))
            .collect();
    }
    row.first().copied()
}

/// Writes a bundle: each entry behind its length (2 bytes). Returns `None` if one is too long.
pub fn bundle<'e>(entries: impl IntoIterator<Item = &'e [u8]>) -> Option<Vec<u8>> {
    let mut bundle = Vec::new();
    for entry in entries {
        bundle.extend(u16::try_from(entry.len()).ok()?.to_be_bytes());
        bundle.extend(entry);
    }
    Some(bundle)
}

/// Reads a bundle. Returns `None` if it does not end with an entry, or has more than [`WIDTH`].
pub fn entries(bundle: &[u8]) -> Option<Vec<&[u8]>> {
    let mut fields = clew_wire::Reader(bundle);
    let mut entries = Vec::new();
    while !fields.0.is_empty() {
        let length = fields.u16()?;
        entries.push(fields.take(usize::from(length))?);
        if entries.len() > WIDTH as usize {
            return None;
        }
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tests::{at, nodes_of};

    #[test]
    fn paths_are_those_of_the_specification() {
        let tile = |level, index, width| Tile {
            level,
            index,
            width,
        };
        let paths = [
            (tile(Some(0), 1_234_067, 256), "tile/0/x001/x234/067"),
            (tile(Some(1), 0, 17), "tile/1/000.p/17"),
            (tile(None, 273, 112), "tile/entries/273.p/112"),
            (tile(None, 1_000, 256), "tile/entries/x001/000"),
        ];
        for (tile, path) in paths {
            assert_eq!(tile.path(), path);
            assert_eq!(Tile::from_path(path), Some(tile));
        }
        let bad = [
            "",
            "tile",
            "tile/0",
            "tile/0/",
            "tile/0/1",
            "tile/0/0000",
            "tile/00/000",
            "tile/0/x000/000",
            "tile/0/001.p/0",
            "tile/0/001.p/256",
            "tile/0/001.p/257",
            "tile/0/001.p/01",
            "tile/0/001.p/",
            "tile/-1/000",
            "tile/0/x01/000",
            "tile/0/001/000",
            "tile/0/x001/x000",
            "tile/entries/..",
            "tile/0/x999/x999/x999/x999/x999/x999/x999/999",
            "/tile/0/000",
            "tile/0/000/",
        ];
        for bad in bad {
            assert_eq!(Tile::from_path(bad), None, "{bad}");
        }
    }

    /// The example of the specification: 70,000 entries.
    #[test]
    fn a_log_has_the_tiles_of_its_size() {
        let tile = |level, index, width| Tile {
            level: Some(level),
            index,
            width,
        };
        let expected = [tile(0, 273, 112), tile(1, 1, 17), tile(2, 0, 1)];
        assert_eq!(edge(70_000), expected);
        assert!(expected.iter().all(|tile| tile.is_of(70_000)));
        assert!(tile(0, 272, 256).is_of(70_000) && tile(1, 0, 256).is_of(70_000));
        assert!(!tile(0, 273, 113).is_of(70_000) && !tile(1, 1, 18).is_of(70_000));
        assert!(!tile(2, 0, 2).is_of(70_000) && !tile(3, 0, 1).is_of(70_000));
        assert!(!tile(9, 0, 1).is_of(u64::MAX) && !tile(0, u64::MAX, 1).is_of(u64::MAX));
        assert_eq!(edge(256), [tile(1, 0, 1)]);
        assert_eq!(edge(0), []);
        let entries = Tile {
            level: None,
            index: 273,
            width: 112,
        };
        assert!(entries.is_of(70_000) && !entries.is_of(69_999));
    }

    #[test]
    fn nodes_are_found_within_tiles() {
        let nodes = nodes_of(600);
        let full = Tile {
            level: Some(0),
            index: 1,
            width: 256,
        };
        let bytes = full.hashes(at(&nodes)).unwrap();
        assert_eq!(bytes.len(), 8_192);
        for level in 0..=8 {
            let first = 256 >> level;
            for place in [0, (256 >> level) - 1] {
                let node = at(&nodes)(level, first + place);
                assert_eq!(node_within(&bytes, level, place), node, "{level} {place}");
            }
        }
        assert_eq!(node_within(&bytes, 0, 256), None);
        assert_eq!(node_within(&bytes, 9, 0), None);
        assert_eq!(node_within(&bytes[1..], 0, 0), None);
        assert_eq!(node_within(&bytes, 64, u64::MAX), None);
        let above = Tile {
            level: Some(1),
            index: 0,
            width: 2,
        };
        let above = above.hashes(at(&nodes)).unwrap();
        assert_eq!(node_within(&above, 0, 1), node_within(&bytes, 8, 0));
        assert_eq!(full.hashes(|_, _| None), None);
    }

    #[test]
    fn bundles_hold_whole_entries() {
        let written = bundle([&b"one"[..], b"", b"three"]).unwrap();
        assert_eq!(entries(&written), Some(vec![&b"one"[..], b"", b"three"]));
        assert_eq!(entries(&written[..written.len() - 1]), None);
        assert_eq!(entries(&[0]), None);
        assert_eq!(bundle([&[0; ENTRY_BYTES_MAX + 1][..]]), None);
        assert_eq!(entries(&[0; 514]), None, "257 entries");
        assert_eq!(entries(&[0; 512]).map(|entries| entries.len()), Some(256));
    }
}
