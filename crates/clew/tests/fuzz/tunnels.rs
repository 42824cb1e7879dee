//! Seeds of tunnels.

use clew_tunnel::boxes::Key;
use clew_tunnel::engine::WallTime;
use clew_tunnel::keys::{self, Nonce};
use clew_tunnel::puzzle::{PuzzleSecret, Solution};
use clew_tunnel::record::{
    Authenticators, Cert, CertBody, Ecert, EcertBody, Identity, Record, ServerSecret,
    SigningSecret, to_dns_cert, to_dns_ecert,
};
use clew_tunnel::wire::packet::{Header, Packet, Side, StaleKey};
use clew_tunnel::wire::plaintext::Plaintext;
use clew_tunnel::wire::rpc::Rpc;
use clew_tunnel::wire::values::CallWriter;
use clew_tunnel::x25519::{Public, Secret};

use crate::targets::tunnel::{CLIENT, KEY, NOW, SERVER, SOURCE, TID};

/// Some RPCs of each kind of argument.
fn rpcs() -> Vec<u8> {
    let mut out = Vec::new();
    let tid = [3; 8];
    let service = "files";
    let all = [
        Rpc::NextTid { tid, key: CLIENT },
        Rpc::CreateAuthBound {
            connection: 1,
            service,
            user: CLIENT,
            ephemeral: SERVER,
            authenticator: &[4; 49],
        },
        Rpc::WindowSize {
            connection: 1,
            bytes: 70_000,
        },
        Rpc::Ok,
    ];
    for rpc in all {
        rpc.write(&mut out).unwrap();
    }
    let call = CallWriter::new(&mut out, 1, "get").text("name").list();
    call.number(1).long(tid).end_list().end().unwrap();
    out
}

/// seq, ack, RPCs and some padding.
pub fn plaintext() -> Vec<u8> {
    [&[0, 0, 1, 0, 0, 0, 0, 0][..], &rpcs(), &[0; 8]].concat()
}

fn solution() -> Solution {
    let k = PuzzleSecret::from_bytes(KEY);
    let asked = k.interrogation(
        (TID, &CLIENT, SOURCE),
        &SERVER,
        WallTime::from_millis(NOW),
        0,
    );
    Solution {
        r: asked.q,
        nonce: asked.nonce,
    }
}

/// A solution, and an interrogation.
pub fn puzzles() -> Vec<Vec<u8>> {
    let k = PuzzleSecret::from_bytes(KEY);
    let asked = k.interrogation(
        (TID, &CLIENT, SOURCE),
        &SERVER,
        WallTime::from_millis(NOW),
        6,
    );
    vec![solution().to_bytes().to_vec(), asked.to_bytes().to_vec()]
}

/// One packet of each kind.
pub fn packets() -> Vec<Vec<u8>> {
    let sealed = |side, initiation| {
        let nonce = Nonce::new(NOW * 1_000_000, side);
        let header = Header {
            tid: TID,
            nonce,
            initiation,
        };
        let length = if initiation.is_some() { 1_024 } else { 256 };
        let stream = keys::stream(&Key::from_bytes(KEY), TID);
        let mut out = Vec::new();
        let written = header.seal((256, 0), &rpcs(), length, &stream, &mut out);
        written.map(|()| out).unwrap()
    };
    let mut stale = Vec::new();
    let answer = StaleKey {
        tid: TID,
        nonce: Nonce::new(1, Side::Server),
        ecert: &record().ecert.to_bytes(),
    };
    answer.write(&mut stale);
    vec![
        sealed(Side::Client, None),
        sealed(Side::Server, None),
        sealed(Side::Client, Some((CLIENT, None))),
        sealed(Side::Client, Some((CLIENT, Some(solution())))),
        stale,
        puzzles().remove(1),
    ]
}

fn record() -> Record {
    let signing = SigningSecret::from_seed(&[1; 32]);
    let public = |n| -> Public { keys::public(&Secret::from_bytes([n; 32])) };
    let cert = CertBody {
        issuer: signing.public(),
        signing: signing.public(),
        boxing: public(2),
        start: NOW,
        end: NOW + 1_000_000,
        hostname: b"files.example".into(),
    };
    let addresses = [SOURCE, "[2001:db8::1]:4321".parse().unwrap()];
    let ecert = EcertBody {
        authenticators: Authenticators::BOUND,
        w: 8,
        m: 1_024,
        signing: signing.public(),
        boxing: public(2),
        ephemeral: public(3),
        start: NOW,
        end: NOW + 270_000,
        addresses: addresses.into(),
    };
    Record {
        cert: Cert::sign(cert, &signing).unwrap(),
        ecert: Ecert::sign(ecert, &signing).unwrap(),
    }
}

/// Scripts: what a client does to a server (even kinds), and a server to a client (odd ones).
pub fn scripts() -> Vec<Vec<u8>> {
    let step = |what: u8, a: u8, b: u8, bytes: &[u8]| {
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(4), 0);
        [&[what, a, b, (padded.len() / 4) as u8], &padded[..]].concat()
    };
    let rpc = |rpc: Rpc<'_>| {
        let mut out = Vec::new();
        rpc.write(&mut out).unwrap();
        out
    };
    let mut say = Vec::new();
    let call = CallWriter::new(&mut say, 1, "say").bytes(b"something");
    call.end().unwrap();
    let service = "files";
    let create = rpc(Rpc::Create {
        connection: 1,
        service,
    });
    let ask = rpc(Rpc::RequestCert {
        identity: b"\0\x05other",
    });
    let window = rpc(Rpc::WindowSize {
        connection: 1,
        bytes: 70_000,
    });
    let hosting = [
        step(1, 1, 100, &create),
        step(6, 0, 0, &[]),
        step(1, 1, 100, &say),
        step(1, 5, 100, &window),
        step(6, 2, 0, b"an answer"),
        step(4, 9, 0, &[]),
        step(1, 1, 100, &ask),
        step(5, 12, 0, &[]),
        step(3, 1, 100, &say),
        step(6, 4, 0, &[]),
        step(0, 0x80, 3, &[0; 1_016]),
        step(5, 20, 0, &[]),
    ];
    let ack = rpc(Rpc::Ack { connection: 1 });
    let hash = [4; 64];
    let puzz = rpc(Rpc::Puzz {
        q: &[4; 80],
        hash: &hash,
        w: 2,
        nonce: [5; 8],
    });
    let visiting = [
        step(6, 0, 0, &[]),
        step(1, 1, 0, &rpc(Rpc::RekeyNow)),
        step(1, 1, 100, &ack),
        step(6, 1, 0, b"a question"),
        step(1, 1, 100, &say),
        step(6, 2, 0, &[]),
        step(1, 0, 100, &puzz),
        step(6, 6, 0, &[]),
        step(6, 5, 0, &[]),
        step(4, 14, 0, &[]),
        step(1, 1, 100, &rpc(Rpc::Close { connection: 1 })),
        step(0, 0x40, 0, &[0; 164]),
    ];
    let all = [0, 6, 14].map(|kind| [&[kind], &hosting.concat()[..]].concat());
    let others = [1, 3].map(|kind| [&[kind], &visiting.concat()[..]].concat());
    all.into_iter().chain(others).collect()
}

/// A record, the texts of its parts, a server's secret, an identity.
pub fn records() -> Vec<Vec<u8>> {
    let record = record();
    let texts = [to_dns_cert(&record.cert), to_dns_ecert(&record.ecert)];
    let identity = Identity {
        signing: Some([5; 32]),
        hostname: "files.example",
    };
    let bytes = record.to_bytes();
    let server = ServerSecret {
        signing: SigningSecret::from_seed(&[1; 32]),
        boxing: Secret::from_bytes([2; 32]),
        cert: record.cert,
    };
    let mut all = vec![
        bytes,
        server.to_bytes().to_vec(),
        identity.to_bytes().unwrap(),
    ];
    all.extend(texts.map(String::into_bytes));
    all
}

/// A seed that nothing reads would make mutations of it worth little.
pub fn seeds_are_read() {
    for mut packet in packets() {
        assert!(Packet::parse(&mut packet, 0).is_ok());
    }
    assert_eq!(Plaintext::parse(&plaintext()).unwrap().calls.count(), 5);
    let [record, server, identity, ..] = &records()[..] else {
        unreachable!("there are these");
    };
    assert!(Record::parse(record).is_ok() && ServerSecret::from_bytes(server).is_ok());
    assert!(Identity::parse(identity).is_ok());
}
