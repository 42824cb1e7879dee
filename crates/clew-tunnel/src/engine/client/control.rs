//! What servers say on connection 0, and in the sequence's side: `spec/tunnel.md` sections 10.3, 11 and 12.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::attempt::{drop_wish, write_wish};
use super::jobs::Solve;
use super::state::State;
use super::tunnel::{Asked, Solved, Tunnel};
use super::{Shared, Target};
use crate::engine::channel::Now;
use crate::engine::event::{Answer, Event};
use crate::keys::Nonce;
use crate::limits::CONTROL_MAX;
use crate::puzzle::{R_BYTES, Search};
use crate::reason::Reason;
use crate::record::{Identity, Record};
use crate::wire::rpc::Rpc;

impl Tunnel {
    /// The answer to the first request that has none.
    pub(super) fn answered(
        &mut self,
        shared: &mut Shared,
        now: &Now<'_>,
        answer: Answer,
    ) -> Result<(), Reason> {
        let asked = self.asked.front().ok_or(Reason::Unasked)?;
        let fits = match answer {
            Answer::Refused => true,
            Answer::Given(..) => *asked != Asked::Register,
            Answer::Taken => *asked == Asked::Register,
        };
        if !fits {
            return Err(Reason::Unasked);
        }
        if self.asked.pop_front() == Some(Asked::Own) {
            return self.renewed(shared, now, &answer);
        }
        shared.common.events.push_back(Event::Reply {
            tunnel: self.channel.id,
            reply: answer,
        });
        Ok(())
    }

    /// This server's newest record, which this tunnel asked for: what waited for it can go on, or cannot.
    fn renewed(
        &mut self,
        shared: &mut Shared,
        now: &Now<'_>,
        answer: &Answer,
    ) -> Result<(), Reason> {
        let Target::Host(held) = &self.target else {
            return Ok(());
        };
        let taken = match answer {
            Answer::Given(cert, ecert) => Record::of(cert, ecert).and_then(|record| {
                let same = |cert: &crate::record::Cert| cert.body == held.cert.body;
                shared.wanted(now, held).verify(&record, same)?;
                record.ecert.check_newer(&held.ecert)?;
                Ok(record.ecert)
            }),
            _ => Err(Reason::StaleAuthenticator),
        };
        match taken {
            Ok(ecert) => {
                self.target.renew(ecert);
                self.tell_newer(shared);
            }
            Err(reason) => {
                shared.common.counters.count(reason);
                while let Some(wish) = self.wishes.pop_front() {
                    drop_wish(&mut self.channel, shared, &wish, Reason::StaleAuthenticator);
                }
            }
        }
        Ok(())
    }

    /// The program may keep the newer ecert.
    pub(crate) fn tell_newer(&self, shared: &mut Shared) {
        if let Target::Host(record) = &self.target {
            shared.common.events.push_back(Event::Newer {
                tunnel: self.channel.id,
                record: record.clone(),
            });
        }
    }

    /// Asks for the connections that wait, once the tunnel is there.
    pub(crate) fn ask_wishes(&mut self, shared: &mut Shared, now: &mut Now<'_>) {
        let Some(binder) = self.state.keyed().map(|keyed| keyed.binder.clone()) else {
            return;
        };
        while self.channel.control_bytes() < CONTROL_MAX
            && let Some(wish) = self.wishes.front()
        {
            if wish.user.is_some() && self.target.has_ended(now.wall) {
                return self.ask_own();
            }
            let mut rpc = Vec::new();
            let written = write_wish(wish, &self.target, &binder, shared, now, &mut rpc);
            let Some(wish) = self.wishes.pop_front() else {
                return;
            };
            match written {
                Ok(()) if self.channel.connections.ask(wish.number) => self.channel.push(&rpc),
                Ok(()) => {}
                Err(reason) => drop_wish(&mut self.channel, shared, &wish, reason),
            }
        }
    }

    /// The server's S' may be gone: authenticators need its newest.
    fn ask_own(&mut self) {
        if self.asked.contains(&Asked::Own) {
            return;
        }
        let Target::Host(record) = &self.target else {
            return;
        };
        let Ok(hostname) = core::str::from_utf8(&record.cert.body.hostname) else {
            return;
        };
        let identity = Identity {
            signing: Some(record.cert.body.signing),
            hostname,
        };
        if let Ok(bytes) = identity.to_bytes() {
            self.asked.push_back(Asked::Own);
            self.channel.control(&Rpc::RequestCert { identity: &bytes });
        }
    }

    /// The server poses a puzzle.
    ///
    /// # Errors
    /// `too-hard`, which closes the tunnel.
    pub(super) fn posed(
        &mut self,
        shared: &mut Shared,
        search: Result<Search, Reason>,
        nonce: [u8; 8],
    ) -> Result<(), Reason> {
        if let Some(solved) = self.solved.as_mut().filter(|solved| solved.nonce == nonce) {
            solved.is_due = true;
            return Ok(());
        }
        if self.solving != Some(nonce) {
            self.solve(shared, search?, nonce);
        }
        Ok(())
    }

    /// Begins to solve a puzzle; it takes the place of another.
    pub(super) fn solve(&mut self, shared: &mut Shared, search: Search, nonce: [u8; 8]) {
        self.solving = Some(nonce);
        let id = self.channel.id;
        shared.solves.retain(|solve| solve.tunnel != id);
        shared.solves.push(Solve {
            tunnel: self.channel.id,
            nonce,
            search,
            result: None,
        });
    }

    /// A puzzle was solved, or cannot be.
    ///
    /// # Errors
    /// `unsolvable`; in an attempt only this puzzle is given up.
    pub(super) fn found(
        &mut self,
        now: &Now<'_>,
        nonce: [u8; 8],
        result: Result<[u8; R_BYTES], Reason>,
    ) -> Result<(), Reason> {
        if self.solving != Some(nonce) {
            return Ok(());
        }
        self.solving = None;
        let r = result?;
        if let State::First(attempt) = &mut self.state {
            attempt.solved(r, Nonce::from_bytes(nonce), now.instant);
        } else {
            self.solved = Some(Box::new(Solved {
                nonce,
                r,
                is_due: true,
            }));
        }
        Ok(())
    }
}
