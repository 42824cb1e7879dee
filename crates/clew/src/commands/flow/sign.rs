//! `clew flow sign`

use super::{Kind, distribution, peek};
use crate::capture::Capture;
use crate::cli::{CarriageName, FlowSign};
use crate::failure::{Failure, Status};
use crate::flow::file;
use crate::flow::keys::FlowKey;
use crate::flow::sign::{Fate, Options, Signed, list_capture, sign_capture};
use crate::output::Output;
use crate::report;
use clew_packet::SECOND_NS;
use std::io::{BufReader, Read};

/// Nobody waits for a packet of a capture: a block ends where its one timestamp would be wrong by a
/// second.
const PERIOD_NS: u64 = SECOND_NS;

pub fn run(arguments: &FlowSign) -> Result<Status, Failure> {
    let key = arguments.unlock.load(&arguments.key, FlowKey::decode)?;
    let (kind, input) = peek(&arguments.input)?;
    match kind {
        Kind::Capture if !arguments.file => capture(arguments, &key, input),
        Kind::SignedFile if !arguments.file => {
            let path = &arguments.input;
            Err(Failure::file(path, "already signed").hint("use --file to sign it again"))
        }
        _ => file(arguments, &key, input),
    }
}

fn capture(
    arguments: &FlowSign,
    key: &FlowKey,
    input: Box<dyn Read + Send>,
) -> Result<Status, Failure> {
    let capture = Capture::of(&arguments.input, input, "signing")?;
    let output = Output::create(&arguments.out.output, &arguments.input, arguments.out.force)?;
    let carrying = &arguments.carrying;
    let beside = carrying.carriage == CarriageName::Manifest;
    let options = Options {
        distribution: distribution(carrying, key)?,
        period_ns: carrying
            .period
            .map_or(PERIOD_NS, |period| period.as_nanos() as u64),
        rtp: carrying.rtp,
        to: arguments.to.clone(),
        port: arguments.port,
    };
    let (signed, output) = match beside {
        true => {
            let mut output = output;
            (list_capture(capture, &mut output, key, &options)?, output)
        }
        false => sign_capture(capture, output, key, &options)?,
    };
    output.commit()?;
    tell(&signed, arguments);
    Ok(match signed.damage {
        Some(_) => Status::CouldNotTell,
        None => Status::Yes,
    })
}

fn tell(signed: &Signed, arguments: &FlowSign) {
    let count = signed.fates.get(&Fate::Signed).copied().unwrap_or(0);
    mention!(
        "signed {count} of {} packets, in {} blocks: {}",
        signed.packets,
        signed.blocks,
        arguments.out.output.display()
    );
    if let Some(each) = signed.bytes.checked_div(count) {
        mention!("  {each} bytes added to each, on average");
    }
    for (fate, count) in signed
        .fates
        .iter()
        .filter(|(fate, _)| **fate != Fate::Signed)
    {
        mention!("  {count:>9}  {}", fate.explain());
    }
    report::damage(signed.damage.as_deref(), "the rest was copied unchanged");
    if count == 0 && signed.packets > 0 {
        mention!("clew: warning: no packet was signed");
    }
}

fn file(
    arguments: &FlowSign,
    key: &FlowKey,
    input: Box<dyn Read + Send>,
) -> Result<Status, Failure> {
    let mut output = Output::create(&arguments.out.output, &arguments.input, arguments.out.force)?;
    let input = BufReader::new(input);
    let size = file::sign(input, &mut output, key, arguments.packet_bytes)?;
    output.commit()?;
    let each = arguments.packet_bytes;
    mention!(
        "signed {size} bytes, in packets of {each}: {}",
        arguments.out.output.display()
    );
    Ok(Status::Yes)
}
