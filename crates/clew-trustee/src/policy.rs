//! A trustee's policy: whose warrants it accepts, and which witnesses it believes.
//!
//! ```toml
//! author = "clew-author-1 ..."            # the trustee's own public line, for groups with a log
//! issuers = ["clew-author-1 ..."]         # who may issue warrants
//! witnesses = ["example.com/w1+...+..."]  # whose cosignatures count
//! threshold = 1                           # how many of them are needed [default: more than half]
//! max-age = "1h"                          # of a checkpoint
//! requests-per-day = 1000
//! matches-per-packet = 3
//! waive = []
//! ```

use crate::rules::{Limits, MATCHES_PER_PACKET, REQUESTS_PER_DAY};
use clew_evidence::GroupLog;
use clew_keys::{Author, TextFile};
use clew_log::{KeyKind, VerifierKey};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::time::Duration;
use thiserror::Error;

/// Longest policy file, in bytes.
pub const POLICY_BYTES_MAX: usize = 1 << 18;
/// Most issuers, and most witnesses.
pub const KEYS_MAX: usize = 64;
/// How old a checkpoint may be by default.
pub const MAX_AGE_DEFAULT: Duration = Duration::from_secs(3_600);
/// How old a checkpoint may be at most.
pub const MAX_AGE_MAX: Duration = Duration::from_secs(86_400);

/// What one trustee demands before it answers, beside the rules that nobody can waive.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The trustee's own author key, if it writes into a log.
    pub author: Option<Author>,
    /// Who may issue warrants.
    pub issuers: Vec<Author>,
    /// Whose cosignatures count.
    pub witnesses: Vec<VerifierKey>,
    /// How many of them are needed, at least one if there is a log.
    pub threshold: usize,
    /// How old the newest of those cosignatures may be.
    pub max_age: Duration,
    /// How much the trustee answers.
    pub limits: Limits,
    /// Rules that do not count.
    pub waived: BTreeSet<Waivable>,
}

/// Rules that a policy may waive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waivable {
    /// The warrant has to be in force still, when the trustee answers.
    WarrantExpired,
    /// The warrant has to name the key that filed the request.
    WarrantRequester,
    /// A group that had a log has to have one.
    LogGivenUp,
}

/// Why a policy was not read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PolicyError {
    /// It is not TOML, or has a key or a value that policies do not have.
    #[error("{0}")]
    Toml(String),
    /// A value is not allowed.
    #[error("{key}: {why}")]
    Value {
        /// The key.
        key: &'static str,
        /// What is wrong.
        why: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Raw {
    author: Option<String>,
    issuers: Vec<String>,
    #[serde(default)]
    witnesses: Vec<String>,
    threshold: Option<usize>,
    max_age: Option<String>,
    requests_per_day: Option<usize>,
    matches_per_packet: Option<usize>,
    #[serde(default)]
    waive: BTreeSet<Waivable>,
}

impl Policy {
    /// Reads a policy.
    ///
    /// # Errors
    /// [`PolicyError`], with the key that is wrong.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        if text.len() > POLICY_BYTES_MAX {
            return Err(PolicyError::Toml("longer than 256 KiB".to_owned()));
        }
        let raw: Raw = toml::from_str(text).map_err(|e| PolicyError::Toml(e.to_string()))?;
        let issuers = keys("issuers", &raw.issuers, |line| Author::decode(line).ok())?;
        if issuers.is_empty() {
            return value("issuers", "need at least one key");
        }
        let witness = |text: &str| {
            let key = text.parse::<VerifierKey>().ok()?;
            (key.kind() == KeyKind::Witness).then_some(key)
        };
        let witnesses = keys("witnesses", &raw.witnesses, witness)?;
        let distinct: BTreeSet<_> = witnesses.iter().map(|key| key.key().to_bytes()).collect();
        if distinct.len() < witnesses.len() {
            return value("witnesses", "one key is there twice");
        }
        let author = raw.author.as_slice();
        let author = keys("author", author, |line| Author::decode(line).ok())?.pop();
        Ok(Self {
            author,
            issuers,
            threshold: threshold(raw.threshold, witnesses.len())?,
            witnesses,
            max_age: max_age(raw.max_age.as_deref())?,
            limits: Limits {
                requests_per_day: at_most(
                    "requests-per-day",
                    raw.requests_per_day,
                    REQUESTS_PER_DAY,
                )?,
                matches_per_packet: at_most(
                    "matches-per-packet",
                    raw.matches_per_packet,
                    MATCHES_PER_PACKET,
                )?,
            },
            waived: raw.waive,
        })
    }

    /// Returns what a proof of this log needs.
    pub fn of_log(&self, log: &GroupLog) -> clew_log::Policy {
        clew_log::Policy {
            log: log.key().clone(),
            witnesses: self.witnesses.clone(),
            threshold: self.threshold,
            max_age: Some(self.max_age.as_secs()),
        }
    }
}

fn value<T>(key: &'static str, why: impl Into<String>) -> Result<T, PolicyError> {
    let why = why.into();
    Err(PolicyError::Value { key, why })
}

/// Reads each of a list of keys.
fn keys<T>(
    name: &'static str,
    texts: &[String],
    read: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, PolicyError> {
    if texts.len() > KEYS_MAX {
        return value(name, format!("more than {KEYS_MAX} keys"));
    }
    let all = texts.iter().map(|text| read(text)).enumerate();
    let all = all.map(|(at, key)| key.ok_or(at + 1));
    all.collect::<Result<_, _>>()
        .or_else(|at| value(name, format!("key {at} is not a public key of this kind")))
}

fn threshold(asked: Option<usize>, witnesses: usize) -> Result<usize, PolicyError> {
    match asked {
        None => Ok(witnesses / 2 + 1),
        Some(asked) if (1..=witnesses).contains(&asked) => Ok(asked),
        Some(_) => value(
            "threshold",
            format!("need 1 to {witnesses}, the number of witnesses"),
        ),
    }
}

fn max_age(text: Option<&str>) -> Result<Duration, PolicyError> {
    let Some(text) = text else {
        return Ok(MAX_AGE_DEFAULT);
    };
    let unit = |unit| text.strip_suffix(unit).and_then(|n| n.parse::<u64>().ok());
    let seconds = match (unit("s"), unit("m"), unit("h")) {
        (Some(seconds), _, _) => Some(seconds),
        (_, Some(minutes), _) => minutes.checked_mul(60),
        (_, _, Some(hours)) => hours.checked_mul(3_600),
        _ => None,
    };
    match seconds.map(Duration::from_secs) {
        Some(age) if !age.is_zero() && age <= MAX_AGE_MAX => Ok(age),
        _ => value("max-age", "need 1s to 24h, as 30m"),
    }
}

fn at_most(key: &'static str, asked: Option<usize>, most: usize) -> Result<usize, PolicyError> {
    match asked {
        None => Ok(most),
        Some(asked) if (1..=most).contains(&asked) => Ok(asked),
        Some(_) => value(key, format!("need 1 to {most}")),
    }
}
