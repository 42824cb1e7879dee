//! Why a round of a join is refused, as devices are told.

use crate::http::Problem;
use axum::http::StatusCode;
use clew_manager::StoreError;
use std::time::Duration;

/// How long a device that finds the queue full is asked to wait, in seconds.
pub(super) const BUSY_SECONDS: u32 = 2;

/// The log has another history.
pub(super) fn halted() -> Problem {
    let why =
        "the group's log has another history of this group: nobody joins until that is settled";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "halted", why)
}

/// An invitation was tried too often; `again` says when it may be tried again.
pub(super) fn too_many_attempts(again: Duration) -> Problem {
    Problem {
        retry_after: Some(again.as_secs() as u32),
        ..Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "attempts",
            "this invitation was tried too often: try again in an hour",
        )
    }
}

/// The reason names no path. What a round asked for may have been done: asked again, it gets the same
/// answer.
fn store_failed(why: &str) -> Problem {
    Problem {
        retry_after: Some(BUSY_SECONDS),
        ..Problem::new(StatusCode::SERVICE_UNAVAILABLE, "store", why)
    }
}

/// What a device is told. What concerns the store alone is for its operator.
pub(super) fn problem(error: &StoreError) -> Problem {
    let (status, rule) = match error {
        StoreError::NoInvitation => (StatusCode::NOT_FOUND, "no-invitation"),
        StoreError::NoFactory => (StatusCode::NOT_FOUND, "no-factory"),
        StoreError::OtherRequest => (StatusCode::CONFLICT, "other-request"),
        StoreError::NotOffered => (StatusCode::CONFLICT, "not-offered"),
        StoreError::OfferExpired { .. } => (StatusCode::CONFLICT, "offer-expired"),
        StoreError::NameTaken(_) => (StatusCode::CONFLICT, "name-taken"),
        StoreError::Join(_) => (StatusCode::BAD_REQUEST, "join"),
        StoreError::Device => (StatusCode::BAD_REQUEST, "device"),
        StoreError::AlreadyRevoked { .. } => (StatusCode::FORBIDDEN, "revoked"),
        StoreError::FactoryPrefix { .. } => (StatusCode::FORBIDDEN, "factory-prefix"),
        StoreError::FactoryUsed(_) => (StatusCode::FORBIDDEN, "factory-used"),
        StoreError::FactoryOver => (StatusCode::FORBIDDEN, "factory-over"),
        StoreError::Ended(_) => (StatusCode::FORBIDDEN, "ended"),
        StoreError::NoJoin => (StatusCode::FORBIDDEN, "no-join"),
        StoreError::Halted(_) => return halted(),
        StoreError::ClockBehind { .. } | StoreError::ClockAhead { .. } => {
            let why =
                "the manager's clock differs from what it has seen: nobody joins until it is set";
            return Problem::new(StatusCode::SERVICE_UNAVAILABLE, "clock", why);
        }
        StoreError::Busy(_) | StoreError::AnsweredMeanwhile => {
            return Problem::busy(BUSY_SECONDS, "the store is busy");
        }
        error if error.is_disk_full() => {
            return store_failed("the manager's disk is full: ask again later");
        }
        error if error.is_of_database() => {
            return store_failed("the manager's store failed: ask again later");
        }
        _ => {
            let why = "the store refused: nothing was changed, and its operator is told why";
            return Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "store", why);
        }
    };
    Problem::new(status, rule, error)
}
