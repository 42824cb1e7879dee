//! Packets of tunnels, decrypted together: `spec/tunnel.md` section 6.3.

use alloc::vec::Vec;
use core::net::SocketAddr;

use super::channel::{self, Now};
use super::endpoint::Endpoint;
use super::party::Party;
use super::tids::TidUse;
use super::trace::{Received, TracedPacket};
use crate::boxes::{self, TAG};
use crate::reason::Reason;
use crate::wire::packet::{Boxed, HEADER_BYTES};
use crate::wire::plaintext::Plaintext;
use crate::wire::rpc::Rpc;

/// Packets that are decrypted in one call.
pub(super) const GROUP: usize = 16;

/// A packet of a tunnel that is to be decrypted.
pub(super) struct Waiting<'a> {
    pub index: u32,
    pub which: TidUse,
    pub source: SocketAddr,
    pub boxed: Boxed<'a>,
}

/// A packet of a tunnel that was decrypted.
pub struct Decrypted<'a> {
    pub(super) packet: TracedPacket,
    pub(super) which: TidUse,
    pub(super) source: SocketAddr,
    pub(super) plaintext: Plaintext<'a>,
}

impl<T: Party> Endpoint<T> {
    /// Decrypts some packets, [`GROUP`] at most, each with the key that it is for, and does what is in them.
    pub(super) fn decrypt_group(&mut self, now: &mut Now<'_>, group: &mut Vec<Waiting<'_>>) {
        let (tunnels, counters) = (&self.tunnels, &mut self.shared.as_mut().counters);
        let keys = |index, which| tunnels.peek(index)?.keys()?.of(which);
        group.retain(|waiting| {
            let checked = keys(waiting.index, waiting.which)
                .ok_or(Reason::UnknownTid)
                .and_then(|keys| keys.seen.check(waiting.boxed.nonce));
            checked
                .inspect_err(|reason| counters.count(*reason))
                .is_ok()
        });
        let mut are_good = [false; GROUP];
        let mut packets = Vec::with_capacity(GROUP);
        for Waiting {
            index,
            which,
            boxed,
            ..
        } in &mut *group
        {
            packets.extend(keys(*index, *which).and_then(|keys| boxed.packet(&keys.stream)));
        }
        let count = packets.len();
        boxes::decrypt(&mut packets, &mut are_good[..count]);
        drop(packets);
        for (waiting, is_good) in group.drain(..).zip(are_good) {
            if is_good {
                self.decrypted(now, waiting);
            } else {
                self.count(Reason::BadBox);
            }
        }
    }

    /// A packet without *key* was decrypted.
    pub(super) fn decrypted(&mut self, now: &mut Now<'_>, waiting: Waiting<'_>) {
        let Waiting {
            index,
            which,
            source,
            boxed,
        } = waiting;
        let (tid, nonce) = (boxed.tid, boxed.nonce);
        let text = boxed.into_text();
        let keys = self.tunnels.at(index).and_then(T::keys_mut);
        // A rekey before it in the batch may have moved the key, or this nonce come twice.
        let keys = keys.and_then(|keys| keys.of_mut(which));
        let keys = keys.ok_or(Reason::UnknownTid);
        if let Err(reason) = keys.and_then(|keys| keys.seen.check(nonce)) {
            return self.count(reason);
        }
        let plaintext = match Plaintext::parse(text) {
            Ok(plaintext) => plaintext,
            Err(reason) => return self.end(now.instant, index, Some(reason)),
        };
        if plaintext.has_next_tid() {
            return self.count(Reason::Misplaced);
        }
        let packet = TracedPacket {
            tid,
            nonce,
            seq: plaintext.seq,
            ack: plaintext.ack,
            bytes: HEADER_BYTES + TAG + text.len(),
            is_initiation: false,
        };
        let decrypted = Decrypted {
            packet,
            which,
            source,
            plaintext,
        };
        self.take(now, index, &decrypted);
    }

    /// Does what a packet has: from "the nonce is recorded" on.
    pub(super) fn take(&mut self, now: &mut Now<'_>, index: u32, decrypted: &Decrypted<'_>) {
        let Some(tunnel) = self.tunnels.at(index) else {
            return;
        };
        let done = take(tunnel, &mut self.shared, now, decrypted);
        let is_over = tunnel.is_over();
        match done {
            Ok(()) if !is_over => self.touch(index),
            Ok(()) => self.end(now.instant, index, None),
            Err(reason) => self.end(now.instant, index, Some(reason)),
        }
    }
}

fn take<T: Party>(
    tunnel: &mut T,
    shared: &mut T::Shared,
    now: &mut Now<'_>,
    decrypted: &Decrypted<'_>,
) -> Result<(), Reason> {
    let Decrypted {
        packet,
        which,
        plaintext,
        ..
    } = decrypted;
    let Plaintext { seq, ack, .. } = *plaintext;
    let keys = tunnel.keys_mut().and_then(|keys| keys.of_mut(*which));
    let is_newest = keys.ok_or(Reason::WrongState)?.seen.note(packet.nonce);
    let sending = &mut tunnel.channel_mut().sending;
    let is_ack = sending.acknowledge(ack, seq == 0, now.instant)?.packets > 0;
    tunnel.heard(shared, now, decrypted, is_newest, is_ack)?;
    shared.as_mut().trace.note(|| Received {
        at: now.instant,
        packet: *packet,
        status: tunnel.channel().status(tunnel.address()),
    });
    let (urgent, counted) = plaintext.split()?;
    for call in urgent {
        match Rpc::of(&call, tunnel.channel().other())? {
            // It was looked at when the packet was accepted.
            Rpc::NextTid { .. } if packet.is_initiation => {}
            rpc => tunnel.urgent(shared, rpc)?,
        }
    }
    if packet.is_initiation {
        tunnel.channel_mut().receiving.owe_at_once();
    }
    channel::receive(tunnel, shared, now, seq, counted)
}
