//! A scanner of this process's memory: all of it is read, by a thread that was there before.
#![allow(dead_code, reason = "each test program uses its part")]

use clew_group::curve::Scalar;
use std::fs::{File, read_to_string};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Patterns are kept in another form than they are looked for, so that they are not found
/// themselves.
const MASK: u128 = 0x5a5a_a5a5_5a5a_a5a5_5a5a_a5a5_5a5a_a5a5;

/// A secret that is looked for.
pub struct Secret {
    name: &'static str,
    /// What each copy has twice.
    masked: Vec<u128>,
}

impl Secret {
    /// A scalar as `blst` computes with it, little-endian and big-endian: halves of each form.
    pub fn of(name: &'static str, scalar: &Scalar) -> Self {
        let two_128 = Scalar::from_u128(u128::MAX) + Scalar::from_u128(1);
        let montgomery = *scalar * two_128 * two_128;
        let reversed = |mut bytes: [u8; 32]| {
            bytes.reverse();
            bytes
        };
        let forms = [
            scalar.to_bytes(),
            reversed(scalar.to_bytes()),
            reversed(montgomery.to_bytes()),
        ];
        let halves = forms.as_flattened().chunks_exact(16);
        let masked = halves.map(masked).collect();
        Self { name, masked }
    }

    /// At least 32 bytes, wherever they begin: the first four and the last four windows, of which
    /// one each begins at a word.
    pub fn bytes(name: &'static str, bytes: &[u8]) -> Self {
        let last = bytes.len() - 19;
        let windows = (0..4).chain(last..last + 4);
        let masked = windows.map(|at| masked(&bytes[at..at + 16])).collect();
        Self { name, masked }
    }
}

fn masked(window: &[u8]) -> u128 {
    u128::from_le_bytes(window.try_into().unwrap()) ^ MASK
}

/// How many halves of a secret there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub stack: usize,
    pub elsewhere: usize,
}

/// Patterns, each with the place of its secret, in order.
type Patterns = Vec<(u128, usize)>;

/// Reads all memory that can be written whenever it is asked to: which secrets are there, on the
/// stack that has this address or elsewhere.
fn scanner(secrets: &[Secret], asked: &Receiver<usize>, answers: &Sender<Vec<Found>>) {
    let mut buffer = vec![0u8; 1 << 16];
    let patterns = secrets.iter().zip(0..);
    let patterns = patterns.flat_map(|(s, i)| s.masked.iter().map(move |m| (*m, i)));
    let mut patterns: Patterns = patterns.collect();
    patterns.sort_unstable();
    for stack in asked {
        let mut found = vec![Found::default(); secrets.len()];
        for line in read_to_string("/proc/self/maps").unwrap().lines() {
            let mut fields = line.split_whitespace();
            let (range, rights) = (fields.next().unwrap(), fields.next().unwrap());
            if !rights.starts_with("rw") {
                continue;
            }
            let [start, end] = bounds(range);
            let is_stack = (start..end).contains(&stack);
            for i in hits(&patterns, start, end, &mut buffer) {
                found[i].stack += usize::from(is_stack);
                found[i].elsewhere += usize::from(!is_stack);
            }
        }
        answers.send(found).unwrap();
    }
}

fn bounds(range: &str) -> [usize; 2] {
    let (start, end) = range.split_once('-').unwrap();
    [start, end].map(|n| usize::from_str_radix(n, 16).unwrap())
}

/// The secrets of which a half begins at each word of four bytes. The buffer is wiped, and not
/// looked into.
fn hits(patterns: &Patterns, start: usize, end: usize, buffer: &mut [u8]) -> Vec<usize> {
    let memory = File::open("/proc/self/mem").unwrap();
    let own = buffer.as_ptr() as usize..buffer.as_ptr() as usize + buffer.len();
    let (mut at, mut hits) = (start, vec![]);
    while at + 16 <= end {
        let length = buffer.len().min(end - at);
        if memory
            .read_exact_at(&mut buffer[..length], at as u64)
            .is_err()
        {
            break;
        }
        let places = (0..=length - 16).step_by(4);
        for place in places.filter(|place| !own.contains(&(at + place))) {
            let value = masked(&buffer[place..place + 16]);
            if let Ok(i) = patterns.binary_search_by_key(&value, |(pattern, _)| *pattern) {
                hits.push(patterns[i].1);
            }
        }
        buffer[..length].fill(0);
        at += (length - 12).max(4);
    }
    hits
}

/// A scanner for some secrets.
pub struct Watch {
    names: Vec<&'static str>,
    ask: Sender<usize>,
    answer: Receiver<Vec<Found>>,
}

impl Watch {
    /// The secrets are computed by a thread that overwrites its stack.
    pub fn new(of: impl FnOnce() -> Vec<Secret> + Send + 'static) -> Self {
        let computed = thread::spawn(|| {
            let secrets = apart(of);
            overwritten();
            secrets
        });
        let secrets = computed.join().unwrap();
        let names = secrets.iter().map(|secret| secret.name).collect();
        let ((ask, asked), (answers, answer)) = (channel(), channel());
        thread::spawn(move || scanner(&secrets, &asked, &answers));
        Self { names, ask, answer }
    }

    #[inline(never)]
    pub fn look(&self) -> Vec<Found> {
        let here = 0u8;
        self.ask.send(&raw const here as usize).unwrap();
        self.answer.recv().unwrap()
    }

    /// Nothing on the stack, and each secret so many times in boxes.
    pub fn expect(&self, alive: &[usize], when: &str) {
        let found = self.look();
        assert_eq!(found.len(), alive.len());
        for ((name, found), alive) in self.names.iter().zip(found).zip(alive) {
            let expected = Found {
                stack: 0,
                elsewhere: 2 * alive,
            };
            assert_eq!(found, expected, "{name} after {when}");
        }
    }
}

#[inline(never)]
pub fn apart<T>(f: impl FnOnce() -> T) -> T {
    f()
}

#[inline(never)]
pub fn overwritten() {
    black_box(&mut [0u64; 1 << 16]);
}
