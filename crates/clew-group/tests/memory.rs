//! What is left of secrets in this process's memory after each use: nothing on the stack, and on
//! the heap no more than the keys that are alive. All of memory is read, by a thread that was there
//! before.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_group::curve::{G1, Scalar};
use clew_group::xr::{Device, Generators, IssuerKey, Nonces, PublicKey, SigningKey};
use clew_group::{Step, Witness, bbs04};
use common::{EPOCH, NONCE, rng};
use std::fs::{File, read_to_string};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Patterns are kept in another form than they are looked for, so that they are not found
/// themselves.
const MASK: u128 = 0x5a5a_a5a5_5a5a_a5a5_5a5a_a5a5_5a5a_a5a5;

/// A secret that is looked for.
struct Secret {
    name: &'static str,
    /// Halves of the scalar as `blst` computes with it, little-endian and big-endian.
    masked: Vec<u128>,
}

impl Secret {
    fn of(name: &'static str, scalar: &Scalar) -> Self {
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
}

fn masked(window: &[u8]) -> u128 {
    u128::from_le_bytes(window.try_into().unwrap()) ^ MASK
}

/// How many halves of a secret there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Found {
    stack: usize,
    elsewhere: usize,
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
struct Watch {
    names: Vec<&'static str>,
    ask: Sender<usize>,
    answer: Receiver<Vec<Found>>,
}

impl Watch {
    /// The secrets are computed by a thread that overwrites its stack.
    fn new(of: impl FnOnce() -> Vec<Secret> + Send + 'static) -> Self {
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
    fn look(&self) -> Vec<Found> {
        let here = 0u8;
        self.ask.send(&raw const here as usize).unwrap();
        self.answer.recv().unwrap()
    }

    /// Nothing on the stack, and each secret so many times in boxes.
    fn expect(&self, alive: &[usize], when: &str) {
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
fn apart<T>(f: impl FnOnce() -> T) -> T {
    f()
}

#[inline(never)]
fn overwritten() {
    black_box(&mut [0u64; 1 << 16]);
}

const S: u128 = 0x1234_5678_9abc_def0_1234_5678_9abc;

/// The group, some of its steps, and the x of the device that will join.
struct World {
    issuer: IssuerKey,
    group: PublicKey,
    steps: Vec<Step>,
    x: Scalar,
}

fn world() -> World {
    let mut rng = rng(1);
    let issuer = IssuerKey::generate(&mut rng);
    let h = Generators::of(&NONCE).u.mul(&Scalar::random(&mut rng));
    let (group, _) = issuer.found(&NONCE, &h, &mut rng);
    let x = Scalar::random(&mut rng);
    let mut next = group.clone();
    let steps = (0..3u128).map(|i| {
        let step = issuer.revoke(&next, &Scalar::from_u128(i + 1)).unwrap();
        next = next.after(&step).unwrap();
        step
    });
    let steps = steps.collect();
    World {
        issuer,
        group,
        steps,
        x,
    }
}

/// One test only, so that no other thread has secrets like these.
#[test]
fn secrets_do_not_stay_behind() {
    the_scanner_finds_what_is_left();
    of_xr();
    of_bbs04();
}

/// A value that a function left in its frame, and one on the heap.
fn the_scanner_finds_what_is_left() {
    let watch = Watch::new(|| vec![Secret::of("control", &control())]);
    watch.expect(&[0], "nothing");
    left_behind();
    let found = watch.look();
    assert!(found[0].stack > 0, "{found:?}");
    overwritten();
    let kept = boxed();
    overwritten();
    watch.expect(&[1], "boxing");
    drop(kept);
}

/// A value whose forms nobody else in this process has.
#[inline(never)]
fn control() -> Scalar {
    let s = Scalar::from_u128(S);
    s * s * s
}

#[inline(never)]
fn boxed() -> Box<Scalar> {
    Box::new(control())
}

#[inline(never)]
fn left_behind() {
    let mut padding = [0u64; 512];
    black_box(&mut padding);
    let mut secret = [control(); 4];
    black_box(&mut secret);
}

fn of_xr() {
    let world = world();
    let x = world.x;
    let watch = Watch::new(move || {
        // The same draws as below.
        let (device, _) = Device::new(&self::world().group, &[8; 32], &mut rng(2));
        let before = Scalar::from_bytes(device.to_bytes().as_slice()).unwrap();
        let y = before + Scalar::from_u128(S);
        let n = Nonces::random(&mut rng(3));
        vec![
            Secret::of("y'", &before),
            Secret::of("y", &y),
            Secret::of("k", &Scalar::random(&mut rng(9))),
            Secret::of("alpha", &n.alpha),
            Secret::of("ra", &n.ra),
            Secret::of("rx", &n.rx),
            Secret::of("rd", &n.rd),
            Secret::of("ry", &n.ry),
            Secret::of("alpha x", &(n.alpha * x)),
        ]
    });
    let expect = |alive: [usize; 9], when| watch.expect(&alive, when);
    let World {
        issuer,
        group,
        steps,
        ..
    } = &world;
    expect([0; 9], "nothing");

    let (device, request) = Device::new(group, &[8; 32], &mut rng(2));
    expect([1, 0, 0, 0, 0, 0, 0, 0, 0], "a device asked");
    let offer = issuer.offer(group, &[8; 32], &request, &x, &Scalar::from_u128(S));
    let key = device.accept(group, &offer.unwrap()).unwrap();
    black_box(key.prove_y(group, b"a row", &mut rng(9)));
    expect([1, 1, 0, 0, 0, 0, 0, 0, 0], "a device accepted");
    drop(device);
    let bytes = key.to_bytes();
    let again = clew_group::xr::MemberKey::from_bytes(bytes.as_slice()).unwrap();
    drop(bytes);
    drop((key.clone(), again));
    expect(
        [0, 1, 0, 0, 0, 0, 0, 0, 0],
        "encoding, decoding and cloning",
    );

    let witness = issuer.in_epoch(group, []).witness(&x).unwrap();
    let updated: Witness = witness.after(key.x(), steps).unwrap();
    assert_eq!(updated.before(key.x(), steps), witness);
    black_box(key.commitment(group));
    expect([0, 1, 0, 0, 0, 0, 0, 0, 0], "an update");

    let signer = SigningKey::new(group, EPOCH, key, &witness).unwrap();
    expect([0, 1, 0, 0, 0, 0, 0, 0, 0], "making a signing key");
    let precursor = signer.precursor(&mut rng(3));
    expect([0, 2, 0, 1, 1, 1, 1, 1, 1], "making a precursor");
    let moved = black_box(vec![precursor]).pop().unwrap();
    black_box(moved.sign(&[b"m"]));
    expect([0, 1, 0, 0, 0, 0, 0, 0, 0], "signing");
    black_box(signer.precursor(&mut rng(3)).sign_incremental(&[b"m"]));
    black_box(signer.precursor_in(b"scope", &mut rng(3)).sign(&[b"m"]));
    black_box(signer.pseudonym(b"scope"));
    expect(
        [0, 1, 0, 0, 0, 0, 0, 0, 0],
        "signing with R1 and with a pseudonym",
    );
    drop(signer);
    expect([0; 9], "all");
}

fn of_bbs04() {
    let watch = Watch::new(|| {
        let (issuer, _) = bbs04::IssuerKey::generate(&mut rng(5));
        let gamma = Scalar::from_bytes(issuer.to_bytes().as_slice()).unwrap();
        let key = issuer.issue_random(&mut rng(6));
        let n = bbs04::Nonces::random(&mut rng(7));
        vec![
            Secret::of("gamma", &gamma),
            Secret::of("x", key.x()),
            Secret::of("alpha", &n.alpha),
            Secret::of("r_alpha", &n.r_alpha),
            Secret::of("r_delta2", &n.r_delta2),
            Secret::of("x beta", &(*key.x() * n.beta)),
            Secret::of("gamma + x", &(gamma + *key.x())),
        ]
    });
    let expect = |alive: [usize; 7], when| watch.expect(&alive, when);
    expect([0; 7], "nothing");
    let (_, opening) = bbs04::OpenerKey::generate(&NONCE, &mut rng(4));
    let (issuer, issuing) = bbs04::IssuerKey::generate(&mut rng(5));
    let group = bbs04::PublicKey::genesis(&NONCE, &opening, &issuing);
    let key = issuer.issue_random(&mut rng(6));
    expect([1, 1, 0, 0, 0, 0, 0], "issuing");
    let epoch = issuer.in_epoch(&group, []);
    let witness = epoch.witness(key.x()).unwrap();
    black_box(epoch.bases(&[(G1::generator(), Scalar::from_u128(7)); 300]));
    expect([2, 1, 0, 0, 0, 0, 0], "witnesses and bases");
    drop(epoch);
    black_box(key.public_x());
    let signer = bbs04::SigningKey::new(&group, EPOCH, key, &witness).unwrap();
    let precursor = signer.precursor(&mut rng(7));
    expect([1, 2, 1, 1, 1, 1, 0], "making a precursor");
    black_box(precursor.sign(&[b"m"]));
    black_box(signer.precursor(&mut rng(7)).sign_incremental(&[b"m"]));
    expect([1, 1, 0, 0, 0, 0, 0], "signing");
    drop((signer, issuer));
    expect([0; 7], "all");
}
