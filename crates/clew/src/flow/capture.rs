//! UDP payloads of captures.

use clew_capture::Record;
use clew_engine::AsFrame;
use clew_flow::{WallTime, rtp};
use clew_packet::Udp;
use std::borrow::Cow;

/// The UDP datagram that a record holds, if it holds one whole.
pub fn datagram(record: &Record) -> Option<Udp<'_>> {
    let (frame, _) = record.as_frame()?;
    Udp::of(&frame)
}

/// A payload as it was signed: out of the padding, if it is padded RTP with a packet signature.
pub fn signed(payload: &[u8]) -> Cow<'_, [u8]> {
    rtp::unpadded(payload).map_or(Cow::Borrowed(payload), Cow::Owned)
}

/// The record's time.
pub fn time(record: &Record) -> Option<WallTime> {
    record.packet()?.time_ns.map(WallTime::from_nanos)
}
