//! A packet with a trailer in its frame: read, mark, strip.

use alloc::vec::Vec;

use crate::{
    carrier,
    net::datagram::Datagram,
    net::frame::Frame,
    net::upper::Upper,
    reason::{Reason, SignOutcome},
    wire::block::MARK,
    wire::bytes::{put_u16, u16_at},
    wire::fields::append_zeroed,
    wire::mark::{MARK_BYTES_MAX, Mark},
    wire::saved::Saved,
    wire::signable,
    wire::trailer::{FOOT_BYTES, Foot, Trailer},
};

/// Does what a run of signing does to a packet that is signed already, whether it is selected or not.
/// Returns none, and leaves `out` empty, if it is not.
///
/// The marked frame is written to `out` with `already-signed`; with `mark-full` and `carrier` that
/// stays empty and the packet passes as it is. A marked packet may exceed the sender's MTU.
pub fn mark(frame: &Frame<'_>, out: &mut Vec<u8>) -> Option<SignOutcome> {
    out.clear();
    let datagram = signable::locate(frame).ok()?;
    mark_datagram(&datagram, out)
}

/// As [`mark`].
pub(crate) fn mark_datagram(datagram: &Datagram<'_>, out: &mut Vec<u8>) -> Option<SignOutcome> {
    if carrier::payload(datagram).is_some() {
        return Some(SignOutcome::Carrier);
    }
    let (packet, _) = Trailed::of(*datagram).ok()?;
    Some(packet.add_mark(out))
}

/// Undoes exactly one run of signing: see [`Stripped`].
///
/// The frame is written to `out`, which is left empty if nothing was stripped; [`Frame::with`] tells
/// its length on the wire. Packets in carriers other than the trailer stay as they are.
pub fn strip(frame: &Frame<'_>, out: &mut Vec<u8>) -> Stripped {
    out.clear();
    let trailed = signable::locate(frame).and_then(|datagram| {
        let is_carrier = carrier::payload(&datagram).is_some();
        (!is_carrier).then_some(datagram).ok_or(Reason::NoTrailer)
    });
    match trailed.and_then(Trailed::of) {
        Ok((packet, trailer)) => packet.strip(&trailer, out),
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

/// A datagram with a well-formed trailer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trailed<'a> {
    /// The datagram as it arrived, trailer and mark included.
    datagram: Datagram<'a>,
    /// The original's upper layer.
    kind: Upper,
    mark: Option<Mark>,
    /// Length of trailer and mark.
    appended: usize,
}

impl<'a> Trailed<'a> {
    /// Reads the end of a signable datagram.
    pub fn of(datagram: Datagram<'a>) -> Result<(Self, Trailer<'a>), Reason> {
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

    fn of_marked(datagram: Datagram<'a>, foot: &Foot) -> Result<(Self, Trailer<'a>), Reason> {
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
    ) -> Result<(Self, Trailer<'a>), Reason> {
        let place = &datagram.place;
        let appended = mark.map_or(0, |mark| mark.length()) + trailer.length();
        let kind = datagram.kind(appended);
        if !trailer.saved.makes_sense(place, kind) {
            return Err(ill_formed);
        }
        if mark.is_some_and(|mark| !mark.saved.makes_sense(place, kind)) {
            return Err(Reason::ReservedBits);
        }
        let packet = Self {
            datagram,
            kind,
            mark,
            appended,
        };
        Ok((packet, trailer))
    }

    /// Returns how many runs of signing passed the packet after it had its trailer.
    pub fn marks(&self) -> u8 {
        self.mark.map_or(0, |mark| mark.count)
    }

    /// The datagram without trailer and mark; lengths and checksums in it are still those that arrived.
    pub fn original(&self) -> Datagram<'a> {
        self.datagram.without(self.appended)
    }

    /// Appends a mark or raises the one that is there.
    fn add_mark(&self, out: &mut Vec<u8>) -> SignOutcome {
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

    /// Writes the frame with another trailer instead of the packet's and its mark.
    ///
    /// # Errors
    /// `too-big` if there is no room for it.
    pub fn with(&self, trailer: &Trailer<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        if self.datagram.room() + self.appended < trailer.length() + MARK_BYTES_MAX {
            return Err(Reason::TooBig);
        }
        let mut frame = Vec::new();
        remove(
            &mut frame,
            &self.datagram,
            self.kind,
            self.appended,
            &trailer.saved,
        );
        let original = Datagram {
            frame: &frame,
            ..self.original()
        };
        out.clear();
        let emit = |buffer: &mut [u8]| trailer.emit(buffer);
        append(out, &original, self.kind, trailer.length(), emit);
        Ok(())
    }

    /// Appends the original, without what stands around the datagram.
    pub fn write_original(&self, trailer: &Trailer<'_>, out: &mut Vec<u8>) {
        let mut frame = Vec::new();
        remove(
            &mut frame,
            &self.datagram,
            self.kind,
            self.appended,
            &trailer.saved,
        );
        let place = self.original().place;
        out.extend_from_slice(&frame[place.start..place.end]);
    }

    fn strip(&self, trailer: &Trailer<'_>, out: &mut Vec<u8>) -> Stripped {
        match self.mark {
            None => {
                remove(
                    out,
                    &self.datagram,
                    self.kind,
                    self.appended,
                    &trailer.saved,
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
