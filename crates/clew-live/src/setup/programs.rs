//! The system's programs `ip` and `nft`, run without a shell and without the caller's environment.

use super::ruleset::{
    COUNTER_IN, COUNTER_OTHERS_IN, COUNTER_OTHERS_OUT, COUNTER_OUT, COUNTER_RELAYED,
    COUNTER_SPOOFED,
};
use super::{Action, SetupError};
use crate::netfilter::add_queue_rule;
use crate::status::Filtered;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Where programs are looked for, whatever PATH says.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The flag of `ip` for a list of commands on standard input.
const BATCH: &str = "-batch";

/// How `ip` says which command of a list failed, before its number.
const WHICH: &str = "Command failed -:";

/// Phrases by which `ip` and `nft` say that an object is gone already.
const GONE: [&str; 5] = [
    "Cannot find device",
    "No such device",
    "No such process",
    "No such file or directory",
    "does not exist",
];

/// The programs that a set-up runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// `ip` of iproute2.
    pub ip: PathBuf,
    /// `nft` of nftables. `None` if it is not installed.
    pub nft: Option<PathBuf>,
}

impl Programs {
    /// Finds them.
    ///
    /// # Errors
    /// There is no `ip`.
    pub fn find() -> Result<Self, SetupError> {
        Ok(Self {
            ip: find("ip").ok_or(SetupError::NoProgram("ip"))?,
            nft: find("nft"),
        })
    }
}

/// Finds a program in the system's folders, whatever PATH says.
pub fn find(name: &str) -> Option<PathBuf> {
    let paths = FOLDERS.map(|folder| Path::new(folder).join(name));
    paths.into_iter().find(|path| path.is_file())
}

fn run(program: &Path, arguments: &[String], input: &str) -> std::io::Result<Output> {
    let mut child = Command::new(program)
        .args(arguments)
        // Ctrl-C at the terminal is for this process alone: its programs end what they began.
        .process_group(0)
        .env_clear()
        .env("LC_ALL", "C")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let pipe = child.stdin.take();
    std::thread::scope(|scope| {
        // A program that answers line by line waits for its reader.
        let fed = std::thread::Builder::new().spawn_scoped(scope, || {
            if let Some(mut pipe) = pipe {
                // A program that does not read it says why itself.
                let _ = pipe.write_all(input.as_bytes());
            }
        });
        // Without a thread its input is empty, so it has nothing to do.
        let output = child.wait_with_output();
        fed.and(output)
    })
}

/// Runs a program. Returns what it wrote to standard output.
pub(super) fn ask(program: &Path, arguments: &[&str]) -> Result<String, SetupError> {
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    feed(program, &arguments, "")
}

/// Runs a program with this standard input. Returns what it wrote to standard output.
pub(super) fn feed(
    program: &Path,
    arguments: &[String],
    input: &str,
) -> Result<String, SetupError> {
    let output = run(program, arguments, input).map_err(|error| not_run(program, error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let mut said = String::from_utf8_lossy(&output.stderr).into_owned();
    // A program that was killed did not say what became of the rest.
    let ended = output.status.code().is_none() || said.trim().is_empty();
    let status = ended.then(|| output.status.to_string());
    let action = Action::Run {
        program: program.to_owned(),
        arguments: arguments.to_vec(),
        input: input.to_owned(),
    };
    Err(match is_batch(arguments) {
        true => {
            said.extend(
                status
                    .into_iter()
                    .flat_map(|status| ["\n".to_owned(), status]),
            );
            failed_of(&action, &said)
        }
        false => SetupError::Failed {
            what: invocation(program, arguments),
            said: [said.split_whitespace().collect::<Vec<_>>().join(" ")]
                .into_iter()
                .filter(|said| !said.is_empty())
                .chain(status)
                .collect(),
        },
    })
}

/// Why a program does not run.
fn not_run(program: &Path, error: std::io::Error) -> SetupError {
    let path = program.to_owned();
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => SetupError::NotExecutable(path),
        _ => SetupError::Io { path, error },
    }
}

/// A program's name and its arguments.
pub(super) fn invocation(program: &Path, arguments: &[String]) -> String {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    format!("{name} {}", arguments.join(" "))
}

/// The failure of a list of commands: the first that failed, and each complaint once.
fn failed_of(action: &Action, said: &str) -> SetupError {
    let mut complaints: Vec<String> = Vec::new();
    let mut first = None;
    for line in said.lines().map(str::trim) {
        match line.strip_prefix(WHICH) {
            Some(number) => first = first.or_else(|| number.parse::<usize>().ok()),
            None if complaints.iter().all(|known| known != line) => complaints.push(line.into()),
            None => {}
        }
    }
    let commands = action.commands();
    let at = first.unwrap_or(1).saturating_sub(1);
    SetupError::Failed {
        what: commands.into_iter().nth(at).unwrap_or_default(),
        said: complaints,
    }
}

/// Whether the arguments of `ip` say that it reads a list of commands.
pub(super) fn is_batch(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument == BATCH)
}

/// `ip` with a list of commands of one family, which ends at the first failure unless all are tried.
pub(super) fn batch(ip: &Path, family: &str, tries_all: bool, commands: &[String]) -> Action {
    let arguments = match tries_all {
        true => vec![family, "-force", BATCH, "-"],
        false => vec![family, BATCH, "-"],
    };
    Action::Run {
        program: ip.to_owned(),
        arguments: arguments.into_iter().map(str::to_owned).collect(),
        input: commands
            .iter()
            .map(|command| format!("{command}\n"))
            .collect(),
    }
}

/// Runs `ip` with a list of commands that ask something. Returns the answers to those that have one.
pub(super) fn ask_all(ip: &Path, commands: &[String]) -> Result<String, SetupError> {
    let arguments = ["-json", "-force", BATCH, "-"].map(str::to_owned);
    let output = run(ip, &arguments, &(commands.join("\n") + "\n"));
    let output = output.map_err(|error| not_run(ip, error))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Reads the counters of a table of nftables. Those are `None` that are not there, and all if the caller
/// may not read them.
pub fn filtered(programs: &Programs, table: &str) -> Filtered {
    let arguments = ["-j", "list", "counters", "table", "inet", table];
    let asked = programs.nft.as_ref().map(|nft| ask(nft, &arguments));
    match asked {
        Some(Ok(text)) => counts(&text),
        _ => Filtered::default(),
    }
}

fn counts(text: &str) -> Filtered {
    let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let of = |name: &str| {
        let mut counters = value["nftables"].as_array()?.iter().map(|o| &o["counter"]);
        counters.find(|counter| counter["name"] == name)?["packets"].as_u64()
    };
    Filtered {
        unsigned_in: of(COUNTER_IN),
        unsigned_out: of(COUNTER_OUT),
        others_in: of(COUNTER_OTHERS_IN),
        others_out: of(COUNTER_OTHERS_OUT),
        not_relayed: of(COUNTER_RELAYED),
        spoofed: of(COUNTER_SPOOFED),
    }
}

/// Does an action.
pub(super) fn act(action: &Action) -> Result<(), SetupError> {
    match action {
        Action::Run {
            program,
            arguments,
            input,
        } => feed(program, arguments, input).map(drop),
        Action::Queue {
            table,
            chain,
            number,
        } => add_queue_rule(table, chain, *number)
            .map_err(|error| SetupError::NoQueue(error.to_string())),
        Action::Write { path, text } => std::fs::write(path, text).map_err(|error| {
            let path = path.clone();
            SetupError::Io { path, error }
        }),
    }
}

/// Whether a program failed because an object is gone; of a list of commands each that failed.
pub(super) fn is_gone(error: &SetupError) -> bool {
    let is_one = |said: &String| GONE.iter().any(|gone| said.contains(gone));
    matches!(error, SetupError::Failed { said, .. } if !said.is_empty() && said.iter().all(is_one))
}

/// Does an action again. What is there already is done.
pub(super) fn act_again(action: &Action) -> Result<(), SetupError> {
    let mut action = action.clone();
    if let Action::Run { arguments, .. } = &mut action
        && is_batch(arguments)
    {
        arguments.insert(1, "-force".to_owned());
    }
    let is_there = |said: &String| said.contains("File exists");
    match act(&action) {
        Err(SetupError::Failed { said, .. }) if !said.is_empty() && said.iter().all(is_there) => {
            Ok(())
        }
        done => done,
    }
}

/// Undoes a step that may not have been done.
pub(super) fn undo(action: &Action) -> Result<(), SetupError> {
    match act(action) {
        Err(error) if is_gone(&error) => Ok(()),
        Err(SetupError::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str) -> Action {
        Action::Run {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), text.into()],
            input: "given".into(),
        }
    }

    #[test]
    fn a_program_is_fed_and_its_complaint_is_one_line() {
        act(&shell("test \"$(cat)\" = given && test -z \"$HOME\"")).unwrap();
        // Its group is its own: the terminal's Ctrl-C is not for it.
        act(&shell("test $(cut -d ' ' -f 5 /proc/$$/stat) = $$")).unwrap();
        let failed = act(&shell("echo a >&2; echo b >&2; exit 3")).unwrap_err();
        assert!(failed.to_string().ends_with(": a b"), "{failed}");
    }

    #[test]
    fn counters_are_read_by_their_names() {
        let text = r#"{"nftables": [{"metainfo": {"version": "1"}},
            {"counter": {"family": "inet", "name": "others_out", "packets": 7, "bytes": 80}},
            {"counter": {"family": "inet", "name": "unsigned_in", "packets": 3, "bytes": 30}}]}"#;
        let found = counts(text);
        assert_eq!((found.others_out, found.unsigned_in), (Some(7), Some(3)));
        assert_eq!((found.others_in, found.unsigned_out), (None, None));
        assert_eq!(counts("not JSON"), Filtered::default());
    }

    #[test]
    fn what_is_gone_is_undone() {
        undo(&shell("echo 'Cannot find device \"x\"' >&2; exit 1")).unwrap();
        undo(&shell(
            "echo 'RTNETLINK answers: Operation not permitted' >&2; exit 2",
        ))
        .unwrap_err();
        undo(&shell("echo 'Cannot find device \"x\"' >&2; kill -9 $$")).unwrap_err();
        let batch = |complaints: &str| {
            let script = format!("printf '{complaints}' >&2; exit 1");
            Action::Run {
                program: "/bin/sh".into(),
                arguments: vec!["-c".into(), script, BATCH.into()],
                input: "route del a\nroute del b\n".into(),
            }
        };
        let gone = "RTNETLINK answers: No such process\\nCommand failed -:1\\n";
        undo(&batch(gone)).unwrap();
        let other = "RTNETLINK answers: Operation not permitted\\nCommand failed -:2\\n";
        let refused = undo(&batch(&format!("{gone}{other}"))).unwrap_err();
        assert!(refused.to_string().ends_with("not permitted"), "{refused}");
        let path = PathBuf::from("/proc/sys/net/ipv4/conf/no-such-device/rp_filter");
        undo(&Action::Write {
            path,
            text: "1".into(),
        })
        .unwrap();
    }

    #[test]
    fn a_program_that_nobody_may_run_is_said_to_be_so() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("nft");
        std::fs::write(&program, "exit 0").unwrap();
        let said = ask(&program, &[]).unwrap_err().to_string();
        assert_eq!(said, format!("{}: not executable", program.display()));
    }

    /// Killed by a signal, or without a word: what it did is not known.
    #[test]
    fn a_program_that_does_not_say_what_it_did_is_not_done() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        let gone = "RTNETLINK answers: No such process";
        let there = "RTNETLINK answers: File exists";
        for (does, says) in [
            ("exit 1".to_owned(), "exit status: 1"),
            ("kill -TERM $$".to_owned(), "signal: 15"),
            (format!("echo {gone} >&2; kill -9 $$"), "signal: 9"),
            (format!("echo {there} >&2; kill -9 $$"), "signal: 9"),
        ] {
            std::fs::write(&script, does).unwrap();
            let action = Action::Run {
                program: "/bin/sh".into(),
                arguments: vec![script.display().to_string(), BATCH.into()],
                input: String::new(),
            };
            for done in [undo(&action), act_again(&action)] {
                let said = done.unwrap_err().to_string();
                assert!(said.contains(says), "{said}");
            }
        }
    }
}
