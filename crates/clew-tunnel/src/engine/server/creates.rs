//! Connections that are asked for: `spec/tunnel.md` sections 11.1 to 11.3.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use clew_wire::Instant;

use super::Shared;
use super::jobs::{Proof, Verify};
use super::keys::Pair;
use super::tunnel::Tunnel;
use crate::engine::channel::{Now, check_service};
use crate::engine::event::{ConnectionId, Create, Event, User};
use crate::keys;
use crate::reason::Reason;
use crate::record::Authenticators;
use crate::wire::rpc::Rpc;
use crate::x25519::Public;

/// Whose a connection is to be, before that is verified; none: anonymous.
type Claim = Option<(Public, Proof)>;

impl Tunnel {
    /// create, createAuth, createAuthBound, createAuthGroup.
    ///
    /// # Errors
    /// `bad-connection`, which closes the tunnel.
    pub(super) fn create(
        &mut self,
        shared: &mut Shared,
        now: &mut Now<'_>,
        rpc: Rpc<'_>,
    ) -> Result<(), Reason> {
        let (number, service) = match rpc {
            Rpc::Create {
                connection,
                service,
            }
            | Rpc::CreateAuth {
                connection,
                service,
                ..
            }
            | Rpc::CreateAuthBound {
                connection,
                service,
                ..
            } => (connection, service),
            Rpc::CreateAuthGroup { connection } => (connection, ""),
            _ => return Err(Reason::WrongSide),
        };
        self.channel.connections.check_number(number)?;
        let claim = self.check_create(shared, now, &rpc, service);
        match claim {
            Err(reason) => self.refuse(shared, number, reason),
            Ok(claim) => self.ask_program(shared, now, (number, service), claim),
        }
        Ok(())
    }

    /// What is refused before the program is asked.
    fn check_create(
        &mut self,
        shared: &Shared,
        now: &Now<'_>,
        rpc: &Rpc<'_>,
        service: &str,
    ) -> Result<Claim, Reason> {
        if !matches!(rpc, Rpc::CreateAuthGroup { .. }) {
            check_service(service)?;
        }
        let limits = &shared.config.limits;
        if self.channel.connections.is_full() {
            return Err(Reason::TooManyConnections);
        }
        if !self.creates.take(limits.creates, now.instant) {
            return Err(Reason::TooFast);
        }
        self.claim(shared, rpc)
    }

    fn claim(&self, shared: &Shared, rpc: &Rpc<'_>) -> Result<Claim, Reason> {
        let offers = |kind| {
            let offered = shared.config.authenticators.has(kind);
            offered.then_some(()).ok_or(Reason::NotOffered)
        };
        match *rpc {
            Rpc::CreateAuth {
                user,
                authenticator,
                ..
            } => {
                offers(Authenticators::BOX)?;
                let user = keys::canonical(user.0)?;
                Ok(Some((user, Proof::Box(*authenticator))))
            }
            Rpc::CreateAuthBound {
                user,
                ephemeral,
                authenticator,
                ..
            } => {
                offers(Authenticators::BOUND)?;
                let user = keys::canonical(user.0)?;
                let live = shared.keys.live().ephemerals.iter();
                let mut found = live.filter(|pair: &&Arc<Pair>| pair.public == ephemeral);
                let ephemeral = found.next().ok_or(Reason::StaleAuthenticator)?;
                let proof = Proof::Bound {
                    binder: self.binder.clone(),
                    ephemeral: Arc::clone(ephemeral),
                    x: Vec::from(authenticator),
                };
                Ok(Some((user, proof)))
            }
            Rpc::CreateAuthGroup { .. } => Err(Reason::NotOffered),
            _ => Ok(None),
        }
    }

    /// A place for the connection, and who decides next.
    fn ask_program(
        &mut self,
        shared: &mut Shared,
        now: &mut Now<'_>,
        (number, service): (u32, &str),
        claim: Claim,
    ) {
        if let Err(reason) = self.channel.connections.add(number, now.instant) {
            return self.refuse(shared, number, reason);
        }
        let service = String::from(service);
        let Some((user, proof)) = claim else {
            return self.tell(shared, number, service, User::Anonymous);
        };
        let verify = Verify {
            tunnel: self.channel.id,
            connection: number,
            service,
            user,
            proof,
            result: Err(Reason::Authenticator),
        };
        if shared.rates.auth.take(self.path.address(), now.instant) {
            return shared.verify.push(verify);
        }
        // Who asks for more than its share works for it.
        let connections = &self.channel.connections;
        self.waiting
            .retain(|verify| connections.is_undecided(verify.connection));
        self.waiting.push(verify);
        self.pose_here(shared.config.w, now);
    }

    fn tell(&mut self, shared: &mut Shared, number: u32, service: String, user: User) {
        let create = Create {
            connection: ConnectionId {
                tunnel: self.channel.id,
                number,
            },
            service,
            user,
            address: self.path.address(),
            is_proven: self.path.is_proven(),
        };
        if let Some(create) = self.state.admit(create) {
            shared.common.events.push_back(Event::Create(create));
        }
    }

    /// An authenticator was verified.
    pub(super) fn verified(&mut self, shared: &mut Shared, verify: Verify) {
        if !self.channel.connections.is_undecided(verify.connection) {
            return;
        }
        match verify.result {
            Err(reason) => self.refuse(shared, verify.connection, reason),
            Ok(()) => {
                let user = User::Key {
                    key: verify.user,
                    by: verify.proof.kind(),
                };
                self.tell(shared, verify.connection, verify.service, user);
            }
        }
    }

    /// The program's answer. False if nobody waits for it.
    pub(super) fn decide(
        &mut self,
        shared: &mut Shared,
        number: u32,
        decision: Result<(), Reason>,
    ) -> bool {
        if !self.channel.connections.is_undecided(number) {
            return false;
        }
        match decision {
            Err(reason) => self.refuse(shared, number, reason),
            Ok(()) => {
                self.channel.control(&Rpc::Ack { connection: number });
                let events = &mut shared.common.events;
                self.channel
                    .connections
                    .accept(self.channel.id, number, events);
            }
        }
        true
    }

    /// Programs that take too long: `busy`.
    pub(crate) fn decide_late(&mut self, shared: &mut Shared, before: Instant) {
        while let Some(number) = self.channel.connections.late(before) {
            self.refuse(shared, number, Reason::Busy);
        }
    }

    fn refuse(&mut self, shared: &mut Shared, number: u32, reason: Reason) {
        shared.common.counters.count(reason);
        self.channel.connections.remove(number);
        self.channel.control(&Rpc::Refuse { connection: number });
    }
}
