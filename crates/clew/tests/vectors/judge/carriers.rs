//! Vectors of packets in UDP datagrams: a receiver that starts new, and puts fragments together.

use std::collections::BTreeMap;

use clew_keys::{MemberKeyFile, TextFile};
use clew_packet::datagram::{self, Parsed, Rest};
use clew_packet::fragment::{Reassembler, Taken};
use clew_packet::{
    Acceptance, Carrier, Conclusion, Frame, LinkType, Reason, Received, Receiver, Replay, Restorer, SignOutcome, SignedPacket,
    Ticket, Timestamp, Udp, read, read_fragment, read_whole, write_whole,
};
use clew_wire::Instant;
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

use super::packet_trailer::{Keys, frame, keys, policy, precursor, sender};
use super::{Stop, holds};
use crate::case::Case;

pub const RULES: &str = "valid unknown-version unknown-carrier bad-carrier bad-carrier-length bad-fragment missing-fragment \
    cookie unknown-mode reserved-bits bad-block bad-code unknown-carriage unknown-scheme unknown-group unknown-epoch stale \
    too-few-shares bad-encoding bad-signature duplicate reordered truncated";

pub fn judge(case: &Case) -> Result<(), Stop> {
    let mut reader = Reader::new(case)?;
    let earlier = case.all("earlier-frame");
    let now = case.u64("time")?;
    let times = match case.has("earlier-time") {
        true => case.all("earlier-time").into_iter().map(number).collect(),
        false => vec![now; earlier.len()],
    };
    for (bytes, time) in earlier.into_iter().zip(times) {
        reader.take(Frame::whole(LinkType(case.u32("link-type")?), bytes), time);
    }
    let last = frame(case, case.bytes("frame")?)?;
    let (conclusion, whole) = reader.take(last, now);
    case.check("verdict", conclusion.verdict.as_str())?;
    if conclusion.reason != Reason::Ok {
        return Err(Stop::Rule(conclusion.reason.as_str()));
    }
    if !case.has("message") {
        return Ok(());
    }
    let packet = match &whole {
        Some(datagram) => read_whole(&last, datagram),
        None => read(&last),
    };
    let packet = packet.map_err(|reason| Stop::Rule(reason.as_str()))?;
    values(case, &packet)?;
    if case.has("full") {
        full(case, &last, &packet, whole.as_deref())?;
    }
    match case.has("original") {
        true => made(case, &last),
        false => Ok(()),
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A receiver, and what it said of the fragments that made a packet whole.
struct Reader {
    receiver: Receiver<Keys>,
    reassembler: Reassembler<usize>,
    replay: Replay,
    count: usize,
    said: BTreeMap<usize, Conclusion>,
}

impl Reader {
    fn new(case: &Case) -> Result<Self, Stop> {
        let acceptance = match case.has("receiver-start") {
            true => Acceptance::live(Timestamp(case.u64("receiver-start")?)),
            false => Acceptance::capture(),
        };
        Ok(Self {
            receiver: Receiver::new(keys(case)?, acceptance),
            reassembler: Reassembler::new(),
            replay: acceptance.replay,
            count: 0,
            said: BTreeMap::new(),
        })
    }

    /// The conclusion, and the datagram if the frame made one whole.
    fn take(&mut self, frame: Frame<'_>, time: u64) -> (Conclusion, Option<Vec<u8>>) {
        self.count += 1;
        let (count, now) = (self.count, Some(Timestamp(time)));
        let mut looked = self.receiver.look(&frame, now);
        let mut whole = None;
        if let Some(fragment) = read_fragment(&frame) {
            let of = |reason| Conclusion::of(reason, self.replay);
            match self.reassembler.take(&fragment, Instant::from_nanos(time), count) {
                Taken::Waits => return (of(Reason::MissingFragment), None),
                Taken::Bad { .. } => return (of(Reason::BadFragment), None),
                Taken::Again { is_second: false, .. } if self.replay == Replay::Refuse => {
                    return (of(Reason::Duplicate), None);
                }
                Taken::Again { of: None, .. } => return (of(Reason::MissingFragment), None),
                Taken::Again { of: Some(number), .. } => return (self.said[&number], None),
                Taken::Whole { datagram, .. } => {
                    looked = self.receiver.look_packet(read_whole(&frame, &datagram), now);
                    whole = Some(datagram);
                }
            }
        }
        let conclusion = match self.receiver.take(looked) {
            Received::Done(conclusion) => conclusion,
            Received::Pending(pending) => {
                let checked = pending.check(&mut ChaCha20Rng::seed_from_u64(1));
                self.receiver.conclude(checked)
            }
            Received::Waiting(ticket) => self.wait(ticket),
        };
        self.said.insert(count, conclusion);
        (conclusion, whole)
    }

    /// Nothing settles a packet that waits but a later frame: no case asks about an earlier one.
    fn wait(&mut self, _: Ticket) -> Conclusion {
        Conclusion::of(Reason::TooFewShares, self.replay)
    }
}

fn values(case: &Case, packet: &SignedPacket<'_>) -> Result<(), Stop> {
    let (mut message, mut delivered) = (Vec::new(), Vec::new());
    packet.write_message(&mut message);
    packet.write_packet(&mut delivered);
    case.check("message", &message)?;
    case.check("packet", &delivered)
}

/// The packet in full carriage and in one frame.
fn full(case: &Case, last: &Frame<'_>, packet: &SignedPacket<'_>, whole: Option<&[u8]>) -> Result<(), Stop> {
    let mut out = Vec::new();
    if let Some(datagram) = whole {
        let written = write_whole(last, datagram, &mut out);
        holds(written.is_ok(), "there is room for the datagram")?;
        return case.check("full", out);
    }
    let mut restorer = Restorer::new();
    for bytes in case.all("earlier-frame") {
        let earlier = Frame::whole(last.link, bytes);
        let packet = read(&earlier).map_err(|reason| Stop::Rule(reason.as_str()))?;
        holds(restorer.take(&packet, ()).is_none(), "the last one restores")?;
    }
    let restored = restorer.take(packet, ());
    let restored = restored.ok_or_else(|| Stop::Wrong("too few shares".to_owned()))?;
    let written = packet.in_full(&restored.signature, &mut out);
    holds(written.is_ok(), "there is room for the full form")?;
    case.check("full", out)
}

/// Signs the original with the nonces of the case: the frame has that datagram.
fn made(case: &Case, last: &Frame<'_>) -> Result<(), Stop> {
    let key = super::other("key-file", case.word("member-key")?)?;
    let key = MemberKeyFile::decode(&key.joined("line")?)?;
    let carrier = match case.word("carrier")? {
        "udp-tunnel" => Carrier::UdpTunnel,
        "udp-transport" => Carrier::UdpTransport,
        other => return Err(Stop::Wrong(format!("{other} is no carrier over UDP"))),
    };
    let precursor = precursor(case, &key)?;
    let sender = sender(case, &key, policy(case)?)?.with_carrier(carrier);
    let original = Frame::whole(LinkType::RAW, case.bytes("original")?);
    let time = Some(Timestamp(case.u64("time")?));
    let mut out = Vec::new();
    let outcome = sender.sign(&original, time, || precursor, &mut out);
    holds(outcome == SignOutcome::Signed, "it is signed")?;
    case.check("datagram", &out)?;
    let udp = Udp::of(last).ok_or_else(|| Stop::Wrong("the frame has no UDP".to_owned()))?;
    let is_of =
        matches!(datagram::parse(udp.payload()), Ok(Parsed { rest: Rest::Packet { carrier: c, .. }, .. }) if c == carrier);
    holds(is_of && udp.payload() == out, "the frame has the datagram")
}
