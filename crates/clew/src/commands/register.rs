//! The register, in the group's directory or in a file of its own.

use crate::cli::GroupRegister;
use crate::failure::{Failure, Status};
use crate::output::Output;
use clew_evidence::{GroupFile, RegisterLine, RegisterReader, Row, register_file_header};
use clew_group::curve::G1;
use clew_manager::keys::IssuerKeyFile;
use clew_manager::{Machine, Store};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// How much of a register file is read at once.
const PIECE_BYTES: usize = 1 << 16;

/// Where machines are looked up.
pub enum Register {
    /// The group's directory.
    Store(Box<Store>),
    /// A register file.
    File(Box<RegisterFile>),
}

/// A register file, read anew for each question.
pub struct RegisterFile {
    path: PathBuf,
    /// Of which epoch its credentials are.
    epoch: u32,
    group: GroupFile,
}

impl Register {
    /// Opens the register of `group`.
    pub fn open(path: &Path, group: &GroupFile) -> Result<Self, Failure> {
        if path.is_dir() {
            let store = Store::open(path)?;
            if store.group().id() != group.id() {
                return Err(Failure::file(path, "the register is of another group"));
            }
            return Ok(Self::Store(Box::new(store)));
        }
        let mut lines = Lines::open(path, group)?;
        let (id, epoch) = lines.header()?;
        if id != group.id() {
            return Err(Failure::file(path, "the register is of another group"));
        }
        Ok(Self::File(Box::new(RegisterFile {
            path: path.to_owned(),
            epoch,
            group: group.clone(),
        })))
    }

    /// The machine whose credential has that tag.
    pub fn by_tag(&self, tag: &[u8; 32]) -> Result<Option<Row>, Failure> {
        match self {
            Self::Store(store) => match store.find(tag)? {
                Some(machine) => Ok(Some(store.row(&machine)?)),
                None => Ok(None),
            },
            Self::File(file) => Ok(file.line(|line| line.tag == *tag)?.map(|line| line.row)),
        }
    }

    /// The machine of that name, with its credential in `epoch`.
    pub fn by_name(&self, name: &str, epoch: u32) -> Result<(Row, G1), Failure> {
        match self {
            Self::Store(store) => from_store(store, name, epoch),
            Self::File(file) => file.by_name(name, epoch),
        }
    }
}

impl RegisterFile {
    fn by_name(&self, name: &str, epoch: u32) -> Result<(Row, G1), Failure> {
        if self.epoch != epoch {
            let of = self.epoch;
            return Err(Failure::new(format!(
                "the register file has credentials of epoch {of}, the packet is of epoch {epoch}"
            ))
            .hint(export_hint(name, epoch)));
        }
        let line = self.line(|line| line.row.entry.name.as_str() == name)?;
        let line = line.ok_or_else(|| no_such_machine(name))?;
        let credential = line.credential.ok_or_else(|| not_a_member(name, epoch))?;
        Ok((line.row, decode(&credential)?))
    }

    fn line(
        &self,
        mut wanted: impl FnMut(&RegisterLine) -> bool,
    ) -> Result<Option<RegisterLine>, Failure> {
        let mut lines = Lines::open(&self.path, &self.group)?;
        lines.header()?;
        while let Some(line) = lines.next()? {
            if wanted(&line) {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }
}

/// In epoch 0 the register's own credential is the one; later ones only the issuer can compute.
fn from_store(store: &Store, name: &str, epoch: u32) -> Result<(Row, G1), Failure> {
    let machine = store.machine(name)?.ok_or_else(|| no_such_machine(name))?;
    if machine.entry.joined > epoch {
        return Err(not_a_member(name, epoch));
    }
    if epoch > 0 {
        return Err(Failure::new(format!(
            "the credential of {name} in epoch {epoch} is needed, which only the issuer computes"
        ))
        .hint(export_hint(name, epoch)));
    }
    let credential = decode(&machine.entry.credential)?;
    Ok((store.row(&machine)?, credential))
}

fn export_hint(name: &str, epoch: u32) -> String {
    format!(
        "have the issuer run: clew group register DIR --machine {name} --epoch {epoch} -w REGISTER"
    )
}

fn no_such_machine(name: &str) -> Failure {
    Failure::new(format!("no machine named {name} is in the register"))
}

fn not_a_member(name: &str, epoch: u32) -> Failure {
    Failure::new(format!("{name} was not a member in epoch {epoch}")).no()
}

fn decode(credential: &[u8; 48]) -> Result<G1, Failure> {
    G1::from_bytes(credential)
        .map_err(|e| Failure::new(format!("a credential of the register: {e}")))
}

/// The lines of a register file, read piece by piece.
struct Lines {
    path: PathBuf,
    file: File,
    reader: RegisterReader,
    piece: Vec<u8>,
}

impl Lines {
    fn open(path: &Path, group: &GroupFile) -> Result<Self, Failure> {
        Ok(Self {
            path: path.to_owned(),
            file: File::open(path).map_err(|e| Failure::file(path, e))?,
            reader: RegisterReader::new(group.scheme()),
            piece: vec![0; PIECE_BYTES],
        })
    }

    fn header(&mut self) -> Result<(clew_packet::GroupId, u32), Failure> {
        loop {
            let header = self.reader.header().map_err(|e| self.fail(e))?;
            match header {
                Some(header) => return Ok(header),
                None if self.more()? => {}
                None => return Err(self.fail("it ends within its header")),
            }
        }
    }

    fn next(&mut self) -> Result<Option<RegisterLine>, Failure> {
        loop {
            let line = self.reader.line().map_err(|e| self.fail(e))?;
            if line.is_some() {
                return Ok(line);
            }
            if !self.more()? {
                self.reader.finish().map_err(|e| self.fail(e))?;
                return Ok(None);
            }
        }
    }

    fn more(&mut self) -> Result<bool, Failure> {
        let read = self.file.read(&mut self.piece).map_err(|e| self.fail(e))?;
        self.reader.push(&self.piece[..read]);
        Ok(read > 0)
    }

    fn fail(&self, error: impl std::fmt::Display) -> Failure {
        Failure::file(&self.path, error)
    }
}

/// `clew group register`
pub fn export(arguments: &GroupRegister) -> Result<Status, Failure> {
    let store = Store::open(&arguments.dir)?;
    let issuer = arguments
        .unlock
        .load(&store.issuer_key_path(), IssuerKeyFile::decode)?;
    let newest = store.group().newest_epoch();
    let epoch = arguments.epoch.unwrap_or(newest);
    if epoch > newest {
        return Err(Failure::new(format!(
            "the group's newest epoch is {newest}"
        )));
    }
    let lines = store.lines(&issuer, epoch)?;
    let mut output = Output::create(&arguments.output, &arguments.dir, arguments.force)?;
    let header = register_file_header(store.group().id(), epoch);
    output.write_all(&header).map_err(Failure::write)?;
    let mut written = 0u64;
    let mut write = |machine: &Machine| {
        let line = lines.line(machine)?;
        written += 1;
        output.write_all(&line.encode()).map_err(Failure::write)
    };
    if arguments.machine.is_empty() {
        store.machines(|machine| write(&machine))?;
    }
    for name in &arguments.machine {
        let machine = store.machine(name.as_str())?;
        write(&machine.ok_or_else(|| no_such_machine(name.as_str()))?)?;
    }
    output.commit()?;
    say!(
        "{written} machines, with their credentials of epoch {epoch}: {}",
        arguments.output.display()
    );
    Ok(Status::Yes)
}
