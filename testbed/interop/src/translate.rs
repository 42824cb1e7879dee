//! RPCs from one dialect to the other. All that is not named here goes through byte for byte.

use std::collections::HashMap;

use clew_tunnel::limits::{CREDIT, W_MAX};
use clew_tunnel::puzzle::{Progress, R_BYTES, Search};
use clew_tunnel::record::Record;
use clew_tunnel::wire::packet::{Side, Tid};
use clew_tunnel::wire::plaintext::Calls;
use clew_tunnel::wire::rpc::Rpc;
use clew_tunnel::wire::values::{Call, CallWriter, Value};
use clew_tunnel::x25519::Public;
use sha2::{Digest as _, Sha256, Sha512};

use crate::peer_cert::Book;

/// An RPC that both pass over: for packets that have to be counted, and have nothing else that the other side
/// would understand.
pub const NOTHING: &str = "interop";

/// The peer counts RPCs where we count bytes: one of its is as long as a packet at most.
const RPC_MAX: u32 = 1_472;
/// Bytes for each RPC that the peer grants, so that its first 16 are our CREDIT.
const UNIT: u32 = 1_024;
/// The peer's receive window, in RPCs.
const PEER_WINDOW: u32 = CREDIT / UNIT;

/// What was sent and granted on a connection.
#[derive(Debug)]
struct Counts {
    /// Bytes of our engine that the peer acknowledged.
    acked: u32,
    /// Bytes granted to our engine, and what it was told of it.
    told: u32,
    /// The peer's last windowSize.
    window: u32,
    /// Bytes that the peer sent.
    sent: u32,
}

/// Windows of all connections of a tunnel.
#[derive(Debug, Default)]
pub struct Flow(HashMap<u32, Counts>);

impl Flow {
    fn of(&mut self, connection: u32) -> &mut Counts {
        self.0.entry(connection).or_insert(Counts {
            acked: 0,
            told: CREDIT,
            window: PEER_WINDOW,
            sent: 0,
        })
    }

    pub fn peer_sent(&mut self, bytes: &[(u32, u32)]) {
        for (connection, length) in bytes {
            self.of(*connection).sent += length;
        }
    }

    /// What the peer acknowledged leaves its window, which it does not say.
    pub fn peer_acked(&mut self, bytes: &[(u32, u32)]) {
        for (connection, length) in bytes {
            self.of(*connection).acked += length;
        }
    }

    fn granted(&mut self, connection: u32) -> u32 {
        let counts = self.of(connection);
        counts.told = counts.told.max(counts.acked + counts.window * UNIT);
        counts.told
    }

    /// windowSize for each connection for which there is a good deal more than our engine knows of.
    pub fn due(&mut self) -> Vec<(u32, u32)> {
        let is_due =
            |counts: &Counts| counts.acked + counts.window * UNIT >= counts.told + CREDIT / 4;
        let due = self.0.iter().filter(|(_, counts)| is_due(counts));
        let due: Vec<u32> = due.map(|(connection, _)| *connection).collect();
        due.into_iter()
            .map(|connection| (connection, self.granted(connection)))
            .collect()
    }
}

/// One packet's RPCs in the other dialect.
#[derive(Debug, Default)]
pub struct Translated {
    /// Out of sequence with us; in packets of their own with the peer.
    pub urgent: Vec<u8>,
    pub in_sequence: Vec<u8>,
    pub bytes: Vec<(u32, u32)>,
    /// The nextTid that stood in it.
    pub next: Option<(Tid, Public)>,
    /// Our side ends the tunnel, which the peer cannot be told.
    pub is_end: bool,
    /// Names, for the record.
    pub names: Vec<String>,
}

/// What both directions need.
pub struct Translator<'a> {
    pub flow: &'a mut Flow,
    pub book: &'a Book,
    /// Milliseconds since 1970.
    pub now: u64,
    /// Our engine's side.
    pub ours: Side,
}

impl Translator<'_> {
    /// What the peer sent, for our engine.
    pub fn for_engine(&mut self, calls: Calls<'_>) -> Result<Translated, String> {
        let mut out = Translated::default();
        each(calls, |call, raw| {
            out.note(call);
            let peers = match self.ours {
                Side::Client => Side::Server,
                Side::Server => Side::Client,
            };
            match (call.connection, call.name) {
                (0, "puzz") => posed_by_peer(call)?.write(&mut out.urgent),
                (0, "giveCert") => {
                    let (cert, ecert) = two(call)?;
                    let record = self.book.to_ours(cert, ecert, self.now)?;
                    give(
                        &record.cert.to_bytes(),
                        &record.ecert.to_bytes(),
                        &mut out.in_sequence,
                    )
                }
                (0, _) => {
                    match Rpc::of(call, peers).map_err(|e| format!("{}: {e:?}", call.name))? {
                        Rpc::NextTid { tid, key } => {
                            out.next = Some((Tid::new(tid).ok_or("a TID with flags")?, key));
                            return Ok(());
                        }
                        rpc @ Rpc::PuzzSoln { .. } => rpc.write(&mut out.urgent),
                        Rpc::WindowSize { connection, bytes } => {
                            self.flow.of(connection).window = bytes;
                            let bytes = self.flow.granted(connection);
                            Rpc::WindowSize { connection, bytes }.write(&mut out.in_sequence)
                        }
                        _ => copy(raw, &mut out.in_sequence),
                    }
                }
                _ => {
                    out.bytes.push((call.connection, call.length as u32));
                    copy(raw, &mut out.in_sequence)
                }
            }
            .map_err(|e| format!("{}: {e:?}", call.name))
        })?;
        self.flow.peer_sent(&out.bytes);
        out.fill()
    }

    /// What our engine sent, for the peer.
    pub fn for_peer(&mut self, calls: Calls<'_>) -> Result<Translated, String> {
        let mut out = Translated::default();
        each(calls, |call, raw| {
            out.note(call);
            if call.connection != 0 {
                out.bytes.push((call.connection, call.length as u32));
                out.in_sequence.extend_from_slice(raw);
                return Ok(());
            }
            let rpc = Rpc::of(call, self.ours).map_err(|e| format!("{}: {e:?}", call.name))?;
            match rpc {
                Rpc::NextTid { tid, key } => {
                    out.next = Some((Tid::new(tid).ok_or("a TID with flags")?, key));
                }
                Rpc::CreateAuthBound { .. } => return Err("the peer has no createAuthBound".into()),
                Rpc::Close { connection: 0 } => out.is_end = true,
                // To the peer it would be its control connection.
                Rpc::Refuse { connection: 0 } => {}
                Rpc::WindowSize { connection, bytes } => {
                    let left = bytes.wrapping_sub(self.flow.of(connection).sent);
                    let call =
                        CallWriter::new(&mut out.in_sequence, 0, call.name).number(connection);
                    call.number(left / RPC_MAX)
                        .end()
                        .map_err(|e| format!("{e:?}"))?;
                }
                Rpc::GiveCert { cert, ecert } => {
                    let record = Record::of(cert, ecert).map_err(|e| format!("{e:?}"))?;
                    let (cert, ecert) = self.book.to_peer(&record)?;
                    give(&cert, &ecert, &mut out.in_sequence).map_err(|e| format!("{e:?}"))?;
                }
                Rpc::Puzz { q, hash, w, nonce } => {
                    let r = solve_ours(q, hash, w)?;
                    let call = CallWriter::new(&mut out.urgent, 0, call.name).bytes(q);
                    let call = call.bytes(&Sha256::digest(r)).number(w).bytes(&nonce);
                    call.end().map_err(|e| format!("{e:?}"))?;
                }
                Rpc::PuzzSoln { .. } => out.urgent.extend_from_slice(raw),
                _ => out.in_sequence.extend_from_slice(raw),
            }
            Ok(())
        })?;
        out.fill()
    }
}

impl Translated {
    fn note(&mut self, call: &Call<'_>) {
        self.names.push(call.name.into());
    }

    /// What was counted on one side has to be on the other.
    fn fill(mut self) -> Result<Self, String> {
        if self.in_sequence.is_empty() {
            let call = CallWriter::new(&mut self.in_sequence, 0, NOTHING);
            call.end().map_err(|e| format!("{e:?}"))?;
        }
        Ok(self)
    }
}

/// Gives each RPC, and its bytes with the connection id.
fn each<'a>(
    mut calls: Calls<'a>,
    mut take: impl FnMut(&Call<'a>, &'a [u8]) -> Result<(), String>,
) -> Result<(), String> {
    loop {
        let before = calls.as_bytes();
        let Some(call) = calls.next() else {
            return Ok(());
        };
        take(&call, &before[..before.len() - calls.as_bytes().len()])?;
    }
}

fn copy(raw: &[u8], out: &mut Vec<u8>) -> Result<(), clew_tunnel::Reason> {
    out.extend_from_slice(raw);
    Ok(())
}

fn give(cert: &[u8], ecert: &[u8], out: &mut Vec<u8>) -> Result<(), clew_tunnel::Reason> {
    Rpc::GiveCert { cert, ecert }.write(out)
}

fn two<'a>(call: &Call<'a>) -> Result<(&'a [u8], &'a [u8]), String> {
    let mut all = call.arguments;
    match (all.next(), all.next(), all.next()) {
        (Some(Value::Bytes(one)), Some(Value::Bytes(other)), None) => Ok((one, other)),
        _ => Err(format!("arguments of {}", call.name)),
    }
}

/// A puzzle of the peer, whose hash is SHA-256. Ours has SHA-512 of the same r, which takes to solve it here.
struct Posed {
    q: [u8; R_BYTES],
    hash: [u8; 64],
    w: u32,
    nonce: [u8; 8],
}

impl Posed {
    fn write(&self, out: &mut Vec<u8>) -> Result<(), clew_tunnel::Reason> {
        let Self { q, hash, w, nonce } = self;
        let (w, nonce) = (*w, *nonce);
        Rpc::Puzz { q, hash, w, nonce }.write(out)
    }
}

fn posed_by_peer(call: &Call<'_>) -> Result<Posed, String> {
    let mut all = call.arguments;
    let items = (all.next(), all.next(), all.next(), all.next());
    let (
        Some(Value::Bytes(q)),
        Some(Value::Bytes(wanted)),
        Some(Value::Number(w)),
        Some(Value::Bytes(nonce)),
    ) = items
    else {
        return Err("arguments of puzz".into());
    };
    let q: [u8; R_BYTES] = q.try_into().map_err(|_| "a q of another length")?;
    let nonce = nonce.try_into().map_err(|_| "an n' of another length")?;
    if w > W_MAX.into() {
        return Err("a puzzle that is too hard".into());
    }
    for end in 0_u32..1 << w {
        let mut r = q;
        if let Some(last) = r.last_chunk_mut() {
            *last = (u32::from_be_bytes(*last) | end).to_be_bytes();
        }
        if Sha256::digest(r)[..] == *wanted {
            let hash = Sha512::digest(r).into();
            return Ok(Posed { q, hash, w, nonce });
        }
    }
    Err("a puzzle of the peer that nothing solves".into())
}

fn solve_ours(q: &[u8; R_BYTES], hash: &[u8; 64], w: u32) -> Result<[u8; R_BYTES], String> {
    let search = Search::new(q, hash, w, W_MAX).and_then(|mut search| search.step(u32::MAX));
    match search {
        Ok(Progress::Found(r)) => Ok(r),
        other => Err(format!("a puzzle of ours: {other:?}")),
    }
}
