//! The group's manager as a service: joins of many devices, and the feed of epochs.
//!
//! [`Manager`] owns the store on a thread of its own, which answers many rounds of joins in one commit.
//! [`router`] has the paths of `spec/manager-service.md`. [`ManagerClient`] is the device's side, and
//! [`follow`] brings a group file to what the feed has.

mod behind;
mod client;
mod feed;
mod follow;
mod log;
mod member;
mod metrics;
mod pages;
mod proofs;
mod refusal;
mod routes;
mod rows;
mod sender;
mod waits;
mod worker;

pub use behind::{BehindError, compare_with, compare_with_own};
pub use client::ManagerClient;
pub use feed::{BUNDLE_RECORDS, Feed, FeedError, FeedHead};
pub use follow::{FollowError, Followed, follow};
pub use log::ManagedLog;
pub use member::{FRESH, LogMemory, NotAccepted, NotSeen};
pub use metrics::Metrics;
pub use pages::ManagerPages;
pub use routes::router;
pub use rows::{ROW_PATH, RowService};
pub use sender::{SendError, send_outbox};
pub use worker::{Manager, ManagerOptions, PUBLISH_LAG, QUEUE_MAX};
