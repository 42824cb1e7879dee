//! A notice as JSON, posted to an address.

use super::Notice;
use super::settings::{Hook, SettingsError};
use crate::http::{Client, ClientError};
use serde_json::json;
use std::time::Duration;

/// Most bytes of an answer that are read. Nothing is done with them.
const ANSWER_MAX: usize = 64 << 10;

/// Where a notice is posted.
#[derive(Debug)]
pub(super) struct Webhook {
    client: Client,
    path: String,
}

impl Webhook {
    pub(super) fn new(hook: &Hook) -> Result<Self, SettingsError> {
        let client = Client::new(&hook.base).map_err(|_| SettingsError::Value {
            key: "webhook.url",
            why: "TLS cannot be set up".to_owned(),
        })?;
        let path = hook.path.clone();
        Ok(Self { client, path })
    }

    /// Posts a notice. An error has nothing of the address, whose path may be secret.
    pub(super) async fn send(&self, notice: &Notice, wait: Duration) -> Result<(), String> {
        // `text` is what the webhooks of chat programs read.
        let body = json!({ "text": notice.text, "subject": notice.subject }).to_string();
        let kind = ("content-type", "application/json");
        let sent = self
            .client
            .post_with(&self.path, kind, body.into_bytes(), ANSWER_MAX, wait);
        sent.await.map(drop).map_err(|error| match error {
            ClientError::Refused { problem, .. } => format!("refused, status {}", problem.status),
            ClientError::Unreachable { .. } => "no connection".to_owned(),
            ClientError::Timeout(_) => "no answer in time".to_owned(),
            ClientError::TooLong { .. } => "its answer is too long".to_owned(),
            ClientError::Pin(_) => {
                "the server has another key than the fingerprint says".to_owned()
            }
            ClientError::Tls(_) | ClientError::Url(_) => "cannot be asked".to_owned(),
        })
    }
}
