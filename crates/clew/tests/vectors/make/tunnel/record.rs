//! Vectors of service records, authenticators and puzzles of tunnels.

use clew_tunnel::engine::WallTime;
use std::net::SocketAddr;

use clew_tunnel::authenticator::{self, Context};
use clew_tunnel::boxes::Key;
use clew_tunnel::keys::{self, Binder};
use clew_tunnel::puzzle::{PuzzleSecret, Solution};
use clew_tunnel::record::{Authenticators, Cert, CertBody, Ecert, EcertBody, Identity, Record, SigningSecret};
use clew_tunnel::x25519::Public;
use ed25519_dalek::{Signer, SigningKey};

use crate::case::Case;
use crate::make::damage::Damage;
use crate::make::tunnel::bytes::{FORMAT, NANOS, public, secret, tid};
use crate::make::{flat, hash};

const NOW: u64 = NANOS / 1_000_000;
const DAY: u64 = 86_400_000;
const HOST: &str = "files.example";

pub fn all() -> Vec<Case> {
    flat([records(), newer(), identities(), authenticators(), puzzles(), searches()])
}

fn seed(label: &str) -> [u8; 32] {
    hash(format!("tunnel {label}").as_bytes())
}

fn signing(label: &str) -> SigningSecret {
    SigningSecret::from_seed(&seed(label))
}

fn record() -> Record {
    let (issuer, server) = (signing("issuer"), signing("server"));
    let cert = CertBody {
        issuer: issuer.public(),
        signing: server.public(),
        boxing: public("boxing"),
        start: NOW - DAY,
        end: NOW + DAY,
        hostname: HOST.into(),
    };
    let addresses = ["192.0.2.1:4321", "[2001:db8::1]:4321"];
    let ecert = EcertBody {
        authenticators: Authenticators(3),
        w: 20,
        m: 1_024,
        signing: server.public(),
        boxing: public("boxing"),
        ephemeral: public("ephemeral"),
        start: NOW,
        end: NOW + 270_000,
        addresses: addresses.map(|a| a.parse().unwrap()).into(),
    };
    Record { cert: Cert::sign(cert, &issuer).unwrap(), ecert: Ecert::sign(ecert, &server).unwrap() }
}

/// A part once more, with bytes at a place of its body replaced, signed again.
fn again(part: &[u8], who: &str, label: &[u8; 16], at: usize, value: &[u8]) -> Vec<u8> {
    let body = part[64..].replace(at..at + value.len(), value);
    let message = [label, &body[..]].concat();
    let signature = SigningKey::from_bytes(&seed(who)).sign(&message);
    [&signature.to_bytes()[..], &body].concat()
}

fn cert(at: usize, value: &[u8]) -> Vec<u8> {
    let part = record().cert.to_bytes();
    again(&part, "issuer", b"clew-mlt-cert\0\0\0", at, value)
}

fn ecert(at: usize, value: &[u8]) -> Vec<u8> {
    let part = record().ecert.to_bytes();
    again(&part, "server", b"clew-mlt-ecert\0\0", at, value)
}

fn joined(cert: &[u8], ecert: &[u8]) -> Vec<u8> {
    let length = |part: &[u8]| (part.len() as u16).to_be_bytes();
    [&length(cert)[..], cert, &length(ecert), ecert].concat()
}

fn judged(name: &str, expect: &str, comment: &str, record: &[u8], now: u64) -> Case {
    Case::new(FORMAT, &format!("record-{name}"), expect, comment)
        .text("check", "record")
        .hex("record", record)
        .hex("issuer", signing("issuer").public())
        .text("hostname", HOST)
        .hex("now", now.to_be_bytes())
        .hex("cert-lifetime", (3 * DAY).to_be_bytes())
}

// Places in the bodies of sections 3.1 and 3.2.
const ISSUER: usize = 2;
const CERT_BOXING: usize = 66;
const CERT_START: usize = 98;
const CERT_END: usize = 106;
const CERT_HOST: usize = 115;
const BITS: usize = 2;
const W: usize = 3;
const M: usize = 4;
const BOXING: usize = 38;
const EPHEMERAL: usize = 70;
const START: usize = 102;
const END: usize = 110;
const PORT_4: usize = 124;

fn records() -> Vec<Case> {
    let good = record();
    let (c, e) = (good.cert.to_bytes(), good.ecert.to_bytes());
    let whole = joined(&c, &e);
    let of_cert = |at: usize, value: &[u8]| joined(&cert(at, value), &e);
    let of_ecert = |at: usize, value: &[u8]| joined(&c, &ecert(at, value));
    let time = |time: u64| time.to_be_bytes();
    let (high, other) = ([0xff; 32], public("other").0);
    let both = joined(&cert(CERT_BOXING, &high), &ecert(BOXING, &high));
    let mut cases = vec![
        judged("good", "valid", "As it is.", &whole, NOW),
        judged("start", "valid", "30 s before its start.", &whole, NOW - 30_000),
        judged("end", "valid", "At its end.", &whole, NOW + 270_000),
        judged("early", "not-yet-valid", "A millisecond before.", &whole, NOW - 30_001),
        judged("past", "expired", "A millisecond behind.", &whole, NOW + 270_001),
    ];
    let changed = [
        ("short", "record-length", "A byte is missing.", whole.cut(1)),
        ("long", "record-length", "A byte behind it.", whole.plus([0])),
        ("family", "record-length", "An address of family 5.", of_ecert(119, &[5])),
        ("version", "record-version", "Version 1.", of_ecert(0, &[0, 1])),
        ("issuer", "untrusted", "Another issuer.", of_cert(ISSUER, &other)),
        ("signature", "record-signature", "A bit of cert's.", joined(&c.set(9, [c[9] ^ 1]), &e)),
        ("ecert-signature", "record-signature", "A bit of ecert's.", joined(&c, &e.set(9, [e[9] ^ 1]))),
        ("keys", "record-keys", "Another boxing key.", of_ecert(BOXING, &other)),
        ("hostname", "bad-hostname", "A capital.", of_cert(CERT_HOST, b"F")),
        ("host", "wrong-host", "Of another host.", of_cert(CERT_HOST, b"g")),
        ("reserved", "reserved-bits", "Bit 2.", of_ecert(BITS, &[7])),
        ("w", "bad-limits", "w is 23.", of_ecert(W, &[23])),
        ("m", "bad-limits", "M is 1,023.", of_ecert(M, &1_023u16.to_be_bytes())),
        ("port", "bad-address", "Port 0.", of_ecert(PORT_4, &[0, 0])),
        ("multicast", "bad-address", "224.0.2.1.", of_ecert(120, &[224])),
        ("ephemeral", "bad-key", "S' is 32 ff.", of_ecert(EPHEMERAL, &high)),
        ("boxing", "bad-key", "The boxing key is 32 ff.", both),
        ("lifetime", "bad-lifetime", "A day and more.", of_ecert(END, &time(NOW + DAY + 1))),
        ("backwards", "bad-lifetime", "It ends at its start.", of_ecert(END, &time(NOW))),
        ("cert-early", "not-yet-valid", "cert starts later.", of_cert(CERT_START, &time(NOW + 30_001))),
        ("cert-past", "expired", "cert has ended.", of_cert(CERT_END, &time(NOW - 1))),
    ];
    let case = |(name, rule, comment, record): (&str, &str, &str, Vec<u8>)| judged(name, rule, comment, &record, NOW);
    cases.extend(changed.map(case));
    cases
}

fn newer() -> Vec<Case> {
    let case = |name: &str, expect: &str, comment: &str, start: u64| {
        let case = Case::new(FORMAT, &format!("newer-{name}"), expect, comment);
        case.text("check", "newer").hex("held", record().ecert.to_bytes()).hex("ecert", ecert(START, &start.to_be_bytes()))
    };
    vec![
        case("later", "valid", "It starts a millisecond later.", NOW + 1),
        case("same", "not-newer", "It is the same.", NOW),
        case("older", "not-newer", "It starts before.", NOW - 1),
    ]
}

fn identities() -> Vec<Case> {
    let case = |name: &str, expect: &str, comment: &str, identity: &[u8]| {
        let case = Case::new(FORMAT, &format!("identity-{name}"), expect, comment);
        case.text("check", "identity").hex("identity", identity)
    };
    let key = signing("server").public();
    let whole = |signing| Identity { signing, hostname: HOST }.to_bytes().unwrap();
    let long = [&whole(None)[..], &[0]].concat();
    vec![
        case("name", "valid", "A name.", &whole(None)).text("hostname", HOST),
        case("key", "valid", "And a key.", &whole(Some(key))).text("hostname", HOST),
        case("long", "bad-identity", "A byte behind it.", &long),
        case("host", "bad-identity", "A name that is none.", b"\0\x02a."),
    ]
}

fn authenticators() -> Vec<Case> {
    let (user, boxing, ephemeral) = (public("user"), public("boxing"), public("ephemeral"));
    let first = keys::shared(&secret("client"), &ephemeral).unwrap();
    let binder = Binder::new(&first, tid(), &public("client"), &ephemeral);
    let context = Context {
        binder: &binder,
        user: &user,
        boxing: &boxing,
        signing: &[6; 32],
        ephemeral: &ephemeral,
        connection: 7,
        service: "files",
    };
    let [long, short] = [&boxing, &ephemeral].map(|key| keys::dh(&secret("user"), key).unwrap());
    let made = authenticator::seal(&Key::between(&long), &boxing, [9; 24]);
    let bound = context.seal([&long, &short], [9; 24]);
    let boxed = |name: &str, expect: &str, comment: &str, user: Public, x: &[u8]| {
        Case::new(FORMAT, &format!("box-{name}"), expect, comment)
            .text("check", "box")
            .hex("boxing-secret", secret("boxing").as_bytes())
            .hex("user", user.0)
            .hex("authenticator", x)
    };
    let bounded = |name: &str, expect: &str, comment: &str, connection: u32, signing: u8| {
        Case::new(FORMAT, &format!("bound-{name}"), expect, comment)
            .text("check", "bound")
            .hex("boxing-secret", secret("boxing").as_bytes())
            .hex("ephemeral-secret", secret("ephemeral").as_bytes())
            .hex("signing-key", [signing; 32])
            .hex("binder", binder.as_bytes())
            .hex("user", user.0)
            .hex("connection", connection.to_be_bytes())
            .text("service", "files")
            .hex("authenticator", &bound)
    };
    let changed = made.set(71, [made[71] ^ 1]);
    vec![
        boxed("good", "valid", "The paper's.", user, &made),
        boxed("user", "authenticator", "Of another user.", public("other"), &made),
        boxed("changed", "authenticator", "Its last bit is another.", user, &changed),
        boxed("key", "bad-key", "A user of small order.", Public([0; 32]), &made),
        bounded("good", "valid", "As it is.", 7, 6),
        bounded("connection", "authenticator", "For another connection.", 8, 6),
        bounded("host", "authenticator", "For another host, which has the same boxing key.", 7, 5),
    ]
}

fn puzzles() -> Vec<Case> {
    let k = hash(b"tunnel puzzle");
    let secret = PuzzleSecret::from_bytes(k);
    let (client, server) = (public("client"), public("ephemeral"));
    let source: SocketAddr = "192.0.2.1:4321".parse().unwrap();
    let asked = secret.interrogation((tid(), &client, source), &server, WallTime::from_nanos(NANOS), 0);
    let solution = Solution { r: asked.q, nonce: asked.nonce }.to_bytes();
    let case = |name: &str, expect: &str, comment: &str, w: u8| {
        let made = secret.interrogation((tid(), &client, source), &server, WallTime::from_nanos(NANOS), w);
        Case::new(FORMAT, &format!("puzzle-{name}"), expect, comment)
            .text("check", "puzzle")
            .hex("secret", k)
            .hex("address", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 192, 0, 2, 1])
            .hex("tid", tid().as_bytes())
            .hex("client-key", client.0)
            .hex("ephemeral-key", server.0)
            .hex("interrogation", made.to_bytes())
    };
    let solved = |name: &str, expect: &str, comment: &str, port: u16, now: u64, bytes: &[u8]| {
        case(name, expect, comment, 0).hex("port", port.to_be_bytes()).hex("now", now.to_be_bytes()).hex("solution", bytes)
    };
    let life = 60_000_000_000;
    let zeros = solution.set(147, [1]);
    let mut all = vec![
        solved("good", "valid", "At once.", 4321, NANOS, &solution),
        solved("late", "valid", "After 60 s.", 4321, NANOS + life, &solution),
        solved("old", "old-solution", "Later.", 4321, NANOS + life + 1, &solution),
        solved("future", "old-solution", "Before it was asked.", 4321, NANOS - 1, &solution),
        solved("port", "bad-solution", "From another port.", 4322, NANOS, &solution),
        solved("zeros", "bad-solution", "A zero is not.", 4321, NANOS, &zeros),
    ];
    for w in [8, 22] {
        let case = case(&format!("{w}"), "valid", "What is sent for w bits.", w);
        let case = case.hex("port", 4321u16.to_be_bytes()).hex("now", NANOS.to_be_bytes());
        all.push(case.hex("solution", solution));
    }
    all
}

fn searches() -> Vec<Case> {
    let r: [u8; 80] = [hash(b"1"), hash(b"2"), hash(b"3")].concat()[..80].try_into().unwrap();
    let (q, digest) = clew_tunnel::puzzle::pose(&r, 6);
    let case = |name: &str, expect: &str, comment: &str, digest: &[u8], w: u32| {
        Case::new(FORMAT, &format!("search-{name}"), expect, comment)
            .text("check", "search")
            .hex("q", q)
            .hex("digest", digest)
            .hex("w", w.to_be_bytes())
    };
    let other = digest.set(0, [digest[0] ^ 1]);
    vec![
        case("good", "valid", "It is found.", &digest, 6).hex("r", r),
        case("none", "unsolvable", "A bit of the hash is another.", &other, 6),
        case("hard", "too-hard", "23 bits.", &digest, 23),
    ]
}
