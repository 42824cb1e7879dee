//! `clew flow sign`

use super::{Kind, distribution, peek};
use crate::capture::{Capture, foresee};
use crate::cli::{CarriageName, FlowSign};
use crate::failure::{Failure, Status};
use crate::flow::file;
use crate::flow::keys::FlowKey;
use crate::flow::sign::{Fate, Options, Signed, list_capture, sign_capture};
use crate::output::Output;
use crate::report;
use std::io::{BufReader, Read};
use std::time::Duration;

/// Nobody waits for a packet of a capture: a block ends where its one timestamp would be wrong by a
/// second.
const PERIOD: Duration = Duration::from_secs(1);

/// No packet grows by more bytes: signature, and the digests of a star of 1024 packets.
const GROWTH: usize = 40 << 10;

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
    let mut output = Output::create(&arguments.out.output, &arguments.input, arguments.out.force)?;
    foresee(&mut output, &arguments.input, GROWTH)?;
    let carrying = &arguments.carrying;
    let beside = carrying.carriage == CarriageName::Manifest;
    let options = Options {
        distribution: distribution(carrying, key)?,
        period: carrying.period.unwrap_or(PERIOD),
        rtp: carrying.rtp,
        to: arguments.to.clone(),
        port: arguments.port,
    };
    let (signed, output) = match beside {
        true => (list_capture(capture, &mut output, key, &options)?, output),
        false => sign_capture(capture, output, key, &options)?,
    };
    output.commit()?;
    Ok(tell(&signed, arguments))
}

fn tell(signed: &Signed, arguments: &FlowSign) -> Status {
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
    let status = report::copied(signed.damage.as_deref());
    report::warn_if_none(count, signed.packets);
    status
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
