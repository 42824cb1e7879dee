//! A trustee's answers to requests (`spec/request.md` section 6). Each turn reads the board, compares it
//! with the trustee's own files, and does what is next: what it posts is on its disk before.

mod cases;
mod give;
mod log_view;
pub mod order;
mod record;
mod work;

pub use super::status::said as said_answer;
pub use record::{Record, Reviewed, topic};

use super::exchange::Exchange;
use crate::failure::Failure;
use clew_evidence::CheckedGroup;
use clew_keys::TrusteeKeyFile;
use clew_trustee::policy::Policy;
use std::path::{Path, PathBuf};

/// Folder of requests, in a trustee's directory.
pub const REQUESTS: &str = "requests";

/// What a trustee answers with.
pub struct Answering<'a> {
    /// The trustee's directory.
    pub dir: &'a Path,
    /// The group, as new as the trustee knows it.
    pub group: &'a CheckedGroup,
    /// Its policy.
    pub policy: &'a Policy,
    /// Its keys, with their files.
    pub keys: &'a [(PathBuf, TrusteeKeyFile)],
    /// The board and the log, with its author key.
    pub exchange: &'a Exchange<'a>,
}

impl Answering<'_> {
    /// Does what is next about one topic, until others have to act. Returns lines for the operator.
    ///
    /// # Errors
    /// The board, the log or the disk: the same turn again goes on.
    pub async fn turn(&self, topic: &[u8; 32]) -> Result<Vec<String>, Failure> {
        work::turn(self, topic).await
    }
}

/// Returns whether a topic needs a turn though the board has nothing new of it.
pub fn is_pending(dir: &Path, topic: &[u8; 32]) -> Result<bool, Failure> {
    Record::new(&dir.join(REQUESTS), topic).is_pending()
}

/// Returns the topics of which a trustee's directory has requests.
pub fn topics(dir: &Path) -> Result<Vec<[u8; 32]>, Failure> {
    record::topics(&dir.join(REQUESTS))
}
