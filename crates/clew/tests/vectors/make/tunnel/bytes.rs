//! Vectors of the bytes of tunnels: values, RPCs, packets, keys.

use clew_tunnel::boxes::Key;
use clew_tunnel::keys::{self, Binder, Nonce};
use clew_tunnel::wire::packet::{Header, Side, StaleKey, Tid};
use clew_tunnel::wire::rpc::Rpc;
use clew_tunnel::x25519::{Public, Secret};

use crate::case::Case;
use crate::make::damage::Damage;
use crate::make::{flat, hash};

pub const FORMAT: &str = "tunnel";

/// The time of all packets, in nanoseconds since 1970.
pub const NANOS: u64 = 1_800_000_000_000_000_000;

pub fn all() -> Vec<Case> {
    flat([values(), calls(), controls(), packets(), times(), keys()])
}

pub fn secret(label: &str) -> Secret {
    Secret::from_bytes(hash(format!("tunnel {label}").as_bytes()))
}

pub fn public(label: &str) -> Public {
    keys::public(&secret(label))
}

pub fn tid() -> Tid {
    let [.., a, b, c, d, e, f, g, h] = hash(b"tunnel tid");
    Tid::from_random([a, b, c, d, e, f, g, h])
}

fn k() -> Key {
    keys::shared(&secret("client"), &public("ephemeral")).unwrap()
}

/// seq 256, ack 0, and then these bytes.
fn plaintext(rpcs: &[u8]) -> Vec<u8> {
    [&[0, 0, 1, 0, 0, 0, 0, 0][..], rpcs].concat()
}

/// An RPC `x` of connection 7 with these values behind its name.
fn named(values: &[u8]) -> Vec<u8> {
    [b"\0\0\0\x07ls\0\x01x", values, b"e"].concat()
}

fn parsed(name: &str, expect: &str, comment: &str, rpcs: &[u8], lengths: &[u32]) -> Case {
    let case = Case::new(FORMAT, name, expect, comment).text("check", "plaintext").hex("plaintext", plaintext(rpcs));
    case.each("value-length", lengths.iter().map(|length| length.to_be_bytes()))
}

fn values() -> Vec<Case> {
    let number = b"d\0\0\0\x01";
    let text = |n: u16| [b"s", &n.to_be_bytes()[..], &vec![b't'; n.into()]].concat();
    let with = |n: usize| named(&number.repeat(n));
    let each = b"d\xff\xff\xff\xffq12345678s\0\x02\xc3\xa9b\0\x02\0\xffles\0\0b\0\0";
    let good = |name: &str, comment: &str, rpcs: &[u8], lengths: &[u32]| {
        parsed(&format!("values-{name}"), "valid", comment, rpcs, lengths)
    };
    let bad = |name: &str, rule: &str, comment: &str, rpcs: &[u8]| parsed(&format!("values-{name}"), rule, comment, rpcs, &[]);
    let longest = [&b"\0\0\0\x07l"[..], &text(65), b"e"].concat();
    let padded = |zeros: usize| [named(b""), vec![0; zeros]].concat();
    vec![
        good("each-type", "Each type, empty ones too.", &named(each), &[38]),
        good("text-512", "The longest text.", &named(&text(512)), &[521]),
        bad("text-513", "too-long", "A text of 513 bytes.", &named(&text(513))),
        good("depth-4", "Lists in lists.", &named(b"llleee"), &[12]),
        bad("depth-5", "too-deep", "One list more.", &named(b"lllleeee")),
        good("items-256", "256 values with the name.", &with(255), &[1_281]),
        bad("items-257", "too-many-values", "One more.", &with(256)),
        bad("type", "unknown-type", "A value of type z.", &named(b"z")),
        bad("utf8", "bad-utf8", "A text of the byte ff.", &named(b"s\0\x01\xff")),
        bad("cut", "truncated", "The list does not end.", &named(b"l")),
        bad("number", "not-a-call", "A number is no RPC.", b"\0\0\0\x07d\0\0\0\0"),
        bad("nameless", "not-a-call", "An empty list.", b"\0\0\0\x07le"),
        bad("name-65", "not-a-call", "A name of 65 bytes.", &longest),
        good("rpcs-64", "64 RPCs.", &named(b"").repeat(64), &[6; 64]),
        bad("rpcs-65", "too-many-rpcs", "65 RPCs.", &named(b"").repeat(65)),
        good("padding-0", "No padding.", &padded(0), &[6]),
        good("padding-4", "Less than an RPC.", &padded(4), &[6]),
        good("padding-5", "As much as an RPC has at least.", &padded(5), &[6]),
        good("padding-only", "No RPC.", &[0; 32], &[]),
        bad("padding", "bad-padding", "Not zero.", &[named(b""), vec![0, 0, 1]].concat()),
    ]
}

fn written(rpc: &Rpc<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    rpc.write(&mut out).unwrap();
    out
}

/// Each RPC of the table.
fn rpcs() -> Vec<Rpc<'static>> {
    let (key, connection, service) = (public("client"), 9, "files");
    let tid = *tid().as_bytes();
    vec![
        Rpc::NextTid { tid, key },
        Rpc::RekeyNow,
        Rpc::Create { connection, service },
        Rpc::CreateAuth { connection, service, user: key, authenticator: &[4; 72] },
        Rpc::CreateAuthBound { connection, service, user: key, ephemeral: key, authenticator: &[4; 49] },
        Rpc::CreateAuthGroup { connection },
        Rpc::Ack { connection },
        Rpc::Refuse { connection },
        Rpc::Close { connection },
        Rpc::WindowSize { connection, bytes: 1 << 20 },
        Rpc::Puzz { q: &[5; 80], hash: &[6; 64], w: 8, nonce: [7; 8] },
        Rpc::PuzzSoln { r: &[5; 80], nonce: [7; 8] },
        Rpc::RequestCert { identity: b"\0\x0dfiles.example" },
        Rpc::GiveCert { cert: &[9; 192], ecert: &[9; 190] },
        Rpc::Ok,
    ]
}

fn calls() -> Vec<Case> {
    let case = |name: &str, expect: &str, comment: &str, from: Side, rpc: &[u8]| {
        let from = if from == Side::Client { "client" } else { "server" };
        let case = Case::new(FORMAT, &format!("rpc-{name}"), expect, comment);
        case.text("check", "rpc").text("from", from).hex("rpc", rpc)
    };
    let mut all = Vec::new();
    for rpc in rpcs() {
        let (name, bytes) = (rpc.name(), written(&rpc));
        let side = rpc.side().unwrap_or(Side::Client);
        let good = case(name, "valid", &format!("A {name} as it is."), side, &bytes);
        all.push(good);
        if rpc == (Rpc::CreateAuthGroup { connection: 9 }) {
            continue;
        }
        let more = bytes.cut(1).plus(b"d\0\0\0\0e");
        let comment = format!("A {name} with one argument too many.");
        all.push(case(&format!("{name}-more"), "bad-arguments", &comment, side, &more));
        // Nothing but the name: 4 for the connection, 4 for the types and the length.
        if bytes.len() > 9 + name.len() {
            let less = [&bytes[..8 + name.len()], b"e"].concat();
            let comment = format!("A {name} without arguments.");
            all.push(case(&format!("{name}-none"), "bad-arguments", &comment, side, &less));
        }
    }
    let create = written(&rpcs()[2]);
    let wrong = "The server creates a connection.";
    all.push(case("wrong-side", "wrong-side", wrong, Side::Server, &create));
    let other = create.set(8, b"Create");
    all.push(case("unknown", "unknown-rpc", "A name that nobody knows.", Side::Client, &other));
    all
}

fn controls() -> Vec<Case> {
    let first = |name: &str, expect: &str, comment: &str, rpcs: &[u8]| {
        let case = Case::new(FORMAT, &format!("first-{name}"), expect, comment);
        case.text("check", "first").hex("plaintext", plaintext(rpcs)).hex("client-key", public("client").0)
    };
    let next = |tid: [u8; 8], key| written(&Rpc::NextTid { tid, key });
    let good = next(*tid().as_bytes(), public("client"));
    let ok = written(&Rpc::RekeyNow);
    let twin = next(*tid().as_bytes(), public("other"));
    let order = |name: &str, expect: &str, comment: &str, seq: u32, rpcs: &[u8]| {
        let case = Case::new(FORMAT, &format!("order-{name}"), expect, comment);
        let plaintext = plaintext(rpcs).replace(..4, seq.to_be_bytes());
        case.text("check", "order").hex("plaintext", plaintext)
    };
    let both = [&good[..], &ok].concat();
    vec![
        first("good", "valid", "nextTid.", &good).hex("next-tid", tid().as_bytes()),
        first("none", "bad-first", "Padding alone.", &[0; 8]),
        first("other", "bad-first", "Another RPC stands first.", &[&ok[..], &good].concat()),
        first("key", "key-mismatch", "Another C' than in the header.", &twin),
        first("flags", "bad-tid", "A TID with a flag.", &next([0x80; 8], public("client"))),
        order("good", "valid", "nextTid, and one in sequence.", 256, &both).hex("in-sequence", &ok),
        order("behind", "order", "nextTid is second.", 256, &[&ok[..], &good].concat()),
        order("bare", "order", "One in sequence under seq 0.", 0, &ok),
        order("none", "order", "None in sequence under seq 256.", 256, &good),
    ]
}

fn sealed(side: Side, key: Option<Public>, length: usize) -> Vec<u8> {
    let header = Header { tid: tid(), nonce: Nonce::new(NANOS, side), initiation: key.map(|key| (key, None)) };
    let (mut out, stream) = (Vec::new(), keys::stream(&k(), tid()));
    let rpcs = named(b"d\0\0\0\x01");
    header.seal((256, 9), &rpcs, length, &stream, &mut out).unwrap();
    out
}

fn packets() -> Vec<Case> {
    let case = |name: &str, expect: &str, comment: &str, packet: &[u8]| {
        let case = Case::new(FORMAT, &format!("packet-{name}"), expect, comment);
        case.text("check", "packet").hex("m", 1_024u16.to_be_bytes()).hex("key", k().to_bytes()).hex("packet", packet)
    };
    let text = |length: usize| {
        let mut text = [&[0, 0, 1, 0, 0, 0, 0, 9][..], &named(b"d\0\0\0\x01")].concat();
        text.resize(length, 0);
        text
    };
    let good = |name: &str, kind: &str, comment: &str, packet: &[u8], length: usize| {
        case(name, "valid", comment, packet).text("kind", kind).hex("plaintext", text(length))
    };
    let client = sealed(Side::Client, None, 0);
    let server = sealed(Side::Server, None, 256);
    let first = sealed(Side::Client, Some(public("client")), 1_024);
    let flagged = |packet: &[u8], flags: u8| packet.set(0, [packet[0] & 0x3f | flags]);
    let mut stale = Vec::new();
    let nonce = Nonce::new(NANOS, Side::Server);
    StaleKey { tid: tid(), nonce, ecert: &[1; 209] }.write(&mut stale);
    let changed = client.set(40, [client[40] ^ 1]);
    let high = first.set(16, [0xff; 32]);
    vec![
        good("client", "client", "A client's packet.", &client, 23),
        good("answer", "server", "A server's first packet.", &server, 224),
        good("first", "initiation", "An initiation packet.", &first, 960),
        case("stale", "valid", "A stale-key answer.", &stale).text("kind", "stale-key"),
        case("short", "bad-length", "39 bytes.", &client[..39]),
        case("stale-short", "bad-length", "An ecert of 189 bytes.", &stale[..205]),
        case("flags", "bad-flags", "A client's interrogation.", &flagged(&client, 0x40)),
        case("size", "bad-size", "1,023 bytes.", &first[..1_023]),
        case("key", "bad-key", "A C' of 32 ff.", &high),
        case("box", "bad-box", "A bit of the box is another.", &changed),
    ]
}

fn times() -> Vec<Case> {
    let window = 30_000_000_000;
    let case = |name: &str, expect: &str, comment: &str, now: u64| {
        let case = Case::new(FORMAT, &format!("time-{name}"), expect, comment);
        let nonce = Nonce::new(NANOS, Side::Client);
        case.text("check", "time").hex("nonce", nonce.to_bytes()).hex("now", now.to_be_bytes())
    };
    vec![
        case("early", "valid", "30 s before the server's time.", NANOS + window),
        case("late", "valid", "30 s behind it.", NANOS - window),
        case("too-early", "bad-time", "A nanosecond more.", NANOS + window + 1),
        case("too-late", "bad-time", "A nanosecond more.", NANOS - window - 1),
    ]
}

fn keys() -> Vec<Case> {
    let first = k();
    let second = keys::next(&first);
    let (client, server) = (public("client"), public("ephemeral"));
    let binder = Binder::new(&first, tid(), &client, &server);
    let nonce = Nonce::new(NANOS, Side::Client);
    let good = Case::new(FORMAT, "keys-good", "valid", "All keys of a tunnel.")
        .text("check", "keys")
        .hex("client-secret", secret("client").as_bytes())
        .hex("client-key", client.0)
        .hex("ephemeral-key", server.0)
        .hex("tid", tid().as_bytes())
        .hex("key-0", first.to_bytes())
        .hex("key-1", second.to_bytes())
        .hex("key-2", keys::next(&second).to_bytes())
        .hex("binder", binder.as_bytes())
        .hex("nonce", nonce.to_bytes())
        .hex("full-nonce", keys::full_nonce(tid(), nonce));
    let bad = |name: &str, comment: &str, key: [u8; 32]| {
        let case = Case::new(FORMAT, &format!("keys-{name}"), "bad-key", comment);
        let case = case.text("check", "keys").hex("client-key", client.0);
        let secret = secret("client");
        case.hex("client-secret", secret.as_bytes()).hex("ephemeral-key", key)
    };
    let mut prime = [0xff; 32];
    (prime[0], prime[31]) = (0xed, 0x7f);
    let high = server.0.set(31, [server.0[31] | 0x80]).try_into().unwrap();
    vec![good, bad("zero", "Of small order.", [0; 32]), bad("prime", "2^255 - 19.", prime), bad("high", "Bit 255 is set.", high)]
}
