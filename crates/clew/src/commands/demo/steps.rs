//! The steps, in order.

use super::Stage;
use super::changes::{copy, edit, forward};
use super::fleet::{Fleet, Machine};
use super::observe::Observed;
use crate::capture::Capture;
use crate::clock;
use crate::commands::group::replace;
use crate::failure::Failure;
use crate::groups::{read_checked, read_group_file};
use crate::output::Output;
use crate::random;
use crate::report;
use clew_capture::{PacketInfo, Record};
use clew_engine::Keyring;
use clew_engine::captures::{self, Oversize, SignReport, VerifyReport};
use clew_engine::{Cover, Options, Rules, Signer, Signers, TimeSource, Verifier};
use clew_evidence::CheckedGroup;
use clew_keys::MemberKeyFile;
use clew_keys::update::{NoWitnesses, UpdateError, update};
use clew_manager::{Store, When};
use clew_packet::{Conclusion, Reason, SECOND_NS, Verdict, read};
use std::fs;
use std::path::Path;

pub const GROUP_FILE: &str = "acme/public/group.clew";
/// Where a pcap file states its snap length.
const PCAP_SNAPLEN: std::ops::Range<usize> = 16..20;

/// Most packets of a block: what `clew sign` has by default.
const BLOCK: u16 = 64;

const GRACE_NS: u64 = 60_000_000_000;

pub fn sign(stage: &mut Stage, fleet: &Fleet) -> Result<(), Failure> {
    stage.step("3. Every machine signs the packets that it sends");
    stage.command(&format!(
        "sign {} @original.pcap -w @signed.pcap",
        keys_and_sources(fleet)
    ));
    let signers = fleet
        .machines
        .iter()
        .map(Machine::signer)
        .collect::<Result<Vec<_>, _>>()?;
    let signed = sign_file(stage, "original.pcap", "signed.pcap", signers)?;
    let count = signed.reasons.of(Reason::Signed);
    say!("   {count} of {} packets signed", signed.packets);
    for (reason, n) in signed
        .reasons
        .iter()
        .filter(|(reason, _)| *reason != Reason::Signed)
    {
        say!(
            "   {n} passed unsigned, {reason}: {}",
            report::explain(reason)
        );
    }
    stage.checks.check(
        count == fleet.packets(),
        format!("all {count} packets of the machines are signed"),
    );
    Ok(())
}

fn keys_and_sources(fleet: &Fleet) -> String {
    let one = |m: &Machine| format!("--key&@keys/{}.key&--from&{}", m.name(), m.address);
    fleet.machines.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn sign_file(
    stage: &Stage,
    input: &str,
    output: &str,
    signers: Vec<Signer>,
) -> Result<SignReport, Failure> {
    let (input, output) = (stage.path(input), stage.path(output));
    let mut capture = Capture::open(&input, "signing")?;
    let options = Options {
        cover: Cover::Tree(BLOCK),
        time: TimeSource::Frame,
    };
    let output = Output::create(&output, &input, false)?;
    let (capture, signers) = (&mut capture, Signers::new(signers, options));
    let (pass, now) = (Oversize::Pass, clock::now);
    let (signed, output) = captures::sign(capture, output, &signers, pass, now, &random::os)?;
    output.commit()?;
    Ok(signed)
}

/// Verifies one of the demo's captures with the group file, as anybody could.
pub fn verify_file(
    stage: &Stage,
    name: &str,
    mut each: impl FnMut(&Record, &PacketInfo, &Conclusion),
) -> Result<VerifyReport, Failure> {
    let mut capture = Capture::open(&stage.path(name), "verifying")?;
    let keyring = Keyring::from(read_group_file(&stage.path(GROUP_FILE))?);
    let verifier = Verifier::new(&keyring, Rules::capture());
    let each = |record: Record, conclusion: Option<Conclusion>| {
        if let (Some(info), Some(conclusion)) = (record.packet(), conclusion) {
            each(&record, &info, &conclusion);
        }
        Ok(())
    };
    captures::verify(&mut capture, verifier, clock::now, &random::os, each)
}

pub fn tamper(stage: &mut Stage, observed: &Observed<'_>) -> Result<(), Failure> {
    stage.step("5. Somebody changes one bit of one packet");
    let victim = observed.largest;
    edit(stage, "tampered.pcap", |number, frame| {
        let mut bytes = frame.bytes.to_vec();
        let trailer = read(frame).ok()?.trailer().length();
        let last_of_payload = bytes.len().checked_sub(trailer + 1)?;
        bytes[last_of_payload] ^= 1;
        (number == victim).then_some(bytes)
    })?;
    stage.command(&format!("verify --group @{GROUP_FILE} @tampered.pcap"));
    let mut invalid = Vec::new();
    verify_file(stage, "tampered.pcap", |_, info, conclusion| {
        if conclusion.verdict == Verdict::Invalid {
            say!("   packet {}: invalid, {}", info.frame, conclusion.reason);
            invalid.push(info.frame);
        }
    })?;
    stage.checks.check(
        invalid == [victim],
        format!("only packet {victim} is invalid"),
    );
    Ok(())
}

pub fn route(stage: &mut Stage, fleet: &Fleet) -> Result<(), Failure> {
    stage.step("6. A router forwards every packet: TTL lowered, DSCP marked, checksum recomputed");
    edit(stage, "routed.pcap", |_, frame| forward(frame))?;
    stage.command(&format!("verify --group @{GROUP_FILE} @routed.pcap"));
    let verified = verify_file(stage, "routed.pcap", |_, _, _| {})?;
    let valid = verified.totals.of(Verdict::Valid);
    say!(
        "   {valid} valid, {} invalid",
        verified.totals.of(Verdict::Invalid)
    );
    stage.checks.check(
        valid == fleet.packets() && verified.totals.of(Verdict::Invalid) == 0,
        "changes that routers may make do not break signatures",
    );
    Ok(())
}

pub fn revoke(stage: &mut Stage, fleet: &Fleet) -> Result<(), Failure> {
    let Some((stolen, others)) = fleet.machines.split_last() else {
        return Ok(());
    };
    let name = stolen.name();
    stage.step(&format!("9. {name}'s key was stolen: it is revoked"));
    stage.command(&format!("revoke @acme {name}"));
    let when = When::now(clock::now_ns());
    let names = [stolen.key.machine.clone()];
    let mut store = Store::open(&stage.path("acme"))?;
    store.revoke(&fleet.issuer, &names, false, when, &mut |_, _| true)?;
    let group = read_checked(&stage.path(GROUP_FILE))?;
    let refused = follow(&stolen.key, &group).err() == Some(UpdateError::Revoked { epoch: 1 });
    say!("   {name} cannot update its key");
    stage
        .checks
        .check(refused, format!("{name} cannot move to the new epoch"));
    let mut signers = vec![stolen.signer()?];
    for machine in others {
        stage.command(&format!(
            "update --key @keys/{}.key --group @{GROUP_FILE}",
            machine.name()
        ));
        signers.push(updated(stage, machine, &group)?.signer()?);
    }
    sign_later(stage, fleet, when.start, signers)?;
    check_stolen(stage, fleet, stolen)
}

/// All sign the same traffic as if it came again after the revocation.
fn sign_later(
    stage: &mut Stage,
    fleet: &Fleet,
    start: u64,
    signers: Vec<Signer>,
) -> Result<(), Failure> {
    let after = start + GRACE_NS + SECOND_NS;
    let seconds = after.saturating_sub(fleet.first_ns).div_ceil(SECOND_NS);
    let (from, to) = (stage.path("original.pcap"), stage.path("later.pcap"));
    copy(&from, &to, |record| {
        let _ = record.delay(seconds.cast_signed()); // a packet without a time stays as it is
        Ok(())
    })?;
    say!("   The same traffic comes again later: {}", to.display());
    say!("   All machines sign it, and so does the thief:");
    stage.command(&format!(
        "sign {} @later.pcap -w @revoked.pcap",
        keys_and_sources(fleet)
    ));
    sign_file(stage, "later.pcap", "revoked.pcap", signers)?;
    Ok(())
}

fn check_stolen(stage: &mut Stage, fleet: &Fleet, stolen: &Machine) -> Result<(), Failure> {
    stage.command(&format!("verify --group @{GROUP_FILE} @revoked.pcap"));
    let verified = verify_file(stage, "revoked.pcap", |_, _, _| {})?;
    let over = verified.totals.reasons.of(Reason::EpochOver);
    let valid = verified.totals.of(Verdict::Valid);
    let why = report::explain(Reason::EpochOver);
    say!("   {valid} valid, {over} refused: {why}");
    stage.checks.check(
        over == stolen.packets && valid == fleet.packets() - over,
        format!("all {over} packets of the stolen key are invalid, all others valid"),
    );
    Ok(())
}

fn follow(key: &MemberKeyFile, group: &CheckedGroup) -> Result<MemberKeyFile, UpdateError> {
    let updated = update(key, group, clock::now_ns(), &mut NoWitnesses);
    updated.map(|updated| updated.key)
}

fn updated(stage: &Stage, machine: &Machine, group: &CheckedGroup) -> Result<Machine, Failure> {
    let key = follow(&machine.key, group).map_err(Failure::new)?;
    let path = stage.path(&format!("keys/{}.key", machine.name()));
    replace(&path, &key, None)?;
    Ok(Machine { key, ..*machine })
}

pub fn restore(stage: &mut Stage, _: &Fleet) -> Result<(), Failure> {
    stage.step("10. The original comes back, byte for byte");
    stage.command("strip @signed.pcap -w @restored.pcap");
    let (input, path) = (stage.path("signed.pcap"), stage.path("restored.pcap"));
    let mut capture = Capture::open(&input, "stripping")?;
    let (_, output) = captures::strip(&mut capture, Output::create(&path, &input, false)?)?;
    output.commit()?;
    let (original, restored) = (read_file(&stage.path("original.pcap"))?, read_file(&path)?);
    say!(
        "   $ cmp {} {}",
        stage.path("original.pcap").display(),
        path.display()
    );
    let (same, what) = compare(&original, &restored);
    stage.checks.check(same, what);
    Ok(())
}

/// Signing raises the snap length of a capture that was cut shorter than its signed packets; strip
/// cannot know what it was.
fn compare(original: &[u8], restored: &[u8]) -> (bool, &'static str) {
    if original == restored {
        return (true, "the stripped capture is the original, byte for byte");
    }
    let but_for_snaplen = |file: &[u8]| -> Vec<u8> {
        let bytes = file.iter().enumerate();
        let kept = bytes.filter(|(i, _)| !PCAP_SNAPLEN.contains(i));
        kept.map(|(_, byte)| *byte).collect()
    };
    let same = but_for_snaplen(original) == but_for_snaplen(restored);
    (
        same,
        "the stripped capture equals the original except for the snap length, which had to grow",
    )
}

fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|e| Failure::io(path, &e))
}
