//! Reading ahead: all records in order, in bounded batches, until the end, an error or a stop.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use clew_capture::{BATCH_RECORDS, Fault, Input, ReadAhead, ReadError, Reader};

use crate::support::*;

fn ahead(read: impl Read + Send + 'static, input: Input) -> ReadAhead {
    ReadAhead::new(Reader::new(read).unwrap(), input, Arc::default(), drop)
}

fn file(packets: usize) -> Vec<u8> {
    let all = std::iter::repeat_with(|| packet(b"data"))
        .take(packets)
        .collect::<Vec<_>>();
    pcap(Order::Little, MICROSECONDS, 0, ETHERNET.into(), &all)
}

#[test]
fn batches_are_the_file_and_no_larger_than_said() {
    let bytes = [file(BATCH_RECORDS + 5), vec![1; 7]].concat();
    let len = bytes.len() as u64;
    let seen = Arc::new(AtomicU64::new(0));
    let shown = Arc::clone(&seen);
    let progress = move |read| shown.store(read, Ordering::Relaxed);
    let reader = Reader::new(io::Cursor::new(bytes.clone())).unwrap();
    let mut ahead = ReadAhead::new(reader, Input::File, Arc::default(), progress);
    let (mut read, mut batches) = (Vec::<u8>::new(), 0);
    while let Some(batch) = ahead.next_batch().unwrap() {
        assert!((1..=BATCH_RECORDS).contains(&batch.len()));
        batches += 1;
        batch.iter().for_each(|record| read.extend(record.bytes()));
    }
    assert!(read == bytes && batches == 2);
    assert!((1..=len).contains(&seen.load(Ordering::Relaxed)));
    let fault = &ahead.damage().unwrap().fault;
    assert!(matches!(fault, Fault::Cut { found: 7, .. }));
    assert!(ahead.next_batch().unwrap().is_none());
}

#[test]
fn a_stream_is_handed_on_as_it_comes() {
    let (reader, mut writer) = io::pipe().unwrap();
    io::Write::write_all(&mut writer, &file(1)).unwrap();
    let mut ahead = ahead(reader, Input::Stream);
    // The writer is still there: nobody waits for it.
    assert_eq!(ahead.next_batch().unwrap().unwrap().len(), 2);
    drop(writer);
    assert!(ahead.next_batch().unwrap().is_none());
}

#[test]
fn who_stops_it_gets_no_more() {
    let stop = Arc::new(AtomicBool::new(true));
    let reader = Reader::new(io::Cursor::new(file(1))).unwrap();
    let mut ahead = ReadAhead::new(reader, Input::File, Arc::clone(&stop), drop);
    assert!(matches!(ahead.next_batch(), Err(ReadError::Stopped)));
    stop.store(false, Ordering::Relaxed);
    assert_eq!(ahead.next_batch().unwrap().unwrap().len(), 2);
}

#[test]
fn neither_an_error_nor_a_panic_is_an_end() {
    struct Broken(bool);
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            assert!(!self.0, "a reader that panics, as it should");
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
    for panics in [false, true] {
        let mut ahead = ahead(io::Cursor::new(file(1)).chain(Broken(panics)), Input::File);
        assert!(matches!(ahead.next_batch(), Err(ReadError::Io(_))));
        assert!(ahead.next_batch().is_err(), "and never becomes one");
    }
}
