//! `clew demo`: the whole story on real packets, checked as it goes.
//!
//! It calls what the commands call and shows the command that would do the same; everything that it
//! makes stays in its folder, all commands included.

mod changes;
mod checks;
mod fleet;
mod observe;
mod quorum;
mod steps;

use crate::cli;
use crate::failure::{Failure, Status};
use checks::Checks;
use fleet::Fleet;
use std::fs;
use std::path::{Path, PathBuf};

/// A real capture (SSH sessions; Zeek's test traces, BSD-3-Clause), built in.
const CAPTURE: &[u8] = include_bytes!("../../../tests/captures/zeek--ssh-ssh.pcap");

/// By which a later demo knows a folder that it may replace.
const MARKER: &str = "made-by-clew-demo";

/// Every command that would do the same, in the demo's folder.
const COMMANDS: &str = "commands.sh";

/// Most commands of one kind that are shown; the file has them all.
const SHOWN_MAX: usize = 2;

/// Where everything is.
struct Stage {
    dir: PathBuf,
    checks: Checks,
    commands: String,
    /// Commands shown since the last step began.
    shown: usize,
}

impl Stage {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn step(&mut self, title: &str) {
        say!("\n{title}");
        self.commands += &format!("\n# {title}\n");
        self.shown = 0;
    }

    /// Shows the command that does what the demo does next. `@` stands for the demo's folder; words
    /// joined by `&` stay together where a long line is broken.
    fn command(&mut self, line: &str) {
        let line = line.replace('@', &format!("{}/", self.dir.display()));
        self.commands += &format!("clew {}\n", line.replace('&', " "));
        self.shown += 1;
        match self.shown {
            1..=SHOWN_MAX => say!("   $ clew {}", shortened(&line)),
            n if n == SHOWN_MAX + 1 => {
                say!("   ... and so on: {}", self.path(COMMANDS).display())
            }
            _ => {}
        }
    }
}

/// Only the first of the words that repeat.
fn shortened(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let joined: Vec<usize> = (0..words.len())
        .filter(|i| words[*i].contains('&'))
        .collect();
    let kept = words
        .iter()
        .enumerate()
        .filter(|(i, _)| !joined[joined.len().min(1)..].contains(i));
    let more = |i: usize| {
        if joined.len() > 1 && joined[0] == i {
            " ..."
        } else {
            ""
        }
    };
    let text: Vec<String> = kept
        .map(|(i, w)| format!("{}{}", w.replace('&', " "), more(i)))
        .collect();
    text.join(" ")
}

pub fn run(arguments: &cli::Demo) -> Result<Status, Failure> {
    prepare(&arguments.output, arguments.force)?;
    let dir = arguments.output.clone();
    let mut stage = Stage {
        dir,
        checks: Checks::default(),
        commands: String::new(),
        shown: 0,
    };
    say!("All files of this demo are in {}.", stage.dir.display());
    let fleet = Fleet::gather(&mut stage, arguments.capture.as_deref())?;
    steps::sign(&mut stage, &fleet)?;
    let observed = observe::observe(&mut stage, &fleet)?;
    steps::tamper(&mut stage, &observed)?;
    steps::route(&mut stage, &fleet)?;
    quorum::open(&mut stage, &fleet, &observed)?;
    quorum::compare_machines(&mut stage, &fleet, &observed)?;
    steps::revoke(&mut stage, &fleet)?;
    steps::restore(&mut stage, &fleet)?;
    let path = stage.path(COMMANDS);
    fs::write(&path, &stage.commands).map_err(|e| Failure::io(&path, &e))?;
    Ok(stage.checks.finish())
}

/// Makes an empty folder; one of an earlier demo is replaced if that was asked for.
fn prepare(dir: &Path, force: bool) -> Result<(), Failure> {
    let failed = |e| Failure::file(dir, e);
    if dir.join(MARKER).is_file() && force {
        fs::remove_dir_all(dir).map_err(failed)?;
    }
    let occupied = fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some());
    if occupied {
        let hint = match dir.join(MARKER).is_file() {
            true => "use --force to replace the earlier demo, or -o for another folder",
            false => "use -o for another folder",
        };
        return Err(Failure::file(dir, "exists and is not empty").hint(hint));
    }
    for folder in ["keys", "shares"] {
        fs::create_dir_all(dir.join(folder)).map_err(failed)?;
    }
    fs::write(
        dir.join(MARKER),
        "clew demo --force may replace this folder\n",
    )
    .map_err(failed)
}
