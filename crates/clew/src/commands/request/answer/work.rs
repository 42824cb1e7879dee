//! One turn about one request.

use super::Answering;
use super::give::Given;
use super::log_view::{self, LogView};
use super::order;
use super::record::{REVIEWED, Record, SHARE};
use super::topic::{Topic, key_of};
use crate::clock;
use crate::commands::request::matter::{Asked, NotAsked};
use crate::failure::Failure;
use clew_evidence::{Question, Request, WallTime, Warrant, WarrantError};
use clew_keys::TrusteeKeyFile;
use clew_log::entry::Answer;
use clew_log::{Policy, Proof};
use clew_trustee::approval::{Shown, ShownLog, Unapproved};
use clew_trustee::policy::Waivable;
use clew_trustee::request::{
    CaseFile, Done, Message, Posted, RequestView, Todo, decided, is_delivered,
};
use clew_trustee::rules::Case;
use clew_trustee::{Responder, TrusteeError};
use clew_wire::Hex;
use std::time::Duration;

/// Most steps of one turn: more than a request has.
const STEPS_MAX: usize = 16;
/// The rules `case`, `packet` and `trustee-key` (`spec/opening.md` 3.1).
pub const RULE_CASE: u8 = 28;
const RULE_PACKET: u8 = 29;
const RULE_KEY: u8 = 30;
/// The rule `queue`.
pub const RULE_QUEUE: u8 = 33;
/// For how long a request is kept open after its warrant ended.
const KEPT_AFTER: Duration = Duration::from_secs(7 * 86_400);

/// Why a step was not done.
pub enum Stop {
    /// The board, the log or the disk: later it may work.
    Later(Failure),
    /// The request breaks a rule.
    Rule(u8, String),
    /// What this round of a match needs is gone: the requester has to name another set.
    Lost(String),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Later(failure)
    }
}

impl From<TrusteeError> for Stop {
    fn from(error: TrusteeError) -> Self {
        match error.number() {
            Some(rule) => Self::Rule(rule, error.to_string()),
            None if matches!(error, TrusteeError::NotUnderWay) => Self::Lost(error.to_string()),
            None => Self::Later(Failure::new(error)),
        }
    }
}

/// A case whose requester is the author of the log's entry.
pub struct Open<'a> {
    pub answering: &'a Answering<'a>,
    pub topic: &'a [u8; 32],
    pub record: Record,
    pub case: CaseFile,
    pub requester: [u8; 32],
    pub logged: WallTime,
    /// The statement of the request's entry.
    pub entry: [u8; 32],
    /// Whether the requester may have one more request that is not decided.
    pub has_room: bool,
    pub key: &'a TrusteeKeyFile,
    pub responder: Responder<'a>,
}

/// Does what is next, until others have to act.
pub async fn turn(
    answering: &Answering<'_>,
    (topic, read): (&[u8; 32], &mut Topic),
    has_room: impl Fn(&[u8; 32]) -> bool,
) -> Result<Vec<String>, Failure> {
    let mut said = Vec::new();
    let Some((file, key)) = answering.keys.last() else {
        return Ok(said);
    };
    let responder = Responder::new(key, file).map_err(|error| Failure::io(file, &error))?;
    read.read(answering, topic, &responder).await?;
    let Some(found) = read.found().cloned() else {
        // Nobody filed it: a new post brings it back.
        Record::at(answering.dir, topic).forget();
        return Ok(said);
    };
    let (key, responder) = match key_of(answering, &found.case)? {
        Some((file, key)) => {
            let responder = Responder::new(key, file).map_err(|error| Failure::io(file, &error))?;
            (key, responder)
        }
        None => (key, responder),
    };
    let open = Open {
        record: Record::at(answering.dir, topic),
        has_room: has_room(&found.requester),
        answering,
        topic,
        case: found.case,
        requester: found.requester,
        logged: found.logged,
        entry: found.entry,
        key,
        responder,
    };
    open.record.create()?;
    for _ in 0..STEPS_MAX {
        read.read(answering, topic, &open.responder).await?;
        if let Some(why) = open.over(read.posts())? {
            open.record.file_away(answering.dir, topic, why)?;
            said.push(format!("request {}: {why}: filed away", short(topic)));
            break;
        }
        open.post_again(read.posts()).await?;
        match open.step(read.posts()).await? {
            Some(line) => said.push(line),
            None => break,
        }
    }
    Ok(said)
}

impl Open<'_> {
    /// Why nothing is left to do: the requester has its result, or the warrant ended long ago. A policy may
    /// waive that it ended.
    fn over(&self, posts: &[Posted]) -> Result<Option<&'static str>, Failure> {
        let (now, group) = (clock::wall_time(), self.answering.group.id().0);
        let policy = self.any_age()?;
        let of = (self.case.place.get(), self.requester);
        let seconds = now.as_nanos() / 1_000_000_000;
        // What the operator decided meanwhile is done first.
        let (order, decision) = (self.order()?, self.record.decision()?);
        let decision = decision.map(|(_, answer)| answer);
        let is_opening = self.case.machine.is_none();
        let owes = decision == Some(Answer::Yes) && is_opening && !self.record.has_given()?;
        let is_open = owes || (order.is_some() && order != decision);
        if !is_open && is_delivered(posts, &policy, &group, of, seconds) {
            return Ok(Some("delivered"));
        }
        let expires = Warrant::decode(&self.case.warrant).map(|warrant| warrant.draft().expires);
        let waived = &self.answering.policy.waived;
        let is_over = expires.unwrap_or(self.logged) + KEPT_AFTER <= now;
        Ok((is_over && !waived.contains(&Waivable::WarrantExpired)).then_some("expired"))
    }

    /// By what entries of others are judged, which may be old.
    fn any_age(&self) -> Result<Policy, Failure> {
        let policy = log_view::policy(self.answering)?;
        let max_age = None;
        Ok(Policy { max_age, ..policy })
    }

    /// Posts again what is on the disk and not on the board: the last turn may have ended between.
    async fn post_again(&self, posts: &[Posted]) -> Result<(), Failure> {
        for message in self.record.messages()? {
            if !self.is_posted(posts, &message) {
                self.answering.exchange.say(*self.topic, &message).await?;
            }
        }
        Ok(())
    }

    fn is_posted(&self, posts: &[Posted], message: &Message) -> bool {
        let own = self.answering.exchange.board.author();
        let mut posts = posts.iter();
        posts.any(|post| post.author == own && post.message == *message)
    }

    /// What the disk says was done.
    fn done(&self) -> Result<Done, Failure> {
        let record = &self.record;
        let has = |name: &str| record.message(name).map(|message| message.is_some());
        let mut done = Done {
            is_reviewed: has(REVIEWED)?,
            order: self.order()?,
            decision: record.decision()?.map(|(_, answer)| answer),
            gave: has(SHARE)?,
            ..Done::default()
        };
        for attempt in 1..=clew_trustee::request::ATTEMPTS_MAX {
            let of = |step: &str| format!("{step}-{attempt}");
            for (at, name) in [
                (&mut done.committed, of("commitment")),
                (&mut done.revealed, of("blind")),
                (&mut done.compared, of(SHARE)),
            ] {
                if has(&name)? {
                    *at = attempt;
                }
            }
        }
        Ok(done)
    }

    /// The operator's decision, if the trustee's own author key signed it for this request.
    fn order(&self) -> Result<Option<Answer>, Failure> {
        let own = self.answering.exchange.board.author();
        let group = self.answering.group.id().0;
        let (place, by) = (self.case.place.get(), self.responder.trusteeship());
        let order = self.record.order()?;
        Ok(order.and_then(|order| order::read(&order, (own, group), (place, self.entry, by))))
    }

    /// One step. Returns a line for the operator, or `None` if nothing is to do now.
    async fn step(&self, posts: &[Posted]) -> Result<Option<String>, Failure> {
        let done = self.done()?;
        let review = self.record.review()?;
        let is_open = done.order.is_none() && done.decision.is_none();
        let is_due = review.is_none_or(|review| {
            // A better case came: the order about the other one is none about this one.
            let is_other = review.place != self.case.place.get() && done.decision.is_none();
            is_other || (is_open && review.is_due(clock::now_ns()))
        });
        if !done.is_reviewed || is_due {
            return self.review().await;
        }
        let warrant = Warrant::decode(&self.case.warrant).ok();
        let group = self.answering.group;
        let policy = self.any_age()?;
        let now = clock::now_ns() / 1_000_000_000;
        let of = (self.case.place.get(), &self.entry, self.key.since);
        let decided = decided(posts, &policy, &group.id().0, of, now);
        let threshold = warrant.as_ref().and_then(|_| self.threshold());
        let seen = RequestView {
            own: self.key.trustee(),
            requester: self.requester,
            is_match: self.case.machine.is_some(),
            threshold: threshold.unwrap_or(u8::MAX),
            posts,
            decided: &decided,
        };
        let todo = seen.next(&done);
        if matches!(todo, Todo::Wait | Todo::Operator) {
            return Ok(None);
        }
        let view = LogView::new(self.answering, &self.responder).await?;
        match self.act(&view, todo).await {
            Ok(line) => {
                self.record.put_trouble(None)?;
                Ok(Some(line))
            }
            Err(Stop::Later(failure)) => Err(failure),
            Err(Stop::Rule(_, why) | Stop::Lost(why)) => {
                let is_news = self.record.put_trouble(Some(&why))?;
                if is_news {
                    mention!("clew: request {}: {why}", short(self.topic));
                }
                Ok(None)
            }
        }
    }

    async fn act(&self, view: &LogView<'_>, todo: Todo) -> Result<String, Stop> {
        match todo {
            Todo::Decide(answer) => self.decide(view, answer).await,
            Todo::Give => self.give(view, Given::Opening).await,
            Todo::Commit { attempt, set } => {
                self.give(view, Given::Commitment { attempt, set }).await
            }
            Todo::Reveal {
                attempt,
                commitments,
            } => {
                let of = Given::Blind {
                    attempt,
                    commitments,
                };
                self.give(view, of).await
            }
            Todo::Compare { attempt, blinds } => {
                self.give(view, Given::Match { attempt, blinds }).await
            }
            Todo::Review | Todo::Operator | Todo::Wait => Ok(String::new()),
        }
    }

    fn threshold(&self) -> Option<u8> {
        let group = self.answering.group;
        let since = self.key.since;
        let epoch = group.sharing(since)?.ok()?;
        Some(epoch.quorum.threshold())
    }

    /// The request, made of the warrant and of the packet.
    pub fn asked(&self) -> Result<Asked, Stop> {
        let (group, frame) = (self.answering.group, self.case.frame.into());
        let machine = self.case.machine.clone();
        let path = self.record.packets();
        if !path.exists() {
            self.record.put_packets(&self.case.capture)?;
        }
        let asked = Asked::new(group, &self.case.warrant, &path, frame, machine);
        let asked = asked.map_err(|error| match error {
            NotAsked::Warrant(error) => {
                let rule = match error {
                    WarrantError::Text(_) => Unapproved::WarrantText,
                    WarrantError::Rule(rule) => Unapproved::Warrant(rule),
                };
                Stop::Rule(rule.number(), rule.with_name())
            }
            NotAsked::Packet(failure) => Stop::Rule(RULE_PACKET, failure.message),
            NotAsked::NoMatches => {
                Stop::Rule(RULE_KEY, "bbs04 groups do not support matches".to_owned())
            }
        })?;
        let is_match = matches!(asked.request.question, Question::Match { .. });
        if asked.request.logged_id() != *self.topic || is_match != asked.machine.is_some() {
            let why = "the case is about another request than its topic (rule case)";
            return Err(Stop::Rule(RULE_CASE, why.to_owned()));
        }
        Ok(asked)
    }

    pub fn shown<'c>(
        &'c self,
        request: &'c Request,
        packet: &'c clew_evidence::Packet<'c>,
        (view, proof, decision): (&'c LogView<'_>, &'c Proof, Option<&'c Proof>),
    ) -> Case<'c> {
        Case {
            group: self.answering.group,
            request,
            packet,
            shown: Shown {
                policy: Some(self.answering.policy),
                warrant: Some(&self.case.warrant),
                log: Some(ShownLog {
                    request: proof,
                    salt: Some(self.case.salt),
                    decision,
                    consistency: &view.consistency,
                }),
            },
        }
    }
}

/// The first digits of a request's id.
pub fn short(topic: &[u8; 32]) -> String {
    Hex(&topic[..4]).to_string()
}
