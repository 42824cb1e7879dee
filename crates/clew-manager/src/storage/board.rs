//! What the database has of authors and of the board.

use super::Result;
use crate::store::AdmittedAuthor;
use clew_keys::Author;
use clew_log::entry::Role;

/// What can be read.
pub(crate) trait BoardTables {
    /// All authors that were ever admitted, in that order.
    fn authors(&self) -> Result<Vec<AdmittedAuthor>>;

    /// The author with that key.
    fn author(&self, key: &[u8; 32]) -> Result<Option<AdmittedAuthor>>;

    /// The place of a post in its topic, by its id.
    fn post_place(&self, id: &[u8; 32]) -> Result<Option<u64>>;

    /// How many posts a topic has; with an author, how many of that one.
    fn count_posts(&self, topic: &[u8; 32], author: Option<&[u8; 32]>) -> Result<u64>;

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

    /// The posts behind number `after`, at most `most`: their numbers and topics.
    fn news(&self, after: u64, most: u32) -> Result<Vec<(u64, [u8; 32])>>;
}

/// What can be changed.
pub(crate) trait BoardChanges {
    /// Adds an author, admitted at `now` (nanoseconds since 1970).
    fn add_author(&self, author: &Author, role: Role, now: u64) -> Result<()>;

    /// Takes an author's role.
    fn dismiss_author(&self, key: &[u8; 32]) -> Result<()>;

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
