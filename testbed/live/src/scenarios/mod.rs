//! One file for each scenario: what is built, what runs in it, and which table it makes.

pub mod figure2;
pub mod flood;
pub mod latency;
pub mod memory;
pub mod observe;
pub mod refill;
pub mod stages;
pub mod throughput;
pub mod works;

use crate::bed::{Bed, Namespace};
use crate::measure::wait_for_answer;
use crate::options::Common;
use crate::report::Samples;
use crate::systems::{self, Running, System};
use crate::topology::{Beside, Shape, Topology};
use std::io;
use std::time::{Duration, Instant};

/// A system that carries packets in a network.
pub struct Scene<'a> {
    /// The right to run.
    pub bed: &'a Bed,
    /// Which system.
    pub system: &'a dyn System,
    /// The network.
    pub topology: &'a Topology,
    /// Its processes and addresses.
    pub running: &'a mut Running,
}

/// Runs `work` for each system in turn, in a network of its own, as often as there are rounds.
pub fn in_turn(
    common: &Common,
    shape: Shape,
    beside: Beside,
    mut work: impl FnMut(&mut Scene<'_>, &mut Samples) -> io::Result<()>,
) -> io::Result<Samples> {
    let systems = systems::chosen(&common.systems)?;
    let mut samples = Samples::about(systems.iter().map(|system| (system.name(), system.about())));
    let mut is_for_some = false;
    for _ in 0..common.rounds {
        for system in systems.iter().filter(|s| s.shapes().contains(&shape)) {
            is_for_some = true;
            let bed = Bed::open()?;
            let one = one(&bed, &**system, common, shape, beside, |scene| {
                work(scene, &mut samples)
            });
            // The others are measured all the same.
            if let Err(error) = one {
                samples.failed(system.name(), &error);
            }
        }
    }
    match is_for_some && samples.is_empty() {
        true => Err(io::Error::other("no system could be measured")),
        false => Ok(samples),
    }
}

fn one(
    bed: &Bed,
    system: &dyn System,
    common: &Common,
    shape: Shape,
    beside: Beside,
    work: impl FnOnce(&mut Scene<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let topology = &Topology::make(shape, beside, common.threads())?;
    let running = &mut system.start(bed, topology)?;
    wait_for_answer(topology.client().namespace, &running.server.v4)?;
    work(&mut Scene {
        bed,
        system,
        topology,
        running,
    })?;
    match running.crashed() {
        Some(name) => Err(io::Error::other(format!("{name} ended meanwhile"))),
        None => Ok(()),
    }
}

impl Scene<'_> {
    /// The near and the far host, for what a near client does with a far server.
    pub fn hosts(&self) -> [&Namespace; 2] {
        [
            self.topology.client().namespace,
            self.topology.server().namespace,
        ]
    }

    /// Does something, and says how much CPU time the system took at both sides, in per cent of a core.
    pub fn with_cpu<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<(T, [f64; 2])> {
        let (before, start) = (self.running.cpu()?, Instant::now());
        let result = work()?;
        let time = start.elapsed().max(Duration::from_millis(1)).as_secs_f64();
        let after = self.running.cpu()?;
        let share = |side: usize| (after[side] - before[side]).as_secs_f64() / time * 100.0;
        Ok((result, [share(0), share(1)]))
    }
}
