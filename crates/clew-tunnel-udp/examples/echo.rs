//! An echo service over a tunnel, and its client.
//!
//! ```text
//! cargo run --example echo -- serve 127.0.0.1:4433 /tmp/echo.record
//! cargo run --example echo -- say /tmp/echo.record hello
//! ```
//! The record is what a client has to know of a server; here it is a file. A server writes it anew whenever its
//! ephemeral key changes.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Duration;

use clew_tunnel_udp::tunnel::engine::client::{Config, Target};
use clew_tunnel_udp::tunnel::engine::server;
use clew_tunnel_udp::tunnel::keys;
use clew_tunnel_udp::tunnel::record::{
    Cert, CertBody, Record, ServerSecret, SigningSecret, Wanted,
};
use clew_tunnel_udp::tunnel::x25519::Secret;
use clew_tunnel_udp::{Client, Connection, Options, Random, Server, wall};
use rand_core::Rng as _;

type Done = Result<(), Box<dyn Error>>;

const HOST: &str = "echo.example";

#[tokio::main]
async fn main() -> Done {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", address, record] => serve(address, Path::new(record)).await,
        ["say", record, text] => say(Path::new(record), text).await,
        _ => Err("usage: echo serve ADDRESS RECORD | echo say RECORD TEXT".into()),
    }
}

/// Keys of a server, and a certificate by itself.
fn secret() -> Result<ServerSecret, Box<dyn Error>> {
    let (mut seed, mut boxing, mut random) = ([0; 32], [0; 32], Random::default());
    random.fill_bytes(&mut seed);
    random.fill_bytes(&mut boxing);
    let signing = SigningSecret::from_seed(&seed);
    let boxing = Secret::from_bytes(boxing);
    let now = wall().as_millis();
    let body = CertBody {
        issuer: signing.public(),
        signing: signing.public(),
        boxing: keys::public(&boxing),
        start: now,
        end: now + 30 * 86_400_000,
        hostname: HOST.into(),
    };
    let cert = Cert::sign(body, &signing)?;
    Ok(ServerSecret {
        signing,
        boxing,
        cert,
    })
}

async fn serve(address: &str, path: &Path) -> Done {
    let config = server::Config::new(Vec::new());
    let options = Options {
        at: vec![address.parse()?],
        ..Options::default()
    };
    let mut server = Server::bind(&secret()?, config, options)?;
    let mut records = server.records();
    println!("{HOST} listens on {:?}", server.addresses());
    loop {
        tokio::select! {
            Ok(()) = records.changed() => {
                if let Some(record) = &*records.borrow_and_update() {
                    fs::write(path, record.to_bytes())?;
                }
            }
            Some(incoming) = server.accept() => {
                println!("{} asks for {:?}", incoming.address(), incoming.service());
                if incoming.service() == "echo" {
                    tokio::spawn(echo(incoming.accept()));
                } else {
                    incoming.refuse(clew_tunnel_udp::tunnel::Reason::UnknownService);
                }
            }
            else => return Ok(()),
        }
    }
}

async fn echo(mut connection: Connection) {
    while let Some(message) = connection.receive().await {
        if connection.send_message(message).await.is_err() {
            return;
        }
    }
}

// ANCHOR: say
async fn say(path: &Path, text: &str) -> Done {
    let record = Record::parse(&fs::read(path)?)?;
    // Whoever gets records from elsewhere says here whom it trusts: an issuer, or a pinned key of the host.
    let wanted = Wanted {
        hostname: Some(HOST),
        now: wall(),
        cert_lifetime_max: Duration::from_secs(366 * 86_400),
    };
    wanted.verify(&record, |_| true)?;
    let client = Client::new(Config::default())?;
    let target = Target::Host(Box::new(record));
    // Connection and text are in the first packet: one round trip, whoever the server is.
    let (tunnel, connection) = client.open(target, |first| {
        let connection = first.connect("echo", None);
        first.send(&connection, "say", |call| call.text(text))?;
        Ok::<_, clew_tunnel_udp::tunnel::Reason>(connection)
    });
    let mut connection = connection?;
    match connection.receive().await {
        Some(message) => println!("{message:?}"),
        None => return Err(format!("no answer: {:?}", *tunnel.state().borrow()).into()),
    }
    Ok(())
}
// ANCHOR_END: say
