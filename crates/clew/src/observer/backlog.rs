//! Packets between the thread that reads the tap and the one that verifies.

use crate::failure::Failure;
use clew_capture::Record;
use clew_engine::AsFrame;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most packets that wait to be verified.
pub const BACKLOG_PACKETS_MAX: usize = 1 << 16;

/// Most bytes of these packets.
pub const BACKLOG_BYTES_MAX: usize = 128 << 20;

/// A bounded queue. When it is full, the newest packets are skipped: those that wait are judged
/// with as much of their blocks as came.
pub struct Backlog {
    state: Mutex<State>,
    came: Condvar,
    packets_max: usize,
    bytes_max: usize,
}

#[derive(Default)]
struct State {
    records: VecDeque<Record>,
    bytes: usize,
    end: Option<Result<(), Failure>>,
}

/// What was taken from the queue.
pub struct Taken {
    /// Packets, in order.
    pub records: Vec<Record>,
    /// Why no more will come; given once, and not before all packets were taken.
    pub end: Option<Result<(), Failure>>,
}

impl Default for Backlog {
    fn default() -> Self {
        Self::new(BACKLOG_PACKETS_MAX, BACKLOG_BYTES_MAX)
    }
}

impl Backlog {
    /// An empty queue for so many packets and bytes.
    pub fn new(packets_max: usize, bytes_max: usize) -> Self {
        Self {
            state: Mutex::default(),
            came: Condvar::new(),
            packets_max,
            bytes_max,
        }
    }

    /// Adds packets. Returns how many there was no room for.
    pub fn offer(&self, records: Vec<Record>) -> u64 {
        let (mut state, mut skipped) = (self.lock(), 0);
        for record in records {
            let bytes = state.bytes + record.size();
            if state.records.len() >= self.packets_max || bytes > self.bytes_max {
                skipped += 1;
                continue;
            }
            state.bytes = bytes;
            state.records.push_back(record);
        }
        self.came.notify_one();
        skipped
    }

    /// No more packets will come.
    pub fn end(&self, end: Result<(), Failure>) {
        self.lock().end = Some(end);
        self.came.notify_one();
    }

    /// Waits for packets, and takes at most so many.
    pub fn take(&self, most: usize, patience: Duration) -> Taken {
        let is_idle = |state: &mut State| state.records.is_empty() && state.end.is_none();
        let waited = self.came.wait_timeout_while(self.lock(), patience, is_idle);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let count = most.min(state.records.len());
        let records: Vec<Record> = state.records.drain(..count).collect();
        state.bytes -= records.iter().map(AsFrame::size).sum::<usize>();
        let is_empty = state.records.is_empty();
        let end = if is_empty { state.end.take() } else { None };
        Taken { records, end }
    }

    /// How many packets wait.
    pub fn len(&self) -> usize {
        self.lock().records.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clew_capture::PacketInfo;

    fn packets(from: u64, count: u64) -> Vec<Record> {
        let packet = |frame| {
            let info = PacketInfo {
                frame,
                interface: 0,
                link: 101,
                wire_len: 100,
                time_ns: Some(frame),
            };
            Record::live(info, &[0; 100])
        };
        (from..from + count).map(packet).collect()
    }

    fn numbers(records: &[Record]) -> Vec<u64> {
        let infos = records.iter().filter_map(Record::packet);
        infos.map(|info| info.frame).collect()
    }

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn a_burst_is_skipped_beyond_the_bound_and_counted() {
        let backlog = Backlog::new(10, usize::MAX);
        assert_eq!(backlog.offer(packets(1, 7)), 0);
        assert_eq!(backlog.offer(packets(8, 99_993)), 99_990);
        assert_eq!(numbers(&backlog.take(4, NOW).records), [1, 2, 3, 4]);
        assert_eq!(backlog.offer(packets(200_000, 5)), 1);
        let rest = backlog.take(100, NOW).records;
        let expected = [5, 6, 7, 8, 9, 10, 200_000, 200_001, 200_002, 200_003];
        assert_eq!(numbers(&rest), expected);
        assert_eq!(backlog.len(), 0);
    }

    #[test]
    fn bytes_are_bounded_too() {
        let one = packets(1, 1)[0].size();
        let backlog = Backlog::new(100, 3 * one);
        assert_eq!(backlog.offer(packets(1, 5)), 2);
        assert_eq!(backlog.take(1, NOW).records.len(), 1);
        assert_eq!(backlog.offer(packets(6, 2)), 1);
    }

    #[test]
    fn the_end_comes_after_the_last_packet() {
        let backlog = Backlog::default();
        assert!(backlog.take(1, NOW).end.is_none());
        backlog.offer(packets(1, 2));
        backlog.end(Ok(()));
        assert!(backlog.take(1, NOW).end.is_none());
        let last = backlog.take(1, NOW);
        assert_eq!(numbers(&last.records), [2]);
        assert!(last.end.is_some());
    }
}
