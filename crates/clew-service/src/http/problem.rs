//! How a service refuses.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::fmt::Display;

/// Why a request is refused, as JSON (RFC 9457): the rule, which programs compare, and a sentence.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// HTTP's status.
    pub status: u16,
    /// Name of the rule, as in the spec.
    pub title: String,
    /// What went wrong, for people.
    pub detail: String,
    /// After how many seconds to ask again, if that helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
}

impl Problem {
    /// A refusal by a rule.
    pub fn new(status: StatusCode, rule: &str, detail: impl Display) -> Self {
        Self {
            status: status.as_u16(),
            title: rule.to_owned(),
            detail: detail.to_string(),
            retry_after: None,
        }
    }

    /// The service is busy: ask again after so many seconds.
    pub fn busy(seconds: u32, detail: impl Display) -> Self {
        Self {
            retry_after: Some(seconds),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(CONTENT_TYPE, kind);
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}
