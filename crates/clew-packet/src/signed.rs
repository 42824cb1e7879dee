//! A packet that carries a trailer: read, mark, strip. No key is needed for any of it.

use alloc::vec::Vec;
use clew_group::Scheme;

use crate::{
    net::datagram::Datagram,
    net::flow::{Flow, flow_of},
    net::frame::Frame,
    net::upper::Upper,
    reason::{Reason, SignOutcome},
    receiver::replay::message_hash,
    sender::window,
    time::Timestamp,
    wire::block::{Block, MARK, Mode},
    wire::bytes::{put_u16, u16_at},
    wire::carriage::Carriage,
    wire::fields::{append_zeroed, leaf, write_message},
    wire::mark::{MARK_BYTES_MAX, Mark},
    wire::saved::Saved,
    wire::signable,
    wire::trailer::{FOOT_BYTES, Foot, GroupTag, Trailer},
};

/// Reads the trailer of a frame, through a mark if there is one: steps 1 to 3 of section 6.
///
/// # Errors
/// The reason why there is no well-formed trailer.
pub fn read<'a>(frame: &Frame<'a>) -> Result<SignedPacket<'a>, Reason> {
    SignedPacket::of(signable::locate(frame)?)
}

/// Does what a run of signing does to a packet that carries a trailer already, whether it is
/// selected or not. Returns none, and leaves `out` empty, if it carries none.
///
/// The marked frame is written to `out` with `already-signed`; with `mark-full` that stays empty and
/// the packet passes as it is. A marked packet may exceed the sender's MTU.
pub fn mark(frame: &Frame<'_>, out: &mut Vec<u8>) -> Option<SignOutcome> {
    out.clear();
    read(frame).ok().map(|packet| packet.add_mark(out))
}

/// Undoes exactly one run of signing: see [`Stripped`].
///
/// The frame is written to `out`, which is left empty if nothing was stripped; [`Frame::with`] tells
/// its length on the wire.
pub fn strip(frame: &Frame<'_>, out: &mut Vec<u8>) -> Stripped {
    out.clear();
    match read(frame) {
        Ok(packet) => packet.strip(out),
        Err(reason) => Stripped::Nothing(reason),
    }
}

/// What [`strip`] undid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stripped {
    /// There is no well-formed trailer, for this reason.
    Nothing(Reason),
    /// The trailer is gone, the original restored.
    Trailer,
    /// One run is gone from the mark; the trailer is still there.
    Mark,
}

/// A packet with a well-formed trailer. What the trailer says is not verified.
#[derive(Clone, Copy, Debug)]
pub struct SignedPacket<'a> {
    /// The datagram as it arrived, trailer and mark included.
    datagram: Datagram<'a>,
    /// The original's upper layer.
    kind: Upper,
    mark: Option<Mark>,
    trailer: Trailer<'a>,
}

impl<'a> SignedPacket<'a> {
    /// Returns the trailer.
    pub const fn trailer(&self) -> &Trailer<'a> {
        &self.trailer
    }

    /// Returns how many runs of signing passed the packet after it had its trailer.
    pub fn marks(&self) -> u8 {
        self.mark.map_or(0, |mark| mark.count)
    }

    /// Appends the message that the group signature covers: `M` of section 4.
    pub fn write_message(&self, out: &mut Vec<u8>) {
        write_message(out, &self.original(), &self.trailer);
    }

    /// Returns the digest, 32 bytes, that names this packet among those under its signature: in mode
    /// `tree` the packet's leaf, else SHA-256 of `M` (`spec/opening.md` section 2).
    ///
    /// Carriage, form and marks of a packet do not change it.
    pub fn asked(&self) -> [u8; 32] {
        let Block::Tree { block, index, .. } = self.trailer.block else {
            let mut message = Vec::new();
            self.write_message(&mut message);
            return message_hash(&message);
        };
        let (original, trailer) = (self.original(), &self.trailer);
        leaf(&mut Vec::new(), &block, index, &original, trailer)
    }

    /// Returns the digest of the packet with its signature, by which later packets of its window cover it.
    pub fn window_digest(&self) -> [u8; 32] {
        let mut message = Vec::new();
        self.write_message(&mut message);
        window::digest(&message, self.trailer.body)
    }

    /// Tells whether a verified signature covers this packet: `body` in either form over `message`,
    /// which is `M` of the packet that it was verified with.
    ///
    /// That packet's `M` has to be this one's. In full carriage the body has to be the same up to its
    /// form, because packets of two machines can have one `M`. In coded carriage `M` is enough, as it
    /// is for a [`Receiver`](crate::Receiver): it names the block, and a share that somebody altered on
    /// the way takes no packet out of it.
    pub fn is_covered_by(&self, message: &[u8], body: &[u8]) -> bool {
        let mut own = Vec::new();
        self.write_message(&mut own);
        let plain = self.trailer.scheme.signature_bytes(false);
        let carried = |body| self.trailer.body.starts_with(body);
        let is_of_body = match self.trailer.carriage {
            Carriage::Full => body.get(..plain).is_some_and(carried),
            Carriage::Coded(_) => true,
        };
        is_of_body && own == message
    }

    /// Returns whose flow it is of.
    pub(crate) fn flow(&self) -> Flow {
        flow_of(&self.datagram).key()
    }

    /// Returns what to tell about the trailer.
    pub fn summary(&self) -> Summary {
        let Trailer {
            group,
            epoch,
            timestamp,
            scheme,
            nat,
            tolerant,
            incremental,
            ..
        } = self.trailer;
        let (mode, marks) = (self.trailer.block.mode(), self.marks());
        Summary {
            group,
            epoch,
            timestamp,
            scheme,
            mode,
            nat,
            tolerant,
            incremental,
            marks,
        }
    }

    /// Returns the length of the datagram in bytes, trailer and mark included.
    pub(crate) fn length(&self) -> usize {
        self.datagram.place.end - self.datagram.place.start
    }

    /// Reads the end of a signable datagram.
    pub(crate) fn of(datagram: Datagram<'a>) -> Result<Self, Reason> {
        let upper = datagram.upper();
        let foot = Foot::parse(upper)?;
        if foot.mode == MARK {
            return Self::of_marked(datagram, &foot);
        }
        if datagram.room() < MARK_BYTES_MAX {
            return Err(Reason::TooBig);
        }
        Self::checked(datagram, None, Trailer::parse(upper)?, Reason::ReservedBits)
    }

    fn of_marked(datagram: Datagram<'a>, foot: &Foot) -> Result<Self, Reason> {
        let upper = datagram.upper();
        let mark = Mark::parse(upper, foot)?;
        if datagram.room() + mark.length() < MARK_BYTES_MAX {
            return Err(Reason::BadMark);
        }
        let within = &upper[..upper.len() - mark.length()];
        let trailer = Trailer::parse(within).map_err(|_| Reason::BadMark)?;
        Self::checked(datagram, Some(mark), trailer, Reason::BadMark)
    }

    /// Checks that saved values make sense; a trailer's that do not are `ill_formed`.
    fn checked(
        datagram: Datagram<'a>,
        mark: Option<Mark>,
        trailer: Trailer<'a>,
        ill_formed: Reason,
    ) -> Result<Self, Reason> {
        let place = &datagram.place;
        let mark_length = mark.map_or(0, |mark| mark.length());
        let kind = datagram.kind(mark_length + trailer.length());
        if !trailer.saved.makes_sense(place, kind) {
            return Err(ill_formed);
        }
        if mark.is_some_and(|mark| !mark.saved.makes_sense(place, kind)) {
            return Err(Reason::ReservedBits);
        }
        Ok(Self {
            datagram,
            kind,
            mark,
            trailer,
        })
    }

    /// Appends a mark or raises the one that is there.
    pub(crate) fn add_mark(&self, out: &mut Vec<u8>) -> SignOutcome {
        match self.mark.map(|mark| mark.count) {
            None => {
                let saved = Saved::of(&self.datagram, self.kind);
                let mark = Mark { saved, count: 1 };
                let emit = |buffer: &mut [u8]| mark.emit(buffer);
                append(out, &self.datagram, self.kind, mark.length(), emit);
            }
            Some(u8::MAX) => return SignOutcome::MarkFull,
            Some(count) => self.recount(out, count + 1),
        }
        SignOutcome::AlreadySigned
    }

    /// Writes the frame with the packet in full carriage, verifiable alone, and without a mark.
    /// `signature` is that of its block, which is not verified here.
    ///
    /// # Errors
    /// `bad-trailer-length` if signatures have another length; `too-big` if there is no room for it.
    pub fn in_full(&self, signature: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let Trailer { scheme, saved, .. } = self.trailer;
        if signature.len() != scheme.signature_bytes(self.trailer.incremental) {
            return Err(Reason::BadTrailerLength);
        }
        let full = Trailer {
            body: signature,
            carriage: Carriage::Full,
            ..self.trailer
        };
        let appended = self.mark_length() + self.trailer.length();
        if self.datagram.room() + appended < full.length() + MARK_BYTES_MAX {
            return Err(Reason::TooBig);
        }
        let mut frame = Vec::new();
        remove(&mut frame, &self.datagram, self.kind, appended, &saved);
        let original = Datagram {
            frame: &frame,
            ..self.datagram.without(appended)
        };
        out.clear();
        let emit = |buffer: &mut [u8]| full.emit(buffer);
        append(out, &original, self.kind, full.length(), emit);
        Ok(())
    }

    fn strip(&self, out: &mut Vec<u8>) -> Stripped {
        match self.mark {
            None => {
                let Trailer { saved, .. } = self.trailer;
                remove(
                    out,
                    &self.datagram,
                    self.kind,
                    self.trailer.length(),
                    &saved,
                );
                Stripped::Trailer
            }
            Some(mark) => {
                match mark.count {
                    1 => remove(out, &self.datagram, self.kind, mark.length(), &mark.saved),
                    count => self.recount(out, count - 1),
                }
                Stripped::Mark
            }
        }
    }

    /// Writes the frame with another count in its mark. A wrong checksum stays wrong in the same
    /// bits: there is no room to save it, and so the way back is exact.
    fn recount(&self, out: &mut Vec<u8>, count: u8) {
        let Datagram { frame, place } = self.datagram;
        out.extend_from_slice(frame);
        out[place.end - FOOT_BYTES - 1] = count;
        let computed = |frame: &[u8]| place.l4_checksum(frame, self.kind).unwrap_or(0);
        if let Some(at) = place.l4_checksum_at(self.kind) {
            let changed = computed(frame) ^ computed(out);
            put_u16(out, at, u16_at(frame, at) ^ changed);
        }
    }

    /// The datagram without trailer and mark; lengths and checksums in it are still those that arrived.
    fn original(&self) -> Datagram<'a> {
        self.datagram
            .without(self.mark_length() + self.trailer.length())
    }

    fn mark_length(&self) -> usize {
        self.mark.map_or(0, |mark| mark.length())
    }
}

/// What a trailer says, without its signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Which group.
    pub group: GroupTag,
    /// Which epoch.
    pub epoch: u32,
    /// When it was signed; [`Timestamp::NONE`] if the packet had no time.
    pub timestamp: Timestamp,
    /// How it was signed.
    pub scheme: Scheme,
    /// What one signature covers.
    pub mode: Mode,
    /// Source address and port are not signed.
    pub nat: bool,
    /// ECN flags of TCP and the MSS option's value are not signed.
    pub tolerant: bool,
    /// The signature carries what makes verification incremental.
    pub incremental: bool,
    /// How many runs of signing passed the packet after it had its trailer.
    pub marks: u8,
}

/// Writes the frame with `length` bytes appended to its datagram; lengths and checksums follow.
pub(crate) fn append(
    out: &mut Vec<u8>,
    datagram: &Datagram<'_>,
    kind: Upper,
    length: usize,
    emit: impl FnOnce(&mut [u8]),
) {
    let Datagram { frame, mut place } = *datagram;
    let (before, after) = frame.split_at(place.end);
    out.extend_from_slice(before);
    append_zeroed(out, length, emit);
    out.extend_from_slice(after);
    place.move_end(out, place.end + length);
    Saved::default().restore(out, &place, kind);
}

/// Writes the frame without the last `length` bytes of its datagram; lengths follow, and what is
/// not saved is computed.
fn remove(out: &mut Vec<u8>, datagram: &Datagram<'_>, kind: Upper, length: usize, saved: &Saved) {
    let Datagram { frame, mut place } = *datagram;
    let end = place.end - length;
    out.extend_from_slice(&frame[..end]);
    out.extend_from_slice(&frame[place.end..]);
    place.move_end(out, end);
    saved.restore(out, &place, kind);
}
