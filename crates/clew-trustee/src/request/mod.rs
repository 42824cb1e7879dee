//! A request on its way through a manager's bulletin board: what requester and trustees post, what a
//! trustee has to do next, and which state the request is in (`spec/request.md`). Pure: posts, checked
//! log entries, keys and the time are arguments.
//!
//! - A [`CaseFile`] is what the requester posts first: all that a trustee needs to check a request.
//! - [`Message`] is every post of a request's topic.
//! - [`sealed_share`] and [`open_share`] encrypt shares to the requester.
//! - [`RequestView`] says what a trustee has to do next; [`Progress`] is what anybody sees of a request.

mod case_file;
mod message;
mod progress;
mod sealing;
mod view;

pub use case_file::{CASE_BYTES_MAX, CaseFile, CaseMachine};
pub use message::{CASE_KIND, Message, Posted};
pub use progress::{
    Decided, Event, Filing, Happened, Progress, RequestState, decided, is_delivered,
};
pub use sealing::{open_share, sealed_share};
pub use view::{ATTEMPTS_MAX, Done, RequestView, Todo};
