//! The thread between two TUN devices.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use nix::unistd::{read, write};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than the devices' 1500 bytes.
const PACKET: usize = 2048;

/// Packets taken from a device before the other one gets its turn.
const TURN: usize = 64;

/// With nothing on the line, the thread looks for new conditions so often.
const IDLE: Duration = Duration::from_millis(10);

/// What the line does with packets, in each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Condition {
    pub delay: Duration,
    /// The share of packets that it loses.
    pub loss: f64,
    /// Which ones: with the same seed the packets of the same numbers.
    pub seed: u64,
}

/// A line that is running. It ends with the process.
#[derive(Clone)]
pub struct Line {
    /// The condition, and how often one was set.
    condition: Arc<Mutex<(Condition, u64)>>,
}

impl Line {
    /// Starts the thread between the two ends.
    pub fn start(ends: [OwnedFd; 2]) -> io::Result<Self> {
        let condition = Arc::new(Mutex::new((Condition::default(), 0)));
        let line = Self { condition };
        let condition = Arc::clone(&line.condition);
        let forward = move || match forward(&ends, &condition) {
            Ok(()) => {}
            Err(error) => eprintln!("tunnel-bench: the line: {error}"),
        };
        thread::Builder::new().name("line".into()).spawn(forward)?;
        Ok(line)
    }

    /// From now on (from the next packet) that is the line's condition; the numbers of packets start anew.
    pub fn set(&self, condition: Condition) {
        if let Ok(mut own) = self.condition.lock() {
            *own = (condition, own.1 + 1);
        }
        thread::sleep(2 * IDLE);
    }
}

/// Packets that are on their way in one direction.
struct Direction {
    packets: VecDeque<(Instant, Vec<u8>)>,
    random: SplitMix,
}

fn forward(ends: &[OwnedFd; 2], shared: &Mutex<(Condition, u64)>) -> io::Result<()> {
    // The kernel would let timers be 50 us late.
    set_timerslack(1)?;
    let mut ways = [0, 1].map(|_| Direction {
        packets: VecDeque::new(),
        random: SplitMix(0),
    });
    let mut version = 0;
    loop {
        let Ok((condition, newest)) = shared.lock().map(|shared| *shared) else {
            return Ok(());
        };
        if version != newest {
            version = newest;
            for (way, number) in ways.iter_mut().zip(0..) {
                way.random = SplitMix(condition.seed.wrapping_mul(2).wrapping_add(number));
            }
        }
        wait(ends, &ways)?;
        for (from, way) in ends.iter().zip(&mut ways) {
            way.take_in(from, condition)?;
        }
        for (to, way) in ends.iter().rev().zip(&mut ways) {
            way.give_out(to)?;
        }
    }
}

/// Until there is a packet, or one is due.
fn wait(ends: &[OwnedFd; 2], ways: &[Direction; 2]) -> io::Result<()> {
    let dues = ways.iter().filter_map(|way| way.packets.front());
    let due = dues.map(|(due, _)| *due).min();
    let now = Instant::now();
    let time = due.map_or(IDLE, |due| due.saturating_duration_since(now).min(IDLE));
    let mut polled = [0, 1].map(|end: usize| PollFd::new(ends[end].as_fd(), PollFlags::POLLIN));
    match ppoll(&mut polled, Some(TimeSpec::from_duration(time)), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Direction {
    fn take_in(&mut self, from: &OwnedFd, condition: Condition) -> io::Result<()> {
        let mut packet = [0; PACKET];
        for _ in 0..TURN {
            let length = match read(from, &mut packet) {
                Ok(length) => length,
                Err(Errno::EAGAIN) => break,
                Err(error) => return Err(error.into()),
            };
            // What IPv6 has to say on a new device is not to count.
            let is_ipv4 = packet[0] >> 4 == 4;
            if is_ipv4 && self.random.share() >= condition.loss {
                let due = Instant::now() + condition.delay;
                self.packets.push_back((due, packet[..length].to_vec()));
            }
        }
        Ok(())
    }

    fn give_out(&mut self, to: &OwnedFd) -> io::Result<()> {
        let now = Instant::now();
        while self.packets.front().is_some_and(|(due, _)| *due <= now) {
            let Some((_, packet)) = self.packets.pop_front() else {
                break;
            };
            match write(to, &packet) {
                Ok(_) | Err(Errno::EAGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Steele and others' generator: whatever decides which packets are lost needs no more.
struct SplitMix(u64);

impl SplitMix {
    /// A number from 0 to 1.
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_as_asked_for_and_repeat() {
        let lost = |seed| {
            let mut random = SplitMix(seed);
            (0..100_000)
                .filter(|_| random.share() < 0.03)
                .collect::<Vec<u32>>()
        };
        assert!((2_700..3_300).contains(&lost(1).len()));
        assert_eq!(lost(1), lost(1));
        assert_ne!(lost(1), lost(2));
    }
}
