//! The trustees' steps: two of three open a packet, one lies and is named, a match and a
//! non-match, and a judge who has public files only.

use super::Stage;
use super::fleet::{Fleet, Machine};
use super::observe::Observed;
use super::steps::GROUP_FILE;
use crate::clock;
use crate::commands::coverage::Coverage;
use crate::commands::evidence::Evidence;
use crate::commands::judge::EvidenceFile;
use crate::commands::open::{Q, compare, open as combine};
use crate::commands::register::{self, Register};
use crate::commands::share::{request, write};
use crate::failure::Failure;
use crate::groups::read_group_file;
use crate::random;
use crate::secrets::Unlock;
use clew_capture::Record;
use clew_evidence::{Caveat, CheckedGroup, Question, Request, Share};
use clew_group::quorum::Set;
use clew_trustee::Responder;
use clew_trustee::rules::{Candidate, Case};

/// What all steps here look at.
struct Court<'c> {
    fleet: &'c Fleet,
    register: Register,
}

impl<'c> Court<'c> {
    fn new(stage: &Stage, fleet: &'c Fleet) -> Result<Self, Failure> {
        let group = read_group_file(&stage.path(GROUP_FILE))?;
        let directory = stage.path("acme");
        let register = Register::open(&directory, group, &Unlock::default())?;
        Ok(Self { fleet, register })
    }

    fn group(&self) -> &CheckedGroup {
        self.register.group()
    }

    fn responder(&self, trustee: usize) -> Result<Responder<'_>, Failure> {
        let (path, key) = &self.fleet.trustees[trustee - 1];
        Responder::new(key, path).map_err(|error| Failure::io(path, &error))
    }
}

/// One packet before the court.
struct Matter<'m> {
    number: u64,
    evidence: Evidence,
    sender: &'m Machine,
}

impl<'m> Matter<'m> {
    fn new(
        court: &Court<'_>,
        (number, record, sender): &(u64, Record, &'m Machine),
    ) -> Result<Self, Failure> {
        Ok(Self {
            number: *number,
            evidence: Evidence::of_verified(record, *number, court.group())?,
            sender,
        })
    }
}

pub fn open(stage: &mut Stage, fleet: &Fleet, observed: &Observed<'_>) -> Result<(), Failure> {
    stage.step(
        "7. Any two of three trustees, and nobody else, can name the machine that sent a packet",
    );
    let mut court = Court::new(stage, fleet)?;
    for (i, first) in observed.firsts.iter().enumerate() {
        let matter = Matter::new(&court, first)?;
        let honest = if i == 0 {
            let shares = share(stage, &court, &matter, &[1, 2, 3])?;
            expose(stage, &court, &matter, &shares)?;
            shares
        } else {
            share(stage, &court, &matter, &[1, 3])?
        };
        name(stage, &mut court, &matter, &honest)?;
    }
    Ok(())
}

/// Each of the trustees looks at the packet and gives its share.
fn share(
    stage: &mut Stage,
    court: &Court<'_>,
    matter: &Matter<'_>,
    trustees: &[usize],
) -> Result<Vec<Share>, Failure> {
    let number = matter.number;
    let request = request(court.group(), Question::Opening, &matter.evidence, None)?;
    let packet = matter.evidence.packet();
    let case = Case {
        group: court.group(),
        request: &request,
        packet: &packet,
    };
    let mut shares = Vec::new();
    for i in trustees {
        stage.command(&format!(
            "share --trustee @acme/trustees/{i}.key --group @{GROUP_FILE} @signed.pcap --packet \
             {number} -o @shares/{number}-{i}.share"
        ));
        let share = court
            .responder(*i)?
            .open(case, clock::now_ns(), &mut random::os());
        let share = share.map_err(Failure::new)?;
        let path = stage.path(&format!("shares/{number}-{i}.share"));
        write(&path, &share.encode())?;
        shares.push(share);
    }
    Ok(shares)
}

/// Trustee 2 passes on what trustee 3 gave, as its own.
fn expose(
    stage: &mut Stage,
    court: &Court<'_>,
    matter: &Matter<'_>,
    shares: &[Share],
) -> Result<(), Failure> {
    let [one, two, three] = shares else {
        return Ok(());
    };
    let lie = Share {
        trustee: two.trustee,
        ..three.clone()
    };
    let number = matter.number;
    write(
        &stage.path(&format!("shares/{number}-2.lie.share")),
        &lie.encode(),
    )?;
    say!("   Trustee 2 lies: it hands in another share than its own.");
    stage.command(&format!(
        "open --group @{GROUP_FILE} --register @acme --share @shares/{number}-1.share --share \
         @shares/{number}-2.lie.share @signed.pcap --packet {number} -o @{number}.opening || true"
    ));
    let shares = [one.clone(), lie];
    let refused = combine(&court.register, &matter.evidence, &shares, Q::No);
    let said = refused
        .err()
        .map(|failure| failure.message)
        .unwrap_or_default();
    say!("   {said}");
    stage.checks.check(
        said.contains("trustee 2") && !said.contains("trustee 1"),
        "the lying trustee 2 is named, and one valid share cannot open",
    );
    Ok(())
}

/// Combines the shares, writes the opening, says who it was, and has it judged.
fn name(
    stage: &mut Stage,
    court: &mut Court<'_>,
    matter: &Matter<'_>,
    shares: &[Share],
) -> Result<(), Failure> {
    let (number, sender) = (matter.number, matter.sender.name());
    let file = format!("{number}.opening");
    let given: Vec<String> = shares
        .iter()
        .map(|share| format!("--share&@shares/{number}-{}.share", share.trustee.index()))
        .collect();
    stage.command(&format!(
        "open --group @{GROUP_FILE} --register @acme {} @signed.pcap --packet {number} -o @{file}",
        given.join(" ")
    ));
    let (opened, _) = combine(&court.register, &matter.evidence, shares, Q::No)?;
    court.register.keep(&opened.evidence.row)?;
    write(&stage.path(&file), &opened.evidence.encode())?;
    let named = opened.judgement.machine.as_str();
    say!("   packet {number} was sent by {named}");
    let holds = judge(stage, court, &file, true)?;
    stage.checks.check(
        named == sender && holds,
        format!("opening packet {number} names {sender}, and a judge with public files agrees"),
    );
    Ok(())
}

/// Reads evidence back as a judge would, with the group file and the capture: whether it holds, and
/// says what it should.
fn judge(stage: &mut Stage, court: &Court<'_>, file: &str, sent: bool) -> Result<bool, Failure> {
    stage.command(&format!("judge --group @{GROUP_FILE} @{file} @signed.pcap"));
    let capture = stage.path("signed.pcap");
    let evidence = EvidenceFile::read(&stage.path(file), court.group())?;
    let Some(found) = Evidence::find(&capture, evidence.request(), court.group())? else {
        return Ok(false);
    };
    say!(
        "   its signature {}",
        Coverage::of(&capture, &found)?.sentence()
    );
    let judged = evidence.judge(court.group(), &found);
    Ok(judged.is_ok_and(|judgement| {
        judgement.signed == sent && judgement.caveats.contains(&Caveat::TrustedDealer)
    }))
}

pub fn compare_machines(
    stage: &mut Stage,
    fleet: &Fleet,
    observed: &Observed<'_>,
) -> Result<(), Failure> {
    let Some(first) = observed.firsts.first() else {
        return Ok(());
    };
    stage.step(&format!(
        "8. Did this machine send packet {}? Two trustees answer, without opening it",
        first.0
    ));
    let mut court = Court::new(stage, fleet)?;
    let matter = Matter::new(&court, first)?;
    let other = fleet
        .machines
        .iter()
        .find(|m| m.name() != matter.sender.name());
    for machine in [Some(matter.sender), other].into_iter().flatten() {
        match_with(stage, &mut court, &matter, machine)?;
    }
    Ok(())
}

fn match_with(
    stage: &mut Stage,
    court: &mut Court<'_>,
    matter: &Matter<'_>,
    machine: &Machine,
) -> Result<(), Failure> {
    let (number, name) = (matter.number, machine.name());
    let epoch = matter.evidence.summary.epoch;
    let candidate = court.register.candidate(name, epoch)?;
    let shares = three_steps(stage, court, matter, name, &candidate)?;
    let file = format!("{number}-{name}.match");
    let sent = name == matter.sender.name();
    stage.command(&format!(
        "match --group @{GROUP_FILE} --machine {name} --register @acme --share \
         @shares/{number}-{name}-1.share --share @shares/{number}-{name}-3.share @signed.pcap \
         --packet {number} -o @{file}{}",
        if sent { "" } else { " || true" }
    ));
    let matched = compare(&court.register, &matter.evidence, name, &shares)?;
    court.register.keep(&matched.evidence.row)?;
    write(&stage.path(&file), &matched.evidence.encode())?;
    let word = if matched.judgement.signed {
        "yes"
    } else {
        "no"
    };
    say!("   Did {name} send packet {number}? {word}");
    let holds = judge(stage, court, &file, sent)?;
    stage.checks.check(
        matched.judgement.signed == sent && holds,
        format!("the match of packet {number} with {name} says {word}, and a judge agrees"),
    );
    Ok(())
}

/// Trustees 1 and 3: commitments, blinds, shares.
fn three_steps(
    stage: &mut Stage,
    court: &Court<'_>,
    matter: &Matter<'_>,
    name: &str,
    candidate: &register::Candidate,
) -> Result<Vec<Share>, Failure> {
    let question = Question::Match {
        machine: candidate.found.row.entry.leaf_hash(),
    };
    let request: Request = request(court.group(), question, &matter.evidence, None)?;
    let packet = matter.evidence.packet();
    let case = Case {
        group: court.group(),
        request: &request,
        packet: &packet,
    };
    let with = Candidate {
        found: &candidate.found,
        base: &candidate.base,
    };
    let set = Set::from_bytes(&[0, 0, 0, 0b101]).map_err(Failure::new)?;
    let mut rng = random::os();
    let mut given: Vec<Share> = Vec::new();
    for (ending, before) in [
        ("commit", None),
        ("blind", Some("commit")),
        ("share", Some("blind")),
    ] {
        let mut step = Vec::new();
        for i in [1, 3] {
            stage.command(&step_command(matter.number, name, i, ending, before));
            let responder = court.responder(i)?;
            let share = match ending {
                "commit" => responder.commit(case, with, set, clock::now_ns(), &mut rng),
                "blind" => responder.reveal(case, with, &given),
                _ => responder.compare(case, with, &given, &mut rng),
            };
            let share = share.map_err(Failure::new)?;
            let file = format!("shares/{}-{name}-{i}.{ending}", matter.number);
            write(&stage.path(&file), &share.encode())?;
            step.push(share);
        }
        given = step;
    }
    Ok(given)
}

fn step_command(number: u64, name: &str, i: usize, ending: &str, before: Option<&str>) -> String {
    let others = match before {
        None => "--with 1,3".to_owned(),
        Some(before) => [1, 3]
            .map(|j| format!("--share&@shares/{number}-{name}-{j}.{before}"))
            .join(" "),
    };
    format!(
        "share --trustee @acme/trustees/{i}.key --group @{GROUP_FILE} --match {name} --register \
         @acme {others} @signed.pcap --packet {number} -o @shares/{number}-{name}-{i}.{ending}"
    )
}
