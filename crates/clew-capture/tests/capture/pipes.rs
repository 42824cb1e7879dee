//! Sinks that cannot go back, and inputs that trickle or fail.

use std::io::{self, Cursor, Read, Write};

use clew_capture::{PIPE_SNAPLEN, Reader, Sink};

use crate::fuzz::assert_same;
use crate::support::*;

fn piped(bytes: &[u8], difference: isize) -> Vec<u8> {
    resize_into(Pipe(Vec::new()), bytes, difference)
        .expect("memory does not fail")
        .0
}

#[test]
fn snap_length_is_raised_in_front_only_if_packets_may_grow() {
    let file = |snaplen| pcap(Order::Little, MICROSECONDS, snaplen, 1, &[packet(b"x")]);
    for (before, after) in [
        (96, PIPE_SNAPLEN),
        (0, 0),
        (PIPE_SNAPLEN + 1, PIPE_SNAPLEN + 1),
    ] {
        assert_eq!(piped(&file(before), 9)[16..20], after.to_le_bytes());
        assert_same(&piped(&file(before), 0), &file(before), "copy");
    }
    assert_same(
        &piped(&piped(&file(96), 9), -9),
        &file(PIPE_SNAPLEN),
        "restored",
    );
}

/// A pipe whose writer knows what comes.
struct Foreseen(Vec<u8>, u32);

impl Write for Foreseen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Foreseen {
    fn can_patch(&self) -> bool {
        false
    }

    fn patch(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn longest(&self) -> Option<u32> {
        Some(self.1)
    }
}

#[test]
fn a_snap_length_that_is_long_enough_stays_on_a_pipe() {
    let file = pcap(Order::Little, MICROSECONDS, 96, 1, &[packet(b"x")]);
    for (longest, after) in [(10, 96), (96, 96), (97, PIPE_SNAPLEN)] {
        let signed = resize_into(Foreseen(Vec::new(), longest), &file, 9).expect("memory");
        assert_eq!(signed.0[16..20], after.to_le_bytes(), "{longest}");
    }
}

#[test]
fn every_interface_is_raised_in_front() {
    let file = |snaplen| {
        let blocks = Blocks::new(Order::Big).section(UNSTATED);
        let blocks = blocks.interface(1, snaplen, &[]).interface(1, snaplen, &[]);
        blocks.enhanced(1, 1, b"data", &[]).bytes
    };
    assert_same(
        &piped(&piped(&file(50), 100), -100),
        &file(PIPE_SNAPLEN),
        "raised",
    );
}

#[test]
fn section_length_is_left_unstated() {
    let file = |length| {
        Blocks::new(Order::Big)
            .section(length)
            .interface(1, 0, &[])
            .bytes
    };
    assert_same(&piped(&file(20), 0), &file(UNSTATED), "true");
    assert_same(&piped(&file(UNSTATED), 0), &file(UNSTATED), "unstated");
}

#[test]
fn a_cut_simple_packet_behind_a_raised_snap_length_is_an_error() {
    let blocks = Blocks::new(Order::Big)
        .section(UNSTATED)
        .interface(1, 12, &[]);
    let bytes = blocks.simple(99, b"cut at 12...").bytes;
    let error = resize_into(Pipe(Vec::new()), &bytes, 1)
        .err()
        .expect("an error");
    assert!(error.to_string().contains("write it to a file"));
    assert_same(&piped(&bytes, -1), &bytes, "never grows");
}

#[test]
fn an_input_may_trickle() {
    struct Trickle<'a>(&'a [u8]);
    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = buffer.len().min(1);
            self.0.read(&mut buffer[..len])
        }
    }
    let bytes = pcap(
        Order::Big,
        NANOSECONDS,
        0,
        1,
        &[packet(b"one"), packet(b"two")],
    );
    let records = Reader::new(Trickle(&bytes)).unwrap().map(Result::unwrap);
    let copy: Vec<u8> = records.flat_map(|record| record.bytes().to_vec()).collect();
    assert_same(&copy, &bytes, "trickled");
}

#[test]
fn an_input_that_fails_ends_after_its_error() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let bytes = pcap(Order::Big, NANOSECONDS, 0, 1, &[packet(b"one")]);
    let mut reader = Reader::new(Cursor::new(bytes).chain(Broken)).unwrap();
    assert!(reader.next().unwrap().unwrap().packet().is_none());
    assert_eq!(reader.next().unwrap().unwrap().data(), b"one");
    assert!(reader.next().unwrap().is_err());
    assert!(reader.next().is_none());
    assert_eq!(reader.damage(), None);
}
