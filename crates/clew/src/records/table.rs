//! What people are told: packets that are invalid, totals, flows, the answer.

use super::flows::{FLOWS_MAX, Flows, Packets};
use super::{Finding, Records, flow_table};
use crate::failure::Status;
use crate::report;
use crate::verify::Verified;
use clew_packet::{Reason, Replay, Verdict};
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

    fn end(&mut self, verified: &Verified, out: &mut dyn Write) -> io::Result<()> {
        if self.invalid > LISTED_MAX {
            let more = self.invalid - LISTED_MAX;
            writeln!(out, "... and {more} more: see --json")?;
        }
        let input = self.input.display();
        writeln!(out, "{input}: {} packets", verified.packets)?;
        for (verdict, count) in verified.verdicts {
            writeln!(out, "{count:>9}  {verdict}")?;
            reasons(verdict, verified, out)?;
        }
        for (group, epoch) in &verified.signed_by {
            writeln!(out, "signed by machines of group {group}, epoch {epoch}")?;
        }
        report::damage(verified.damage.as_deref(), report::NOT_VERIFIED);
        if let Some(forgotten) = report::forgotten(verified.forgotten) {
            writeln!(out, "{forgotten}")?;
        }
        for line in flow_table::lines(&self.flows) {
            writeln!(out, "{line}")?;
        }
        writeln!(out, "{}", answer(verified, self.strict))
    }
}

fn reasons(verdict: Verdict, verified: &Verified, out: &mut dyn Write) -> io::Result<()> {
    for (reason, count) in verified.reasons.iter() {
        if reason.verdict(Replay::Flag) == Some(verdict) && reason != Reason::Ok {
            writeln!(out, "{count:>20}  {reason}: {}", report::explain(reason))?;
        }
    }
    Ok(())
}

fn answer(verified: &Verified, strict: bool) -> &'static str {
    match verified.status(strict) {
        Status::Yes => "yes: every signed packet is valid",
        Status::No if verified.reasons.of(Reason::UnknownEpoch) > 0 => {
            "no: there are invalid packets, some of unknown epochs: get the newest group file"
        }
        Status::No if verified.of(Verdict::Invalid) > 0 => "no: there are invalid packets",
        Status::No => "no: there are unsigned packets",
        Status::CouldNotTell if verified.damage.is_some() => "could not tell: the file is damaged",
        Status::CouldNotTell if verified.reasons.of(Reason::TooFewShares) > 0 => {
            "could not tell: too little of some blocks came"
        }
        Status::CouldNotTell if verified.of(Verdict::Undecided) > 0 => {
            "could not tell: the capture cut packets short"
        }
        Status::CouldNotTell => "could not tell: nothing was signed",
    }
}
