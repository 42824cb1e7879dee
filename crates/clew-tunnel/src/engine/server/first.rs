//! Initiation packets, of new tunnels and of rekeys: `spec/tunnel.md` sections 6.2, steps 3 to 10, and 6.4.

use core::net::SocketAddr;

use super::Server;
use super::jobs::Decryption;
use super::receive::Decrypted;
use super::tunnel::{Start, Tunnel, Which};
use crate::boxes::Key;
use crate::engine::channel::Now;
use crate::engine::packet_keys::PacketKeys;
use crate::engine::rate::Rate;
use crate::keys::{self, Binder, Nonce};
use crate::puzzle::{Asked, SOLUTION_BYTES, Solution};
use crate::reason::Reason;
use crate::wire::packet::{Initiation, Packet, StaleKey, Tid};
use crate::wire::plaintext::Plaintext;
use crate::wire::rpc::next_tid;
use crate::x25519::Public;

/// What an initiation packet says in the clear, which is all that its answer without a box depends on.
#[derive(Clone, Copy)]
struct Clear {
    source: SocketAddr,
    bytes: usize,
    tid: Tid,
    nonce: Nonce,
    client: Public,
}

/// What became of one.
enum Fate {
    /// It is discarded.
    Discard(Reason),
    /// It is discarded by the one way out: whatever it was, it is answered alike.
    Fail(Reason),
}

impl Server {
    /// Steps 3 to 6, and for tunnels that there are all others.
    pub(super) fn initiation(
        &mut self,
        now: &mut Now<'_>,
        source: SocketAddr,
        bytes: usize,
        initiation: Initiation<'_>,
    ) {
        let clear = Clear {
            source,
            bytes,
            tid: initiation.boxed.tid,
            nonce: initiation.boxed.nonce,
            client: initiation.key,
        };
        match self.try_initiation(now, clear, initiation) {
            Ok(()) => {}
            Err(Fate::Discard(reason)) => self.count(reason),
            Err(Fate::Fail(reason)) => self.fail(now, clear, reason),
        }
    }

    fn try_initiation(
        &mut self,
        now: &mut Now<'_>,
        clear: Clear,
        initiation: Initiation<'_>,
    ) -> Result<(), Fate> {
        clear.nonce.check_time(self.wall).map_err(Fate::Discard)?;
        let solution = initiation.solution;
        let checked = solution.map(|solution| self.check_solution(&clear, solution));
        let solved = checked.transpose().map_err(Fate::Discard)?;
        let known = self.tids.get(clear.tid);
        if let Some((index, Which::Current)) = known {
            return self.again(now, index, clear, initiation);
        }
        let replayed = self.check_replay(&clear);
        replayed.map_err(Fate::Discard)?;
        match known {
            Some((index, Which::Announced)) => self.rekey(now, index, clear, initiation),
            Some(_) => Err(Fate::Fail(Reason::BadBox)),
            None => self.queue(now, clear, solved, initiation),
        }
    }

    fn check_replay(&self, clear: &Clear) -> Result<(), Reason> {
        self.replays.check(&clear.client.0, clear.nonce.t())
    }

    /// Its n', if it holds.
    fn check_solution(
        &self,
        clear: &Clear,
        solution: &[u8; SOLUTION_BYTES],
    ) -> Result<Nonce, Reason> {
        let asked = Asked {
            tid: clear.tid,
            client: &clear.client,
            source: clear.source,
            live: &self.shared.keys.live_public(),
            now: self.wall,
        };
        self.shared.keys.verify(&asked, solution)?;
        Solution::parse(solution).map(|solution| solution.nonce)
    }

    /// Step 4: it was sent again.
    fn again(
        &mut self,
        now: &mut Now<'_>,
        index: u32,
        clear: Clear,
        mut initiation: Initiation<'_>,
    ) -> Result<(), Fate> {
        let tunnel = self.tunnels.at(index).ok_or(Fate::Fail(Reason::BadBox))?;
        let keys = &tunnel.keys;
        // One that was decrypted before is met as any other that fails: its C' keeps a copy silent.
        keys.seen.check(clear.nonce).map_err(Fate::Fail)?;
        if !initiation.boxed.decrypt(&keys.stream) {
            return Err(Fate::Fail(Reason::BadBox));
        }
        let announced = tunnel.announced;
        let text = initiation.boxed.into_text();
        let (plaintext, tid) = read(text, &clear.client).map_err(Fate::Fail)?;
        if tid != announced {
            return Err(Fate::Fail(Reason::BadTid));
        }
        let sending = &tunnel.channel.sending;
        sending.check(plaintext.ack).map_err(Fate::Fail)?;
        self.take(now, index, clear.decrypted(plaintext));
        Ok(())
    }

    /// Step 6: a rekey.
    fn rekey(
        &mut self,
        now: &mut Now<'_>,
        index: u32,
        clear: Clear,
        mut initiation: Initiation<'_>,
    ) -> Result<(), Fate> {
        let rate = self.shared.config.limits.rekeys;
        let tunnel = self.tunnels.at(index).ok_or(Fate::Fail(Reason::BadBox))?;
        let key = tunnel.next_key();
        if !initiation.boxed.decrypt(&keys::stream(&key, clear.tid)) {
            return Err(Fate::Fail(Reason::BadBox));
        }
        let text = initiation.boxed.into_text();
        let (plaintext, announced) = read(text, &clear.client).map_err(Fate::Fail)?;
        if self.tids.has(announced) {
            return Err(Fate::Fail(Reason::BadTid));
        }
        let sending = &tunnel.channel.sending;
        sending.check(plaintext.ack).map_err(Fate::Fail)?;
        if !tunnel.rekeys.take(rate, now.instant) {
            return Err(Fate::Fail(Reason::TooManyRekeys));
        }
        self.accept(&clear);
        self.change_key(now, index, key, &clear, announced);
        self.take(now, index, clear.decrypted(plaintext));
        Ok(())
    }

    fn change_key(&mut self, now: &Now<'_>, index: u32, key: Key, clear: &Clear, announced: Tid) {
        let Some(tunnel) = self.tunnels.at(index) else {
            return;
        };
        let first = clear.nonce.answer().unwrap_or(clear.nonce);
        let changed = tunnel.rekey(
            PacketKeys::new(clear.tid, key, first),
            announced,
            now.instant,
        );
        self.forget(index, changed);
        self.tids.insert(clear.tid, index, Which::Current);
        self.tids.insert(announced, index, Which::Announced);
    }

    /// Step 6: a new tunnel, whose key is to be computed.
    fn queue(
        &mut self,
        now: &Now<'_>,
        clear: Clear,
        solved: Option<Nonce>,
        initiation: Initiation<'_>,
    ) -> Result<(), Fate> {
        // A solution counts once; used before, it is none.
        let is_new = |n: &Nonce| self.solutions.check(&n.to_bytes(), n.t()).is_ok();
        let solved = solved.filter(is_new);
        let is_solved = solved.is_some();
        let limits = self.shared.config.limits;
        let waiting = self.decrypt.len() + self.taken;
        let is_full = waiting >= limits.key_queue || self.tunnels.len() >= limits.tunnels;
        let rate = if is_solved {
            &mut self.rates.first_solved
        } else {
            &mut self.rates.first
        };
        let is_too_fast = !rate.take(clear.source, now.instant);
        if is_solved && (is_full || is_too_fast) {
            return Err(Fate::Discard(Reason::Busy));
        }
        // Before it is full, so that who works for it finds room.
        let is_loaded = 2 * waiting >= limits.key_queue
            || 8 * self.tunnels.len() >= 7 * limits.tunnels
            || is_too_fast;
        if !is_solved && is_loaded {
            self.interrogate(&clear);
            return Err(Fate::Discard(Reason::PuzzleAsked));
        }
        if let Some(nonce) = solved {
            let bytes = nonce.to_bytes();
            self.solutions.insert(&bytes, nonce.t(), self.wall);
        }
        let begin = self.packets.len();
        initiation.write_to(&mut self.packets);
        self.decrypt.push(Decryption {
            source: clear.source,
            is_solved,
            packet: begin..self.packets.len(),
            keys: None,
            is_zero: false,
        });
        Ok(())
    }

    /// Steps 8 to 10 of a new tunnel, whose key was computed.
    pub(super) fn decrypted_first(
        &mut self,
        now: &mut Now<'_>,
        job: &Decryption,
        packet: &mut [u8],
    ) {
        let bytes = packet.len();
        let Ok(Packet::Initiation(initiation)) = Packet::parse(packet, 0) else {
            return;
        };
        let clear = Clear {
            source: job.source,
            bytes,
            tid: initiation.boxed.tid,
            nonce: initiation.boxed.nonce,
            client: initiation.key,
        };
        let Some((pair, key)) = &job.keys else {
            let reason = if job.is_zero {
                Reason::BadKey
            } else {
                Reason::BadBox
            };
            return self.fail(now, clear, reason);
        };
        let (plaintext, announced) = match read(initiation.boxed.into_text(), &clear.client) {
            Ok(read) => read,
            Err(reason) => return self.fail(now, clear, reason),
        };
        if let Err(reason) = self.check_new(&clear, &plaintext, announced) {
            return match reason {
                Reason::Replayed | Reason::Busy => self.count(reason),
                reason => self.fail(now, clear, reason),
            };
        }
        self.accept(&clear);
        let is_t1 = pair.public == self.shared.keys.live().boxing.public;
        let start = Start {
            tid: clear.tid,
            announced,
            nonce: clear.nonce,
            binder: Binder::new(key, clear.tid, &clear.client, &pair.public),
            key: key.clone(),
            source: clear.source,
            is_solved: job.is_solved,
            is_t1,
        };
        let packet = self.shared.config.packet;
        let id = self
            .tunnels
            .insert(|id| Tunnel::new(id, start, packet, now));
        self.tids.insert(clear.tid, id.index, Which::Current);
        self.tids.insert(announced, id.index, Which::Announced);
        self.note_silent(id, now.instant);
        self.take(now, id.index, clear.decrypted(plaintext));
    }

    /// What may have changed while the key was computed, and what a new tunnel's packet has besides.
    fn check_new(
        &self,
        clear: &Clear,
        plaintext: &Plaintext<'_>,
        announced: Tid,
    ) -> Result<(), Reason> {
        self.check_replay(clear)?;
        let is_used = |tid| self.tids.has(tid);
        if is_used(announced) || is_used(clear.tid) || announced == clear.tid {
            return Err(Reason::BadTid);
        }
        if plaintext.seq & 0xff != 0 || plaintext.ack != 0 {
            return Err(Reason::BadFirst);
        }
        if self.tunnels.len() >= self.shared.config.limits.tunnels {
            return Err(Reason::Busy);
        }
        Ok(())
    }

    fn accept(&mut self, clear: &Clear) {
        let t = clear.nonce.t();
        self.replays.insert(&clear.client.0, t, self.wall);
        self.tids.accepted(clear.tid, clear.client, clear.nonce);
    }

    fn interrogate(&mut self, clear: &Clear) {
        let w = self.shared.config.w;
        let whom = (clear.tid, &clear.client, clear.source);
        if let Some(asked) = self.shared.keys.interrogation(whom, self.wall, w) {
            self.say(clear.source, asked.to_bytes().into());
        }
    }

    /// The one way out: a stale-key answer, if there may be one, whatever the packet was.
    fn fail(&mut self, now: &Now<'_>, clear: Clear, reason: Reason) {
        self.count(reason);
        if self.replays.has(&clear.client.0) {
            // Met with silence where its TID is not in use, and so here.
            return;
        }
        let all: Rate = self.shared.config.limits.stale_all;
        let rates = &mut self.rates;
        let may =
            rates.stale.take(clear.source, now.instant) && rates.stale_all.take(all, now.instant);
        if !may {
            return;
        }
        let mut answer = alloc::vec::Vec::new();
        StaleKey {
            tid: clear.tid,
            nonce: clear.nonce.stale(),
            ecert: self.shared.keys.ecert_bytes(),
        }
        .write(&mut answer);
        debug_assert!(
            answer.len() <= clear.bytes,
            "never longer than what causes it"
        );
        self.say(clear.source, answer.into());
    }
}

impl Clear {
    fn decrypted(self, plaintext: Plaintext<'_>) -> Decrypted<'_> {
        Decrypted {
            nonce: self.nonce,
            which: Which::Current,
            source: self.source,
            bytes: self.bytes,
            plaintext,
            is_initiation: true,
        }
    }
}

/// What step 8 asks of every initiation packet: its plaintext, and the TID that it announces.
fn read<'a>(text: &'a [u8], client: &Public) -> Result<(Plaintext<'a>, Tid), Reason> {
    let plaintext = Plaintext::parse(text)?;
    let mut calls = plaintext.calls;
    let announced = next_tid(calls.next().as_ref(), client)?;
    plaintext.split()?;
    Ok((plaintext, announced))
}
