//! Initiation packets, of new tunnels and of rekeys: `spec/tunnel.md` sections 6.2, steps 3 to 10, and 6.4.

use core::net::SocketAddr;

use super::Server;
use super::jobs::Decryption;
use super::tunnel::{Start, Tunnel};
use crate::boxes::Stream;
use crate::engine::channel::Now;
use crate::engine::packet_keys::PacketKeys;
use crate::engine::rate::{Prefix, Rate};
use crate::engine::receive::Decrypted;
use crate::engine::tids::TidUse;
use crate::engine::trace::TracedPacket;
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

impl From<Reason> for Fate {
    fn from(reason: Reason) -> Self {
        Self::Fail(reason)
    }
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
        let clear = Clear::new(source, bytes, &initiation);
        let tried = self.try_initiation(now, clear, initiation);
        self.conclude(now, clear, tried);
    }

    fn conclude(&mut self, now: &Now<'_>, clear: Clear, tried: Result<(), Fate>) {
        match tried {
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
        clear
            .nonce
            .check_time(self.shared.wall)
            .map_err(Fate::Discard)?;
        let solution = initiation.solution;
        let checked = solution.map(|solution| self.check_solution(&clear, solution));
        let solved = checked.transpose().map_err(Fate::Discard)?;
        let known = self.tids.get(clear.tid);
        if let Some((index, TidUse::Current)) = known {
            return self.again(now, index, clear, initiation);
        }
        self.check_replay(&clear)?;
        match known {
            Some((index, TidUse::Initiation)) => self.rekey(now, index, clear, initiation),
            Some(_) => Err(Reason::BadBox.into()),
            None => self.queue(now, clear, solved, initiation),
        }
    }

    fn check_replay(&self, clear: &Clear) -> Result<(), Fate> {
        let checked = self.shared.replays.check(&clear.client.0, clear.nonce.t());
        checked.map_err(Fate::Discard)
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
            now: self.shared.wall,
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
        initiation: Initiation<'_>,
    ) -> Result<(), Fate> {
        let tunnel = self.tunnels.at(index).ok_or(Reason::UnknownTid)?;
        let open = tunnel.state.open().ok_or(Reason::WrongState)?;
        let keys = &open.keys.current;
        // One that was decrypted before is met as any other that fails: its C' keeps a copy silent.
        keys.seen.check(clear.nonce)?;
        let (plaintext, tid) = decrypt(initiation, &keys.stream)?;
        if tid != open.announced {
            return Err(Reason::BadTid.into());
        }
        tunnel.channel.sending.check(plaintext.ack)?;
        self.take(now, index, &clear.decrypted(plaintext));
        Ok(())
    }

    /// Step 6: a rekey.
    fn rekey(
        &mut self,
        now: &mut Now<'_>,
        index: u32,
        clear: Clear,
        initiation: Initiation<'_>,
    ) -> Result<(), Fate> {
        let rate = self.shared.config.limits.rekeys;
        let tunnel = self.tunnels.at(index).ok_or(Reason::UnknownTid)?;
        let key = tunnel.state.next_key()?;
        let (plaintext, announced) = decrypt(initiation, &keys::stream(&key, clear.tid))?;
        if self.tids.has(announced) {
            return Err(Reason::BadTid.into());
        }
        tunnel.channel.sending.check(plaintext.ack)?;
        if !tunnel.rekeys.take(rate, now.instant) {
            return Err(Reason::TooManyRekeys.into());
        }
        self.accept(&clear);
        let keys = PacketKeys::new(clear.tid, key, clear.nonce.answer().unwrap_or(clear.nonce));
        let instant = now.instant;
        self.change(instant, index, |tunnel, _| {
            tunnel.state.rekey(keys, announced, instant)
        });
        self.take(now, index, &clear.decrypted(plaintext));
        Ok(())
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
        let is_new = |n: &Nonce| self.shared.solutions.check(&n.to_bytes(), n.t()).is_ok();
        let solved = solved.filter(is_new);
        let is_solved = solved.is_some();
        let limits = self.shared.config.limits;
        let waiting = self.shared.decrypt.len() + self.shared.taken;
        let prefix = Prefix::of(clear.source);
        let has_place = self.shared.places.has_room(&prefix);
        let is_full = waiting >= limits.key_queue || !has_place;
        let rate = if is_solved {
            &mut self.shared.rates.first_solved
        } else {
            &mut self.shared.rates.first
        };
        let is_too_fast = !rate.take(clear.source, now.instant);
        if is_solved && (is_full || is_too_fast) {
            return Err(Fate::Discard(Reason::Busy));
        }
        // Before it is full, so that who works for it finds room.
        let is_loaded = 2 * waiting >= limits.key_queue
            || 8 * self.tunnels.len() >= 7 * limits.tunnels
            || !has_place
            || is_too_fast;
        if !is_solved && is_loaded {
            self.interrogate(&clear, self.shared.config.w);
            return Err(Fate::Discard(Reason::PuzzleAsked));
        }
        if !is_solved && !self.shared.unproven.take(prefix) {
            // Others fill these places, perhaps in its name: that it receives is all that is asked.
            self.interrogate(&clear, 0);
            return Err(Fate::Discard(Reason::PuzzleAsked));
        }
        if let Some(nonce) = solved {
            let bytes = nonce.to_bytes();
            self.shared
                .solutions
                .insert(&bytes, nonce.t(), self.shared.wall);
        }
        let begin = self.shared.packets.len();
        initiation.write_to(&mut self.shared.packets);
        self.shared.decrypt.push(Decryption {
            source: clear.source,
            is_solved,
            packet: begin..self.shared.packets.len(),
            keys: Err(Reason::BadBox),
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
        if let Ok(Packet::Initiation(initiation)) = Packet::parse(packet, 0) {
            let clear = Clear::new(job.source, bytes, &initiation);
            let tried = self.open(now, clear, job, initiation);
            if matches!(tried, Ok(())) {
                return;
            }
            self.conclude(now, clear, tried);
        }
        if !job.is_solved {
            self.shared.unproven.give(&Prefix::of(job.source));
        }
    }

    fn open(
        &mut self,
        now: &mut Now<'_>,
        clear: Clear,
        job: &Decryption,
        initiation: Initiation<'_>,
    ) -> Result<(), Fate> {
        let (pair, key) = job.keys.as_ref().map_err(|reason| *reason)?;
        let text = initiation.boxed.into_text();
        let (plaintext, announced) = read(text, &clear.client)?;
        self.check_new(&clear, &plaintext, announced)?;
        if !self.shared.places.take(Prefix::of(clear.source)) {
            return Err(Fate::Discard(Reason::Busy));
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
        let (packet, limits) = (self.shared.config.packet, self.shared.config.limits);
        let id = self.insert(|id| Tunnel::new(id, start, packet, &limits, now));
        self.note_silent(id, now.instant);
        self.take(now, id.index, &clear.decrypted(plaintext));
        Ok(())
    }

    /// What may have changed while the key was computed, and what a new tunnel's packet has besides.
    fn check_new(
        &self,
        clear: &Clear,
        plaintext: &Plaintext<'_>,
        announced: Tid,
    ) -> Result<(), Fate> {
        self.check_replay(clear)?;
        let is_used = |tid| self.tids.has(tid);
        if is_used(announced) || is_used(clear.tid) || announced == clear.tid {
            return Err(Reason::BadTid.into());
        }
        if plaintext.seq & 0xff != 0 || plaintext.ack != 0 {
            return Err(Reason::BadFirst.into());
        }
        Ok(())
    }

    fn accept(&mut self, clear: &Clear) {
        let t = clear.nonce.t();
        self.shared
            .replays
            .insert(&clear.client.0, t, self.shared.wall);
        self.tids.accepted(clear.tid, clear.client, clear.nonce);
    }

    fn interrogate(&mut self, clear: &Clear, w: u8) {
        let whom = (clear.tid, &clear.client, clear.source);
        if let Some(asked) = self.shared.keys.interrogation(whom, self.shared.wall, w) {
            self.say((0, clear.source), asked.to_bytes().into());
        }
    }

    /// The one way out: a stale-key answer, if there may be one, whatever the packet was.
    fn fail(&mut self, now: &Now<'_>, clear: Clear, reason: Reason) {
        self.count(reason);
        if self.shared.replays.has(&clear.client.0) {
            // Met with silence where its TID is not in use, and so here.
            return;
        }
        let all: Rate = self.shared.config.limits.stale_all;
        let rates = &mut self.shared.rates;
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
        self.say((0, clear.source), answer.into());
    }
}

impl Clear {
    fn new(source: SocketAddr, bytes: usize, initiation: &Initiation<'_>) -> Self {
        Self {
            source,
            bytes,
            tid: initiation.boxed.tid,
            nonce: initiation.boxed.nonce,
            client: initiation.key,
        }
    }

    fn decrypted(self, plaintext: Plaintext<'_>) -> Decrypted<'_> {
        Decrypted {
            packet: TracedPacket {
                tid: self.tid,
                nonce: self.nonce,
                seq: plaintext.seq,
                ack: plaintext.ack,
                bytes: self.bytes,
                is_initiation: true,
            },
            which: TidUse::Current,
            source: self.source,
            plaintext,
        }
    }
}

/// The same, once the box is decrypted.
fn decrypt<'a>(
    mut initiation: Initiation<'a>,
    stream: &Stream,
) -> Result<(Plaintext<'a>, Tid), Reason> {
    let is_good = initiation.boxed.decrypt(stream);
    let initiation = is_good.then_some(initiation).ok_or(Reason::BadBox)?;
    read(initiation.boxed.into_text(), &initiation.key)
}

/// What step 8 asks of every initiation packet: its plaintext, and the TID that it announces.
fn read<'a>(text: &'a [u8], client: &Public) -> Result<(Plaintext<'a>, Tid), Reason> {
    let plaintext = Plaintext::parse(text)?;
    let mut calls = plaintext.calls;
    let announced = next_tid(calls.next().as_ref(), client)?;
    plaintext.split()?;
    Ok((plaintext, announced))
}
