//! What evidence that holds says, in words and in JSON.

use super::coverage::Matter;
use crate::clock;
use clew_evidence::{
    Anchored, Caveat, DeviceFingerprint, GroupFile, Judgement, KeyOrigin, Origin, Requested,
    WallTime, short_epoch_id,
};
use clew_wire::Hex;
use serde_json::{Value, json};

/// Says what evidence about a packet proves, and what it does not.
pub fn tell(
    group: &GroupFile,
    matter: &Matter,
    warrant: Option<&[u8; 32]>,
    judgement: &Judgement,
    as_json: bool,
) {
    match as_json {
        true => say!("{}", object(group, matter, warrant, judgement)),
        false => text(
            group,
            matter,
            warrant.map(|hash| Hex(hash).to_string()),
            judgement,
        ),
    }
}

/// The same as a JSON object.
pub fn object(
    group: &GroupFile,
    Matter { evidence, coverage }: &Matter,
    warrant: Option<&[u8; 32]>,
    judgement: &Judgement,
) -> Value {
    let warrant = warrant.map(|hash| Hex(hash).to_string());
    let mut object = json!({
        "holds": true,
        "machine": judgement.machine.as_str(),
        "sent": judgement.signed,
        "asked": coverage.asked,
        "packets": coverage.packets,
        "more_packets": coverage.more,
        "covered": coverage.covered,
        "absent": coverage.absent,
        "group": group.id().to_string(),
        "epoch": judgement.epoch,
        "epoch_id": short_epoch_id(&judgement.epoch_id),
        "signed_at": clock::rfc3339(evidence.summary.timestamp.0),
        "warrant": warrant,
        "row": judgement.index,
        "joined": {"epoch": judgement.joined, "how": judgement.how.as_str()},
        "device": judgement.device.map(|device| device.to_string()),
        "opening_key": judgement.opening_key.as_str(),
        "caveats": judgement.caveats.iter().map(caveat_object).collect::<Vec<_>>(),
    });
    if let Some((capture, packet)) = coverage.packet_there() {
        object["original"] = json!({"capture": capture, "asked": packet});
    }
    if let Some(anchored) = &judgement.anchored {
        object["anchored"] = json!({
            "time": clock::rfc3339(anchored.time.as_nanos()),
            "in_time": anchored.is_in_time,
            "witnessed": anchored.is_witnessed,
        });
    }
    if let Some(requested) = &judgement.requested {
        let approved = requested.approved.iter().map(
            |(trustee, time)| json!({"trustee": trustee, "time": clock::rfc3339(time.as_nanos())}),
        );
        object["requested"] = json!({
            "place": requested.place,
            "logged": clock::rfc3339(requested.logged.as_nanos()),
            "cosigned": requested.cosigned.map(|time| clock::rfc3339(time.as_nanos())),
            "witnesses": requested.witnesses,
            "requester": DeviceFingerprint::of(&requested.requester).to_string(),
            "approved": approved.collect::<Vec<_>>(),
        });
    }
    object
}

fn caveat_object(caveat: &Caveat) -> Value {
    let mut object = json!({"name": caveat.as_str()});
    if let Some(epoch) = caveat.epoch() {
        object["epoch"] = epoch.into();
    }
    if let Caveat::NameReissued { row } = caveat {
        object["row"] = (*row).into();
    }
    if let Caveat::NotDecided { shown, needed } = caveat {
        object["shown"] = (*shown).into();
        object["needed"] = (*needed).into();
    }
    object
}

fn text(group: &GroupFile, matter: &Matter, warrant: Option<String>, judgement: &Judgement) {
    say!("{}", answer(matter, judgement));
    for (name, value) in facts(group, matter, warrant, judgement) {
        say!("  {name:<10} {value}");
    }
    for caveat in &judgement.caveats {
        say!("  But: {}", sentence(caveat, judgement, group));
    }
}

/// Who sent the packet, or who did not, in one line.
pub fn answer(matter: &Matter, judgement: &Judgement) -> String {
    let was = if judgement.signed { "was" } else { "was not" };
    let packet = matter.coverage.packet();
    format!("{packet} {was} sent by {}", judgement.machine)
}

/// What else evidence says, as names and values. A line without a name continues the one before.
pub fn facts(
    group: &GroupFile,
    Matter { evidence, coverage }: &Matter,
    warrant: Option<String>,
    judgement: &Judgement,
) -> Vec<(&'static str, String)> {
    let Judgement {
        index,
        joined,
        epoch,
        ..
    } = judgement;
    let none = || "none was shown to the trustees".to_owned();
    let time = clock::to_the_second(evidence.summary.timestamp.0);
    let how = place(judgement.how);
    let mut facts = vec![
        (
            "group",
            format!("{} ({})", group.genesis().name, group.id()),
        ),
        (
            "epoch",
            format!("{epoch}, {}", short_epoch_id(&judgement.epoch_id)),
        ),
        ("time", format!("{time}, as the packet states")),
        ("signature", coverage.sentence()),
        ("warrant", warrant.unwrap_or_else(none)),
        (
            "machine",
            format!("row {index} of the register, joined in epoch {joined} {how}"),
        ),
    ];
    if let Some(origin) = coverage.origin() {
        facts.insert(0, ("origin", origin));
    }
    if let Some(anchored) = &judgement.anchored {
        facts.insert(
            facts.len() - 2,
            ("anchored", anchor_sentence(anchored, *epoch)),
        );
    }
    if let Some(requested) = &judgement.requested {
        facts.extend(request_facts(requested));
    }
    match &judgement.device {
        Some(device) => {
            facts.push(("device", device.to_string()));
            let whose = "(the manager chose the name; the device made this key)";
            facts.push(("", whose.to_owned()));
        }
        None => facts.push(("device", "none (scheme bbs04)".to_owned())),
    }
    facts.push(("opened by", key_sentence(judgement.opening_key).to_owned()));
    facts
}

fn anchor_sentence(anchored: &Anchored, epoch: u32) -> String {
    let by = match anchored.is_witnessed {
        true => "witnesses of the log say",
        false => "the log alone says",
    };
    let when = match anchored.is_in_time {
        true => format!("before epoch {epoch} ended"),
        false => format!("after epoch {epoch} ended"),
    };
    let time = clock::to_the_second(anchored.time.as_nanos());
    format!("existed at {time}, {when}, as {by}")
}

/// Where the log has the request, and whose yes.
fn request_facts(requested: &Requested) -> Vec<(&'static str, String)> {
    let at = |time: WallTime| clock::to_the_second(time.as_nanos());
    let (place, logged) = (requested.place, at(requested.logged));
    let by = match requested.cosigned {
        Some(time) => format!(
            "cosigned by {} of your witnesses by {}",
            requested.witnesses,
            at(time)
        ),
        None => "as the log alone says".to_owned(),
    };
    let mut facts = vec![(
        "request",
        format!("entry {place} of the log, added {logged}, {by}"),
    )];
    for (trustee, time) in &requested.approved {
        facts.push((
            "",
            format!("trustee {trustee} approved it at {}", at(*time)),
        ));
    }
    facts
}

fn place(how: KeyOrigin) -> &'static str {
    match how {
        KeyOrigin::IssuerHost => "on the issuer's host",
        KeyOrigin::OwnHost => "from its own host",
        KeyOrigin::Attested => "from its own host, with an attested device key",
    }
}

fn key_sentence(origin: Origin) -> &'static str {
    match origin {
        Origin::TrustedDealer => "trustees, with a key from a trusted dealer",
        Origin::Dkg => "trustees, with a key from distributed key generation (DKG)",
    }
}

/// A caveat for people.
pub fn sentence(caveat: &Caveat, judgement: &Judgement, group: &GroupFile) -> String {
    let claimed = judgement.epoch;
    match caveat {
        Caveat::JoinedLater { epoch } => format!(
            "the machine joined in epoch {epoch}, after epoch {claimed} of the packet: the packet \
             is backdated"
        ),
        Caveat::RevokedLater { epoch } => {
            let start = group.start(*epoch);
            let when = start.map_or_else(String::new, |start| {
                format!(" from {}", clock::to_the_second(start.as_nanos()))
            });
            format!(
                "the machine is revoked in epoch {epoch},{when}; nothing proves that the packet \
                 existed before: the holder of a stolen key can backdate packets"
            )
        }
        other => other.to_string(),
    }
}
