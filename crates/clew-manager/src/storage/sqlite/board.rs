//! Authors and the board in SQLite.

use super::{Begun, Sqlite, damaged, refused};
use crate::storage::{BoardChanges, BoardTables, NewPost, Result};
use crate::store::AdmittedAuthor;
use clew_evidence::signed::strict_key;
use clew_keys::Author;
use clew_log::entry::Role;
use rusqlite::{Connection, Row, params};
use std::ops::Deref;

const AUTHOR: &str = "SELECT signs, receives, name, role, idx, admitted_at FROM author";

impl<C: Deref<Target = Connection>> Sqlite<C> {
    fn count(&self, query: &str, params: impl rusqlite::Params) -> Result<u64> {
        let count = self.one(query, params, |row| row.get::<_, i64>(0))?;
        Ok(count.unwrap_or(0).cast_unsigned())
    }
}

impl<C: Deref<Target = Connection>> BoardTables for Sqlite<C> {
    fn authors(&self) -> Result<Vec<AdmittedAuthor>> {
        self.all(&format!("{AUTHOR} ORDER BY seq"), author)
    }

    fn author(&self, key: &[u8; 32]) -> Result<Option<AdmittedAuthor>> {
        self.one(&format!("{AUTHOR} WHERE signs = ?1"), [key], author)
    }

    fn post_place(&self, id: &[u8; 32]) -> Result<Option<u64>> {
        let query = "SELECT place FROM post WHERE id = ?1";
        let place = self.one(query, [id], |row| row.get::<_, i64>(0))?;
        Ok(place.map(i64::cast_unsigned))
    }

    fn count_posts(&self, topic: &[u8; 32], author: Option<&[u8; 32]>) -> Result<u64> {
        match author {
            None => {
                let query = "SELECT coalesce(max(place), 0) FROM post WHERE topic = ?1";
                self.count(query, [topic])
            }
            Some(author) => {
                let query = "SELECT count(*) FROM post WHERE topic = ?1 AND author = ?2";
                self.count(query, [topic, author])
            }
        }
    }

    fn count_seats(&self, topic: &[u8; 32]) -> Result<u64> {
        self.count("SELECT count(*) FROM seat WHERE topic = ?1", [topic])
    }

    fn is_seated(&self, topic: Option<&[u8; 32]>, key: &[u8; 32]) -> Result<bool> {
        let found = match topic {
            Some(topic) => {
                let query = "SELECT count(*) FROM seat WHERE signs = ?1 AND topic = ?2";
                self.count(query, [key, topic])?
            }
            None => {
                let query = "SELECT count(*) FROM (SELECT 1 FROM seat WHERE signs = ?1 LIMIT 1)";
                self.count(query, [key])?
            }
        };
        Ok(found > 0)
    }

    fn posted(&self, author: &[u8], day: u64) -> Result<(u64, u64)> {
        let query = "SELECT topics, bytes FROM posted WHERE author = ?1 AND day = ?2";
        let posted = self.one(query, params![author, day.cast_signed()], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })?;
        let (topics, bytes) = posted.unwrap_or((0, 0));
        Ok((topics.cast_unsigned(), bytes.cast_unsigned()))
    }

    fn last_post(&self) -> Result<u64> {
        self.count("SELECT coalesce(max(seq), 0) FROM post", [])
    }

    fn posts(&self, topic: &[u8; 32], after: u64, bytes: usize) -> Result<Vec<(u64, Vec<u8>)>> {
        let found = || {
            let query = "SELECT place, bytes FROM post WHERE topic = ?1 AND place > ?2
                         ORDER BY place";
            let mut statement = self.db.prepare_cached(query)?;
            let mut rows = statement.query(params![topic, after.cast_signed()])?;
            let (mut posts, mut size) = (Vec::new(), 0);
            while let (true, Some(row)) = (size < bytes, rows.next()?) {
                let post: Vec<u8> = row.get(1)?;
                size += post.len();
                posts.push((row.get::<_, i64>(0)?.cast_unsigned(), post));
            }
            Ok(posts)
        };
        found().map_err(refused(&self.path))
    }

    fn news(&self, after: u64, most: u32) -> Result<Vec<(u64, [u8; 32])>> {
        let found = || {
            let query = "SELECT seq, topic FROM post WHERE seq > ?1 ORDER BY seq LIMIT ?2";
            let mut statement = self.db.prepare_cached(query)?;
            let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?));
            let rows = statement.query_map(params![after.cast_signed(), most], read)?;
            rows.collect::<rusqlite::Result<_>>()
        };
        found().map_err(refused(&self.path))
    }
}

impl BoardChanges for Begun<'_> {
    fn add_author(&self, author: &Author, role: Role, now: u64) -> Result<()> {
        let [role, index] = role.code();
        self.execute(
            "INSERT INTO author (signs, receives, name, role, idx, admitted_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                author.signs.as_bytes(),
                author.receives,
                author.name.as_str(),
                role,
                index,
                now.cast_signed(),
            ],
        )
    }

    fn dismiss_author(&self, key: &[u8; 32]) -> Result<()> {
        let command = "UPDATE author SET role = 0, idx = 0 WHERE signs = ?1";
        self.execute(command, [key])
    }

    fn add_seat(&self, topic: &[u8; 32], key: &[u8; 32]) -> Result<()> {
        let command = "INSERT INTO seat (topic, signs) VALUES (?1, ?2)";
        self.execute(command, [topic, key])
    }

    fn add_post(&self, post: &NewPost<'_>) -> Result<()> {
        self.execute(
            "INSERT INTO post (topic, place, author, kind, id, posted_at, bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                post.topic,
                post.place.cast_signed(),
                post.author,
                post.kind,
                post.id,
                post.now.cast_signed(),
                post.bytes,
            ],
        )?;
        let topics = i64::from(post.place == 1);
        let bytes = post.bytes.len() as i64;
        let count = "INSERT INTO posted (author, day, topics, bytes) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (author, day) DO UPDATE
                     SET topics = posted.topics + ?3, bytes = posted.bytes + ?4";
        let day = post.day.cast_signed();
        self.execute(count, params![&post.author[..], day, topics, bytes])?;
        self.execute(count, params![&[][..] as &[u8], 0, topics, bytes])
    }
}

/// A row of [`AUTHOR`].
fn author(row: &Row<'_>) -> rusqlite::Result<AdmittedAuthor> {
    let name: String = row.get(2)?;
    let role = Role::from_code([row.get(3)?, row.get(4)?]);
    Ok(AdmittedAuthor {
        author: Author {
            signs: strict_key(&row.get(0)?).ok_or_else(|| damaged("an author's key is not one"))?,
            receives: row.get(1)?,
            name: name
                .parse()
                .map_err(|_| damaged("an author's name is not one"))?,
        },
        role: role.ok_or_else(|| damaged("an author's role is not one"))?,
        admitted_at: row.get::<_, i64>(5)?.cast_unsigned(),
    })
}
