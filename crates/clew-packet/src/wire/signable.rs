//! Which datagrams can carry a trailer: the table of specification section 2, in its order.

use crate::{
    net::datagram::{Datagram, Place},
    net::frame::Frame,
    net::ip::{
        Extension, Extensions, Ipv4, Ipv6, Version, extension_length, ipv4, ipv6, option, protocol,
    },
    net::link::{self, Descent, LengthField},
    reason::Reason,
};

/// Finds the outermost IP datagram of a frame and checks that it is signable, but for `too-big`,
/// which depends on what is to be appended.
///
/// # Errors
/// The first rule of the table that fails.
pub(crate) fn locate<'a>(frame: &Frame<'a>) -> Result<Datagram<'a>, Reason> {
    let descent = link::descend(frame)?;
    let [first] = frame.read(descent.start, Reason::BadLength)?;
    if Version::from_first_byte(first) != Some(descent.version) {
        return Err(Reason::BadVersion);
    }
    let place = match descent.version {
        Version::V4 => locate_ipv4(frame, &descent)?,
        Version::V6 => locate_ipv6(frame, &descent)?,
    };
    Ok(Datagram {
        frame: frame.bytes,
        place,
    })
}

fn locate_ipv4(frame: &Frame<'_>, descent: &Descent) -> Result<Place, Reason> {
    let start = descent.start;
    let header = Ipv4(frame.slice(start, ipv4::HEADER_MIN, Reason::BadLength)?);
    let length = LengthField {
        at: start + ipv4::TOTAL_LENGTH,
        from: start,
        max: u16::MAX,
    };
    if header.total_length() == 0 {
        return Err(Reason::ZeroLength);
    }
    if !(ipv4::HEADER_MIN..=header.total_length()).contains(&header.header_length()) {
        return Err(Reason::BadLength);
    }
    let end = length.end(frame.bytes);
    check_end(frame, descent, end)?;
    if header.is_fragment() {
        return Err(Reason::Fragment);
    }
    Ok(Place {
        version: Version::V4,
        start,
        upper: start + header.header_length(),
        end,
        protocol: header.protocol(),
        destination: start + ipv4::DESTINATION.start,
        lengths: [Some(length), descent.lengths[0], descent.lengths[1]],
    })
}

fn locate_ipv6(frame: &Frame<'_>, descent: &Descent) -> Result<Place, Reason> {
    let start = descent.start;
    let header = Ipv6(frame.slice(start, ipv6::HEADER, Reason::BadLength)?);
    let from = start + ipv6::HEADER;
    let length = LengthField {
        at: start + ipv6::PAYLOAD_LENGTH,
        from,
        max: u16::MAX,
    };
    if header.payload_length() == 0 && header.next_header() != protocol::NO_NEXT_HEADER {
        return Err(empty_reason(frame, from, header.next_header()));
    }
    let end = length.end(frame.bytes);
    check_end(frame, descent, end)?;
    let mut extensions = Extensions::new(&frame.bytes[from..end], header.next_header());
    let destination = final_destination(&mut extensions, start)?;
    Ok(Place {
        version: Version::V6,
        start,
        upper: from + extensions.at,
        end,
        protocol: extensions.protocol,
        destination,
        lengths: [Some(length), descent.lengths[0], descent.lengths[1]],
    })
}

/// Checks that the datagram ends within the frame on the wire, within the layers around it, and
/// within what was captured.
fn check_end(frame: &Frame<'_>, descent: &Descent, end: usize) -> Result<(), Reason> {
    let stated = descent
        .lengths
        .iter()
        .flatten()
        .map(|length| length.end(frame.bytes));
    let limit = stated.fold(frame.wire_len.max(frame.bytes.len()), usize::min);
    if end > limit {
        return Err(Reason::BadLength);
    }
    if end > frame.bytes.len() {
        return Err(Reason::Truncated);
    }
    Ok(())
}

/// Says why a payload length of zero stands before a header: jumbo payload or offload.
fn empty_reason(frame: &Frame<'_>, at: usize, next_header: u8) -> Reason {
    if next_header != protocol::HOP_BY_HOP {
        return Reason::ZeroLength;
    }
    let start = frame.slice(at, 2, Reason::ZeroLength);
    let length = start.map(|bytes| extension_length(bytes).unwrap_or(0));
    match length.and_then(|length| frame.slice(at, length, Reason::ZeroLength)) {
        Err(reason) => reason,
        Ok(bytes) => {
            let header = Extension {
                protocol: next_header,
                at,
                bytes,
            };
            let jumbo = header.options().any(|option| option[0] == option::JUMBO);
            if jumbo {
                Reason::Jumbo
            } else {
                Reason::ZeroLength
            }
        }
    }
}

/// Walks to the upper layer and returns the offset of the final destination's address.
fn final_destination(extensions: &mut Extensions<'_>, start: usize) -> Result<usize, Reason> {
    let mut destination = Ok(start + ipv6::DESTINATION.start);
    // A fragment header further down names the reason before a routing header does.
    while let Some(extension) = extensions.advance()? {
        destination = destination.and_then(|so_far| {
            let last = extension.final_destination()?;
            Ok(last.map_or(so_far, |at| start + ipv6::HEADER + at))
        });
    }
    destination
}
