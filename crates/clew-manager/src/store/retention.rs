//! How long a group keeps what is about persons, and its deletion after that.

use super::Store;
use crate::error::StoreError;
use crate::storage::OldTopic;
use clew_evidence::WallTime;
use clew_keys::files::{self, IfExists, MODE_SECRET};
use std::fmt::{self, Write as _};
use std::fs;
use std::io::ErrorKind;

/// Where the rule is, within the group's directory.
const RETENTION: &str = "issuer/retention";
/// What is deleted in one transaction: others wait meanwhile.
const AT_ONCE: u32 = 256;
/// Topics are deleted in one transaction until so many posts are.
const POSTS_AT_ONCE: u64 = 1_024;
/// What the board counts by days is kept for so many.
const COUNTED_DAYS: u64 = 2;
const DAY_NS: u64 = 86_400_000_000_000;

/// For how many days a store keeps what it has; `None` for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Names and rows of machines, from the start of the epoch that revoked them.
    pub machines: Option<u32>,
    /// Invitations, what devices sent when they joined, and factories' rights that have ended.
    pub joins: Option<u32>,
    /// Topics of the board, from their last post.
    pub posts: Option<u32>,
}

impl Retention {
    fn parse(text: &str) -> Option<Self> {
        let mut read = Self::default();
        for line in text.lines() {
            let (what, days) = line.split_once(' ')?;
            let days = match days {
                "never" => None,
                days => Some(days.parse().ok()?),
            };
            *match what {
                "machines" => &mut read.machines,
                "joins" => &mut read.joins,
                "posts" => &mut read.posts,
                _ => return None,
            } = days;
        }
        Some(read)
    }
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            ("machines", self.machines),
            ("joins", self.joins),
            ("posts", self.posts),
        ];
        for (what, days) in all {
            match days {
                Some(days) => writeln!(f, "{what} {days}")?,
                None => writeln!(f, "{what} never")?,
            }
        }
        Ok(())
    }
}

/// What is past its time, or was deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Names of machines, with their rows.
    pub machines: Vec<(u32, String)>,
    /// How many joins, invitations and factories' rights.
    pub joins: u64,
    /// How many topics of the board.
    pub topics: u64,
    /// How many posts in these.
    pub posts: u64,
}

impl Pruned {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn add_topic(&mut self, old: &OldTopic) {
        self.topics += 1;
        self.posts += old.posts;
    }

    fn add(&mut self, other: Self) {
        self.machines.extend(other.machines);
        self.joins += other.joins;
        self.topics += other.topics;
        self.posts += other.posts;
    }
}

/// What is past its time, as far as one transaction deletes it.
struct Past {
    machines: Vec<(u32, String)>,
    joins_before: Option<u64>,
    posts_before: Option<u64>,
    topics: Vec<[u8; 32]>,
}

impl Store {
    /// The rule of this store. Without one everything is kept.
    ///
    /// # Errors
    /// The rule's file cannot be read, or is damaged.
    pub fn retention(&self) -> Result<Retention, StoreError> {
        let path = self.dir.join(RETENTION);
        match fs::read_to_string(&path) {
            Ok(text) => {
                let damaged = || StoreError::Damaged("the rule of retention".to_owned());
                Retention::parse(&text).ok_or_else(damaged)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Retention::default()),
            Err(error) => Err(StoreError::io(&path)(error)),
        }
    }

    /// Sets the rule. It deletes nothing yet.
    ///
    /// # Errors
    /// The rule's file cannot be written.
    pub fn set_retention(&mut self, rule: &Retention) -> Result<(), StoreError> {
        self.check_not_halted()?;
        let path = self.dir.join(RETENTION);
        let mut text = String::new();
        let _ = write!(text, "{rule}"); // a string takes everything
        let written =
            files::write_atomically(&path, text.as_bytes(), MODE_SECRET, IfExists::Replace);
        written.map_err(StoreError::io(&path))
    }

    /// How many rows of machines were deleted by the rule, ever.
    ///
    /// # Errors
    /// The database's.
    pub fn deleted_machines(&self) -> Result<u64, StoreError> {
        self.db.stubs()
    }

    /// What is past its time at `now` (nanoseconds since 1970). Nothing is deleted.
    ///
    /// # Errors
    /// Those of [`Self::retention`], and the database's.
    pub fn past(&mut self, now: u64) -> Result<Pruned, StoreError> {
        self.follow()?;
        let rule = self.retention()?;
        let past = self.past_in(&rule, now, u32::MAX >> 1)?;
        let joins = past.joins_before.map(|before| self.db.old_joins(before));
        let mut all = Pruned {
            machines: past.machines,
            joins: joins.transpose()?.unwrap_or(0),
            ..Pruned::default()
        };
        for topic in &past.topics {
            let old = self.db.old_topic(topic, past.posts_before.unwrap_or(0))?;
            old.iter().for_each(|old| all.add_topic(old));
        }
        Ok(all)
    }

    /// Deletes what is past its time at `now` (nanoseconds since 1970), and returns what that was. The
    /// bytes are overwritten in a file of SQLite; a server of PostgreSQL keeps them until it vacuums.
    ///
    /// # Errors
    /// Those of [`Self::retention`] and [`Self::judge_clock`]; the disk's and the database's: then a part may
    /// be deleted, and a later call goes on.
    pub fn prune(&mut self, now: u64) -> Result<Pruned, StoreError> {
        self.check_not_halted()?;
        self.follow()?;
        let now = self.clock.believe(&self.group, now)?;
        let rule = self.retention()?;
        let mut all = Pruned::default();
        loop {
            // Nobody waits for this: nothing is locked yet.
            let past = self.past_in(&rule, now, AT_ONCE)?;
            let pruned = self.delete(past, now)?;
            if pruned.is_empty() {
                self.db.purge()?; // also after a run that was killed
                return Ok(all);
            }
            all.add(pruned);
        }
    }

    /// Deletes in one transaction what is past its time, or a part of it, and returns what that was.
    fn delete(&self, past: Past, now: u64) -> Result<Pruned, StoreError> {
        let mut pruned = Pruned::default();
        let transaction = self.db.begin()?;
        if let Some(before) = past.joins_before {
            pruned.joins = transaction.delete_joins(before, AT_ONCE)?;
        }
        // The join of a machine is counted before its row goes.
        if pruned.joins < u64::from(AT_ONCE) {
            for (index, _) in &past.machines {
                transaction.make_stub(*index)?;
            }
            pruned.machines = past.machines;
        }
        for topic in &past.topics {
            if pruned.posts >= POSTS_AT_ONCE {
                break;
            }
            let before = past.posts_before.unwrap_or(0);
            if let Some(old) = transaction.old_topic(topic, before)? {
                transaction.delete_topic(&old)?;
                pruned.add_topic(&old);
            }
        }
        if pruned.is_empty() {
            return Ok(pruned);
        }
        transaction.delete_days((now / DAY_NS).saturating_sub(COUNTED_DAYS))?;
        // An index leads from signatures to rows: it is made again without them.
        let has_rows = !pruned.machines.is_empty();
        if has_rows {
            self.remove_indexes()?;
        }
        transaction.commit()?;
        if has_rows {
            self.remove_indexes()?; // one that was made meanwhile; whoever makes one now removes it
        }
        Ok(pruned)
    }

    fn past_in(&self, rule: &Retention, now: u64, most: u32) -> Result<Past, StoreError> {
        let before = |days: u32| now.saturating_sub(u64::from(days).saturating_mul(DAY_NS));
        let machines = match rule.machines {
            Some(days) => {
                let epoch = self.group.epoch_at(WallTime::from_nanos(before(days)));
                self.db.old_machines(epoch, most)?
            }
            None => Vec::new(),
        };
        let posts_before = rule.posts.map(before);
        let topics = match posts_before {
            Some(before) => self.db.old_topics(before, most)?,
            None => Vec::new(),
        };
        Ok(Past {
            machines,
            joins_before: rule.joins.map(before),
            posts_before,
            topics,
        })
    }

    fn remove_indexes(&self) -> Result<(), StoreError> {
        let directory = self.dir.join(super::INDEXES);
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(StoreError::io(&directory)(error)),
        };
        for entry in entries {
            let path = entry.map_err(StoreError::io(&directory))?.path();
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(StoreError::io(&path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
