//! `clew-bench`: one program for each published table or figure that clew measures itself against.
//!
//! A program is a list of [`measure::Case`]s. They run interleaved, so that load on the machine
//! falls on all of them alike. A [`clew_record::Record`] has their figures beside the paper's and a peer's.

mod batch;
mod clue_table;
mod design;
mod effs;
mod epochs;
mod files;
mod findings;
mod flow;
mod group;
mod group_signature;
mod groups;
mod hash_lanes;
mod issuing;
mod lanes;
mod loss;
mod manager;
mod measure;
mod modes;
mod nodes;
mod opening;
mod options;
mod paper;
mod plot;
mod register;
mod report;
mod sha256;
#[path = "../../../crates/clew-group/tests/all/common/textbook.rs"]
mod textbook;
mod tunnel;
mod tunnel_crypto;
mod udp;
#[path = "../../../crates/clew-group/tests/all/common/xr_textbook.rs"]
mod xr_textbook;

use clap::Parser;
use options::Options;
use std::io::{self, Write};
use std::process::ExitCode;

/// A benchmark that can be asked for by name.
struct Program {
    name: &'static str,
    about: &'static str,
    run: fn(&Options) -> io::Result<()>,
}

const PROGRAMS: [Program; 20] = [
    Program {
        name: "clue-table",
        about: "Clue's table of microbenchmarks: BBS04, XR, for a packet, a window of 8, a tree of 8",
        run: clue_table::run,
    },
    Program {
        name: "effs",
        about: "eFFS as it is used, beside Ed25519, ECDSA, RSA, BLS and XR: signatures, and flows by block",
        run: effs::today::run,
    },
    Program {
        name: "effs-paper",
        about: "Wong and Lam's tables 2 to 9 and figures 7 to 10: RSA, DSA, FFS and eFFS on one library's numbers",
        run: effs::paper::run,
    },
    Program {
        name: "group-signature",
        about: "BBS04, XR, XRR: everything that signing and verifying is made of",
        run: group_signature::run,
    },
    Program {
        name: "batch",
        about: "XR, XRR: one signature of a batch, by size, from points and from bytes, and with a bad one",
        run: batch::run,
    },
    Program {
        name: "lanes",
        about: "XR in vector lanes beside blst alone, in one run: batches, one, bad ones, precursors",
        run: lanes::run,
    },
    Program {
        name: "opening",
        about: "what trustees and judges compute for an opening, a match, a ceremony, by their number",
        run: opening::run,
    },
    Program {
        name: "register",
        about: "joins, the register of N machines, revocations, updates and what loading checks",
        run: register::run,
    },
    Program {
        name: "epochs",
        about: "an epoch of N machines: its index, a look-up, a rebase; chains of steps, loaded and followed",
        run: epochs::run,
    },
    Program {
        name: "manager",
        about: "the manager as a service: joins, the feed's head, look-ups, with SQLite and PostgreSQL",
        run: manager::run,
    },
    Program {
        name: "modes",
        about: "each, window, tree: bytes, signing, and verifying a packet when others are lost",
        run: modes::run,
    },
    Program {
        name: "files",
        about: "clew sign and clew verify of a capture, by mode and number of cores, beside hashing alone",
        run: files::run,
    },
    Program {
        name: "flow-loss",
        about: "what loss costs a receiver: each, Clue's windows, trees in each carriage, SAIDA",
        run: flow::loss::run,
    },
    Program {
        name: "flow-paper",
        about: "Wong and Lam's Table 1 and figures 3, 4, 5, 7 to 10, and whether their findings hold here",
        run: flow::paper::run,
    },
    Program {
        name: "flow-rates",
        about: "flow signatures: packets a second by block, hash, digests and length, beside Ed25519 alone",
        run: flow::rates::run,
    },
    Program {
        name: "hash-lanes",
        about: "BLAKE3 and SHA-256 of many packets or nodes at once, in each way that the machine has",
        run: hash_lanes::run,
    },
    Program {
        name: "pages",
        about: "no benchmark: writes the tables of the pages from the recorded runs; --check only compares",
        run: |options| clew_record::pages::write(options.check),
    },
    Program {
        name: "sha256",
        about: "hashing the packets of --capture on RAYON_NUM_THREADS threads: what files compares with",
        run: sha256::run,
    },
    Program {
        name: "tunnel",
        about: "what a tunnel's server computes: new tunnels, connections, puzzles, bulk; without the network",
        run: tunnel::run,
    },
    Program {
        name: "tunnel-crypto",
        about: "X25519 of many peers and boxes of many packets at once, beside dalek, AWS-LC, RustCrypto",
        run: tunnel_crypto::run,
    },
];

fn main() -> ExitCode {
    let options = Options::parse();
    match start(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("clew-bench: {error}");
            ExitCode::from(2)
        }
    }
}

fn start(options: &Options) -> io::Result<()> {
    let Some(name) = options.program.as_deref().filter(|_| !options.list) else {
        return list();
    };
    let program = PROGRAMS.iter().find(|program| program.name == name);
    let program = program.ok_or_else(|| {
        io::Error::other(format!(
            "no program {name}\nhint: clew-bench --list names them"
        ))
    })?;
    (program.run)(options)
}

fn list() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for program in &PROGRAMS {
        writeln!(out, "{:<18} {}", program.name, program.about)?;
    }
    Ok(())
}
