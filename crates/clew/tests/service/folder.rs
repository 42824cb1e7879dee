//! A folder with a group, a log and two witnesses, and the processes that serve them.

use clew_evidence::{GroupId, Question, Requester, Scope, WarrantDraft};
use clew_keys::{AuthorKeyFile, TextFile};
use clew_log::entry::{Answer, Asks, Body, Entry, Filed, Seal, Trusteeship, Warrant};
use clew_log::{Policy, VerifierKey};
use clew_service::log::{LogClient, LogClientError};
use clew_wire::{Name, WallTime};
use ed25519_dalek::SigningKey;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};
use tempfile::TempDir;

pub const GROUP: &str = "acme/public/group.clew";

pub fn now() -> WallTime {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    WallTime::from_nanos(since.as_nanos().try_into().unwrap())
}

pub fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(work)
}

/// A service that was started. It is killed with the test.
pub struct Served {
    child: Child,
    pub url: String,
}

impl Served {
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it as systemd does, and returns its exit status.
    pub fn stop(&mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        Command::new("kill").arg(id).status().unwrap();
        self.child.wait().unwrap().code()
    }

    /// HOST:PORT.
    pub fn at(&self) -> String {
        let rest = self.url.strip_prefix("https://").unwrap();
        rest.split_once('/').unwrap().0.to_owned()
    }

    /// Waits until a log adds entries.
    pub fn ready(self) -> Self {
        let client = clew_service::http::Client::new(&self.url.parse().unwrap()).unwrap();
        wait(async {
            for _ in 0..600 {
                let health = client.get("health", None, 10_000, Duration::from_secs(10));
                if health.await.is_ok() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            unreachable!("the log waits for its witnesses");
        });
        self
    }

    pub fn log(&self) -> LogClient {
        LogClient::new(&self.url.parse().unwrap()).unwrap()
    }

    /// The log that a manager serves below its own address.
    pub fn own_log(&self) -> String {
        self.url.replace("/#", "/log/#")
    }

    /// What is at a path, if it is not refused.
    pub fn get(&self, path: &str) -> Result<String, clew_service::http::ClientError> {
        let client = clew_service::http::Client::new(&self.url.parse().unwrap()).unwrap();
        let answer = wait(client.get(path, None, 1 << 20, Duration::from_secs(20)))?;
        Ok(String::from_utf8(answer.body).unwrap())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Folder {
    dir: TempDir,
    pub log: String,
    pub witnesses: [String; 2],
}

impl Folder {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut folder = Self {
            dir,
            log: String::new(),
            witnesses: Default::default(),
        };
        let create = ["log", "create", "log", "--origin", "log.example/acme"];
        folder.log = folder.yes(&create).trim().to_owned();
        let acme = ["group", "create", "acme", "--name", "acme"];
        folder.yes(&[&acme[..], &["--log", &folder.log]].concat());
        folder.yes(&["enrol", "acme", "web-1", "-o", "web-1.key"]);
        folder.yes(&["log", "bind", "log", "--group", GROUP]);
        for (number, dir) in ["w1", "w2"].into_iter().enumerate() {
            let create = ["log", "create-witness", dir, "--name", dir];
            folder.witnesses[number] = folder.yes(&create).trim().to_owned();
        }
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clew"));
        command.args(arguments).current_dir(self.dir.path());
        command.stdin(Stdio::null());
        command
    }

    pub fn clew(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    #[track_caller]
    pub fn yes(&self, arguments: &[&str]) -> String {
        let done = self.clew(arguments);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(0), "{arguments:?}: {said}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// Returns what it said on standard error.
    #[track_caller]
    pub fn ends(&self, status: i32, arguments: &[&str]) -> String {
        let done = self.clew(arguments);
        let said = String::from_utf8(done.stderr).unwrap();
        let told = String::from_utf8_lossy(&done.stdout);
        assert_eq!(
            done.status.code(),
            Some(status),
            "{arguments:?}: {told}{said}"
        );
        said
    }

    /// Starts a service, and waits until it tells its address.
    pub fn start(&self, arguments: &[&str]) -> Served {
        self.start_telling("url ", arguments)
    }

    /// Starts a manager.
    pub fn manager(&self, dir: &str, at: &str, more: &[&str]) -> Served {
        let serve = ["manager", "serve", dir, "--listen", at];
        self.start_telling("manager at ", &[&serve[..], more].concat())
    }

    /// Starts a process that tells no address, with variables of its environment.
    pub fn spawn(&self, arguments: &[&str], variables: &[(&str, &Path)]) -> Served {
        let mut command = self.command(arguments);
        command
            .envs(variables.iter().copied())
            .stdout(Stdio::null());
        let (child, url) = (command.spawn().unwrap(), String::new());
        Served { child, url }
    }

    /// Starts a process, and waits until it says a line that begins so.
    pub fn start_telling(&self, prefix: &str, arguments: &[&str]) -> Served {
        self.start_with(prefix, arguments, &[])
    }

    /// The same with variables of its environment.
    pub fn start_with(
        &self,
        prefix: &str,
        arguments: &[&str],
        variables: &[(&str, &Path)],
    ) -> Served {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        command.stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.map_while(Result::ok).find_map(|line| {
            let url = line.strip_prefix(prefix)?;
            Some(url.trim().to_owned())
        });
        let mut served = Served {
            child,
            url: String::new(),
        };
        served.url = url.expect("the service tells its address");
        served
    }

    pub fn witness(&self, number: usize, at: &str) -> Served {
        let dir = ["w1", "w2"][number];
        self.start(&["log", "witness", dir, "--listen", at, "--log", &self.log])
    }

    pub fn serve(&self, dir: &str, witnesses: &[&Served]) -> Served {
        let mut arguments = vec!["log", "serve", dir, "--listen", "127.0.0.1:0"];
        let named: Vec<_> = self.witnesses.iter().zip(witnesses).collect();
        let named: Vec<_> = named
            .into_iter()
            .map(|(key, at)| format!("{key}={}", at.url))
            .collect();
        for witness in &named {
            arguments.extend(["--witness", witness]);
        }
        self.start(&arguments)
    }

    /// A log with both witnesses.
    pub fn whole(&self) -> (Served, [Served; 2]) {
        let witnesses = [0, 1].map(|number| self.witness(number, "127.0.0.1:0"));
        let log = self.serve("log", &[&witnesses[0], &witnesses[1]]).ready();
        (log, witnesses)
    }

    /// Adds what waits for the log, as the manager.
    #[track_caller]
    pub fn publish(&self, log: &Served) {
        self.yes(&["log", "publish", "acme", &log.url]);
    }

    /// The arguments that say which log and which witnesses.
    pub fn believed(&self) -> Vec<&str> {
        let [first, second] = &self.witnesses;
        vec!["--log", &self.log, "--witness", first, "--witness", second]
    }

    pub fn with<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        [arguments, &self.believed()].concat()
    }

    pub fn policy(&self) -> Policy {
        let key = |text: &String| text.parse::<VerifierKey>().unwrap();
        Policy {
            log: key(&self.log),
            witnesses: self.witnesses.iter().map(key).collect(),
            threshold: 2,
            max_age: Some(60),
        }
    }

    /// Makes an author's key, and has the manager admit it.
    pub fn author(&self, name: &str, role: &str, log: &Served) -> Author {
        let (key, public) = (format!("{name}.key"), format!("{name}.pub"));
        self.yes(&["log", "keygen", name, "-o", &key, "--public", &public]);
        let (role, index) = role.split_once(':').unwrap_or((role, ""));
        let mut admit = vec!["manager", "admit", "acme", "--role", role, "--key", &public];
        if !index.is_empty() {
            admit.extend(["--index", index]);
        }
        self.yes(&admit);
        self.publish(log);
        self.key(name)
    }

    pub fn key(&self, name: &str) -> Author {
        let text = std::fs::read_to_string(self.path(&format!("{name}.key"))).unwrap();
        let group = std::fs::read(self.path(GROUP)).unwrap();
        let group = clew_evidence::GroupFile::from_bytes(&group).unwrap();
        Author {
            key: AuthorKeyFile::decode(&text).unwrap(),
            group: group.id().0,
        }
    }
}

/// Somebody who writes entries.
pub struct Author {
    key: AuthorKeyFile,
    group: [u8; 16],
}

impl Author {
    pub fn signs(&self, body: Body) -> Entry {
        self.signs_at(body, now())
    }

    pub fn signs_at(&self, body: Body, time: WallTime) -> Entry {
        Entry::sign(self.group, time, body, &self.key.signing_key()).unwrap()
    }

    pub async fn says(&self, log: &LogClient, body: Body) -> Result<u64, LogClientError> {
        let entry = self.signs(body);
        for _ in 0..100 {
            match log.add(&entry).await {
                Err(error) if error.rule() == Some("busy") => {}
                answer => return answer.map(|(place, _)| place),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        log.add(&entry).await.map(|(place, _)| place)
    }

    /// A warrant of some court, for this requester.
    pub fn warrant(&self) -> Warrant {
        let name = |text: &str| text.parse::<Name>().unwrap();
        let issued = WallTime::from_nanos(1_700_000_000_000_000_000);
        let draft = WarrantDraft {
            group: GroupId(self.group),
            issued,
            expires: issued + Duration::from_secs(86_400),
            nonce: [5; 16],
            reference: name("case 12"),
            requester: Requester {
                key: self.key.signing_key().verifying_key().to_bytes(),
                encryption: [9; 32],
                name: name("police"),
            },
            scope: Scope::new(Question::Opening, vec![[3; 32]]).unwrap(),
        };
        let signed = draft.sign(name("court"), &SigningKey::from_bytes(&[4; 32]));
        Warrant {
            salt: [7; 32],
            file: signed.unwrap().encode().into_bytes(),
        }
    }

    pub fn request(&self, number: u64, seal: Seal) -> Body {
        let mut id = [1; 32];
        id[..8].copy_from_slice(&number.to_be_bytes());
        Body::Request(Filed {
            asks: Asks::Opening,
            request: id,
            signatures: 5,
            warrant: self.warrant().hash(),
            seal,
        })
    }
}

pub fn yes(place: u64, trustee: u8) -> Body {
    Body::Decision {
        place,
        by: Trusteeship::of_first_key(trustee),
        answer: Answer::Yes,
    }
}

pub fn copy_folder(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(done.unwrap().success());
}

/// How long a test waits for an event.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until something holds, and says what if it never does.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A value of the manager's metrics.
pub fn metric(served: &Served, name: &str) -> u64 {
    let text = served.get("metrics").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().trim().parse().unwrap()
}

/// Makes a group with a log of its own, in the place of the folder's.
pub fn own_log(folder: &Folder) -> String {
    let create = ["group", "create", "own", "--name", "own", "--with-log"];
    let said = folder.yes(&create);
    let line = said
        .lines()
        .find_map(|line| line.trim().strip_prefix("log "));
    line.unwrap().trim().to_owned()
}
