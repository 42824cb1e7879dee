//! A server of PostgreSQL for tests: its own, in a temporary directory, with fsync.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What such tests need.
pub const POSTGRES: &str = "PostgreSQL's programs in /usr/lib/postgresql";

/// Names the folder of the socket of a server that stores of this program have their databases in.
#[allow(dead_code, reason = "not every program runs itself")]
pub const SOCKET: &str = "CLEW_TEST_POSTGRES";

const START_WAIT: Duration = Duration::from_secs(30);

/// A server that runs until this is dropped.
pub struct Cluster {
    folder: TempDir,
    programs: PathBuf,
    server: Child,
}

impl Cluster {
    /// Starts a server. Returns `None` if this machine has no PostgreSQL.
    pub fn start() -> Option<Self> {
        let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
        let mut programs = versions.map(|version| version.unwrap().path().join("bin"));
        let programs = programs.find(|bin| bin.join("initdb").exists())?;
        let folder = tempfile::tempdir().unwrap();
        if is_root() {
            let [user, group] = ["-u", "-g"].map(|of| id(&[of, "postgres"]));
            chown(folder.path(), Some(user), Some(group)).unwrap();
        }
        let data = folder.path().join("data");
        let made = as_owner(&programs.join("initdb"))
            .args(["--auth=trust", "--no-sync", "--username=postgres", "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let server = run(&programs, folder.path());
        Some(Self {
            folder,
            programs,
            server,
        })
    }

    /// The folder of its socket.
    pub fn socket(&self) -> &Path {
        self.folder.path()
    }

    /// Kills the server as a crash of its host would, and starts it again.
    #[allow(dead_code, reason = "not every program does that")]
    pub fn crash(&mut self) {
        self.stop();
        self.restart();
    }

    /// Starts it again.
    pub fn restart(&mut self) {
        self.server = run(&self.programs, self.folder.path());
    }

    /// Stops all of the server's processes where they are, or lets them go on.
    #[allow(dead_code, reason = "not every program does that")]
    pub fn freeze(&self, frozen: bool) {
        let id = self.server.id();
        let signal = if frozen { "-STOP" } else { "-CONT" };
        let kill = |ids: &[&str]| {
            let killed = Command::new("kill").arg(signal).args(ids).status();
            assert!(killed.unwrap().success());
        };
        // A stopped server makes no process, and keeps the ids of those that end.
        let children = || fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        if frozen {
            kill(&[&id.to_string()]);
        }
        kill(&children().split_whitespace().collect::<Vec<_>>());
        if !frozen {
            kill(&[&id.to_string()]);
        }
    }

    /// Kills all of the server's processes: SIGQUIT is its immediate shutdown, after which it recovers.
    pub fn stop(&mut self) {
        let pid = self.server.id().to_string();
        let killed = Command::new("kill").args(["-QUIT", &pid]).status();
        assert!(killed.unwrap().success());
        self.server.wait().unwrap();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if matches!(self.server.try_wait(), Ok(None)) {
            self.stop();
        }
    }
}

/// The URL of a new, empty schema of the server with this socket.
pub fn fresh(socket: &Path) -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    let schema = format!("test_{}_{made}", std::process::id());
    psql(socket, &format!("CREATE SCHEMA {schema}"));
    let socket = socket.to_str().unwrap().replace('/', "%2F");
    format!("postgres://postgres@{socket}/postgres?options=-c%20search_path%3D{schema}")
}

/// Runs a statement, and returns its rows.
pub fn psql(socket: &Path, statement: &str) -> String {
    let mut psql = Command::new("psql");
    psql.arg("-h").arg(socket);
    psql.args(["-U", "postgres", "-d", "postgres", "-X", "-q", "-A", "-t"]);
    let done = psql
        .args(["-v", "ON_ERROR_STOP=1", "-c", statement])
        .output();
    let done = done.unwrap();
    assert!(done.status.success(), "{statement}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

fn run(programs: &Path, folder: &Path) -> Child {
    let mut server = as_owner(&programs.join("postgres"));
    server.arg("-D").arg(folder.join("data"));
    server
        .arg("-k")
        .arg(folder)
        .args(["-c", "listen_addresses="]);
    server.stdout(Stdio::null()).stderr(Stdio::null());
    let server = server.spawn().unwrap();
    let started = Instant::now();
    let ready = || {
        let mut asked = Command::new(programs.join("pg_isready"));
        let asked = asked.arg("-q").arg("-h").arg(folder).status();
        asked.unwrap().success()
    };
    while !ready() {
        assert!(started.elapsed() < START_WAIT, "the server does not start");
        std::thread::sleep(Duration::from_millis(50));
    }
    server
}

/// PostgreSQL refuses to run as root.
fn as_owner(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut other = Command::new("setpriv");
    other.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    other.arg("--pdeathsig=QUIT").arg(program);
    other
}

fn is_root() -> bool {
    id(&["-u"]) == 0
}

fn id(arguments: &[&str]) -> u32 {
    let id = Command::new("id").args(arguments).output().unwrap();
    String::from_utf8(id.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}
