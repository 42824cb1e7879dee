//! Captures built byte by byte, and short ways to read and write them.

use std::io::{self, Write};

use clew_capture::{Damage, PacketLengths, Reader, Record, Sink, Writer};

pub const ETHERNET: u16 = 1;
pub const UNSTATED: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

pub const ORDERS: [Order; 2] = [Order::Little, Order::Big];

impl Order {
    pub fn u16(self, value: u16) -> [u8; 2] {
        if self == Order::Little {
            value.to_le_bytes()
        } else {
            value.to_be_bytes()
        }
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        if self == Order::Little {
            value.to_le_bytes()
        } else {
            value.to_be_bytes()
        }
    }

    pub fn u64(self, value: u64) -> [u8; 8] {
        if self == Order::Little {
            value.to_le_bytes()
        } else {
            value.to_be_bytes()
        }
    }
}

/// One packet of a built pcap file.
pub struct Packet<'a> {
    pub seconds: u32,
    pub fraction: u32,
    pub wire_len: u32,
    pub data: &'a [u8],
}

pub fn packet(data: &[u8]) -> Packet<'_> {
    Packet {
        seconds: 1_700_000_000,
        fraction: 5,
        wire_len: data.len() as u32,
        data,
    }
}

pub const MICROSECONDS: u32 = 0xa1b2_c3d4;
pub const NANOSECONDS: u32 = 0xa1b2_3c4d;

pub fn pcap(
    order: Order,
    magic: u32,
    snaplen: u32,
    network: u32,
    packets: &[Packet<'_>],
) -> Vec<u8> {
    let mut bytes = order.u32(magic).to_vec();
    bytes.extend([order.u16(2), order.u16(4)].concat());
    bytes.extend([0x11; 8]);
    bytes.extend([order.u32(snaplen), order.u32(network)].concat());
    for packet in packets {
        let header = [
            packet.seconds,
            packet.fraction,
            packet.data.len() as u32,
            packet.wire_len,
        ];
        bytes.extend(header.map(|field| order.u32(field)).concat());
        bytes.extend(packet.data);
    }
    bytes
}

/// A pcapng file being built.
pub struct Blocks {
    pub order: Order,
    pub bytes: Vec<u8>,
}

impl Blocks {
    pub fn new(order: Order) -> Self {
        Self {
            order,
            bytes: Vec::new(),
        }
    }

    pub fn block(mut self, block_type: u32, body: &[u8]) -> Self {
        let padded = padded(body);
        let total = self.order.u32(padded.len() as u32 + 12);
        self.bytes
            .extend([&self.order.u32(block_type), &total, &padded[..], &total].concat());
        self
    }

    pub fn section(self, length: u64) -> Self {
        self.section_with(length, &[])
    }

    pub fn section_with(self, length: u64, options: &[u8]) -> Self {
        let order = self.order;
        let version = [order.u16(1), order.u16(0)].concat();
        let body = [
            &order.u32(0x1a2b_3c4d),
            &version[..],
            &order.u64(length),
            options,
        ]
        .concat();
        self.block(0x0a0d_0d0a, &body)
    }

    pub fn interface(self, link: u16, snaplen: u32, options: &[u8]) -> Self {
        let order = self.order;
        let body = [
            &order.u16(link),
            &order.u16(0),
            &order.u32(snaplen)[..],
            options,
        ]
        .concat();
        self.block(1, &body)
    }

    pub fn enhanced(self, interface: u32, ticks: u64, data: &[u8], options: &[u8]) -> Self {
        let fields = [interface, (ticks >> 32) as u32, ticks as u32];
        let fields = fields.map(|field| self.order.u32(field)).concat();
        self.with_lengths(6, &fields, data, options)
    }

    pub fn obsolete(self, interface: u16, ticks: u64, data: &[u8], options: &[u8]) -> Self {
        const DROPS: u16 = 7;
        let order = self.order;
        let time = [(ticks >> 32) as u32, ticks as u32]
            .map(|field| order.u32(field))
            .concat();
        let fields = [&order.u16(interface), &order.u16(DROPS), &time[..]].concat();
        self.with_lengths(2, &fields, data, options)
    }

    pub fn simple(self, wire_len: u32, data: &[u8]) -> Self {
        let body = [&self.order.u32(wire_len), data].concat();
        self.block(3, &body)
    }

    /// Options in the byte order of the file, with an end mark.
    pub fn options(&self, options: &[(u16, &[u8])]) -> Vec<u8> {
        let encode = |&(code, value): &(u16, &[u8])| {
            let header = [self.order.u16(code), self.order.u16(value.len() as u16)].concat();
            [header, padded(value)].concat()
        };
        [options.iter().flat_map(encode).collect(), vec![0; 4]].concat()
    }

    fn with_lengths(self, block_type: u32, fields: &[u8], data: &[u8], options: &[u8]) -> Self {
        let len = self.order.u32(data.len() as u32);
        let body = [fields, &len, &len, &padded(data), options].concat();
        self.block(block_type, &body)
    }
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(4), 0);
    padded
}

pub fn read(bytes: &[u8]) -> (Vec<Record>, Option<Damage>) {
    let mut reader = Reader::new(bytes).expect("a capture");
    let records = reader
        .by_ref()
        .map(|record| record.expect("memory does not fail"))
        .collect();
    assert_eq!(reader.bytes_read(), bytes.len() as u64);
    (records, reader.damage().cloned())
}

pub fn packets(bytes: &[u8]) -> Vec<Record> {
    let (mut records, damage) = read(bytes);
    assert_eq!(damage, None);
    records.retain(|record| record.packet().is_some());
    records
}

/// Makes each packet longer by `difference`, or shorter, where the record allows it.
pub fn resize(bytes: &[u8], difference: isize) -> Vec<u8> {
    resize_into(Vec::new(), bytes, difference).expect("memory does not fail")
}

pub fn resize_into<S: Sink>(sink: S, bytes: &[u8], difference: isize) -> io::Result<S> {
    let lengths = if difference > 0 {
        PacketLengths::MayGrow
    } else {
        PacketLengths::NeverGrow
    };
    let mut writer = Writer::new(sink, lengths);
    for mut record in read(bytes).0 {
        if difference != 0 && record.packet().is_some() {
            let mut data = record.data().to_vec();
            data.resize(data.len().saturating_add_signed(difference), 0xab);
            // A refusal leaves the record as it is, which is what the caller looks at.
            let _ = record.replace(&data);
        }
        writer.write(&record)?;
    }
    writer.finish()
}

/// A sink that cannot go back.
pub struct Pipe(pub Vec<u8>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Pipe {
    fn can_patch(&self) -> bool {
        false
    }

    fn patch(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
