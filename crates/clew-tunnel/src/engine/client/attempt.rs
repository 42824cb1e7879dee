//! The first packet of a tunnel, until it is answered: `spec/tunnel.md` sections 6.1, 6.4 and 10.1.

use alloc::vec::Vec;
use clew_wire::Instant;

use super::sends::{FirstRpcs, Sends, initiation_room};
use super::state::State;
use super::tunnel::{Tunnel, Wish};
use super::users::Ask;
use super::{Shared, Target};
use crate::boxes::Key;
use crate::engine::channel::{Channel, Now};
use crate::engine::draft::Draft;
use crate::engine::event::{ConnectionId, Event};
use crate::engine::outgoing::Outgoing;
use crate::engine::packet_keys::PacketKeys;
use crate::engine::party::Party;
use crate::keys::{self, Binder, Nonce};
use crate::limits::{CONNECT_MAX, PUZZLES, RPCS_MAX, SENDS_EACH, STALE_MAX};
use crate::puzzle::{Interrogation, R_BYTES, Search, Solution};
use crate::reason::Reason;
use crate::record::Ecert;
use crate::wire::packet::{Boxed, Side, StaleKey, Tid};
use crate::wire::rpc::Rpc;
use crate::x25519::{Public, Secret};

/// Nonces of initiation packets that are remembered, for the answers to them.
const NONCES_MAX: usize = 16;

/// An attempt to open a tunnel.
#[derive(Debug)]
pub(super) struct Attempt {
    tid: Tid,
    secret: Secret,
    /// C', once it is computed.
    client: Option<Public>,
    /// It waits until somebody wants its tunnel.
    is_held: bool,
    /// A key for each S' that was tried, the newest last.
    keys: Vec<(PacketKeys, Binder)>,
    sends: Sends,
    nonces: Vec<Nonce>,
    solution: Option<Solution>,
    puzzles: u8,
    stale: usize,
    first: FirstRpcs,
    /// Connections that it asks for, and how many bytes of what is carried do that.
    wishes: Vec<Wish>,
    wish_bytes: usize,
}

impl Attempt {
    /// An attempt with a TID and a secret c' of its own.
    pub(super) fn new(tid: Tid, secret: Secret, is_held: bool, now: &mut Now<'_>) -> Self {
        Self {
            tid,
            secret,
            client: None,
            is_held,
            keys: Vec::new(),
            sends: Sends::new(now),
            nonces: Vec::new(),
            solution: None,
            puzzles: 0,
            stale: 0,
            first: FirstRpcs::default(),
            wishes: Vec::new(),
            wish_bytes: 0,
        }
    }

    /// A copy of c', for who computes with it.
    pub(super) fn secret(&self) -> Secret {
        Secret::from_bytes(*self.secret.as_bytes())
    }

    /// Since when it is sent, or could have been.
    pub(super) const fn began(&self) -> Instant {
        self.sends.began()
    }

    /// Its TID.
    pub(super) const fn tid(&self) -> Tid {
        self.tid
    }

    /// Its keys were computed.
    pub(super) fn start(&mut self, client: Public, key: Key, server: &Public) {
        self.client = Some(client);
        let binder = Binder::new(&key, self.tid, &client, server);
        let first = Nonce::new(0, Side::Client);
        self.keys
            .push((PacketKeys::new(self.tid, key, first), binder));
    }

    /// When it has something to do; none while its keys are computed, and while nobody wants its tunnel.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        if self.client.is_none() || self.is_held {
            return None;
        }
        let end = self.sends.began() + CONNECT_MAX;
        Some(self.sends.next_due().min(end))
    }

    /// Its tunnel is wanted.
    pub(crate) const fn release(&mut self) {
        self.is_held = false;
    }

    /// It is sent at once.
    pub(super) fn hurry(&mut self, now: Instant) {
        self.sends.hurry(now);
    }

    /// It is sent from another address, where nobody has answered yet.
    pub(super) fn moved(&mut self, now: Instant) {
        self.sends.anew(now);
    }

    /// Opens the server's first packet, if any of its keys does: which one.
    pub(super) fn decrypt(&self, boxed: &mut Boxed<'_>) -> Option<usize> {
        let mut newest_first = (0..self.keys.len()).rev();
        newest_first.find(|place| boxed.decrypt(&self.keys[*place].0.stream))
    }

    /// The key that decrypted it. All others are erased, and c'.
    pub(crate) fn into_keys(mut self, place: usize) -> (PacketKeys, Binder, u32) {
        let (keys, binder) = self.keys.swap_remove(place);
        (keys, binder, self.sends.count)
    }

    /// A puzzle was solved.
    pub(super) fn solved(&mut self, r: [u8; R_BYTES], nonce: Nonce, now: Instant) {
        self.solution = Some(Solution { r, nonce });
        self.sends.hurry(now);
    }
}

impl Tunnel {
    /// Whether the attempt is over; the server's next address, if this one had its turn.
    ///
    /// # Errors
    /// `no-answer`.
    pub(crate) fn tick_attempt(&mut self, now: Instant) -> Result<(), Reason> {
        let sends = &self.state.attempt()?.sends;
        if sends.count > 0 && sends.began() + CONNECT_MAX <= now {
            return Err(Reason::NoAnswer);
        }
        let count = sends.from_here;
        if sends.next_due() <= now && count > 0 && count.is_multiple_of(SENDS_EACH) {
            self.address += 1;
        }
        Ok(())
    }

    /// Sends the initiation packet, if it is due.
    ///
    /// # Errors
    /// A reason that ends the attempt.
    pub(crate) fn send_first(
        &mut self,
        shared: &mut Shared,
        now: &mut Now<'_>,
        out: &mut Outgoing,
    ) -> Result<bool, Reason> {
        let attempt = self.state.attempt()?;
        if attempt.next_due().is_none_or(|due| due > now.instant) {
            return Ok(false);
        }
        if attempt.sends.count == 0 {
            self.load(shared, now)?;
        }
        let to = (self.from, self.address());
        let m = self.target.m();
        let attempt = self.state.attempt()?;
        let client = attempt.client.ok_or(Reason::BadKey)?;
        let rpcs = attempt.first.behind_next_tid(self.announced, client)?;
        let t = attempt.sends.send(now.instant, now.wall);
        let (keys, _) = attempt.keys.last_mut().ok_or(Reason::BadKey)?;
        let header = keys.initiation(Nonce::new(t, Side::Client), client, attempt.solution);
        if attempt.nonces.len() == NONCES_MAX {
            attempt.nonces.remove(0);
        }
        attempt.nonces.push(header.nonce);
        let numbers = (attempt.first.seq, 0);
        let sent = out.push(to, &header, numbers, &rpcs, m.into(), &keys.stream);
        sent.map(|_| true).ok_or(Reason::TooLong)
    }

    /// Chooses what the initiation packet carries.
    fn load(&mut self, shared: &mut Shared, now: &mut Now<'_>) -> Result<(), Reason> {
        let room = initiation_room(self.target.m(), NEXT_TID_BYTES);
        let attempt = self.state.attempt()?;
        let (_, binder) = attempt.keys.last().ok_or(Reason::BadKey)?;
        let binder = binder.clone();
        let mut rpcs = Vec::new();
        let mut loaded = Vec::new();
        while let Some(wish) = self.wishes.front()
            && loaded.len() < RPCS_MAX / 2
        {
            let begin = rpcs.len();
            let written = write_wish(wish, &self.target, &binder, shared, now, &mut rpcs);
            if rpcs.len() > room {
                rpcs.truncate(begin);
                break;
            }
            let Some(wish) = self.wishes.pop_front() else {
                break;
            };
            match written {
                Ok(()) if self.channel.connections.ask(wish.number) => loaded.push(wish),
                // It was closed before it was asked for.
                Ok(()) => rpcs.truncate(begin),
                Err(reason) => drop_wish(&mut self.channel, shared, &wish, reason),
            }
        }
        let wish_bytes = rpcs.len();
        let count = RPCS_MAX - 1 - loaded.len();
        let left = room - wish_bytes;
        let events = &mut shared.common.events;
        let mut draft = Draft::new(&mut rpcs, left, count);
        self.channel.fill(&mut draft, events);
        attempt.wishes = loaded;
        attempt.wish_bytes = wish_bytes;
        if !rpcs.is_empty() {
            let sending = &mut self.channel.sending;
            attempt.first.seq = sending.send(rpcs.as_slice().into(), now.instant).get();
        }
        attempt.first.rpcs = rpcs;
        Ok(())
    }

    /// A server says that its S' is another one (6.4).
    ///
    /// # Errors
    /// The reason for which it is not taken. `too-long`, if what was to be sent does not fit any more,
    /// ends the attempt.
    pub(super) fn stale(
        &mut self,
        shared: &mut Shared,
        now: &mut Now<'_>,
        answer: &StaleKey<'_>,
    ) -> Result<(), Reason> {
        let ecert = self.check_stale(shared, now, answer)?;
        let attempt = self.state.attempt()?;
        let client = attempt.client.ok_or(Reason::UnexpectedAnswer)?;
        let server = ecert.body.ephemeral;
        let key = keys::shared(&attempt.secret, &server)?;
        attempt.stale += 1;
        attempt.solution = None;
        attempt.start(client, key, &server);
        attempt.sends.hurry(now.instant);
        self.target.renew(ecert);
        self.tell_newer(shared);
        self.reload(shared, now)
    }

    fn check_stale(
        &mut self,
        shared: &Shared,
        now: &Now<'_>,
        answer: &StaleKey<'_>,
    ) -> Result<Ecert, Reason> {
        let Target::Host(record) = &self.target else {
            return Err(Reason::UnexpectedAnswer);
        };
        if let State::First(attempt) = &self.state {
            let is_ours = |nonce: &Nonce| nonce.stale() == answer.nonce;
            if !attempt.nonces.iter().any(is_ours) {
                return Err(Reason::UnexpectedAnswer);
            }
            if attempt.stale >= STALE_MAX {
                return Err(Reason::TooManyAnswers);
            }
        }
        let ecert = Ecert::parse(answer.ecert)?;
        let wanted = shared.wanted(now, record);
        wanted.verify_parts(&record.cert, &ecert, |_| true)?;
        ecert.check_newer(&record.ecert)?;
        Ok(ecert)
    }

    /// A newer ecert for who rekeys: into the program's store.
    ///
    /// # Errors
    /// The reason for which it is not taken.
    pub(crate) fn stale_rekey(
        &mut self,
        shared: &mut Shared,
        now: &Now<'_>,
        answer: &StaleKey<'_>,
    ) -> Result<(), Reason> {
        let ecert = self.check_stale(shared, now, answer)?;
        self.target.renew(ecert);
        self.tell_newer(shared);
        // Anybody can have said so: a server that has the tunnel says the contrary, if it is asked.
        let (_, rekeying) = self.state.rekeying()?;
        rekeying.stale.get_or_insert(now.instant);
        rekeying.sends.anew(now.instant);
        Ok(())
    }

    /// Makes the authenticators of what is carried anew, for another S'.
    fn reload(&mut self, shared: &mut Shared, now: &mut Now<'_>) -> Result<(), Reason> {
        let attempt = self.state.attempt()?;
        let (_, binder) = attempt.keys.last().ok_or(Reason::BadKey)?;
        let mut rpcs = Vec::new();
        for wish in &attempt.wishes {
            write_wish(wish, &self.target, binder, shared, now, &mut rpcs)?;
        }
        let wish_bytes = rpcs.len();
        rpcs.extend_from_slice(&attempt.first.rpcs[attempt.wish_bytes..]);
        attempt.wish_bytes = wish_bytes;
        if rpcs.len() > initiation_room(self.target.m(), NEXT_TID_BYTES) {
            return Err(Reason::TooLong);
        }
        self.channel.sending.replace_first(&rpcs);
        attempt.first.rpcs = rpcs;
        Ok(())
    }

    /// A server asks for a solution (10.1).
    ///
    /// # Errors
    /// The reason for which it gets none.
    pub(crate) fn interrogated(
        &mut self,
        shared: &mut Shared,
        asked: &Interrogation,
    ) -> Result<(), Reason> {
        let State::First(attempt) = &mut self.state else {
            return Err(Reason::UnexpectedAnswer);
        };
        if attempt.puzzles >= PUZZLES {
            return Err(Reason::TooManyPuzzles);
        }
        let bound = self.target.w().min(shared.config.w);
        let search = Search::new(&asked.q, &asked.hash, asked.w, bound)?;
        attempt.puzzles += 1;
        self.solve(shared, search, asked.nonce.to_bytes());
        Ok(())
    }
}

/// A connection that cannot be asked for.
pub(crate) fn drop_wish(channel: &mut Channel, shared: &mut Shared, wish: &Wish, reason: Reason) {
    channel.connections.remove(wish.number);
    shared.common.counters.count(reason);
    let connection = ConnectionId {
        tunnel: channel.id,
        number: wish.number,
    };
    shared.common.events.push_back(Event::Refused(connection));
}

/// Writes the RPC that asks for a connection.
pub(crate) fn write_wish(
    wish: &Wish,
    target: &Target,
    binder: &Binder,
    shared: &mut Shared,
    now: &mut Now<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Reason> {
    let (connection, service) = (wish.number, wish.service.as_str());
    let Some(user) = wish.user else {
        return Rpc::Create {
            connection,
            service,
        }
        .write(out);
    };
    let ask = Ask {
        connection,
        service,
        binder,
        ecert: target.ecert().ok_or(Reason::NotOffered)?,
    };
    shared.users.write(user, &ask, now, out)
}

/// Bytes of nextTid with its connection id.
pub(super) const NEXT_TID_BYTES: usize = 60;
