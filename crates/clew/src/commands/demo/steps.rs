//! The steps, in order.

use super::Stage;
use super::changes::{copy, edit, forward};
use super::fleet::{Fleet, Machine};
use super::observe::{GROUP_FILE, Observed, Report};
use crate::clock;
use crate::failure::Failure;
use crate::report;
use clew_packet::{Reason, SECOND_NS, read};
use std::fs;
use std::path::Path;

/// Where a pcap file states its snap length.
const PCAP_SNAPLEN: std::ops::Range<usize> = 16..20;

const GRACE_NS: u64 = 60_000_000_000;

pub fn sign(stage: &mut Stage, fleet: &Fleet) -> Result<(), Failure> {
    stage.step("3. Every machine signs the packets that it sends");
    let signed = stage.ask(&sign_command(fleet, "original.pcap", "signed.pcap"))?;
    let (said, _) = signed.err.split_once(": ").unwrap_or_default();
    let count = said.split(' ').nth(1).and_then(|count| count.parse().ok());
    let count: u64 = count.ok_or_else(|| signed.failure())?;
    say!("   {said}");
    for passed in signed.err.lines().skip(1) {
        say!("   {passed}");
    }
    stage.check(
        count == fleet.packets(),
        format!("all {count} packets of the machines are signed"),
    );
    Ok(())
}

fn sign_command(fleet: &Fleet, from: &str, to: &str) -> String {
    let one = |m: &Machine| format!("--key&@keys/{}.key&--from&{}", m.name, m.address);
    let keys: Vec<String> = fleet.machines.iter().map(one).collect();
    format!("sign {} @{from} -w @{to}", keys.join(" "))
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
    let invalid = Report::of(stage, "tampered.pcap")?.packets("invalid");
    for (number, reason) in &invalid {
        say!("   packet {number}: invalid, {reason}");
    }
    stage.check(
        invalid.into_keys().eq([victim]),
        format!("only packet {victim} is invalid"),
    );
    Ok(())
}

pub fn route(stage: &mut Stage, fleet: &Fleet) -> Result<(), Failure> {
    stage.step("6. A router forwards every packet: TTL lowered, DSCP marked, checksum recomputed");
    edit(stage, "routed.pcap", |_, frame| forward(frame))?;
    let report = Report::of(stage, "routed.pcap")?;
    let (valid, invalid) = (report.count("valid"), report.count("invalid"));
    say!("   {valid} valid, {invalid} invalid");
    stage.check(
        valid == fleet.packets() && invalid == 0,
        "changes that routers may make do not break signatures",
    );
    Ok(())
}

pub fn revoke(stage: &mut Stage, fleet: &Fleet) -> Result<(), Failure> {
    let Some((stolen, others)) = fleet.machines.split_last() else {
        return Ok(());
    };
    let name = &stolen.name;
    stage.step(&format!("9. {name}'s key was stolen: it is revoked"));
    stage.run(&format!("revoke @acme {name}"))?;
    let start = clock::now_ns();
    let update = |name: &str| format!("update --key @keys/{name}.key --group @{GROUP_FILE}");
    let refused = stage.ask(&update(name))?;
    say!("   {name} cannot update its key");
    stage.check(
        !refused.is_yes && refused.err.contains("revoked in epoch 1"),
        format!("{name} cannot move to the new epoch"),
    );
    for machine in others {
        stage.run(&update(&machine.name))?;
    }
    sign_later(stage, fleet, start)?;
    let report = Report::of(stage, "revoked.pcap")?;
    let over = report.because(Reason::EpochOver.as_str());
    let valid = report.count("valid");
    let why = report::explain(Reason::EpochOver);
    say!("   {valid} valid, {over} refused: {why}");
    stage.check(
        over == stolen.packets && valid + over == fleet.packets(),
        format!("all {over} packets of the stolen key are invalid, all others valid"),
    );
    Ok(())
}

/// All sign the same traffic as if it came again after the revocation.
fn sign_later(stage: &mut Stage, fleet: &Fleet, start: u64) -> Result<(), Failure> {
    let after = start + GRACE_NS + SECOND_NS;
    let seconds = after.saturating_sub(fleet.first_ns).div_ceil(SECOND_NS);
    let (from, to) = (stage.path("original.pcap"), stage.path("later.pcap"));
    copy(&from, &to, |record| {
        let _ = record.delay(seconds.cast_signed()); // a packet without a time stays as it is
        Ok(())
    })?;
    say!("   The same traffic comes again later: {}", to.display());
    say!("   All machines sign it, and so does the thief:");
    stage
        .ask(&sign_command(fleet, "later.pcap", "revoked.pcap"))
        .map(drop)
}

pub fn restore(stage: &mut Stage) -> Result<(), Failure> {
    stage.step("10. The original comes back, byte for byte");
    stage.ask("strip @signed.pcap -o @restored.pcap")?;
    let [original, restored] = ["original.pcap", "restored.pcap"].map(|name| stage.path(name));
    say!("   $ cmp {} {}", original.display(), restored.display());
    let (same, what) = compare(&read_file(&original)?, &read_file(&restored)?);
    stage.check(same, what);
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
