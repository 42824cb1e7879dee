//! The program's side of a login.

use super::FOLDER;
use crate::http::{Client, ClientError};
use clew_keys::login::LoginAnswer;
use ed25519_dalek::SigningKey;
use std::time::Duration;
use thiserror::Error;

const WAIT: Duration = Duration::from_secs(30);
/// Most bytes of an answer.
const ANSWER_MAX: usize = 1_024;

/// Why there is no link.
#[derive(Debug, Error)]
pub enum LoginError {
    /// The service did not answer, or refused.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// What it answered is neither a challenge nor a link.
    #[error("{0}: the service answers something else than a challenge and a link")]
    Answer(String),
    /// Nobody would know which service the signature is for.
    #[error("{0}: the address has no fingerprint: give it as clew manager serve prints it")]
    NoPin(String),
}

/// Signs a challenge of a service, and returns the link that logs in to its pages once.
///
/// # Errors
/// [`LoginError`].
pub async fn link(client: &Client, key: &SigningKey) -> Result<String, LoginError> {
    let url = client.url();
    let folder = url.join(&format!("{FOLDER}/")).map_err(ClientError::from)?;
    let pin = match (url.pin(), folder.scheme()) {
        (Some(pin), _) => *pin.as_bytes(),
        (None, "http") => [0; 32],
        _ => return Err(LoginError::NoPin(url.to_string())),
    };
    let (first, second) = (format!("{FOLDER}/challenge"), format!("{FOLDER}/answer"));
    let other = || LoginError::Answer(url.to_string());
    let challenge = client.post(&first, Vec::new(), ANSWER_MAX, WAIT);
    let challenge = challenge.await?.body.try_into().map_err(|_| other())?;
    let answer = LoginAnswer::sign(challenge, &pin, key).encode();
    let link = client.post(&second, answer, ANSWER_MAX, WAIT).await?;
    let link = String::from_utf8(link.body).map_err(|_| other())?;
    let is_digit = |digit: u8| digit.is_ascii_alphanumeric() || matches!(digit, b'-' | b'_');
    match link.len() == 43 && link.bytes().all(is_digit) {
        true => Ok(format!("{folder}login?link={link}")),
        false => Err(other()),
    }
}
