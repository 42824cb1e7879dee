//! `clew demo`: the whole story on real packets, checked as it goes.
//!
//! It runs the commands that it shows, and reads their answers. Everything that it makes stays in its
//! folder, all commands included.

mod changes;
mod fleet;
mod observe;
mod quorum;
mod steps;

use crate::cli;
use crate::failure::{Failure, Status};
use fleet::Fleet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// A real capture (SSH sessions; Zeek's test traces, BSD-3-Clause), built in.
const CAPTURE: &[u8] = include_bytes!("../../../tests/captures/zeek--ssh-ssh.pcap");

/// By which a later demo knows a folder that it may replace.
const MARKER: &str = "made-by-clew-demo";

/// Every command, in the demo's folder.
const COMMANDS: &str = "commands.sh";

/// Most commands of one kind that are shown; the file has them all.
const SHOWN_MAX: usize = 2;

/// Where everything is.
struct Stage {
    dir: PathBuf,
    /// What was checked, and whether it holds.
    checks: Vec<(String, bool)>,
    commands: String,
    /// Commands shown since the last step began.
    shown: usize,
}

/// What a command answered.
struct Answer {
    /// Whether its exit status is 0.
    is_yes: bool,
    out: String,
    err: String,
}

impl Answer {
    /// The first line of what it printed.
    fn first(&self) -> &str {
        self.out.lines().next().unwrap_or_default()
    }

    /// The failure of a command that did not do what it was to do.
    fn failure(&self) -> Failure {
        let said = self.err.trim_end();
        Failure::new(said.strip_prefix("clew: ").unwrap_or(said))
    }
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

    /// Shows a command and runs it, whatever it answers. `@` stands for the demo's folder; words
    /// joined by `&` stay together where a long line is broken.
    fn ask(&mut self, line: &str) -> Result<Answer, Failure> {
        let at = format!("{}/", self.dir.display());
        self.show(&line.replace('@', &at));
        let words = line.split([' ', '&']).map(|word| word.replace('@', &at));
        let failed = |e| Failure::new(format!("cannot run clew: {e}"));
        let mut command = Command::new(env::current_exe().map_err(failed)?);
        let output = command.args(words).stdin(Stdio::null()).output();
        let output = output.map_err(failed)?;
        let is_yes = output.status.success();
        self.commands += if is_yes { "\n" } else { " || true\n" };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        Ok(Answer { is_yes, out, err })
    }

    /// The same of a command that has to answer with yes.
    fn run(&mut self, line: &str) -> Result<Answer, Failure> {
        let answer = self.ask(line)?;
        match answer.is_yes {
            true => Ok(answer),
            false => Err(answer.failure()),
        }
    }

    fn show(&mut self, line: &str) {
        self.commands += &format!("clew {}", line.replace('&', " "));
        self.shown += 1;
        match self.shown {
            1..=SHOWN_MAX => say!("   $ clew {}", shortened(line)),
            n if n == SHOWN_MAX + 1 => {
                say!("   ... and so on: {}", self.path(COMMANDS).display())
            }
            _ => {}
        }
    }

    /// Notes whether something is as it must be.
    fn check(&mut self, holds: bool, what: impl Into<String>) {
        self.checks.push((what.into(), holds));
    }

    /// Prints all checks; yes only if all hold.
    fn finish(self) -> Status {
        say!("\nChecks");
        for (what, holds) in &self.checks {
            say!("   {}  {what}", if *holds { "ok    " } else { "FAILED" });
        }
        let passed = self.checks.iter().filter(|(_, holds)| *holds).count();
        let failed = self.checks.len() - passed;
        say!("{passed} passed, {failed} failed");
        Status::of(failed > 0 || passed == 0, false)
    }
}

/// Only the first of the words that repeat.
fn shortened(line: &str) -> String {
    let is_joined = |word: &&str| word.contains('&');
    let more = match line.split(' ').filter(is_joined).count() {
        0 | 1 => "",
        _ => " ...",
    };
    let mut joined = 0;
    let words = line.split(' ').filter_map(|word| {
        joined += usize::from(is_joined(&word));
        match (is_joined(&word), joined) {
            (false, _) => Some(word.to_owned()),
            (true, 1) => Some(word.replace('&', " ") + more),
            (true, _) => None,
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

pub fn run(arguments: &cli::Demo) -> Result<Status, Failure> {
    prepare(&arguments.output, arguments.force)?;
    let dir = arguments.output.clone();
    let mut stage = Stage {
        dir,
        checks: Vec::new(),
        commands: String::new(),
        shown: 0,
    };
    say!("All files of this demo are in {}.", stage.dir.display());
    let fleet = Fleet::gather(&mut stage, arguments.capture.as_deref())?;
    steps::sign(&mut stage, &fleet)?;
    let observed = observe::observe(&mut stage, &fleet)?;
    steps::tamper(&mut stage, &observed)?;
    steps::route(&mut stage, &fleet)?;
    quorum::open(&mut stage, &observed)?;
    quorum::compare_machines(&mut stage, &fleet, &observed)?;
    steps::revoke(&mut stage, &fleet)?;
    steps::restore(&mut stage)?;
    let path = stage.path(COMMANDS);
    fs::write(&path, &stage.commands).map_err(|e| Failure::io(&path, &e))?;
    Ok(stage.finish())
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
