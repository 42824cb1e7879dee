//! A trustee's answers to requests (`spec/request.md` section 6). Each turn reads the board, compares it
//! with the trustee's own files, and does what is next: what it posts is on its disk before.

mod give;
mod log_view;
pub mod order;
mod record;
mod topic;
mod work;

pub use super::status::said as said_answer;
pub use record::{Place, Record, Reviewed, topic};
pub use topic::Topic;
pub use work::RULE_QUEUE;

use super::exchange::Exchange;
use crate::failure::Failure;
use clew_evidence::CheckedGroup;
use clew_keys::TrusteeKeyFile;
use clew_trustee::policy::Policy;
use std::path::{Path, PathBuf};

/// Folder of requests, in a trustee's directory.
pub const REQUESTS: &str = "requests";
/// Folder of those about which nothing is left to do.
pub const FILED: &str = "filed";

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
    /// `has_room` says whether a requester may have one more request that is not decided.
    ///
    /// # Errors
    /// The board, the log or the disk: the same turn again goes on.
    pub async fn turn(
        &self,
        topic: &[u8; 32],
        read: &mut Topic,
        has_room: impl Fn(&[u8; 32]) -> bool,
    ) -> Result<Vec<String>, Failure> {
        work::turn(self, (topic, read), has_room).await
    }
}

/// Returns the topics of which a trustee's directory has requests: those that are open, or were filed away.
pub fn topics(dir: &Path, place: Place) -> Result<Vec<[u8; 32]>, Failure> {
    record::topics(&dir.join(place.folder()))
}
