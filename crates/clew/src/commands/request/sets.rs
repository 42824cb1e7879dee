//! Which trustees answer a match together.

use clew_group::quorum::{Set, Trustee};
use clew_log::entry::Answer;
use clew_trustee::request::{Decided, Filing, Message, Posted};

/// The trustees that said yes in the log, in its order.
pub fn yes_sayers(decided: &[Decided]) -> Vec<u8> {
    let mut first: Vec<u8> = Vec::new();
    for one in decided.iter().filter(|one| one.answer == Answer::Yes) {
        if !first.contains(&one.trustee) {
            first.push(one.trustee);
        }
    }
    first
}

/// As many of them as are needed, if there are so many.
pub fn first_set(trustees: &[u8], filing: &Filing) -> Option<Set> {
    let needed = trustees.get(..usize::from(filing.threshold))?;
    let trustees: Result<Vec<_>, _> = needed.iter().map(|index| Trustee::new(*index)).collect();
    Set::of(trustees.ok()?).ok()
}

/// Whom to ask when the newest set made no step for long: those first that are not behind in it. A trustee
/// that was killed between two files takes part again.
pub fn another_set(posts: &[Posted], decided: &[Decided], filing: &Filing) -> Option<Set> {
    let (newest, set) = newest_set(posts, filing)?;
    let steps = |index: u8| {
        let own = steps(posts, decided).filter(|step| *step == (newest, index));
        own.count()
    };
    let most = set.iter().map(|trustee| steps(trustee.index())).max()?;
    let is_behind = |index: u8| {
        let is_asked = set.iter().any(|trustee| trustee.index() == index);
        is_asked && steps(index) < most
    };
    let mut trustees = yes_sayers(decided);
    trustees.sort_by_key(|index| is_behind(*index));
    first_set(&trustees, filing)
}

/// The steps and shares of trustees whose yes the log has: the attempt, and whose.
pub fn steps<'p>(
    posts: &'p [Posted],
    decided: &'p [Decided],
) -> impl Iterator<Item = (u8, u8)> + 'p {
    let step = |post: &Posted| match &post.message {
        Message::Step { attempt, share } => Some((*attempt, share.trustee.index())),
        Message::Share {
            attempt, trustee, ..
        } => Some((*attempt, trustee.index())),
        _ => None,
    };
    let said_yes = |post: &Posted, index: u8| {
        let yes = (post.author, index, Answer::Yes);
        let mut decided = decided.iter();
        decided.any(|one| (one.author, one.trustee, one.answer) == yes)
    };
    let all = posts
        .iter()
        .filter_map(move |post| Some((post, step(post)?)));
    all.filter(move |(post, (_, index))| said_yes(post, *index))
        .map(|(_, step)| step)
}

/// The last set that the requester named.
pub fn newest_set(posts: &[Posted], filing: &Filing) -> Option<(u8, Set)> {
    let sets = posts.iter().filter_map(|post| match post.message {
        Message::Set { attempt, set } if post.author == filing.requester => Some((attempt, set)),
        _ => None,
    });
    sets.max_by_key(|(attempt, _)| *attempt)
}
