//! Fuzzing of `clew-tunnel`.

use clew_tunnel::engine::WallTime;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use clew_tunnel::boxes::Key;
use clew_tunnel::keys;
use clew_tunnel::puzzle::{Asked, PuzzleSecret, SOLUTION_BYTES, Search};
use clew_tunnel::record::{
    Cert, Identity, Record, ServerSecret, Wanted, from_dns_cert, from_dns_ecert,
};
use clew_tunnel::wire::packet::{HEADER_BYTES, Packet, Side, StaleKey, Tid};
use clew_tunnel::wire::plaintext::{Calls, Plaintext};
use clew_tunnel::wire::rpc::{Rpc, next_tid};
use clew_tunnel::wire::values::{Value, Values};
use clew_tunnel::x25519::Public;

/// The key of every box, and the secret of every puzzle.
pub const KEY: [u8; 32] = [7; 32];

/// The time at which everything is received, in milliseconds since 1970.
pub const NOW: u64 = 1_800_000_000_000;

/// What every packet is of.
pub const TID: Tid = Tid::from_random([9; 8]);

/// C' and S' of every puzzle.
pub const CLIENT: Public = Public([1; 32]);
/// As [`CLIENT`].
pub const SERVER: Public = Public([2; 32]);

/// Where every solution comes from.
pub const SOURCE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 4321);

/// A packet is read or refused; its box is opened, and what is in it read.
pub fn tunnel_packet(data: &[u8]) {
    let mut bytes = data.to_vec();
    let mut boxed = match Packet::parse(&mut bytes, 0) {
        Ok(Packet::Tunnel(_, boxed)) => boxed,
        Ok(Packet::Initiation(initiation)) => {
            assert_eq!(keys::canonical(initiation.key.0), Ok(initiation.key));
            initiation.boxed
        }
        Ok(Packet::Interrogation(asked)) => return assert_eq!(asked.to_bytes(), data),
        Ok(Packet::StaleKey(answer)) => return same_answer(&answer, data),
        Err(_) => return,
    };
    let stream = keys::stream(&Key::from_bytes(KEY), boxed.tid);
    if boxed.decrypt(&stream) {
        let text = boxed.into_text();
        assert!(text.len() + HEADER_BYTES < data.len());
        tunnel_rpc(text);
    }
}

fn same_answer(answer: &StaleKey<'_>, data: &[u8]) {
    let mut out = Vec::new();
    answer.write(&mut out);
    assert_eq!(out, data);
}

/// A plaintext: RPCs are read as they were checked, and written as they were read.
pub fn tunnel_rpc(data: &[u8]) {
    let Ok(plaintext) = Plaintext::parse(data) else {
        return;
    };
    let calls = plaintext.calls;
    let padding = &data[8 + calls.as_bytes().len()..];
    assert!(padding.iter().all(|byte| *byte == 0));
    assert_eq!(Calls::parse(calls.as_bytes()), Ok(calls));
    let mut length = 0;
    for call in calls {
        length += 4 + call.length;
        assert!(count(call.arguments) < clew_tunnel::limits::ITEMS_MAX);
        for side in [Side::Client, Side::Server] {
            if call.connection == 0
                && let Ok(rpc) = Rpc::of(&call, side)
            {
                again(&rpc, side);
            }
        }
    }
    assert_eq!(length, calls.as_bytes().len(), "no RPC is lost");
    if let Ok((urgent, counted)) = plaintext.split() {
        let parts = [urgent.as_bytes(), counted.as_bytes()].concat();
        assert_eq!(parts, calls.as_bytes());
    }
    let mut calls = calls;
    let _ = next_tid(calls.next().as_ref(), &CLIENT);
}

fn count(values: Values<'_>) -> usize {
    let inside = |value| match value {
        Value::List(values) => 1 + count(values),
        _ => 1,
    };
    values.map(inside).sum()
}

fn again(rpc: &Rpc<'_>, side: Side) {
    let mut out = Vec::new();
    rpc.write(&mut out).expect("what was read is written");
    let call = Calls::parse(&out).expect("and read").next();
    assert_eq!(Rpc::of(&call.expect("once"), side).as_ref(), Ok(rpc));
}

/// A record, an identity, a server's secret, a text: what is read is written again, and one verifies or
/// does not.
pub fn tunnel_record(data: &[u8]) {
    if let Ok(record) = Record::parse(data) {
        assert_eq!(record.to_bytes(), data);
        let wanted = Wanted {
            hostname: None,
            now: WallTime::from_millis(NOW),
            cert_lifetime_max: Duration::MAX,
        };
        let _ = wanted.verify(&record, |_: &Cert| true);
    }
    if let Ok(identity) = Identity::parse(data) {
        assert_eq!(identity.to_bytes().as_deref(), Ok(data));
    }
    if let Ok(secret) = ServerSecret::from_bytes(data) {
        assert_eq!(*secret.to_bytes(), data);
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = (from_dns_cert(text), from_dns_ecert(text));
    }
}

/// A solution, which holds only as it was made; or an interrogation, whose search ends.
pub fn tunnel_puzzle(data: &[u8]) {
    let secret = PuzzleSecret::from_bytes(KEY);
    let now = WallTime::from_millis(NOW);
    if let Ok(solution) = <&[u8; SOLUTION_BYTES]>::try_from(data) {
        let asked = Asked {
            tid: TID,
            client: &CLIENT,
            source: SOURCE,
            live: &[SERVER],
            now,
        };
        if asked.verify(solution, &[&secret]).is_ok() {
            let made = secret.interrogation((TID, &CLIENT, SOURCE), &SERVER, now, 0);
            assert_eq!(made.q[..], solution[..made.q.len()]);
        }
    }
    if let Ok(Packet::Interrogation(asked)) = Packet::parse(&mut data.to_vec(), 0)
        && let Ok(mut search) = Search::new(&asked.q, &asked.hash, asked.w, 8)
    {
        assert!(search.step(100).is_err() || search.step(u32::MAX).is_err() || asked.w <= 8);
    }
}
