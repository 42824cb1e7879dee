//! `clew sign`

use crate::capture::{Capture, foresee};
use crate::cli::{BlockCarriage, ModeName, OversizeName, Sign, TimeName};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::output::Output;
use crate::random;
use crate::report;
use clap::ArgMatches;
use clew_engine::captures::{self, Oversize, SignReport};
use clew_engine::{Cover, Options, Signer, Signers, TimeSource, WindowSize};
use clew_keys::{MemberKeyFile, TextFile};
use clew_packet::{CODED_MAX, Policy, SignOutcome};
use ipnet::IpNet;
use std::path::Path;

/// The largest window and block, in packets, unless others are asked for.
const WINDOW: WindowSize = WindowSize::Fixed(8);
const BLOCK: u16 = 64;

/// No packet grows by more bytes: signature, path of a block, saved fields and mark.
const GROWTH: usize = 4 << 10;

pub fn run(arguments: &Sign, matches: &ArgMatches) -> Result<Status, Failure> {
    let cover = cover(arguments)?;
    check_carriage(arguments, cover)?;
    let options = Options {
        cover,
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
    let mut output = Output::create(&arguments.out.output, &arguments.input, arguments.out.force)?;
    foresee(&mut output, &arguments.input, GROWTH)?;
    let (capture, now) = (&mut capture, clock::now);
    let (signed, output) = captures::sign(capture, output, &signers, oversize, now, &random::os)?;
    output.commit()?;
    Ok(report(&signed, &arguments.out.output))
}

/// Only blocks are coded, and not the largest.
fn check_carriage(arguments: &Sign, cover: Cover) -> Result<(), Failure> {
    if arguments.carriage == BlockCarriage::Full {
        return Ok(());
    }
    let Cover::Tree(most) = cover else {
        let failure = Failure::new("--carriage coded requires --mode tree");
        return Err(failure.hint("use --mode tree, the default"));
    };
    if most > CODED_MAX {
        let failure = Failure::new(format!(
            "--carriage coded: need blocks of at most {CODED_MAX} packets, have {most}"
        ));
        return Err(failure.hint(format!("use --block {CODED_MAX} or less")));
    }
    Ok(())
}

/// What one signature covers. A size that the mode does not have is an error.
fn cover(arguments: &Sign) -> Result<Cover, Failure> {
    match (arguments.mode, arguments.window, arguments.block) {
        (ModeName::Each, None, None) => Ok(Cover::Each),
        (ModeName::Window, window, None) => Ok(Cover::Window(window.unwrap_or(WINDOW))),
        (ModeName::Tree, None, block) => Ok(Cover::Tree(block.unwrap_or(BLOCK))),
        (_, _, Some(_)) => {
            Err(Failure::new("--block requires --mode tree")
                .hint("use --mode tree, or omit --block"))
        }
        (_, Some(_), None) => Err(Failure::new("--window requires --mode window")
            .hint("use --mode window, or omit --window")),
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

fn report(signed: &SignReport, output: &Path) -> Status {
    let count = signed.of(SignOutcome::Signed);
    mention!(
        "signed {count} of {} packets: {}",
        signed.packets,
        output.display()
    );
    let passed = signed
        .outcomes
        .iter()
        .map(|(outcome, count)| (*outcome, *count));
    report::outcomes(passed.filter(|(outcome, _)| *outcome != SignOutcome::Signed));
    let status = report::copied(signed.damage.as_ref());
    report::warn_if_none(count, signed.packets);
    status
}
