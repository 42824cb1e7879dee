//! Users of a client, and what they share with servers.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::authenticator::{self, Context};
use crate::boxes::{Key, NONCE};
use crate::engine::channel::Now;
use crate::keys::{self, Binder};
use crate::reason::Reason;
use crate::record::{Authenticators, EcertBody, UserSecret};
use crate::wire::rpc::Rpc;
use crate::x25519::{Public, Shared};

/// Shared secrets of one user that are kept: with S and S' of the servers it was last at.
const SHARED_MAX: usize = 16;

/// A user of this client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UserId(usize);

/// All users of a client.
#[derive(Debug, Default)]
pub(super) struct Users(Vec<User>);

#[derive(Debug)]
struct User {
    secret: UserSecret,
    public: Public,
    shared: VecDeque<(Public, Shared)>,
}

impl User {
    /// Makes sure that what is shared with these keys is known.
    fn compute(&mut self, keys: &[Public]) -> Result<(), Reason> {
        for key in keys {
            if self.find(key).is_none() {
                let shared = keys::dh(&self.secret.0, key)?;
                if self.shared.len() >= SHARED_MAX {
                    self.shared.pop_front();
                }
                self.shared.push_back((*key, shared));
            }
        }
        Ok(())
    }

    fn find(&self, key: &Public) -> Option<&Shared> {
        let mut all = self.shared.iter();
        all.find(|(public, _)| public == key)
            .map(|(_, shared)| shared)
    }
}

/// What a connection of a user is asked for with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask<'a> {
    /// Its number.
    pub connection: u32,
    /// The service.
    pub service: &'a str,
    /// B of the tunnel.
    pub binder: &'a Binder,
    /// The server's newest ephemeral certificate.
    pub ecert: &'a EcertBody,
}

impl Users {
    /// Adds a user.
    pub(super) fn add(&mut self, secret: UserSecret) -> UserId {
        self.0.push(User {
            public: keys::public(&secret.0),
            secret,
            shared: VecDeque::new(),
        });
        UserId(self.0.len() - 1)
    }

    /// Writes createAuthBound where the server offers it, createAuth if it offers that alone.
    ///
    /// # Errors
    /// `not-offered`; `bad-key` for a server's key of small order.
    pub(super) fn write(
        &mut self,
        user: UserId,
        ask: &Ask<'_>,
        now: &mut Now<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        let user = self.0.get_mut(user.0).ok_or(Reason::NotOffered)?;
        let Ask {
            connection,
            service,
            binder,
            ecert,
        } = *ask;
        let nonce: [u8; NONCE] = now.random();
        if ecert.authenticators.has(Authenticators::BOUND) {
            user.compute(&[ecert.boxing, ecert.ephemeral])?;
            let (long, short) = user
                .find(&ecert.boxing)
                .zip(user.find(&ecert.ephemeral))
                .ok_or(Reason::BadKey)?;
            let context = Context {
                binder,
                user: &user.public,
                boxing: &ecert.boxing,
                signing: &ecert.signing,
                ephemeral: &ecert.ephemeral,
                connection,
                service,
            };
            let rpc = Rpc::CreateAuthBound {
                connection,
                service,
                user: user.public,
                ephemeral: ecert.ephemeral,
                authenticator: &context.seal([long, short], nonce),
            };
            rpc.write(out)
        } else if ecert.authenticators.has(Authenticators::BOX) {
            user.compute(&[ecert.boxing])?;
            let long = user.find(&ecert.boxing).ok_or(Reason::BadKey)?;
            let sealed = authenticator::seal(&Key::between(long), &ecert.boxing, nonce);
            let rpc = Rpc::CreateAuth {
                connection,
                service,
                user: user.public,
                authenticator: &sealed,
            };
            rpc.write(out)
        } else {
            Err(Reason::NotOffered)
        }
    }
}
