//! Records of packets that come from an interface instead of a file.

use std::iter;

use crate::annotate;
use crate::bytes::ByteOrder;
use crate::clock::Clock;
use crate::pcapng::{self, block, enhanced, interface, option};
use crate::record::{Form, Kind, Packet, PacketInfo, Record};

const ORDER: ByteOrder = ByteOrder::Little;

/// Returns the two records that begin a capture of one interface: its times are nanoseconds.
///
/// `link` is a `LINKTYPE_` number, `description` says how its packets were taken. A text that an
/// option cannot hold is left out.
pub fn begin(link: u16, name: &str, description: &str) -> [Record; 2] {
    let mut raw = annotate::begin_block(ORDER, block::INTERFACE);
    raw.extend(ORDER.u16_bytes(link));
    raw.extend(ORDER.u16_bytes(0));
    raw.extend(ORDER.u32_bytes(0));
    debug_assert_eq!(raw.len(), interface::OPTIONS);
    let resolution = [Clock::NANOSECONDS.resolution];
    let options = [
        annotate::encode_option(ORDER, option::INTERFACE_NAME, name.as_bytes()),
        annotate::encode_option(ORDER, option::INTERFACE_DESCRIPTION, description.as_bytes()),
        annotate::encode_option(ORDER, option::INTERFACE_RESOLUTION, &resolution),
    ];
    raw.extend(options.into_iter().flatten().flatten());
    raw.extend(annotate::END_OF_OPTIONS);
    let interface = annotate::end_block(ORDER, raw);
    [
        Record::new(annotate::section_header(ORDER), Kind::Section(ORDER)),
        Record::new(interface, Kind::Interface(ORDER)),
    ]
}

impl Record {
    /// Makes the record of a packet that came whole from an interface. `info.interface` is 0, and
    /// `info.time_ns` is the time that the record shows; without one it shows 1970.
    pub fn live(info: PacketInfo, data: &[u8]) -> Self {
        let ticks = info.time_ns.unwrap_or_default();
        let mut raw = Vec::with_capacity(enhanced::LEN_MIN + data.len().next_multiple_of(4));
        raw.extend(annotate::begin_block(ORDER, block::ENHANCED));
        raw.extend(ORDER.u32_bytes(info.interface));
        raw.extend(ORDER.u32_bytes((ticks >> 32) as u32));
        raw.extend(ORDER.u32_bytes(ticks as u32));
        raw.extend(ORDER.u32_bytes(data.len() as u32));
        raw.extend(ORDER.u32_bytes(info.wire_len));
        debug_assert_eq!(raw.len(), enhanced::DATA);
        raw.extend(data);
        raw.extend(iter::repeat_n(0, pcapng::padding(data.len())));
        let packet = Packet {
            info,
            form: Form::Enhanced,
            order: ORDER,
            clock: Clock::NANOSECONDS,
            snaplen: 0,
            len: data.len(),
            read_len: data.len(),
        };
        Self::new(annotate::end_block(ORDER, raw), Kind::Packet(packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Annotated, Note, Reader};

    fn info(frame: u64, len: u32) -> PacketInfo {
        PacketInfo {
            frame,
            interface: 0,
            link: 101,
            wire_len: len,
            time_ns: Some(1_795_255_200_000_000_001 + frame),
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut file = Annotated::new(Vec::new(), "test");
        for record in begin(101, "eth0", "packets as on the wire") {
            assert!(!file.write(record, None).unwrap());
        }
        let packets = [&b"12345"[..], b"", b"1234"];
        for (data, frame) in packets.iter().zip(1..) {
            let note = Note {
                comment: "clew: valid",
                json: r#"{"packet":1}"#,
            };
            let record = Record::live(info(frame, data.len() as u32), data);
            assert_eq!(record.data(), *data);
            assert!(file.write(record, Some(note)).unwrap());
        }
        let file = file.finish().unwrap();
        let mut reader = Reader::new(&file[..]).unwrap();
        let records: Vec<Record> = reader.by_ref().map(Result::unwrap).collect();
        assert!(reader.damage().is_none());
        let read = records.iter().filter_map(|record| record.packet());
        let expected = packets
            .iter()
            .zip(1..)
            .map(|(d, n)| info(n, d.len() as u32));
        assert!(read.eq(expected));
        assert!(records[2..].iter().map(Record::data).eq(packets));
        assert!(file.windows(4).any(|name| name == b"eth0"));
        let description = b"packets as on the wire";
        assert!(file.windows(22).any(|text| text == description));
    }
}
