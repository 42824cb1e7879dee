//! A store with very many rows, in each database.

use super::cluster;
use crate::epochs::filled_after;
use crate::issuing::{Issuing, NOW, checked};
use crate::measure::Case;
use clew_evidence::{CheckedGroup, Search};
use clew_group::curve::G1;
use clew_manager::{INDEXES, Store};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// The tables that have a row, or nodes, for each machine.
const LONG: [&str; 2] = ["machine", "node"];

/// The store in SQLite, and what was in it when it had one row.
pub struct Large {
    pub issuing: Issuing,
    first: Vec<u8>,
    group: CheckedGroup,
    members: u32,
    /// Of the last machine, in epoch 0.
    base: G1,
}

impl Large {
    pub fn new(members: u32) -> io::Result<Self> {
        let mut first = Vec::new();
        let issuing = filled_after(members, |issuing| {
            let made = issuing.store.backup(&mut first, true, NOW, None);
            made.expect("the store is whole");
        });
        let issuing = issuing.map_err(io::Error::other)?;
        let last = issuing.machine(&format!("machine-{}", members - 1));
        let large = Self {
            group: checked(issuing.store.group()),
            base: issuing.base(&last, 0),
            issuing,
            first,
            members,
        };
        eprintln!("clew-bench: {members} rows are made; their index is made now");
        let found = large.find(&large.issuing.store);
        assert_eq!(found, Some(members - 1));
        Ok(large)
    }

    /// Whose base it is, by the index.
    fn find(&self, store: &Store) -> Option<u32> {
        let search = Search::new(&self.group, 0, &self.base).expect("there is an epoch 0");
        let found = store.find_signer(&self.issuing.issuer, 0, search, &mut |_, _| true);
        let found = found.expect("the store is whole");
        found.map(|found| found.row.entry.index)
    }

    /// The same store in PostgreSQL.
    pub fn in_server(&self, socket: &Path, dir: &Path) -> io::Result<Store> {
        let url = cluster::fresh(socket);
        let made = Store::restore(&mut &self.first[..], dir, Some(&url), None);
        made.map_err(io::Error::other)?;
        let schema = url.rsplit("%3D").next().unwrap_or_default();
        let path = self.issuing.dir().join("issuer/store.db");
        let db = Connection::open(path).map_err(io::Error::other)?;
        for table in LONG {
            cluster::psql(socket, &format!("TRUNCATE {schema}.{table} CASCADE"));
            copy(&db, table, socket, schema)?;
        }
        let query = "SELECT hex(bytes) FROM register";
        let head: String = db
            .query_row(query, [], |row| row.get(0))
            .map_err(io::Error::other)?;
        let update =
            format!("UPDATE {schema}.register SET bytes = '\\x{head}', version = version + 1");
        cluster::psql(socket, &update);
        cluster::psql(socket, "ANALYZE");
        let mut copied = Command::new("cp");
        let index = self.issuing.dir().join(INDEXES);
        copied.arg("-a").args([&index, &dir.join(INDEXES)]);
        assert!(copied.status()?.success());
        Store::open(dir).map_err(io::Error::other)
    }

    /// The rows of a store with these machines.
    pub fn look_ups<'a>(&'a self, name: &str, store: &'a Store) -> [Case<'a>; 3] {
        let members = self.members;
        let mut next = 0_u32;
        let other = move || {
            // Far apart: a stride that meets every row.
            next = next.wrapping_add(0x9e37_79b1);
            next % members
        };
        let mut again = other;
        [
            Case::new(
                format!("{name}-find"),
                "an opening's row: from its base, by the index, with its proof",
                move || assert_eq!(self.find(store), Some(members - 1)),
            ),
            Case::with_input(
                format!("{name}-row"),
                "a row with its proof, by its place",
                other,
                |index| {
                    let machine = store.machine_at(index).ok().flatten();
                    assert!(machine.is_some_and(|machine| store.row(&machine).is_ok()));
                },
            ),
            Case::with_input(
                format!("{name}-name"),
                "a row by its machine's name",
                move || format!("machine-{}", again()),
                |machine| assert!(store.machine(&machine).is_ok_and(|row| row.is_some())),
            ),
        ]
    }
}

/// Copies a table to the server.
fn copy(db: &Connection, table: &str, socket: &Path, schema: &str) -> io::Result<()> {
    let mut psql = Command::new("psql");
    psql.arg("-h").arg(socket);
    psql.args(["-U", "postgres", "-d", "postgres", "-X", "-q", "-c"]);
    psql.arg(format!("COPY {schema}.{table} FROM STDIN"));
    let mut running = psql.stdin(Stdio::piped()).spawn()?;
    let input = running.stdin.take();
    let mut to = BufWriter::new(input.ok_or_else(|| io::Error::other("no pipe"))?);
    write_rows(db, table, &mut to).map_err(io::Error::other)?;
    to.flush()?;
    drop(to);
    match running.wait()?.success() {
        true => Ok(()),
        false => Err(io::Error::other("psql did not copy")),
    }
}

/// All rows of a table, as `COPY` reads them.
fn write_rows(
    db: &Connection,
    table: &str,
    to: &mut impl Write,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut statement = db.prepare(&format!("SELECT * FROM {table}"))?;
    let width = statement.column_count();
    let mut rows = statement.query([])?;
    let mut line = String::new();
    while let Some(row) = rows.next()? {
        line.clear();
        for column in 0..width {
            line += if column == 0 { "" } else { "\t" };
            match row.get_ref(column)? {
                ValueRef::Integer(number) => write!(line, "{number}")?,
                ValueRef::Text(text) => line += std::str::from_utf8(text)?,
                ValueRef::Blob(bytes) => {
                    line += "\\\\x";
                    for byte in bytes {
                        write!(line, "{byte:02x}")?;
                    }
                }
                ValueRef::Null | ValueRef::Real(_) => line += "\\N",
            }
        }
        line.push('\n');
        to.write_all(line.as_bytes())?;
    }
    Ok(())
}
