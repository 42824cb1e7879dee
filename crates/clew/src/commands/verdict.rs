//! What evidence that holds says, in words and in JSON.

use super::coverage::Coverage;
use super::evidence::Evidence;
use crate::clock;
use crate::report;
use clew_evidence::{Caveat, GroupFile, How, Judgement, Origin, Request, short_epoch_id};
use serde_json::{Value, json};

/// Says what evidence proves, and what it does not.
pub fn tell(
    group: &GroupFile,
    evidence: &Evidence,
    request: &Request,
    coverage: &Coverage,
    judgement: &Judgement,
    as_json: bool,
) {
    let about = About {
        signed_at: evidence.summary.timestamp.0,
        warrant: request.warrant.as_ref().map(|hash| report::hex(hash)),
        coverage,
    };
    match as_json {
        true => say!("{}", object(group, &about, judgement)),
        false => text(group, &about, judgement),
    }
}

/// What was asked, and about what.
struct About<'a> {
    /// When the packet says that it was signed.
    signed_at: u64,
    /// SHA-256 of the warrant, if there was one.
    warrant: Option<String>,
    coverage: &'a Coverage,
}

fn object(group: &GroupFile, about: &About<'_>, judgement: &Judgement) -> Value {
    json!({
        "holds": true,
        "machine": judgement.machine.as_str(),
        "sent": judgement.signed,
        "asked": about.coverage.asked,
        "packets": about.coverage.packets,
        "more_packets": about.coverage.more,
        "group": group.id().to_string(),
        "epoch": judgement.epoch,
        "epoch_id": short_epoch_id(&judgement.epoch_id),
        "signed_at": clock::rfc3339(about.signed_at),
        "warrant": about.warrant,
        "row": judgement.index,
        "joined": {"epoch": judgement.joined, "how": judgement.how.as_str()},
        "device": judgement.device.map(|device| device.to_string()),
        "opening_key": judgement.opening_key.as_str(),
        "caveats": judgement.caveats.iter().map(caveat_object).collect::<Vec<_>>(),
    })
}

fn caveat_object(caveat: &Caveat) -> Value {
    let mut object = json!({"name": caveat.as_str()});
    if let Some(epoch) = caveat.epoch() {
        object["epoch"] = epoch.into();
    }
    if let Caveat::NameReissued { row } = caveat {
        object["row"] = (*row).into();
    }
    object
}

fn text(group: &GroupFile, about: &About<'_>, judgement: &Judgement) {
    let coverage = about.coverage;
    let Judgement {
        machine,
        index,
        joined,
        epoch,
        ..
    } = judgement;
    let was = if judgement.signed { "was" } else { "was not" };
    say!("packet {} {was} sent by {machine}", coverage.asked);
    say!("  group      {} ({})", group.genesis().name, group.id());
    say!(
        "  epoch      {epoch}, {}",
        short_epoch_id(&judgement.epoch_id)
    );
    say!(
        "  time       {}, as the packet states",
        clock::to_the_second(about.signed_at)
    );
    say!("  signature  {}", coverage.sentence());
    say!(
        "  warrant    {}",
        about
            .warrant
            .as_deref()
            .unwrap_or("none was shown to the trustees")
    );
    say!(
        "  machine    row {index} of the register, joined in epoch {joined} {}",
        place(judgement.how)
    );
    match &judgement.device {
        Some(device) => {
            say!("  device     {device}");
            say!("             (the manager chose the name; the device made this key)");
        }
        None => say!("  device     none (scheme bbs04)"),
    }
    say!("  opened by  {}", key_sentence(judgement.opening_key));
    for caveat in &judgement.caveats {
        say!("  But: {}", sentence(caveat, judgement, group));
    }
}

fn place(how: How) -> &'static str {
    match how {
        How::IssuerHost => "on the issuer's host",
        How::OwnHost => "from its own host",
        How::Attested => "from its own host, with an attested device key",
    }
}

fn key_sentence(origin: Origin) -> &'static str {
    match origin {
        Origin::TrustedDealer => "trustees, with a key from a trusted dealer",
        Origin::Dkg => "trustees, with a key from distributed key generation (DKG)",
    }
}

fn sentence(caveat: &Caveat, judgement: &Judgement, group: &GroupFile) -> String {
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
