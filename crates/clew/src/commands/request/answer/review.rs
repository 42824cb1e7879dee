//! What a trustee finds of a request before its operator decides.

use super::give::candidate;
use super::log_view::LogView;
use super::record::{Facts, REVIEWED, Reviewed};
use super::work::{Open, RULE_QUEUE, Stop, short};
use crate::clock;
use crate::commands::coverage::Coverage;
use crate::commands::request::matter::Asked;
use crate::failure::Failure;
use clew_evidence::{Asked as Verified, DeviceFingerprint, Question, WallTime, Warrant};
use clew_log::entry::Answer;
use clew_packet::Timestamp;
use clew_trustee::TrusteeError;
use clew_trustee::request::Message;
use clew_wire::Hex;

/// Most numbers of packets that a review has: more than a signature covers.
const PACKETS_MAX: usize = 1_024;
/// Most posts of one request that say what was found.
const REVIEWS_MAX: u32 = 16;
const QUEUED: &str =
    "as many requests of this requester as are looked at wait for a decision (rule queue)";

impl Open<'_> {
    /// Checks everything that can be checked before the operator decides, and posts what is new of it.
    pub async fn review(&self) -> Result<Option<String>, Failure> {
        let checked = match self.has_room {
            true => self.checked().await,
            false => Err(Stop::Rule(RULE_QUEUE, QUEUED.to_owned())),
        };
        let (answer, why) = match checked {
            Ok(()) => (1, None),
            Err(Stop::Rule(rule, why)) => (rule, Some(why)),
            Err(Stop::Later(failure)) => return Err(failure),
            Err(Stop::Lost(why)) => return Err(Failure::new(why)),
        };
        let (now, known) = (clock::now_ns(), self.record.review()?);
        let place = self.case.place.get();
        let is_news = known
            .as_ref()
            .is_none_or(|known| (known.answer, known.place) != (answer, place));
        let (looks, posted) = known.map_or((0, 0), |known| (known.looks, known.posted));
        let is_said = is_news && posted < REVIEWS_MAX;
        let review = Reviewed {
            id: Hex(self.topic).to_string(),
            place: self.case.place.get(),
            logged: self.logged.as_nanos(),
            entry: Hex(&self.entry).to_string(),
            since: self.key.since,
            trustee: self.key.trustee().index(),
            requester: DeviceFingerprint::of(&self.requester).to_string(),
            answer,
            why,
            checked: now,
            looks: looks.saturating_add(1),
            posted: posted + u32::from(is_said),
            warrant: self.facts(),
        };
        // Nobody can approve it as it is: its packets are on the board, should that change.
        if answer != 1 {
            self.record.drop_packets()?;
        }
        let message = Message::Reviewed {
            time: WallTime::from_nanos(now),
            trustee: self.key.trustee(),
            answer: match answer {
                1 => Answer::Yes,
                rule => Answer::No(rule),
            },
        };
        // The message first: without a review it is made again.
        if is_said {
            self.record.put_message(REVIEWED, &message)?;
        }
        self.record.put_review(&review)?;
        if !is_said {
            return Ok(None);
        }
        self.answering.exchange.say(*self.topic, &message).await?;
        let id = short(self.topic);
        Ok(Some(match &review.why {
            None => format!("request {id} waits for you: clew trustee list DIR"),
            Some(why) => format!("request {id}: {why}"),
        }))
    }

    async fn checked(&self) -> Result<(), Stop> {
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
            original: self.case.original,
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
