//! `clew sign`

use crate::capture::Capture;
use crate::cli::{BlockCarriage, ModeName, OversizeName, Sign, TimeName};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::output::Output;
use crate::random;
use crate::report;
use clap::ArgMatches;
use clew_engine::captures::{self, Oversize, SignReport};
use clew_engine::{Cover, Options, Signer, Signers, TimeSource};
use clew_keys::{MemberKeyFile, TextFile};
use clew_packet::{CODED_MAX, Policy, Reason};
use ipnet::IpNet;
use std::path::Path;

pub fn run(arguments: &Sign, matches: &ArgMatches) -> Result<Status, Failure> {
    check_carriage(arguments)?;
    let options = Options {
        cover: cover(arguments),
        time: match arguments.time {
            TimeName::Record => TimeSource::Frame,
            TimeName::Now => TimeSource::Now,
        },
    };
    let oversize = match arguments.oversize {
        OversizeName::Pass => Oversize::Pass,
        OversizeName::Refuse => Oversize::Refuse,
    };
    let signers = Signers::new(signers(arguments, matches)?, options);
    let mut capture = Capture::open(&arguments.input, "signing")?;
    let output = Output::create(&arguments.out.output, &arguments.input, arguments.out.force)?;
    let (capture, now) = (&mut capture, clock::now);
    let (signed, output) = captures::sign(capture, output, &signers, oversize, now, &random::os)?;
    output.commit()?;
    report(&signed, &arguments.out.output);
    Ok(if signed.damage.is_some() {
        Status::CouldNotTell
    } else {
        Status::Yes
    })
}

/// Only blocks are coded, and not the largest.
fn check_carriage(arguments: &Sign) -> Result<(), Failure> {
    let (mode, most) = (arguments.mode, arguments.block);
    if arguments.carriage == BlockCarriage::Full {
        return Ok(());
    }
    if mode != ModeName::Tree {
        let failure = Failure::new("--carriage coded requires --mode tree");
        return Err(failure.hint("use --mode tree, the default"));
    }
    if most > CODED_MAX {
        let failure = Failure::new(format!(
            "--carriage coded: need blocks of at most {CODED_MAX} packets, have {most}"
        ));
        return Err(failure.hint(format!("use --block {CODED_MAX} or less")));
    }
    Ok(())
}

fn cover(arguments: &Sign) -> Cover {
    match arguments.mode {
        ModeName::Each => Cover::Each,
        ModeName::Window => Cover::Window(arguments.window),
        ModeName::Tree => Cover::Tree(arguments.block),
    }
}

fn signers(arguments: &Sign, matches: &ArgMatches) -> Result<Vec<Signer>, Failure> {
    let policy = Policy {
        nat: arguments.nat,
        tolerant: arguments.tolerant,
        incremental: arguments.incremental,
        mtu: arguments.mtu,
        coded: arguments.carriage == BlockCarriage::Coded,
        ..Policy::default()
    };
    let owned = sources_by_key(arguments, matches)?;
    let (several, now) = (arguments.key.len() > 1, clock::now());
    arguments
        .key
        .iter()
        .zip(owned)
        .map(|(path, from)| {
            if from.is_empty() && several {
                return Err(Failure::file(
                    path,
                    "with several keys, each --key requires its own --from",
                ));
            }
            if from.is_empty() {
                mention!(
                    "clew: warning: signing packets of every source; select the machine's with \
                     --from"
                );
            }
            let key = arguments.unlock.load(path, MemberKeyFile::decode)?;
            Signer::new(key, from, policy, now).map_err(|error| Failure {
                message: format!("{}: {error}", path.display()),
                ..error.into()
            })
        })
        .collect()
}

/// The `--from` that follow each `--key`.
fn sources_by_key(arguments: &Sign, matches: &ArgMatches) -> Result<Vec<Vec<IpNet>>, Failure> {
    let sign = matches.subcommand_matches("sign");
    let places = |name| sign.and_then(|m| m.indices_of(name)).into_iter().flatten();
    let keys: Vec<usize> = places("key").collect();
    let mut owned = vec![Vec::new(); arguments.key.len()];
    for (place, net) in places("from").zip(&arguments.from) {
        let before = keys.iter().filter(|key| **key < place).count();
        let key = before
            .checked_sub(1)
            .ok_or_else(|| Failure::new("--from must follow its --key"))?;
        owned[key].push(*net);
    }
    Ok(owned)
}

fn report(signed: &SignReport, output: &Path) {
    let count = signed.reasons.of(Reason::Signed);
    mention!(
        "signed {count} of {} packets: {}",
        signed.packets,
        output.display()
    );
    report::reasons(
        signed
            .reasons
            .iter()
            .filter(|(reason, _)| *reason != Reason::Signed),
    );
    report::damage(signed.damage.as_ref(), "the rest was copied unchanged");
    if count == 0 && signed.packets > 0 {
        mention!("clew: warning: no packet was signed");
    }
}
