//! The device's side of a manager's paths.

use super::feed::{BUNDLE_MAX, BUNDLE_RECORDS, Bundle, HEAD_MAX};
use super::{FeedError, FeedHead};
use crate::http::{Answer, Client, ClientError, ServiceUrl};
use clew_evidence::armor::MAX_TEXT_BYTES;
use clew_keys::TextFile;
use clew_keys::join::{
    AcceptanceFile, ClaimFile, CredentialFile, InvitationFile, OfferFile, RequestFile,
};
use clew_keys::witness_file::{BUCKET_BYTES_MAX, Need};
use std::time::{Duration, Instant};

/// Longest wait for an answer.
const WAIT: Duration = Duration::from_secs(30);
/// Longest wait for a large one.
const WAIT_FILE: Duration = Duration::from_secs(600);
/// Longest proof in bytes: of an entry, with its checkpoint.
const PROOF_MAX: usize = 1 << 18;
/// Largest group file that is fetched, in bytes.
const GROUP_MAX: usize = 256 << 20;

/// A client of one manager.
#[derive(Clone, Debug)]
pub struct ManagerClient {
    http: Client,
}

impl ManagerClient {
    /// A client. Nothing is sent.
    ///
    /// # Errors
    /// [`ClientError::Tls`].
    pub fn new(url: &ServiceUrl) -> Result<Self, ClientError> {
        Ok(Self {
            http: Client::new(url)?,
        })
    }

    /// Where the manager is.
    pub fn url(&self) -> &ServiceUrl {
        self.http.url()
    }

    /// Fetches the proof that the feed's newest epoch is in the group's log. Nothing of it is checked.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn epoch_proof(&self, epoch: u32) -> Result<String, ClientError> {
        let path = format!("feed/log/{epoch}");
        let answer = self.http.get(&path, None, PROOF_MAX, WAIT).await?;
        String::from_utf8(answer.body).map_err(|_| self.unfit(FeedError::Parts))
    }

    /// Fetches the group file. Nothing of it is checked.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn group(&self) -> Result<Vec<u8>, ClientError> {
        let answer = self.http.get("group", None, GROUP_MAX, WAIT_FILE).await?;
        Ok(answer.body)
    }

    /// Claims the invitation of a machine.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn claim(&self, claim: &ClaimFile) -> Result<InvitationFile, ClientError> {
        self.round("join/claim", claim).await
    }

    /// Asks for an offer.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn offer(&self, request: &RequestFile) -> Result<OfferFile, ClientError> {
        self.round("join/request", request).await
    }

    /// Accepts an offer.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn admit(&self, acceptance: &AcceptanceFile) -> Result<CredentialFile, ClientError> {
        self.round("join/acceptance", acceptance).await
    }

    async fn round<T: TextFile>(&self, path: &str, file: &impl TextFile) -> Result<T, ClientError> {
        let body = file.encode().as_bytes().to_vec();
        let answer = self.http.post(path, body, MAX_TEXT_BYTES, WAIT).await?;
        let text = std::str::from_utf8(&answer.body);
        let read = text.ok().and_then(|text| T::decode(text).ok());
        read.ok_or_else(|| self.unfit(FeedError::Parts))
    }

    /// Fetches the head of the feed. With the `etag` of an earlier answer, waits up to `wait` for
    /// another one; `None` if there is none.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn head(
        &self,
        etag: Option<&str>,
        wait: Duration,
    ) -> Result<Option<(FeedHead, Option<String>)>, ClientError> {
        let path = match etag {
            Some(_) => format!("feed/head?wait={}", wait.as_secs()),
            None => "feed/head".to_owned(),
        };
        let asked = Instant::now();
        let answer = self.http.get(&path, etag, HEAD_MAX, wait + WAIT).await?;
        let Answer {
            is_unchanged: false,
            etag,
            body,
        } = answer
        else {
            // The manager did not wait: too many do. So this waits here, and takes no place there.
            tokio::time::sleep(wait.saturating_sub(asked.elapsed())).await;
            return Ok(None);
        };
        let head = FeedHead::decode(&body).map_err(|error| self.unfit(error))?;
        Ok(Some((head, etag)))
    }

    /// Fetches a bundle with so many records and checkpoints; of a full one, all checkpoints.
    pub(super) async fn bundle(
        &self,
        number: usize,
        records: usize,
        checkpoints: Option<usize>,
    ) -> Result<Bundle, ClientError> {
        let path = match checkpoints {
            Some(checkpoints) => format!("feed/records/{number}.p/{records}-{checkpoints}"),
            None => format!("feed/records/{number}"),
        };
        let answer = self.http.get(&path, None, BUNDLE_MAX, WAIT).await?;
        let bundle = match checkpoints {
            Some(checkpoints) => Bundle::decode(&answer.body, records, checkpoints),
            None => Bundle::full(&answer.body, BUNDLE_RECORDS),
        };
        bundle.map_err(|error| self.unfit(error))
    }

    /// Fetches the bucket of witnesses that has this one. Nothing of it is checked.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn bucket(&self, need: &Need) -> Result<Vec<u8>, ClientError> {
        let path = format!("feed/witnesses/{}/{}", need.epoch, need.bucket());
        let answer = self.http.get(&path, None, BUCKET_BYTES_MAX, WAIT).await?;
        Ok(answer.body)
    }

    fn unfit(&self, error: FeedError) -> ClientError {
        ClientError::Unreachable {
            url: self.http.url().to_string(),
            reason: error.to_string(),
        }
    }
}
