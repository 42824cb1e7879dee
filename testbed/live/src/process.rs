//! Programs in namespaces. They end with this one, however it ends.

use crate::bed::Namespace;
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use std::io;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A program that runs beside others.
pub struct Process {
    /// By which reports name it.
    pub name: String,
    child: Child,
    is_gentle: bool,
}

/// How long a program may take to end by itself.
const END: Duration = Duration::from_secs(10);

impl Process {
    /// Starts it. Its output is thrown away; what it says of errors is shown.
    pub fn start(namespace: &Namespace, name: &str, command: &[&str]) -> io::Result<Self> {
        let child = in_namespace(namespace, command)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self {
            name: name.into(),
            child,
            is_gentle: false,
        })
    }

    /// The same, and shows its output among ours.
    pub fn show(namespace: &Namespace, name: &str, command: &[&str]) -> io::Result<Self> {
        let child = in_namespace(namespace, command)
            .stdin(Stdio::null())
            .spawn()?;
        Ok(Self {
            name: name.into(),
            child,
            is_gentle: false,
        })
    }

    /// The same for programs that tell of each request where errors are shown.
    pub fn quiet(namespace: &Namespace, name: &str, command: &[&str]) -> io::Result<Self> {
        let mut command = in_namespace(namespace, command);
        let command = command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(Stdio::null()).spawn()?;
        Ok(Self {
            name: name.into(),
            child,
            is_gentle: false,
        })
    }

    /// Lets it undo what it did when it is dropped.
    pub fn ends_gently(&mut self) {
        self.is_gentle = true;
    }

    /// The CPU time of all its threads so far, and of its children's.
    pub fn cpu(&self) -> io::Result<Duration> {
        let id = self.child.id();
        let children = format!("/proc/{id}/task/{id}/children");
        let children = std::fs::read_to_string(children).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|id| id.parse().ok());
        let all = [id as i32].into_iter().chain(children);
        all.map(|id| {
            let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(id))?;
            Ok(Duration::from(clock_gettime(clock)?))
        })
        .sum()
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it as a user would.
    pub fn interrupt(&mut self) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM);
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> io::Result<bool> {
        Ok(self.child.wait()?.success())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.is_gentle && self.runs() {
            self.interrupt();
            // If it does not end, it is killed.
            let _ = wait_until(&self.name.clone(), END, || Ok(!self.runs()));
        }
        // It may have ended itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a program to its end, and returns what it printed.
pub fn output(namespace: &Namespace, command: &[&str]) -> io::Result<Output> {
    in_namespace(namespace, command)
        .stdin(Stdio::null())
        .output()
}

/// Runs a program to its end. Returns what it printed if it succeeded.
pub fn printed(namespace: &Namespace, command: &[&str]) -> io::Result<String> {
    what_it_printed(command, output(namespace, command)?)
}

/// The same in no namespace.
pub fn printed_here(command: &[&str]) -> io::Result<String> {
    let (program, arguments) = command.split_first().unwrap_or((&"", &[]));
    what_it_printed(command, Command::new(program).args(arguments).output()?)
}

fn what_it_printed(command: &[&str], output: Output) -> io::Result<String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [output.stderr, output.stdout].concat();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    let last: Vec<_> = said.lines().rev().take(3).collect();
    Err(io::Error::other(format!(
        "{}: {}",
        command.join(" "),
        last.join("; ")
    )))
}

fn in_namespace(namespace: &Namespace, command: &[&str]) -> Command {
    let mut full = Command::new("ip");
    full.args(["netns", "exec", &namespace.name]);
    full.args(["setpriv", "--pdeathsig", "KILL"]).args(command);
    full
}

/// Asks again until the answer is yes, for at most that time.
pub fn wait_until(
    what: &str,
    time: Duration,
    mut is_so: impl FnMut() -> io::Result<bool>,
) -> io::Result<()> {
    let start = Instant::now();
    while !is_so()? {
        if start.elapsed() > time {
            return Err(io::Error::other(format!("{what}: not within {time:?}")));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Waits until a program listens on that port.
pub fn wait_for_port(namespace: &Namespace, kind: &str, port: u16) -> io::Result<()> {
    let command = ["ss", "-Hln", kind, &format!("sport = :{port}")];
    let listens = || Ok(!printed(namespace, &command)?.trim().is_empty());
    wait_until(&format!("port {port}"), Duration::from_secs(10), listens)
}

/// Says which programs a run lacks, with the packages that have them.
pub fn need(programs: &[(&str, &str)]) -> io::Result<()> {
    let missing = programs
        .iter()
        .filter(|(program, _)| find(program).is_none());
    let missing: Vec<_> = missing.collect();
    let Some(names) = join(missing.iter().map(|(name, _)| *name)) else {
        return Ok(());
    };
    let packages = join(missing.iter().map(|(_, package)| *package)).unwrap_or_default();
    Err(io::Error::other(format!(
        "{names}: not installed\nhint: apt-get install {}",
        packages.replace(',', "")
    )))
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: Vec<_> = names.collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The path of a program of this repository, built for release.
pub fn built(program: &str) -> io::Result<std::path::PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/release");
    let path = std::path::Path::new(folder).join(program);
    if path.is_file() {
        return path.canonicalize();
    }
    let hint = "cargo build --release -p clew -p clew-live --examples --bin clew";
    let text = format!("{}: not there\nhint: {hint}", path.display());
    Err(io::Error::other(text))
}

/// The path of a program.
pub fn find(program: &str) -> Option<std::path::PathBuf> {
    // A path of its own is joined to any folder as it is.
    let path = std::env::var_os("PATH")?;
    let mut folders = std::env::split_paths(&path);
    folders.find_map(|folder| Some(folder.join(program)).filter(|path| path.is_file()))
}
