//! What a manager's processes answer when they are killed between commit and answer, told of too late,
//! halted or restored.

use crate::folder::{Folder, copy_folder, own_log, until, wait};
use clew_evidence::GroupFile;
use clew_keys::TextFile;
use clew_keys::join::{
    AcceptanceFile, ClaimFile, CredentialFile, FactoryFile, InvitationFile, Joining, OfferFile,
    RequestFile,
};
use clew_service::http::ClientError;
use clew_service::manager::ManagerClient;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// A line that loses the next answer once it is cut: the service has given it, and nobody gets it.
struct Line {
    at: String,
    is_cut: Arc<AtomicBool>,
    was_answered: Arc<AtomicBool>,
}

impl Line {
    fn to(service: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let line = Self {
            at: listener.local_addr().unwrap().to_string(),
            is_cut: Arc::default(),
            was_answered: Arc::default(),
        };
        let (is_cut, was_answered) = (Arc::clone(&line.is_cut), Arc::clone(&line.was_answered));
        thread::spawn(move || {
            for device in listener.incoming().map_while(Result::ok) {
                let Ok(manager) = TcpStream::connect(&service) else {
                    continue;
                };
                let back = (manager.try_clone().unwrap(), device.try_clone().unwrap());
                thread::spawn(move || relay(device, manager, |_| true));
                let (is_cut, was_answered) = (Arc::clone(&is_cut), Arc::clone(&was_answered));
                thread::spawn(move || {
                    relay(back.0, back.1, |_| {
                        let is_lost = is_cut.load(Ordering::SeqCst);
                        was_answered.fetch_or(is_lost, Ordering::SeqCst);
                        !is_lost
                    });
                });
            }
        });
        line
    }

    /// From now on answers are lost.
    fn cut(&self) {
        self.was_answered.store(false, Ordering::SeqCst);
        self.is_cut.store(true, Ordering::SeqCst);
    }

    fn mend(&self) {
        assert!(self.was_answered.load(Ordering::SeqCst), "it had answered");
        self.is_cut.store(false, Ordering::SeqCst);
    }
}

fn relay(mut from: TcpStream, mut to: TcpStream, mut passes: impl FnMut(&[u8]) -> bool) {
    let mut bytes = [0; 1 << 14];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        if !passes(&bytes[..read]) || to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// The manager commits each round, its answer is lost, and it is killed: the device asks again, and gets the
/// row that it has.
#[test]
fn a_manager_killed_between_commit_and_answer_keeps_its_word() {
    let folder = Folder::new();
    let batch = ["enrol", "acme", "--invite-batch", "line-", "--count", "1"];
    let until = ["--until", "2100-01-01T00:00:00Z", "-o", "line.batch"];
    folder.yes(&[&batch[..], &until].concat());
    let text = std::fs::read_to_string(folder.path("line.batch")).unwrap();
    let claim = FactoryFile::decode(&text).unwrap();
    let claim = claim.claim(&"line-0".parse().unwrap());
    let bytes = std::fs::read(folder.path(crate::folder::GROUP)).unwrap();
    let group = GroupFile::from_bytes(&bytes).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let group = group.check_epochs(&mut rng).unwrap();
    let mut manager = Some(folder.manager("acme", "127.0.0.1:0", &[]));
    let at = manager.as_ref().unwrap().at();
    let line = Line::to(at.clone());
    let url = manager.as_ref().unwrap().url.replace(&at, &line.at);
    let mut twice = |round: Round<'_>| {
        wait(async {
            let client = ManagerClient::new(&url.parse().unwrap()).unwrap();
            // The connection is made before, so that what is lost is the answer.
            client.head(None, Duration::ZERO).await.unwrap();
            line.cut();
            assert!(round.ask(&client).await.is_err(), "the answer is lost");
        });
        manager.take().unwrap().kill();
        line.mend();
        manager = Some(folder.manager("acme", &at, &[]));
        let client = ManagerClient::new(&url.parse().unwrap()).unwrap();
        let ask = async || [round.ask(&client).await, round.ask(&client).await];
        let [first, second] = wait(ask()).map(Result::unwrap);
        assert_eq!(first, second);
        first
    };
    let invitation = InvitationFile::decode(&twice(Round::Claim(&claim))).unwrap();
    let mut joining = Joining::begin(invitation, &group, &mut rng).unwrap();
    let offer = OfferFile::decode(&twice(Round::Request(joining.request()))).unwrap();
    let accepted = joining.accept(&offer, &group, &mut rng).unwrap();
    let row = CredentialFile::decode(&twice(Round::Acceptance(&accepted))).unwrap();
    assert_eq!(row.index, 1);
    joining.finish(&row, &group).unwrap();
    let list = folder.yes(&["group", "list", "acme"]);
    assert_eq!(list.matches("line-0").count(), 1, "{list}");
    folder.yes(&["manager", "check", "acme"]);
}

/// What a device or its factory asks.
enum Round<'a> {
    Claim(&'a ClaimFile),
    Request(&'a RequestFile),
    Acceptance(&'a AcceptanceFile),
}

impl Round<'_> {
    async fn ask(&self, client: &ManagerClient) -> Result<String, ClientError> {
        let text = match self {
            Round::Claim(claim) => client.claim(claim).await?.encode(),
            Round::Request(request) => client.offer(request).await?.encode(),
            Round::Acceptance(acceptance) => client.admit(acceptance).await?.encode(),
        };
        Ok(text.to_string())
    }
}

/// What is told to devices, and when systemd is told.
#[test]
fn services_tell_an_address_that_clients_reach_and_when_they_are_ready() {
    let folder = Folder::new();
    let anywhere = ["--listen", "0.0.0.0:0"];
    for serve in [&["manager", "serve", "acme"], &["log", "serve", "log"]] {
        let said = folder.ends(2, &[&serve[..], &anywhere].concat());
        let expected = "clew: --listen 0.0.0.0:0: this does not name an address for clients\n\
                        hint: add --address HOST:PORT, which clients reach\n";
        assert!(said.ends_with(expected), "{said}");
    }
    let socket = folder.path("notify");
    let heard = std::os::unix::net::UnixDatagram::bind(&socket).unwrap();
    heard
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let is_ready = || {
        let mut bytes = [0; 64];
        let read = heard.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..read], b"READY=1\n");
    };
    let notified = |prefix, arguments: &[&str]| {
        folder.start_with(prefix, arguments, &[("NOTIFY_SOCKET", &socket)])
    };
    let address = ["--address", "acme.example:4910"];
    let manager = ["manager", "serve", "acme", "--listen", "0.0.0.0:0"];
    let served = notified("manager at ", &[&manager[..], &address].concat());
    is_ready();
    assert!(served.url.starts_with("https://acme.example:4910/#SHA256:"));
    drop(served);
    let listen = ["--listen", "127.0.0.1:0"];
    let _log = notified("url ", &[&["log", "serve", "log"][..], &listen].concat());
    is_ready();
    let witness = ["log", "witness", "w1", "--log", &folder.log];
    let _witness = notified("url ", &[&witness[..], &listen].concat());
    is_ready();
    let manager = folder.manager("acme", "127.0.0.1:0", &[]);
    let init = [
        "trustee",
        "init",
        "t1",
        "--manager",
        &manager.url,
        "--name",
        "t1",
    ];
    let key = ["--key", "acme/trustees/1.key", "--log-url", &manager.url];
    folder.yes(&[&init[..], &key].concat());
    let admit = [
        "manager", "admit", "acme", "--role", "trustee", "--index", "1",
    ];
    folder.yes(&[&admit[..], &["--key", "t1/author.pub"]].concat());
    let variables = [("NOTIFY_SOCKET", socket.as_path())];
    let _trustee = folder.spawn(&["trustee", "serve", "t1"], &variables);
    is_ready();
}

/// A backup beside a service has the group's log of the same moment, and both go on elsewhere.
#[test]
fn a_backup_has_the_log_and_an_older_store_does_not_serve_beside_a_newer_one() {
    let folder = Folder::new();
    let key = own_log(&folder);
    folder.yes(&["enrol", "own", "a", "-o", "a.key"]);
    let manager = folder.manager("own", "127.0.0.1:0", &[]);
    let entries = |served: &crate::folder::Served| {
        let group = "--group";
        let log = served.own_log();
        let verify = [
            "log",
            "verify",
            &log,
            "--log",
            &key,
            group,
            "own/public/group.clew",
        ];
        let done = folder.clew(&[&verify[..], &["--json"]].concat());
        let said = String::from_utf8(done.stdout).unwrap();
        let read: Option<serde_json::Value> = said.lines().last().and_then(|l| l.parse().ok());
        read.and_then(|read| read["machines"].as_u64()).unwrap_or(0)
    };
    until("the first machine", || entries(&manager) == 1);
    let backup = ["manager", "backup", "own", "--with-keys", "-o"];
    folder.yes(&[&backup[..], &["own.backup"]].concat());
    folder.yes(&["enrol", "own", "b", "-o", "b.key"]);
    until("the second machine", || entries(&manager) == 2);
    drop(manager);
    // Elsewhere both go on from that moment.
    folder.yes(&["manager", "restore", "own.backup", "back", "--unchecked"]);
    copy_folder(&folder.path("back"), &folder.path("older"));
    let enrol = ["enrol", "back", "c", "-o", "c.key"];
    let said = folder.ends(2, &enrol);
    assert!(said.contains("restored store"), "{said}");
    let restored = folder.manager("back", "127.0.0.1:0", &[]);
    until("it was compared", || {
        !folder.path("back/issuer/halted").exists()
    });
    folder.yes(&enrol);
    let verify = ["log", "verify", &restored.own_log(), "--log", &key].map(str::to_owned);
    until("its own second machine", || {
        let verify: Vec<&str> = verify.iter().map(String::as_str).collect();
        let more = ["--group", "back/public/group.clew", "--json"];
        let done = folder.clew(&[&verify[..], &more].concat());
        String::from_utf8_lossy(&done.stdout).contains("\"machines\":2")
    });
    drop(restored);
    // With the log as it is today, the store of yesterday does not serve.
    std::fs::remove_dir_all(folder.path("older/log")).unwrap();
    copy_folder(&folder.path("own/log"), &folder.path("older/log"));
    let said = folder.ends(2, &["manager", "serve", "older", "--listen", "127.0.0.1:0"]);
    assert!(
        said.contains("older: the group's log has entries that this store lacks"),
        "{said}"
    );
    assert!(said.contains("hint: restore a newer backup"), "{said}");
    let said = folder.ends(2, &["revoke", "older", "a"]);
    assert!(
        said.contains("older: halted: the group's log has another history"),
        "{said}"
    );
}
