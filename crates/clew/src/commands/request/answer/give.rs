//! What a trustee gives: its decision for the log, then shares. Everything is checked again first.

use super::log_view::LogView;
use super::record::{DECISION, SHARE};
use super::work::{Open, RULE_CASE, Stop, short};
use crate::clock;
use crate::commands::request::exchange::unlogged;
use crate::failure::Failure;
use crate::random;
use clew_evidence::{FoundRow, Share, WallTime, Warrant};
use clew_group::curve::G1;
use clew_group::quorum::Set;
use clew_log::entry::{Answer, Body};
use clew_trustee::request::{CaseMachine, Message, sealed_share};
use clew_trustee::rules::{Candidate, Case};

impl Open<'_> {
    /// Has the decision logged, and posts the log's proof of it.
    pub async fn decide(&self, view: &LogView<'_>, answer: Answer) -> Result<String, Stop> {
        let place = self.case.place.get();
        if answer == Answer::Yes {
            let asked = self.asked()?;
            let proof = view.proof(place).await?;
            let request = asked.request.clone().at_place(self.case.place);
            let packet = asked.evidence.packet();
            let case = self.shown(&request, &packet, (view, &proof, None));
            let key = self.answering.exchange.key().signing_key();
            self.responder.decide(case, &key, clock::now_ns())?;
        }
        let body = Body::Decision {
            place,
            by: self.responder.trusteeship(),
            answer,
        };
        let proof = self.answering.exchange.log(&body, view.policy()).await;
        let proof = proof.map_err(|error| unlogged(&error))?;
        let message = Message::Decision(Box::new(proof));
        self.record.put_message(DECISION, &message)?;
        self.answering.exchange.say(*self.topic, &message).await?;
        let what = match answer {
            Answer::Yes => "approved",
            Answer::No(_) => "refused",
        };
        Ok(format!("request {}: {what}, and logged", short(self.topic)))
    }

    /// Computes a share or a step of a match, keeps what is posted, posts it.
    pub async fn give(&self, view: &LogView<'_>, what: Given) -> Result<String, Stop> {
        let asked = self.asked()?;
        let proof = view.proof(self.case.place.get()).await?;
        let decision = match self.record.decision()? {
            Some((place, _)) => view.proof(place).await?,
            None => return Err(Failure::new("the decision is not on the disk").into()),
        };
        let request = asked.request.clone().at_place(self.case.place);
        let packet = asked.evidence.packet();
        let case = self.shown(&request, &packet, (view, &proof, Some(&decision)));
        let share = self.share(case, &asked.machine, &what)?;
        let (attempt, name) = what.named();
        let message = match what {
            Given::Opening | Given::Match { .. } => self.sealed(&share, attempt)?,
            Given::Commitment { .. } | Given::Blind { .. } => Message::Step {
                attempt,
                share: Box::new(share),
            },
        };
        self.record.put_message(&name, &message)?;
        self.answering.exchange.say(*self.topic, &message).await?;
        Ok(format!("request {}: {name} given", short(self.topic)))
    }

    fn share(
        &self,
        case: Case<'_>,
        machine: &Option<CaseMachine>,
        what: &Given,
    ) -> Result<Share, Stop> {
        let (now, mut rng) = (clock::now_ns(), random::os());
        if let Given::Opening = what {
            return Ok(self.responder.open(case, now, &mut rng)?);
        }
        let candidate = candidate(machine)?;
        let (found, base) = candidate.ok_or_else(|| {
            Stop::Rule(RULE_CASE, "the case has no machine (rule case)".to_owned())
        })?;
        let with = Candidate {
            found: &found,
            base: &base,
        };
        let responder = &self.responder;
        Ok(match what {
            Given::Opening => responder.open(case, now, &mut rng)?,
            Given::Commitment { set, .. } => responder.commit(case, with, *set, now, &mut rng)?,
            Given::Blind { commitments, .. } => responder.reveal(case, with, commitments, now)?,
            Given::Match { blinds, .. } => responder.compare(case, with, blinds, now, &mut rng)?,
        })
    }

    /// No later turn can seal to a weak key.
    fn sealed(&self, share: &Share, attempt: u8) -> Result<Message, Stop> {
        let warrant = Warrant::decode(&self.case.warrant).map_err(Failure::new)?;
        let to = warrant.draft().requester.encryption;
        let own = self.answering.exchange.board.author();
        let sealed = sealed_share(share, &to, &own, attempt, &mut random::os());
        Ok(Message::Share {
            time: WallTime::from_nanos(clock::now_ns()),
            trustee: share.trustee,
            attempt,
            sealed: sealed.ok_or_else(|| Stop::Lost("the requester's key is weak".to_owned()))?,
        })
    }
}

/// What is given.
pub enum Given {
    Opening,
    Commitment {
        attempt: u8,
        set: Set,
    },
    Blind {
        attempt: u8,
        commitments: Vec<Share>,
    },
    Match {
        attempt: u8,
        blinds: Vec<Share>,
    },
}

impl Given {
    /// The attempt, and the name of the file.
    fn named(&self) -> (u8, String) {
        match self {
            Self::Opening => (0, SHARE.to_owned()),
            Self::Commitment { attempt, .. } => (*attempt, format!("commitment-{attempt}")),
            Self::Blind { attempt, .. } => (*attempt, format!("blind-{attempt}")),
            Self::Match { attempt, .. } => (*attempt, format!("{SHARE}-{attempt}")),
        }
    }
}

/// The machine of a match, decoded.
pub fn candidate(machine: &Option<CaseMachine>) -> Result<Option<(FoundRow, G1)>, Stop> {
    let Some(machine) = machine else {
        return Ok(None);
    };
    let found = machine.found().ok_or_else(|| {
        Stop::Rule(
            RULE_CASE,
            "the case's machine does not decode (rule case)".to_owned(),
        )
    })?;
    Ok(Some(found))
}
