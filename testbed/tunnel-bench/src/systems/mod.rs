//! The systems under test: the rows of all tables.

pub mod identity;
pub mod on_tokio;
mod quinn;
mod s2n;
mod tcp;
mod tickets;
mod tls;
mod udp;

use crate::system::{System, Work};
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
    let about = "full handshake, X25519, Ed25519, AES-128-GCM";
    add(&mut rows, "quinn", about, &all, quinn(tls.clone()));
    let about = "the same by X25519MLKEM768";
    add(
        &mut rows,
        "quinn-hybrid",
        about,
        &[Connect],
        quinn(tls.clone().hybrid()),
    );
    let about = "resumed by a ticket, no early data";
    let resumed = tls.clone().handshake(Handshake::Resumed);
    add(
        &mut rows,
        "quinn-resumed",
        about,
        &[Connect],
        quinn(resumed),
    );
    let about = "resumed, the request as early data (0-RTT)";
    let early = tls.clone().handshake(Handshake::Early);
    add(
        &mut rows,
        "quinn-0rtt",
        about,
        &[Connect, Latency],
        quinn(early),
    );
    let about = "ChaCha20-Poly1305";
    add(
        &mut rows,
        "quinn-chacha",
        about,
        &[Bulk],
        quinn(tls.clone().chacha()),
    );
    let about = "full handshake, X25519, Ed25519, AES-128-GCM (rustls); it has no 0-RTT";
    add(&mut rows, "s2n-quic", about, &all, S2n { tls });
    rows
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
    let about = "the same with a P-256 certificate";
    add(
        rows,
        "tls-p256",
        about,
        &[Connect],
        over(tls.clone().p256(identity)),
    );
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
