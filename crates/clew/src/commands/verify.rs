//! `clew verify`

use crate::capture::Capture;
use crate::cli::Verify;
use crate::clock;
use crate::failure::{Failure, Status};
use crate::groups::read_keyring;
use crate::observer;
use crate::output::{Output, STANDARD_STREAM};
use crate::plot::Plot;
use crate::random;
use crate::records::{Ending, Finding, Records, WRITER, json, records};
use crate::report;
use clew_capture::{Annotated, Note, PacketInfo, Record};
use clew_engine::AsFrame;
use clew_engine::captures::{self, VerifyReport};
use clew_engine::{Keyring, Rules, TimeSource, Verifier};
use clew_packet::{Acceptance, Conclusion, Windows};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub fn run(arguments: &Verify) -> Result<Status, Failure> {
    if let Some(interface) = &arguments.observe.interface {
        // The kernel's time of a packet, however long it waits to be judged.
        let time = Rules::tap().time;
        let rules = Rules {
            time,
            ..rules(arguments)
        };
        return observer::run(arguments, interface, rules);
    }
    let keyring = read_keyring(&arguments.group)?;
    let mut capture = Capture::open(arguments.source(), "verifying")?;
    let mut report = Report::new(arguments, &keyring)?;
    let each = |record, conclusion| report.take(record, conclusion);
    let verifier = Verifier::new(&keyring, rules(arguments));
    let verified = captures::verify(&mut capture, verifier, clock::now, &random::os, each)?;
    for defect in keyring.defects() {
        mention!("clew: warning: group file: {defect}");
    }
    report.finish(&verified)?;
    Ok(report::status(&verified, arguments.strict))
}

fn rules(arguments: &Verify) -> Rules {
    let capture = Acceptance {
        grace_ns: arguments.grace,
        ..Acceptance::capture()
    };
    let (tolerance_ns, time) = match arguments.max_age {
        None => (capture.tolerance_ns, TimeSource::Frame),
        Some(max_age) => (max_age, TimeSource::Now),
    };
    Rules {
        acceptance: Acceptance {
            tolerance_ns,
            ..capture
        },
        time,
        windows: match arguments.whole_windows {
            true => Windows::Whole,
            false => Windows::Alone,
        },
    }
}

/// Everything that is written while packets come by.
struct Report<'a> {
    capture: &'a Path,
    keyring: &'a Keyring,
    annotated: Option<Annotated<Output>>,
    /// Packets whose verdict the annotated capture could not take.
    without_note: u64,
    plot: Option<(Plot, Output)>,
    records: Box<dyn Records + 'a>,
    out: BufWriter<Box<dyn Write>>,
}

impl<'a> Report<'a> {
    fn new(arguments: &'a Verify, keyring: &'a Keyring) -> Result<Self, Failure> {
        let files = [&arguments.output, &arguments.plot];
        if files[0].is_some() && files[0] == files[1] {
            return Err(Failure::new("--output and --plot name the same file"));
        }
        let file = |path: &Option<PathBuf>| {
            let create = |path| Output::create(path, arguments.source(), arguments.force);
            path.as_deref().map(create).transpose()
        };
        let annotate = |output| Annotated::new(output, WRITER);
        Ok(Self {
            capture: arguments.source(),
            keyring,
            annotated: file(&arguments.output)?.map(annotate),
            without_note: 0,
            plot: file(&arguments.plot)?.map(|output| (Plot::default(), output)),
            records: records(arguments),
            out: BufWriter::new(told(&files)),
        })
    }

    fn take(&mut self, record: Record, conclusion: Option<Conclusion>) -> Result<(), Failure> {
        let texts = match (record.packet(), &conclusion) {
            (Some(info), Some(conclusion)) => self.packet(&record, &info, conclusion)?,
            _ => None,
        };
        let Some(annotated) = &mut self.annotated else {
            return Ok(());
        };
        let note = texts.as_ref().map(|(comment, json)| Note { comment, json });
        let packet = note.is_some();
        let noted = annotated.write(record, note).map_err(Failure::write)?;
        self.without_note += u64::from(packet && !noted);
        Ok(())
    }

    /// Tells about one packet; its comment and its JSON object, where they are to be in a capture.
    fn packet(
        &mut self,
        record: &Record,
        info: &PacketInfo,
        conclusion: &Conclusion,
    ) -> Result<Option<(String, String)>, Failure> {
        let Some((frame, _)) = record.as_frame() else {
            return Ok(None);
        };
        let finding = Finding::new(info, &frame, conclusion, self.keyring);
        self.records
            .packet(&finding, &mut self.out)
            .map_err(Failure::write)?;
        if let Some((plot, _)) = &mut self.plot {
            plot.take(&finding);
        }
        let texts = || (finding.comment(), json::packet(&finding).to_string());
        Ok(self.annotated.is_some().then(texts))
    }

    fn finish(mut self, verified: &VerifyReport) -> Result<(), Failure> {
        if let Some(annotated) = self.annotated.take() {
            annotated.finish().map_err(Failure::write)?.commit()?;
            if self.without_note > 0 {
                let packets = self.without_note;
                mention!(
                    "clew: warning: {packets} packets of the annotated capture do not show their \
                     verdict: their blocks do not have room"
                );
            }
        }
        if let Some((plot, mut output)) = self.plot.take() {
            let svg = plot.svg(self.capture)?;
            output.write_all(svg.as_bytes()).map_err(Failure::write)?;
            output.commit()?;
        }
        let ending = Ending {
            verified,
            keyring: self.keyring,
            missed: None,
        };
        self.records
            .end(&ending, &mut self.out)
            .and_then(|()| self.out.flush())
            .map_err(Failure::write)
    }
}

/// Where the result is told: on standard output, unless one of the files goes there.
fn told(files: &[&Option<PathBuf>]) -> Box<dyn Write> {
    let taken = |path: &Path| path == Path::new(STANDARD_STREAM);
    match files.iter().any(|file| file.as_deref().is_some_and(taken)) {
        true => Box::new(io::stderr()),
        false => Box::new(io::stdout()),
    }
}
