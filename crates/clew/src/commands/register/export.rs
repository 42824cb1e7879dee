//! `clew group register`: rows for those who open, match or audit elsewhere.

use super::directory::rows_named;
use super::no_such_machine;
use crate::cli::GroupRegister;
use crate::clock;
use crate::failure::{Failure, Status};
use crate::go_on;
use crate::output::Output;
use crate::progress;
use clew_evidence::{
    GroupFile, LineValue, MAX_REGISTER_EPOCHS, RegisterFileHeader, RegisterLine, base_hash,
};
use clew_group::{EpochIssuer, Scheme};
use clew_keys::IssuerKeyFile;
use clew_manager::{Machine, Store, keys_of};
use indicatif::ProgressBar;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

/// Bytes that are read of a file to tell a register by: more than its header's first field.
const HEADER_BYTES_MAX: u64 = 64;

/// Rows whose values are computed together.
const ROWS_AT_ONCE: usize = 4096;

/// `clew group register`
pub fn export(arguments: &GroupRegister) -> Result<Status, Failure> {
    let mut store = Store::open(&arguments.dir)?;
    let issuer = arguments.unlock.issuer(&store)?;
    let header = header(arguments, store.group())?;
    check_is_register(&arguments.out.output)?;
    let named = named(arguments, &store)?;
    let last = match arguments.machine.is_empty() {
        true => store.group().register().machines.checked_sub(1),
        false => named.iter().map(|machine| machine.entry.index).max(),
    };
    let machines = last.map_or(0, |last| store.size_with(last));
    store.keep(&issuer, machines, clock::now_ns())?;
    let mut output = Output::create(&arguments.out.output, &arguments.dir, arguments.out.force)?;
    output.write_all(&header.encode()).map_err(Failure::write)?;
    let mut lines = LineWriter::new(&store, &issuer, header, output)?;
    match arguments.machine.is_empty() {
        // Not those that another process enrolled since: no checkpoint has them.
        true => store.machines(|machine| match machine.entry.index < machines {
            true => lines.push(machine),
            false => Ok(()),
        })?,
        false => named
            .into_iter()
            .try_for_each(|machine| lines.push(machine))?,
    }
    let (written, header) = lines.finish()?;
    tell(arguments, &header, written);
    Ok(Status::Yes)
}

/// `--force` replaces registers, and no key that was named by mistake.
fn check_is_register(path: &Path) -> Result<(), Failure> {
    if !path.is_file() {
        return Ok(());
    }
    let mut head = Vec::new();
    File::open(path)
        .and_then(|file| file.take(HEADER_BYTES_MAX).read_to_end(&mut head))
        .map_err(|e| Failure::io(path, &e))?;
    match RegisterFileHeader::begins(&head) {
        true => Ok(()),
        false => {
            Err(Failure::file(path, "exists, and is not a register file").hint("use another name"))
        }
    }
}

/// All rows that have or had one of the names given, each name's in the order of enrolment.
fn named(arguments: &GroupRegister, store: &Store) -> Result<Vec<Machine>, Failure> {
    let mut all = Vec::new();
    for name in &arguments.machine {
        let rows = rows_named(store, name.as_str())?;
        if rows.is_empty() {
            return Err(no_such_machine(name.as_str()));
        }
        all.extend(rows.into_iter().rev());
    }
    Ok(all)
}

fn header(arguments: &GroupRegister, group: &GroupFile) -> Result<RegisterFileHeader, Failure> {
    let newest = group.newest_epoch();
    let mut epochs = arguments.epoch.clone();
    if epochs.is_empty() {
        epochs.push(newest);
    }
    epochs.sort_unstable();
    epochs.dedup();
    if epochs.last().is_some_and(|last| *last > newest) {
        return Err(Failure::new(format!(
            "--epoch: the group's newest epoch is {newest}"
        )));
    }
    if epochs.len() > MAX_REGISTER_EPOCHS {
        return Err(Failure::new(format!(
            "--epoch: a register file can have at most {MAX_REGISTER_EPOCHS} epochs"
        )));
    }
    Ok(RegisterFileHeader {
        group: group.id(),
        points: arguments.points,
        epochs,
    })
}

fn tell(arguments: &GroupRegister, header: &RegisterFileHeader, written: u64) {
    let values = if header.points { "points" } else { "hashes" };
    let epochs: Vec<String> = header.epochs.iter().map(u32::to_string).collect();
    let of = if epochs.len() == 1 { "epoch" } else { "epochs" };
    let epochs = epochs.join(", ");
    say!(
        "{written} rows with {values} of {of} {epochs}: {}",
        arguments.out.output.display()
    );
    say!("Its rows are valid with the group file of today and all later ones.");
    if header.points {
        say!("Matches with it require packets of {of} {epochs}; use --epoch for others.");
    }
}

/// Writes lines, computing the values of many at once.
struct LineWriter<'a> {
    store: &'a Store,
    issuer: &'a IssuerKeyFile,
    header: RegisterFileHeader,
    /// The issuer in each epoch of the header.
    epochs: Vec<EpochIssuer>,
    waiting: Vec<Machine>,
    written: u64,
    output: Output,
    progress: ProgressBar,
}

impl<'a> LineWriter<'a> {
    fn new(
        store: &'a Store,
        issuer: &'a IssuerKeyFile,
        header: RegisterFileHeader,
        output: Output,
    ) -> Result<Self, Failure> {
        let epochs = header.epochs.iter();
        let epochs = epochs.map(|epoch| store.epoch_issuer(issuer, *epoch));
        let progress = progress::rows("writing");
        progress.set_length(store.group().register().machines.into());
        Ok(Self {
            store,
            issuer,
            epochs: epochs.collect::<Result<_, _>>()?,
            header,
            waiting: Vec::new(),
            written: 0,
            output,
            progress,
        })
    }

    fn push(&mut self, machine: Machine) -> Result<(), Failure> {
        self.waiting.push(machine);
        match self.waiting.len() >= ROWS_AT_ONCE {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn write(&mut self) -> Result<(), Failure> {
        go_on()?;
        let machines = std::mem::take(&mut self.waiting);
        let rows = keys_of(&machines, self.issuer)?;
        let values: Vec<_> = self.epochs.iter().map(|epoch| epoch.bases(&rows)).collect();
        for (i, (machine, (_, x))) in machines.iter().zip(rows.iter()).enumerate() {
            let line = RegisterLine {
                row: self.store.row(machine)?,
                x: (machine.entry.scheme() == Scheme::Xr).then_some(*x),
                values: values.iter().map(|epoch| self.value(epoch[i])).collect(),
            };
            let bytes = line.encode(&self.header);
            self.output.write_all(&bytes).map_err(Failure::write)?;
        }
        self.written += machines.len() as u64;
        self.progress.set_position(self.written);
        Ok(())
    }

    fn value(&self, base: Option<[u8; 48]>) -> LineValue {
        match base {
            None => LineValue::Revoked,
            Some(point) if self.header.points => LineValue::Point(point),
            Some(point) => LineValue::Hash(base_hash(&point)),
        }
    }

    fn finish(mut self) -> Result<(u64, RegisterFileHeader), Failure> {
        self.write()?;
        self.progress.finish_and_clear();
        self.output.commit()?;
        Ok((self.written, self.header))
    }
}
