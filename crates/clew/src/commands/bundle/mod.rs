//! `clew bundle`, and `clew judge` of a bundle (`spec/bundle.md`).

mod origin;
pub mod packets;
mod report;

use super::coverage::Original;
use super::judge::{Believed, Case, EvidenceFile, Judged};
use super::share::{check_new, hash_of};
use crate::cli::{Bundle, Judge};
use crate::failure::{Failure, Status};
use clew_evidence::DeviceFingerprint;
use clew_keys::files::{self, IfExists, MODE_PUBLIC};
use clew_report::{BUNDLE_MAX, Files, html, pdf, read_bundle, write_bundle};
use origin::Origin;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The version that writes a report: another one may word it differently.
const VERSION: &str = env!("CARGO_PKG_VERSION");

const GROUP: &str = "group.clew";
const OPENING: &str = "opening.txt";
const MATCH: &str = "match.txt";
const WARRANT: &str = "warrant.txt";
const PCAP: &str = "packets.pcap";
const PCAPNG: &str = "packets.pcapng";
const REQUEST: &str = "request.txt";
const DECISION: &str = "decision-";
const ORIGIN: &str = "origin.json";
const HTML: &str = "report.html";
const PDF: &str = "report.pdf";

/// Trustees that a group can have.
const TRUSTEES_MAX: u8 = 32;

/// Whether the reports of a bundle say what its evidence proves.
pub enum Reports {
    /// They are those that this version writes.
    Same,
    /// Another version wrote them, so this one cannot tell.
    NotCompared {
        /// That version, as the bundle's maker says.
        version: String,
    },
}

impl Reports {
    /// Returns the stable name for JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::NotCompared { .. } => "not-compared",
        }
    }
}

/// `clew bundle`
pub fn run(arguments: &Bundle) -> Result<Status, Failure> {
    let output = &arguments.out.output;
    check_new(output)?;
    let proofs = arguments.case.as_deref().map(Proofs::of).transpose()?;
    let proofs = proofs.unwrap_or_default();
    let case = Case {
        named: &arguments.evidence,
        group: &arguments.group,
        evidence: &arguments.evidence,
        input: &arguments.input,
        warrant: arguments.warrant.as_deref().or(proofs.warrant.as_deref()),
        device: None,
        anchor: None,
        request: proofs.request.as_deref(),
        decisions: &proofs.decisions,
        believed: Believed::default(),
        json: false,
    };
    let judged = case.judge()?;
    if judged.file.request().warrant.is_some() && case.warrant.is_none() {
        let why = "the trustees were shown a warrant: the bundle needs it";
        return Err(Failure::file(case.evidence, why).hint("--warrant FILE"));
    }
    let frames = packets::covered(case.input, &judged.matter.coverage)?;
    let packets = packets::copy(case.input, &frames)?;
    let origin = Origin {
        clew: VERSION.to_owned(),
        capture: name_of(case.input),
        sha256: hash_of(case.input)?,
        frames: frames.into_iter().collect(),
    };
    let mut files = Files::new();
    files.insert(GROUP.to_owned(), read(case.group)?);
    files.insert(
        name_of_evidence(&judged.file).to_owned(),
        read(case.evidence)?,
    );
    files.insert(packets::name(&packets).to_owned(), packets);
    files.insert(ORIGIN.to_owned(), origin.encode());
    if let Some(warrant) = case.warrant {
        files.insert(WARRANT.to_owned(), read(warrant)?);
    }
    if let Some(request) = case.request {
        files.insert(REQUEST.to_owned(), read(request)?);
    }
    for decision in case.decisions {
        files.insert(name_of(decision), read(decision)?);
    }
    // The report is of what the bundle has, and so can be made again from it.
    let unpacked = Unpacked::new(output, files)?;
    let case = unpacked.case(None, false);
    let judged = case.judge()?;
    unpacked.check_decisions(&case, &judged)?;
    let mut files = unpacked.files;
    let (page, document) = reports(&judged, &files, &origin)?;
    files.insert(HTML.to_owned(), page);
    files.insert(PDF.to_owned(), document);
    let bundle = write_bundle(files).map_err(|error| Failure::file(output, error))?;
    files::write_atomically(output, &bundle, MODE_PUBLIC, IfExists::Refuse)
        .map_err(|error| Failure::io(output, &error))?;
    mention!(
        "clew: {} written: clew judge {0} checks it",
        output.display()
    );
    Ok(Status::Yes)
}

/// `clew judge` of a bundle.
pub fn judge(arguments: &Judge) -> Result<Status, Failure> {
    let path = &arguments.evidence;
    // Read once: it may be a pipe.
    let bytes = read(path)?;
    if let Some(input) = arguments
        .input
        .as_ref()
        .filter(|_| bytes.starts_with(b"PK"))
    {
        let why = "a bundle has its own packets: omit the capture";
        return Err(Failure::file(input, why));
    }
    if !bytes.starts_with(b"PK") {
        let why = "need --group GROUPFILE and the capture: only a bundle has its own";
        return Err(Failure::file(path, why).hint("clew help judge"));
    }
    if let Some(request) = &arguments.request {
        return Err(Failure::file(
            request,
            "a bundle has its own proof of the request",
        ));
    }
    if let Some(anchor) = &arguments.anchor {
        let why = "anchors a whole capture, and a bundle has a part of one";
        return Err(Failure::file(anchor, why).hint("judge the evidence with the capture itself"));
    }
    let files = read_bundle(&bytes);
    let files = files.map_err(|error| Failure::file(path, format!("invalid: {error}")).no())?;
    let unpacked = Unpacked::new(path, files)?;
    let (pin, json) = (arguments.device.as_ref(), arguments.json);
    let mut case = unpacked.case(pin, json);
    let own = case.judge()?;
    if own.file.request().warrant.is_some() && case.warrant.is_none() {
        return Err(case.no("files", None, format!("{WARRANT} is missing (rule files)")));
    }
    unpacked.check_decisions(&case, &own)?;
    let reports = unpacked.check_reports(&case, &own)?;
    // What the judge trusts from elsewhere.
    if case.request.is_none() && !arguments.witness.is_empty() {
        let why = "has no proof of the log, which --witness is for";
        return Err(Failure::file(path, why));
    }
    case.warrant = arguments.warrant.as_deref().or(case.warrant);
    case.believed = Believed::of(arguments);
    case.group = arguments.group.as_deref().unwrap_or(case.group);
    let mut judged = case.judge()?;
    judged.matter.coverage.original = unpacked.origin().map(|origin| Original {
        capture: origin.capture,
        frames: origin.frames,
    });
    if arguments.group.is_none() {
        mention!(
            "clew: the group file is the bundle's own: compare the epoch's id with one that you know"
        );
    }
    if let Some(output) = &arguments.report {
        unpacked.write_report(&own, output)?;
    }
    let is_open = matches!(reports, Reports::NotCompared { .. }) && !arguments.ignore_reports;
    judged.reports = Some(reports);
    judged.tell(json);
    if is_open {
        mention!("hint: --report OUT writes this version's report, --ignore-reports does without");
    }
    Ok(Status::of(false, is_open))
}

/// Both forms of the report.
fn reports(judged: &Judged, files: &Files, origin: &Origin) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    let report = report::of(judged, files, origin);
    let document = pdf(&report).map_err(Failure::new)?;
    Ok((html(&report).into_bytes(), document))
}

/// The files of a bundle, also in a folder that is removed when this is dropped.
struct Unpacked {
    _above: tempfile::TempDir,
    files: Files,
    /// The bundle.
    named: PathBuf,
    group: PathBuf,
    evidence: PathBuf,
    packets: PathBuf,
    proofs: Proofs,
}

/// What belongs to a request: the warrant, and the log's proofs.
#[derive(Default)]
struct Proofs {
    warrant: Option<PathBuf>,
    request: Option<PathBuf>,
    decisions: Vec<PathBuf>,
}

impl Proofs {
    /// Those of a folder: a request's directory, or an unpacked bundle.
    fn of(folder: &Path) -> Result<Self, Failure> {
        let known = |name: &str| Some(folder.join(name)).filter(|path| path.is_file());
        let failed = |error| Failure::io(folder, &error);
        let mut decisions = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if decision_of(&name_of(&path)).is_some() {
                decisions.push(path);
            }
        }
        decisions.sort();
        Ok(Self {
            warrant: known(WARRANT),
            request: known(REQUEST),
            decisions,
        })
    }
}

/// Nobody else may read the evidence, or change it before it is judged.
fn private_folder() -> io::Result<tempfile::TempDir> {
    let own = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().permissions(own).tempdir()
}

impl Unpacked {
    /// `bundle` names the folder, for messages.
    fn new(bundle: &Path, files: Files) -> Result<Self, Failure> {
        let above = private_folder().map_err(Failure::new)?;
        let folder = above.path().join(name_of(bundle));
        fs::create_dir(&folder).map_err(|error| Failure::io(&folder, &error))?;
        for (name, bytes) in &files {
            let path = folder.join(name);
            fs::write(&path, bytes).map_err(|error| Failure::io(&path, &error))?;
        }
        check_names(&files)
            .map_err(|why| Failure::file(bundle, format!("invalid: {why} (rule files)")).no())?;
        let one_of = |names: &[&str]| {
            let mut found = names.iter().filter(|name| files.contains_key(**name));
            match (found.next(), found.next()) {
                (Some(name), None) => Ok(folder.join(name)),
                _ => {
                    let why = format!("invalid: need one file {} (rule files)", names.join(" or "));
                    Err(Failure::file(bundle, why).no())
                }
            }
        };
        Ok(Self {
            group: one_of(&[GROUP])?,
            evidence: one_of(&[OPENING, MATCH])?,
            packets: one_of(&[PCAP, PCAPNG])?,
            proofs: Proofs::of(&folder)?,
            named: bundle.to_owned(),
            _above: above,
            files,
        })
    }

    /// What of it is judged.
    fn case<'a>(&'a self, device: Option<&'a DeviceFingerprint>, json: bool) -> Case<'a> {
        Case {
            named: &self.named,
            group: &self.group,
            evidence: &self.evidence,
            input: &self.packets,
            warrant: self.proofs.warrant.as_deref(),
            device,
            anchor: None,
            request: self.proofs.request.as_deref(),
            decisions: &self.proofs.decisions,
            believed: Believed::default(),
            json,
        }
    }

    /// Where its maker says that the packets come from.
    fn origin(&self) -> Option<Origin> {
        Origin::decode(self.files.get(ORIGIN)?)
    }

    /// Checks that each decision is of the trustee that its file names: so none counts twice.
    fn check_decisions(&self, case: &Case<'_>, judged: &Judged) -> Result<(), Failure> {
        let requested = judged.judgement.requested.iter();
        let approved = requested.flat_map(|requested| &requested.approved);
        for (path, (trustee, _)) in self.proofs.decisions.iter().zip(approved) {
            let name = name_of(path);
            if decision_of(&name) != Some(*trustee) {
                let why = format!("{name} is the decision of trustee {trustee} (rule files)");
                return Err(case.no("files", None, why));
            }
        }
        Ok(())
    }

    /// Checks that the reports say what the evidence proves, if this version of clew wrote them.
    fn check_reports(&self, case: &Case<'_>, judged: &Judged) -> Result<Reports, Failure> {
        let is_there = |name: &str| self.files.contains_key(name);
        let (Some(origin), true) = (self.origin(), is_there(HTML) && is_there(PDF)) else {
            let why = format!("{ORIGIN}, {HTML} or {PDF} is missing or damaged (rule files)");
            return Err(case.no("files", None, why));
        };
        if origin.clew != VERSION {
            let version = origin.clew;
            return Ok(Reports::NotCompared { version });
        }
        let (page, document) = self.reports(judged, &origin)?;
        for (name, bytes) in [(HTML, page), (PDF, document)] {
            if self.files.get(name) != Some(&bytes) {
                let why = format!("{name} is not the report of this evidence (rule report)");
                return Err(case.no("report", None, why));
            }
        }
        Ok(Reports::Same)
    }

    /// Both reports that this version writes.
    fn reports(&self, judged: &Judged, origin: &Origin) -> Result<(Vec<u8>, Vec<u8>), Failure> {
        let mut files = self.files.clone();
        files.retain(|name, _| name != HTML && name != PDF);
        reports(judged, &files, origin)
    }

    /// Writes this version's report into a new file.
    fn write_report(&self, judged: &Judged, output: &Path) -> Result<(), Failure> {
        let why = format!("{ORIGIN} is missing or damaged");
        let origin = self.origin().ok_or_else(|| Failure::new(why))?;
        let (page, document) = self.reports(judged, &origin)?;
        let bytes = match output.extension().is_some_and(|end| end == "pdf") {
            true => document,
            false => page,
        };
        files::write_atomically(output, &bytes, MODE_PUBLIC, IfExists::Refuse)
            .map_err(|error| Failure::io(output, &error))
    }
}

/// Rule `files`, but for what one of each kind has to be there (`spec/bundle.md` 2).
fn check_names(files: &Files) -> Result<(), String> {
    let known = [
        GROUP, OPENING, MATCH, WARRANT, PCAP, PCAPNG, REQUEST, ORIGIN, HTML, PDF,
    ];
    for name in files.keys() {
        match (known.contains(&name.as_str()), decision_of(name)) {
            (true, _) => {}
            (false, Some(_)) if files.contains_key(REQUEST) => {}
            (false, Some(_)) => return Err(format!("{name} is there without {REQUEST}")),
            (false, None) => return Err(format!("{name} is not a file of bundles")),
        }
    }
    Ok(())
}

/// Returns the trustee whose decision a file of that name is. Returns `None` if it is another file.
fn decision_of(name: &str) -> Option<u8> {
    let index = name.strip_prefix(DECISION)?.strip_suffix(".txt")?;
    let trustee: u8 = index.parse().ok()?;
    let is_exact = trustee.to_string() == index;
    (is_exact && (1..=TRUSTEES_MAX).contains(&trustee)).then_some(trustee)
}

fn name_of_evidence(file: &EvidenceFile) -> &'static str {
    match file {
        EvidenceFile::Opening(_) => OPENING,
        EvidenceFile::Match(_) => MATCH,
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Reads a file that may be in a bundle, or a bundle; `-` is standard input.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error| Failure::io(path, &error);
    let mut bytes = Vec::new();
    let file: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(std::io::stdin()),
        false => Box::new(File::open(path).map_err(failed)?),
    };
    let most = BUNDLE_MAX as u64;
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    match bytes.len() as u64 <= most {
        true => Ok(bytes),
        false => Err(Failure::file(
            path,
            "longer than 64 MiB, the most of a bundle",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_unpacked_where_nobody_else_reads() {
        let folder = private_folder().unwrap();
        let mode = folder.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
