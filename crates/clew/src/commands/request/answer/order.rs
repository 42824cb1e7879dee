//! The operator's decision: signed with the trustee's author key, on the disk before anything follows.
//! `clew trustee serve` reads it; nobody who can only write into the directory can make one.

use super::record::{Place, Record, Reviewed};
use super::work::{RULE_QUEUE, short};
use crate::clock;
use crate::failure::Failure;
use clew_evidence::GroupId;
use clew_keys::AuthorKeyFile;
use clew_log::entry::{Answer, Body, Entry, Trusteeship};
use clew_wire::Hex;
use std::path::Path;

/// Reads an order: it is for this request, of this trustee, signed with its own key.
pub fn read(
    order: &Entry,
    (own, group): ([u8; 32], [u8; 16]),
    (of, own_share): (u64, Trusteeship),
) -> Option<Answer> {
    let Body::Decision { place, by, answer } = order.body else {
        return None;
    };
    let is_own = order.author == own && order.group == group && order.is_signed();
    (is_own && (place, by) == (of, own_share)).then_some(answer)
}

/// Signs and keeps a decision about a request that was reviewed. Returns what it is about.
///
/// # Errors
/// The request was not reviewed, or decided otherwise before: a yes in the log stays.
pub fn put(
    dir: &Path,
    topic: &[u8; 32],
    group: GroupId,
    answer: Answer,
    key: &AuthorKeyFile,
) -> Result<Reviewed, Failure> {
    let record = Record::at(dir, topic);
    if let Some(why) = record.over()? {
        record.bring_back(dir, topic)?;
        let why = format!(
            "request {}: it was {why}, and is looked at again",
            short(topic)
        );
        let list = format!("clew trustee list {}, after its next turn", dir.display());
        return Err(Failure::new(why).hint(list));
    }
    let reviewed = record
        .review()?
        .filter(|reviewed| reviewed.answer != RULE_QUEUE);
    let reviewed = reviewed.ok_or_else(|| {
        Failure::new(format!("request {}: not checked yet", short(topic)))
            .hint(format!("clew trustee serve {}", dir.display()))
    })?;
    if let (Some((_, Answer::Yes)), Answer::No(_)) = (record.decision()?, answer) {
        let why = "the log has the yes of this trustee, and a yes stays";
        return Err(Failure::new(format!("request {}: {why}", short(topic))));
    }
    let body = Body::Decision {
        place: reviewed.place,
        by: Trusteeship {
            since: reviewed.since,
            index: reviewed.trustee,
        },
        answer,
    };
    let order = Entry::sign(group.0, clock::wall_time(), body, &key.signing_key());
    let order = order.ok_or_else(|| Failure::new("the decision is too long"))?;
    record.put_order(&order)?;
    Ok(reviewed)
}

/// Digits of an id that name one request or plan. An empty word would name any.
pub const ID_DIGITS_MIN: usize = 8;

/// The request whose id begins with these digits.
///
/// # Errors
/// None does, or several do.
pub fn find(dir: &Path, prefix: &str) -> Result<Option<[u8; 32]>, Failure> {
    let prefix = prefix.to_ascii_lowercase();
    if prefix.len() < ID_DIGITS_MIN {
        let why = format!("{prefix:?}: give at least {ID_DIGITS_MIN} digits of an id");
        let list = format!("clew trustee list {}", dir.display());
        return Err(Failure::new(why).hint(list));
    }
    let mut all = super::topics(dir, Place::Open)?;
    all.extend(super::topics(dir, Place::Filed)?);
    let mut found = all
        .into_iter()
        .filter(|topic| Hex(topic).to_string().starts_with(&prefix));
    match (found.next(), found.next()) {
        (one, None) => Ok(one),
        _ => Err(
            Failure::new(format!("{prefix}: several requests have this id"))
                .hint("use more of its digits"),
        ),
    }
}
