use super::*;
use sha2::{Digest, Sha256};
use std::cell::Cell;

/// A register whose every seventh row is revoked, and which counts the bases that it computed.
struct Fake {
    machines: u32,
    fork: u8,
    computed: Cell<u32>,
    /// How many rows are deleted whenever bases are computed.
    deletes: u32,
    deleted: Cell<u32>,
}

impl Fake {
    fn new(machines: u32) -> Self {
        let (fork, computed) = (0, Cell::new(0));
        Self {
            machines,
            fork,
            computed,
            deletes: 0,
            deleted: Cell::new(0),
        }
    }

    fn grown(&self, machines: u32) -> Self {
        let fork = self.fork;
        Self {
            fork,
            ..Self::new(machines)
        }
    }
}

fn base(row: u32) -> [u8; 48] {
    let mut base = [3; 48];
    base[..4].copy_from_slice(&row.to_be_bytes());
    base
}

impl Rows for Fake {
    fn machines(&self) -> u32 {
        self.machines
    }

    fn root(&self, machines: u32) -> Result<[u8; 32], StoreError> {
        let hash = Sha256::new_with_prefix([self.fork]);
        Ok(hash.chain_update(machines.to_be_bytes()).finalize().into())
    }

    fn deleted(&self) -> Result<u64, StoreError> {
        Ok(self.deleted.get().into())
    }

    fn bases(&self, rows: Range<u32>) -> Result<Vec<Option<[u8; 48]>>, StoreError> {
        self.computed.set(self.computed.get() + rows.len() as u32);
        self.deleted.set(self.deleted.get() + self.deletes);
        Ok(rows.map(|row| (row % 7 != 6).then(|| base(row))).collect())
    }
}

fn index(directory: &Path, epoch: u32) -> Index {
    Index::new(
        directory,
        GroupId([1; 16]),
        epoch,
        EpochId([epoch as u8; 32]),
    )
}

/// Looks a row up by its base.
fn find(index: &Index, rows: &Fake, row: u32) -> Option<u32> {
    let fits = |found| Ok((found == row).then_some(found));
    let found = index.find(rows, &base(row), fits, &mut |_, _| true);
    found.unwrap()
}

#[test]
fn rows_are_found_and_revoked_ones_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let directory = dir.path().join("index");
    let (index, rows) = (index(&directory, 3), Fake::new(40_000));
    for row in [0, 1, ROWS_AT_ONCE - 1, ROWS_AT_ONCE, 39_999] {
        assert_eq!(find(&index, &rows, row), (row % 7 != 6).then_some(row));
    }
    assert_eq!(find(&index, &rows, 13), None, "it is revoked");
    assert_eq!(find(&index, &rows, 40_000), None);
    assert_eq!(rows.computed.get(), 40_000, "made once");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&directory.join("3")), 0o600);
}

/// Rows are deleted while an index of them is made: it answers once, and does not stay.
#[test]
fn an_index_with_deleted_rows_does_not_stay() {
    let dir = tempfile::tempdir().unwrap();
    let (index, mut rows) = (index(dir.path(), 3), Fake::new(100));
    rows.deletes = 1;
    assert_eq!(find(&index, &rows, 99), Some(99));
    assert!(!dir.path().join("3").exists());
    rows.deletes = 0;
    assert_eq!(find(&index, &rows, 99), Some(99));
    assert!(dir.path().join("3").exists());
}

#[test]
fn a_register_that_grew_is_extended() {
    let dir = tempfile::tempdir().unwrap();
    let (index, rows) = (index(dir.path(), 0), Fake::new(100));
    assert_eq!(find(&index, &rows, 99), Some(99));
    let grown = rows.grown(120);
    assert_eq!(find(&index, &grown, 110), Some(110));
    assert_eq!(find(&index, &grown, 99), Some(99));
    assert_eq!(grown.computed.get(), 20, "only the new rows");
}

#[test]
fn an_empty_register_has_an_index() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(find(&index(dir.path(), 0), &Fake::new(0), 0), None);
}

#[test]
fn another_history_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let rows = Fake::new(50);
    assert_eq!(find(&index(dir.path(), 2), &rows, 5), Some(5));
    let fork = Fake {
        fork: 1,
        ..rows.grown(60)
    };
    assert_eq!(find(&index(dir.path(), 2), &fork, 56), Some(56));
    assert_eq!(fork.computed.get(), 60, "all rows");
    let restored = fork.grown(40);
    assert_eq!(find(&index(dir.path(), 2), &restored, 39), Some(39));
    assert_eq!(restored.computed.get(), 40, "rows went away");
    let mut other = index(dir.path(), 2);
    other.epoch_id = EpochId([9; 32]);
    assert_eq!(find(&other, &restored, 39), Some(39));
    assert_eq!(restored.computed.get(), 80);
}

/// Whatever byte is changed and wherever the file is cut, the row is found, and what is not there is
/// not.
#[test]
fn a_damaged_index_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let (index, rows) = (index(dir.path(), 1), Fake::new(40));
    assert_eq!(find(&index, &rows, 30), Some(30));
    let path = dir.path().join("1");
    let good = fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 0x81;
        for damaged in [bytes, good[..at].to_vec()] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(find(&index, &rows, 30), Some(30), "byte {at}");
            assert_eq!(find(&index, &rows, 77), None, "byte {at}");
            assert_eq!(fs::read(&path).unwrap(), good, "byte {at}");
        }
    }
}

/// Damage is not carried over when an index grows.
#[test]
fn a_damaged_index_is_not_extended() {
    let dir = tempfile::tempdir().unwrap();
    let (index, rows) = (index(dir.path(), 1), Fake::new(40));
    find(&index, &rows, 0);
    let path = dir.path().join("1");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.len() - 60;
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
    let grown = rows.grown(41);
    for row in (0..41).filter(|row| row % 7 != 6) {
        assert_eq!(find(&index, &grown, row), Some(row));
    }
    assert_eq!(grown.computed.get(), 41);
}

/// All rows with the same short hash are tried.
#[test]
fn equal_hashes_are_all_tried() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0");
    let (rows, index) = (Fake::new(9), index(dir.path(), 0));
    let head = index.head(&rows, 9).unwrap();
    let mut entries = [4, 2, 8, 5].map(|row| table::entry(&base(1), row));
    table::write(&path, &head, &mut entries).unwrap();
    let mut tried = Vec::new();
    let fits = |row| {
        tried.push(row);
        Ok((row == 8).then_some(row))
    };
    let found = index.find(&rows, &base(1), fits, &mut |_, _| true).unwrap();
    assert_eq!((found, tried), (Some(8), vec![2, 4, 5, 8]));
}

#[test]
fn only_so_many_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let rows = Fake::new(3);
    let other = dir.path().join("notes");
    fs::write(&other, "not ours").unwrap();
    for epoch in 0..INDEXES_MAX as u32 + 4 {
        find(&index(dir.path(), epoch), &rows, 0);
        let written = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(epoch.into());
        let path = dir.path().join(epoch.to_string());
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(written).unwrap();
    }
    let kept = |epoch: u32| dir.path().join(epoch.to_string()).exists();
    assert!((0..4).all(|epoch| !kept(epoch)));
    assert!((4..INDEXES_MAX as u32 + 4).all(kept));
    // An old epoch that is asked about again is the newest file.
    find(&index(dir.path(), 1), &rows, 0);
    assert!(kept(1) && !kept(4) && other.exists());
}

#[test]
fn who_is_tired_of_waiting_stops() {
    let dir = tempfile::tempdir().unwrap();
    let (index, rows) = (index(dir.path(), 0), Fake::new(3 * ROWS_AT_ONCE));
    let mut told = Vec::new();
    let mut progress = |done, of| {
        told.push((done, of));
        done < 20_000
    };
    let found = index.find(&rows, &base(0), |_| Ok(Some(())), &mut progress);
    assert!(matches!(found, Err(StoreError::Interrupted)));
    assert_eq!(told, [(16_384, 49_152), (32_768, 49_152)]);
    assert!(!dir.path().join("0").exists(), "nothing is left behind");
}
