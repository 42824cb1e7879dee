//! The side of those who post and read.

use super::{NEWS_BYTES_MAX, POST_PATH, POSTS_MAX, READER, WAIT_MAX, news_path, topic_path};
use crate::http::{Client, ClientError, ServiceUrl};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clew_keys::AuthorKeyFile;
use clew_keys::post::{BoardId, Post, ReadTicket};
use clew_wire::Reader;
use ed25519_dalek::SigningKey;
use serde::Deserialize;
use std::time::Duration;

/// Longest wait for an answer, beside the wait that was asked for.
const WAIT: Duration = Duration::from_secs(30);
/// Longest answer to a post, in bytes.
const PLACE_MAX: usize = 1 << 10;

/// A post, and its place in its topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// From 1. The board says so: it may tell others another place.
    pub place: u64,
    /// The post. Its author signed it for this board and topic.
    pub post: Post,
}

/// Somebody who posts and reads. Clones share its connections.
#[derive(Clone)]
pub struct BoardClient {
    http: Client,
    id: BoardId,
    key: SigningKey,
    clock: fn() -> u64,
}

clew_wire::opaque!(BoardClient);

#[derive(Deserialize)]
struct Answered {
    place: u64,
}

impl BoardClient {
    /// A client of the board at the manager's address, with the key of an author. Nothing is sent.
    /// `clock` is the time of day, in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`ClientError::Tls`].
    pub fn new(
        url: &ServiceUrl,
        id: BoardId,
        key: &AuthorKeyFile,
        clock: fn() -> u64,
    ) -> Result<Self, ClientError> {
        Ok(Self {
            http: Client::new(url)?,
            id,
            key: key.signing_key(),
            clock,
        })
    }

    /// The Ed25519 key that it posts with.
    pub fn author(&self) -> [u8; 32] {
        self.key.verifying_key().to_bytes()
    }

    /// Signs a post. Returns `None` if the body is too long.
    pub fn sign(&self, topic: [u8; 32], kind: u8, body: Vec<u8>) -> Option<Post> {
        Post::sign(self.id, topic, kind, body, &self.key)
    }

    /// Posts, and returns the place in the topic, from 1. The post is on the board's disk then. The same
    /// post has the same place again.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn post(&self, post: &Post) -> Result<u64, ClientError> {
        let ticket = self.ticket(POST_PATH);
        let header = (READER, ticket.as_str());
        let answer = self
            .http
            .post_with(POST_PATH, header, post.encode(), PLACE_MAX, WAIT);
        let answer = answer.await?;
        let answered = serde_json::from_slice::<Answered>(&answer.body);
        Ok(answered.map_err(|_| self.unfit())?.place)
    }

    /// Fetches posts of a topic, from the one behind `after` on. If there is none yet, waits for one, up
    /// to `wait` (whole seconds, at most 50). There may be more behind the last one.
    ///
    /// # Errors
    /// [`ClientError`], also if an answer has a post that is not signed, or for another board or topic.
    pub async fn topic(
        &self,
        topic: &[u8; 32],
        after: u64,
        wait: Duration,
    ) -> Result<Vec<Placed>, ClientError> {
        let seconds = wait.as_secs().min(WAIT_MAX);
        let path = topic_path(topic, after, seconds);
        let bytes = self.get(&path, POSTS_MAX, seconds).await?;
        let (mut fields, mut posts, mut last) = (Reader(&bytes), Vec::new(), after);
        while !fields.0.is_empty() {
            let placed = placed(&mut fields).filter(|placed| {
                let post = &placed.post;
                placed.place > last
                    && post.board == self.id
                    && post.topic == *topic
                    && post.is_signed()
            });
            let placed = placed.ok_or_else(|| self.unfit())?;
            last = placed.place;
            posts.push(placed);
        }
        Ok(posts)
    }

    /// Fetches the numbers and topics of posts behind number `after` on the whole board. If there is none
    /// yet, waits for one, up to `wait` (whole seconds, at most 50). There may be more behind the last
    /// one.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn news(
        &self,
        after: u64,
        wait: Duration,
    ) -> Result<Vec<(u64, [u8; 32])>, ClientError> {
        let seconds = wait.as_secs().min(WAIT_MAX);
        let path = news_path(after, seconds);
        let bytes = self.get(&path, NEWS_BYTES_MAX, seconds).await?;
        let (mut fields, mut news, mut last) = (Reader(&bytes), Vec::new(), after);
        while !fields.0.is_empty() {
            let next = fields.u64().zip(fields.array());
            let next = next.filter(|(number, _)| *number > last);
            let next = next.ok_or_else(|| self.unfit())?;
            last = next.0;
            news.push(next);
        }
        Ok(news)
    }

    /// Sends a body to another path of the manager that answers authors only, and reads at most `most`
    /// bytes of answer within `wait`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn ask(
        &self,
        path: &str,
        body: Vec<u8>,
        most: usize,
        wait: Duration,
    ) -> Result<Vec<u8>, ClientError> {
        let ticket = self.ticket(path);
        let header = (READER, ticket.as_str());
        let answer = self.http.post_with(path, header, body, most, wait);
        Ok(answer.await?.body)
    }

    async fn get(&self, path: &str, most: usize, seconds: u64) -> Result<Vec<u8>, ClientError> {
        let ticket = self.ticket(path);
        let wait = WAIT + Duration::from_secs(seconds);
        let answer = self.http.get_with(path, (READER, &ticket), most, wait);
        Ok(answer.await?.body)
    }

    fn ticket(&self, path: &str) -> String {
        let ticket = ReadTicket::sign(self.id, path, (self.clock)(), &self.key);
        STANDARD.encode(ticket.to_bytes())
    }

    fn unfit(&self) -> ClientError {
        ClientError::Unreachable {
            url: self.http.url().to_string(),
            reason: "the board's answer is not one of this version".to_owned(),
        }
    }
}

fn placed(fields: &mut Reader<'_>) -> Option<Placed> {
    let (place, length) = (fields.u64()?, fields.u32()?);
    let post = Post::decode(fields.take(length as usize)?)?;
    Some(Placed { place, post })
}
