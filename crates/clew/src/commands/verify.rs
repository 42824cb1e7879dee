//! `clew verify`

use crate::batch::{Capture, frame};
use crate::capture::{Annotated, Note, PacketInfo, Record};
use crate::cli::Verify;
use crate::failure::{Failure, Status};
use crate::keyring::Keyring;
use crate::output::Output;
use crate::report;
use crate::verify::{Freshness, Rules, Verified, verify_capture};
use clew_packet::{Conclusion, Verdict, Windows};
use serde_json::Value;
use std::io::{self, BufWriter, Write};

/// Most packets that are listed one by one for people; a report for programs has them all.
const LISTED_MAX: u64 = 20;

pub fn run(arguments: &Verify) -> Result<Status, Failure> {
    let keyring = Keyring::read(&arguments.group)?;
    let capture = Capture::open(&arguments.input, "verifying")?;
    let mut report = Report::new(arguments, &keyring)?;
    let rules = Rules {
        freshness: arguments
            .max_age
            .map_or(Freshness::AtCaptureTime, Freshness::MaxAge),
        grace_ns: arguments.grace,
        windows: match arguments.whole_windows {
            true => Windows::Whole,
            false => Windows::Alone,
        },
    };
    let each = |record, packet| report.take(record, packet);
    let verified = verify_capture(capture, &keyring, rules, each)?;
    report.finish(&verified)?;
    Ok(verified.status(arguments.strict))
}

/// Everything that is written while packets come by.
struct Report<'a> {
    arguments: &'a Verify,
    keyring: &'a Keyring,
    annotated: Option<Annotated<Output>>,
    out: BufWriter<io::Stdout>,
    listed: u64,
}

impl<'a> Report<'a> {
    fn new(arguments: &'a Verify, keyring: &'a Keyring) -> Result<Self, Failure> {
        let annotated = match &arguments.output {
            Some(path) => {
                let output = Output::create(path, &arguments.input, arguments.force)?;
                Some(Annotated::new(
                    output,
                    concat!("clew ", env!("CARGO_PKG_VERSION"), " verify"),
                ))
            }
            None => None,
        };
        Ok(Self {
            arguments,
            keyring,
            annotated,
            out: BufWriter::new(io::stdout()),
            listed: 0,
        })
    }

    fn take(
        &mut self,
        record: Record,
        packet: Option<(PacketInfo, Conclusion)>,
    ) -> Result<(), Failure> {
        let json = packet
            .as_ref()
            .map(|(info, conclusion)| self.packet(&record, info, conclusion));
        let json = json.transpose()?.flatten();
        let Some(annotated) = &mut self.annotated else {
            return Ok(());
        };
        let line = packet
            .map(|(_, conclusion)| comment(&conclusion))
            .unwrap_or_default();
        let text = json.map(|json| json.to_string());
        let note = text.as_deref().map(|json| Note {
            comment: &line,
            json,
        });
        annotated
            .write(record, note)
            .map(|_| ())
            .map_err(Failure::write)
    }

    /// Tells about one packet; its JSON object, where somebody needs it.
    fn packet(
        &mut self,
        record: &Record,
        info: &PacketInfo,
        conclusion: &Conclusion,
    ) -> Result<Option<Value>, Failure> {
        let Some((frame, _)) = frame(record) else {
            return Ok(None);
        };
        let wanted = self.arguments.json || self.annotated.is_some();
        let json = wanted.then(|| report::packet_json(info, &frame, conclusion, self.keyring));
        match &json {
            Some(json) if self.arguments.json => self.line(&json.to_string())?,
            _ if conclusion.verdict == Verdict::Invalid => {
                let (n, reason) = (info.frame, conclusion.reason);
                let what = report::explain(reason);
                self.list(&format!(
                    "packet {n}: invalid, {reason}: {what}  {}",
                    report::endpoints(&frame)
                ))?;
            }
            _ => {}
        }
        Ok(json)
    }

    fn list(&mut self, line: &str) -> Result<(), Failure> {
        self.listed += 1;
        if self.listed <= LISTED_MAX && !self.arguments.json {
            self.line(line)?;
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<(), Failure> {
        writeln!(self.out, "{line}").map_err(Failure::write)
    }

    fn finish(mut self, verified: &Verified) -> Result<(), Failure> {
        if let Some(annotated) = self.annotated.take() {
            annotated.finish().map_err(Failure::write)?.commit()?;
        }
        if self.arguments.json {
            self.line(&report::summary_json(verified).to_string())?;
        } else {
            self.summary(verified)?;
        }
        self.out.flush().map_err(Failure::write)
    }

    fn summary(&mut self, verified: &Verified) -> Result<(), Failure> {
        if self.listed > LISTED_MAX {
            self.line(&format!(
                "... and {} more: see --json",
                self.listed - LISTED_MAX
            ))?;
        }
        self.line(&format!(
            "{}: {} packets",
            self.arguments.input.display(),
            verified.packets
        ))?;
        for (verdict, count) in verified.verdicts {
            self.line(&format!("{count:>9}  {verdict}"))?;
            let replay = clew_packet::Replay::Flag;
            for (reason, count) in verified.reasons.iter() {
                if reason.verdict(replay) == Some(verdict) && reason != clew_packet::Reason::Ok {
                    self.line(&format!(
                        "{:>20}  {reason}: {}",
                        count,
                        report::explain(reason)
                    ))?;
                }
            }
        }
        for (group, epoch) in &verified.signed_by {
            self.line(&format!(
                "signed by machines of group {group}, epoch {epoch}"
            ))?;
        }
        self.answer(verified)
    }

    fn answer(&mut self, verified: &Verified) -> Result<(), Failure> {
        report::damage(
            verified.damage.as_deref(),
            "what follows could not be verified",
        );
        if verified.forgotten > 0 {
            self.line(&format!(
                "{} signatures were forgotten for want of room: duplicates of them go unnoticed",
                verified.forgotten
            ))?;
        }
        let answer = match verified.status(self.arguments.strict) {
            Status::Yes => "yes: every signed packet is valid",
            Status::No if verified.of(Verdict::Invalid) > 0 => "no: there are invalid packets",
            Status::No => "no: there are unsigned packets",
            Status::CouldNotTell if verified.damage.is_some() => {
                "could not tell: the file is damaged"
            }
            Status::CouldNotTell if verified.of(Verdict::Undecided) > 0 => {
                "could not tell: the capture cut packets short"
            }
            Status::CouldNotTell => "could not tell: nothing was signed",
        };
        self.line(answer)
    }
}

/// A packet's comment: for people, and for display filters.
fn comment(conclusion: &Conclusion) -> String {
    let mut line = format!("clew: {} reason={}", conclusion.verdict, conclusion.reason);
    if let Some(summary) = &conclusion.summary {
        line += &format!(
            " group={} epoch={} mode={}",
            summary.group,
            summary.epoch,
            report::mode(summary.mode)
        );
    }
    line
}
