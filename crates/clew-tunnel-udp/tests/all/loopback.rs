//! Servers and clients over the machine's own network.

use std::num::NonZeroUsize;
use std::time::Duration;

use clew_tunnel::engine::client::{Config, Target};
use clew_tunnel::engine::event::User;
use clew_tunnel::engine::server;
use clew_tunnel::keys;
use clew_tunnel::record::{Cert, CertBody, ServerSecret, SigningSecret, UserSecret};
use clew_tunnel::wire::values::Value;
use clew_tunnel::x25519::Secret;
use clew_tunnel_udp::{Client, Message, MetricsWatch, Options, Server, State, Trace, wall};

fn secret() -> ServerSecret {
    let signing = SigningSecret::from_seed(&[7; 32]);
    let boxing = Secret::from_bytes([8; 32]);
    let now = wall().as_millis();
    let body = CertBody {
        issuer: signing.public(),
        signing: signing.public(),
        boxing: keys::public(&boxing),
        start: now - 1_000,
        end: now + 86_400_000,
        hostname: b"localhost".to_vec(),
    };
    let cert = Cert::sign(body, &signing).expect("a certificate");
    ServerSecret {
        signing,
        boxing,
        cert,
    }
}

/// A server that answers each RPC with itself, and its target.
async fn echo(at: &str) -> Target {
    echo_with(at, Options::default()).await.0
}

/// The same with these options, and what ends it.
pub(crate) async fn echo_with(
    at: &str,
    options: Options,
) -> (Target, tokio::task::JoinHandle<()>, MetricsWatch) {
    let options = Options {
        at: vec![at.parse().expect("an address")],
        ..options
    };
    let config = server::Config::new(Vec::new());
    let mut server = Server::bind(&secret(), config, options).expect("a server");
    let record = server.record().await.expect("a record");
    let metrics = server.metrics();
    let running = tokio::spawn(async move {
        while let Some(incoming) = server.accept().await {
            if incoming.service() != "echo" {
                incoming.refuse(clew_tunnel::Reason::UnknownService);
                continue;
            }
            let user = incoming.user();
            let mut connection = incoming.accept();
            tokio::spawn(async move {
                if let User::Key { key, .. } = user {
                    connection
                        .send("hello", |call| call.bytes(&key.0))
                        .await
                        .expect("a client");
                }
                while let Some(message) = connection.receive().await {
                    if connection.send_message(message).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (Target::Host(Box::new(record)), running, metrics)
}

pub(crate) fn say(text: &str) -> Message {
    Message::new("say", |call| call.text(text)).expect("a text")
}

pub(crate) async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what)
        .await
        .expect("in time")
}

#[tokio::test]
async fn data_of_the_first_packet_comes_back() {
    for at in ["127.0.0.1:0", "[::1]:0"] {
        let target = echo(at).await;
        let client = Client::new(Config::default()).unwrap();
        let (tunnel, mut connection) = client.open(target, |first| {
            let connection = first.connect("echo", None);
            first
                .send(&connection, "say", |call| call.text("hello"))
                .unwrap();
            connection
        });
        assert_eq!(within(connection.receive()).await, Some(say("hello")));
        within(tunnel.opened()).await.unwrap();
    }
}

#[tokio::test]
async fn a_prepared_tunnel_begins_with_its_data() {
    let client = Client::new(Config::default()).unwrap();
    let tunnel = client.prepare(echo("127.0.0.1:0").await);
    let mut connection = tunnel.begin(|first| {
        let connection = first.connect("echo", None);
        let sent = first.send(&connection, "say", |call| call.text("hello"));
        sent.unwrap();
        connection
    });
    assert_eq!(within(connection.receive()).await, Some(say("hello")));
    within(tunnel.opened()).await.unwrap();
}

#[tokio::test]
async fn a_user_is_known_by_its_key() {
    let target = echo("127.0.0.1:0").await;
    let client = Client::new(Config::default()).unwrap();
    let user = client
        .user(UserSecret(Secret::from_bytes([5; 32])))
        .await
        .unwrap();
    let (_tunnel, mut connection) = client.open(target, |first| first.connect("echo", Some(user)));
    let hello = within(connection.receive()).await.unwrap();
    let key = keys::public(&Secret::from_bytes([5; 32]));
    assert_eq!(
        hello.arguments().collect::<Vec<_>>(),
        [Value::Bytes(&key.0)]
    );
}

#[tokio::test]
async fn a_service_that_is_not_there_is_refused() {
    let target = echo("127.0.0.1:0").await;
    let client = Client::new(Config::default()).unwrap();
    let (tunnel, mut connection) = client.open(target, |first| first.connect("nothing", None));
    assert_eq!(within(connection.receive()).await, None);
    let error = within(connection.taken()).await.expect_err("it is refused");
    assert_eq!(error.to_string(), "the server refused the connection");
    let other = tunnel.connect("echo", None);
    within(other.taken()).await.unwrap();
    assert_eq!(*tunnel.state().borrow(), State::Open);
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_goes_both_ways_at_the_pace_of_who_reads() {
    let target = echo("127.0.0.1:0").await;
    let client = Client::new(Config::default()).unwrap();
    let (tunnel, mut connection) = client.open(target, |first| first.connect("echo", None));
    let count = 20_000_u32;
    let bulk = vec![1; 1_000];
    let mut got = 0;
    for number in 0..count {
        let sent = connection.send("bulk", |call| call.number(number).bytes(&bulk));
        within(sent).await.unwrap();
        if number == count / 2 {
            tunnel.moved();
        }
        // Behind by as much as fits.
        while number - got > 30 {
            let message = within(connection.receive()).await.unwrap();
            assert_eq!(message.arguments().next(), Some(Value::Number(got)));
            got += 1;
        }
    }
    while got < count {
        let message = within(connection.receive()).await.unwrap();
        assert_eq!(message.arguments().next(), Some(Value::Number(got)));
        got += 1;
    }
}

#[tokio::test]
async fn what_was_sent_before_a_connection_is_dropped_arrives() {
    let target = echo("127.0.0.1:0").await;
    let client = Client::new(Config::default()).unwrap();
    let (tunnel, first) = client.open(target, |first| first.connect("echo", None));
    drop(first);
    let mut others = Vec::new();
    for number in 0..40_u32 {
        let mut connection = tunnel.connect("echo", None);
        connection
            .send("say", |call| call.number(number))
            .await
            .unwrap();
        let message = within(connection.receive()).await.unwrap();
        assert_eq!(message.arguments().next(), Some(Value::Number(number)));
        if number % 2 == 0 {
            others.push(connection);
        }
    }
}

#[tokio::test]
async fn halves_end_a_connection_together() {
    let target = echo("127.0.0.1:0").await;
    let client = Client::new(Config::default()).unwrap();
    let (tunnel, connection) = client.open(target, |first| first.connect("echo", None));
    let (sending, mut receiving) = connection.split();
    sending.send_message(say("one")).await.unwrap();
    drop(sending);
    assert_eq!(within(receiving.receive()).await, Some(say("one")));
    drop((receiving, tunnel));
    within(client.ended()).await;
}

#[tokio::test]
async fn a_server_that_ends_says_so() {
    let options = Options {
        at: vec!["127.0.0.1:0".parse().unwrap()],
        ..Options::default()
    };
    let config = server::Config::new(Vec::new());
    let mut server = Server::bind(&secret(), config, options).unwrap();
    let record = Box::new(server.record().await.unwrap());
    let client = Client::new(Config::default()).unwrap();
    let (tunnel, mut connection) =
        client.open(Target::Host(record), |first| first.connect("echo", None));
    let taken = within(server.accept()).await.unwrap().accept();
    within(connection.taken()).await.unwrap();
    server.end().await;
    assert_eq!(within(connection.receive()).await, None);
    assert_eq!(*tunnel.state().borrow(), State::Gone(None));
    drop(taken);
}

#[tokio::test]
async fn nobody_there_is_no_answer() {
    let Target::Host(mut record) = echo("127.0.0.1:0").await else {
        panic!("a host");
    };
    record.ecert.body.addresses = vec!["127.0.0.1:9".parse().unwrap()];
    let client = Client::new(Config::default()).unwrap();
    let (tunnel, _) = client.open(Target::Host(record), |first| first.connect("echo", None));
    let opened = tokio::time::timeout(Duration::from_secs(30), tunnel.opened()).await;
    let error = opened.expect("in time").expect_err("nobody is there");
    assert_eq!(error.to_string(), "refused: no-answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_a_server_find_each_others_tunnels() {
    let options = Options {
        shards: NonZeroUsize::new(3),
        ..Options::default()
    };
    let target = echo_with("127.0.0.1:0", options).await.0;
    let client = Client::new(Config::default()).unwrap();
    let mut tunnels = Vec::new();
    for _ in 0..20 {
        tunnels.push(client.open(target.clone(), |first| first.connect("echo", None)));
    }
    for round in 0..4_u32 {
        for (tunnel, connection) in &mut tunnels {
            let sent = connection.send("say", |call| call.number(round));
            within(sent).await.unwrap();
            let message = within(connection.receive()).await.unwrap();
            assert_eq!(message.arguments().next(), Some(Value::Number(round)));
            // Its next TID may be one that comes to another part.
            tunnel.moved();
        }
    }
}

#[tokio::test]
async fn what_no_packet_has_room_for_is_refused_where_it_is_sent() {
    let target = echo("127.0.0.1:0").await;
    let client = Client::new(Config::default()).unwrap();
    let (_tunnel, mut connection) = client.open(target, |first| first.connect("echo", None));
    // l, the name, b with its length, e.
    let around = 1 + 3 + 3 + 3 + 1;
    let fits = vec![1; 1_232 - 40 - 4 - around];
    let sent = connection.send("say", |call| call.bytes(&fits));
    within(sent).await.unwrap();
    for more in [1, 70_000 - fits.len()] {
        let long = vec![1; fits.len() + more];
        let sent = connection.send("say", |call| call.bytes(&long));
        let error = within(sent).await.expect_err("it is too long");
        assert_eq!(error.to_string(), "refused: too-long");
    }
    let message = within(connection.receive()).await.unwrap();
    assert_eq!(message.arguments().next(), Some(Value::Bytes(&fits)));
}

#[tokio::test]
async fn other_threads_may_compute_the_keys() {
    let options = Options {
        offload_handshakes: NonZeroUsize::new(1),
        ..Options::default()
    };
    let target = echo_with("127.0.0.1:0", options).await.0;
    let client = Client::new(Config::default()).unwrap();
    for number in 0..20_u32 {
        let (_tunnel, mut connection) = client.open(target.clone(), |first| {
            let connection = first.connect("echo", None);
            first
                .send(&connection, "say", |call| call.number(number))
                .unwrap();
            connection
        });
        let message = within(connection.receive()).await.unwrap();
        assert_eq!(message.arguments().next(), Some(Value::Number(number)));
    }
}

/// What a trace was written to.
#[derive(Clone, Default)]
struct Written(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0
            .lock()
            .expect("nobody panicked")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn traces_are_json_sequences_of_both_sides_of_a_packet() {
    let (at_server, at_client) = (Written::default(), Written::default());
    let trace = |to: &Written, vantage| Trace::new(Box::new(to.clone()), vantage).unwrap();
    let options = Options {
        traces: vec![trace(&at_server, "server")],
        ..Options::default()
    };
    let target = echo_with("127.0.0.1:0", options).await.0;
    let client = Client::traced(Config::default(), trace(&at_client, "client")).unwrap();
    let (_tunnel, mut connection) = client.open(target, |first| {
        let connection = first.connect("echo", None);
        first
            .send(&connection, "say", |call| {
                call.text("a word that nobody traces")
            })
            .unwrap();
        connection
    });
    within(connection.receive()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let events = |written: &Written, name: &str| -> Vec<serde_json::Value> {
        let bytes = written.0.lock().expect("nobody panicked").clone();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with('\u{1e}') && !text.contains("a word"));
        let records = text.split('\u{1e}').skip(1);
        let records =
            records.map(|record| serde_json::from_str::<serde_json::Value>(record).unwrap());
        records
            .filter(|record| record["name"] == name)
            .map(|record| record["data"].clone())
            .collect()
    };
    let sent = events(&at_client, "tunnel:packet_sent");
    let received = events(&at_server, "tunnel:packet_received");
    assert_eq!(
        sent[0], received[0],
        "the first packet, as both sides have it"
    );
    assert!(sent[0]["initiation"] == true && sent[0]["length"] == 1_024);
    let answers = events(&at_server, "tunnel:packet_sent");
    assert_eq!(answers[0], events(&at_client, "tunnel:packet_received")[0]);
    assert!(
        events(&at_client, "tunnel:metrics_updated")[0]["congestion_window"].as_u64() > Some(0)
    );
}
