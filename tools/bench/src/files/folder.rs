//! A group with one machine, and the commands of the program that are measured.

use super::child::{self, Ran};
use super::traffic::Traffic;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// How `clew sign` signs. The sizes are the program's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Each,
    Window,
    Tree,
}

impl Mode {
    /// As it stands in the names of rows, and after `--mode`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Each => "each",
            Self::Window => "window",
            Self::Tree => "tree",
        }
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    Sign(Mode),
    Verify(Mode),
    /// `--whole-windows`.
    VerifyWhole,
    /// SHA-256 of the packets of the mode.
    Hash(Mode),
}

/// All tasks, in the order of the report.
pub const TASKS: [Task; 9] = [
    Task::Sign(Mode::Each),
    Task::Sign(Mode::Window),
    Task::Sign(Mode::Tree),
    Task::Verify(Mode::Each),
    Task::Verify(Mode::Window),
    Task::VerifyWhole,
    Task::Verify(Mode::Tree),
    Task::Hash(Mode::Each),
    Task::Hash(Mode::Tree),
];

impl Task {
    /// Whose capture it works on.
    pub fn mode(self) -> Mode {
        match self {
            Self::Sign(mode) | Self::Verify(mode) | Self::Hash(mode) => mode,
            Self::VerifyWhole => Mode::Window,
        }
    }

    /// As it stands in the names of rows.
    pub fn name(self) -> String {
        match self {
            Self::Sign(mode) => format!("sign-{}", mode.name()),
            Self::Verify(mode) => format!("verify-{}", mode.name()),
            Self::VerifyWhole => "verify-window-whole".into(),
            Self::Hash(Mode::Tree) => "sha256".into(),
            Self::Hash(Mode::Each | Mode::Window) => "sha256-first".into(),
        }
    }
}

/// The programs, the group's files and the captures.
pub struct Folder {
    temporary: TempDir,
    clew: PathBuf,
    /// This program, to hash.
    bench: PathBuf,
    /// Everything, for trees; and its first packets, for modes with a signature for each packet.
    pub all: Traffic,
    pub first: Traffic,
    /// Whether a packet that cannot be signed is an error.
    strict: bool,
}

/// How long hashing goes on, in seconds: about as long as the program runs.
const HASHING: &str = "0.3";

/// What modes with a signature for each packet get of a capture.
pub const SHARE: usize = 16;

impl Folder {
    /// Makes a group, enrols a machine, and lays out the captures.
    pub fn new(clew: Option<&Path>, capture: Option<&Path>, packets: u32) -> io::Result<Self> {
        let temporary = tempfile::tempdir()?;
        let bench = std::env::current_exe()?;
        let clew = clew.map_or_else(|| bench.with_file_name("clew"), Path::to_owned);
        if !clew.exists() {
            return Err(io::Error::other(format!(
                "{} does not exist\nhint: cargo build --release -p clew, or --clew PATH",
                clew.display()
            )));
        }
        let at = |name| temporary.path().join(name);
        let all = match capture {
            Some(path) => Traffic::of(path)?,
            None => Traffic::synthetic(&at("all.pcap"), packets)?,
        };
        let first = all.first(&at("first.pcap"), all.packets.div_ceil(SHARE))?;
        let strict = capture.is_none();
        let folder = Self {
            temporary,
            clew,
            bench,
            all,
            first,
            strict,
        };
        folder.found()?;
        Ok(folder)
    }

    /// The group, and every task once: it is seen that each can be done, and there is something to
    /// verify.
    fn found(&self) -> io::Result<()> {
        let cores = child::cores()?;
        let run = |arguments: &[&str]| child::run(&self.clew, arguments, &cores);
        let (dir, key) = (self.path("group"), self.path("machine.key"));
        run(&["group", "create", "--name", "bench", &dir])?;
        run(&["enrol", &dir, "machine", "-o", &key])?;
        for task in TASKS {
            self.run(task, &cores)?;
        }
        Ok(())
    }

    /// A file in the temporary directory.
    fn path(&self, name: &str) -> String {
        self.temporary.path().join(name).display().to_string()
    }

    /// The capture that a mode signs.
    pub fn traffic(&self, mode: Mode) -> &Traffic {
        match mode {
            Mode::Each | Mode::Window => &self.first,
            Mode::Tree => &self.all,
        }
    }

    /// Does a task on these cores. Every packet of the synthetic capture must be signed and valid.
    pub fn run(&self, task: Task, cores: &[usize]) -> io::Result<Ran> {
        let mode = task.mode();
        let input = self.traffic(mode).path.display().to_string();
        let signed = self.path(&format!("{}.signed", mode.name()));
        let (key, group) = (
            self.path("machine.key"),
            self.path("group/public/group.clew"),
        );
        let sign = [
            "sign",
            "--key",
            &key,
            "--mode",
            mode.name(),
            "--force",
            &input,
            "-w",
            &signed,
        ];
        let verify = ["verify", "--group", &group, &signed];
        let hash = [
            "sha256",
            "--capture",
            &input,
            "--json",
            "--rounds",
            "1",
            "--seconds",
            HASHING,
        ];
        let with = |more| [&verify[..], more].concat();
        let strict: &[&str] = if self.strict { &["--strict"] } else { &[] };
        match task {
            Task::Sign(_) => child::run(&self.clew, &sign, cores),
            Task::Verify(_) => child::run(&self.clew, &with(strict), cores),
            Task::VerifyWhole => {
                let whole = [strict, &["--whole-windows"]].concat();
                child::run(&self.clew, &with(&whole), cores)
            }
            Task::Hash(_) => child::run(&self.bench, &hash, cores),
        }
    }
}
