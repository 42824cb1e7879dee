//! Which state a request is in (`spec/request.md` section 5): a function of posts, checked entries of
//! the log, and the time.

use super::{Message, Posted};
use crate::approval::may_pass;
use clew_evidence::WallTime;
use clew_log::entry::{Answer, Body, Logged};
use clew_log::{Policy, Proof, tree};
use std::collections::{BTreeMap, BTreeSet};

/// A trustee's decision, as the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The decision's place in the log.
    pub place: u64,
    /// The log's time of it.
    pub logged: WallTime,
    /// Whose it is.
    pub trustee: u8,
    /// Who signed it.
    pub author: [u8; 32],
    /// The decision.
    pub answer: Answer,
}

/// The entry by which a request was filed, and what the group demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filing {
    /// The group's id.
    pub group: [u8; 16],
    /// The entry's place in the log.
    pub place: u64,
    /// The log's time of it.
    pub logged: WallTime,
    /// The key that filed it.
    pub requester: [u8; 32],
    /// Whether it asks for a match.
    pub is_match: bool,
    /// When its warrant expires.
    pub expires: WallTime,
    /// The first epoch of the opening key of the packet's epoch: whose trustees decide.
    pub since: u32,
    /// How many trustees are needed.
    pub threshold: u8,
    /// How many there are.
    pub trustees: u8,
}

/// The state of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestState {
    /// The log has it.
    Filed,
    /// At least one trustee checked it.
    Reviewed,
    /// So many trustees said yes in the log, at least one.
    Approved {
        /// How many.
        have: u8,
        /// How many are needed.
        need: u8,
    },
    /// Shares of as many trustees as are needed are there.
    Computed,
    /// The log has its result.
    Delivered,
    /// Its warrant expired before.
    Expired,
    /// So many trustees refused in the log that too few are left.
    Refused,
}

impl RequestState {
    /// Returns the state's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Filed => "filed",
            Self::Reviewed => "reviewed",
            Self::Approved { .. } => "approved",
            Self::Computed => "computed",
            Self::Delivered => "delivered",
            Self::Expired => "expired",
            Self::Refused => "refused",
        }
    }
}

/// Something that happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When: by the log's clock if it is in the log, else by the trustee's. `None` if nobody says so.
    pub time: Option<WallTime>,
    /// The trustee that did it; `None` for the requester.
    pub trustee: Option<u8>,
    /// Its place in the log, if it is there.
    pub place: Option<u64>,
    /// What.
    pub what: Happened,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The request was filed.
    Filed,
    /// A trustee checked it, and may answer.
    Reviewed,
    /// A trustee checked it, and this rule failed.
    Faulted(u8),
    /// A trustee checked it, and this rule does not hold yet: it looks again.
    Postponed(u8),
    /// A trustee said yes.
    Approved,
    /// A trustee refused, by this rule.
    Refused(u8),
    /// The requester named trustees to answer a match together, the so-manieth time.
    Set(u8),
    /// A trustee gave its share.
    Computed,
    /// The result was logged: SHA-256 of the evidence.
    Delivered([u8; 32]),
}

/// What anybody sees of a request who reads its topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The state.
    pub state: RequestState,
    /// What happened, in the order of posts, the filing first.
    pub events: Vec<Event>,
}

/// Returns the decisions about the request at `place` whose proofs hold, one of each entry, in the log's
/// order: those of trustees of the opening key that began with epoch `since`. `now` is in seconds since 1970.
pub fn decided(
    posts: &[Posted],
    policy: &Policy,
    group: &[u8; 16],
    (place, since): (u64, u32),
    now: u64,
) -> Vec<Decided> {
    let proofs = posts.iter().filter_map(|post| match &post.message {
        Message::Decision(proof) => Some((post.author, proof)),
        _ => None,
    });
    let decided = proofs.filter_map(|(author, proof)| {
        let logged = entry(proof, policy, group, now).filter(|one| one.entry.author == author)?;
        let Body::Decision {
            place: of,
            by,
            answer,
        } = logged.entry.body
        else {
            return None;
        };
        (of == place && by.since == since).then_some((
            proof.index,
            Decided {
                place: proof.index,
                logged: logged.logged,
                trustee: by.index,
                author,
                answer,
            },
        ))
    });
    let by_place: BTreeMap<u64, Decided> = decided.collect();
    by_place.into_values().collect()
}

/// Returns whether the log has a result of the request that `requester` filed at `place`: nothing is left to do
/// about it. `now` is in seconds since 1970.
pub fn is_delivered(
    posts: &[Posted],
    policy: &Policy,
    group: &[u8; 16],
    (place, requester): (u64, [u8; 32]),
    now: u64,
) -> bool {
    posts.iter().any(|post| match &post.message {
        Message::Result(proof) => result(proof, policy, group, (place, requester), now).is_some(),
        _ => false,
    })
}

/// When the log added the requester's result, and its hash.
fn result(
    proof: &Proof,
    policy: &Policy,
    group: &[u8; 16],
    of: (u64, [u8; 32]),
    now: u64,
) -> Option<(WallTime, [u8; 32])> {
    let logged = entry(proof, policy, group, now)?;
    let Body::Result { place, evidence } = logged.entry.body else {
        return None;
    };
    ((place, logged.entry.author) == of).then_some((logged.logged, evidence))
}

/// The signed entry of this group that a proof leads to.
fn entry(proof: &Proof, policy: &Policy, group: &[u8; 16], now: u64) -> Option<Logged> {
    let extra = proof.extra.as_deref()?;
    policy.check(proof, tree::leaf(extra), now).ok()?;
    let logged = Logged::decode(extra)?;
    let is_good = logged.entry.group == *group && logged.entry.is_signed();
    is_good.then_some(logged)
}

impl Progress {
    /// Says how far a request is. What does not hold under the policy is left out: a decision or result
    /// without a proof that holds, a post of somebody else than its trustee. `now` is in seconds since
    /// 1970.
    pub fn of(filing: &Filing, posts: &[Posted], policy: &Policy, now: u64) -> Self {
        let of = (filing.place, filing.since);
        let decided = decided(posts, policy, &filing.group, of, now);
        let reading = Reading {
            filing,
            posts,
            decided: &decided,
            policy,
            now,
        };
        let events = reading.events();
        Self {
            state: reading.state(&events),
            events,
        }
    }
}

struct Reading<'a> {
    filing: &'a Filing,
    posts: &'a [Posted],
    decided: &'a [Decided],
    policy: &'a Policy,
    now: u64,
}

impl Reading<'_> {
    fn events(&self) -> Vec<Event> {
        let filed = Event {
            time: Some(self.filing.logged),
            trustee: None,
            place: Some(self.filing.place),
            what: Happened::Filed,
        };
        let mut events = vec![filed];
        for post in self.posts {
            if let Some(event) = self.event(post).filter(|event| !events.contains(event)) {
                events.push(event);
            }
        }
        events
    }

    fn event(&self, post: &Posted) -> Option<Event> {
        match &post.message {
            Message::Reviewed {
                time,
                trustee,
                answer,
            } => self.of_trustee(post, trustee.index()).then_some(Event {
                time: Some(*time),
                trustee: Some(trustee.index()),
                place: None,
                what: match answer {
                    Answer::Yes => Happened::Reviewed,
                    Answer::No(rule) if may_pass(*rule) => Happened::Postponed(*rule),
                    Answer::No(rule) => Happened::Faulted(*rule),
                },
            }),
            Message::Decision(proof) => {
                let mut decided = self.decided.iter();
                let one =
                    decided.find(|one| one.place == proof.index && one.author == post.author)?;
                Some(Event {
                    time: Some(one.logged),
                    trustee: Some(one.trustee),
                    place: Some(one.place),
                    what: match one.answer {
                        Answer::Yes => Happened::Approved,
                        Answer::No(rule) => Happened::Refused(rule),
                    },
                })
            }
            Message::Share { time, trustee, .. } => {
                let is_of = self.said_yes(post.author) == Some(trustee.index());
                is_of.then_some(Event {
                    time: Some(*time),
                    trustee: Some(trustee.index()),
                    place: None,
                    what: Happened::Computed,
                })
            }
            Message::Set { attempt, .. } => {
                (post.author == self.filing.requester).then_some(Event {
                    time: None,
                    trustee: None,
                    place: None,
                    what: Happened::Set(*attempt),
                })
            }
            Message::Result(proof) => self.result(proof),
            Message::Case(_) | Message::Step { .. } => None,
        }
    }

    /// Whether nobody else speaks as this trustee, and the author as no other: in the log, or else in reviews.
    fn of_trustee(&self, post: &Posted, trustee: u8) -> bool {
        let mut decided = self.decided.iter();
        let mut is_said = false;
        let others = decided.any(|one| {
            is_said |= (one.trustee, one.author) == (trustee, post.author);
            (one.trustee == trustee) != (one.author == post.author)
        });
        let mut posts = self.posts.iter();
        let claimed = posts.any(|other| match &other.message {
            Message::Reviewed { trustee: of, .. } => {
                (of.index() == trustee) != (other.author == post.author)
            }
            _ => false,
        });
        !others && (is_said || !claimed) && post.author != self.filing.requester
    }

    /// As which trustee an author said yes.
    fn said_yes(&self, author: [u8; 32]) -> Option<u8> {
        let mut decided = self.decided.iter();
        let yes = decided.find(|one| one.author == author && one.answer == Answer::Yes);
        yes.map(|one| one.trustee)
    }

    fn result(&self, proof: &Proof) -> Option<Event> {
        let of = (self.filing.place, self.filing.requester);
        let (time, evidence) = result(proof, self.policy, &self.filing.group, of, self.now)?;
        Some(Event {
            time: Some(time),
            trustee: None,
            place: Some(proof.index),
            what: Happened::Delivered(evidence),
        })
    }

    fn state(&self, events: &[Event]) -> RequestState {
        let by = |is_it: fn(&Happened) -> bool| -> BTreeSet<u8> {
            let events = events.iter().filter(|event| is_it(&event.what));
            events.filter_map(|event| event.trustee).collect()
        };
        let need = self.filing.threshold;
        let is_delivered = |event: &Event| matches!(event.what, Happened::Delivered(_));
        let yes = by(|what| *what == Happened::Approved);
        let (have, computed) = (yes.len() as u8, self.computed());
        if events.iter().any(is_delivered) {
            RequestState::Delivered
        } else if computed {
            RequestState::Computed
        } else if self.now >= self.filing.expires.as_nanos() / 1_000_000_000 {
            RequestState::Expired
        } else if self.refused(&yes) > self.filing.trustees.saturating_sub(need) {
            RequestState::Refused
        } else if have > 0 {
            RequestState::Approved { have, need }
        } else if !by(|what| {
            matches!(
                what,
                Happened::Reviewed | Happened::Faulted(_) | Happened::Postponed(_)
            )
        })
        .is_empty()
        {
            RequestState::Reviewed
        } else {
            RequestState::Filed
        }
    }

    /// How many trustees refused and did not say yes.
    fn refused(&self, yes: &BTreeSet<u8>) -> u8 {
        let no = self.decided.iter().filter(|one| one.answer != Answer::Yes);
        let no: BTreeSet<u8> = no.map(|one| one.trustee).collect();
        no.difference(yes).count() as u8
    }

    /// Whether as many shares are there as are needed: of a match, those of one set.
    fn computed(&self) -> bool {
        let mut given: BTreeMap<u8, BTreeSet<u8>> = BTreeMap::new();
        let mut sets = BTreeMap::new();
        for post in self.posts {
            match post.message {
                Message::Share {
                    trustee, attempt, ..
                } if self.said_yes(post.author) == Some(trustee.index()) => {
                    given.entry(attempt).or_default().insert(trustee.index());
                }
                Message::Set { attempt, set } if post.author == self.filing.requester => {
                    sets.insert(attempt, set);
                }
                _ => {}
            }
        }
        let need = usize::from(self.filing.threshold);
        given
            .iter()
            .any(|(attempt, of)| match self.filing.is_match {
                false => *attempt == 0 && of.len() >= need,
                true => sets.get(attempt).is_some_and(|set| {
                    let mut all = set.iter();
                    all.all(|trustee| of.contains(&trustee.index()))
                }),
            })
    }
}
