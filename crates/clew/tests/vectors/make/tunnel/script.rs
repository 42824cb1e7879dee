//! Cases from runs: what happens in one, and how it is written down.

use std::collections::BTreeSet;

use clew_tunnel::engine::server::Config;
use clew_tunnel::keys;
use clew_tunnel::x25519::Secret;

use crate::case::Case;
use crate::make::hash;
use crate::make::tunnel::bytes::{FORMAT, NANOS};
use crate::make::tunnel::node::{config, server_secret};
use crate::make::tunnel::run::Run;

/// The case of a run in which this happens.
pub fn script(name: &str, comment: &str, act: impl FnOnce(&mut Run)) -> Case {
    script_of(config(), name, comment, act)
}

/// The same with another configuration of the server.
pub fn script_of(config: Config, name: &str, comment: &str, act: impl FnOnce(&mut Run)) -> Case {
    let mut run = Run::new(name, config);
    act(&mut run);
    run.case(comment)
}

impl Run {
    /// The file of this run.
    fn case(mut self, comment: &str) -> Case {
        self.settle();
        let expect = self.expect.clone().unwrap_or("valid".to_owned());
        let case = Case::new(FORMAT, &self.name, &expect, comment).text("check", "run");
        let own = server_secret();
        let case =
            case.hex("start", NANOS.to_be_bytes()).hex("cert", own.cert.to_bytes()).hex("boxing-secret", own.boxing.as_bytes());
        let bound = |case: Case, (name, bound): &(&str, u32)| case.hex(name, bound.to_be_bytes());
        let case = self.bounds.iter().fold(self.with_drawn(case), bound);
        case.each("packet", &self.packets).texts("event", &self.events)
    }

    /// The secrets of all C', and the server's ephemeral ones with their certificates.
    fn with_drawn(&self, case: Case) -> Case {
        let initiations = self.packets.iter().filter(|packet| packet.len() >= 1_024);
        let shown: BTreeSet<&[u8]> = initiations.map(|packet| &packet[16..48]).collect();
        let is_shown = |drawn: &&[u8; 32]| {
            let public = keys::public(&Secret::from_bytes(**drawn));
            shown.contains(&public.0[..])
        };
        let drawn: BTreeSet<&[u8; 32]> = self.client_rng.drawn.iter().filter(is_shown).collect();
        let mut case = case.each("client-secret", drawn);
        let part = |label: &[u8; 16], seed: &[u8; 32]| hash(&[&label[..], seed].concat());
        let mut seed = self.seed;
        for ecert in &self.ecerts {
            let ephemeral = part(b"clew-mlt-seed-s'", &seed);
            let public = keys::public(&Secret::from_bytes(ephemeral));
            assert!(ecert.windows(32).any(|part| part == public.0));
            case = case
                .hex("ecert", ecert)
                .hex("ephemeral-secret", ephemeral)
                .hex("puzzle-secret", part(b"clew-mlt-seed-k0", &seed));
            seed = part(b"clew-mlt-seed-go", &seed);
        }
        case
    }
}
