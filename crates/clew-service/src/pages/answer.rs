//! How pages and their style sheet are answered.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use clew_wire::Hex;
use maud::Markup;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

const STYLE: &str = include_str!("style.css");
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// The style sheet's name has its hash, so that caches may keep it.
pub(super) static STYLE_NAME: LazyLock<String> = LazyLock::new(|| {
    let hash = Sha256::digest(STYLE);
    format!("style-{}.css", Hex(&hash[..8]))
});

/// Nothing but the site's own style sheet is loaded, nothing runs, and nobody frames a page.
const POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// Who may keep a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Everybody, if it is asked for again before it is shown.
    Again,
    /// Nobody: it was shown to one visitor.
    Nobody,
}

fn strict(headers: &mut HeaderMap, keep: Keep) {
    let keep = match keep {
        Keep::Again => "no-cache",
        Keep::Nobody => "no-store",
    };
    let fixed = [
        (CACHE_CONTROL, keep),
        (CONTENT_SECURITY_POLICY, POLICY),
        // Not `no-referrer`: browsers would then hide from forms' targets where they come from.
        (REFERRER_POLICY, "same-origin"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

pub(super) fn html(status: StatusCode, page: Markup, keep: Keep) -> Response {
    let kind = [(CONTENT_TYPE, "text/html; charset=utf-8")];
    let mut response = (status, kind, page.into_string() + "\n").into_response();
    strict(response.headers_mut(), keep);
    response
}

/// Sends the visitor to another page of the same folder, by GET.
pub(crate) fn page_again(path: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    strict(response.headers_mut(), Keep::Nobody);
    if let Ok(path) = HeaderValue::from_str(path) {
        response.headers_mut().insert(LOCATION, path);
    }
    response
}

/// The style sheet, if `name` is its name.
pub(crate) fn style(name: &str) -> Option<Response> {
    let headers = [
        (CONTENT_TYPE, "text/css; charset=utf-8"),
        (CACHE_CONTROL, FOR_EVER),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (name == *STYLE_NAME).then(|| (headers, STYLE).into_response())
}
