//! `clew open`

use super::packet;
use crate::batch::frame;
use crate::capture::Record;
use crate::cli::Open;
use crate::clock;
use crate::failure::{Failure, Status};
use crate::keyring::{Keyring, read_group_file};
use crate::random;
use crate::report;
use clew_evidence::GroupFile;
use clew_group::bbs04::{IncrementalSignature, Signature};
use clew_manager::keys::TrusteeKeyFile;
use clew_manager::{Machine, Store};
use clew_packet::{
    Acceptance, Conclusion, Received, Receiver, SignedPacket, Summary, Verdict, read,
};
use serde_json::json;

pub fn run(arguments: &Open) -> Result<Status, Failure> {
    let group = read_group_file(&arguments.group)?;
    let trustee = arguments
        .unlock
        .load(&arguments.trustee, TrusteeKeyFile::decode)?;
    let store = Store::open(&arguments.register)?;
    check_same_group(&group, &trustee, &store)?;
    let record = packet::find(&arguments.input, arguments.packet)?;
    let named = name_signer(&record, &group, &trustee, &store, arguments.packet)?;
    tell(arguments, &group, &named);
    Ok(Status::Yes)
}

/// The machine that signed a packet, and what the packet says.
pub struct Named {
    /// The register's row.
    pub machine: Machine,
    /// The trailer.
    pub summary: Summary,
}

/// Verifies a packet at its own time and opens it. A packet that is not valid is never opened.
pub fn name_signer(
    record: &Record,
    group: &GroupFile,
    trustee: &TrusteeKeyFile,
    store: &Store,
    number: u64,
) -> Result<Named, Failure> {
    let summary = verified(record, group, number)?;
    let machine = open(record, group, trustee, store, summary.epoch)?;
    Ok(Named { machine, summary })
}

fn check_same_group(
    group: &GroupFile,
    trustee: &TrusteeKeyFile,
    store: &Store,
) -> Result<(), Failure> {
    let first = group.public_key(0).and_then(Result::ok);
    let opens = first.is_some_and(|key| trustee.opener.opens(&key));
    if trustee.group != group.id() || !opens {
        return Err(Failure::new("the opening key is not one of this group"));
    }
    if store.group().id() != group.id() {
        return Err(Failure::new("the register is not one of this group"));
    }
    Ok(())
}

/// What the packet says, once its signature was verified at its own time. Nothing else is opened.
fn verified(record: &Record, group: &GroupFile, number: u64) -> Result<Summary, Failure> {
    let conclusion = conclude(record, group);
    let Conclusion {
        verdict,
        reason,
        summary,
    } = conclusion;
    match (verdict, summary) {
        (Verdict::Valid, Some(summary)) => Ok(summary),
        (Verdict::Invalid, _) => {
            let why = report::explain(reason);
            Err(Failure::new(format!("packet {number} is invalid, {reason}: {why}")).no())
        }
        _ => Err(Failure::new(format!(
            "packet {number} is {verdict}, {reason}: nothing to open"
        ))),
    }
}

fn conclude(record: &Record, group: &GroupFile) -> Conclusion {
    let keyring = Keyring::new(vec![group.clone()]);
    let mut receiver = Receiver::new(&keyring, Acceptance::capture());
    let received = frame(record).map(|(frame, time)| receiver.receive(&frame, time));
    match received.expect("the record found is a packet") {
        Received::Done(conclusion) => conclusion,
        Received::Pending(pending) => receiver.conclude(pending.check(&mut random::os())),
    }
}

fn open(
    record: &Record,
    group: &GroupFile,
    trustee: &TrusteeKeyFile,
    store: &Store,
    epoch: u32,
) -> Result<Machine, Failure> {
    let (frame, _) = frame(record).expect("the record found is a packet");
    let packet = read(&frame).expect("a verified packet has a trailer");
    let public = group
        .public_key(epoch)
        .and_then(Result::ok)
        .expect("it verified in that epoch");
    let credential = trustee.opener.open(&signature(&packet));
    store.find(&public.tag(&credential))?.ok_or_else(|| {
        Failure::new(
            "the signer is not in the register: the issuer made a key that it did not enter",
        )
        .no()
    })
}

fn signature(packet: &SignedPacket<'_>) -> Signature {
    let body = packet.trailer().body;
    let decoded = match packet.summary().incremental {
        true => IncrementalSignature::from_bytes(body).map(|s| s.signature().clone()),
        false => Signature::from_bytes(body),
    };
    decoded.expect("a verified signature decodes")
}

fn tell(arguments: &Open, group: &GroupFile, named: &Named) {
    let Named { machine, summary } = named;
    if arguments.json {
        let object = json!({
            "packet": arguments.packet,
            "machine": machine.name,
            "group": group.id().to_string(),
            "epoch": summary.epoch,
            "signed_at": clock::rfc3339(summary.timestamp.0),
            "enrolled_at": clock::rfc3339(machine.enrolled_at),
            "revoked_in": machine.revoked_in,
        });
        say!("{object}");
        return;
    }
    let (packet, name) = (arguments.packet, &group.genesis().name);
    say!("packet {packet} was sent by {}", machine.name);
    say!(
        "  group     {name} ({}), epoch {}",
        group.id(),
        summary.epoch
    );
    say!("  signed    {}", clock::to_the_second(summary.timestamp.0));
    say!("  enrolled  {}", clock::to_the_second(machine.enrolled_at));
    if let Some(epoch) = machine.revoked_in {
        say!("  revoked   in epoch {epoch}");
    }
    say!("  With bbs04 the issuer could have made this signature itself.");
}
