//! What one participant does next in a key generation on a board.

use super::round::{
    POST_CHECKED, POST_COMPLAINT, POST_DEAL, POST_FINISHED, POST_HELLO, Round, Standing, complaint,
};
use super::{DkgError, Proposal, State};
use clew_evidence::GroupFile;
use clew_keys::{TextFile, TrusteeKeyFile};
use rand_core::CryptoRng;

/// The next step. Each can be repeated after a crash and gives the same.
#[derive(Debug)]
pub enum Step {
    /// Write the state to the disk, and then post this: the kind and the body.
    Say(u8, Vec<u8>),
    /// Write the trustee's key to the disk.
    Keep(Box<TrusteeKeyFile>),
    /// Wait for others.
    Wait,
    /// All trustees have their keys: delete the state.
    Over,
    /// Somebody broke a rule, and the posts say who: delete nothing, do nothing more, unless the group file
    /// gets a record with what was dealt.
    Stopped,
}

/// What a participant brings along.
#[derive(Debug)]
pub struct Own<'a> {
    /// Its Ed25519 author key.
    pub author: [u8; 32],
    /// Its key of the old sharing, if it hands one on.
    pub old: Option<&'a TrusteeKeyFile>,
    /// The epoch since which its new key counts, once the key is on the disk.
    pub kept: Option<u32>,
    /// The newest group file that it knows.
    pub group: &'a GroupFile,
}

impl State {
    /// Returns what to do next, given all posts. Draws the deal when all hellos are there.
    ///
    /// # Errors
    /// [`DkgError`] if this participant cannot go on, and no other is to blame.
    pub fn step(
        &mut self,
        proposal: &Proposal,
        round: &Round<'_>,
        own: &Own<'_>,
        rng: &mut impl CryptoRng,
    ) -> Result<Step, DkgError> {
        let plan = proposal.plan();
        let has = |kind| round.has_posted(&own.author, kind);
        self.check_plan(plan)?;
        if !has(POST_HELLO) {
            return Ok(Step::Say(POST_HELLO, self.hello().payload().to_vec()));
        }
        if round.is_over() {
            return Ok(Step::Over);
        }
        match round.standing() {
            // What somebody posts when the key is in force takes nobody's share of it.
            Standing::Stopped(_) => Ok(match self.finish(proposal, round, own) {
                Ok(Step::Wait) if has(POST_FINISHED) => Step::Wait,
                Ok(step @ (Step::Keep(_) | Step::Say(..))) => step,
                _ => Step::Stopped,
            }),
            Standing::Hellos(_) => Ok(Step::Wait),
            Standing::Deals(_) if self.dealer().is_some() && !has(POST_DEAL) => {
                let deal = self.deal(plan, own.old, &round.hellos(), rng)?;
                Ok(Step::Say(POST_DEAL, deal.payload().to_vec()))
            }
            Standing::Deals(_) => Ok(Step::Wait),
            Standing::Checks(_) if self.trustee().is_some() && !has(POST_CHECKED) => {
                match self.receive(plan, round.deals()) {
                    Ok(received) => {
                        let context = received.dealing().context().to_vec();
                        Ok(Step::Say(POST_CHECKED, context))
                    }
                    Err(error) => match complaint(&error) {
                        Some(body) => Ok(Step::Say(POST_COMPLAINT, body)),
                        None => Err(error),
                    },
                }
            }
            Standing::Checks(_) => Ok(Step::Wait),
            Standing::Ready(_) => self.finish(proposal, round, own),
        }
    }

    fn finish(
        &self,
        proposal: &Proposal,
        round: &Round<'_>,
        own: &Own<'_>,
    ) -> Result<Step, DkgError> {
        if self.trustee().is_none() || round.has_posted(&own.author, POST_FINISHED) {
            return Ok(Step::Wait);
        }
        if let Some(epoch) = own.kept {
            let id = own.group.epoch_id(epoch).ok_or(DkgError::Record)?;
            let body = [&epoch.to_be_bytes()[..], &id.0].concat();
            return Ok(Step::Say(POST_FINISHED, body));
        }
        let received = self.receive(proposal.plan(), round.deals())?;
        match received.key(own.group) {
            Ok(key) => Ok(Step::Keep(Box::new(key))),
            Err(DkgError::Record) => Ok(Step::Wait), // the manager has not made the epoch yet
            Err(error) => Err(error),
        }
    }
}
