//! The trustees' steps: two of three open a packet, one lies and is named, a match and a
//! non-match, and a judge who has public files only.

use super::Stage;
use super::fleet::{Fleet, Machine};
use super::observe::{GROUP_FILE, Observed};
use crate::commands::share::{read_shares, write};
use crate::failure::Failure;
use clew_evidence::{Caveat, Share};

pub fn open(stage: &mut Stage, observed: &Observed<'_>) -> Result<(), Failure> {
    stage.step(
        "7. Any two of three trustees, and nobody else, can name the machine that sent a packet",
    );
    for (i, (number, sender)) in observed.firsts.iter().enumerate() {
        let trustees = if i == 0 { &[1, 2, 3][..] } else { &[1, 3] };
        for trustee in trustees {
            stage.run(&format!(
                "share --trustee @acme/trustees/{trustee}.key --group @{GROUP_FILE} @signed.pcap \
                 --packet {number} -o @shares/{number}-{trustee}.share"
            ))?;
        }
        if i == 0 {
            expose(stage, *number)?;
        }
        name(stage, *number, sender, trustees)?;
    }
    Ok(())
}

/// Trustee 2 passes on what trustee 3 gave, as its own.
fn expose(stage: &mut Stage, number: u64) -> Result<(), Failure> {
    let given = |name: &str| stage.path(&format!("shares/{number}-{name}.share"));
    let shares = read_shares(&[given("2"), given("3")])?;
    let [two, three] = &shares[..] else {
        return Ok(());
    };
    let lie = Share {
        trustee: two.trustee,
        ..three.clone()
    };
    write(&given("2.lie"), &lie.encode())?;
    say!("   Trustee 2 lies: it hands in another share than its own.");
    let refused = stage.ask(&format!(
        "open --group @{GROUP_FILE} --register @acme --share @shares/{number}-1.share --share \
         @shares/{number}-2.lie.share @signed.pcap --packet {number} -o @{number}.opening"
    ))?;
    let said = refused.failure().message;
    let said = said.lines().next().unwrap_or_default();
    say!("   {said}");
    stage.check(
        !refused.is_yes && said.contains("trustee 2") && !said.contains("trustee 1"),
        "the lying trustee 2 is named, and one valid share cannot open",
    );
    Ok(())
}

/// Combines the shares of these trustees, says who it was, and has the opening judged.
fn name(stage: &mut Stage, number: u64, sender: &Machine, trustees: &[u8]) -> Result<(), Failure> {
    let given = trustees.iter();
    let given = given.map(|trustee| format!("--share&@shares/{number}-{trustee}.share"));
    let (given, file) = (given.collect::<Vec<_>>(), format!("{number}.opening"));
    let opened = stage.run(&format!(
        "open --group @{GROUP_FILE} --register @acme {} @signed.pcap --packet {number} -o @{file}",
        given.join(" ")
    ))?;
    let (named, name) = (opened.first(), &sender.name);
    say!("   {named}");
    let holds = judge(stage, &file, named)?;
    stage.check(
        named == format!("packet {number} was sent by {name}") && holds,
        format!("opening packet {number} names {name}, and a judge with public files agrees"),
    );
    Ok(())
}

/// Has evidence judged: whether it holds, and says what it should.
fn judge(stage: &mut Stage, file: &str, answer: &str) -> Result<bool, Failure> {
    let judged = stage.ask(&format!("judge --group @{GROUP_FILE} @{file} @signed.pcap"))?;
    let mut lines = judged.out.lines();
    if let Some(covers) = lines.find_map(|line| line.strip_prefix("  signature  ")) {
        say!("   its signature {covers}");
    }
    let caveat = format!("  But: {}", Caveat::TrustedDealer);
    let is_told = judged.out.lines().any(|line| line == caveat);
    Ok(judged.is_yes && judged.first() == answer && is_told)
}

pub fn compare_machines(
    stage: &mut Stage,
    fleet: &Fleet,
    observed: &Observed<'_>,
) -> Result<(), Failure> {
    let Some((number, sender)) = observed.firsts.first() else {
        return Ok(());
    };
    stage.step(&format!(
        "8. Did this machine send packet {number}? Two trustees answer, without opening it"
    ));
    let other = fleet.machines.iter().find(|m| m.name != sender.name);
    match_with(stage, *number, &sender.name, true)?;
    other.map_or(Ok(()), |m| match_with(stage, *number, &m.name, false))
}

fn match_with(stage: &mut Stage, number: u64, name: &str, sent: bool) -> Result<(), Failure> {
    three_steps(stage, number, name)?;
    let file = format!("{number}-{name}.match");
    let matched = stage.ask(&format!(
        "match --group @{GROUP_FILE} --machine {name} --register @acme --share \
         @shares/{number}-{name}-1.share --share @shares/{number}-{name}-3.share @signed.pcap \
         --packet {number} -o @{file}"
    ))?;
    let (word, was) = match sent {
        true => ("yes", "was"),
        false => ("no", "was not"),
    };
    let answer = format!("packet {number} {was} sent by {name}");
    say!("   Did {name} send packet {number}? {word}");
    let holds = judge(stage, &file, &answer)?;
    stage.check(
        matched.is_yes == sent && matched.first() == answer && holds,
        format!("the match of packet {number} with {name} says {word}, and a judge agrees"),
    );
    Ok(())
}

/// Trustees 1 and 3: commitments, blinds, shares.
fn three_steps(stage: &mut Stage, number: u64, name: &str) -> Result<(), Failure> {
    let mut given = "--with 1,3".to_owned();
    for ending in ["commit", "blind", "share"] {
        let file = |i| format!("@shares/{number}-{name}-{i}.{ending}");
        for i in [1, 3] {
            stage.run(&format!(
                "share --trustee @acme/trustees/{i}.key --group @{GROUP_FILE} --match {name} \
                 --register @acme {given} @signed.pcap --packet {number} -o {}",
                file(i)
            ))?;
        }
        given = format!("--share&{} --share&{}", file(1), file(3));
    }
    Ok(())
}
