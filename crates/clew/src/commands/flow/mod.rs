//! `clew flow`: flow signatures on captures, files and the network.

mod keygen;
mod listing;
mod proof;
mod relay;
mod sign;
mod verify;

use crate::cli::{CarriageName, CarriageOptions, Flow, KnownFlows};
use crate::failure::{Failure, Status};
use crate::flow::file::MAGIC;
use crate::flow::keys::{self, FlowKey};
use crate::flow::schemes::Flows;
use crate::output::open_input;
use clew_capture::is_capture;
use clew_flow::Distribution;
use clew_flow::rtp::RTP_SIGNATURE_MAX;
use clew_tree::carriage::COUNT_MAX;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

pub fn run(command: Flow) -> Result<Status, Failure> {
    match command {
        Flow::Keygen(arguments) => keygen::run(&arguments),
        Flow::Sign(arguments) => sign::run(&arguments),
        Flow::Verify(arguments) => verify::run(&arguments),
        Flow::Relay(arguments) => relay::run(&arguments),
        Flow::Inspect(arguments) => verify::inspect(&arguments),
        Flow::Extract(arguments) => proof::extract(&arguments),
        Flow::Check(arguments) => proof::check(&arguments),
    }
}

/// One packet in so many has its block's signature in sparse carriage.
const EVERY: u16 = 8;

/// Which packets carry what.
///
/// # Errors
/// There is `--every` without sparse carriage. The flow's blocks are larger than coded carriage takes, it has salts and manifests have none, or its
/// packet signatures are longer than the padding of RTP.
fn distribution(carrying: &CarriageOptions, key: &FlowKey) -> Result<Distribution, Failure> {
    let most = key.descriptor().chaining().most;
    let longest = key.descriptor().signature_bytes_max();
    if carrying.rtp && longest > RTP_SIGNATURE_MAX {
        return Err(Failure::new(format!(
            "--rtp: need packet signatures of at most {RTP_SIGNATURE_MAX} bytes, this flow's have \
             up to {longest}"
        ))
        .hint("use a key made with --alg ed25519 and a smaller --block"));
    }
    if carrying.every.is_some() && carrying.carriage != CarriageName::Sparse {
        return Err(Failure::new("--every requires --carriage sparse")
            .hint("use --carriage sparse, or omit --every"));
    }
    match carrying.carriage {
        CarriageName::Manifest if key.descriptor().chaining().salted => Err(Failure::new(
            "--carriage manifest cannot add salts: packets are not changed",
        )
        .hint("use another --carriage, or a key made without --salted")),
        CarriageName::Full | CarriageName::Manifest => Ok(Distribution::Every),
        CarriageName::Sparse => Ok(Distribution::OneIn(carrying.every.unwrap_or(EVERY))),
        CarriageName::Coded if most > COUNT_MAX => Err(Failure::new(format!(
            "--carriage coded: need blocks of at most {COUNT_MAX} packets, this flow has up to \
             {most}"
        ))
        .hint("use another --carriage, or a key made with a smaller --block")),
        CarriageName::Coded => Ok(Distribution::CODED),
    }
}

/// The flows of these files, verified to so many bits or as far as it can be done.
fn flows(paths: &[PathBuf], assurance: Option<u16>) -> Result<Flows, Failure> {
    let descriptors: Result<Vec<_>, Failure> = paths.iter().map(|path| keys::read(path)).collect();
    let bits = assurance.unwrap_or(u16::MAX);
    Ok(Flows::verified_to(descriptors?, bits))
}

impl KnownFlows {
    fn flows(&self) -> Result<Flows, Failure> {
        flows(&self.flow, self.assurance)
    }
}

/// What an input is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Capture,
    SignedFile,
    Other,
}

/// Opens an input and looks what it is.
fn peek(path: &Path) -> Result<(Kind, Box<dyn Read + Send>), Failure> {
    let mut input = open_input(path).map_err(|e| Failure::io(path, &e))?;
    let mut start = Vec::new();
    let mut begin = input.by_ref().take(MAGIC.len() as u64);
    begin
        .read_to_end(&mut start)
        .map_err(|e| Failure::io(path, &e))?;
    let kind = match start == MAGIC {
        true => Kind::SignedFile,
        false if is_capture(&start) => Kind::Capture,
        false => Kind::Other,
    };
    Ok((kind, Box::new(Cursor::new(start).chain(input))))
}
