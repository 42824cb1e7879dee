//! Many tunnels when their server stops or is killed, and is there again.

use crate::folder::{Folder, Started};
use crate::renewal::address;
use clew::failure::Failure;
use clew::tunnel::forward::{Destination, forward};
use clew::tunnel::link::{Link, Source, Whom};
use clew::tunnel::records::Trust;
use clew_tunnel::engine::client::Config;
use clew_tunnel_udp::Client;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

const IDLE: usize = 200;
const BUSY: usize = 20;

/// What one program would have: a link of its own.
struct Program {
    link: Arc<Mutex<Link>>,
    to: Destination,
}

impl Program {
    fn new(folder: &Folder, client: &Client) -> Self {
        let whom = Whom {
            source: Source::File(folder.path("web.record"), None),
            trust: Trust::Given,
            patience: Duration::from_secs(20),
        };
        let to = Destination {
            service: "web".into(),
            user: None,
            timeout: Duration::from_secs(20),
        };
        let link = Link::new(client.clone(), whom, "web".into());
        Self {
            link: Arc::new(Mutex::new(link)),
            to,
        }
    }

    /// A connection through it, and how it ends.
    fn connect(&self) -> (DuplexStream, JoinHandle<Result<(), Failure>>) {
        let (near, far) = tokio::io::duplex(4_096);
        let (link, to) = (Arc::clone(&self.link), self.to.clone());
        let ended = tokio::spawn(async move { forward(&link, &to, tokio::io::split(far)).await });
        (near, ended)
    }

    /// Asks something, and waits for the answer: how long that took.
    async fn ask(&self) -> Duration {
        let begin = Instant::now();
        let (mut near, ended) = self.connect();
        near.write_all(b"hello").await.unwrap();
        let mut back = [0; 5];
        let read = near.read_exact(&mut back).await;
        let took = begin.elapsed();
        if read.is_err() {
            let failure = ended.await.unwrap().unwrap_err();
            unreachable!("{}", failure.message);
        }
        assert_eq!(&back, b"hello");
        near.shutdown().await.unwrap();
        ended.await.unwrap().unwrap();
        took
    }

    /// Asks without an end: the error that ends it, or that it goes on after so long.
    async fn ask_on(&self, time: Duration) -> Option<Failure> {
        let (mut near, ended) = self.connect();
        let talk = async {
            let mut back = [0; 1];
            loop {
                if near.write_all(b"x").await.is_err() || near.read_exact(&mut back).await.is_err()
                {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let talked = tokio::time::timeout(time, talk).await;
        talked.ok()?;
        ended.await.unwrap().err()
    }
}

fn again(folder: &Folder) -> Started {
    let at = address(folder);
    let line = format!(
        "serve --key web.key --listen {at} --record web.record --service web=echo --anonymous"
    );
    folder.start(&line, "for ")
}

fn restarts(stop: impl FnOnce(Started)) {
    let folder = Folder::new();
    let server = folder.serve("--service web=echo --anonymous");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = Client::new(Config::default()).unwrap();
        let programs = (0..IDLE).map(|_| Arc::new(Program::new(&folder, &client)));
        let programs: Vec<_> = programs.collect();
        for program in &programs {
            program.ask().await;
        }
        let busy = (0..BUSY).map(|_| Program::new(&folder, &client));
        let busy: Vec<_> = busy
            .map(|program| {
                tokio::spawn(async move { program.ask_on(Duration::from_secs(15)).await })
            })
            .collect();
        tokio::time::sleep(Duration::from_secs(1)).await;
        stop(server);
        let _server = again(&folder);
        let asking = programs.iter().map(|program| {
            let program = Arc::clone(program);
            tokio::spawn(async move { program.ask().await })
        });
        let asking: Vec<_> = asking.collect();
        let mut times = Vec::new();
        for asked in asking {
            times.push(asked.await.expect("no idle program fails its next request"));
        }
        times.sort();
        let (median, worst) = (times[IDLE / 2], times[IDLE - 1]);
        println!("{IDLE} at once: median {median:?}, worst {worst:?}");
        // All at once, on a busy machine. One by one in virtual time: `restarts` of clew-tunnel.
        assert!(worst < Duration::from_secs(4), "{worst:?}");
        for busy in busy {
            let failure = busy.await.unwrap().expect("its server is gone");
            let said = &failure.message;
            assert!(
                said.contains("broke before its end")
                    || said.contains("no answer")
                    || said.contains("stopped answering"),
                "{said}"
            );
        }
    });
}

#[test]
fn a_server_that_is_stopped_and_started_fails_no_idle_client() {
    restarts(|mut server| assert_eq!(server.stop().0, 0));
}

#[test]
fn a_server_that_is_killed_and_started_fails_no_idle_client() {
    restarts(drop);
}
