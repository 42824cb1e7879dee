//! The kernels of tunnels: X25519 of many peers and boxes of many packets, by each backend of the machine,
//! beside crates that take one after the other.

use crate::measure::{Case, Measured};
use crate::options::Options;
use crate::report::{self, Source};
use aws_lc_rs::agreement;
use clew_record::table::Table;
use clew_simd::Backend;
use clew_simd::x25519::{self, Job};
use clew_tunnel::boxes::{self, Key, NONCE, Packet, Stream, TAG};
use crypto_secretbox::XSalsa20Poly1305;
use crypto_secretbox::aead::{AeadInPlace, KeyInit};
use std::io;

/// Jobs in one call: a batch that one `recvmmsg` might return, and those that do not fill a vector.
const JOBS: [usize; 6] = [1, 2, 3, 4, 8, 16];

/// Bytes of a text: an acknowledgement, a request, what fills a datagram.
const LENGTHS: [usize; 3] = [64, 300, 1200];

const PACKETS: [usize; 5] = [1, 2, 4, 16, 64];

const DALEK: &str = "dalek";
const AWS_LC: &str = "aws-lc";
const RUST_CRYPTO: &str = "rustcrypto";

const PROTOTYPE: &str = "prototype";
const LIBSODIUM: &str = "libsodium";

const SOURCES: [Source; 2] = [
    Source {
        name: PROTOTYPE,
        caveat: "the design's: 8 lanes on Zen 5 at about 5 GHz",
    },
    Source {
        name: LIBSODIUM,
        caveat: "1.0.18 on the same Zen 5, as the design measured it; one by one",
    },
];

/// A key, a nonce and some bytes: what is in them changes no figure.
const KEY: [u8; 32] = [3; 32];
const NONCE_USED: [u8; NONCE] = [5; NONCE];

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let secrets: Vec<[u8; 32]> = (1..=16).map(|n| [n; 32]).collect();
    let mut publics = vec![[0; 32]; secrets.len()];
    x25519::public_keys(
        Backend::best(),
        &secrets.iter().collect::<Vec<_>>(),
        &mut publics,
    );
    let stream = Key::from_bytes(KEY).stream(&[5; 16]);
    let mut cases = exchanges(&secrets, &publics);
    cases.extend(key_pairs(&secrets));
    for len in LENGTHS {
        cases.extend(boxes(&stream, len));
    }
    let (mut record, measured) = report::measure(options, &SOURCES, cases)?;
    let ways: Vec<_> = Backend::multipliers().map(Backend::name).collect();
    record.tables = ["x25519", "public"]
        .map(|of| table(&measured, of, &JOBS, &ways, &[DALEK, AWS_LC]))
        .into();
    let ways: Vec<_> = Backend::all().map(Backend::name).collect();
    for (work, len) in ["seal", "open"]
        .into_iter()
        .flat_map(|w| LENGTHS.map(|l| (w, l)))
    {
        let of = format!("{work}-{len}");
        let table = table(&measured, &of, &PACKETS, &ways, &[RUST_CRYPTO]);
        record.tables.push(table);
    }
    record.print(options.json)
}

fn row(of: &str, n: usize, way: &str) -> String {
    format!("{of}-x{n}-{way}")
}

/// Shared secrets.
fn exchanges<'a>(secrets: &'a [[u8; 32]], publics: &'a [[u8; 32]]) -> Vec<Case<'a>> {
    let about = "one of the shared secrets";
    let mut cases = Vec::new();
    for n in JOBS {
        let jobs: Vec<Job<'_>> = secrets.iter().zip(publics.iter().rev()).take(n).collect();
        for backend in Backend::multipliers() {
            let jobs = jobs.clone();
            let work = move || {
                let mut out = [[0; 32]; 16];
                x25519::products(backend, &jobs, &mut out[..n]);
                out
            };
            let name = row("x25519", n, backend.name());
            let case = Case::new(name, about, work).each_of(n);
            let case = if n == 8 {
                case.quote(PROTOTYPE, 3.4)
            } else {
                case
            };
            cases.push(case.against(row("x25519", 1, DALEK)));
        }
    }
    let (secret, public) = (secrets[0], publics[1]);
    let dalek = move || x25519_dalek::x25519(secret, public);
    cases.push(Case::new(row("x25519", 1, DALEK), about, dalek));
    let secret = agreement::PrivateKey::from_private_key(&agreement::X25519, &secret);
    let secret = secret.expect("32 bytes are a key");
    let aws_lc = move || {
        let public = agreement::UnparsedPublicKey::new(&agreement::X25519, &public);
        agreement::agree(&secret, public, (), |bytes| Ok(<[u8; 32]>::try_from(bytes)))
    };
    cases.push(Case::new(row("x25519", 1, AWS_LC), about, aws_lc));
    cases
}

/// Public keys.
fn key_pairs(secrets: &[[u8; 32]]) -> Vec<Case<'_>> {
    let about = "one of the public keys";
    let mut cases = Vec::new();
    for n in JOBS {
        let secrets: Vec<&[u8; 32]> = secrets.iter().take(n).collect();
        for backend in Backend::multipliers() {
            let secrets = secrets.clone();
            let work = move || {
                let mut out = [[0; 32]; 16];
                x25519::public_keys(backend, &secrets, &mut out[..n]);
                out
            };
            let name = row("public", n, backend.name());
            let case = Case::new(name, about, work).each_of(n);
            cases.push(case.against(row("public", 1, DALEK)));
        }
    }
    let secret = x25519_dalek::StaticSecret::from(secrets[0]);
    let dalek = move || x25519_dalek::PublicKey::from(&secret);
    cases.push(Case::new(row("public", 1, DALEK), about, dalek));
    let aws_lc = || {
        let secret = agreement::PrivateKey::from_private_key(&agreement::X25519, &KEY);
        secret.map(|secret| secret.compute_public_key())
    };
    cases.push(Case::new(row("public", 1, AWS_LC), about, aws_lc));
    cases
}

/// Boxes of texts of one length.
fn boxes(stream: &Stream, len: usize) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    let (sealing, opening) = (format!("seal-{len}"), format!("open-{len}"));
    let quoted = [(64, 0.45), (1200, 1.40)]
        .into_iter()
        .find(|(l, _)| *l == len);
    let all = PACKETS.map(|n| Backend::all().map(move |backend| (n, backend)));
    for (n, backend) in all.into_iter().flatten() {
        let name = backend.name();
        let case = Case::new(
            row(&sealing, n, name),
            "one of the boxes",
            seal(stream, len, n, backend),
        );
        let case = quoted
            .iter()
            .fold(case.each_of(n), |case, (_, us)| case.quote(LIBSODIUM, *us));
        cases.push(case.against(row(&sealing, 1, RUST_CRYPTO)));
        let case = Case::new(
            row(&opening, n, name),
            "one of the boxes",
            open(stream, len, n, backend),
        );
        cases.push(case.each_of(n).against(row(&opening, 1, RUST_CRYPTO)));
    }
    let mut text = vec![5; len];
    let work = move || {
        let cipher = XSalsa20Poly1305::new(&KEY.into());
        cipher.encrypt_in_place_detached(&NONCE_USED.into(), b"", &mut text)
    };
    cases.push(Case::new(row(&sealing, 1, RUST_CRYPTO), "a box", work));
    let mut text = vec![5; len];
    let cipher = XSalsa20Poly1305::new(&KEY.into());
    let tag = cipher.encrypt_in_place_detached(&NONCE_USED.into(), b"", &mut text);
    let tag = tag.expect("no text is too long");
    let work = move || {
        let (cipher, mut text) = (XSalsa20Poly1305::new(&KEY.into()), text.clone());
        cipher.decrypt_in_place_detached(&NONCE_USED.into(), b"", &mut text, &tag)
    };
    cases.push(Case::new(row(&opening, 1, RUST_CRYPTO), "a box", work));
    cases
}

/// Packets of these bytes.
fn packets<'a>(stream: &'a Stream, datagrams: &'a mut [u8], len: usize) -> Vec<Packet<'a>> {
    let datagrams = (0u64..).zip(datagrams.chunks_exact_mut(len + TAG));
    let packets = datagrams.filter_map(|(n, bytes)| Packet::new(stream, n.to_be_bytes(), bytes));
    packets.collect()
}

fn seal(stream: &Stream, len: usize, n: usize, backend: Backend) -> impl FnMut() {
    let mut datagrams = vec![5; n * (len + TAG)];
    move || {
        let mut packets = packets(stream, &mut datagrams, len);
        boxes::seal_with(backend, &mut packets);
    }
}

/// What was opened is no box any more: each time it is copied before.
fn open(stream: &Stream, len: usize, n: usize, backend: Backend) -> impl FnMut() {
    let mut sealed = vec![5; n * (len + TAG)];
    boxes::seal(&mut packets(stream, &mut sealed, len));
    let (mut datagrams, mut are_good) = (sealed.clone(), vec![false; n]);
    move || {
        datagrams.copy_from_slice(&sealed);
        let mut packets = packets(stream, &mut datagrams, len);
        boxes::decrypt_with(backend, &mut packets, &mut are_good);
    }
}

/// A row for each number, a column for each way, and the peers one by one in the title.
fn table(measured: &Measured, of: &str, counts: &[usize], ways: &[&str], peers: &[&str]) -> Table {
    let ns = |n, way| measured.us(&row(of, n, way)) * 1000.0;
    let alone = peers
        .iter()
        .map(|peer| format!("{peer} {:.0}", ns(1, peer)));
    let title = format!(
        "{of}, nanoseconds for one; one by one: {}",
        alone.collect::<Vec<_>>().join(", ")
    );
    let columns = ["x"].into_iter().chain(ways.iter().copied());
    let mut table = Table::new(of, title, columns.chain(["to the peer"]));
    for n in counts {
        let cells = ways.iter().map(|way| format!("{:.0}", ns(*n, way)));
        let ratio = format!("{:.3}", ns(*n, Backend::best().name()) / ns(1, peers[0]));
        table.row(n.to_string(), cells.chain([ratio]));
    }
    table
}
