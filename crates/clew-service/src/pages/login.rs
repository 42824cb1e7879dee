//! Logins by key: challenges, one-time links, sessions (`spec/pages.md` section 3). All in memory, all
//! bounded: a restart logs everybody out.

use crate::http::{Pin, host};
use aws_lc_rs::{hmac, rand};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clew_keys::login::{CHALLENGE_BYTES, LoginAnswer};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How long a challenge may be answered.
pub(crate) const CHALLENGE_TIME: Duration = Duration::from_secs(60);
/// How long a link may be followed.
pub(crate) const LINK_TIME: Duration = Duration::from_secs(120);
/// How long a session lasts.
pub(crate) const SESSION_TIME: Duration = Duration::from_secs(8 * 3_600);
/// How long a session lasts that nobody uses.
pub(crate) const IDLE_TIME: Duration = Duration::from_secs(30 * 60);
/// Most links of one key that wait: the oldest gives way.
const LINKS_OF_KEY_MAX: usize = 2;
/// Most answers of one key within twice [`CHALLENGE_TIME`]. Keys that may log in are few.
const ANSWERS_OF_KEY_MAX: usize = 8;
/// Most sessions of one key: the oldest gives way.
pub(crate) const SESSIONS_OF_KEY_MAX: usize = 4;
/// Most sessions.
const SESSIONS_MAX: usize = 256;
/// Most attempts of one host within [`ATTEMPTS_TIME`].
pub(crate) const ATTEMPTS_MAX: u32 = 30;
const ATTEMPTS_TIME: Duration = Duration::from_secs(60);
/// Hosts whose attempts are counted one by one; others share one count.
const HOSTS_MAX: usize = 4_096;

const NONCE_BYTES: usize = 16;

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// Its host, or its key, tried too often.
    #[error("too many attempts from this address, or with this key: try again in a minute")]
    TooMany,
    /// The challenge is too old, was answered already, or is not this service's.
    #[error("the challenge is too old, or was answered already: ask again")]
    Challenge,
    /// The signature does not hold for this service.
    #[error("the signature does not hold for this service")]
    Signature,
    /// Nobody admitted the key.
    #[error("this key may not log in")]
    Stranger,
    /// The link was followed, is too old, or was never made.
    #[error("this link was used, or is older than two minutes")]
    Link,
    /// All places are taken.
    #[error("too many people are logged in")]
    Full,
    /// The system has no randomness.
    #[error("the system gives no randomness")]
    Random,
}

/// A secret of which only the hash is kept.
type Secret = [u8; 32];

/// A challenge that was answered.
struct Answered {
    nonce: [u8; NONCE_BYTES],
    key: [u8; 32],
    at: Instant,
}

struct Link {
    hash: Secret,
    key: [u8; 32],
    made: Instant,
}

struct Session {
    hash: Secret,
    key: [u8; 32],
    made: Instant,
    used: Instant,
}

/// A session that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entered {
    /// Who logged in.
    pub(crate) key: [u8; 32],
    /// What each form has to bring along.
    pub(crate) token: String,
}

/// Who may log in, and who has.
pub(crate) struct Logins {
    secret: hmac::Key,
    pin: [u8; 32],
    began: Instant,
    answered: Vec<Answered>,
    links: Vec<Link>,
    sessions: Vec<Session>,
    attempts: HashMap<Option<IpAddr>, (u32, Instant)>,
}

impl Logins {
    /// Nobody is logged in. `pin` is that of the service's TLS key, if it has one.
    pub(crate) fn new(pin: Option<Pin>, now: Instant) -> Result<Self, Refused> {
        let secret = random::<32>()?;
        Ok(Self {
            secret: hmac::Key::new(hmac::HMAC_SHA256, &secret),
            pin: pin.map_or([0; 32], |pin| *pin.as_bytes()),
            began: now,
            answered: Vec::new(),
            links: Vec::new(),
            sessions: Vec::new(),
            attempts: HashMap::new(),
        })
    }

    /// A challenge: milliseconds since the start (8), nonce (16), tag (32). Nothing is remembered of it.
    pub(crate) fn challenge(&self, now: Instant) -> Result<[u8; CHALLENGE_BYTES], Refused> {
        let mut challenge = [0; CHALLENGE_BYTES];
        let (head, tag) = challenge.split_at_mut(8 + NONCE_BYTES);
        let since = now.saturating_duration_since(self.began).as_millis() as u64;
        head[..8].copy_from_slice(&since.to_be_bytes());
        head[8..].copy_from_slice(&random::<NONCE_BYTES>()?);
        tag.copy_from_slice(hmac::sign(&self.secret, head).as_ref());
        Ok(challenge)
    }

    /// Counts an attempt of a host.
    pub(crate) fn attempt(&mut self, from: IpAddr, now: Instant) -> Result<(), Refused> {
        let is_over = |since: Instant| now.saturating_duration_since(since) >= ATTEMPTS_TIME;
        let mut from = Some(host(from));
        if !self.attempts.contains_key(&from) && self.attempts.len() >= HOSTS_MAX {
            self.attempts.retain(|_, (_, since)| !is_over(*since));
            if self.attempts.len() >= HOSTS_MAX {
                from = None;
            }
        }
        let (count, since) = self.attempts.entry(from).or_insert((0, now));
        if is_over(*since) {
            (*count, *since) = (0, now);
        }
        *count = count.saturating_add(1);
        match *count <= ATTEMPTS_MAX {
            true => Ok(()),
            false => Err(Refused::TooMany),
        }
    }

    /// Checks an answer. Whether its key may log in is for the caller.
    pub(crate) fn check(&self, answer: &LoginAnswer, now: Instant) -> Result<(), Refused> {
        let (head, tag) = answer.challenge.split_at(8 + NONCE_BYTES);
        hmac::verify(&self.secret, head, tag).map_err(|_| Refused::Challenge)?;
        let since = head.first_chunk().map(|since| u64::from_be_bytes(*since));
        let made = self.began + Duration::from_millis(since.unwrap_or(0));
        let is_new = now.saturating_duration_since(made) <= CHALLENGE_TIME;
        let is_again = |answered: &Answered| answered.nonce[..] == head[8..];
        let is_first = !self.answered.iter().any(is_again);
        if !is_new || !is_first {
            return Err(Refused::Challenge);
        }
        match answer.is_signed(&self.pin) {
            true => Ok(()),
            false => Err(Refused::Signature),
        }
    }

    /// Makes a link for an answer that was [checked](Self::check), and whose key may log in.
    pub(crate) fn link(&mut self, answer: &LoginAnswer, now: Instant) -> Result<String, Refused> {
        self.check(answer, now)?;
        let age = |made: Instant| now.saturating_duration_since(made);
        self.answered
            .retain(|answered| age(answered.at) <= 2 * CHALLENGE_TIME);
        self.links.retain(|link| age(link.made) <= LINK_TIME);
        // Nobody's logins keep others from theirs.
        let (key, at, made) = (answer.key, now, now);
        let own = self.answered.iter().filter(|answered| answered.key == key);
        if own.count() >= ANSWERS_OF_KEY_MAX {
            return Err(Refused::TooMany);
        }
        let nonce = answer.challenge[8..].first_chunk();
        let nonce = *nonce.ok_or(Refused::Challenge)?;
        self.answered.push(Answered { nonce, key, at });
        let own = self.links.iter().filter(|link| link.key == key);
        if own.count() >= LINKS_OF_KEY_MAX
            && let Some(oldest) = self.links.iter().position(|link| link.key == key)
        {
            self.links.remove(oldest);
        }
        let (text, hash) = secret()?;
        self.links.push(Link { hash, key, made });
        Ok(text)
    }

    /// Whose link it is, without following it: programs that look at links must not use them up.
    pub(crate) fn key_of_link(&self, link: &str, now: Instant) -> Option<[u8; 32]> {
        let hash = hash(link);
        let link = self.links.iter().find(|link| link.hash == hash)?;
        let is_new = now.saturating_duration_since(link.made) <= LINK_TIME;
        is_new.then_some(link.key)
    }

    /// Follows a link, once, and begins a session: the value of its cookie.
    pub(crate) fn enter(&mut self, link: &str, now: Instant) -> Result<String, Refused> {
        let key = self.key_of_link(link, now).ok_or(Refused::Link)?;
        let used = hash(link);
        self.links.retain(|link| link.hash != used);
        self.sessions.retain(|session| session.is_in_force(now));
        let own = self.sessions.iter().filter(|session| session.key == key);
        if own.count() >= SESSIONS_OF_KEY_MAX
            && let Some(oldest) = self.sessions.iter().position(|session| session.key == key)
        {
            self.sessions.remove(oldest);
        }
        if self.sessions.len() >= SESSIONS_MAX {
            return Err(Refused::Full);
        }
        let (cookie, hash) = secret()?;
        let (made, used) = (now, now);
        self.sessions.push(Session {
            hash,
            key,
            made,
            used,
        });
        Ok(cookie)
    }

    /// The session of a cookie, if it is in force.
    pub(crate) fn session(&mut self, cookie: &str, now: Instant) -> Option<Entered> {
        let hash = hash(cookie);
        let mut sessions = self.sessions.iter_mut();
        let session = sessions.find(|session| session.hash == hash)?;
        if !session.is_in_force(now) {
            return None;
        }
        session.used = now;
        Some(Entered {
            key: session.key,
            token: URL_SAFE_NO_PAD.encode(hmac::sign(&self.secret, &form(&hash))),
        })
    }

    /// Whether a form brought the token of the session along.
    pub(crate) fn is_token(&self, cookie: &str, token: &str) -> bool {
        let token = URL_SAFE_NO_PAD.decode(token).unwrap_or_default();
        hmac::verify(&self.secret, &form(&hash(cookie)), &token).is_ok()
    }

    /// Ends a session.
    pub(crate) fn leave(&mut self, cookie: &str) {
        let hash = hash(cookie);
        self.sessions.retain(|session| session.hash != hash);
    }

    /// How many sessions are in force.
    pub(crate) fn count(&self, now: Instant) -> usize {
        let in_force = |session: &&Session| session.is_in_force(now);
        self.sessions.iter().filter(in_force).count()
    }
}

impl Session {
    fn is_in_force(&self, now: Instant) -> bool {
        let since = |time| now.saturating_duration_since(time);
        since(self.made) <= SESSION_TIME && since(self.used) <= IDLE_TIME
    }
}

/// What the token of a session's forms is made of. No challenge has this form.
fn form(session: &Secret) -> Vec<u8> {
    [b"form", &session[..]].concat()
}

/// Secrets are found by their hashes, so the time of a look-up tells nothing of them.
fn hash(secret: &str) -> Secret {
    Sha256::digest(secret).into()
}

fn secret() -> Result<(String, Secret), Refused> {
    let text = URL_SAFE_NO_PAD.encode(random::<32>()?);
    let hash = hash(&text);
    Ok((text, hash))
}

fn random<const N: usize>() -> Result<[u8; N], Refused> {
    let mut bytes = [0; N];
    rand::fill(&mut bytes).map_err(|_| Refused::Random)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
