//! Hashing packets and nodes of trees together: each way that the machine has, beside the crates
//! `blake3` and `sha2` one by one, which is the way `portable`.

use crate::measure::{Case, Measured};
use crate::options::Options;
use crate::report::{self, Source};
use clew_record::table::Table;
use clew_simd::Backend;
use clew_simd::hash::{self, Input};
use std::io;

/// Nodes of digests of 16 and of 32 bytes, a chunk of BLAKE3, that and a trailer's fields, the
/// design's leaf, and what Ethernet carries.
const LENGTHS: [usize; 7] = [36, 64, 70, 1024, 1046, 1088, 1472];

const COUNTS: [usize; 4] = [1, 4, 16, 64];

/// What stands before a packet in its leaf: no block of the packet is a block of the message.
const HEAD: usize = 22;

const KEY: &[u8; 32] = b"the key of a block of clew-bench";

const PROTOTYPE: &str = "prototype";

const SOURCES: [Source; 1] = [Source {
    name: PROTOTYPE,
    caveat: "the design's, 16 lanes on Zen 5, of inputs that are one piece and, for BLAKE3, one chunk \
             however long",
}];

/// The design's figures, in nanoseconds, by hash function and length.
const QUOTED: [(Hash, usize, f64); 7] = [
    (Hash::Blake3, 64, 6.6),
    (Hash::Blake3, 1088, 102.0),
    (Hash::Sha256, 36, 14.0),
    (Hash::Sha256, 64, 26.0),
    (Hash::Sha256, 70, 26.0),
    (Hash::Sha256, 1024, 222.0),
    (Hash::Sha256, 1088, 234.0),
];

#[derive(Clone, Copy, PartialEq)]
enum Hash {
    Blake3,
    Sha256,
}

impl Hash {
    const ALL: [Self; 2] = [Self::Blake3, Self::Sha256];

    fn name(self) -> &'static str {
        match self {
            Self::Blake3 => "blake3",
            Self::Sha256 => "sha256",
        }
    }
}

/// A way to hash: by force, or the one that callers get.
type Way = Option<Backend>;

/// The way of the crates one by one, with which the others are compared.
const ALONE: &str = "portable";

fn ways() -> Vec<Way> {
    hash::backends().map(Some).chain([None]).collect()
}

fn way_name(way: Way) -> &'static str {
    way.map_or("chosen", Backend::name)
}

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let most = LENGTHS[LENGTHS.len() - 1] * COUNTS[COUNTS.len() - 1];
    let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(most).collect();
    let mut cases = Vec::new();
    for hash in Hash::ALL {
        for len in LENGTHS {
            let of = |(n, way)| case(&bytes, hash, len, n, way);
            let all = COUNTS.map(|n| ways().into_iter().map(move |way| (n, way)));
            cases.extend(all.into_iter().flatten().map(of));
        }
    }
    let (mut record, measured) = report::measure(options, &SOURCES, cases)?;
    record.tables = Hash::ALL.map(|hash| table(hash, &measured)).into();
    record.print(options.json)
}

fn row(hash: Hash, len: usize, n: usize, way: &str) -> String {
    format!("{}-{len}-x{n}-{way}", hash.name())
}

fn case(bytes: &[u8], hash: Hash, len: usize, n: usize, way: Way) -> Case<'_> {
    let cut = |message| {
        let (head, body) = <[u8]>::split_at(message, HEAD);
        Input {
            head,
            body,
            tail: &[],
        }
    };
    let inputs: Vec<Input<'_>> = bytes.chunks_exact(len).take(n).map(cut).collect();
    let mut digests = vec![[0; 32]; n];
    let work = move || {
        match (hash, way) {
            (Hash::Blake3, Some(backend)) => backend.blake3_keyed(KEY, &inputs, &mut digests),
            (Hash::Blake3, None) => hash::blake3_keyed(KEY, &inputs, &mut digests),
            (Hash::Sha256, Some(backend)) => backend.sha256(&inputs, &mut digests),
            (Hash::Sha256, None) => hash::sha256(&inputs, &mut digests),
        }
        digests[n - 1]
    };
    let name = row(hash, len, n, way_name(way));
    let case = Case::new(name, "one of the inputs", work).each_of(n);
    let quoted = QUOTED.iter().find(|(h, l, _)| (*h, *l) == (hash, len));
    let case = match quoted {
        Some((_, _, ns)) if n == 16 => case.quote(PROTOTYPE, ns / 1000.0),
        _ => case,
    };
    case.against(row(hash, len, n, ALONE))
}

/// A row for each length and number, a column for each way.
fn table(hash: Hash, measured: &Measured) -> Table {
    let heads = ways().into_iter().map(way_name);
    let columns = ["bytes", "x"].into_iter().chain(heads).chain(["to alone"]);
    let title = format!(
        "{}, nanoseconds for an input; alone: the crate's, one by one",
        hash.name()
    );
    let mut table = Table::new(hash.name(), title, columns);
    for (len, n) in LENGTHS.into_iter().flat_map(|len| COUNTS.map(|n| (len, n))) {
        let ns = |way| measured.us(&row(hash, len, n, way)) * 1000.0;
        let cells = ways()
            .into_iter()
            .map(|way| format!("{:.1}", ns(way_name(way))));
        let ratio = format!("{:.2}", ns(way_name(None)) / ns(ALONE));
        table.row(
            len.to_string(),
            [n.to_string()].into_iter().chain(cells).chain([ratio]),
        );
    }
    table
}
