//! The bytes of tunnels.

use clew_tunnel::engine::WallTime;
use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

use clew_tunnel::Reason;
use clew_tunnel::authenticator::{self, Context};
use clew_tunnel::boxes::Key;
use clew_tunnel::keys::{self, Binder, Nonce};
use clew_tunnel::puzzle::{Asked, Progress, PuzzleSecret, Search};
use clew_tunnel::record::{Ecert, Identity, Record, Wanted};
use clew_tunnel::wire::packet::{Packet, Side, Tid};
use clew_tunnel::wire::plaintext::{Calls, Plaintext};
use clew_tunnel::wire::rpc::{Rpc, next_tid};
use clew_tunnel::x25519::{Public, Secret};

use super::{Check, Stop, check_all, holds};
use crate::case::Case;

/// What formats and runs decide. There is no file of its own for what comes of a program or of bounds alone.
pub const RULES: &str = "valid bad-length bad-flags bad-size bad-time old-solution bad-box bad-first \
    key-mismatch bad-tid bad-key bad-solution truncated unknown-type too-long bad-utf8 too-deep \
    too-many-values not-a-call too-many-rpcs bad-padding order bad-arguments wrong-side unknown-rpc \
    authenticator bad-identity record-length record-version untrusted record-signature record-keys \
    bad-hostname wrong-host reserved-bits bad-limits bad-address bad-lifetime not-yet-valid expired \
    not-newer unsolvable too-hard ahead bad-ack bad-connection closed-connection duplicate-nonce \
    duplicate-seq misplaced old-window over-window puzzle-asked replayed too-many-answers \
    too-many-moves too-many-puzzles too-many-rekeys unexpected-answer unknown-connection unknown-tid";

const CHECKS: [(&str, Check); 15] = [
    ("plaintext", plaintext),
    ("rpc", rpc),
    ("first", first),
    ("order", order),
    ("packet", packet),
    ("time", time),
    ("keys", all_keys),
    ("record", record),
    ("newer", newer),
    ("identity", identity),
    ("box", boxed),
    ("bound", bound),
    ("puzzle", puzzle),
    ("search", search),
    ("run", super::tunnel_run::run),
];

impl From<Reason> for Stop {
    fn from(reason: Reason) -> Self {
        Self::Rule(reason.as_str())
    }
}

pub fn judge(case: &Case) -> Result<(), Stop> {
    let wanted = case.word("check")?;
    let check = CHECKS.iter().find(|(name, _)| *name == wanted);
    check.ok_or(Stop::Wrong("no such check".to_owned()))?.1(case)
}

fn plaintext(case: &Case) -> Result<(), Stop> {
    let plain = Plaintext::parse(case.bytes("plaintext")?)?;
    holds((plain.seq, plain.ack) == (256, 0), "seq and ack")?;
    let lengths = plain.calls.map(|call| (call.length as u32).to_be_bytes());
    check_all(case, "value-length", lengths)
}

fn rpc(case: &Case) -> Result<(), Stop> {
    let from = match case.word("from")? {
        "client" => Side::Client,
        _ => Side::Server,
    };
    let bytes = case.bytes("rpc")?;
    let call = Calls::parse(bytes)?.next();
    let call = call.ok_or(Stop::Wrong("no RPC".to_owned()))?;
    let rpc = Rpc::of(&call, from)?;
    let mut out = Vec::new();
    rpc.write(&mut out)?;
    holds(out == bytes, "the same again")
}

fn key(case: &Case, name: &str) -> Result<Public, Stop> {
    Ok(Public(case.array(name)?))
}

fn secret(case: &Case, name: &str) -> Result<Secret, Stop> {
    Ok(Secret::from_bytes(case.array(name)?))
}

fn tid(case: &Case) -> Result<Tid, Stop> {
    Tid::new(case.array("tid")?).ok_or(Stop::Wrong("a TID with flags".to_owned()))
}

fn first(case: &Case) -> Result<(), Stop> {
    let mut plain = Plaintext::parse(case.bytes("plaintext")?)?;
    let next = next_tid(plain.calls.next().as_ref(), &key(case, "client-key")?)?;
    case.check("next-tid", next.as_bytes())
}

fn order(case: &Case) -> Result<(), Stop> {
    let (_, counted) = Plaintext::parse(case.bytes("plaintext")?)?.split()?;
    case.check("in-sequence", counted.as_bytes())
}

fn packet(case: &Case) -> Result<(), Stop> {
    let mut bytes = case.bytes("packet")?.to_vec();
    let k = Key::from_bytes(case.array("key")?);
    let m = u16::from_be_bytes(case.array("m")?);
    let (kind, mut boxed) = match Packet::parse(&mut bytes, m)? {
        Packet::Tunnel(Side::Client, boxed) => ("client", boxed),
        Packet::Tunnel(Side::Server, boxed) => ("server", boxed),
        Packet::Initiation(initiation) => ("initiation", initiation.boxed),
        Packet::Interrogation(_) => return case.check("kind", "interrogation"),
        Packet::StaleKey(_) => return case.check("kind", "stale-key"),
    };
    if !boxed.decrypt(&keys::stream(&k, boxed.tid)) {
        return Err(Reason::BadBox.into());
    }
    case.check("kind", kind)?;
    case.check("plaintext", boxed.into_text())
}

fn time(case: &Case) -> Result<(), Stop> {
    let nonce = Nonce::from_bytes(case.array("nonce")?);
    Ok(nonce.check_time(WallTime::from_nanos(case.u64("now")?))?)
}

fn all_keys(case: &Case) -> Result<(), Stop> {
    let (client, own) = (key(case, "client-key")?, secret(case, "client-secret")?);
    holds(keys::public(&own) == client, "the client's keys")?;
    let server = keys::canonical(case.array("ephemeral-key")?)?;
    let first = keys::shared(&own, &server)?;
    let second = keys::next(&first);
    case.check("key-0", first.to_bytes())?;
    case.check("key-1", second.to_bytes())?;
    case.check("key-2", keys::next(&second).to_bytes())?;
    let tid = tid(case)?;
    let binder = Binder::new(&first, tid, &client, &server);
    case.check("binder", binder.as_bytes())?;
    let nonce = Nonce::from_bytes(case.array("nonce")?);
    case.check("full-nonce", keys::full_nonce(tid, nonce))
}

fn record(case: &Case) -> Result<(), Stop> {
    let bytes = case.bytes("record")?;
    let issuer: [u8; 32] = case.array("issuer")?;
    let wanted = Wanted {
        hostname: Some(case.word("hostname")?),
        now: WallTime::from_millis(case.u64("now")?),
        cert_lifetime_max: Duration::from_millis(case.u64("cert-lifetime")?),
    };
    let record = Record::parse(bytes)?;
    wanted.verify(&record, |cert| cert.body.issuer == issuer)?;
    holds(record.to_bytes() == bytes, "the same again")
}

fn newer(case: &Case) -> Result<(), Stop> {
    let held = Ecert::parse(case.bytes("held")?)?;
    Ok(Ecert::parse(case.bytes("ecert")?)?.check_newer(&held)?)
}

fn identity(case: &Case) -> Result<(), Stop> {
    let identity = Identity::parse(case.bytes("identity")?)?;
    case.check("hostname", identity.hostname)
}

fn boxed(case: &Case) -> Result<(), Stop> {
    let boxing = secret(case, "boxing-secret")?;
    let public = keys::public(&boxing);
    let shared = keys::shared(&boxing, &keys::canonical(key(case, "user")?.0)?)?;
    Ok(authenticator::check(&shared, &public, &case.array("authenticator")?)?)
}

fn bound(case: &Case) -> Result<(), Stop> {
    let (boxing, ephemeral) = (secret(case, "boxing-secret")?, secret(case, "ephemeral-secret")?);
    let context = Context {
        binder: &Binder::from_bytes(case.array("binder")?),
        user: &key(case, "user")?,
        boxing: &keys::public(&boxing),
        signing: &case.array("signing-key")?,
        ephemeral: &keys::public(&ephemeral),
        connection: case.u32("connection")?,
        service: case.word("service")?,
    };
    let user = keys::canonical(context.user.0)?;
    let (long, short) = (keys::dh(&boxing, &user)?, keys::dh(&ephemeral, &user)?);
    Ok(context.check([&long, &short], case.bytes("authenticator")?)?)
}

fn puzzle(case: &Case) -> Result<(), Stop> {
    let k = PuzzleSecret::from_bytes(case.array("secret")?);
    let address = Ipv6Addr::from(case.array::<16>("address")?).to_canonical();
    let port = u16::from_be_bytes(case.array("port")?);
    let (tid, client) = (tid(case)?, key(case, "client-key")?);
    let (server, source) = (key(case, "ephemeral-key")?, SocketAddr::new(address, port));
    let now = WallTime::from_nanos(case.u64("now")?);
    let asked = Asked { tid, client: &client, source, live: &[server], now };
    asked.verify(&case.array("solution")?, &[&k])?;
    let bytes = case.bytes("interrogation")?;
    let Packet::Interrogation(sent) = Packet::parse(&mut bytes.to_vec(), 0)? else {
        return Err(Stop::Wrong("no interrogation".to_owned()));
    };
    let time = WallTime::from_nanos(sent.nonce.t());
    let made = k.interrogation((tid, &client, source), &server, time, sent.w as u8);
    holds(made == sent, "the interrogation")
}

fn search(case: &Case) -> Result<(), Stop> {
    let (q, digest) = (case.array("q")?, case.array("digest")?);
    let mut search = Search::new(&q, &digest, case.u32("w")?, 22)?;
    loop {
        if let Progress::Found(r) = search.step(1_000)? {
            return case.check("r", r);
        }
    }
}
