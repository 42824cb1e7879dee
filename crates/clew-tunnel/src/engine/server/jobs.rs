//! Public-key work of a server, eight at a time, on any thread: `spec/tunnel.md` section 6.2, step 7, and
//! 11.3.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::ops::Range;

use super::keys::{Live, Pair};
use crate::authenticator::{self, BOX_BYTES, Context};
use crate::boxes::{self, Key, Stream};
use crate::engine::event::TunnelId;
use crate::keys::{self, Binder};
use crate::reason::Reason;
use crate::record::Authenticators;
use crate::wire::packet::{Initiation, Packet};
use crate::x25519::{self, Public, Shared};

/// Boxes that are decrypted in one call.
const GROUP: usize = 16;

/// A first packet whose box is still closed.
#[derive(Debug)]
pub(super) struct Decryption {
    /// Where it came from.
    pub source: SocketAddr,
    /// It had a solution, which is right. If not, it has a place of those that are not proven.
    pub is_solved: bool,
    /// Where it stands.
    pub packet: Range<usize>,
    /// Which pair decrypted it, and K_0; or why none did: `bad-box`, `bad-key`.
    pub keys: Result<(Arc<Pair>, Key), Reason>,
}

/// An authenticator that is to be verified.
#[derive(Debug)]
pub(super) struct Verify {
    /// Whose connection.
    pub tunnel: TunnelId,
    /// Which.
    pub connection: u32,
    /// To which service.
    pub service: String,
    /// U, canonical.
    pub user: Public,
    /// The authenticator.
    pub proof: Proof,
    /// What came out.
    pub result: Result<(), Reason>,
}

/// An authenticator, with what it is tied to.
#[derive(Debug)]
pub(super) enum Proof {
    /// The paper's.
    Box([u8; BOX_BYTES]),
    /// For this tunnel, connection and service.
    Bound {
        /// B.
        binder: Binder,
        /// S', which is live.
        ephemeral: Arc<Pair>,
        /// x.
        x: Vec<u8>,
    },
}

impl Proof {
    /// Which authenticator it is.
    pub(super) const fn kind(&self) -> Authenticators {
        match self {
            Self::Box(_) => Authenticators::BOX,
            Self::Bound { .. } => Authenticators::BOUND,
        }
    }
}

/// Public-key work that is to be run, anywhere, and given back.
#[derive(Debug)]
pub struct Jobs {
    pub(super) live: Live,
    pub(super) decrypt: Vec<Decryption>,
    pub(super) packets: Vec<u8>,
    pub(super) verify: Vec<Verify>,
}

impl Jobs {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.decrypt.len() + self.verify.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Computes all of them.
    pub fn run(&mut self) {
        let live = self.live.clone();
        for pair in live.pairs() {
            self.decrypt_with(pair);
        }
        for group in self.verify.chunks_mut(GROUP) {
            verify(&live, group);
        }
    }

    /// Tries one key for all packets that none has decrypted.
    fn decrypt_with(&mut self, pair: &Arc<Pair>) {
        let mut rest = &mut self.packets[..];
        let mut at = 0;
        let mut group: Vec<(&mut Decryption, Initiation<'_>)> = Vec::with_capacity(GROUP);
        for job in &mut self.decrypt {
            let (_, after) = rest.split_at_mut(job.packet.start - at);
            let (packet, after) = after.split_at_mut(job.packet.len());
            (rest, at) = (after, job.packet.end);
            if job.keys.is_ok() {
                continue;
            }
            // It was read before, so that this is no error any more.
            if let Ok(Packet::Initiation(initiation)) = Packet::parse(packet, 0) {
                group.push((job, initiation));
            }
            if group.len() == GROUP {
                decrypt_group(pair, &mut group);
            }
        }
        decrypt_group(pair, &mut group);
    }
}

/// Tries a key for some packets.
fn decrypt_group(pair: &Arc<Pair>, group: &mut Vec<(&mut Decryption, Initiation<'_>)>) {
    let jobs: Vec<x25519::Job<'_>> = group
        .iter()
        .map(|(_, initiation)| (&pair.secret, &initiation.key))
        .collect();
    let mut shared: [Option<Shared>; GROUP] = [const { None }; GROUP];
    x25519::shared(&jobs, &mut shared[..jobs.len()]);
    let keys: Vec<Option<(Key, Stream)>> = shared
        .iter()
        .zip(group.iter())
        .map(|(shared, (_, initiation))| {
            let key = Key::between(shared.as_ref()?);
            let stream = keys::stream(&key, initiation.boxed.tid);
            Some((key, stream))
        })
        .collect();
    let mut packets = Vec::with_capacity(GROUP);
    let mut jobs = Vec::with_capacity(GROUP);
    for ((job, initiation), key) in group.iter_mut().zip(keys) {
        let Some((key, stream)) = key else {
            job.keys = Err(Reason::BadKey);
            continue;
        };
        jobs.push((job, &mut initiation.boxed, key, stream));
    }
    let mut found = Vec::with_capacity(GROUP);
    for (job, boxed, key, stream) in &mut jobs {
        if let Some(packet) = boxed.packet(stream) {
            packets.push(packet);
            found.push((job, &*key));
        }
    }
    let mut are_good = [false; GROUP];
    boxes::decrypt(&mut packets, &mut are_good[..found.len()]);
    for ((job, key), _) in found.into_iter().zip(are_good).filter(|(_, good)| *good) {
        job.keys = Ok((Arc::clone(pair), key.clone()));
    }
    drop(packets);
    drop(jobs);
    group.clear();
}

/// Verifies some authenticators.
fn verify(live: &Live, group: &mut [Verify]) {
    let boxing = |verify: &Verify| verify.user;
    let users: Vec<Public> = group.iter().map(boxing).collect();
    let jobs: Vec<x25519::Job<'_>> = users
        .iter()
        .map(|user| (&live.boxing.secret, user))
        .collect();
    let mut long: [Option<Shared>; GROUP] = [const { None }; GROUP];
    x25519::shared(&jobs, &mut long[..jobs.len()]);
    let mut bound = Vec::with_capacity(GROUP);
    for (verify, user) in group.iter().zip(&users) {
        if let Proof::Bound { ephemeral, .. } = &verify.proof {
            bound.push((&ephemeral.secret, user));
        }
    }
    let mut short: [Option<Shared>; GROUP] = [const { None }; GROUP];
    x25519::shared(&bound, &mut short[..bound.len()]);
    let mut short = short.iter();
    let results: Vec<Result<(), Reason>> = group
        .iter()
        .zip(&long)
        .map(|(verify, long)| {
            let short = match verify.proof {
                Proof::Box(_) => None,
                Proof::Bound { .. } => Some(short.next().and_then(Option::as_ref)),
            };
            judge(live, verify, long.as_ref(), short)
        })
        .collect();
    for (verify, result) in group.iter_mut().zip(results) {
        verify.result = result;
    }
}

/// Whether one authenticator holds, by what its user shares with S and, for `bound`, with S'.
fn judge(
    live: &Live,
    verify: &Verify,
    long: Option<&Shared>,
    short: Option<Option<&Shared>>,
) -> Result<(), Reason> {
    let long = long.ok_or(Reason::BadKey)?;
    match &verify.proof {
        Proof::Box(x) => authenticator::check(&Key::between(long), &live.boxing.public, x),
        Proof::Bound {
            binder,
            ephemeral,
            x,
        } => {
            let short = short.flatten().ok_or(Reason::BadKey)?;
            let context = Context {
                binder,
                user: &verify.user,
                boxing: &live.boxing.public,
                signing: &live.signing,
                ephemeral: &ephemeral.public,
                connection: verify.connection,
                service: &verify.service,
            };
            context.check([long, short], x)
        }
    }
}
