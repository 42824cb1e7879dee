//! Connections and their windows.

use clew_wire::Instant;
use std::collections::VecDeque;
use std::vec::Vec;

use proptest::prelude::*;

use crate::engine::connections::Connections;
use crate::engine::draft::Draft;
use crate::engine::event::{Event, TunnelId};
use crate::limits::{CONNECTIONS_MAX, CREDIT, GRANT};
use crate::reason::Reason;
use crate::wire::packet::Side;
use crate::wire::plaintext::Calls;
use crate::wire::rpc::Rpc;
use crate::wire::values::CallWriter;

const TUNNEL: TunnelId = TunnelId {
    index: 0,
    generation: 1,
};

/// A client's and a server's side, with what is under way.
struct Two {
    client: Connections,
    server: Connections,
    events: VecDeque<Event>,
}

impl Two {
    fn new(count: u32) -> Self {
        let mut two = Self {
            client: Connections::new(Side::Client),
            server: Connections::new(Side::Server),
            events: VecDeque::new(),
        };
        for number in 1..=count {
            assert_eq!(two.client.draw(Instant::default()), Some(number));
            assert!(two.client.ask(number));
            assert_eq!(two.server.check_number(number), Ok(()));
            assert_eq!(two.server.add(number, Instant::default()), Ok(()));
            two.server.accept(TUNNEL, number, &mut two.events);
            assert_eq!(two.client.accepted(number), Ok(()));
        }
        two
    }

    fn write(&mut self, number: u32, bytes: usize) -> bool {
        let write = |out: &mut Vec<u8>| {
            CallWriter::new(out, number, "say")
                .bytes(&std::vec![1; bytes])
                .end()
        };
        self.client
            .write(number, write, 1_192)
            .expect("it is there")
            .expect("it fits")
    }

    /// One packet from each side to the other. Whether anything was in them.
    fn exchange(&mut self, room: usize) -> bool {
        let mut any = false;
        for is_client in [true, false] {
            let (from, to) = if is_client {
                (&mut self.client, &mut self.server)
            } else {
                (&mut self.server, &mut self.client)
            };
            let mut out = Vec::new();
            from.fill(
                TUNNEL,
                &mut Draft::new(&mut out, room, 63),
                &mut self.events,
            );
            any |= !out.is_empty();
            let mut calls = Calls::parse(&out).expect("RPCs");
            loop {
                let before = calls.as_bytes();
                let Some(call) = calls.next() else { break };
                let raw = &before[..before.len() - calls.as_bytes().len()];
                let side = if is_client {
                    Side::Client
                } else {
                    Side::Server
                };
                let done = match (call.connection, Rpc::of(&call, side)) {
                    (0, Ok(Rpc::WindowSize { connection, bytes })) => to.raise(connection, bytes),
                    (0, Ok(Rpc::Close { connection })) => to.ended(connection),
                    (0, rpc) => panic!("{rpc:?}"),
                    _ => to.deliver(TUNNEL, &call, raw, &mut self.events),
                };
                assert_eq!(done, Ok(()));
            }
        }
        assert!(
            self.server.load().1 <= GRANT as usize,
            "{:?}",
            self.server.load()
        );
        any
    }

    fn read(&mut self, number: u32, most: usize) -> usize {
        (0..most)
            .take_while(|_| self.server.read(number, &mut |_| {}))
            .count()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn windows_never_promise_too_much_and_never_stand_still(
        count in 1..=64_u32,
        sizes in prop::collection::vec(0..1_170_usize, 8),
        reads in prop::collection::vec(0..40_usize, 16),
    ) {
        let mut two = Two::new(count);
        let mut said = std::vec![0_usize; count as usize + 1];
        let mut got = said.clone();
        for round in 0..300_usize {
            for number in 1..=count {
                let size = sizes[(round + number as usize) % sizes.len()];
                while said[number as usize] < 200 && two.write(number, size) {
                    said[number as usize] += 1;
                }
            }
            while two.exchange(1_192) {}
            for number in 1..=count {
                let most = reads[(round * 7 + number as usize) % reads.len()];
                got[number as usize] += two.read(number, most);
            }
        }
        // Then the program reads everything.
        for _ in 0..4_000 {
            for number in 1..=count {
                got[number as usize] += two.read(number, usize::MAX);
            }
            if !two.exchange(1_192) {
                break;
            }
        }
        prop_assert_eq!(got, said);
    }
}

#[test]
fn the_window_of_a_connection_that_is_read_grows() {
    let mut two = Two::new(1);
    let mut bytes = 0_u64;
    for _ in 0..20_000 {
        while two.write(1, 1_100) {
            bytes += 1_111;
        }
        let _ = two.exchange(1_192);
        let _ = two.read(1, usize::MAX);
    }
    assert!(bytes > 20_000_000, "{bytes}");
    assert!(
        two.server.load().1 > 10 * CREDIT as usize,
        "{:?}",
        two.server.load()
    );
}

#[test]
fn long_and_short_ones_take_turns() {
    let mut two = Two::new(3);
    let mut long = 0;
    for _ in 0..40 {
        while two.write(1, 1_150) {}
        for number in [2, 3] {
            while two.write(number, 170) {}
        }
        let _ = two.exchange(1_192);
        long += two.read(1, usize::MAX);
        let _ = (two.read(2, usize::MAX), two.read(3, usize::MAX));
    }
    assert!(long >= 12, "{long} of 40 packets");
}

#[test]
fn ended_connections_are_read_and_then_make_room() {
    let mut two = Two::new(CONNECTIONS_MAX as u32);
    assert_eq!(two.server.check_number(65), Ok(()));
    assert_eq!(
        two.server.add(65, Instant::default()),
        Err(Reason::TooManyConnections)
    );
    assert!(two.write(7, 10) && two.client.close(7) && two.client.close(8));
    while two.exchange(1_192) {}
    assert_eq!((two.server.len(), two.server.load().0), (62, 63));
    assert_eq!((two.read(7, 9), two.read(7, 9), two.read(8, 9)), (1, 0, 0));
    assert_eq!(two.server.load().0, 62);
    assert_eq!(two.server.check_number(66), Ok(()));
    assert_eq!(two.server.add(66, Instant::default()), Ok(()));
    assert_eq!(two.server.check_number(66), Err(Reason::BadConnection));
}

#[test]
fn only_a_connection_that_was_asked_for_is_answered_and_once() {
    let mut client = Connections::new(Side::Client);
    let number = client.draw(Instant::default()).expect("a number");
    assert_eq!(client.accepted(number), Err(Reason::UnknownConnection));
    assert_eq!(client.refused(number), Err(Reason::UnknownConnection));
    assert!(client.ask(number));
    assert_eq!(client.accepted(number), Ok(()));
    assert_eq!(client.accepted(number), Err(Reason::Unasked));
    assert_eq!(client.refused(number), Err(Reason::Unasked));
}
