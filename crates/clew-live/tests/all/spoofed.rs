//! Packets with trailers under a peer's address, by somebody who sees none of the peer's: beside honest
//! ones.

use crate::attacks::SLOW;
use crate::common::group::{Group, OTHERS, OURS};
use crate::common::packets::{echo, tcp, udp};
use crate::common::sim::{MS, Online, PEER, S, Sim, moment, path};
use clew_live::packet::{Burst, Clear};
use clew_live::sender::{Cover, Outbound, OutboundOptions, Path};
use clew_packet::{Carrier, Reason};

/// Signs packets one by one.
fn signed(group: &Group, packets: impl Iterator<Item = Vec<u8>>, sim: &mut Sim) -> Vec<Vec<u8>> {
    let options = OutboundOptions {
        cover: Cover::Each,
        ..OutboundOptions::default()
    };
    let mut sender = Outbound::new(Some(group.identity(&[(0, 0)], None)), options);
    let carrier = Carrier::Trailer;
    sender.set_path(PEER, Path { carrier, ..path() });
    let now = moment(sim.now, 0);
    let mut wire = Vec::new();
    for bytes in packets {
        sender.push(Clear { peer: PEER, bytes }, now).unwrap();
        let mut out: Vec<Burst> = Vec::new();
        sender.flush(now, &mut Online, &mut sim.rng, &mut out);
        wire.extend(out.into_iter().map(|burst| burst.bytes));
    }
    wire
}

fn delivered(sim: &Sim, flow: u16) -> usize {
    sim.names().iter().filter(|(of, _)| *of == flow).count()
}

/// Ten for each honest packet, each with a hash that fits and no credential: three times what the
/// verifier can do. They come in all flows but the honest one, which the attacker does not know.
#[test]
fn blind_forgeries_take_nothing_from_flows_that_held_before() {
    let mut sim = Sim::new(1);
    sim.verifier = SLOW;
    let honest = signed(&OURS, (0..100).map(|n| udp(1, n, 300)), &mut sim);
    let forged = signed(&OTHERS, (0..64).map(|n| udp(100 + n, 0, 300)), &mut sim);
    for (n, packet) in (0..).zip(&honest) {
        sim.inject_trailed(n * 20 * MS, packet.clone());
    }
    for n in 0..900 {
        let packet = forged[n as usize % forged.len()].clone();
        sim.inject_trailed(200 * MS + n * 2 * MS, packet);
    }
    sim.run(4 * S);
    let metrics = sim.receiver.metrics();
    let bad = metrics.verdicts.of(Reason::BadSignature);
    assert!(bad >= 20, "some are verified: {bad}");
    let found = delivered(&sim, 1);
    assert!(found >= 95, "{found} of 100");
}

/// The same with flows that are new: they wait behind the forgeries of their address, and some get
/// through, after which they are known.
#[test]
fn a_new_flow_gets_through_blind_forgeries() {
    let mut sim = Sim::new(2);
    sim.verifier = SLOW;
    let forged = signed(&OTHERS, (0..64).map(|n| udp(100 + n, 0, 300)), &mut sim);
    let honest = signed(&OURS, (0..100).map(|n| udp(1, n, 300)), &mut sim);
    for n in 0..2_000 {
        let packet = forged[n as usize % forged.len()].clone();
        sim.inject_trailed(n * 2 * MS, packet);
    }
    for (n, packet) in (0..).zip(&honest) {
        sim.inject_trailed(200 * MS + n * 30 * MS, packet.clone());
    }
    sim.run(6 * S);
    let names = sim.names();
    let first = names.iter().map(|(_, number)| *number).min().unwrap();
    let last: Vec<u32> = names.iter().map(|(_, number)| *number).collect();
    assert!(first < 60, "{last:?}");
    let after = last.iter().filter(|number| **number >= 80).count();
    assert!(after >= 18, "it is known now: {last:?}");
}

/// Honest packets of a flow, and ten forgeries for each, which differ from it only in what the attacker
/// cannot know. Returns how many honest ones arrive.
fn beside(
    honest: Vec<Vec<u8>>,
    forged: Vec<Vec<u8>>,
    starts: [u64; 2],
    opens: &[Vec<u8>],
) -> usize {
    let mut sim = Sim::new(3);
    sim.verifier = SLOW;
    let now = sim.now_at(1).instant;
    opens
        .iter()
        .for_each(|packet| sim.receiver.expect_answers(packet, now));
    let honest = signed(&OURS, honest.into_iter(), &mut sim);
    let forged = signed(&OTHERS, forged.into_iter(), &mut sim);
    for (n, packet) in (0..).zip(&honest) {
        sim.inject_trailed(starts[0] + n * 20 * MS, packet.clone());
    }
    for n in 0..900 {
        let packet = forged[n as usize % forged.len()].clone();
        sim.inject_trailed(starts[1] + n * 2 * MS, packet);
    }
    sim.run(4 * S);
    let bad = sim.receiver.metrics().verdicts.of(Reason::BadSignature);
    assert!(bad >= 20, "some are verified: {bad}");
    sim.delivered.len()
}

/// Echoes have no ports, but an identifier.
#[test]
fn blind_echoes_take_nothing_from_those_that_held_before() {
    let honest = (0..100).map(|n| echo(false, 4_711, n)).collect();
    let forged = (0..64).map(|n| echo(false, 100 + n, n)).collect();
    let found = beside(honest, forged, [0, 200 * MS], &[]);
    assert!(found >= 95, "{found} of 100");
}

/// Who attacks knows all but the sequence, ports too. The connection goes on meanwhile, by 50 MB.
#[test]
fn blind_segments_take_nothing_from_a_connection_of_known_ports() {
    let honest = (0..100).map(|n| tcp(false, 77_000_000 + n * 500_000, 1, 100));
    let forged = (0..32).map(|n| tcp(false, (n + 32) << 26, 1, 100));
    let found = beside(honest.collect(), forged.collect(), [0, 200 * MS], &[]);
    assert!(found >= 95, "{found} of 100");
}

/// The first answers to what this host opened come while forgeries are under way: nobody has seen a
/// signature of that flow yet.
#[test]
fn answers_to_what_this_host_opened_are_known_at_once() {
    let answers = || (0..100).map(|n| echo(false, 4_711, n)).collect();
    let forged = || (0..64).map(|n| echo(false, 100 + n, n)).collect();
    let opens = [echo(true, 4_711, 0)];
    let found = beside(answers(), forged(), [200 * MS, 0], &opens);
    assert!(found >= 99, "{found} of 100");
    let unknown = beside(answers(), forged(), [200 * MS, 0], &[]);
    assert!(unknown < 95, "{unknown} of 100");
}
