//! What the database has of authors and of the board, whichever database it is.

use super::tables::{all, damaged, one};
use super::value::{Row, Value};
use super::{Begun, Result, Sql};
use crate::store::AdmittedAuthor;
use clew_evidence::signed::strict_key;
use clew_keys::Author;
use clew_log::entry::{Role, Trusteeship};
use std::ops::RangeInclusive;

/// An author with its newest trusteeship, if it has one.
const AUTHOR: &str = "SELECT author.signs, receives, name, role,
    coalesce((SELECT max(since) FROM trusteeship AS own WHERE own.signs = author.signs), 0),
    coalesce((SELECT idx FROM trusteeship AS own WHERE own.signs = author.signs
              ORDER BY since DESC, idx DESC LIMIT 1), 0),
    admitted_at FROM author";

/// Posts that are read at once: each may be large.
const POSTS_AT_ONCE: u32 = 16;

/// What can be read.
pub(crate) trait BoardTables {
    /// All authors that were ever admitted, in that order.
    fn authors(&self) -> Result<Vec<AdmittedAuthor>>;

    /// The author with that key.
    fn author(&self, key: &[u8; 32]) -> Result<Option<AdmittedAuthor>>;

    /// All trusteeships with the keys that have them, the oldest first.
    fn trusteeships(&self) -> Result<Vec<(Trusteeship, [u8; 32])>>;

    /// How many entries of that kind in the outbox say what a key may write.
    fn changes_of(&self, kind: u8, key: &[u8; 32]) -> Result<u32>;

    /// The place of a post in its topic, by its id.
    fn post_place(&self, id: &[u8; 32]) -> Result<Option<u64>>;

    /// How many posts a topic has; with an author, how many of that one.
    fn count_posts(&self, topic: &[u8; 32], author: Option<&[u8; 32]>) -> Result<u64>;

    /// How many posts of a kind an author has in a topic.
    fn count_kind(&self, topic: &[u8; 32], author: &[u8; 32], kind: u8) -> Result<u64>;

    /// How many keys the topic's plan names.
    fn count_seats(&self, topic: &[u8; 32]) -> Result<u64>;

    /// Whether a plan names that key: that of the topic, or any.
    fn is_seated(&self, topic: Option<&[u8; 32]>, key: &[u8; 32]) -> Result<bool>;

    /// How many topics an author began on a day, and how many bytes it posted.
    fn posted(&self, author: &[u8], day: u64) -> Result<(u64, u64)>;

    /// The number of the newest post, 0 if there is none.
    fn last_post(&self) -> Result<u64>;

    /// Posts of a topic with their places, from the one behind `after` on: as many as have `bytes`
    /// bytes, but at least one.
    fn posts(&self, topic: &[u8; 32], after: u64, bytes: usize) -> Result<Vec<(u64, Vec<u8>)>>;

    /// The same of one author's posts, and those of some kinds.
    fn posts_for(
        &self,
        topic: &[u8; 32],
        after: u64,
        bytes: usize,
        of: (&[u8; 32], RangeInclusive<u8>),
    ) -> Result<Vec<(u64, Vec<u8>)>>;

    /// The topics of posts of a kind, oldest first.
    fn topics_of(&self, kind: u8) -> Result<Vec<[u8; 32]>>;

    /// Numbers and topics of posts of a kind before a number, the newest first.
    fn posts_of(&self, kind: u8, before: u64, most: u32) -> Result<Vec<(u64, [u8; 32])>>;

    /// The posts behind number `after`, at most `most`: their numbers and topics. With a key, only
    /// those of topics whose plan names it.
    fn news(
        &self,
        after: u64,
        most: u32,
        seated: Option<&[u8; 32]>,
    ) -> Result<Vec<(u64, [u8; 32])>>;
}

/// What can be changed.
pub(crate) trait BoardChanges {
    /// Adds an author, admitted at `now` (nanoseconds since 1970).
    fn add_author(&self, author: &Author, role: Role, now: u64) -> Result<()>;

    /// Lets an author come back whose role was taken, with the name that it has now.
    fn readmit_author(&self, author: &Author, role: Role, now: u64) -> Result<()>;

    /// Changes an author's role.
    fn set_author_role(&self, key: &[u8; 32], role: Role) -> Result<()>;

    /// Gives a key a trusteeship, in the place of the key that had it.
    fn set_trusteeship(&self, held: Trusteeship, key: &[u8; 32]) -> Result<()>;

    /// Takes all trusteeships of a key.
    fn drop_trusteeships(&self, key: &[u8; 32]) -> Result<()>;

    /// Lets a key write into a topic.
    fn add_seat(&self, topic: &[u8; 32], key: &[u8; 32]) -> Result<()>;

    /// Adds a post at the end of its topic, and counts it.
    fn add_post(&self, post: &NewPost<'_>) -> Result<()>;
}

/// A post that is added.
pub(crate) struct NewPost<'a> {
    pub topic: &'a [u8; 32],
    /// Its place in the topic.
    pub place: u64,
    pub author: &'a [u8; 32],
    pub kind: u8,
    pub id: &'a [u8; 32],
    /// The board's time, nanoseconds since 1970, and its day.
    pub now: u64,
    pub day: u64,
    pub bytes: &'a [u8],
}

impl<S: Sql + ?Sized> BoardTables for S {
    fn authors(&self) -> Result<Vec<AdmittedAuthor>> {
        all(self, &format!("{AUTHOR} ORDER BY seq"), &[], author)
    }

    fn author(&self, key: &[u8; 32]) -> Result<Option<AdmittedAuthor>> {
        let query = format!("{AUTHOR} WHERE author.signs = ?1");
        one(self, &query, &[key.into()], author)
    }

    fn trusteeships(&self) -> Result<Vec<(Trusteeship, [u8; 32])>> {
        let query = "SELECT since, idx, signs FROM trusteeship ORDER BY since, idx";
        all(self, query, &[], |row| {
            let (since, index) = (row.take()?, row.take()?);
            Ok((Trusteeship { since, index }, row.take()?))
        })
    }

    fn changes_of(&self, kind: u8, key: &[u8; 32]) -> Result<u32> {
        // Behind the role stands the key.
        let query = "SELECT count(*) FROM outbox WHERE kind = ?1 AND substr(body, 7, 32) = ?2";
        let changes = count(self, query, &[kind.into(), key.into()])?;
        u32::try_from(changes).map_err(|_| damaged("the outbox has too many entries of authors"))
    }

    fn post_place(&self, id: &[u8; 32]) -> Result<Option<u64>> {
        let query = "SELECT place FROM post WHERE id = ?1";
        one(self, query, &[id.into()], |row| row.take())
    }

    fn count_posts(&self, topic: &[u8; 32], author: Option<&[u8; 32]>) -> Result<u64> {
        match author {
            None => {
                let query = "SELECT coalesce(max(place), 0) FROM post WHERE topic = ?1";
                count(self, query, &[topic.into()])
            }
            Some(author) => {
                let query = "SELECT count(*) FROM post WHERE topic = ?1 AND author = ?2";
                count(self, query, &[topic.into(), author.into()])
            }
        }
    }

    fn count_kind(&self, topic: &[u8; 32], author: &[u8; 32], kind: u8) -> Result<u64> {
        let query = "SELECT count(*) FROM post WHERE topic = ?1 AND author = ?2 AND kind = ?3";
        count(self, query, &[topic.into(), author.into(), kind.into()])
    }

    fn count_seats(&self, topic: &[u8; 32]) -> Result<u64> {
        let query = "SELECT count(*) FROM seat WHERE topic = ?1";
        count(self, query, &[topic.into()])
    }

    fn is_seated(&self, topic: Option<&[u8; 32]>, key: &[u8; 32]) -> Result<bool> {
        let found = match topic {
            Some(topic) => {
                let query = "SELECT count(*) FROM seat WHERE signs = ?1 AND topic = ?2";
                count(self, query, &[key.into(), topic.into()])?
            }
            None => {
                let query = "SELECT count(*) FROM
                     (SELECT signs FROM seat WHERE signs = ?1 LIMIT 1) AS found";
                count(self, query, &[key.into()])?
            }
        };
        Ok(found > 0)
    }

    fn posted(&self, author: &[u8], day: u64) -> Result<(u64, u64)> {
        let query = "SELECT topics, bytes FROM posted WHERE author = ?1 AND day = ?2";
        let posted = one(self, query, &[author.into(), day.into()], |row| {
            Ok((row.take()?, row.take()?))
        })?;
        Ok(posted.unwrap_or((0, 0)))
    }

    fn last_post(&self) -> Result<u64> {
        count(self, "SELECT coalesce(max(seq), 0) FROM post", &[])
    }

    fn posts(&self, topic: &[u8; 32], after: u64, bytes: usize) -> Result<Vec<(u64, Vec<u8>)>> {
        some_posts(self, topic, after, bytes, None)
    }

    fn posts_for(
        &self,
        topic: &[u8; 32],
        after: u64,
        bytes: usize,
        of: (&[u8; 32], RangeInclusive<u8>),
    ) -> Result<Vec<(u64, Vec<u8>)>> {
        some_posts(self, topic, after, bytes, Some(of))
    }

    fn topics_of(&self, kind: u8) -> Result<Vec<[u8; 32]>> {
        let query = "SELECT topic FROM post WHERE kind = ?1 ORDER BY seq";
        all(self, query, &[kind.into()], |row| row.take())
    }

    fn posts_of(&self, kind: u8, before: u64, most: u32) -> Result<Vec<(u64, [u8; 32])>> {
        let query = "SELECT seq, topic FROM post WHERE kind = ?1 AND seq < ?2
                     ORDER BY seq DESC LIMIT ?3";
        let values = [kind.into(), before.into(), most.into()];
        all(self, query, &values, |row| Ok((row.take()?, row.take()?)))
    }

    fn news(
        &self,
        after: u64,
        most: u32,
        seated: Option<&[u8; 32]>,
    ) -> Result<Vec<(u64, [u8; 32])>> {
        let (mut values, mut among) = (vec![after.into(), most.into()], "");
        if let Some(key) = seated {
            values.push(key.into());
            among = "AND topic IN (SELECT topic FROM seat WHERE signs = ?3)";
        }
        let query =
            format!("SELECT seq, topic FROM post WHERE seq > ?1 {among} ORDER BY seq LIMIT ?2");
        all(self, &query, &values, |row| Ok((row.take()?, row.take()?)))
    }
}

impl<B: Begun> BoardChanges for B {
    fn add_author(&self, author: &Author, role: Role, now: u64) -> Result<()> {
        let command = "INSERT INTO author (seq, signs, receives, name, role, admitted_at)
             VALUES ((SELECT coalesce(max(seq), 0) + 1 FROM author), ?1, ?2, ?3, ?4, ?5)";
        let values = [
            author.signs.as_bytes().into(),
            (&author.receives).into(),
            author.name.as_str().into(),
            role.code()[0].into(),
            now.into(),
        ];
        self.change(command, &values).map(drop)
    }

    fn readmit_author(&self, author: &Author, role: Role, now: u64) -> Result<()> {
        let command = "UPDATE author SET role = ?2, receives = ?3, name = ?4,
             admitted_at = ?5 WHERE signs = ?1";
        let values = [
            author.signs.as_bytes().into(),
            role.code()[0].into(),
            (&author.receives).into(),
            author.name.as_str().into(),
            now.into(),
        ];
        self.change(command, &values).map(drop)
    }

    fn set_author_role(&self, key: &[u8; 32], role: Role) -> Result<()> {
        let command = "UPDATE author SET role = ?2 WHERE signs = ?1";
        let values = [key.into(), role.code()[0].into()];
        self.change(command, &values).map(drop)
    }

    fn set_trusteeship(&self, held: Trusteeship, key: &[u8; 32]) -> Result<()> {
        let command = "INSERT INTO trusteeship (since, idx, signs) VALUES (?1, ?2, ?3)
                     ON CONFLICT (since, idx) DO UPDATE SET signs = ?3";
        let values = [held.since.into(), held.index.into(), key.into()];
        self.change(command, &values).map(drop)
    }

    fn drop_trusteeships(&self, key: &[u8; 32]) -> Result<()> {
        let command = "DELETE FROM trusteeship WHERE signs = ?1";
        self.change(command, &[key.into()]).map(drop)
    }

    fn add_seat(&self, topic: &[u8; 32], key: &[u8; 32]) -> Result<()> {
        let command = "INSERT INTO seat (topic, signs) VALUES (?1, ?2)";
        self.change(command, &[topic.into(), key.into()]).map(drop)
    }

    fn add_post(&self, post: &NewPost<'_>) -> Result<()> {
        let command = "INSERT INTO post (seq, topic, place, author, kind, id, posted_at, bytes)
             VALUES ((SELECT coalesce(max(seq), 0) + 1 FROM post), ?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let values = [
            post.topic.into(),
            post.place.into(),
            post.author.into(),
            post.kind.into(),
            post.id.into(),
            post.now.into(),
            post.bytes.into(),
        ];
        self.change(command, &values)?;
        let topics = i64::from(post.place == 1);
        let bytes = post.bytes.len() as i64;
        let command = "INSERT INTO posted (author, day, topics, bytes) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (author, day) DO UPDATE
                     SET topics = posted.topics + ?3, bytes = posted.bytes + ?4";
        // An author's day, and the board in all.
        for (author, day) in [(&post.author[..], post.day), (&[], 0)] {
            let values = [author.into(), day.into(), topics.into(), bytes.into()];
            self.change(command, &values)?;
        }
        Ok(())
    }
}

/// Posts of a topic behind a place: all, or those of an author and of some kinds.
fn some_posts<S: Sql + ?Sized>(
    db: &S,
    topic: &[u8; 32],
    after: u64,
    bytes: usize,
    of: Option<(&[u8; 32], RangeInclusive<u8>)>,
) -> Result<Vec<(u64, Vec<u8>)>> {
    let among = match of {
        Some(_) => "AND (author = ?4 OR kind BETWEEN ?5 AND ?6)",
        None => "",
    };
    let query = format!(
        "SELECT place, bytes FROM post WHERE topic = ?1 AND place > ?2 {among} ORDER BY place LIMIT ?3"
    );
    let (mut posts, mut size, mut after) = (Vec::new(), 0, after);
    while size < bytes {
        let mut values = vec![topic.into(), after.into(), POSTS_AT_ONCE.into()];
        if let Some((author, kinds)) = &of {
            values.extend([
                (*author).into(),
                (*kinds.start()).into(),
                (*kinds.end()).into(),
            ]);
        }
        let found: Vec<(u64, Vec<u8>)> =
            all(db, &query, &values, |row| Ok((row.take()?, row.take()?)))?;
        let is_last = found.len() < POSTS_AT_ONCE as usize;
        for (place, post) in found {
            if size < bytes {
                size += post.len();
                after = place;
                posts.push((place, post));
            }
        }
        if is_last {
            break;
        }
    }
    Ok(posts)
}

fn count<S: Sql + ?Sized>(db: &S, query: &str, values: &[Value<'_>]) -> Result<u64> {
    Ok(one(db, query, values, |row| row.take())?.unwrap_or(0))
}

/// A row of [`AUTHOR`].
fn author(row: &mut Row) -> Result<AdmittedAuthor> {
    let signs = strict_key(&row.take()?).ok_or_else(|| damaged("an author's key is not one"))?;
    let receives = row.take()?;
    let name: String = row.take()?;
    let name = name.parse();
    let (role, since, index): (u8, u32, u8) = (row.take()?, row.take()?, row.take()?);
    let [a, b, c, d] = since.to_be_bytes();
    let role = Role::from_code([role, a, b, c, d, index]);
    Ok(AdmittedAuthor {
        author: Author {
            signs,
            receives,
            name: name.map_err(|_| damaged("an author's name is not one"))?,
        },
        role: role.ok_or_else(|| damaged("an author's role is not one"))?,
        admitted_at: row.take()?,
    })
}
