//! A store as one file, and back (`spec/backup.md`).
//!
//! ```text
//! "clew-backup-1\n", then records: kind (1), length (4), content
//!   1 about   layout (4), group id (16), made (8)
//!   2 table   its name
//!   3 row     of the table before it: values
//!   4 file    length of the path (2), path within the directory, content
//!   6 more    of the file before it
//!   5 end     SHA-256 of everything before this record
//! ```

mod record;

use super::check::check_tables;
use super::create::{beside, folders, place, settle};
use super::{GROUP_FILE, ISSUER_KEY, SERVICE_TLS, Store, group_of};
use crate::error::StoreError;
use crate::storage::{self, LAYOUT_VERSION, Moment, Row, Transaction};
use clew_evidence::{GroupFile, GroupId};
use clew_keys::files::{self, IfExists, MODE_PUBLIC, MODE_SECRET, directory};
use record::{Kind, Reader, Writer};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

/// Witnesses that the public ones are copied from.
const WITNESSES_KEPT: &str = "issuer/witnesses";

/// Files of the service's certificate.
const TLS_FILES: [&str; 2] = ["tls.key", "tls.crt"];

/// Files of a log's directory.
const LOG_FILES: [&str; 4] = ["log.db", "log.key", "log.vkey", "group.clew"];

/// Bytes of a file in one record.
const PART_BYTES: u64 = 1 << 24;

/// What a backup has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backup {
    /// The group.
    pub group: GroupId,
    /// When it was made, nanoseconds since 1970.
    pub made: u64,
    /// Whether it has the issuer key.
    pub has_keys: bool,
}

/// What goes into a backup with the store, below the same directory.
pub trait Beside {
    /// Fixes its moment, while no process changes the store.
    ///
    /// # Errors
    /// [`StoreError`]: there is no backup then.
    fn fix(&mut self) -> Result<(), StoreError>;

    /// The files as of that moment, each with its path within the group's directory: `log/NAME`.
    ///
    /// # Errors
    /// [`StoreError`]: there is no backup then.
    fn files(&mut self) -> Result<Vec<(PathBuf, File)>, StoreError>;
}

/// Files of the moment of a backup.
struct Kept {
    /// Those that never change, by their paths within the directory.
    files: Vec<(PathBuf, File)>,
    /// Paths and lengths of buckets of witnesses.
    buckets: Vec<(PathBuf, u64)>,
    /// The buckets one after the other: the next rebase removes those on disk.
    witnesses: File,
}

impl Kept {
    fn write(mut self, writer: &mut Writer<'_>) -> Result<(), StoreError> {
        for (path, file) in self.files {
            write_file(writer, &path, file)?;
        }
        let start = self.witnesses.rewind();
        start.map_err(StoreError::io(Path::new(WITNESSES_KEPT)))?;
        for (path, length) in self.buckets {
            write_file(writer, &path, (&mut self.witnesses).take(length))?;
        }
        Ok(())
    }
}

/// Writes a file, in parts if it is long.
fn write_file(writer: &mut Writer<'_>, path: &Path, mut file: impl Read) -> Result<(), StoreError> {
    let part = |from: &mut dyn Read| {
        let mut bytes = Vec::new();
        let read = from.take(PART_BYTES).read_to_end(&mut bytes);
        read.map_err(StoreError::io(path)).map(|_| bytes)
    };
    let first = part(&mut file)?;
    writer.record(Kind::File, &record::file(path, &first)?)?;
    loop {
        let more = part(&mut file)?;
        if more.is_empty() {
            return Ok(());
        }
        writer.record(Kind::More, &more)?;
    }
}

impl Store {
    /// Writes the store as it is at one moment: all rows of the database, and the witnesses of the rebase
    /// in force. With `keys` also the issuer key and the service's certificate, as they stand on disk.
    /// The trustees' dealt shares are never in it. `beside` adds files of the same moment: no process
    /// changes the store between the two. `now` is in nanoseconds since 1970.
    ///
    /// Others go on changing the store meanwhile.
    ///
    /// # Errors
    /// The database's; [`StoreError::Backup`] if `to` cannot be written, or `beside` read.
    pub fn backup(
        &self,
        to: &mut (dyn Write + Send),
        keys: bool,
        now: u64,
        mut beside: Option<&mut dyn Beside>,
    ) -> Result<Backup, StoreError> {
        let made = Backup {
            group: self.group.id(),
            made: now,
            has_keys: keys,
        };
        let mut writer = Writer::new(to)?;
        let layout = u32::try_from(LAYOUT_VERSION).unwrap_or_default();
        let about = [&layout.to_be_bytes()[..], &made.group.0, &now.to_be_bytes()];
        writer.record(Kind::About, &about.concat())?;
        let (moment, kept) = self.moment_with(keys, beside.as_deref_mut())?;
        let mut table = "";
        moment.dump(&mut |of, row| {
            if of != table {
                table = of;
                writer.record(Kind::Table, table.as_bytes())?;
            }
            writer.record(Kind::Row, &record::row(row))
        })?;
        drop(moment);
        kept.write(&mut writer)?;
        for (path, file) in beside.map_or(Ok(Vec::new()), Beside::files)? {
            write_file(&mut writer, &path, file)?;
        }
        writer.end()?;
        Ok(made)
    }

    /// The database as it is now, and the rest of the backup as of the same moment.
    fn moment_with(
        &self,
        keys: bool,
        beside: Option<&mut (dyn Beside + '_)>,
    ) -> Result<(Box<dyn Moment + '_>, Kept), StoreError> {
        let other = storage::open(&self.dir)?;
        let lock = other.begin()?;
        let moment = self.db.moment()?;
        let kept = self.kept(keys)?;
        beside.map_or(Ok(()), Beside::fix)?;
        drop(lock);
        Ok((moment, kept))
    }

    /// The files of a backup as they are now.
    fn kept(&self, keys: bool) -> Result<Kept, StoreError> {
        let mut files = Vec::new();
        let tls = TLS_FILES.map(|name| Path::new(SERVICE_TLS).join(name));
        for path in [vec![PathBuf::from(ISSUER_KEY)], tls.into()].concat() {
            let on_disk = self.dir.join(&path);
            match File::open(&on_disk) {
                _ if !keys => {}
                Ok(file) => files.push((path, file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(StoreError::io(&on_disk)(error)),
            }
        }
        let folder = self.dir.join(WITNESSES_KEPT);
        let failed = |error| StoreError::io(&folder)(error);
        let issuer = directory(&folder);
        let mut witnesses = tempfile::tempfile_in(issuer).map_err(StoreError::io(issuer))?;
        let mut buckets = Vec::new();
        for path in buckets_in(&folder).map_err(failed)? {
            let bytes = fs::read(folder.join(&path)).map_err(failed)?;
            witnesses.write_all(&bytes).map_err(failed)?;
            buckets.push((Path::new(WITNESSES_KEPT).join(path), bytes.len() as u64));
        }
        Ok(Kept {
            files,
            buckets,
            witnesses,
        })
    }

    /// Makes a group's directory from a backup, with a database as for [`Store::create_with`]. All of it is
    /// checked, written and synced before the directory has its name. `published` is the newest group
    /// file that anybody has: if it is newer than the backup, the store refuses to open, so that nobody
    /// who was revoked since is revived.
    ///
    /// # Errors
    /// [`StoreError::Backup`] if the file is not a whole backup; [`StoreError::OtherLayout`];
    /// [`StoreError::Exists`] if the directory holds something; [`StoreError::HasGroup`] if the database
    /// does. Then nothing is left but, of a killed process, a folder `.clew-group-...`.
    pub fn restore(
        from: &mut dyn Read,
        dir: &Path,
        database: Option<&str>,
        published: Option<&[u8]>,
    ) -> Result<Backup, StoreError> {
        let making = beside(dir)?;
        let path = making.path().to_owned();
        folders(&path)?;
        if let Some(published) = published {
            let file = path.join(GROUP_FILE);
            files::write_atomically(&file, published, MODE_PUBLIC, IfExists::Refuse)
                .map_err(StoreError::io(&file))?;
        }
        let (mut reader, mut backup) = opened(from)?;
        let mut fill = |db: &dyn Transaction| {
            let group = fill(db, &mut reader, &path, &mut backup)?;
            published.map_or(Ok(()), |published| check_given(&group, published))
        };
        let mut making = Some(making);
        let mut finish = || {
            settle(&path)?;
            making.take().map_or(Ok(()), |making| place(making, dir))
        };
        storage::create(&path, database, &mut fill, &mut finish)?;
        Ok(backup)
    }
}

/// The buckets of witnesses in a folder as `EPOCH/BUCKET`, sorted. There may be no folder.
fn buckets_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for epoch in numbers_in(folder)? {
        let buckets = numbers_in(&folder.join(epoch.to_string()))?.into_iter();
        found.extend(buckets.map(|bucket| PathBuf::from(format!("{epoch}/{bucket}"))));
    }
    Ok(found)
}

/// The names in a folder that are numbers, ascending.
fn numbers_in(folder: &Path) -> io::Result<Vec<u32>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        found.extend(number(&entry?.file_name()));
    }
    found.sort_unstable();
    Ok(found)
}

/// Reads a number in the one form that it has.
fn number(name: &OsStr) -> Option<u32> {
    let name = name.to_str()?;
    let number: u32 = name.parse().ok()?;
    (number.to_string() == name).then_some(number)
}

/// Whether a store has a file of that path, or its log has.
fn is_wanted(path: &Path) -> bool {
    let parts: Option<Vec<&str>> = path
        .components()
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    match parts.as_deref() {
        Some(["issuer", "issuer.key"]) => true,
        Some(["issuer", "tls", name]) => TLS_FILES.contains(name),
        Some(["log", name]) => LOG_FILES.contains(name),
        Some(["issuer", "witnesses", epoch, bucket]) => {
            number(epoch.as_ref()).is_some() && number(bucket.as_ref()).is_some()
        }
        _ => false,
    }
}

/// Refuses a published file that does not read, or is another group's. One that is newer is for
/// [`Store::catch_up`].
fn check_given(group: &GroupFile, published: &[u8]) -> Result<(), StoreError> {
    let given = group_of(published).ok();
    match given.is_some_and(|given| given.id() == group.id()) {
        true => Ok(()),
        false => Err(StoreError::OtherHistory("the published group file")),
    }
}

fn damaged(what: &str) -> StoreError {
    StoreError::Backup(what.to_owned())
}

/// Reads what a backup is of.
fn opened(from: &mut dyn Read) -> Result<(Reader<'_>, Backup), StoreError> {
    let mut reader = Reader::new(from)?;
    let (Kind::About, about) = reader.record()? else {
        return Err(damaged("it does not begin with its group"));
    };
    let (Some(layout), Some(id), Some(made)) = (
        about.first_chunk::<4>(),
        about.get(4..20).and_then(|id| id.first_chunk::<16>()),
        about.get(20..).and_then(|made| made.first_chunk::<8>()),
    ) else {
        return Err(damaged("it does not begin with its group"));
    };
    let version = i64::from(u32::from_be_bytes(*layout));
    if version != LAYOUT_VERSION {
        return Err(StoreError::OtherLayout {
            path: "backup".into(),
            version,
            known: LAYOUT_VERSION,
        });
    }
    let backup = Backup {
        group: GroupId(*id),
        made: u64::from_be_bytes(*made),
        has_keys: false,
    };
    Ok((reader, backup))
}

/// Writes all rows and files, and checks that they are a whole group.
fn fill(
    db: &dyn Transaction,
    reader: &mut Reader<'_>,
    dir: &Path,
    backup: &mut Backup,
) -> Result<GroupFile, StoreError> {
    let (mut table, mut last) = (None, None);
    loop {
        match reader.record()? {
            (Kind::Table, name) => {
                let mut tables = storage::tables();
                let found = tables.find(|table| table.as_bytes() == name);
                table = Some(found.ok_or_else(|| damaged("it has an unknown table"))?);
            }
            (Kind::Row, values) => {
                let table = table.ok_or_else(|| damaged("it has a row of no table"))?;
                let row: Row = record::read_row(&values)?;
                db.insert(table, row)?;
            }
            (Kind::File, file) => {
                let (path, content) = record::read_file(&file)?;
                backup.has_keys |= path == Path::new(ISSUER_KEY);
                last = Some(restore_file(dir, path, content)?);
            }
            (Kind::More, content) => {
                let path = last
                    .as_ref()
                    .ok_or_else(|| damaged("it has a part of no file"))?;
                append(path, &content).map_err(StoreError::io(path))?;
            }
            (Kind::End, _) => break,
            (Kind::About, _) => return Err(damaged("it begins twice")),
        }
    }
    let group = check_tables(db)?;
    match group.id() == backup.group {
        true => Ok(group),
        false => Err(damaged("its rows are of another group")),
    }
}

fn append(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Writes a file of the issuer's folder or of the log's, and returns where.
fn restore_file(dir: &Path, path: &Path, content: &[u8]) -> Result<PathBuf, StoreError> {
    if !is_wanted(path) {
        return Err(damaged("it has a file that a store does not have"));
    }
    let path = dir.join(path);
    let folder = directory(&path);
    let mut secret = DirBuilder::new();
    let made = secret.recursive(true).mode(0o700).create(folder);
    made.map_err(StoreError::io(folder))?;
    files::write_atomically(&path, content, MODE_SECRET, IfExists::Refuse)
        .and_then(|()| files::sync_directory(directory(folder)))
        .map_err(StoreError::io(&path))?;
    Ok(path)
}
