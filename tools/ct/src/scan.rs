//! `clew-ct scan`: what a running process has in memory of the secrets of a member key, by kind of
//! memory: those that are in use, and those that were left behind.

use clew_group::curve::Scalar;
use clew_keys::{MemberKeyFile, TextFile};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{File, read_to_string};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::ExitCode;

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// Bytes of a pattern: half a scalar.
const HALF: usize = 16;

/// Half of a secret in one of its forms.
struct Pattern {
    name: String,
    bytes: Vec<u8>,
}

/// How often each name was found in each kind of memory.
type Found = BTreeMap<(String, String), usize>;

/// Scans a process for the key in a file, and prints what is there.
pub fn run(key: &Path, pid: u32) -> ExitCode {
    match patterns(key).and_then(|patterns| scan(&patterns, pid)) {
        Ok(found) => {
            print(&found);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("clew-ct: {error}");
            ExitCode::from(2)
        }
    }
}

fn print(found: &Found) {
    println!("{:<22} {:<24} {:>6}", "secret", "memory", "halves");
    for ((name, place), count) in found {
        println!("{name:<22} {place:<24} {count:>6}");
    }
    if found.is_empty() {
        println!("nothing");
    }
}

fn patterns(path: &Path) -> io::Result<Vec<Pattern>> {
    let of_key = |error: io::Error| within(path.display(), &error);
    let text = read_to_string(path).map_err(of_key)?;
    let key = MemberKeyFile::decode(&text).map_err(|error| of_key(io::Error::other(error)))?;
    let bytes = key.key.to_bytes();
    let mut patterns = Vec::new();
    for (name, secret) in ["x", "y"].iter().zip(bytes[48..].chunks_exact(32)) {
        let scalar = Scalar::from_bytes(secret).map_err(io::Error::other)?;
        patterns.extend(forms(name, &scalar));
    }
    if let Some(device) = &key.device {
        patterns.extend(halves("device seed", &device.to_bytes()));
    }
    patterns.extend(of_text(&text, &key));
    Ok(patterns)
}

/// A scalar as it is encoded, the other way round, and as `blst` computes with it.
fn forms(name: &str, scalar: &Scalar) -> Vec<Pattern> {
    let two_128 = Scalar::from_u128(u128::MAX) + Scalar::from_u128(1);
    let montgomery = *scalar * two_128 * two_128;
    let little = |scalar: &Scalar| {
        let mut bytes = scalar.to_bytes();
        bytes.reverse();
        bytes
    };
    let mut forms = halves(&format!("{name}, encoded"), &scalar.to_bytes());
    forms.extend(halves(&format!("{name}, little-endian"), &little(scalar)));
    forms.extend(halves(&format!("{name}, Montgomery"), &little(&montgomery)));
    forms
}

fn halves(name: &str, bytes: &[u8]) -> Vec<Pattern> {
    let halves = bytes.chunks_exact(HALF);
    halves
        .map(|half| Pattern {
            name: name.to_owned(),
            bytes: half.to_vec(),
        })
        .collect()
}

/// The part of the file's text that is x, y and the device's seed in base64.
fn of_text(text: &str, key: &MemberKeyFile) -> Vec<Pattern> {
    // scheme, group, nonce, name, index, A (spec/key-file.md)
    let before = 1 + 16 + 32 + 1 + key.machine.as_str().len() + 4 + 48;
    let secret = key.key.to_bytes().len() - 48 + key.device.iter().len() * 32;
    let [start, end] = [before.div_ceil(3) * 4, (before + secret) / 3 * 4];
    let line = text.lines().find(|line| !line.starts_with('#'));
    let base64 = line.and_then(|line| line.split_once(' ')).map(|(_, b)| b);
    let secret = base64.and_then(|b| b.get(start..end));
    halves("text of the file", secret.unwrap_or_default().as_bytes())
}

/// An error with what it is about.
fn within(what: impl Display, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

fn scan(patterns: &[Pattern], pid: u32) -> io::Result<Found> {
    scan_readable(patterns, pid).map_err(|error| {
        let hint = "name a running process of your own, or be root";
        let error = within(format!("memory of process {pid}"), &error);
        io::Error::other(format!("{error}\nhint: {hint}"))
    })
}

fn scan_readable(patterns: &[Pattern], pid: u32) -> io::Result<Found> {
    let memory = File::open(format!("/proc/{pid}/mem"))?;
    let (mut found, mut read) = (Found::new(), 0);
    for line in read_to_string(format!("/proc/{pid}/maps"))?.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [range, rights, ..] = fields[..] else {
            continue;
        };
        if let Some((start, end)) = bounds(range).filter(|_| rights.starts_with("rw")) {
            let place = fields.get(5).copied().unwrap_or("mapped, or a thread's");
            let (until, hits) = hits(patterns, &memory, start, end);
            read += until - start;
            for i in hits {
                let key = (patterns[i].name.clone(), place.to_owned());
                *found.entry(key).or_default() += 1;
            }
        }
    }
    match read {
        0 => Err(io::Error::other("none of it can be read")), // it has just ended
        _ => Ok(found),
    }
}

fn bounds(range: &str) -> Option<(u64, u64)> {
    let (start, end) = range.split_once('-')?;
    let bound = |text| u64::from_str_radix(text, 16).ok();
    Some((bound(start)?, bound(end)?))
}

/// How far a range of memory can be read, and the patterns that it has until there, at any byte.
fn hits(patterns: &[Pattern], memory: &File, start: u64, end: u64) -> (u64, Vec<usize>) {
    let (mut at, mut hits) = (start, Vec::new());
    let mut buffer = vec![0u8; PIECE + HALF - 1];
    while at < end {
        let length = buffer.len().min((end - at) as usize);
        if memory.read_exact_at(&mut buffer[..length], at).is_err() {
            break;
        }
        for window in buffer[..length].windows(HALF) {
            hits.extend(patterns.iter().position(|p| p.bytes == window));
        }
        at += PIECE as u64;
    }
    (at.min(end), hits)
}
