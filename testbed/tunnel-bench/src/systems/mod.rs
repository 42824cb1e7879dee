//! The systems under test: the rows of all tables.

mod clew;
pub mod identity;
pub mod on_tokio;
mod quinn;
mod s2n;
mod tcp;
mod tickets;
mod tls;
mod udp;

use crate::system::{System, Work};
use clew::{Clew, Tunnels, Users};
use identity::Identity;
use on_tokio::{OnTokio, Peer};
use quinn::Quinn;
use s2n::S2n;
use std::sync::Arc;
use tcp::{Tcp, TlsOverTcp};
use tls::{Handshake, Tls};
use udp::Udp;

/// What answers are made of; servers write it so much at a time.
static PIECE: [u8; 64 << 10] = [0x5a; 64 << 10];

/// A row.
pub type Shared = Arc<dyn System>;

/// The rows that others are compared with.
pub const PEERS: [&str; 3] = ["tcp", "s2n-quic", "quinn"];

/// All rows, in the order of the tables. clew's own belong at the end.
pub fn all(identity: &Identity) -> Vec<Shared> {
    use Work::{Bulk, Connect, Latency, Loss, Memory};
    let mut rows = Vec::new();
    datagrams_and_tcp(&mut rows);
    tls_over_tcp(&mut rows, identity);
    let tls = Tls::new(identity);
    let quinn = |tls| Quinn { tls };
    let all = [Connect, Bulk, Latency, Memory, Loss];
    let about = "quinn: full handshake, X25519, Ed25519, AES-128-GCM";
    add(&mut rows, "quinn", about, &all, quinn(tls.clone()));
    let about = "quinn by X25519MLKEM768";
    add(
        &mut rows,
        "quinn-hybrid",
        about,
        &[Connect],
        quinn(tls.clone().hybrid()),
    );
    let about = "quinn with a user's certificate, Ed25519";
    let mutual = quinn(tls.clone().mutual(identity));
    add(&mut rows, "quinn-mutual", about, &[Connect], mutual);
    let about = "quinn resumed by a ticket, no early data";
    let resumed = tls.clone().handshake(Handshake::Resumed);
    add(
        &mut rows,
        "quinn-resumed",
        about,
        &[Connect],
        quinn(resumed),
    );
    let about = "quinn resumed, the request as early data (0-RTT)";
    let early = tls.clone().handshake(Handshake::Early);
    add(
        &mut rows,
        "quinn-0rtt",
        about,
        &[Connect, Latency],
        quinn(early),
    );
    let about = "quinn with ChaCha20-Poly1305";
    add(
        &mut rows,
        "quinn-chacha",
        about,
        &[Bulk],
        quinn(tls.clone().chacha()),
    );
    let about = "s2n-quic over rustls, the same; it has no 0-RTT";
    add(&mut rows, "s2n-quic", about, &all, S2n { tls });
    clews(&mut rows);
    rows
}

fn clews(rows: &mut Vec<Shared>) {
    use Work::{Bulk, Connect, Latency, Loss, Memory};
    let clew = |users, tunnels| Clew { users, tunnels };
    let all = [Connect, Bulk, Latency, Memory, Loss];
    let about = "a new tunnel of clew's: anonymous, request in the first packet, XSalsa20-Poly1305";
    let anonymous = clew(Users::Anonymous, Tunnels::New);
    add(rows, "clew", about, &all, anonymous);
    let about = "clew with a user, authenticator `box` as in the paper";
    let boxed = clew(Users::Box, Tunnels::New);
    add(rows, "clew-box", about, &[Connect, Latency], boxed);
    let about = "clew with a user, authenticator `bound`";
    let bound = clew(Users::Bound, Tunnels::New);
    add(rows, "clew-bound", about, &[Connect, Latency], bound);
    let about =
        "clew whose client prepared the tunnel: keys computed before, as the server is known";
    let prepared = clew(Users::Anonymous, Tunnels::Prepared);
    add(rows, "clew-prepared", about, &[Connect, Latency], prepared);
    let about = "a connection of clew's on a tunnel that is there, anonymous";
    let one = clew(Users::Anonymous, Tunnels::One);
    add(rows, "clew-connection", about, &[Connect], one);
}

fn datagrams_and_tcp(rows: &mut Vec<Shared>) {
    use Work::{Bulk, Connect, Latency, Loss, Memory};
    let about = "the floor: one round trip of datagrams, 1024 bytes there, no protocol";
    add(rows, "udp", about, &[Connect, Latency], Udp);
    let all = [Connect, Bulk, Latency, Memory, Loss];
    let about = "plain TCP, CUBIC";
    add(
        rows,
        "tcp",
        about,
        &all,
        Tcp {
            congestion: "cubic",
        },
    );
    let about = "plain TCP, BBR of the kernel";
    add(rows, "tcp-bbr", about, &[Loss], Tcp { congestion: "bbr" });
}

fn tls_over_tcp(rows: &mut Vec<Shared>, identity: &Identity) {
    use Work::{Bulk, Connect, Latency, Loss, Memory};
    let tcp = Tcp {
        congestion: "cubic",
    };
    let over = |tls| TlsOverTcp { tcp, tls };
    let tls = Tls::new(identity);
    let all = [Connect, Bulk, Latency, Memory, Loss];
    let about = "TLS 1.3 of rustls over TCP: full handshake, X25519, Ed25519, AES-128-GCM";
    add(rows, "tls", about, &all, over(tls.clone()));
    let about = "tls with a P-256 certificate";
    add(
        rows,
        "tls-p256",
        about,
        &[Connect],
        over(tls.clone().p256(identity)),
    );
    let about = "tls with a user's certificate, Ed25519, as in the paper's Figure 6";
    let mutual = over(tls.clone().mutual(identity));
    add(rows, "tls-mutual", about, &[Connect, Latency], mutual);
    let about = "tls by X25519MLKEM768";
    add(
        rows,
        "tls-hybrid",
        about,
        &[Connect],
        over(tls.clone().hybrid()),
    );
    let about = "tls resumed by a ticket, with a new key exchange";
    let resumed = tls.clone().handshake(Handshake::Resumed);
    add(
        rows,
        "tls-resumed",
        about,
        &[Connect, Latency],
        over(resumed),
    );
    let about = "tls with ChaCha20-Poly1305";
    add(rows, "tls-chacha", about, &[Bulk], over(tls.chacha()));
}

fn add<P: Peer + 'static>(
    rows: &mut Vec<Shared>,
    name: &str,
    about: &str,
    works: &[Work],
    peer: P,
) {
    rows.push(Arc::new(OnTokio {
        name: name.into(),
        about: about.into(),
        works: works.into(),
        peer,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Server;
    use std::net::IpAddr;
    use std::time::Duration;

    #[test]
    fn every_row_does_what_it_says() {
        let rows = all(&Identity::new().unwrap());
        for row in &rows {
            let server = Server::start(row, IpAddr::from([127, 0, 0, 1]), 0).unwrap();
            let mut client = row.client(server.address, 2).unwrap();
            client.exchange().unwrap();
            let counted = client.exchanges(Duration::from_millis(20)).unwrap();
            assert!(counted.exchanges > 0, "{}", row.name());
            if row.does(Work::Bulk) {
                client.fetch(1_000_003).unwrap();
            }
            if row.does(Work::Memory) {
                client.hold(3).unwrap();
            }
            assert!(server.cpu().unwrap() > Duration::ZERO, "{}", row.name());
        }
    }

    #[test]
    fn names_are_there_once_and_peers_are_rows() {
        let rows = all(&Identity::new().unwrap());
        let names: Vec<_> = rows.iter().map(|row| row.name()).collect();
        assert!(
            names
                .iter()
                .all(|name| names.iter().filter(|other| other == &name).count() == 1)
        );
        assert!(PEERS.iter().all(|peer| names.contains(peer)));
    }
}
