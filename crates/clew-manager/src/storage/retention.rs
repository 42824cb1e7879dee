//! What is deleted by the rule of retention, whichever database it is.
//!
//! A row of the register stays as a stub: its place, and the epoch that revoked it. Its leaf hash stays
//! in the tree, so that all other rows keep their proofs.

use super::tables::{all, one};
use super::{Begun, Result, Sql};

/// A topic of the board without a post since some time.
pub(crate) struct OldTopic {
    pub(crate) topic: [u8; 32],
    pub(crate) posts: u64,
    pub(crate) bytes: u64,
}

/// What can be read.
pub(crate) trait RetentionTables {
    /// Whether the row at that place is a stub.
    fn is_stub(&self, index: u32) -> Result<bool>;

    /// How many rows are stubs.
    fn stubs(&self) -> Result<u64>;

    /// Rows that were revoked in `epoch` or before and are not stubs: places and names, at most `most`.
    fn old_machines(&self, epoch: u32, most: u32) -> Result<Vec<(u32, String)>>;

    /// How many joins and rights of factories are older than `before` (nanoseconds since 1970).
    fn old_joins(&self, before: u64) -> Result<u64>;

    /// Topics whose last post is older than `before`, at most `most`. The topic of the board's newest post
    /// is not among them: numbers of posts do not go back.
    fn old_topics(&self, before: u64, most: u32) -> Result<Vec<[u8; 32]>>;

    /// What such a topic has. Returns `None` if it is not one any more.
    fn old_topic(&self, topic: &[u8; 32], before: u64) -> Result<Option<OldTopic>>;
}

/// What can be changed.
pub(crate) trait RetentionChanges {
    /// Adds the stub of a row of which nothing but the leaf hash is known, as revoked in that epoch.
    fn add_stub(&self, index: u32, epoch: u32) -> Result<()>;

    /// Makes a stub of a revoked row, and deletes how it joined.
    fn make_stub(&self, index: u32) -> Result<()>;

    /// Deletes joins and rights of factories that are older than `before`, at most `most` of each, and
    /// returns how many.
    fn delete_joins(&self, before: u64, most: u32) -> Result<u64>;

    /// Deletes a topic with its posts and seats, and counts them no more.
    fn delete_topic(&self, topic: &OldTopic) -> Result<()>;

    /// Deletes what authors posted on days before this one: only the count of it.
    fn delete_days(&self, before: u64) -> Result<()>;
}

/// Last posts that are old: a board may have 10^6 posts, and few of them are older than the rule allows.
const OLD_TOPICS: &str = "SELECT topic FROM post
    WHERE posted_at < ?1 AND seq < (SELECT max(seq) FROM post) AND NOT EXISTS
        (SELECT 1 FROM post AS later WHERE later.topic = post.topic AND later.place > post.place)
    ORDER BY posted_at LIMIT ?2";

const OLD_JOINS: &str = "created_at < ?1";
const OLD_FACTORIES: &str = "until < ?1";

impl<S: Sql + ?Sized> RetentionTables for S {
    fn is_stub(&self, index: u32) -> Result<bool> {
        let query = "SELECT count(*) FROM machine
             WHERE idx = ?1 AND length(entry) = 0 AND revoked_in IS NOT NULL";
        Ok(count(self, query, &[index.into()])? > 0)
    }

    fn stubs(&self) -> Result<u64> {
        let query = "SELECT count(*) FROM machine
             WHERE revoked_in IS NOT NULL AND length(entry) = 0";
        count(self, query, &[])
    }

    fn old_machines(&self, epoch: u32, most: u32) -> Result<Vec<(u32, String)>> {
        let query = "SELECT idx, name FROM machine
             WHERE revoked_in <= ?1 AND length(entry) > 0 ORDER BY idx LIMIT ?2";
        let values = [epoch.into(), most.into()];
        all(self, query, &values, |row| Ok((row.take()?, row.take()?)))
    }

    fn old_joins(&self, before: u64) -> Result<u64> {
        let joins = format!("SELECT count(*) FROM joining WHERE {OLD_JOINS}");
        let factories = format!("SELECT count(*) FROM factory WHERE {OLD_FACTORIES}");
        let joins = count(self, &joins, &[before.into()])?;
        Ok(joins + count(self, &factories, &[before.into()])?)
    }

    fn old_topics(&self, before: u64, most: u32) -> Result<Vec<[u8; 32]>> {
        all(self, OLD_TOPICS, &[before.into(), most.into()], |row| {
            row.take()
        })
    }

    fn old_topic(&self, topic: &[u8; 32], before: u64) -> Result<Option<OldTopic>> {
        let last = "SELECT count(*) FROM post
             WHERE topic = ?1 AND place = (SELECT max(place) FROM post WHERE topic = ?1)
                 AND posted_at < ?2 AND seq < (SELECT max(seq) FROM post)";
        if count(self, last, &[topic.into(), before.into()])? == 0 {
            return Ok(None);
        }
        let query =
            "SELECT count(*), CAST(sum(length(bytes)) AS BIGINT) FROM post WHERE topic = ?1";
        one(self, query, &[topic.into()], |row| {
            Ok(OldTopic {
                topic: *topic,
                posts: row.take()?,
                bytes: row.take()?,
            })
        })
    }
}

impl<B: Begun> RetentionChanges for B {
    fn add_stub(&self, index: u32, epoch: u32) -> Result<()> {
        let nothing: &[u8] = &[];
        let command = "INSERT INTO machine VALUES (?1, '', 0, ?2, ?2, ?3)";
        let values = [index.into(), nothing.into(), epoch.into()];
        self.change(command, &values).map(drop)
    }

    fn make_stub(&self, index: u32) -> Result<()> {
        let command = "DELETE FROM joining WHERE machine = ?1";
        self.change(command, &[index.into()])?;
        let nothing: &[u8] = &[];
        let command = "UPDATE machine SET name = '', enrolled_at = 0, salt = ?2, entry = ?2
             WHERE idx = ?1 AND revoked_in IS NOT NULL";
        let values = [index.into(), nothing.into()];
        self.change(command, &values).map(drop)
    }

    fn delete_joins(&self, before: u64, most: u32) -> Result<u64> {
        let some = |table: &str, key: &str, old: &str| {
            let command = format!(
                "DELETE FROM {table} WHERE {key} IN
                     (SELECT {key} FROM {table} WHERE {old} LIMIT ?2)"
            );
            self.change(&command, &[before.into(), most.into()])
        };
        let deleted = some("joining", "nonce", OLD_JOINS)? + some("factory", "id", OLD_FACTORIES)?;
        Ok(deleted as u64)
    }

    fn delete_topic(&self, old: &OldTopic) -> Result<()> {
        let topic = (&old.topic).into();
        self.change("DELETE FROM post WHERE topic = ?1", &[topic])?;
        let topic = (&old.topic).into();
        self.change("DELETE FROM seat WHERE topic = ?1", &[topic])?;
        let nobody: &[u8] = &[];
        let command = "UPDATE posted SET topics = topics - 1, bytes = bytes - ?2
             WHERE author = ?1 AND day = 0";
        let values = [nobody.into(), old.bytes.into()];
        self.change(command, &values).map(drop)
    }

    fn delete_days(&self, before: u64) -> Result<()> {
        let command = "DELETE FROM posted WHERE day > 0 AND day < ?1";
        self.change(command, &[before.into()]).map(drop)
    }
}

fn count<S: Sql + ?Sized>(db: &S, query: &str, values: &[super::Value<'_>]) -> Result<u64> {
    Ok(one(db, query, values, |row| row.take())?.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::super::SCHEMA;
    use super::super::tables::{INVITED, OPEN};
    use super::*;

    /// Tables may have 10^6 rows: a page, a command or a write lock does not wait for all of them.
    #[test]
    fn large_tables_are_not_read_to_the_end() {
        let database = rusqlite::Connection::open_in_memory().unwrap();
        database.execute_batch(SCHEMA).unwrap();
        let small = "SELECT name FROM joining WHERE request IS NULL";
        for (query, values, is_good) in [
            (OLD_TOPICS, 2, true),
            (OPEN, 0, true),
            (INVITED, 2, true),
            (small, 0, false),
        ] {
            let explain = format!("EXPLAIN QUERY PLAN {query}");
            let mut plan = database.prepare(&explain).unwrap();
            let values = rusqlite::params_from_iter((0..values).map(i64::from));
            let steps = plan.query_map(values, |row| row.get::<_, String>(3));
            let steps: Vec<String> = steps.unwrap().map(|step| step.unwrap()).collect();
            // What it says of reading all of a table, not of an index that has a part of it.
            let reads_all =
                |step: &String| step.starts_with("SCAN") && !step.contains("INDEX joining_open");
            assert_eq!(!steps.iter().any(reads_all), is_good, "{query}: {steps:?}");
        }
    }
}
