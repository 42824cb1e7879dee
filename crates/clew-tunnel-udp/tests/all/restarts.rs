//! Many clients when their server is gone without a word, and there again.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use clew_tunnel::Reason;
use clew_tunnel::engine::client::{Config, Target};
use clew_tunnel_udp::{Client, MetricsWatch, Options, Tunnel};

use crate::loopback::{echo_with, say, within};

const MANY: usize = 200;

async fn server(
    at: SocketAddr,
    shards: usize,
) -> (Target, tokio::task::JoinHandle<()>, MetricsWatch) {
    let options = Options {
        shards: std::num::NonZeroUsize::new(shards),
        ..Options::default()
    };
    echo_with(&at.to_string(), options).await
}

/// Asks in a new tunnel: the tunnel, and how long the answer took.
async fn ask(client: &Client, target: Target) -> (Tunnel, Duration) {
    let begin = Instant::now();
    let (tunnel, mut connection) = client.open(target, |first| {
        let connection = first.connect("echo", None);
        let sent = first.send(&connection, "say", |call| call.text("hello"));
        sent.expect("a short text");
        connection
    });
    let answer = within(connection.receive()).await;
    assert_eq!(answer, Some(say("hello")), "{:?}", *tunnel.state().borrow());
    (tunnel, begin.elapsed())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_idle_clients_find_it_at_once() {
    for shards in [1, 2] {
        let (target, running, _) = server("127.0.0.1:0".parse().expect("an address"), shards).await;
        let Target::Host(record) = &target else {
            unreachable!("a record");
        };
        let at = record.ecert.body.addresses[0];
        let client = Client::new(Config::default()).expect("sockets");
        let mut idle = Vec::new();
        for _ in 0..MANY {
            idle.push(ask(&client, target.clone()).await.0);
        }
        // Killed: nobody is told.
        running.abort();
        let _ = running.await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        for tunnel in &idle {
            assert!(!tunnel.is_ready(60, Duration::from_millis(200)).await);
        }
        let (_, _running, _) = server(at, shards).await;
        // All with the record that they had.
        let asking = idle.drain(..).map(|old| {
            let (client, target) = (client.clone(), target.clone());
            tokio::spawn(async move {
                let took = ask(&client, target).await.1;
                drop(old);
                took
            })
        });
        let mut times = Vec::new();
        for asked in asking.collect::<Vec<_>>() {
            times.push(asked.await.expect("none fails"));
        }
        times.sort();
        println!(
            "{shards} shards: {:?}, {:?}",
            times[MANY / 2],
            times[MANY - 1]
        );
        assert!(times[MANY - 1] < Duration::from_secs(4), "{times:?}");
    }
}

/// The system makes one train of what a client sends for several tunnels, and gives it to one shard.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_train_of_several_tunnels_finds_all_their_shards() {
    let (target, _running, metrics) = server("127.0.0.1:0".parse().expect("an address"), 3).await;
    let client = Client::new(Config::default()).expect("sockets");
    for _ in 0..5 {
        let asking = (0..60).map(|_| {
            let (client, target) = (client.clone(), target.clone());
            tokio::spawn(async move { ask(&client, target).await.0 })
        });
        let mut open = Vec::new();
        for asked in asking.collect::<Vec<_>>() {
            open.push(asked.await.expect("an answer"));
        }
        // The acks of all leave together.
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(open);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let counted = metrics.read();
    assert_eq!(counted.reasons.of(Reason::UnknownTid), 0, "{counted:?}");
    assert_eq!(counted.tunnels, 0, "and each close was heard");
}
