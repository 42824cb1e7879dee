//! An attack that must fail: with public files alone somebody signs packets of every epoch that a
//! revocation ended, of the present one in its grace time, and of an announced one.
//!
//! The forger reads the group file and the lists of witnesses of a store that the program made, and
//! signs by the textbook, which checks no key. It puts the published values of a revocation where the
//! old revocation had a whole credential: V' for A, x* for x, any y. That this did work is shown
//! against the old equations by `spec/check/tests/test_split_revocation.py` (`Forgery.test_old`) and
//! by `the_old_revocation_was_a_credential` and `the_papers_revocation_is_a_key` of `clew-group`.
//!
//! All times come from the group file, so that no clock matters.

#[path = "../../../clew-group/tests/all/common/textbook.rs"]
mod textbook;
#[path = "../../../clew-group/tests/all/common/xr_textbook.rs"]
mod xr_textbook;

use crate::captures::CAPTURES;
use crate::folder::Folder;
use crate::modes::{ETHERNET, file, packets};
use clew_evidence::{CheckedGroup, GroupFile};
use clew_group::curve::{G1, Scalar};
use clew_group::{MemberKey, PublicKey, Scheme, Witness, bbs04, xr};
use clew_keys::{MemberKeyFile, TextFile};
use clew_packet::{Frame, LinkType, Policy, Sender, SignOutcome, Timestamp};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use xr_textbook::g1;

const SECOND: u64 = 1_000_000_000;
const GROUP: &str = "acme/public/group.clew";
const WITNESSES: &str = "acme/public/witnesses";
/// Of a bucket's header; a row has 48 bytes.
const BUCKET_HEADER: usize = 42;

/// A packet with its time.
type Sent = (u64, Vec<u8>);

/// What the textbook signs with; `bbs04` has no y.
#[derive(Clone, Copy)]
struct Key {
    b: G1,
    x: Scalar,
    y: Scalar,
}

/// The public key of an epoch, as the textbook has it.
enum Book {
    Xr(xr_textbook::Gpk),
    Bbs04(textbook::Gpk),
}

impl Book {
    fn sign(&self, key: &Key, rng: &mut ChaCha20Rng, message: &[u8]) -> Vec<u8> {
        let Key { b, x, y } = *key;
        match self {
            Self::Xr(gpk) => {
                let key = xr_textbook::Key { b, x, y };
                xr_textbook::sign(gpk, &key, &xr::Nonces::random(rng), message)
            }
            Self::Bbs04(gpk) => {
                let nonces = bbs04::Nonces::random(rng);
                textbook::sign(gpk, &textbook::Key { b, x }, &nonces, message)
            }
        }
    }
}

/// What anybody downloads, and what the forger draws.
struct Public {
    group: CheckedGroup,
    /// Every point of the lists of witnesses, whoever it is for.
    witnesses: Vec<G1>,
    rng: ChaCha20Rng,
    frame: Vec<u8>,
}

impl Public {
    fn of(folder: &Folder, witnesses: &BTreeSet<Vec<u8>>) -> Self {
        let group = GroupFile::from_bytes(&fs::read(folder.path(GROUP)).unwrap()).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        Self {
            group: group.check_epochs(&mut rng).unwrap(),
            witnesses: witnesses.iter().map(|bytes| g1(bytes)).collect(),
            rng,
            frame: original(),
        }
    }

    /// A moment of an epoch, right after it starts.
    fn start(&self, epoch: u32) -> u64 {
        let start = self.group.start(epoch);
        let start = start.unwrap_or(self.group.genesis().created);
        (start.as_nanos() / SECOND + 1) * SECOND
    }

    /// The epochs with the times at which packets of them are accepted: when it starts, and in the
    /// grace time after its successor started.
    fn moments(&self) -> Vec<(u32, u64)> {
        let newest = self.group.newest_epoch();
        let starts = (0..=newest).map(|epoch| (epoch, self.start(epoch)));
        let graces = (0..newest).map(|epoch| (epoch, self.start(epoch + 1) + 30 * SECOND));
        starts.chain(graces).collect()
    }

    /// Everything of the shape (B, x, y) that public points give for an epoch.
    fn keys(&mut self, epoch: u32) -> Vec<Key> {
        let newest = self.group.newest_epoch();
        let v = |epoch: u32| self.group.v(epoch.min(newest)).unwrap();
        let mut points: Vec<G1> = (0..=newest).map(v).collect();
        points.extend(&self.witnesses);
        let [generator, h0] = self.generators();
        let y = Scalar::random(&mut self.rng);
        // A := V', the value that ends the epoch, alone and with all others.
        let a = v(epoch + 1);
        let mut shapes = vec![(a, Scalar::default()), (a, y), (generator, y)];
        for point in &points {
            shapes.extend([
                (*point + h0.mul(&y), y),
                (a + *point, Scalar::default()),
                (a + *point + h0.mul(&y), y),
                (generator + *point, Scalar::default()),
            ]);
        }
        let xs = self.xs();
        let with = |(b, y): &(G1, Scalar)| {
            xs.iter()
                .map(|x| Key {
                    b: *b,
                    x: *x,
                    y: *y,
                })
                .collect()
        };
        // With `bbs04` nothing but B is different.
        let has_y = self.group.scheme() == Scheme::Xr;
        shapes.retain(|(_, y)| has_y || *y == Scalar::default());
        shapes.iter().flat_map::<Vec<Key>, _>(with).collect()
    }

    /// Every x* of the file. `bbs04` publishes none, and one guess is as good as any.
    fn xs(&self) -> Vec<Scalar> {
        let published = self.group.revoked_x(self.group.newest_epoch()).copied();
        match self.group.scheme() {
            Scheme::Xr => published.collect(),
            Scheme::Bbs04 => vec![Scalar::from_u128(4711)],
        }
    }

    /// g1 and h0; of `bbs04`, its g1 and h.
    fn generators(&self) -> [G1; 2] {
        let nonce = &self.group.genesis().nonce;
        match self.public(0) {
            PublicKey::Xr(_) => {
                let all = xr::Generators::of(nonce);
                [all.g1, all.h0]
            }
            PublicKey::Bbs04(key) => {
                let id = self.group.epoch_id(0).unwrap();
                [G1::generator(), textbook::Gpk::of(nonce, &key, id).h]
            }
        }
    }

    fn public(&self, epoch: u32) -> PublicKey {
        self.group.public_key(epoch).unwrap().unwrap()
    }

    fn book(&self, epoch: u32) -> Book {
        let (nonce, id) = (
            &self.group.genesis().nonce,
            self.group.epoch_id(epoch).unwrap(),
        );
        match self.public(epoch) {
            PublicKey::Xr(public) => Book::Xr(xr_textbook::Gpk::of(nonce, &public, id)),
            PublicKey::Bbs04(public) => Book::Bbs04(textbook::Gpk::of(nonce, &public, id)),
        }
    }

    /// The packet with a trailer of that epoch and time, signed with a key that nobody checks.
    fn signed(&mut self, book: &Book, key: &Key, (epoch, time): (u32, u64)) -> Sent {
        let rng = &mut self.rng;
        let sign = |message: &[u8], body: &mut [u8]| {
            let bytes = book.sign(key, rng, message);
            body.copy_from_slice(&bytes[..body.len()]);
        };
        let sender = Sender::new(
            self.group.scheme(),
            self.group.id(),
            epoch,
            Policy::default(),
        );
        let frame = Frame::whole(LinkType(ETHERNET), &self.frame);
        let mut out = Vec::new();
        let reason = sender.sign_with(&frame, Some(Timestamp(time)), sign, &mut out);
        assert_eq!(reason, SignOutcome::Signed);
        (time, out)
    }
}

/// A packet to sign.
fn original() -> Vec<u8> {
    let capture = Path::new(CAPTURES).join("zeek--ssh-ssh.pcap");
    packets(&fs::read(capture).unwrap())[0].data().to_vec()
}

/// A group's history: its public files, what an honest machine sent in each epoch, and its keys.
struct History {
    folder: Folder,
    public: Public,
    honest: Vec<Sent>,
    keys: Vec<MemberKeyFile>,
}

impl History {
    /// Ended epochs, one of them by a rebase, the present one, and an announced one.
    fn new(scheme: &str) -> Self {
        let folder = Folder::with(scheme);
        for name in ["a", "b", "c", "d"] {
            folder.yes(&["enrol", "acme", name, "-o", &format!("{name}.key")]);
        }
        let (mut honest, mut keys, mut witnesses) = (vec![], vec![], BTreeSet::new());
        let in_a_week = crate::epochs::in_days(7);
        for revoked in [
            &["a"][..],
            &["b", "--rebase"],
            &["c"],
            &["d", "--at", &in_a_week],
        ] {
            honest.extend(sent(&folder, &mut keys));
            folder.yes(&[&["revoke", "acme"], revoked].concat());
            published(&folder, &mut witnesses);
            let update = ["update", "--key", "web-1.key", "--group", GROUP];
            folder.yes(&[&update[..], &["--witness", WITNESSES]].concat());
        }
        honest.extend(sent(&folder, &mut keys));
        Self {
            public: Public::of(&folder, &witnesses),
            folder,
            honest,
            keys,
        }
    }

    /// Packets that the textbook signs with the honest machine's key: what a forger that had one
    /// would send.
    fn controls(&mut self) -> Vec<Sent> {
        let mut sent = vec![];
        for moment in self.public.moments() {
            let epoch = moment.0;
            let held = self.keys.iter().find_map(|key| {
                let held = key.held(epoch)?;
                Some(of_member(&key.key, &held.witness))
            });
            let book = self.public.book(epoch);
            sent.push(self.public.signed(&book, &held.unwrap(), moment));
        }
        sent
    }

    fn forgeries(&mut self) -> Vec<Sent> {
        let mut sent = vec![];
        for (n, moment) in self.public.moments().into_iter().enumerate() {
            let (book, keys) = (self.public.book(moment.0), self.public.keys(moment.0));
            let in_grace = n > self.public.group.newest_epoch() as usize;
            // The time is a part of what is signed and of no key: in the grace time the first do.
            let most = if in_grace { 9 } else { keys.len() };
            for key in &keys[..most] {
                sent.push(self.public.signed(&book, key, moment));
            }
        }
        sent
    }
}

/// The lists of witnesses that are published now.
fn published(folder: &Folder, witnesses: &mut BTreeSet<Vec<u8>>) {
    let Ok(epochs) = fs::read_dir(folder.path(WITNESSES)) else {
        return;
    };
    for epoch in epochs {
        for bucket in fs::read_dir(epoch.unwrap().path()).unwrap() {
            let bytes = fs::read(bucket.unwrap().path()).unwrap();
            let rows = bytes[BUCKET_HEADER..].chunks(48);
            witnesses.extend(rows.filter(|row| *row != [0; 48]).map(<[u8]>::to_vec));
        }
    }
}

/// What the program signs with the honest key in the newest epoch.
fn sent(folder: &Folder, keys: &mut Vec<MemberKeyFile>) -> Vec<Sent> {
    let public = Public::of(folder, &BTreeSet::new());
    let time = public.start(public.group.newest_epoch());
    let unsigned = std::iter::once((time, &public.frame[..]));
    fs::write(folder.path("in"), file(ETHERNET, unsigned)).unwrap();
    assert_eq!(folder.sign(&["--mode", "each"]), 0);
    let key = fs::read_to_string(folder.path("web-1.key")).unwrap();
    keys.push(MemberKeyFile::decode(&key).unwrap());
    let signed = packets(&fs::read(folder.path("signed")).unwrap());
    let sent = signed.iter().map(|record| {
        let time = record.packet().unwrap().time_ns;
        (time.unwrap(), record.data().to_vec())
    });
    sent.collect()
}

fn of_member(key: &MemberKey, witness: &Witness) -> Key {
    let y = match key {
        MemberKey::Xr(key) => xr_textbook::Key::of(key, witness).y,
        MemberKey::Bbs04(_) => Scalar::default(),
    };
    Key {
        b: key.credential() + g1(&witness.to_bytes()),
        x: *key.x(),
        y,
    }
}

fn forge(scheme: &str) {
    let mut history = History::new(scheme);
    let newest = history.public.group.newest_epoch();
    assert_eq!(newest, 4);
    assert!(history.public.witnesses.len() >= 3);
    let honest = [history.honest.clone(), history.controls()].concat();
    assert_eq!(honest.len(), 5 + 9);
    let forged = history.forgeries();
    assert!(forged.len() > 100, "{}", forged.len());
    // Honest packets among forged ones: batches have both.
    let every = forged.len() / honest.len();
    let mut all: Vec<(bool, &Sent)> = forged.iter().map(|sent| (false, sent)).collect();
    for (n, sent) in honest.iter().enumerate() {
        all.insert(n * every, (true, sent));
    }
    let capture = all.iter().map(|(_, (time, frame))| (*time, &frame[..]));
    fs::write(history.folder.path("all"), file(ETHERNET, capture)).unwrap();
    let (status, verdicts, summary) = history.folder.verify("all");
    assert_eq!((status, verdicts.len()), (1, all.len()), "{summary}");
    for ((is_honest, _), packet) in all.iter().zip(&verdicts) {
        let expected = if *is_honest { "ok" } else { "bad-signature" };
        assert_eq!(packet["reason"], expected, "{packet}");
    }
    let epochs: BTreeSet<u64> = verdicts
        .iter()
        .map(|packet| packet["epoch"].as_u64().unwrap())
        .collect();
    assert!(epochs.into_iter().eq(0..=u64::from(newest)));
}

#[test]
fn public_files_of_xr_sign_in_no_epoch() {
    forge("xr");
}

#[test]
fn public_files_of_bbs04_sign_in_no_epoch() {
    forge("bbs04");
}
