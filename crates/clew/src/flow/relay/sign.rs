//! Datagrams in, signed ones out.

use super::{BATCH, NAP, Until, Wire};
use crate::clock;
use crate::failure::Failure;
use crate::flow::keys::FlowKey;
use crate::flow::schemes::{Signer, sign_block, sign_manifest};
use crate::flow::sign::IDLE;
use crate::metrics::RelayMetrics;
use crate::random;
use clew_flow::manifest::sent_max;
use clew_flow::{Distribution, FlowSender, Schedule, delay_bound, rtp};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Datagrams of this size stand for others where the time of a block is measured.
const USUAL_BYTES: usize = 1400;

/// How often it is measured: the least counts, the others were disturbed.
const MEASUREMENTS: usize = 5;

/// How datagrams are signed.
#[derive(Clone, Copy, Debug)]
pub struct Signing {
    /// Which packets of a block carry what of its signature.
    pub distribution: Distribution,
    /// How long a block may take: the paper's T.
    pub period: Duration,
    /// Put packet signatures into the padding of RTP packets.
    pub rtp: bool,
    /// Send packets on as they are, and manifests there.
    pub manifests: Option<SocketAddr>,
}

impl Signing {
    /// The longest that a packet waits for its signature, with what chaining and signing take here:
    /// D_s (Wong and Lam, 2.5). A period that is too short becomes longer unless it `is_fixed`.
    ///
    /// # Errors
    /// The fixed period is too short: blocks would pile up. Or no block is signed.
    pub fn delay_bound(&mut self, key: &FlowKey, is_fixed: bool) -> Result<Duration, Failure> {
        let (most, mut work) = (self.most(key), Duration::MAX);
        for _ in 0..MEASUREMENTS {
            work = work.min(self.time_of_a_block(key, most)?);
        }
        self.fit(work, most, is_fixed)
    }

    /// The same, if a block of `most` packets takes so long.
    fn fit(&mut self, work: Duration, most: u16, is_fixed: bool) -> Result<Duration, Failure> {
        let bound = |period| delay_bound(period, Duration::ZERO, work);
        let (mut found, given) = (bound(self.period), self.period);
        if found.is_none() && !is_fixed {
            self.period = work.saturating_mul(2);
            found = bound(self.period);
            mention!(
                "clew: warning: a block of {most} packets takes {work:?} here: the period is {:?} \
                 instead of {given:?}",
                self.period
            );
        }
        found.ok_or_else(|| {
            Failure::new(format!(
                "--period {given:?} is too short: a block of {most} packets takes {work:?} here"
            ))
            .hint("increase --period, or use a key made with a smaller --block")
        })
    }

    /// Packets of a block at most.
    fn most(&self, key: &FlowKey) -> u16 {
        let most = key.descriptor().chaining().most;
        match self.manifests {
            Some(_) => most.min(sent_max(key.descriptor())),
            None => most,
        }
    }

    /// A block that nobody gets.
    fn time_of_a_block(&self, key: &FlowKey, count: u16) -> Result<Duration, Failure> {
        let packet = [0; USUAL_BYTES];
        let packets = vec![&packet[..]; count.into()];
        let mut sender = key.sender()?;
        let begin = Instant::now();
        sign_block(&mut sender, &packets, self.distribution, clock::wall_time())?;
        Ok(begin.elapsed())
    }
}

/// Relays until it is to stop.
///
/// # Errors
/// The network is gone, or a block is not signed.
pub fn sign(
    wire: &mut Wire,
    key: &FlowKey,
    signing: Signing,
    metrics: &RelayMetrics,
    until: Until,
) -> Result<(), Failure> {
    let most = signing.most(key);
    let mut line = Line {
        sender: key.sender()?,
        schedule: Schedule::new(most, signing.period, IDLE),
        signing,
        waiting: Vec::new(),
        again: Vec::new(),
        began: Instant::now(),
        last: clew_flow::Instant::default(),
    };
    while !until.is_over() {
        let wait = line.wait();
        let datagrams = wire.receive(BATCH, wait);
        let datagrams = datagrams.map_err(|e| Failure::new(format!("cannot receive: {e}")))?;
        metrics.received.inc_by(datagrams.len() as u64);
        for datagram in datagrams {
            line.take(datagram, wire, metrics)?;
        }
        if line.schedule.tick(line.now()) {
            line.sign(wire, metrics)?;
        }
    }
    line.sign(wire, metrics)?;
    if let Some(to) = signing.manifests {
        wire.send_to(&line.again, to);
    }
    Ok(())
}

/// A flow as it is being signed.
struct Line {
    sender: FlowSender<Signer>,
    schedule: Schedule,
    signing: Signing,
    /// Packets of the block, with their times of arrival.
    waiting: Vec<(Instant, Vec<u8>)>,
    /// The last manifest: it is sent once more with the next one.
    again: Vec<u8>,
    began: Instant,
    last: clew_flow::Instant,
}

impl Line {
    /// The time since it began.
    fn now(&self) -> clew_flow::Instant {
        clew_flow::Instant::default() + self.began.elapsed()
    }

    /// How long nothing is to be done if nothing comes.
    fn wait(&self) -> Duration {
        let deadline = self.schedule.deadline();
        deadline.map_or(NAP, |deadline| deadline - self.now())
    }

    fn take(
        &mut self,
        datagram: Vec<u8>,
        wire: &Wire,
        metrics: &RelayMetrics,
    ) -> Result<(), Failure> {
        let now = self.now();
        if self.schedule.tick(now) {
            self.sign(wire, metrics)?;
        }
        if now - self.last >= IDLE && self.waiting.is_empty() {
            self.sender.renew(&mut random::os());
        }
        self.last = now;
        if self.signing.manifests.is_some() {
            pass(wire, &datagram, metrics);
        }
        self.waiting.push((Instant::now(), datagram));
        match self.schedule.packet(now) {
            true => self.sign(wire, metrics),
            false => Ok(()),
        }
    }

    /// Signs and sends what waits.
    fn sign(&mut self, wire: &Wire, metrics: &RelayMetrics) -> Result<(), Failure> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        let packets: Vec<&[u8]> = waiting.iter().map(|(_, packet)| &packet[..]).collect();
        metrics.blocks.inc();
        if let Some(to) = self.signing.manifests {
            let manifest = sign_manifest(&mut self.sender, &packets, clock::wall_time())?;
            for copy in [&self.again, &manifest]
                .into_iter()
                .filter(|m| !m.is_empty())
            {
                metrics.overhead.inc_by(copy.len() as u64);
                if !wire.send_to(copy, to) {
                    metrics.refused.inc();
                }
            }
            self.again = manifest;
            return Ok(());
        }
        let (sender, distribution) = (&mut self.sender, self.signing.distribution);
        let outs = sign_block(sender, &packets, distribution, clock::wall_time())?;
        for ((came, packet), mut out) in waiting.iter().zip(outs) {
            let signature = out.len() - packet.len();
            if self.signing.rtp {
                rtp::pad(&mut out, signature);
            }
            metrics.overhead.inc_by((out.len() - packet.len()) as u64);
            pass(wire, &out, metrics);
            metrics.delay.observe(came.elapsed().as_secs_f64());
        }
        // The block is on its way: there is time for the next one.
        self.sender.prepare(&mut random::os());
        Ok(())
    }
}

fn pass(wire: &Wire, datagram: &[u8], metrics: &RelayMetrics) {
    match wire.send(datagram) {
        true => metrics.sent.inc(),
        false => metrics.refused.inc(),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_period_that_was_given_is_refused() {
        let (period, work) = (Duration::from_millis(5), Duration::from_millis(48));
        let signing = || Signing {
            distribution: Distribution::Every,
            period,
            rtp: false,
            manifests: None,
        };
        let refused = signing().fit(work, 64, true).unwrap_err();
        assert!(refused.message.starts_with("--period 5ms is too short"));
        let mut longer = signing();
        assert!(longer.fit(work, 64, false).unwrap() >= 2 * work);
        assert_eq!(longer.period, 2 * work);
        let mut kept = signing();
        assert!(kept.fit(period / 5, 64, false).is_ok());
        assert_eq!(kept.period, period);
    }
}
