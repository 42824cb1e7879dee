//! `clew verify`

use crate::batch::{Capture, frame};
use crate::capture::{Annotated, Note, PacketInfo, Record};
use crate::cli::Verify;
use crate::failure::{Failure, Status};
use crate::keyring::Keyring;
use crate::output::{Output, STANDARD_STREAM};
use crate::records::{Finding, Records, json, records};
use crate::report;
use crate::verify::{Freshness, Rules, Verified, verify_capture};
use clew_packet::{Conclusion, Windows};
use std::io::{self, BufWriter, Write};
use std::path::Path;

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
    keyring: &'a Keyring,
    annotated: Option<Annotated<Output>>,
    records: Box<dyn Records + 'a>,
    out: BufWriter<Box<dyn Write>>,
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
            keyring,
            annotated,
            records: records(arguments),
            out: BufWriter::new(told(arguments.output.as_deref())),
        })
    }

    fn take(
        &mut self,
        record: Record,
        packet: Option<(PacketInfo, Conclusion)>,
    ) -> Result<(), Failure> {
        let texts = match &packet {
            Some((info, conclusion)) => self.packet(&record, info, conclusion)?,
            None => None,
        };
        let Some(annotated) = &mut self.annotated else {
            return Ok(());
        };
        let note = texts.as_ref().map(|(comment, json)| Note { comment, json });
        annotated.write(record, note).map_err(Failure::write)?;
        Ok(())
    }

    /// Tells about one packet; its comment and its JSON object, where they are to be in a capture.
    fn packet(
        &mut self,
        record: &Record,
        info: &PacketInfo,
        conclusion: &Conclusion,
    ) -> Result<Option<(String, String)>, Failure> {
        let Some((frame, _)) = frame(record) else {
            return Ok(None);
        };
        let finding = Finding::new(info, &frame, conclusion, self.keyring);
        self.records
            .packet(&finding, &mut self.out)
            .map_err(Failure::write)?;
        let texts = || (comment(conclusion), json::packet(&finding).to_string());
        Ok(self.annotated.is_some().then(texts))
    }

    fn finish(mut self, verified: &Verified) -> Result<(), Failure> {
        if let Some(annotated) = self.annotated.take() {
            annotated.finish().map_err(Failure::write)?.commit()?;
        }
        self.records
            .end(verified, &mut self.out)
            .and_then(|()| self.out.flush())
            .map_err(Failure::write)
    }
}

/// Where the result is told: on standard output, unless the annotated capture goes there.
fn told(annotated: Option<&Path>) -> Box<dyn Write> {
    match annotated {
        Some(path) if path == Path::new(STANDARD_STREAM) => Box::new(io::stderr()),
        _ => Box::new(io::stdout()),
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
