//! One tunnel, as the adapter follows it: its keys, and both directions.

use std::net::SocketAddr;

use clew_tunnel::keys::Nonce;
use clew_tunnel::limits::{ANSWER, M_MIN};
use clew_tunnel::wire::packet::{Header, Side, Tid};
use clew_tunnel::wire::plaintext::Plaintext;
use clew_tunnel::wire::rpc::Rpc;
use clew_tunnel::x25519::Public;

use crate::epoch::{Epoch, Io, Speaker};
use crate::keylog::system_random;
use crate::lane::{Entry, Lane};
use crate::peer_cert::Book;
use crate::translate::{Flow, Translated, Translator};

/// One tunnel.
pub struct Session {
    pub ours: Side,
    pub peer: SocketAddr,
    /// Where our engine sees the peer.
    pub seen_at: SocketAddr,
    pub epochs: Vec<Epoch>,
    /// From our engine to the peer, and back.
    pub out: Lane,
    pub back: Lane,
    flow: Flow,
    /// Acks for the peer that were not sent: epoch and seq.
    acks: Vec<(usize, u32)>,
    last_ack: Option<(usize, u32)>,
    /// What our client announced: the TID of its next rekey.
    pub engine_next: Option<Tid>,
    /// What the peer announced: TID and C' of its rekey.
    pub peer_next: Option<(Tid, Public)>,
    /// The packet by which a rekey of our client was announced to the peer.
    announcement: Option<usize>,
    pub is_gone: bool,
}

impl Session {
    pub fn new(ours: Side, peer: SocketAddr, epoch: Epoch) -> Self {
        Self {
            ours,
            peer,
            seen_at: peer,
            epochs: vec![epoch],
            out: Lane::default(),
            back: Lane::default(),
            flow: Flow::default(),
            acks: Vec::new(),
            last_ack: None,
            engine_next: None,
            peer_next: None,
            announcement: None,
            is_gone: false,
        }
    }

    /// Our client rekeys. The peer has to hear of it in the old tunnel, and everything under the new key waits
    /// until it has: the peer gives up where it meets a packet of a tunnel that it does not know yet.
    pub fn rekey(&mut self, io: &mut Io, epoch: Epoch) -> Result<(), String> {
        let tid = *epoch.peer_tid.as_bytes();
        let key = epoch.client;
        self.epochs.push(epoch.closed());
        let mut rpcs = Vec::new();
        let announced = Rpc::NextTid { tid, key }.write(&mut rpcs);
        announced.map_err(|e| format!("{e:?}"))?;
        let place = self.add_out(self.epochs.len() - 2, None, rpcs, Vec::new())?;
        self.announcement = Some(place);
        self.send(io, place)
    }

    fn translator<'a>(&'a mut self, io: &Io, book: &'a Book) -> Translator<'a> {
        Translator {
            flow: &mut self.flow,
            book,
            now: io.wall / 1_000_000,
            ours: self.ours,
        }
    }

    /// A packet of our engine, open.
    pub fn engine_said(
        &mut self,
        io: &mut Io,
        book: &Book,
        (epoch, is_initiation): (usize, bool),
        text: &[u8],
    ) -> Result<(), String> {
        let plain = Plaintext::parse(text).map_err(|e| format!("our engine's plaintext: {e:?}"))?;
        let (urgent, counted) = plain.split().map_err(|e| format!("our engine's: {e:?}"))?;
        let known = self.out.of_engine(plain.seq).filter(|_| plain.seq != 0);
        let urgent = self.translator(io, book).for_peer(urgent)?;
        let mut places = Vec::new();
        tally(io, Speaker::Engine, &urgent);
        self.engine_next = urgent.next.map(|(tid, _)| tid).or(self.engine_next);
        if !urgent.urgent.is_empty() {
            places.push(self.add_out(epoch, None, urgent.urgent, Vec::new())?);
        }
        if let Some(place) = known {
            places.push(place);
            if is_initiation && self.out.0[place].epoch != epoch {
                // It was sent under the old key already, and has to come there.
                let nothing = Translated::default();
                places.extend(self.add_first(epoch, None, true, nothing)?);
            }
        } else if plain.seq != 0 || is_initiation {
            let translated = self.translator(io, book).for_peer(counted)?;
            tally(io, Speaker::Engine, &translated);
            self.is_gone |= translated.is_end;
            let seq = Some(plain.seq).filter(|seq| *seq != 0);
            places.extend(self.add_first(epoch, seq, is_initiation, translated)?);
        }
        let is_bare = places.is_empty();
        self.engine_acked(plain.ack, is_bare)?;
        self.flush_acks(
            io,
            (!is_bare && self.epochs[epoch].is_open).then_some(epoch),
        )?;
        for place in places {
            self.send(io, place)?;
        }
        self.flush_acks(io, None)
    }

    /// A packet for the peer, with nextTid before its RPCs if it opens a tunnel; none if that was there.
    fn add_first(
        &mut self,
        epoch: usize,
        seq: Option<u32>,
        is_initiation: bool,
        translated: Translated,
    ) -> Result<Option<usize>, String> {
        let begun = self
            .out
            .0
            .iter()
            .position(|e| e.epoch == epoch && e.has_key);
        let mut rpcs = Vec::new();
        if is_initiation {
            if seq.is_none() && begun.is_some() {
                return Ok(begun);
            }
            let Epoch {
                peer_tid, client, ..
            } = &self.epochs[epoch];
            let (tid, key) = (*peer_tid.as_bytes(), *client);
            let written = Rpc::NextTid { tid, key }.write(&mut rpcs);
            written.map_err(|e| format!("{e:?}"))?;
        }
        if seq.is_some() {
            rpcs.extend_from_slice(&translated.in_sequence);
        }
        let place = self.add_out(epoch, seq, rpcs, translated.bytes)?;
        self.out.0[place].has_key = is_initiation;
        Ok(Some(place))
    }

    fn add_out(
        &mut self,
        epoch: usize,
        engine: Option<u32>,
        rpcs: Vec<u8>,
        bytes: Vec<(u32, u32)>,
    ) -> Result<usize, String> {
        let peer = match self.out.last_peer(epoch) {
            Some(last) => last + 1,
            // Any start will do for the peer.
            None => u32::from_be_bytes(system_random()?) >> 1 | 1,
        };
        self.out.0.push(Entry {
            epoch,
            engine,
            peer: Some(peer),
            rpcs,
            has_key: false,
            sent: None,
            is_acked: false,
            bytes,
        });
        Ok(self.out.0.len() - 1)
    }

    /// Our engine has everything up to `ack`.
    fn engine_acked(&mut self, ack: u32, is_bare: bool) -> Result<(), String> {
        if ack == 0 {
            return Ok(());
        }
        let place = self.back.of_engine(ack);
        let place = place.ok_or_else(|| format!("our engine acknowledges {ack}, never sent"))?;
        let new = self.back.acknowledge(place);
        let entries = new.iter().map(|place| &self.back.0[*place]);
        let new: Vec<_> = entries
            .filter_map(|entry| entry.peer.map(|seq| (entry.epoch, seq)))
            .collect();
        if new.is_empty() && is_bare {
            self.acks.extend(self.last_ack);
        }
        self.last_ack = new.last().copied().or(self.last_ack);
        // The peer wants one for each packet: that of the second of two packets it takes for a duplicate.
        self.acks.extend(new);
        Ok(())
    }

    /// Sends what is to be acknowledged, but for the last if a packet of this epoch takes it along.
    fn flush_acks(&mut self, io: &mut Io, taken_by: Option<usize>) -> Result<(), String> {
        let mut acks = std::mem::take(&mut self.acks);
        let last = acks.pop_if(|(epoch, _)| Some(*epoch) == taken_by);
        for (epoch, ack) in acks {
            let peer = self.peer;
            let packet = self.sealed_for_peer(epoch, (0, ack), &[], false)?;
            io.to_peer.push((peer, packet));
        }
        self.acks.extend(last);
        Ok(())
    }

    /// Sends a packet to the peer, if it can understand it yet.
    fn send(&mut self, io: &mut Io, place: usize) -> Result<(), String> {
        let entry = &self.out.0[place];
        let (epoch, has_key) = (entry.epoch, entry.has_key);
        let was_sent = entry.sent.is_some();
        if !self.epochs[epoch].is_open {
            return Ok(());
        }
        let (seq, rpcs) = (entry.peer.unwrap_or(0), entry.rpcs.clone());
        let ack = self.acks.pop_if(|(of, _)| *of == epoch);
        // The ack of a packet that is sent again may have been lost with it.
        let again = self.last_ack.filter(|_| was_sent);
        let ack = ack.or(again.filter(|(of, _)| *of == epoch));
        let numbers = (seq, ack.map_or(0, |(_, ack)| ack));
        let packet = self.sealed_for_peer(epoch, numbers, &rpcs, has_key)?;
        io.to_peer.push((self.peer, packet));
        self.out.0[place].sent = Some(io.instant);
        Ok(())
    }

    fn sealed_for_peer(
        &mut self,
        epoch: usize,
        numbers: (u32, u32),
        rpcs: &[u8],
        has_key: bool,
    ) -> Result<Vec<u8>, String> {
        let ours = self.ours;
        let epoch = &mut self.epochs[epoch];
        epoch.counter += 1;
        let header = Header {
            tid: epoch.peer_tid,
            nonce: Nonce::new(epoch.counter, ours),
            initiation: has_key.then_some((epoch.client, None)),
        };
        let mut out = Vec::new();
        let sealed = header.seal(numbers, rpcs, 0, &epoch.peer_stream, &mut out);
        sealed.map(|()| out).ok_or("too long for a packet".into())
    }

    /// A packet of the peer, open.
    pub fn peer_said(
        &mut self,
        io: &mut Io,
        book: &Book,
        (epoch, has_key): (usize, bool),
        text: &[u8],
    ) -> Result<(), String> {
        let plain = Plaintext::parse(text).map_err(|e| format!("the peer's plaintext: {e:?}"))?;
        if plain.ack != 0 {
            self.peer_acked(io, epoch, plain.ack)?;
        }
        if plain.seq == 0 {
            return self.deliver(io, epoch, None);
        }
        if let Some(place) = self.back.of_peer(epoch, plain.seq) {
            // If its ack was lost, our engine says the latest again; the peer wants this one, and each
            // behind it.
            let later = self.back.0[place..].iter();
            let later = later.filter(|entry| entry.is_acked && entry.epoch == epoch);
            self.acks
                .extend(later.filter_map(|entry| Some((epoch, entry.peer?))));
            return self.deliver(io, epoch, Some(place));
        }
        // The peer drops what comes out of order, and so is it done with its own.
        let last = self.back.last_peer(epoch);
        if last.is_some_and(|last| last + 1 != plain.seq) {
            return Ok(());
        }
        let translated = self.translator(io, book).for_engine(plain.calls)?;
        tally(io, Speaker::Peer, &translated);
        if let Some((tid, key)) = translated.next {
            let at = &self.epochs[epoch];
            if tid != at.peer_tid {
                self.peer_next = Some((tid, key));
            } else if key != at.client {
                return Err("the peer's nextTid has another C' than its header".into());
            }
        }
        let rpcs = [translated.urgent, translated.in_sequence].concat();
        let place = self.add_back(epoch, Some(plain.seq), rpcs)?;
        self.back.0[place].has_key = has_key;
        self.deliver(io, epoch, Some(place))
    }

    fn add_back(
        &mut self,
        epoch: usize,
        peer: Option<u32>,
        rpcs: Vec<u8>,
    ) -> Result<usize, String> {
        let engine = match self.back.last_engine() {
            Some(last) => last + 1,
            // 256 r, not near the end of the numbers.
            None => (u32::from(u16::from_be_bytes(system_random()?)) + 1) << 8,
        };
        self.back.0.push(Entry {
            epoch,
            engine: Some(engine),
            peer,
            rpcs,
            has_key: false,
            sent: None,
            is_acked: false,
            bytes: Vec::new(),
        });
        Ok(self.back.0.len() - 1)
    }

    /// The peer has everything up to `ack` under this key.
    fn peer_acked(&mut self, io: &mut Io, epoch: usize, ack: u32) -> Result<(), String> {
        let place = self.out.of_peer(epoch, ack);
        let place = place.ok_or_else(|| format!("the peer acknowledges {ack}, never sent"))?;
        for place in self.out.acknowledge(place) {
            self.flow.peer_acked(&self.out.0[place].bytes);
            if Some(place) == self.announcement {
                self.announcement = None;
                self.open_last(io)?;
            }
        }
        for (connection, bytes) in self.flow.due() {
            let mut rpcs = Vec::new();
            let written = Rpc::WindowSize { connection, bytes }.write(&mut rpcs);
            written.map_err(|e| format!("{e:?}"))?;
            let place = self.add_back(epoch, None, rpcs)?;
            self.deliver(io, epoch, Some(place))?;
        }
        Ok(())
    }

    /// The peer knows the new key: what waited for it is sent.
    fn open_last(&mut self, io: &mut Io) -> Result<(), String> {
        let epoch = self.epochs.len() - 1;
        self.epochs[epoch].is_open = true;
        let waits = |entry: &Entry| entry.epoch == epoch && entry.sent.is_none();
        let all = self.out.0.iter().enumerate().filter(|(_, e)| waits(e));
        let places: Vec<usize> = all.map(|(place, _)| place).collect();
        places
            .into_iter()
            .try_for_each(|place| self.send(io, place))
    }

    /// Gives our engine a packet: one of the sequence, or a bare one.
    fn deliver(&mut self, io: &mut Io, epoch: usize, place: Option<usize>) -> Result<(), String> {
        let entry = place.map(|place| &self.back.0[place]);
        let seq = entry.and_then(|entry| entry.engine).unwrap_or(0);
        let has_key = entry.is_some_and(|entry| entry.has_key);
        let rpcs = entry.map_or_else(Vec::new, |entry| entry.rpcs.clone());
        let ack = if has_key && epoch == 0 {
            0
        } else {
            self.out.engine_ack()
        };
        let epoch = &mut self.epochs[epoch];
        let timed = Nonce::new(io.wall, Side::Client);
        let nonce = match epoch.nonce {
            // One sent again takes the time anew.
            Some(next) if has_key => next.max(timed),
            Some(next) => next,
            None => timed,
        };
        let is_first = !std::mem::replace(&mut epoch.is_answered, true);
        let mut length = 0;
        let mut all = Vec::new();
        if has_key {
            let (tid, key) = (*epoch.next_tid.as_bytes(), epoch.client);
            let written = Rpc::NextTid { tid, key }.write(&mut all);
            written.map_err(|e| format!("{e:?}"))?;
            length = M_MIN.into();
        } else if is_first {
            // The server's first answer under a key.
            length = ANSWER;
        }
        all.extend_from_slice(&rpcs);
        epoch.nonce = nonce.following();
        let header = Header {
            tid: epoch.tid,
            nonce,
            initiation: has_key.then_some((epoch.client, None)),
        };
        let mut out = Vec::new();
        let sealed = header.seal((seq, ack), &all, length, &epoch.stream, &mut out);
        sealed.ok_or("too long for a packet")?;
        io.to_engine.push((self.seen_at, out));
        Ok(())
    }

    /// Which key the peer's last RPCs were under.
    pub fn answered_under(&self) -> Option<usize> {
        let last = self.back.0.iter().rev().find(|entry| entry.peer.is_some());
        last.map(|entry| entry.epoch)
    }

    /// Sends again what no engine would: packets that the adapter made.
    pub fn tick(&mut self, io: &mut Io) -> Result<(), String> {
        const AGAIN: u64 = 1_000_000_000;
        let is_due = |entry: &Entry| {
            let is_old = entry.sent.is_some_and(|sent| sent + AGAIN <= io.instant);
            entry.engine.is_none() && !entry.is_acked && is_old
        };
        let all = self.out.0.iter().enumerate().filter(|(_, e)| is_due(e));
        let places: Vec<usize> = all.map(|(place, _)| place).collect();
        if self.is_gone {
            return Ok(());
        }
        places
            .into_iter()
            .try_for_each(|place| self.send(io, place))
    }
}

fn tally(io: &mut Io, by: Speaker, translated: &Translated) {
    let names = translated.names.iter();
    io.heard.extend(names.map(|name| (by, name.clone())));
}
