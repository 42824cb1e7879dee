//! `clew request fetch`: shares are decrypted, checked and combined; then the result is logged.

use super::exchange::{Exchange, Thread, unlogged};
use super::folder::Folder;
use super::patience::Patience;
use super::row;
use super::sets::{another_set, first_set, newest_set, steps, yes_sayers};
use super::status::{filing, progress};
use crate::cli::RequestFetch;
use crate::clock;
use crate::commands::coverage::Matter;
use crate::commands::judge::EvidenceFile;
use crate::commands::open::opened;
use crate::commands::register::Register;
use crate::commands::verdict;
use crate::failure::{Failure, Status};
use clew_evidence::{
    CheckedGroup, CombineError, Judgement, Refused, Request, Share, combine_match, judge_match,
    judge_opening,
};
use clew_group::quorum::{Set, Trustee};
use clew_keys::{AuthorKeyFile, TextFile};
use clew_log::entry::{Answer, Body};
use clew_trustee::request::{
    ATTEMPTS_MAX, Decided, Filing, Message, Posted, RequestState, decided, open_share,
};
use clew_trustee::sealed::SealKey;
use sha2::{Digest, Sha256};
use std::time::{Duration, Instant};

/// How long one question for news waits.
const WAIT: Duration = Duration::from_secs(30);
/// Shortest time after which other trustees are asked.
const PATIENCE_MIN: Duration = Duration::from_secs(1);

/// Everything that a fetch works on.
struct Fetch<'a> {
    arguments: &'a RequestFetch,
    folder: Folder,
    exchange: Exchange<'a>,
    request: Request,
    filing: Filing,
    reads: SealKey,
}

pub async fn run(arguments: &RequestFetch) -> Result<Status, Failure> {
    let folder = Folder::open(&arguments.case)?;
    let key = arguments
        .unlock
        .load(&arguments.key, AuthorKeyFile::decode)?;
    let reads = SealKey::from_bytes(key.receiving_key());
    let fetch = Fetch {
        exchange: Exchange::new(&folder.manager()?, &folder.log()?, &folder.group, &key)?,
        request: folder.placed()?.0,
        filing: filing(&folder)?,
        folder,
        arguments,
        reads,
    };
    fetch.run().await
}

/// Evidence that holds, with what it is judged by.
struct Got {
    group: CheckedGroup,
    evidence: EvidenceFile,
    judgement: Judgement,
}

impl Fetch<'_> {
    async fn run(self) -> Result<Status, Failure> {
        let mut got = match self.kept()? {
            Some(got) => got,
            None => {
                let got = self.wait().await?;
                self.folder.put_evidence(&got.evidence.encode())?;
                got
            }
        };
        let text = got.evidence.encode();
        let output = &self.arguments.out.output;
        crate::secrets::write_same(output, &text, clew_keys::files::MODE_PUBLIC)?;
        let logged = match self.folder.is_delivered() {
            true => Ok(()),
            false => self.deliver(&text).await,
        };
        let is_match = self.filing.is_match;
        self.tell(&mut got)?;
        // The evidence is there all the same; the next run says it to the log.
        logged.map_err(|failure| {
            failure.hint(
                "run the command again: the evidence is written, its hash is not in the log yet",
            )
        })?;
        let is_no = is_match && !got.judgement.signed;
        Ok(Status::of(is_no, false))
    }

    /// Has the hash of the evidence logged, and shows the trustees that. With `--wait`, for as long as it takes.
    async fn deliver(&self, text: &str) -> Result<(), Failure> {
        let body = Body::Result {
            place: self.filing.place,
            evidence: Sha256::digest(text).into(),
        };
        let mut asking = Patience::new(self.arguments.wait);
        let mut logged = None;
        loop {
            let said = match &logged {
                None => {
                    let proof = self.exchange.log(&body, &self.folder.policy).await;
                    proof
                        .map(|proof| logged = Some(proof))
                        .map_err(|error| unlogged(&error))
                }
                Some(proof) => {
                    let result = Message::Result(Box::new(clew_log::Proof::clone(proof)));
                    let said = self.exchange.say(self.folder.topic(), &result).await;
                    if said.is_ok() {
                        return self.folder.put_delivered(proof);
                    }
                    said
                }
            };
            asking.of(said).await?;
        }
    }

    /// Says what the evidence shows.
    fn tell(self, got: &mut Got) -> Result<(), Failure> {
        self.add_proofs(got)?;
        let capture = self.folder.capture();
        let mut matter = Matter::of(&capture, self.folder.asked.evidence)?;
        matter.coverage.original = self.folder.settings.original;
        let warrant = self.request.warrant.as_ref();
        verdict::tell(
            &got.group,
            &matter,
            warrant,
            &got.judgement,
            self.arguments.json,
        );
        Ok(())
    }

    /// Adds what the case's own proofs of the log show. Without them the judgement says so.
    fn add_proofs(&self, got: &mut Got) -> Result<(), Failure> {
        let (Some(filed), decisions) = (self.folder.proof()?, self.folder.decisions()?) else {
            return Ok(());
        };
        let policy = &self.folder.policy;
        let shown = got.judgement.requested(
            &got.group,
            &self.request,
            (&filed, &decisions[..]),
            &policy.witnesses,
            policy.threshold,
        );
        if let Err(fault) = shown {
            mention!("warning: the case's proofs of the log were not used: {fault}");
        }
        Ok(())
    }

    /// The evidence of an earlier fetch, judged again.
    fn kept(&self) -> Result<Option<Got>, Failure> {
        let Some(text) = self.folder.evidence()? else {
            return Ok(None);
        };
        let group = self.folder.newest_group()?;
        let evidence = EvidenceFile::decode(&text, &group).map_err(Failure::new)?;
        let packet = self.folder.asked.evidence.packet();
        let judgement = match &evidence {
            EvidenceFile::Opening(opening) => judge_opening(&group, opening, &packet),
            EvidenceFile::Match(matched) => judge_match(&group, matched, &packet),
        };
        Ok(Some(Got {
            judgement: judgement.map_err(|fault| Failure::new(fault).no())?,
            group,
            evidence,
        }))
    }

    async fn wait(&self) -> Result<Got, Failure> {
        let (mut thread, mut wait, mut new_set) =
            (Thread::default(), Duration::ZERO, self.new_set()?);
        let mut asking = Patience::new(self.arguments.wait);
        let patience = self.arguments.new_set_after.max(PATIENCE_MIN);
        let (mut news, mut known) = (Instant::now(), 0);
        loop {
            let topic = self.folder.topic();
            let read = self.exchange.read(&topic, &mut thread, wait).await;
            let is_read = asking.of(read).await?;
            let posts = &thread.posts;
            let now = clock::now_ns() / 1_000_000_000;
            let policy = &self.folder.policy;
            let of = (self.filing.place, &self.filing.entry, self.filing.since);
            let decided = decided(posts, policy, &self.filing.group, of, now);
            // A set that was just named has its own time.
            let set = newest_set(posts, &self.filing).map_or(0, |(attempt, _)| attempt);
            let done = steps(posts, &decided).count() + usize::from(set);
            if !is_read || done > known {
                (news, known) = (Instant::now(), done);
            }
            if self.filing.is_match {
                let chosen = new_set.take().or_else(|| match news.elapsed() >= patience {
                    true => another_set(posts, &decided, &self.filing),
                    false => None,
                });
                let named = self.name_set(posts, &decided, chosen).await;
                asking.of(named).await?;
            }
            match self.combine(posts, &decided).await {
                Err(Waits::For(_)) if self.arguments.wait && !self.is_over(posts) => {}
                Err(Waits::For(failure)) => return Err(failure),
                // The manager did not answer for the row: with --wait it is asked again.
                Err(Waits::Failed(failure)) => drop(asking.of::<()>(Err(failure)).await?),
                Ok(got) => {
                    self.keep_decisions(posts, &decided)?;
                    return Ok(got);
                }
            }
            wait = WAIT.min(patience);
        }
    }

    /// Keeps the log's proofs of the trustees' yes, for judges.
    fn keep_decisions(&self, posts: &[Posted], decided: &[Decided]) -> Result<(), Failure> {
        for one in decided.iter().filter(|one| one.answer == Answer::Yes) {
            let proof = posts.iter().find_map(|post| match &post.message {
                Message::Decision(proof)
                    if proof.index == one.place && post.author == one.author =>
                {
                    Some(proof)
                }
                _ => None,
            });
            if let Some(proof) = proof {
                self.folder.put_decision(one.trustee, proof)?;
            }
        }
        Ok(())
    }

    fn is_over(&self, posts: &[Posted]) -> bool {
        let state = progress(&self.folder, &self.filing, posts).state;
        matches!(state, RequestState::Refused | RequestState::Expired)
    }

    async fn combine(&self, posts: &[Posted], decided: &[Decided]) -> Result<Got, Waits> {
        let shares = match self.filing.is_match {
            false => self.shares(posts, decided, 0),
            true => match newest_set(posts, &self.filing) {
                Some((attempt, _)) => self.shares(posts, decided, attempt),
                None => Vec::new(),
            },
        };
        match self.filing.is_match {
            true => self.matched(&shares).map_err(|waits| match waits {
                Waits::For(failure) => Waits::For(self.with_silent(failure, posts, decided)),
                failed => failed,
            }),
            false => self.opening(&shares).await,
        }
    }

    /// Names those of the newest set whose step is missing.
    fn with_silent(&self, failure: Failure, posts: &[Posted], decided: &[Decided]) -> Failure {
        let Some((attempt, set)) = newest_set(posts, &self.filing) else {
            return failure;
        };
        let given = |index: u8| {
            let own = steps(posts, decided).filter(|step| *step == (attempt, index));
            own.count()
        };
        let fewest = set.iter().map(|trustee| given(trustee.index())).min();
        let silent = set.iter().filter(|one| Some(given(one.index())) == fewest);
        let names: Vec<String> = silent.map(|one| one.to_string()).collect();
        let message = format!(
            "{}; attempt {attempt} waits for {}",
            failure.message,
            names.join(", ")
        );
        Failure { message, ..failure }
    }

    /// The shares that decrypt. A trustee whose post does not is named.
    fn shares(&self, posts: &[Posted], decided: &[Decided], of: u8) -> Vec<Share> {
        let mut shares: Vec<Share> = Vec::new();
        for post in posts {
            let Message::Share {
                trustee,
                attempt,
                sealed,
                ..
            } = &post.message
            else {
                continue;
            };
            let index = trustee.index();
            let said_yes = decided.iter().any(|one| {
                one.author == post.author && one.trustee == index && one.answer == Answer::Yes
            });
            if *attempt != of || !said_yes {
                continue;
            }
            let from = (&post.author, index, of);
            match open_share(sealed, &self.reads, &self.request, from) {
                Some(share) if shares.iter().all(|known| known.trustee != share.trustee) => {
                    shares.push(share);
                }
                Some(_) => {}
                None => mention!("clew: warning: {trustee}: posted something that is not a share"),
            }
        }
        shares
    }

    async fn opening(&self, shares: &[Share]) -> Result<Got, Waits> {
        let need = usize::from(self.filing.threshold);
        if shares.len() < need {
            return Err(self.too_few(shares.len()));
        }
        let Some(path) = &self.arguments.register else {
            return self.opening_with_manager(shares).await;
        };
        let group = self.folder.newest_group()?.file().clone();
        let mut register = Register::open(path, group, &self.arguments.unlock)?;
        let combined = opened(&register, &self.folder.asked.evidence, shares)?;
        register.keep(&combined.evidence.row)?;
        if let Some(path) = register.group_file_path() {
            self.folder.put_group(&path)?;
        }
        warn(&combined.refused);
        Ok(Got {
            group: register.group().clone(),
            evidence: EvidenceFile::Opening(Box::new(combined.evidence)),
            judgement: combined.judgement,
        })
    }

    async fn opening_with_manager(&self, shares: &[Share]) -> Result<Got, Waits> {
        let asked = row::ask(&self.exchange, &self.folder, &self.request, shares).await?;
        let answered = asked.map_err(|error| match &error {
            CombineError::TooFew { .. } => Waits::For(Failure::new(&error)),
            _ => Waits::Failed(Failure::new(&error)),
        })?;
        warn(&answered.refused);
        Ok(Got {
            group: answered.group,
            evidence: EvidenceFile::Opening(Box::new(answered.opening)),
            judgement: answered.judgement,
        })
    }

    fn matched(&self, shares: &[Share]) -> Result<Got, Waits> {
        let machine = self.folder.asked.machine.as_ref();
        let found = machine.and_then(clew_trustee::request::CaseMachine::found);
        let (found, base) = found.ok_or_else(|| {
            Failure::file(&self.arguments.case, "the machine of the match is damaged")
        })?;
        let packet = self.folder.asked.evidence.packet();
        let group = self.folder.group.clone();
        let combined = combine_match(&group, &self.request, shares, &packet, &base, found);
        let combined = combined.map_err(|error| match &error {
            CombineError::Refused(_) | CombineError::TooFew { .. } => Waits::For(
                Failure::new(&error)
                    .hint("use --wait; if a trustee stays silent, --new-set without it"),
            ),
            CombineError::Fault(_) | CombineError::NoRow { .. } => {
                Waits::Failed(Failure::new(&error))
            }
        })?;
        Ok(Got {
            group,
            evidence: EvidenceFile::Match(Box::new(combined.evidence)),
            judgement: combined.judgement,
        })
    }

    fn too_few(&self, have: usize) -> Waits {
        let need = self.filing.threshold;
        Waits::For(
            Failure::new(format!("need shares of {need} trustees, have {have}"))
                .hint("clew request status CASE --wait"),
        )
    }

    fn new_set(&self) -> Result<Option<Set>, Failure> {
        let trustees = self.arguments.new_set.iter();
        let trustees: Result<Vec<_>, _> = trustees.map(|index| Trustee::new(*index)).collect();
        let trustees = trustees.map_err(Failure::new)?;
        match trustees.is_empty() {
            true => Ok(None),
            false => Set::of(trustees).map(Some).map_err(Failure::new),
        }
    }

    /// Names who is to answer a match together: the first that said yes in the log, or those that the
    /// user chose.
    async fn name_set(
        &self,
        posts: &[Posted],
        decided: &[Decided],
        chosen: Option<Set>,
    ) -> Result<(), Failure> {
        let last = newest_set(posts, &self.filing).map(|(attempt, _)| attempt);
        let set = match (last, chosen) {
            (_, Some(set)) => set,
            (Some(_), None) => return Ok(()),
            (None, None) => match first_set(&yes_sayers(decided), &self.filing) {
                Some(set) => set,
                None => return Ok(()),
            },
        };
        let attempt = last.unwrap_or(0).saturating_add(1);
        if attempt > ATTEMPTS_MAX {
            let why = format!("{ATTEMPTS_MAX} sets of trustees were asked: none answered");
            return Err(Failure::new(why).hint("file the request again, under a new warrant"));
        }
        let message = Message::Set { attempt, set };
        self.exchange.say(self.folder.topic(), &message).await
    }
}

/// Names the trustees whose shares do not hold.
fn warn(refused: &[Refused]) {
    for refused in refused {
        mention!("clew: warning: {refused}");
    }
}

/// Why there is no evidence.
enum Waits {
    /// Something may still come.
    For(Failure),
    /// It is not what it has to be.
    Failed(Failure),
}

impl From<Failure> for Waits {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
