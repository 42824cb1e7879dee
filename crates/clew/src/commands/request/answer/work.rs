//! One turn about one request.

use super::cases::{case, key_of};
use super::give::{Given, candidate};
use super::log_view::{self, LogView};
use super::order;
use super::record::{Facts, REVIEWED, Record, Reviewed, SHARE};
use super::{Answering, REQUESTS};
use crate::clock;
use crate::commands::coverage::Coverage;
use crate::commands::request::matter::{Asked, NotAsked};
use crate::failure::Failure;
use clew_evidence::{
    Asked as Verified, DeviceFingerprint, Question, Request, WallTime, Warrant, WarrantError,
};
use clew_keys::TrusteeKeyFile;
use clew_log::Proof;
use clew_log::entry::Answer;
use clew_packet::Timestamp;
use clew_trustee::approval::{Shown, ShownLog, Unapproved};
use clew_trustee::request::{CaseFile, Done, Message, Posted, RequestView, Todo, decided};
use clew_trustee::rules::Case;
use clew_trustee::{Responder, TrusteeError};
use clew_wire::Hex;
use std::time::Duration;

/// Most steps of one turn: more than a request has.
const STEPS_MAX: usize = 16;
/// Most numbers of packets that a review has: more than a signature covers.
const PACKETS_MAX: usize = 1_024;
/// The rules `case`, `packet` and `trustee-key` (`spec/opening.md` 3.1).
pub const RULE_CASE: u8 = 28;
const RULE_PACKET: u8 = 29;
const RULE_KEY: u8 = 30;

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
    requester: [u8; 32],
    logged: WallTime,
    pub key: &'a TrusteeKeyFile,
    pub responder: Responder<'a>,
}

/// Does what is next, until others have to act.
pub async fn turn(answering: &Answering<'_>, topic: &[u8; 32]) -> Result<Vec<String>, Failure> {
    let mut said = Vec::new();
    let Some((file, key)) = answering.keys.last() else {
        return Ok(said);
    };
    let responder = Responder::new(key, file).map_err(|error| Failure::io(file, &error))?;
    let posts = read(answering, topic).await?;
    let Some((case, requester, logged)) = case(answering, topic, &posts, &responder).await? else {
        // Nobody filed it: a new post brings it back.
        Record::at(answering.dir, topic).forget();
        return Ok(said);
    };
    let (key, responder) = match key_of(answering, &case)? {
        Some((file, key)) => {
            let responder = Responder::new(key, file).map_err(|error| Failure::io(file, &error))?;
            (key, responder)
        }
        None => (key, responder),
    };
    let open = Open {
        record: Record::new(&answering.dir.join(REQUESTS), topic),
        answering,
        topic,
        case,
        requester,
        logged,
        key,
        responder,
    };
    open.record.create()?;
    for _ in 0..STEPS_MAX {
        let posts = read(answering, topic).await?;
        open.post_again(&posts).await?;
        match open.step(&posts).await? {
            Some(line) => said.push(line),
            None => break,
        }
    }
    Ok(said)
}

async fn read(answering: &Answering<'_>, topic: &[u8; 32]) -> Result<Vec<Posted>, Failure> {
    let posts = answering.exchange.posts(topic, 0, Duration::ZERO).await?;
    Ok(posts.1)
}

impl Open<'_> {
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
        let (place, trustee) = (self.case.place.get(), self.key.trustee().index());
        let order = self.record.order()?;
        Ok(order.and_then(|order| order::read(&order, (own, group), (place, trustee))))
    }

    /// One step. Returns a line for the operator, or `None` if nothing is to do now.
    async fn step(&self, posts: &[Posted]) -> Result<Option<String>, Failure> {
        let done = self.done()?;
        if !done.is_reviewed {
            return self.review().await.map(Some);
        }
        let warrant = Warrant::decode(&self.case.warrant).ok();
        let group = self.answering.group;
        let mut policy = log_view::policy(self.answering)?;
        policy.max_age = None; // others' decisions may be old
        let now = clock::now_ns() / 1_000_000_000;
        let decided = decided(posts, &policy, &group.id().0, self.case.place.get(), now);
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

    /// Checks everything that can be checked before the operator decides, and posts what it found.
    async fn review(&self) -> Result<String, Failure> {
        let found = match self.checked().await {
            Ok(()) => (1, None),
            Err(Stop::Rule(rule, why)) => (rule, Some(why)),
            Err(Stop::Later(failure)) => return Err(failure),
            Err(Stop::Lost(why)) => return Err(Failure::new(why)),
        };
        let (answer, why) = found;
        let now = clock::now_ns();
        let review = Reviewed {
            id: Hex(self.topic).to_string(),
            place: self.case.place.get(),
            logged: self.logged.as_nanos(),
            trustee: self.key.trustee().index(),
            requester: DeviceFingerprint::of(&self.requester).to_string(),
            answer,
            why,
            checked: now,
            warrant: self.facts(),
        };
        self.record.put_review(&review)?;
        let message = Message::Reviewed {
            time: WallTime::from_nanos(now),
            trustee: self.key.trustee(),
            answer: match answer {
                1 => Answer::Yes,
                rule => Answer::No(rule),
            },
        };
        self.record.put_message(REVIEWED, &message)?;
        self.answering.exchange.say(*self.topic, &message).await?;
        let id = short(self.topic);
        Ok(match &review.why {
            None => format!("request {id} waits for you: clew trustee list DIR"),
            Some(why) => format!("request {id}: {why}"),
        })
    }

    async fn checked(&self) -> Result<(), Stop> {
        self.record.put_packets(&self.case.capture)?;
        let asked = self.asked()?;
        let view = LogView::new(self.answering, &self.responder).await?;
        let proof = view.proof(self.case.place.get()).await?;
        let request = asked.request.clone().at_place(self.case.place);
        let packet = asked.evidence.packet();
        let case = self.shown(&request, &packet, (&view, &proof, None));
        self.responder.review(case, clock::now_ns())?;
        if let Some((found, base)) = candidate(&asked.machine)? {
            let verified = Verified::new(self.answering.group, &request, &packet);
            let verified = verified.map_err(TrusteeError::from)?;
            let group = self.answering.group;
            let checked = verified.check_candidate(group, &request, &found, &base);
            checked.map_err(TrusteeError::from)?;
        }
        Ok(())
    }

    /// The request, made of the warrant and of the packet.
    pub fn asked(&self) -> Result<Asked, Stop> {
        let (group, frame) = (self.answering.group, self.case.frame.into());
        let machine = self.case.machine.clone();
        let path = self.record.packets();
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

    fn facts(&self) -> Option<Facts> {
        let warrant = Warrant::decode(&self.case.warrant).ok()?;
        let (draft, machine) = (warrant.draft(), candidate(&self.case.machine).ok()?);
        let (group, frame) = (self.answering.group, self.case.frame.into());
        let path = self.record.packets();
        let asked = Asked::new(group, &self.case.warrant, &path, frame, None).ok();
        let signed = asked.as_ref().map(|asked| asked.evidence.summary.timestamp);
        let signed = signed
            .filter(|time| *time != Timestamp::NONE)
            .map(|time| time.0);
        let covers = asked.and_then(|asked| Coverage::of_all(&path, &[asked.evidence]).ok());
        let covers = covers.and_then(|all| all.into_iter().next());
        let packets = covers.iter().flat_map(|own| own.packets.iter().copied());
        Some(Facts {
            packets: packets.take(PACKETS_MAX).collect(),
            asks: match draft.scope.question {
                Question::Opening => "opening",
                Question::Match { .. } => "match",
            }
            .to_owned(),
            reference: draft.reference.to_string(),
            requester: draft.requester.name.to_string(),
            issuer: warrant.issuer_name().to_string(),
            issuer_key: DeviceFingerprint::of(warrant.issuer()).to_string(),
            issued: Some(draft.issued.as_nanos()),
            expires: draft.expires.as_nanos(),
            signed,
            signatures: draft.scope.digests.len(),
            covers: covers.as_ref().map(Coverage::sentence).unwrap_or_default(),
            machine: machine.map(|(found, _)| found.row.entry.name.to_string()),
        })
    }
}

/// The first digits of a request's id.
pub fn short(topic: &[u8; 32]) -> String {
    Hex(&topic[..4]).to_string()
}
