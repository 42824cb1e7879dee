//! What people are told: packets that are invalid, totals, flows, the answer.

use super::flows::{FLOWS_MAX, Flows, Packets};
use super::{Ending, Finding, Records, flow_table};
use crate::failure::Status;
use crate::report;
use clew_engine::{Keyring, Totals};
use clew_packet::{GroupTag, Reason, Replay, Verdict};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

/// Most packets that are listed one by one; the other formats have them all.
const LISTED_MAX: u64 = 20;

/// What was seen so far.
pub struct Table<'a> {
    input: &'a Path,
    strict: bool,
    invalid: u64,
    flows: Flows<Packets>,
}

impl<'a> Table<'a> {
    /// A table of this capture; strict: where unsigned packets are a no.
    pub fn new(input: &'a Path, strict: bool) -> Self {
        Self {
            input,
            strict,
            invalid: 0,
            flows: Flows::new(FLOWS_MAX),
        }
    }
}

impl Records for Table<'_> {
    fn packet(&mut self, finding: &Finding<'_>, out: &mut dyn Write) -> io::Result<()> {
        let conclusion = finding.conclusion;
        self.flows
            .of(finding.flow.as_ref())
            .count(conclusion.reason);
        if conclusion.verdict != Verdict::Invalid {
            return Ok(());
        }
        self.invalid += 1;
        if self.invalid > LISTED_MAX {
            return Ok(());
        }
        let (number, reason) = (finding.info.frame, conclusion.reason);
        let what = report::explain(reason);
        let ends = finding.flow.as_ref().map(report::endpoints);
        let ends = ends.unwrap_or_default();
        writeln!(out, "packet {number}: invalid, {reason}: {what}  {ends}")
    }

    fn end(&mut self, ending: &Ending<'_>, out: &mut dyn Write) -> io::Result<()> {
        let verified = ending.verified;
        if self.invalid > LISTED_MAX {
            let more = self.invalid - LISTED_MAX;
            writeln!(out, "... and {more} more: see --json")?;
        }
        let (input, totals) = (self.input.display(), &verified.totals);
        writeln!(out, "{input}: {} packets", totals.packets)?;
        for (verdict, count) in totals.verdicts {
            writeln!(out, "{count:>9}  {verdict}")?;
            reasons(verdict, totals, out)?;
        }
        for (group, epoch) in named(ending.keyring, &totals.signed_by) {
            writeln!(out, "signed by machines of group {group}, epoch {epoch}")?;
        }
        report::damage(verified.damage.as_ref(), report::NOT_VERIFIED);
        if let Some(forgotten) = report::forgotten(totals.forgotten) {
            writeln!(out, "{forgotten}")?;
        }
        if let Some(line) = ending.missed.as_ref().and_then(report::missed) {
            writeln!(out, "{line}")?;
        }
        for line in flow_table::lines(&self.flows) {
            writeln!(out, "{line}")?;
        }
        writeln!(out, "{}", answer(ending, self.strict))
    }
}

fn reasons(verdict: Verdict, totals: &Totals, out: &mut dyn Write) -> io::Result<()> {
    for (reason, count) in totals.reasons.iter() {
        if reason.verdict(Replay::Flag) == verdict && reason != Reason::Ok {
            writeln!(out, "{count:>20}  {reason}: {}", report::explain(reason))?;
        }
    }
    Ok(())
}

/// Names of groups, with their epochs.
fn named(keyring: &Keyring, signers: &BTreeSet<(GroupTag, u32)>) -> BTreeSet<(String, u32)> {
    let group = |(tag, epoch): &(GroupTag, u32)| {
        let group = keyring.group(*tag)?;
        Some((format!("{} ({})", group.genesis().name, group.id()), *epoch))
    };
    signers.iter().filter_map(group).collect()
}

fn answer(ending: &Ending<'_>, strict: bool) -> &'static str {
    let (verified, totals) = (ending.verified, &ending.verified.totals);
    match ending.status(strict) {
        Status::Yes => "yes: every signed packet is valid",
        Status::No if totals.reasons.of(Reason::UnknownEpoch) > 0 => {
            "no: there are invalid packets, some of unknown epochs: get the newest group file"
        }
        Status::No if totals.of(Verdict::Invalid) > 0 => "no: there are invalid packets",
        Status::No => "no: there are unsigned packets",
        Status::CouldNotTell if verified.damage.is_some() => "could not tell: the file is damaged",
        Status::CouldNotTell if totals.reasons.of(Reason::TooFewShares) > 0 => {
            "could not tell: too few packets of some blocks"
        }
        Status::CouldNotTell if totals.of(Verdict::Undecided) > 0 => {
            "could not tell: the capture truncated packets"
        }
        Status::CouldNotTell if totals.of(Verdict::Valid) > 0 => {
            "could not tell: packets passed without a verdict"
        }
        Status::CouldNotTell => "could not tell: nothing was signed",
    }
}
