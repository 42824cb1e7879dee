//! What a trustee has to do next about one request.

use super::{Decided, Message, Posted};
use clew_evidence::{Share, Step};
use clew_group::quorum::{Set, Trustee};
use clew_log::entry::Answer;

/// Most sets that a trustee tries for one match.
pub const ATTEMPTS_MAX: u8 = 16;

/// One request as one trustee sees it.
#[derive(Clone, Copy, Debug)]
pub struct RequestView<'a> {
    /// Who the trustee is.
    pub own: Trustee,
    /// The key that filed the request.
    pub requester: [u8; 32],
    /// Whether it asks for a match.
    pub is_match: bool,
    /// How many trustees are needed.
    pub threshold: u8,
    /// The topic's posts, in the board's order.
    pub posts: &'a [Posted],
    /// The decisions among them that the log has.
    pub decided: &'a [Decided],
}

/// What the trustee did, as its disk says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Whether it checked the request, and said so.
    pub is_reviewed: bool,
    /// What its operator decided.
    pub order: Option<Answer>,
    /// Its decision that the log has, and that it posted.
    pub decision: Option<Answer>,
    /// Whether its share of an opening is posted.
    pub gave: bool,
    /// The attempt of a match in which it posted a commitment last; 0 for none.
    pub committed: u8,
    /// The same for a blind.
    pub revealed: u8,
    /// The same for its share.
    pub compared: u8,
}

/// What a trustee has to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Todo {
    /// To check the request, and to say what it found.
    Review,
    /// To have this decision logged, and to post its proof.
    Decide(Answer),
    /// To give its share of an opening.
    Give,
    /// To begin a match with this set.
    Commit {
        /// Which set it is.
        attempt: u8,
        /// The set.
        set: Set,
    },
    /// To show its blind: the commitments of all.
    Reveal {
        /// Which set it is for.
        attempt: u8,
        /// One of each trustee of the set.
        commitments: Vec<Share>,
    },
    /// To give its share of a match: the blinds of all.
    Compare {
        /// Which set it is for.
        attempt: u8,
        /// One of each trustee of the set.
        blinds: Vec<Share>,
    },
    /// Its operator has to decide.
    Operator,
    /// Others have to act; or all is done.
    Wait,
}

impl RequestView<'_> {
    /// Says what to do next. A decision of yes stays, whatever the operator says later.
    pub fn next(&self, done: &Done) -> Todo {
        if !done.is_reviewed {
            return Todo::Review;
        }
        match (done.decision, done.order) {
            (Some(Answer::Yes), _) => self.after_yes(done),
            (_, None) => Todo::Operator,
            (logged, Some(order)) if logged == Some(order) => Todo::Wait,
            (_, Some(order)) => Todo::Decide(order),
        }
    }

    fn after_yes(&self, done: &Done) -> Todo {
        match (self.is_match, done.gave) {
            (false, false) => Todo::Give,
            (false, true) => Todo::Wait,
            (true, _) => self.round(done),
        }
    }

    fn round(&self, done: &Done) -> Todo {
        let Some((attempt, set)) = self.set() else {
            return Todo::Wait;
        };
        if done.committed < attempt {
            return Todo::Commit { attempt, set };
        }
        let of = |is_step: fn(&Step) -> bool| self.gathered(attempt, set, is_step);
        if done.revealed < attempt {
            let commitments = of(|step| matches!(step, Step::Commitment { .. }));
            let reveal = |commitments| Todo::Reveal {
                attempt,
                commitments,
            };
            return commitments.map_or(Todo::Wait, reveal);
        }
        if done.compared < attempt {
            let blinds = of(|step| matches!(step, Step::Blind { .. }));
            return blinds.map_or(Todo::Wait, |blinds| Todo::Compare { attempt, blinds });
        }
        Todo::Wait
    }

    /// The newest set that the requester named, if this trustee is one of it, it is large enough, and the
    /// log has the yes of each.
    pub fn set(&self) -> Option<(u8, Set)> {
        let named = self.posts.iter().filter_map(|post| match post.message {
            Message::Set { attempt, set } if post.author == self.requester => Some((attempt, set)),
            _ => None,
        });
        let (attempt, set) = named.max_by_key(|(attempt, _)| *attempt)?;
        let said_yes = |trustee: Trustee| {
            let yes = (trustee.index(), Answer::Yes);
            let mut decided = self.decided.iter();
            decided.any(|one| (one.trustee, one.answer) == yes)
        };
        let fits = attempt <= ATTEMPTS_MAX
            && set.contains(self.own)
            && set.count() >= self.threshold
            && set.iter().all(said_yes);
        fits.then_some((attempt, set))
    }

    /// One step of each trustee of the set, the first that it posted.
    fn gathered(&self, attempt: u8, set: Set, is_step: fn(&Step) -> bool) -> Option<Vec<Share>> {
        set.iter()
            .map(|trustee| self.step(attempt, set, trustee, is_step))
            .collect()
    }

    fn step(
        &self,
        attempt: u8,
        set: Set,
        trustee: Trustee,
        is_step: fn(&Step) -> bool,
    ) -> Option<Share> {
        let yes = |one: &&Decided| one.trustee == trustee.index() && one.answer == Answer::Yes;
        let author = self.decided.iter().find(yes)?.author;
        self.posts.iter().find_map(|post| match &post.message {
            Message::Step { attempt: of, share }
                if post.author == author
                    && *of == attempt
                    && share.trustee == trustee
                    && share.set() == Some(set)
                    && is_step(&share.step) =>
            {
                Some(share.as_ref().clone())
            }
            _ => None,
        })
    }
}
