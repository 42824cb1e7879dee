//! A trustee's directory as its page and its notices use it: what the commands do, by other ways.

use super::answer;
use super::home::{Home, Identity};
use super::list::{quorum, seats, title};
use super::plans::{self, Answer, KeptPlan, sentence};
use super::requests::{self, WAITING, facts};
use crate::capture::Capture;
use crate::commands::request::answer::{Place, RULE_QUEUE, Record, Reviewed, topic, topics};
use crate::failure::Failure;
use crate::report::endpoints;
use clew_engine::AsFrame;
use clew_evidence::WallTime;
use clew_log::entry::Answer as Logged;
use clew_packet::flow;
use clew_service::trustee::{
    Docket, DocketError, Kind, Matter, Ordered, Packet, Packets, Standing, Word,
};
use clew_trustee::approval::rule_name;
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Packets of a request that are described.
const PACKETS_MAX: usize = 50;

/// What the operator's page and the program that talks to the board share.
pub struct OwnDocket {
    home: Home,
    identity: Arc<Identity>,
    group: String,
    standing: Mutex<Standing>,
    ordered: Notify,
}

impl OwnDocket {
    pub fn new(home: Home, identity: Arc<Identity>, group: String) -> Self {
        let standing = Standing {
            answered: None,
            trouble: None,
        };
        Self {
            home,
            identity,
            group,
            standing: Mutex::new(standing),
            ordered: Notify::new(),
        }
    }

    /// Says how the work goes.
    pub fn set_standing(&self, standing: Standing) {
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner) = standing;
    }

    /// Ends when the operator decided something on the page.
    pub async fn ordered(&self) {
        self.ordered.notified().await;
    }

    fn request(&self, topic: &[u8; 32]) -> Result<Option<Matter>, Failure> {
        let record = Record::at(self.home.dir(), topic);
        let reviewed = record.review()?;
        let Some(reviewed) = reviewed.filter(|reviewed| reviewed.answer != RULE_QUEUE) else {
            return Ok(None);
        };
        let state = requests::state(&record)?;
        let is_over = record.over()?.is_some();
        let is_yes = matches!(record.decision()?, Some((_, Logged::Yes)));
        let failed = reviewed.why.clone();
        let facts = facts(&reviewed).into_iter();
        let whole = ("request".to_owned(), reviewed.id.clone());
        Ok(Some(Matter {
            kind: Kind::Request,
            title: sentence_of(&reviewed),
            state,
            waits: state == WAITING,
            may_approve: !is_yes && !is_over,
            may_refuse: !is_yes && !is_over,
            facts: facts
                .map(|(name, value)| (name.to_owned(), value))
                .chain([whole])
                .collect(),
            trouble: record.trouble()?.or(failed),
            seen: seen(&reviewed)?,
            id: reviewed.id,
        }))
    }

    fn plan(&self, plan: &KeptPlan) -> Result<Matter, Failure> {
        let (own, answer) = (self.key(), plan.answer()?);
        let status = plan.status()?;
        let mut facts = vec![("any".to_owned(), format!("{} open together", quorum(plan)))];
        facts.extend(seats(plan, &own));
        facts.push(("stands".to_owned(), sentence(&status)));
        if let Some(code) = status["check_code"].as_str() {
            facts.push(("check code".to_owned(), code.to_owned()));
        }
        Ok(Matter {
            kind: Kind::Plan,
            id: plan.id.clone(),
            title: title(plan),
            state: answer.as_str(),
            waits: answer == Answer::Waiting,
            may_approve: answer == Answer::Waiting,
            may_refuse: answer == Answer::Waiting,
            facts,
            trouble: None,
            seen: Sha256::digest(plan.proposal.encode()).into(),
        })
    }

    fn find_plan(&self, id: &str) -> Result<KeptPlan, DocketError> {
        let mut all = plans::all(&self.home).map_err(disk)?.into_iter();
        all.find(|plan| plan.id == id).ok_or(DocketError::None)
    }
}

/// What a request asks for, in one line.
fn sentence_of(reviewed: &Reviewed) -> String {
    match &reviewed.warrant {
        None => "a request without a warrant that can be read".to_owned(),
        Some(warrant) => {
            let asks = match &warrant.machine {
                Some(machine) => format!("whether {machine} sent it"),
                None => warrant.asks.clone(),
            };
            let (from, reference) = (&warrant.requester, &warrant.reference);
            format!("{asks}, for {from}, {reference}")
        }
    }
}

/// What was found of a request, as a hash: an order on the page names what was shown there.
fn seen(reviewed: &Reviewed) -> Result<[u8; 32], Failure> {
    let bytes = serde_json::to_vec(reviewed).map_err(Failure::new)?;
    Ok(Sha256::digest(bytes).into())
}

fn disk(failure: Failure) -> DocketError {
    DocketError::Disk(failure.message)
}

fn read(record: &Record, covered: &[u64]) -> Result<Packets, Failure> {
    let path = record.packets();
    let bytes = std::fs::read(&path).map_err(|error| Failure::io(&path, &error))?;
    let mut capture = Capture::open(&path, "reading the packets")?;
    let (mut first, mut count) = (Vec::new(), 0);
    while let Some(batch) = capture.next_batch()? {
        for record in batch {
            let (Some(info), Some((frame, _))) = (record.packet(), record.as_frame()) else {
                continue;
            };
            count += 1;
            if first.len() < PACKETS_MAX {
                let ends = flow(&frame).map(|flow| endpoints(&flow));
                first.push(Packet {
                    frame: info.frame,
                    time: info.time_ns.map(WallTime::from_nanos),
                    bytes: record.data().len(),
                    flow: ends.unwrap_or_else(|reason| reason.to_string()),
                    is_covered: covered.contains(&info.frame),
                });
            }
        }
    }
    Ok(Packets {
        capture: bytes,
        first,
        count,
    })
}

impl Docket for OwnDocket {
    fn name(&self) -> String {
        self.identity.key.name().to_string()
    }

    fn group(&self) -> String {
        self.group.clone()
    }

    fn key(&self) -> [u8; 32] {
        self.identity.key.public().signs.to_bytes()
    }

    fn matters(&self, kind: Kind) -> Result<Vec<Matter>, DocketError> {
        let mut matters: Vec<(u64, Matter)> = Vec::new();
        match kind {
            Kind::Request => {
                for topic in topics(self.home.dir(), Place::Open).map_err(disk)? {
                    let record = Record::at(self.home.dir(), &topic);
                    let reviewed = record.review().map_err(disk)?;
                    let place = reviewed.map_or(0, |reviewed| reviewed.place);
                    let matter = self.request(&topic).map_err(disk)?;
                    matters.extend(matter.map(|matter| (place, matter)));
                }
            }
            Kind::Plan => {
                for plan in plans::all(&self.home).map_err(disk)? {
                    matters.push((0, self.plan(&plan).map_err(disk)?));
                }
            }
        }
        matters.sort_by_key(|(place, matter)| (!matter.waits, std::cmp::Reverse(*place)));
        Ok(matters.into_iter().map(|(_, matter)| matter).collect())
    }

    fn matter(&self, kind: Kind, id: &str) -> Result<Matter, DocketError> {
        match kind {
            Kind::Request => {
                let topic = topic(id).ok_or(DocketError::None)?;
                self.request(&topic).map_err(disk)?.ok_or(DocketError::None)
            }
            Kind::Plan => self.plan(&self.find_plan(id)?).map_err(disk),
        }
    }

    fn packets(&self, id: &str) -> Result<Packets, DocketError> {
        let topic = topic(id).ok_or(DocketError::None)?;
        let record = Record::at(self.home.dir(), &topic);
        let reviewed = record.review().map_err(disk)?.ok_or(DocketError::None)?;
        let covered = reviewed.warrant.map(|warrant| warrant.packets);
        read(&record, &covered.unwrap_or_default()).map_err(disk)
    }

    fn order(&self, ordered: &Ordered) -> Result<(), DocketError> {
        let matter = self.matter(ordered.kind, &ordered.id)?;
        if matter.seen != ordered.seen {
            return Err(DocketError::Changed);
        }
        let done = match ordered.kind {
            Kind::Request => {
                let topic = topic(&ordered.id).ok_or(DocketError::None)?;
                requests::decide(&self.home, &self.identity, &topic, &ordered.word).map(drop)
            }
            Kind::Plan => {
                let plan = self.find_plan(&ordered.id)?;
                let own = self.identity.key.public();
                answer::decide(&self.home, &plan, &own, &ordered.word)
            }
        };
        done.map_err(|failure| DocketError::Refused(failure.message))?;
        let word = match ordered.word {
            Word::Approve => "approved",
            Word::Refuse(_) => "refused",
        };
        let id = ordered.id.get(..8).unwrap_or(&ordered.id);
        mention!("clew: {id}: {word} on the page");
        self.ordered.notify_one();
        Ok(())
    }

    fn rules(&self) -> Vec<&'static str> {
        (2..=u8::MAX).filter_map(rule_name).collect()
    }

    fn standing(&self) -> Standing {
        let standing = self.standing.lock();
        standing.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn untold(&self) -> Result<Vec<(Kind, String)>, DocketError> {
        let mut untold = Vec::new();
        for topic in topics(self.home.dir(), Place::Open).map_err(disk)? {
            let record = Record::at(self.home.dir(), &topic);
            if record.is_told() {
                continue;
            }
            if let Some(reviewed) = record.review().map_err(disk)?
                && requests::state(&record).map_err(disk)? == WAITING
            {
                untold.push((Kind::Request, reviewed.id));
            }
        }
        for plan in plans::all(&self.home).map_err(disk)? {
            if !plan.is_told() && plan.answer().map_err(disk)? == Answer::Waiting {
                untold.push((Kind::Plan, plan.id));
            }
        }
        Ok(untold)
    }

    fn set_told(&self, told: &[(Kind, String)]) -> Result<(), DocketError> {
        for (kind, id) in told {
            match kind {
                Kind::Request => {
                    let topic = topic(id).ok_or(DocketError::None)?;
                    let record = Record::at(self.home.dir(), &topic);
                    record.set_told().map_err(disk)?;
                }
                Kind::Plan => self.find_plan(id)?.set_told().map_err(disk)?,
            }
        }
        Ok(())
    }
}
