//! The RPCs of connection 0: `spec/tunnel.md` section 11.

use clew_tunnel::Reason;
use clew_tunnel::wire::packet::Side;
use clew_tunnel::wire::plaintext::Calls;
use clew_tunnel::wire::rpc::{Rpc, next_tid};
use clew_tunnel::wire::values::{CallWriter, Value};
use clew_tunnel::x25519::Public;

const SERVICE: &str = "files";
const KEY: Public = Public([3; 32]);

/// Each RPC of the table, with its bytes there: y is 5, h is 11, of one IPv4 address 7.
fn table() -> Vec<(Rpc<'static>, usize)> {
    let connection = 9;
    vec![
        (
            Rpc::NextTid {
                tid: [1; 8],
                key: KEY,
            },
            60,
        ),
        (Rpc::RekeyNow, 17),
        (
            Rpc::Create {
                connection,
                service: SERVICE,
            },
            23 + 5,
        ),
        (
            Rpc::CreateAuth {
                connection,
                service: SERVICE,
                user: KEY,
                authenticator: &[4; 72],
            },
            137 + 5,
        ),
        (
            Rpc::CreateAuthBound {
                connection,
                service: SERVICE,
                user: KEY,
                ephemeral: KEY,
                authenticator: &[4; 49],
            },
            149 + 2 * 5,
        ),
        (Rpc::Ack { connection }, 17),
        (Rpc::Refuse { connection }, 20),
        (Rpc::Close { connection }, 19),
        (
            Rpc::WindowSize {
                connection,
                bytes: 1 << 20,
            },
            29,
        ),
        (
            Rpc::Puzz {
                q: &[5; 80],
                hash: &[6; 64],
                w: 8,
                nonce: [7; 8],
            },
            179,
        ),
        (
            Rpc::PuzzSoln {
                r: &[5; 80],
                nonce: [7; 8],
            },
            111,
        ),
        (
            Rpc::RequestCert {
                identity: &[8; 2 + 11],
            },
            25 + 11,
        ),
        (
            Rpc::RequestCert {
                identity: &[8; 34 + 11],
            },
            57 + 11,
        ),
        (
            Rpc::GiveCert {
                cert: &[9; 179 + 11],
                ecert: &[9; 183 + 7],
            },
            385 + 11 + 7,
        ),
        (Rpc::Ok, 11),
    ]
}

fn written(rpc: &Rpc<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    rpc.write(&mut out).unwrap();
    out
}

fn read(bytes: &[u8], from: Side) -> Result<Rpc<'_>, Reason> {
    Rpc::of(&Calls::parse(bytes).unwrap().next().unwrap(), from)
}

#[test]
fn each_has_the_bytes_of_the_table_and_is_read_again() {
    for (rpc, bytes) in table() {
        let out = written(&rpc);
        assert_eq!(out.len(), bytes, "{}", rpc.name());
        for from in [Side::Client, Side::Server] {
            let right = rpc.side().is_none_or(|side| side == from);
            let expected = if right {
                Ok(rpc)
            } else {
                Err(Reason::WrongSide)
            };
            assert_eq!(read(&out, from), expected, "{}", rpc.name());
        }
    }
}

/// The RPC once more with its arguments changed: one too few, one too many, each of another type and each
/// of another length.
fn changed(rpc: &Rpc<'_>) -> Vec<Vec<u8>> {
    let out = written(rpc);
    let arguments: Vec<_> = Calls::parse(&out)
        .unwrap()
        .next()
        .unwrap()
        .arguments
        .collect();
    let with = |all: &[Value<'_>]| {
        let mut out = Vec::new();
        let call = CallWriter::new(&mut out, 0, rpc.name());
        let call = all.iter().fold(call, |call, value| match *value {
            Value::Number(number) => call.number(number),
            Value::Long(long) => call.long(long),
            Value::Text(text) => call.text(text),
            Value::Bytes(bytes) => call.bytes(bytes),
            Value::List(_) => call.list().end_list(),
        });
        call.end().unwrap();
        out
    };
    let mut all = vec![with(&[&arguments[..], &[Value::Number(0)]].concat())];
    for i in 0..arguments.len() {
        let mut others = arguments.clone();
        others.remove(i);
        all.push(with(&others));
        others.insert(i, Value::List(Default::default()));
        all.push(with(&others));
        let free = matches!(rpc, Rpc::RequestCert { .. } | Rpc::GiveCert { .. });
        if let (Value::Bytes(bytes), false) = (arguments[i], free) {
            others[i] = Value::Bytes(&bytes[1..]);
            all.push(with(&others));
        }
    }
    all
}

#[test]
fn other_arguments_are_refused() {
    for (rpc, _) in table() {
        let from = rpc.side().unwrap_or(Side::Client);
        for bytes in changed(&rpc) {
            assert_eq!(
                read(&bytes, from),
                Err(Reason::BadArguments),
                "{}",
                rpc.name()
            );
        }
    }
}

#[test]
fn unknown_and_reserved_names() {
    let call = |name: &str, number: bool| {
        let mut out = Vec::new();
        let call = CallWriter::new(&mut out, 0, name);
        let call = if number {
            call.number(4)
        } else {
            call.text("4")
        };
        call.bytes(b"whatever").end().unwrap();
        out
    };
    assert_eq!(
        read(&call("fly", true), Side::Client),
        Err(Reason::UnknownRpc)
    );
    let reserved = call("createAuthGroup", true);
    assert_eq!(
        read(&reserved, Side::Client),
        Ok(Rpc::CreateAuthGroup { connection: 4 })
    );
    assert_eq!(read(&reserved, Side::Server), Err(Reason::UnknownRpc));
    let other = call("createAuthGroup", false);
    assert_eq!(read(&other, Side::Client), Err(Reason::UnknownRpc));
}

#[test]
fn names_of_services_that_do_not_fit_are_not_written() {
    let service = "x".repeat(513);
    let rpc = Rpc::Create {
        connection: 1,
        service: &service,
    };
    assert_eq!(rpc.write(&mut Vec::new()), Err(Reason::TooLong));
}

#[test]
fn initiation_packets_begin_with_next_tid() {
    let first = |rpc: &Rpc<'_>, header: Public| {
        let out = written(rpc);
        next_tid(Calls::parse(&out).unwrap().next().as_ref(), &header)
    };
    let good = Rpc::NextTid {
        tid: [1; 8],
        key: KEY,
    };
    assert_eq!(first(&good, KEY).unwrap().as_bytes(), &[1; 8]);
    assert_eq!(first(&good, Public([4; 32])), Err(Reason::KeyMismatch));
    let flags = Rpc::NextTid {
        tid: [0x41; 8],
        key: KEY,
    };
    assert_eq!(first(&flags, KEY), Err(Reason::BadTid));
    assert_eq!(
        first(&Rpc::Close { connection: 0 }, KEY),
        Err(Reason::BadFirst)
    );
    assert_eq!(next_tid(None, &KEY), Err(Reason::BadFirst));
}
