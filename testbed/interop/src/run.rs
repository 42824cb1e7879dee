//! One direction's run: engines, the peer, and what was found.

use std::path::Path;
use std::time::{Duration, Instant};

use clew_tunnel::engine::event::Event;

use crate::adapter::Adapter;
use crate::child::Peer;
use crate::driver::{Engine, Node};
use crate::epoch::Speaker;

/// One datagram of so many is lost, while so many pings are sent.
pub const LOSS: u8 = 3;
pub const LOSSY: u32 = 20;

/// What was looked at, and whether it was as it should be.
#[derive(Default)]
pub struct Report(Vec<(bool, String)>);

impl Report {
    pub fn check(&mut self, what: &str, is_good: bool) {
        println!("  {} {what}", if is_good { "ok  " } else { "FAIL" });
        self.0.push((is_good, what.into()));
    }

    pub fn failed(&self) -> usize {
        self.0.iter().filter(|(is_good, _)| !is_good).count()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// Where scripts are, and where the peer's diaries go.
pub struct Places<'a> {
    pub scripts: &'a Path,
    pub diaries: &'a Path,
}

pub struct Run<E> {
    pub nodes: Vec<Node<E>>,
    pub peer: Peer,
    /// What the peer said.
    pub said: Vec<String>,
    pub report: Report,
}

impl<E: Engine> Run<E> {
    /// Lets everything go on until `is_done`, or for so long; whether it came to that. `hear` is told what
    /// happened at which engine.
    pub fn until(
        &mut self,
        milliseconds: u64,
        mut hear: impl FnMut(&mut Node<E>, usize, Event),
        mut is_done: impl FnMut(&mut Self) -> bool,
    ) -> bool {
        let end = Instant::now() + Duration::from_millis(milliseconds);
        loop {
            for (place, node) in self.nodes.iter_mut().enumerate() {
                for event in node.step() {
                    hear(node, place, event);
                }
            }
            self.said.extend(self.peer.said());
            if is_done(self) {
                return true;
            }
            if Instant::now() > end || self.peer.has_ended() {
                return false;
            }
            std::thread::sleep(Duration::from_micros(500));
        }
    }

    pub fn has_said(&self, line: &str) -> bool {
        self.said.iter().any(|said| said == line)
    }

    /// The last checks, and what went through.
    pub fn finish(mut self) -> Report {
        let is_running = !self.peer.has_ended();
        self.report.check("the peer is still running", is_running);
        let errors: Vec<&String> = self.nodes.iter().flat_map(|n| &n.adapter.errors).collect();
        for error in &errors {
            println!("  the adapter: {error}");
        }
        let is_good = errors.is_empty();
        self.report
            .check("the adapter opened and translated every packet", is_good);
        for node in &self.nodes {
            summary(&node.adapter);
        }
        self.report
    }
}

fn summary(adapter: &Adapter) {
    let (from, to) = adapter.datagrams;
    println!(
        "  -- datagrams of the peer {from}, to the peer {to}; bytes of initiation packets (ours, there):"
    );
    println!("     {:?}", adapter.initiations);
    for (speaker, text) in [(Speaker::Engine, "our engine"), (Speaker::Peer, "the peer")] {
        let all = adapter.tally.iter().filter(|((by, _), _)| *by == speaker);
        let all: Vec<String> = all.map(|((_, name), n)| format!("{name} {n}")).collect();
        println!("     RPCs of {text}: {}", all.join(", "));
    }
}
